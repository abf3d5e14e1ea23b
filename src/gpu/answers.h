/* ---- answers to plans ----
   The questions that a sampler's plan (core/plans.h) asks about a row on the device, and the changes that it makes to
   it: sampi_gpu_<question>. The plans themselves come after this room, compiled for the device with SAMPI_ON. A plan
   runs in the team (thread block) that advances the row (sampi_gpu_run_step), again from its beginning after each pass
   that it has asked for. An answer writes the state, the list and the changed tokens; only sampi_gpu_choose writes a
   step: the numbers that mirostat and adaptive_p learn. All return what the functions of gpu/left.h return, which are
   the plans' numbers. */

typedef const sampi_gpu_here sampi_gpu_row;

/* Returns what a plan keeps from one entry to the next. */
static sampi_memory *sampi_gpu_memory(sampi_gpu_row *h) { return &h->st->memory; }

/* ---- logit_bias, penalties, dry ---- */

/* Returns a logit after a rule, the form that logit_bias, penalties and dry share. A masked token stays masked. These
   are the CPU's operations, each rounded; the host has made the rule so that they fit all three kinds. */
static float sampi_gpu_rule_change(const sampi_gpu_rule *rule, float l)
{
    if (sampi_masked(l)) return l;
    if (rule->scale == 0.0f) return -INFINITY;
    l = sampi_finite(l <= 0.0f ? l * rule->scale : l / rule->scale);
    return sampi_finite(l - rule->fall);
}

/* Applies the rules of a step (a sampler) to the changed tokens, which are kept beside the row. The rules are sorted by
   id; those with the same id apply in their order, so the lane of the first does them all. For a row that is not
   complete: no rule changes its other tokens, so these cost nothing. */
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

/* Applies the rules of a step (a sampler) to the list of a complete row, which has all remaining tokens: each item
   searches its rules, because a list has no order. A token that a bias masks is removed: in a row the passes find
   masked tokens, but a list holds only remaining tokens. */
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

/* The plan of logit_bias, penalties and dry, which change single logits. If no other sampler has changed the row, the
   maximum is known at once: that of the changed tokens or that of the others. Phase 1: the logits are changed, and only
   the maximum is asked for, by a pass if needed; without a phase they would be changed twice. */
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

/* The plan of kinds that do not run on the device: infill compares the texts of tokens, which are on the host; a chain
   is run member by member. */
static int sampi_gpu_plan_none(sampi_gpu_row *h, sampi_gpu_step *step)
{
    (void)h, (void)step;
    return SAMPI_GPU_DECLINED;
}

/* ---- what is known of the tokens left ---- */

/* Returns the maximum, from which a floor `down` below it will be made. No other answer is computed in the same
   pass. */
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
    const int known = then == SAMPI_THEN_PREFIX ? sampi_gpu_require_shares(h, step)
                                                : sampi_gpu_require_sums(h);
    sums->max = st->max, sums->n = (size_t)st->n, sums->z = st->z, sums->s = st->s, sums->above = 0;
    if (known == 1) sampi_gpu_meet(h->st); /* the plan continues, and writes its memory */
    return known;
}

/* Computes the sum of squared weights, from a list of all tokens whose squares count. */
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

/* Computes the sums of top_n_sigma for a list; a pass computes those of a row. They are integers, so the deviation is
   the same number however many teams have added them up. */
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

/* Computes the standard deviation. Phase 1: its sums (sigma) are known, from a pass or from the list. */
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

/* Adds Zipf's sums of the first m sorted keys, in ascending order, because they are rounded. All lanes compute the
   logarithms and differences before that. */
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
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) x[k] = t[sampi_gpu_min_of(from + k, m - 2)];
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) y[k] = b[sampi_gpu_min_of(from + k, m - 2)];
        SAMPI_AT_ONCE(16, x);
        SAMPI_AT_ONCE(16, y);
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) if (from + k + 1 < m)
        {
            sampi_zipf_sum(&sums, sampi_from_bits(x[k]), sampi_from_bits(y[k]));
        }
    }
    sampi_gpu_meet(h->st); /* all lanes have read *zipf, t and b */
    *zipf = sums;
}

/* Computes Zipf's sums of the first m tokens; *n becomes the number of remaining tokens. Declined if no list holds
   m. */
static int sampi_gpu_zipf(sampi_gpu_row *h, size_t m, sampi_zipf *zipf, size_t *n)
{
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_require_sums(h);
    if (known != 1) return known;
    if (m > st->n) m = (size_t)st->n;
    if ((known = sampi_gpu_require_first(h, m)) != 1) return known;
    /* require_first excludes this case, but without the check the code below would read past the list */
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

/* Finds how many tokens have at least the weight `mass` (xtc's threshold), and the last of them. They are at most 1/t
   tokens. The list has all tokens that reach that share of the maximum's weight, which are few in peaked rows. With t
   <= 0.001 it might not even hold 1/t tokens, so no pass is tried. The logarithm is a little too low, so rounding never
   excludes a token that reaches the threshold. */
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
    uint64_t above = 0, last = UINT64_MAX; /* number of tokens that reach t; key of the last of them */
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

/* Keeps the tokens that reach a logit. */
static int sampi_gpu_keep_reaching(sampi_gpu_row *h, float least)
{
    sampi_gpu_keep_from(h, sampi_gpu_floor(least));
    return 1;
}

/* Notes that the CPU's array would be sorted here, or get its p, for a later sampler that is shown the array. */
static int sampi_gpu_show(sampi_gpu_row *h, unsigned shows)
{
    if (shows & SAMPI_SHOWS_ORDER) sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    if (shows & SAMPI_SHOWS_P) sampi_gpu_mark_p(h);
    return 1;
}

/* Keeps the shortest prefix with that mass and number of tokens. mirostat asks for no order and no p, because no
   sampler after it sees an array. */
static int sampi_gpu_keep_prefix(sampi_gpu_row *h, unsigned shows, uint64_t mass, size_t count)
{
    const int known = sampi_gpu_require_prefix(h, false, 0.0, mass, count);
    if (known != 1) return known;
    (void)sampi_gpu_show(h, shows);
    sampi_gpu_keep_from(h, h->st->search.key);
    return 1;
}

/* Returns the smallest logit of the prefix. search.key may lie anywhere between the prefix's last token and the next
   one, but the list in which the search has ended has that last token. */
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

/* Keeps the first k tokens in order, and with `ties` all that equal the last one. It needs no weights: the search goes
   by number alone, and a small k is found in one list. */
static int sampi_gpu_keep_first(sampi_gpu_row *h, size_t k, bool ties)
{
    int known = sampi_gpu_require_prefix(h, false, 0.0, 0, k);
    if (known != 1) return known;
    const uint64_t last = h->st->search.key;
    sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    sampi_gpu_keep_from(h, ties && last ? sampi_gpu_floor(sampi_gpu_last_logit(h)) : last); /* 0: all stay */
    return 1;
}

/* Computes the second differences of the sorted tokens' weights: bend [n] from w [n + 2]; returns their sum. */
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

/* The plan of tail_free: keeps tokens up to the place where the running sum of the second differences exceeds its
   share. Second differences need neighbours, so all tokens must fit a list; otherwise the step is declined, and the CPU
   samples the row. */
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
    /* if the weights have hardly any second differences, places in the order count instead, as on the CPU */
    const bool flat = sampi_tail_is_flat(total, st->z);
    uint64_t most = sampi_mulhi(share, flat ? n : total), at = most;
    if (most >= (flat ? n : total)) return 1; /* nothing exceeds it */
    if (!flat) at = sampi_gpu_find(bend, n, &most);
    if (at > keep) keep = at;
    if (keep < st->n_list) sampi_gpu_keep_from(h, h->code[keep - 1]);
    return 1;
}

/* Keeps the shortest prefix in the order of typical's scores. The row becomes thinned, because scores do not follow the
   maxima of cells (32 elements); and the first token may be removed, so the maximum is no longer known. */
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

/* Puts the remaining tokens into the list if they fit it. Else the chain continues without a list, by passes over the
   row. */
static int sampi_gpu_settle(sampi_gpu_row *h)
{
    const int known = sampi_gpu_require_all(h);
    return known == SAMPI_GPU_DECLINED ? 1 : known;
}

/* Replaces n numbers by their running sums: each lane sums a piece, and then begins with the sum of those before it.
   part [32] is scratch. */
static SAMPI_CALLED void sampi_gpu_run_up(uint64_t *x, uint32_t n, uint64_t *part)
{
    const uint32_t each = (n + SAMPI_WARP - 1) / SAMPI_WARP;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        const uint32_t first = (uint32_t)lane * each;
        uint64_t sum = 0;
        for (uint32_t i = first; i < sampi_gpu_min_of(first + each, n); i++) sum += x[i];
        part[lane] = sum;
    }
    SAMPI_SIMD()
    SAMPI_LANES
    {
        const uint32_t first = (uint32_t)lane * each;
        uint64_t run = 0;
        SAMPI_UNROLL(32) for (int k = 0; k < SAMPI_WARP; k++) run += part[k] & sampi_gpu_mask(k < lane);
        for (uint32_t i = first; i < sampi_gpu_min_of(first + each, n); i++) run += x[i], x[i] = run;
    }
}

/* Returns how many of the sorted keys top_h keeps: the fewest whose entropy with one more token exceeds `most`; n if it
   never does. The first token is kept whatever its computed entropy. */
static SAMPI_CALLED uint32_t sampi_gpu_top_h_size(const sampi_gpu_here *h, double most)
{
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    uint64_t *z = h->wide, *s = h->code;
    uint32_t first = n;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const float l = sampi_gpu_logit(s[i]);
        z[i] = sampi_weight(max, l);
        s[i] = sampi_weighted(z[i], max, l);
    }
    sampi_gpu_run_up(z, n, sampi_gpu_spare(h));
    sampi_gpu_run_up(s, n, sampi_gpu_spare(h));
    SAMPI_SIMD(reduction(min : first))
    SAMPI_LANES for (uint32_t i = 1 + (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const double mass = (double)z[i];
        first = ((sampi_entropy_of(mass, (double)s[i], mass) > most) & (i < first)) ? i : first;
    }
    return first;
}

/* Finds min_k's cliff of the sorted keys: the smallest i for which the fall after the first i tokens, divided by i, is
   largest. *rest: a bound on the falls further down, all of the remaining fall divided by n. */
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

/* Returns how many tokens top_h or min_k keeps, from a list of the first tokens in order, or of all; 0 if these do not
   decide it. */
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

/* The plan of top_h and min_k, which keep a beginning of the order. Phase 0 finds its length, from a list of some
   tokens, then of many; phase 1 keeps it. */
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

/* Removes the tokens before that one, for xtc. */
static int sampi_gpu_drop_before(sampi_gpu_row *h, const samp_token_data *token)
{
    sampi_gpu_mark_p(h);
    sampi_gpu_keep_until(h, sampi_gpu_key(token->logit, (uint32_t)token->id));
    return 1;
}

/* Scales all logits by a temperature. For a row that is not complete that is one operation, without a pass. A
   temperature too small for arithmetic is greedy: one token stays and the others are masked in place, so no order is
   noted. */
static int sampi_gpu_scale(sampi_gpu_row *h, float t)
{
    if (!(t >= SAMPI_TEMP_MIN)) return sampi_gpu_keep_prefix(h, 0, 0, 1);
    const sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_SCALE, 1.0f / t, 0);
    sampi_gpu_change_all(h, &op);
    return 1;
}

/* Changes logits by their distance from the maximum, for smoothing, as one operation (a change of the whole row). */
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

/* Subtracts one number from all logits, for log_softmax. */
static int sampi_gpu_shift(sampi_gpu_row *h, double less)
{
    sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_SHIFT, 0.0f, 0);
    op.mean = less;
    sampi_gpu_change_all(h, &op);
    return 1;
}

/* Applies adaptive_p's map to a list. at_order keeps the logit from before, from which the chosen token's probability
   is computed. It is free for that, because no array is exported after the sampler that selects. */
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

/* Applies adaptive_p's map, as one operation. Neither a list nor the maxima of cells (32 elements) apply to the mapped
   logits. */
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

/* Returns a token's logit before the map, from which its probability is computed. In a list it is beside the key; in a
   row it is the logit after all operations but the last, which is the map. */
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

/* Returns the first token. It asks for a list of one token; a longer list serves too. After the search the list holds
   the first token, however the search ended. */
static int sampi_gpu_top(sampi_gpu_row *h, samp_token_data *token)
{
    const int known = sampi_gpu_require_prefix(h, false, 0.0, 0, 1);
    if (known == 1) sampi_gpu_token(sampi_gpu_list_max(h), token);
    return known;
}

/* Draws a token: takes one more pass for a row, none for a complete list. */
static int sampi_gpu_draw(sampi_gpu_row *h, const sampi_gpu_step *step, samp_token_data *token)
{
    uint64_t key;
    const int known = sampi_gpu_draw_key(h, step, &key);
    if (known == 1) sampi_gpu_token(key, token);
    return known;
}

/* Draws a token, and returns the sums of the tokens drawn from. */
static int sampi_gpu_draw_and_sums(sampi_gpu_row *h, const sampi_gpu_step *step, samp_token_data *token,
                                   sampi_sums *sums)
{
    const int known = sampi_gpu_sums(h, step, SAMPI_THEN_NOTHING, sums);
    return known == 1 ? sampi_gpu_draw(h, step, token) : known;
}

/* Ends the plan with its token. The number that the sampler learns is written to the step, for the next batch, and to
   the result, for the host's chain. That happens once, after all questions: a step that is called again must not learn
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
/* Finds the first of n lanes' winners: the smallest time, at equal times the larger key. */
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

/* Runs the race of gumbel over the list, or over the changed tokens beside a row; each lane's winner goes to wide and
   code. */
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

/* Chooses the first token in the race of all remaining tokens: for a list at once, for a row by a pass. A token without
   weight does not take part; the maximum always does. */
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
