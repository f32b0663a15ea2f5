// A statement of the user's own, and its result with SQLite's types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/exchange/export.hpp"
#include "db/store/store.hpp"

namespace tilesmith::db {

struct SqlValue {
  enum class Type { null, integer, real, text, blob };
  Type type = Type::null;
  std::string text;          ///< as SQLite writes it; "" for NULL, "<5 bytes>" for a blob
  std::int64_t integer = 0;  ///< where it is one
  double real = 0;           ///< where it is one
};

struct SqlResult {
  std::vector<std::string> columns;  ///< as SQLite names them: two may have one name
  std::vector<std::vector<SqlValue>> rows;
};

/// Runs one read-only statement (`tilesmith query --sql`). Throws StoreError on anything that would write.
/// `bests`: what the statement finds in the table `best`, which the connection alone has, in this order; null: there is
/// no such table.
SqlResult free_query(const Store& store, const std::string& sql, const std::vector<JudgedBest>* bests = nullptr);

}  // namespace tilesmith::db
