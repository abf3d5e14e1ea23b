/* ---- from dense to compact ----
   Copies the tokens that reach a threshold, ids ascending, to the workspace; the row then consists of the copy. Only
   lines whose maximum reaches the threshold are read: for top_k 40 about 40 of the 8,016 lines of 128,256 tokens. The
   room also cuts a compact row to a number of tokens, with ties by id. */

/* Returns a threshold that at least `want` elements of a dense row reach, elements with a changed value (work->change)
   not counted: so many lines have a maximum that reaches it. If `want` is small, the lines are folded into m sets, each
   with the maximum of its lines, and the search compares sets. m is several times `want`, so that few sets hold two of
   the largest maxima. `line` has memory to be filled up to a multiple of m. */
static float sampi_row_bound(const sampi_row *row, size_t want)
{
    float *line = row->work->line;
    sampi_values values = { row->k, line, NULL, sampi_row_n_lines(row->n), row->top };
    size_t m = 64;
    if (want >= row->n) return -FLT_MAX;
    if (want == 1 && row->n_change == 0) return row->top;
    want += row->n_change; /* each changed element may have been the maximum of a line */
    while (m < 4 * want) m *= 2;
    if (m < values.n) {
        while (values.n % m) line[values.n++] = -INFINITY;
        row->k->fold(line, values.n, row->work->scratch, m);
        values.x = row->work->scratch;
        values.n = m;
    }
    return sampi_find_value(&values, want, want + want / 4 + 4, 1);
}

/* Merges the changed values (work->change) that reach the floor into the m collected elements, which are sorted by id;
   the old values of these elements are removed. Returns the new number of elements. */
static size_t sampi_row_merge_changes(const sampi_row *row, size_t m, float floor)
{
    const sampi_change *change = row->work->change;
    float *x = row->work->x;
    int32_t *id = row->work->id;
    size_t kept = 0, more = 0;
    for (size_t i = 0, c = 0; i < m; i++) { /* without the old values */
        while (c < row->n_change && change[c].id < id[i]) c++;
        if (c < row->n_change && change[c].id == id[i]) continue;
        x[kept] = x[i];
        id[kept++] = id[i];
    }
    for (size_t c = 0; c < row->n_change; c++) more += change[c].x >= floor;
    size_t to = kept + more;
    m = to;
    for (size_t c = row->n_change; c > 0; c--) { /* merges from the end on: the memory behind it is free */
        const sampi_change *next = &change[c - 1];
        if (!(next->x >= floor)) continue;
        while (kept > 0 && id[kept - 1] > next->id) {
            to--;
            kept--;
            x[to] = x[kept];
            id[to] = id[kept];
        }
        to--;
        x[to] = next->x;
        id[to] = next->id;
    }
    return m;
}

/* Collects the elements that reach the floor from these lines, as the kernel `pick` does, but for rows that are not
   floats: lines are converted until a tile is full. Returns the number of elements. */
static size_t sampi_row_pick_row(const sampi_row *row, const int32_t *line, size_t n_lines, float floor)
{
    sampi_work *work = row->work;
    float x[SAMPI_TILE];
    int32_t id[SAMPI_TILE];
    size_t m = 0, n = 0;
    for (size_t h = 0; h < n_lines; h++) {
        size_t at = (size_t)line[h] * SAMPI_LINE, len = row->n - at < SAMPI_LINE ? row->n - at : SAMPI_LINE;
        row->k->fetch(row->data, row->dtype, row->mask, at, len, x + n);
        for (size_t i = 0; i < SAMPI_LINE; i++) id[n + i] = (int32_t)(at + i);
        n += len;
        if (n < SAMPI_TILE && h + 1 < n_lines) continue;
        m += row->k->collect(x, id, 0, n, floor, INFINITY, work->x + m, work->id + m);
        n = 0;
    }
    return m;
}

/* Keeps the tokens with an element x >= floor; at least one x must reach the floor. The row becomes compact. */
static void sampi_row_gather(sampi_row *row, float floor)
{
    sampi_work *work = row->work;
    float top = sampi_row_logit_of(row, row->top);
    bool has_changes = row->n_change > 0;
    size_t m;
    if (floor < row->floor) floor = row->floor;
    if (sampi_row_is_compact(row))
        m = row->k->collect(row->x, row->id, 0, row->n, floor, INFINITY, work->x, work->id);
    else { /* reads only lines whose maximum reaches the floor; collect writes their maxima and numbers to w */
        size_t n = sampi_row_n_lines(row->n);
        float *maximum = (float *)(void *)work->w;
        int32_t *line = (int32_t *)(void *)(maximum + n + 16);
        n = row->k->collect(work->line, NULL, 0, n, floor, INFINITY, maximum, line);
        m = row->x ? row->k->pick(row->x, row->n, line, n, floor, work->x, work->id)
                   : sampi_row_pick_row(row, line, n, floor);
    }
    if (has_changes) m = sampi_row_merge_changes(row, m, floor);
    if (row->r != 1.0f) row->k->scale(work->x, m, row->r, row->divided, work->x);
    sampi_row_set_tokens(row, work->x, work->id, m);
    row->top = top; /* the largest element is kept, unless it has another value (change) */
    if (has_changes) (void)sampi_row_scan(row);
}

/* Makes a dense row compact, with all its unmasked tokens. A compact row stays as it is. */
static void sampi_row_compact(sampi_row *row)
{
    if (!sampi_row_is_compact(row)) sampi_row_gather(row, -FLT_MAX);
}

/* Makes a dense row compact, with at least its first `want` tokens in order (logit descending). A compact row stays as
   it is. */
static void sampi_row_gather_first(sampi_row *row, size_t want)
{
    if (!sampi_row_is_compact(row))
        sampi_row_gather(row, sampi_row_unscale(row, sampi_row_logit_of(row, sampi_row_bound(row, want))));
}

/* Keeps the tokens of a dense row with an element x >= floor. If an eighth of the lines has such a token, the tokens
   are not copied: the row gets a floor instead, below which elements count as masked. At least row->n / 128 tokens
   reach this floor. */
static void sampi_row_raise_floor(sampi_row *row, float floor)
{
    size_t lines = sampi_row_n_lines(row->n);
    if (row->k->count(row->work->line, lines, floor) < lines / 8 + row->n_change)
        sampi_row_gather(row, floor);
    else if (floor > row->floor)
        row->floor = floor;
}

/* Returns the row's largest logit. If the row has changes, the tokens that may be the largest are gathered in the
   workspace, which is free while the row is dense. */
static float sampi_row_max(const sampi_row *row)
{
    if (row->n_change == 0) return sampi_row_logit_of(row, row->top);
    sampi_row best = *row;
    sampi_row_gather_first(&best, 1);
    return best.top;
}

/* Are all tokens of a dense row masked? If more lines have an unmasked token than the row has changes, one token is
   surely unmasked; otherwise the row's maximum decides. */
static bool sampi_row_is_all_masked(const sampi_row *row)
{
    size_t lines = sampi_row_n_lines(row->n), alive = 0;
    for (size_t i = 0; i < lines && alive <= row->n_change; i++) alive += !sampi_masked(row->work->line[i]);
    return alive <= row->n_change && sampi_masked(sampi_row_max(row));
}

/* Makes a row valid again after calls of sampi_row_set_element (its maximum, and no masked tokens in a compact row),
   and returns its status. has_masked: these calls may have masked elements. */
static int sampi_row_end_changes(sampi_row *row, bool has_masked)
{
    if (!sampi_row_is_compact(row) && !row->is_own)
        return has_masked && sampi_row_is_all_masked(row) ? SAMP_E_EMPTY : SAMP_OK;
    if (has_masked && !row->is_own) sampi_row_gather(row, -FLT_MAX);
    return sampi_row_scan(row);
}

/* Cuts a compact row to `keep` tokens: all tokens above `value`, and those tokens equal to it that have the smallest
   ids. */
static void sampi_row_cut_at(sampi_row *row, float value, size_t keep)
{
    sampi_work *work = row->work;
    size_t m = row->k->collect(row->x, row->id, 0, row->n, value, INFINITY, work->x, work->id);
    size_t from = m; /* from this index on, all tokens equal to the value are removed */
    for (size_t over = m - keep; over > 0;) {
        from--;
        if (work->x[from] == value) over--;
    }
    size_t to = from;
    for (size_t i = from; i < m; i++) {
        if (work->x[i] == value) continue;
        work->x[to] = work->x[i];
        work->id[to++] = work->id[i];
    }
    row->n = keep;
}

/* Keeps the first `keep` tokens in order, or all unmasked ones if there are fewer. The row becomes compact. Its tokens
   stay sorted by id, and top stays. */
static void sampi_row_keep_first(sampi_row *row, size_t keep)
{
    sampi_row_gather_first(row, keep);
    if (keep < row->n) sampi_row_cut_at(row, sampi_find_nth(row->k, row->x, row->n, keep, row->top), keep);
}
