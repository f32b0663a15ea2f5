#include "runtime/machine_code.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace tilesmith::runtime {
namespace {

/// Of no kernel alone: constants and variables of the module.
bool is_shared_data(std::string_view section) {
  return section.starts_with(".nv.global") ||
         (section.starts_with(".nv.constant") && section.find('.', 4) == section.npos);
}

/// Of these, the variables, and the bank of constants that says where they lie: kernels come to them through that bank alone.
bool is_of_variables(std::string_view section) { return section.starts_with(".nv.global") || section == ".nv.constant4"; }

/// Whether instructions (16 bytes each, as they are from sm_70 on) may read the bank of the variables' addresses: of those with a
/// constant for an operand, which bits 9 to 11 tell, bits 54 to 58 are its bank. Barriers look so, too, and have no such operand: those
/// bits are of their number of threads. Every constant of a template is a variable of the module, so that one more would change all
/// kernels if those counted that none reads.
bool may_read_variables(std::string_view instructions) {
  constexpr int kBank = 4;
  constexpr unsigned kBarrier = 0x11d;  // bits 0 to 8
  for (; instructions.size() >= 16; instructions.remove_prefix(16)) {
    std::uint64_t low = 0;
    std::memcpy(&low, instructions.data(), sizeof low);
    const unsigned form = low >> 9 & 7;
    if ((form == 3 || form == 5) && (low & 0x1ff) != kBarrier && int(low >> 54 & 31) == kBank) return true;
  }
  return false;
}

class Elf {
 public:
  explicit Elf(std::span<const std::byte> bytes) : bytes_(bytes) {
    Elf64_Ehdr header;
    if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) ||
        header.e_shstrndx >= header.e_shnum)
      return;
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    for (std::size_t i = 0; i < sections.size(); ++i) {
      if (!read(header.e_shoff + i * sizeof(Elf64_Shdr), sections[i]) || !contents(sections[i])) return;
    }
    names_ = *contents(sections[header.e_shstrndx]);
    sections_ = std::move(sections);
  }

  /// None if it cannot be read.
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }

  std::string_view name(const Elf64_Shdr& section) const {
    if (section.sh_name >= names_.size()) return {};
    const std::string_view rest = names_.substr(section.sh_name);
    return rest.substr(0, rest.find('\0'));
  }

  /// Empty if it reaches over the file's end; of a section that holds none (shared memory) "".
  std::optional<std::string_view> contents(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS || section.sh_size == 0) return std::string_view();
    if (section.sh_offset > bytes_.size() || section.sh_size > bytes_.size() - section.sh_offset) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(bytes_.data()) + section.sh_offset, section.sh_size);
  }

 private:
  template <typename T>
  bool read(std::uint64_t offset, T& into) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) return false;
    std::memcpy(&into, bytes_.data() + offset, sizeof(T));
    return true;
  }

  std::span<const std::byte> bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::string_view names_;
};

// An attribute of .nv.info: four bytes (format, attribute, and a 16-bit value or the size of what follows).
constexpr unsigned char kSized = 4;

/// What the module's .nv.info says of one symbol, its number left out: registers, frame and stack of a kernel.
std::string said_of(std::string_view info, std::uint32_t symbol) {
  std::string said;
  while (info.size() >= 4) {
    std::uint16_t size = 0;
    std::memcpy(&size, info.data() + 2, sizeof size);
    const bool sized = static_cast<unsigned char>(info[0]) == kSized;
    if (sized && size > info.size() - 4) break;
    const std::string_view attribute = info.substr(0, 4 + (sized ? size : 0));
    std::uint32_t first = 0;
    if (sized && size >= sizeof first) std::memcpy(&first, attribute.data() + 4, sizeof first);
    if (sized && size > sizeof first && first == symbol)
      said.append(attribute.substr(0, 4)).append(attribute.substr(8));
    info.remove_prefix(attribute.size());
  }
  return said;
}

/// What .nv.info says of the kernel itself, without the number of the symbol that its parameters' constants have, which other kernels of
/// the module move.
std::string without_symbol(std::string_view info) {
  constexpr unsigned char kParameterConstants = 0x0a;
  std::string said(info);
  for (std::size_t at = 0; at + 8 <= said.size();) {
    std::uint16_t size = 0;
    std::memcpy(&size, said.data() + at + 2, sizeof size);
    const bool sized = static_cast<unsigned char>(said[at]) == kSized;
    if (sized && static_cast<unsigned char>(said[at + 1]) == kParameterConstants && size >= 4) {
      std::memset(said.data() + at + 4, 0, 4);
    }
    at += 4u + (sized ? size : 0u);
  }
  return said;
}

void append(std::string& to, std::uint64_t number) { to.append(reinterpret_cast<const char*>(&number), sizeof number); }

}  // namespace

std::optional<std::string> machine_code(std::span<const std::byte> cubin, std::string_view entry) {
  const Elf elf(cubin);
  const std::string suffix = std::string(".").append(entry), text = std::string(".text").append(suffix);
  const std::string info_name = std::string(".nv.info").append(suffix);
  std::vector<std::pair<std::string_view, const Elf64_Shdr*>> own;
  std::optional<std::uint32_t> info;  // of .text
  std::string_view of_module, instructions;
  for (const Elf64_Shdr& section : elf.sections()) {
    const std::string_view name = elf.name(section);
    if (name == ".nv.info") of_module = *elf.contents(section);
    if (!name.ends_with(suffix) && !is_shared_data(name)) continue;
    if (name == text && section.sh_type == SHT_PROGBITS && section.sh_size > 0) {
      info = section.sh_info;
      instructions = *elf.contents(section);
    }
    own.emplace_back(name, &section);
  }
  if (!info) return std::nullopt;
  if (!may_read_variables(instructions)) std::erase_if(own, [](const auto& section) { return is_of_variables(section.first); });
  std::sort(own.begin(), own.end());
  std::string code;
  for (const auto& [name, section] : own) {
    code.append(name).push_back('\0');
    append(code, section->sh_type);
    append(code, section->sh_flags);
    append(code, section->sh_size);
    const std::string_view contents = *elf.contents(*section);
    code.append(name == info_name ? without_symbol(contents) : std::string(contents));
  }
  // The kernel's symbol, and by compilers before CUDA 13's its registers above it, which since are the module's to tell.
  append(code, *info >> 24);
  return code + said_of(of_module, *info & 0xffffff);
}

}  // namespace tilesmith::runtime
