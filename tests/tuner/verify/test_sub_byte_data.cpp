#include <set>
#include <tuple>
#include <vector>

#include "tests/catch.hpp"
#include "tuner/verify/exact_data.hpp"
#include "tuner/verify/number_formats.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

TEST_CASE(
    "operands below a byte use their whole range, and all of a value's bits are in its place, the first in the lower ones") {
  for (const auto& [name, least, most, count] :
      {std::tuple{"s4s32", -8.0, 7.0, 16U}, std::tuple{"u4s32", 0.0, 15.0, 16U}, std::tuple{"b1s32", 0.0, 1.0, 2U},
          std::tuple{"b1xors32", 0.0, 1.0, 2U}}) {
    const Scalar element = (*find_type_pair(name)).a;
    const StageRules rules = stage_rules(packed_problem({*find_type_pair(name), {}}, 64, 64, 64), Stage::exact, 1);
    std::set<double> seen;
    std::vector<std::byte> row(64, std::byte{0xa5});
    for (std::int64_t k = 0; k < 64; ++k) {
      const double value = rule_value(rules.a, 3, k, 64);
      seen.insert(value);
      encode_at(element, value, row.data(), k);
      CHECK(decode_operand_at(element, row.data(), k) == value);
    }
    CHECK((*seen.begin() == least && *seen.rbegin() == most && seen.size() <= count));
    CHECK(row[std::size_t(storage_bytes(element, 64))] == std::byte{0xa5});
  }
  std::vector<std::byte> two{std::byte{0xff}};
  encode_at(Scalar::s4, -7, two.data(), 0);
  CHECK(two[0] == std::byte{0xf9});
  encode_at(Scalar::u4, 3, two.data(), 1);
  CHECK(two[0] == std::byte{0x39});
  encode_at(Scalar::b1, 0, two.data(), 3);
  CHECK(two[0] == std::byte{0x31});
}
