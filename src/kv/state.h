/* ---- key-value cache: a sequence as bytes ----
   samp_kv_state_save and samp_kv_state_load. The bytes are words of 32 bits, little-endian:
       fields [9 + 2 n_layer], see sampi_kv_field;  n, the number of cells;  pos, delta of each cell;
       for each layer the keys of each cell, then the values of each cell, as they are in the buffers;
       a checksum of all that, 64 bits.
   The indices of cells are not saved, so a loaded sequence may be in other cells. All bytes are checked before the
   cache changes. */

#define SAMPI_KV_MAGIC   0x564B4D53u /* "SMKV" */
#define SAMPI_KV_VERSION 1u

/* Returns field i of a state. Fields are the settings that must be equal in the cache that loads the state; that cache
   compares them with its own. Without rope, the fields of rope are 0, because the settings do not matter. */
static uint32_t sampi_kv_field(const sampi_kv *kv, size_t i)
{
    const samp_kv_params *set = &kv->set;
    bool rope = set->rope != SAMP_ROPE_NONE;
    uint32_t theta;
    memcpy(&theta, &set->rope_theta, 4);
    switch (i) {
        case 0: return SAMPI_KV_MAGIC;
        case 1: return SAMPI_KV_VERSION;
        case 2: return (uint32_t)set->type_k;
        case 3: return (uint32_t)set->type_v;
        case 4: return (uint32_t)set->rope;
        case 5: return rope ? set->n_embd_head : 0;
        case 6: return rope ? set->n_rot : 0;
        case 7: return rope ? theta : 0;
        case 8: return set->n_layer;
        default: return (uint32_t)kv->rows[i - 9].n;
    }
}

/* Returns the number of fields: 9, and one for each buffer (the default of the switch above). */
static size_t sampi_kv_n_fields(const sampi_kv *kv) { return 9 + 2 * (size_t)kv->set.n_layer; }

/* Returns the bytes of a state of n cells: fields, n, pos, delta and elements of each cell, checksum. */
static uint64_t sampi_kv_state_bytes(const sampi_kv *kv, uint32_t n)
{
    uint64_t per_cell = 8;
    for (size_t i = 0; i < 2 * (size_t)kv->set.n_layer; i++)
        per_cell += kv->rows[i].n * sampi_kv_width(kv->rows[i].half);
    return 4 * sampi_kv_n_fields(kv) + 4 + n * per_cell + 8;
}

/* Returns the number of tokens of a sequence. */
static uint32_t sampi_kv_count(const samp_kv *kv, int32_t seq)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < kv->size; i++) n += sampi_kv_has(&kv->cells[i], seq);
    return n;
}

/* The size is that for the sequence as it is now. It is 0 if there is no such sequence; the state of an empty sequence
   still has fields and a checksum. */
SAMP_API size_t samp_kv_state_size(const samp_kv *kv, int32_t seq)
{
    if (sampi_kv_check_seq(kv, seq)) return 0;
    return (size_t)sampi_kv_state_bytes(sampi_kv_of(kv), sampi_kv_count(kv, seq));
}

/* Appends the lowest n bytes of x to a state, and advances *to. samp_kv_state_save has checked the size of the whole
   state. */
static void sampi_kv_write(char **to, uint64_t x, size_t n)
{
    x = sampi_little(x);
    memcpy(*to, &x, n);
    *to += n;
}

/* Returns a number of n bytes in a state, at any alignment. */
static uint64_t sampi_kv_number(const char *bytes, size_t n)
{
    uint64_t x = 0;
    memcpy(&x, bytes, n);
    return sampi_little(x);
}

/* Returns word i of a state. */
static uint32_t sampi_kv_word(const char *bytes, size_t i) { return (uint32_t)sampi_kv_number(bytes + 4 * i, 4); }

/* Converts the elements of a cell from this machine's byte order to a state's, or back. */
static void sampi_kv_little(const sampi_kv_rows *rows, size_t cell)
{
    size_t width = sampi_kv_width(rows->half);
    for (size_t i = 0; SAMPI_BIG_ENDIAN && i < rows->n; i++) {
        char *p = rows->data + cell * rows->stride + i * rows->step;
        for (size_t k = 0; k < width / 2; k++) {
            char first = p[k];
            p[k] = p[width - 1 - k];
            p[width - 1 - k] = first;
        }
    }
}

/* Returns a description of the elements as a state stores them, at `data`: one cell after another, never transposed. So
   a state fits caches of both layouts, and sampi_kv_copy can save and load it. Loading only reads `data`. */
static sampi_kv_rows sampi_kv_packed(const sampi_kv_rows *rows, char *data)
{
    sampi_kv_rows packed = *rows;
    packed.data = data;
    packed.step = sampi_kv_width(rows->half);
    packed.stride = packed.n * packed.step;
    return packed;
}

/* Positions, keys and values are stored in the order of the cells. A pending shift is saved as pending, with keys that
   are not rotated yet. Nothing is written unless the whole state fits. */
SAMP_API int samp_kv_state_save(const samp_kv *cache, int32_t seq, void *bytes, size_t size)
{
    const sampi_kv *kv = sampi_kv_of(cache);
    int status = sampi_kv_check_seq(cache, seq);
    if (!status && !bytes) status = SAMP_E_NULL;
    if (status) return status;
    uint32_t n = sampi_kv_count(cache, seq);
    if (size < sampi_kv_state_bytes(kv, n)) return SAMP_E_WORKSPACE;
    char *to = (char *)bytes;
    for (size_t i = 0; i < sampi_kv_n_fields(kv); i++) sampi_kv_write(&to, sampi_kv_field(kv, i), 4);
    sampi_kv_write(&to, n, 4);
    for (uint32_t i = 0; i < cache->size; i++) {
        if (!sampi_kv_has(&cache->cells[i], seq)) continue;
        sampi_kv_write(&to, (uint32_t)cache->cells[i].pos, 4);
        sampi_kv_write(&to, (uint32_t)cache->cells[i].delta, 4);
    }
    for (size_t k = 0; k < 2 * (size_t)kv->set.n_layer; k++) {
        sampi_kv_rows packed = sampi_kv_packed(&kv->rows[k], to);
        size_t written = 0;
        for (uint32_t i = 0; i < cache->size; i++) {
            if (!sampi_kv_has(&cache->cells[i], seq)) continue;
            sampi_kv_copy(&packed, written, &kv->rows[k], i);
            sampi_kv_little(&packed, written++);
        }
        to += n * packed.stride;
    }
    sampi_kv_write(&to, sampi_checksum(bytes, (size_t)(to - (char *)bytes)), 8);
    return SAMP_OK;
}

/* Checks that kv could have saved this state, and sets *n to its number of cells. The bytes are not trusted: the size
   is compared before anything inside is read, and every position is checked. */
static int sampi_kv_check_state(const sampi_kv *kv, const char *bytes, size_t size, uint32_t *n)
{
    size_t fields = sampi_kv_n_fields(kv);
    if (size < sampi_kv_state_bytes(kv, 0)) return SAMP_E_FORMAT;
    for (size_t i = 0; i < fields; i++)
        if (sampi_kv_word(bytes, i) != sampi_kv_field(kv, i)) return SAMP_E_FORMAT;
    *n = sampi_kv_word(bytes, fields);
    if (*n > (uint32_t)1 << 26 || size != sampi_kv_state_bytes(kv, *n)) return SAMP_E_FORMAT;
    if (sampi_kv_number(bytes + size - 8, 8) != sampi_checksum(bytes, size - 8)) return SAMP_E_FORMAT;
    for (uint32_t i = 0; i < *n; i++) {
        int64_t pos = (int32_t)sampi_kv_word(bytes, fields + 1 + 2 * (size_t)i);
        int64_t born = pos - (int32_t)sampi_kv_word(bytes, fields + 2 + 2 * (size_t)i);
        if (pos < 0 || pos >= INT32_MAX || born < 0 || born >= INT32_MAX) return SAMP_E_FORMAT;
    }
    return SAMP_OK;
}

/* Returns how many cells would be free without the sequence seq: the free cells, and those that only seq has.
   samp_kv_state_load calls this function before it removes anything. */
static uint32_t sampi_kv_room_without(const samp_kv *kv, int32_t seq)
{
    uint64_t others = ~((uint64_t)1 << seq);
    uint32_t room = 0;
    for (uint32_t i = 0; i < kv->size; i++) room += (kv->cells[i].seq & others) == 0;
    return room;
}

/* Loads cell i of the n cells of a checked state into the free cell `cell`, and gives it to the sequences of `set`. The
   caller counts the cell in `used`. */
static void sampi_kv_load_cell(sampi_kv *kv, const char *bytes, uint32_t i, uint32_t n, uint32_t cell, uint64_t set)
{
    samp_kv_cell *c = &kv->base.cells[cell];
    size_t words = sampi_kv_n_fields(kv) + 1; /* the number of words before the cells */
    char *data = (char *)(uintptr_t)bytes + 4 * words + 8 * (size_t)n;
    for (size_t k = 0; k < 2 * (size_t)kv->set.n_layer; k++) {
        sampi_kv_rows packed = sampi_kv_packed(&kv->rows[k], data);
        sampi_kv_copy(&kv->rows[k], cell, &packed, i);
        sampi_kv_little(&kv->rows[k], cell);
        data += n * packed.stride;
    }
    c->pos = (int32_t)sampi_kv_word(bytes, words + 2 * (size_t)i);
    c->delta = (int32_t)sampi_kv_word(bytes, words + 2 * (size_t)i + 1);
    c->seq = set;
    if (c->delta != 0) kv->base.has_shift = true;
}

/* All checks are made before the old sequence is removed, so a bad state changes nothing. After the checks nothing can
   fail. */
SAMP_API int samp_kv_state_load(samp_kv *cache, int32_t seq, const void *bytes, size_t size)
{
    sampi_kv *kv = (sampi_kv *)cache;
    uint32_t n;
    int status = sampi_kv_check_seq(cache, seq);
    if (!status) status = bytes ? sampi_kv_check_state(kv, (const char *)bytes, size, &n) : SAMP_E_NULL;
    if (status) return status;
    if (sampi_kv_room_without(cache, seq) < n) return SAMP_E_FULL;

    samp_kv_seq_rm(cache, seq, -1, -1);
    uint32_t cell = cache->head;
    for (uint32_t i = 0; i < n; i++) {
        while (!sampi_kv_is_free(cache, cell)) cell = (cell + 1) % cache->size;
        sampi_kv_load_cell(kv, (const char *)bytes, i, n, cell, (uint64_t)1 << seq);
    }
    cache->used += n;
    sampi_kv_set_n(cache);
    return SAMP_OK;
}
