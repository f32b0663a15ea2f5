#include "db/exchange/export.hpp"

#include <fmt/format.h>

#include "kernels/base/words.hpp"

namespace tilesmith::db {
namespace {

constexpr std::string_view kBegin =
    R"(// The fastest measured GEMM configs, written by `tilesmith export --format header`.
//
//   if (const auto* entry = tilesmith_best::find("f16f32", "NN", 4096, 4096, 4096)) {
//     int stages = tilesmith_best::parameter(*entry, "stages", 1);
//   }
#ifndef TILESMITH_BEST_HPP
#define TILESMITH_BEST_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilesmith_best {

struct Entry {
  std::string_view problem;             // canonical: all of the next ten, and `options`
  std::string_view type, trans;
  std::int64_t m, n, k, lda, ldb, ldc;  // elements
  int align_bytes;
  std::string_view beta;                // "zero" or "any"
  std::string_view device;              // its whole text, which tells apart what share a name
  std::string_view device_name, power_mode;
  int sm_count;
  std::string_view family, config;
  double median_us, tflops, spread;
  int samples;
  std::string_view driver, nvrtc, plan_hash, policy, origin, created_at;
  std::string_view trust;               // how far it counted when this was written: "valid", "reverify", ...
  std::string_view options;             // "batch=64 epilogue=bias_n batch_mode=strided": what else `problem` says; none of a plain one
};

)";

constexpr std::string_view kEnd = R"(
/// The entry of a problem with packed rows (or with these row strides, where given) and a beta known to be 0, or
/// nullptr. A device is named by its whole text, or by its name where entries of one device alone match; so it may be
/// left out where all are of one. `align_bytes`: of the operands; 0: the largest that has an entry. `options`: as an
/// entry has them; none: a plain problem's.
constexpr const Entry* find(std::string_view type, std::string_view trans, std::int64_t m, std::int64_t n, std::int64_t k,
                            std::string_view device = {}, std::int64_t lda = 0, std::int64_t ldb = 0,
                            std::int64_t ldc = 0, std::string_view beta = "zero", int align_bytes = 0,
                            std::string_view options = {}) {
  const Entry* found = nullptr;
  bool several = false, whole = false;
  for (const Entry& entry : kEntries) {
    const bool trans_a = !trans.empty() && trans[0] == 'T';
    const bool trans_b = trans.size() > 1 && trans[1] == 'T';
    if (entry.options == options && entry.type == type && entry.trans == trans && entry.m == m && entry.n == n && entry.k == k &&
        entry.lda == (lda != 0 ? lda : trans_a ? m : k) && entry.ldb == (ldb != 0 ? ldb : trans_b ? k : n) &&
        entry.ldc == (ldc != 0 ? ldc : n) && entry.beta == beta && (align_bytes == 0 || entry.align_bytes == align_bytes)) {
      const bool is_whole = entry.device == device;
      if (!is_whole && (whole || !(device.empty() || entry.device_name == device))) continue;
      if (is_whole && !whole) found = nullptr;
      whole = whole || is_whole;
      if (found != nullptr && found->device != entry.device) several = true;
      if (found == nullptr || entry.align_bytes > found->align_bytes) found = &entry;
    }
  }
  return several && !whole ? nullptr : found;
}

/// The value of a config's parameter by name, or `otherwise` if it has none of that name.
constexpr int parameter(const Entry& entry, std::string_view name, int otherwise) {
  const std::string_view text = entry.config;
  for (std::size_t at = 0; at + name.size() + 1 < text.size(); ++at) {
    const bool starts = at > 0 && (text[at - 1] == '{' || text[at - 1] == ',');
    if (!starts || text.substr(at, name.size()) != name || text[at + name.size()] != '=') continue;
    int value = 0;
    std::size_t digit = at + name.size() + 1;
    const bool negative = text[digit] == '-';
    if (negative) ++digit;
    for (; digit < text.size() && text[digit] >= '0' && text[digit] <= '9'; ++digit) {
      value = value * 10 + (text[digit] - '0');
    }
    return negative ? -value : value;
  }
  return otherwise;
}

}  // namespace tilesmith_best

#endif  // TILESMITH_BEST_HPP
)";

/// A string literal. Everything but plain printable ASCII is written in octal, which three digits end.
std::string literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += {'\\', c};
    else if (c < ' ' || c > '~' || c == '?') result += fmt::format("\\{:03o}", unsigned(static_cast<unsigned char>(c)));
    else result += c;
  }
  return result + "\"";
}

/// A literal of type double: "28" would be an int, which braces narrow.
std::string real(double value) {
  std::string result = fmt::format("{:.9g}", value);
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

/// What a problem's text says that no column of its own does.
std::string options_of(const Problem& problem) {
  std::string result;
  const std::string extras = extras_text(problem);
  for (const std::string_view word : words(extras)) {
    const std::string_view key = word.substr(0, word.find('='));
    if (key == "lda" || key == "ldb" || key == "ldc" || key == "align" || key == "beta") continue;
    result.append(result.empty() ? "" : " ").append(word);
  }
  return result;
}

}  // namespace

std::string export_header(std::span<const JudgedBest> bests) {
  std::string result(kBegin);
  result += fmt::format("inline constexpr std::array<Entry, {}> kEntries{{{{\n", bests.size());
  for (const JudgedBest& best : bests) {
    const Record& entry = best.record;
    const Problem& problem = entry.task.problem();
    const Timing& timing = *entry.outcome.timing;
    result += fmt::format("    {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},\n", literal(text(problem)),
        literal(problem.type.name), literal(name(problem.trans)), problem.m, problem.n, problem.k, problem.lda,
        problem.ldb, problem.ldc, problem.align_bytes, literal(name(problem.beta)));
    result += fmt::format("     {}, {}, {}, {}, {}, {},\n", literal(text(entry.device)), literal(entry.device.name),
        literal(entry.device.power_mode), entry.device.sm_count, literal(entry.config.family()),
        literal(entry.config.text()));
    result += fmt::format("     {}, {}, {}, {},\n", real(timing.median_us),
        real(problem.flop() / timing.median_us / 1e6), real(timing.spread), timing.samples);
    result += fmt::format("     {}, {}, {}, {}, {}, {}, {}, {}}},\n", literal(entry.environment.driver_version),
        literal(entry.environment.nvrtc_version), literal(entry.plan_hash), literal(entry.environment.measuring_policy),
        literal(entry.origin), literal(entry.created_at), literal(best.trust), literal(options_of(problem)));
  }
  result += "}};\n";
  return result + std::string(kEnd);
}

}  // namespace tilesmith::db
