/* ---- fields ---- */

/* Does this value say nothing? */
static SAMPI_COLD bool sampi_ask_neutral(const sampi_ask *ask, int32_t node, const char *usual)
{
    const sampi_json_node *v = sampi_ask_node(ask, node);
    float x = 0.0f, neutral = 0.0f;
    if (!usual) return false;
    switch ((sampi_json_kind)v->kind) {
        case SAMPI_JSON_FALSE: return !strcmp(usual, "false");
        case SAMPI_JSON_ARRAY:
        case SAMPI_JSON_OBJECT: return !*usual && v->n == 0;
        case SAMPI_JSON_STRING: return !*usual && ask->doc->strings[v->text].n == 0;
        case SAMPI_JSON_NUMBER:
            return !sampi_ask_float(ask, node, &x) && !sampi_read_float(&usual, &neutral) && x == neutral;
        default: return false;
    }
}

/* {"type": "text"}, or nothing. */
static SAMPI_COLD bool sampi_ask_plain(const sampi_ask *ask, int32_t node)
{
    int32_t type = sampi_json_member(ask->doc, node, sampi_json_find(ask->doc, "type", 4));
    if (type < 0) return sampi_ask_neutral(ask, node, "");
    const sampi_json_node *v = sampi_ask_node(ask, type);
    return v->kind == SAMPI_JSON_STRING && v->text == sampi_json_find(ask->doc, "text", 4);
}

static SAMPI_COLD int sampi_ask_object(sampi_ask *ask, int32_t node, bool inside);

static SAMPI_COLD int sampi_ask_value(sampi_ask *ask, int32_t node, const sampi_peer_field *f)
{
    uint8_t kind = sampi_ask_node(ask, node)->kind;
    switch ((sampi_peer_means)f->means) {
        case SAMPI_PEER_NUMBER:
        case SAMPI_PEER_HEAT: return sampi_ask_number(ask, node, f);
        case SAMPI_PEER_SEED: return sampi_ask_seed(ask, node, f);
        case SAMPI_PEER_BIAS:
        case SAMPI_PEER_BAN: return sampi_ask_biases(ask, node, f);
        case SAMPI_PEER_STRINGS: return sampi_ask_strings(ask, node);
        case SAMPI_PEER_ORDER: return sampi_ask_order(ask, node);
        case SAMPI_PEER_OPTIONS: return sampi_ask_object(ask, node, true);
        case SAMPI_PEER_SAMPLE:
            if (kind != SAMPI_JSON_TRUE && kind != SAMPI_JSON_FALSE) return sampi_ask_bad(ask, node, SAMP_E_FORMAT);
            ask->samples = kind == SAMPI_JSON_TRUE;
            return SAMP_OK;
        case SAMPI_PEER_NEUTRAL:
            if (sampi_ask_neutral(ask, node, f->usual)) return SAMP_OK;
            break;
        case SAMPI_PEER_PLAIN:
            if (sampi_ask_plain(ask, node)) return SAMP_OK;
    }
    return sampi_ask_fail(ask, node, SAMP_E_UNSUPPORTED, "expected a value that settings can express");
}

/* Is a name [n] among those of a list with ; between? */
static SAMPI_COLD bool sampi_ask_listed(const char *list, const char *name, size_t n)
{
    for (size_t length; *list; list += length + (list[length] == ';')) {
        length = strcspn(list, ";");
        if (length == n && !memcmp(list, name, n)) return true;
    }
    return false;
}

/* The name [n] of a field goes to *out, "options." before it if it stands there; returns its length, or 0 if it had to
   be cut. */
static SAMPI_COLD size_t sampi_ask_name(sampi_ask *ask, const char *name, size_t n, bool inside)
{
    char *path = ask->out->field;
    size_t before = inside ? 8 : 0, room = sizeof ask->out->field - 1 - before, taken = n < room ? n : room;
    memcpy(path, "options.", before);
    memcpy(path + before, name, taken);
    path[before + taken] = 0;
    return taken < n ? 0 : before + n;
}

/* A member of the request, or of its options. */
static SAMPI_COLD int sampi_ask_member(sampi_ask *ask, int32_t node, bool inside)
{
    size_t n;
    const char *name = sampi_ask_text(ask, sampi_ask_node(ask, node)->name, &n), *path = ask->out->field;
    size_t n_path = sampi_ask_name(ask, name, n, inside);
    for (const char *const *mine = ask->handled; mine && *mine; mine++) {
        const char *rest = !inside ? *mine : strncmp(*mine, "options.", 8) ? NULL : *mine + 8;
        if (rest && strlen(rest) == n && !memcmp(rest, name, n)) return SAMP_OK;
    }
    if (n_path && sampi_ask_listed(ask->peer->skipped, path, n_path)) return SAMP_OK;
    for (const sampi_peer_field *f = ask->peer->fields; f->name || f->param; f++) {
        if (!f->name || strlen(f->name) != n || memcmp(f->name, name, n)) continue;
        if (!(f->how & SAMPI_PEER_INSIDE) != !inside) continue;
        return sampi_ask_node(ask, node)->kind == SAMPI_JSON_NULL ? SAMP_OK : sampi_ask_value(ask, node, f);
    }
    return sampi_ask_fail(ask, node, SAMP_E_NAME, "expected a field that this program has");
}

static SAMPI_COLD int sampi_ask_object(sampi_ask *ask, int32_t node, bool inside)
{
    int status = SAMP_OK;
    if (sampi_ask_node(ask, node)->kind != SAMPI_JSON_OBJECT)
        return sampi_ask_fail(ask, node, SAMP_E_FORMAT, "expected an object");
    for (int32_t i = sampi_ask_node(ask, node)->first; i >= 0 && !status; i = sampi_ask_node(ask, i)->next)
        status = sampi_ask_member(ask, i, inside);
    return status;
}
