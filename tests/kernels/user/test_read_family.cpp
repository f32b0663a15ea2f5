// What family.json may hold, and the one line that is said of what it may not.
#include <string>

#include "tests/catch.hpp"
#include "tests/family_folder.hpp"

using namespace tilesmith;
using tests::FamilyFolder;

TEST_CASE("a family is read from its folder") {
  const FamilyFolder folder;
  const auto family = folder.read();
  CHECK(family->name() == "small");
  CHECK(family->summary() == "a small family");
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_87")};
  CHECK(family->supports(target));
  CHECK_FALSE(family->supports({{*find_type_pair("s8s32"), {}}, target.limits}));
  CHECK_FALSE(family->supports({{target.type, {true, false}}, target.limits}));
  const auto parameters = family->parameters(target);
  REQUIRE(parameters.size() == 2);
  CHECK(parameters[0].name == "tile");
  CHECK(parameters[0].values == std::vector<int>{16, 32, 64});
  CHECK(parameters[1].meaning == "elements of K at a time");
  REQUIRE(family->initial_configs(target).size() == 1);
  CHECK(family->initial_configs(target)[0].text() == "small{tile=32,step=16}");  // in the order of the declaration
  CHECK(family->needs_proof());
}

TEST_CASE("the error of a field names the file, the field and what was expected") {
  const auto error = [](const std::string& part, const std::string& by) {
    return FamilyFolder().with(part, by).error();
  };
  CHECK(error("\"min_sm\": 80", "\"min_sm\": \"80\"") ==
        "family.json: min_sm: is \"80\", expected a whole number from 80 to 1000");
  CHECK(error("\"min_sm\": 80", "\"min_sn\": 80")
            .find("family.json: min_sn: unknown field, expected one of name, summary") == 0);
  CHECK(error("\"summary\": \"a small family\",", "") == "family.json: summary: is missing");
  CHECK(
      error("a small family", "two\\nlines").find("family.json: summary: is \"two\\nlines\", expected one line") == 0);
  CHECK(
      error("\"bf16f32\"", "\"bf17\"").find("family.json: types[1]: is \"bf17\", expected one of f16f32, f16f16") == 0);
  CHECK(error("\"bf16f32\"", "\"f16f32\"") == "family.json: types[1]: is \"f16f32\", expected each once");
  CHECK(error("\"NT\"", "\"NX\"") == "family.json: transposes[1]: is \"NX\", expected NN, NT, TN or TT");
  CHECK(error("\"small\"", "\"Small\"").find("family.json: name: is \"Small\", expected a name of lowercase letters") ==
        0);
  CHECK(error("[0, 8, 16]", "[0, 8, 8]") == "family.json: parameters.step.values[2]: is 8, expected each once");
  CHECK(
      error("[0, 8, 16]", "[0, 1.5]").find("family.json: parameters.step.values[1]: is 1.5, expected a whole number") ==
      0);
  CHECK(
      error("[0, 8, 16]", "[]") == "family.json: parameters.step.values: is [], expected a list of 1 to 256 elements");
  CHECK(error("\"step\": {", "\"lda\": {").find("family.json: parameters.lda: the name means something else") == 0);
  CHECK(
      error("\"step\": {", "\"Step\": {").find("family.json: parameters.Step: expected a name of lowercase letters") ==
      0);
  CHECK(error("\"tile\": 32}", "\"tile\": 33}") ==
        "family.json: initial_configs[0].tile: is 33, expected a value of the parameter's list");
  CHECK(error(", \"tile\": 32}", "}") == "family.json: initial_configs[0].tile: is missing");
  CHECK(error("\"tile\": 32}", "\"tile\": 32, \"k\": 1}") ==
        "family.json: initial_configs[0].k: is 1, expected no value, there is no such parameter");
  CHECK(error("\"block\": \"tile\",", "") == "family.json: launch.block: is missing");
  CHECK(error("\"block\": \"tile\"", "\"block\": true") ==
        "family.json: launch.block: is true, expected an expression, as text, or a whole number");
  CHECK(error("\"block\": \"tile\"", "\"block\": [1, 2, 3, 4]") ==
        "family.json: launch.block: is [1,2,3,4], expected a list of 1 to 3 elements");
  CHECK(error("\"block\": \"tile\"", "\"block\": \"tile\", \"cluster\": 2") ==
        "family.json: launch.cluster: is 2, expected no clusters, or min_sm of at least 90");
}

TEST_CASE("the error of an expression names its field and the names that it may read there") {
  const auto error = [](const std::string& part, const std::string& by) {
    return FamilyFolder().with(part, by).error();
  };
  CHECK(
      error("tile % step == 0", "tile % stap == 0")
          .find(
              "family.json: rules[0].holds: 'tile % stap == 0': unknown name 'stap', expected one of tile, step, operand_bytes") ==
      0);
  CHECK(error("tile % step == 0", "tile < m").find("rules[0].holds: 'tile < m': unknown name 'm'") !=
        std::string::npos);  // a rule knows no problem
  CHECK(error("m < tile", "sm < tile").find("refusals[0].when: 'sm < tile': unknown name 'sm'") != std::string::npos);
  CHECK(
      error("ceil_div(n, tile)", "ceil_div(n)").find("family.json: launch.grid[1]: 'ceil_div(n)': expected ','") == 0);
}

TEST_CASE("what is no JSON, nests deep or gives a field twice is refused in a line") {
  FamilyFolder folder;
  const auto error_of = [&](const std::string& json) {
    folder.json = json;
    folder.save();
    const std::string error = folder.error();
    CHECK(error.find('\n') == std::string::npos);
    return error;
  };
  CHECK(error_of("{\"name\": ").find("family.json: parse error at line 1, column 10") == 0);
  CHECK(error_of("").find("family.json: parse error") == 0);
  CHECK(error_of("[1]") == "family.json: the whole: is [1], expected an object");
  CHECK(error_of("{\"name\": \"a\", \"name\": \"b\"}") == "family.json: name: is given twice");
  CHECK(error_of(std::string(100000, '[')) == "family.json: nests deeper than 16");
  CHECK(error_of(std::string("{}\0", 3)) == "family.json: holds a zero byte, expected text");
  CHECK(error_of(std::string(2 << 20, ' ')).find("expected at most 1048576") != std::string::npos);
}

TEST_CASE("two parameters of one constant, and spaces without end, are refused") {
  CHECK(
      FamilyFolder()
          .with("\"step\": {",
              "\"a1\": {\"values\": [1], \"meaning\": \"x\"}, \"a_1\": {\"values\": [1], \"meaning\": \"x\"}, \"step\": {")
          .error() == "family.json: parameters.a_1: kA1 would be a1's constant, too; expected another name");
  std::string many = "[0";
  for (int i = 1; i < 256; ++i) many += "," + std::to_string(i);
  many += "]";
  std::string wide;
  for (const char* name : {"p", "q", "r", "s"})
    wide += "\"" + std::string(name) + "\": {\"values\": " + many + ", \"meaning\": \"x\"}, ";
  CHECK(FamilyFolder()
            .with("\"step\": {", wide + "\"step\": {")
            .error()
            .find("expected at most 100000000 combinations of values") != std::string::npos);
}

TEST_CASE("the template is a file of the folder, and includes only files of it, ours and CUDA's") {
  CHECK(FamilyFolder().with("small.cu", "../small.cu").error() ==
        "family.json: template: is \"../small.cu\", expected the name of a file in the folder");
  CHECK(FamilyFolder().with("small.cu", "none.cu").error() == "none.cu: is no file that can be read");
  const auto error_of = [](const std::string& line) {
    const FamilyFolder folder;
    folder.write("small.cu", "// first\n" + line + "\n");
    return folder.error();
  };
  CHECK(
      error_of("#include \"none.cuh\"") ==
      "small.cu:2: \"none.cuh\": expected a file of this folder, a header of Tilesmith (\"kernels/...\"), or <...> for one of CUDA's");
  CHECK(error_of("  #  include \"/etc/passwd\"").find("small.cu:2: \"/etc/passwd\": expected") == 0);
  CHECK(error_of("#include \"kernels/none.cuh\"").find("small.cu:2: \"kernels/none.cuh\": expected") == 0);
  CHECK(error_of("#include <helper.cuh>") ==
        "small.cu:2: <helper.cuh>: expected a header of CUDA; files of this folder are included with quotes");
  CHECK(error_of("#include <../x.cuh>").find("small.cu:2: <../x.cuh>: expected a header of CUDA") == 0);
  CHECK(error_of("const char* t = R\"(x)\";") == "small.cu:2: raw strings are not taken: expected ordinary ones");
  CHECK(error_of("#include <mma.h>").empty());
  CHECK(error_of("#  include \"kernels/shared/finish/scale.cuh\"").empty());
}

TEST_CASE("files that include each other are put in once") {
  const FamilyFolder folder;
  folder.write("helper.cuh", "#pragma once\n#include \"small.cu\"\n#include \"sub/other.cuh\"\nint helper;\n");
  folder.write("sub/other.cuh", "int other;\n");
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_87")};
  const auto family = folder.read();
  const std::string source = family->source(family->initial_configs(target).at(0), target);
  CHECK(source.find("#pragma") == std::string::npos);
  CHECK(source.find(
            "#line 1 \"sub/other.cuh\"\nint other;\n#line 4 \"helper.cuh\"\nint helper;\n#line 2 \"small.cu\"\n") !=
        std::string::npos);
  CHECK(source.find("extern") == source.rfind("extern"));
}
