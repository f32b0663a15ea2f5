#include "tuner/verify/reference_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "runtime/compile/compiler.hpp"
#include "tuner/verify/weights_data.hpp"

namespace tilesmith::tuner {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kWorkspaceGuardBytes = 4096;

runtime::Module build(const TypePair& type, const runtime::DeviceInfo& device, bool weights) {
  const std::string name = fmt::format("verify_{}.cu", type.name);
  const KernelTarget target{{type, {}}, device.limits};
  const runtime::SourceBuild built = runtime::compile_source(
      reference_source(type, weights), name, "compare_cases", runtime::compiler_options(target));
  if (!built.ok) {
    throw std::runtime_error(
        fmt::format("the verifier's reference kernels for {} do not compile: {}", type.name, built.log));
  }
  return runtime::Module(built.cubin);
}

}  // namespace

std::vector<std::string> reference_entries(bool weights) {
  std::vector<std::string> entries{"reset_reports", "copy_words", "fill_words", "check_filled", "checksum",
      "compare_cases", "fill_operand", "fill_c", "multiply_exact", "multiply_real", "compare_exact", "compare_real",
      "check_outside", "fill_addend", "fill_f32", "fill_metadata"};
  if (weights) std::ranges::copy(weights_entries(), std::back_inserter(entries));
  return entries;
}

ReferenceKernels::ReferenceKernels(const TypePair& type, const runtime::DeviceInfo& device, bool weights)
    : module_(build(type, device, weights)), largest_grid_(unsigned(std::max(1, device.identity.sm_count)) * 16) {
  for (const std::string& entry : reference_entries(weights))
    functions_.emplace_back(entry, module_.function(entry, 0));
}

CUfunc_st* ReferenceKernels::function(std::string_view entry) const {
  for (const auto& [name, handle] : functions_) {
    if (name == entry) return handle;
  }
  throw std::logic_error(fmt::format("the verifier has no kernel named {}", entry));
}

void ReferenceKernels::launch_linear(
    const runtime::Stream& stream, std::string_view entry, std::uint64_t threads, void** parameters) const {
  const std::uint64_t blocks = (threads + kThreads - 1) / kThreads;
  const unsigned grid[3] = {unsigned(std::clamp<std::uint64_t>(blocks, 1, largest_grid_)), 1, 1};
  const unsigned block[3] = {kThreads, 1, 1};
  runtime::launch(function(entry), grid, block, 0, stream, parameters);
}

void add_checksum(const ReferenceKernels& kernels, const runtime::Stream& stream, const std::byte* data,
    std::size_t bytes, std::byte* sum) {
  const std::uint64_t words = bytes / 8;
  kernels.launch(stream, "checksum", words, data, words, sum);
}

void* GuardedWorkspace::prepare(const ReferenceKernels& kernels, const runtime::Stream& stream, std::size_t bytes) {
  bytes_ = bytes;
  if (bytes == 0) return nullptr;
  const std::size_t needed = (2 * kWorkspaceGuardBytes + bytes + 7) / 8 * 8;
  if (buffer_.size() < needed) {
    stream.synchronize();  // an earlier run may still use the old one
    buffer_ = runtime::DeviceBuffer();
    buffer_ = runtime::DeviceBuffer(needed);
  }
  const std::uint64_t words = needed / 8;
  kernels.launch(stream, "fill_words", words, buffer_.data(), words);
  return buffer_.data() + kWorkspaceGuardBytes;
}

void GuardedWorkspace::check(
    const ReferenceKernels& kernels, const runtime::Stream& stream, std::uint64_t case_index, std::byte* report) const {
  if (bytes_ == 0) return;
  const std::uint64_t begin = 0, data = kWorkspaceGuardBytes, behind = kWorkspaceGuardBytes + bytes_,
                      end = behind + kWorkspaceGuardBytes;
  kernels.launch(stream, "check_filled", kWorkspaceGuardBytes, buffer_.data(), begin, data, case_index, report);
  kernels.launch(stream, "check_filled", kWorkspaceGuardBytes, buffer_.data(), behind, end, case_index, report);
}

}  // namespace tilesmith::tuner
