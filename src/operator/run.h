/* ---- operator: the public functions ----
   samp_random_sample_init, _run and the others of api/operator.h. They check types and settings, lay out the caller's
   workspace, convert the row to f32, and write the index in the type of the result. Only _init allocates memory. */

/* Converts a row that is not f32 to floats in out [n], in the workspace. For f64, the floats are the differences from
   the largest element, to lose as little precision as possible. The function finds NaN in f64, because differences
   would turn infinities into NaN. In rows of other types NaN is found later, in the maxima. */
static int sampi_op_convert(const samp_random_sample *op, const void *probs, float *out)
{
    const double *wide = (const double *)probs;
    double max = -INFINITY;
    if (op->probs != SAMP_F64) {
        sampi_use()->fetch(probs, op->probs, NULL, 0, op->n, out);
        return SAMP_OK;
    }
    for (size_t i = 0; i < op->n; i++) {
        if (!(wide[i] <= DBL_MAX)) return SAMP_E_NAN;
        if (wide[i] > max) max = wide[i];
    }
    if (!(max >= -DBL_MAX)) return SAMP_E_EMPTY;
    for (size_t i = 0; i < op->n; i++) out[i] = (float)(wide[i] - max);
    return SAMP_OK;
}

/* Returns the length of the longest row whose indices fit the result's type, at most SAMP_MAX_VOCAB. Returns 0 if the
   type is not an integer type. */
static size_t sampi_op_room(samp_dtype result)
{
    switch (result) {
        case SAMP_I8: return 1 << 7;
        case SAMP_U8: return 1 << 8;
        case SAMP_I16: return 1 << 15;
        case SAMP_U16: return 1 << 16;
        case SAMP_I32:
        case SAMP_U32:
        case SAMP_I64:
        case SAMP_U64: return SAMP_MAX_VOCAB;
        default: return 0;
    }
}

/* Writes the index to the result. An index has the same bytes in a signed and an unsigned type. memcpy allows any
   alignment. */
static void sampi_op_write(samp_dtype result, void *to, size_t index)
{
    uint8_t i8 = (uint8_t)index;
    uint16_t i16 = (uint16_t)index;
    uint32_t i32 = (uint32_t)index;
    uint64_t i64 = index;
    switch (result) {
        case SAMP_I8:
        case SAMP_U8: memcpy(to, &i8, sizeof i8); break;
        case SAMP_I16:
        case SAMP_U16: memcpy(to, &i16, sizeof i16); break;
        case SAMP_I32:
        case SAMP_U32: memcpy(to, &i32, sizeof i32); break;
        default: memcpy(to, &i64, sizeof i64); break;
    }
}

/* Offsets in bytes in the workspace, counted from its first cache line. The workspace holds the digits' sums, the
   maxima of lines, and the row as floats unless the row is f32. `end` gives the size of the workspace. */
typedef struct sampi_op_layout {
    size_t tile, x, end;
} sampi_op_layout;

#define SAMPI_OP_ALIGN 64

/* The layout depends on the operator alone, so the workspace's size never changes. The maxima are stored for whole
   tiles of 16 lines. */
static sampi_op_layout sampi_op_layout_of(const samp_random_sample *op)
{
    size_t tiles = (op->n + SAMPI_TILE - 1) / SAMPI_TILE;
    size_t floats = op->probs == SAMP_F32 ? 0 : op->n;
    sampi_op_layout at;
    at.tile = SAMPI_DIGITS * sizeof(sampi_digit);
    at.x = at.tile + 16 * tiles * sizeof(float);
    at.end = at.x + floats * sizeof(float);
    return at;
}

/* Checks the arguments of samp_random_sample_init, so that samp_random_sample_run need not check them. Types are
   checked first, because the limit of n depends on them. */
static int sampi_op_check_description(samp_dtype result, samp_dtype probs, size_t n)
{
    size_t room = sampi_op_room(result);
    bool floats = probs == SAMP_F32 || probs == SAMP_F16 || probs == SAMP_BF16 || probs == SAMP_F64;
    if (!room || !floats) return SAMP_E_DTYPE;
    if (n == 0) return SAMP_E_EMPTY;
    return n > SAMP_MAX_VOCAB || n > room ? SAMP_E_RANGE : SAMP_OK;
}

/* Allocates the operator, which is its only allocation. */
SAMP_API SAMPI_COLD samp_random_sample *samp_random_sample_init(samp_dtype result, samp_dtype probs, size_t n,
                                                                int *status)
{
    samp_random_sample *op = NULL;
    int bad = sampi_op_check_description(result, probs, n);
    if (!bad) {
        op = (samp_random_sample *)SAMP_MALLOC(sizeof *op);
        if (!op) bad = SAMP_E_NOMEM;
    }
    if (op) {
        op->result = result;
        op->probs = probs;
        op->n = n;
    }
    if (status) *status = bad;
    return op;
}

/* The size includes space for alignment, so the workspace may have any alignment. */
SAMP_API SAMPI_COLD size_t samp_random_sample_workspace_size(const samp_random_sample *op)
{
    return op ? SAMPI_OP_ALIGN - 1 + sampi_op_layout_of(op).end : 0;
}

/* The operator is one block of memory. */
SAMP_API void samp_random_sample_free(samp_random_sample *op)
{
    if (op) SAMP_FREE(op);
}

/* Checks the settings of one run. */
static int sampi_op_check(const samp_random_sample *op, float random, float topp, int32_t topk, float temperature)
{
    if (random != random || topp != topp || temperature != temperature) return SAMP_E_NAN;
    if (!(random >= 0.0f && random < 1.0f) || !(topp >= 0.0f && topp <= 1.0f)) return SAMP_E_RANGE;
    if (!(temperature >= 0.0f && temperature <= FLT_MAX)) return SAMP_E_RANGE;
    return topk >= 1 && (size_t)topk <= op->n ? SAMP_OK : SAMP_E_RANGE;
}

/* Checks the arguments, lays out the workspace, computes the row as floats and its maxima, then takes the argmax or
   searches. *result is written last, so an error does not change it. */
SAMP_API int samp_random_sample_run(const samp_random_sample *op, void *workspace, size_t workspace_size,
                                    void *result, const void *probs, float random, float topp, int32_t topk,
                                    float temperature)
{
    if (!op || !workspace || !result || !probs) return SAMP_E_NULL;
    if (workspace_size < samp_random_sample_workspace_size(op)) return SAMP_E_WORKSPACE;
    int status = sampi_op_check(op, random, topp, topk, temperature);
    if (!status) status = sampi_use_status();
    if (status) return status;

    sampi_op_layout at = sampi_op_layout_of(op);
    char *base = (char *)workspace + (SAMPI_OP_ALIGN - (uintptr_t)workspace % SAMPI_OP_ALIGN) % SAMPI_OP_ALIGN;
    float *tile = (float *)(void *)(base + at.tile), *x = (float *)(void *)(base + at.x);
    sampi_ordered row;
    row.x = op->probs == SAMP_F32 ? (const float *)probs : x;
    row.n = op->n;
    row.tile = tile;
    row.temperature = temperature;
    row.digit = (sampi_digit *)(void *)base;
    if (op->probs != SAMP_F32) status = sampi_op_convert(op, probs, x);
    if (status) return status;
    row.top = sampi_use()->maxima(row.x, SAMP_F32, NULL, row.n, tile);
    status = sampi_row_max_status(row.top);
    if (status) return status;

    bool argmax = random == 0.0f || topp == 0.0f || topk == 1 || temperature == 0.0f;
    size_t index = argmax ? sampi_op_nth(&row, row.top, 1) : sampi_op_sample(&row, random, topp, (size_t)topk);
    sampi_op_write(op->result, result, index);
    return SAMP_OK;
}
