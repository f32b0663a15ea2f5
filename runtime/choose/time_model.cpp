#include "runtime/choose/time_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/families/estimate.hpp"
#include "runtime/choose/neighbour.hpp"

namespace tilesmith::runtime {
namespace {

// docs/notes/model.md says how these were chosen.

/// h, in doublings.
constexpr double kReach = 1.5;
/// The weight of "the estimate is right" beside a family's measurements.
constexpr double kFamilyPrior = 0.01;
/// The weight of the family's mean beside a block tile's measurements.
constexpr double kTilePrior = 0.1;
/// The weight of the block tile's mean beside a config's measurements.
constexpr double kConfigPrior = 0.3;
/// The doubt of ln(time) of a config that was measured nowhere near.
constexpr double kDoubt = 0.1;

constexpr double kOtherTypeDoublings = 1;
constexpr double kOtherTransposeDoublings = 1;  // for each operand
// If operands are stored in another way, other code reads them: measurements then tell less.
constexpr double kWeightsOrNoneDoublings = 3;
constexpr double kOtherWeightsDoublings = 0.5;
constexpr double kOtherSparsityDoublings = 2;
constexpr double kLeastWeight = 1e-12;  // so that what is far away still counts where nothing else does

/// For families that make no estimates: the launch, and products or bytes, whichever take longer.
double plain_estimate_cycles(const KernelTarget& target, const Problem& problem) {
  constexpr double kLaunch = 3500, kProducts = 512, kBytes = 10;  // cycles; of an SM and cycle
  const double sms = std::max(1, target.limits.sm_count);
  const double products = double(problem.m) * double(problem.n) * double(problem.k) * double(problem.entries());
  const double bytes = double(problem.a_bytes()) + double(problem.b_bytes()) + double(problem.c_bytes());
  return kLaunch + std::max(products / (kProducts * sms), bytes / (kBytes * sms));
}

struct Estimated {
  double us;
  bool by_family;
};

Estimated estimated(const Config& config, const KernelTarget& target, const Problem& problem) {
  const auto made = estimate(config, target, problem);
  return {(made ? made->cycles : plain_estimate_cycles(target, problem)) / target.limits.rates.mhz, made.has_value()};
}

/// What configs share that estimates are wrong by alike: tile, how operands come in, whether K is split.
std::string tile_text(const Config& config) {
  std::string text = config.family();
  for (const char* name :
      {"block_m", "block_n", "swap", "pack", "tma", "cluster_m", "cluster_n", "threads", "lanes", "tile"}) {
    text += config.has(name) ? fmt::format(" {}", config.at(name)) : " -";
  }
  return text + (config.has("split_k") && config.at("split_k") > 1 ? " split" : "");
}

/// What keeps apart measurements that an estimate was made for and others.
std::string how_text(bool by_family) { return by_family ? "" : " counted"; }

double storage_doublings(const Problem& a, const Problem& b) {
  const bool both_weighted = a.weights.type != WeightType::none && b.weights.type != WeightType::none;
  const double weights = a.weights == b.weights ? 0 : both_weighted ? kOtherWeightsDoublings : kWeightsOrNoneDoublings;
  return weights + (a.sparsity == b.sparsity ? 0 : kOtherSparsityDoublings);
}

double doublings_between(const Problem& measured, const Problem& problem) {
  const double transposes = double(measured.trans.a != problem.trans.a) + double(measured.trans.b != problem.trans.b);
  const double type = measured.type == problem.type ? 0 : kOtherTypeDoublings;
  const double far = std::hypot(distance(measured, problem), storage_doublings(measured, problem), type);
  return std::hypot(far, std::sqrt(transposes) * kOtherTransposeDoublings);
}

}  // namespace

double Prediction::rank_us() const { return us * std::exp(doubt); }

TimeModel::TimeModel(const KernelTarget& target, const db::DeviceIdentity* device) : target_(target) {
  if (device == nullptr) return;
  device_ = *device;
  if (device->sm_count > 0) target_.limits.sm_count = device->sm_count;
}

const Legality& TimeModel::legality(const Family& family, const KernelSignature& signature) {
  const std::string key = fmt::format("{} {}", family.name(), text(signature));
  const auto known = legalities_.find(key);
  if (known != legalities_.end()) return known->second;
  return legalities_.emplace(key, Legality(family, {signature, target_.limits})).first->second;
}

bool TimeModel::add(const db::Record& entry) {
  const Family* family = find_family(entry.config.family());
  const Problem& problem = entry.task.problem();
  if (family == nullptr || !entry.outcome.timing || problem.m < 1 || problem.n < 1 || problem.k < 1 ||
      problem.batch < 1)
    return false;
  if (legality(*family, problem).illegal_because(entry.config) || refused_because(*family, entry.config, problem))
    return false;
  KernelTarget there{problem, target_.limits};
  if (entry.device.sm_count > 0) there.limits.sm_count = entry.device.sm_count;
  const Estimated made = estimated(entry.config, there, problem);
  const double ratio = entry.outcome.timing->median_us / made.us;
  if (!(ratio > 0) || !std::isfinite(ratio)) return false;

  const std::string place = fmt::format("{}\n{}", text(problem), db::text(entry.device));
  const auto [at, new_place] = place_index_.try_emplace(place, std::uint32_t(places_.size()));
  if (new_place) places_.push_back({problem, device_ ? device_doublings(entry.device, *device_) : 0});
  const auto index_in = [](auto& index, const std::string& text) {
    return index.try_emplace(text, std::uint32_t(index.size())).first->second;
  };
  const std::string how = how_text(made.by_family);
  const auto [config, new_config] = config_index_.try_emplace(entry.config.text() + how, std::uint32_t(known_.size()));
  if (new_config)
    known_.push_back(
        {index_in(tile_index_, tile_text(entry.config) + how), index_in(family_index_, entry.config.family() + how)});
  points_.push_back({config->second, at->second, std::log(ratio), &entry});
  return true;
}

TimeModel::Handle TimeModel::handle(const Config& config) const {
  const auto in = [](const auto& index, const std::string& text) -> std::optional<std::uint32_t> {
    const auto found = index.find(text);
    return found == index.end() ? std::nullopt : std::optional(found->second);
  };
  const auto measured = [&](bool by_family) -> Handle::Measured {
    const std::string how = how_text(by_family);
    return {in(config_index_, config.text() + how), in(tile_index_, tile_text(config) + how),
        in(family_index_, config.family() + how)};
  };
  return {&config, measured(true), measured(false)};
}

TimeModel::At::At(const TimeModel& model, const Problem& problem)
    : model_(model), problem_(problem), nearest_(std::numeric_limits<double>::infinity()) {
  std::vector<double> doublings;
  for (const Place& place : model.places_) {
    doublings.push_back(doublings_between(place.problem, problem) + place.doublings);
    nearest_ = std::min(nearest_, doublings.back());
  }
  by_config_.resize(model.known_.size());
  by_tile_.resize(model.tile_index_.size());
  by_family_.resize(model.family_index_.size());
  const auto add = [](Mean& mean, double weight, double value) {
    mean.nearest = std::max(mean.nearest, weight);
    mean.weight += weight;
    mean.sum += weight * value;
  };
  for (const Point& point : model.points_) {
    const double far = doublings[point.place];
    const double weight = std::max(kLeastWeight, std::exp(-far * far / (2 * kReach * kReach)));
    OfConfig& config = by_config_[point.config];
    add(config.mean, weight, point.log_ratio);
    if (config.nearest == nullptr || far < config.doublings) {
      config.nearest = point.entry;
      config.doublings = far;
    }
    const Known& known = model.known_[point.config];
    add(by_tile_[known.tile], weight, point.log_ratio);
    add(by_family_[known.family], weight, point.log_ratio);
  }
}

std::optional<Prediction> TimeModel::At::predict(const Handle& config) const {
  const Estimated made = estimated(*config.config, model_.target_, problem_);
  const Handle::Measured& measured = made.by_family ? config.by_estimate : config.by_count;
  if (!made.by_family && !measured.family) return std::nullopt;
  double correction =
      measured.family ? by_family_[*measured.family].with_prior(0, made.by_family ? kFamilyPrior : 0) : 0;
  if (measured.tile) correction = by_tile_[*measured.tile].with_prior(correction, kTilePrior);
  const OfConfig* own = measured.known ? &by_config_[*measured.known] : nullptr;
  if (own != nullptr) correction = own->mean.with_prior(correction, kConfigPrior);

  Prediction prediction;
  prediction.estimated_us = made.us;
  prediction.us = made.us * std::exp(correction);
  prediction.doubt = kDoubt * std::sqrt(kConfigPrior / (kConfigPrior + (own == nullptr ? 0 : own->mean.weight)));
  prediction.by_family_estimate = made.by_family;
  if (own != nullptr) {
    prediction.nearest = own->nearest;
    prediction.nearest_doublings = own->doublings;
  }
  return prediction;
}

double RankedConfig::rank_us() const {
  constexpr double kCompiledFirst = 1.1;
  return prediction.rank_us() * (stored ? 1 : kCompiledFirst);
}

bool comes_first(const RankedConfig& a, const RankedConfig& b) {
  if ((a.sister == nullptr) != (b.sister == nullptr)) return a.sister != nullptr;
  if (a.prediction.by_family_estimate != b.prediction.by_family_estimate) return a.prediction.by_family_estimate;
  const double of_a = a.rank_us(), of_b = b.rank_us();
  return of_a != of_b ? of_a < of_b : a.config->text() < b.config->text();
}

std::string why(const RankedConfig& one) {
  const Prediction& p = one.prediction;
  std::string text =
      fmt::format("not measured itself; predicted {:.2f} us: estimated {:.2f} us, times {:.2f} by what was measured",
          p.us, p.estimated_us, p.us / p.estimated_us);
  if (one.sister != nullptr) text += fmt::format("; the fastest for its sister {}", tilesmith::text(*one.sister));
  if (p.nearest == nullptr) return text + "; the config itself was measured nowhere";
  return text + fmt::format("; the config's nearest measurement is {:.2f} us for {} on {}, {:.2f} doublings away",
                    p.nearest->outcome.timing->median_us, tilesmith::text(p.nearest->task), p.nearest->device.name,
                    p.nearest_doublings);
}

}  // namespace tilesmith::runtime
