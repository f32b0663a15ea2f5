#include "db/files/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "db/exchange/record_json.hpp"
#include "db/exchange/recording.hpp"
#include "db/files/bundle.hpp"
#include "db/files/compress.hpp"
#include "db/files/files.hpp"
#include "db/store/store_access.hpp"

namespace tilesmith::db {
namespace {

constexpr int kExportVersion = 1;
constexpr std::size_t kLargestImportBytes = std::size_t{4} << 30;

template <typename Row>
using ForEach = std::function<void(const std::function<void(const Row&)>&)>;
using ForEachRecord = ForEach<Record>;

/// Below all ids of a table, and never 0, which is no entry's.
std::int64_t lowest_id(const Database& database, std::string_view table) {
  Statement row(database, fmt::format("SELECT min(coalesce(min(id), 0), 0) AS lowest FROM {}", table));
  row.step();
  return row.integer("lowest");
}

/// Adds to a store within one transaction, and counts.
class Adder {
 public:
  explicit Adder(Store& into) : database_(StoreAccess::database(into)), transaction_(database_), interner_(database_) {}

  /// Adds the entries of one source, which `each` gives in their order, the same each time it is asked. What is new
  /// counts as recorded now, but of a candidate the source's order stays: an entry that the source recorded before one
  /// that is known here gets an id below all.
  void add_in_order(const ForEachRecord& each) { add_rows("records", each, result_.added, result_.known); }
  /// The same of what the vendor took.
  void add_vendor_in_order(const ForEach<VendorTimes>& each) {
    std::int64_t known = 0;
    add_rows("vendor_times", each, result_.vendor_added, known);
  }
  void add(const PackedBuild& build) {
    if (insert_build(database_, interner_, build, OnKnown::keep)) ++result_.builds_added;
  }
  void add(const Store::Proof& proof, const std::string& created_at) {
    insert_proof(interner_, proof, created_at, OnKnown::keep);
  }
  void add(const Run& run) { insert_run(interner_, run, OnKnown::keep); }
  void add(const DeviceIdentity& device) { interner_.device(device); }

  MergeResult commit() {
    transaction_.commit();
    return result_;
  }

 private:
  using Candidate = std::array<std::int64_t, 3>;  // ids of task, device and config

  Candidate candidate_of(const Record& entry) {
    return {interner_.task(entry.task), interner_.device(entry.device), interner_.config(entry.config)};
  }
  Candidate candidate_of(const VendorTimes& one) {
    return {interner_.task(one.problem), interner_.device(one.device), 0};
  }

  template <typename Row>
  void add_rows(std::string_view table, const ForEach<Row>& each, std::int64_t& added, std::int64_t& known) {
    std::map<Candidate, std::int64_t> last_known;  // by candidate: the place in the source
    std::vector<std::pair<Candidate, std::int64_t>> fresh;
    std::int64_t place = 0;
    each([&](const Row& given) {
      const Row row = completed(given);  // its time as it is stored
      const Candidate candidate = candidate_of(row);
      if (find_row(interner_, row)) last_known[candidate] = place;
      else fresh.emplace_back(candidate, place);
      ++place;
    });
    const auto is_history = [&](const Candidate& candidate, std::int64_t at) {
      const auto found = last_known.find(candidate);
      return found != last_known.end() && at < found->second;
    };
    const auto history =
        std::count_if(fresh.begin(), fresh.end(), [&](const auto& one) { return is_history(one.first, one.second); });
    std::int64_t history_id = lowest_id(database_, table) - history;
    place = 0;
    each([&](const Row& given) {
      const Row row = completed(given);
      const bool below_all = is_history(candidate_of(row), place++);
      if (find_row(interner_, row)) {
        ++known;
        return;
      }
      insert_row(interner_, row, below_all ? std::optional(history_id++) : std::nullopt);
      ++added;
    });
  }

  const Database& database_;
  Transaction transaction_;
  Interner interner_;
  MergeResult result_;
};

/// A file's entries, which stand there by problem, as their store had recorded them.
template <typename Row>
ForEach<Row> in_order(const std::vector<Row>& entries) {
  std::vector<const Row*> order;
  for (const Row& entry : entries) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const Row* a, const Row* b) { return is_later(*b, *a); });
  return [order](const std::function<void(const Row&)>& use) {
    for (const Row* entry : order) use(*entry);
  };
}

/// What a file holds.
MergeResult add_all(Store& into, const std::vector<Record>& entries, const std::vector<VendorTimes>& vendor = {},
    const std::vector<KernelBuild>& builds = {}, const std::string& made_at = "") {
  Adder adder(into);
  adder.add_in_order(in_order(entries));
  adder.add_vendor_in_order(in_order(vendor));
  for (const KernelBuild& build : builds) adder.add(PackedBuild{build, made_at, {}});
  return adder.commit();
}

/// Every entry is read before the first is added: one bad entry refuses the whole file.
std::vector<Record> read_export(const Json& json) {
  if (!json.is_object() || !json.contains("tilesmith_export")) {
    throw FormatError(
        "expected a JSON export (\"tilesmith_export\"), a recording (\"tilesmith_recording\") or a bundle");
  }
  if (integer_at(json, "tilesmith_export", 1, 1 << 30) > kExportVersion) {
    throw FormatError(fmt::format("export version {} is newer than this program's: expected {}",
        to_line(json["tilesmith_export"]), kExportVersion));
  }
  std::vector<Record> entries;
  for_each_at(json, "entries", "entry", [&](const Json& entry) { entries.push_back(record_from_json(entry)); });
  return entries;
}

MergeResult import_export(Store& into, const std::filesystem::path& path, std::string_view content) {
  std::vector<Record> entries;
  std::vector<VendorTimes> vendor;
  try {
    const Json json = parse_json(content);
    entries = read_export(json);
    vendor = vendor_times_of(json);
  } catch (const FormatError& error) {
    throw StoreError(fmt::format("{}: {}", path.string(), error.what()));
  }
  return add_all(into, entries, vendor);
}

}  // namespace

MergeResult merge(Store& into, const Store& from) {
  const Database& source = StoreAccess::database(from);
  if (&source == &StoreAccess::database(into)) throw std::logic_error("merge: a store into itself");
  const auto require_unchanged = [&] {  // read without locks, it may have been of two states
    if (!source.renewed()) return;
    throw StoreError(
        fmt::format("{}: was changed while it was read: expected it to stay; merge it again", source.label()));
  };
  Adder adder(into);
  try {
    const Transaction snapshot(source, Transaction::Kind::read);
    for (const DeviceIdentity& device : from.devices()) adder.add(device);
    std::vector<Run> runs = from.runs();
    std::reverse(runs.begin(), runs.end());
    for (const Run& run : runs) adder.add(run);
    for_each_build(source, [&](const PackedBuild& build) { adder.add(build); });
    for_each_proof(
        source, [&](const Store::Proof& proof, const std::string& created_at) { adder.add(proof, created_at); });
    adder.add_in_order([&](const std::function<void(const Record&)>& use) {
      for_each_record(source, [&](const Record& entry) {
        if (const auto wrong = record_error(entry)) {
          throw StoreError(fmt::format("{}: records {}: {}", from.path().string(), entry.id, *wrong));
        }
        use(entry);
      });
    });
    adder.add_vendor_in_order([&](const std::function<void(const VendorTimes&)>& use) {
      for_each_vendor(source, [&](const VendorTimes& times) {
        if (const auto wrong = vendor_times_error(times))
          throw StoreError(fmt::format("{}: vendor_times {}: {}", from.path().string(), times.id, *wrong));
        use(times);
      });
    });
  } catch (const StoreError&) {
    require_unchanged();
    throw;
  }
  require_unchanged();
  return adder.commit();
}

MergeResult add_recorded(Store& into, const Record& entry) {
  Adder adder(into);
  adder.add_in_order([&](const std::function<void(const Record&)>& use) { use(entry); });
  return adder.commit();
}

MergeResult import_file(Store& into, const std::filesystem::path& path) {
  constexpr std::string_view kExpected = "a JSON export, a recording or a bundle";
  std::string content = read_file(path, fmt::format("{}; databases are brought in with `merge`", kExpected));
  if (content.empty()) throw StoreError(fmt::format("{}: is empty: expected {}", path.string(), kExpected));
  // What was read is all there is of a pipe.
  if (begins_as_bundle(content)) {
    const Bundle bundle = parse_bundle(content, path);
    return add_all(
        into, bundle.bests, bundle.vendor, bundle.builds, normalized_utc(bundle.made_at).value_or(now_utc()));
  }
  if (is_zstd(content)) {
    const auto plain = decompress(as_bytes(content), kLargestImportBytes);
    if (!plain || plain->empty()) {
      throw StoreError(fmt::format("{}: the zstd stream is {}: expected {}", path.string(),
          plain ? "empty" : "truncated or corrupt", kExpected));
    }
    content = as_text(*plain);
  }
  const std::string_view first_line = std::string_view(content).substr(0, content.find('\n'));
  if (first_line.find("\"tilesmith_recording\"") != std::string_view::npos) {
    return add_all(into, parse_recording(std::move(content), path).entries);
  }
  return import_export(into, path, content);
}

}  // namespace tilesmith::db
