
#include <limits>
#include <span>

#include "runtime/driver/driver.hpp"
#include "runtime/interface/weights_source.hpp"

namespace tilesmith::runtime {
namespace {

/// The number that the kernel writes where it finds what is refused, counted from 1; or 0.
template <typename Launch>
int found_by(Launch launch, RepackArgs& args, CUstream_st* stream) {
  constexpr int kNone = std::numeric_limits<int>::max();
  int found = kNone;
  DeviceBuffer fault(sizeof found);
  fault.upload(std::as_bytes(std::span(&found, 1)));
  args.fault = reinterpret_cast<int*>(fault.data());
  launch();
  check(driver().stream_synchronize(stream), "cuStreamSynchronize");
  fault.download(std::as_writable_bytes(std::span(&found, 1)));
  return found == kNone ? 0 : found;
}

template <typename Value>
Value downloaded(const void* at) {
  Value value;
  check(
      driver().memcpy_to_host(&value, CUdeviceptr(reinterpret_cast<std::uintptr_t>(at)), sizeof value), "cuMemcpyDtoH");
  return value;
}

template <typename Launch>
void check_on_device(const Launch& launch_with, RepackArgs args, CUstream_st* stream) {
  const auto launch = [&](const char* entry, long long items) { launch_with(args, entry, items); };
  if (checks_order(args)) {
    if (const int fault = found_by([&] { launch("find_unordered", args.k); }, args, stream); fault != 0)
      refuse_order(args, fault, downloaded<int>(args.group_of + (fault - 1)));
  }
  const long long scales = args.groups * args.n;
  if (checks_zeros(args)) {
    if (const int fault = found_by([&] { launch("find_zeros", scales); }, args, stream); fault != 0) {
      const long long index = fault - 1, n = index % args.n, in_word = 32 / args.bits;
      const long long word = index / args.n * ((args.n + in_word - 1) / in_word) + n / in_word;
      const unsigned held = downloaded<unsigned>(args.zeros + word * 4);
      const int nibble = args.source == kAwqSource ? awq_nibble(int(n % 8)) : int(n % in_word);
      refuse_zero(args, fault, int(held >> nibble * args.bits & ((1u << args.bits) - 1)) + args.zero_added);
    }
  }
  if (checks_scales(args)) {
    if (const int fault = found_by([&] { launch("find_lost_scales", scales); }, args, stream); fault != 0)
      refuse_scale(args, fault, downloaded<unsigned char>(args.scales + (fault - 1)));
  }
}

}  // namespace

std::string repack_source() { return "#include \"kernels/weights/repack.cu\"\n"; }

void repack_on_device(HelperKernels& helpers, const Context& context, bool can_compile, CUstream_st* stream,
    std::vector<RepackArgs> experts) {
  const auto launch = [&](RepackArgs& args, const char* entry, long long items) {
    helpers.launch(context, can_compile, repack_source(), entry, items, &args, stream);
  };
  for (const RepackArgs& args : experts) check_on_device(launch, args, stream);
  std::vector<DeviceBuffer> raised;
  for (RepackArgs& args : experts) {
    if (!has_lowered_zeros(args)) continue;
    std::vector<std::uint32_t> words(zero_words(args));
    check(driver().stream_synchronize(stream), "cuStreamSynchronize");
    check(driver().memcpy_to_host(
              words.data(), CUdeviceptr(reinterpret_cast<std::uintptr_t>(args.zeros)), words.size() * 4),
        "cuMemcpyDtoH");
    raise_zeros(args, words);
    raised.emplace_back(words.size() * 4).upload(std::as_bytes(std::span(words)));
    args.zeros = reinterpret_cast<const unsigned char*>(raised.back().data());
  }
  for (RepackArgs& args : experts) {
    if (args.n == 0) return;
    launch(args, "repack_codes", code_bytes(args.bits, args.n, args.k) / 4);
    launch(args, "repack_scales", args.groups * args.n);
  }
  if (!raised.empty()) check(driver().stream_synchronize(stream), "cuStreamSynchronize");  // before they are freed
}

}  // namespace tilesmith::runtime
