#include "kernels/families/source_hash.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "kernels/base/content_hash.hpp"

namespace tilesmith {
namespace {

constexpr std::string_view kInclude = "#include \"";

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

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
/// Two of these side by side are one operator. (Not >: of templates both are brackets.)
bool doubles(char c) { return std::string_view("+-&|<=:").find(c) != std::string_view::npos; }

/// Collects the code of a source text. White space between tokens is layout: it is kept, as one space, only where two
/// tokens would become one. A directive keeps its line, because its end is the line's.
class Code {
 public:
  void add(std::string_view text) {
    for (const char c : text) add(c);
  }
  /// A comment.
  void add_space() { space_ = true; }
  /// A text in quotes: as it is.
  void add_quoted(std::string_view text) {
    put_space(text.front());
    code_ += text;
    at_start_ = false;
  }
  std::string take() {
    add('\n');
    if (!code_.empty() && code_.back() != '\n') code_ += '\n';
    return std::move(code_);
  }

 private:
  void add(char c) {
    if (c == '\n') {
      end_line();
    } else if (c == ' ' || c == '\t') {
      space_ = true;
    } else {
      if (at_start_ && c == '#') begin_directive();
      put_space(c);
      code_ += c;
      at_start_ = false;
    }
  }
  void begin_directive() {
    if (!code_.empty() && code_.back() != '\n') code_ += '\n';
    in_directive_ = true;
    line_ = code_.size();
    space_ = false;
  }
  void end_line() {
    const bool goes_on = in_directive_ && code_.ends_with('\\');
    if (goes_on) code_.resize(code_.find_last_not_of(" \\") + 1);
    space_ = !in_directive_ || goes_on;
    if (goes_on) return;
    // A #line directive says where a line comes from (kernels/families/user/template_text.hpp), which is no code
    // either.
    if (in_directive_ && std::string_view(code_).substr(line_).starts_with("#line ")) code_.resize(line_);
    else if (in_directive_) code_ += '\n';
    in_directive_ = false;
    at_start_ = true;
  }
  void put_space(char next) {
    const char last = code_.empty() ? '\n' : code_.back();
    const bool would_join = (is_word(last) && is_word(next)) || (last == next && doubles(last));
    if (space_ && last != '\n' && (in_directive_ || would_join)) code_ += ' ';
    space_ = false;
  }

  std::string code_;
  std::size_t line_ = 0;  // where the directive begins
  bool space_ = false, at_start_ = true, in_directive_ = false;
};

/// Names of headers in lines of code.
std::vector<std::string> included(std::string_view code) {
  std::vector<std::string> names;
  for (std::size_t at = code.find(kInclude); at != std::string_view::npos; at = code.find(kInclude, at)) {
    at += kInclude.size();
    names.emplace_back(code.substr(at, code.find('"', at) - at));
  }
  return names;
}

/// Headers by name, and the hash of each with all that it includes.
class Headers {
 public:
  explicit Headers(std::span<const EmbeddedFile> files) {
    for (const EmbeddedFile& file : files) codes_.emplace(file.name, code_of(file.text));
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

std::string hash_of(std::string_view source, std::string_view options, const Headers& headers) {
  std::string code = code_of(source);
  for (const std::string& name : included(code)) code.append(headers.hash(name)).append("\n");
  return content_hash(code.append(options));
}

}  // namespace

std::string code_of(std::string_view source) {
  Code code;
  for (std::size_t at = 0; at < source.size();) {
    std::size_t next = at;
    while (next < source.size() && source[next] != '/' && source[next] != '"') ++next;
    code.add(source.substr(at, next - at));
    if (next == source.size()) break;
    bool is_comment = false;
    at = std::max(end_of_token(source, next, is_comment), next + 1);
    if (is_comment) code.add_space();
    else if (source[next] == '"') code.add_quoted(source.substr(next, at - next));
    else code.add(source.substr(next, at - next));
  }
  return code.take();
}

std::string source_hash(std::string_view source, std::string_view options, std::span<const EmbeddedFile> headers) {
  return hash_of(source, options, Headers(headers));
}

std::string source_hash(std::string_view source, std::string_view options) {
  static const Headers embedded(embedded_headers());
  return hash_of(source, options, embedded);
}

}  // namespace tilesmith
