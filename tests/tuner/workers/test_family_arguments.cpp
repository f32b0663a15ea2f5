// Worker processes get the families of one's own that their tuner has.
#include "tuner/workers/family_arguments.hpp"

#include <filesystem>

#include "kernels/families/user/load.hpp"
#include "tests/catch.hpp"
#include "tests/family_folder.hpp"
#include "tuner/workers/process.hpp"
#include "tuner/workers/protocol.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

std::string fatal_of(const std::vector<std::string>& arguments) {
  WorkerProcess worker(arguments, TILESMITH_BINARY);
  worker.send(to_message(CompileRequest{Config("gone", {}), "f16f32 NN", "sm_87"}));
  const auto answer = worker.receive();
  REQUIRE(answer);
  return fatal_error(*answer).value_or("");
}

}  // namespace

TEST_CASE("a worker is told of every loaded family and of what was read", "[family_dir]") {
  tests::FamilyFolder folder("told_of");
  folder.with("\"f16f32\", \"bf16f32\"", "\"e5m2f32bf16\"");  // for no problem of another test
  load_family_dir(folder.path());
  const std::vector<std::string> arguments = with_family_dirs({"worker", "compile"});
  REQUIRE(arguments.size() >= 6);
  const std::size_t last = arguments.size() - 4;
  CHECK(arguments[0] == "worker");
  CHECK(arguments[last] == "--family-dir");
  CHECK(arguments[last + 1] == std::filesystem::canonical(folder.path()).string());
  CHECK(arguments[last + 2] == "--family-content");
  CHECK(arguments[last + 3].size() == 32);
  CHECK(fatal_of(arguments).empty());

  // What a worker that starts now would compile is no longer what the tuner records.
  folder.write("helper.cuh", "#pragma once\nconstexpr int kHelp = 2;\n");
  CHECK(fatal_of(arguments).find("changed since this run began") != std::string::npos);
  folder.with("\"min_sm\": 80", "\"min_sm\": \"80\"");
  CHECK(fatal_of(arguments).find("family.json: min_sm: is \"80\"") != std::string::npos);
}

TEST_CASE("a content without a folder before it is no option of a worker", "[family_dir]") {
  FamilyArguments families;
  CHECK_FALSE(families.take("--family-content", "0"));
  CHECK_FALSE(families.take("--device", "0"));
  CHECK_FALSE(families.take("--family-dir", ""));
  CHECK(families.take("--family-dir", "/none"));
  CHECK(families.load() == "/none: is no folder, expected one that holds family.json or kernel.json");
}
