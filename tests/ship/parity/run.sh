#!/bin/sh
# run.sh - build and run the comparison with llama.cpp, and that of the default arithmetic with long double.
#
#   sh tests/ship/parity/run.sh                      from the top of the repository
#
# Environment: PARITY_TOKENS  sampled tokens to compare, 1000000
#              PARITY_ROWS    rows for the precision of each sampler, 20000
#              PARITY_JOBS    processes, 2
#              PARITY_SEED    another seed is another test, 1
#              PARITY_DIR     where to build and keep the peer, build/parity
#              CC, CFLAGS     the compiler, and flags besides -O2 -std=c11
# Exit 0 if nothing differs, 77 if the peer can't be had here (and the rest is fine), else 1.
set -u

here=tests/ship/parity
dir=${PARITY_DIR:-build/parity}
seed=${PARITY_SEED:-1}
flags="-O2 -std=c11 -Wall -Wextra -I. ${CFLAGS:-}"
status=0

mkdir -p "$dir" || exit 1
for program in parity precision; do
    # shellcheck disable=SC2086
    ${CC:-cc} $flags -o "$dir/$program" "$here/$program.c" -lm -ldl || exit 1
done

library=$(sh "$here/fetch.sh" "$dir")
got=$?
[ $got -eq 0 ] || [ $got -eq 77 ] || exit 1

echo "== our default arithmetic against long double"
"$dir/precision" --rows "${PARITY_ROWS:-20000}" --seed "$seed" ${library:+--peer "$library"} || status=1

if [ $got -eq 0 ]; then
    echo
    echo "== SAMP_RNG_MT19937 against llama.cpp"
    "$dir/parity" "$library" --tokens "${PARITY_TOKENS:-1000000}" --jobs "${PARITY_JOBS:-2}" --seed "$seed" ||
        status=1
elif [ $status -eq 0 ]; then
    status=77
fi
exit $status
