#include "tuner/warm_start/untuned_choices.hpp"

#include <set>
#include <string>

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kMost = 8;  // of a list: the library passes over no more before it takes the generic config

/// All but the records of one problem.
class WithoutProblem final : public runtime::Catalogue {
 public:
  WithoutProblem(const runtime::Catalogue& all, const Problem& problem) : all_(all), problem_(problem) {}
  std::vector<db::Record> records(const TypePair& type, int sm) const override {
    std::vector<db::Record> found = all_.records(type, sm);
    std::erase_if(found, [&](const db::Record& entry) { return entry.task.problem() == problem_; });
    return found;
  }
  std::optional<db::KernelBuild> find_build(const db::KernelKey& key, int driver_version) const override {
    return all_.find_build(key, driver_version);
  }
  std::vector<db::VendorTimes> vendor_times(const TypePair&, const db::DeviceIdentity&) const override { return {}; }
  std::set<std::string> stored_configs(const KernelTarget& target) const override {
    return all_.stored_configs(target);
  }

 private:
  const runtime::Catalogue& all_;
  const Problem& problem_;
};

/// The choice and its runners-up, as far as they are of this level, in their order.
std::vector<Config> configs_of(const runtime::Choice& choice, runtime::Level level) {
  std::vector<Config> found;
  if (choice.level == level) found.push_back(choice.config);
  for (const runtime::Choice::RunnerUp& next : choice.runners_up) {
    if (next.level == level) found.push_back(next.config);
  }
  return found;
}

UntunedChoices::Ranked ranked_by(const runtime::Chooser& chooser, const Problem& problem, const KernelTarget& target) {
  const runtime::Choice choice = chooser.choose(problem, {}, kMost - 1);
  UntunedChoices::Ranked ranked{configs_of(choice, runtime::Level::exact), {}};
  if (!ranked.exact.empty()) return ranked;
  ranked.model = configs_of(choice, runtime::Level::model);
  ranked.model.push_back(generic_config(target));
  return ranked;
}

}  // namespace

const UntunedChoices::Ranked& UntunedChoices::of(const Problem& problem, bool was_cut_short) {
  if (last_ && last_->problem == problem && last_->was_cut_short == was_cut_short) return last_->ranked;
  const KernelTarget target{problem, device_.limits};
  Ranked ranked = ranked_by(choosers_.of(target), problem, target);
  if (was_cut_short && !ranked.exact.empty()) {
    const WithoutProblem others(*catalogue_, problem);
    runtime::Choosers without_own(others, device_, /*logs=*/false);
    ranked.model = ranked_by(without_own.of(target), problem, target).model;
  }
  return last_.emplace(Asked{problem, was_cut_short, std::move(ranked)}).ranked;
}

}  // namespace tilesmith::tuner
