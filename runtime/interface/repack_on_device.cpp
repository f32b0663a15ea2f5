
#include <limits>
#include <span>

#include "runtime/driver/driver.hpp"
#include "runtime/interface/weights_source.hpp"

namespace tilesmith::runtime {
namespace {

void read_device(void* to, const void* from, std::size_t bytes) {
  check(driver().memcpy_to_host(to, CUdeviceptr(reinterpret_cast<std::uintptr_t>(from)), bytes), "cuMemcpyDtoH");
}

}  // namespace

std::string repack_source() { return "#include \"kernels/weights/repack.cu\"\n"; }

void repack_on_device(HelperKernels& helpers, const Context& context, bool can_compile, CUstream_st* stream,
    std::vector<RepackArgs> experts) {
  const auto launch = [&](RepackArgs& args, const char* entry, long long items) {
    helpers.launch(context, can_compile, repack_source(), entry, items, &args, stream);
  };
  for (const RepackArgs& args : experts) {
    const auto find = [&](const char* entry, Fits, long long items) {
      constexpr int kNone = std::numeric_limits<int>::max();
      int found = kNone;
      DeviceBuffer fault(sizeof found);
      fault.upload(std::as_bytes(std::span(&found, 1)));
      RepackArgs looking = args;
      looking.fault = reinterpret_cast<int*>(fault.data());
      launch(looking, entry, items);
      check(driver().stream_synchronize(stream), "cuStreamSynchronize");
      fault.download(std::as_writable_bytes(std::span(&found, 1)));
      return found == kNone ? 0 : found;
    };
    check_repacked(args, find, read_device);
  }
  std::vector<DeviceBuffer> raised;
  for (RepackArgs& args : experts) {
    if (!has_lowered_zeros(args)) continue;
    std::vector<std::uint32_t> words(zero_words(args));
    check(driver().stream_synchronize(stream), "cuStreamSynchronize");
    read_device(words.data(), args.zeros, words.size() * 4);
    raise_zeros(args, words);
    raised.emplace_back(words.size() * 4).upload(std::as_bytes(std::span(words)));
    args.zeros = reinterpret_cast<const unsigned char*>(raised.back().data());
  }
  for (RepackArgs& args : experts) {
    if (args.n == 0) return;
    launch(args, "repack_codes", all_code_bytes(args.bits, args.n, args.k) / 4);
    launch(args, "repack_scales", args.groups * args.n);
  }
  if (!raised.empty()) check(driver().stream_synchronize(stream), "cuStreamSynchronize");  // before they are freed
}

}  // namespace tilesmith::runtime
