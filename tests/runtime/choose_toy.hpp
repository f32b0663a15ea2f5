// A family of tiles, records of it, and the choice among that.
#pragma once

#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/estimate.hpp"
#include "runtime/choose/choose.hpp"

namespace tilesmith::runtime::choosing {

/// Blocks of tile×tile; refuses rows that are not 16-byte aligned when `wide` is 1, and is pointless for aligned ones
/// when it is 2.
class Toy final : public Family {
 public:
  std::string_view name() const override { return "choose_toy"; }
  std::string_view summary() const override { return "for tests of choosing"; }
  bool supports(const KernelTarget&) const override { return true; }
  std::vector<Parameter> parameters(const KernelTarget&) const override {
    return {{"tile", {16, 64, 128, 192}, "block tile"}, {"wide", {0, 1, 2}, "16-byte copies; 2: of packed rows"}};
  }
  std::vector<Rule> rules(const KernelTarget& target) const override {
    const int most = target.limits.smem_per_block_bytes / 1024;
    return {
        {"tile_fits", "the tile must fit the shared memory", [most](const Config& c) { return c.at("tile") <= most; }}};
  }
  std::optional<std::string> refusal(const Config& config, const Problem& p) const override {
    if (config.at("wide") == 1 && !aligned(p)) return "16-byte copies need aligned rows";
    return std::nullopt;
  }
  std::optional<std::string> dominated(const Config& config, const Problem& p) const override {
    if (config.at("wide") == 2 && aligned(p)) return "there is nothing to pack";
    return std::nullopt;
  }
  LaunchSequence launches(const Config& config, const Problem& p) const override {
    const auto blocks = [&](std::int64_t n) { return unsigned((n + config.at("tile") - 1) / config.at("tile")); };
    LaunchSequence sequence;
    Launch launch;
    launch.grid = {blocks(p.n), blocks(p.m), 1};
    sequence.launches.push_back(launch);
    return sequence;
  }
  std::string source(const Config&, const KernelTarget&) const override { return ""; }
  /// Waves of blocks, each of which takes as long as its tile has products, on one of 132 multiprocessors.
  std::optional<Estimate> estimate(const Config& config, const KernelTarget&, const Problem& p) const override {
    const Extent3 grid = launches(config, p).launches[0].grid;  // of one entry
    const double waves = std::ceil(double(grid.x) * grid.y * double(p.entries()) / 132);
    Estimate made;
    made.cycles = 3500 + waves * config.at("tile") * config.at("tile") * double(p.k) / 512;
    return made;
  }

 private:
  static bool aligned(const Problem& p) {
    return row_align_bytes(p, p.type.a, p.lda) == 16 && row_align_bytes(p, p.type.a, p.ldb) == 16;
  }
};

inline Config toy(int tile, int wide = 1) { return Config("choose_toy", {{"tile", tile}, {"wide", wide}}); }

/// One of eight that run everything aligned, another for each of eight numbers in a row.
inline Config nth_toy(int n) {
  constexpr int kTiles[] = {16, 64, 128, 192};
  return toy(kTiles[n % 4], n / 4 % 2);
}

inline Problem problem(const std::string& canonical) {
  std::string error;
  const auto parsed = parse_problem(canonical, error);
  if (!parsed) throw std::runtime_error(error);
  return *parsed;
}

inline db::Environment environment(const std::string&) {
  return {"--gpu-architecture=sm_90a", "13.0", "580.1", "cold-1"};
}

inline db::DeviceIdentity device(const std::string& name = "Test GPU") {
  db::DeviceIdentity identity;
  identity.name = name;
  identity.sm = 90;
  identity.sm_count = 132;
  return identity;
}

inline db::Record entry(const std::string& where, const Config& config, double median_us) {
  db::Record record;
  record.task = problem(where);
  record.config = config;
  record.device = device();
  record.environment = environment(config.family());
  record.outcome.status = db::Status::ok;
  record.outcome.timing = db::Timing{};
  record.outcome.timing->median_us = median_us;
  record.created_at = "2026-01-01T00:00:00.000Z";
  return record;
}

struct Given {
  Given() {
    static std::once_flag once;
    std::call_once(once, [] { register_family(std::make_unique<Toy>()); });
  }
  Choice choose(const std::string& where, const db::DeviceIdentity* here = nullptr) const {
    const Problem wanted = problem(where);
    const KernelTarget target{wanted, *limits_for_arch(arch)};
    Without without;
    without.compiling = true;  // leaves out the initial configs of the families that are in the build
    return Chooser(entries, target, environment, here).choose(wanted, without);
  }
  std::string arch = "sm_90a";
  std::vector<db::Record> entries;
};

}  // namespace tilesmith::runtime::choosing
