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
    size_t size = 0, n = shard->length, look = n > SAMPI_SHARD_TAIL ? n : (size_t)SAMPI_SHARD_TAIL;
    if (rows <= shard->rows && n_all <= shard->n_all && (!gathers || shard->gathered)) return SAMP_OK;
    if (rows < shard->rows) rows = shard->rows;
    if (n_all < shard->n_all) n_all = shard->n_all;
    size_t most = SAMPI_SHARD_HEAD + rows * sampi_shard_most(shard);
    size_t records = sampi_add_to_block(&size, rows * sizeof(sampi_shard_row));
    size_t slices = size, slice = ((n + 48) * sizeof(float) + 63) & ~(size_t)63;
    (void)sampi_add_to_block(&size, 2 * rows * slice);
    size_t segs = sampi_add_to_block(&size, rows * shard->n_ranks * sizeof(sampi_seg));
    size_t lists = sampi_add_to_block(&size, rows * SAMPI_SHARD_ROOM * sizeof(samp_token_data));
    size_t all = sampi_add_to_block(&size, n_all * shard->n_vocab * sizeof(samp_token_data));
    size_t w = sampi_add_to_block(&size, (look + 128) * sizeof(samp_token_data));
    size_t x = sampi_add_to_block(&size, (look + 48) * sizeof(float)),
           id = sampi_add_to_block(&size, (look + 48) * sizeof(int32_t));
    size_t raw_x = sampi_add_to_block(&size, slice), raw_id = sampi_add_to_block(&size, slice);
    size_t lines = (2 * sampi_n_lines(look) + 64) * sizeof(float);
    size_t line = sampi_add_to_block(&size, lines), scratch = sampi_add_to_block(&size, lines);
    size_t sum = sampi_add_to_block(&size, (sampi_n_tiles(look) + 1) * sizeof(uint64_t));
    size_t message = sampi_add_to_block(&size, most),
           gathered = sampi_add_to_block(&size, gathers ? most * shard->n_ranks : 0);
    char *block = (char *)SAMP_MALLOC(size + 64), *base;
    if (!block) return SAMP_E_NOMEM;
    SAMP_FREE(shard->work.block);
    memset(&shard->work, 0, sizeof shard->work);
    base = block + (64 - (uintptr_t)block % 64) % 64;
    shard->work.block = block;
    shard->work.w = (uint64_t *)(void *)(base + w);
    shard->work.candidate = (samp_token_data *)(void *)(base + w);
    shard->work.x = (float *)(void *)(base + x);
    shard->work.id = (int32_t *)(void *)(base + id);
    shard->work.line = (float *)(void *)(base + line);
    shard->work.scratch = (float *)(void *)(base + scratch);
    shard->work.sum = (uint64_t *)(void *)(base + sum);
    shard->raw_x = (float *)(void *)(base + raw_x);
    shard->raw_id = (int32_t *)(void *)(base + raw_id);
    shard->message = (unsigned char *)(base + message);
    shard->gathered = gathers ? (unsigned char *)(base + gathered) : NULL;
    shard->row = (sampi_shard_row *)(void *)(base + records);
    shard->list = (samp_token_data *)(void *)(base + lists);
    shard->all = (samp_token_data *)(void *)(base + all);
    shard->rows = rows;
    shard->n_all = n_all;
    for (size_t r = 0; r < rows; r++) {
        sampi_shard_row *row = &shard->row[r];
        memset(row, 0, sizeof *row);
        row->shard = shard;
        row->work = shard->work;
        row->work.x = (float *)(void *)(base + slices + 2 * r * slice);
        row->work.id = (int32_t *)(void *)(base + slices + (2 * r + 1) * slice);
        row->seg = (sampi_seg *)(void *)(base + segs) + r * shard->n_ranks;
    }
    return SAMP_OK;
}
