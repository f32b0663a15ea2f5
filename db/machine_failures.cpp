#include "db/machine_failures.hpp"

#include <fmt/format.h>

namespace tilesmith::db {

// By the words of those versions. A launch that the driver refuses ("launch failed with driver error 2") is the kernel's own doing.
std::string failed_by_machine(std::string_view row) {
  return fmt::format(
      "({0}.status = 'launch_failed' AND {0}.message GLOB '*: CUDA_ERROR_OUT_OF_MEMORY (*' "
      "OR {0}.status IN ('compile_failed', 'device_fault') AND ({0}.message GLOB '*ended: killed by signal 9 (*' "
      "OR {0}.message GLOB '*ended: killed by signal 15 (*' OR {0}.message GLOB '*NVRTC_ERROR_OUT_OF_MEMORY*'))",
      row);
}

}  // namespace tilesmith::db
