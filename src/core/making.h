/* ---- making ----
   A sampler is described in a local record t, checked, then moved to the heap. An error is noted in the record and
   never returned: a constructor gives a sampler even then, which carries the error (samp_status) and does nothing, so
   that a caller may build a whole chain and ask once. */

/* A record with every field at its default: what each constructor, and a record from samp_params, begins with. A
   field that samp_params has not, or a constructor does not take, stays so. */
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

/* Note the status, and the name of the parameter, if something is not good. The first requirement that fails
   decides, as samp_status promises one field. Called by all checks of a record. */
static void sampi_require(sampi_sampler *t, bool good, int status, const char *field)
{
    if (good || t->status) return;
    t->status = status;
    t->field = field;
}

/* Is a number in its field's range? NaN is told apart. */
static SAMPI_COLD void sampi_require_number(sampi_sampler *t, const sampi_field *f, double x)
{
    bool above = f->how & SAMPI_OPEN ? x > f->lo : x >= f->lo;
    bool zero = (f->how & SAMPI_OR_ZERO) && x == 0.0;
    sampi_require(t, x == x, SAMP_E_NAN, f->param);
    sampi_require(t, (above && x <= f->hi) || zero, SAMP_E_RANGE, f->param);
}

/* Do its values switch it off? sampi_prepare asks once and keeps the answer in s->off; before that, the default order
   asks for what may be left out, and dry for whether it needs breakers. Reads fields only, checked or not. */
static bool sampi_is_off(const sampi_sampler *s)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    return traits->off && traits->off(s);
}

/* All that can be wrong with a record, its parts' sizes, and whether it is off: writes status, field, part_size
   and off of t, and what its prepare hook does; never the heap. `make`: a sampler is to be made of it, so what
   takes a walk over the vocabulary is asked too; samp_check_params does without. Constructors and
   samp_check_params come here both, so they cannot disagree. */
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

/* The random source back to the seed: for a new sampler, samp_reset and samp_set_rng. Philox has no state but the
   position. */
static void sampi_seed(sampi_sampler *s)
{
    s->now.drawn = 0;
    sampi_begin_mt(s);
}

/* All state as in a new sampler: what samp_reset and the making have in common. Of this sampler only: samp_reset
   goes to a chain's members itself. */
static SAMPI_COLD void sampi_reset_state(sampi_sampler *s)
{
    s->position = 0;
    s->now.pending = -1;
    s->now.pending_p = 0.0f;
    sampi_seed(s);
    if (sampi_traits_of(s->kind)->hooks->reset) sampi_traits_of(s->kind)->hooks->reset(s);
}

/* The iface of all built-in samplers: never NULL, so that users may call through it as they do with their own. */
static const samp_sampler_i *sampi_builtin(void)
{
    static const samp_sampler_i iface = { samp_name,  samp_accept, samp_apply, samp_reset,
                                          samp_clone, NULL,        NULL,       samp_rollback };
    return &iface;
}

/* The record t moves to the heap: one block with its parts behind it, the only allocation in making one. A record
   with an error becomes a sampler too, one that carries it and has no parts. NULL: no memory. Chains and clones of
   custom samplers come here directly, for they have nothing to prepare. */
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
        s->base.ctx = s; /* of a custom sampler it is the user's */
    }
    if (s->status) return &s->base;
    if (hooks->build) hooks->build(s);
    sampi_reset_state(s);
    return &s->base;
}

/* The end of every constructor but the chain's, and of a step from samp_params. */
static SAMPI_COLD samp_sampler *sampi_init(sampi_sampler *t)
{
    sampi_prepare(t, true);
    return sampi_new(t);
}

/* What has no number but perhaps a seed. That is no field of the kind: it stands in the record itself, as for all that
   draw. */
static SAMPI_COLD samp_sampler *sampi_init_plain(sampi_kind kind, uint64_t seed)
{
    sampi_sampler t = sampi_blank(kind);
    t.seed = seed;
    return sampi_init(&t);
}
