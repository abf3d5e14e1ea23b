#!/bin/sh
# Breaks the kernels of sampling_gpu.h one by one; test_gpu host must fail each time.
# Usage: mutate.sh DIR [I N]: every N-th mutant, from the I-th on (0 to N - 1)
set -eu
dir=$1 turn=${2:-0} of=${3:-1}
mkdir -p "$dir/mutant/tests/gpu" "$dir/mutant/tests/support"
cp sampling.h "$dir/mutant/"
cp tests/gpu/test_gpu.c "$dir/mutant/tests/gpu/"
cp tests/support/*.h "$dir/mutant/tests/support/"

n=0 seen=0 survived=0 list=64
mutant() { # a text of the header, and what replaces it
    seen=$((seen + 1))
    [ $((seen % of)) -eq "$turn" ] || return 0
    awk -v from="$1" -v to="$2" '{ i = index($0, from); if (i && !done) { done = 1
        $0 = substr($0, 1, i - 1) to substr($0, i + length(from)) } print } END { exit !done }' \
        sampling_gpu.h > "$dir/mutant/sampling_gpu.h" || { echo "mutate: not found: $1" >&2; exit 1; }
    ${CC:-cc} -std=c11 -O1 -w -I"$dir/mutant" -DSAMP_GPU_LIST="$list" -DSAMPI_TEAMS=5 \
        "$dir/mutant/tests/gpu/test_gpu.c" -o "$dir/mutant/test" -lm -lpthread
    n=$((n + 1))
    if SAMP_TEST_CASES=3000 timeout 300 "$dir/mutant/test" host > "$dir/mutant/log" 2>&1; then
        echo "mutate: survived: $1  ->  $2"
        survived=$((survived + 1))
    fi
}

mutant 'bad |= x[i] != x[i];' ''
mutant 'best = m > best ? m : best;' 'best = m;'
mutant 'm[i / 16] = x > m[i / 16] ? x : m[i / 16];' 'm[i / 16] = x;'
mutant 'bad |= x != x || y != y;' 'bad |= x != x;'
mutant 'return v->pairs && (group + 1) * SAMPI_GROUP <= v->n;' 'return v->pairs;'
mutant 'SAMPI_AT > last ? -INFINITY' 'false ? -INFINITY'
mutant '__atomic_fetch_or(&hole[at / 32], 1u << at % 32' '__atomic_fetch_or(&hole[at / 32], 1u << at % 31'
mutant 'bound >= -FLT_MAX && bound >= bar' 'bound >= -FLT_MAX && bound > bar'
mutant 's2 += sampi_weighted(w, max, l);' 's2 += w;'
mutant 'fma(SAMPI_INT - e->w[k], e->d[k], SAMPI_INT)' 'fma(SAMPI_INT - e->w[k], 1.0, SAMPI_INT)'
mutant 'low = x < low ? x : low;' ''
mutant 'n += e.l[k] >= -FLT_MAX;' 'n++;'
mutant 'e.l[k] >= floor' 'e.l[k] > floor'
mutant 'l[i] >= floor' 'l[i] > floor'
mutant 'sum->mixed += (x >> 20) * (x & 0xFFFFF);' ''
mutant 'code > search->hi) continue;' 'code >= search->hi) continue;'
mutant 'max, mid) < bucket)' 'max, mid) <= bucket)'
mutant 'code >= lo && code <= hi) << i' 'code >= lo) << i'
mutant '(code < lo || code > hi) << i' '(code <= lo || code > hi) << i'
mutant '(l[i] == floor) | (l[i] == top)' '(l[i] == top)'
mutant '(from + i < p->end) & (bound[i] >= -FLT_MAX)' '(bound[i] >= -FLT_MAX)'
mutant 'key <= o->k' 'key < o->k'
mutant '(x[k] <= hi);' '(x[k] < hi);'
mutant 'at += (uint32_t)x[k] & (uint32_t)sampi_gpu_mask(k < lane)' 'at += (uint32_t)x[k] & (uint32_t)sampi_gpu_mask(k <= lane)'
mutant 'nan |= bad;' ''
mutant 'code == o->t && key >= o->k' 'code == o->t && key > o->k'
mutant 'code[i] == tie ? ~item' 'true ? ~item'
mutant 'go & (y[k] <= rest)' 'go & (y[k] < rest)'
mutant 'before <= exceeded && exceeded' 'before < exceeded && exceeded'
mutant 'st->complete = st->listed && st->floor <= key;' 'st->complete = st->listed;'
mutant 'if (other > bucket) bucket = other;' ''
mutant 'hole[(uint32_t)id[i] / 32] = 0;' '(void)id;'
mutant 'if (at / SAMPI_GROUP == which) q[at %' 'if (0) q[at %'
mutant '(uint64_t)sampi_envelope(max, c[i].l)' '(uint64_t)0'
mutant 'for (uint32_t k = i; k < n && rule[k].id == rule[i].id; k++)' 'for (uint32_t k = i; k < i + 1; k++)'
mutant 'if (at > keep) keep = at;' ''
mutant 'sampi_gpu_mask(sum_b < least)' 'sampi_gpu_mask(sum_b <= least)'
mutant 'done != mark' 'true'
mutant 'h->st->bar = -INFINITY;' 'h->st->bar = 0.0f;'
mutant 'sampi_gpu_mark_order(h, SAMPI_GPU_BY_SCORE, mean);' ''
mutant 'res->p_set ? (float)(sampi_exp(' 'false ? (float)(sampi_exp('
mutant 'else if (!sampi_gpu_removing(&op[i]) && l >= -FLT_MAX)' 'else if (0)'
mutant 'o->mean <= 1.0' 'true'
mutant 'if (other < best || (other == best && other_key > key)) key = other_key;' ''
mutant 'who = time[i] == least && winner[i] > who ? winner[i] : who;' 'who = winner[i] > who ? winner[i] : who;'
mutant 'const float l = listed ? sampi_gpu_logit(item[i].key) : c[i].l;' 'const float l = listed ? sampi_gpu_logit(item[i].key) : -INFINITY;'
mutant 'ties && last ? sampi_gpu_floor(sampi_gpu_last_logit(h)) : last' 'last'
mutant 'op[i].kind == SAMPI_OP_BEND && l > op[i].max ?' 'false ?'
mutant 'st->bar = ordered ? sampi_gpu_change(op, bar) : -INFINITY;' 'st->bar = ordered ? bar : -INFINITY;'
mutant 'if (max_known) st->max = sampi_gpu_change(op, max);' ''
mutant 'keep += first;' 'keep += first + 1;'
mutant 'return !all && size == st->n_list ? 0 : size;' 'return size;'
mutant 'if (!all && rest > steepest) return 0;' ''
mutant 'first = i < first && falls[i] == steep ? i : first;' 'first = falls[i] == steep ? i : 1;'
mutant 'if (size < step->u.cut.min_keep) size' 'if (0) size'
mutant '!s->owner && !r->moves &&' '!s->owner &&'
mutant 'if (item[i].key >= last) top[' 'if (item[i].key > last) top['
mutant 'if (n_top > st->n)' 'if (0)'
mutant 'rank += given[i] >= key' 'rank += given[i] > key'
mutant 'if (key >= st->given_from) return' 'if (1) return'
mutant 'c[i].l = sampi_roundf(sampi_gpu_element(&v, (uint32_t)id[i])) + 0.0f;' ''
mutant '    st->bar = -INFINITY;' ''
mutant '    st->n_ops = 0;' ''
mutant 'sampi_gpu_keep_from(h, st->chosen);' ''
mutant 'bool good = most > 0;' 'bool good = true;'
mutant 'if (lp && (r->custom || r->n_device < r->n || r->n > SAMPI_STEPS - 2)) return false;' ''
mutant 'if (lp && (r->custom ||' 'if (lp && ('
mutant 'r->custom || r->n_device < r->n ||' 'r->custom ||'
mutant 'return sampi_gpu_has_step(r->list[at]);' 'return true;'
mutant '        if (users == gpu->called[job]) return at;' '        return at;'
mutant 'at < n_old ? old[at].at_p : 0.0f' '0.0f'
mutant 'foreign += (uint32_t)id[i] >= h->a->n_vocab;' ''
mutant '!shown && step->kind' 'step->kind'
mutant 'const bool over = e.l[k] > window_top,' 'const bool over = e.l[k] >= window_top,'
mutant 'mass = fma(sampi_gpu_if(over), e.w[k] - SAMPI_INT, mass);' 'mass += e.w[k] - SAMPI_INT;'
mutant 'count += of.count' 'count += 0'
mutant 'q += sampi_gpu_envelopes(then, e.later, e.q);' 'q += sampi_gpu_envelopes(p->max, e.l, e.q);'
mutant 'if (ahead) cell_sum[i * SAMPI_WARP + (uint32_t)lane] = 0;' ''
mutant 's3 += w, s4++;' 's4++;'
mutant 'in = c[i].l <= search->top && c[i].l >= search->floor;' 'in = c[i].l >= search->floor;'
mutant 'if (pass == SAMPI_PASS_WINDOW && in) sampi_gpu_into_window(&window, key);' ''
mutant '|| (n_changed && sampi_gpu_changed_at(h, id) < n_changed)) continue;' ') continue;'
mutant 'if (item[i].key < key || (n' 'if (item[i].key <= key || (n'
mutant '&& search->above_count >= search->count' ''
mutant '~key[k] < lo || ~key[k] > hi) continue;' '~key[k] > hi) continue;'
mutant 'if (few) return' 'if (0) return'
mutant 'if (st->n_list > SAMP_GPU_LIST) return sampi_gpu_ask_bucket(h, n);' ''
mutant 'top_p && step < end && step->kind == SAMPI_DIST' 'top_p && step < end'
mutant 'last->kind == SAMPI_GPU_LOGPROBS ? last - 1' 'false ? last - 1'
mutant 'slot->n_top[0] == (lp ? lp->raw.n_top : -1) &&' ''
mutant 'logits->logprobs && gpu->token[r] >= 0' 'logits->logprobs'
mutant 'if (status == SAMP_OK) h->job->position = position;' ''
mutant 'copy->position = slot->chain->position;' ''
mutant 'average->sum = sum;' ''
mutant 'slot->serial == s->serial &&' ''
mutant 'slot->n_edits == s->n_edits &&' ''
mutant 'slot->n_vocab == n_vocab &&' ''
mutant 'gpu->n_jobs)->side != SAMPI_GPU_SENT' 'gpu->n_jobs)->side < 9'
mutant 'gpu->new_until = gpu->n_jobs;' ''
mutant 'r->n_device < r->n));' '1));'
mutant 'gpu->unsure = true;' ''
mutant 'if (gpu->batch == UINT32_MAX)' 'if (0)'
mutant '!r->custom && !s->owner' '!r->custom'
mutant 'at += inserts && i >= in_at.below;' 'at += inserts && i > in_at.below;'
mutant 'at -= removes &&' 'at -= 0 &&'
mutant 'if (!same && r.id == old) r.count--;' ''
mutant 'out_at.count == 1' 'out_at.count >= 1'
mutant 'sampi_roundf((float)r.count * freq)' 'sampi_roundf(1.0f * freq)'
mutant 'copy->side != SAMPI_GPU_LEFT ?' 'false ?'
mutant 'written < n_rows ? sampi_gpu_put' 'false ? sampi_gpu_put'
# with lists that are long enough for a four-way search
list=512
mutant 'next.hi = a, upto = n_a;' 'next.hi = a, upto = n_a - 1;'
mutant 'next.lo = b + 1, next.hi = c, below = n_b' 'next.lo = b + 1, next.hi = c, below = n_a + 1'
mutant 'next.mass -= mass_below < next.mass ? mass_below : next.mass;' ''
mutant '(x[k] < lo)' '(x[k] <= lo)'
mutant 'x[k] - lo <= span' 'x[k] - lo < span'
mutant 'SAMPI_EXCHANGE(4, (i_ & 8) == 0)' ''
mutant 'if (upto > 1) sampi_gpu_sort_steps(key, m, size, 1, upto / 2);' ''
echo "mutate: $n mutants, $survived survived"
[ "$survived" = 0 ]
