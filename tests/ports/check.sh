#!/bin/sh
# Does a port give the tokens in digest.txt, with each of its instruction sets?
# Usage: check.sh NAME COMMAND ...   where COMMAND runs digest.c there (./digest, qemu-arm ./digest, node wasi.mjs digest.wasm)
set -eu
port=$1
shift
here=$(dirname "$0")
checked=
for isa in scalar generic sse2 avx2 avx512 neon wasm; do
    status=0
    tokens=$("$@" $isa 2> /dev/null) || status=$?
    [ $status != 2 ] || continue # not there
    if [ $status != 0 ] || [ "$tokens" != "$(cat "$here/digest.txt")" ]; then
        echo "$port, $isa: other tokens than everywhere (digest.txt is on the left)" >&2
        echo "$tokens" | diff "$here/digest.txt" - >&2 || true
        exit 1
    fi
    checked="$checked $isa"
done
[ -n "$checked" ] || { echo "$port: the digest does not run there" >&2; exit 1; }
echo "$port: the same tokens as everywhere, with$checked"
