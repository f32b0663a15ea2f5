// Fills and comparisons of kernels of one's own.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/catch.hpp"
#include "tuner/verify/own_data.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace tilesmith::test_own_data {

namespace {

own::Argument argument_of(const char* type, own::Fill fill = own::Fill::uniform) {
  own::Argument argument;
  argument.name = "out";
  argument.type = own::find_element_type(type);
  argument.fill = fill;
  return argument;
}

template <typename T>
std::vector<T> filled(const char* type, own::Fill fill, std::size_t count, std::uint64_t seed = 1) {
  std::vector<T> values(count);
  fill_own(argument_of(type, fill), seed, std::as_writable_bytes(std::span(values)));
  return values;
}

template <typename T>
std::optional<std::string> difference(const char* type, const own::Tolerance& tolerance, std::vector<T> expected,
    std::vector<T> found, std::vector<std::int64_t> extents = {}) {
  if (extents.empty()) extents = {std::int64_t(expected.size())};
  return own_difference(
      argument_of(type), tolerance, extents, std::as_bytes(std::span(expected)), std::as_bytes(std::span(found)));
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("fills of kernels of one's own are what they are called, and the same for one seed") {
  const auto uniform = filled<float>("f32", own::Fill::uniform, 10000);
  CHECK(uniform == filled<float>("f32", own::Fill::uniform, 10000));
  CHECK(uniform != filled<float>("f32", own::Fill::uniform, 10000, 2));
  double sum = 0, squares = 0;
  for (const float value : uniform) {
    REQUIRE((value >= -1 && value < 1));
    sum += value;
  }
  CHECK(std::abs(sum / 10000) < 0.03);
  sum = 0;
  for (const double value : filled<double>("f64", own::Fill::normal, 10000)) {
    sum += value;
    squares += value * value;
  }
  CHECK(std::abs(sum / 10000) < 0.05);
  CHECK(squares / 10000 == Approx(1).margin(0.05));
  for (const std::int32_t value : filled<std::int32_t>("s32", own::Fill::integers, 1000)) REQUIRE(std::abs(value) <= 8);
  for (const std::uint16_t value : filled<std::uint16_t>("u16", own::Fill::integers, 1000)) REQUIRE(value <= 8);
  CHECK(filled<std::int64_t>("s64", own::Fill::ramp, 4) == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(filled<float>("f32", own::Fill::ramp, 3) == std::vector<float>{0, 1, 2});
  const auto wrapped = filled<std::uint8_t>("u8", own::Fill::ramp, 258);
  CHECK((wrapped[255] == 255 && wrapped[256] == 0 && wrapped[257] == 1));
  CHECK(filled<std::int16_t>("s16", own::Fill::zeros, 2) == std::vector<std::int16_t>{0, 0});
  const auto any = filled<std::uint32_t>("u32", own::Fill::uniform, 100);
  CHECK(*std::max_element(any.begin(), any.end()) > 0x80000000u);
}

TEST_CASE("a result of a kernel of one's own is right within its tolerance, and the first wrong one is named") {
  CHECK_FALSE(difference<float>("f32", {}, {1, -0.0f, kInfinity}, {1, 0, kInfinity}));
  CHECK_FALSE(difference<float>("f32", {0.5, 0}, {1, 2}, {1.5, 1.5}));
  CHECK_FALSE(difference<float>("f32", {0, 0.25}, {4, -8}, {5, -6}));
  CHECK(difference<float>("f32", {0, 0.01}, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5.25, 7}, {2, 3}) ==
        "out[1][1] is 5.25, expected 5 within 0.01 × 5: 2 of 6 elements differ");
  CHECK(difference<float>("f32", {0.125, 0.5}, {0}, {0.25}) ==
        "out[0] is 0.25, expected 0 within 0.125 + 0.5 × 0: 1 of 1 elements differ");
  CHECK(difference<std::int32_t>("s32", {}, {1, -2}, {1, -3}) == "out[1] is -3, expected -2: 1 of 2 elements differ");
  CHECK_FALSE(difference<std::int32_t>("s32", {1, 0}, {1, -2}, {1, -3}));
  // Beyond what a double tells apart.
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  CHECK(difference<std::int64_t>("s64", {}, {large}, {large - 1}));
  CHECK(difference<std::uint64_t>("u64", {}, {~0ull}, {~0ull - 1}) ==
        "out[0] is 18446744073709551614, expected 18446744073709551615: 1 of 1 elements differ");
}

TEST_CASE("NaN is no right result of a kernel of one's own, whatever the tolerance, and none of a reference's") {
  for (const own::Tolerance& tolerance : {own::Tolerance{}, own::Tolerance{1e30, 1e30}}) {
    CHECK(difference<float>("f32", tolerance, {1, 2}, {1, kNan}));
    CHECK(difference<float>("f32", tolerance, {1, kNan}, {1, kNan}) ==
          "the reference's out[1] is NaN: expected a number");
  }
  CHECK(difference<float>("f32", {1, 0}, {kInfinity}, {1}));
  CHECK(difference<float>("f32", {1, 0}, {1}, {kInfinity}));
  CHECK(difference<float>("f32", {0, 1}, {kInfinity}, {-kInfinity}));
}

}  // namespace tilesmith::test_own_data
