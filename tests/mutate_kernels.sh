#!/bin/sh
# Are test_fast.c and test_batch.c any good? Break one kernel of sampling.h at a time, in a copy, and see that the test
# fails.
# Usage: mutate_kernels.sh [DIR]
# CC is the compiler; ARM64_CC and QEMU are for the NEON kernels, which are left out without them.
set -eu
dir=${1:-build/mutants}
mkdir -p "$dir/copy/tests"
cc=${CC:-cc}
arm64_cc=${ARM64_CC:-aarch64-linux-gnu-gcc}
qemu=${QEMU:-qemu-aarch64}
flags="-O1 -std=c11 -w -D_DEFAULT_SOURCE -DSAMP_TEST_PLAIN"

# test | function | what is wrong with it | sed's s command, within that function only
list() {
    cat <<'END'
fast|sampi_maxima_scalar|no look for NaN|s/nan |= v\[j\] != v\[j\];//
fast|sampi_count_scalar|> instead of >=|s/>= least/> least/
fast|sampi_collect_scalar|> instead of >=|s/>= least/> least/
fast|sampi_load_avx2|the tail lacks its last element|s/set1_epi32((int)left)/set1_epi32((int)left - 1)/
fast|sampi_lines_avx2|half a line dropped|s/v\[k\] = _mm256_max_ps(a, b)/v[k] = _mm256_max_ps(a, a)/
fast|sampi_lines_avx2|no look for NaN in half a line|s/cmp_ps(a, b, _CMP_UNORD_Q)/cmp_ps(a, a, _CMP_UNORD_Q)/
fast|sampi_pick_avx2|> instead of >=|s/_CMP_GE_OQ/_CMP_GT_OQ/
fast|sampi_collect_avx2|> instead of >=|s/_CMP_GE_OQ/_CMP_GT_OQ/
fast|sampi_mass_avx2|the tail lacks its last element|s/for (; i < n; i++) tail/for (; i + 1 < n; i++) tail/
fast|sampi_envelope_add_avx2|a wrong shift|s/srli_epi32(k, 25)/srli_epi32(k, 24)/
fast|sampi_exp_avx2|a wrong coefficient|s/SAMPI_E8/SAMPI_E7/
fast|sampi_expf_avx2|an estimate that is off|s/SAMPI_F4/SAMPI_F5/
fast|sampi_load_avx512|the tail lacks its last element|s/(1u << left) - 1/(1u << (left - 1)) - 1/
fast|sampi_two_lines_avx512|half a line dropped|s/max_ps(0xFFFF, low, high)/max_ps(0xFFFF, low, low)/
fast|sampi_lines_avx512|lines out of order|s/v\[1\], 0x88)/v[1], 0x22)/; s/v\[1\], 0xDD)/v[1], 0x77)/
fast|sampi_pick_avx512|> instead of >=|s/_CMP_GE_OQ/_CMP_GT_OQ/
fast|sampi_collect_avx512|> instead of >=|s/_CMP_GE_OQ/_CMP_GT_OQ/
fast|sampi_count_avx512|a vector read twice|s/loadu_ps(x + i + 48)/loadu_ps(x + i + 32)/
fast|sampi_mass_avx512|a wrong shift|s/in >> 8/in >> 7/
fast|sampi_envelope_add_avx512|a wrong shift|s/k, 25)/k, 24)/
fast|sampi_expf_avx512|an estimate that is off|s/SAMPI_F4/SAMPI_F5/
fast|sampi_load_neon|the tail lacks its last element|s/left > 2 ? x\[2\]/left > 3 ? x[2]/
fast|sampi_lines_neon|a quarter of a line dropped|s/mask, i + 12)/mask, i + 8)/
fast|sampi_pick_scalar|a line late|s/\* SAMPI_LINE, len/* SAMPI_LINE + (m > 3), len/
fast|sampi_collect_neon|> instead of >=|s/vcgeq_f32/vcgtq_f32/
fast|sampi_envelope_neon|a wrong shift|s/vreinterpretq_u32_s32(k), 25/vreinterpretq_u32_s32(k), 24/
batch|sampi_element|the mask's words are taken for bytes|s/i \/ 32\] >> (i % 32)/i \/ 32] >> (i % 8)/
batch|sampi_f16_to_f32|no subnormals|s/(float)low \* (1.0f/0.0f * (1.0f/
batch|sampi_mask_kind|one clear bit in a tile is not seen|s/all &= mask\[i\]/all \&= mask[0]/
batch|sampi_mask_kind|one set bit in a tile is not seen|s/any |= mask\[i\]/any |= mask[0]/
batch|sampi_maxima_scalar|a line without its last element|s/j < len/j + 1 < len/
batch|sampi_row8_avx2|the mask's bytes are not moved|s/mask)\[i \/ 8\]/mask)[i \/ 32 * 4]/
batch|sampi_row8_avx2|half of the f64 elements twice|s/x + i + 4)/x + i)/
batch|sampi_row8_avx2|bf16 by a bit|s/cvtepu16_epi32(h), 16/cvtepu16_epi32(h), 15/
batch|sampi_fetch_as_avx2|the row from its start|s/mask, at + i));/mask, i));/
batch|sampi_fetch_as_avx2|the tail from the start of the row|s/mask, at + i);/mask, i);/
batch|sampi_lines_avx2|even elements of bf16 twice|s/and_si256(h, .*)));/slli_epi32(h, 16));/
batch|sampi_maxima_as_avx2|the mask's second half is not looked at|s/, half \/ 32)/, half \/ 64)/
batch|sampi_row16_avx512|the mask's words are not moved|s/mask + i \/ 8, 2/mask + i \/ 32 * 4, 2/
batch|sampi_row16_avx512|half of the f16 elements twice|s/x + i + 8)));/x + i)));/
batch|sampi_row16_avx512|half of the f64 elements twice|s/(const double \*)x + i + 8/(const double *)x + i/
batch|sampi_row16_avx512|bf16 without its mask|s/mask ? _mm512_mask_mov_ps(none, in, _mm512_castsi512_ps(wide)) ://
batch|sampi_fetch_as_avx512|the row from its start|s/mask, at + i));/mask, i));/
batch|sampi_two_lines_avx512|half a line of f16 twice|s/_mm_loadu_si128(a + 1)/_mm_loadu_si128(a)/
batch|sampi_two_lines_avx512|odd elements of bf16 with the even ones behind them|s/and_si512(v, .*)));/or_si512(v, _mm512_set1_epi32(1)));/
batch|sampi_maxima_as_avx512|the mask's second half is not looked at|s/, SAMPI_TILE \/ 32)/, SAMPI_TILE \/ 64)/
batch|sampi_row4_neon|the mask's bits are not moved|s/mask\[i \/ 32\] >> (i % 32)/mask[i \/ 32]/
batch|sampi_row4_neon|half of the f64 elements twice|s/x + i + 2)/x + i)/
batch|sampi_fetch_as_neon|the row from its start|s/mask, at + i));/mask, i));/
END
}

# Build test $1 with the header $2 as $3, for arm64 if $4 is neon; else $4 are more flags.
build() {
    cp "$2" "$dir/copy/sampling.h"
    cp "tests/test_$1.c" "$dir/copy/tests/"
    cp tests/*.h "$dir/copy/tests/"
    if [ "${4:-}" = neon ]; then
        # shellcheck disable=SC2086
        "$arm64_cc" $flags -static "$dir/copy/tests/test_$1.c" -o "$3" -lm -pthread
    else
        # shellcheck disable=SC2086
        "$cc" $flags ${4:-} "$dir/copy/tests/test_$1.c" -o "$3" -lm -pthread
    fi
}

fail() {
    echo "mutate: $1" >&2
    exit 1
}

# Run test $1, built as $2, on few cases: the status tells whether it passed. $3 is the instruction set.
run() {
    few=3000
    [ "$1" = fast ] || few=100
    if [ "${3:-}" = neon ]; then
        SAMP_TEST_STOP=1 SAMP_TEST_QUICK=1 SAMP_TEST_CASES=$few "$qemu" "$2" > "$2.log" 2>&1
    else
        SAMP_TEST_STOP=1 SAMP_TEST_FULL=1 SAMP_TEST_CASES=$few SAMP_TEST_ISA="${3:-}" "$2" > "$2.log" 2>&1
    fi
}

have_neon=no
command -v "$arm64_cc" > /dev/null && command -v "$qemu" > /dev/null && have_neon=yes

# Without a mutation the test passes; so it does with limits so small that short rows go the ways of long ones, and
# with a compiler that fuses products and sums where it may.
for test in fast batch; do
    build $test sampling.h "$dir/good_$test"
    run $test "$dir/good_$test" || fail "test_$test fails without a mutation, see $dir/good_$test.log"
    [ $have_neon = yes ] || continue
    build $test sampling.h "$dir/good_neon" neon
    run $test "$dir/good_neon" neon || fail "test_$test fails on arm64, see $dir/good_neon.log"
done
small='s/^\(#define SAMPI_SMALL\) .*/\1 64/; s/^\(#define SAMPI_CHANGES\) .*/\1 3/'
sed "$small" sampling.h > "$dir/limits.h"
[ "$(diff sampling.h "$dir/limits.h" | grep -c '^>')" = 2 ] || fail "SAMPI_SMALL and SAMPI_CHANGES not found"
build fast "$dir/limits.h" "$dir/limits"
run fast "$dir/limits" || fail "the test fails with small limits, see $dir/limits.log"
build fast sampling.h "$dir/contracted" "-std=gnu11 -O3 -ffp-contract=fast"
run fast "$dir/contracted" || fail "the test fails with -ffp-contract=fast, see $dir/contracted.log"

list > "$dir/list"
caught=0
left_out=
while IFS='|' read -r test function what change; do
    isa=${function##*_}
    case $isa in scalar | avx2 | avx512 | neon) ;; *) isa= ;; esac # what they share
    if [ "$isa" = neon ] && [ $have_neon = no ]; then
        left_out="$left_out $function"
        continue
    elif [ "$isa" != neon ] && ! grep -q "rows .* $isa" "$dir/good_fast.log"; then
        left_out="$left_out $function"
        continue
    fi
    header=$dir/$function.h
    sed "/^[A-Za-z].* $function(/,/^}/ $change" sampling.h > "$header"
    ! cmp -s sampling.h "$header" || fail "sed finds nothing to change in $function ($what)"
    more=
    [ "$isa" != neon ] || more=neon
    build "$test" "$header" "$dir/$function" $more
    ! run "$test" "$dir/$function" "$isa" || fail "NOT CAUGHT: $function, $what"
    by=$(sed -n '/^[a-z0-9_]*$/h; $ { x; p; }' "$dir/$function.log")
    echo "mutate: $function, $what: caught by $by"
    rm -f "$dir/$function"
    caught=$((caught + 1))
done < "$dir/list"

[ $caught -ge 8 ] || fail "only $caught mutants could be run"
[ -z "$left_out" ] || echo "mutate: LEFT OUT, this machine cannot run them:$left_out"
echo "mutate: $caught mutants, all caught"
