// What compiled kernels use of the device, as the compiler's log tells it (ptxas -v).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilesmith::runtime {

struct KernelResources {
  std::string entry;
  int registers = 0;
  int stack_bytes = 0;  ///< local memory, a thread; need not be a spill
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int static_smem_bytes = 0;

  int spill_bytes() const { return spill_store_bytes + spill_load_bytes; }
};

/// One a kernel, in the order of the log. What a device function that was not inlined spills counts for the kernel
/// that it follows in the log. Lines of any other form are passed over: logs of NVRTC 12.6 and 13.0 have been seen.
std::vector<KernelResources> parse_resources(std::string_view log);

/// The first line of a log that tells of an error ("fatal", "error", "unresolved"); else its first line; never empty.
std::string first_error_line(std::string_view log);

}  // namespace tilesmith::runtime
