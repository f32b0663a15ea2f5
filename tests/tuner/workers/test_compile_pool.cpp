// Compilation in real worker processes, with kernels that make the compiler fail in every way.
#include <atomic>
#include <map>
#include <set>

#include "db/store/store.hpp"
#include "runtime/compile/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/drill_family.hpp"
#include "tuner/measure/pacing.hpp"
#include "tuner/measure/random_fill.hpp"
#include "tuner/workers/compile_all.hpp"
#include "tuner/workers/compile_pool.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

constexpr const char* kChild = TILESMITH_TUNER_CHILD;

KernelTarget drill_target(const char* arch = "sm_87") {
  return {{*find_type_pair("f64f64"), {}}, *limits_for_arch(arch)};
}

CompilePool::Done next_done(CompilePool& pool) {
  for (;;) {
    std::vector<CompilePool::Done> done = pool.collect();
    if (!done.empty()) {
      REQUIRE(done.size() == 1);
      return done.front();
    }
    wait_for_input(pool.descriptors(), pool.deadline());
  }
}

db::KernelBuild compile_one(CompilePool& pool, test::DrillKind kind, std::size_t others = 0) {
  pool.submit({std::size_t(kind) + 100, runtime::kernel_key(test::drill_config(kind), drill_target())});
  const CompilePool::Done done = next_done(pool);
  CHECK(done.ticket == std::size_t(kind) + 100);
  CHECK(done.keep);
  CHECK(pool.pending() == others);
  return done.build;
}

}  // namespace

TEST_CASE("a compile pool survives compilers that fail, crash and hang") {
  const test::DrillEnabled drill;
  CompilePool pool(1, std::chrono::seconds(3), kChild);
  CHECK(compile_one(pool, test::kDrillOk).status == db::Status::ok);
  const db::KernelBuild refused = compile_one(pool, test::kDrillCompileError);
  CHECK(refused.status == db::Status::compile_failed);
  CHECK_FALSE(refused.message.empty());
  const db::KernelBuild crashed = compile_one(pool, test::kDrillCompilerCrash);
  CHECK(crashed.status == db::Status::compile_failed);
  CHECK(crashed.message == "the compiler ended: killed by signal 6 (Aborted)");
  const db::KernelBuild hung = compile_one(pool, test::kDrillCompilerHang);
  CHECK(hung.status == db::Status::compile_failed);
  CHECK(hung.message == "the compiler did not end within 3 s");
  const db::KernelBuild last = compile_one(pool, test::kDrillOkToo);
  CHECK(last.status == db::Status::ok);
  CHECK_FALSE(last.cubin.empty());
  CHECK(last.registers > 0);
  CHECK(last.key.config == test::drill_config(test::kDrillOkToo));
}

TEST_CASE("spare jobs wait for those that are submitted, and count as such once promoted") {
  const test::DrillEnabled drill;
  CompilePool pool(1, std::chrono::seconds(20), kChild);
  const auto job = [](std::size_t ticket) {
    return CompilePool::Job{ticket, runtime::kernel_key(test::drill_config(test::kDrillOk), drill_target())};
  };
  pool.submit(job(1));
  for (const std::size_t ticket : {2, 3, 4, 5, 7, 8}) pool.submit_spare(job(ticket));
  pool.submit(job(6));
  pool.promote(4);
  pool.promote(1);  // is under way
  pool.promote(9);  // nobody's
  CHECK(pool.pending() == 8);
  for (const std::size_t ticket : {1, 6, 4, 2}) CHECK(next_done(pool).ticket == ticket);
  CHECK(pool.drop_spare({3, 7}) == std::vector<std::size_t>{5, 8});
  CHECK(pool.drop_spare() == std::vector<std::size_t>{7});  // 3 has begun
  CHECK(next_done(pool).ticket == 3);
  CHECK(pool.pending() == 0);
}

TEST_CASE("spare jobs leave a worker to what is submitted") {
  const test::DrillEnabled drill;
  CompilePool pool(2, std::chrono::seconds(20), kChild);
  for (const std::size_t ticket : {1, 2}) {
    pool.submit_spare({ticket, runtime::kernel_key(test::drill_config(test::kDrillCompilerHang), drill_target())});
  }
  CHECK(compile_one(pool, test::kDrillOk, 2).status == db::Status::ok);
}

TEST_CASE("compiling ahead keeps every build, compiles none twice and stops when told") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  std::vector<CompileJob> jobs;
  for (const auto kind : {test::kDrillOk, test::kDrillCompileError, test::kDrillOkToo}) {
    jobs.push_back({test::drill_config(kind), drill_target()});
  }
  std::map<std::string, db::Status> statuses;
  int reused_count = 0;
  const auto note = [&](const db::KernelBuild& build, bool reused) {
    statuses[build.key.config.text()] = build.status;
    reused_count += reused;
  };
  std::atomic<bool> stop{false};
  CHECK(compile_all(store, jobs, 2, note, stop, kChild) == 3);
  CHECK(reused_count == 0);
  CHECK(statuses.at(test::drill_config(test::kDrillOk).text()) == db::Status::ok);
  CHECK(statuses.at(test::drill_config(test::kDrillCompileError).text()) == db::Status::compile_failed);
  CHECK(compile_all(store, jobs, 2, note, stop, kChild) == 0);
  CHECK(reused_count == 3);
  const auto build = store.find_build(runtime::kernel_key(test::drill_config(test::kDrillOk), drill_target()));
  REQUIRE(build);
  CHECK_FALSE(build->cubin.empty());

  stop = true;
  jobs.push_back({test::drill_config(test::kDrillFault), drill_target()});
  CHECK(compile_all(store, jobs, 2, note, stop, kChild) == 0);
}

TEST_CASE("the measuring kernels compile for the first and the fastest target") {
  for (const char* arch : {"sm_87", "sm_90a"}) {
    const std::vector<std::string> options{std::string("--gpu-architecture=") + arch, "--std=c++17"};
    const auto check = [&](const std::string& source, const std::string& entry) {
      const runtime::SourceBuild build = runtime::compile_source(source, entry + ".cu", entry, options);
      INFO(entry << " for " << arch << ": " << build.log);
      CHECK(build.ok);
      CHECK(build.spill_bytes == 0);
    };
    for (const char* entry : {"blocking_kernel", "scrub", "reference_work", "another_kernel"})
      check(Pacing::source(), entry);
    for (const Scalar type :
        {Scalar::f16, Scalar::bf16, Scalar::tf32, Scalar::f32, Scalar::f64, Scalar::s8, Scalar::u8, Scalar::s32}) {
      check(RandomFill::source(type), "random_fill");
    }
  }
}
