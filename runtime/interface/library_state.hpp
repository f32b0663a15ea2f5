// What a Library holds: the device's context, what is known of kernels and times, and the kernels loaded so far.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/choose/choosers.hpp"
#include "runtime/choose/own_chooser.hpp"
#include "runtime/compile/kernel_cache.hpp"
#include "runtime/driver/context_guards.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/interface/helper_kernels.hpp"
#include "runtime/interface/kernel_loader.hpp"
#include "runtime/plan/own_plan.hpp"

namespace tilesmith::runtime {

class LibraryState {
 public:
  /// Throws tilesmith::Error (no_device) or DeviceError.
  LibraryState(std::unique_ptr<Catalogue> catalogue, const LibraryOptions& options);
  ~LibraryState();
  LibraryState(const LibraryState&) = delete;
  LibraryState& operator=(const LibraryState&) = delete;

  struct Planned {
    Plan plan;
    Explanation why;
  };
  /// Throws tilesmith::Error, DeviceError, db::StoreError. Takes the lock. The context must be current.
  Planned plan(const Problem& problem);

  struct Compilation {
    KernelLoader::CompileTask task;
    std::size_t problem;  ///< the index of the first that needs it
  };
  /// What plans of these problems would begin with compiling, each kernel once. Takes the lock, once: the caller has to
  /// run the tasks, on any threads, before it calls this library again, because others may wait for them under the lock.
  std::vector<Compilation> compile_later(std::span<const Problem> problems);

  struct PlannedOwn {
    OwnPlan plan;
    Explanation why;
  };
  /// By the records of a user's own kernel. Takes the lock, as the next one.
  OwnChooser chooser_of(const own::Kernel& kernel);
  /// Throws as plan(). Precondition: sizes_error() is empty.
  PlannedOwn plan_own(const own::Kernel& kernel, const OwnChooser& chooser, const SizedKernel& sized);

  const Context& context() const { return *context_; }
  bool can_compile() const { return kernels_.can_compile(); }
  HelperKernels& helpers() { return helpers_; }
  const std::string& device_text() const { return device_text_; }
  bool early_in_graphs() const { return options_.early_in_graphs; }
  /// RunArgs::group_fault of all grouped problems, once one was planned.
  int* group_fault() const { return group_fault_ ? group_fault_->data() : nullptr; }

 private:
  struct Winner {
    Config config;
    double us = 0;
    std::string reason;
  };

  /// By what is known of kernels before any of the problem's was asked for; kept, because a choice takes 0.5 to 30 ms.
  const Choice& first_choice(const Problem& problem, const KernelTarget& target);
  /// By the best config whose kernel can be had.
  Planned plan_by_choice(const Problem& problem, const KernelTarget& target);
  /// By the fastest of the model's first few; `first` if nothing can be timed.
  Planned plan_by_trial(const Problem& problem, const KernelTarget& target, Planned first);
  /// Null if nothing can be timed.
  const Winner* find_or_time_winner(const Problem& problem, const KernelTarget& target, const Plan& first);
  void keep_winner(
      const Problem& problem, const KernelTarget& target, const PlanByConfig& best, const db::Timing& timing);
  void log_miss(const std::string& task, const Explanation& why, bool compiled);

  LibraryOptions options_;
  std::unique_ptr<Context> context_;  // declared before the kernels: they are unloaded while it lives
  std::string device_text_;
  KernelCache cache_;
  HelperKernels helpers_;
  std::unique_ptr<SharedWord> group_fault_;  // made under the lock, by the first plan that wants it
  std::mutex mutex_;                         // guards all below
  std::unique_ptr<Catalogue> catalogue_;
  Choosers choosers_;
  KernelLoader kernels_;
  std::map<std::string, Choice> first_choices_;  // by problem
  std::map<std::string, Winner> winners_;        // of trials, by problem
  std::set<std::string> logged_;                 // problems, and kernels with their sizes
};

}  // namespace tilesmith::runtime
