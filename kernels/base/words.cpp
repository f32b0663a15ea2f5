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

}  // namespace tilesmith
