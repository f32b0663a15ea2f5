#include "kernels/source_hash.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "kernels/content_hash.hpp"

namespace tilesmith {
namespace {

constexpr std::string_view kInclude = "#include \"";
constexpr std::string_view kOurs = "TILESMITH_";  // macros of a signature's options (render.hpp)

template <typename Use>
void for_each_line(std::string_view code, const Use& use) {
  while (!code.empty()) {
    const std::size_t end = std::min(code.find('\n'), code.size());
    use(code.substr(0, end));
    code.remove_prefix(std::min(end + 1, code.size()));
  }
}

/// Where the comment or the text in quotes that begins at `at` ends; `at` itself where none begins.
std::size_t end_of_token(std::string_view source, std::size_t at, bool& is_comment) {
  const char first = source[at], second = at + 1 < source.size() ? source[at + 1] : '\0';
  is_comment = first == '/' && (second == '/' || second == '*');
  if (is_comment && second == '/') return std::min(source.find('\n', at), source.size());
  if (is_comment) {
    const std::size_t last = source.find("*/", at + 2);
    return last == std::string_view::npos ? source.size() : last + 2;
  }
  const bool is_character = at > 0 && (source[at - 1] == '\\' || (source[at - 1] == '\'' && second == '\''));  // '"'
  if (first != '"' || is_character) return at;
  for (++at; at < source.size() && source[at] != '"'; ++at) at += source[at] == '\\';
  return std::min(at + 1, source.size());
}

/// A #line directive says where a line comes from (kernels/user/template_text.hpp), which is no code either.
void end_line(std::string& code) {
  const std::size_t start = code.rfind('\n') + 1;  // 0 where there is none before
  if (std::string_view(code).substr(start).starts_with("#line ")) code.resize(start);
  const std::size_t last = code.find_last_not_of(" \t");
  code.resize(last == std::string::npos ? 0 : last + 1);
  if (!code.empty() && code.back() != '\n') code += '\n';
}

using Macros = std::set<std::string, std::less<>>;

/// Those of ours that lines of code define.
Macros defined_macros(std::string_view code) {
  static constexpr std::string_view kDefine = "#define ";
  Macros macros;
  for_each_line(code, [&](std::string_view line) {
    if (line.starts_with(kDefine) && line.substr(kDefine.size()).starts_with(kOurs)) macros.emplace(line.substr(kDefine.size()));
  });
  return macros;
}

/// The lines that are compiled where these macros are defined, as far as they depend on macros of ours by #ifdef and #ifndef.
std::string compiled(std::string_view code, const Macros& macros) {
  if (code.find(kOurs) == std::string_view::npos) return std::string(code);
  struct Block {
    bool ours, taken;
  };
  std::vector<Block> blocks;
  std::string result;
  for_each_line(code, [&](std::string_view line) {
    const auto macro_after = [&](std::string_view directive) {
      const bool is_one = line.starts_with(directive) && line.substr(directive.size()).starts_with(kOurs);
      return is_one ? line.substr(directive.size()) : std::string_view();
    };
    if (const auto macro = macro_after("#ifdef "); !macro.empty()) return blocks.push_back({true, macros.contains(macro)});
    if (const auto macro = macro_after("#ifndef "); !macro.empty()) return blocks.push_back({true, !macros.contains(macro)});
    if (!blocks.empty() && blocks.back().ours && line == "#else") {
      blocks.back().taken = !blocks.back().taken;
      return;
    }
    if (!blocks.empty() && line.starts_with("#elif")) blocks.back().taken = true;  // rather too much than too little
    if (line.starts_with("#if")) blocks.push_back({false, true});
    const bool ends = line.starts_with("#endif") && !blocks.empty(), ours = ends && blocks.back().ours;
    if (!ours && std::ranges::all_of(blocks, &Block::taken)) result.append(line).append("\n");
    if (ends) blocks.pop_back();
  });
  return result;
}

/// Names of headers in lines of code.
std::vector<std::string> included(std::string_view code) {
  std::vector<std::string> names;
  for (std::size_t at = code.find(kInclude); at != std::string_view::npos; at = code.find(kInclude, at)) {
    at += kInclude.size();
    names.emplace_back(code.substr(at, code.find('"', at) - at));
  }
  return names;
}

/// Headers by name, and what each brings with it where these macros are defined.
class Headers {
 public:
  Headers(std::span<const EmbeddedFile> files, const Macros& macros) {
    for (const EmbeddedFile& file : files) codes_.emplace(file.name, compiled(without_comments(file.text), macros));
    for (const auto& [name, code] : codes_) {
      std::set<std::string> found;
      std::string all;
      add(name, found, all);
      hashes_.emplace(name, content_hash(all));
    }
  }

  /// Of a header and all that it includes; empty if it is none of these.
  std::string_view hash(const std::string& name) const {
    const auto known = hashes_.find(name);
    return known == hashes_.end() ? std::string_view() : known->second;
  }

 private:
  void add(const std::string& name, std::set<std::string>& found, std::string& all) const {
    const auto known = codes_.find(name);
    if (known == codes_.end() || !found.insert(name).second) return;
    all.append(name).append("\n").append(known->second);
    for (const std::string& other : included(known->second)) add(other, found, all);
  }

  std::map<std::string, std::string> codes_, hashes_;
};

std::string hash_of(std::string code, std::string_view options, const Headers& headers) {
  for (const std::string& name : included(code)) code.append(headers.hash(name)).append("\n");
  return content_hash(code.append(options));
}

/// Of this build, read once for each set of macros.
const Headers& embedded(const Macros& macros) {
  static std::mutex mutex;
  static std::map<Macros, Headers> known;
  const std::lock_guard lock(mutex);
  return known.try_emplace(macros, embedded_headers(), macros).first->second;
}

}  // namespace

std::string without_comments(std::string_view source) {
  std::string code;
  code.reserve(source.size() + 1);
  for (std::size_t at = 0; at < source.size();) {
    std::size_t next = at;
    while (next < source.size() && source[next] != '/' && source[next] != '"' && source[next] != '\n') ++next;
    code.append(source, at, next - at);
    if (next == source.size()) break;
    bool is_comment = false;
    at = std::max(end_of_token(source, next, is_comment), next + 1);
    if (is_comment) code += ' ';
    else if (source[next] == '\n') end_line(code);
    else code.append(source, next, at - next);
  }
  end_line(code);
  return code;
}

std::string source_hash(std::string_view source, std::string_view options, std::span<const EmbeddedFile> headers) {
  std::string code = without_comments(source);
  const Macros macros = defined_macros(code);
  return hash_of(compiled(code, macros), options, Headers(headers, macros));
}

std::string source_hash(std::string_view source, std::string_view options) {
  std::string code = without_comments(source);
  const Macros macros = defined_macros(code);
  return hash_of(compiled(code, macros), options, embedded(macros));
}

}  // namespace tilesmith
