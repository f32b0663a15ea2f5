#include "runtime/driver/shared_library.hpp"

#include <dlfcn.h>

#include <system_error>

namespace tilesmith::runtime {

void SharedLibrary::Close::operator()(void* handle) const noexcept { ::dlclose(handle); }

SharedLibrary SharedLibrary::open(const std::string& name, std::string& error) {
  SharedLibrary library;
  library.handle_.reset(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library) {
    const char* reason = ::dlerror();
    error = reason != nullptr ? reason : name + " could not be opened";
  }
  return library;
}

void* SharedLibrary::symbol(const char* name) const { return handle_ ? ::dlsym(handle_.get(), name) : nullptr; }

std::filesystem::path file_of_address(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  if (!error) return file;
  // The main program's name may be relative to a folder that is no longer the current one.
  file = std::filesystem::canonical("/proc/self/exe", error);
  return error ? std::filesystem::path() : file;
}

}  // namespace tilesmith::runtime
