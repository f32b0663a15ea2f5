#include "db/logger.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace tilesmith::db {

std::shared_ptr<spdlog::logger> logger() {
  if (std::shared_ptr<spdlog::logger> given = spdlog::get("tilesmith")) return given;
  // Not registered, so that nobody else drops it; never destroyed, since destructors that run at the very end may log.
  static const auto* const mine = new std::shared_ptr<spdlog::logger>(
      std::make_shared<spdlog::logger>("tilesmith", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  return *mine;
}

}  // namespace tilesmith::db
