#include "tuner/verify/workspace.hpp"

namespace tilesmith::tuner {

constexpr std::size_t kGuardBytes = 4096;

void* GuardedWorkspace::prepare(const ReferenceKernels& kernels, const runtime::Stream& stream, std::size_t bytes) {
  bytes_ = bytes;
  if (bytes == 0) return nullptr;
  const std::size_t needed = (2 * kGuardBytes + bytes + 7) / 8 * 8;
  if (buffer_.size() < needed) {
    stream.synchronize();  // an earlier run may still use the old one
    buffer_ = runtime::DeviceBuffer();
    buffer_ = runtime::DeviceBuffer(needed);
  }
  const std::uint64_t words = needed / 8;
  kernels.launch(stream, "fill_words", words, buffer_.data(), words);
  return buffer_.data() + kGuardBytes;
}

void GuardedWorkspace::check(
    const ReferenceKernels& kernels, const runtime::Stream& stream, std::uint64_t case_index, std::byte* report) const {
  if (bytes_ == 0) return;
  const std::uint64_t begin = 0, data = kGuardBytes, behind = kGuardBytes + bytes_, end = behind + kGuardBytes;
  kernels.launch(stream, "check_filled", kGuardBytes, buffer_.data(), begin, data, case_index, report);
  kernels.launch(stream, "check_filled", kGuardBytes, buffer_.data(), behind, end, case_index, report);
}

}  // namespace tilesmith::tuner
