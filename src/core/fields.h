/* ---- the numbers of the samplers ----
   A field describes one parameter of a sampler: its name, its offsets in samp_params and in the sampler's record (the
   struct behind samp_sampler), its type, range and default. The file of each sampler has the list of its fields. These
   lists are the source of the checks in constructors and of parameters, the defaults of samp_params, the text of
   samp_describe, the names of settings, and the fingerprint in a saved state. */

/* The type of a field. Switches over this type have no default case, so the compiler reports each switch that does not
   handle a new type. */
typedef enum sampi_type {
    SAMPI_FLOAT,
    SAMPI_INT32,
    /* a min_keep: it has no range, and samp_describe writes it only above 1, because 0 and 1 have the same effect */
    SAMPI_SIZE,
    /* this type and those below are not numbers but texts and lists, in samp_params only (SAMPI_CHAIN_FIELDS) */
    SAMPI_SEED,
    SAMPI_RNG,
    SAMPI_ORDER,
    SAMPI_BREAKERS,
    SAMPI_BIASES
} sampi_type;

enum {
    SAMPI_OPEN = 1,       /* the lower end of the range is not in the range */
    SAMPI_OR_ZERO = 2,    /* 0 is valid too, although it is outside the range */
    SAMPI_IF_ABOVE_0 = 4, /* samp_describe leaves the field out unless its value is above 0 */
    SAMPI_IF_LAST = 8,    /* samp_describe leaves the field out if it has left out the field before */
    SAMPI_PASSING = 16,   /* the value is used only while the sampler is made, so it is not in the fingerprint */
    SAMPI_OR_ALL = 32,    /* in samp_params -1 is valid too, and is replaced by n_ctx_train (sampi_from_params) */
    /* the field is younger than the first saved states: it is in the fingerprint only if it is not 0 */
    SAMPI_LATER = 64
};

/* A field. It has the same type in samp_params and in a sampler, so sampi_from_params copies bytes from one offset to
   the other. */
struct sampi_field {
    sampi_type type;
    const char *param; /* the name that samp_status reports */
    size_t from;       /* the offset in samp_params, or SAMPI_NOWHERE if samp_params has no such member */
    size_t at;         /* the offset in a sampler's record */
    double usual;      /* the default value */
    double lo, hi;     /* the lowest and the highest valid value (lo is excluded with SAMPI_OPEN) */
    unsigned how;      /* flags: SAMPI_OPEN and those below it */
    const char *label; /* the name that samp_describe writes, or NULL for no text */
};

#define SAMPI_NOWHERE    (~(size_t)0)
#define SAMPI_MAX_WINDOW (1 << 22) /* the largest window of penalties and dry, in tokens */

/* These macros write the entries of a sampler's list of fields. The order of the list is that of samp_describe's text
   and of the fingerprint, and samp_status reports the first bad field. So a field must never move in its list. */
#define SAMPI_FIELD(type, param, member, usual, lo, hi, how, label) \
    { \
        SAMPI_##type, #param, offsetof(samp_params, param), offsetof(sampi_sampler, u.member), usual, lo, hi, how, \
            label \
    }
#define SAMPI_FIXED(type, param, member, usual, lo, hi, label) /* for a field that is not in samp_params */ \
    { \
        SAMPI_##type, #param, SAMPI_NOWHERE, offsetof(sampi_sampler, u.member), usual, lo, hi, 0, label \
    }
#define SAMPI_MIN_KEEP(member) SAMPI_FIELD(SIZE, min_keep, member, 0, 0, 0, 0, "min_keep")

/* sampi_number returns the value of a field as a double, for checks and texts. `at` points to the value, in a sampler
   or in samp_params. A double holds floats and int32 exactly, and a SAMPI_SIZE well enough to compare it with 1. */
static SAMPI_COLD double sampi_number(const sampi_field *f, const void *at)
{
    if (f->type == SAMPI_FLOAT) return (double)*(const float *)at;
    return f->type == SAMPI_INT32 ? (double)*(const int32_t *)at : (double)*(const size_t *)at;
}
static SAMPI_COLD double sampi_field_value(const sampi_sampler *s, const sampi_field *f)
{
    return sampi_number(f, (const char *)s + f->at);
}

/* Returns how many tokens a sampler that cuts keeps at least, from 1 on: the kind's field of the type SAMPI_SIZE. */
static size_t sampi_min_keep(const sampi_sampler *s)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    size_t min_keep = 1;
    for (size_t i = 0; i < traits->n_fields; i++)
        if (traits->field[i].type == SAMPI_SIZE)
            min_keep = *(const size_t *)(const void *)((const char *)s + traits->field[i].at);
    return min_keep > 1 ? min_keep : 1;
}

/* Is the field a text or a list of samp_params, not a number? */
static bool sampi_is_text_field(const sampi_field *f) { return f->type >= SAMPI_SEED; }

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
