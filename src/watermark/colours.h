/* ---- watermarks: SBW's colours ----
   Which tokens are green behind a context. A seed is Philox's key, a token's id its counter. Of lefthash all tokens
   have one seed; of selfhash each has its own: the least, as signed, of products of its hash. Kernels (tint) do the
   same for many tokens, so this stands before them. */

/* What decides colours behind a context. */
typedef struct sampi_colours {
    uint64_t key, seed;   /* of selfhash; of lefthash */
    uint64_t product[64]; /* [n] of selfhash: the key and the hash of a token of the context */
    uint32_t n, below;    /* green: the lower 31 bits of the word are below this */
    bool is_self;
} sampi_colours;

/* A hash of 32 bits, with shifts of signed numbers; a context's gap of -1 has 0. */
static int64_t sampi_colour_hash(uint32_t token)
{
    uint32_t i = token + 1;
#define SAMPI_ARITHMETIC(x, by) ((x) >> (by) | ((x) >> 31 ? ~(UINT32_MAX >> (by)) : 0))
    i -= i << 6;
    i ^= SAMPI_ARITHMETIC(i, 17);
    i -= i << 9;
    i ^= i << 4;
    i -= i << 3;
    i ^= i << 10;
    i ^= SAMPI_ARITHMETIC(i, 15);
#undef SAMPI_ARITHMETIC
    return i >> 31 ? (int64_t)i - ((int64_t)1 << 32) : (int64_t)i;
}

/* a < b as signed numbers. */
static bool sampi_is_less(uint64_t a, uint64_t b)
{
    const uint64_t sign = (uint64_t)1 << 63;
    return (a ^ sign) < (b ^ sign);
}

/* The word of a token, and its seed. */
static uint32_t sampi_colour_word(const sampi_colours *c, uint32_t id, uint64_t *seed)
{
    uint64_t least = c->seed;
    if (c->is_self) {
        const uint64_t h = (uint64_t)sampi_colour_hash(id);
        least = c->key * h * h;
        for (uint32_t i = 0; i < c->n; i++)
            if (sampi_is_less(c->product[i] * h, least)) least = c->product[i] * h;
    }
    const uint32_t counter[4] = { id >> 2, 0, 0, 0 }, key[2] = { (uint32_t)least, (uint32_t)(least >> 32) };
    uint32_t out[4];
    sampi_philox(counter, key, out);
    *seed = least;
    return out[id & 3];
}

static bool sampi_is_green(const sampi_colours *c, uint32_t id)
{
    uint64_t seed;
    return (sampi_colour_word(c, id, &seed) & 0x7FFFFFFFu) < c->below;
}

/* A green token's logit. */
static float sampi_green_logit(float l, float delta) { return sampi_finite(l + delta); }
