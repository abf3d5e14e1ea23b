#!/bin/sh
# walk.sh DIR - the functions that a draw of the default chain calls, for a row of 128,256 f32 logits, in the order of their
# first calls: number of calls, room, name, further right for a deeper call. A dash marks those that do not handle the logits
# (a row, pieces of it, numbers of a search). Fails if more than 40 handle the logits. Kernels and the arithmetic of base/ are
# only counted. The program is compiled at -O0 with -finstrument-functions, so no function is inlined.
set -eu
dir=$1
limit=40
mkdir -p "$dir"
cat > "$dir/walk.c" <<'END'
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include <stdio.h>
#define PLAIN __attribute__((no_instrument_function))
enum { N = 128256, MOST = 1 << 14 };
static struct { void *f; int depth, calls; } seen[MOST];
static int on, n_seen, depth, deepest;
static float logits[N];
PLAIN void __cyg_profile_func_enter(void *f, void *caller)
{
    int i = 0;
    (void)caller;
    if (!on) return;
    if (++depth > deepest) deepest = depth;
    while (i < n_seen && seen[i].f != f) i++;
    if (i == n_seen && n_seen < MOST) seen[n_seen].f = f, seen[n_seen++].depth = depth;
    seen[i].calls++;
}
PLAIN void __cyg_profile_func_exit(void *f, void *caller) { (void)f, (void)caller, depth -= on; }
PLAIN int main(void)
{
    uint32_t x = 1;
    for (int i = 0; i < N; i++) { /* sums of uniform numbers, and a few large logits */
        for (int k = 0; k < 12; k++) x = x * 1664525 + 1013904223, logits[i] += (float)(x >> 8) / (1 << 23) - 1;
        if (i % 6007 == 5) logits[i] = 12 + (float)(i % 7);
    }
    samp_params params = samp_default_params();
    samp_sampler *chain = samp_chain_from_params(&params, NULL);
    samp_sample(chain, logits, N); /* allocates */
    on = 1;
    samp_sample(chain, logits, N);
    on = 0;
    for (int i = 0; i < n_seen; i++) printf("%p %d %d\n", seen[i].f, seen[i].depth, seen[i].calls);
    printf("deepest %d 0\n", deepest);
    samp_free(chain);
    return 0;
}
END
"${CC:-gcc}" -std=gnu11 -O0 -g0 -w -no-pie -finstrument-functions -I. "$dir/walk.c" -o "$dir/walk" -lm
"$dir/walk" > "$dir/walk.txt"
nm "$dir/walk" > "$dir/names.txt"
awk -v limit="$limit" '
FILENAME ~ /names\.txt$/ { sub(/^0+/, "0x", $1); name[$1] = $3; next }
FILENAME ~ /sampling\.h$/ {
    if (/^\/\* ---- src\//) room = substr($3, 5)
    else if (/^(static|SAMP_API|SAMPI_INLINE) .*\(/ && !/^[^(]* = /) head = $0
    else if (head != "" && open == 0) head = head $0
    if (head == "") next
    if (open == 0 && head ~ /;$/ && head !~ /\{/) { head = ""; next }
    if (head ~ /\{/) {
        body = body (open++ ? $0 : substr(head, index(head, "{") + 1))
        if (!/^\}|\}$/ || /^[ ]/) next
        sign = substr(head, 1, index(head, "{") - 1)
        f = substr(sign, 1, index(sign, "(") - 1)
        sub(/.*[ *]/, "", f)
        where[f] = room
        sub(/^ +/, "", body)
        question[f] = body ~ /^return / && gsub(/;/, ";", body) == 1
        logits[f] = sign ~ /sampi_(job|row|pieces|values) \*|const float \*/
        head = body = ""
        open = 0
    }
    next
}
$1 == "deepest" { deepest = $2; next }
{
    f = name[$1]
    all++
    if (where[f] == "" || where[f] ~ /^kernels/) { kernels++; next }
    if (where[f] ~ /^base/) { arithmetic++; next }
    if (logits[f]) handle += !question[f]
    if (logits[f]) asked += question[f]
    else if (question[f]) questions++
    else others++
    printf "%6d  %-20s %*s%s%s\n", $3, where[f], 2 * $2, "", f, logits[f] ? "" : " -"
}
END {
    n = handle + asked
    printf "walk: a draw calls %d functions, %d deep; %d handle the logits (%d of them are one-line questions), at most %d\n", all,
        deepest, n, asked, limit
    printf "walk: of the others, %d are kernels and vector operations, %d arithmetic, %d one-line questions, %d keep the chain\n",
        kernels, arithmetic, questions, others
    exit n > limit || n < 10
}' "$dir/names.txt" sampling.h "$dir/walk.txt"
