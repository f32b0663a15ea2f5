#include <set>

#include "db/evidence.hpp"
#include "kernels/device_limits.hpp"
#include "kernels/plan_hash.hpp"
#include "tests/catch.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

TEST_CASE("status names parse back, and no other text does") {
  for (const Status status : {Status::ok, Status::illegal, Status::compile_failed, Status::spilled, Status::launch_failed,
                              Status::timed_out, Status::device_fault, Status::mismatch}) {
    CHECK(parse_status(name(status)) == status);
  }
  CHECK_FALSE(parse_status("fine"));
  CHECK_FALSE(parse_status(""));
}

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
  CHECK(are_alike(device, device));
  for (const int count : {66, 264}) CHECK(are_alike(device, with([&](DeviceIdentity& d) { d.sm_count = count; })));
  for (const int count : {65, 265}) CHECK_FALSE(are_alike(with([&](DeviceIdentity& d) { d.sm_count = count; }), device));
  CHECK(are_alike(device, with([](DeviceIdentity& d) { d.name = "NVIDIA H100", d.l2_bytes = 1, d.bandwidth_class_gbps = 3400; })));
  CHECK(are_alike(device, with([](DeviceIdentity& d) { d.power_mode = "MAXN"; })));
  CHECK_FALSE(are_alike(device, with([](DeviceIdentity& d) { d.sm = 87; })));
  const DeviceIdentity as_orin = identity_as(device, *limits_for_arch("sm_87"));
  CHECK_FALSE(are_alike(as_orin, device));
  CHECK_FALSE(are_alike(as_orin, with([](DeviceIdentity& d) { d.sm = 87; })));
}

TEST_CASE("a changed option retires an entry, a changed policy asks for a time, a changed driver or NVRTC for verification") {
  const Producer now = sample_producer();
  CHECK(judge(now, now) == Trust::valid);
  Producer entry = now;
  entry.driver_version = "570";
  CHECK(judge(entry, now) == Trust::reverify);
  entry = now;
  entry.nvrtc_version = "12.6";
  CHECK(judge(entry, now) == Trust::reverify);
  entry = now;
  entry.compiler_options = "-O0";
  CHECK(judge(entry, now) == Trust::retired);
  entry = now;
  entry.measuring_policy = "cold-0";
  CHECK(judge(entry, now) == Trust::remeasure);
  entry.driver_version = "570";
  CHECK(judge(entry, now) == Trust::remeasure);
}

TEST_CASE("an entry is retired exactly where today's plan hash of its config and problem is another") {
  std::string error;
  Evidence entry = right(10, *Config::parse("simt{block_m=64,block_n=64,block_k=16,thread_m=4,thread_n=4}"), *parse_problem("f16f32 NN 64 64 64", error));
  entry.producer.compiler_options = compiler_options_text({entry.problem, *limits_for_arch("sm_90a")});
  Producer now = entry.producer;
  CHECK(judge(entry, now) == Trust::retired);
  entry.plan_hash = plan_hash(entry.config, entry.problem, now.compiler_options);
  CHECK(judge(entry, now) == Trust::valid);
  now.driver_version = "999";
  CHECK(judge(entry, now) == Trust::reverify);
  now.compiler_options = "-O0";
  CHECK(judge(entry, now) == Trust::retired);
  entry.problem.m = 128;  // other launches
  CHECK(judge(entry, entry.producer) == Trust::retired);
  // What has no plan today rests on none.
  CHECK(judge(right(10), sample_producer()) == Trust::valid);
}

TEST_CASE("a driver that is not known on either side has not changed") {
  const auto judged = [](const char* then, const char* today) {
    Producer entry = sample_producer(), now = sample_producer();
    entry.driver_version = then;
    now.driver_version = today;
    return judge(entry, now);
  };
  CHECK(judged("580.65.06", "CUDA 13.0") == Trust::valid);  // a container without libnvidia-ml
  CHECK(judged("CUDA 13.0", "580.65.06") == Trust::valid);
  CHECK(judged("580.65.06", "") == Trust::valid);
  CHECK(judged("", "580.65.06") == Trust::valid);
  CHECK(judged("CUDA 12.8", "CUDA 13.0") == Trust::reverify);
  CHECK(judged("570.1", "580.65.06") == Trust::reverify);
}

TEST_CASE("times are brought to three decimals, and other forms refused") {
  CHECK(normalized_utc("2026-01-31T23:59:59Z") == "2026-01-31T23:59:59.000Z");
  CHECK(normalized_utc("2026-01-31T23:59:59.1Z") == "2026-01-31T23:59:59.100Z");
  CHECK(normalized_utc("2026-01-31T23:59:59.123456Z") == "2026-01-31T23:59:59.123Z");
  for (const char* wrong : {"", "Z", "2026-01-31", "2026-01-31T23:59:59", "2026-01-31 23:59:59Z", "2026-01-31T23:59:59.Z",
                            "2026-01-31T23:59:59+01:00", "2026-01-31T23:59:59.12x Z", "2026-13-01T00:00:00Z",
                            "2026-02-29T00:00:00Z", "2026-00-10T00:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T23:60:00Z",
                            "2026-01-31T23:59:60Z"}) {
    INFO(wrong);
    CHECK_FALSE(normalized_utc(wrong));
  }
}

TEST_CASE("a failure of the machine is stored neither as evidence nor as a proof") {
  Evidence entry = failed(Status::launch_failed, "no memory left");
  CHECK_FALSE(evidence_error(entry));
  entry.outcome.by_machine = true;
  CHECK(evidence_error(entry) == "by_machine is set: expected a candidate's own outcome");
  Store store = Store::in_memory();
  CHECK_THROWS_AS(store.record(entry), std::logic_error);
  CHECK_THROWS_AS(store.record_proof({sample_key(), sample_device(), "580.1", "battery-2", entry.outcome}), std::logic_error);
  CHECK_FALSE(store.find_proof(sample_key(), sample_device(), "580.1", "battery-2"));
}
