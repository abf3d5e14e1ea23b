/* ---- references ----
   A $ref is an address and, behind a #, a position in the schema at that address: a JSON pointer, or the name of an
   anchor. The address is relative to the nearest $id around the $ref. Only schemas within the same document are
   found. */

/* Limits in bytes: the length of one address, and the sum of the lengths of all addresses. */
enum { SAMPI_URI = 1024, SAMPI_ADDRESSES = 1 << 24 };

/* The answer to whether a node of the document is a schema. NOWHERE: it is not, even if it looks like one, as a value
   in a const, in an enum or behind an unknown keyword does. AROUND: it is not, but its children are schemas. */
enum { SAMPI_ROLE_NONE, SAMPI_ROLE_SCHEMA, SAMPI_ROLE_PARENT };

typedef struct sampi_resource {
    int32_t node;  /* the node of a schema with an address of its own, or the root */
    int32_t at, n; /* the absolute address: n bytes from index `at` on in x->addresses; n = 0 if it has no address */
} sampi_resource;

/* A target of references: a schema with an address (`resource` is -1 and `name` is the address), or with an anchor
   `name` within a resource. */
typedef struct sampi_anchor {
    int32_t resource, node;
    const char *name;
    size_t n;
} sampi_anchor;

/* Returns SAMPI_ROLE_* for a node of the document; `parent` is the result for the node's parent. */
static SAMPI_COLD uint8_t sampi_schema_role(const sampi_schema *x, const sampi_json_node *n, uint8_t parent)
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
    if (parent == SAMPI_ROLE_NONE) return SAMPI_ROLE_NONE;
    if (parent == SAMPI_ROLE_PARENT) return SAMPI_ROLE_SCHEMA;
    for (size_t i = 0; i < sizeof of_names / sizeof *of_names; i++)
        if (n->name >= 0 && n->name == x->key[of_names[i]]) return SAMPI_ROLE_PARENT;
    for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++)
        if (n->name >= 0 && n->name == x->key[of_one[i]])
            return n->kind == SAMPI_JSON_ARRAY ? SAMPI_ROLE_PARENT : SAMPI_ROLE_SCHEMA;
    return SAMPI_ROLE_NONE;
}

/* Returns the string of a schema's $id (in draft 4: id); -1 if it has none. */
static SAMPI_COLD int32_t sampi_schema_id(sampi_schema *x, int32_t schema)
{
    int32_t node = sampi_schema_keyword(x, schema, x->draft == 4 ? SAMPI_KEY_OLD_ID : SAMPI_KEY_ID);
    bool has = node >= 0 && sampi_schema_doc(x, node)->kind == SAMPI_JSON_STRING &&
               x->roles[schema] == SAMPI_ROLE_SCHEMA;
    return has ? sampi_schema_doc(x, node)->text : -1;
}

static SAMPI_COLD size_t sampi_uri_end(const char *text, size_t n) /* returns the length of the part before the # */
{
    size_t end = 0;
    while (end < n && text[end] != '#') end++;
    return end;
}

/* Where the parts of an address begin: scheme:, //authority, path, ?query (RFC 3986). A part may be empty; the scheme
   begins at 0. */
typedef struct sampi_uri {
    size_t authority, path, query;
} sampi_uri;

static SAMPI_COLD sampi_uri sampi_uri_parts(const char *text, size_t n)
{
    sampi_uri u = { 0, 0, 0 };
    while (u.path < n && (((text[u.path] | 32) >= 'a' && (text[u.path] | 32) <= 'z') ||
                          (u.path && text[u.path] >= '+' && text[u.path] <= '9' && text[u.path] != ',' &&
                           text[u.path] != '/')))
        u.path++;
    u.path = u.authority = u.path && u.path < n && text[u.path] == ':' ? u.path + 1 : 0;
    if (n >= u.path + 2 && !memcmp(text + u.path, "//", 2))
        for (u.path += 2; u.path < n && text[u.path] != '/' && text[u.path] != '?';) u.path++;
    for (u.query = u.path; u.query < n && text[u.query] != '?';) u.query++;
    return u;
}

/* Removes the segments . and .. from the path of an address of n bytes. Returns its new length. */
static SAMPI_COLD size_t sampi_uri_remove_dots(char *text, size_t n)
{
    const sampi_uri u = sampi_uri_parts(text, n);
    const size_t first = u.path + (u.path < u.query && text[u.path] == '/');
    size_t used = first;
    for (size_t at = first, end; at < u.query; at = end + 1) {
        for (end = at; end < u.query && text[end] != '/';) end++;
        const size_t length = end - at;
        if (length == 2 && !memcmp(text + at, "..", 2)) {
            used -= used > first; /* the slash behind the last segment, then the segment */
            while (used > first && text[used - 1] != '/') used--;
        } else if (length != 1 || text[at] != '.') {
            memmove(text + used, text + at, length);
            used += length;
            if (end < u.query) text[used++] = '/';
        }
    }
    memmove(text + used, text + u.query, n - u.query);
    return used + n - u.query;
}

/* Resolves a reference (the part before its #) against the address of n bytes in `base`, as RFC 3986, 5.2 says, and
   writes the result there. An address without a scheme is allowed too; its path stays relative. Returns the result's
   length, or 0 if the result is too long. */
static SAMPI_COLD size_t sampi_uri_join(char *base, size_t n, const char *ref, size_t n_ref)
{
    const sampi_uri b = sampi_uri_parts(base, n), r = sampi_uri_parts(ref, n_ref);
    size_t keep = 0; /* how many bytes of the base are kept */
    if (n_ref == 0) return n;
    if (r.authority == 0 && r.path > 0) {
        keep = b.authority;
    } else if (r.authority == 0 && r.query == 0) {
        keep = b.query;
    } else if (r.authority == 0) {
        keep = b.path;
        for (size_t i = b.path; i < b.query && ref[0] != '/'; i++)
            if (base[i] == '/') keep = i + 1;
        if (ref[0] != '/' && b.path > b.authority && b.path == b.query)
            base[keep++] = '/'; /* a host without a path */
    }
    if (keep + n_ref >= SAMPI_URI) return 0;
    memcpy(base + keep, ref, n_ref);
    return sampi_uri_remove_dots(base, keep + n_ref);
}

static sampi_resource *sampi_schema_resource_at(const sampi_schema *x, int32_t i)
{
    return (sampi_resource *)x->resources.data + i;
}

static const char *sampi_schema_resource_address(const sampi_schema *x, int32_t i)
{
    return (const char *)sampi_grammar_vec_at(&x->addresses, 1, sampi_schema_resource_at(x, i)->at);
}

/* Adds a resource with its $id (a string of the document, or -1), which is inside the resource `around` (-1: it is the
   root). Returns the resource's index. */
static SAMPI_COLD int32_t sampi_schema_resource_add(sampi_schema *x, int32_t node, int32_t around, int32_t id)
{
    char address[SAMPI_URI];
    size_t n = 0, n_id = 0;
    const char *text = id < 0 ? "" : sampi_schema_doc_text(x, id, &n_id);
    if (around >= 0) n = (size_t)sampi_schema_resource_at(x, around)->n;
    if (n) memcpy(address, sampi_schema_resource_address(x, around), n);
    n = sampi_uri_join(address, n, text, sampi_uri_end(text, n_id));
    if (x->addresses.n > SAMPI_ADDRESSES) sampi_schema_fail(x, node, SAMP_E_RANGE, "too many long addresses");
    sampi_resource r = { node, x->addresses.n, (int32_t)n };
    char *bytes = (char *)sampi_grammar_vec_add(&x->addresses, 1, (int32_t)n);
    sampi_resource *room = (sampi_resource *)sampi_grammar_vec_add(&x->resources, sizeof r, 1);
    if (!bytes || !room) return sampi_schema_fail(x, node, SAMP_E_NOMEM, "out of memory"), 0;
    if (n) memcpy(bytes, address, n);
    *room = r;
    return x->resources.n - 1;
}

/* Returns the hash table's slot of an anchor, or the free slot for it; NULL if too many collide, or without a table. */
static SAMPI_COLD int32_t *sampi_schema_anchor_slot(const sampi_schema *x, int32_t resource, const char *name,
                                                    size_t n)
{
    uint32_t mask = (uint32_t)x->by_anchor.n - 1;
    uint32_t h = sampi_place_of(name, n) + (uint32_t)resource * 0x9E3779B1u;
    for (uint32_t i = 0; i < SAMPI_JSON_PROBES && x->by_anchor.n; i++, h++) {
        int32_t *slot = sampi_schema_ints(&x->by_anchor, (int32_t)(h & mask));
        const sampi_anchor *p = *slot < 0 ? NULL : (const sampi_anchor *)x->anchors.data + *slot;
        if (!p || (p->resource == resource && p->n == n && !memcmp(p->name, name, n))) return slot;
    }
    return NULL;
}

static SAMPI_COLD int32_t sampi_schema_anchor_find(const sampi_schema *x, int32_t resource, const char *name,
                                                   size_t n)
{
    const int32_t *slot = sampi_schema_anchor_slot(x, resource, name, n);
    return slot && *slot >= 0 ? ((const sampi_anchor *)x->anchors.data)[*slot].node : -1;
}

static SAMPI_COLD void sampi_schema_anchor_add(sampi_schema *x, int32_t resource, int32_t node, const char *name,
                                               size_t n)
{
    sampi_anchor *room = n && !x->status ? (sampi_anchor *)sampi_grammar_vec_add(&x->anchors, sizeof *room, 1) : NULL;
    if (!room && n && !x->status) sampi_schema_fail(x, node, SAMP_E_NOMEM, "out of memory");
    if (!room) return;
    room->resource = resource;
    room->node = node;
    room->name = name;
    room->n = n;
}

/* Adds the anchors of a schema: $anchor, $dynamicAnchor, or an $id that has only a # and a name. */
static SAMPI_COLD void sampi_schema_anchors_of(sampi_schema *x, int32_t schema)
{
    static const sampi_schema_key keys[2] = { SAMPI_KEY_ANCHOR, SAMPI_KEY_DYNAMIC_ANCHOR };
    size_t n = 0;
    int32_t id = sampi_schema_id(x, schema);
    const char *text = id < 0 ? "" : sampi_schema_doc_text(x, id, &n);
    if (n > 1 && text[0] == '#') sampi_schema_anchor_add(x, x->resource_of[schema], schema, text + 1, n - 1);
    for (int k = 0; k < 2; k++) {
        int32_t anchor = sampi_schema_keyword(x, schema, keys[k]);
        if (anchor < 0 || sampi_schema_doc(x, anchor)->kind != SAMPI_JSON_STRING) continue;
        text = sampi_schema_doc_text(x, sampi_schema_doc(x, anchor)->text, &n);
        sampi_schema_anchor_add(x, x->resource_of[schema], schema, text, n);
    }
}

/* Finds which nodes of the document are schemas, the resource of each, and the names by which references can find them.
   Parents are visited before their children. If two schemas have the same name, the first one counts. */
static SAMPI_COLD void sampi_schema_find_resources(sampi_schema *x)
{
    if (x->resources.n) return;
    for (int32_t i = 0; i < x->doc.n_nodes && !x->status; i++) {
        const sampi_json_node *n = sampi_schema_doc(x, i);
        size_t length = 0;
        x->roles[i] = n->parent < 0 ? (uint8_t)SAMPI_ROLE_SCHEMA : sampi_schema_role(x, n, x->roles[n->parent]);
        const int32_t id = n->kind == SAMPI_JSON_OBJECT ? sampi_schema_id(x, i) : -1;
        const char *text = id < 0 ? "" : sampi_schema_doc_text(x, id, &length);
        const int32_t around = n->parent < 0 ? -1 : x->resource_of[n->parent];
        x->resource_of[i] = around < 0 || sampi_uri_end(text, length) > 0
                                ? sampi_schema_resource_add(x, i, around, id)
                                : around;
        if (n->kind == SAMPI_JSON_OBJECT && x->roles[i] == SAMPI_ROLE_SCHEMA) sampi_schema_anchors_of(x, i);
    }
    for (int32_t i = 0; i < x->resources.n; i++)
        sampi_schema_anchor_add(x, -1, sampi_schema_resource_at(x, i)->node, sampi_schema_resource_address(x, i),
                         (size_t)sampi_schema_resource_at(x, i)->n);
    while (x->by_anchor.n < 2 * x->anchors.n && !x->status)
        if (!sampi_grammar_table_renew(&x->by_anchor))
            sampi_schema_fail(x, SAMPI_HERE, SAMP_E_NOMEM, "out of memory");
    for (int32_t i = 0; i < x->anchors.n && !x->status; i++) {
        const sampi_anchor *p = (const sampi_anchor *)x->anchors.data + i;
        int32_t *slot = sampi_schema_anchor_slot(x, p->resource, p->name, p->n);
        if (!slot)
            sampi_schema_fail(x, p->node, SAMP_E_RANGE, "too many addresses collide");
        else if (*slot < 0)
            *slot = i;
    }
}

/* Returns the node to which a JSON pointer leads from `node`, or -1. */
static SAMPI_COLD int32_t sampi_schema_json_pointed(sampi_schema *x, int32_t node, const char *at, const char *end)
{
    const sampi_json *doc = &x->doc;
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
            while (i >= 0 && index-- > 0 && (index % 64 || sampi_schema_step(x, node))) i = doc->nodes[i].next;
            node = i;
        } else
            node = sampi_json_member(doc, node, sampi_json_find(doc, token, n));
    }
    return node;
}

/* Decodes the percent escapes of the part behind the #. Returns the length of the result. */
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

/* Returns the schema to which the value of a $ref refers; -1 if there is an error. Each reference is looked up once. */
static SAMPI_COLD int32_t sampi_schema_target(sampi_schema *x, int32_t ref)
{
    char address[SAMPI_URI], place[SAMPI_URI];
    size_t n, n_address;
    int32_t found = x->targets[ref], resource;
    if (found >= 0 || x->status) return x->status ? -1 : found;
    if (sampi_schema_doc(x, ref)->kind != SAMPI_JSON_STRING)
        return sampi_schema_malformed(x, ref, "expected a reference"), -1;
    const char *text = sampi_schema_doc_text(x, sampi_schema_doc(x, ref)->text, &n);
    size_t end = sampi_uri_end(text, n);
    if (n > SAMPI_URI) return sampi_schema_fail(x, ref, SAMP_E_RANGE, "the reference is too long"), -1;
    sampi_schema_find_resources(x);
    if (x->status) return -1;
    resource = x->resource_of[ref];
    if (end > 0) {
        n_address = (size_t)sampi_schema_resource_at(x, resource)->n;
        if (n_address) memcpy(address, sampi_schema_resource_address(x, resource), n_address);
        n_address = sampi_uri_join(address, n_address, text, end);
        found = n_address ? sampi_schema_anchor_find(x, -1, address, n_address) : -1;
        if (found < 0) return sampi_schema_refuse(x, ref, "a schema that is not in this text"), -1;
        resource = x->resource_of[found];
    }
    size_t n_place = end < n ? sampi_uri_decode(text + end + 1, n - end - 1, place) : 0;
    if (n_place > 0 && place[0] != '/')
        found = sampi_schema_anchor_find(x, resource, place, n_place);
    else
        found = sampi_schema_json_pointed(x, sampi_schema_resource_at(x, resource)->node, place, place + n_place);
    if (found < 0 && !x->status)
        sampi_schema_malformed(x, ref, "expected a reference to a schema of this text");
    else if (found >= 0 && sampi_schema_doc(x, found)->kind != SAMPI_JSON_OBJECT &&
             sampi_schema_doc(x, found)->kind > SAMPI_JSON_TRUE)
        sampi_schema_malformed(x, ref, "expected a reference to a schema");
    return x->targets[ref] = x->status ? -1 : found;
}
