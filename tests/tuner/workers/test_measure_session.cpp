// What a measuring session says of candidates that a device has no memory for. The driver is played.
#include <cuda.h>

#include <string>
#include <utility>
#include <vector>

#include "kernels/families/family.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/workers/played_device.hpp"
#include "tuner/workers/measure_session.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
namespace fake = tilesmith::runtime::fake;

namespace {

MeasureSession::Job job_for(const Problem& problem, Config config) {
  return {problem, std::move(config), std::vector<std::byte>(64), true};
}

}  // namespace

TEST_CASE("a config whose own workspace no device memory is enough for has failed itself, and not the machine") {
  const PlayedDevice device;
  const runtime::Context context(0);
  MeasureSession session(context);
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, context.info().limits};
  const Problem large = packed_problem(target, 65536, 65536, 4096);
  Config config = find_family("mma")->initial_configs(target, large).front();
  for (const auto& [parameter, value] : {std::pair{"split_k", 8}, {"reduction", 0}, {"persistent", 0}})
    config.set(parameter, value);
  const MeasureSession::Result failed = session.evaluate(job_for(large, config));
  INFO(failed.outcome.message);
  CHECK(failed.outcome.status == db::Status::launch_failed);
  CHECK_FALSE(failed.outcome.by_machine);
  CHECK(failed.outcome.message.find("loading: a workspace of 137438953472 bytes has no room") == 0);

  fake::state().failures["mem_alloc"] = CUDA_ERROR_OUT_OF_MEMORY;
  config.set("split_k", 1);
  CHECK(session.evaluate(job_for(large, config)).outcome.by_machine);  // the operands' reference has none now
}

TEST_CASE(
    "a problem is new until its reference is there: the next candidate has the time for it that the first one had") {
  const PlayedDevice device;
  const runtime::Context context(0);
  MeasureSession session(context);
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, context.info().limits};
  const MeasureSession::Job job = job_for(packed_problem(target, 64, 64, 64), generic_config(target));
  fake::state().failures["mem_alloc"] = CUDA_ERROR_OUT_OF_MEMORY;
  for (int candidate = 0; candidate < 2; ++candidate) {
    std::vector<bool> new_problem;  // by verification
    const MeasureSession::Result result = session.evaluate(job, [&](Phase phase, bool is_new) {
      if (phase == Phase::verification) new_problem.push_back(is_new);
    });
    CHECK(result.outcome.by_machine);
    REQUIRE_FALSE(new_problem.empty());
    CHECK(new_problem.back());
  }
}
