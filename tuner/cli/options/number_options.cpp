// Options that are numbers of their own kind: read here, since CLI11 takes -1 for the largest number, and 0x10 for one.
#include <fmt/format.h>

#include <algorithm>

#include "tuner/cli/options/options.hpp"
#include "tuner/exit_status.hpp"
#include "tuner/logs/words.hpp"

namespace tilesmith::tuner {

CLI::Option* add_compile_jobs_option(CLI::App& app, int& jobs, const std::string& auto_means) {
  static constexpr int kMost = 1024;
  const auto take = [&jobs](const std::string& text) {
    jobs = text == "auto" ? 0 : whole_number<int>(text).value_or(-1);
    if (jobs < 0 || jobs > kMost)
      throw CLI::ValidationError(
          fmt::format("--compile-jobs '{}': expected auto or a whole number up to {}", text, kMost));
  };
  const std::string help = "Compiling processes, or auto: " + auto_means +
                           "; no more than memory allows, at 0.5 GiB each; a container's limits count";
  return app.add_option_function<std::string>("--compile-jobs", take, help)->type_name("N|auto")->default_str("auto");
}

CLI::Option* add_seed_option(CLI::App& app, std::uint64_t& seed, const std::string& what) {
  const auto take = [&seed](const std::string& text) {
    const auto given = whole_number<std::uint64_t>(text);
    static constexpr std::uint64_t kMost = std::uint64_t(-1);
    if (!given)
      throw CLI::ValidationError(fmt::format("--seed '{}': expected a whole number from 0 to {}", text, kMost));
    seed = *given;
  };
  return app.add_option_function<std::string>("--seed", take, what)->type_name("N")->default_str(std::to_string(seed));
}

Shape parse_shape(std::string_view text) {
  std::string separated(text);
  std::ranges::replace(separated, 'X', 'x');
  std::vector<std::int64_t> sizes;  // 0: none that can be
  for (const std::string_view word : split_at(separated, 'x')) {
    const std::int64_t size = whole_number(word).value_or(0);
    sizes.push_back(size <= kMaxDimension ? size : 0);
  }
  Shape shape;
  if (sizes.size() == 1) shape = {sizes[0], sizes[0], sizes[0]};
  if (sizes.size() == 3) shape = {sizes[0], sizes[1], sizes[2]};
  if (sizes.size() == 4) shape = {sizes[1], sizes[2], sizes[3], sizes[0]};
  const bool is_batch = sizes.size() != 4 || (shape.batch >= 1 && shape.batch <= kMaxBatch);
  if (shape.m >= 1 && shape.n >= 1 && shape.k >= 1 && is_batch) return shape;
  throw UsageError(
      fmt::format("--shape '{}': expected MxNxK or one number, each dimension 1 to {}, or BATCHxMxNxK, a "
                  "batch of 1 to {}",
          text, kMaxDimension, kMaxBatch));
}

}  // namespace tilesmith::tuner
