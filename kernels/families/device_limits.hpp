// Architectures as a table: the limits that decide which configs are legal, features, and the rates that estimates and
// peaks go by. Code asks for a feature by name and never compares architecture numbers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilesmith {

/// What kernels may use. A feature that the hardware has and no kernel of ours was tried with is false.
struct Features {
  bool dependent_launch = false;   ///< a launch may start while the one before ends (griddepcontrol)
  bool clusters = false;           ///< thread-block clusters with distributed shared memory
  bool tma = false;                ///< the tensor memory accelerator
  bool wgmma = false;              ///< wgmma and setmaxnreg
  bool wide_f64 = false;           ///< mma.sync m16n8k8 and m16n8k16 of f64; m8n8k4 is everywhere
  bool fp8 = false;                ///< instructions that convert and multiply 8-bit floats
  bool fp8_mma = false;            ///< family `mma` multiplies them; Hopper could too, but has wgmma for them
  bool four_bit_products = false;  ///< mma.sync of s4 and u4 at twice the rate of 8 bits; else they become bytes
  bool xor_products = false;       ///< mma.sync counts XOR of bits; else two products of AND and other instructions do
  bool fused_mma_spills = false;   ///< NVRTC's `mma` kernels with an epilogue spill as they do for sm_87
};

/// The SM clock that a product's data sheet figures rest on, MHz.
struct RatedClock {
  std::string_view name_part;        ///< of the device's name
  std::string_view power_mode_part;  ///< "": any
  double tensor_mhz = 0;
  double other_mhz = 0;  ///< of f64 and f32
};

struct DeviceLimits {
  std::string arch;              ///< NVRTC's name of the target: "sm_87", "sm_90a"
  int sm = 0;                    ///< 10·major + minor
  int oldest_nvrtc = 12000;      ///< 1000·major + 10·minor of the oldest NVRTC that compiles for it
  int smem_per_block_bytes = 0;  ///< largest dynamic + static shared memory a block may opt in to
  int smem_per_sm_bytes = 0;
  int threads_per_sm = 2048;
  int blocks_per_sm = 32;
  int sm_count = 0;  ///< of the device at hand; by architecture name, of its best-known device
  Features features;

  /// What kernels reach of an SM and clock cycle, on the architecture's best-known device.
  struct Rates {
    double products = 1024;  ///< multiply-adds of 16-bit operands by mma.sync
    double products_f64 = 64;
    double fma_f64 = 32;  ///< multiply-adds on CUDA cores
    double issued = 0;    ///< most 16-bit multiply-adds that any mix of warps starts; 0: no such limit is known
    double l2_bytes = 40;
    double dram_bytes = 10;
    double mhz = 1755;  ///< the clock that turns cycles into a time where none was measured
  } rates;

  /// Data sheet operations of an SM and clock cycle, dense; a multiply-add is two. f64: by tensor cores if they have
  /// it.
  struct Peak {
    int f16 = 0, tf32 = 0, int8 = 0, f64 = 0;
    int f32 = 0;                     ///< on CUDA cores
    bool halved_on_geforce = false;  ///< accumulation in f32
  } peak;
  std::span<const RatedClock> rated_clocks;  ///< the first match counts

  int registers_per_sm = 65536;
  int registers_per_thread = 255;
  int threads_per_block = 1024;
};

/// The row of an architecture's name, or nullopt.
std::optional<DeviceLimits> limits_for_arch(std::string_view arch);

/// The architecture that Tilesmith compiles for on a device of this compute capability, 10·major + minor (90 →
/// "sm_90a"), or nullopt if it is not supported.
std::optional<DeviceLimits> limits_for_sm(int sm);

/// "sm_87" → the limits of sm_87 under the name "compute_87", of which NVRTC makes PTX; nullopt if it is unknown.
std::optional<DeviceLimits> virtual_limits(std::string_view arch);
/// The limits of whatever NVRTC may be told to compile for: "sm_87", or "compute_87" with the limits of sm_87; nullopt
/// if it is unknown.
std::optional<DeviceLimits> limits_for_target(std::string_view target);

/// Names of all supported architectures, comma-separated, for error messages.
std::string supported_archs();

}  // namespace tilesmith
