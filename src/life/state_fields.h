/* ---- saved states: fields ----
   The fields of a saved state: integers, tokens, floats, windows of tokens, an mt19937. Each function handles one field
   in three modes (sampi_io_mode): it writes the field (or counts its bytes), checks that the bytes are valid, or loads
   them. The hooks `state` of samplers call these functions in the same order in each mode. */

/* Whether a walk over a state writes the bytes, checks them, or reads them into the sampler. */
typedef enum sampi_io_mode { SAMPI_WRITE, SAMPI_CHECK, SAMPI_READ } sampi_io_mode;

/* A walk over the bytes of a state. */
struct sampi_io {
    sampi_io_mode mode;
    unsigned char *to;         /* the memory to write to; NULL: only count the bytes */
    const unsigned char *from; /* [size] the bytes to check or read */
    size_t size, at;           /* the number of bytes; the index of the next byte */
    uint8_t bad; /* 0, or why the walk has failed: 1 bad bytes, 2 no memory, 4 beyond a sampler's limits */
    void *made;  /* objects made during the check, by samplers whose state is more than numbers */
    void (*unmake)(void *made); /* frees these objects if the load fails */
};

/* Writes the integer x in n bytes, least significant first, or reads such an integer; returns the integer. All fields
   use this function. If the bytes end too early, it sets io->bad and reads nothing. */
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

/* Saves or loads a token that is at least `lowest`: 0, or -1 if the field may have no token. There is no upper limit,
   because samplers do not know the vocabulary; samp_accept takes any token too. */
static void sampi_io_token(sampi_io *io, samp_token *x, samp_token lowest)
{
    samp_token y = (samp_token)(uint32_t)sampi_io_int(io, (uint32_t)*x, 4);
    io->bad |= y < lowest;
    if (io->mode == SAMPI_READ) *x = y;
}

/* Saves or loads a float in [lo, hi], as its 32 bits. If damage to the bytes has the same checksum, the range makes
   sure that no later draw computes a NaN from them. If lo is NaN, any value is valid. */
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

/* Saves or loads a window of tokens: their number, then the tokens, the oldest first. So the bytes do not depend on the
   tokens' indices in the ring; a load puts the oldest at index 0. penalties, dry and chains have such windows. */
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
/* The most outputs of an mt19937 that a state may count: more than any generation draws. A state with more is
   invalid. */
#define SAMPI_MAX_DRAWN ((uint64_t)1 << 32)

/* Saves or loads an mt19937: the number of outputs drawn, and the 624 words. The index `next` follows from that number.
   New words are computed only when the next output is drawn, so after a multiple of 624 outputs `next` is still 624. */
static void sampi_io_mt(sampi_io *io, sampi_sampler *s)
{
    if (!sampi_traits_of(s->kind)->stream || !sampi_is_llama_cpp(s)) return;
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
