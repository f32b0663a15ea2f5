// The CSV file that `tilesmith bench --out` writes, and its reader.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/config.hpp"
#include "kernels/problem/problem.hpp"

namespace tilesmith::tuner {

/// Columns have the names that `query` gives them. A row's key is problem (canonical; the next ten columns repeat it
/// for people), device (its whole text), label and config. `row_us`, `peer_row_us` and `row_ratio` are of rows of like
/// launches (`bench --rows`), where these are short; else empty.
inline constexpr std::string_view kBenchCsvHeader =
    "problem,type,trans,m,n,k,lda,ldb,ldc,align_bytes,beta,device,label,family,config,status,median_us,spread,peer_us,"
    "peer_first_us,"
    "peer_algorithms,ratio,row_us,peer_row_us,row_ratio";

struct BenchRow {
  Problem problem;
  std::string device;  ///< its whole text
  std::string label;
  Config config;
  std::optional<double> us;       ///< empty where our kernel failed
  std::optional<double> peer_us;  ///< the peer's best; empty where it refuses the problem, or was not asked
};

/// One line: "FILE:LINE: what was wrong, what was expected".
class BenchCsvError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `origin` names the text in errors. A byte order mark before the header is passed over.
std::vector<BenchRow> parse_bench_csv(std::string_view text, const std::string& origin);
std::vector<BenchRow> load_bench_csv(const std::filesystem::path& path);

}  // namespace tilesmith::tuner
