#!/bin/sh
# A program gets the library in each of the ways that the READMEs tell: make install with pkg-config, the static library,
# find_package, FetchContent, add_subdirectory (their blocks, as they stand); the first program of each binding's page runs
# with what is installed alone. The shared library exports samp_ only, and what is installed is all removed again.
# Usage: package.sh DIR
set -eu
rm -rf "$1"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
root=$PWD
fail() { echo "package: $*" >&2; exit 1; }
quiet() { "$@" > "$dir/log" 2>&1 || { tail -n 30 "$dir/log" >&2; fail "$*"; }; }
mkdir "$dir/blocks"
for page in README.md src/package/README.md; do awk -v dir="$dir/blocks" -f tests/tools/blocks.awk "$page" > /dev/null; done
want=$(cat "$dir/blocks/quick.c.out")
ways=
check() { # way, program
    way=$1
    shift
    got=$("$@" | sed 's/ *$//')
    [ "$got" = "$want" ] || fail "$way: it prints '$got', not '$want'"
    ways="$ways${ways:+, }$way"
}

# The user's program: the quick start, but with the library elsewhere, and a part of it that is optional.
{
    echo '#define SAMPLING_GRAMMAR'
    sed '/define SAMPLING_IMPLEMENTATION/d; s/^int main(void) {/&\n    samp_grammar_free(samp_grammar_init(SAMP_GRAMMAR_REGEX, "a", NULL, NULL));\n    if (samp_version() != SAMP_VERSION) return 1;/' "$dir/blocks/quick.c"
} > "$dir/app.c"

so=$(sed -n 's/^#define SAMP_VERSION_MAJOR *//p' sampling.h)
library=$root/build/libsampling.so
readelf -d "$library" | grep -q "SONAME.*\[libsampling.so.$so\]" || fail "the soname is not libsampling.so.$so"
nm -D --defined-only "$library" | awk '{ print $3 }' > "$dir/exports"
! grep -v '^samp_' "$dir/exports" || fail "exports that are not samp_"
# every part but llama.cpp's
sed -n '/^SAMP_API/s/.*[ *]\(samp_[a-z0-9_]*\)(.*/\1/p' sampling.h | grep -v '^samp_llama' | sort -u > "$dir/declared"
sort -u "$dir/exports" | comm -13 - "$dir/declared" > "$dir/missing"
[ ! -s "$dir/missing" ] || fail "not exported: $(cat "$dir/missing")"
[ "$(wc -l < "$dir/declared")" -ge 100 ] || fail "too few functions: $(wc -l < "$dir/declared")"
"$CC" -std=c11 -I. "$dir/app.c" build/libsampling.a -lm -o "$dir/static"
check "libsampling.a" "$dir/static"

# As in the README, in a folder that looks like the repository.
mkdir "$dir/here"
for f in Makefile sampling.h sampling_gpu.h src bench tests build; do ln -s "$root/$f" "$dir/here/$f"; done
cp "$dir/app.c" "$dir/here/app.c"
pkgconfig=$(command -v pkg-config || true)
if [ -n "$pkgconfig" ]; then
    (cd "$dir/here" && sed "s|^cc |$CC |" "$dir/blocks/install" > install.sh && . ./install.sh) > "$dir/log" 2>&1 || { cat "$dir/log"; fail "make install"; }
    check "pkg-config" env LD_LIBRARY_PATH="$dir/here/usr/lib" "$dir/here/app"
else
    (cd "$dir/here" && make install PREFIX="$PWD/usr") > "$dir/log"
    echo "package: SKIPPED pkg-config, it is not there"
fi

# The bindings, in a folder that has nothing of the repository.
usr=$dir/here/usr share=$dir/here/usr/share/sampling
mkdir "$dir/bindings"
for page in cpp python javascript; do awk -v dir="$dir/bindings" -f tests/tools/blocks.awk src/bindings/$page.md > /dev/null; done
prints() { # program, command
    program=$1
    shift
    got=$(cd "$dir/bindings" && env -u SAMPLING_LIBRARY "$@" | tr '\n' ' ' | sed 's/ *$//')
    [ "$got" = "$(cat "$dir/bindings/$program.out")" ] || fail "$program, $*: it prints '$got'"
    ways="$ways, $program"
}
if command -v "$CXX" > /dev/null; then
    quiet "$CXX" -std=c++11 "-I$usr/include" "$dir/bindings/token.cpp" -o "$dir/bindings/token" "-L$usr/lib" -lsampling
    prints token.cpp env LD_LIBRARY_PATH="$usr/lib" ./token
else
    echo "package: SKIPPED c++, there is no $CXX"
fi
if command -v python3 > /dev/null; then
    prints token.py env PYTHONPATH="$share/python" PYTHONDONTWRITEBYTECODE=1 python3 token.py
    if python3 -m venv --without-pip "$dir/venv" > "$dir/log" 2>&1; then # a python of the prefix needs no PYTHONPATH
        make install PREFIX="$dir/venv" > "$dir/log"
        prints token.py "$dir/venv/bin/python3" token.py
        make uninstall PREFIX="$dir/venv" > "$dir/log"
        [ -z "$(find "$dir/venv" -name '*sampling*')" ] || fail "not uninstalled: $(find "$dir/venv" -name '*sampling*')"
    else
        echo "package: SKIPPED a python of the prefix, there is no venv"
    fi
else
    echo "package: SKIPPED python, there is no python3"
fi
modules=$root/build/bindings/node_modules
if command -v node > /dev/null && [ -d "$modules/koffi" ]; then
    sed -i "s|'./sampling.js'|'$share/javascript/sampling.js'|" "$dir/bindings/token.js"
    prints token.js env NODE_PATH="$modules" node token.js
else
    echo "package: SKIPPED javascript, there is no node, or no koffi (make test-bindings fetches it)"
fi

make install DESTDIR="$dir/stage" PREFIX=/usr > "$dir/log"
(cd "$dir/stage" && find . ! -type d | sort) > "$dir/installed"
for f in include/sampling.h include/sampling_gpu.h include/sampling.hpp share/sampling/python/sampling.py \
    share/sampling/python/sampling.pyi share/sampling/javascript/sampling.js share/sampling/javascript/sampling.d.ts lib/libsampling.a lib/libsampling.so lib/pkgconfig/sampling.pc \
    lib/cmake/sampling/sampling-config.cmake share/man/man3/sampling.3; do
    grep -qx "./usr/$f" "$dir/installed" || fail "not installed: $f"
done
# The manual page: each function and macro that the header's opening lists has an entry, and a terminal's width is enough.
manual=$dir/stage/usr/share/man/man3/sampling.3
sed -n '/^   FUNCTIONS/,/^   EXAMPLE/p; /^   MACROS/,/^   ERRORS/p' sampling.h | sed -n 's/^       \([A-Za-z][A-Za-z0-9_]*\).*/\1/p' > "$dir/listed"
[ "$(grep -c SAMP "$dir/listed")" -ge 15 ] || fail "the header's opening lists no macros"
while read -r name; do
    awk -v name="$name" 'bold && index($0, ".B " name) == 1 { found = 1 } { bold = /^\.TP/ } END { exit !found }' "$manual" ||
        fail "sampling(3) has no entry of $name"
done < "$dir/listed"
if command -v man > /dev/null; then
    warnings=$(LC_ALL=C MANWIDTH=80 man --warnings -l "$manual" 2>&1 > "$dir/page")
    [ -z "$warnings" ] && grep -q SYNOPSIS "$dir/page" || fail "sampling(3): $warnings"
    wide=$(awk 'length > 80' "$dir/page")
    [ -z "$wide" ] || fail "sampling(3): wider than 80 columns: $wide"
fi
if command -v mandoc > /dev/null; then mandoc -Tlint -Werror "$manual" > "$dir/log" || fail "sampling(3): $(cat "$dir/log")"; fi
make uninstall DESTDIR="$dir/stage" PREFIX=/usr > "$dir/log"
[ -z "$(find "$dir/stage" ! -type d)" ] || fail "not uninstalled: $(find "$dir/stage" ! -type d)"

# CMake: a project with the block in it, and this folder in it as sampling.h
project() { # way, source, CMake's arguments
    mkdir -p "$dir/$1"
    way=$1
    cp "$2" "$dir/$way/app.c"
    printf 'cmake_minimum_required(VERSION 3.18)\nproject(app C)\nadd_executable(app app.c)\ninclude(block.cmake)\n' > "$dir/$way/CMakeLists.txt"
    cp "$dir/blocks/$way.cmake" "$dir/$way/block.cmake"
    ! grep -q "sampling\.h" "$dir/$way/block.cmake" || ln -s "$root" "$dir/$way/sampling.h"
    shift 2
    quiet cmake -S "$dir/$way" -B "$dir/$way/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER="$CC" "$@"
    quiet cmake --build "$dir/$way/build"
    check "$way" "$dir/$way/build/app"
}
if command -v cmake > /dev/null; then
    project find "$dir/app.c" -DCMAKE_PREFIX_PATH="$dir/here/usr"
    echo 'find_package(sampling 99 QUIET)
if(sampling_FOUND)
  message(FATAL_ERROR "any version will do")
endif()' >> "$dir/find/CMakeLists.txt"
    quiet cmake -S "$dir/find" -B "$dir/find/build"
    project subdirectory "$dir/blocks/quick.c"
    # a program that is built with -Ofast, and the library in a file of its own, which the README's line exempts
    mkdir "$dir/own"
    printf '#define SAMPLING_GRAMMAR\n#define SAMPLING_IMPLEMENTATION\n#include "sampling.h"\n' > "$dir/own/sampling.c"
    options=$(tr '\n' ' ' < README.md | grep -o 'set_source_files_properties([^)]*)')
    printf '%s\ntarget_sources(app PRIVATE sampling.c)\ntarget_link_libraries(app m)\n' "$options" > "$dir/blocks/own.cmake"
    own() { project own "$dir/app.c" -DCMAKE_C_FLAGS="-Ofast -I$root"; }
    own
    sed -i /COMPILE_OPTIONS/d "$dir/blocks/own.cmake"
    if (own) > "$dir/log" 2>&1 || ! grep -q 'add -fno-fast-math' "$dir/log"; then fail "-Ofast is not refused with what to do"; fi
    project fetch "$dir/app.c"
    if command -v git > /dev/null; then # and what the page says to write for a clone
        mkdir -p "$dir/git/src"
        cp sampling.h "$dir/git" && cp -r src/package "$dir/git/src"
        (cd "$dir/git" && git init -q . && git add . && git -c user.name=x -c user.email=x commit -qm x)
        clone="GIT_REPOSITORY file://$dir/git GIT_TAG $(git -C "$dir/git" rev-parse HEAD)"
        sed "s|SOURCE_DIR [^ ]*|$clone|" "$dir/blocks/fetch.cmake" > "$dir/blocks/clone.cmake"
        project clone "$dir/app.c"
    else
        echo "package: SKIPPED a clone by FetchContent, there is no git"
    fi
else
    echo "package: SKIPPED CMake, it is not there"
fi
echo "package: the program prints the README's tokens by $ways; $(wc -l < "$dir/exports") names are exported, all samp_"
