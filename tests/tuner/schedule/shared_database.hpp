// A database that made-up tuners share.
#pragma once

#include <limits>
#include <string>

#include "db/store/store.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tests/tuner/tune_toy.hpp"

namespace tilesmith::tuner::toy {

inline constexpr double kNoEnd = std::numeric_limits<double>::infinity();

inline db::DeviceIdentity device(const std::string& name = "Toy") {
  db::DeviceIdentity identity;
  identity.name = name;
  identity.sm = 87;
  return identity;
}

struct Shared {
  tests::TempFolder folder;
  db::Store store = db::Store::open(folder / "tuned.db");
  Workload workload = squares({16, 32, 64, 128});
};

}  // namespace tilesmith::tuner::toy
