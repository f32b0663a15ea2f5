// Times of the database as numbers, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilesmith::tuner::report {

/// Seconds since 1970 of "2026-01-31T23:59:59[.123]Z"; nullopt if it has another form.
std::optional<double> utc_seconds(std::string_view text);
/// "2026-01-31T23:59:59.123Z".
std::string utc_text(double seconds);
/// "2026-01-31 23:59", for people.
std::string utc_minutes(double seconds);

/// A moment as a user gives it: "2026-01-31", "2026-01-31T22:00", "2026-01-31 22:00:30", with or without "Z".
std::optional<double> parse_moment(std::string_view text);

}  // namespace tilesmith::tuner::report
