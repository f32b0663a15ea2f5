#include "kernels/base/words.hpp"

#include <algorithm>

namespace tilesmith {

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t start = text.find_first_not_of(" \t\r\n", at);
    if (start == std::string_view::npos) break;
    at = std::min(text.find_first_of(" \t\r\n", start), text.size());
    result.push_back(text.substr(start, at - start));
  }
  return result;
}

bool is_c_name(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= kLongest && is_letter(text.front()) && std::ranges::all_of(text, fits);
}

}  // namespace tilesmith
