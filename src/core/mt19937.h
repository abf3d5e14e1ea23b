/* ---- a sampler's mt19937 ----
   What draws in llama.cpp's arithmetic (SAMP_RNG_MT19937) has its random source in part 0. All that the core asks of
   that arithmetic is asked here or in the rooms called llama_cpp; where SAMP_NO_MT19937 leaves it out,
   core/no_mt19937.h stands in their place. */

#define SAMPI_RNG_NAMES "philox or mt19937"

/* What speaks against a random source. */
static SAMPI_COLD int sampi_rng_status(samp_rng_kind rng)
{
    return rng == SAMP_RNG_PHILOX || rng == SAMP_RNG_MT19937 ? SAMP_OK : SAMP_E_RANGE;
}

/* Does it compute as llama.cpp does? */
static bool sampi_is_llama_cpp(const sampi_sampler *s) { return s->rng != SAMP_RNG_PHILOX; }

static bool sampi_rng_differs(const sampi_sampler *s, const sampi_sampler *t) { return s->rng != t->rng; }

/* What a kind's samplers need for it. What draws has one, used only under that random source, but there always, since
   samp_set_rng must not allocate; not one that carries an error. */
static size_t sampi_mt_size(sampi_kind kind) { return sampi_traits_of(kind)->draws ? sizeof(sampi_mt) : 0; }

/* Has it a std::mt19937 of its own? */
static bool sampi_has_mt(const sampi_sampler *s) { return sampi_traits_of(s->kind)->draws && s->part_size[0]; }

/* Only if sampi_has_mt. What draws has no other part, so 0 is free for it. */
static sampi_mt *sampi_mt_of(const sampi_sampler *s) { return (sampi_mt *)sampi_part(s, 0); }

/* Back to the seed. One that is not in use is left unseeded, as seeding costs 624 steps. */
static void sampi_begin_mt(sampi_sampler *s)
{
    if (sampi_has_mt(s) && sampi_is_llama_cpp(s)) sampi_mt_seed(sampi_mt_of(s), (uint32_t)s->seed);
}

/* Note where it is, and go back there. */
static void sampi_note_mt(sampi_sampler *s)
{
    if (sampi_has_mt(s)) s->now.drawn = sampi_mt_of(s)->drawn;
}

static void sampi_restore_mt(sampi_sampler *s)
{
    if (sampi_has_mt(s)) sampi_mt_back(sampi_mt_of(s), s->now.drawn, (uint32_t)s->seed);
}

/* s goes on where `old` is, if seed and source are the same. */
static SAMPI_COLD void sampi_take_over_mt(sampi_sampler *s, const sampi_sampler *old)
{
    if (!sampi_has_mt(s) || s->rng != old->rng || s->seed != old->seed) return;
    *sampi_mt_of(s) = *sampi_mt_of(old);
    s->now.drawn = old->now.drawn;
}

/* Which of a kind's two definitions. */
#define sampi_apply_of(traits, is_llama) ((is_llama) ? (traits)->apply_llama : (traits)->apply)
