#!/bin/sh
# sampling.hpp: clean as C++11 and C++20, wrong use does not compile or is an error, and all is well under sanitizers.
# Usage: cpp.sh DIR, where all/ has the binding and its tests
set -eu
dir=$1 here=$1/all
fail() { echo "bindings: c++: $*" >&2; exit 1; }
grep -n '// wrong' "$here/wrong.cpp" | cut -d: -f1 > "$dir/wrong_want"
[ "$(wc -l < "$dir/wrong_want")" -ge 30 ] || fail "wrong.cpp has too few lines"

for cxx in g++ clang++; do
    command -v $cxx > /dev/null || continue
    many=-ferror-limit=0 # clang's; g++ has no limit
    $cxx $many -E -x c++ /dev/null > /dev/null 2>&1 || many=
    for std in c++11 c++20; do
        flags="-std=$std -Wall -Wextra -Wpedantic -fsyntax-only -I. -I$here"
        # shellcheck disable=SC2086
        $cxx $flags -Werror "$here/test_misuse.cpp" || fail "$cxx $std"
        # shellcheck disable=SC2086
        ! $cxx $flags $many "$here/wrong.cpp" > "$dir/wrong.log" 2>&1 || fail "wrong.cpp compiles"
        sed -n 's/.*wrong\.cpp:\([0-9]*\):.*\(error\|required from here\|requested here\).*/\1/p' "$dir/wrong.log" | sort -un > "$dir/wrong_got"
        diff "$dir/wrong_want" "$dir/wrong_got" || fail "$cxx $std: the lines of wrong.cpp that do not compile"
    done
done

# The tests with a library that counts what is not freed, also under sanitizers: address finds what is used after its end,
# in C too, thread what two threads write at once.
tests() { # library, flags, test, its arguments
    lib=$1 flags=$2 test=$3
    shift 3
    # shellcheck disable=SC2086
    "$CXX" -std=c++11 -O0 $flags -I. -I"$here" "$here/$test.cpp" "$here/plain.cpp" -pthread -o "$dir/${test}_$lib" "$dir/lib$lib.so" "-Wl,-rpath,$dir" &&
        "$dir/${test}_$lib" "$@"
}
sanitized() { # sanitizer; in the background
    if ! { echo 'int main() { }' | "$CXX" -x c++ "-fsanitize=$1" - -o "$dir/probe_$1" && "$dir/probe_$1"; } 2> /dev/null; then
        echo "SKIPPED under -fsanitize=$1, which does not work here"
        return
    fi
    "$CC" -std=c11 -O0 "-fsanitize=$1" -DSAMP_NO_AVX512 -DSAMP_NO_AVX2 -fPIC -shared -I. "$here/counted.c" -o "$dir/lib$1.so" -lm
    case $1 in
        address) tests address "-fsanitize=address,undefined -fno-sanitize-recover=all" test_misuse &&
            tests address "-fsanitize=address,undefined -fno-sanitize-recover=all" test_sampling ;;
        thread) tests thread -fsanitize=thread test_misuse threads ;;
    esac
}
sanitized address > "$dir/address.log" 2>&1 &
address=$!
sanitized thread > "$dir/thread.log" 2>&1 &
thread=$!
said=$(tests counted "" test_misuse) || fail "test_misuse"
echo "bindings: c++: $said"
wait $address || { cat "$dir/address.log"; fail "under the address sanitizer"; }
wait $thread || { cat "$dir/thread.log"; fail "under the thread sanitizer"; }
for sanitizer in address thread; do echo "bindings: c++, $sanitizer: $(tr '\n' ' ' < "$dir/$sanitizer.log")"; done
echo "bindings: c++: $(wc -l < "$dir/wrong_want") lines of wrong use do not compile"
