// The runs of a kernel of a user's own by which it is proven, at one choice of sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store/record.hpp"
#include "kernels/own/kernel.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/plan/own_plan.hpp"
#include "tuner/verify/own_checks.hpp"

namespace tilesmith::tuner {

/// Bytes by buffer, in the order of the arguments; empty where a buffer is not meant.
using BufferContents = std::vector<std::vector<std::byte>>;

/// One argument's buffer, between guards.
struct Guarded {
  static constexpr std::size_t kGuard = 64 << 10;  ///< bytes of each guard

  const own::Argument* argument;
  std::vector<std::int64_t> extents;
  std::size_t bytes = 0;
  runtime::DeviceBuffer memory = {};    ///< with the guards
  runtime::DeviceBuffer expected = {};  ///< of a result, if there is a reference
  std::vector<std::byte> before = {};   ///< what it holds before a run; empty: nothing is said of that
  std::uint64_t sum = 0;                ///< of `before`

  /// Allocates it with its guards.
  Guarded(const own::Argument& of, std::vector<std::int64_t> extents_of);
  std::byte* data() const { return memory.data() + kGuard; }
  void put_back() { memory.upload(before, kGuard); }
  std::vector<std::byte> downloaded() const;
  void expect(const std::vector<std::byte>& results);
  std::vector<std::byte> expected_bytes() const;
  std::string text() const;  ///< "out (f32[4096][1000])"
};

/// What is proven at one choice of sizes.
struct OwnState {
  SizedKernel sized;
  std::vector<Guarded> buffers;
};

/// Two runs of one plan. All that it is given must outlive it.
class OwnRuns {
 public:
  OwnRuns(const runtime::Context& context, const runtime::Stream& stream, OwnChecks& checks, OwnState& state,
      const runtime::OwnPlan& plan, const own::Kernel& kernel)
      : context_(context), stream_(stream), checks_(checks), state_(state), plan_(plan), kernel_(kernel) {}

  /// Whether both runs are right, found on the device.
  bool are_right();
  /// What is wrong with the plan, found on the host; empty if nothing is. The results of the first run are `found`
  /// then.
  std::optional<db::Outcome> wrong(BufferContents& found);
  db::Outcome mismatch(const std::string& what) const;

 private:
  /// The bytes that guards hold, and results and scratch memory.
  struct Poison {
    unsigned char buffers;
    std::vector<unsigned char> guards;  ///< by buffer
  };
  Poison uniform(unsigned char byte) const;
  void enqueue(const Poison& poison);
  BufferContents run(const Poison& poison);
  std::optional<db::Outcome> fault(const BufferContents& found, const Poison& poison);
  std::string read_outside();
  std::optional<db::Outcome> inputs_changed();

  const runtime::Context& context_;
  const runtime::Stream& stream_;
  OwnChecks& checks_;
  OwnState& state_;
  const runtime::OwnPlan& plan_;
  const own::Kernel& kernel_;
  std::optional<db::Outcome> failed_;  ///< why a launch was refused
};

}  // namespace tilesmith::tuner
