// What kernels of signatures with weights or zeros in known places find behind ExtendedArgs: by what such an operand is read. Host and
// device read this same file, so it names only built-in types.
#pragma once

namespace tilesmith {

struct CodedArgs {
  const void* metadata;  // where an operand's elements lie among its zeros; null if there are none
  const void* scales;    // [groups, n] packed: of weights
  const void* zeros;     // the same; null if there are none
};

}  // namespace tilesmith
