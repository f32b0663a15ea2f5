// How deep JSON of a file may nest. Whoever copies or writes a parsed value calls himself once a level, so that a file of a few hundred
// kilobytes could take the whole stack.
#pragma once

#include <string_view>

namespace tilesmith::db {

inline constexpr int kDeepestJson = 64;

/// Whether brackets and braces stand deeper within each other than that in a text that should be JSON.
bool nests_too_deep(std::string_view text);

}  // namespace tilesmith::db
