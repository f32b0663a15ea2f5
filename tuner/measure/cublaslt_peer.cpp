#include "tuner/measure/cublaslt_peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>

#include "kernels/problem/group_ends.hpp"
#include "runtime/driver/shared_library.hpp"
#include "tuner/measure/cublaslt_calls.hpp"
#include "tuner/measure/gate_kernel.hpp"

namespace tilesmith::tuner {
namespace {

using namespace cublaslt;

constexpr int kMostAlgorithms = 128;
constexpr std::size_t kMostOfGroups = 8;  // a run of which is many launches

template <typename Function>
void bind(const runtime::SharedLibrary& library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(library.symbol(symbol));
  if (function == nullptr) throw std::runtime_error(fmt::format("libcublasLt has no function '{}'", symbol));
}

runtime::SharedLibrary open_library() {
  std::string tried;
  const char* const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
#ifdef TILESMITH_WHEEL_DIR
      TILESMITH_WHEEL_DIR "/nvidia/cu13/lib/libcublasLt.so.13",
      TILESMITH_WHEEL_DIR "/nvidia/cublas/lib/libcublasLt.so.12",
#endif
      "/usr/local/cuda/lib64/libcublasLt.so"};
  for (const char* name : names) {
    std::string error;
    if (auto library = runtime::SharedLibrary::open(name, error)) return library;
    tried += fmt::format("{}{}", tried.empty() ? "" : ", ", name);
  }
  throw std::runtime_error(fmt::format("cuBLASLt is not here: tried {}", tried));
}

/// A descriptor with the function that ends it.
struct Owned {
  Descriptor get = nullptr;
  int (*end)(Descriptor) = nullptr;
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (get != nullptr) end(get);
  }
};

/// One problem in the peer's terms. Our row-major C = op(A)·op(B) is its column-major Cᵀ = op(B)ᵀ·op(A)ᵀ: the operands
/// change places, each stored row-major matrix is a column-major one of swapped extents, and the transposes stay.
struct Matmul {
  const Functions& call;
  Owned operation, layout_b, layout_a, layout_c, layout_d;
  Factors factors;
  bool reads_c = true;

  Matmul(const Functions& functions, const Problem& problem) : call(functions), factors(problem) {
    const Arithmetic arithmetic = arithmetic_of(problem.type);
    check(call.desc_create(&operation.get, arithmetic.compute, arithmetic.scale), "cublasLtMatmulDescCreate");
    operation.end = call.desc_destroy;
    set(kDescTransA, int(problem.trans.b ? kOpT : kOpN));
    set(kDescTransB, int(problem.trans.a ? kOpT : kOpN));
    set_epilogue(problem);
    if (factors.are_on_device()) set(kDescPointerMode, int(kPointersToDevice));
    // As of calls that the shim takes over (pair_of() in runtime/cublas/calls).
    if (is_fp8(problem.type.a) && !problem.epilogue.has_block_scales()) set(kDescFastAccum, std::int8_t{1});
    make_layout(layout_b, operand(problem, OperandRole::b));
    make_layout(layout_a, operand(problem, OperandRole::a));
    OperandMatrix c = operand(problem, OperandRole::c);
    if (c.element == Scalar::e4m3) {
      c.element = Scalar::bf16;  // it knows no other; with a beta of 0, C is not read
      reads_c = false;
    }
    make_layout(layout_c, c);
    make_layout(layout_d, operand(problem, OperandRole::d));
  }

  void set_epilogue(const Problem& problem) {
    const Epilogue& epilogue = problem.epilogue;
    int value = row_of(epilogue.activation).epilogue.value();
    if (epilogue.bias != Bias::none) value += kEpilogueBias;
    if (value == 0) value = kEpilogueNone;
    set(kDescEpilogue, value);
    if (epilogue.has_scales()) {
      set(kDescScaleModeA, scale_mode(epilogue.scale_n));
      set(kDescScaleModeB, scale_mode(epilogue.scale_m));
    }
    if (epilogue.bias_is_f32) set(kDescBiasType, int(kF32));
  }

  static int scale_mode(Scaling scaling) {
    switch (scaling) {
      case Scaling::each: return kScaleEach;
      case Scaling::each_by_block: return kScale1x128;
      case Scaling::block: return kScale128x128;
      default: return kScaleOne;
    }
  }

  /// Where the epilogue's vectors lie: part of what is asked for. The operands change places.
  void point_to(const OperandSets& operands, int set) {
    const std::pair<int, OperandRole> vectors[] = {{kDescScaleA, OperandRole::scale_n},
        {kDescScaleB, OperandRole::scale_m}, {kDescBiasPointer, OperandRole::bias}};
    for (const auto& [attribute, role] : vectors) {
      if (!in_use(operands.problem(), role, true, true)) continue;
      this->set(attribute, static_cast<const void*>(operands.at(role, set)));
    }
  }

  template <typename Value>
  void set(int attribute, const Value& value) {
    check(call.desc_set(operation.get, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }

  void launch(Handle handle, void* workspace, const HeuristicResult& by, const void* a, const void* b, const void* c,
      void* d, const runtime::Stream& stream) const {
    const int status = call.matmul(handle, operation.get, factors.alpha(), b, layout_b.get, a, layout_a.get,
        factors.beta(), reads_c ? c : nullptr, layout_c.get, d, layout_d.get, &by.algorithm, workspace,
        by.workspace_bytes, stream.get());
    if (status != 0) throw runtime::DeviceError(0, fmt::format("cublasLtMatmul failed with status {}", status));
  }

  static void check(int status, const char* name) {
    if (status != 0) throw std::runtime_error(fmt::format("{} failed with status {}", name, status));
  }

  void make_layout(Owned& layout, const OperandMatrix& matrix) {
    check(call.layout_create(&layout.get, data_type(matrix.element), std::uint64_t(matrix.cols),
              std::uint64_t(matrix.rows), matrix.row_stride),
        "cublasLtMatrixLayoutCreate");
    layout.end = call.layout_destroy;
    if (matrix.entries == 1) return;
    const auto entries = std::int32_t(matrix.entries);
    check(call.layout_set(layout.get, kLayoutBatchCount, &entries, sizeof entries), "cublasLtMatrixLayoutSetAttribute");
    check(call.layout_set(layout.get, kLayoutBatchStride, &matrix.entry_stride, sizeof matrix.entry_stride),
        "cublasLtMatrixLayoutSetAttribute");
  }

  std::vector<HeuristicResult> algorithms(Handle handle, const Problem& problem) {
    if (!reads_c && !factors.is_beta_known_zero()) return {};
    Owned preference;
    check(call.preference_create(&preference.get), "cublasLtMatmulPreferenceCreate");
    preference.end = call.preference_destroy;
    const std::size_t bytes = CublasLtPeer::kWorkspaceBytes;
    check(call.preference_set(preference.get, kPreferenceWorkspaceBytes, &bytes, sizeof bytes),
        "cublasLtMatmulPreferenceSetAttribute");
    const auto alignment = std::uint32_t(problem.align_bytes);
    for (int attribute : kPreferenceAlignment) {
      check(call.preference_set(preference.get, attribute, &alignment, sizeof alignment),
          "cublasLtMatmulPreferenceSetAttribute");
    }
    std::vector<HeuristicResult> results(kMostAlgorithms);
    int found = 0;
    const int status = call.heuristics(handle, operation.get, layout_b.get, layout_a.get, layout_c.get, layout_d.get,
        preference.get, kMostAlgorithms, results.data(), &found);
    if (status != 0) found = 0;  // it refuses the problem
    results.resize(std::size_t(found));
    std::erase_if(results, [](const HeuristicResult& result) { return result.state != 0; });
    return results;
  }
};

/// Scales of blocks as it has them (the shim's take_block_scales()): one matrix, K contiguous, not both by 128x128.
bool has_its_block_scales(const KernelSignature& signature) {
  const Epilogue& epilogue = signature.epilogue;
  return is_by_block(epilogue.scale_m) && is_by_block(epilogue.scale_n) &&
         !(epilogue.scale_m == Scaling::block && epilogue.scale_n == Scaling::block) &&
         signature.trans == Transposes{false, true} && signature.batch_mode == BatchMode::single;
}

/// Whether it reads scales of blocks where ours lie: it pads rows of scales of 128x128 to a multiple of 4.
bool has_its_layout(const Problem& problem) {
  const Epilogue& epilogue = problem.epilogue;
  if (!epilogue.has_block_scales()) return true;
  const bool has_blocks = epilogue.scale_m == Scaling::block || epilogue.scale_n == Scaling::block;
  const std::int64_t blocks_of_k = (problem.k + kScaleBlock - 1) / kScaleBlock;
  return problem.m % 4 == 0 && problem.n % 4 == 0 && (!has_blocks || blocks_of_k % 4 == 0);
}

/// Groups that have as many rows, as one problem of the peer's.
struct SimilarGroups {
  std::shared_ptr<Matmul> matmul;
  std::vector<HeuristicResult> offered;
};

}  // namespace

bool CublasLtPeer::computes(const KernelSignature& signature) {
  const Epilogue& epilogue = signature.epilogue;
  if (has_byte_results(signature.type) && epilogue.is_gated()) return false;
  if (epilogue.has_scales() && !is_fp8(signature.type.a)) return false;
  if (epilogue.has_block_scales() ? !has_its_block_scales(signature) : epilogue.scale_m != epilogue.scale_n)
    return false;
  return is_plain_but_epilogue_and_batch(without_block_scales(signature)) && epilogue.bias != Bias::along_m &&
         (!epilogue.is_gated() || signature.batch_mode == BatchMode::single) &&
         row_of(epilogue.activation).epilogue.has_value();
}

std::string CublasLtPeer::not_timed_because(const KernelSignature& signature) {
  return computes(signature) ? "cuBLASLt offers no algorithm" : "cuBLASLt does not compute " + text(signature);
}

struct CublasLtPeer::Impl {
  runtime::SharedLibrary library;
  Functions call{};
  Handle handle = nullptr;
  runtime::DeviceBuffer workspace{kWorkspaceBytes};
  const runtime::Context& context;
  std::vector<HeuristicResult> last_offered;  ///< to be described

  explicit Impl(const runtime::Context& of) : library(open_library()), context(of) {
#define TILESMITH_BIND(name, symbol, parameters) bind(library, symbol, call.name);
    TILESMITH_CUBLASLT_FUNCTIONS(TILESMITH_BIND)
#undef TILESMITH_BIND
    bind(library, "cublasLtGetVersion", call.version);
    call.algorithm_get =
        reinterpret_cast<decltype(call.algorithm_get)>(library.symbol("cublasLtMatmulAlgoConfigGetAttribute"));
    if (const int status = call.create(&handle); status != 0) {
      throw std::runtime_error(fmt::format("cublasLtCreate failed with status {}", status));
    }
  }
  ~Impl() {
    if (handle != nullptr) call.destroy(handle);
    library.keep_open();  // it has threads and static state of its own
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
};

CublasLtPeer::CublasLtPeer(const runtime::Context& context) {
  context.make_current();
  impl_ = std::make_unique<Impl>(context);
}

CublasLtPeer::~CublasLtPeer() = default;

std::string CublasLtPeer::version() const {
  const std::size_t number = impl_->call.version();
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

/// A matmul a group, one behind the other: the peer is told on the host what our kernels read on the device.
std::vector<Competitor> CublasLtPeer::competitors_of_groups(const OperandSets& operands) {
  const Problem& problem = operands.problem();
  if (problem.epilogue.has_scales()) return {};  // it would want each group's rows of them
  const std::vector<GroupRows> groups = rows_of_groups(even_ends(problem.m, problem.batch), problem.m);
  const auto alike = std::make_shared<std::map<std::int64_t, SimilarGroups>>();  // by rows
  std::size_t fewest = SIZE_MAX;
  for (const auto& [begin, end] : groups) {
    if (begin == end || alike->contains(end - begin)) continue;
    Problem one = entry_of(problem);
    one.m = end - begin;
    SimilarGroups& made = (*alike)[end - begin];
    made.matmul = std::make_shared<Matmul>(impl_->call, one);
    made.matmul->point_to(operands, 0);
    made.offered = made.matmul->algorithms(impl_->handle, one);
    fewest = std::min(fewest, made.offered.size());
  }
  std::vector<Competitor> result;
  for (std::size_t number = 0; number < std::min(fewest, kMostOfGroups); ++number) {
    const auto enqueue = [alike, groups, number, &operands, impl = impl_.get()](
                             int set, const runtime::Stream& stream) {
      const Problem& of = operands.problem();
      const auto place = [&](OperandRole role, std::int64_t elements) {
        return static_cast<std::byte*>(operands.at(role, set)) + storage_bytes(operand(of, role).element, elements);
      };
      for (auto& [rows, one] : *alike) one.matmul->point_to(operands, set);
      for (std::size_t g = 0; g < groups.size(); ++g) {
        const auto [begin, end] = groups[g];
        if (begin == end) continue;
        const SimilarGroups& one = alike->at(end - begin);
        one.matmul->launch(impl->handle, impl->workspace.data(), one.offered[number],
            place(OperandRole::a, begin * of.lda), place(OperandRole::b, std::int64_t(g) * of.stride_b),
            place(OperandRole::c, begin * of.ldc), place(OperandRole::d, begin * of.ldc), stream);
      }
    };
    result.push_back({fmt::format("cublaslt#{}", number), enqueue});
  }
  return result;
}

std::string CublasLtPeer::description(std::size_t place) const {
  std::string text = fmt::format("#{}", place);
  if (impl_->call.algorithm_get == nullptr || place >= impl_->last_offered.size()) return text;
  for (const AlgorithmWord& one : kAlgorithmWords) {
    std::uint32_t value = 0;
    std::size_t written = 0;
    if (impl_->call.algorithm_get(&impl_->last_offered[place].algorithm, one.attribute, &value, one.bytes, &written) ==
        0)
      text += fmt::format(" {}={}", one.word, value);
  }
  return text;
}

std::vector<Competitor> CublasLtPeer::competitors(const OperandSets& operands) {
  const Problem& problem = operands.problem();
  impl_->last_offered.clear();
  if (!computes(problem) || !has_its_layout(problem)) return {};  // it would be asked for less than the problem
  if (problem.batch_mode == BatchMode::grouped) return competitors_of_groups(operands);
  // Of a gated problem it makes the whole product, in a matrix of its own, with scales and bias; a kernel then gates
  // it.
  Problem product = problem;
  std::shared_ptr<runtime::DeviceBuffer> made;
  std::shared_ptr<const GateKernel> gate;
  if (problem.epilogue.is_gated()) {
    product.epilogue.activation = Activation::identity;
    product.ldc = problem.n;
    made = std::make_shared<runtime::DeviceBuffer>(std::size_t(product.c_bytes()));
    gate = std::make_shared<const GateKernel>(impl_->context, problem);
  }
  const auto matmul = std::make_shared<Matmul>(impl_->call, product);
  matmul->point_to(operands, 0);
  std::vector<Competitor> result;
  impl_->last_offered = matmul->algorithms(impl_->handle, product);
  for (const HeuristicResult& offered : impl_->last_offered) {
    const auto enqueue = [matmul, offered, &operands, made, gate, impl = impl_.get()](
                             int set, const runtime::Stream& stream) {
      matmul->point_to(operands, set);
      void* const d = made ? made->data() : operands.at(OperandRole::d, set);
      matmul->launch(impl->handle, impl->workspace.data(), offered, operands.at(OperandRole::a, set),
          operands.at(OperandRole::b, set), made ? d : operands.at(OperandRole::c, set), d, stream);
      if (gate) gate->enqueue(d, operands.at(OperandRole::d, set), stream);
    };
    result.push_back({fmt::format("cublaslt#{}", result.size()), enqueue});
  }
  return result;
}

}  // namespace tilesmith::tuner
