#!/bin/sh
# Is test_fused.c any good? Break one kernel of sampling.h at a time, in a copy, and see that the test fails.
# Usage: mutate_kernels.sh [DIR]
# CC is the compiler; ARM64_CC and QEMU are for the NEON kernels, which are left out without them.
set -eu
dir=${1:-build/mutants}
mkdir -p "$dir"
cc=${CC:-cc}
arm64_cc=${ARM64_CC:-aarch64-linux-gnu-gcc}
qemu=${QEMU:-qemu-aarch64}
flags="-O1 -std=c11 -w -D_DEFAULT_SOURCE -DSAMP_TEST_PLAIN -DSAMPLING_IMPLEMENTATION="

# function | what is wrong with it | sed's s command, within that function only
list() {
    cat <<'END'
sampi_maxima_scalar|no look for NaN|s/nan |= x\[i\] != x\[i\];//
sampi_count_scalar|> instead of >=|s/>= least/> least/
sampi_collect_scalar|> instead of >=|s/>= least/> least/
sampi_load_avx2|the tail lacks its last element|s/set1_epi32((int)left)/set1_epi32((int)left - 1)/
sampi_lines_avx2|half a line dropped|s/v\[k\] = _mm256_max_ps(a, b)/v[k] = _mm256_max_ps(a, a)/
sampi_tile_avx2|no look for NaN in half a tile|s/sampi_lines_avx2(x + 8 \* SAMPI_LINE, nan)/sampi_lines_avx2(x + 8 * SAMPI_LINE, \&a)/
sampi_pick_avx2|> instead of >=|s/_CMP_GE_OQ/_CMP_GT_OQ/
sampi_collect_avx2|> instead of >=|s/_CMP_GE_OQ/_CMP_GT_OQ/
sampi_mass_avx2|the tail lacks its last element|s/for (; i < n; i++) tail/for (; i + 1 < n; i++) tail/
sampi_envelope_add_avx2|a wrong shift|s/srli_epi32(k, 25)/srli_epi32(k, 24)/
sampi_exp_avx2|a wrong coefficient|s/SAMPI_E8/SAMPI_E7/
sampi_expf_avx2|an estimate that is off|s/SAMPI_F4/SAMPI_F5/
sampi_load_avx512|the tail lacks its last element|s/(1u << left) - 1/(1u << (left - 1)) - 1/
sampi_two_lines_avx512|half a line dropped|s/max_ps(0xFFFF, low, high)/max_ps(0xFFFF, low, low)/
sampi_lines_avx512|lines out of order|s/v\[1\], 0x88)/v[1], 0x22)/; s/v\[1\], 0xDD)/v[1], 0x77)/
sampi_pick_avx512|> instead of >=|s/_CMP_GE_OQ/_CMP_GT_OQ/
sampi_collect_avx512|> instead of >=|s/_CMP_GE_OQ/_CMP_GT_OQ/
sampi_count_avx512|a vector read twice|s/loadu_ps(x + i + 48)/loadu_ps(x + i + 32)/
sampi_mass_avx512|a wrong shift|s/in >> 8/in >> 7/
sampi_envelope_add_avx512|a wrong shift|s/k, 25)/k, 24)/
sampi_expf_avx512|an estimate that is off|s/SAMPI_F4/SAMPI_F5/
sampi_load_neon|the tail lacks its last element|s/left > 2 ? x\[2\]/left > 3 ? x[2]/
sampi_tile_neon|a quarter of a line dropped|s/vld1q_f32(x + 12)/vld1q_f32(x + 8)/
sampi_pick_scalar|a line late|s/\* SAMPI_LINE, len/* SAMPI_LINE + (m > 3), len/
sampi_collect_neon|> instead of >=|s/vcgeq_f32/vcgtq_f32/
sampi_envelope_neon|a wrong shift|s/vreinterpretq_u32_s32(k), 25/vreinterpretq_u32_s32(k), 24/
END
}

# Build the test with the header $1 as $2, for arm64 if $3 is neon; else $3 are more flags.
build() {
    if [ "${3:-}" = neon ]; then
        # shellcheck disable=SC2086
        "$arm64_cc" $flags -static -include "$1" tests/test_fused.c -o "$2" -lm -pthread
    else
        # shellcheck disable=SC2086
        "$cc" $flags ${3:-} -include "$1" tests/test_fused.c -o "$2" -lm -pthread
    fi
}

fail() {
    echo "mutate: $1" >&2
    exit 1
}

# Run it, on few cases: the status tells whether it passed.
run() {
    if [ "${2:-}" = neon ]; then
        SAMP_TEST_STOP=1 SAMP_TEST_QUICK=1 SAMP_TEST_CASES=3000 "$qemu" "$1" > "$1.log" 2>&1
    else
        SAMP_TEST_STOP=1 SAMP_TEST_CASES=3000 SAMP_TEST_ISA="${2:-}" "$1" > "$1.log" 2>&1
    fi
}

have_neon=no
command -v "$arm64_cc" > /dev/null && command -v "$qemu" > /dev/null && have_neon=yes

# Without a mutation the test passes; so it does with limits so small that short rows go the ways of long ones, and
# with a compiler that fuses products and sums where it may.
build sampling.h "$dir/good"
run "$dir/good" || fail "the test fails without a mutation, see $dir/good.log"
if [ $have_neon = yes ]; then
    build sampling.h "$dir/good_neon" neon
    run "$dir/good_neon" neon || fail "the test fails on arm64, see $dir/good_neon.log"
fi
small='s/^\(#define SAMPI_SMALL\) .*/\1 64/; s/^\(#define SAMPI_CHANGES\) .*/\1 3/'
sed "$small" sampling.h > "$dir/limits.h"
[ "$(diff sampling.h "$dir/limits.h" | grep -c '^>')" = 2 ] || fail "SAMPI_SMALL and SAMPI_CHANGES not found"
build "$dir/limits.h" "$dir/limits"
run "$dir/limits" || fail "the test fails with small limits, see $dir/limits.log"
build sampling.h "$dir/fused" "-std=gnu11 -O3 -ffp-contract=fast"
run "$dir/fused" || fail "the test fails with -ffp-contract=fast, see $dir/fused.log"

list > "$dir/list"
caught=0
left_out=
while IFS='|' read -r function what change; do
    isa=${function##*_}
    if [ "$isa" = neon ] && [ $have_neon = no ]; then
        left_out="$left_out $function"
        continue
    elif [ "$isa" != neon ] && ! grep -q "rows .* $isa" "$dir/good.log"; then
        left_out="$left_out $function"
        continue
    fi
    header=$dir/$function.h
    sed "/^[A-Za-z].* $function(/,/^}/ $change" sampling.h > "$header"
    ! cmp -s sampling.h "$header" || fail "sed finds nothing to change in $function ($what)"
    if [ "$isa" = neon ]; then build "$header" "$dir/$function" neon; else build "$header" "$dir/$function"; fi
    ! run "$dir/$function" "$isa" || fail "NOT CAUGHT: $function, $what"
    by=$(sed -n '/^[a-z_]*$/h; $ { x; p; }' "$dir/$function.log")
    echo "mutate: $function, $what: caught by $by"
    rm -f "$dir/$function"
    caught=$((caught + 1))
done < "$dir/list"

[ $caught -ge 8 ] || fail "only $caught mutants could be run"
[ -z "$left_out" ] || echo "mutate: LEFT OUT, this machine cannot run them:$left_out"
echo "mutate: $caught mutants, all caught"
