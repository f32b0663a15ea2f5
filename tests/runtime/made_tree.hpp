// Files as a CUDA Toolkit or NVIDIA's wheels put them, made up.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace tilesmith::runtime::test {

/// A made-up tree of files, gone with it.
class Tree {
 public:
  /// Of this process alone: others run the same test's file.
  explicit Tree(const char* tag)
      : root_(std::filesystem::temp_directory_path() /
              ("tilesmith_places_" + std::string(tag) + std::to_string(::getpid()))) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  std::filesystem::path put(const std::string& path, const std::string& text = "") const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return root_ / path;
  }
  void put_headers(const std::string& folder, const std::string& version, bool with_crt = true) const {
    for (const char* header : {"cuda_fp16.h", "cuda_bf16.h", "mma.h"}) put(folder + "/" + header);
    if (with_crt) put(folder + "/crt/mma.h");
    put(folder + "/cuda.h", "#pragma once\n#define CUDA_VERSION " + version + "\n");
  }
  const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
};

}  // namespace tilesmith::runtime::test
