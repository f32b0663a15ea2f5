#include "tuner/verify/own_verifier.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "runtime/compile/compiler.hpp"
#include "runtime/compile/cubin_info.hpp"
#include "runtime/compile/kernel_symbols.hpp"
#include "tuner/verify/own_data.hpp"

namespace tilesmith::tuner {

void OwnVerifier::turn_to(const own::Kernel& now) {
  if (!checks_) checks_.emplace(context_);
  if (kernel_ == &now) return;
  reference_.reset();
  at_proof_sizes_.clear();
  tuned_.reset();
  kernel_ = &now;
}

void OwnVerifier::reference_failed(const SizedKernel& sized, const std::string& why) const {
  throw std::runtime_error(fmt::format("the reference of {} is not usable: {}", text(sized), why));
}

db::Outcome OwnVerifier::prove(OwnState& state, const OwnModule& module, const Config& config) {
  const runtime::OwnPlan plan(
      module.module, module.symbols, *kernel_, state.sized, kernel_->launches(config, state.sized));
  if (runs(state, plan).are_right()) return {db::Status::ok, "", {}};
  BufferContents found;
  if (const auto wrong = runs(state, plan).wrong(found)) return *wrong;
  return runs(state, plan).mismatch("was wrong in one run, and right in the next two");
}

const OwnModule& OwnVerifier::reference_module(const SizedKernel& sized) {
  if (reference_) return *reference_;
  const own::Definition& parts = kernel_->definition();
  std::vector<std::string> entries;
  for (const UserLaunch& launch : parts.reference->launches) entries.push_back(launch.entry);
  const auto build = runtime::compile_source(parts.reference->text, "reference of " + kernel_->name(), entries.front(),
      runtime::compiler_options({{}, context_.info().limits}), entries);
  if (!build.ok) reference_failed(sized, runtime::first_error_line(build.log));
  if (const std::string wrong = runtime::arguments_error(*kernel_, entries, build); !wrong.empty())
    reference_failed(sized, wrong);
  return reference_.emplace(
      OwnModule{std::make_shared<const runtime::Module>(build.cubin), runtime::kernel_symbols(build.cubin)});
}

/// Buffers, what they hold, and what the reference makes of that.
OwnState OwnVerifier::made(const SizedKernel& sized) {
  OwnState state{sized, {}};
  std::uint64_t seed = 1;
  for (const own::Argument& argument : kernel_->definition().arguments) {
    if (argument.role == own::Role::value) continue;
    Guarded& buffer = state.buffers.emplace_back(argument, kernel_->extents(argument, sized));
    if (!is_input(argument.role) && argument.role != own::Role::inout) continue;
    buffer.before.resize(buffer.bytes);
    fill_own(argument, seed++, buffer.before);
    buffer.put_back();
    context_.synchronize();
    checks_->reset(1);
    checks_->add_sum(stream_, buffer.data(), buffer.bytes, 0);
    buffer.sum = checks_->found(stream_).sums.front();
  }
  if (!kernel_->definition().reference) return state;
  for (Guarded& buffer : state.buffers) {
    if (buffer.argument->expected.empty()) continue;
    std::vector<std::byte> expected(buffer.bytes);
    read_own(*buffer.argument, buffer.argument->expected, expected);
    buffer.expect(expected);
  }
  if (!kernel_->definition().reference->launches.empty()) run_reference(state);
  for (const Guarded& buffer : state.buffers) {  // with itself: NaN is equal to nothing
    const std::vector<std::byte> expected = buffer.expected_bytes();
    if (auto nan = own_difference(*buffer.argument, {}, buffer.extents, expected, expected))
      reference_failed(sized, *nan);
  }
  return state;
}

void OwnVerifier::run_reference(OwnState& state) {
  const OwnModule& module = reference_module(state.sized);
  try {
    const runtime::OwnPlan plan(
        module.module, module.symbols, *kernel_, state.sized, kernel_->reference_launches(state.sized));
    BufferContents found, ignored;
    if (const auto wrong = runs(state, plan).wrong(found)) reference_failed(state.sized, wrong->message);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].empty()) state.buffers[i].expect(found[i]);
    }
    if (kernel_->definition().deterministic) return;
    if (const auto wrong = runs(state, plan).wrong(ignored))
      reference_failed(state.sized, "two runs differ: " + wrong->message);
  } catch (const std::invalid_argument& error) {
    reference_failed(state.sized, error.what());
  }
}

db::Outcome OwnVerifier::at_proof_sizes(const OwnModule& module, const own::Kernel& kernel, const Config& config) {
  turn_to(kernel);
  for (const SizedKernel& sized : kernel.definition().proof_sizes) {
    if (kernel.refused_because(config, sized, context_.info().limits)) continue;
    auto place = at_proof_sizes_.find(text(sized));
    if (place == at_proof_sizes_.end()) place = at_proof_sizes_.emplace(text(sized), made(sized)).first;
    if (auto outcome = prove(place->second, module, config); outcome.status != db::Status::ok) return outcome;
  }
  return {db::Status::ok, "", {}};
}

OwnState& OwnVerifier::tuned_at(
    const own::Kernel& now, const SizedKernel& sized, const std::function<void()>& before_making) {
  turn_to(now);
  if (!tuned_ || !(tuned_->sized == sized)) {
    if (before_making) before_making();
    tuned_.reset();  // its memory first
    tuned_ = made(sized);
  }
  return *tuned_;
}

db::Outcome OwnVerifier::at(const OwnModule& module, const own::Kernel& kernel, const SizedKernel& sized,
    const Config& config, const std::function<void()>& before_making) {
  return prove(tuned_at(kernel, sized, before_making), module, config);
}

std::vector<std::pair<std::string, std::vector<std::byte>>> OwnVerifier::results() const {
  std::vector<std::pair<std::string, std::vector<std::byte>>> results;
  for (const Guarded& buffer : tuned_->buffers) {
    if (is_result(buffer.argument->role)) results.emplace_back(buffer.argument->name, buffer.downloaded());
  }
  return results;
}

}  // namespace tilesmith::tuner
