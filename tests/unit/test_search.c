/* test_search.c - beams and unmasking against naive twins: a search that sorts all continuations of all beams; chains that are
   made anew for each text and read it from its beginning; all texts tried; sampled beams drawn by the definition; vectors that
   follow transformers' rules; each rule of samp_unmask by a sort; LLaDA's and Dream's functions followed by hand.

     SAMP_TEST_CASES   random searches (default 2,500; with SAMP_TEST_FULL=1 100,000, with SAMP_TEST_QUICK=1 100) */
#define SAMPLING_SEARCH
#define SAMPLING_GRAMMAR
#define SAMPLING_CONSTRAINTS
#include "sampling.h"
#include "tests/support/chi_square.h"
#include "tests/support/heap.h"
#include "tests/support/inside.h"
#include "tests/support/test.h"

enum { MOST_BEAMS = 12, MOST_VOCAB = 14, LONGEST = 8, MOST_ENDS = 3, MOST_STATE = 20000 };

/* -------------------------------------------------------------------------------------------------- a model */

/* A vocabulary of single letters, whose last token ends the text. */
static const char *letters(const samp_vocab *vocab, samp_token token, size_t *n)
{
    *n = token < vocab->n_vocab - 1;
    return &"abcdefghijklmnop"[token];
}

/* A random model: its row is a function of the text. */
typedef struct model {
    uint64_t seed;
    int n_vocab;
    bool coarse;    /* few different logits, so that many are equal */
    bool forgets;   /* only the number of tokens and the last one count, so that beams have equal rows */
    unsigned holes; /* percent of masked tokens */
} model;

static void row_of(const model *m, const samp_token *text, int n, float *row)
{
    uint64_t hash = m->seed;
    for (int i = m->forgets && n > 1 ? n - 1 : 0; i < n; i++) hash = mixed(hash ^ (uint64_t)(text[i] + 1));
    source s = source_seed(hash ^ (uint64_t)n << 32);
    for (int i = 0; i < m->n_vocab; i++) {
        row[i] = m->coarse ? (float)below(&s, 4) : (float)(3.0 * normal(&s));
        if (percent(&s, m->holes)) row[i] = -INFINITY;
    }
    const int spared = (int)below(&s, (uint64_t)m->n_vocab);
    if (!isfinite(row[spared])) row[spared] = 1.0f;
}

/* ------------------------------------------------------------------------------------------- the naive search */

typedef struct naive_beam {
    samp_token text[LONGEST];
    int n, group, parent;
    double score, key;
} naive_beam;

typedef struct naive_next {
    double score, key;
    float logit;
    int parent;
    samp_token token;
} naive_next;

typedef struct naive {
    const samp_beam_params *set;
    const model *m;
    const samp_sampler *chain; /* or NULL: made anew for each text */
    int n_groups, size, length, n_live, n_found;
    naive_beam live[MOST_BEAMS], found[MOST_BEAMS + 1]; /* found: best first */
    bool done[MOST_BEAMS];
} naive;

static int compare_next(const void *x, const void *y)
{
    const naive_next *a = (const naive_next *)x, *b = (const naive_next *)y;
    if (a->key != b->key) return a->key > b->key ? -1 : 1;
    if (a->parent != b->parent) return a->parent - b->parent;
    if (a->logit != b->logit) return a->logit > b->logit ? -1 : 1;
    return a->token - b->token;
}

/* What the chain leaves of a text's row, by samp_apply on an array, and its log-probabilities. */
static size_t naive_row(const naive *v, const naive_beam *beam, samp_token_data *data, double *all, uint64_t *z)
{
    float row[MOST_VOCAB];
    samp_token_data_array cur = { data, (size_t)v->m->n_vocab, -1, false };
    row_of(v->m, beam->text, beam->n, row);
    for (int i = 0; i < v->m->n_vocab; i++) data[i] = (samp_token_data){ i, row[i] + 0.0f, 0.0f };
    if (v->chain) {
        own_sampler *chain = samp_clone(v->chain);
        for (int i = 0; i < beam->n; i++) assert_ok(samp_accept(chain, beam->text[i]));
        assert_ok(samp_set_position(chain, (uint64_t)beam->n));
        assert_ok(samp_apply(chain, &cur));
    }
    size_t n = 0;
    float max = -INFINITY;
    for (size_t i = 0; i < cur.size; i++)
        if (isfinite(data[i].logit)) data[n++] = data[i];
    for (size_t i = 0; i < n; i++) max = data[i].logit > max ? data[i].logit : max;
    *z = 0;
    for (size_t i = 0; i < n; i++) *z += inside_weight(max, data[i].logit);
    *all = (double)max + inside_ln((double)*z / 1099511627776.0);
    return n;
}

static void naive_found(naive *v, const naive_beam *beam, double key)
{
    int in_group = 0, worst = -1, at;
    for (int i = 0; i < v->n_found; i++)
        if (v->found[i].group == beam->group) in_group++, worst = i;
    if (in_group == v->size) {
        if (!(key > v->found[worst].key)) return;
        memmove(&v->found[worst], &v->found[worst + 1], (size_t)(v->n_found-- - worst - 1) * sizeof *beam);
    }
    for (at = v->n_found++; at > 0 && v->found[at - 1].key < key; at--) v->found[at] = v->found[at - 1];
    v->found[at] = *beam;
    v->found[at].key = key;
    v->found[at].score = beam->score / inside_power((double)beam->n, (double)v->set->length_penalty);
}

static bool naive_is_end(const naive *v, samp_token token)
{
    for (int i = 0; i < v->set->n_ends; i++)
        if (v->set->ends[i] == token) return true;
    return false;
}

/* Is a group with enough hypotheses done? */
static bool naive_done(const naive *v, int group, double best)
{
    int in_group = 0;
    double worst = 0.0;
    for (int i = 0; i < v->n_found; i++)
        if (v->found[i].group == group) in_group++, worst = v->found[i].key;
    if (in_group < v->size) return false;
    if (v->set->early_stopping == SAMP_EARLY_ALWAYS) return true;
    bool far = v->set->early_stopping == SAMP_EARLY_EXACT && v->set->length_penalty > 0.0f;
    int length = far ? v->set->max_tokens : v->length + 1;
    return worst >= best / inside_power(length, (double)v->set->length_penalty);
}

/* ln of the time at which a token ends its race, less ln of the text's own time. */
static double naive_time(const naive *v, uint64_t seed, int parent, samp_token token, double w)
{
    const uint32_t counter[4] = { (uint32_t)v->length, 0, 255u << 16 | (uint32_t)parent, (uint32_t)token };
    const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t out[4];
    inside_philox(counter, key, out);
    const uint64_t r = (uint64_t)out[1] << 32 | out[0];
    return -inside_ln((double)(r >> 12 << 1 | 1) / 9007199254740992.0) / w;
}

static void naive_step(naive *v)
{
    static naive_next all[MOST_BEAMS * MOST_VOCAB];
    naive_beam next[MOST_BEAMS];
    samp_token_data data[MOST_VOCAB];
    samp_token taken[MOST_BEAMS]; /* by the groups before, those that are done too */
    int n_next = 0, n_taken = 0;
    for (int group = 0; group < v->n_groups; group++) {
        int n = 0, begin = n_next;
        for (int r = 0; r < v->n_live; r++) {
            double lse, least = INFINITY, time[MOST_VOCAB];
            uint64_t z;
            if (v->length && v->live[r].group != group) continue;
            size_t m = naive_row(v, &v->live[r], data, &lse, &z);
            float max = -INFINITY;
            for (size_t i = 0; i < m; i++) max = data[i].logit > max ? data[i].logit : max;
            for (size_t i = 0; i < m && v->set->sampled; i++) {
                const double w = (double)inside_weight(max, data[i].logit);
                time[i] = w > 0.0 ? naive_time(v, v->set->seed, r, data[i].id, w) : INFINITY;
                least = time[i] < least ? time[i] : least;
            }
            for (size_t i = 0; i < m; i++) {
                naive_next *c = &all[n];
                *c = (naive_next){ 0, 0, data[i].logit, r, data[i].id };
                c->score = v->live[r].score + ((double)data[i].logit - lse);
                int times = 0;
                for (int k = 0; k < n_taken; k++) times += taken[k] == data[i].id;
                c->score -= (double)v->set->diversity_penalty * times;
                c->key = c->score;
                if (v->set->sampled) {
                    if (!(time[i] < INFINITY)) continue;
                    const double behind = time[i] - least, own = -v->live[r].key;
                    c->key = -own;
                    if (behind > 0.0) {
                        const double more = inside_ln(behind) + inside_ln((double)z) - v->live[r].score;
                        const double most = own > more ? own : more, other = own > more ? more : own;
                        c->key = -(most + inside_ln(1.0 + inside_exp(other - most)));
                    }
                }
                n++;
            }
        }
        if (!n || v->done[group]) continue;
        qsort(all, (size_t)n, sizeof *all, compare_next);
        for (int i = 0; i < n && n_next - begin < v->size; i++) {
            int better = 0;
            for (int k = 0; k < v->n_found && v->set->sampled; k++) better += v->found[k].key >= all[i].key;
            if (v->set->sampled && better + n_next - begin >= v->size) break;
            naive_beam beam = v->live[all[i].parent];
            beam.text[beam.n++] = all[i].token;
            beam.group = group;
            beam.parent = all[i].parent;
            beam.score = all[i].score;
            beam.key = all[i].key;
            const double key = v->set->sampled ? beam.key
                                               : beam.score / inside_power(beam.n, (double)v->set->length_penalty);
            if (!naive_is_end(v, all[i].token))
                next[n_next++] = beam;
            else if (v->set->sampled || i < v->size)
                naive_found(v, &beam, key);
        }
        for (int i = begin; i < n_next; i++) taken[n_taken++] = next[i].text[v->length];
        if (v->set->sampled && v->n_found > v->size - (n_next - begin)) v->n_found = v->size - (n_next - begin);
        v->done[group] = !v->set->sampled && naive_done(v, group, all[0].score);
        for (int i = begin; i < n_next && v->length + 1 == v->set->max_tokens && !v->done[group]; i++)
            naive_found(v, &next[i],
                        v->set->sampled ? next[i].key
                                        : next[i].score / inside_power(next[i].n, (double)v->set->length_penalty));
        if (v->done[group] || v->length + 1 == v->set->max_tokens) n_next = begin;
    }
    memcpy(v->live, next, sizeof next);
    v->n_live = n_next;
    v->length++;
}

/* -------------------------------------------------------------------------------------------- random searches */

typedef struct random_search {
    samp_beam_params set;
    samp_token ends[MOST_ENDS];
    model m;
    samp_sampler *chain;
    samp_grammar *grammar;
    samp_vocab_index *index;
    samp_vocab vocab;
    samp_token eog;
    bool greedy; /* the search's chains also have a temperature of 0, which only selects */
} random_search;

/* Items of a catalogue: a tree of texts. */
static const char *const trees[] = { "root ::= (\"a\" [a-d] | \"ba\" | \"c\" [a-c]? [abd]) \"e\"? \"a\"?",
                                     "root ::= [a-c]+", "root ::= (\"ab\" | \"ba\" | \"cc\") root | \"d\"" };

static void add_samplers(random_search *f, source *s)
{
    const unsigned what = (unsigned)below(s, 64);
    f->chain = samp_chain_init();
    if (what & 1) {
        samp_grammar_error error;
        f->grammar = samp_grammar_init(SAMP_GRAMMAR_GBNF, trees[below(s, TEST_COUNT(trees))], NULL, &error);
        f->index = samp_vocab_index_init(&f->vocab, NULL);
        assert_ok(samp_chain_add(f->chain, samp_init_grammar(f->index, f->grammar)));
        f->m.holes = 0;
    }
    if (what & 2)
        assert_ok(samp_chain_add(f->chain, samp_init_penalties(2 + (int32_t)below(s, 6), 1.3f, 0.25f, 0.5f)));
    if (what & 4) assert_ok(samp_chain_add(f->chain, samp_init_no_repeat_ngram(2, 50)));
    if ((what & 8) && !(what & 1)) assert_ok(samp_chain_add(f->chain, samp_init_top_k(1 + (int32_t)below(s, 6))));
    if ((what & 8) && percent(s, 30)) assert_ok(samp_chain_add(f->chain, samp_init_xtc(0.5f, 0.2f, 1, 7)));
    if (what & 16) assert_ok(samp_chain_add(f->chain, samp_init_temp(0.5f + (float)coarse(s))));
    if (what & 32) assert_ok(samp_chain_add(f->chain, samp_init_dist(1))); /* does not select here */
    f->greedy = !(what & 32) && percent(s, 50);
}

static void search_make(random_search *f, source *s, bool sampled)
{
    memset(f, 0, sizeof *f);
    f->m.n_vocab = 2 + (int)below(s, MOST_VOCAB - 1);
    f->m.seed = choose(s, 8);
    f->m.coarse = percent(s, 40);
    f->m.forgets = percent(s, 40);
    f->m.holes = percent(s, 30) ? 30 : 0;
    samp_beam_params *p = &f->set;
    p->n_beams = 1 + (int32_t)below(s, MOST_BEAMS);
    p->n_groups = sampled ? (int32_t)below(s, 2) : (int32_t)below(s, 4);
    if (p->n_groups > 1 && p->n_beams % p->n_groups) p->n_beams = p->n_groups * (1 + p->n_beams / (2 * p->n_groups));
    p->max_tokens = 1 + (int32_t)below(s, LONGEST);
    p->length_penalty = percent(s, 30) ? 0.0f : (float)(3.0 * coarse(s) - 1.0);
    if (percent(s, 30)) p->length_penalty = 1.0f;
    p->diversity_penalty = percent(s, 60) ? (float)coarse(s) * 3.0f : 0.0f;
    if (p->n_groups < 2 || sampled) p->diversity_penalty = 0.0f;
    p->early_stopping = (samp_early_stopping)below(s, 3);
    p->n_ends = (int32_t)below(s, MOST_ENDS + 1);
    for (int i = 0; i < p->n_ends; i++) f->ends[i] = (samp_token)below(s, (uint64_t)f->m.n_vocab);
    if (p->n_ends) f->ends[0] = f->m.n_vocab - 1;
    p->ends = f->ends;
    p->seed = choose(s, 8);
    p->sampled = sampled;
    f->eog = f->m.n_vocab - 1;
    f->vocab = (samp_vocab){ f->m.n_vocab, letters, NULL, NULL, &f->eog, 1, f->eog, -1 };
    if (percent(s, 60)) add_samplers(f, s);
}

static void search_free(random_search *f)
{
    samp_free(f->chain);
    samp_vocab_index_free(f->index);
    samp_grammar_free(f->grammar);
}

static naive naive_of(const random_search *f, const samp_beam_params *set)
{
    naive v;
    memset(&v, 0, sizeof v);
    v.set = set;
    v.m = &f->m;
    v.chain = f->chain;
    v.n_groups = set->n_groups ? set->n_groups : 1;
    v.size = set->n_beams / v.n_groups;
    v.n_live = 1;
    return v;
}

/* Both have found the same. */
static void same_found(const samp_beams *b, const naive *v)
{
    assert_num(samp_beams_n_found(b), v->n_found);
    for (int i = 0; i < v->n_found; i++) {
        const samp_token *text;
        size_t n;
        double score;
        assert_ok(samp_beams_found(b, i, &text, &n, &score));
        assert_num(n, v->found[i].n);
        assert_memory_equal(text, v->found[i].text, n * sizeof *text);
        assert_true(score == v->found[i].score);
    }
}

/* Has the chain no token left for one of these beams? Then the search cannot go on. */
static bool is_stuck(const naive *v)
{
    samp_token_data data[MOST_VOCAB];
    float row[MOST_VOCAB];
    for (int r = 0; v->chain && r < v->n_live; r++) {
        samp_token_data_array cur = { data, (size_t)v->m->n_vocab, -1, false };
        samp_sampler *chain = samp_clone(v->chain);
        row_of(v->m, v->live[r].text, v->live[r].n, row);
        for (int i = 0; i < v->m->n_vocab; i++) data[i] = (samp_token_data){ i, row[i], 0.0f };
        for (int i = 0; i < v->live[r].n; i++) assert_ok(samp_accept(chain, v->live[r].text[i]));
        int status = samp_apply(chain, &cur);
        bool left = false;
        for (size_t i = 0; i < cur.size && !status; i++) left |= isfinite(data[i].logit);
        samp_free(chain);
        if (!left) return true;
    }
    return false;
}

/* The same memory for all searches: rows, with chains beside them. */
static float rows_data[MOST_BEAMS][MOST_VOCAB];

static samp_logits rows_of(const naive *v)
{
    samp_logits logits;
    memset(&logits, 0, sizeof logits);
    for (int r = 0; r < v->n_live; r++) row_of(v->m, v->live[r].text, v->live[r].n, rows_data[r]);
    logits.data = rows_data;
    logits.n_rows = (size_t)v->n_live;
    logits.n_vocab = (size_t)v->m->n_vocab;
    logits.stride = MOST_VOCAB;
    return logits;
}

/* A search saved as bytes, and loaded into another one, goes on as the first. */
static samp_beams *moved(samp_beams *b, const samp_beam_params *set, source *s)
{
    static unsigned char bytes[MOST_STATE], again[MOST_STATE];
    const size_t size = samp_beams_state_size(b);
    assert_true(size <= MOST_STATE);
    assert_ok(samp_beams_state_save(b, bytes, size));
    samp_beams *other = samp_beams_init(set, NULL);
    const size_t at = (size_t)below(s, size);
    bytes[at] ^= 16;
    assert_status(samp_beams_state_load(other, bytes, size), SAMP_E_FORMAT);
    bytes[at] ^= 16;
    assert_status(samp_beams_state_load(other, bytes, size - 1), SAMP_E_FORMAT);
    assert_ok(samp_beams_state_load(other, bytes, size));
    assert_num(samp_beams_state_size(other), size);
    assert_ok(samp_beams_state_save(other, again, size));
    assert_memory_equal(bytes, again, size);
    samp_beams_free(b);
    return other;
}

/* Plays a search beside its twin; returns the number of steps. */
static int play(random_search *f, source *s)
{
    samp_sampler *chains[MOST_BEAMS];
    samp_token tokens[MOST_BEAMS];
    int32_t parents[MOST_BEAMS], n = 1;
    int status, steps = 0;
    bool begun = false; /* this search has made a step, and with it all its memory */
    samp_beams *b = samp_beams_init(&f->set, &status);
    assert_ok(status);
    naive v = naive_of(f, &f->set);
    for (int i = 0; i < f->set.n_beams && f->chain; i++) {
        chains[i] = samp_clone(f->chain);
        if (f->greedy) assert_ok(samp_chain_add(chains[i], samp_init_temp(0.0f)));
    }
    for (; n > 0; steps++) {
        const samp_logits logits = rows_of(&v);
        const bool stuck = is_stuck(&v);
        const unsigned long mallocs = heap.mallocs;
        n = samp_beams_step(b, f->chain ? chains : NULL, &logits, tokens, parents);
        if (stuck) {
            assert_status(n, SAMP_E_EMPTY);
            break;
        }
        if (begun && !f->grammar) assert_num(heap.mallocs, mallocs);
        naive_step(&v);
        assert_num(n, v.n_live);
        for (int i = 0; i < f->set.n_beams; i++) {
            assert_num(parents[i], i < n ? v.live[i].parent : -1);
            assert_num(tokens[i], i < n ? v.live[i].text[v.length - 1] : -1);
        }
        same_found(b, &v);
        begun = !percent(s, 10);
        if (!begun) b = moved(b, &f->set, s);
    }
    for (int i = 0; i < f->set.n_beams && f->chain; i++) samp_free(chains[i]);
    samp_beams_free(b);
    return steps;
}

static void play_many(uint64_t n, bool sampled)
{
    int steps = 0;
    for (uint64_t round = 0; round < n; round++) {
        source s = source_stream(2 * round + sampled);
        random_search f;
        search_make(&f, &s, sampled);
        steps += play(&f, &s);
        search_free(&f);
    }
    assert_true(steps > (int)n);
}

TEST(test_random_searches) { play_many(cases(100000, 100), false); }

TEST(test_sampled_searches) { play_many(cases(100000, 100) / 4, true); }

/* -------------------------------------------------------------------------------------------------- all texts */

/* The best text of all, tried one after the other. */
static void try_all(const naive *v, naive_beam *beam, naive_beam *best, bool *any)
{
    samp_token_data data[MOST_VOCAB];
    double all;
    uint64_t z;
    const bool ends = beam->n && naive_is_end(v, beam->text[beam->n - 1]);
    if (ends || beam->n == v->set->max_tokens) {
        const double score = beam->score / inside_power(beam->n, (double)v->set->length_penalty);
        if (!*any || score > best->score) {
            *best = *beam;
            best->score = score;
        }
        *any = true;
        return;
    }
    size_t n = naive_row(v, beam, data, &all, &z);
    for (size_t i = 0; i < n; i++) {
        naive_beam longer = *beam;
        longer.text[longer.n++] = data[i].id;
        longer.score = beam->score + ((double)data[i].logit - all);
        try_all(v, &longer, best, any);
    }
}

TEST(test_all_texts)
{
    for (int round = 0; round < rounds(800); round++) {
        source s = source_stream(70000 + (uint64_t)round);
        random_search f;
        search_make(&f, &s, false);
        f.m.n_vocab = f.m.n_vocab > 3 ? 3 : f.m.n_vocab; /* with 12 beams all 3^2 texts and their ends are kept */
        f.m.coarse = false;
        samp_free(f.chain);
        f.chain = NULL;
        f.set.n_beams = MOST_BEAMS;
        f.set.n_groups = 1;
        f.set.diversity_penalty = 0.0f;
        f.set.max_tokens = 1 + (int32_t)below(&s, 3);
        f.set.early_stopping = SAMP_EARLY_EXACT;
        f.set.n_ends = f.set.n_ends ? 1 : 0;
        f.ends[0] = f.m.n_vocab - 1;
        naive v = naive_of(&f, &f.set), run = v;
        naive_beam best, empty;
        samp_token tokens[MOST_BEAMS];
        int32_t parents[MOST_BEAMS], n = 1;
        bool any = false;
        memset(&empty, 0, sizeof empty);
        try_all(&v, &empty, &best, &any);
        samp_beams *b = samp_beams_init(&f.set, NULL);
        while (n > 0) {
            const samp_logits logits = rows_of(&run);
            n = samp_beams_step(b, NULL, &logits, tokens, parents);
            naive_step(&run);
        }
        const samp_token *text;
        size_t length;
        double score;
        assert_num(n, 0);
        assert_ok(samp_beams_found(b, 0, &text, &length, &score));
        assert_true(score == best.score);
        assert_num(length, best.n);
        assert_memory_equal(text, best.text, length * sizeof *text);
        samp_beams_free(b);
        search_free(&f);
    }
}

/* ------------------------------------------------------------------------------------- transformers, by its rules */

/* What transformers 4.49 finds (BeamSearchScorer and BeamHypotheses; groups with HammingDiversityLogitsProcessor) for a model
   whose probabilities depend on the last token, followed step by step on paper and in a small program: the texts, best first,
   their scores, and the number of steps. Token 3 ends a text; a text has at most 5 tokens. */
TEST(test_transformers_rules)
{
    enum { HEURISTIC = SAMP_EARLY_HEURISTIC, ALWAYS = SAMP_EARLY_ALWAYS, EXACT = SAMP_EARLY_EXACT };
    static const float p[5][4] = { { .40f, .30f, .20f, .10f }, /* the first token, then behind 0, 1, 2 */
                                   { .10f, .30f, .20f, .40f },
                                   { .25f, .15f, .45f, .15f },
                                   { .20f, .15f, .05f, .60f } };
    static const struct {
        int n_beams, n_groups;
        float length_penalty, diversity_penalty;
        int early, steps, n_found;
        const char *text[4];
        double score[4];
    } c[] = {
        { 2, 1, 1.0f, 0.0f, HEURISTIC, 4, 2, { "123", "0123" }, { -0.837769, -0.857399 } },
        { 2, 1, 1.0f, 0.0f, ALWAYS, 3, 2, { "123", "03" }, { -0.837769, -0.916291 } },
        { 2, 1, 1.0f, 0.0f, EXACT, 5, 2, { "123", "0123" }, { -0.837769, -0.857399 } },
        { 2, 1, 0.0f, 0.0f, HEURISTIC, 3, 2, { "03", "123" }, { -1.832581, -2.513306 } },
        { 3, 1, 2.0f, 0.0f, EXACT, 5, 3, { "0123", "01203", "01012" }, { -0.21435, -0.21778, -0.220362 } },
        { 3, 1, -1.0f, 0.0f, HEURISTIC, 4, 3, { "03", "123", "023" }, { -3.665163, -7.539918, -9.109663 } },
        { 4,
          2,
          1.0f,
          0.5f,
          HEURISTIC,
          4,
          4,
          { "123", "0123", "23", "03" },
          { -0.837769, -0.857399, -1.060132, -1.166291 } },
        { 4,
          2,
          1.0f,
          1.5f,
          ALWAYS,
          3,
          4,
          { "123", "03", "23", "3" },
          { -0.837769, -0.916291, -1.060132, -2.302585 } },
    };
    const samp_token end = 3;
    for (size_t i = 0; i < TEST_COUNT(c); i++) {
        samp_beam_params set = { c[i].n_beams,
                                 c[i].n_groups,
                                 5,
                                 c[i].length_penalty,
                                 c[i].diversity_penalty,
                                 (samp_early_stopping)c[i].early,
                                 &end,
                                 1,
                                 0,
                                 false };
        samp_beams *b = samp_beams_init(&set, NULL);
        samp_token tokens[4];
        int32_t parents[4], n = 1;
        int steps = 0;
        float row[4][4];
        for (; n > 0; steps++) {
            for (int r = 0; r < n; r++)
                for (int k = 0; k < 4; k++) row[r][k] = logf(p[steps ? 1 + tokens[r] : 0][k]);
            const samp_logits logits = { .data = row, .n_rows = (size_t)n, .n_vocab = 4 };
            n = samp_beams_step(b, NULL, &logits, tokens, parents);
        }
        assert_num(n, 0);
        assert_num(steps, c[i].steps);
        assert_num(samp_beams_n_found(b), c[i].n_found);
        for (int k = 0; k < c[i].n_found; k++) {
            const samp_token *text;
            size_t length;
            double score;
            assert_ok(samp_beams_found(b, k, &text, &length, &score));
            assert_num(length, strlen(c[i].text[k]));
            for (size_t j = 0; j < length; j++) assert_num(text[j], c[i].text[k][j] - '0');
            assert_true(fabs(score - c[i].score[k]) < 2e-6);
        }
        samp_beams_free(b);
    }
}

/* ------------------------------------------------------------------------------------------------ sampled beams */

/* Two texts without replacement: the pair (first, second) has the probability p(first) p(second) / (1 - p(first)). */
TEST(test_sampled_distribution)
{
    static const float p[3][3] = { { .5f, .3f, .2f }, { .1f, .6f, .3f }, { .7f, .2f, .1f } }; /* first; behind 0, 1 */
    const samp_token end = 2; /* the texts: 2, 00, 01, 02, 10, 11, 12 */
    const double q[7] = { .2, .05, .3, .15, .21, .06, .03 };
    const uint64_t n_draws = amount(400000, 4000);
    long count[49] = { 0 };
    real expected[49];
    float row[2][3];
    for (int i = 0; i < 49; i++) expected[i] = i / 7 == i % 7 ? 0.0 : q[i / 7] * q[i % 7] / (1.0 - q[i / 7]);
    for (uint64_t seed = 0; seed < n_draws; seed++) {
        samp_beam_params set = {
            .n_beams = 2, .max_tokens = 2, .ends = &end, .n_ends = 1, .seed = seed, .sampled = true
        };
        samp_beams *b = samp_beams_init(&set, NULL);
        samp_token tokens[2];
        int32_t parents[2], n = 1;
        for (int step = 0; n > 0; step++) {
            for (int r = 0; r < n; r++)
                for (int k = 0; k < 3; k++) row[r][k] = logf(p[step ? 1 + tokens[r] : 0][k]);
            const samp_logits logits = { .data = row, .n_rows = (size_t)n, .n_vocab = 3 };
            n = samp_beams_step(b, NULL, &logits, tokens, parents);
        }
        assert_num(samp_beams_n_found(b), 2);
        int index[2];
        for (int i = 0; i < 2; i++) {
            const samp_token *text;
            size_t length;
            double score;
            assert_ok(samp_beams_found(b, i, &text, &length, &score));
            index[i] = length == 1 ? 0 : 1 + 3 * text[0] + text[1];
            assert_true(fabs(score - log(q[index[i]])) < 1e-6);
        }
        count[7 * index[0] + index[1]]++;
        samp_beams_free(b);
    }
    assert_true(chi_square(count, expected, 49) > 1e-5);
}

/* ---------------------------------------------------------------------------------------------------- executors */

enum { WIDE = 5000, N_WIDE = 4 };

/* A search over long rows as text: parents, tokens and scores of all steps. */
static size_t wide_search(samp_dtype dtype, int32_t n_threads, bool sampled, bool with_chains, char *out, size_t size)
{
    static float row[N_WIDE][WIDE], wide[N_WIDE][WIDE + 3];
    static uint16_t brain[N_WIDE][WIDE];
    const samp_token end = 17;
    samp_beam_params set = { .n_beams = N_WIDE,
                             .max_tokens = 6,
                             .length_penalty = 1.0f,
                             .ends = &end,
                             .n_ends = 1,
                             .seed = 5,
                             .sampled = sampled };
    samp_beams *b = samp_beams_init(&set, NULL);
    samp_sampler *chains[N_WIDE];
    samp_token tokens[N_WIDE] = { 0 };
    int32_t parents[N_WIDE], n = 1, index[N_WIDE] = { 3, 1, 0, 2 };
    size_t at = 0;
    for (int i = 0; i < N_WIDE; i++) {
        chains[i] = samp_chain_init();
        assert_ok(samp_chain_add(chains[i], samp_init_penalties(8, 1.2f, 0.1f, 0.0f)));
        assert_ok(samp_chain_add(chains[i], samp_init_temp(0.7f)));
    }
    for (uint64_t step = 0; n > 0; step++) {
        for (int r = 0; r < n; r++) {
            source s = source_seed(step * 100000 + (uint64_t)tokens[r]);
            for (int i = 0; i < WIDE; i++) {
                row[r][i] = float_of_brain(brain_of((float)(4.0 * normal_fast(&s))));
                brain[r][i] = brain_of(row[r][i]);
                wide[index[r]][i] = row[r][i];
            }
        }
        samp_logits logits = {
            .data = row, .dtype = dtype, .n_rows = (size_t)n, .n_vocab = WIDE, .n_threads = n_threads
        };
        if (dtype == SAMP_BF16) logits.data = brain;
        if (n_threads == 3) { /* rows in another order, with room between them */
            logits.data = wide;
            logits.stride = WIDE + 3;
            logits.row_index = index;
        }
        n = samp_beams_step(b, with_chains ? chains : NULL, &logits, tokens, parents);
        assert_true(n >= 0);
        for (int r = 0; r < n; r++) at += (size_t)snprintf(out + at, size - at, "%d<%d ", tokens[r], parents[r]);
    }
    for (int32_t i = 0; i < samp_beams_n_found(b); i++) {
        double score;
        assert_ok(samp_beams_found(b, i, NULL, NULL, &score));
        at += (size_t)snprintf(out + at, size - at, "%a ", score);
    }
    for (int i = 0; i < N_WIDE; i++) samp_free(chains[i]);
    samp_beams_free(b);
    return at;
}

/* Instruction sets, bf16, threads, rows in another order: the same beams to the last bit. */
TEST(test_executors)
{
    static char want[4000], got[4000];
    for (int kind = 0; kind < 4; kind++) {
        assert_ok(samp_isa_force("scalar"));
        wide_search(SAMP_F32, 1, kind & 1, kind & 2, want, sizeof want);
        for (int i = 0; samp_isa_list(i); i++)
            for (int way = 0; way < 3; way++) {
                assert_ok(samp_isa_force(samp_isa_list(i)));
                wide_search(way == 1 ? SAMP_BF16 : SAMP_F32, way + 1, kind & 1, kind & 2, got, sizeof got);
                assert_string_equal(want, got);
            }
    }
    assert_ok(samp_isa_force(NULL));
}

/* ------------------------------------------------------------------------------------------------------- errors */

TEST(test_parameters)
{
    const samp_token ends[] = { 1, -1 };
    const samp_beam_params good = { 4, 2, 10, 1.0f, 0.5f, SAMP_EARLY_ALWAYS, ends, 1, 0, false };
    const struct {
        const char *field;
        int status;
        samp_beam_params set;
    } c[] = {
        { "n_beams", SAMP_E_RANGE, { 0, 0, 10, 1, 0, 0, NULL, 0, 0, false } },
        { "n_beams", SAMP_E_RANGE, { 4097, 0, 10, 1, 0, 0, NULL, 0, 0, false } },
        { "n_groups", SAMP_E_RANGE, { 4, 3, 10, 1, 0, 0, NULL, 0, 0, false } },
        { "n_groups", SAMP_E_RANGE, { 4, -2, 10, 1, 0, 0, NULL, 0, 0, false } },
        { "n_groups", SAMP_E_RANGE, { 4, 2, 10, 1, 0, 0, NULL, 0, 0, true } },
        { "max_tokens", SAMP_E_RANGE, { 4, 0, 0, 1, 0, 0, NULL, 0, 0, false } },
        { "max_tokens", SAMP_E_RANGE, { 4, 0, (1 << 20) + 1, 1, 0, 0, NULL, 0, 0, false } },
        { "length_penalty", SAMP_E_NAN, { 4, 0, 10, NAN, 0, 0, NULL, 0, 0, false } },
        { "diversity_penalty", SAMP_E_NAN, { 4, 0, 10, 1, INFINITY, 0, NULL, 0, 0, false } },
        { "diversity_penalty", SAMP_E_RANGE, { 4, 0, 10, 1, -1, 0, NULL, 0, 0, false } },
        { "early_stopping", SAMP_E_RANGE, { 4, 0, 10, 1, 0, (samp_early_stopping)3, NULL, 0, 0, false } },
        { "n_ends", SAMP_E_RANGE, { 4, 0, 10, 1, 0, 0, NULL, -1, 0, false } },
        { "ends", SAMP_E_NULL, { 4, 0, 10, 1, 0, 0, NULL, 1, 0, false } },
        { "ends", SAMP_E_RANGE, { 4, 0, 10, 1, 0, 0, ends, 2, 0, false } },
    };
    const char *field = "";
    int status;
    for (size_t i = 0; i < TEST_COUNT(c); i++) {
        assert_status(samp_beams_check_params(&c[i].set, &field), c[i].status);
        assert_string_equal(field, c[i].field);
        assert_null(samp_beams_init(&c[i].set, &status));
        assert_status(status, c[i].status);
    }
    assert_ok(samp_beams_check_params(&good, &field));
    assert_null(field);
    assert_status(samp_beams_check_params(NULL, NULL), SAMP_E_NULL);
    for (int i = 1; i <= 5; i++) { /* out of memory: the block, then the chains */
        heap.fail_at = i;
        assert_null(samp_beams_init(&good, &status));
        assert_status(status, SAMP_E_NOMEM);
        heap.fail_at = 0;
    }
    samp_beams_free(NULL);
    assert_num(samp_beams_n_found(NULL), 0);
    assert_num(samp_beams_state_size(NULL), 0);
}

static int refuse(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s, (void)cur;
    return SAMP_OK;
}

/* Calls that fail change nothing: the search then finds what it finds without them. */
TEST(test_failing_steps)
{
    static const samp_sampler_i mine = { NULL, NULL, refuse, NULL, NULL, NULL, NULL, NULL };
    float row[2][3] = { { 1, 2, 3 }, { 3, 1, 2 } };
    samp_beam_params set = { .n_beams = 2, .max_tokens = 3 };
    samp_beams *b = samp_beams_init(&set, NULL);
    samp_sampler *chains[2], *other[2];
    samp_token tokens[2];
    int32_t parents[2];
    unsigned char before[600], after[600];
    samp_logits logits = { .data = row, .n_rows = 1, .n_vocab = 3 };
    for (int i = 0; i < 2; i++) {
        chains[i] = samp_chain_init();
        assert_ok(samp_chain_add(chains[i], samp_init_penalties(5, 1.1f, 0.0f, 0.0f)));
        other[i] = samp_clone(chains[i]);
    }
    assert_status(samp_beams_step(NULL, NULL, &logits, tokens, parents), SAMP_E_NULL);
    assert_status(samp_beams_step(b, NULL, NULL, tokens, parents), SAMP_E_NULL);
    assert_status(samp_beams_step(b, NULL, &logits, NULL, parents), SAMP_E_NULL);
    assert_status(samp_beams_step(b, NULL, &logits, tokens, NULL), SAMP_E_NULL);
    logits.n_rows = 2;
    assert_status(samp_beams_step(b, chains, &logits, tokens, parents), SAMP_E_RANGE);
    logits.n_rows = 1;
    samp_sampler *const twice[2] = { chains[0], chains[0] }, *const missing[2] = { chains[0], NULL };
    assert_status(samp_beams_step(b, twice, &logits, tokens, parents), SAMP_E_RANGE);
    assert_status(samp_beams_step(b, missing, &logits, tokens, parents), SAMP_E_NULL);
    assert_ok(samp_chain_add(other[1], samp_init_temp(0.5f)));
    assert_status(samp_beams_step(b, other, &logits, tokens, parents), SAMP_E_RANGE); /* not alike */
    assert_ok(samp_chain_add(other[0], samp_init_temp(0.25f)));
    assert_status(samp_beams_step(b, other, &logits, tokens, parents), SAMP_E_RANGE); /* nor with other settings */
    int context = 0;
    for (int i = 0; i < 2; i++) assert_ok(samp_chain_add(other[i], samp_init_custom(&mine, &context)));
    assert_status(samp_beams_step(b, other, &logits, tokens, parents), SAMP_E_UNSUPPORTED);
    samp_logprobs lp[1];
    logits.logprobs = lp;
    assert_status(samp_beams_step(b, chains, &logits, tokens, parents), SAMP_E_UNSUPPORTED);
    logits.logprobs = NULL;
    int n = 0, failed = 0; /* the first step's memory: notes of both chains, a block, a workspace */
    for (; n != 2; failed++) {
        heap.fail_at = failed < 2 ? 1 : failed - 1;
        heap.fail_after = true;
        n = samp_beams_step(b, chains, &logits, tokens, parents);
        heap.fail_at = 0;
        heap.fail_after = false;
        if (n != 2) assert_status(n, SAMP_E_NOMEM);
    }
    assert_true(failed > 3);
    const size_t size = samp_beams_state_size(b);
    assert_true(size <= sizeof before);
    logits.n_rows = 2;
    assert_ok(samp_beams_state_save(b, before, size));
    assert_status(samp_beams_state_save(b, before, size - 1), SAMP_E_WORKSPACE);
    for (int i = 0; i < 2; i++) {
        const int bad = i ? SAMP_E_NAN : SAMP_E_EMPTY;
        float spoilt[2][3] = { { 1, 2, 3 }, { -INFINITY, -INFINITY, -INFINITY } };
        if (i) spoilt[1][1] = NAN;
        logits.data = spoilt;
        assert_status(samp_beams_step(b, chains, &logits, tokens, parents), bad);
        assert_ok(samp_beams_state_save(b, after, size));
        assert_memory_equal(before, after, size);
        assert_num(samp_get_position(chains[0]), 0);
    }
    logits.data = row;
    logits.n_vocab = 2;
    logits.stride = 3;
    assert_status(samp_beams_step(b, chains, &logits, tokens, parents), SAMP_E_RANGE);
    logits.n_vocab = 3;
    assert_status(samp_beams_found(b, 0, NULL, NULL, NULL), SAMP_E_RANGE);
    assert_num(samp_beams_step(b, chains, &logits, tokens, parents), 2);
    assert_num(samp_beams_step(b, chains, &logits, tokens, parents), 0);
    assert_num(samp_beams_step(b, chains, &logits, tokens, parents), 0); /* it is done */
    assert_num(samp_beams_n_found(b), 2);
    assert_status(samp_beams_found(b, 2, NULL, NULL, NULL), SAMP_E_RANGE);
    assert_status(samp_beams_found(NULL, 0, NULL, NULL, NULL), SAMP_E_NULL);
    assert_status(samp_beams_state_load(b, NULL, 0), SAMP_E_NULL);
    for (int i = 0; i < 2; i++) {
        samp_free(chains[i]);
        samp_free(other[i]);
    }
    samp_beams_free(b);
}

/* ------------------------------------------------------------------------------------------------------ unmask */

/* A position as the naive twin sees it. */
typedef struct naive_position {
    int32_t index;
    size_t row;
    samp_token token;
    double certainty;
} naive_position;

static int compare_positions(const void *x, const void *y)
{
    const naive_position *a = (const naive_position *)x, *b = (const naive_position *)y;
    if (a->certainty != b->certainty) return a->certainty > b->certainty ? -1 : 1;
    return a->index - b->index;
}

enum { MOST_POSITIONS = 20 };

static void unmask_chain(samp_sampler **chain, int kind, int32_t position)
{
    *chain = samp_chain_init();
    if (kind == 2) assert_ok(samp_chain_add(*chain, samp_init_top_k(3)));
    if (kind) assert_ok(samp_chain_add(*chain, samp_init_temp(0.6f)));
    assert_ok(
        samp_chain_add(*chain, kind ? samp_init_dist(samp_child_seed(9, (uint64_t)position)) : samp_init_greedy()));
}

/* How certain a position is, from its probabilities p [n] after the chain, in double; lp: the token's log-probability. */
static double naive_certainty(const samp_unmask_params *u, const double *p, int n, double lp, double raw,
                              int32_t index)
{
    double best = 0, second = 0, entropy = 0;
    for (int i = 0; i < n; i++) {
        if (p[i] > best)
            second = best, best = p[i];
        else if (p[i] > second)
            second = p[i];
        if (p[i] > 0) entropy -= p[i] * log(p[i]);
    }
    const uint32_t counter[4] = { (uint32_t)index, 0, 254u << 16, 0 };
    const uint32_t key[2] = { (uint32_t)u->seed, (uint32_t)(u->seed >> 32) };
    uint32_t out[4];
    inside_philox(counter, key, out);
    const double random = ((double)(((uint64_t)out[1] << 32 | out[0]) >> 12) + 0.5) / 4503599627370496.0;
    if (u->temp > 0) { /* an exponential time each, the shortest ones first: without replacement */
        samp_unmask_params plain = *u;
        plain.temp = 0;
        double measure = naive_certainty(&plain, p, n, lp, raw, index);
        if (u->rule == SAMP_UNMASK_CONFIDENCE || u->rule == SAMP_UNMASK_RAW_CONFIDENCE) measure = exp(measure);
        return measure / (double)u->temp - log(-log(random));
    }
    switch (u->rule) {
        case SAMP_UNMASK_MARGIN: return best - second;
        case SAMP_UNMASK_ENTROPY:
        case SAMP_UNMASK_ENTROPY_BOUND: return -entropy;
        case SAMP_UNMASK_RANDOM:
        case SAMP_UNMASK_INDEPENDENT: return -random;
        case SAMP_UNMASK_RAW_CONFIDENCE: return raw;
        default: return lp;
    }
}

/* Each rule against a sort: random positions in random order, their indices in row_index; the same tokens in any order. */
TEST(test_unmask_rules)
{
    static float data[64][MOST_VOCAB];
    const samp_unmask_rule last = SAMP_UNMASK_INDEPENDENT;
    for (int round = 0, n_rounds = rounds(20000); round < n_rounds; round++) {
        source s = source_stream(300000 + (uint64_t)round);
        samp_unmask_params u = { (samp_unmask_rule)(round % ((int)last + 1)), 1 + (int32_t)below(&s, 6), 0.0f,
                                 choose(&s, 8), 0.0f };
        const bool apart = u.rule == SAMP_UNMASK_INDEPENDENT;
        const bool bounded = u.rule == SAMP_UNMASK_THRESHOLD || u.rule == SAMP_UNMASK_ENTROPY_BOUND || apart;
        const int n = 1 + (int)below(&s, MOST_POSITIONS), n_vocab = 2 + (int)below(&s, MOST_VOCAB - 1);
        const int kind = (int)below(&s, 3);
        naive_position want[MOST_POSITIONS];
        samp_sampler *rows[MOST_POSITIONS];
        int32_t index[MOST_POSITIONS];
        samp_token tokens[MOST_POSITIONS];
        bool used[64] = { false };
        u.threshold = u.rule == SAMP_UNMASK_THRESHOLD ? 0.05f + 0.95f * (float)coarse(&s) : 4.0f * (float)coarse(&s);
        if (apart) u.threshold = (float)coarse(&s);
        if (bounded && percent(&s, 50)) u.n = 0;
        if (!bounded && u.rule != SAMP_UNMASK_RANDOM && percent(&s, 40)) u.temp = 0.05f + 2.0f * (float)coarse(&s);
        for (int r = 0; r < n; r++) {
            do index[r] = (int32_t)below(&s, 64);
            while (used[index[r]]);
            used[index[r]] = true;
            for (int i = 0; i < n_vocab; i++) data[index[r]][i] = (float)(3.0 * normal(&s));
            unmask_chain(&rows[r], kind, index[r]);
            double p[MOST_VOCAB], raw = 0.0, sum = 0.0;
            samp_token_data cur_data[MOST_VOCAB];
            samp_token_data_array cur = { cur_data, (size_t)n_vocab, -1, false };
            samp_sampler *again = samp_clone(rows[r]);
            want[r].row = (size_t)r;
            want[r].index = index[r];
            want[r].token = samp_draw(again, data[index[r]], (size_t)n_vocab);
            samp_free(again);
            again = samp_clone(rows[r]);
            for (int i = 0; i < n_vocab; i++) {
                cur_data[i] = (samp_token_data){ i, data[index[r]][i], 0.0f };
                raw += exp((double)data[index[r]][i]);
            }
            assert_ok(samp_apply(again, &cur));
            samp_free(again);
            double lp = 0.0;
            for (size_t i = 0; i < cur.size; i++) sum += p[i] = exp((double)cur_data[i].logit);
            for (size_t i = 0; i < cur.size; i++) {
                p[i] /= sum;
                if (cur_data[i].id == want[r].token) lp = log(p[i]);
            }
            raw = (double)data[index[r]][want[r].token] - log(raw);
            want[r].certainty = naive_certainty(&u, p, (int)cur.size, lp, raw, index[r]);
        }
        const samp_logits logits = {
            .data = data, .n_rows = (size_t)n, .n_vocab = (size_t)n_vocab, .stride = MOST_VOCAB, .row_index = index
        };
        const int got = samp_unmask(&u, rows, &logits, tokens);
        qsort(want, (size_t)n, sizeof *want, compare_positions);
        int filled = 0;
        double spent = 0.0;
        const int most = u.n ? u.n : n;
        bool near = false; /* too near to a bound to tell in double */
        for (; filled < n && filled < most; filled++) {
            if (filled && u.rule == SAMP_UNMASK_THRESHOLD) {
                near |= fabs(want[filled].certainty - log((double)u.threshold)) < 1e-5;
                if (want[filled].certainty < log((double)u.threshold)) break;
            }
            if (apart && -want[filled].certainty >= (double)u.threshold) break;
            near |= filled && u.rule == SAMP_UNMASK_ENTROPY_BOUND && fabs(spent - (double)u.threshold) < 1e-5;
            if (filled && u.rule == SAMP_UNMASK_ENTROPY_BOUND && spent > (double)u.threshold) break;
            spent -= want[filled].certainty;
        }
        for (int i = 0; i + 1 < n; i++) near |= fabs(want[i].certainty - want[i + 1].certainty) < 1e-5;
        if (!near) {
            assert_num(got, filled);
            for (int i = 0; i < n; i++) assert_num(tokens[want[i].row], i < filled ? want[i].token : -1);
        }
        for (int r = 0; r < n; r++) samp_free(rows[r]);
    }
}

/* LLaDA's generate (temperature 0, one block of 4 positions, 3 steps) followed by hand: 4 positions in 3 steps are 2, 1, 1;
   each step keeps the largest probabilities. Dream's _sample (alg maskgit_plus, topk_margin, entropy; eps 0.001, 3 steps)
   on the same rows: int(4 (1 - s / t)) = int(4 * 0.333) = 1, then int(3 * 0.4995) = 1, then the rest. */
TEST(test_unmask_by_hand)
{
    static const float p[4][3] = {
        { .60f, .30f, .10f }, { .05f, .90f, .05f }, { .62f, .37f, .01f }, { .35f, .25f, .40f }
    };
    static const struct {
        samp_unmask_rule rule;
        samp_unmask_schedule schedule;
        int n[3];
        const char *after[3]; /* the block after each step */
    } c[] = {
        { SAMP_UNMASK_RAW_CONFIDENCE, SAMP_UNMASK_EVEN, { 2, 1, 1 }, { "_10_", "010_", "0102" } },
        { SAMP_UNMASK_CONFIDENCE, SAMP_UNMASK_LINEAR, { 1, 1, 2 }, { "_1__", "_10_", "0102" } },
        /* margins .30 .85 .25 .05 */
        { SAMP_UNMASK_MARGIN, SAMP_UNMASK_LINEAR, { 1, 1, 2 }, { "_1__", "01__", "0102" } },
        /* entropies .898 .394 .710 1.081 */
        { SAMP_UNMASK_ENTROPY, SAMP_UNMASK_LINEAR, { 1, 1, 2 }, { "_1__", "_10_", "0102" } },
    };
    for (size_t i = 0; i < TEST_COUNT(c); i++) {
        char block[5] = "____";
        float row[4][3];
        for (int step = 0; step < 3; step++) {
            samp_sampler *rows[4];
            samp_token tokens[4];
            int32_t index[4], n = 0;
            for (int r = 0; r < 4; r++)
                if (block[r] == '_') index[n++] = r;
            for (int r = 0; r < n; r++) unmask_chain(&rows[r], 0, 0);
            for (int r = 0; r < 4; r++)
                for (int k = 0; k < 3; k++) row[r][k] = logf(p[r][k]);
            samp_unmask_params u = { c[i].rule, samp_unmask_count(c[i].schedule, n, step, 3), 0.0f, 0, 0.0f };
            assert_num(u.n, c[i].n[step]);
            const samp_logits logits = { .data = row, .n_rows = (size_t)n, .n_vocab = 3, .row_index = index };
            assert_num(samp_unmask(&u, rows, &logits, tokens), u.n);
            for (int r = 0; r < n; r++) {
                if (tokens[r] >= 0) block[index[r]] = (char)('0' + tokens[r]);
                samp_free(rows[r]);
            }
            assert_string_equal(block, c[i].after[step]);
        }
    }
    /* the sums of LLaDA's schedule: base = 10 / 4, one more in each of the first 10 % 4 steps */
    const int even[] = { 3, 3, 2, 2 };
    for (int step = 0, left = 10; step < 4; left -= even[step++])
        assert_num(samp_unmask_count(SAMP_UNMASK_EVEN, left, step, 4), even[step]);
    /* entropy bound .5: after .394 the sum before the third is 1.104; threshold .61: two positions */
    for (int rule = SAMP_UNMASK_THRESHOLD; rule <= SAMP_UNMASK_ENTROPY_BOUND; rule++) {
        samp_unmask_params u = { (samp_unmask_rule)rule, 0, rule == SAMP_UNMASK_THRESHOLD ? 0.61f : 0.5f, 0, 0.0f };
        samp_sampler *rows[4];
        samp_token tokens[4];
        float row[4][3];
        for (int r = 0; r < 4; r++) {
            unmask_chain(&rows[r], 0, 0);
            for (int k = 0; k < 3; k++) row[r][k] = logf(p[r][k]);
        }
        const samp_logits logits = { .data = row, .n_rows = 4, .n_vocab = 3 };
        assert_num(samp_unmask(&u, rows, &logits, tokens), 2);
        assert_true(tokens[0] == -1 && tokens[1] == 1 && tokens[2] == 0 && tokens[3] == -1);
        for (int r = 0; r < 4; r++) samp_free(rows[r]);
    }
}

/* Dream's origin and alg_temp by their shares over many seeds: each of 4 positions by itself with p = 1/3; or the first of a
   draw without replacement in proportion to e^(p / 0.25), p = .60 .90 .62 .40. */
TEST(test_unmask_shares)
{
    static const float p[4][3] = {
        { .60f, .30f, .10f }, { .05f, .90f, .05f }, { .62f, .37f, .01f }, { .35f, .25f, .40f }
    };
    enum { SEEDS = 6000 };
    samp_sampler *rows[4];
    samp_token tokens[4];
    float row[4][3];
    double weight[4], all = 0;
    int first[4] = { 0 }, alone[4] = { 0 }, pairs = 0;
    for (int r = 0; r < 4; r++) {
        unmask_chain(&rows[r], 0, 0);
        for (int k = 0; k < 3; k++) row[r][k] = logf(p[r][k]);
        all += weight[r] = exp((double)(r == 3 ? p[3][2] : r == 1 ? p[1][1] : p[r][0]) / 0.25);
    }
    const samp_logits logits = { .data = row, .n_rows = 4, .n_vocab = 3 };
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        samp_unmask_params u = { SAMP_UNMASK_CONFIDENCE, 1, 0.0f, seed, 0.25f };
        assert_num(samp_unmask(&u, rows, &logits, tokens), 1);
        for (int r = 0; r < 4; r++) first[r] += tokens[r] >= 0;
        u = (samp_unmask_params){ SAMP_UNMASK_INDEPENDENT, 0, 1.0f / 3, seed, 0.0f };
        const int got = samp_unmask(&u, rows, &logits, tokens);
        int filled = 0;
        for (int r = 0; r < 4; r++) alone[r] += tokens[r] >= 0, filled += tokens[r] >= 0;
        assert_num(got, filled);
        pairs += tokens[0] >= 0 && tokens[1] >= 0;
        u.threshold = 1.0f;
        assert_num(samp_unmask(&u, rows, &logits, tokens), 4);
        u.threshold = 0.0f;
        assert_num(samp_unmask(&u, rows, &logits, tokens), 0);
    }
    for (int r = 0; r < 4; r++) { /* five standard deviations */
        const double share = weight[r] / all, off = 5 * sqrt(share * (1 - share) / SEEDS);
        assert_true(fabs(first[r] / (double)SEEDS - share) < off);
        assert_true(fabs(alone[r] / (double)SEEDS - 1 / 3.0) < 5 * sqrt(2 / 9.0 / SEEDS));
        samp_free(rows[r]);
    }
    assert_true(fabs(pairs / (double)SEEDS - 1 / 9.0) < 5 * sqrt(8 / 81.0 / SEEDS));
}

TEST(test_unmask_errors)
{
    float row[2][3] = { { 1, 2, 3 }, { NAN, 0, 0 } };
    samp_logits logits = { .data = row, .n_rows = 2, .n_vocab = 3 };
    samp_sampler *rows[2];
    samp_token tokens[2] = { 5, 5 };
    for (int i = 0; i < 2; i++) unmask_chain(&rows[i], 0, i);
    samp_unmask_params u = { SAMP_UNMASK_CONFIDENCE, 1, 0.0f, 0, 0.0f };
    assert_status(samp_unmask(NULL, rows, &logits, tokens), SAMP_E_NULL);
    assert_status(samp_unmask(&u, NULL, &logits, tokens), SAMP_E_NULL);
    assert_status(samp_unmask(&u, rows, NULL, tokens), SAMP_E_NULL);
    assert_status(samp_unmask(&u, rows, &logits, NULL), SAMP_E_NULL);
    assert_status(samp_unmask(&u, rows, &logits, tokens), SAMP_E_NAN);
    assert_true(tokens[0] == -1 && tokens[1] == -1);
    row[1][0] = 0;
    const samp_unmask_params bad[] = {
        { SAMP_UNMASK_CONFIDENCE, 0, 0, 0, 0 },     { SAMP_UNMASK_THRESHOLD, -1, 0.5f, 0, 0 },
        { SAMP_UNMASK_THRESHOLD, 0, 0, 0, 0 },      { SAMP_UNMASK_THRESHOLD, 0, 1.5f, 0, 0 },
        { SAMP_UNMASK_ENTROPY_BOUND, 0, -1, 0, 0 }, { (samp_unmask_rule)8, 1, 0, 0, 0 },
        { SAMP_UNMASK_INDEPENDENT, 0, -1, 0, 0 },   { SAMP_UNMASK_INDEPENDENT, 0, 1.5f, 0, 0 },
        { SAMP_UNMASK_RANDOM, 1, 0, 0, 1 },         { SAMP_UNMASK_THRESHOLD, 0, 0.5f, 0, 1 },
        { SAMP_UNMASK_CONFIDENCE, 1, 0, 0, -1 }
    };
    for (size_t i = 0; i < TEST_COUNT(bad); i++)
        assert_status(samp_unmask(&bad[i], rows, &logits, tokens), SAMP_E_RANGE);
    u = (samp_unmask_params){ SAMP_UNMASK_ENTROPY_BOUND, 0, NAN, 0, 0 };
    assert_status(samp_unmask(&u, rows, &logits, tokens), SAMP_E_NAN);
    u = (samp_unmask_params){ SAMP_UNMASK_MARGIN, 1, 0, 0, INFINITY };
    assert_status(samp_unmask(&u, rows, &logits, tokens), SAMP_E_NAN);
    logits.n_rows = 0;
    u = (samp_unmask_params){ SAMP_UNMASK_CONFIDENCE, 1, 0.0f, 0, 0.0f };
    assert_num(samp_unmask(&u, NULL, &logits, NULL), 0);
    assert_status(samp_unmask_count(SAMP_UNMASK_EVEN, -1, 0, 1), SAMP_E_RANGE);
    assert_status(samp_unmask_count(SAMP_UNMASK_EVEN, 1, 1, 1), SAMP_E_RANGE);
    assert_status(samp_unmask_count((samp_unmask_schedule)2, 1, 0, 1), SAMP_E_RANGE);
    assert_num(samp_unmask_count(SAMP_UNMASK_LINEAR, 7, 0, 1), 7);
    for (int i = 0; i < 2; i++) samp_free(rows[i]);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
