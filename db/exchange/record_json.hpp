// Records as JSON, by name: the one form that exports, recordings and bundles share.
#pragma once

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "db/store/fields.hpp"

namespace tilesmith::db {

using Json = nlohmann::ordered_json;

/// What is wrong with a value and what was expected; whoever knows the file and the line adds them.
class FormatError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How deep JSON of a file may nest. Whoever copies or writes a parsed value calls itself once a level, so that a file
/// of a few hundred kilobytes could take the whole stack.
inline constexpr int kDeepestJson = 64;
/// Whether brackets and braces stand deeper within each other than that in a text that should be JSON.
bool nests_too_deep(std::string_view text);
/// Parses one JSON value, which does not nest too deep. Throws FormatError in one line.
Json parse_json(std::string_view text);
/// One line, no spaces. Bytes that are not UTF-8 (a compiler's message may hold some) are replaced.
std::string to_line(const Json& json);

/// A member that must be there and be an object, an array, a text, a finite number or an integer in the given range.
const Json& object_at(const Json& parent, const char* key);
const Json& array_at(const Json& parent, const char* key);
std::string text_at(const Json& parent, const char* key);
std::string text_at(const Json& parent, const char* key, std::string_view otherwise);
double number_at(const Json& parent, const char* key);
std::int64_t integer_at(const Json& parent, const char* key, std::int64_t smallest, std::int64_t largest);

/// Calls `use` with each entry of the array. A FormatError that `use` throws gets the entry's number: "WHAT 3: ..".
void for_each_at(const Json& parent, const char* key, const char* what, const std::function<void(const Json&)>& use);

Task task_at(const Json& parent, const char* key);
Problem problem_at(const Json& parent, const char* key);
Config config_at(const Json& parent, const char* key);

/// Writes the fields of each_field().
void put_fields(Json& json, const auto& of) {
  each_field(of, [&](const char* key, const auto& field) { json[key] = field; });
}

enum class Missing { refused, left };  ///< a member that is missing leaves its field as it was
/// Reads them. Whole numbers are 0 or more.
template <typename Struct>
Struct fields_from(const Json& json, Struct of = {}, Missing missing = Missing::refused) {
  each_field(of, [&]<typename Field>(const char* key, Field& field) {
    if (missing == Missing::left && !json.contains(key)) return;
    if constexpr (std::is_floating_point_v<Field>) field = number_at(json, key);
    else if constexpr (std::is_integral_v<Field>)
      field = Field(integer_at(json, key, 0, std::numeric_limits<Field>::max()));
    else field = text_at(json, key);
  });
  return of;
}

Json to_json(const DeviceIdentity& device);
DeviceIdentity device_from_json(const Json& json);

/// Writes problem, config, status, message, the timing, run, origin and created_at.
void put_outcome(Json& json, const Record& record);
/// Reads what put_outcome() writes. Device and environment are the caller's to fill in, then record_error() to ask.
Record outcome_from_json(const Json& json);

/// The whole entry, device and environment included.
Json to_json(const Record& record);
/// Throws FormatError also if the entry contradicts itself.
Record record_from_json(const Json& json);

/// Throws FormatError if record_error() has something to say.
void require_consistent(const Record& record);

/// What the vendor took.
Json to_json(const VendorTimes& times);
/// Throws FormatError also if it contradicts itself.
VendorTimes vendor_times_from_json(const Json& json);
/// The member "vendor_times" of an export or a bundle's index, which have none where no time is known.
Json vendor_times_to_json(const std::vector<VendorTimes>& all);
std::vector<VendorTimes> vendor_times_of(const Json& file);

}  // namespace tilesmith::db
