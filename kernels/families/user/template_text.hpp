// The files of a family's or a kernel's folder: the text of its template, with the files of its folder put in where it
// includes them.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tilesmith {

/// What is wrong with such a folder. One line: the file, the field or line, what was wrong, what was expected.
class DefinitionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A text file. Throws DefinitionError naming it if it cannot be read, is larger than 1 MiB, or holds a zero byte.
std::string read_text_file(const std::filesystem::path& path);

/// Whether a name can be that of a file in a folder: relative, and without "..".
bool is_inside(std::string_view name);

/// `name` is a file of `folder`. Each `#include "other"` of a file there is replaced by its text, the first time; later
/// times by nothing. Includes of Tilesmith's own headers ("kernels/...") and of CUDA's (<...>) stay. #line directives
/// say where a line comes from. So what NVRTC gets holds all files of the folder, and the kernel hash (source_hash.hpp)
/// follows each of them. Throws DefinitionError naming file and line for any other include.
std::string template_text(const std::filesystem::path& folder, const std::string& name);

}  // namespace tilesmith
