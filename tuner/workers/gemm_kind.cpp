// GEMM problems, as MeasureSession measures them.
#include <fmt/format.h>

#include <stdexcept>

#include "runtime/plan/plan.hpp"
#include "tuner/measure/random_fill.hpp"
#include "tuner/verify/verifier.hpp"
#include "tuner/workers/task_kind.hpp"

namespace tilesmith::tuner {
namespace {

struct LoadedPlan : Loaded {
  LoadedPlan(const std::shared_ptr<const runtime::Module>& from, const Config& of, const Problem& problem)
      : module(from), config(of), plan(from, of, problem) {}
  std::size_t workspace_bytes() const override { return plan.workspace_bytes(); }

  std::shared_ptr<const runtime::Module> module;
  Config config;
  runtime::Plan plan;
};

const LoadedPlan& of(const Loaded& loaded) { return static_cast<const LoadedPlan&>(loaded); }

class Gemm final : public GemmKind {
 public:
  explicit Gemm(const runtime::Context& context) : context_(context), verifier_(context), random_(context) {}

  std::unique_ptr<Loaded> load(const Task& task, const Config& config, std::span<const std::byte> cubin) override {
    if (find_family(config.family()) == nullptr)
      throw std::invalid_argument("this build has no family '" + config.family() + "'");
    return std::make_unique<LoadedPlan>(modules_.load(cubin), config, task.problem());
  }

  /// Where the operands alone have no room, it is not the plan's doing.
  std::optional<std::string> no_room_because(const Loaded& loaded) const override {
    const std::size_t memory_bytes = context_.info().memory_bytes, workspace_bytes = loaded.workspace_bytes();
    const Problem& problem = of(loaded).plan.problem();
    const auto operand_bytes = std::size_t(problem.a_bytes() + problem.b_bytes() + problem.c_bytes());
    if (operand_bytes > memory_bytes || workspace_bytes <= memory_bytes - operand_bytes) return std::nullopt;
    return fmt::format("a workspace of {} bytes has no room beside operands of {}: the GPU has {}", workspace_bytes,
        operand_bytes, memory_bytes);
  }

  db::Outcome suite(const Loaded& loaded, std::span<const std::byte> /*delayed_cubin*/) override {
    const LoadedPlan& one = of(loaded);
    return verifier_.suite(one.module, one.config, KernelTarget{one.plan.problem(), context_.info().limits});
  }

  db::Outcome verify(const Loaded& loaded, std::span<const std::byte> /*delayed_cubin*/,
      const std::function<void()>& before_making) override {
    return verifier_.on_problem(of(loaded).plan, before_making);
  }

  bool has_operands(const Task& task) const override { return operands_ && operands_->problem() == task.problem(); }

  Rotation& operands_of(const Task& task) override {
    if (!has_operands(task)) {
      operands_.reset();  // its memory first
      operands_.emplace(random_, task.problem());
    }
    return operands_->rotation();
  }

  const OperandSets& operands() const override { return *operands_; }
  Competitor competitor(const Loaded& loaded, void* workspace) const override {
    return Stopwatch::competitor(of(loaded).plan, *operands_, workspace);
  }
  void release() override { operands_.reset(); }

 private:
  const runtime::Context& context_;
  Verifier verifier_;
  RandomFill random_;
  ModuleCache modules_;
  std::optional<OperandSets> operands_;
};

}  // namespace

std::unique_ptr<GemmKind> make_gemm_kind(const runtime::Context& context) { return std::make_unique<Gemm>(context); }

}  // namespace tilesmith::tuner
