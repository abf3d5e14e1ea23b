/* ---- shards: the search for the end of a prefix ----
   top_k, top_p and typical keep a prefix of an order. These functions find the end of that prefix in a row whose slices
   are on several ranks (machines): they count tokens and masses (sums of weights) in ever smaller buckets (HIST), and
   at last value by value (RUNS). sampi_end is the state of the search. The first buckets are asked for together with
   the list, by the distance from the maximum; if the row's smallest logit is known, they are no wider than necessary.
   min_keep together with a floor keeps the longer of two
   prefixes: the buckets mostly decide which one (sampi_floor_side), and then only the end of that one is searched for.

   The first buckets also show where in one of them the end is expected. The values (logits) there (RUNS) are asked for
   together with the next buckets: if the end is among these values, it is found a round earlier; otherwise the search
   continues in the buckets. Such a guess decides only what is asked. It is computed from merged numbers, in doubles, so
   all ranks make the same guess.

   Questions that are asked before they are certainly needed ("ahead") save rounds. The table has the mean number of
   rounds and bytes for a row in test_shards. "typical" is that sampler with any share, on wide rows; "chains" are 33
   chains on nine kinds of rows; "in use" are 15 chains on real logits, few rows of which need a search.

                                              typical       chains         in use
     all three                                4.36, 9.1 K   4.30, 11.3 K   2.16, 3.05 K
     without RUNS ahead (sampi_ask_ahead)     5.01, 6.0 K   4.56, 10.2 K   2.18, 3.01 K
     without lists (sampi_guess_room)         4.93, 10.1 K  4.36, 11.4 K   2.20, 3.02 K
     without SEGS ahead (sampi_draws_from)    4.43, 9.1 K   4.54, 11.4 K   2.18, 3.05 K
     none of the three                        6.00, 5.9 K   4.90, 10.2 K   2.31, 2.97 K

   A long nucleus of the chains in use takes 3 or 4 rounds with all three, 5 or 6 without. */

static double sampi_hist_entry(const sampi_parcel *hist, uint32_t i, bool counts)
{
    const unsigned char *entry = sampi_parcel_entry(hist, i);
    return counts ? (double)sampi_hist_count(entry) : (double)sampi_wire_get(entry, 8);
}

/* Returns an estimate of the mass or count in the first `part` (0 to 1) of a bucket. It assumes that the density
   changes exponentially from the bucket before to the bucket after. */
static double sampi_hist_part(const sampi_parcel *hist, uint32_t i, bool counts, double part)
{
    double before = i > 0 ? sampi_hist_entry(hist, i - 1, counts) : 0.0, growth = 0.0;
    double behind = i + 1 < hist->n ? sampi_hist_entry(hist, i + 1, counts) : 0.0;
    if (before >= 1.0 && behind >= 1.0) growth = 0.5 * sampi_log2(behind / before);
    if (sampi_abs(growth) > 1e-3) part = (sampi_exp2(growth * part) - 1.0) / (sampi_exp2(growth) - 1.0);
    return part * sampi_hist_entry(hist, i, counts);
}

/* An estimate of how a row's mass is distributed: the first tokens one by one, then buckets by logit. A place is a
   distance from the maximum, in units of the buckets' width. */
typedef struct sampi_guess {
    const sampi_parcel *hist;
    double before[2][SAMPI_SHARD_SCORES + 1]; /* the mass and the count before each bucket */
    double mean;                              /* the mean, as a place */
    size_t n;                                 /* the number of tokens that are known one by one */
    double place[SAMPI_SHARD_ROOM];           /* their places */
    double mass[SAMPI_SHARD_ROOM + 1];        /* the mass of the first i of these tokens */
} sampi_guess;

static void sampi_guess_open(sampi_guess *g, const sampi_shard_row *row)
{
    const sampi_end *end = &row->end;
    uint64_t mass = 0, w[SAMPI_TILE + 16];
    g->hist = row->hist;
    g->mean = end->order.mean * end->scale;
    g->n = row->n_list < SAMPI_SHARD_ROOM ? row->n_list : (size_t)SAMPI_SHARD_ROOM;
    g->mass[0] = g->before[0][0] = g->before[1][0] = 0.0;
    for (uint32_t i = 0; i < g->hist->n; i++)
        for (int counts = 0; counts < 2; counts++)
            g->before[counts][i + 1] = g->before[counts][i] + sampi_hist_entry(g->hist, i, counts);
    for (size_t i = 0, m = 0; i < g->n; i++, m--) {
        if (m == 0) m = sampi_weigh_tile(row, row->list + i, g->n - i, w);
        g->place[i] = (end->order.max - (double)row->list[i].logit) * end->scale;
        mass += w[i % SAMPI_TILE];
        g->mass[i + 1] = (double)mass;
    }
}

/* Returns an estimate of the mass or count before a place. */
static double sampi_guess_before(const sampi_guess *g, double place, bool counts)
{
    if (!(place > 0.0)) return 0.0;
    if (g->n && place <= g->place[g->n - 1]) {
        size_t in = 0, out = g->n;
        while (in < out) {
            size_t mid = (in + out) / 2;
            if (g->place[mid] < place)
                in = mid + 1;
            else
                out = mid;
        }
        return counts ? (double)in : g->mass[in];
    }
    uint32_t i = place < (double)g->hist->n ? (uint32_t)place : g->hist->n;
    double part = i < g->hist->n ? sampi_hist_part(g->hist, i, counts, place - (double)i) : 0.0;
    return g->before[counts][i] + part;
}

/* Returns an estimate of the mass or count of the tokens that are closer to the mean than a distance. */
static double sampi_guess_around(const sampi_guess *g, double distance, bool counts)
{
    return sampi_guess_before(g, g->mean + distance, counts) - sampi_guess_before(g, g->mean - distance, counts);
}

/* Returns the distance from the mean at which the end of the prefix is expected. */
static double sampi_guess_end(const sampi_guess *g, const sampi_end *end)
{
    double in = (double)g->hist->n, out = 0.0;
    for (int i = 0; i < 32; i++) {
        double mid = (in + out) * 0.5;
        if (sampi_guess_around(g, mid, false) >= (double)end->want &&
            sampi_guess_around(g, mid, true) >= (double)end->min_keep)
            in = mid;
        else
            out = mid;
    }
    return in;
}

/* Returns a bound of the error of the expected distance, four times the usual error. The bound follows from the number
   of tokens in the buckets at that distance on both sides, if these tokens are not known one by one. */
static double sampi_guess_error(const sampi_guess *g, double distance)
{
    double ends[2] = { g->mean + distance, g->mean - distance }, variance = 0.0, sum = 0.0;
    double known = g->n ? g->place[g->n - 1] : 0.0;
    for (int i = 0; i < 2; i++) {
        if (!(ends[i] >= known) || ends[i] >= (double)g->hist->n) continue;
        double mass = sampi_hist_entry(g->hist, (uint32_t)ends[i], false);
        double tokens = sampi_hist_entry(g->hist, (uint32_t)ends[i], true);
        sum += mass;
        if (tokens >= 1.0) variance += 0.25 * mass * mass / tokens;
    }
    return (sum > 0.0 ? 4.0 * sqrt(variance) / sum : 0.0) + 1.0 / 64.0;
}

/* Returns the distance between neighbouring values, in units of the buckets' width, if many of the first tokens are
   equal, because then all logits may be multiples of one number; otherwise 0. */
static double sampi_guess_grid(const sampi_guess *g)
{
    size_t values = 1;
    for (size_t i = 1; i < g->n; i++) values += g->place[i] != g->place[i - 1];
    return 2 * values <= g->n && values > 1 ? g->place[g->n - 1] / (double)(values - 1) : 0.0;
}

/* Does the present member only cut by logit? Then the next member's cut can be made together with its own. */
static bool sampi_only_cuts(const sampi_shard_row *row)
{
    const unsigned flags = sampi_flags_of(sampi_row_member(row, 0));
    return (flags & (SAMPI_CUTS_LAST | SAMPI_SELECTS)) == SAMPI_CUTS_LAST && !row->by_score;
}

/* Returns the floor of min_p, if min_p is the next member and the tokens that it keeps because of min_keep are listed;
   otherwise INFINITY. */
static double sampi_next_floor(const sampi_shard_row *row)
{
    const sampi_sampler *next = sampi_row_member(row, 1);
    if (!sampi_only_cuts(row) || !(sampi_flags_of(next) & SAMPI_TO_FLOOR)) return INFINITY;
    return sampi_min_keep(next) > row->n_list ? INFINITY : (double)row->max + sampi_ln(sampi_first_number(next));
}

/* Is the draw next after the present member, with only temperatures between? Notes which member draws, and the maximum
   of its logits if the present maximum is `max`. */
static bool sampi_draws_from(sampi_shard_row *row, float max)
{
    int ahead = 0;
    const sampi_sampler *s = sampi_row_member(row, 0);
    if (!(sampi_flags_of(s) & SAMPI_CUTS_LAST)) return false;
    if (!(sampi_flags_of(s) & SAMPI_SELECTS)) {
        while ((s = sampi_row_member(row, ++ahead)) && sampi_is_plain_temp(s)) max = sampi_times(max, s->u.temp.t);
        if (!(sampi_flags_of(s) & SAMPI_DRAWS_ALL) || sampi_row_member(row, ahead + 1)) return false;
    }
    row->drawer = row->at + ahead;
    row->draw_max = max;
    return true;
}

/* Returns the maximum of the kept tokens while an end is searched for. For typical it must certainly be a listed token;
   otherwise the result is -INFINITY. */
static float sampi_kept_max(const sampi_shard_row *row)
{
    size_t first = 0;
    if (!(row->end.order.mean > 0.0)) return row->max;
    while (first < row->n_list && sampi_side_by_runs(&row->end, row->list[first].logit) > 0) first++;
    if (first == row->n_list || sampi_side_by_runs(&row->end, row->list[first].logit) == 0) return -INFINITY;
    return row->list[first].logit;
}

/* Asks for RUNS and these facts; also for the facts about the tokens before the runs that the draw or the next member
   needs, or for their maximum. */
static int sampi_ask_runs_of(sampi_shard_row *row, size_t room, unsigned facts)
{
    const float max = sampi_kept_max(row);
    row->end.room = room;
    row->ask = SAMPI_ASK_RUNS | facts;
    row->has_kept = false;
    if (row->end.is_after || row->end.floor < INFINITY) return SAMPI_WAITS;
    row->kept.max = max;
    if (!(max > -INFINITY))
        row->ask |= SAMPI_ASK_TOP;
    else
        row->ask |= sampi_draws_from(row, max) ? SAMPI_ASK_SEGS : SAMPI_ASK_SUMS;
    return SAMPI_WAITS;
}

/* Asks for the values in the bucket that contains the end. */
static int sampi_ask_runs(sampi_shard_row *row)
{
    const uint64_t tokens = row->end.population;
    sampi_end_whole_bucket(&row->end);
    return sampi_ask_runs_of(row, tokens < SAMPI_SHARD_CHUNK ? (size_t)tokens : (size_t)SAMPI_SHARD_CHUNK, 0);
}

/* Asks for the next buckets, and for the values around the place `at` in them. The place was guessed from buckets that
   are `finer` times as wide and have `tokens` tokens there; `before` of the next buckets are before the place. */
static int sampi_ask_ahead(sampi_shard_row *row, const sampi_guess *g, double at, double tokens, double before,
                           double finer)
{
    sampi_end *end = &row->end;
    bool is_open = end->level == 0 && !end->is_whole; /* the contents of the last bucket are unknown then */
    uint32_t first = end->from > 0.0, last = end->buckets[end->level] - is_open;
    if (tokens < 1.0) tokens = 1.0;
    double off = sampi_guess_error(g, at) + 16.0 / tokens, grid = 1.5 * sampi_guess_grid(g);
    if (off * tokens > 0.5 * (double)SAMPI_SHARD_AHEAD) off = 0.5 * (double)SAMPI_SHARD_AHEAD / tokens;
    double room = 2.0 * tokens * (off + 1.0 / finer) + 1.0;
    if (off < grid) off = grid, room = SAMPI_SHARD_AHEAD;
    double begin = before - off * finer, behind = before + off * finer + 1.0;
    end->since = begin > (double)first ? begin < (double)last ? (uint32_t)begin : last : first;
    end->until = behind < (double)last ? (uint32_t)behind : last;
    if (room > (double)SAMPI_SHARD_AHEAD) room = SAMPI_SHARD_AHEAD;
    return sampi_ask_runs_of(row, (size_t)room, SAMPI_ASK_HIST);
}

/* Begins a search: asks for the counts of candidates in buckets of the distances [0, range]. If range is 0, all
   candidates are equal, and each slice has one run. */
static int sampi_end_start(sampi_shard_row *row, double range, uint32_t buckets, bool is_whole)
{
    sampi_end *end = &row->end;
    sampi_end_within(end, 0.0, range, buckets, is_whole);
    row->ask = SAMPI_ASK_HIST;
    if (range > 0.0) return SAMPI_WAITS;
    end->population = row->n_list + row->rest;
    end->path[end->level++] = 0;
    return sampi_ask_runs(row);
}

/* Begins a search without a guess, over all distances except those at which hardly any token is expected. */
static int sampi_end_anew(sampi_shard_row *row)
{
    const double mean = row->end.order.mean, range = sampi_full_range(row, mean);
    double most = (row->end.min_keep > 1 ? SAMPI_SHARD_FAR : SAMPI_SHARD_RANGE) - mean;
    if (most < mean) most = mean;
    uint32_t buckets = mean > 0.0 ? SAMPI_SHARD_SCORES : SAMPI_SHARD_COARSE;
    return sampi_end_start(row, range < most ? range : most, buckets, range <= most);
}

/* Returns how many tokens to list so that all kept tokens are listed: the expected number, and some more. If about 256
   tokens or fewer are kept, the list has SAMPI_SHARD_NEAR tokens, because all messages of such a row must fit in 4 KiB.
   Returns 0 if the list would be too long. */
static size_t sampi_guess_room(const sampi_guess *g, double at, double tokens)
{
    double count = sampi_guess_around(g, at, true), off = sampi_guess_error(g, at) * tokens;
    if (2.0 * count <= SAMPI_SHARD_LIST + SAMPI_SHARD_NEAR) return SAMPI_SHARD_NEAR;
    return count + off <= (double)SAMPI_SHARD_ROOM ? (size_t)(count + off) : 0;
}

/* Begins the search for the end of a prefix in the order of distances from a mean that is known. The merged buckets by
   logit, which are coarse, show at which distance the end is expected. The function asks for fine buckets over a range
   around this distance that is as wide as two coarse buckets, and for the values (logits) nearest to this distance. If
   the prefix is expected to have few tokens, it asks for a list of them instead. */
static int sampi_end_around(sampi_shard_row *row)
{
    sampi_end *end = &row->end;
    const double unit = end->scale;
    sampi_guess g;
    if (!(unit > 0.0)) return sampi_end_anew(row);
    sampi_guess_open(&g, row);
    double at = sampi_guess_end(&g, end), from = at > 1.0 ? (at - 1.0) / unit : 0.0;
    double tokens = sampi_guess_around(&g, at + 0.5, true) - sampi_guess_around(&g, at - 0.5, true);
    sampi_end_within(end, from, (at + 1.0) / unit, SAMPI_SHARD_FINE, false);
    int status = sampi_ask_ahead(row, &g, at, tokens, (at / unit - from) * end->scale, end->scale / unit);
    end->room_near = sampi_guess_room(&g, at, tokens);
    end->away = from + 2.0 * (double)end->until / end->scale;
    if (end->room_near) end->later = row->ask, row->ask = SAMPI_ASK_NEAR;
    return status;
}

/* Compares a floor with a bucket. Returns above 0 if all logits of this bucket and of the buckets before it are at
   least the floor; below 0 if no logit of the bucket is; 0 if the floor may be inside the bucket. */
static int sampi_floor_side(const sampi_end *end, double floor, uint32_t bucket)
{
    uint32_t at;
    if (!(floor < INFINITY)) return -1;
    int side = sampi_end_side(end, sampi_float_up(floor), &at);
    return side ? side : at == bucket ? 0 : at > bucket ? 1 : -1;
}

/* Keeps the tokens whose logit is at least the floor: all tokens in the list, and more. */
static int sampi_floor_cut(sampi_shard_row *row, double floor)
{
    row->reaches = sampi_float_up(floor);
    if (row->row.n) sampi_gather(&row->row, row->reaches);
    row->has &= SAMPI_ASK_TOP | (row->ahead > -INFINITY ? SAMPI_ASK_SEGS | SAMPI_ASK_SUMS : 0);
    if (!(row->has & SAMPI_ASK_SUMS) || row->sums.n < row->n_list) return SAMPI_KNOWN;
    row->rest = row->sums.n - row->n_list;
    row->has |= SAMPI_ASK_LIST;
    return SAMPI_KNOWN;
}

/* Finds the bucket that contains the end by the merged counts, and continues the search in it. */
static int sampi_end_narrow(sampi_shard_row *row)
{
    sampi_end *end = &row->end;
    uint64_t mass = end->mass, count = end->count;
    for (uint32_t i = 0; i < row->hist->n; i++) {
        const unsigned char *entry = sampi_parcel_entry(row->hist, i);
        uint64_t part = sampi_wire_get(entry, 8), tokens = sampi_hist_count(entry);
        if (mass + part < end->want || count + tokens < end->min_keep) {
            mass += part;
            count += tokens;
            continue;
        }
        double range = sampi_full_range(row, end->order.mean), next_floor = sampi_next_floor(row);
        if (end->from > 0.0 && end->level == 0 && i == 0) return sampi_end_anew(row);
        if (!end->is_whole && end->level == 0 && (i + 1 == row->hist->n || range * end->scale < 2.0))
            return sampi_end_start(row, range, SAMPI_SHARD_FINE, true);
        if (sampi_floor_side(end, next_floor, i) < 0 && next_floor < INFINITY)
            return sampi_floor_cut(row, next_floor);
        int floor_side = sampi_floor_side(end, end->floor, i);
        if (floor_side > 0) return sampi_floor_cut(row, end->floor);
        if (floor_side < 0) end->floor = INFINITY;
        end->mass = mass;
        end->count = count;
        end->population = tokens;
        end->path[end->level++] = i;
        end->buckets[end->level] = SAMPI_SHARD_FINE;
        uint64_t few = end->order.mean > 0.0 || end->level >= 2 ? SAMPI_SHARD_CHUNK : SAMPI_SHARD_FEW;
        if (tokens <= few || end->level == SAMPI_SHARD_LEVELS || !(end->scale > 0.0)) return sampi_ask_runs(row);
        sampi_end_whole_bucket(end);
        if (end->level >= 2) /* this many tokens with similar logits often have few values */
            return sampi_ask_runs_of(row, SAMPI_SHARD_LIST, SAMPI_ASK_HIST);
        row->ask = SAMPI_ASK_HIST;
        if (end->order.mean > 0.0 || end->floor < INFINITY) return SAMPI_WAITS;
        sampi_guess g;
        sampi_guess_open(&g, row);
        double at = sampi_guess_end(&g, end);
        return sampi_ask_ahead(row, &g, at, (double)tokens, (at - (double)i) * (double)SAMPI_SHARD_FINE,
                               SAMPI_SHARD_FINE);
    }
    return SAMP_E_FORMAT;
}

/* Returns the sums (SEGS) of the slice that begins with this token, or NULL if there are none. */
static sampi_seg *sampi_seg_of(const sampi_shard_row *row, samp_token first)
{
    for (size_t i = 0; i < row->n_seg; i++)
        if (row->seg[i].first == (uint32_t)first) return &row->seg[i];
    return NULL;
}

/* Cuts where the end was found: keeps all tokens of the runs before `last`, and `keep` tokens, in order of ids, of the
   runs from `last` to `to`, which have one logit. Adds them to the sums of the slices and of the kept tokens. */
static void sampi_keep_runs(sampi_shard_row *row, uint32_t last, uint32_t to, uint64_t keep)
{
    const bool draws = row->has & SAMPI_ASK_SEGS;
    const float max = draws ? row->draw_max : row->kept.max;
    float *x = row->shard->work.x;
    uint64_t *w = row->shard->work.w;
    row->end.mine = 0;
    for (uint32_t i = 0; i < to; i++) x[i] = sampi_token_at(row->runs, i).logit;
    if (draws) sampi_scale_for_drawer(row, x, to);
    sampi_use()->weights(x, to, max, w, NULL);
    for (uint32_t i = 0; i < to; i++) {
        const samp_token first = sampi_token_at(row->runs, i).id;
        uint64_t n = sampi_run_count(sampi_parcel_entry(row->runs, i));
        if (i >= last && n > keep) n = keep;
        if (i >= last) keep -= n;
        if (i >= last && (size_t)first == row->shard->first) row->end.mine = n;
        if (draws) {
            uint64_t q = n * sampi_envelope(max, x[i]), z = n * w[i];
            sampi_seg *seg = sampi_seg_of(row, first);
            row->q += q;
            row->z += z;
            if (seg) seg->q += q, seg->z += z;
        } else if (row->has_kept) {
            row->kept.n += (size_t)n;
            row->kept.z += n * w[i];
            row->kept.s += n * sampi_weighted(w[i], max, x[i]);
            row->squares_kept += n * sampi_squares(&w[i], 1);
        }
    }
}

/* Returns how many of n tokens of weight w are needed to reach the end, or 0 if they are too few. */
static uint64_t sampi_end_takes(const sampi_end *end, uint64_t w, uint64_t n)
{
    uint64_t by_mass = 1, by_count = end->min_keep > end->count ? end->min_keep - end->count : 1;
    if (end->want > end->mass) {
        if (w == 0) return 0;
        by_mass = (end->want - end->mass + w - 1) / w;
    }
    if (by_count > by_mass) by_mass = by_count;
    return by_mass <= n ? by_mass : 0;
}

/* Is the end among the values of RUNS? Their tokens follow those counted in end->mass and end->count. *all says whether
   they are all tokens of end->population. */
static bool sampi_end_among(sampi_shard_row *row, bool *all)
{
    sampi_end *end = &row->end;
    const sampi_parcel *p = row->runs;
    const uint64_t *weight = row->shard->work.w;
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        row->shard->work.x[i] = sampi_token_at(p, i).logit;
        tokens += sampi_run_count(sampi_parcel_entry(p, i));
    }
    if (p->n) sampi_use()->weights(row->shard->work.x, p->n, row->max, row->shard->work.w, NULL);
    *all = tokens == end->population;
    for (uint32_t i = 0, to; i < p->n; i = to) {
        samp_token_data d = sampi_token_at(p, i);
        uint64_t count = 0;
        for (to = i; to < p->n && sampi_token_at(p, to).logit == d.logit; to++)
            count += sampi_run_count(sampi_parcel_entry(p, to));
        if (to == p->n && !*all) break; /* there may be more tokens with this value */
        uint64_t w = weight[i], takes = sampi_end_takes(end, w, count);
        if (d.logit > end->top) end->top = d.logit;
        end->last = d;
        end->last.id = 0;
        end->ties = takes;
        if (takes) {
            sampi_keep_runs(row, i, to, takes);
            return true;
        }
        end->mass += w * count;
        end->count += count;
        end->population -= count;
        end->after = end->last;
        end->is_after = true;
    }
    row->has &= ~(unsigned)SAMPI_ASK_SEGS;
    row->has_kept = false;
    return false;
}

/* Searches for the end among the bucket's values. */
static int sampi_end_in_runs(sampi_shard_row *row)
{
    const sampi_end *end = &row->end;
    bool all;
    if (sampi_end_among(row, &all)) return SAMPI_KNOWN;
    if (all || row->runs->n < row->runs->room || !end->is_after) return SAMP_E_FORMAT;
    return sampi_ask_runs(row);
}

/* Searches for the end among the values where it was expected. They were sent with the buckets, from which the mass and
   number of the tokens before them follow. */
static bool sampi_end_as_expected(sampi_shard_row *row)
{
    sampi_end *end = &row->end, before = *end;
    bool all;
    end->population = 0;
    for (uint32_t i = 0; i < row->hist->n && i < end->until; i++) {
        const unsigned char *entry = sampi_parcel_entry(row->hist, i);
        uint64_t mass = sampi_wire_get(entry, 8), tokens = sampi_hist_count(entry);
        end->mass += i < end->since ? mass : 0;
        end->count += i < end->since ? tokens : 0;
        end->population += i < end->since ? 0 : tokens;
    }
    bool is_before = end->mass >= end->want && end->count >= end->min_keep;
    if (!is_before && sampi_end_among(row, &all)) return true;
    *end = before;
    row->has &= ~(unsigned)SAMPI_ASK_SEGS;
    row->has_kept = false;
    return false;
}

/* Cuts the slice: keeps the prefix, and the tokens whose logit is at least the floor. */
static void sampi_end_cut(sampi_shard_row *row)
{
    const sampi_end *end = &row->end;
    uint64_t mine = end->mine, ties = end->ties;
    float high, low = sampi_end_interval(end, sampi_side_by_score, 0, &high), floor = sampi_float_up(end->floor);
    float near_high, near_low = sampi_end_interval(end, sampi_side_by_score, -1, &near_high);
    size_t n = 0, kept = 0;
    if (end->floor < (double)low) low = floor;
    size_t m = sampi_collect_between(row, low, high, row->work.x, row->work.id);
    for (size_t i = 0; i < m; i++) {
        float l = row->work.x[i];
        bool keep = (l >= near_low && l < near_high) || (double)l >= end->floor;
        if (!keep && l == end->last.logit)
            keep = mine > 0, mine -= keep;
        else if (!keep)
            keep = sampi_side_by_last(end, l) < 0;
        row->work.x[kept] = l;
        row->work.id[kept] = row->work.id[i];
        kept += keep;
    }
    row->row.n = kept;
    for (size_t i = 0; i < row->n_list; i++) {
        float l = row->list[i].logit;
        int stands = sampi_side_by_last(end, l);
        bool keep = (double)l >= end->floor || stands < 0;
        if (!keep && stands == 0 && ties > 0) ties--, keep = true;
        if (keep) row->list[n++] = row->list[i];
    }
    row->n_list = n;
    row->has &= SAMPI_ASK_TOP | SAMPI_ASK_SEGS;
    if (end->order.mean > 0.0)
        row->max = n ? row->list[0].logit : end->top;
    else
        row->reaches = end->floor < (double)end->last.logit ? floor : end->last.logit;
    row->seeks = false;
    if (!row->has_kept || n == 0 || row->kept.max != row->max || row->kept.z < SAMPI_ONE || row->kept.n < n) return;
    row->sums = row->kept;
    row->sums_of_squares = row->squares_kept;
    row->rest = row->kept.n - n;
    row->has |= SAMPI_ASK_SUMS | SAMPI_ASK_LIST;
}

/* Returns how many tokens the next member keeps, if it is top_k or min_p and all these tokens are in the list. Then the
   exact end of the present cut, which is by logit and keeps the whole list and more, does not matter. Otherwise returns
   0. */
static size_t sampi_next_keeps(const sampi_shard_row *row)
{
    const sampi_sampler *next = sampi_row_member(row, 1);
    const double floor = sampi_next_floor(row);
    const size_t keep = sampi_listed_above(row, floor);
    if (sampi_only_cuts(row) && (sampi_flags_of(next) & SAMPI_TO_K) && !next->u.top_k.ties)
        return (size_t)next->u.top_k.k <= row->n_list ? (size_t)next->u.top_k.k : 0;
    if (!(floor < INFINITY) || keep == row->n_list) return 0;
    const size_t min_keep = sampi_min_keep(next);
    return keep > min_keep ? keep : min_keep;
}

/* Finds the bucket that contains the end among the first buckets, which count all logits. If few tokens are expected
   before the end, the function asks for a list of them instead. */
static int sampi_end_first(sampi_shard_row *row)
{
    sampi_end *end = &row->end;
    sampi_guess g;
    sampi_guess_open(&g, row);
    const double at = sampi_guess_end(&g, end);
    const double tokens = sampi_guess_around(&g, at + 0.5, true) - sampi_guess_around(&g, at - 0.5, true);
    const size_t room = sampi_guess_room(&g, at, tokens);
    int status = sampi_end_narrow(row);
    if (status != SAMPI_WAITS || end->level != 1 || room <= row->n_list) return status;
    end->later = row->ask;
    return sampi_ask_list(row, room);
}

/* Keeps the shortest prefix with the mass `want` and min_keep tokens, and the tokens whose logit is at least the floor
   (INFINITY: no floor). LIST must be known. When the result is SAMPI_KNOWN, the slice is cut. */
static int sampi_find_prefix_end(sampi_shard_row *row, double mean, uint64_t want, uint64_t min_keep, double floor)
{
    sampi_end *end = &row->end;
    const size_t few = sampi_next_keeps(row); /* computed again, because the list may have grown */
    if (few) return sampi_keep_listed(row, few);
    if (!row->seeks) {
        row->seeks = true;
        row->has &= ~(unsigned)SAMPI_ASK_SEGS;
        end->later = 0;
        end->want = want;
        end->min_keep = min_keep > 1 ? min_keep : 1;
        end->floor = floor;
        end->order = sampi_order_from(row->max, mean);
        if (!row->hist) return sampi_end_anew(row);
        if (mean > 0.0) return sampi_end_around(row);
        if (!(floor < INFINITY)) return sampi_end_first(row);
    }
    if (end->later) { /* the listed tokens were not enough */
        row->ask = end->later;
        end->later = 0;
        return SAMPI_WAITS;
    }
    if (row->hist && !(row->runs && sampi_end_as_expected(row))) return sampi_end_narrow(row);
    int known = row->hist ? (int)SAMPI_KNOWN : row->runs ? sampi_end_in_runs(row) : (int)SAMP_E_FORMAT;
    if (known == SAMPI_KNOWN) sampi_end_cut(row);
    return known;
}
