/* =================================================================================================== >>chain
   The operations on samplers: apply, accept, reset, free. Each takes a sampler of any kind, also a chain, and either
   makes its whole change or returns an error and changes nothing. The room calls the hooks of the table of kinds
   (core/table.h); it treats only chains and custom samplers by their kind. Lists of members follow in life/members.h,
   copies in life/copy.h.

   A chain may have chains as members, so functions walk it recursively. An apply first notes the state of every member
   (sampi_life_save_state). At its end sampi_life_end_draw either advances the position of the outermost sampler or
   restores the noted state. An accept calls custom samplers first, because only they can refuse a token. */

/* Returns the member that masks a row before other members see it (a grammar, for example: its kind has the hook
   `mask`), or NULL. Only a chain's first member that can change the row can be such a member. */
static sampi_sampler *sampi_life_first_mask(sampi_sampler *s)
{
    while (sampi_is_chain(s)) {
        int32_t i = 0, all = sampi_n_active(s);
        while (i < all && sampi_idles(s->u.chain.item[i])) i++;
        if (i == all) return NULL;
        s = s->u.chain.item[i];
    }
    return sampi_traits_of(s->kind)->hooks->mask ? s : NULL;
}

/* Is a row of n logits shorter than a vocabulary that s or one of its members reads? The tokens that are missing may
   include a grammar's end, so such a row is not sampled. */
static bool sampi_life_is_short(const sampi_sampler *s, size_t n)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (sampi_life_is_short(s->u.chain.item[i], n)) return true;
    const sampi_hooks *hooks = sampi_traits_of(s->kind)->hooks;
    const samp_vocab *vocab = hooks->vocab && !s->off && !s->status ? hooks->vocab(s) : NULL;
    return vocab && vocab->n_vocab > 0 && (size_t)vocab->n_vocab > n;
}

/* Does an apply use random numbers, so that the position advances? sampi_life_end_draw and samp_get_seed ask the
   outermost sampler. A sampler that is off does not draw. One that draws only sometimes (xtc) counts as if it always
   drew, so that the position depends on the settings alone. */
static bool sampi_life_draws(const sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (sampi_life_draws(s->u.chain.item[i])) return true;
    return sampi_traits_of(s->kind)->stream && !s->off;
}

/* Notes the state that a draw may change, of s and all its members, in their records (now.drawn, before);
   sampi_life_restore_state goes back to it. Each draw and each apply begins with this call, and the GPU's host calls it
   before a draw that may fail. */
static SAMPI_CALLED void sampi_life_save_state(sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_life_save_state(s->u.chain.item[i]);
    sampi_note_mt(s);
    s->before = s->now;
}

/* Restores the state that sampi_life_save_state has noted: after a draw that failed, or whose token a custom sampler
   refused. The caller restores the position. */
static SAMPI_COLD void sampi_life_restore_state(sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_life_restore_state(s->u.chain.item[i]);
    s->now = s->before;
    sampi_restore_mt(s);
}

/* Has a short array the same id twice? Each id sets a bit. If the bit was set before, by this id or by another, the id
   is compared with all ids before it. */
static bool sampi_life_has_doubled_few(const samp_token_data_array *cur)
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

/* Has an array the same id twice? All ids are in [0, SAMP_MAX_VOCAB). The function marks the ids of a window of 2^16
   ids in a bitmap, then moves the window to the smallest id above it: two walks over an array of 128k tokens. */
static SAMPI_COLD bool sampi_life_has_doubled_id(const samp_token_data_array *cur)
{
    enum { WINDOW = 1 << 16 };
    uint32_t seen[WINDOW / 32];
    if (cur->size <= SAMPI_TILE) return sampi_life_has_doubled_few(cur);
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

/* Calls a custom sampler's apply. Returns its status; SAMP_E_RANGE if the user's function left more candidates than
   before or another array. sampi_life_check_left then checks the candidates themselves, which takes little time
   beside what the user's function does with them. */
static SAMPI_COLD int sampi_life_call_custom(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_token_data *data = cur->data;
    size_t size = cur->size;
    int status = sampi_life_user_status(s->base.iface->apply(&s->base, cur));
    return !status && (cur->size > size || cur->data != data) ? (int)SAMP_E_RANGE : status;
}

/* Checks the candidates that a custom sampler has left: no logit may be NaN, all ids must be in [0, SAMP_MAX_VOCAB),
   and no id may occur twice (if the ids ascend, this needs no search). The function that draws checks whether the
   selected id is in the row's vocabulary (sampi_accept_selected). */
static SAMPI_COLD SAMPI_CALLED int sampi_life_check_left(const sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_token_data *data = cur->data;
    bool ascending = true;
    float line[SAMPI_TILE / SAMPI_LINE], max;
    for (size_t at = 0, n; at < cur->size; at += n) { /* of ids that ascend, only the last is checked */
        n = cur->size - at < SAMPI_TILE ? cur->size - at : SAMPI_TILE;
        bool in_order = sampi_use()->survey(data + at, n, NULL, line, &max);
        if (!(max <= FLT_MAX)) return SAMP_E_NAN;
        for (size_t i = in_order ? at + n - 1 : at; i < at + n; i++)
            if (data[i].id < 0 || data[i].id >= SAMP_MAX_VOCAB) return SAMP_E_RANGE;
        ascending &= in_order && (at == 0 || data[at].id > data[at - 1].id);
    }
    if (!sampi_is_llama_cpp(s)) sampi_recheck_order(cur);
    return !ascending && sampi_life_has_doubled_id(cur) ? SAMP_E_RANGE : SAMP_OK;
}

/* The samplers that a draw or an apply has run so far in the chain. */
typedef struct sampi_ordinals {
    uint32_t next[SAMPI_N_KINDS]; /* for each kind, how many samplers have run: the ordinal of the next one */
    bool has_llama_cpp; /* a sampler in llama.cpp's arithmetic has run: `sorted` may be set with ties out of order */
    bool is_checked;    /* the array is known to be good (sampi_check) */
    bool ends_draw;     /* the next sampler ends a draw, of which only the token counts */
    sampi_work *work;   /* memory in which samplers may sort, or NULL */
} sampi_ordinals;

/* Applies a built-in sampler that is on, to an array that the caller has checked. */
static int sampi_life_run_checked(sampi_sampler *s, samp_token_data_array *cur, uint64_t position,
                                  sampi_ordinals *ordinal)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    s->at_position = position;
    s->at_ordinal = ordinal->next[s->kind]++;
    if (ordinal->work && cur->size <= ordinal->work->n) s->at_memory = sampi_row_memory_of(ordinal->work);
    s->at_end = ordinal->ends_draw;
    /* the array stays good, unless s may mask tokens */
    ordinal->is_checked = traits->flags & (SAMPI_DROPS | SAMPI_SELECTS | SAMPI_MASKS_NONE);
    const bool is_llama = sampi_is_llama_cpp(s);
    if (!is_llama && ordinal->has_llama_cpp) sampi_recheck_order(cur); /* ties may be out of order */
    if (!is_llama && !(traits->flags & SAMPI_SELECTS)) cur->selected = -1;
    int before = errno; /* libm sets errno on underflow */
    int status = sampi_apply_of(traits, is_llama)(s, cur);
    if (is_llama) errno = before;
    s->at_memory = NULL;
    s->at_end = false;
    return status;
}

/* Applies s by its definition, as part of the draw with the number `position`.
   `ordinal` counts the samplers of each kind that this draw has applied so far, members of inner chains included. It
   gives two xtc of one chain different random numbers. Custom samplers and samplers that are off are not counted.
   A sampler that does not select undoes an earlier selection, even if the selected candidate remains, so that a chain
   draws a token from every row or from no row. llama.cpp keeps the index of the selection, whatever candidate is at
   that index now.
   sampi_life_apply_steps calls this function for a whole chain; the fast path and the GPU's host call it for members
   that they do not run themselves. It may change the array, and each member's `now`, mt19937, at_position and
   at_ordinal. After an error the caller restores the members, and the array may be half changed. */
static int sampi_life_run(sampi_sampler *s, samp_token_data_array *cur, uint64_t position, sampi_ordinals *ordinal)
{
    int status = samp_status(&s->base, NULL);
    if (status) return status;
    ordinal->has_llama_cpp |= sampi_is_llama_cpp(s);
    if (sampi_is_chain(s)) {
        const bool ends = ordinal->ends_draw;
        for (int32_t i = 0, all = sampi_n_active(s); i < all && !status; i++) {
            ordinal->ends_draw = ends && i + 1 == all;
            status = sampi_life_run(s->u.chain.item[i], cur, position, ordinal);
        }
        return status;
    }
    if (sampi_is_custom(s)) {
        ordinal->is_checked = false;
        return (status = sampi_life_call_custom(s, cur)) ? status : sampi_life_check_left(s, cur);
    }
    if ((!ordinal->is_checked && (status = sampi_check(cur))) || sampi_idles(s)) return status;
    return sampi_life_run_checked(s, cur, position, ordinal);
}

/* Checks the selection: a custom sampler may have written any index, and a later sampler may have masked the token.
   SAMP_E_UNSUPPORTED: no sampler of the chain selects. */
static int sampi_life_check_selected(const samp_token_data_array *cur)
{
    if (cur->selected < 0 || (size_t)cur->selected >= cur->size) return SAMP_E_UNSUPPORTED;
    return cur->data[cur->selected].logit >= -FLT_MAX ? SAMP_OK : SAMP_E_EMPTY;
}

/* Ends a draw of any executor: advances the position of the outermost sampler s, or restores the noted state if
   `status` is an error. Returns `status`. */
static int sampi_life_end_draw(sampi_sampler *s, int status)
{
    if (status)
        sampi_life_restore_state(s);
    else if (sampi_life_draws(s))
        s->position++;
    return status;
}

/* Applies a sampler or a whole chain step by step; this defines samp_apply. After an error the samplers' state is
   unchanged. The array is checked before an edit of the sampler is counted and before anything is written. Built-in
   samplers check the array too; the check here is for chains that begin with a custom sampler, which does not. */
static int sampi_life_apply_steps(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_ordinals ordinal = { { 0 }, false, false, false, s ? &s->work : NULL };
    int status = s && cur ? samp_status(&s->base, NULL) : SAMP_E_NULL;
    if (!status) status = sampi_check(cur);
    if (status) return status;
    if (!sampi_is_llama_cpp(s)) sampi_recheck_order(cur);
    sampi_life_moves(s);
    sampi_life_save_state(s);
    return sampi_life_end_draw(s, sampi_life_run(s, cur, s->position, &ordinal));
}

/* Takes a token back in the custom samplers of s that have accepted it and have a rollback function, because another
   custom sampler has refused the token. */
static SAMPI_COLD void sampi_life_unaccept(sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_life_unaccept(s->u.chain.item[i]);
    if (sampi_is_custom(s) && s->base.iface->rollback) (void)s->base.iface->rollback(&s->base, 1);
}

/* Lets s and its members accept a token, in one of two rounds. The first round (custom: true) calls custom samplers.
   Only they can refuse the token, and if one does, the built-in samplers have not changed. The second round calls the
   accept hooks of built-in samplers, and adds the token to the list prev of chains. Built-in samplers that are off are
   not called; when they are switched on, they learn the tokens from the chain's prev. samp_accept and the GPU's host
   make both rounds. */
static int sampi_life_accept(sampi_sampler *s, samp_token token, bool custom)
{
    int status = SAMP_OK;
    if (sampi_is_custom(s) && custom && s->base.iface->accept)
        status = sampi_life_user_status(s->base.iface->accept(&s->base, token));
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n && !status; i++) {
        status = sampi_life_accept(s->u.chain.item[i], token, custom);
        for (int32_t k = 0; status && k < i; k++) sampi_life_unaccept(s->u.chain.item[k]);
    }
    if (custom || sampi_is_custom(s)) return status;
    if (sampi_is_chain(s)) sampi_ring_push(&s->u.chain.ring, s->u.chain.prev, token);
    const sampi_hooks *hooks = sampi_traits_of(s->kind)->hooks;
    if (hooks->accept && !s->off) hooks->accept(s, token);
    return SAMP_OK;
}

/* Everything that can fail comes before the first change of a built-in sampler: the check of the status, then the round
   of custom samplers. The functions that draw call samp_accept too, so on the CPU tokens are accepted by one
   function. */
SAMP_API int samp_accept(samp_sampler *sampler, samp_token token)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s) return SAMP_E_NULL;
    if (token < 0) return SAMP_E_RANGE;
    int status = samp_status(sampler, NULL);
    if (status) return status;
    sampi_life_moves(s);
    status = sampi_life_accept(s, token, true);
    if (status) return status;
    sampi_life_accept(s, token, false);
    sampi_life_moved(s);
    s->perf.n_accept++;
    return SAMP_OK;
}

/* Returns a sampler's own name, or the name of its kind. */
SAMP_API SAMPI_COLD const char *samp_name(const samp_sampler *s)
{
    if (!s) return "";
    const sampi_sampler *t = (const sampi_sampler *)s;
    if (t->name) return t->name;
    return s->iface != sampi_builtin() && s->iface->name ? s->iface->name(s) : sampi_traits_of(t->kind)->name;
}

/* Resets the members first, each as if it were alone. A sampler that carries an error has no state, so nothing is
   reset; if a chain itself carries an error, its members stay as they are. The workspace stays, because it holds no
   state. */
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

/* Frees a member that its chain gives up. */
static SAMPI_COLD void sampi_life_free_member(sampi_sampler *s)
{
    s->owner = NULL;
    samp_free(&s->base);
}

static SAMPI_COLD void sampi_chain_free(sampi_sampler *s)
{
    for (int32_t i = 0; i < s->u.chain.n; i++) sampi_life_free_member(s->u.chain.item[i]);
    SAMP_FREE(s->u.chain.item);
    SAMP_FREE(s->u.chain.prev);
}

/* A member of a chain is not freed, because the chain would use it later; the chain carries the error. The kind's hook
   `free` needs the whole sampler, so it is called first. Most kinds have no such hook, because all their memory is in
   the sampler's block. */
SAMP_API SAMPI_COLD void samp_free(samp_sampler *sampler)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s) return;
    if (s->owner) {
        sampi_edited(s);
        (void)sampi_chain_error(s->owner, SAMP_E_RANGE, "samp_free");
        return;
    }
    if (sampi_traits_of(s->kind)->hooks->free) sampi_traits_of(s->kind)->hooks->free(s);
    SAMP_FREE(s->work.block);
    SAMP_FREE(s->past.noted);
    SAMP_FREE(s);
}
