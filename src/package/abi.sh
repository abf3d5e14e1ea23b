#!/bin/sh
# The library of the last release beside this one's: names that went, types that changed (abidiff, where it is). It fails if any did, and
# the major version is the same. Usage: TAG=commit abi.sh DIR
set -eu
dir=$1
[ -n "$TAG" ] || { echo "abi: there is no release yet to compare with (TAG=commit)"; exit 0; }
rm -rf "$dir"
mkdir -p "$dir/src/package"
git show "$TAG:sampling.h" > "$dir/sampling.h"
git show "$TAG:src/package/sampling.c" > "$dir/src/package/sampling.c"
built() { "$CC" -std=c11 -g -O0 -w -fPIC -fvisibility=hidden -shared "-I$1" "$1/src/package/sampling.c" -o "$2" -lm; }
built "$dir" "$dir/old.so"
built . "$dir/new.so"
major() { sed -n 's/^#define SAMP_VERSION_MAJOR *//p' "$1/sampling.h"; }
for which in old new; do nm -D --defined-only "$dir/$which.so" | awk '{ print $3 }' | sort > "$dir/$which.txt"; done
gone=$(comm -23 "$dir/old.txt" "$dir/new.txt" | tr '\n' ' ')
echo "abi: since $TAG $(comm -13 "$dir/old.txt" "$dir/new.txt" | wc -l) names came; gone: ${gone:-none}"
changed=
if command -v abidiff > /dev/null; then
    abidiff --no-added-syms "$dir/old.so" "$dir/new.so" > "$dir/abidiff.txt" || changed="types or functions changed: $dir/abidiff.txt"
    echo "abi: abidiff: $(sed -n 's/^Functions changes summary: //p' "$dir/abidiff.txt")"
else
    echo "abi: names alone were compared, there is no abidiff (Debian's abigail-tools)"
fi
[ -z "$gone$changed" ] || [ "$(major "$dir")" != "$(major .)" ] || { echo "abi: $gone$changed: that needs a new major version" >&2; exit 1; }
