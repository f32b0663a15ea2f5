// Kernels of one's own, launched by the library.
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <thread>

#include "runtime/interface/own_kernel.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/environment_variable.hpp"
#include "tests/runtime/failure_of.hpp"
#include "tests/runtime/fake_nvrtc.hpp"
#include "tests/runtime/own_kernel_fixture.hpp"

namespace tilesmith::runtime::own_kernel_calls {

namespace {

using Fixture = fake::OwnKernelFixture;
using Size = OwnKernel::Size;

float* floats(std::uintptr_t address) { return reinterpret_cast<float*>(address); }

}  // namespace

TEST_CASE("a kernel of one's own runs its tuned config from its stored cubin, with buffers and values in place",
    "[own_kernel]") {
  const Fixture f("called_exactly");
  const Library library = Library::open(f.tuned_database(), fake::stored_only());
  const OwnKernel kernel = library.kernel(f.folder.path());
  auto* const stream = reinterpret_cast<CUstream>(0x77);
  void* const buffers[] = {floats(0x1000), floats(0x2004)};
  const std::vector<Size> sizes = {{"cols", 512}, {"rows", 64u}};
  kernel.run(stream, sizes, buffers);
  REQUIRE(fake::own_launches().size() == 1);
  const fake::OwnLaunch one = fake::own_launches()[0];
  CHECK((one.grid == 64 && one.block == 256 && one.stream == stream));
  CHECK((one.first == 0x1000 && one.second == 0x2004 && one.third == 512));
  const Explanation why = kernel.explain(sizes);
  CHECK(why.level == "exact");
  CHECK(why.config == f.config(256, 1).text());
  CHECK(why.measured == "kernel called_exactly rows=64 cols=512");
  CHECK(why.median_us == 2);
  CHECK(why.trust == "valid");
  CHECK(why.kernel == "stored cubin (NVRTC 12.6)");
  CHECK(kernel.elements(sizes) == std::vector<std::int64_t>{64 * 512, 64 * 512});

  // The same is found again, and its launch is all that is done.
  const OwnKernel again = kernel;
  fake::state().calls.clear();
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  again(nullptr, {{"rows", 64}, {"cols", 512}}, floats(0x1000), static_cast<const float*>(floats(0x2004)));
  CHECK(fake::state().calls == std::vector<std::string>{"launch_kernel"});
  again(nullptr, {{"rows", 64}}, floats(0x1000), floats(0x2004), 512);  // cols from its argument
  CHECK(fake::own_launches().size() == 3);
}

TEST_CASE("other sizes of a kernel of one's own run what is known, and what is given alone counts", "[own_kernel]") {
  const Fixture f("called_nearby");
  const Library library = Library::open(f.tuned_database(), fake::stored_only());
  const OwnKernel kernel = library.kernel(f.folder.path());
  const Explanation why = kernel.explain({{"rows", 100}, {"cols", 512}});
  CHECK(why.level == "model");
  CHECK(why.config == f.config(256, 1).text());
  CHECK(kernel.explain({}).level == "model");  // at the values of kernel.json
  const float* const in = floats(0x2000);
  kernel(nullptr, {}, floats(0x1000), in);
  CHECK((fake::own_launches().at(0).grid == 4096 && fake::own_launches()[0].third == 1000));
  CHECK(
      Fixture::logged().str().find(
          "kernel called_nearby rows=100 cols=512: model level: measured at kernel called_nearby rows=64 cols=512: 2.00 us") !=
      std::string::npos);
}

TEST_CASE(
    "without records a kernel of one's own is compiled once, and is on disk for the next library", "[own_kernel]") {
  const Fixture f("called_unknown");
  const fake::FakeNvrtc nvrtc;
  const Variable cache("TILESMITH_CACHE", f.path("cache").string());
  for (const char* source : {"compiled by NVRTC 12.4", "cached cubin (NVRTC 12.4)"}) {
    const Library library = Library::without_database();
    const OwnKernel kernel = library.kernel(f.folder.path());
    kernel.prepare({{"rows", 5}});
    const Explanation why = kernel.explain({{"rows", 5}});
    CHECK(why.level == "generic");
    CHECK(why.config == f.config(64, 4).text());
    CHECK(why.kernel == source);
    CHECK(kernel.explain({{"rows", 6}}).kernel == source);
    CHECK(fake::compiler().compiled == 1);
  }
  CHECK(fake::own_launches().empty());
}

TEST_CASE("what NVRTC makes of a kernel of one's own has the kernel that is launched", "[own_kernel]") {
  const Fixture f("called_compiled");
  const Variable cache("TILESMITH_CACHE", "off");
  const OwnKernel kernel = Library::without_database().kernel(f.folder.path());
  kernel(nullptr, {}, floats(0x1000), floats(0x2000));
  CHECK(kernel.explain({}).kernel.starts_with("compiled by NVRTC "));
  CHECK(fake::own_launches().at(0).block == 64);
}

TEST_CASE("a config of one's own kernel whose kernel cannot be had is passed over", "[own_kernel]") {
  const Fixture f("called_partly");
  {
    db::Store store = db::Store::open(f.path("partly.db"));
    store.record(f.record(f.task(64, 512), f.config(512, 1), 1));
    store.record(f.record(f.task(64, 512), f.config(256, 1), 2));
    store.record_build(f.build(f.config(256, 1)));
  }
  const Library library = Library::open(f.path("partly.db"), fake::stored_only());
  const Explanation why = library.kernel(f.folder.path()).explain({{"rows", 64}, {"cols", 512}});
  CHECK(why.config == f.config(256, 1).text());
  CHECK(why.reason.find(f.config(512, 1).text() + " was passed over: no kernel for") != std::string::npos);

  CHECK(library.kernel("called_partly").explain({{"rows", 64}, {"cols", 512}}).config == why.config);

  const Library empty = Library::without_database(fake::stored_only());
  std::string line;
  try {
    empty.kernel("called_partly").prepare({{"rows", 3}});
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::no_kernel);
    line = error.what();
  }
  const std::string first = f.config(64, 4).text();
  CHECK(line == "kernel called_partly rows=3 cols=1000 has no kernel on sm_90a; " + first +
                    " was passed over: no kernel for " + first +
                    " kernel called_partly on sm_90a: no cubin is stored, and compiling is switched off");
}

TEST_CASE("what a kernel of one's own cannot be called with is one line that names it", "[own_kernel]") {
  const Fixture f("called_wrongly");
  const Library library = Library::open(f.tuned_database(), fake::stored_only());
  const OwnKernel kernel = library.kernel(f.folder.path());
  const auto refused = [&](const std::string& line, ErrorCode code, const auto&... given) {
    try {
      kernel(nullptr, {{"rows", 64}}, given...);
      FAIL("not refused: " << line);
    } catch (const Error& error) {
      CHECK(error.what() == "kernel called_wrongly: " + line);
      CHECK(error.code() == code);
    }
  };
  float *out = floats(0x1000), *in = floats(0x2000);
  constexpr auto bad = ErrorCode::bad_argument;
  refused("1 arguments are given: expected 2, or 3 with the values", bad, out);
  refused("4 arguments are given: expected 2, or 3 with the values", bad, out, in, 512, 1);
  refused("in is given as a value: expected a pointer", bad, out, 512);
  refused("cols is given as a pointer: expected a value", bad, out, in, in);
  refused("cols is 512.5: expected 512, as kernel.json has it", bad, out, in, 512.5);
  refused("in is at 0x0: expected device memory at a multiple of 4", bad, out, nullptr, 512);
  refused("in is at 0x2002: expected device memory at a multiple of 4", bad, out, floats(0x2002), 512);
  refused("cols is 0: expected 1 to 1099511627776", bad, out, in, std::numeric_limits<double>::quiet_NaN());
  refused("cols is 0: expected 1 to 1099511627776", bad, out, in, 0);
  const auto message = [&](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      CHECK(error.code() == bad);
      return error.what();
    }
    return {};
  };
  CHECK(message([&] {
    kernel(nullptr, {{"row", 1}}, out, in);
  }) == "kernel called_wrongly: sizes are rows, cols, row: expected rows, cols, those of the kernel called_wrongly");
  CHECK(message([&] {
    kernel(nullptr, {{"rows", 64}, {"cols", 500}}, out, in, 512);
  }) == "kernel called_wrongly: cols is 512: expected 500, as kernel.json has it");
  CHECK(message([&] {
    kernel.prepare({{"rows", std::int64_t{1} << 31}, {"cols", 1}});
  }).find("kernel called_wrongly rows=2147483648 cols=1 has no kernel on sm_90a: expected sizes at which a config is legal") ==
        0);
  CHECK(message([&] {
    (void)kernel.elements(std::vector<Size>{{"rows", 1}, {"cols", std::int64_t{1} << 32}});
  }).find("kernel called_wrongly: cols: its value is 4294967296") == 0);
  void* const one[] = {out};
  CHECK(message([&] {
    kernel.run(nullptr, std::vector<Size>{{"rows", 64}}, one);
  }) == "kernel called_wrongly: 1 buffers are given: expected 2");
  CHECK(fake::own_launches().empty());
}

TEST_CASE("a stream that is being captured launches planned sizes of one's own kernel alone", "[own_kernel]") {
  const Fixture f("called_captured");
  const Library library = Library::open(f.tuned_database(), fake::stored_only());
  const OwnKernel kernel = library.kernel(f.folder.path());
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  const auto call = [&] { kernel(nullptr, {{"rows", 64}, {"cols", 512}}, floats(0x1000), floats(0x2000)); };
  CHECK(failure_of(call) == ErrorCode::not_planned);
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_NONE;
  kernel.prepare({{"rows", 64}, {"cols", 512}});
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  call();
  CHECK(fake::own_launches().size() == 1);
  library.clear_cache();  // plans of a handle stay with it
  call();
  CHECK(fake::own_launches().size() == 2);
}

TEST_CASE("the sizes that a program uses of one's own kernel are added to a workload file", "[own_kernel]") {
  const Fixture f("captured_sizes");
  const std::string file = (f.folder.path() / "used-%p.txt").string();
  const Variable capture("TILESMITH_CAPTURE", file);
  const OwnKernel kernel = Library::open(f.tuned_database(), fake::stored_only()).kernel(f.folder.path());
  for (const int rows : {64, 64, 65}) kernel(nullptr, {{"rows", rows}, {"cols", 512}}, floats(0x1000), floats(0x2004));
  std::string used = file;
  used.replace(used.find("%p"), 2, std::to_string(::getpid()));
  std::ifstream written(used);
  CHECK(std::string(std::istreambuf_iterator<char>(written), {}) ==
        "kernel captured_sizes rows=64 cols=512\nkernel captured_sizes rows=65 cols=512\n");
}

TEST_CASE("a folder of a kernel is found again unless it changed, and outlives its library's handle", "[own_kernel]") {
  const Fixture f("called_again");
  std::optional<Library> library = Library::open(f.tuned_database(), fake::stored_only());
  const OwnKernel kernel = library->kernel(f.folder.path());
  library.reset();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&, i] { kernel.prepare({{"rows", 64 + i % 2}, {"cols", 512}}); });
  for (std::thread& thread : threads) thread.join();
  library = Library::without_database(fake::stored_only());
  const tests::KernelFolder copy("called_again");
  CHECK(library->kernel(copy.path()).elements({{"rows", 2}}).at(0) == 2000);
  const auto message = [&](const std::filesystem::path& folder) -> std::string {
    try {
      (void)library->kernel(folder);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::bad_argument);
      return error.what();
    }
    return {};
  };
  copy.write("maximum.cuh", "#pragma once\n");
  CHECK(message(copy.path()).find("there is a kernel 'called_again' already") != std::string::npos);
  f.folder.write("maximum.cuh", "#pragma once\n");
  CHECK(message(f.folder.path()).find("changed since this program loaded it") != std::string::npos);
  CHECK(message("/none") == "/none: expected a folder that holds kernel.json, or the name of a kernel that is loaded");
}

TEST_CASE("in C a kernel of one's own is opened, run and explained", "[own_kernel]") {
  const Fixture f("called_from_c");
  tilesmith_library* library = fake::open_stored_in_c(f.tuned_database());
  tilesmith_kernel* kernel = nullptr;
  REQUIRE(tilesmith_kernel_open(library, f.folder.path().c_str(), &kernel) == TILESMITH_OK);
  tilesmith_close(library);
  const char* const names[] = {"rows", "cols"};
  const std::int64_t values[] = {64, 512};
  REQUIRE(tilesmith_kernel_prepare(kernel, names, values, 2) == TILESMITH_OK);
  void* const buffers[] = {floats(0x1000), floats(0x2000)};
  auto* const stream = reinterpret_cast<CUstream>(0x77);
  REQUIRE(tilesmith_kernel_run(kernel, stream, names, values, 2, buffers, 2) == TILESMITH_OK);
  CHECK((fake::own_launches().at(0).grid == 64 && fake::own_launches()[0].stream == stream));
  std::int64_t elements[2] = {};
  REQUIRE(tilesmith_kernel_elements(kernel, names, values, 2, elements, 2) == TILESMITH_OK);
  CHECK(elements[1] == 64 * 512);

  const auto last = [] { return std::string(tilesmith_last_error()); };
  CHECK(tilesmith_kernel_elements(kernel, names, values, 2, elements, 1) == TILESMITH_BAD_ARGUMENT);
  CHECK(last() == "buffer_count is 1: expected 2");
  CHECK(tilesmith_kernel_run(kernel, stream, names, values, 2, buffers, 1) == TILESMITH_BAD_ARGUMENT);
  CHECK(last() == "kernel called_from_c: 1 buffers are given: expected 2");
  CHECK(tilesmith_kernel_run(kernel, stream, nullptr, values, 2, buffers, 2) == TILESMITH_BAD_ARGUMENT);
  CHECK(last() == "a name, or names or values, is null: expected those of the sizes");
  CHECK(tilesmith_kernel_run(kernel, stream, names, values, 2, nullptr, 2) == TILESMITH_BAD_ARGUMENT);
  CHECK(last() == "tilesmith_kernel_run: buffers is null");
  tilesmith_kernel_close(kernel);
  tilesmith_kernel_close(nullptr);
  CHECK(tilesmith_kernel_open(nullptr, "called_from_c", &kernel) == TILESMITH_BAD_ARGUMENT);
  CHECK(kernel == nullptr);
}

}  // namespace tilesmith::runtime::own_kernel_calls
