/* ---- the draw ----
   sampi_gpu_draw_key, for dist, mirostat and adaptive_p: returns the key of the chosen token, from a list or after a
   pass. It is sampi_draw of sampling.h (samplers/draw.h): a token is proposed by an envelope (an upper bound of its
   weight), and accepted with probability weight / envelope; else the next attempt follows. The random numbers are a
   function of seed, position, stream and attempt, so a row draws the same token however often it begins again. */

/* Returns the logit of a token after the first n operations. For a token whose own logit a rule changes, it returns the
   current logit, after all operations. It is called for a token that a draw has found in the row, so the token is on no
   list. */
static float sampi_gpu_logit_of(const sampi_gpu_here *h, uint32_t id, uint32_t n)
{
    const sampi_gpu_view v = sampi_gpu_view_of(h->a, h->row);
    uint32_t at = sampi_gpu_changed_at(h, id);
    return at < h->job->n_ids ? h->changed[at].l : sampi_gpu_replay(h->st->op, n, id, sampi_gpu_element(&v, id));
}

/* Puts the envelopes of the tokens with changed logits in their places in `wide`, which has those of a group of 1024,
   so the running sum over the group is the CPU's; in the row itself such a token is a hole with an envelope of 0. */
static SAMPI_CALLED void sampi_gpu_join_group(const sampi_gpu_here *h, uint32_t which)
{
    const float max = h->st->max;
    const uint32_t n_changed = h->job->n_ids;
    const sampi_gpu_changed *c = h->changed;
    const int32_t *id = h->changed_id;
    uint64_t *q = h->wide;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP)
    {
        const uint32_t at = (uint32_t)id[i];
        if (at / SAMPI_GROUP == which) q[at % SAMPI_GROUP] = sampi_envelope(max, c[i].l);
    }
}

/* Adds the envelopes of the tokens with changed logits to the sums of groups (1024 tokens): the draw finds the group by
   the sums and the token in the group by id, as if these tokens were in the row. It is called once for a DRAW pass; a
   second call would count them twice. */
static SAMPI_CALLED void sampi_gpu_join_groups(const sampi_gpu_here *h)
{
    const uint32_t n_changed = h->job->n_ids;
    uint64_t *sum = h->a->sum + h->row * h->a->groups;
    const sampi_gpu_changed *c = h->changed;
    const int32_t *id = h->changed_id;
    const float max = h->st->max;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP) __atomic_fetch_add(
        &sum[(uint32_t)id[i] / SAMPI_GROUP], (uint64_t)sampi_envelope(max, c[i].l), __ATOMIC_RELAXED);
}

/* Draws from the tokens of the row: finds a group of 1024 by the groups' sums of the envelope, then an element by its
   envelope, then tests it against its true weight, with the same random numbers as on the CPU. Mostly the first
   attempt succeeds, because the envelope is close to the weight. It runs after the DRAW pass, for a row without a
   complete list. The key that it returns has the token's current logit. */
static uint64_t sampi_gpu_row_draw(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const uint32_t groups = h->a->groups;
    const uint64_t *sum = h->a->sum + h->row * groups;
    const float max = h->st->max;
    uint64_t random[2];
    if (h->job->n_ids) sampi_gpu_join_groups(h);
    const uint64_t total = sampi_gpu_total(sum, groups);
    for (uint32_t attempt = 0;; attempt++) {
        if (attempt) sampi_gpu_meet(h->st); /* lanes have read `random` */
        sampi_random_bits(step->seed, h->job->position, step->stream, attempt, random);
        uint64_t t = sampi_mulhi(random[0], total);
        const uint32_t group = sampi_gpu_find(sum, groups, &t);
        sampi_gpu_sum_envelopes(h->a, h->row, 0, group, group + 1, h->wide);
        if (h->job->n_ids) sampi_gpu_join_group(h, group);
        const uint32_t id = group * SAMPI_GROUP + sampi_gpu_find(h->wide, SAMPI_GROUP, &t);
        float l = sampi_gpu_logit_of(h, id, h->st->n_ops);
        if (sampi_mulhi(random[1], (uint64_t)sampi_envelope(max, l) << 14) < sampi_weight(max, l))
            return sampi_gpu_key(l, id);
    }
}

/* Draws a token and returns its key. There are two ways: from the list, or from the whole row after a pass that sums
   the envelope (st->drawn: that pass is done). Both choose the same token. If the set of tokens changes after the pass,
   the pass is repeated (sampi_gpu_invalidate clears st->drawn). */
static int sampi_gpu_draw_key(const sampi_gpu_here *h, const sampi_gpu_step *step, uint64_t *key)
{
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    if (st->complete) {
        *key = sampi_gpu_list_draw(h, step);
        return 1;
    }
    if (!st->drawn && st->ahead != SAMPI_GPU_AHEAD_MADE) {
        sampi_gpu_meet(st);
        st->drawn = true;
        st->pass = SAMPI_PASS_DRAW;
        return 0;
    }
    *key = sampi_gpu_row_draw(h, step);
    return 1;
}
