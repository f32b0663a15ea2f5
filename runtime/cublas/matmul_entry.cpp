// cublasLtMatmul: what its descriptors say, by cuBLASLt's own getters.
#include <cstring>
#include <initializer_list>

#include "runtime/cublas/matmul_layout.hpp"
#include "runtime/cublas/real_library.hpp"
#include "runtime/cublas/serve.hpp"
#include "runtime/cublas/type_pairs.hpp"

namespace tilesmith::cublas {
namespace {

RealFunction<DescriptorGetter> get_of_desc{Library::cublaslt, "cublasLtMatmulDescGetAttribute"};

/// The attributes of one description. Once one that has to be there cannot be read, it is broken; one that this cuBLASLt does not have yet
/// keeps its value.
class Description {
 public:
  explicit Description(Descriptor of) : of_(of), getter_(get_of_desc.get()) {}
  template <typename Value>
  bool read(int attribute, Value& value) const {
    Value given{};
    std::size_t written = 0;
    if (getter_ == nullptr || getter_(of_, attribute, &given, sizeof given, &written) != kSuccess) return false;
    value = given;
    return true;
  }
  template <typename Value>
  bool has(int attribute, Value other_than) const {
    Value value = other_than;
    return read(attribute, value) && value != other_than;
  }

 private:
  Descriptor of_;
  DescriptorGetter* getter_;
};

int flipped(int op) { return op == kOpN ? kOpT : kOpN; }

/// False where C is certainly not read, so that its layout does not matter.
bool reads_c(const GemmCall& call) {
  if (call.device_scalars || call.beta == nullptr) return true;
  unsigned char bytes[8] = {};
  std::memcpy(bytes, call.beta, call.scale_type == kF64 ? 8 : call.scale_type == kF16 ? 2 : 4);
  for (const unsigned char byte : bytes) {
    if (byte != 0) return true;
  }
  return false;
}

Reason take_matrices(const MatrixLayout& a, const MatrixLayout& b, const MatrixLayout& c, const MatrixLayout& d, GemmCall& call) {
  if (d.order != kOrderCol) return Reason::layout;
  for (const MatrixLayout* layout : {&a, &b}) {
    if (layout->order != kOrderCol && layout->order != kOrderRow) return Reason::layout;
  }
  // A row-major matrix is, column-major, the transposed one.
  const bool ta = call.op_a != kOpN, tb = call.op_b != kOpN;
  call.k = ta ? a.rows : a.cols;
  if ((ta ? a.cols : a.rows) != d.rows || (tb ? b.rows : b.cols) != d.cols || (tb ? b.cols : b.rows) != call.k) return Reason::bad_arguments;
  if (a.order == kOrderRow) call.op_a = flipped(call.op_a);
  if (b.order == kOrderRow) call.op_b = flipped(call.op_b);
  call.m = d.rows;
  call.n = d.cols;
  call.type_a = a.type;
  call.lda = a.ld;
  call.type_b = b.type;
  call.ldb = b.ld;
  call.type_d = d.type;
  call.ldd = d.ld;
  if (a.batch_mode != 0 || b.batch_mode != 0 || d.batch_mode != 0) return Reason::layout;
  if (a.batch != d.batch || b.batch != d.batch) return Reason::layout;
  if (d.batch != 1) {
    call.batch_kind = BatchKind::strided;
    call.batch = d.batch;
    call.stride_a = a.stride;
    call.stride_b = b.stride;
    call.stride_d = d.stride;
  }
  return c == d || !reads_c(call) ? Reason::none : Reason::layout;
}

/// Only 8-bit types have scales.
Reason take_scales(const Description& description, GemmCall& call) {
  if (bytes_of(call.type_a) > 1 && bytes_of(call.type_d) > 1) return Reason::none;
  description.read(kDescScaleA, call.scale_a);
  description.read(kDescScaleB, call.scale_b);
  const void* const none = nullptr;
  if (description.has(kDescScaleC, none) || description.has(kDescScaleD, none) || description.has(kDescAmaxD, none)) return Reason::scales;
  if (call.scale_a == nullptr && call.scale_b == nullptr) return Reason::none;
  int mode_a = kScaleOne, mode_b = kScaleOne;
  description.read(kDescScaleModeA, mode_a);
  description.read(kDescScaleModeB, mode_b);
  if (mode_a != mode_b || (mode_a != kScaleOne && mode_a != kScaleEach)) return Reason::scales;
  call.scales_each = mode_a == kScaleEach;
  return Reason::none;
}

Reason describe(Descriptor of, const MatrixLayout& a, const MatrixLayout& b, const MatrixLayout& c, const MatrixLayout& d, GemmCall& call) {
  const Description description(of);
  int pointers = kPointersToHost;
  if (!description.read(kDescComputeType, call.compute) || !description.read(kDescScaleType, call.scale_type) ||
      !description.read(kDescPointerMode, pointers) || !description.read(kDescTransA, call.op_a) || !description.read(kDescTransB, call.op_b) ||
      !description.read(kDescEpilogue, call.epilogue))
    return Reason::bad_arguments;
  if (pointers != kPointersToHost && pointers != kPointersToDevice) return Reason::scales;  // a vector of alphas
  call.device_scalars = pointers == kPointersToDevice;
  if (description.has(kDescSmCountTarget, 0)) return Reason::sm_target;
  if ((call.epilogue & kEpilogueBias) != 0) {
    description.read(kDescBiasPointer, call.bias);
    description.read(kDescBiasType, call.bias_type);
    if (d.batch != 1 && description.has(kDescBiasBatchStride, std::int64_t{0})) return Reason::epilogue;
  }
  if (const Reason reason = take_matrices(a, b, c, d, call); reason != Reason::none) return reason;
  if (const Reason reason = take_scales(description, call); reason != Reason::none) return reason;
  if (call.type_a == kE4m3 || call.type_a == kE5m2) {
    std::int8_t fast = 0;
    description.read(kDescFastAccum, fast);
    call.fast_accum = fast != 0;
  }
  return Reason::none;
}

}  // namespace
}  // namespace tilesmith::cublas

using namespace tilesmith::cublas;

extern "C" [[gnu::visibility("default")]] Status cublasLtMatmul(Handle handle, Descriptor description, const void* alpha, const void* a,
                                                                Descriptor layout_a, const void* b, Descriptor layout_b, const void* beta,
                                                                const void* c, Descriptor layout_c, void* d, Descriptor layout_d,
                                                                const void* algorithm, void* workspace, std::size_t bytes, Stream stream) {
  static RealFunction<decltype(cublasLtMatmul)> real{Library::cublaslt, "cublasLtMatmul"};
  auto forward = [&]() -> Status {
    auto* const function = real.get();
    if (function == nullptr) return kNotInitialized;
    return function(handle, description, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d, algorithm, workspace, bytes, stream);
  };
  if (!is_wanted()) return forward();
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
  if (description == nullptr || !read_layout(layout_a, of_a) || !read_layout(layout_b, of_b) || !read_layout(layout_d, of_d))
    return forward_because(Reason::bad_arguments, forward_to(forward));
  if (layout_c == layout_d || layout_c == nullptr) of_c = of_d;
  else if (!read_layout(layout_c, of_c)) return forward_because(Reason::bad_arguments, forward_to(forward));
  const Reason reason = describe(description, of_a, of_b, of_c, of_d, call);
  if (reason != Reason::none) return forward_because(reason, forward_to(forward));
  return serve_matmul(call, forward_to(forward));
}
