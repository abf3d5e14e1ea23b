/* ---- JSON: values ----
   Reads JSON values. Numbers, the words null, true and false, strings, arrays and objects become nodes, one after
   another, without recursion. Depth, commas and names are checked by RFC 8259. Numbers stay text. */

static SAMPI_COLD size_t sampi_json_digits(sampi_json_reader *r)
{
    const unsigned char *from = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    return (size_t)(r->at - from);
}

static SAMPI_COLD int32_t sampi_json_number(sampi_json_reader *r)
{
    const unsigned char *from = r->at;
    if (*r->at == '-') r->at++;
    const unsigned char *first = r->at;
    size_t n = sampi_json_digits(r);
    if (n == 0 || (n > 1 && *first == '0')) return sampi_json_wrong(r, n ? "a zero leads" : "expected a value");
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        if (!sampi_json_digits(r)) return sampi_json_wrong(r, "expected a digit");
    }
    if (r->at < r->end && (*r->at | 0x20) == 'e') {
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
        if (!sampi_json_digits(r)) return sampi_json_wrong(r, "expected a digit");
    }
    uint32_t size = (uint32_t)(r->at - from);
    memcpy(r->doc->bytes + r->doc->n_bytes, from, size);
    return sampi_json_intern(r, size);
}

static SAMPI_COLD void sampi_json_space(sampi_json_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}

/* Skips space, and reads the byte c if it comes next. Returns whether c did. */
static SAMPI_COLD bool sampi_json_next(sampi_json_reader *r, char c)
{
    sampi_json_space(r);
    if (r->at >= r->end || *r->at != (unsigned char)c) return false;
    r->at++;
    return true;
}

/* Returns the slot of a member in the hash table of names, or NULL if too many names collide. */
static SAMPI_COLD int32_t *sampi_json_member_slot(const sampi_json *doc, int32_t object, int32_t name)
{
    uint64_t key = ((uint64_t)(uint32_t)object << 32 | (uint32_t)name) * 0x9e3779b97f4a7c15u;
    uint32_t h = (uint32_t)(key >> 32);
    for (uint32_t i = 0; i < SAMPI_JSON_PROBES; i++, h++) {
        int32_t *slot = &doc->by_name[h & doc->name_mask];
        if (*slot < 0 || (doc->nodes[*slot].parent == object && doc->nodes[*slot].name == name)) return slot;
    }
    return NULL;
}

/* Reads one of the words null, true and false if it comes next. Returns whether it did. The caller checks what follows
   the word. */
static SAMPI_COLD bool sampi_json_word(sampi_json_reader *r, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n)) return false;
    r->at += n;
    return true;
}

/* Reads a value and returns its node. For an array or object, only the opening bracket is read, and *inside says
   whether the array or object has a child. */
static SAMPI_COLD int32_t sampi_json_value(sampi_json_reader *r, int32_t parent, int32_t name, bool *inside)
{
    sampi_json *doc = r->doc;
    sampi_json_space(r);
    int c = r->at < r->end ? *r->at : 0;
    int32_t node = doc->n_nodes++;
    sampi_json_node *v = &doc->nodes[node];
    v->parent = parent;
    v->name = name;
    v->next = v->first = v->last = v->text = -1;
    v->n = 0;
    v->at = (uint32_t)(r->at - (const unsigned char *)doc->source);
    *inside = false;
    if (parent >= 0) {
        sampi_json_node *above = &doc->nodes[parent];
        *(above->n++ ? &doc->nodes[above->last].next : &above->first) = node;
        above->last = node;
    }
    if (c == '{' || c == '[') {
        v->kind = c == '{' ? SAMPI_JSON_OBJECT : SAMPI_JSON_ARRAY;
        r->at++;
        if (r->depth == SAMPI_JSON_DEPTH)
            r->status = sampi_json_fail(doc, v->at, SAMP_E_RANGE, "nested too deeply");
        else
            *inside = !sampi_json_next(r, c == '{' ? '}' : ']');
    } else if (c == '"') {
        v->kind = SAMPI_JSON_STRING;
        v->text = sampi_json_text(r);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        v->kind = SAMPI_JSON_NUMBER;
        v->text = sampi_json_number(r);
    } else if (sampi_json_word(r, "true"))
        v->kind = SAMPI_JSON_TRUE;
    else if (sampi_json_word(r, "false"))
        v->kind = SAMPI_JSON_FALSE;
    else if (sampi_json_word(r, "null"))
        v->kind = SAMPI_JSON_NULL;
    else
        sampi_json_wrong(r, "expected a value");
    return node;
}

/* Reads the name of an object's next member, and its colon. */
static SAMPI_COLD int32_t sampi_json_name(sampi_json_reader *r, int32_t object)
{
    sampi_json_space(r);
    const unsigned char *at = r->at;
    if (r->at >= r->end || *r->at != '"') return sampi_json_wrong(r, "expected a member's name in quotes");
    int32_t name = sampi_json_text(r);
    int32_t *slot = r->status ? NULL : sampi_json_member_slot(r->doc, object, name);
    if (r->status) return -1;
    if (!slot || *slot >= 0) {
        r->at = at;
        return sampi_json_wrong(r, slot ? "this name is there twice" : "too many names collide");
    }
    if (!sampi_json_next(r, ':')) return sampi_json_wrong(r, "expected a colon");
    *slot = r->doc->n_nodes; /* the node that will be the member */
    return name;
}

/* Reads a value with everything inside it. After the last child of an array or object, reading continues with its
   parent. */
static SAMPI_COLD void sampi_json_values(sampi_json_reader *r)
{
    const sampi_json_node *nodes = r->doc->nodes;
    bool inside;
    int32_t node = sampi_json_value(r, -1, -1, &inside);
    if (!inside) return;
    for (r->depth = 1; r->depth > 0 && !r->status;) { /* the next value is a child of node */
        const bool object = nodes[node].kind == SAMPI_JSON_OBJECT;
        int32_t name = object ? sampi_json_name(r, node) : -1, child;
        if (r->status) return;
        child = sampi_json_value(r, node, name, &inside);
        if (inside) {
            node = child;
            r->depth++;
        }
        while (!inside && r->depth > 0 && !r->status && !sampi_json_next(r, ',')) {
            const bool closes = nodes[node].kind == SAMPI_JSON_OBJECT;
            if (!sampi_json_next(r, closes ? '}' : ']'))
                sampi_json_wrong(r, closes ? "expected a comma or }" : "expected a comma or ]");
            node = nodes[node].parent;
            r->depth--;
        }
    }
}
