// Which config runs a problem, and why: exact entry → measured neighbours whose config is legal here → generic kernel.
// Pure: works on evidence already read, so that `explain` and the runtime library give the same answer.
//
// exact      the same problem in every field. Of its configs the fastest whose evidence is valid; only if none is
//            valid, the fastest whose evidence is to be re-verified. Re-verification needs a verifier, which an
//            application does not link: the runtime uses such a config and says so in `trust` and `reason`; the next
//            `tilesmith tune` on the device verifies it again and so makes its evidence valid.
// neighbour  the same type pair and transposes. The five nearest measured problems offer their best config each; the
//            one with the smallest score wins:
//              score = distance + misfit, both in doublings
//              distance: length of (log2 M/M', log2 N/N', log2 K/K'), and half a doubling for each halving by which the
//                        rows of A, B or C are differently aligned; other beta class 0.05; a device alike
//                        (db::are_alike) 0.02, up to 0.04 the more its number of SMs differs; another of the same
//                        compute capability 2
//              misfit:   log2 of how much of the device's use the config loses when its grid is laid over this problem
//                        (a tile that is large for the problem leaves multiprocessors empty or multiplies padding)
//            So first comes what a device alike has for the very problem (docs/notes/guesses.md, "On a second device"), then this
//            device's problem that differs in nothing but its beta class.
// generic    the config that refuses no problem. Also where M, N or K is 0: there is nothing to multiply.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/evidence.hpp"
#include "kernels/family.hpp"

namespace tilesmith::runtime {

enum class Rung { exact, neighbour, generic };
std::string_view name(Rung rung);

struct Choice {
  Config config;
  Rung rung = Rung::generic;
  std::string reason;                    ///< one line: why this rung and this config
  std::optional<db::Evidence> evidence;  ///< what it rests on; none on the generic rung
  db::Trust trust = db::Trust::valid;
  struct RunnerUp {
    Config config;
    Rung rung;
    double median_us = 0;  ///< as measured, on its own problem
    std::string note;
  };
  std::vector<RunnerUp> runners_up;  ///< next best first, each config once, at most 5
};

/// One line: the choice's reason, and what its trust, which a caller may know better, asks of the tuner.
std::string reason_of(const Choice& choice);

/// The producer that this runtime would be, for a family.
using ProducerNow = std::function<db::Producer(const std::string& family)>;

/// `entries`: evidence of this device, any problem, in any order. Retired entries are passed over, and those of former measuring
/// policies where any of today's is known of their problem. Of several entries
/// of one candidate the latest counts, so that a config that was right once and failed later is not chosen; where only
/// those with status ok are given, nothing is known of later failures. `device`: if given, entries of other devices may be
/// among them; those count as neighbours at most.
/// Never fails: the generic rung takes whatever is left.
Choice choose(std::span<const db::Evidence> entries, const Problem& problem, const KernelTarget& target, const ProducerNow& now,
              const db::DeviceIdentity* device = nullptr);

/// The same, for a caller that finds out whether a config's kernel can be had: the entries are looked through once. What it is given
/// must outlive it.
class Choices {
 public:
  Choices(std::span<const db::Evidence> entries, const Problem& problem, const KernelTarget& target, const ProducerNow& now,
          const db::DeviceIdentity* device = nullptr);
  ~Choices();
  Choices(const Choices&) = delete;
  Choices& operator=(const Choices&) = delete;

  Choice best();
  /// From now on best() is as if there were no evidence of this config.
  void pass_over(const Config& config);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilesmith::runtime
