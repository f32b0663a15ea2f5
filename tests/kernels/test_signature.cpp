// What a kernel is compiled for, as text and back.
#include "kernels/family.hpp"
#include "kernels/operand.hpp"
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
  for (const auto& [text, expected] : {std::pair{"f16f32", "expected 'type transposes'"}, {"f17f32 NN", "unknown type pair 'f17f32'"},
                                       {"f16f32 NX", "unknown transposes 'NX'"}, {"f16f32 NN epilogue=one", "'epilogue=one'"},
                                       {"f16f32 NN m=2", "'m=2'"}}) {
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

TEST_CASE("no family takes a signature that it does not know", "[signature]") {
  const TypePair halves_by_bytes{"f16e4m3f32", Scalar::f16, Scalar::e4m3, Scalar::f32, Scalar::f32, Scalar::f32};
  KernelSignature other{*find_type_pair("f16f32"), {}};
  other.epilogue = Epilogue(99);
  for (const char* name : {"simt", "wmma", "mma", "wgmma", "gemv"}) {
    const Family* family = find_family(name);
    INFO(name);
    CHECK(family->supports({{*find_type_pair("f64f64"), {}}, *limits_for_arch("sm_90a")}) == (family->name() != "wgmma"));
    CHECK_FALSE(family->supports({{halves_by_bytes, {}}, *limits_for_arch("sm_90a")}));
    CHECK_FALSE(family->supports({other, *limits_for_arch("sm_90a")}));
  }
}

TEST_CASE("operands have the type, the rows and the stride of their role", "[operand]") {
  const TypePair mixed{"f16e4m3f32", Scalar::f16, Scalar::e4m3, Scalar::f32, Scalar::f32, Scalar::f32};
  Problem problem = packed_problem({mixed, {true, false}}, 30, 20, 10);
  problem.ldb = 32;
  const OperandMatrix a = operand(problem, OperandRole::a), b = operand(problem, OperandRole::b), d = operand(problem, OperandRole::d);
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
