#include "runtime/compile/kernel_symbols.hpp"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace tilesmith::runtime {
namespace {

// A cubin has one of each for every kernel, and the kernel's symbol ends its name.
constexpr std::string_view kTextSection = ".text.", kInfoSection = ".nv.info.";
constexpr std::string_view kPtxEntry = ".entry ";
constexpr std::size_t kMostParameters = 4096;

template <typename T>
std::optional<T> read_at(std::span<const std::byte> image, std::size_t at) {
  if (at > image.size() || image.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, image.data() + at, sizeof value);
  return value;
}

/// Up to the zero byte; empty if there is none.
std::string_view text_at(std::span<const std::byte> image, std::size_t at) {
  if (at >= image.size()) return {};
  const std::string_view rest(reinterpret_cast<const char*>(image.data()) + at, image.size() - at);
  return rest.substr(0, rest.find('\0'));
}

/// Calls on_section(name, content) for each section of a cubin whose name begins so; `name` is what follows.
template <typename OnSection>
void each_section(std::span<const std::byte> image, std::string_view prefix, OnSection&& on_section) {
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (!header) return;
  const auto section = [&](std::size_t index) {
    return read_at<Elf64_Shdr>(image, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto names = section(header->e_shstrndx);
  for (std::size_t i = 0; names && i < header->e_shnum; ++i) {
    const auto one = section(i);
    if (!one) break;
    const std::string_view name = text_at(image, names->sh_offset + one->sh_name);
    const bool is_inside = one->sh_offset <= image.size() && one->sh_size <= image.size() - one->sh_offset;
    if (name.starts_with(prefix) && is_inside)
      on_section(name.substr(prefix.size()), image.subspan(one->sh_offset, one->sh_size));
  }
}

/// As the source has it, without result and parameters: "sums::add<64, 2>". A symbol of C is its own name.
std::string source_name(const std::string& symbol) {
  int status = -1;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return symbol;
  std::string name = demangled.get();
  // The parameters are in the last parentheses outside of <>.
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == '(' && depth == 0) name.resize(i);
  }
  constexpr std::string_view kResult = "void ";  // of templates
  return name.starts_with(kResult) ? name.substr(kResult.size()) : name;
}

/// Template arguments, each without blanks, and numbers without what tells their type: "64u" and "(unsigned)64" are
/// "64", "true" is "1".
std::vector<std::string> arguments_of(std::string_view name) {
  std::vector<std::string> arguments;
  const std::size_t open = name.find('<');
  if (open == std::string_view::npos) return arguments;
  int depth = 0;
  std::string argument;
  const auto add = [&] {
    if (argument == "true" || argument == "false") argument = argument == "true" ? "1" : "0";
    if (argument.starts_with('(')) argument.erase(0, argument.find(')') + 1);
    const std::size_t digit = argument.starts_with('-') ? 1 : 0;
    if (digit < argument.size() && std::isdigit(static_cast<unsigned char>(argument[digit])))
      argument.resize(std::min(argument.find_first_of("uUlL"), argument.size()));
    arguments.push_back(std::exchange(argument, {}));
  };
  for (const char c : name.substr(open + 1, name.size() - open - 2)) {
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (c == ',' && depth == 0) add();
    else if (c != ' ') argument += c;
  }
  add();
  return arguments;
}

}  // namespace

std::vector<std::string> kernel_symbols(std::span<const std::byte> image) {
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  std::vector<std::string> symbols;
  if (text.starts_with(ELFMAG)) {
    each_section(image, kTextSection, [&](std::string_view name, auto) { symbols.emplace_back(name); });
    return symbols;
  }
  for (std::size_t at = text.find(kPtxEntry); at != std::string_view::npos; at = text.find(kPtxEntry, at)) {
    at += kPtxEntry.size();
    symbols.emplace_back(text.substr(at, text.find_first_of("( \t\r\n", at) - at));
  }
  return symbols;
}

std::vector<std::size_t> parameter_bytes(std::span<const std::byte> image, const std::string& symbol) {
  // Attributes: a format, a kind, then two bytes of value, or of a size and as many bytes of value behind them.
  constexpr unsigned char kSized = 4, kParameter = 0x17;
  std::vector<std::size_t> sizes;
  each_section(image, kInfoSection, [&](std::string_view name, std::span<const std::byte> info) {
    if (name != symbol) return;
    for (std::size_t at = 0; at + 4 <= info.size();) {
      const bool is_sized = info[at] == std::byte{kSized}, is_parameter = info[at + 1] == std::byte{kParameter};
      const std::size_t value = at + 4;
      at = value + (is_sized ? *read_at<std::uint16_t>(info, at + 2) : 0);
      const auto place = read_at<std::uint16_t>(info, value + 4);
      const auto packed = read_at<std::uint32_t>(info, value + 8);  // the size in the upper bits
      if (!is_sized || !is_parameter || !place || !packed || *place >= kMostParameters) continue;
      sizes.resize(std::max<std::size_t>(sizes.size(), *place + 1u));
      sizes[*place] = *packed >> 18;
    }
  });
  return sizes;
}

std::optional<std::string> symbol_of(const std::vector<std::string>& symbols, const std::string& entry) {
  const std::string_view wanted = std::string_view(entry).substr(0, entry.find('<'));
  std::vector<std::string> named;
  for (const std::string& symbol : symbols) {
    const std::string name = source_name(symbol);
    if (name.substr(0, name.find('<')) == wanted) named.push_back(symbol);
  }
  if (named.size() > 1)
    std::erase_if(named, [&](const std::string& one) { return arguments_of(source_name(one)) != arguments_of(entry); });
  return named.size() == 1 ? std::optional(named.front()) : std::nullopt;
}

}  // namespace tilesmith::runtime
