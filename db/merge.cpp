#include "db/merge.hpp"

#include <fmt/format.h>

#include "db/bundle.hpp"
#include "db/compress.hpp"
#include "db/evidence_json.hpp"
#include "db/files.hpp"
#include "db/landscape.hpp"
#include "db/store_access.hpp"

namespace tilesmith::db {
namespace {

constexpr int kExportVersion = 1;

/// Adds to a store within one transaction, and counts.
class Adder {
 public:
  explicit Adder(Store& into) : database_(StoreAccess::database(into)), transaction_(database_), interner_(database_) {}

  void add(const Evidence& given) {
    const Evidence entry = completed(database_, given);  // its time as it is stored
    const std::int64_t known = find_evidence(interner_, entry).value_or(0);  // ids begin at 1
    if (known > 0) {
      if (!entry.plan_hash.empty()) fill_plan_hash(database_, known, entry.plan_hash);
      ++result_.known;
      return;
    }
    insert_evidence(database_, interner_, entry);
    ++result_.added;
  }
  void add(const PackedBuild& build) {
    if (insert_build(database_, interner_, build, OnKnown::keep)) ++result_.builds_added;
  }
  void add(const Store::Proof& proof, const std::string& created_at) {
    insert_proof(database_, interner_, proof, created_at, OnKnown::keep);
  }
  void add(const Run& run) { insert_run(database_, run, OnKnown::keep); }
  void add(const DeviceIdentity& device) { interner_.device(device); }

  MergeResult commit() {
    transaction_.commit();
    return result_;
  }

 private:
  const Database& database_;
  Transaction transaction_;
  Interner interner_;
  MergeResult result_;
};

MergeResult import_bundle(Store& into, const std::filesystem::path& path, std::string_view content) {
  const Bundle bundle = parse_bundle(content, path);
  const std::string made_at = normalized_utc(bundle.made_at).value_or(now_utc());
  Adder adder(into);
  for (const Evidence& best : bundle.bests) adder.add(best);
  for (const KernelBuild& build : bundle.builds) adder.add(PackedBuild{build, made_at, {}});
  return adder.commit();
}

MergeResult import_landscape(Store& into, const std::filesystem::path& path, std::string content) {
  const Landscape landscape = parse_landscape(std::move(content), path);
  Adder adder(into);
  for (const Evidence& entry : landscape.entries) adder.add(entry);
  return adder.commit();
}

/// Every entry is read before the first is added: one bad entry refuses the whole file.
std::vector<Evidence> read_export(const Json& json) {
  if (!json.is_object() || !json.contains("tilesmith_export")) {
    throw FormatError("expected a JSON export (\"tilesmith_export\"), a landscape (\"tilesmith_landscape\") or a bundle");
  }
  if (integer_at(json, "tilesmith_export", 1, 1 << 30) > kExportVersion) {
    throw FormatError(fmt::format("export version {} is newer than this program's: expected {}",
                                  to_line(json["tilesmith_export"]), kExportVersion));
  }
  std::vector<Evidence> entries;
  for (const Json& entry : array_at(json, "entries")) {
    try {
      entries.push_back(evidence_from_json(entry));
    } catch (const FormatError& error) {
      throw FormatError(fmt::format("entry {}: {}", entries.size() + 1, error.what()));
    }
  }
  return entries;
}

MergeResult import_export(Store& into, const std::filesystem::path& path, std::string_view content) {
  std::vector<Evidence> entries;
  try {
    entries = read_export(parse_json(content));
  } catch (const FormatError& error) {
    throw StoreError(fmt::format("{}: {}", path.string(), error.what()));
  }
  Adder adder(into);
  for (const Evidence& entry : entries) adder.add(entry);
  return adder.commit();
}

}  // namespace

MergeResult merge(Store& into, const Store& from) {
  const Database& source = StoreAccess::database(from);
  if (&source == &StoreAccess::database(into)) throw std::logic_error("merge: a store into itself");
  const auto require_unchanged = [&] {  // read without locks, it may have been of two states
    if (!source.renewed()) return;
    throw StoreError(fmt::format("{}: was changed while it was read: expected it to stay; merge it again", source.label()));
  };
  Adder adder(into);
  try {
    const Transaction snapshot(source, Transaction::Kind::read);
    for (const DeviceIdentity& device : from.devices()) adder.add(device);
    for (const Run& run : from.runs()) adder.add(run);
    for_each_build(source, [&](const PackedBuild& build) { adder.add(build); });
    for_each_proof(source, [&](const Store::Proof& proof, const std::string& created_at) { adder.add(proof, created_at); });
    // In the order of recording, so that of two entries of one instant the same one counts here as there.
    for_each_evidence(source, [&](const Evidence& entry) {
      if (const auto wrong = evidence_error(entry)) {
        throw StoreError(fmt::format("{}: evidence {}: {}", from.path().string(), entry.id, *wrong));
      }
      adder.add(entry);
    });
  } catch (const StoreError&) {
    require_unchanged();
    throw;
  }
  require_unchanged();
  return adder.commit();
}

MergeResult add_recorded(Store& into, const Evidence& entry) {
  Adder adder(into);
  adder.add(entry);
  return adder.commit();
}

MergeResult import_file(Store& into, const std::filesystem::path& path) {
  constexpr std::string_view kExpected = "a JSON export, a landscape or a bundle";
  std::string content = read_file(path, fmt::format("{}; databases are brought in with `merge`", kExpected));
  if (content.empty()) throw StoreError(fmt::format("{}: is empty: expected {}", path.string(), kExpected));
  // What was read is all there is of a pipe.
  if (begins_as_bundle(content)) return import_bundle(into, path, content);
  const std::string_view first_line = std::string_view(content).substr(0, content.find('\n'));
  if (is_zstd(content) || first_line.find("\"tilesmith_landscape\"") != std::string_view::npos) {
    return import_landscape(into, path, std::move(content));
  }
  return import_export(into, path, content);
}

}  // namespace tilesmith::db
