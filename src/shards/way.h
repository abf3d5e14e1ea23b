/* ---- shards: a row through its chain ----
   How a row passes through the members of its chain, one after another. If a member waits for an answer, the row
   continues at this member with the next message. Every rank takes the same steps, and so asks the same questions at
   the same time; thus the messages of all ranks have the same size. When all remaining candidates are listed, the other
   samplers are applied to the array of them. */

/* Does this sampler change nothing unless it is the last member? That is true for a sampler that selects, if it has no
   state and neither cuts nor changes logits. */
static bool sampi_only_selects(const sampi_sampler *s)
{
    const unsigned flags = SAMPI_SELECTS | SAMPI_DROPS_FAST | SAMPI_OWN_LOGITS;
    return (sampi_flags_of(s) & flags) == SAMPI_SELECTS && !sampi_traits_of(s->kind)->hooks->past;
}

/* Returns the plan of a kind. */
typedef int (*sampi_shard_plan)(sampi_shard_row *, sampi_sampler *);
static sampi_shard_plan sampi_shard_plan_of(sampi_kind kind)
{
    static const sampi_shard_plan plans[SAMPI_N_KINDS] = {
#define SAMPI_SHARD_PLAN(id, plan) sampi_shard_plan_##plan,
        SAMPI_KINDS(SAMPI_SHARD_PLAN)
#undef SAMPI_SHARD_PLAN
    };
    return plans[kind];
}

/* Does a chain have a sampler that may want all tokens listed? A sampler without a plan does, and one whose plan asks
   for a tail, a beginning, Zipf's sums or ties. */
static bool sampi_wants_all(const sampi_sampler *s)
{
    const unsigned flags = sampi_traits_of(s->kind)->flags;
    const sampi_shard_plan plan = sampi_shard_plan_of(s->kind);
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (sampi_wants_all(s->u.chain.item[i])) return true;
    if (sampi_is_chain(s) || sampi_is_custom(s) || s->off || (flags & (SAMPI_ONLY_SHOWS | SAMPI_PATCHES)))
        return false;
    if (s->kind == SAMPI_TOP_K && s->u.top_k.ties) return true;
    return plan == sampi_shard_plan_none || plan == sampi_shard_plan_tail_free ||
           plan == sampi_shard_plan_beginning || plan == sampi_shard_plan_mirostat;
}

/* Runs the plan of the present member. Its random numbers depend on the position and on its ordinal among the samplers
   of its kind. */
static int sampi_shard_run_step(sampi_shard_row *row)
{
    sampi_sampler *s = sampi_row_member(row, 0);
    const unsigned flags = sampi_traits_of(s->kind)->flags;
    s->at_position = row->s->position;
    s->at_ordinal = row->ordinal.next[s->kind];
    if (flags & SAMPI_ONLY_SHOWS) return SAMPI_KNOWN;
    if (flags & SAMPI_PATCHES) return sampi_shard_plan_patch(row, s);
    if (sampi_only_selects(s) && sampi_row_member(row, 1)) return SAMPI_KNOWN;
    return sampi_shard_plan_of(s->kind)(row, s);
}

/* Makes the list of the row's members: those that are on, without softmax, which matters only at the end, and without a
   first member whose mask is applied already. Returns their number, or -1 if the chain is not supported in slices. */
static int sampi_shard_members(sampi_shard_row *row)
{
    sampi_sampler **member = row->shard->member, *last = NULL;
    int all = sampi_row_members(row->s, member, 0), n = 0;
    const sampi_sampler *done = sampi_life_first_mask(row->s);
    row->shard->n_members = 0;
    row->shard->ends_off = all > 0 && member[all - 1]->off;
    for (int i = 0; i < all; i++) {
        if (sampi_is_llama_cpp(member[i])) return -1;
        if (member[i]->off || member[i] == done) continue;
        if (sampi_is_custom(member[i]) || member[i]->kind == SAMPI_RAS) return -1;
        last = member[i];
        if (!(sampi_traits_of(last->kind)->flags & SAMPI_ONLY_SHOWS)) member[n++] = last;
    }
    if (n > 0 && last != member[n - 1]) member[n++] = last; /* the last member ends the selection */
    row->shard->n_members = n;
    return all < 0 ? -1 : n;
}

/* Ends a row in which no member has selected a token. In the steps over an array, a sampler that is off also checks
   that a token remains; so does this function. */
static int sampi_shard_unselected(sampi_shard_row *row)
{
    if (!row->shard->ends_off || (row->has & SAMPI_ASK_TOP)) return SAMP_E_UNSUPPORTED;
    return sampi_must_ask_first(row) ? (int)SAMPI_WAITS : (int)SAMP_E_EMPTY;
}

/* Goes to the next member. */
static void sampi_shard_next(sampi_shard_row *row)
{
    row->ordinal.next[sampi_row_member(row, 0)->kind]++;
    row->at++;
    row->adapts = false;
}

/* Finishes a row all of whose candidates are listed, by applying the other samplers to the array of them. */
static int sampi_shard_finish(sampi_shard_row *row)
{
    samp_token_data_array cur = { row->list, row->n_list, -1, true };
    samp_shard *shard = row->shard;
    samp_logprobs logprobs;
    sampi_job job = sampi_listed_job(row, &logprobs);
    job.accept = !row->logprobs;
    if (row->n_list == 0) return SAMP_E_EMPTY;
    int status = sampi_finish_by_steps(&job, shard->member, row->at, shard->n_members, &cur, &row->ordinal,
                                       &row->token.id);
    if (status == SAMP_E_UNSUPPORTED && shard->ends_off && sampi_check(&cur)) status = SAMP_E_EMPTY;
    row->has_left = row->logprobs != NULL;
    if (row->logprobs) row->left = logprobs.processed;
    return status;
}

/* Closes a row with its token, or with a status. */
static void sampi_shard_close(sampi_shard_row *row, int status)
{
    row->open = false;
    row->ask = 0;
    row->shard->out[row - row->shard->row] = status ? status : row->token.id;
    if (sampi_life_end_draw(row->s, status) == SAMP_OK) row->s->perf.n_sample++;
}

/* Forgets the answers that one member got in one message. */
static void sampi_forget_answers(sampi_shard_row *row) { row->hist = row->runs = NULL; }

/* Runs a row's samplers until one of them needs an answer of all ranks, or the row has its token or a status. */
static void sampi_shard_advance(sampi_shard_row *row)
{
    int n = sampi_shard_members(row), status = n < 0 ? (int)SAMP_E_UNSUPPORTED : (int)SAMPI_KNOWN;
    row->ask = 0;
    if (row->telling) status = SAMPI_ENDS;
    while (status == SAMPI_KNOWN) {
        if (row->at == n) {
            status = sampi_shard_unselected(row);
            break;
        }
        if (sampi_is_listed(row) && row->memory.phase == 0) {
            status = sampi_shard_finish(row);
            if (status == SAMP_OK) status = SAMPI_ENDS;
            break;
        }
        status = sampi_shard_run_step(row);
        if (status != SAMPI_KNOWN) continue;
        sampi_shard_next(row);
        row->memory.phase = 0;
        row->seeks = false;
        sampi_forget_answers(row);
    }
    sampi_forget_answers(row);
    if (status == SAMPI_ENDS && row->logprobs) status = sampi_shard_logprobs(row);
    if (status == SAMPI_WAITS && ++row->rounds > 64 + row->shard->n_vocab / 512) status = SAMP_E_FORMAT;
    if (status != SAMPI_WAITS) sampi_shard_close(row, status == SAMPI_ENDS ? 0 : status);
}
