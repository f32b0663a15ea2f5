// A kernel bug that the verifier must catch: the real template with a few words replaced.
//
// A plant names text of the template as it stands; if that text is gone, planted_source() says so and the test fails,
// so that no plant rots into a kernel that is right.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/embedded.hpp"
#include "kernels/family.hpp"

namespace tilesmith::planted {

struct Edit {
  const char* find;  ///< must occur in the spliced source; its first occurrence is replaced
  const char* replace;
};

struct Bug {
  const char* name;
  const char* family;
  int rung;  ///< of the family's ladder; -1: the generic config
  const char* type;
  Transposes trans;
  std::vector<Edit> edits;
  const char* config = nullptr;  ///< canonical text, in the place of a rung
  const char* epilogue = "linear";
  BatchMode batch_mode = BatchMode::single;
  Scalars scalars = Scalars::host;
  const char* weights = nullptr;  ///< as a signature's text has them
  Sparsity sparsity = Sparsity::dense;

  KernelTarget target(const DeviceLimits& limits) const {
    return {{*find_type_pair(type), trans, parse_epilogue(epilogue).value(), batch_mode, sparsity, scalars, weights == nullptr ? Weights{} : parse_weights(weights).value()}, limits};
  }
};

/// Whether lines are compiled, as far as they depend on macros of a signature's options (TILESMITH_..., kernels/render.hpp) by #ifdef and
/// #ifndef.
class CompiledLines {
 public:
  /// Of lines in their order. Those directives themselves are not.
  bool takes(const std::string& line) {
    const auto macro_after = [&](const std::string& directive) {
      return line.compare(0, directive.size(), directive) == 0 ? line.substr(directive.size()) : std::string();
    };
    if (const std::string defined = macro_after("#define TILESMITH_"); !defined.empty()) macros_.push_back(defined);
    for (const bool wanted : {true, false}) {
      const std::string macro = macro_after(wanted ? "#ifdef TILESMITH_" : "#ifndef TILESMITH_");
      if (macro.empty()) continue;
      blocks_.push_back({true, (std::find(macros_.begin(), macros_.end(), macro) != macros_.end()) == wanted});
      return false;
    }
    const bool ours = !blocks_.empty() && blocks_.back().ours;
    if (ours && line == "#else") {
      blocks_.back().taken = !blocks_.back().taken;
      return false;
    }
    if (line.compare(0, 3, "#if") == 0) blocks_.push_back({false, true});
    const bool ends = line.compare(0, 6, "#endif") == 0 && !blocks_.empty();
    const bool taken = !(ends && ours) && std::all_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.taken; });
    if (ends) blocks_.pop_back();
    return taken;
  }

 private:
  struct Block {
    bool ours, taken;
  };
  std::vector<std::string> macros_;
  std::vector<Block> blocks_;
};

/// The lines of the source that are compiled, with every #include of an embedded file replaced by that file's, once each.
inline std::string spliced(const std::string& source, std::vector<std::string>& seen, CompiledLines& lines) {
  std::string result;
  std::size_t at = 0;
  while (at < source.size()) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    const std::string line = source.substr(at, end - at);
    at = end + 1;
    if (!lines.takes(line)) continue;
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
    for (const EmbeddedFile& file : embedded_headers()) {
      if (file.name != name) continue;
      result += spliced(std::string(file.text), seen, lines);
      found = true;
    }
    if (!found) throw std::runtime_error("no embedded file named " + name);
  }
  return result;
}

inline Config config_of(const Bug& bug, const KernelTarget& target) {
  if (bug.config != nullptr) return Config::parse(bug.config).value();
  if (bug.rung < 0) return generic_config(target);
  return find_family(bug.family)->ladder(target).at(std::size_t(bug.rung)).config;
}

/// The mutated source. Throws std::runtime_error naming the bug and the text if an edit no longer applies.
inline std::string planted_source(const Bug& bug, const KernelTarget& target) {
  std::vector<std::string> seen;
  CompiledLines lines;
  std::string source = spliced(find_family(bug.family)->source(config_of(bug, target), target), seen, lines);
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
