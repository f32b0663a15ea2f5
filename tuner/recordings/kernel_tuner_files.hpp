// Kernel Tuner's files: recordings made by another tuner, for comparing search strategies. A cache file:
//
//   {"device_name":"..","kernel_name":"..","tune_params_keys":["MWG",..],"tune_params":{"MWG":[16,32],..},"objective":"time",
//    "cache":{"16,..":{"MWG":16,..,"time":60.88,..},"32,..":{"MWG":32,..,"__error__":"RuntimeFailedConfig"},..}}
//
// An entry's key is its values, comma-joined in the order of tune_params_keys; `time` is in ms. A config that failed
// has "__error__", or in the place of its figure the name of its error, or a very large number, null, NaN or Infinity.
// A file whose run has not ended lacks the last two braces, may have a comma in their place, and may end within an
// entry, which is then left out.
//
// A file of T4 results, the exchange format of auto-tuners' communities, told by its member "results":
//
//   {"schema_version":"1.0.0","metadata":{"timeunit":"miliseconds"},"results":[
//     {"configuration":{"MWG":16,..},"times":{..},"invalidity":"correct","correctness":1,
//      "measurements":[{"name":"time","value":60.88,"unit":"ms"},..],"objectives":["time"]},..]}
//
// A config failed whose invalidity is another word than "correct". A time without a unit is in metadata's timeunit,
// else in ms.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tuner/search/simulation.hpp"

namespace tilesmith::tuner {

/// One table, of one family named after the kernel. Parameters whose values are all integers keep them; of others a
/// value is its position in the list. `content` is not compressed; `path` names it. Throws db::StoreError: one line
/// that names the file, the place and what was expected.
OutcomeTable parse_kernel_tuner_file(std::string content, const std::filesystem::path& path);

// What the readers of both share: JSON, names of errors, what was tuned for.
namespace kernel_tuner {

using Json = nlohmann::json;

/// What is wrong and what was expected; the file's name is added by whoever knows it.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A value for an error message.
std::string shown(const Json& value);
/// A member of an object. Throws Refused if it is missing or not of that type.
const Json& member(const Json& json, const char* key, const char* expected, bool (Json::*is)() const noexcept);

/// A parameter, and its values as the file has them.
struct Listed {
  std::string name;
  std::vector<Json> values;
};
/// Values that are all integers stay; of others the position in the list.
Parameter parameter_of(const Listed& listed);

/// What was tuned for: "time", or a figure of another name.
struct Objective {
  std::string name = "time";
  bool higher_is_better = false;
};
/// Of "objective", a name or a list of names; of a list the first. `source` has the direction
/// (objective_higher_is_better) of a name that is not known. Throws Refused if nothing says the direction.
Objective objective_of(const Json& given, const Json& source);

/// What a file holds, before figures are put in the place of times.
struct Recorded {
  FamilyOutcomes outcomes;
  std::vector<std::optional<double>> figures;  ///< of each row; nullopt: the config failed
  Objective objective;
};
inline constexpr const char* kUnnamedKernel = "kernel";

/// The figure that an entry has for a config; nullopt: the config failed. Kernel Tuner puts the name of an error, null,
/// NaN, Infinity or a very large number where there is none. Throws Refused on anything else that is no number.
std::optional<double> figure_of(const Json& value, const Objective& objective);
/// Whether some value of an entry says that the config failed, whatever its name.
bool says_failed(const Json& entry);

/// Puts figures, one a row, in the place of times. A time in ms becomes one in µs. Of another objective a better figure
/// becomes a shorter time, so that fractions of the optimum stay what they are: v where less is better, 1/v where more
/// is. Where some figure is not above 0 there are no such fractions, and figures are spread evenly from 1 (the best) to
/// 2. Returns what the report says of the objective; nullopt for time.
std::optional<OtherObjective> put_figures(
    FamilyOutcomes& outcomes, const std::vector<std::optional<double>>& figures, const Objective& objective);

bool is_t4_results(const Json& json);

/// Parameters by name, each with the values that occur, sorted; the objective is that of the first result. Throws
/// Refused naming the result and what was expected.
Recorded read_t4_results(const Json& json);

}  // namespace kernel_tuner
}  // namespace tilesmith::tuner
