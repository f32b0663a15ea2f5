// Options that are numbers of their own kind: read here, since CLI11 takes -1 for the largest number, and 0x10 for one.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>

#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"

namespace tilesmith::tuner {
namespace {

constexpr int kMostCompileJobs = 1024;

std::optional<std::int64_t> parse_dimension(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value < 1 || value > kMaxDimension) return std::nullopt;
  return value;
}

}  // namespace

CLI::Option* add_compile_jobs_option(CLI::App& app, int& jobs, const std::string& auto_means) {
  const auto take = [&jobs](const std::string& text) {
    if (text == "auto") {
      jobs = 0;
      return;
    }
    int given = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), given);
    if (error != std::errc() || end != text.data() + text.size() || given < 0 || given > kMostCompileJobs) {
      throw CLI::ValidationError(
          fmt::format("--compile-jobs '{}': expected auto or a whole number up to {}", text, kMostCompileJobs));
    }
    jobs = given;
  };
  return app
      .add_option_function<std::string>("--compile-jobs", take,
                                        "Compiling processes, or auto: " + auto_means +
                                            "; no more than memory allows, at 0.5 GiB each; a container's limits count")
      ->type_name("N|auto")
      ->default_str("auto");
}

CLI::Option* add_seed_option(CLI::App& app, std::uint64_t& seed, const std::string& what) {
  const auto take = [&seed](const std::string& text) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error == std::errc() && end == text.data() + text.size()) return;
    throw CLI::ValidationError(fmt::format("--seed '{}': expected a whole number from 0 to {}", text, std::uint64_t(-1)));
  };
  return app.add_option_function<std::string>("--seed", take, what)->type_name("N")->default_str(std::to_string(seed));
}

Shape parse_shape(std::string_view text, std::string_view option) {
  const auto fail = [&]() -> Shape {
    throw UsageError(fmt::format("{} '{}': expected MxNxK or one number, each dimension 1 to {}, or BATCHxMxNxK, a batch of 1 to {}", option, text, kMaxDimension, kMaxBatch));
  };
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("xX", at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::int64_t batch = 0;
  if (parts.size() == 4) {
    batch = parse_dimension(parts.front()).value_or(0);
    if (batch < 1 || batch > kMaxBatch) return fail();
    parts.erase(parts.begin());
  }
  if (parts.size() != 1 && parts.size() != 3) return fail();
  std::int64_t values[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const auto value = parse_dimension(parts.size() == 1 ? parts[0] : parts[i]);
    if (!value) return fail();
    values[i] = *value;
  }
  return {values[0], values[1], values[2], batch};
}

}  // namespace tilesmith::tuner
