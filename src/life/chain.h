/* =================================================================================================== >>chain
   The operations on samplers: apply, accept, reset, free. Each takes a sampler of any kind, also a chain, and either
   makes its whole change or returns an error and changes nothing. The room calls the hooks of the table of kinds
   (core/table.h); the only kinds it names are chains and custom samplers. Lists of members follow in life/members.h,
   copies in life/copy.h.

   A chain may hold chains, so functions walk it recursively. An apply first notes the state of every member
   (sampi_save_state). At its end sampi_end_draw either advances the position of the outermost sampler or restores the
   noted state. An accept calls custom samplers first, because only they can refuse a token. */

/* Returns the member that masks rows before other members see them (hook `mask`), or NULL. Only a chain's first member
   that is on can be it. */
static sampi_sampler *sampi_first_mask(sampi_sampler *s)
{
    while (sampi_is_chain(s)) {
        int32_t i = 0;
        while (i < s->u.chain.n && s->u.chain.item[i]->off) i++;
        if (i == s->u.chain.n) return NULL;
        s = s->u.chain.item[i];
    }
    return sampi_traits_of(s->kind)->hooks->mask ? s : NULL;
}

/* Does an apply use random numbers, so that the position advances? sampi_end_draw and samp_get_seed ask the outermost
   sampler. A sampler that is off does not draw. One that draws only sometimes (xtc) counts as if it always drew, so
   that the position depends on the settings alone. */
static bool sampi_draws(const sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (sampi_draws(s->u.chain.item[i])) return true;
    return sampi_traits_of(s->kind)->draws && !s->off;
}

/* Notes the state that a draw may change, of s and all its members; sampi_restore_state goes back to it. Called at the
   start of each draw and each apply, and by the GPU's host before a draw that may fail. Writes now.drawn and before. */
static SAMPI_CALLED void sampi_save_state(sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_save_state(s->u.chain.item[i]);
    sampi_note_mt(s);
    s->before = s->now;
}

/* Restores the state that sampi_save_state has noted: after a draw that failed, or whose token a custom sampler
   refused. The caller restores the position. */
static SAMPI_COLD void sampi_restore_state(sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_restore_state(s->u.chain.item[i]);
    s->now = s->before;
    sampi_restore_mt(s);
}

/* Is an id of a short array there twice? What shares a bit with another is compared with all before it. */
static bool sampi_has_doubled_few(const samp_token_data_array *cur)
{
    enum { BITS = 1 << 12 };
    uint32_t seen[BITS / 32] = { 0 };
    for (size_t i = 0; i < cur->size; i++) {
        uint32_t at = (uint32_t)cur->data[i].id % BITS, bit = (uint32_t)1 << at % 32;
        for (size_t k = 0; (seen[at / 32] & bit) && k < i; k++)
            if (cur->data[k].id == cur->data[i].id) return true;
        seen[at / 32] |= bit;
    }
    return false;
}

/* Is an id there twice? All ids are in [0, SAMP_MAX_VOCAB). They are marked in a window of ids, which moves to the
   smallest that is left: two walks over an array of 128k tokens. */
static SAMPI_COLD bool sampi_has_doubled_id(const samp_token_data_array *cur)
{
    enum { WINDOW = 1 << 16 };
    uint32_t seen[WINDOW / 32];
    if (cur->size <= SAMPI_TILE) return sampi_has_doubled_few(cur);
    for (samp_token from = 0, next; from < SAMP_MAX_VOCAB; from = next) {
        memset(seen, 0, sizeof seen);
        next = SAMP_MAX_VOCAB;
        for (size_t i = 0; i < cur->size; i++) {
            samp_token id = cur->data[i].id, at = id - from;
            if (at >= WINDOW && id < next) next = id;
            if (at < 0 || at >= WINDOW) continue;
            if (seen[at / 32] >> at % 32 & 1) return true;
            seen[at / 32] |= (uint32_t)1 << at % 32;
        }
    }
    return false;
}

/* Calls a custom sampler's apply. Returns SAMP_E_RANGE if the user's function left more candidates than before or
   another array. sampi_check_left checks the candidates themselves; its walk over them costs little beside the user's
   own. */
static SAMPI_COLD int sampi_call_custom(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_token_data *data = cur->data;
    size_t size = cur->size;
    int status = sampi_user_status(s->base.iface->apply(&s->base, cur));
    return !status && (cur->size > size || cur->data != data) ? (int)SAMP_E_RANGE : status;
}

/* Checks the candidates that a custom sampler has left: no NaN, ids in [0, SAMP_MAX_VOCAB), no id twice (ids that
   ascend need no search). Whether ids are in the row's vocabulary is checked by the drawing function
   (sampi_accept_selected). */
static SAMPI_COLD SAMPI_CALLED int sampi_check_left(const sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_token_data *data = cur->data;
    bool ascending = true;
    float line[SAMPI_TILE / SAMPI_LINE], max;
    for (size_t at = 0, n; at < cur->size; at += n) { /* if ids ascend, the last one is the largest */
        n = cur->size - at < SAMPI_TILE ? cur->size - at : SAMPI_TILE;
        bool in_order = sampi_use()->survey(data + at, n, NULL, line, &max);
        if (!(max <= FLT_MAX)) return SAMP_E_NAN;
        for (size_t i = in_order ? at + n - 1 : at; i < at + n; i++)
            if (data[i].id < 0 || data[i].id >= SAMP_MAX_VOCAB) return SAMP_E_RANGE;
        ascending &= in_order && (at == 0 || data[at].id > data[at - 1].id);
    }
    if (!sampi_is_llama_cpp(s)) sampi_recheck_order(cur);
    return !ascending && sampi_has_doubled_id(cur) ? SAMP_E_RANGE : SAMP_OK;
}

/* What a draw or an apply has counted so far in the chain. */
typedef struct sampi_ordinals {
    uint32_t next[SAMPI_N_KINDS]; /* for each kind the ordinal of the next sampler */
    bool has_llama_cpp; /* one in llama.cpp's arithmetic has run: `sorted` may be set though ties are not in order */
} sampi_ordinals;

/* Applies a built-in sampler that is on; sampi_run has checked the array. */
static int sampi_run_checked(sampi_sampler *s, samp_token_data_array *cur, uint64_t position, sampi_ordinals *ordinal)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    s->at_position = position;
    s->at_ordinal = ordinal->next[s->kind]++;
    if (!sampi_is_llama_cpp(s)) {
        if (ordinal->has_llama_cpp) sampi_recheck_order(cur); /* they set `sorted` wrongly at ties */
        if (!(traits->flags & SAMPI_SELECTS)) cur->selected = -1;
        return traits->apply(s, cur);
    }
    int before = errno; /* libm sets errno on underflow */
    int status = sampi_apply_of(traits, true)(s, cur);
    errno = before;
    return status;
}

/* Applies s by its definition, as part of the draw with number `position`.
   `ordinal` counts the samplers of each kind that this draw has applied so far, chains in chains included. It gives two
   xtc of one chain different random numbers. Custom samplers and samplers that are off are not counted.
   A sampler that does not select undoes an earlier selection, even one that its row would survive, so that a chain
   draws from every row or from none. llama.cpp keeps the index, whatever candidate is there now.
   sampi_apply_steps calls it for a whole chain, the fast path and the GPU's host for members that they leave to the
   array. It may change the array, and each member's `now`, mt19937, at_position and at_ordinal. On an error the caller
   restores the members, and the array is left half done. */
static int sampi_run(sampi_sampler *s, samp_token_data_array *cur, uint64_t position, sampi_ordinals *ordinal)
{
    int status = samp_status(&s->base, NULL);
    if (status) return status;
    ordinal->has_llama_cpp |= sampi_is_llama_cpp(s);
    if (sampi_is_custom(s)) return (status = sampi_call_custom(s, cur)) ? status : sampi_check_left(s, cur);
    if (sampi_is_chain(s)) {
        for (int32_t i = 0, all = sampi_n_active(s); i < all && !status; i++)
            status = sampi_run(s->u.chain.item[i], cur, position, ordinal);
        return status;
    }
    if ((status = sampi_check(cur)) || sampi_idles(s)) return status;
    return sampi_run_checked(s, cur, position, ordinal);
}

/* Checks the selection: a custom sampler may have written any index, and a later sampler may have masked the token.
   SAMP_E_UNSUPPORTED: no sampler of the chain selects. */
static int sampi_check_selected(const samp_token_data_array *cur)
{
    if (cur->selected < 0 || (size_t)cur->selected >= cur->size) return SAMP_E_UNSUPPORTED;
    return cur->data[cur->selected].logit >= -FLT_MAX ? SAMP_OK : SAMP_E_EMPTY;
}

/* Ends a draw on any path: advances the position of the outermost sampler, or after an error restores the state.
   Returns the status it was given. */
static int sampi_end_draw(sampi_sampler *s, int status)
{
    if (status)
        sampi_restore_state(s);
    else if (sampi_draws(s))
        s->position++;
    return status;
}

/* Defines samp_apply: the whole chain step by step, or an error without a change of the samplers' state. The array is
   checked before an edit is counted or anything is written. The check here is for chains whose first member is a custom
   sampler, which does not check. */
static int sampi_apply_steps(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_ordinals ordinal = { { 0 }, false };
    int status = s && cur ? samp_status(&s->base, NULL) : SAMP_E_NULL;
    if (!status) status = sampi_check(cur);
    if (status) return status;
    if (!sampi_is_llama_cpp(s)) sampi_recheck_order(cur);
    sampi_moves(s);
    sampi_save_state(s);
    return sampi_end_draw(s, sampi_run(s, cur, s->position, &ordinal));
}

/* Takes back a token that another custom sampler has refused: in custom samplers that have a rollback. */
static SAMPI_COLD void sampi_unaccept(sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_unaccept(s->u.chain.item[i]);
    if (sampi_is_custom(s) && s->base.iface->rollback) (void)s->base.iface->rollback(&s->base, 1);
}

/* Makes one of two rounds over the members. The first (custom) calls custom samplers: only they can refuse, and then
   the built-in samplers have not changed. The second calls the built-in samplers' accept hooks and writes prev of
   chains. Samplers that are off are not called; when they are switched on they learn from the chain's prev. samp_accept
   and the GPU's host make both rounds. */
static int sampi_accept(sampi_sampler *s, samp_token token, bool custom)
{
    int status = SAMP_OK;
    if (sampi_is_custom(s) && custom && s->base.iface->accept)
        status = sampi_user_status(s->base.iface->accept(&s->base, token));
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n && !status; i++) {
        status = sampi_accept(s->u.chain.item[i], token, custom);
        for (int32_t k = 0; status && k < i; k++) sampi_unaccept(s->u.chain.item[k]);
    }
    if (custom || sampi_is_custom(s)) return status;
    if (sampi_is_chain(s)) sampi_ring_push(&s->u.chain.ring, s->u.chain.prev, token);
    const sampi_hooks *hooks = sampi_traits_of(s->kind)->hooks;
    if (hooks->accept && !s->off) hooks->accept(s, token);
    return SAMP_OK;
}

/* Everything that can fail comes before the first change of a built-in sampler: the status, then the round of custom
   samplers. The drawing functions end with it too, so on the CPU there is one way to accept a token. */
SAMP_API int samp_accept(samp_sampler *sampler, samp_token token)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s) return SAMP_E_NULL;
    if (token < 0) return SAMP_E_RANGE;
    int status = samp_status(sampler, NULL);
    if (status) return status;
    sampi_moves(s);
    status = sampi_accept(s, token, true);
    if (status) return status;
    sampi_accept(s, token, false);
    sampi_moved(s);
    s->perf.n_accept++;
    return SAMP_OK;
}

/* A custom sampler's own name, or the name of the kind. */
SAMP_API SAMPI_COLD const char *samp_name(const samp_sampler *s)
{
    if (!s) return "";
    const sampi_sampler *t = (const sampi_sampler *)s;
    return s->iface != sampi_builtin() && s->iface->name ? s->iface->name(s) : sampi_traits_of(t->kind)->name;
}

/* Resets the members first, each as if it were alone. A sampler that carries an error has no state; a chain that does
   leaves its members as they are. The workspace stays, because it is no state. */
SAMP_API SAMPI_COLD void samp_reset(samp_sampler *sampler)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s || s->status) return;
    sampi_edited(s);
    if (sampi_is_custom(s) && s->base.iface->reset) s->base.iface->reset(sampler);
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) samp_reset(&s->u.chain.item[i]->base);
    if (sampi_is_chain(s)) s->u.chain.ring.size = s->u.chain.ring.head = 0;
    sampi_reset_state(s);
    samp_perf_reset(sampler);
}

static SAMPI_COLD void sampi_chain_free(sampi_sampler *s)
{
    for (int32_t i = 0; i < s->u.chain.n; i++) samp_free(&s->u.chain.item[i]->base);
    SAMP_FREE(s->u.chain.item);
    SAMP_FREE(s->u.chain.prev);
}

/* The hook needs the whole sampler, so it is called first. Most kinds have no such hook: their parts are in the block.
   */
SAMP_API SAMPI_COLD void samp_free(samp_sampler *sampler)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s) return;
    if (sampi_traits_of(s->kind)->hooks->free) sampi_traits_of(s->kind)->hooks->free(s);
    SAMP_FREE(s->work.block);
    SAMP_FREE(s->past.who);
    SAMP_FREE(s);
}
