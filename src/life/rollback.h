/* ================================================================================================ >>rollback
   samp_rollback takes accepted tokens back. While a sampler draws and accepts tokens, this room notes what each token
   changes. A token has one record, which has the old values of the sampler and of all members of its chain.
   samp_rollback restores one record after another, the newest first.

   A token changes few words. For a window of tokens, the record has the token that falls out; the token that comes in
   is in the window. For an mt19937 it has the count of outputs, because the generator can run backwards
   (sampi_mt_back). For positions, averages and mu it has the numbers. The values are those before the first draw since
   the last accepted token, or those before samp_accept if there was no draw. So a draw whose token was not accepted is
   undone together with the next token. Grammars and custom samplers keep notes of their own.

   The outermost sampler keeps the records. A record is valid only as long as nothing but the sampler's own draws and
   tokens changes the sampler. A change by anything else makes the sampler's count of edits (sampi_edited) differ from
   the count that sampi_life_moves has noted. */

/* ---- a sampler's words ----
   The hook `past` of a sampler's kind decides which words of the sampler a record has. A kind with a hook `accept`, or
   with a member in the struct `now`, must name all that these change: what the hook leaves out is not restored. */

/* Notes or restores the list of the chain's last tokens. */
static void sampi_chain_past(sampi_sampler *s, sampi_record *r)
{
    sampi_record_ring(r, &s->u.chain.ring, s->u.chain.prev);
}

/* Notes or restores the words of one sampler: those that its hook names, and the low half of its mt19937's count of
   outputs. Fewer than 2^32 outputs lie between two records, so the low half is enough. */
static void sampi_record_sampler(sampi_sampler *s, sampi_record *r)
{
    const sampi_hooks *hooks = sampi_traits_of(s->kind)->hooks;
    if (s->off) return;
    if (hooks->past) hooks->past(s, r);
#ifndef SAMP_NO_MT19937
    if (!sampi_has_mt(s) || !sampi_is_llama_cpp(s)) return;
    sampi_mt *mt = sampi_mt_of(s);
    uint32_t drawn = (uint32_t)mt->drawn;
    sampi_record_words(r, &drawn, 1);
    sampi_mt_back(mt, mt->drawn - (uint32_t)((uint32_t)mt->drawn - drawn), (uint32_t)s->seed);
#endif
}

/* ---- keeping records ---- */

/* Notes or restores, as `mode` says, all words of the record with the index s->past.next. */
static void sampi_record_all(sampi_sampler *s, sampi_record_mode mode)
{
    sampi_past *past = &s->past;
    sampi_record r = { mode, past->word, (uint32_t)past->next * past->width };
    for (uint32_t i = 0; i < past->n_noted; i++) sampi_record_sampler(past->noted[i], &r);
    if (past->draws) sampi_record_words(&r, &s->position, 2);
}

/* Lists in past->noted those of s and its members that have words in a record, and adds the number of their words to
   past->width. If past->noted is NULL, it only counts. */
static SAMPI_COLD void sampi_past_members(sampi_past *past, sampi_sampler *s)
{
    sampi_record r = { SAMPI_RECORD_WIDTH, NULL, 0 };
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_past_members(past, s->u.chain.item[i]);
    past->draws |= sampi_traits_of(s->kind)->stream && !s->off;
    sampi_record_sampler(s, &r);
    if (r.n == 0) return;
    if (past->noted) past->noted[past->n_noted] = s;
    past->n_noted++;
    past->width += r.n;
}

/* Prepares s->past for records of the last `depth` tokens of s, without any record. A block of memory that is large
   enough is reused. False: there is no memory, and s->past is unchanged. */
static SAMPI_COLD bool sampi_past_make(sampi_sampler *s, int32_t depth)
{
    sampi_past *past = &s->past, count;
    memset(&count, 0, sizeof count);
    sampi_past_members(&count, s);
    if (count.draws) count.width += 2; /* the position */
    size_t list = count.n_noted * sizeof *count.noted, bytes = list + ((size_t)depth + 1) * count.width * 4;
    if (count.width && bytes > past->bytes) {
        void *block = SAMP_MALLOC(bytes);
        if (!block) return false;
        SAMP_FREE(past->noted);
        past->noted = (sampi_sampler **)block;
        past->bytes = bytes;
    }
    count.noted = past->noted;
    count.bytes = past->bytes;
    count.depth = depth;
    count.made = true;
    count.n_edits = s->n_edits;
    if (count.width) count.word = (uint32_t *)(void *)((char *)count.noted + list);
    *past = count;
    past->n_noted = 0;
    if (list) sampi_past_members(past, s);
    past->width = count.width;
    return true;
}

/* Is there memory for records, and are the records in it valid for s as it is now? */
static bool sampi_past_is_good(const sampi_sampler *s) { return s->past.made && s->past.n_edits == s->n_edits; }

/* Makes sure, before s draws or accepts, that there is memory for records. samp_reserve calls it, and so does a batch,
   which must not allocate in its threads. False: there is no memory. A sampler in a chain, or with depth 0, needs no
   records. */
static SAMPI_CALLED bool sampi_past_ready(sampi_sampler *s)
{
    return s->owner || s->past.depth == 0 || sampi_past_is_good(s) || sampi_past_make(s, s->past.depth);
}

/* Counts an edit of s, and writes the record of the next token, unless it has been written already. Every public
   function that draws from s, or lets it accept a token, calls this in place of sampi_edited, before its first change.
   If there is no memory, no record is written, and the older records are invalid. */
static void sampi_life_moves(sampi_sampler *s)
{
    sampi_past *past = &s->past;
    past->made = sampi_past_ready(s) && sampi_past_is_good(s);
    sampi_edited(s);
    if (!past->made) return;
    past->n_edits = s->n_edits;
    if (past->open) return;
    past->open = true;
    sampi_record_all(s, SAMPI_RECORD_NOTE);
}

/* Closes the open record of s, because its token has been accepted. */
static void sampi_life_moved(sampi_sampler *s)
{
    sampi_past *past = &s->past;
    if (!past->open || !past->made) return;
    past->open = false;
    if (past->size < past->depth) past->size++;
    past->next = past->next < past->depth ? past->next + 1 : 0;
}

/* Copies the records of s to its clone, whose samplers are of the same kinds in the same order. False: there is no
   memory. */
static SAMPI_COLD bool sampi_past_copy(sampi_sampler *copy, const sampi_sampler *s)
{
    const sampi_past *past = &s->past;
    if (!sampi_past_is_good(s) || (past->size == 0 && !past->open)) return true;
    if (!sampi_past_make(copy, past->depth)) return false;
    if (copy->past.width != past->width) return true; /* a clone made by a custom sampler may be of another kind */
    if (past->width) memcpy(copy->past.word, past->word, ((size_t)past->depth + 1) * past->width * 4);
    copy->past.size = past->size;
    copy->past.next = past->next;
    copy->past.open = past->open;
    return true;
}

/* For a sampler in a chain the depth takes effect when it leaves the chain. */
SAMP_API SAMPI_COLD int samp_set_rollback(samp_sampler *sampler, int32_t depth)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s) return SAMP_E_NULL;
    if (depth < 0 || depth > SAMPI_MAX_PAST) return SAMP_E_RANGE;
    if (depth == 0) {
        SAMP_FREE(s->past.noted);
        memset(&s->past, 0, sizeof s->past);
    } else if (!samp_status(sampler, NULL) && !s->owner && !sampi_past_make(s, depth)) {
        return SAMP_E_NOMEM;
    }
    s->past.depth = depth;
    return SAMP_OK;
}

/* ---- going back ---- */

/* Returns the status that a user's function has returned. A number above 0 is not a status, and would be taken for a
   token, so it becomes SAMP_E_RANGE. */
static int sampi_life_user_status(int status) { return status > 0 ? (int)SAMP_E_RANGE : status; }

/* The three rounds of a rollback over custom samplers; built-in samplers cannot refuse a rollback. */
typedef enum sampi_back {
    SAMPI_BACK_ASK,  /* asks each sampler if it can go back; those with the hook `ready` prepare it */
    SAMPI_BACK_DO,   /* samplers without that hook go back; each of them may refuse */
    SAMPI_BACK_READY /* samplers with that hook go back, which cannot fail any more */
} sampi_back;

/* Makes one round of a rollback of n tokens: calls the custom samplers of s in order until one refuses. *n_back counts
   the samplers that have gone back. Returns a status. */
static SAMPI_COLD int sampi_rollback_custom(sampi_sampler *s, int32_t n, sampi_back round, int32_t *n_back)
{
    const samp_sampler_i *iface = s->base.iface;
    int status = SAMP_OK;
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n && !status; i++)
        status = sampi_rollback_custom(s->u.chain.item[i], n, round, n_back);
    if (!sampi_is_custom(s)) return status;
    if (!iface->rollback) return iface->accept ? (int)SAMP_E_UNSUPPORTED : SAMP_OK;
    const sampi_hooks *hooks = sampi_traits_of(s->kind)->hooks;
    if (round == SAMPI_BACK_ASK) return hooks->ready ? hooks->ready(s, n) : SAMP_OK;
    if ((hooks->ready != NULL) != (round == SAMPI_BACK_READY)) return SAMP_OK;
    status = sampi_life_user_status(iface->rollback(&s->base, n));
    *n_back += !status;
    return status;
}

/* Undoes a rollback that a sampler has refused in the round SAMPI_BACK_DO: the n_back samplers that have gone back
   accept the last n tokens of `chain` again. */
static SAMPI_COLD void sampi_rollback_undo(sampi_sampler *s, const sampi_sampler *chain, int32_t n, int32_t *n_back)
{
    const samp_sampler_i *iface = s->base.iface;
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        sampi_rollback_undo(s->u.chain.item[i], chain, n, n_back);
    if (!sampi_is_custom(s) || sampi_traits_of(s->kind)->hooks->ready || !iface->rollback || --*n_back < 0) return;
    for (int32_t back = n; back-- > 0 && iface->accept;)
        (void)iface->accept(&s->base, sampi_ring_at(&chain->u.chain.ring, chain->u.chain.prev, (uint32_t)back));
}

/* Rolls all custom samplers of s back by n tokens; if one refuses, all stay as they were. There is one exception: if
   the chain's list of tokens is shorter than n (samp_set_n_prev), samplers that have gone back cannot accept them
   again. */
static SAMPI_COLD int sampi_rollback_customs(sampi_sampler *s, int32_t n)
{
    int32_t n_back = 0;
    int status = sampi_rollback_custom(s, n, SAMPI_BACK_ASK, &n_back);
    if (!status) status = sampi_rollback_custom(s, n, SAMPI_BACK_DO, &n_back);
    if (!status) return sampi_rollback_custom(s, n, SAMPI_BACK_READY, &n_back);
    if (n_back && s->u.chain.ring.size >= (uint32_t)n) sampi_rollback_undo(s, s, n, &n_back);
    return status;
}

/* Returns how many of n tokens the custom samplers of s can take back, as far as this is known without a call of their
   rollback functions. */
static SAMPI_COLD int32_t sampi_life_custom_depth(const sampi_sampler *s, int32_t n)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        n = sampi_life_custom_depth(s->u.chain.item[i], n);
    if (!sampi_is_custom(s)) return n;
    if (!s->base.iface->rollback) return s->base.iface->accept ? 0 : n;
    const sampi_hooks *hooks = sampi_traits_of(s->kind)->hooks;
    return hooks->kept && hooks->kept(s) < n ? hooks->kept(s) : n;
}

SAMP_API SAMPI_COLD int32_t samp_rollback_depth(const samp_sampler *sampler)
{
    const sampi_sampler *s = (const sampi_sampler *)sampler;
    int status = samp_status(sampler, NULL);
    if (status) return status;
    return sampi_past_is_good(s) ? sampi_life_custom_depth(s, s->past.size) : 0;
}

/* A rollback counts as an edit, so the GPU makes a new copy of the chain. The remaining records stay valid. */
SAMP_API SAMPI_COLD int samp_rollback(samp_sampler *sampler, int32_t n)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    int status = samp_status(sampler, NULL);
    if (status) return status;
    sampi_past *past = &s->past;
    bool good = sampi_past_is_good(s);
    if (n < 0 || n > (good ? past->size : 0)) return SAMP_E_RANGE;
    if (n) status = sampi_rollback_customs(s, n);
    if (status || !good) return status;
    sampi_edited(s);
    past->n_edits = s->n_edits;
    if (past->open) sampi_record_all(s, SAMPI_RECORD_DRAWS);
    past->open = false;
    for (past->size -= n; n > 0; n--) {
        past->next = past->next > 0 ? past->next - 1 : past->depth;
        sampi_record_all(s, SAMPI_RECORD_TOKEN);
    }
    return SAMP_OK;
}
