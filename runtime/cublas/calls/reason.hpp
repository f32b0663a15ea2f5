// Why a call was forwarded.
#pragma once

#include <cstddef>

namespace tilesmith::cublas {

// clang-format off
// X(reason, text of the table at exit)
#define TILESMITH_REASONS(X)                                                                  \
  X(none, "taken over")                                                                       \
  /* What was asked for. */                                                                   \
  X(bad_arguments, "arguments that cuBLAS has to judge")                                      \
  X(empty, "nothing to multiply: m, n, k or the batch is 0")                                  \
  X(types, "a combination of types that has no kernel here")                                  \
  X(pedantic, "pedantic math")                                                                \
  X(emulated, "emulated f32 or f64")                                                          \
  X(epilogue, "an epilogue that has no kernel here")                                          \
  X(layout, "a layout, order or batch mode that has no kernel here")                          \
  X(scales, "scales of a kind, or of a matrix, that has no kernel here")                      \
  X(scale_layout, "scales of blocks in a batch, or of other transposes than T and N")         \
  X(padded_scales, "scales of 128x128 padded along K: K/128 is not a multiple of 4")          \
  X(precise_fp8, "8-bit floats without fast accumulation")                                    \
  X(sm_target, "a limit on the number of SMs")                                                \
  X(narrow_device_scalars, "alpha and beta in device memory as f16")                          \
  /* Where. */                                                                                \
  X(no_context, "the thread had no CUDA context yet")                                         \
  X(not_primary_context, "a CUDA context of the application's own")                           \
  /* What is known of the problem. */                                                         \
  X(waiting, "its plan was not ready yet")                                                    \
  X(capturing, "its plan was not ready, and the stream was being captured")                   \
  X(too_many, "too many different problems")                                                  \
  X(no_library, "the library or the database did not open")                                   \
  X(no_records, "not in the database")                                                        \
  X(stale_records, "in the database, but to be verified or timed again")                      \
  X(vendor_unknown, "in the database, without cuBLAS's time")                                 \
  X(vendor_faster, "cuBLAS is as fast or faster")                                             \
  X(no_workspace, "no workspace at hand (a captured stream gets none but the application's)") \
  X(plan_failed, "it could not be planned")                                                   \
  X(run_failed, "a launch of it failed")                                                      \
  X(not_checked, "not checked: captured, by pointers, or out of memory")                      \
  X(capture_mode, "noted for the workload")
// clang-format on

#define TILESMITH_NAME(name, text) name,
enum class Reason : unsigned char { TILESMITH_REASONS(TILESMITH_NAME) count_of_reasons };
#undef TILESMITH_NAME

inline constexpr std::size_t kReasons = std::size_t(Reason::count_of_reasons);

inline const char* text(Reason reason) {
#define TILESMITH_TEXT_OF(name, text) text,
  static constexpr const char* kTexts[] = {TILESMITH_REASONS(TILESMITH_TEXT_OF)};
#undef TILESMITH_TEXT_OF
  return kTexts[std::size_t(reason)];
}

}  // namespace tilesmith::cublas
