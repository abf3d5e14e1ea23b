#!/bin/sh
# run.sh - build and run the comparison with llama.cpp.
#
#   sh tests/ship/parity/run.sh                      from the top of the repository
#
# Environment: PARITY_TOKENS  sampled tokens to compare, 1000000
#              PARITY_JOBS    processes, 2
#              PARITY_SEED    another seed is another test, 1
#              PARITY_DIR     where to build and keep the peer, build/parity
#              CC, CFLAGS     the compiler, and flags besides -O2 -std=c11
# Exit 0 if nothing differs, 77 if the peer can't be had here, else 1.
set -u

here=tests/ship/parity
dir=${PARITY_DIR:-build/parity}
seed=${PARITY_SEED:-1}
flags="-O2 -std=c11 -Wall -Wextra -I. ${CFLAGS:-}"

mkdir -p "$dir" || exit 1
# shellcheck disable=SC2086
${CC:-cc} $flags -o "$dir/parity" "$here/parity.c" -lm -ldl || exit 1

library=$(sh "$here/fetch.sh" "$dir") || exit $?
echo "== SAMP_RNG_MT19937 against llama.cpp"
"$dir/parity" "$library" --tokens "${PARITY_TOKENS:-1000000}" --jobs "${PARITY_JOBS:-2}" --seed "$seed" || exit 1
