// A folder with a kernel of one's own in it, that goes with its test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/families/user/template_text.hpp"
#include "kernels/own/kernel.hpp"

namespace tilesmith::tests {

/// The folders of those that ship: in the tree that was built, or, where a program was moved since, in the folder in which
/// it runs.
inline std::vector<std::filesystem::path> example_kernels() {
  const std::filesystem::path tree = TILESMITH_SOURCE_DIR,
                              root = std::filesystem::exists(tree / "examples/kernels") ? tree : "";
  std::vector<std::filesystem::path> folders;
  for (const char* name : {"softmax", "rms_norm_e4m3", "rms_norm_s8", "stencil"})
    folders.push_back(root / "examples/kernels" / name);
  folders.push_back(root / "python/tilesmith/kernels/quantise");
  return folders;
}

class KernelFolder {
 public:
  /// Softmax of rows, and a naive one as its reference.
  explicit KernelFolder(const std::string& name = "row_softmax") {
    std::string pattern = (std::filesystem::temp_directory_path() / "tilesmith-kernel-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
    json = R"json({ "name": ")json" + name + R"json(", "source": "softmax.cu", "entry": "softmax<block, per_thread>",
  "sizes": {"rows": 4096, "cols": 1000},
  "arguments": [{"out": "f32[rows][cols]"}, {"in": "f32[rows][cols]", "fill": "normal"}, {"cols": "s32", "value": "cols"}],
  "parameters": {"block": [64, 128, 256, 512, 1024], "per_thread": [1, 2, 4, 8]},
  "rules": [{"holds": "block * per_thread >= 256", "reason": "a row needs some bytes in flight"}],
  "launch": {"grid": "rows", "block": "block"},
  "reference": {"source": "softmax.cu", "entry": "naive", "launch": {"grid": "rows", "block": 1}},
  "tolerance": {"out": {"relative": 1e-5}}, "work": {"bytes": "8 * rows * cols"} })json";
    write("softmax.cu", R"cu(#include "maximum.cuh"
__global__ void naive(float* out, const float* in, int cols) {
  const float* row = in + static_cast<long long>(blockIdx.x) * cols;
  float most = row[0], sum = 0;
  for (int i = 1; i < cols; ++i) most = larger(most, row[i]);
  for (int i = 0; i < cols; ++i) sum += expf(row[i] - most);
  for (int i = 0; i < cols; ++i) out[static_cast<long long>(blockIdx.x) * cols + i] = expf(row[i] - most) / sum;
}
template <int block, int per_thread>
__global__ void softmax(float* out, const float* in, int cols) {
  __shared__ float parts[block];
  const float* row = in + static_cast<long long>(blockIdx.x) * cols;
  float most = row[0], sum = 0;
  for (int i = threadIdx.x * per_thread; i < cols; i += block * per_thread)
    for (int j = i; j < min(i + per_thread, cols); ++j) most = larger(most, row[j]);
  parts[threadIdx.x] = most;
  __syncthreads();
  for (int i = 0; i < block; ++i) most = larger(most, parts[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < cols; i += block) sum += expf(row[i] - most);
  parts[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < block; ++i) sum += parts[i];
  for (int i = threadIdx.x; i < cols; i += block) out[static_cast<long long>(blockIdx.x) * cols + i] = expf(row[i] - most) / sum;
}
)cu");
    write("maximum.cuh", "#pragma once\n__device__ float larger(float a, float b) { return a > b ? a : b; }\n");
    save();
  }
  ~KernelFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  KernelFolder(const KernelFolder&) = delete;
  KernelFolder& operator=(const KernelFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  void save() const { write("kernel.json", json); }
  /// Replaces a part of kernel.json, which must be there.
  KernelFolder& with(const std::string& part, const std::string& by) {
    const std::size_t at = json.find(part);
    if (at == std::string::npos) throw std::logic_error("not in kernel.json: " + part);
    json.replace(at, part.size(), by);
    save();
    return *this;
  }
  own::Kernel read() const { return *own::read_kernel(path_); }
  /// What reading it says, without the folder; empty: it is sound.
  std::string error() const {
    try {
      read();
    } catch (const DefinitionError& error) {
      std::string what = error.what();
      const std::string folder = path_.string() + "/";
      for (std::size_t at = what.find(folder); at != std::string::npos; at = what.find(folder))
        what.erase(at, folder.size());
      return what;
    }
    return {};
  }

  std::string json;

 private:
  std::filesystem::path path_;
};

}  // namespace tilesmith::tests
