// Kernels of a user's own, as MeasureSession measures them.
#include <fmt/format.h>

#include <stdexcept>

#include "runtime/compile/compiler.hpp"
#include "runtime/compile/kernel_symbols.hpp"
#include "runtime/plan/own_plan.hpp"
#include "tuner/verify/own_verifier.hpp"
#include "tuner/workers/task_kind.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kSlotBytes = 256;
constexpr std::size_t kMemoryShare = 4;  // at most a quarter of the device's memory

struct LoadedKernel : Loaded {
  LoadedKernel(OwnModule from, const SizedKernel& of, const own::Kernel& by, const Config& with)
      : module(std::move(from)),
        sized(of),
        kernel(by),
        config(with),
        plan(module.module, module.symbols, by, of, by.launches(with, of)) {}

  OwnModule module;
  SizedKernel sized;
  const own::Kernel& kernel;
  Config config;
  runtime::OwnPlan plan;
};

const LoadedKernel& of(const Loaded& loaded) { return static_cast<const LoadedKernel&>(loaded); }

/// All buffers in as many copies as make the rotation larger than twice the L2.
struct BufferSets {
  SizedKernel sized;
  runtime::DeviceBuffer memory;
  std::vector<std::vector<void*>> buffers;  ///< by set, in the order of the arguments
  Rotation rotation;
};

/// Each copy holds what the verifier's buffers hold before a run; results and scratch memory are zero at first.
BufferSets buffer_sets(
    const SizedKernel& sized, const std::vector<Guarded>& proven, const runtime::DeviceInfo& device) {
  std::vector<std::size_t> at;
  std::size_t set_bytes = 0;
  for (const Guarded& buffer : proven) {
    at.push_back(set_bytes);
    set_bytes += (buffer.bytes + kSlotBytes - 1) / kSlotBytes * kSlotBytes;
  }
  const int count =
      operand_set_count(set_bytes, std::size_t(device.identity.l2_bytes), device.memory_bytes / kMemoryShare);
  BufferSets sets{sized, runtime::DeviceBuffer(set_bytes * std::size_t(count)), {}, Rotation(count)};
  sets.memory.fill(0);
  for (int set = 0; set < count; ++set) {
    std::vector<void*>& buffers = sets.buffers.emplace_back();
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::size_t offset = std::size_t(set) * set_bytes + at[i];
      if (!proven[i].before.empty()) sets.memory.upload(proven[i].before, offset);
      buffers.push_back(sets.memory.data() + offset);
    }
  }
  return sets;
}

class OwnKernels final : public OwnKernelKind {
 public:
  explicit OwnKernels(const runtime::Context& context) : context_(context), verifier_(context) {}

  std::unique_ptr<Loaded> load(const Task& task, const Config& config, std::span<const std::byte> cubin) override {
    const own::Kernel& kernel = own::kernel_of(task.kernel());
    if (auto reason = kernel.refused_because(config, task.kernel(), context_.info().limits))
      throw std::invalid_argument(*reason);
    return std::make_unique<LoadedKernel>(
        OwnModule{modules_.load(cubin), runtime::kernel_symbols(cubin)}, task.kernel(), kernel, config);
  }

  static OwnModule module_of(std::span<const std::byte> cubin) {
    return {std::make_shared<const runtime::Module>(cubin), runtime::kernel_symbols(cubin)};
  }
  static db::Outcome with_delays(db::Outcome outcome) {
    if (outcome.status == db::Status::mismatch)
      outcome.message += "; with delays of some warps: expected another __syncthreads()";
    return outcome;
  }

  /// A build from the store comes without delays.
  db::Outcome suite(const Loaded& loaded, std::span<const std::byte> delayed_cubin) override {
    const LoadedKernel& one = of(loaded);
    const db::Outcome outcome = verifier_.at_proof_sizes(one.module, one.kernel, one.config);
    if (outcome.status != db::Status::ok || !one.kernel.shares_memory()) return outcome;
    std::vector<std::byte> made;
    if (delayed_cubin.empty())
      delayed_cubin = made = runtime::delayed_cubin(one.kernel, one.config, context_.info().limits);
    if (delayed_cubin.empty()) return outcome;
    return with_delays(verifier_.at_proof_sizes(module_of(delayed_cubin), one.kernel, one.config));
  }

  db::Outcome verify(const Loaded& loaded, std::span<const std::byte> delayed_cubin,
      const std::function<void()>& before_making) override {
    const LoadedKernel& one = of(loaded);
    const db::Outcome outcome = verifier_.at(one.module, one.kernel, one.sized, one.config, before_making);
    if (outcome.status != db::Status::ok || delayed_cubin.empty()) return outcome;
    return with_delays(verifier_.at(module_of(delayed_cubin), one.kernel, one.sized, one.config));
  }

  std::vector<std::pair<std::string, std::vector<std::byte>>> results() const override { return verifier_.results(); }

  bool has_operands(const Task& task) const override { return sets_ && sets_->sized == task.kernel(); }

  Rotation& operands_of(const Task& task) override {
    if (!has_operands(task)) {
      sets_.reset();  // its memory first
      const SizedKernel& sized = task.kernel();
      sets_ = buffer_sets(sized, verifier_.buffers(own::kernel_of(sized), sized), context_.info());
    }
    return sets_->rotation;
  }

  Competitor competitor(const Loaded& loaded, void* /*workspace*/) const override {
    const LoadedKernel& one = of(loaded);
    return {one.config.text(), [&plan = one.plan, &sets = *sets_](int set, const runtime::Stream& stream) {
              if (const int code = plan.run(sets.buffers[std::size_t(set)], stream.get()); code != 0)
                throw runtime::DeviceError(code, fmt::format("launch failed with driver error {}", code));
            }};
  }
  void release() override { sets_.reset(); }

 private:
  const runtime::Context& context_;
  OwnVerifier verifier_;
  ModuleCache modules_;
  std::optional<BufferSets> sets_;
};

}  // namespace

std::unique_ptr<OwnKernelKind> make_own_kernel_kind(const runtime::Context& context) {
  return std::make_unique<OwnKernels>(context);
}

}  // namespace tilesmith::tuner
