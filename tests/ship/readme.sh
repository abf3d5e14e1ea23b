#!/bin/sh
# The READMEs, as a reader would take them: each program among their code blocks compiles and prints what is said;
# the other blocks do with what they take for granted round them (tests/ship/readme); each command's target is documented, and
# those of the demo are run; each link leads somewhere, and each test that is named is there. Usage: readme.sh DIR LIBRARY
set -eu
mkdir -p "$1"
dir=$(cd "$1" && pwd)
library=$2
fail() { echo "readme: $*" >&2; exit 1; }
export SAMPLING_LIBRARY="$library" PYTHONDONTWRITEBYTECODE=1 NODE_PATH="${dir%/*}/bindings/node_modules"
C11="-std=c11 -Wall -Wextra -Wpedantic -Werror -O0 -I."
[ "$(wc -w < README.md)" -le 1800 ] || fail "README.md has more than 1,800 words: what it says belongs on a page"
[ "$(awk '/^```c quick.c$/ { on = 1; next } /^```$/ { on = 0 } on' README.md | wc -l)" -le 12 ] || fail "the quick start is too long"
programs=0

program() { # a block that is a whole program; the first is compiled with the implementation, others take the library's
    [ -s "$at/$1.out" ] || fail "$page: it does not say what $1 prints"
    [ $programs = 0 ] || sed -i '/^#define SAMPLING_IMPLEMENTATION/d' "$at/$1"
    # shellcheck disable=SC2086
    "$CC" $C11 "$at/$1" -o "$at/${1%.c}" $([ $programs = 0 ] || echo "$library -Wl,-rpath,${library%/*}") -lm || fail "$page: $1"
    said=$("$at/${1%.c}" | sed 's/ *$//')
    [ "$said" = "$(cat "$at/$1.out")" ] || fail "$page: $1 prints '$said'"
    programs=$((programs + 1))
}
part() { # one that needs something round it
    [ -f "tests/ship/readme/${1%.h}.c" ] || fail "$page: $1 has no tests/ship/readme/${1%.h}.c"
    # shellcheck disable=SC2086
    "$CC" $C11 -I"$at" "tests/ship/readme/${1%.h}.c" -o "$at/${1%.h}" "$library" "-Wl,-rpath,${library%/*}" -lm || fail "$page: $1"
    "$at/${1%.h}" || fail "$page: $1 does something else"
    programs=$((programs + 1))
}
has() { # a program that a block needs
    command -v "$1" > /dev/null || { echo "readme: SKIPPED $2, there is no $1"; return 1; }
}
says() { # the same chain in other languages
    name=$1
    shift
    "$@" > "$at/$name.said" || fail "$page: $name"
    [ -f "$at/said" ] || cp "$at/$name.said" "$at/said"
    cmp "$at/said" "$at/$name.said" || fail "$page: $name prints something else"
    programs=$((programs + 1))
}
try() {
    case $1 in
    "make demo"*)
        sh -c "$1" > "$at/demo" 2> "$at/demo.figures" || fail "$page: $1: $(cat "$at/demo.figures")"
        [ -s "$at/demo" ] || fail "$page: $1 tells nothing"
        ;;
    "make "*)
        target=$(echo "$1" | sed 's/^make *//; s/ .*//')
        cat Makefile src/src.mk src/package/package.mk bench/bench.mk tests/tests.mk tests/gpu/gpu.mk | grep -q "^## $target: " || fail "$page: $1: no such target in make help"
        ;;
    LD_PRELOAD=*build/libsampling_llama.so*) ;; # make test-llama runs it
    *) fail "$page: $1: what is that?" ;;
    esac
}
for page in README.md bench/README.md src/*/README.md tests/README.md; do
    at=$dir/${page%%.*}
    rm -rf "$at"
    mkdir -p "$at"
    awk -v dir="$at" -f tests/tools/blocks.awk "$page" > "$at/blocks" || fail "$page"
    while read -r block; do
        case $block in
        unnamed.c) # shellcheck disable=SC2086
            "$CC" $C11 -fsyntax-only "$at/$block" || fail "$page: the C code" ;;
        unnamed.sh) ;;
        unnamed.json) ! has python3 "$block" || python3 -m json.tool "$at/$block" > /dev/null || fail "$page: the JSON" ;;
        *.mpi)
            if has mpicc "$block"; then mpicc -std=gnu11 -w -fsyntax-only -I. -I"$at" tests/ship/readme/slices.c || fail "$page: $block"; fi ;;
        *.c) program "$block" ;;
        *.h) part "$block" ;;
        *.hpp)
            ! has "$CXX" "$block" || {
                "$CXX" -std=c++11 -Wall -Wextra -Werror -I. -Isrc/bindings -I"$at" "tests/ship/readme/${block%.hpp}.cpp" \
                    -o "$at/cpp" "$library" "-Wl,-rpath,${library%/*}"
                says c++ "$at/cpp"
            } ;;
        *.py) ! has python3 "$block" || says python env PYTHONPATH=src/bindings python3 "$at/$block" ;;
        *.js)
            cp src/bindings/sampling.js "$at"
            if [ ! -d "$NODE_PATH/koffi" ]; then echo "readme: SKIPPED $block, there is no koffi of npm"
            elif has node "$block"; then says javascript node "$at/$block"; fi ;;
        *.cmake) grep -q "^ *project ${block%.cmake} " tests/ship/package.sh || fail "$page: tests/ship/package.sh has no $block" ;;
        install) ;; # tests/ship/package.sh too
        windows) ;; # make test-msvc
        *) fail "$page: what is $block?" ;;
        esac
    done < "$at/blocks"
    # the commands of blocks without a name, then those in the text
    [ -f "$at/unnamed.sh" ] || : > "$at/unnamed.sh"
    sed 's/  *#.*//' "$at/unnamed.sh" > "$at/commands"
    grep -o '`make [a-z][^`]*`' "$page" | tr -d '`' | sed '/^make demo/d' >> "$at/commands"
    while read -r line; do try "$line"; done < "$at/commands"
done

# JSON with any white space is what a model may write without end: no example shows it.
awk 'FNR == 1 { inside = 0 }
    !/^```/ { if (inside) text = text $0 "\n"; next }
    inside && text ~ /GRAMMAR_JSON_SCHEMA|GRAMMAR_STRUCTURAL_TAG|from_json_schema|fromJsonSchema|from_structural_tag|fromStructuralTag/ {
        n++
        if (text !~ /(compact|spaced)["\047]/) { print "readme: " FILENAME ":" FNR ": a schema without \"compact\" or \"spaced\"" > "/dev/stderr"; bad = 1 }
    }
    { inside = !inside; text = "" }
    END { if (n < 6) print "readme: only " n " examples of schemas are found" > "/dev/stderr"; exit bad || n < 6 }' README.md src/*/*.md

# Links within the repository: the file is there, and has that heading (as GitHub makes its name).
for page in README.md bench/*.md bench/results/*.md src/README.md src/*/*.md tests/README.md; do
    grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//' | grep -v '^http' | sort -u | while read -r link; do
        file=${link%%#*}
        file=$(dirname "$page")/${file:-$(basename "$page")}
        [ -e "$file" ] || fail "$page: $link: no such file"
        case $link in *#*) ;; *) continue ;; esac
        sed -n 's/^##* //p' "$file" | tr 'A-Z' 'a-z' | tr -d "\`.,:;?'()" | tr ' ' '-' | grep -qx "${link#*#}" || fail "$page: $link: no such heading"
    done
done

# The tests that show what users ask for: each is among those that its program runs. A name alone is of the program before it.
awk -F'|' '/^## / { on = /^## What users ask for/ } on && NF == 5 { print $4 }' tests/README.md | grep -o '`[^`]*`' | tr -d '`' > "$dir/asked"
[ "$(wc -l < "$dir/asked")" -ge 24 ] || fail "What users ask for: its tests are not found"
while read -r first name; do
    case $first in
    gpu/*) [ -f "tests/$first.c" ] || fail "What users ask for: there is no tests/$first.c"; continue ;;
    *) [ -z "$name" ] && name=$first || program=$first ;;
    esac
    grep -qE "^TEST\\($name\\)|^ +X\\(${name#test_}\\)" "tests/unit/$program.c" || fail "What users ask for: tests/unit/$program.c runs no $name"
done < "$dir/asked"
echo "readme: $programs programs print what the pages say, $(cat "$dir"/*/commands "$dir"/*/*/commands "$dir"/*/*/*/commands 2> /dev/null | wc -l) commands are there"
