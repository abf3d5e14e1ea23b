/* ---- between passes ----
   What the last team (thread block) of a pass does, from its arrival to the next epoch (the row's count of passes).
   Three functions add up what the pass has found; sampi_gpu_advance calls them and then the steps; sampi_gpu_team is
   what every team of a kernel runs, and contains how teams wait for each other. */

#if SAMPI_OFFLOAD
/* The word that is read of each 32-byte sector of a row's state. No pass changes a word at this offset by atomics. */
enum { SAMPI_GPU_WORD = 4, SAMPI_GPU_SECTOR = 8 /* words */ };
SAMPI_STATIC_ASSERT(offsetof(sampi_gpu_state, n_list) / 4 % SAMPI_GPU_SECTOR != SAMPI_GPU_WORD,
                    "n_list is another word");

/* Brings what a team reads after each fence into the cache: the args (the batch's addresses), the row's state, its job
   (the chain) and its place. If these were read where they are needed, their sectors would be waited for one after the
   other. Each lane reads one word of a sector. */
static SAMPI_UNCLONED void sampi_gpu_bring_near(const sampi_gpu_args *a, const sampi_gpu_state *st,
                                                const sampi_gpu_job *job, uint32_t job_words,
                                                const sampi_gpu_place *place)
{
    typedef const uint32_t __attribute__((may_alias)) word;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        const uint32_t at = (uint32_t)lane * SAMPI_GPU_SECTOR;
        uint32_t x[4];
        x[0] = ((word *)(const void *)a)[sampi_gpu_min_of(at, sizeof *a / 4 - 1)];
        x[1] = ((word *)(const void *)st)[at + SAMPI_GPU_WORD];
        x[2] = ((word *)(const void *)job)[sampi_gpu_min_of(at, job_words - 1)];
        x[3] = *(word *)(const void *)place;
        SAMPI_AT_ONCE(4, x);
        sampi_gpu_use(x[0] ^ x[1] ^ x[2] ^ x[3]);
    }
}
#else
static void sampi_gpu_bring_near(const sampi_gpu_args *a, const sampi_gpu_state *st, const sampi_gpu_job *job,
                                 uint32_t job_words, const sampi_gpu_place *place)
{
    (void)a, (void)st, (void)job, (void)job_words, (void)place;
}
#endif

/* Ends the scan, a row's first pass: returns SAMP_OK if the row is good, else its status. It begins the state: maximum,
   bar, the tokens whose logits rules change. The changed logits are read here, once, because the scan has skipped them.
   A masked token stays masked, whatever its rules are. */
static SAMPI_CALLED int sampi_gpu_end_scan(const sampi_gpu_here *h)
{
    const sampi_gpu_args *a = h->a;
    const sampi_gpu_view v = sampi_gpu_view_of(a, h->row);
    const uint32_t splits = a->splits, n_changed = h->job->n_ids;
    const float *team_max = a->team_max + h->row * splits;
    const int32_t *id = h->changed_id;
    sampi_gpu_changed *c = h->changed;
    float max = -INFINITY, top = -INFINITY;
    uint32_t bad = 0;
    SAMPI_SIMD(reduction(max : max, top) reduction(+ : bad))
    SAMPI_LANES
    {
        for (uint32_t from = 0; from < splits; from += 4 * SAMPI_WARP) {
            SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++)
            {
                const uint32_t i = from + k * SAMPI_WARP + (uint32_t)lane;
                const float x = team_max[sampi_gpu_min_of(i, splits - 1)];
                bad += x != x;
                max = x > max ? x : max;
            }
        }
        for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP) {
            float l = sampi_gpu_element(&v, (uint32_t)id[i]) + 0.0f;
            c[i].l = l;
            c[i].at_order = c[i].at_p = 0.0f;
            bad += l != l;
            top = l > top ? l : top;
        }
    }
    h->st->dense_max = max + 0.0f;
    h->st->max = (top > max ? top : max) + 0.0f;
    h->st->max_known = true;
    h->st->bar = -INFINITY;
    return bad ? (int)SAMP_E_NAN : sampi_row_max_status(h->st->max);
}

/* Adds up the parts (results) of all teams for the passes SUMS, SIGMA or MAX, and adds the tokens with changed
   logits. All sums are modulo 2^64, so a row has the same sums however many teams it has. The meaning of a part's sums
   depends on the pass; only the members of the state that the pass was for are written. */
static void sampi_gpu_end_sums(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    const sampi_gpu_part *part = h->a->part + h->row * h->a->splits;
    const sampi_gpu_changed *c = h->changed;
    const uint32_t splits = h->a->splits, n_changed = h->job->n_ids;
    const int32_t pass = st->pass;
    const float max = st->max;
    const double scale = st->scale;
    uint64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    float top = -INFINITY, low = INFINITY;
    SAMPI_SIMD(reduction(+ : s0, s1, s2, s3) reduction(max : top) reduction(min : low))
    SAMPI_LANES
    {
        for (uint32_t from = 0; from < splits; from += 4 * SAMPI_WARP) {
            SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++)
            {
                /* the last part is read again instead of those past the end; it counts once */
                const uint32_t i = from + k * SAMPI_WARP + (uint32_t)lane, once = i < splits;
                const sampi_gpu_part x = part[sampi_gpu_min_of(i, splits - 1)];
                s0 += once * x.sum[0], s1 += once * x.sum[1], s2 += once * x.sum[2], s3 += once * x.sum[3];
                top = x.max > top ? x.max : top;
                low = x.low < low ? x.low : low;
            }
        }
        for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP) {
            float l = c[i].l;
            if (sampi_masked(l)) continue;
            top = l > top ? l : top;
            low = l < low ? l : low;
            if (pass == SAMPI_PASS_SUMS) {
                const uint64_t w = sampi_weight(max, l);
                s0++, s1 += w, s2 += sampi_weighted(w, max, l);
            }
            if (pass == SAMPI_PASS_SIGMA) {
                sampi_gpu_squares sum = { s0, s1, s2, s3 };
                sampi_gpu_square(&sum, sampi_sigma_x(max, l, scale));
                s0 = sum.x, s1 = sum.high, s2 = sum.mixed, s3 = sum.low;
            }
        }
    }
    if (pass == SAMPI_PASS_MAX) st->max = top, st->max_known = true;
    if (pass == SAMPI_PASS_SUMS) st->n = s0, st->z = s1, st->s = s2, st->low = low, st->sums_known = true;
    if (pass == SAMPI_PASS_SIGMA) st->sigma[0] = s0, st->sigma[1] = s1, st->sigma[2] = s2, st->sigma[3] = s3;
}

/* Adds the changed tokens (whose logits penalties, dry or logit_bias change) to the list or the histogram that a pass
   has made. A pass leaves them out, because their logits are beside the row. They join by the conditions of the pass.
   Without this function a token with a changed logit could never be kept or cut. The atomics are for the lanes of this
   team only. */
static SAMPI_CALLED void sampi_gpu_join_changed(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    const sampi_gpu_search *search = &st->search;
    const sampi_gpu_changed *c = h->changed;
    const int32_t *id = h->changed_id;
    const int32_t pass = st->pass;
    const uint32_t n = h->job->n_ids;
    const float max = st->max;
    sampi_gpu_item *item = sampi_gpu_list(h);
    uint32_t *n_list = &st->n_list;
    const bool counting = pass == SAMPI_PASS_HIST || pass == SAMPI_PASS_DIVIDE;
    const bool by_code = counting || pass == SAMPI_PASS_BUCKET || pass == SAMPI_PASS_EDGE;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        if (sampi_masked(c[i].l)) continue;
        uint64_t key = sampi_gpu_key(c[i].l, (uint32_t)id[i]);
        bool in = key >= st->floor;
        if (by_code) {
            const uint64_t code = sampi_gpu_code(search->by_score, key, max, search->mean);
            in = code >= search->lo && code <= search->hi;
        }
        if (in && counting)
            sampi_gpu_add_to_bucket(h->a, h->row, search, max, key);
        else if (in)
            sampi_gpu_append(n_list, item, key, c[i].at_order, c[i].at_p);
    }
}

/* Ends a pass, when all teams have done it: takes its result over, and runs steps (samplers) until another pass is
   needed, or the row is finished. Only the calling team works on the row. Between two steps it checks that a complete
   row's list is not empty; in other rows the next maximum shows whether tokens remain. */
static SAMPI_CALLED void sampi_gpu_advance(const sampi_gpu_args *a, size_t row)
{
    const sampi_gpu_here here = sampi_gpu_at(a, row), *h = &here;
    sampi_gpu_state *st = h->st;
    const int32_t pass = st->pass;
    const bool listing = pass == SAMPI_PASS_GATHER || (pass == SAMPI_PASS_SUMS && st->listing);
    const uint32_t passes = st->passes + 1;
    int known = 1;
    sampi_gpu_meet(st);
    st->passes = passes;
    if (pass == SAMPI_PASS_SCAN) {
        known = sampi_gpu_end_scan(h);
        known = known ? known : 1;
    }
    const bool searching = pass >= SAMPI_PASS_HIST && pass <= SAMPI_PASS_EDGE;
    if (pass == SAMPI_PASS_SUMS || pass == SAMPI_PASS_SIGMA || pass == SAMPI_PASS_MAX) sampi_gpu_end_sums(h);
    if (h->job->n_ids && (listing || searching)) sampi_gpu_join_changed(h);
    if (listing) {
        st->listed = st->n_list <= SAMP_GPU_LIST;
        st->overflown = !st->listed;
        st->listing = false;
    }
    while (known == 1) {
        if (sampi_gpu_is_short(h)) {
            sampi_gpu_short(h);
            break;
        }
        const uint32_t at = st->at;
        sampi_gpu_step *step = &h->job->step[at];
        const bool last = at + 1 == h->job->n_steps;
        known = sampi_gpu_run_step(h, step);
        if (known != 1 || last) break; /* the step waits, has failed, or has finished the row itself */
        sampi_gpu_meet(st);
        st->at = at + 1;
        st->memory.phase = 0;
        if (st->complete && st->n_list == 0) known = SAMP_E_EMPTY;
    }
    /* a negative status is an error, or "not on the device": the host gets it, and the row is ready for the next
       batch */
    if (known < 0) sampi_gpu_finish(h, known, -1, 0.0f);
}

/* Returns how many teams a launch needs: those that share rows, then the rows' leaders. */
static uint32_t sampi_gpu_teams_of(const sampi_gpu_args *a) { return a->n_rows * (a->splits + a->leaders); }

/* Runs a team's passes over its row, as long as one can begin. How teams wait: a team does its part of
   the pass, fences, and adds 1 to `arrived`. When all have, one team sets `arrived` to 0, advances the row, fences, and
   raises the epoch. If teams wait, that is the row's leader, which does nothing else, or the row's first team; either
   is mostly on the same multiprocessor in each batch. Else it is the last one to arrive, which claims the row by a
   comparison, so that there is one, and fences, to see what the others have written. The others wait for the epoch, and
   read the new state. So the state has one writer at a time, and no lock. done [team] is the last pass that
   a team has done. A team that stops waiting, or whose kernel ends after each pass, runs again in another launch, and
   must not do its part twice. The mark includes the batch, because an earlier row of the same number may have had the
   same epoch. A result of this batch ends the row for every team that sees it; no team writes one before this team has
   arrived. A row's only team does not wait, and runs until then. */
static void sampi_gpu_team(const sampi_gpu_args *a, uint32_t team)
{
    /* copies, as a load that acquires empties the cache */
    const uint32_t batch = a->batch, splits = a->splits, wait = a->wait;
    const bool leads = team >= a->n_rows * splits;
    const size_t row = leads ? team - a->n_rows * splits : team / splits;
    const uint32_t split = leads ? splits : team % splits;
    const bool first = wait && (a->leaders ? leads : split == 0);
    const sampi_gpu_result *result = &a->result[row];
    uint64_t done = a->done[team];
    sampi_gpu_state *st = &a->state[row];
    const sampi_gpu_job *job = sampi_gpu_job_of(a, row);
    const sampi_gpu_place *place = &a->place[row];
    const uint32_t job_words = (uint32_t)(a->job_size / 4);
    uint32_t waited = 0, epoch = sampi_gpu_look(&st->epoch);
    for (uint32_t next = epoch;; epoch = next) {
        const uint64_t mark = (uint64_t)batch << 32 | (uint32_t)(epoch + 1);
        /* else it did this pass in an earlier launch, and another may advance the row now */
        if ((leads || done != mark) && result->batch == batch) return;
        if (!leads && done != mark) {
            sampi_gpu_bring_near(a, st, job, job_words, place);
            sampi_gpu_walk(a, row, split);
            sampi_gpu_fence(); /* other teams see parts, lists and histograms before this arrival */
            sampi_gpu_add(&st->arrived, 1);
            a->done[team] = done = mark; /* all lanes have read it: there was a barrier */
        }
        if (first) {
            while (sampi_gpu_peek(&st->arrived) != splits)
                if (++waited > wait) return;
            (void)sampi_gpu_look(&st->arrived);
            sampi_gpu_add(&st->arrived, 0 - splits);
        }
        if (first || (!wait && sampi_gpu_claim(&st->arrived, splits))) {
            if (!first) sampi_gpu_fence(); /* the other teams' results are read only after the last arrival */
            sampi_gpu_bring_near(a, st, job, job_words, place);
            sampi_gpu_advance(a, row);
            sampi_gpu_meet(st);
            sampi_gpu_fence(); /* the other teams see the new state before the epoch */
            sampi_gpu_add(&st->epoch, 1);
            waited = 0, next = epoch + 1;
            if (wait || splits == 1) continue;
        }
        if (wait == 0) return; /* the other teams run later, or in the next launch */
        while (sampi_gpu_peek(&st->epoch) == epoch)
            if (++waited > wait) return;
        next = sampi_gpu_look(&st->epoch);
    }
}

#if SAMPI_OFFLOAD
#pragma omp declare target
/* The batch that the kernel runs, and the probe's counters. They are globals because a launch with arguments costs
   more. */
static struct {
    const sampi_gpu_args *args; /* NULL for a probe */
    sampi_gpu_args *near_args;  /* [teams] where teams copy args that are in host memory; NULL: they are not */
} sampi_gpu_bound;
static uint32_t *sampi_gpu_probe_counters; /* [4] see sampi_gpu_count_teams */
#pragma omp end declare target
#endif
