/* ---- constraints: from a kit to a sampler ----
   The beginning and the end of every constructor. The beginning makes a blank kit (the arrays of a sampler in the
   making) and checks arguments. The end is sampi_kit_make, which builds the automaton (constraints/making.h), copies
   all arrays into the parts of a new sampler and frees the kit. The sampler has the interface of built-in samplers,
   except its name. */

static const char *sampi_constraint_name(const samp_sampler *s) { return ((const sampi_sampler *)s)->u.limit.name; }

/* Returns the interface of built-in samplers, with another name. */
static const samp_sampler_i *sampi_constraint_iface(void)
{
    static const samp_sampler_i iface = {
        sampi_constraint_name, samp_accept, samp_apply, samp_reset, samp_clone, NULL, NULL, samp_rollback
    };
    return &iface;
}

static SAMPI_COLD sampi_kit sampi_kit_of(sampi_limit_kind what, const char *name)
{
    sampi_kit kit;
    memset(&kit, 0, sizeof kit);
    kit.t = sampi_blank(SAMPI_CONSTRAINT);
    kit.t.u.limit.what = what;
    kit.t.u.limit.name = name;
    kit.t.base.iface = sampi_constraint_iface();
    return kit;
}

/* Checks the token ids of a list, which may be NULL if it is empty. */
static SAMPI_COLD void sampi_require_tokens(sampi_sampler *t, const samp_token *tokens, size_t n, const char *field)
{
    sampi_require(t, n == 0 || tokens, SAMP_E_NULL, field);
    sampi_require(t, n <= SAMP_MAX_VOCAB, SAMP_E_RANGE, field);
    for (size_t i = 0; i < n && !t->status; i++)
        sampi_require(t, tokens[i] >= 0 && tokens[i] < SAMP_MAX_VOCAB, SAMP_E_RANGE, field);
}

/* Allocates n patterns, which the caller then sets. Returns false without memory, or after an error. */
static SAMPI_COLD bool sampi_kit_room(sampi_kit *kit, const void *given, size_t n, const char *field)
{
    sampi_require(&kit->t, n == 0 || given, SAMP_E_NULL, field);
    sampi_require(&kit->t, n <= SAMPI_MAX_PATTERNS, SAMP_E_RANGE, field);
    kit->pattern = (sampi_pattern *)sampi_kit_alloc(kit, n, sizeof *kit->pattern);
    return kit->pattern != NULL;
}

static SAMPI_COLD void sampi_kit_add(sampi_kit *kit, const samp_token *tokens, const char *text, size_t n,
                                     const char *field)
{
    sampi_pattern *p = &kit->pattern[kit->n_patterns];
    sampi_require(&kit->t, tokens || text, SAMP_E_NULL, field);
    sampi_require(&kit->t, n > 0 && n <= SAMPI_MAX_PATTERN, SAMP_E_RANGE, field);
    if (!kit->t.status && tokens) sampi_require_tokens(&kit->t, tokens, n, field);
    kit->n_symbols += n;
    sampi_require(&kit->t, kit->n_symbols <= SAMPI_MAX_SYMBOLS, SAMP_E_RANGE, field);
    if (kit->t.status) return;
    p->tokens = tokens;
    p->text = text;
    p->n = n;
    p->mark = (uint32_t)n;
    p->bias = -INFINITY;
    kit->n_patterns++;
}

/* Ends every constructor: copies all arrays into a new sampler, and frees the kit. */
static SAMPI_COLD samp_sampler *sampi_kit_make(sampi_kit *kit)
{
    sampi_sampler *t = &kit->t;
    const void *from[3] = { kit->nodes, kit->table ? (const void *)kit->table : kit->edges,
                            kit->entry ? (const void *)kit->entry : kit->words };
    t->u.limit.masks = kit->entry && !kit->weighs;
    t->u.limit.n_nodes = kit->n_nodes;
    t->u.limit.edge_mask = kit->n_edges - 1;
    t->part_size[0] = kit->n_nodes * sizeof *kit->nodes;
    t->part_size[1] = kit->table ? kit->n_table * sizeof *kit->table : kit->n_edges * sizeof *kit->edges;
    t->part_size[2] = kit->entry ? kit->n_entries * sizeof *kit->entry : kit->n_words * sizeof *kit->words;
    t->part_size[3] = t->u.limit.ring.cap * sizeof(samp_token) +
                      ((size_t)t->u.limit.room + t->u.limit.ban_room) * sizeof(sampi_count);
    samp_sampler *s = kit->no_memory && !t->status ? NULL : sampi_init(t);
    if (s) s->ctx = s;
    for (int i = 0; s && i < 3; i++) {
        sampi_sampler *made = (sampi_sampler *)s;
        if (made->part_size[i]) memcpy(sampi_part(made, i), from[i], made->part_size[i]);
    }
    SAMP_FREE(kit->pattern);
    SAMP_FREE(kit->nodes);
    SAMP_FREE(kit->edges);
    SAMP_FREE(kit->table);
    SAMP_FREE(kit->start);
    SAMP_FREE(kit->by_bytes);
    SAMP_FREE(kit->entry);
    SAMP_FREE(kit->words);
    return s;
}
