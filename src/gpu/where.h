/* ---- where a chain runs ----
   sampi_gpu_find_route takes a chain and returns a route: how many of its samplers run on the device, and why the
   others do not. samp_gpu_plan writes a route as text. A route is found again for each row that is not kept on the
   device, and where a row stops or continues, so it need not be stored. The functions write only the route, and send
   nothing. */

enum { SAMPI_GPU_CHAIN = 64 };

/* What one walk over a chain finds out about it, and where its samplers run. */
typedef struct sampi_gpu_route {
    uint64_t checked;    /* bit i: list[i] is followed by a sampler that is off, which still looks for NaN */
    int n, n_device;     /* number of samplers in the list; the first n_device run on the device */
    const char *why;     /* why the others do not */
    int status;          /* what samp_status returns for the chain */
    bool llama, crowded; /* a sampler of the chain uses MT19937; it has too many samplers */
    bool moves;          /* tokens change a sampler in a way that the device cannot follow */
    bool custom, draws;  /* a sampler of the chain is the user's; one draws */
    int n_listeners;     /* number of samplers that must accept the token; more if chains are among them */
    sampi_sampler *listener[SAMPI_GPU_LISTENERS];
    int n_patchers;                       /* samplers that change single logits */
    sampi_sampler *patcher;               /* the last of these */
    sampi_sampler *list[SAMPI_GPU_CHAIN]; /* the chain's active samplers, in order; last member, because it
                                             is not cleared */
} sampi_gpu_route;

/* Walks over a chain, and adds what it finds to the route. find_route calls it, and it calls itself for chains within
   the chain, whose members become the row's. A sampler that is off does nothing, but on the CPU it looks for NaN, which
   a user's sampler before it may have left: `checked` records that. The first error on the way is the row's. */
static void sampi_gpu_flatten(sampi_sampler *s, sampi_gpu_route *r)
{
    if (!r->status) r->status = s->status;
    r->llama |= s->rng != SAMP_RNG_PHILOX;
    if (sampi_is_chain(s) && s->owner) r->n_listeners += SAMPI_GPU_LISTENERS + 1;
    int32_t n = sampi_n_active(s);
    if (sampi_is_chain(s) &&
        n < s->u.chain.n) { /* a schedule that waits runs only its clock, for which the device has no step */
        r->draws |= sampi_life_draws(s);
        r->custom |= sampi_row_has_custom(s);
        n = 1;
    }
    for (int32_t i = 0; i < n; i++) sampi_gpu_flatten(s->u.chain.item[i], r);
    if (sampi_is_chain(s)) return;
    r->custom |= sampi_is_custom(s);
    if (s->off) {
        if (r->n) r->checked |= (uint64_t)1 << (r->n - 1);
        return;
    }
    r->draws |= sampi_traits_of(s->kind)->stream != 0;
    if (sampi_traits_of(s->kind)->hooks->accept)
        r->moves |= !(sampi_gpu_flags(s) & SAMPI_PATCHES) && s->kind != SAMPI_ADAPTIVE_P;
    /* a sampler that is off accepts no token, as in sampi_life_accept */
    if (sampi_traits_of(s->kind)->hooks->accept && r->n_listeners++ < SAMPI_GPU_LISTENERS)
        r->listener[r->n_listeners - 1] = s;
    if (sampi_gpu_patches(s)) {
        r->patcher = s;
        r->n_patchers++;
    }
    r->crowded |= r->n == SAMPI_GPU_CHAIN;
    if (r->n < SAMPI_GPU_CHAIN) r->list[r->n++] = s;
}

/* Whether a sampler can run on the device. A built-in sampler can if the device has code for its kind. A user's sampler
   can only with apply_gpu, and only after a sampler that leaves no masked tokens: on the CPU its apply could see them,
   on the device there are none. */
static bool sampi_gpu_can(const sampi_gpu_route *r, int at)
{
    if (!sampi_is_custom(r->list[at])) return sampi_gpu_has_step(r->list[at]);
    int i = at;
    while (i > 0 && (sampi_gpu_masks_none(r->list[i - 1]) || sampi_is_custom(r->list[i - 1]))) i--;
    return r->list[at]->base.iface->apply_gpu && i > 0 && sampi_gpu_removes(r->list[i - 1]);
}

/* Returns 1 + the index of the first user's sampler among those that run on the device; 0 if there is none. If the
   chain does not run on the device as a whole, the device's part ends before it: a chain stops for users' samplers or
   exports, never both. */
static int sampi_gpu_users_before(const sampi_gpu_route *r)
{
    for (int i = 0; i < r->n_device; i++)
        if (sampi_is_custom(r->list[i])) return i + 1;
    return 0;
}

/* Returns how many of the first n samplers leave the same array of remaining tokens on the device as on the CPU: up to
   the last one that removes tokens, and those after it that mask none. Others leave masked tokens where the device has
   none, and the samplers that continue on the CPU might see the difference. They might also see whether ties or a curve
   have put smoothing's or log_softmax's tokens out of order. 0: the whole chain runs on the CPU. */
static int sampi_gpu_clean_part(const sampi_gpu_route *r, int n)
{
    const unsigned keep_order = SAMPI_ONLY_EDITS | SAMPI_BY_CHANCE | SAMPI_ONLY_SHOWS;
    for (int i = 0; i < n; i++)
        if (sampi_gpu_masks_none(r->list[i]) && !(sampi_gpu_flags(r->list[i]) & keep_order)) n = i;
    for (; n > 0; n--) {
        int i = n;
        while (i > 0 && sampi_gpu_masks_none(r->list[i - 1])) i--;
        if (i > 0 && sampi_gpu_removes(r->list[i - 1])) return n;
    }
    return 0;
}

/* Returns why no sampler of a chain can run on the device; NULL if some may. find_route stops early by it; the plan's
   text has it. */
static const char *sampi_gpu_why_not(const samp_gpu *gpu, const sampi_gpu_route *r)
{
    if (gpu->mode == SAMPI_GPU_ON_CPU) return "no device";
    if (gpu->why[0]) return gpu->why;
    if (r->llama) return "llama.cpp's arithmetic";
    return r->crowded ? "too many samplers" : NULL;
}

/* Finds where each sampler of a chain runs: on the device if all can; otherwise the first ones there, up to where the
   remaining tokens are exactly the CPU's array. Users' samplers are called on the device only if the whole chain is
   there. It is called for a row whose chain the device has not kept (divide), for one that stops or continues
   (call_user, commit_row), and for a plan's text. The answer must be the same each time, so no thread may change a
   chain while its batch runs. */
static void sampi_gpu_find_route(const samp_gpu *gpu, sampi_sampler *s, sampi_gpu_route *r)
{
    bool selects = false;
    memset(r, 0, offsetof(sampi_gpu_route, list)); /* all but the list is zeroed, as n says how much of the
                                                      list is valid */
    sampi_gpu_flatten(s, r);
    r->why = sampi_gpu_why_not(gpu, r);
    if (r->why) return;
    while (r->n_device < r->n && !selects && sampi_gpu_can(r, r->n_device))
        selects = sampi_gpu_flags(r->list[r->n_device++]) & SAMPI_SELECTS;
    /* a user's sampler that is last in the chain must choose; judge_user checks that */
    if (r->n_device == r->n && r->n && sampi_is_custom(r->list[r->n - 1])) selects = true; /* by its own word */
    if (r->n_device == r->n) {
        if (!selects) r->why = "no sampler selects";
        if (selects && r->n > SAMPI_STEPS) r->why = "too many samplers";
        if (r->why) r->n_device = 0;
        return;
    }
    if (selects) {
        r->why = "a sampler behind the selection";
        r->n_device = 0;
        return;
    }
    const sampi_sampler *stops = r->list[r->n_device];
    r->why = sampi_traits_of(stops->kind)->hooks->mask ? "a grammar"
             : sampi_is_custom(stops)                  ? "a sampler of your own"
                                                       : "not on the device";
    const sampi_kind last = r->list[r->n - 1]->kind;
    if (last == SAMPI_RAS || last == SAMPI_REPLAY) r->n_device = 0; /* ras may draw from the row once more */
    const int user = sampi_gpu_users_before(r);
    /* the chain does not run on the device as a whole, so its users' samplers do not either */
    if (user) r->n_device = user - 1;
    if (r->n_device > SAMPI_STEPS - 1) r->n_device = SAMPI_STEPS - 1; /* one step is the export */
    r->n_device = sampi_gpu_clean_part(r, r->n_device);
}

/* Writes the route as text: the samplers on the device, then the others with the reason. A chain without samplers has
   only a reason. */
SAMP_API int samp_gpu_plan(const samp_gpu *gpu, const samp_sampler *chain, char *buf, size_t size)
{
    sampi_gpu_route r;
    sampi_text t = { buf, size, 0 };
    if (!gpu || !chain || (!buf && size)) return SAMP_E_NULL;
    sampi_gpu_find_route(gpu, (sampi_sampler *)(uintptr_t)chain, &r);
    for (int i = 0; i < r.n; i++) {
        if (i == 0 && r.n_device) sampi_put(&t, "device: ");
        if (i == r.n_device) {
            sampi_put(&t, r.n_device ? "; cpu (" : "cpu (");
            sampi_put(&t, r.why);
            sampi_put(&t, "): ");
        }
        if (i > 0 && i != r.n_device) sampi_put(&t, " -> ");
        sampi_put(&t, samp_name(&r.list[i]->base));
    }
    if (r.n == 0) {
        sampi_put(&t, "cpu (");
        sampi_put(&t, r.why);
        sampi_put(&t, ")");
    }
    if (size) buf[t.len < size ? t.len : size - 1] = 0;
    return (int)t.len;
}
