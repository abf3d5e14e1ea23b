#!/bin/sh
# Would the header compile for Windows with Microsoft's library? As clang does it, and as far as clang can tell, as cl.exe
# does: without gcc's extensions, each of which is an error then. And do both give the tokens in digest.txt? For that clang's
# object files for x86_64 are linked with mingw-w64's C library, and run by wine. Microsoft's headers, its linker and cl.exe
# are not here. Usage: msvc.sh DIR
set -eu
dir=$1
here=$(dirname "$0")
mkdir -p "$dir"
for part in GUMBEL KV GRAMMAR SHARDS PEERS DRAFTS CONSTRAINTS WATERMARK STOP VOCAB SEARCH; do echo "#define SAMPLING_$part"; done > "$dir/msvc.c"
printf '#define SAMPLING_IMPLEMENTATION\n#include "sampling.h"\n' >> "$dir/msvc.c"
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
# cl.exe says neither __clang__ nor what clang knows of the machine
cl="-U__clang__ -U__x86_64__ -U__i386__ -U__aarch64__ -U__SSE2__ -U__SIZEOF_INT128__ -U__BYTE_ORDER__ -U__FLT_EVAL_METHOD__
    -Wno-builtin-macro-redefined -Wgnu -Wpedantic -Wno-unknown-pragmas -Wno-ignored-pragmas"
for machine in x86_64 i686 aarch64; do
    sse=
    [ $machine != i686 ] || sse=-msse2 # which clang-cl adds by itself
    try "clang for $machine-pc-windows-msvc" --target=$machine-pc-windows-msvc $sse
    # shellcheck disable=SC2086
    try "cl.exe for $machine" --target=$machine-pc-windows-msvc $sse $cl
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

# At -O0 each vector goes over the stack, so a stack that is aligned too little is noticed.
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
x86_64-w64-mingw32-gcc -O0 -std=c11 -I. -DDIGEST_LINKED -D__USE_MINGW_ANSI_STDIO=1 -c "$here/digest.c" -o "$dir/digest.o"
run() { # name, of which CPU the sets must be there, flags
    name=$1 cpu=$2
    shift 2
    clang --target=x86_64-pc-windows-msvc -O0 -std=c11 -c -ffreestanding -fms-compatibility -isystem "$here/msvc" -I. \
        -DSAMPLING_KV -DSAMPLING_IMPLEMENTATION "$@" -x c sampling.h -o "$dir/$name.o"
    x86_64-w64-mingw32-gcc -static -Wl,--defsym,__chkstk=___chkstk_ms,--defsym,_fltused=0 "$dir/digest.o" "$dir/$name.o" \
        -o "$dir/$name.exe"
    DIGEST_CPU=$cpu DIGEST_LINES=2 sh "$here/check.sh" "msvc, as $name.exe compiles" \
        env WINEDEBUG=-all WINEPREFIX="$PWD/$dir/wine" "$wine" "$dir/$name.exe"
}
run clang-cl x86
# shellcheck disable=SC2086
run cl "" $cl
