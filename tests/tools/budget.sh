#!/bin/sh
# What including sampling.h costs: seconds of the compiler, bytes of code. Usage: budget.sh DIR [code]
# With `code` only the bytes, which are the same on a busy machine.
# Times are the compiler's own (user time, the best of three), at -O2 with $CC (gcc: the limits are meant for gcc 12). A
# slow or busy machine has more time: a made-up program is compiled by turns with the header, and where that takes longer
# than it did on the machine that the limits come from, they grow by as much. Bytes of code are exact.
set -eu
dir=$1
CC=${CC:-gcc}
mkdir -p "$dir"
printf '#include "sampling.h"\n' > "$dir/include.c"
printf '#define SAMPLING_IMPLEMENTATION\n#include "sampling.h"\n' > "$dir/core.c"
printf '#define SAMPLING_KV\n#define SAMPLING_LLAMA\n#define SAMPLING_GRAMMAR\n#define SAMPLING_GUMBEL\n#define SAMPLING_PEERS\n#define SAMPLING_SHARDS\n#define SAMPLING_DRAFTS\n#define SAMPLING_CONSTRAINTS\n#define SAMPLING_WATERMARK\n#define SAMPLING_STOP\n#define SAMPLING_VOCAB\n#define SAMPLING_SEARCH\n#include "%s/core.c"\n' "$PWD/$dir" > "$dir/all.c"

if [ "${2:-}" = code ]; then
    "$CC" -std=c11 -O2 -I. -c "$dir/core.c" -o "$dir/core.o"
    size "$dir/core.o" | awk 'NR == 2 { printf "budget: %d bytes of code, at most 216000\n", $1; exit $1 > 216000 }'
    exit
fi

# 250 functions with loops and switches, which no change of the header changes
awk 'BEGIN {
    for (k = 0; k < 250; k++) {
        printf "static unsigned f%d(const unsigned char *p, unsigned n)\n{\n    unsigned a = %d, b = n;\n", k, k * 7919
        printf "    for (unsigned i = 0; i < n; i++) {\n        if (p[i] > %d) a += b * p[i];\n", k % 200
        printf "        else if (p[i] & %d) b ^= a >> (p[i] & 31);\n        else a -= p[n - 1 - i];\n", k % 31 + 1
        printf "        switch (p[i] & 7) {\n        case 1: a *= 3; break;\n        case 2: b += a; break;\n"
        printf "        case 5: a = b - a; break;\n        default: b++;\n        }\n    }\n    return a ^ b;\n}\n"
    }
    printf "unsigned all(const unsigned char *p, unsigned n)\n{\n    unsigned a = 0;\n"
    for (k = 0; k < 250; k++) printf "    a += f%d(p, n);\n", k
    printf "    return a;\n}\n"
}' > "$dir/yardstick.c"
YARDSTICK_MS=1190 # where the core took 3.1 s, when the limits were set

# Milliseconds of user time of compiling NAME, TIMES times over.
compile() {
    (i=0
     while [ $i -lt "$2" ]; do "$CC" -std=c11 -O2 -I. -c "$dir/$1.c" -o "$dir/$1.o" || exit 1; i=$((i + 1)); done
     times) | awk -v n="$2" 'NR == 2 { split($1, t, /[ms]/); printf "%.1f\n", (t[1] * 60 + t[2]) * 1000 / n }'
}

for i in 1 2 3; do
    for what in "yardstick 1" "core 1" "yardstick 1" "all 1" "include 10"; do
        # shellcheck disable=SC2086
        echo "${what% *} $(compile $what)"
    done
done > "$dir/times"

text() { size "$dir/$1.o" | awk 'NR == 2 { print $1 }'; }

awk -v core_text="$(text core)" -v all_text="$(text all)" -v nominal="$YARDSTICK_MS" '
    $2 == "" { failed = 1 }
    !($1 in best) || $2 < best[$1] { best[$1] = $2 }
    function line(what, value, limit, unit) {
        printf "  %-34s %9s %-5s  at most %9s%s\n", what, value, unit, limit, (value > limit + 0 ? "  TOO MUCH" : "")
        if (value > limit + 0) failed = 1
    }
    END {
        slow = best["yardstick"] / nominal
        if (slow < 1) slow = 1
        printf "budget: this machine takes %.2f times as long as the limits are meant for\n", slow
        line("compiling the core", best["core"], sprintf("%.0f", 4000 * slow), "ms")
        line("with all optional parts", best["all"], sprintf("%.0f", 10000 * slow), "ms")
        line("a plain include", best["include"], sprintf("%.0f", 60 * slow), "ms")
        line("code of the core", core_text, 216000, "bytes")
        printf "  %-34s %9s bytes\n", "code with all optional parts", all_text
        exit failed
    }' "$dir/times"
