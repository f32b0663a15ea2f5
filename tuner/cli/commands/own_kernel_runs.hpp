// What `verify` and `bench` do with kernels of one's own: both run them in this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "db/store/store.hpp"
#include "tuner/cli/options/own_kernel.hpp"

namespace tilesmith::tuner {

/// Proves a sample of the kernel's configs, or all, at its proof sizes and the given ones. Prints each that is wrong,
/// and a line at the end. Returns the exit status: ok only if some are right and none is wrong.
int verify_own_kernel(const OwnKernelOptions& options, std::size_t most, std::uint64_t seed, int device,
    const std::string& as, const std::atomic<bool>& stop);

/// Times what is recorded as fastest of the kernel, of the peer (empty: none), and the first legal config of each, in
/// turn. Those that are not right are not timed. Prints a table.
int bench_own_kernel(const OwnKernelOptions& options, const std::string& peer_folder, const db::Store* store,
    int device, const std::string& as);

}  // namespace tilesmith::tuner
