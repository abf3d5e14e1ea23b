/* ---- JSON: documents ----
   sampi_json_read makes a JSON document (an array of nodes) from a text, or reports the place of the first error;
   peers/, schema/ and tags/ call it. The function counts the memory in advance and allocates one block.
   sampi_json_member finds a member of an object by name. */

static SAMPI_COLD void sampi_json_free(sampi_json *doc) { SAMP_FREE(doc->nodes); }

/* Allocates memory for a text's nodes and strings. Every node but the first follows a comma, bracket or brace, and
   every member's name is followed by a colon. So counting these characters gives upper bounds of the numbers of nodes
   and names. */
static SAMPI_COLD int sampi_json_room(sampi_json *doc)
{
    size_t n_nodes = 1, n_names = 0, text_size = 2, name_size = 2;
    for (size_t i = 0; i < doc->n_source; i++) {
        char c = doc->source[i];
        n_nodes += c == ',' || c == '[' || c == '{';
        n_names += c == ':';
    }
    size_t n_strings = n_nodes + n_names;
    while (text_size < 2 * n_strings) text_size *= 2;
    while (name_size < 2 * n_names) name_size *= 2;
    size_t size = n_nodes * sizeof *doc->nodes + n_strings * sizeof *doc->strings;
    size += (text_size + name_size) * sizeof(int32_t) + doc->n_source + 1;
    doc->nodes = (sampi_json_node *)SAMP_MALLOC(size);
    if (!doc->nodes) return sampi_json_fail(doc, 0, SAMP_E_NOMEM, "out of memory");
    doc->strings = (sampi_json_string *)(doc->nodes + n_nodes);
    doc->by_text = (int32_t *)(doc->strings + n_strings);
    doc->by_name = doc->by_text + text_size;
    doc->bytes = (char *)(doc->by_name + name_size);
    memset(doc->by_text, 0xff, (text_size + name_size) * sizeof(int32_t));
    doc->text_mask = (uint32_t)text_size - 1;
    doc->name_mask = (uint32_t)name_size - 1;
    return SAMP_OK;
}

/* Reads a document of n bytes. The text must outlive the document. On an error, *error says
   where in the text it is. Node 0 is the value of the whole text. */
static SAMPI_COLD int sampi_json_read(sampi_json *doc, const char *text, size_t n, samp_text_error *error)
{
    memset(doc, 0, sizeof *doc);
    doc->source = text;
    doc->n_source = n;
    doc->error = error;
    if (n > SAMPI_JSON_BYTES) return sampi_json_fail(doc, 0, SAMP_E_RANGE, "the text is too long");
    int status = sampi_json_room(doc);
    if (status) return status;
    const unsigned char *bytes = (const unsigned char *)text;
    sampi_json_reader r = { doc, bytes, bytes + n, 0, SAMP_OK };
    sampi_json_values(&r);
    sampi_json_space(&r);
    if (!r.status && r.at < r.end) sampi_json_wrong(&r, "expected the end of the text");
    if (r.status) {
        sampi_json_free(doc);
        doc->nodes = NULL;
    }
    return r.status;
}

/* Returns the number of the document's string with these bytes, or -1 if there is no such string. */
static SAMPI_COLD int32_t sampi_json_find(const sampi_json *doc, const char *text, size_t n)
{
    const int32_t *slot = sampi_json_slot(doc, text, n);
    return slot ? *slot : -1;
}

/* Returns the object's member with this name, or -1 if there is none or the node is not an object. */
static SAMPI_COLD int32_t sampi_json_member(const sampi_json *doc, int32_t node, int32_t name)
{
    if (node < 0 || name < 0 || doc->nodes[node].kind != SAMPI_JSON_OBJECT) return -1;
    const int32_t *slot = sampi_json_member_slot(doc, node, name);
    return slot ? *slot : -1;
}
