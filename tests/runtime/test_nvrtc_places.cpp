// Where NVRTC and the toolkit's headers are looked for.
#include <filesystem>

#include "runtime/compile/find_nvrtc.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/made_tree.hpp"

namespace tilesmith::runtime {
namespace {

namespace fs = std::filesystem;
using test::Tree;

}  // namespace

TEST_CASE("a file named for NVRTC is the only one tried") {
  CudaPlaces places;
  places.nvrtc_file = "/somewhere/libnvrtc.so.12";
  places.toolkits = {"/usr/local/cuda"};
  CHECK(nvrtc_candidates(places) == std::vector<std::string>{"/somewhere/libnvrtc.so.12"});
}

TEST_CASE("the toolkit's NVRTC comes before the loader's and the wheels'") {
  const Tree tree("order");
  tree.put("cuda/lib64/libnvrtc.so.12");
  tree.put("orin/targets/aarch64-linux/lib/libnvrtc.so.12");
  tree.put("wheels/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  tree.put("wheels/nvidia/cu13/lib/libnvrtc.so.13");
  fs::create_symlink("cuda", tree.root() / "cuda-link");
  CudaPlaces places;
  places.toolkits = {tree.root() / "cuda", tree.root() / "cuda-link", tree.root() / "orin"};
  places.wheel_roots = {tree.root() / "wheels"};
  std::vector<std::string> found = nvrtc_candidates(places);
  REQUIRE(found.size() == 7);
  CHECK(found[0] == (tree.root() / "cuda/lib64/libnvrtc.so.12").string());  // once, though reached by two names
  CHECK(found[1] == (tree.root() / "orin/targets/aarch64-linux/lib/libnvrtc.so.12").string());
  CHECK(found[2] == "libnvrtc.so.13");
  CHECK(found[5] == (tree.root() / "wheels/nvidia/cuda_nvrtc/lib/libnvrtc.so.12").string());
  CHECK(found[6] == (tree.root() / "wheels/nvidia/cu13/lib/libnvrtc.so.13").string());
}

TEST_CASE("headers beside the NVRTC that was opened are preferred") {
  const Tree tree("beside");
  const fs::path library = tree.put("cuda-12.6/lib64/libnvrtc.so.12");
  tree.put_headers("cuda-12.6/include", "12060");
  tree.put_headers("other/include", "12060");
  CudaPlaces places;
  places.toolkits = {tree.root() / "other"};
  CHECK(include_folders_for(library, 12, 6, places) == std::vector<fs::path>{tree.root() / "cuda-12.6/include"});
  places.include_folder = (tree.root() / "other/include").string();
  CHECK(include_folders_for(library, 12, 6, places) == std::vector<fs::path>{tree.root() / "other/include"});
}

TEST_CASE("headers of NVRTC's own release are preferred over others, and incomplete ones are passed over") {
  const Tree tree("release");
  const fs::path library = tree.put("lib/libnvrtc.so.12");
  tree.put_headers("cuda-13.0/include", "13000");
  tree.put_headers("cuda-12.2/include", "12020");
  tree.put_headers("cuda-12.6/include", "12060");
  tree.put_headers("partial/include", "12060", false);
  CudaPlaces places;
  places.loader_path = false;
  for (const char* toolkit : {"partial", "cuda-13.0", "cuda-12.2", "cuda-12.6"})
    places.toolkits.push_back(tree.root() / toolkit);
  CHECK(include_folders_for(library, 12, 6, places) == std::vector<fs::path>{tree.root() / "cuda-12.6/include"});
  CHECK(include_folders_for(library, 12, 4, places) == std::vector<fs::path>{tree.root() / "cuda-12.2/include"});
  places.toolkits = {tree.root() / "partial"};
  CHECK(include_folders_for(library, 12, 6, places).empty());
}

TEST_CASE("wheels keep their headers in several folders, which are used together") {
  const Tree tree("wheels");
  const fs::path library = tree.put("nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  tree.put_headers("nvidia/cuda_runtime/include", "12060", false);
  CHECK(include_folders_for(library, 12, 6, CudaPlaces{.loader_path = false}).empty());
  tree.put("nvidia/cuda_nvcc/include/crt/mma.h");
  CHECK(include_folders_for(library, 12, 6, CudaPlaces{.loader_path = false}) ==
        std::vector<fs::path>{tree.root() / "nvidia/cuda_runtime/include", tree.root() / "nvidia/cuda_nvcc/include"});
}

}  // namespace tilesmith::runtime
