// What `verify` and `bench` do with kernels of one's own: both run them in this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

#include "db/store/store.hpp"
#include "tuner/cli/options/own_kernel.hpp"

namespace tilesmith::tuner {

/// Which configs are proven: a sample of `most`, or those that a database has a time of at the given sizes.
struct OwnConfigs {
  std::size_t most = 8;
  std::uint64_t seed = 1;
  const db::Store* tuned = nullptr;
};

/// Proves configs of the kernel at its proof sizes and the given ones. Prints each that is wrong,
/// and a line at the end. `results`: a folder, which gets what each right config computes at the given sizes in files
/// N.ARGUMENT.bin, and in configs.txt a line `N CONFIG` for it; empty: none. Returns the exit status: ok only if some
/// are right and none is wrong.
int verify_own_kernel(const OwnKernelOptions& options, const OwnConfigs& which, const std::filesystem::path& results,
    int device, const std::string& as, const std::atomic<bool>& stop);

/// Times what is recorded as fastest of the kernel, of the peer (empty: none), and the first legal config of each, in
/// turn. Those that are not right are not timed. Prints a table.
int bench_own_kernel(const OwnKernelOptions& options, const std::string& peer_folder, const db::Store* store,
    int device, const std::string& as);

}  // namespace tilesmith::tuner
