// Kernels are found in a compiled module by their names in the source.
#include <algorithm>
#include <span>

#include "runtime/compile/compiler.hpp"
#include "runtime/compile/kernel_symbols.hpp"
#include "tests/catch.hpp"

namespace tilesmith::test_kernel_symbols {

namespace {

constexpr const char* kSource = R"cu(
extern "C" __global__ void plain(float* x) { x[0] = 1; }
__global__ void mangled(float* x, void (*unused)(int)) { x[0] = 2; }
namespace sums {
template <int block, bool flag> __global__ void add(float* x) { x[0] = block + flag; }
}
template <typename T, unsigned width> __global__ void scale(T* x) { x[0] = T(width); }
template <int a> struct Pair {};
template <typename P, long n> __global__ void paired(P*, float* x) { x[0] = float(n); }
)cu";

}  // namespace

TEST_CASE("kernels of a module are found by their names in the source, in a cubin and in PTX") {
  const std::vector<std::string> instances{"plain", "mangled", "sums::add<64, true>", "sums::add<64,false>",
      "sums::add<128, 0>", "scale<float, 4>", "scale<double, 4>", "paired<Pair<1>, -3>", "paired<Pair<2>, -3>"};
  for (const char* arch : {"sm_87", "compute_87", "sm_90a"}) {
    const runtime::SourceBuild built = runtime::compile_source(
        kSource, "kernels.cu", "", {std::string("--gpu-architecture=") + arch, "--std=c++17"}, instances);
    INFO(arch << ": " << built.log);
    REQUIRE(built.ok);
    const std::vector<std::string> symbols = runtime::kernel_symbols(built.cubin);
    CHECK(symbols.size() == instances.size());
    std::vector<std::string> found;
    for (const std::string& instance : instances) {
      INFO(instance);
      const auto symbol = runtime::symbol_of(symbols, instance);
      REQUIRE(symbol);
      CHECK(std::ranges::find(symbols, *symbol) != symbols.end());
      CHECK(std::ranges::find(found, *symbol) == found.end());
      found.push_back(*symbol);
    }
    CHECK(runtime::symbol_of(symbols, "sums::add<64, 1>") == runtime::symbol_of(symbols, "sums::add<64, true>"));
    for (const char* none : {"add<64, true>", "gone", "sums::add<32, true>", "sums::add", "scale<float, 8>"}) {
      INFO(none);
      CHECK_FALSE(runtime::symbol_of(symbols, none));
    }
  }
}

TEST_CASE("a cubin tells the sizes of its kernels' parameters") {
  constexpr const char* kTaking =
      "struct Five { int at[5]; };\n"
      "template <int n> __global__ void takes(float* a, int b, double c, Five d, char e) { "
      "a[0] = b + c + d.at[3] + e + n; }\n"
      "extern \"C\" __global__ void nothing() {}\n";
  for (const char* arch : {"sm_87", "sm_90a"}) {
    const runtime::SourceBuild built = runtime::compile_source(
        kTaking, "kernels.cu", "", {std::string("--gpu-architecture=") + arch}, {"takes<3>", "nothing"});
    REQUIRE(built.ok);
    const std::string symbol = runtime::symbol_of(runtime::kernel_symbols(built.cubin), "takes<3>").value();
    CHECK(runtime::parameter_bytes(built.cubin, symbol) == std::vector<std::size_t>{8, 4, 8, 20, 1});
    CHECK(runtime::parameter_bytes(built.cubin, "nothing").empty());
    CHECK(runtime::parameter_bytes(built.cubin, "gone").empty());
    for (std::size_t size = 0; size < built.cubin.size(); size += 89)
      CHECK(runtime::parameter_bytes(std::span(built.cubin).first(size), symbol).size() <= 5);
  }
}

TEST_CASE("what is no module has no kernels, however it is cut") {
  CHECK(runtime::kernel_symbols({}).empty());
  const runtime::SourceBuild built =
      runtime::compile_source(kSource, "kernels.cu", "", {"--gpu-architecture=sm_87"}, {"plain"});
  REQUIRE(built.ok);
  for (std::size_t size = 0; size < built.cubin.size(); size += 97)
    CHECK(runtime::kernel_symbols(std::span(built.cubin).first(size)).size() <= 2);
}

}  // namespace tilesmith::test_kernel_symbols
