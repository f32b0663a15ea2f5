// Suites of problems whose α and β lie in device memory.
#include <set>
#include <string>
#include <utility>

#include "tests/catch.hpp"
#include "tests/tuner/verify/host_kernel.hpp"
#include "tuner/verify/suite_cases.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

KernelSignature on_device(const char* type) {
  KernelSignature signature{*find_type_pair(type), {false, true}};
  signature.scalars = Scalars::device;
  return signature;
}

}  // namespace

TEST_CASE(
    "the suite meets β = 0 on the device both promised and as a value, and α = 0 beside operands that are no numbers") {
  for (const TypePair& type : type_pairs()) {
    KernelSignature signature{type, {}};
    signature.scalars = Scalars::device;
    std::set<std::string> kinds;
    for (const SuiteCase& of : suite_cases(signature)) {
      INFO(text(of));
      CHECK_FALSE(problem_error(of.problem));
      CHECK(of.problem.scalars == Scalars::device);
      CHECK((of.scales.beta == 0 || of.problem.beta == BetaClass::any));
      if (of.scales.beta == 0) kinds.insert(of.problem.beta == BetaClass::any ? "zero as a value" : "zero as promised");
      if (of.scales.alpha == 0 && of.problem.k > 0) kinds.insert(of.scales.beta == 0 ? "alpha 0" : "alpha 0, adds C");
    }
    INFO(type.name);
    CHECK(kinds.size() == 4);
  }
}

TEST_CASE("α and β lie in the suite's memory, between guards, aligned to themselves alone, and another α does") {
  for (const char* type : {"f16f32", "s8s32", "f64f64"}) {
    const SuiteImage image = make_suite_image(on_device(type));
    const Scalar element = image.type().scale;
    const std::size_t bytes = size_bytes(element);
    REQUIRE(image.other_alpha_at.size() == image.cases.size());
    for (std::size_t i = 0; i < image.cases.size(); ++i) {
      const SuiteCase& of = image.cases[i];
      INFO(text(of));
      const auto value = [&](std::size_t at) { return decode(element, image.operands.data() + at); };
      const std::size_t alpha = image.bytes_at[OperandRole::alpha][i], other = image.other_alpha_at[i];
      CHECK(value(alpha) == of.scales.alpha);
      CHECK(value(other) == first_alpha(of.scales));
      for (const std::size_t at : {alpha, other}) {
        CHECK(at % bytes == 0);
        CHECK(at % (2 * bytes) == bytes);
        CHECK_FALSE(value(at + bytes) == of.scales.alpha);
      }
      if (of.problem.beta == BetaClass::any) CHECK(value(image.bytes_at[OperandRole::beta][i]) == of.scales.beta);
    }
  }
}

TEST_CASE("a right kernel passes the suite of scalars on the device, and the usual bugs of it are found") {
  for (const char* type : {"f16f32", "s8s32"}) {
    const SuiteImage image = make_suite_image(on_device(type));
    const bool is_real = std::string_view(type) == "f16f32";
    for (const auto& [bug, found] : {std::pair{HostBug::none, false}, {HostBug::swaps_scalars, true},
             {HostBug::keeps_first_alpha, true}, {HostBug::reads_scalar_behind, true}, {HostBug::ignores_alpha, true},
             {HostBug::ignores_beta, true}, {HostBug::reads_c_at_beta_0, is_real},  // no integer is NaN
             {HostBug::reads_at_alpha_0, is_real}}) {
      const auto fault = host_suite(image, bug);
      INFO(type << ", bug " << int(bug) << ": " << fault.value_or("nothing found"));
      CHECK(fault.has_value() == found);
    }
  }
}
