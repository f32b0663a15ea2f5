// The files of tuner/workloads, embedded in the binary at build time (tuner/workloads/EmbedWorkloads.cmake).
#pragma once

#include <span>
#include <string_view>

#include "tuner/workload.hpp"

namespace tilesmith::tuner {

struct WorkloadFile {
  BuiltInWorkload workload;
  std::string_view text;
};

/// By name.
std::span<const WorkloadFile> workload_files();

}  // namespace tilesmith::tuner
