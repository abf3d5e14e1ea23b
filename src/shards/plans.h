/* ---- shards: answers to plans ----
   The functions by which a sampler's plan (core/plans.h) asks questions about a row in slices, and changes it:
   sampi_shard_<question>. The plans follow this file, compiled for slices with SAMPI_ON. If a truncation keeps no more
   tokens than are in the list of first candidates, this list becomes the whole row. Otherwise each rank cuts its slice
   where the whole row is cut: at a floor, which is a logit, or at the end of a prefix (shards/prefix.h). */

typedef sampi_sampler sampi_shard_step;

static sampi_memory *sampi_shard_memory(sampi_shard_row *row) { return &row->memory; }

/* ---- questions ---- */

/* Asks for LIST and these facts; for the first buckets too, if min_keep may be larger than the list. */
static bool sampi_must_ask_for_floor(sampi_shard_row *row, unsigned facts, const sampi_sampler *s)
{
    if (sampi_min_keep(s) > SAMPI_SHARD_LIST) return sampi_must_ask_for_end(row, facts, true);
    return sampi_must_ask(row, facts);
}

/* Finds the maximum, from which the floor follows, and the list. */
static int sampi_shard_max_for_floor(sampi_shard_row *row, sampi_sampler *s, double down, float *max)
{
    *max = row->max;
    if ((row->has & SAMPI_ASK_TOP) && (double)row->reaches >= (double)row->max + down) return SAMPI_KNOWN;
    return sampi_must_ask_for_floor(row, SAMPI_ASK_LIST, s) ? SAMPI_WAITS : SAMPI_KNOWN;
}

/* Finds the sums n, Z and S, together with the facts for the next question: the first candidates, or buckets in which
   the end of a prefix is searched for. From Z follows the mass that the prefix must have; the list contains this mass,
   or the buckets show where it is reached. */
static int sampi_shard_sums(sampi_shard_row *row, sampi_sampler *s, sampi_then then, sampi_sums *sums)
{
    const unsigned facts = then == SAMPI_THEN_NOTHING ? SAMPI_ASK_SUMS : SAMPI_ASK_LIST | SAMPI_ASK_SUMS;
    const bool lacks = then == SAMPI_THEN_FLOOR ? sampi_must_ask_for_floor(row, facts, s)
                       : then == SAMPI_THEN_PREFIX
                           ? sampi_must_ask_for_end(row, facts, sampi_min_keep(s) > SAMPI_SHARD_LIST)
                           : sampi_must_ask(row, facts);
    *sums = row->sums;
    return lacks ? SAMPI_WAITS : SAMPI_KNOWN;
}

/* Finds the sum of squared weights. If the need was foreseen, it was sent with SUMS; otherwise SUMS is asked again. */
static int sampi_shard_sum_of_squares(sampi_shard_row *row, uint64_t *squares)
{
    if (!sampi_member_needs_squares(row)) {
        row->asks_squares = true;
        row->has &= ~(unsigned)SAMPI_ASK_SUMS;
        if (sampi_must_ask(row, SAMPI_ASK_SUMS)) return SAMPI_WAITS;
    }
    *squares = row->sums_of_squares;
    return SAMPI_KNOWN;
}

/* Finds the standard deviation of the logits. The first message had the smallest logit, from which the scale of the
   sums follows, so the sums are sent with the list. */
static int sampi_shard_deviation(sampi_shard_row *row, float *max, double *sigma)
{
    const bool is_known = row->has & SAMPI_HAS_LEAST;
    row->asks_least = !is_known;
    if (!is_known) row->has &= ~(unsigned)SAMPI_ASK_LIST; /* after a cut the smallest logit is sent with the list */
    if (sampi_must_ask(row, SAMPI_ASK_LIST | (is_known ? (unsigned)SAMPI_ASK_SIGMA : 0u))) return SAMPI_WAITS;
    const double range = (double)row->max - (double)row->least;
    *max = row->max;
    *sigma = 0.0;
    if (range > 0.0) *sigma = sampi_sigma_of(row->sums.n, row->sigma, row->squares, sampi_sigma_scale(range));
    return SAMPI_KNOWN;
}

/* Computes the sums for Zipf's exponent (mirostat) from the first m tokens in order, or from all if there are fewer. *n
   gets the number of remaining tokens. */
static int sampi_shard_zipf(sampi_shard_row *row, size_t m, sampi_zipf *zipf, size_t *n)
{
    if (sampi_must_ask_for_end(row, SAMPI_ASK_LIST, true)) return SAMPI_WAITS;
    if (row->n_list < m && row->rest) return sampi_ask_more(row);
    if (m > row->n_list) m = row->n_list;
    for (size_t i = 0; i + 1 < m; i++) sampi_zipf_add(zipf, i, row->list[i].logit, row->list[i + 1].logit);
    *n = row->n_list + (size_t)row->rest;
    return SAMPI_KNOWN;
}

static void sampi_shard_random(const sampi_shard_row *row, const sampi_sampler *s, uint64_t *random)
{
    (void)row;
    sampi_random(s, 0, random);
}

/* Finds how many tokens have at least this mass, and the last of them. They are the first tokens in order. If there may
   be more than are in the list, REACH counts them. */
static int sampi_shard_reach(sampi_shard_row *row, sampi_sampler *s, uint64_t mass, uint64_t *reached,
                             samp_token_data *last)
{
    size_t n = 0;
    (void)s;
    while (n < row->n_list && sampi_weight(row->max, row->list[n].logit) >= mass) n++;
    *reached = n;
    *last = row->list[n ? n - 1 : 0];
    if (n < row->n_list) return SAMPI_KNOWN;
    if (sampi_must_ask(row, SAMPI_ASK_REACH)) return SAMPI_WAITS;
    row->has &= ~(unsigned)SAMPI_ASK_REACH;
    *reached = row->reached;
    *last = row->token;
    return row->reached < n ? (int)SAMP_E_FORMAT : (int)SAMPI_KNOWN;
}

/* ---- actions ---- */

/* Keeps the tokens whose logit is at least the floor, but at least min_keep (>= 1) tokens. LIST must be known, unless
   all remaining tokens are above the floor. */
static int sampi_shard_keep_above(sampi_shard_row *row, double floor, size_t min_keep)
{
    if ((double)row->reaches >= floor) return SAMPI_KNOWN;
    const size_t keep = sampi_listed_above(row, floor);
    if (min_keep > row->n_list + row->rest) min_keep = row->n_list + (size_t)row->rest;
    if (min_keep <= row->n_list && keep < row->n_list)
        return sampi_keep_listed(row, keep > min_keep ? keep : min_keep ? min_keep : 1);
    if (min_keep > row->n_list) return sampi_find_prefix_end(row, 0.0, 0, min_keep, floor);
    return sampi_floor_cut(row, floor);
}

static int sampi_shard_keep_reaching(sampi_shard_row *row, float least)
{
    return sampi_shard_keep_above(row, (double)least, 1);
}

/* Keeps the shortest prefix with at least this mass and this number of tokens. */
static int sampi_shard_keep_prefix(sampi_shard_row *row, unsigned shows, uint64_t mass, size_t count)
{
    (void)shows;
    const size_t keep = sampi_prefix_by_tiles(row, row->list, row->n_list, mass, count);
    if (keep) return sampi_keep_listed(row, keep);
    if (mass == 0 && row->n_list + row->rest <= count) return SAMPI_KNOWN;
    return sampi_find_prefix_end(row, 0.0, mass, count, INFINITY);
}

/* Keeps the first k tokens: up to 1,024 as a list, more as a prefix of k tokens with any mass. If `ties`, all tokens
   are listed, because no slice can find how many tokens equal the last one. */
static int sampi_shard_keep_first(sampi_shard_row *row, size_t k, bool ties)
{
    if (ties) return sampi_shard_gather(row);
    if (k <= row->n_list) return sampi_keep_listed(row, k);
    if (k <= SAMPI_SHARD_ROOM && (!(row->has & SAMPI_ASK_LIST) || k < row->n_list + row->rest))
        return sampi_ask_list(row, k);
    if (sampi_must_ask_for_end(row, SAMPI_ASK_LIST, true)) return SAMPI_WAITS;
    return sampi_shard_keep_prefix(row, 0, 0, k);
}

/* Makes the list what typical keeps, if all of that is in the list, and returns its length; otherwise 0. Tokens that
   are not in the list come after its last one, if that is below the mean. */
static size_t sampi_typical_listed(sampi_shard_row *row, const sampi_order *order, uint64_t want, size_t min_keep)
{
    samp_token_data *d = (samp_token_data *)(void *)row->shard->work.w, last = row->list[row->n_list - 1];
    size_t n = 0;
    if (order->max - (double)last.logit - order->mean < 0.0) return 0;
    memcpy(d, row->list, row->n_list * sizeof *d);
    sampi_sort_part(order, d, row->n_list, row->n_list, 64);
    while (n < row->n_list && !sampi_before(order, &last, &d[n])) n++;
    n = sampi_prefix_by_tiles(row, d, n, want, min_keep);
    if (n == 0) return 0;
    memcpy(row->list, d, n * sizeof *d);
    row->n_list = n;
    sampi_sort_list(row);
    return n;
}

/* Keeps the shortest prefix by the distance from the mean, for typical. */
static int sampi_shard_keep_nearest(sampi_shard_row *row, double mean, uint64_t mass, size_t min_keep)
{
    const sampi_order order = sampi_order_from(row->max, mean);
    const size_t keep = row->seeks ? 0 : sampi_typical_listed(row, &order, mass, min_keep);
    if (keep) return sampi_keep_listed(row, keep);
    return sampi_find_prefix_end(row, mean, mass, min_keep, INFINITY);
}

/* Does nothing: the next member asks for the list of the remaining tokens. */
static int sampi_shard_settle(sampi_shard_row *row)
{
    (void)row;
    return SAMPI_KNOWN;
}

/* Slices return no array, so nothing is done. */
static int sampi_shard_show(sampi_shard_row *row, unsigned shows)
{
    (void)row, (void)shows;
    return SAMPI_KNOWN;
}

/* Removes all tokens before `last`, for xtc. */
static int sampi_shard_drop_before(sampi_shard_row *row, const samp_token_data *last)
{
    size_t gone = 0;
    for (size_t i = 0; i < row->row.n; i++) {
        const float l = row->row.x[i];
        if (l > last->logit || (l == last->logit && row->row.id[i] < last->id)) row->work.x[i] = -INFINITY;
    }
    sampi_drop_masked(row);
    while (gone < row->n_list && sampi_before(&SAMPI_BY_LOGIT, &row->list[gone], last)) gone++;
    memmove(row->list, row->list + gone, (row->n_list - gone) * sizeof *row->list);
    row->n_list -= gone;
    row->max = last->logit;
    row->has &= SAMPI_ASK_TOP;
    return SAMPI_KNOWN;
}

/* Applies the cut that the fast path makes with a row's first tokens to the tokens in the list. Returns false if more
   must be listed. Of equal logits it keeps the first in the list, which have the smallest ids. */
static bool sampi_tail_listed(sampi_shard_row *row, const sampi_sampler *s)
{
    sampi_row look = row->row;
    if (row->n_list > SAMPI_SHARD_TAIL) return false;
    for (size_t i = 0; i < row->n_list; i++) {
        row->shard->work.x[i] = row->list[i].logit;
        row->shard->work.id[i] = row->list[i].id;
    }
    look.k = sampi_use();
    look.work = &row->shard->work;
    sampi_row_set_tokens(&look, row->shard->work.x, row->shard->work.id, row->n_list);
    look.top = row->max;
    if (!sampi_row_tail_cut(&look, s, row->max, (size_t)row->rest)) return false;
    row->n_list = look.n;
    return true;
}

/* Keeps the tokens before the tail (tail_free). The list grows until it contains the cut. */
static int sampi_shard_keep_tail(sampi_shard_row *row, sampi_sampler *s)
{
    if (sampi_must_ask(row, SAMPI_ASK_LIST)) return SAMPI_WAITS;
    return sampi_tail_listed(row, s) ? sampi_keep_listed(row, row->n_list) : sampi_ask_more(row);
}

/* Keeps the prefix of top_h or min_k, by listing all tokens. */
static int sampi_shard_keep_beginning(sampi_shard_row *row, sampi_sampler *s)
{
    (void)s;
    return sampi_shard_gather(row);
}

static int sampi_shard_plan_none(sampi_shard_row *row, sampi_sampler *s)
{
    (void)s;
    return sampi_shard_gather(row);
}

/* Corrects the list after the logits of list and slice have changed without a change of order. If rounding has made
   logits equal, the listed tokens with the last logit may not be those with the smallest ids. */
static void sampi_shard_relist(sampi_shard_row *row)
{
    for (float last = row->n_list ? row->list[row->n_list - 1].logit : 0.0f;
         row->n_list && row->list[row->n_list - 1].logit == last;)
        row->n_list--;
    sampi_sort_list(row);
    row->reaches = -INFINITY;
}

/* Divides all logits by t. */
static int sampi_shard_scale(sampi_shard_row *row, float t)
{
    if (!(t >= SAMPI_TEMP_MIN)) {
        if (sampi_must_ask_first(row)) return SAMPI_WAITS;
        return sampi_keep_listed(row, 1);
    }
    if (row->row.n) row->row.k->scale(row->row.x, row->row.n, 1.0f / t, false, row->work.x);
    row->row.top = sampi_times(row->row.top, t);
    for (size_t i = 0; i < row->n_list; i++) row->list[i].logit = sampi_times(row->list[i].logit, t);
    sampi_shard_relist(row);
    if (row->has & SAMPI_ASK_TOP) row->max = sampi_times(row->max, t);
    if (row->has & SAMPI_HAS_LEAST) row->least = sampi_times(row->least, t);
    row->has &= SAMPI_ASK_TOP | SAMPI_HAS_LEAST;
    return SAMPI_KNOWN;
}

/* Subtracts a number from all logits. */
static int sampi_shard_shift(sampi_shard_row *row, double less)
{
    for (size_t i = 0; i < row->row.n; i++) row->work.x[i] = sampi_log_softmaxed(less, row->row.x[i]);
    for (size_t i = 0; i < row->n_list; i++) row->list[i].logit = sampi_log_softmaxed(less, row->list[i].logit);
    sampi_shard_relist(row);
    row->row.top = row->max = sampi_log_softmaxed(less, row->max);
    row->has &= SAMPI_ASK_TOP;
    return SAMPI_KNOWN;
}

/* Applies logit_bias, penalties or dry to the slice. Afterwards no fact about the row holds. */
static int sampi_shard_plan_patch(sampi_shard_row *row, sampi_sampler *s)
{
    if (row->row.n) (void)sampi_traits_of(s->kind)->fast(&row->row, s); /* an empty slice is valid */
    row->has = 0;
    row->n_list = 0;
    row->reaches = -INFINITY;
    return SAMPI_KNOWN;
}

/* Applies smoothing to each logit. Up to a curve of 3 no logit rises above the maximum; with a larger curve no fact
   about the row holds afterwards. */
static int sampi_shard_bend(sampi_shard_row *row, sampi_sampler *s)
{
    if (sampi_must_ask_top(row)) return SAMPI_WAITS;
    const unsigned has = s->u.smoothing.curve <= 3.0f ? row->has & SAMPI_ASK_TOP : 0u;
    row->row.top = row->max;
    (void)sampi_shard_plan_patch(row, s);
    row->has = has;
    return SAMPI_KNOWN;
}

/* ---- choosing ----
   A draw takes two rounds of messages: SEGS, the sums of each slice, and DRAW, the token. */

/* Draws from the logits of the present member. If the result is SAMPI_KNOWN, row->token is the token. */
static int sampi_shard_draw_from(sampi_shard_row *row, float max)
{
    if (!(row->has & SAMPI_ASK_SEGS)) {
        row->draw_max = max;
        row->has &= ~(unsigned)SAMPI_ASK_DRAW;
        row->attempt = 0;
        row->ask = SAMPI_ASK_SEGS;
        return SAMPI_WAITS;
    }
    if (row->q == 0) return SAMP_E_FORMAT;
    if ((row->has & SAMPI_ASK_DRAW) && row->drawn != UINT32_MAX) {
        row->has &= ~(unsigned)(SAMPI_ASK_SEGS | SAMPI_ASK_DRAW);
        return SAMPI_KNOWN;
    }
    row->attempt = row->has & SAMPI_ASK_DRAW ? row->attempt + SAMPI_SHARD_TRIES : 0;
    row->has &= ~(unsigned)SAMPI_ASK_DRAW;
    row->ask = SAMPI_ASK_DRAW;
    return SAMPI_WAITS;
}

/* Returns the job with which the functions on arrays work on the listed tokens. `logprobs` is the memory for
   log-probabilities, or NULL. */
static sampi_job sampi_listed_job(const sampi_shard_row *row, samp_logprobs *logprobs)
{
    sampi_job job;
    memset(&job, 0, sizeof job);
    job.s = row->s;
    job.work = &row->shard->work;
    job.n = row->shard->n_vocab;
    if (row->logprobs) *logprobs = *row->logprobs, job.logprobs = logprobs;
    return job;
}

/* Draws from the listed tokens as from an array, and computes log-probabilities. */
static int sampi_shard_draw_listed(sampi_shard_row *row, sampi_sampler *s, samp_token_data *token)
{
    samp_token_data_array cur = { row->list, row->n_list, -1, true };
    samp_logprobs logprobs;
    if (row->n_list == 0) return SAMP_E_EMPTY;
    const sampi_sums sums = sampi_select(s, &cur);
    row->max = sums.max;
    row->z = sums.z;
    *token = row->token = row->list[cur.selected];
    if (!row->logprobs || sampi_row_member(row, 1)) return SAMPI_KNOWN;
    const sampi_job job = sampi_listed_job(row, &logprobs);
    const int status = sampi_accept_selected(&job, &cur, NULL, &row->token.id);
    row->has_left = true;
    row->left = logprobs.processed;
    return status ? status : (int)SAMPI_KNOWN;
}

/* Draws a token: from the array if all tokens are listed, otherwise from the slices. The logits may be those of
   adaptive_p. */
static int sampi_shard_draw(sampi_shard_row *row, sampi_sampler *s, samp_token_data *token)
{
    if (sampi_is_listed(row)) return sampi_shard_draw_listed(row, s, token);
    if (sampi_must_ask_top(row)) return SAMPI_WAITS;
    const int known = sampi_shard_draw_from(row, row->adapts ? row->draw_max : row->max);
    *token = row->token;
    return known;
}

static int sampi_shard_draw_and_sums(sampi_shard_row *row, sampi_sampler *s, samp_token_data *token, sampi_sums *sums)
{
    const int known = sampi_shard_draw(row, s, token);
    sums->max = row->max;
    sums->z = row->z;
    return known;
}

#ifdef SAMPLING_GUMBEL_DECLARED
/* Finds the token that gumbel selects: each slice finds its token with the shortest time, and the best of these is the
   token. */
static int sampi_shard_race(sampi_shard_row *row, sampi_sampler *s, samp_token_data *token)
{
    (void)s;
    if (sampi_must_ask_top(row) || sampi_must_ask(row, SAMPI_ASK_RACE)) return SAMPI_WAITS;
    *token = row->token;
    return SAMPI_KNOWN;
}
#endif

/* Finds the first token in order. */
static int sampi_shard_top(sampi_shard_row *row, samp_token_data *token)
{
    if (sampi_must_ask_first(row)) return SAMPI_WAITS;
    *token = row->token = row->list[0];
    return SAMPI_KNOWN;
}

/* Does a token in the list have the largest of the logits from which adaptive_p draws? Tokens that are not in the list
   are less likely than its last one; if that is below the aim, they are farther from the aim. If distances are nearly
   equal, rounding may prefer the farther one, so the few distances for which this is possible are compared. */
static bool sampi_adaptive_listed(const sampi_shard_row *row, float *max)
{
    float x[SAMPI_SHARD_ROOM + 16] = { 0 }, *p = row->shard->work.x, aim = row->aim, least = INFINITY;
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

/* Prepares the logits from which adaptive_p draws. They are functions of p, a float computed from Z, and are computed
   at the draw (sampi_draw_logits). If no listed token has their maximum, it is asked for. */
static int sampi_shard_adapt_all(sampi_shard_row *row, const sampi_sums *sums, float aim)
{
    (void)sums;
    if (row->adapts) return SAMPI_KNOWN;
    row->adapts = true;
    row->aim = aim;
    if (sampi_adaptive_listed(row, &row->draw_max)) return SAMPI_KNOWN;
    row->ask = SAMPI_ASK_TOP;
    return SAMPI_WAITS;
}

static float sampi_shard_before_adapt(const sampi_shard_row *row, const samp_token_data *token)
{
    (void)row;
    return token->logit;
}

/* Notes the token that a member has chosen, and updates the member's state. The last member's token is the row's, and
   is accepted. If another member follows, it works on adaptive_p's logits, about which no fact is known. */
static int sampi_shard_choose(sampi_shard_row *row, sampi_sampler *s, const samp_token_data *token, float learnt)
{
    if (!row->adapts) {
        s->now.mu = learnt;
    } else {
        const float *l = sampi_draw_logits(row);
        s->now.pending = token->id;
        s->now.pending_p = learnt;
        if (row->row.n) memcpy(row->work.x, l, row->row.n * sizeof *l);
        row->n_list = 0;
        row->has = 0;
        row->reaches = -INFINITY;
    }
    if (sampi_row_member(row, 1)) return SAMPI_KNOWN;
    const int status = row->logprobs ? SAMP_OK : samp_accept(&row->s->base, token->id);
    return status ? status : (int)SAMPI_ENDS;
}
