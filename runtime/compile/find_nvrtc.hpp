// Where NVRTC and the CUDA headers may be, and which of the NVRTCs that are there is used. Pure but for looking at
// files: tested on made-up trees and releases.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/compile/nvrtc.hpp"
#include "runtime/driver/shared_library.hpp"

namespace tilesmith::runtime {

/// What decides the places; from the environment and the build, or made up by a test.
struct CudaPlaces {
  std::string nvrtc_file;                          ///< $TILESMITH_NVRTC; if set, nothing else is tried
  std::string include_folder;                      ///< $TILESMITH_CUDA_INCLUDE; if set, nothing else is tried
  std::vector<std::filesystem::path> toolkits;     ///< folders as /usr/local/cuda
  bool loader_path = true;                         ///< ask the loader for the sonames
  std::vector<std::filesystem::path> wheel_roots;  ///< folders that hold nvidia/…, or lib/ and include/
  std::filesystem::path built_include;             ///< the folder this build took cuda.h from
};

/// The usual places. A toolkit that the environment names and that is not there is logged. `own_file`: the library or
/// program that this code is in; wheels may lie beside it.
CudaPlaces usual_cuda_places(const std::filesystem::path& own_file);

/// What to try to open, in order: existing files, then sonames for the loader.
std::vector<std::string> nvrtc_candidates(const CudaPlaces& places);

/// The folders to pass as -I for this NVRTC: those beside it; else of the places, first any of the same release, then
/// of the same major release, then whatever is complete. Complete: cuda_fp16.h, cuda_bf16.h, mma.h and crt/mma.h are
/// found in them. Empty if there are none.
std::vector<std::filesystem::path> include_folders_for(
    const std::filesystem::path& nvrtc_file, int major, int minor, const CudaPlaces& places);

/// CUDA_VERSION of the folder's headers (12060), or 0.
int cuda_version_of(const std::filesystem::path& include_folder);

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
