// Where db/ and runtime/, which applications link, say what no caller is told.
#pragma once

#include <spdlog/logger.h>

#include <memory>

namespace tilesmith::db {

/// The logger that is registered as "tilesmith", as the command line's is and an application's may be; else one of our own that
/// writes to stderr. Never spdlog's default logger: that is the application's, which may have it write to standard output or
/// drop it.
std::shared_ptr<spdlog::logger> logger();

}  // namespace tilesmith::db
