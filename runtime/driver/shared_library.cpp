#include "runtime/driver/shared_library.hpp"

#include <dlfcn.h>

#include <system_error>
#include <utility>

namespace tilesmith::runtime {

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

SharedLibrary& SharedLibrary::operator=(SharedLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

SharedLibrary SharedLibrary::open(const std::string& name, std::string& error) {
  SharedLibrary library;
  library.handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = ::dlerror();
    error = reason != nullptr ? reason : name + " could not be opened";
  }
  return library;
}

void* SharedLibrary::symbol(const char* name) const { return handle_ != nullptr ? ::dlsym(handle_, name) : nullptr; }

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
