// What kernels of grouped problems find behind ExtendedArgs. Host and device read this same file, so it names only built-in types.
#pragma once

namespace tilesmith {

struct GroupedArgs {
  const int* ends;  // [batch]: where the rows of each group end
  int* fault;       // memory that the host reads, too: where an end is wrong, 1 + the group's number is put there; may be null
};

}  // namespace tilesmith
