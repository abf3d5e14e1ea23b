/* ===================================================================================================== >>steps
   Advancing a row, one sampler after the other: what a pass has found comes in; the next pass that is needed, or the
   row's result, goes out. What a sampler needs to know it asks for (sampi_gpu_require_*). If that takes a pass, the
   row waits, and the sampler is called again from its beginning when the answer is there. So all of these functions
   return 1: known, or done; 0: a pass is needed, st->pass says which; or a negative status. This room has the
   questions, gpu/done.h the changes, gpu/prefix.h to gpu/logprobs.h what uses both.

   The one thing to know: a step may be called any number of times before it is done, so it asks for everything before
   it changes anything, or it counts in st->phase how far it is. One team does all of this; the others wait for the
   epoch, or have ended. Only this team writes the row's state, changed tokens, list and scratch, until it raises the
   epoch (gpu/advance.h); so nothing here is guarded against other teams, and atomics are for the lanes of this one. */

#define SAMPI_GPU_DECLINED (-64)                     /* a status: "not on the device" */
#define SAMPI_GPU_ALL      sampi_gpu_floor(-FLT_MAX) /* the floor of all unmasked tokens */

/* ---- what is known of the tokens left ----
   The questions: asked by the samplers below, by log-probabilities, and by one another. An answer of 1 is in the state
   (max; n, z, s, low; the list); for 0 the state has the order for the pass. */

/* The set has changed, by a sampler that removes tokens or changes logits. Its maximum is still known only if that is
   said. The list isn't touched: whether it still holds depends on the change, and its author says so in listed and
   complete. A search for a floor that was in vain may be worth while again: asked. */
static void sampi_gpu_invalidate(sampi_gpu_state *st, bool max_known)
{
    sampi_gpu_meet(st);
    st->sums_known = st->drawn = false;
    st->max_known = max_known;
    st->asked = 0;
}

/* Where a token with a changed logit is among them, by bisection; n_ids if it isn't one. For a lane's own token, or one
   that all ask for. */
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

/* The largest of the changed logits, -inf if there are none. For a patch: the others' maximum is known from the
   scan. */
static SAMPI_CALLED float sampi_gpu_changed_max(const sampi_gpu_here *h)
{
    const sampi_gpu_changed *c = h->changed;
    const uint32_t n = h->job->n_ids;
    float max = -INFINITY;
    SAMPI_SIMD(reduction(max : max))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) max = c[i].l > max ? c[i].l : max;
    return max;
}

/* The maximum of the tokens left; the status of a row in which none are. A row whose set was cut from below keeps its
   maximum, so that a pass for it is rare. Nearly every step asks this first: weights, envelopes and scores are relative
   to the maximum, and a pass that makes them finds it in the state. */
static int sampi_gpu_require_max(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    if (!st->max_known && !st->complete) {
        st->pass = SAMPI_PASS_MAX;
        return 0;
    }
    /* a row that is complete needs no pass */
    if (!st->max_known) {
        const float max = st->n_list ? sampi_gpu_logit(sampi_gpu_list_max(h)) : -INFINITY;
        sampi_gpu_meet(st);
        st->max = max;
        st->max_known = true;
    }
    int status = sampi_max_status(st->max);
    return status ? status : 1;
}

/* Maxima of n parts -> of SAMPI_FOLD: a token often has a high logit where its neighbours have, so distant ones are put
   together. The parts stay disjoint, so that each maximum still stands for another token. Each step of find_floor's
   search then reads 512 numbers, not tens of thousands. (Not a part of its caller, which calls others: there gcc 12's
   device compiler has no room for two arrays in a loop of lanes.) */
static SAMPI_CALLED void sampi_gpu_fold(const float *part, uint32_t n, float *fold)
{
    SAMPI_SIMD()
    SAMPI_LANES
    {
        float m[SAMPI_FOLD / SAMPI_WARP];
        SAMPI_UNROLL(16) for (int i = 0; i < SAMPI_FOLD / SAMPI_WARP; i++) m[i] = -INFINITY;
        for (uint32_t from = 0; from < n; from += 2 * SAMPI_FOLD) {
            float x[32];
            SAMPI_UNROLL(32) for (uint32_t i = 0; i < 32; i++)
            {
                x[i] = part[sampi_gpu_min_of(from + i * SAMPI_WARP + (uint32_t)lane, n - 1)];
            }
            SAMPI_AT_ONCE(32, x);
            SAMPI_UNROLL(32) for (uint32_t i = 0; i < 32; i++) /* parts stay disjoint */
            {
                x[i] = from + i * SAMPI_WARP + (uint32_t)lane < n ? x[i] : -INFINITY;
            }
            SAMPI_UNROLL(32) for (int i = 0; i < 32; i++) m[i % 16] = x[i] > m[i % 16] ? x[i] : m[i % 16];
        }
        SAMPI_UNROLL(16) for (int i = 0; i < SAMPI_FOLD / SAMPI_WARP; i++) fold[i * SAMPI_WARP + lane] = m[i];
    }
}

/* How many of the maxima part [n] reach a, b and c: a step of find_floor's search. The three counts share a number, of
   21 bits each. */
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

/* The key of the smallest of n parts. */
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

/* A floor that at least `want` tokens reach, if so many are left (of the row, changed ones aside), and not many more:
   from maxima of disjoint parts, each of which stands for a token. It is a guess about the length of a list only: a
   floor too low makes it longer than wanted, or too long, and no token depends on it. The scan has left maxima of
   lanes, a few per team, and of cells, of which there are many: the fewer do if they are twice as many as wanted.
   Neither changes with the operations since, which keep the order of what is left: the floor is found in the row as it
   came, and scaled. Not for a row that is thinned. It writes the row's fold, nothing else. */
static uint64_t sampi_gpu_find_floor(const sampi_gpu_here *h, uint32_t want)
{
    const sampi_gpu_args *a = h->a;
    uint32_t n = a->splits * SAMPI_WARP;
    const float *part = a->lane_max + h->row * n;
    if (n < 2 * want) n = a->groups * SAMPI_WARP, part = a->cell + h->row * n;
    /* fewer parts than tokens wanted: only a list of all would surely hold so many */
    if (n < want) return SAMPI_GPU_ALL;
    if (n > SAMPI_FOLD && want <= SAMPI_FOLD / 2) {
        float *fold = a->fold + h->row * SAMPI_FOLD;
        sampi_gpu_fold(part, n, fold);
        part = fold, n = SAMPI_FOLD;
    }
    int32_t lo = sampi_key(-FLT_MAX), hi = sampi_key(h->st->dense_max) + 1;
    const int32_t smallest = sampi_gpu_smallest_part(part, n);
    /* all parts reach the smallest, so the search need not begin below it */
    if (smallest > lo)
        lo = smallest;
    else if ((sampi_gpu_count_parts(part, n, -FLT_MAX, 0.0f, 0.0f) & 0x1FFFFF) < want)
        return SAMPI_GPU_ALL;
    while ((int64_t)hi - lo > 1) { /* so many reach lo, not so many hi */
        const int32_t mid = sampi_middle(lo, hi), low = sampi_middle(lo, mid), high = sampi_middle(mid, hi);
        const uint64_t counts = sampi_gpu_count_parts(part, n, sampi_unkey(low), sampi_unkey(mid), sampi_unkey(high));
        const uint32_t n_a = counts & 0x1FFFFF, n_b = counts >> 21 & 0x1FFFFF, n_c = (uint32_t)(counts >> 42);
        const uint32_t count = n_c >= want ? n_c : n_b >= want ? n_b : n_a;
        if (n_c < want) hi = n_b >= want ? high : n_a >= want ? mid : low;
        if (count >= want) lo = n_c >= want ? high : n_b >= want ? mid : low;
        /* near enough: a longer search costs more than a longer list */
        if (count >= want && count <= want + want / 4 + 4) break;
    }
    return sampi_gpu_floor(sampi_gpu_rescale(h->st->op, h->st->n_ops, sampi_unkey(lo)));
}

/* The list of all tokens left with keys >= floor. SAMPI_GPU_DECLINED: they are too many. A list that reaches further
   down will do, and one that was too long at a higher floor needn't be tried again. After 0 the pass fills the list,
   and advance says in listed or overflown what has become of it: the second call then answers from these. */
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

/* A list of at least the first `want` tokens, or of all. SAMPI_GPU_DECLINED: not this way, because so many may not fit,
   or because as many were asked for already and the floor found for them was in vain (few tokens of the parts with the
   largest maxima are left, or too many share a part). Without maxima that count, all tokens are listed, if they fit. A
   prefix in the list and mirostat ask this. */
static int sampi_gpu_require_first(const sampi_gpu_here *h, uint64_t want)
{
    sampi_gpu_state *st = h->st;
    if (st->complete || (st->listed && (st->n_list >= want || st->floor <= SAMPI_GPU_ALL))) return 1;
    /* room for twice as many as wanted: a floor found among maxima lets in more than that */
    if (want > SAMP_GPU_LIST / 2 || want <= st->asked) return SAMPI_GPU_DECLINED;
    sampi_gpu_meet(st);
    st->asked = (uint32_t)want;
    return sampi_gpu_require_list(h, st->thinned ? SAMPI_GPU_ALL : sampi_gpu_find_floor(h, (uint32_t)want));
}

/* All tokens left as a list, from now on: complete. No pass reads the row again, and operations are done to the list
   instead of being recorded. For what needs every token at once (tail_free, a user's sampler, an export), and after
   typical, because it mostly leaves few. */
static int sampi_gpu_require_all(const sampi_gpu_here *h)
{
    int known = sampi_gpu_require_list(h, SAMPI_GPU_ALL);
    if (known == 1 && !h->st->complete) {
        sampi_gpu_meet(h->st);
        h->st->complete = true;
    }
    return known;
}

/* n, z, s and low, and with them the maximum: for whatever depends on probabilities or on how many are left. The pass
   also makes a list of the first tokens, which are often enough for what comes next. The sums hold until the set
   changes. */
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
    /* a list beside the sums costs little, where maxima of cells still tell which floor it needs */
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
