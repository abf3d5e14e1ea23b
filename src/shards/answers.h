/* ---- shards: the answers of a slice ----
   A slice is the part of the vocabulary on one machine, a rank. One function answers each question (LIST, SUMS, HIST,
   ...: shards/head.h). It reads the slice and the facts that all ranks share, and fills a parcel, which is a record in
   a message. Its comment begins with the question. "Sent" is the content of the parcel, and why the merge of all
   slices' parcels is the answer for the whole row; "known then" is what all ranks know after the merge. An empty slice
   gives an answer that changes nothing in a merge.

   The file begins with functions for the end of a prefix, which is searched for in ever smaller buckets: they return on
   which side of the end a logit is. The result is monotone in the logit's distance from the maximum or the mean, in
   doubles that are rounded alike on every machine, so each rank can cut its own slice. */

/* Begins the search for the end of a prefix, in `buckets` buckets of the distances [0, range]. */
static void sampi_end_within(sampi_end *end, double range, uint32_t buckets, bool is_whole)
{
    end->scale = range > 0.0 ? (double)buckets / range : 0.0;
    end->buckets[0] = buckets;
    end->level = 0;
    end->is_whole = is_whole;
    end->is_after = false;
    end->mass = end->count = 0;
}

static sampi_order sampi_order_from(float max, double mean)
{
    sampi_order order = { sampi_typical_score, (double)max, mean };
    return order;
}

/* Returns the side on which a logit is: below 0 if it is before the bucket that is being divided, above 0 after it, 0
   inside. *bucket gets the smaller bucket in which it is. */
static int sampi_end_side(const sampi_end *end, float l, uint32_t *bucket)
{
    double t = sampi_round(sampi_abs((end->order.max - (double)l) - end->order.mean) * end->scale);
    for (int i = 0;; i++) {
        uint32_t last = end->buckets[i] - 1, at = t < (double)last ? (uint32_t)t : last;
        if (i == end->level) {
            *bucket = at;
            return 0;
        }
        if (at != end->path[i]) return at < end->path[i] ? -1 : 1;
        t = (t - (double)at) * (double)end->buckets[i + 1];
    }
}

/* A function that returns on which side of the end a logit is: below 0 before the end, 0 at it, above 0 after it. */
typedef int (*sampi_side_of)(const sampi_end *end, float l);

static int sampi_side_by_bucket(const sampi_end *end, float l)
{
    uint32_t bucket;
    return sampi_end_side(end, l, &bucket);
}

/* Returns 0 for a logit that equals that of the prefix's last token. */
static int sampi_side_by_last(const sampi_end *end, float l)
{
    samp_token_data d = { 0, l, 0.0f };
    return l == end->last.logit ? 0 : sampi_before(&end->order, &d, &end->last) ? -1 : 1;
}

/* Returns the side by the distance alone. Two logits on different sides of the mean may have distances that round to
   the same number. */
static int sampi_side_by_score(const sampi_end *end, float l)
{
    samp_token_data d = { 0, l, 0.0f };
    double score = end->order.score(&end->order, &d), last = end->order.score(&end->order, &end->last);
    return (score > last) - (score < last);
}

/* The data of the predicates for the two ends of sampi_end_interval. Both predicates are monotone: on either side of
   the mean, a logit farther from it comes later. */
typedef struct sampi_side {
    const sampi_end *end;
    sampi_side_of stands;
    int side;
    float middle;
} sampi_side;

static bool sampi_is_from_low(const void *what, float l)
{
    const sampi_side *of = (const sampi_side *)what;
    return l > of->middle || of->stands(of->end, l) <= of->side;
}
static bool sampi_is_from_high(const void *what, float l)
{
    const sampi_side *of = (const sampi_side *)what;
    return l > of->middle && of->stands(of->end, l) > of->side;
}

/* Returns the interval of logits that are on `side` or before it: [low, *high), around the mean. It may be empty. */
static float sampi_end_interval(const sampi_end *end, sampi_side_of stands, int side, float *high)
{
    sampi_side of = { end, stands, side, sampi_finite((float)(end->order.max - end->order.mean)) };
    while (sampi_row_signed_score(&end->order, of.middle) < 0.0) of.middle = sampi_next_down(of.middle);
    const int64_t middle = sampi_key(of.middle);
    *high = sampi_least_in(sampi_is_from_high, &of, middle, sampi_key(INFINITY));
    return sampi_least_in(sampi_is_from_low, &of, SAMPI_NO_KEY, middle + 1);
}

/* ---- answers ----
   Each function fills an empty parcel from the slice as it is now (row->row) and from the facts that all ranks
   share. */

/* Copies the slice's logits in [low, high) to x, and their ids to id, in order of ids (16 more elements of both may be
   overwritten). Returns their number. */
static size_t sampi_collect_between(const sampi_shard_row *row, float low, float high, float *x, int32_t *id)
{
    if (row->row.n == 0 || !(low < high)) return 0;
    return row->row.k->collect(row->row.x, row->row.id, 0, row->row.n, low, high, x, id);
}

/* Copies the tokens of the bucket that contains the end, from both sides of the mean. */
static size_t sampi_collect_bucket(const sampi_shard_row *row)
{
    float above, high, low = sampi_end_interval(&row->end, sampi_side_by_bucket, 0, &high);
    float kept = sampi_end_interval(&row->end, sampi_side_by_bucket, -1, &above);
    if (!(kept < above)) return sampi_collect_between(row, low, high, row->shard->work.x, row->shard->work.id);
    size_t n = sampi_collect_between(row, low, kept, row->shard->work.x, row->shard->work.id);
    return n + sampi_collect_between(row, above, high, row->shard->work.x + n, row->shard->work.id + n);
}

/* Copies the slice's first tokens after those in the list, `want` or some more, in order of ids. *all gets the number
   of tokens after the list. */
static size_t sampi_collect_after_list(const sampi_shard_row *row, size_t want, size_t *all)
{
    const samp_token_data *last = row->n_list ? &row->list[row->n_list - 1] : NULL;
    float *x = row->shard->work.x;
    int32_t *id = row->shard->work.id;
    size_t n = row->row.n, m = 0;
    *all = n;
    if (n == 0) return 0;
    sampi_row look = row->row; /* the slice as a row without ids, for the maxima of its lines */
    look.work = &row->shard->work;
    sampi_row_set_tokens(&look, row->row.x, NULL, n);
    (void)sampi_row_scan(&look);
    sampi_row_gather_first(&look, want + row->n_list);
    for (size_t i = 0; i < look.n; i++) {
        int32_t token = row->row.id[id[i]];
        if (last && (x[i] > last->logit || (x[i] == last->logit && token <= last->id))) {
            --*all;
            continue;
        }
        x[m] = x[i];
        id[m++] = token;
    }
    return m;
}

/* Does this sampler need the row's smallest logit? top_n_sigma needs it for the scale of its sums. A sampler that may
   search for an end needs it so that its buckets cover no more than the row. */
static bool sampi_needs_least(const sampi_sampler *s)
{
    if (s->kind == SAMPI_TOP_K) return s->u.top_k.k > SAMPI_SHARD_ROOM;
    return (sampi_flags_of(s) & SAMPI_SEEKS_END) || sampi_min_keep(s) > SAMPI_SHARD_LIST;
}

/* Does a member of the chain need the row's smallest logit? After a short top_k no member needs it. */
static bool sampi_member_needs_least(const sampi_shard_row *row)
{
    const sampi_sampler *s;
    bool wants = row->asks_least;
    for (int ahead = 0; !wants && (s = sampi_row_member(row, ahead)) != NULL; ahead++) {
        wants = sampi_needs_least(s);
        if (s->kind == SAMPI_TOP_K) break;
    }
    return wants;
}

/* Returns the smallest logit of the slice, or INFINITY if the slice is empty. */
static SAMPI_HOT float sampi_shard_least(const sampi_shard_row *row)
{
    float least = INFINITY, buf[SAMPI_TILE], line[SAMPI_LINE];
    for (size_t at = 0; at < row->row.n; at += SAMPI_TILE) {
        size_t n = row->row.n - at < SAMPI_TILE ? row->row.n - at : SAMPI_TILE;
        row->row.k->scale(row->row.x + at, n, -1.0f, false, buf);
        float top = -row->row.k->maxima(buf, SAMP_F32, NULL, n, line);
        if (top < least) least = top;
    }
    return least;
}

/* LIST. Sent: the slice's first tokens after the last one in the list, as many as all ranks together may add, so that
   none of the row's first tokens is missing in the merge; and the number of tokens after the list, which is added up.
   Known then: the list is the beginning of the row, or the whole row if no tokens follow. Returns how many tokens
   follow. */
static size_t sampi_put_first(const sampi_shard_row *row, sampi_parcel *p)
{
    samp_token_data *d = (samp_token_data *)(void *)row->shard->work.w;
    size_t behind, n = sampi_collect_after_list(row, p->room, &behind);
    sampi_row look = row->row;
    look.work = &row->shard->work;
    sampi_row_set_tokens(&look, row->shard->work.x, row->shard->work.id, n);
    if (n > p->room) {
        (void)sampi_row_scan(&look);
        sampi_row_keep_first(&look, p->room);
        n = p->room;
    }
    for (size_t i = 0; i < n; i++) {
        d[i].id = look.id[i];
        d[i].logit = look.x[i];
        d[i].p = 0.0f;
    }
    sampi_sort_part(&SAMPI_BY_LOGIT, d, n, n, 64);
    for (size_t i = 0; i < n; i++) {
        sampi_wire_put(sampi_parcel_entry(p, i), (uint32_t)d[i].id, 3);
        sampi_wire_put_float(sampi_parcel_entry(p, i) + 3, d[i].logit);
    }
    sampi_set_entries(p, n);
    return behind;
}

static void sampi_answer_list(const sampi_shard_row *row, sampi_parcel *p)
{
    size_t behind = sampi_put_first(row, p);
    bool tells_least = behind && !(row->has & SAMPI_HAS_LEAST) && sampi_member_needs_least(row);
    sampi_wire_put(p->fields, behind, 8);
    sampi_wire_put_float(p->fields + 8, tells_least ? sampi_shard_least(row) : INFINITY);
}

/* Does a member of the chain need the sum of squared weights? Then it is sent with the first SUMS, whichever member
   asks for them. */
static bool sampi_member_needs_squares(const sampi_shard_row *row)
{
    const sampi_sampler *s;
    bool wants = row->asks_squares;
    for (int ahead = 0; !wants && (s = sampi_row_member(row, ahead)) != NULL; ahead++)
        wants = sampi_needs_squares(s->kind);
    return wants;
}

/* SUMS. Sent: the number of tokens n, the sum of weights Z, the sum S of w (max - l), rounded, and the sum of squared
   weights. Weights are integers relative to the row's maximum, so the slices' sums add up to those of one machine, bit
   for bit. Known then: the entropy, thresholds, the mass of a share. */
static void sampi_answer_sums(const sampi_shard_row *row, sampi_parcel *p)
{
    sampi_sums sums = { row->max, 0, 0, 0, 0 };
    uint64_t squares = 0, w[SAMPI_TILE + 16];
    const bool with_squares = sampi_member_needs_squares(row);
    const size_t n_all = row->row.n;
    const float *x = row->row.x;
    for (size_t at = 0; at < n_all && with_squares; at += SAMPI_TILE) {
        size_t n = n_all - at < SAMPI_TILE ? n_all - at : SAMPI_TILE;
        row->row.k->weights(x + at, n, sums.max, w, NULL);
        squares += sampi_squares(w, n);
    }
    if (n_all) row->row.k->sums(x, n_all, 1.0f, sums.max, INFINITY, true, &sums);
    sampi_wire_put(p->fields, sums.n, 8);
    sampi_wire_put(p->fields + 8, sums.z, 8);
    sampi_wire_put(p->fields + 16, sums.s, 8);
    sampi_wire_put(p->fields + 24, squares, 8);
}

/* SIGMA. Sent: n, the sums of top_n_sigma's integers and of their squares (128 bits). The scale of these integers
   follows from the row's maximum and smallest logit, which are known. Known then: sigma, the same double on every
   rank. */
static void sampi_answer_sigma(const sampi_shard_row *row, sampi_parcel *p)
{
    double scale = sampi_sigma_scale((double)row->max - (double)row->least);
    sampi_u128 squares = { 0, 0 };
    uint64_t sum = 0;
    for (size_t i = 0; i < row->row.n; i++) {
        uint64_t x = sampi_sigma_x(row->max, row->row.x[i], scale);
        sum += x;
        squares = sampi_add128(squares, sampi_mul128(x, x));
    }
    sampi_wire_put(p->fields, row->row.n, 8);
    sampi_wire_put(p->fields + 8, sum, 8);
    sampi_wire_put(p->fields + 16, squares.hi, 8);
    sampi_wire_put(p->fields + 24, squares.lo, 8);
}

/* Computes the buckets of x [n], as sampi_end_side does. It works in blocks that compilers vectorise, because at the
   first level the whole slice is read. No sum follows a product, so no fma can change a result. */
static SAMPI_HOT void sampi_end_buckets(const sampi_end *end, const float *x, size_t n, uint32_t *bucket)
{
    enum { BLOCK = 16 };
    const double max = end->order.max, mean = end->order.mean, scale = end->scale;
    const double last = (double)(end->buckets[0] - 1);
    size_t i = 0;
    for (; end->level == 0 && i + BLOCK <= n; i += BLOCK)
        for (size_t k = i; k < i + BLOCK; k++) {
            double t = sampi_abs((max - (double)x[k]) - mean) * scale;
            bucket[k] = (uint32_t)(int32_t)(t < last ? t : last);
        }
    for (; i < n; i++) (void)sampi_end_side(end, x[i], &bucket[i]);
}

/* HIST. Sent: the mass and the number of tokens of each bucket in which the end may be; those of other buckets are
   known. A token's bucket depends on its logit and on shared facts, so the ranks' buckets add up. Known then: the
   bucket that contains the end, and the mass and number of the tokens before it. */
static SAMPI_HOT void sampi_answer_hist(const sampi_shard_row *row, sampi_parcel *p)
{
    uint64_t mass[SAMPI_SHARD_SCORES] = { 0 }, w[SAMPI_TILE + 16];
    uint32_t count[SAMPI_SHARD_SCORES] = { 0 }, bucket[SAMPI_TILE];
    size_t n_all = row->end.level ? sampi_collect_bucket(row) : row->row.n;
    const float *x = row->end.level ? row->shard->work.x : row->row.x;
    for (size_t at = 0; at < n_all; at += SAMPI_TILE) {
        size_t n = n_all - at < SAMPI_TILE ? n_all - at : SAMPI_TILE;
        row->row.k->weights(x + at, n, row->max, w, NULL);
        sampi_end_buckets(&row->end, x + at, n, bucket);
        for (size_t i = 0; i < n; i++) {
            mass[bucket[i]] += w[i];
            count[bucket[i]]++;
        }
    }
    for (size_t i = 0; i < p->room; i++) {
        sampi_wire_put(sampi_parcel_entry(p, i), mass[i], 8);
        sampi_wire_put(sampi_parcel_entry(p, i) + 8, count[i], 3);
    }
    sampi_set_entries(p, p->room);
}

/* RUNS. Sent: the first values (logits) in the bucket in order, each with the number of this slice's tokens that have
   it (a run). A merge keeps the entries of all slices, sorted by value and then by slice, which is by id. Known
   then: the value at which the prefix ends, and how many tokens with this value each slice keeps, smaller ids first. */
static void sampi_answer_runs(const sampi_shard_row *row, sampi_parcel *p)
{
    const sampi_end *end = &row->end;
    samp_token_data *d = (samp_token_data *)(void *)row->shard->work.w;
    size_t n = 0, runs = 0, bucket = sampi_collect_bucket(row);
    sampi_wire_put_float(p->fields, (float)end->order.max);
    sampi_wire_put(p->fields + 8, sampi_bits(end->order.mean), 8);
    for (size_t i = 0; i < bucket; i++) {
        d[n].id = 0;
        d[n].logit = row->shard->work.x[i];
        n += !end->is_after || sampi_before(&end->order, &end->after, &d[n]);
    }
    sampi_sort_part(&end->order, d, n, n, 64);
    for (size_t i = 0; i < n && runs < p->room; runs++) {
        size_t from = i;
        while (i < n && d[i].logit == d[from].logit) i++;
        sampi_wire_put(sampi_parcel_entry(p, runs), row->shard->first, 3);
        sampi_wire_put_float(sampi_parcel_entry(p, runs) + 3, d[from].logit + 0.0f);
        sampi_wire_put(sampi_parcel_entry(p, runs) + 7, i - from, 3);
    }
    sampi_set_entries(p, runs);
}

/* Returns a logit multiplied by 1 / t, as the kernel does it, so that list and slices agree. */
static float sampi_times(float l, float t) { return sampi_finite(l * (1.0f / t)); }

/* Returns the logits from which the present member draws. Those of adaptive_p are computed here. */
static const float *sampi_draw_logits(const sampi_shard_row *row)
{
    float *l = row->shard->work.x;
    double *e = (double *)(void *)row->shard->work.w;
    size_t n = row->row.n;
    if (!row->adapts || n == 0) return row->row.x;
    (void)row->row.k->weights(row->row.x, n, row->max, NULL, e);
    row->row.k->probs(row->row.x, e, n, row->max, (double)row->sums.z, l);
    row->row.k->adapt(l, n, 1.0f, row->aim);
    return l;
}

/* Is no logit of l [n] above the merged maximum? Weights are relative to that maximum. A message that no rank has made
   may have a smaller one. */
static bool sampi_draw_is_sound(const sampi_shard_row *row, const float *l, size_t n)
{
    return n && row->row.k->maxima(l, SAMP_F32, NULL, n, row->shard->work.scratch) <= row->draw_max;
}

/* SEGS. Sent: the slice's first id, its sum of envelopes and its sum of weights, both integers relative to the maximum
   of the logits that are drawn from. A merge keeps one entry for each slice, in the order of slices, which is that of
   ids. Known then: Q, Z, and on which slice a proposal of the draw falls, and where. */
static SAMPI_HOT void sampi_answer_segs(const sampi_shard_row *row, sampi_parcel *p)
{
    const sampi_kernels *k = row->row.k;
    sampi_sums sums = { row->draw_max, 0, 0, 0, 0 };
    uint64_t q = 0;
    const size_t n = row->row.n;
    const float *x = sampi_draw_logits(row);
    if (sampi_draw_is_sound(row, x, n)) {
        k->envelope(x, n, 1.0f, row->draw_max, -FLT_MAX, row->shard->work.sum);
        for (size_t i = 0; i < sampi_row_n_tiles(n); i++) q += row->shard->work.sum[i];
        k->sums(x, n, 1.0f, row->draw_max, INFINITY, false, &sums);
    }
    sampi_wire_put(sampi_parcel_entry(p, 0), row->shard->first, 3);
    sampi_wire_put(sampi_parcel_entry(p, 0) + 3, q, 8);
    sampi_wire_put(sampi_parcel_entry(p, 0) + 11, sums.z, 8);
    sampi_set_entries(p, 1);
}

/* TOP. Sent: the maximum of the logits from which adaptive_p draws. Known then: the maximum to which the weights of the
   draw are relative. */
static void sampi_answer_top(const sampi_shard_row *row, sampi_parcel *p)
{
    const size_t n = row->row.n;
    const float *l = sampi_draw_logits(row);
    float max = n ? row->row.k->maxima(l, SAMP_F32, NULL, n, row->shard->work.scratch) : -INFINITY;
    sampi_wire_put_float(p->entries, max + 0.0f);
    sampi_set_entries(p, 1);
}

/* DRAW. The random numbers are the same on all ranks, and each proposal falls on one slice. Sent: the first proposal
   that falls on this slice and is accepted, with its token. A merge keeps the earliest proposal. Known then: the token,
   the same as sampi_draw selects, or that all proposals were rejected. */
static void sampi_answer_draw(const sampi_shard_row *row, sampi_parcel *p)
{
    const sampi_sampler *s = sampi_row_member(row, 0);
    const float *l = sampi_draw_logits(row), max = row->draw_max;
    uint64_t before = 0, mine = 0, random[2], *tile = row->shard->work.sum;
    sampi_wire_put(p->fields, UINT32_MAX, 4);
    if (!sampi_draw_is_sound(row, l, row->row.n)) return;
    row->row.k->envelope(l, row->row.n, 1.0f, max, -FLT_MAX, tile);
    for (size_t i = 0; i < sampi_row_n_tiles(row->row.n); i++) mine += tile[i];
    for (size_t i = 0; i < row->n_seg; i++) before += row->seg[i].first < row->shard->first ? row->seg[i].q : 0;
    for (uint32_t attempt = row->attempt; attempt < row->attempt + SAMPI_SHARD_TRIES; attempt++) {
        sampi_random(s, attempt, random);
        uint64_t left = sampi_mulhi(random[0], row->q), q;
        size_t t = 0;
        if (left < before || left - before >= mine) continue;
        left -= before;
        while (tile[t] <= left) left -= tile[t++];
        size_t i = t * SAMPI_TILE;
        while ((q = sampi_envelope(max, l[i])) <= left) left -= q, i++;
        if (sampi_mulhi(random[1], q << 14) >= sampi_weight(max, l[i])) continue;
        sampi_wire_put(p->fields, attempt, 4);
        sampi_wire_put(p->fields + 4, (uint32_t)row->row.id[i], 4);
        sampi_wire_put_float(p->fields + 8, row->row.x[i] + 0.0f);
        return;
    }
}

/* Is the weight of a logit at least a mass? The predicate is monotone, because weights never fall as logits grow.
   `what` points to the maximum and the mass. */
typedef struct sampi_reaching {
    float max;
    uint64_t mass;
} sampi_reaching;
static bool sampi_has_mass(const void *what, float l)
{
    const sampi_reaching *of = (const sampi_reaching *)what;
    return sampi_weight(of->max, l) >= of->mass;
}

/* REACH. Sent: the number of tokens whose weight is at least xtc's mass, and the last of them in order. The numbers add
   up; the last token of the row is the one that is later in order. Known then: how many tokens xtc removes, and which
   one it keeps. */
static void sampi_answer_reach(const sampi_shard_row *row, sampi_parcel *p)
{
    const sampi_sampler *s = sampi_row_member(row, 0);
    const sampi_reaching of = { row->max, sampi_mass_of(sampi_share(s->u.xtc.t), row->sums.z) };
    const float floor = sampi_least_in(sampi_has_mass, &of, SAMPI_NO_KEY, (int64_t)sampi_key(row->max) + 1);
    size_t n = sampi_collect_between(row, floor, INFINITY, row->shard->work.x, row->shard->work.id);
    samp_token_data last = { -1, 0.0f, 0.0f };
    for (size_t i = 0; i < n; i++) {
        samp_token_data d = { row->shard->work.id[i], row->shard->work.x[i], 0.0f };
        if (i == 0 || sampi_before(&SAMPI_BY_LOGIT, &last, &d)) last = d;
    }
    sampi_wire_put(p->fields, n, 8);
    sampi_wire_put(p->fields + 8, (uint32_t)last.id, 4);
    sampi_wire_put_float(p->fields + 12, last.logit + 0.0f);
}

/* RACE. Sent: the slice's token with the shortest time (gumbel), and the bits of that time, which order as positive
   doubles do. A token's time depends on its id and weight alone, so the row's token is the best of the slices' tokens.
   Known then: the token. */
static void sampi_answer_race(const sampi_shard_row *row, sampi_parcel *p)
{
#ifdef SAMPLING_GUMBEL_DECLARED
    sampi_race race = sampi_race_of(sampi_row_member(row, 0), row->max);
    for (size_t i = 0; i < row->row.n; i++)
        if (row->row.x[i] <= row->max) /* false if no rank has made the merged maximum */
            sampi_race_run(&race, row->row.x[i], row->row.id[i], i);
    sampi_wire_put(p->fields, sampi_bits(race.time), 8);
    sampi_wire_put(p->fields + 8, (uint32_t)race.id, 4);
    sampi_wire_put_float(p->fields + 12, race.logit + 0.0f);
#else
    (void)row, (void)p;
#endif
}
