#!/bin/sh
# Breaks the kernels of sampling_gpu.h one by one. The trial of a device (the canary, gpu/canary.h) must notice each, and the
# context then samples on the CPU. One program contains all breaks; a number chooses one. Usage: canary_mutants.sh DIR [long];
# long: also prints how many breaks give wrong tokens without the trial.
set -eu
dir=$1/canary long=${2:-}
mkdir -p "$dir/tests/gpu"
cp sampling.h sampling_gpu.h "$dir/"
cp tests/gpu/test_canary.c "$dir/tests/gpu/"

n=0 survived=0
: > "$dir/list"
mutant() { printf '%s\t%s\n' "$1" "$2" >> "$dir/list"; n=$((n + 1)); } # a text of the header, and what replaces it

# reading and the scan
mutant 'bad |= x[i] != x[i];' ''
mutant 'best = m > best ? m : best;' 'best = m;'
mutant 'm[i / 16] = x > m[i / 16] ? x : m[i / 16];' 'm[i / 16] = x;'
mutant 'bad |= x != x || y != y;' 'bad |= x != x;'
mutant 'nan |= bad;' ''
mutant '__atomic_fetch_or(&hole[at / 32], 1u << at % 32, __ATOMIC_RELAXED);' '(void)hole;'
# sums, sigma, the maximum
mutant 'sampi_weighted(w, max, l)' 'w'
mutant 'fma(SAMPI_INT - e->w[k], e->d[k], SAMPI_INT)' 'fma(SAMPI_INT - e->w[k], 1.0, SAMPI_INT)'
mutant 'low = x < low ? x : low;' ''
mutant 'n += e.l[k] >= -FLT_MAX;' 'n++;'
mutant 'if (max_known) st->max = sampi_gpu_change(op, max);' ''
mutant 'h->st->bar = -INFINITY;' 'h->st->bar = 0.0f;'
# lists, histograms, windows
mutant 'key <= o->k' 'key < o->k'
mutant 'if (other > bucket) bucket = other;' ''
mutant 'mass = fma(sampi_gpu_if(over), e.w[k] - SAMPI_INT, mass);' 'mass += e.w[k] - SAMPI_INT;'
mutant 'count += of.count' 'count += 0'
mutant 'q += sampi_gpu_envelopes(then, e.later, e.q);' 'q += sampi_gpu_envelopes(p->max, e.l, e.q);'
mutant 's3 += w, s4++;' 's4++;'
mutant 'if (pass == SAMPI_PASS_WINDOW && in) sampi_gpu_into_window(&window, key);' ''
mutant '(uint64_t)sampi_envelope(max, c[i].l)' '(uint64_t)0'
# steps
mutant 'if (at > keep) keep = at;' ''
mutant 'keep += first;' 'keep += first + 1;'
mutant 'first = i < first && falls[i] == steep ? i : first;' 'first = falls[i] == steep ? i : 1;'
mutant 'hole[(uint32_t)id[i] / 32] = 0;' '(void)id;'
mutant 'if (status == SAMP_OK) h->job->position = position;' ''
mutant 'sampi_gpu_keep_from(h, st->chosen);' ''
mutant 'item[i].key >= last' 'item[i].key > last'
mutant 'rank += given[i] >= key' 'rank += given[i] > key'

# puts each break behind its number: a statement becomes an if, an expression a choice
awk -F'\t' -v list="$dir/list" '
BEGIN { while ((getline line < list) > 0) { split(line, f, "\t"); from[++n] = f[1]; to[n] = f[2] } }
{ for (k = 1; k <= n; k++) if (!done[k] && (i = index($0, from[k]))) { done[k] = 1
      one = from[k] ~ /;$/ ? "if (MUTANT(" k ")) { " to[k] " } else { " from[k] " }" : "(MUTANT(" k ") ? (" to[k] ") : (" from[k] "))"
      $0 = substr($0, 1, i - 1) one substr($0, i + length(from[k])) } print }
END { for (k = 1; k <= n; k++) if (!done[k]) { print "canary_mutants: not found: " from[k] > "/dev/stderr"; bad = 1 } exit bad }' \
    sampling_gpu.h > "$dir/sampling_gpu.h"
${CC:-cc} -std=c11 -O0 -w "-I$dir" "$dir/tests/gpu/test_canary.c" -o "$dir/test" -lm
"$dir/test" > "$dir/log" || { cat "$dir/log" >&2; exit 1; }
wrong=0 k=0
while [ "$k" -lt "$n" ]; do
    k=$((k + 1))
    if ! "$dir/test" "$k" > "$dir/log" 2>&1; then
        echo "canary_mutants: $(tail -n 1 "$dir/log"): $(sed -n "${k}p" "$dir/list")"
        survived=$((survived + 1))
    elif [ -n "$long" ]; then
        status=0
        "$dir/test" "$k" blind > /dev/null 2>&1 || status=$?
        wrong=$((wrong + (status != 0)))
    fi
done
echo "canary: $n broken kernels, $survived not noticed${long:+; without it $wrong of them give wrong tokens}"
[ "$survived" = 0 ]
