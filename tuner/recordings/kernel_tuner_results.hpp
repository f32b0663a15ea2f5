// Kernel Tuner's T4 results, the exchange format of auto-tuners' communities:
//
//   {"schema_version":"1.0.0","metadata":{"timeunit":"miliseconds"},"results":[
//     {"configuration":{"MWG":16,..},"times":{..},"invalidity":"correct","correctness":1,
//      "measurements":[{"name":"time","value":60.88,"unit":"ms"},..],"objectives":["time"]},..]}
//
// A config failed whose invalidity is another word than "correct". A time without a unit is in metadata's timeunit,
// else in ms.
#pragma once

#include "tuner/recordings/kernel_tuner_json.hpp"

namespace tilesmith::tuner::kernel_tuner {

bool is_t4_results(const Json& json);

/// Parameters by name, each with the values that occur, sorted; the objective is that of the first result. Throws
/// Refused naming the result and what was expected.
Recorded read_t4_results(const Json& json);

}  // namespace tilesmith::tuner::kernel_tuner
