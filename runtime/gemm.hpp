// The C++ interface of libtilesmith: open a tuned database or bundle, plan a problem once, run it many times.
//
//   tilesmith::Library library = tilesmith::Library::open("tuned.db");
//   tilesmith::Problem problem = tilesmith::packed_problem(*tilesmith::find_type_pair("f16f32"), {}, m, n, k);
//   tilesmith::GemmPlan plan = library.plan(problem);
//   plan.reserve_workspace();
//   plan.run(stream, 1.0, a, b, 0.0, c);              // C ← α·op(A)·op(B) + β·C, row-major, asynchronous
//
// CUDA contexts. Tilesmith uses the device's primary context, the one that the CUDA runtime API uses: pointers from
// cudaMalloc and a cudaStream_t are passed as they are. An application that uses the driver API retains that same
// context (cuDevicePrimaryCtxRetain) and allocates in it. open(), plan() and the destructors leave the calling thread's
// current context as it was; where there was none, the primary context is current after open(), plan() and
// reserve_workspace(), and none again after the destructor that releases it last. run() needs it to be current.
// Libraries and plans end with that context: after cudaDeviceReset() none of them can be used any more.
//
// Errors: every function that is not noexcept throws tilesmith::Error (one line of text and a code), std::bad_alloc,
// and nothing else.
// Threads: a Library may be used by several threads at a time; plan() takes a lock. A GemmPlan is immutable but for its
// own workspace: run() takes no lock and may be called by several threads at a time, each with a workspace of its own.
// Where another thread captures a stream, in whichever mode, every function may be called and leaves that capture as it is.
// Log: warnings go to stderr, or to the logger "tilesmith" that an application with the same spdlog has registered.
// Lifetime: plans keep what they need of their library alive; either may go first. Destroy a plan only when its runs
// (and every CUDA graph that holds one) have ended. A Library or plan that was moved from throws (bad_argument); what is noexcept
// answers as an empty one.
#pragma once

#if __cplusplus < 202002L
#error "tilesmith/gemm.hpp needs C++20: compile with -std=c++20 (the interface for C, tilesmith.h, needs C99 or any C++)"
#endif

#include <cstddef>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "kernels/problem.hpp"

struct CUstream_st;  // cudaStream_t and CUstream are pointers to this

namespace tilesmith {

/// The values are those of tilesmith_status in tilesmith.h.
enum class ErrorCode {
  bad_argument = 1,       ///< an argument names nothing, is null, or does not fit the plan
  bad_database = 2,       ///< the file is missing, of another kind, newer or corrupt
  no_device = 3,          ///< no driver, no such device, or one that is not supported
  no_kernel = 4,          ///< no stored kernel can be loaded, and NVRTC is not there to compile one
  misaligned = 5,         ///< a pointer is not a multiple of the problem's align_bytes, or of an element's size
  missing_workspace = 6,  ///< the plan needs a workspace and was given none
  device_failed = 7,      ///< a driver call failed
  out_of_memory = 8,
  internal = 9,  ///< a defect of Tilesmith
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& what) : std::runtime_error(what), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Where a plan's config came from.
struct Explanation {
  std::string rung;      ///< "exact", "neighbour" or "generic"
  std::string reason;    ///< one line
  std::string config;    ///< canonical text
  std::string measured;  ///< the problem it was measured on; empty on the generic rung
  double median_us = 0;  ///< its time there, as stored; 0 on the generic rung
  std::string
      trust;  ///< "valid"; or "reverify": the driver or NVRTC changed since it was verified, so the tuner has to
              ///< verify it again (`tilesmith tune`); or "remeasure": it was timed by a former measuring policy, and
              ///< nothing on its problem by today's; until then it is used as it is
  std::string kernel;  ///< "stored cubin (NVRTC 13.0)" or "compiled by NVRTC 13.0"; empty if M or N is 0: nothing is launched
};

struct LibraryOptions {
  int device = 0;             ///< ordinal, as the CUDA driver counts
  bool allow_compile = true;  ///< false: kernels are loaded from the database or bundle only
  /// One line on stderr for each problem that is not on the exact rung or had to be compiled, and for a bundle of another device.
  bool log_misses = true;
};

class GemmPlan;

class Library {
 public:
  /// Opens a database (read-only; nothing is ever written) or a bundle, told apart by content.
  /// A database that is still being tuned is read when a type pair and transposes are planned for the first time.
  static Library open(const std::filesystem::path& path, const LibraryOptions& options = {});
  /// Without evidence: every problem runs the generic kernel, which NVRTC compiles.
  static Library without_database(const LibraryOptions& options = {});

  Library(Library&&) noexcept;
  Library& operator=(Library&&) noexcept;
  ~Library();

  /// Chooses the config (exact entry → measured neighbour → generic), loads its kernel from the stored cubin or
  /// compiles it in memory, and resolves its launches. Takes from about a
  /// millisecond (kernel already loaded) to a second (compilation).
  /// If a config's kernel is missing or refused by the device, the next best is taken; after eight of them it is the generic
  /// kernel. One that is missing or does not load is not tried again.
  /// Must not be called while the calling thread captures a stream.
  GemmPlan plan(const Problem& problem) const;

  /// "NVIDIA H200/sm_90/132SM/...": as which device the evidence is looked up.
  const std::string& device() const noexcept;

 private:
  friend class GemmPlan;
  struct State;
  explicit Library(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

class GemmPlan {
 public:
  GemmPlan(GemmPlan&&) noexcept;
  GemmPlan& operator=(GemmPlan&&) noexcept;
  ~GemmPlan();

  const Problem& problem() const noexcept;
  const Explanation& explain() const noexcept;

  /// Bytes of device memory, 256-byte aligned, that run() needs; 0 for most configs.
  std::size_t workspace_bytes() const noexcept;
  /// Lets the plan own its workspace: allocates it now, so that run() does not. With it, at most one run of this plan
  /// may be in flight at a time.
  void reserve_workspace();

  /// Enqueues C ← α·op(A)·op(B) + β·C and nothing else: no allocation, no lock, no file, no compilation. Can be
  /// captured in a CUDA graph (α, β and the pointers are then fixed in it). In the stream's order, as any kernel; on sm_90
  /// its blocks may come while the kernel before still ends (programmatic dependent launch), and wait for that one's results on
  /// the device: if that kernel lets them, as plans do; in a graph if it is a plan's that this thread captured right before. A
  /// kernel of the application's own that so comes behind a plan may touch nothing that any kernel of the stream before it
  /// writes until it has waited: the plan may itself still wait. And it has to wait before it ends: behind one
  /// that came early and ended without, a plan is promised that one's end alone, not that of the kernels before it.
  ///   a  [a_rows, a_cols] row-major, row stride lda elements; device memory; not read if α = 0 or K = 0
  ///   b  [b_rows, b_cols] row-major, row stride ldb elements; device memory; not read if α = 0 or K = 0
  ///   c  [m, n] row-major, row stride ldc elements; device memory; not read if β = 0; must not overlap A or B
  /// α and β are rounded to the type pair's scale type; for integer outputs they must be integers that 32 bits hold.
  /// β ≠ 0 needs a problem of beta class `any`.
  /// `workspace`: null if workspace_bytes() is 0 or reserve_workspace() was called.
  /// Throws before anything is launched if an argument does not fit.
  void run(CUstream_st* stream, double alpha, const void* a, const void* b, double beta, void* c,
           void* workspace = nullptr) const;

 private:
  friend class Library;
  struct Impl;
  explicit GemmPlan(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// "0.1.0"
const char* version() noexcept;

}  // namespace tilesmith
