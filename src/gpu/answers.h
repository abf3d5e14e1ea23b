/* ---- answers to plans ----
   What a sampler's plan (core/plans.h) asks of a row on the device, and what it does to it: sampi_gpu_<question>.
   The plans themselves stand behind this room, compiled for the device with SAMPI_ON. A plan runs in the team that
   advances the row (sampi_gpu_run_step), again from its beginning after each pass that it has asked for. An answer
   writes the state, the list and the changed tokens; only sampi_gpu_choose writes a step: what mirostat and
   adaptive_p have learnt. All return what the functions of gpu/left.h return, which are the plans' numbers. */

typedef const sampi_gpu_here sampi_gpu_row;

/* What a plan keeps from one entry to the next. */
static sampi_memory *sampi_gpu_memory(sampi_gpu_row *h) { return &h->st->memory; }

/* ---- logit_bias, penalties, dry ---- */

/* A rule, done to a logit: what logit_bias, penalties and dry have in common. A masked token stays masked. The same few
   operations as on the CPU, each rounded; the host has made the rule so that no kind needs another. */
static float sampi_gpu_rule_change(const sampi_gpu_rule *rule, float l)
{
    if (sampi_masked(l)) return l;
    if (rule->scale == 0.0f) return -INFINITY;
    l = sampi_finite(l <= 0.0f ? l * rule->scale : l / rule->scale);
    return sampi_finite(l - rule->fall);
}

/* To the changed tokens beside the row. The rules of a step are sorted by id; those with the same id count in their
   order, so the lane of the first one does them all. For a row that isn't complete: its other tokens, which no rule
   changes, stay where they are and cost nothing. */
static SAMPI_CALLED void sampi_gpu_patch_row(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const sampi_gpu_rule *rule = sampi_gpu_rules(h, step);
    const uint32_t n = step->n;
    sampi_gpu_changed *c = h->changed;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        if (i > 0 && rule[i - 1].id == rule[i].id) continue;
        float l = c[rule[i].at].l;
        for (uint32_t k = i; k < n && rule[k].id == rule[i].id; k++) l = sampi_gpu_rule_change(&rule[k], l);
        c[rule[i].at].l = l;
    }
}

/* The same to a list, for a complete row: each item looks for its rules, because a list is in no order. A token that a
   bias masks goes; what is masked in a row is found out by the passes, but a list holds only tokens that are left. */
static SAMPI_CALLED void sampi_gpu_patch_list(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const sampi_gpu_rule *rule = sampi_gpu_rules(h, step);
    const uint32_t n = step->n, n_list = h->st->n_list;
    const sampi_gpu_op unmasked = sampi_gpu_op_of(SAMPI_OP_FROM, 0.0f, SAMPI_GPU_ALL);
    sampi_gpu_item *item = sampi_gpu_list(h);
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n_list; i += SAMPI_WARP)
    {
        const uint32_t id = sampi_gpu_id(item[i].key);
        uint32_t lo = 0, hi = n;
        while (lo < hi) {
            uint32_t mid = lo + (hi - lo) / 2;
            if ((uint32_t)rule[mid].id < id)
                lo = mid + 1;
            else
                hi = mid;
        }
        float l = sampi_gpu_logit(item[i].key);
        for (; lo < n && (uint32_t)rule[lo].id == id; lo++) l = sampi_gpu_rule_change(&rule[lo], l);
        item[i].key = sampi_gpu_key(l, id);
    }
    sampi_gpu_list_keep(h, &unmasked);
}

/* logit_bias, penalties and dry: single logits change. The maximum is known at once as long as nothing else was done to
   the row: it is that of the changed tokens or that of the others. Phase 1: they have changed, and only the maximum is
   asked for, by a pass if need be: without a phase they would change again. */
static int sampi_gpu_plan_patch(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    if (step->n == 0 && h->job->kept_step) return 1; /* an empty window */
    if (st->memory.phase == 0) {
        sampi_gpu_invalidate(st, false);
        st->memory.phase = 1;
        st->sorted = false;
        if (st->complete) {
            sampi_gpu_patch_list(h, step);
        } else {
            sampi_gpu_patch_row(h, step);
            st->listed = st->overflown = false;
            if (st->n_ops == 0) {
                float max = sampi_gpu_changed_max(h);
                st->max = max > st->dense_max ? max : st->dense_max;
                st->max_known = true;
            }
        }
    }
    return sampi_gpu_require_max(h);
}

/* Not on the device: infill compares the texts of tokens, which are on the host; of a chain the members run. */
static int sampi_gpu_plan_none(sampi_gpu_row *h, sampi_gpu_step *step)
{
    (void)h, (void)step;
    return SAMPI_GPU_DECLINED;
}

/* ---- what is known of the tokens left ---- */

/* The maximum; what is `down` below it will be a floor. Nothing is fetched along. */
static int sampi_gpu_max_for_floor(sampi_gpu_row *h, const sampi_gpu_step *step, double down, float *max)
{
    (void)step, (void)down;
    const int known = sampi_gpu_require_max(h);
    *max = h->st->max;
    return known;
}

static int sampi_gpu_sums(sampi_gpu_row *h, const sampi_gpu_step *step, sampi_then then, sampi_sums *sums)
{
    const sampi_gpu_state *st = h->st;
    const int known = then == SAMPI_THEN_PREFIX ? sampi_gpu_require_sums_of(h, sampi_share(step->u.cut.p))
                                                : sampi_gpu_require_sums(h);
    sums->max = st->max, sums->n = (size_t)st->n, sums->z = st->z, sums->s = st->s, sums->above = 0;
    if (known == 1) sampi_gpu_meet(h->st); /* the plan goes on, and writes its memory */
    return known;
}

/* The sum of squares, of a list of all whose squares count. */
static SAMPI_CALLED int sampi_gpu_sum_of_squares(sampi_gpu_row *h, uint64_t *squares)
{
    const int known = sampi_gpu_require_list(h, sampi_gpu_floor(sampi_float_up((double)h->st->max - 14.0)));
    if (known != 1) return known;
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    uint64_t sum = 0;
    SAMPI_SIMD(reduction(+ : sum))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint64_t w = sampi_weight(max, sampi_gpu_logit(item[i].key)) >> 20;
        sum += w * w;
    }
    *squares = sum;
    return 1;
}

/* The sums of top_n_sigma, of the list; a pass makes those of a row. They are integers, so that the deviation is the
   same number however many teams have added them up. */
static SAMPI_CALLED void sampi_gpu_list_sigma(sampi_gpu_row *h)
{
    sampi_gpu_state *st = h->st;
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = st->n_list;
    const float max = st->max;
    const double scale = st->scale;
    uint64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    SAMPI_SIMD(reduction(+ : s0, s1, s2, s3))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        uint64_t x = sampi_sigma_x(max, sampi_gpu_logit(item[i].key), scale);
        sampi_gpu_squares sum = { s0, s1, s2, s3 };
        sampi_gpu_square(&sum, x);
        s0 = sum.x, s1 = sum.high, s2 = sum.mixed, s3 = sum.low;
    }
    st->sigma[0] = s0, st->sigma[1] = s1, st->sigma[2] = s2, st->sigma[3] = s3;
}

/* The standard deviation. Phase 1: its sums are there (sigma), of a pass or of the list. */
static int sampi_gpu_deviation(sampi_gpu_row *h, float *max, double *sigma)
{
    sampi_gpu_state *st = h->st;
    if (st->memory.phase == 0) {
        const int known = sampi_gpu_require_sums(h);
        if (known != 1) return known;
        sampi_gpu_meet(st);
        st->scale = sampi_sigma_scale((double)st->max - (double)st->low);
        st->memory.phase = 1;
        st->sigma[0] = st->sigma[1] = st->sigma[2] = st->sigma[3] = 0;
        if (st->max != st->low && !st->complete) {
            st->pass = SAMPI_PASS_SIGMA;
            return 0;
        }
        if (st->max != st->low) sampi_gpu_list_sigma(h);
    }
    /* the square of x = 2^20 u + v is 2^40 u^2 + 2^21 u v + v^2 */
    sampi_u128 high = sampi_mul128(st->sigma[1], (uint64_t)1 << 40), squares = { 0, st->sigma[3] };
    squares = sampi_add128(squares, sampi_add128(high, sampi_mul128(st->sigma[2], (uint64_t)1 << 21)));
    *max = st->max;
    *sigma = st->max != st->low ? sampi_sigma_of(st->n, st->sigma[0], squares, st->scale) : 0.0;
    return 1;
}

/* Zipf's sums of the first m sorted keys, in ascending order, since they are rounded. The logarithms and differences
   are made before, by all lanes. */
static SAMPI_CALLED void sampi_gpu_zipf_of_first(const sampi_gpu_here *h, uint32_t m, sampi_zipf *zipf)
{
    const uint64_t *key = h->code;
    uint64_t *t = h->wide, *b = sampi_gpu_spare(h);
    sampi_zipf sums = *zipf; /* each lane has its own */
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i + 1 < m; i += SAMPI_WARP)
    {
        t[i] = sampi_bits(sampi_zipf_t(i));
        b[i] = sampi_bits((double)sampi_gpu_logit(key[i]) - (double)sampi_gpu_logit(key[i + 1]));
    }
    for (uint32_t from = 0; from + 1 < m; from += 16) {
        uint64_t x[16], y[16];
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) x[k] = t[from + k];
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) y[k] = b[from + k];
        SAMPI_AT_ONCE(16, x);
        SAMPI_AT_ONCE(16, y);
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) if (from + k + 1 < m)
        {
            sampi_zipf_sum(&sums, sampi_from_bits(x[k]), sampi_from_bits(y[k]));
        }
    }
    *zipf = sums;
    sampi_gpu_meet(h->st); /* lanes have read t and b */
}

/* Zipf's sums of the first m tokens; *n: tokens left. Declined if no list holds m. */
static int sampi_gpu_zipf(sampi_gpu_row *h, size_t m, sampi_zipf *zipf, size_t *n)
{
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_require_sums(h);
    if (known != 1) return known;
    if (m > st->n) m = (size_t)st->n;
    if ((known = sampi_gpu_require_first(h, m)) != 1) return known;
    /* this can't be, says require_first; but what follows would read past the list */
    if (st->n_list < m) return SAMPI_GPU_DECLINED;
    sampi_gpu_list_sort(h);
    sampi_gpu_zipf_of_first(h, (uint32_t)m, zipf);
    *n = (size_t)st->n;
    return 1;
}

static void sampi_gpu_random(sampi_gpu_row *h, const sampi_gpu_step *step, uint64_t *random)
{
    sampi_random_bits(step->seed, h->job->position, step->stream, 0, random);
}

/* How many tokens have that mass, which is xtc's threshold, and the last of them. They are at most 1/t tokens; the list
   has all that reach that share of the maximum's weight, which are few where rows are peaked. From 0.001 on down it
   might not hold even the former, and a pass for that would be in vain. The logarithm is a little low, so that rounding
   never leaves out a token that the mass would keep. */
static SAMPI_CALLED int sampi_gpu_reach(sampi_gpu_row *h, const sampi_gpu_step *step, uint64_t mass,
                                        uint64_t *reached, samp_token_data *token)
{
    sampi_gpu_state *st = h->st;
    const float t = step->u.xtc.t;
    if (!st->complete && !(t > 1e-3f)) return SAMPI_GPU_DECLINED;
    const double down = sampi_share(t) ? sampi_ln(t) - 1e-6 : -(double)FLT_MAX;
    const uint64_t floor = sampi_share(t) ? sampi_gpu_floor(sampi_float_up((double)st->max + down)) : SAMPI_GPU_ALL;
    const int known = sampi_gpu_require_list(h, floor);
    if (known != 1) return known;
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = st->n_list;
    const float max = st->max;
    uint64_t above = 0, last = UINT64_MAX; /* how many reach t; the last of them in order */
    SAMPI_SIMD(reduction(+ : above) reduction(min : last))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        bool in = sampi_weight(max, sampi_gpu_logit(item[i].key)) >= mass;
        above += in;
        last = in && item[i].key < last ? item[i].key : last;
    }
    *reached = above;
    token->id = (samp_token)sampi_gpu_id(last);
    token->logit = sampi_gpu_logit(last);
    return 1;
}

/* ---- what is done to them ---- */

/* What reaches a logit stays. */
static int sampi_gpu_keep_reaching(sampi_gpu_row *h, float least)
{
    sampi_gpu_keep_from(h, sampi_gpu_floor(least));
    return 1;
}

/* An array that is shown would be in order here, or have its p. */
static int sampi_gpu_show(sampi_gpu_row *h, unsigned shows)
{
    if (shows & SAMPI_SHOWS_ORDER) sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    if (shows & SAMPI_SHOWS_P) sampi_gpu_mark_p(h);
    return 1;
}

/* The shortest prefix with that mass and so many tokens. Nothing is shown of mirostat's, behind which nobody sees an
   array. */
static int sampi_gpu_keep_prefix(sampi_gpu_row *h, unsigned shows, uint64_t mass, size_t count)
{
    const int known = sampi_gpu_require_prefix(h, false, 0.0, mass, count);
    if (known != 1) return known;
    (void)sampi_gpu_show(h, shows);
    sampi_gpu_keep_from(h, h->st->search.key);
    return 1;
}

/* The smallest logit of the prefix. search.key may lie anywhere between its last token and the next one; but the list
   in which the search has ended has that token. */
static SAMPI_CALLED float sampi_gpu_last_logit(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const uint64_t key = h->st->search.key;
    uint64_t last = UINT64_MAX;
    SAMPI_SIMD(reduction(min : last))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint64_t x = item[i].key >= key ? item[i].key : UINT64_MAX;
        last = x < last ? x : last;
    }
    return sampi_gpu_logit(last);
}

/* The first k in order, and with ties all that equal the last one. It needs no weights: the search goes by count alone,
   and a small k is found in one list. */
static int sampi_gpu_keep_first(sampi_gpu_row *h, size_t k, bool ties)
{
    int known = sampi_gpu_require_prefix(h, false, 0.0, 0, k);
    if (known != 1) return known;
    const uint64_t last = h->st->search.key;
    sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    sampi_gpu_keep_from(h, ties && last ? sampi_gpu_floor(sampi_gpu_last_logit(h)) : last); /* 0: all stay */
    return 1;
}

/* The second differences of the sorted tokens' weights: bend [n] of w [n + 2]; their sum. */
static SAMPI_CALLED uint64_t sampi_gpu_list_bends(const uint64_t *w, uint32_t n, uint64_t *bend)
{
    uint64_t total = 0;
    SAMPI_SIMD(reduction(+ : total))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint64_t x = sampi_bend(w + i);
        bend[i] = x;
        total += x;
    }
    return total;
}

/* Second differences of sorted weights: they need neighbours, so all tokens must fit a list. Then the place where their
   running sum exceeds its share. It is declined, and the CPU samples the row, if they don't fit. */
static SAMPI_CALLED int sampi_gpu_keep_tail(sampi_gpu_row *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    const uint64_t share = sampi_share(step->u.cut.p);
    int known = sampi_gpu_require_all(h);
    if (known == 1) known = sampi_gpu_require_sums(h);
    if (known != 1) return known;
    sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    sampi_gpu_mark_p(h);
    if (st->n <= 2) return 1;
    sampi_gpu_list_sort(h);
    sampi_gpu_list_weights(h);
    const uint32_t n = st->n_list - 2;
    uint64_t *bend = sampi_gpu_spare(h), keep = step->u.cut.min_keep > 1 ? step->u.cut.min_keep : 1;
    const uint64_t total = sampi_gpu_list_bends(h->wide, n, bend);
    /* weights that hardly bend, as on the CPU: then places count instead of second differences */
    const bool flat = sampi_tail_is_flat(total, st->z);
    uint64_t most = sampi_mulhi(share, flat ? n : total), at = most;
    if (most >= (flat ? n : total)) return 1; /* nothing exceeds it */
    if (!flat) at = sampi_gpu_find(bend, n, bend + n, &most);
    if (at > keep) keep = at;
    if (keep < st->n_list) sampi_gpu_keep_from(h, h->code[keep - 1]);
    return 1;
}

/* The shortest prefix in the order of typical's scores. Thinned, because the scores say nothing about maxima of
   cells; and the first token may be gone, so the maximum is no longer known. */
static int sampi_gpu_keep_nearest(sampi_gpu_row *h, double mean, uint64_t mass, size_t min_keep)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    const int known = sampi_gpu_require_prefix(h, true, mean, mass, min_keep);
    if (known != 1) return known;
    sampi_gpu_mark_order(h, SAMPI_GPU_BY_SCORE, mean);
    sampi_gpu_mark_p(h);
    sampi_gpu_invalidate(st, false);
    sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_SCORE, 0.0f, search->key);
    op.max = st->max;
    op.t = search->score;
    op.mean = mean;
    if (st->complete) {
        sampi_gpu_list_keep(h, &op);
    } else {
        sampi_gpu_push(st, &op);
        sampi_gpu_apply_changed(h);
        st->listed = st->overflown = false;
        st->thinned = true;
    }
    return 1;
}

/* What is left becomes the list if it fits into one. Else the chain goes on without a list, by passes over the row. */
static int sampi_gpu_settle(sampi_gpu_row *h)
{
    const int known = sampi_gpu_require_all(h);
    return known == SAMPI_GPU_DECLINED ? 1 : known;
}

/* Sums that an entropy is made from: of the tokens before some place in the order. */
typedef struct sampi_gpu_running {
    uint64_t z, s;
} sampi_gpu_running;

/* The running sums of n <= 32 numbers, of tokens or of pieces that follow one another, behind the sum of those before
   them: upto [32], a lane each. A function of its own, because gcc 12's device compiler gives a function with arrays
   and a call in a lane too little of its stack; of one array, because the device's stack is short. */
static SAMPI_CALLED void sampi_gpu_run_up(const uint64_t *part, uint32_t n, uint64_t before, uint64_t *upto)
{
    SAMPI_SIMD()
    SAMPI_LANES
    {
        uint64_t x[SAMPI_WARP], sum = before;
        SAMPI_UNROLL(32) for (uint32_t k = 0; k < SAMPI_WARP; k++) x[k] = part[sampi_gpu_min_of(k, n - 1)];
        SAMPI_AT_ONCE(32, x);
        SAMPI_UNROLL(32) for (int k = 0; k < SAMPI_WARP; k++) sum += x[k] & sampi_gpu_mask(k <= lane);
        upto[lane] = sum;
    }
}

/* The sum of the first n numbers, each lane's of every 32nd. */
static SAMPI_CALLED uint64_t sampi_gpu_sum_of_first(const uint64_t *part, uint32_t n)
{
    uint64_t sum = 0;
    SAMPI_SIMD(reduction(+ : sum))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) sum += part[i];
    return sum;
}

/* The first of n <= 32 places whose running sums, upto [2 * 32], have an entropy above `most`; n if none has. */
static SAMPI_CALLED uint32_t sampi_gpu_entropy_above(const uint64_t *upto, uint32_t n, double most)
{
    uint32_t first = n;
    SAMPI_SIMD(reduction(min : first))
    SAMPI_LANES
    {
        const double mass = (double)upto[lane],
                     entropy = sampi_entropy_of(mass, (double)upto[SAMPI_WARP + lane], mass);
        first = (((uint32_t)lane < n) & (entropy > most) & ((uint32_t)lane < first)) ? (uint32_t)lane : first;
    }
    return first;
}

/* Which of these brings the entropy of all up to it above `most`, the first; n if none does. What is before it is added
   to the sums. */
static SAMPI_CALLED uint32_t sampi_gpu_first_above(const uint64_t *z, const uint64_t *s, uint32_t n, double most,
                                                   sampi_gpu_running *sums, uint64_t *upto)
{
    const uint64_t old_z = sums->z, old_s = sums->s; /* read before the barriers of the loops: lanes share the sums */
    sampi_gpu_run_up(z, n, old_z, upto);
    sampi_gpu_run_up(s, n, old_s, upto + SAMPI_WARP);
    const uint32_t first = sampi_gpu_entropy_above(upto, n, most);
    const uint64_t more_z = sampi_gpu_sum_of_first(z, first), more_s = sampi_gpu_sum_of_first(s, first);
    sums->z = old_z + more_z, sums->s = old_s + more_s;
    return first;
}

/* What the sorted keys weigh, in wide, and their shares of the entropy's sum, in code in place of the keys; then both
   in 32 pieces of so many tokens each. */
static SAMPI_CALLED void sampi_gpu_weigh_pieces(const sampi_gpu_here *h, uint32_t each, uint64_t *part_z,
                                                uint64_t *part_s)
{
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    uint64_t *w = h->wide, *weighted = h->code;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const float l = sampi_gpu_logit(weighted[i]);
        w[i] = sampi_weight(max, l);
        weighted[i] = sampi_weighted(w[i], max, l);
    }
    SAMPI_SIMD()
    SAMPI_LANES
    {
        uint64_t z = 0, s = 0;
        for (uint32_t i = (uint32_t)lane * each; i < n && i < ((uint32_t)lane + 1) * each; i++)
            z += w[i], s += weighted[i];
        part_z[lane] = z;
        part_s[lane] = s;
    }
}

/* How many top_h keeps of the sorted keys: the fewest whose entropy with one more is above `most`, n if it never is.
   The entropy grows with each token, but as a double only nearly: so the search ends a little below, and from there on
   it goes token by token, as on the CPU. It looks at 32 pieces of the order at once, then at 32 tokens of one. */
static SAMPI_CALLED uint32_t sampi_gpu_top_h_size(const sampi_gpu_here *h, double most)
{
    const uint32_t n = h->st->n_list, each = (n + SAMPI_WARP - 1) / SAMPI_WARP, pieces = (n + each - 1) / each;
    const double nearly = sampi_add_to_product64(most, -1e-12);
    uint64_t *w = h->wide, *weighted = h->code, *part_z = sampi_gpu_spare(h), *part_s = part_z + SAMPI_WARP;
    uint64_t *scratch = h->a->count + h->row * SAMPI_BUCKETS;
    sampi_gpu_weigh_pieces(h, each, part_z, part_s);
    sampi_gpu_running sums = { 0, 0 };
    const uint32_t piece = sampi_gpu_first_above(part_z, part_s, pieces, nearly, &sums, scratch);
    const uint32_t upto = sampi_gpu_min_of((piece + 1) * each, n);
    uint32_t keep = sampi_gpu_min_of(piece * each, n);
    while (keep < upto) {
        const uint32_t m = sampi_gpu_min_of(upto - keep, SAMPI_WARP);
        const uint32_t first = sampi_gpu_first_above(w + keep, weighted + keep, m, nearly, &sums, scratch);
        keep += first;
        if (first < m) break;
    }
    uint64_t z = sums.z, s = sums.s;
    for (; keep < n; keep++) { /* a first token is kept whatever its entropy is said to be */
        z += w[keep], s += weighted[keep];
        if (keep > 0 && sampi_entropy_of((double)z, (double)s, (double)z) > most) break;
    }
    return keep;
}

/* Where the cliff of the sorted keys is: the smallest i that makes the fall behind the first i, divided by i, largest.
   No fall further down is steeper than all that is left divided by n: *rest. */
static SAMPI_CALLED uint32_t sampi_gpu_cliff(const sampi_gpu_here *h, double *steepest, double *rest)
{
    const uint64_t *key = h->code;
    const uint32_t n = h->st->n_list;
    uint64_t *falls = h->wide;
    double most = 0.0;
    uint32_t first = n;
    SAMPI_SIMD(reduction(max : most))
    SAMPI_LANES for (uint32_t i = 1 + (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const double fall = sampi_mean_drop(sampi_gpu_logit(key[i - 1]), sampi_gpu_logit(key[i]), i);
        falls[i] = sampi_bits(fall);
        most = fall > most ? fall : most;
    }
    const uint64_t steep = sampi_bits(most);
    SAMPI_SIMD(reduction(min : first))
    SAMPI_LANES for (uint32_t i = 1 + (uint32_t)lane; i < n; i += SAMPI_WARP)
        first = i < first && falls[i] == steep ? i : first;
    *steepest = most;
    *rest = sampi_mean_drop(sampi_gpu_logit(key[n - 1]), h->st->low, n);
    return most > 0.0 ? first : 1;
}

/* top_h, min_k: how many are kept, by the first tokens in order, or all of them; 0: these don't tell. */
static uint64_t sampi_gpu_beginning_size(sampi_gpu_row *h, const sampi_gpu_step *step)
{
    const sampi_gpu_state *st = h->st;
    const bool all = st->complete || st->floor <= SAMPI_GPU_ALL;
    sampi_gpu_list_sort(h);
    if (step->kind == SAMPI_TOP_H) {
        sampi_sums sums = { st->max, (size_t)st->n, st->z, st->s, 0 };
        const uint32_t size = sampi_gpu_top_h_size(h, sampi_round((double)step->u.cut.p * sampi_entropy(&sums)));
        return !all && size == st->n_list ? 0 : size;
    }
    double steepest, rest;
    const uint32_t cliff = sampi_gpu_cliff(h, &steepest, &rest);
    if (!all && rest > steepest) return 0;
    return sampi_min_k_keeps(cliff, (double)step->u.cut.p, st->max, st->low, st->n);
}

/* Both keep a beginning of the order. Phase 0: how many, from a list of some, then of many; 1: keep them. */
static int sampi_gpu_keep_beginning(sampi_gpu_row *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    if (st->memory.phase == 0) {
        int known = sampi_gpu_require_sums(h);
        if (known == 1 && !st->complete && !st->listed) known = sampi_gpu_require_first(h, SAMPI_HEAD);
        if (known != 1) return known;
        uint64_t size = sampi_gpu_beginning_size(h, step);
        if (size == 0) return sampi_gpu_require_first(h, SAMP_GPU_LIST / 2) == 0 ? 0 : SAMPI_GPU_DECLINED;
        if (size < step->u.cut.min_keep) size = step->u.cut.min_keep < st->n ? step->u.cut.min_keep : st->n;
        sampi_gpu_meet(st);
        st->memory.count = size;
        st->memory.phase = 1;
    }
    return sampi_gpu_keep_first(h, (size_t)st->memory.count, false);
}

/* xtc: that token becomes the first. */
static int sampi_gpu_drop_before(sampi_gpu_row *h, const samp_token_data *token)
{
    sampi_gpu_mark_p(h);
    sampi_gpu_keep_until(h, sampi_gpu_key(token->logit, (uint32_t)token->id));
    return 1;
}

/* All logits by a temperature. For a row that isn't complete it is one operation in the list, and no pass. One too
   small for arithmetic is greedy: one token stays, and the others are masked where they stand, so nothing is in
   order. */
static int sampi_gpu_scale(sampi_gpu_row *h, float t)
{
    if (!(t >= SAMPI_TEMP_MIN)) return sampi_gpu_keep_prefix(h, 0, 0, 1);
    const sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_SCALE, 1.0f / t, 0);
    sampi_gpu_change_all(h, &op);
    return 1;
}

/* smoothing: logits by how far they are below the maximum, one operation. */
static int sampi_gpu_bend(sampi_gpu_row *h, const sampi_gpu_step *step)
{
    const int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_BEND, step->u.smoothing.factor, 0);
    op.max = h->st->max;
    op.mean = sampi_bend_of(step->u.smoothing.curve);
    sampi_gpu_change_all(h, &op);
    return 1;
}

/* log_softmax: all logits less one number. */
static int sampi_gpu_shift(sampi_gpu_row *h, double less)
{
    sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_SHIFT, 0.0f, 0);
    op.mean = less;
    sampi_gpu_change_all(h, &op);
    return 1;
}

/* The map, done to a list, for adaptive_p. at_order has the logit from before: the chosen token's probability is made
   from it. It is free for that: behind the sampler that selects no array is exported. */
static SAMPI_CALLED void sampi_gpu_list_adapt(sampi_gpu_row *h, float max, uint64_t z, float aim)
{
    sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint32_t id = sampi_gpu_id(item[i].key);
        item[i].at_order = sampi_gpu_logit(item[i].key);
        item[i].key = sampi_gpu_key(sampi_gpu_adapt(item[i].at_order, max, z, aim), id);
    }
}

/* adaptive_p's map: one operation. Neither a list nor the maxima of cells say anything of the mapped logits. */
static int sampi_gpu_adapt_all(sampi_gpu_row *h, const sampi_sums *sums, float aim)
{
    sampi_gpu_state *st = h->st;
    if (st->complete) {
        sampi_gpu_list_adapt(h, sums->max, sums->z, aim);
    } else {
        sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_ADAPT, aim, 0);
        op.max = sums->max;
        op.t = sums->z;
        sampi_gpu_mark_order(h, SAMPI_GPU_BY_ID, 0.0); /* keeps the changed tokens' logits */
        sampi_gpu_push(st, &op);
        sampi_gpu_apply_changed(h);
        st->listed = st->overflown = false;
        st->thinned = true;
    }
    sampi_gpu_invalidate(st, false);
    return 1;
}

/* A token's logit before the map: what its probability is reckoned from. In a list it is beside the key; else it is
   that after all operations but the last one, which is the map. */
static SAMPI_CALLED float sampi_gpu_before_adapt(sampi_gpu_row *h, const samp_token_data *token)
{
    const uint32_t id = (uint32_t)token->id;
    if (!h->st->complete) {
        uint32_t at = sampi_gpu_changed_at(h, id);
        return at < h->job->n_ids ? h->changed[at].at_order : sampi_gpu_logit_of(h, id, h->st->n_ops - 1);
    }
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    float l = -INFINITY;
    SAMPI_SIMD(reduction(max : l))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
        l = sampi_gpu_id(item[i].key) == id ? item[i].at_order : l;
    return l;
}

/* ---- choosing ---- */

static void sampi_gpu_token(uint64_t key, samp_token_data *token)
{
    token->id = (samp_token)sampi_gpu_id(key);
    token->logit = sampi_gpu_logit(key);
}

/* The first token: a list of one is asked for, and more in it are no harm. After the search the list holds the first
   token, whichever way it went. */
static int sampi_gpu_top(sampi_gpu_row *h, samp_token_data *token)
{
    const int known = sampi_gpu_require_prefix(h, false, 0.0, 0, 1);
    if (known == 1) sampi_gpu_token(sampi_gpu_list_max(h), token);
    return known;
}

/* One pass more for a row, none for a complete list. */
static int sampi_gpu_draw(sampi_gpu_row *h, const sampi_gpu_step *step, samp_token_data *token)
{
    uint64_t key;
    const int known = sampi_gpu_draw_key(h, step, &key);
    if (known == 1) sampi_gpu_token(key, token);
    return known;
}

/* The same, and the sums of what is drawn from. */
static int sampi_gpu_draw_and_sums(sampi_gpu_row *h, const sampi_gpu_step *step, samp_token_data *token,
                                   sampi_sums *sums)
{
    const int known = sampi_gpu_sums(h, step, SAMPI_THEN_NOTHING, sums);
    return known == 1 ? sampi_gpu_draw(h, step, token) : known;
}

/* The token is chosen: the last act of a plan. What its sampler learns goes into the step, for the next batch, and into
   the result, for the host's chain. It changes once, behind all questions: a step that is called again must not learn
   twice. */
static int sampi_gpu_choose(sampi_gpu_row *h, sampi_gpu_step *step, const samp_token_data *token, float learnt)
{
    if (step->kind != SAMPI_ADAPTIVE_P) {
        sampi_gpu_meet(h->st);
        step->now.mu = learnt;
    } else {
        sampi_adaptive_numbers *average = &step->u.adaptive;
        const float sum = sampi_decay(average->sum, average->decay, learnt);
        const float total = sampi_decay(average->total, average->decay, 1.0f);
        sampi_gpu_meet(h->st);
        average->sum = sum;
        average->total = total;
    }
    return sampi_gpu_choose_key(h, sampi_gpu_key(token->logit, (uint32_t)token->id), learnt);
}

#ifdef SAMPLING_GUMBEL_DECLARED
/* The first of n lanes' winners: the smallest time, of two the larger key. */
static SAMPI_CALLED void sampi_gpu_first_of(const uint64_t *time, const uint64_t *winner, uint32_t n, uint64_t *best,
                                            uint64_t *key)
{
    uint64_t least = UINT64_MAX, who = 0;
    SAMPI_SIMD(reduction(min : least))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) least = time[i] < least ? time[i] : least;
    SAMPI_SIMD(reduction(max : who))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
        who = time[i] == least && winner[i] > who ? winner[i] : who;
    *best = least;
    *key = who;
}

/* The race of the list, or of the changed tokens beside a row; each lane's winner goes into wide and code. */
static SAMPI_CALLED void sampi_gpu_short_race(const sampi_gpu_here *h, const sampi_gpu_step *step, uint64_t *best,
                                              uint64_t *key)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const sampi_gpu_changed *c = h->changed;
    const int32_t *id = h->changed_id;
    const bool listed = h->st->complete;
    const uint32_t n = listed ? h->st->n_list : h->job->n_ids;
    const sampi_race start = sampi_gpu_race_of(step, h->job->position, h->st->max);
    uint64_t *time = h->wide, *winner = h->code;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        sampi_race race = start;
        for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) {
            const float l = listed ? sampi_gpu_logit(item[i].key) : c[i].l;
            const uint32_t token = listed ? sampi_gpu_id(item[i].key) : (uint32_t)id[i];
            sampi_race_run(&race, l, (samp_token)token, 0);
        }
        time[lane] = sampi_bits(race.time);
        winner[lane] = sampi_gpu_key(race.logit, (uint32_t)race.id);
    }
    sampi_gpu_first_of(time, winner, SAMPI_WARP, best, key);
}

/* All that is left runs, and who comes first is chosen: a list at once, a row by a pass. What has no weight does not
   run, but the maximum always does. */
static int sampi_gpu_race(sampi_gpu_row *h, const sampi_gpu_step *step, samp_token_data *token)
{
    sampi_gpu_state *st = h->st;
    const size_t first = h->row * h->a->splits * SAMPI_WARP;
    uint64_t best, key, other, other_key;
    int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    if (!st->complete && !st->drawn) {
        sampi_gpu_meet(st);
        st->drawn = true;
        st->pass = SAMPI_PASS_RACE;
        return 0;
    }
    sampi_gpu_short_race(h, step, &best, &key);
    if (!st->complete) {
        sampi_gpu_first_of(h->a->time + first, h->a->winner + first, h->a->splits * SAMPI_WARP, &other, &other_key);
        if (other < best || (other == best && other_key > key)) key = other_key;
    }
    sampi_gpu_token(key, token);
    return 1;
}

#endif
