#!/bin/sh
# The bindings print what C prints; those whose language isn't there are named. Usage: run.sh DIR (exit 77: none was there)
set -eu
dir=$1
koffi=3.3.4
here=tests/bindings
mkdir -p "$dir"
fail() { echo "bindings: $*" >&2; exit 1; }

"$CC" -std=c11 -O2 -Wall -Wextra -I. -fPIC -shared -fvisibility=hidden $here/shared.c -o "$dir/libsampling.so" -lm
"$CC" -std=c11 -O2 -Wall -Wextra -I. $here/tokens.c -o "$dir/tokens" -lm
"$dir/tokens" > "$dir/tokens.txt"
[ "$(grep -c '^[0-9]*$' "$dir/tokens.txt")" = 60 ] || fail "C itself gives no 60 tokens"

n=0
compare() { # name, command
    name=$1
    shift
    "$@" > "$dir/$name.txt" || fail "$name fails"
    diff "$dir/tokens.txt" "$dir/$name.txt" || fail "$name: not what C gives"
    echo "bindings: $name gives the same tokens and messages as C"
    n=$((n + 1))
}

if command -v python3 > /dev/null; then
    compare python python3 $here/sampling.py "$dir/libsampling.so"
else
    echo "bindings: SKIPPED python, there is no python3"
fi

if ! command -v node > /dev/null || ! command -v npm > /dev/null; then
    echo "bindings: SKIPPED javascript, there is no node with npm"
elif [ ! -d "$dir/node_modules/koffi" ] &&
    ! npm install --prefix "$dir" --ignore-scripts --no-audit --no-fund "koffi@$koffi" > "$dir/npm.log" 2>&1; then
    echo "bindings: SKIPPED javascript, npm could not fetch koffi (no network?), see $dir/npm.log"
else
    compare javascript env NODE_PATH="$dir/node_modules" node $here/sampling.js "$dir/libsampling.so"
fi
[ $n -gt 0 ] || exit 77
