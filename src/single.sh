#!/bin/sh
# single.sh - sampling.h with some of its parts alone.
#
#     sh src/single.sh "grammar kv" "mt19937 avx512" my.h          make single PARTS="grammar kv" NO="mt19937 avx512" OUT=my.h
#
# PARTS: core (none), grammar, constraints, peers, drafts, gumbel, watermark, stop, kv, shards, vocab,
# llama, search (with gumbel). NO: mt19937
# (llama.cpp's arithmetic), operator, avx512, avx2, sse2, neon, wasm.
# A part is asked for with its macro as ever (SAMPLING_GRAMMAR); that of a part which is not there is an error that says so. Comments
# of rooms stay behind, but for the contracts: they are for those who work in src/.
set -eu
cd "$(dirname "$0")/.."
parts=$1 no=$2 out=$3
fail() { echo "make single: $1" >&2; exit 2; }
[ -n "$out" ] || fail 'OUT=file, where the header is to go'
all="grammar constraints peers drafts gumbel watermark stop kv shards vocab llama search"
case " $parts " in *" search "*) parts="$parts gumbel" ;; esac

for part in $parts; do
    case " core $all " in *" $part "*) ;; *) fail "no part is called $part: core $all" ;; esac
done
without=
for part in $all; do
    case " $parts " in *" $part "*) ;; *) without="$without SAMPLING_$(echo "$part" | tr a-z A-Z)" ;; esac
done
skip=
case " $parts " in
*" grammar "* | *" peers "* | *" vocab "*) ;;
*) skip="$skip api/text_error.h text/reading.h text/strings.h text/values.h text/documents.h" ;;
esac
case " $parts " in
*" constraints "* | *" stop "*) ;;
*) skip="$skip text/automaton.h grammar/patterns.h" ;;
esac

with=
for what in $no; do
    case $what in
    avx512) with="$with SAMP_NO_AVX512" skip="$skip kernels/avx512.h" ;;
    avx2) with="$with SAMP_NO_AVX2 SAMP_NO_AVX512" skip="$skip kernels/avx2.h kernels/avx512.h" ;;
    sse2) with="$with SAMP_NO_SSE2" skip="$skip kernels/sse2.h" ;;
    neon) with="$with SAMP_NO_NEON" skip="$skip kernels/neon.h" ;;
    mt19937) with="$with SAMP_NO_MT19937" ;;
    operator) with="$with SAMP_NO_OPERATOR" ;;
    wasm) with="$with SAMP_NO_WASM" skip="$skip kernels/wasm.h" ;;
    *) fail "nothing is called $what: mt19937 operator avx512 avx2 sse2 neon wasm" ;;
    esac
done

awk -v dir=src -v bare=1 -v without="$without" -v with="$with" -v skip="$skip" -f src/headers.awk src/sampling.h > "$out"
