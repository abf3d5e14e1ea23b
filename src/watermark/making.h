/* ---- watermarks: making ----
   The defaults, samp_watermark_set, which sets one member by its name, the constructors, and the rows of the three
   kinds in the table of kinds. Each of the five watermarks has a name of its own, as constraints have. */

SAMP_API SAMPI_COLD samp_watermark samp_default_watermark(samp_watermark_kind kind)
{
    samp_watermark mark;
    memset(&mark, 0, sizeof mark);
    mark.kind = kind;
    mark.context_width = kind == SAMP_WATERMARK_SBW_LEFTHASH ? 1 : 4;
    mark.scope = SAMP_WATERMARK_ONCE_IN_TEXT;
    mark.history = 8192;
    mark.alpha = 0.1;
    mark.depth = 32;
    mark.gamma = 0.5;
    mark.delta = 2.0f;
    return mark;
}

static const char *const SAMPI_MARK_KINDS[] = { "gumbel", "gumbel_dual", "sbw_selfhash", "sbw_lefthash", "synthid" };
static const char *const SAMPI_MARK_NAMES[] = { "watermark-gumbel", "watermark-gumbel-dual", "watermark-sbw-selfhash",
                                                "watermark-sbw-lefthash", "watermark-synthid" };
static const char *const SAMPI_MARK_SCOPES[] = { "once_in_text", "once_in_all", "always" };

/* Returns the index of the text `value` among the words, or -1. */
static SAMPI_COLD int sampi_mark_choice(const char *const *words, int n, const char *value)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(words[i], value)) return i;
    return -1;
}

/* Reads a text that is a number and nothing else as the nearest double. */
static SAMPI_COLD int sampi_mark_number(const char *text, double *out)
{
    sampi_written w;
    const char *end = text + strlen(text);
    if (sampi_read_written(text, end, &w) != end) return SAMP_E_FORMAT;
    const double value = sampi_written_value(&w, 63);
    if (value > DBL_MAX) return SAMP_E_RANGE;
    *out = w.negative ? -value : value;
    return SAMP_OK;
}

SAMP_API SAMPI_COLD int samp_watermark_set(samp_watermark *mark, const char *name, const char *value)
{
    static const char *const names[] = { "kind",  "key",   "context_width", "scope", "history",
                                         "alpha", "depth", "gamma",         "delta", "seed" };
    if (!mark || !name || !value) return SAMP_E_NULL;
    uint64_t n = 0;
    float x;
    int what = sampi_mark_choice(names, 10, name), status, i = -1;
    switch (what) {
        case -1: return SAMP_E_NAME;
        case 0:
        case 3:
            i = what ? sampi_mark_choice(SAMPI_MARK_SCOPES, 3, value) : sampi_mark_choice(SAMPI_MARK_KINDS, 5, value);
            if (i < 0) return SAMP_E_RANGE;
            if (what)
                mark->scope = (samp_watermark_scope)i;
            else
                mark->kind = (samp_watermark_kind)i;
            return SAMP_OK;
        case 1: return sampi_read_integer(value, 0, UINT64_MAX, &mark->key);
        case 9: return sampi_read_integer(value, 0, UINT64_MAX, &mark->seed);
        case 5: return sampi_mark_number(value, &mark->alpha);
        case 7: return sampi_mark_number(value, &mark->gamma);
        case 8:
            status = sampi_read_float(&value, &x);
            if (*value) return SAMP_E_FORMAT;
            if (!status) mark->delta = x;
            return status;
        default: status = sampi_read_integer(value, (uint64_t)INT32_MAX + 1, INT32_MAX, &n);
    }
    int32_t *to = what == 2 ? &mark->context_width : what == 4 ? &mark->history : &mark->depth;
    if (!status) *to = (int32_t)n;
    return status;
}

/* Copies the numbers of a watermark into a record, and checks those that its kind uses. */
static SAMPI_COLD sampi_sampler sampi_mark_of(const samp_watermark *from)
{
    samp_watermark none = samp_default_watermark(SAMP_WATERMARK_GUMBEL);
    const samp_watermark *mark = from ? from : &none;
    const bool is_synthid = mark->kind == SAMP_WATERMARK_SYNTHID;
    const bool is_sbw = mark->kind == SAMP_WATERMARK_SBW_SELFHASH || mark->kind == SAMP_WATERMARK_SBW_LEFTHASH;
    const bool is_dual = mark->kind == SAMP_WATERMARK_GUMBEL_DUAL;
    sampi_sampler t = sampi_blank(is_synthid ? SAMPI_SYNTHID : is_sbw ? SAMPI_SBW : SAMPI_WATERMARK);
    if ((unsigned)mark->kind <= SAMP_WATERMARK_SYNTHID) t.name = SAMPI_MARK_NAMES[mark->kind];
    t.seed = is_sbw ? 0 : mark->seed;
    sampi_watermark *to = &t.u.mark;
    to->what = mark->kind;
    to->key[0] = is_dual ? sampi_mark_derive("key_a", mark->key) : mark->key;
    to->key[1] = is_dual ? sampi_mark_derive("key_b", mark->key) : 0;
    to->width = mark->context_width;
    to->scope = (int32_t)mark->scope;
    to->history = mark->history;
    to->depth = is_synthid ? mark->depth : 1;
    to->alpha = is_dual ? mark->alpha : 0.0;
    to->gamma = is_sbw ? mark->gamma : 0.5;
    to->alpha_shown = (float)to->alpha;
    to->gamma_shown = (float)to->gamma;
    to->delta = is_sbw ? mark->delta : 0.0f;
    sampi_require(&t, from != NULL, SAMP_E_NULL, "mark");
    sampi_require(&t, (unsigned)mark->kind <= SAMP_WATERMARK_SYNTHID, SAMP_E_RANGE, "kind");
    sampi_require(&t, to->alpha == to->alpha, SAMP_E_NAN, "alpha");
    sampi_require(&t, to->alpha >= 0.0 && to->alpha <= 1.0, SAMP_E_RANGE, "alpha");
    sampi_require(&t, to->gamma == to->gamma, SAMP_E_NAN, "gamma");
    sampi_require(&t, to->gamma > 0.0 && to->gamma < 1.0, SAMP_E_RANGE, "gamma");
    return t;
}

/* Sizes the ring of tokens and the table of contexts. The fields have been checked, so the sizes are bounded. */
static SAMPI_COLD void sampi_mark_prepare(sampi_sampler *t, bool make)
{
    sampi_watermark *mark = &t->u.mark;
    (void)make;
    mark->ring.cap = (uint32_t)mark->width;
    if (mark->scope != SAMP_WATERMARK_ALWAYS) {
        mark->ring.cap += (uint32_t)mark->history;
        mark->n_slots = 16;
        while (mark->n_slots < 2 * ((uint32_t)mark->history + 1)) mark->n_slots *= 2;
    }
    t->part_size[1] = mark->ring.cap * sizeof(samp_token);
    t->part_size[2] = mark->n_slots * sizeof(uint32_t);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_watermark(const samp_watermark *mark)
{
    sampi_sampler t = sampi_mark_of(mark);
    return sampi_init(&t);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_watermark_draft(const samp_watermark *mark)
{
    sampi_sampler t = sampi_mark_of(mark);
    sampi_require(&t, t.u.mark.what == SAMP_WATERMARK_GUMBEL_DUAL, SAMP_E_UNSUPPORTED, "kind");
    t.u.mark.alpha = t.u.mark.alpha_shown = 0.0f;
    return sampi_init(&t);
}

/* Sets, in samplers with two keys, whether the next row of logits is the one after a whole draft. */
static SAMPI_COLD void sampi_mark_behind(sampi_sampler *s, bool is_behind)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_mark_behind(s->u.chain.item[i], is_behind);
    if (s->kind == SAMPI_WATERMARK) s->u.mark.is_behind = is_behind;
}

/* ---- the kinds ---- */

/* clang-format off */
#define SAMPI_MARK(type, param, member, lo, hi, how) \
    { SAMPI_##type, #param, SAMPI_NOWHERE, offsetof(sampi_sampler, u.mark.member), lo, lo, hi, how, #param }
#define SAMPI_MARK_TEXT \
    SAMPI_MARK(INT32, context_width, width, 1, 64, 0), SAMPI_MARK(INT32, scope, scope, 0, 2, SAMPI_IF_ABOVE_0), \
    SAMPI_MARK(INT32, history, history, 1, SAMPI_MAX_WINDOW, 0)
static const sampi_field SAMPI_WATERMARK_FIELDS[] = {
    SAMPI_MARK_TEXT, SAMPI_MARK(FLOAT, alpha, alpha_shown, 0, 1, SAMPI_IF_ABOVE_0),
};
static const sampi_field SAMPI_SYNTHID_FIELDS[] = { SAMPI_MARK_TEXT, SAMPI_MARK(INT32, depth, depth, 1, 32, 0) };
static const sampi_field SAMPI_SBW_FIELDS[] = {
    SAMPI_MARK_TEXT, SAMPI_MARK(FLOAT, gamma, gamma_shown, 0, 1, 0), SAMPI_MARK(FLOAT, delta, delta, 0, FLT_MAX, 0),
};
/* clang-format on */
SAMPI_HOOKS(MARK, NULL, sampi_mark_prepare, NULL, sampi_mark_settings, sampi_mark_accept, sampi_mark_reset,
            sampi_mark_state, NULL, sampi_mark_past, SAMPI_BYTES_ONLY);

static SAMPI_COLD bool sampi_sbw_is_off(const sampi_sampler *s) { return s->u.mark.delta == 0.0f; }

#define SAMPI_WATERMARK_ROW \
    "watermark", 7, 0, "", SAMPI_SELECTS | SAMPI_VIEW_SORTED | SAMPI_IF_NAMED, \
        SAMPI_FIELDS_OF(SAMPI_WATERMARK_FIELDS), NULL, &SAMPI_MARK_HOOKS, sampi_mark_apply, sampi_fast_watermark, \
        SAMPI_BY_LLAMA_CPP(sampi_mark_apply)
#define SAMPI_SYNTHID_ROW \
    "watermark-synthid", 8, 0, "", SAMPI_SELECTS | SAMPI_OWN_LOGITS | SAMPI_IF_NAMED, \
        SAMPI_FIELDS_OF(SAMPI_SYNTHID_FIELDS), NULL, &SAMPI_MARK_HOOKS, sampi_synthid_apply, sampi_fast_synthid, \
        SAMPI_BY_LLAMA_CPP(sampi_synthid_apply)
#define SAMPI_SBW_ROW \
    "watermark-sbw", 0, 0, "", SAMPI_KEEPS_P | SAMPI_MASKS_NONE | SAMPI_IF_NAMED, SAMPI_FIELDS_OF(SAMPI_SBW_FIELDS), \
        sampi_sbw_is_off, &SAMPI_MARK_HOOKS, sampi_sbw_apply, sampi_fast_sbw, SAMPI_BY_LLAMA_CPP(sampi_sbw_apply)
