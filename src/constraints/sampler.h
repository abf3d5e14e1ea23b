/* ---- constraints: from a builder to a sampler ----
   The beginning and the end of every constructor. The beginning makes a blank builder (the arrays of a sampler in the
   making) and checks arguments. The end is sampi_builder_make, which builds the automaton (constraints/making.h),
   copies all arrays into the parts of a new sampler and frees the builder. */

static SAMPI_COLD sampi_builder sampi_builder_of(sampi_constraint_kind what, const char *name)
{
    sampi_builder builder;
    memset(&builder, 0, sizeof builder);
    builder.t = sampi_blank(SAMPI_CONSTRAINT);
    builder.t.u.constraint.what = what;
    builder.t.name = name;
    return builder;
}

/* Allocates n patterns, which the caller then sets. Returns false without memory, or after an error. */
static SAMPI_COLD bool sampi_builder_room(sampi_builder *builder, const void *given, size_t n, const char *field)
{
    sampi_require(&builder->t, n == 0 || given, SAMP_E_NULL, field);
    sampi_require(&builder->t, n <= SAMPI_MAX_PATTERNS, SAMP_E_RANGE, field);
    builder->pattern = (sampi_pattern *)sampi_builder_alloc(builder, n, sizeof *builder->pattern);
    return builder->pattern != NULL;
}

static SAMPI_COLD void sampi_builder_add(sampi_builder *builder, const samp_token *tokens, const char *text, size_t n,
                                         const char *field)
{
    sampi_pattern *p = &builder->pattern[builder->n_patterns];
    sampi_require(&builder->t, tokens || text, SAMP_E_NULL, field);
    sampi_require(&builder->t, n > 0 && n <= SAMPI_MAX_PATTERN, SAMP_E_RANGE, field);
    if (!builder->t.status && tokens) sampi_require_tokens(&builder->t, tokens, n, field);
    builder->n_symbols += n;
    sampi_require(&builder->t, builder->n_symbols <= SAMPI_MAX_SYMBOLS, SAMP_E_RANGE, field);
    if (builder->t.status) return;
    p->tokens = tokens;
    p->text = text;
    p->n = n;
    p->label = (uint32_t)n;
    p->bias = -INFINITY;
    builder->n_patterns++;
}

/* Ends every constructor: copies all arrays into a new sampler, and frees the builder. */
static SAMPI_COLD samp_sampler *sampi_builder_make(sampi_builder *builder)
{
    sampi_sampler *t = &builder->t;
    const void *from[3] = { builder->nodes, builder->table ? (const void *)builder->table : builder->edges,
                            builder->entry ? (const void *)builder->entry : builder->words };
    t->u.constraint.masks = builder->entry && !builder->weighs;
    t->u.constraint.n_nodes = builder->n_nodes;
    t->u.constraint.edge_mask = builder->n_edges - 1;
    t->part_size[0] = builder->n_nodes * sizeof *builder->nodes;
    t->part_size[1] = builder->table ? builder->n_table * sizeof *builder->table
                                     : builder->n_edges * sizeof *builder->edges;
    t->part_size[2] = builder->entry ? builder->n_entries * sizeof *builder->entry
                                     : builder->n_words * sizeof *builder->words;
    t->part_size[3] = t->u.constraint.ring.cap * sizeof(samp_token) +
                      ((size_t)t->u.constraint.room + t->u.constraint.ban_room) * sizeof(sampi_count);
    samp_sampler *s = builder->no_memory && !t->status ? NULL : sampi_init(t);
    for (int i = 0; s && i < 3; i++) {
        sampi_sampler *made = (sampi_sampler *)s;
        if (made->part_size[i]) memcpy(sampi_part(made, i), from[i], made->part_size[i]);
    }
    SAMP_FREE(builder->pattern);
    SAMP_FREE(builder->nodes);
    SAMP_FREE(builder->edges);
    SAMP_FREE(builder->table);
    SAMP_FREE(builder->start);
    SAMP_FREE(builder->by_bytes);
    SAMP_FREE(builder->entry);
    SAMP_FREE(builder->words);
    return s;
}
