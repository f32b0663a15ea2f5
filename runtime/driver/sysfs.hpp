// Small text files that the kernel writes (/sys, /proc): every value is checked where it enters. Nothing here throws.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilesmith::runtime {

/// Without spaces, newlines and NUL at its ends; empty if the file is not there or cannot be read (a sensor that is
/// powered down answers EAGAIN). At most 4 KiB, one page, are read.
std::string text_of(const std::filesystem::path& path);

/// The same of a text: without what is blank at its ends.
std::string trimmed(std::string_view text);

/// In order of their names, numbers in them by value; empty if there is no such folder.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

/// Reads numbers, and remembers what was there but was none.
class NumberReader {
 public:
  /// The whole text is one decimal number in [low, high]; else nullopt, and a complaint unless there is no text at all.
  std::optional<long long> read(const std::filesystem::path& path, long long low, long long high);
  /// "PATH: 'TEXT', expected a whole number from LOW to HIGH".
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  std::vector<std::string> complaints_;
};

}  // namespace tilesmith::runtime
