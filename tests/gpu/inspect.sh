#!/bin/sh
# Look at the device code for what must not be there: the device's malloc, products contracted to f32 fma, values
# spilled to local memory; and for what must: 32 loads under way at once. ptxas, where there is one, assembles it.
# Usage: inspect.sh OFFLOAD DIR
set -eu
offload=$1 dir=$2 here=$PWD
case $offload in nvptx*) ;; *) echo "gpu: $offload compiled; its code is not inspected"; exit 0 ;; esac

rm -rf "$dir/ptx"
mkdir -p "$dir/ptx"
cd "$dir/ptx"
printf '#define SAMPLING_IMPLEMENTATION\n#include "sampling_gpu.h"\n' > all.c
printf 'int main(void) { return samp_gpu_create(NULL, NULL) != NULL; }\n' >> all.c
gcc -std=gnu11 -O3 -fopenmp -ffp-contract=off -fno-pie -no-pie "-foffload=$offload" \
    "-foffload-options=$offload=-misa=sm_80" -foffload-options=-lm "-I$here" -save-temps all.c -o all -lm
ptx=$(ls ./*mkoffload.o | head -n 1)

wrong() { echo "gpu: the device code $1" >&2; exit 1; }
grep -q 'sampi_gpu_walk' "$ptx" || wrong "is missing"
if grep -q 'malloc' "$ptx"; then wrong "calls malloc"; fi
if grep 'fma\.rn\.f32' "$ptx" | grep -qv 0f3f800000; then wrong "has contracted f32 products"; fi # sums are fma by 1
if grep -qE '(ld|st)\.local' "$ptx"; then wrong "spills to local memory"; fi
# what a simd loop takes of its stack, more than there is: gcc 12 counts only one of several arrays, if the loop calls
deep=$(awk '/BEGIN FUNCTION DEF/ { f = $NF } { a = at } { at = 0 } match($0, /simtstack_ar \+ [0-9]+/) {
    at = substr($0, RSTART + 15, RLENGTH - 15) + 0 }
    a && match($0, /,[0-9]+;$/) && /^sub\.u64/ && substr($0, RSTART + 1, RLENGTH - 2) + 0 > a { print f }' "$ptx")
[ -z "$deep" ] || wrong "leaves the stack of simd loops in $deep"
run=$(awk '/^[ \t]*ld\.f32/ { if (++n > most) most = n; next } { n = 0 } END { print most + 0 }' "$ptx")
[ "$run" -ge 32 ] || wrong "has only $run loads under way at once"
for p in ptxas /usr/local/cuda/bin/ptxas; do
    command -v "$p" > /dev/null || continue
    "$p" -c -arch=sm_90 "$ptx" -o all.cubin || wrong "is refused by ptxas"
    # what the assembler fuses by itself: products and sums without .rn; FFMA and DFMA begin with 23 7 and 2b 7
    fused() {
        "$p" -c -arch=sm_90 "-fmad=$1" "$ptx" -o fused.cubin && od -An -v -tx1 -w16 fused.cubin | grep -cE '^ 2[3b] 7'
    }
    [ "$(fused true)" = "$(fused false)" ] || wrong "has products that ptxas fuses with sums"
    assembled=", assembled for sm_90"
    break
done
echo "gpu: device code inspected: no malloc, no contraction, nothing spilled, $run loads under way${assembled:-}"
