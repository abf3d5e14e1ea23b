/* ---- from parameters to records ----
   samp_params is a flat struct; each sampler has a record of its own. The table of fields (core/fields.h) says which
   number goes where. sampi_from_params fills the record of one kind, and knows the few settings that are not numbers.
   Checking and building (config/orders.h) both call it. The room also has the default parameters. Nothing here takes
   memory. */

/* The defaults of the table. All that is no field of a sampler is 0 or NULL, which is its default: the seed, the
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
              "epsilon_cutoff;eta_cutoff;top_h;min_k;xtc";
    return p;
}

/* The record of a kind, as the parameters have it: not yet checked, so that nobody may use it but sampi_prepare
   and sampi_is_off. Lists of the parameters are borrowed until sampi_new has copied them. For samp_check_params,
   for each step of a chain, and for the default order, which asks what is on. */
static SAMPI_COLD sampi_sampler sampi_from_params(const samp_params *p, sampi_kind kind)
{
    static const char *const usual_breakers[] = { "\n", ":", "\"", "*" };
    sampi_sampler t = sampi_blank(kind);
    const sampi_traits *traits = sampi_traits_of(kind);
    if (traits->draws) t.seed = p->seed;
    for (const sampi_field *f = traits->field, *end = f + traits->n_fields; f < end; f++)
        if (f->from != SAMPI_NOWHERE) memcpy((char *)&t + f->at, (const char *)p + f->from, sampi_field_bytes(f));
    switch (kind) { /* what is not a number */
        case SAMPI_LOGIT_BIAS: t.u.bias.from = p->logit_bias; break;
        case SAMPI_PENALTIES:
            if (p->penalty_last_n == -1) t.u.penalties.last_n = p->n_ctx_train;
            break;
        case SAMPI_DRY:
            t.u.dry.vocab = p->vocab;
            t.u.dry.from = p->dry_breakers ? p->dry_breakers : usual_breakers;
            if (!p->dry_breakers) t.u.dry.n_from = 4;
            while (p->dry_breakers && p->dry_breakers[t.u.dry.n_from]) t.u.dry.n_from++;
            break;
        case SAMPI_INFILL: t.u.infill.vocab = p->vocab; break;
        default: break;
    }
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
