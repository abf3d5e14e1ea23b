/* ---- shards: merging two messages ----
   samp_shard_merge, which a reduction over all ranks calls. The result is the same in either order of two messages,
   and in any grouping of more: where two entries are equal in the order that counts, their bytes decide. Bytes from
   outside are checked in full before they are used. What is no message makes the merge a head with a status, which
   stays through all further merges. The room knows messages alone, no row and no chain. */

static bool sampi_is_number(float x) { return x >= -FLT_MAX && x <= FLT_MAX; }

/* Are its entries in order of the distance from a mean, which it tells? */
static bool sampi_is_by_mean(sampi_parcel_kind kind)
{
    return kind == SAMPI_PARCEL_RUNS || kind == SAMPI_PARCEL_NEAR;
}

/* What entries are in order of: SEGS by the slice alone. */
static samp_token_data sampi_entry_token(const sampi_parcel *p, const unsigned char *entry)
{
    samp_token_data d;
    d.id = (samp_token)sampi_wire_u24(entry);
    d.logit = p->kind == SAMPI_PARCEL_SEGS ? 0.0f : sampi_wire_float(entry + 3);
    d.p = 0.0f;
    return d;
}

/* How many tokens of its slice have an entry of RUNS' value, and how many are in HIST's bucket. */
static uint32_t sampi_run_count(const unsigned char *entry) { return sampi_wire_u24(entry + 7); }
static uint32_t sampi_hist_count(const unsigned char *entry) { return sampi_wire_u24(entry + 8); }

/* A parcel's own order: a merge knows no row, so RUNS and NEAR bring their mean along. */
static sampi_order sampi_order_of_parcel(const sampi_parcel *p)
{
    sampi_order order = SAMPI_BY_LOGIT;
    if (!sampi_is_by_mean(p->kind)) return order;
    order.score = sampi_typical_score;
    order.max = (double)sampi_wire_float(p->fields);
    order.mean = sampi_from_bits(sampi_wire_get(p->fields + 8, 8));
    return order;
}

/* Does entry a come before b? Of what is the same in order, the bytes decide, so that a merge is the same both ways. */
static bool sampi_entry_before(const sampi_parcel *p, const unsigned char *a, const unsigned char *b)
{
    const sampi_order order = sampi_order_of_parcel(p);
    samp_token_data x = sampi_entry_token(p, a), y = sampi_entry_token(p, b);
    if (sampi_before(&order, &x, &y)) return true;
    return !sampi_before(&order, &y, &x) && memcmp(a, b, p->entry) < 0;
}

/* Do its entries stand in order, as many as there are? Those of others stand in fixed places. */
static bool sampi_is_sorted_kind(sampi_parcel_kind kind)
{
    return kind == SAMPI_PARCEL_LIST || sampi_is_by_mean(kind) || kind == SAMPI_PARCEL_SEGS ||
           kind == SAMPI_PARCEL_RAW || kind == SAMPI_PARCEL_LEFT;
}

/* Are the contents what a rank would send: numbers, in order, and zeros behind them? */
static bool sampi_parcel_is_good(const sampi_parcel *p)
{
    const unsigned char *end = p->head + sampi_parcel_size(p->kind, p->room);
    for (const unsigned char *rest = sampi_parcel_entry(p, p->n); rest < end; rest++)
        if (*rest) return false;
    if (p->kind == SAMPI_PARCEL_LIST && sampi_wire_u32(p->fields + 12)) return false;
    bool tells = p->kind == SAMPI_PARCEL_RAW || p->kind == SAMPI_PARCEL_LEFT;
    if (tells && (sampi_wire_float(p->fields) != sampi_wire_float(p->fields) || sampi_wire_u32(p->fields + 4)))
        return false;
    if (p->kind == SAMPI_PARCEL_HIST || p->kind == SAMPI_PARCEL_TOP) return p->n == p->room;
    if (sampi_is_by_mean(p->kind)) {
        double mean = sampi_order_of_parcel(p).mean;
        if (!sampi_is_number(sampi_wire_float(p->fields)) || !(mean >= 0.0 && mean <= (double)FLT_MAX)) return false;
    }
    float l = p->kind == SAMPI_PARCEL_LIST ? sampi_wire_float(p->fields + 8) : 0.0f;
    if (p->kind == SAMPI_PARCEL_DRAW && ~sampi_wire_u32(p->fields)) l = sampi_wire_float(p->fields + 8);
    if (p->kind == SAMPI_PARCEL_REACH || p->kind == SAMPI_PARCEL_RACE) l = sampi_wire_float(p->fields + 12);
    if (l != l) return false;
    for (uint32_t i = 0; i < p->n && sampi_is_sorted_kind(p->kind); i++) {
        if (!sampi_is_number(sampi_entry_token(p, sampi_parcel_entry(p, i)).logit)) return false;
        if (i > 0 && sampi_entry_before(p, sampi_parcel_entry(p, i), sampi_parcel_entry(p, i - 1))) return false;
    }
    return true;
}

/* Is it a message from its first byte to its last? */
static bool sampi_message_is_good(unsigned char *bytes, size_t n)
{
    if (n < SAMPI_SHARD_HEAD || sampi_wire_u32(bytes) != SAMPI_SHARD_MAGIC) return false;
    if (sampi_wire_u32(bytes + SAMPI_AT_FORMAT) != SAMPI_SHARD_FORMAT) return false;
    if ((int32_t)sampi_wire_u32(bytes + SAMPI_AT_STATUS) > 0) return false;
    uint32_t n_parcels = sampi_wire_u32(bytes + SAMPI_AT_PARCELS);
    size_t at = SAMPI_SHARD_HEAD;
    sampi_parcel p;
    for (uint32_t i = 0; i < n_parcels; i++)
        if (!sampi_next_of_message(bytes, n, &at, &p) || !sampi_parcel_is_good(&p)) return false;
    return n_parcels > 0 && at == n;
}

/* Of two statuses the one that is told; 0 is none. */
static int32_t sampi_worse(int32_t a, int32_t b) { return a == 0 ? b : b == 0 ? a : a > b ? a : b; }

/* What a merge with something that is no message is: a head alone, which takes the place of all that it meets. */
static void sampi_break_message(unsigned char *bytes, size_t n, int32_t status)
{
    memset(bytes, 0, n);
    if (n < SAMPI_SHARD_HEAD) return;
    sampi_wire_put(bytes, SAMPI_SHARD_MAGIC, 4);
    sampi_wire_put(bytes + SAMPI_AT_FORMAT, SAMPI_SHARD_FORMAT, 4);
    sampi_wire_put(bytes + SAMPI_AT_STATUS, (uint32_t)status, 4);
}

/* The status of a message, or of what is none. */
static int32_t sampi_status_of_bytes(unsigned char *bytes, size_t n)
{
    if (n < SAMPI_SHARD_HEAD || sampi_wire_u32(bytes) != SAMPI_SHARD_MAGIC) return SAMP_E_FORMAT;
    int32_t status = (int32_t)sampi_wire_u32(bytes + SAMPI_AT_STATUS);
    return status > 0 ? SAMP_E_FORMAT : status;
}

/* The same parcels, of the same rows and sizes? */
static bool sampi_same_shape(unsigned char *a, unsigned char *b, size_t n)
{
    size_t at = SAMPI_SHARD_HEAD, at_b = at;
    sampi_parcel p, q;
    if (memcmp(a + SAMPI_AT_ROUND, b + SAMPI_AT_ROUND, 4) != 0) return false;
    if (memcmp(a + SAMPI_AT_PARCELS, b + SAMPI_AT_PARCELS, 4) != 0) return false;
    while (at < n) {
        if (!sampi_next_of_message(a, n, &at, &p) || !sampi_next_of_message(b, n, &at_b, &q)) return false;
        if (at != at_b || memcmp(p.head, q.head, 12) != 0) return false;
        if (sampi_is_by_mean(p.kind) && memcmp(p.fields, q.fields, 16) != 0) return false;
    }
    return true;
}

static void sampi_add_wire(unsigned char *into, const unsigned char *from, size_t n)
{
    sampi_wire_put(into, sampi_wire_get(into, n) + sampi_wire_get(from, n), n);
}

/* Least and largest of a checksum. */
static void sampi_widen_wire(unsigned char *into, const unsigned char *from)
{
    uint64_t lo = sampi_wire_get(from, 8), hi = sampi_wire_get(from + 8, 8);
    if (lo < sampi_wire_get(into, 8)) sampi_wire_put(into, lo, 8);
    if (hi > sampi_wire_get(into + 8, 8)) sampi_wire_put(into + 8, hi, 8);
}

/* Is the float b to take the place of a in a maximum? A NaN wins, of two that with the smaller bits. */
static bool sampi_top_is_above(uint32_t b, uint32_t a)
{
    float x = sampi_float_of(b), y = sampi_float_of(a);
    if (x != x || y != y) return x != x && (y == y || b < a);
    return x > y || (x == y && b < a);
}

/* Sorted entries of both, the first ones in order: from the end, so that `into` is its own room. */
static void sampi_merge_sorted(sampi_parcel *into, const sampi_parcel *from)
{
    size_t i = 0, j = 0, n = (size_t)into->n + from->n, size = into->entry;
    if (n > into->room) n = into->room;
    while (i + j < n) {
        if (j == from->n ||
            (i < into->n && !sampi_entry_before(into, sampi_parcel_entry(from, j), sampi_parcel_entry(into, i))))
            i++;
        else
            j++;
    }
    for (size_t k = n; k > 0; k--) {
        bool take = i == 0 || (j > 0 && !sampi_entry_before(into, sampi_parcel_entry(from, j - 1),
                                                            sampi_parcel_entry(into, i - 1)));
        memmove(sampi_parcel_entry(into, k - 1), take ? sampi_parcel_entry(from, --j) : sampi_parcel_entry(into, --i),
                size);
    }
    sampi_set_entries(into, n);
}

/* Of two draws, races or reaches [16] the one that counts: the earlier attempt; the shorter time, else the first in
   order; the later candidate in order. Of the same the bytes decide. */
static bool sampi_field_wins(const sampi_parcel *into, const unsigned char *a, const unsigned char *b)
{
    if (into->kind == SAMPI_PARCEL_DRAW) {
        uint32_t x = sampi_wire_u32(a), y = sampi_wire_u32(b);
        return y != x ? y < x : memcmp(b, a, 16) < 0;
    }
    samp_token_data d = { (samp_token)sampi_wire_u32(a + 8), sampi_wire_float(a + 12), 0.0f };
    samp_token_data e = { (samp_token)sampi_wire_u32(b + 8), sampi_wire_float(b + 12), 0.0f };
    if (into->kind == SAMPI_PARCEL_RACE) {
        uint64_t x = sampi_wire_get(a, 8), y = sampi_wire_get(b, 8);
        if (y != x) return y < x;
        if (sampi_before(&SAMPI_BY_LOGIT, &e, &d)) return true;
        return !sampi_before(&SAMPI_BY_LOGIT, &d, &e) && memcmp(b + 8, a + 8, 8) < 0;
    }
    if (e.id < 0 || d.id < 0) return e.id >= 0 || (d.id < 0 && memcmp(b + 8, a + 8, 8) < 0);
    if (sampi_before(&SAMPI_BY_LOGIT, &d, &e)) return true;
    return !sampi_before(&SAMPI_BY_LOGIT, &e, &d) && memcmp(b + 8, a + 8, 8) < 0;
}

static void sampi_merge_list_fields(unsigned char *into, const unsigned char *from)
{
    float x = sampi_wire_float(into + 8), y = sampi_wire_float(from + 8);
    sampi_add_wire(into, from, 8);
    if (y < x || (y == x && memcmp(from + 8, into + 8, 4) < 0)) memcpy(into + 8, from + 8, 4);
}

/* Two parcels of one kind, row and room. Fields first; the sorted entries of both are merged behind the switch. */
static void sampi_merge_parcel(sampi_parcel *into, const sampi_parcel *from)
{
    unsigned char *a = into->fields;
    const unsigned char *b = from->fields;
    switch (into->kind) {
        case SAMPI_PARCEL_TOP:
            for (uint32_t i = 0; i < into->n; i++)
                if (sampi_top_is_above(sampi_wire_u32(sampi_parcel_entry(from, i)),
                                       sampi_wire_u32(sampi_parcel_entry(into, i))))
                    memcpy(sampi_parcel_entry(into, i), sampi_parcel_entry(from, i), 4);
            break;
        case SAMPI_PARCEL_LIST: sampi_merge_list_fields(a, b); break;
        case SAMPI_PARCEL_RAW:
        case SAMPI_PARCEL_LEFT:
            if (sampi_top_is_above(sampi_wire_u32(b), sampi_wire_u32(a))) memcpy(a, b, 4);
            break;
        case SAMPI_PARCEL_RAW_SUMS:
        case SAMPI_PARCEL_LEFT_SUMS:
            for (int i = 0; i < 16; i += 8) sampi_add_wire(a + i, b + i, 8);
            break;
        case SAMPI_PARCEL_SUMS:
            for (int i = 0; i < 32; i += 8) sampi_add_wire(a + i, b + i, 8);
            break;
        case SAMPI_PARCEL_SIGMA: {
            sampi_u128 x = { sampi_wire_get(a + 16, 8), sampi_wire_get(a + 24, 8) };
            sampi_u128 y = { sampi_wire_get(b + 16, 8), sampi_wire_get(b + 24, 8) };
            for (int i = 0; i < 16; i += 8) sampi_add_wire(a + i, b + i, 8);
            x = sampi_add128(x, y);
            sampi_wire_put(a + 16, x.hi, 8);
            sampi_wire_put(a + 24, x.lo, 8);
            break;
        }
        case SAMPI_PARCEL_HIST:
            for (uint32_t i = 0; i < into->n; i++) {
                sampi_add_wire(sampi_parcel_entry(into, i), sampi_parcel_entry(from, i), 8);
                sampi_add_wire(sampi_parcel_entry(into, i) + 8, sampi_parcel_entry(from, i) + 8, 3);
            }
            break;
        case SAMPI_PARCEL_REACH:
            sampi_add_wire(a, b, 8);
            if (sampi_field_wins(into, a, b)) memcpy(a + 8, b + 8, 8);
            break;
        case SAMPI_PARCEL_DRAW:
        case SAMPI_PARCEL_RACE:
            if (sampi_field_wins(into, a, b)) memcpy(a, b, 16);
            break;
        case SAMPI_PARCEL_RUNS:
        case SAMPI_PARCEL_NEAR:
        case SAMPI_PARCEL_SEGS:
        case SAMPI_PARCEL_NONE:
        case SAMPI_N_PARCELS: break;
    }
    if (sampi_is_sorted_kind(into->kind)) sampi_merge_sorted(into, from);
}

SAMP_API void samp_shard_merge(void *into, const void *from, size_t n)
{
    unsigned char *a = (unsigned char *)into, *b = (unsigned char *)(uintptr_t)from; /* only read */
    if (!a || !b) return;
    int32_t status = sampi_worse(sampi_status_of_bytes(a, n), sampi_status_of_bytes(b, n));
    if (!sampi_message_is_good(a, n) || !sampi_message_is_good(b, n) || !sampi_same_shape(a, b, n)) {
        sampi_break_message(a, n, sampi_worse(status, SAMP_E_FORMAT));
        return;
    }
    sampi_wire_put(a + SAMPI_AT_STATUS, (uint32_t)status, 4);
    sampi_widen_wire(a + SAMPI_AT_SAME, b + SAMPI_AT_SAME);
    sampi_widen_wire(a + SAMPI_AT_SHAPE, b + SAMPI_AT_SHAPE);
    sampi_add_wire(a + SAMPI_AT_SLICES, b + SAMPI_AT_SLICES, 8);
    sampi_add_wire(a + SAMPI_AT_RANKS, b + SAMPI_AT_RANKS, 4);
    size_t at = SAMPI_SHARD_HEAD, at_b = at;
    sampi_parcel p, q;
    while (at < n && sampi_next_of_message(a, n, &at, &p) && sampi_next_of_message(b, n, &at_b, &q))
        sampi_merge_parcel(&p, &q);
}
