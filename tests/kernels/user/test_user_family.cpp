// A family of one's own as the program sees it: legality, launches, hashes, the list of families.
#include <algorithm>

#include "kernels/families/estimate.hpp"
#include "kernels/families/plan_hash.hpp"
#include "kernels/families/source_hash.hpp"
#include "kernels/families/space.hpp"
#include "kernels/families/user/load.hpp"
#include "tests/catch.hpp"
#include "tests/family_folder.hpp"

using namespace tilesmith;
using tests::FamilyFolder;

namespace {

KernelTarget target_of_user(const char* arch = "sm_87") {
  return {{*find_type_pair("f16f32"), {}}, *limits_for_arch(arch)};
}

Config small(int tile, int step) { return Config("small", {{"tile", tile}, {"step", step}}); }

Problem problem_of(std::int64_t m, std::int64_t n) { return packed_problem({*find_type_pair("f16f32"), {}}, m, n, 64); }

std::string load_error(const std::filesystem::path& folder) {
  try {
    load_family_dir(folder);
    return {};
  } catch (const DefinitionError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a rule's expression decides what is legal, and a division by zero is illegal") {
  const FamilyFolder folder;
  const auto family = folder.read();
  CHECK_FALSE(illegal_because(*family, small(32, 16), target_of_user()));
  CHECK(illegal_because(*family, small(16, 0), target_of_user()) == "steps: a step divides a tile");
  CHECK(illegal_because(*family, small(48, 16), target_of_user()) == "tile = 48 is not in the space");
  const Space space = enumerate_space(*family, target_of_user());
  CHECK(space.combinations == 9);
  CHECK(space.configs.size() == 6);
  const std::vector<Rule> rules = family->rules(target_of_user());
  REQUIRE(rules.size() == 3);
  CHECK(rules[0].reads == std::vector<std::string>{"tile", "step"});
  CHECK(rules[1].reads == std::vector<std::string>{"tile"});
}

TEST_CASE("a block that the device does not allow is against a rule") {
  FamilyFolder folder;
  folder.with("\"block\": \"tile\"", "\"block\": [\"tile\", \"tile\"]")
      .with("tile * step * operand_bytes", "tile * step * 128");
  const auto family = folder.read();
  CHECK(illegal_because(*family, small(64, 8), target_of_user()) == "gemm threads: a block has 1 to 1024 threads");
  CHECK_FALSE(illegal_because(*family, small(32, 16), target_of_user("sm_86")));
  folder.with("tile * step * 128", "tile * step * 256");
  const auto larger = folder.read();
  CHECK(illegal_because(*larger, small(32, 16), target_of_user("sm_86")) ==
        "gemm shared memory: a block has at most 101376 bytes of shared memory");
  CHECK_FALSE(illegal_because(*larger, small(32, 16), target_of_user("sm_87")));
}

TEST_CASE("launches and workspace are what the expressions say of the problem") {
  FamilyFolder folder;
  folder.with("\"initial_configs\"", "\"workspace_bytes\": \"m * n * 4 * trans_b + 256\", \"initial_configs\"");
  const auto family = folder.read();
  const LaunchSequence sequence = family->launches(small(32, 16), problem_of(100, 65));
  REQUIRE(sequence.launches.size() == 1);
  const Launch& launch = sequence.launches[0];
  CHECK(launch.entry == "gemm");
  CHECK(launch.grid.x == 4);
  CHECK(launch.grid.y == 3);
  CHECK(launch.grid.z == 1);
  CHECK(launch.block.x == 32);
  CHECK(launch.cluster.x == 1);
  CHECK(launch.dynamic_smem_bytes == 32 * 16 * 2);
  CHECK(launch.a.row_stride == 64);
  CHECK(launch.d.row_stride == 65);
  CHECK(sequence.workspace_bytes == 256);
}

TEST_CASE("a list of launches is run in its order") {
  FamilyFolder folder;
  folder.with("\"launch\": {", "\"launch\": [{\"entry\": \"prepare\", \"grid\": 1, \"block\": 32}, {")
      .with("operand_bytes\"}", "operand_bytes\"}]");
  const LaunchSequence sequence = folder.read()->launches(small(32, 16), problem_of(100, 65));
  REQUIRE(sequence.launches.size() == 2);
  CHECK(sequence.launches[0].entry == "prepare");
  CHECK(sequence.launches[0].dynamic_smem_bytes == 0);
  CHECK(sequence.launches[1].entry == "gemm");
}

TEST_CASE("a problem is refused by an expression, or where its launch cannot be launched") {
  FamilyFolder folder;
  CHECK(folder.read()->refusal(small(32, 16), problem_of(31, 65)) == "too small");
  CHECK_FALSE(folder.read()->refusal(small(32, 16), problem_of(32, 65)));
  CHECK(folder.read()->refusal(small(16, 16), problem_of(64, 16 * 65536)) ==
        "launch 'gemm': grid[1] is 65536: expected 1 to 65535");
  folder.with("m < tile", "m / (n - 65) > 0");
  CHECK(folder.read()->refusal(small(32, 16), problem_of(32, 65)) ==
        "too small (not known: it divides by zero or leaves 64 bits)");
  folder.with("m / (n - 65) > 0", "0").with("\"ceil_div(n, tile)\"", "\"n - 65\"");
  CHECK(
      folder.read()->refusal(small(32, 16), problem_of(32, 65)) == "launch 'gemm': grid[1] is 0: expected 1 to 65535");
  folder.with("\"n - 65\"", "1")
      .with("\"min_sm\": 80", "\"min_sm\": 90")
      .with("\"block\": \"tile\"", "\"block\": \"tile\", \"cluster\": 2");
  CHECK(folder.read()->refusal(small(32, 16), problem_of(96, 65)) ==
        "launch 'gemm': the grid does not split into clusters");
  CHECK_FALSE(folder.read()->refusal(small(32, 16), problem_of(64, 65)));
  CHECK_FALSE(folder.read()->supports(target_of_user("sm_87")));
}

TEST_CASE("the kernel hash follows the template and every file that it includes, but no comment") {
  const FamilyFolder folder;
  const auto hash = [&] {
    const auto family = folder.read();
    return source_hash(family->source(small(32, 16), target_of_user()), "-O");
  };
  const std::string before = hash();
  folder.write("helper.cuh", "#pragma once\n// more\n\n/* lines */\nconstexpr int kHelp = 1;  // helps\n");
  CHECK(hash() == before);
  folder.write("helper.cuh", "#pragma once\nconstexpr int kHelp = 2;\n");
  const std::string changed = hash();
  CHECK(changed != before);
  folder.write("small.cu",
      "#include \"helper.cuh\"\nextern \"C\" __global__ void gemm(const __grid_constant__ tilesmith::GemmArgs a) {}\n");
  CHECK(hash() != changed);
}

TEST_CASE("characters in quotes do not hide code from the hash") {
  CHECK(code_of("char a = '\"';  // one\nchar b = '\\\"'; // two\n") == "char a='\"';char b='\\\"';\n");
  CHECK(code_of("#line 3 \"x.cu\"\nint a;\n#line 4 \"x.cu\"\n") == "int a;\n");
}

TEST_CASE("a loaded family has plan hashes, which follow its launches") {
  FamilyFolder folder("loaded_a"), other("loaded_b");
  other.with("\"block\": \"tile\"", "\"block\": \"tile * 2\"");
  load_family_dir(folder.path());
  load_family_dir(other.path());
  REQUIRE(find_family("loaded_a") != nullptr);
  const std::string options = compiler_options_text(target_of_user());
  const Config a("loaded_a", {{"tile", 32}, {"step", 16}}), b("loaded_b", {{"tile", 32}, {"step", 16}});
  CHECK(kernel_hash(a, target_of_user(), options).size() == 32);
  CHECK(kernel_hash(a, target_of_user(), options) ==
        kernel_hash(b, target_of_user(), options));  // the name stands in a comment
  CHECK(plan_hash(a, problem_of(64, 64), options) != plan_hash(b, problem_of(64, 64), options));
  CHECK(plan_hash(a, problem_of(8, 64), options).empty());  // refused
}

TEST_CASE("a folder is loaded once, may not change, and may not take a name that is there") {
  FamilyFolder folder("loaded_c");
  load_family_dir(folder.path());
  const std::size_t count = families().size();
  load_family_dir(folder.path() / ".");
  load_family_dirs(folder.path().string() + "::" + folder.path().string(), "$X");
  CHECK(families().size() == count);
  const auto loaded = loaded_family_dirs();
  CHECK(std::ranges::count(loaded, std::filesystem::canonical(folder.path()), &LoadedFamilyDir::folder) == 1);

  folder.with("a small family", "a changed family");
  CHECK(load_error(folder.path()).find("changed since this program loaded it") != std::string::npos);
  const FamilyFolder same("loaded_c"), simt("simt");
  CHECK(
      load_error(same.path()).find("family.json: name: there is a family 'loaded_c' already, expected another name") !=
      std::string::npos);
  CHECK(load_error(simt.path()).find("family.json: name: there is a family 'simt' already") != std::string::npos);
  CHECK(load_error("/nonexistent") == "/nonexistent: is no folder, expected one that holds family.json or kernel.json");
  CHECK(families().size() == count);
}

TEST_CASE("the example that ships is right, and covers what it says") {
  const auto family = read_family(tests::example_family());
  CHECK(family->name() == "my_tiles");
  for (const Transposes trans : kAllTransposes)
    CHECK(family->supports({{*find_type_pair("f16f32"), trans}, *limits_for_arch("sm_87")}));
  const Space space = enumerate_space(*family, target_of_user());
  CHECK(space.configs.size() >= 12);
  CHECK(family->initial_configs(target_of_user()).size() == 2);
  for (const Config& config : space.configs) {
    CHECK_FALSE(family->refusal(config, problem_of(1000, 1000)));
    CHECK(family->estimate(config, target_of_user(), problem_of(1000, 1000)));
  }
}
