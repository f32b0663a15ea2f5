#include "tuner/verify/own_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>

#include "runtime/compile/compiler.hpp"
#include "runtime/compile/kernel_symbols.hpp"

namespace tilesmith::tuner {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMostBlocks = 4096;

constexpr const char* kSource = R"cu(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
using Word = unsigned long long;

template <typename T> __device__ double number(T value) { return value; }
template <> __device__ double number(__half value) { return __half2float(value); }
template <> __device__ double number(__nv_bfloat16 value) { return __bfloat162float(value); }
template <> __device__ double number(__nv_fp8_e4m3 value) { return float(value); }
template <> __device__ double number(__nv_fp8_e5m2 value) { return float(value); }

__device__ Word first() { return Word(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ Word step() { return Word(gridDim.x) * blockDim.x; }

extern "C" __global__ void other_bytes(const unsigned char* data, Word bytes, unsigned char expected, Word* count) {
  for (Word i = first(); i < bytes; i += step()) {
    if (data[i] != expected) atomicAdd(count, Word(1));
  }
}

extern "C" __global__ void different_bytes(
    const unsigned char* expected, const unsigned char* found, Word bytes, Word* count) {
  for (Word i = first(); i < bytes; i += step()) {
    if (expected[i] != found[i]) atomicAdd(count, Word(1));
  }
}

template <typename T>
__global__ void wrong(const T* expected, const T* found, Word elements, double absolute, double relative, Word* count) {
  for (Word i = first(); i < elements; i += step()) {
    const double want = number(expected[i]), have = number(found[i]);
    const bool near = !isinf(want) && fabs(have - want) <= absolute + relative * fabs(want);
    if (!(want == have || near)) atomicAdd(count, Word(1));
  }
}

__device__ Word mixed(Word value, Word place) {
  value = (value ^ (place + 1) * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  return (value ^ value >> 31) * 0x94d049bb133111ebull;
}

extern "C" __global__ void sum(const Word* data, Word bytes, Word* sums, Word which) {
  Word here = 0;
  for (Word i = first(); i < bytes / 8; i += step()) here += mixed(data[i], i);
  if (first() == 0) {
    for (Word i = bytes / 8 * 8; i < bytes; ++i) here += mixed(reinterpret_cast<const unsigned char*>(data)[i], i);
  }
  for (int distance = 16; distance > 0; distance /= 2) here += __shfl_xor_sync(0xffffffffu, here, distance);
  if (threadIdx.x % 32 == 0) atomicAdd(sums + which, here);
}
)cu";

std::string instance_of(const own::ElementType& type) { return fmt::format("wrong<{}>", type.in_cuda); }

std::vector<std::byte> compiled(const runtime::DeviceInfo& device, const std::vector<std::string>& entries) {
  runtime::SourceBuild build =
      runtime::compile_source(kSource, "own_checks.cu", "", runtime::compiler_options({{}, device.limits}), entries);
  if (!build.ok) throw std::runtime_error("the verifier's checks do not compile: " + build.log);
  return std::move(build.cubin);
}

std::vector<std::string> all_entries() {
  std::vector<std::string> entries{"other_bytes", "different_bytes", "sum"};
  for (const own::ElementType& type : own::element_types()) entries.push_back(instance_of(type));
  return entries;
}

}  // namespace

OwnChecks::OwnChecks(const runtime::Context& context)
    : cubin_(compiled(context.info(), all_entries())), module_(cubin_) {
  const std::vector<std::string> symbols = runtime::kernel_symbols(cubin_);
  for (const std::string& entry : all_entries())
    functions_.emplace_back(entry, module_.function(runtime::symbol_of(symbols, entry).value(), 0));
}

void OwnChecks::launch(
    const runtime::Stream& stream, const std::string& entry, std::size_t items, void** parameters) const {
  const std::size_t blocks = std::clamp<std::size_t>((items + kThreads - 1) / kThreads, 1, kMostBlocks);
  const unsigned grid[3] = {unsigned(blocks), 1, 1}, block[3] = {kThreads, 1, 1};
  const auto found = std::ranges::find(functions_, entry, [](const auto& one) { return one.first; });
  runtime::launch(found->second, grid, block, 0, stream, parameters);
}

void OwnChecks::reset(std::size_t sums) {
  if (results_.size() < (1 + sums) * sizeof(std::uint64_t))
    results_ = runtime::DeviceBuffer((1 + sums) * sizeof(std::uint64_t));
  results_.fill(0);
}

void OwnChecks::count_other_bytes(
    const runtime::Stream& stream, const std::byte* data, std::size_t bytes, unsigned char expected) const {
  std::byte* count = results_.data();
  void* parameters[] = {&data, &bytes, &expected, &count};
  launch(stream, "other_bytes", bytes, parameters);
}

void OwnChecks::count_wrong(const runtime::Stream& stream, const own::ElementType& type,
    const own::Tolerance& tolerance, const std::byte* expected, const std::byte* found, std::size_t bytes) const {
  std::byte* count = results_.data();
  if (!type.is_float() && tolerance.absolute == 0 && tolerance.relative == 0) {  // a double has not 64 bits
    void* parameters[] = {&expected, &found, &bytes, &count};
    return launch(stream, "different_bytes", bytes, parameters);
  }
  std::size_t elements = bytes / type.bytes;
  double absolute = tolerance.absolute, relative = tolerance.relative;
  void* parameters[] = {&expected, &found, &elements, &absolute, &relative, &count};
  launch(stream, instance_of(type), elements, parameters);
}

void OwnChecks::add_sum(
    const runtime::Stream& stream, const std::byte* data, std::size_t bytes, std::size_t sum) const {
  std::byte* sums = results_.data();
  std::size_t place = 1 + sum;
  void* parameters[] = {&data, &bytes, &sums, &place};
  launch(stream, "sum", bytes / 8, parameters);
}

OwnChecks::Found OwnChecks::found(const runtime::Stream& stream) const {
  stream.synchronize();
  std::vector<std::uint64_t> results(results_.size() / sizeof(std::uint64_t));
  results_.download(std::as_writable_bytes(std::span(results)));
  return {results.front(), {results.begin() + 1, results.end()}};
}

}  // namespace tilesmith::tuner
