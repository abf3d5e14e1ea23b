/* ---- constraints: questions of users ----
   Functions with which users ask constraints. samp_rewind_length returns how many tokens to take back, the largest
   number that a member of the chain asks for. The other functions read the first member of their type: the rest of a
   thinking budget, the tokens used, and its stage; the length of a loop; whether a schedule's members are active. All
   of them only read, except samp_thinking_end. */

static int32_t sampi_constraint_rewind_of(const sampi_sampler *s)
{
    int32_t most = s->kind == SAMPI_CONSTRAINT && s->u.constraint.ban_room ? (int32_t)s->u.constraint.mode : 0;
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) {
        int32_t n = sampi_constraint_rewind_of(s->u.chain.item[i]);
        if (most < n) most = n;
    }
    return most;
}

SAMP_API int32_t samp_rewind_length(const samp_sampler *s)
{
    int status = samp_status(s, NULL);
    return status ? status : sampi_constraint_rewind_of((const sampi_sampler *)s);
}

/* Returns the first member of this type, or NULL. */
static sampi_sampler *sampi_constraint_first_limit(const sampi_sampler *s, sampi_constraint_kind what)
{
    sampi_sampler *found = NULL;
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n && !found; i++)
        found = sampi_constraint_first_limit(s->u.chain.item[i], what);
    return s->kind == SAMPI_CONSTRAINT && s->u.constraint.what == what ? (sampi_sampler *)(uintptr_t)s : found;
}

/* Returns the first member of this type in the user's sampler. If there is none, returns NULL and sets *status. */
static sampi_sampler *sampi_constraint_asked_limit(const samp_sampler *s, sampi_constraint_kind what, int *status)
{
    *status = samp_status(s, NULL);
    sampi_sampler *found = *status ? NULL : sampi_constraint_first_limit((const sampi_sampler *)s, what);
    if (!found && !*status) *status = SAMP_E_UNSUPPORTED;
    return found;
}

SAMP_API int32_t samp_thinking_left(const samp_sampler *s)
{
    int status;
    const sampi_sampler *found = sampi_constraint_asked_limit(s, SAMPI_CONSTRAINT_THINKING, &status);
    if (!found) return status;
    const sampi_constraint *r = &found->u.constraint;
    if (r->mode == 0) return -1;
    uint32_t hard = sampi_constraint_hard(r);
    return !sampi_constraint_forces(r) && r->count_in < hard ? (int32_t)(hard - r->count_in) : 0;
}

SAMP_API int32_t samp_thinking_used(const samp_sampler *s)
{
    int status;
    const sampi_sampler *found = sampi_constraint_asked_limit(s, SAMPI_CONSTRAINT_THINKING, &status);
    if (!found || !found->u.constraint.has_plan) return found ? (int32_t)SAMP_E_UNSUPPORTED : status;
    const sampi_constraint *r = &found->u.constraint;
    uint32_t open = r->mode ? r->at - r->since : 0;
    return r->spent > INT32_MAX - open ? INT32_MAX : (int32_t)(r->spent + open);
}

SAMP_API int32_t samp_thinking_now(const samp_sampler *s)
{
    int status;
    const sampi_sampler *found = sampi_constraint_asked_limit(s, SAMPI_CONSTRAINT_THINKING, &status);
    if (!found) return status;
    const sampi_constraint *r = &found->u.constraint;
    if (r->mode == 0) return SAMP_THINKING_NOT;
    if (sampi_constraint_forces(r)) return SAMP_THINKING_ENDS;
    if (sampi_constraint_notes(r)) return SAMP_THINKING_NOTE;
    if (r->count_in >= sampi_constraint_hard(r)) return SAMP_THINKING_GRACE;
    return r->count_in >= sampi_constraint_soft(r) ? SAMP_THINKING_SOFT : SAMP_THINKING_OPEN;
}

/* The call counts as an edit of the chain, but rollback's records stay valid. */
SAMP_API int samp_thinking_end(samp_sampler *s)
{
    int status;
    sampi_sampler *found = sampi_constraint_asked_limit(s, SAMPI_CONSTRAINT_THINKING, &status);
    if (!found) return status;
    sampi_constraint *r = &found->u.constraint;
    sampi_sampler *outer = found;
    while (outer->owner) outer = outer->owner;
    if (r->mode == 0) return SAMP_E_EMPTY;
    const bool good = sampi_past_is_good(outer);
    sampi_edited(found);
    if (good) outer->past.n_edits = outer->n_edits;
    if (sampi_constraint_counts(r)) r->wish = r->at - r->count_in + 1;
    return SAMP_OK;
}

/* ---- loops and schedules ---- */

SAMP_API int32_t samp_loop_length(const samp_sampler *s)
{
    int status;
    const sampi_sampler *found = sampi_constraint_asked_limit(s, SAMPI_CONSTRAINT_PERIOD, &status);
    return found ? (int32_t)found->u.constraint.mode : status;
}

SAMP_API int32_t samp_schedule_holds(const samp_sampler *s)
{
    int status;
    const sampi_sampler *found = sampi_constraint_asked_limit(s, SAMPI_CONSTRAINT_CLOCK, &status);
    return found ? (int32_t)sampi_constraint_is_time(&found->u.constraint) : status;
}
