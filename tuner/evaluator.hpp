// Turns candidates into outcomes: on a device (through worker processes), or from a recording.
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "db/store/record.hpp"
#include "db/store/store.hpp"
#include "kernels/families/device_limits.hpp"
#include "tuner/vendor.hpp"

namespace tilesmith::tuner {

struct Candidate {
  Task task;
  Config config;
};

/// The best of a task so far.
struct Incumbent {
  Config config;
  double us = 0;
  bool disturbed = false;  ///< the time is not one to hold others against
};

struct Evaluated {
  Candidate candidate;
  db::Outcome outcome;
};

/// The outcome's time, µs, if it has one.
inline std::optional<double> score_of(const db::Outcome& outcome) {
  if (outcome.status != db::Status::ok || !outcome.timing) return std::nullopt;
  const double median_us = outcome.timing->median_us;
  if (!(std::isfinite(median_us) && median_us > 0)) return std::nullopt;
  return median_us;
}

/// Measuring itself failed, in no way that is a candidate's: a compiler or a device that is not usable, no memory on
/// the host, a reference that is not proven. It may be one task's doing: after drop_in_flight() others may be tried.
class EvaluatorError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// submit() queues candidates (compilation of later ones overlaps the timing of earlier ones); next() blocks until one
/// of them has its outcome. Order of outcomes is not the order of submission. These two and final_benchmark() throw
/// EvaluatorError.
///
/// device(), environment(), limits() and knows() may be asked on any number of threads at once, while anything else is;
/// the rest on one.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual const db::DeviceIdentity& device() const = 0;
  virtual db::Environment environment(const std::string& family) const = 0;
  virtual const DeviceLimits& limits() const = 0;

  /// `incumbent`: of this task, if there is one: clearly slower candidates are dropped early, and the times of all
  /// are kept on its scale.
  virtual void submit(const Candidate& candidate, const std::optional<Incumbent>& incumbent) = 0;
  virtual std::size_t in_flight() const = 0;
  /// How many candidates it is worth keeping in flight.
  virtual std::size_t width() const = 0;
  virtual Evaluated next() = 0;
  /// Nothing is in flight then. Returns what had its outcome already.
  virtual std::vector<Evaluated> drop_in_flight() = 0;

  /// Whether outcomes were not measured here and now: the records of a replay must not claim to be this machine's, or
  /// today's.
  virtual bool is_replay() const { return false; }
  /// Of a replay: what the outcome of a candidate rests on, with the provenance that it was recorded with; nullopt: on
  /// nothing.
  virtual std::optional<db::Record> entry(const Task&, const Config&) const { return std::nullopt; }

  /// How many candidates, and how many finalists, it is worth telling announce(); 0: it would ignore them.
  virtual std::size_t most_announced() const { return 0; }
  /// A hint, given one or two time slices before the task's: what will probably be submitted for it, and first of
  /// all if little is known of it, and what a final benchmark there would have, unless faster ones come. It may be
  /// prepared wherever nothing that is in flight waits for that, and is no candidate before it is submitted. A later
  /// call drops what is not begun, but not what the call just before announced, nor the finalists of the one before
  /// that: if the tasks are taken up in turn, the one's slice is next, and the other's is on now.
  virtual void announce(const Task&, std::span<const Config> /*candidates*/, std::span<const Config> /*finalists*/) {}

  /// Times the finalists of one task interleaved; outcomes in the order of the arguments.
  virtual std::vector<db::Outcome> final_benchmark(const Task& task, std::span<const Config> finalists) = 0;
  /// Whether it is worth asking for the vendor's times.
  virtual bool has_vendor() const { return false; }
  struct BesideVendor {
    std::vector<db::Outcome> outcomes;  ///< as of final_benchmark()
    /// Without run and what was beside it; none where the library is not to be had.
    std::optional<db::VendorTimes> vendor;
  };
  /// The same, with the vendor's algorithms among the finalists. What fails of the vendor's is in its message.
  virtual BesideVendor final_benchmark_beside_vendor(
      const Task& task, std::span<const Config> finalists, const VendorAsk&) {
    return {final_benchmark(task, finalists), std::nullopt};
  }
  /// Whether the recording or device can say anything of this config for this task (a replay knows only its own).
  virtual bool knows(const Task&, const Config&) const { return true; }
};

}  // namespace tilesmith::tuner
