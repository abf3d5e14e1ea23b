#!/bin/sh
# sizes.sh - how large are headers with some parts alone (make single): bytes of source, of code at -O2 and at -Os (`size`, text),
# and the compiler's CPU seconds at -O2. A table for README.md on stdout. Usage: sizes.sh DIR
set -eu
dir=$1
mkdir -p "$dir"
printf '#define SAMPLING_IMPLEMENTATION\n#define SAMP_SELF_INCLUDE "my.h"\n#include "my.h"\n' > "$dir/my.c"
row() { # name, parts, what is left out
    sh src/single.sh "$2" "$3" "$dir/my.h"
    flags=
    for part in $2; do [ "$part" = core ] || flags="$flags -DSAMPLING_$(echo "$part" | tr a-z A-Z)"; done
    # shellcheck disable=SC2086
    seconds=$("$CC" -std=c11 -O2 $flags -I"$dir" -c "$dir/my.c" -o "$dir/O2.o" && times) # the last line: its children
    seconds=$(echo "$seconds" | awk '{ split($1, t, "m") } END { print 60 * t[1] + t[2] }')
    # shellcheck disable=SC2086
    "$CC" -std=c11 -Os $flags -I"$dir" -c "$dir/my.c" -o "$dir/Os.o"
    for o in O2 Os; do size "$dir/$o.o" | awk 'NR == 2 { print $1 }'; done | tr '\n' ' ' | cat - "$dir/my.h" |
        awk -v name="$1" -v source="$(wc -c < "$dir/my.h")" -v seconds="$seconds" \
            'NR == 1 { printf "| %s | %.0f | %.0f | %.0f | %.1f |\n", name, source / 1000, $1 / 1000, $2 / 1000, seconds; exit }'
}
echo "$("$CC" --version | head -n 1); thousands of bytes, seconds"
echo "| parts | source | code, -O2 | code, -Os | compiling, -O2 |"
echo "|---|---|---|---|---|"
row core core ""
for part in gumbel watermark llama drafts kv constraints peers shards grammar; do row "$part" "$part" ""; done
row all "grammar constraints peers drafts gumbel watermark kv shards llama" ""
for what in mt19937 operator avx512 avx2 sse2 neon wasm; do row "core without $what" core "$what"; done
row "core without mt19937 and operator" core "mt19937 operator"
