// Where db/ and runtime/, which applications link, say what no caller is told.
#pragma once

#include <spdlog/logger.h>

#include <functional>
#include <memory>
#include <string>

namespace tilesmith::db {

/// The logger that gives lines to the callback, if one is set; else the one registered as "tilesmith"; else our own,
/// which writes to stderr unless TILESMITH_LOG is "off". Never spdlog's default logger, which is the application's.
std::shared_ptr<spdlog::logger> logger();

using LogCallback = std::function<void(spdlog::level::level_enum, const std::string& line)>;

/// Sets the process's log callback; null removes it. When this returns, the former callback is no longer running.
/// Callbacks run one at a time.
void set_log_callback(LogCallback callback);

}  // namespace tilesmith::db
