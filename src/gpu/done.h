/* ---- what a step does to the tokens left ----
   Removing tokens, and changing all logits. Of a row that is complete (all that is left is in the list) the list is
   changed. Another row gets an operation, its changed tokens get that at once, and what was known is kept as far as it
   still holds. A sampler calls these functions when it has asked all that it needs: what a step does after such a
   change lies behind a phase, or is its end. */

/* There is room: a step pushes one operation at most, and its chain has no more than SAMPI_STEPS of them. */
static void sampi_gpu_push(sampi_gpu_state *st, const sampi_gpu_op *op)
{
    const uint32_t n = st->n_ops;
    st->op[n] = *op;
    sampi_gpu_meet(st);
    st->n_ops = n + 1;
}

/* Do the newest operation to the changed tokens, now: they are few, and who reads them later needs no replay. Whoever
   pushes an operation calls this next, or these tokens would be left out of it. */
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

/* Keep the tokens from this key on: a prefix in order. If the list reaches as far down, it holds all of them, and the
   row is complete from here on: this is how a chain gets away from passes. A maximum that is known stays so, because
   its token is the first to stay. Every sampler that cuts ends here, but xtc and typical; and log-probabilities, to
   count. */
static void sampi_gpu_keep_from(const sampi_gpu_here *h, uint64_t key)
{
    sampi_gpu_state *st = h->st;
    const sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_FROM, 0.0f, key);
    const float bar = st->bar;
    sampi_gpu_invalidate(st, st->max_known);
    if (!st->complete) {
        sampi_gpu_push(st, &op);
        sampi_gpu_apply_changed(h);
        /* the bar is a logit: tokens with that of the key itself may stay, so it is not above them */
        if (key > SAMPI_GPU_ALL && sampi_gpu_logit(key) > bar) st->bar = sampi_gpu_logit(key);
        st->overflown = false;
        st->complete = st->listed && st->floor <= key;
    }
    if (st->complete) sampi_gpu_list_keep(h, &op);
}

/* Keep the tokens up to this key, the key of one of them, which so becomes the first: xtc. A list made before stays one
   of keys >= floor; but maxima of cells may be of tokens that are gone (thinned). */
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
    /* the key is a token's that is left */
    sampi_gpu_invalidate(st, true);
    st->max = sampi_gpu_logit(key);
}

/* Every logit changes: temperatures, smoothing, log_softmax. A list that isn't complete is of no more use: its floor
   was one of keys before. Where the order stays, maximum and bar move as any logit does, with the same roundings, so
   that they remain those of tokens; else the maxima of cells say nothing any more. */
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

/* The array would be put in order here, by a SAMPI_GPU_BY_*. Nothing is sorted: each token that may be exported gets
   what its logit is now. Those of the row find it by replaying operations up to order_at, if the list comes later.
   Only an export reads it, when sampi_gpu_fetch (gpu/results.h) makes the array that the CPU would have; and
   adaptive_p, for the logits from before its map. */
static void sampi_gpu_mark_order(const sampi_gpu_here *h, int32_t order, double mean)
{
    sampi_gpu_state *st = h->st;
    /* a list that isn't valid gets nothing: its items are written anew before they count */
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

/* The array would get its p here: likewise, and the sums that p is made from, which must be known. Read by an export,
   and for the p that a user's sampler gets. */
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
