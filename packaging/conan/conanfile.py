"""A recipe for Conan 2: `conan create packaging/conan --build=missing` from the source tree. CUDA's headers are found as CMake does, or named by the
option cuda_include."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfigDeps

SOURCES = ("CMakeLists.txt", "LICENSE", "cmake/*", "kernels/*", "db/*", "runtime/*", "tuner/*", "scripts/*")


class TilesmithConan(ConanFile):
    name = "tilesmith"
    description = "Auto-tuned GEMM kernels for NVIDIA GPUs: search, prove, keep, launch"
    license = "Apache-2.0"
    topics = ("cuda", "gemm", "auto-tuning")
    package_type = "shared-library"  # the static one is installed beside it
    settings = "os", "arch", "compiler", "build_type"
    options = {"tuner": [True, False], "cuda_include": ["ANY"]}
    default_options = {"tuner": True, "cuda_include": ""}
    requires = ("fmt/[>=8 <12]", "nlohmann_json/[>=3.10 <4]", "spdlog/[>=1.9 <2]", "sqlite3/[>=3.37 <4]", "xxhash/[>=0.8 <1]", "zlib/[>=1.2 <2]",
                "zstd/[>=1.4 <2]")

    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._root(), "CMakeLists.txt"))
        self.version = re.search(r"project\(tilesmith VERSION ([0-9.]+)", text).group(1)

    def requirements(self):
        if self.options.tuner:
            self.requires("cli11/[>=2.1 <3]")

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, self._root(), self.export_sources_folder, excludes=("db/recorded/*",))

    def build_requirements(self):
        self.tool_requires("pkgconf/[>=2 <3]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()
        chain = CMakeToolchain(self)
        chain.cache_variables["CMAKE_UNITY_BUILD"] = True  # as the release preset builds
        chain.cache_variables["TILESMITH_BUILD_TESTS"] = False
        chain.cache_variables["TILESMITH_BUILD_TUNER"] = bool(self.options.tuner)
        if self.options.cuda_include:
            chain.cache_variables["TILESMITH_CUDA_INCLUDE"] = str(self.options.cuda_include)
        chain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # its own tilesmithConfig.cmake is used
        self.cpp_info.builddirs.append(os.path.join("lib", "cmake", "tilesmith"))
