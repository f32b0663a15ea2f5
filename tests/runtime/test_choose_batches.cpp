// What is chosen for batches, untuned and by the records of other batches and other epilogues.
#include <fmt/format.h>

#include "runtime/choose/neighbour.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/choose_toy.hpp"

using namespace tilesmith;
using namespace tilesmith::runtime;
using namespace tilesmith::runtime::choosing;

namespace {

Choice untuned(const std::string& where, const char* arch) {
  const Problem wanted = problem(where);
  return runtime::choose({}, wanted, {wanted, *limits_for_arch(arch)}, environment);
}

std::string strided(const char* type, int extent, int batch) {
  return fmt::format("{0} NN {1} {1} {1} batch={2} batch_mode=strided", type, extent, batch);
}

}  // namespace

TEST_CASE("untuned batches of small entries take CUDA cores, of larger ones tensor cores where the type pair has them",
    "[choose][batches]") {
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const int batch : {4096, 65536}) {
      for (const char* type : {"f16f32f16", "bf16f32bf16", "f64f64", "s8s32"}) {
        for (const int extent : {4, 8, 16}) {
          INFO(arch << " " << type << " " << extent << " " << batch);
          const Choice choice = untuned(strided(type, extent, batch), arch);
          CHECK(choice.level == Level::model);
          CHECK(choice.config.family() == "simt");
          CHECK(choice.config.at("block_m") <= 16);
        }
        for (const int extent : {64, 128}) {
          INFO(arch << " " << type << " " << extent << " " << batch);
          CHECK(untuned(strided(type, extent, batch), arch).config.family() != "simt");
        }
      }
    }
    // Few entries: no family is far ahead, and none has a tile that is mostly padding.
    CHECK(untuned(strided("bf16f32bf16", 32, 64), arch).config.family() == "mma");
  }
  CHECK(untuned(strided("f16f32f16", 16, 65536), "sm_90a").predicted_us ==
        Approx(105).epsilon(0.2));  // wgmma took 173 us, mma 227
}

TEST_CASE("untuned batches of f32 take simt where entries are small and many, else ffma, with tiles by their shape",
    "[choose][batches]") {
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const int extent : {4, 8, 16, 32, 64, 128, 256}) {
      for (const int batch : {64, 4096}) {
        INFO(arch << " " << extent << " " << batch);
        const Choice choice = untuned(strided("f32f32", extent, batch), arch);
        CHECK(choice.level == Level::model);
        if (extent <= 16 && batch == 4096) CHECK(choice.config.family() == "simt");
        if (extent >= 32) CHECK(choice.config.family() == "ffma");
        CHECK(choice.config.at("block_m") <= std::max(16, extent));
        CHECK(choice.config.at("block_n") <= std::max(32, extent));
        CHECK(choice.predicted_us > 0);
      }
    }
  }
  CHECK(untuned(strided("f32f32", 8, 262144), "sm_90a").config.at("entries") > 1);
  const Config large = untuned(strided("f32f32", 256, 64), "sm_90a").config;
  CHECK(large.at("thread_m") * large.at("thread_n") >= 32);
  // By pointers it is the same; groups have estimates, too.
  CHECK(untuned("f32f32 NN 16 16 16 batch=65536 batch_mode=pointers", "sm_90a").config.family() == "simt");
  CHECK(untuned("f32f32 NN 4096 1024 1024 batch=8 batch_mode=grouped", "sm_90a").level == Level::model);
  // A gate, which ffma lacks.
  const Choice gated = untuned("f32f32 NN 256 256 256 batch=64 batch_mode=strided epilogue=swiglu", "sm_90a");
  CHECK(gated.level == Level::model);
  CHECK(gated.config.at("thread_n") % 2 == 0);
}

TEST_CASE("untuned f32 problems take ffma, with larger tiles for larger problems", "[choose]") {
  for (const char* arch : {"sm_87", "sm_90a"}) {
    int last = 0;
    for (const char* shape : {"64 64 64", "512 512 512", "1024 1024 1024", "4096 4096 4096"}) {
      INFO(arch << " " << shape);
      const Choice choice = untuned(fmt::format("f32f32 NN {}", shape), arch);
      CHECK(choice.level == Level::model);
      CHECK(choice.config.family() == "ffma");
      const int tile = choice.config.at("block_m") * choice.config.at("block_n");
      CHECK(tile >= last);
      last = tile;
    }
    CHECK(last == 128 * 256);
    CHECK(untuned("f32f32 NN 16 4096 4096", arch).config.at("block_m") == 16);
    CHECK(untuned("f32f32 TN 4096 16 4096", arch).config.at("block_n") <= 32);
  }
}

TEST_CASE("untuned f32 and batches of one row or column take gemv where the matrix is large", "[choose][batches]") {
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const char* where : {"f32f32 NN 1 4096 4096", "f32f32 NT 1 4096 4096", "f32f32 NN 4096 1 4096",
             "f32f32 TN 4095 1 4093", "f32f32 NN 1 1024 1024 batch=64 batch_mode=strided",
             "bf16f32bf16 NT 1 1024 1024 batch=64 batch_mode=pointers",
             "f64f64 NN 1 2000 500 batch=100 batch_mode=strided epilogue=bias_n"}) {
      INFO(arch << " " << where);
      CHECK(untuned(where, arch).config.family() == "gemv");
    }
  }
  CHECK(untuned("f16f32f16 NN 1 16 16 batch=65536 batch_mode=strided", "sm_90a").config.family() == "simt");
}

TEST_CASE(
    "what simt took on single problems, which it does not estimate, says nothing of its batches", "[choose][batches]") {
  const Problem wanted = problem(strided("f16f32f16", 16, 65536));
  const KernelTarget target{wanted, *limits_for_arch("sm_90a")};
  const Config single("simt", {{"block_m", 64}, {"block_n", 64}, {"block_k", 16}, {"thread_m", 4}, {"thread_n", 4}});
  const std::vector<db::Record> slow{entry("f16f32f16 NN 4096 4096 4096", single, 1e6)};
  const Choice choice = runtime::choose(slow, wanted, target, environment);
  CHECK(choice.config.family() == "simt");
  CHECK(choice.predicted_us == Approx(untuned(strided("f16f32f16", 16, 65536), "sm_90a").predicted_us));
}

TEST_CASE("a plain problem is chosen for by its fused sister's records, and an epilogue by another's", "[choose]") {
  Given given;
  // By other shapes tiles of 192 promise the most.
  const db::Record elsewhere = entry("f16f32 NN 576 576 512", toy(192), 1);
  given.entries = {entry("f16f32 NN 512 512 512 epilogue=bias_n+relu", toy(64), 9),
      entry("f16f32 NN 512 512 512 epilogue=bias_n+relu", toy(128), 10), elsewhere};
  for (const char* fused : {"", " epilogue=gelu", " epilogue=swiglu", " epilogue=bias_n+relu scalars=device",
           " beta=any epilogue=bias_n+relu"}) {
    INFO(fused);
    const Choice choice = given.choose(fmt::format("f16f32 NN 512 512 512{}", fused));
    CHECK(choice.level == Level::model);
    CHECK(choice.config == toy(64));
    CHECK(choice.reason.find("its sister f16f32 NN 512 512 512 epilogue=bias_n+relu") != std::string::npos);
  }
  // The nearest sister counts: the plain one of two that are as near, and of epilogues the same with the host's
  // scalars.
  given.entries.push_back(entry("f16f32 NN 512 512 512", toy(128), 8));
  CHECK(given.choose("f16f32 NN 512 512 512 epilogue=gelu").config == toy(128));
  CHECK(given.choose("f16f32 NN 512 512 512 epilogue=bias_n+relu scalars=device").config == toy(64));
  // A plain problem with β and its plain sister are the same kernels: all times count, and none comes first by name.
  CHECK(given.choose("f16f32 NN 512 512 512 beta=any").reason.find("sister") == std::string::npos);
  // Other rows, another batch, another type pair or device are no sisters.
  for (const char* other : {"f16f32 NN 512 512 520 epilogue=gelu",
           "f16f32 NN 512 512 512 epilogue=gelu batch=2 batch_mode=strided", "bf16f32 NN 512 512 512 epilogue=gelu"})
    CHECK(given.choose(other).reason.find("sister") == std::string::npos);
  const db::DeviceIdentity other_device = device("Other GPU");
  CHECK(given.choose("f16f32 NN 512 512 512 epilogue=gelu", &other_device).reason.find("sister") == std::string::npos);
}

TEST_CASE("a sister's next best comes first where its best cannot run", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 9), entry("f16f32 NN 512 512 512", toy(128), 10),
      entry("f16f32 NN 576 576 512", toy(192), 1), entry("f16f32 NN 512 512 512 epilogue=relu", toy(64), 9)};
  given.entries.back().outcome = {db::Status::spilled, "spills 8 bytes", std::nullopt};
  CHECK(given.choose("f16f32 NN 512 512 512 epilogue=relu").config == toy(128));
}

TEST_CASE("the records of a batch serve a batch of other entries, with and without an epilogue", "[choose][batches]") {
  Given given;
  given.entries = {entry(strided("f16f32", 128, 64), toy(64), 9), entry(strided("f16f32", 128, 64), toy(128), 5)};
  for (const char* count : {"32", "48", "96", "256"}) {
    INFO(count);
    const std::string asked = fmt::format("f16f32 NN 128 128 128 batch={} batch_mode=strided", count);
    for (const std::string& where : {asked, asked + " epilogue=bias_n+gelu"}) {
      const Choice choice = given.choose(where);
      CHECK(choice.level == Level::model);
      CHECK(choice.config == toy(128));
      REQUIRE(choice.record);
      CHECK(choice.record->task.problem().batch == 64);
    }
  }
  CHECK(given.choose("f16f32 NN 128 128 128 batch=64 batch_mode=pointers").config == toy(128));
  // What a batch's sister took is nearer than a batch of other entries, and that nearer than one problem of the shape.
  given.entries.push_back(entry(strided("f16f32", 128, 48), toy(64), 4));
  CHECK(given.choose("f16f32 NN 128 128 128 batch=48 batch_mode=strided epilogue=relu").config == toy(64));
  given.entries = {entry(strided("f16f32", 128, 64), toy(64), 5), entry(strided("f16f32", 128, 64), toy(128), 5.5),
      entry("f16f32 NN 128 128 128", toy(64), 3), entry("f16f32 NN 128 128 128", toy(128), 1)};
  CHECK(given.choose(strided("f16f32", 128, 56)).config == toy(64));
  CHECK(given.choose("f16f32 NN 128 128 136").config == toy(128));
}

TEST_CASE("64 times 128³ is six doublings from 128³, and half of one from 45 times", "[choose][batches]") {
  const Problem one = problem("f16f32 NN 128 128 128"), many = problem(strided("f16f32", 128, 64));
  CHECK(distance(one, many) == Approx(6.05));
  CHECK(distance(many, one) == Approx(6.05));
  CHECK(distance(many, problem(strided("f16f32", 128, 45))) == Approx(0.508).epsilon(0.01));
  CHECK(distance(many, problem("f16f32 NN 128 128 128 batch=64 batch_mode=pointers")) == Approx(0.05));
  CHECK(distance(many, problem("f16f32 NN 128 128 128 batch=64 batch_mode=strided epilogue=relu")) == Approx(0.1));
  // A broadcast B is another alignment or none, not another distance; groups are a batch of equal ones.
  CHECK(distance(problem("f16f32 NN 8192 128 128 batch=64 batch_mode=grouped"), many) == Approx(0.05));
}
