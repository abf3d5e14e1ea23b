/* ---- watermarks: SBW's colours ----
   Computes which tokens are green after a context (the last tokens); SBW is a watermark that raises the logits of green
   tokens. A token's colour follows from a random word by Philox, with a seed as its key and the token's id as its
   counter. With lefthash all tokens share one seed. With selfhash each token has its own seed: the smallest, as a
   signed number, of several products with its hash. The kernel tint does the same for many tokens, so this file comes
   before the kernels. */

/* The numbers that decide the colours of tokens after a context. */
typedef struct sampi_colours {
    uint64_t key, seed;   /* key is used with selfhash, seed with lefthash */
    uint64_t product[64]; /* [n] with selfhash, the key times the hash of a token of the context */
    uint32_t n, below;    /* a token is green if the lower 31 bits of its random word are less than `below` */
    bool is_self;
} sampi_colours;

/* Returns a token's hash of 32 bits, computed with arithmetic shifts. The hash of -1 (no token in the context) is 0. */
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

/* Returns the random word of a token, which decides its colour. *seed gets the seed of the token. */
static uint32_t sampi_colour_word(const sampi_colours *c, uint32_t id, uint64_t *seed)
{
    uint64_t least = c->seed;
    const uint64_t sign = (uint64_t)1 << 63; /* with it turned, signed numbers are ordered as these */
    if (c->is_self) {
        const uint64_t h = (uint64_t)sampi_colour_hash(id);
        least = c->key * h * h;
        for (uint32_t i = 0; i < c->n; i++)
            if (((c->product[i] * h) ^ sign) < (least ^ sign)) least = c->product[i] * h;
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

/* Returns the logit of a green token. */
static float sampi_green_logit(float l, float delta) { return sampi_finite(l + delta); }
