/* ---- a sampler's mt19937 ----
   The random source of samplers that draw in llama.cpp's arithmetic (SAMP_RNG_MT19937); its state is the sampler's part
   0. The core calls that arithmetic only through this room and the rooms called llama_cpp. With SAMP_NO_MT19937,
   core/no_mt19937.h takes their place. */

#define SAMPI_RNG_NAMES "philox or mt19937"

/* Returns SAMP_OK if the random source exists, else SAMP_E_RANGE. */
static SAMPI_COLD int sampi_rng_status(samp_rng_kind rng)
{
    return rng == SAMP_RNG_PHILOX || rng == SAMP_RNG_MT19937 ? SAMP_OK : SAMP_E_RANGE;
}

/* Does the sampler compute as llama.cpp does? */
static bool sampi_is_llama_cpp(const sampi_sampler *s) { return s->rng != SAMP_RNG_PHILOX; }

static bool sampi_rng_differs(const sampi_sampler *s, const sampi_sampler *t) { return s->rng != t->rng; }

/* Returns how many bytes a sampler of this kind needs for the state of its mt19937. All kinds that draw reserve them,
   whatever their random source, because samp_set_rng must not allocate. A sampler that carries an error has no such
   memory. */
static size_t sampi_mt_size(sampi_kind kind) { return sampi_traits_of(kind)->stream ? sizeof(sampi_mt) : 0; }

/* Does the sampler have an mt19937 of its own? */
static bool sampi_has_mt(const sampi_sampler *s) { return sampi_traits_of(s->kind)->stream && s->part_size[0]; }

/* Returns the sampler's mt19937; call it only if sampi_has_mt. Samplers that draw have no other arrays behind their
   record, so part 0 is free for it. */
static sampi_mt *sampi_mt_of(const sampi_sampler *s) { return (sampi_mt *)sampi_part(s, 0); }

/* Sets the mt19937 back to the seed. An mt19937 that is not in use stays unseeded, because seeding takes 624 steps. */
static void sampi_begin_mt(sampi_sampler *s)
{
    if (sampi_has_mt(s) && sampi_is_llama_cpp(s)) sampi_mt_seed(sampi_mt_of(s), (uint32_t)s->seed);
}

/* sampi_note_mt notes how many outputs of the mt19937 have been taken; sampi_restore_mt goes back to that number. */
static void sampi_note_mt(sampi_sampler *s)
{
    if (sampi_has_mt(s)) s->now.drawn = sampi_mt_of(s)->drawn;
}

static void sampi_restore_mt(sampi_sampler *s)
{
    if (sampi_has_mt(s)) sampi_mt_back(sampi_mt_of(s), s->now.drawn, (uint32_t)s->seed);
}

/* Copies the mt19937's state of `old` to s, if both have the same seed and random source. */
static SAMPI_COLD void sampi_take_over_mt(sampi_sampler *s, const sampi_sampler *old)
{
    if (!sampi_has_mt(s) || s->rng != old->rng || s->seed != old->seed) return;
    *sampi_mt_of(s) = *sampi_mt_of(old);
    s->now.drawn = old->now.drawn;
}

/* The apply function of a kind: in llama.cpp's arithmetic if is_llama, else in the library's own. */
#define sampi_apply_of(traits, is_llama) ((is_llama) ? (traits)->apply_llama : (traits)->apply)
