// Compiles a config's source to a cubin with NVRTC, opened at run time. Needs no GPU.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "db/store/record.hpp"
#include "kernels/families/family.hpp"
#include "kernels/families/plan_hash.hpp"
#include "kernels/own/kernel.hpp"

namespace tilesmith::runtime {

using tilesmith::compiler_options;  // without include folders: these are added by compile()
using tilesmith::compiler_options_text;

/// Finds and opens libnvrtc and the CUDA headers that belong to it (find_nvrtc.hpp), once. Empty if
/// they are usable; else one line that says where they were looked for. Thread-safe.
std::string nvrtc_unavailable_because();
/// Why NVRTC compiles nothing for the architecture, in one line that names both; empty if it is not too old.
std::string nvrtc_too_old_because(const DeviceLimits& limits);
/// Both, and why the driver loads nothing that it compiles, as where $TILESMITH_NVRTC names one of a newer major
/// release.
std::string nvrtc_unfit_because(const DeviceLimits& limits);
/// "13.0", "12.6". Throws std::runtime_error with the line above if NVRTC is not usable.
std::string nvrtc_version();

/// The key under which this compiler, or that of another version, stores this kernel.
db::KernelKey kernel_key(const Config& config, const KernelTarget& target, std::string nvrtc = nvrtc_version());
db::KernelKey kernel_key(
    const Config& config, const Task& task, const DeviceLimits& limits, std::string nvrtc = nvrtc_version());

/// Compiles; a failure is a value (status compile_failed, message = the compiler's first error line). A kernel that
/// spills comes back as `spilled` with its cubin; one whose arrays need a stack frame is `ok`, and the message says so.
/// A config that breaks a rule, or whose family is unknown, comes back as `illegal` with the reason, uncompiled.
/// `registers` and `static_smem_bytes` are of the kernel `gemm`; `spill_bytes` of all kernels of the module. For a
/// virtual target the cubin is PTX and these are 0, and it is never `spilled`: the driver gives out registers later.
/// Thread-safe. Throws std::runtime_error if NVRTC is not usable, not installed whole, or too old for the target.
db::KernelBuild compile(const Config& config, const KernelTarget& target);
/// The same for the text of a signature; one that does not parse comes back as `illegal`.
db::KernelBuild compile(const Config& config, const std::string& signature, const DeviceLimits& limits);

/// Compiles any source text the same way (tests, the verifier's reference kernels): source in, cubin and log out.
/// Embedded headers and the CUDA headers are found as in compile(). With `--gpu-architecture=compute_..` the cubin is
/// PTX text. Thread-safe. Throws std::runtime_error if NVRTC is not usable.
struct SourceBuild {
  bool ok = false;
  std::string log;  ///< the compiler's whole log
  std::vector<std::byte> cubin;
  int registers = 0, spill_bytes = 0, static_smem_bytes = 0;  ///< of the kernel `entry`; if there is none, of all
};
/// `instances`: of kernels that are templates, as "softmax<64, 2>", those that are to be made.
SourceBuild compile_source(const std::string& source, const std::string& name, const std::string& entry,
    const std::vector<std::string>& options, const std::vector<std::string>& instances = {});

/// The same with KernelBuild::delayed_cubin.
db::KernelBuild compile_for_proof(const Config& config, const std::string& signature, const DeviceLimits& limits);

/// The config with delays (own::Kernel::source); empty if no memory is shared, or it does not compile so.
std::vector<std::byte> delayed_cubin(const own::Kernel& kernel, const Config& config, const DeviceLimits& limits);

/// One line if a kernel that was compiled takes other arguments than kernel.json says, by their count and sizes.
std::string arguments_error(const own::Kernel& kernel, std::span<const std::string> entries, const SourceBuild& build);

}  // namespace tilesmith::runtime
