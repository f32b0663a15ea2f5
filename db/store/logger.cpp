#include "db/store/logger.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

namespace tilesmith::db {
namespace {

/// Gives the bare lines to the callback. Its lock lets lines come one at a time, and set() wait for the last of the
/// former.
class CallbackSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void set(LogCallback callback) {
    const std::lock_guard lock(mutex_);
    is_set_ = callback != nullptr;
    callback_ = std::move(callback);
  }
  bool is_set() const { return is_set_; }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (callback_) callback_(message.level, std::string(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

  LogCallback callback_;
  std::atomic<bool> is_set_{false};
};

struct CallbackLogger {
  std::shared_ptr<CallbackSink> sink = std::make_shared<CallbackSink>();
  std::shared_ptr<spdlog::logger> logger = std::make_shared<spdlog::logger>("tilesmith", sink);
};

// This one and the one for stderr are not registered, so that nobody else drops them; never destroyed, since
// destructors that run at the very end may log.
CallbackLogger& with_callback() {
  static auto* const kept = new CallbackLogger;
  return *kept;
}

/// As TILESMITH_LOG says when the first line is logged.
std::shared_ptr<spdlog::logger> stderr_logger() {
  auto made = std::make_shared<spdlog::logger>("tilesmith", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  const char* asked = std::getenv("TILESMITH_LOG");
  const std::string_view level = asked != nullptr ? asked : "warn";
  if (level == "off") made->set_level(spdlog::level::off);
  else if (level != "warn" && !level.empty()) made->warn("TILESMITH_LOG is '{}': expected off or warn", level);
  return made;
}

}  // namespace

std::shared_ptr<spdlog::logger> logger() {
  if (with_callback().sink->is_set()) return with_callback().logger;
  if (std::shared_ptr<spdlog::logger> given = spdlog::get("tilesmith")) return given;
  static const auto* const mine = new std::shared_ptr<spdlog::logger>(stderr_logger());
  return *mine;
}

void set_log_callback(LogCallback callback) { with_callback().sink->set(std::move(callback)); }

}  // namespace tilesmith::db
