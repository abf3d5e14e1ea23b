/* ---- the record's parts, and its owners ----
   Functions on one sampler: where its parts (the arrays behind its record) are, how an edit is counted in all chains
   that hold it, its serial number, and how it affects a selection. */

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
static bool sampi_is_custom(const sampi_sampler *s) { return sampi_traits_of(s->kind)->flags & SAMPI_BY_INTERFACE; }

/* sampi_is_clock: is this member the clock of a schedule (a chain that takes part in some draws only)?
   sampi_n_active returns how many members of a chain take part in a draw: all, or 0 for a schedule outside its time. */
#ifdef SAMPLING_CONSTRAINTS_DECLARED
static bool sampi_is_clock(const sampi_sampler *s)
{
    return s->kind == SAMPI_CONSTRAINT && s->u.constraint.what == SAMPI_CONSTRAINT_CLOCK && !s->status;
}
static int32_t sampi_n_active(const sampi_sampler *s)
{
    if (!sampi_is_chain(s)) return 0;
    const sampi_sampler *first = s->u.chain.n ? s->u.chain.item[0] : NULL;
    return first && sampi_is_clock(first) && !sampi_is_time(&first->u.constraint) ? 0 : s->u.chain.n;
}
#else
static bool sampi_is_clock(const sampi_sampler *s)
{
    (void)s;
    return false;
}
static int32_t sampi_n_active(const sampi_sampler *s) { return sampi_is_chain(s) ? s->u.chain.n : 0; }
#endif

/* Does the sampler change nothing, so that a draw may skip it? */
static bool sampi_idles(const sampi_sampler *s) { return s->off || sampi_is_clock(s); }

/* Counts an edit of s, and of all chains that hold it. Every public function that changes what s would draw, or what it
   has accepted, calls this function first; functions that draw or accept call sampi_moves (>>rollback) instead. The
   counts of the chains are atomic, because a batch may use members of one chain in several threads. A GPU's copy of a
   chain is valid as long as the chain's count is the same, so without this call a device would draw with old
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

/* Returns the effect of a sampler on a selection: 1 if it selects a token, 0 if it undoes a selection made before it
   (sampi_run), -1 if it does neither. A chain has the effect of its last member with an effect other than -1. Under
   MT19937 no sampler undoes a selection, except a custom sampler of the library that masks rows (a grammar): behind a
   sampler that selects, it would mask a token that is chosen already. For samplers that are off and for the user's own
   samplers the result is -1. */
static SAMPI_COLD int sampi_effect_on_selection(const sampi_sampler *s, samp_rng_kind rng)
{
    int word = -1;
    for (int32_t i = sampi_is_chain(s) ? s->u.chain.n : 0; word < 0 && i-- > 0;)
        word = sampi_effect_on_selection(s->u.chain.item[i], rng);
    if (sampi_is_chain(s) || s->off || s->status) return word;
    if (sampi_is_custom(s)) return sampi_traits_of(s->kind)->hooks->mask ? 0 : -1;
    if (sampi_traits_of(s->kind)->flags & SAMPI_SELECTS) return 1;
    return rng == SAMP_RNG_PHILOX ? 0 : -1;
}
