#include "tuner/cli/options/retired_option.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <string>

#include "db/store/trust.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"

namespace tilesmith::tuner {

CLI::Option* add_retired_option(CLI::App& app, bool& retired) {
  return app.add_flag("--retired", retired,
                      "Also the fastest recorded times that do not count, behind the best that would run, with why as their trust: "
                      "retired (kernel, launches or options changed), not loaded (see --family-dir), reverify (driver or NVRTC changed, where another best is valid), of a former "
                      "measuring policy, illegal today");
}

void say_left_out(const BestsToday& today) {
  std::string line;
  if (today.without > 0) line = fmt::format("{} without a time that counts today", count_of(today.without, "problem"));
  if (today.passed_over > 0) {
    line += fmt::format("{}{} with a faster time that does not count", line.empty() ? "" : ", ", count_of(today.passed_over, "problem"));
  }
  const std::string not_loaded = db::not_loaded_text({today.not_loaded.begin(), today.not_loaded.end()});
  if (!not_loaded.empty()) Screen::instance().print_line(not_loaded);
  if (!line.empty()) Screen::instance().print_line(line + " (retired, or to be verified anew, as a rule): --retired shows what was left out");
}

}  // namespace tilesmith::tuner
