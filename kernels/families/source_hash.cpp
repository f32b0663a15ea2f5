#include "kernels/families/source_hash.hpp"

#include <algorithm>
#include <map>
#include <set>
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

/// A #line directive says where a line comes from (kernels/families/user/template_text.hpp), which is no code either.
void end_line(std::string& code) {
  const std::size_t start = code.rfind('\n') + 1;  // 0 where there is none before
  if (std::string_view(code).substr(start).starts_with("#line ")) code.resize(start);
  const std::size_t last = code.find_last_not_of(" \t");
  code.resize(last == std::string::npos ? 0 : last + 1);
  if (!code.empty() && code.back() != '\n') code += '\n';
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

/// Headers by name, and the hash of each with all that it includes.
class Headers {
 public:
  explicit Headers(std::span<const EmbeddedFile> files) {
    for (const EmbeddedFile& file : files) codes_.emplace(file.name, without_comments(file.text));
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
  std::string code = without_comments(source);
  for (const std::string& name : included(code)) code.append(headers.hash(name)).append("\n");
  return content_hash(code.append(options));
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
  return hash_of(source, options, Headers(headers));
}

std::string source_hash(std::string_view source, std::string_view options) {
  static const Headers embedded(embedded_headers());
  return hash_of(source, options, embedded);
}

}  // namespace tilesmith
