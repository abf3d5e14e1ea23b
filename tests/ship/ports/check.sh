#!/bin/sh
# Does a port give the tokens in digest.txt, with each of its instruction sets?
# Usage: check.sh NAME COMMAND ...   where COMMAND runs digest.c there (./digest, qemu-arm ./digest, node wasi.mjs digest.wasm)
# DIGEST_LINES=2: only so many lines of chains.
set -eu
port=$1
shift
here=$(dirname "$0")
lines=${DIGEST_LINES:-40}
want=$(head -n "$((3 + lines))" "$here/digest.txt")
checked=
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
[ -n "$checked" ] || { echo "$port: the digest does not run there" >&2; exit 1; }
echo "$port: the same tokens as everywhere, with$checked"
