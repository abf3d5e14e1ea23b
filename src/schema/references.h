/* ---- references ----
   A reference is an address and, behind a #, a place in what is there: a JSON pointer, or the name of an anchor.
   Addresses count from the $id around them; only those in this text can be known. */

enum { SAMPI_URI = 1024 };

/* Is a node where schemas stand? In a const, an enum or behind a word that is no keyword it only looks like one. */
static SAMPI_COLD bool sampi_is_schema(const sampi_schema *x, int32_t node)
{
    static const sampi_schema_key of_one[] = { SAMPI_KEY_NOT,
                                               SAMPI_KEY_ALL_OF,
                                               SAMPI_KEY_ANY_OF,
                                               SAMPI_KEY_ONE_OF,
                                               SAMPI_KEY_IF,
                                               SAMPI_KEY_THEN,
                                               SAMPI_KEY_ELSE,
                                               SAMPI_KEY_ADDITIONAL_PROPERTIES,
                                               SAMPI_KEY_PREFIX_ITEMS,
                                               SAMPI_KEY_PROPERTY_NAMES,
                                               SAMPI_KEY_ITEMS,
                                               SAMPI_KEY_ADDITIONAL_ITEMS,
                                               SAMPI_KEY_CONTAINS,
                                               SAMPI_KEY_UNEVALUATED_PROPERTIES,
                                               SAMPI_KEY_UNEVALUATED_ITEMS };
    static const sampi_schema_key of_names[] = { SAMPI_KEY_PROPERTIES,   SAMPI_KEY_PATTERN_PROPERTIES,
                                                 SAMPI_KEY_DEPENDENCIES, SAMPI_KEY_DEPENDENT_SCHEMAS,
                                                 SAMPI_KEY_DEFINITIONS,  SAMPI_KEY_DEFS };
    int32_t way[SAMPI_JSON_DEPTH + 1];
    int n_way = 0;
    bool many = false; /* what comes next on the way is one of many schemas */
    for (; sampi_doc(x, node)->parent >= 0; node = sampi_doc(x, node)->parent) way[n_way++] = node;
    while (n_way-- > 0) {
        const sampi_json_node *n = sampi_doc(x, way[n_way]);
        bool one = many, names = false;
        for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++)
            one |= n->name >= 0 && n->name == x->key[of_one[i]];
        for (size_t i = 0; i < sizeof of_names / sizeof *of_names && !many; i++)
            names |= n->name >= 0 && n->name == x->key[of_names[i]];
        if (!one && !names) return false;
        many = !many && (names || n->kind == SAMPI_JSON_ARRAY);
    }
    return !many;
}

/* The $id of a schema (draft 4: id), as a string's number; -1: it has none. */
static SAMPI_COLD int32_t sampi_schema_id(sampi_schema *x, int32_t schema)
{
    int32_t node = sampi_keyword(x, schema, x->draft == 4 ? SAMPI_KEY_OLD_ID : SAMPI_KEY_ID);
    bool has = node >= 0 && sampi_doc(x, node)->kind == SAMPI_JSON_STRING && sampi_is_schema(x, schema);
    return has ? sampi_doc(x, node)->text : -1;
}

static SAMPI_COLD size_t sampi_uri_end(const char *text, size_t n) /* what is before the # */
{
    size_t end = 0;
    while (end < n && text[end] != '#') end++;
    return end;
}

/* Replaces an address by what a reference, told without its #, means there. Returns its length; 0: it is too long, or
   climbs (../). */
static SAMPI_COLD size_t sampi_uri_join(char *base, size_t n, const char *ref, size_t n_ref)
{
    size_t scheme = 0, path = 0, keep = 0;
    if (n_ref == 0) return n;
    while (scheme < n_ref && ((ref[scheme] | 32) >= 'a' && (ref[scheme] | 32) <= 'z')) scheme++;
    for (size_t i = 0; i + 2 < n && !path; i++)
        if (!memcmp(base + i, "://", 3)) path = i + 3;
    while (path < n && base[path] != '/') path++;
    if (ref[0] == '/')
        keep = path;
    else
        for (size_t i = path; i < n; i++)
            if (base[i] == '/') keep = i + 1;
    if (scheme > 0 && scheme < n_ref && ref[scheme] == ':')
        keep = 0;
    else if (ref[0] == '.' || (keep == 0 && path > 0))
        return 0;
    if (keep + n_ref >= SAMPI_URI) return 0;
    memcpy(base + keep, ref, n_ref);
    return keep + n_ref;
}

/* The address that holds at a node: the $id around it, joined from the root on. 0: none. */
static SAMPI_COLD size_t sampi_schema_address(sampi_schema *x, int32_t node, char *out)
{
    int32_t way[SAMPI_JSON_DEPTH + 1];
    int n_way = 0;
    size_t n = 0;
    for (; node >= 0; node = sampi_doc(x, node)->parent) way[n_way++] = node;
    while (n_way-- > 0) {
        size_t n_id = 0;
        int32_t id = sampi_schema_id(x, way[n_way]);
        const char *text = id < 0 ? "" : sampi_doc_text(x, id, &n_id);
        n = sampi_uri_join(out, n, text, sampi_uri_end(text, n_id));
    }
    return n;
}

/* The schema around a node that has an address of its own, or the root. */
static SAMPI_COLD int32_t sampi_schema_resource(sampi_schema *x, int32_t node)
{
    for (; sampi_doc(x, node)->parent >= 0; node = sampi_doc(x, node)->parent) {
        size_t n = 0;
        int32_t id = sampi_schema_id(x, node);
        const char *text = id < 0 ? "" : sampi_doc_text(x, id, &n);
        if (sampi_uri_end(text, n) > 0) break;
    }
    return node;
}

/* The schema with that address; -1: there is none. */
static SAMPI_COLD int32_t sampi_schema_addressed(sampi_schema *x, const char *address, size_t n)
{
    char out[SAMPI_URI];
    for (int32_t i = 0; i < x->doc.n_nodes && n; i++) {
        if (sampi_schema_id(x, i) < 0 || sampi_schema_resource(x, i) != i || !sampi_schema_step(x, i)) continue;
        if (sampi_schema_address(x, i, out) == n && !memcmp(out, address, n)) return i;
    }
    return -1;
}

/* The node that a JSON pointer leads to from another one, or -1. */
static SAMPI_COLD int32_t sampi_json_pointed(const sampi_json *doc, int32_t node, const char *at, const char *end)
{
    char token[SAMPI_URI];
    while (at < end && node >= 0) {
        size_t n = 0;
        int32_t index = 0;
        bool number = true;
        for (at++; at < end && *at != '/' && n < sizeof token; at++) {
            token[n] = *at;
            if (*at == '~' && at + 1 < end) token[n] = *++at == '1' ? '/' : '~';
            number = number && token[n] >= '0' && token[n] <= '9' && index < 100000000;
            if (number) index = index * 10 + (token[n] - '0');
            n++;
        }
        if (doc->nodes[node].kind == SAMPI_JSON_ARRAY) {
            int32_t i = number && n ? doc->nodes[node].first : -1;
            while (i >= 0 && index-- > 0) i = doc->nodes[i].next;
            node = i;
        } else
            node = sampi_json_member(doc, node, sampi_json_find(doc, token, n));
    }
    return node;
}

/* The schema of a resource that has this anchor: $anchor, or an $id that is only that. */
static SAMPI_COLD int32_t sampi_schema_anchored(sampi_schema *x, int32_t resource, const char *name, size_t n)
{
    static const sampi_schema_key keys[2] = { SAMPI_KEY_ANCHOR, SAMPI_KEY_DYNAMIC_ANCHOR };
    int32_t string = sampi_json_find(&x->doc, name, n);
    for (int32_t i = resource; i < x->doc.n_nodes; i++) {
        size_t n_id = 0;
        int32_t id = sampi_schema_id(x, i);
        const char *text = id < 0 ? "" : sampi_doc_text(x, id, &n_id);
        bool found = n_id == n + 1 && text[0] == '#' && !memcmp(text + 1, name, n);
        for (int k = 0; k < 2 && !found; k++) {
            int32_t anchor = sampi_keyword(x, i, keys[k]);
            found = anchor >= 0 && string >= 0 && sampi_doc(x, anchor)->text == string;
        }
        if (found && sampi_is_schema(x, i) && sampi_schema_resource(x, i) == resource) return i;
        if (sampi_doc(x, i)->kind == SAMPI_JSON_OBJECT && !sampi_schema_step(x, i)) break;
    }
    return -1;
}

/* What is behind the # without its percent signs; its length. */
static SAMPI_COLD size_t sampi_uri_decode(const char *text, size_t n, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n && used < SAMPI_URI; i++, used++) {
        int high = i + 2 < n && text[i] == '%' ? sampi_hex_digit(text[i + 1]) : -1;
        int low = high < 0 ? -1 : sampi_hex_digit(text[i + 2]);
        out[used] = low < 0 ? text[i] : (char)(high * 16 + low);
        if (low >= 0) i += 2;
    }
    return used;
}

/* The schema that the value of a $ref means. Found once. -1: an error. */
static SAMPI_COLD int32_t sampi_schema_target(sampi_schema *x, int32_t ref)
{
    char address[SAMPI_URI], place[SAMPI_URI];
    size_t n;
    int32_t found = x->targets[ref], resource;
    if (found >= 0 || x->status) return x->status ? -1 : found;
    if (sampi_doc(x, ref)->kind != SAMPI_JSON_STRING) return sampi_malformed(x, ref, "expected a reference"), -1;
    const char *text = sampi_doc_text(x, sampi_doc(x, ref)->text, &n);
    size_t end = sampi_uri_end(text, n);
    if (n > SAMPI_URI) return sampi_schema_fail(x, ref, SAMP_E_RANGE, "the reference is too long"), -1;
    if (end == 0)
        resource = sampi_schema_resource(x, ref);
    else
        resource = sampi_schema_addressed(x, address,
                                          sampi_uri_join(address, sampi_schema_address(x, ref, address), text, end));
    if (resource < 0) return sampi_refuse(x, ref, "a schema that is not in this text"), -1;
    size_t n_place = end < n ? sampi_uri_decode(text + end + 1, n - end - 1, place) : 0;
    if (n_place > 0 && place[0] != '/')
        found = sampi_schema_anchored(x, resource, place, n_place);
    else
        found = sampi_json_pointed(&x->doc, resource, place, place + n_place);
    if (found < 0 && !x->status)
        sampi_malformed(x, ref, "expected a reference to a schema of this text");
    else if (found >= 0 && sampi_doc(x, found)->kind != SAMPI_JSON_OBJECT &&
             sampi_doc(x, found)->kind > SAMPI_JSON_TRUE)
        sampi_malformed(x, ref, "expected a reference to a schema");
    return x->targets[ref] = x->status ? -1 : found;
}
