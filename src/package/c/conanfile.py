# sampling.h for Conan 2: conan create . makes a package of the headers; one of your files defines SAMPLING_IMPLEMENTATION.
from conan import ConanFile
from conan.tools.files import copy


class Sampling(ConanFile):
    name = "sampling"
    version = "@VERSION@"
    license = "MIT"
    description = "From a language model's logits to the next token"
    package_type = "header-library"
    exports_sources = "sampling.h", "sampling_gpu.h", "sampling.hpp", "LICENSE"
    no_copy_source = True

    def package(self):
        copy(self, "sampling*.h*", self.source_folder, self.package_folder + "/include")
        copy(self, "LICENSE", self.source_folder, self.package_folder + "/licenses")

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        if self.settings.get_safe("os") in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["m"]

    settings = "os", "arch", "compiler", "build_type"

    def package_id(self):
        self.info.clear()
