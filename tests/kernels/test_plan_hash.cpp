#include "kernels/families/plan_hash.hpp"

#include <set>

#include "kernels/families/source_hash.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

const std::string kOptions = compiler_options_text({{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_90a")});

Problem problem(const std::string& canonical) {
  std::string error;
  return parse_problem(canonical, error).value();
}

Config simt(int block_m = 64) {
  return Config("simt", {{"block_m", block_m}, {"block_n", 64}, {"block_k", 16}, {"thread_m", 4}, {"thread_n", 4}});
}

}  // namespace

TEST_CASE("a source's hash is of its code, of all that it includes, and of the options") {
  using Files = std::vector<EmbeddedFile>;
  const std::string source = "// A config.\nconstexpr int kM = 1;\n#include \"a.cuh\"\n#include <cuda_fp16.h>\n";
  const Files headers{{"a.cuh", "#pragma once\n#include \"b.cuh\"\nint a;\n"},
      {"b.cuh", "#include \"a.cuh\"\nint b;\n"}, {"c.cuh", "int c;\n"}};
  const std::string hash = source_hash(source, "-O", headers);
  CHECK(hash.size() == 32);
  CHECK(source_hash("constexpr int kM = 1;  /* one\n or so */\n\n#include \"a.cuh\"  // a\n#include <cuda_fp16.h>",
            "-O", headers) == hash);
  CHECK(source_hash("constexpr int kM = 2;\n#include \"a.cuh\"\n#include <cuda_fp16.h>\n", "-O", headers) != hash);
  CHECK(source_hash(source, "-O2", headers) != hash);
  const auto with = [&](std::size_t i, std::string_view text) {
    Files changed = headers;
    changed[i].text = text;
    return source_hash(source, "-O", changed);
  };
  CHECK(with(1, "// What b is.\n#include \"a.cuh\"\nint b;   \n\n") == hash);
  CHECK(with(1, "#include \"a.cuh\"\nlong b;\n") != hash);  // which only an included file includes
  CHECK(with(2, "long c;\n") == hash);                      // which nobody includes
}

TEST_CASE("code is told from comments, in quotes too") {
  CHECK(code_of("a // b\n\n  \nc /* d\n e */ f\n") == "a c f\n");
  CHECK(code_of("asm(\"// no  comment \\\" /* nor this */\");  // but this\n") ==
        "asm(\"// no  comment \\\" /* nor this */\");\n");
  CHECK(code_of("a / b\n") == "a/b\n");
  CHECK(code_of("").empty());
  CHECK(code_of("/* no end").empty());
  CHECK(code_of("\"no end") == "\"no end\n");
}

TEST_CASE("layout is no code, but what separates tokens is, and so are the lines of directives") {
  const std::string code = code_of("int f( int a,\n      int b ) {\n  return a + b;\n}\n");
  CHECK(code == "int f(int a,int b){return a+b;}\n");
  CHECK(code_of("int f(int a, int b) { return a + b; }") == code);
  CHECK(code_of("intf(int a, int b) { return a + b; }") != code);
  CHECK(code_of("a - -b") != code_of("a-- b"));
  CHECK(code_of("a & &b") != code_of("a && b"));
  CHECK(code_of("return\nx;") == "return x;\n");
  CHECK(code_of("t<u<int> >") == code_of("t<u<int>>"));
  CHECK(code_of("f(\n    (a), {}\n  )\n}\n}") == code_of("f((a),{})}}"));
  CHECK(code_of("x;\n  #if A\ny;\n#endif\n\nz;") == "x;\n#if A\ny;\n#endif\nz;\n");
  CHECK(code_of("#define F(x) 1\n") != code_of("#define F (x) 1\n"));
  CHECK(code_of("#define F(x) \\\n  1\ny") == "#define F(x) 1\ny\n");
}

TEST_CASE("a kernel's hash tells configs, type pairs, transposes and architectures apart") {
  std::set<std::string> hashes;
  const auto add = [&](const Config& config, const char* type, Transposes trans, const std::string& options) {
    const std::string hash = kernel_hash(config, {*find_type_pair(type), trans}, options);
    CHECK(hash.size() == 32);
    hashes.insert(hash);
  };
  add(simt(), "f16f32", {}, kOptions);
  add(simt(32), "f16f32", {}, kOptions);
  add(simt(), "bf16f32", {}, kOptions);
  add(simt(), "f16f32", {true, false}, kOptions);
  for (const DeviceLimits& limits : {*limits_for_arch("sm_87"), *virtual_limits("sm_87")})
    add(simt(), "f16f32", {}, compiler_options_text({{*find_type_pair("f16f32"), {}}, limits}));
  CHECK(hashes.size() == 6);
  add(simt(), "f16f32", {}, kOptions);  // again
  CHECK(hashes.size() == 6);
}

TEST_CASE("a plan's hash is of its kernels and of its launches") {
  const std::string hash = plan_hash(simt(), problem("f16f32 NN 64 64 64"), kOptions);
  CHECK(hash.size() == 32);
  CHECK(hash == plan_hash(simt(), problem("f16f32 NN 64 64 64"), kOptions));
  CHECK(hash == plan_hash(simt(), problem("f16f32 NN 64 64 64 beta=any"), kOptions));  // the same launches
  CHECK(hash != plan_hash(simt(), problem("f16f32 NN 128 64 64"), kOptions));          // another grid
  CHECK(hash != plan_hash(simt(), problem("f16f32 NN 64 64 64 lda=80"), kOptions));    // rows elsewhere
  CHECK(hash != plan_hash(simt(32), problem("f16f32 NN 64 64 64"), kOptions));
}

TEST_CASE("what makes no plan has no hash") {
  const Problem small = problem("f16f32 NN 64 64 64");
  CHECK(plan_hash(Config("nobody", {}), small, kOptions).empty());
  CHECK(plan_hash(Config("simt", {{"block_m", 64}}), small, kOptions).empty());
  CHECK(plan_hash(simt(0), small, kOptions).empty());  // of which no launch could be made
  CHECK(plan_hash(simt(), problem("f16f32 NN 0 64 64"), kOptions).empty());
  for (const char* options :
      {"", "-O", "--gpu-architecture=sm_12", "--gpu-architecture=sm_90a", "--gpu-architecture="}) {
    CHECK(plan_hash(simt(), small, options).empty());
    CHECK(kernel_hash(simt(), small, options).empty());
  }
}
