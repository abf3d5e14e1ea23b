/* ---- the end of a prefix ----
   The end of a prefix, at which top_k, top_p, typical, greedy and others cut: the last token of the shortest beginning
   of an order with a given mass and number of tokens. sampi_gpu_require_prefix finds it;
   sampi_gpu_keep_above also cuts there. The search uses a list if there is one, else a sample of the row, else
   histograms. It writes st->search and scratch. */

/* ---- where a long prefix ends, by a sample ----
   A histogram of a whole row takes a pass and two atomics per token. A histogram of every 32nd token is made by one
   team, and shows approximately where the end is. One pass then lists the tokens of a window of logits around that
   place, and adds up the tokens above the window. The place is a guess, but what the pass finds is exact: an end
   outside of all windows costs passes, but never changes a token. */

#define SAMPI_GPU_FLAT   3.0f                    /* flat: a row's first tokens are within so many nats */
#define SAMPI_GPU_MANY   16                      /* so many teams of a row make its exact histogram */
#define SAMPI_GPU_TRIES  3                       /* most windows for one end */
#define SAMPI_GPU_WIDTH  (SAMP_GPU_LIST * 5 / 8) /* tokens of a window; the list has room for an error */
#define SAMPI_GPU_STANDS (32.0 * 16384.0)        /* a sampled token is 1 of 32, in units of 2^-26, not 2^-40 */

/* Sets histograms to zero. The team that asks for a histogram clears it while no other team works on the row; the
   others see the zeros before they add, because the epoch is raised in between. */
static SAMPI_CALLED void sampi_gpu_clear(uint64_t *mass, uint64_t *count, uint32_t n)
{
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t from = (uint32_t)lane; from < n; from += 4 * SAMPI_WARP)
    {
        SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++)
        {
            const uint32_t i = sampi_gpu_min_of(from + k * SAMPI_WARP, n - 1);
            mass[i] = count[i] = 0;
        }
    }
}

/* Returns a - b, or 0 if b is larger: what remains of a needed mass or number of tokens. A prefix needs both, and one
   of them may be exceeded long before the other is reached. */
static uint64_t sampi_gpu_remaining(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* Returns the buckets per nat of a sample's histogram: as fine as the range of the logits allows, if that is known. */
static float sampi_gpu_fineness(const sampi_gpu_state *st)
{
    const float range = st->sums_known ? st->max - st->low : 8.0f;
    if (!(range > 0.25f)) return 4.0f * SAMPI_BUCKETS;
    return range < SAMPI_BUCKETS / 64.0f ? SAMPI_BUCKETS / range : 64.0f;
}

/* Returns a weight with an error of 0.3 %, in units of 2^-26, by integers alone: the envelope, less an estimate of how
   far its chord is above the curve. */
static uint32_t sampi_gpu_nearly_weight(float max, float l)
{
    const float x = sampi_octaves(max, l);
    const uint32_t i = (uint32_t)(int32_t)(x < SAMPI_FAR ? x : SAMPI_FAR / 2), n = i >> 25, f = i >> 9 & 0xFFFF;
    const uint32_t bulge = (f * (65536 - f) >> 8) * 703 >> 10;
    return (((uint32_t)1 << 26) - (i & 0x1FFFFFFu) - bulge) >> (n < 31 ? n : 31);
}

/* Returns a value of the sample's running sum of mass (weights): `from`, plus the sample's equivalent of `more` of the
   row's mass. The second function subtracts that of `less`. */
static double sampi_gpu_sampled(uint64_t from, uint64_t more)
{
    return sampi_add_to_product64((double)more / SAMPI_GPU_STANDS, (double)from);
}
static double sampi_gpu_sampled_back(uint64_t from, uint64_t less)
{
    return sampi_add_to_product64((double)less / -SAMPI_GPU_STANDS, (double)from);
}

/* Makes the histogram of a sample: the first 32 tokens of each group of 1024, for 32 groups at once. */
static void sampi_gpu_sample(const sampi_gpu_here *h)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(h->a, h->row, 0);
    uint64_t *mass = h->a->mass + h->row * SAMPI_BUCKETS, *count = h->a->count + h->row * SAMPI_BUCKETS;
    const uint32_t n = p.v.n;
    const float per_nat = sampi_gpu_fineness(h->st);
    sampi_gpu_clear(mass, count, SAMPI_BUCKETS);
    h->st->search.per_nat = per_nat;
    h->st->search.by_score = false;
    SAMPI_SIMD()
    SAMPI_LANES for (int once = 0; once < 1; once++) /* without a loop gcc 12's device compiler fails */
    {
        float next[SAMPI_QUARTER];
        sampi_gpu_read_each(&p.v, 0, SAMPI_GROUP, false, SAMPI_QUARTER, lane, next);
        for (uint32_t base = 0; base < n; base += SAMPI_QUARTER * SAMPI_GROUP) {
            float l[SAMPI_QUARTER];
            uint32_t w[SAMPI_QUARTER];
            SAMPI_OF_QUARTER l[k] = next[k];
            sampi_gpu_read_each(&p.v, base + SAMPI_QUARTER * SAMPI_GROUP, SAMPI_GROUP, false, SAMPI_QUARTER, lane,
                                next);
            if (p.n_replay || p.cut) {
                SAMPI_OF_QUARTER l[k] = sampi_gpu_replay(p.op, p.n_ops,
                                                         base + (uint32_t)k * SAMPI_GROUP + (uint32_t)lane, l[k]);
            } else {
                sampi_gpu_scale_read(&p, SAMPI_QUARTER, l);
            }
            SAMPI_OF_QUARTER w[k] = sampi_gpu_nearly_weight(p.max, l[k]);
            SAMPI_OF_QUARTER
            {
                const float x = (p.max - l[k]) * per_nat;
                const uint32_t at = x < SAMPI_BUCKETS - 1 ? (uint32_t)x : SAMPI_BUCKETS - 1;
                if (!(l[k] >= -FLT_MAX)) continue;
                __atomic_fetch_add(&count[at], (uint64_t)1, __ATOMIC_RELAXED);
                __atomic_fetch_add(&mass[at], (uint64_t)w[k], __ATOMIC_RELAXED);
            }
        }
    }
}

/* Returns how many buckets of the sample to go from one bucket until they hold `tokens` sampled tokens, at most `most`.
   The function looks at 32 buckets at once. */
static uint32_t sampi_gpu_reach_out(const uint64_t *count, bool down, uint32_t most, uint64_t tokens)
{
    uint64_t found = 0;
    uint32_t far_ = 0;
    while (far_ < most && found < tokens) {
        const uint64_t before = found;
        uint64_t all = 0;
        uint32_t steps = SAMPI_WARP;
        SAMPI_SIMD(reduction(+ : all) reduction(min : steps))
        SAMPI_LANES
        {
            uint64_t x[SAMPI_WARP], run = before;
            SAMPI_UNROLL(32) for (uint32_t k = 0; k < SAMPI_WARP; k++)
            {
                const uint32_t at = sampi_gpu_min_of(far_ + k + 1, most);
                x[k] = down ? count[at] : *(count - at);
            }
            SAMPI_AT_ONCE(32, x);
            SAMPI_UNROLL(32) for (int k = 0; k < SAMPI_WARP; k++) run += x[k] & sampi_gpu_mask(k <= lane);
            if (run >= tokens && (uint32_t)lane + 1 < steps) steps = (uint32_t)lane + 1;
            all += lane == SAMPI_WARP - 1 ? run : 0;
        }
        found = all;
        far_ = sampi_gpu_min_of(far_ + steps, most);
    }
    return far_;
}

/* Places a window of logits around the logit at which the running sum of the sample's mass exceeds t;
   SAMPI_GPU_DECLINED if the sample has less mass. It consists of buckets of the sample, approximately: it may begin and
   end at any logit. */
static int sampi_gpu_place_window(const sampi_gpu_here *h, double t)
{
    const float max = h->st->max;
    sampi_gpu_search *search = &h->st->search;
    const uint64_t *mass = h->a->mass + h->row * SAMPI_BUCKETS, *count = h->a->count + h->row * SAMPI_BUCKETS;
    if (!(t >= 0.0 && t < (double)sampi_gpu_total(mass, SAMPI_BUCKETS))) return SAMPI_GPU_DECLINED;
    uint64_t left = (uint64_t)t;
    const uint32_t middle = sampi_gpu_find(mass, SAMPI_BUCKETS, &left);
    const uint64_t aside = sampi_gpu_remaining(SAMPI_GPU_WIDTH / 2 / 32, count[middle] / 2);
    const uint32_t from = middle - sampi_gpu_reach_out(count + middle, false, middle, aside);
    const uint32_t upto = middle + sampi_gpu_reach_out(count + middle, true, SAMPI_BUCKETS - 1 - middle, aside);
    const float floor = (float)((double)max - (double)(upto + 1) / (double)search->per_nat);
    search->from = from;
    search->upto = upto;
    search->top = (float)((double)max - (double)from / (double)search->per_nat);
    search->floor = !(floor >= -FLT_MAX) || upto + 1 == SAMPI_BUCKETS ? -FLT_MAX : floor;
    return 1;
}

/* Decides whether the window's pass sums the draw's envelope too. It does if this top_p is followed by a draw, with
   nothing but a temperature between them: then all tokens above the window take part in the draw, with logits that are
   known now. */
static void sampi_gpu_look_ahead(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    const sampi_gpu_step *step = &h->job->step[st->at], *end = h->job->step + h->job->n_steps;
    const bool top_p = step->kind == SAMPI_TOP_P || step->kind == SAMPI_TOP_P_DECAY;
    float factor = 1.0f;
    if (++step < end && step->kind == SAMPI_TEMP && step->u.temp.t >= SAMPI_TEMP_MIN)
        factor = 1.0f / step++->u.temp.t;
    const bool draws = top_p && step < end && step->kind == SAMPI_DIST;
    const sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_SCALE, factor, 0);
    st->factor = factor;
    st->then = sampi_gpu_change(&op, st->max);
    st->ahead = draws ? SAMPI_GPU_AHEAD_ASKED : SAMPI_GPU_AHEAD_NO;
}

/* Asks for the pass over the row that lists a window of logits. Returns 0 always: a pass is needed. */
static int sampi_gpu_ask_window(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    const uint32_t tries = search->tries + 1;
    const uint64_t lo = ~sampi_gpu_key(search->top, 0), hi = ~sampi_gpu_floor(search->floor);
    uint32_t shift = 0;
    while ((hi - lo) >> shift >= SAMPI_FINE) shift++;
    sampi_gpu_clear(h->wide, h->code, SAMPI_FINE);
    search->stage = SAMPI_SEARCH_WINDOW;
    search->tries = tries;
    search->lo = lo;
    search->hi = hi;
    search->shift = shift;
    st->pass = SAMPI_PASS_WINDOW;
    st->n_list = 0;
    st->listed = st->overflown = st->listing = false;
    sampi_gpu_look_ahead(h);
    return 0;
}

/* Asks for a histogram of the codes in [lo, hi]. A first histogram has even buckets
   of 1/64 nat, because codes of floats are not spread evenly; later ones have buckets of 2^shift codes, with the
   smallest shift that fits. Returns 0 always: a pass is needed. */
static int sampi_gpu_search_window(const sampi_gpu_here *h, uint64_t lo, uint64_t hi, bool even)
{
    sampi_gpu_search *search = &h->st->search;
    uint32_t shift = even ? SAMPI_EVEN : 0;
    while (!even && (hi - lo) >> shift >= SAMPI_BUCKETS) shift++;
    sampi_gpu_clear(h->a->mass + h->row * SAMPI_BUCKETS, h->a->count + h->row * SAMPI_BUCKETS, SAMPI_BUCKETS);
    search->lo = lo;
    search->hi = hi;
    search->shift = shift;
    h->st->ahead = SAMPI_GPU_AHEAD_NO;
    search->stage = SAMPI_SEARCH_HISTOGRAM;
    h->st->pass = SAMPI_PASS_HIST;
    return 0;
}

/* Makes n and z known, for the prefix of a top_p. If a row has many teams, these make an exact histogram of it, which
   has both (n counts only if min_keep could exceed it), and whose one bucket with the end is listed next. With few
   teams, the histogram's atomics would take longer than a sample; but if the row is so flat that the list made with the
   sums is surely too short, and that a sample has about the same shares of the mass, the sample's window is asked
   for. */
static int sampi_gpu_require_sums_of(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    const uint64_t *mass = h->a->mass + h->row * SAMPI_BUCKETS, *count = h->a->count + h->row * SAMPI_BUCKETS;
    const bool known_shares = st->shares_known, made = st->search.stage == SAMPI_SEARCH_SHARES;
    const bool idle = st->search.stage == SAMPI_SEARCH_IDLE;
    int known = sampi_gpu_require_max(h);
    if (known != 1 || known_shares) return known;
    if (made) {
        const uint64_t z = sampi_gpu_total(mass, SAMPI_BUCKETS);
        const uint64_t n = step->u.cut.min_keep > 1 ? sampi_gpu_total(count, SAMPI_BUCKETS) : 1;
        sampi_gpu_meet(st);
        st->n = n, st->z = z;
        st->shares_known = true;
        return 1;
    }
    if (idle && !st->sums_known && !st->complete && h->a->splits >= SAMPI_GPU_MANY) {
        sampi_gpu_search_window(h, ~sampi_gpu_key(st->max, 0), ~SAMPI_GPU_ALL, true);
        st->search.stage = SAMPI_SEARCH_SHARES;
        st->search.by_score = false;
        st->search.mass = 1; /* weights are asked for */
        return 0;
    }
    known = sampi_gpu_require_sums(h);
    if (known != 0 || st->pass != SAMPI_PASS_SUMS || !st->listing) return known;
    if (!(st->max - sampi_gpu_logit(st->floor) < SAMPI_GPU_FLAT)) return 0;
    sampi_gpu_sample(h);
    const uint64_t end = sampi_mulhi(sampi_share(step->u.cut.p), sampi_gpu_total(mass, SAMPI_BUCKETS));
    if (sampi_gpu_place_window(h, (double)end) == 1) return sampi_gpu_ask_window(h);
    return 0;
}

/* ---- by histograms ---- */

/* Finds the end of the prefix in the list, which has the tokens that are still needed, from the codes (places in the
   order) that list_codes has written just before. In the order of scores several tokens may share the last one's score;
   keys then decide how many of these are in the prefix. Writes search->key and score. */
static void sampi_gpu_search_list(const sampi_gpu_here *h)
{
    sampi_gpu_search *search = &h->st->search;
    const uint64_t code = sampi_gpu_list_end(h, h->st->n_list, search->mass, search->count);
    sampi_gpu_prefix upto, below = { 0, 0 };
    search->score = code;
    search->key = search->by_score ? 0 : ~code;
    if (!search->by_score) return;
    sampi_gpu_list_prefix(h, code, &upto);
    if (code > 0) sampi_gpu_list_prefix(h, code - 1, &below);
    if (upto.count - below.count <= 1) return;
    sampi_gpu_list_tie(h, code); /* a tie: keys decide about the rest */
    search->key = ~sampi_gpu_list_end(h, h->st->n_list, sampi_gpu_remaining(search->mass, below.mass),
                                      sampi_gpu_remaining(search->count, below.count));
}

/* Returns the first code of 32 with one logit each, the last one of them the code `last`, that belongs to a bucket or
   to a later one; the code behind `last` if none does. Codes out of the searched range count as its ends. */
static SAMPI_CALLED uint64_t sampi_gpu_first_of_bucket(const sampi_gpu_search *search, float max, uint32_t bucket,
                                                       uint64_t last)
{
    const uint64_t lo = search->lo, hi = search->hi;
    uint64_t found = last + 1;
    SAMPI_SIMD(reduction(min : found))
    SAMPI_LANES
    {
        const uint64_t x = last - ((uint64_t)(SAMPI_WARP - 1 - lane) << 32), code = x < lo ? lo : x > hi ? hi : x;
        found = sampi_gpu_bucket(search, max, code) >= bucket && code < found ? code : found;
    }
    return found;
}

/* Returns the first code of a histogram's bucket, or of a later bucket if it is empty; hi + 1 if there is none. It uses
   bisection with the same function that put codes into buckets, because no formula for the ends of even buckets would
   round in the same way; but in the order of keys the place is mostly one of 32 logits around that of the formula.
   take_bucket makes the bucket's ends the next range to search. */
static uint64_t sampi_gpu_bucket_start(const sampi_gpu_search *search, float max, uint32_t bucket)
{
    uint64_t lo = search->lo, hi = search->hi + 1;
    if (search->shift < SAMPI_EVEN) { /* the first code of a bucket of 2^shift codes has a formula */
        const uint64_t start = (uint64_t)bucket << search->shift;
        return start < hi - lo ? lo + start : hi;
    }
    if (bucket == 0) return lo;
    const float near_ = (float)sampi_add_to_product64((double)bucket / -64.0, (double)max);
    if (!search->by_score && near_ > -FLT_MAX) {
        const uint64_t last = ~sampi_gpu_key(near_ + 0.0f, 0) + ((uint64_t)(SAMPI_WARP / 2) << 32);
        const uint64_t found = sampi_gpu_first_of_bucket(search, max, bucket, last);
        if (found > last - ((uint64_t)(SAMPI_WARP - 1) << 32) && found > lo && found <= last && found < search->hi)
            return found;
    }
    while (lo < hi) {
        const uint64_t mid = lo + (hi - lo) / 2;
        if (sampi_gpu_bucket(search, max, mid) < bucket)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Makes the histogram's bucket with the end of the prefix the range to search: the later one of the two buckets in
   which mass and number are reached. Tokens before it are subtracted from what is still needed. If a draw's sums are
   made with the prefix (st->ahead), the number of tokens before it matters only if a number is needed; else it is taken
   as too many for a list. Returns how many tokens the bucket has. */
static uint64_t sampi_gpu_take_bucket(const sampi_gpu_here *h, const uint64_t *mass, const uint64_t *count,
                                      uint32_t n)
{
    sampi_gpu_search *search = &h->st->search;
    const float max = h->st->max;
    /* the prefix with a mass m ends where the running sum exceeds m - 1 */
    const uint64_t all_mass = search->mass, all_count = search->count, all_before = search->before;
    uint64_t mass_left = all_mass - 1, count_left = all_count - 1;
    uint32_t bucket = 0, other = 0;
    if (all_mass) bucket = sampi_gpu_find(mass, n, &mass_left); /* has at least one token */
    if (all_count > (all_mass > 0)) other = sampi_gpu_find(count, n, &count_left);
    const uint64_t mass_found = all_mass - 1 - mass_left;
    const bool by_mass = all_mass && other <= bucket;
    if (other > bucket) bucket = other;
    const uint64_t lo = sampi_gpu_bucket_start(search, max, bucket);
    const uint64_t hi = sampi_gpu_bucket_start(search, max, bucket + 1) - 1;
    const bool counts = all_count > 1 || !h->st->ahead;
    const uint64_t before = counts ? sampi_gpu_total(count, bucket) : bucket ? SAMP_GPU_LIST : 0;
    const uint64_t mass_before = by_mass ? mass_found : sampi_gpu_total(mass, bucket);
    sampi_gpu_meet(h->st); /* lanes have read the search */
    search->before = all_before + before;
    search->count = sampi_gpu_remaining(all_count, before);
    search->mass = sampi_gpu_remaining(all_mass, mass_before);
    search->lo = lo;
    search->hi = hi;
    return count[bucket];
}

/* Asks for a histogram of a bucket with more than SAMP_GPU_LIST tokens; if these share one code, which no histogram can
   divide, the CPU samples the row. A smaller bucket's tokens are listed; that is not a list of the first tokens, so
   listed stays false. There are at most seven histograms, because each range after the first has 2048 times fewer
   codes. */
static int sampi_gpu_ask_bucket(const sampi_gpu_here *h, uint64_t n)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    sampi_gpu_meet(st);    /* lanes have read n from a histogram */
    if (n > SAMP_GPU_LIST) /* a further histogram, of the bucket */
        return search->lo < search->hi ? sampi_gpu_search_window(h, search->lo, search->hi, false)
                                       : SAMPI_GPU_DECLINED;
    search->stage = SAMPI_SEARCH_BUCKET;
    st->pass = SAMPI_PASS_BUCKET;
    st->n_list = 0;
    st->listed = st->overflown = false;
    st->ahead = SAMPI_GPU_AHEAD_NO;
    return 0;
}

/* Takes over a histogram of the row: chooses the bucket to search next. */
static int sampi_gpu_search_bucket(const sampi_gpu_here *h)
{
    sampi_gpu_search *search = &h->st->search;
    const uint64_t *mass = h->a->mass + h->row * SAMPI_BUCKETS, *count = h->a->count + h->row * SAMPI_BUCKETS;
    /* fewer tokens remain than are wanted: the prefix has no end */
    if (sampi_gpu_total(mass, SAMPI_BUCKETS) < search->mass ||
        sampi_gpu_total(count, SAMPI_BUCKETS) < search->count) {
        search->key = 0; /* all tokens */
        search->score = UINT64_MAX;
        search->stage = SAMPI_SEARCH_ALL;
        return 1;
    }
    return sampi_gpu_ask_bucket(h, sampi_gpu_take_bucket(h, mass, count, SAMPI_BUCKETS));
}

/* Searches the end of a prefix in the list of the first tokens, which is made if there is none. Returns 1 if the end is
   known, SAMPI_GPU_DECLINED if windows or histograms must find it. Most prefixes end here: the sums have made a list
   too, or one pass makes it. */
static int sampi_gpu_prefix_of_list(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    const uint64_t mass = search->mass, count = search->count;
    const bool by_score = search->by_score;
    int known = 1;
    if (by_score && !st->complete) return SAMPI_GPU_DECLINED; /* the first by key are not the first by score */
    if (!st->complete && !st->listed)
        known = sampi_gpu_require_first(h, mass && count < SAMPI_HEAD ? SAMPI_HEAD : count);
    if (known != 1) return known;
    const uint64_t sum = sampi_gpu_list_codes(h, by_score, mass > 0);
    /* a list that is too short is still the answer if there are no more tokens */
    const bool all = st->complete || st->floor <= SAMPI_GPU_ALL, enough = sum >= mass && st->n_list >= count;
    if (enough) {
        sampi_gpu_search_list(h);
    } else if (all) {
        search->key = 0;
        search->score = UINT64_MAX;
    }
    if (enough || all) return 1;
    return mass ? SAMPI_GPU_DECLINED : sampi_gpu_require_first(h, count);
}

/* Asks for a window of logits by a sample of every 32nd token, in a row whose sums are known: the window is placed by
   the mass beyond the prefix's end. If all remaining tokens fit a list, or the prefix does, a list is made instead.
   Returns SAMPI_GPU_DECLINED if histograms must find the end. */
static int sampi_gpu_first_window(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    const uint64_t *mass = h->a->mass + h->row * SAMPI_BUCKETS, *count = h->a->count + h->row * SAMPI_BUCKETS;
    if (search->mass == 0 || search->by_score) return SAMPI_GPU_DECLINED;
    if (st->n <= SAMP_GPU_LIST) return sampi_gpu_require_list(h, SAMPI_GPU_ALL);
    const uint32_t tries = search->tries;
    if (tries > 0) return SAMPI_GPU_DECLINED;
    sampi_gpu_sample(h);
    const double t = sampi_gpu_sampled_back(sampi_gpu_total(mass, SAMPI_BUCKETS), st->z - search->mass);
    if (sampi_gpu_place_window(h, t) != 1) return SAMPI_GPU_DECLINED;
    sampi_gpu_look_ahead(h);
    if (st->ahead || 32 * sampi_gpu_total(count, search->upto + 1) > SAMPI_GPU_WIDTH) return sampi_gpu_ask_window(h);
    search->tries = tries + 1;
    const int known = sampi_gpu_require_list(h, sampi_gpu_floor(search->floor));
    return known == 1 ? SAMPI_GPU_DECLINED : known; /* 1: that list exists already, and the end was not in it */
}

/* Asks for another window of logits if the sample has one at t, where the end is now estimated; else for a histogram of
   the codes from lo to hi. */
static int sampi_gpu_next_window(const sampi_gpu_here *h, double t, uint64_t lo, uint64_t hi, bool even)
{
    if (h->st->search.tries < SAMPI_GPU_TRIES && sampi_gpu_place_window(h, t) == 1) return sampi_gpu_ask_window(h);
    return sampi_gpu_search_window(h, lo, hi, even);
}

/* Adds the window's tokens of the prefix to the groups' sums of the envelope, which are then those of the draw. Tokens
   with changed logits are added when the draw begins, as always. */
static SAMPI_CALLED void sampi_gpu_join_window(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list, n_changed = h->job->n_ids;
    uint64_t *sum = h->a->sum + h->row * h->a->groups;
    const uint64_t key = h->st->search.key;
    const float then = h->st->then, factor = h->st->factor;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint32_t id = sampi_gpu_id(item[i].key);
        const float l = sampi_gpu_scaled(sampi_gpu_logit(item[i].key), factor);
        if (item[i].key < key || (n_changed && sampi_gpu_changed_at(h, id) < n_changed)) continue;
        __atomic_fetch_add(&sum[id / SAMPI_GROUP], (uint64_t)sampi_envelope(then, l), __ATOMIC_RELAXED);
    }
    h->st->ahead = SAMPI_GPU_AHEAD_MADE;
}

/* Copies the codes and weights of those of the list's tokens that are in the range searched, which are few. */
static void sampi_gpu_list_between(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const uint64_t lo = h->st->search.lo, hi = h->st->search.hi;
    const float max = h->st->max;
    uint64_t *code = h->code, *w = h->wide, *used = h->a->count + h->row * SAMPI_BUCKETS;
    *used = 0;
    sampi_gpu_meet(h->st); /* before a lane adds to it */
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t from = (uint32_t)lane; from < n; from += 4 * SAMPI_WARP)
    {
        uint64_t key[4];
        SAMPI_UNROLL(4)
        for (uint32_t k = 0; k < 4; k++) key[k] = item[sampi_gpu_min_of(from + k * SAMPI_WARP, n - 1)].key;
        SAMPI_AT_ONCE(4, key);
        SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++)
        {
            if (from + k * SAMPI_WARP >= n || ~key[k] < lo || ~key[k] > hi) continue;
            const uint64_t to = __atomic_fetch_add(used, (uint64_t)1, __ATOMIC_RELAXED);
            code[to] = ~key[k];
        }
    }
    const uint64_t n_found = *used;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n_found; i += SAMPI_WARP)
        w[i] = sampi_weight(max, sampi_gpu_logit(~code[i]));
}

/* Finds the end of the prefix in one bucket of the histogram of a window or of an edge, whose tokens are in the
   list. */
static SAMPI_CALLED int sampi_gpu_end_in_window(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    const uint64_t n = sampi_gpu_take_bucket(h, h->wide, h->code, SAMPI_FINE);
    if (st->n_list > SAMP_GPU_LIST) return sampi_gpu_ask_bucket(h, n);
    sampi_gpu_list_between(h);
    search->key = ~sampi_gpu_list_end(h, (uint32_t)n, search->mass, search->count);
    search->stage = SAMPI_SEARCH_LIST;
    if (st->ahead) sampi_gpu_join_window(h); /* no list of the prefix is needed then */
    return !st->ahead && search->before + n <= SAMP_GPU_LIST ? sampi_gpu_require_list(h, search->key) : 1;
}

/* Takes over the histogram of the whole row: asks for the edge, the tokens of its bucket with the end, or, if these are
   too many for a list, first for a histogram of the bucket. EDGE compares logits, so a bucket that ends between tokens
   of one logit is left to the general search. */
static int sampi_gpu_ask_edge(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    const uint64_t *mass = h->a->mass + h->row * SAMPI_BUCKETS, *count = h->a->count + h->row * SAMPI_BUCKETS;
    sampi_gpu_look_ahead(h);
    const uint64_t n = sampi_gpu_take_bucket(h, mass, count, SAMPI_BUCKETS);
    const uint64_t lo = search->lo, hi = search->hi;
    const bool even = search->shift == SAMPI_EVEN, by_logits = (uint32_t)lo == 0 && (uint32_t)hi == UINT32_MAX;
    sampi_gpu_meet(st);
    if (n > SAMP_GPU_LIST && even) {
        sampi_gpu_search_window(h, lo, hi, false);
        search->stage = SAMPI_SEARCH_SHARES;
        return 0;
    }
    if (n > SAMP_GPU_LIST || !by_logits) return sampi_gpu_ask_bucket(h, n);
    search->top = sampi_gpu_logit(~lo);
    search->floor = sampi_gpu_logit(~hi);
    sampi_gpu_ask_window(h);
    search->stage = SAMPI_SEARCH_EDGE;
    st->pass = SAMPI_PASS_EDGE;
    return 0;
}

/* Takes over the result of a window of logits. Mostly the end of the prefix is in it: in one bucket of its histogram,
   whose tokens are in the list. Else the end is above or below the window, and the sample shows how far. */
static int sampi_gpu_search_in_window(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    const uint64_t *mass = h->a->mass + h->row * SAMPI_BUCKETS, upto = search->above_mass + search->in_mass;
    const uint64_t lo = search->lo;
    if (search->above_mass >= search->mass && search->above_count >= search->count) {
        const uint64_t less = search->above_mass - search->mass;
        const double t = sampi_gpu_sampled_back(sampi_gpu_total(mass, search->from), less);
        return sampi_gpu_next_window(h, t, ~sampi_gpu_key(st->max, 0), lo - 1, true);
    }
    const uint64_t end = ~SAMPI_GPU_ALL, mass_left = st->z - search->mass, mass_below = search->mass - upto;
    const bool below = upto < search->mass, few = search->above_count + st->n_list < search->count;
    const uint64_t mass_wanted = sampi_gpu_remaining(search->mass, search->above_mass);
    const uint64_t count_wanted = sampi_gpu_remaining(search->count, search->above_count);
    sampi_gpu_meet(st);
    search->before = search->above_count;
    search->mass = mass_wanted;
    search->count = count_wanted;
    if (below) {
        const double t = sampi_gpu_sampled(sampi_gpu_total(mass, search->upto + 1), mass_below);
        return sampi_gpu_next_window(h, t, lo, end, true);
    }
    if (st->n_list > SAMP_GPU_LIST && sampi_gpu_fineness(st) > search->per_nat) { /* the sums are new */
        sampi_gpu_sample(h);
        const double t = sampi_gpu_sampled_back(sampi_gpu_total(mass, SAMPI_BUCKETS), mass_left);
        return sampi_gpu_next_window(h, t, lo, end, true);
    }
    if (few) return sampi_gpu_search_window(h, lo, end, true);
    return sampi_gpu_end_in_window(h);
}
/* Finds the shortest prefix with at least this mass and this number of tokens, or all tokens; search.key (and score)
   are then the place of its last token. It searches first in the list of the first tokens; then, by mass, in windows;
   then in all tokens by histograms, of all codes, of one bucket's codes, and so on, until a bucket's tokens fit a list.
   Last it makes a list of the prefix itself, if that is short and the draw's envelope is not summed yet, so that the
   tokens that the sampler keeps are a complete list. Between passes search.stage records the progress; a step must ask
   for the same prefix until it is found, and ask nothing else meanwhile. */
static int sampi_gpu_require_prefix(const sampi_gpu_here *h, bool by_score, double mean, uint64_t mass,
                                    uint64_t count)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    if (search->stage == SAMPI_SEARCH_SHARES) {
        const bool first = search->shift == SAMPI_EVEN;
        sampi_gpu_meet(st);
        if (first) search->mass = mass, search->count = count, search->before = 0;
        return sampi_gpu_ask_edge(h);
    }
    if (search->stage == SAMPI_SEARCH_EDGE && (known = sampi_gpu_end_in_window(h)) != 1) return known;
    if (search->stage == SAMPI_SEARCH_WINDOW) { /* the pass for the window may have been asked for before
                                                   these were known */
        search->mass = mass;
        search->count = count;
        search->before = 0;
        if ((known = sampi_gpu_search_in_window(h)) != 1) return known;
    } else if (search->stage == SAMPI_SEARCH_IDLE) {
        search->by_score = by_score;
        search->mean = mean;
        /* stored here: later calls continue this search whatever arguments they get */
        search->mass = mass;
        search->count = count;
        search->before = 0;
        known = sampi_gpu_prefix_of_list(h);
        if (known == SAMPI_GPU_DECLINED) known = sampi_gpu_first_window(h);
        if (known == 1) search->tries = 0;
        if (known != SAMPI_GPU_DECLINED) return known;
        /* all possible codes: of any score, or from the first token's key to that of the smallest logit */
        if (by_score) return sampi_gpu_search_window(h, 0, sampi_bits(INFINITY), true);
        return sampi_gpu_search_window(h, ~sampi_gpu_key(st->max, 0), ~SAMPI_GPU_ALL, true);
    }
    if (search->stage == SAMPI_SEARCH_HISTOGRAM) {
        known = sampi_gpu_search_bucket(h);
        if (known != 1) return known;
    }
    if (search->stage == SAMPI_SEARCH_BUCKET) {
        sampi_gpu_prefix p;
        sampi_gpu_list_codes(h, by_score, true);
        sampi_gpu_search_list(h);
        search->stage = SAMPI_SEARCH_LIST;
        /* the length of the prefix: the tokens before the bucket, and those in it */
        if (!by_score) sampi_gpu_list_prefix(h, ~search->key, &p);
        if (!by_score && search->before + p.count <= SAMP_GPU_LIST) return sampi_gpu_require_list(h, search->key);
    }
    sampi_gpu_meet(st);
    search->stage = SAMPI_SEARCH_IDLE;
    search->tries = 0;
    return 1;
}

/* Finds whether at least min_keep tokens have a logit >= floor. Returns 1 when *enough has the answer, else what
   require_list or require_sums returns. It lowers *min_keep to the number of tokens if that is smaller. If more tokens
   reach the floor than a list holds, they are enough as long as min_keep fits a list. Only keep_above calls it. */
static int sampi_gpu_enough_above(const sampi_gpu_here *h, uint64_t from, uint64_t *min_keep, bool *enough)
{
    int known = sampi_gpu_require_list(h, from);
    *enough = true;
    if (known == SAMPI_GPU_DECLINED && *min_keep <= SAMP_GPU_LIST) return 1;
    if (known != 1) return known;
    const uint64_t count = sampi_gpu_list_count(h, from);
    if (count < *min_keep) {
        known = sampi_gpu_require_sums(h);
        if (known != 1) return known;
        if (*min_keep > h->st->n) *min_keep = h->st->n;
    }
    *enough = count >= *min_keep;
    return 1;
}

/* Added to the caller's phase: min_keep decides, not the floor. */
enum { SAMPI_PHASE_MIN_KEEP = 16 };

/* Keeps the tokens with logits >= floor, but at least the first min_keep (>= 1) in order: for min_p, by_sums and
   mirostat_v2. The CPU's array is sorted only if min_keep decides. Two questions follow one another here, so the phase
   records to which of them a call belongs; afterwards it is the caller's again. */
static int sampi_gpu_keep_above(const sampi_gpu_here *h, double floor, uint64_t min_keep)
{
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    const int32_t phase = st->memory.phase % SAMPI_PHASE_MIN_KEEP;
    if (st->memory.phase < SAMPI_PHASE_MIN_KEEP) {
        const uint64_t from = sampi_gpu_floor(sampi_float_up(floor));
        bool enough = false;
        /* no token reaches a floor above the maximum: min_keep decides at once */
        if (!(floor > (double)st->max)) known = sampi_gpu_enough_above(h, from, &min_keep, &enough);
        if (known != 1) return known;
        if (enough) {
            sampi_gpu_keep_from(h, from);
            return 1;
        }
        sampi_gpu_meet(st);
        st->memory.phase = phase + SAMPI_PHASE_MIN_KEEP;
    }
    known = sampi_gpu_require_prefix(h, false, 0.0, 0, min_keep);
    if (known != 1) return known;
    sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    sampi_gpu_keep_from(h, st->search.key);
    st->memory.phase = phase;
    return 1;
}
