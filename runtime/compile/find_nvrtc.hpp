// Which of the NVRTCs that are there is used. Pure but for looking for headers: tested on made-up trees and releases.
#pragma once

#include <functional>
#include <string>

#include "runtime/compile/nvrtc.hpp"
#include "runtime/compile/nvrtc_places.hpp"
#include "runtime/driver/shared_library.hpp"

namespace tilesmith::runtime {

/// An NVRTC that was opened; where `problem` is not empty, why it, or any, is not usable.
struct FoundNvrtc {
  Nvrtc nvrtc;
  SharedLibrary library;
  std::string problem;
};

/// Opens a candidate of nvrtc_candidates() and fills in its functions, version and file.
using OpenNvrtc = std::function<FoundNvrtc(const std::string& candidate)>;

/// The machine's driver. Asked only where it matters.
struct DriverAsked {
  std::function<int()> cuda_version;  ///< what it supports: 12040; 0: there is none
  std::function<bool()> is_usable;    ///< whether there is a device to load kernels on
};

/// Why a driver of this CUDA version loads no kernel that this NVRTC ("13.0") compiled, naming both versions; empty if
/// it does, or where there is no driver (0). Of its own major release a driver loads what any minor one made.
std::string too_new_for_driver(const std::string& nvrtc_version, int driver_version);

/// The first candidate with headers that is not too new for the driver. One that is too new is used where
/// $TILESMITH_NVRTC names it, and where there is no other and no device either: it compiles for other machines there.
FoundNvrtc find_nvrtc(const CudaPlaces& places, const OpenNvrtc& open, const DriverAsked& driver);

}  // namespace tilesmith::runtime
