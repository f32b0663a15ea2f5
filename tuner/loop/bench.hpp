// Times chosen configs of a problem, and a peer's algorithms, interleaved in one run by the tuner's rules. Nothing is
// timed before it is verified.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/store/store.hpp"
#include "runtime/choose/choose.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::tuner {

struct BenchCompetitor {
  std::string label;  ///< "tuned (exact)", a step of the ladder, "config"
  Config config;
};

struct BenchResult {
  BenchCompetitor competitor;
  db::Outcome outcome;           ///< timing of the interleaved run, present when ok
  std::optional<double> row_us;  ///< of a launch in a row of its like; only if it was asked for, and launches are short
};

struct BenchReport {
  Problem problem;
  std::vector<BenchResult> ours;  ///< in the order given
  int peer_algorithms = 0;  ///< how many the peer offered, or ways to read; 0: it refuses the problem, or was not asked
  std::optional<db::Timing> peer_first;  ///< the peer's own first choice
  std::optional<db::Timing> peer_best;   ///< the fastest of all that it offered
  std::optional<double> peer_row_us;     ///< the fastest in rows, as BenchResult::row_us
};

class BenchSession {
 public:
  /// `as`: the architecture whose code the device runs; empty: its own. `store`: stored cubins are used, others are
  /// compiled; may be null. `peer`: "", "cublaslt", which always runs its own code, or "read", a read of the operands
  /// (read_peer.hpp). `rows`: short launches are timed in rows of their like too. Throws runtime::DeviceError without a
  /// device, std::runtime_error if the peer is not there.
  BenchSession(int device, std::string_view as, const db::Store* store, const std::string& peer, bool rows = false);
  ~BenchSession();

  const runtime::DeviceInfo& device() const;
  std::string peer_name() const;     ///< "cuBLASLt", "read"; empty without a peer
  std::string peer_version() const;  ///< empty without a peer that has one

  /// What the runtime library would run for this problem.
  runtime::Choice choice(const Problem& problem) const;

  /// Begins to compile what run() will need, a thread a kernel, while other problems are timed.
  void compile_ahead(const Problem& problem, const std::vector<BenchCompetitor>& ours);
  int compiling() const;  ///< kernels that are being compiled

  BenchReport run(const Problem& problem, const std::vector<BenchCompetitor>& ours);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The steps of the known ladder of every family that has one for this target, slowest first.
std::vector<BenchCompetitor> ladder_competitors(const KernelTarget& target);

}  // namespace tilesmith::tuner
