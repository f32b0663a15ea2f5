// The CSV file of `tilesmith bench --out`.
#pragma once

#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "tuner/loop/bench.hpp"

namespace tilesmith::tuner {

/// Rows are appended as they come. A problem that the file has a time of on this device is done; what was never timed
/// is run again.
class BenchOutput {
 public:
  /// `path` empty: writes nothing. Throws UsageError (one line) on a file of another kind. A last line that was cut
  /// short, as by a power cut, goes.
  BenchOutput(const std::string& path, const db::DeviceIdentity& device);

  bool has(const Problem& problem) const;
  void add(const BenchReport& report);

 private:
  std::string path_, device_;
  std::set<std::string> done_;  // problems
  void write(const std::string& text);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace tilesmith::tuner
