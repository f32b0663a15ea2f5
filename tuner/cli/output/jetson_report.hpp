// What a Jetson tells of itself, for people and as JSON: so that a user can check what the tuner goes by.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/driver/jetson_state.hpp"

namespace tilesmith::tuner {

std::string jetson_text(const runtime::JetsonState& state, const std::string& power_mode);
/// null where a value is not told.
nlohmann::ordered_json jetson_json(const runtime::JetsonState& state, const std::string& power_mode);

}  // namespace tilesmith::tuner
