#include "runtime/interface/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "db/store/logger.hpp"
#include "kernels/base/on_all_cores.hpp"
#include "kernels/families/user/load.hpp"
#include "runtime/choose/trial.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/interface/default_database.hpp"
#include "runtime/interface/library_state.hpp"
#include "runtime/interface/run_plan.hpp"
#include "runtime/interface/stream_workspaces.hpp"
#include "runtime/interface/translated.hpp"
#include "runtime/interface/weights_source.hpp"
#include "runtime/plan/plan_cache.hpp"

namespace tilesmith {
namespace {

using runtime::translated;

Error moved_from_plan() { return {ErrorCode::bad_argument, "the plan was moved from"}; }
Error moved_from_library() { return {ErrorCode::bad_argument, "the library was moved from"}; }

void check_well_formed(const Problem& problem) {
  if (const auto wrong = problem_error(problem)) {
    throw Error(ErrorCode::bad_argument, fmt::format("{}: {}", text(problem), *wrong));
  }
}

/// Of the options and of the environment. Before a catalogue is opened: its records are judged by the families that
/// there are.
void load_families(const LibraryOptions& options) {
  load_family_dirs_of_environment();
  for (const std::filesystem::path& folder : options.family_dirs) load_family_dir(folder);
}

}  // namespace

struct Library::State : runtime::LibraryState {
  using runtime::LibraryState::LibraryState;
  ~State() { clear_cache(); }

  std::filesystem::path database;  ///< that was opened; empty: none

  /// The plan that gemm() keeps for a well-formed problem. Makes it, unless the stream is being captured.
  const runtime::Plan& kept_plan(const Problem& problem, CUstream_st* stream);
  /// The same where no stream matters.
  const runtime::Plan& kept_plan(const Problem& problem);
  void clear_cache() noexcept;
  runtime::RunOptions run_options() const { return {early_in_graphs(), group_fault()}; }

  runtime::PlanCache plans;
  runtime::StreamWorkspaces workspaces;
};

const runtime::Plan& Library::State::kept_plan(const Problem& problem, CUstream_st* stream) {
  if (runtime::is_captured(stream)) {
    throw Error(ErrorCode::not_planned, fmt::format("the stream is being captured and gemm() has no plan of {}: call "
                                                    "prepare() or gemm() before the capture",
                                            text(problem)));
  }
  return kept_plan(problem);
}

const runtime::Plan& Library::State::kept_plan(const Problem& problem) {
  return plans.find_or_make(problem, [&] {
    const runtime::LetOthersCapture let_others;
    return plan(problem).plan;
  });
}

void Library::State::clear_cache() noexcept {
  const runtime::KeepCurrentContext keep(runtime::KeepCurrentContext::IfNone::leave_none);
  const runtime::LetOthersCapture let_others;
  context().make_current_if_possible();
  workspaces.clear();
  plans.clear();
}

Library::Library(std::shared_ptr<State> state) : state_(std::move(state)) {}
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&&) noexcept = default;
Library::~Library() = default;

Library Library::open(const std::filesystem::path& path, const LibraryOptions& options) {
  return translated([&] {
    load_families(options);
    std::unique_ptr<runtime::Catalogue> catalogue =
        runtime::with_trials(runtime::open_catalogue(path), path, options.trial_database);
    const runtime::KeepCurrentContext keep;
    const runtime::LetOthersCapture let_others;
    auto state = std::make_shared<State>(std::move(catalogue), options);
    state->database = path;
    return Library(std::move(state));
  });
}

Library Library::open_default(const LibraryOptions& options) {
  return translated([&] {
    const std::filesystem::path path = runtime::default_database(options.device);
    return path.empty() ? without_database(options) : open(path, options);
  });
}

Library Library::without_database(const LibraryOptions& options) {
  return translated([&] {
    load_families(options);
    const runtime::KeepCurrentContext keep;
    const runtime::LetOthersCapture let_others;
    return Library(
        std::make_shared<State>(runtime::with_trials(runtime::empty_catalogue(), {}, options.trial_database), options));
  });
}

runtime::LibraryState& Library::internals() const {
  if (!state_) throw moved_from_library();
  return *state_;
}

const std::string& Library::device() const noexcept {
  static const std::string none;
  return state_ ? state_->device_text() : none;
}

const std::filesystem::path& Library::database() const noexcept {
  static const std::filesystem::path none;
  return state_ ? state_->database : none;
}

struct GemmPlan::Impl {
  // Order matters: the workspace and the plan's kernels go before the context that the state holds.
  std::shared_ptr<Library::State> state;
  Explanation why;
  std::optional<runtime::Plan> plan;
  runtime::DeviceBuffer workspace;

  Impl(std::shared_ptr<Library::State> from, runtime::LibraryState::Planned planned)
      : state(std::move(from)), why(std::move(planned.why)), plan(std::move(planned.plan)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    const runtime::KeepCurrentContext keep(runtime::KeepCurrentContext::IfNone::leave_none);
    const runtime::LetOthersCapture let_others;
    state->context().make_current_if_possible();
    workspace = {};
    plan.reset();
  }
};

GemmPlan Library::plan(const Problem& problem) const {
  return translated([&] {
    if (!state_) throw moved_from_library();
    check_well_formed(problem);
    const Problem asked = canonical(problem);
    const runtime::CurrentContext current(state_->context());
    const runtime::LetOthersCapture let_others;
    return GemmPlan(std::make_unique<GemmPlan::Impl>(state_, state_->plan(asked)));
  });
}

void Library::gemm(CUstream_st* stream, const Problem& given, const Operands& operands) const {
  translated([&] {
    if (!state_) throw moved_from_library();
    Problem asked = given;
    asked.align_bytes = runtime::align_bytes_of(given, operands);
    asked.beta = runtime::beta_class_of(given, operands);
    asked = canonical(asked);
    const runtime::CurrentContext current(state_->context());
    const runtime::Plan* plan = state_->plans.find(asked);
    if (plan == nullptr) {
      runtime::check_aligned(asked, given);
      check_well_formed(asked);
      if (asked.m == 0 || asked.n == 0 || asked.batch == 0) return;  // nothing to do, as BLAS defines it
      plan = &state_->kept_plan(asked, stream);
    }
    if (plan->workspace_bytes() == 0) {
      runtime::run_plan(*plan, stream, operands, nullptr, state_->run_options());
      return;
    }
    const runtime::StreamWorkspaces::InUse workspace = state_->workspaces.take(stream, plan->workspace_bytes());
    runtime::run_plan(*plan, stream, operands, workspace.data, state_->run_options());
  });
}

void Library::prepare(CUstream_st* stream, const Problem& given) const {
  translated([&] {
    if (!state_) throw moved_from_library();
    const Problem problem = canonical(given);
    const runtime::CurrentContext current(state_->context());
    const runtime::Plan* plan = state_->plans.find(problem);
    if (plan == nullptr) {
      check_well_formed(problem);
      plan = &state_->kept_plan(problem, stream);
    }
    if (plan->workspace_bytes() == 0) return;
    (void)state_->workspaces.take(stream, plan->workspace_bytes());
  });
}

void Library::prepare_all(std::span<const Problem> given, const PrepareProgress& progress) const {
  translated([&] {
    if (!state_) throw moved_from_library();
    std::vector<Problem> problems;
    for (const Problem& one : given) problems.push_back(canonical(one));
    std::mutex telling;
    std::vector<bool> is_told(problems.size());
    std::size_t done = 0;
    const auto tell = [&](std::size_t i) {
      const std::lock_guard lock(telling);
      if (is_told[i]) return;
      is_told[i] = true;
      ++done;
      if (progress) progress(done, problems.size(), text(problems[i]));
    };
    const runtime::CurrentContext current(state_->context());
    std::vector<runtime::LibraryState::Compilation> compilations = state_->compile_later(problems);
    on_all_cores(compilations.size(), [&](std::size_t i) {
      compilations[i].task();
      tell(compilations[i].problem);
    });
    std::optional<Error> first;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      try {
        translated([&] {
          check_well_formed(problems[i]);
          if (state_->plans.find(problems[i]) == nullptr) state_->kept_plan(problems[i]);
        });
      } catch (const Error& error) {
        const std::string name = text(problems[i]), why = error.what();
        if (!first) first.emplace(error.code(), why.starts_with(name) ? why : fmt::format("{}: {}", name, why));
      }
      tell(i);
    }
    if (first) throw *first;
  });
}

void Library::repack_weights(CUstream_st* stream, const tilesmith_weights& weights,
    const tilesmith_weights_source& source, void* codes, void* scales, void* zeros) const {
  translated([&] {
    if (!state_) throw moved_from_library();
    const std::vector<RepackArgs> args = runtime::repack_args(weights, source, codes, scales, zeros);
    const runtime::LetOthersCapture let_others;
    const runtime::CurrentContext current(state_->context());
    runtime::repack_on_device(state_->helpers(), state_->context(), state_->can_compile(), stream, args);
  });
}

void Library::clear_cache() const noexcept {
  if (state_) state_->clear_cache();
}

GemmPlan::GemmPlan(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GemmPlan::GemmPlan(GemmPlan&&) noexcept = default;
GemmPlan& GemmPlan::operator=(GemmPlan&&) noexcept = default;
GemmPlan::~GemmPlan() = default;

const Problem& GemmPlan::problem() const noexcept {
  static const Problem none{};
  return impl_ ? impl_->plan->problem() : none;
}
const Explanation& GemmPlan::explain() const noexcept {
  static const Explanation none;
  return impl_ ? impl_->why : none;
}
std::size_t GemmPlan::workspace_bytes() const noexcept { return impl_ ? impl_->plan->workspace_bytes() : 0; }

void GemmPlan::reserve_workspace() {
  translated([&] {
    if (!impl_) throw moved_from_plan();
    const runtime::KeepCurrentContext keep;
    const runtime::LetOthersCapture let_others;
    impl_->state->context().make_current();  // for run(), where there is nothing to reserve too
    if (workspace_bytes() == 0 || impl_->workspace.size() != 0) return;
    impl_->workspace = runtime::DeviceBuffer(workspace_bytes());
  });
}

void GemmPlan::run(CUstream_st* stream, const Operands& operands, void* workspace) const {
  translated([&] {
    if (!impl_) throw moved_from_plan();
    runtime::run_plan(*impl_->plan, stream, operands, workspace != nullptr ? workspace : impl_->workspace.data(),
        impl_->state->run_options());
  });
}

void set_log_callback(LogCallback callback) {
  translated([&] {
    if (!callback) return db::set_log_callback(nullptr);
    db::set_log_callback([call = std::move(callback)](spdlog::level::level_enum level, const std::string& line) {
      call(level >= spdlog::level::err ? LogLevel::error : LogLevel::warning, line);
    });
  });
}

const char* version() noexcept { return TILESMITH_VERSION_TEXT; }

}  // namespace tilesmith
