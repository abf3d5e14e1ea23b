/* ---- top_a, p_less, p_less_norm, epsilon, eta ----
   Each of these samplers keeps the tokens with p_i >= a threshold, and always the first token. The thresholds come from
   sums over the row: top_a a * p_max^2; p_less scale * sum p^2; p_less_norm scale * (n sum p^2 - 1) / (n - 1); epsilon
   itself; eta min(epsilon, sqrt(epsilon) e^-H), where H is the entropy. For p = 0.5, 0.3, 0.15, 0.05: top_a 0.5 (0.125)
   keeps three tokens, p_less 1 (0.365) one, p_less_norm 1 (0.153) two, epsilon 0.1 three, eta 0.2 (0.143) three. (The
   thresholds are in brackets.) As a logit, the threshold is at most the maximum. */
#ifndef SAMPI_PLANS

static bool sampi_needs_squares(sampi_kind kind) { return kind == SAMPI_P_LESS || kind == SAMPI_P_LESS_NORM; }

/* Returns the smallest logit that is kept. ln_p is the logarithm of the sampler's parameter. n is the number of
   unmasked tokens, for p_less_norm. z is the sum of weights. `more` is a second sum in units of 2^-40: of distances
   from the maximum for eta, of squared weights for p_less. n, z and `more` are doubles, because the fast path passes
   both ends of an estimate. */
static SAMPI_COLD double sampi_sums_floor(sampi_kind kind, double ln_p, float max, double n, double z, double more)
{
    double ln_z = sampi_ln(z / (double)SAMPI_MAX_WEIGHT), down = ln_p - ln_z;
    if (kind == SAMPI_P_LESS) down = ln_p + sampi_ln(more / z);
    if (kind == SAMPI_P_LESS_NORM) {
        double above = SAMPI_FMA(more / z, n,
                                 -(z / (double)SAMPI_MAX_WEIGHT)); /* Z (n sum p^2 - 1); 0 for a uniform row */
        if (!(above > 0.0)) return -(double)FLT_MAX;
        down = ln_p + sampi_ln(above / (n - 1.0));
    }
    if (kind == SAMPI_EPSILON || kind == SAMPI_ETA) down = ln_p + ln_z;
    if (kind == SAMPI_ETA) {
        double bound = SAMPI_FMA(ln_p, 0.5,
                                 /* the product is exact; an explicit fma, so that no compiler decides */
                                 -(more / z));
        if (bound < down) down = bound;
    }
    return (double)max + (down < 0.0 ? down : 0.0);
}

/* Returns the sum of (w / 2^20)^2, with w / 2^20 rounded down. More than 2^22 squares fit 64 bits. */
static SAMPI_HOT uint64_t sampi_squares(const uint64_t *w, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += (w[i] >> 20) * (w[i] >> 20);
    return sum;
}

/* Returns the second sum that the threshold needs: of squared weights for p_less and p_less_norm, else of the distances
   from the maximum. */
static SAMPI_COLD uint64_t sampi_second_sum(sampi_kind kind, const samp_token_data_array *cur, const sampi_sums *sums)
{
    uint64_t w[SAMPI_TILE + 16], squares = 0;
    float x[SAMPI_TILE];
    if (!sampi_needs_squares(kind)) return sums->s;
    for (size_t at = 0, n; at < cur->size; at += n) {
        n = sampi_copy_logits(cur, at, x);
        sampi_use()->weights(x, n, sums->max, w, NULL);
        squares += sampi_squares(w, n);
    }
    return squares;
}

static SAMPI_COLD int sampi_by_sums_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    size_t min_keep = s->u.cut.min_keep;
    double more = (double)sampi_second_sum(s->kind, cur, &sums);
    double floor = sampi_sums_floor(s->kind, sampi_ln(s->u.cut.p), sums.max, (double)sums.n, (double)sums.z, more);
    sampi_keep_above(cur, floor, min_keep < sums.n ? min_keep : sums.n, s->at_memory);
    return SAMP_OK;
}

#ifndef SAMP_NO_MT19937
/* Applies top_a in llama.cpp's arithmetic, although llama.cpp has no top_a. Like other samplers in this arithmetic it
   uses float probabilities: it cuts before the first p below a p_max^2. */
static SAMPI_COLD int sampi_llama_top_a(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t kept = 1;
    sampi_llama_softmax(s, cur, true);
    float floor = sampi_roundf(s->u.cut.p * cur->data[0].p) * cur->data[0].p;
    while (kept < cur->size && (cur->data[kept].p >= floor || kept < s->u.cut.min_keep)) kept++;
    cur->size = kept;
    return SAMP_OK;
}
#endif

/* The common members of these samplers' rows in the table of kinds. llama.cpp has none of these samplers; in its
   arithmetic all of them except top_a compute as in the library's own. */
#define SAMPI_BY_SUMS_FLAGS SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_KEEPS_SOME | SAMPI_IF_ON | SAMPI_VIEW_SORTED
#define SAMPI_BY_SUMS_ROW(name, letter, steps, fields) \
    name, 0, letter, steps, SAMPI_BY_SUMS_FLAGS, SAMPI_FIELDS_OF(fields), sampi_off_at_0, &SAMPI_NO_HOOKS, \
        sampi_by_sums_apply, sampi_fast_by_sums, SAMPI_BY_LLAMA_CPP(sampi_by_sums_apply)

SAMP_API SAMPI_COLD samp_sampler *samp_init_top_a(float a, size_t min_keep)
{
    return sampi_init_cut(SAMPI_TOP_A, a, min_keep);
}

SAMPI_CUT_FIELDS(TOP_A, top_a, 0, 0, 0, "a");

#define SAMPI_TOP_A_ROW \
    "top-a", 0, 'a', "top_a;top-a", SAMPI_BY_SUMS_FLAGS, SAMPI_FIELDS_OF(SAMPI_TOP_A_FIELDS), sampi_off_at_0, \
        &SAMPI_NO_HOOKS, sampi_by_sums_apply, sampi_fast_by_sums, SAMPI_BY_LLAMA_CPP(sampi_llama_top_a)

SAMP_API SAMPI_COLD samp_sampler *samp_init_p_less(float scale, size_t min_keep)
{
    return sampi_init_cut(SAMPI_P_LESS, scale, min_keep);
}

SAMPI_CUT_FIELDS(P_LESS, p_less, 0, 0, 0, "scale");

#define SAMPI_P_LESS_ROW SAMPI_BY_SUMS_ROW("p-less", 'l', "p_less;p-less", SAMPI_P_LESS_FIELDS)

SAMP_API SAMPI_COLD samp_sampler *samp_init_p_less_norm(float scale, size_t min_keep)
{
    return sampi_init_cut(SAMPI_P_LESS_NORM, scale, min_keep);
}

SAMPI_CUT_FIELDS(P_LESS_NORM, p_less_norm, 0, 0, 0, "scale");

#define SAMPI_P_LESS_NORM_ROW \
    SAMPI_BY_SUMS_ROW("p-less-norm", 'o', "p_less_norm;p-less-norm", SAMPI_P_LESS_NORM_FIELDS)

SAMP_API SAMPI_COLD samp_sampler *samp_init_epsilon(float epsilon, size_t min_keep)
{
    return sampi_init_cut(SAMPI_EPSILON, epsilon, min_keep);
}

SAMPI_CUT_FIELDS(EPSILON, epsilon_cutoff, 0, 0, 0, "epsilon");

#define SAMPI_EPSILON_ROW SAMPI_BY_SUMS_ROW("epsilon", 'c', "epsilon_cutoff;epsilon", SAMPI_EPSILON_FIELDS)

SAMP_API SAMPI_COLD samp_sampler *samp_init_eta(float epsilon, size_t min_keep)
{
    return sampi_init_cut(SAMPI_ETA, epsilon, min_keep);
}

SAMPI_CUT_FIELDS(ETA, eta_cutoff, 0, 0, 0, "epsilon");

#define SAMPI_ETA_ROW SAMPI_BY_SUMS_ROW("eta", 'h', "eta_cutoff;eta", SAMPI_ETA_FIELDS)

#else /* the plan */

/* The plan of these samplers. Phase 0 computes the least logit (memory->number) from the sums. Phase 1 keeps the tokens
   that reach it. */
static int SAMPI_ON(plan_by_sums)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_memory *memory = SAMPI_ON(memory)(row);
    const sampi_kind kind = (sampi_kind)s->kind;
    if (memory->phase == 0) {
        sampi_sums sums;
        int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_FLOOR, &sums);
        if (known != SAMPI_KNOWN) return known;
        uint64_t more = sums.s;
        if (sampi_needs_squares(kind)) known = SAMPI_ON(sum_of_squares)(row, &more);
        if (known != SAMPI_KNOWN) return known;
        memory->number = sampi_sums_floor(kind, sampi_ln(s->u.cut.p), sums.max, (double)sums.n, (double)sums.z,
                                          (double)more);
        memory->phase = 1;
    }
    return SAMPI_ON(keep_above)(row, memory->number, s->u.cut.min_keep > 1 ? s->u.cut.min_keep : 1);
}

#endif
