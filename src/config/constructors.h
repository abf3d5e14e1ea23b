/* ---- constructors ----
   samp_init_top_k and all others of api/samplers.h and api/gumbel.h. Each takes a blank record, writes its arguments
   into it, and calls sampi_init (core/making.h). A constructor reads its arguments and nothing else. Bad arguments
   never make it fail: the sampler carries the error. NULL means "no memory". The caller owns the sampler until a chain
   takes it. Chains from parameters do not use these functions: sampi_from_params fills the same records. */

/* xtc, and what has no number but the seed. That is no field of the kind: it stands in the record itself, as for all
   that draw. */
static SAMPI_COLD samp_sampler *sampi_init_drawing(sampi_kind kind, float p, float threshold, size_t min_keep,
                                                   uint64_t seed)
{
    sampi_sampler t = sampi_blank(kind);
    t.u.xtc.p = p;
    t.u.xtc.t = threshold;
    t.u.xtc.min_keep = min_keep;
    t.seed = seed;
    return sampi_init(&t);
}
static SAMPI_COLD samp_sampler *sampi_init_temp(sampi_kind kind, float temp, float delta, float exponent)
{
    sampi_sampler t = sampi_blank(kind);
    t.u.temp.t = temp;
    t.u.temp.delta = delta;
    t.u.temp.exponent = exponent;
    return sampi_init(&t);
}

/* A kind of its own beside temp_ext, so that samp_describe tells what the user has made. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_temp(float temp) { return sampi_init_temp(SAMPI_TEMP, temp, 0.0f, 1.0f); }
SAMP_API SAMPI_COLD samp_sampler *samp_init_temp_ext(float temp, float delta, float exponent)
{
    return sampi_init_temp(SAMPI_TEMP_EXT, temp, delta, exponent);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_smoothing(float factor, float curve)
{
    sampi_sampler t = sampi_blank(SAMPI_SMOOTHING);
    t.u.smoothing.factor = factor;
    t.u.smoothing.curve = curve;
    return sampi_init(&t);
}

/* These have no numbers: their records are blank, and so but for the seed are those of the next two. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_softmax(void) { return sampi_init_cut(SAMPI_SOFTMAX, 0.0f, 0); }
SAMP_API SAMPI_COLD samp_sampler *samp_init_log_softmax(void) { return sampi_init_cut(SAMPI_LOG_SOFTMAX, 0.0f, 0); }
SAMP_API SAMPI_COLD samp_sampler *samp_init_greedy(void) { return sampi_init_cut(SAMPI_GREEDY, 0.0f, 0); }

SAMP_API SAMPI_COLD samp_sampler *samp_init_dist(uint64_t seed)
{
    return sampi_init_drawing(SAMPI_DIST, 0.0f, 0.0f, 0, seed);
}
#ifdef SAMPLING_GUMBEL_DECLARED
SAMP_API SAMPI_COLD samp_sampler *samp_init_gumbel(uint64_t seed)
{
    return sampi_init_drawing(SAMPI_GUMBEL, 0.0f, 0.0f, 0, seed);
}
#endif

/* Version 2 has the same record; n_vocab and m stay 0, and only the fingerprint has them. */
static SAMPI_COLD samp_sampler *sampi_init_mirostat(sampi_kind kind, int32_t n_vocab, uint64_t seed, float tau,
                                                    float eta, int32_t m)
{
    sampi_sampler t = sampi_blank(kind);
    t.u.mirostat.n_vocab = n_vocab;
    t.u.mirostat.m = m;
    t.u.mirostat.tau = tau;
    t.u.mirostat.eta = eta;
    t.seed = seed;
    return sampi_init(&t);
}

/* The only way to another m than 100, which samp_params has not. n_vocab is a number of the formula, not a bound
   on ids. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_mirostat(int32_t n_vocab, uint64_t seed, float tau, float eta, int32_t m)
{
    return sampi_init_mirostat(SAMPI_MIROSTAT, n_vocab, seed, tau, eta, m);
}
SAMP_API SAMPI_COLD samp_sampler *samp_init_mirostat_v2(uint64_t seed, float tau, float eta)
{
    return sampi_init_mirostat(SAMPI_MIROSTAT_V2, 0, seed, tau, eta, 0);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_adaptive_p(float target, float decay, uint64_t seed)
{
    sampi_sampler t = sampi_blank(SAMPI_ADAPTIVE_P);
    t.u.adaptive.target = target;
    t.u.adaptive.decay = decay;
    t.seed = seed;
    return sampi_init(&t);
}

/* The only constructor that sets iface; sampi_new gives what has none the built-in one. The interface's contents
   are not copied: *iface is the caller's, and must stay. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_custom(const samp_sampler_i *iface, void *ctx)
{
    sampi_sampler t = sampi_blank(SAMPI_CUSTOM);
    sampi_require(&t, iface && iface->apply, SAMP_E_NULL, iface ? "apply" : "iface");
    t.base.iface = iface;
    t.base.ctx = ctx;
    return sampi_init(&t);
}
