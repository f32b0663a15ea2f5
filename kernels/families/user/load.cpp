#include "kernels/families/user/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "kernels/families/user/user_family.hpp"
#include "kernels/own/kernel.hpp"

namespace tilesmith {
namespace {

struct Loaded {
  std::mutex mutex;
  std::vector<LoadedFamilyDir> dirs;
  std::map<std::string, std::unique_ptr<const own::Kernel>, std::less<>> kernels;  // by name
};

Loaded& loaded() {
  static Loaded all;
  return all;
}

const own::Kernel* kernel_named(std::string_view name) {
  const auto found = loaded().kernels.find(name);
  return found == loaded().kernels.end() ? nullptr : found->second.get();
}

}  // namespace

const own::Kernel* own::find_kernel(std::string_view name) {
  const std::scoped_lock lock(loaded().mutex);
  return kernel_named(name);
}

std::string load_family_dir(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    throw DefinitionError(
        fmt::format("{}: is no folder, expected one that holds family.json or kernel.json", folder.string()));
  const std::filesystem::path real = std::filesystem::canonical(folder, error);
  if (error) throw DefinitionError(fmt::format("{}: {}", folder.string(), error.message()));
  // A folder holds a family or a kernel.
  const bool is_kernel = std::filesystem::exists(folder / "kernel.json", error);
  std::unique_ptr<own::Kernel> kernel = is_kernel ? own::read_kernel(folder) : nullptr;
  std::unique_ptr<UserFamily> family = is_kernel ? nullptr : read_family(folder);
  const std::string name = is_kernel ? kernel->name() : std::string(family->name());
  const std::string content = is_kernel ? kernel->definition().content : family->content();
  const std::scoped_lock lock(loaded().mutex);
  auto& dirs = loaded().dirs;
  const auto before = std::ranges::find(dirs, real, &LoadedFamilyDir::folder);
  if (before != dirs.end()) {
    if (before->content == content) return name;
    throw DefinitionError(
        fmt::format("{}: changed since this program loaded it: expected it to stay as it was until the program ends",
            folder.string()));
  }
  const own::Kernel* const known = kernel_named(name);
  if (is_kernel && known && known->definition().content == content) return name;
  if (find_family(name) != nullptr || known != nullptr)
    throw DefinitionError(fmt::format("{}: name: there is a {} '{}' already, expected another name",
        (folder / (is_kernel ? "kernel.json" : "family.json")).string(),
        find_family(name) != nullptr ? "family" : "kernel", name));
  if (is_kernel) loaded().kernels.emplace(name, std::move(kernel));
  else register_family(std::move(family));
  dirs.push_back({real, content});
  return name;
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
    } catch (const DefinitionError& error) {
      throw DefinitionError(fmt::format("{}: {}", given_by, error.what()));
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
