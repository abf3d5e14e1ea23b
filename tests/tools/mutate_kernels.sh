#!/bin/sh
# Are test_fast.c, test_batch.c and test_math.c any good? Break one thing of sampling.h at a time, in a copy, and see that the test
# fails: the reference, the one body of the kernels (with one instruction set each), and the operations of each set's
# vocabulary. WebAssembly's are left out here; what it shares with sse2 and generic is not.
# Usage: mutate_kernels.sh [DIR]
# CC is the compiler; ARM64_CC and QEMU are for the NEON kernels, which are left out without them.
set -eu
dir=${1:-build/mutants}
mkdir -p "$dir/copy/tests"
cc=${CC:-cc}
arm64_cc=${ARM64_CC:-aarch64-linux-gnu-gcc}
qemu=${QEMU:-qemu-aarch64}
flags="-O1 -std=c11 -w -D_DEFAULT_SOURCE -I$dir/copy"

# test | instruction set, none for what all share | function | what is wrong with it | sed's s command, within that function only: for an
# operation of the vocabulary, in that set's part of it if it has the operation, else in that of four lanes, else where it is shared
list() {
    cat <<'END'
fast|scalar|sampi_maxima_scalar|no look for NaN|s/nan |= buf\[j\] != buf\[j\];//
fast|scalar|sampi_count_scalar|> instead of >=|s/>= floor/> floor/
fast|scalar|sampi_collect_scalar|> instead of >=|s/>= floor/> floor/
fast|scalar|sampi_pick_scalar|a line late|s/\* SAMPI_LINE, len/* SAMPI_LINE + (m > 3), len/
fast|avx2|V(both)|no look for NaN|s/\*nan |= .*;//
fast|avx512|V(lines)|lines out of order|s/k + (k & 4)/k/
fast|avx512|V(near_exps)|an estimate that is off|s/{ SAMPI_F4/{ SAMPI_F5/
fast|sse2|V(sweep)|half of the sums lost|s/part\[k % 2\] += p\[k\]/part[0] += k % 2 ? part[1] : p[k]/
fast|avx2|V(flush)|one sum twice|s/part\[2 \* k + 1\];/part[2 * k];/
fast|avx512|V(moments)|squares of half the lanes|s/part\[2 + k % 2\] = V(fma)/if (k < 2) part[2 + k % 2] = V(fma)/
fast|avx2|V(fold)|the first lanes for all|s/line + i)/line + i - j)/
fast|sse2|V(count)|two vectors left out|s/v\[k\], lo/v[k | 1], lo/
fast|avx512|V(count)|the end left out|s/i < n;/i + 4 * SAMPI_W <= n;/
fast|avx512|V(exp)|a wrong coefficient|s/SAMPI_E8/SAMPI_E7/
fast|sse2|V(exp)|a wrong coefficient|s/SAMPI_E5/SAMPI_E4/
fast|avx2|V(exact)|s without its fma|s/V(fmad)(one - w\[k\], d\[k\], one)/one/
math|sse2|V(exact)|no look for doubt|s/V(doubtful)(doubt)/0/
fast|sse2|V(redo)|half of the logits twice|s/l\[i \/ SAMPI_W\]/l[0]/
fast|avx512|V(weights)|the last half is not stored|s/n - i <= SAMPI_W/n - i <= SAMPI_W + 1/
math|avx512|V(by_inverse)|one half twice|s/, b \* low)/, a * low)/
math|avx2|V(by_inverse)|never in doubt|s/return V(any).*/return false;/
math|avx2|V(probs)|one end for both|s/(1.0 - off)/(1.0 + off)/
math|avx512|V(sums)|no sums above a floor|s/floor < INFINITY;/floor < -1e30f;/
fast|neon|V(any)|never|s/return .*/return false; }/
fast|avx2|V(sums_as)|as many too large as by four|s/(n + step - 1) \/ step \* step/(n + 2 * SAMPI_W - 1) \/ (2 * SAMPI_W) * (2 * SAMPI_W)/
math|avx2|V(sums_as)|half of what is above counted twice|s/in\[0\], in\[1\])/in[0], in[0])/
batch|avx512|V(f16)|one half twice|s/p + 8/p/
fast|avx2|V(envelope)|> instead of >=|s/V(ge)(v\[k\], lo)/V(ge)(lo, v[k])/
fast|avx2|V(scale)|too low is -infinity|s/V(max)(l, low)/l/
fast|sse2|V(scale)|too high is infinity|s/, high), v/, V(all)(INFINITY)), v/
fast|avx512|V(scale)|masked elements get a number|s/V(ge)(v, low)/V(ge)(high, v)/
fast|avx2|V(scale)|a product for the quotient|s/v \/ vr/v * (V(all)(1.0f) \/ vr)/
fast|avx512|V(add_where)|a wrong half|s/m >> 8/m >> 7/
fast|avx512|V(widen)|one half twice|s/v, 1)/v, 0)/
fast|avx2|V(pack)|a lane late|s/0x0706050403020100u/0x0706050403020101u/
fast|avx2|V(widen)|one half twice|s/half ? .* : _mm256_cast/half > 1 ? _mm256_extractf128_ps(v, 1) : _mm256_cast/
fast|sse2|V(narrow)|one half twice|s/_mm_cvtpd_ps(b)/_mm_cvtpd_ps(a)/
fast|sse2|V(pack)|kept lanes are overwritten|s/n += in\[k\] != 0/n += in[k] == 0/
fast|neon|V(fmad)|the sum is left out|s/vfmaq_f64(c, a, b)/vmulq_f64(a, b)/
fast|generic|V(max)|the smaller one|s/a\[k\] > b\[k\]/a[k] < b[k]/
fast|generic|V(narrow)|one half twice|s/b\[0\], (float)b\[1\]/a[0], (float)a[1]/
fast|generic|V(widen)|one half twice|s/half ? 2 : 0/0/
math|scalar|sampi_survey_scalar|no look at ids|s/ && sampi_ascends(d, n)//
math|avx2|V(survey)|no look at ids|s/other |= .*;//
math|avx2|V(field)|logits are p|s/\* 3 + (uint32_t)w/* 3 + (uint32_t)(w + w)/
math|avx2|V(field)|the lanes beside|s/(8 - w)/(8 - w - w)/
math|avx2|V(survey)|the rest is not compared with what is before it|s/d + i - 1, n - i + 1/d + i, n - i/
math|avx2|sampi_ascends|>= instead of >|s/\.id > d/.id >= d/
math|sse2|V(survey)|ids that run out of numbers|s/d\[i - 1\].id < 0/false/
math|avx2|V(survey)|a negative first id|s/d->id >= 0/true/
math|avx512|V(survey)|the lines of all tiles in one place|s/line + at \/ SAMPI_LINE/line/
math|sse2|V(survey)|a NaN is forgotten|s/ || max != max//
math|avx512|V(field)|logits are p|s/(uint32_t)w/(uint32_t)(w + w)/
math|avx512|V(weights)|the sum is the last vectors only|s/sum += v/sum = v/
math|sse2|V(field)|a logit for another|s/3, 3, 6, 6/0, 0, 6, 6/
fast|scalar|sampi_put_scalar|logits as p|s/(double)p\[i\]/(double)l[i]/
fast|avx2|V(zip)|a half twice|s/if (half)/if (!half)/
fast|sse2|V(zip)|a half twice|s/2, 6, 3, 7/0, 4, 1, 5/
math|avx2|V(put)|the product is taken in doubt too|s/b = V(narrow)(first.*;/b = b;/
fast|avx2|V(put)|one half twice|s/second, low/first, low/
fast|sse2|V(put)|the rest is the start|s/p ? p + i/p ? p/
math|avx512|V(place)|another third|s/0x9249, 0x4924 }, rest/0x4924, 0x9249 }, rest/
math|avx512|V(place)|p is written too|s/with_p ? .*);/logits[k] | rest[k]);/
math|generic|V(place)|one logit for all|s/l\[k\];/l[0];/
fast|avx2|V(put)|upper halves are left|s/SAMPI_TIDY//
fast|avx512|V(collect)|upper halves are left|s/SAMPI_TIDY//
batch||sampi_element|the mask's words are taken for bytes|s/i \/ 32\] >> (i % 32)/i \/ 32] >> (i % 8)/
batch||sampi_f16_to_f32|no subnormals|s/(float)low \* (1.0f/0.0f * (1.0f/
batch||sampi_mask_kind|one clear bit in a tile is not seen|s/all &= two/all \&= any/
batch||sampi_mask_kind|one set bit in a tile is not seen|s/any |= two;/any |= i ? 0 : two;/
batch|scalar|sampi_maxima_scalar|a line without its last element|s/j < len/j + 1 < len/
batch|avx512|V(maxima)|the mask's second half is not looked at|s/SAMPI_TILE \/ 32)/SAMPI_TILE \/ 64)/
batch|avx2|V(allowed)|the mask's bits are not moved in eight lanes|s/left + i % 32/left/
batch|avx2|V(plain)|bf16 by a bit|s/<< 16/<< 15/
batch|sse2|V(allowed)|the mask's bits are not moved|s/mask\[i \/ 32\] >> (i % 32)/mask[i \/ 32]/
batch|sse2|V(f16)|no subnormals|s/(tiny & small)/(bias \& small)/
batch|sse2|V(f16)|infinity is a number|s/ + (bias & special)//
batch|sse2|V(u16)|four elements late|s/_mm_unpacklo_epi16/_mm_unpackhi_epi16/
batch|neon|V(f16)|as bf16|s/vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))/(V(f))(V(u16)(p) << 16)/
fast|sse2|V(lines)|half a line dropped|s/if (SAMPI_W == 4) one = .*;//
fast|avx2|V(maxima)|the rest is not filled up|s/if (!whole) V(pad).*;//
batch|avx2|V(maxima)|the rest is the start of the row|s/dtype, mask, i, whole/dtype, mask, 0, whole/
fast|avx512|V(rest)|one too many of the tail|s/<< left/<< (left + 1)/
fast|sse2|V(pad)|the tail lacks its last element|s/left \* sizeof/(left - 1) * sizeof/
fast|avx512|V(pad)|not filled up|s/V(all)(-INFINITY)/V(all)(0.0f)/
fast|avx512|V(rest)|not filled up|s/V(all)(-INFINITY)/V(all)(0.0f)/
fast|avx2|V(rest)|from the first vector always|s/(uint32_t)at/0/
fast|avx512|V(collect_at)|> instead of >=|s/v, hi), x/lo, v), x/
math|sse2|V(collect_at)|ids from 0|s/(uint32_t)base + (uint32_t)at/(uint32_t)at/
fast|avx2|V(collect)|the rest with ids from the start|s/base + (int32_t)i/base/
fast|avx2|V(pick)|ids from the line's start|s/V(alli)((uint32_t)i)/V(alli)((uint32_t)(i - i % 16))/
fast|avx512|V(pick)|a row's last line lacks its end|s/n - i, parts/n - i - (n - i < 16), parts/
fast|avx2|V(adapt)|the sum is left out|s/sum != 1.0f/false/
fast|sse2|V(adapt)|below the aim as at it|s/, va - x/, V(all)(0.0f)/
fast|avx2|V(mass)|one half twice|s/lo), k, /lo), 0, /
fast|sse2|V(sums_as)|above counts the lower half|s/k % 2, (V(q))/0, (V(q))/
fast|avx512|sampi_envelope_floor|far ones are not left out|s/return least > floor ? least : floor/return floor/
fast|avx512|sampi_least|one above the least|s/unkey((int32_t)hi)/unkey((int32_t)hi + 1)/
fast|avx512|V(loadq_where)|the other half|s/half ? m >> 8 : m/half ? m : m >> 8/
fast|avx512|V(tally)|one comparison only|s/kunpackw(a, b)/kunpackw(0, b)/
fast|avx512|V(tally4)|three comparisons only|s/in\[2\], in\[3\]/0, in[3]/
fast|avx2|V(envelope)|the last tile's end is another's|s/n - i, room/n - i - 1, room/
fast|avx512|V(sra)|no shift|s/(V(raw))n)/(V(raw))(n >> 1))/
fast|avx2|V(chord)|a wrong shift|s/k >> 25/k >> 24/
fast|sse2|V(sra)|a power too large|s/V(alli)(158)/V(alli)(159)/
fast|generic|V(sra)|a power too large|s/127 + 2/127 + 3/
fast|generic|V(sra)|no shift by one|s/u >> 1 & one/u \& one/
fast|neon|V(sra)|the other way|s/vnegq_s32((V(m))n)/(V(m))n/
fast|avx512|V(fold3)|lines out of order|s/0x88)/0x22)/; s/0xDD)/0x77)/
fast|avx2|V(fold3)|lines out of order|s/0x20)/0x30)/
fast|generic|V(fold1)|an element left out|s/0, 4, 1, 5/0, 4, 1, 4/
fast|neon|V(fold2)|a line twice|s/(a, b); }/(a, a); }/
batch|avx512|V(allowed)|the mask is not moved|s/ >> (i % 32)//
batch|avx512|V(part)|half a line twice|s/i + at + 64)/i + at)/
batch|avx512|V(part)|the mask of other elements|s/0xFF00FFu << at/0xFF00FFu/
batch|avx2|V(both)|even elements of bf16 twice|s/pairs & V(alli)(0xFFFF0000u)/pairs << 16/
batch|avx2|V(plain)|half of the f64 elements twice|s/wide + SAMPI_W \/ 2/wide/
batch|avx2|V(fetch_as)|the row from its start|s/V(row)(x, dtype, mask, at + i)/V(row)(x, dtype, mask, i)/
batch|sse2|V(fetch_as)|the tail from the start of the row|s/mask, at + i, n - i/mask, i, n - i/
fast|avx512|V(lookup)|half of the table|s/V(allq)(16)/V(allq)(32)/
fast|avx2|V(expf)|a coefficient for another|s/c1, f\[k\], one/c2, f[k], one/
fast|avx2|V(expf)|the tail lacks its last element|s/n - i, 2, l/n - i - 1, 2, l/
fast|avx512|V(add_terms)|nothing is in doubt|s/(rest, -rest)), half/(rest, -rest)), V(all)(INFINITY)/
fast|avx2|V(add_terms)|above the most|s/V(ge)(most, l)/V(ge)(l, most)/
fast|avx2|V(add_terms)|the tail lacks its last element|s/n - i, 1, /n - i - 1, 1, /
fast|avx512|V(expf)|no temperature|s/l\[k\] \/ V(all)(t)/l[k]/
fast|scalar|sampi_race_scalar|other random bits|s/~out\[1\]/~out[0]/
fast|avx2|V(noise)|every other id twice|s/k % 2 ? 32 : 0/0/
fast|sse2|V(noise)|nine rounds|s/round = 0/round = 1/
fast|avx512|V(race)|the end left out|s/k < len/k + 1 < len/
fast|sse2|V(race)|ids from the start|s/(uint32_t)base + //
fast|avx2|V(race)|a list's end is another's|s/room, id + i, len/room, id, len/
fast|neon|V(even)|a square|s/(uint64x2_t)b/(uint64x2_t)a/
fast|generic|V(even)|a square|s/(b & V/(a \& V/
fast|avx512|sampi_race_tile|too short a time to beat|s/70368744177664.0/70368744177.0/
END
}

# Build test $1 with the header $2 as $3, for arm64 if $4 is neon; else $4 are more flags.
build() {
    cp "$2" "$dir/copy/sampling.h"
    mkdir -p "$dir/copy/tests/unit" "$dir/copy/tests/support" "$dir/copy/tests/data"
    cp "tests/unit/test_$1.c" "$dir/copy/tests/unit/"
    cp tests/support/*.h "$dir/copy/tests/support/"
    cp tests/data/*.h "$dir/copy/tests/data/"
    lib=
    plain=-DSAMP_TEST_PLAIN
    [ "$1" != math ] || lib=-lcmocka plain=
    if [ "${4:-}" = neon ]; then
        # shellcheck disable=SC2086
        "$arm64_cc" $flags $plain -static "$dir/copy/tests/unit/test_$1.c" -o "$3" -lm -pthread
    else
        # shellcheck disable=SC2086
        "$cc" $flags $plain ${4:-} "$dir/copy/tests/unit/test_$1.c" -o "$3" -lm -pthread $lib
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

. tests/tools/change_function.sh

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
survived=0
left_out=
while IFS='|' read -r test isa function what change; do
    if [ "$isa" = neon ] && [ $have_neon = no ]; then
        left_out="$left_out $function"
        continue
    elif [ "$isa" != neon ] && [ "$isa" != generic ] && ! grep -q "rows .* $isa" "$dir/good_fast.log"; then
        left_out="$left_out $function"
        continue
    fi
    header=$dir/mutant.h
    change_function "$isa" "$function" "$change" > "$header"
    ! cmp -s sampling.h "$header" || fail "sed finds nothing to change in $function ($what)"
    more=
    [ "$isa" != neon ] || more=neon
    [ "$isa" != generic ] || more=-DSAMP_NO_SIMD
    build "$test" "$header" "$dir/mutant" $more
    if run "$test" "$dir/mutant" "$isa"; then
        echo "mutate: NOT CAUGHT: $isa $function, $what" >&2
        survived=$((survived + 1))
        continue
    fi
    by=$(sed -n '/^[a-z0-9_]*$/h; $ { x; p; }' "$dir/mutant.log")
    echo "mutate: $isa $function, $what: caught by $by"
    caught=$((caught + 1))
done < "$dir/list"

[ $survived = 0 ] || fail "$survived mutants are not caught"
[ $caught -ge 8 ] || fail "only $caught mutants could be run"
[ -z "$left_out" ] || echo "mutate: LEFT OUT, this machine cannot run them:$left_out"
echo "mutate: $caught mutants, all caught"
