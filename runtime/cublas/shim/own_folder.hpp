// Where a shim's own file lies.
#pragma once

#include <string>

namespace tilesmith::cublas {

/// The folder of the file that this code is in, with a slash at its end; "" where it is not known.
std::string own_folder();

}  // namespace tilesmith::cublas
