// Calls as the text of a workload: families that differ in M alone, and the sizes that are added to them.
#include <sstream>
#include <string>
#include <vector>

#include "kernels/problem/problem.hpp"
#include "runtime/cublas/calls/families.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;
using namespace tilesmith::cublas;

namespace {

alignas(16) char operand[16];
const float kScalars[2] = {1, 0};
const Judge kJudge{tilesmith_problem_text, tilesmith_last_error};

/// A linear layer on so many tokens, its weight stored as PyTorch does.
GemmCall layer(std::int64_t tokens, std::int64_t outputs = 256) {
  GemmCall call;
  call.op_a = kOpT;
  call.m = outputs;
  call.n = tokens;
  call.k = 128;
  call.lda = call.ldb = 128;
  call.ldd = outputs;
  call.type_a = call.type_b = call.type_d = kF16;
  call.alpha = &kScalars[0];
  call.beta = &kScalars[1];
  call.a = call.b = call.c = call.d = operand;
  return call;
}

CountedProblem counted(const GemmCall& call, std::uint64_t calls) {
  CountedProblem result{{}, calls};
  REQUIRE(key_of(call, result.key) == Reason::none);
  return result;
}

Buckets buckets(const char* text) {
  Buckets result;
  REQUIRE(parse_buckets(text, result));
  return result;
}

/// Lines without the first two, which say what it is and what weights are.
std::vector<std::string> lines_of(const std::vector<CountedProblem>& seen, const char* sizes) {
  const WorkloadText made = workload_text(seen, buckets(sizes), "of a test", kJudge);
  std::istringstream in(made.text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  REQUIRE(lines.size() >= 2);
  CHECK(lines[0] == "# of a test");
  CHECK(lines[1] == "weights calls");
  lines.erase(lines.begin(), lines.begin() + 2);
  std::string error;
  for (const std::string& line : lines) {
    if (line[0] == '#') continue;
    std::istringstream words(line);  // that of a workload is a problem's text, then the weight
    std::string text, word;
    while (words >> word && word[0] != '#') text += (text.empty() ? "" : " ") + word;
    INFO(text);
    CHECK(parse_problem(text.substr(0, text.rfind(' ')), error));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("problems that differ in M alone are a family, by size, with powers of two between") {
  const std::vector<CountedProblem> seen{
      counted(layer(9), 3), counted(layer(9, 512), 7), counted(layer(1), 1000), counted(layer(9), 2)};
  CHECK(lines_of(seen, "powers") == Lines{"# M of 2 sizes, 1 to 9, 1005 calls:", "f16f32f16 NT 1 256 128 1000",
                                        "f16f32f16 NT 2 256 128 5  # not seen", "f16f32f16 NT 4 256 128 5  # not seen",
                                        "f16f32f16 NT 8 256 128 5  # not seen", "f16f32f16 NT 9 256 128 5",
                                        "f16f32f16 NT 9 512 128 7"});
  CHECK(lines_of(seen, "none") == Lines{"# M of 2 sizes, 1 to 9, 1005 calls:", "f16f32f16 NT 1 256 128 1000",
                                      "f16f32f16 NT 9 256 128 5", "f16f32f16 NT 9 512 128 7"});
  CHECK(lines_of({counted(layer(5), 1), counted(layer(9), 1)}, "powers") ==
        Lines{"# M of 2 sizes, 5 to 9, 2 calls:", "f16f32f16 NT 5 256 128 1", "f16f32f16 NT 8 256 128 1  # not seen",
            "f16f32f16 NT 9 256 128 1"});
  CHECK(lines_of(seen, "8-10,64").size() == 2 + 3 + 1 + 1);
  const WorkloadText made = workload_text(seen, buckets("8-10,64"), "x", kJudge);
  CHECK(made.problems == 6);
  CHECK(made.added == 3);
  CHECK(made.families == 1);
}

TEST_CASE("what grows with M grows with the sizes that are added: leading dimensions and strides") {
  GemmCall four = layer(4), one = layer(1);
  for (GemmCall* call : {&four, &one}) {  // our A is stored transposed, packed
    call->op_b = kOpT;
    call->ldb = call->n;
  }
  CHECK(lines_of({counted(four, 1), counted(one, 1)}, "powers")[2] == "f16f32f16 TT 2 256 128 1  # not seen");
  for (GemmCall* call : {&four, &one}) {
    call->batch_kind = BatchKind::strided;
    call->batch = 3;
    call->stride_a = 128 * 256;
    call->stride_b = call->n * 128;
    call->stride_d = call->n * 256;
  }
  CHECK(lines_of({counted(four, 1), counted(one, 1)}, "powers")[2] ==
        "f16f32f16 TT 2 256 128 batch=3 batch_mode=strided 1  # not seen");
}

TEST_CASE("a family whose rows or entries lie at fixed distances gets no size above the seen ones") {
  GemmCall four = layer(4), one = layer(1);
  for (GemmCall* call : {&four, &one}) {
    call->op_b = kOpT;
    call->ldb = 5;
  }
  CHECK(lines_of({counted(four, 1), counted(one, 1)}, "3,6") ==
        Lines{"# M of 2 sizes, 1 to 4, 2 calls:", "f16f32f16 TT 1 256 128 lda=5 1",
            "f16f32f16 TT 3 256 128 lda=5 1  # not seen", "f16f32f16 TT 4 256 128 lda=5 1"});
  four = layer(4);
  one = layer(1);
  for (GemmCall* call : {&four, &one}) {
    call->batch_kind = BatchKind::strided;
    call->batch = 3;
    call->stride_a = 128 * 256;
    call->stride_b = 4 * 128;
    call->stride_d = 4 * 256;
  }
  const WorkloadText apart = workload_text({counted(four, 1), counted(one, 1)}, buckets("3,6"), "x",
      kJudge);  // whether the one's strides follow M is not known
  CHECK(apart.text.find("NT 6 ") == std::string::npos);
}

TEST_CASE("sizes to add are powers, none, or at most 1024 sizes and ranges") {
  Buckets read;
  CHECK(parse_buckets("1-64,128", read));
  CHECK(read.ranges == std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 64}, {128, 128}});
  CHECK_FALSE(read.powers);
  CHECK(parse_buckets("none", read));
  CHECK((read.ranges.empty() && !read.powers));
  CHECK(parse_buckets("powers", read));
  CHECK(read.powers);
  CHECK(parse_buckets("1-1024", read));
  for (const char* wrong :
      {"", "0", "1-", "-4", "4-1", "1,,2", "1,", "many", "1-1025", "1-1000,1-25", "999999999999", "1 2"}) {
    INFO(wrong);
    CHECK_FALSE(parse_buckets(wrong, read));
  }
}

TEST_CASE("what the library refuses is left out of the text and counted by the field that it names") {
  GemmCall good = layer(4), wide = layer(8), wider = layer(9), shared = layer(3);
  wide.ldd = (1 << 28) + 1;
  wider.ldd = (1 << 28) + 2;
  shared.batch_kind = BatchKind::strided;
  shared.batch = 2;
  const WorkloadText made = workload_text(
      {counted(good, 1), counted(wide, 2), counted(wider, 30), counted(shared, 5)}, buckets("none"), "x", kJudge);
  CHECK(made.problems == 1);
  CHECK(made.calls == 1);
  REQUIRE(made.left_out.size() == 2);
  CHECK(made.left_out.at("ldc").calls == 32);
  CHECK(made.left_out.at("stride_c").calls == 5);
  CHECK(made.text.find("f16f32f16 NT 4 256 128 1\n# left out, 32 calls: ldc is 268435457: expected 256") !=
        std::string::npos);
  CHECK(
      made.text.find(
          "# left out, 5 calls: stride_c is 0: expected entries that do not overlap, 2 of 3x256 with rows 256 apart\n") !=
      std::string::npos);
}
