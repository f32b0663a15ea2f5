#include "runtime/compile/find_nvrtc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "db/store/logger.hpp"

namespace tilesmith::runtime {
namespace {

void warn_of_other_headers(const Nvrtc& nvrtc) {
  const int headers = cuda_version_of(nvrtc.include_folders.front());
  if (headers == 0 || headers / 1000 == nvrtc.major) return;
  db::logger()->warn("NVRTC {}.{} ({}) is used with the headers of CUDA {}.{} ({})", nvrtc.major, nvrtc.minor,
      nvrtc.file.string(), headers / 1000, headers % 1000 / 10, nvrtc.include_folders.front().string());
}

/// CUDA 13 has CUB and Thrust, which kernels of users' own include, in a folder of their own.
std::vector<std::filesystem::path> with_cccl(std::vector<std::filesystem::path> set) {
  std::error_code ignored;
  for (std::size_t i = 0, count = set.size(); i < count; ++i) {
    if (std::filesystem::is_directory(set[i] / "cccl", ignored)) set.push_back(set[i] / "cccl");
  }
  return set;
}

std::string too_new(const Nvrtc& nvrtc, const DriverAsked& driver) {
  if (nvrtc.major <= kOldestNvrtcMajor) return {};  // as old as the oldest driver that is supported
  return too_new_for_driver(fmt::format("{}.{}", nvrtc.major, nvrtc.minor), driver.cuda_version());
}

}  // namespace

std::string too_new_for_driver(const std::string& nvrtc_version, int driver_version) {
  int major = 0;
  std::from_chars(nvrtc_version.data(), nvrtc_version.data() + nvrtc_version.size(), major);
  if (driver_version == 0 || major <= driver_version / 1000) return {};
  const int drivers = driver_version / 1000;
  return fmt::format(
      "NVRTC {} is newer than the driver, which supports CUDA {}.{} and loads no kernel of CUDA {}: expected NVRTC {}, "
      "whose file $TILESMITH_NVRTC can name",
      nvrtc_version, drivers, driver_version % 1000 / 10, major, drivers);
}

FoundNvrtc find_nvrtc(const CudaPlaces& places, const OpenNvrtc& open, const DriverAsked& driver) {
  const bool is_named = !places.nvrtc_file.empty();
  std::string refused;  // why those that are there do not serve
  std::optional<FoundNvrtc> for_others;
  for (const std::string& candidate : nvrtc_candidates(places)) {
    const bool is_file = candidate.find('/') != std::string::npos;
    FoundNvrtc found = open(candidate);
    if (!found.problem.empty()) {
      // A soname that the loader does not know is no news; a file that is there and does not open is.
      if (found.library || is_file) refused += fmt::format("; {}", found.problem);
      continue;
    }
    Nvrtc& nvrtc = found.nvrtc;
    if (nvrtc.file.empty()) nvrtc.file = candidate;
    const std::filesystem::path beside = is_file ? candidate : nvrtc.file.string();
    nvrtc.include_folders = with_cccl(include_folders_for(beside, nvrtc.major, nvrtc.minor, places));
    if (nvrtc.include_folders.empty() && !places.include_folder.empty()) {
      found.problem = fmt::format(
          "NVRTC is not usable: $TILESMITH_CUDA_INCLUDE is '{}', expected a folder with cuda_fp16.h, "
          "cuda_bf16.h, mma.h and crt/mma.h",
          places.include_folder);
      return found;
    }
    if (nvrtc.include_folders.empty()) {
      refused += fmt::format(
          "; {} has no CUDA headers beside it (expected cuda_fp16.h, cuda_bf16.h, mma.h and crt/mma.h; "
          "$TILESMITH_CUDA_INCLUDE names their folder)",
          candidate);
      continue;
    }
    if (!is_named) {
      if (const std::string reason = too_new(nvrtc, driver); !reason.empty()) {
        refused += fmt::format("; {}: {}", candidate, reason);
        if (!for_others) for_others = std::move(found);
        continue;
      }
    }
    warn_of_other_headers(nvrtc);
    return found;
  }
  if (for_others && !driver.is_usable()) {
    warn_of_other_headers(for_others->nvrtc);
    return *std::move(for_others);
  }
  FoundNvrtc none;
  none.problem =
      is_named ? fmt::format("NVRTC is not usable: $TILESMITH_NVRTC is '{}'{}", places.nvrtc_file, refused)
               : fmt::format(
                     "NVRTC is not usable: looked for libnvrtc.so.13 and libnvrtc.so.12 by $TILESMITH_NVRTC, "
                     "$CUDA_HOME, $CUDA_PATH, /usr/local/cuda*, /opt/cuda, the loader's path and NVIDIA's wheels{}",
                     refused);
  return none;
}

namespace {

namespace fs = std::filesystem;

constexpr std::array kSonames{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
constexpr std::array kTargets{"x86_64-linux", "aarch64-linux", "sbsa-linux"};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::vector<fs::path> folders_in(const fs::path& parent) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    if (std::error_code ignored; it->is_directory(ignored)) folders.push_back(it->path());
  }
  std::sort(folders.begin(), folders.end(), std::greater<>());  // newer releases sort later by name: cu13, cuda-12.6
  return folders;
}

/// The folders of a toolkit that end in `leaf` ("lib64", "include"), its target folders included.
void add_toolkit_folders(const fs::path& toolkit, const char* leaf, std::vector<fs::path>& folders) {
  folders.push_back(toolkit / leaf);
  for (const char* target : kTargets) folders.push_back(toolkit / "targets" / target / leaf);
}

using FolderSet = std::vector<fs::path>;

/// Whether the headers that templates include are all found in these folders together.
bool complete(const FolderSet& folders) {
  for (const char* header : {"cuda_fp16.h", "cuda_bf16.h", "mma.h", "crt/mma.h"}) {
    if (std::none_of(folders.begin(), folders.end(), [&](const fs::path& f) { return is_there(f / header); }))
      return false;
  }
  return true;
}

/// The include folders of a wheel tree: one a wheel up to CUDA 12 (cuda_runtime, cuda_nvcc, ...), one in all from 13.
FolderSet wheel_folders(const fs::path& nvidia, int major) {
  const fs::path common = nvidia / ("cu" + std::to_string(major)) / "include";
  if (is_there(common)) return {common};
  FolderSet folders;
  for (const char* wheel : {"cuda_runtime", "cuda_nvcc", "cuda_crt"}) {
    if (is_there(nvidia / wheel / "include")) folders.push_back(nvidia / wheel / "include");
  }
  return folders;
}

/// Header folders by the position of the library: toolkit, wheels or system folder.
std::vector<FolderSet> sets_beside(const fs::path& nvrtc_file, int major) {
  std::vector<FolderSet> sets;
  std::error_code error;
  for (const fs::path& file : {nvrtc_file, fs::canonical(nvrtc_file, error)}) {
    const fs::path lib = file.parent_path();
    if (lib.empty()) continue;
    sets.push_back({lib.parent_path() / "include"});                        // toolkit/lib64, cu13/lib
    sets.push_back(wheel_folders(lib.parent_path().parent_path(), major));  // nvidia/cuda_nvrtc/lib
    sets.push_back({lib.parent_path().parent_path() / "include"});          // /usr/lib/<machine>
  }
  return sets;
}

std::vector<FolderSet> sets_of_places(const CudaPlaces& places, int major) {
  std::vector<FolderSet> sets;
  for (const fs::path& toolkit : places.toolkits) {
    std::vector<fs::path> folders;
    add_toolkit_folders(toolkit, "include", folders);
    for (const fs::path& folder : folders) sets.push_back({folder});
  }
  for (const fs::path& root : places.wheel_roots) {
    sets.push_back({root / "include"});
    sets.push_back(wheel_folders(root / "nvidia", major));
  }
  if (!places.built_include.empty()) sets.push_back({places.built_include});
  if (places.loader_path) sets.push_back({"/usr/include"});
  return sets;
}

int version_of(const FolderSet& folders) {
  for (const fs::path& folder : folders) {
    if (const int version = cuda_version_of(folder); version != 0) return version;
  }
  return 0;
}

}  // namespace

int cuda_version_of(const fs::path& include_folder) {
  std::ifstream file(include_folder / "cuda.h");
  constexpr std::string_view kDefine = "#define CUDA_VERSION ";
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(kDefine)) continue;
    const std::size_t start = line.find_first_not_of(' ', kDefine.size());
    if (start == std::string::npos) return 0;
    int version = 0;
    std::from_chars(line.data() + start, line.data() + line.size(), version);
    return version;
  }
  return 0;
}

CudaPlaces usual_cuda_places(const fs::path& own_file) {
  CudaPlaces places;
  places.nvrtc_file = environment("TILESMITH_NVRTC");
  places.include_folder = environment("TILESMITH_CUDA_INCLUDE");
  // As in scripts/setup.sh: set, the machine counts as one without a toolkit.
  const std::string no_toolkit = environment("TILESMITH_NO_TOOLKIT");
  places.loader_path = no_toolkit.empty() || no_toolkit == "0";
  if (places.loader_path) {
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
      const std::string folder = environment(variable);
      if (folder.empty()) continue;
      places.toolkits.emplace_back(folder);
      if (!is_there(folder))
        db::logger()->warn("${} is '{}': there is no such folder; CUDA is looked for elsewhere", variable, folder);
    }
    places.toolkits.emplace_back("/usr/local/cuda");
    for (const fs::path& folder : folders_in("/usr/local")) {
      if (folder.filename().string().starts_with("cuda-")) places.toolkits.push_back(folder);
    }
    places.toolkits.emplace_back("/opt/cuda");
  }
#ifdef TILESMITH_WHEEL_DIR
  if (TILESMITH_WHEEL_DIR[0] != '\0') places.wheel_roots.emplace_back(TILESMITH_WHEEL_DIR);
#endif
#ifdef TILESMITH_CUDA_INCLUDE_DIR
  places.built_include = TILESMITH_CUDA_INCLUDE_DIR;
#endif
  if (!own_file.empty()) {
    const fs::path folder = own_file.parent_path();
    // The last: of a wheel, whose file is tilesmith/lib/ or tilesmith/bin/ beside NVIDIA's wheels.
    for (const fs::path& root :
        {folder, folder / "wheels", folder.parent_path() / "wheels", folder.parent_path().parent_path()}) {
      if (is_there(root / "nvidia")) places.wheel_roots.push_back(root);
    }
  }
  return places;
}

std::vector<std::string> nvrtc_candidates(const CudaPlaces& places) {
  if (!places.nvrtc_file.empty()) return {places.nvrtc_file};
  std::vector<std::string> candidates;
  std::set<fs::path> seen;  // the usual places are often links to one another
  const auto add_folder = [&](const fs::path& folder) {
    for (const char* soname : kSonames) {
      std::error_code error;
      const fs::path file = fs::canonical(folder / soname, error);
      if (!error && seen.insert(file).second) candidates.push_back((folder / soname).string());
    }
  };
  std::vector<fs::path> folders;
  for (const fs::path& toolkit : places.toolkits) {
    add_toolkit_folders(toolkit, "lib64", folders);
    add_toolkit_folders(toolkit, "lib", folders);
  }
  for (const fs::path& folder : folders) add_folder(folder);
  if (places.loader_path) candidates.insert(candidates.end(), kSonames.begin(), kSonames.end());
  for (const fs::path& root : places.wheel_roots) {
    add_folder(root / "lib");
    for (const fs::path& wheel : folders_in(root / "nvidia")) add_folder(wheel / "lib");
  }
  return candidates;
}

std::vector<fs::path> include_folders_for(const fs::path& nvrtc_file, int major, int minor, const CudaPlaces& places) {
  if (!places.include_folder.empty()) {
    const FolderSet given{places.include_folder};
    return complete(given) ? given : FolderSet();
  }
  for (const FolderSet& set : sets_beside(nvrtc_file, major)) {
    if (complete(set) && version_of(set) / 1000 == major) return set;
  }
  std::vector<FolderSet> sets = sets_of_places(places, major);
  sets.erase(std::remove_if(sets.begin(), sets.end(), [](const FolderSet& set) { return !complete(set); }), sets.end());
  const int release = major * 1000 + minor * 10;
  for (const FolderSet& set : sets) {
    if (version_of(set) / 10 == release / 10) return set;
  }
  for (const FolderSet& set : sets) {
    if (version_of(set) / 1000 == major) return set;
  }
  return sets.empty() ? FolderSet() : sets.front();
}

}  // namespace tilesmith::runtime
