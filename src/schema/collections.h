/* ---- schemas: lists of numbers ----
   Functions for growing lists of int32_t in the schema's struct (sampi_schema). If memory runs out, this becomes the
   schema's error, and later calls do nothing. */

static SAMPI_COLD void sampi_schema_push(sampi_schema *x, sampi_vec *vec, int32_t value)
{
    int32_t *room = x->status ? NULL : (int32_t *)sampi_grammar_vec_add(vec, sizeof *room, 1);
    if (room)
        *room = value;
    else if (!x->status)
        sampi_schema_fail(x, SAMPI_HERE, SAMP_E_NOMEM, "out of memory");
}

static int32_t *sampi_schema_ints(const sampi_vec *vec, int32_t at)
{
    return (int32_t *)sampi_grammar_vec_at(vec, 4, at);
}

static unsigned sampi_schema_type_of(const sampi_schema *x, int32_t value)
{
    static const uint8_t types[] = { SAMPI_T_NULL,   SAMPI_T_FALSE, SAMPI_T_TRUE,  SAMPI_T_NUMBER,
                                     SAMPI_T_STRING, SAMPI_T_ARRAY, SAMPI_T_OBJECT };
    return types[sampi_schema_doc(x, value)->kind];
}

/* Returns child number i of an array of the document, or -1. The first call for an array makes a list of all its
   children. */
static SAMPI_COLD int32_t sampi_schema_doc_child(sampi_schema *x, int32_t array, int32_t i)
{
    if (i < 0 || i >= sampi_schema_doc(x, array)->n) return -1;
    if (!x->children[array]) {
        x->children[array] = x->arena.n + 1;
        for (int32_t k = sampi_schema_doc(x, array)->first; k >= 0; k = sampi_schema_doc(x, k)->next)
            sampi_schema_push(x, &x->arena, k);
    }
    return x->status ? -1 : *sampi_schema_ints(&x->arena, x->children[array] - 1 + i);
}
