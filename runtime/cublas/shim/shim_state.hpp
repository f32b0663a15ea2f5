// All that a process knows: one object, which a forked child replaces by a new one.
#pragma once

#include <unistd.h>

#include <mutex>
#include <string>

#include "runtime/cublas/serve/planner.hpp"
#include "runtime/cublas/serve/problem_table.hpp"

namespace tilesmith::cublas {

struct ShimState {
  ProblemTable problems;
  Planner planner;
  CallCounts unkeyed{};  // calls that are no problem of ours
  std::atomic<std::uint64_t> checked{0}, differing{0};
  std::mutex output;         // of the capture file
  std::string capture_file;  // begun by this process; empty: not yet
  std::uint64_t calls_in_file = 0;
  pid_t process = getpid();
};

/// Made by the first call, which also has the process report at its end. Null: out of memory, forward everything.
ShimState* shim_state() noexcept;

/// The table that a process leaves on stderr at its end; none if cuBLAS was not called.
void report(ShimState& state) noexcept;
/// The calls of this process as a workload (families.hpp): writes the file of TILESMITH_CAPTURE whole, if there were
/// calls since it was last written. One thread at a time.
void write_capture_file() noexcept;

}  // namespace tilesmith::cublas
