#include "runtime/cublas/calls/reason.hpp"

namespace tilesmith::cublas {

const char* text(Reason reason) {
  switch (reason) {
    case Reason::none: return "taken over";
    case Reason::bad_arguments: return "arguments that cuBLAS has to judge";
    case Reason::empty: return "nothing to multiply: m, n, k or the batch is 0";
    case Reason::types: return "a combination of types that has no kernel here";
    case Reason::pedantic: return "pedantic math";
    case Reason::emulated: return "emulated f32 or f64";
    case Reason::epilogue: return "an epilogue that has no kernel here";
    case Reason::layout: return "a layout, order or batch mode that has no kernel here";
    case Reason::scales: return "scales of a kind, or of a matrix, that has no kernel here";
    case Reason::precise_fp8: return "8-bit floats without fast accumulation";
    case Reason::sm_target: return "a limit on the number of SMs";
    case Reason::narrow_device_scalars: return "alpha and beta in device memory as f16";
    case Reason::no_context: return "the thread had no CUDA context yet";
    case Reason::not_primary_context: return "a CUDA context of the application's own";
    case Reason::waiting: return "its plan was not ready yet";
    case Reason::capturing: return "its plan was not ready, and the stream was being captured";
    case Reason::too_many: return "too many different problems";
    case Reason::no_library: return "the library or the database did not open";
    case Reason::no_records: return "not in the database";
    case Reason::stale_records: return "in the database, but to be verified or timed again";
    case Reason::vendor_unknown: return "in the database, without cuBLAS's time";
    case Reason::vendor_faster: return "cuBLAS is as fast or faster";
    case Reason::no_workspace: return "no workspace at hand (a captured stream gets none but the application's)";
    case Reason::plan_failed: return "it could not be planned";
    case Reason::run_failed: return "a launch of it failed";
    case Reason::not_checked: return "not checked: captured, by pointers, or out of memory";
    case Reason::capture_mode: return "noted for the workload";
    case Reason::count_of_reasons: break;
  }
  return "unknown";
}

}  // namespace tilesmith::cublas
