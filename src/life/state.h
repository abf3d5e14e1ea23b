/* =================================================================================================== >>state
   A sampler's state as bytes, for samp_state_save and samp_state_load, little-endian and field by field:

       "SAMP" u32   version u32   fingerprint of the settings u64   a sampler's part ...   checksum of all before u64

   A part is the position, the mt19937 if that is what the sampler draws from, and what its kind adds; a chain adds its
   members' parts. One function for each kind with a state (the hook `state`) counts, writes, checks and reads the
   part, so there is one place that knows the form. Loading checks all bytes before it reads the first. What can be
   derived (counts from a window) is not stored but made again. The hooks stand in the rooms of their samplers, and are
   made of the fields of life/state_fields.h.

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
                case SAMPI_SEED:
                case SAMPI_RNG:
                case SAMPI_ORDER:
                case SAMPI_BREAKERS:
                case SAMPI_BIASES: break;
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

/* ---- a sampler's part, and the public functions ----
   A walk through a sampler and all its members. Bytes from outside are checked in full before the sampler changes. */

static void sampi_io_part(sampi_sampler *s, sampi_io *io);

/* prev, then the members' parts, in order. How many there are is in the fingerprint. */
static SAMPI_COLD void sampi_chain_state(sampi_sampler *s, sampi_io *io)
{
    sampi_io_ring(io, &s->u.chain.ring, s->u.chain.prev);
    for (int32_t i = 0; i < s->u.chain.n && !io->bad; i++) sampi_io_part(s->u.chain.item[i], io);
}

/* Nobody but its author knows what a custom sampler's context is, so one that has a context can't be saved or
   loaded. Asked for the whole chain, before any byte is looked at. */
static SAMPI_COLD bool sampi_can_keep(const sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (!sampi_can_keep(s->u.chain.item[i])) return false;
    return !sampi_is_custom(s) || !s->base.ctx || sampi_traits_of(s->kind)->hooks->state;
}

/* A sampler's part of the bytes, in whatever direction io goes. sampi_io_all calls it for the sampler itself,
   sampi_chain_state for each member. An mt19937 that is not in use is not stored: 2,504 bytes that decide nothing. */
static SAMPI_COLD void sampi_io_part(sampi_sampler *s, sampi_io *io)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    sampi_io_u64(io, &s->position);
    sampi_io_mt(io, s);
    if (traits->hooks->state) traits->hooks->state(s, io);
}

/* Walks over all settings: once for each save and each load. */
static uint64_t sampi_fingerprint(const sampi_sampler *s)
{
    uint64_t hash = 0;
    sampi_settings(s, &hash);
    return hash;
}

/* All but the checksum. The head is compared before the part, so bytes of another sampler or version are never
   taken apart. */
static SAMPI_COLD void sampi_io_all(sampi_sampler *s, uint64_t fingerprint, sampi_io *io)
{
    io->bad |= sampi_io_int(io, SAMPI_STATE_MAGIC, 4) != SAMPI_STATE_MAGIC;
    io->bad |= sampi_io_int(io, SAMPI_STATE_VERSION, 4) != SAMPI_STATE_VERSION;
    io->bad |= sampi_io_int(io, fingerprint, 8) != fingerprint;
    if (!io->bad) sampi_io_part(s, io);
}

/* What speaks against keeping the state of s, or of one of its members. NULL too, by samp_status: the three
   functions below begin with it. */
static int sampi_state_status(const samp_sampler *s)
{
    int status = samp_status(s, NULL);
    return status || sampi_can_keep((const sampi_sampler *)s) ? status : SAMP_E_UNSUPPORTED;
}

/* Writing without a place to write to: the size can't differ from what samp_state_save writes. */
SAMP_API SAMPI_COLD size_t samp_state_size(const samp_sampler *s)
{
    sampi_io io = { SAMPI_WRITE, NULL, NULL, 0, 0, 0, NULL, NULL };
    if (sampi_state_status(s)) return 0;
    sampi_io_all((sampi_sampler *)(uintptr_t)s, 0, &io); /* in this mode it is only looked at */
    return io.at + 8;
}

/* What can fail comes before the first byte. s is cast to be written, but in this mode it is only read. */
SAMP_API SAMPI_COLD int samp_state_save(const samp_sampler *s, void *bytes, size_t size)
{
    sampi_io io = { SAMPI_WRITE, (unsigned char *)bytes, NULL, 0, 0, 0, NULL, NULL };
    int status = bytes ? sampi_state_status(s) : SAMP_E_NULL;
    if (status) return status;
    if (size < samp_state_size(s)) return SAMP_E_WORKSPACE;
    sampi_io_all((sampi_sampler *)(uintptr_t)s, sampi_fingerprint((const sampi_sampler *)s), &io);
    sampi_io_int(&io, sampi_checksum(bytes, io.at), 8);
    return SAMP_OK;
}

/* Bytes that can't be loaded: what has been made of them goes, and why. */
static SAMPI_COLD int sampi_load_failed(sampi_io *io)
{
    if (io->made) io->unmake(io->made);
    if (io->bad != 4) return io->bad & 2 ? SAMP_E_NOMEM : SAMP_E_FORMAT;
    uint64_t sum = 0; /* what was too much may have been damaged */
    for (size_t i = 0; i < 8; i++) sum |= (uint64_t)io->from[io->size - 8 + i] << 8 * i;
    return sum == sampi_checksum(io->from, io->size - 8) ? SAMP_E_FULL : SAMP_E_FORMAT;
}

/* Twice through the bytes: SAMPI_CHECK writes nothing, and the size and the checksum are compared when it is
   through; only then the sampler changes. It is an edit like any other, so the GPU makes a new copy. */
SAMP_API SAMPI_COLD int samp_state_load(samp_sampler *s, const void *bytes, size_t size)
{
    sampi_io io = { SAMPI_CHECK, NULL, (const unsigned char *)bytes, size, 0, 0, NULL, NULL };
    int status = bytes ? sampi_state_status(s) : SAMP_E_NULL;
    if (status) return status;
    uint64_t fingerprint = sampi_fingerprint((const sampi_sampler *)s);
    sampi_io_all((sampi_sampler *)s, fingerprint, &io);
    size_t end = io.at;
    uint64_t sum = sampi_io_int(&io, 0, 8);
    if (io.bad || io.at != size || sum != sampi_checksum(bytes, end)) return sampi_load_failed(&io);
    io.mode = SAMPI_READ; /* every byte has been checked: from here on nothing fails */
    io.at = 0;
    sampi_edited((sampi_sampler *)s);
    sampi_io_all((sampi_sampler *)s, fingerprint, &io);
    return SAMP_OK;
}
