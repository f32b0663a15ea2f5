#include "tuner/report/failures.hpp"

#include <algorithm>
#include <map>

namespace tilesmith::tuner::report {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Runs of digits as "#": "spills 16 bytes" and "spills 24 bytes" are one message.
std::string without_numbers(const std::string& message) {
  std::string result;
  for (const char c : message) {
    if (!is_digit(c)) {
      result += c;
    } else if (result.empty() || result.back() != '#') {
      result += '#';
    }
  }
  return result;
}

}  // namespace

std::vector<FailureKind> failures_by_kind(const std::vector<const db::Record*>& failed) {
  std::map<db::Status, std::map<std::string, FailureMessage>> by_status;
  for (const db::Record* entry : failed) {
    FailureMessage& message = by_status[entry->outcome.status][without_numbers(entry->outcome.message)];
    if (message.count++ == 0 || !db::is_later(message.example, *entry)) message.example = *entry;
  }
  std::vector<FailureKind> kinds;
  for (auto& [status, messages] : by_status) {
    FailureKind kind;
    kind.status = status;
    for (auto& [text, message] : messages) {
      kind.count += message.count;
      kind.messages.push_back(std::move(message));
    }
    std::stable_sort(kind.messages.begin(), kind.messages.end(),
                     [](const FailureMessage& a, const FailureMessage& b) { return a.count > b.count; });
    for (std::size_t i = kMostMessages; i < kind.messages.size(); ++i) kind.other_messages += kind.messages[i].count;
    if (kind.messages.size() > kMostMessages) kind.messages.resize(kMostMessages);
    kinds.push_back(std::move(kind));
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const FailureKind& a, const FailureKind& b) { return a.count > b.count; });
  return kinds;
}

}  // namespace tilesmith::tuner::report
