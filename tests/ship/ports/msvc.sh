#!/bin/sh
# Would the header compile for Windows with Microsoft's library? As clang does it, and as far as clang can tell, as cl.exe
# does: without gcc's extensions, each of which is an error then. Syntax only: neither headers, linker nor cl.exe are here.
# Usage: msvc.sh DIR
set -eu
dir=$1
here=$(dirname "$0")
mkdir -p "$dir"
printf '#define SAMPLING_KV\n#define SAMPLING_IMPLEMENTATION\n#include "sampling.h"\n' > "$dir/msvc.c"
cp "$dir/msvc.c" "$dir/msvc.cpp"
n=0
try() { # what for, flags
    what=$1
    shift
    for source in msvc.c msvc.cpp; do
        case $source in *.c) std=c11 ;; *) std=c++14 ;; esac
        clang -std=$std -ffreestanding -fsyntax-only -fms-compatibility -isystem "$here/msvc" -I. -Wall -Wextra \
            -Wno-unused-function -Werror "$@" "$dir/$source" || { echo "msvc: $what, $source" >&2; exit 1; }
        n=$((n + 1))
    done
}
for machine in x86_64 i686 aarch64; do
    sse=
    [ $machine != i686 ] || sse=-msse2 # which clang-cl adds by itself
    try "clang for $machine-pc-windows-msvc" --target=$machine-pc-windows-msvc $sse
    # cl.exe says neither __clang__ nor what clang knows of the machine
    try "cl.exe for $machine" --target=$machine-pc-windows-msvc $sse -U__clang__ -U__x86_64__ -U__i386__ -U__aarch64__ \
        -U__SSE2__ -U__SIZEOF_INT128__ -U__BYTE_ORDER__ -U__FLT_EVAL_METHOD__ -Wno-builtin-macro-redefined \
        -Wgnu -Wpedantic -Wno-unknown-pragmas -Wno-ignored-pragmas
done
for bad in "-U__clang__ -D_M_FP_FAST" "-U__clang__ -U__FLT_EVAL_METHOD__ -U_M_IX86_FP -D_M_IX86_FP=0"; do
    # shellcheck disable=SC2086
    if clang --target=i686-pc-windows-msvc -ffreestanding -fsyntax-only -isystem "$here/msvc" -I. -Wno-builtin-macro-redefined \
        $bad "$dir/msvc.c" 2> "$dir/msvc.log" || ! grep -q 'error: "sampling.h: ' "$dir/msvc.log"; then
        echo "msvc: $bad should be refused" >&2
        exit 1
    fi
done
echo "msvc: $n compilations of syntax; /fp:fast and x87 are refused (cl.exe itself was not tried)"
