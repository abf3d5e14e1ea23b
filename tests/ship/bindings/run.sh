#!/bin/sh
# The bindings print what C prints, do what they promise, and their pages' examples print what the pages say; those whose
# language isn't there are named. Usage: run.sh DIR LIBRARY
set -eu
dir=$1
export SAMPLING_LIBRARY="$2" PYTHONDONTWRITEBYTECODE=1 NODE_PATH="$dir/node_modules"
here=$dir/all # the bindings and their tests, side by side
mkdir -p "$dir"
fail() { echo "bindings: $*" >&2; exit 1; }
rm -rf "$here"
mkdir -p "$here"
cp src/bindings/* tests/ship/bindings/* "$here"

"$CC" -std=c11 -O0 -Wall -Wextra -I. $here/tokens.c -o "$dir/tokens" -lm
"$dir/tokens" > "$dir/tokens.txt"
[ "$(grep -c '^[0-9]*$' "$dir/tokens.txt")" = 60 ] || fail "C itself gives no 60 tokens"
# the same library, which counts what is not freed, also under the sanitizers that work here: compiling is what takes time
counted() { # name, flags
    # shellcheck disable=SC2086
    "$CC" -std=c11 -O0 -DSAMP_NO_AVX512 -DSAMP_NO_AVX2 -fPIC -fvisibility=hidden $2 -shared -I. $here/counted.c -o "$dir/lib$1.so" -lm
}
rm -f "$dir/libaddress.so" "$dir/libthread.so"
counted counted "" &
pids=$!
for sanitizer in address thread; do
    if { echo 'int main(void) { return 0; }' | "$CC" -x c -fsanitize=$sanitizer - -o "$dir/probe" && "$dir/probe"; } 2> /dev/null; then
        counted $sanitizer -fsanitize=$sanitizer &
        pids="$pids $!"
    fi
done
for pid in $pids; do wait "$pid" || fail "the library that counts"; done
asan= # before the command of an interpreter
libasan=$("$CC" -print-file-name=libasan.so)
if [ -e "$dir/libaddress.so" ] && [ "${libasan#/}" != "$libasan" ]; then # gcc's
    asan="env LD_PRELOAD=$libasan ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc SAMPLING_LIBRARY=$dir/libaddress.so"
fi

# a copy with the library beside it, which needs no SAMPLING_LIBRARY
rm -rf "$dir/beside"
mkdir -p "$dir/beside"
cp "$SAMPLING_LIBRARY" "$dir/beside/libsampling.so"
cp $here/sampling.py $here/tokens.py $here/sampling.js $here/tokens.js "$dir/beside"

compare() { # name, command
    name=$1
    shift
    "$@" > "$dir/$name.txt" || fail "$name fails"
    diff "$dir/tokens.txt" "$dir/$name.txt" || fail "$name: not what C gives"
    echo "bindings: $name gives the same tokens and messages as C"
}
promises() { # name, command: with the library that counts
    name=$1
    shift
    said=$(SAMPLING_LIBRARY="$dir/libcounted.so" "$@") || fail "$name fails"
    echo "bindings: $name: $said"
}

if command -v "$CXX" > /dev/null; then
    CPP="-std=c++11 -Wall -Wextra -Wpedantic -Werror -O0 -I. -I$here"
    # shellcheck disable=SC2086
    "$CXX" $CPP $here/tokens.cpp -o "$dir/tokens_cpp" "$SAMPLING_LIBRARY" "-Wl,-rpath,${SAMPLING_LIBRARY%/*}"
    compare c++ "$dir/tokens_cpp"
    sh $here/cpp.sh "$dir"
    # the header alone, with the implementation in C++
    printf '#define SAMPLING_IMPLEMENTATION\n#include "sampling.hpp"\nint main() { return sampling::chain{ { "top_k", "1" } }.sample({ 1.0f, 3.0f }) != 1; }\n' > "$dir/alone.cpp"
    # shellcheck disable=SC2086
    "$CXX" $CPP "$dir/alone.cpp" -o "$dir/alone" -lm && "$dir/alone" || fail "sampling.hpp with the implementation"
    printf '#!/bin/sh\n"%s" %s "$1" -o "$1.run" "%s" "-Wl,-rpath,%s" && "$1.run"\n' "$CXX" "$CPP" "$SAMPLING_LIBRARY" "${SAMPLING_LIBRARY%/*}" > "$dir/cpp.sh"
    sh $here/pages.sh "$dir/pages_cpp" $here/cpp.md sh "$dir/cpp.sh"
else
    echo "bindings: SKIPPED c++, there is no $CXX"
fi

# with numpy where one has it, and without
python=
for p in python3 /usr/bin/python3; do
    [ -n "$python" ] || ! "$p" -c 'import numpy' 2> /dev/null || python=$p
done
if [ -n "$python" ]; then
    compare python_numpy "$python" $here/tokens.py
    compare python_beside env -u SAMPLING_LIBRARY "$python" "$dir/beside/tokens.py"
    promises python_numpy "$python" $here/test_sampling.py
    promises python_numpy_misuse "$python" $here/misuse.py
else
    echo "bindings: SKIPPED python with numpy, there is no numpy"
fi
if command -v python3 > /dev/null; then
    without="import sys; sys.modules['numpy'] = None; sys.path.insert(0, '$here'); import"
    compare python python3 -c "$without tokens; tokens.main()"
    promises python python3 -c "$without test_sampling; test_sampling.main()"
    promises python_misuse python3 -c "$without misuse; misuse.main()"
    # the same under AddressSanitizer, Python's own memory too
    if [ -n "$asan" ]; then
        for test in test_sampling misuse; do
            said=$($asan "${python:-python3}" $here/$test.py) || fail "python under AddressSanitizer: $test fails"
            echo "bindings: python under AddressSanitizer: $said"
        done
    else
        echo "bindings: SKIPPED python under AddressSanitizer, $CC has no libasan.so"
    fi
    PYTHONPATH=$here sh $here/pages.sh "$dir/pages_py" $here/python.md python3
else
    echo "bindings: SKIPPED python, there is no python3"
fi

if ! command -v node > /dev/null || [ ! -d "$dir/node_modules/koffi" ]; then
    echo "bindings: SKIPPED javascript, there is no node, or npm could not fetch koffi (see $dir/npm.log)"
else
    compare javascript node $here/tokens.js
    compare javascript_beside env -u SAMPLING_LIBRARY node "$dir/beside/tokens.js"
    promises javascript node --expose-gc $here/test_sampling.js
    promises javascript node --expose-gc $here/test_wrong.js
    if [ -n "$asan" ]; then
        said=$($asan node --expose-gc $here/test_wrong.js missing) || fail "javascript under AddressSanitizer"
        echo "bindings: javascript under AddressSanitizer: $said"
    else
        echo "bindings: SKIPPED javascript under AddressSanitizer, $CC has no libasan.so"
    fi
    printf '#!/bin/sh\ncp %s/sampling.js "${1%%/*}" && node "$1"\n' "$here" > "$dir/js.sh"
    sh $here/pages.sh "$dir/pages_js" $here/javascript.md sh "$dir/js.sh"
fi

# the types, by who checks them: the programs of the pages, and what must be refused
if [ -d "$dir/node_modules/typescript" ] && [ -d "$dir/pages_js" ]; then
    rm -rf "$dir/types_js"
    mkdir -p "$dir/types_js"
    cp $here/sampling.d.ts "$dir/types_js"
    for page in "$dir"/pages_js/[a-z]*.js; do
        [ "${page##*/}" = sampling.js ] || sed "s/^const \({.*}\) = require('.\/sampling.js');/import \1 from '.\/sampling.js';/" "$page" > "$dir/types_js/$(basename "$page" .js).ts"
    done
    cp $here/wrong.ts "$dir/types_js"
    printf 'declare const console: { log(...said: unknown[]): void };\ndeclare const Buffer: any;\n' > "$dir/types_js/node.d.ts"
    printf '{ "compilerOptions": { "noEmit": true, "strict": true, "noImplicitAny": false, "useUnknownInCatchVariables": false, "target": "es2022", "lib": ["es2022"], "module": "node16", "types": [] } }\n' > "$dir/types_js/tsconfig.json"
    (cd "$dir/types_js" && node ../node_modules/typescript/bin/tsc -p .) > "$dir/types_js.log" ||
        { cat "$dir/types_js.log"; fail "sampling.d.ts"; }
    echo "bindings: sampling.d.ts: the page's programs have its types, and wrong ones are refused"
else
    echo "bindings: SKIPPED sampling.d.ts, npm could not fetch typescript"
fi
if [ -d "$dir/node_modules/pyright" ] && [ -d "$dir/pages_py" ]; then
    rm -rf "$dir/types_py"
    mkdir -p "$dir/types_py"
    cp $here/sampling.py $here/sampling.pyi "$dir"/pages_py/[a-z]*.py $here/wrong.py "$dir/types_py"
    printf '{ "ignore": ["sampling.py"], "reportUnnecessaryTypeIgnoreComment": "error", "pythonVersion": "3.11" }\n' > "$dir/types_py/pyrightconfig.json"
    (cd "$dir/types_py" && node ../node_modules/pyright/index.js) > "$dir/types_py.log" || { cat "$dir/types_py.log"; fail "sampling.pyi"; }
    echo "bindings: sampling.pyi: the page's programs have its types, and wrong ones are refused"
else
    echo "bindings: SKIPPED sampling.pyi, npm could not fetch pyright"
fi
