#include "runtime/choose/catalogue.hpp"

#include <fmt/format.h>

#include <iterator>

#include "db/files/bundle.hpp"
#include "kernels/families/plan_hash.hpp"
#include "runtime/choose/choose.hpp"
#include "runtime/compile/find_nvrtc.hpp"

namespace tilesmith::runtime {
namespace {

bool loadable(const db::KernelBuild& build) {
  // A spilled kernel is right, only slow. The tuner rejects it; as generic kernel it is better than none.
  return (build.status == db::Status::ok || build.status == db::Status::spilled) && !build.cubin.empty();
}

/// Which NVRTCs' kernels are looked at, in the order of the search.
enum class Compilers { the_driver_loads, all };

bool serves(Compilers compilers, const std::string& nvrtc_version, int driver_version) {
  return compilers == Compilers::all || too_new_for_driver(nvrtc_version, driver_version).empty();
}

class StoreCatalogue final : public Catalogue {
 public:
  explicit StoreCatalogue(const db::Store& store) : store_(store) {}
  explicit StoreCatalogue(db::Store&& store) : own_(std::move(store)), store_(*own_) {}

  std::vector<db::Record> records(const TypePair& type, int sm) const override {
    return records_to_choose_by(store_, type, sm);
  }

  std::vector<db::Record> records_of_kernel(const std::string& name, int sm) const override {
    return store_.records({.type = "kernel", .family = name, .sm = sm});
  }

  std::vector<db::VendorTimes> vendor_times(const TypePair& type, const db::DeviceIdentity& device) const override {
    return store_.vendor_times({.type = std::string(type.name), .device_exactly = device});
  }

  std::set<std::string> stored_configs(const KernelTarget& target) const override {
    const std::string options = compiler_options_text(target);
    const auto is_today = [&](const Config& config, const std::string& hash) {
      return hash == kernel_hash(config, target, options);
    };
    return store_.stored_configs(text(target.signature()), target.limits.arch, is_today);
  }

  std::optional<db::KernelBuild> find_build(const db::KernelKey& key, int driver_version) const override {
    for (const Compilers compilers : {Compilers::the_driver_loads, Compilers::all}) {
      const auto of_compiler = [&](const std::string& nvrtc) { return serves(compilers, nvrtc, driver_version); };
      std::optional<db::KernelBuild> build;
      if (of_compiler(key.nvrtc_version)) build = store_.find_build(key);
      if (build && loadable(*build)) return build;
      build = store_.find_build_any_compiler(key.config, key.signature, key.arch, key.kernel_hash, of_compiler);
      if (build && loadable(*build)) return build;
    }
    return std::nullopt;
  }

 private:
  std::optional<db::Store> own_;
  const db::Store& store_;
};

class BundleCatalogue final : public Catalogue {
 public:
  explicit BundleCatalogue(db::Bundle bundle) : bundle_(std::move(bundle)) {}

  std::vector<db::Record> records(const TypePair& type, int sm) const override {
    std::vector<db::Record> found = bundle_.bests;
    std::erase_if(found, [&](const db::Record& entry) {
      return !entry.task.is_gemm() || !tell_of_each_other(entry.task.problem().type, type) || entry.device.sm != sm;
    });
    return found;
  }

  std::vector<db::Record> records_of_kernel(const std::string& name, int sm) const override {
    std::vector<db::Record> found = bundle_.bests;
    std::erase_if(found, [&](const db::Record& entry) {
      return entry.task.is_gemm() || entry.task.kernel().kernel != name || entry.device.sm != sm;
    });
    return found;
  }

  std::vector<db::VendorTimes> vendor_times(const TypePair& type, const db::DeviceIdentity& device) const override {
    std::vector<db::VendorTimes> found;
    for (const db::VendorTimes& one : bundle_.vendor) {
      if (one.problem.type == type && one.device == device) found.push_back(one);
    }
    return found;
  }

  std::optional<db::KernelBuild> find_build(const db::KernelKey& key, int driver_version) const override {
    for (const Compilers compilers : {Compilers::the_driver_loads, Compilers::all}) {
      if (const db::KernelBuild* build = find(key, compilers, driver_version)) return *build;
    }
    return std::nullopt;
  }

  /// One that was made for an architecture tells of no multiprocessors.
  std::optional<db::DeviceIdentity> made_for() const override {
    return bundle_.device.sm_count == 0 ? std::nullopt : std::optional(bundle_.device);
  }
  std::set<std::string> stored_configs(const KernelTarget& target) const override {
    std::set<std::string> found;
    const std::string options = compiler_options_text(target);
    for (const db::KernelBuild& build : bundle_.builds) {
      if (loadable(build) && build.key.signature == text(target.signature()) && build.key.arch == target.limits.arch &&
          build.key.kernel_hash == kernel_hash(build.key.config, target, options))
        found.insert(build.key.config.text());
    }
    return found;
  }
  bool is_selection() const override { return true; }

 private:
  const db::KernelBuild* find(const db::KernelKey& key, Compilers compilers, int driver_version) const {
    const db::KernelBuild* other_compiler = nullptr;
    for (const db::KernelBuild& build : bundle_.builds) {
      if (!loadable(build) || !same_kernel(build.key, key)) continue;
      if (!serves(compilers, build.key.nvrtc_version, driver_version)) continue;
      if (build.key.nvrtc_version == key.nvrtc_version && build.key.compiler_options == key.compiler_options)
        return &build;
      const bool spills = build.status == db::Status::spilled;
      if (other_compiler == nullptr || (other_compiler->status == db::Status::spilled && !spills))
        other_compiler = &build;
    }
    return other_compiler;
  }

  static bool same_kernel(const db::KernelKey& a, const db::KernelKey& b) {
    return a.config == b.config && a.signature == b.signature && a.arch == b.arch && a.kernel_hash == b.kernel_hash;
  }

  db::Bundle bundle_;
};

}  // namespace

std::vector<db::Record> records_to_choose_by(const db::Store& store, const TypePair& type, int sm) {
  std::vector<db::Record> found;
  for (const TypePair& other : type_pairs()) {
    if (!tell_of_each_other(other, type)) continue;
    std::vector<db::Record> entries = store.records({.type = std::string(other.name), .sm = sm});
    found.insert(found.end(), std::make_move_iterator(entries.begin()), std::make_move_iterator(entries.end()));
  }
  return found;
}

std::unique_ptr<Catalogue> catalogue_of(const db::Store& store) { return std::make_unique<StoreCatalogue>(store); }

std::unique_ptr<Catalogue> open_catalogue(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw db::StoreError(fmt::format("{}: no such file, expected a database or a bundle", path.string()));
  }
  if (!std::filesystem::is_regular_file(path, error)) {
    throw db::StoreError(fmt::format("{}: not a file, expected a database or a bundle", path.string()));
  }
  if (db::is_bundle(path)) return std::make_unique<BundleCatalogue>(db::load_bundle(path));
  return std::make_unique<StoreCatalogue>(db::Store::open_read_only(path));
}

std::unique_ptr<Catalogue> empty_catalogue() { return std::make_unique<BundleCatalogue>(db::Bundle{}); }

}  // namespace tilesmith::runtime
