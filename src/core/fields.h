/* ---- the numbers of the samplers ----
   What a field is: a number's name, its members in samp_params and in the record, type, range, default. Each sampler's
   room has the list of its fields. From these follow the checks of constructors and parameters, the defaults of
   samp_params, the text of samp_describe, names of settings, and the fingerprint in a saved state. */

/* What the bytes of a field are. The switches over it have no default, so the compiler names those that lack a new
   type. */
typedef enum sampi_type {
    SAMPI_FLOAT,
    SAMPI_INT32,
    SAMPI_SIZE, /* a min_keep: told only above 1, since 0 and 1 are the same; no range */
    SAMPI_SEED, /* this and what follows are no numbers, but words: in samp_params only (SAMPI_CHAIN_FIELDS) */
    SAMPI_RNG,
    SAMPI_ORDER,
    SAMPI_BREAKERS,
    SAMPI_BIASES
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
   bytes (sampi_from_params). */
struct sampi_field {
    sampi_type type;
    const char *param; /* what samp_status calls it, */
    size_t from;       /* and where samp_params has it; SAMPI_NOWHERE: it has not */
    size_t at;         /* in a sampler */
    double usual;      /* the default */
    double lo, hi;     /* the range, both ends in it */
    unsigned how;
    const char *told; /* what samp_describe calls it, or NULL */
};

#define SAMPI_NOWHERE    (~(size_t)0)
#define SAMPI_MAX_WINDOW (1 << 22) /* tokens in the windows of penalties and dry */

/* What a room's list of fields is made of. samp_describe tells them in the order of the list, the first that is bad is
   the one samp_status names, and the fingerprint takes them in this order too: a field must not move in its list. */
#define SAMPI_FIELD(type, param, member, usual, lo, hi, how, told) \
    { \
        SAMPI_##type, #param, offsetof(samp_params, param), offsetof(sampi_sampler, u.member), usual, lo, hi, how, \
            told \
    }
#define SAMPI_FIXED(type, param, member, usual, lo, hi, told) /* one that samp_params has not */ \
    { \
        SAMPI_##type, #param, SAMPI_NOWHERE, offsetof(sampi_sampler, u.member), usual, lo, hi, 0, told \
    }
#define SAMPI_MIN_KEEP(member) SAMPI_FIELD(SIZE, min_keep, member, 0, 0, 0, 0, "min_keep")

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
static bool sampi_is_word(const sampi_field *f) { return f->type >= SAMPI_SEED; }

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
