#!/bin/sh
# What the tests need beyond gcc and make.   deps.sh check|install WHAT: is it all there, or get what is missing.
# WHAT is test (what make test uses), ci (what make ci uses besides), or gcc-offload-nvptx, gcc-offload-amdgcn.
set -eu

# A package, and how to see that it is there.
test_list() {
    cat <<'EOF'
libcmocka-dev            test -e /usr/include/cmocka.h
g++                      command -v g++
clang                    command -v clang
libomp-dev               ls /usr/lib/llvm-*/lib/libomp.so
EOF
}
ci_list() {
    test_list
    cat <<'EOF'
valgrind                 command -v valgrind
gcc-aarch64-linux-gnu    command -v aarch64-linux-gnu-gcc
libc6-dev-arm64-cross    test -e /usr/aarch64-linux-gnu/include/stdio.h
qemu-user                command -v qemu-aarch64
lld                      command -v wasm-ld || ls /usr/lib/llvm-*/bin/wasm-ld
wasi-libc                test -e /usr/lib/wasm32-wasi/libc.a
libclang-rt-14-dev-wasm32 ls /usr/lib/llvm-14/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a
nodejs                   command -v node
npm                      command -v npm
python3                  command -v python3
EOF
}
offload() { echo "$1 ls -d \$(dirname \$(gcc -print-prog-name=cc1))/accel/${1#gcc-offload-}*"; }

missing=$(case $2 in test) test_list ;; ci) ci_list ;; *) offload "$2" ;; esac | while read -r package probe; do
    sh -c "$probe" > /dev/null 2>&1 || printf '%s ' "$package"
done)

if [ -z "$missing" ]; then
    [ "$1" = check ] || echo "deps: everything is there"
    exit 0
fi
[ "$1" = install ] || exit 1

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
