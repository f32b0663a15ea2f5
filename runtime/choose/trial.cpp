#include "runtime/choose/trial.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "db/store/logger.hpp"
#include "db/store/trust.hpp"
#include "kernels/problem/group_ends.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/plan/pointer_tables.hpp"

namespace tilesmith::runtime {
namespace {

constexpr std::size_t kColdBytes = std::size_t{192} << 20;  // of all sets of operands: more than twice the largest L2
constexpr std::size_t kMostSets = 16;
constexpr std::size_t kBetweenBytes = std::size_t{1} << 20;
constexpr std::size_t kRandomBytes = std::size_t{4} << 20;  // repeated over the operands
constexpr int kRounds = 7;
constexpr double kGraphUs = 300;  // that a graph's launches take, about
constexpr int kMostLaunches = 40;

std::size_t rounded(std::int64_t bytes) { return (std::size_t(bytes) + 255) / 256 * 256; }

/// Random bits; of numbers with an exponent those of magnitude below 2.
std::vector<std::byte> random_bytes(Scalar type) {
  const std::size_t element = size_bytes(type);
  std::vector<std::byte> bytes(kRandomBytes);
  std::uint64_t state = 0x9E3779B97F4A7C15u;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = std::byte(state >> 56);
    const bool has_exponent = !is_integer(type) && i % element == element - 1;
    if (has_exponent) bytes[i] &= std::byte{0xbf};
  }
  return bytes;
}

/// Sets of operands one behind another, and the largest workspace.
class OperandMemory {
 public:
  explicit OperandMemory(std::span<const Plan* const> plans)
      : problem_(plans.front()->problem()), matrices_(operands(problem_)), between_(kBetweenBytes) {
    for (const OperandMatrix& matrix : matrices_) set_ += rounded(matrix.bytes());
    sets_ = std::clamp<std::size_t>(kColdBytes / set_, 1, kMostSets);
    memory_ = DeviceBuffer(sets_ * set_);
    std::size_t workspace = 0;
    for (const Plan* plan : plans) workspace = std::max(workspace, plan->workspace_bytes());
    if (workspace > 0) workspace_ = DeviceBuffer(workspace);
    std::size_t first = 0;
    for (const OperandMatrix& matrix : matrices_) {
      fill(matrix, first);
      first += rounded(matrix.bytes());
    }
    for (std::size_t set = 0; set < sets_; ++set) matrices_of(set);
  }

  RunArgs args(std::size_t launch, const Stream& stream) const {
    RunArgs args = matrices_of(launch % sets_);
    args.alpha = scale_of(OperandRole::alpha);
    args.beta = scale_of(OperandRole::beta);
    args.workspace = workspace_.data();
    args.stream = stream.get();
    return args;
  }

  /// Arrays of pointers are made by the first call of a set, which is no time to capture.
  RunArgs matrices_of(std::size_t set) const {
    std::byte* at = memory_.data() + set * set_;
    RunArgs args;
    for (const OperandMatrix& matrix : matrices_) {
      args.set(matrix.role, at);
      at += rounded(matrix.bytes());
    }
    pointers_.put(problem_, args);
    return args;
  }

  /// What stands between two launches.
  void pass(const Stream& stream) const {
    check(driver().memset_u8_async(
              CUdeviceptr(reinterpret_cast<std::uintptr_t>(between_.data())), 1, between_.size(), stream.get()),
        "cuMemsetD8Async");
  }

 private:
  /// Of α or β, wherever it lies.
  Scale scale_of(OperandRole role) const {
    return to_scale(problem_.type, role == OperandRole::alpha || problem_.beta == BetaClass::any ? 1 : 0);
  }

  /// What a matrix holds, over and over.
  std::vector<std::byte> content_of(const OperandMatrix& matrix) const {
    const auto bytes_of = [](const auto& values) {
      const auto bytes = std::as_bytes(std::span(values));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    constexpr std::byte kFirstPlaces{0x44};  // of metadata: those that are stored come first
    switch (matrix.role) {
      case OperandRole::offsets: return bytes_of(even_ends(problem_.m, problem_.batch));
      case OperandRole::alpha:
      case OperandRole::beta: return bytes_of(std::array{scale_of(matrix.role)});
      case OperandRole::metadata: return std::vector<std::byte>(kRandomBytes, kFirstPlaces);
      default: return random_bytes(matrix.element);
    }
  }

  /// In every set. `first`: where the matrix lies in a set.
  void fill(const OperandMatrix& matrix, std::size_t first) {
    const std::size_t bytes = std::size_t(matrix.bytes());
    const std::vector<std::byte> content = content_of(matrix);
    for (std::size_t set = 0; set < sets_; ++set) {
      for (std::size_t done = 0; done < bytes; done += content.size()) {
        memory_.upload(std::span(content).first(std::min(content.size(), bytes - done)), set * set_ + first + done);
      }
    }
  }

  const Problem& problem_;
  std::vector<OperandMatrix> matrices_;
  std::size_t set_ = 0, sets_ = 0;
  DeviceBuffer memory_, between_, workspace_;
  mutable PointerTables pointers_;
};

class Timed {
 public:
  Timed(const Plan& plan, const OperandMemory& operands, const Stream& stream) : plan_(plan), operands_(operands) {
    capture(2, stream);
    const double us = once(stream) / 2;  // the first run: what is loaded lazily is
    capture(std::clamp(int(kGraphUs / std::max(us, 1.0)), 2, kMostLaunches), stream);
    once(stream);
  }

  void sample(const Stream& stream) { samples_.push_back(once(stream) / launches_); }
  db::Timing timing() {
    std::sort(samples_.begin(), samples_.end());
    const std::size_t count = samples_.size();
    db::Timing timing;
    timing.median_us = samples_[count / 2];
    timing.spread = (samples_[count - 1 - count / 4] - samples_[count / 4]) / 2 / timing.median_us;
    timing.samples = int(count);
    return timing;
  }

 private:
  void capture(int launches, const Stream& stream) {
    launches_ = launches;
    graph_.emplace(Graph::capture(stream, [&] {
      for (int i = 0; i < launches; ++i) {
        operands_.pass(stream);
        check(CUresult(std::abs(plan_.run(operands_.args(std::size_t(i), stream)))), "a trial's launch");
      }
    }));
  }
  double once(const Stream& stream) {
    start_.record(stream);
    graph_->launch(stream);
    end_.record(stream);
    end_.synchronize();
    return end_.elapsed_us_since(start_);
  }

  const Plan& plan_;
  const OperandMemory& operands_;
  int launches_ = 0;
  std::optional<Graph> graph_;
  Event start_, end_;
  std::vector<double> samples_;
};

}  // namespace

std::vector<std::optional<db::Timing>> time_in_turn(std::span<const Plan* const> plans) {
  std::vector<std::optional<db::Timing>> times(plans.size());
  if (plans.empty()) return times;
  try {
    const OperandMemory operands(plans);
    const Stream stream;
    std::vector<std::optional<Timed>> timed(plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      try {
        timed[i].emplace(*plans[i], operands, stream);
      } catch (const DeviceError& error) {
        if (!is_of_kernel(error.code())) throw;
      }
    }
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < timed.size(); ++i) {
        if (auto& one = timed[(i + std::size_t(round)) % timed.size()]) one->sample(stream);
      }
    }
    for (std::size_t i = 0; i < timed.size(); ++i) {
      if (timed[i]) times[i] = timed[i]->timing();
    }
  } catch (const DeviceError& error) {
    if (error.code() != CUDA_ERROR_OUT_OF_MEMORY) throw;
    times.assign(plans.size(), std::nullopt);
  }
  return times;
}

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
  std::vector<db::Record> records_of_kernel(const std::string& name, int sm) const override {
    return opened_->records_of_kernel(name, sm);
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
    const std::vector<db::Record> known =
        store.records({.task = winner.task, .config = winner.config, .device_exactly = winner.device});
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
