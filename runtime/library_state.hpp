// What a Library holds: the device's context, the catalogue, the evidence read so far, the kernels loaded so far.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/catalogue.hpp"
#include "runtime/choose.hpp"
#include "runtime/gemm.hpp"
#include "runtime/plan.hpp"

namespace tilesmith::runtime {

/// Puts the calling thread's current context back when it ends. Where there was none, the library's stays, for the calls that
/// follow; but not behind what releases it, nor where it was current before and ended with that.
class [[nodiscard]] KeepCurrentContext {
 public:
  enum class IfNone { keep_ours, leave_none };
  explicit KeepCurrentContext(IfNone if_none = IfNone::keep_ours) noexcept;
  ~KeepCurrentContext();
  KeepCurrentContext(const KeepCurrentContext&) = delete;
  KeepCurrentContext& operator=(const KeepCurrentContext&) = delete;
  /// Releases a context, which is not put back if nobody else holds it.
  void release(std::unique_ptr<Context> context) noexcept;

 private:
  CUctx_st* former_ = nullptr;
  bool put_back_ = false;
};

/// While it lives, what the calling thread allocates, loads and frees ends no capture of another thread: the usual one
/// (CU_STREAM_CAPTURE_MODE_GLOBAL) forbids such calls to every thread, fails them and is invalid from then on. In a capture of the
/// calling thread's own they fail as ever, unless the application has allowed them (CU_STREAM_CAPTURE_MODE_RELAXED).
class [[nodiscard]] LetOthersCapture {
 public:
  LetOthersCapture() noexcept;
  ~LetOthersCapture();
  LetOthersCapture(const LetOthersCapture&) = delete;
  LetOthersCapture& operator=(const LetOthersCapture&) = delete;

 private:
  int former_ = 0;  // CUstreamCaptureMode
  bool put_back_ = false;
};

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
  const std::string& device_text() const { return device_text_; }

 private:
  struct Kernel {
    std::shared_ptr<const Module> module;
    std::string nvrtc_version;
    std::string source;  ///< as in Explanation::kernel
    bool compiled = false;
  };

  Planned plan_untried(const Problem& problem, const KernelTarget& target);
  /// Of the model's first few the fastest, in place of `first`; that one stays where nothing can be timed.
  void try_candidates(const Problem& problem, const KernelTarget& target, Planned& first);
  const Chooser& chooser_for(const KernelTarget& target);
  bool can_compile() const;
  /// As load(); a config that had no kernel before has none now, and costs nothing.
  Kernel load_unless_refused(const Config& config, const KernelTarget& target, const std::string& nvrtc_version, bool may_compile);
  Kernel load(const Config& config, const KernelTarget& target, const std::string& nvrtc_version, bool may_compile);
  Kernel load_afresh(const Config& config, const KernelTarget& target, const std::string& nvrtc_version, bool may_compile) const;
  void log_miss(const Problem& problem, const Explanation& why, bool compiled);

  LibraryOptions options_;
  std::unique_ptr<Context> context_;  // declared before the kernels: they are unloaded while it lives
  std::string device_text_;
  std::mutex mutex_;  // guards all below
  std::unique_ptr<Catalogue> catalogue_;
  std::map<std::string, std::vector<db::Evidence>> evidence_;  // by type pair
  std::map<std::string, Chooser> choosers_;                    // by type pair and transposes; go by evidence_
  std::map<std::string, Kernel> kernels_;                      // by type pair, transposes and config
  std::map<std::string, std::string> refused_;                 // likewise: why there is no kernel, or none that loads
  struct Winner {
    Config config;
    double us = 0;
    std::string reason;
  };
  std::map<std::string, Winner> tried_;  // problems
  std::set<std::string> logged_;                               // problems
};

}  // namespace tilesmith::runtime
