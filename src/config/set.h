/* ---- settings: set ----
   samp_settings_set: a name and a text give one member of the settings a value. The name is looked up in the tables of
   fields (core/fields.h). An entry of a list (logit_bias, dry's breakers) is added by copying the list to a new block
   of memory. After an error nothing has changed. */

/* Returns the field with this name, or NULL. It is the first field in the tables with that name, or the first field of
   the sampler that has this name in an order. The fields of logit_bias are left out; its list is one of
   SAMPI_CHAIN_FIELDS. */
static SAMPI_COLD const sampi_field *sampi_field_named(const char *name)
{
    const sampi_kind named = sampi_kind_named(name, strlen(name));
    const sampi_field *found = NULL;
    for (int kind = SAMPI_N_KINDS; kind-- > 0;) {
        const sampi_traits *traits = sampi_traits_of((sampi_kind)kind);
        for (size_t i = traits->n_fields; i-- > 0;) {
            const sampi_field *f = &traits->field[i];
            bool settable = kind != SAMPI_LOGIT_BIAS && f->from != SAMPI_NOWHERE;
            if (kind == (int)named || (settable && !strcmp(name, f->param))) found = f;
        }
    }
    for (size_t i = 0; i < SAMPI_N_CHAIN_FIELDS; i++)
        if (!strcmp(name, SAMPI_CHAIN_FIELDS[i].param)) found = &SAMPI_CHAIN_FIELDS[i];
    return found;
}

/* Reads an entry of logit_bias, a token and its bias, and moves *text to the character after it. */
static SAMPI_COLD int sampi_read_bias(const char **text, samp_logit_bias *out)
{
    uint64_t token;
    int status = sampi_read_digits(text, INT32_MAX, &token), bad = SAMP_OK;
    const char *t = *text;
    out->token = (samp_token)token;
    out->bias = -INFINITY;
    if (status == SAMP_E_FORMAT || (*t != '+' && *t != '-')) return SAMP_E_FORMAT;
    if (t[0] == '-' && t[1] == 'i' && t[2] == 'n' && t[3] == 'f')
        *text += 4;
    else
        bad = sampi_read_float(text, &out->bias);
    return bad ? bad : status;
}

/* Makes a new list of biases: the old entries, then those of the text `value`. Returns a status. */
static SAMPI_COLD int sampi_more_biases(samp_params *p, const char *value, void **block)
{
    size_t had = (size_t)p->n_logit_bias, n = had + 1;
    int status = SAMP_OK;
    for (const char *c = value; *c; c++) n += *c == ',';
    if (n > INT32_MAX) return SAMP_E_RANGE;
    samp_logit_bias *list = (samp_logit_bias *)SAMP_MALLOC(n * sizeof *list);
    if (!list) return SAMP_E_NOMEM;
    if (had) memcpy(list, p->logit_bias, had * sizeof *list);
    for (size_t i = had; i < n && !status; i++, value++) {
        status = sampi_read_bias(&value, &list[i]);
        if (*value != (i + 1 < n ? ',' : 0)) status = SAMP_E_FORMAT;
    }
    if (status) {
        SAMP_FREE(list);
        return status;
    }
    p->n_logit_bias = (int32_t)n;
    *block = list;
    return SAMP_OK;
}

/* Makes a new list of dry's breakers: the old breakers, then `value`. The block of memory has the pointers first, then
   the texts. The value "none" makes the list empty. */
static SAMPI_COLD int sampi_more_breakers(const samp_params *p, const char *value, void **block)
{
    const char *const *old = p->dry_breakers;
    bool none = !strcmp(value, "none");
    size_t n = 0, used = 0, size = strlen(value) + 1;
    if (!*value) return SAMP_E_RANGE;
    for (; !none && old && old[n]; n++) used += strlen(old[n]) + 1;
    const char **list = (const char **)SAMP_MALLOC((n + 2) * sizeof *list + used + size);
    if (!list) return SAMP_E_NOMEM;
    char *text = (char *)(list + n + 2);
    if (n) memcpy(text, old[0], used); /* the old texts follow one another in one block */
    memcpy(text + used, value, size);
    for (size_t i = 0; i <= n; i++, text += strlen(text) + 1) list[i] = text;
    list[none ? 0 : n + 1] = NULL;
    *block = list;
    return SAMP_OK;
}

/* Sets a member that is a text or a list; if value is NULL, to its default. The new block of memory is made before the
   old one is freed, so an error changes nothing. */
static SAMPI_COLD int sampi_set_word(samp_params *p, const sampi_field *f, const char *value)
{
    void *to = (char *)p + f->from, *block = NULL, *old;
    bool mt = value && !strcmp(value, "mt19937");
    int status = SAMP_OK;
    switch (f->type) {
        case SAMPI_SEED: return sampi_read_integer(value ? value : "0", 0, UINT64_MAX, &p->seed);
        case SAMPI_RNG:
            if (value && !mt && strcmp(value, "philox")) return SAMP_E_RANGE;
            status = sampi_rng_status(mt ? SAMP_RNG_MT19937 : SAMP_RNG_PHILOX);
            if (!status) p->rng = mt ? SAMP_RNG_MT19937 : SAMP_RNG_PHILOX;
            return status;
        case SAMPI_ORDER:
            block = value ? SAMP_MALLOC(strlen(value) + 1) : NULL;
            if (value && !block) return SAMP_E_NOMEM;
            if (value) memcpy(block, value, strlen(value) + 1);
            break;
        case SAMPI_BREAKERS:
            if (value) status = sampi_more_breakers(p, value, &block);
            break;
        default:
            if (value)
                status = sampi_more_biases(p, value, &block);
            else
                p->n_logit_bias = 0;
    }
    if (status) return status;
    memcpy(&old, to, sizeof old);
    memcpy(to, &block, sizeof block);
    SAMP_FREE(old);
    return SAMP_OK;
}

/* Sets the member of field f to the value that the text describes; if the text is NULL, to the default of
   samp_default_params. On an error nothing is written. samp_check_params checks the ranges (f->lo, f->hi) of all
   members later. */
static SAMPI_COLD int sampi_set_field(samp_params *p, const sampi_field *f, const char *value)
{
    void *to = (char *)p + f->from;
    uint64_t n;
    float x;
    int status = SAMP_OK;
    if (sampi_is_text_field(f)) return sampi_set_word(p, f, value);
    if (!value) {
        sampi_field_reset(f, to);
    } else if (f->type == SAMPI_FLOAT) {
        status = sampi_read_float(&value, &x);
        if (*value) return SAMP_E_FORMAT;
        if (!status) memcpy(to, &x, sizeof x);
    } else {
        bool small = f->type == SAMPI_INT32;
        status = sampi_read_integer(value, small ? (uint64_t)INT32_MAX + 1 : 0, small ? INT32_MAX : SIZE_MAX, &n);
        if (!status && small) *(int32_t *)to = (int32_t)n;
        if (!status && !small) *(size_t *)to = (size_t)n;
    }
    return status;
}

/* If a word of an order names no sampler, returns SAMP_E_NAME, and *what becomes a text with the word, which is cut at
   48 bytes, between two characters. */
static SAMPI_COLD int sampi_require_order(samp_settings *s, const char *order, const char **what)
{
    samp_params p;
    size_t n = 0, most = 48;
    bool infill;
    memset(&p, 0, sizeof p);
    p.order = order;
    const char *word = sampi_bad_name(&p, &n, &infill);
    if (!word) return SAMP_OK;
    while (n > most && most && (word[most] & 0xC0) == 0x80) most--;
    sampi_text t = { s->word, sizeof s->word, 0 };
    sampi_put(&t, "order: \"");
    for (size_t i = 0; i < n && i < most; i++) sampi_put_char(&t, word[i]);
    sampi_put(&t, "\"");
    (void)sampi_end_text(&t);
    *what = s->word;
    return SAMP_E_NAME;
}

SAMP_API SAMPI_COLD int samp_settings_set(samp_settings *s, const char *name, const char *value, const char **field)
{
    const char *what = s ? "name" : "settings";
    int status = SAMP_E_NULL;
    if (s && name) {
        const sampi_field *f = sampi_field_named(name);
        what = f ? f->param : name;
        status = f ? SAMP_OK : SAMP_E_NAME;
        if (f && f->type == SAMPI_ORDER && value) status = sampi_require_order(s, value, &what);
        if (!status) status = sampi_set_field(&s->params, f, value);
        if (!status && !strcmp(f->param, "n_ctx_train")) s->knows_length = value != NULL;
    }
    if (field) *field = status ? what : NULL;
    return status;
}
