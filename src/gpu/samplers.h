/* ---- the samplers ----
   Each sampler twice: its step on the device, and beside it the function (sampi_gpu_fill_*) by which the host writes
   its parameters into the step's record. A step does to the tokens left what the sampler's apply (samplers/) does to
   the array; the integers that decide are the same.

   sampi_gpu_run_step calls a step, by the list SAMPI_GPU_STEPS (gpu/records.h), in the team that advances the row, and
   again from its beginning after each pass that it has asked for. A step writes the state, the list and the changed
   tokens; mirostat and adaptive_p also their record, which is what they have learnt. It returns what all functions of
   gpu/left.h return. sampi_gpu_fill (gpu/sending.h) calls sampi_gpu_fill_* by the same list when a chain is packed.
   The record is zero then, but for kind, seed, stream and where its rules begin; a fill function writes parameters, or
   the kind of a simpler step, and never the sampler.

   The room is over 800 lines long, as it has all samplers; none of them has more than a page. */

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
static void sampi_gpu_patch_row(const sampi_gpu_here *h, const sampi_gpu_step *step)
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
static void sampi_gpu_patch_list(const sampi_gpu_here *h, const sampi_gpu_step *step)
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
static int sampi_gpu_patch(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    if (step->n == 0 && h->job->kept_step) return 1; /* an empty window */
    if (st->phase == 0) {
        st->phase = 1;
        st->sorted = false;
        sampi_gpu_invalidate(st, false);
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

/* penalties' parameters go along, because the device counts the window itself from then on; the rules are the host's
   to make: see sampi_gpu_fill_rules. */
static void sampi_gpu_fill_patch(sampi_gpu_step *step, const sampi_sampler *s)
{
    if (s->kind != SAMPI_PENALTIES) return;
    step->a = s->u.penalties.repeat;
    step->b = s->u.penalties.freq;
    step->c = s->u.penalties.present;
}

/* Keep what is within n standard deviations of the maximum: sums for these first, then the smallest logit that is
   within reach, by bisection over floats, in exactly the arithmetic of the CPU. Phase 0: what the sums are made with,
   maximum and scale; 1: the sums are there (sigma), of a pass or of the list. They are integers, so that the deviation
   is the same number however many teams have added them up. */
static int sampi_gpu_top_n_sigma(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    int known;
    if (st->phase == 0) {
        if ((known = sampi_gpu_require_sums(h)) != 1) return known;
        st->scale = sampi_sigma_scale((double)st->max - (double)st->low);
        st->phase = 1;
        st->sigma[0] = st->sigma[1] = st->sigma[2] = st->sigma[3] = 0;
        if (st->max != st->low && !st->complete) {
            st->pass = SAMPI_PASS_SIGMA;
            return 0;
        }
        if (st->max != st->low) {
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
    }
    /* the square of x = 2^20 u + v is 2^40 u^2 + 2^21 u v + v^2 */
    sampi_u128 high = sampi_mul128(st->sigma[1], (uint64_t)1 << 40), squares = { 0, st->sigma[3] };
    squares = sampi_add128(squares, sampi_add128(high, sampi_mul128(st->sigma[2], (uint64_t)1 << 21)));
    double reach = 0.0;
    if (st->max != st->low) reach = (double)step->a * sampi_sigma_of(st->n, st->sigma[0], squares, st->scale);
    int32_t lo = sampi_key(-FLT_MAX) - 1,
            hi = sampi_key(st->max); /* the smallest logit within reach is in (lo, hi] */
    while ((int64_t)hi - lo > 1) {
        int32_t mid = sampi_middle(lo, hi);
        if ((double)st->max - (double)sampi_unkey(mid) > reach)
            lo = mid;
        else
            hi = mid;
    }
    sampi_gpu_keep_from(h, sampi_gpu_floor(sampi_unkey(hi)));
    return 1;
}

static void sampi_gpu_fill_top_n_sigma(sampi_gpu_step *step, const sampi_sampler *s) { step->a = s->u.cut.p; }

/* The smallest logit of the prefix. search.key may lie anywhere between its last token and the next one; but the list
   in which the search has ended has that token. */
static float sampi_gpu_last_logit(const sampi_gpu_here *h)
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

/* The first k in order. It needs no weights: the search goes by count alone, and a small k is found in one list. */
static int sampi_gpu_first_in_order(const sampi_gpu_here *h, uint64_t k, bool ties)
{
    int known = sampi_gpu_require_prefix(h, false, 0.0, 0, k);
    if (known != 1) return known;
    const uint64_t last = h->st->search.key;
    sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    sampi_gpu_keep_from(h, ties && last ? sampi_gpu_floor(sampi_gpu_last_logit(h)) : last); /* 0: all stay */
    return 1;
}

static int sampi_gpu_top_k(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    return sampi_gpu_first_in_order(h, step->k, step->share != 0);
}

static void sampi_gpu_fill_top_k(sampi_gpu_step *step, const sampi_sampler *s)
{
    step->k = (uint32_t)s->u.top_k.k;
    step->share = (uint64_t)s->u.top_k.ties;
}

/* What typical, top_p, tail_free, min_p and by_sums have in common: a share of the mass or of the largest p, and a
   smallest number of tokens. */
static void sampi_gpu_fill_cut(sampi_gpu_step *step, const sampi_sampler *s)
{
    step->share = sampi_share(s->u.cut.p);
    step->min_keep = s->u.cut.min_keep;
}

/* Second differences of sorted weights: they need neighbours, so all tokens must fit a list. Then the place where their
   running sum exceeds its share, by bisection. It is declined, and the CPU samples the row, if they don't fit. Between
   list_weights and the last sum nothing else may write wide. */
static int sampi_gpu_tail_free(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_require_all(h);
    if (known == 1) known = sampi_gpu_require_sums(h);
    if (known != 1) return known;
    sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    sampi_gpu_mark_p(h);
    if (st->n <= 2) return 1;
    sampi_gpu_list_sort(h);
    sampi_gpu_list_weights(h);
    const uint32_t n = st->n_list - 2;
    const uint64_t *w = h->wide;
    uint64_t total = 0, keep = step->min_keep > 1 ? step->min_keep : 1;
    SAMPI_SIMD(reduction(+ : total))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
        total += sampi_bend(w + i);
    /* weights that hardly bend, as on the CPU: then places count instead of second differences */
    const bool flat = (double)total * 1000000.0 < (double)st->z;
    const uint64_t most = sampi_mulhi(step->share, flat ? n : total);
    uint32_t lo = 0, hi = n; /* the smallest i with a_0 + ... + a_i > most */
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        uint64_t run = 0;
        SAMPI_SIMD(reduction(+ : run))
        SAMPI_LANES for (uint32_t i = (uint32_t)lane; i <= mid; i += SAMPI_WARP)
            run += flat ? 1 : sampi_bend(w + i);
        if (run > most)
            hi = mid;
        else
            lo = mid + 1;
    }
    if (lo > keep) keep = lo;
    if (lo < n && keep < st->n_list) sampi_gpu_keep_from(h, sampi_gpu_list(h)[keep - 1].key);
    return 1;
}

static void sampi_gpu_fill_tail_free(sampi_gpu_step *step, const sampi_sampler *s) { sampi_gpu_fill_cut(step, s); }

/* The shortest prefix in the order of scores. Phase 1: the cut is made; what is left is mostly few, and becomes the
   list if it fits. Thinned, because the scores say nothing about maxima of cells; and the first token may be gone, so
   the maximum is no longer known. If what is left doesn't fit a list, the chain goes on all the same, with passes. */
static int sampi_gpu_typical(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    if (st->phase == 0) {
        int known = sampi_gpu_require_sums(h);
        if (known != 1) return known;
        double mean = (double)st->s / (double)st->z;
        uint64_t min_keep = step->min_keep < st->n ? step->min_keep : st->n;
        known = sampi_gpu_require_prefix(h, true, mean, sampi_mulhi(step->share, st->z) + 1, min_keep);
        if (known != 1) return known;
        sampi_gpu_mark_order(h, SAMPI_GPU_BY_SCORE, mean);
        sampi_gpu_mark_p(h);
        st->phase = 1;
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
    }
    int known = sampi_gpu_require_all(h); /* mostly few are left */
    return known == SAMPI_GPU_DECLINED ? 1 : known;
}

static void sampi_gpu_fill_typical(sampi_gpu_step *step, const sampi_sampler *s) { sampi_gpu_fill_cut(step, s); }

/* The shortest prefix with its share of the mass. No mass at all would be no prefix: at least one token stays. */
static int sampi_gpu_top_p(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_require_sums_of(h, step->share);
    if (known != 1) return known;
    uint64_t min_keep = step->min_keep < st->n ? step->min_keep : st->n, mass = sampi_mass_of(step->share, st->z);
    known = sampi_gpu_require_prefix(h, false, 0.0, mass ? mass : 1, min_keep ? min_keep : 1);
    if (known != 1) return known;
    sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    sampi_gpu_mark_p(h);
    sampi_gpu_keep_from(h, st->search.key);
    return 1;
}

static void sampi_gpu_fill_top_p(sampi_gpu_step *step, const sampi_sampler *s) { sampi_gpu_fill_cut(step, s); }

/* A probability of p times the largest one is a logit ln p below the maximum: so it needs no sums, unless min_keep
   does. */
static int sampi_gpu_min_p(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    return sampi_gpu_keep_above(h, (double)h->st->max + step->d, step->min_keep > 1 ? step->min_keep : 1);
}

/* The logarithm is taken on the host, once for all batches that the chain stays for. */
static void sampi_gpu_fill_min_p(sampi_gpu_step *step, const sampi_sampler *s)
{
    sampi_gpu_fill_cut(step, s);
    step->d = sampi_ln(s->u.cut.p);
}

/* top_a, p_less, p_less_norm, epsilon, eta. Phase 0: the floor (scale) from the sums, of both p_less from a list of all
   whose squares count too; 1: keep what reaches it, with SAMPI_PHASE_MIN_KEEP beside it. The floor waits in the state
   while keep_above asks its questions. */
static int sampi_gpu_by_sums(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    if (st->phase == 0) {
        int known = sampi_gpu_require_sums(h);
        if (known != 1) return known;
        uint64_t more = st->s;
        if (step->k == SAMPI_P_LESS || step->k == SAMPI_P_LESS_NORM) {
            known = sampi_gpu_require_list(h, sampi_gpu_floor(sampi_float_up((double)st->max - 14.0)));
            if (known != 1) return known;
            const sampi_gpu_item *item = sampi_gpu_list(h);
            const uint32_t n = st->n_list;
            const float max = st->max;
            more = 0;
            SAMPI_SIMD(reduction(+ : more))
            SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
            {
                const uint64_t w = sampi_weight(max, sampi_gpu_logit(item[i].key)) >> 20;
                more += w * w;
            }
        }
        st->scale = sampi_sums_floor((sampi_kind)step->k, step->d, st->max, (double)st->n, (double)st->z,
                                     (double)more);
        st->phase = 1;
    }
    return sampi_gpu_keep_above(h, st->scale, step->min_keep > 1 ? step->min_keep : 1);
}

static void sampi_gpu_fill_by_sums(sampi_gpu_step *step, const sampi_sampler *s)
{
    sampi_gpu_fill_min_p(step, s);
    step->k = (uint32_t)s->kind;
}

/* The sums of the first m tokens of the list, which is sorted, from the weights in wide and the weighted ones in
   code. */
static void sampi_gpu_sums_of_first(const sampi_gpu_here *h, uint32_t m, sampi_sums *sums)
{
    const uint64_t *w = h->wide, *weighted = h->code;
    uint64_t z = 0, s = 0;
    SAMPI_SIMD(reduction(+ : z, s))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < m; i += SAMPI_WARP)
    {
        z += w[i];
        s += weighted[i];
    }
    sums->max = h->st->max, sums->n = m, sums->z = z, sums->s = s, sums->above = 0;
}

/* How many top_h keeps of a sorted list: the fewest whose entropy with one more is above `most`, n if it never is. The
   entropy grows with each token, but as a double only nearly: so a bisection ends a little below, and from there on it
   goes token by token, as on the CPU. */
static uint32_t sampi_gpu_top_h_size(const sampi_gpu_here *h, double most)
{
    const uint32_t n = h->st->n_list;
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const float max = h->st->max;
    const double nearly = sampi_add_to_product64(most, -1e-12);
    uint64_t *weighted = h->code;
    sampi_sums sums;
    sampi_gpu_list_weights(h);
    const uint64_t *w = h->wide;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
        weighted[i] = sampi_weighted(w[i], max, sampi_gpu_logit(item[i].key));
    uint32_t keep = 1,
             hi = n; /* so many are surely not too many; with one more than hi they may be, or there is none */
    while (keep < hi) {
        const uint32_t mid = keep + (hi - keep) / 2;
        sampi_gpu_sums_of_first(h, mid + 1, &sums);
        if (sampi_entropy(&sums) > nearly)
            hi = mid;
        else
            keep = mid + 1;
    }
    sampi_gpu_sums_of_first(h, keep, &sums);
    for (; keep < n; keep++) {
        sums.z += w[keep];
        sums.s += weighted[keep];
        if (sampi_entropy(&sums) > most) break;
    }
    return keep;
}

/* Where the cliff of a sorted list is: the smallest i that makes the fall behind the first i, divided by i, largest. No
   fall further down is steeper than all that is left divided by n: *rest. */
static uint32_t sampi_gpu_cliff(const sampi_gpu_here *h, double *steepest, double *rest)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    double most = 0.0;
    uint32_t first = n;
    SAMPI_SIMD(reduction(max : most))
    SAMPI_LANES for (uint32_t i = 1 + (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const double fall = sampi_fall_behind(sampi_gpu_logit(item[i - 1].key), sampi_gpu_logit(item[i].key), i);
        most = fall > most ? fall : most;
    }
    SAMPI_SIMD(reduction(min : first))
    SAMPI_LANES for (uint32_t i = 1 + (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const double fall = sampi_fall_behind(sampi_gpu_logit(item[i - 1].key), sampi_gpu_logit(item[i].key), i);
        first = fall == most && i < first ? i : first;
    }
    *steepest = most;
    *rest = sampi_fall_behind(sampi_gpu_logit(item[n - 1].key), h->st->low, n);
    return most > 0.0 ? first : 1;
}

/* top_h, min_k: how many are kept, by the first tokens in order, or all of them (row_z); 0: these don't tell. */
static void sampi_gpu_beginning_size(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    const bool all = st->complete || st->floor <= SAMPI_GPU_ALL;
    sampi_gpu_list_sort(h);
    if (step->k == SAMPI_TOP_H) {
        sampi_sums sums = { st->max, (size_t)st->n, st->z, st->s, 0 };
        st->row_z = sampi_gpu_top_h_size(h, sampi_round((double)step->a * sampi_entropy(&sums)));
        if (!all && st->row_z == st->n_list) st->row_z = 0;
    } else {
        double steepest, rest;
        st->row_z = sampi_gpu_cliff(h, &steepest, &rest);
        st->row_z = sampi_min_k_keeps(st->row_z, (double)step->a, st->max, st->low, st->n);
        if (!all && rest > steepest) st->row_z = 0;
    }
}

/* Both keep a beginning of the order. Phase 0: how many, from a list of some, then of many; 1: keep them. */
static int sampi_gpu_beginning(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    if (st->phase == 0) {
        int known = sampi_gpu_require_sums(h);
        if (known == 1 && !st->complete && !st->listed) known = sampi_gpu_require_first(h, SAMPI_HEAD);
        if (known != 1) return known;
        sampi_gpu_beginning_size(h, step);
        if (st->row_z == 0) return sampi_gpu_require_first(h, SAMP_GPU_LIST / 2) == 0 ? 0 : SAMPI_GPU_DECLINED;
        if (st->row_z < step->min_keep) st->row_z = step->min_keep < st->n ? step->min_keep : st->n;
        st->phase = 1;
    }
    return sampi_gpu_first_in_order(h, st->row_z, false);
}

static void sampi_gpu_fill_beginning(sampi_gpu_step *step, const sampi_sampler *s)
{
    step->a = s->u.cut.p;
    step->min_keep = s->u.cut.min_keep;
    step->k = (uint32_t)s->kind;
}

/* Remove all that reach t but the last of them, if the coin says so. Those that reach t are at most 1/t tokens; the
   list has all that reach that share of the maximum's weight, which are few where rows are peaked. From 0.001 on
   down it might not hold even the former, and a pass for that would be in vain. The coin comes first and costs
   nothing; it is the same in each call, since no random number is used up. */
static int sampi_gpu_xtc(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    uint64_t random[2];
    sampi_random_bits(step->seed, h->job->position, step->stream, 0, random);
    if (step->a < 1.0f && random[0] >= step->coin) return 1;
    int known = sampi_gpu_require_sums(h);
    if (known != 1) return known;
    if (!st->complete && !(step->b > 1e-3f)) return SAMPI_GPU_DECLINED;
    uint64_t reach = step->share ? sampi_gpu_floor(sampi_float_up((double)st->max + step->d)) : SAMPI_GPU_ALL;
    if ((known = sampi_gpu_require_list(h, reach)) != 1) return known;
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = st->n_list;
    const float max = st->max;
    /* the list may hold a few more than reach t: the floor is a little low, and this decides */
    const uint64_t mass = sampi_mass_of(step->share, st->z);
    uint64_t above = 0, last = UINT64_MAX; /* how many reach t; the last of them in order */
    SAMPI_SIMD(reduction(+ : above) reduction(min : last))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        bool in = sampi_weight(max, sampi_gpu_logit(item[i].key)) >= mass;
        above += in;
        last = in && item[i].key < last ? item[i].key : last;
    }
    /* the last of them stays; if that leaves too few, all stay */
    if (above < 2 || st->n - (above - 1) < step->min_keep) return 1;
    sampi_gpu_mark_p(h);
    sampi_gpu_keep_until(h, last);
    return 1;
}

/* t stands in it three ways: as it is, as a share of the mass that decides, and as a logarithm, which finds the floor
   for the list. The logarithm is a little low, so that rounding never leaves out a token that the share would keep. */
static void sampi_gpu_fill_xtc(sampi_gpu_step *step, const sampi_sampler *s)
{
    step->a = s->u.xtc.p;
    step->b = s->u.xtc.t;
    step->coin = sampi_share(s->u.xtc.p);
    step->share = sampi_share(s->u.xtc.t);
    step->min_keep = s->u.xtc.min_keep;
    step->d = step->share ? sampi_ln(s->u.xtc.t) - 1e-6 : 0.0;
}

/* For temp and temp_ext: a temperature too small for arithmetic is greedy: one token stays. */
static int sampi_gpu_temper(const sampi_gpu_here *h, float t)
{
    if (!(t >= SAMPI_TEMP_MIN)) return sampi_gpu_keep_first(h, 0, 1);
    const sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_SCALE, 1.0f / t, 0);
    sampi_gpu_change_all(h, &op);
    return 1;
}

/* A fixed temperature. For a row that isn't complete it is one operation in the list, and no pass. */
static int sampi_gpu_temp(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    return sampi_gpu_temper(h, step->a);
}

static void sampi_gpu_fill_temp(sampi_gpu_step *step, const sampi_sampler *s) { step->a = s->u.temp.t; }

/* The temperature depends on the entropy. Phase 1: it is known, in scale, where it waits if a tiny one needs a search
   with passes. One token has no entropy. */
static int sampi_gpu_temp_ext(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    if (st->phase == 0) {
        int known = sampi_gpu_require_sums(h);
        if (known != 1) return known;
        if (st->n == 1) return 1;
        sampi_sums sums = { st->max, (size_t)st->n, st->z, st->s, 0 };
        st->scale = (double)sampi_dynamic_temp(step->a, step->b, step->c, &sums);
        st->phase = 1;
    }
    return sampi_gpu_temper(h, (float)st->scale);
}

/* Without a range it is a temperature, for which no sums are needed. */
static void sampi_gpu_fill_temp_ext(sampi_gpu_step *step, const sampi_sampler *s)
{
    if (!(s->u.temp.delta > 0.0f)) step->kind = SAMPI_GPU_TEMP;
    step->a = s->u.temp.t;
    step->b = s->u.temp.delta;
    step->c = s->u.temp.exponent;
}

/* Logits by how far they are below the maximum: one operation. */
static int sampi_gpu_smoothing(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_BEND, step->a, 0);
    op.max = h->st->max;
    op.mean = step->d;
    sampi_gpu_change_all(h, &op);
    return 1;
}

static void sampi_gpu_fill_smoothing(sampi_gpu_step *step, const sampi_sampler *s)
{
    step->a = s->u.smoothing.factor;
    step->d = sampi_bend_of(s);
}

/* Logits less the logarithm of their sum: one operation more, and its sums. */
static int sampi_gpu_log_softmax(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    (void)step;
    int known = sampi_gpu_require_sums(h);
    if (known != 1) return known;
    sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_SHIFT, 0.0f, 0);
    op.mean = sampi_log_sum(h->st->max, h->st->z);
    sampi_gpu_change_all(h, &op);
    return 1;
}

static void sampi_gpu_fill_log_softmax(sampi_gpu_step *step, const sampi_sampler *s) { (void)step, (void)s; }

/* p is set, and the array in order: of that only an export shows anything. Where the whole chain runs here the host
   leaves the step out (sampi_gpu_pack_steps). */
static int sampi_gpu_softmax(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    (void)step;
    int known = sampi_gpu_require_sums(h);
    if (known != 1) return known;
    sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    sampi_gpu_mark_p(h);
    return 1;
}

static void sampi_gpu_fill_softmax(sampi_gpu_step *step, const sampi_sampler *s) { (void)step, (void)s; }

/* The first token: a list of one is asked for, and more in it are no harm. After the search the list holds the first
   token, whichever way it went. */
static int sampi_gpu_greedy(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    (void)step;
    int known = sampi_gpu_require_prefix(h, false, 0.0, 0, 1); /* one token: it is on the list */
    return known == 1 ? sampi_gpu_choose(h, sampi_gpu_list_max(h), 0.0f) : known;
}

static void sampi_gpu_fill_greedy(sampi_gpu_step *step, const sampi_sampler *s) { (void)step, (void)s; }

/* The draw, without anything before it or after it: one pass more for a row, none for a complete list. */
static int sampi_gpu_dist(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    uint64_t key;
    int known = sampi_gpu_draw(h, step, &key);
    return known == 1 ? sampi_gpu_choose(h, key, 0.0f) : known;
}

/* It has no parameters but the random source, which every step has. */
static void sampi_gpu_fill_dist(sampi_gpu_step *step, const sampi_sampler *s) { (void)step, (void)s; }

/* For both mirostats: draw among the tokens kept, and learn from the surprise. mu goes into the step, for the next
   batch, and into the result, for the host's chain. Changed once, behind all questions: a step that is called again
   must not learn twice. */
static int sampi_gpu_mirostat_select(const sampi_gpu_here *h, sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    uint64_t key;
    int known = sampi_gpu_require_sums(h);
    if (known == 1) known = sampi_gpu_draw(h, step, &key);
    if (known != 1) return known;
    double d = (double)st->max - (double)sampi_gpu_logit(key);
    step->mu = sampi_mirostat_mu(step->mu, step->a, step->b, d, (double)st->z);
    return sampi_gpu_choose(h, key, step->mu);
}

/* Phase 0: the exponent of Zipf's law from the first m tokens, which are sorted, and from it how many to keep (row_z);
   1: keep them; 2: draw. Declined if no list holds m tokens. */
static int sampi_gpu_mirostat(const sampi_gpu_here *h, sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    int known;
    if (st->phase == 0) {
        if ((known = sampi_gpu_require_sums(h)) != 1) return known;
        uint64_t m = step->k < st->n ? step->k : st->n;
        if ((known = sampi_gpu_require_first(h, m)) != 1) return known;
        /* this can't be, says require_first; but what follows would read past the list */
        if (st->n_list < m) return SAMPI_GPU_DECLINED;
        sampi_gpu_list_sort(h);
        const sampi_gpu_item *item = sampi_gpu_list(h);
        sampi_zipf zipf = { 0.0, 0.0 };
        for (uint32_t i = 0; i + 1 < m; i++)
            sampi_zipf_add(&zipf, i, sampi_gpu_logit(item[i].key), sampi_gpu_logit(item[i + 1].key));
        /* the sums over pairs of neighbours are the CPU's, in its order: no work for lanes, but m is small */
        st->row_z = sampi_zipf_size(&zipf, step->d, step->mu, (size_t)st->n);
        st->phase = 1;
    }
    if (st->phase == 1) {
        if ((known = sampi_gpu_keep_first(h, 0, st->row_z)) != 1) return known;
        st->phase = 2;
    }
    return sampi_gpu_mirostat_select(h, step);
}

/* Both kinds: m and the vocabulary's size are of the first one only. */
static void sampi_gpu_fill_mirostat(sampi_gpu_step *step, const sampi_sampler *s)
{
    step->k = (uint32_t)s->u.mirostat.m;
    step->d = (double)s->u.mirostat.n_vocab;
    step->a = s->u.mirostat.tau;
    step->b = s->u.mirostat.eta;
    step->mu = s->now.mu;
}

/* Keep the tokens whose surprise is at most mu, and draw. Phase 0: the floor (scale) from mu; 1: keep what reaches it,
   with SAMPI_PHASE_MIN_KEEP beside it; 2: draw. */
static int sampi_gpu_mirostat_v2(const sampi_gpu_here *h, sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    int known;
    if (st->phase == 0) {
        if ((known = sampi_gpu_require_sums(h)) != 1) return known;
        st->scale = sampi_surprise_floor(step->mu, st->max, (double)st->z);
        st->phase = 1;
    }
    if (st->phase != 2) {
        if ((known = sampi_gpu_keep_above(h, st->scale, 1)) != 1) return known;
        st->phase = 2;
    }
    return sampi_gpu_mirostat_select(h, step);
}

static void sampi_gpu_fill_mirostat_v2(sampi_gpu_step *step, const sampi_sampler *s)
{
    sampi_gpu_fill_mirostat(step, s);
}

/* The map, done to a list, for adaptive_p. at_order has the logit from before: the chosen token's probability is made
   from it. It is free for that: behind the sampler that selects no array is exported. */
static void sampi_gpu_list_adapt(const sampi_gpu_here *h, float aim)
{
    sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const float max = h->st->row_max;
    const uint64_t z = h->st->row_z;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint32_t id = sampi_gpu_id(item[i].key);
        item[i].at_order = sampi_gpu_logit(item[i].key);
        item[i].key = sampi_gpu_key(sampi_gpu_adapt(item[i].at_order, max, z, aim), id);
    }
}

/* A token's logit before the map: what its probability is reckoned from, by adaptive_p. In a list it is beside the key;
   else it is that after all operations but the last one, which is the map. */
static float sampi_gpu_unadapted(const sampi_gpu_here *h, uint32_t id)
{
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

/* Logits by how far the probability is from the aim, then a draw. Phase 1: mapped. row_max and row_z are of the first
   distribution, of which the chosen token's probability is learnt; the map's own copies are in its operation. What is
   learnt changes behind all questions, once. */
static int sampi_gpu_adaptive_p(const sampi_gpu_here *h, sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    if (st->phase == 0) {
        int known = sampi_gpu_require_sums(h);
        if (known != 1) return known;
        const float aim = sampi_aim(step->a, step->c, step->mu);
        st->row_max = st->max;
        st->row_z = st->z;
        if (st->complete) {
            sampi_gpu_list_adapt(h, aim);
        } else {
            sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_ADAPT, aim, 0);
            op.max = st->max;
            op.t = st->z;
            sampi_gpu_mark_order(h, SAMPI_GPU_BY_ID, 0.0); /* keeps the changed tokens' logits */
            sampi_gpu_push(st, &op);
            sampi_gpu_apply_changed(h);
            st->listed = st->overflown = false;
            st->thinned = true; /* nor do the maxima of cells say anything of the mapped logits */
        }
        sampi_gpu_invalidate(st, false);
        st->phase = 1;
    }
    uint64_t key;
    int known = sampi_gpu_draw(h, step, &key);
    if (known != 1) return known;
    /* the averages go into the step, for the next batch; p goes to the host, whose chain does the same */
    float l = sampi_gpu_unadapted(h, sampi_gpu_id(key)), p = (float)(sampi_exp(st->row_max, l) / (double)st->row_z);
    step->c = sampi_decay(step->c, step->b, p);
    step->mu = sampi_decay(step->mu, step->b, 1.0f);
    return sampi_gpu_choose(h, key, p);
}

/* Without a target it is a plain draw. */
static void sampi_gpu_fill_adaptive_p(sampi_gpu_step *step, const sampi_sampler *s)
{
    if (s->u.adaptive.target < 0.0f) step->kind = SAMPI_GPU_DIST;
    step->a = s->u.adaptive.target;
    step->b = s->u.adaptive.decay;
    step->c = s->u.adaptive.sum;
    step->mu = s->u.adaptive.total;
}

#ifdef SAMPLING_GUMBEL_DECLARED
/* The first of n lanes' winners: the smallest time, of two the larger key. */
static void sampi_gpu_first_of(const uint64_t *time, const uint64_t *winner, uint32_t n, uint64_t *best,
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
static void sampi_gpu_short_race(const sampi_gpu_here *h, const sampi_gpu_step *step, uint64_t *best, uint64_t *key)
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
static int sampi_gpu_gumbel(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    const size_t first = h->row * h->a->splits * SAMPI_WARP;
    uint64_t best, key, other, other_key;
    int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    if (!st->complete && !st->drawn) {
        st->drawn = true;
        st->pass = SAMPI_PASS_RACE;
        return 0;
    }
    sampi_gpu_short_race(h, step, &best, &key);
    if (!st->complete) {
        sampi_gpu_first_of(h->a->time + first, h->a->winner + first, h->a->splits * SAMPI_WARP, &other, &other_key);
        if (other < best || (other == best && other_key > key)) key = other_key;
    }
    return sampi_gpu_choose(h, key, 0.0f);
}

/* It has no parameters but the random source, which every step has. */
static void sampi_gpu_fill_gumbel(sampi_gpu_step *step, const sampi_sampler *s) { (void)step, (void)s; }
#endif
