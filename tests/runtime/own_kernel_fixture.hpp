// A library on a driver that notes the launches of kernels of one's own, and records of such kernels.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "kernels/families/tasks.hpp"
#include "kernels/families/user/load.hpp"
#include "tests/kernel_folder.hpp"
#include "tests/runtime/library_fixture.hpp"

namespace tilesmith::runtime::fake {

struct OwnLaunch {
  unsigned grid = 0, block = 0;
  CUstream stream = nullptr;
  std::uint64_t first = 0, second = 0;
  std::int32_t third = 0;
};
inline std::vector<OwnLaunch>& own_launches() {
  static std::vector<OwnLaunch> all;
  return all;
}

/// The softmax of tests/kernel_folder.hpp under a name of its own, loaded.
class OwnKernelFixture : public LibraryFixture {
 public:
  static constexpr const char* kRule = R"("block * per_thread >= 256")";
  explicit OwnKernelFixture(const std::string& name, const std::string& rule = kRule) : folder(name) {
    folder.with(kRule, rule);
    own_launches().clear();
    load_family_dir(folder.path());
  }

  const own::Kernel& kernel() const { return *own::find_kernel(folder.read().name()); }
  Config config(int block, int per_thread) const {
    return Config(kernel().name(), {{"block", block}, {"per_thread", per_thread}});
  }
  Task task(std::int64_t rows, std::int64_t cols) const {
    const SizedKernel::Size sizes[] = {{"rows", rows}, {"cols", cols}};
    return kernel().at(sizes);
  }
  db::Record record(const Task& on, const Config& config, double median_us) const {
    db::Record entry = LibraryFixture::record("f16f32 NN 512 512 512", simt(32), median_us);
    entry.task = on;
    entry.config = config;
    entry.plan_hash = plan_hash(config, on, entry.environment.compiler_options);
    return entry;
  }
  db::KernelBuild build(const Config& config) const {
    db::KernelBuild made = LibraryFixture::build("f16f32 NN 512 512 512", simt(32));
    made.key.config = config;
    made.key.signature = signature_text(task(1, 1));
    made.key.kernel_hash = own::kernel_hash(config, made.key.compiler_options);
    const std::string image = ".version 8.0 // stands for a cubin\n.entry softmax(\n";
    made.cubin.resize(image.size());
    std::memcpy(made.cubin.data(), image.data(), image.size());
    return made;
  }
  /// Two configs at rows=64 cols=512, and the faster one's cubin.
  std::filesystem::path tuned_database() const {
    db::Store store = db::Store::open(path("own.db"));
    store.record(record(task(64, 512), config(128, 4), 3));
    store.record(record(task(64, 512), config(256, 1), 2));
    store.record_build(build(config(256, 1)));
    return path("own.db");
  }

  tests::KernelFolder folder;

 private:
  static Driver noting_table() {
    Driver made = driver();  // LibraryFixture's
    made.launch_kernel = [](CUfunction, unsigned x, unsigned, unsigned, unsigned block, unsigned, unsigned, unsigned,
                             CUstream stream, void** parameters, void**) {
      OwnLaunch one{x, block, stream};
      std::memcpy(&one.first, parameters[0], 8);
      std::memcpy(&one.second, parameters[1], 8);
      std::memcpy(&one.third, parameters[2], 4);
      own_launches().push_back(one);
      return note("launch_kernel");
    };
    return made;
  }

  Driver table_ = noting_table();
  ScopedDriver scoped_{table_};
};

}  // namespace tilesmith::runtime::fake
