// Families of the program, told from those that tests add.
#pragma once

#include <algorithm>
#include <string>

#include "kernels/families/embedded.hpp"
#include "kernels/families/family.hpp"

namespace tilesmith::tests {

/// Whether its template is among the embedded ones.
inline bool is_built_in(const Family& family) {
  const std::string name(family.name());
  return std::ranges::any_of(embedded_headers(),
      [&](const EmbeddedFile& file) { return file.name == "kernels/" + name + "/" + name + ".cu"; });
}

}  // namespace tilesmith::tests
