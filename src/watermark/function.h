/* ---- watermarks: the function ----
   A watermark is a bias in a text that a key can detect. This file computes a random word of 32 bits from the key, the
   context (the last tokens) and a token. A sampler prefers tokens with large words (watermark/draw.h); a detector tests
   whether a text's tokens have large words (watermark/detect.h).

   The function is "philox4x32-10-v1": Philox folds the context, four tokens at a time, into a state of 128 bits; one
   more Philox computes the words of four tokens from the state and the tokens' id / 4. vLLM computes the same function,
   so its detector recognises these texts. All functions are pure. */

/* Computes SHA-256 (FIPS 180-4) of at most 55 bytes, which are one block. */
static SAMPI_COLD void sampi_sha256(const unsigned char *bytes, size_t n, uint32_t digest[8])
{
    static const uint32_t round[64] = {
        0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
        0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
        0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
        0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
        0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
        0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
        0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
        0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u
    };
    static const uint32_t start[8] = { 0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                       0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u };
#define SAMPI_TURN(x, by) ((x) >> (by) | (x) << (32 - (by)))
    uint32_t w[64] = { 0 }, s[8];
    memcpy(s, start, sizeof s);
    for (size_t i = 0; i < n; i++) w[i / 4] |= (uint32_t)bytes[i] << (24 - 8 * (i % 4));
    w[n / 4] |= (uint32_t)0x80 << (24 - 8 * (n % 4));
    w[15] = (uint32_t)(8 * n);
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        a = SAMPI_TURN(a, 7) ^ SAMPI_TURN(a, 18) ^ a >> 3;
        b = SAMPI_TURN(b, 17) ^ SAMPI_TURN(b, 19) ^ b >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    for (int i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t one = s[7] + (SAMPI_TURN(e, 6) ^ SAMPI_TURN(e, 11) ^ SAMPI_TURN(e, 25)) +
                       ((e & s[5]) ^ (~e & s[6])) + round[i] + w[i];
        uint32_t two = (SAMPI_TURN(a, 2) ^ SAMPI_TURN(a, 13) ^ SAMPI_TURN(a, 22)) +
                       ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
#undef SAMPI_TURN
    for (int i = 0; i < 8; i++) digest[i] = start[i] + s[i];
}

/* Returns the first 64 bits of SHA-256(name, key): a key derived from another key, from which the other cannot be
   computed. */
static SAMPI_COLD uint64_t sampi_mark_derive(const char *name, uint64_t key)
{
    unsigned char bytes[55];
    size_t n = strlen(name);
    uint32_t digest[8];
    memcpy(bytes, name, n);
    for (int i = 0; i < 8; i++) bytes[n++] = (unsigned char)(key >> (56 - 8 * i));
    sampi_sha256(bytes, n, digest);
    return (uint64_t)digest[0] << 32 | digest[1];
}

/* The random words of all tokens after a context. The word of a token is word id % 4 of Philox at (id / 4, counter). */
typedef struct sampi_words {
    uint32_t counter[3], key[2];
    uint32_t four, out[4]; /* out: the words of ids 4 four to 4 four + 3; `four` is UINT32_MAX at first */
} sampi_words;

/* Prepares the random words after a context [width] of 32-bit numbers, oldest first. 0xFFFFFFFF means "no token". */
static void sampi_words_of(sampi_words *words, uint64_t key, const uint32_t *context, uint32_t width)
{
    uint32_t state[4] = { 0x574D4358u, width, 0, 0 }, at[4];
    const uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
    for (uint32_t from = 0; from < width; from += 4) {
        const uint32_t turned[2] = { low ^ from, high };
        for (uint32_t i = 0; i < 4; i++) at[i] = state[i] ^ (from + i < width ? context[from + i] : UINT32_MAX - i);
        sampi_philox(at, turned, state);
    }
    memcpy(words->counter, state, sizeof words->counter);
    words->key[0] = low ^ state[3];
    words->key[1] = high ^ 0x574D544Bu;
    words->four = UINT32_MAX;
}

/* Returns the random word of a token. For ascending ids Philox is computed once for each four of them. */
static inline uint32_t sampi_word(sampi_words *words, samp_token id)
{
    const uint32_t four = (uint32_t)id >> 2;
    if (four != words->four) {
        const uint32_t at[4] = { four, words->counter[0], words->counter[1], words->counter[2] };
        sampi_philox(at, words->key, words->out);
        words->four = four;
    }
    return words->out[id & 3];
}

/* Returns the number u of a random word: a float in (0, 1), as a double. */
static inline double sampi_mark_uniform(uint32_t word)
{
    return (double)(float)((double)((word >> 8) + 1) / 16777217.0);
}

/* Prepares the choice of the green tokens (the watermark SBW adds delta to their logits) that follow a context. In the
   context 2^32 - 1 is the token -1: there is no token at this place. */
static void sampi_colours_of(sampi_colours *c, const sampi_watermark *mark, const uint32_t *context)
{
    uint64_t sum = 0;
    memset(c, 0, sizeof *c);
    c->is_self = mark->what == SAMP_WATERMARK_SBW_SELFHASH;
    c->key = mark->key[0];
    c->below = (uint32_t)(mark->gamma * 2147483647.0);
    for (int32_t i = 0; i < mark->width; i++) {
        sum += context[i] == UINT32_MAX ? UINT64_MAX : context[i];
        if (i) c->product[c->n++] = c->key * (uint64_t)sampi_colour_hash(context[i]); /* without the oldest token */
    }
    c->seed = c->key * sum;
}
