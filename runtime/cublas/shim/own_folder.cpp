#include "runtime/cublas/shim/own_folder.hpp"

#include <dlfcn.h>

namespace tilesmith::cublas {

std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

}  // namespace tilesmith::cublas
