// Where NVRTC and the CUDA headers may be. Pure but for looking at files: tested on made-up trees.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

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

}  // namespace tilesmith::runtime
