// --buckets: which sizes of M a workload made of calls gets beside those that were called.
#pragma once

#include <string>

#include "runtime/cublas/calls/buckets.hpp"

namespace CLI { class App; class Option; }

namespace tilesmith::tuner {

inline constexpr const char* kDefaultBuckets = "powers";
CLI::Option* add_buckets_option(CLI::App& app, std::string& text);
/// Throws UsageError.
cublas::Buckets buckets_given(const std::string& text);

}  // namespace tilesmith::tuner
