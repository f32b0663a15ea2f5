#include "runtime/cublas/real_library.hpp"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cublas/settings.hpp"

/// By this name a shim knows another one, and itself.
extern "C" [[gnu::visibility("default")]] const int tilesmith_cublas_shim = TILESMITH_CUDA_MAJOR;

namespace tilesmith::cublas {
namespace {

#define TILESMITH_TEXT_(x) #x
#define TILESMITH_TEXT(x) TILESMITH_TEXT_(x)
constexpr const char* kMajor = TILESMITH_TEXT(TILESMITH_CUDA_MAJOR);

struct Kind {
  std::string soname;     // and the name of the version of all its symbols
  const char* some_symbol;
};

const Kind& kind_of(Library library) {
  static const auto* const kinds = new Kind[2]{{std::string("libcublas.so.") + kMajor, "cublasCreate_v2"},
                                               {std::string("libcublasLt.so.") + kMajor, "cublasLtCreate"}};
  return kinds[library == Library::cublas ? 0 : 1];
}

/// Whether the library itself is a shim: what it is linked with may be one.
bool is_shim(void* handle) {
  const void* const mark = dlsym(handle, "tilesmith_cublas_shim");
  link_map* library = nullptr;
  Dl_info of_mark;
  return mark != nullptr && dlinfo(handle, RTLD_DI_LINKMAP, &library) == 0 && dladdr(mark, &of_mark) != 0 &&
         reinterpret_cast<ElfW(Addr)>(of_mark.dli_fbase) == library->l_addr;
}

/// A handle, if the file is the library sought and no shim. `flags`: RTLD_NOLOAD too, for what is loaded.
void* open_real(const std::string& path, const Kind& kind, int flags) {
  void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | flags);
  if (handle == nullptr) return nullptr;
  if (!is_shim(handle) && dlvsym(handle, kind.some_symbol, kind.soname.c_str()) != nullptr) return handle;
  dlclose(handle);
  return nullptr;
}

std::string base_of(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

std::vector<std::string> loaded_paths() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        if (info->dlpi_name != nullptr && *info->dlpi_name != '\0') static_cast<std::vector<std::string>*>(list)->push_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

/// Also where it came with a plug-in that shows its symbols to none.
void* find_loaded(const std::vector<std::string>& loaded, const Kind& kind) {
  const std::string begin = kind.soname.substr(0, kind.soname.rfind('.'));  // "libcublas.so": files may be named by their whole version
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
  for (const std::string& pattern : {toolkit + "*/lib64", toolkit + "*/targets/*-linux/lib", std::string("/usr/lib/*-linux-gnu")}) {
    for (std::string& folder : files_like(pattern)) folders.push_back(std::move(folder));
  }
  folders.insert(folders.end(), {"/opt/cuda/lib64", "/usr/lib64", "/usr/lib"});
}

void* find_library(Library library) {
  const Kind& kind = kind_of(library);
  const std::string& given = settings().real_cublas;
  if (library == Library::cublas && !given.empty()) {
    if (void* const handle = open_real(given, kind, 0)) return handle;
    const char* const why = dlerror();
    say("TILESMITH_REAL_CUBLAS is '%s': expected the file of %s (%s)", given.c_str(), kind.soname.c_str(), why != nullptr ? why : "it is another library");
  }
  const std::vector<std::string> loaded = loaded_paths();
  if (void* const handle = find_loaded(loaded, kind)) return handle;
  std::vector<std::string> folders;
  if (!given.empty()) folders.push_back(given.substr(0, given.rfind('/')));
  add_search_folders(nullptr, folders);
  for (const std::string& path : loaded) add_search_folders(path.c_str(), folders);
  add_usual_folders(folders);
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + kind.soname;
    if (path[0] != '/' || access(path.c_str(), R_OK) != 0) continue;
    if (void* const handle = open_real(path, kind, 0)) return handle;
  }
  say("%s was not found: expected its absolute path in TILESMITH_REAL_CUBLAS", kind.soname.c_str());
  return nullptr;
}

/// Is found once; what was not there may be loaded later, so another call looks again, but tells no more.
void* handle_of(Library library) {
  static std::recursive_mutex mutex;
  static void* handles[2] = {};
  static bool failed[2] = {};
  const std::lock_guard lock(mutex);
  const int at = library == Library::cublas ? 0 : 1;
  if (handles[at] == nullptr && failed[at]) handles[at] = find_loaded(loaded_paths(), kind_of(library));
  else if (handles[at] == nullptr) handles[at] = find_library(library);
  failed[at] = handles[at] == nullptr;
  return handles[at];
}

}  // namespace

void* real_symbol(Library library, const char* name) noexcept {
  try {
    void* const handle = handle_of(library);
    return handle != nullptr ? dlvsym(handle, name, kind_of(library).soname.c_str()) : nullptr;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace tilesmith::cublas
