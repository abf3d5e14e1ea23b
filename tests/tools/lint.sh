#!/bin/sh
# Static analysis of both headers with all their parts: clang-tidy (.clang-tidy), cppcheck, gcc -fanalyzer and clang
# --analyze. Each finding is an error, unless lint.txt has it: the check, a piece of the source line, and why it is none.
#   lint.sh FOLDER [full]     full: the analyzers look at more paths (minutes)
set -eu
cd "$(dirname "$0")/../.."
out=$1 mode=${2:-short}
mkdir -p "$out"
cat > "$out/all.c" <<'END'
#define SAMPLING_KV
#define SAMPLING_LLAMA
#define SAMPLING_GRAMMAR
#define SAMPLING_GUMBEL
#define SAMPLING_PEERS
#define SAMPLING_VOCAB
#define SAMPLING_SHARDS
#define SAMPLING_DRAFTS
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#define SAMPLING_STOP
#define SAMPLING_SEARCH
#define SAMPLING_IMPLEMENTATION
#include "sampling_gpu.h"
END
nodes=15000 points=2
[ "$mode" != full ] || nodes=60000 points=4

clang-tidy --quiet --config-file=.clang-tidy "$out/all.c" -- -std=c11 -I. > "$out/tidy.log" 2>&1

# one configuration, that of this machine; what it says of the kernels' vectors it takes for other types than they are
cppcheck -q --std=c11 --enable=warning,performance,portability -D__x86_64__ -D__GNUC__=12 -D__linux__ -U_WIN32 \
    -USAMPLING_STATIC --suppress=invalidPointerCast -I. "$out/all.c" \
    --template='{file}:{line}:{column}: warning: {message} [{id}]' > "$out/cppcheck.log" 2>&1

# It follows neither memcpy nor pointers that are written through, and takes a vector's lanes for its bits: without the
# two checks that need these. Without limits it wants 13 GB.
gcc -std=c11 -O0 -fanalyzer -Wno-analyzer-use-of-uninitialized-value -Wno-analyzer-shift-count-overflow \
    --param=analyzer-bb-explosion-factor=1 --param=analyzer-max-enodes-per-program-point=$points \
    --param=analyzer-max-recursion-depth=0 -fanalyzer-call-summaries -DSAMP_NO_SIMD -I. -c "$out/all.c" -o /dev/null \
    > "$out/gcc.log" 2>&1

# the compiler says of dead stores what is one everywhere, not only for these macros
clang --analyze -Xclang -analyzer-opt-analyze-headers -Xclang -analyzer-config -Xclang max-nodes=$nodes \
    -Xclang -analyzer-disable-checker -Xclang deadcode.DeadStores -std=c11 -DSAMP_NO_SIMD -I. "$out/all.c" -o /dev/null \
    > "$out/clang.log" 2>&1

awk '
FILENAME ~ /lint\.txt$/ {
    if ($0 ~ /^#/ || !NF) next
    if (split($0, part, / \| /) != 3) { print "lint.txt: " $0; bad = 1; next }
    check[++n] = part[1]; text[n] = part[2]
    next
}
/: (warning|error): / {
    if (seen[$0]++) next
    split($0, place, ":")
    if (!(place[1] in read)) {
        read[place[1]] = 1
        for (i = 1; (getline line < place[1]) > 0; i++) source[place[1], i] = line
    }
    line = source[place[1], place[2]]
    for (i = 1; i <= n; i++)
        if (index($0, check[i]) && index(line, text[i])) { used[i] = 1; break }
    if (i <= n) { excepted++; next }
    print $0 "\n    " line
    bad = 1
}
END {
    if (!bad) printf "== lint: clang-tidy, cppcheck, gcc -fanalyzer and clang --analyze: nothing but %d known false alarms\n", excepted
    exit bad
}' tests/tools/lint.txt "$out/tidy.log" "$out/cppcheck.log" "$out/gcc.log" "$out/clang.log"
