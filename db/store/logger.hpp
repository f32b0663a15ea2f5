// Where db/ and runtime/, which applications link, say what no caller is told.
#pragma once

#include <spdlog/logger.h>

#include <functional>
#include <memory>
#include <string>

namespace tilesmith::db {

/// The logger that gives lines to the callback, if one is set; else the logger that is registered as "tilesmith", as the command
/// line's is and an application's may be; else one of our own that writes to stderr, or nothing if the environment variable
/// TILESMITH_LOG is "off". Never spdlog's default logger: that is the application's, which may have it write to standard output
/// or drop it.
std::shared_ptr<spdlog::logger> logger();

using LogCallback = std::function<void(spdlog::level::level_enum, const std::string& line)>;

/// Of the process. Null: none. The former callback is not running any more when this returns. Callbacks run one at a time.
void set_log_callback(LogCallback callback);

}  // namespace tilesmith::db
