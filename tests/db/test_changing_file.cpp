// Stores whose file, read without locks, changes meanwhile.
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/files/merge.hpp"
#include "db/store/free_query.hpp"
#include "db/store/open.hpp"
#include "db/store/store_access.hpp"
#include "tests/catch.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

namespace fs = std::filesystem;

/// A store that finds its file replaced by another when it asks for the n-th time.
Store changing(const fs::path& before, const fs::path& after, int at_question) {
  Store store = Store::open_read_only(before);
  const_cast<Database&>(StoreAccess::database(store))
      .renew_by([after, at_question, asked = 0]() mutable -> std::optional<Database> {
        if (++asked != at_question) return std::nullopt;
        return open_for_reading(after);
      });
  return store;
}

Store::Proof sample_proof() {
  return {sample_key(), sample_device(), "580.1", "suite-2", {Status::ok, "", std::nullopt}};
}

/// Each question that a store answers by one statement or several, as whether it has an answer.
const std::vector<std::pair<std::string, std::function<bool(const Store&)>>> kQuestions = {
    {"find_build_any_compiler",
        [](const Store& store) {
          const KernelKey key = sample_key();
          return store.find_build_any_compiler(key.config, key.signature, key.arch, key.kernel_hash).has_value();
        }},
    {"find_proof",
        [](const Store& store) {
          return store.find_proof(sample_key(), sample_device(), "580.1", "suite-2").has_value();
        }},
    {"first_tried", [](const Store& store) { return !store.first_tried().empty(); }},
    {"runs", [](const Store& store) { return !store.runs().empty(); }},
    {"devices", [](const Store& store) { return !store.devices().empty(); }},
    {"last_entry", [](const Store& store) { return store.last_entry() != 0; }},
    {"tasks_since", [](const Store& store) { return !store.tasks_since(0).empty(); }},
    {"free_query", [](const Store& store) { return !free_query(store, "SELECT id FROM records").rows.empty(); }},
};

}  // namespace

TEST_CASE("whatever a store is asked is asked again of a file that changed behind the answer") {
  TemporaryFolder folder;
  { Store::open(folder / "empty.db"); }
  {
    Store store = Store::open(folder / "full.db");
    store.record(right(10));
    store.record_build(sample_build());
    store.record_proof(sample_proof());
    store.begin_run({.uuid = "run-1"});
  }
  for (const auto& [name, has_answer] : kQuestions) {
    INFO(name);
    CHECK_FALSE(has_answer(Store::open_read_only(folder / "empty.db")));
    int questions = 0;  // the last one comes behind the answer
    const Store counting = Store::open_read_only(folder / "empty.db");
    const_cast<Database&>(StoreAccess::database(counting)).renew_by([&questions]() -> std::optional<Database> {
      ++questions;
      return std::nullopt;
    });
    has_answer(counting);
    CHECK(questions >= 2);
    CHECK(has_answer(changing(folder / "empty.db", folder / "full.db", questions)));
  }
}

TEST_CASE("a merge that fails while its source changes says that it changed") {
  TemporaryFolder folder;
  {
    Store store = Store::open(folder / "a.db");
    store.record(right(10));
    // As what comes out of two states may look.
    StoreAccess::database(store).execute("UPDATE devices SET power_mode = char(1)");
  }
  Store into = Store::in_memory();
  const std::string plain = store_error([&] { merge(into, Store::open_read_only(folder / "a.db")); });
  CHECK(contains(plain, "power_mode holds a control character"));
  const std::string changed = store_error([&] { merge(into, changing(folder / "a.db", folder / "a.db", 2)); });
  CHECK(contains(changed, "a.db: was changed while it was read"));
  CHECK(into.last_entry() == 0);
}
