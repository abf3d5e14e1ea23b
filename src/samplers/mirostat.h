/* ---- mirostat (Basu et al. 2020) ----
   Both versions of mirostat steer the surprise of the chosen tokens, log2(1 / p), to a target tau. The state mu is the
   surprise that is allowed now; it starts at 2 tau. Version 1 keeps as many tokens as a Zipf law with the row's
   exponent gives for mu; version 2 keeps the tokens with a surprise of at most mu. Then a token is drawn, and mu -= eta
   * (surprise - tau): with tau 3 and eta 0.1 a token of p = 1/4 (2 bits) raises mu by 0.1. mu changes when a token is
   selected, not when it is accepted, as in llama.cpp. */
#ifndef SAMPI_PLANS

/* Sets mu to its start value (the reset hook of both versions). */
static void sampi_mirostat_reset(sampi_sampler *s) { s->now.mu = 2.0f * s->u.mirostat.tau; }

/* Returns the new mu after a token with the distance d = max - l from the maximum was chosen. Its surprise follows from
   d and z, the sum of weights of the tokens kept. z is a double, because the fast path passes both ends of an
   estimate. */
static float sampi_mirostat_mu(const sampi_mirostat_numbers *of, float mu, double d, double z)
{
    double surprise = SAMPI_FMA(d, SAMPI_LOG2E, sampi_log2(z / (double)SAMPI_MAX_WEIGHT));
    return sampi_finite((float)SAMPI_FMA(-(double)of->eta, surprise - (double)of->tau, (double)mu));
}

/* Ends both versions, after their cuts: draws a token, and changes mu. */
static int sampi_mirostat_select(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_select(s, cur);
    double d = (double)sums.max - (double)cur->data[cur->selected].logit;
    s->now.mu = sampi_mirostat_mu(&s->u.mirostat, s->now.mu, d, (double)sums.z);
    return SAMP_OK;
}

/* The sums from which the exponent of Zipf's law follows, by least squares through 0. For neighbours i and i + 1 in
   order, b = ln (p_i / p_i+1) is plotted against t = ln ((i + 2) / (i + 1)). The exponent is the sum of t b over the
   sum of t^2. */
typedef struct sampi_zipf {
    double tb, tt;
} sampi_zipf;

/* Returns t = ln ((i + 2) / (i + 1)) of the neighbours i and i + 1. */
static double sampi_zipf_t(size_t i) { return sampi_ln((double)(i + 2) / (double)(i + 1)); }

/* Adds a pair of neighbours. Pairs must be added with ascending i, because the sums are rounded. */
static void sampi_zipf_sum(sampi_zipf *zipf, double t, double b)
{
    zipf->tb = SAMPI_FMA(t, b, zipf->tb);
    zipf->tt = SAMPI_FMA(t, t, zipf->tt);
}

/* Adds a pair of neighbours by their logits, whose difference is ln (p_i / p_i+1). */
static void sampi_zipf_add(sampi_zipf *zipf, size_t i, float l, float next)
{
    sampi_zipf_sum(zipf, sampi_zipf_t(i), (double)l - (double)next);
}

/* Returns how many of n tokens mirostat keeps: k = (e 2^mu / (1 - N^-e))^(1 / exponent), with e = exponent - 1 and N =
   n_vocab, clamped to 1 .. n. If k is NaN, the result is n. */
static SAMPI_COLD size_t sampi_zipf_size(const sampi_zipf *zipf, double n_vocab, float mu, size_t n)
{
    double exponent = zipf->tt > 0.0 ? zipf->tb / zipf->tt : 1.0, e = exponent - 1.0;
    double ln_n = sampi_ln(n_vocab), x = e * ln_n, below = 1.0 - sampi_pow(n_vocab, -e);
    /* this is e / (1 - N^-e); near e = 0 it is computed by its series, because the quotient would lose precision */
    double scale = fabs(x) < 1e-3 ? SAMPI_FMA(x, SAMPI_FMA(x, 1.0 / 12.0, 0.5), 1.0) / ln_n : e / below;
    double k = sampi_pow(sampi_round(scale * sampi_exp2((double)mu)), 1.0 / exponent);
    if (!(k < (double)n)) return n; /* k is more than n, or NaN */
    return k >= 1.0 ? (size_t)k : 1;
}

/* Applies mirostat. The exponent needs the first m tokens in order. If more than m tokens are kept, they are sorted
   afterwards. */
static SAMPI_COLD int sampi_mirostat_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t n = sampi_unmasked(cur), m = (size_t)s->u.mirostat.m;
    sampi_zipf zipf = { 0.0, 0.0 };
    if (m > n) m = n;
    sampi_sort(&SAMPI_BY_LOGIT, cur, 0, m, s->at_memory);
    for (size_t i = 0; i + 1 < m; i++) sampi_zipf_add(&zipf, i, cur->data[i].logit, cur->data[i + 1].logit);
    sampi_cut_to_first(cur, sampi_zipf_size(&zipf, s->u.mirostat.n_vocab, s->now.mu, n), s->at_memory);
    return sampi_mirostat_select(s, cur);
}

/* Returns the smallest logit l that mirostat_v2 keeps: its surprise (max - l) log2 e + log2 Z is at most mu. z is Z in
   units of 2^-40. */
static double sampi_surprise_floor(float mu, float max, double z)
{
    /* written as an fma, because ptxas would fuse mu - log2 */
    double room = SAMPI_FMA(sampi_log2(z / (double)SAMPI_MAX_WEIGHT), -1.0, (double)mu);
    return SAMPI_FMA(-room, SAMPI_LN2, (double)max);
}

/* Applies mirostat_v2. It needs no sort, because mu gives a floor for the logits. */
static SAMPI_COLD int sampi_mirostat_v2_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    sampi_keep_above(cur, sampi_surprise_floor(s->now.mu, sums.max, (double)sums.z), 1, s->at_memory);
    return sampi_mirostat_select(s, cur);
}

#ifndef SAMP_NO_MT19937
/* Ends both versions, after their cuts: draws a token, and changes mu. p is computed again from the tokens that were
   kept, so the surprise is relative to these. */
static int sampi_llama_mirostat_select(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_sums sums = sampi_llama_softmax(s, cur, true);
    cur->selected = (int64_t)sampi_llama_discrete(s, cur, &sums);
    const float surprise = -log2f(cur->data[cur->selected].p);
    s->now.mu -= sampi_roundf(s->u.mirostat.eta * (surprise - s->u.mirostat.tau));
    return SAMP_OK;
}

/* Returns how many tokens version 1 keeps. All numbers are floats, computed by libm in this order, because the result
   depends on the last bits of N^-e and of the powers. */
static size_t sampi_llama_zipf(const sampi_sampler *s, const samp_token_data_array *cur, const sampi_llama_sums *sums)
{
    float tb = 0.0f, tt = 0.0f, p = sampi_llama_p(sums, cur->data[0].logit);
    for (size_t i = 0; i + 1 < cur->size && i + 1 < (size_t)s->u.mirostat.m; i++) {
        float next = sampi_llama_p(sums, cur->data[i + 1].logit);
        float t = logf((float)(i + 2) / (float)(i + 1)), b = logf(p / next);
        tb += sampi_roundf(t * b);
        tt += sampi_roundf(t * t);
        p = next;
    }
    float zipf = tb / tt, e = zipf - 1.0f;
    float k = powf(sampi_roundf(e * powf(2.0f, s->now.mu)) / (1.0f - powf((float)s->u.mirostat.n_vocab, -e)),
                   1.0f / zipf);
    return k >= 1.0f && k < 2147483648.0f ? (size_t)k : 1; /* NaN and overflow give 1 */
}

/* Returns how many tokens of a sorted array have a surprise of at most mu; at least 1. */
static size_t sampi_llama_within(const sampi_sampler *s, const samp_token_data_array *cur,
                                 const sampi_llama_sums *sums)
{
    size_t n = 0;
    while (n < cur->size && !(-log2f(sampi_llama_p(sums, cur->data[n].logit)) > s->now.mu)) n++;
    return n ? n : 1;
}

static int sampi_llama_mirostat(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_sums sums = sampi_llama_softmax(s, cur, true);
    size_t keep = (s->kind == SAMPI_MIROSTAT ? sampi_llama_zipf : sampi_llama_within)(s, cur, &sums);
    cur->size = keep < cur->size ? keep : cur->size;
    return sampi_llama_mirostat_select(s, cur);
}
#endif

static void sampi_mirostat_past(sampi_sampler *s, sampi_record *r) { sampi_record_words(r, &s->now.mu, 1); }

/* Sets mu to its start value if it is not a finite number, except in llama.cpp's arithmetic, in which mu may
   overflow. */
static void sampi_restart_bad_mu(sampi_sampler *s)
{
    bool finite = s->now.mu >= -FLT_MAX && s->now.mu <= FLT_MAX;
    if (!sampi_is_llama_cpp(s) && !finite) sampi_traits_of(s->kind)->hooks->reset(s);
}

/* Takes over mu from a sampler that this one replaces; a new tau changes it only gradually. mu cannot be computed from
   the accepted tokens, so without an old sampler of the same version it starts again. */
static SAMPI_COLD void sampi_mirostat_take_over(sampi_sampler *s, const sampi_sampler *old,
                                                const sampi_sampler *chain)
{
    (void)chain;
    if (old) s->now = old->now;
    sampi_restart_bad_mu(s);
}

/* Saves or loads mu, which is the whole state of both versions. Under MT19937 any value is valid, because llama.cpp's
   arithmetic does not clamp mu. */
static SAMPI_COLD void sampi_mirostat_state(sampi_sampler *s, sampi_io *io)
{
    bool any = sampi_is_llama_cpp(s); /* llama.cpp's mu may overflow */
    sampi_io_float(io, &s->now.mu, any ? NAN : -FLT_MAX, FLT_MAX);
}

/* Makes either version. Version 2 has the same numbers; its n_vocab and m stay 0, and only the fingerprint uses
   them. */
static SAMPI_COLD samp_sampler *sampi_init_mirostat(sampi_kind kind, int32_t n_vocab, uint64_t seed, float tau,
                                                    float eta, int32_t m)
{
    sampi_sampler t = sampi_blank(kind);
    t.u.mirostat.n_vocab = n_vocab;
    t.u.mirostat.m = m;
    t.u.mirostat.tau = tau;
    t.u.mirostat.eta = eta;
    t.seed = seed;
    return sampi_init(&t);
}

/* This function is the only way to set m, which is not in samp_params (there it is 100). n_vocab is a number in the
   formula, not a bound of ids. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_mirostat(int32_t n_vocab, uint64_t seed, float tau, float eta, int32_t m)
{
    return sampi_init_mirostat(SAMPI_MIROSTAT, n_vocab, seed, tau, eta, m);
}
SAMP_API SAMPI_COLD samp_sampler *samp_init_mirostat_v2(uint64_t seed, float tau, float eta)
{
    return sampi_init_mirostat(SAMPI_MIROSTAT_V2, 0, seed, tau, eta, 0);
}

static const sampi_field SAMPI_MIROSTAT_FIELDS[] = {
    SAMPI_FIELD(FLOAT, mirostat_tau, mirostat.tau, 5, 0, FLT_MAX / 2, 0, "tau"),
    SAMPI_FIELD(FLOAT, mirostat_eta, mirostat.eta, 0.1, 0, FLT_MAX, 0, "eta"),
    SAMPI_FIELD(INT32, n_vocab, mirostat.n_vocab, 0, 1, INT32_MAX, 0, NULL),
    SAMPI_FIXED(INT32, mirostat_m, mirostat.m, 100, 2, INT32_MAX, "m"),
};

SAMPI_HOOKS(MIROSTAT, NULL, NULL, NULL, NULL, NULL, sampi_mirostat_reset, sampi_mirostat_state,
            sampi_mirostat_take_over, sampi_mirostat_past, SAMPI_BYTES_ONLY);

#define SAMPI_MIROSTAT_ROW \
    "mirostat", 3, 0, "", SAMPI_SEEKS_END | SAMPI_SELECTS | SAMPI_DROPS_FAST | SAMPI_SORTS | SAMPI_VIEW_DENSE, \
        SAMPI_FIELDS_OF(SAMPI_MIROSTAT_FIELDS), NULL, &SAMPI_MIROSTAT_HOOKS, sampi_mirostat_apply, \
        sampi_fast_mirostat, SAMPI_BY_LLAMA_CPP(sampi_llama_mirostat)

static const sampi_field SAMPI_MIROSTAT_V2_FIELDS[] = {
    SAMPI_FIELD(FLOAT, mirostat_tau, mirostat.tau, 5, 0, FLT_MAX / 2, 0, "tau"),
    SAMPI_FIELD(FLOAT, mirostat_eta, mirostat.eta, 0.1, 0, FLT_MAX, 0, "eta"),
    SAMPI_FIXED(INT32, n_vocab, mirostat.n_vocab, 0, 0, 0, NULL), /* unused, for the fingerprint only */
    SAMPI_FIXED(INT32, mirostat_m, mirostat.m, 0, 0, 0, NULL),
};

#define SAMPI_MIROSTAT_V2_ROW \
    "mirostat-v2", 4, 0, "", SAMPI_SELECTS | SAMPI_DROPS_FAST | SAMPI_VIEW_DENSE, \
        SAMPI_FIELDS_OF(SAMPI_MIROSTAT_V2_FIELDS), NULL, &SAMPI_MIROSTAT_HOOKS, sampi_mirostat_v2_apply, \
        sampi_fast_mirostat_v2, SAMPI_BY_LLAMA_CPP(sampi_llama_mirostat)

#else /* the plan */

/* Ends the plan of both versions: draws from the tokens that were kept, and changes mu by the surprise of the drawn
   token. */
static int SAMPI_ON(plan_mirostat_draw)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    samp_token_data token;
    sampi_sums sums;
    const int known = SAMPI_ON(draw_and_sums)(row, s, &token, &sums);
    if (known != SAMPI_KNOWN) return known;
    const double down = (double)sums.max - (double)token.logit;
    return SAMPI_ON(choose)(row, s, &token, sampi_mirostat_mu(&s->u.mirostat, s->now.mu, down, (double)sums.z));
}

/* The plan of mirostat. Phase 0 computes how many tokens to keep (memory->count) from the first m tokens in order.
   Phase 1 keeps them. Phase 2 draws. */
static int SAMPI_ON(plan_mirostat)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_memory *memory = SAMPI_ON(memory)(row);
    if (memory->phase == 0) {
        sampi_zipf zipf = { 0.0, 0.0 };
        size_t n = 0;
        const int known = SAMPI_ON(zipf)(row, (size_t)s->u.mirostat.m, &zipf, &n);
        if (known != SAMPI_KNOWN) return known;
        memory->count = sampi_zipf_size(&zipf, s->u.mirostat.n_vocab, s->now.mu, n);
        memory->phase = 1;
    }
    if (memory->phase == 1) {
        const int known = SAMPI_ON(keep_prefix)(row, 0, 0, (size_t)memory->count);
        if (known != SAMPI_KNOWN) return known;
        memory->phase = 2;
    }
    return SAMPI_ON(plan_mirostat_draw)(row, s);
}

/* The plan of mirostat_v2. Phase 0 computes the least logit to keep (memory->number) from mu. Phase 1 keeps the tokens
   that reach it. Phase 2 draws. */
static int SAMPI_ON(plan_mirostat_v2)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_memory *memory = SAMPI_ON(memory)(row);
    if (memory->phase == 0) {
        sampi_sums sums;
        const int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_FIRST, &sums);
        if (known != SAMPI_KNOWN) return known;
        memory->number = sampi_surprise_floor(s->now.mu, sums.max, (double)sums.z);
        memory->phase = 1;
    }
    if (memory->phase != 2) {
        const int known = SAMPI_ON(keep_above)(row, memory->number, 1);
        if (known != SAMPI_KNOWN) return known;
        memory->phase = 2;
    }
    return SAMPI_ON(plan_mirostat_draw)(row, s);
}

#endif
