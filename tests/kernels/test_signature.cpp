// What a kernel is compiled for, as text and back.
#include "kernels/families/family.hpp"
#include "kernels/problem/operand.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;

TEST_CASE("every signature of a type pair and transposes is read from its text", "[signature]") {
  for (const TypePair& type : type_pairs()) {
    for (const Transposes trans : kAllTransposes) {
      const KernelSignature signature{type, trans};
      std::string error;
      const auto back = parse_signature(text(signature), error);
      REQUIRE(back);
      CHECK(*back == signature);
      CHECK(is_plain(signature));
    }
  }
}

TEST_CASE("a text that names no signature is refused with what was expected", "[signature]") {
  for (const auto& [text, expected] : {std::pair{"f16f32", "expected 'type transposes'"},
           {"f17f32 NN", "unknown type pair 'f17f32'"}, {"f16f32 NX", "unknown transposes 'NX'"},
           {"f16f32 NN epilogue=one", "'epilogue=one'"}, {"f16f32 NN m=2", "'m=2'"}}) {
    std::string error;
    CHECK_FALSE(parse_signature(text, error));
    INFO(error);
    CHECK(error.find(expected) != std::string::npos);
  }
}

TEST_CASE("a problem's text ends in what its signature has besides types and transposes", "[signature]") {
  std::string error;
  const auto problem = parse_problem("f16f32 NT 64 64 64 epilogue=linear beta=any", error);
  REQUIRE(problem);
  CHECK(text(*problem) == "f16f32 NT 64 64 64 beta=any");
  CHECK(text(problem->signature()) == "f16f32 NT");
  CHECK_FALSE(parse_problem("f16f32 NT 64 64 64 epilogue=one", error));
}

TEST_CASE("the rows of activations stand in the order of their values", "[signature]") {
  for (int i = 0; const ActivationRow& row : kActivations) CHECK(int(row.value) == i++);
}

TEST_CASE("an epilogue is read from its words in their order, and from no others", "[signature]") {
  for (const char* text :
      {"c_apart", "bias_n", "bias_m", "bias_n_f32", "bias_m_f32", "relu", "gelu", "gelu_tanh", "silu", "swiglu",
          "swiglu_interleaved", "relu_squared", "bias_n+relu_squared", "scale_m+bias_n+swiglu", "bias_n+relu",
          "bias_m_f32+silu", "scale_m", "scale_n1+gelu", "scale_m1+scale_n1", "scale_m_1x128+scale_n_128x128",
          "scale_m_128x128+scale_n_1x128+relu", "scale_m+scale_n+bias_n+relu", "linear"}) {
    INFO(text);
    const auto epilogue = parse_epilogue(text);
    REQUIRE(epilogue);
    CHECK(name(*epilogue) == text);
    CHECK(epilogue->is_linear() == (std::string_view(text) == "linear"));
  }
  for (const char* text : {"", "bias", "bias_n_f16", "bias_nn", "identity", "relu+bias_n", "relu+", "+relu",
           "relu+relu", "swiglu+silu", "swiglu_", "linear+relu", "tanh", "scale_n+scale_m", "scale_m2", "scale_m_1x64",
           "bias_n+scale_n", "scale_m+scale_m1"}) {
    INFO(text);
    CHECK_FALSE(parse_epilogue(text));
  }
}

TEST_CASE("an epilogue that a type pair lacks is refused in one line", "[signature]") {
  for (const auto& [text, expected] : {std::pair{"s8s32 NT 64 64 64 epilogue=gelu", "expected relu or none"},
           {"f16f32 NN 8 8 8 epilogue=bias_n_f32", "not narrower than f32"},
           {"f64f64 NN 8 8 8 epilogue=bias_n_f32", "not narrower than f32"},
           {"s8s32 NT 8 8 8 epilogue=scale_m", "expected no scales"},
           {"f64f64 NN 8 8 8 epilogue=scale_n1", "expected no scales"},
           {"s8s32 NT 8 8 8 epilogue=swiglu", "expected relu or none"},
           {"s8s32 NT 8 8 8 epilogue=relu_squared", "expected relu or none"},
           {"f16f32 NN 8 9 8 epilogue=swiglu", "N is 9: expected an even number"},
           {"f16f32 NN 8 8 8 beta=any epilogue=swiglu", "expected beta=zero"},
           {"f16f32 NN 8 8 8 ldc=3 epilogue=swiglu", "ldc is 3: expected 4"}}) {
    std::string error;
    CHECK_FALSE(parse_problem(text, error));
    INFO(error);
    CHECK(error.find(expected) != std::string::npos);
  }
  for (const char* text :
      {"s8s32 NT 64 64 64 epilogue=bias_n+relu", "bf16f32bf16 NT 64 64 64 beta=any epilogue=bias_m_f32+silu",
          "f64f64 NN 8 8 8 epilogue=gelu", "bf16f32bf16 NT 64 64 64 epilogue=bias_n+swiglu",
          "bf16f32bf16 NT 64 64 64 ldc=40 epilogue=swiglu_interleaved",
          "bf16f32 NN 64 64 64 batch=3 epilogue=swiglu batch_mode=strided"}) {
    std::string error;
    const auto problem = parse_problem(text, error);
    INFO(error);
    REQUIRE(problem);
    CHECK(tilesmith::text(*problem) == text);
  }
}

TEST_CASE("of gated columns two make one of D, and vectors are the product's", "[operand]") {
  std::string error;
  const Problem problem = *parse_problem("bf16f32bf16 NT 64 48 32 epilogue=scale_n+bias_n+swiglu", error);
  CHECK(problem.ldc == 24);
  CHECK(operand(problem, OperandRole::b).rows == 48);
  CHECK(operand(problem, OperandRole::d).cols == 24);
  CHECK(operand(problem, OperandRole::bias).cols == 48);
  CHECK(operand(problem, OperandRole::scale_n).cols == 48);
  CHECK(text(sister_of(problem)) == "bf16f32bf16 NT 64 48 32");
  CHECK(text(sister_of(*parse_problem("bf16f32 NN 64 48 32 batch=3 epilogue=swiglu batch_mode=strided", error))) ==
        "bf16f32 NN 64 48 32 batch=3 batch_mode=strided");
}

TEST_CASE("the epilogue's operands are there where the problem reads them", "[operand]") {
  std::string error;
  const auto roles = [&](const char* text) {
    std::vector<OperandRole> found;
    for (const OperandMatrix& one : operands(*parse_problem(text, error))) found.push_back(one.role);
    return found;
  };
  using enum OperandRole;
  CHECK(roles("bf16f32bf16 NN 8 16 32 beta=any") == std::vector{a, b, d});
  CHECK(roles("bf16f32bf16 NN 8 16 32 epilogue=relu") == std::vector{a, b, d});
  CHECK(roles("bf16f32bf16 NN 8 16 32 beta=any epilogue=c_apart") == std::vector{a, b, d, c});
  CHECK(roles("bf16f32bf16 NN 8 16 32 beta=any epilogue=bias_n+gelu") == std::vector{a, b, d, c, bias});
  CHECK(roles("bf16f32bf16 NN 8 16 32 epilogue=scale_m+scale_n1") == std::vector{a, b, d, scale_m, scale_n});
  CHECK(operand(*parse_problem("bf16f32bf16 NN 8 16 32 epilogue=scale_m+scale_n1", error), scale_m).bytes() == 32);
  CHECK(operand(*parse_problem("bf16f32bf16 NN 8 16 32 epilogue=scale_m+scale_n1", error), scale_n).bytes() == 4);
  CHECK(operand(*parse_problem("bf16f32bf16 NN 8 16 32 epilogue=bias_n", error), bias).bytes() == 32);
  CHECK(operand(*parse_problem("bf16f32bf16 NN 8 16 32 epilogue=bias_m_f32", error), bias).bytes() == 32);
}

TEST_CASE("no family takes a signature that it does not know", "[signature]") {
  const TypePair halves_by_bytes{"f16e4m3f32", Scalar::f16, Scalar::e4m3, Scalar::f32, Scalar::f32, Scalar::f32};
  KernelSignature other{*find_type_pair("f16f32"), {}};
  other.sparsity = Sparsity(99);
  for (const char* name : {"simt", "wmma", "mma", "wgmma", "gemv"}) {
    const Family* family = find_family(name);
    INFO(name);
    CHECK(
        family->supports({{*find_type_pair("f64f64"), {}}, *limits_for_arch("sm_90a")}) == (family->name() != "wgmma"));
    CHECK_FALSE(family->supports({{halves_by_bytes, {}}, *limits_for_arch("sm_90a")}));
    CHECK_FALSE(family->supports({other, *limits_for_arch("sm_90a")}));
  }
}

TEST_CASE("operands have the type, the rows and the stride of their role", "[operand]") {
  const TypePair mixed{"f16e4m3f32", Scalar::f16, Scalar::e4m3, Scalar::f32, Scalar::f32, Scalar::f32};
  Problem problem = packed_problem({mixed, {true, false}}, 30, 20, 10);
  problem.ldb = 32;
  const OperandMatrix a = operand(problem, OperandRole::a), b = operand(problem, OperandRole::b),
                      d = operand(problem, OperandRole::d);
  CHECK(a.rows == 10);
  CHECK(a.cols == 30);
  CHECK(a.bytes() == 2 * 300);
  CHECK(b.bytes() == 9 * 32 + 20);
  CHECK(d.bytes() == 4 * 600);
  CHECK(operand(problem, OperandRole::c).bytes() == d.bytes());
  CHECK(operands(problem).size() == 3);
  problem.align_bytes = 1;
  CHECK_FALSE(problem_error(problem));  // an element of B
}

TEST_CASE("scales of blocks of K are packed matrices, one for each matrix of A or B", "[signature]") {
  const auto of = [](const char* text, OperandRole role) {
    std::string error;
    const auto problem = parse_problem(text, error);
    INFO(text << ": " << error);
    REQUIRE(problem);
    return operand(*problem, role);
  };
  const char* const single = "e4m3f32bf16 NT 300 260 400 epilogue=scale_m_1x128+scale_n_128x128";
  const OperandMatrix rows = of(single, OperandRole::scale_m), blocks = of(single, OperandRole::scale_n);
  CHECK((rows.rows == 4 && rows.cols == 300 && rows.row_stride == 300 && rows.bytes() == 4 * 300 * 4));
  CHECK((blocks.rows == 3 && blocks.cols == 4 && blocks.bytes() == 3 * 4 * 4));
  const char* const groups =
      "e4m3f32bf16 NT 300 260 400 batch=5 batch_mode=grouped epilogue=scale_m_1x128+scale_n_128x128";
  CHECK(of(groups, OperandRole::scale_m).bytes() == 4 * 300 * 4);
  CHECK(
      (of(groups, OperandRole::scale_n).entry_stride == 12 && of(groups, OperandRole::scale_n).bytes() == 5 * 12 * 4));
}

TEST_CASE("scales of blocks of K that no kernel has are refused", "[signature]") {
  for (const auto& [text, expected] :
      {std::pair{"e4m3f32bf16 NT 64 64 64 epilogue=scale_m_1x128", "for A and for B, or for neither"},
          {"e4m3f32bf16 NT 64 64 64 epilogue=scale_m_1x128+scale_n", "for A and for B, or for neither"},
          {"f16f32 NT 64 64 64 epilogue=scale_m_1x128+scale_n_1x128", "operands of 8-bit floats"},
          {"e4m3f32e4m3 NT 64 64 64 epilogue=scale_m_1x128+scale_n_1x128", "wider results"},
          {"s8s32 NT 64 64 64 epilogue=scale_m_1x128+scale_n_1x128", "results of s32"},
          {"s8s32s8 NT 64 64 64 epilogue=scale_m_1x128+scale_n_1x128", "s8s32f16 or s8s32bf16"},
          {"u8s32bf16 NT 64 64 64 epilogue=scale_m_1x128+scale_n_1x128", "s8s32f16 or s8s32bf16"},
          {"e4m3f32 NT 64 64 64 sparsity=a_2to4 epilogue=scale_m_1x128+scale_n_1x128", "no sparse operand"},
          {"e4m3f32 NT 64 64 64 batch=3 batch_mode=pointers epilogue=scale_m_1x128+scale_n_1x128", "by pointers"},
          {"e4m3f32 NT 64 64 64 batch=3 batch_mode=grouped epilogue=scale_m_128x128+scale_n_1x128",
              "scale_m_1x128 of groups"}}) {
    std::string error;
    CHECK_FALSE(parse_problem(text, error));
    INFO(text << ": " << error);
    CHECK(error.find(expected) != std::string::npos);
  }
}
