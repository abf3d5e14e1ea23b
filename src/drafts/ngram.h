/* ---- drafts: from the text itself ----
   samp_ngram_...: what followed an earlier occurrence of the last tokens of a text. The text is a ring of tokens. For
   each length k = n_min .. n_max, a hash table has the place where the latest n-gram of each bucket ends, and a ring
   has, for each place, the place where the n-gram of the same bucket before it ends. So a token is added in n_max
   steps, and taking it back restores the buckets exactly. A place is the number of tokens before it, of which the low
   32 bits are stored; every n-gram that is found is compared with the text, so a hash or a wrapped number never
   counts. */

#define SAMPI_NGRAM_LONGEST 64
#define SAMPI_NGRAM_LOOKS   1024 /* at most this many n-grams of a bucket are looked at */

struct samp_ngram {
    int32_t n_min, n_max;
    size_t window;     /* max_tokens: the tokens that are searched */
    size_t size;       /* of the rings and tables: a power of two, at least twice the window, for rollback */
    int bits;          /* size = 2^bits */
    uint64_t n;        /* the length of the text */
    uint64_t most;     /* the largest length so far: places up to most - size are overwritten */
    samp_token *token; /* [size] */
    uint32_t *before;  /* [n_max - n_min + 1][size] by place */
    uint32_t *latest;  /* [n_max - n_min + 1][size] by bucket */
};

SAMP_API void samp_ngram_reset(samp_ngram *ngram)
{
    if (!ngram) return;
    ngram->n = ngram->most = 0;
    memset(ngram->latest, 0, (size_t)(ngram->n_max - ngram->n_min + 1) * ngram->size * sizeof *ngram->latest);
}

SAMP_API samp_ngram *samp_ngram_init(int32_t n_min, int32_t n_max, size_t max_tokens)
{
    if (n_min < 1 || n_max < n_min || n_max > SAMPI_NGRAM_LONGEST) return NULL;
    if (max_tokens < (size_t)n_max || max_tokens > (size_t)1 << 26) return NULL;
    int bits = 1;
    while ((size_t)1 << bits < 2 * max_tokens) bits++;
    const size_t size = (size_t)1 << bits, all = (2 * (size_t)(n_max - n_min + 1) + 1) * size;
    if (all > (SIZE_MAX - sizeof(samp_ngram)) / sizeof(uint32_t)) return NULL;
    samp_ngram *g = (samp_ngram *)SAMP_MALLOC(sizeof *g + all * sizeof(uint32_t));
    if (!g) return NULL;
    memset(g, 0, sizeof *g);
    g->n_min = n_min;
    g->n_max = n_max;
    g->window = max_tokens;
    g->size = size;
    g->bits = bits;
    g->token = (samp_token *)(void *)(g + 1);
    g->before = (uint32_t *)(void *)(g->token + size);
    g->latest = g->before + (size_t)(n_max - n_min + 1) * size;
    samp_ngram_reset(g);
    return g;
}

SAMP_API void samp_ngram_free(samp_ngram *ngram)
{
    if (ngram) SAMP_FREE(ngram);
}

/* The token so many places before the end of the text, from 1 on. */
static samp_token sampi_ngram_token(const samp_ngram *g, uint64_t end, uint64_t back)
{
    return g->token[(end - back) & (g->size - 1)];
}

/* Puts the n-grams that end at the end of the text into their buckets, or takes them out again. */
static void sampi_ngram_link(samp_ngram *g, bool add)
{
    const size_t at = (size_t)g->n & (g->size - 1);
    uint64_t hash = 0;
    for (int32_t k = 1; k <= g->n_max && (uint64_t)k <= g->n; k++) {
        hash = (hash ^ (uint32_t)sampi_ngram_token(g, g->n, (uint64_t)k)) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
        if (k < g->n_min) continue;
        const size_t row = (size_t)(k - g->n_min) * g->size;
        uint32_t *latest = &g->latest[row + (size_t)(hash * 0xBF58476D1CE4E5B9u >> (64 - g->bits))];
        if (add) {
            g->before[row + at] = *latest;
            *latest = (uint32_t)g->n;
        } else
            *latest = g->before[row + at];
    }
}

SAMP_API int samp_ngram_accept(samp_ngram *ngram, samp_token token)
{
    if (!ngram) return SAMP_E_NULL;
    if (token < 0) return SAMP_E_RANGE;
    ngram->token[(size_t)ngram->n & (ngram->size - 1)] = token;
    ngram->n++;
    if (ngram->n > ngram->most) ngram->most = ngram->n;
    sampi_ngram_link(ngram, true);
    return SAMP_OK;
}

/* The window before the shorter text must not be overwritten. */
SAMP_API int samp_ngram_rollback(samp_ngram *ngram, int32_t n)
{
    if (!ngram) return SAMP_E_NULL;
    if (n < 0 || (uint64_t)n > ngram->n) return SAMP_E_RANGE;
    const uint64_t left = ngram->n - (uint64_t)n, window = left < ngram->window ? left : ngram->window;
    if (left + ngram->size < ngram->most + window) return SAMP_E_RANGE;
    for (; ngram->n > left; ngram->n--) sampi_ngram_link(ngram, false);
    return SAMP_OK;
}

/* Returns how many tokens before the end the n-gram of the last k tokens ended earlier: the latest place with at least
   `want` tokens behind it, else the earliest place; 0: there is none in the window. */
static uint32_t sampi_ngram_find(const samp_ngram *g, int32_t k, size_t want)
{
    const uint32_t *before = g->before + (size_t)(k - g->n_min) * g->size;
    const uint64_t held = g->n < g->window ? g->n : g->window;
    uint32_t found = 0, place = (uint32_t)g->n, last = 0;
    for (int i = 0; i < SAMPI_NGRAM_LOOKS && found < want; i++) {
        place = before[place & (g->size - 1)];
        const uint32_t age = (uint32_t)g->n - place;
        if (age <= last || age + (uint64_t)k > held)
            break; /* an empty bucket has the place 0, or a place that wrapped */
        last = age;
        int32_t same = 0;
        while (same < k && sampi_ngram_token(g, g->n, (uint64_t)same + 1) ==
                               sampi_ngram_token(g, g->n, (uint64_t)age + (uint64_t)same + 1))
            same++;
        if (same == k) found = age;
    }
    return found;
}

SAMP_API int64_t samp_ngram_draft(const samp_ngram *ngram, samp_token *out, size_t n_max)
{
    if (!ngram || (!out && n_max)) return SAMP_E_NULL;
    uint32_t age = 0;
    for (int32_t k = ngram->n_max; k >= ngram->n_min && !age && n_max; k--)
        if ((uint64_t)k < ngram->n) age = sampi_ngram_find(ngram, k, n_max);
    const size_t n = age < n_max ? age : n_max;
    for (size_t i = 0; i < n; i++) out[i] = sampi_ngram_token(ngram, ngram->n, age - i);
    return (int64_t)n;
}
