#include "runtime/plan_hash.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "db/compress.hpp"
#include "kernels/family.hpp"
#include "runtime/machine_code.hpp"

namespace tilesmith::runtime {
namespace {

// Every member by its place, so that one more does not compile before it is told, too.

std::string text(const Extent3& extent) {
  const auto& [x, y, z] = extent;
  return fmt::format("{}x{}x{}", x, y, z);
}

std::string text(const OperandSource& source) {
  const auto& [from_workspace, offset_bytes, row_stride] = source;
  return fmt::format("{}+{}/{}", from_workspace ? "workspace" : "caller", offset_bytes, row_stride);
}

std::string text(const TensorBox& box) {
  const auto& [matrix_rows, matrix_cols, rows, cols] = box;
  return fmt::format("{}x{} of {}x{}", rows, cols, matrix_rows, matrix_cols);
}

std::string text(const TensorBoxes& boxes) {
  const auto& [a, b, c] = boxes;
  return fmt::format("{},{},{}", text(a), text(b), c ? text(*c) : "");
}

std::string text(const Launch& launch) {
  const auto& [entry, grid, block, cluster, smem, resident, overlaps, neighbours, a, b, c, boxes] = launch;
  return fmt::format("{} grid={} block={} cluster={} smem={} resident={} overlaps={}{} a={} b={} c={} boxes={}", entry,
                     text(grid), text(block), text(cluster), smem, resident, overlaps,
                     neighbours > 1 ? fmt::format(" neighbours={}", neighbours) : "",  // as texts were before there were any
                     text(a), text(b), text(c), boxes ? text(*boxes) : "");
}

}  // namespace

std::string plan_hash(const Config& config, const Problem& problem, std::span<const std::byte> cubin) {
  const Family* family = find_family(config.family());
  if (family == nullptr || cubin.empty() || problem.m < 1 || problem.n < 1) return {};
  if (refused_because(*family, config, problem)) return {};
  const auto [launches, workspace_bytes] = family->launches(config, as_planned(problem));
  if (launches.empty()) return {};
  std::string ran = fmt::format("workspace={}\n", workspace_bytes);
  std::set<std::string> entries;
  for (const Launch& launch : launches) {
    ran += fmt::format("{}\n", text(launch));
    entries.insert(launch.entry);
  }
  for (const std::string& entry : entries) {
    const std::optional<std::string> code = machine_code(cubin, entry);
    if (!code) return {};
    ran += *code;
  }
  return db::content_hash(db::as_bytes(ran));
}

}  // namespace tilesmith::runtime
