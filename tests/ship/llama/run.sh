#!/bin/sh
# run.sh - sampling.h in llama.cpp programs: the same tokens with the stand-in and without it, and what they cost.
#
#   sh tests/ship/llama/run.sh test | old | bench          from the top of the repository, after make llama
#
# test    node-llama-cpp and libllama's C API, each with and without build/libsampling_llama.so; the code of
#         src/llama_cpp/README.md; the C part under valgrind, if that is here
# old     node-llama-cpp with older libllamas, of which some samplers give other tokens than libllama 0.5's: they stay
#         theirs, and the report says which
# bench   microseconds per token by every way in, with a vocabulary of 128,256 tokens (bench/llama/bench_llama.c), and of
#         node-llama-cpp's whole tokens. Environment: TOKENS 100, ROUNDS 3
# Exit 0 if nothing differs, 77 (and a line that says why) where the programs can't be had, else 1.
set -u
here=tests/ship/llama
dir=build/llama
standin=$PWD/build/libsampling_llama.so
[ "$1" = bench ] && optimise=-O2 || optimise=-O1
flags="$optimise -std=gnu11 -Wall -Wextra -I. -I$dir ${CFLAGS:-}"

fail() { echo "llama: $1" >&2; exit 1; }

mkdir -p "$dir" || exit 1
[ "$1" = bench ] && vocabulary=vocabulary || vocabulary=
bins=$(sh "$here/fetch.sh" "$dir" $vocabulary)
got=$?
[ $got -eq 0 ] || exit $got

build() { # source: with libllama, found again at run time
    # shellcheck disable=SC2086
    ${CC:-cc} $flags "$1" -o "$dir/$(basename "$1" .c)" -L"$bins" -l:libllama.v0.5.0.so -l:libggml.v0.5.0.so \
        -Wl,--allow-shlib-undefined -Wl,-rpath,"$PWD/$bins" -lm || exit 1
}
# shellcheck disable=SC2086
${CC:-cc} $flags bench/llama/gguf.c -o "$dir/gguf" -lm || exit 1
"$dir/gguf" tales bench/data/tales.bin "$dir/tales.gguf" || exit 1

# The report of the run whose stderr is $1, and how many tokens were ours.
report() { grep '^libsampling_llama:' "$1" || fail "no report in $1"; }
ours() { sed -n 's/^libsampling_llama: tokens \([0-9]*\) .*/\1/p' "$1"; }

# node-llama-cpp wants node 20; Debian 12 has 18.
new_node() { node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; }

# A program with the stand-in and without: name, the least of tokens that must be ours, command.
both() {
    name=$1 least=$2
    shift 2
    "$@" > "$dir/$name.txt" 2> "$dir/$name.err" || { cat "$dir/$name.err" >&2; fail "$name fails without the stand-in"; }
    LD_PRELOAD=$standin SAMP_LLAMA_REPORT=1 "$@" > "$dir/$name.ours.txt" 2> "$dir/$name.ours.err" ||
        { cat "$dir/$name.ours.err" >&2; fail "$name fails with the stand-in"; }
    differ=$(diff "$dir/$name.txt" "$dir/$name.ours.txt" | grep -c '^<')
    echo "llama: $name: $(tail -n 1 "$dir/$name.txt"), $differ differences; $(report "$dir/$name.ours.err")"
    cmp -s "$dir/$name.txt" "$dir/$name.ours.txt" || { diff "$dir/$name.txt" "$dir/$name.ours.txt" | head -n 20 >&2; exit 1; }
    [ "$(ours "$dir/$name.ours.err")" -ge "$least" ] || fail "$name: too few tokens are ours"
}

# The page's blocks of a language.
blocks() { awk -v language="$1" '/^```/{ on = $0 == "```" language; next } on' src/llama_cpp/README.md; }

run_tests() {
    build "$here/api.c"
    blocks c > "$dir/ways.h"
    build "$here/ways.c"
    both api 1700 "$dir/api" "$bins" "$dir/tales.gguf"
    [ "$(sed -n 's/ lines$//p' "$dir/api.txt")" -ge 120 ] || fail "api: lines are missing"
    if new_node; then
        both node 1400 node "$here/generate.mjs" "$dir/npm" "$dir/tales.gguf"
        [ "$(sed -n 's/ settings$//p' "$dir/node.txt")" -ge 74 ] || fail "node: settings are missing"
        ! grep "libllama's own" "$dir/node.ours.err" >&2 || fail "node: a sampler is not ours"
    else
        echo "llama: node SKIPPED, node-llama-cpp wants node 20"
    fi
    "$dir/ways" "$bins" "$dir/tales.gguf" || exit 1

    # the README's command, with the program of above
    mkdir -p "$dir/bin"
    printf '#!/bin/sh\nexec "%s/api" "%s" "%s/tales.gguf" short\n' "$PWD/$dir" "$PWD/$bins" "$PWD/$dir" > "$dir/bin/program"
    chmod +x "$dir/bin/program"
    blocks sh > "$dir/ways.sh"
    PATH=$PWD/$dir/bin:$PATH sh -eu "$dir/ways.sh" > "$dir/ways.txt" 2> "$dir/ways.err" || { cat "$dir/ways.err" >&2; exit 1; }
    [ "$(ours "$dir/ways.err")" -ge 100 ] || fail "the README's command does not sample here"
    echo "llama: the README's command: $(report "$dir/ways.err")"

    command -v valgrind > /dev/null || { echo "llama: valgrind SKIPPED, it is not here"; return; }
    LD_PRELOAD=$standin valgrind -q --error-exitcode=9 --leak-check=full "$dir/api" "$bins" "$dir/tales.gguf" short \
        > "$dir/valgrind.txt" 2> "$dir/valgrind.err" || { tail -n 40 "$dir/valgrind.err" >&2; fail "not clean under valgrind"; }
    echo "llama: the C part under valgrind: no errors"
}

run_old() {
    new_node || { echo "llama: old versions SKIPPED, node-llama-cpp wants node 20"; exit 77; }
    for version in 3.6.0 3.14.5; do
        sh "$here/fetch.sh" "$dir" old-$version > /dev/null || exit
        both old-$version 1400 node "$here/generate.mjs" "$dir/old-$version" "$dir/tales.gguf"
        [ "$(sed -n 's/ settings$//p' "$dir/old-$version.txt")" -ge 74 ] || fail "old-$version: settings are missing"
        grep -q "dist is this libllama's own, which chooses other tokens" "$dir/old-$version.ours.err" ||
            fail "old-$version: the report does not say that its dist is another"
    done
}

run_bench() {
    build bench/llama/bench_llama.c
    [ -f "$dir/wide.gguf" ] || { node "$here/vocabulary.mjs" "$dir/vocabulary" "$dir/vocabulary.txt" &&
        "$dir/gguf" wide "$dir/vocabulary.txt" "$dir/wide.gguf"; } || exit 1
    : > "$dir/bench.txt"
    round=0
    while [ $round -lt "${ROUNDS:-3}" ]; do # by turns, as the machine may be busy
        "$dir/bench_llama" "$bins" "$dir/wide.gguf" "${TOKENS:-100}" 2> "$dir/bench.err" | sed 's/^/without /' >> "$dir/bench.txt"
        LD_PRELOAD=$standin "$dir/bench_llama" "$bins" "$dir/wide.gguf" "${TOKENS:-100}" 2>> "$dir/bench.err" |
            sed 's/^/with /' >> "$dir/bench.txt"
        round=$((round + 1))
    done
    [ -s "$dir/bench.txt" ] || { cat "$dir/bench.err" >&2; exit 1; }
    awk 'BEGIN { print "us per token, the least of the rounds; \"preloaded\": with libsampling_llama.so\n"
                 split("without array,with array,without sample,with sample,without seam,without interface,without philox", col, ",")
                 printf "%-12s %9s %9s  %9s %9s  %9s %9s  %9s\n", "", "array", "preloaded", "sample", "preloaded", "seam", "interface", "philox" }
         { key = $2 SUBSEP $1 " " $3; if (!(key in us) || $4 < us[key]) us[key] = $4
           if (!($2 in seen)) { seen[$2] = 1; name[++n] = $2 }
           if ($3 != "philox") { if (!($2 in sum)) sum[$2] = $5; else if (sum[$2] != $5) differ[$2] = 1 } }
         END { for (i = 1; i <= n; i++) { c = name[i]
                   printf "%-12s %9.1f %9.1f  %9.1f %9.1f  %9.1f %9.1f  %9.1f%s\n", c, us[c, col[1]], us[c, col[2]], us[c, col[3]],
                          us[c, col[4]], us[c, col[5]], us[c, col[6]], us[c, col[7]], (c in differ) ? "  TOKENS DIFFER" : ""
                   if (c in differ) failed = 1 }
               exit failed }' "$dir/bench.txt" || exit 1
    echo
    new_node || { echo "node-llama-cpp: SKIPPED, it wants node 20"; return; }
    echo "node-llama-cpp, us for a whole token of that model (its own work and the model's included):"
    echo "  without $(node "$here/generate.mjs" "$dir/npm" "$dir/wide.gguf" 300)"
    echo "  with    $(LD_PRELOAD=$standin node "$here/generate.mjs" "$dir/npm" "$dir/wide.gguf" 300)"
}

case $1 in
    test) run_tests ;;
    old) run_old ;;
    bench) run_bench ;;
    *) echo "usage: run.sh test | old | bench" >&2; exit 2 ;;
esac
