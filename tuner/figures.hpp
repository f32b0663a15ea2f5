// How figures are written: one way each, so that the tables of commands, the report and the log agree.
#pragma once

#include <cstddef>
#include <string>

#include "db/store/record.hpp"

namespace tilesmith::tuner {

std::string format_us(double microseconds);                  ///< "12.34"; "-" if not above 0
double tflops(const Problem& problem, double microseconds);  ///< 2·M·N·K; 0 if there is no time
std::string format_tflops(double rate);                      ///< "512.3"; "-" if not above 0
std::string format_percent(double fraction);                 ///< "43.1%"; "-" if not above 0
std::string format_seconds(double seconds);                  ///< "8 s", "3m12s", "2h05m"
std::string format_bytes(double bytes);                      ///< "1.5 MiB"
std::string format_count(long long count);                   ///< "12,345"
/// "1 problem", "12,345 problems".
std::string count_of(std::size_t count, const std::string& noun);
/// "TFLOP/s" for floating-point pairs, "TOPS" for integers.
const char* rate_unit(const TypePair& type);
/// "NVIDIA H200", "Orin (MAXN, 16 SMs)": short, for tables.
std::string short_name(const db::DeviceIdentity& device);

}  // namespace tilesmith::tuner
