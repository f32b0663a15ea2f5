#include "tuner/workers/family_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/families/user/load.hpp"

namespace tilesmith::tuner {

constexpr std::string_view kFolder = "--family-dir", kContent = "--family-content";

std::vector<std::string> with_family_dirs(std::vector<std::string> arguments) {
  for (const LoadedFamilyDir& dir : loaded_family_dirs()) {
    for (const std::string& word : {std::string(kFolder), dir.folder.string(), std::string(kContent), dir.content})
      arguments.push_back(word);
  }
  return arguments;
}

bool FamilyArguments::take(std::string_view option, std::string_view value) {
  if (option == kFolder && !value.empty()) {
    folders_.push_back({std::string(value), {}});
    return true;
  }
  if (option != kContent || folders_.empty()) return false;
  folders_.back().content = value;
  return true;
}

std::string FamilyArguments::load() const {
  try {
    for (const Folder& folder : folders_) load_family_dir(folder.path);
  } catch (const DefinitionError& error) {
    return error.what();
  }
  const std::vector<LoadedFamilyDir> loaded = loaded_family_dirs();
  for (const Folder& folder : folders_) {
    const bool same = folder.content.empty() || std::ranges::any_of(loaded, [&](const LoadedFamilyDir& one) {
      return one.content == folder.content;
    });
    if (!same)
      return fmt::format(
          "{}: changed since this run began: expected it to stay as it was until the run ends", folder.path);
  }
  return {};
}

}  // namespace tilesmith::tuner
