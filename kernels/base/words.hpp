// Words of a text.
#pragma once

#include <string_view>
#include <vector>

namespace tilesmith {

/// Between blanks and line ends.
std::vector<std::string_view> words(std::string_view text);

}  // namespace tilesmith
