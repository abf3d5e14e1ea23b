/* ---- custom ----
   A sampler that the user has written. The library stores its interface (samp_sampler_i) and its context. life/chain.h
   calls the interface's functions and checks the array that they leave. */

/* This is the only constructor that sets iface; other samplers get the built-in interface from sampi_new. The pointer
   is kept, so *iface must outlive the sampler. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_custom(const samp_sampler_i *iface, void *ctx)
{
    sampi_sampler t = sampi_blank(SAMPI_CUSTOM);
    sampi_require(&t, iface && iface->apply, SAMP_E_NULL, iface ? "apply" : "iface");
    t.base.iface = iface;
    t.base.ctx = ctx;
    return sampi_init(&t);
}

/* Copies the random source, position, counts and depth of rollback to a clone that a clone function of the user, or of
   an optional part, has made. */
static SAMPI_COLD samp_sampler *sampi_clone_outside(sampi_sampler *copy, const sampi_sampler *s)
{
    if (!copy) return NULL;
    if (sampi_rng_differs(copy, s)) samp_set_rng(&copy->base, s->rng);
    copy->position = s->position;
    copy->perf = s->perf;
    copy->past.depth = s->past.depth;
    return &copy->base;
}

/* Clones a custom sampler by the user's clone function, if there is one. That function returns a new sampler, to which
   the library copies what the chain has set: otherwise a saved state would not fit the clone. Without a clone function,
   a sampler with ctx NULL is copied with its iface; any other becomes a sampler that carries SAMP_E_UNSUPPORTED. */
static SAMPI_COLD samp_sampler *sampi_clone_custom(const sampi_sampler *s)
{
    const samp_sampler_i *iface = s->base.iface;
    sampi_sampler t = sampi_blank(SAMPI_CUSTOM);
    bool own = !s->status && iface->clone;
    sampi_require(&t, !s->status, s->status, s->field);
    sampi_require(&t, !s->base.ctx, SAMP_E_UNSUPPORTED, "clone");
    if (!t.status) t.base.iface = iface;
    return sampi_clone_outside((sampi_sampler *)(own ? iface->clone(&s->base) : sampi_new(&t)), s);
}

static SAMPI_COLD void sampi_custom_free(sampi_sampler *s)
{
    if (s->base.iface->free) s->base.iface->free(&s->base);
}

SAMPI_HOOKS(CUSTOM, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, sampi_clone_custom, sampi_custom_free, NULL,
            NULL, NULL, NULL, NULL);

#define SAMPI_CUSTOM_ROW \
    "custom", 0, 0, "", 0, SAMPI_NO_FIELDS, NULL, &SAMPI_CUSTOM_HOOKS, NULL, NULL, SAMPI_BY_LLAMA_CPP(NULL)
