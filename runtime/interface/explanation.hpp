// A choice, as an application is told of it.
#pragma once

#include "db/store/vendor_times.hpp"
#include "runtime/choose/choose.hpp"
#include "runtime/interface/gemm.hpp"

namespace tilesmith::runtime {

/// `vendor`: what the vendor took on this device. It is told on the exact level, if it was taken beside the very entry that was chosen.
Explanation explain(const Choice& choice, const db::VendorIndex& vendor);

}  // namespace tilesmith::runtime
