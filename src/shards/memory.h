/* ---- shards: memory of a batch ----
   One block holds all rows of a batch, and is kept for the next batch. It has memory for a slice, a list and the
   slices' sums for each row, then memory that rows use in turn, because answers are made one after another. */

/* Returns the largest number of bytes that one row sends in a round. */
static size_t sampi_shard_most(const samp_shard *shard)
{
    size_t runs = sampi_parcel_size(SAMPI_PARCEL_RUNS, SAMPI_SHARD_CHUNK);
    size_t list = sampi_parcel_size(SAMPI_PARCEL_LIST, SAMPI_SHARD_LIST) + sampi_parcel_size(SAMPI_PARCEL_SUMS, 0);
    return runs + list + sampi_parcel_size(SAMPI_PARCEL_SEGS, shard->n_ranks);
}

/* Allocates memory for this many rows, n_all of them with lists of all tokens. Earlier contents are lost. */
static int sampi_shard_reserve(samp_shard *shard, size_t rows, size_t n_all, bool gathers)
{
    const size_t n = shard->length, look = n > SAMPI_SHARD_TAIL ? n : (size_t)SAMPI_SHARD_TAIL,
                 slice = ((n + 48) * sizeof(float) + 63) & ~(size_t)63,
                 lines = (2 * sampi_row_n_lines(look) + 64) * sizeof(float);
    if (rows <= shard->rows && n_all <= shard->n_all && (!gathers || shard->gathered)) return SAMP_OK;
    if (rows < shard->rows) rows = shard->rows;
    if (n_all < shard->n_all) n_all = shard->n_all;
    const size_t most = SAMPI_SHARD_HEAD + rows * sampi_shard_most(shard);
    sampi_arrays arrays = { NULL, 0, 0 };
    samp_shard laid = *shard;
    char *slices = NULL;
    sampi_seg *segs = NULL;
    memset(&laid.work, 0, sizeof laid.work);
    while (sampi_row_next_pass(&arrays)) {
        laid.row = (sampi_shard_row *)sampi_row_lay(&arrays, rows * sizeof *laid.row);
        slices = (char *)sampi_row_lay(&arrays, 2 * rows * slice);
        segs = (sampi_seg *)sampi_row_lay(&arrays, rows * shard->n_ranks * sizeof *segs);
        laid.list = (samp_token_data *)sampi_row_lay(&arrays, rows * SAMPI_SHARD_ROOM * sizeof *laid.list);
        laid.all = (samp_token_data *)sampi_row_lay(&arrays, n_all * shard->n_vocab * sizeof *laid.all);
        laid.work.candidate = (samp_token_data *)sampi_row_lay(&arrays, (look + 128) * sizeof *laid.work.candidate);
        laid.work.x = (float *)sampi_row_lay(&arrays, (look + 48) * sizeof *laid.work.x);
        laid.work.id = (int32_t *)sampi_row_lay(&arrays, (look + 48) * sizeof *laid.work.id);
        laid.raw_x = (float *)sampi_row_lay(&arrays, slice);
        laid.raw_id = (int32_t *)sampi_row_lay(&arrays, slice);
        laid.work.line = (float *)sampi_row_lay(&arrays, lines);
        laid.work.scratch = (float *)sampi_row_lay(&arrays, lines);
        laid.work.sum = (uint64_t *)sampi_row_lay(&arrays, (sampi_row_n_tiles(look) + 1) * sizeof *laid.work.sum);
        laid.message = (unsigned char *)sampi_row_lay(&arrays, most);
        laid.gathered = gathers ? (unsigned char *)sampi_row_lay(&arrays, most * shard->n_ranks) : NULL;
    }
    if (!arrays.memory) return SAMP_E_NOMEM;
    SAMP_FREE(shard->work.block);
    laid.work.block = arrays.memory;
    laid.work.w = (uint64_t *)(void *)laid.work.candidate;
    laid.rows = rows;
    laid.n_all = n_all;
    *shard = laid;
    for (size_t r = 0; r < rows; r++) {
        sampi_shard_row *row = &shard->row[r];
        memset(row, 0, sizeof *row);
        row->shard = shard;
        row->work = shard->work;
        row->work.x = (float *)(void *)(slices + 2 * r * slice);
        row->work.id = (int32_t *)(void *)(slices + (2 * r + 1) * slice);
        row->seg = segs + r * shard->n_ranks;
    }
    return SAMP_OK;
}
