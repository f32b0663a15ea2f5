#include "runtime/choose/ranked_config.hpp"

#include <fmt/format.h>

namespace tilesmith::runtime {

double RankedConfig::rank_us() const {
  constexpr double kCompiledFirst = 1.1;
  return prediction.rank_us() * (stored ? 1 : kCompiledFirst);
}

bool comes_first(const RankedConfig& a, const RankedConfig& b) {
  if ((a.sister == nullptr) != (b.sister == nullptr)) return a.sister != nullptr;
  if (a.prediction.by_family_estimate != b.prediction.by_family_estimate) return a.prediction.by_family_estimate;
  const double of_a = a.rank_us(), of_b = b.rank_us();
  return of_a != of_b ? of_a < of_b : a.config->text() < b.config->text();
}

std::string why(const RankedConfig& one) {
  const Prediction& p = one.prediction;
  std::string text = fmt::format("not measured itself; predicted {:.2f} us: estimated {:.2f} us, times {:.2f} by what was measured",
                                 p.us, p.estimated_us, p.us / p.estimated_us);
  if (one.sister != nullptr) text += fmt::format("; the fastest for its sister {}", tilesmith::text(*one.sister));
  if (p.nearest == nullptr) return text + "; the config itself was measured nowhere";
  return text + fmt::format("; the config's nearest measurement is {:.2f} us for {} on {}, {:.2f} doublings away",
                            p.nearest->outcome.timing->median_us, tilesmith::text(p.nearest->problem), p.nearest->device.name,
                            p.nearest_doublings);
}

}  // namespace tilesmith::runtime
