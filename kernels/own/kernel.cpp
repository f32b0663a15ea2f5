#include "kernels/own/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/base/words.hpp"
#include "kernels/families/user/device_values.hpp"

namespace tilesmith::own {
namespace {

constexpr std::int64_t kMostGridX = std::numeric_limits<int>::max(), kMostGridYz = 65535, kMostThreadsZ = 64,
                       kMostCluster = 8;

using Values = std::vector<std::int64_t>;

/// Some warps sleep for up to 8 us, longer than another takes to get to memory and back: where a barrier would let others
/// go on, and where indices are worked out.
constexpr const char* kDelays = R"cu(
__device__ __forceinline__ void tilesmith_delay(unsigned one_of) {
  unsigned time = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32;
  asm volatile("{ .reg .u32 now; mov.u32 now, %%clock; add.u32 %0, %0, now; }" : "+r"(time));
  time *= 0x9e3779b9u;
  if ((time >> 24) % one_of == 0) __nanosleep(time >> 8 & 8191);
}
__device__ __forceinline__ uint3 tilesmith_thread() {
  tilesmith_delay(16);
  return threadIdx;
}
#define __syncthreads() (__syncthreads(), tilesmith_delay(4))
#define threadIdx tilesmith_thread()
)cu";

constexpr ElementType kElementTypes[] = {{"f16", 2, true}, {"bf16", 2, true}, {"f32", 4, true}, {"f64", 8, true},
    {"e4m3", 1, true}, {"e5m2", 1, true}, {"s8", 1, false}, {"u8", 1, false}, {"s16", 2, false}, {"u16", 2, false},
    {"s32", 4, false}, {"u32", 4, false}, {"s64", 8, false}, {"u64", 8, false}};

std::string in_order(const std::vector<SizedKernel::Size>& sizes) {
  std::string names;
  for (const auto& [name, value] : sizes) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  return names;
}

/// By the slots of names.hpp. Without a config its parameters are 0.
Values values_of(const Definition& parts, const SizedKernel& sized, const Config* config, const DeviceLimits* limits) {
  Values values;
  for (const auto& [name, value] : sized.sizes) values.push_back(value);
  for (const Parameter& parameter : parts.parameters) values.push_back(config ? config->at(parameter.name) : 0);
  if (limits) std::ranges::copy(device_values(*limits), std::back_inserter(values));
  return values;
}

/// The names of the parameters among the slots that an expression reads.
std::vector<std::string> parameters_read(const Definition& parts, std::span<const Expression* const> expressions) {
  std::vector<std::string> names;
  const std::size_t first = parts.sizes.size();
  for (const Expression* expression : expressions) {
    for (const std::size_t slot : expression->reads()) {
      if (slot < first || slot >= first + parts.parameters.size()) continue;
      const std::string& name = parts.parameters[slot - first].name;
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

/// Calls on_name for each identifier or number of the text, and on_other for what stands between them.
template <typename OnName, typename OnOther>
void each_identifier(std::string_view text, OnName&& on_name, OnOther&& on_other) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_part(text[end]) == is_part(text[at])) ++end;
    const std::string_view piece = text.substr(at, end - at);
    is_part(piece.front()) ? on_name(piece) : on_other(piece);
    at = end;
  }
}

/// The entry with the values of the parameters that stand among its template arguments.
std::string with_values(const std::string& entry, const Config* config) {
  const std::size_t open = entry.find('<');
  if (open == std::string::npos || config == nullptr) return entry;
  std::string result = entry.substr(0, open);
  each_identifier(
      std::string_view(entry).substr(open),
      [&](std::string_view name) {
        if (config->has(name)) result += std::to_string(config->at(name));
        else result += name;
      },
      [&](std::string_view other) { result += other; });
  return result;
}

bool is_template_argument(const Definition& parts, const std::string& parameter) {
  bool found = false;
  for (const KernelLaunch& launch : parts.launches) {
    const std::size_t open = std::min(launch.entry.find('<'), launch.entry.size());
    each_identifier(
        std::string_view(launch.entry).substr(open), [&](std::string_view name) { found = found || name == parameter; },
        [](std::string_view) {});
  }
  return found;
}

/// Works out the figures of one launch, and keeps the first reason why it cannot be launched.
class Sized {
 public:
  Sized(const Values& values, const std::string& entry) : values_(values), entry_(entry) {}

  std::int64_t get(const std::string& what, const Expression& of, std::int64_t least, std::int64_t most) {
    const auto value = of.value(values_);
    if (value && *value >= least && *value <= most) return *value;
    note(fmt::format("{} {}: expected {} to {}", what,
        value ? fmt::format("is {}", *value) : "divides by zero or leaves 64 bits", least, most));
    return least;
  }
  Extent3 get(const std::string& what, const std::array<Expression, 3>& of, std::array<std::int64_t, 3> most) {
    return {unsigned(get(what + ".x", of[0], 1, most[0])), unsigned(get(what + ".y", of[1], 1, most[1])),
        unsigned(get(what + ".z", of[2], 1, most[2]))};
  }
  void note(const std::string& what) {
    if (!wrong_) wrong_ = fmt::format("launch of {}: {}", entry_, what);
  }
  const std::optional<std::string>& wrong() const { return wrong_; }

 private:
  const Values& values_;
  const std::string& entry_;
  std::optional<std::string> wrong_;
};

std::int64_t volume(const Extent3& extent) { return std::int64_t(extent.x) * extent.y * extent.z; }

/// `limits`: of the device, if what it can launch is to be told.
SizedLaunch sized_launch(const KernelLaunch& from, const Values& values, const Config* config,
    const DeviceLimits* limits, std::optional<std::string>& wrong) {
  SizedLaunch launch;
  launch.entry = with_values(from.entry, config);
  Sized sized(values, launch.entry);
  const std::int64_t most_threads = limits ? limits->threads_per_block : 1024;
  launch.grid = sized.get("grid", from.grid, {kMostGridX, kMostGridYz, kMostGridYz});
  launch.block = sized.get("block", from.block, {most_threads, most_threads, kMostThreadsZ});
  launch.cluster = sized.get("cluster", from.cluster, {kMostCluster, kMostCluster, kMostCluster});
  launch.shared_bytes = std::size_t(
      sized.get("shared_bytes", from.shared_bytes, 0, limits ? limits->smem_per_block_bytes : std::int64_t{1} << 20));
  if (volume(launch.block) > most_threads)
    sized.note(fmt::format("a block has {} threads: expected at most {}", volume(launch.block), most_threads));
  const std::int64_t cluster = volume(launch.cluster);
  if (cluster > kMostCluster)
    sized.note(fmt::format("a cluster has {} blocks: expected at most {}", cluster, kMostCluster));
  if (cluster > 1 && limits && !limits->features.clusters)
    sized.note(fmt::format("{} has no clusters: expected none", limits->arch));
  const Extent3 &grid = launch.grid, &of = launch.cluster;
  if (grid.x % of.x != 0 || grid.y % of.y != 0 || grid.z % of.z != 0)
    sized.note("the grid does not split into clusters");
  if (!wrong) wrong = sized.wrong();
  return launch;
}

std::vector<SizedLaunch> sized_launches(
    const std::vector<KernelLaunch>& from, const Values& values, const Config* config) {
  std::optional<std::string> wrong;
  std::vector<SizedLaunch> launches;
  for (const KernelLaunch& launch : from) launches.push_back(sized_launch(launch, values, config, nullptr, wrong));
  if (wrong) throw std::invalid_argument(*wrong);
  return launches;
}

}  // namespace

std::span<const ElementType> element_types() { return kElementTypes; }

const ElementType* find_element_type(std::string_view name) {
  const auto found = std::ranges::find(kElementTypes, name, &ElementType::name);
  return found == std::end(kElementTypes) ? nullptr : found;
}

SizedKernel Kernel::at(std::span<const SizedKernel::Size> given) const {
  SizedKernel sized{name(), parts_->sizes};
  for (const auto& [name, value] : given) {
    const auto place = std::ranges::find(sized.sizes, name, &SizedKernel::Size::first);
    if (place == sized.sizes.end()) sized.sizes.emplace_back(name, value);  // which sizes_error() tells
    else place->second = value;
  }
  return sized;
}

std::optional<std::string> Kernel::sizes_error(const SizedKernel& sized) const {
  const bool same =
      std::ranges::equal(sized.sizes, parts_->sizes, {}, &SizedKernel::Size::first, &SizedKernel::Size::first);
  if (sized.kernel != name() || !same)
    return fmt::format(
        "sizes are {}: expected {}, those of the kernel {}", in_order(sized.sizes), in_order(parts_->sizes), name());
  if (auto wrong = task_error(sized)) return wrong;
  try {
    for (const Argument& argument : parts_->arguments)
      argument.role == Role::value ? integer(argument, sized) : elements(argument, sized);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return std::nullopt;
}

std::vector<Rule> Kernel::rules(const SizedKernel& sized, const DeviceLimits& limits) const {
  std::vector<Rule> rules;
  for (const Definition::ReadRule& from : parts_->rules) {
    rules.push_back({from.name, from.reason,
        [parts = parts_, holds = &from.holds, sized, limits](
            const Config& config) { return holds->value(values_of(*parts, sized, &config, &limits)).value_or(0) != 0; },
        parameters_read(*parts_, std::array{&from.holds})});
  }
  for (const KernelLaunch& launch : parts_->launches) {
    std::vector<const Expression*> read{&launch.shared_bytes};
    for (const std::array<Expression, 3>* extent : {&launch.grid, &launch.block, &launch.cluster}) {
      for (const Expression& one : *extent) read.push_back(&one);
    }
    rules.push_back({fmt::format("{} launches", launch.entry.substr(0, launch.entry.find('<'))),
        fmt::format("grid, block, cluster and shared memory are what {} can launch", limits.arch),
        [parts = parts_, from = &launch, sized, limits](const Config& config) {
          std::optional<std::string> wrong;
          sized_launch(*from, values_of(*parts, sized, &config, &limits), &config, &limits, wrong);
          return !wrong;
        },
        parameters_read(*parts_, read)});
  }
  return rules;
}

Space Kernel::space(const SizedKernel& sized, const DeviceLimits& limits) const {
  return enumerate_space(name(), parts_->parameters, rules(sized, limits));
}

std::optional<std::string> Kernel::refused_because(
    const Config& config, const SizedKernel& sized, const DeviceLimits& limits) const {
  if (auto wrong = sizes_error(sized)) return wrong;
  if (auto wrong = illegal_because(config, parts_->parameters, {})) return wrong;
  std::optional<std::string> wrong;  // which says more than the rule that it breaks
  for (const KernelLaunch& launch : parts_->launches)
    sized_launch(launch, values_of(*parts_, sized, &config, &limits), &config, &limits, wrong);
  return wrong ? wrong : illegal_because(config, parts_->parameters, rules(sized, limits));
}

std::string Kernel::source(const Config& config, bool delayed) const {
  std::string text = fmt::format("// {}\n", config.text());
  if (delayed) text += kDelays;
  for (const Parameter& parameter : parts_->parameters) {
    if (!is_template_argument(*parts_, parameter.name))
      text += fmt::format("#define {} {}\n", parameter.name, config.at(parameter.name));
  }
  return text + parts_->text;
}

bool Kernel::shares_memory() const { return parts_->text.find("__shared__") != std::string::npos; }

std::vector<std::string> Kernel::entries(const Config& config) const {
  std::vector<std::string> entries;
  for (const KernelLaunch& launch : parts_->launches) entries.push_back(with_values(launch.entry, &config));
  return entries;
}

std::vector<SizedLaunch> Kernel::launches(const Config& config, const SizedKernel& sized) const {
  return sized_launches(parts_->launches, values_of(*parts_, sized, &config, nullptr), &config);
}

std::vector<SizedLaunch> Kernel::reference_launches(const SizedKernel& sized) const {
  return sized_launches(parts_->reference->launches, values_of(*parts_, sized, nullptr, nullptr), nullptr);
}

std::vector<std::int64_t> Kernel::extents(const Argument& argument, const SizedKernel& sized) const {
  std::int64_t elements = 1;
  std::vector<std::int64_t> extents;
  const Values values = values_of(*parts_, sized, nullptr, nullptr);
  for (const Expression& extent : argument.extents) {
    const auto value = extent.value(values);
    if (!value || *value < 1 || *value > kMaxSize / elements)
      throw std::invalid_argument(fmt::format("{}: an extent is {}: expected 1 to {} elements in all", argument.name,
          value ? std::to_string(*value) : "not known", kMaxSize));
    elements *= *value;
    extents.push_back(*value);
  }
  return extents;
}

std::int64_t Kernel::elements(const Argument& argument, const SizedKernel& sized) const {
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents(argument, sized)) elements *= extent;
  return elements;
}

const Tolerance* Kernel::tolerance(const Argument& argument) const {
  const auto found = std::ranges::find(parts_->tolerances, argument.name, &std::pair<std::string, Tolerance>::first);
  return found == parts_->tolerances.end() ? nullptr : &found->second;
}

std::int64_t Kernel::integer(const Argument& argument, const SizedKernel& sized) const {
  if (!argument.value) return 0;
  const auto value = argument.value->value(values_of(*parts_, sized, nullptr, nullptr));
  if (!value) throw std::invalid_argument(argument.name + ": its value divides by zero or leaves 64 bits");
  const bool is_unsigned = argument.type->name.starts_with('u');
  const int bits = int(argument.type->bytes) * 8 - (is_unsigned ? 0 : 1);
  const std::int64_t most = bits > 62 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1,
                     least = is_unsigned ? 0 : -most - 1;
  if (*value < least || *value > most)
    throw std::invalid_argument(fmt::format("{}: its value is {}: expected {} to {}, as {} holds", argument.name,
        *value, least, most, argument.type->name));
  return *value;
}

double Kernel::buffer_bytes(const SizedKernel& sized) const {
  double bytes = 0;
  for (const Argument& argument : parts_->arguments) {
    if (argument.role != Role::value) bytes += double(elements(argument, sized)) * double(argument.type->bytes);
  }
  return bytes;
}

double Kernel::work(const std::optional<Expression>& of, const SizedKernel& sized) const {
  return of ? double(std::max<std::int64_t>(0, of->value(values_of(*parts_, sized, nullptr, nullptr)).value_or(0))) : 0;
}

}  // namespace tilesmith::own
