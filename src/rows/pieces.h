/* ---- a row piece by piece ----
   Reads any row as floats, whatever its dtype is (f32, f16, bf16, f64) and whatever is changed in it (biases,
   penalties, masks). So a sampler's loop is written once. A tile is SAMPI_TILE (256) elements. */

/* A walk over a row in pieces of floats:
     sampi_pieces it;
     for (sampi_row_start(&it, row); sampi_row_next_piece(&it);) ... it.x [it.n]: the elements from it.at on, with
     changes.
   If the row's elements are floats, a piece reaches up to the next tile with a changed element, without a copy.
   Otherwise a piece is one tile (SAMPI_TILE elements), converted into buf. `at` is a multiple of SAMPI_TILE. A piece is
   valid until the next one is set. Two more functions walk with this record: sampi_row_next_tile, whose pieces are
   single tiles, and sampi_row_next_logits, which returns single tiles of logits in place of elements. */
typedef struct sampi_pieces {
    const sampi_row *row;
    size_t at, n;
    const float *x;
    size_t passed; /* how many tokens of the row run/writing.h has written to the array */
    float buf[SAMPI_TILE];
} sampi_pieces;

static void sampi_row_start(sampi_pieces *it, const sampi_row *row)
{
    it->row = row;
    it->at = it->n = it->passed = 0;
}

/* Sets the piece that begins with the tile at `at`. */
static void sampi_row_piece_at(sampi_pieces *it, size_t at)
{
    const sampi_row *row = it->row;
    const sampi_change *change = row->work->change;
    size_t c = sampi_row_change_at(row, (samp_token)at), end = at + SAMPI_TILE < row->n ? at + SAMPI_TILE : row->n;
    size_t next = c < row->n_change ? (size_t)change[c].id : row->n; /* the next change */
    it->at = at;
    if (row->x && next >= end) {
        it->x = row->x + at;
        it->n = (next < row->n ? next / SAMPI_TILE * SAMPI_TILE : row->n) - at;
        return;
    }
    row->k->fetch(row->data, row->dtype, row->mask, at, end - at, it->buf);
    for (; c < row->n_change && (size_t)change[c].id < end; c++) it->buf[(size_t)change[c].id - at] = change[c].x;
    it->x = it->buf;
    it->n = end - at;
}

/* Goes to the next piece. False: the row ends here. */
static bool sampi_row_next_piece(sampi_pieces *it)
{
    size_t at = it->at + it->n;
    if (at >= it->row->n) return false;
    sampi_row_piece_at(it, at);
    return true;
}

/* sampi_row_tile_at makes the tile at index `at` the piece of the walk. sampi_row_next_tile goes to the next tile;
   false: the row ends here. */
static void sampi_row_tile_at(sampi_pieces *it, size_t at)
{
    sampi_row_piece_at(it, at);
    if (it->n > SAMPI_TILE) it->n = SAMPI_TILE;
}

static bool sampi_row_next_tile(sampi_pieces *it)
{
    size_t at = it->at + it->n;
    if (at >= it->row->n) return false;
    sampi_row_tile_at(it, at);
    return true;
}

/* Goes to the next tile, and sets it.x to its logits; logits below the row's floor are masked. False: the row ends. */
static SAMPI_HOT bool sampi_row_next_logits(sampi_pieces *it)
{
    const sampi_row *row = it->row;
    if (!sampi_row_next_tile(it)) return false;
    const float floor = row->floor, *x = it->x;
    const size_t n = it->n;
    if (floor > -FLT_MAX) {
        for (size_t i = 0; i < n; i++) it->buf[i] = x[i] < floor ? -INFINITY : x[i];
        it->x = it->buf;
    }
    if (row->r == 1.0f) return true;
    row->k->scale(it->x, n, row->r, row->divided, it->buf);
    it->x = it->buf;
    return true;
}

/* Returns the number of elements x in [floor, below). If floor is -INFINITY, masked elements are counted too. */
static size_t sampi_row_count(const sampi_row *row, float floor, float below)
{
    sampi_pieces it;
    size_t count = 0;
    for (sampi_row_start(&it, row); sampi_row_next_piece(&it);) {
        count += floor >= -FLT_MAX ? row->k->count(it.x, it.n, floor) : it.n;
        if (below <= FLT_MAX) count -= row->k->count(it.x, it.n, below);
    }
    return count;
}

/* Writes the row's tokens to the workspace as an array of candidates, and returns this array. */
static SAMPI_HOT samp_token_data_array sampi_row_array(const sampi_row *row)
{
    samp_token_data_array cur = { row->work->candidate, row->n, -1, false };
    sampi_pieces it;
    for (sampi_row_start(&it, row); sampi_row_next_logits(&it);) {
        const float *l = it.x;
        const int32_t *id = row->id ? row->id + it.at : NULL;
        samp_token_data *d = cur.data + it.at;
        for (size_t i = 0, n = it.n; i < n; i++) {
            const samp_token_data one = { id ? id[i] : (samp_token)(it.at + i), l[i] + 0.0f, 0.0f };
            d[i] = one; /* -0 has become +0 */
        }
    }
    return cur;
}
