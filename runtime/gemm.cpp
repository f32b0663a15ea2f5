#include "runtime/gemm.hpp"

#include <fmt/format.h>

#include <new>
#include <optional>

#include "db/store.hpp"
#include "runtime/driver.hpp"
#include "runtime/library_state.hpp"

namespace tilesmith {
namespace {

/// Everything that leaves the interface is an Error or std::bad_alloc.
template <typename Call>
auto translated(Call&& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const db::StoreError& error) {
    throw Error(ErrorCode::bad_database, error.what());
  } catch (const runtime::DeviceError& error) {
    throw Error(error.code() == CUDA_ERROR_OUT_OF_MEMORY ? ErrorCode::out_of_memory : ErrorCode::device_failed,
                error.what());
  } catch (const std::invalid_argument& error) {
    throw Error(ErrorCode::bad_argument, error.what());
  } catch (const std::exception& error) {
    throw Error(ErrorCode::internal, error.what());
  }
}

Error moved_from_plan() { return {ErrorCode::bad_argument, "the plan was moved from"}; }

Error launch_error(int code, const Problem& problem, std::size_t workspace_bytes) {
  if (code == runtime::Plan::kMisaligned) {
    return {ErrorCode::misaligned,
            fmt::format("a, b or c is not aligned: expected multiples of {} bytes (the problem's align_bytes) and of an "
                        "element, {} bytes of a and b, {} of c",
                        problem.align_bytes, size_bytes(problem.type.operand), size_bytes(problem.type.output))};
  }
  if (code == runtime::Plan::kNullPointer)
    return {ErrorCode::bad_argument, "a, b or c is null: expected device memory"};
  if (code == runtime::Plan::kMissingWorkspace) {
    return {ErrorCode::missing_workspace,
            fmt::format("no workspace, or one that is not aligned to 256 bytes: expected {} bytes, or a call of "
                        "reserve_workspace()",
                        workspace_bytes)};
  }
  const runtime::Driver* driver = runtime::driver_or_null();
  return {ErrorCode::device_failed, driver != nullptr ? runtime::describe(*driver, CUresult(code), "cuLaunchKernel")
                                                      : fmt::format("cuLaunchKernel: CUresult {}", code)};
}

}  // namespace

struct Library::State : runtime::LibraryState {
  using runtime::LibraryState::LibraryState;
};

Library::Library(std::shared_ptr<State> state) : state_(std::move(state)) {}
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&&) noexcept = default;
Library::~Library() = default;

Library Library::open(const std::filesystem::path& path, const LibraryOptions& options) {
  return translated([&] {
    std::unique_ptr<runtime::Catalogue> catalogue = runtime::open_catalogue(path);
    const runtime::KeepCurrentContext keep;
    const runtime::LetOthersCapture let_others;
    return Library(std::make_shared<State>(std::move(catalogue), options));
  });
}

Library Library::without_database(const LibraryOptions& options) {
  return translated([&] {
    const runtime::KeepCurrentContext keep;
    const runtime::LetOthersCapture let_others;
    return Library(std::make_shared<State>(runtime::empty_catalogue(), options));
  });
}

const std::string& Library::device() const noexcept {
  static const std::string none;
  return state_ ? state_->device_text() : none;
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
    try {
      state->context().make_current();
    } catch (const std::exception&) {
      // The context is lost, and with it what would be freed; the owners below log what there is to say.
    }
    workspace = {};
    plan.reset();
  }
};

GemmPlan Library::plan(const Problem& problem) const {
  return translated([&] {
    if (!state_) throw Error(ErrorCode::bad_argument, "the library was moved from");
    if (const auto wrong = problem_error(problem)) {
      throw Error(ErrorCode::bad_argument, fmt::format("{}: {}", text(problem), *wrong));
    }
    const runtime::KeepCurrentContext keep;
    const runtime::LetOthersCapture let_others;
    state_->context().make_current();
    return GemmPlan(std::make_unique<GemmPlan::Impl>(state_, state_->plan(problem)));
  });
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

void GemmPlan::run(CUstream_st* stream, double alpha, const void* a, const void* b, double beta, void* c,
                   void* workspace) const {
  translated([&] {
    if (!impl_) throw moved_from_plan();
    const Problem& on = problem();
    if (beta != 0 && on.beta == BetaClass::zero) {
      throw Error(ErrorCode::bad_argument,
                  fmt::format("beta is {}: expected 0, the plan is for beta class zero", beta));
    }
    runtime::RunArgs args;
    args.a = a;
    args.b = b;
    args.c = c;
    args.alpha = runtime::to_scale(on.type, alpha);
    args.beta = runtime::to_scale(on.type, beta);
    args.workspace = workspace != nullptr ? workspace : impl_->workspace.data();
    args.stream = stream;
    const int code = impl_->plan->run(args);
    if (code != 0) throw launch_error(code, on, workspace_bytes());
  });
}

const char* version() noexcept { return TILESMITH_VERSION_TEXT; }

}  // namespace tilesmith
