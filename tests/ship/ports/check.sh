#!/bin/sh
# Does a port give the tokens in digest.txt, with each of its instruction sets?
# Usage: check.sh NAME COMMAND ...   where COMMAND runs digest.c there (./digest, qemu-arm ./digest, node wasi.mjs digest.wasm)
# DIGEST_LINES=2: only so many lines of chains. DIGEST_CPU=x86: the port must have each vector set that this CPU has.
set -eu
port=$1
shift
here=$(dirname "$0")
lines=${DIGEST_LINES:-40}
want=$(head -n "$((3 + lines))" "$here/digest.txt")
checked=
must=
flags=" $(sed -n '/^flags/ { s/.*://p; q; }' /proc/cpuinfo 2> /dev/null || true) "
has() { # do the CPU's flags name all of these?
    for flag; do case $flags in *" $flag "*) ;; *) return 1 ;; esac done
}
if [ "${DIGEST_CPU:-}" = x86 ]; then
    must=sse2
    if has avx2 fma f16c bmi1 bmi2 popcnt; then
        must="$must avx2"
        if has avx512f avx512bw avx512dq avx512vl; then must="$must avx512"; fi
    fi
fi
for isa in scalar generic sse2 avx2 avx512 neon wasm; do
    status=0
    tokens=$("$@" $isa "$lines" 2> /dev/null) || status=$?
    [ $status != 2 ] || continue # not there
    tokens=$(printf '%s' "$tokens" | tr -d '\r')
    if [ $status != 0 ] || [ "$tokens" != "$want" ]; then
        echo "$port, $isa: other tokens than everywhere (digest.txt is on the left)" >&2
        echo "$tokens" | diff "$here/digest.txt" - >&2 || true
        exit 1
    fi
    checked="$checked $isa"
done
for isa in $must; do
    case " $checked " in *" $isa "*) ;; *) echo "$port: $isa is not there, but this CPU has it" >&2; exit 1 ;; esac
done
[ -n "$checked" ] || { echo "$port: the digest does not run there" >&2; exit 1; }
echo "$port: the same tokens as everywhere, with$checked"
