// How many candidates of a database each trust has today.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "db/store/store.hpp"
#include "db/store/trust.hpp"

namespace tilesmith::tuner {

/// Candidates, each by its latest entry.
struct TrustCounts {
  std::map<db::Trust, std::size_t> of;
  std::size_t count(db::Trust trust) const { return of.contains(trust) ? of.at(trust) : 0; }
  std::size_t all() const;
};

/// By text of the device and family, judged as `query` judges (tuner/bests/bests_today.hpp).
std::map<std::string, std::map<std::string, TrustCounts>> trust_counts(const db::Store& store);

}  // namespace tilesmith::tuner
