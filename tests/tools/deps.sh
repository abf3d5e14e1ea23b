#!/bin/sh
# What targets need beyond gcc and make.   deps.sh check|install WHAT: is it all there, or get what is missing.
# WHAT is test (what make test uses), ci (what make ci uses besides), mpi (make test-mpi), wasm (make play), play (make
# test-play), ports (make test-ports), windows (make test-msvc), compilers (make test-flags-long), plots (make plots), ship (make ship-test), site (make site),
# go (make test-regex-suite), valgrind, npm, or gcc-offload-nvptx, gcc-offload-amdgcn.
set -eu

# A package, and how to see that it is there.
test_list() {
    cat <<'EOF'
libcmocka-dev            test -e /usr/include/cmocka.h
g++                      command -v g++
EOF
}
ci_list() {
    test_list
    cat <<'EOF'
libomp-dev               ls /usr/lib/llvm-*/lib/libomp.so
clang-tidy               command -v clang-tidy
cppcheck                 command -v cppcheck
gcc-aarch64-linux-gnu    command -v aarch64-linux-gnu-gcc
libc6-dev-arm64-cross    test -e /usr/aarch64-linux-gnu/include/stdio.h
qemu-user                command -v qemu-aarch64
python3                  command -v python3
python3-venv             python3 -c "import ensurepip, venv"
python3-numpy            /usr/bin/python3 -c "import numpy"
cmake                    command -v cmake
pkg-config               command -v pkg-config
gcc-i686-linux-gnu       command -v i686-linux-gnu-gcc
libc6-dev-i386-cross     test -e /usr/i686-linux-gnu/include/stdio.h
gcc-arm-linux-gnueabihf  command -v arm-linux-gnueabihf-gcc
libc6-dev-armhf-cross    test -e /usr/arm-linux-gnueabihf/include/stdio.h
gcc-s390x-linux-gnu      command -v s390x-linux-gnu-gcc
libc6-dev-s390x-cross    test -e /usr/s390x-linux-gnu/include/stdio.h
musl-tools               command -v musl-gcc
EOF
    windows_list
    mpi_list
    play_list
    valgrind_list
    npm_list
    plots_list
}
# what make ship-test uses besides
go_list() { echo "golang-go command -v go"; }
site_list() { echo "pandoc command -v pandoc"; }
ship_list() {
    site_list
    go_list
    play_list
    npm_list
    cat <<'EOF'
python3                  command -v python3
cmake                    command -v cmake
python3-venv             python3 -c "import ensurepip, venv"
gcc-aarch64-linux-gnu    command -v aarch64-linux-gnu-gcc
libc6-dev-arm64-cross    test -e /usr/aarch64-linux-gnu/include/stdio.h
qemu-user                command -v qemu-aarch64
cargo                    command -v cargo
meson                    command -v meson
ninja-build              command -v ninja
abigail-tools            command -v abidiff
EOF
}
windows_list() {
    cat <<'EOF'
clang                    command -v clang
gcc-mingw-w64-x86-64-win32 command -v x86_64-w64-mingw32-gcc
wine64                   test -e /usr/lib/wine/wine64
EOF
}
wasm_list() {
    cat <<'EOF'
clang                    command -v clang
lld                      command -v wasm-ld || ls /usr/lib/llvm-*/bin/wasm-ld
wasi-libc                test -e /usr/lib/wasm32-wasi/libc.a
libclang-rt-14-dev-wasm32 ls /usr/lib/llvm-14/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a
EOF
}
play_list() {
    wasm_list
    cat <<'EOF'
nodejs                   command -v node
chromium-headless-shell  command -v chromium || command -v chromium-headless-shell
EOF
}
mpi_list() {
    cat <<'EOF'
libopenmpi-dev           command -v mpicc
openmpi-bin              command -v mpirun
EOF
}
ports_list() {
    ci_list
    cat <<'EOF'
gcc-riscv64-linux-gnu    command -v riscv64-linux-gnu-gcc
libc6-dev-riscv64-cross  test -e /usr/riscv64-linux-gnu/include/stdio.h
gcc-powerpc64le-linux-gnu command -v powerpc64le-linux-gnu-gcc
libc6-dev-ppc64el-cross  test -e /usr/powerpc64le-linux-gnu/include/stdio.h
gcc-powerpc64-linux-gnu  command -v powerpc64-linux-gnu-gcc
libc6-dev-ppc64-cross    test -e /usr/powerpc64-linux-gnu/include/stdio.h
gcc-mips64el-linux-gnuabi64 command -v mips64el-linux-gnuabi64-gcc
libc6-dev-mips64el-cross test -e /usr/mips64el-linux-gnuabi64/include/stdio.h
EOF
}
valgrind_list() { echo "valgrind command -v valgrind"; }
npm_list() { echo "npm command -v npm && command -v node"; }
plots_list() { echo "gnuplot-nox command -v gnuplot"; }
# Every compiler of the two families that Debian 12 has.
compilers_list() {
    echo "gcc-i686-linux-gnu command -v i686-linux-gnu-gcc"
    for c in gcc-11 clang-13 clang-15 clang-16 clang-19 clang-22; do echo "$c command -v $c"; done
}
offload() { echo "$1 ls -d \$(dirname \$(gcc -print-prog-name=cc1))/accel/${1#gcc-offload-}*"; }

missing=$(case $2 in test | ci | mpi | wasm | play | ports | windows | compilers | plots | valgrind | npm | ship | site | go) "$2_list" ;; *) offload "$2" ;; esac | while read -r package probe; do
    sh -c "$probe" > /dev/null 2>&1 || printf '%s ' "$package"
done)

if [ -z "$missing" ]; then
    [ "$1" = check ] || echo "deps: everything is there"
    exit 0
fi
[ "$1" = install ] || exit 1

command -v apt-get > /dev/null || { echo "deps: no apt-get here; please install what Debian calls $missing" >&2; exit 1; }
echo "deps: installing with apt-get: $missing"
as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo > /dev/null || { echo "deps: not root and no sudo; please install: $missing" >&2; exit 1; }
    as_root=sudo
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $missing
