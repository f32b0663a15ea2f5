// What a Library holds: the device's context, the catalogue, the evidence read so far, the kernels loaded so far.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/choose/catalogue.hpp"
#include "runtime/choose/choose.hpp"
#include "runtime/driver/context_guards.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/interface/helper_kernels.hpp"
#include "runtime/plan/plan.hpp"

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

  const Context& context() const { return *context_; }
  bool can_compile() const;
  HelperKernels& helpers() { return helpers_; }
  const std::string& device_text() const { return device_text_; }
  bool early_in_graphs() const { return options_.early_in_graphs; }
  /// RunArgs::group_fault of all grouped problems, once one was planned.
  int* group_fault() const { return group_fault_ ? group_fault_->data() : nullptr; }

 private:
  struct Kernel {
    std::shared_ptr<const Module> module;
    std::string nvrtc_version;
    std::string source;  ///< as in Explanation::kernel
    bool compiled = false;
    std::shared_ptr<const db::KernelBuild> build = nullptr;  ///< of one that was compiled here, for the trial database
  };

  Planned plan_untried(const Problem& problem, const KernelTarget& target);
  /// Of the model's first few the fastest, in place of `first`; that one stays where nothing can be timed.
  void try_candidates(const Problem& problem, const KernelTarget& target, Planned& first);
  void keep_winner(const Problem& problem, const KernelTarget& target, const Config& config, const db::Timing& timing);
  const Chooser& chooser_for(const KernelTarget& target);
  /// What the vendor took on this device, read once a type pair.
  const db::VendorIndex& vendor_of(const TypePair& type);
  /// As load(); a config that had no kernel before has none now, and costs nothing.
  Kernel load_unless_refused(const Config& config, const KernelTarget& target, const std::string& nvrtc_version, bool may_compile);
  Kernel load(const Config& config, const KernelTarget& target, const std::string& nvrtc_version, bool may_compile);
  Kernel load_afresh(const Config& config, const KernelTarget& target, const std::string& nvrtc_version, bool may_compile) const;
  void log_not_loaded(std::span<const db::Evidence> entries);
  void log_miss(const Problem& problem, const Explanation& why, bool compiled);

  LibraryOptions options_;
  std::unique_ptr<Context> context_;  // declared before the kernels: they are unloaded while it lives
  std::string device_text_;
  HelperKernels helpers_;
  std::unique_ptr<SharedWord> group_fault_;  // made under the lock, by the first plan that wants it
  std::mutex mutex_;  // guards all below
  std::unique_ptr<Catalogue> catalogue_;
  std::map<std::string, std::vector<db::Evidence>> evidence_;  // by type pair
  std::map<std::string, db::VendorIndex> vendor_;              // by type pair
  std::map<std::string, Chooser> choosers_;                    // by type pair and transposes; go by evidence_
  std::map<std::string, Kernel> kernels_;                      // by type pair, transposes and config
  std::map<std::string, std::string> refused_;                 // likewise: why there is no kernel, or none that loads
  struct Winner {
    Config config;
    double us = 0;
    std::string reason;
  };
  std::map<std::string, Winner> tried_;  // problems
  std::set<std::string> logged_;                               // problems, and other lines that are said once
};

}  // namespace tilesmith::runtime
