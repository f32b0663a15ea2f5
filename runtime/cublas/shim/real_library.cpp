#include "runtime/cublas/shim/real_library.hpp"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <mutex>
#include <vector>

#include "runtime/cublas/shim/settings.hpp"

/// By this name a shim knows another one, and itself.
extern "C" [[gnu::visibility("default")]] const int tilesmith_cublas_shim = TILESMITH_CUDA_MAJOR;

namespace tilesmith::cublas {
namespace {

#define TILESMITH_TEXT_(x) #x
#define TILESMITH_TEXT(x) TILESMITH_TEXT_(x)
constexpr const char* kMajor = TILESMITH_TEXT(TILESMITH_CUDA_MAJOR);

struct Kind {
  std::string soname;  // and the name of the version of all its symbols
  const char* some_symbol;
};

const Kind& kind_of(Library library) {
  static const auto* const kinds = new Kind[2]{{std::string("libcublas.so.") + kMajor, "cublasCreate_v2"},
      {std::string("libcublasLt.so.") + kMajor, "cublasLtCreate"}};
  return kinds[library == Library::cublas ? 0 : 1];
}

/// The symbol, if the library itself has it: what it is linked with may have it, too.
void* own_symbol(void* handle, const char* name) {
  void* const symbol = dlsym(handle, name);
  link_map* library = nullptr;
  Dl_info of_symbol;
  const bool is_own = symbol != nullptr && dlinfo(handle, RTLD_DI_LINKMAP, &library) == 0 &&
                      dladdr(symbol, &of_symbol) != 0 &&
                      reinterpret_cast<ElfW(Addr)>(of_symbol.dli_fbase) == library->l_addr;
  return is_own ? symbol : nullptr;
}

bool is_shim(void* handle) { return own_symbol(handle, "tilesmith_cublas_shim") != nullptr; }

std::string base_of(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

/// As NVIDIA's have; other implementations may not.
bool has_versions(void* handle) {
  link_map* library = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &library) != 0) return false;
  const ElfW(Dyn)* entry = library->l_ld;
  while (entry->d_tag != DT_NULL && entry->d_tag != DT_VERDEF) ++entry;
  return entry->d_tag == DT_VERDEF;
}

void* symbol_of(void* handle, const char* name, const Kind& kind) {
  return has_versions(handle) ? dlvsym(handle, name, kind.soname.c_str()) : dlsym(handle, name);
}

/// A handle, if the file is the library sought and no shim. `flags`: RTLD_NOLOAD too, for what is loaded.
void* open_real(const std::string& path, const Kind& kind, int flags) {
  void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | flags);
  if (handle == nullptr) return nullptr;
  const bool is_of_major =
      has_versions(handle) || base_of(path.c_str()).compare(0, kind.soname.size(), kind.soname) == 0;
  if (is_of_major && !is_shim(handle) && symbol_of(handle, kind.some_symbol, kind) != nullptr) return handle;
  dlclose(handle);
  return nullptr;
}

std::vector<std::string> loaded_paths() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        if (info->dlpi_name != nullptr && *info->dlpi_name != '\0')
          static_cast<std::vector<std::string>*>(list)->push_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

/// Also where it came with a plug-in that shows its symbols to none.
void* find_loaded(const std::vector<std::string>& loaded, const Kind& kind) {
  const std::string begin =
      kind.soname.substr(0, kind.soname.rfind('.'));  // "libcublas.so": files may be named by their whole version
  for (const std::string& path : loaded) {
    if (base_of(path.c_str()).compare(0, begin.size(), begin) != 0) continue;
    if (void* const handle = open_real(path, kind, RTLD_NOLOAD)) return handle;
  }
  return nullptr;
}

/// Folders that the loader searches for one of the loaded files, by RPATH, RUNPATH and LD_LIBRARY_PATH.
void add_search_folders(const char* path, std::vector<std::string>& folders) {
  void* const handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return;
  Dl_serinfo size;
  if (dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0) {
    std::vector<char> room(size.dls_size);
    auto* const info = reinterpret_cast<Dl_serinfo*>(room.data());
    if (dlinfo(handle, RTLD_DI_SERINFOSIZE, info) == 0 && dlinfo(handle, RTLD_DI_SERINFO, info) == 0) {
      for (unsigned i = 0; i < info->dls_cnt; ++i) folders.push_back(info->dls_serpath[i].dls_name);
    }
  }
  dlclose(handle);
}

std::vector<std::string> files_like(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> result;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) result.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return result;
}

/// What ldconfig was told, and the toolkit's own folders.
void add_usual_folders(std::vector<std::string>& folders) {
  for (const std::string& file : files_like("/etc/ld.so.conf.d/*.conf")) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty() && line[0] == '/') folders.push_back(line);
    }
  }
  const std::string toolkit = std::string("/usr/local/cuda-") + kMajor;
  folders.push_back("/usr/local/cuda/lib64");
  for (const std::string& pattern :
      {toolkit + "*/lib64", toolkit + "*/targets/*-linux/lib", std::string("/usr/lib/*-linux-gnu")}) {
    for (std::string& folder : files_like(pattern)) folders.push_back(std::move(folder));
  }
  folders.insert(folders.end(), {"/opt/cuda/lib64", "/usr/lib64", "/usr/lib"});
}

/// Whoever opens cuBLAS by name wants one that is not loaded yet. Any other program has loaded its own, and a second
/// library would get the handles of the first: so does a program behind whose names, which have no versions, a cuBLAS
/// follows.
bool may_search_files([[maybe_unused]] const Kind& kind) {
#ifdef TILESMITH_HAS_NAME_OF_CUBLAS
  Dl_info next;
  const void* const symbol = dlsym(RTLD_NEXT, kind.some_symbol);
  void* const handle =
      symbol != nullptr && dladdr(symbol, &next) != 0 ? dlopen(next.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  return handle == nullptr || has_versions(handle);
#else
  return false;
#endif
}

void* find_library(Library library) {
  const Kind& kind = kind_of(library);
  const std::string& given = settings().real_cublas;
  if (library == Library::cublas && !given.empty()) {
    if (void* const handle = open_real(given, kind, 0)) return handle;
    const char* const why = dlerror();
    say("TILESMITH_REAL_CUBLAS is '%s': expected the file of %s (%s)", given.c_str(), kind.soname.c_str(),
        why != nullptr ? why : "it is another library");
  }
  const std::vector<std::string> loaded = loaded_paths();
  if (void* const handle = find_loaded(loaded, kind)) return handle;
  std::vector<std::string> folders;
  if (!given.empty()) folders.push_back(given.substr(0, given.rfind('/')));
  if (may_search_files(kind)) {
    add_search_folders(nullptr, folders);
    for (const std::string& path : loaded) add_search_folders(path.c_str(), folders);
    add_usual_folders(folders);
  }
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + kind.soname;
    if (path[0] != '/' || access(path.c_str(), R_OK) != 0) continue;
    if (void* const handle = open_real(path, kind, 0)) return handle;
  }
  return nullptr;
}

/// How many libraries the process has loaded so far.
unsigned long long loads() {
  unsigned long long count = 0;
  dl_iterate_phdr([](dl_phdr_info* info, std::size_t,
                      void* result) { return *static_cast<unsigned long long*>(result) = info->dlpi_adds, 1; },
      &count);
  return count;
}

/// Is found once. What was not there may be loaded later, so a call behind another load looks again.
void* handle_of(Library library) noexcept try {
  static std::recursive_mutex mutex;
  static std::atomic<void*> handles[2] = {};
  static std::atomic<unsigned long long> looked_at[2] = {};  // loads() when it was last searched for in vain
  const int at = library == Library::cublas ? 0 : 1;
  if (void* const known = handles[at].load(std::memory_order_acquire)) return known;
  const unsigned long long now = loads();
  if (looked_at[at].load(std::memory_order_acquire) == now) return nullptr;
  const std::lock_guard lock(mutex);
  if (handles[at] == nullptr)
    handles[at] = looked_at[at] == 0 ? find_library(library) : find_loaded(loaded_paths(), kind_of(library));
  looked_at[at].store(loads(), std::memory_order_release);
  return handles[at];
} catch (...) {  // out of memory
  return nullptr;
}

/// Behind this shim in the order of the loader; else of a plug-in that shows its symbols to none.
void* next_definition(const char* name) {
  if (void* const next = dlsym(RTLD_NEXT, name)) return next;
  for (const std::string& path : loaded_paths()) {
    void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* const symbol = is_shim(handle) ? nullptr : own_symbol(handle, name);
    dlclose(handle);
    if (symbol != nullptr) return symbol;
  }
  return nullptr;
}

}  // namespace

std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

bool has_real(Library library) noexcept { return handle_of(library) != nullptr; }

void* real_symbol(Library library, const char* name) noexcept try {
  const Kind& kind = kind_of(library);
  if (void* const handle = handle_of(library)) return symbol_of(handle, name, kind);
  if (void* const next = next_definition(name)) return next;
  static std::atomic<bool> said{false};
  if (!said.exchange(true))
    say("%s was not found: expected its absolute path in TILESMITH_REAL_CUBLAS", kind.soname.c_str());
  return nullptr;
} catch (...) {
  return nullptr;
}

}  // namespace tilesmith::cublas
