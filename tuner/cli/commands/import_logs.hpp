// `tilesmith import -o`: logs of what a program multiplied, as a workload.
#pragma once

#include <string>
#include <vector>

#include "tuner/cli/options/buckets_option.hpp"

namespace tilesmith::tuner {

struct ImportLogsOptions {
  std::vector<std::string> files;  // "-": standard input
  std::string output, format, buckets = kDefaultBuckets;
};

/// Reads all of them before the workload is written. Throws UsageError. Returns the exit status.
int run_import_logs(const ImportLogsOptions& options);

/// What kind of log a file is, "cuBLASLt's trace (..)"; empty: none, as far as its beginning tells.
std::string kind_of_log(const std::string& file);

/// "cublaslt, tunableop or rocm".
std::string log_format_names();

}  // namespace tilesmith::tuner
