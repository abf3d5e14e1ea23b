/* ---- shards: a row's way through its chain ----
   Which step is next. A row goes forward only, from one member of its chain to the next; a step that waits is where
   the row goes on with the next message. Every rank takes the same way, and so asks the same questions at the same
   time: that is what keeps messages of one size. When all candidates that are left are listed, the samplers over the
   array finish the row. */

/* The members that are on, but for softmax, which changes nothing but at the end, and one that is in the mask.
   -1: not to be done here. */
static int sampi_shard_members(sampi_sampler *s, sampi_sampler **member)
{
    int all = sampi_members(s, member, 0), n = 0;
    const sampi_sampler *done = sampi_first_mask(s);
    sampi_sampler *last = NULL;
    for (int i = 0; i < all; i++) {
        if (sampi_is_llama_cpp(member[i])) return -1;
        if (member[i]->off || member[i] == done) continue;
        if (sampi_is_custom(member[i])) return -1;
        last = member[i];
        if (!(sampi_traits_of(last->kind)->flags & SAMPI_ONLY_SHOWS)) member[n++] = last;
    }
    if (n > 0 && last != member[n - 1]) member[n++] = last; /* behind it nothing is selected */
    return all < 0 ? -1 : n;
}

/* One member's turn. What it draws from its seed depends on the position and on which one of its kind it is. */
static int sampi_shard_step(samp_shard *shard, sampi_shard_row *row, sampi_sampler *const *member, int n)
{
    sampi_sampler *s = member[row->at];
    s->at_position = row->s->position;
    s->at_ordinal = row->ordinal[s->kind];
    switch (s->kind) {
        case SAMPI_CONSTRAINT:
        case SAMPI_LOGIT_BIAS:
        case SAMPI_PENALTIES:
        case SAMPI_DRY: return sampi_shard_patch(row, s);
        case SAMPI_TOP_N_SIGMA: return sampi_shard_sigma(row, s);
        case SAMPI_TOP_K: return sampi_shard_top_k(shard, row, member, n, s);
        case SAMPI_TAIL_FREE: return sampi_shard_tail_free(shard, row, s);
        case SAMPI_TYPICAL: return sampi_shard_typical(shard, row, member, n, s);
        case SAMPI_TOP_P: return sampi_shard_top_p(shard, row, member, n, s);
        case SAMPI_MIN_P: return sampi_shard_min_p(shard, row, member, n, s);
        case SAMPI_TOP_A:
        case SAMPI_P_LESS:
        case SAMPI_EPSILON:
        case SAMPI_ETA: return sampi_shard_by_sums(shard, row, member, n, s);
        case SAMPI_XTC: return sampi_shard_xtc(row, s);
        case SAMPI_INFILL:
            if (sampi_lacks(row, SAMPI_ASK_LIST)) return SAMPI_STEP_WAITS;
            return sampi_ask_more(row);
        case SAMPI_TEMP:
        case SAMPI_TEMP_EXT: return sampi_shard_temp(row, s);
        case SAMPI_GREEDY:
            if (row->at + 1 < n) return 0;
            if (sampi_lacks_first(row)) return SAMPI_STEP_WAITS;
            row->token = row->list[0];
            return sampi_shard_accept(row, n);
        case SAMPI_DIST: return sampi_shard_dist(row, n);
        case SAMPI_MIROSTAT: return sampi_shard_mirostat(shard, row, member, n, s);
        case SAMPI_MIROSTAT_V2: return sampi_shard_mirostat_v2(row, s, n);
        case SAMPI_ADAPTIVE_P: return sampi_shard_adaptive_p(shard, row, s, n);
        case SAMPI_SMOOTHING: return sampi_shard_smoothing(row, s);
        case SAMPI_SOFTMAX: return 0;
#ifdef SAMPLING_GUMBEL_DECLARED
        case SAMPI_GUMBEL: return sampi_shard_gumbel(row, n);
#endif
        default: return SAMP_E_UNSUPPORTED; /* top_h, min_k, log_softmax, top_p_decay, and whoever is new */
    }
}

/* All candidates are listed: the rest is the array's. */
static int sampi_shard_finish(samp_shard *shard, sampi_shard_row *row, sampi_sampler *const *member, int n)
{
    samp_token_data_array cur = { row->list, row->n_list, -1, true };
    sampi_job job;
    memset(&job, 0, sizeof job);
    job.s = row->s;
    job.work = &shard->work;
    job.n = shard->n_vocab;
    job.accept = !row->logprobs;
    if (row->n_list == 0) return SAMP_E_EMPTY;
    if (row->drawing) { /* mirostat has cut */
        row->ordinal[member[row->at]->kind]++;
        (void)sampi_mirostat_select(member[row->at++], &cur);
    }
    if (!row->logprobs) return sampi_finish_by_steps(&job, member, row->at, n, &cur, row->ordinal, &row->token.id);
    samp_logprobs told = *row->logprobs;
    job.logprobs = &told;
    int status = sampi_finish_by_steps(&job, member, row->at, n, &cur, row->ordinal, &row->token.id);
    row->left = told.processed;
    row->has_left = true;
    return status;
}

/* The row has a token, or a status. */
static void sampi_shard_close(samp_shard *shard, sampi_shard_row *row, int status)
{
    row->open = false;
    row->ask = 0;
    shard->out[row - shard->row] = status ? status : row->token.id;
    if (sampi_end_draw(row->s, status) == SAMP_OK) row->s->perf.n_sample++;
}

/* They belong to one member and one message. */
static void sampi_forget_answers(sampi_shard_row *row) { row->hist = row->runs = row->near = NULL; }

/* Go on, until an answer is needed. */
static void sampi_shard_advance(samp_shard *shard, sampi_shard_row *row)
{
    sampi_sampler *member[SAMPI_PLAN];
    int n = sampi_shard_members(row->s, member), status = n < 0 ? (int)SAMP_E_UNSUPPORTED : 0;
    row->ask = 0;
    if (row->telling) status = SAMPI_STEP_ENDS;
    while (status == 0 || status == SAMPI_STEP_LISTED) {
        if (row->at == n) {
            status = SAMP_E_UNSUPPORTED; /* none has selected */
            break;
        }
        if (sampi_is_listed(row)) {
            status = sampi_shard_finish(shard, row, member, n);
            if (status == 0) status = SAMPI_STEP_ENDS;
            break;
        }
        status = sampi_shard_step(shard, row, member, n);
        if (status) continue;
        row->ordinal[member[row->at++]->kind]++;
        row->drawing = row->seeks = row->has_kept = false;
        row->ahead = -INFINITY;
        sampi_forget_answers(row);
    }
    sampi_forget_answers(row);
    if (status == SAMPI_STEP_ENDS && row->logprobs) status = sampi_shard_tell(row);
    if (status == SAMPI_STEP_WAITS && ++row->rounds > 64 + shard->n_vocab / 512) status = SAMP_E_FORMAT;
    if (status != SAMPI_STEP_WAITS) sampi_shard_close(shard, row, status == SAMPI_STEP_ENDS ? 0 : status);
}
