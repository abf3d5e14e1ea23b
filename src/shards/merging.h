/* ---- shards: merging two messages ----
   samp_shard_merge, which a reduction over all ranks calls, merges two messages into one. The result does not depend on
   the order of two messages, nor on how more of them are grouped: if two entries are equal in order, their bytes
   decide. All bytes are checked before they are used. Merging with bytes that are not a message gives a head with a
   status, which stays through all further merges. This file works on messages alone, without rows and chains. */

static bool sampi_is_number(float x) { return x >= -FLT_MAX && x <= FLT_MAX; }

/* Are this kind's entries ordered by the distance from a mean, which is in the parcel? */
static bool sampi_is_by_mean(sampi_parcel_kind kind)
{
    return SAMPI_PARCEL_FACTS[kind].entries == SAMPI_ENTRIES_BY_MEAN;
}

/* Are this kind's entries a sorted list? Those of other kinds are in fixed places. */
static bool sampi_is_sorted_kind(sampi_parcel_kind kind)
{
    return SAMPI_PARCEL_FACTS[kind].entries >= SAMPI_ENTRIES_BY_SLICE;
}

/* Returns the id and logit by which an entry is ordered. Entries of SEGS have only an id. */
static samp_token_data sampi_entry_token(const sampi_parcel *p, const unsigned char *entry)
{
    samp_token_data d;
    d.id = (samp_token)sampi_wire_u24(entry);
    d.logit = SAMPI_PARCEL_FACTS[p->kind].entries == SAMPI_ENTRIES_BY_SLICE ? 0.0f : sampi_wire_float(entry + 3);
    d.p = 0.0f;
    return d;
}

static samp_token_data sampi_token_at(const sampi_parcel *p, size_t i)
{
    return sampi_entry_token(p, sampi_parcel_entry(p, i));
}

/* sampi_run_count returns the number of tokens with the value of an entry of RUNS, sampi_hist_count the number in the
   bucket of an entry of HIST. */
static uint32_t sampi_run_count(const unsigned char *entry) { return sampi_wire_u24(entry + 7); }
static uint32_t sampi_hist_count(const unsigned char *entry) { return sampi_wire_u24(entry + 8); }

/* Returns the order of a parcel's entries. A merge knows nothing of the row, so RUNS contains its mean. */
static sampi_order sampi_order_of_parcel(const sampi_parcel *p)
{
    sampi_order order = SAMPI_BY_LOGIT;
    if (!sampi_is_by_mean(p->kind)) return order;
    order.score = sampi_typical_score;
    order.max = (double)sampi_wire_float(p->fields);
    order.mean = sampi_from_bits(sampi_wire_get(p->fields + 8, 8));
    return order;
}

/* Does entry a come before b? If they are equal in order, their bytes decide, so that the result of a merge does not
   depend on which message is first. */
static bool sampi_entry_before(const sampi_parcel *p, const unsigned char *a, const unsigned char *b)
{
    const sampi_order order = sampi_order_of_parcel(p);
    samp_token_data x = sampi_entry_token(p, a), y = sampi_entry_token(p, b);
    if (sampi_before(&order, &x, &y)) return true;
    return !sampi_before(&order, &y, &x) && memcmp(a, b, p->entry) < 0;
}

/* Could a rank have sent this parcel? Then all numbers are valid and in order, and only zeros follow them. */
static bool sampi_parcel_is_good(const sampi_parcel *p)
{
    const unsigned char *end = p->head + sampi_parcel_size(p->kind, p->room);
    for (const unsigned char *rest = sampi_parcel_entry(p, p->n); rest < end; rest++)
        if (*rest) return false;
    const int number = SAMPI_PARCEL_FACTS[p->kind].number, zero = SAMPI_PARCEL_FACTS[p->kind].zero;
    if (zero >= 0 && sampi_wire_u32(p->fields + zero)) return false;
    if (number >= 0 && sampi_wire_float(p->fields + number) != sampi_wire_float(p->fields + number)) return false;
    if (SAMPI_PARCEL_FACTS[p->kind].entries == SAMPI_ENTRIES_PLACED) return p->n == p->room;
    if (sampi_is_by_mean(p->kind)) {
        double mean = sampi_order_of_parcel(p).mean;
        if (!sampi_is_number(sampi_wire_float(p->fields)) || !(mean >= 0.0 && mean <= (double)FLT_MAX)) return false;
    }
    for (uint32_t i = 0; i < p->n && sampi_is_sorted_kind(p->kind); i++) {
        if (!sampi_is_number(sampi_token_at(p, i).logit)) return false;
        if (i > 0 && sampi_entry_before(p, sampi_parcel_entry(p, i), sampi_parcel_entry(p, i - 1))) return false;
    }
    return true;
}

/* Are these bytes a valid message from the first to the last? */
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

/* Returns the status of a merge of two messages with these statuses; 0 means no error. */
static int32_t sampi_merge_status(int32_t a, int32_t b) { return a == 0 ? b : b == 0 ? a : a > b ? a : b; }

/* Turns a message into a head with only a status, which replaces every message that it is merged with. */
static void sampi_break_message(unsigned char *bytes, size_t n, int32_t status)
{
    memset(bytes, 0, n);
    if (n < SAMPI_SHARD_HEAD) return;
    sampi_wire_put(bytes, SAMPI_SHARD_MAGIC, 4);
    sampi_wire_put(bytes + SAMPI_AT_FORMAT, SAMPI_SHARD_FORMAT, 4);
    sampi_wire_put(bytes + SAMPI_AT_STATUS, (uint32_t)status, 4);
}

/* Returns the status of a message, or SAMP_E_FORMAT for bytes that are not a message. */
static int32_t sampi_status_of_bytes(unsigned char *bytes, size_t n)
{
    if (n < SAMPI_SHARD_HEAD || sampi_wire_u32(bytes) != SAMPI_SHARD_MAGIC) return SAMP_E_FORMAT;
    int32_t status = (int32_t)sampi_wire_u32(bytes + SAMPI_AT_STATUS);
    return status > 0 ? SAMP_E_FORMAT : status;
}

/* Do both messages have the same parcels, of the same rows and sizes? */
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

/* Merges two pairs of a smallest and a largest checksum into one pair. */
static void sampi_widen_wire(unsigned char *into, const unsigned char *from)
{
    uint64_t lo = sampi_wire_get(from, 8), hi = sampi_wire_get(from + 8, 8);
    if (lo < sampi_wire_get(into, 8)) sampi_wire_put(into, lo, 8);
    if (hi > sampi_wire_get(into + 8, 8)) sampi_wire_put(into + 8, hi, 8);
}

/* Does the float b replace a in a maximum? A NaN does; of two NaN the one with the smaller bits is kept. */
static bool sampi_top_is_above(uint32_t b, uint32_t a)
{
    float x = sampi_float_of(b), y = sampi_float_of(a);
    if (x != x || y != y) return x != x && (y == y || b < a);
    return x > y || (x == y && b < a);
}

/* Merges sorted entries and keeps the first ones. It works from the end, so `into` needs no other memory. */
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

/* Does the token at b [8], an id and a logit, replace the token at a? It does if it comes before it in order, or with
   `last` after it. If they are equal in order, the bytes decide. */
static bool sampi_token_wins(const unsigned char *b, const unsigned char *a, bool last)
{
    samp_token_data d = { (samp_token)sampi_wire_u32(a), sampi_wire_float(a + 4), 0.0f };
    samp_token_data e = { (samp_token)sampi_wire_u32(b), sampi_wire_float(b + 4), 0.0f };
    if (sampi_before(&SAMPI_BY_LOGIT, last ? &d : &e, last ? &e : &d)) return true;
    return !sampi_before(&SAMPI_BY_LOGIT, last ? &e : &d, last ? &d : &e) && memcmp(b, a, 8) < 0;
}

/* Does item b replace item a, which is one of those in shards/head.h that are kept whole? If they are equal in order,
   the bytes decide; a token with a negative id is no token. */
static bool sampi_item_wins(char item, const unsigned char *b, const unsigned char *a)
{
    const uint64_t x = sampi_wire_get(a, item == 'r' ? 8 : 4), y = sampi_wire_get(b, item == 'r' ? 8 : 4);
    const float l = sampi_float_of((uint32_t)x), m = sampi_float_of((uint32_t)y);
    const bool none = (int32_t)(uint32_t)x < 0, none_b = (int32_t)(uint32_t)y < 0;
    switch (item) {
        case 'm': return sampi_top_is_above((uint32_t)y, (uint32_t)x);
        case 'l': return m < l || (m == l && memcmp(b, a, 4) < 0);
        case 'd': return y != x ? y < x : memcmp(b, a, 16) < 0;
        case 'r': return y != x ? y < x : sampi_token_wins(b + 8, a + 8, false);
        default: return none_b ? none && memcmp(b, a, 8) < 0 : none || sampi_token_wins(b, a, true);
    }
}

/* Merges the items of two parcels of one kind, row and size: their fields, or an entry in a fixed place. */
static void sampi_merge_items(unsigned char *a, const unsigned char *b, const char *item)
{
    for (size_t size; *item; item++, a += size, b += size) {
        size = *item == 'c' ? 3 : *item == 'm' || *item == 'l' ? 4 : *item == 'u' || *item == 't' ? 8 : 16;
        if (*item == 'u' || *item == 'c') {
            sampi_add_wire(a, b, size);
        } else if (*item == 'w') {
            sampi_u128 x = { sampi_wire_get(a, 8), sampi_wire_get(a + 8, 8) };
            sampi_u128 y = { sampi_wire_get(b, 8), sampi_wire_get(b + 8, 8) };
            x = sampi_add128(x, y);
            sampi_wire_put(a, x.hi, 8);
            sampi_wire_put(a + 8, x.lo, 8);
        } else if (sampi_item_wins(*item, b, a)) {
            memcpy(a, b, size);
        }
    }
}

static void sampi_merge_parcel(sampi_parcel *into, const sampi_parcel *from)
{
    const char *items = SAMPI_PARCEL_FACTS[into->kind].items;
    bool placed = SAMPI_PARCEL_FACTS[into->kind].entries == SAMPI_ENTRIES_PLACED;
    for (uint32_t i = 0; i < (placed ? into->n : 1); i++)
        sampi_merge_items(placed ? sampi_parcel_entry(into, i) : into->fields,
                          placed ? sampi_parcel_entry(from, i) : from->fields, items);
    if (sampi_is_sorted_kind(into->kind)) sampi_merge_sorted(into, from);
}

SAMP_API void samp_shard_merge(void *into, const void *from, size_t n)
{
    unsigned char *a = (unsigned char *)into, *b = (unsigned char *)(uintptr_t)from; /* not written */
    if (!a || !b) return;
    int32_t status = sampi_merge_status(sampi_status_of_bytes(a, n), sampi_status_of_bytes(b, n));
    if (!sampi_message_is_good(a, n) || !sampi_message_is_good(b, n) || !sampi_same_shape(a, b, n)) {
        sampi_break_message(a, n, sampi_merge_status(status, SAMP_E_FORMAT));
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
