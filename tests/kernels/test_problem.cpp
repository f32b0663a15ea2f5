#include "kernels/problem/problem.hpp"

#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

Problem problem(const char* type, Transposes trans, std::int64_t m, std::int64_t n, std::int64_t k) {
  return packed_problem({*find_type_pair(type), trans}, m, n, k);
}

}  // namespace

TEST_CASE("a type pair is found by its canonical name and by no other") {
  REQUIRE(find_type_pair("bf16f32") != nullptr);
  CHECK(find_type_pair("bf16f32")->a == Scalar::bf16);
  CHECK(find_type_pair("bf16f32")->output == Scalar::f32);
  REQUIRE(find_type_pair("bf16f32bf16") != nullptr);
  CHECK(find_type_pair("bf16f32bf16")->accumulator == Scalar::f32);
  CHECK(find_type_pair("bf16f32bf16")->output == Scalar::bf16);
  CHECK(find_type_pair("f16f32f16")->accumulator == Scalar::f32);
  CHECK(find_type_pair("f16f32f16")->output == Scalar::f16);
  CHECK(find_type_pair("f16f16")->accumulator == Scalar::f16);
  CHECK(find_type_pair("BF16F32") == nullptr);
  CHECK(find_type_pair("") == nullptr);
}

TEST_CASE("the scale type of s32 results is s32, of f64 is f64, of all others f32") {
  for (const TypePair& type : type_pairs()) {
    if (type.output == Scalar::s32) CHECK(type.scale == Scalar::s32);
    else if (type.output == Scalar::f64) CHECK(type.scale == Scalar::f64);
    else CHECK(type.scale == Scalar::f32);
  }
}

TEST_CASE("a type pair's name is operand and output, with the accumulator between where it is another type") {
  for (const TypePair& type : type_pairs()) {
    std::string expected(name(type.a));
    if (type.accumulator != type.output) expected += name(type.accumulator);
    expected += name(type.output);
    CHECK(type.name == expected);
  }
}

TEST_CASE("a packed problem's row strides are the columns of the matrices as stored") {
  const Problem nn = problem("f16f32", {false, false}, 3, 5, 7);
  CHECK(nn.lda == 7);
  CHECK(nn.ldb == 5);
  const Problem tt = problem("f16f32", {true, true}, 3, 5, 7);
  CHECK(tt.lda == 3);
  CHECK(tt.ldb == 7);
  CHECK(tt.ldc == 5);
}

TEST_CASE("the canonical text reads back to the same problem, whatever its fields") {
  std::vector<Problem> problems{problem("f16f32", {false, false}, 64, 65, 66), problem("s8s32", {true, false}, 1, 1, 1),
      problem("f64f64", {false, true}, 1000, 3, 0)};
  Problem padded = problem("bf16f32", {true, true}, 17, 19, 23);
  padded.lda += 5;
  padded.ldb += 1;
  padded.ldc += 2;
  padded.align_bytes = 4;
  padded.beta = BetaClass::any;
  problems.push_back(padded);
  for (const Problem& original : problems) {
    std::string error;
    const auto read = parse_problem(text(original), error);
    REQUIRE(read);
    CHECK(*read == original);
    CHECK(text(*read) == text(original));
  }
}

TEST_CASE("a text that is no problem is refused with words that say what was expected") {
  const char* bad[] = {"", "f16f32", "f16f32 NN 64 64", "f99f32 NN 64 64 64", "f16f32 XX 64 64 64",
      "f16f32 NN -1 64 64", "f16f32 NN 64 sixty 64", "f16f32 NN 64 64 99999999999",
      "f16f32 NN 64 64 99999999999999999999999", "f16f32 NN 64 64 64 lda=63",
      "f64f64 NN 64 64 64 lda=9223372036854775807", "f16f32 NN 64 64 64 align=3", "f16f32 NN 64 64 64 align=1",
      "f16f32 NN 64 64 64 align=4294967304", "f16f32 NN 64 64 64 beta=maybe", "f16f32 NN 64 64 64 colour=red",
      "f16f32 NN 64 64 64 batch=2", "f16f32 NN 64 64 64 stride_a=4096",
      "f16f32 NN 64 64 64 batch=-1 batch_mode=strided", "f16f32 NN 64 64 64 batch=1048577 batch_mode=strided",
      "f16f32 NN 64 64 64 batch=2 batch_mode=strided stride_a=-1",
      "f16f32 NN 64 64 64 batch=2 batch_mode=strided stride_c=0",
      "f16f32 NN 64 64 64 ldc=128 batch=3 batch_mode=strided stride_c=64",
      "f16f32 NN 64 64 64 batch=2 batch_mode=strided stride_b=68719476737",
      "f16f32 NN 64 64 64 batch=2 batch_mode=strided stride_b=x", "f16f32 NN 64 64 64 batch=2 batch_mode=ragged"};
  for (const char* given : bad) {
    std::string error;
    INFO(given);
    CHECK_FALSE(parse_problem(given, error));
    CHECK(error.find("expected") != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
  }
}

TEST_CASE("what has no effect is in no canonical text, and may be anything") {
  const std::pair<const char*, const char*> same[] = {
      {"f16f32 NT 1 64 32 lda=99 ldc=1000000000", "f16f32 NT 1 64 32"},
      {"f16f32 NT 1 64 32 lda=1", "f16f32 NT 1 64 32"},
      {"f16f32 NN 64 32 1 ldb=77", "f16f32 NN 64 32 1"},
      {"f16f32 TN 64 32 1 lda=77 ldb=4294967296", "f16f32 TN 64 32 1"},
      {"s4s32 NT 8 1 7 ldb=31", "s4s32 NT 8 1 7"},
      {"f16f32 NN 1 64 32 lda=40 batch=3 batch_mode=strided",
          "f16f32 NN 1 64 32 batch=3 stride_a=40 batch_mode=strided"},
      {"f16f32 NN 1 64 32 lda=40 batch=3 batch_mode=pointers", "f16f32 NN 1 64 32 batch=3 batch_mode=pointers"},
      {"f16f32 NN 8 64 32 batch=1 stride_a=7 stride_b=0 stride_c=5 batch_mode=strided",
          "f16f32 NN 8 64 32 batch_mode=strided"},
      {"f16f32 NN 1 64 32 lda=40 ldc=99 batch=8 batch_mode=grouped", "f16f32 NN 1 64 32 batch=8 batch_mode=grouped"},
      {"f16f32 NT 64 1 32 ldb=99 ldc=64", "f16f32 NT 64 1 32 ldc=64"},  // a column's rows are used
      {"f16f32 NN 8 8 8 epilogue=c_apart", "f16f32 NN 8 8 8"},
      {"f16f32 NN 8 8 8 beta=any epilogue=c_apart", "f16f32 NN 8 8 8 beta=any epilogue=c_apart"},
      {"f16f32 NN 8 8 8 beta=any epilogue=c_apart+relu", "f16f32 NN 8 8 8 beta=any epilogue=relu"},
  };
  for (const auto& [given, expected] : same) {
    std::string error;
    INFO(given);
    const auto read = parse_problem(given, error);
    REQUIRE(read);
    CHECK(text(*read) == expected);
    CHECK(canonical(*read) == *read);
  }
}

TEST_CASE("entries of A and B may overlap, and their bytes are counted once") {
  std::string error;
  const auto windows =
      parse_problem("f16f32 NN 8 16 64 lda=16 ldb=16 batch=10 stride_a=16 stride_b=0 batch_mode=strided", error);
  CHECK_FALSE(windows);  // rows of A as long as K may not overlap within an entry
  const auto sliding = parse_problem("f16f32 NN 8 16 64 batch=10 stride_a=64 stride_b=1 batch_mode=strided", error);
  REQUIRE(sliding);
  CHECK(sliding->a_bytes() == 2 * (9 * 64 + 8 * 64));
  CHECK(operand(*sliding, OperandRole::a).overlaps());
  CHECK(operand(*sliding, OperandRole::a).element_bytes() == double(sliding->a_bytes()));
  CHECK(operand(*sliding, OperandRole::b).overlaps());
  CHECK_FALSE(operand(*sliding, OperandRole::c).overlaps());
}

TEST_CASE("rows are as aligned as their stride and the base pointer allow") {
  Problem p = problem("f16f32", {false, false}, 8, 8, 555);
  CHECK(row_align_bytes(p, Scalar::f16, p.lda) == 2);
  p.lda = 560;
  CHECK(row_align_bytes(p, Scalar::f16, p.lda) == 16);
  p.align_bytes = 4;
  CHECK(row_align_bytes(p, Scalar::f16, p.lda) == 4);
}

TEST_CASE("a matrix of one row is planned with a stride of whole 16 bytes, others with their own") {
  const Problem row = as_planned(problem("f16f32", {}, 1, 97, 199));
  CHECK(row.lda == 200);
  CHECK(row.ldb == 97);
  CHECK(row.ldc == 100);
  const Problem column = as_planned(problem("e4m3f32bf16", {true, true}, 33, 1, 199));
  CHECK(column.lda == 33);
  CHECK(column.ldb == 208);
  CHECK(column.ldc == 1);
  const Problem outer = as_planned(problem("f64f64", {true, false}, kMaxDimension - 1, 3, 1));
  CHECK(outer.lda == kMaxDimension);
  CHECK(outer.ldb == 4);
  CHECK_FALSE(problem_error(outer));
  Problem offset = problem("f16f32", {}, 1, 97, 199);
  offset.align_bytes = 2;
  CHECK(row_align_bytes(as_planned(offset), Scalar::f16, as_planned(offset).lda) == 2);
}

TEST_CASE("storage ends at the last element, not at the end of its padded row") {
  Problem p = problem("f64f64", {false, false}, 3, 5, 7);
  p.lda = 10;
  CHECK(p.a_bytes() == (2 * 10 + 7) * 8);
}

TEST_CASE("effective operations are M*K + (2K-1)*M*N + 2*M*N") {
  const Problem p = problem("f16f32", {false, false}, 2, 3, 4);
  CHECK(p.effective_ops() == 2 * 4 + 7 * 6 + 12);
}

TEST_CASE("a batch says how many entries it has, and strides where they are not packed") {
  std::string error;
  const Problem single = problem("f16f32", {true, false}, 32, 48, 64);
  const Problem packed = batched(single, 5);
  CHECK(text(packed) == "f16f32 TN 32 48 64 batch=5 batch_mode=strided");
  CHECK(packed.stride_a == 64 * 32);
  CHECK(packed.stride_b == 64 * 48);
  CHECK(packed.stride_c == 32 * 48);
  CHECK(entry_of(packed) == single);
  CHECK(packed_problem(packed, 32, 48, 64) == batched(single, 1));
  CHECK(text(batched(single, 1)) == "f16f32 TN 32 48 64 batch_mode=strided");
  CHECK(text(batched(single, 0)) == "f16f32 TN 32 48 64 batch=0 batch_mode=strided");
  Problem other = packed;
  other.stride_a = 0;
  other.stride_b = 100 * 48;
  other.beta = BetaClass::any;
  CHECK(text(other) == "f16f32 TN 32 48 64 beta=any batch=5 stride_a=0 stride_b=4800 batch_mode=strided");
  Problem side_by_side = single;
  side_by_side.ldc = 300;
  side_by_side = batched(side_by_side, 5);
  side_by_side.stride_c = 60;
  for (const Problem& one : {packed, other, side_by_side, batched(single, 0), batched(single, kMaxBatch)}) {
    CHECK_FALSE(problem_error(one));
    const auto read = parse_problem(text(one), error);
    REQUIRE(read);
    CHECK(*read == one);
  }
  side_by_side.batch = 6;  // 5·60 + 48 columns of 300
  CHECK(problem_error(side_by_side)->find("do not overlap") != std::string::npos);
}

TEST_CASE("a batch counts the operations and bytes of all entries, and those of a shared matrix once") {
  Problem batch = batched(problem("f16f32", {}, 8, 16, 32), 10);
  CHECK(batch.flop() == 10 * 2.0 * 8 * 16 * 32);
  CHECK(batch.effective_ops() == 10 * entry_of(batch).effective_ops());
  CHECK(batch.a_bytes() == 10 * 8 * 32 * 2);
  CHECK(batch.c_bytes() == 10 * 8 * 16 * 4);
  batch.stride_b = 0;
  CHECK(batch.b_bytes() == 32 * 16 * 2);
  batch.batch = 0;
  CHECK(batch.b_bytes() == 0);
  CHECK(batch.a_bytes() == 0);
  CHECK(batch.flop() == 0);
}

TEST_CASE("rows of a batch are as aligned as its strides allow, too; that of one entry does not count") {
  Problem batch = batched(problem("f16f32", {}, 8, 16, 32), 3);
  CHECK(a_align_bytes(batch) == 16);
  batch.stride_a += 2;
  CHECK(a_align_bytes(as_planned(batch)) == 4);
  CHECK(b_align_bytes(as_planned(batch)) == 16);
  batch.stride_c += 1;
  CHECK(c_align_bytes(as_planned(batch)) == 4);
  batch.batch = 1;
  CHECK(a_align_bytes(as_planned(batch)) == 16);
  CHECK(c_align_bytes(as_planned(batch)) == 16);
  const Problem row = as_planned(batched(problem("f16f32", {}, 1, 97, 200), 3));
  CHECK(row.ldc == 100);
  CHECK(row.stride_c == 97);
  CHECK(c_align_bytes(row) == 4);
}
