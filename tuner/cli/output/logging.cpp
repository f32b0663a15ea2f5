#include "tuner/cli/output/logging.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <mutex>

#include "db/files/files.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/terminal.hpp"

namespace tilesmith::tuner {
namespace {

class ScreenSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t formatted;
    formatter_->format(message, formatted);
    std::string_view line(formatted.data(), formatted.size());
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    Screen::instance().print_line(line);
  }
  void flush_() override {}
};

std::shared_ptr<spdlog::sinks::sink> make_console(spdlog::level::level_enum level) {
  auto console = std::make_shared<ScreenSink>();
  console->set_level(level);
  console->set_pattern(level == spdlog::level::warn ? "tilesmith: %l: %v" : "%H:%M:%S %L %v");
  return console;
}

std::shared_ptr<spdlog::sinks::sink> make_file(const std::string& path) {
  if (!db::own_descriptor(path)) return std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  std::FILE* const file = db::open_to_append(path);  // for as long as the program runs
  if (file == nullptr) throw spdlog::spdlog_ex("cannot be opened", errno);
  return std::make_shared<spdlog::sinks::stdout_sink_base<spdlog::details::console_mutex>>(file);
}

}  // namespace

void add_log_options(CLI::App& app, LogOptions& options) {
  app.add_option("--log", options.file, "Also log to this file (appended to; debug level)")
      ->type_name("FILE")
      ->group("Output");
  app.add_flag("--verbose,-v", options.verbose, "Log every outcome and decision")->group("Output");
}

void start_console_log() {
  auto logger = std::make_shared<spdlog::logger>("tilesmith", make_console(spdlog::level::warn));
  logger->set_level(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

void apply_log_options(const LogOptions& options, const std::string& writer) {
  std::vector<spdlog::sink_ptr> sinks{make_console(options.verbose ? spdlog::level::debug : spdlog::level::info)};
  if (!options.file.empty()) {
    require_writable(options.file, "--log");
    try {
      auto file = make_file(options.file);
      file->set_level(spdlog::level::debug);
      file->set_pattern(fmt::format("%Y-%m-%dT%H:%M:%S.%e%z %l {}%v", writer.empty() ? "" : writer + " "));
      sinks.push_back(std::move(file));
    } catch (const spdlog::spdlog_ex& error) {
      throw UsageError(fmt::format("--log '{}': {}; expected a file that can be written", options.file, error.what()));
    }
  }
  auto logger = std::make_shared<spdlog::logger>("tilesmith", sinks.begin(), sinks.end());
  logger->set_level(spdlog::level::debug);
  logger->flush_on(writer.empty() ? spdlog::level::info : spdlog::level::debug);  // whole lines, among those of others
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace tilesmith::tuner
