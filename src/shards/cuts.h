/* ---- shards: the steps of truncations ----
   top_k, top_p, typical, min_p, top_a and its kin, xtc, tail_free. If a truncation keeps no more than the list of
   first candidates holds, the list is its answer, and all that is left of the row. Else each rank cuts its slice where
   the whole row is cut: at a floor, which is a logit, or at the end of a prefix (shards/prefix.h). */

/* Up to 1,024 are a list of k. More are a prefix of k tokens without regard to mass. */
static int sampi_shard_top_k(sampi_shard_row *row, sampi_sampler *s)
{
    size_t k = (size_t)s->u.top_k.k;
    if (s->u.top_k.ties) return sampi_shard_gather(row, s); /* how many they are no slice knows */
    if (k <= row->n_list) return sampi_keep_listed(row, k);
    if (k <= SAMPI_SHARD_ROOM && (!(row->has & SAMPI_ASK_LIST) || k < row->n_list + row->rest))
        return sampi_ask_list(row, k);
    if (sampi_lacks_for_end(row, SAMPI_ASK_LIST, true)) return SAMPI_STEP_WAITS;
    if (row->n_list + row->rest <= k) return 0;
    return sampi_seek(row, 0.0, 0, k, INFINITY);
}

/* Z says which mass is wanted. The list has it, or the buckets that came with it say where it is reached. */
static int sampi_shard_top_p(sampi_shard_row *row, sampi_sampler *s)
{
    if (sampi_lacks_for_end(row, SAMPI_ASK_LIST | SAMPI_ASK_SUMS, s->u.cut.min_keep > SAMPI_SHARD_LIST))
        return SAMPI_STEP_WAITS;
    size_t min_keep = s->u.cut.min_keep < row->sums.n ? s->u.cut.min_keep : row->sums.n;
    uint64_t want = sampi_mass_of(sampi_share(s->u.cut.p), row->sums.z);
    size_t keep = sampi_prefix_by_tiles(row, row->list, row->n_list, want, min_keep);
    if (keep) return sampi_keep_listed(row, keep);
    return sampi_seek(row, 0.0, want, min_keep, INFINITY);
}

/* How many are listed. Of k tokens with a share p of the mass each of those above them, which typical leaves out, has
   as much as any; so they are among the first k / p. If that are too many for 4 KiB, the list is a short one, with half
   as many buckets: the k come in another round. */
static void sampi_typical_asks(sampi_shard_row *row, const sampi_sampler *s)
{
    const double enough = (double)SAMPI_SHARD_LIST / (double)s->u.cut.p;
    const bool is_short = !(enough <= (double)SAMPI_SHARD_MOST);
    const size_t want = is_short ? (size_t)SAMPI_SHARD_FIRST : (size_t)enough;
    row->n_asked = want > row->n_list ? want - row->n_list : 0;
    if (is_short && (row->ask & SAMPI_ASK_HIST)) {
        row->end.buckets[0] /= 2;
        row->end.scale *= 0.5;
    }
}

/* Of d [n], in order, those that hold the mass become the list; 0: there are others. */
static size_t sampi_list_prefix(sampi_shard_row *row, samp_token_data *d, size_t n, uint64_t want, size_t min_keep)
{
    size_t keep = sampi_prefix_by_tiles(row, d, n, want, min_keep);
    if (keep == 0) return 0;
    memcpy(row->list, d, keep * sizeof *d);
    row->n_list = keep;
    sampi_sort_list(row);
    return keep;
}

/* Those that typical keeps, if they are among the listed ones; 0: others may be. Those that are not listed come behind
   the last listed one, if that lies below the mean. */
static size_t sampi_typical_listed(sampi_shard_row *row, const sampi_order *order, uint64_t want, size_t min_keep)
{
    samp_token_data *d = (samp_token_data *)(void *)row->shard->work.w, last = row->list[row->n_list - 1];
    size_t n = 0;
    if (order->max - (double)last.logit - order->mean < 0.0) return 0;
    memcpy(d, row->list, row->n_list * sizeof *d);
    sampi_sort_part(order, d, row->n_list, row->n_list, 64);
    while (n < row->n_list && !sampi_before(order, &last, &d[n])) n++;
    return sampi_list_prefix(row, d, n, want, min_keep);
}

/* The same of those that are near the mean, which have come. */
static size_t sampi_typical_near(sampi_shard_row *row)
{
    samp_token_data *d = (samp_token_data *)(void *)row->shard->work.w;
    for (uint32_t i = 0; i < row->near->n; i++) d[i] = sampi_token_at(row->near, i);
    return sampi_list_prefix(row, d, row->near->n, row->end.want, row->end.min_keep);
}

/* Z and S give the mean, from which the distances of the order are taken. Buckets of these can't be asked for before,
   but those by logit, which come along, tell where to look. */
static int sampi_shard_typical(sampi_shard_row *row, sampi_sampler *s)
{
    if (sampi_lacks_for_end(row, SAMPI_ASK_LIST | SAMPI_ASK_SUMS, s->u.cut.min_keep > SAMPI_SHARD_LIST)) {
        sampi_typical_asks(row, s);
        return SAMPI_STEP_WAITS;
    }
    size_t min_keep = s->u.cut.min_keep < row->sums.n ? s->u.cut.min_keep : row->sums.n;
    uint64_t want = sampi_mulhi(sampi_share(s->u.cut.p), row->sums.z) + 1;
    double mean = (double)row->sums.s / (double)row->sums.z;
    const sampi_order order = sampi_order_from(row->max, mean);
    size_t keep = row->near    ? sampi_typical_near(row)
                  : row->seeks ? 0
                               : sampi_typical_listed(row, &order, want, min_keep);
    if (keep) return sampi_keep_listed(row, keep);
    return sampi_seek(row, mean, want, min_keep, INFINITY);
}

/* Keep what reaches the floor, but min_keep tokens at least. LIST is known. */
static int sampi_shard_floor(sampi_shard_row *row, double floor, size_t min_keep)
{
    const size_t keep = sampi_listed_above(row, floor);
    if (min_keep > row->n_list + row->rest) min_keep = row->n_list + (size_t)row->rest;
    if (min_keep <= row->n_list && keep < row->n_list)
        return sampi_keep_listed(row, keep > min_keep ? keep : min_keep ? min_keep : 1);
    if (min_keep > row->n_list) return sampi_seek(row, 0.0, 0, min_keep, floor);
    return sampi_floor_cut(row, floor);
}

/* LIST and what else is needed, with the first buckets if min_keep may end behind the list. */
static bool sampi_lacks_for_floor(sampi_shard_row *row, unsigned facts, const sampi_sampler *s)
{
    if (sampi_min_keep(s) > SAMPI_SHARD_LIST) return sampi_lacks_for_end(row, facts, true);
    return sampi_lacks(row, facts);
}

/* The maximum gives the floor, so that what it leaves is known with the first message. Beside the list go SEGS of it,
   if the draw is next, else SUMS: should more than the list be left, the next round is the draw, or the next one's. */
static int sampi_shard_min_p(sampi_shard_row *row, sampi_sampler *s)
{
    double floor = (double)row->max + sampi_ln(s->u.cut.p);
    if ((row->has & SAMPI_ASK_TOP) && (double)row->reaches >= floor) return 0;
    if (sampi_lacks_for_floor(row, SAMPI_ASK_LIST, s)) {
        if (row->ask != SAMPI_ASK_LIST || !(row->has & SAMPI_ASK_TOP)) return SAMPI_STEP_WAITS;
        row->has &= ~(unsigned)SAMPI_ASK_SUMS;
        row->ask |= sampi_draws_from(row, row->max) ? SAMPI_ASK_SEGS : SAMPI_ASK_SUMS;
        row->ahead = sampi_float_up(floor);
        return SAMPI_STEP_WAITS;
    }
    return sampi_shard_floor(row, floor, sampi_min_keep(s));
}

/* top_a, p_less, p_less_norm, epsilon, eta: a floor that is a function of sums, in the doubles of sampi_sums_floor
   everywhere. */
static int sampi_shard_by_sums(sampi_shard_row *row, sampi_sampler *s)
{
    if (sampi_lacks_for_floor(row, SAMPI_ASK_LIST | SAMPI_ASK_SUMS, s)) return SAMPI_STEP_WAITS;
    double ln_p = sampi_ln(s->u.cut.p), n = (double)row->sums.n, z = (double)row->sums.z;
    double more = (double)(sampi_takes_squares(s->kind) ? row->sums_of_squares : row->sums.s);
    double floor = sampi_sums_floor(s->kind, ln_p, row->max, n, z, more);
    return sampi_shard_floor(row, floor, sampi_min_keep(s));
}

/* What reaches the threshold begins the order. Where it may go on behind the list, it is counted. */
static int sampi_shard_xtc(sampi_shard_row *row, sampi_sampler *s)
{
    uint64_t random[2];
    sampi_random(s, 0, random);
    if (s->u.xtc.p < 1.0f && random[0] >= sampi_share(s->u.xtc.p)) return 0;
    if (sampi_lacks(row, SAMPI_ASK_LIST | SAMPI_ASK_SUMS)) return SAMPI_STEP_WAITS;
    uint64_t mass = sampi_xtc_mass(row, s), reached = 0;
    while (reached < row->n_list && sampi_weight(row->max, row->list[reached].logit) >= mass) reached++;
    samp_token_data last = row->list[reached ? reached - 1 : 0];
    size_t listed = reached ? (size_t)reached - 1 : 0;
    if (reached == row->n_list) {
        if (sampi_lacks(row, SAMPI_ASK_REACH)) return SAMPI_STEP_WAITS;
        if (row->reached < reached) return SAMP_E_FORMAT;
        reached = row->reached;
        last = row->token;
        listed = row->n_list;
    }
    row->has &= ~(unsigned)SAMPI_ASK_REACH;
    if (reached < 2 || row->sums.n - (reached - 1) < s->u.xtc.min_keep) return 0;
    float floor = sampi_reach_floor(row, mass);
    for (size_t i = 0; i < row->row.n; i++)
        if (row->row.x[i] >= floor && row->row.id[i] != last.id) row->work.x[i] = -INFINITY;
    sampi_drop_masked(row);
    memmove(row->list, row->list + listed, (row->n_list - listed) * sizeof *row->list);
    row->n_list -= listed;
    row->max = last.logit;
    row->has &= SAMPI_ASK_TOP;
    return 0;
}

/* To sort by id. */
static double sampi_id_score(const sampi_order *order, const samp_token_data *d)
{
    (void)order;
    return (double)d->id;
}

/* The fast path's cut of a head, on what is listed; false: more must be. */
static bool sampi_tail_listed(sampi_shard_row *row, const sampi_sampler *s)
{
    const sampi_order by_id = { sampi_id_score, 0.0, 0.0 };
    sampi_row look = row->row;
    if (row->n_list > SAMPI_SHARD_TAIL) return false;
    sampi_sort_part(&by_id, row->list, row->n_list, row->n_list, 64);
    for (size_t i = 0; i < row->n_list; i++) {
        row->shard->work.x[i] = row->list[i].logit;
        row->shard->work.id[i] = row->list[i].id;
    }
    look.k = sampi_use();
    look.work = &row->shard->work;
    sampi_set_tokens(&look, row->shard->work.x, row->shard->work.id, row->n_list);
    look.top = row->max;
    bool cut = sampi_tail_cut(&look, s, row->max, (size_t)row->rest);
    if (cut) row->n_list = look.n;
    for (size_t i = 0; i < row->n_list && cut; i++) {
        row->list[i].id = look.id[i];
        row->list[i].logit = look.x[i];
    }
    sampi_sort_list(row);
    return cut;
}

/* It needs the order itself, of as many as its curve bends over: the list grows until the cut lies within it. */
static int sampi_shard_tail_free(sampi_shard_row *row, sampi_sampler *s)
{
    if (sampi_lacks(row, SAMPI_ASK_LIST)) return SAMPI_STEP_WAITS;
    return sampi_tail_listed(row, s) ? sampi_keep_listed(row, row->n_list) : sampi_ask_more(row);
}
