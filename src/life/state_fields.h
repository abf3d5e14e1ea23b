/* ---- saved states: fields ----
   The fields that a saved state is made of: integers, tokens, floats, windows, an mt19937. Each function takes one
   field in any of three directions (sampi_io_mode): it writes it or only counts its bytes, checks whether the bytes
   may be loaded, or loads them. The hooks `state` of samplers call these functions, in the same order each time. */

typedef enum sampi_io_mode { SAMPI_WRITE, SAMPI_CHECK, SAMPI_READ } sampi_io_mode;

struct sampi_io {
    sampi_io_mode mode;
    unsigned char *to;         /* where to write; NULL: only count */
    const unsigned char *from; /* [size] what to check or read */
    size_t size, at;
    uint8_t bad; /* once set, nothing more is looked at; 2: for want of memory, 4: of a sampler's limits */
    void *made;  /* what a load has made while it checked, of samplers whose state is more than numbers, */
    void (*unmake)(void *made); /* and how it goes, if the bytes are bad */
};

/* An integer of n bytes: x if it is to be written, else what stands there. All go through here, least significant
   byte first. Sets bad instead of reading behind the end. */
static uint64_t sampi_io_int(sampi_io *io, uint64_t x, size_t n)
{
    if (io->mode != SAMPI_WRITE) {
        x = 0;
        io->bad |= io->size - io->at < n;
        if (io->bad) return 0;
        for (size_t i = 0; i < n; i++) x |= (uint64_t)io->from[io->at + i] << 8 * i;
    } else if (io->to) {
        for (size_t i = 0; i < n; i++) io->to[io->at + i] = (unsigned char)(x >> 8 * i);
    }
    io->at += n;
    return x;
}

/* Any value is good: positions, and counts of random numbers. */
static void sampi_io_u64(sampi_io *io, uint64_t *x)
{
    uint64_t y = sampi_io_int(io, *x, 8);
    if (io->mode == SAMPI_READ) *x = y;
}

/* At least `lowest`: 0 for a token, -1 where there may be none. Not compared with a vocabulary, which samplers don't
   know; samp_accept takes any token too. */
static void sampi_io_token(sampi_io *io, samp_token *x, samp_token lowest)
{
    samp_token y = (samp_token)(uint32_t)sampi_io_int(io, (uint32_t)*x, 4);
    io->bad |= y < lowest;
    if (io->mode == SAMPI_READ) *x = y;
}

/* In [lo, hi], so that damage which the checksum lets through can't make a NaN of later draws; any value if lo is
   NaN. By its bits, so it comes back exactly. */
static void sampi_io_float(sampi_io *io, float *x, float lo, float hi)
{
    uint32_t u;
    float y;
    memcpy(&u, x, 4);
    u = (uint32_t)sampi_io_int(io, u, 4);
    memcpy(&y, &u, 4);
    io->bad |= lo == lo && !(y >= lo && y <= hi);
    if (io->mode == SAMPI_READ) *x = y;
}

/* A window of tokens: how many, then the oldest first, so the bytes don't tell where in the ring the tokens stood.
   Loaded they stand from 0 on. Of penalties, dry and chains. */
static SAMPI_COLD void sampi_io_ring(sampi_io *io, sampi_ring *r, samp_token *token)
{
    uint32_t n = (uint32_t)sampi_io_int(io, r->size, 4);
    io->bad |= n > r->cap;
    for (uint32_t i = 0; i < n && !io->bad; i++) {
        samp_token x = io->mode == SAMPI_WRITE ? sampi_ring_at(r, token, n - 1 - i) : 0;
        sampi_io_token(io, &x, 0);
        if (io->mode == SAMPI_READ) token[i] = x;
    }
    if (io->mode != SAMPI_READ) return;
    r->size = n;
    r->head = n < r->cap ? n : 0;
}

#ifndef SAMP_NO_MT19937
/* More than any generation draws: bytes that say so are no state. */
#define SAMPI_MAX_DRAWN ((uint64_t)1 << 32)

/* How many outputs were drawn (that tells which is next), and the state they come from. It makes new ones 624 at a
   time, when the next is wanted: after a multiple of 624 `next` is still 624. */
static void sampi_io_mt(sampi_io *io, sampi_sampler *s)
{
    if (!sampi_traits_of(s->kind)->draws || !sampi_is_llama_cpp(s)) return;
    sampi_mt *mt = sampi_mt_of(s);
    uint64_t drawn = sampi_io_int(io, mt->drawn, 8);
    io->bad |= io->mode != SAMPI_WRITE && drawn > SAMPI_MAX_DRAWN;
    if (io->mode == SAMPI_READ) mt->drawn = drawn;
    if (io->mode == SAMPI_READ) mt->next = mt->drawn ? (uint32_t)((mt->drawn - 1) % 624) + 1 : 624;
    for (int i = 0; i < 624; i++) {
        uint32_t x = (uint32_t)sampi_io_int(io, mt->state[i], 4);
        if (io->mode == SAMPI_READ) mt->state[i] = x;
    }
}
#endif
