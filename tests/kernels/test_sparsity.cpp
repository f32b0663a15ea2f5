// 2:4 sparse operands: as text, as operands, where their metadata lie, and what families make of them.
#include <set>
#include <string>

#include "kernels/families/estimate.hpp"
#include "kernels/families/family.hpp"
#include "kernels/families/plan_hash.hpp"
#include "kernels/problem/operand.hpp"
#include "kernels/problem/sparsity.hpp"
#include "kernels/shared/multiply/sparse_layout.cuh"
#include "tests/catch.hpp"
#include "tests/problem_of_text.hpp"

using namespace tilesmith;
using tests::problem_of_text;

namespace {

std::string error_of(const std::string& text) {
  std::string error;
  CHECK_FALSE(parse_problem(text, error));
  return error;
}

}  // namespace

TEST_CASE("a sparse operand is read from a problem's text and written there, and half of it is stored", "[sparsity]") {
  for (const char* text : {"f16f32 NT 64 64 64 sparsity=a_2to4", "s8s32 NN 64 64 64 beta=any sparsity=a_2to4",
           "tf32f32 TT 64 64 6 sparsity=b_2to4",
           "bf16f32bf16 NT 64 64 64 epilogue=bias_n+gelu sparsity=b_2to4 scalars=device",
           "f16f32 NT 64 64 64 lda=40 sparsity=a_2to4"}) {
    INFO(text);
    const Problem problem = problem_of_text(text);
    CHECK(tilesmith::text(problem) == text);
    CHECK_FALSE(is_plain(problem));
    const bool of_a = problem.sparsity == Sparsity::a;
    CHECK(problem.a_cols() == (of_a ? problem.k / 2 : problem.trans.a ? problem.m : problem.k));
    CHECK(problem.b_cols() == (of_a ? (problem.trans.b ? problem.k : problem.n) : problem.k / 2));
    CHECK(is_sparse(problem, of_a ? OperandRole::a : OperandRole::b));
    CHECK_FALSE(is_sparse(problem, of_a ? OperandRole::b : OperandRole::a));
  }
}

TEST_CASE("what cannot be sparse is refused in one line that says what was expected", "[sparsity]") {
  CHECK(error_of("f16f32 NT 64 64 66 sparsity=a_2to4") ==
        "K is 66: expected a multiple of 4, the group of sparsity=a_2to4");
  CHECK(error_of("tf32f32 NT 64 64 65 sparsity=b_2to4") ==
        "K is 65: expected a multiple of 2, the group of sparsity=b_2to4");
  CHECK(error_of("f16f32 TN 64 64 64 sparsity=a_2to4").find("expected transposes NN or NT") != std::string::npos);
  CHECK(error_of("f16f32 NN 64 64 64 sparsity=b_2to4").find("expected transposes NT or TT") != std::string::npos);
  CHECK(error_of("f64f64 NT 64 64 64 sparsity=a_2to4")
            .find("expected operands of f16, bf16, tf32, s8, u8, e4m3 or e5m2, not f64") != std::string::npos);
  CHECK(error_of("f32x3f32 NT 64 64 64 sparsity=a_2to4").find("not f32x3") != std::string::npos);
  CHECK(error_of("f16f32 NT 64 64 64 batch=2 batch_mode=strided sparsity=a_2to4")
            .find("expected no batch_mode=strided") != std::string::npos);
  CHECK(error_of("f16f32 NT 64 64 64 epilogue=swiglu sparsity=b_2to4").find("expected no gate") != std::string::npos);
  CHECK(error_of("f16f32 NT 64 64 64 sparsity=c_2to4").find("sparsity= (a_2to4, b_2to4)") != std::string::npos);
}

TEST_CASE("metadata have a word of 32 bits for each 16 bytes of padded blocks, and are read where products are made",
    "[sparsity][operand]") {
  const Problem problem = problem_of_text("f16f32 NT 17 33 68 sparsity=a_2to4");
  const OperandMatrix of_a = operand(problem, OperandRole::metadata);
  CHECK(of_a.rows == 2);       // of K, by 64
  CHECK(of_a.cols == 2 * 32);  // of M, by 16
  CHECK(of_a.element == Scalar::s32);
  CHECK(operand(problem_of_text("s8s32 NT 17 33 68 sparsity=b_2to4"), OperandRole::metadata).cols == 3 * 32);
  CHECK(operand(problem_of_text("tf32f32 NT 17 33 68 sparsity=b_2to4"), OperandRole::metadata).rows == 3);  // by 32
  CHECK(in_use(problem, OperandRole::metadata, true, false));
  CHECK_FALSE(in_use(problem, OperandRole::metadata, false, true));
  CHECK_FALSE(in_use(problem_of_text("f16f32 NT 17 33 68"), OperandRole::metadata, true, false));
}

TEST_CASE("each group has four bits of its own, and both ways to find them agree", "[sparsity]") {
  for (const int bytes : {1, 2, 4}) {
    const long long rows = 48, groups = 64, row_blocks = 3;
    std::set<std::pair<long long, int>> places;
    for (long long row = 0; row < rows; ++row) {
      for (long long group = 0; group < groups; ++group) {
        const MetadataPlace place = metadata_place(row, group, row_blocks, bytes);
        CHECK(place.shift % 4 == 0);
        CHECK(place.shift < 32);
        CHECK(place.word < rows * groups / 8);
        const GroupPlace back = group_place(place.word, place.shift / 4, row_blocks, bytes);
        CHECK((back.row == row && back.group == group));
        places.insert({place.word, place.shift});
      }
    }
    CHECK(places.size() == std::size_t(rows * groups));
  }
  // What a lane of mma.sp takes: of 2 bytes row g in the lower half and g + 8 in the upper, of one byte row g or g + 8.
  CHECK(metadata_place(1, 4, 1, 2).word == 5);
  CHECK(metadata_place(9, 4, 1, 2).shift == 16);
  CHECK(metadata_place(9, 0, 1, 1).word == 5);
  CHECK(metadata_place(1, 8, 1, 1).word == 6);
  CHECK(place_in_group(0xd, 0, 2) == 1);
  CHECK(place_in_group(0xd, 1, 2) == 3);
  CHECK(place_in_group(0xe, 0, 4) == 1);
  int valid = 0;
  for (unsigned bits = 0; bits < 16; ++bits) valid += is_metadata(bits, 2);
  CHECK(valid == 6);
}

TEST_CASE(
    "families take sparse operands that they have instructions for, with the sparse one on the instruction's left",
    "[sparsity]") {
  for (const char* arch : {"sm_80", "sm_87", "sm_90a"}) {
    for (const char* text : {"f16f32 NT 512 512 512 sparsity=a_2to4", "f16f32 NT 512 512 512 sparsity=b_2to4",
             "bf16f32bf16 NN 512 512 512 sparsity=a_2to4", "s8s32 NT 512 512 512 sparsity=b_2to4",
             "s8s32 TT 512 512 512 sparsity=b_2to4", "tf32f32 TT 512 512 512 sparsity=b_2to4",
             "f16f16 NT 16 512 512 sparsity=b_2to4"}) {
      const Problem problem = problem_of_text(text);
      const KernelTarget target{problem, *limits_for_arch(arch)};
      std::set<std::string> names;
      for (const auto& family : families()) {
        if (!family->supports(target)) continue;
        names.insert(std::string(family->name()));
        INFO(arch << " " << text << " " << family->name());
        std::size_t legal = 0;
        for (const Config& config : family->initial_configs(target, problem)) {
          INFO(config.text());
          CHECK_FALSE(illegal_because(*family, config, target));
          if (family->name() == "mma" && is_integer(problem.type.a) && problem.trans.a)
            CHECK(config.at("pack_k_major") == 1);
          if (config.has("swap")) CHECK(config.at("swap") == int(problem.sparsity == Sparsity::b));
          if (refused_because(*family, config, problem)) continue;
          ++legal;
          CHECK_FALSE(family->launches(config, problem).launches.empty());
        }
        CHECK(legal > 0);
      }
      const bool hopper = std::string(arch) == "sm_90a";
      CHECK(names == (hopper ? std::set<std::string>{"simt", "mma", "wgmma"} : std::set<std::string>{"simt", "mma"}));
    }
  }
  const KernelTarget bytes{problem_of_text("e4m3f32 NT 512 512 512 sparsity=a_2to4"), *limits_for_arch("sm_90a")};
  CHECK(find_family("wgmma")->supports(bytes));
  CHECK_FALSE(find_family("mma")->supports(bytes));
  for (const char* text : {"e4m3f32 NT 512 512 512 sparsity=a_2to4", "e5m2f32bf16 TT 512 512 512 sparsity=b_2to4"}) {
    const Problem problem = problem_of_text(text);
    const KernelTarget ada{problem, *limits_for_arch("sm_89")}, orin{problem, *limits_for_arch("sm_87")};
    INFO(text);
    CHECK(find_family("mma")->supports(ada));
    CHECK_FALSE(find_family("mma")->supports(orin));
    const std::vector<Config> initial_configs = find_family("mma")->initial_configs(ada, problem);
    REQUIRE_FALSE(initial_configs.empty());
    for (const Config& config : initial_configs) CHECK_FALSE(illegal_because(*find_family("mma"), config, ada));
  }
}

TEST_CASE("estimates count half the products, half the bytes of the sparse operand, and its metadata",
    "[sparsity][estimate]") {
  for (const char* name : {"wgmma", "mma"}) {
    const Problem sparse = problem_of_text("f16f32f16 NT 4096 4096 4096 sparsity=a_2to4"),
                  dense = problem_of_text("f16f32f16 NT 4096 4096 4096");
    const Family& family = *find_family(name);
    const KernelTarget target{sparse, *limits_for_arch("sm_90a")}, plain{dense, *limits_for_arch("sm_90a")};
    const auto best = [&](const KernelTarget& on, const Problem& problem) {
      double cycles = 1e300;
      for (const Config& config : family.initial_configs(on, problem))
        cycles = std::min(cycles, family.estimate(config, on, problem)->cycles);
      return cycles;
    };
    INFO(name);
    CHECK(best(target, sparse) < 0.9 * best(plain, dense));
    const Problem thin = problem_of_text("f16f32f16 NT 16 8192 8192 sparsity=b_2to4"),
                  thin_dense = problem_of_text("f16f32f16 NT 16 8192 8192");
    const KernelTarget of_thin{thin, *limits_for_arch("sm_90a")};
    CHECK(best(of_thin, thin) < 0.8 * best(plain, thin_dense));
  }
}
