/* ---- shards: reading merged answers ----
   Each function reads a parcel of a merged message into a fact of its row (shards/row.h). Everything is checked first:
   order, bounds, that no logit is above the maximum. Bytes that no rank can have made give an error, and never an index
   out of range. */

/* Reads the list. The entries must come after those in the list, in order, and none may be above the maximum: the array
   and its sums rely on this. */
static bool sampi_take_list(sampi_shard_row *row, const sampi_parcel *p)
{
    uint64_t behind = sampi_wire_get(p->fields, 8);
    if (behind < p->n || behind > row->shard->n_vocab || (p->n < p->room && behind > p->n)) return false;
    for (uint32_t i = 0; i < p->n; i++) {
        samp_token_data d = sampi_token_at(p, i);
        const samp_token_data *last = row->n_list ? &row->list[row->n_list - 1] : NULL;
        if ((size_t)d.id >= row->shard->n_vocab) return false;
        if (last && !sampi_before(&SAMPI_BY_LOGIT, last, &d)) return false;
        if ((row->has & SAMPI_ASK_TOP) && d.logit > row->max) return false;
        row->list[row->n_list++] = d;
    }
    row->rest = behind - p->n;
    row->has |= SAMPI_ASK_LIST;
    if (row->n_list == 0) return row->rest == 0;
    row->max = row->list[0].logit;
    row->has |= SAMPI_ASK_TOP;
    float least = row->rest ? sampi_wire_float(p->fields + 8) : row->list[row->n_list - 1].logit;
    if (least < INFINITY) {
        row->least = least;
        row->has |= SAMPI_HAS_LEAST;
    }
    return !(row->has & SAMPI_HAS_LEAST) ||
           (sampi_is_number(row->least) && row->least <= row->list[row->n_list - 1].logit);
}

/* Reads the sums. There must be at least one token, and a weight as large as the maximum's, because later divisions and
   logarithms rely on it. */
static bool sampi_take_sums(sampi_shard_row *row, const sampi_parcel *p)
{
    sampi_sums *sums = &row->sums;
    sums->n = (size_t)sampi_wire_get(p->fields, 8);
    sums->z = sampi_wire_get(p->fields + 8, 8);
    sums->s = sampi_wire_get(p->fields + 16, 8);
    row->sums_of_squares = sampi_wire_get(p->fields + 24, 8);
    sums->max = row->max;
    row->has |= SAMPI_ASK_SUMS;
    return sums->n >= 1 && sums->n <= row->shard->n_vocab && sums->z >= SAMPI_MAX_WEIGHT;
}

static bool sampi_take_sigma(sampi_shard_row *row, const sampi_parcel *p)
{
    row->sums.n = (size_t)sampi_wire_get(p->fields, 8);
    row->sigma = sampi_wire_get(p->fields + 8, 8);
    row->squares.hi = sampi_wire_get(p->fields + 16, 8);
    row->squares.lo = sampi_wire_get(p->fields + 24, 8);
    row->has |= SAMPI_ASK_SIGMA;
    return row->sums.n >= 1;
}

/* Reads the sums of the slices, one entry for each slice. In a message that no rank has made these sums may wrap
   around; then a loop over them finds nothing, and ends. */
static bool sampi_take_segs(sampi_shard_row *row, const sampi_parcel *p)
{
    row->q = row->z = 0;
    row->n_seg = p->n;
    for (uint32_t i = 0; i < p->n; i++) {
        const unsigned char *entry = sampi_parcel_entry(p, i);
        row->seg[i].first = sampi_wire_u24(entry);
        row->q += row->seg[i].q = sampi_wire_get(entry + 3, 8);
        row->z += row->seg[i].z = sampi_wire_get(entry + 11, 8);
    }
    row->has |= SAMPI_ASK_SEGS;
    return p->n == row->shard->n_ranks;
}

/* Reads a token: 4 bytes of id and 4 bytes of logit. */
static bool sampi_take_token(sampi_shard_row *row, const unsigned char *at)
{
    row->token.id = (samp_token)sampi_wire_u32(at);
    row->token.logit = sampi_wire_float(at + 4);
    return row->token.id >= 0 && (size_t)row->token.id < row->shard->n_vocab && sampi_is_number(row->token.logit) &&
           row->token.logit <= row->max;
}

/* Reads the maximum of adaptive_p's logits. */
static bool sampi_take_top(sampi_shard_row *row, const sampi_parcel *p)
{
    row->draw_max = sampi_wire_float(p->entries);
    return sampi_is_number(row->draw_max);
}

static bool sampi_take_hist(sampi_shard_row *row, const sampi_parcel *p)
{
    row->hist = p;
    return true;
}

/* Reads the values in a bucket. They must be in order, and none may be above the maximum. */
static bool sampi_take_runs(sampi_shard_row *row, const sampi_parcel *p)
{
    samp_token_data last = { -1, INFINITY, 0.0f };
    row->runs = p;
    for (uint32_t i = 0; i < p->n; i++) {
        samp_token_data d = sampi_token_at(p, i);
        if ((size_t)d.id >= row->shard->n_vocab || d.logit > row->max) return false;
        if (i > 0 && !sampi_before(&row->end.order, &last, &d)) return false;
        last = d;
    }
    return true;
}

static bool sampi_take_draw(sampi_shard_row *row, const sampi_parcel *p)
{
    row->drawn = sampi_wire_u32(p->fields);
    row->has |= SAMPI_ASK_DRAW;
    return row->drawn == UINT32_MAX || sampi_take_token(row, p->fields + 4);
}

static bool sampi_take_reach(sampi_shard_row *row, const sampi_parcel *p)
{
    row->reached = sampi_wire_get(p->fields, 8);
    row->has |= SAMPI_ASK_REACH;
    return sampi_take_token(row, p->fields + 8);
}

static bool sampi_take_race(sampi_shard_row *row, const sampi_parcel *p)
{
    row->has |= SAMPI_ASK_RACE;
    return sampi_take_token(row, p->fields + 8);
}

/* Reads a parcel into the facts of its row. Returns false if no rank would send it. */
static bool sampi_take_parcel(sampi_shard_row *row, const sampi_parcel *p)
{
    switch (p->kind) {
#define SAMPI_PARCEL_TAKE(id, fields, entry, entries, number, zero, items, name, room) \
    case SAMPI_PARCEL_##id: return sampi_take_##name(row, p);
        SAMPI_PARCELS(SAMPI_PARCEL_TAKE)
#undef SAMPI_PARCEL_TAKE
        default: return false;
    }
}
