// 2:4 sparse operands on a device: a sample of every family, the kernels that make them, and what the library
// multiplies.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/problem/sparsity.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/interface/sparse.hpp"
#include "runtime/interface/tilesmith_sparse.h"
#include "tests/catch.hpp"
#include "tests/gpu/device_problem.hpp"
#include "tests/gpu/family_sample.hpp"
#include "tests/problem_of_text.hpp"
#include "tuner/verify/number_formats.hpp"

namespace tilesmith::test_sparse {
using namespace tilesmith::test;

namespace {

Library library_for_sparse() {
  LibraryOptions quiet;
  quiet.log_misses = false;
  return Library::without_database(quiet);
}

runtime::DeviceBuffer on_device(const std::vector<std::byte>& bytes) {
  runtime::DeviceBuffer buffer(std::max<std::size_t>(bytes.size(), 16));
  if (!bytes.empty()) buffer.upload(bytes);
  return buffer;
}

std::vector<std::byte> from_device(const runtime::DeviceBuffer& buffer, std::size_t bytes) {
  std::vector<std::byte> host(bytes);
  buffer.download(host);
  return host;
}

/// Small integers with two of four left, at places that differ from group to group.
std::vector<std::byte> sparse_integers(Scalar element, std::int64_t rows, std::int64_t k, int seed) {
  const std::size_t bytes = size_bytes(element);
  const std::int64_t group = sparse_group(element);
  std::vector<std::byte> values(std::size_t(rows * k) * bytes);
  std::uint64_t state = std::uint64_t(seed) * 0x9e3779b97f4a7c15u + 1;
  const auto random = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 40; };
  for (std::int64_t first = 0; first < rows * k; first += group) {
    const std::int64_t one = std::int64_t(random() % std::uint64_t(group)),
                       other = (one + 1 + std::int64_t(random() % 3)) % 4;
    for (const std::int64_t at : {one, group == 2 ? one : other})
      store_integer(element, values.data() + std::size_t(first + at) * bytes, int(random() % 3) + 1);
  }
  return values;
}

}  // namespace

TEST_CASE("a sample of every family passes the suite with a sparse A or B", "[gpu][sparse]") {
  const runtime::Context context(0);
  Signatures signatures;
  for (const auto& together :
      std::vector<std::vector<const char*>>{{"f16f32 NT sparsity=a_2to4", "f16f32 NN sparsity=a_2to4",
                                                "f16f32 NT sparsity=b_2to4", "f16f32 TT sparsity=b_2to4"},
          {"f16f32f16 NT sparsity=b_2to4", "f16f32f16 NT epilogue=bias_n+gelu sparsity=b_2to4",
              "f16f32f16 NT epilogue=bias_m+relu sparsity=a_2to4"},
          {"bf16f32bf16 NT sparsity=a_2to4", "bf16f32bf16 NT epilogue=c_apart sparsity=b_2to4",
              "bf16f32bf16 NN sparsity=a_2to4 scalars=device"},
          {"f16f16 NT sparsity=a_2to4"},
          {"tf32f32 NT sparsity=a_2to4", "tf32f32 NN sparsity=a_2to4", "tf32f32 NT sparsity=b_2to4",
              "tf32f32 TT sparsity=b_2to4"},
          {"s8s32 NT sparsity=a_2to4", "s8s32 NN sparsity=a_2to4", "s8s32 NT sparsity=b_2to4",
              "s8s32 TT sparsity=b_2to4"},
          {"u8s32 NT sparsity=b_2to4"}, {"s8s32f16 NT epilogue=scale_m+scale_n sparsity=b_2to4"},
          {"e4m3f32bf16 NT epilogue=scale_m1+scale_n1 sparsity=a_2to4", "e4m3f32bf16 NT sparsity=b_2to4"},
          {"e5m2f32 NT sparsity=a_2to4"}}) {
    auto& of_type = signatures.emplace_back();
    for (const char* text : together) of_type.push_back(signature_of(text));
  }
  verify_sample(context, 5, std::numeric_limits<double>::infinity(), signatures);
}

TEST_CASE(
    "a matrix that is 2:4 sparse is the same bit for bit when it was compressed and decompressed, -0, NaN and denormals too",
    "[gpu][sparse]") {
  const runtime::Context context(0);
  const Library library = library_for_sparse();
  for (const Scalar element :
      {Scalar::f16, Scalar::bf16, Scalar::tf32, Scalar::s8, Scalar::u8, Scalar::e4m3, Scalar::e5m2}) {
    const std::size_t bytes = size_bytes(element);
    const std::int64_t rows = 37, k = 140, group = sparse_group(element);
    INFO(name(element));
    std::vector<std::byte> dense = sparse_integers(element, rows, k, 3);
    const auto put = [&](std::int64_t index, std::uint32_t bits) {
      std::memcpy(dense.data() + std::size_t(index) * bytes, &bits, bytes);
    };
    const std::uint32_t sign = 1u << (8 * bytes - 1);
    for (std::int64_t i = 0; i < 12; ++i) {
      for (std::int64_t e = 0; e < group; ++e) put(i * group + e, 0);
    }
    put(0 * group + group - 1, sign);                        // −0 alone, and last in its group
    put(1 * group, is_integer(element) ? 5 : sign | 1);      // a denormal
    put(2 * group + 1, is_integer(element) ? 7 : sign - 1);  // NaN
    if (group == 4) {
      put(3 * group + 1, sign);
      put(3 * group + 3, 1);
      put(4 * group + 2, 1);
      put(4 * group + 3, sign);
    }
    const SparseMatrix matrix{element, rows, k};
    const runtime::DeviceBuffer from = on_device(dense), values(std::size_t(rows * k / 2) * bytes),
                                metadata(sparse_metadata_bytes(matrix)), back(dense.size());
    CHECK(sparse_check(library, nullptr, matrix, from.data()).groups == 0);
    sparse_compress(library, nullptr, matrix, from.data(), values.data(), metadata.data());
    CHECK(sparse_check_metadata(library, nullptr, matrix, metadata.data()).groups == 0);
    sparse_decompress(library, nullptr, matrix, values.data(), metadata.data(), back.data());
    context.synchronize();
    CHECK(from_device(back, dense.size()) == dense);
  }
}

TEST_CASE(
    "what is not 2:4 sparse is counted and its first group told, and pruned to what is largest", "[gpu][sparse]") {
  const runtime::Context context(0);
  const Library library = library_for_sparse();
  for (const Scalar element : {Scalar::f16, Scalar::tf32, Scalar::s8}) {
    INFO(name(element));
    const std::size_t bytes = size_bytes(element);
    const std::int64_t rows = 9, k = 24, group = sparse_group(element);
    std::vector<std::byte> dense(std::size_t(rows * k) * bytes);
    for (std::int64_t i = 0; i < rows * k; ++i)
      store_integer(element, dense.data() + std::size_t(i) * bytes, i % group == 0 ? 1 : 0);
    const SparseMatrix matrix{element, rows, k};
    for (const std::int64_t place : {std::int64_t(3 * k + 2 * group), std::int64_t(7 * k)}) {
      for (std::int64_t e = 0; e < group; ++e)
        store_integer(
            element, dense.data() + std::size_t(place + e) * bytes, int(e) % 2 == 0 ? int(e) + 1 : -5 - int(e));
    }
    runtime::DeviceBuffer on = on_device(dense);
    const SparseFault fault = sparse_check(library, nullptr, matrix, on.data());
    CHECK(fault.groups == 2);
    CHECK(fault.row == 3);
    CHECK(fault.column == 2 * group);
    sparse_prune(library, nullptr, matrix, on.data(), on.data());
    CHECK(sparse_check(library, nullptr, matrix, on.data()).groups == 0);
    const std::vector<std::byte> pruned = from_device(on, dense.size());
    for (std::int64_t e = 0; e < group; ++e) {
      const double left = tuner::decode(element, pruned.data() + std::size_t(7 * k + e) * bytes);
      CHECK(left == (e % 2 == 0 ? 0.0 : -5.0 - double(e)));
    }
  }
}

TEST_CASE("metadata whose places do not ascend are found", "[gpu][sparse]") {
  const runtime::Context context(0);
  const Library library = library_for_sparse();
  const SparseMatrix matrix{Scalar::bf16, 32, 64};
  std::vector<std::byte> words(sparse_metadata_bytes(matrix), std::byte{0x44});
  words[129] = std::byte{0x14};  // row 16, group 3: places 1 and 0
  const runtime::DeviceBuffer metadata = on_device(words);
  const SparseFault fault = sparse_check_metadata(library, nullptr, matrix, metadata.data());
  CHECK(fault.groups == 1);
  CHECK(fault.row == 16);
  CHECK(fault.column == 12);
}

TEST_CASE("the library multiplies by what it compressed, of A and of B, as a plain loop does", "[gpu][sparse][api]") {
  const runtime::Context context(0);
  const Library library = library_for_sparse();
  for (const char* text : {"f16f32 NT 200 136 128 sparsity=a_2to4", "f16f32 NT 130 72 96 sparsity=b_2to4",
           "bf16f32bf16 NN 64 200 64 sparsity=a_2to4", "s8s32 NT 100 96 192 sparsity=b_2to4",
           "tf32f32 NT 33 65 66 sparsity=a_2to4", "f16f32 NT 17 33 12 sparsity=b_2to4",
           "e4m3f32 NT 64 64 128 sparsity=a_2to4"}) {
    INFO(text);
    const Problem problem = tests::problem_of_text(text);
    const bool of_a = problem.sparsity == Sparsity::a;
    const Scalar element = problem.type.a;
    const std::size_t bytes = size_bytes(element);
    const std::int64_t rows = of_a ? problem.m : problem.n, k = problem.k;
    const std::vector<std::byte> dense = sparse_integers(element, rows, k, 5);
    const std::int64_t other_rows = of_a ? problem.b_rows() : problem.a_rows(),
                       other_cols = of_a ? problem.b_cols() : problem.a_cols();
    std::vector<std::byte> other(std::size_t(other_rows * other_cols) * bytes);
    for (std::int64_t i = 0; i < other_rows * other_cols; ++i)
      store_integer(element, other.data() + std::size_t(i) * bytes, int(i * 7 % 3) + (element == Scalar::u8 ? 0 : -1));
    const SparseMatrix matrix{element, rows, k};
    const runtime::DeviceBuffer from = on_device(dense), with = on_device(other),
                                values(std::size_t(rows * k / 2) * bytes + 16), metadata(sparse_metadata_bytes(matrix));
    const runtime::DeviceBuffer d(std::size_t(problem.m * problem.n) * size_bytes(problem.type.output));
    sparse_compress(library, nullptr, matrix, from.data(), values.data(), metadata.data());
    Operands operands;
    operands.a = of_a ? values.data() : with.data();
    operands.b = of_a ? with.data() : values.data();
    operands.d = d.data();
    operands.metadata = metadata.data();
    library.gemm(nullptr, problem, operands);
    context.synchronize();
    const std::vector<std::byte> got = from_device(d, d.size());
    const bool b_by_rows = problem.trans.b;
    double worst = 0;
    for (std::int64_t i = 0; i < problem.m; ++i) {
      for (std::int64_t j = 0; j < problem.n; ++j) {
        double sum = 0;
        for (std::int64_t q = 0; q < k; ++q) {
          const std::byte* x =
              of_a ? dense.data() + std::size_t(i * k + q) * bytes : other.data() + std::size_t(i * k + q) * bytes;
          const std::byte* y = !of_a ? dense.data() + std::size_t(j * k + q) * bytes
                                     : other.data() + std::size_t(b_by_rows ? j * k + q : q * problem.n + j) * bytes;
          sum += tuner::decode(element, x) * tuner::decode(element, y);
        }
        worst = std::max(
            worst, std::abs(sum - load_output(problem.type.output,
                                      got.data() + std::size_t(i * problem.n + j) * size_bytes(problem.type.output))));
      }
    }
    CHECK(worst == 0);
  }
}

TEST_CASE("what a run of a sparse problem lacks is told in one line, and nothing is launched", "[gpu][sparse][api]") {
  const runtime::Context context(0);
  const Library library = library_for_sparse();
  const Problem problem = tests::problem_of_text("f16f32 NT 64 64 64 sparsity=a_2to4");
  const runtime::DeviceBuffer memory(1 << 16);
  Operands operands;
  operands.a = memory.data();
  operands.b = memory.data() + 8192;
  operands.d = memory.data() + 32768;
  const auto error = [&] {
    try {
      library.gemm(nullptr, problem, operands);
    } catch (const Error& what) {
      return std::string(what.what());
    }
    return std::string("none");
  };
  CHECK(error().find("metadata") != std::string::npos);
  operands.metadata = memory.data() + 24576 + 4;
  CHECK(error().find("16 of metadata") != std::string::npos);
  operands.metadata = memory.data() + 32768;
  CHECK(error().find("overlaps") != std::string::npos);
  tilesmith_sparse_matrix matrix;
  CHECK(tilesmith_sparse_matrix_init(&matrix, "f16", 8, 10) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()) == "k is 10: expected a multiple of 4, up to 268435456");
  CHECK(tilesmith_sparse_matrix_init(&matrix, "f64", 8, 8) == TILESMITH_BAD_ARGUMENT);
  REQUIRE(tilesmith_sparse_matrix_init(&matrix, "f16", 8, 64) == TILESMITH_OK);
  std::uint64_t bytes = 0;
  CHECK(tilesmith_sparse_metadata_bytes(&matrix, &bytes) == TILESMITH_OK);
  CHECK(bytes == 128);
}

}  // namespace tilesmith::test_sparse
