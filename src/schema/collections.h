/* ---- schemas: lists of numbers ----
   A list that grows, in the record of the schema under work (sampi_schema): out of memory is its error, and what
   follows does nothing. */

static SAMPI_COLD void sampi_push(sampi_schema *x, sampi_vec *vec, int32_t value)
{
    int32_t *room = x->status ? NULL : (int32_t *)sampi_vec_add(vec, sizeof *room, 1);
    if (room)
        *room = value;
    else if (!x->status)
        sampi_schema_fail(x, 0, SAMP_E_NOMEM, "out of memory");
}

static int32_t *sampi_ints(const sampi_vec *vec, int32_t at) { return (int32_t *)sampi_vec_at(vec, 4, at); }

static unsigned sampi_type_of(const sampi_schema *x, int32_t value)
{
    static const uint8_t types[] = { SAMPI_T_NULL,   SAMPI_T_FALSE, SAMPI_T_TRUE,  SAMPI_T_NUMBER,
                                     SAMPI_T_STRING, SAMPI_T_ARRAY, SAMPI_T_OBJECT };
    return types[sampi_doc(x, value)->kind];
}
