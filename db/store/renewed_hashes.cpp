#include "db/store/renewed_hashes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "db/exchange/record_json.hpp"
#include "db/store/store_access.hpp"
#include "kernels/base/words.hpp"

namespace tilesmith::db {
namespace {

constexpr std::size_t kHashDigits = 32;

bool is_hash(std::string_view word) {
  return word.size() == kHashDigits &&
         std::ranges::all_of(word, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// Rows that changed.
std::int64_t update(const Database& database, const char* sql, const std::map<std::string, std::string>& hashes) {
  Statement statement(database, sql);
  const int before = sqlite3_total_changes(database.handle());
  for (const auto& [old_hash, new_hash] : hashes) {
    statement.clear();
    statement.bind_all(new_hash, old_hash);
    statement.run();
  }
  return sqlite3_total_changes(database.handle()) - before;
}

}  // namespace

RenewedHashes parse_renewed_hashes(std::string_view text) {
  RenewedHashes hashes;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::vector<std::string_view> parts = words(line.substr(0, line.find('#')));
    if (parts.empty()) continue;
    if (parts.size() != 3 || (parts[0] != "plan" && parts[0] != "kernel") || !is_hash(parts[1]) || !is_hash(parts[2]))
      throw FormatError(fmt::format(
          "line {}: expected 'plan OLD NEW' or 'kernel OLD NEW', hashes of {} hex digits", number, kHashDigits));
    auto& known = parts[0] == "plan" ? hashes.plans : hashes.kernels;
    const auto [at, is_new] = known.emplace(parts[1], parts[2]);
    if (!is_new && at->second != parts[2])
      throw FormatError(fmt::format("line {}: {} has two new hashes, expected one", number, parts[1]));
  }
  return hashes;
}

RenewedRows renew(Store& store, const RenewedHashes& hashes) {
  const Database& database = StoreAccess::database(store);
  Transaction transaction(database);
  RenewedRows rows;
  rows.entries = update(database, "UPDATE records SET plan_hash = ? WHERE plan_hash = ?", hashes.plans);
  update(database, "UPDATE vendor_beside SET plan_hash = ? WHERE plan_hash = ?", hashes.plans);
  rows.kernels = update(database, "UPDATE OR IGNORE kernels SET kernel_hash = ? WHERE kernel_hash = ?", hashes.kernels);
  transaction.commit();
  return rows;
}

}  // namespace tilesmith::db
