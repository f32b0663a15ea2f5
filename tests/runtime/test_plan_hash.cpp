// Whether what runs is the same, after the source that it was made from changed.
#include "kernels/device_limits.hpp"
#include "kernels/family.hpp"
#include "runtime/compiler.hpp"
#include "runtime/machine_code.hpp"
#include "runtime/plan_hash.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/planned_family.hpp"

using namespace tilesmith;
using namespace tilesmith::runtime;

namespace {

bool no_nvrtc() {
  if (nvrtc_unavailable_because().empty()) return false;
  WARN("skipped: " << nvrtc_unavailable_because());
  return true;
}

std::vector<std::byte> cubin_of(const std::string& source, const std::vector<std::string>& more = {}) {
  std::vector<std::string> options{"--gpu-architecture=sm_87"};
  options.insert(options.end(), more.begin(), more.end());
  const SourceBuild build = compile_source(source, "kernels.cu", "first", options);
  INFO(build.log);
  REQUIRE(build.ok);
  return build.cubin;
}

/// Two kernels in a module.
std::string source(const std::string& first, const std::string& second, const std::string& before = "") {
  return before + "extern \"C\" __global__ void first(float* x) {" + first +
         "}\nextern \"C\" __global__ void second(float* x) {" + second + "}\n";
}

const std::string kDouble = "x[threadIdx.x] *= 2;", kTriple = "x[threadIdx.x] *= 3;";

Config mma_config(int pack) {
  const KernelTarget target{*find_type_pair("f16f32"), {}, *limits_for_arch("sm_87")};
  for (Config config : find_family("mma")->seeds(target, packed_problem(target.type, target.trans, 128, 128, 128))) {
    config.set("pack", pack);
    config.set("frag_buffers", 2);
    if (!illegal_because(*find_family("mma"), config, target)) return config;
  }
  FAIL("no such config");
  return Config("mma", {});
}

}  // namespace

TEST_CASE("a kernel's machine code is its own, whatever the other kernels of the module are") {
  if (no_nvrtc()) return;
  const auto both = cubin_of(source(kDouble, kTriple)), again = cubin_of("// other words\n" + source(kDouble, kTriple));
  const auto other = cubin_of(source(kDouble, kTriple + kTriple));
  REQUIRE(machine_code(both, "first"));
  REQUIRE(machine_code(both, "second"));
  CHECK(machine_code(both, "first") != machine_code(both, "second"));
  CHECK(machine_code(both, "first") == machine_code(again, "first"));
  CHECK(machine_code(both, "first") == machine_code(other, "first"));
  CHECK(machine_code(both, "second") != machine_code(other, "second"));
  const auto three =
      cubin_of(source(kDouble, kTriple) +
               "extern \"C\" __global__ void third(float* x) { __shared__ volatile float s[9]; s[0] = *x; }");
  CHECK(machine_code(both, "first") == machine_code(three, "first"));
  CHECK(machine_code(both, "second") == machine_code(three, "second"));
}

TEST_CASE("variables of the module, which constants of a template are too, belong to the kernels that read them") {
  if (no_nvrtc()) return;
  const std::string values = "__device__ float d[2] = {1, 2};", reads = "x[threadIdx.x] *= d[threadIdx.x];";
  const auto plain = cubin_of(source(kDouble, kTriple)), named = cubin_of(source(kDouble, kTriple, "constexpr int kNamed = 7;"));
  const auto other = cubin_of(source(kDouble, reads, values));
  CHECK(named.size() > plain.size());  // the constant is there
  CHECK(machine_code(plain, "first") == machine_code(named, "first"));
  CHECK(machine_code(plain, "first") == machine_code(other, "first"));
}

TEST_CASE("what a kernel takes of the device belongs to its machine code") {
  if (no_nvrtc()) return;
  const auto of = [](const std::string& text) { return machine_code(cubin_of(text), "first"); };
  // More shared memory, a promise of threads, a constant that is another: the instructions are the same.
  CHECK(of(source("__shared__ volatile float s[64]; s[threadIdx.x] = x[0];" + kDouble, kTriple)) !=
        of(source("__shared__ volatile float s[128]; s[threadIdx.x] = x[0];" + kDouble, kTriple)));
  CHECK(of("extern \"C\" __global__ void __launch_bounds__(64) first(float* x) {" + kDouble + "}") !=
        of("extern \"C\" __global__ void __launch_bounds__(128) first(float* x) {" + kDouble + "}"));
  CHECK(of(source("x[threadIdx.x] *= c[threadIdx.x];", kTriple, "__constant__ float c[2] = {1, 2};")) !=
        of(source("x[threadIdx.x] *= c[threadIdx.x];", kTriple, "__constant__ float c[2] = {1, 3};")));
  CHECK(of(source("const float* p = x[9] > 0 ? c : x; *x = p[threadIdx.x];", kTriple, "__constant__ float c[2] = {1, 2};")) !=
        of(source("const float* p = x[9] > 0 ? c : x; *x = p[threadIdx.x];", kTriple, "__constant__ float c[2] = {1, 3};")));
  CHECK(of(source("x[threadIdx.x] *= d[threadIdx.x];", kTriple, "__device__ float d[2] = {1, 2};")) !=
        of(source("x[threadIdx.x] *= d[threadIdx.x];", kTriple, "__device__ float d[2] = {1, 3};")));
  // Registers alone, as the module tells them.
  const std::string sum =
      "float s = 0, y[8]; for (int i = 0; i < 8; ++i) y[i] = x[i * 32]; for (float f : y) s += f; x[0] = s;";
  CHECK(machine_code(cubin_of(source(sum, kTriple)), "first") !=
        machine_code(cubin_of(source(sum, kTriple), {"--maxrregcount=16"}), "first"));
}

TEST_CASE("what is no cubin, or a damaged one, has no machine code") {
  if (no_nvrtc()) return;
  const auto whole = cubin_of(source(kDouble, kTriple));
  CHECK_FALSE(machine_code(whole, "third"));
  CHECK_FALSE(machine_code(whole, ""));
  CHECK_FALSE(machine_code({}, "first"));
  const SourceBuild ptx =
      compile_source(source(kDouble, kTriple), "kernels.cu", "first", {"--gpu-architecture=compute_87"});
  REQUIRE(ptx.ok);
  CHECK_FALSE(machine_code(ptx.cubin, "first"));
  // Cut anywhere, there is none, or all that matters is still there.
  const auto code = machine_code(whole, "first");
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const std::vector<std::byte> part(whole.begin(), whole.begin() + std::ptrdiff_t(size));
    const auto of_part = machine_code(part, "first");
    CHECK((!of_part || of_part == code));
    CHECK((size > whole.size() / 2 || !of_part));
  }
  for (std::size_t at = 0; at < 64; ++at) {  // a header that lies
    auto lying = whole;
    lying[at] = std::byte(0xff);
    const auto of_lying = machine_code(lying, "first");
    CHECK((!of_lying || of_lying == code));
  }
}

TEST_CASE("a plan's hash is of the launches and of the kernels that they name") {
  if (no_nvrtc()) return;
  const KernelTarget target{*find_type_pair("f16f32"), {}, *limits_for_arch("sm_87")};
  const Problem problem = packed_problem(target.type, target.trans, 128, 128, 128);
  const Problem larger = packed_problem(target.type, target.trans, 256, 128, 128);
  const Config plain = mma_config(0), packed = mma_config(3);
  const db::KernelBuild build = compile(plain, target), other = compile(packed, target);
  REQUIRE(build.status == db::Status::ok);
  REQUIRE(other.status == db::Status::ok);
  const std::string hash = plan_hash(plain, problem, build.cubin);
  CHECK(hash.size() == 32);
  CHECK(hash == plan_hash(plain, problem, compile(plain, target).cubin));
  CHECK(hash != plan_hash(plain, larger, build.cubin));    // other grids
  CHECK(hash != plan_hash(packed, problem, other.cubin));  // two kernels
  CHECK(plan_hash(plain, problem, {}).empty());
  // 129 columns of 16 bits begin beside 16 bytes, which this config does not copy.
  CHECK(plan_hash(plain, packed_problem(target.type, target.trans, 129, 129, 129), build.cubin).empty());
  CHECK(plan_hash(plain, problem, cubin_of(source(kDouble, kTriple))).empty());  // has no kernel `gemm`
}

TEST_CASE("a plan's hash tells launches apart that differ in how blocks come") {
  if (no_nvrtc()) return;
  Fixture f;  // its family makes the launches that it is told
  const auto cubin = cubin_of(source(kDouble, kTriple));
  const auto hash = [&](const auto& change) {
    Launch launch;
    launch.entry = "first";
    launch.grid.x = 12;
    change(launch);
    f.sequence().launches = {launch};
    return plan_hash(Config("planned", {}), f.problem, cubin);
  };
  const std::string plain = hash([](Launch&) {});
  REQUIRE_FALSE(plain.empty());
  CHECK(plain != hash([](Launch& launch) { launch.neighbours = 2; }));
  CHECK(plain != hash([](Launch& launch) { launch.overlaps_previous = true; }));
  CHECK(plain != hash([](Launch& launch) { launch.cluster.x = 2; }));
  CHECK(plain == hash([](Launch&) {}));
}
