#include "runtime/interface/tilesmith.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "runtime/interface/c_calls.hpp"
#include "runtime/interface/c_values.hpp"
#include "runtime/interface/default_database.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/interface/own_kernel.hpp"
#include "runtime/interface/translated.hpp"

namespace {

using tilesmith::Error;
using tilesmith::ErrorCode;
using tilesmith::runtime::guarded;
using tilesmith::runtime::to_problem;

static_assert(sizeof(tilesmith_explanation) == 11 * 8, "applications were compiled with its size");
static_assert(
    int(ErrorCode::bad_argument) == TILESMITH_BAD_ARGUMENT && int(ErrorCode::bad_database) == TILESMITH_BAD_DATABASE &&
        int(ErrorCode::no_device) == TILESMITH_NO_DEVICE && int(ErrorCode::no_kernel) == TILESMITH_NO_KERNEL &&
        int(ErrorCode::misaligned) == TILESMITH_MISALIGNED &&
        int(ErrorCode::missing_workspace) == TILESMITH_MISSING_WORKSPACE &&
        int(ErrorCode::device_failed) == TILESMITH_DEVICE_FAILED &&
        int(ErrorCode::out_of_memory) == TILESMITH_OUT_OF_MEMORY && int(ErrorCode::internal) == TILESMITH_INTERNAL &&
        int(ErrorCode::not_planned) == TILESMITH_NOT_PLANNED,
    "an error code is passed through as a status");

tilesmith_library* new_library(const char* path, const tilesmith::LibraryOptions& options) {
  return new tilesmith_library{
      path != nullptr ? tilesmith::Library::open(path, options) : tilesmith::Library::without_database(options)};
}

struct Progress {
  tilesmith_progress_callback callback;
  void* user;
};
thread_local Progress progress{};

void write_text(const std::string& written, char* text, size_t size) {
  if (written.size() >= size)
    throw Error(ErrorCode::bad_argument,
        "size is " + std::to_string(size) + ": expected at least " + std::to_string(written.size() + 1));
  written.copy(text, written.size());
  text[written.size()] = '\0';
}

std::vector<tilesmith::OwnKernel::Size> sizes_of(const char* const* names, const int64_t* values, size_t count) {
  std::vector<tilesmith::OwnKernel::Size> sizes;
  for (size_t i = 0; i < count; ++i) {
    if (names == nullptr || values == nullptr || names[i] == nullptr)
      throw Error(ErrorCode::bad_argument, "a name, or names or values, is null: expected those of the sizes");
    sizes.emplace_back(names[i], values[i]);
  }
  return sizes;
}

}  // namespace

struct tilesmith_kernel {
  tilesmith::OwnKernel kernel;
};

extern "C" {

const char* tilesmith_version(void) { return tilesmith::version(); }

const char* tilesmith_status_name(tilesmith_status status) {
  static constexpr const char* kNames[] = {"ok", "bad argument", "bad database", "no device", "no kernel", "misaligned",
      "missing workspace", "device failed", "out of memory", "internal", "not planned"};
  const auto number = std::size_t(status);
  return number < std::size(kNames) ? kNames[number] : "unknown status";
}

const char* tilesmith_last_error(void) { return tilesmith::runtime::last_error; }

int32_t tilesmith_type_pair_count(void) { return int32_t(tilesmith::type_pairs().size()); }

const char* tilesmith_type_pair_name(int32_t index) {
  if (index < 0 || index >= tilesmith_type_pair_count()) return nullptr;
  return tilesmith::type_pairs()[std::size_t(index)].name.data();  // of literals, which end with 0
}

tilesmith_status tilesmith_set_log_callback(tilesmith_log_callback callback, void* user) {
  return guarded(__func__, {}, [&] {
    if (callback == nullptr) return tilesmith::set_log_callback(nullptr);
    tilesmith::set_log_callback([callback, user](tilesmith::LogLevel level, const std::string& line) {
      callback(user, tilesmith_log_level(int(level)), line.c_str());
    });
  });
}

tilesmith_status tilesmith_problem_parse(tilesmith_problem* problem, const char* text) {
  return guarded(__func__, {{"problem", problem}, {"text", text}}, [&] {
    std::string error;
    const auto read = tilesmith::parse_problem(text, error);
    if (!read) throw Error(ErrorCode::bad_argument, error);
    tilesmith::runtime::write_problem(*read, *problem);
  });
}

tilesmith_status tilesmith_problem_text(const tilesmith_problem* problem, char* text, size_t size) {
  if (text != nullptr && size > 0) *text = '\0';
  return guarded(__func__, {{"text", size > 0 ? text : nullptr}, {"problem", problem}}, [&] {
    const tilesmith::Problem made = tilesmith::canonical(to_problem(*problem));
    if (const auto wrong = tilesmith::problem_error(made)) throw Error(ErrorCode::bad_argument, *wrong);
    const std::string written = tilesmith::text(made);
    write_text(written, text, size);
  });
}

tilesmith_status tilesmith_open(const char* path, int32_t device, tilesmith_library** library) {
  if (library != nullptr) *library = nullptr;
  return guarded(__func__, {{"library", library}}, [&] {
    tilesmith::LibraryOptions options;
    options.device = device;
    *library = new_library(path, options);
  });
}

tilesmith_status tilesmith_open_with_options(
    const char* path, const tilesmith_options* options, tilesmith_library** library) {
  if (library != nullptr) *library = nullptr;
  return guarded(__func__, {{"library", library}, {"options", options}},
      [&] { *library = new_library(path, tilesmith::runtime::to_options(*options)); });
}

tilesmith_status tilesmith_open_default(int32_t device, tilesmith_library** library) {
  if (library != nullptr) *library = nullptr;
  return guarded(__func__, {{"library", library}}, [&] {
    tilesmith::LibraryOptions options;
    options.device = device;
    *library = new tilesmith_library{tilesmith::Library::open_default(options)};
  });
}

tilesmith_status tilesmith_open_default_with_options(const tilesmith_options* options, tilesmith_library** library) {
  if (library != nullptr) *library = nullptr;
  return guarded(__func__, {{"library", library}, {"options", options}}, [&] {
    *library = new tilesmith_library{tilesmith::Library::open_default(tilesmith::runtime::to_options(*options))};
  });
}

tilesmith_status tilesmith_shipped_database(int32_t device, char* path, size_t size) {
  if (path != nullptr && size > 0) *path = '\0';
  return guarded(__func__, {{"path", size > 0 ? path : nullptr}}, [&] {
    write_text(
        tilesmith::runtime::translated([&] { return tilesmith::runtime::shipped_bests(device).string(); }), path, size);
  });
}

void tilesmith_close(tilesmith_library* library) { delete library; }

const char* tilesmith_device(const tilesmith_library* library) {
  return library != nullptr ? library->library.device().c_str() : "";
}

const char* tilesmith_database(const tilesmith_library* library) {
  return library != nullptr ? library->library.database().c_str() : "";
}

tilesmith_status tilesmith_gemm(tilesmith_library* library, struct CUstream_st* stream,
    const tilesmith_problem* problem, const tilesmith_run* run) {
  return guarded(__func__, {{"library", library}, {"problem", problem}, {"run", run}}, [&] {
    const tilesmith::Problem asked = to_problem(*problem);
    const tilesmith_run known = tilesmith::runtime::checked_run(*run);
    if (known.workspace != nullptr)
      throw Error(ErrorCode::bad_argument, "workspace is given: expected null, the library has its own");
    library->library.gemm(stream, asked, tilesmith::runtime::to_operands(known, asked));
  });
}

tilesmith_status tilesmith_prepare(
    tilesmith_library* library, struct CUstream_st* stream, const tilesmith_problem* problem) {
  return guarded(__func__, {{"library", library}, {"problem", problem}},
      [&] { library->library.prepare(stream, to_problem(*problem)); });
}

tilesmith_status tilesmith_prepare_all(tilesmith_library* library, const tilesmith_problem* problems, size_t count) {
  return guarded(__func__, {{"library", library}, {"problems", problems}}, [&] {
    if (count == 0) return;
    const std::size_t size = tilesmith::runtime::known_size(*problems);  // the distance from one to the next
    std::vector<tilesmith::Problem> read;
    std::optional<Error> unreadable;
    for (size_t i = 0; i < count; ++i) {
      const auto& one = *reinterpret_cast<const tilesmith_problem*>(reinterpret_cast<const char*>(problems) + i * size);
      if (one.size != size)
        throw Error(ErrorCode::bad_argument,
            fmt::format("problem {} has size {}: expected {}, as the first", i, one.size, size));
      try {
        read.push_back(to_problem(one));
      } catch (const Error& error) {
        if (!unreadable) unreadable.emplace(error.code(), fmt::format("problem {}: {}", i, error.what()));
      }
    }
    tilesmith::PrepareProgress tell;
    if (const Progress to = progress; to.callback != nullptr)
      tell = [to](size_t done, size_t total, const std::string& text) {
        to.callback(to.user, done, total, text.c_str());
      };
    library->library.prepare_all(read, tell);
    if (unreadable) throw *unreadable;
  });
}

tilesmith_status tilesmith_set_progress_callback(tilesmith_progress_callback callback, void* user) {
  progress = {callback, user};
  return TILESMITH_OK;
}

void tilesmith_clear_cache(tilesmith_library* library) {
  if (library != nullptr) library->library.clear_cache();
}

tilesmith_status tilesmith_plan_create(
    tilesmith_library* library, const tilesmith_problem* problem, tilesmith_plan** plan) {
  if (plan != nullptr) *plan = nullptr;
  return guarded(__func__, {{"plan", plan}, {"library", library}, {"problem", problem}},
      [&] { *plan = new tilesmith_plan{library->library.plan(to_problem(*problem))}; });
}

void tilesmith_plan_destroy(tilesmith_plan* plan) { delete plan; }

tilesmith_status tilesmith_plan_workspace_bytes(const tilesmith_plan* plan, uint64_t* bytes) {
  if (bytes != nullptr) *bytes = 0;
  return guarded(__func__, {{"bytes", bytes}, {"plan", plan}}, [&] { *bytes = plan->plan.workspace_bytes(); });
}

tilesmith_status tilesmith_plan_reserve_workspace(tilesmith_plan* plan) {
  return guarded(__func__, {{"plan", plan}}, [&] { plan->plan.reserve_workspace(); });
}

tilesmith_status tilesmith_plan_explain(const tilesmith_plan* plan, tilesmith_explanation* explanation) {
  if (explanation != nullptr) *explanation = tilesmith_explanation{"", "", "", "", "", "", 0, 0, 0, 0, {}};
  return guarded(__func__, {{"explanation", explanation}, {"plan", plan}}, [&] {
    const tilesmith::Explanation& why = plan->plan.explain();
    *explanation = {why.level.c_str(), why.config.c_str(), why.reason.c_str(), why.measured.c_str(), why.trust.c_str(),
        why.kernel.c_str(), why.median_us, why.predicted_us, why.vendor_us, why.vendor_best_us, {}};
  });
}

tilesmith_status tilesmith_plan_run(const tilesmith_plan* plan, struct CUstream_st* stream, const tilesmith_run* run) {
  return guarded(__func__, {{"plan", plan}, {"run", run}}, [&] {
    const tilesmith_run known = tilesmith::runtime::checked_run(*run);
    plan->plan.run(stream, tilesmith::runtime::to_operands(known, plan->plan.problem()), known.workspace);
  });
}

tilesmith_status tilesmith_kernel_open(tilesmith_library* library, const char* folder, tilesmith_kernel** kernel) {
  if (kernel != nullptr) *kernel = nullptr;
  return guarded(__func__, {{"kernel", kernel}, {"library", library}, {"folder", folder}},
      [&] { *kernel = new tilesmith_kernel{library->library.kernel(folder)}; });
}

void tilesmith_kernel_close(tilesmith_kernel* kernel) { delete kernel; }

tilesmith_status tilesmith_kernel_run(const tilesmith_kernel* kernel, struct CUstream_st* stream,
    const char* const* names, const int64_t* values, size_t sizes, void* const* buffers, size_t buffer_count) {
  return guarded(__func__, {{"kernel", kernel}, {"buffers", buffers}}, [&] {
    kernel->kernel.run(stream, sizes_of(names, values, sizes), {buffers, buffer_count});
  });
}

tilesmith_status tilesmith_kernel_prepare(
    const tilesmith_kernel* kernel, const char* const* names, const int64_t* values, size_t sizes) {
  return guarded(__func__, {{"kernel", kernel}}, [&] { kernel->kernel.prepare(sizes_of(names, values, sizes)); });
}

tilesmith_status tilesmith_kernel_elements(const tilesmith_kernel* kernel, const char* const* names,
    const int64_t* values, size_t sizes, int64_t* elements, size_t buffer_count) {
  return guarded(__func__, {{"elements", elements}, {"kernel", kernel}}, [&] {
    const std::vector<int64_t> found = kernel->kernel.elements(sizes_of(names, values, sizes));
    if (found.size() != buffer_count)
      throw Error(ErrorCode::bad_argument, fmt::format("buffer_count is {}: expected {}", buffer_count, found.size()));
    std::ranges::copy(found, elements);
  });
}

}  // extern "C"
