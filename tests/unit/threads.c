/* threads.c - what may be done by several threads at once, done so under ThreadSanitizer (make test-threads), which sees
   any two accesses that nothing keeps apart, in whatever order they happen to come:
     - the first use of all: each thread finds no kernels chosen yet; others force one meanwhile
     - samplers of their own, made, used, cloned, saved, loaded and freed
     - one grammar, one index and one that maps its bytes, one settings, one operator, shared by all
     - batches with threads of their own (OpenMP), of chains and of members of one chain
     - contexts of sampling_gpu.h, each with one's own
   Whatever a thread finds is a hash of tokens, which must be what one thread alone finds.

   TSan does not know how libgomp's threads wait for each other, so it would take each of its batches for a race. What
   sampling.h does there is the same under libomp, which tells TSan (libarcher); with gcc the program has no OpenMP. */
#define SAMPLING_KV
#define SAMPLING_GRAMMAR
#define SAMPLING_IMPLEMENTATION
#define SAMP_GPU_LIST 256
#include "sampling_gpu.h"

#include <pthread.h>
#include <stdio.h>

#include "tests/support/json_gbnf.h"
#include "tests/support/small_vocabulary.h"
#include "tests/support/source.h"

enum { N_THREADS = 4, N = N_VOCAB, N_ROWS = 6, ROUNDS = 6 };

#define MUST(condition) \
    do { \
        if (!(condition)) fprintf(stderr, "threads.c:%d: %s\n", __LINE__, #condition), abort(); \
    } while (0)

/* Made before all threads, and only read by them. */
static samp_grammar *json;
static samp_vocab_index *made_index, *mapped_index;
static void *index_bytes;
static samp_settings *settings;
static samp_random_sample *op;
static float rows[N_ROWS][N];

static void mix(uint64_t *hash, uint64_t x) { *hash = (*hash ^ x) * 0x100000001b3u; }

static samp_sampler *make_chain(uint64_t i)
{
    samp_params p = *samp_settings_params(settings);
    p.seed = i;
    p.rng = i % 3 == 2 ? SAMP_RNG_MT19937 : SAMP_RNG_PHILOX;
    if (i % 2) p.typ_p = 0.95f, p.top_k = 0, p.xtc_probability = 0.5f;
    if (i % 5 == 4) p.mirostat = 2;
    samp_sampler *chain = samp_chain_from_params(&p, NULL);
    MUST(chain && samp_status(chain, NULL) == SAMP_OK);
    return chain;
}

/* ---- what a thread does; the hash of what it found ---- */

static uint64_t first_use(uint64_t i)
{
    uint64_t hash = 0;
    samp_sampler *chain = make_chain(i);
    for (int k = 0; k < 3; k++) {
        if (i == 3) samp_isa_force(k % 2 ? "scalar" : NULL); /* again there are none chosen */
        mix(&hash, (uint64_t)samp_sample(chain, rows[k], N));
    }
    MUST(samp_isa_name() && samp_isa_list(0));
    samp_free(chain);
    return hash;
}

static uint64_t samplers(uint64_t i)
{
    uint64_t hash = 0;
    static const size_t room = 1 << 17;
    void *bytes = malloc(room);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        samp_sampler *chain = make_chain(i * 10 + round);
        for (int k = 0; k < 8; k++) mix(&hash, (uint64_t)samp_sample(chain, rows[k % N_ROWS], N));
        size_t size = samp_state_size(chain);
        MUST(size > 0 && size < room && samp_state_save(chain, bytes, size) == SAMP_OK);
        samp_sampler *copy = samp_clone(chain);
        samp_reset(copy);
        MUST(samp_state_load(copy, bytes, size) == SAMP_OK);
        MUST(samp_rollback(chain, 2) == SAMP_OK);
        for (int k = 0; k < 4; k++) mix(&hash, (uint64_t)samp_sample(copy, rows[k], N));
        for (int k = 0; k < 4; k++) mix(&hash, (uint64_t)samp_sample(chain, rows[k], N));
        samp_free(copy);
        samp_free(chain);
    }
    free(bytes);
    return hash;
}

static uint64_t grammars(uint64_t i)
{
    uint64_t hash = 0;
    uint32_t bits[(N + 31) / 32];
    for (uint64_t round = 0; round < 2; round++) {
        samp_sampler *s = samp_init_grammar(i % 2 ? made_index : mapped_index, json), *chain = make_chain(i + round);
        for (int k = 0; k < 12; k++) {
            MUST(samp_grammar_mask(s, bits) == SAMP_OK);
            for (size_t w = 0; w < sizeof bits / sizeof *bits; w++) mix(&hash, bits[w]);
            mix(&hash, (uint64_t)samp_grammar_sample(chain, s, rows[k % N_ROWS], N));
            if (k != 6) continue;
            samp_sampler *copy = samp_clone(s);
            samp_free(s);
            s = copy;
        }
        samp_free(s);
        samp_free(chain);
        samp_grammar *own = samp_grammar_init(SAMP_GRAMMAR_REGEX, "[a-c]+x?", NULL, NULL);
        MUST(own);
        samp_grammar_free(own);
    }
    return hash;
}

static uint64_t operators(uint64_t i)
{
    uint64_t hash = 0;
    size_t size = samp_random_sample_workspace_size(op);
    void *work = malloc(size);
    for (int k = 0; k < 40; k++) {
        int32_t index = -1;
        float random = (float)k / 41.0f;
        MUST(!samp_random_sample_run(op, work, size, &index, rows[(k + (int)i) % N_ROWS], random, 0.9f, 50, 0.8f));
        mix(&hash, (uint64_t)index);
    }
    free(work);
    return hash;
}

/* Each a cache of its own. */
static uint64_t caches(uint64_t i)
{
    uint64_t hash = 0;
    samp_kv_params p;
    memset(&p, 0, sizeof p);
    p.n_cells = 64;
    samp_kv *kv = samp_kv_init(&p, NULL);
    for (int32_t pos = 0; pos < 40; pos++) {
        uint64_t seq = 1 + (uint64_t)pos % 2 * 2;
        samp_kv_batch batch = { 1, &pos, &seq };
        MUST(samp_kv_find_slot(kv, &batch, SAMP_KV_RUN, NULL) == SAMP_OK);
        if (pos % 7 == (int32_t)i) samp_kv_seq_rm(kv, 0, pos / 2, -1);
        mix(&hash, kv->used + 100 * kv->head);
    }
    samp_kv_free(kv);
    return hash;
}

/* A batch of chains; then one of the members of one chain, which count its edits together. */
static uint64_t batches(uint64_t i)
{
    uint64_t hash = 0;
    samp_sampler *chain[N_ROWS], *outer = samp_chain_init();
    samp_token out[N_ROWS];
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = rows, l.n_rows = N_ROWS, l.n_vocab = N, l.n_threads = 3;
    for (int r = 0; r < N_ROWS; r++) chain[r] = make_chain(i * 7 + (uint64_t)r);
    for (int k = 0; k < ROUNDS; k++) {
        if (k == ROUNDS / 2)
            for (int r = 0; r < N_ROWS; r++) samp_chain_add(outer, chain[r]);
        MUST(samp_sample_batch(chain, &l, out) == SAMP_OK);
        for (int r = 0; r < N_ROWS; r++) mix(&hash, (uint64_t)out[r]);
    }
    samp_free(outer);
    return hash;
}

static uint64_t contexts(uint64_t i)
{
    uint64_t hash = 0;
    samp_gpu_config config = { i % 2 ? SAMP_GPU_HOST : 0, N_ROWS, N, SAMP_F32, false, false, 4, false };
    samp_gpu *gpu = samp_gpu_init(&config, NULL);
    samp_sampler *chain[N_ROWS];
    samp_token out[N_ROWS];
    samp_logits l;
    memset(&l, 0, sizeof l);
    MUST(gpu);
    l.data = rows, l.n_rows = N_ROWS, l.n_vocab = N;
    for (int r = 0; r < N_ROWS; r++) chain[r] = make_chain(i * 7 + (uint64_t)r);
    for (int k = 0; k < 3; k++) {
        MUST(samp_gpu_sample_batch(gpu, chain, &l, out) == SAMP_OK);
        for (int r = 0; r < N_ROWS; r++) mix(&hash, (uint64_t)out[r]);
    }
    for (int r = 0; r < N_ROWS; r++) samp_free(chain[r]);
    samp_gpu_free(gpu);
    return hash;
}

/* ---- all at once ---- */

static const struct {
    const char *name;
    uint64_t (*play)(uint64_t i);
} plays[] = { { "first use", first_use }, { "samplers", samplers }, { "grammars", grammars },
              { "operators", operators }, { "caches", caches },     { "batches", batches },
              { "contexts", contexts } };
enum { N_PLAYS = sizeof plays / sizeof *plays };

typedef struct worker {
    pthread_t thread;
    uint64_t number, (*play)(uint64_t i), found;
} worker;

static pthread_barrier_t start;

static void *work(void *arg)
{
    worker *w = (worker *)arg;
    pthread_barrier_wait(&start);
    w->found = w->play(w->number);
    return NULL;
}

/* What thread i plays: all the same, or (play < 0) each another thing. */
static size_t play_of(int play, uint64_t i) { return play < 0 ? ((size_t)-play + i) % N_PLAYS : (size_t)play; }

/* Before it no kernels are chosen. want: what each thread finds alone; NULL: that is not known yet. */
static void play_at_once(int play, uint64_t (*want)[N_THREADS])
{
    worker w[N_THREADS];
    samp_isa_force(NULL);
    for (uint64_t i = 0; i < N_THREADS; i++) {
        w[i].number = i;
        w[i].play = plays[play_of(play, i)].play;
        MUST(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0);
    }
    for (uint64_t i = 0; i < N_THREADS; i++) MUST(pthread_join(w[i].thread, NULL) == 0);
    for (uint64_t i = 0; i < N_THREADS && want; i++) {
        if (w[i].found == want[play_of(play, i)][i]) continue;
        fprintf(stderr, "threads.c: %s, thread %d: other tokens than alone\n", plays[play_of(play, i)].name, (int)i);
        abort();
    }
}

static void set_up(void)
{
    source s = source_stream(3);
    for (int r = 0; r < N_ROWS; r++)
        for (int i = 0; i < N; i++) rows[r][i] = (float)(2.5 * normal(&s));
    json = samp_grammar_init(SAMP_GRAMMAR_GBNF, JSON_GBNF, NULL, NULL);
    made_index = samp_vocab_index_init(&small_vocabulary, NULL);
    size_t size = samp_vocab_index_size(made_index);
    index_bytes = malloc(size);
    MUST(json && samp_vocab_index_save(made_index, index_bytes, size) == SAMP_OK);
    mapped_index = samp_vocab_index_map(&small_vocabulary, index_bytes, size, NULL);
    settings = samp_settings_init();
    MUST(mapped_index && settings && samp_settings_set(settings, "penalty_repeat", "1.1", NULL) == SAMP_OK);
    op = samp_random_sample_init(SAMP_I32, SAMP_F32, N, NULL);
    MUST(op && pthread_barrier_init(&start, NULL, N_THREADS) == 0);
}

int main(void)
{
    static uint64_t want[N_PLAYS][N_THREADS];
    set_up();
    play_at_once(0, NULL); /* nobody has used anything yet */
    for (int p = 0; p < N_PLAYS; p++)
        for (uint64_t i = 0; i < N_THREADS; i++) want[p][i] = plays[p].play(i);
    for (int p = 0; p < N_PLAYS; p++) play_at_once(p, want);
    for (int p = 1; p <= N_PLAYS; p++) play_at_once(-p, want);
    samp_random_sample_free(op);
    samp_settings_free(settings);
    samp_vocab_index_free(mapped_index);
    samp_vocab_index_free(made_index);
    samp_grammar_free(json);
    free(index_bytes);
    printf("%d threads at %d things, each with others and alone: the same tokens\n", (int)N_THREADS, (int)N_PLAYS);
    return 0;
}
