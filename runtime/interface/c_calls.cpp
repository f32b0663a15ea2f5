#include "runtime/interface/c_calls.hpp"

#include <cstdio>

namespace tilesmith::runtime {
namespace {

// A plain buffer: keeping a failure's text must not fail itself.
thread_local char kept_error[1024] = "";

}  // namespace

const char* last_error() noexcept { return kept_error; }

tilesmith_status fail(tilesmith_status status, const char* what) noexcept {
  std::snprintf(kept_error, sizeof kept_error, "%s", what);
  return status;
}

}  // namespace tilesmith::runtime
