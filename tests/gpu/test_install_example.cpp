// The C and C++ examples, built against an install tree (build/examples), run against a database made on the spot.
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "tests/catch.hpp"
#include "tests/gpu/small_store.hpp"

namespace tilesmith::test_install_example {
using namespace tilesmith::test;

namespace {

/// The examples' folder beside this program's: the build may have been moved since.
std::filesystem::path example(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "examples" / name;
}

/// Runs a command line; its exit status, and all it said.
std::pair<int, std::string> run(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  std::string said;
  std::array<char, 4096> piece;
  while (std::fgets(piece.data(), int(piece.size()), pipe) != nullptr) said += piece.data();
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, said};
}

std::string quoted(const std::filesystem::path& path) { return '\'' + path.string() + '\''; }

}  // namespace

TEST_CASE("an installed C program is right on every level, inside a CUDA graph too", "[gpu][install]") {
  INFO("build target examples_installed makes " << example("gemm_c"));
  REQUIRE(std::filesystem::exists(example("gemm_c")));
  const runtime::DeviceInfo info = runtime::device_info(0);
  const TempFolder folder;
  {
    db::Store store = db::Store::open(folder / "small.db");
    tune_by_hand(store, "f16f32 NN 256 256 256", small_simt(), info);
    tune_by_hand(store, "s8s32 TN 320 200 500", small_simt(), info);
  }
  const auto [status, said] =
      run(quoted(example("gemm_c")) + " " + quoted(folder / "small.db") +
          " f16f32,NN,256,256,256,exact f16f32,NN,250,264,250,model s8s32,TN,320,200,500,exact"
          " bf16f32,NT,129,65,257,model f64f64,TT,65,33,129,model u8s32,NN,100,90,80,model "
          "f16f16,TN,64,72,80,model f16f32f16,NN,70,66,90,model bf16f32bf16,TT,65,40,4096,model");
  INFO(said);
  CHECK(status == 0);
  CHECK(said.find("FAIL") == std::string::npos);
  CHECK(said.find("f16f32 NN 256 256 256: level exact") != std::string::npos);
}

TEST_CASE("an installed C program notices a level that is not the expected one", "[gpu][install]") {
  REQUIRE(std::filesystem::exists(example("gemm_c")));
  const auto [status, said] = run(quoted(example("gemm_c")) + " - f64f64,NN,32,32,32,exact");
  INFO(said);
  CHECK(status == 1);
  CHECK(said.find("level model, expected exact") != std::string::npos);
}

TEST_CASE("an installed C++ program is right, with and without a database", "[gpu][install]") {
  REQUIRE(std::filesystem::exists(example("gemm_cpp")));
  const runtime::DeviceInfo info = runtime::device_info(0);
  const TempFolder folder;
  {
    db::Store store = db::Store::open(folder / "small.db");
    tune_by_hand(store, "tf32f32 NN 300 200 100", small_simt(), info);
  }
  for (const std::string& database : {std::string("-"), quoted(folder / "small.db")}) {
    const auto [status, said] = run(quoted(example("gemm_cpp")) + " " + database + " 300 200 100");
    INFO(said);
    CHECK(status == 0);
    CHECK(said.find(database == "-" ? "level model" : "level exact") != std::string::npos);
  }
}

}  // namespace tilesmith::test_install_example
