/* ---- search: a step ----
   samp_beams_step: each beam's row leaves its best tokens (search/rows.h); group by group the continuations become a
   heap, from which the next beams are taken; the chains' states follow (search/states.h). The room also saves and loads
   a search.

   How many tokens of a row count (k): a group keeps at most group_size continuations that live on. Before them may
   come those by end tokens, and those that the diversity penalty puts behind: at most as many as earlier groups have
   beams. */

/* ---- the rows ---- */

/* The number of a sampled beam's random stream. No kind of sampler has the number 255 (samp_unmask has 254). */
#define SAMPI_BEAMS_STREAM(r) (255u << 16 | (uint32_t)(r))

/* What sampi_beams_row is given. */
typedef struct sampi_beams_call {
    samp_beams *b;
    samp_sampler *const *rows; /* the user's chains, or NULL */
} sampi_beams_call;

/* Runs a beam's chain, and keeps what its row leaves. own: the search's empty chains. Returns a status. */
static samp_token sampi_beams_row(samp_sampler *const *own, const samp_logits *batch, size_t r, sampi_work *work,
                                  const void *what)
{
    const sampi_beams_call *call = (const sampi_beams_call *)what;
    samp_beams *b = call->b;
    sampi_leaf *leaf = &b->leaf[r];
    sampi_runner *few = b->few + r * b->k;
    sampi_left left;
    sampi_job job;
    int status = sampi_batch_job((sampi_sampler *)(call->rows ? call->rows : own)[r], batch, r, work, &job);
    if (!status) status = sampi_leave(&job, false, &left);
    if (status) return status;
    leaf->all = sampi_log_sum(left.sums.max, left.sums.z);
    leaf->ln_z = sampi_ln((double)left.sums.z);
    leaf->n_few = !b->set.sampled
                      ? sampi_best_left(&left, b->k, few)
                      : sampi_first_left(&left, b->set.seed, (uint64_t)b->length, SAMPI_BEAMS_STREAM(r), b->k, few);
    return SAMP_OK;
}

/* Checks the arguments of a step. */
static int sampi_beams_check(const samp_beams *b, samp_sampler *const *rows, const samp_logits *logits)
{
    samp_logits all = *logits;
    if (logits->logprobs) return SAMP_E_UNSUPPORTED;
    if (logits->n_rows != (size_t)b->n_live || (b->n_vocab && logits->n_vocab != b->n_vocab)) return SAMP_E_RANGE;
    all.n_rows = rows ? (size_t)b->set.n_beams : 0;
    for (size_t i = 0; i < all.n_rows; i++)
        if (!rows[i]) return SAMP_E_NULL;
    int status = sampi_check_batch(rows, &all);
    for (size_t i = 0; i < all.n_rows && !status; i++) {
        status = sampi_life_state_status(rows[i]);
        if (!status && i && !sampi_are_alike((sampi_sampler *)rows[i], (sampi_sampler *)rows[0]))
            status = SAMP_E_RANGE;
        if (!status && i && !b->n_vocab &&
            sampi_life_fingerprint((sampi_sampler *)rows[i]) != sampi_life_fingerprint((sampi_sampler *)rows[0]))
            status = SAMP_E_RANGE;
    }
    return status;
}

/* Allocates what depends on the vocabulary, for this and all later steps. */
static SAMPI_COLD int sampi_beams_begin(samp_beams *b, samp_sampler *const *rows, const samp_logits *logits)
{
    sampi_work *work[SAMPI_MAX_THREADS];
    samp_logits all = *logits;
    size_t k = (size_t)b->group_size + (size_t)b->set.n_ends;
    if (b->set.diversity_penalty > 0.0f) k += (size_t)(b->set.n_beams - b->group_size);
    if (k > logits->n_vocab) k = logits->n_vocab;
    const uint64_t n = (uint64_t)b->set.n_beams;
    for (uint64_t i = 0; rows && i < n; i++)
        if (!sampi_past_ready((sampi_sampler *)rows[i])) return SAMP_E_NOMEM;
    sampi_arrays arrays = { NULL, 0, 0 };
    while (sampi_row_next_pass(&arrays)) {
        b->leaf = (sampi_leaf *)sampi_row_lay(&arrays, n * sizeof *b->leaf);
        b->few = (sampi_runner *)sampi_row_lay(&arrays, n * k * sizeof *b->few);
        b->heap = (sampi_candidate *)sampi_row_lay(&arrays, (uint64_t)b->group_size * k * sizeof *b->heap);
    }
    if (!(b->wide = arrays.memory)) return SAMP_E_NOMEM;
    all.n_rows = (size_t)n;
    all.n_vocab_of = NULL;
    const int threads = sampi_batch_threads(&all);
    if (sampi_batch_work(b->own, &all, work, threads) < threads) {
        SAMP_FREE(b->wide);
        b->wide = NULL;
        return SAMP_E_NOMEM;
    }
    b->k = k;
    b->n_vocab = logits->n_vocab;
    return SAMP_OK;
}

/* Runs the chains of all rows, in threads. If a row fails, all chains are as before. */
static int sampi_beams_rows(samp_beams *b, samp_sampler *const *rows, const samp_logits *logits)
{
    const sampi_beams_call call = { b, rows };
    for (int32_t r = 0; rows && r < b->n_live; r++) {
        sampi_life_moves((sampi_sampler *)rows[r]);
        sampi_life_save_state((sampi_sampler *)rows[r]);
    }
    int status = sampi_batch(b->own, logits, b->uses, sampi_beams_row, &call);
    for (int32_t r = 0; r < b->n_live && !status; r++) status = b->uses[r];
    for (int32_t r = 0; rows && r < b->n_live; r++) (void)sampi_life_end_draw((sampi_sampler *)rows[r], status);
    return status;
}

/* ---- the choice ---- */

/* Does a come before b? */
static bool sampi_candidate_before(const sampi_candidate *a, const sampi_candidate *b)
{
    if (a->key != b->key) return a->key > b->key;
    if (a->parent != b->parent) return a->parent < b->parent;
    return a->logit > b->logit || (a->logit == b->logit && a->token < b->token);
}

/* Moves heap[root] down until none of its children comes before it. */
static void sampi_candidate_sift(sampi_candidate *heap, size_t root, size_t n)
{
    const sampi_candidate moved = heap[root];
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        child += child + 1 < n && sampi_candidate_before(&heap[child + 1], &heap[child]);
        if (!sampi_candidate_before(&heap[child], &moved)) break;
        heap[root] = heap[child];
    }
    heap[root] = moved;
}

/* Returns the Gumbel variable of a continuation: its time is its parent's time e^-G, plus the time by which it comes
   behind the parent's first continuation. So the first one has its parent's variable. */
static double sampi_beams_gumbel(const sampi_beam *parent, const sampi_leaf *leaf, double behind)
{
    if (!(behind > 0.0)) return parent->key;
    const double a = -parent->key, b = sampi_ln(behind) + leaf->ln_z - parent->score, most = a > b ? a : b;
    return -(most + sampi_ln(1.0 + sampi_exp2((a > b ? b - a : a - b) * SAMPI_LOG2E)));
}

/* Makes a heap of the continuations of beams from .. to - 1, best first. Returns their number. */
static size_t sampi_beams_heap(const samp_beams *b, int32_t from, int32_t to)
{
    size_t n = 0;
    for (int32_t r = from; r < to; r++) {
        const sampi_leaf *leaf = &b->leaf[r];
        const sampi_runner *few = b->few + (size_t)r * b->k;
        for (size_t i = 0; i < leaf->n_few; i++) {
            sampi_candidate *c = &b->heap[n++];
            c->parent = r;
            c->token = few[i].id;
            c->logit = few[i].logit;
            c->score = b->live[r].score + ((double)few[i].logit - leaf->all);
            if (b->n_taken) { /* only if there is a diversity penalty */
                const size_t width = sizeof *b->taken, m = (size_t)b->n_taken;
                const size_t times = sampi_find_token(b->taken, width, m, c->token + 1) -
                                     sampi_find_token(b->taken, width, m, c->token);
                c->score -= (double)b->set.diversity_penalty * (double)times;
            }
            c->key = b->set.sampled ? sampi_beams_gumbel(&b->live[r], leaf, few[i].time - few[0].time) : c->score;
        }
    }
    for (size_t i = n / 2; i-- > 0;) sampi_candidate_sift(b->heap, i, n);
    return n;
}

static bool sampi_is_end(const samp_beams *b, samp_token token)
{
    const size_t n = (size_t)b->set.n_ends, at = sampi_find_token(b->set.ends, sizeof *b->set.ends, n, token);
    return at < n && b->set.ends[at] == token;
}

/* Is a group done that has found enough hypotheses? best: the score of its best continuation in this step. */
static bool sampi_beams_stop(const samp_beams *b, int32_t group, double best)
{
    int32_t worst = 0;
    if (b->set.sampled || sampi_group_found(b, group, &worst) < b->group_size) return false;
    if (b->set.early_stopping == SAMP_EARLY_ALWAYS) return true;
    const bool grows = b->set.early_stopping == SAMP_EARLY_EXACT && b->set.length_penalty > 0.0f;
    const double power = sampi_beams_power(b, grows ? b->set.max_tokens : b->length + 1);
    return b->found[worst].key >= best / power;
}

/* Takes the next beams of a group from its heap of n continuations; they are written from index `begin` on. Returns
   the index behind them. */
static int32_t sampi_beams_take(samp_beams *b, int32_t group, size_t n, int32_t begin, samp_token *tokens,
                                int32_t *parents)
{
    int32_t end = begin, ahead = 0; /* ahead: if beams are sampled, the hypotheses before this continuation */
    for (int32_t rank = 0; n > 0 && end - begin < b->group_size; rank++) {
        const sampi_candidate c = b->heap[0];
        b->heap[0] = b->heap[--n];
        if (n) sampi_candidate_sift(b->heap, 0, n);
        while (b->set.sampled && ahead < b->n_found && b->found[ahead].key >= c.key) ahead++;
        if (end - begin + ahead >= b->group_size) break;
        const sampi_beam beam = { c.key, c.score, group };
        if (sampi_is_end(b, c.token)) {
            if (b->set.sampled || rank < b->group_size) sampi_found_add(b, &beam, c.parent, c.token);
            continue;
        }
        tokens[end] = c.token;
        parents[end] = c.parent;
        b->next[end++] = beam;
    }
    while (b->set.sampled && end - begin + b->n_found > b->group_size) sampi_found_remove(b, b->n_found - 1);
    return end;
}

/* Notes the tokens that a group has taken, for the groups behind it. */
static void sampi_beams_note(samp_beams *b, const samp_token *tokens, int32_t n)
{
    for (int32_t i = 0; i < n && b->set.diversity_penalty > 0.0f && b->set.n_groups > 1; i++) {
        int32_t at = b->n_taken++;
        for (; at > 0 && b->taken[at - 1] > tokens[i]; at--) b->taken[at] = b->taken[at - 1];
        b->taken[at] = tokens[i];
    }
}

/* Chooses the next beams, and writes the tokens and parents. Returns their number. */
static int32_t sampi_beams_choose(samp_beams *b, samp_token *tokens, int32_t *parents)
{
    int32_t n_next = 0, from = 0, to = 0;
    b->n_taken = 0;
    for (int32_t group = 0; group < b->set.n_groups; group++) {
        if (b->length == 0)
            to = 1; /* the empty text belongs to all groups */
        else
            for (from = to; to < b->n_live && b->live[to].group == group; to++) {
            }
        if (from == to) continue;
        const int32_t begin = n_next;
        const size_t n = sampi_beams_heap(b, from, to);
        const double best = b->heap[0].score;
        n_next = sampi_beams_take(b, group, n, begin, tokens, parents);
        sampi_beams_note(b, tokens + begin, n_next - begin);
        const bool stops = sampi_beams_stop(b, group, best), ends = b->length + 1 == b->set.max_tokens;
        for (int32_t i = begin; i < n_next && ends && !stops; i++)
            sampi_found_add(b, &b->next[i], parents[i], tokens[i]);
        if (stops || ends) n_next = begin;
    }
    for (int32_t i = n_next; i < b->set.n_beams; i++) tokens[i] = parents[i] = -1;
    const size_t bytes = (size_t)b->set.n_beams * sizeof *tokens, at = (size_t)b->length * (size_t)b->set.n_beams;
    memcpy(b->token + at, tokens, bytes);
    memcpy(b->parent + at, parents, bytes);
    sampi_beam *live = b->live;
    b->live = b->next;
    b->next = live;
    b->length++;
    return b->n_live = n_next;
}

SAMP_API int samp_beams_step(samp_beams *b, samp_sampler *const *rows, const samp_logits *logits, samp_token *tokens,
                             int32_t *parents)
{
    if (!b || !logits || !tokens || !parents) return SAMP_E_NULL;
    if (b->status || b->n_live == 0) return b->status;
    int status = sampi_beams_check(b, rows, logits);
    if (!status && !b->n_vocab) status = sampi_beams_begin(b, rows, logits);
    if (!status) status = sampi_beams_rows(b, rows, logits);
    if (status) return status;
    const int32_t n = sampi_beams_choose(b, tokens, parents);
    if (!rows) return n;
    status = sampi_states_follow(rows, parents, n, b->uses, b->set.n_beams);
    for (int32_t i = 0; i < n && !status; i++) status = samp_accept(rows[i], tokens[i]);
    b->status = status;
    return status ? status : n;
}

/* ---- a search as bytes ----
   The words, little-endian: "SAMB", version, fingerprint of the parameters [2]; length, n_live, n_found; token and
   parent of each step and beam; of each live beam key [2], score [2], group; of each hypothesis the same, n and its
   tokens; a checksum [2]. */

#define SAMPI_BEAMS_MAGIC   0x424D4153u /* "SAMB" */
#define SAMPI_BEAMS_VERSION 1

/* Saves or loads an integer in [lo, hi]. */
static void sampi_io_within(sampi_io *io, int32_t *x, int32_t lo, int32_t hi)
{
    *x = (int32_t)(uint32_t)sampi_io_int(io, (uint32_t)*x, 4);
    io->bad |= *x < lo || *x > hi;
}

/* Saves or loads what orders a beam or a hypothesis; a NaN is refused. */
static void sampi_io_beam(sampi_io *io, double *key, double *score, int32_t *group, int32_t n_groups)
{
    *key = sampi_from_bits(sampi_io_int(io, sampi_bits(*key), 8));
    *score = sampi_from_bits(sampi_io_int(io, sampi_bits(*score), 8));
    io->bad |= !(*key <= DBL_MAX) || !(*score <= DBL_MAX);
    sampi_io_within(io, group, 0, n_groups - 1);
}

/* Counts, writes or reads all of a state but the checksum. */
static SAMPI_COLD void sampi_beams_io(samp_beams *b, sampi_io *io)
{
    const samp_beam_params *p = &b->set;
    const size_t n_beams = (size_t)p->n_beams;
    const int32_t numbers[] = { p->n_beams, p->n_groups, p->max_tokens, (int32_t)p->early_stopping, p->sampled };
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sampi_mix(&hash, (uint32_t)numbers[i]);
    for (int32_t i = 0; i < p->n_ends; i++) sampi_mix(&hash, (uint32_t)p->ends[i]);
    sampi_mix_float(&hash, p->length_penalty);
    sampi_mix_float(&hash, p->diversity_penalty);
    sampi_mix(&hash, p->seed);
    io->bad |= sampi_io_int(io, SAMPI_BEAMS_MAGIC, 4) != SAMPI_BEAMS_MAGIC;
    io->bad |= sampi_io_int(io, SAMPI_BEAMS_VERSION, 4) != SAMPI_BEAMS_VERSION;
    io->bad |= sampi_io_int(io, hash, 8) != hash;
    sampi_io_within(io, &b->length, 0, p->max_tokens);
    sampi_io_within(io, &b->n_live, 0, p->n_beams);
    sampi_io_within(io, &b->n_found, 0, p->n_beams);
    for (size_t i = 0; !io->bad && i < n_beams * (size_t)b->length; i++) {
        sampi_io_within(io, &b->token[i], -1, INT32_MAX);
        sampi_io_within(io, &b->parent[i], -1, p->n_beams - 1);
    }
    for (int32_t i = 0; !io->bad && i < b->n_live; i++)
        sampi_io_beam(io, &b->live[i].key, &b->live[i].score, &b->live[i].group, p->n_groups);
    for (int32_t i = 0; !io->bad && i < b->n_found; i++) {
        sampi_hypothesis *h = &b->found[i];
        sampi_io_beam(io, &h->key, &h->score, &h->group, p->n_groups);
        sampi_io_within(io, &h->n, 1, b->length);
        samp_token *text = b->text + (size_t)h->slot * (size_t)p->max_tokens;
        for (int32_t j = 0; !io->bad && j < h->n; j++) sampi_io_within(io, &text[j], 0, INT32_MAX);
    }
}

/* Can a search be as these bytes have it: the beams of each step before the first -1, each with a parent; live beams
   in groups; hypotheses in order, no group with too many? */
static SAMPI_COLD bool sampi_beams_sound(const samp_beams *b)
{
    int32_t n = 1, worst = 0;
    for (int32_t i = 0; i < b->length; i++) {
        const size_t at = (size_t)i * (size_t)b->set.n_beams;
        int32_t live = 0;
        for (int32_t j = 0; j < b->set.n_beams; j++) {
            const int32_t token = b->token[at + (size_t)j], parent = b->parent[at + (size_t)j];
            if ((token < 0) != (parent < 0) || parent >= n || (token >= 0 && live++ != j)) return false;
        }
        n = live;
    }
    for (int32_t i = 1; i < b->n_live; i++)
        if (b->live[i].group < b->live[i - 1].group) return false;
    for (int32_t i = b->group_size; i < b->n_live; i++)
        if (b->live[i].group == b->live[i - b->group_size].group) return false;
    for (int32_t i = 1; i < b->n_found; i++)
        if (b->found[i].key > b->found[i - 1].key) return false;
    for (int32_t group = 0; group < b->set.n_groups; group++)
        if (sampi_group_found(b, group, &worst) > b->group_size) return false;
    return n == b->n_live && (n == 0 || b->length < b->set.max_tokens);
}

SAMP_API SAMPI_COLD size_t samp_beams_state_size(const samp_beams *b)
{
    sampi_io io = { SAMPI_WRITE, NULL, NULL, 0, 0, 0, NULL, NULL };
    if (!b) return 0;
    sampi_beams_io((samp_beams *)(uintptr_t)b, &io); /* in this mode each number becomes what it is */
    return io.at + 8;
}

SAMP_API SAMPI_COLD int samp_beams_state_save(const samp_beams *b, void *bytes, size_t size)
{
    sampi_io io = { SAMPI_WRITE, (unsigned char *)bytes, NULL, 0, 0, 0, NULL, NULL };
    if (!b || !bytes) return SAMP_E_NULL;
    if (b->status) return b->status;
    if (size < samp_beams_state_size(b)) return SAMP_E_WORKSPACE;
    sampi_beams_io((samp_beams *)(uintptr_t)b, &io);
    sampi_io_int(&io, sampi_checksum(bytes, io.at), 8);
    return SAMP_OK;
}

/* Reads the bytes into a search of its own, which takes the place of b's if it is sound. */
SAMP_API SAMPI_COLD int samp_beams_state_load(samp_beams *b, const void *bytes, size_t size)
{
    sampi_io io = { SAMPI_READ, NULL, (const unsigned char *)bytes, size, 0, 0, NULL, NULL };
    int status = b && bytes ? SAMP_OK : SAMP_E_NULL;
    samp_beams *fresh = status ? NULL : samp_beams_init(&b->set, &status);
    if (!fresh) return status;
    sampi_beams_io(fresh, &io);
    const size_t end = io.at;
    const uint64_t sum = sampi_io_int(&io, 0, 8);
    if (io.bad || io.at != size || sum != sampi_checksum(bytes, end) || !sampi_beams_sound(fresh)) {
        status = SAMP_E_FORMAT;
    } else {
        const samp_beams old = *b;
        *b = *fresh;
        *fresh = old;
    }
    samp_beams_free(fresh);
    return status;
}
