#include "db/store/device_identity.hpp"

#include <set>
#include <string>

#include "kernels/families/device_limits.hpp"
#include "tests/catch.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

TEST_CASE("a device's text differs whenever one of its fields does") {
  std::set<std::string> texts = {text(sample_device())};
  const auto add = [&](auto&& change) {
    DeviceIdentity device = sample_device();
    change(device);
    texts.insert(text(device));
  };
  add([](DeviceIdentity& d) { d.name = "NVIDIA H100"; });
  add([](DeviceIdentity& d) { d.sm = 87; });
  add([](DeviceIdentity& d) { d.sm_count = 66; });
  add([](DeviceIdentity& d) { d.l2_bytes = 1; });
  add([](DeviceIdentity& d) { d.smem_per_sm_bytes = 1; });
  add([](DeviceIdentity& d) { d.bandwidth_class_gbps = 1; });
  add([](DeviceIdentity& d) { d.power_mode = "MAXN"; });
  CHECK(texts.size() == 8);
  CHECK(text(sample_device()).substr(0, 26) == "NVIDIA H200/sm_90/132SM/L2");
}

TEST_CASE("devices are alike that run the same code on at most twice as many multiprocessors") {
  const DeviceIdentity device = sample_device();
  const auto with = [&](auto&& change) {
    DeviceIdentity other = sample_device();
    change(other);
    return other;
  };
  CHECK(are_similar(device, device));
  for (const int count : {66, 264}) CHECK(are_similar(device, with([&](DeviceIdentity& d) { d.sm_count = count; })));
  for (const int count : {65, 265})
    CHECK_FALSE(are_similar(with([&](DeviceIdentity& d) { d.sm_count = count; }), device));
  CHECK(are_similar(
      device, with([](DeviceIdentity& d) { d.name = "NVIDIA H100", d.l2_bytes = 1, d.bandwidth_class_gbps = 3400; })));
  CHECK(are_similar(device, with([](DeviceIdentity& d) { d.power_mode = "MAXN"; })));
  CHECK_FALSE(are_similar(device, with([](DeviceIdentity& d) { d.sm = 87; })));
  const DeviceIdentity as_orin = identity_as(device, *limits_for_arch("sm_87"));
  CHECK_FALSE(are_similar(as_orin, device));
  CHECK_FALSE(are_similar(as_orin, with([](DeviceIdentity& d) { d.sm = 87; })));
}
