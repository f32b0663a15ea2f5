// The C++ interface of libtilesmith. docs/library.md explains it with examples; this header states the contracts.
//
//   tilesmith::Library library = tilesmith::Library::open_default();           // or open("tuned.db")
//   tilesmith::Problem problem = tilesmith::packed_problem({*tilesmith::find_type_pair("f16f32"), {}}, m, n, k);
//   library.gemm(stream, problem, 1.0, a, b, 0.0, d);       // D ← α·op(A)·op(B) + β·D, row-major, asynchronous
//
// Hazards: destroy a library or plan, and clear the cache, only after all runs and CUDA graphs that use them have
// ended. Plans that need a workspace share one for each stream: see Library::gemm. After cudaDeviceReset() no library
// or plan can be used.
// Errors: a function that is not noexcept throws tilesmith::Error (one line of text and a code) or std::bad_alloc, and
// nothing else. A Library or plan that was moved from throws bad_argument.
// Threads: all functions may be called from several threads at a time, even while another thread captures a stream.
// plan() takes a lock; gemm() takes none if its plan is known and needs no workspace; run() never does.
// Contexts: the primary context of the device is used, which is that of the CUDA runtime API: pointers from cudaMalloc
// and a cudaStream_t are passed as they are. run() needs that context to be current; all others set it and restore what
// was current, if anything was.
// Log: warnings go to the callback of set_log_callback(), else to a logger "tilesmith" that the application registered
// with the same spdlog, else to stderr, unless TILESMITH_LOG is "off".
#pragma once

#if __cplusplus < 202002L
#error \
    "tilesmith/gemm.hpp needs C++20: compile with -std=c++20 (the interface for C, tilesmith.h, needs C99 or any C++)"
#endif

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/problem/problem.hpp"

struct CUstream_st;        // cudaStream_t and CUstream are pointers to this
struct tilesmith_weights;  // tilesmith_weights.h
struct tilesmith_weights_source;

namespace tilesmith::runtime {
class LibraryState;
}

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
  internal = 9,      ///< a defect of Tilesmith
  not_planned = 10,  ///< gemm() into a stream that is being captured, and prepare() was not called before
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& what) : std::runtime_error(what), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Where a plan's config came from. A field that does not apply is empty or 0.
struct Explanation {
  std::string level;     ///< "exact", "trial", "model" or "generic"
  std::string reason;    ///< one line
  std::string config;    ///< canonical text
  std::string measured;  ///< the problem it was measured on; on the level "model" the nearest of several such problems
  double median_us = 0;  ///< its stored time on that problem
  double predicted_us = 0;  ///< on the level "model", for this problem
  /// "valid"; "reverify": the driver or NVRTC changed since it was verified; "remeasure": it was timed by a former
  /// measuring policy, or in a trial. `tilesmith tune` does both.
  std::string trust;
  std::string kernel;  ///< "stored cubin (NVRTC 13.0)", "cached cubin (NVRTC 13.0)" or "compiled by NVRTC 13.0"
  /// On the level "exact": times of cuBLASLt on this device, taken in turn with the config's in the final benchmark
  /// that gave median_us.
  double vendor_us = 0;       ///< its first choice
  double vendor_best_us = 0;  ///< the fastest of the algorithms that its heuristic offered
};

struct LibraryOptions {
  int device = 0;             ///< ordinal, as the CUDA driver counts
  bool allow_compile = true;  ///< false: kernels are loaded from the database or bundle, or the cache on disk
  /// Whether the log gets one line for each problem that is not on the level "exact" or whose kernel had to be
  /// compiled, and for a bundle that was made for another device.
  bool log_misses = true;
  /// If this is above 1, plan() times that many of the model's first candidates for an unmeasured problem, and keeps
  /// the fastest for the life of the library (level "trial"). A trial takes seconds and device memory, other plans wait
  /// for it, and nothing is verified.
  int trial_budget = 0;
  /// A database that keeps the winners of trials for the next start. It is read in addition to the opened database, and
  /// may be the same file. It is created if it is missing, and is open for writing only while a winner is appended. If
  /// it cannot be used, one line is logged. Winners are not verified: everything that the tuner measured ranks before
  /// them, and the model learns nothing from them.
  std::filesystem::path trial_database;
  /// Folders with families that you wrote (docs/own_family.md), in addition to those in $TILESMITH_FAMILY_DIR
  /// (colon-separated). They are loaded for the whole process. Of their kernels, only those that the tuner has verified
  /// are run.
  std::vector<std::filesystem::path> family_dirs;
  /// On sm_90: a captured plan may overlap the end of the plan that the same thread captured before it, as it may in a
  /// stream. A graph captured with this option cannot update (cudaGraphExecUpdate) one captured without it.
  bool early_in_graphs = false;
};

/// The operands of D ← act(r·cᵀ ∘ α·op(A)·op(B) + β·C + bias), in device memory. Set fields by name. No other operand
/// may overlap D (C may be D itself). Operands that the problem does not have are ignored. In a pointer batch a, b, c
/// and d are arrays of pointers in device memory, aligned to 8 bytes. The kernel reads them when it runs, and nobody
/// checks the pointers in them.
struct Operands {
  double alpha =
      1;  ///< rounded to the scale type; a 32-bit integer if that is s32. Leave it 1 if α is in device memory
  const void* a = nullptr;  ///< [a_rows, a_cols], row stride lda elements. A and B are not read if α = 0 or K = 0
  const void* b = nullptr;  ///< [b_rows, b_cols], row stride ldb elements; or the codes of weights
  double beta = 0;          ///< other than 0 needs a problem of beta class `any`. Leave it 0 if β is in device memory
  /// [m, n], row stride ldc elements; not read if β = 0. Null means that D holds C and is overwritten. A C elsewhere is
  /// copied to D first, unless the problem has an epilogue (c_apart is enough). Grouped problems and pointer batches
  /// must have an epilogue for that.
  const void* c = nullptr;
  void* d = nullptr;  ///< [m, n] ([m, n/2] if the epilogue is gated), row stride ldc elements
  /// r: f32, m values or one; or A's scales of blocks of K (kernels/problem/operand.hpp)
  const void* scale_m = nullptr;
  const void* scale_n = nullptr;  ///< c: f32, n values or one; or B's scales of blocks
  const void* bias = nullptr;     ///< n elements (along_n) or m (along_m), of D's type or f32
  /// s32: where the rows of each group end. Ends must not decrease or exceed M; rows behind the last end are not
  /// written. After a wrong end, the next grouped run of the library throws bad_argument and launches nothing.
  const void* offsets = nullptr;
  /// α and β of the scale type, if the problem's scalars are in device memory. They must not change until the kernel
  /// has run. A and B are then read even if α is 0, and C is read if the beta class is `any`.
  const void* device_alpha = nullptr;
  const void* device_beta = nullptr;
  /// The metadata of a 2:4 sparse operand, as sparse_compress() makes it; aligned to 16 bytes. If the places in it do
  /// not ascend, the behaviour is undefined.
  const void* metadata = nullptr;
  const void* weight_scales = nullptr;  ///< [groups, n] packed, of A's type or f32, aligned as A
  const void* weight_zeros = nullptr;
};

class GemmPlan;
class OwnKernel;  // own_kernel.hpp

/// How many of the problems are done, of how many, and the text of the one that was done last.
using PrepareProgress = std::function<void(std::size_t done, std::size_t total, const std::string& problem)>;

class Library {
 public:
  /// Opens a database (read-only) or a bundle; the file's content tells which. Records of a type pair are read when the
  /// first problem of that type pair is planned.
  static Library open(const std::filesystem::path& path, const LibraryOptions& options = {});
  /// A library without records: it predicts which kernels are fast and compiles them by NVRTC.
  static Library without_database(const LibraryOptions& options = {});

  /// Opens the best evidence that there is: $TILESMITH_DB if it is set; else your own database, where `tilesmith tune`
  /// records; else the bests that ship with the library for this device or the one most like it. If nothing is there,
  /// the library has no records.
  static Library open_default(const LibraryOptions& options = {});

  Library(Library&&) noexcept;
  Library& operator=(Library&&) noexcept;
  ~Library();

  /// Chooses the config (exact record → model → generic), loads or compiles its kernel and prepares its launches, which
  /// takes a millisecond to seconds. If a kernel can be neither loaded nor compiled, the next best config is taken, and
  /// after eight such failures the generic one. Do not call it while the calling thread captures a stream.
  GemmPlan plan(const Problem& problem) const;

  /// Hazards. All plans that run in one stream share its workspace. So wait for a stream before you destroy it, or
  /// before a thread ends that used cudaStreamPerThread. Do not replay two graphs captured from the same stream at the
  /// same time, nor a graph beside gemm() into that stream. Before you capture a stream, call gemm() or prepare() with
  /// this problem and stream: during capture nothing can be planned or allocated, and not_planned is thrown.
  ///
  /// Enqueues the product. The library keeps the plan: the first call for a problem makes it, later calls find it in
  /// less than 200 ns. Two fields of the problem are ignored: align_bytes follows from the pointers, and beta from the
  /// value of β on the host. A null `stream` is the default stream.
  void gemm(CUstream_st* stream, const Problem& problem, const Operands& operands) const;
  /// In place: C is D.
  void gemm(CUstream_st* stream, const Problem& problem, double alpha, const void* a, const void* b, double beta,
      void* d) const {
    gemm(stream, problem, {alpha, a, b, beta, d, d});
  }

  /// Does what the first gemm() for this problem and stream would do, except for the launch. Do not call it while the
  /// calling thread captures a stream.
  void prepare(CUstream_st* stream, const Problem& problem) const;

  /// Makes the plans of many problems, which gemm() then finds, and compiles the kernels that they need side by side, on
  /// all cores that this process may use. A problem counts as prepare() counts it: with its own align_bytes (16 for
  /// pointers of cudaMalloc) and its beta class. A problem that fails does not stop the others; the first failure is
  /// thrown at the end, and names its problem. Workspaces are allocated by prepare() or the first gemm(), for each
  /// stream. `progress` is called once for each problem, by any thread, one at a time; it must not throw and must not
  /// call the library. Do not call it while the calling thread captures a stream.
  void prepare_all(std::span<const Problem> problems, const PrepareProgress& progress = {}) const;

  /// Destroys the plans and workspaces that gemm() keeps. Loaded kernels stay.
  void clear_cache() const noexcept;

  /// See tilesmith_weights_repack() in tilesmith_weights.h. Do not call it while the calling thread captures a stream.
  void repack_weights(CUstream_st* stream, const tilesmith_weights& weights, const tilesmith_weights_source& source,
      void* codes, void* scales, void* zeros) const;

  /// A kernel of your own: a folder that holds kernel.json, or the name of one that is loaded. It is loaded for the
  /// whole process. Other content under the name of a loaded kernel is bad_argument.
  OwnKernel kernel(const std::filesystem::path& folder_or_name) const;

  /// The device whose records are used: "NVIDIA H200/sm_90/132SM/...".
  const std::string& device() const noexcept;
  /// The database or bundle that was opened; empty: none.
  const std::filesystem::path& database() const noexcept;

 private:
  friend class GemmPlan;
  friend struct SparseCalls;
  struct State;
  runtime::LibraryState& internals() const;
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
  /// Lets the plan own its workspace. Then at most one run of this plan may be in flight at a time.
  void reserve_workspace();

  /// Enqueues the launches and nothing else; can be captured in a CUDA graph. Throws before anything is launched if an
  /// argument does not fit. `workspace` may be null if none is needed or the plan owns one. If you launch a kernel of
  /// your own behind a plan by programmatic dependent launch (sm_90), it must wait for the plan before it touches
  /// memory and before it ends.
  void run(CUstream_st* stream, const Operands& operands, void* workspace = nullptr) const;
  /// In place: C is D.
  void run(CUstream_st* stream, double alpha, const void* a, const void* b, double beta, void* d,
      void* workspace = nullptr) const {
    run(stream, {alpha, a, b, beta, d, d}, workspace);
  }

 private:
  friend class Library;
  struct Impl;
  explicit GemmPlan(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

enum class LogLevel { warning = 1, error = 2 };
/// Receives a line of the log, without the newline. Any thread may call it, but only one at a time. It must not throw
/// and must not call the library.
using LogCallback = std::function<void(LogLevel, const std::string& line)>;

/// Sends the log of all libraries of this process to the callback. An empty callback restores the default. When this
/// returns, the former callback is no longer running.
void set_log_callback(LogCallback callback);

/// "0.1.0"
const char* version() noexcept;

}  // namespace tilesmith
