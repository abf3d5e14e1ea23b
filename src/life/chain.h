/* =================================================================================================== >>chain
   What is done to samplers: applying, accepting, resetting, freeing. A sampler of any kind comes in, a chain too; out
   come a status and either all of the change or none. This room calls the hooks of the table of kinds (core/table.h)
   and knows no kind but chains and custom samplers. Lists of members follow in life/members.h, copies in life/copy.h.

   A chain may hold chains, so functions walk it recursively. The one thing to know: an apply first notes the state of
   every member (sampi_save_state). sampi_end_draw then either moves the position of the outermost sampler on or puts
   all of it back. An accept tells custom samplers first, since only they can refuse a token. */

/* The member that masks rows before any other member sees them (its hook `mask`); NULL: there is none. */
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

/* Does an apply use random numbers, so that the position moves? Asked of the outermost sampler at the end of a
   draw, and by samp_get_seed. What is off draws nothing; what draws only now and then (xtc) counts as if it always
   did, so that the position depends on the settings alone. */
static bool sampi_draws(const sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (sampi_draws(s->u.chain.item[i])) return true;
    return sampi_traits_of(s->kind)->draws && !s->off;
}

/* Note what a draw may change, in s and all its members; sampi_restore_state goes back there. At the start of each
   draw and of each apply; the GPU's host notes it where a draw may still fail. Writes now.drawn and before. */
static SAMPI_CALLED void sampi_save_state(sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_save_state(s->u.chain.item[i]);
    sampi_note_mt(s);
    s->before = s->now;
}

/* As sampi_save_state has noted it: after a draw that failed, and after one whose token a custom sampler refused.
   The position is the caller's business. */
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

/* A custom sampler's apply. What no built-in sampler would make of the array is told, here and in sampi_check_left,
   where a walk over it costs little beside the user's own: more candidates than before, another array, a NaN, an id
   that is a status, or is there twice (ids that ascend are not). The other end of an id's range is the drawer's to know
   (sampi_accept_selected). */
static SAMPI_COLD int sampi_call_custom(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_token_data *data = cur->data;
    size_t size = cur->size;
    int status = sampi_user_status(s->base.iface->apply(&s->base, cur));
    return !status && (cur->size > size || cur->data != data) ? (int)SAMP_E_RANGE : status;
}

/* What a custom sampler has left. */
static SAMPI_COLD SAMPI_CALLED int sampi_check_left(const sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_token_data *data = cur->data;
    bool ascending = true;
    float line[SAMPI_TILE / SAMPI_LINE], max;
    for (size_t at = 0, n; at < cur->size; at += n) { /* where ids ascend the last is the largest */
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

/* What a draw or an apply has seen so far of the chain. */
typedef struct sampi_ordinals {
    uint32_t next[SAMPI_N_KINDS]; /* of each kind: the ordinal of the next one */
    bool has_llama_cpp;           /* one in llama.cpp's arithmetic: `sorted` says nothing about ties behind it */
} sampi_ordinals;

/* One built-in sampler that is on: what sampi_run does behind its check. */
static int sampi_run_checked(sampi_sampler *s, samp_token_data_array *cur, uint64_t position, sampi_ordinals *ordinal)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    s->at_position = position;
    s->at_ordinal = ordinal->next[s->kind]++;
    if (!sampi_is_llama_cpp(s)) {
        if (ordinal->has_llama_cpp) sampi_recheck_order(cur); /* these set it where it isn't so */
        if (!(traits->flags & SAMPI_SELECTS)) cur->selected = -1;
        return traits->apply(s, cur);
    }
    int before = errno; /* libm's functions set it on underflow */
    int status = sampi_apply_of(traits, true)(s, cur);
    errno = before;
    return status;
}

/* Apply s, by its definition, as part of the draw number `position`. ordinal counts the samplers
   of each kind that this draw has applied so far, chains in chains included: it tells two xtc in one chain apart
   in the random counter. A custom sampler, and one that is off, counts for nothing. A selection ends with the next
   sampler that does not select, whether it would hurt this row's or not, so that a chain draws from all rows or none;
   llama.cpp keeps the index, whatever stands there now. Called by sampi_apply_steps for the
   whole of a chain, by the fast path and by the GPU's host for members that they leave to the array. May change
   the array, and of each member `now`, its mt19937, at_position and at_ordinal; on an error the caller restores
   them, and the array is left half done. */
static int sampi_run(sampi_sampler *s, samp_token_data_array *cur, uint64_t position, sampi_ordinals *ordinal)
{
    int status = samp_status(&s->base, NULL);
    if (status) return status;
    ordinal->has_llama_cpp |= sampi_is_llama_cpp(s);
    if (sampi_is_custom(s)) return (status = sampi_call_custom(s, cur)) ? status : sampi_check_left(s, cur);
    if (sampi_is_chain(s)) {
        for (int32_t i = 0, all = sampi_n_at_work(s); i < all && !status; i++)
            status = sampi_run(s->u.chain.item[i], cur, position, ordinal);
        return status;
    }
    if ((status = sampi_check(cur)) || sampi_idles(s)) return status;
    return sampi_run_checked(s, cur, position, ordinal);
}

/* Is what was selected a token? Before it is believed, since a custom sampler may have written any index, or a
   later one may have masked it. UNSUPPORTED: no sampler of the chain selects. */
static int sampi_check_selected(const samp_token_data_array *cur)
{
    if (cur->selected < 0 || (size_t)cur->selected >= cur->size) return SAMP_E_UNSUPPORTED;
    return cur->data[cur->selected].logit >= -FLT_MAX ? SAMP_OK : SAMP_E_EMPTY;
}

/* The end of a draw, on whatever path: the position of the outermost sampler moves on, or after an error the state
   is what it was. Returns the status it was given. */
static int sampi_end_draw(sampi_sampler *s, int status)
{
    if (status)
        sampi_restore_state(s);
    else if (sampi_draws(s))
        s->position++;
    return status;
}

/* The definition of what samp_apply makes of an array: all of it, step by step, or nothing of the samplers' state. The
   array is checked before anything is counted as an edit or written, also for a chain whose first member is a custom
   sampler, which would not check it. */
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

/* Custom samplers that have been told of a token which another one has refused: back before it, those that can. */
static SAMPI_COLD void sampi_unaccept(sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_unaccept(s->u.chain.item[i]);
    if (sampi_is_custom(s) && s->base.iface->rollback) (void)s->base.iface->rollback(&s->base, 1);
}

/* One of two rounds over the members: custom samplers are told first, since only they can refuse, and then the
   built-in ones have not changed. Those that are off are not told: what they had to learn is in the chain's prev.
   Each round is one call: samp_accept makes both, the GPU's host too. The second writes prev of chains, and what
   the accept hooks change. */
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

/* All that can fail comes before the first change of a built-in sampler: the status, then the round of custom
   ones. The drawing functions end with it too, so on the CPU a token is accepted in one way only. */
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

/* A custom sampler's own name, if it has one, stands before that of its kind. */
SAMP_API SAMPI_COLD const char *samp_name(const samp_sampler *s)
{
    if (!s) return "";
    const sampi_sampler *t = (const sampi_sampler *)s;
    return s->iface != sampi_builtin() && s->iface->name ? s->iface->name(s) : sampi_traits_of(t->kind)->name;
}

/* Members first, each as if it were alone. What carries an error has no state, and a chain with an error of its
   own leaves its members as they are. The workspace stays: it is no state. */
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

/* The hook gets a whole sampler, so it is called first. Most kinds have none: their parts lie in the block. */
SAMP_API SAMPI_COLD void samp_free(samp_sampler *sampler)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s) return;
    if (sampi_traits_of(s->kind)->hooks->free) sampi_traits_of(s->kind)->hooks->free(s);
    SAMP_FREE(s->work.block);
    SAMP_FREE(s->past.who);
    SAMP_FREE(s);
}
