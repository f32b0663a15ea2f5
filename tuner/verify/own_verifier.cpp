#include "tuner/verify/own_verifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

#include "kernels/families/plan_hash.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/compile/cubin_info.hpp"
#include "runtime/compile/kernel_symbols.hpp"
#include "tuner/verify/own_data.hpp"
#include "tuner/verify/own_runs.hpp"

namespace tilesmith::tuner {
struct OwnVerifier::Impl {
  explicit Impl(const runtime::Context& in_context) : context(in_context) {}

  const runtime::Context& context;
  runtime::Stream stream;
  std::optional<OwnChecks> checks;      ///< made when a kernel of a user's own comes first
  const own::Kernel* kernel = nullptr;  ///< whose reference and proof sizes these are
  std::optional<OwnModule> reference;
  std::map<std::string, OwnState> at_proof_sizes;
  std::optional<OwnState> tuned;

  /// Forgets what was made for another kernel.
  void turn_to(const own::Kernel& now) {
    if (!checks) checks.emplace(context);
    if (kernel == &now) return;
    reference.reset();
    at_proof_sizes.clear();
    tuned.reset();
    kernel = &now;
  }
  [[noreturn]] void reference_failed(const SizedKernel& sized, const std::string& why) const {
    throw std::runtime_error(fmt::format("the reference of {} is not usable: {}", text(sized), why));
  }
  const OwnModule& reference_module(const SizedKernel& sized);
  void make(OwnState& state, const SizedKernel& sized);
  void run_reference(OwnState& state);
  OwnState& tuned_at(const own::Kernel& now, const SizedKernel& sized, const std::function<void()>& before_making);
  OwnRuns runs(OwnState& state, const runtime::OwnPlan& plan) {
    return {context, stream, *checks, state, plan, *kernel};
  }
  db::Outcome prove(OwnState& state, const OwnModule& module, const Config& config);
};

db::Outcome OwnVerifier::Impl::prove(OwnState& state, const OwnModule& module, const Config& config) {
  const runtime::OwnPlan plan(
      module.module, module.symbols, *kernel, state.sized, kernel->launches(config, state.sized));
  if (runs(state, plan).are_right()) return {db::Status::ok, "", {}};
  BufferContents found;
  if (const auto wrong = runs(state, plan).wrong(found)) return *wrong;
  return runs(state, plan).mismatch("was wrong in one run, and right in the next two");
}

const OwnModule& OwnVerifier::Impl::reference_module(const SizedKernel& sized) {
  if (reference) return *reference;
  const own::Definition& parts = kernel->definition();
  std::vector<std::string> entries;
  for (const own::KernelLaunch& launch : parts.reference->launches) entries.push_back(launch.entry);
  const auto build = runtime::compile_source(parts.reference->text, "reference of " + kernel->name(), entries.front(),
      runtime::compiler_options({{}, context.info().limits}), entries);
  if (!build.ok) reference_failed(sized, runtime::first_error_line(build.log));
  if (const std::string wrong = runtime::arguments_error(*kernel, entries, build); !wrong.empty())
    reference_failed(sized, wrong);
  return reference.emplace(
      OwnModule{std::make_shared<const runtime::Module>(build.cubin), runtime::kernel_symbols(build.cubin)});
}

/// Buffers, what they hold, and what the reference makes of that.
void OwnVerifier::Impl::make(OwnState& state, const SizedKernel& sized) {
  state.sized = sized;
  std::uint64_t seed = 1;
  for (const own::Argument& argument : kernel->definition().arguments) {
    if (argument.role == own::Role::value) continue;
    Guarded& buffer = state.buffers.emplace_back(argument, kernel->extents(argument, sized));
    std::vector<std::byte>& before = state.before.emplace_back();
    if (!is_input(argument.role) && argument.role != own::Role::inout) continue;
    before.resize(buffer.bytes);
    fill_own(argument, seed++, before);
    buffer.upload(before);
    context.synchronize();
    checks->reset(1);
    checks->add_sum(stream, buffer.data(), buffer.bytes, 0);
    buffer.sum = checks->found(stream).sums.front();
  }
  if (!kernel->definition().reference) return;
  const auto& files = kernel->definition().reference->files;
  for (Guarded& buffer : state.buffers) {
    const auto file = std::ranges::find(files, buffer.argument->name, [](const auto& one) { return one.first; });
    if (file == files.end()) continue;
    std::vector<std::byte> expected(buffer.bytes);
    read_own(*buffer.argument, file->second, expected);
    buffer.expect(expected);
  }
  if (files.empty()) run_reference(state);
  for (const Guarded& buffer : state.buffers) {  // with itself: NaN is equal to nothing
    const std::vector<std::byte> expected = buffer.expected_bytes();
    if (auto nan = own_difference(*buffer.argument, {}, buffer.extents, expected, expected))
      reference_failed(sized, *nan);
  }
}

void OwnVerifier::Impl::run_reference(OwnState& state) {
  const OwnModule& module = reference_module(state.sized);
  try {
    const runtime::OwnPlan plan(
        module.module, module.symbols, *kernel, state.sized, kernel->reference_launches(state.sized));
    BufferContents found, ignored;
    if (const auto wrong = runs(state, plan).wrong(found)) reference_failed(state.sized, wrong->message);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].empty()) state.buffers[i].expect(found[i]);
    }
    if (kernel->definition().deterministic) return;
    if (const auto wrong = runs(state, plan).wrong(ignored))
      reference_failed(state.sized, "two runs differ: " + wrong->message);
  } catch (const std::invalid_argument& error) {
    reference_failed(state.sized, error.what());
  }
}

OwnVerifier::OwnVerifier(const runtime::Context& context) : impl_(std::make_unique<Impl>(context)) {}
OwnVerifier::~OwnVerifier() = default;

db::Outcome OwnVerifier::at_proof_sizes(const OwnModule& module, const own::Kernel& kernel, const Config& config) {
  impl_->turn_to(kernel);
  for (const std::vector<std::int64_t>& values : kernel.definition().proof_sizes) {
    SizedKernel sized{kernel.name(), kernel.definition().sizes};
    for (std::size_t i = 0; i < values.size(); ++i) sized.sizes[i].second = values[i];
    if (kernel.refused_because(config, sized, impl_->context.info().limits)) continue;
    auto place = impl_->at_proof_sizes.find(text(sized));
    if (place == impl_->at_proof_sizes.end()) {
      OwnState made;
      impl_->make(made, sized);
      place = impl_->at_proof_sizes.emplace(text(sized), std::move(made)).first;
    }
    if (auto outcome = impl_->prove(place->second, module, config); outcome.status != db::Status::ok) return outcome;
  }
  return {db::Status::ok, "", {}};
}

OwnState& OwnVerifier::Impl::tuned_at(
    const own::Kernel& now, const SizedKernel& sized, const std::function<void()>& before_making) {
  turn_to(now);
  if (!tuned || !(tuned->sized == sized)) {
    if (before_making) before_making();
    tuned.reset();  // its memory first
    OwnState made;
    make(made, sized);
    tuned = std::move(made);
  }
  return *tuned;
}

db::Outcome OwnVerifier::at(const OwnModule& module, const own::Kernel& kernel, const SizedKernel& sized,
    const Config& config, const std::function<void()>& before_making) {
  return impl_->prove(impl_->tuned_at(kernel, sized, before_making), module, config);
}

std::vector<std::pair<std::string, std::vector<std::byte>>> OwnVerifier::results() const {
  std::vector<std::pair<std::string, std::vector<std::byte>>> results;
  for (const Guarded& buffer : impl_->tuned->buffers) {
    if (is_result(buffer.argument->role)) results.emplace_back(buffer.argument->name, buffer.downloaded());
  }
  return results;
}

const std::vector<std::vector<std::byte>>& OwnVerifier::contents(const own::Kernel& kernel, const SizedKernel& sized) {
  return impl_->tuned_at(kernel, sized, {}).before;
}

}  // namespace tilesmith::tuner
