/* ---- log-probabilities ----
   The device computes a basis for each row's log-probabilities, one for the row as given and one for what the chain
   left: maximum, sum of weights, the first keys, and the chosen token's logit and rank. The host computes the numbers
   from it, by the CPU's functions (gpu/results.h). Two steps do this, which the host adds to a chain if
   log-probabilities are asked for: sampi_gpu_raw before all samplers, sampi_gpu_logprobs after the choice. They write
   the row's part of args.basis and of args.given. The room ends with sampi_gpu_run_step, which calls the function of
   each kind of step. */

/* Returns the keys of the first tokens of one of a row's sets: 0 as given, 1 after the chain. Device and host both use
   it, each on its own copy of the basis. */
static uint64_t *sampi_gpu_top_keys(sampi_gpu_basis *basis, size_t n_rows, uint32_t n_top, size_t row, size_t set)
{
    return (uint64_t *)(void *)(basis + n_rows * 2) + (row * 2 + set) * n_top;
}

/* Copies the keys of those of the list's n tokens that are in the prefix, in any order; *found counts them. */
static SAMPI_CALLED void sampi_gpu_copy_top(const sampi_gpu_here *h, uint32_t n, uint64_t *top, uint32_t *found)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint64_t last = h->st->search.key;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        if (item[i].key >= last) top[__atomic_fetch_add(found, 1, __ATOMIC_RELAXED)] = item[i].key;
    }
}

/* Writes a set's maximum, sums and first tokens: those of the list whose keys reach the last of the prefix,
   in no order; the host sorts them, as they are few. Both steps call it, with their set (0 as given, 1 after the
   chain); l and rank come later. The atomic counts places for the lanes of this team. */
static int sampi_gpu_leave_basis(const sampi_gpu_here *h, size_t set, uint32_t n_top)
{
    const sampi_gpu_args *a = h->a;
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_require_sums(h);
    if (known != 1) return known;
    /* no more than all tokens can be reported; if no token is wanted, no list is needed */
    if (n_top > st->n) n_top = (uint32_t)st->n;
    if (n_top > 0) known = sampi_gpu_require_prefix(h, false, 0.0, 0, n_top);
    if (known != 1) return known;
    sampi_gpu_basis *basis = &a->basis[h->row * 2 + set];
    uint64_t *top = sampi_gpu_top_keys(a->basis, a->n_rows, a->n_top, h->row, set);
    const uint32_t n = n_top > 0 ? st->n_list : 0;
    basis->max = st->max;
    basis->z = st->z;
    basis->s = st->s;
    basis->n_top = 0;
    sampi_gpu_meet(st); /* before a lane adds to it */
    sampi_gpu_copy_top(h, n, top, &basis->n_top);
    return 1;
}

/* Copies the keys of the list's n_given tokens. */
static SAMPI_CALLED void sampi_gpu_copy_keys(const sampi_gpu_here *h, uint64_t *given)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_given;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) given[i] = item[i].key;
}

/* Log-probabilities of the row as given, before any sampler. The keys of the list of its first tokens are kept in
   args.given: mostly the chosen token is among them, and its rank then needs no pass at the end. given_from is the
   smallest key that this list covers. */
static SAMPI_CALLED int sampi_gpu_raw(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_leave_basis(h, 0, step->k);
    if (known != 1) return known;
    st->n_given = st->listed ? st->n_list : 0;
    sampi_gpu_copy_keys(h, h->a->given + h->row * SAMP_GPU_LIST);
    /* no key reaches UINT64_MAX: without a list the row is counted at the end */
    st->given_from = st->listed ? st->floor : UINT64_MAX;
    return 1;
}

/* Restores the row as it was given, for counting: the operations are dropped, and the tokens with changed logits are
   read again. That is possible at any time, because the row itself is never written. The maxima of cells (32 elements)
   are right again, but the row is marked thinned, so that no list is made: only a number is wanted. For logprobs, after
   all samplers. */
static SAMPI_CALLED void sampi_gpu_restore_row(const sampi_gpu_here *h, float max)
{
    const sampi_gpu_view v = sampi_gpu_view_of(h->a, h->row);
    sampi_gpu_state *st = h->st;
    sampi_gpu_changed *c = h->changed;
    const int32_t *id = h->changed_id;
    const uint32_t n = h->job->n_ids;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        c[i].l = sampi_roundf(sampi_gpu_element(&v, (uint32_t)id[i])) + 0.0f;
    }
    st->n_ops = 0;
    st->bar = -INFINITY;
    st->complete = st->listed = false;
    st->thinned = true;
    st->max = max;
}

/* Returns the rank of a key among the first tokens of the row as given. It is right if the key is at least given_from,
   which the caller checks. */
static SAMPI_CALLED uint32_t sampi_gpu_given_rank(const sampi_gpu_here *h, uint64_t key)
{
    const uint64_t *given = h->a->given + h->row * SAMP_GPU_LIST;
    const uint32_t n = h->st->n_given;
    uint32_t rank = 0;
    SAMPI_SIMD(reduction(+ : rank))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) rank += given[i] >= key;
    return rank;
}

/* Log-probabilities after the choice: of the tokens that the chain left, and the ranks. A token's rank is the number of
   tokens with keys from its own on, so these are kept and counted. Phase 1 counts the tokens that the chain left, phase
   2 those of the row as given, which is needed only if the chosen token is not among its first. It is the last step: it
   may change the row, and finishes it. */
static SAMPI_CALLED int sampi_gpu_logprobs(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_basis *given = &h->a->basis[h->row * 2], *left = given + 1;
    const uint32_t id = sampi_gpu_id(st->chosen);
    int known;
    if (st->memory.phase == 0) {
        if ((known = sampi_gpu_leave_basis(h, 1, step->k)) != 1) return known;
        sampi_gpu_keep_from(h, st->chosen);
        st->thinned = true; /* only their number is wanted */
        st->memory.phase = 1;
    }
    if (st->memory.phase == 1) {
        if ((known = sampi_gpu_require_sums(h)) != 1) return known;
        const sampi_gpu_view v = sampi_gpu_view_of(h->a, h->row);
        /* the chosen token is the last of the tokens kept, so their number is its rank */
        left->l = sampi_gpu_logit(st->chosen);
        left->rank = (uint32_t)st->n;
        given->l = sampi_gpu_element(&v, id) + 0.0f;
        const uint64_t key = sampi_gpu_key(given->l, id);
        given->rank = sampi_gpu_given_rank(h, key);
        /* the row is done, unless the row as given must be counted */
        if (key >= st->given_from) return sampi_gpu_finish(h, SAMP_OK, (int32_t)id, st->value);
        sampi_gpu_restore_row(h, given->max);
        sampi_gpu_keep_from(h, key);
        st->memory.phase = 2;
    }
    if (st->memory.phase == 2) {
        if ((known = sampi_gpu_require_sums(h)) != 1) return known;
        given->rank = (uint32_t)st->n;
    }
    return sampi_gpu_finish(h, SAMP_OK, (int32_t)id, st->value);
}

/* Runs a step (a sampler): the only place where the device distinguishes kinds of steps; sampi_gpu_advance calls it. A
   kind that the host never sends is declined: the CPU samples the row. */
static int sampi_gpu_run_step(const sampi_gpu_here *h, sampi_gpu_step *step)
{
    switch (step->kind) {
#define SAMPI_X(KIND, plan) \
    case SAMPI_##KIND: return sampi_gpu_plan_##plan(h, step);
        SAMPI_KINDS(SAMPI_X)
#undef SAMPI_X
        case SAMPI_GPU_USER: return sampi_gpu_user(h);
        case SAMPI_GPU_EXPORT: return sampi_gpu_export(h);
        case SAMPI_GPU_RAW: return sampi_gpu_raw(h, step);
        case SAMPI_GPU_LOGPROBS: return sampi_gpu_logprobs(h, step);
        default: return SAMPI_GPU_DECLINED;
    }
}
