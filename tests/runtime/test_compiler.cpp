#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "kernels/families/family.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/compile/cubin_info.hpp"
#include "runtime/compile/nvrtc.hpp"
#include "tests/catch.hpp"

namespace tilesmith::runtime {
namespace {

KernelTarget target_of(const char* arch, const char* pair = "f16f32") {
  return {{*find_type_pair(pair), {}}, *limits_for_arch(arch)};
}

bool is_elf(const std::vector<std::byte>& cubin) {
  return cubin.size() > 4 && std::memcmp(cubin.data(),
                                 "\x7f"
                                 "ELF",
                                 4) == 0;
}

SourceBuild build(const std::string& source, const char* arch = "sm_87", const std::string& entry = "gemm") {
  return compile_source(source, "test.cu", entry, compiler_options(target_of(arch)));
}

constexpr const char* kSquare = R"(
extern "C" __global__ void gemm(float* p) { p[threadIdx.x] *= p[threadIdx.x]; }
)";

// 160 values live across a barrier, 64 registers a thread.
constexpr const char* kSpilling = R"(
extern "C" __global__ void __launch_bounds__(1024) gemm(float* p) {
  float r[160];
#pragma unroll
  for (int i = 0; i < 160; ++i) r[i] = p[i * threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 160; ++i) p[i + blockIdx.x * threadIdx.x] = r[i] * r[(i * 7) % 160] + r[(i * 5 + 3) % 160];
}
)";

// An array indexed at run time lives in local memory: a stack frame, and no spill.
constexpr const char* kStackFrame = R"(
extern "C" __global__ void gemm(float* p, int j) {
  float r[64];
  for (int i = 0; i < 64; ++i) r[i] = p[i];
  r[j] = 3;
  p[0] = r[j + 1] + r[p[3] > 0];
}
)";

constexpr const char* kSources[] = {kSquare, kSpilling, kStackFrame, "extern \"C\" __global__ void gemm( { }\n"};

/// A family whose parameter `source` picks one of the texts above.
class PlantedFamily final : public Family {
 public:
  std::string_view name() const override { return "planted"; }
  std::string_view summary() const override { return "sources that a test wrote"; }
  bool supports(const KernelTarget& target) const override { return target.limits.sm >= 80; }
  std::vector<Parameter> parameters(const KernelTarget&) const override {
    return {{"source", {0, 1, 2, 3, 4}, "which text"}};
  }
  std::vector<Rule> rules(const KernelTarget&) const override {
    return {{"four texts", "there is no fifth text", [](const Config& c) { return c.at("source") < 4; }}};
  }
  std::optional<std::string> refusal(const Config&, const Problem&) const override { return std::nullopt; }
  LaunchSequence launches(const Config&, const Problem&) const override { return {}; }
  std::string source(const Config& config, const KernelTarget&) const override { return kSources[config.at("source")]; }
};

Config planted(int source) {
  if (find_family("planted") == nullptr) register_family(std::make_unique<PlantedFamily>());
  return Config("planted", {{"source", source}});
}

}  // namespace

TEST_CASE("NVRTC is found and tells its version") {
  REQUIRE(nvrtc_unavailable_because() == "");
  CHECK(nvrtc_version() == std::to_string(nvrtc().major) + "." + std::to_string(nvrtc().minor));
  CHECK(nvrtc().major >= 12);
  CHECK_FALSE(nvrtc().include_folders.empty());
}

TEST_CASE("a small kernel becomes a cubin for each architecture") {
  for (const char* arch : {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_120"}) {
    const SourceBuild built = build(kSquare, arch);
    CAPTURE(arch, built.log);
    REQUIRE(built.ok);
    CHECK(is_elf(built.cubin));
    CHECK(built.registers > 0);
    CHECK(built.spill_bytes == 0);
  }
}

TEST_CASE("a virtual architecture gives PTX text") {
  const SourceBuild built = compile_source(kSquare, "test.cu", "gemm", {"--gpu-architecture=compute_87"});
  REQUIRE(built.ok);
  const std::string text(reinterpret_cast<const char*>(built.cubin.data()), built.cubin.size());
  CHECK(text.find(".target sm_87") != std::string::npos);
}

TEST_CASE("the embedded headers are included by their names, and the toolkit's from its folder") {
  const SourceBuild built = build(R"(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <mma.h>
#include "kernels/shared/gemm_args.cuh"
extern "C" __global__ void gemm(tilesmith::GemmArgs args) {
  __shared__ float sums[100];
  sums[threadIdx.x] = static_cast<const __half*>(args.a)[threadIdx.x];
  __syncthreads();
  static_cast<float*>(args.d)[threadIdx.x] = args.alpha.f32 * sums[99 - threadIdx.x];
}
)");
  CAPTURE(built.log);
  REQUIRE(built.ok);
  CHECK(built.static_smem_bytes == 400);
}

TEST_CASE("a source that does not compile gives the line that tells why") {
  const SourceBuild built = build("extern \"C\" __global__ void gemm(float* p) {\n  *p = undeclared;\n}\n");
  CHECK_FALSE(built.ok);
  CHECK(built.cubin.empty());
  const std::string line = first_error_line(built.log);
  CHECK(line.find("test.cu(2): error") != std::string::npos);
  CHECK(line.find("undeclared") != std::string::npos);
  CHECK(line.find('\n') == std::string::npos);
}

TEST_CASE("an option that the compiler does not know is a failure with its words") {
  const SourceBuild built = compile_source(kSquare, "test.cu", "gemm", {"--gpu-architecture=sm_12345"});
  CHECK_FALSE(built.ok);
  CHECK(first_error_line(built.log).find("error") != std::string::npos);
}

TEST_CASE("spills are seen, and a stack frame is not taken for one") {
  const SourceBuild spilling = build(kSpilling);
  REQUIRE(spilling.ok);
  CHECK(spilling.registers <= 64);
  CHECK(spilling.spill_bytes > 0);
  const SourceBuild frame = build(kStackFrame);
  REQUIRE(frame.ok);
  CHECK(frame.spill_bytes == 0);
}

TEST_CASE("resources are those of the kernel asked for") {
  const std::string both = std::string(kSpilling) + "extern \"C\" __global__ void pack(float* p) { *p = 1; }\n";
  CHECK(build(both, "sm_87", "pack").spill_bytes == 0);
  CHECK(build(both, "sm_87", "gemm").spill_bytes > 0);
}

TEST_CASE("a config's compilation ends as ok, spilled, compile_failed or illegal, each with its message") {
  const KernelTarget target = target_of("sm_87");
  const db::KernelBuild ok = compile(planted(0), target);
  CHECK(ok.status == db::Status::ok);
  CHECK(ok.message.empty());
  CHECK(is_elf(ok.cubin));
  CHECK(ok.key.config == planted(0));
  CHECK(ok.key.arch == "sm_87");
  CHECK(ok.key.nvrtc_version == nvrtc_version());

  const db::KernelBuild spilled = compile(planted(1), target);
  CHECK(spilled.status == db::Status::spilled);
  CHECK(spilled.spill_bytes > 0);
  CHECK(spilled.message.find("gemm spills") == 0);
  CHECK(is_elf(spilled.cubin));

  const db::KernelBuild frame = compile(planted(2), target);
  CHECK(frame.status == db::Status::ok);
  CHECK(frame.message.find("stack frame of 256 bytes") != std::string::npos);

  const db::KernelBuild failed = compile(planted(3), target);
  CHECK(failed.status == db::Status::compile_failed);
  CHECK(failed.message.find("planted.cu(1): error") != std::string::npos);
  CHECK(failed.cubin.empty());

  const db::KernelBuild illegal = compile(planted(4), target);
  CHECK(illegal.status == db::Status::illegal);
  CHECK(illegal.message == "four texts: there is no fifth text");
  CHECK(compile(Config("nosuch", {}), target).status == db::Status::illegal);
}

TEST_CASE("four threads compile at the same time") {
  const Config configs[] = {planted(0), planted(1), planted(2), planted(3)};
  const db::Status expected[] = {db::Status::ok, db::Status::spilled, db::Status::ok, db::Status::compile_failed};
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      if (compile(configs[i], target_of(i % 2 == 0 ? "sm_87" : "sm_90a")).status == expected[i]) ++right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 4);
}

TEST_CASE("the generic config compiles without spills for Orin and Hopper") {
  for (const char* arch : {"sm_87", "sm_90a"}) {
    const KernelTarget target = target_of(arch, "s8s32");
    const db::KernelBuild built = compile(generic_config(target), target);
    CAPTURE(arch, built.message);
    CHECK(built.status == db::Status::ok);
  }
}

TEST_CASE("canonical options hold the architecture and no path") {
  const std::string options = compiler_options_text(target_of("sm_90a"));
  CHECK(options == "--gpu-architecture=sm_90a --std=c++17 --device-as-default-execution-space");
  CHECK(kernel_key(planted(0), target_of("sm_87")).compiler_options == compiler_options_text(target_of("sm_87")));
}

TEST_CASE("the compiler's log is read kernel by kernel") {
  const std::vector<KernelResources> kernels = parse_resources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'plain' for 'sm_87'\n"
      "ptxas info    : Function properties for plain\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 9 registers, used 1 barriers, 400 bytes smem, 360 bytes cmem[0]\n"
      "ptxas info    : Compile time = 7.367 ms\n"
      "ptxas info    : Compiling entry function 'spill' for 'sm_87'\n"
      "ptxas info    : Function properties for spill\n"
      "    648 bytes stack frame, 836 bytes spill stores, 1144 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 648 bytes cumulative stack size, 360 bytes cmem[0]\n");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].entry == "plain");
  CHECK(kernels[0].registers == 9);
  CHECK(kernels[0].static_smem_bytes == 400);
  CHECK(kernels[0].spill_bytes() == 0);
  CHECK(kernels[1].entry == "spill");
  CHECK(kernels[1].registers == 32);
  CHECK(kernels[1].stack_bytes == 648);
  CHECK(kernels[1].spill_bytes() == 836 + 1144);
  CHECK(parse_resources("").empty());
  CHECK(parse_resources("bytes stack frame\n registers\nCompiling entry function '\n").empty());
}

TEST_CASE("an NVRTC that would refuse any source says nothing of this one") {
  static int result;
  Nvrtc nvrtc;
  nvrtc.create = [](Nvrtc::Program*, const char*, const char*, int, const char* const*, const char* const*) {
    return 0;
  };
  nvrtc.destroy = [](Nvrtc::Program*) { return 0; };
  nvrtc.compile = [](Nvrtc::Program, int, const char* const*) { return result; };
  nvrtc.error_text = [](int) { return "NVRTC_ERROR"; };
  static constexpr char kLog[] = "nvrtc: error: failed to open libnvrtc-builtins.so.12.6\n";
  nvrtc.log_size = [](Nvrtc::Program, std::size_t* bytes) {
    *bytes = sizeof kLog;
    return 0;
  };
  nvrtc.log = [](Nvrtc::Program, char* text) {
    std::memcpy(text, kLog, sizeof kLog);
    return 0;
  };
  const ScopedNvrtc scoped(nvrtc);
  result = 7;  // its builtins are missing
  std::string said;
  try {
    build(kSquare);
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  CHECK(said == "nvrtcCompileProgram: NVRTC_ERROR: nvrtc: error: failed to open libnvrtc-builtins.so.12.6");
  result = 6;  // the source
  CHECK_FALSE(build(kSquare).ok);
}

TEST_CASE("an NVRTC that is too old for an architecture is asked for none of its kernels") {
  Nvrtc nvrtc;
  nvrtc.major = 12;
  nvrtc.minor = 6;
  const ScopedNvrtc scoped(nvrtc);
  CHECK(nvrtc_too_old_because(*limits_for_arch("sm_90a")).empty());
  const std::string line = "NVRTC 12.6 is too old for sm_120: expected 12.8 or later";
  CHECK(nvrtc_too_old_because(*limits_for_arch("sm_120")) == line);
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_120")};
  CHECK_THROWS_WITH(compile(generic_config(target), target),
      line);  // a record of the kernel would say that its source is at fault
}

TEST_CASE("the first error line is found behind warnings, and something is said of an empty log") {
  CHECK(first_error_line("a.cu(1): warning #177-D: unused\n  int x;\n\na.cu(9): error: expected a \";\"\n") ==
        "a.cu(9): error: expected a \";\"");
  CHECK(first_error_line("\nout of luck\n") == "out of luck");
  CHECK_FALSE(first_error_line("").empty());
}

}  // namespace tilesmith::runtime
