#include "runtime/interface/own_kernel.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>

#include "db/store/logger.hpp"
#include "kernels/families/user/load.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/interface/library_state.hpp"
#include "runtime/interface/stream_workspaces.hpp"
#include "runtime/interface/translated.hpp"

namespace tilesmith {

using runtime::translated;

struct OwnKernel::Shared {
  struct Planned : runtime::LibraryState::PlannedOwn {
    std::vector<double> values;  ///< of the arguments; 0 of buffers
  };

  std::shared_ptr<runtime::LibraryState> library;
  const own::Kernel& kernel;
  const std::vector<own::Argument>& arguments;
  std::vector<const own::Argument*> buffers;
  runtime::OwnChooser chooser;
  std::mutex mutex;  // guards the plans, none of which goes before the handle
  std::map<std::vector<Size>, Planned> plans;

  Shared(std::shared_ptr<runtime::LibraryState> of, const own::Kernel& from)
      : library(std::move(of)),
        kernel(from),
        arguments(from.definition().arguments),
        chooser(library->chooser_of(from)) {
    for (const own::Argument& argument : arguments) {
      if (argument.role != own::Role::value) buffers.push_back(&argument);
    }
  }
  template <typename... Values>
  Error wrong(fmt::format_string<const Values&...> line, const Values&... values) const {
    return {ErrorCode::bad_argument, fmt::format("kernel {}: {}", kernel.name(), fmt::format(line, values...))};
  }
  const Planned& planned(std::span<const Size> sizes, std::optional<CUstream_st*> stream = std::nullopt);
  void launch(const Planned& planned, CUstream_st* stream, std::span<void* const> given) const;
};

/// Adds the sizes to the workload file that $TILESMITH_CAPTURE names, for `tilesmith tune --workload`.
void capture(const SizedKernel& sized) {
  const char* const given = std::getenv("TILESMITH_CAPTURE");
  if (given == nullptr || *given == '\0') return;
  std::string path = given;
  if (const std::size_t at = path.find("%p"); at != std::string::npos) path.replace(at, 2, std::to_string(::getpid()));
  if (!(std::ofstream(path, std::ios::app) << text(sized) + "\n" << std::flush))
    db::logger()->warn("{}: cannot be written, expected a file's path (TILESMITH_CAPTURE)", path);
}

/// `stream`: if one is given, nothing is planned while it is being captured.
const OwnKernel::Shared::Planned& OwnKernel::Shared::planned(
    std::span<const Size> sizes, std::optional<CUstream_st*> stream) {
  const SizedKernel sized = kernel.at(sizes);
  {
    const std::lock_guard lock(mutex);
    if (const auto known = plans.find(sized.sizes); known != plans.end()) return known->second;
  }
  if (const auto refused = kernel.sizes_error(sized)) throw wrong("{}", *refused);
  if (stream && runtime::is_captured(*stream))
    throw Error(ErrorCode::not_planned,
        fmt::format("the stream is being captured and {} has no plan: call prepare() before the capture", text(sized)));
  const runtime::LetOthersCapture let_others;
  Planned made{library->plan_own(kernel, chooser, sized), {}};
  for (const own::Argument& argument : arguments)
    made.values.push_back(argument.value ? double(kernel.integer(argument, sized)) : argument.real);
  capture(sized);
  const std::lock_guard lock(mutex);
  return plans.emplace(sized.sizes, std::move(made)).first->second;  // or what another thread made meanwhile
}

void OwnKernel::Shared::launch(const Planned& planned, CUstream_st* stream, std::span<void* const> given) const {
  const int code = planned.plan.run(given, stream);
  if (code > 0) throw Error(ErrorCode::device_failed, describe(runtime::driver(), CUresult(code), "cuLaunchKernel"));
  if (code == runtime::OwnPlan::kWrongCount)
    throw wrong("{} buffers are given: expected {}", given.size(), buffers.size());
  for (std::size_t i = 0; code != 0 && i < given.size(); ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(given[i]);
    const own::Argument& buffer = *buffers[i];
    if (address == 0 || address % buffer.type->bytes != 0)
      throw wrong(
          "{} is at {:#x}: expected device memory at a multiple of {}", buffer.name, address, buffer.type->bytes);
  }
}

OwnKernel Library::kernel(const std::filesystem::path& folder_or_name) const {
  return translated([&] {
    std::shared_ptr<runtime::LibraryState> state(state_, &internals());
    std::error_code error;
    std::string name = folder_or_name.string();
    if (std::filesystem::exists(folder_or_name / "kernel.json", error)) name = load_family_dir(folder_or_name);
    if (const own::Kernel* kernel = own::find_kernel(name))
      return OwnKernel(std::make_shared<OwnKernel::Shared>(std::move(state), *kernel));
    throw Error(ErrorCode::bad_argument,
        fmt::format("{}: expected a folder that holds kernel.json, or the name of a kernel that is loaded", name));
  });
}

void OwnKernel::run(CUstream_st* stream, std::span<const Size> sizes, std::span<void* const> buffers) const {
  translated([&] {
    const runtime::CurrentContext current(shared_->library->context());
    shared_->launch(shared_->planned(sizes, stream), stream, buffers);
  });
}

void OwnKernel::call(CUstream_st* stream, std::vector<Size> sizes, std::span<const Argument> given) const {
  translated([&] {
    const std::vector<own::Argument>& arguments = shared_->arguments;
    const bool has_values = given.size() == arguments.size();
    if (!has_values && given.size() != shared_->buffers.size())
      throw shared_->wrong("{} arguments are given: expected {}, or {} with the values", given.size(),
          shared_->buffers.size(), arguments.size());
    std::vector<void*> buffers;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const own::Argument& argument = has_values ? arguments[i] : *shared_->buffers[i];
      const double* const value = std::get_if<double>(&given[i]);
      if ((argument.role == own::Role::value) != (value != nullptr))
        throw shared_->wrong("{} is given as a {}: expected a {}", argument.name, value ? "value" : "pointer",
            value ? "pointer" : "value");
      if (value == nullptr) buffers.push_back(const_cast<void*>(std::get<const void*>(given[i])));
      if (value == nullptr || !argument.value || !argument.value->is_name()) continue;
      const std::string& size = shared_->kernel.definition().sizes[argument.value->reads().front()].first;
      if (std::ranges::find(sizes, size, &Size::first) == sizes.end())
        sizes.emplace_back(size, *value >= 1 && *value < 0x1p62 ? std::int64_t(*value) : 0);
    }
    const runtime::CurrentContext current(shared_->library->context());
    const Shared::Planned& found = shared_->planned(sizes, stream);
    for (std::size_t i = 0; has_values && i < given.size(); ++i) {
      const double* const value = std::get_if<double>(&given[i]);
      const bool is_f32 = arguments[i].type->real == Scalar::f32;
      if (value != nullptr && (is_f32 ? float(*value) != float(found.values[i]) : *value != found.values[i]))
        throw shared_->wrong(
            "{} is {}: expected {}, as kernel.json has it", arguments[i].name, *value, found.values[i]);
    }
    shared_->launch(found, stream, buffers);
  });
}

Explanation OwnKernel::explain(const std::vector<Size>& sizes) const {
  return translated([&] {
    const runtime::CurrentContext current(shared_->library->context());
    return shared_->planned(sizes).why;
  });
}

std::vector<std::int64_t> OwnKernel::elements(const std::vector<Size>& sizes) const {
  return translated([&] {
    const SizedKernel sized = shared_->kernel.at(sizes);
    if (const auto refused = shared_->kernel.sizes_error(sized)) throw shared_->wrong("{}", *refused);
    std::vector<std::int64_t> found;
    for (const own::Argument* buffer : shared_->buffers) found.push_back(shared_->kernel.elements(*buffer, sized));
    return found;
  });
}

}  // namespace tilesmith
