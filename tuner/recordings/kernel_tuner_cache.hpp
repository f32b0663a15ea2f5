// Kernel Tuner's files: recordings made by another tuner, for comparing search strategies. A cache file:
//
//   {"device_name":"..","kernel_name":"..","tune_params_keys":["MWG",..],"tune_params":{"MWG":[16,32],..},"objective":"time",
//    "cache":{"16,..":{"MWG":16,..,"time":60.88,..},"32,..":{"MWG":32,..,"__error__":"RuntimeFailedConfig"},..}}
//
// An entry's key is its values, comma-joined in the order of tune_params_keys; `time` is in ms. A config that failed
// has "__error__", or in the place of its figure the name of its error, or a very large number, null, NaN or Infinity.
// A file whose run has not ended lacks the last two braces, may have a comma in their place, and may end within an
// entry, which is then left out. A file of T4 results (kernel_tuner_results.hpp) is told by its member "results".
#pragma once

#include <filesystem>
#include <string>

#include "tuner/search/simulation.hpp"

namespace tilesmith::tuner {

/// One table, of one family named after the kernel. Parameters whose values are all integers keep them; of others a
/// value is its position in the list. `content` is not compressed; `path` names it. Throws db::StoreError: one line
/// that names the file, the place and what was expected.
OutcomeTable parse_kernel_tuner_file(std::string content, const std::filesystem::path& path);

}  // namespace tilesmith::tuner
