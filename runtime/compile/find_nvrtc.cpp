#include "runtime/compile/find_nvrtc.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "db/store/logger.hpp"

namespace tilesmith::runtime {
namespace {

void warn_of_other_headers(const Nvrtc& nvrtc) {
  const int headers = cuda_version_of(nvrtc.include_folders.front());
  if (headers == 0 || headers / 1000 == nvrtc.major) return;
  db::logger()->warn("NVRTC {}.{} ({}) is used with the headers of CUDA {}.{} ({})", nvrtc.major, nvrtc.minor,
      nvrtc.file.string(), headers / 1000, headers % 1000 / 10, nvrtc.include_folders.front().string());
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
    nvrtc.include_folders = include_folders_for(beside, nvrtc.major, nvrtc.minor, places);
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

}  // namespace tilesmith::runtime
