#!/bin/sh
# sampling.hpp: clean as C++11 and C++20, wrong use does not compile or is an error, and all is well under sanitizers.
# Usage: cpp.sh DIR, where all/ has the binding and its tests, and the libraries are that count
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

# The tests with a library that counts what is not freed, under a sanitizer if it works: address finds what is used after its
# end, in C too, thread what two threads write at once.
tests() { # sanitizer, its flags, test, more files
    sanitizer=$1 flags=$2 test=$3
    shift 3
    if [ ! -e "$dir/lib$sanitizer.so" ]; then
        echo "SKIPPED under -fsanitize=$sanitizer, which does not work here"
        sanitizer=counted flags=
    fi
    # shellcheck disable=SC2086
    "$CXX" -std=c++11 -O0 -Wall -Wextra -Wpedantic -Werror $flags -I. -I"$here" "$here/$test.cpp" "$@" -pthread -o "$dir/$test" "$dir/lib$sanitizer.so" "-Wl,-rpath,$dir" &&
        "$dir/$test"
}
memory="-fsanitize=address,undefined -fno-sanitize-recover=all"
tests address "$memory" test_misuse "$here/plain.cpp" > "$dir/test_misuse.log" 2>&1 &
misuse=$!
{ tests address "$memory" test_sampling && tests thread -fsanitize=thread test_threads; } > "$dir/test_sampling.log" 2>&1 ||
    { cat "$dir/test_sampling.log"; fail "test_sampling, test_threads"; }
wait $misuse || { cat "$dir/test_misuse.log"; fail "test_misuse"; }
for log in test_misuse test_sampling; do echo "bindings: c++: $(tr '\n' ' ' < "$dir/$log.log")"; done
echo "bindings: c++: $(wc -l < "$dir/wrong_want") lines of wrong use do not compile"
