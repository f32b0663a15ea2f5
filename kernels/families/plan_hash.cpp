#include "kernels/families/plan_hash.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "kernels/base/content_hash.hpp"
#include "kernels/families/source_hash.hpp"
#include "kernels/own/kernel.hpp"

namespace tilesmith {
namespace {

constexpr std::string_view kArchitecture = "--gpu-architecture=";

/// Figures one after the other, as bytes: every member by its place, so that one more does not compile before it is
/// told, too.
class Figures {
 public:
  explicit Figures(std::string& bytes) : bytes_(bytes) {}

  void put(std::int64_t value) {
    for (int byte = 0; byte < 8; ++byte) bytes_ += char(std::uint64_t(value) >> (8 * byte));
  }
  void put(const Extent3& extent) {
    const auto& [x, y, z] = extent;
    for (const unsigned value : {x, y, z}) put(value);
  }
  void put(const OperandSource& source) {
    const auto& [from_workspace, offset_bytes, row_stride, entry_stride] = source;
    for (const std::int64_t value : {std::int64_t(from_workspace), std::int64_t(offset_bytes), row_stride}) put(value);
    if (entry_stride != 0) put(entry_stride);
  }
  void put(const TensorBox& box) {
    const auto& [matrix_rows, matrix_cols, rows, cols, matrices, pairs, code_blocks] = box;
    for (const std::int64_t value : {matrix_rows, matrix_cols, std::int64_t(rows), std::int64_t(cols)}) put(value);
    if (matrices != 0) put(matrices);
    if (pairs != PairedRows::none) put(-std::int64_t(pairs));  // beside counts of matrices
    if (code_blocks) put(-8);
  }
  void put(const TensorBoxes& boxes) {
    const auto& [a, b, d] = boxes;
    put(a);
    put(b);
    put(std::int64_t(d.has_value()));
    if (d) put(*d);
  }
  void put(const Launch& launch) {
    const auto& [entry, grid, block, cluster, smem, resident, overlaps, neighbours, k, a, b, d, boxes] = launch;
    bytes_.append(entry) += '\0';
    for (const Extent3& extent : {grid, block, cluster}) put(extent);
    for (const std::int64_t value :
        {std::int64_t(smem), std::int64_t(resident), std::int64_t(overlaps), std::int64_t(neighbours)})
      put(value);
    for (const OperandSource& source : {a, b, d}) put(source);
    if (k != 0) put(k);
    put(std::int64_t(boxes.has_value()));
    if (boxes) put(*boxes);
  }

 private:
  std::string& bytes_;
};

/// The rules of one family and target, which are asked for once a process.
struct Rules {
  KernelTarget target;
  std::string options;
  Legality legality;
};

/// nullptr for options that are not today's of any target.
const Rules* rules_of(const Family& family, const KernelSignature& signature, std::string_view options) {
  if (!options.starts_with(kArchitecture)) return nullptr;
  using Key = std::tuple<const Family*, std::string, std::string>;
  static std::mutex mutex;
  static std::map<Key, std::unique_ptr<const Rules>> known;
  const std::scoped_lock lock(mutex);
  Key key{&family, text(signature), std::string(options)};
  if (const auto found = known.find(key); found != known.end()) return found->second.get();
  const std::string_view arch = options.substr(kArchitecture.size());
  const auto limits = limits_for_target(arch.substr(0, arch.find(' ')));
  if (!limits) return nullptr;
  const KernelTarget target{signature, *limits};
  if (options != compiler_options_text(target)) return nullptr;
  auto rules = std::make_unique<const Rules>(Rules{target, std::string(options), Legality(family, target)});
  return known.emplace(std::move(key), std::move(rules)).first->second.get();
}

/// A kernel's hash, made once a process: rankings ask for those of a database again and again. Precondition: the config
/// is legal.
std::string known_kernel_hash(const Family& family, const Config& config, const Rules& rules) {
  static std::mutex mutex;
  static std::unordered_map<std::string, std::string> known;
  const auto bytes_of = [](const auto& value) {
    return std::string_view(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const Rules* const of = &rules;  // there for good, as names of parameters are
  std::string bytes(bytes_of(of));
  for (const auto& [parameter, value] : config.values()) {
    const std::string* const name = &parameter.text();
    bytes.append(bytes_of(name)).append(bytes_of(value));
  }
  std::string key = content_hash(bytes);
  {
    const std::scoped_lock lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  std::string hash = source_hash(family.source(config, rules.target), rules.options);
  const std::scoped_lock lock(mutex);
  return known.try_emplace(std::move(key), std::move(hash)).first->second;
}

/// Empty where nothing is launched. Precondition: the config is legal.
std::string launches_bytes(const Config& config, const Problem& problem) {
  const Family* family = find_family(config.family());
  if (family == nullptr || refused_because(*family, config, problem)) return {};
  const auto [launches, workspace_bytes] = family->launches(config, as_planned(problem));
  std::string bytes;
  if (launches.empty()) return bytes;
  Figures figures(bytes);
  figures.put(std::int64_t(workspace_bytes));
  for (const Launch& launch : launches) figures.put(launch);
  return bytes;
}

}  // namespace

std::vector<std::string> compiler_options(const KernelTarget& target) {
  return {std::string(kArchitecture) + target.limits.arch, "--std=c++17", "--device-as-default-execution-space"};
}

std::string compiler_options_text(const KernelTarget& target) {
  return fmt::format("{}", fmt::join(compiler_options(target), " "));
}

std::string kernel_hash(const Config& config, const KernelSignature& signature, std::string_view options) {
  const Family* family = find_family(config.family());
  const Rules* rules = family == nullptr ? nullptr : rules_of(*family, signature, options);
  return rules == nullptr || rules->legality.illegal_because(config) ? std::string()
                                                                     : known_kernel_hash(*family, config, *rules);
}

std::string launches_hash(const Config& config, const Problem& problem) {
  const std::string bytes = launches_bytes(config, problem);
  return bytes.empty() ? bytes : content_hash(bytes);
}

std::string plan_hash(const Config& config, const Task& task, std::string_view options) {
  if (!task.is_gemm()) return own::plan_hash(config, task.kernel(), options);
  const Problem& problem = task.problem();
  if (problem.m < 1 || problem.n < 1 || problem.batch < 1) return {};
  const std::string kernel = kernel_hash(config, problem, options);
  if (kernel.empty()) return {};
  const std::string launches = launches_bytes(config, problem);
  return launches.empty() ? launches : content_hash(kernel + launches);
}

}  // namespace tilesmith
