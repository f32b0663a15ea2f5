// What loading, proving and timing a candidate are for one kind of task. MeasureSession knows no other difference
// between GEMM problems and kernels of a user's own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "db/store/record.hpp"
#include "kernels/base/content_hash.hpp"
#include "runtime/driver/device.hpp"
#include "tuner/measure/operand_sets.hpp"
#include "tuner/measure/stopwatch.hpp"

namespace tilesmith::tuner {

/// A candidate whose kernel is in memory.
class Loaded {
 public:
  virtual ~Loaded() = default;
  virtual std::size_t workspace_bytes() const { return 0; }
};

/// A Loaded is given to the kind that made it. Operands are those of one task at a time.
class TaskKind {
 public:
  virtual ~TaskKind() = default;

  /// Throws DeviceError where the device refuses it, and std::invalid_argument if the config cannot run here.
  virtual std::unique_ptr<Loaded> load(const Task& task, const Config& config, std::span<const std::byte> cubin) = 0;
  /// Why it has no room on the device, however much of its memory is free.
  virtual std::optional<std::string> no_room_because(const Loaded&) const { return std::nullopt; }

  /// The outcomes of both are ok without a time, mismatch or launch_failed. `delayed_cubin`: db::KernelBuild.
  virtual db::Outcome suite(const Loaded& loaded, std::span<const std::byte> delayed_cubin) = 0;
  /// At the task itself. `before_making` is called first where its reference has to be made.
  virtual db::Outcome verify(
      const Loaded& loaded, std::span<const std::byte> delayed_cubin, const std::function<void()>& before_making) = 0;

  virtual bool has_operands(const Task& task) const = 0;
  /// Makes them unless they are there. Returns in which order their sets are read.
  virtual Rotation& operands_of(const Task& task) = 0;
  /// Runs on the operands made last. Both must outlive it, and so must the workspace.
  virtual Competitor competitor(const Loaded& loaded, void* workspace) const = 0;
  /// Gives the operands' memory back.
  virtual void release() = 0;
};

/// The modules last loaded, so that a kernel that serves the next task too is not loaded again.
class ModuleCache {
 public:
  /// Loads the cubin unless one of the same content is still held. Throws runtime::DeviceError.
  std::shared_ptr<const runtime::Module> load(std::span<const std::byte> cubin) {
    const std::string hash = content_hash(cubin);
    const auto found = std::ranges::find(entries_, hash, &Entry::hash);
    if (found != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, found);
      return entries_.front().module;
    }
    auto module = std::make_shared<const runtime::Module>(cubin);
    if (entries_.size() >= kModulesHeld) entries_.pop_back();
    entries_.push_front({hash, module});
    return module;
  }

 private:
  static constexpr std::size_t kModulesHeld = 64;
  struct Entry {
    std::string hash;
    std::shared_ptr<const runtime::Module> module;
  };
  std::list<Entry> entries_;  // most recently used first
};

class GemmKind : public TaskKind {
 public:
  /// Those that were made last.
  virtual const OperandSets& operands() const = 0;
};

class OwnKernelKind : public TaskKind {
 public:
  /// What verify() left in the results, by their names.
  virtual std::vector<std::pair<std::string, std::vector<std::byte>>> results() const = 0;
};

/// The context must outlive them.
std::unique_ptr<GemmKind> make_gemm_kind(const runtime::Context& context);
std::unique_ptr<OwnKernelKind> make_own_kernel_kind(const runtime::Context& context);

}  // namespace tilesmith::tuner
