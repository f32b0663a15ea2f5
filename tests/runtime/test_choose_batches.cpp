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
  return runtime::choose({}, wanted, {wanted, *limits_for_arch(arch)}, producer);
}

std::string strided(const char* type, int extent, int batch) {
  return fmt::format("{0} NN {1} {1} {1} batch={2} batch_mode=strided", type, extent, batch);
}

}  // namespace

TEST_CASE("untuned batches of small entries take CUDA cores, of larger ones tensor cores where the type pair has them", "[choose][batches]") {
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
  CHECK(untuned(strided("f16f32f16", 16, 65536), "sm_90a").predicted_us == Approx(105).epsilon(0.2));  // wgmma took 173 us, mma 227
}

TEST_CASE("untuned batches of f32 take a tile by their shape", "[choose][batches]") {
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const int extent : {4, 8, 16, 32, 64, 128, 256}) {
      for (const int batch : {64, 4096}) {
        INFO(arch << " " << extent << " " << batch);
        const Choice choice = untuned(strided("f32f32", extent, batch), arch);
        CHECK(choice.level == Level::model);
        CHECK(choice.config.family() == "simt");
        CHECK(choice.config.at("block_m") <= std::max(8, extent));
        CHECK(choice.config.at("block_n") <= std::max(8, extent));
        CHECK(choice.predicted_us > 0);
      }
    }
  }
  const Config tiny = untuned(strided("f32f32", 8, 262144), "sm_90a").config;
  CHECK(tiny.at("entries") > 1);
  const Config large = untuned(strided("f32f32", 256, 64), "sm_90a").config;
  CHECK(large.at("thread_m") * large.at("thread_n") >= 32);
  // By pointers it is the same.
  CHECK(untuned("f32f32 NN 16 16 16 batch=65536 batch_mode=pointers", "sm_90a").config.family() == "simt");
  CHECK(untuned("f32f32 NN 4096 1024 1024 batch=8 batch_mode=grouped", "sm_90a").level == Level::model);
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

TEST_CASE("what simt took on single problems, which it does not estimate, says nothing of its batches", "[choose][batches]") {
  const Problem wanted = problem(strided("f16f32f16", 16, 65536));
  const KernelTarget target{wanted, *limits_for_arch("sm_90a")};
  const Config single("simt", {{"block_m", 64}, {"block_n", 64}, {"block_k", 16}, {"thread_m", 4}, {"thread_n", 4}});
  const std::vector<db::Evidence> slow{entry("f16f32f16 NN 4096 4096 4096", single, 1e6)};
  const Choice choice = runtime::choose(slow, wanted, target, producer);
  CHECK(choice.config.family() == "simt");
  CHECK(choice.predicted_us == Approx(untuned(strided("f16f32f16", 16, 65536), "sm_90a").predicted_us));
}
