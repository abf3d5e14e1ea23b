/* ---- selection on a row: greedy, dist, gumbel, adaptive_p ----
   Each of these functions selects the token that the sampler's apply function would select. dist sums the envelope (an
   integer bound q of each weight) by tiles of 256 tokens, then finds the tile of the draw, then the token. gumbel is a
   race in which the smallest time wins; it begins with the tile of the most weight, so that most other tokens cannot
   win any more. adaptive_p writes its logits to the workspace, beside the row, and draws from them. */

/* Applies greedy: selects the token with the largest logit; of equal ones that with the smallest id. */
static int sampi_fast_greedy(sampi_row *row, sampi_sampler *s)
{
    sampi_row best = *row; /* a copy, because log-probabilities are computed from the row */
    size_t i = 0;
    (void)s;
    sampi_row_gather_first(&best, 1);
    while (best.x[i] != best.top) i++;
    row->token = best.id[i];
    return SAMP_OK;
}

/* Selects the token of a replay, which the row need not have. */
static int sampi_fast_replay(sampi_row *row, sampi_sampler *s)
{
    row->token = sampi_replay_token(s);
    return row->token < 0 ? SAMP_E_EMPTY : SAMP_OK;
}

/* Computes for each tile of 256 tokens the sum of the envelope q (an integer bound of the weight) of its tokens;
   returns the sum of all tiles. */
static uint64_t sampi_row_envelope(const sampi_row *row, float max, uint64_t *tile)
{
    const float floor = sampi_envelope_floor(row->r, max, row->floor); /* computed once for all pieces */
    sampi_pieces it;
    uint64_t total = 0;
    for (sampi_row_start(&it, row); sampi_row_next_piece(&it);)
        row->k->envelope(it.x, it.n, row->r, max, floor, tile + it.at / SAMPI_TILE);
    for (size_t t = 0; t < sampi_row_n_tiles(row->n); t++) total += tile[t];
    return total;
}

#ifdef SAMPLING_GUMBEL_DECLARED
/* Computes the random times of those tokens of a tile that may still win gumbel's race, which the smallest time wins.
   It applies sampi_race_run's first test to the whole tile: if h are the upper 32 bits of a token's random number, 1 -
   u > ~h / 2^32, and no weight of the tile is more than 2^14 times the sum of the tile's q. */
static void sampi_row_race_tile(sampi_race *race, sampi_pieces *it, size_t t, uint64_t sum)
{
    const sampi_row *row = it->row;
    const uint32_t key[2] = { (uint32_t)race->seed, (uint32_t)(race->seed >> 32) };
    const uint32_t counter[3] = { (uint32_t)race->position, (uint32_t)(race->position >> 32), race->stream };
    const double most = race->time * (double)sum * 70368744177664.0 * (1.0 + 1.0 / 549755813888.0); /* 2^46 */
    int32_t hit[SAMPI_TILE], room[SAMPI_TILE];
    const int32_t *id = sampi_row_is_compact(row) ? row->id + t * SAMPI_TILE : NULL;
    sampi_row_tile_at(it, t * SAMPI_TILE);
    if (row->array) { /* a view of an array has indices in place of ids */
        for (size_t i = 0; i < it->n; i++) room[i] = row->array->data[sampi_row_id_at(row, it->at + i)].id;
        id = room;
    }
    size_t hits = row->k->race(counter, key, id, (int32_t)it->at, it->n,
                               most < 4294967295.0 ? (uint32_t)most : UINT32_MAX, hit);
    for (size_t k = 0; k < hits; k++) {
        size_t i = (size_t)hit[k];
        if (it->x[i] < row->floor) continue;
        sampi_race_run(race, sampi_row_logit_of(row, it->x[i]), id ? id[i] : (int32_t)(it->at + i), it->at + i);
    }
}

/* Runs a race over a row. It begins with the tile of the most weight, whose winner has a short time, so that few other
   tokens need to be computed. */
static void sampi_row_race_row(const sampi_row *row, sampi_race *race)
{
    uint64_t *tile = row->work->sum;
    size_t first = 0;
    sampi_pieces it;
    (void)sampi_row_envelope(row, race->max, tile);
    for (size_t t = 1; t < sampi_row_n_tiles(row->n); t++)
        if (tile[t] > tile[first]) first = t;
    sampi_row_start(&it, row);
    sampi_row_race_tile(race, &it, first, tile[first]);
    tile[first] = 0;
    for (size_t t = 0; t < sampi_row_n_tiles(row->n); t++)
        if (tile[t]) sampi_row_race_tile(race, &it, t, tile[t]);
}

/* Applies gumbel: selects the winner of its race, the token with the smallest random time. */
static int sampi_fast_gumbel(sampi_row *row, sampi_sampler *s)
{
    sampi_race race = sampi_race_of(s, sampi_row_max(row));
    sampi_row_race_row(row, &race);
    row->token = sampi_row_id_at(row, race.index);
    return SAMP_OK;
}
#endif

/* Draws the same token as sampi_draw (>>selection), by rejection. It proposes a token with probability proportional to
   the integer q >= w / 2^14, accepts it with probability w / (2^14 q), and otherwise proposes again. The proposed token
   is the first at which the running sum of q exceeds a random number; the sums of tiles lead to its tile. */
static int sampi_fast_dist(sampi_row *row, sampi_sampler *s)
{
    uint64_t *tile = row->work->sum, random[2];
    float max = sampi_row_max(row);
    uint64_t total = sampi_row_envelope(row, max, tile);
    sampi_pieces it;
    sampi_row_start(&it, row);
    for (uint32_t attempt = 0;; attempt++) {
        sampi_random(s, attempt, random);
        uint64_t left = sampi_mulhi(random[0], total), q;
        size_t t = 0, i = 0;
        while (tile[t] <= left) left -= tile[t++];
        sampi_row_tile_at(&it, t * SAMPI_TILE);
        for (;; i++) {
            q = it.x[i] >= row->floor ? sampi_envelope(max, sampi_row_logit_of(row, it.x[i])) : 0;
            if (q > left) break;
            left -= q;
        }
        row->token = sampi_row_id_at(row, it.at + i);
        if (sampi_mulhi(random[1], q << 14) < sampi_weight(max, sampi_row_logit_of(row, it.x[i]))) return SAMP_OK;
    }
}

/* Selects a token by adaptive_p. The sampler's new logits are written to the memory of w, as a row of the same shape,
   from which dist draws. They depend on p, a float computed from the exact sum, so an estimate is not enough. */
static int sampi_fast_adaptive_p(sampi_row *row, sampi_sampler *s)
{
    if (s->u.adaptive.target < 0.0f) return sampi_fast_dist(row, s);
    if (!row->x || row->r != 1.0f || row->n_change) sampi_row_compact(row);
    double *e = (double *)(void *)row->work->w, z = (double)row->k->weights(row->x, row->n, row->top, NULL, e);
    float *l = (float *)(void *)e, aim = sampi_adaptive_p_aim(&s->u.adaptive);
    sampi_pieces it;
    for (sampi_row_start(&it, row);
         sampi_row_next_tile(&it);) { /* all steps for a tile while it is in the CPU's cache */
        float *to = l + it.at;
        row->k->probs(it.x, e + it.at, it.n, row->top, z, to);
        row->k->adapt(to, it.n, 1.0f, aim);
        bool is_full = row->k->count(it.x, it.n, -FLT_MAX) == it.n;
        for (size_t i = 0; i < it.n && !is_full; i++)
            if (sampi_masked(it.x[i])) to[i] = -INFINITY;
    }
    sampi_row adapted =
        *row; /* scanning it overwrites the maxima of the dense row's lines, which are no longer used */
    sampi_row_set_tokens(&adapted, l, row->id, row->n);
    int status = sampi_row_scan(&adapted);
    if (!status) status = sampi_fast_dist(&adapted, s);
    if (status) return status;
    row->token = adapted.token;
    s->now.pending = row->array ? row->array->data[row->token].id : row->token;
    s->now.pending_p = (float)(sampi_exp(row->top, row->x[sampi_row_find_id(row, row->token)]) / z);
    *row = adapted; /* samp_apply writes these logits to the array */
    return SAMP_OK;
}
