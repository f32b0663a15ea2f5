#include "db/files/compress.hpp"
#include "db/files/merge.hpp"
#include "db/store/open.hpp"
#include "tests/catch.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

TEST_CASE("a build comes back with its cubin") {
  Store store = Store::in_memory();
  CHECK_FALSE(store.find_build(sample_key()));
  const KernelBuild build = sample_build();
  store.record_build(build);
  const auto back = store.find_build(sample_key());
  REQUIRE(back);
  CHECK(back->status == Status::ok);
  CHECK(back->registers == 168);
  CHECK(back->static_smem_bytes == 1024);
  CHECK(back->cubin == build.cubin);
  CHECK(back->key.config == build.key.config);
}

TEST_CASE("a failed compilation is kept with its message and no cubin") {
  Store store = Store::in_memory();
  KernelBuild build{sample_key(), Status::compile_failed, "line 3: error: no such fragment", 0, 0, 0, {}};
  store.record_build(build);
  const auto back = store.find_build(sample_key());
  REQUIRE(back);
  CHECK(back->status == Status::compile_failed);
  CHECK(back->message == "line 3: error: no such fragment");
  CHECK(back->cubin.empty());
}

TEST_CASE("every field of the key tells builds apart") {
  Store store = Store::in_memory();
  store.record_build(sample_build());
  const auto found = [&](auto&& change) {
    KernelKey key = sample_key();
    change(key);
    return store.find_build(key).has_value();
  };
  CHECK(found([](KernelKey&) {}));
  CHECK_FALSE(found([](KernelKey& k) { k.config = sample_config(9); }));
  CHECK_FALSE(found([](KernelKey& k) { k.signature = "bf16f32 NN"; }));
  CHECK_FALSE(found([](KernelKey& k) { k.signature = "f16f32 TN"; }));
  CHECK_FALSE(found([](KernelKey& k) { k.arch = "sm_87"; }));
  CHECK_FALSE(found([](KernelKey& k) { k.kernel_hash = "hash-2"; }));
  CHECK_FALSE(found([](KernelKey& k) { k.compiler_options = ""; }));
  CHECK_FALSE(found([](KernelKey& k) { k.nvrtc_version = "12.6"; }));
}

TEST_CASE("an equal key replaces the former build and its cubin") {
  Store store = Store::in_memory();
  store.record_build(sample_build(sample_config(), 1));
  store.record_build(sample_build(sample_config(), 2));
  CHECK(store.find_build(sample_key())->cubin == sample_cubin(2));
  CHECK(rows_of(store, "SELECT count(*) FROM builds")[0][0] == "1");
  CHECK(rows_of(store, "SELECT count(*) FROM cubins")[0][0] == "1");
}

TEST_CASE("equal cubins are kept once, and as long as a build needs them") {
  Store store = Store::in_memory();
  store.record_build(sample_build(sample_config(1), 5));
  store.record_build(sample_build(sample_config(2), 5));
  CHECK(rows_of(store, "SELECT count(*) FROM cubins")[0][0] == "1");
  store.record_build(sample_build(sample_config(1), 6));
  CHECK(store.find_build(sample_key(sample_config(2)))->cubin == sample_cubin(5));
  CHECK(store.integrity_error().empty());
}

TEST_CASE("builds that contradict themselves are not recorded") {
  Store store = Store::in_memory();
  KernelBuild build = sample_build();
  build.cubin.clear();
  CHECK_THROWS_AS(store.record_build(build), std::logic_error);
  build = sample_build();
  build.status = Status::mismatch;
  CHECK_THROWS_AS(store.record_build(build), std::logic_error);
  build.status = Status::compile_failed;
  CHECK_THROWS_AS(store.record_build(build), std::logic_error);
  CHECK(rows_of(store, "SELECT count(*) FROM kernels")[0][0] == "0");
}

TEST_CASE("a kernel that another program left without its cubin is a miss, and a merge passes over it") {
  TemporaryFolder folder;
  { Store::open(folder / "a.db").record_build(sample_build()); }
  {
    const Database database((folder / "a.db").string(), SQLITE_OPEN_READWRITE, "a.db");
    database.execute("UPDATE builds SET cubin_hash = NULL");
  }
  const KernelKey key = sample_key();
  Store store = Store::open(folder / "a.db");
  CHECK_FALSE(store.find_build(key));
  CHECK_FALSE(store.find_build_any_compiler(key.config, key.signature, key.arch, key.kernel_hash));
  Store into = Store::in_memory();
  CHECK(merge(into, store).builds_added == 0);
  store.record_build(sample_build());
  CHECK(store.find_build(key));
}

TEST_CASE("a merge takes cubins over as they are packed") {
  TemporaryFolder folder;
  const std::vector<std::byte> cubin = sample_cubin();
  { Store::open(folder / "a.db").record_build(sample_build()); }
  {
    const Database database((folder / "a.db").string(), SQLITE_OPEN_READWRITE, "a.db");
    std::vector<std::byte> frames = compress(std::span(cubin).first(100));  // two of them, as this program makes none
    const std::vector<std::byte> rest = compress(std::span(cubin).subspan(100));
    frames.insert(frames.end(), rest.begin(), rest.end());
    Statement(database, "UPDATE cubins SET data = ?").bind_all(frames).run();
  }
  const Store from = Store::open_read_only(folder / "a.db");
  Store into = Store::in_memory();
  CHECK(merge(into, from).builds_added == 1);
  CHECK(rows_of(into, "SELECT hash, bytes, hex(data) FROM cubins") ==
        rows_of(from, "SELECT hash, bytes, hex(data) FROM cubins"));
  CHECK(into.find_build(sample_key())->cubin == cubin);
}

TEST_CASE("a runtime without NVRTC finds the newest build of any compiler that is ok and of its architecture") {
  Store store = Store::in_memory();
  const auto find = [&](const std::string& arch = "sm_90a", const std::string& hash = "hash-1") {
    return store.find_build_any_compiler(sample_config(), "f16f32 NN", arch, hash);
  };
  CHECK_FALSE(find());
  KernelBuild build = sample_build();
  build.key.nvrtc_version = "12.6";
  store.record_build(build);
  build.key.nvrtc_version = "13.0";
  build.cubin = sample_cubin(2);
  store.record_build(build);
  REQUIRE(find());
  CHECK(find()->key.nvrtc_version == "13.0");
  build.key.nvrtc_version = "13.1";
  build.status = Status::spilled;
  store.record_build(build);
  CHECK(find()->key.nvrtc_version == "13.0");
  CHECK_FALSE(find("sm_87"));
  CHECK_FALSE(find("sm_90a", "hash-2"));
}

TEST_CASE("a runtime without NVRTC finds a spilled build where there is no other") {
  Store store = Store::in_memory();
  KernelBuild build = sample_build();
  build.status = Status::spilled;
  build.spill_bytes = 8;
  store.record_build(build);
  const KernelKey& key = build.key;
  const auto found = store.find_build_any_compiler(key.config, key.signature, key.arch, key.kernel_hash);
  REQUIRE(found);
  CHECK(found->status == Status::spilled);
}

TEST_CASE("a corrupt cubin is a miss, and recording it again heals it") {
  TemporaryFolder folder;
  { Store::open(folder / "a.db").record_build(sample_build()); }
  {
    const Database database((folder / "a.db").string(), SQLITE_OPEN_READWRITE, "a.db");
    const auto other = compress(sample_cubin(9));
    Statement(database, "UPDATE cubins SET data = ?").bind_all(other).run();
  }
  Store store = Store::open(folder / "a.db");
  CHECK_FALSE(store.find_build(sample_key()));
  CHECK_FALSE(store.find_build_any_compiler(sample_config(), "f16f32 NN", "sm_90a", "hash-1"));
  store.record_build(sample_build());
  REQUIRE(store.find_build(sample_key()));
  CHECK(store.find_build(sample_key())->cubin == sample_cubin());
}

TEST_CASE("a suite's verdict is found again for the same kernel, device, driver and suite only") {
  Store store = Store::in_memory();
  const Store::Proof proof{sample_key(), sample_device(), "580.1", "suite-1", {Status::mismatch, "C[3,5] is 7", {}}};
  store.record_proof(proof);
  const auto found = store.find_proof(sample_key(), sample_device(), "580.1", "suite-1");
  REQUIRE(found);
  CHECK(found->status == Status::mismatch);
  CHECK(found->message == "C[3,5] is 7");
  CHECK_FALSE(store.find_proof(sample_key(sample_config(2)), sample_device(), "580.1", "suite-1"));
  CHECK_FALSE(store.find_proof(sample_key(), other_device(), "580.1", "suite-1"));
  CHECK_FALSE(store.find_proof(sample_key(), sample_device(), "570", "suite-1"));
  CHECK_FALSE(store.find_proof(sample_key(), sample_device(), "580.1", "suite-2"));
  Store::Proof again = proof;
  again.outcome = {Status::ok, "", {}};
  store.record_proof(again);
  CHECK(store.find_proof(sample_key(), sample_device(), "580.1", "suite-1")->status == Status::ok);
}

TEST_CASE("content hashes are canonical, and compression gives back what it took") {
  // The published XXH3-128 of no bytes at all.
  CHECK(content_hash(std::vector<std::byte>{}) == "99aa06d3014798d86001c324468d497f");
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000000}}) {
    const auto content = sample_cubin(3, bytes);
    const auto frame = compress(content);
    CHECK(decompress(frame, bytes) == content);
    if (bytes > 1) {
      CHECK_FALSE(decompress(frame, bytes - 1));
      CHECK_FALSE(decompress(std::span(frame).first(frame.size() / 2), bytes));
    }
  }
  CHECK_FALSE(decompress(sample_cubin(), 1 << 20));
  CHECK_FALSE(decompress({}, 1 << 20));
}
