/* ---- a draw ----
   One token from one row: the plan of the chain, its members on the row, and, where one declines, the rest over the
   array; then the token is accepted and log-probabilities are told. A custom sampler has to see what the steps would
   show it, so the row serves up to where that is known. samp_sample, batches and samp_verify draw by sampi_draw_fast.
   */

/* The token that an array has selected. If a custom sampler refuses it, it is as if it had not been drawn: the caller
   puts the state back, and no log-probability is told. */
static int sampi_accept_selected(const sampi_job *job, samp_token_data_array *cur, samp_token *token)
{
    *token = cur->data[cur->selected].id;
    if ((size_t)*token >= job->n) return SAMP_E_RANGE; /* a custom sampler's */
    int status = job->accept ? samp_accept(&job->s->base, *token) : SAMP_OK;
    if (!status && job->logprobs) sampi_array_logprobs(cur, &job->logprobs->processed);
    return status;
}

/* What the fast path has to do for a chain: its members that do something, softmax left out, which only sorts and sets
   p. A custom sampler among them, or one behind the selection, is for sampi_draw_part_fast. */
typedef struct sampi_plan {
    sampi_sampler *member[SAMPI_PLAN]; /* [n_members], of chains in the chain too, in order */
    sampi_sampler *list[SAMPI_PLAN];   /* [n] those of them to be done */
    int n_members;                     /* -1: sampi_members has none; these go step by step */
    int n;
    bool whole; /* list goes from the logits to a token */
} sampi_plan;

static void sampi_plan_chain(sampi_plan *plan, sampi_sampler *s)
{
    plan->n_members = sampi_members(s, plan->member, 0);
    plan->n = 0;
    plan->whole = false;
    const sampi_sampler *done = sampi_first_mask(s); /* it is in the row's mask */
    for (int i = 0; i < plan->n_members; i++) {
        sampi_sampler *member = plan->member[i];
        if (member->off || member == done) continue;
        if (sampi_is_custom(member) || plan->whole) {
            plan->whole = false;
            return;
        }
        unsigned flags = sampi_traits_of(member->kind)->flags;
        if (flags & SAMPI_ONLY_SHOWS) continue;
        plan->list[plan->n++] = member;
        plan->whole = (flags & SAMPI_SELECTS) != 0;
    }
}

/* How many members from the first on leave an array that is known to the last byte, though it was not there: they
   don't write p, and the order is that of the last one that sorts, or by id up to the first that may have sorted
   (one that drops tokens, where min_keep decides). The array must be free of masked tokens then, as after those that
   drop some. */
static int sampi_known_members(const sampi_plan *plan, bool *sorted)
{
    int known = 0;
    bool by_id = true;
    *sorted = false;
    for (int i = 0; i < plan->n_members; i++) {
        const sampi_sampler *member = plan->member[i];
        unsigned flags = sampi_traits_of(member->kind)->flags;
        if (member->off) continue;
        if (!(flags & SAMPI_KEEPS_P)) break;
        if (!(flags & SAMPI_DROPS)) continue;
        if (!(flags & SAMPI_SORTS)) {
            by_id = by_id && member->u.cut.min_keep <= 1;
            if (!by_id) continue;
        } else {
            by_id = false;
        }
        known = i + 1;
        *sorted = !by_id;
    }
    return known;
}

/* One sampler on the row. */
static int sampi_run_fast(sampi_row *row, sampi_sampler *member, uint64_t position, uint32_t *ordinal)
{
    const sampi_traits *traits = sampi_traits_of(member->kind);
    if (row->floor > -FLT_MAX && !(traits->flags & SAMPI_TAKES_FLOOR)) sampi_compact(row);
    if (!traits->fast || (member->draft && (traits->flags & SAMPI_SELECTS))) return SAMPI_DECLINED;
    member->at_position = position;
    member->at_ordinal = ordinal[member->kind];
    int status = traits->fast(row, member);
    if (status == SAMP_OK) ordinal[member->kind]++; /* else the steps count it */
    return status;
}

/* Members from .. n on an array (>>apply). */
static int sampi_apply_members(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                               samp_token_data_array *cur, const uint32_t *ordinal);

/* The rest of a draw, members from .. n, over an array. */
static SAMPI_COLD int sampi_finish_by_steps(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                                            samp_token_data_array *cur, const uint32_t *ordinal, samp_token *token)
{
    int status = sampi_apply_members(job, member, from, n, cur, ordinal);
    if (!status) status = sampi_check_selected(cur);
    return status ? status : sampi_accept_selected(job, cur, token);
}

/* A draw with a custom sampler, which is to see exactly what the steps would show it: fast as far as that is known,
   then step by step. SAMPI_DECLINED before anything has changed, or a status. */
static int sampi_draw_part_fast(const sampi_job *job, const sampi_plan *plan, sampi_row *row, samp_token *token)
{
    sampi_sampler *s = job->s;
    uint32_t ordinal[SAMPI_N_KINDS] = { 0 };
    bool sorted;
    int known = sampi_known_members(plan, &sorted), status = known ? sampi_open_row(row, job) : (int)SAMPI_DECLINED;
    for (int i = 0; i < known && !status; i++)
        if (!plan->member[i]->off) status = sampi_run_fast(row, plan->member[i], s->position, ordinal);
    if (status) return status; /* none of these has a state that a draw changes */
    sampi_compact(row);
    for (size_t i = 0; i < row->n; i++) /* the row's -0 would be +0 by now, but one that a sampler made would not */
        if (row->x[i] == 0.0f && copysignf(1.0f, row->x[i]) < 0.0f) return SAMPI_DECLINED;
    samp_token_data_array cur = sampi_row_array(row);
    if (sorted) sampi_sort_all(&cur);
    sampi_save_state(s);
    s->perf.n_steps++;
    return sampi_end_draw(s, sampi_finish_by_steps(job, plan->member, known, plan->n_members, &cur, ordinal, token));
}

/* One sampler on a dense row in llama.cpp's arithmetic, `last` of the chain or not. If it declines it has drawn
   nothing. */
static SAMPI_COLD int sampi_run_llama(sampi_row *row, sampi_sampler *member, bool last)
{
    const sampi_traits *traits = sampi_traits_of(member->kind);
    sampi_mt before;
    if (!traits->fast_llama || (traits->flags & SAMPI_SELECTS && !last)) return SAMPI_DECLINED;
    const uint64_t scaled = SAMPI_KIND_BIT(TOP_K) | SAMPI_KIND_BIT(TOP_P) | SAMPI_KIND_BIT(MIN_P) |
                            SAMPI_KIND_BIT(GREEDY) | SAMPI_KIND_BIT(DIST) | SAMPI_KIND_BIT(ADAPTIVE_P);
    const uint64_t by_order = SAMPI_KIND_BIT(TOP_K) | SAMPI_KIND_BIT(TOP_P) | SAMPI_KIND_BIT(MIN_P) |
                              SAMPI_KIND_BIT(TYPICAL) | SAMPI_KIND_BIT(TEMP) | SAMPI_KIND_BIT(TEMP_EXT) |
                              SAMPI_KIND_BIT(GREEDY) | SAMPI_KIND_BIT(DIST) | SAMPI_KIND_BIT(MIROSTAT) |
                              SAMPI_KIND_BIT(MIROSTAT_V2);
    const uint64_t kind = (uint64_t)1 << member->kind;
    bool takes_floor = traits->flags & SAMPI_TAKES_FLOOR || member->kind == SAMPI_MIN_P;
    if (row->by_order && (!(by_order & kind) || (row->divided && member->kind != SAMPI_DIST))) return SAMPI_DECLINED;
    if ((row->divided && !(scaled & kind)) || (row->floor > -FLT_MAX && !takes_floor)) sampi_flatten(row);
    if (sampi_has_mt(member)) before = *sampi_mt_of(member);
    int status = traits->fast_llama(row, member);
    if (status == SAMPI_DECLINED && sampi_has_mt(member)) *sampi_mt_of(member) = before;
    return status;
}

/* The rest of a draw in llama.cpp's arithmetic, over row->cur. Long arrays are drawn from by kernels. */
static SAMPI_COLD int sampi_finish_llama(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                                         sampi_row *row, samp_token *token)
{
    uint32_t ordinal[SAMPI_N_KINDS] = { 0 };
    samp_token_data_array *cur = &row->cur;
    int status = sampi_check(cur), before = errno; /* libm's functions set it on underflow */
    if (status) return status;
    if (member[n - 1]->kind != SAMPI_DIST || cur->size <= SAMPI_TILE)
        return sampi_finish_by_steps(job, member, from, n, cur, ordinal, token);
    status = sampi_apply_members(job, member, from, n - 1, cur, ordinal);
    if (!status) status = sampi_check(cur);
    if (status) return status;
    sampi_llama_dist_array(row, sampi_mt_double(sampi_mt_of(member[n - 1])));
    errno = before;
    return sampi_accept_selected(job, cur, token);
}

/* One draw in llama.cpp's arithmetic: members on the row until it is an array, then step by step. A custom sampler sees
   exactly what the steps would show it, so before it nobody may write p. SAMPI_DECLINED before anything has changed. */
static SAMPI_COLD int sampi_draw_llama(const sampi_job *job, const sampi_plan *plan, sampi_row *row,
                                       samp_token *token)
{
    sampi_sampler *s = job->s, *member[SAMPI_PLAN];
    int n = 0, i = 0, known = 0, before = errno, status = sampi_open_row(row, job);
    sampi_row last;
    bool by_steps = false;
    if (status) return status;
    row->expf = sampi_expf_of(row->work, row->k);
    const sampi_sampler *done = plan->whole ? sampi_first_mask(s) : NULL; /* it is in the row's mask */
    for (int j = 0; j < plan->n_members; j++) { /* one that is off says whether what may mask all has left anything */
        const unsigned flags = n ? sampi_traits_of(member[n - 1]->kind)->flags : 0;
        bool masks = !plan->whole && (flags & SAMPI_PATCHES) && !(flags & SAMPI_MASKS_NONE);
        bool is_late = n > 0 && (masks || sampi_is_custom(member[n - 1]));
        if ((!plan->member[j]->off || is_late) && plan->member[j] != done) member[n++] = plan->member[j];
    }
    while (known < n && (plan->whole || (sampi_traits_of(member[known]->kind)->flags & SAMPI_KEEPS_P))) known++;
    if (known == 0) return SAMPI_DECLINED;
    sampi_save_state(s);
    while (i < known && !row->cur.data && row->token < 0 && !status) {
        bool takes = member[i]->kind == SAMPI_GREEDY || member[i]->kind == SAMPI_DIST;
        last = *row;
        if (!member[i]->off) status = sampi_run_llama(row, member[i], i + 1 == n && (takes || !job->logprobs));
        if (!status) i++;
    }
    if (status == SAMPI_DECLINED || (!status && !row->cur.data && row->token < 0)) {
        bool sorts = i < known && row->n > 2 && sampi_llama_sorts(member[i]) && sampi_is_full(row);
        sampi_llama_array(row, row->by_order || (sorts && plan->whole));
        by_steps = true;
        status = SAMP_OK;
    }
    errno = before; /* libm's functions set it on underflow */
    if (!plan->whole && (status || sampi_check(&row->cur))) return SAMPI_DECLINED;
    for (size_t j = 0; !plan->whole && j < row->cur.size; j++) /* +0 here may be -0 there */
        if (row->cur.data[j].logit == 0.0f) return SAMPI_DECLINED;
    s->perf.n_steps += by_steps;
    if (!status && row->cur.data) {
        status = sampi_finish_llama(job, member, i, n, row, token);
    } else if (!status) {
        *token = row->token;
        if (job->accept) status = samp_accept(&s->base, *token);
        if (!status && job->logprobs) {
            sampi_compact(&last);
            sampi_row_logprobs(&last, *token, &job->logprobs->processed);
        }
    }
    return sampi_end_draw(s, status);
}

/* One whole draw. SAMPI_DECLINED before anything has changed, or a status. */
static int sampi_draw_fast(const sampi_job *job, samp_token *token)
{
    uint32_t ordinal[SAMPI_N_KINDS] = { 0 };
    sampi_sampler *s = job->s;
    sampi_row row;
    sampi_plan plan;
    int i = 0, status;
    sampi_plan_chain(&plan, s);
    if (plan.n_members > 0 && plan.member[0]->rng == SAMP_RNG_MT19937)
        return sampi_draw_llama(job, &plan, &row, token);
    if (!plan.whole) return sampi_draw_part_fast(job, &plan, &row, token);
    if (job->logprobs && sampi_traits_of(plan.list[plan.n - 1]->kind)->flags & SAMPI_OWN_LOGITS)
        return SAMPI_DECLINED;
    if ((status = sampi_open_row(&row, job))) return status;
    sampi_save_state(s);
    while (i < plan.n && (status = sampi_run_fast(&row, plan.list[i], s->position, ordinal)) == SAMP_OK) i++;
    if (status == SAMPI_DECLINED) { /* by list [i]: the row becomes an array */
        if (row.floor > -FLT_MAX) sampi_compact(&row);
        samp_token_data_array cur = sampi_row_array(&row);
        s->perf.n_steps++;
        status = sampi_finish_by_steps(job, plan.list, i, plan.n, &cur, ordinal, token);
    } else if (!status) {
        *token = row.token;
        if (job->accept) status = samp_accept(&s->base, *token);
        if (!status && job->logprobs) sampi_row_logprobs(&row, *token, &job->logprobs->processed);
    }
    return sampi_end_draw(s, status);
}
