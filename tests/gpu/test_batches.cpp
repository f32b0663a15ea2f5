// Batches, strided and by pointers, through the library on a device, against sums of f64 on the host.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kernels/problem/operand.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith.h"
#include "tests/catch.hpp"
#include "tests/gpu/device_problem.hpp"
#include "tests/gpu/family_sample.hpp"
#include "tests/gpu/small_store.hpp"

namespace tilesmith::test_batches {
using namespace tilesmith::test;

namespace {

/// One matrix of all entries in device memory, of small integers; its host twin has NaN where no entry has an element.
class DeviceBatch {
 public:
  DeviceBatch(const OperandMatrix& of, std::uint32_t seed)
      : of_(of), host_(std::size_t(of.bytes()) / size_bytes(of.element), std::nan("")) {
    std::uint32_t state = seed * 2654435761u;
    std::vector<std::byte> raw(std::size_t(of.bytes()), std::byte{0xff});
    for (std::int64_t entry = 0; entry < of.matrices(); ++entry) {
      for (std::int64_t i = 0; i < of.rows; ++i) {
        for (std::int64_t j = 0; j < of.cols; ++j) {
          state = state * 1664525u + 1013904223u;
          const int value = int((state >> 16) % 3);
          const std::size_t at = place(entry, i, j);
          host_[at] = value;
          store_integer(of.element, raw.data() + at * size_bytes(of.element), value);
        }
      }
    }
    device_ = runtime::DeviceBuffer(raw.size());
    device_.upload(raw);
  }

  std::size_t place(std::int64_t entry, std::int64_t i, std::int64_t j) const {
    return std::size_t(entry * of_.entry_stride + i * of_.row_stride + j);
  }
  double at(std::int64_t entry, std::int64_t i, std::int64_t j) const { return host_[place(entry, i, j)]; }
  void* data() const { return device_.data(); }
  std::vector<std::byte> download() const {
    std::vector<std::byte> raw(device_.size());
    device_.download(raw);
    return raw;
  }
  const std::vector<double>& host() const { return host_; }

 private:
  OperandMatrix of_;
  std::vector<double> host_;
  runtime::DeviceBuffer device_;
};

struct Batch {
  explicit Batch(const Problem& of)
      : problem(of),
        a(operand(of, OperandRole::a), 1),
        b(operand(of, OperandRole::b), 2),
        c(operand(of, OperandRole::c), 3) {}

  /// The largest error of C after one run; elements of no entry count as infinitely wrong where they changed.
  double max_error(double alpha, double beta) const {
    const Scalar output = problem.type.output;
    const std::vector<std::byte> raw = c.download();
    std::vector<bool> is_element(c.host().size(), false);
    double worst = 0;
    for (std::int64_t entry = 0; entry < problem.batch; ++entry) {
      for (std::int64_t i = 0; i < problem.m; ++i) {
        for (std::int64_t j = 0; j < problem.n; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < problem.k; ++k) {
            const double in_a = problem.trans.a ? a.at(entry, k, i) : a.at(entry, i, k);
            sum += in_a * (problem.trans.b ? b.at(entry, j, k) : b.at(entry, k, j));
          }
          const std::size_t at = c.place(entry, i, j);
          is_element[at] = true;
          const double error =
              std::abs(load_output(output, raw.data() + at * size_bytes(output)) - (alpha * sum + beta * c.host()[at]));
          if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
        }
      }
    }
    for (std::size_t at = 0; at < is_element.size(); ++at) {
      const std::byte* const stored = raw.data() + at * size_bytes(output);
      for (std::size_t byte = 0; byte < size_bytes(output); ++byte) {
        if (!is_element[at] && stored[byte] != std::byte{0xff}) return INFINITY;
      }
    }
    return worst;
  }

  Problem problem;
  DeviceBatch a, b, c;
};

Library library_without_database() {
  LibraryOptions quiet;
  quiet.log_misses = false;
  return Library::without_database(quiet);
}

}  // namespace

TEST_CASE("gemm() computes every entry of a batch, and nothing between, whatever their strides", "[gpu][api]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  const Library library = library_without_database();
  for (const char* where :
      {
          "f16f32 NN 64 64 64 beta=any batch=17 batch_mode=strided",
          "bf16f32bf16 NT 33 47 24 beta=any batch=5 stride_a=0 batch_mode=strided",
          "f16f32 TN 70 31 65 beta=any batch=4 stride_b=0 batch_mode=strided",
          "tf32f32 TT 19 130 40 lda=24 ldb=48 ldc=136 beta=any batch=3 stride_a=1003 stride_b=6301 stride_c=2600 batch_mode=strided",
          "s8s32 NN 32 32 32 lda=160 ldb=160 ldc=160 beta=any batch=5 stride_a=32 stride_b=32 stride_c=32 batch_mode=strided",
          "f64f64 NN 5 7 9 beta=any batch=1 batch_mode=strided",
          "f16f32 NN 2 3 4 beta=any batch=70000 batch_mode=strided",
          "e4m3f32bf16 NT 128 128 64 beta=any batch=6 batch_mode=strided",
          "f16f32 TN 16 8 64 beta=any batch=4 stride_a=16 batch_mode=strided",  // windows that slide over A
          "bf16f32bf16 NT 40 24 64 beta=any batch=7 stride_a=64 stride_b=9 batch_mode=strided",
      }) {
    INFO(where);
    Batch batch(problem_of(where));
    context.synchronize();
    library.gemm(stream.get(), batch.problem, 1, batch.a.data(), batch.b.data(), 2, batch.c.data());
    stream.synchronize();
    CHECK(batch.max_error(1, 2) == 0);
  }
}

TEST_CASE("a batch of none does nothing, in C too, where a batch is right", "[gpu][api]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  library_without_database().gemm(
      stream.get(), problem_of("f16f32 NN 64 64 64 batch=0 batch_mode=strided"), 1, nullptr, nullptr, 0, nullptr);
  Batch batch(problem_of("bf16f32bf16 NN 48 40 32 beta=any batch=9 stride_b=0 batch_mode=strided"));
  context.synchronize();
  tilesmith_library* library = nullptr;
  REQUIRE(tilesmith_open(nullptr, 0, &library) == TILESMITH_OK);
  tilesmith_problem in_c = TILESMITH_PROBLEM;
  REQUIRE(
      tilesmith_problem_parse(&in_c, "bf16f32bf16 NN 48 40 32 batch=9 stride_b=0 batch_mode=strided") == TILESMITH_OK);
  const float beta = 1;
  tilesmith_run run = {sizeof run, nullptr, {batch.a.data(), batch.b.data(), nullptr, batch.c.data()}};
  run.operands[TILESMITH_BETA] = &beta;
  CHECK(tilesmith_gemm(library, stream.get(), &in_c, &run) == TILESMITH_OK);
  stream.synchronize();
  CHECK(batch.max_error(1, 1) == 0);
  tilesmith_close(library);
}

namespace {

/// The addresses of a matrix's entries, from entry `first` on and then from 0.
runtime::DeviceBuffer addresses(const Problem& problem, OperandRole role, void* of, std::int64_t first) {
  const OperandMatrix matrix = operand(problem, role);
  std::vector<std::byte*> at;
  for (std::int64_t i = 0; i < problem.batch; ++i)
    at.push_back(
        static_cast<std::byte*>(of) + storage_bytes(matrix.element, (i + first) % problem.batch * matrix.entry_stride));
  runtime::DeviceBuffer table(at.size() * sizeof(at[0]));
  table.upload(std::as_bytes(std::span<std::byte*>(at)));
  return table;
}

}  // namespace

TEST_CASE("matrices of a batch are found by pointers, in whatever order, and a captured graph takes new ones",
    "[gpu][api][pointers]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  const Library library = library_without_database();
  for (const char* where : {
           "f16f32 NN 64 64 64 beta=any batch=17 batch_mode=pointers",
           "bf16f32bf16 NT 33 47 24 beta=any batch=5 batch_mode=pointers",
           "s8s32 TN 32 32 32 lda=160 beta=any batch=6 batch_mode=pointers",
           "f64f64 TT 5 7 9 beta=any batch=1 batch_mode=pointers",
           "f16f32 NN 2 3 4 beta=any batch=70000 batch_mode=pointers",
           "f32f32 NT 130 140 72 beta=any align=4 batch=3 batch_mode=pointers",
       }) {
    INFO(where);
    Batch batch(problem_of(where)), other(problem_of(where));
    runtime::DeviceBuffer a = addresses(batch.problem, OperandRole::a, batch.a.data(), 2),
                          b = addresses(batch.problem, OperandRole::b, batch.b.data(), 2),
                          c = addresses(batch.problem, OperandRole::c, batch.c.data(), 2);
    const GemmPlan plan = library.plan(batch.problem);
    runtime::DeviceBuffer workspace;
    if (plan.workspace_bytes() > 0) workspace = runtime::DeviceBuffer(plan.workspace_bytes());
    context.synchronize();
    const runtime::Graph graph = runtime::Graph::capture(
        stream, [&] { plan.run(stream.get(), 1, a.data(), b.data(), 2, c.data(), workspace.data()); });
    graph.launch(stream);
    stream.synchronize();
    CHECK(batch.max_error(1, 2) == 0);
    const auto copy = [](runtime::DeviceBuffer& to, const runtime::DeviceBuffer& from) {
      std::vector<std::byte> raw(from.size());
      from.download(raw);
      to.upload(raw);
    };
    copy(a, addresses(other.problem, OperandRole::a, other.a.data(), 0));
    copy(b, addresses(other.problem, OperandRole::b, other.b.data(), 0));
    copy(c, addresses(other.problem, OperandRole::c, other.c.data(), 0));
    context.synchronize();
    graph.launch(stream);
    stream.synchronize();
    CHECK(other.max_error(1, 2) == 0);
    CHECK(batch.max_error(1, 2) == 0);
  }
}

TEST_CASE("of pointers, another array as C needs an epilogue", "[gpu][api][pointers]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  const Library library = library_without_database();
  for (const bool apart : {false, true}) {
    Problem problem = problem_of("f16f32 NN 40 48 32 beta=any batch=4 batch_mode=pointers");
    problem.epilogue.c_apart = apart;
    Batch batch(problem);
    const DeviceBatch d(operand(problem, OperandRole::d), 9);
    const runtime::DeviceBuffer a = addresses(problem, OperandRole::a, batch.a.data(), 0),
                                b = addresses(problem, OperandRole::b, batch.b.data(), 0),
                                c = addresses(problem, OperandRole::c, batch.c.data(), 0),
                                to = addresses(problem, OperandRole::d, d.data(), 0);
    context.synchronize();
    const Operands operands{.a = a.data(), .b = b.data(), .beta = 1, .c = c.data(), .d = to.data()};
    if (!apart) {
      CHECK_THROWS_WITH(library.gemm(stream.get(), problem, operands), Catch::Contains("another array of pointers"));
      continue;
    }
    library.gemm(stream.get(), problem, operands);
    stream.synchronize();
    const std::vector<std::byte> result = d.download(), before = batch.c.download();
    Batch same(problem);  // the same integers, in place
    const runtime::DeviceBuffer in_place = addresses(problem, OperandRole::c, same.c.data(), 0);
    library.gemm(stream.get(), problem,
        Operands{.a = a.data(), .b = b.data(), .beta = 1, .c = in_place.data(), .d = in_place.data()});
    stream.synchronize();
    CHECK(same.max_error(1, 1) == 0);
    CHECK(same.c.download() == result);
    CHECK(before == Batch(problem).c.download());
  }
}

TEST_CASE(
    "by pointers, with alpha of 0 only C is scaled, and arrays of A and B need not be there", "[gpu][api][pointers]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  Batch batch(problem_of("f16f32 NN 70 48 32 beta=any batch=5 batch_mode=pointers"));
  const runtime::DeviceBuffer c = addresses(batch.problem, OperandRole::c, batch.c.data(), 1);
  context.synchronize();
  library_without_database().gemm(
      stream.get(), batch.problem, Operands{.alpha = 0, .beta = 2, .c = c.data(), .d = c.data()});
  stream.synchronize();
  CHECK(batch.max_error(0, 2) == 0);
}

TEST_CASE("a sample of every family passes the suite with batches by pointers", "[gpu][batch][pointers]") {
  const runtime::Context context(0);
  Signatures signatures;
  for (const char* text : {"f16f32 NN batch_mode=pointers", "bf16f32bf16 NT epilogue=bias_n+gelu batch_mode=pointers",
           "f32f32 TN batch_mode=pointers", "s8s32 TT batch_mode=pointers", "f64f64 NN batch_mode=pointers",
           "bf16f32bf16 NN epilogue=swiglu batch_mode=pointers", "tf32f32 NT batch_mode=pointers scalars=device"}) {
    signatures.push_back({signature_of(text)});
  }
  verify_sample(context, 9, std::numeric_limits<double>::infinity(), signatures);
}

}  // namespace tilesmith::test_batches
