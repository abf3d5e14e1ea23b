/* kv_model.h - a naive model of the cache of sequences, a list of (sequence, position, token) without cells, and random
   operations on both: for test_kv.c and fuzz/fuzz_kv.c. Include it behind the declarations (SAMPLING_KV), a source of
   numbers and assert_ok, assert_num, assert_true, assert_memory_equal. */
#ifndef KV_MODEL_H
#define KV_MODEL_H

enum { CELLS = 48, SEQS = 6, MAX_BATCH = 12 };

/* --------------------------------------------------------------------------------------- the naive model */

/* One token of one sequence. Tokens that sequences share have the same tag. */
typedef struct pair {
    int32_t seq, pos;
    uint32_t tag;
} pair;

static pair list[CELLS * SEQS];
static int n_list;
static uint32_t head; /* the model's */
static uint32_t next_tag;

/* A token's tag is what its cell holds, in every layer: the cache must not mix them up. */
static const uint32_t model_k[2] = { 3, 1 }, model_v[2] = { 2, 5 };

static void write_tag(samp_kv *kv, uint32_t cell, uint32_t tag)
{
    float k[5], v[5];
    for (uint32_t layer = 0; layer < 2; layer++) {
        for (uint32_t i = 0; i < 5; i++) {
            k[i] = (float)((tag + layer + i) % 2048); /* an f16 can tell these apart */
            v[i] = (float)(tag + 7 * layer + i);
        }
        assert_ok(samp_kv_put(kv, layer, cell, k, v));
    }
}

static uint32_t read_tag(const samp_kv *kv, uint32_t cell)
{
    float k[5], v[5];
    uint32_t tag = 0;
    for (uint32_t layer = 0; layer < 2; layer++) {
        assert_ok(samp_kv_get(kv, layer, cell, k, v));
        if (layer == 0) tag = (uint32_t)v[0];
        for (uint32_t i = 0; i < model_k[layer]; i++) assert_num(k[i], (tag + layer + i) % 2048);
        for (uint32_t i = 0; i < model_v[layer]; i++) assert_num(v[i], tag + 7 * layer + i);
    }
    return tag;
}

static int tokens_listed(void)
{
    int n = 0;
    for (int i = 0; i < n_list; i++) {
        bool first = true;
        for (int j = 0; j < i && first; j++) first = list[j].tag != list[i].tag;
        n += first;
    }
    return n;
}

static void forget(int i) { list[i] = list[--n_list]; }

static bool meant(const pair *p, int32_t seq, int32_t p0, int32_t p1)
{
    return (seq < 0 || p->seq == seq) && p->pos >= p0 && (p1 < 0 || p->pos < p1);
}

static void model_rm(int32_t seq, int32_t p0, int32_t p1)
{
    for (int i = n_list; i-- > 0;)
        if (meant(&list[i], seq, p0, p1)) forget(i);
}

static void model_cp(int32_t src, int32_t dst, int32_t p0, int32_t p1)
{
    for (int i = 0, n = n_list; i < n; i++) {
        bool there = false;
        if (!meant(&list[i], src, p0, p1)) continue;
        for (int j = 0; j < n_list; j++) there |= list[j].seq == dst && list[j].tag == list[i].tag;
        if (there) continue;
        list[n_list] = list[i];
        list[n_list++].seq = dst;
    }
}

static void model_keep(int32_t seq)
{
    for (int i = n_list; i-- > 0;)
        if (list[i].seq != seq) forget(i);
}

/* what seq's tokens in the range do, all holders of the same tokens do */
static void model_move(int32_t seq, int32_t p0, int32_t p1, int32_t delta, int32_t divisor)
{
    uint32_t moving[CELLS * SEQS];
    int n = 0;
    for (int i = 0; i < n_list; i++)
        if (meant(&list[i], seq, p0, p1)) moving[n++] = list[i].tag;
    for (int i = n_list; i-- > 0;) {
        for (int k = 0; k < n; k++) {
            if (list[i].tag != moving[k]) continue;
            list[i].pos = (list[i].pos + delta) / divisor;
            if (list[i].pos < 0) forget(i);
            break;
        }
    }
}

static int32_t model_extreme(int32_t seq, bool max)
{
    int32_t best = -1;
    for (int i = 0; i < n_list; i++)
        if (list[i].seq == seq && (best < 0 || (max ? list[i].pos > best : list[i].pos < best))) best = list[i].pos;
    return best;
}

/* where n neighbours are free: at the start or behind it, else from 0 on; -1: nowhere */
static int model_run(const samp_kv *kv, uint32_t start, uint32_t n)
{
    for (uint32_t turn = 0; turn < kv->size; turn++) {
        uint32_t at = (start + turn) % kv->size;
        bool free_run = at + n <= kv->size;
        for (uint32_t i = 0; i < n && free_run; i++) free_run = kv->cells[at + i].pos < 0;
        if (free_run) return (int)at;
    }
    return -1;
}

/* --------------------------------------------------------------------------------------------- the rules */

static uint64_t listed_set(uint32_t t, int32_t *pos)
{
    uint64_t set = 0;
    for (int i = 0; i < n_list; i++) {
        if (list[i].tag != t) continue;
        assert_true(set == 0 || *pos == list[i].pos);
        set |= (uint64_t)1 << list[i].seq;
        *pos = list[i].pos;
    }
    return set;
}

/* The cache holds what the list holds, no more and no less; the counts are right. */
static void check_rules(const samp_kv *kv)
{
    uint32_t used = 0, last = 0;
    int pairs = 0;
    for (uint32_t i = 0; i < kv->size; i++) {
        const samp_kv_cell *c = &kv->cells[i];
        int32_t pos = -1;
        if (c->pos < 0) {
            assert_num(c->pos, -1);
            assert_u64(c->seq, 0);
            assert_num(c->delta, 0);
            continue;
        }
        uint64_t set = listed_set(read_tag(kv, i), &pos);
        assert_u64(c->seq, set);
        assert_num(c->pos, pos);
        assert_true(set != 0);
        assert_true(c->delta == 0 || kv->has_shift);
        for (; set; set &= set - 1) pairs++;
        used++;
        last = i + 1;
    }
    assert_num(pairs, n_list);
    assert_num(kv->used, used);
    assert_num(kv->head, head);
    assert_true(head < kv->size);
    assert_true(kv->n >= last || kv->n == kv->size);
    for (int32_t s = 0; s < SEQS; s++) {
        assert_num(samp_kv_seq_pos_min(kv, s), model_extreme(s, false));
        assert_num(samp_kv_seq_pos_max(kv, s), model_extreme(s, true));
    }
}

/* -------------------------------------------------------------------------------------- random operations */

static int32_t random_end(source *rng) { return (int32_t)below(rng, 40) - 4; }

/* The first cell that a change frees moves head back. */
static void follow_head(const samp_kv *kv, const samp_kv_cell *before)
{
    for (uint32_t i = 0; i < head; i++)
        if (before[i].pos >= 0 && kv->cells[i].pos < 0) head = i;
}

/* Is that what samp_kv_find_slot takes? */
static bool sound(const samp_kv_batch *batch)
{
    if (batch->n_tokens == 0 || batch->n_tokens > CELLS) return false;
    for (uint32_t i = 0; i < batch->n_tokens; i++) {
        uint64_t set = batch->seq[i];
        if (set == 0 || set >> SEQS || batch->pos[i] < 0 || batch->pos[i] == INT32_MAX) return false;
        for (int32_t s = 0; s < SEQS; s++)
            if ((set >> s & 1) && batch->pos[i] <= model_extreme(s, true)) return false;
        for (uint32_t k = 0; k < i; k++)
            if ((batch->seq[k] & set) && batch->pos[k] >= batch->pos[i]) return false;
    }
    return true;
}

static uint64_t random_set(source *rng)
{
    uint64_t set = (uint64_t)1 << below(rng, SEQS);
    return below(rng, 4) ? set : set | (uint64_t)1 << below(rng, SEQS);
}

/* A batch that follows what is there, or, now and then, one with something wrong. pos, set: [CELLS + 1] */
static uint32_t random_batch(source *rng, int32_t *pos, uint64_t *set)
{
    int32_t last[SEQS];
    uint32_t n = 1 + (uint32_t)below(rng, below(rng, 50) ? MAX_BATCH : CELLS + 1);
    for (int32_t s = 0; s < SEQS; s++) last[s] = model_extreme(s, true);
    for (uint32_t i = 0; i < n; i++) {
        int32_t after = -1;
        set[i] = random_set(rng);
        for (int32_t s = 0; s < SEQS; s++)
            if ((set[i] >> s & 1) && last[s] > after) after = last[s];
        pos[i] = after + 1 + (below(rng, 8) ? 0 : (int32_t)below(rng, 5));
        for (int32_t s = 0; s < SEQS; s++)
            if (set[i] >> s & 1) last[s] = pos[i];
    }
    uint32_t i = (uint32_t)below(rng, n);
    switch (below(rng, 50)) {
        case 0: set[i] |= (uint64_t)1 << (SEQS + below(rng, 64 - SEQS)); break;
        case 1: set[i] = 0; break;
        case 2: pos[i] = -1 - (int32_t)below(rng, 3); break;
        case 3: pos[i] = INT32_MAX; break;
        case 4: pos[i] = (int32_t)below(rng, (size_t)pos[i] + 1); break;
        case 5: n = 0; break;
    }
    return n;
}

/* Returns what the search answered, after comparing it with the plain one. */
static int random_slot(source *rng, samp_kv *kv)
{
    int32_t pos[CELLS + 1];
    uint64_t set[CELLS + 1];
    uint32_t cells[CELLS + 1];
    bool was_free[CELLS], scattered = below(rng, 2) == 1;
    samp_kv_batch batch = { random_batch(rng, pos, set), pos, set };
    uint32_t n = batch.n_tokens, start = head > kv->used + 2 * n ? 0 : head;
    int run = model_run(kv, start, n), want = SAMP_OK;
    if (!sound(&batch))
        want = SAMP_E_RANGE;
    else if (run < 0 && !(scattered && CELLS - (uint32_t)tokens_listed() >= n))
        want = SAMP_E_FULL;
    for (uint32_t i = 0; i < CELLS; i++) was_free[i] = kv->cells[i].pos < 0;
    assert_status(samp_kv_find_slot(kv, &batch, scattered ? SAMP_KV_SCATTERED : SAMP_KV_RUN, cells), want);
    if (want != SAMP_OK) return want;
    for (uint32_t i = 0, at = run < 0 ? start : (uint32_t)run; i < n; i++, at++) {
        while (!was_free[at % CELLS]) at++;
        assert_num(cells[i], at % CELLS);
        if (i == 0) head = cells[0];
        write_tag(kv, cells[i], next_tag);
        for (int32_t s = 0; s < SEQS; s++) {
            if (!(set[i] >> s & 1)) continue;
            list[n_list].seq = s;
            list[n_list].pos = pos[i];
            list[n_list++].tag = next_tag;
        }
        next_tag++;
    }
    return SAMP_OK;
}

/* An operation on a sequence, on both sides; returns the cache's answer. */
static int random_change(source *rng, samp_kv *kv)
{
    int32_t seq = (int32_t)below(rng, SEQS), other = (int32_t)below(rng, SEQS);
    int32_t p0 = random_end(rng), p1 = random_end(rng), delta = (int32_t)below(rng, 21) - 10;
    int32_t divisor = (int32_t)below(rng, 5);
    if (below(rng, 20) == 0) seq = SEQS + (int32_t)below(rng, 70);
    bool good = seq < SEQS && (p1 < 0 || (p0 < 0 ? 0 : p0) <= p1);
    int status = SAMP_OK;
    switch (below(rng, 8)) {
        case 0:
        case 1:
            if (good && below(rng, 8) == 0) seq = -1 - (int32_t)below(rng, 2);
            status = samp_kv_seq_rm(kv, seq, p0, p1);
            if (good) model_rm(seq, p0, p1);
            break;
        case 2:
            status = samp_kv_seq_cp(kv, seq, other, p0, p1);
            if (good) model_cp(seq, other, p0, p1);
            break;
        case 3:
            status = samp_kv_seq_cp(kv, other, seq, p0, p1);
            if (good) model_cp(other, seq, p0, p1);
            break;
        case 4:
            if (below(rng, 4)) return SAMP_OK; /* what empties the cache comes less often */
            good = seq < SEQS;
            status = samp_kv_seq_keep(kv, seq);
            if (good) model_keep(seq);
            break;
        case 5:
            status = samp_kv_seq_add(kv, seq, p0, p1, delta);
            if (good) model_move(seq, p0, p1, delta, 1);
            break;
        case 6:
            good = good && divisor > 0;
            status = samp_kv_seq_div(kv, seq, p0, p1, divisor);
            if (good) model_move(seq, p0, p1, 0, divisor);
            break;
        default:
            if (below(rng, 50)) return SAMP_OK;
            good = true;
            samp_kv_clear(kv);
            n_list = 0;
            head = 0;
    }
    assert_status(status, good ? SAMP_OK : SAMP_E_RANGE);
    return status;
}

/* Update, with or without having asked for defragmentation. */
static void random_update(source *rng, samp_kv *kv)
{
    uint32_t stays[CELLS], last = 0;
    bool ask = below(rng, 3) == 0;
    for (uint32_t i = 0; i < CELLS; i++) {
        stays[i] = kv->cells[i].pos >= 0 ? read_tag(kv, i) : 0;
        if (kv->cells[i].pos >= 0) last = i + 1;
    }
    bool due = ask || (double)(last - kv->used) > 0.75 * last;
    if (ask) assert_ok(samp_kv_defrag(kv));
    assert_num(kv->do_defrag, ask);
    assert_ok(samp_kv_update(kv));
    assert_false(kv->do_defrag || kv->has_shift);
    for (uint32_t i = 0; i < CELLS; i++) {
        assert_num(kv->cells[i].delta, 0);
        if (due) assert_num(kv->cells[i].pos >= 0, i < kv->used);
        if (stays[i] && (!due || i < kv->used)) assert_num(read_tag(kv, i), stays[i]); /* no move without need */
    }
    if (due) head = kv->used < CELLS ? kv->used : 0;
    if (due) assert_num(kv->n, kv->used > 32 ? CELLS : 32);
}

static void random_step(source *rng, samp_kv *kv)
{
    samp_kv before = *kv;
    samp_kv_cell cells[CELLS];
    memcpy(cells, kv->cells, sizeof cells);
    if (below(rng, 20) == 0) {
        random_update(rng, kv);
        return;
    }
    int status = below(rng, 2) ? random_slot(rng, kv) : random_change(rng, kv);
    if (status == SAMP_OK) {
        follow_head(kv, cells);
        return;
    }
    assert_memory_equal(&before, kv, sizeof before);
    assert_memory_equal(cells, kv->cells, sizeof cells);
}

/* A cache that the model knows, and the model, both empty. */
static samp_kv *model_begin(void)
{
    samp_kv_params params;
    memset(&params, 0, sizeof params);
    params.n_cells = CELLS;
    params.n_seq_max = SEQS;
    params.n_layer = 2;
    params.n_embd_k = model_k;
    params.n_embd_v = model_v;
    params.type_k = SAMP_F16;
    params.v_trans = true;
    params.defrag_threshold = 0.75f;
    samp_kv *kv = samp_kv_init(&params, NULL);
    assert_true(kv != NULL);
    n_list = 0;
    head = 0;
    next_tag = 1; /* below 2^24, which a float can count to */
    return kv;
}

#endif /* KV_MODEL_H */
