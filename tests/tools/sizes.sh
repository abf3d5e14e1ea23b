#!/bin/sh
# sizes.sh - how large are headers with some parts alone (make single): bytes of source, of code at -O2 and at -Os (`size`, text),
# and the compiler's CPU seconds at -O2. Prints a table, and writes the sizes that README.md states into README.md.
# `check` compares those of the core, of grammars and of all parts: README.md may be 3 % off, so that not each change edits it.
# Usage: sizes.sh DIR [check]
set -eu
dir=$1
mkdir -p "$dir"
printf '#define SAMPLING_IMPLEMENTATION\n#define SAMP_SELF_INCLUDE "my.h"\n#include "my.h"\n' > "$dir/my.c"
echo "header $(wc -c < sampling.h)" > "$dir/sizes"
text() { size "$1" | awk 'NR == 2 { print $1 }'; }
row() { # name, parts, what is left out
    sh src/single.sh "$2" "$3" "$dir/my.h"
    flags=
    for part in $2; do [ "$part" = core ] || flags="$flags -DSAMPLING_$(echo "$part" | tr a-z A-Z)"; done
    # shellcheck disable=SC2086
    seconds=$("$CC" -std=c11 -O2 $flags -I"$dir" -c "$dir/my.c" -o "$dir/O2.o" && times) # the last line: its children
    name=$(echo "$1" | tr ' ' _)
    echo "$name $(text "$dir/O2.o")" >> "$dir/sizes"
    [ "$mode" = write ] || return 0
    seconds=$(echo "$seconds" | awk '{ split($1, t, "m") } END { print 60 * t[1] + t[2] }')
    # shellcheck disable=SC2086
    "$CC" -std=c11 -Os $flags -I"$dir" -c "$dir/my.c" -o "$dir/Os.o"
    echo "${name}_Os $(text "$dir/Os.o")" >> "$dir/sizes"
    awk -v name="$1" -v source="$(wc -c < "$dir/my.h")" -v o2="$(text "$dir/O2.o")" -v os="$(text "$dir/Os.o")" -v seconds="$seconds" \
        'BEGIN { printf "| %s | %.0f | %.0f | %.0f | %.1f |\n", name, source / 1000, o2 / 1000, os / 1000, seconds }'
}
parts="gumbel vocab stop search watermark llama drafts kv constraints peers shards grammar"
mode=${2:-write}
if [ "$mode" = write ]; then
    echo "$("$CC" --version | head -n 1); thousands of bytes, seconds"
    echo "| parts | source | code, -O2 | code, -Os | compiling, -O2 |"
    echo "|---|---|---|---|---|"
    row core core ""
    for part in $parts; do row "$part" "$part" ""; done
    row all "$parts" ""
    for what in mt19937 operator avx512 avx2 sse2 neon wasm; do row "core without $what" core "$what"; done
    row "core without mt19937 and operator" core "mt19937 operator"
elif [ "$("$CC" -dumpversion)" = 12 ]; then
    row core core ""
    row grammar grammar ""
    row all "$parts" ""
else
    echo "sizes: SKIPPED the code's, README.md has those of gcc 12"
fi

# README.md's figures: each is a number between two texts
awk -v mode="$mode" -v parts="$parts" '
FILENAME != "README.md" { size[$1] = $2 / 1000; next }
function figure(name, before, after, value, format,    at, said, error) {
    if (!match($0, before "[0-9.]+" after)) return
    found[name] = 1
    if (value == "") return
    at = RSTART
    match(substr($0, at), before)
    at += RLENGTH
    said = substr($0, at) + 0
    error = said > value ? said - value : value - said
    if (mode == "check" && error > 0.03 * value && error > 0.05) {
        printf "sizes: README.md:%d: %s is " format " now, not %s: make sizes\n", FNR, name, value, said > "/dev/stderr"
        bad = 1
    }
    match(substr($0, at), /^[0-9.]+/)
    $0 = substr($0, 1, at - 1) sprintf(format, value) substr($0, at + RLENGTH)
}
function of(name) { return name in size ? size[name] : "" }
{
    figure("code of the core", "size of the code \\| ", " KB", of("core"), "%.0f")
    figure("with -Os", "-O2; ", " KB with -Os", of("core_Os"), "%.0f")
    figure("code of all parts", "with all parts ", " KB", of("all"), "%.0f")
    figure("the least code", "\\. ", " KB without mt19937", of("core_without_mt19937_and_operator"), "%.0f")
    figure("code behind which parts come", "the core.s ", " KB", of("core"), "%.0f")
    figure("MB of sampling.h", "`sampling\\.h` is ", " MB", of("header") / 1000, "%.1f")
    for (i = split(parts, part, " "); i; i--)
        figure(part[i], "^\\| `SAMPLING_" toupper(part[i]) "` \\| [^|]* \\| ", " \\|", part[i] in size ? size[part[i]] - size["core"] : "", "%.0f")
    print
}
END {
    for (name in found) n++
    if (n != 6 + split(parts, part, " ")) { print "sizes: README.md has " n " of the figures" > "/dev/stderr"; bad = 1 }
    exit bad
}' "$dir/sizes" README.md > "$dir/README.md"
[ "$mode" = check ] || cat "$dir/README.md" > README.md
