// The one exception of reading a family or a kernel of one's own.
#pragma once

#include <stdexcept>

namespace tilesmith {

/// One line: the file, the field or line, what was wrong, what was expected.
class DefinitionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tilesmith
