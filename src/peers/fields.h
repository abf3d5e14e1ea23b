/* ---- requests: one field ----
   Reads one field of a request by its row in the tables (peers/tables.h): the field sets a setting (peers/values.h
   converts the value), is skipped, is refused, or has a neutral value, which asks for nothing. An object of options
   inside the request (Ollama's options) is read in the same way. Functions named after a field read it, and return a
   status. */

/* Is this the neutral value? usual: the neutral number or "false"; "": an empty list, object or text; NULL: no value
   is. */
static SAMPI_COLD bool sampi_ask_neutral(const sampi_ask *ask, int32_t node, const char *usual)
{
    const sampi_json_node *v = sampi_ask_node(ask, node);
    double x = 0.0;
    float neutral = 0.0f;
    if (!usual) return false;
    switch ((sampi_json_kind)v->kind) {
        case SAMPI_JSON_FALSE: return !strcmp(usual, "false");
        case SAMPI_JSON_ARRAY:
        case SAMPI_JSON_OBJECT: return !*usual && v->n == 0;
        case SAMPI_JSON_STRING: return !*usual && ask->doc->strings[v->text].n == 0;
        case SAMPI_JSON_NUMBER:
            return !sampi_ask_double(ask, node, &x) && !sampi_read_float(&usual, &neutral) && x == (double)neutral;
        default: return false;
    }
}

/* Is this {"type": "text"}, or an empty value? */
static SAMPI_COLD bool sampi_ask_plain(const sampi_ask *ask, int32_t node)
{
    int32_t type = sampi_json_member(ask->doc, node, sampi_json_find(ask->doc, "type", 4));
    if (type < 0) return sampi_ask_neutral(ask, node, "");
    const sampi_json_node *v = sampi_ask_node(ask, type);
    return v->kind == SAMPI_JSON_STRING && v->text == sampi_json_find(ask->doc, "text", 4);
}

/* Is the node this string? */
static SAMPI_COLD bool sampi_ask_says(const sampi_ask *ask, int32_t node, const char *text)
{
    return node >= 0 && sampi_ask_node(ask, node)->kind == SAMPI_JSON_STRING &&
           sampi_ask_node(ask, node)->text == sampi_json_find(ask->doc, text, strlen(text));
}

/* Returns the member of an object with this name; -1: there is no such member. */
static SAMPI_COLD int32_t sampi_ask_inside(const sampi_ask *ask, int32_t node, const char *name)
{
    return sampi_json_member(ask->doc, node, sampi_json_find(ask->doc, name, strlen(name)));
}

/* tool_choice and function_call: "auto" and "none" do not influence tokens; values that force a call are refused. */
static SAMPI_COLD int sampi_ask_choice(sampi_ask *ask, int32_t node)
{
    uint8_t kind = sampi_ask_node(ask, node)->kind;
    if (sampi_ask_says(ask, node, "auto") || sampi_ask_says(ask, node, "none")) return SAMP_OK;
    if (kind == SAMPI_JSON_OBJECT || sampi_ask_says(ask, node, "required"))
        return sampi_ask_fail(ask, node, SAMP_E_UNSUPPORTED,
                              "expected auto or none: settings can't make it call a tool");
    return sampi_ask_bad(ask, node, kind == SAMPI_JSON_STRING ? SAMP_E_RANGE : SAMP_E_FORMAT);
}

/* Anthropic's tool_choice, an object: {"type": "auto"} or {"type": "none"}; "any" and "tool" force a call. */
static SAMPI_COLD int sampi_ask_calls(sampi_ask *ask, int32_t node)
{
    const int32_t type = sampi_ask_inside(ask, node, "type");
    if (type < 0) return sampi_ask_bad(ask, node, SAMP_E_FORMAT);
    if (sampi_ask_says(ask, type, "any") || sampi_ask_says(ask, type, "tool"))
        return sampi_ask_fail(ask, node, SAMP_E_UNSUPPORTED,
                              "expected auto or none: settings can't make it call a tool");
    return sampi_ask_choice(ask, type);
}

/* Anthropic's output_config: an effort is skipped, because it is a word for the prompt's template; any other member,
   such as a format of the answer, is refused. */
static SAMPI_COLD int sampi_ask_config(sampi_ask *ask, int32_t node)
{
    if (sampi_ask_node(ask, node)->kind != SAMPI_JSON_OBJECT) return sampi_ask_bad(ask, node, SAMP_E_FORMAT);
    const int32_t effort = sampi_ask_inside(ask, node, "effort");
    for (int32_t i = sampi_ask_node(ask, node)->first; i >= 0; i = sampi_ask_node(ask, i)->next)
        if (i != effort && sampi_ask_node(ask, i)->kind != SAMPI_JSON_NULL)
            return sampi_ask_fail(ask, i, SAMP_E_UNSUPPORTED, "expected an effort alone");
    return SAMP_OK;
}

/* Anthropic's thinking: sets the limit of thinking. If thinking is enabled, the limit must be in the row's range, and
   below max_tokens. */
static SAMPI_COLD int sampi_ask_thought(sampi_ask *ask, int32_t node, const sampi_peer_field *f)
{
    const int32_t type = sampi_ask_inside(ask, node, "type"), budget = sampi_ask_inside(ask, node, "budget_tokens");
    const int32_t most = sampi_ask_inside(ask, 0, "max_tokens");
    double x = 0.0, room = 0.0;
    if (type < 0 || sampi_ask_node(ask, type)->kind != SAMPI_JSON_STRING)
        return sampi_ask_bad(ask, node, SAMP_E_FORMAT);
    if (sampi_ask_says(ask, type, "adaptive")) return SAMP_OK;
    const bool on = sampi_ask_says(ask, type, "enabled");
    if (!on && !sampi_ask_says(ask, type, "disabled")) return sampi_ask_bad(ask, type, SAMP_E_RANGE);
    if (on && budget < 0) return sampi_ask_bad(ask, node, SAMP_E_FORMAT);
    int status = on ? sampi_ask_count(ask, budget, &x) : SAMP_OK;
    if (!status && on && (x < f->lo || x > f->hi)) status = SAMP_E_RANGE;
    if (!status && on && most >= 0 && !sampi_ask_count(ask, most, &room) && x >= room) status = SAMP_E_RANGE;
    if (status) return sampi_ask_bad(ask, budget, status);
    ask->thinks = on;
    return sampi_ask_budget(ask, node, x);
}

/* SGLang's custom_params: sets the limit of thinking from its member thinking_budget, if that is a whole number for
   Python's isinstance(), true and false too. Other values, and numbers below 0, set no limit. */
static SAMPI_COLD int sampi_ask_custom(sampi_ask *ask, int32_t node)
{
    const int32_t budget = sampi_ask_inside(ask, node, "thinking_budget");
    sampi_written w;
    if (sampi_ask_node(ask, node)->kind != SAMPI_JSON_OBJECT) return sampi_ask_bad(ask, node, SAMP_E_FORMAT);
    const uint8_t kind = budget < 0 ? (uint8_t)SAMPI_JSON_NULL : sampi_ask_node(ask, budget)->kind;
    if (kind == SAMPI_JSON_TRUE || kind == SAMPI_JSON_FALSE)
        return sampi_ask_budget(ask, node, kind == SAMPI_JSON_TRUE ? 1.0 : 0.0);
    if (kind != SAMPI_JSON_NUMBER || sampi_ask_written(ask, budget, true, &w)) return SAMP_OK;
    if (!w.plain || (w.negative && w.digits)) return SAMP_OK;
    return sampi_ask_budget(ask, node, w.power || w.digits > INT32_MAX ? INT32_MAX : (double)w.digits);
}

/* May a tool be called whose arguments must have a certain form (strict, or a grammar)? */
static SAMPI_COLD bool sampi_ask_strict(const sampi_ask *ask, int32_t node)
{
    const bool bare = ask->peer->reads & SAMPI_PEER_BARE;
    const int32_t chosen = sampi_ask_inside(ask, 0, "tool_choice");
    if (sampi_ask_says(ask, bare ? sampi_ask_inside(ask, chosen, "type") : chosen, "none")) return false;
    for (int32_t i = sampi_ask_node(ask, node)->first; i >= 0; i = sampi_ask_node(ask, i)->next) {
        int32_t strict = sampi_ask_inside(ask, bare ? i : sampi_ask_inside(ask, i, "function"), "strict");
        int32_t format = sampi_ask_inside(ask, sampi_ask_inside(ask, i, "custom"), "format");
        uint8_t kind = strict < 0 ? (uint8_t)SAMPI_JSON_NULL : sampi_ask_node(ask, strict)->kind;
        if (kind != SAMPI_JSON_NULL && kind != SAMPI_JSON_FALSE) return true;
        if (format >= 0 && !sampi_ask_says(ask, sampi_ask_inside(ask, format, "type"), "text")) return true;
    }
    return false;
}

static SAMPI_COLD int sampi_ask_object(sampi_ask *ask, int32_t node, bool inside);

/* The object of options, whose members are fields of the same table. In SGLang's sampling_params booleans and texts are
   not numbers, unlike outside of it. */
static SAMPI_COLD int sampi_ask_options(sampi_ask *ask, int32_t node)
{
    if (ask->reads & SAMPI_PEER_ANYWHERE) ask->reads &= ~(SAMPI_PEER_TRUTHS | SAMPI_PEER_SPELT);
    const int status = sampi_ask_object(ask, node, true);
    ask->reads = ask->peer->reads;
    return status;
}

/* Reads a value as its row demands. */
static SAMPI_COLD int sampi_ask_value(sampi_ask *ask, int32_t node, const sampi_peer_field *f)
{
    uint8_t kind = sampi_ask_node(ask, node)->kind;
    switch ((sampi_peer_means)f->means) {
        case SAMPI_PEER_NUMBER:
        case SAMPI_PEER_HEAT:
        case SAMPI_PEER_COLD: return sampi_ask_number(ask, node, f);
        case SAMPI_PEER_SEED: return sampi_ask_seed(ask, node, f);
        case SAMPI_PEER_THINKING: return sampi_ask_thinking(ask, node, f);
        case SAMPI_PEER_THOUGHT: return sampi_ask_thought(ask, node, f);
        case SAMPI_PEER_CUSTOM: return sampi_ask_custom(ask, node);
        case SAMPI_PEER_CALLS: return sampi_ask_calls(ask, node);
        case SAMPI_PEER_CONFIG: return sampi_ask_config(ask, node);
        case SAMPI_PEER_BIAS:
        case SAMPI_PEER_BAN: return sampi_ask_biases(ask, node, f);
        case SAMPI_PEER_STRINGS: return sampi_ask_strings(ask, node);
        case SAMPI_PEER_ORDER: return sampi_ask_order(ask, node);
        case SAMPI_PEER_CHOICE: return sampi_ask_choice(ask, node);
        case SAMPI_PEER_OPTIONS: return sampi_ask_options(ask, node);
        case SAMPI_PEER_SAMPLE:
            if (kind != SAMPI_JSON_TRUE && kind != SAMPI_JSON_FALSE) return sampi_ask_bad(ask, node, SAMP_E_FORMAT);
            ask->samples = kind == SAMPI_JSON_TRUE;
            return SAMP_OK;
        case SAMPI_PEER_NEUTRAL:
            if (sampi_ask_neutral(ask, node, f->usual)) return SAMP_OK;
            break;
        case SAMPI_PEER_TOOLS:
            if (!sampi_ask_strict(ask, node)) return SAMP_OK;
            break;
        case SAMPI_PEER_PLAIN:
            if (sampi_ask_plain(ask, node)) return SAMP_OK;
    }
    return sampi_ask_fail(ask, node, SAMP_E_UNSUPPORTED, "expected a value that settings can express");
}

/* Are two names [n] equal? folds: upper and lower case are the same. */
static SAMPI_COLD bool sampi_ask_same(const char *a, const char *b, size_t n, bool folds)
{
    size_t i = 0;
    while (i < n && (a[i] == b[i] || (folds && sampi_ask_lower(a[i]) == sampi_ask_lower(b[i])))) i++;
    return i == n;
}

/* Is a name [n] in a list, whose names are separated by semicolons? */
static SAMPI_COLD bool sampi_ask_listed(const char *list, const char *name, size_t n, bool folds)
{
    for (size_t length; *list; list += length + (list[length] == ';')) {
        length = strcspn(list, ";");
        if (length == n && sampi_ask_same(list, name, n, folds)) return true;
    }
    return false;
}

/* Sets request.field to the name [n] of a field, for errors; with `inside` the name of the object of options comes
   before it. Returns the length, or 0 if the name had to be cut. */
static SAMPI_COLD size_t sampi_ask_name(sampi_ask *ask, const char *name, size_t n, bool inside)
{
    char *path = ask->out->field;
    size_t before = inside ? strlen(ask->peer->options) : 0, room = sizeof ask->out->field - 1 - before;
    size_t taken = n < room ? n : room;
    memcpy(path, ask->peer->options, before);
    memcpy(path + before, name, taken);
    path[before + taken] = 0;
    return taken < n ? 0 : before + n;
}

/* Is this row valid at this place: inside of the object of options, or outside? */
static SAMPI_COLD bool sampi_ask_counts(const sampi_ask *ask, const sampi_peer_field *f, bool inside)
{
    if (ask->peer->reads & SAMPI_PEER_ANYWHERE) return !inside || f->means != SAMPI_PEER_OPTIONS;
    return !(f->how & SAMPI_PEER_INSIDE) == !inside;
}

/* Reads a member of the request, or (inside) of its object of options. */
static SAMPI_COLD int sampi_ask_member(sampi_ask *ask, int32_t node, bool inside)
{
    const size_t before = inside ? strlen(ask->peer->options) : 0;
    size_t n;
    const char *name = sampi_ask_text(ask, sampi_ask_node(ask, node)->name, &n), *path = ask->out->field;
    size_t n_path = sampi_ask_name(ask, name, n, inside);
    bool folds = !inside && (ask->peer->reads & SAMPI_PEER_FOLDS);
    for (const char *const *mine = ask->handled; mine && *mine; mine++) {
        const char *rest = strncmp(*mine, ask->peer->options, before) ? NULL : *mine + before;
        if (rest && strlen(rest) == n && !memcmp(rest, name, n)) return SAMP_OK;
    }
    const size_t bare = ask->peer->reads & SAMPI_PEER_ANYWHERE ? before : 0; /* the list has bare names */
    if (n_path && sampi_ask_listed(ask->peer->skipped, path + bare, n_path - bare, folds)) return SAMP_OK;
    for (const sampi_peer_field *f = ask->peer->fields; f->name || f->param; f++) {
        if (!f->name || strlen(f->name) != n || !sampi_ask_same(f->name, name, n, folds)) continue;
        if (!sampi_ask_counts(ask, f, inside)) continue;
        return sampi_ask_node(ask, node)->kind == SAMPI_JSON_NULL ? SAMP_OK : sampi_ask_value(ask, node, f);
    }
    return sampi_ask_fail(ask, node, SAMP_E_NAME, "expected a field that this program has");
}

/* Reads all members of the request, or (inside) of its object of options, up to the first error. */
static SAMPI_COLD int sampi_ask_object(sampi_ask *ask, int32_t node, bool inside)
{
    int status = SAMP_OK;
    if (sampi_ask_node(ask, node)->kind != SAMPI_JSON_OBJECT)
        return sampi_ask_fail(ask, node, SAMP_E_FORMAT, "expected an object");
    for (int32_t i = sampi_ask_node(ask, node)->first; i >= 0 && !status; i = sampi_ask_node(ask, i)->next)
        status = sampi_ask_member(ask, i, inside);
    return status;
}
