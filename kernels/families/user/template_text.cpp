#include "kernels/families/user/template_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "kernels/families/embedded.hpp"

namespace tilesmith {
namespace {

constexpr std::uintmax_t kLargestFile = std::uintmax_t{1} << 20;
constexpr std::size_t kLongestText = std::size_t{4} << 20;
constexpr int kDeepestInclude = 32;  // files that include each other
constexpr std::string_view kBlank = " \t";

struct Include {
  bool quoted = false;
  std::string name;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

/// `directive`: as "include". What stands behind it; empty if the line is another one.
std::optional<std::string_view> after_directive(std::string_view line, std::string_view directive) {
  line = trimmed(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = trimmed(line.substr(1));
  if (!line.starts_with(directive)) return std::nullopt;
  return trimmed(line.substr(directive.size()));
}

std::optional<Include> include_of(std::string_view line) {
  const auto rest = after_directive(line, "include");
  if (!rest || rest->empty() || (rest->front() != '"' && rest->front() != '<')) return std::nullopt;
  const bool quoted = rest->front() == '"';
  const std::size_t end = rest->find(quoted ? '"' : '>', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return Include{quoted, std::string(rest->substr(1, end - 1))};
}

bool is_tilesmiths(const std::string& name) {
  return std::ranges::any_of(embedded_headers(), [&](const EmbeddedFile& file) { return file.name == name; });
}

class Splicer {
 public:
  explicit Splicer(const std::filesystem::path& folder) : folder_(folder) {}

  void put(const std::string& name, int depth) {
    if (depth > kDeepestInclude)
      throw DefinitionError(
          fmt::format("{}: more than {} files include each other", (folder_ / name).string(), kDeepestInclude));
    put_.insert(name);
    const std::string file = read_text_file(folder_ / name);
    text_ += fmt::format("#line 1 \"{}\"\n", name);
    int number = 0;
    for (std::size_t at = 0; at < file.size();) {
      const std::size_t end = std::min(file.find('\n', at), file.size());
      put_line(name, ++number, std::string_view(file).substr(at, end - at), depth);
      at = end + 1;
    }
    if (text_.size() > kLongestText)
      throw DefinitionError(
          fmt::format("{}: larger than {} bytes with all that it includes", (folder_ / name).string(), kLongestText));
  }

  std::string take() { return std::move(text_); }

 private:
  void put_line(const std::string& file, int number, std::string_view line, int depth) {
    const auto fail = [&](const std::string& what) {
      throw DefinitionError(fmt::format("{}:{}: {}", (folder_ / file).string(), number, what));
    };
    if (line.find("R\"") != std::string_view::npos) fail("raw strings are not taken: expected ordinary ones");
    const auto pragma = after_directive(line, "pragma");
    const std::optional<Include> include = include_of(line);
    if (pragma && pragma->starts_with("once")) {
      text_ += '\n';
    } else if (!include) {
      text_.append(line) += '\n';
    } else if (!include->quoted) {
      if (!is_inside(include->name) || std::filesystem::exists(folder_ / include->name))
        fail(fmt::format(
            "<{}>: expected a header of CUDA; files of this folder are included with quotes", include->name));
      text_.append(line) += '\n';
    } else if (is_tilesmiths(include->name)) {
      text_ += fmt::format("#include \"{}\"\n", include->name);  // in the form in which source_hash.hpp finds it
    } else if (is_inside(include->name) && std::filesystem::is_regular_file(folder_ / include->name)) {
      if (!put_.contains(include->name)) put(include->name, depth + 1);
      text_ += fmt::format("#line {} \"{}\"\n", number + 1, file);
    } else {
      fail(fmt::format(
          "\"{}\": expected a file of this folder, a header of Tilesmith (\"kernels/...\"), or <...> for one of CUDA's",
          include->name));
    }
  }

  const std::filesystem::path& folder_;
  std::set<std::string> put_;
  std::string text_;
};

}  // namespace

bool is_inside(std::string_view name) {
  const std::filesystem::path path(name);
  return !name.empty() && path.is_relative() &&
         std::find(path.begin(), path.end(), std::filesystem::path("..")) == path.end();
}

std::string read_text_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw DefinitionError(fmt::format("{}: is no file that can be read", path.string()));
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > kLargestFile)
    throw DefinitionError(fmt::format("{}: has {} bytes, expected at most {}", path.string(), size, kLargestFile));
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || error) throw DefinitionError(fmt::format("{}: cannot be read", path.string()));
  if (text.find('\0') != std::string::npos)
    throw DefinitionError(fmt::format("{}: holds a zero byte, expected text", path.string()));
  return text;
}

std::string template_text(const std::filesystem::path& folder, const std::string& name) {
  Splicer splicer(folder);
  splicer.put(name, 0);
  return splicer.take();
}

}  // namespace tilesmith
