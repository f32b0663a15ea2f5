#include "runtime/interface/explanation.hpp"

#include "db/store/trust.hpp"

namespace tilesmith::runtime {

Explanation explain(const Choice& choice, const db::VendorIndex& vendor) {
  Explanation why;
  why.rung = name(choice.level);
  why.reason = reason_of(choice);
  why.config = choice.config.text();
  if (choice.evidence) why.trust = name(choice.trust);
  why.predicted_us = choice.predicted_us;
  if (choice.evidence) {
    why.measured = text(choice.evidence->problem);
    if (choice.evidence->outcome.timing) why.median_us = choice.evidence->outcome.timing->median_us;
  }
  if (choice.level != Level::exact || !choice.evidence) return why;
  if (const db::VendorTimes* beside = vendor.beside(*choice.evidence)) {
    why.vendor_us = beside->first.us;
    why.vendor_best_us = beside->best.us;
  }
  return why;
}

}  // namespace tilesmith::runtime
