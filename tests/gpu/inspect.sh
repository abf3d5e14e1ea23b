#!/bin/sh
# Inspects the device code. It must not contain the device's malloc, products contracted to f32 fma, or values spilled to local
# memory; it must contain 32 loads in flight at once. If ptxas is installed, it assembles the code, and DIR/registers.txt gets the
# registers, spills and stack of each function.
# Usage: inspect.sh OFFLOAD DIR
set -eu
offload=$1 dir=$2 here=$PWD
case $offload in nvptx*) ;; *) echo "gpu: $offload compiled; its code is not inspected"; exit 0 ;; esac

rm -rf "$dir/ptx"
mkdir -p "$dir/ptx"
cd "$dir/ptx"
printf '#define SAMPLING_GUMBEL\n#define SAMPLING_WATERMARK\n#define SAMPLING_CONSTRAINTS\n' > all.c
printf '#define SAMPLING_IMPLEMENTATION\n#include "sampling_gpu.h"\n' >> all.c
printf 'int main(void) { return samp_gpu_init(NULL, NULL) != NULL; }\n' >> all.c
gcc -std=gnu11 -O3 -fopenmp -ffp-contract=off -fno-pie -no-pie "-foffload=$offload" \
    "-foffload-options=$offload=-misa=sm_80" -foffload-options=-lm "-I$here" -save-temps all.c -o all -lm
ptx=$(ls ./*mkoffload.o | head -n 1)

wrong() { echo "gpu: the device code $1" >&2; exit 1; }
grep -q 'sampi_gpu_walk' "$ptx" || wrong "is missing"
if grep -q 'malloc' "$ptx"; then wrong "calls malloc"; fi
if grep 'fma\.rn\.f32' "$ptx" | grep -qv 0f3f800000; then wrong "has contracted f32 products"; fi # sums are fma with a factor of 1
if grep -qE '(ld|st)\.local' "$ptx"; then wrong "spills to local memory"; fi
# simd loops that use more stack than they have: gcc 12 counts only one of several arrays if the loop calls a function
deep=$(awk '/BEGIN FUNCTION DEF/ { f = $NF } { a = at } { at = 0 } match($0, /simtstack_ar \+ [0-9]+/) {
    at = substr($0, RSTART + 15, RLENGTH - 15) + 0 }
    a && match($0, /,[0-9]+;$/) && /^sub\.u64/ && substr($0, RSTART + 1, RLENGTH - 2) + 0 > a { print f }' "$ptx")
[ -z "$deep" ] || wrong "leaves the stack of simd loops in $deep"
run=$(awk '/^[ \t]*ld\.f32/ { if (++n > most) most = n; next } { n = 0 } END { print most + 0 }' "$ptx")
[ "$run" -ge 32 ] || wrong "has only $run loads under way at once"
for p in ptxas /usr/local/cuda/bin/ptxas; do
    command -v "$p" > /dev/null || continue
    "$p" -v -c -arch=sm_90 "$ptx" -o all.cubin 2> ptxas.log || wrong "is refused by ptxas"
    # a line per function: bytes of spill stores, of spill loads, of stack, and its name; for a kernel its registers. The worst is printed.
    awk '/Function properties for|Compiling entry function/ { f = $NF; if (/entry/) f = $(NF - 2) }
        /bytes stack frame/ { print $5, $9, $1, f } /Used [0-9]+ registers/ { print "registers", $5, "-", f }' \
        ptxas.log | sort -rn > ../registers.txt
    worst=$(sed -n '1s/\([0-9]*\) [0-9]* [0-9]* \(.*\)/\2 saves \1 bytes/p' ../registers.txt)
    # The spill stores (4 bytes each, opcode 387) must be among a function's first instructions: then they save the caller's
    # registers, once. A store further down would be of a value without a register, perhaps in a loop. (Arguments of a call may
    # be stored anywhere.)
    readelf -SW all.cubin > sections 2> /dev/null
    late=$(od -Ad -v -tx8 -w16 all.cubin | awk 'FILENAME ~ /registers/ { if ($1 > 0 && $1 != "registers") spill[$4] = $1; next }
        FILENAME ~ /sections/ { if (match($0, /\.text\.[^ ]+ +PROGBITS/)) {
            name = substr($0, RSTART + 6, RLENGTH - 6); sub(/ .*/, "", name); split(substr($0, RSTART + RLENGTH), x, " ")
            start[hex(x[2])] = name } next }
        function hex(s, i, n) { for (i = 1; i <= length(s); i++) n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
            return n + 0 }
        { if ($1 + 0 in start) { f = start[$1 + 0]; at = $1 + 0 } }
        f && $2 ~ /387$/ && $1 - at < 16 * 100 { saved[f] += 4; n++ }
        END { if (!n) print "no function at all: not read"; for (f in spill) if (saved[f] < spill[f]) print f }' \
        ../registers.txt sections -)
    [ -z "$late" ] || wrong "stores a value that found no register in $late"
    # A thread of the device has 1,024 bytes of stack, of which libgomp's main takes 64: the deepest chain of calls from any function
    stack=$(awk 'FILENAME ~ /ptxas/ { if (/Function properties for/) f = $NF; if (/bytes stack frame/) frame[f] = $1; next }
        /BEGIN .*FUNCTION DEF/ { f = $NF }
        /^[ \t]*call / { t = $0; sub(/^[ \t]*call +(\([^)]*\) *, *)?/, "", t); sub(/,.*/, "", t); calls[f] = calls[f] " " t }
        function way(f, n, c, i, d, most) {
            if (f in known) return known[f]
            n = split(calls[f], c, " ")
            for (i = 1; i <= n; i++) { d = way(c[i]); if (d > most) most = d }
            return known[f] = most + frame[f]
        }
        END { for (f in frame) { d = way(f); if (d > worst) worst = d } print worst + 0 }' ptxas.log "$ptx")
    [ "$stack" -gt 0 ] && [ "$stack" -le 928 ] || wrong "takes $stack bytes of a thread's stack, which has 1,024"
    # the assembler fuses products and sums without .rn; the opcodes of FFMA and DFMA begin with 23 7 and 2b 7
    fused() {
        "$p" -c -arch=sm_90 "-fmad=$1" "$ptx" -o fused.cubin && od -An -v -tx1 -w16 fused.cubin | grep -cE '^ 2[3b] 7'
    }
    [ "$(fused true)" = "$(fused false)" ] || wrong "has products that ptxas fuses with sums"
    assembled=", assembled for sm_90: no spill behind a function's entry, $worst; $stack bytes of stack"
    break
done
echo "gpu: device code inspected: no malloc, no contraction, nothing spilled, $run loads under way${assembled:-}"
