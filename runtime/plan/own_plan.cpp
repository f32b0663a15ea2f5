#include "runtime/plan/own_plan.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "runtime/compile/kernel_symbols.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/plan/prepare_launch.hpp"

namespace tilesmith::runtime {
namespace {

template <typename T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

}  // namespace

OwnPlan::OwnPlan(std::shared_ptr<const Module> module, std::span<const std::string> symbols, const own::Kernel& kernel,
    const SizedKernel& sized, std::span<const own::SizedLaunch> launches)
    : module_(std::move(module)), driver_(&driver()) {
  for (const own::Argument& argument : kernel.definition().arguments) {
    if (argument.role != own::Role::value) {
      parameters_.push_back({argument.type->bytes, 0});
      ++buffers_;
    } else if (argument.type->is_float) {
      parameters_.push_back({0, argument.type->bytes == 4 ? bits_of(float(argument.real)) : bits_of(argument.real)});
    } else {
      parameters_.push_back({0, std::uint64_t(kernel.integer(argument, sized))});
    }
  }
  for (const own::SizedLaunch& from : launches) {
    const auto symbol = symbol_of({symbols.begin(), symbols.end()}, from.entry);
    if (!symbol)
      throw std::invalid_argument(fmt::format("plan: the module has no kernel '{}', or several", from.entry));
    Launch& launch = launches_.emplace_back();
    launch.entry = *symbol;
    launch.grid = from.grid;
    launch.block = from.block;
    launch.cluster = from.cluster;
    launch.dynamic_smem_bytes = from.shared_bytes;
    functions_.push_back(prepare_launch(*driver_, *module_, launch, 0));
  }
}

int OwnPlan::run(std::span<void* const> buffers, CUstream_st* stream) const noexcept {
  if (buffers.size() != buffers_) return kWrongCount;
  std::array<std::uint64_t, own::kMostArguments> values;
  std::array<void*, own::kMostArguments> addresses;
  std::size_t next = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    values[i] = parameter.value;
    if (parameter.element_bytes > 0) {
      values[i] = reinterpret_cast<std::uintptr_t>(buffers[next++]);
      if (values[i] == 0 || values[i] % parameter.element_bytes != 0) return kMisaligned;
    }
    addresses[i] = &values[i];
  }
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    std::array<CUlaunchAttribute, 2> attributes{};
    CUlaunchConfig config = launch_config(*driver_, launches_[i], false, attributes);
    config.hStream = stream;
    const CUresult result =
        config.numAttrs > 0
            ? driver_->launch_kernel_ex(&config, functions_[i], addresses.data(), nullptr)
            : driver_->launch_kernel(functions_[i], config.gridDimX, config.gridDimY, config.gridDimZ, config.blockDimX,
                  config.blockDimY, config.blockDimZ, config.sharedMemBytes, stream, addresses.data(), nullptr);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace tilesmith::runtime
