// A folder with a family of one's own in it, that goes with its test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/families/user/template_text.hpp"
#include "kernels/families/user/user_family.hpp"

namespace tilesmith::tests {

/// Of the example that ships. In the tree that was built, or, where a program was moved since, in the folder in which
/// it runs.
inline std::filesystem::path example_family() {
  const std::filesystem::path built = std::filesystem::path(TILESMITH_SOURCE_DIR) / "examples/family";
  return std::filesystem::exists(built) ? built : std::filesystem::path("examples/family");
}

class FamilyFolder {
 public:
  /// A small family; `name` goes into its family.json.
  explicit FamilyFolder(const std::string& name = "small") {
    std::string pattern = (std::filesystem::temp_directory_path() / "tilesmith-family-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
    json = R"json({
  "name": ")json" +
           name + R"json(",
  "summary": "a small family",
  "template": "small.cu",
  "types": ["f16f32", "bf16f32"],
  "transposes": ["NN", "NT"],
  "min_sm": 80,
  "parameters": {
    "tile": {"values": [16, 32, 64], "meaning": "rows and columns of a tile"},
    "step": {"values": [0, 8, 16], "meaning": "elements of K at a time"}
  },
  "rules": [{"name": "steps", "reason": "a step divides a tile", "holds": "tile % step == 0"}],
  "refusals": [{"reason": "too small", "when": "m < tile"}],
  "launch": {"grid": ["ceil_div(m, tile)", "ceil_div(n, tile)"], "block": "tile", "shared_bytes": "tile * step * operand_bytes"},
  "initial_configs": [{"step": 16, "tile": 32}]
})json";
    write("small.cu",
        "#include \"helper.cuh\"\nextern \"C\" __global__ void gemm(const __grid_constant__ tilesmith::GemmArgs args) {}\n");
    write("helper.cuh", "#pragma once\nconstexpr int kHelp = 1;\n");
    save();
  }
  ~FamilyFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FamilyFolder(const FamilyFolder&) = delete;
  FamilyFolder& operator=(const FamilyFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  void save() const { write("family.json", json); }

  /// With a part of family.json replaced by another, for good.
  FamilyFolder& with(const std::string& part, const std::string& by) {
    const std::size_t at = json.find(part);
    if (at == std::string::npos) throw std::runtime_error("family.json does not hold " + part);
    json.replace(at, part.size(), by);
    save();
    return *this;
  }

  std::unique_ptr<UserFamily> read() const { return read_family(path_); }
  /// What is said of it, without the folder's path; empty: nothing.
  std::string error() const {
    try {
      (void)read();
      return {};
    } catch (const DefinitionError& error) {
      std::string text = error.what();
      const std::string folder = path_.string() + "/";
      const std::size_t at = text.find(folder);
      return at == std::string::npos ? text : text.erase(at, folder.size());
    }
  }

  std::string json;

 private:
  std::filesystem::path path_;
};

}  // namespace tilesmith::tests
