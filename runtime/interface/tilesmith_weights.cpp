#include "runtime/interface/tilesmith_weights.h"

#include <string>
#include <string_view>

#include "runtime/interface/c_calls.hpp"
#include "runtime/interface/c_values.hpp"
#include "runtime/interface/weights_source.hpp"

namespace {

using tilesmith::Error;
using tilesmith::ErrorCode;
using tilesmith::runtime::check_size;
using tilesmith::runtime::guarded;

template <std::size_t Bytes>
void put_text(char (&field)[Bytes], std::string_view text, const char* expected) {
  if (text.size() >= Bytes) throw Error(ErrorCode::bad_argument, "'" + std::string(text) + "': " + expected);
  text.copy(field, text.size());
}

}  // namespace

extern "C" {

tilesmith_status tilesmith_weights_init(tilesmith_weights* weights, const char* type, int64_t n, int64_t k,
    int64_t group, const char* scale_type, int32_t has_zeros) {
  if (weights != nullptr) *weights = tilesmith_weights{};
  return guarded(__func__, {{"weights", weights}, {"type", type}, {"scale_type", scale_type}}, [&] {
    tilesmith_weights made{};
    made.size = sizeof made;
    put_text(made.type, type, "expected s4, u4, s8, e4m3, e2m1, nf4, q4_k or q6_k");
    put_text(made.scale_type, scale_type, "expected f16, bf16 or f32");
    made.n = n;
    made.k = k;
    made.group = group;
    made.has_zeros = has_zeros;
    tilesmith::runtime::check_weights(made);
    *weights = made;
  });
}

tilesmith_status tilesmith_weights_source_init(tilesmith_weights_source* source, int32_t format) {
  return guarded(__func__, {{"source", source}}, [&] {
    *source = tilesmith_weights_source{};
    source->size = sizeof *source;
    source->format = format;
  });
}

tilesmith_status tilesmith_weights_bytes(const tilesmith_weights* weights, tilesmith_weights_sizes* sizes) {
  if (sizes != nullptr) *sizes = tilesmith_weights_sizes{};
  return guarded(__func__, {{"sizes", sizes}, {"weights", weights}}, [&] {
    check_size("tilesmith_weights", weights->size, sizeof *weights, sizeof *weights, sizeof *weights);
    *sizes = tilesmith::runtime::sizes_of(*weights);
  });
}

tilesmith_status tilesmith_weights_repack(tilesmith_library* library, struct CUstream_st* stream,
    const tilesmith_weights* weights, const tilesmith_weights_source* source, void* codes, void* scales, void* zeros) {
  return guarded(__func__, {{"weights", weights}, {"source", source}}, [&] {
    check_size("tilesmith_weights", weights->size, sizeof *weights, sizeof *weights, sizeof *weights);
    check_size("tilesmith_weights_source", source->size, sizeof *source, sizeof *source, sizeof *source);
    if (source->on_host != 0) {
      tilesmith::runtime::repack_on_host(tilesmith::runtime::repack_args(*weights, *source, codes, scales, zeros));
    } else if (library == nullptr) {
      throw Error(ErrorCode::bad_argument, "tilesmith_weights_repack: library is null: expected one, or on_host");
    } else {
      library->library.repack_weights(stream, *weights, *source, codes, scales, zeros);
    }
  });
}

}  // extern "C"
