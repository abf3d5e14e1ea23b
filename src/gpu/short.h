/* ---- the short way ----
   The end of a chain on few tokens: top_k, top_p, temperatures and a draw, in one function with three small loops. The
   plans do the same (and do it for all other chains); but each of their steps is code of its own, which a single warp
   runs once, and then fetching the instructions takes longer than running them. A job says from which step on its chain
   is of this kind (short_from). The tokens stay in `code` (~key; UINT64_MAX: removed), and `wide` has what is summed. */

/* Whether the rest of the chain can go the short way: all tokens that can still be chosen are in the list. */
static bool sampi_gpu_is_short(const sampi_gpu_here *h)
{
    const sampi_gpu_state *st = h->st;
    const sampi_gpu_step *step = &h->job->step[st->at];
    if (st->at < h->job->short_from || !st->max_known || st->memory.phase) return false;
    if (st->n_list > SAMPI_GPU_FEW || st->n_list == 0) return false;
    return st->complete || (st->listed && step->kind == SAMPI_TOP_K && (uint32_t)step->u.top_k.k <= st->n_list);
}

/* Writes the codes of the list. */
static void sampi_gpu_short_begin(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t *code = h->code, *y = h->wide;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const uint64_t key = item[sampi_gpu_min_of(i, n - 1)].key;
        code[i] = i < n ? ~key : UINT64_MAX;
        y[i] = 0;
    }
}

/* Computes for each token the number of tokens up to it and, if `weighing`, their mass. Both still hold when a cut has
   removed tokens behind it. */
static void sampi_gpu_short_sums(const sampi_gpu_here *h, bool weighing, uint32_t n, float max)
{
    uint64_t *code = h->code, *y = h->wide;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const uint64_t there = sampi_gpu_mask(code[i] != UINT64_MAX);
        const uint64_t w = weighing ? sampi_weight(max, sampi_gpu_logit(~code[i])) & there : 0;
        y[i] = w + (SAMPI_GPU_ONE & there);
    }
    sampi_gpu_pairs(code, y, n, sampi_gpu_spare(h));
}

/* Applies top_k, or top_p: keeps the shortest prefix with a count, and a mass, by those sums. */
static void sampi_gpu_short_cut(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const bool by_mass = step->kind == SAMPI_TOP_P;
    uint64_t *code = h->code, *y = h->wide, *upto = sampi_gpu_spare(h), z = 0;
    if (by_mass) {
        SAMPI_SIMD(reduction(+ : z))
        SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
            z += y[i] & (SAMPI_GPU_ONE - 1) & sampi_gpu_mask(code[i] != UINT64_MAX);
    }
    const uint64_t mass = by_mass ? sampi_mass_of(sampi_share(step->u.cut.p), z) : 0;
    const uint64_t least = by_mass ? step->u.cut.min_keep : (uint64_t)step->u.top_k.k;
    const uint64_t count = least ? least : 1;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const uint64_t before = upto[i] - y[i];
        const bool stays = ((before & (SAMPI_GPU_ONE - 1)) < mass) | (before >> 48 < count);
        code[i] |= sampi_gpu_mask(!stays);
    }
}

/* Multiplies the logits by a factor; returns the maximum after that. */
static float sampi_gpu_short_scale(const sampi_gpu_here *h, float factor, float max)
{
    uint64_t *code = h->code;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const uint64_t key = ~code[i];
        const uint64_t scaled = ~sampi_gpu_key(sampi_gpu_finite(sampi_roundf(sampi_gpu_logit(key) * factor)),
                                               sampi_gpu_id(key));
        code[i] = code[i] != UINT64_MAX ? scaled : UINT64_MAX;
    }
    return sampi_gpu_finite(sampi_roundf(max * factor));
}

/* Returns the smallest of the codes whose running sum exceeds t. */
SAMPI_INLINE uint64_t sampi_gpu_short_find(const uint64_t *code, const uint64_t *upto, uint64_t t)
{
    uint64_t found = UINT64_MAX;
    SAMPI_SIMD(reduction(min : found))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const uint64_t x = code[i] | sampi_gpu_mask(upto[i] <= t);
        found = x < found ? x : found;
    }
    return found;
}

/* Draws as sampi_gpu_list_draw does; returns the token as id << 32 | the upper half of its key. */
static SAMPI_CALLED uint64_t sampi_gpu_short_draw(const sampi_gpu_here *h, const sampi_gpu_step *step, uint32_t n,
                                                  float max)
{
    uint64_t *code = h->code, *y = h->wide, *upto = sampi_gpu_spare(h), total = 0, random[2];
    SAMPI_SIMD(reduction(+ : total))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const uint64_t key = ~code[i], there = sampi_gpu_mask(key != 0);
        y[i] = sampi_envelope(max, sampi_gpu_logit(key)) & there;
        total += y[i];
        /* the order of ids, each with its logit */
        code[i] = ((uint64_t)sampi_gpu_id(key) << 32 | key >> 32) | ~there;
    }
    sampi_gpu_pairs(code, y, n, upto);
    for (uint32_t attempt = 0;; attempt++) {
        if (attempt) sampi_gpu_meet(h->st); /* lanes have read `random` */
        sampi_random_bits(step->seed, h->job->position, step->stream, attempt, random);
        const uint64_t t = sampi_mulhi(random[0], total);
        const uint64_t found = sampi_gpu_short_find(code, upto, t);
        const float l = sampi_gpu_logit(found << 32);
        if (sampi_mulhi(random[1], (uint64_t)sampi_envelope(max, l) << 14) < sampi_weight(max, l)) return found;
    }
}

/* Runs the rest of the chain, and finishes the row. */
static SAMPI_CALLED int sampi_gpu_short(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    const uint32_t last = h->job->n_steps - 1, n = (st->n_list + 7) & ~(uint32_t)7;
    float max = st->max;
    uint32_t at = st->at;
    bool summed = false; /* two cuts with nothing between them share their sums */
    sampi_gpu_short_begin(h);
    for (; at < last; at++) {
        const sampi_gpu_step *step = &h->job->step[at];
        const bool cuts = step->kind != SAMPI_TEMP, weighs = step->kind == SAMPI_TOP_P || step[1].kind == SAMPI_TOP_P;
        if (!cuts) max = sampi_gpu_short_scale(h, 1.0f / step->u.temp.t, max);
        if (cuts && !summed) sampi_gpu_short_sums(h, weighs, n, max);
        if (cuts) sampi_gpu_short_cut(h, step);
        summed = cuts && weighs;
    }
    sampi_gpu_meet(st);
    st->at = last;
    const uint64_t token = sampi_gpu_short_draw(h, &h->job->step[last], n, max);
    samp_token_data chosen;
    chosen.id = (samp_token)(token >> 32);
    chosen.logit = sampi_gpu_logit(token << 32);
    return sampi_gpu_choose(h, &h->job->step[last], &chosen, 0.0f);
}
