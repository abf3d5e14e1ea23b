/* ---- shards: the public functions ----
   The caller calls samp_shard_begin, then samp_shard_message and samp_shard_take until no row asks any more;
   samp_sample_sharded does all of this. This file writes and reads the heads of messages, and calls the functions of
   all rows. An error that one rank finds at the beginning is sent in its first message, which always has the same size;
   so every rank ends with the same status. */

SAMP_API samp_shard *samp_shard_init(size_t n_vocab, size_t first, size_t length, uint32_t n_ranks, int *status)
{
    samp_shard *shard = NULL;
    bool good = n_vocab >= 1 && n_vocab <= SAMP_MAX_VOCAB && first <= n_vocab && length <= n_vocab - first &&
                n_ranks >= 1 && n_ranks <= SAMPI_SHARD_RANKS;
    size_t firsts = good ? n_ranks * sizeof shard->start : 0;
    shard = good ? (samp_shard *)SAMP_MALLOC(sizeof *shard + firsts) : NULL;
    if (status) *status = !good ? SAMP_E_RANGE : shard ? SAMP_OK : SAMP_E_NOMEM;
    if (!shard) return NULL;
    memset(shard, 0, sizeof *shard);
    shard->n_vocab = n_vocab;
    shard->first = first;
    shard->length = length;
    shard->n_ranks = n_ranks;
    shard->firsts = (unsigned char *)(shard + 1);
    return shard;
}

SAMP_API void samp_shard_drop(samp_shard *shard, int status)
{
    if (!shard || !shard->is_sampling) return;
    shard->is_sampling = false;
    shard->size = 0;
    for (size_t r = 0; r < shard->n_rows; r++) {
        if (r < shard->rows && shard->row[r].open) sampi_shard_close(&shard->row[r], status);
        if (shard->out && shard->round <= 1) shard->out[r] = status;
    }
}

SAMP_API void samp_shard_free(samp_shard *shard)
{
    if (!shard) return;
    samp_shard_drop(shard, SAMP_E_EMPTY);
    SAMP_FREE(shard->work.block);
    SAMP_FREE(shard);
}

/* Checks the arguments of this rank's call. An empty slice has no data to check. */
static int sampi_check_slice(const samp_shard *shard, samp_sampler *const *rows, const samp_logits *slice,
                             const samp_token *out)
{
    if (!slice || (slice->n_rows && (!rows || !out))) return SAMP_E_NULL;
    if (slice->n_rows == 0) return SAMP_OK;
    if (slice->n_vocab_of) return SAMP_E_UNSUPPORTED;
    samp_logits check = *slice;
    if (check.n_vocab != shard->length) return SAMP_E_RANGE;
    if (check.n_vocab == 0) check.n_vocab = 1, check.stride = 0, check.data = shard, check.mask = NULL;
    return sampi_check_batch(rows, &check);
}

/* Reads the slice of a row. With a grammar's mask it reads only those of the first n_known tokens that the mask allows;
   without a mask (the grammar waits, or there is none) it reads all tokens. */
static SAMPI_HOT int sampi_fetch_slice(const samp_shard *shard, sampi_shard_row *row, const samp_logits *slice,
                                       size_t r, const uint32_t *grammar, size_t n_known)
{
    const sampi_kernels *k = sampi_use();
    size_t n = shard->length;
    float *x = row->work.x;
    memset(&row->row, 0, sizeof row->row);
    row->row.k = k;
    row->row.work = &row->work;
    row->row.perf = &row->s->perf;
    row->row.top = -INFINITY;
    sampi_row_set_tokens(&row->row, x, row->work.id, n);
    if (slice->row_index && slice->row_index[r] < 0) return SAMP_E_RANGE;
    if (n == 0) return SAMP_OK;
    sampi_fetch_given(shard, slice, r, x, row->work.id);
    const bool masks = grammar || n_known < shard->n_vocab;
    bool wants_all = masks && row->logprobs; /* log-probabilities include masked logits */
    if (wants_all && !(k->maxima(x, SAMP_F32, NULL, n, row->work.scratch) <= FLT_MAX)) return SAMP_E_NAN;
    for (size_t i = shard->first; masks && i < shard->first + n; i++)
        if (i >= n_known || (grammar && !(grammar[i / 32] >> i % 32 & 1u))) x[i - shard->first] = -INFINITY;
    row->row.top = k->maxima(x, SAMP_F32, NULL, n, row->work.scratch);
    if (!(row->row.top <= FLT_MAX)) return SAMP_E_NAN;
    if (k->count(x, n, -FLT_MAX) < n) sampi_drop_masked(row);
    return SAMP_OK;
}

/* Begins a row: finds its error on this rank, or reads its slice, and runs the samplers that need no answer. If only
   the slice is wrong, the row is opened without tokens. If the merged message then does not have the error's status,
   this rank keeps asking what the other ranks ask, and reports the error in the head of its next message. */
static int sampi_shard_open(samp_shard *shard, sampi_shard_row *row, samp_sampler *sampler, const samp_logits *slice,
                            size_t r)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    int status = s ? samp_status(sampler, NULL) : SAMP_E_NULL;
    sampi_job job;
    if (status) return status;
    memset(&job, 0, sizeof job);
    job.s = row->s = s;
    job.n = shard->n_vocab;
    sampi_life_moves(s);
    sampi_sampler *first = sampi_life_first_mask(s);
    status = sampi_life_is_short(s, job.n) ? (int)SAMP_E_RANGE : first ? sampi_mask_job(&job, first) : SAMP_OK;
    const samp_logprobs *lp = row->logprobs;
    if (!status) status = sampi_row_check_logprobs(lp, shard->n_vocab);
    int slice_status = sampi_fetch_slice(shard, row, slice, r, job.mask, job.n);
    if (!status) status = slice_status;
    if (status) sampi_row_set_tokens(&row->row, row->work.x, row->work.id, 0);
    sampi_life_save_state(s);
    row->open = true;
    (void)sampi_shard_members(row);
    while (sampi_row_member(row, 1) && (sampi_is_plain_temp(sampi_row_member(row, 0)) ||
                                        (sampi_traits_of(sampi_row_member(row, 0)->kind)->flags & SAMPI_PATCHES))) {
        if (sampi_shard_run_step(row) != SAMPI_KNOWN) break;
        sampi_shard_next(row);
    }
    return status;
}

/* Returns the hash h of a boundary between slices: the sum of h(first) - h(end) over slices that make up the vocabulary
   is h(0) - h(n). Other slices give this sum with a probability of 2^-64. */
static uint64_t sampi_boundary(uint64_t at)
{
    uint64_t hash = SAMPI_SHARD_MAGIC;
    sampi_mix(&hash, at);
    return hash;
}

/* Writes the head of a message. `same` is the checksum of what must be equal on all ranks. */
static void sampi_shard_head(const samp_shard *shard, unsigned char *at, uint64_t same, uint32_t n_parcels,
                             int status)
{
    uint64_t shape = SAMPI_SHARD_FORMAT;
    sampi_mix(&shape, shard->n_vocab);
    sampi_mix(&shape, shard->batch);
    sampi_mix(&shape, shard->n_ranks);
    sampi_wire_put(at, SAMPI_SHARD_MAGIC, 4);
    sampi_wire_put(at + SAMPI_AT_FORMAT, SAMPI_SHARD_FORMAT, 4);
    sampi_wire_put(at + SAMPI_AT_ROUND, shard->round, 4);
    sampi_wire_put(at + SAMPI_AT_STATUS, (uint32_t)status, 4);
    for (int i = 0; i < 16; i += 8) {
        sampi_wire_put(at + SAMPI_AT_SAME + i, same, 8);
        sampi_wire_put(at + SAMPI_AT_SHAPE + i, shape, 8);
    }
    sampi_wire_put(at + SAMPI_AT_SLICES, sampi_boundary(shard->first) - sampi_boundary(shard->first + shard->length),
                   8);
    sampi_wire_put(at + SAMPI_AT_RANKS, 1, 4);
    sampi_wire_put(at + SAMPI_AT_PARCELS, n_parcels, 4);
}

/* Writes a row's entries in the first message: its maximum, or a NaN that contains its status; and, if it will be
   needed, its smallest logit, negated, so that both are merged as maxima. */
static void sampi_put_top(sampi_parcel *p, size_t r, sampi_shard_row *row)
{
    float max = row->row.n ? row->row.top + 0.0f : -INFINITY, down = -INFINITY;
    if (row->wrong) {
        sampi_wire_put(sampi_parcel_entry(p, r), 0x7FC00000u | (uint32_t)-row->wrong, 4);
    } else {
        (void)sampi_shard_members(row);
        sampi_wire_put_float(sampi_parcel_entry(p, r), max);
        if (sampi_member_needs_least(row)) down = 0.0f - sampi_shard_least(row);
    }
    sampi_wire_put_float(sampi_parcel_entry(p, SAMPI_SHARD_ROWS + r), down);
}

/* Makes the first message for rows `from` to from + n - 1 of a batch. `status` is the error of the call, or SAMP_OK. If
   `gathers`, the messages of all ranks will be received side by side. */
static void sampi_shard_start(samp_shard *shard, samp_sampler *const *rows, const samp_logits *slice, samp_token *out,
                              size_t from, size_t n, bool gathers, int status)
{
    uint64_t same = SAMP_VERSION;
    size_t n_all = 0, all = 0;
    shard->round = 1;
    shard->objection = SAMP_OK;
    shard->n_rows = n;
    shard->batch = slice ? slice->n_rows : 0;
    shard->from = from;
    if (slice) shard->slice = *slice;
    shard->out = out ? out + from : NULL;
    rows = rows ? rows + from : NULL;
    shard->is_sampling = true;
    for (size_t r = 0; r < n && !status; r++) n_all += rows[r] && sampi_wants_all((const sampi_sampler *)rows[r]);
    if (!status) status = sampi_shard_reserve(shard, n, n_all, gathers);
    for (size_t r = 0; r < shard->rows; r++) shard->row[r].open = false;
    memset(shard->start, 0, sizeof shard->start);
    sampi_parcel top = sampi_new_parcel(shard->start + SAMPI_SHARD_HEAD, SAMPI_PARCEL_TOP, 0, 2 * SAMPI_SHARD_ROWS);
    sampi_set_entries(&top, top.room);
    for (size_t r = 0; r < n && !status; r++) {
        sampi_shard_row *row = &shard->row[r];
        sampi_work work = row->work;
        sampi_seg *seg = row->seg;
        memset(row, 0, sizeof *row);
        row->shard = shard;
        row->work = work;
        row->seg = seg;
        row->reaches = -INFINITY;
        bool wants_all = rows[r] && sampi_wants_all((const sampi_sampler *)rows[r]);
        row->list = wants_all ? shard->all + shard->n_vocab * all++ : shard->list + SAMPI_SHARD_ROOM * r;
        row->room = wants_all ? shard->n_vocab : (size_t)SAMPI_SHARD_ROOM;
        row->logprobs = slice->logprobs ? &slice->logprobs[from + r] : NULL;
        row->wrong = sampi_shard_open(shard, row, rows[r], slice, from + r);
        sampi_put_top(&top, r, row);
        if (!rows[r]) continue;
        sampi_life_settings((const sampi_sampler *)rows[r], &same);
        sampi_mix(&same, samp_get_position(rows[r]));
        const samp_logprobs *lp = row->logprobs;
        if (!lp) continue;
        sampi_mix(&same, (uint64_t)(uint32_t)lp->raw.n_top << 32 | (uint32_t)lp->processed.n_top);
        sampi_mix(&same, (uint64_t)(uint32_t)lp->raw.n_ids << 32 | (uint32_t)lp->processed.n_ids);
        sampi_mix(&same, lp->support ? lp->support->capacity + 1 : 0);
    }
    sampi_shard_head(shard, shard->start, same, 1, status);
}

SAMP_API int samp_shard_begin(samp_shard *shard, samp_sampler *const *rows, const samp_logits *slice, samp_token *out)
{
    if (!shard) return SAMP_E_NULL;
    samp_shard_drop(shard, SAMP_E_EMPTY);
    int status = sampi_check_slice(shard, rows, slice, out);
    size_t n = slice ? slice->n_rows : 0;
    if (!status && n > SAMPI_SHARD_ROWS) status = SAMP_E_RANGE;
    sampi_shard_start(shard, rows, slice, out, 0, n, false, status);
    return SAMP_OK;
}

/* Returns how many entries a parcel of this kind has memory for. */
static size_t sampi_parcel_room(const sampi_shard_row *row, sampi_parcel_kind kind)
{
    switch (kind) {
#define SAMPI_PARCEL_ROOM(id, fields, entry, entries, number, zero, items, name, room) \
    case SAMPI_PARCEL_##id: return room;
        SAMPI_PARCELS(SAMPI_PARCEL_ROOM)
#undef SAMPI_PARCEL_ROOM
        default: return 0;
    }
}

/* Answers one of a row's questions. */
static void sampi_answer(const sampi_shard_row *row, sampi_parcel *p)
{
    if (p->kind < SAMPI_PARCEL_RAW && p->kind != SAMPI_PARCEL_LIST && !sampi_row_member(row, 0)) return;
    switch (p->kind) {
#define SAMPI_PARCEL_ANSWER(id, fields, entry, entries, number, zero, items, name, room) \
    case SAMPI_PARCEL_##id: sampi_answer_##name(row, p); break;
        SAMPI_PARCELS(SAMPI_PARCEL_ANSWER)
#undef SAMPI_PARCEL_ANSWER
        default: break;
    }
}

/* samp_shard_begin makes the first message. Each later message consists of the answers to all rows' questions. The
   kinds and sizes of parcels are in the checksum, so ranks with different questions are detected even if their messages
   have the same length. */
SAMP_API void *samp_shard_message(samp_shard *shard, size_t *n)
{
    uint64_t same = SAMP_VERSION;
    uint32_t n_parcels = 0;
    size_t size = SAMPI_SHARD_HEAD;
    if (n) *n = 0;
    if (!shard || !n || !shard->is_sampling) return NULL;
    if (shard->round == 1) {
        *n = shard->size = sizeof shard->start;
        return shard->start;
    }
    for (size_t r = 0; r < shard->n_rows; r++) {
        sampi_shard_row *row = &shard->row[r];
        if (!row->ask) continue;
        (void)sampi_shard_members(row);
        sampi_mix(&same, r);
        for (int kind = 1; kind < SAMPI_N_PARCELS; kind++) {
            if (!(row->ask >> kind & 1)) continue;
            size_t room = sampi_parcel_room(row, (sampi_parcel_kind)kind);
            size_t bytes = sampi_parcel_size((sampi_parcel_kind)kind, room);
            memset(shard->message + size, 0, bytes);
            sampi_parcel p = sampi_new_parcel(shard->message + size, (sampi_parcel_kind)kind, r, room);
            sampi_answer(row, &p);
            sampi_mix(&same, (uint64_t)kind << 32 | room);
            size += bytes;
            n_parcels++;
        }
    }
    if (n_parcels == 0) {
        shard->is_sampling = false;
        return NULL;
    }
    memset(shard->message, 0, SAMPI_SHARD_HEAD);
    sampi_shard_head(shard, shard->message, same, n_parcels, shard->objection);
    *n = shard->size = size;
    return shard->message;
}

/* Reads the head of a merged message, and returns its status. */
static int sampi_take_head(const samp_shard *shard, unsigned char *at, size_t n)
{
    if (!sampi_message_is_good(at, n)) return sampi_merge_status(SAMP_E_FORMAT, sampi_status_of_bytes(at, n));
    if (sampi_wire_u32(at + SAMPI_AT_ROUND) != shard->round) return SAMP_E_FORMAT;
    if (memcmp(at + SAMPI_AT_SHAPE, at + SAMPI_AT_SHAPE + 8, 8) != 0) return SAMP_E_RANGE;
    if (sampi_wire_u32(at + SAMPI_AT_RANKS) != shard->n_ranks) return SAMP_E_RANGE;
    if (sampi_wire_get(at + SAMPI_AT_SLICES, 8) != sampi_boundary(0) - sampi_boundary(shard->n_vocab))
        return SAMP_E_RANGE;
    int status = (int32_t)sampi_wire_u32(at + SAMPI_AT_STATUS);
    if (status) return status >= SAMP_STATUS_LAST ? status : (int)SAMP_E_FORMAT;
    return memcmp(at + SAMPI_AT_SAME, at + SAMPI_AT_SAME + 8, 8) != 0 ? SAMP_E_FORMAT : SAMP_OK;
}

/* Reads the rows' maxima, or their errors, from the first message. */
static int sampi_take_first(samp_shard *shard)
{
    sampi_parcel p;
    size_t at = SAMPI_SHARD_HEAD;
    if (!sampi_next_of_message(shard->start, sizeof shard->start, &at, &p) || p.kind != SAMPI_PARCEL_TOP ||
        p.n != 2 * SAMPI_SHARD_ROWS)
        return SAMP_E_FORMAT;
    for (size_t r = 0; r < shard->n_rows; r++) {
        sampi_shard_row *row = &shard->row[r];
        float max = sampi_wire_float(sampi_parcel_entry(&p, r));
        int status = sampi_row_max_status(max);
        int row_status = -(int)(sampi_wire_u32(sampi_parcel_entry(&p, r)) & 0x3FFFFF);
        if (max != max && row_status < 0 && row_status >= SAMP_STATUS_LAST) status = row_status;
        row->max = max;
        row->least = 0.0f - sampi_wire_float(sampi_parcel_entry(&p, SAMPI_SHARD_ROWS + r));
        row->has |= SAMPI_ASK_TOP;
        if (sampi_is_number(row->least) && row->least <= max) row->has |= SAMPI_HAS_LEAST;
        if (!status && !row->open) status = SAMP_E_FORMAT;
        if (!status && (row->wrong || (row->row.n && row->row.top > max))) shard->objection = SAMP_E_FORMAT;
        if (!status)
            sampi_shard_advance(row);
        else if (row->open)
            sampi_shard_close(row, status);
        else
            shard->out[r] = status;
    }
    return SAMP_OK;
}

/* All parcels of each row are read; then the step that has asked continues. A row with invalid parcels fails alone; a
   parcel in the wrong place, or a bad head, fails all rows. */
SAMP_API int samp_shard_take(samp_shard *shard)
{
    if (!shard || !shard->is_sampling || shard->size == 0) return SAMP_E_NULL;
    unsigned char *bytes = shard->round == 1 ? shard->start : shard->message;
    size_t at = SAMPI_SHARD_HEAD, n = shard->size;
    int status = sampi_take_head(shard, bytes, n);
    if (!status && shard->round == 1) status = sampi_take_first(shard);
    for (size_t r = 0; r < shard->n_rows && !status && shard->round > 1; r++) {
        sampi_shard_row *row = &shard->row[r];
        sampi_parcel p[SAMPI_N_PARCELS];
        int n_parcels = 0;
        unsigned ask = row->ask;
        bool good = true;
        if (!ask) continue;
        for (int kind = 1; kind < SAMPI_N_PARCELS && !status; kind++) {
            if (!(ask >> kind & 1)) continue;
            sampi_parcel *q = &p[n_parcels++];
            if (!sampi_next_of_message(bytes, n, &at, q) || (int)q->kind != kind || q->row != r ||
                q->room != sampi_parcel_room(row, q->kind))
                status = SAMP_E_FORMAT;
            else
                good = sampi_take_parcel(row, q) && good;
        }
        if (status) break;
        if (good)
            sampi_shard_advance(row);
        else
            sampi_shard_close(row, SAMP_E_FORMAT);
    }
    if (status) samp_shard_drop(shard, status);
    shard->round++;
    shard->size = 0;
    return status;
}

/* Exchanges a message with all ranks. */
static int sampi_exchange(samp_shard *shard, const samp_ranks *ranks, unsigned char *bytes, size_t n)
{
    unsigned char *all = shard->round == 1 ? shard->firsts : shard->gathered;
    int status = ranks->allreduce ? ranks->allreduce(ranks->user, bytes, n, samp_shard_merge)
                                  : ranks->allgather(ranks->user, bytes, n, all);
    if (status) return status < 0 && status >= SAMP_STATUS_LAST ? status : (int)SAMP_E_DEVICE;
    if (ranks->allreduce) return SAMP_OK;
    memcpy(bytes, all, n);
    for (uint32_t i = 1; i < shard->n_ranks; i++) samp_shard_merge(bytes, all + i * n, n);
    return SAMP_OK;
}

/* Rows are sampled in groups, one group after another. An error of the call is sent in the first message too, because
   the other ranks wait for it. */
SAMP_API int samp_sample_sharded(samp_shard *shard, const samp_ranks *ranks, samp_sampler *const *rows,
                                 const samp_logits *slice, samp_token *out)
{
    if (!shard || !ranks || (!ranks->allreduce && !ranks->allgather)) return SAMP_E_NULL;
    samp_shard_drop(shard, SAMP_E_EMPTY);
    int wrong = sampi_check_slice(shard, rows, slice, out), status = SAMP_OK;
    size_t n_rows = slice ? slice->n_rows : 0, from = 0, n;
    do {
        size_t group = n_rows - from < SAMPI_SHARD_ROWS ? n_rows - from : (size_t)SAMPI_SHARD_ROWS;
        void *bytes;
        sampi_shard_start(shard, rows, slice, out, from, group, !ranks->allreduce, wrong);
        while (!status && (bytes = samp_shard_message(shard, &n)) != NULL) {
            status = sampi_exchange(shard, ranks, (unsigned char *)bytes, n);
            if (!status) status = samp_shard_take(shard);
        }
        if (status) samp_shard_drop(shard, status);
        from += group;
    } while (from < n_rows && !status);
    for (; out && from < n_rows; from++) out[from] = status;
    return status;
}
