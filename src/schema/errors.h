/* ---- schemas: errors, and looking up keywords ----
   An error is a JSON pointer to the position in the schema, and a sentence. Only the first error is kept. Work is
   counted here too (sampi_schema_step), so that the time for a schema is bounded. */

/* Writes the path from the root to a node, as a JSON pointer, into text[size]. */
static SAMPI_COLD void sampi_schema_pointer(const sampi_schema *x, int32_t node, char *text, size_t size)
{
    int32_t way[SAMPI_JSON_DEPTH + 1];
    int n_way = 0;
    size_t n = 0;
    for (; sampi_schema_doc(x, node)->parent >= 0; node = sampi_schema_doc(x, node)->parent) way[n_way++] = node;
    while (n_way-- > 0 && n + 12 < size) {
        const sampi_json_node *v = sampi_schema_doc(x, way[n_way]);
        text[n++] = '/';
        if (v->name >= 0) {
            size_t length;
            const char *name = sampi_schema_doc_text(x, v->name, &length);
            for (size_t i = 0; i < length && n + 3 < size; i++) {
                bool escaped = name[i] == '~' || name[i] == '/';
                if (escaped) text[n++] = '~';
                text[n++] = name[i] == '~'                  ? '0'
                            : name[i] == '/'                ? '1'
                            : (unsigned char)name[i] < 0x20 ? '?'
                                                            : name[i];
            }
        } else {
            int32_t index = 0, scale = 1;
            for (int32_t i = sampi_schema_doc(x, v->parent)->first; i != way[n_way]; i = sampi_schema_doc(x, i)->next)
                index++;
            while (scale <= index / 10) scale *= 10;
            for (; scale > 0; scale /= 10) text[n++] = (char)('0' + index / scale % 10);
        }
    }
    text[n] = 0;
}

/* Records the first error, with its position in the schema and its text. Later errors are not recorded. The node
   HERE is the schema whose texts are being made. */
enum { SAMPI_HERE = -1 };
static SAMPI_COLD void sampi_schema_fail(sampi_schema *x, int32_t node, int status, const char *text)
{
    char message[160];
    if (x->status) return;
    if (node == SAMPI_HERE) node = x->here;
    x->status = status;
    const size_t m = strlen(text);
    sampi_schema_pointer(x, node, message, sizeof message - m - 2); /* a long pointer is cut off */
    const size_t n = strlen(message);
    memcpy(message + n, ": ", 2);
    memcpy(message + n + 2, text, m + 1);
    sampi_json_fail(&x->doc, sampi_schema_doc(x, node)->at, status, message);
}

static SAMPI_COLD void sampi_schema_refuse(sampi_schema *x, int32_t node, const char *text)
{
    sampi_schema_fail(x, node, SAMP_E_UNSUPPORTED, text);
}

static SAMPI_COLD void sampi_schema_malformed(sampi_schema *x, int32_t node, const char *text)
{
    sampi_schema_fail(x, node, SAMP_E_FORMAT, text);
}

/* Returns the node of a keyword's value in a schema; -1 if the schema does not have the keyword, or if the value's type
   is wrong, which is an error. Up to draft 7, keywords beside a $ref are ignored. */
static SAMPI_COLD int32_t sampi_schema_keyword(sampi_schema *x, int32_t schema, sampi_schema_key key)
{
#define SAMPI_SCHEMA_MAY_BE(key, name, value) SAMPI_VALUE_##value,
    static const uint8_t may_be[] = { SAMPI_SCHEMA_KEYS(SAMPI_SCHEMA_MAY_BE) };
#undef SAMPI_SCHEMA_MAY_BE
    if (x->draft < 8 && key != SAMPI_KEY_REF && sampi_json_member(&x->doc, schema, x->key[SAMPI_KEY_REF]) >= 0)
        return -1;
    int32_t node = sampi_json_member(&x->doc, schema, x->key[key]);
    if (node < 0 || may_be[key] >> sampi_schema_doc(x, node)->kind & 1) return node;
#define SAMPI_SCHEMA_EXPECTED(value, kinds, text) \
    if (may_be[key] == SAMPI_VALUE_##value) sampi_schema_malformed(x, node, "expected " text);
    SAMPI_SCHEMA_VALUES(SAMPI_SCHEMA_EXPECTED)
#undef SAMPI_SCHEMA_EXPECTED
    return -1;
}

/* Returns the number of the string that is the node, an element of a list of names (member text of sampi_json_node);
   -1, with an error, if the node is not a string. */
static SAMPI_COLD int32_t sampi_schema_string_of(sampi_schema *x, int32_t node)
{
    if (sampi_schema_doc(x, node)->kind == SAMPI_JSON_STRING) return sampi_schema_doc(x, node)->text;
    sampi_schema_malformed(x, node, "expected a name");
    return -1;
}

/* Turns an error of the tree into an error of the schema. */
static SAMPI_COLD void sampi_schema_check(sampi_schema *x, int status)
{
    if (status < 0)
        sampi_schema_fail(x, SAMPI_HERE, status,
                          status == SAMP_E_NOMEM ? "out of memory" : "the grammar becomes too large");
}

/* Counts a step of work. Returns false if there are too many steps, or if an error was recorded before. */
static SAMPI_COLD bool sampi_schema_step(sampi_schema *x, int32_t node)
{
    if (!x->status && --x->steps < 0)
        sampi_schema_fail(x, node, SAMP_E_RANGE, "too many combinations of anyOf, oneOf, not and the like");
    return !x->status;
}

/* Counts n units of work; 16 units are one step. A unit is about one look-up of a node, or 64 bytes. Returns false as
   sampi_schema_step does. */
static SAMPI_COLD bool sampi_schema_work(sampi_schema *x, int32_t node, size_t n)
{
    enum { STEP = 16 };
    SAMPI_COUNT_STEPS(n);
    while (n > STEP && sampi_schema_step(x, node)) n -= STEP;
    if (x->status || (x->spare -= (int32_t)n) >= 0) return !x->status;
    x->spare += STEP;
    return sampi_schema_step(x, node);
}
