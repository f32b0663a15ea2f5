// Records of plans and kernels whose machine code did not change when their source did: they get the hashes of today's
// source.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "db/store/store.hpp"

namespace tilesmith::db {

/// New hash by old one (kernels/families/plan_hash.hpp).
struct RenewedHashes {
  std::map<std::string, std::string> plans, kernels;
};

/// Reads what scripts/same_code.sh writes: lines `plan OLD NEW` and `kernel OLD NEW`; comments begin with #. Throws
/// FormatError: which line, and what was expected.
RenewedHashes parse_renewed_hashes(std::string_view text);

struct RenewedRows {
  std::int64_t entries = 0, kernels = 0;
};

/// Gives entries, vendor's times beside them and stored kernels their new hashes, in one transaction. A kernel that is
/// there under its new hash already stays as it is.
RenewedRows renew(Store& store, const RenewedHashes& hashes);

}  // namespace tilesmith::db
