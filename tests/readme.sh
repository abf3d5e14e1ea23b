#!/bin/sh
# The README's quick start compiles as it stands and prints what the README says. Usage: readme.sh DIR
set -eu
dir=$1
mkdir -p "$dir"
awk '/^```c$/ { on = 1; next } /^```$/ && on { exit } on' README.md > "$dir/quick.c"
[ "$(wc -l < "$dir/quick.c")" -le 14 ] || { echo "readme: the quick start is too long" >&2; exit 1; }
"$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror -O2 -I. "$dir/quick.c" -o "$dir/quick" -lm
want=$(sed -n 's/.*a\.out` prints `\([^`]*\)`.*/\1/p' README.md)
got=$("$dir/quick" | sed 's/ *$//')
[ -n "$want" ] || { echo "readme: it does not say what the quick start prints" >&2; exit 1; }
[ "$want" = "$got" ] || { echo "readme: the quick start prints '$got', not '$want'" >&2; exit 1; }
echo "readme: the quick start prints $got"
