/* ---- shards: the steps that draw ----
   dist, gumbel, mirostat, adaptive_p. A draw takes two rounds: SEGS, the sums of each slice, and DRAW, the token. SEGS
   is often asked for ahead, together with what decides the last cut. It must then be of the same logits and the same
   maximum as if it were asked for now: `drawer` and `draw_max` say what it is of. */

/* Draw from the logits of the member at work. 0: row->token is there. */
static int sampi_shard_draw(sampi_shard_row *row, float max)
{
    if (!(row->has & SAMPI_ASK_SEGS) || row->drawer != row->at) {
        row->drawer = row->at;
        row->draw_max = max;
        row->has &= ~(unsigned)(SAMPI_ASK_SEGS | SAMPI_ASK_DRAW);
        row->attempt = 0;
        row->ask = SAMPI_ASK_SEGS;
        return SAMPI_STEP_WAITS;
    }
    if (row->q == 0) return SAMP_E_FORMAT;
    if ((row->has & SAMPI_ASK_DRAW) && row->drawn != UINT32_MAX) {
        row->has &= ~(unsigned)(SAMPI_ASK_SEGS | SAMPI_ASK_DRAW);
        return 0;
    }
    row->attempt = row->has & SAMPI_ASK_DRAW ? row->attempt + SAMPI_SHARD_TRIES : 0;
    row->has &= ~(unsigned)SAMPI_ASK_DRAW;
    row->ask = SAMPI_ASK_DRAW;
    return SAMPI_STEP_WAITS;
}

/* The token of the last member: accepted, it is the row's. */
static int sampi_shard_accept(sampi_shard_row *row)
{
    if (sampi_row_member(row, 1)) return 0;
    int status = row->logprobs ? SAMP_OK : samp_accept(&row->s->base, row->token.id);
    return status ? status : (int)SAMPI_STEP_ENDS;
}

/* The first one in order, if it is the last. */
static int sampi_shard_greedy(sampi_shard_row *row, sampi_sampler *s)
{
    (void)s;
    if (sampi_row_member(row, 1)) return 0;
    if (sampi_lacks_first(row)) return SAMPI_STEP_WAITS;
    row->token = row->list[0];
    return sampi_shard_accept(row);
}

/* Draws if it is the last. Of what, the maximum's place apart, it need not know: SEGS tells. */
static int sampi_shard_dist(sampi_shard_row *row, sampi_sampler *s)
{
    (void)s;
    if (sampi_row_member(row, 1)) return 0; /* another one draws, from the same */
    if (sampi_lacks_top(row)) return SAMPI_STEP_WAITS;
    int status = sampi_shard_draw(row, row->max);
    return status ? status : sampi_shard_accept(row);
}

#ifdef SAMPLING_GUMBEL_DECLARED
/* Each slice runs its own race; the winner of these has won. */
static int sampi_shard_gumbel(sampi_shard_row *row, sampi_sampler *s)
{
    (void)s;
    if (sampi_row_member(row, 1)) return 0; /* as in dist */
    if (sampi_lacks_top(row)) return SAMPI_STEP_WAITS;
    if (sampi_lacks(row, SAMPI_ASK_RACE)) return SAMPI_STEP_WAITS;
    return sampi_shard_accept(row);
}
#endif

/* Is adaptive_p's largest logit that of a listed token? The others are less likely than the last of these; if that lies
   below the aim, they are farther from it. Where distances nearly tie, rounding may prefer the farther one: the few
   distances that this can be true of are looked at. */
static bool sampi_adaptive_listed(const sampi_shard_row *row, const sampi_sampler *s, float *max)
{
    float x[SAMPI_SHARD_ROOM + 16] = { 0 }, *p = row->shard->work.x, aim = sampi_adaptive_p_aim(s), least = INFINITY;
    double *e = (double *)(void *)row->shard->work.w;
    size_t n = row->n_list;
    if (n == 0 || n > SAMPI_SHARD_ROOM) return false;
    for (size_t i = 0; i < n; i++) x[i] = row->list[i].logit;
    (void)sampi_use()->weights(x, n, row->max, NULL, e);
    sampi_use()->probs(x, e, n, row->max, (double)row->sums.z, p);
    if (p[n - 1] > aim) return false;
    *max = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        float l = sampi_adaptive_p_logit(p[i], aim), distance = fabsf(p[i] - aim);
        if (l > *max) *max = l;
        if (distance < least) least = distance;
    }
    for (float d = aim - p[n - 1]; d <= least * 1.000001f; d = sampi_next_up(d))
        if (sampi_adaptive_p_logit(d, 0.0f) > *max) return false;
    return true;
}

/* Logits by p, which is a float of Z. Their maximum is asked for, if no listed token has it. */
static int sampi_shard_adaptive_p(sampi_shard_row *row, sampi_sampler *s)
{
    if (s->u.adaptive.target < 0.0f) return sampi_shard_dist(row, s);
    if (sampi_lacks(row, SAMPI_ASK_LIST | SAMPI_ASK_SUMS)) return SAMPI_STEP_WAITS;
    if (row->drawer != row->at && !sampi_adaptive_listed(row, s, &row->draw_max)) {
        row->ask = SAMPI_ASK_TOP;
        return SAMPI_STEP_WAITS;
    }
    int status = sampi_shard_draw(row, row->draw_max);
    if (status) return status;
    s->now.pending = row->token.id;
    s->now.pending_p = (float)(sampi_exp(row->max, row->token.logit) / (double)row->sums.z);
    const float *l = sampi_draw_logits(row);
    if (row->row.n) memcpy(row->work.x, l, row->row.n * sizeof *l);
    row->n_list = 0;
    row->has = 0;
    row->reaches = -INFINITY; /* of the logits that were */
    return sampi_shard_accept(row);
}

/* The end of both versions, behind their cuts, which know the maximum. Where few are left the array's selection goes
   on. */
static int sampi_shard_mirostat_draw(sampi_shard_row *row, sampi_sampler *s)
{
    row->drawing = true;
    if (sampi_is_listed(row)) return SAMPI_STEP_LISTED;
    int status = sampi_shard_draw(row, row->max);
    if (status) return status;
    s->now.mu = sampi_mirostat_next(s, (double)row->max - (double)row->token.logit, (double)row->z);
    return sampi_shard_accept(row);
}

/* The first m of the list give Zipf's exponent, and that a number of tokens: a prefix by count, as top_k's. */
static int sampi_shard_mirostat(sampi_shard_row *row, sampi_sampler *s)
{
    size_t m = (size_t)s->u.mirostat.m;
    if (row->drawing) return sampi_shard_mirostat_draw(row, s);
    if (sampi_lacks_for_end(row, SAMPI_ASK_LIST, true)) return SAMPI_STEP_WAITS;
    if (row->n_list < m && row->rest) return sampi_ask_more(row);
    sampi_zipf zipf = { 0.0, 0.0 };
    for (size_t i = 0; i + 1 < m && i + 1 < row->n_list; i++)
        sampi_zipf_add(&zipf, i, row->list[i].logit, row->list[i + 1].logit);
    size_t keep = sampi_zipf_keep(&zipf, s, row->n_list + (size_t)row->rest);
    if (keep <= row->n_list) {
        (void)sampi_keep_listed(row, keep);
    } else if (keep < row->n_list + row->rest) {
        int status = sampi_seek(row, 0.0, 0, keep, INFINITY);
        if (status) return status;
    }
    return sampi_shard_mirostat_draw(row, s);
}

/* mu and Z give a floor. */
static int sampi_shard_mirostat_v2(sampi_shard_row *row, sampi_sampler *s)
{
    if (row->drawing) return sampi_shard_mirostat_draw(row, s);
    if (sampi_lacks(row, SAMPI_ASK_LIST | SAMPI_ASK_SUMS)) return SAMPI_STEP_WAITS;
    double floor = sampi_mirostat_floor(s, row->max, (double)row->sums.z);
    const size_t keep = sampi_listed_above(row, floor);
    (void)(keep < row->n_list ? sampi_keep_listed(row, keep ? keep : 1) : sampi_floor_cut(row, floor));
    return sampi_shard_mirostat_draw(row, s);
}
