#include "runtime/interface/explanation.hpp"

#include "db/store/trust.hpp"

namespace tilesmith::runtime {

Explanation explain(const Choice& choice, const db::VendorIndex& vendor) {
  Explanation why;
  why.level = name(choice.level);
  why.reason = reason_of(choice);
  why.config = choice.config.text();
  if (choice.record) why.trust = name(choice.trust);
  why.predicted_us = choice.predicted_us;
  if (choice.record) {
    why.measured = text(choice.record->problem);
    if (choice.record->outcome.timing) why.median_us = choice.record->outcome.timing->median_us;
  }
  if (choice.level != Level::exact || !choice.record) return why;
  if (const db::VendorTimes* beside = vendor.beside(*choice.record)) {
    why.vendor_us = beside->first.us;
    why.vendor_best_us = beside->best.us;
  }
  return why;
}

}  // namespace tilesmith::runtime
