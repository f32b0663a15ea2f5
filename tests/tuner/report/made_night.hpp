// Made-up records of a night of tuning, for the report.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "db/store/store.hpp"
#include "tests/tuner/made_recording.hpp"

namespace tilesmith::tests {

inline constexpr const char* kNight = "aaaaaaaa-0000-4000-8000-000000000001";
inline constexpr const char* kEarlier = "bbbbbbbb-0000-4000-8000-000000000002";

inline constexpr const char* kOther = "cccccccc-0000-4000-8000-000000000003";
inline constexpr const char* kLast = "dddddddd-0000-4000-8000-000000000004";

/// Entries come a second apart unless told otherwise, from 22:00 on.
class MadeNight {
 public:
  std::vector<db::Record> entries;
  std::vector<db::Run> runs;

  std::string run = kNight;
  Problem problem = packed_problem({*find_type_pair("f16f32"), {}}, 1024, 1024, 1024);
  db::DeviceIdentity device = made_device();
  db::Environment environment{"-O", "13.0", "580.65", "cold-3"};
  int second = 0;  ///< of the last entry

  static std::string at(int seconds) {
    return fmt::format("2026-01-31T{:02}:{:02}:{:02}.000Z", 22 + seconds / 3600, seconds / 60 % 60, seconds % 60);
  }
  static Config config(int x) { return Config("simt", {{"x", x}}); }

  db::Record& passed(int x, double us, double spread = 0.001) {
    db::Timing timing;
    timing.median_us = us;
    timing.spread = spread;
    timing.samples = 15;
    timing.clock_mhz = 1300;
    timing.temperature_c = 50;
    timing.power_w = 30;
    return add(x, {db::Status::ok, "", timing});
  }
  db::Record& failed(int x, db::Status status, const std::string& message) { return add(x, {status, message, {}}); }

  db::Run& recorded(const std::string& uuid, int began, std::optional<int> ended, const std::string& how) {
    db::Run record;
    record.id = std::int64_t(runs.size()) + 1;
    record.uuid = uuid;
    record.command = "tilesmith tune --workload night";
    record.workload = "night";
    record.strategy = "forest";
    record.host = "orin";
    record.started_at = at(began);
    if (ended) record.ended_at = at(*ended);
    record.ended_how = how;
    return runs.emplace_back(record);
  }

  void store_to(const std::string& path) const {
    db::Store store = db::Store::open(path);
    for (const db::Run& record : runs) store.begin_run(record);
    for (const db::Record& entry : entries) store.record(entry);
  }

 private:
  db::Record& add(int x, db::Outcome outcome) {
    db::Record entry;
    entry.id = std::int64_t(entries.size()) + 1;
    entry.task = problem;
    entry.config = config(x);
    entry.device = device;
    entry.environment = environment;
    entry.outcome = std::move(outcome);
    entry.run = run;
    entry.origin = "orin";
    entry.created_at = at(++second);
    return entries.emplace_back(entry);
  }
};

}  // namespace tilesmith::tests
