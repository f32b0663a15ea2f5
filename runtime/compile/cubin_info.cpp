#include "runtime/compile/cubin_info.hpp"

#include <charconv>
#include <optional>

namespace tilesmith::runtime {
namespace {

/// The number right before `unit`, as in "0 bytes stack frame, 836 bytes spill stores".
std::optional<int> number_before(std::string_view line, std::string_view unit) {
  const std::size_t end = line.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  std::size_t start = end;
  while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9') --start;
  int value = 0;
  const auto [rest, error] = std::from_chars(line.data() + start, line.data() + end, value);
  if (error != std::errc() || rest != line.data() + end) return std::nullopt;
  return value;
}

/// The text between the first pair of quotes after `before`.
std::optional<std::string_view> quoted_after(std::string_view line, std::string_view before) {
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t start = line.find('\'', at + before.size());
  if (start == std::string_view::npos) return std::nullopt;
  const std::size_t end = line.find('\'', start + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return line.substr(start + 1, end - start - 1);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t start = text.find_first_not_of(kBlank);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(kBlank) - start + 1);
}

template <typename Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (!visit(trimmed(text.substr(0, end)))) return;
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::vector<KernelResources> parse_resources(std::string_view log) {
  std::vector<KernelResources> kernels;
  for_each_line(log, [&](std::string_view line) {
    if (const auto entry = quoted_after(line, "Compiling entry function")) {
      kernels.emplace_back().entry = *entry;
    } else if (!kernels.empty()) {
      KernelResources& kernel = kernels.back();
      if (const auto bytes = number_before(line, " bytes stack frame")) kernel.stack_bytes += *bytes;
      if (const auto bytes = number_before(line, " bytes spill stores")) kernel.spill_store_bytes += *bytes;
      if (const auto bytes = number_before(line, " bytes spill loads")) kernel.spill_load_bytes += *bytes;
      if (const auto count = number_before(line, " registers")) kernel.registers = *count;
      if (const auto bytes = number_before(line, " bytes smem")) kernel.static_smem_bytes = *bytes;
    }
    return true;
  });
  return kernels;
}

std::string first_error_line(std::string_view log) {
  std::string_view first, error;
  for_each_line(log, [&](std::string_view line) {
    if (first.empty()) first = line;
    for (const std::string_view word : {"error", "fatal", "unresolved"}) {
      if (line.find(word) != std::string_view::npos) {
        error = line;
        return false;
      }
    }
    return true;
  });
  if (!error.empty()) return std::string(error);
  return first.empty() ? "the compiler failed without a message" : std::string(first);
}

}  // namespace tilesmith::runtime
