/* ===================================================================================================== >>steps
   Advancing a row, one sampler after the other, by the one team (thread block) that ended a pass over the row last. It
   takes what the pass has found, and leaves the next pass that is needed, or the row's result. A sampler asks
   questions (sampi_gpu_require_*). If an answer takes a pass, the row waits, and the sampler is called again from its
   beginning when the answer is there. So all of these functions return 1: known, or done; 0: a pass is needed, and
   st->pass names it; or a negative status. This room has the questions, gpu/done.h the changes, gpu/prefix.h to
   gpu/logprobs.h the code that uses both.

   A step may be called any number of times before it is done. So it asks all questions before it changes anything, or
   keeps its progress in st->memory.phase. One team runs all of this, while the others wait for the epoch (the count of
   passes) or have ended. Only this team writes the row's state, changed tokens, list and scratch, until it raises the
   epoch (gpu/advance.h). So nothing here is guarded against other teams; atomics are for the lanes of this one. */

#define SAMPI_GPU_DECLINED (-64)                     /* a status: the CPU must sample the row */
#define SAMPI_GPU_ALL      sampi_gpu_floor(-FLT_MAX) /* the floor that all unmasked tokens reach */

/* ---- what is known of the tokens left ----
   The questions. Samplers, log-probabilities, and other questions ask them. After a return of 1 the answer is in the
   state (max; n, z, s, low; the list); after 0 the state has the pass to run. */

/* Notes that a sampler has removed tokens or changed logits: the sums are no longer known, and the maximum only if
   max_known says so. The list is not touched: whether it still holds depends on the change, so the caller sets `listed`
   and `complete`. `asked` becomes 0: a search for a floor that failed before may succeed now. */
static void sampi_gpu_invalidate(sampi_gpu_state *st, bool max_known)
{
    sampi_gpu_meet(st);
    st->sums_known = st->shares_known = st->drawn = false;
    st->max_known = max_known;
    st->asked = 0;
}

/* Returns the index of a token among the changed ones, by bisection; n_ids if its logit is not changed. Each lane may
   ask for a token of its own, or all for the same. */
SAMPI_INLINE uint32_t sampi_gpu_changed_at(const sampi_gpu_here *h, uint32_t id)
{
    uint32_t lo = 0, hi = h->job->n_ids;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if ((uint32_t)h->changed_id[mid] < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < h->job->n_ids && (uint32_t)h->changed_id[lo] == id ? lo : h->job->n_ids;
}

/* Returns the largest of the changed logits, -inf if there are none. A patch (logit_bias, penalties, dry) needs it; the
   scan has the maximum of the others. */
static SAMPI_CALLED float sampi_gpu_changed_max(const sampi_gpu_here *h)
{
    const sampi_gpu_changed *c = h->changed;
    const uint32_t n = h->job->n_ids;
    float max = -INFINITY;
    SAMPI_SIMD(reduction(max : max))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) max = c[i].l > max ? c[i].l : max;
    return max;
}

/* Makes the maximum of the remaining tokens known; returns a status if none remain. A cut that removes the smallest
   logits keeps the maximum, so a pass for it is rare. Nearly every step asks this first, because weights, envelopes (of
   a draw) and scores (of typical) are relative to the maximum, and passes that compute those read it from the state. */
static int sampi_gpu_require_max(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    if (!st->max_known && !st->complete) {
        st->pass = SAMPI_PASS_MAX;
        return 0;
    }
    /* a complete row (all remaining tokens are in the list) needs no pass */
    if (!st->max_known) {
        const float max = st->n_list ? sampi_gpu_logit(sampi_gpu_list_max(h)) : -INFINITY;
        sampi_gpu_meet(st);
        st->max = max;
        st->max_known = true;
    }
    int status = sampi_row_max_status(st->max);
    return status ? status : 1;
}

/* Returns how many of n maxima reach a, b and c, as three fields of 21 bits: one step of find_floor's search. */
static uint64_t sampi_gpu_count_parts(const float *part, uint32_t n, float a, float b, float c)
{
    uint64_t count = 0;
    SAMPI_SIMD(reduction(+ : count))
    SAMPI_LANES for (uint32_t from = 0; from < n; from += 16 * SAMPI_WARP)
    {
        const uint32_t first = from + (uint32_t)lane;
        float x[16];
        uint32_t n_a = 0, n_b = 0, n_c = 0;
        SAMPI_UNROLL(16)
        for (uint32_t k = 0; k < 16; k++) x[k] = part[sampi_gpu_min_of(first + k * SAMPI_WARP, n - 1)];
        SAMPI_AT_ONCE(16, x);
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++)
        {
            x[k] = first + k * SAMPI_WARP < n ? x[k] : -INFINITY;
            n_a += x[k] >= a, n_b += x[k] >= b, n_c += x[k] >= c;
        }
        count += n_a + ((uint64_t)n_b << 21) + ((uint64_t)n_c << 42);
    }
    return count;
}

/* Returns sampi_key of the smallest of n maxima. */
static SAMPI_CALLED int32_t sampi_gpu_smallest_part(const float *part, uint32_t n)
{
    int32_t smallest = INT32_MAX;
    SAMPI_SIMD(reduction(min : smallest))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += 16 * SAMPI_WARP)
    {
        float x[16], m = INFINITY;
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) x[k] = part[sampi_gpu_min_of(i + k * SAMPI_WARP, n - 1)];
        SAMPI_AT_ONCE(16, x);
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) m = x[k] < m ? x[k] : m;
        const int32_t key = sampi_key(m);
        smallest = key < smallest ? key : smallest;
    }
    return smallest;
}

/* Returns a floor that at least `want` remaining tokens reach, if there are so many besides the changed ones, and not
   many more. It searches among maxima of disjoint parts of the row, each of which is another token's logit. The floor
   decides only how long a list becomes: a floor that is too low makes the list longer than wanted, or too long, but no
   token depends on it. The scan has left maxima of lanes, a few per team, and of cells (32 tokens), which are many; the
   lanes' are used if they are at least twice as many as wanted. Operations since the scan have kept the order of the
   remaining tokens, so the floor is searched in the row as it came, and then changed by the operations. Not for a
   thinned row, whose cells' maxima may belong to removed tokens. */
static uint64_t sampi_gpu_find_floor(const sampi_gpu_here *h, uint32_t want)
{
    const sampi_gpu_args *a = h->a;
    uint32_t n = a->splits * SAMPI_WARP;
    const float *part = a->lane_max + h->row * n;
    /* teams' maxima are few: a search among them is short, and the list hardly longer */
    const bool few = a->splits >= 3 * want;
    if (few) n = a->splits, part = a->team_max + h->row * n;
    if (n < 2 * want) n = a->groups * SAMPI_WARP, part = a->cell + h->row * n;
    /* there are fewer parts than tokens wanted: only a list of all tokens is sure to have so many */
    if (n < want) return SAMPI_GPU_ALL;
    int32_t lo = sampi_key(-FLT_MAX), hi = sampi_key(h->st->dense_max) + 1;
    const int32_t smallest = sampi_gpu_smallest_part(part, n);
    /* all parts reach the smallest, so the search begins there */
    if (smallest > lo)
        lo = smallest;
    else if ((sampi_gpu_count_parts(part, n, -FLT_MAX, 0.0f, 0.0f) & 0x1FFFFF) < want)
        return SAMPI_GPU_ALL;
    while ((int64_t)hi - lo > 1) { /* `want` parts reach lo, fewer reach hi */
        const int32_t mid = sampi_middle(lo, hi), low = sampi_middle(lo, mid), high = sampi_middle(mid, hi);
        const uint64_t counts = sampi_gpu_count_parts(part, n, sampi_unkey(low), sampi_unkey(mid), sampi_unkey(high));
        const uint32_t n_a = counts & 0x1FFFFF, n_b = counts >> 21 & 0x1FFFFF, n_c = (uint32_t)(counts >> 42);
        const uint32_t count = n_c >= want ? n_c : n_b >= want ? n_b : n_a;
        if (n_c < want) hi = n_b >= want ? high : n_a >= want ? mid : low;
        if (count >= want) lo = n_c >= want ? high : n_b >= want ? mid : low;
        /* the count is near enough: a longer search would cost more than a longer list */
        if (count >= want && count <= want + (few ? want / 10 : want / 4 + 4)) break;
    }
    return sampi_gpu_floor(sampi_gpu_rescale(h->st->op, h->st->n_ops, sampi_unkey(lo)));
}

/* Makes a list of all remaining tokens whose keys are >= floor. Returns SAMPI_GPU_DECLINED if they are more than a list
   holds. A list with a lower floor serves too; and if a list was too long with a higher floor, no pass is tried. After
   a return of 0 the pass fills the list, and advance sets listed or overflown, from which the second call answers. */
static int sampi_gpu_require_list(const sampi_gpu_here *h, uint64_t floor)
{
    sampi_gpu_state *st = h->st;
    if (st->complete || (st->listed && st->floor <= floor)) return 1;
    /* a lower floor can only make the list longer */
    if (st->overflown && st->floor >= floor) return SAMPI_GPU_DECLINED;
    sampi_gpu_meet(st);
    st->pass = SAMPI_PASS_GATHER;
    st->floor = floor;
    st->n_list = 0;
    st->listed = st->overflown = false;
    return 0;
}

/* Makes a list of at least the first `want` tokens in order, or of all. Returns SAMPI_GPU_DECLINED if so many may not
   fit a list, or if as many were asked for before and the floor found for them failed (few tokens of the parts with the
   largest maxima remain, or too many share a part). In a thinned row, whose maxima of cells do not count, all tokens
   are listed, if they fit. A search for a prefix, and mirostat, call this. */
static int sampi_gpu_require_first(const sampi_gpu_here *h, uint64_t want)
{
    sampi_gpu_state *st = h->st;
    if (st->complete || (st->listed && (st->n_list >= want || st->floor <= SAMPI_GPU_ALL))) return 1;
    /* a list has room for twice as many as wanted: a floor found among maxima lets in more than that */
    if (want > SAMP_GPU_LIST / 2 || want <= st->asked) return SAMPI_GPU_DECLINED;
    sampi_gpu_meet(st);
    st->asked = (uint32_t)want;
    return sampi_gpu_require_list(h, st->thinned ? SAMPI_GPU_ALL : sampi_gpu_find_floor(h, (uint32_t)want));
}

/* Makes a list of all remaining tokens; from then on the row is `complete`: no pass reads it again, and samplers change
   the list instead of being recorded. For samplers that need all tokens at once (tail_free, a user's sampler, an
   export), and after typical, which mostly leaves few. */
static int sampi_gpu_require_all(const sampi_gpu_here *h)
{
    int known = sampi_gpu_require_list(h, SAMPI_GPU_ALL);
    if (known == 1 && !h->st->complete) {
        sampi_gpu_meet(h->st);
        h->st->complete = true;
    }
    return known;
}

/* Makes n, z, s and low (see sampi_gpu_state) and the maximum known, for samplers that depend on probabilities or on
   the number of tokens. The pass also makes a list of the first tokens, which often answers the next question. The sums
   hold until the set of tokens changes. */
static int sampi_gpu_require_sums(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_require_max(h);
    if (known != 1 || st->sums_known) return known;
    if (st->complete) {
        sampi_gpu_list_sums(h);
        st->sums_known = true;
        return 1;
    }
    /* a list beside the sums costs little where maxima of cells can still find its floor */
    const bool listing = !st->listed && !st->overflown && !st->thinned;
    sampi_gpu_meet(st);
    st->pass = SAMPI_PASS_SUMS;
    st->listing = listing;
    if (listing) {
        st->asked = SAMPI_HEAD;
        st->floor = sampi_gpu_find_floor(h, SAMPI_HEAD);
        st->n_list = 0;
    }
    return 0;
}
