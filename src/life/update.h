/* ---- new parameters for a chain in use ----
   samp_chain_update gives a chain new parameters between two tokens. The function builds a new chain from the
   parameters. The new members take over windows, mu and averages from the old members (hook take_over). Then it inserts
   the samplers that the user has added by hand, and swaps the lists of members. Everything that can fail comes before
   the first change of the old chain. A new setting needs no code here. samp_batch_from_params does the same for many
   rows, and builds a chain for each row that has none. The room uses config/orders.h and life/members.h. */

/* Returns the next member of c that is of this kind and was made from parameters, from the index *from on; *from
   becomes the index behind it. NULL: there is no such member. The order of samplers may differ between the old and the
   new chain, so their members are paired by kind and by ordinal within the kind. Members of inner chains are skipped,
   because parameters make no inner chain. */
static SAMPI_COLD sampi_sampler *sampi_life_next_of_kind(const sampi_sampler *c, sampi_kind kind, int32_t *from)
{
    while (*from < c->u.chain.n) {
        SAMPI_COUNT_STEPS(1);
        sampi_sampler *s = c->u.chain.item[(*from)++];
        if (s->kind == kind && s->made_by == SAMPI_BY_PARAMS) return s;
    }
    return NULL;
}

/* Lets all members of `fresh` take over the state of the members of c that they replace, which do not change. A sampler
   that was off has not seen the tokens, so the hook gets NULL in its place; but its mt19937 is taken over if seed and
   random source are the same. n_before [members of c] becomes, for an old member that is replaced, the number of new
   members up to the one that replaces it; 0 for the others. */
static SAMPI_COLD void sampi_life_take_over_states(const sampi_sampler *fresh, const sampi_sampler *c,
                                                   int32_t *n_before)
{
    int32_t from[SAMPI_N_KINDS] = { 0 };
    for (int32_t i = 0; i < c->u.chain.n; i++) n_before[i] = 0;
    for (int32_t i = 0; i < fresh->u.chain.n; i++) {
        sampi_sampler *s = fresh->u.chain.item[i], *old = sampi_life_next_of_kind(c, s->kind, &from[s->kind]);
        const sampi_hooks *hooks = sampi_traits_of(s->kind)->hooks;
        if (hooks->take_over && !s->off) hooks->take_over(s, old && old->off ? NULL : old, c);
        if (!old) continue;
        sampi_take_over_mt(s, old);
        n_before[from[s->kind] - 1] = i + 1;
    }
}

/* Decides where members that were added by hand go in the new list: n_before [i] of such a member becomes the number of
   new members, of n, that come before it. It follows the new member that replaces the nearest member before it (of
   those that are replaced). Members directly in front of the last old member, which selects, stay directly in front of
   the last new one. */
static SAMPI_COLD void sampi_life_find_places(const sampi_sampler *c, int32_t n, int32_t *n_before)
{
    int32_t last = c->u.chain.n - 1, first = 0, place = 0;
    while (last >= 0 && c->u.chain.item[last]->made_by != SAMPI_BY_PARAMS) last--;
    while (first < last && c->u.chain.item[first]->made_by != SAMPI_BY_PARAMS) first++;
    for (int32_t i = 0; i < c->u.chain.n; i++) {
        if (i == last)
            place = n;
        else if (c->u.chain.item[i]->made_by != SAMPI_BY_PARAMS)
            n_before[i] = place;
        else if (n_before[i])
            place = n_before[i];
    }
    for (int32_t i = last - 1; i > first && c->u.chain.item[i]->made_by != SAMPI_BY_PARAMS; i--) n_before[i] = n - 1;
}

/* Fills `item` with the new list of members of c, and returns their number. item has memory for all members of fresh
   and c, and one more; start [members of fresh + 1] is scratch. grammar: a grammar that becomes the first member, or
   replaces the grammar of earlier parameters; or NULL. */
static SAMPI_COLD int32_t sampi_life_merge(sampi_sampler **item, const sampi_sampler *fresh, const sampi_sampler *c,
                                      sampi_sampler *grammar, const int32_t *n_before, int32_t *start)
{
    int32_t at = 0;
    bool replaces = false;
    for (int32_t k = 0; k <= fresh->u.chain.n; k++) start[k] = 0;
    for (int32_t i = 0; i < c->u.chain.n; i++) { /* start [k]: how many members added by hand come after k new ones */
        start[n_before[i]] += c->u.chain.item[i]->made_by != SAMPI_BY_PARAMS;
        replaces |= c->u.chain.item[i]->made_by == SAMPI_AS_GRAMMAR;
    }
    if (grammar && !replaces) item[at++] = grammar;
    for (int32_t k = 0; k <= fresh->u.chain.n; k++) { /* and then the index of the first of these */
        const int32_t n = start[k];
        start[k] = at;
        at += n;
        if (k < fresh->u.chain.n) item[at++] = fresh->u.chain.item[k];
    }
    for (int32_t i = 0; i < c->u.chain.n; i++) {
        sampi_sampler *s = c->u.chain.item[i];
        if (s->made_by == SAMPI_BY_PARAMS) continue;
        item[start[n_before[i]]++] = grammar && s->made_by == SAMPI_AS_GRAMMAR ? grammar : s;
    }
    return at;
}

/* Would one of the n new members have no effect, because it follows a member that selects? Or is c a chain made by hand
   that selects by itself, so that members from parameters would follow its selection? */
static SAMPI_COLD bool sampi_life_has_misplaced(sampi_sampler *const *item, int32_t n, const sampi_sampler *c,
                                           samp_rng_kind rng)
{
    sampi_effect effect = sampi_life_effect_before(c, 0);
    bool by_params = false;
    for (int32_t i = 0; i < c->u.chain.n; i++) by_params |= c->u.chain.item[i]->made_by == SAMPI_BY_PARAMS;
    if (!by_params && sampi_effect_on_selection(c, rng) == SAMPI_CHOOSES) return true;
    for (int32_t i = 0; i < n; i++) {
        sampi_effect own = sampi_effect_on_selection(item[i], rng);
        if (own == SAMPI_UNDOES && effect == SAMPI_CHOOSES) return true;
        if (own) effect = own;
    }
    return false;
}

/* Replaces the members of c by the members of `fresh` and those members of c that were added by hand. If it fails, c is
   unchanged. */
static SAMPI_COLD int sampi_life_swap_members(sampi_sampler *c, sampi_sampler *fresh, sampi_sampler *grammar)
{
    int32_t most = c->u.chain.n + fresh->u.chain.n + 1;
    sampi_sampler **item = (sampi_sampler **)SAMP_MALLOC((size_t)most * (sizeof *item + sizeof(int32_t)));
    if (!item) return SAMP_E_NOMEM;
    sampi_sampler **old = c->u.chain.item;
    int32_t *n_before = (int32_t *)(void *)(item + most);
    sampi_life_take_over_states(fresh, c, n_before);
    sampi_life_find_places(c, fresh->u.chain.n, n_before);
    int32_t n = sampi_life_merge(item, fresh, c, grammar, n_before, n_before + c->u.chain.n);
    if (sampi_life_has_misplaced(item, n, c, fresh->rng)) {
        SAMP_FREE(item);
        return SAMP_E_UNSUPPORTED;
    }
    for (int32_t i = 0; i < c->u.chain.n; i++)
        if (old[i]->made_by == SAMPI_BY_PARAMS || (grammar && old[i]->made_by == SAMPI_AS_GRAMMAR))
            sampi_life_free_member(old[i]);
    c->rng = fresh->rng;
    c->u.chain.item = item;
    c->u.chain.n = n;
    c->u.chain.cap = most;
    fresh->u.chain.n = 0;
    if (grammar) grammar->made_by = SAMPI_AS_GRAMMAR;
    for (int32_t i = 0; i < n; i++) {
        item[i]->owner = c;
        if (sampi_rng_differs(item[i], c)) samp_set_rng(&item[i]->base, c->rng);
    }
    SAMP_FREE(old);
    sampi_edited(c);
    return SAMP_OK;
}

/* After an error the chain is unchanged. In any case it keeps its position, its list of tokens (prev), its counts and
   its workspace. */
SAMP_API SAMPI_COLD int samp_chain_update(samp_sampler *chain, const samp_params *params)
{
    sampi_sampler *c = (sampi_sampler *)chain, *grammar = params ? (sampi_sampler *)params->grammar : NULL;
    int status = chain && params ? samp_status(chain, NULL) : SAMP_E_NULL;
    if (!status && !sampi_is_chain(c)) status = SAMP_E_RANGE;
    for (int32_t i = 0; grammar && i < samp_chain_n(chain); i++)
        if (c->u.chain.item[i] == grammar) grammar = NULL; /* this grammar is a member already */
    bool free_to_take = grammar && !grammar->owner;
    for (const sampi_sampler *o = c; free_to_take && o; o = o->owner) free_to_take = o != grammar;
    if (!status && grammar && !free_to_take) status = SAMP_E_RANGE;
    if (!status) {
        int32_t any = 0;
        sampi_sampler *fresh = (sampi_sampler *)sampi_build_chain(params, sampi_life_next_of_kind(c, SAMPI_DRY, &any),
                                                                  &status);
        if (!status && c->owner) samp_set_rng(&fresh->base, c->owner->rng); /* as samp_chain_add does */
        if (!status) status = sampi_life_swap_members(c, fresh, grammar);
        samp_free(fresh ? &fresh->base : NULL);
    }
    if (status && free_to_take) samp_free(&grammar->base);
    return status;
}

/* Rows are independent: a row that fails is unchanged, and the other rows are processed. No row gets a chain that
   carries an error. */
SAMP_API SAMPI_COLD int samp_batch_from_params(samp_sampler **rows, const samp_params *params, size_t n_rows,
                                               int *status)
{
    int first = n_rows && (!rows || !params) ? SAMP_E_NULL : SAMP_OK;
    for (size_t r = 0; r < n_rows && rows && params; r++) {
        int bad = SAMP_OK;
        if (rows[r]) {
            bad = samp_chain_update(rows[r], &params[r]);
        } else {
            samp_sampler *chain = samp_chain_from_params(&params[r], &bad);
            if (bad) samp_free(chain);
            if (!bad) rows[r] = chain;
        }
        if (status) status[r] = bad;
        if (!first) first = bad;
    }
    return first;
}
