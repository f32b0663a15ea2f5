// How long shards of a large workload take to come as far as one tuner, by a recording: nothing is measured, and no second is waited.
//
// The workload: problems made of recorded ones. Each has another N than its recorded one and times that grow by as much. Of each candidate the
// time is also off by up to kApart, so that the best of one problem is not simply that of the next. A tuner: each problem of its shard gets
// its share of the time, by weight × estimated time, and least configs before. First come the bests of the nearest problems that the shard tuned
// before, of the same signature; then candidates at random. That is what a search is at least, and depends on other problems' records at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/landscape.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

class FleetSimulation {
 public:
  static constexpr double kApart = 0.08;
  static constexpr double kCandidateSeconds = 0.15;  ///< loading, battery, verification
  static constexpr double kLaunches = 300;           ///< of one timing
  static constexpr double kCandidates = 20;          ///< a problem, on average, that one tuner has time for

  /// Throws std::invalid_argument if no problem of the recording has enough configs.
  FleetSimulation(const db::Landscape& landscape, std::size_t problems, std::uint64_t seed);

  const Workload& workload() const { return workload_; }
  std::size_t recorded() const { return tables_.size(); }  ///< problems that it is made of
  /// What one tuner is given.
  double seconds() const { return seconds_; }

  /// By problem, its shard: shards_of(), or what is to be compared with it.
  using Split = std::function<std::vector<std::size_t>(const Workload& workload, std::size_t count)>;

  static constexpr std::uint64_t kRepeats = 4;  ///< of every simulation, each with other candidates first; figures are means

  /// What is reached if each shard has this time: the optimum's time over the best's, a mean by weight × estimated time. A problem that was
  /// not reached counts as 0.
  double quality(const std::vector<std::size_t>& shard_of, std::size_t count, double seconds) const;

  struct Scaled {
    std::size_t shards = 1;
    double seconds = 0;  ///< until the quality of one tuner is reached
    double ratio = 0;    ///< of that and seconds() / shards
    double quality = 0;
    std::size_t fewest = 0, most = 0;  ///< problems of a shard
    double fullest = 0;                ///< the largest shard's weight × time over an even share
  };
  /// The least time, to a percent, after which so many shards have the quality that one tuner has after seconds().
  Scaled scaled(std::size_t count, const Split& split) const;

 private:
  struct Table {
    Problem problem;
    std::vector<std::uint32_t> configs;                 // by number, all recorded ones
    std::vector<double> us;                             // 0: failed
    std::unordered_map<std::uint32_t, std::size_t> at;  // a config's place
  };
  struct Made {
    std::size_t table = 0;
    double scale = 1;      // of the table's times
    double load = 0;       // weight × estimated time
    double optimum_us = 0;
    std::string signature;
  };
  double us(std::size_t problem, std::size_t place) const;
  void simulate_shard(const std::vector<std::size_t>& problems, double seconds, std::uint64_t repeat, std::vector<double>& best_us) const;
  double least_seconds(std::size_t problem) const;

  std::uint64_t seed_;
  std::vector<Table> tables_;
  Workload workload_;
  std::vector<Made> made_;
  double seconds_ = 0;
};

}  // namespace tilesmith::tuner
