// Words of a text, and names.
#pragma once

#include <string_view>
#include <vector>

namespace tilesmith {

/// Between blanks and line ends.
std::vector<std::string_view> words(std::string_view text);

/// A name that C takes: what kernels of a user's own, their sizes and their parameters are called.
bool is_c_name(std::string_view text);
inline constexpr const char* kCNameMeans = "a name of letters, digits and underscores, at most 64, no digit first";

}  // namespace tilesmith
