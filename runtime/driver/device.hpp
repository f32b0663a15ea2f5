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
/// One device by ordinal; makes no context. `as`: an architecture whose code it is to run (device_as() in virtual_arch.hpp);
/// empty: its own. Throws DeviceError naming the ordinal and how many there are, or the architecture if it is not supported.
DeviceInfo device_info(int ordinal, std::string_view as = {});

class Context {
 public:
  /// Retains the primary context and makes it current. `as`: as for device_info().
  explicit Context(int ordinal, std::string_view as = {});
  ~Context();                     ///< releases it; it stays current where it was made so
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  const DeviceInfo& info() const { return info_; }
  CUctx_st* handle() const { return context_; }
  void make_current() const;
  void synchronize() const;

 private:
  DeviceInfo info_;
  CUctx_st* context_ = nullptr;
};

/// Device memory, move-only.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes);
  DeviceBuffer(DeviceBuffer&&) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&&) noexcept;
  ~DeviceBuffer();
  std::byte* data() const { return data_; }  ///< device address
  std::size_t size() const { return bytes_; }
  /// Returns when the device has the bytes: what is launched next, on any stream, sees them. So does fill().
  void upload(std::span<const std::byte> host, std::size_t offset_bytes = 0);
  void download(std::span<std::byte> host, std::size_t offset_bytes = 0) const;
  void fill(unsigned char byte);

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// An int of the host that kernels write by the same address: 0 until one does. It outlives all launches that were given it.
class SharedWord {
 public:
  SharedWord();  ///< throws DeviceError
  ~SharedWord();
  SharedWord(const SharedWord&) = delete;
  SharedWord& operator=(const SharedWord&) = delete;
  int* data() const { return word_; }

 private:
  int* word_ = nullptr;
};

/// Ordered with the null stream, which upload(), download() and fill() use.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream_st* get() const { return stream_; }
  void synchronize() const;

 private:
  CUstream_st* stream_ = nullptr;
};

class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(const Stream& stream);
  void synchronize() const;
  /// Microseconds from `start` to this event; both must have completed.
  double elapsed_us_since(const Event& start) const;

 private:
  CUevent_st* event_ = nullptr;
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
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  ~Graph();
  void launch(const Stream& stream) const;

 private:
  Graph() = default;
  static void begin_capture(const Stream& stream);
  static void abandon_capture(const Stream& stream) noexcept;
  static Graph end_capture(const Stream& stream);
  CUgraphExec_st* exec_ = nullptr;
};

/// A loaded cubin, or PTX text that the driver compiles. Move-only; unloads itself. A truncated image is refused.
class Module {
 public:
  explicit Module(std::span<const std::byte> cubin);
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;
  ~Module();
  /// The kernel of that name, allowed to use that much dynamic shared memory.
  CUfunc_st* function(const std::string& entry, std::size_t dynamic_smem_bytes) const;

 private:
  CUmod_st* module_ = nullptr;
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
