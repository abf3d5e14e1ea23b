/* ---- the numbers of the samplers ----
   One row a number: its name, its members in samp_params and in the record, type, range, default, disabled value. From
   these rows follow the checks of constructors and parameters, the defaults of samp_params, the text of samp_describe,
   names of settings, and the fingerprint in a saved state. */

/* What the bytes of a field are. The switches over it have no default, so the compiler names those that lack a new
   type. */
typedef enum sampi_type {
    SAMPI_FLOAT,
    SAMPI_INT32,
    SAMPI_SIZE, /* a min_keep: told only above 1, since 0 and 1 are the same; no range */
    SAMPI_WORD  /* no number: in samp_params only (SAMPI_CHAIN_FIELDS) */
} sampi_type;

enum {
    SAMPI_OPEN = 1,       /* the low end of the range is not in it */
    SAMPI_OR_ZERO = 2,    /* 0 is, besides */
    SAMPI_IF_ABOVE_0 = 4, /* told only if it is */
    SAMPI_IF_LAST = 8,    /* told only if the field before was */
    SAMPI_PASSING = 16,   /* only needed while the sampler is made: no part of the fingerprint */
    SAMPI_OR_ALL = 32,    /* in samp_params -1 is good too, and means n_ctx_train (sampi_from_params) */
    SAMPI_LATER = 64      /* came when states were saved already: in the fingerprint only if it is not 0 */
};

/* `from` and `at` are offsets: a field has the same type in both places, so parameters become a sampler by copying
   bytes (sampi_from_params). A kind without fields, such as greedy, has no row here. */
typedef struct sampi_field {
    sampi_kind kind;
    sampi_type type;
    const char *param; /* what samp_status calls it, */
    size_t from;       /* and where samp_params has it; SAMPI_NOWHERE: it has not */
    size_t at;         /* in a sampler */
    double usual;      /* the default */
    double lo, hi;     /* the range, both ends in it */
    unsigned how;
    const char *told; /* what samp_describe calls it, or NULL */
} sampi_field;

#define SAMPI_NOWHERE    (~(size_t)0)
#define SAMPI_MAX_WINDOW (1 << 22) /* tokens in the windows of penalties and dry */

/* clang-format off */
#define SAMPI_FIELD(kind, type, param, member, usual, lo, hi, how, told) \
    { SAMPI_##kind, SAMPI_##type, #param, offsetof(samp_params, param), offsetof(sampi_sampler, u.member), \
      usual, lo, hi, how, told }
#define SAMPI_FIXED(kind, type, param, member, usual, lo, hi, told) /* one that samp_params has not */ \
    { SAMPI_##kind, SAMPI_##type, #param, SAMPI_NOWHERE, offsetof(sampi_sampler, u.member), usual, lo, hi, 0, told }
#define SAMPI_LIMIT(type, param, member, hi) /* which most constraints have not: then it is 0 */ \
    { SAMPI_CONSTRAINT, SAMPI_##type, #param, SAMPI_NOWHERE, offsetof(sampi_sampler, u.limit.member), \
      0, 0, hi, SAMPI_IF_ABOVE_0, #param }
#define SAMPI_DECAY(param, member) \
    { SAMPI_TOP_P_DECAY, SAMPI_FLOAT, #param, SAMPI_NOWHERE, offsetof(sampi_sampler, u.decay.member), \
      1, 0, 1, SAMPI_OPEN, #param }
#define SAMPI_MIN_KEEP(kind, member) SAMPI_FIELD(kind, SIZE, min_keep, member, 0, 0, 0, 0, "min_keep")

/* Of one kind: samp_describe tells them in this order, the first that is bad is the one samp_status names, and the
   fingerprint takes them in this order too, so a row must not move among the others of its kind. */
static const sampi_field SAMPI_FIELDS[] = {
    SAMPI_FIELD(LOGIT_BIAS, INT32, n_vocab, bias.n_vocab, 0, INT32_MIN, INT32_MAX, 0, NULL),
    SAMPI_FIELD(LOGIT_BIAS, INT32, n_logit_bias, bias.n, 0, 0, INT32_MAX, 0, "n"),

    SAMPI_FIELD(PENALTIES, INT32, penalty_last_n, penalties.last_n, 64, 0, SAMPI_MAX_WINDOW, SAMPI_OR_ALL, "last_n"),
    SAMPI_FIELD(PENALTIES, FLOAT, penalty_repeat, penalties.repeat, 1, 0, FLT_MAX, SAMPI_OPEN, "repeat"),
    SAMPI_FIELD(PENALTIES, FLOAT, penalty_freq, penalties.freq, 0, -FLT_MAX, FLT_MAX, 0, "freq"),
    SAMPI_FIELD(PENALTIES, FLOAT, penalty_present, penalties.present, 0, -FLT_MAX, FLT_MAX, 0, "present"),

    SAMPI_FIELD(DRY, FLOAT, dry_multiplier, dry.multiplier, 0, 0, FLT_MAX, 0, "multiplier"),
    SAMPI_FIELD(DRY, FLOAT, dry_base, dry.base, 1.75, 1, FLT_MAX, 0, "base"),
    SAMPI_FIELD(DRY, INT32, dry_allowed_length, dry.allowed, 2, 0, INT32_MAX, 0, "allowed_length"),
    SAMPI_FIELD(DRY, INT32, dry_penalty_last_n, dry.last_n, -1, -1, SAMPI_MAX_WINDOW, 0, "last_n"),
    SAMPI_FIELD(DRY, INT32, n_ctx_train, dry.n_ctx_train, 4096, 0, SAMPI_MAX_WINDOW, SAMPI_PASSING, NULL),

    SAMPI_FIELD(TOP_N_SIGMA, FLOAT, top_n_sigma, cut.p, -1, -FLT_MAX, FLT_MAX, 0, "n"),
    SAMPI_FIELD(TOP_K, INT32, top_k, top_k.k, 40, INT32_MIN, INT32_MAX, 0, "k"),
    SAMPI_FIELD(TOP_K, INT32, top_k_ties, top_k.ties, 0, 0, 1, SAMPI_LATER | SAMPI_IF_ABOVE_0, "ties"),
    SAMPI_FIELD(TAIL_FREE, FLOAT, tfs_z, cut.p, 1, 0, 1, SAMPI_OPEN, "z"),
    SAMPI_MIN_KEEP(TAIL_FREE, cut.min_keep),
    SAMPI_FIELD(TYPICAL, FLOAT, typ_p, cut.p, 1, 0, 1, SAMPI_OPEN, "p"),
    SAMPI_MIN_KEEP(TYPICAL, cut.min_keep),
    SAMPI_FIELD(TOP_P, FLOAT, top_p, cut.p, 0.95, 0, 1, SAMPI_OPEN, "p"),
    SAMPI_MIN_KEEP(TOP_P, cut.min_keep),
    SAMPI_FIELD(MIN_P, FLOAT, min_p, cut.p, 0.05, 0, 1, 0, "p"),
    SAMPI_MIN_KEEP(MIN_P, cut.min_keep),
    SAMPI_FIELD(TOP_A, FLOAT, top_a, cut.p, 0, 0, 1, 0, "a"),
    SAMPI_MIN_KEEP(TOP_A, cut.min_keep),
    SAMPI_FIELD(P_LESS, FLOAT, p_less, cut.p, 0, 0, 1, 0, "scale"),
    SAMPI_MIN_KEEP(P_LESS, cut.min_keep),
    SAMPI_FIELD(EPSILON, FLOAT, epsilon_cutoff, cut.p, 0, 0, 1, 0, "epsilon"),
    SAMPI_MIN_KEEP(EPSILON, cut.min_keep),
    SAMPI_FIELD(ETA, FLOAT, eta_cutoff, cut.p, 0, 0, 1, 0, "epsilon"),
    SAMPI_MIN_KEEP(ETA, cut.min_keep),
    SAMPI_FIELD(TOP_H, FLOAT, top_h, cut.p, 1, 0, 1, SAMPI_OPEN, "alpha"),
    SAMPI_MIN_KEEP(TOP_H, cut.min_keep),
    SAMPI_FIELD(MIN_K, FLOAT, min_k, cut.p, -1, -FLT_MAX, FLT_MAX, 0, "tau"),
    SAMPI_FIELD(XTC, FLOAT, xtc_probability, xtc.p, 0, 0, 1, 0, "p"),
    SAMPI_FIELD(XTC, FLOAT, xtc_threshold, xtc.t, 0.1, 0, 1, 0, "t"),
    SAMPI_MIN_KEEP(XTC, xtc.min_keep),

    SAMPI_FIELD(TEMP, FLOAT, temp, temp.t, 0.8, SAMPI_TEMP_MIN, SAMPI_TEMP_MAX, SAMPI_OR_ZERO, "t"),
    SAMPI_FIXED(TEMP, FLOAT, dynatemp_range, temp.delta, 0, 0, 0, NULL), /* temp is temp_ext without a range, */
    SAMPI_FIXED(TEMP, FLOAT, dynatemp_exponent, temp.exponent, 1, 1, 1, NULL), /* also in the fingerprint */
    SAMPI_FIELD(TEMP_EXT, FLOAT, temp, temp.t, 0.8, SAMPI_TEMP_MIN, SAMPI_TEMP_MAX, SAMPI_OR_ZERO, "t"),
    SAMPI_FIELD(TEMP_EXT, FLOAT, dynatemp_range, temp.delta, 0, 0, SAMPI_TEMP_MAX, SAMPI_IF_ABOVE_0, "delta"),
    SAMPI_FIELD(TEMP_EXT, FLOAT, dynatemp_exponent, temp.exponent, 1, 0, 1000, SAMPI_IF_LAST, "exponent"),

    SAMPI_FIELD(SMOOTHING, FLOAT, smoothing_factor, smoothing.factor, 0, 0, 1000, 0, "factor"),
    SAMPI_FIELD(SMOOTHING, FLOAT, smoothing_curve, smoothing.curve, 1, 1, 10, 0, "curve"),

    SAMPI_FIELD(MIROSTAT, FLOAT, mirostat_tau, mirostat.tau, 5, 0, FLT_MAX / 2, 0, "tau"),
    SAMPI_FIELD(MIROSTAT, FLOAT, mirostat_eta, mirostat.eta, 0.1, 0, FLT_MAX, 0, "eta"),
    SAMPI_FIELD(MIROSTAT, INT32, n_vocab, mirostat.n_vocab, 0, 1, INT32_MAX, 0, NULL),
    SAMPI_FIXED(MIROSTAT, INT32, mirostat_m, mirostat.m, 100, 2, INT32_MAX, "m"),
    SAMPI_FIELD(MIROSTAT_V2, FLOAT, mirostat_tau, mirostat.tau, 5, 0, FLT_MAX / 2, 0, "tau"),
    SAMPI_FIELD(MIROSTAT_V2, FLOAT, mirostat_eta, mirostat.eta, 0.1, 0, FLT_MAX, 0, "eta"),
    SAMPI_FIXED(MIROSTAT_V2, INT32, n_vocab, mirostat.n_vocab, 0, 0, 0, NULL), /* not used: in the fingerprint only */
    SAMPI_FIXED(MIROSTAT_V2, INT32, mirostat_m, mirostat.m, 0, 0, 0, NULL),

    SAMPI_FIELD(ADAPTIVE_P, FLOAT, adaptive_target, adaptive.target, -1, -FLT_MAX, 1, 0, "target"),
    SAMPI_FIELD(ADAPTIVE_P, FLOAT, adaptive_decay, adaptive.decay, 0.9, 0, 0.99f, 0, "decay"),

#ifdef SAMPLING_CONSTRAINTS_DECLARED
    SAMPI_LIMIT(INT32, n, n, INT32_MAX),
    SAMPI_LIMIT(INT32, begin, begin, INT32_MAX),
    SAMPI_LIMIT(INT32, count, count, INT32_MAX),
    SAMPI_LIMIT(INT32, min_period, shortest, INT32_MAX),
    SAMPI_LIMIT(INT32, max_period, longest, INT32_MAX),
    SAMPI_LIMIT(INT32, copies, copies, INT32_MAX),
    SAMPI_LIMIT(INT32, last_n, last_n, SAMPI_MAX_WINDOW),
    SAMPI_LIMIT(INT32, every, every, INT32_MAX),
    SAMPI_LIMIT(INT32, budget, budget, INT32_MAX),
    SAMPI_LIMIT(FLOAT, factor, factor, FLT_MAX),
    SAMPI_LIMIT(FLOAT, loss, loss, FLT_MAX),
    SAMPI_LIMIT(FLOAT, alarm, alarm, FLT_MAX),
    SAMPI_LIMIT(FLOAT, penalty, penalty, INFINITY),
    SAMPI_DECAY(p, first),
    SAMPI_DECAY(decay, factor),
    SAMPI_DECAY(lowest, lowest),
    SAMPI_MIN_KEEP(TOP_P_DECAY, decay.min_keep),
#endif
};
/* clang-format on */
#define SAMPI_N_FIELDS (sizeof SAMPI_FIELDS / sizeof SAMPI_FIELDS[0])

/* For checks and texts, from where it stands in a sampler or in samp_params. As a double, which holds floats and int32
   exactly; a SAMPI_SIZE only roughly, enough to compare with 1. */
static SAMPI_COLD double sampi_number(const sampi_field *f, const void *at)
{
    if (f->type == SAMPI_FLOAT) return (double)*(const float *)at;
    return f->type == SAMPI_INT32 ? (double)*(const int32_t *)at : (double)*(const size_t *)at;
}
static SAMPI_COLD double sampi_field_value(const sampi_sampler *s, const sampi_field *f)
{
    return sampi_number(f, (const char *)s + f->at);
}

/* Its bytes: in a sampler, or in samp_params, where it has the same type. */
static size_t sampi_field_bytes(const sampi_field *f) { return f->type == SAMPI_SIZE ? sizeof(size_t) : 4; }

/* Write the default of a field to where it stands: in a blank record (sampi_blank), or in samp_params
   (samp_default_params). So both have the same defaults. */
static SAMPI_COLD void sampi_field_reset(const sampi_field *f, void *to)
{
    if (f->type == SAMPI_FLOAT)
        *(float *)to = (float)f->usual;
    else if (f->type == SAMPI_INT32)
        *(int32_t *)to = (int32_t)f->usual;
    else
        *(size_t *)to = 0;
}
