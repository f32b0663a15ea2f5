// The C++ interface of libtilesmith: open a tuned database or bundle, plan a problem once, run it many times.
//
//   tilesmith::Library library = tilesmith::Library::open("tuned.db");
//   tilesmith::Problem problem = tilesmith::packed_problem({*tilesmith::find_type_pair("f16f32"), {}}, m, n, k);
//   tilesmith::GemmPlan plan = library.plan(problem);
//   plan.reserve_workspace();
//   plan.run(stream, 1.0, a, b, 0.0, c);              // C ← α·op(A)·op(B) + β·C, row-major, asynchronous
//
// Or in one call, which plans when it first meets a problem and finds that plan from then on:
//
//   library.gemm(stream, problem, 1.0, a, b, 0.0, c);
//
// A strided batch is a problem, too: tilesmith::batched(problem, 64), and its strides where they differ. Pointers are entry 0's.
// Of tilesmith::by_pointers(problem, 64) the matrices lie anywhere: pointers are those of arrays of pointers in device memory.
//
// So are groups of rows, each with a B of its own (mixture of experts): tilesmith::grouped(problem, 8). M is the most rows that all groups
// have together; how many each has, Operands::offsets says on the device, and the host never waits for it.
//
// CUDA contexts. Tilesmith uses the device's primary context, the one that the CUDA runtime API uses: pointers from
// cudaMalloc and a cudaStream_t are passed as they are. An application that uses the driver API retains that same
// context (cuDevicePrimaryCtxRetain) and allocates in it. open(), plan() and the destructors leave the calling thread's
// current context as it was; where there was none, the primary context is current after open(), plan() and
// reserve_workspace(), and none again after the destructor that releases it last. gemm() and prepare() do as plan() does. run()
// needs the context to be current.
// Libraries and plans end with that context: after cudaDeviceReset() none of them can be used any more.
//
// Errors: every function that is not noexcept throws tilesmith::Error (one line of text and a code), std::bad_alloc,
// and nothing else.
// Threads: a Library may be used by several threads at a time. plan() takes a lock; gemm() takes none if its plan is known and needs
// no workspace. A GemmPlan is immutable but for its own workspace: run() takes no lock and may be called by
// several threads at a time, each with a workspace of its own.
// Where another thread captures a stream, in whichever mode, every function may be called and leaves that capture as it is.
// Log: warnings go to the callback that set_log_callback() was given; else to the logger "tilesmith" that an application with the
// same spdlog has registered; else to stderr, unless the environment variable TILESMITH_LOG is "off" ("warn": as without it).
// Lifetime: plans keep what they need of their library alive; either may go first. Destroy a plan only when its runs
// (and every CUDA graph that holds one) have ended. A Library or plan that was moved from throws (bad_argument); what is noexcept
// answers as an empty one.
#pragma once

#if __cplusplus < 202002L
#error "tilesmith/gemm.hpp needs C++20: compile with -std=c++20 (the interface for C, tilesmith.h, needs C99 or any C++)"
#endif

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/problem.hpp"

struct CUstream_st;  // cudaStream_t and CUstream are pointers to this
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

/// Where a plan's config came from.
struct Explanation {
  std::string rung;       ///< the level: "exact", "trial", "model" or "generic"
  std::string reason;    ///< one line
  std::string config;    ///< canonical text
  /// The problem that the config was measured on. On the model level it is the nearest of several. Empty if there is none.
  std::string measured;
  double median_us = 0;  ///< its time there, as stored; 0 if there is none
  double predicted_us = 0;  ///< on the model level, for this problem; elsewhere 0
  std::string
      trust;  ///< of the evidence; empty if there is none, on the level "trial" too. "valid"; or "reverify": the driver or NVRTC changed since it was verified, so the tuner has to
              ///< verify it again (`tilesmith tune`); or "remeasure": it was timed by a former measuring policy, or
              ///< in a trial (trial_database), and nothing on its problem by today's; until then it is used as it is
  std::string kernel;  ///< "stored cubin (NVRTC 13.0)" or "compiled by NVRTC 13.0"; empty if M or N is 0: nothing is launched
  /// Of cuBLASLt, timed in turn with the config in the final benchmark that median_us is of, on this very device. Compare them with that. 0 where
  /// they are not known, and on other levels than "exact".
  double vendor_us = 0;       ///< its first choice
  double vendor_best_us = 0;  ///< the fastest of what its heuristic offered
};

struct LibraryOptions {
  int device = 0;             ///< ordinal, as the CUDA driver counts
  bool allow_compile = true;  ///< false: kernels are loaded from the database or bundle only
  /// One line in the log for each problem that is not on the exact level or had to be compiled, and for a bundle of another device.
  bool log_misses = true;
  /// Above 1: plan() times so many of the model's first candidates for a problem that was not measured, and keeps the fastest for the life
  /// of the library (level "trial"). The kernels run on scratch operands, for which it takes device memory; what is not stored is compiled first.
  /// Planning then takes seconds, and other plans wait. Without the memory the model's first is taken. Nothing is verified. 0: off.
  int trial_budget = 0;
  /// A database of the application's own that keeps the winners of trials for its next start; empty: none. It is read beside what is opened,
  /// and may be the opened database itself. A trial appends its winner, and the kernel if it was compiled for it; the file is made if
  /// there is none, and open for writing only then. Where it cannot be read or written, one line is logged, and plans go on without.
  /// At the next start the winner is the `exact` entry, with the trust "remeasure", until the tuner has measured the problem.
  /// Its measuring policy is "trial-1": it was never verified, and the memset before each launch is part of its time. So every entry that the
  /// tuner measured by today's kernels ranks before it, and the model learns nothing from it.
  std::filesystem::path trial_database;
  /// Folders of families of the application's own (docs/own_family.md), beside those of $TILESMITH_FAMILY_DIR (colon-separated). They are
  /// loaded for the whole process and for good. Of such a family the library runs only kernels that the tuner has verified.
  /// A folder that cannot be read or is not right: bad_argument.
  std::vector<std::filesystem::path> family_dirs;
  /// True: on sm_90 a captured plan may start while a plan that the same thread captured right before it still ends, as in a stream.
  /// Replayed graphs of plans in a row are faster for it; a graph so captured is no update (cudaGraphExecUpdate) of one that was not.
  bool early_in_graphs = false;
};

/// The operands of D ← act(r·cᵀ ∘ α·op(A)·op(B) + β·C + bias). Scales, bias and act are there if the problem's epilogue has them (kernels/signature.hpp).
/// Pointers are device addresses. Set fields by name: later versions have more.
/// Of a problem by pointers (batch_mode) a, b, c and d are device arrays of Problem::batch pointers each, aligned to 8 bytes. The kernel reads
/// them when it runs. A captured graph takes what stands there at each launch. Each pointer is a multiple of align_bytes; nobody checks that,
/// nor whether matrices overlap. c is null or d's own array: in place. Another array as c needs an epilogue.
struct Operands {
  /// α and β are rounded to the type pair's scale type; for integer outputs they must be integers that 32 bits hold. Of a problem whose
  /// scalars lie in device memory they stay as they are here, 1 and 0, or they are refused.
  double alpha = 1;
  const void* a = nullptr;  ///< [a_rows, a_cols] row-major, row stride lda elements; not read if α = 0 or K = 0
  const void* b = nullptr;  ///< [b_rows, b_cols] row-major, row stride ldb elements; not read if α = 0 or K = 0
  double beta = 0;          ///< not 0: needs a problem of beta class `any`
  /// [m, n] row-major, row stride ldc elements; not read if β = 0. Null: D is overwritten in place. Another matrix than D, which then must
  /// not overlap it, is copied to D first where there is no epilogue (is_fused): a problem with the epilogue c_apart does without. Of groups
  /// it is refused there.
  const void* c = nullptr;
  void* d = nullptr;  ///< [m, n] row-major ([m, n/2] behind a gate), row stride ldc elements; must not overlap A or B
  /// Where the epilogue has such scales: r, m values (scale_m) or one (scale_m1), and c, n (scale_n) or one (scale_n1); f32, aligned to
  /// 4 bytes; must not overlap D. Else not read.
  const void* scale_m = nullptr;
  const void* scale_n = nullptr;
  /// Where the epilogue has a bias: n elements (bias_n) or m (bias_m), of D's type or f32 (.._f32), aligned to an element; must not
  /// overlap D. Else not read.
  const void* bias = nullptr;
  /// Of a grouped problem: device memory, s32, aligned to 4 bytes, where the rows of each group end, one value a group. Group 0 begins at row
  /// 0, and each other one where the group ahead of it ends. They must not decrease and not pass M; M need not be reached: rows of D
  /// behind the last end are not written. The kernel keeps to D whatever they are, and a wrong one is told later: the next gemm() or run()
  /// of a grouped problem of the library, once that kernel has run, throws bad_argument and launches nothing. Must not overlap D. Else not read.
  const void* offsets = nullptr;
  /// Of a problem whose scalars lie in device memory (problem.scalars = Scalars::device), else null: one value each in the type pair's scale
  /// type, aligned to it. The kernel reads them when it runs, so that a captured graph takes what stands there at each launch. Nothing may
  /// change them until it has run. D must not overlap them. A and B must be there and are read even if α is 0; then nothing becomes of what
  /// they hold. β is read if the problem's beta class is `any`, and C has to be there then; where β is 0 nothing becomes of what C holds.
  const void* device_alpha = nullptr;
  const void* device_beta = nullptr;
  /// Of a problem with a 2:4 sparse A or B (problem.sparsity), else not read: where its stored elements stand, as compress() of
  /// tilesmith/sparse.hpp makes it; aligned to 16 bytes. A or B are then the stored elements. Nobody checks it: what comes of places that do
  /// not ascend is undefined (check_metadata() finds them). D must not overlap it.
  const void* metadata = nullptr;
  /// Of a problem with weights, else not read: device memory, [groups, n] packed, of A's type or f32, aligned as A and B; must not overlap D.
  /// Then b are codes, as repack_weights() makes them. Zeros where the weights have some.
  const void* weight_scales = nullptr;
  const void* weight_zeros = nullptr;
};

class GemmPlan;

class Library {
 public:
  /// Opens a database (read-only; nothing is ever written to it but what `trial_database` asks for) or a bundle, told apart by content.
  /// A database that is still being tuned is read when a type pair and transposes are planned for the first time.
  static Library open(const std::filesystem::path& path, const LibraryOptions& options = {});
  /// Without evidence: problems run what the kernel families' own estimates say is fastest, compiled by NVRTC.
  static Library without_database(const LibraryOptions& options = {});

  Library(Library&&) noexcept;
  Library& operator=(Library&&) noexcept;
  ~Library();

  /// Chooses the config (exact entry → predicted by a model → generic), loads its kernel from the stored cubin or
  /// compiles it in memory, and resolves its launches. Takes from about a
  /// millisecond (kernel already loaded) to a second (compilation).
  /// If a config's kernel is missing or refused by the device, the next best is taken; after eight of them it is the generic
  /// kernel. One that is missing or does not load is not tried again.
  /// Must not be called while the calling thread captures a stream.
  GemmPlan plan(const Problem& problem) const;

  /// Plans that need a workspace share one workspace a stream. So:
  /// - Wait for a stream before you destroy it, and before you end a thread that used its own default stream
  ///   (cudaStreamPerThread): the next stream may get the same handle, and with it the workspace.
  /// - Replay no two graphs that were captured from one stream at the same time, and none beside gemm() into that stream. Where
  ///   that cannot be, use plan() and a workspace of your own.
  /// - Call prepare() or gemm() with this problem and this stream before you capture the stream. While it is captured nothing is
  ///   planned or allocated: gemm() throws not_planned, and the capture goes on. While the calling thread captures another
  ///   stream, a gemm() that has to plan or allocate fails as plan() does.
  /// - Destroy the library only when its runs, and all graphs that hold one, have ended.
  ///
  /// Enqueues D ← α·op(A)·op(B) + β·C as GemmPlan::run() does, by a plan that the library keeps. The first call of a problem makes
  /// the plan, as plan() does. Later calls find it in less than 200 ns, in any number of threads at a time. There is a plan
  /// for each set of the problem's fields. Two of them are the call's: `align_bytes` is the largest power of two, 16 at most, that
  /// divides the pointers, and `beta` is zero if β is 0 (the problem's own where β lies in device memory). A plan takes some kilobytes; see clear_cache().
  /// `stream`: null is the default stream. Calls into one stream wait for each other on the host if their plans need a workspace.
  /// Throws what plan() and run() throw.
  void gemm(CUstream_st* stream, const Problem& problem, const Operands& operands) const;
  /// In place: C is D.
  void gemm(CUstream_st* stream, const Problem& problem, double alpha, const void* a, const void* b, double beta, void* c) const {
    gemm(stream, problem, {alpha, a, b, beta, c, c});
  }

  /// Not while the calling thread captures a stream. Does what the first gemm() of this problem into this stream would do, but
  /// for the launch: plans, and allocates the stream's workspace if the plan needs one. `align_bytes` and `beta` are the problem's.
  void prepare(CUstream_st* stream, const Problem& problem) const;

  /// Wait for every gemm() and every graph that holds one before you call it; none of those graphs may be launched again.
  /// Destroys all plans and workspaces that gemm() and prepare() keep. Loaded kernels stay.
  void clear_cache() const noexcept;

  /// Not while the calling thread captures a stream. Brings weights in 4 or 8 bits into the layout that kernels read, as
  /// tilesmith_weights_repack() does (tilesmith_weights.h).
  void repack_weights(CUstream_st* stream, const tilesmith_weights& weights, const tilesmith_weights_source& source, void* codes, void* scales,
                      void* zeros) const;

  /// "NVIDIA H200/sm_90/132SM/...": as which device the evidence is looked up.
  const std::string& device() const noexcept;

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
  /// Lets the plan own its workspace: allocates it now, so that run() does not. With it, at most one run of this plan
  /// may be in flight at a time.
  void reserve_workspace();

  /// Enqueues D ← α·op(A)·op(B) + β·C and nothing else: no allocation, no lock, no file, no compilation. Can be
  /// captured in a CUDA graph (α, β and the pointers are then fixed in it, but for scalars in device memory).
  /// A kernel of yours that is launched programmatically behind a plan (sm_90) must wait for it before it touches memory, and before it ends.
  /// `workspace`: null if workspace_bytes() is 0 or reserve_workspace() was called.
  /// Throws before anything is launched if an argument does not fit.
  void run(CUstream_st* stream, const Operands& operands, void* workspace = nullptr) const;
  /// In place: C is D.
  void run(CUstream_st* stream, double alpha, const void* a, const void* b, double beta, void* c, void* workspace = nullptr) const {
    run(stream, {alpha, a, b, beta, c, c}, workspace);
  }

 private:
  friend class Library;
  struct Impl;
  explicit GemmPlan(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

enum class LogLevel { warning = 1, error = 2 };
/// Gets a line of the log, without the newline. Called by any thread, one at a time; must not throw nor call the library.
using LogCallback = std::function<void(LogLevel, const std::string& line)>;

/// Of the process, for all libraries: from now on the log goes to this callback; to where it went before if it is empty. The former
/// callback is not running any more when this returns.
void set_log_callback(LogCallback callback);

/// "0.1.0"
const char* version() noexcept;

}  // namespace tilesmith
