// Stands for libcublasLt.so.13 where there is no GPU: it computes nothing, and does what these environment variables
// say when it is asked.
//   TILESMITH_STANDIN_OFFERS   how many algorithms its heuristic gives (default 5)
//   TILESMITH_STANDIN_FAILS    the number of an algorithm whose matmul fails; "all"
//   TILESMITH_STANDIN_DESC     any: no description can be made
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tuner/measure/cublaslt_calls.hpp"

using namespace tilesmith::tuner::cublaslt;

namespace {

int made = 0;

std::string told(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

int make(Descriptor* out) {
  *out = new int(++made);
  return 0;
}

int end(Descriptor one) {
  delete static_cast<int*>(one);
  return 0;
}

}  // namespace

extern "C" {

int cublasLtCreate(Handle* handle) { return make(handle); }
int cublasLtDestroy(Handle handle) { return end(handle); }
std::size_t cublasLtGetVersion() { return 130205; }
int cublasLtMatmulDescCreate(Descriptor* out, int, int) {
  return told("TILESMITH_STANDIN_DESC").empty() ? make(out) : kNotSupported;
}
int cublasLtMatmulDescDestroy(Descriptor one) { return end(one); }
int cublasLtMatmulDescSetAttribute(Descriptor, int, const void*, std::size_t) { return 0; }
int cublasLtMatrixLayoutCreate(Descriptor* out, int, std::uint64_t, std::uint64_t, std::int64_t) { return make(out); }
int cublasLtMatrixLayoutDestroy(Descriptor one) { return end(one); }
int cublasLtMatrixLayoutSetAttribute(Descriptor, int, const void*, std::size_t) { return 0; }
int cublasLtMatmulPreferenceCreate(Descriptor* out) { return make(out); }
int cublasLtMatmulPreferenceDestroy(Descriptor one) { return end(one); }
int cublasLtMatmulPreferenceSetAttribute(Descriptor, int, const void*, std::size_t) { return 0; }

int cublasLtMatmulAlgoGetHeuristic(Handle, Descriptor, Descriptor, Descriptor, Descriptor, Descriptor, Descriptor,
    int wanted, HeuristicResult* results, int* found) {
  const std::string offers = told("TILESMITH_STANDIN_OFFERS");
  *found = offers.empty() ? 5 : std::atoi(offers.c_str());
  if (*found > wanted) *found = wanted;
  for (int i = 0; i < *found; ++i) {
    results[i] = {};
    results[i].algorithm.data[0] = std::uint64_t(i);
  }
  return *found > 0 ? 0 : kNotSupported;
}

int cublasLtMatmul(Handle, Descriptor, const void*, const void*, Descriptor, const void*, Descriptor, const void*,
    const void*, Descriptor, void*, Descriptor, const Algorithm* algorithm, void*, std::size_t, CUstream_st*) {
  const std::string fails = told("TILESMITH_STANDIN_FAILS");
  return fails == "all" || fails == std::to_string(algorithm->data[0]) ? kNotSupported : 0;
}

int cublasLtMatmulAlgoConfigGetAttribute(
    const Algorithm* algorithm, int attribute, void* value, std::size_t bytes, std::size_t* written) {
  if (attribute == 8) return kNotSupported;  // as of CUDA 11
  const std::uint32_t told_value = std::uint32_t(100 * algorithm->data[0]) + std::uint32_t(attribute);
  std::memcpy(value, &told_value, bytes);
  *written = bytes;
  return 0;
}

}  // extern "C"
