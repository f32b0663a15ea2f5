// Options that are numbers of their own kind: read here, since CLI11 takes -1 for the largest number, and 0x10 for one.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>

#include "tuner/cli/options.hpp"

namespace tilesmith::tuner {
namespace {

constexpr int kMostCompileJobs = 1024;

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

}  // namespace tilesmith::tuner
