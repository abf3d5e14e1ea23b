/* ---- watermarks on a row ----
   These functions give the same results as the apply functions, but work directly on a row of logits. Gumbel's search
   for the shortest time goes by tiles, the one with the most weight first, as in rows/selecting.h; in other tiles only
   tokens whose word could still win are tested. A draw without the watermark is that of dist. SynthID copies the row's
   tokens first, SBW changes the logits in place. */

/* Returns the token id of element i of the row. If the row is a view of an array, its ids are indices in that array. */
static samp_token sampi_mark_id(const sampi_row *row, size_t i)
{
    samp_token id = sampi_row_id_at(row, i);
    return row->array ? row->array->data[id].id : id;
}

/* Computes the time of element i of a tile, unless its weight is 0. */
static inline void sampi_mark_run_at(sampi_mark_race *race, const sampi_pieces *it, float max, size_t i)
{
    const sampi_row *row = it->row;
    if (it->x[i] < row->floor) return;
    const float l = sampi_row_logit_of(row, it->x[i]);
    const uint64_t w = sampi_weight(max, l);
    if (w) sampi_mark_run(race, l, sampi_mark_id(row, it->at + i), w, it->at + i);
}

/* Computes the times of those tokens of tile t that may still win. No weight is more than 2^14 times the tile's sum of
   envelopes q. In units of 2^-24, 1 - u is at least 1, and at least 2^24 - 1 minus the upper 24 bits of the token's
   word. So only tokens with words of at least `least` can win. */
static void sampi_mark_tile(sampi_mark_race *race, sampi_pieces *it, float max, size_t t, uint64_t sum)
{
    const sampi_row *row = it->row;
    const double most = race->time * (double)sum * 274877906944.0 * (1.0 + 1.0 / 549755813888.0); /* 2^38 */
    if (most < 1.0) return;
    const uint32_t least = most < 16777215.0 ? (16777215u - (uint32_t)most) << 8 : 0;
    sampi_row_tile_at(it, t * SAMPI_TILE);
    if (sampi_row_is_compact(row) || row->array) {
        for (size_t i = 0; i < it->n; i++)
            if (sampi_word(&race->words, sampi_mark_id(row, it->at + i)) >= least)
                sampi_mark_run_at(race, it, max, i);
        return;
    }
    int32_t hit[SAMPI_TILE];
    size_t hits = row->k->marks(race->words.counter, race->words.key, (uint32_t)it->at / 4, it->n, least, hit);
    for (size_t k = 0; k < hits; k++) sampi_mark_run_at(race, it, max, (size_t)hit[k]);
}

static int sampi_fast_watermark(sampi_row *row, sampi_sampler *s)
{
    uint32_t context[64];
    uint64_t *tile = row->work->sum;
    sampi_mark_race race;
    sampi_pieces it;
    size_t first = 0;
    if (!sampi_mark_begin(s, context)) return sampi_fast_dist(row, s);
    float max = sampi_row_max(row);
    (void)sampi_row_envelope(row, max, tile);
    for (size_t t = 1; t < sampi_row_n_tiles(row->n); t++)
        if (tile[t] > tile[first]) first = t;
    sampi_mark_start(&race, s, context, s->u.mark.is_behind);
    sampi_row_start(&it, row);
    sampi_mark_tile(&race, &it, max, first, tile[first]);
    tile[first] = 0;
    for (size_t t = 0; t < sampi_row_n_tiles(row->n); t++)
        if (tile[t]) sampi_mark_tile(&race, &it, max, t, tile[t]);
    row->token = sampi_row_id_at(row, race.index);
    return SAMP_OK;
}

/* p and the random words use the memory of w, 12 bytes for each token. */
static int sampi_fast_synthid(sampi_row *row, sampi_sampler *s)
{
    uint32_t context[64];
    if (!sampi_mark_begin(s, context)) return sampi_fast_dist(row, s);
    sampi_row_compact(row);
    double *p = (double *)(void *)row->work->w, factor[2] = { 1.0, 1.0 };
    uint32_t *word = (uint32_t *)(void *)(p + row->n), depth = (uint32_t)s->u.mark.depth;
    sampi_words words;
    sampi_words_of(&words, s->u.mark.key[0], context, (uint32_t)s->u.mark.width);
    for (size_t i = 0; i < row->n; i++) {
        p[i] = sampi_exp(row->top, row->x[i]);
        word[i] = sampi_word(&words, sampi_mark_id(row, i));
    }
    for (uint32_t bit = 0; bit < depth;
         bit++) { /* a layer's factors are applied while the next layer's sums are computed */
        sampi_layer layer = { 0, 0 };
        for (size_t i = 0; i < row->n; i++) {
            if (bit) p[i] *= factor[word[i] >> (bit - 1) & 1];
            uint64_t whole = (uint64_t)p[i];
            layer.all += whole;
            layer.with += whole & (0 - (uint64_t)(word[i] >> bit & 1));
        }
        sampi_layer_factors(&layer, factor);
    }
    for (size_t i = 0; i < row->n; i++)
        row->work->x[i] = sampi_layer_logit(row->top, p[i] * factor[word[i] >> (depth - 1) & 1]);
    int status = sampi_row_scan(row);
    return status ? status : sampi_fast_dist(row, s);
}

static SAMPI_COLD int sampi_fast_sbw(sampi_row *row, sampi_sampler *s)
{
    uint32_t context[64];
    sampi_colours colours;
    const float delta = s->u.mark.delta;
    if (!sampi_mark_begin(s, context)) return SAMP_OK;
    if (!sampi_row_is_compact(row)) sampi_row_flatten(row);
    sampi_colours_of(&colours, &s->u.mark, context);
    float *x = (float *)(uintptr_t)row->x;
    const bool has_ids = sampi_row_is_compact(row) || row->array;
    if (!has_ids) row->k->tint(&colours, 0, row->n, delta, x);
    for (size_t i = 0; has_ids && i < row->n; i++)
        if (!sampi_masked(x[i]) && sampi_is_green(&colours, (uint32_t)sampi_mark_id(row, i)))
            x[i] = sampi_green_logit(x[i], delta);
    return sampi_row_scan(row);
}
