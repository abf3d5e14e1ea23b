#!/bin/sh
# The arithmetic's vectors, from every compiler, optimisation and language, and on arm64. Usage: math_matrix.sh DIR
set -eu
dir=$1
mkdir -p "$dir"
n=0
vectors() { # how to run it, then the compiler and its flags
    run=$1
    shift
    "$@" -DSAMP_TEST_PLAIN -I. tests/unit/test_math.c -o "$dir/vectors" -lm
    $run "$dir/vectors" > "$dir/vectors.log" || { echo "math: $*" >&2; tail -n 5 "$dir/vectors.log" >&2; exit 1; }
    n=$((n + 1))
}
for c in $COMPILERS; do
    for flags in -O0 -O1 "-O3 -march=native -ffp-contract=fast" "-O2 -DSAMP_NO_SIMD -DSAMPI_PORTABLE_128"; do
        # shellcheck disable=SC2086
        vectors "" "$c" -std=gnu11 $flags
    done
    vectors "" "$c" -std=c11 -O2 -ffp-contract=off
done
vectors "" g++ -std=gnu++11 -O3 -march=native -ffp-contract=fast -x c++
if command -v aarch64-linux-gnu-gcc > /dev/null && command -v qemu-aarch64 > /dev/null; then
    for flags in -O0 "-O3 -ffp-contract=fast"; do
        # shellcheck disable=SC2086
        vectors qemu-aarch64 aarch64-linux-gnu-gcc -static -std=gnu11 $flags
    done
else
    echo "math: no arm64 compiler or qemu here, x86-64 only"
fi
echo "math: $n builds, $(tail -n 1 "$dir/vectors.log")"
