// What NVRTC gets, told apart by a hash.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/families/embedded.hpp"

namespace tilesmith {

/// A hash of a source text, of the headers that it includes, directly or through others, and of compiler options: 32
/// hex digits. Comments, layout and #line directives do not count, so a file may be reworded and formatted anew.
/// Headers that are not among `headers`, CUDA's own, are part of NVRTC's version.
std::string source_hash(std::string_view source, std::string_view options, std::span<const EmbeddedFile> headers);
/// With the headers of this build, each of which is read once.
std::string source_hash(std::string_view source, std::string_view options);

/// The code of a source text: without comments, #line directives and white space that separates no tokens. Directives
/// keep their lines.
std::string code_of(std::string_view source);

}  // namespace tilesmith
