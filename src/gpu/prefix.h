/* ---- the end of a prefix ----
   The end of a prefix, at which top_k, top_p, typical, greedy and others cut: the last token of the shortest beginning
   of an order with a given mass and number of tokens. sampi_gpu_require_prefix finds it; sampi_gpu_keep_above also cuts
   there. The search uses a list if there is one, else histograms. It writes st->search and scratch. */

/* Decides whether the pass that lists the tokens around a prefix's end sums the draw's envelope too. It does if this
   top_p is followed by a draw, with nothing but a temperature between them: then all tokens above take part in the
   draw, with logits that are known now. */
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

/* Begins a histogram of the codes in [lo, hi]. The first one, of all codes, has even buckets of 1/64 nat, because codes
   of floats are not spread evenly; that of a bucket has up to SAMPI_FINE buckets of 2^shift codes, and always numbers.
   It is cleared while no other team works on the row; the others see the zeros before they add, because the epoch is
   raised in between. */
static SAMPI_CALLED void sampi_gpu_begin_histogram(const sampi_gpu_here *h, uint64_t lo, uint64_t hi, bool even)
{
    sampi_gpu_search *search = &h->st->search;
    sampi_gpu_clear_buckets(h, even ? SAMPI_BUCKETS : SAMPI_FINE, !even || search->counting);
    if (!even) search->counting = true;
    search->lo = lo;
    search->hi = hi;
    search->shift = even ? SAMPI_EVEN : sampi_gpu_fine_shift(hi - lo);
}

/* Asks for the first histogram, of all possible codes: of any score, or from the first token's key to that of the
   smallest logit. Returns 0 always: a pass is needed. */
static int sampi_gpu_ask_histogram(const sampi_gpu_here *h, int32_t stage)
{
    sampi_gpu_state *st = h->st;
    const uint64_t lo = st->search.by_score ? 0 : ~sampi_gpu_key(st->max, 0);
    sampi_gpu_look_ahead(h);
    st->search.counting = st->search.count > 1 || !st->search.mass || !st->ahead;
    sampi_gpu_begin_histogram(h, lo, st->search.by_score ? sampi_bits(INFINITY) : ~SAMPI_GPU_ALL, true);
    st->search.stage = stage;
    st->pass = SAMPI_PASS_HIST;
    return 0;
}

/* Makes n and z known, for the prefix of a top_p, by the histogram of the whole row, which the search for the prefix
   then begins with (n counts only if min_keep could exceed it). */
static int sampi_gpu_require_shares(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    const uint64_t *mass = h->mass, *count = h->count;
    const bool made = st->search.stage == SAMPI_SEARCH_SHARES;
    const int known = sampi_gpu_require_max(h);
    if (known != 1 || st->shares_known) return known;
    if (st->sums_known || st->complete) return sampi_gpu_require_sums(h);
    if (made) {
        const uint64_t z = sampi_gpu_total(mass, SAMPI_BUCKETS);
        const uint64_t n = st->search.counting ? sampi_gpu_total(count, SAMPI_BUCKETS) : 1;
        sampi_gpu_meet(st);
        st->n = n, st->z = z;
        st->shares_known = true;
        return 1;
    }
    sampi_gpu_meet(st);
    st->search.by_score = false;
    st->search.mass = 1; /* weights are asked for */
    st->search.count = step->u.cut.min_keep;
    return sampi_gpu_ask_histogram(h, SAMPI_SEARCH_SHARES);
}

/* ---- by histograms ---- */

/* Finds the end of the prefix in the list, which has the tokens that are still needed, from the codes (places in the
   order) that list_codes has written just before. In the order of scores several tokens may share the last one's score;
   keys then decide how many of these are in the prefix. Writes search->key and score. */
static void sampi_gpu_search_list(const sampi_gpu_here *h)
{
    sampi_gpu_search *search = &h->st->search;
    const uint64_t code = sampi_gpu_list_end(h, h->st->n_list, search->lo, search->hi, search->mass, search->count);
    sampi_gpu_prefix upto, below = { 0, 0 };
    search->score = code;
    search->key = search->by_score ? 0 : ~code;
    if (!search->by_score) return;
    sampi_gpu_list_prefix(h, code, &upto);
    if (code > 0) sampi_gpu_list_prefix(h, code - 1, &below);
    if (upto.count - below.count <= 1) return;
    sampi_gpu_list_tie(h, code); /* a tie: keys decide about the rest */
    const uint64_t mass = sampi_gpu_remaining(search->mass, below.mass);
    const uint64_t count = sampi_gpu_remaining(search->count, below.count);
    search->key = ~sampi_gpu_list_end(h, h->st->n_list, 0, UINT64_MAX - 1, mass, count);
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
    const double x = bucket < 768 ? (double)bucket : ((double)bucket - 576.0) * 4.0; /* as in sampi_gpu_even */
    const float near_ = (float)sampi_add_to_product64(x / -64.0, (double)max);
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

/* Makes the histogram's bucket with the end of the prefix the range to search. */
static void sampi_gpu_take_bucket(const sampi_gpu_here *h)
{
    sampi_gpu_search *search = &h->st->search;
    const float max = h->st->max;
    const uint64_t all_before = search->before;
    const uint32_t n = search->shift == SAMPI_EVEN ? SAMPI_BUCKETS : SAMPI_FINE;
    uint64_t mass = search->mass, count = search->count, before = 0;
    const uint32_t bucket = sampi_gpu_end_bucket(h, n, search->counting, &mass, &count, &before);
    const uint64_t lo = sampi_gpu_bucket_start(search, max, bucket);
    const uint64_t hi = sampi_gpu_bucket_start(search, max, bucket + 1) - 1;
    sampi_gpu_meet(h->st); /* lanes have read the search */
    search->before = all_before + before;
    search->count = count;
    search->mass = mass;
    search->lo = lo;
    search->hi = hi;
}

/* Asks for a list of the tokens of the range that is searched. It is not a list of the first tokens, so listed stays
   false. EDGE compares logits only, so a range that ends between tokens of one logit gets BUCKET. Returns 0 always. */
static int sampi_gpu_ask_bucket(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    const bool edge = st->ahead && (uint32_t)st->search.lo == 0 && (uint32_t)st->search.hi == UINT32_MAX;
    sampi_gpu_meet(st); /* lanes have read it */
    if (!edge) st->ahead = SAMPI_GPU_AHEAD_NO;
    st->search.stage = SAMPI_SEARCH_BUCKET;
    st->pass = edge ? SAMPI_PASS_EDGE : SAMPI_PASS_BUCKET;
    st->n_list = 0;
    st->listed = st->overflown = false;
    return 0;
}

/* Takes over a histogram of the row: chooses the bucket to search next. */
static int sampi_gpu_search_bucket(const sampi_gpu_here *h)
{
    sampi_gpu_search *search = &h->st->search;
    const uint64_t *mass = h->mass, *count = h->count;
    /* fewer tokens remain than are wanted: the prefix has no end (a bucket that is divided has it) */
    if (search->shift == SAMPI_EVEN &&
        ((!h->st->shares_known && sampi_gpu_total(mass, SAMPI_BUCKETS) < search->mass) ||
         (search->counting && sampi_gpu_total(count, SAMPI_BUCKETS) < search->count))) {
        search->key = 0; /* all tokens */
        search->score = UINT64_MAX;
        search->stage = SAMPI_SEARCH_ALL;
        return 1;
    }
    sampi_gpu_take_bucket(h);
    return sampi_gpu_ask_bucket(h);
}

/* Searches the end of a prefix in the list of the first tokens, which is made if there is none. Returns 1 if the end is
   known, SAMPI_GPU_DECLINED if histograms must find it. Most prefixes end here: the sums have made a list too, or one
   pass makes it. */
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

/* Adds the list's tokens of the prefix to the groups' sums of the envelope, which are then those of the draw. Tokens
   with changed logits are added when the draw begins, as always. */
static SAMPI_CALLED void sampi_gpu_join_edge(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list, n_changed = h->job->n_ids;
    uint64_t *sum = h->a->sum + h->row * h->a->groups;
    const uint64_t key = h->st->search.key;
    const float then = h->st->then, factor = h->st->factor;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        uint64_t x, next = item[sampi_gpu_min_of((uint32_t)lane, n - 1)].key;
        for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) {
            x = next;
            next = item[sampi_gpu_min_of(i + SAMPI_WARP, n - 1)].key; /* on its way during the work on this one */
            const uint32_t id = sampi_gpu_id(x);
            const float l = sampi_gpu_scaled(sampi_gpu_logit(x), factor);
            if (x < key || (n_changed && sampi_gpu_changed_at(h, id) < n_changed)) continue;
            __atomic_fetch_add(&sum[id / SAMPI_GROUP], (uint64_t)sampi_envelope(then, l), __ATOMIC_RELAXED);
        }
    }
    h->st->ahead = SAMPI_GPU_AHEAD_MADE;
}

/* Finds the end of the prefix among the tokens of a bucket, which are in the list. If they were too many, a histogram
   of them leads to a smaller bucket (there are at most seven, because each has 512 times fewer codes); if they share
   one code, the CPU samples the row. Then the draw's sums are complete; or the prefix itself is listed if it is
   short. */
static SAMPI_CALLED int sampi_gpu_end_in_bucket(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    const bool by_score = search->by_score, fits = st->n_list <= SAMP_GPU_LIST;
    sampi_gpu_prefix p;
    if (!fits && search->lo == search->hi) return SAMPI_GPU_DECLINED;
    sampi_gpu_meet(st); /* lanes have read the state */
    if (!fits) {
        sampi_gpu_begin_histogram(h, search->lo, search->hi, false);
        search->stage = SAMPI_SEARCH_HISTOGRAM;
        st->pass = SAMPI_PASS_DIVIDE;
        return 0;
    }
    search->stage = SAMPI_SEARCH_LIST;
    if (h->job->n_ids) sampi_gpu_list_codes(h, by_score, true); /* changed tokens have joined the list */
    sampi_gpu_search_list(h);
    if (st->ahead) sampi_gpu_join_edge(h);
    if (by_score || st->ahead || search->before > SAMP_GPU_LIST) return 1;
    sampi_gpu_list_prefix(h, ~search->key, &p);
    return search->before + p.count <= SAMP_GPU_LIST ? sampi_gpu_require_list(h, search->key) : 1;
}

/* Finds the shortest prefix with at least this mass and this number of tokens, or all tokens; search.key (and score)
   are then the place of its last token. It searches first in the list of the first tokens; then in all tokens by
   histograms, of all codes, of one bucket's codes, and so on, until a bucket's tokens fit a list. Last it makes a list
   of the prefix itself, if that is short and the draw's envelope is not summed yet, so that the tokens that the sampler
   keeps are a complete list. Between passes search.stage records the progress; a step must ask for the same prefix
   until it is found, and ask nothing else meanwhile. */
static int sampi_gpu_require_prefix(const sampi_gpu_here *h, bool by_score, double mean, uint64_t mass,
                                    uint64_t count)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    const int32_t stage = search->stage;
    if (stage == SAMPI_SEARCH_IDLE || stage == SAMPI_SEARCH_SHARES) {
        sampi_gpu_meet(st);
        search->by_score = by_score;
        search->mean = mean;
        /* stored here: later calls continue this search whatever arguments they get */
        search->mass = mass || stage == SAMPI_SEARCH_IDLE ? mass : 1; /* a prefix has at least one token */
        search->count = count;
        search->before = 0;
    }
    if (stage == SAMPI_SEARCH_IDLE) {
        known = sampi_gpu_prefix_of_list(h);
        if (known != SAMPI_GPU_DECLINED) return known;
        return sampi_gpu_ask_histogram(h, SAMPI_SEARCH_HISTOGRAM);
    }
    if (stage == SAMPI_SEARCH_SHARES || stage == SAMPI_SEARCH_HISTOGRAM) known = sampi_gpu_search_bucket(h);
    if (stage == SAMPI_SEARCH_BUCKET) known = sampi_gpu_end_in_bucket(h);
    if (known != 1) return known;
    sampi_gpu_meet(st);
    search->stage = SAMPI_SEARCH_IDLE;
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
