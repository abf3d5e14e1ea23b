/* ---- the record's parts, and its owners ----
   Functions on one sampler: where its parts are, how an edit is counted in all chains that hold it, its serial number,
   and how it affects a selection. */

/* Returns part i of a sampler, an array behind its record, to read or to write. The comments on the record's union say
   what each part holds. */
static void *sampi_part(const sampi_sampler *s, int i) { return (char *)(uintptr_t)s + s->part[i]; }

/* Returns n rounded up to a multiple of 16. Parts begin at such multiples, which are aligned enough for every type in
   them. The cache of >>kv lays out its block in the same way. */
static size_t sampi_round_up(size_t n) { return (n + 15) & ~(size_t)15; }

/* Chains and custom samplers have no apply function in the table of kinds. A custom sampler works through its
   interface, samp_sampler_i: the user's own samplers do, and those samplers of the optional parts that are made in the
   same way. A loop over samplers checks both before it looks up an apply function. */
static bool sampi_is_chain(const sampi_sampler *s) { return s->kind == SAMPI_CHAIN; }
static bool sampi_is_custom(const sampi_sampler *s)
{
    return !sampi_is_chain(s) && !sampi_traits_of(s->kind)->apply;
}

/* Is this member the clock of a schedule, a chain that takes part in some draws only? */
static bool sampi_is_clock(const sampi_sampler *s)
{
    const sampi_hooks *hooks = sampi_traits_of(s->kind)->hooks;
    return hooks->clock && hooks->clock(s) >= 0;
}

/* Returns how many members of a chain take part in a draw: all, or 0 for a schedule outside its time. */
static int32_t sampi_n_active(const sampi_sampler *s)
{
    if (!sampi_is_chain(s) || s->u.chain.n == 0) return 0;
    const sampi_sampler *first = s->u.chain.item[0];
    const sampi_hooks *hooks = sampi_traits_of(first->kind)->hooks;
    return hooks->clock && hooks->clock(first) == 0 ? 0 : s->u.chain.n;
}

/* Does the sampler change nothing, so that a draw may skip it? */
static bool sampi_idles(const sampi_sampler *s) { return s->off || sampi_is_clock(s); }

/* Counts an edit of s, and of all chains that hold it. Every public function that changes what s would draw, or what it
   has accepted, calls this function first; functions that draw or accept call sampi_life_moves (>>rollback) instead.
   The counts of the chains are atomic, because a batch may use members of one chain in several threads. A GPU's copy
   of a chain is valid as long as the chain's count is the same, so without this call a device would draw with old
   settings. */
static void sampi_edited(sampi_sampler *s)
{
    s->n_edits++;
    for (s = s->owner; s; s = s->owner) (void)SAMPI_COUNT(&s->n_edits);
}

/* Returns a number that no sampler of this process has had before; each sampler that is made or cloned gets one. An
   address would not do, because a new sampler may get a freed sampler's address. The counter is atomic, because several
   threads may make samplers. */
static size_t sampi_next_serial(void)
{
    static size_t last;
    return SAMPI_COUNT(&last);
}

/* The effect of a sampler on a selection: it selects a token, it undoes a selection made before it (sampi_life_run),
   or it does neither. */
typedef enum sampi_effect { SAMPI_NO_EFFECT, SAMPI_UNDOES, SAMPI_CHOOSES } sampi_effect;

/* Returns the effect of a sampler. A chain has that of its last member that has one. Under MT19937 no sampler undoes a
   selection, except a custom sampler of the library that masks rows (a grammar): behind a sampler that selects, it
   would mask a token that is chosen already. Samplers that are off and the user's own samplers have no effect. */
static SAMPI_COLD sampi_effect sampi_effect_on_selection(const sampi_sampler *s, samp_rng_kind rng)
{
    sampi_effect effect = SAMPI_NO_EFFECT;
    for (int32_t i = sampi_is_chain(s) ? s->u.chain.n : 0; !effect && i-- > 0;)
        effect = sampi_effect_on_selection(s->u.chain.item[i], rng);
    if (sampi_is_chain(s) || s->off || s->status) return effect;
    if (sampi_is_custom(s)) return sampi_traits_of(s->kind)->hooks->mask ? SAMPI_UNDOES : SAMPI_NO_EFFECT;
    if (sampi_traits_of(s->kind)->flags & SAMPI_SELECTS) return SAMPI_CHOOSES;
    return rng == SAMP_RNG_PHILOX ? SAMPI_UNDOES : SAMPI_NO_EFFECT;
}
