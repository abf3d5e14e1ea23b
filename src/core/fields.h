/* ---- the numbers of the samplers ----
   A field describes one number of a sampler: its name, its members in samp_params and in the record, type, range,
   default. Each sampler's room has the list of its fields. The lists are the source of the checks in constructors and
   of parameters, the defaults of samp_params, the text of samp_describe, the names of settings, and the fingerprint in
   a saved state. */

/* The type of a field. Switches over it have no default, so the compiler reports each one without a new type. */
typedef enum sampi_type {
    SAMPI_FLOAT,
    SAMPI_INT32,
    SAMPI_SIZE, /* a min_keep: described only above 1, since 0 and 1 mean the same; no range */
    SAMPI_SEED, /* from here on not numbers but texts and lists, in samp_params only (SAMPI_CHAIN_FIELDS) */
    SAMPI_RNG,
    SAMPI_ORDER,
    SAMPI_BREAKERS,
    SAMPI_BIASES
} sampi_type;

enum {
    SAMPI_OPEN = 1,       /* the range is open below */
    SAMPI_OR_ZERO = 2,    /* 0 is valid besides the range */
    SAMPI_IF_ABOVE_0 = 4, /* samp_describe leaves it out unless it is above 0 */
    SAMPI_IF_LAST = 8,    /* samp_describe leaves it out if it left out the field before */
    SAMPI_PASSING = 16,   /* used only while the sampler is made: not in the fingerprint */
    SAMPI_OR_ALL = 32,    /* in samp_params -1 is valid too, and means n_ctx_train (sampi_from_params) */
    SAMPI_LATER = 64      /* younger than the first saved states: in the fingerprint only if it is not 0 */
};

/* `from` and `at` are offsets. A field has the same type in both places, so sampi_from_params copies bytes. */
struct sampi_field {
    sampi_type type;
    const char *param; /* the name that samp_status reports */
    size_t from;       /* the offset in samp_params; SAMPI_NOWHERE: samp_params has no such member */
    size_t at;         /* the offset in a sampler */
    double usual;      /* the default */
    double lo, hi;     /* the range, closed unless SAMPI_OPEN */
    unsigned how;      /* SAMPI_OPEN and so on */
    const char *label; /* the name that samp_describe writes, or NULL */
};

#define SAMPI_NOWHERE    (~(size_t)0)
#define SAMPI_MAX_WINDOW (1 << 22) /* tokens in the windows of penalties and dry */

/* The entries of a room's list of fields. The order of the list is that of samp_describe's text and of the fingerprint,
   and samp_status reports the first bad field. So a field must never move in its list. */
#define SAMPI_FIELD(type, param, member, usual, lo, hi, how, label) \
    { \
        SAMPI_##type, #param, offsetof(samp_params, param), offsetof(sampi_sampler, u.member), usual, lo, hi, how, \
            label \
    }
#define SAMPI_FIXED(type, param, member, usual, lo, hi, label) /* not in samp_params */ \
    { \
        SAMPI_##type, #param, SAMPI_NOWHERE, offsetof(sampi_sampler, u.member), usual, lo, hi, 0, label \
    }
#define SAMPI_MIN_KEEP(member) SAMPI_FIELD(SIZE, min_keep, member, 0, 0, 0, 0, "min_keep")

/* Returns the value of a field as a double, for checks and texts. `at` points into a sampler or samp_params. A double
   holds floats and int32 exactly, and a SAMPI_SIZE well enough to compare it with 1. */
static SAMPI_COLD double sampi_number(const sampi_field *f, const void *at)
{
    if (f->type == SAMPI_FLOAT) return (double)*(const float *)at;
    return f->type == SAMPI_INT32 ? (double)*(const int32_t *)at : (double)*(const size_t *)at;
}
static SAMPI_COLD double sampi_field_value(const sampi_sampler *s, const sampi_field *f)
{
    return sampi_number(f, (const char *)s + f->at);
}

/* Is the field a text or list of samp_params, and no number? */
static bool sampi_is_text_field(const sampi_field *f) { return f->type >= SAMPI_SEED; }

/* Returns the bytes of a number. */
static size_t sampi_field_bytes(const sampi_field *f) { return f->type == SAMPI_SIZE ? sizeof(size_t) : 4; }

/* Writes a field's default into a blank record (sampi_blank) or into samp_params (samp_default_params), so that both
   have the same defaults. */
static SAMPI_COLD void sampi_field_reset(const sampi_field *f, void *to)
{
    if (f->type == SAMPI_FLOAT)
        *(float *)to = (float)f->usual;
    else if (f->type == SAMPI_INT32)
        *(int32_t *)to = (int32_t)f->usual;
    else
        *(size_t *)to = 0;
}
