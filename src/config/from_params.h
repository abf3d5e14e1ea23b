/* ================================================================================================== >>params
   How parameters become samplers, and samp_params a chain. A constructor, in its sampler's file, writes its arguments
   into a blank record of its kind. sampi_init (core/making.h) checks the record by its fields and the hook `prepare`,
   and moves it to the heap. samp_params fill a record by the same fields and the kind's hook `params`, so
   samp_check_params makes the same checks without the heap.

   A constructor does not report errors. It notes the error in the record. The sampler carries it, and so does the chain
   that the sampler joins. A sampler with an error is never applied.

   This file has the default parameters, and the function that makes the record of one kind from samp_params. Checking
   and building a chain (config/orders.h) both use it. Nothing here allocates memory. */

/* Returns the defaults of all fields. Members that belong to no sampler's fields (seed, order, mirostat, rng) default
   to 0 or NULL. Members that several kinds of samplers share (min_keep, temp) are written once for each kind, with the
   same value. */
SAMP_API SAMPI_COLD samp_params samp_default_params(void)
{
    samp_params p;
    memset(&p, 0, sizeof p);
    for (int kind = 0; kind < SAMPI_N_KINDS; kind++) {
        const sampi_traits *traits = sampi_traits_of((sampi_kind)kind);
        for (size_t i = 0; i < traits->n_fields; i++) {
            const sampi_field *f = &traits->field[i];
            if (f->from != SAMPI_NOWHERE) sampi_field_reset(f, (char *)&p + f->from);
        }
    }
    return p;
}

/* Returns parameters that change nothing, with an order that has all samplers of the default order, because the user
   may switch any of them on later. The default order would leave out samplers that are off. */
SAMP_API SAMPI_COLD samp_params samp_plain_params(void)
{
    samp_params p = samp_default_params();
    p.top_k = 0;
    p.top_p = 1.0f;
    p.min_p = 0.0f;
    p.temp = 1.0f;
    p.order = "penalties;dry;temperature;smoothing_factor;*";
    return p;
}

/* Returns the record of a kind of sampler with the values of the parameters. The record is not checked yet, so only
   sampi_prepare and sampi_is_off may use it. It points to the parameters' lists until sampi_new has copied them. */
static SAMPI_COLD sampi_sampler sampi_from_params(const samp_params *p, sampi_kind kind)
{
    sampi_sampler t = sampi_blank(kind);
    const sampi_traits *traits = sampi_traits_of(kind);
    if (traits->stream) t.seed = p->seed;
    for (size_t i = 0; i < traits->n_fields; i++) {
        const sampi_field *f = &traits->field[i];
        if (f->from != SAMPI_NOWHERE)
            memcpy((char *)&t + f->at, (const char *)p + f->from, f->type == SAMPI_SIZE ? sizeof(size_t) : 4);
    }
    if (traits->hooks->params) traits->hooks->params(&t, p);
    return t;
}

/* Returns the kind of the sampler that selects the token, the last of the chain that sampi_add_members builds. mirostat
   takes precedence over adaptive_target, and adaptive_target over temp, as samp_chain_from_params says. The parameters
   must be valid. */
static SAMPI_COLD sampi_kind sampi_selector_of(const samp_params *p)
{
    if (p->mirostat == 1) return SAMPI_MIROSTAT;
    if (p->mirostat == 2) return SAMPI_MIROSTAT_V2;
    if (p->adaptive_target >= 0.0f) return SAMPI_ADAPTIVE_P;
    return p->temp == 0.0f ? SAMPI_GREEDY : SAMPI_DIST;
}
