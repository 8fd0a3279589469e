"""Conan 2 recipe of the library without the command: conan create packaging/conan."""

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy
from conan.tools.scm import Git


class Warpaes(ConanFile):
    name = "warpaes"
    version = "1.0.0"
    license = "Apache-2.0"
    url = "https://git.warpaes.example/warpaes/warpaes"
    description = "AES at the speed of the hardware, on GPUs and CPUs"
    topics = ("aes", "cryptography", "cuda")
    settings = "os", "compiler", "build_type", "arch"
    package_type = "shared-library"
    generators = "CMakeDeps"

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("warpaes runs on Linux only")
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("openssl/[>=3.0 <4]")

    def source(self):
        Git(self).clone(self.url, target=".", args=["--depth", "1", "--branch", f"v{self.version}"])

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.variables.update(
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
