/* ---- settings: get, ranges, errors ----
   Settings and errors as text. samp_settings_get writes a setting's value as the shortest text that reads back as the
   same value. samp_settings_takes writes which values a setting may have. samp_error_text writes a sentence for a
   status and its field. These functions write only to the caller's buffer. */

/* Appends a float with the fewest digits, at least six, with which sampi_read_float reads the same float again. Nine
   digits are always enough. */
static SAMPI_COLD void sampi_put_exactly(sampi_text *t, float value)
{
    char buf[24];
    float back = 0.0f;
    for (uint32_t places = 6; places < 10; places++) {
        sampi_text number = { buf, sizeof buf, 0 };
        const char *text = buf;
        sampi_put_digits(&number, value, places);
        sampi_end_text(&number);
        if (!sampi_read_float(&text, &back) && back == value) break;
    }
    sampi_put(t, buf);
}

/* Appends the list of samplers that an order may name, each with its first name and its letter: "top_k k, ...". */
static SAMPI_COLD void sampi_put_names(sampi_text *t)
{
    const char *between = "";
    for (int kind = 0; kind < SAMPI_N_KINDS; kind++) {
        const sampi_traits *traits = sampi_traits_of((sampi_kind)kind);
        if (!traits->letter) continue;
        sampi_put(t, between);
        for (const char *c = traits->names; *c && *c != ';'; c++) sampi_put_char(t, *c);
        sampi_put_char(t, ' ');
        sampi_put_char(t, traits->letter);
        between = ", ";
    }
}

/* Appends the value of field f in p. Returns false if this field has no text. */
static SAMPI_COLD bool sampi_put_value(sampi_text *t, const sampi_field *f, const samp_params *p)
{
    const void *at = (const char *)p + f->from;
    switch (f->type) {
        case SAMPI_FLOAT: sampi_put_exactly(t, *(const float *)at); break;
        case SAMPI_INT32: sampi_put_i64(t, *(const int32_t *)at); break;
        case SAMPI_SIZE: sampi_put_u64(t, *(const size_t *)at); break;
        case SAMPI_SEED: sampi_put_u64(t, p->seed); break;
        case SAMPI_RNG: sampi_put(t, p->rng == SAMP_RNG_PHILOX ? "philox" : "mt19937"); break;
        case SAMPI_ORDER:
            if (p->order) sampi_put(t, p->order);
            return p->order != NULL;
        case SAMPI_BREAKERS:
        case SAMPI_BIASES: return false;
    }
    return true;
}

/* Appends a text that says which values a field may have. */
static SAMPI_COLD void sampi_put_range(sampi_text *t, const sampi_field *f)
{
    bool range = f->type == SAMPI_FLOAT || f->type == SAMPI_INT32;
    sampi_put(t, f->how & SAMPI_OR_ALL ? "-1, or " : f->how & SAMPI_OR_ZERO ? "0, or " : "");
    sampi_put(t, sampi_is_text_field(f) ? f->label : f->type == SAMPI_FLOAT ? "a number" : "a whole number");
    for (int high = 0; range && high < 2; high++) {
        double end = high ? f->hi : f->lo;
        sampi_put(t, high ? ", " : f->how & SAMPI_OPEN ? " in (" : " in [");
        if (f->type == SAMPI_INT32)
            sampi_put_i64(t, (int64_t)end);
        else
            sampi_put_exactly(t, (float)end);
    }
    sampi_put(t, range ? "]" : f->type == SAMPI_SIZE ? " from 0 up" : "");
    if (f->type == SAMPI_ORDER) sampi_put_names(t);
}

/* Writes a setting's value in p; if p is NULL, which values it may have. */
static SAMPI_COLD int sampi_tell(const samp_params *p, const char *name, char *buf, size_t size)
{
    sampi_text t = { buf, size, 0 };
    if (!name || (!buf && size)) return SAMP_E_NULL;
    const sampi_field *f = sampi_field_named(name);
    if (!f) return SAMP_E_NAME;
    if (p && !sampi_put_value(&t, f, p)) return SAMP_E_UNSUPPORTED;
    if (!p) sampi_put_range(&t, f);
    return sampi_end_text(&t);
}

SAMP_API SAMPI_COLD int samp_settings_get(const samp_settings *s, const char *name, char *buf, size_t size)
{
    return s ? sampi_tell(&s->params, name, buf, size) : SAMP_E_NULL;
}

SAMP_API SAMPI_COLD int samp_settings_takes(const char *name, char *buf, size_t size)
{
    return sampi_tell(NULL, name, buf, size);
}

/* Returns the reason for a status, for the field that samp_status reports, or "token" for samp_accept. */
static SAMPI_COLD const char *sampi_cause(int status, const char *field)
{
    static const struct {
        int status;
        const char *field, *text;
    } causes[] = {
        { SAMP_E_UNSUPPORTED, "compiler", "its flags, as -ffast-math, change the arithmetic" },
        { SAMP_E_UNSUPPORTED, "clone", "a custom sampler with a context lacks this function" },
        { SAMP_E_UNSUPPORTED, "place",
          "behind a sampler that selects it has no effect: put it in front, with samp_chain_insert" },
        { SAMP_E_RANGE, "token", "the grammar refuses this token; accept the prompt before inserting it" },
        { SAMP_E_RANGE, "grammar",
          "it is in a chain already (each chain needs its own: samp_clone), or it selects a token, or a <text> in it "
          "is "
          "no token" },
    };
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        if (status == causes[i].status && !strcmp(field, causes[i].field)) return causes[i].text;
    return status == SAMP_E_UNSUPPORTED ? "not supported here" : samp_strerror(status);
}

/* If the field is a setting and its value was wrong, the text also says which values are valid. */
SAMP_API SAMPI_COLD int samp_error_text(int status, const char *field, char *buf, size_t size)
{
    sampi_text t = { buf, size, 0 };
    if (!buf && size) return SAMP_E_NULL;
    if (!field || status >= 0) {
        sampi_put(&t, samp_strerror(status));
        return sampi_end_text(&t);
    }
    const sampi_field *f = sampi_field_named(field);
    bool of_value = status == SAMP_E_RANGE || status == SAMP_E_NAN;
    sampi_put(&t, field);
    sampi_put(&t, ": ");
    if (f && status == SAMP_E_FORMAT)
        sampi_put(&t, "expected ");
    else if (status == SAMP_E_NAME && !strncmp(field, "order: ", 7))
        sampi_put(&t, "no sampler has this name");
    else
        sampi_put(&t, sampi_cause(status, field));
    if (f && of_value) sampi_put(&t, ": ");
    if (f && (of_value || status == SAMP_E_FORMAT)) sampi_put_range(&t, f);
    return sampi_end_text(&t);
}

/* Writes what is wrong with the first bad bias of the parameters. Returns false if all biases are good. */
static SAMPI_COLD bool sampi_put_bad_bias(sampi_text *t, const samp_params *p)
{
    int32_t i = 0;
    while (i < p->n_logit_bias && p->logit_bias[i].bias <= FLT_MAX && p->logit_bias[i].token >= 0 &&
           p->logit_bias[i].token < p->n_vocab)
        i++;
    if (i == p->n_logit_bias) return false;
    const samp_logit_bias *bias = &p->logit_bias[i];
    sampi_put(t, bias->bias <= FLT_MAX ? "logit_bias: token " : "logit_bias: the bias of token ");
    sampi_put_i64(t, bias->token);
    if (bias->bias <= FLT_MAX) {
        sampi_put(t, " is outside its range: a whole number in [0, ");
        sampi_put_i64(t, (int64_t)p->n_vocab - 1);
    }
    sampi_put(t, bias->bias <= FLT_MAX ? "]" : " is NaN or +infinity");
    return true;
}

/* Only lists and orders have parts that can be named; for other members the text is that of samp_error_text. */
SAMP_API SAMPI_COLD int samp_params_error_text(const samp_params *p, char *buf, size_t size)
{
    const char *field = NULL, *word = NULL;
    const int status = samp_check_params(p, &field);
    sampi_text t = { buf, size, 0 };
    size_t n = 0;
    bool infill;
    if (!buf && size) return SAMP_E_NULL;
    if (!status || !field) return samp_error_text(status, field, buf, size);
    if (!strcmp(field, "order")) word = sampi_bad_name(p, &n, &infill);
    if (word) {
        sampi_put(&t, "order: \"");
        while (n--) sampi_put_char(&t, *word++);
        sampi_put(&t, "\": no sampler has this name");
    } else if (strcmp(field, "logit_bias") || !p->logit_bias || !sampi_put_bad_bias(&t, p)) {
        return samp_error_text(status, field, buf, size);
    }
    return sampi_end_text(&t);
}
