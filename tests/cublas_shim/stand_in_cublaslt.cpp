// A libcublasLt.so.N with its SONAME and version node. Descriptors are maps from attribute to value.
#include <atomic>
#include <cstring>
#include <initializer_list>

#include "tests/cublas_shim/cublas.h"

namespace {

constexpr int kAttributes = 40, kOfLayout = 8;

struct Desc {
  std::uint64_t values[kAttributes] = {};
  unsigned char bytes[kAttributes] = {};
};
/// As large as NVIDIA's.
struct Layout {
  std::int32_t type, batch;
  std::uint64_t rows, cols;
  std::int64_t ld, stride;
  std::int32_t order, mode;
  std::uint64_t rest[2];
};
static_assert(sizeof(Layout) == 64);

void* field(Layout& layout, int attribute, std::size_t& bytes) {
  void* const places[] = {&layout.type, &layout.order, &layout.rows, &layout.cols, &layout.ld, &layout.batch,
      &layout.stride, nullptr, &layout.mode};
  constexpr std::size_t kBytes[] = {4, 4, 8, 8, 8, 4, 8, 0, 4};
  if (attribute < 0 || attribute > kOfLayout || places[attribute] == nullptr) return nullptr;
  bytes = kBytes[attribute];
  return places[attribute];
}

}  // namespace

extern "C" {
int cublasLtCreate(void** handle) { return *handle = new int(0), 0; }
int cublasLtMatmulDescSetAttribute(void* desc, int attribute, const void* value, std::size_t bytes) {
  if (attribute < 0 || attribute >= kAttributes || bytes > 8) return 7;
  std::memcpy(&static_cast<Desc*>(desc)->values[attribute], value, bytes);
  static_cast<Desc*>(desc)->bytes[attribute] = static_cast<unsigned char>(bytes);
  return 0;
}
int cublasLtMatmulDescCreate(void** desc, int compute, int scale) {
  auto* const made = new Desc();
  const int none = -1, linear = 1, zero = 0;
  *desc = made;
  cublasLtMatmulDescSetAttribute(made, 0, &compute, 4);
  cublasLtMatmulDescSetAttribute(made, 1, &scale, 4);
  for (int attribute : {2, 3, 4, 15, 31, 32}) cublasLtMatmulDescSetAttribute(made, attribute, &zero, 4);
  cublasLtMatmulDescSetAttribute(made, 7, &linear, 4);
  cublasLtMatmulDescSetAttribute(made, 26, &none, 4);
  made->bytes[25] = 1;
  return 0;
}
int cublasLtMatmulDescDestroy(void* desc) { return delete static_cast<Desc*>(desc), 0; }
int cublasLtMatmulDescGetAttribute(void* desc, int attribute, void* value, std::size_t bytes, std::size_t* written) {
  if (attribute < 0 || attribute >= kAttributes) return 7;
  const auto& of = *static_cast<Desc*>(desc);
  const std::size_t has = of.bytes[attribute] != 0 ? of.bytes[attribute] : 8;
  if (bytes != has) return 7;
  std::memcpy(value, &of.values[attribute], has);
  return *written = has, 0;
}
int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t cols, std::int64_t ld) {
  return *layout = new Layout{type, 1, rows, cols, ld, 0, 0, 0, {}}, 0;
}
int cublasLtMatrixLayoutDestroy(void* layout) { return delete static_cast<Layout*>(layout), 0; }
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, std::size_t bytes) {
  std::size_t has = 0;
  void* const place = field(*static_cast<Layout*>(layout), attribute, has);
  return place != nullptr && bytes == has ? (std::memcpy(place, value, bytes), 0) : 7;
}
int cublasLtMatrixLayoutGetAttribute(
    void* layout, int attribute, void* value, std::size_t bytes, std::size_t* written) {
  std::size_t has = 0;
  const void* const place = field(*static_cast<Layout*>(layout), attribute, has);
  return place != nullptr && bytes == has ? (std::memcpy(value, place, bytes), *written = bytes, 0) : 7;
}
int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
    void*, void*, const void*, void*, std::size_t, void*) {
  return stand_in_note_cublaslt_call(), 0;
}
}
