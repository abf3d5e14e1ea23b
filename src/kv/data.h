/* ---- key-value cache: keys and values ----
   The buffers, read and written through sampi_kv_rows, which knows type (f32, f16) and layout. A caller's own kernels
   write the buffers directly (samp_kv_keys, samp_kv_values). The functions here serve callers without kernels
   (samp_kv_put, samp_kv_get), and kv/update.h and kv/state.h. */

/* [2] a layer's keys and its values; NULL if there is no such layer, or no cache. For the four public functions
   below. */
static const sampi_kv_rows *sampi_kv_rows_of(const samp_kv *kv, uint32_t layer)
{
    return kv && layer < sampi_kv_of(kv)->set.n_layer ? &sampi_kv_of(kv)->rows[2 * layer] : NULL;
}

/* Good until samp_kv_free: buffers never move. */
SAMP_API void *samp_kv_keys(const samp_kv *kv, uint32_t layer)
{
    const sampi_kv_rows *rows = sampi_kv_rows_of(kv, layer);
    return rows ? rows[0].data : NULL;
}

SAMP_API void *samp_kv_values(const samp_kv *kv, uint32_t layer)
{
    const sampi_kv_rows *rows = sampi_kv_rows_of(kv, layer);
    return rows ? rows[1].data : NULL;
}

/* Write element i of a cell, in the buffer's type: f16 are rounded here. By memcpy: the buffer has no type of its
   own, and the caller's kernels may have given it one. */
static void sampi_kv_store(const sampi_kv_rows *rows, size_t cell, size_t i, float x)
{
    char *p = rows->data + cell * rows->stride + i * rows->step;
    if (rows->half) {
        uint16_t h = sampi_f32_to_f16(x);
        memcpy(p, &h, 2);
    } else {
        memcpy(p, &x, 4);
    }
}

/* Read it; exact, for every f16 is a float. */
static float sampi_kv_load(const sampi_kv_rows *rows, size_t cell, size_t i)
{
    const char *p = rows->data + cell * rows->stride + i * rows->step;
    if (rows->half) {
        uint16_t h;
        memcpy(&h, p, 2);
        return sampi_f16_to_f32(h);
    }
    float x;
    memcpy(&x, p, 4);
    return x;
}

/* A cell's elements as they are, between rows of one type: at once if they stand together in both. What moves a
   cell, saves and loads one; no rounding, so bytes stay bytes. */
static void sampi_kv_copy(const sampi_kv_rows *to, size_t to_cell, const sampi_kv_rows *from, size_t from_cell)
{
    char *t = to->data + to_cell * to->stride;
    const char *f = from->data + from_cell * from->stride;
    size_t width = sampi_kv_width(to->half);
    if (to->step == width && from->step == width) {
        memcpy(t, f, to->n * width);
        return;
    }
    for (size_t i = 0; i < to->n; i++) memcpy(t + i * to->step, f + i * from->step, width);
}

/* The caller's array of floats as rows with one cell, for sampi_kv_copy. The const is taken off for both
   directions: samp_kv_put's array is only read. */
static sampi_kv_rows sampi_kv_floats(const float *x, size_t n)
{
    sampi_kv_rows rows;
    rows.data = (char *)(uintptr_t)x;
    rows.n = n;
    rows.stride = 0;
    rows.step = 4;
    rows.half = false;
    return rows;
}

/* One cell's elements from f32, x [n]: of samp_kv_put. f32 buffers take them as they are. */
static void sampi_kv_set(const sampi_kv_rows *rows, size_t cell, const float *x)
{
    const sampi_kv_rows floats = sampi_kv_floats(x, rows->n);
    if (rows->half)
        for (size_t i = 0; i < rows->n; i++) sampi_kv_store(rows, cell, i, x[i]);
    else
        sampi_kv_copy(rows, cell, &floats, 0);
}

/* And to f32: of samp_kv_get. Writes x [n]. */
static void sampi_kv_read(const sampi_kv_rows *rows, size_t cell, float *x)
{
    const sampi_kv_rows floats = sampi_kv_floats(x, rows->n);
    if (rows->half)
        for (size_t i = 0; i < rows->n; i++) x[i] = sampi_kv_load(rows, cell, i);
    else
        sampi_kv_copy(&floats, 0, rows, cell);
}

/* The way for a caller without kernels of his own; samp_kv_get reads the same back, rounded to the type. Which
   token the cell has is not looked at, not even whether it has one. Either of k and v may be NULL; nothing is
   written if there is no such layer or cell. With a shift pending, keys are taken as turned to pos - delta. */
SAMP_API int samp_kv_put(samp_kv *kv, uint32_t layer, uint32_t cell, const float *k, const float *v)
{
    const sampi_kv_rows *rows = sampi_kv_rows_of(kv, layer);
    if (!kv) return SAMP_E_NULL;
    if (!rows || cell >= kv->size) return SAMP_E_RANGE;
    if (k) sampi_kv_set(&rows[0], cell, k);
    if (v) sampi_kv_set(&rows[1], cell, v);
    return SAMP_OK;
}

/* Reads the buffers; writes only k and v, exactly what is there as floats. */
SAMP_API int samp_kv_get(const samp_kv *kv, uint32_t layer, uint32_t cell, float *k, float *v)
{
    const sampi_kv_rows *rows = sampi_kv_rows_of(kv, layer);
    if (!kv) return SAMP_E_NULL;
    if (!rows || cell >= kv->size) return SAMP_E_RANGE;
    if (k) sampi_kv_read(&rows[0], cell, k);
    if (v) sampi_kv_read(&rows[1], cell, v);
    return SAMP_OK;
}
