"""Conan 2 recipe for the library without the command. `conan create packaging/conan` builds the checkout that contains
the recipe."""

from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy
from conan.tools.scm import Version


class Warpaes(ConanFile):
    name = "warpaes"
    version = "1.0.0"
    license = "Apache-2.0"
    url = "https://git.warpaes.example/warpaes/warpaes"
    homepage = url
    description = "AES at the speed of the hardware, on GPUs and CPUs"
    topics = ("aes", "cryptography", "cuda")
    settings = "os", "compiler", "build_type", "arch"
    package_type = "shared-library"
    generators = "CMakeDeps"

    def export_sources(self):
        root = Path(self.recipe_folder).parents[1]
        for pattern in ("*.md", "CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "licenses/*", "src/*"):
            copy(self, pattern, root, self.export_sources_folder)
        for pattern in ("docs/*.md", "docs/*.svg", "examples/*"):  # installed as documentation
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("openssl/[>=3.0 <4]")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("warpaes runs on Linux only")
        if self.settings.compiler == "gcc" and Version(self.settings.compiler.version) < "12":
            raise ConanInvalidConfiguration("warpaes needs GCC 12 or later")

    def package_id(self):
        # The ABI is C, and the build uses C++20 regardless of the profile.
        self.info.settings.rm_safe("compiler.cppstd")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(
            {"WARPAES_TESTS": False, "WARPAES_CLI": False, "WARPAES_CUDA": False, "WARPAES_PROVIDER": False}
        )
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, f"{self.package_folder}/licenses")

    def package_info(self):
        self.cpp_info.libs = ["warpaes"]
        self.cpp_info.set_property("cmake_file_name", "warpaes")
        self.cpp_info.set_property("cmake_target_name", "warpaes::warpaes")
        self.cpp_info.set_property("pkg_config_name", "warpaes")
