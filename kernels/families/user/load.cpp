#include "kernels/families/user/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "kernels/families/user/user_family.hpp"

namespace tilesmith {
namespace {

struct Loaded {
  std::mutex mutex;
  std::vector<LoadedFamilyDir> dirs;
};

Loaded& loaded() {
  static Loaded all;
  return all;
}

}  // namespace

void load_family_dir(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    throw FamilyError(fmt::format("{}: is no folder, expected one that holds family.json", folder.string()));
  const std::filesystem::path real = std::filesystem::canonical(folder, error);
  if (error) throw FamilyError(fmt::format("{}: {}", folder.string(), error.message()));
  std::unique_ptr<UserFamily> family = read_family(folder);
  const std::scoped_lock lock(loaded().mutex);
  auto& dirs = loaded().dirs;
  const auto before = std::ranges::find(dirs, real, &LoadedFamilyDir::folder);
  if (before != dirs.end()) {
    if (before->content == family->content()) return;
    throw FamilyError(
        fmt::format("{}: changed since this program loaded it: expected it to stay as it was until the program ends",
            folder.string()));
  }
  if (find_family(family->name()) != nullptr)
    throw FamilyError(fmt::format("{}: name: there is a family '{}' already, expected another name",
        (folder / "family.json").string(), family->name()));
  LoadedFamilyDir dir{real, family->content()};
  register_family(std::move(family));
  dirs.push_back(std::move(dir));
}

std::vector<std::filesystem::path> folders_of(std::string_view colon_separated) {
  std::vector<std::filesystem::path> folders;
  for (std::size_t at = 0; at < colon_separated.size();) {
    const std::size_t end = std::min(colon_separated.find(':', at), colon_separated.size());
    if (end > at) folders.emplace_back(colon_separated.substr(at, end - at));
    at = end + 1;
  }
  return folders;
}

void load_family_dirs(std::string_view folders, std::string_view given_by) {
  for (const std::filesystem::path& folder : folders_of(folders)) {
    try {
      load_family_dir(folder);
    } catch (const FamilyError& error) {
      throw FamilyError(fmt::format("{}: {}", given_by, error.what()));
    }
  }
}

void load_family_dirs_of_environment() {
  const char* const given = std::getenv(kFamilyDirVariable);
  if (given != nullptr) load_family_dirs(given, kFamilyDirVariable);
}

std::vector<LoadedFamilyDir> loaded_family_dirs() {
  const std::scoped_lock lock(loaded().mutex);
  return loaded().dirs;
}

}  // namespace tilesmith
