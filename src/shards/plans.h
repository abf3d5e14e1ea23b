/* ---- shards: answers to plans ----
   What a sampler's plan (core/plans.h) asks of a row in slices, and what it does to it: sampi_shard_<question>. The
   plans themselves stand behind this room, compiled for slices with SAMPI_ON. If a truncation keeps no more than the
   list of first candidates holds, the list is its answer, and all that is left of the row. Else each rank cuts its
   slice where the whole row is cut: at a floor, which is a logit, or at the end of a prefix (shards/prefix.h). */

typedef sampi_sampler sampi_shard_step;

static sampi_memory *sampi_shard_memory(sampi_shard_row *row) { return &row->memory; }

/* ---- what is known ---- */

/* LIST and what else is needed, with the first buckets if min_keep may end behind the list. */
static bool sampi_lacks_for_floor(sampi_shard_row *row, unsigned facts, const sampi_sampler *s)
{
    if (sampi_min_keep(s) > SAMPI_SHARD_LIST) return sampi_lacks_for_end(row, facts, true);
    return sampi_lacks(row, facts);
}

/* The maximum gives the floor, so that what it leaves is known with the first message. Beside the list go SEGS of it,
   if the draw is next, else SUMS: should more than the list be left, the next round is the draw, or the next one's. */
static int sampi_shard_max_for_floor(sampi_shard_row *row, sampi_sampler *s, double down, float *max)
{
    *max = row->max;
    if ((row->has & SAMPI_ASK_TOP) && (double)row->reaches >= (double)row->max + down) return SAMPI_KNOWN;
    if (!sampi_lacks_for_floor(row, SAMPI_ASK_LIST, s)) return SAMPI_KNOWN;
    if (row->ask != SAMPI_ASK_LIST || !(row->has & SAMPI_ASK_TOP)) return SAMPI_WAITS;
    row->has &= ~(unsigned)SAMPI_ASK_SUMS;
    row->ask |= sampi_draws_from(row, row->max) ? SAMPI_ASK_SEGS : SAMPI_ASK_SUMS;
    row->ahead = sampi_float_up((double)row->max + down);
    return SAMPI_WAITS;
}

/* How many are listed. Of k tokens with a share p of the mass each of those above them, which typical leaves out, has
   as much as any; so they are among the first k / p. If that are too many for 4 KiB, the list is a short one, with half
   as many buckets: the k come in another round. */
static void sampi_typical_asks(sampi_shard_row *row, const sampi_sampler *s)
{
    const double enough = (double)SAMPI_SHARD_LIST / (double)s->u.cut.p;
    const bool is_short = !(enough <= (double)SAMPI_SHARD_MOST);
    const size_t want = is_short ? (size_t)SAMPI_SHARD_FIRST : (size_t)enough;
    row->n_asked = want > row->n_list ? want - row->n_list : 0;
    if (is_short && (row->ask & SAMPI_ASK_HIST)) {
        row->end.buckets[0] /= 2;
        row->end.scale *= 0.5;
    }
}

/* n, Z and S, with what comes next: the first candidates, or the buckets in which an end is looked for. Z says which
   mass is wanted; the list has it, or the buckets that came with it say where it is reached. */
static int sampi_shard_sums(sampi_shard_row *row, sampi_sampler *s, sampi_then then, sampi_sums *sums)
{
    const unsigned facts = then == SAMPI_THEN_NOTHING ? SAMPI_ASK_SUMS : SAMPI_ASK_LIST | SAMPI_ASK_SUMS;
    const bool ends = then == SAMPI_THEN_PREFIX || then == SAMPI_THEN_SCORES;
    const bool lacks = then == SAMPI_THEN_FLOOR ? sampi_lacks_for_floor(row, facts, s)
                       : ends ? sampi_lacks_for_end(row, facts, s->u.cut.min_keep > SAMPI_SHARD_LIST)
                              : sampi_lacks(row, facts);
    *sums = row->sums;
    if (lacks && then == SAMPI_THEN_SCORES) sampi_typical_asks(row, s);
    return lacks ? SAMPI_WAITS : SAMPI_KNOWN;
}

/* They come with SUMS, if it was known that they are needed; else SUMS is asked for once more. */
static int sampi_shard_sum_of_squares(sampi_shard_row *row, uint64_t *squares)
{
    if (!sampi_wants_squares(row)) {
        row->asks_squares = true;
        row->has &= ~(unsigned)SAMPI_ASK_SUMS;
        if (sampi_lacks(row, SAMPI_ASK_SUMS)) return SAMPI_WAITS;
    }
    *squares = row->sums_of_squares;
    return SAMPI_KNOWN;
}

/* The least logit, which gives the sums their scale, was in the first message, so that they come along with the list.
   */
static int sampi_shard_deviation(sampi_shard_row *row, float *max, double *sigma)
{
    const bool is_known = row->has & SAMPI_HAS_LEAST;
    row->asks_least = !is_known;
    if (!is_known) row->has &= ~(unsigned)SAMPI_ASK_LIST; /* behind a cut it comes with the list */
    if (sampi_lacks(row, SAMPI_ASK_LIST | (is_known ? (unsigned)SAMPI_ASK_SIGMA : 0u))) return SAMPI_WAITS;
    const double range = (double)row->max - (double)row->least;
    *max = row->max;
    *sigma = 0.0;
    if (range > 0.0) *sigma = sampi_sigma_of(row->sums.n, row->sigma, row->squares, sampi_sigma_scale(range));
    return SAMPI_KNOWN;
}

/* Zipf's sums of the first m in order, or of as many as there are; *n: how many are left. */
static int sampi_shard_zipf(sampi_shard_row *row, size_t m, sampi_zipf *zipf, size_t *n)
{
    if (sampi_lacks_for_end(row, SAMPI_ASK_LIST, true)) return SAMPI_WAITS;
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

/* How many have that mass, and the last of them. They begin the order; where they may go on behind the list, they are
   counted. */
static int sampi_shard_reach(sampi_shard_row *row, sampi_sampler *s, uint64_t mass, uint64_t *reached,
                             samp_token_data *last)
{
    size_t n = 0;
    (void)s;
    while (n < row->n_list && sampi_weight(row->max, row->list[n].logit) >= mass) n++;
    *reached = n;
    *last = row->list[n ? n - 1 : 0];
    if (n < row->n_list) return SAMPI_KNOWN;
    if (sampi_lacks(row, SAMPI_ASK_REACH)) return SAMPI_WAITS;
    row->has &= ~(unsigned)SAMPI_ASK_REACH;
    *reached = row->reached;
    *last = row->token;
    return row->reached < n ? (int)SAMP_E_FORMAT : (int)SAMPI_KNOWN;
}

/* ---- what is done to the row ---- */

/* Keep what reaches the floor, but min_keep tokens at least (from 1 on). LIST is known, but where all that is left
   does. */
static int sampi_shard_keep_above(sampi_shard_row *row, double floor, size_t min_keep)
{
    if ((double)row->reaches >= floor) return SAMPI_KNOWN;
    const size_t keep = sampi_listed_above(row, floor);
    if (min_keep > row->n_list + row->rest) min_keep = row->n_list + (size_t)row->rest;
    if (min_keep <= row->n_list && keep < row->n_list)
        return sampi_keep_listed(row, keep > min_keep ? keep : min_keep ? min_keep : 1);
    if (min_keep > row->n_list) return sampi_seek(row, 0.0, 0, min_keep, floor);
    return sampi_floor_cut(row, floor);
}

static int sampi_shard_keep_reaching(sampi_shard_row *row, float least)
{
    return sampi_shard_keep_above(row, (double)least, 1);
}

/* The shortest prefix with that mass and so many tokens. */
static int sampi_shard_keep_prefix(sampi_shard_row *row, unsigned shows, uint64_t mass, size_t count)
{
    (void)shows;
    const size_t keep = sampi_prefix_by_tiles(row, row->list, row->n_list, mass, count);
    if (keep) return sampi_keep_listed(row, keep);
    if (mass == 0 && row->n_list + row->rest <= count) return SAMPI_KNOWN;
    return sampi_seek(row, 0.0, mass, count, INFINITY);
}

/* Up to 1,024 are a list of k. More are a prefix of k tokens without regard to mass. How many tie with the last one no
   slice knows. */
static int sampi_shard_keep_first(sampi_shard_row *row, size_t k, bool ties)
{
    if (ties) return sampi_shard_gather(row);
    if (k <= row->n_list) return sampi_keep_listed(row, k);
    if (k <= SAMPI_SHARD_ROOM && (!(row->has & SAMPI_ASK_LIST) || k < row->n_list + row->rest))
        return sampi_ask_list(row, k);
    if (sampi_lacks_for_end(row, SAMPI_ASK_LIST, true)) return SAMPI_WAITS;
    return sampi_shard_keep_prefix(row, 0, 0, k);
}

/* Of d [n], in order, those that hold the mass become the list; 0: there are others. */
static size_t sampi_list_prefix(sampi_shard_row *row, samp_token_data *d, size_t n, uint64_t want, size_t min_keep)
{
    size_t keep = sampi_prefix_by_tiles(row, d, n, want, min_keep);
    if (keep == 0) return 0;
    memcpy(row->list, d, keep * sizeof *d);
    row->n_list = keep;
    sampi_sort_list(row);
    return keep;
}

/* Those that typical keeps, if they are among the listed ones; 0: others may be. Those that are not listed come behind
   the last listed one, if that lies below the mean. */
static size_t sampi_typical_listed(sampi_shard_row *row, const sampi_order *order, uint64_t want, size_t min_keep)
{
    samp_token_data *d = (samp_token_data *)(void *)row->shard->work.w, last = row->list[row->n_list - 1];
    size_t n = 0;
    if (order->max - (double)last.logit - order->mean < 0.0) return 0;
    memcpy(d, row->list, row->n_list * sizeof *d);
    sampi_sort_part(order, d, row->n_list, row->n_list, 64);
    while (n < row->n_list && !sampi_before(order, &last, &d[n])) n++;
    return sampi_list_prefix(row, d, n, want, min_keep);
}

/* The same of those that are near the mean, which have come. */
static size_t sampi_typical_near(sampi_shard_row *row)
{
    samp_token_data *d = (samp_token_data *)(void *)row->shard->work.w;
    for (uint32_t i = 0; i < row->near->n; i++) d[i] = sampi_token_at(row->near, i);
    return sampi_list_prefix(row, d, row->near->n, row->end.want, row->end.min_keep);
}

/* typical: the shortest prefix by the distance from the mean. Buckets of these can't be asked for before the mean is
   known, but those by logit, which come along, tell where to look. */
static int sampi_shard_keep_nearest(sampi_shard_row *row, double mean, uint64_t mass, size_t min_keep)
{
    const sampi_order order = sampi_order_from(row->max, mean);
    row->by_score = true;
    size_t keep = row->near    ? sampi_typical_near(row)
                  : row->seeks ? 0
                               : sampi_typical_listed(row, &order, mass, min_keep);
    if (keep) return sampi_keep_listed(row, keep);
    return sampi_seek(row, mean, mass, min_keep, INFINITY);
}

/* What is left is listed when the next member asks. */
static int sampi_shard_settle(sampi_shard_row *row)
{
    (void)row;
    return SAMPI_KNOWN;
}

/* No array is shown. */
static int sampi_shard_show(sampi_shard_row *row, unsigned shows)
{
    (void)row, (void)shows;
    return SAMPI_KNOWN;
}

/* xtc: that one becomes the first. */
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

/* The fast path's cut of a head, on what is listed; false: more must be. Of equal logits that keeps the first ones as
   they stand, which in the list are those of the smallest ids. */
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
    sampi_set_tokens(&look, row->shard->work.x, row->shard->work.id, row->n_list);
    look.top = row->max;
    if (!sampi_tail_cut(&look, s, row->max, (size_t)row->rest)) return false;
    row->n_list = look.n;
    return true;
}

/* It needs the order itself, of as many as its curve bends over: the list grows until the cut lies within it. */
static int sampi_shard_keep_tail(sampi_shard_row *row, sampi_sampler *s)
{
    if (sampi_lacks(row, SAMPI_ASK_LIST)) return SAMPI_WAITS;
    return sampi_tail_listed(row, s) ? sampi_keep_listed(row, row->n_list) : sampi_ask_more(row);
}

/* top_h, min_k. */
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

/* Each listed logit has changed, as those of the slice, and the order is kept. Where rounding makes ties, those with
   the list's last logit may not be the first of their kind. */
static void sampi_shard_relist(sampi_shard_row *row)
{
    for (float last = row->n_list ? row->list[row->n_list - 1].logit : 0.0f;
         row->n_list && row->list[row->n_list - 1].logit == last;)
        row->n_list--;
    sampi_sort_list(row);
    row->reaches = -INFINITY;
}

/* All logits by t. */
static int sampi_shard_scale(sampi_shard_row *row, float t)
{
    if (!(t >= SAMPI_TEMP_MIN)) {
        if (sampi_lacks_first(row)) return SAMPI_WAITS;
        return sampi_keep_listed(row, 1);
    }
    if (row->row.n) row->row.k->scale(row->row.x, row->row.n, 1.0f / t, false, row->work.x);
    row->row.top = sampi_times(row->row.top, t);
    for (size_t i = 0; i < row->n_list; i++) row->list[i].logit = sampi_times(row->list[i].logit, t);
    sampi_shard_relist(row);
    if (row->has & SAMPI_ASK_TOP) row->max = sampi_times(row->max, t);
    if (row->has & SAMPI_HAS_LEAST) row->least = sampi_times(row->least, t);
    row->has &= SAMPI_ASK_TOP | SAMPI_HAS_LEAST | SAMPI_ASK_SEGS;
    return SAMPI_KNOWN;
}

/* All logits less one number. */
static int sampi_shard_shift(sampi_shard_row *row, double less)
{
    for (size_t i = 0; i < row->row.n; i++) row->work.x[i] = sampi_log_softmaxed(less, row->row.x[i]);
    for (size_t i = 0; i < row->n_list; i++) row->list[i].logit = sampi_log_softmaxed(less, row->list[i].logit);
    sampi_shard_relist(row);
    row->row.top = row->max = sampi_log_softmaxed(less, row->max);
    row->has &= SAMPI_ASK_TOP;
    return SAMPI_KNOWN;
}

/* logit_bias, penalties, dry: nothing is known any more. */
static int sampi_shard_plan_patch(sampi_shard_row *row, sampi_sampler *s)
{
    if (row->row.n) (void)sampi_traits_of(s->kind)->fast(&row->row, s); /* an empty slice is no error */
    row->has = 0;
    row->n_list = 0;
    row->reaches = -INFINITY;
    return SAMPI_KNOWN;
}

/* smoothing: each logit by its distance from the maximum. Up to a curve of 3 none rises above that; beyond, nothing is
   known. */
static int sampi_shard_bend(sampi_shard_row *row, sampi_sampler *s)
{
    if (sampi_lacks_top(row)) return SAMPI_WAITS;
    const unsigned has = s->u.smoothing.curve <= 3.0f ? row->has & SAMPI_ASK_TOP : 0u;
    row->row.top = row->max;
    (void)sampi_shard_plan_patch(row, s);
    row->has = has;
    return SAMPI_KNOWN;
}

/* ---- choosing ----
   A draw takes two rounds: SEGS, the sums of each slice, and DRAW, the token. SEGS is often asked for ahead, together
   with what decides the last cut. It must then be of the same logits and the same maximum as if it were asked for now:
   `drawer` and `draw_max` say what it is of. */

/* Draw from the logits of the member at work. SAMPI_KNOWN: row->token is there. */
static int sampi_shard_draw_from(sampi_shard_row *row, float max)
{
    if (!(row->has & SAMPI_ASK_SEGS) || row->drawer != row->at) {
        row->drawer = row->at;
        row->draw_max = max;
        row->has &= ~(unsigned)(SAMPI_ASK_SEGS | SAMPI_ASK_DRAW);
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

/* The array's work on what is listed. told: where log-probabilities go, if they are wanted. */
static sampi_job sampi_listed_job(const sampi_shard_row *row, samp_logprobs *told)
{
    sampi_job job;
    memset(&job, 0, sizeof job);
    job.s = row->s;
    job.work = &row->shard->work;
    job.n = row->shard->n_vocab;
    if (row->logprobs) *told = *row->logprobs, job.logprobs = told;
    return job;
}

/* From what is listed, as the array does; what is told of it is known then. */
static int sampi_shard_draw_listed(sampi_shard_row *row, sampi_sampler *s, samp_token_data *token)
{
    samp_token_data_array cur = { row->list, row->n_list, -1, true };
    samp_logprobs told;
    if (row->n_list == 0) return SAMP_E_EMPTY;
    const sampi_sums sums = sampi_select(s, &cur);
    row->max = sums.max;
    row->z = sums.z;
    *token = row->token = row->list[cur.selected];
    if (!row->logprobs || sampi_row_member(row, 1)) return SAMPI_KNOWN;
    const sampi_job job = sampi_listed_job(row, &told);
    const int status = sampi_accept_selected(&job, &cur, &row->token.id);
    row->has_left = true;
    row->left = told.processed;
    return status ? status : (int)SAMPI_KNOWN;
}

/* The logits that a member draws from may have been made for it, by adaptive_p. What is listed is drawn from by the
   array. */
static int sampi_shard_draw(sampi_shard_row *row, sampi_sampler *s, samp_token_data *token)
{
    if (sampi_is_listed(row)) return sampi_shard_draw_listed(row, s, token);
    if (sampi_lacks_top(row)) return SAMPI_WAITS;
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
/* Each slice runs its own race; the winner of these has won. */
static int sampi_shard_race(sampi_shard_row *row, sampi_sampler *s, samp_token_data *token)
{
    (void)s;
    if (sampi_lacks_top(row) || sampi_lacks(row, SAMPI_ASK_RACE)) return SAMPI_WAITS;
    *token = row->token;
    return SAMPI_KNOWN;
}
#endif

/* The first one in order. */
static int sampi_shard_top(sampi_shard_row *row, samp_token_data *token)
{
    if (sampi_lacks_first(row)) return SAMPI_WAITS;
    *token = row->token = row->list[0];
    return SAMPI_KNOWN;
}

/* Is adaptive_p's largest logit that of a listed token? The others are less likely than the last of these; if that lies
   below the aim, they are farther from it. Where distances nearly tie, rounding may prefer the farther one: the few
   distances that this can be true of are looked at. */
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

/* Logits by p, which is a float of Z: made when they are drawn from (sampi_draw_logits). Their maximum is asked for,
   if no listed token has it. */
static int sampi_shard_adapt_all(sampi_shard_row *row, const sampi_sums *sums, float aim)
{
    (void)sums;
    if (!row->adapts) row->drawer = -1, row->has &= ~(unsigned)SAMPI_ASK_SEGS; /* which were of other logits */
    row->adapts = true;
    row->aim = aim;
    if (row->drawer == row->at || sampi_adaptive_listed(row, &row->draw_max)) return SAMPI_KNOWN;
    row->ask = SAMPI_ASK_TOP;
    return SAMPI_WAITS;
}

static float sampi_shard_before_adapt(const sampi_shard_row *row, const samp_token_data *token)
{
    (void)row;
    return token->logit;
}

/* The member has chosen, and learns. The last one's token is accepted: it is the row's. Another one goes on with
   adaptive_p's logits, of which nothing is known. */
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
