/* =================================================================================================== >>state
   A sampler's state as bytes, for samp_state_save and samp_state_load, little-endian and field by field:

       "SAMP" u32   version u32   fingerprint of the settings u64   a sampler's part ...   checksum of all before u64

   A part is the position, the mt19937 if that is what the sampler draws from, and what its kind adds; a chain adds its
   members' parts. One function for each kind with a state (the hook `state`) counts, writes, checks and reads the
   part, so there is one place that knows the form. Loading checks all bytes before it reads the first. What can be
   derived (counts from a window) is not stored but made again. This room has the fingerprint; life/state_fields.h has
   the fields, life/state_kinds.h the hooks and the public functions.

   The one thing to know: only when io->mode is SAMPI_READ may a function write to the sampler. Then the same bytes
   have gone through the same functions in SAMPI_CHECK, so nothing can fail any more. */

#define SAMPI_STATE_MAGIC   0x504D4153u /* "SAMP" */
#define SAMPI_STATE_VERSION 1

/* ---- fingerprint ----
   A state is loaded only into a sampler with the same settings, and these are not stored: 64 bits made of them are.
   What is mixed in, and in which order, is part of the format; a change of it needs another version, unless only some
   kinds' states are to be refused. */

/* A sampler's own numbers: first those that are floats, then the integers, as version 1 of the bytes has them. A
   field that only the making needs (SAMPI_PASSING) is left out, as is one that came later and is not used. */
static void sampi_mix_fields(uint64_t *hash, const sampi_sampler *s)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    for (int integers = 0; integers < 2; integers++)
        for (size_t i = 0; i < traits->n_fields; i++) {
            const sampi_field *f = &traits->field[i];
            if ((f->how & SAMPI_PASSING) || (f->type != SAMPI_FLOAT) != integers) continue;
            if ((f->how & SAMPI_LATER) && sampi_field_value(s, f) == 0.0) continue;
            const void *at = (const char *)s + f->at;
            switch (f->type) {
                case SAMPI_FLOAT: sampi_mix_float(hash, *(const float *)at); break;
                case SAMPI_INT32: sampi_mix(hash, (uint32_t) * (const int32_t *)at); break;
                case SAMPI_SIZE: sampi_mix(hash, *(const size_t *)at); break;
                case SAMPI_WORD: break;
            }
        }
}

/* All that decides what a sampler does, but not what it has become: a state loads only into its equal. The kind's
   name stands for the kind, whose number may change. */
static SAMPI_COLD void sampi_settings(const sampi_sampler *s, uint64_t *hash)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    sampi_mix_text(hash, traits->name);
    sampi_mix_text(hash, samp_name(&s->base)); /* a custom one's own name */
    sampi_mix(hash, (uint64_t)s->rng);
    sampi_mix(hash, s->seed);
    sampi_mix_fields(hash, s);
    if (traits->hooks->settings && !s->status) traits->hooks->settings(s, hash); /* with an error it has no parts */
}

/* Every member's settings, in order, and how many tokens prev may hold. */
static SAMPI_COLD void sampi_chain_settings(const sampi_sampler *s, uint64_t *hash)
{
    sampi_mix(hash, s->u.chain.ring.cap);
    sampi_mix(hash, (uint32_t)s->u.chain.n);
    for (int32_t i = 0; i < s->u.chain.n; i++) sampi_settings(s->u.chain.item[i], hash);
}
