// A kernel bug that the verifier must catch: the real template with a few words replaced.
//
// A plant names text of the template as it stands; if that text is gone, planted_source() says so and the test fails,
// so that no plant rots into a kernel that is right.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/embedded.hpp"
#include "kernels/families/family.hpp"

namespace tilesmith::planted {

struct Edit {
  const char* find;  ///< must occur in the spliced source; its first occurrence is replaced
  const char* replace;
};

struct Bug {
  const char* name;
  const char* family;
  int step;  ///< of the family's ladder; -1: the generic config
  const char* type;
  Transposes trans;
  std::vector<Edit> edits;
  const char* config = nullptr;  ///< canonical text, in the place of a step
  const char* epilogue = "linear";
  BatchMode batch_mode = BatchMode::single;
  Scalars scalars = Scalars::host;
  const char* weights = nullptr;  ///< as a signature's text has them
  Sparsity sparsity = Sparsity::dense;

  KernelTarget target(const DeviceLimits& limits) const {
    return {{*find_type_pair(type), trans, parse_epilogue(epilogue).value(), batch_mode, sparsity, scalars,
                weights == nullptr ? Weights{} : parse_weights(weights).value()},
        limits};
  }
};

/// The source, with every #include of an embedded file replaced by that file's, once each. Files of this name in `folder`
/// come before the embedded ones.
inline std::string spliced(
    const std::string& source, std::vector<std::string>& seen, const std::filesystem::path& folder = {}) {
  std::string result;
  std::size_t at = 0;
  while (at < source.size()) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    const std::string line = source.substr(at, end - at);
    at = end + 1;
    const std::string_view start = "#include \"";
    if (line.compare(0, start.size(), start) != 0) {
      if (line != "#pragma once") result += line + "\n";
      continue;
    }
    const std::string name = line.substr(start.size(), line.rfind('"') - start.size());
    bool known = false;
    for (const std::string& other : seen) known = known || other == name;
    if (known) continue;
    seen.push_back(name);
    bool found = false;
    if (std::ifstream own(folder / name); !folder.empty() && own) {
      result += spliced({std::istreambuf_iterator<char>(own), {}}, seen, folder);
      continue;
    }
    for (const EmbeddedFile& file : embedded_headers()) {
      if (file.name != name) continue;
      result += spliced(std::string(file.text), seen, folder);
      found = true;
    }
    if (!found) throw std::runtime_error("no embedded file named " + name);
  }
  return result;
}

inline Config config_of(const Bug& bug, const KernelTarget& target) {
  if (bug.config != nullptr) return Config::parse(bug.config).value();
  if (bug.step < 0) return generic_config(target);
  return find_family(bug.family)->ladder(target).at(std::size_t(bug.step)).config;
}

/// The mutated source. Throws std::runtime_error naming the bug and the text if an edit no longer applies.
inline std::string planted_source(const Bug& bug, const KernelTarget& target) {
  std::vector<std::string> seen;
  std::string source = spliced(find_family(bug.family)->source(config_of(bug, target), target), seen);
  for (const Edit& edit : bug.edits) {
    const std::size_t at = source.find(edit.find);
    if (at == std::string::npos)
      throw std::runtime_error(std::string(bug.name) + ": not in the template: " + edit.find);
    source.replace(at, std::string(edit.find).size(), edit.replace);
  }
  return source;
}

inline constexpr Transposes kNN{false, false}, kNT{false, true}, kTN{true, false}, kTT{true, true};

}  // namespace tilesmith::planted
