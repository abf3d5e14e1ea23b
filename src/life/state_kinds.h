/* ---- saved states: the kinds, and the public functions ----
   The hooks `state`: what a kind has become, besides its position and its mt19937, as a list of fields. A kind without
   a state has no hook. Behind them stand samp_state_size, samp_state_save and samp_state_load, which walk through a
   sampler and all its members. Bytes from outside are checked in full before the sampler changes. */

/* mu, which is all that both versions become. Under MT19937 it may be anything: llama.cpp's arithmetic does not clamp
   it, and what it gave is what goes on. */
static SAMPI_COLD void sampi_mirostat_state(sampi_sampler *s, sampi_io *io)
{
    bool any = sampi_is_llama_cpp(s); /* llama.cpp's mu may overflow */
    sampi_io_float(io, &s->now.mu, any ? NAN : -FLT_MAX, FLT_MAX);
}

/* The average, whose total is never below 1, and the selection that waits for samp_accept. */
static SAMPI_COLD void sampi_adaptive_p_state(sampi_sampler *s, sampi_io *io)
{
    if (s->u.adaptive.target < 0.0f) return; /* plain dist */
    sampi_io_float(io, &s->u.adaptive.sum, 0.0f, FLT_MAX);
    sampi_io_float(io, &s->u.adaptive.total, 1.0f, FLT_MAX);
    sampi_io_token(io, &s->now.pending, -1);
    sampi_io_float(io, &s->now.pending_p, 0.0f, 1.0f);
}

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
