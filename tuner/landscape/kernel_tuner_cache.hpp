// Kernel Tuner's cache files: landscapes recorded by another tuner, for comparing search strategies.
//
//   {"device_name":"..","kernel_name":"..","tune_params_keys":["MWG",..],"tune_params":{"MWG":[16,32],..},
//    "cache":{"16,..":{"MWG":16,..,"time":60.88,..},..}}
//
// An entry's key is its values, comma-joined in the order of tune_params_keys; `time` is in ms. A config that failed has
// the name of its error there, or a very large number, null, NaN or Infinity. A file whose run has not ended lacks the
// last two braces, may have a comma in their place, and may end within an entry, which is then left out.
#pragma once

#include <filesystem>
#include <string>

#include "tuner/search/simulation.hpp"

namespace tilesmith::tuner {

/// One table, of one family named after the kernel. Parameters whose values are all integers keep them; of others a value
/// is its position in the list. Plain or gzip-compressed, whatever the file's name. Throws db::StoreError: one line that
/// names the file, the place and what was expected.
OutcomeTable load_kernel_tuner_cache(const std::filesystem::path& path);

}  // namespace tilesmith::tuner
