#!/bin/sh
# Symbols exported by the implementation begin with samp_, macros left behind with SAMP or samp_; those of an optional part are
# there only with its macro, the cache alone needs sines, and SAMPLING_LLAMA alone llama.cpp. What can be written to is
# what the headers' openings name. Usage: namespace.sh DIR
set -eu
dir=$1
mkdir -p "$dir"
printf '#define SAMPLING_IMPLEMENTATION\n#include "sampling_gpu.h"\n' > "$dir/all.c"
printf '#define SAMPLING_STATIC\n#define SAMPLING_IMPLEMENTATION\n#include "sampling_gpu.h"\n' > "$dir/static.c"
printf '#include <math.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n' > "$dir/system.c"
printf '#include "sampling_gpu.h"\n' > "$dir/header.c"

libc='mem(cpy|set|move|cmp)|str(len|cspn|chr|n?cmp)|malloc|free|sqrtf?|fmaf?|expf?|logf|log2f|powf?|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__\w+'
# Object, then the globals that may be there: gcc numbers those of functions, and its names for OpenMP begin with a dot.
writable() {
    object=$1
    shift
    nm "$object" | awk '$2 ~ /^[BbDdCcGgSs]$/ { print $3 }' | grep -v '^\.' | sed 's/\.[0-9]*$//; s/.*\.//' | sort > "$dir/globals"
    printf '%s\n' "$@" | sort > "$dir/named"
    if ! diff "$dir/named" "$dir/globals" >&2; then echo "namespace: other globals than the headers name" >&2; exit 1; fi
}
# The core optimised as users have it, the parts in the least time: there a constant is a global, and copysignf a call.
for part in "" -DSAMPLING_KV -DSAMPLING_LLAMA -DSAMPLING_GRAMMAR -DSAMPLING_GUMBEL -DSAMPLING_PEERS -DSAMPLING_SHARDS -DSAMPLING_DRAFTS -DSAMPLING_CONSTRAINTS -DSAMPLING_WATERMARK -DSAMPLING_STOP -DSAMPLING_VOCAB -DSAMPLING_SEARCH; do
    flags=-O1 unoptimised=
    [ -z "$part" ] || flags="-O0 -DSAMP_NO_AVX2 -DSAMP_NO_AVX512" unoptimised=verdict
    # at fixed addresses: else tables of pointers are written to once, by the loader
    # shellcheck disable=SC2086
    "$CC" -std=c11 $flags -fno-pie $part -I. -c "$dir/all.c" -o "$dir/all.o"
    # shellcheck disable=SC2086
    writable "$dir/all.o" last sampi_chosen vectors_agree $unoptimised
    nm -g --defined-only "$dir/all.o" | awk '{ print $3 }' > "$dir/symbols$part"
    [ "$(wc -l < "$dir/symbols$part")" -ge 40 ] || { echo "namespace: symbols are missing" >&2; exit 1; }
    if grep -v '^samp_' "$dir/symbols$part"; then echo "namespace: exported without samp_" >&2; exit 1; fi
    case $part in "") more= ;; *KV) more='|copysignf|sincos|sin|cos' ;; *LLAMA) more='|copysignf|llama_\w+' ;; *) more='|copysignf' ;; esac
    undefined=$(nm -u "$dir/all.o" | awk '{ print $2 }' | grep -vxE "$libc$more" || true)
    if [ -n "$undefined" ]; then echo "namespace: unexpected imports: $undefined" >&2; exit 1; fi
done
all="-DSAMPLING_KV -DSAMPLING_LLAMA -DSAMPLING_GRAMMAR -DSAMPLING_GUMBEL -DSAMPLING_PEERS -DSAMPLING_SHARDS -DSAMPLING_DRAFTS -DSAMPLING_CONSTRAINTS -DSAMPLING_WATERMARK -DSAMPLING_STOP -DSAMPLING_VOCAB -DSAMPLING_SEARCH"
# shellcheck disable=SC2086
"$CC" -std=c11 -O0 $all -I. -c "$dir/static.c" -o "$dir/static.o"
if nm -g --defined-only "$dir/static.o" | grep .; then echo "namespace: SAMPLING_STATIC exports" >&2; exit 1; fi
"$CC" -std=c11 -O0 -fno-pie -fopenmp -Wno-unknown-pragmas -I. -c "$dir/all.c" -o "$dir/openmp.o"
writable "$dir/openmp.o" last sampi_chosen vectors_agree bound_device sampi_gpu_bound sampi_gpu_probe_counters verdict
if grep -E '^samp_kv|^samp_llama|grammar|vocab_index|shard|gumbel|settings_from|samp_verify_|banned|thinking|watermark|samp_text_|samp_beams|samp_unmask' "$dir/symbols"; then
    echo "namespace: optional parts that were not asked for" >&2
    exit 1
fi
for part in KV LLAMA GRAMMAR GUMBEL PEERS SHARDS DRAFTS WATERMARK STOP VOCAB SEARCH; do
    case $part in PEERS) name=samp_settings_from ;; DRAFTS) name=samp_verify_ ;; STOP) name=samp_text_ ;; VOCAB) name=samp_vocab_from_ ;; SEARCH) name=samp_beams_ ;; *) name="samp_(init_)?${part%S}" ;; esac
    grep -qiE "^$name" "$dir/symbols-DSAMPLING_$part" || { echo "namespace: SAMPLING_$part adds nothing" >&2; exit 1; }
done
grep -q '^samp_init_banned' "$dir/symbols-DSAMPLING_CONSTRAINTS" || { echo "namespace: SAMPLING_CONSTRAINTS adds nothing" >&2; exit 1; }
macros() { "$CC" -std=c11 -I. -dM -E "$1" | awk '{ print $2 }' | sed 's/(.*//' | sort; }
macros "$dir/system.c" > "$dir/system.txt"
macros "$dir/header.c" > "$dir/header.txt"
if comm -13 "$dir/system.txt" "$dir/header.txt" | grep -vE '^(SAMP(LING)?|samp)_'; then
    echo "namespace: macros without SAMP_ or samp_" >&2
    exit 1
fi
echo "namespace: $(wc -l < "$dir/symbols") symbols, all samp_; no global but those that are named"
