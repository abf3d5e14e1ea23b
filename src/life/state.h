/* =================================================================================================== >>state
   A sampler's state as bytes, for samp_state_save and samp_state_load. The fields, all little-endian:

       "SAMP" u32   version u32   fingerprint of the settings u64   the sampler's part   checksum of all bytes before
       u64

   The part of a sampler is its position, its mt19937 if it draws from that, and what its kind adds; a chain adds the
   parts of its members. Each kind with a state has one function (hook `state`) that counts, writes, checks and reads
   the part, so the format is described in one place. A load checks all bytes before it changes anything. Values that
   follow from others (the counts of a window's tokens) are not stored; a load computes them again. The hooks are in the
   samplers' rooms; they use the functions of life/state_fields.h.

   A function may write to the sampler only if io->mode is SAMPI_READ. By then the same bytes have passed the same
   functions in mode SAMPI_CHECK, so nothing can fail any more. */

#define SAMPI_STATE_MAGIC   0x504D4153u /* "SAMP" */
#define SAMPI_STATE_VERSION 1

/* ---- fingerprint ----
   A state can only be loaded into a sampler with the same settings. The state has not the settings, but a hash of them
   of 64 bits, the fingerprint. The values that are hashed and their order are part of the format: if they change, the
   format needs a new version, unless the change is meant to refuse old states of some kinds only. */

/* Adds a sampler's parameters to the hash: first the floats, then the integers, as version 1 of the format has them.
   Not added are fields that only the constructor uses (SAMPI_PASSING), and fields that were introduced later
   (SAMPI_LATER) whose value is 0. */
static void sampi_life_mix_fields(uint64_t *hash, const sampi_sampler *s)
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

/* Adds to the hash everything that decides what a sampler does, except its state. It adds the name of the kind, because
   the kind's number may change. */
static SAMPI_COLD void sampi_life_settings(const sampi_sampler *s, uint64_t *hash)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    sampi_mix_text(hash, traits->name);
    sampi_mix_text(hash, samp_name(&s->base)); /* a custom sampler's own name */
    sampi_mix(hash, (uint64_t)s->rng);
    sampi_mix(hash, s->seed);
    sampi_life_mix_fields(hash, s);
    if (traits->hooks->settings && !s->status)
        traits->hooks->settings(s, hash); /* a sampler that carries an error has no arrays to hash */
}

/* Adds to the hash how many tokens the chain's list of the last tokens (prev) can hold, the number of members, and the
   members' settings in order. */
static SAMPI_COLD void sampi_chain_settings(const sampi_sampler *s, uint64_t *hash)
{
    sampi_mix(hash, s->u.chain.ring.cap);
    sampi_mix(hash, (uint32_t)s->u.chain.n);
    for (int32_t i = 0; i < s->u.chain.n; i++) sampi_life_settings(s->u.chain.item[i], hash);
}

/* ---- a sampler's part, and the public functions ----
   The functions walk over a sampler and all its members. A load checks all bytes before the sampler changes. */

static void sampi_io_part(sampi_sampler *s, sampi_io *io);

/* Saves or loads what a chain adds to its part: its list of tokens (prev), then the members' parts in order. The number
   of members is not saved, because the fingerprint depends on it. */
static SAMPI_COLD void sampi_chain_state(sampi_sampler *s, sampi_io *io)
{
    sampi_io_ring(io, &s->u.chain.ring, s->u.chain.prev);
    for (int32_t i = 0; i < s->u.chain.n && !io->bad; i++) sampi_io_part(s->u.chain.item[i], io);
}

/* Can the state of s and all its members be saved? The library cannot save the context (ctx) of a user's sampler, so a
   custom sampler with a context cannot be saved or loaded, unless its kind has the hook `state`. */
static SAMPI_COLD bool sampi_life_can_keep(const sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (!sampi_life_can_keep(s->u.chain.item[i])) return false;
    return !sampi_is_custom(s) || !s->base.ctx || sampi_traits_of(s->kind)->hooks->state;
}

/* Counts, writes, checks or reads a sampler's part, as io->mode says. An mt19937 from which the sampler does not draw
   is not stored: its 2,504 bytes would have no effect. */
static SAMPI_COLD void sampi_io_part(sampi_sampler *s, sampi_io *io)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    uint64_t position = sampi_io_int(io, s->position, 8); /* any value is valid */
    if (io->mode == SAMPI_READ) s->position = position;
    sampi_io_mt(io, s);
    if (traits->hooks->state) traits->hooks->state(s, io);
}

/* Returns the hash of all settings of s and its members. */
static uint64_t sampi_life_fingerprint(const sampi_sampler *s)
{
    uint64_t hash = 0;
    sampi_life_settings(s, &hash);
    return hash;
}

/* Counts, writes, checks or reads all of a state except the checksum. Magic number, version and fingerprint are
   compared first, so the part of another sampler or of another version is never read. */
static SAMPI_COLD void sampi_io_all(sampi_sampler *s, uint64_t fingerprint, sampi_io *io)
{
    io->bad |= sampi_io_int(io, SAMPI_STATE_MAGIC, 4) != SAMPI_STATE_MAGIC;
    io->bad |= sampi_io_int(io, SAMPI_STATE_VERSION, 4) != SAMPI_STATE_VERSION;
    io->bad |= sampi_io_int(io, fingerprint, 8) != fingerprint;
    if (!io->bad) sampi_io_part(s, io);
}

/* Returns the reason why the state of s cannot be saved or loaded, or SAMP_OK: an error of s or a member, s is NULL, or
   a custom sampler has a context. */
static int sampi_life_state_status(const samp_sampler *s)
{
    int status = samp_status(s, NULL);
    return status || sampi_life_can_keep((const sampi_sampler *)s) ? status : SAMP_E_UNSUPPORTED;
}

/* Runs the same functions as samp_state_save, without memory to write to, so the size is the same. */
SAMP_API SAMPI_COLD size_t samp_state_size(const samp_sampler *s)
{
    sampi_io io = { SAMPI_WRITE, NULL, NULL, 0, 0, 0, NULL, NULL };
    if (sampi_life_state_status(s)) return 0;
    sampi_io_all((sampi_sampler *)(uintptr_t)s, 0, &io); /* in this mode the sampler is only read */
    return io.at + 8;
}

/* Everything that can fail comes before the first byte is written. The cast drops const, but in this mode s is only
   read. */
SAMP_API SAMPI_COLD int samp_state_save(const samp_sampler *s, void *bytes, size_t size)
{
    sampi_io io = { SAMPI_WRITE, (unsigned char *)bytes, NULL, 0, 0, 0, NULL, NULL };
    int status = bytes ? sampi_life_state_status(s) : SAMP_E_NULL;
    if (status) return status;
    if (size < samp_state_size(s)) return SAMP_E_WORKSPACE;
    sampi_io_all((sampi_sampler *)(uintptr_t)s, sampi_life_fingerprint((const sampi_sampler *)s), &io);
    sampi_io_int(&io, sampi_checksum(bytes, io.at), 8);
    return SAMP_OK;
}

/* Frees what a failed load has made, and returns the status of the load. */
static SAMPI_COLD int sampi_life_load_failed(sampi_io *io)
{
    if (io->made) io->unmake(io->made);
    if (io->bad != 4) return io->bad & 2 ? SAMP_E_NOMEM : SAMP_E_FORMAT;
    uint64_t sum = 0; /* damaged bytes may also exceed a limit: then the status is SAMP_E_FORMAT */
    for (size_t i = 0; i < 8; i++) sum |= (uint64_t)io->from[io->size - 8 + i] << 8 * i;
    return sum == sampi_checksum(io->from, io->size - 8) ? SAMP_E_FULL : SAMP_E_FORMAT;
}

/* Walks over the bytes twice. The first walk (SAMPI_CHECK) changes nothing; then size and checksum are compared, and
   only the second walk changes the sampler. A load counts as an edit, so the GPU makes a new copy of the sampler. */
SAMP_API SAMPI_COLD int samp_state_load(samp_sampler *s, const void *bytes, size_t size)
{
    sampi_io io = { SAMPI_CHECK, NULL, (const unsigned char *)bytes, size, 0, 0, NULL, NULL };
    int status = bytes ? sampi_life_state_status(s) : SAMP_E_NULL;
    if (status) return status;
    uint64_t fingerprint = sampi_life_fingerprint((const sampi_sampler *)s);
    sampi_io_all((sampi_sampler *)s, fingerprint, &io);
    size_t end = io.at;
    uint64_t sum = sampi_io_int(&io, 0, 8);
    if (io.bad || io.at != size || sum != sampi_checksum(bytes, end)) return sampi_life_load_failed(&io);
    io.mode = SAMPI_READ; /* all bytes are checked: from here on nothing can fail */
    io.at = 0;
    sampi_edited((sampi_sampler *)s);
    sampi_io_all((sampi_sampler *)s, fingerprint, &io);
    return SAMP_OK;
}
