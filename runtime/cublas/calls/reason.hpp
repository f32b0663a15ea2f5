// Why a call was forwarded.
#pragma once

#include <cstddef>

namespace tilesmith::cublas {

enum class Reason : unsigned char {
  none,
  // What was asked for.
  bad_arguments,
  empty,
  types,
  pedantic,
  emulated,
  epilogue,
  layout,
  scales,
  precise_fp8,
  sm_target,
  narrow_device_scalars,
  // Where.
  no_context,
  not_primary_context,
  // What is known of the problem.
  waiting,
  capturing,
  too_many,
  no_library,
  no_records,
  stale_records,
  vendor_unknown,
  vendor_faster,
  no_workspace,
  plan_failed,
  run_failed,
  not_checked,
  capture_mode,
  count_of_reasons
};

inline constexpr std::size_t kReasons = std::size_t(Reason::count_of_reasons);

/// For the table at exit.
const char* text(Reason reason);

}  // namespace tilesmith::cublas
