#!/bin/sh
# What is left out of a sampler's row costs time, but is right: slices give one machine's tokens with a header whose table
# of kinds has no plans, or no flag that tells what a plan does. Usage: slow_ways.sh DIR plans|flags
set -eu
dir=$1
CC=${CC:-cc}

# slow WHAT FEWEST SCRIPT: test_shards with the header as the sed script makes it, which changes so many lines at least
slow() {
    mkdir -p "$dir/$1"
    sed "$3" sampling.h > "$dir/$1/sampling.h"
    changed=$(diff sampling.h "$dir/$1/sampling.h" | grep -c '^>' || true)
    [ "$changed" -ge "$2" ] || { echo "slow_ways: $1 changes $changed lines of sampling.h: has the table another form?" >&2; exit 1; }
    "$CC" -std=c11 -O0 -w -DSAMP_NO_SIMD -I"$dir/$1" -I. tests/unit/test_shards.c -o "$dir/$1/test_shards" -lcmocka -lm -lpthread
    "$dir/$1/test_shards" 'test_random*'
}

no_plans() {
    slow plans 20 '/^#define SAMPI_KINDS(X)/,/SBW/ { /, patch)/!s/\(X([A-Z_0-9]*, \)[a-z_0-9]*)/\1none)/; }
        s/X(GUMBEL, gumbel)/X(GUMBEL, none)/'
}
no_flags() {
    slow flags 8 '/What its plan does/,/^};/ s/\(SAMPI_[A-Z_]* = \)0x[0-9]*/\10/
        s/wants = sampi_needs_squares(s->kind)/wants = false/'
}
"no_${2}"
