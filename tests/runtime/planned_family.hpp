// Plans whose launches a test wrote, over the driver's stand-in.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "runtime/plan/plan.hpp"
#include "tests/runtime/fake_driver.hpp"

namespace tilesmith::runtime {

/// A family of one config whose launches the test sets.
class PlannedFamily final : public Family {
 public:
  inline static LaunchSequence sequence;
  inline static std::optional<std::string> refused;

  std::string_view name() const override { return "planned"; }
  std::string_view summary() const override { return "launches that a test wrote"; }
  bool supports(const KernelTarget&) const override { return true; }
  std::vector<Parameter> parameters(const KernelTarget&) const override { return {}; }
  std::vector<Rule> rules(const KernelTarget&) const override { return {}; }
  std::optional<std::string> refusal(const Config&, const Problem&) const override { return refused; }
  LaunchSequence launches(const Config&, const Problem&) const override { return sequence; }
  std::string source(const Config&, const KernelTarget&) const override { return {}; }
};

class Fixture {
 public:
  Fixture() {
    if (find_family("planned") == nullptr) register_family(std::make_unique<PlannedFamily>());
    PlannedFamily::refused.reset();
    PlannedFamily::sequence = {};
    Launch launch;
    launch.grid.x = 12;
    launch.block.x = 128;
    launch.a.row_stride = 64;
    launch.b.row_stride = 48;
    launch.d.row_stride = 48;
    PlannedFamily::sequence.launches = {launch};
    args.matrices[OperandRole::a] = pointer(0x10000);
    args.matrices[OperandRole::b] = pointer(0x20000);
    args.matrices[OperandRole::d] = pointer(0x30000);
    args.alpha = to_scale(problem.type, 2);
    args.beta = to_scale(problem.type, 0.5);
  }

  static void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }
  Launch& launch(std::size_t index = 0) { return PlannedFamily::sequence.launches[index]; }
  LaunchSequence& sequence() { return PlannedFamily::sequence; }
  static TensorBoxes boxes() { return {{500, 1000, 128, 64}, {1000, 600, 64, 32}}; }
  Plan plan(int most_sms = 0) const {
    const std::string ptx = ".version 7.0";
    return Plan(
        std::make_shared<const Module>(std::as_bytes(std::span(ptx))), Config("planned", {}), problem, most_sms);
  }

 private:
  fake::FakeDriver driver_;

 public:
  Problem problem = packed_problem({*find_type_pair("f16f32"), {}}, 32, 48, 64);
  RunArgs args;
};

}  // namespace tilesmith::runtime
