// What went wrong, by kind.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "db/store/record.hpp"

namespace tilesmith::tuner::report {

/// Messages that differ in their numbers alone.
struct FailureMessage {
  std::size_t count = 0;
  db::Record example;  ///< the latest of them
};

struct FailureKind {
  db::Status status = db::Status::illegal;
  std::size_t count = 0;
  std::vector<FailureMessage> messages;  ///< most frequent first, at most kMostMessages
  std::size_t other_messages = 0;        ///< how many failures the others make up
};

inline constexpr std::size_t kMostMessages = 5;

/// Most frequent kind first. `failed`: one entry a candidate.
std::vector<FailureKind> failures_by_kind(const std::vector<const db::Record*>& failed);

}  // namespace tilesmith::tuner::report
