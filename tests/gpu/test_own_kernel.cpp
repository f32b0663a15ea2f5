// Kernels of one's own on the device: the examples that ship, and bugs planted in them.
#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <vector>

#include "kernels/families/user/load.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/compile/kernel_symbols.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/small_store.hpp"
#include "tests/kernel_folder.hpp"
#include "tuner/loop/tune.hpp"
#include "tuner/search/sample.hpp"
#include "tuner/verify/own_verifier.hpp"
#include "tuner/workers/device_evaluator.hpp"

namespace tilesmith::test_own_kernel_gpu {
using namespace tilesmith::test;

namespace {

const std::atomic<bool> kNeverStop{false};

struct Proving {
  runtime::Context context{0};
  tuner::OwnVerifier verifier{context};

  runtime::SourceBuild build(const own::Kernel& kernel, const Config& config) const {
    return runtime::compile_source(kernel.source(config), "own.cu", "",
        runtime::compiler_options({{}, context.info().limits}), kernel.entries(config));
  }

  /// At the proof sizes, then at the given ones; then with delays of some warps, which leave right ones right.
  db::Outcome outcome(
      const own::Kernel& kernel, const SizedKernel& sized, const Config& config, const runtime::SourceBuild& built) {
    INFO(built.log);
    REQUIRE(built.ok);
    const tuner::OwnModule module{
        std::make_shared<const runtime::Module>(built.cubin), runtime::kernel_symbols(built.cubin)};
    db::Outcome outcome = verifier.at_proof_sizes(module, kernel, config);
    if (outcome.status == db::Status::ok) outcome = verifier.at(module, kernel, sized, config);
    const std::vector<std::byte> cubin = runtime::delayed_cubin(kernel, config, context.info().limits);
    if (outcome.status != db::Status::ok || cubin.empty()) return outcome;
    const tuner::OwnModule delayed{std::make_shared<const runtime::Module>(cubin), runtime::kernel_symbols(cubin)};
    return verifier.at(delayed, kernel, sized, config);
  }
};

/// A copy of an example's folder with a part of its source replaced.
struct Bug {
  const char *example, *source, *part, *by, *config, *expected;
};

constexpr const char* kSoftmax = "row_softmax{threads=64,rows_per_block=2,vector=1,per_thread=16,online=0}";
constexpr const char* kOnline = "row_softmax{threads=64,rows_per_block=2,vector=1,per_thread=2,online=1}";
constexpr const char* kStencil = "stencil_3x3{block_x=32,block_y=4,vector=1,per_thread=4}";
constexpr const char* kNorm = "rms_norm_s8{threads=128,rows_per_block=2,vector=2,per_thread=4,early=1}";

constexpr Bug kBugs[] = {
    {"softmax", "softmax.cu", "    __syncthreads();\n    value = scratch[first];", "    value = scratch[first];",
        kSoftmax, ""},
    {"softmax", "softmax.cu", "    __syncthreads();  // others may still read what was there\n", "", kSoftmax, ""},
    {"softmax", "softmax.cu", "if (at < loads) to[at] = values[i];", "if (at <= loads) to[at] = values[i];", kSoftmax,
        ""},
    {"softmax", "softmax.cu", "if (at >= loads) values[i].at[j] = least;", "", kSoftmax, ""},
    {"softmax", "softmax.cu", "sum *= __expf(most - here);", "", kOnline, ""},
    {"softmax", "softmax.cu", "is_there = row < rows", "is_there = row <= rows", kSoftmax, "past the end of out"},
    {"stencil", "stencil.cu", "y >= 0 && y < rows", "y >= 0 && y <= rows", kStencil, "reads outside in"},
    {"stencil", "stencil.cu", "x + vector < cols", "x + vector <= cols", kStencil, ""},
    {"stencil", "stencil.cu", "if (y >= rows) continue;", "if (y > rows) continue;", kStencil, "past the end of out"},
    {"stencil", "stencil.cu", "x > 0 ? from[-1]", "true ? from[-1]", kStencil, ""},
    {"stencil", "stencil.cu", "y >= 0 && y < rows", "y < rows", kStencil, "reads outside in"},
    {"rms_norm_s8", "rms_norm.cu", "    __syncthreads();\n    value = scratch[first];", "    value = scratch[first];",
        kNorm, ""},
    {"rms_norm_s8", "rms_norm.cu", "scale[row] = step;", "scale[row + 1] = step;", kNorm, "past the end of scale"},
    {"rms_norm_s8", "rms_norm.cu", "value = combine(value, scratch[first + warp]);", "continue;", kNorm, ""},
};

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Sizes at which every launch of the planted configs has a part of a block.
SizedKernel small(const own::Kernel& kernel) {
  return kernel.at(std::vector<SizedKernel::Size>{{"rows", 301}, {"cols", 1000}});
}

}  // namespace

TEST_CASE("a sample of every example kernel's configs is right", "[own_kernel]") {
  std::vector<std::unique_ptr<const own::Kernel>> kernels;  // outlive the verifier
  Proving proving;
  for (const std::filesystem::path& folder : tests::example_kernels()) {
    const auto& kernel = kernels.emplace_back(own::read_kernel(folder));
    const SizedKernel sized = small(*kernel);
    const Space space = kernel->space(sized, proving.context.info().limits);
    const std::vector<Config> configs = tuner::spread_sample(space, {}, 12, 1);
    REQUIRE(configs.size() >= 6);
    std::vector<std::future<runtime::SourceBuild>> builds;
    for (const Config& config : configs)
      builds.push_back(std::async(std::launch::async, [&] { return proving.build(*kernel, config); }));
    for (std::size_t i = 0; i < configs.size(); ++i) {
      const db::Outcome outcome = proving.outcome(*kernel, sized, configs[i], builds[i].get());
      INFO(configs[i].text() << ": " << outcome.message);
      CHECK(outcome.status == db::Status::ok);
    }
  }
}

TEST_CASE("every bug that is planted in an example kernel is caught, and named where it strays", "[own_kernel]") {
  std::vector<std::unique_ptr<const own::Kernel>> kernels;  // outlive the verifier
  Proving proving;
  for (const Bug& bug : kBugs) {
    INFO(bug.example << ": " << bug.part << " -> " << bug.by);
    const std::filesystem::path folder = tests::example_kernels().front().parent_path() / bug.example;
    const TempFolder copy;
    std::string source = text_of(folder / bug.source);
    const std::size_t at = source.find(bug.part);
    REQUIRE(at != std::string::npos);
    source.replace(at, std::string_view(bug.part).size(), bug.by);
    std::ofstream(copy / "kernel.json") << text_of(folder / "kernel.json");
    std::ofstream(copy / bug.source) << source;
    const auto& kernel = kernels.emplace_back(own::read_kernel((copy / "kernel.json").parent_path()));
    const Config config = Config::parse(bug.config).value();
    const SizedKernel sized = small(*kernel);
    REQUIRE_FALSE(kernel->refused_because(config, sized, proving.context.info().limits));
    const db::Outcome outcome = proving.outcome(*kernel, sized, config, proving.build(*kernel, config));
    INFO(outcome.message);
    CHECK(outcome.status == db::Status::mismatch);
    CHECK(outcome.message.find(bug.expected) != std::string::npos);
    std::printf("%s: %s\n", bug.example, outcome.message.c_str());
  }
}

TEST_CASE("an example kernel is tuned on the device, resumed, and a bad reference is named", "[own_kernel]") {
  const TempFolder folder;
  load_family_dir(tests::example_kernels().front());
  const own::Kernel& kernel = *own::find_kernel("row_softmax");
  const SizedKernel sized = small(kernel);
  db::Store store = db::Store::open(folder / "own.db");
  const auto evaluator = tuner::make_device_evaluator(store, {});
  tuner::TuneOptions options;
  options.max_candidates = 8;
  options.finalists = 3;
  const tuner::TuneResult result = tuner::tune({"own", {{sized, 1}}}, options, *evaluator, store, {}, kNeverStop);
  CHECK(result.evaluated == 8);
  CHECK(result.failed == 0);
  db::RecordFilter filter;
  filter.task = sized;
  for (const db::Record& record : store.records(filter)) {
    INFO(record.config.text() << ": " << record.outcome.message);
    CHECK(record.outcome.status == db::Status::ok);
    REQUIRE(record.outcome.timing);
    CHECK(record.outcome.timing->median_us < 1000);
  }
  CHECK(tuner::tune({"own", {{sized, 1}}}, options, *evaluator, store, {}, kNeverStop).evaluated == 0);

  static tests::KernelFolder wrong("wrong_reference");  // workers of later tests load it, too
  wrong.with("\"grid\": \"rows\", \"block\": 1}}", "\"grid\": \"rows + 1\", \"block\": 1}}");
  load_family_dir(wrong.path());
  const SizedKernel strays = own::find_kernel("wrong_reference")->at({});
  const auto other = tuner::make_device_evaluator(store, {});
  CHECK_THROWS_WITH(tuner::tune({"own", {{strays, 1}}}, options, *other, store, {}, kNeverStop),
      Catch::Contains("the reference of") && Catch::Contains("past the end of out"));
  filter.task = strays;
  CHECK(store.records(filter).empty());
}

}  // namespace tilesmith::test_own_kernel_gpu
