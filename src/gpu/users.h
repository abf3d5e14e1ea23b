/* ---- a user's sampler ----
   A row that waits for the host to call a user's sampler. sampi_gpu_user is the step of a user's sampler that has an
   apply_gpu. The row stops: it gets a result, so all teams (thread blocks) leave it, and the kernel ends. The host
   calls the sampler (sampi_gpu_call_user in gpu/batch.h), writes the new size into the row's state, withdraws the
   result, and launches again; the row then continues with an empty pass. sampi_gpu_export ends a row whose later
   samplers run on the CPU: the remaining tokens go to the host. */

#define SAMPI_GPU_STOPPED (-2)        /* value of a token: the host must call the user's sampler */
#define SAMPI_GPU_LEAVE   0xFFFFFFFFu /* value of a size: the user's sampler has chosen, or failed */

/* Writes the list of remaining tokens to the arrays that a user's sampler gets: user_id, user_logit, user_p of the row.
   p is computed as for an export, from the logits at the time that p was last set; it is 0 if p was never set. */
static SAMPI_CALLED void sampi_gpu_unpack(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const bool p_set = h->st->p_set;
    const float p_max = h->st->p_max;
    const double p_z = (double)h->st->p_z;
    int32_t *id = h->a->user_id + h->row * SAMP_GPU_LIST;
    float *l = h->a->user_logit + h->row * SAMP_GPU_LIST, *p = h->a->user_p + h->row * SAMP_GPU_LIST;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        id[i] = (int32_t)sampi_gpu_id(item[i].key);
        l[i] = sampi_gpu_logit(item[i].key);
        p[i] = p_set ? (float)(sampi_exp(p_max, item[i].at_p) / p_z) : 0.0f;
    }
}

/* Returns the index of the item with an id, n if there is none. The search begins at index `from`, and wraps around. */
SAMPI_INLINE uint32_t sampi_gpu_find_id(const sampi_gpu_item *item, uint32_t n, uint32_t from, uint32_t id)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t at = from + k < n ? from + k : from + k - n;
        if (sampi_gpu_id(item[at].key) == id) return at;
    }
    return n;
}

/* Makes the list from what the user's sampler has left; the host has written their number to n_list. Nothing is
   assumed: a logit may be NaN, infinite or masked, an id may not be a token's. at_order is 0 from here on, because no
   later step exports. at_p, for a second user's sampler, is copied from the list that was unpacked; if the order is
   unchanged, each lane finds its tokens at once. */
static SAMPI_CALLED int sampi_gpu_repack(const sampi_gpu_here *h)
{
    const uint32_t n = h->st->n_list, n_old = h->st->p_set ? h->st->n_shown : 0;
    const int32_t *id = h->a->user_id + h->row * SAMP_GPU_LIST;
    const float *l = h->a->user_logit + h->row * SAMP_GPU_LIST;
    const sampi_gpu_item *old = sampi_gpu_list(h);
    if (n == SAMPI_GPU_LEAVE) return SAMP_E_UNSUPPORTED; /* the host has the result */
    const uint32_t other = h->st->buffer ^ 1;
    sampi_gpu_meet(h->st);
    h->st->n_list = 0;
    h->st->buffer = other;
    sampi_gpu_meet(h->st); /* before a lane appends */
    sampi_gpu_item *item = sampi_gpu_list(h);
    uint32_t *n_list = &h->st->n_list;
    uint32_t bad = 0, foreign = 0;
    SAMPI_SIMD(reduction(+ : bad, foreign))
    SAMPI_LANES
    {
        uint32_t at = 0;
        for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) {
            foreign += (uint32_t)id[i] >= h->a->n_vocab;
            /* NaN and +infinity are errors, as in samp_apply; -infinity masks */
            bad += !(l[i] <= FLT_MAX);
            if (!(l[i] >= -FLT_MAX)) continue;
            at = sampi_gpu_find_id(old, n_old, at, (uint32_t)id[i]);
            sampi_gpu_append(n_list, item, sampi_gpu_key(l[i] + 0.0f, (uint32_t)id[i]), 0.0f,
                             at < n_old ? old[at].at_p : 0.0f);
        }
    }
    sampi_gpu_invalidate(h->st, false);
    if (foreign) return SAMP_E_RANGE;
    return bad ? (int)SAMP_E_NAN : sampi_gpu_require_max(h);
}

/* The step of a user's sampler: the first call stops the row, with its list in the user's arrays; the second takes the
   result over. The list has no order, and apply_gpu is promised none. A row with more tokens than a list holds is
   declined: the CPU then calls apply. */
static SAMPI_CALLED int sampi_gpu_user(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    if (st->memory.phase == 1) return sampi_gpu_repack(h);
    int known = sampi_gpu_require_all(h);
    if (known != 1) return known;
    /* the call after the stop is in phase 1, and takes over what the user's sampler has left */
    sampi_gpu_unpack(h);
    st->n_shown = st->n_list;
    st->memory.phase = 1;
    st->pass = SAMPI_PASS_NONE;
    sampi_gpu_report(h, SAMP_OK, SAMPI_GPU_STOPPED, 0.0f);
    return 0;
}

/* Ends the row with all remaining tokens for the host, which runs the rest of the chain (sampi_gpu_go_on). It is the
   last step of a chain whose later samplers have no step on the device. If the tokens do not fit a list, the CPU
   samples the row. */
static SAMPI_CALLED int sampi_gpu_export(const sampi_gpu_here *h)
{
    int known = sampi_gpu_require_all(h);
    return known == 1 ? sampi_gpu_finish(h, SAMP_OK, -1, 0.0f) : known;
}
