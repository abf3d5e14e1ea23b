#!/bin/sh
# The bindings print what C prints; those whose language isn't there are named. Usage: run.sh DIR LIBRARY
set -eu
dir=$1
export SAMPLING_LIBRARY="$2" PYTHONDONTWRITEBYTECODE=1
here=tests/ship/bindings ours=src/bindings
mkdir -p "$dir"
fail() { echo "bindings: $*" >&2; exit 1; }

"$CC" -std=c11 -O0 -Wall -Wextra -I. $here/tokens.c -o "$dir/tokens" -lm
"$dir/tokens" > "$dir/tokens.txt"
[ "$(grep -c '^[0-9]*$' "$dir/tokens.txt")" = 60 ] || fail "C itself gives no 60 tokens"

# a copy with the library beside it, which needs no SAMPLING_LIBRARY
mkdir -p "$dir/beside"
cp "$SAMPLING_LIBRARY" "$dir/beside/libsampling.so"
cp $ours/sampling.py $ours/sampling.js "$dir/beside"

compare() { # name, command
    name=$1
    shift
    "$@" > "$dir/$name.txt" || fail "$name fails"
    diff "$dir/tokens.txt" "$dir/$name.txt" || fail "$name: not what C gives"
    echo "bindings: $name gives the same tokens and messages as C"
}

if command -v "$CXX" > /dev/null; then
    "$CXX" -std=c++11 -Wall -Wextra -Wpedantic -O1 -I. $here/tokens.cpp -o "$dir/tokens_cpp" "$SAMPLING_LIBRARY" \
        "-Wl,-rpath,${SAMPLING_LIBRARY%/*}"
    compare c++ "$dir/tokens_cpp"
else
    echo "bindings: SKIPPED c++, there is no $CXX"
fi

# with numpy where one has it, and without
python=
for p in python3 /usr/bin/python3; do
    [ -n "$python" ] || ! "$p" -c 'import numpy' 2> /dev/null || python=$p
done
if [ -n "$python" ]; then
    compare python_numpy "$python" $ours/sampling.py
    compare python_beside env -u SAMPLING_LIBRARY "$python" "$dir/beside/sampling.py"
else
    echo "bindings: SKIPPED python with numpy, there is no numpy"
fi
if command -v python3 > /dev/null; then
    compare python python3 -c "import sys; sys.modules['numpy'] = None; sys.path.insert(0, '$ours'); import sampling; sampling.main()"
else
    echo "bindings: SKIPPED python, there is no python3"
fi

if ! command -v node > /dev/null || [ ! -d "$dir/node_modules/koffi" ]; then
    echo "bindings: SKIPPED javascript, there is no node, or npm could not fetch koffi (see $dir/npm.log)"
else
    compare javascript env NODE_PATH="$dir/node_modules" node $ours/sampling.js
    compare javascript_beside env -u SAMPLING_LIBRARY node "$dir/beside/sampling.js"
fi
