// Answers candidates on a device: compile workers ahead of one measuring process, all watched by the tuner. A crash, a
// hang or a device fault costs the candidate it happened on and one process; the run goes on. What the machine failed
// on (a kill from outside twice over, no memory left) is kept neither as a build nor as a proof, and its outcome says
// so.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/store/store.hpp"
#include "runtime/driver/device.hpp"
#include "tuner/evaluator.hpp"
#include "tuner/workers/compile_pool.hpp"
#include "tuner/workers/measure_process.hpp"

namespace tilesmith::tuner {

struct DeviceEvaluatorOptions {
  int device = 0;
  std::string as;                                   ///< the architecture whose code it runs; empty: its own
  int compile_processes = 0;                        ///< 0: as default_compile_process_count() finds
  std::chrono::duration<double> time_limit{20};     ///< of one phase (suite, verification, timing) of a candidate
  std::chrono::duration<double> compile_limit{60};  ///< of one compilation
  std::chrono::duration<double> postpone_for{5};    ///< how long a candidate whose timing was disturbed waits
  bool vendor = false;                              ///< times cuBLASLt beside finalists, where it can be opened
  std::string worker_executable;                    ///< its main calls worker_main(); empty: this very program
};

/// make_device_evaluator() makes one. Its files: the path of a candidate, compilations, the final benchmark.
/// One step at a time in one thread: candidate → compiling → ready → measuring → done.
class DeviceEvaluator final : public Evaluator {
 public:
  DeviceEvaluator(db::Store& store, const DeviceEvaluatorOptions& options, const runtime::DeviceInfo& device);

  const db::DeviceIdentity& device() const override { return device_.identity; }
  const DeviceLimits& limits() const override { return device_.limits; }
  db::Environment environment(const std::string& family) const override;
  void submit(const Candidate& candidate, const std::optional<Incumbent>& incumbent) override;
  std::size_t in_flight() const override {
    return compiling_count_ + ready_.size() + (measuring_ ? 1 : 0) + done_.size();
  }
  // Twice the compile workers keeps them busy; the rest is a stock for the device.
  std::size_t width() const override { return std::size_t(2 * compile_processes_ + 4); }
  Evaluated next() override;
  std::vector<Evaluated> drop_in_flight() override;
  std::size_t most_announced() const override;
  void announce(const Task& task, std::span<const Config> candidates, std::span<const Config> finalists) override;
  std::vector<db::Outcome> final_benchmark(const Task& task, std::span<const Config> finalists) override;
  bool has_vendor() const override { return vendor_; }
  BesideVendor final_benchmark_beside_vendor(
      const Task& task, std::span<const Config> finalists, const VendorAsk& ask) override;

 private:
  /// A candidate on its way, with its kernel once that is there.
  struct Item {
    Candidate candidate;
    db::KernelKey key;
    std::vector<std::byte> cubin;
    bool suite_passed = false;
    std::vector<std::byte> delayed_cubin = {};  // db::KernelBuild
    std::string control;                        // config that it is timed beside now; empty: none
    std::string failed_beside;                  // config that it was timed beside before; it is then timed alone
    int attempts = 0;
    int postponed = 0;                                   // times that its timing was disturbed
    std::chrono::steady_clock::time_point not_before{};  // is it timed again
  };

  void step(bool wait);
  bool can_dispatch() const;
  void dispatch();
  std::size_t ticket_for(const db::KernelKey& key);
  void compile(Item item);
  std::optional<std::size_t> compile_spare(const Task& task, const Config& config);
  void on_built(const CompilePool::Done& done);
  void take_build(Item item, const CompilePool::Done& done);
  void on_answer(const MeasureProcess::Answer& answer);
  bool postpone(Item& item, const db::Outcome& outcome);
  void finish(const Item& item, db::Outcome outcome);
  void note_time(const Task& task, const Config& config, double us);
  std::optional<MeasureSession::ControlKernel> control_of(const Task& task) const;
  std::optional<db::Outcome> refused(const Candidate& candidate, db::KernelKey& key) const;
  std::optional<db::Outcome> known_proof(Item& item);
  db::Outcome conclude(const Item& item, const MeasureProcess::Answer& answer);
  void record_proof(const Item& item, const db::Outcome& outcome);

  // Of a final benchmark, in device_final_benchmark.cpp.
  struct Finalist;
  std::vector<Finalist> prepare(const Task& task, std::span<const Config> configs, std::vector<db::Outcome>& outcomes);
  db::Outcome evaluate_alone(const Item& item);
  std::vector<CompilePool::Done> builds_now(std::span<const Finalist> finalists);
  bool play_together(const Task& task, const std::vector<Finalist>& finalists, const std::optional<VendorAsk>& ask,
      BesideVendor& result, db::Outcome& ended_by);
  BesideVendor play(const Task& task, std::span<const Config> finalists, std::optional<VendorAsk> ask);
  void take_vendor(const Task& task, const VendorAnswer& answer, BesideVendor& result);
  void vendor_failed(const Task& task, const std::string& why, BesideVendor& result);
  MeasureProcess::Answer exchange(const Message& request);

  db::Store& store_;
  runtime::DeviceInfo device_;
  int compile_processes_;
  std::chrono::steady_clock::duration postpone_for_;
  CompilePool pool_;
  MeasureProcess measuring_process_;

  std::size_t next_ticket_ = 1;
  std::map<std::size_t, std::vector<Item>> compiling_;  // by ticket: all that wait for one kernel, none if announced
  std::unordered_map<std::string, std::size_t> ticket_of_kernel_;
  std::set<std::size_t> announced_, announced_finalists_;  // tickets, of the last call
  std::set<std::size_t> finalists_before_;                 // of the one before
  // By ticket: kernels that a final benchmark waits for.
  std::map<std::size_t, std::optional<CompilePool::Done>> wanted_;
  std::size_t compiling_count_ = 0;
  std::deque<Item> ready_;
  std::optional<Item> measuring_;
  std::deque<Evaluated> done_;
  bool vendor_;                                      // whether it is still worth asking for
  int vendor_failures_ = 0;                          // tasks on which it cost a measuring process
  bool held_ = false;                                // a final benchmark has the device for itself
  std::unordered_map<std::string, double> best_us_;  // by task
  struct ControlOf {
    Task task;
    MeasureSession::ControlKernel kernel;
  };
  std::optional<ControlOf> control_;      // of the task last timed
  std::set<std::string> never_controls_;  // configs beside which failed what is right alone
  std::chrono::steady_clock::time_point
      none_postponed_until_{};  // disturbed times count until then: waiting did not help
};

/// Builds and suite verdicts are read from and kept in the store. Throws runtime::DeviceError if there is no such
/// device, std::runtime_error if NVRTC is not usable. The tuner itself never opens a device context.
///
/// next() and final_benchmark() throw EvaluatorError when the environment is broken: the measuring process fails to
/// start three times in a row, or a worker says that it cannot work at all.
std::unique_ptr<Evaluator> make_device_evaluator(db::Store& store, const DeviceEvaluatorOptions& options);
/// The same for a device that is already known, as what it is to run as; does not ask the driver. Tests bring their own
/// device and workers.
std::unique_ptr<Evaluator> make_device_evaluator(
    db::Store& store, const DeviceEvaluatorOptions& options, const runtime::DeviceInfo& device);

}  // namespace tilesmith::tuner
