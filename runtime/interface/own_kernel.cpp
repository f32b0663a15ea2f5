#include "runtime/interface/own_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "kernels/families/user/load.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/interface/library_state.hpp"
#include "runtime/interface/stream_workspaces.hpp"
#include "runtime/interface/translated.hpp"

namespace tilesmith {
namespace {

using runtime::LibraryState;
using runtime::translated;

Error wrong(const own::Kernel& kernel, const std::string& what, ErrorCode code = ErrorCode::bad_argument) {
  return {code, fmt::format("kernel {}: {}", kernel.name(), what)};
}

bool is_buffer(const own::Argument& argument) { return argument.role != own::Role::value; }

/// "2 buffers, out, in".
std::string buffers_text(const own::Kernel& kernel) {
  std::string names;
  std::size_t count = 0;
  for (const own::Argument& argument : kernel.definition().arguments) {
    if (is_buffer(argument)) names += ", " + argument.name, ++count;
  }
  return fmt::format("{} buffers{}", count, names);
}

/// In the order of kernel.json, with its values where none is given.
std::vector<std::int64_t> in_order(const own::Kernel& kernel, std::span<const OwnKernel::Size> given) {
  const std::vector<SizedKernel::Size>& known = kernel.definition().sizes;
  std::vector<std::int64_t> values;
  for (const auto& [name, value] : known) values.push_back(value);
  for (const OwnKernel::Size& one : given) {
    const auto place = std::ranges::find(known, one.name, &SizedKernel::Size::first);
    if (place == known.end()) {
      std::string names;
      for (const auto& [name, value] : known) names += (names.empty() ? "" : ", ") + name;
      throw wrong(kernel, fmt::format("there is no size '{}': expected {}", one.name, known.empty() ? "none" : names));
    }
    values[std::size_t(place - known.begin())] = one.value;
  }
  return values;
}

/// Throws Error if kernel.json refuses the sizes.
SizedKernel checked(const own::Kernel& kernel, const std::vector<std::int64_t>& values) {
  SizedKernel sized = kernel.at({});
  for (std::size_t i = 0; i < values.size(); ++i) sized.sizes[i].second = values[i];
  if (const auto refused = kernel.sizes_error(sized)) throw wrong(kernel, *refused);
  return sized;
}

/// `stream`: if it is given, nothing is planned while it is being captured.
const LibraryState::PlannedOwn& planned(LibraryState& state, const own::Kernel& kernel,
    std::span<const OwnKernel::Size> given, std::optional<CUstream_st*> stream = std::nullopt) {
  const std::vector<std::int64_t> values = in_order(kernel, given);
  if (const LibraryState::PlannedOwn* known = state.find_own(kernel, values)) return *known;
  const SizedKernel sized = checked(kernel, values);
  if (stream && runtime::is_captured(*stream))
    throw Error(ErrorCode::not_planned,
        fmt::format(
            "the stream is being captured and there is no plan of {}: call prepare() before the capture", text(sized)));
  const runtime::LetOthersCapture let_others;
  return state.plan_own(kernel, sized);
}

void launch(const own::Kernel& kernel, const LibraryState::PlannedOwn& planned, CUstream_st* stream,
    std::span<void* const> buffers) {
  const int code = planned.plan.run(buffers, stream);
  if (code == 0) return;
  if (code == runtime::OwnPlan::kWrongCount)
    throw wrong(kernel, fmt::format("{} buffers are given: expected {}", buffers.size(), buffers_text(kernel)));
  if (code != runtime::OwnPlan::kMisaligned)
    throw wrong(kernel, describe(runtime::driver(), CUresult(code), "cuLaunchKernel"), ErrorCode::device_failed);
  std::size_t next = 0;
  for (const own::Argument& argument : kernel.definition().arguments) {
    if (!is_buffer(argument)) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(buffers[next++]);
    if (address == 0) throw wrong(kernel, argument.name + " is null: expected device memory");
    if (address % argument.type->bytes != 0)
      throw wrong(kernel,
          fmt::format("{} is at {:#x}: expected a multiple of {} bytes, an element", argument.name, address,
              argument.type->bytes),
          ErrorCode::misaligned);
  }
}

}  // namespace

OwnKernel Library::kernel(const std::filesystem::path& folder_or_name) const {
  return translated([&] {
    std::shared_ptr<LibraryState> state(state_, &internals());
    std::error_code error;
    std::string name = folder_or_name.string();
    try {
      if (std::filesystem::exists(folder_or_name / "kernel.json", error)) name = load_family_dir(folder_or_name);
    } catch (const DefinitionError& why) {
      throw Error(ErrorCode::bad_argument, why.what());
    }
    const own::Kernel* kernel = own::find_kernel(name);
    if (kernel == nullptr)
      throw Error(ErrorCode::bad_argument,
          fmt::format("{}: expected a folder that holds kernel.json, or the name of a kernel that is loaded", name));
    return OwnKernel(std::move(state), *kernel);
  });
}

const std::string& OwnKernel::name() const noexcept { return kernel_->name(); }

void OwnKernel::run(CUstream_st* stream, std::span<const Size> sizes, std::span<void* const> buffers) const {
  translated([&] {
    const runtime::CurrentContext current(state_->context());
    launch(*kernel_, planned(*state_, *kernel_, sizes, stream), stream, buffers);
  });
}

void OwnKernel::call(CUstream_st* stream, std::span<const Size> sizes, std::span<const Argument> given) const {
  translated([&] {
    const own::Kernel& kernel = *kernel_;
    const std::vector<own::Argument>& arguments = kernel.definition().arguments;
    const bool has_values = given.size() == arguments.size();
    if (!has_values && given.size() != std::size_t(std::ranges::count_if(arguments, is_buffer)))
      throw wrong(kernel, fmt::format("{} arguments are given: expected {}, or all {} arguments", given.size(),
                              buffers_text(kernel), arguments.size()));
    std::vector<Size> known(sizes.begin(), sizes.end());
    std::vector<void*> buffers;
    std::size_t next = 0;
    for (const own::Argument& argument : arguments) {
      if (!has_values && !is_buffer(argument)) continue;
      const Argument& one = given[next++];
      const bool is_pointer = one.kind_ == Argument::Kind::buffer;
      if (is_pointer != is_buffer(argument) || (argument.value && one.kind_ == Argument::Kind::real))
        throw wrong(
            kernel, fmt::format("{} is given a {}: expected a {}", argument.name, is_pointer ? "pointer" : "value",
                        is_buffer(argument) ? "pointer" : argument.type->name));
      if (is_pointer) buffers.push_back(const_cast<void*>(one.buffer_));
      if (!argument.value || !argument.value->is_name()) continue;
      const std::string& size = kernel.definition().sizes[argument.value->reads().front()].first;
      if (std::ranges::find(known, size, &Size::name) == known.end()) known.emplace_back(size, one.integer_);
    }
    const runtime::CurrentContext current(state_->context());
    const LibraryState::PlannedOwn& found = planned(*state_, kernel, known, stream);
    for (std::size_t i = 0; has_values && i < arguments.size(); ++i) {
      const own::Argument& argument = arguments[i];
      const double real = given[i].kind_ == Argument::Kind::real ? given[i].real_ : double(given[i].integer_);
      const bool is_f32 = argument.type->bytes == 4;
      if (argument.value && given[i].integer_ != found.integers[i])
        throw wrong(kernel, fmt::format("{} is {}: expected {}, as kernel.json computes it", argument.name,
                                given[i].integer_, found.integers[i]));
      if (!is_buffer(argument) && !argument.value &&
          !(is_f32 ? float(real) == float(argument.real) : real == argument.real))
        throw wrong(
            kernel, fmt::format("{} is {}: expected {}, the value in kernel.json", argument.name, real, argument.real));
    }
    launch(kernel, found, stream, buffers);
  });
}

void OwnKernel::prepare(std::span<const Size> sizes) const { (void)explain(sizes); }

const Explanation& OwnKernel::explain(std::span<const Size> sizes) const {
  return *translated([&] {
    const runtime::CurrentContext current(state_->context());
    return &planned(*state_, *kernel_, sizes).why;
  });
}

std::vector<std::int64_t> OwnKernel::elements(std::span<const Size> sizes) const {
  return translated([&] {
    const SizedKernel sized = checked(*kernel_, in_order(*kernel_, sizes));
    std::vector<std::int64_t> found;
    for (const own::Argument& argument : kernel_->definition().arguments) {
      if (is_buffer(argument)) found.push_back(kernel_->elements(argument, sized));
    }
    return found;
  });
}

}  // namespace tilesmith
