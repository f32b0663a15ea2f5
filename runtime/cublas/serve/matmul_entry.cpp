// cublasLtMatmul: what its descriptors say, by cuBLASLt's own getters.
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "runtime/cublas/calls/matmul_call.hpp"
#include "runtime/cublas/serve/serve.hpp"
#include "runtime/cublas/shim/real_library.hpp"

namespace tilesmith::cublas {
namespace {

using DescriptorGetter = Status(Descriptor, int attribute, void* value, std::size_t bytes, std::size_t* written);
RealFunction<DescriptorGetter> get_of_desc{Library::cublaslt, "cublasLtMatmulDescGetAttribute"};

/// What the description says, of what matters for such a product; one attribute that this cuBLASLt does not have yet
/// keeps its default. False: one that has to be there cannot be read.
bool read_description(Descriptor of, int type_a, const MatrixLayout& d, MatmulDescription& result) {
  auto* const getter = get_of_desc.get();
  const auto read = [&](int attribute, auto& value) {
    std::remove_reference_t<decltype(value)> given{};
    std::size_t written = 0;
    if (getter == nullptr || getter(of, attribute, &given, sizeof given, &written) != kSuccess) return false;
    value = given;
    return true;
  };
  if (!read(kDescComputeType, result.compute) || !read(kDescScaleType, result.scale_type) ||
      !read(kDescPointerMode, result.pointer_mode) || !read(kDescTransA, result.op_a) ||
      !read(kDescTransB, result.op_b) || !read(kDescEpilogue, result.epilogue))
    return false;
  read(kDescSmCountTarget, result.sm_count_target);
  if ((result.epilogue & kEpilogueBias) != 0) {
    read(kDescBiasPointer, result.bias);
    read(kDescBiasType, result.bias_type);
    if (d.batch != 1) read(kDescBiasBatchStride, result.bias_batch_stride);
  }
  if (!has_scales(type_a, d.type)) return true;
  read(kDescScaleA, result.scale_a);
  read(kDescScaleB, result.scale_b);
  read(kDescScaleC, result.scale_c);
  read(kDescScaleD, result.scale_d);
  read(kDescAmaxD, result.amax_d);
  if (result.scale_a != nullptr || result.scale_b != nullptr) {
    read(kDescScaleModeA, result.scale_mode_a);
    read(kDescScaleModeB, result.scale_mode_b);
  }
  read(kDescFastAccum, result.fast_accum);
  return true;
}

constexpr std::size_t kLayoutWords = kLayoutBytes / 8, kRemembered = 64;
struct Remembered {
  std::uint64_t words[kLayoutWords];
  MatrixLayout layout;
  bool is_set;
};
// On the heap: a library that a running program opens has little room of its own in a thread.
thread_local std::unique_ptr<Remembered[]> remembered;

RealFunction<DescriptorGetter> get_of_layout{Library::cublaslt, "cublasLtMatrixLayoutGetAttribute"};

bool ask_layout(Descriptor of, MatrixLayout& layout) noexcept {
  auto* const getter = get_of_layout.get();
  if (getter == nullptr) return false;
  const auto read = [&](int attribute, auto& value) {
    std::size_t written = 0;
    return getter(of, attribute, &value, sizeof value, &written) == kSuccess;
  };
  std::uint64_t rows = 0, cols = 0;
  MatrixLayout result;
  if (!read(kLayoutType, result.type) || !read(kLayoutOrder, result.order) || !read(kLayoutRows, rows) ||
      !read(kLayoutCols, cols) || !read(kLayoutLd, result.ld) || !read(kLayoutBatchCount, result.batch))
    return false;
  result.rows = std::int64_t(rows);
  result.cols = std::int64_t(cols);
  if (result.batch != 1 && !read(kLayoutBatchStride, result.stride)) return false;
  if (!read(kLayoutBatchMode, result.batch_mode)) result.batch_mode = 0;  // older ones have strides alone
  layout = result;
  return true;
}

/// False: cuBLASLt does not tell. Remembers what the bytes of a layout mean: applications make the same ones again and
/// again.
bool read_layout(Descriptor of, MatrixLayout& layout) noexcept {
  if (of == nullptr) return false;
  std::uint64_t words[kLayoutWords], hash = 0, factor = 0xD6E8FEB86659FD93;
  std::memcpy(words, of, sizeof words);
  for (const std::uint64_t word : words) {
    hash += word * factor;  // of each alone, so that they need not wait for each other
    factor += 0x9E3779B97F4A7C16;
  }
  if (remembered == nullptr) remembered.reset(new (std::nothrow) Remembered[kRemembered]{});
  if (remembered == nullptr) return ask_layout(of, layout);
  Remembered& place = remembered[(hash >> 40) % kRemembered];
  if (!place.is_set || std::memcmp(place.words, words, sizeof words) != 0) {
    if (!ask_layout(of, layout)) return false;
    std::memcpy(place.words, words, sizeof words);
    place.layout = layout;
    place.is_set = true;
    return true;
  }
  layout = place.layout;
  return true;
}

}  // namespace
}  // namespace tilesmith::cublas

using namespace tilesmith::cublas;

extern "C" [[gnu::visibility("default")]] Status cublasLtMatmul(Handle handle, Descriptor description,
    const void* alpha, const void* a, Descriptor layout_a, const void* b, Descriptor layout_b, const void* beta,
    const void* c, Descriptor layout_c, void* d, Descriptor layout_d, const void* algorithm, void* workspace,
    std::size_t bytes, Stream stream) {
  static RealFunction<decltype(cublasLtMatmul)> real{Library::cublaslt, "cublasLtMatmul"};
  auto forward = [&]() -> Status {
    auto* const function = real.get();
    if (function == nullptr) return kNotInitialized;
    return function(handle, description, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d, algorithm,
        workspace, bytes, stream);
  };
  if (!is_wanted(Library::cublaslt)) return forward();
  GemmCall call;
  call.alpha = alpha;
  call.a = a;
  call.b = b;
  call.beta = beta;
  call.c = c;
  call.d = d;
  call.stream = stream;
  call.workspace = workspace;
  call.workspace_bytes = bytes;
  MatrixLayout of_a, of_b, of_c, of_d;
  if (description == nullptr || !read_layout(layout_a, of_a) || !read_layout(layout_b, of_b) ||
      !read_layout(layout_d, of_d))
    return forward_because(Reason::bad_arguments, forward_to(forward));
  if (layout_c == layout_d || layout_c == nullptr) of_c = of_d;
  else if (!read_layout(layout_c, of_c)) return forward_because(Reason::bad_arguments, forward_to(forward));
  MatmulDescription said;
  const Reason reason = read_description(description, of_a.type, of_d, said)
                            ? take_matmul(said, of_a, of_b, of_c, of_d, call)
                            : Reason::bad_arguments;
  if (reason != Reason::none) return forward_because(reason, forward_to(forward));
  return serve_matmul(call, forward_to(forward));
}
