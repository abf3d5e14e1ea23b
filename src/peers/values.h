/* ---- values ---- */

static SAMPI_COLD int sampi_ask_fail(sampi_ask *ask, int32_t node, int status, const char *what)
{
    return sampi_json_fail(ask->doc, ask->doc->nodes[node].at, status, what);
}

/* What is wrong with a value, if the reader of numbers has not said more than its status. */
static SAMPI_COLD int sampi_ask_bad(sampi_ask *ask, int32_t node, int status)
{
    return sampi_ask_fail(ask, node, status,
                          status == SAMP_E_RANGE   ? "expected a value that this program takes"
                          : status == SAMP_E_NOMEM ? "out of memory"
                                                   : "expected another type of value");
}

static SAMPI_COLD const sampi_json_node *sampi_ask_node(const sampi_ask *ask, int32_t node)
{
    return &ask->doc->nodes[node];
}

/* The bytes [*n] of a string, or of a name. No 0 is behind them. */
static SAMPI_COLD const char *sampi_ask_text(const sampi_ask *ask, int32_t string, size_t *n)
{
    *n = ask->doc->strings[string].n;
    return ask->doc->bytes + ask->doc->strings[string].at;
}

/* The number that a node is, as the nearest float. */
static SAMPI_COLD int sampi_ask_float(const sampi_ask *ask, int32_t node, float *x)
{
    const char *text = ask->doc->source + sampi_ask_node(ask, node)->at;
    return sampi_ask_node(ask, node)->kind == SAMPI_JSON_NUMBER ? sampi_read_float(&text, x) : SAMP_E_FORMAT;
}

/* A whole number up to `most` at `text` [n], "-1" or "40.0"; what is above 2^63 - 1 is as two's complement. */
static SAMPI_COLD int sampi_ask_digits(const char *text, size_t n, uint64_t most, int64_t *x)
{
    const char *end = text + n;
    uint64_t size = 0;
    bool negative = n && sampi_read_sign(&text);
    int status = text < end ? sampi_read_digits(&text, negative ? (uint64_t)1 << 63 : most, &size) : SAMP_E_FORMAT;
    if (text < end && *text == '.')
        for (text++; text < end && *text == '0'; text++) {
        }
    if (text != end) return SAMP_E_FORMAT;
    *x = (int64_t)(negative ? 0 - size : size);
    return status;
}

static SAMPI_COLD int sampi_ask_whole(const sampi_ask *ask, int32_t node, uint64_t most, int64_t *x)
{
    const sampi_json_node *v = sampi_ask_node(ask, node);
    if (v->kind != SAMPI_JSON_NUMBER) return SAMP_E_FORMAT;
    return sampi_ask_digits(ask->doc->source + v->at, ask->doc->strings[v->text].n, most, x);
}

/* The end of a row's range that a number is moved to, if it is outside; or a status. */
static SAMPI_COLD int sampi_ask_range(const sampi_peer_field *f, const char **text, double *x)
{
    bool below = f->how & SAMPI_PEER_OPEN ? *x <= f->lo : *x < f->lo;
    if (!below && *x <= f->hi) return SAMP_OK;
    if (f->how & SAMPI_PEER_RETURNS) *text = f->usual;
    if (f->how & SAMPI_PEER_CLAMPS) *x = below ? f->lo : f->hi;
    return f->how & (SAMPI_PEER_RETURNS | SAMPI_PEER_CLAMPS) ? SAMP_OK : SAMP_E_RANGE;
}

/* A number becomes its member. 0 where ours has an open range keeps one token there, as the least float does here. */
static SAMPI_COLD int sampi_ask_number(sampi_ask *ask, int32_t node, const sampi_peer_field *f)
{
    const sampi_field *field = sampi_field_named(f->param);
    void *to = (char *)&ask->to->params + field->from;
    const char *usual = NULL;
    bool whole = field->type != SAMPI_FLOAT;
    int64_t n = 0;
    float read = 0.0f;
    int status = whole ? sampi_ask_whole(ask, node, INT32_MAX, &n) : sampi_ask_float(ask, node, &read);
    double x = whole ? (double)n : (double)read;
    if (!status) status = sampi_ask_range(f, &usual, &x);
    if (status) return sampi_ask_bad(ask, node, status);
    if (usual) return sampi_set_field(&ask->to->params, field, usual);
    if (f->means == SAMPI_PEER_HEAT) x = x > 0.0 && x < 0.01 ? 0.01 : x;
    if ((field->how & SAMPI_OPEN) && x == 0.0) x = (double)FLT_MIN;
    if (field->type == SAMPI_FLOAT)
        *(float *)to = (float)x;
    else if (field->type == SAMPI_INT32)
        *(int32_t *)to = (int32_t)x;
    else
        *(size_t *)to = (size_t)x;
    return SAMP_OK;
}

static SAMPI_COLD int sampi_ask_seed(sampi_ask *ask, int32_t node, const sampi_peer_field *f)
{
    int64_t x = 0;
    int status = sampi_ask_whole(ask, node, UINT64_MAX, &x);
    if (status) return sampi_ask_bad(ask, node, status);
    if (f->how & SAMPI_PEER_32_BITS) x = (uint32_t)x == UINT32_MAX ? -1 : (int64_t)(uint32_t)x;
    ask->out->seeded = x != -1 || f->lo != -1.0;
    if (ask->out->seeded) ask->to->params.seed = (uint64_t)x;
    return SAMP_OK;
}

/* The token that a name or a number is. A text in place of a number would have to be tokenised, which llama-server
   does. */
static SAMPI_COLD int sampi_ask_token(const sampi_ask *ask, const sampi_peer_field *f, int32_t name, int32_t node,
                                      samp_token *token)
{
    char digits[24];
    int64_t x = 0;
    size_t n = 0;
    int status = SAMP_OK;
    const char *text = name < 0 ? NULL : sampi_ask_text(ask, name, &n);
    if (n >= sizeof digits) return f->how & SAMPI_PEER_PAIRS ? SAMP_E_UNSUPPORTED : SAMP_E_FORMAT;
    if (n) memcpy(digits, text, n);
    digits[n] = 0;
    status = name < 0 ? sampi_ask_whole(ask, node, INT32_MAX, &x) : sampi_ask_digits(digits, n, INT32_MAX, &x);
    if (status == SAMP_E_FORMAT && (f->how & SAMPI_PEER_PAIRS)) return SAMP_E_UNSUPPORTED;
    if (!status && x < 0) status = SAMP_E_RANGE;
    *token = (samp_token)x;
    return status;
}

/* An entry of a logit bias: a member of an object, a pair, or a token that is banned. */
static SAMPI_COLD int sampi_ask_bias(const sampi_ask *ask, int32_t node, const sampi_peer_field *f,
                                     samp_logit_bias *out)
{
    const sampi_json_node *v = sampi_ask_node(ask, node);
    int32_t id = node, value = node;
    const char *usual = NULL;
    if (f->means != SAMPI_PEER_BAN && v->name < 0) {
        if (v->kind != SAMPI_JSON_ARRAY || v->n != 2) return SAMP_E_FORMAT;
        id = v->first;
        value = v->last;
    }
    int status = sampi_ask_token(ask, f, v->name, id, &out->token);
    bool ban = (f->how & SAMPI_PEER_PAIRS) && sampi_ask_node(ask, value)->kind == SAMPI_JSON_FALSE;
    out->bias = -INFINITY;
    if (status || ban || f->means == SAMPI_PEER_BAN) return status;
    status = sampi_ask_float(ask, value, &out->bias);
    double x = (double)out->bias;
    if (!status) status = sampi_ask_range(f, &usual, &x);
    out->bias = (float)x;
    return status;
}

static SAMPI_COLD int sampi_ask_biases(sampi_ask *ask, int32_t node, const sampi_peer_field *f)
{
    const sampi_json_node *v = sampi_ask_node(ask, node);
    bool pairs = f->means == SAMPI_PEER_BAN || (f->how & SAMPI_PEER_PAIRS);
    int status = SAMP_OK;
    if (v->kind != SAMPI_JSON_OBJECT && !(pairs && v->kind == SAMPI_JSON_ARRAY))
        return sampi_ask_bad(ask, node, SAMP_E_FORMAT);
    if (f->means == SAMPI_PEER_BAN && v->kind == SAMPI_JSON_OBJECT) return sampi_ask_bad(ask, node, SAMP_E_FORMAT);
    if (v->n == 0) return SAMP_OK;
    samp_logit_bias *list = (samp_logit_bias *)SAMP_MALLOC((size_t)v->n * sizeof *list);
    if (!list) return sampi_ask_bad(ask, node, SAMP_E_NOMEM);
    ask->to->params.logit_bias = list; /* the settings' from now on */
    for (int32_t entry = v->first, n = 0; entry >= 0 && !status; entry = sampi_ask_node(ask, entry)->next, n++) {
        status = sampi_ask_bias(ask, entry, f, &list[n]);
        if (status == SAMP_E_UNSUPPORTED)
            sampi_ask_fail(ask, entry, status, "expected a token's number: texts are not tokenised here");
        else if (status)
            sampi_ask_bad(ask, entry, status);
        ask->to->params.n_logit_bias = n + 1;
    }
    return status;
}

/* A list of texts in one block, as settings have it: the pointers first. A text with a 0 within would be cut. */
static SAMPI_COLD int sampi_ask_strings(sampi_ask *ask, int32_t node)
{
    const sampi_json_node *v = sampi_ask_node(ask, node);
    size_t bytes = ((size_t)v->n + 1) * sizeof(char *), n;
    int status = v->kind != SAMPI_JSON_ARRAY ? SAMP_E_FORMAT : v->n ? SAMP_OK : SAMP_E_RANGE;
    for (int32_t i = v->first; i >= 0 && !status; i = sampi_ask_node(ask, i)->next) {
        if (sampi_ask_node(ask, i)->kind != SAMPI_JSON_STRING) return sampi_ask_bad(ask, i, SAMP_E_FORMAT);
        const char *text = sampi_ask_text(ask, sampi_ask_node(ask, i)->text, &n);
        bool whole = n > 0;
        for (size_t k = 0; k < n; k++) whole = whole && text[k];
        if (!whole) return sampi_ask_bad(ask, i, SAMP_E_RANGE);
        bytes += n + 1;
    }
    const char **list = status ? NULL : (const char **)SAMP_MALLOC(bytes);
    if (!list) return sampi_ask_bad(ask, node, status ? status : SAMP_E_NOMEM);
    char *to = (char *)(list + v->n + 1);
    size_t k = 0;
    for (int32_t i = v->first; i >= 0; i = sampi_ask_node(ask, i)->next) {
        const char *text = sampi_ask_text(ask, sampi_ask_node(ask, i)->text, &n);
        memcpy(to, text, n);
        to[n] = 0;
        list[k++] = to;
        to += n + 1;
    }
    list[k] = NULL;
    ask->to->params.dry_breakers = list;
    return SAMP_OK;
}
