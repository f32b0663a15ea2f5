// The GPU as Tilesmith sees it: libcuda opened at run time, one primary context, and owners of device resources.
//
// Errors: DeviceError (one line: the driver call, its error name, what it means) is thrown by everything that is not
// noexcept. Threads: a Context is made current on the constructing thread; objects may be used by any thread on which
// the context is current (Context::make_current()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/store/record.hpp"
#include "kernels/families/device_limits.hpp"
#include "runtime/driver/device_error.hpp"

// Opaque driver handles, so that this header needs no <cuda.h>.
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphExec_st;

namespace tilesmith::runtime {

/// Empty if a driver and at least one device are there; else one line that says what is missing.
std::string device_unavailable_because();

struct DeviceInfo {
  int ordinal = 0;
  db::DeviceIdentity identity;
  DeviceLimits limits;
  std::string driver_version;  ///< "580.65.06" if NVML or the kernel module tells, else "CUDA 13.0", which it supports
  std::size_t memory_bytes = 0;
  double clock_mhz = 0;     ///< maximum SM clock
  std::string pci_bus_id;   ///< "0000:01:00.0"; empty if the driver does not tell
  bool integrated = false;  ///< shares memory with the CPU (Jetson)
};

/// All devices, in the driver's order; makes no context. Empty (never throws) where there is no driver. A device of an
/// architecture that Tilesmith does not support is listed with an empty `limits.arch`.
std::vector<DeviceInfo> list_devices();
/// One device by ordinal; makes no context. `as`: an architecture whose code it is to run (device_as()); empty: its
/// own. Throws DeviceError naming the ordinal and how many there are, or the architecture if it is not supported.
DeviceInfo device_info(int ordinal, std::string_view as = {});

// Code of one architecture on a later device (`--as sm_87`): compiled for the virtual architecture under the real one's
// limits, and finished by the driver's JIT compiler for the device that is there. The seam is DeviceLimits::arch,
// NVRTC's name of what is compiled for: where it says "compute_87", the compiler gives PTX, the kernel's key and the
// environment's options are others than sm_87's, and Module hands the text to the driver. Nothing between the config
// and the loaded kernel knows of the mode.

/// nullopt if the device can run code of this architecture; else why not, in words: it is unknown, newer than the
/// device, or of the kind ("sm_90a") that no other device runs.
std::optional<std::string> as_refusal(const DeviceInfo& device, std::string_view arch);
/// The device as one that runs this architecture's code: its limits (no more shared memory than the device itself has),
/// and an identity of its own (db::identity_as). Throws DeviceError with as_refusal().
DeviceInfo device_as(DeviceInfo device, std::string_view arch);

class Context {
 public:
  /// Retains the primary context and makes it current. `as`: as for device_info().
  explicit Context(int ordinal, std::string_view as = {});
  ~Context();  ///< releases it; it stays current where it was made so
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  const DeviceInfo& info() const { return info_; }
  CUctx_st* handle() const { return context_; }
  void make_current() const;
  /// For what is released next. Where the context is lost, so is what would be freed; the owners log what there is to
  /// say.
  void make_current_if_possible() const noexcept;
  void synchronize() const;

 private:
  DeviceInfo info_;
  CUctx_st* context_ = nullptr;
};

/// Releases what the driver gave out; a failure is logged.
struct Release {
  void operator()(std::byte* memory) const noexcept;
  void operator()(int* host_memory) const noexcept;
  void operator()(CUstream_st* stream) const noexcept;
  void operator()(CUevent_st* event) const noexcept;
  void operator()(CUgraph_st* graph) const noexcept;
  void operator()(CUgraphExec_st* graph) const noexcept;
  void operator()(CUmod_st* module) const noexcept;
};
template <typename Handle>
using Owned = std::unique_ptr<Handle, Release>;

/// Device memory, move-only.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes);
  std::byte* data() const { return data_.get(); }  ///< device address
  std::size_t size() const { return data_ ? bytes_ : 0; }
  /// Returns when the device has the bytes: what is launched next, on any stream, sees them. So does fill().
  void upload(std::span<const std::byte> host, std::size_t offset_bytes = 0);
  void download(std::span<std::byte> host, std::size_t offset_bytes = 0) const;
  void fill(unsigned char byte);

 private:
  Owned<std::byte> data_;
  std::size_t bytes_ = 0;
};

/// An int of the host that kernels write by the same address: 0 until one does. It outlives all launches that were
/// given it.
class SharedWord {
 public:
  SharedWord();  ///< throws DeviceError
  int* data() const { return word_.get(); }

 private:
  Owned<int> word_;
};

/// Ordered with the null stream, which upload(), download() and fill() use.
class Stream {
 public:
  Stream();
  CUstream_st* get() const { return stream_.get(); }
  void synchronize() const;

 private:
  Owned<CUstream_st> stream_;
};

class Event {
 public:
  Event();
  void record(const Stream& stream);
  void synchronize() const;
  /// Microseconds from `start` to this event; both must have completed.
  double elapsed_us_since(const Event& start) const;

 private:
  Owned<CUevent_st> event_;
};

/// A captured sequence of launches that can be replayed.
class Graph {
 public:
  /// Captures what `enqueue` puts on the stream.
  template <typename Enqueue>
  static Graph capture(const Stream& stream, Enqueue&& enqueue) {
    begin_capture(stream);
    try {
      enqueue();
    } catch (...) {
      abandon_capture(stream);
      throw;
    }
    return end_capture(stream);
  }
  void launch(const Stream& stream) const;

 private:
  static void begin_capture(const Stream& stream);
  static void abandon_capture(const Stream& stream) noexcept;
  static Graph end_capture(const Stream& stream);
  Owned<CUgraphExec_st> exec_;
};

/// A loaded cubin, or PTX text that the driver compiles. Move-only; unloads itself. A truncated image is refused.
class Module {
 public:
  explicit Module(std::span<const std::byte> cubin);
  /// The kernel of that name, allowed to use that much dynamic shared memory.
  CUfunc_st* function(const std::string& entry, std::size_t dynamic_smem_bytes) const;
  /// The memory of the variable of that name, of at least so many bytes.
  std::byte* variable(const std::string& name, std::size_t bytes) const;

 private:
  Owned<CUmod_st> module_;
};

/// Launches one kernel by hand (reference kernels, tests). `parameters` as for cuLaunchKernel.
void launch(CUfunc_st* function, const unsigned grid[3], const unsigned block[3], std::size_t dynamic_smem_bytes,
    const Stream& stream, void** parameters);

/// Clocks, heat and power now; fields are 0 where the machine does not tell (NVML opened at run time).
struct Telemetry {
  double clock_mhz = 0;
  double temperature_c = 0;
  double power_w = 0;
  bool throttled = false;
  std::string throttle_reason;
};
Telemetry read_telemetry(int ordinal);

}  // namespace tilesmith::runtime
