/* ---- a user's sampler ----
   A row waits for the host. sampi_gpu_user is the step of a user's sampler that has an apply_gpu: the row stops, all
   teams leave, since there is a result, and the kernel ends. The host calls the sampler (sampi_gpu_call_user in
   gpu/batch.h), writes the new size into the row's state, takes the result back, and launches again; the row goes on
   with an empty pass. sampi_gpu_export ends a row whose later samplers run on the CPU: the tokens left go to the host.
   */

#define SAMPI_GPU_STOPPED (-2)        /* a token: the host is to call the user's sampler */
#define SAMPI_GPU_LEAVE   0xFFFFFFFFu /* a size: it has decided, or failed */

/* The list as the arrays that a user's sampler gets: user_id, user_logit, user_p of the row. Its p is made as an
   export's is, of what the logits were when p was last set; 0 if it never was. */
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

/* The index of the item with an id, n if there is none: looked for from `from` on, and then before that. */
SAMPI_INLINE uint32_t sampi_gpu_find_id(const sampi_gpu_item *item, uint32_t n, uint32_t from, uint32_t id)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t at = from + k < n ? from + k : from + k - n;
        if (sampi_gpu_id(item[at].key) == id) return at;
    }
    return n;
}

/* What the user's sampler has left, as the list: n_list is what the host has written there. Nothing is taken on trust:
   a logit may be NaN, infinite or masked now, an id no token's. at_order is 0 from here on, since nothing behind it
   exports; at_p comes from the list that was unpacked, for a second user's sampler: in the old order no lane looks at a
   token twice. */
static SAMPI_CALLED int sampi_gpu_repack(const sampi_gpu_here *h)
{
    const uint32_t n = h->st->n_list, n_old = h->st->p_set ? h->st->n_shown : 0;
    const int32_t *id = h->a->user_id + h->row * SAMP_GPU_LIST;
    const float *l = h->a->user_logit + h->row * SAMP_GPU_LIST;
    const sampi_gpu_item *old = sampi_gpu_list(h);
    if (n == SAMPI_GPU_LEAVE) return SAMP_E_UNSUPPORTED; /* the host knows better */
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

/* The first time the row stops, with its list in the user's arrays; then it goes on. The list's order means nothing,
   and apply_gpu is promised none. A row with more tokens than a list is declined: the CPU's apply then gets them. */
static SAMPI_CALLED int sampi_gpu_user(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    if (st->memory.phase == 1) return sampi_gpu_repack(h);
    int known = sampi_gpu_require_all(h);
    if (known != 1) return known;
    /* called again after the stop: phase 1 then finds what the user's sampler has left */
    sampi_gpu_unpack(h);
    st->n_shown = st->n_list;
    st->memory.phase = 1;
    st->pass = SAMPI_PASS_NONE;
    sampi_gpu_report(h, SAMP_OK, SAMPI_GPU_STOPPED, 0.0f);
    return 0;
}

/* All that is left, for the host: the rest of the chain runs there (sampi_gpu_go_on). It is the last step of a chain
   whose later samplers have no step here. More than a list: the CPU samples the row. */
static SAMPI_CALLED int sampi_gpu_export(const sampi_gpu_here *h)
{
    int known = sampi_gpu_require_all(h);
    return known == 1 ? sampi_gpu_finish(h, SAMP_OK, -1, 0.0f) : known;
}
