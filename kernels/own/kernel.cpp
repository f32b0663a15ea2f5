#include "kernels/own/kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <ranges>
#include <stdexcept>
#include <utility>

#include "kernels/base/content_hash.hpp"
#include "kernels/families/source_hash.hpp"

namespace tilesmith::own {
namespace {

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

constexpr ElementType kElementTypes[] = {{"f16", "__half", 2, Scalar::f16}, {"bf16", "__nv_bfloat16", 2, Scalar::bf16},
    {"f32", "float", 4, Scalar::f32}, {"f64", "double", 8, Scalar::f64}, {"e4m3", "__nv_fp8_e4m3", 1, Scalar::e4m3},
    {"e5m2", "__nv_fp8_e5m2", 1, Scalar::e5m2}, {"s8", "signed char", 1}, {"u8", "unsigned char", 1},
    {"s16", "short", 2}, {"u16", "unsigned short", 2}, {"s32", "int", 4}, {"u32", "unsigned int", 4},
    {"s64", "long long", 8}, {"u64", "unsigned long long", 8}};

/// By slot: sizes, parameters, the device. Without a config its parameters are 0.
Values values_of(const Definition& parts, const SizedKernel& sized, const Config* config, const DeviceLimits* limits) {
  Values values;
  for (const auto& [name, value] : sized.sizes) values.push_back(value);
  for (const Parameter& parameter : parts.parameters) values.push_back(config ? config->at(parameter.name) : 0);
  if (limits) std::ranges::copy(device_values(*limits), std::back_inserter(values));
  return values;
}

/// The identifiers and numbers of a text, and what stands between them.
std::vector<std::string_view> pieces_of(std::string_view text) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    while (end < text.size() && is_part(text[end]) == is_part(text[at])) ++end;
    pieces.push_back(text.substr(at, end - at));
  }
  return pieces;
}

std::string_view template_arguments(std::string_view entry) {
  return entry.substr(std::min(entry.find('<'), entry.size()));
}

/// The entry with the values of the parameters that stand among its template arguments.
std::string with_values(const std::string& entry, const Config* config) {
  const std::string_view arguments = template_arguments(entry);
  std::string result = entry.substr(0, entry.size() - arguments.size());
  for (const std::string_view piece : pieces_of(arguments))
    result += config && config->has(piece) ? std::to_string(config->at(piece)) : std::string(piece);
  return result;
}

bool is_template_argument(const Definition& parts, const std::string& parameter) {
  return std::ranges::any_of(parts.launches, [&](const UserLaunch& launch) {
    return std::ranges::count(pieces_of(template_arguments(launch.entry)), parameter) > 0;
  });
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
    return fmt::format("sizes are {}: expected {}, those of the kernel {}",
        fmt::join(sized.sizes | std::views::keys, ", "), fmt::join(parts_->sizes | std::views::keys, ", "), name());
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
  for (const UserRule& from : parts_->rules) {
    rules.push_back({from.name, from.reason,
        [parts = parts_, holds = &from.holds, sized, limits](
            const Config& config) { return holds->value(values_of(*parts, sized, &config, &limits)).value_or(0) != 0; },
        parameters_read(parts_->parameters, parts_->sizes.size(), std::array{&from.holds})});
  }
  for (const UserLaunch& launch : parts_->launches) {
    std::vector<const Expression*> read{&launch.shared_bytes};
    for (const std::array<Expression, 3>* extent : {&launch.grid, &launch.block, &launch.cluster}) {
      for (const Expression& one : *extent) read.push_back(&one);
    }
    rules.push_back({fmt::format("{} launches", launch.entry.substr(0, launch.entry.find('<'))),
        fmt::format("grid, block, cluster and shared memory are what {} can launch", limits.arch),
        [parts = parts_, from = &launch, sized, limits](const Config& config) {
          Figures figures(values_of(*parts, sized, &config, &limits), &limits);
          figures.launch(*from, "");
          return !figures.wrong();
        },
        parameters_read(parts_->parameters, parts_->sizes.size(), read)});
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
  Figures figures(values_of(*parts_, sized, &config, &limits), &limits);
  for (const UserLaunch& launch : parts_->launches) figures.launch(launch, with_values(launch.entry, &config));
  // What is wrong with a launch says more than the rule that it breaks.
  return figures.wrong() ? figures.wrong() : illegal_because(config, parts_->parameters, rules(sized, limits));
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
  for (const UserLaunch& launch : parts_->launches) entries.push_back(with_values(launch.entry, &config));
  return entries;
}

std::vector<Launch> Kernel::launches(
    const std::vector<UserLaunch>& from, const SizedKernel& sized, const Config* config) const {
  Figures figures(values_of(*parts_, sized, config, nullptr));
  std::vector<Launch> launches;
  for (const UserLaunch& launch : from) launches.push_back(figures.launch(launch, with_values(launch.entry, config)));
  if (figures.wrong()) throw std::invalid_argument(*figures.wrong());
  return launches;
}

std::vector<Launch> Kernel::launches(const Config& config, const SizedKernel& sized) const {
  return launches(parts_->launches, sized, &config);
}

std::vector<Launch> Kernel::reference_launches(const SizedKernel& sized) const {
  return launches(parts_->reference->launches, sized, nullptr);
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

std::int64_t Kernel::integer(const Argument& argument, const SizedKernel& sized) const {
  if (!argument.value) return 0;
  const auto value = argument.value->value(values_of(*parts_, sized, nullptr, nullptr));
  if (!value) throw std::invalid_argument(argument.name + ": its value divides by zero or leaves 64 bits");
  const bool is_unsigned = argument.type->is_unsigned();
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

const Kernel& kernel_of(const SizedKernel& sized) {
  if (const Kernel* kernel = find_kernel(sized.kernel)) return *kernel;
  throw std::invalid_argument("the kernel '" + sized.kernel + "' is not loaded");
}

std::string kernel_hash(const Config& config, std::string_view options) {
  const Kernel* kernel = find_kernel(config.family());
  if (kernel == nullptr || illegal_because(config, kernel->definition().parameters, {})) return {};
  std::string entries;
  for (const std::string& entry : kernel->entries(config)) entries += '\n' + entry;
  return source_hash(kernel->source(config) + entries + '\n' + kernel->definition().proof, options);
}

std::string plan_hash(const Config& config, const SizedKernel& sized, std::string_view options) {
  const std::string hash = kernel_hash(config, options);
  const Kernel* kernel = find_kernel(config.family());
  if (hash.empty() || kernel->sizes_error(sized)) return {};
  std::string all = hash;
  try {
    for (const Launch& launch : kernel->launches(config, sized)) {
      all += fmt::format("\n{} {}", launch.entry, launch.dynamic_smem_bytes);
      for (const Extent3& extent : {launch.grid, launch.block, launch.cluster})
        all += fmt::format(" {} {} {}", extent.x, extent.y, extent.z);
    }
    for (const Argument& argument : kernel->definition().arguments) {
      const bool is_value = argument.role == Role::value;
      all += fmt::format(
          "\n{} {} {}", argument.type->name, int(argument.role), is_value ? 0 : kernel->elements(argument, sized));
      if (is_value) all += fmt::format(" {} {}", kernel->integer(argument, sized), argument.real);
    }
  } catch (const std::invalid_argument&) {
    return {};
  }
  return content_hash(all);
}

}  // namespace tilesmith::own
