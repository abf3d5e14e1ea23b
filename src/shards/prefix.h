/* ---- shards: the search for the end of a prefix ----
   top_k, top_p and typical keep a prefix of an order. These functions find the end of that prefix in a row whose slices
   are on several ranks: they count tokens and masses in ever smaller buckets (HIST), and at last value by value (RUNS).
   sampi_end is the state of the search. The first buckets of an order by logit are asked for together with the list; if
   the row's smallest logit is known, they are no wider than necessary. min_keep together with a floor keeps the longer
   of two prefixes: the buckets mostly decide which one (sampi_floor_side), and then only the end of that one is
   searched for. */

/* Asks for the values in the bucket that contains the end, at most `room` of them, and for these facts. */
static int sampi_ask_runs(sampi_shard_row *row, uint64_t room, unsigned facts)
{
    row->end.room = room < SAMPI_SHARD_CHUNK ? (size_t)room : (size_t)SAMPI_SHARD_CHUNK;
    row->ask = SAMPI_ASK_RUNS | facts;
    return SAMPI_WAITS;
}

/* Begins a search: asks for the counts of candidates in buckets of the distances [0, range]. If range is 0, all
   candidates are equal, and each slice has one run. */
static int sampi_end_start(sampi_shard_row *row, double range, uint32_t buckets, bool is_whole)
{
    sampi_end *end = &row->end;
    sampi_end_within(end, range, buckets, is_whole);
    row->ask = SAMPI_ASK_HIST;
    if (range > 0.0) return SAMPI_WAITS;
    end->population = row->n_list + row->rest;
    end->path[end->level++] = 0;
    return sampi_ask_runs(row, end->population, 0);
}

/* Begins a search over all distances except those at which hardly any token is expected. */
static int sampi_end_anew(sampi_shard_row *row)
{
    const double mean = row->end.order.mean, range = sampi_full_range(row, mean);
    double most = (row->end.min_keep > 1 ? SAMPI_SHARD_FAR : SAMPI_SHARD_RANGE) - mean;
    if (most < mean) most = mean;
    uint32_t buckets = mean > 0.0 ? SAMPI_SHARD_SCORES : SAMPI_SHARD_COARSE;
    return sampi_end_start(row, range < most ? range : most, buckets, range <= most);
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
    if (row->row.n) sampi_row_gather(&row->row, row->reaches);
    row->has &= SAMPI_ASK_TOP;
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
        double range = sampi_full_range(row, end->order.mean);
        /* the last bucket has all tokens beyond it too, or the whole row is in two: begins again, over the row */
        if (!end->is_whole && end->level == 0 && (i + 1 == row->hist->n || range * end->scale < 2.0))
            return sampi_end_start(row, range, SAMPI_SHARD_FINE, true);
        int floor_side = sampi_floor_side(end, end->floor, i);
        if (floor_side > 0) return sampi_floor_cut(row, end->floor);
        if (floor_side < 0) end->floor = INFINITY;
        end->mass = mass;
        end->count = count;
        end->population = tokens;
        end->path[end->level++] = i;
        end->buckets[end->level] = SAMPI_SHARD_FINE;
        if (tokens <= SAMPI_SHARD_CHUNK || end->level == SAMPI_SHARD_LEVELS || !(end->scale > 0.0))
            return sampi_ask_runs(row, tokens, 0);
        /* many tokens with similar logits often have few values */
        if (end->level >= 2) return sampi_ask_runs(row, SAMPI_SHARD_LIST, SAMPI_ASK_HIST);
        row->ask = SAMPI_ASK_HIST;
        return SAMPI_WAITS;
    }
    return SAMP_E_FORMAT;
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

/* Is the end among the values of RUNS? Their tokens follow those counted in end->mass and end->count. *all: are they
   all tokens of end->population? If not, the last value is not counted, as more tokens may have it. */
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
        end->last = d;
        end->last.id = 0;
        end->ties = takes;
        end->mine = 0;
        for (uint32_t k = i; k < to && takes; k++) { /* of equal logits those of the first slices are kept */
            uint64_t n = sampi_run_count(sampi_parcel_entry(p, k)), kept = n < takes ? n : takes;
            if ((size_t)sampi_token_at(p, k).id == row->shard->first) end->mine = kept;
            takes -= kept;
        }
        if (end->ties) return true;
        end->mass += w * count;
        end->count += count;
        end->population -= count;
        end->after = end->last;
        end->is_after = true;
    }
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
    row->has &= SAMPI_ASK_TOP;
    if (!(end->order.mean > 0.0))
        row->reaches = end->floor < (double)end->last.logit ? floor : end->last.logit;
    else if (n)
        row->max = row->list[0].logit;
    else
        row->has = 0; /* the list has none of the kept tokens */
    row->seeks = false;
}

/* Returns how many tokens the next member keeps, if it is top_k or min_p and all these tokens are in the list. Then the
   exact end of the present cut, which is by logit and keeps the whole list and more, does not matter. Otherwise returns
   0. */
static size_t sampi_next_keeps(const sampi_shard_row *row)
{
    const sampi_sampler *next = sampi_row_member(row, 1);
    if (!next || (sampi_flags_of(sampi_row_member(row, 0)) & SAMPI_SELECTS)) return 0;
    if (next->kind == SAMPI_TOP_K && !next->u.top_k.ties)
        return (size_t)next->u.top_k.k <= row->n_list ? (size_t)next->u.top_k.k : 0;
    if (next->kind != SAMPI_MIN_P) return 0;
    const size_t keep = sampi_listed_above(row, (double)row->max + sampi_ln(next->u.cut.p));
    const size_t min_keep = sampi_min_keep(next), kept = keep > min_keep ? keep : min_keep;
    return keep < row->n_list && kept <= row->n_list ? kept : 0;
}

/* Keeps the shortest prefix with the mass `want` and min_keep tokens, and the tokens whose logit is at least the floor
   (INFINITY: no floor). LIST must be known. When the result is SAMPI_KNOWN, the slice is cut. */
static int sampi_find_prefix_end(sampi_shard_row *row, double mean, uint64_t want, uint64_t min_keep, double floor)
{
    sampi_end *end = &row->end;
    const size_t next_keeps = mean > 0.0 ? 0 : sampi_next_keeps(row);
    if (next_keeps) return sampi_keep_listed(row, next_keeps);
    if (!row->seeks) {
        row->seeks = true;
        end->want = want;
        end->min_keep = min_keep > 1 ? min_keep : 1;
        end->floor = floor;
        end->order = sampi_order_from(row->max, mean);
        if (!row->hist) return sampi_end_anew(row);
    }
    if (row->runs) {
        const sampi_end before = *end;
        bool all;
        if (sampi_end_among(row, &all)) {
            sampi_end_cut(row);
            return SAMPI_KNOWN;
        }
        if (!row->hist) {
            const bool more = !all && row->runs->n == row->runs->room && end->is_after;
            return more ? sampi_ask_runs(row, end->population, 0) : (int)SAMP_E_FORMAT;
        }
        *end = before; /* the histogram that came with the runs counts their tokens too */
    }
    return row->hist ? sampi_end_narrow(row) : (int)SAMP_E_FORMAT;
}
