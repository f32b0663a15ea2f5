// Kernels of one's own: what kernel.json may say, which configs are legal, and what is launched.
#include <algorithm>

#include "kernels/families/device_limits.hpp"
#include "kernels/families/plan_hash.hpp"
#include "kernels/families/tasks.hpp"
#include "kernels/families/user/load.hpp"
#include "tests/catch.hpp"
#include "tests/kernel_folder.hpp"

namespace tilesmith::test_own_kernel {

namespace {

using tests::KernelFolder;

const DeviceLimits& hopper() {
  static const DeviceLimits limits = *limits_for_arch("sm_90a");
  return limits;
}

Config config_of(const own::Kernel& kernel, int block, int per_thread) {
  return {kernel.name(), {{"block", block}, {"per_thread", per_thread}}};
}

/// What is said when this part of kernel.json is replaced.
std::string error_with(const std::string& part, const std::string& by) { return KernelFolder().with(part, by).error(); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a kernel of one's own has a space of what its rules allow and the device can launch") {
  KernelFolder folder;
  const own::Kernel kernel = folder.read();
  const SizedKernel sized = kernel.at({});
  CHECK(text(sized) == "kernel row_softmax rows=4096 cols=1000");
  const Space space = kernel.space(sized, hopper());
  CHECK(space.combinations == 20);
  CHECK(space.configs.size() == 17);  // 64 × 1, 64 × 2, 128 × 1 are too small
  CHECK(space.removed.at(0).removed == 3);
  CHECK(space.removed.at(0).reason == "a row needs some bytes in flight");
  CHECK_FALSE(kernel.refused_because(config_of(kernel, 256, 1), sized, hopper()));
  CHECK(has(kernel.refused_because(config_of(kernel, 64, 2), sized, hopper()).value(), "bytes in flight"));
  CHECK(
      has(kernel.refused_because(config_of(kernel, 96, 4), sized, hopper()).value(), "block = 96 is not in the space"));
}

TEST_CASE("rules of a kernel of one's own read sizes and the device") {
  KernelFolder folder;
  folder.with("block * per_thread >= 256", "block <= cols && block < threads_per_block");
  const own::Kernel kernel = folder.read();
  const std::vector<SizedKernel::Size> narrow{{"cols", 200}};
  CHECK(kernel.space(kernel.at(narrow), hopper()).configs.size() == 8);  // 64, 128
  CHECK(kernel.space(kernel.at({}), hopper()).configs.size() == 16);     // all but 1024
}

TEST_CASE("what a device cannot launch is no config, and the line says what was too much") {
  KernelFolder folder;
  folder.with("\"block\": \"block\"", "\"block\": [\"block\", 2], \"shared_bytes\": \"block * per_thread * 200\"");
  const own::Kernel kernel = folder.read();
  const SizedKernel sized = kernel.at({});
  CHECK(has(kernel.refused_because(config_of(kernel, 1024, 1), sized, hopper()).value(), "a block has 2048 threads"));
  CHECK(has(kernel.refused_because(config_of(kernel, 512, 8), sized, hopper()).value(), "shared_bytes is 819200"));
  const Space space = kernel.space(sized, hopper());
  CHECK(std::ranges::all_of(space.configs, [](const Config& config) { return config.at("block") <= 512; }));
  CHECK(space.removed.at(1).removed > 0);
}

TEST_CASE("parameters arrive as template arguments where the entry names them, else as macros") {
  KernelFolder folder;
  const own::Kernel kernel = folder.read();
  const Config config = config_of(kernel, 128, 4);
  CHECK(kernel.entries(config) == std::vector<std::string>{"softmax<128, 4>"});
  CHECK_FALSE(has(kernel.source(config), "#define"));
  folder.with("softmax<block, per_thread>", "softmax<block>");
  const own::Kernel with_macro = folder.read();
  CHECK(with_macro.entries(config) == std::vector<std::string>{"softmax<128>"});
  CHECK(has(with_macro.source(config), "#define per_thread 4\n"));
  CHECK_FALSE(has(with_macro.source(config), "#define block"));
}

TEST_CASE("launches and buffers of a kernel of one's own follow its sizes") {
  KernelFolder folder;
  const own::Kernel kernel = folder.read();
  const std::vector<SizedKernel::Size> given{{"rows", 7}, {"cols", 33}};
  const SizedKernel sized = kernel.at(given);
  const std::vector<Launch> launches = kernel.launches(config_of(kernel, 256, 2), sized);
  REQUIRE(launches.size() == 1);
  CHECK(launches[0].grid.x == 7);
  CHECK(launches[0].block.x == 256);
  const own::Definition& parts = kernel.definition();
  REQUIRE(parts.arguments.size() == 3);
  CHECK(parts.arguments[0].role == own::Role::out);
  CHECK(parts.arguments[1].role == own::Role::in);
  CHECK(parts.arguments[1].fill == own::Fill::normal);
  CHECK(kernel.elements(parts.arguments[0], sized) == 7 * 33);
  CHECK(kernel.integer(parts.arguments[2], sized) == 33);
  CHECK(kernel.buffer_bytes(sized) == 2 * 4 * 7 * 33);
  CHECK(kernel.bytes(sized) == 8 * 7 * 33);
  CHECK(kernel.operations(sized) == 0);
}

TEST_CASE("sizes at which a buffer has no elements, or a value is not known, are refused") {
  KernelFolder folder;
  folder.with("f32[rows][cols]", "f32[rows - 8][cols]").with("\"value\": \"cols\"", "\"value\": \"cols / (cols - 7)\"");
  const own::Kernel kernel = folder.read();
  const auto error_at = [&](std::int64_t rows, std::int64_t cols) {
    const std::vector<SizedKernel::Size> given{{"rows", rows}, {"cols", cols}};
    return kernel.sizes_error(kernel.at(given)).value_or("");
  };
  CHECK(error_at(9, 8).empty());
  CHECK(has(error_at(8, 8), "out: an extent is 0: expected 1 to"));
  CHECK(has(error_at(std::int64_t{1} << 40, 1 << 20), "elements in all"));
  CHECK(has(error_at(9, 7), "cols: its value divides by zero"));
  folder.with("cols / (cols - 7)", "cols - 10").with("\"cols\": \"s32\"", "\"cols\": \"u8\"");
  const own::Kernel narrow = folder.read();
  const auto narrow_at = [&](std::int64_t cols) {
    const std::vector<SizedKernel::Size> given{{"rows", 9}, {"cols", cols}};
    return narrow.sizes_error(narrow.at(given)).value_or("");
  };
  CHECK(narrow_at(265).empty());
  CHECK(narrow_at(266) == "cols: its value is 256: expected 0 to 255, as u8 holds");
  CHECK(has(narrow_at(9), "its value is -1"));
}

TEST_CASE("what kernel.json lacks or has too much is one line that names the field") {
  CHECK(KernelFolder().error().empty());
  CHECK(error_with("\"rows\": 4096", "\"rows\": 0") ==
        "kernel.json: sizes.rows: is 0, expected a whole number from 1 to 1099511627776");
  CHECK(has(error_with("f32[rows][cols]", "f31[rows][cols]"), "expected one of f16, bf16, f32"));
  CHECK(has(error_with("f32[rows][cols]", "f32[rows][wide]"), "wide"));
  CHECK(has(error_with("f32[rows][cols]", "f32[rows"), "extents in brackets"));
  CHECK(has(error_with("\"fill\": \"normal\"", "\"fill\": \"gauss\""),
      "expected one of uniform, normal, integers, ramp, zeros"));
  CHECK(has(error_with("{\"out\": \"f32[rows][cols]\"}", "{\"out\": \"f32[rows][cols]\", \"fill\": \"ramp\"}"),
      "does not read"));
  CHECK(has(error_with("{\"out\": \"f32[rows][cols]\"}", "{\"y\": \"f32[rows][cols]\"}"), "role is out or inout"));
  CHECK(error_with("{\"out\": \"f32[rows][cols]\"}", "{\"y\": \"f32[rows][cols]\", \"role\": \"out\"}") ==
        "kernel.json: tolerance.out: is {\"relative\":1e-05}, expected no tolerance: it is no out or inout argument");
  CHECK(has(error_with("{\"out\": {\"relative\": 1e-5}}", "{\"out\": {\"relative\": -1}}"), "at least 0"));
  CHECK(has(error_with("\"tolerance\": {\"out\": {\"relative\": 1e-5}}, ", ""), "\"tolerance\" with \"out\""));
  CHECK(has(error_with("\"entry\": \"softmax<block, per_thread>\"", "\"entry\": \"soft max\""), "a kernel's name"));
  CHECK(has(error_with("\"grid\": \"rows\", \"block\": \"block\"", "\"grid\": \"rows\""), "launch.block: is missing"));
  CHECK(has(error_with("\"per_thread\": [1, 2, 4, 8]", "\"cols\": [1]"), "means something else"));
  CHECK(has(error_with("\"per_thread\": [1, 2, 4, 8]", "\"sm\": [1]"), "means something else"));
  CHECK(has(error_with("[1, 2, 4, 8]", "[1, 2, 2]"), "each once"));
  CHECK(has(
      error_with("\"grid\": \"rows\", \"block\": 1", "\"grid\": \"block\", \"block\": 1"), "reference.launch.grid"));
  CHECK(has(
      error_with("\"source\": \"softmax.cu\", \"entry\": \"softmax", "\"source\": \"gone.cu\", \"entry\": \"softmax"),
      "gone.cu"));
  CHECK(has(error_with("\"rules\"", "\"ruels\""), "unknown field"));
  CHECK(has(error_with("{\"cols\": \"s32\", \"value\": \"cols\"}", "{\"cols\": \"s32\"}"), "value: is missing"));
}

TEST_CASE("a kernel that is loaded is a task's, and its plan follows text, launches and values") {
  KernelFolder folder("softmax_of_task");
  load_family_dir(folder.path());
  load_family_dir(folder.path());
  const own::Kernel* kernel = own::find_kernel("softmax_of_task");
  REQUIRE(kernel != nullptr);
  std::string error;
  const auto task = parse_task("kernel softmax_of_task rows=5 cols=7", error);
  REQUIRE(task);
  CHECK_FALSE(task->is_gemm());
  CHECK(text(*task) == "kernel softmax_of_task rows=5 cols=7");
  CHECK(signature_text(*task) == "kernel softmax_of_task");
  CHECK(operand_bytes(*task) == 2 * 4 * 35);
  const Config config = config_of(*kernel, 256, 1);
  CHECK_FALSE(refused_because(config, *task, hopper()));
  CHECK(has(refused_because(config, *parse_task("kernel softmax_of_task rows=5", error), hopper()).value(),
      "sizes are rows"));
  CHECK(has(refused_because(config, *parse_task("kernel gone rows=5", error), hopper()).value(), "not loaded"));
  CHECK(refused_because(Config("simt", {}), *task, hopper()));
  const std::string options = compiler_options_text({{}, hopper()});
  const std::string hash = plan_hash(config, *task, options);
  CHECK(hash.size() == 32);
  CHECK(hash != plan_hash(config, *parse_task("kernel softmax_of_task rows=6 cols=7", error), options));
  CHECK(hash != plan_hash(config, *parse_task("kernel softmax_of_task rows=5 cols=8", error), options));
  CHECK(hash != plan_hash(config_of(*kernel, 256, 2), *task, options));
  CHECK(plan_hash(config, *parse_task("kernel gone rows=5", error), options).empty());
  folder.with("\"rows\": 4096", "\"rows\": 4095");
  CHECK_THROWS_AS(load_family_dir(folder.path()), DefinitionError);
}

TEST_CASE("texts of tasks are read back, and what is none says what was expected") {
  std::string error;
  CHECK(parse_task("f16f32 NN 64 64 64", error) == Task(*parse_problem("f16f32 NN 64 64 64", error)));
  CHECK(parse_task("kernel add", error));
  for (const char* wrong :
      {"kernel", "kernel 9add", "kernel add n", "kernel add n=", "kernel add n=0", "kernel add n=-3",
          "kernel add n=1 n=2", "kernel add n=99999999999999", "kernel add n=1.5", "kernel add =1"}) {
    INFO(wrong);
    error.clear();
    CHECK_FALSE(parse_task(wrong, error));
    CHECK_FALSE(error.empty());
  }
  CHECK_THROWS_AS(parse_task("kernel add", error)->problem(), std::logic_error);
}

TEST_CASE("buffers are filled and results are compared from files, and proofs follow what is in them") {
  tests::KernelFolder folder;
  folder.write("in.bin", std::string(32, 'x'));
  folder.write("out.bin", std::string(32, 'y'));
  folder.with(R"("fill": "normal")", R"("fill": {"file": "in.bin"})")
      .with(R"({"source": "softmax.cu", "entry": "naive", "launch": {"grid": "rows", "block": 1}})",
          R"({"files": {"out": "out.bin"}})");
  const own::Kernel kernel = folder.read();
  CHECK(kernel.definition().arguments[1].fill == own::Fill::file);
  CHECK(own::read_bytes(kernel.definition().arguments[0].expected).size() == 32);
  folder.write("out.bin", std::string(32, 'z'));
  const own::Kernel other = folder.read();
  CHECK(other.definition().proof != kernel.definition().proof);
  CHECK(other.definition().content != kernel.definition().content);
  folder.with(R"("relative": 1e-5)", R"("relative": 1e-4)");
  CHECK(folder.read().definition().proof != other.definition().proof);
  CHECK(folder.with("out.bin", "gone.bin").error() ==
        "kernel.json: reference.files.out: is \"gone.bin\", expected the name of a file in the folder");
}

}  // namespace tilesmith::test_own_kernel
