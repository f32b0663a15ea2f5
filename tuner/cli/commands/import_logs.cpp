#include "tuner/cli/commands/import_logs.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/figures.hpp"
#include "tuner/logs/read_log.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kBeginning = 65536;  // bytes that tell a log from another file

const LogFormat* format_given(const std::string& name) {
  if (name.empty()) return nullptr;
  const LogFormat* format = find_log_format(name);
  if (format == nullptr) throw UsageError(fmt::format("--format '{}': unknown format; expected {}", name, log_format_names()));
  return format;
}

ReadLog read_file_of_log(const std::string& file, const LogFormat* format) {
  try {
    if (file == "-") return read_log(std::cin, "standard input", format);
    std::error_code ignored;
    std::ifstream in(file, std::ios::binary);
    if (!in || std::filesystem::is_directory(file, ignored)) throw UsageError(fmt::format("{}: cannot be read, expected a log", file));
    return read_log(in, file, format);
  } catch (const LogError& error) {
    throw UsageError(error.what());
  }
}

void require_other_file(const ImportLogsOptions& options) {
  for (const std::string& file : options.files) {
    std::error_code ignored;
    if (std::filesystem::equivalent(file, options.output, ignored))
      throw UsageError(fmt::format("-o {}: is one of the logs; expected another file", options.output));
  }
}

}  // namespace

std::string log_format_names() {
  std::string text;
  const auto formats = log_formats();
  for (std::size_t i = 0; i < formats.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == formats.size() ? " or " : ", ", formats[i].name);
  return text;
}

std::string kind_of_log(const std::string& file) {
  if (std::error_code ignored; !std::filesystem::is_regular_file(file, ignored)) return "";  // what is read of a pipe is gone
  std::ifstream in(file, std::ios::binary);
  std::string beginning(kBeginning, '\0');
  in.read(beginning.data(), std::streamsize(beginning.size()));
  beginning.resize(std::size_t(in.gcount()));
  std::istringstream lines(beginning.substr(0, beginning.rfind('\n') + 1));
  try {
    return std::string(read_log(lines, file).format->is);
  } catch (const LogError&) {
    return "";
  }
}

int run_import_logs(const ImportLogsOptions& options) {
  const LogFormat* const format = format_given(options.format);
  const cublas::Buckets buckets = buckets_given(options.buckets);
  if (!is_stdout(options.output)) require_writable(options.output, "--output");
  require_other_file(options);
  Calls calls;
  std::string said;
  for (const std::string& file : options.files) {
    const ReadLog log = read_file_of_log(file, format);
    for (const std::string& note : log.notes) spdlog::warn("{}", note);
    said += fmt::format("{}: {}, {}, {}", file, log.format->name, count_of(log.calls.count(), "call"), count_of(log.passed_over, "other line"));
    said += log.wrong == 0 ? "\n" : fmt::format(", {}\n", count_of(log.wrong, "wrong line"));
    calls.add(log.calls);
  }
  const cublas::WorkloadText made = cublas::workload_text(calls.problems(), buckets, "calls that `tilesmith import` read in logs", {tilesmith_problem_text, tilesmith_last_error});
  for (const auto& [why, times] : calls.left_out()) spdlog::warn("{} left out: {}", count_of(times, "call"), why);
  for (const auto& [field, one] : made.left_out) spdlog::warn("{} left out: {}", count_of(one.calls, "call"), one.why);
  if (made.problems == 0) throw UsageError(fmt::format("no call that can be served; {} was not written", options.output));
  write_result(made.text, options.output);
  if (is_stdout(options.output)) return kExitOk;
  said += fmt::format("{}: {} of {}", options.output, count_of(made.problems, "problem"), count_of(made.calls, "call"));
  if (made.families > 0)
    said += fmt::format("; {} of several M, {} added", made.families == 1 ? "1 family" : format_count(made.families) + " families", count_of(made.added, "size"));
  write_result(said + "\n");
  return kExitOk;
}

}  // namespace tilesmith::tuner
