/* ---- making ----
   How a sampler is made: a constructor fills a local record t (the struct behind samp_sampler), checks it, then moves
   it to the heap. An error is noted in the record and not returned. The constructor returns a sampler even then: it
   carries the error (samp_status) and does nothing. So a caller may build a whole chain and check its status once. */

/* Returns a record of this kind with every field at its default. Each constructor begins with this call. A field that
   neither the constructor nor samp_params sets keeps its default. */
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

/* Notes the status and the parameter's name in t, unless `good` or an earlier requirement has failed. Only the first
   failure is noted, because samp_status reports one field. */
static void sampi_require(sampi_sampler *t, bool good, int status, const char *field)
{
    if (good || t->status) return;
    t->status = status;
    t->field = field;
}

/* Checks the token ids of a list, which may be NULL if it is empty. */
static SAMPI_COLD void sampi_require_tokens(sampi_sampler *t, const samp_token *tokens, size_t n, const char *field)
{
    sampi_require(t, n == 0 || tokens, SAMP_E_NULL, field);
    sampi_require(t, n <= SAMP_MAX_VOCAB, SAMP_E_RANGE, field);
    for (size_t i = 0; i < n && !t->status; i++)
        sampi_require(t, tokens[i] >= 0 && tokens[i] < SAMP_MAX_VOCAB, SAMP_E_RANGE, field);
}

/* ---- the caller's list ----
   A kind that copies a list of the caller's has it in part 1 if it draws (its part 0 is the mt19937's), else in part 0.
   The constructor checks the list, sets t.from to it, and sizes the part. The list is one of tokens as they were given,
   or of tokens in order of ids: then it is sampi_count [n], whose counts are not used. */

static int sampi_list_part(const sampi_sampler *s) { return sampi_traits_of(s->kind)->stream ? 1 : 0; }

/* Copies the list: a hook `build`. */
static SAMPI_COLD void sampi_list_copy(sampi_sampler *s)
{
    const int i = sampi_list_part(s);
    if (s->part_size[i]) memcpy(sampi_part(s, i), s->from, s->part_size[i]);
    s->from = NULL;
}

/* Adds a list of tokens to the fingerprint: a hook `settings`. */
static SAMPI_COLD void sampi_list_mix(const sampi_sampler *s, uint64_t *hash)
{
    const samp_token *token = (const samp_token *)sampi_part(s, sampi_list_part(s));
    for (size_t k = 0; k < s->part_size[sampi_list_part(s)] / sizeof *token; k++) sampi_mix(hash, (uint64_t)token[k]);
}

/* The same two hooks for a list in order. */
static SAMPI_COLD void sampi_list_build(sampi_sampler *s)
{
    sampi_count *list = (sampi_count *)sampi_part(s, sampi_list_part(s));
    const size_t n = s->part_size[sampi_list_part(s)] / sizeof *list;
    for (size_t k = 0; k < n; k++) list[k].token = ((const samp_token *)s->from)[k];
    sampi_count_sort(list, (uint32_t)n);
    s->from = NULL;
}
static SAMPI_COLD void sampi_list_settings(const sampi_sampler *s, uint64_t *hash)
{
    const sampi_count *list = (const sampi_count *)sampi_part(s, sampi_list_part(s));
    for (size_t k = 0; k < s->part_size[sampi_list_part(s)] / sizeof *list; k++)
        sampi_mix(hash, (uint64_t)list[k].token);
}

/* Is a token in a list in order? */
static bool sampi_list_has(const sampi_sampler *s, samp_token token)
{
    const sampi_count *list = (const sampi_count *)sampi_part(s, sampi_list_part(s));
    const uint32_t n = (uint32_t)(s->part_size[sampi_list_part(s)] / sizeof *list);
    const uint32_t at = sampi_count_find(list, n, token);
    return at < n && list[at].token == token;
}

/* Requires that x is in the range of its field. NaN has its own status, SAMP_E_NAN. */
static SAMPI_COLD void sampi_require_number(sampi_sampler *t, const sampi_field *f, double x)
{
    bool above = f->how & SAMPI_OPEN ? x > f->lo : x >= f->lo;
    bool zero = (f->how & SAMPI_OR_ZERO) && x == 0.0;
    sampi_require(t, x == x, SAMP_E_NAN, f->param);
    sampi_require(t, (above && x <= f->hi) || zero, SAMP_E_RANGE, f->param);
}

/* Do the sampler's values make it change nothing? sampi_prepare keeps the answer in s->off. Earlier callers are the
   default order, which leaves such samplers out, and dry, which needs no breakers if it is off. The function only reads
   fields, and they need not be valid. */
static bool sampi_is_off(const sampi_sampler *s)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    return traits->off && traits->off(s);
}

/* Checks the whole record and writes its status, field, part_size and off, and what the hook `prepare` of its kind
   writes. The function does not use the heap. If `make` is true, a sampler is going to be made of the record, so checks
   that walk over the vocabulary run too; samp_check_params leaves these checks out. Constructors and samp_check_params
   share this function, so they cannot disagree. */
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

/* Sets the random source back to the seed, for a new sampler, samp_reset and samp_set_rng. Philox has no state except
   the position, so only an mt19937 is seeded. */
static void sampi_seed(sampi_sampler *s)
{
    s->now.drawn = 0;
    sampi_begin_mt(s);
}

/* Sets the whole state of this sampler to that of a new one. For a chain, samp_reset calls it for each member too. */
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
   record with an error becomes a sampler that carries the error and has no parts. Returns NULL without memory. Chains
   and clones of custom samplers call this function directly, because their records need no checks. */
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
        s->base.ctx = s; /* the ctx of a custom sampler is the user's */
    }
    if (s->status) return &s->base;
    if (hooks->build) hooks->build(s);
    sampi_reset_state(s);
    return &s->base;
}

/* Checks the record and makes the sampler. Every constructor except the chain's ends with this call. */
static SAMPI_COLD samp_sampler *sampi_init(sampi_sampler *t)
{
    sampi_prepare(t, true);
    return sampi_new(t);
}

/* Makes a sampler that has no parameters except perhaps a seed. The seed is a member of the record, not a field of the
   kind, because all samplers that draw have one. */
static SAMPI_COLD samp_sampler *sampi_init_plain(sampi_kind kind, uint64_t seed)
{
    sampi_sampler t = sampi_blank(kind);
    t.seed = seed;
    return sampi_init(&t);
}
