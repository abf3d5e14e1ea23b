#!/bin/sh
# Compile the implementation; any warning is an error. Usage:
#   compile.sh DIR         with each of $COMPILERS, language and switch
#   compile.sh DIR quick   as C11 and C++11 with $CC and $CXX, once
set -eu
dir=$1
mkdir -p "$dir"

cat > "$dir/one.c" <<'EOF'
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "sampling.h"
int one(void);
int one(void)
{
    samp_params params = samp_default_params();
    samp_sampler *chain = samp_chain_from_params(&params, NULL);
    float logits[3] = { 1.0f, 3.0f, 2.0f };
    int token = (int)samp_sample(chain, logits, 3);
    samp_free(chain);
    return token;
}
EOF
cat > "$dir/two.c" <<'EOF'
#include "sampling.h"
int one(void);
int main(void) { return one() < 0 || samp_strerror(SAMP_OK)[0] != 'o'; }
EOF
cat > "$dir/static.c" <<'EOF'
#define SAMPLING_STATIC
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
int one(void);
int one(void) { return samp_init_top_k(1) == NULL; }
EOF
cat > "$dir/gpu.c" <<'EOF'
#define SAMPLING_STATIC
#define SAMPLING_IMPLEMENTATION
#include "sampling_gpu.h"
#include "sampling.h"
#include "sampling_gpu.h"
int gpu(void);
int gpu(void) { return samp_gpu_available(); }
EOF
sed 's/int one(void);/extern "C" int one(void);/' "$dir/one.c" > "$dir/one.cpp"
sed 's/int one(void);/extern "C" int one(void);/' "$dir/two.c" > "$dir/two.cpp"
sed 's/int one(void);/extern "C" int one(void);/' "$dir/static.c" > "$dir/static.cpp"
cp "$dir/gpu.c" "$dir/gpu.cpp"

warn="-Wall -Wextra -Wpedantic -Wshadow -Wundef -Wvla -Werror -I."
build() { # compiler, standard, suffix, optimisation, further flags
    # shellcheck disable=SC2086
    "$1" -std="$2" $warn $4 ${5:-} -c "$dir/one.$3" -o "$dir/one.o"
    "$1" -std="$2" $warn $4 ${5:-} -c "$dir/two.$3" -o "$dir/two.o"
    "$1" -std="$2" $warn $4 ${5:-} -c "$dir/static.$3" -o "$dir/static.o"
    "$1" -std="$2" $warn $4 ${5:-} -c "$dir/gpu.$3" -o "$dir/gpu.o"
    # shellcheck disable=SC2086
    "$1" $4 "$dir/one.o" "$dir/two.o" -o "$dir/run" -lm
    "$dir/run"
    # shellcheck disable=SC2086
    "$1" $4 "$dir/static.o" "$dir/two.o" "$dir/one.o" -o "$dir/run" -lm 2> /dev/null && {
        echo "compile: static and extern copies should clash only in one()" >&2; exit 1; }
    n=$((n + 1))
}

n=0
if [ "${2:-}" = quick ]; then
    build "$CC" c11 c -O1
    build "$CXX" c++11 cpp -O1
    echo "compile: both headers as C11 ($CC) and C++11 ($CXX) without a warning; make test-compile tries more"
    exit 0
fi
for c in $COMPILERS; do
    case $c in gcc) cxx=g++ ;; clang) cxx=clang++ ;; *) cxx=c++ ;; esac
    for opt in -O0 -O2 "-O3 -march=native"; do
        for std in c11 gnu11 c17; do build "$c" $std c "$opt"; done
        for std in c++11 gnu++17 c++20; do build "$cxx" $std cpp "$opt"; done
    done
    build "$c" c11 c "-O2 -fopenmp" -fPIC
    for opt in -O0 "-O3 -march=native"; do
        build "$c" c11 c "$opt" -DSAMPLING_KV
        build "$cxx" c++11 cpp "$opt" -DSAMPLING_KV
    done
    for bad in -ffast-math -Ofast -ffinite-math-only; do
        if "$c" -std=c11 $bad -I. -c "$dir/one.c" -o "$dir/bad.o" 2> "$dir/bad.log"; then
            echo "compile: $c $bad should be refused" >&2
            exit 1
        fi
        grep -q 'without -ffast-math' "$dir/bad.log"
    done
done
echo "compile: $n builds without a warning ($(echo $COMPILERS)); -ffast-math is refused"
