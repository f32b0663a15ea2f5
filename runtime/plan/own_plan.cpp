#include "runtime/plan/own_plan.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <stdexcept>

#include "runtime/compile/kernel_symbols.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/plan/prepare_launch.hpp"

namespace tilesmith::runtime {

OwnPlan::OwnPlan(std::shared_ptr<const Module> module, std::span<const std::string> symbols, const own::Kernel& kernel,
    const SizedKernel& sized, std::span<const Launch> launches)
    : module_(std::move(module)), driver_(&driver()) {
  for (const own::Argument& argument : kernel.definition().arguments) {
    if (argument.role != own::Role::value) {
      Parameter& buffer = parameters_.emplace_back(Parameter{argument.type->bytes});
      ++buffers_;
      if (argument.role != own::Role::constant) continue;
      buffer.constant_bytes = std::size_t(kernel.elements(argument, sized)) * argument.type->bytes;
      buffer.constant = module_->variable(argument.name, buffer.constant_bytes);
    } else if (argument.type->is_float()) {
      parameters_.push_back({0, argument.type->bytes == 4 ? std::bit_cast<std::uint32_t>(float(argument.real))
                                                          : std::bit_cast<std::uint64_t>(argument.real)});
    } else {
      parameters_.push_back({0, std::uint64_t(kernel.integer(argument, sized))});
    }
  }
  for (const Launch& from : launches) {
    const auto symbol = symbol_of({symbols.begin(), symbols.end()}, from.entry);
    if (!symbol)
      throw std::invalid_argument(fmt::format("plan: the module has no kernel '{}', or several", from.entry));
    Launch& launch = launches_.emplace_back(from);
    launch.entry = *symbol;
    functions_.push_back(prepare_launch(*driver_, *module_, launch, 0));
  }
}

int OwnPlan::copy(const void* from, const Parameter& constant, CUstream_st* stream) const noexcept {
  CUDA_MEMCPY2D copy{};  // of one row
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = CUdeviceptr(reinterpret_cast<std::uintptr_t>(from));
  copy.dstDevice = CUdeviceptr(reinterpret_cast<std::uintptr_t>(constant.constant));
  copy.WidthInBytes = constant.constant_bytes;
  copy.Height = 1;
  return driver_->memcpy_2d_async(&copy, stream);
}

int OwnPlan::run(std::span<void* const> buffers, CUstream_st* stream) const noexcept {
  if (buffers.size() != buffers_) return kWrongCount;
  std::array<std::uint64_t, own::kMostArguments> values;
  std::array<void*, own::kMostArguments> addresses;
  for (std::size_t i = 0, next = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    values[i] = parameter.value;
    if (parameter.element_bytes == 0) continue;
    values[i] = reinterpret_cast<std::uintptr_t>(buffers[next++]);
    if (values[i] == 0 || values[i] % parameter.element_bytes != 0) return kMisaligned;
  }
  std::size_t given = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].constant == nullptr) {
      addresses[given++] = &values[i];
    } else if (const int code = copy(reinterpret_cast<const void*>(values[i]), parameters_[i], stream); code != 0) {
      return code;
    }
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
