/* ---- collections ---- */

static SAMPI_COLD void sampi_push(sampi_schema *x, sampi_vec *vec, int32_t value)
{
    int32_t *room = x->status ? NULL : (int32_t *)sampi_vec_add(vec, sizeof *room, 1);
    if (room)
        *room = value;
    else if (!x->status)
        sampi_schema_fail(x, 0, SAMP_E_NOMEM, "out of memory");
}

static int32_t *sampi_ints(const sampi_vec *vec, int32_t at) { return (int32_t *)sampi_vec_at(vec, 4, at); }

/* The value of a keyword that counts, a whole number and not negative; `absent` if it is not there. What is larger than
   any text counts as INT32_MAX, which is as good as a maximum and refused as a minimum. */
static SAMPI_COLD int32_t sampi_schema_count(sampi_schema *x, int32_t schema, sampi_schema_key key, int32_t absent)
{
    int32_t node = sampi_keyword(x, schema, key);
    size_t n, i = 0;
    int64_t value = 0;
    if (node < 0) return absent;
    const char *text = sampi_doc_text(x, sampi_doc(x, node)->text, &n);
    for (; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        if (value < INT32_MAX) value = value * 10 + (text[i] - '0');
    if (i < n && text[i] == '.')
        for (i++; i < n && text[i] == '0'; i++) {
        }
    if (i < n) return sampi_malformed(x, node, "expected a whole number, not negative"), absent;
    if (value < INT32_MAX) return (int32_t)value;
    if (absent == 0) sampi_schema_fail(x, node, SAMP_E_RANGE, "this bound is too large");
    return INT32_MAX;
}

static unsigned sampi_type_of(const sampi_schema *x, int32_t value)
{
    static const uint8_t types[] = { SAMPI_T_NULL,   SAMPI_T_FALSE, SAMPI_T_TRUE,  SAMPI_T_NUMBER,
                                     SAMPI_T_STRING, SAMPI_T_ARRAY, SAMPI_T_OBJECT };
    return types[sampi_doc(x, value)->kind];
}
