// A made-up file of `tilesmith bench --out`.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>

#include "tests/problem_of_text.hpp"
#include "tuner/bench_csv.hpp"

namespace tilesmith::tests {

/// One row on the device of this text. `us` and `peer_us` as they are written.
inline std::string bench_row(const std::string& problem, const std::string& device, const std::string& config,
    const std::string& us, const std::string& peer_us) {
  const Problem p = problem_of_text(problem);
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},tuned (exact),simt,\"{}\",ok,{},0.01,{},{},8,,,,", text(p),
      p.type.name, name(p.trans), p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.align_bytes, name(p.beta), device, config, us,
      peer_us, peer_us);
}

inline std::string bench_file(std::initializer_list<std::string> rows) {
  std::string file = std::string(tuner::kBenchCsvHeader) + "\n";
  for (const std::string& row : rows) file += row + "\n";
  return file;
}

}  // namespace tilesmith::tests
