// The one exception of reading a family of one's own.
#pragma once

#include <stdexcept>

namespace tilesmith {

/// One line: the file, the field or line, what was wrong, what was expected.
class FamilyError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tilesmith
