// The one exception of db/: a database or file that cannot be read or written.
#pragma once

#include <stdexcept>

namespace tilesmith::db {

/// One line: the file (and line or entry), what was wrong, what was expected.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tilesmith::db
