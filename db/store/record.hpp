// Records: what became of a candidate, with all that is needed to judge it later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/store/device_identity.hpp"
#include "kernels/families/config.hpp"
#include "kernels/problem/task.hpp"

namespace tilesmith::db {

/// What became of a candidate. Only `ok` carries a timing.
enum class Status {
  ok,
  illegal,         ///< a rule or the task refuses the config
  compile_failed,  ///< the compiler refused the source, or crashed on it
  spilled,         ///< compiled, but its registers spill to local memory
  launch_failed,   ///< the driver refused to load or launch it (resources)
  timed_out,       ///< did not end within its time limit
  device_fault,    ///< illegal access, illegal instruction, ...: the device context was lost
  mismatch,        ///< ran, and gave wrong results
};
std::string_view name(Status status);
std::optional<Status> parse_status(std::string_view text);
/// All names, comma-separated, for error messages.
std::string status_names();

/// Who compiled the kernel and measured.
struct Environment {
  std::string compiler_options;  ///< canonical, space-separated
  std::string nvrtc_version;     ///< "13.0"
  std::string driver_version;    ///< "580.159", or "CUDA 13.0" where only that is known; empty if none was involved
  std::string measuring_policy;  ///< "cold-4": changes whenever what a time means changes; "trial-1": is_trial()
  friend bool operator==(const Environment&, const Environment&) = default;
};

struct Timing {
  double median_us = 0;
  double spread =
      0;  ///< half the interquartile range over the median, of a final benchmark's samples once freed of drift
  int samples = 0;
  double clock_mhz = 0;      ///< SM clock while measuring; 0: unknown
  double temperature_c = 0;  ///< 0: unknown
  double power_w = 0;        ///< 0: unknown
  /// What median_us is already freed of: the clock probe's time over its time at the start, or a control's over its
  /// known one; 1: neither. Drift that competitors of a final benchmark share is taken out of each sample
  /// (tuner/measure/shared_drift.hpp) and not counted here.
  double drift = 1;
};

struct Outcome {
  Status status = Status::illegal;
  std::string message;           ///< one line; when ok what disturbed the timing, as a rule nothing
  std::optional<Timing> timing;  ///< present exactly when ok
  /// A failure of the machine (no memory left, a process killed from outside). It is logged and never stored.
  bool by_machine = false;
};

struct Record {
  std::int64_t id =
      0;  ///< assigned by the store, in the order of recording; of an entry that no store holds yet 0, or its source's
  Task task;
  Config config;
  DeviceIdentity device;
  Environment environment;
  Outcome outcome;
  std::string run;         ///< uuid of the tuning run
  std::string origin;      ///< provenance: where it was measured (host name), kept through import and merge
  std::string created_at;  ///< ISO 8601 UTC, to be shown: a machine's clock may be wrong, so that no order rests on it
  std::string plan_hash;   ///< of the plan that ran (kernels/families/plan_hash.hpp); empty: the config had none
};

/// nullopt if the entry is consistent; else one line that names the field and what was expected. Asked before every
/// entry is stored.
std::optional<std::string> record_error(const Record& record);
/// What no text of an entry may hold; in a message, a run and an origin, which others write, a space takes its place
/// when it is stored.
bool is_control_character(char c);
using NamedTexts = std::initializer_list<std::pair<const char*, const std::string&>>;
std::optional<std::string> control_character_error(NamedTexts fields);
std::optional<std::string> timing_error(const Timing& timing);
std::optional<std::string> config_error(const Config& config);
/// Of created_at, which may be empty.
std::optional<std::string> time_error(const std::string& created_at);

/// A time of the form 2026-01-31T23:59:59[.123]Z with exactly three decimals, so that text order is time order;
/// nullopt if it has another form, or is no such time.
std::optional<std::string> normalized_utc(std::string_view text);

/// The measuring policy of a trial (runtime/choose/trial.hpp). Nothing was verified, and its times compare among
/// themselves alone.
inline constexpr std::string_view kTrialPolicy = "trial-1";
bool is_trial(const Environment& environment);

/// Whether one entry, or one of the vendor's times, was recorded after another of the same store or file: by their ids,
/// by their times where no store gave them any.
template <typename Row>
bool is_later(const Row& a, const Row& b) {
  return a.id != b.id ? a.id > b.id : a.created_at > b.created_at;
}

/// A compiled kernel: one config for one signature and architecture. `signature`: its canonical text
/// (kernels/families/tasks.hpp).
struct KernelKey {
  Config config;
  std::string signature;
  std::string arch;         ///< "sm_87"; "compute_87" of PTX
  std::string kernel_hash;  ///< kernels/families/plan_hash.hpp
  std::string compiler_options;
  std::string nvrtc_version;
};

struct KernelBuild {
  KernelKey key;
  Status status = Status::compile_failed;  ///< ok, compile_failed or spilled
  std::string message;                     ///< the compiler's first error line, or what spilled
  int registers = 0;
  int spill_bytes = 0;
  int static_smem_bytes = 0;
  std::vector<std::byte> cubin;  ///< PTX text where the arch is virtual; empty unless ok or spilled
  /// The same kernel with delays, by which a user's own kernel is proven if its threads share memory. The store does
  /// not keep it.
  std::vector<std::byte> delayed_cubin = {};
};

}  // namespace tilesmith::db
