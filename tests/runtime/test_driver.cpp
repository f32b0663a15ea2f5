#include <cuda.h>

#include <filesystem>
#include <fstream>

#include "runtime/driver/device.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/driver/jetson_state.hpp"
#include "runtime/driver/nvml.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/fake_driver.hpp"

namespace tilesmith::runtime {
namespace {

namespace fs = std::filesystem;

bool is_one_line(const std::string& text) { return !text.empty() && text.find('\n') == std::string::npos; }

void describe_h200(int major = 9) {
  auto& attributes = fake::state().attributes;
  attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = major;
  attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = 0;
  attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 132;
  attributes[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = 62914560;
  attributes[CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = 3201000;
  attributes[CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH] = 6144;
  attributes[CU_DEVICE_ATTRIBUTE_CLOCK_RATE] = 1980000;
  attributes[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 232448;
  attributes[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] = 233472;
}

/// A made-up tree of small files, gone with it.
class DriverTree {
 public:
  explicit DriverTree(const char* tag) : root_(fs::temp_directory_path() / (std::string("tilesmith_") + tag)) {
    fs::remove_all(root_);
  }
  ~DriverTree() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

std::vector<std::byte> bytes(std::size_t count) { return std::vector<std::byte>(count); }

}  // namespace

TEST_CASE("a machine without a driver or device is told in one line and lists no devices") {
  const std::string reason = device_unavailable_because();
  CHECK(reason.empty() == !list_devices().empty());
  if (reason.empty()) return;  // this machine has a device
  CHECK(is_one_line(reason));
  CHECK_THROWS_AS(device_info(0), DeviceError);
  CHECK_THROWS_AS(Context(0), DeviceError);
  CHECK_THROWS_AS(DeviceBuffer(16), DeviceError);
  CHECK(read_telemetry(0).clock_mhz == 0);
  CHECK_NOTHROW(DeviceBuffer(0));
}

TEST_CASE("only errors that take the context with them count as a lost context") {
  for (int code : {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_TIMEOUT,
           CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_INVALID_PC,
           CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ASSERT, CUDA_ERROR_ECC_UNCORRECTABLE}) {
    CHECK(DeviceError(code, "").context_lost());
  }
  for (int code : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NO_DEVICE,
           CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU}) {
    CHECK_FALSE(DeviceError(code, "").context_lost());
  }
}

TEST_CASE("a device is identified by its attributes, without a context") {
  const fake::FakeDriver driver;
  describe_h200();
  const std::vector<DeviceInfo> devices = list_devices();
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].identity.name == "NVIDIA Fake");
  CHECK(devices[0].identity.sm == 90);
  CHECK(devices[0].identity.sm_count == 132);
  CHECK(devices[0].identity.bandwidth_class_gbps == 4900);
  CHECK(devices[0].identity.power_mode.empty());
  CHECK(devices[0].limits.arch == "sm_90a");
  CHECK(devices[0].limits.smem_per_block_bytes == 232448);
  CHECK(devices[0].limits.registers_per_sm == 65536);
  CHECK(devices[0].clock_mhz == 1980);
  CHECK(fake::count("primary_ctx_retain") == 0);
}

TEST_CASE("the bandwidth class is 0 where the driver does not tell or tells wrong") {
  const fake::FakeDriver driver;
  describe_h200();
  SECTION("no memory clock") {
    fake::state().attributes[CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = 0;
    CHECK(device_info(0).identity.bandwidth_class_gbps == 0);
  }
  SECTION("integrated") {
    fake::state().attributes[CU_DEVICE_ATTRIBUTE_INTEGRATED] = 1;
    CHECK(device_info(0).identity.bandwidth_class_gbps == 0);
  }
}

TEST_CASE("an ordinal that is not there is refused with how many there are") {
  const fake::FakeDriver driver;
  describe_h200();
  fake::state().devices = 2;
  try {
    device_info(7);
    FAIL("expected DeviceError");
  } catch (const DeviceError& error) {
    CHECK(std::string(error.what()) == "device 7: there are 2, expected 0 to 1");
  }
}

TEST_CASE("a device of an unsupported architecture is listed but not opened") {
  const fake::FakeDriver driver;
  describe_h200(7);
  REQUIRE(list_devices().size() == 1);
  CHECK(list_devices()[0].limits.arch.empty());
  CHECK(list_devices()[0].identity.sm == 70);
  CHECK_THROWS_AS(Context(0), DeviceError);
  CHECK(fake::count("primary_ctx_retain") == 0);
}

TEST_CASE("a context retains the primary context and releases it, also when it cannot be made current") {
  const fake::FakeDriver driver;
  describe_h200();
  { const Context context(0); }
  CHECK(fake::count("primary_ctx_release") == 1);
  fake::state().failures["ctx_set_current"] = CUDA_ERROR_INVALID_CONTEXT;
  CHECK_THROWS_AS(Context(0), DeviceError);
  CHECK(fake::count("primary_ctx_release") == 2);
}

TEST_CASE("a failing driver call is told with its name, error and meaning") {
  const fake::FakeDriver driver;
  fake::state().failures["mem_alloc"] = CUDA_ERROR_OUT_OF_MEMORY;
  try {
    const DeviceBuffer buffer(64);
    FAIL("expected DeviceError");
  } catch (const DeviceError& error) {
    CHECK(error.code() == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(std::string(error.what()) == "cuMemAlloc of 64 bytes: CUDA_ERROR_PLANNED (as the test wants)");
  }
  CHECK(fake::count("mem_free") == 0);
}

TEST_CASE("a buffer is freed once, wherever it was moved") {
  const fake::FakeDriver driver;
  {
    DeviceBuffer first(64);
    DeviceBuffer second(std::move(first));
    DeviceBuffer third;
    third = std::move(second);
    CHECK(third.size() == 64);
    CHECK(second.data() == nullptr);
  }
  CHECK(fake::count("mem_free") == 1);
}

TEST_CASE("copies beyond a buffer are refused before the driver sees them") {
  const fake::FakeDriver driver;
  DeviceBuffer buffer(64);
  std::vector<std::byte> host = bytes(32);
  CHECK_THROWS_AS(buffer.upload(host, 33), DeviceError);
  CHECK_THROWS_AS(buffer.download(host, SIZE_MAX), DeviceError);
  CHECK(fake::count("memcpy_to_device") + fake::count("memcpy_to_host") == 0);
  buffer.upload(host, 32);
  CHECK(fake::state().calls.back() == "stream_synchronize");  // else kernels on other streams would overtake the copy
}

TEST_CASE("a capture ends whether or not its launches succeed") {
  const fake::FakeDriver driver;
  const Stream stream;
  {
    const Graph graph = Graph::capture(stream, [] {});
    graph.launch(stream);
    CHECK(fake::count("graph_destroy") == 1);
  }
  CHECK(fake::count("graph_exec_destroy") == 1);
  CHECK_THROWS_AS(Graph::capture(stream, [] { throw std::runtime_error("no"); }), std::runtime_error);
  CHECK(fake::count("stream_end_capture") == 2);
  CHECK(fake::count("graph_destroy") == 2);
  fake::state().failures["graph_instantiate"] = CUDA_ERROR_INVALID_VALUE;
  CHECK_THROWS_AS(Graph::capture(stream, [] {}), DeviceError);
  CHECK(fake::count("graph_destroy") == 3);
  CHECK(fake::count("graph_exec_destroy") == 1);
}

TEST_CASE("elapsed time is in microseconds") {
  const fake::FakeDriver driver;
  const Event start, end;
  CHECK(end.elapsed_us_since(start) == Approx(500));
}

TEST_CASE("an empty or truncated cubin is refused before the driver reads it") {
  const fake::FakeDriver driver;
  CHECK_THROWS_AS(Module(bytes(0)), DeviceError);
  std::vector<std::byte> cubin = bytes(256);
  const unsigned char magic[] = {0x7F, 'E', 'L', 'F', 2, 1, 1};
  std::memcpy(cubin.data(), magic, sizeof magic);
  const std::uint64_t section_table_offset = 1 << 20;
  const std::uint16_t sections[] = {64, 12};  // bytes of an entry, entries
  std::memcpy(cubin.data() + 40, &section_table_offset, sizeof section_table_offset);
  std::memcpy(cubin.data() + 58, sections, sizeof sections);
  CHECK_THROWS_AS(Module(cubin), DeviceError);
  CHECK_THROWS_AS(Module(std::span(cubin).first(20)), DeviceError);
  CHECK(fake::count("module_load") == 0);
}

TEST_CASE("a kernel's dynamic shared memory is raised when asked for and never lowered") {
  const fake::FakeDriver driver;
  const std::string ptx = ".version 7.0";
  const Module module(std::as_bytes(std::span(ptx)));
  auto& most = fake::state().func_attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
  most = 48 * 1024;
  module.function("gemm", 100000);
  CHECK(most == 100000);
  CHECK(fake::state().func_attributes[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] == 100);
  module.function("gemm", 60000);
  CHECK(most == 100000);
  fake::state().failures["func_set_attribute 8"] = CUDA_ERROR_INVALID_VALUE;
  CHECK_THROWS_AS(module.function("gemm", 300000), DeviceError);
  fake::state().missing_kernel = "gemm";
  CHECK_THROWS_AS(module.function("gemm", 0), DeviceError);
}

TEST_CASE("heat and power brakes count as throttling, the power cap alone does not") {
  CHECK_FALSE(judge_throttling(0).throttled);
  CHECK_FALSE(judge_throttling(0x1 | 0x2).throttled);
  CHECK(judge_throttling(0x1).reason.empty());
  CHECK_FALSE(judge_throttling(0x4).throttled);
  CHECK(judge_throttling(0x4).reason == "power cap");
  for (unsigned long long bit : {0x8, 0x20, 0x40, 0x80}) CHECK(judge_throttling(bit | 0x4).throttled);
}

TEST_CASE("the driver's version is read from both kernel modules' texts") {
  CHECK(driver_version_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"
                          "GCC version:  gcc version 12.2.0\n") == "535.104.05");
  CHECK(driver_version_in("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build") ==
        "580.65.06");
  CHECK(driver_version_in("GCC version:  gcc version 12.2.0") == std::nullopt);
  CHECK(driver_version_in("") == std::nullopt);
}

TEST_CASE("a machine that is not ready says what has to run") {
  const Driver table{};
  CHECK(describe(table, CUresult(802), "cuInit").find("nvidia-fabricmanager") != std::string::npos);
  CHECK(describe(table, CUresult(803), "cuInit").find("restart") != std::string::npos);
  CHECK(is_one_line(describe(table, CUresult(804), "cuInit")));
  CHECK(describe(table, CUresult(1), "cuInit") == "cuInit: error 1 (unknown to this driver)");
}

TEST_CASE("without NVML the driver's version is the kernel module's") {
  const DriverTree tree("kernel_module");
  CHECK(kernel_module_version(tree.root()) == std::nullopt);
  tree.put("sys/module/nvidia/version", "580.95.05\n");
  CHECK(kernel_module_version(tree.root()) == "580.95.05");
  tree.put("proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build\n");
  CHECK(kernel_module_version(tree.root()) == "540.4.0");
}

TEST_CASE("a Jetson's power mode is read by name from nvpmodel's files") {
  const DriverTree tree("nvpmodel");
  CHECK(jetson_power_mode(tree.root()).empty());
  tree.put("var/lib/nvpmodel/status", "pmode:0002 fmode:quiet\n");
  CHECK(jetson_power_mode(tree.root()).empty());
  tree.put("etc/nvpmodel.conf",
      "# < POWER_MODEL ID=2 NAME=COMMENT >\n< POWER_MODEL ID=0 NAME=MAXN >\nCPU_ONLINE CORE_0 1\n"
      "< POWER_MODEL ID=2 NAME=MODE_30W >\n");
  CHECK(jetson_power_mode(tree.root()) == "MODE_30W");
  CHECK(power_mode_in("NVPM WARN: fan mode is not set!\nNV Power Mode: MAXN\n0\n") == "MAXN");
  CHECK(power_mode_in("sh: nvpmodel: not found").empty());
}

}  // namespace tilesmith::runtime
