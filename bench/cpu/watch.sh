#!/bin/sh
# watch.sh REVISION [options of bench_watch]: is the working tree's sampling.h slower than that of another commit?
# CC and CFLAGS are taken from the environment; both versions are compiled alike. NEW: the tree to compare, instead of this.
set -e
CC=${CC:-cc}
CFLAGS=${CFLAGS:--O2 -g}
[ -n "$1" ] || { echo "watch.sh: which commit? make bench-watch REV=..." >&2; exit 2; }
rev=$(git rev-parse --verify "$1^{commit}")
shift
dir=build/watch/$rev
out=build/watch/$(basename "$CC")
mkdir -p "$dir" "$out"
# bench.h comes from there too: its chains are written against that interface
[ -f "$dir/sampling.h" ] || git archive "$rev" sampling.h bench tests | tar x -C "$dir"

# functions on lines of the cache: where the linker puts them should not decide
FLAGS="$CFLAGS -std=gnu11 -fopenmp -falign-functions=64"
$CC $FLAGS -w -DSAMPLING_STATIC -DWATCH_SIDE=watch_old -I "$dir" -c bench/cpu/watch_shim.c -o "$out/old.o"
$CC $FLAGS -w -DSAMPLING_STATIC -DWATCH_SIDE=watch_new -I "${NEW:-.}" -c bench/cpu/watch_shim.c -o "$out/new.o"
$CC $FLAGS -Wall -Wextra -Wpedantic -I . bench/cpu/bench_watch.c "$out/old.o" "$out/new.o" -o "$out/bench_watch" -lm
echo "old       $(git log -1 --format='%h %s' "$rev")"
echo "new       $(git log -1 --format='%h %s')$(git diff --quiet HEAD -- sampling.h || echo ', changed')"
exec "./$out/bench_watch" "$@"
