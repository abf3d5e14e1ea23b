/* ---- constraints: drawing ----
   The functions that apply a constraint, to an array of candidates and to a row of logits (rows/row.h). Both functions
   find the only allowed tokens, or the lists that apply at the current node, and mask or change logits. On a row, a
   short list becomes changes of single logits, and a long list a mask. */

/* Finds the only tokens that are allowed now, in order. Returns their number, or 0 if all tokens are allowed. */
static size_t sampi_constraint_only(const sampi_sampler *s, const samp_token **tokens)
{
    const sampi_constraint *r = &s->u.constraint;
    const samp_token *words = (const samp_token *)sampi_part(s, 2);
    *tokens = words;
    switch (r->what) {
        case SAMPI_CONSTRAINT_ALLOWED: return s->part_size[2] / sizeof *words;
        case SAMPI_CONSTRAINT_FORCED:
            if (r->at < (uint32_t)r->begin || r->at - (uint32_t)r->begin >= (uint32_t)r->n) return 0;
            *tokens = words + (r->at - (uint32_t)r->begin);
            return 1;
        case SAMPI_CONSTRAINT_THINKING: *tokens = sampi_constraint_forced(s); return *tokens != NULL;
        default: return 0;
    }
}

/* The place of a loop over the lists that apply now: those of the current node and of its suffixes, or one that is made
   for the draw.
     for (sampi_lists it = sampi_constraint_lists_of(s); sampi_constraint_next_list(&it);) ... it.list [it.n], tokens
     in order, each once */
typedef struct sampi_lists {
    const sampi_sampler *s;
    const sampi_count *list;
    uint32_t n, node;
    bool is_made, is_over;
} sampi_lists;

/* Makes the list of this draw, for constraints that need a list for each draw (loops, n-grams). Returns its length. */
static uint32_t sampi_constraint_make(const sampi_sampler *s, sampi_count *list)
{
    const sampi_constraint *r = &s->u.constraint;
    const sampi_count *ban = sampi_constraint_bans(s);
    uint32_t n = 0, kept = 0;
    switch (r->what) {
        case SAMPI_CONSTRAINT_NGRAM: {
            const samp_token *exempt = (const samp_token *)sampi_part(s, 2);
            n = sampi_constraint_followers(s, r->ring.size, (uint32_t)r->n - 1, list);
            for (uint32_t i = 0; i < n; i++)
                if (!sampi_constraint_has_token(exempt, (size_t)r->exempt, list[i].token)) list[kept++] = list[i];
            return kept;
        }
        case SAMPI_CONSTRAINT_CUSUM: /* the token to be drawn takes the place of the oldest in a full window */
            if (r->sum < r->alarm) return 0;
            return sampi_constraint_followers(s, r->ring.size - (r->ring.size == r->ring.cap), (uint32_t)r->n - 1,
                                              list);
        case SAMPI_CONSTRAINT_PERIOD:
            if (r->mode) list[n++].token = sampi_constraint_back(s, r->mode - 1);
            return n;
        case SAMPI_CONSTRAINT_THINKING: return sampi_constraint_ramp(s, &list->token) != 0.0f;
        default: break;
    }
    for (uint32_t i = 0; i < r->n_bans; i++)
        if ((uint32_t)ban[i].count == r->at) list[n++] = ban[i];
    sampi_count_sort(list, n);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || list[i].token != list[i - 1].token) list[kept++] = list[i];
    return kept;
}

#ifdef SAMPLING_GRAMMAR_DECLARED
/* Must a grammar's text end here? If this cannot be computed, for want of memory, the answer is no. */
static bool sampi_constraint_matcher_must_end(sampi_matcher *m)
{
    bool ends = false;
    if (m->lazy.waiting) return false;
    for (sampi_attempt turn = { 0, 0, { 0, 0, 0, 0, 0, false, 0 } }; sampi_matcher_attempt(m, &turn);) {
        ends = sampi_matcher_ends(m);
        for (int32_t i = 0; i < m->n_now && ends; i++) {
            int32_t found = -1;
            const sampi_item item = *sampi_grammar_item_at(m, i);
            ends = !(item.flags & SAMPI_STATE_TOKENS) && sampi_grammar_forces_class(m, item.state, &found) &&
                   found < 0;
        }
    }
    return ends && !m->d.status;
}

/* Is one of the grammars of s, a chain or a grammar, at a place where its text must end? */
static bool sampi_constraint_has_grammar_at_end(const sampi_sampler *s)
{
    for (int32_t i = 0, all = sampi_n_active(s); i < all; i++)
        if (sampi_constraint_has_grammar_at_end(s->u.chain.item[i])) return true;
    return s->kind == SAMPI_GRAMMAR && !s->status && sampi_constraint_matcher_must_end((sampi_matcher *)s->base.ctx);
}

/* Must the text end here for a grammar that masks the same draw as s? It is in the same chain, however deep, or beside
   it (samp_grammar_sample). */
static bool sampi_constraint_must_end(const sampi_sampler *s)
{
    bool ends = s->beside && sampi_constraint_has_grammar_at_end(s->beside);
    for (; s->owner && !ends; s = s->owner)
        ends = s->owner->beside && sampi_constraint_has_grammar_at_end(s->owner->beside);
    return ends || sampi_constraint_has_grammar_at_end(s);
}
#else
static bool sampi_constraint_must_end(const sampi_sampler *s)
{
    (void)s;
    return false;
}
#endif

static sampi_lists sampi_constraint_lists_of(const sampi_sampler *s)
{
    const sampi_constraint *r = &s->u.constraint;
    sampi_lists it = { s, NULL, 0, r->node, r->room > 0, false };
    it.is_over = !(it.is_made || r->n_nodes) || (r->what == SAMPI_CONSTRAINT_THINKING && !r->ramp) ||
                 r->what == SAMPI_CONSTRAINT_CLOCK || (r->count && r->at < (uint32_t)r->begin) ||
                 (r->count && r->at - (uint32_t)r->begin >= (uint32_t)r->count) ||
                 (r->what == SAMPI_CONSTRAINT_GROWING && r->at <= (uint32_t)r->begin);
    it.is_over = it.is_over || (r->yields && sampi_constraint_must_end(s));
    return it;
}

static bool sampi_constraint_next_list(sampi_lists *it)
{
    const sampi_sampler *s = it->s;
    if (it->is_made && !it->is_over) {
        it->is_over = true;
        it->list = sampi_constraint_room(s);
        it->n = sampi_constraint_make(s, sampi_constraint_room(s));
        return it->n > 0;
    }
    for (it->n = 0; it->n == 0 && !it->is_over;) {
        const sampi_match_node *here = sampi_constraint_match_nodes(s) + it->node;
        it->list = (const sampi_count *)sampi_part(s, 2) + here->first;
        it->n = here->n;
        it->is_over = here->fail == it->node;
        it->node = here->fail;
    }
    return it->n > 0;
}

/* Returns the new logit of a token in a list of the constraint. */
static float sampi_constraint_change(const sampi_sampler *s, float l, const sampi_count *entry)
{
    const sampi_constraint *r = &s->u.constraint;
    float bias = -INFINITY;
    samp_token token;
    if (sampi_masked(l)) return l;
    if (r->what == SAMPI_CONSTRAINT_GROWING) {
        double power = sampi_powi((double)r->factor, (int32_t)(r->at - (uint32_t)r->begin)) - 1.0;
        float by = power < (double)FLT_MAX ? (float)power : FLT_MAX;
        return sampi_finite(l + sampi_finite(sampi_roundf(fabsf(l) * by)));
    }
    if (r->what == SAMPI_CONSTRAINT_THINKING)
        bias = sampi_constraint_ramp(s, &token);
    else if (r->what != SAMPI_CONSTRAINT_LISTS)
        bias = -r->penalty;
    else if (!r->ban_room)
        memcpy(&bias, &entry->count, 4);
    return sampi_bias_change(l, bias);
}

/* Applies a constraint to an array of candidates, which may be in any order. */
static int sampi_constraint_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_token *only;
    size_t n = sampi_constraint_only(s, &only);
    for (size_t i = 0; n && i < cur->size; i++) {
        if (sampi_constraint_has_token(only, n, cur->data[i].id) || sampi_masked(cur->data[i].logit)) continue;
        cur->data[i].logit = -INFINITY;
        cur->sorted = false;
    }
    if (n) return SAMP_OK;
    for (sampi_lists it = sampi_constraint_lists_of(s); sampi_constraint_next_list(&it);)
        sampi_patch(s, cur, it.list, it.n, sampi_constraint_change);
    return SAMP_OK;
}

/* Applies a long list as a mask, which allows the tokens in the list (keeps) or all others. Returns false if this is
   not possible for the row. */
static bool sampi_constraint_fast_mask(sampi_row *row, const void *list, size_t size, size_t n, bool keeps)
{
    uint32_t *bits = row->work->bits; /* NULL in slices */
    const size_t words = (row->n + 31) / 32;
    /* not possible either if the row has a factor: its products cannot overflow only while the largest is there */
    if (!bits || n < SAMPI_LONG_LIST || sampi_row_is_compact(row) || row->n_change || row->is_own || row->array ||
        row->r != 1.0f || (keeps && row->mask))
        return false;
    if (!row->mask) memset(bits, keeps ? 0 : 0xff, words * sizeof *bits);
    if (row->mask && row->mask != bits) memcpy(bits, row->mask, words * sizeof *bits);
    for (size_t i = 0; i < n; i++) {
        uint32_t token = *(const uint32_t *)(const void *)((const char *)list + i * size), bit = 1u << token % 32;
        if (token >= row->n) break;
        bits[token / 32] = keeps ? bits[token / 32] | bit : bits[token / 32] & ~bit;
    }
    row->x = NULL;
    row->mask = bits;
    return true;
}

/* Keeps only these tokens of a row. The time depends on their number, not on the row's length. */
static int sampi_constraint_fast_only(sampi_row *row, const samp_token *only, size_t n)
{
    float *x = row->work->x, l;
    int32_t *id = row->work->id;
    size_t m = 0, at;
    if (sampi_constraint_fast_mask(row, only, sizeof *only, n, true)) return sampi_row_scan(row);
    for (size_t i = 0; i < n; i++) {
        if (!sampi_row_find_logit(row, only[i], &at, &l)) continue;
        /* written in place: in a compact row no token moves to a higher index */
        samp_token to = sampi_row_id_at(row, at);
        x[m] = sampi_row_logit_of(row, l);
        id[m++] = to;
    }
    sampi_row_set_tokens(row, x, id, m);
    return sampi_row_scan(row);
}

/* Applies a constraint to a row of logits. */
static int sampi_constraint_fast_constraint(sampi_row *row, sampi_sampler *s)
{
    const samp_token *only;
    size_t n = sampi_constraint_only(s, &only), at;
    bool has_masked = false;
    int status;
    float l;
    if (n) return !sampi_is_llama_cpp(s) ? sampi_constraint_fast_only(row, only, n) : SAMPI_DECLINED;
    for (sampi_lists it = sampi_constraint_lists_of(s); sampi_constraint_next_list(&it);) {
        if (s->u.constraint.masks && !sampi_is_llama_cpp(s) &&
            sampi_constraint_fast_mask(row, it.list, sizeof *it.list, it.n, false)) {
            if ((status = sampi_row_scan(row))) return status;
            continue;
        }
        sampi_row_begin_patch(row, it.n);
        for (uint32_t i = 0; i < it.n; i++) {
            if (!sampi_row_find_logit(row, it.list[i].token, &at, &l)) continue;
            l = sampi_constraint_change(s, l, &it.list[i]);
            sampi_row_set_element(row, at, l);
            has_masked |= sampi_masked(l);
        }
    }
    return sampi_row_end_changes(row, has_masked);
}
