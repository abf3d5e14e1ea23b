#!/bin/sh
# Symbols exported by the implementation begin with samp_, macros left behind with SAMP; those of an optional part are
# there only with its macro, and the cache alone needs sines. What can be written to is what the headers' openings name.
# Usage: namespace.sh DIR
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
for kv in "" -DSAMPLING_KV -DSAMPLING_GRAMMAR; do
    # at fixed addresses: else tables of pointers are written to once, by the loader
    # shellcheck disable=SC2086
    "$CC" -std=c11 -O1 -fno-pie $kv -I. -c "$dir/all.c" -o "$dir/all.o"
    writable "$dir/all.o" last sampi_chosen
    # shellcheck disable=SC2086
    "$CC" -std=c11 -O1 $kv -I. -c "$dir/static.c" -o "$dir/static.o"
    nm -g --defined-only "$dir/all.o" | awk '{ print $3 }' > "$dir/symbols$kv"
    [ "$(wc -l < "$dir/symbols$kv")" -ge 40 ] || { echo "namespace: symbols are missing" >&2; exit 1; }
    if grep -v '^samp_' "$dir/symbols$kv"; then echo "namespace: exported without samp_" >&2; exit 1; fi
    if nm -g --defined-only "$dir/static.o" | grep .; then echo "namespace: SAMPLING_STATIC exports" >&2; exit 1; fi
    undefined=$(nm -u "$dir/all.o" | awk '{ print $2 }' | grep -vxE "$libc${kv:+|sincos|sin|cos}" || true)
    if [ -n "$undefined" ]; then echo "namespace: unexpected imports: $undefined" >&2; exit 1; fi
done
"$CC" -std=c11 -O0 -fno-pie -fopenmp -Wno-unknown-pragmas -I. -c "$dir/all.c" -o "$dir/openmp.o"
writable "$dir/openmp.o" last sampi_chosen bound_device sampi_gpu_bound sampi_gpu_probe_counters
if grep '^samp_kv' "$dir/symbols"; then echo "namespace: the cache without SAMPLING_KV" >&2; exit 1; fi
grep -q '^samp_kv' "$dir/symbols-DSAMPLING_KV" || { echo "namespace: no cache with SAMPLING_KV" >&2; exit 1; }
if grep 'grammar\|vocab_index' "$dir/symbols"; then echo "namespace: grammars without SAMPLING_GRAMMAR" >&2; exit 1; fi
grep -q '^samp_init_grammar' "$dir/symbols-DSAMPLING_GRAMMAR" || { echo "namespace: no grammars with SAMPLING_GRAMMAR" >&2; exit 1; }
macros() { "$CC" -std=c11 -I. -dM -E "$1" | awk '{ print $2 }' | sed 's/(.*//' | sort; }
macros "$dir/system.c" > "$dir/system.txt"
macros "$dir/header.c" > "$dir/header.txt"
if comm -13 "$dir/system.txt" "$dir/header.txt" | grep -vE '^SAMP(LING)?_'; then
    echo "namespace: macros without SAMP_" >&2
    exit 1
fi
echo "namespace: $(wc -l < "$dir/symbols") symbols, all samp_; no global but those that are named"
