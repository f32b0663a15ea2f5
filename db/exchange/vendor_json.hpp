// What the vendor took, as JSON: the form of exports and bundles.
#pragma once

#include <vector>

#include "db/exchange/record_json.hpp"
#include "db/store/vendor_times.hpp"

namespace tilesmith::db {

Json to_json(const VendorTimes& times);
/// Throws FormatError also if it contradicts itself.
VendorTimes vendor_times_from_json(const Json& json);

/// The member "vendor_times" of an export or a bundle's index, which have none where no time is known.
Json vendor_times_to_json(const std::vector<VendorTimes>& all);
std::vector<VendorTimes> vendor_times_of(const Json& file);

}  // namespace tilesmith::db
