/* ---- requests: one field ----
   Reads one field of a request (JSON of another program) by its row in the tables (peers/tables.h). The field sets a
   setting (peers/values.h converts the value), is skipped, is refused, or has a neutral value, which asks for nothing.
   An object of options inside the request (Ollama's options) is read in the same way. Functions named after a field
   read it, and return a status. */

/* Refuses a value. */
static SAMPI_COLD int sampi_request_refuse(sampi_request_reader *reader, int32_t node)
{
    return sampi_request_fail(reader, node, SAMP_E_UNSUPPORTED, "expected a value that settings can express");
}

/* Is the node's value neutral? `usual` is what follows the name in the list of refused fields (sampi_peer.refused). */
static SAMPI_COLD bool sampi_request_is_neutral(const sampi_request_reader *reader, int32_t node, const char *usual)
{
    const sampi_json_node *v = sampi_request_node(reader, node);
    double x = 0.0;
    float neutral = 0.0f;
    if (v->kind == SAMPI_JSON_NULL) return true;
    if (*usual++ != '=') return false;
    const bool empty = !*usual || *usual == ';';
    switch ((sampi_json_kind)v->kind) {
        case SAMPI_JSON_FALSE: return *usual == 'f';
        case SAMPI_JSON_ARRAY:
        case SAMPI_JSON_OBJECT: return empty && v->n == 0;
        case SAMPI_JSON_STRING: return empty && reader->doc->strings[v->text].n == 0;
        case SAMPI_JSON_NUMBER:
            return !sampi_request_double(reader, node, &x) && !sampi_read_float(&usual, &neutral) &&
                   x == (double)neutral;
        default: return false;
    }
}

/* Is the node this string? */
static SAMPI_COLD bool sampi_request_is_text(const sampi_request_reader *reader, int32_t node, const char *text)
{
    return node >= 0 && sampi_request_node(reader, node)->kind == SAMPI_JSON_STRING &&
           sampi_request_node(reader, node)->text == sampi_json_find(reader->doc, text, strlen(text));
}

/* Reads transformers' early_stopping: false, true or "never". */
static SAMPI_COLD int sampi_request_early(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    (void)f;
    const uint8_t kind = sampi_request_node(reader, node)->kind;
    const bool never = sampi_request_is_text(reader, node, "never");
    if (kind != SAMPI_JSON_TRUE && kind != SAMPI_JSON_FALSE && !never)
        return sampi_request_bad(reader, node, SAMP_E_FORMAT);
    reader->made.early_stopping = never ? 2 : kind == SAMPI_JSON_TRUE;
    return SAMP_OK;
}

/* Returns the member of an object with this name, or -1 if there is none. */
static SAMPI_COLD int32_t sampi_request_find(const sampi_request_reader *reader, int32_t node, const char *name)
{
    return sampi_json_member(reader->doc, node, sampi_json_find(reader->doc, name, strlen(name)));
}

/* Reads tool_choice or function_call. "auto" and "none" do not influence tokens; values that force a call are
   refused. */
static SAMPI_COLD int sampi_request_tool_choice(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    (void)f;
    uint8_t kind = sampi_request_node(reader, node)->kind;
    if (sampi_request_is_text(reader, node, "auto") || sampi_request_is_text(reader, node, "none")) return SAMP_OK;
    if (kind == SAMPI_JSON_OBJECT || sampi_request_is_text(reader, node, "required"))
        return sampi_request_fail(reader, node, SAMP_E_UNSUPPORTED,
                                  "expected auto or none: settings can't make it call a tool");
    return sampi_request_bad(reader, node, kind == SAMPI_JSON_STRING ? SAMP_E_RANGE : SAMP_E_FORMAT);
}

/* Reads Anthropic's tool_choice, an object. {"type": "auto"} and {"type": "none"} do not influence tokens; "any" and
   "tool" force a call and are refused. */
static SAMPI_COLD int sampi_request_tool_object(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const int32_t type = sampi_request_find(reader, node, "type");
    if (type < 0) return sampi_request_bad(reader, node, SAMP_E_FORMAT);
    if (sampi_request_is_text(reader, type, "any") || sampi_request_is_text(reader, type, "tool"))
        return sampi_request_fail(reader, node, SAMP_E_UNSUPPORTED,
                                  "expected auto or none: settings can't make it call a tool");
    return sampi_request_tool_choice(reader, type, f);
}

/* Reads Anthropic's output_config. An effort is skipped, because it is a word for the prompt's template. Any other
   member, such as a format of the answer, is refused. */
static SAMPI_COLD int sampi_request_output_config(sampi_request_reader *reader, int32_t node,
                                                  const sampi_peer_field *f)
{
    (void)f;
    if (sampi_request_node(reader, node)->kind != SAMPI_JSON_OBJECT)
        return sampi_request_bad(reader, node, SAMP_E_FORMAT);
    const int32_t effort = sampi_request_find(reader, node, "effort");
    for (int32_t i = sampi_request_node(reader, node)->first; i >= 0; i = sampi_request_node(reader, i)->next)
        if (i != effort && sampi_request_node(reader, i)->kind != SAMPI_JSON_NULL)
            return sampi_request_fail(reader, i, SAMP_E_UNSUPPORTED, "expected an effort alone");
    return SAMP_OK;
}

/* Reads Anthropic's thinking, and sets the limit of thinking tokens. If thinking is enabled, the limit must be in the
   range of the row f, and below max_tokens. */
static SAMPI_COLD int sampi_request_thinking_object(sampi_request_reader *reader, int32_t node,
                                                    const sampi_peer_field *f)
{
    const int32_t type = sampi_request_find(reader, node, "type"),
                  budget = sampi_request_find(reader, node, "budget_tokens");
    const int32_t most = sampi_request_find(reader, 0, "max_tokens");
    double x = 0.0, room = 0.0;
    if (type < 0 || sampi_request_node(reader, type)->kind != SAMPI_JSON_STRING)
        return sampi_request_bad(reader, node, SAMP_E_FORMAT);
    if (sampi_request_is_text(reader, type, "adaptive")) return SAMP_OK;
    const bool on = sampi_request_is_text(reader, type, "enabled");
    if (!on && !sampi_request_is_text(reader, type, "disabled")) return sampi_request_bad(reader, type, SAMP_E_RANGE);
    if (on && budget < 0) return sampi_request_bad(reader, node, SAMP_E_FORMAT);
    int status = on ? sampi_request_whole(reader, budget, &x) : SAMP_OK;
    if (!status && on && (x < f->lo || x > f->hi)) status = SAMP_E_RANGE;
    if (!status && on && most >= 0 && !sampi_request_whole(reader, most, &room) && x >= room) status = SAMP_E_RANGE;
    if (status) return sampi_request_bad(reader, budget, status);
    reader->thinks = on;
    return sampi_request_set_budget(reader, node, x);
}

/* Reads SGLang's custom_params, and sets the limit of thinking tokens from its member thinking_budget, if Python's
   isinstance() takes it for a whole number, as it does true and false. Other values, and numbers below 0, set no
   limit. */
static SAMPI_COLD int sampi_request_custom_params(sampi_request_reader *reader, int32_t node,
                                                  const sampi_peer_field *f)
{
    (void)f;
    const int32_t budget = sampi_request_find(reader, node, "thinking_budget");
    sampi_written w;
    if (sampi_request_node(reader, node)->kind != SAMPI_JSON_OBJECT)
        return sampi_request_bad(reader, node, SAMP_E_FORMAT);
    const uint8_t kind = budget < 0 ? (uint8_t)SAMPI_JSON_NULL : sampi_request_node(reader, budget)->kind;
    if (kind == SAMPI_JSON_TRUE || kind == SAMPI_JSON_FALSE)
        return sampi_request_set_budget(reader, node, kind == SAMPI_JSON_TRUE ? 1.0 : 0.0);
    if (kind != SAMPI_JSON_NUMBER || sampi_request_decimal(reader, budget, true, &w)) return SAMP_OK;
    if (!w.plain || (w.negative && w.n)) return SAMP_OK;
    return sampi_request_set_budget(reader, node, !w.fits || w.whole > INT32_MAX ? INT32_MAX : (double)w.whole);
}

/* Reads a format of answers: {"type": "text"} and empty values are accepted. */
static SAMPI_COLD int sampi_request_plain(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const int32_t type = sampi_request_find(reader, node, "type");
    const bool plain = type < 0 ? sampi_request_is_neutral(reader, node, "=")
                                : sampi_request_is_text(reader, type, "text");
    (void)f;
    return plain ? SAMP_OK : sampi_request_refuse(reader, node);
}

/* Reads a list of tools. Refused is a tool that the model may call, and whose arguments must have a certain form
   (strict, or a grammar). */
static SAMPI_COLD int sampi_request_tools(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    (void)f;
    const bool bare = reader->peer->reads & SAMPI_PEER_BARE;
    const int32_t chosen = sampi_request_find(reader, 0, "tool_choice");
    if (sampi_request_is_text(reader, bare ? sampi_request_find(reader, chosen, "type") : chosen, "none"))
        return SAMP_OK;
    for (int32_t i = sampi_request_node(reader, node)->first; i >= 0; i = sampi_request_node(reader, i)->next) {
        int32_t strict = sampi_request_find(reader, bare ? i : sampi_request_find(reader, i, "function"), "strict");
        int32_t format = sampi_request_find(reader, sampi_request_find(reader, i, "custom"), "format");
        uint8_t kind = strict < 0 ? (uint8_t)SAMPI_JSON_NULL : sampi_request_node(reader, strict)->kind;
        if (kind != SAMPI_JSON_NULL && kind != SAMPI_JSON_FALSE) return sampi_request_refuse(reader, node);
        if (format >= 0 && !sampi_request_is_text(reader, sampi_request_find(reader, format, "type"), "text"))
            return sampi_request_refuse(reader, node);
    }
    return SAMP_OK;
}

static SAMPI_COLD int sampi_request_read_object(sampi_request_reader *reader, int32_t node, bool inside);

/* Reads an object of options inside a request (Ollama's `options`, SGLang's `sampling_params`). Its members are looked
   up in the table of the request's own fields. In SGLang's sampling_params, unlike outside of it, booleans and texts
   are not accepted as numbers. */
static SAMPI_COLD int sampi_request_options(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    (void)f;
    if (reader->reads & SAMPI_PEER_ANYWHERE) reader->reads &= ~(SAMPI_PEER_TRUTHS | SAMPI_PEER_SPELT);
    const int status = sampi_request_read_object(reader, node, true);
    reader->reads = reader->peer->reads;
    return status;
}

/* Are two names of n bytes equal? If `folds`, upper and lower case are the same. */
static SAMPI_COLD bool sampi_request_same_name(const char *a, const char *b, size_t n, bool folds)
{
    size_t i = 0;
    while (i < n && (a[i] == b[i] || (folds && sampi_request_lower(a[i]) == sampi_request_lower(b[i])))) i++;
    return i == n;
}

/* Looks for a name of n bytes in a list, whose names are separated by semicolons; '=' and more may follow a name.
   Returns what follows the name, or NULL. */
static SAMPI_COLD const char *sampi_request_listed(const char *list, const char *name, size_t n, bool folds)
{
    for (; *list; list += strcspn(list, ";"), list += *list == ';')
        if (strcspn(list, ";=") == n && sampi_request_same_name(list, name, n, folds)) return list + n;
    return NULL;
}

/* Sets request.field to the name of a field (n bytes), for errors; if `inside`, the name of the object of options comes
   before it. Returns the length, or 0 if the name had to be cut. */
static SAMPI_COLD size_t sampi_request_set_field(sampi_request_reader *reader, const char *name, size_t n,
                                                 bool inside)
{
    char *path = reader->made.field;
    size_t before = inside ? strlen(reader->peer->options) : 0, room = sizeof reader->made.field - 1 - before;
    size_t taken = n < room ? n : room;
    memcpy(path, reader->peer->options, before);
    memcpy(path + before, name, taken);
    path[before + taken] = 0;
    return taken < n ? 0 : before + n;
}

/* Adds the name of a field to those that are left out, with ';' between. A name that the text has no room for is not
   in it, and neither are the later ones. */
static SAMPI_COLD int sampi_request_leave_out(sampi_request_reader *reader, const char *name, size_t n, bool inside)
{
    sampi_text *t = reader->left_out;
    const char *before = inside ? reader->peer->options : "";
    const size_t between = t->len > 0;
    reader->n_left_out++;
    if (t->len + between + strlen(before) + n >= t->size) {
        t->size = 0; /* full */
        return SAMP_OK;
    }
    sampi_put(t, between ? ";" : "");
    sampi_put(t, before);
    while (n--) sampi_put_char(t, *name++);
    t->buf[t->len] = 0;
    return SAMP_OK;
}

/* Reads a member of the request, or (if `inside`) of its object of options. */
static SAMPI_COLD int sampi_request_read_member(sampi_request_reader *reader, int32_t node, bool inside)
{
    const size_t before = inside ? strlen(reader->peer->options) : 0;
    size_t n;
    const char *name = sampi_request_text(reader, sampi_request_node(reader, node)->name, &n),
               *path = reader->made.field;
    size_t n_path = sampi_request_set_field(reader, name, n, inside);
    bool folds = !inside && (reader->peer->reads & SAMPI_PEER_FOLDS);
    for (const char *const *mine = reader->handled; mine && *mine; mine++) {
        const char *rest = strncmp(*mine, reader->peer->options, before) ? NULL : *mine + before;
        if (rest && strlen(rest) == n && !memcmp(rest, name, n)) return SAMP_OK;
    }
    /* the list has names without the object's name */
    const bool anywhere = reader->peer->reads & SAMPI_PEER_ANYWHERE;
    const size_t bare = anywhere ? before : 0;
    if (n_path && sampi_request_listed(reader->peer->skipped, path + bare, n_path - bare, folds)) return SAMP_OK;
    const char *usual = anywhere || !inside ? sampi_request_listed(reader->peer->refused, name, n, folds) : NULL;
    if (usual) return sampi_request_is_neutral(reader, node, usual) ? SAMP_OK : sampi_request_refuse(reader, node);
    for (const sampi_peer_field *f = reader->peer->fields; f->name || f->param; f++) {
        if (!f->name || strlen(f->name) != n || !sampi_request_same_name(f->name, name, n, folds)) continue;
        /* an object of options has none inside */
        if (anywhere ? inside && f->read == sampi_request_options : !(f->how & SAMPI_PEER_INSIDE) != !inside)
            continue;
        return sampi_request_node(reader, node)->kind == SAMPI_JSON_NULL ? SAMP_OK : f->read(reader, node, f);
    }
    if (reader->left_out) return sampi_request_leave_out(reader, name, n, inside);
    return sampi_request_fail(reader, node, SAMP_E_NAME, "expected a field that this program has");
}

/* Reads all members of the request, or (if `inside`) of its object of options, up to the first error. */
static SAMPI_COLD int sampi_request_read_object(sampi_request_reader *reader, int32_t node, bool inside)
{
    int status = SAMP_OK;
    if (sampi_request_node(reader, node)->kind != SAMPI_JSON_OBJECT)
        return sampi_request_fail(reader, node, SAMP_E_FORMAT, "expected an object");
    for (int32_t i = sampi_request_node(reader, node)->first; i >= 0 && !status;
         i = sampi_request_node(reader, i)->next)
        status = sampi_request_read_member(reader, i, inside);
    return status;
}
