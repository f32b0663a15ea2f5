#include "runtime/plan_hash.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "db/compress.hpp"
#include "kernels/family.hpp"
#include "runtime/machine_code.hpp"

namespace tilesmith::runtime {
namespace {

std::string text(const Extent3& extent) { return fmt::format("{}x{}x{}", extent.x, extent.y, extent.z); }

std::string text(const OperandSource& source) {
  return fmt::format("{}+{}/{}", source.from_workspace ? "workspace" : "caller", source.offset_bytes,
                     source.row_stride);
}

std::string text(const TensorBox& box) {
  return fmt::format("{}x{} of {}x{}", box.rows, box.cols, box.matrix_rows, box.matrix_cols);
}

/// All that a launch is.
std::string text(const Launch& launch) {
  std::string out = fmt::format("{} grid={} block={} cluster={} smem={} resident={} overlaps={} a={} b={} c={}",
                                launch.entry, text(launch.grid), text(launch.block), text(launch.cluster),
                                launch.dynamic_smem_bytes, launch.resident_blocks_per_sm, launch.overlaps_previous,
                                text(launch.a), text(launch.b), text(launch.c));
  if (launch.boxes) {
    out += fmt::format(" boxes={},{}", text(launch.boxes->a), text(launch.boxes->b));
    if (launch.boxes->c) out += fmt::format(",{}", text(*launch.boxes->c));
  }
  return out;
}

}  // namespace

std::string plan_hash(const Config& config, const Problem& problem, std::span<const std::byte> cubin) {
  const Family* family = find_family(config.family());
  if (family == nullptr || cubin.empty() || problem.m < 1 || problem.n < 1) return {};
  if (family->refusal(config, problem)) return {};
  const LaunchSequence sequence = family->launches(config, problem);
  std::string ran = fmt::format("workspace={}\n", sequence.workspace_bytes);
  std::set<std::string> entries;
  for (const Launch& launch : sequence.launches) {
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
