#include "tuner/cli/options/buckets_option.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tuner/cli/commands/command.hpp"

namespace tilesmith::tuner {

CLI::Option* add_buckets_option(CLI::App& app, std::string& text) {
  return app
      .add_option("--buckets", text,
                  "Sizes of M that each family gets, problems that differ in M alone, of which two sizes were called: powers (of two between its least "
                  "and its largest), none, or sizes and ranges such as 1-64,128")
      ->type_name("SIZES")->capture_default_str();
}

cublas::Buckets buckets_given(const std::string& text) {
  cublas::Buckets buckets;
  if (!cublas::parse_buckets(text, buckets)) throw UsageError(fmt::format("--buckets '{}': expected {}", text, cublas::kBucketsExpected));
  return buckets;
}

}  // namespace tilesmith::tuner
