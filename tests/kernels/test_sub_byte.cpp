#include <algorithm>
#include <string>

#include "kernels/families/family.hpp"
#include "kernels/families/passes.hpp"
#include "kernels/problem/sub_byte.hpp"
#include "tests/catch.hpp"
#include "tests/problem_of_text.hpp"

using namespace tilesmith;
using tests::problem_of_text;

namespace {

constexpr const char* kTypes[] = {"s4s32", "u4s32", "b1s32", "b1xors32"};

std::string parse_error_of(const std::string& text) {
  std::string error;
  CHECK_FALSE(parse_problem(text, error));
  CHECK(error.find('\n') == std::string::npos);
  return error;
}

bool tells_of(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("rows of elements below a byte are whole bytes, and a packed row is the shortest of these") {
  CHECK(problem_of_text("s4s32 NT 17 13 31").lda == 32);
  CHECK(problem_of_text("b1s32 NN 17 13 31").ldb == 16);
  CHECK(problem_of_text("b1s32 NN 17 13 31").ldc == 13);
  CHECK(problem_of_text("s4s32 NT 17 13 31").a_bytes() == 17 * 16);
  CHECK(tells_of(
      parse_error_of("s4s32 NT 16 16 16 lda=33"), "lda is 33: expected rows of whole bytes, 4 bits an element"));
  CHECK(tells_of(
      parse_error_of("b1s32 NT 16 16 16 ldb=20"), "ldb is 20: expected rows of whole bytes, 1 bits an element"));
  CHECK(tells_of(parse_error_of("u4s32 NT 16 16 16 batch_mode=strided batch=2 stride_a=257"),
      "stride_a is 257: expected whole bytes"));
}

TEST_CASE("sums of elements below a byte are integers, which take a bias and relu, and nothing real") {
  problem_of_text("s4s32 NT 16 16 16 epilogue=bias_n+relu");
  CHECK(tells_of(
      parse_error_of("s4s32 NT 16 16 16 epilogue=scale_m"), "expected no scales, which are f32, for results of s32"));
  CHECK(tells_of(parse_error_of("b1s32 NT 16 16 16 epilogue=gelu"), "expected relu or none, the results are integers"));
  CHECK(tells_of(parse_error_of("b1xors32 NT 16 16 16 epilogue=swiglu"), "the results are integers"));
}

TEST_CASE("kernels count K of elements below a byte in bytes of rows, or in bytes that they became") {
  const Problem nibbles = problem_of_text("s4s32 NN 40 64 33"), bits = problem_of_text("b1xors32 NT 40 64 1030");
  CHECK(as_multiplied(nibbles, Widening::none).k == 17);
  CHECK(as_multiplied(nibbles, Widening::none).lda == 17);
  CHECK(as_multiplied(nibbles, Widening::none).ldb == 32);
  CHECK(as_multiplied(nibbles, Widening::bytes).k == 33);
  CHECK(as_multiplied(nibbles, Widening::bytes).type.a == Scalar::s8);
  CHECK(as_multiplied(bits, Widening::none).k == 129);
  CHECK(as_multiplied(bits, Widening::complement).k == 512);  // two rows of 129 bytes, each at lines of 128
  const Problem bytes = problem_of_text("s8s32 NN 40 64 33");
  CHECK(as_multiplied(bytes, Widening::none) == bytes);
}

TEST_CASE(
    "what must be packed of elements below a byte: rows across K, what is widened, and rows that end within a byte") {
  using namespace tensor_core;
  const auto packs = [](const char* text, Widening widening) {
    return sub_bytes_to_pack(problem_of_text(text), widening);
  };
  CHECK(packs("s4s32 NT 64 64 64", Widening::none) == 0);
  CHECK(packs("s4s32 NN 64 64 64", Widening::none) == pack_b);
  CHECK(packs("u4s32 TT 64 64 64", Widening::none) == pack_a);
  CHECK(packs("s4s32 NT 64 64 64", Widening::bytes) == (pack_a | pack_b));
  CHECK(packs("s4s32 NT 64 128 65", Widening::none) == pack_a);  // zeros make nothing of B's garbage
  CHECK(packs("b1s32 NT 128 64 65", Widening::none) == pack_b);
  CHECK(packs("b1xors32 NT 64 64 65", Widening::none) == (pack_a | pack_b));
  CHECK_FALSE(ends_in_byte(0, problem_of_text("b1s32 NT 64 64 64")));
  CHECK(
      tells_of(ends_in_byte(0, problem_of_text("b1s32 NT 64 64 65")).value_or(""), "K is 65: rows end within a byte"));
  CHECK(ends_in_byte(pack_a, problem_of_text("b1xors32 NT 64 64 65")));
}

TEST_CASE(
    "every family that multiplies elements below a byte has first initial configs that run, on an Orin and on Hopper") {
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const char* type : kTypes) {
      for (const Transposes trans : kAllTransposes) {
        for (const char* shape : {"512 512 1024", "300 200 333", "16 4096 4096"}) {
          const Problem problem = problem_of_text(std::string(type) + " " + std::string(name(trans)) + " " + shape);
          const KernelTarget target{problem, *limits_for_arch(arch)};
          int families_of_type = 0;
          for (const char* family_name : {"simt", "wmma", "mma", "wgmma"}) {
            const Family& family = *find_family(family_name);
            INFO(family_name << " " << text(problem) << " on " << arch);
            CHECK(family.supports(target) == (std::string(family_name) != "wgmma" || target.limits.sm == 90));
            if (!family.supports(target)) continue;
            ++families_of_type;
            const std::vector<Config> initial_configs = family.initial_configs(target, problem);
            CHECK_FALSE(initial_configs.empty());
            for (const Config& config : initial_configs) {
              INFO(config.text());
              CHECK(illegal_because(family, config, target).value_or("") == "");
              CHECK(refused_because(family, config, problem).value_or("") == "");
              CHECK(family.dominated(config, as_planned(problem)).value_or("") == "");
              CHECK_FALSE(family.launches(config, as_planned(problem)).launches.empty());
            }
          }
          CHECK(families_of_type == (target.limits.sm == 90 ? 4 : 3));
          CHECK_FALSE(illegal_because(*find_family("simt"), generic_config(target), target));
          for (const char* other : {"gemv", "ffma"}) CHECK_FALSE(find_family(other)->supports(target));
        }
      }
    }
  }
}

TEST_CASE("an Orin multiplies 4 bits as they are, Hopper the bytes that they become, and counts XOR by AND") {
  const auto first = [](const char* family, const char* text, const char* arch) {
    const Problem problem = problem_of_text(text);
    return find_family(family)->initial_configs(KernelTarget{problem, *limits_for_arch(arch)}, problem).front();
  };
  CHECK(first("mma", "s4s32 NT 1024 1024 1024", "sm_87").at("widen") == 0);
  CHECK(first("mma", "s4s32 NT 1024 1024 1024", "sm_90a").at("widen") == 1);
  CHECK(first("mma", "b1xors32 NT 1024 1024 1024", "sm_90a").at("widen") == 0);
  CHECK(first("wgmma", "u4s32 NT 1024 1024 1024", "sm_90a").at("widen") == 1);
  CHECK(first("wgmma", "b1s32 NT 1024 1024 1024", "sm_90a").at("pack") == 0);
  CHECK(first("wgmma", "b1xors32 NT 1024 1024 1024", "sm_90a").at("widen") == 2);
  const Problem problem = problem_of_text("s4s32 NT 1024 1024 1024");
  for (const auto& [arch, k] : {std::pair{"sm_87", 512}, std::pair{"sm_90a", 1024}}) {
    const auto [launches, workspace] =
        find_family("mma")->launches(first("mma", "s4s32 NT 1024 1024 1024", arch), as_planned(problem));
    CHECK(launches.back().k == k);
    CHECK((workspace == 0) == (k == 512));
  }
}
