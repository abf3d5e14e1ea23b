"""The build backend (PEP 517) of the Python package. It needs Python and a C compiler (CC, CFLAGS), and nothing else.

It works in the folder that make wheel lays out, which is also what the sdist has: sampling.c, sampling.h, sampling/.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

NAME = "sampling"


def version():
    with open("sampling.h", encoding="utf-8") as header:
        return ".".join(re.findall(r"^#define SAMP_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header.read(), re.M)[:3])


def metadata():
    with open("README.md", encoding="utf-8") as page:
        return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version()}\nSummary: From a language model's logits to the next "
                f"token\nLicense: MIT\nRequires-Python: >=3.8\nProvides-Extra: numpy\nRequires-Dist: numpy; extra == 'numpy'\n"
                f"Provides-Extra: torch\nRequires-Dist: torch; extra == 'torch'\n"
                f"Description-Content-Type: text/markdown\n\n{page.read()}")


def platform_of(library):
    """The wheel's platform: on Linux the oldest glibc that has every function which the library asks for."""
    tag = re.sub(r"[-.]", "_", sysconfig.get_platform())
    needed = re.findall(rb"GLIBC_2\.(\d+)", library)
    return tag.replace("linux", f"manylinux_2_{max(17, *map(int, needed))}") if needed else tag


def compiled():
    """The library's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/libsampling.so"
        subprocess.run([*os.environ.get("CC", "cc").split(), *os.environ.get("CFLAGS", "-O2").split(), "-std=c11", "-fPIC",
                        "-fvisibility=hidden", "-shared", "-DSAMP_OLD_GLIBC", "-I.", "sampling.c", "-o", path, "-lm"],
                       check=True)
        with open(path, "rb") as library:
            return library.read()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = compiled()
    tag = "py3-none-" + platform_of(library)
    files = {"sampling/libsampling.so": library}
    for name in sorted(os.listdir("sampling")):
        if os.path.isfile("sampling/" + name):
            with open("sampling/" + name, "rb") as file:
                files["sampling/" + name] = file.read()
    info = f"{NAME}-{version()}.dist-info/"
    with open("LICENSE", "rb") as licence:
        files[info + "LICENSE"] = licence.read()
    files[info + "METADATA"] = metadata().encode()
    files[info + "WHEEL"] = f"Wheel-Version: 1.0\nGenerator: backend.py\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(file).digest()).rstrip(b'=').decode()},{len(file)}\n"
                     for name, file in files.items())
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    wheel = f"{NAME}-{version()}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980: the same bytes from the same source
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            archive.writestr(entry, file)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    top = f"{NAME}-{version()}"
    with open("PKG-INFO", "w", encoding="utf-8") as info:
        info.write(metadata())

    def plain(entry):
        entry.mtime = entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return None if "__pycache__" in entry.name else entry

    with tarfile.open(os.path.join(sdist_directory, top + ".tar.gz"), "w:gz") as archive:
        for name in sorted(os.listdir(".")):
            archive.add(name, f"{top}/{name}", filter=plain)
    return top + ".tar.gz"


if __name__ == "__main__":  # backend.py DIR: both into DIR
    print(build_sdist(sys.argv[1]), build_wheel(sys.argv[1]))
