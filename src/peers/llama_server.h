/* ---- requests: llama-server's `samplers` ----
   Reads llama-server's field `samplers`. A list of names or a text of letters becomes samp_params.order. Names may be
   in upper or lower case, with `-` or nothing in place of `_`, and in their other forms (temp, nucleus, typ). Unknown
   names are dropped, as llama-server drops them. */

static SAMPI_COLD char sampi_request_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c; }

/* Is a name of n bytes, in any case, the name `sampler` with each _ replaced by `instead` (0: left out)? */
static SAMPI_COLD bool sampi_request_is_sampler(const char *name, size_t n, const char *sampler, char instead)
{
    size_t i = 0;
    for (; *sampler; sampler++) {
        char c = *sampler == '_' ? instead : *sampler;
        if (c && (i == n || sampi_request_lower(name[i++]) != c)) return false;
    }
    return i == n;
}

/* Returns this library's name for a sampler of llama-server, given by its name or letter. Returns NULL if it is
   unknown, and then it is dropped. */
static SAMPI_COLD const char *sampi_request_sampler_of(const char *name, size_t n, char letter)
{
    static const char *const names[] = { "penalties",  "dry",     "top_n_sigma", "top_k",       "typ_p",
                                         "top_p",      "min_p",   "xtc",         "temperature", "infill",
                                         "adaptive_p", "nucleus", "temp",        "typ" };
    static const char letters[] = "edskypmxtiapty", instead[] = { '_', '-', 0 };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (size_t k = 0; k < sizeof instead; k++)
            if (name && sampi_request_is_sampler(name, n, names[i], instead[k])) letter = letters[i];
    const char *found = letter ? strchr(letters, letter) : NULL;
    return found ? names[found - letters] : NULL;
}

/* Appends a sampler to an order that has room for it. adaptive_p is not added, because it selects a token; the flag
   `adaptive` is set instead. */
static SAMPI_COLD void sampi_request_add_sampler(sampi_request_reader *reader, char *order, const char *sampler)
{
    size_t n = strlen(order);
    if (!strcmp(sampler, "adaptive_p")) {
        reader->adaptive = true;
    } else {
        if (n) order[n++] = ';';
        memcpy(order + n, sampler, strlen(sampler) + 1);
    }
}

/* Reads llama-server's samplers, and sets the order. Other types of values are ignored, as llama-server ignores
   them. */
static SAMPI_COLD int sampi_request_order(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    enum { NAME = 12, MOST = 64 }; /* the bytes of a name with its semicolon, and the largest number of samplers */
    char order[NAME * MOST + 1] = "";
    const sampi_json_node *v = sampi_request_node(reader, node);
    const bool letters = v->kind == SAMPI_JSON_STRING;
    size_t n = 0, n_samplers = 0, i = 0;
    const char *text = letters ? sampi_request_text(reader, v->text, &n) : NULL;
    if (!letters && v->kind != SAMPI_JSON_ARRAY) return SAMP_OK; /* treated as if the field were absent */
    for (int32_t entry = v->first; letters ? i < n : entry >= 0; i++) {
        const sampi_json_node *e = sampi_request_node(reader, letters ? node : entry);
        if (e->kind != SAMPI_JSON_STRING) return sampi_request_bad(reader, entry, SAMP_E_FORMAT);
        if (!letters) text = sampi_request_text(reader, e->text, &n);
        const char *sampler = sampi_request_sampler_of(letters ? NULL : text, n, letters ? text[i] : 0);
        if (!letters) entry = e->next;
        if (!sampler) continue;
        if (n_samplers++ == MOST) return sampi_request_bad(reader, node, SAMP_E_RANGE);
        sampi_request_add_sampler(reader, order, sampler);
    }
    (void)f;
    int status = samp_settings_set(reader->to, "order", order, NULL);
    return status ? sampi_request_bad(reader, node, status) : SAMP_OK;
}
