/* ---- key-value cache: keys and values ----
   The buffers of keys and values, read and written through sampi_kv_rows, which describes their type (f32, f16) and
   layout. A caller's own kernels write the buffers directly (samp_kv_keys, samp_kv_values). The functions here serve
   callers without kernels (samp_kv_put, samp_kv_get), kv/update.h and kv/state.h. */

/* Returns [2] descriptions, of the keys and of the values of a layer. Returns NULL if there is no such layer, or no
   cache. */
static const sampi_kv_rows *sampi_kv_rows_of(const samp_kv *kv, uint32_t layer)
{
    return kv && layer < sampi_kv_of(kv)->set.n_layer ? &sampi_kv_of(kv)->rows[2 * layer] : NULL;
}

/* The pointer is valid until samp_kv_free, because buffers never move. */
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

/* Writes element i of a cell in the buffer's type; for f16 it is rounded here. memcpy is used because the caller's
   kernels may have given the memory another type. */
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

/* Returns x as the float that sampi_kv_store rounds as x. For f16 its lowest bit is set if it is not x: a float has 13
   more bits than a half, so the half nearest to this float is the one nearest to x. */
static float sampi_kv_round(const sampi_kv_rows *rows, double x)
{
    float f = (float)x;
    uint32_t u;
    if (!rows->half || (double)f == x || x != x) return f;
    memcpy(&u, &f, 4);
    u -= f < 0.0f ? (double)f < x : (double)f > x; /* rounded away from 0 */
    return sampi_float_of(u | 1);
}

/* Reads element i of a cell. The result is exact, because every f16 is a float. */
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

/* Copies a cell's elements between buffers of one type, bit for bit. If the elements are contiguous in both, one memcpy
   is enough. Moving, saving and loading a cell use this function. */
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

/* Returns the caller's array of floats described as a buffer with one cell, for sampi_kv_copy. The cast drops const,
   because the array may be the source or the target; samp_kv_put's array is only read. */
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

/* Writes one cell's elements from x [n]. A buffer of f32 gets them bit for bit. */
static void sampi_kv_set(const sampi_kv_rows *rows, size_t cell, const float *x)
{
    const sampi_kv_rows floats = sampi_kv_floats(x, rows->n);
    if (rows->half)
        for (size_t i = 0; i < rows->n; i++) sampi_kv_store(rows, cell, i, x[i]);
    else
        sampi_kv_copy(rows, cell, &floats, 0);
}

/* Reads one cell's elements into x [n]. */
static void sampi_kv_read(const sampi_kv_rows *rows, size_t cell, float *x)
{
    const sampi_kv_rows floats = sampi_kv_floats(x, rows->n);
    if (rows->half)
        for (size_t i = 0; i < rows->n; i++) x[i] = sampi_kv_load(rows, cell, i);
    else
        sampi_kv_copy(&floats, 0, rows, cell);
}

/* For callers without kernels of their own. samp_kv_get returns the same numbers, rounded to the buffer's type. Which
   token the cell has, or whether it is free, is not checked. If there is no such layer or cell, nothing is written.
   While a shift of positions is pending, the given keys must be rotated to pos - delta. */
SAMP_API int samp_kv_put(samp_kv *kv, uint32_t layer, uint32_t cell, const float *k, const float *v)
{
    const sampi_kv_rows *rows = sampi_kv_rows_of(kv, layer);
    if (!kv) return SAMP_E_NULL;
    if (!rows || cell >= kv->size) return SAMP_E_RANGE;
    if (k) sampi_kv_set(&rows[0], cell, k);
    if (v) sampi_kv_set(&rows[1], cell, v);
    return SAMP_OK;
}

/* Writes to k and v exactly the values in the buffers. */
SAMP_API int samp_kv_get(const samp_kv *kv, uint32_t layer, uint32_t cell, float *k, float *v)
{
    const sampi_kv_rows *rows = sampi_kv_rows_of(kv, layer);
    if (!kv) return SAMP_E_NULL;
    if (!rows || cell >= kv->size) return SAMP_E_RANGE;
    if (k) sampi_kv_read(&rows[0], cell, k);
    if (v) sampi_kv_read(&rows[1], cell, v);
    return SAMP_OK;
}
