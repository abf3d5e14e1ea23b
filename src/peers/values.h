/* ---- requests: values ----
   Converts a JSON value as the program would, whose request is read: a number becomes an integer, a double, or the low
   32 bits of an integer; a text or a boolean becomes a number if the program accepts that; lists of biases and of texts
   become settings. Decimals are rounded exactly (config/numbers.h), so a value just outside a range (2.0000000000000003)
   is outside here too. The functions read nodes of the JSON document (text/), write one member of the settings, and return a status. */

static SAMPI_COLD int sampi_request_fail(sampi_request_reader *reader, int32_t node, int status, const char *what)
{
    return sampi_json_fail(reader->doc, reader->doc->nodes[node].at, status, what);
}

/* Reports a bad value. A more precise message that the reader of numbers has reported before is kept. */
static SAMPI_COLD int sampi_request_bad(sampi_request_reader *reader, int32_t node, int status)
{
    return sampi_request_fail(reader, node, status,
                              status == SAMP_E_RANGE   ? "expected a value that this program takes"
                              : status == SAMP_E_NOMEM ? "out of memory"
                                                       : "expected another type of value");
}

static SAMPI_COLD const sampi_json_node *sampi_request_node(const sampi_request_reader *reader, int32_t node)
{
    return &reader->doc->nodes[node];
}

/* Returns where the value of a field goes. */
static SAMPI_COLD void *sampi_request_place(sampi_request_reader *reader, const sampi_peer_field *f)
{
    return (char *)reader + f->place;
}

/* Reads true or false. */
static SAMPI_COLD int sampi_request_truth(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const uint8_t kind = sampi_request_node(reader, node)->kind;
    if (kind != SAMPI_JSON_TRUE && kind != SAMPI_JSON_FALSE) return sampi_request_bad(reader, node, SAMP_E_FORMAT);
    *(bool *)sampi_request_place(reader, f) = kind == SAMPI_JSON_TRUE;
    return SAMP_OK;
}

/* Returns the bytes [*n] of a string, or of a name. No 0 follows the bytes. */
static SAMPI_COLD const char *sampi_request_text(const sampi_request_reader *reader, int32_t string, size_t *n)
{
    *n = reader->doc->strings[string].n;
    return reader->doc->bytes + reader->doc->strings[string].at;
}

/* Reads the number in a node, or what the program accepts as a number: true and false, or a text. If `whole`, an
   integer is wanted, so a text may have no exponent. */
static SAMPI_COLD int sampi_request_decimal(const sampi_request_reader *reader, int32_t node, bool whole,
                                            sampi_written *w)
{
    const sampi_json_node *v = sampi_request_node(reader, node);
    const bool truth = v->kind == SAMPI_JSON_TRUE,
               spelt = v->kind == SAMPI_JSON_STRING && (reader->reads & SAMPI_PEER_SPELT);
    size_t n = 1;
    const char *text = truth ? "1" : "0";
    if (truth || v->kind == SAMPI_JSON_FALSE) {
        if (!(reader->reads & SAMPI_PEER_TRUTHS)) return SAMP_E_FORMAT;
    } else if (v->kind == SAMPI_JSON_NUMBER || spelt) {
        text = sampi_request_text(reader, v->text, &n);
    } else {
        return SAMP_E_FORMAT;
    }
    for (; spelt && n && *text == ' '; n--) text++;
    while (spelt && n && text[n - 1] == ' ') n--;
    for (size_t i = 0; spelt && whole && i < n; i++)
        if ((text[i] | 0x20) == 'e') return SAMP_E_FORMAT;
    return sampi_read_written(text, text + n, w) == text + n ? SAMP_OK : SAMP_E_FORMAT;
}

/* Reads a number as a double. */
static SAMPI_COLD int sampi_request_double(const sampi_request_reader *reader, int32_t node, double *x)
{
    sampi_written w;
    const int status = sampi_request_decimal(reader, node, false, &w);
    if (status) return status;
    const double value = sampi_written_value(&w, 63);
    *x = w.negative && value > 0.0 ? -value : value;
    return value > DBL_MAX ? SAMP_E_RANGE : SAMP_OK;
}

/* Reads an integer: its magnitude *size, and whether it is *negative. If a program keeps an integer in 32 bits, and the
   integer is written with a point or an exponent, a value beyond 32 bits has no defined result there (it depends on the
   machine), so it is SAMP_E_RANGE. */
static SAMPI_COLD int sampi_request_integer(const sampi_request_reader *reader, int32_t node, bool *negative,
                                            uint64_t *size)
{
    sampi_written w;
    double x = 0.0, least = -9223372036854775808.0, most = 9223372036854775808.0;
    int reads = reader->reads, status = sampi_request_decimal(reader, node, true, &w);
    if (status) return status;
    *negative = w.negative;
    *size = w.whole;
    if (w.plain && w.fits && !(reads & SAMPI_PEER_DOUBLES)) return SAMP_OK;
    status = sampi_request_double(reader, node, &x);
    if (status) return status;
    if ((reads & SAMPI_PEER_WRAPS) && !(reads & SAMPI_PEER_DOUBLES)) least = INT32_MIN, most = 2147483648.0;
    if (x < least || x >= most) return SAMP_E_RANGE;
    *size = (uint64_t)(x < 0.0 ? -x : x);
    if ((double)*size != (x < 0.0 ? -x : x) && !(reads & SAMPI_PEER_CUTS)) return SAMP_E_FORMAT;
    return SAMP_OK;
}

/* Checks the range of a row. A value out of the range is moved into it (*x), or *text gets the default to be used, or
   an error is returned, as the row's flags say. */
static SAMPI_COLD int sampi_request_range(const sampi_peer_field *f, const char **text, double *x)
{
    bool below = f->how & SAMPI_PEER_OPEN ? *x <= f->lo : *x < f->lo, clamps = f->how & SAMPI_PEER_CLAMPS;
    if (!below && *x <= f->hi && !((f->how & SAMPI_PEER_NOT_0) && *x == 0.0)) return SAMP_OK;
    if ((f->how & SAMPI_PEER_RETURNS) && (!clamps || *x == f->lo)) *text = f->usual;
    if (clamps) *x = below ? f->lo : f->hi;
    if (f->how & (SAMPI_PEER_RETURNS | SAMPI_PEER_CLAMPS)) return SAMP_OK;
    return f->how & SAMPI_PEER_OURS ? SAMP_E_UNSUPPORTED : SAMP_E_RANGE;
}

/* Reads the number for a member that is a float. It is rounded as the program rounds it. */
static SAMPI_COLD int sampi_request_float(const sampi_request_reader *reader, int32_t node, double *x)
{
    int reads = reader->reads, status = sampi_request_double(reader, node, x);
    if (!status && (reads & SAMPI_PEER_SINGLES)) {
        bool beyond = *x > SAMPI_MOST || *x < -SAMPI_MOST;
        if (beyond && (reads & SAMPI_PEER_DOUBLES)) return SAMP_E_RANGE; /* Go's JSON refuses such a float */
        *x = !beyond ? (double)(float)*x : *x > 0.0 ? (double)INFINITY : -(double)INFINITY;
    }
    return status;
}

/* Reads the number for a member that is an integer. It is reduced to 32 bits if the program does so. */
static SAMPI_COLD int sampi_request_whole(const sampi_request_reader *reader, int32_t node, double *x)
{
    bool negative;
    uint64_t size;
    int status = sampi_request_integer(reader, node, &negative, &size);
    if (status) return status;
    if (reader->reads & SAMPI_PEER_WRAPS) {
        size = (uint32_t)(negative ? 0 - size : size);
        negative = size >> 31;
        if (negative) size = ((uint64_t)1 << 32) - size;
    }
    *x = negative ? -(double)size : (double)size;
    return SAMP_OK;
}

/* Reads a number, an integer if `whole`, and checks its range (sampi_request_range). An error is reported. */
static SAMPI_COLD int sampi_request_ranged(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f,
                                           bool whole, const char **usual, double *x)
{
    int status = whole ? sampi_request_whole(reader, node, x) : sampi_request_float(reader, node, x);
    if (!status) status = sampi_request_range(f, usual, x);
    return status ? sampi_request_bad(reader, node, status) : SAMP_OK;
}

/* Reads a number and sets the member of its row. If the range of the setting is open at 0, a value of 0 becomes the
   smallest float, which has the same effect: one token stays. */
static SAMPI_COLD int sampi_request_number(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const sampi_field *field = sampi_field_named(f->param);
    void *to = (char *)&reader->to->params + field->from;
    const char *usual = NULL;
    double x = 0.0;
    int status = sampi_request_ranged(reader, node, f, field->type != SAMPI_FLOAT, &usual, &x);
    if (status) return status;
    if (usual) return sampi_set_field(&reader->to->params, field, usual);
    if (f->how & SAMPI_PEER_HEAT) x = x > 0.0 && x < 0.01 ? 0.01 : x;
    if (f->how & SAMPI_PEER_COLD) x = x < 1e-6 ? 0.0 : x;
    if (field->type == SAMPI_FLOAT) {
        float value = (float)x;
        *(float *)to = (field->how & SAMPI_OPEN) && value == 0.0f ? FLT_MIN : value;
    } else if (field->type == SAMPI_INT32) {
        *(int32_t *)to = x > INT32_MAX ? INT32_MAX : (int32_t)x;
    } else {
        *(size_t *)to = (size_t)x;
    }
    return SAMP_OK;
}

/* Sets the limit of thinking tokens. The limit is not a setting, so it is refused if the caller did not pass a
   samp_request. */
static SAMPI_COLD int sampi_request_set_budget(sampi_request_reader *reader, int32_t node, double x)
{
    if (!reader->has_out)
        return sampi_request_fail(reader, node, SAMP_E_UNSUPPORTED, "expected no budget: samp_request is NULL");
    reader->made.thinking_budget = (int32_t)x;
    return SAMP_OK;
}

/* Reads a limit of thinking tokens. A number below 0 means no limit. */
static SAMPI_COLD int sampi_request_thinking(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const char *usual = NULL;
    double x = 0.0;
    int status = sampi_request_ranged(reader, node, f, true, &usual, &x);
    if (status) return status;
    return x >= 0.0 ? sampi_request_set_budget(reader, node, x) : SAMP_OK;
}

/* Reads a whole number, or a float, to the row's place. */
static SAMPI_COLD int sampi_request_amount(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const char *usual = NULL;
    double x = 0.0;
    const int status = sampi_request_ranged(reader, node, f, true, &usual, &x);
    if (!status) *(int32_t *)sampi_request_place(reader, f) = (int32_t)x;
    return status;
}
static SAMPI_COLD int sampi_request_real(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const char *usual = NULL;
    double x = 0.0;
    const int status = sampi_request_ranged(reader, node, f, false, &usual, &x);
    if (!status) *(float *)sampi_request_place(reader, f) = (float)x;
    return status;
}

/* Reads the scale of classifier-free guidance. It needs a second row of the model, so it is refused if the caller did
   not pass a samp_request. */
static SAMPI_COLD int sampi_request_guidance(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const int status = sampi_request_real(reader, node, f);
    if (status || reader->has_out || reader->made.guidance_scale == 1.0f) return status;
    return sampi_request_fail(reader, node, SAMP_E_UNSUPPORTED, "expected 1: samp_request is NULL");
}

/* Reads a seed of 64 bits, or its lowest 32 bits if the program uses no more. */
static SAMPI_COLD int sampi_request_seed(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    bool negative, narrow = f->how & SAMPI_PEER_32_BITS;
    uint64_t size, most = (uint64_t)INT64_MAX;
    int status = sampi_request_integer(reader, node, &negative, &size);
    if (!status && size > most + negative && (!narrow || negative)) status = SAMP_E_RANGE;
    if (status) return sampi_request_bad(reader, node, status);
    if (negative) size = 0 - size;
    bool none = narrow ? (uint32_t)size == UINT32_MAX : size == UINT64_MAX && f->lo == -1.0;
    reader->made.seeded = !none;
    if (!none) reader->to->params.seed = narrow ? (uint32_t)size : size;
    return SAMP_OK;
}

/* Reads a name of n bytes as an integer, as Python's int() does, or if `c` as C's strtol() of 64 bits does. */
static SAMPI_COLD int sampi_request_id_of_text(const char *t, size_t n, bool c, bool *negative, uint64_t *size)
{
    const char *blank = c ? " \t\n\v\f\r" : " \t\n\v\f\r\x1c\x1d\x1e\x1f";
    const char *end = c ? t : t + n;
    while (c && end < t + n && *end) end++; /* a text in C ends at its first 0 */
    *negative = false;
    *size = 0;
    if (c && t == end) return SAMP_OK; /* strtol() returns 0 for "" */
    while (t < end && *t && strchr(blank, *t)) t++;
    while (!c && end > t && end[-1] && strchr(blank, end[-1])) end--;
    if (t < end && (*t == '-' || *t == '+')) *negative = *t++ == '-';
    const char *from = t;
    for (; t < end; t++) {
        bool between = !c && *t == '_' && t > from && t[-1] != '_' && t + 1 < end;
        if (!sampi_is_digit(*t) && !between) break;
        if (between) continue;
        uint64_t digit = (uint64_t)(*t - '0'), most = (uint64_t)INT64_MAX + *negative;
        *size = *size > (most - digit) / 10 ? most : 10 * *size + digit;
    }
    bool whole = t > from && t == end && (c || t - from <= 4300); /* Python refuses more digits */
    return whole ? SAMP_OK : c ? SAMP_E_UNSUPPORTED : SAMP_E_FORMAT;
}

/* Reads the token of an entry, given by a name or by a node. *token is -1 if the program drops the entry. */
static SAMPI_COLD int sampi_request_token(const sampi_request_reader *reader, const sampi_peer_field *f, int32_t name,
                                          int32_t node, samp_token *token)
{
    const bool pairs = f->how & SAMPI_PEER_PAIRS, drops = f->how & (SAMPI_PEER_PAIRS | SAMPI_PEER_BANS);
    const int32_t n_vocab = reader->to->params.n_vocab;
    sampi_written w;
    bool negative;
    uint64_t size;
    size_t n;
    int status;
    if (name >= 0) {
        const char *text = sampi_request_text(reader, name, &n);
        status = sampi_request_id_of_text(text, n, pairs, &negative, &size);
    } else if (pairs && sampi_request_node(reader, node)->kind == SAMPI_JSON_STRING) {
        return SAMP_E_UNSUPPORTED; /* llama-server tokenises such a text */
    } else if (pairs && (sampi_request_decimal(reader, node, true, &w) || !w.plain || !w.fits)) {
        *token = -1;
        return SAMP_OK;
    } else {
        status = sampi_request_integer(reader, node, &negative, &size);
    }
    if (status) return status;
    if (pairs) {
        size = (uint32_t)(negative ? 0 - size : size);
        negative = false;
    }
    bool none = (negative && size) || size > INT32_MAX;
    if (drops && n_vocab > 0) none = none || size >= (uint64_t)n_vocab;
    *token = none ? -1 : (samp_token)size;
    return none && !drops ? SAMP_E_RANGE : SAMP_OK;
}

/* Reads an entry of a logit bias: a member of an object, a pair, or a token that is banned. */
static SAMPI_COLD int sampi_request_bias(const sampi_request_reader *reader, int32_t node, const sampi_peer_field *f,
                                         samp_logit_bias *out)
{
    const sampi_json_node *v = sampi_request_node(reader, node);
    const bool pairs = f->how & SAMPI_PEER_PAIRS;
    int32_t id = node, value = node;
    const char *usual = NULL;
    double x = 0.0;
    out->token = -1;
    out->bias = -INFINITY;
    if (f->how & SAMPI_PEER_BANS) return sampi_request_token(reader, f, -1, node, &out->token);
    if (v->name < 0) {
        if (v->kind != SAMPI_JSON_ARRAY || v->n != 2) return SAMP_OK;
        id = v->first;
        value = v->last;
    }
    uint8_t kind = sampi_request_node(reader, value)->kind;
    if (pairs && kind != SAMPI_JSON_FALSE && kind != SAMPI_JSON_NUMBER) return SAMP_OK;
    int status = sampi_request_token(reader, f, v->name, id, &out->token);
    if (status || (pairs && kind == SAMPI_JSON_FALSE)) return status;
    status = sampi_request_float(reader, value, &x);
    if (!status) status = sampi_request_range(f, &usual, &x);
    out->bias = status ? 0.0f : (float)x;
    return status;
}

/* Keeps only the last of several entries for the same token, which may be written in several ways, as Python's
   dictionary does. Returns the number of remaining entries, or -1 without memory. */
static SAMPI_COLD int32_t sampi_request_keep_last(const samp_params *p, samp_logit_bias *list, int32_t n)
{
    const size_t size = ((size_t)p->n_vocab + 31) / 32 * sizeof(uint32_t);
    uint32_t *seen = (uint32_t *)SAMP_MALLOC(size);
    int32_t to = n;
    if (!seen) return -1;
    memset(seen, 0, size);
    for (int32_t i = n; i-- > 0;) {
        uint32_t token = (uint32_t)list[i].token, bit = (uint32_t)1 << token % 32;
        if (seen[token / 32] & bit) continue;
        seen[token / 32] |= bit;
        list[--to] = list[i];
    }
    memmove(list, list + to, (size_t)(n - to) * sizeof *list);
    SAMP_FREE(seen);
    return n - to;
}

/* Reads the list or object of biases and sets logit_bias. */
static SAMPI_COLD int sampi_request_biases(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const sampi_json_node *v = sampi_request_node(reader, node);
    samp_params *p = &reader->to->params;
    const bool pairs = f->how & SAMPI_PEER_PAIRS, bans = f->how & SAMPI_PEER_BANS;
    const bool list_or_object = v->kind == SAMPI_JSON_OBJECT || v->kind == SAMPI_JSON_ARRAY;
    bool inside = true; /* inside: all tokens are in the vocabulary */
    int32_t n = 0;
    int status = SAMP_OK;
    if (pairs && !list_or_object) return SAMP_OK; /* llama-server ignores such a value */
    if (!pairs && v->kind != (bans ? SAMPI_JSON_ARRAY : SAMPI_JSON_OBJECT))
        return sampi_request_bad(reader, node, SAMP_E_FORMAT);
    if (v->n == 0) return SAMP_OK;
    samp_logit_bias *list = (samp_logit_bias *)SAMP_MALLOC((size_t)v->n * sizeof *list);
    if (!list) return sampi_request_bad(reader, node, SAMP_E_NOMEM);
    p->logit_bias = list; /* from now on the settings own the list */
    for (int32_t entry = v->first; entry >= 0 && !status; entry = sampi_request_node(reader, entry)->next) {
        status = sampi_request_bias(reader, entry, f, &list[n]);
        if (status == SAMP_E_UNSUPPORTED)
            sampi_request_fail(reader, entry, status, "expected a token's number: texts are not tokenised here");
        else if (status)
            sampi_request_bad(reader, entry, status);
        inside = inside && list[n].token < p->n_vocab;
        n += list[n].token != -1;
    }
    if (status) return status;
    if (!pairs && !bans && inside) n = sampi_request_keep_last(p, list, n);
    if (n < 0) return sampi_request_bad(reader, node, SAMP_E_NOMEM);
    p->n_logit_bias = n;
    return SAMP_OK;
}

/* Reads a list of texts, or with ONE a single one, to *out: one block of memory, as settings own it, first the
   pointers, then the texts; NULL follows the last one. If `cut`, a text ends at its first 0; else such a text is not
   supported. *out is NULL if the list is empty. */
static SAMPI_COLD int sampi_request_list(sampi_request_reader *reader, int32_t node, unsigned how, bool cut,
                                         const char ***out)
{
    const sampi_json_node *v = sampi_request_node(reader, node);
    const bool one = (how & SAMPI_PEER_ONE) && v->kind == SAMPI_JSON_STRING;
    const int32_t first = one ? node : v->first;
    const size_t room = one ? 2 : (size_t)v->n + 1;
    size_t bytes = room * sizeof(char *), n, k = 0;
    SAMP_FREE(*out); /* a name that comes twice */
    *out = NULL;
    if (!one && v->kind != SAMPI_JSON_ARRAY) return sampi_request_bad(reader, node, SAMP_E_FORMAT);
    for (int32_t i = first; i >= 0; i = one ? -1 : sampi_request_node(reader, i)->next) {
        if (sampi_request_node(reader, i)->kind != SAMPI_JSON_STRING)
            return sampi_request_bad(reader, i, SAMP_E_FORMAT);
        (void)sampi_request_text(reader, sampi_request_node(reader, i)->text, &n);
        bytes += n + 1;
    }
    const char **list = first < 0 ? NULL : (const char **)SAMP_MALLOC(bytes);
    if (!list) return first < 0 ? SAMP_OK : sampi_request_bad(reader, node, SAMP_E_NOMEM);
    *out = list; /* from now on the settings own the list */
    list[0] = NULL;
    char *to = (char *)(list + room);
    for (int32_t i = first; i >= 0; i = one ? -1 : sampi_request_node(reader, i)->next) {
        const char *text = sampi_request_text(reader, sampi_request_node(reader, i)->text, &n);
        memcpy(to, text, n);
        to[n] = 0;
        if (!cut && strlen(to) < n)
            return sampi_request_fail(reader, i, SAMP_E_UNSUPPORTED, "expected a text without the character 0");
        if (!*to && !(how & SAMPI_PEER_EMPTY)) return sampi_request_bad(reader, i, SAMP_E_RANGE);
        if (!*to) continue;
        list[k++] = to;
        list[k] = NULL;
        to += strlen(to) + 1;
    }
    return SAMP_OK;
}

/* Reads a list of texts to the row's place. */
static SAMPI_COLD int sampi_request_texts(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    return sampi_request_list(reader, node, f->how, false, (const char ***)sampi_request_place(reader, f));
}

/* Reads a list of texts and sets dry_breakers. A text ends at its first 0, and an empty text is left out, as the
   program does. */
static SAMPI_COLD int sampi_request_strings(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const char **list = NULL;
    const int status = sampi_request_list(reader, node, SAMPI_PEER_EMPTY, true, &list);
    (void)f;
    if (status) return status;
    if (!list) return sampi_request_bad(reader, node, SAMP_E_RANGE);
    reader->to->params.dry_breakers = list;
    return SAMP_OK;
}
