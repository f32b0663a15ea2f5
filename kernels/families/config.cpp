#include "kernels/families/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <unordered_map>

namespace tilesmith {

const std::string* ParameterName::kept(std::string_view text) {
  thread_local std::unordered_map<std::string_view, const std::string*> seen;  // spares the lock
  if (const auto known = seen.find(text); known != seen.end()) return known->second;
  static std::mutex mutex;
  static std::set<std::string, std::less<>> names;  // a node stays where it is
  const std::scoped_lock lock(mutex);
  const auto known = names.find(text);
  const std::string* const name = &*(known != names.end() ? known : names.emplace(text).first);
  return seen.emplace(*name, name).first->second;
}

int Config::find(std::string_view parameter, std::size_t& place) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].first == parameter) return values_[place = i].second;
  }
  throw std::out_of_range(fmt::format("config {} has no parameter '{}'", text(), parameter));
}

bool Config::has(std::string_view parameter) const {
  return std::any_of(values_.begin(), values_.end(), [&](const Value& value) { return value.first == parameter; });
}

void Config::set(std::string_view parameter, int value) {
  for (Value& entry : values_) {
    if (entry.first == parameter) {
      entry.second = value;
      return;
    }
  }
  values_.emplace_back(parameter, value);
}

std::string Config::text() const {
  std::string result = family_ + '{';
  for (const auto& [name, value] : values_) {
    if (result.back() != '{') result += ',';
    result += name.text();
    result += '=';
    char digits[std::numeric_limits<int>::digits10 + 3];
    result.append(digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr);
  }
  return result += '}';
}

std::optional<Config> Config::parse(std::string_view text) {
  const std::size_t open = text.find('{');
  if (open == std::string_view::npos || open == 0 || text.back() != '}') return std::nullopt;
  std::vector<Value> values;
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    const std::string_view number = part.substr(equals + 1);
    int value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc{} || end != number.data() + number.size() || number.empty()) return std::nullopt;
    const std::string_view parameter = part.substr(0, equals);
    for (const Value& seen : values) {
      if (seen.first == parameter) return std::nullopt;
    }
    values.emplace_back(parameter, value);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) return std::nullopt;
  }
  return Config(std::string(text.substr(0, open)), std::move(values));
}

}  // namespace tilesmith
