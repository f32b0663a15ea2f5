#include "runtime/cublas/shim/tilesmith_api.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>

#include "runtime/cublas/shim/real_library.hpp"
#include "runtime/cublas/shim/settings.hpp"

namespace tilesmith::cublas {
namespace {

constexpr const char* kLibraryName = TILESMITH_LIBRARY_NAME;  // the SONAME of this version
std::atomic<const TilesmithApi*> opened_api{nullptr};

/// Beside the shim, or where the shim stands in a folder of its own, above that.
void* open_library() {
  const std::string& given = settings().library;
  if (!given.empty()) return dlopen(given.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (const std::string& folder : {own_folder(), own_folder() + "../", own_folder() + "../../"}) {
    const std::string path = folder + kLibraryName;
    if (access(path.c_str(), R_OK) != 0) continue;
    if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return dlopen(kLibraryName, RTLD_NOW | RTLD_LOCAL);
}

const TilesmithApi* load_api() {
  const std::lock_guard lock(loading_libraries());
  void* const library = open_library();
  if (library == nullptr) {
    const char* const so = settings().mode == Mode::capture ? "nothing is captured" : "every call is forwarded";
    say("%s; expected libtilesmith beside the shim, or its path in TILESMITH_LIBRARY; %s", dlerror(), so);
    return nullptr;
  }
  static TilesmithApi api{};
  const char* missing = nullptr;
#define TILESMITH_BIND(name)                                                           \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, "tilesmith_" #name)); \
  if (api.name == nullptr) missing = "tilesmith_" #name;
  TILESMITH_API(TILESMITH_BIND)
#undef TILESMITH_BIND
  if (missing != nullptr)
    say("libtilesmith has no %s: expected version " TILESMITH_LIBRARY_NAME "; every call is forwarded", missing);
  return missing == nullptr ? &api : nullptr;
}

}  // namespace

const TilesmithApi* tilesmith_api() noexcept {
  static bool tried = false;
  if (!tried) opened_api.store(load_api(), std::memory_order_release);
  tried = true;
  return opened_tilesmith_api();
}

std::timed_mutex& loading_libraries() noexcept {
  static std::timed_mutex mutex;
  return mutex;
}

const TilesmithApi* opened_tilesmith_api() noexcept { return opened_api.load(std::memory_order_acquire); }

std::string line_of(const KnownProblem& problem) {
  const TilesmithApi& api = *opened_tilesmith_api();
  const tilesmith_problem& asked = problem.key.problem;
  std::string line;
  if (workload_line(asked, {api.problem_text, api.last_error}, line)) return line;
  char sizes[128];
  std::snprintf(sizes, sizeof sizes, "%s %" PRId64 " %" PRId64 " %" PRId64, asked.type, asked.m, asked.n, asked.k);
  return sizes;
}

}  // namespace tilesmith::cublas
