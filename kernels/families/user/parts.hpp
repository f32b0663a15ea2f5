// What the files of families and of kernels of one's own have in common: parameters, rules and launches.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/family.hpp"
#include "kernels/families/user/fields.hpp"

namespace tilesmith {

inline constexpr std::size_t kMostParameters = 32, kMostRules = 64;

/// What rules may read of the device.
inline constexpr std::array<std::string_view, 9> kDeviceNames{"sm", "sm_count", "smem_per_block", "smem_per_sm",
    "threads_per_block", "threads_per_sm", "blocks_per_sm", "registers_per_thread", "registers_per_sm"};
/// In the order of kDeviceNames.
inline std::array<std::int64_t, kDeviceNames.size()> device_values(const DeviceLimits& l) {
  return {l.sm, l.sm_count, l.smem_per_block_bytes, l.smem_per_sm_bytes, l.threads_per_block, l.threads_per_sm,
      l.blocks_per_sm, l.registers_per_thread, l.registers_per_sm};
}

struct UserRule {
  std::string name, reason;
  Expression holds;
};

/// `entry` of a kernel of one's own may have template arguments in which parameters stand: "softmax<block, per_thread>".
struct UserLaunch {
  std::string entry;
  std::array<Expression, 3> grid, block, cluster;
  Expression shared_bytes;
};

/// {"block": [64, 128], "tile": {"values": [16, 32], "meaning": "rows of a tile"}}. `check` gets each name with its field.
std::vector<Parameter> parameters_of(
    const Field& all, const std::function<void(const std::string& name, const Field& field)>& check);
/// The file's `rules`. `named`: each must have a name and a reason.
std::vector<UserRule> rules_of(const Field& file, bool named, std::span<const ExpressionName> names);
/// One launch, or a list of up to so many. `entry_of` gives the entry of each.
std::vector<UserLaunch> launches_of(const Field& field, std::size_t most, std::span<const ExpressionName> names,
    const std::function<std::string(const Field& launch)>& entry_of);

/// The parameters that expressions read, each once. Their slots begin at `first`.
std::vector<std::string> parameters_read(
    const std::vector<Parameter>& parameters, std::size_t first, std::span<const Expression* const> expressions);

/// Works out the figures of launches, each checked against what can be launched, and keeps what was wrong first.
class Figures {
 public:
  /// `limits`: of the device; null: those of the largest. They must outlive it.
  explicit Figures(std::vector<std::int64_t> values, const DeviceLimits* limits = nullptr)
      : values_(std::move(values)), limits_(limits) {}

  /// The least if it is not in this range.
  std::int64_t get(const std::string& field, const Expression& expression, std::int64_t least, std::int64_t most);
  Extent3 get(const std::string& field, const std::array<Expression, 3>& of, const std::array<std::int64_t, 3>& most);
  Launch launch(const UserLaunch& from, const std::string& entry);

  const std::vector<std::int64_t>& values() const { return values_; }
  const std::optional<std::string>& wrong() const { return wrong_; }

 private:
  void note(const std::string& what);

  std::vector<std::int64_t> values_;
  const DeviceLimits* limits_;
  std::string launch_;  // which it is at, for `wrong`
  std::optional<std::string> wrong_;
};

}  // namespace tilesmith
