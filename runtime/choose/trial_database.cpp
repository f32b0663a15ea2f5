#include "runtime/choose/trial_database.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "db/store/logger.hpp"
#include "db/store/trust.hpp"

namespace tilesmith::runtime {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr char kNotRead[] = "trials are not read: {}";

class WithTrials final : public Catalogue {
 public:
  WithTrials(std::unique_ptr<Catalogue> opened, std::unique_ptr<Catalogue> trials)
      : opened_(std::move(opened)), trials_(std::move(trials)) {}

  std::vector<db::Record> records(const TypePair& type, int sm) const override {
    std::vector<db::Record> found = opened_->records(type, sm);
    std::vector<db::Record> more = or_nothing([&] { return trials_->records(type, sm); });
    std::copy_if(more.begin(), more.end(), std::back_inserter(found),
        [](const db::Record& entry) { return db::is_trial(entry.environment); });
    return found;
  }
  std::vector<db::VendorTimes> vendor_times(const TypePair& type, const db::DeviceIdentity& device) const override {
    return opened_->vendor_times(type, device);  // a trial is beside no vendor
  }
  std::optional<db::KernelBuild> find_build(const db::KernelKey& key, int driver_version) const override {
    auto build = opened_->find_build(key, driver_version);
    return build ? build : or_nothing([&] { return trials_->find_build(key, driver_version); });
  }
  std::set<std::string> stored_configs(const KernelTarget& target) const override {
    std::set<std::string> found = opened_->stored_configs(target);
    found.merge(or_nothing([&] { return trials_->stored_configs(target); }));
    return found;
  }
  std::optional<db::DeviceIdentity> made_for() const override { return opened_->made_for(); }
  bool is_selection() const override { return opened_->is_selection(); }

 private:
  /// Empty where the file cannot be read any more.
  template <typename Read>
  static auto or_nothing(Read&& read) -> decltype(read()) {
    try {
      return read();
    } catch (const db::StoreError& failure) {
      db::logger()->warn(kNotRead, failure.what());
      return {};
    }
  }

  std::unique_ptr<Catalogue> opened_, trials_;
};

}  // namespace

std::unique_ptr<Catalogue> with_trials(
    std::unique_ptr<Catalogue> catalogue, const std::filesystem::path& opened, const std::filesystem::path& trials) {
  std::error_code error;
  if (trials.empty() || !std::filesystem::exists(trials, error) || std::filesystem::equivalent(trials, opened, error))
    return catalogue;
  try {
    std::unique_ptr<Catalogue> beside = open_catalogue(trials);
    return std::make_unique<WithTrials>(std::move(catalogue), std::move(beside));
  } catch (const db::StoreError& failure) {
    db::logger()->warn(kNotRead, failure.what());
    return catalogue;
  }
}

void keep_trial(
    const std::filesystem::path& database, const db::Record& winner, const db::KernelBuild* build) noexcept {
  try {
    db::Store store = db::Store::open(database);
    store.set_patience(kPatience);
    db::RecordFilter of_candidate;
    of_candidate.problem = winner.problem;
    of_candidate.config = winner.config;
    of_candidate.device_exactly = winner.device;
    const std::vector<db::Record> known = store.records(of_candidate);
    const auto counts = [&](const db::Record& entry) {
      return db::judge(entry, winner.environment) != db::Trust::retired;
    };
    if (std::none_of(known.begin(), known.end(), counts)) store.record(winner);
    if (build != nullptr) store.record_build(*build);
  } catch (const std::exception& failure) {
    db::logger()->warn("a trial's winner is not kept: {}", failure.what());
  }
}

}  // namespace tilesmith::runtime
