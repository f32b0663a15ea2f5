// Families and kernels of one's own, loaded into the program's lists of them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/user/template_text.hpp"

namespace tilesmith {

/// Folders, colon-separated, that the program and the library load as they start.
inline constexpr const char* kFamilyDirVariable = "TILESMITH_FAMILY_DIR";

/// Reads the folder and adds its family to families(), or, if it holds kernel.json, its kernel to those that
/// own::find_kernel() finds; returns its name. A folder that was loaded before is left as it
/// is, and so is a kernel whose folder holds the same as another that was. Thread-safe. Throws DefinitionError as read_family() does; also for a name that another family has, and for a folder
/// that was loaded before and holds something else now: records would be of neither.
std::string load_family_dir(const std::filesystem::path& folder);

/// The parts of a list; empty ones are passed over.
std::vector<std::filesystem::path> folders_of(std::string_view colon_separated);

/// All of a list. `given_by` names the option or variable in errors.
void load_family_dirs(std::string_view folders, std::string_view given_by);
void load_family_dirs_of_environment();

struct LoadedFamilyDir {
  std::filesystem::path folder;  ///< absolute
  std::string content;           ///< a hash of all that was read
};
/// In the order in which they were loaded: what worker processes are told.
std::vector<LoadedFamilyDir> loaded_family_dirs();

}  // namespace tilesmith
