#include "runtime/nvrtc.hpp"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <stdexcept>

#include "db/logger.hpp"
#include "runtime/compiler.hpp"
#include "runtime/nvrtc_places.hpp"
#include "runtime/shared_library.hpp"

namespace tilesmith::runtime {
namespace {

std::atomic<const Nvrtc*> replacement{nullptr};

/// Takes the functions and the version from an open library; says what is wrong with it otherwise.
std::optional<std::string> fill(const SharedLibrary& library, Nvrtc& out) {
  const char* missing = nullptr;
  const auto resolve = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.symbol(symbol));
    if (function == nullptr && missing == nullptr) missing = symbol;
  };
  resolve(out.version, "nvrtcVersion");
  resolve(out.error_text, "nvrtcGetErrorString");
  resolve(out.create, "nvrtcCreateProgram");
  resolve(out.destroy, "nvrtcDestroyProgram");
  resolve(out.compile, "nvrtcCompileProgram");
  resolve(out.log_size, "nvrtcGetProgramLogSize");
  resolve(out.log, "nvrtcGetProgramLog");
  resolve(out.cubin_size, "nvrtcGetCUBINSize");
  resolve(out.cubin, "nvrtcGetCUBIN");
  resolve(out.ptx_size, "nvrtcGetPTXSize");
  resolve(out.ptx, "nvrtcGetPTX");
  if (missing != nullptr) return fmt::format("has no function {}", missing);
  if (out.version(&out.major, &out.minor) != 0) return "does not tell its version";
  if (out.major < kOldestNvrtcMajor) {
    return fmt::format("is NVRTC {}.{}, expected {}.0 or later", out.major, out.minor, kOldestNvrtcMajor);
  }
  out.file = file_of_address(reinterpret_cast<const void*>(out.version));
  return std::nullopt;
}

struct Loaded {
  Nvrtc nvrtc;
  std::string problem;  // empty if usable
};

Loaded load() {
  // Any address of this code tells which file it is in.
  static const char own_address = 0;
  const CudaPlaces places = usual_cuda_places(file_of_address(&own_address));
  std::string refused;  // why those that are there do not serve
  for (const std::string& candidate : nvrtc_candidates(places)) {
    std::string error;
    SharedLibrary library = SharedLibrary::open(candidate, error);
    if (!library) {
      // A soname that the loader does not know is no news; a file that is there and does not open is.
      if (candidate.find('/') != std::string::npos) refused += fmt::format("; {}", error);
      continue;
    }
    Loaded loaded;
    if (const auto wrong = fill(library, loaded.nvrtc)) {
      refused += fmt::format("; {} {}", candidate, *wrong);
      continue;
    }
    Nvrtc& found = loaded.nvrtc;
    if (found.file.empty()) found.file = candidate;
    const std::filesystem::path beside = candidate.find('/') != std::string::npos ? candidate : found.file.string();
    found.include_folders = include_folders_for(beside, found.major, found.minor, places);
    if (found.include_folders.empty() && !places.include_folder.empty()) {
      loaded.problem = fmt::format(
          "NVRTC is not usable: $TILESMITH_CUDA_INCLUDE is '{}', expected a folder with cuda_fp16.h, "
          "cuda_bf16.h, mma.h and crt/mma.h",
          places.include_folder);
      return loaded;
    }
    if (found.include_folders.empty()) {
      refused += fmt::format(
          "; {} has no CUDA headers beside it (expected cuda_fp16.h, cuda_bf16.h, mma.h and crt/mma.h; "
          "$TILESMITH_CUDA_INCLUDE names their folder)",
          candidate);
      continue;
    }
    library.keep_open();
    const int headers = cuda_version_of(found.include_folders.front());
    if (headers != 0 && headers / 1000 != found.major) {
      db::logger()->warn("NVRTC {}.{} ({}) is used with the headers of CUDA {}.{} ({})", found.major, found.minor,
                         found.file.string(), headers / 1000, headers % 1000 / 10,
                         found.include_folders.front().string());
    }
    return loaded;
  }
  Loaded loaded;
  loaded.problem =
      !places.nvrtc_file.empty()
          ? fmt::format("NVRTC is not usable: $TILESMITH_NVRTC is '{}'{}", places.nvrtc_file, refused)
          : fmt::format(
                "NVRTC is not usable: looked for libnvrtc.so.13 and libnvrtc.so.12 by $TILESMITH_NVRTC, "
                "$CUDA_HOME, $CUDA_PATH, /usr/local/cuda*, /opt/cuda, the loader's path and NVIDIA's wheels{}",
                refused);
  return loaded;
}

const Loaded& loaded_once() {
  // Never destroyed: a compiling thread may outlive main().
  static const Loaded* loaded = new Loaded(load());
  return *loaded;
}

}  // namespace

const Nvrtc& nvrtc() {
  if (const Nvrtc* table = replacement.load(std::memory_order_acquire)) return *table;
  const Loaded& loaded = loaded_once();
  if (!loaded.problem.empty()) throw std::runtime_error(loaded.problem);
  return loaded.nvrtc;
}

std::string nvrtc_unavailable_because() {
  if (replacement.load(std::memory_order_acquire) != nullptr) return {};
  return loaded_once().problem;
}

std::string nvrtc_version() { return fmt::format("{}.{}", nvrtc().major, nvrtc().minor); }

ScopedNvrtc::ScopedNvrtc(const Nvrtc& table) : former_(replacement.exchange(&table)) {}
ScopedNvrtc::~ScopedNvrtc() { replacement.store(former_); }

}  // namespace tilesmith::runtime
