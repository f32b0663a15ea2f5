// A family: one kernel template and its parameter space. This is the seam at which kernel families are added:
// a folder with the template and one host file, and one line in family.cpp's registry.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/config.hpp"
#include "kernels/families/device_limits.hpp"
#include "kernels/families/launch.hpp"
#include "kernels/problem/problem.hpp"

namespace tilesmith {

struct Estimate;

/// A signature and the device that a kernel is compiled for. A compiled kernel serves every shape for which
/// refused_because() is empty.
struct KernelTarget : KernelSignature {
  DeviceLimits limits;
};

/// A tunable: its name, the values searched, and what it means in one line.
struct Parameter {
  std::string name;
  std::vector<int> values;
  std::string meaning;
};

/// A constraint on configs, stated once with its reason. A config is legal when every rule holds.
struct Rule {
  std::string name;
  std::string reason;
  std::function<bool(const Config&)> holds;
  /// The parameters that `holds` reads, so that a large space is pruned before it is spread out; empty: it may read
  /// all.
  std::vector<std::string> reads = {};
};

/// A config with a name and a place in the known ladder of hand-made kernels.
struct NamedConfig {
  std::string name;
  Config config;
};

class Family {
 public:
  virtual ~Family() = default;

  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;

  /// Whether the family has a kernel for this signature on this architecture at all: without is_plain() asked, only for
  /// what it knows of.
  virtual bool supports(const KernelTarget& target) const = 0;

  virtual std::vector<Parameter> parameters(const KernelTarget& target) const = 0;
  virtual std::vector<Rule> rules(const KernelTarget& target) const = 0;

  /// Empty if the compiled config may run on the problem; else why not, in words (alignment, dimensions, ...). What is
  /// known of a family besides is in refused_because(), which callers ask. Here and below problems are as_planned().
  virtual std::optional<std::string> refusal(const Config& config, const Problem& problem) const = 0;

  /// Why the tuner need not try a config that may run on the problem: another of the family does the same with less.
  /// Its results are right all the same.
  virtual std::optional<std::string> dominated(const Config&, const Problem&) const { return std::nullopt; }

  /// The launches that solve the problem. Precondition: the config is legal and refused_because() is empty;
  /// m, n ≥ 1.
  virtual LaunchSequence launches(const Config& config, const Problem& problem) const = 0;

  /// The complete source text for NVRTC: tunables rendered by name, then the template. Its #includes are answered by
  /// embedded_headers() and the toolkit's include folder.
  virtual std::string source(const Config& config, const KernelTarget& target) const = 0;

  /// False if two runs may differ in the last bits (atomics in the reduction, ...).
  virtual bool deterministic(const Config&) const { return true; }

  /// True: the library runs none of its kernels that the tuner has not verified on some problem
  /// (kernels/families/user).
  virtual bool needs_proof() const { return false; }

  /// How long a legal config may take, from counting alone (kernels/families/estimate.hpp); empty if the family makes
  /// no estimates.
  virtual std::optional<Estimate> estimate(const Config&, const KernelTarget&, const Problem&) const;

  /// The steps of the known ladder that belong to this family, slowest first.
  virtual std::vector<NamedConfig> ladder(const KernelTarget&) const { return {}; }

  /// Configs worth trying first on problems of any shape, best guess first; may be empty.
  virtual std::vector<Config> initial_configs(const KernelTarget&) const { return {}; }
  /// The same for one problem; may hold some that refuse it. A family that knows no better answers as for any.
  virtual std::vector<Config> initial_configs(const KernelTarget& target, const Problem&) const {
    return initial_configs(target);
  }
};

/// All families of this build, in the order in which they are documented; then those added at run time. Thread-safe.
std::span<const std::unique_ptr<Family>> families();

/// A problem of the target of ordinary size and alignment, for choices that are made without one: 1024³; of a batch 64
/// of 256³; of groups 8 on 4096 rows.
Problem ordinary_problem(const KernelTarget& target);

/// The family of that name, or nullptr.
const Family* find_family(std::string_view name);

/// Adds a family at run time, for good: kernels/families/user/load.hpp, and tests that plant faulty kernels.
/// Thread-safe. Throws std::length_error where there are too many.
void register_family(std::unique_ptr<Family> family);

/// The config that runs any problem of the target's signature on any supported device: the generic level. It is
/// `simt`'s, which has kernels for plain signatures (is_plain), with any epilogue, for batches and for groups.
Config generic_config(const KernelTarget& target);

/// A rule's name and reason if the config breaks one (or lacks a parameter, or has a value that its parameter does not
/// list); empty if it is legal.
std::optional<std::string> illegal_because(const Family& family, const Config& config, const KernelTarget& target);

/// The same of any parameters and rules.
std::optional<std::string> illegal_because(
    const Config& config, const std::vector<Parameter>& parameters, const std::vector<Rule>& rules);

/// Why the config must not run on the problem; empty if it may. What Family::refusal() says, and limits of a family's
/// kernels that stand in its `rules`. Precondition: the config is legal for the problem's type pair and transposes. The
/// problem is taken as_planned().
std::optional<std::string> refused_because(const Family& family, const Config& config, const Problem& problem);

/// Neither refused nor dominated: what may run on the problem, and may win. Precondition: as of refused_because().
bool eligible(const Family& family, const Config& config, const Problem& problem);

/// Whether every rule holds.
bool all_hold(const std::vector<Rule>& rules, const Config& config);

/// Values of a parameter that switches a feature of the device on.
std::vector<int> off_or_on(bool has_feature);
/// The parameter `early_launch`, of the families whose plans may come while the kernel before them still ends
/// (shared/work/overlap.cuh, Launch::overlaps_previous).
Parameter early_launch_parameter(const KernelTarget& target);

/// As illegal_because(), for many configs of one family and target, whose parameters and rules are then asked for once.
/// The family must outlive it.
class Legality {
 public:
  Legality(const Family& family, const KernelTarget& target);
  std::optional<std::string> illegal_because(const Config& config) const;

  const Family& family() const { return *family_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }  ///< none if the target is not supported

 private:
  const Family* family_;
  std::string unsupported_;  // why, if it is
  std::vector<Parameter> parameters_;
  std::vector<Rule> rules_;
};

}  // namespace tilesmith
