#!/bin/sh
# Breaks the PTX (the device code in the program), replacing a text by one of the same length. The interpreted test must fail
# each time, for the reason that is named. Usage: mutate.sh DIR
set -eu
dir=$1 n=0 survived=0
mutant() { # what is broken, a sed command, what the log must say, settings
    what=$1 change=$2 reason=$3
    shift 3
    LC_ALL=C sed "$change" "$dir/test_gpu" > "$dir/ptx_mutant"
    if cmp -s "$dir/test_gpu" "$dir/ptx_mutant"; then echo "mutate: not found: $change" >&2; exit 1; fi
    chmod +x "$dir/ptx_mutant"
    n=$((n + 1))
    if ! env OMP_TARGET_OFFLOAD=MANDATORY LD_LIBRARY_PATH="$dir/ptx_emulator" \
        SAMP_PTX_STRICT=1 SAMP_TEST_CASES=500 SAMP_TEST_TRUST=1 "$@" \
        timeout 120 "$dir/ptx_mutant" device random_batches > "$dir/ptx_mutant.log" 2>&1 &&
        grep -q "$reason" "$dir/ptx_mutant.log"; then return; fi
    echo "mutate: survived: $what"
    survived=$((survived + 1))
}

mutant 'no fences' 's|^@ \(%r[0-9]* membar\.sys;\)|//\1|; s|^membar|//mbar|' 'no fence in between'
mutant 'no barrier behind simd loops' 's|^@ \(%r[0-9]* bar\.warp\.sync\)|//\1|; s|^bar\.warp|//r.warp|' \
    'ptx:\|by definition' SAMP_PTX_APART=1
mutant 'no barrier behind simd loops and atomics, lanes apart' \
    's|^@ \(%r[0-9]* bar\.warp\.sync\)|//\1|; s|^bar\.warp|//r.warp|' 'no barrier in between' SAMP_PTX_LANES=4
mutant 'the other maximum' 's|max\.f32|min.f32|' 'by definition'
mutant 'a comparison' 's|setp\.ge\.f32|setp.gt.f32|' 'by definition'
mutant 'shuffles by another distance' 's|shfl\.sync\.bfly|shfl.sync.idx.|' 'ptx:'
mutant 'an unknown instruction' 's|cvt\.rn\.f32\.f64|cvt.rz.f32.f64|' 'unknown instruction'
mutant 'atomics that only exchange' 's|atom\.add\.u64 |atom.exch.b64|' 'by definition\|ptx:'
mutant 'pointers times eight' 's|shl\.b64 \(%r[0-9]*,%r[0-9]*\),3;|shl.b64 \1,6;|' 'ptx:'
mutant 'loads of two bytes for eight' 's|^ld\.u64 |ld.u16 |' 'ptx:\|by definition'
# breaks that the trial of a device must notice
mutant 'a coefficient of exp, at the trial' 's|0d3fac6b|0d3fac6c|' 'gives other results: exp' SAMP_TEST_TRUST=0
mutant 'the other maximum, at the trial' 's|max\.f32|min.f32|' 'gives other results\|fails at a trial' SAMP_TEST_TRUST=0
echo "mutate: $n mutants of the PTX, $survived survived"
[ "$survived" = 0 ]
