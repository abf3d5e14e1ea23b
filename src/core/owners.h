/* ---- the record's parts, and its owners ----
   How a part (an array behind the record) is found, how an edit is counted up through the chains that a sampler is in,
   serial numbers, and what a sampler does to a selection. */

/* Part i, to read or to write: whoever has the sampler has its parts. What is in it is told at the union's members. */
static void *sampi_part(const sampi_sampler *s, int i) { return (char *)(uintptr_t)s + s->part[i]; }

/* Parts begin at multiples of 16, good for all that they hold; the cache of >>kv lays out its block in the same way. */
static size_t sampi_round_up(size_t n) { return (n + 15) & ~(size_t)15; }

/* What has no apply in the table: whoever walks through samplers asks these before it looks one up. Custom is what
   works by its interface: the user's samplers, and those of parts that are made like them. */
static bool sampi_is_chain(const sampi_sampler *s) { return s->kind == SAMPI_CHAIN; }
static bool sampi_is_custom(const sampi_sampler *s) { return sampi_traits_of(s->kind)->flags & SAMPI_BY_INTERFACE; }

/* How many members of a chain take part in a draw: all, but of a schedule whose time it is not none. */
#ifdef SAMPLING_CONSTRAINTS_DECLARED
static bool sampi_is_clock(const sampi_sampler *s)
{
    return s->kind == SAMPI_CONSTRAINT && s->u.limit.what == SAMPI_LIMIT_CLOCK && !s->status;
}
static int32_t sampi_n_at_work(const sampi_sampler *s)
{
    if (!sampi_is_chain(s)) return 0;
    const sampi_sampler *first = s->u.chain.n ? s->u.chain.item[0] : NULL;
    return first && sampi_is_clock(first) && !sampi_is_time(&first->u.limit) ? 0 : s->u.chain.n;
}
#else
static bool sampi_is_clock(const sampi_sampler *s)
{
    (void)s;
    return false;
}
static int32_t sampi_n_at_work(const sampi_sampler *s) { return sampi_is_chain(s) ? s->u.chain.n : 0; }
#endif

/* It changes nothing, and a draw passes it by. */
static bool sampi_idles(const sampi_sampler *s) { return s->off || sampi_is_clock(s); }

/* Every public function that changes what s would draw, or what it has accepted, calls this first; those that draw or
   accept call sampi_moves (>>rollback). s has changed, and so have the chains it is in; these may have members at work
   in several threads of a batch, hence the atomic sum. The GPU's copy of a chain is good for as long as the number
   stays, and so are records; a forgotten call would let it draw from old settings. */
static void sampi_edited(sampi_sampler *s)
{
    s->n_edits++;
    for (s = s->owner; s; s = s->owner) (void)SAMPI_COUNT(&s->n_edits);
}

/* A number that no sampler of this process had before: for each that is made or cloned. An address won't do, for a
   freed sampler's may come again. Atomic, since samplers may be made in several threads. */
static size_t sampi_next_serial(void)
{
    static size_t last;
    return SAMPI_COUNT(&last);
}

/* What it does to a selection: 1: it selects, 0: it ends one (sampi_run), -1: neither. Of a chain the word of its last
   member that has one. Under MT19937 a selection stays, whatever comes (sampi_run); but what masks rows never means to
   mask what is chosen already. What is off, and what the user has written, says nothing. */
static SAMPI_COLD int sampi_last_word(const sampi_sampler *s, samp_rng_kind rng)
{
    int word = -1;
    for (int32_t i = sampi_is_chain(s) ? s->u.chain.n : 0; word < 0 && i-- > 0;)
        word = sampi_last_word(s->u.chain.item[i], rng);
    if (sampi_is_chain(s) || s->off || s->status) return word;
    if (sampi_is_custom(s)) return sampi_traits_of(s->kind)->hooks->mask ? 0 : -1;
    if (sampi_traits_of(s->kind)->flags & SAMPI_SELECTS) return 1;
    return rng == SAMP_RNG_PHILOX ? 0 : -1;
}
