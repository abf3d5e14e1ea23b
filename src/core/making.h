/* ---- making ----
   How a sampler is made: a constructor fills a local record t, checks it, then moves it to the heap. An error is noted
   in the record and not returned. The constructor returns a sampler even then: it carries the error (samp_status) and
   does nothing. So a caller may build a whole chain and check once. */

/* Returns a record with every field at its default. Each constructor begins with it. A field that the constructor, or
   samp_params, does not set keeps its default. */
static SAMPI_COLD sampi_sampler sampi_blank(sampi_kind kind)
{
    const sampi_traits *traits = sampi_traits_of(kind);
    sampi_sampler t;
    memset(&t, 0, sizeof t);
    t.kind = kind;
    t.past.depth = 64;
    t.part_size[0] = sampi_mt_size(kind);
    for (size_t i = 0; i < traits->n_fields; i++)
        sampi_field_reset(&traits->field[i], (char *)&t + traits->field[i].at);
    return t;
}

/* Notes the status and the parameter's name in t, unless `good`. The first requirement that fails decides, because
   samp_status reports one field. */
static void sampi_require(sampi_sampler *t, bool good, int status, const char *field)
{
    if (good || t->status) return;
    t->status = status;
    t->field = field;
}

/* Requires that x is in the range of its field. NaN has a status of its own. */
static SAMPI_COLD void sampi_require_number(sampi_sampler *t, const sampi_field *f, double x)
{
    bool above = f->how & SAMPI_OPEN ? x > f->lo : x >= f->lo;
    bool zero = (f->how & SAMPI_OR_ZERO) && x == 0.0;
    sampi_require(t, x == x, SAMP_E_NAN, f->param);
    sampi_require(t, (above && x <= f->hi) || zero, SAMP_E_RANGE, f->param);
}

/* Do the sampler's values switch it off? sampi_prepare keeps the answer in s->off. Before that the default order asks
   which samplers may be left out, and dry whether it needs breakers. The function reads fields only, checked or not. */
static bool sampi_is_off(const sampi_sampler *s)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    return traits->off && traits->off(s);
}

/* Checks the whole record and writes its status, field, part_size and off, and what the prepare hook writes. It does
   not use the heap. `make`: a sampler is going to be made of the record, so checks that walk over the vocabulary run
   too; samp_check_params leaves them out. Constructors and samp_check_params share this function, so they cannot
   disagree. */
static SAMPI_COLD void sampi_prepare(sampi_sampler *t, bool make)
{
    const sampi_traits *traits = sampi_traits_of(t->kind);
    for (size_t i = 0; i < traits->n_fields; i++) {
        const sampi_field *f = &traits->field[i];
        if (f->type != SAMPI_SIZE) sampi_require_number(t, f, sampi_field_value(t, f));
    }
    if (!t->status && traits->hooks->prepare) traits->hooks->prepare(t, make);
    if (!t->status) t->off = sampi_is_off(t);
}

/* Sets the random source back to the seed: for a new sampler, samp_reset and samp_set_rng. Philox has no state except
   the position. */
static void sampi_seed(sampi_sampler *s)
{
    s->now.drawn = 0;
    sampi_begin_mt(s);
}

/* Sets all state of this sampler to that of a new one. samp_reset visits the members of a chain itself. */
static SAMPI_COLD void sampi_reset_state(sampi_sampler *s)
{
    s->position = 0;
    s->now.pending = -1;
    s->now.pending_p = 0.0f;
    sampi_seed(s);
    if (sampi_traits_of(s->kind)->hooks->reset) sampi_traits_of(s->kind)->hooks->reset(s);
}

/* Returns the interface of all built-in samplers. It is never NULL, so users may call through it as with their own
   samplers. */
static const samp_sampler_i *sampi_builtin(void)
{
    static const samp_sampler_i iface = { samp_name,  samp_accept, samp_apply, samp_reset,
                                          samp_clone, NULL,        NULL,       samp_rollback };
    return &iface;
}

/* Moves the record t to the heap: one block with the parts behind the record, the only allocation of a constructor. A
   record with an error becomes a sampler that carries the error and has no parts. NULL: no memory. Chains and clones of
   custom samplers call it directly, because they have nothing to prepare. */
static SAMPI_COLD samp_sampler *sampi_new(const sampi_sampler *t)
{
    const sampi_hooks *hooks = sampi_traits_of(t->kind)->hooks;
    size_t size = sampi_round_up(sizeof *t), part[4];
    for (int i = 0; i < 4; i++) {
        part[i] = size;
        if (!t->status) size += sampi_round_up(t->part_size[i]);
    }
    sampi_sampler *s = (sampi_sampler *)SAMP_MALLOC(size);
    if (!s) return NULL;
    memset(s, 0, size);
    *s = *t;
    memcpy(s->part, part, sizeof part);
    s->serial = sampi_next_serial();
    if (s->status) memset(s->part_size, 0, sizeof s->part_size);
    if (!s->base.iface) {
        s->base.iface = sampi_builtin();
        s->base.ctx = s; /* a custom sampler's ctx is the user's */
    }
    if (s->status) return &s->base;
    if (hooks->build) hooks->build(s);
    sampi_reset_state(s);
    return &s->base;
}

/* Checks the record and makes the sampler: the end of every constructor except the chain's. */
static SAMPI_COLD samp_sampler *sampi_init(sampi_sampler *t)
{
    sampi_prepare(t, true);
    return sampi_new(t);
}

/* Makes a sampler that has no numbers except perhaps a seed. The seed is a member of the record, not a field of the
   kind, because all samplers that draw have one. */
static SAMPI_COLD samp_sampler *sampi_init_plain(sampi_kind kind, uint64_t seed)
{
    sampi_sampler t = sampi_blank(kind);
    t.seed = seed;
    return sampi_init(&t);
}
