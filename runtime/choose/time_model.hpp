// Predicts what a config takes on a problem that was not measured: its family's analytic estimate, corrected by what
// was measured.
//
//   ln time = ln estimate + correction
//
// A measurement says by how much its estimate was wrong: ln(measured / estimated). The correction of a config is the
// mean over that config; as far as little was measured, or nothing near, over configs with its block tile, then over its
// family (a back-off, or empirical Bayes, estimator). Each measurement counts exp(−distance² / 2h²), by how far its
// problem is from the one asked for (neighbour.hpp), and the nearest one's weight is how far a mean is trusted: what
// suits few rows says little of many.
//
// Deterministic. Threads: at() may be called by several at a time, add() by one alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/store/record.hpp"
#include "kernels/families/family.hpp"

namespace tilesmith::runtime {

struct Prediction {
  double us = 0;
  double estimated_us = 0;              ///< by the analytic estimate alone
  double doubt = 0;                     ///< of ln(us): 0 where the very config was measured on the very problem
  const db::Record* nearest = nullptr;  ///< the nearest measurement of the config, if there is any
  double nearest_doublings = 0;         ///< how far its problem is
  bool by_family_estimate = false;      ///< its family makes estimates; if not, bytes and products alone were counted

  /// What configs are ranked by: a doubtful prediction has to be the better for it.
  double rank_us() const;
};

class TimeModel {
 public:
  /// Predicts for this target. `device`: whose multiprocessors count; null: those of the target's limits.
  TimeModel(const KernelTarget& target, const db::DeviceIdentity* device);

  /// Learns from an entry that has a time; it must outlive the model. False: its config is illegal today where it was
  /// measured, or of a family that this build lacks, and was passed over.
  bool add(const db::Record& entry);

  /// What of a config is the same for every problem: look it up once. It holds until the next add().
  struct Handle {
    struct Measured {
      std::optional<std::uint32_t> known, tile, family;
    };
    const Config* config;
    Measured by_estimate,
        by_count;  ///< where the family makes an estimate, and where bytes and products alone are counted
  };
  Handle handle(const Config& config) const;

  /// The measurements as they weigh for one problem, with M, N, K ≥ 1. The model must outlive it.
  class At {
   public:
    At(const TimeModel& model, const Problem& problem);
    /// Empty if nothing is known: the family makes no estimate, and nothing of it was measured. Precondition: the
    /// config is legal for the target and does not refuse the problem.
    std::optional<Prediction> predict(const Handle& config) const;
    /// How far the nearest measured problem is, in doublings; infinite if there is none.
    double nearest_doublings() const { return nearest_; }

   private:
    struct Mean {
      double weight = 0, sum = 0, nearest = 0;  ///< nearest: the largest single weight
      /// As far as the nearest measurement is like the problem; many that are far do not make up for it. Without a
      /// prior the mean.
      double with_prior(double prior, double prior_weight) const {
        if (prior_weight == 0) return sum / weight;
        return prior + nearest * (sum - weight * prior) / (weight + prior_weight);
      }
    };
    struct OfConfig {
      Mean mean;
      const db::Record* nearest = nullptr;
      double doublings = 0;
    };

    const TimeModel& model_;
    const Problem& problem_;
    double nearest_;
    std::vector<OfConfig> by_config_;
    std::vector<Mean> by_tile_, by_family_;
  };

 private:
  struct Point {
    std::uint32_t config, place;
    double log_ratio;  // ln(measured / estimated)
    const db::Record* entry;
  };
  struct Place {  // a problem on a device
    Problem problem;
    double doublings;  // for the device alone
  };
  struct Known {
    std::uint32_t tile, family;
  };

  const Legality& legality(const Family& family, const KernelSignature& signature);

  KernelTarget target_;
  std::optional<db::DeviceIdentity> device_;
  std::vector<Point> points_;
  std::vector<Place> places_;
  std::vector<Known> known_;  // configs
  // By text. A family that estimates batches alone is two: what its estimates are wrong by says nothing of what is
  // counted without one.
  std::unordered_map<std::string, std::uint32_t> config_index_, place_index_, tile_index_, family_index_;
  std::unordered_map<std::string, Legality> legalities_;
};

/// A config of the model level, and its place among others.
struct RankedConfig {
  const Config* config;
  Prediction prediction;
  bool stored;                      ///< nothing has to be compiled for it
  const Problem* sister = nullptr;  ///< of whose configs it was the fastest (neighbour.hpp)

  /// What configs are ranked by: as if it took longer where its kernel has to be compiled first.
  double rank_us() const;
};

/// Of a sister first; then by what families estimate, shortest first; then what none estimates.
bool comes_first(const RankedConfig& a, const RankedConfig& b);

/// One line: from what its time was predicted.
std::string why(const RankedConfig& one);

}  // namespace tilesmith::runtime
