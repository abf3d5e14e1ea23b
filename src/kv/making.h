/* ---- key-value cache: making one ----
   samp_kv_init makes a cache from parameters, in one block of memory; nothing is allocated or moved later. The buffers
   of keys and values may be the caller's memory. The functions that check parameters and compute sizes need no cache
   (samp_kv_check_params, samp_kv_size). */

/* Returns a copy of the parameters in which defaults replace zeros. Checks, sizes and the cache use this copy. */
static samp_kv_params sampi_kv_defaults(samp_kv_params set)
{
    if (set.n_seq_max == 0) set.n_seq_max = 64;
    if (set.padding == 0) set.padding = 32;
    if (set.n_rot == 0) set.n_rot = set.n_embd_head;
    if (set.rope_theta == 0.0f) set.rope_theta = 10000.0f;
    return set;
}

/* Can keys or values be stored in this type? */
static bool sampi_kv_is_type(samp_dtype type) { return type == SAMP_F32 || type == SAMP_F16; }

/* Returns the size of an element in bytes. */
static size_t sampi_kv_width(bool half) { return half ? 2 : 4; }

/* Returns the bytes of n_cells cells of n_embd elements, rounded up so that each layer begins on a cache line. The
   limits of the parameters keep all sums far below 2^64; sampi_kv_check refuses a cache that size_t cannot count. */
static uint64_t sampi_kv_bytes(uint32_t n_cells, uint32_t n_embd, samp_dtype type)
{
    return ((uint64_t)n_cells * n_embd * sampi_kv_width(type == SAMP_F16) + 63) & ~(uint64_t)63;
}

/* Computes the bytes of all layers' keys (*k) and values (*v). The parameters must have been checked. */
static void sampi_kv_sizes(const samp_kv_params *set, uint64_t *k, uint64_t *v)
{
    *k = *v = 0;
    for (uint32_t i = 0; i < set->n_layer; i++) {
        *k += sampi_kv_bytes(set->n_cells, set->n_embd_k[i], set->type_k);
        *v += sampi_kv_bytes(set->n_cells, set->n_embd_v[i], set->type_v);
    }
}

/* Sets *field to the name of the first bad member, and returns its status. The checks below return this status; they
   get parameters with defaults filled in. */
static int sampi_kv_bad(const char **field, const char *name, int status)
{
    *field = name;
    return status;
}

/* Checks the members that matter only with rope: n_embd_head must divide each layer's n_embd_k, and n_rot must be
   even. */
static int sampi_kv_check_rope(const samp_kv_params *set, const char **field)
{
    if (set->rope != SAMP_ROPE_NONE && set->rope != SAMP_ROPE_ADJACENT && set->rope != SAMP_ROPE_HALF)
        return sampi_kv_bad(field, "rope", SAMP_E_RANGE);
    if (set->rope == SAMP_ROPE_NONE) return SAMP_OK; /* without rope the other members do not matter */
    if (set->rope_theta != set->rope_theta) return sampi_kv_bad(field, "rope_theta", SAMP_E_NAN);
    if (!(set->rope_theta > 0.0f && set->rope_theta <= FLT_MAX))
        return sampi_kv_bad(field, "rope_theta", SAMP_E_RANGE);
    if (set->n_embd_head < 2 || set->n_embd_head > (uint32_t)1 << 20)
        return sampi_kv_bad(field, "n_embd_head", SAMP_E_RANGE);
    if (set->n_rot % 2 || set->n_rot > set->n_embd_head) return sampi_kv_bad(field, "n_rot", SAMP_E_RANGE);
    for (uint32_t i = 0; i < set->n_layer; i++)
        if (set->n_embd_k[i] % set->n_embd_head) return sampi_kv_bad(field, "n_embd_head", SAMP_E_RANGE);
    return SAMP_OK;
}

/* Is n_embd in its range? The limit keeps n_cells * n_embd within 2^46 elements. */
static bool sampi_kv_is_n_embd(uint32_t n_embd) { return n_embd >= 1 && n_embd <= (uint32_t)1 << 20; }

/* Checks the members that describe the layers. The number of layers is checked first, because it is the length of the
   arrays; a NULL array is not read. */
static int sampi_kv_check_layers(const samp_kv_params *set, const char **field)
{
    if (set->n_layer > 4096) return sampi_kv_bad(field, "n_layer", SAMP_E_RANGE);
    if (set->n_layer && !set->n_embd_k) return sampi_kv_bad(field, "n_embd_k", SAMP_E_NULL);
    if (set->n_layer && !set->n_embd_v) return sampi_kv_bad(field, "n_embd_v", SAMP_E_NULL);
    for (uint32_t i = 0; i < set->n_layer; i++) {
        if (!sampi_kv_is_n_embd(set->n_embd_k[i])) return sampi_kv_bad(field, "n_embd_k", SAMP_E_RANGE);
        if (!sampi_kv_is_n_embd(set->n_embd_v[i])) return sampi_kv_bad(field, "n_embd_v", SAMP_E_RANGE);
    }
    if (!sampi_kv_is_type(set->type_k)) return sampi_kv_bad(field, "type_k", SAMP_E_DTYPE);
    if (!sampi_kv_is_type(set->type_v)) return sampi_kv_bad(field, "type_v", SAMP_E_DTYPE);
    return SAMP_OK;
}

/* Checks all members. The sizes of memory are checked last, because they follow from valid layers. */
static int sampi_kv_check(const samp_kv_params *set, const char **field)
{
    uint64_t k, v;
    if (set->n_cells < 1 || set->n_cells > (uint32_t)1 << 26) return sampi_kv_bad(field, "n_cells", SAMP_E_RANGE);
    if (set->n_seq_max > 64) return sampi_kv_bad(field, "n_seq_max", SAMP_E_RANGE);
    if (set->padding > (uint32_t)1 << 16) return sampi_kv_bad(field, "padding", SAMP_E_RANGE);
    if (set->defrag_threshold != set->defrag_threshold) return sampi_kv_bad(field, "defrag_threshold", SAMP_E_NAN);
    if (!(set->defrag_threshold >= 0.0f && set->defrag_threshold < 1.0f))
        return sampi_kv_bad(field, "defrag_threshold", SAMP_E_RANGE);
    int status = sampi_kv_check_layers(set, field);
    if (!status) status = sampi_kv_check_rope(set, field);
    if (status) return status;
    sampi_kv_sizes(set, &k, &v);
    if (set->n_cells * sizeof(samp_kv_cell) + k + v > SIZE_MAX / 2)
        return sampi_kv_bad(field, "n_cells", SAMP_E_RANGE);
    if (!set->memory) return SAMP_OK;
    if ((uintptr_t)set->memory % 64) return sampi_kv_bad(field, "memory", SAMP_E_RANGE);
    return set->memory_size < k + v ? sampi_kv_bad(field, "memory_size", SAMP_E_WORKSPACE) : SAMP_OK;
}

/* samp_kv_init and samp_kv_size also call this function, so the three agree. *field is NULL if all members are
   valid. */
SAMP_API int samp_kv_check_params(const samp_kv_params *params, const char **field)
{
    const char *bad = "params";
    int status = SAMP_E_NULL;
    if (params) {
        samp_kv_params set = sampi_kv_defaults(*params);
        bad = NULL;
        status = sampi_kv_check(&set, &bad);
    }
    if (field) *field = bad;
    return status;
}

/* `memory` is not checked, because the caller asks for its size here. */
SAMP_API size_t samp_kv_size(const samp_kv_params *params, size_t *k, size_t *v)
{
    uint64_t k_bytes = 0, v_bytes = 0;
    samp_kv_params set;
    if (params) {
        set = *params;
        set.memory = NULL;
        if (samp_kv_check_params(&set, NULL) == SAMP_OK) sampi_kv_sizes(&set, &k_bytes, &v_bytes);
    }
    if (k) *k = (size_t)k_bytes;
    if (v) *v = (size_t)v_bytes;
    return (size_t)(k_bytes + v_bytes);
}

/* Offsets in bytes in the block of a cache. The struct sampi_kv is first; then come these arrays; then, unless the
   caller gives memory, the buffers, aligned to a cache line. */
typedef struct sampi_kv_layout {
    size_t cells, rows, turn, end;
} sampi_kv_layout;

/* Without rope there is no array of angles. A cell has 16 bytes, so the arrays after the cells stay aligned. */
static sampi_kv_layout sampi_kv_layout_of(const samp_kv_params *set)
{
    sampi_kv_layout at;
    size_t n_turn = set->rope == SAMP_ROPE_NONE ? 0 : set->n_rot;
    at.cells = sampi_round_up(sizeof(sampi_kv));
    at.rows = at.cells + set->n_cells * sizeof(samp_kv_cell);
    at.turn = at.rows + sampi_round_up(2 * set->n_layer * sizeof(sampi_kv_rows));
    at.end = at.turn + n_turn * sizeof(double);
    return at;
}

/* Describes one layer's keys or values, which begin at `data`. Returns where the next buffer begins. */
static char *sampi_kv_layer(sampi_kv_rows *rows, char *data, uint32_t n_cells, uint32_t n_embd, samp_dtype type,
                            bool transposed)
{
    bool half = type == SAMP_F16;
    size_t width = sampi_kv_width(half);
    rows->data = data;
    rows->n = n_embd;
    rows->stride = transposed ? width : n_embd * width;
    rows->step = transposed ? n_cells * width : width;
    rows->half = half;
    return data + (size_t)sampi_kv_bytes(n_cells, n_embd, type);
}

/* After the check of the parameters, only missing memory can be an error. Pointers into the block never change. */
SAMP_API samp_kv *samp_kv_init(const samp_kv_params *params, int *status)
{
    int result = samp_kv_check_params(params, NULL);
    if (status) *status = result;
    if (result) return NULL;

    samp_kv_params set = sampi_kv_defaults(*params);
    sampi_kv_layout at = sampi_kv_layout_of(&set);
    size_t bytes = samp_kv_size(params, NULL, NULL);
    char *block = (char *)SAMP_MALLOC(set.memory ? at.end : at.end + 64 + bytes), *data = (char *)set.memory;
    if (!block) {
        if (status) *status = SAMP_E_NOMEM;
        return NULL;
    }
    memset(block, 0, at.end);
    if (!data) data = block + at.end + (64 - (uintptr_t)(block + at.end) % 64) % 64;
    if (bytes) memset(data, 0, bytes);

    sampi_kv *kv = (sampi_kv *)(void *)block;
    kv->base.size = set.n_cells;
    kv->base.cells = (samp_kv_cell *)(void *)(block + at.cells);
    kv->rows = (sampi_kv_rows *)(void *)(block + at.rows);
    kv->turn = (double *)(void *)(block + at.turn);
    for (uint32_t i = 0; i < set.n_layer; i++) /* all keys, then all values; only values may be transposed */
        data = sampi_kv_layer(&kv->rows[2 * i], data, set.n_cells, set.n_embd_k[i], set.type_k, false);
    for (uint32_t i = 0; i < set.n_layer; i++)
        data = sampi_kv_layer(&kv->rows[2 * i + 1], data, set.n_cells, set.n_embd_v[i], set.type_v, set.v_trans);
    set.n_embd_k = set.n_embd_v = NULL; /* the caller may free its arrays now */
    kv->set = set;
    samp_kv_clear(&kv->base);
    return &kv->base;
}

/* A cache is one block of memory. Memory that the caller has given is not freed. */
SAMP_API void samp_kv_free(samp_kv *kv) { SAMP_FREE(kv); }

SAMPI_STATIC_ASSERT(offsetof(samp_kv_cell, delta) == 4 && sizeof(samp_kv_cell) == 16,
                    "a state has pos, delta in a row");
static const samp_kv_cell SAMPI_KV_FREE = { -1, 0, 0 };

/* Is cell i free? A free cell has the position -1. */
static bool sampi_kv_is_free(const samp_kv *kv, uint32_t i) { return kv->cells[i].pos < 0; }

/* samp_kv_init calls this function too. The buffers keep their contents, because a free cell's keys are never read. */
SAMP_API void samp_kv_clear(samp_kv *kv)
{
    if (!kv) return;
    for (uint32_t i = 0; i < kv->size; i++) kv->cells[i] = SAMPI_KV_FREE;
    kv->used = kv->head = kv->n = 0;
    kv->has_shift = kv->do_defrag = false;
}
