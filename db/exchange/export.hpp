// Writes the best configs of a store for people and other programs.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "db/store/store.hpp"

namespace tilesmith::db {

enum class ExportFormat { json, markdown, header };
std::optional<ExportFormat> parse_export_format(std::string_view text);

/// What ranks first for a problem on a device, and how far it counts today.
struct JudgedBest {
  Record record;
  std::int64_t candidates = 0;  ///< how many candidates were tried for it
  std::int64_t ok = 0;          ///< how many of them were right
  std::string trust;            ///< the name of its trust, or "illegal" where a rule of today refuses its config
  std::optional<VendorTimes> vendor = std::nullopt;  ///< what the vendor took beside it
};

/// These bests, in their order.
///   json      {"tilesmith_export":1,"entries":[..]}: everything an entry rests on; import_file() reads it back
///   markdown  a table; devices by their whole texts, as in the header
///   header    a C++17 header, standard library only: a constexpr table, find() by problem and device, parameter() by name
std::string export_best(std::span<const JudgedBest> bests, ExportFormat format);
std::string export_header(std::span<const JudgedBest> bests);

/// Writes a file whole: temporary file in the same folder, fsync, rename. In place, where that cannot be: what is no
/// plain file, a descriptor of this process (/dev/stdout), a file that is mounted by itself or stands in a read-only
/// folder. Throws StoreError naming the path.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace tilesmith::db
