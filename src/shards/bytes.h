/* ---- shards: messages as bytes ----
   Functions that read and write a message's head and its parcels in place, little-endian. shards/head.h lists their
   members. sampi_next_of_message checks that a parcel fits the message. */

static uint64_t sampi_wire_get(const unsigned char *p, size_t n)
{
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++) x |= (uint64_t)p[i] << 8 * i;
    return x;
}
static void sampi_wire_put(unsigned char *p, uint64_t x, size_t n)
{
    for (size_t i = 0; i < n; i++) p[i] = (unsigned char)(x >> 8 * i);
}
static uint32_t sampi_wire_u24(const unsigned char *p) { return (uint32_t)sampi_wire_get(p, 3); }
static uint32_t sampi_wire_u32(const unsigned char *p) { return (uint32_t)sampi_wire_get(p, 4); }
static float sampi_wire_float(const unsigned char *p) { return sampi_float_of(sampi_wire_u32(p)); }
static void sampi_wire_put_float(unsigned char *p, float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    sampi_wire_put(p, u, 4);
}

/* The offsets of the members of a message's head. */
enum {
    SAMPI_AT_MAGIC = 0,
    SAMPI_AT_FORMAT = 4,
    SAMPI_AT_ROUND = 8,
    SAMPI_AT_STATUS = 12,
    SAMPI_AT_SAME = 16, /* the smallest checksum, then the largest */
    SAMPI_AT_SHAPE = 32,
    SAMPI_AT_SLICES = 48,
    SAMPI_AT_RANKS = 56,
    SAMPI_AT_PARCELS = 60
};

/* A parcel, which is a record in a message. The pointers point into the message. */
typedef struct sampi_parcel {
    sampi_parcel_kind kind;
    uint32_t row, room, n;
    unsigned char *head, *fields, *entries;
    size_t entry; /* the bytes of an entry */
} sampi_parcel;

/* Returns the size in bytes of a parcel with its head, rounded up to a multiple of 8. */
static size_t sampi_parcel_size(sampi_parcel_kind kind, size_t room)
{
    size_t size = SAMPI_PARCEL_HEAD + SAMPI_PARCEL_FACTS[kind].fields + room * SAMPI_PARCEL_FACTS[kind].entry;
    return (size + 7) & ~(size_t)7;
}

static unsigned char *sampi_parcel_entry(const sampi_parcel *p, size_t i) { return p->entries + i * p->entry; }

static void sampi_set_entries(sampi_parcel *p, size_t n)
{
    p->n = (uint32_t)n;
    sampi_wire_put(p->head + 12, n, 4);
}

static sampi_parcel sampi_parcel_at(unsigned char *at, sampi_parcel_kind kind)
{
    sampi_parcel p;
    p.kind = kind;
    p.row = sampi_wire_u32(at + 4);
    p.room = sampi_wire_u32(at + 8);
    p.n = sampi_wire_u32(at + 12);
    p.head = at;
    p.fields = at + SAMPI_PARCEL_HEAD;
    p.entry = SAMPI_PARCEL_FACTS[kind].entry;
    p.entries = p.fields + SAMPI_PARCEL_FACTS[kind].fields;
    return p;
}

/* Makes an empty parcel at the address `at`, where all bytes are 0. */
static sampi_parcel sampi_new_parcel(unsigned char *at, sampi_parcel_kind kind, size_t row, size_t room)
{
    sampi_wire_put(at, (uint64_t)kind, 4);
    sampi_wire_put(at + 4, row, 4);
    sampi_wire_put(at + 8, room, 4);
    return sampi_parcel_at(at, kind);
}

/* Reads the parcel at offset *at of a message of n bytes, and moves *at to the next one. Returns false if there is no
   parcel, or it does not fit the message. */
static bool sampi_next_of_message(unsigned char *bytes, size_t n, size_t *at, sampi_parcel *p)
{
    if (n - *at < SAMPI_PARCEL_HEAD) return false;
    uint32_t kind = sampi_wire_u32(bytes + *at), room = sampi_wire_u32(bytes + *at + 8);
    if (kind == SAMPI_PARCEL_NONE || kind >= SAMPI_N_PARCELS || room > SAMP_MAX_VOCAB) return false;
    size_t size = sampi_parcel_size((sampi_parcel_kind)kind, room);
    if (n - *at < size) return false;
    *p = sampi_parcel_at(bytes + *at, (sampi_parcel_kind)kind);
    *at += size;
    return p->n <= p->room;
}
