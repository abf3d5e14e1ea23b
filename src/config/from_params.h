/* ================================================================================================== >>params
   Samplers from their numbers, and chains from samp_params. A constructor stands in its sampler's room. It writes its
   arguments into a blank record of its kind; sampi_init (core/making.h) checks the record by its fields and the hook
   `prepare`, and moves it to the heap. From parameters a record is filled by the same fields and the hook `params`, so
   samp_check_params asks the same questions without the heap.

   The one thing to know: a constructor reports no error. It notes the error in the record, the sampler made of it
   carries it, and the chain that the sampler joins carries it too; what carries an error is never applied.

   In this room: the default parameters, and from samp_params, a flat struct, to the record of one kind. Checking and
   building (config/orders.h) both call that. Nothing here takes memory. */

/* The defaults of all fields. All that is no field of a sampler is 0 or NULL, which is its default: the seed, the
   order, mirostat, Philox. Fields of several kinds (min_keep, temp) are written several times, with the same
   value. */
SAMP_API SAMPI_COLD samp_params samp_default_params(void)
{
    samp_params p;
    memset(&p, 0, sizeof p);
    for (int kind = 0; kind < SAMPI_N_KINDS; kind++) {
        const sampi_traits *traits = sampi_traits_of((sampi_kind)kind);
        for (const sampi_field *f = traits->field, *end = f + traits->n_fields; f < end; f++)
            if (f->from != SAMPI_NOWHERE) sampi_field_reset(f, (char *)&p + f->from);
    }
    return p;
}

/* What is off has no part in the order, which has to name what may be switched on later. */
SAMP_API SAMPI_COLD samp_params samp_plain_params(void)
{
    samp_params p = samp_default_params();
    p.top_k = 0;
    p.top_p = 1.0f;
    p.min_p = 0.0f;
    p.temp = 1.0f;
    p.order = "penalties;dry;temperature;smoothing_factor;top_n_sigma;top_k;tfs_z;typ_p;top_p;min_p;top_a;p_less;"
              "p_less_norm;epsilon_cutoff;eta_cutoff;top_h;min_k;xtc";
    return p;
}

/* The record of a kind, as the parameters have it: not yet checked, so that nobody may use it but sampi_prepare
   and sampi_is_off. Lists of the parameters are borrowed until sampi_new has copied them. For samp_check_params,
   for each step of a chain, and for the default order, which asks what is on. */
static SAMPI_COLD sampi_sampler sampi_from_params(const samp_params *p, sampi_kind kind)
{
    sampi_sampler t = sampi_blank(kind);
    const sampi_traits *traits = sampi_traits_of(kind);
    if (traits->draws) t.seed = p->seed;
    for (const sampi_field *f = traits->field, *end = f + traits->n_fields; f < end; f++)
        if (f->from != SAMPI_NOWHERE) memcpy((char *)&t + f->at, (const char *)p + f->from, sampi_field_bytes(f));
    if (traits->hooks->params) traits->hooks->params(&t, p);
    return t;
}

/* What selects the token, at the end of the chain that sampi_add_steps builds. Mirostat goes before adaptive_p,
   and that before temp: so samp_chain_from_params promises it. For good parameters only. */
static SAMPI_COLD sampi_kind sampi_selector_of(const samp_params *p)
{
    if (p->mirostat == 1) return SAMPI_MIROSTAT;
    if (p->mirostat == 2) return SAMPI_MIROSTAT_V2;
    if (p->adaptive_target >= 0.0f) return SAMPI_ADAPTIVE_P;
    return p->temp == 0.0f ? SAMPI_GREEDY : SAMPI_DIST;
}
