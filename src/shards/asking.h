/* ---- shards: asking ----
   A plan (core/plans.h) asks a question about a row whose vocabulary is in slices. Either the facts for the answer are
   known, or all ranks are asked for the missing facts (sampi_must_ask), and the plan waits for the next message. After
   a change of the row some facts still hold; the next member of the chain asks again for the others:

     changes a few logits, or all of them out of order   no fact holds
     temperatures, which keep the order                  the maximum and the smallest logit hold
     a cut by a floor                                     the maximum holds
     a cut within the list                                the list is the whole row, which becomes an array */

/* Asks for those of these facts that are not known yet. Returns false if all are known. The maximum is asked first,
   because sums are relative to it. */
static bool sampi_must_ask(sampi_shard_row *row, unsigned facts)
{
    if (!(row->has & SAMPI_ASK_TOP)) facts = SAMPI_ASK_LIST;
    row->ask = facts & ~row->has;
    size_t most = row->n_list < SAMPI_SHARD_LIST ? SAMPI_SHARD_LIST - row->n_list : 0;
    row->n_asked = row->room - row->n_list < most ? row->room - row->n_list : most;
    return row->ask != 0;
}

/* Returns the largest distance from the mean that a candidate can have. */
static double sampi_full_range(const sampi_shard_row *row, double mean)
{
    double least = row->has & SAMPI_HAS_LEAST ? (double)row->least : -(double)FLT_MAX;
    double range = (double)row->max - least - mean;
    return range > mean ? range : mean;
}

/* Does what sampi_must_ask does for a sampler that may have to search for the end of a prefix by logit: asks for the
   first buckets too. If by_count, tokens without mass count as well. */
static bool sampi_must_ask_for_end(sampi_shard_row *row, unsigned facts, bool by_count)
{
    if (!sampi_must_ask(row, facts)) return false;
    if (row->has & SAMPI_ASK_TOP) {
        double range = sampi_full_range(row, 0.0), most = by_count ? SAMPI_SHARD_FAR : SAMPI_SHARD_RANGE;
        row->ask |= SAMPI_ASK_HIST;
        row->end.order = sampi_order_from(row->max, 0.0);
        sampi_end_within(&row->end, range < most ? range : most, SAMPI_SHARD_COARSE, range <= most);
    }
    return true;
}

/* Asks for the maximum alone. It is sent with the list. */
static bool sampi_must_ask_top(sampi_shard_row *row)
{
    return !(row->has & SAMPI_ASK_TOP) && sampi_must_ask(row, SAMPI_ASK_LIST);
}

/* Asks for the first token in order, which is the list's first entry. */
static bool sampi_must_ask_first(sampi_shard_row *row)
{
    if (row->n_list || !sampi_must_ask(row, SAMPI_ASK_LIST)) return false;
    row->n_asked = 1;
    return true;
}

/* Asks for the list up to the n-th token. */
static int sampi_ask_list(sampi_shard_row *row, size_t n)
{
    if (n > row->room) n = row->room;
    row->has &= ~(unsigned)SAMPI_ASK_LIST;
    row->ask = SAMPI_ASK_LIST;
    row->n_asked = n > row->n_list ? n - row->n_list : 0;
    return SAMPI_WAITS;
}

/* Asks for more tokens of the list. */
static int sampi_ask_more(sampi_shard_row *row)
{
    int status = sampi_ask_list(row, row->n_list + SAMPI_SHARD_CHUNK);
    return row->n_asked ? status : (int)SAMP_E_FORMAT;
}

/* Lists all tokens, for the steps over an array of candidates, which are right for every sampler. */
static int sampi_shard_gather(sampi_shard_row *row)
{
    return sampi_must_ask(row, SAMPI_ASK_LIST) ? (int)SAMPI_WAITS : sampi_ask_more(row);
}

/* Does the list contain all tokens of the row? */
static bool sampi_is_listed(const sampi_shard_row *row) { return (row->has & SAMPI_ASK_LIST) && row->rest == 0; }

/* Keeps only the first n tokens of the list, which then is the whole row. */
static int sampi_keep_listed(sampi_shard_row *row, size_t n)
{
    row->n_list = n;
    row->rest = 0;
    row->has |= SAMPI_ASK_LIST;
    return SAMPI_KNOWN;
}

/* Returns how many tokens of the list have a logit of at least the floor. */
static size_t sampi_listed_above(const sampi_shard_row *row, double floor)
{
    size_t n = 0;
    while (n < row->n_list && (double)row->list[n].logit >= floor) n++;
    return n;
}

static void sampi_sort_list(sampi_shard_row *row)
{
    sampi_sort_part(&SAMPI_BY_LOGIT, row->list, row->n_list, row->n_list, 64);
}

/* Removes masked tokens from the slice. */
static void sampi_drop_masked(sampi_shard_row *row)
{
    if (row->row.n) sampi_row_gather(&row->row, -FLT_MAX);
}

/* Computes the weights of the first tokens of d [n], at most a tile (256), in w [SAMPI_TILE + 16]. Returns how many. */
static size_t sampi_weigh_tile(const sampi_shard_row *row, const samp_token_data *d, size_t n, uint64_t *w)
{
    float x[SAMPI_TILE + 16] = { 0 };
    if (n > SAMPI_TILE) n = SAMPI_TILE;
    for (size_t i = 0; i < n; i++) x[i] = d[i].logit;
    sampi_use()->weights(x, n, row->max, w, NULL);
    return n;
}

/* Returns how many of the n first tokens d, in order, have the mass `want`, but at least min_keep; 0 if all have less.
   Weighs them tile by tile. */
static size_t sampi_prefix_by_tiles(const sampi_shard_row *row, const samp_token_data *d, size_t n, uint64_t want,
                                    size_t min_keep)
{
    uint64_t mass = 0, w[SAMPI_TILE + 16];
    for (size_t at = 0, m; at < n; at += m) {
        m = sampi_weigh_tile(row, d + at, n - at, w);
        for (size_t i = 0; i < m; i++) {
            mass += w[i];
            if (mass >= want && at + i + 1 >= min_keep) return at + i + 1;
        }
    }
    return 0;
}
