/* ---- what a step does to the tokens left ----
   Removing tokens, and changing all logits. In a complete row (all remaining tokens are in the list) the list is
   changed. Any other row gets one more operation, which later passes repeat; its changed tokens are changed at once;
   and what is known of the row is kept as far as it still holds. A sampler calls these functions after all its
   questions: what it does after such a change needs a phase of its own (because it may be called again), or there is
   nothing. */

/* Adds an operation to those that later passes repeat. There is room, because a step adds one at most, and a chain has
   at most SAMPI_STEPS steps. */
static void sampi_gpu_push(sampi_gpu_state *st, const sampi_gpu_op *op)
{
    const uint32_t n = st->n_ops;
    st->op[n] = *op;
    sampi_gpu_meet(st);
    st->n_ops = n + 1;
}

/* Applies the newest operation to the changed tokens (those whose logits penalties, dry or logit_bias change) now: they
   are few, and readers then need not repeat operations. Every function that pushes an operation calls this next;
   otherwise these tokens would miss it. */
static void sampi_gpu_apply_changed(const sampi_gpu_here *h)
{
    sampi_gpu_changed *c = h->changed;
    const int32_t *id = h->changed_id;
    const uint32_t n = h->job->n_ids;
    const sampi_gpu_op *op = &h->st->op[h->st->n_ops - 1];
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) c[i].l = sampi_gpu_replay(
        op, 1, (uint32_t)id[i], c[i].l);
}

/* Keeps the tokens with keys from this one on, a prefix of the order. If the list has all of them, the row is complete
   from then on, and needs no more passes. A known maximum stays known, because its token is kept first. Every sampler
   that cuts ends here, except xtc and typical; log-probabilities call it to count tokens. */
static void sampi_gpu_keep_from(const sampi_gpu_here *h, uint64_t key)
{
    sampi_gpu_state *st = h->st;
    const sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_FROM, 0.0f, key);
    const float bar = st->bar;
    sampi_gpu_invalidate(st, st->max_known);
    if (!st->complete) {
        sampi_gpu_push(st, &op);
        sampi_gpu_apply_changed(h);
        /* the bar, a lower bound of the remaining logits, is a logit, which other tokens may share with the key: it
           must not be above them */
        if (key > SAMPI_GPU_ALL && sampi_gpu_logit(key) > bar) st->bar = sampi_gpu_logit(key);
        st->overflown = false;
        st->complete = st->listed && st->floor <= key;
    }
    if (st->complete) sampi_gpu_list_keep(h, &op);
}

/* Keeps the tokens with keys up to this one, which is the key of a token and becomes the first: for xtc. A list of keys
   >= floor remains one; but the maxima of cells (32 elements) may be those of removed tokens (thinned). */
static void sampi_gpu_keep_until(const sampi_gpu_here *h, uint64_t key)
{
    sampi_gpu_state *st = h->st;
    const sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_UNTIL, 0.0f, key);
    if (!st->complete) {
        sampi_gpu_push(st, &op);
        sampi_gpu_apply_changed(h);
        st->overflown = false;
        st->thinned = true;
    }
    if (st->complete || st->listed) sampi_gpu_list_keep(h, &op);
    /* the key is that of a remaining token */
    sampi_gpu_invalidate(st, true);
    st->max = sampi_gpu_logit(key);
}

/* Changes every logit: temperatures, smoothing, log_softmax. A list that is not complete becomes invalid, because its
   floor refers to the old keys. If the operation keeps the order, maximum and bar are changed as any logit is, with the
   same roundings, so they stay those of tokens; otherwise the maxima of cells (32 elements) are no longer used. */
static void sampi_gpu_change_all(const sampi_gpu_here *h, const sampi_gpu_op *op)
{
    sampi_gpu_state *st = h->st;
    const bool ordered = sampi_gpu_keeps_order(op), max_known = st->max_known && ordered;
    const float max = st->max, bar = st->bar;
    sampi_gpu_invalidate(st, max_known);
    if (st->complete) {
        sampi_gpu_list_change(h, op);
    } else {
        sampi_gpu_push(st, op);
        sampi_gpu_apply_changed(h);
        st->listed = st->overflown = false;
        if (!ordered) st->thinned = true;
        st->bar = ordered ? sampi_gpu_change(op, bar) : -INFINITY;
    }
    if (max_known) st->max = sampi_gpu_change(op, max);
}

/* Notes that the CPU's array would be sorted here, by a SAMPI_GPU_BY_*. Nothing is sorted: each token that may be
   exported records its current logit. Tokens of the row get it later by repeating operations up to order_at, if a list
   is made later. It is used by exports, when sampi_gpu_fetch (gpu/results.h) makes the array that the CPU would have,
   and by adaptive_p, for the logits before its map. */
static void sampi_gpu_mark_order(const sampi_gpu_here *h, int32_t order, double mean)
{
    sampi_gpu_state *st = h->st;
    /* an invalid list gets nothing: its items are written again before they count */
    const uint32_t n = st->complete || st->listed ? st->n_list : 0, n_changed = h->job->n_ids;
    sampi_gpu_item *item = sampi_gpu_list(h);
    sampi_gpu_changed *c = h->changed;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) item[i].at_order = sampi_gpu_logit(item[i].key);
        for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP) c[i].at_order = c[i].l;
    }
    st->order = order;
    st->sorted = order == SAMPI_GPU_BY_KEY;
    st->order_at = (int32_t)st->n_ops + 1;
    st->order_max = st->max;
    st->order_mean = mean;
}

/* Notes that the CPU's array would get its p here, in the same way, with the sums that p is computed from, which must
   be known. Used by exports, and for the p that a user's sampler gets. */
static void sampi_gpu_mark_p(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    const uint32_t n = st->complete || st->listed ? st->n_list : 0, n_changed = h->job->n_ids;
    sampi_gpu_item *item = sampi_gpu_list(h);
    sampi_gpu_changed *c = h->changed;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) item[i].at_p = sampi_gpu_logit(item[i].key);
        for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP) c[i].at_p = c[i].l;
    }
    st->p_set = true;
    st->p_at = (int32_t)st->n_ops + 1;
    st->p_max = st->max;
    st->p_z = st->z;
}
