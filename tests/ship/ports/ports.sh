#!/bin/sh
# Every machine that there is a compiler and a way to run for: the README's quick start, the arithmetic's vectors, the
# digest, which is the same everywhere, and random chains by both executors. Usage: ports.sh DIR short|full [NAME ...]
#   short    for make ci: only the ports it installs compilers for and has nowhere else, little of the digest, and no
#            chains but those in it
#   NAME     only these ports
# What can't be tried here is told as SKIPPED; with short it is an error.
set -eu
dir=$1 size=$2
shift 2
here=$(dirname "$0")
node="node $here/wasi.mjs"
wine="env WINEDEBUG=-all WINEPREFIX=$PWD/$dir/wine $(command -v wine64 || echo /usr/lib/wine/wine64)"
mkdir -p "$dir"

# Name, does make ci try it (make test-digest, test-wasm and test-arm64 are there too), how to run a program, the compiler
# and its flags.
ports() {
    # clang finds all of mingw-w64 but gcc's own library
    mingw="--target=x86_64-w64-mingw32 -L$(dirname "$(x86_64-w64-mingw32-gcc -print-libgcc-file-name 2> /dev/null)")"
    wasi="--target=wasm32-wasi -D_WASI_EMULATED_PROCESS_CLOCKS -lwasi-emulated-process-clocks"
    cat <<END
x86-64      full  |                  | gcc
plain-c     short |                  | gcc -pedantic-errors -DSAMPI_GNU=0 -DSAMPI_PORTABLE_128
musl        short |                  | musl-gcc -static
i386        short | qemu-i386        | i686-linux-gnu-gcc -static -msse2 -mfpmath=sse
i386-plain  full  | qemu-i386        | i686-linux-gnu-gcc -static -msse2 -mfpmath=sse -DSAMP_NO_SIMD
windows     short | $wine            | x86_64-w64-mingw32-gcc -static -D__USE_MINGW_ANSI_STDIO=1
windows-clang short | $wine          | clang $mingw -static -D__USE_MINGW_ANSI_STDIO=1
arm64       full  | qemu-aarch64     | aarch64-linux-gnu-gcc -static
armhf       short | qemu-arm         | arm-linux-gnueabihf-gcc -static
s390x       short | qemu-s390x       | s390x-linux-gnu-gcc -static -std=gnu11
riscv64     full  | qemu-riscv64     | riscv64-linux-gnu-gcc -static
ppc64le     full  | qemu-ppc64le     | powerpc64le-linux-gnu-gcc -static
ppc64       full  | qemu-ppc64       | powerpc64-linux-gnu-gcc -static
mips64el    full  | qemu-mips64el    | mips64el-linux-gnuabi64-gcc -static
wasm32      full  | $node            | clang $wasi
wasm32-simd full  | $node            | clang -msimd128 $wasi
END
}

# How much of the digest, how many random chains.
if [ "$size" = full ]; then lines=40 cases=2000 level=-O2; else lines=2 cases=0 level=-O1; fi

# The programs of a port; each is one file of C.
build() { # source, program
    # shellcheck disable=SC2086
    $compiler -std=${std:-c11} $level -I. -DSAMP_TEST_PLAIN "$1" -o "$2" -lm ${3:-} 2> "$dir/$name.log" ||
        { head -n 20 "$dir/$name.log" >&2; echo "$name: $1 does not compile" >&2; exit 1; }
}

port() {
    case $compiler in *-std=gnu11*) std=gnu11 ;; *) std=c11 ;; esac
    cpu=
    if [ "$size" != full ]; then level=-O1; fi
    # Vectors of 32 and 64 bytes. At -O0 each one goes over the stack, so a stack that is aligned too little is noticed.
    if [ "$name" = windows-clang ]; then
        cpu=x86
        if [ "$size" != full ]; then level=-O0; fi
    fi
    awk '/^```c quick.c$/ { on = 1; next } /^```$/ && on { exit } on' README.md > "$dir/quick.c"
    want=$(sed -n 's/.*a\.out` prints `\([^`]*\)`.*/\1/p' README.md)
    build "$dir/quick.c" "$dir/$name-quick.exe"
    case $name in i386*) "$dir/$name-quick.exe" > /dev/null 2>&1 && run= ;; esac # most machines run it as it is
    got=$($run "$dir/$name-quick.exe" | tr -d '\r' | sed 's/ *$//')
    [ -n "$want" ] && [ "$want" = "$got" ] || { echo "$name: the quick start prints '$got', not '$want'" >&2; exit 1; }
    now=$level
    [ "$size" = full ] || level=-O0 # only the time to compile it matters
    build tests/unit/test_math.c "$dir/$name-vectors.exe"
    level=$now
    $run "$dir/$name-vectors.exe" > "$dir/$name.log" || { cat "$dir/$name.log" >&2; echo "$name: vectors" >&2; exit 1; }
    build "$here/digest.c" "$dir/$name-digest.exe"
    # shellcheck disable=SC2086
    DIGEST_CPU=$cpu DIGEST_LINES=$lines sh "$here/check.sh" "$name" $run "$dir/$name-digest.exe"
    [ "$cases" -gt 0 ] || return 0
    case $name in wasm32*) echo "$name: random chains: those of the digest, by both executors (no threads there)"; return 0 ;; esac
    build tests/unit/test_fast.c "$dir/$name-chains.exe" -lpthread
    SAMP_TEST_CASES=$cases $run "$dir/$name-chains.exe" random_chains > "$dir/$name.log" 2>&1 ||
        { tail -n 20 "$dir/$name.log" >&2; echo "$name: random chains" >&2; exit 1; }
    echo "$name: random chains, fast path and definition: $(sed -n 's/^  random chains: //p' "$dir/$name.log")"
}

ports > "$dir/list"
done=0
while IFS='|' read -r what run compiler; do
    # shellcheck disable=SC2086
    set -- ${what} "$@"
    name=$1 when=$2
    shift 2
    case " ${*:-all} " in *" all "*) [ "$size" = full ] || [ "$when" = short ] || continue ;; *" $name "*) ;; *) continue ;; esac
    for program in ${compiler%% -*} $run; do
        case $program in env | WINE* | *.mjs) continue ;; esac
        command -v "$program" > /dev/null || program=
        [ -n "$program" ] || break
    done
    if [ -z "$program" ]; then
        echo "$name: SKIPPED, it is not here:${run}or$compiler"
        [ "$size" = full ] || exit 1
        continue
    fi
    port < /dev/null
    done=$((done + 1))
done < "$dir/list"
[ $done -gt 0 ] || { echo "ports: none was tried" >&2; exit 1; }
echo "ports: $done give the same tokens"
