/* test_nomem.c - no memory: every allocation of every public function fails, once and from there on, and each time
     - the call says so: SAMP_E_NOMEM, or NULL, or an object that carries it
     - nothing has changed: what the samplers tell of themselves and save is what it was
     - nothing is lost, and nothing half-made is left
     - the same call made again gives what it gives where memory never failed
   Where a comment in the header says that a call goes on without (samp_rollback's records, threads of a batch), its
   result has to be that of a call with memory.

   CALL(function, ...) stands for a call that allocates, NONE(function, ...) for one that must not. tests/tools/public.sh
   checks that all functions are here. */
#define HEAP_HERE
#include "tests/support/heap.h"
#define SAMPLING_KV
#define SAMPLING_LLAMA
#define SAMPLING_GRAMMAR
#define SAMPLING_GUMBEL
#define SAMPLING_PEERS
#define SAMPLING_VOCAB
#define SAMPLING_SHARDS
#define SAMPLING_DRAFTS
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#define SAMPLING_STOP
#define SAMPLING_SEARCH
#define SAMPLING_IMPLEMENTATION
#define SAMP_GPU_LIST 256
#include "sampling_gpu.h"
#include "tests/support/test.h"
#define LLAMA_MALLOC(n) heap_malloc(n)
#define LLAMA_FREE(p)   heap_free(p)
#include "tests/support/json_gbnf.h"
#include "tests/support/made_up_llama.h"
#include "tests/support/small_vocabulary.h"

enum { N = N_VOCAB, LONG = 700, N_ROWS = 3, N_MASK_WORDS = (N + 31) / 32 };
#include "tests/support/makers.h"

/* ---- what a call works on ---- */

typedef struct world {
    samp_sampler *s, *rows[N_ROWS]; /* s: of its own; rows: of batches */
    samp_settings *settings;
    samp_kv *kv;
    samp_gpu *gpu;
    samp_shard *shard; /* the one rank that there is */
    samp_random_sample *op;
    samp_text *text;
    samp_vocab *vocab; /* a copy of the made-up llama.cpp's */
    struct llama_sampler *llama;
    uint64_t out; /* a hash of what the call has written */
    unsigned long mallocs_before;
    unsigned long fail_at;
    bool met; /* an allocation has failed */
} world;

/* Shared by all worlds, and made before the first one. */
static samp_grammar *json;
static samp_vocab_index *vocab_index;
static void *index_bytes;
static char saved[1024]; /* the state of a grammar's sampler */
static size_t saved_size;
static float logits[LONG], row_data[N_ROWS][N];
static const struct llama_vocab *const llama_words = &words.vocab;
static float six[6] = { 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, 1.0f };
static struct llama_context llama = { &words, six };

static void note(world *w, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) w->out = (w->out ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
}

static void note_sampler(world *w, const samp_sampler *s)
{
    char text[3000], bytes[40000];
    samp_token prev[64];
    uint64_t position = samp_get_position(s);
    size_t size = s ? samp_state_size(s) : 0;
    samp_perf_data perf = samp_perf(s);
    if (!s) return;
    samp_describe(s, text, sizeof text);
    note(w, text, strlen(text));
    note(w, &position, sizeof position);
    note(w, prev, samp_prev(s, prev, 64) * sizeof *prev);
    note(w, &perf.n_sample, sizeof perf.n_sample);
    note(w, &perf.n_accept, sizeof perf.n_accept);
    assert_true(size <= sizeof bytes);
    if (size) assert_ok(samp_state_save(s, bytes, size));
    note(w, bytes, size);
}

static void note_settings(world *w, const samp_params *p)
{
    note(w, &p->top_k, sizeof p->top_k);
    note(w, &p->n_vocab, sizeof p->n_vocab);
    note(w, p->logit_bias, (size_t)p->n_logit_bias * sizeof *p->logit_bias);
    for (int i = 0; p->dry_breakers && p->dry_breakers[i]; i++)
        note(w, p->dry_breakers[i], strlen(p->dry_breakers[i]));
    if (p->order) note(w, p->order, strlen(p->order));
}

static void note_kv(world *w, const samp_kv *kv)
{
    char bytes[4096];
    note(w, &kv->used, sizeof kv->used);
    note(w, &kv->head, sizeof kv->head);
    for (int32_t seq = 0; seq < 4; seq++) {
        size_t size = samp_kv_state_size(kv, seq);
        assert_true(size <= sizeof bytes);
        assert_ok(samp_kv_state_save(kv, seq, bytes, size));
        note(w, bytes, size);
    }
}

/* All that can be seen of a world, and of what a call has written. */
static uint64_t look(world *w)
{
    world at = *w;
    note_sampler(&at, w->s);
    for (int r = 0; r < N_ROWS; r++) note_sampler(&at, w->rows[r]);
    if (w->settings) note_settings(&at, samp_settings_params(w->settings));
    if (w->kv) note_kv(&at, w->kv);
    if (w->text) note(&at, &w->text->n_patterns, sizeof w->text->n_patterns);
    if (w->text) note(&at, w->text->size, sizeof w->text->size);
    if (w->llama) note_sampler(&at, samp_llama_chain(w->llama));
    return at.out;
}

/* What samplers have learnt of the grammar stays with it, and a call that finds it there allocates nothing. */
static void unlearn(void)
{
    for (sampi_shared *shared = json ? json->shared : NULL, *behind; shared; shared = behind) {
        behind = shared->behind;
        sampi_grammar_shared_free(shared);
    }
    if (json) json->shared = NULL;
}

static void end_world(world *w)
{
    samp_free(w->s);
    for (int r = 0; r < N_ROWS; r++) samp_free(w->rows[r]);
    samp_settings_free(w->settings);
    samp_kv_free(w->kv);
    samp_gpu_free(w->gpu);
    samp_shard_free(w->shard);
    samp_random_sample_free(w->op);
    samp_text_free(w->text);
    samp_llama_vocab_free(w->vocab);
    if (w->llama) llama_free(w->llama);
    unlearn();
}

/* Memory is there again: the end of what may fail. Only the first call of this counts. */
static void memory_is_back(world *w)
{
    if (w->fail_at && heap.mallocs - w->mallocs_before >= w->fail_at) w->met = true;
    w->fail_at = 0;
    heap.fail_at = 0;
    heap.fail_after = false;
}

/* What a constructor gave: told by what it is and by some draws, and freed. */
static int made(world *w, samp_sampler *s)
{
    memory_is_back(w);
    if (!s) return SAMP_E_NOMEM;
    int status = samp_status(s, NULL);
    if (status == SAMP_OK) {
        for (int i = 0; i < 4; i++) {
            samp_token_data data[N];
            samp_token_data_array cur = test_array(data, row_data[i % N_ROWS], N);
            status = samp_apply(s, &cur);
            if (status == SAMP_OK) status = samp_accept(s, i == 2 ? '\n' : '{');
            note(w, &status, sizeof status);
            note(w, cur.data, cur.size * sizeof *cur.data);
        }
        note_sampler(w, s);
        status = SAMP_OK;
    } else if (status == SAMP_E_NOMEM) {
        assert_status(samp_sample(s, logits, N), SAMP_E_NOMEM); /* and is no use */
    }
    samp_free(s);
    return status;
}

/* ---- worlds ---- */

static void nothing(world *w) { (void)w; }

static void no_chain(world *w) { w->s = samp_chain_init(); }

static void a_chain_and_one(world *w)
{
    no_chain(w);
    w->rows[0] = make_top_k();
}

/* A chain with something of everything, which has seen some tokens and drawn none. */
static void a_chain(world *w)
{
    w->s = chain_of_stages(make_dist, SAMP_RNG_PHILOX);
    assert_ok(samp_chain_insert(w->s, N_STAGES - 3, make_custom()));
    for (int i = 0; i < 9; i++) assert_ok(samp_accept(w->s, i % 4));
}

static void a_used_chain(world *w)
{
    a_chain(w);
    for (int i = 0; i < 3; i++) assert_true(samp_sample(w->s, logits, N) >= 0);
}

/* What it keeps for samp_rollback must be made anew. */
static void an_edited_chain(world *w)
{
    a_used_chain(w);
    assert_ok(samp_set_n_prev(w->s, 64));
    assert_ok(samp_chain_add(w->s, make_adaptive_p()));
}

static void a_chain_of_llama(world *w)
{
    a_chain(w);
    assert_ok(samp_set_rng(w->s, SAMP_RNG_MT19937));
}

/* All the stages in two chains, one in the other, and a selecting sampler with numbers of llama.cpp's. */
static void a_chain_in_a_chain(world *w)
{
    samp_sampler *inner = samp_chain_init();
    w->s = samp_chain_init();
    assert_ok(samp_set_rng(w->s, SAMP_RNG_MT19937));
    for (int i = 0; i < N_STAGES; i++) assert_ok(samp_chain_add(i < 6 ? w->s : inner, stages[i]()));
    assert_ok(samp_chain_add(inner, make_mirostat()));
    assert_ok(samp_chain_add(w->s, inner));
}

static void a_chain_of_params(world *w)
{
    samp_params p = make_settings(3);
    w->s = samp_chain_from_params(&p, NULL);
    for (int i = 0; i < 9; i++) assert_true(samp_sample(w->s, logits, N) >= 0);
}

static void two_of_three_rows(world *w)
{
    samp_params p = make_settings(4);
    w->rows[0] = samp_chain_from_params(&p, NULL);
    w->rows[2] = samp_chain_from_params(&p, NULL);
}

static void three_rows(world *w)
{
    for (int r = 0; r < N_ROWS; r++) {
        samp_params p = make_settings((uint64_t)r);
        w->rows[r] = samp_chain_from_params(&p, NULL);
    }
}

static void a_grammar(world *w)
{
    w->s = samp_init_grammar(vocab_index, json);
    assert_ok(samp_accept(w->s, '{'));
}

/* Its text is read again in a cache that is still to be made. */
static void a_grammar_without_store(world *w)
{
    w->s = samp_init_grammar(vocab_index, json);
    assert_ok(samp_accept(w->s, '{'));
    sampi_shared *shared = json->shared;
    sampi_cache_free(shared, shared->now);
    shared->now = NULL;
}

static void a_chain_with_grammar(world *w)
{
    w->s = samp_chain_init();
    assert_ok(samp_chain_add(w->s, make_penalties()));
    assert_ok(samp_chain_add(w->s, samp_init_grammar(vocab_index, json)));
    assert_ok(samp_chain_add(w->s, make_dist()));
    assert_ok(samp_accept(w->s, '{'));
}

static void a_grammar_beside(world *w)
{
    samp_params p = make_settings(5);
    w->rows[0] = samp_chain_from_params(&p, NULL);
    w->rows[1] = samp_init_grammar(vocab_index, json);
}

static const char *const words_of[] = { "ab", "{\"a\"" }, *const patterns_of[] = { "^(?:[xy]|z{2})*?(\\{)", "(b)x" };
static const samp_token tokens_of[] = { 1, '{' };

static void a_lazy_grammar(world *w)
{
    w->s = samp_init_grammar_lazy_patterns(vocab_index, json, patterns_of, 2, NULL, 0);
    assert_ok(samp_accept(w->s, 'x'));
}

/* What constraints are made of. */
static const char *const banned[] = { "{\"b", "the", "n" };
static const samp_token listed[] = { '{', 'a', 'b', EOG };
static const samp_sequence some_sequences[] = { { listed, 2, -1.0f }, { listed + 1, 1, 2.0f } };
static const samp_watermark some_mark = {
    .kind = SAMP_WATERMARK_GUMBEL_DUAL, .key = 1, .context_width = 2, .history = 9
};
static const uint64_t some_keys[] = { 1, 2 };
static samp_watermark_result some_result, some_results[2];
static samp_watermark_span some_span;
static samp_watermark a_mark;
static const samp_thinking a_span = { listed, 1, listed + 1, 2, NULL, 0 };
static const samp_loop a_loop = { 1, 2, 2, 8, 1 };
static const samp_thinking_plan a_plan = { 9,    2,       0.0f, 1, listed, 2, some_sequences, 2, SAMP_RAMP_LINEAR,
                                           1.0f, &a_loop, 0 };
static const samp_schedule a_time = { SAMP_TOKENS, 1, 5,      0, SAMP_INSIDE,       &a_span,
                                      1,           0, listed, 4, &small_vocabulary, &a_loop };

static void a_chain_with_constraints(world *w)
{
    w->s = samp_chain_init();
    assert_ok(samp_chain_add(w->s, samp_init_banned_strings(&small_vocabulary, banned, 3, SAMP_BAN_REWIND)));
    assert_ok(samp_chain_add(w->s, samp_init_loop_breaker_cusum(1, 20, 0.25f, 1.0f, 1.0f)));
    assert_ok(samp_chain_add(w->s, samp_init_thinking_budget(&small_vocabulary, &a_span, 1, 3, -1)));
    assert_ok(samp_chain_add(w->s, make_dist()));
    for (int i = 0; i < 9; i++) assert_ok(samp_accept(w->s, "abathe{xx"[i]));
}

static void a_chain_with_marks(world *w)
{
    w->s = samp_chain_init();
    samp_watermark green = some_mark;
    green.kind = SAMP_WATERMARK_SBW_SELFHASH;
    green.gamma = 0.5;
    green.delta = 1.0f;
    assert_ok(samp_chain_add(w->s, samp_init_watermark(&green)));
    assert_ok(samp_chain_add(w->s, samp_init_watermark(&some_mark)));
    for (int i = 0; i < 9; i++) assert_ok(samp_accept(w->s, i));
}

static int a_schedule(world *w)
{
    samp_sampler *one = samp_init_temp(0.5f);
    return one ? made(w, samp_init_schedule(&a_time, one)) : SAMP_E_NOMEM;
}

static void settings(world *w) { w->settings = samp_settings_init(); }

static void settings_with_lists(world *w)
{
    settings(w);
    assert_ok(samp_settings_set(w->settings, "logit_bias", "5+1,7-inf", NULL));
    assert_ok(samp_settings_set(w->settings, "dry_breakers", "ab", NULL));
    assert_ok(samp_settings_set(w->settings, "order", "kpt", NULL));
}

static void settings_of_a_model(world *w)
{
    settings_with_lists(w);
    assert_ok(samp_settings_set_vocab(w->settings, N, test_letters, NULL));
}

static const char a_request[] =
    "{\"top_k\": 7, \"logit_bias\": [[3, 1.5], [4, false]], \"samplers\": [\"top_k\", \"temperature\"],"
    " \"dry_sequence_breakers\": [\"a\", \"bc\"]}";

static samp_kv_params kv_params(void)
{
    static const uint32_t width[2] = { 4, 8 };
    samp_kv_params p;
    memset(&p, 0, sizeof p);
    p.n_cells = 16;
    p.n_seq_max = 4;
    p.n_layer = 2;
    p.n_embd_k = p.n_embd_v = width;
    p.type_k = SAMP_F16;
    p.rope = SAMP_ROPE_HALF;
    p.n_embd_head = 4;
    return p;
}

static void a_cache(world *w)
{
    static const int32_t pos[5] = { 0, 1, 2, 3, 4 };
    static const uint64_t seq[5] = { 1, 1, 3, 3, 1 };
    samp_kv_params p = kv_params();
    samp_kv_batch batch = { 5, pos, seq };
    w->kv = samp_kv_init(&p, NULL);
    assert_ok(samp_kv_find_slot(w->kv, &batch, SAMP_KV_RUN, NULL));
}

static void a_llama_vocabulary(world *w) { w->vocab = samp_llama_vocab_init(llama_words); }

static void a_llama_sampler(world *w)
{
    samp_params p = samp_default_params();
    w->llama = samp_llama_init(samp_chain_from_params(&p, NULL));
}

static samp_gpu_config gpu_config(int32_t device)
{
    samp_gpu_config config = { device, N_ROWS, N, SAMP_F32, false, false, 4, false };
    return config;
}

/* The second row goes to the CPU, by its random source; the third one behind the device. */
static void a_gpu(world *w)
{
    samp_gpu_config config = gpu_config(SAMP_GPU_HOST);
    w->gpu = samp_gpu_init(&config, NULL);
    three_rows(w);
    assert_ok(samp_set_rng(w->rows[1], SAMP_RNG_MT19937));
    assert_ok(samp_chain_add(w->rows[2], make_custom()));
    assert_ok(samp_chain_add(w->rows[2], make_dist()));
}

static int shard_of(world *w)
{
    int status = 1;
    w->shard = samp_shard_init(N, 0, N, 1, &status);
    assert_true((w->shard != NULL) == (status == SAMP_OK));
    return status;
}

static int vocab_of_file(world *w, bool is_gguf)
{
    static const char json[] = "{\"model\":{\"vocab\":{\"a\":0,\"b\":1}},\"decoder\":{\"type\":\"ByteLevel\"}}";
    static const char gguf[] = "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"
                               "\24\0\0\0\0\0\0\0tokenizer.ggml.model\10\0\0\0\4\0\0\0\0\0\0\0gpt2"
                               "\25\0\0\0\0\0\0\0tokenizer.ggml.tokens\11\0\0\0\10\0\0\0\1\0\0\0\0\0\0\0"
                               "\1\0\0\0\0\0\0\0a";
    samp_grammar_error e;
    samp_vocab *v = is_gguf ? samp_vocab_from_gguf(gguf, sizeof gguf - 1, &e)
                            : samp_vocab_from_tokenizer_json(json, sizeof json - 1, &e);
    w->out = v ? (uint64_t)v->n_vocab : 0;
    assert_true((v != NULL) == (e.status == SAMP_OK));
    samp_vocab_free(v);
    return e.status;
}

static int ngram_of(world *w)
{
    samp_ngram *ngram = samp_ngram_init(1, 3, 50);
    w->out = ngram != NULL;
    samp_ngram_free(ngram);
    return ngram ? SAMP_OK : SAMP_E_NOMEM;
}

static void a_shard(world *w)
{
    three_rows(w);
    assert_ok(shard_of(w));
}

/* ---- calls that allocate ----
   Each gives a status, or a token, which is none. What it makes it frees, and tells of by note. */

/* Rows of a batch; the tokens are told. */
static samp_logits batch_logits(int n_threads)
{
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = row_data;
    l.n_rows = N_ROWS;
    l.n_vocab = N;
    l.n_threads = n_threads;
    return l;
}

/* A search with a chain a beam, and with `steps` its first step, which gets all its memory. */
static int beams_of(world *w, int steps)
{
    const samp_beam_params set = { 2, 0, 4, 1.0f, 0.0f, SAMP_EARLY_HEURISTIC, NULL, 0, 0, false };
    samp_sampler *rows[2] = { samp_init_penalties(5, 1.5f, 0.0f, 0.0f), samp_init_penalties(5, 1.5f, 0.0f, 0.0f) };
    samp_token tokens[2] = { 0, 0 };
    int32_t parents[2];
    samp_logits l = batch_logits(1);
    int status = SAMP_E_NOMEM;
    samp_beams *beams = samp_beams_init(&set, &status);
    assert_true((beams != NULL) == (status == SAMP_OK));
    l.n_rows = 1;
    if (!rows[0] || !rows[1]) status = SAMP_E_NOMEM;
    if (!status && steps) status = samp_beams_step(beams, rows, &l, tokens, parents);
    if (status >= 0) note(w, tokens, sizeof tokens);
    samp_beams_free(beams);
    for (int i = 0; i < 2; i++) samp_free(rows[i]);
    return status < 0 ? status : SAMP_OK;
}

/* A load makes a search, which replaces the old one. */
static int beams_loaded(world *w)
{
    const samp_beam_params set = { 2, 0, 4, 1.0f, 0.0f, SAMP_EARLY_HEURISTIC, NULL, 0, 0, false };
    unsigned char bytes[200];
    int status = SAMP_E_NOMEM;
    samp_beams *beams = samp_beams_init(&set, &status);
    if (!status) status = samp_beams_state_save(beams, bytes, sizeof bytes);
    if (!status) status = samp_beams_state_load(beams, bytes, samp_beams_state_size(beams));
    note(w, bytes, status ? 0 : 16);
    samp_beams_free(beams);
    return status;
}

static int unmasked(world *w)
{
    const samp_unmask_params set = { SAMP_UNMASK_ENTROPY, 2, 0.0f, 0, 0.0f };
    samp_logits l = batch_logits(1);
    samp_token out[N_ROWS];
    const int status = samp_unmask(&set, w->rows, &l, out);
    if (status >= 0) note(w, out, sizeof out);
    return status < 0 ? status : SAMP_OK;
}

static int batch(world *w)
{
    samp_logits l = batch_logits(1);
    samp_token out[N_ROWS] = { -77, -77, -77 };
    int status = samp_sample_batch(w->rows, &l, out);
    note(w, out, sizeof out);
    if (status == SAMP_E_NOMEM) assert_true(out[0] == -77 && out[1] == -77 && out[2] == -77);
    if (status == SAMP_E_NOMEM) w->out = 0;
    return status;
}

/* The same by a rank that is alone: what it sends is what it gets. */
static int send_to_all(void *user, void *bytes, size_t n, samp_merge merge)
{
    (void)user, (void)bytes, (void)n, (void)merge;
    return 0;
}

static int gather_from_all(void *user, const void *bytes, size_t n, void *all)
{
    (void)user;
    memcpy(all, bytes, n);
    return 0;
}

/* The rows' chains, as they are. */
static void look_at_rows(world *w, uint64_t *looks)
{
    for (int r = 0; r < N_ROWS; r++) {
        world at;
        memset(&at, 0, sizeof at);
        note_sampler(&at, w->rows[r]);
        looks[r] = at.out;
    }
}

/* A batch's outcome: rows without memory say so and have not moved. */
static int told(world *w, const uint64_t *before, const samp_token *out, int status)
{
    uint64_t after[N_ROWS];
    int first = status;
    look_at_rows(w, after);
    for (int r = 0; r < N_ROWS; r++) {
        if (status || out[r] < 0) assert_true(before[r] == after[r]);
        if (out[r] < 0) assert_status(out[r], SAMP_E_NOMEM);
        if (out[r] < 0) first = out[r];
    }
    note(w, out, N_ROWS * sizeof *out);
    return first;
}

static int sharded(world *w, bool by_gathering)
{
    samp_ranks ranks = { by_gathering ? NULL : send_to_all, gather_from_all, NULL };
    samp_logits l = batch_logits(1);
    samp_token out[N_ROWS] = { -77, -77, -77 };
    uint64_t before[N_ROWS];
    look_at_rows(w, before);
    return told(w, before, out, samp_sample_sharded(w->shard, &ranks, w->rows, &l, out));
}

static int sharded_by_steps(world *w)
{
    samp_logits l = batch_logits(1);
    samp_token out[N_ROWS] = { -77, -77, -77 };
    size_t n;
    uint64_t before[N_ROWS];
    look_at_rows(w, before);
    int status = samp_shard_begin(w->shard, w->rows, &l, out);
    while (status == SAMP_OK && samp_shard_message(w->shard, &n)) status = samp_shard_take(w->shard);
    return told(w, before, out, status);
}

/* What one row of a batch gives: its status is that of the call. */
static int batch_of_one(world *w)
{
    samp_logits l = batch_logits(1);
    samp_token out = -77;
    l.n_rows = 1;
    int status = samp_sample_batch(&w->s, &l, &out);
    return status ? status : out;
}

static int score(world *w)
{
    samp_score_result result = { 0.0f, 0.0f, 0, NULL };
    int status = samp_score(w->s, logits, N, 1, &result);
    note(w, &result.processed, sizeof result.processed);
    return status;
}

static int replay_check(world *w)
{
    samp_logits l = batch_logits(1);
    const samp_token none = N; /* the first draw is another one */
    l.n_rows = 1;
    return (int)samp_replay_check(w->s, &l, &none);
}

static int raw_logprobs(world *w)
{
    samp_logits l = batch_logits(1);
    samp_logprobs told[N_ROWS];
    memset(told, 0, sizeof told);
    l.logprobs = told;
    int status = samp_raw_logprobs(&l);
    if (!status) note(w, &told[0].raw.chosen.logprob, sizeof(float));
    return status;
}

static int gpu_batch(world *w)
{
    samp_logits l = batch_logits(1);
    samp_token out[N_ROWS] = { -77, -77, -77 };
    uint64_t before[N_ROWS], after[N_ROWS];
    look_at_rows(w, before);
    int status = samp_gpu_sample_batch(w->gpu, w->rows, &l, out);
    if (status == SAMP_OK) return told(w, before, out, status);
    look_at_rows(w, after);
    assert_memory_equal(before, after, sizeof before);
    note(w, out, sizeof out);
    return status;
}

static samp_draft a_draft(samp_token *tokens, const float *row)
{
    samp_draft d;
    samp_sampler *greedy = samp_init_greedy();
    memset(&d, 0, sizeof d);
    for (d.n = 0; d.n < 3; d.n++) tokens[d.n] = samp_sample(greedy, row, N);
    d.tokens = tokens;
    samp_free(greedy);
    return d;
}

typedef enum verifier { EXACT, RATIO, BLOCK, TREE, RELAXED } verifier;

static int verify_by(verifier how, world *w, const float *rows, const samp_draft *draft, samp_token *out)
{
    static const int32_t parent[3] = { -1, 0, 1 };
    samp_relaxed relaxed = { 5, 0.5f, -1, -1, true };
    if (how == BLOCK) return samp_verify_block(w->s, rows, N, draft, out);
    if (how == TREE) return samp_verify_tree(w->s, rows, N, draft, parent, SAMP_VERIFY_RATIO, out, NULL);
    if (how == RELAXED) return samp_verify_relaxed(w->s, rows, N, draft, SAMP_VERIFY_RATIO, &relaxed, out);
    return samp_verify(w->s, rows, N, draft, how == EXACT ? SAMP_VERIFY_EXACT : SAMP_VERIFY_RATIO, out);
}

/* Four rows, all alike. */
static int verify(world *w, verifier how)
{
    static float four[4 * N];
    static samp_token guessed[3];
    static samp_draft draft;
    samp_token out[4] = { -7, -7, -7, -7 };
    if (!draft.tokens) draft = a_draft(guessed, logits); /* before anything fails: the first world has memory */
    for (int i = 0; i < 4 * N; i++) four[i] = logits[i % N];
    int n = verify_by(how, w, four, &draft, out);
    if (n != SAMP_E_NOMEM) note(w, out, sizeof out);
    return n;
}

/* A grammar may want memory at a later row, too: then the tokens before it count, and that is all that has happened. */
static int verify_by_row(world *w, verifier how)
{
    static float four[4 * N];
    samp_token out[4] = { -7, -7, -7, -7 }, guess[3] = { '"', 'a', 'b' };
    samp_draft draft;
    memset(&draft, 0, sizeof draft);
    draft.n = 3;
    draft.tokens = guess;
    for (int i = 0; i < 4 * N; i++) four[i] = i % N == (i / N ? 'a' + i / N - 1 : '"') ? 40.0f : logits[i % N];
    uint64_t position = samp_get_position(w->s), n_accept = samp_perf(w->s).n_accept;
    int n = verify_by(how, w, four, &draft, out);
    int n_tokens = n < 0 ? 0 : n + (out[n] >= 0);
    assert_u64(samp_get_position(w->s), position + (uint64_t)n_tokens);
    if (how != BLOCK) assert_u64(samp_perf(w->s).n_accept, n_accept + (uint64_t)n_tokens);
    note(w, out, sizeof out);
    return n >= 0 && out[n] < 0 ? out[n] : n;
}

static int chain_of_params(world *w)
{
    samp_params p = make_settings(6);
    int status = 1;
    samp_sampler *chain = samp_chain_from_params(&p, &status);
    assert_status(status, chain ? samp_status(chain, NULL) : SAMP_E_NOMEM);
    return made(w, chain);
}

static int update(world *w, uint64_t seed)
{
    samp_params p = make_settings(seed);
    p.dry_base = 2.0f;
    p.top_k = 3;
    return samp_chain_update(w->s, &p);
}

/* With a grammar, which is the call's on failure too: a chain, or the update of one. */
static int with_grammar(world *w, bool updates)
{
    samp_params p = make_settings(6);
    int status = SAMP_E_NOMEM;
    p.grammar = samp_init_grammar(vocab_index, json);
    if (updates) return p.grammar ? samp_chain_update(w->s, &p) : SAMP_E_NOMEM;
    return made(w, p.grammar ? samp_chain_from_params(&p, &status) : NULL);
}

/* Rows that there are, and one that is not; each fails by itself. */
static int batch_of_params(world *w)
{
    samp_params p[N_ROWS] = { make_settings(7), make_settings(8), make_settings(9) };
    int status[N_ROWS] = { 1, 1, 1 };
    world before[N_ROWS], after[N_ROWS];
    memset(before, 0, sizeof before);
    memset(after, 0, sizeof after);
    for (int r = 0; r < N_ROWS; r++) note_sampler(&before[r], w->rows[r]);
    int first = samp_batch_from_params(w->rows, p, N_ROWS, status), found = SAMP_OK;
    for (int r = 0; r < N_ROWS; r++) {
        note_sampler(&after[r], w->rows[r]);
        assert_true(status[r] == SAMP_OK || status[r] == SAMP_E_NOMEM);
        assert_true((before[r].out == after[r].out) == (status[r] != SAMP_OK));
        if (!found) found = status[r];
    }
    assert_status(first, found);
    return first;
}

static int apply(world *w)
{
    samp_token_data data[LONG];
    samp_token_data_array cur = test_array(data, logits, N + 100); /* above 256 */
    int status = samp_apply(w->s, &cur);
    note(w, data, cur.size * sizeof *data);
    note(w, &cur.selected, sizeof cur.selected);
    return status;
}

/* It is the chain's, on failure too. */
static int add(world *w)
{
    samp_sampler *s = w->rows[0];
    w->rows[0] = NULL;
    return samp_chain_add(w->s, s);
}

static int insert(world *w)
{
    samp_sampler *s = w->rows[0];
    w->rows[0] = NULL;
    return samp_chain_insert(w->s, 0, s);
}

static samp_sampler *dry_of_llama(world *w)
{
    static const char *const breakers[] = { "abcdefabcdefabcdefabcdefabcdefabcdefabcdef" }; /* of as many tokens */
    return samp_init_dry(w->vocab, 64, 1.0f, 1.75f, 1, 64, breakers, 1);
}

static int operator_of(world *w)
{
    int status = 1;
    w->op = samp_random_sample_init(SAMP_I32, SAMP_F32, 100, &status);
    assert_true((w->op != NULL) == (status == SAMP_OK));
    return status;
}

static int cache_of(world *w)
{
    samp_kv_params p = kv_params();
    int status = 1;
    w->kv = samp_kv_init(&p, &status);
    assert_true((w->kv != NULL) == (status == SAMP_OK));
    return status;
}

static const char *const some_stops[] = { "the", "\n\n", "he" };

static int text_of(world *w)
{
    const samp_token end = 3;
    const samp_text_options options = { &end, 1, 0, false, false, false };
    int status = 1;
    w->text = samp_text_init(&small_vocabulary, some_stops, 3, &options, &status);
    assert_true((w->text != NULL) == (status == SAMP_OK));
    return status;
}

static void a_text(world *w)
{
    w->text = samp_text_init(&small_vocabulary, some_stops, 3, NULL, NULL);
    assert_ok(samp_text_add_pattern(w->text, "an?", 5));
}

static const char stops_of_request[] = "{\"stop\":[\"a\",\"bc\"],\"stop_regex\":\"x+y\",\"stop_token_ids\":[3,4]}";

static void settings_with_stops(world *w)
{
    w->settings = samp_settings_init();
    assert_ok(samp_settings_from(w->settings, SAMP_PEER_SGLANG, stops_of_request, NULL, NULL));
}

static int text_of_settings(world *w)
{
    int status = 1;
    w->text = samp_text_from_settings(w->settings, &small_vocabulary, &status);
    assert_true((w->text != NULL) == (status == SAMP_OK));
    return status;
}

static int clone_of_text(world *w)
{
    samp_text *copy = samp_text_clone(w->text);
    if (!copy) return SAMP_E_NOMEM;
    samp_text_free(w->text);
    w->text = copy;
    return SAMP_OK;
}

/* Without memory the chain stays the caller's. */
static int llama_of(world *w)
{
    w->llama = samp_llama_init(w->s);
    if (!w->llama) return SAMP_E_NOMEM;
    w->s = NULL;
    return SAMP_OK;
}

static const char a_regex[] = "^(?:a{2,5}|[^b-y\\d]{3}\\w*)?(x|yy)+?z$";

static const char a_tag[] =
    "{\"format\":{\"type\":\"triggered_tags\",\"triggers\":[\"<\"],\"tags\":[{\"begin\":\"<a>\",\"end\":\">\","
    "\"content\":{\"type\":\"sequence\",\"elements\":[{\"type\":\"json_schema\",\"json_schema\":{\"type\":\"array\"}}"
    ","
    "{\"type\":\"grammar\",\"grammar\":\"root ::= r r\\nr ::= "
    "[a-c]\"},{\"type\":\"regex\",\"pattern\":\"x{3}\"}]}}]}}";
static const char a_schema[] =
    "{\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\", \"pattern\": \"^[a-z]+\\\\d$\"},"
    " \"n\": {\"type\": \"integer\", \"minimum\": 3, \"maximum\": 1207, \"multipleOf\": 5},"
    " \"x\": {\"enum\": [1, \"a\\n\", null, {\"k\": [1.5, true]}]}, \"day\": {\"type\": \"string\", \"format\": "
    "\"date\"},"
    " \"tree\": {\"$ref\": \"#/$defs/tree\"}, \"e\": {\"type\": \"number\", \"exclusiveMinimum\": -0.5}},"
    " \"required\": [\"name\", \"x\"], \"patternProperties\": {\"^p_\": {\"type\": \"boolean\"}},"
    " \"additionalProperties\": {\"type\": \"string\", \"minLength\": 2, \"maxLength\": 9},"
    " \"$defs\": {\"tree\": {\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/tree\"}, \"maxItems\": 3}}}";

static const char another_schema[] =
    "{\"$schema\": \"http://json-schema.org/draft-07/schema#\", \"definitions\": {\"a b\": {\"const\": \"\\u00e9\"}},"
    " \"allOf\": [{\"required\": [\"k\"]}, {\"properties\": {\"k\": {\"anyOf\": [{\"type\": [\"null\", \"integer\"]},"
    " {\"$ref\": \"#/definitions/a%20b\"}]}}}], \"if\": {\"properties\": {\"k\": {\"const\": 1}}},"
    " \"then\": {\"maxProperties\": 1}, \"type\": \"object\","
    " \"additionalProperties\": false, \"propertyNames\": {\"maxLength\": 3},"
    " \"properties\": {\"k\": true, \"list\": {\"items\": [{\"type\": \"string\"}, true], \"minItems\": 1}}}";

static int make_tag(world *w)
{
    static const char tools[] = "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":"
                                "{\"k\":{\"enum\":[\"a\",1]},\"l\":{\"maxLength\":3}}}}}]";
    static char text[2048];
    const int64_t n = samp_builtin_tag("cohere", tools, "thinking", text, sizeof text, NULL);
    memory_is_back(w);
    if (n > 0) note(w, text, (size_t)n);
    samp_grammar_error error;
    samp_grammar *g = n < 0 ? NULL : samp_grammar_init(SAMP_GRAMMAR_STRUCTURAL_TAG, text, NULL, &error);
    memory_is_back(w);
    samp_grammar_free(g);
    return n < 0 ? (int)n : error.status;
}

static int read_grammar(world *w, samp_grammar_kind kind, const char *text, const char *root)
{
    samp_grammar_error error;
    memset(&error, 0xEE, sizeof error);
    samp_grammar *g = samp_grammar_init(kind, text, root, &error);
    memory_is_back(w);
    assert_true((g != NULL) == (error.status == SAMP_OK));
    if (error.status && error.status != SAMP_E_NOMEM) test_fail(__FILE__, __LINE__, "%s", error.message);
    if (!g) return error.status;
    samp_sampler *s = samp_init_grammar(vocab_index, g);
    uint32_t bits[N_MASK_WORDS];
    assert_ok(samp_status(s, NULL));
    for (const char *p = kind == SAMP_GRAMMAR_REGEX ? "aaa" : "{\"k"; *p; p++) {
        assert_ok(samp_grammar_mask(s, bits));
        note(w, bits, sizeof bits);
        assert_ok(samp_accept(s, *p));
    }
    samp_free(s);
    samp_grammar_free(g);
    return SAMP_OK;
}

/* An index that came to be is the one that there is. */
static int told_index(world *w, samp_vocab_index *index, int status)
{
    memory_is_back(w);
    assert_true((index != NULL) == (status == SAMP_OK));
    if (!index) return status;
    size_t size = samp_vocab_index_size(index);
    void *bytes = malloc(size);
    assert_ok(samp_vocab_index_save(index, bytes, size));
    assert_num(size, samp_vocab_index_size(vocab_index));
    assert_memory_equal(bytes, index_bytes, size);
    free(bytes);
    samp_vocab_index_free(index);
    return SAMP_OK;
}

static const uint32_t lengths[] = { 1, 1 };

static int listed_vocabulary(world *w)
{
    int status;
    samp_vocab *v = samp_vocab_init("ab", lengths, 2, NULL, 0, 1, -1, &status);
    memory_is_back(w);
    assert_true((v != NULL) == (status == SAMP_OK));
    if (v) note(w, &v->eos, sizeof v->eos);
    samp_vocab_free(v);
    return status;
}

static int index_of(world *w)
{
    int status = 1;
    samp_vocab_index *index = samp_vocab_index_init(&small_vocabulary, &status);
    return told_index(w, index, status);
}

static int mapped_index(world *w)
{
    int status = 1;
    size_t size = samp_vocab_index_size(vocab_index);
    samp_vocab_index *index = samp_vocab_index_map(&small_vocabulary, index_bytes, size, &status);
    return told_index(w, index, status);
}

static int mask(world *w)
{
    uint32_t bits[N_MASK_WORDS];
    int status = samp_grammar_mask(w->s, bits);
    if (!status) note(w, bits, sizeof bits);
    return status;
}

static int prepared(world *w)
{
    const int done = samp_grammar_prepare(w->s, 1 << 24);
    if (done >= 0) note(w, &done, sizeof done);
    return done < 0 ? done : SAMP_OK;
}

/* Masks of a grammar of its own are made ahead, to the end. */
static int warmed(void)
{
    samp_grammar_error error;
    samp_grammar *g = samp_grammar_init(SAMP_GRAMMAR_REGEX, "(?:the|ab*)*[12]{3}", NULL, &error);
    int64_t steps = g ? 1 : error.status;
    while (steps > 0) steps = samp_grammar_warm(vocab_index, g, 1 << 12);
    samp_grammar_free(g);
    return (int)steps;
}

static int forced(world *w)
{
    char bytes[16] = "";
    int64_t n = samp_grammar_forced(w->s, bytes, sizeof bytes);
    if (n >= 0) note(w, bytes, sizeof bytes);
    return (int)n;
}

static int drafted(world *w, int64_t (*tell)(samp_sampler *s, samp_token *tokens, size_t n_max))
{
    samp_token tokens[16] = { 0 };
    int64_t n = tell(w->s, tokens, 16);
    if (n >= 0) note(w, tokens, sizeof tokens);
    return (int)n;
}

static int gpu_of(world *w, int32_t device)
{
    samp_gpu_config config = gpu_config(device);
    int status = 1;
    w->gpu = samp_gpu_init(&config, &status);
    assert_true((w->gpu != NULL) == (status == SAMP_OK));
    return status;
}

typedef enum promise {
    FAILS,     /* SAMP_E_NOMEM, and nothing has changed */
    MAKES,     /* the same, and no block more than before is there */
    GOES_ON,   /* or its result is that of a call with memory */
    CARRIES,   /* SAMP_E_NOMEM, which w->s then carries */
    BY_ROW,    /* the same for each row by itself, which the call checks */
    NEVER,     /* SAMP_OK: it asks for no memory here */
    ONE_COUNTS /* SAMP_E_NOMEM, and the first draw of two counts */
} promise;

#define CALLS(X) \
    X(samp_sample, a_chain, FAILS, samp_sample(w->s, logits, N)) \
    X(samp_sample, a_used_chain, FAILS, samp_sample(w->s, logits, LONG)) \
    X(samp_sample, a_chain_of_llama, FAILS, samp_sample(w->s, logits, N)) \
    X(samp_sample, a_chain_with_grammar, FAILS, samp_sample(w->s, logits, N)) \
    X(samp_sample, a_chain_with_constraints, FAILS, samp_sample(w->s, logits, N)) \
    X(samp_sample, a_chain_with_marks, FAILS, samp_sample(w->s, logits, N)) \
    X(samp_sample, a_chain_in_a_chain, FAILS, samp_sample(w->s, logits, N)) \
    X(samp_draw, a_chain, FAILS, samp_draw(w->s, logits, N)) \
    X(samp_score, a_chain, FAILS, score(w)) \
    X(samp_explain, a_chain, FAILS, samp_explain(w->s, logits, N, 1, NULL, 0)) \
    X(samp_replay_check, a_chain, FAILS, replay_check(w)) \
    X(samp_raw_logprobs, nothing, FAILS, raw_logprobs(w)) \
    X(samp_draw, a_chain_with_grammar, FAILS, samp_draw(w->s, logits, N)) \
    X(samp_sample_batch, three_rows, GOES_ON, batch(w)) \
    X(samp_sample_batch, a_chain_with_grammar, BY_ROW, batch_of_one(w)) \
    X(samp_shard_init, nothing, MAKES, shard_of(w)) \
    X(samp_sample_sharded, a_shard, BY_ROW, sharded(w, false)) \
    X(samp_sample_sharded, a_shard, BY_ROW, sharded(w, true)) \
    X(samp_shard_begin, a_shard, BY_ROW, sharded_by_steps(w)) \
    X(samp_verify, a_chain, FAILS, verify(w, EXACT)) \
    X(samp_verify, a_chain, FAILS, verify(w, RATIO)) \
    X(samp_verify, a_chain_with_grammar, BY_ROW, verify_by_row(w, EXACT)) \
    X(samp_verify_block, a_chain, FAILS, verify(w, BLOCK)) \
    X(samp_verify_block, an_edited_chain, FAILS, verify(w, BLOCK)) \
    X(samp_verify_block, a_chain_with_grammar, BY_ROW, verify_by_row(w, BLOCK)) \
    X(samp_verify_tree, a_chain, FAILS, verify(w, TREE)) \
    X(samp_verify_tree, a_chain_with_grammar, BY_ROW, verify_by_row(w, TREE)) \
    X(samp_verify_relaxed, a_chain, FAILS, verify(w, RELAXED)) \
    X(samp_verify_relaxed, a_chain_with_grammar, BY_ROW, verify_by_row(w, RELAXED)) \
    X(samp_vocab_from_tokenizer_json, nothing, MAKES, vocab_of_file(w, false)) \
    X(samp_vocab_from_gguf, nothing, MAKES, vocab_of_file(w, true)) \
    X(samp_ngram_init, nothing, MAKES, ngram_of(w)) \
    X(samp_beams_init, nothing, MAKES, beams_of(w, 0)) \
    X(samp_beams_step, nothing, GOES_ON, beams_of(w, 1)) \
    X(samp_beams_state_load, nothing, MAKES, beams_loaded(w)) \
    X(samp_unmask, three_rows, GOES_ON, unmasked(w)) \
    X(samp_reserve, a_chain, FAILS, samp_reserve(w->s, N)) \
    X(samp_reserve, a_used_chain, FAILS, samp_reserve(w->s, LONG)) \
    X(samp_reserve, a_chain_in_a_chain, FAILS, samp_reserve(w->s, N)) \
    X(samp_chain_from_params, nothing, MAKES, chain_of_params(w)) \
    X(samp_chain_from_params, nothing, MAKES, with_grammar(w, false)) \
    X(samp_chain_update, a_chain_of_params, MAKES, update(w, 7)) \
    X(samp_chain_update, a_chain_of_params, MAKES, with_grammar(w, true)) \
    X(samp_batch_from_params, two_of_three_rows, BY_ROW, batch_of_params(w)) \
    X(samp_settings_init, nothing, MAKES, (w->settings = samp_settings_init()) ? SAMP_OK : SAMP_E_NOMEM) \
    X(samp_settings_set, settings, MAKES, samp_settings_set(w->settings, "order", "top_k;temperature", NULL)) \
    X(samp_settings_set, settings, MAKES, samp_settings_set(w->settings, "logit_bias", "3+1,4-inf", NULL)) \
    X(samp_settings_set, settings, MAKES, samp_settings_set(w->settings, "dry_breakers", "xy", NULL)) \
    X(samp_settings_set, settings_with_lists, MAKES, samp_settings_set(w->settings, "order", "t", NULL)) \
    X(samp_settings_set, settings_with_lists, MAKES, samp_settings_set(w->settings, "logit_bias", "3+1", NULL)) \
    X(samp_settings_set, settings_with_lists, MAKES, samp_settings_set(w->settings, "dry_breakers", "xy", NULL)) \
    X(samp_settings_from, settings_of_a_model, MAKES, \
      samp_settings_from(w->settings, SAMP_PEER_LLAMA_SERVER, a_request, NULL, NULL)) \
    X(samp_settings_from_lenient, settings_of_a_model, MAKES, \
      samp_settings_from_lenient(w->settings, SAMP_PEER_LLAMA_SERVER, a_request, NULL, NULL, NULL, 0)) \
    X(samp_settings_from, settings_of_a_model, MAKES, \
      samp_settings_from(w->settings, SAMP_PEER_VLLM, "{\"logit_bias\":{\"1\":1,\"01\":2}}", NULL, NULL)) \
    X(samp_chain_init, nothing, MAKES, made(w, samp_chain_init())) \
    X(samp_chain_add, a_chain_and_one, CARRIES, add(w)) \
    X(samp_chain_insert, a_chain_and_one, CARRIES, insert(w)) \
    X(samp_set_n_prev, a_used_chain, MAKES, samp_set_n_prev(w->s, 300)) \
    X(samp_set_rollback, a_used_chain, MAKES, samp_set_rollback(w->s, 500)) \
    X(samp_apply, a_chain, GOES_ON, apply(w)) \
    X(samp_accept, an_edited_chain, GOES_ON, samp_accept(w->s, 3)) \
    X(samp_accept, a_grammar_without_store, FAILS, samp_accept(w->s, '"')) \
    X(samp_accept, a_lazy_grammar, FAILS, samp_accept(w->s, '{')) \
    X(samp_reset, a_grammar, NEVER, (samp_reset(w->s), SAMP_OK)) \
    X(samp_rollback, a_grammar, NEVER, samp_rollback(w->s, 1)) \
    X(samp_rollback, a_lazy_grammar, NEVER, samp_rollback(w->s, 1)) \
    X(samp_state_load, a_grammar, FAILS, samp_state_load(w->s, saved, saved_size)) \
    X(samp_clone, a_used_chain, MAKES, made(w, samp_clone(w->s))) \
    X(samp_clone, a_chain_in_a_chain, MAKES, made(w, samp_clone(w->s))) \
    X(samp_clone, a_chain_of_llama, MAKES, made(w, samp_clone(w->s))) \
    X(samp_clone, a_chain_with_grammar, MAKES, made(w, samp_clone(w->s))) \
    X(samp_clone, a_chain_with_constraints, MAKES, made(w, samp_clone(w->s))) \
    X(samp_clone, a_chain_with_marks, MAKES, made(w, samp_clone(w->s))) \
    X(samp_clone, a_lazy_grammar, MAKES, made(w, samp_clone(w->s))) \
    X(samp_init_custom, nothing, MAKES, made(w, make_custom())) \
    X(samp_init_dry, a_llama_vocabulary, MAKES, made(w, dry_of_llama(w))) \
    X(samp_init_top_k_ties, nothing, MAKES, made(w, samp_init_top_k_ties(3))) \
    X(samp_init_watermark, nothing, MAKES, made(w, samp_init_watermark(&some_mark))) \
    X(samp_init_watermark_draft, nothing, MAKES, made(w, samp_init_watermark_draft(&some_mark))) \
    X(samp_watermark_detect, nothing, FAILS, samp_watermark_detect(&some_mark, listed, 4, &some_result)) \
    X(samp_watermark_detect_keys, nothing, FAILS, \
      samp_watermark_detect_keys(&some_mark, some_keys, 2, listed, 4, some_results)) \
    X(samp_watermark_find, nothing, FAILS, samp_watermark_find(&some_mark, listed, 4, 2, &some_span)) \
    X(samp_init_sequence_bias, nothing, MAKES, made(w, samp_init_sequence_bias(some_sequences, 2))) \
    X(samp_init_banned_sequences, nothing, MAKES, made(w, samp_init_banned_sequences(some_sequences, 2, 0))) \
    X(samp_init_banned_sequences, nothing, MAKES, \
      made(w, samp_init_banned_sequences(some_sequences, 2, SAMP_BAN_REWIND))) \
    X(samp_init_banned_strings, nothing, MAKES, made(w, samp_init_banned_strings(&small_vocabulary, banned, 3, 0))) \
    X(samp_init_banned_pattern, nothing, MAKES, \
      made(w, samp_init_banned_pattern(&small_vocabulary, "th+e|n", 0, NULL))) \
    X(samp_init_suppressed_tokens, nothing, MAKES, made(w, samp_init_suppressed_tokens(listed, 4))) \
    X(samp_init_begin_suppressed_tokens, nothing, MAKES, made(w, samp_init_begin_suppressed_tokens(listed, 4, 1))) \
    X(samp_init_min_tokens, nothing, MAKES, made(w, samp_init_min_tokens(listed + 3, 1, 2, 0))) \
    X(samp_init_allowed_tokens, nothing, MAKES, made(w, samp_init_allowed_tokens(listed, 4))) \
    X(samp_init_forced_prefix, nothing, MAKES, made(w, samp_init_forced_prefix(listed, 3, 0))) \
    X(samp_init_eog_bias, nothing, MAKES, made(w, samp_init_eog_bias(listed + 3, 1, -2.0f))) \
    X(samp_init_length_penalty, nothing, MAKES, made(w, samp_init_length_penalty(listed + 3, 1, 1, 1.5f, 0))) \
    X(samp_init_timestamps, nothing, MAKES, made(w, samp_init_timestamps(6, 5, 1))) \
    X(samp_init_timestamps_except, nothing, MAKES, made(w, samp_init_timestamps_except(6, 5, 1, listed, 4))) \
    X(samp_init_no_repeat_ngram, nothing, MAKES, made(w, samp_init_no_repeat_ngram(2, 20))) \
    X(samp_init_no_repeat_ngram_except, nothing, MAKES, made(w, samp_init_no_repeat_ngram_except(2, 20, listed, 4))) \
    X(samp_init_loop_breaker, nothing, MAKES, made(w, samp_init_loop_breaker(1, 2, 2, 8, 1, INFINITY))) \
    X(samp_init_top_p_decay, nothing, MAKES, made(w, samp_init_top_p_decay(0.9f, 0.9f, 0.3f, listed, 4, 1))) \
    X(samp_init_loop_breaker_cusum, nothing, MAKES, made(w, samp_init_loop_breaker_cusum(1, 9, 0.25f, 1.0f, 1.0f))) \
    X(samp_init_loop_watch, nothing, MAKES, made(w, samp_init_loop_watch(&a_loop))) \
    X(samp_init_schedule, nothing, MAKES, a_schedule(w)) \
    X(samp_init_thinking, nothing, MAKES, \
      made(w, samp_init_thinking(&small_vocabulary, &a_span, 1, 3, -1, &a_plan))) \
    X(samp_init_thinking_budget, nothing, MAKES, \
      made(w, samp_init_thinking_budget(&small_vocabulary, &a_span, 1, 1, -1))) \
    X(samp_settings_from, settings_with_stops, MAKES, \
      samp_settings_from(w->settings, SAMP_PEER_SGLANG, stops_of_request, NULL, NULL)) \
    X(samp_text_init, nothing, MAKES, text_of(w)) \
    X(samp_text_from_settings, settings_with_stops, MAKES, text_of_settings(w)) \
    X(samp_text_add_pattern, a_text, MAKES, samp_text_add_pattern(w->text, "(?:th)+e|n", 9)) \
    X(samp_text_clone, a_text, MAKES, clone_of_text(w)) \
    X(samp_random_sample_init, nothing, MAKES, operator_of(w)) \
    X(samp_kv_init, nothing, MAKES, cache_of(w)) \
    X(samp_llama_sample, a_llama_sampler, FAILS, samp_llama_sample(samp_llama_chain(w->llama), &llama, -1)) \
    X(samp_llama_init, no_chain, MAKES, llama_of(w)) \
    X(samp_llama_vocab_init, nothing, MAKES, (w->vocab = samp_llama_vocab_init(llama_words)) ? SAMP_OK : SAMP_E_NOMEM) \
    X(samp_grammar_init, nothing, MAKES, read_grammar(w, SAMP_GRAMMAR_GBNF, JSON_GBNF, NULL)) \
    X(samp_grammar_init, nothing, MAKES, read_grammar(w, SAMP_GRAMMAR_REGEX, a_regex, NULL)) \
    X(samp_grammar_init, nothing, MAKES, read_grammar(w, SAMP_GRAMMAR_JSON_SCHEMA, a_schema, NULL)) \
    X(samp_grammar_init, nothing, MAKES, read_grammar(w, SAMP_GRAMMAR_STRUCTURAL_TAG, a_tag, NULL)) \
    X(samp_grammar_init, nothing, MAKES, read_grammar(w, SAMP_GRAMMAR_JSON_SCHEMA, another_schema, "ordered")) \
    X(samp_builtin_tag, nothing, MAKES, make_tag(w)) \
    X(samp_vocab_init, nothing, MAKES, listed_vocabulary(w)) \
    X(samp_vocab_index_init, nothing, MAKES, index_of(w)) \
    X(samp_vocab_index_map, nothing, MAKES, mapped_index(w)) \
    X(samp_init_grammar, nothing, MAKES, made(w, samp_init_grammar(vocab_index, json))) \
    X(samp_init_grammar_lazy, nothing, MAKES, \
      made(w, samp_init_grammar_lazy(vocab_index, json, words_of, 2, tokens_of, 2))) \
    X(samp_init_grammar_lazy_patterns, nothing, MAKES, \
      made(w, samp_init_grammar_lazy_patterns(vocab_index, json, patterns_of, 2, tokens_of, 2))) \
    X(samp_grammar_mask, a_grammar, FAILS, mask(w)) \
    X(samp_grammar_prepare, a_grammar_without_store, FAILS, prepared(w)) \
    X(samp_grammar_warm, nothing, GOES_ON, warmed()) \
    X(samp_grammar_forced, a_grammar_without_store, FAILS, forced(w)) \
    X(samp_grammar_draft, a_grammar_without_store, FAILS, drafted(w, samp_grammar_draft)) \
    X(samp_grammar_certain, a_grammar_without_store, FAILS, drafted(w, samp_grammar_certain)) \
    X(samp_grammar_sample, a_grammar_beside, ONE_COUNTS, samp_grammar_sample(w->rows[0], w->rows[1], logits, N)) \
    X(samp_gpu_init, nothing, MAKES, gpu_of(w, SAMP_GPU_HOST)) \
    X(samp_gpu_init, nothing, MAKES, gpu_of(w, 0)) \
    X(samp_gpu_sample_batch, a_gpu, BY_ROW, gpu_batch(w))

/* And what makes each sampler of makers.h. */
#define CALL_FUNCTION(function, make, promise, call) +1
#define CALL_MAKER(name, call)                       +1
enum { N_CALLS = 0 CALLS(CALL_FUNCTION) ALL(CALL_MAKER) };

typedef struct call {
    const char *function, *text;
    void (*make)(world *w);
    promise promise;
} call;

#define CALL_ENTRY(function, make, promise, call) { #function, #call, make, promise },
#define MAKER_ENTRY(name, call)                   { "samp_init_" #name, #call, nothing, MAKES },
static const call calls[N_CALLS] = { CALLS(CALL_ENTRY) ALL(MAKER_ENTRY) };

static int make_call(world *w, int number)
{
    int i = 0;
#define CALL_ONE(function, make, promise, call) \
    if (number == i++) return call;
#define MAKER_ONE(name, call) CALL_ONE(samp_init_##name, nothing, MAKES, made(w, call))
    CALLS(CALL_ONE)
    ALL(MAKER_ONE)
    return 0;
}

/* ---- each allocation fails in turn ---- */

/* One world in which allocation `at` fails (0: none does). True: there was no such allocation. */
static bool attempt(int number, unsigned long at, bool after, int want, uint64_t want_look)
{
    const call *c = &calls[number];
    long live = heap.live;
    world w;
    memset(&w, 0, sizeof w);
    c->make(&w);
    uint64_t before = look(&w);
    long live_before = heap.live;
    w.mallocs_before = heap.mallocs;
    w.fail_at = at;
    heap.fail_after = after;
    heap.fail_at = (long)at;
    int status = make_call(&w, number);
    memory_is_back(&w);
    const char *name = c->text;
    bool same = status == want && look(&w) == want_look;
    bool may_go_on = c->promise == GOES_ON || c->promise == BY_ROW;
    if (!w.met || (may_go_on && status != SAMP_E_NOMEM)) {
        if (!same)
            test_fail(__FILE__, __LINE__, "%s with failing allocation %lu: %d, another result", name, at, status);
        end_world(&w);
        assert_num(heap.live, live);
        return !w.met;
    }
    if (status != SAMP_E_NOMEM) test_fail(__FILE__, __LINE__, "%s, allocation %lu fails: %d", name, at, status);
    if (c->promise == CARRIES) assert_status(samp_status(w.s, NULL), SAMP_E_NOMEM);
    if (c->promise == MAKES && (c->make == nothing || c->make == a_chain_of_params)) unlearn();
    if (c->promise == MAKES && heap.live != live_before)
        test_fail(__FILE__, __LINE__, "%s, allocation %lu fails: %ld blocks are left", name, at,
                  heap.live - live_before);
    if (c->promise == FAILS || c->promise == MAKES || c->promise == GOES_ON) {
        if (look(&w) != before)
            test_fail(__FILE__, __LINE__, "%s, allocation %lu fails: something changed", name, at);
        w.out = 0;
        status = make_call(&w, number);
        if (status != want || look(&w) != want_look)
            test_fail(__FILE__, __LINE__, "%s again after allocation %lu: %d, another result", name, at, status);
    }
    if (c->promise == ONE_COUNTS) { /* nobody has accepted anything */
        assert_status(samp_last(w.rows[0]), SAMP_E_EMPTY);
        assert_num(samp_grammar_is_complete(w.rows[1]), 0);
        assert_ok(samp_accept(w.rows[1], '{'));
    }
    end_world(&w);
    if (heap.live != live)
        test_fail(__FILE__, __LINE__, "%s, allocation %lu fails: %ld blocks are lost", name, at, heap.live - live);
    return false;
}

TEST(test_every_allocation)
{
    unsigned long total = 0;
    for (int number = 0; number < N_CALLS; number++) {
        world like;
        memset(&like, 0, sizeof like);
        calls[number].make(&like);
        int want = make_call(&like, number);
        uint64_t want_look = look(&like);
        end_world(&like);
        if (want < 0) test_fail(__FILE__, __LINE__, "%s: %d", calls[number].text, want);
        for (int after = 0; after < 2; after++) {
            unsigned long at = 1;
            while (!attempt(number, at, after, want, want_look)) at++;
            if ((at == 1) != (calls[number].promise == NEVER))
                test_fail(__FILE__, __LINE__, "%s allocates%s", calls[number].text, at == 1 ? " nothing" : "");
            total += at - 1;
        }
    }
    print_message("%d calls, %lu failures\n", (int)N_CALLS, total);
}

/* ---- what never allocates ---- */

/* With no memory at all: the call is as good as ever, for it asks for none. */
#define NONE(function, call) \
    do { \
        unsigned long before_ = heap.mallocs; \
        heap.fail_at = 1, heap.fail_after = true; \
        call; \
        heap.fail_at = 0, heap.fail_after = false; \
        if (heap.mallocs != before_) test_fail(__FILE__, __LINE__, "%s allocates", #function); \
    } while (0)

TEST(test_library_needs_none)
{
    float guided[2];
    NONE(samp_guide, assert_ok(samp_guide(logits, logits + 2, 2, 1.5f, guided)));
    NONE(samp_isa_list, assert_non_null(samp_isa_list(0)));
    NONE(samp_isa_force, assert_ok(samp_isa_force(NULL)));
    NONE(samp_isa_name, assert_non_null(samp_isa_name()));
    NONE(samp_strerror, assert_non_null(samp_strerror(SAMP_E_NOMEM)));
    NONE(samp_error_text, assert_true(samp_error_text(SAMP_E_RANGE, "top_p", NULL, 0) > 0));
    NONE(samp_params_error_text, assert_true(samp_params_error_text(NULL, NULL, 0) > 0));
    NONE(samp_logits_error_text, assert_status(samp_logits_error_text(NULL, 0, NULL, 0), SAMP_E_NULL));
    NONE(samp_version, assert_num(samp_version(), SAMP_VERSION));
    samp_params p;
    const char *field;
    NONE(samp_default_params, p = samp_default_params());
    NONE(samp_default_watermark, a_mark = samp_default_watermark(SAMP_WATERMARK_SYNTHID));
    NONE(samp_watermark_set, assert_ok(samp_watermark_set(&a_mark, "history", "20")));
    NONE(samp_plain_params, p = samp_plain_params());
    p.dry_multiplier = 0.5f;
    p.vocab = &letters;
    NONE(samp_check_params, assert_ok(samp_check_params(&p, &field)));
    samp_random_sample *op = samp_random_sample_init(SAMP_I32, SAMP_F32, N, NULL);
    size_t size = 0;
    NONE(samp_random_sample_workspace_size, size = samp_random_sample_workspace_size(op));
    void *workspace = malloc(size);
    int32_t result = -1;
    NONE(samp_random_sample_run,
         assert_ok(samp_random_sample_run(op, workspace, size, &result, logits, 0.5f, 0.9f, 40, 0.8f)));
    free(workspace);
    NONE(samp_random_sample_free, samp_random_sample_free(op));
}

TEST(test_chains_need_none)
{
    world w;
    char text[40000];
    samp_token prev[8];
    memset(&w, 0, sizeof w);
    a_used_chain(&w);
    samp_sampler *s = w.s, *member = NULL;
    size_t size = 0;
    NONE(samp_chain_get, assert_non_null(samp_chain_get(s, 0)));
    NONE(samp_chain_n, assert_num(samp_chain_n(s), N_STAGES + 2));
    NONE(samp_status, assert_ok(samp_status(s, NULL)));
    NONE(samp_get_seed, samp_get_seed(s));
    NONE(samp_get_position, samp_get_position(s));
    NONE(samp_prev, samp_prev(s, prev, 8));
    NONE(samp_last, samp_last(s));
    NONE(samp_rollback_depth, assert_true(samp_rollback_depth(s) > 0));
    NONE(samp_rollback, assert_ok(samp_rollback(s, 1)));
    samp_free(samp_chain_remove(s, 8)); /* the custom sampler, whose state can't be saved */
    NONE(samp_state_size, size = samp_state_size(s));
    NONE(samp_state_save, assert_ok(samp_state_save(s, text, size)));
    NONE(samp_state_load, assert_ok(samp_state_load(s, text, size)));
    NONE(samp_set_position, assert_ok(samp_set_position(s, 7)));
    NONE(samp_set_rng, assert_ok(samp_set_rng(s, SAMP_RNG_MT19937)));
    NONE(samp_perf, samp_perf(s));
    NONE(samp_perf_reset, samp_perf_reset(s));
    NONE(samp_set_perf_hook, assert_ok(samp_set_perf_hook(s, NULL, NULL)));
    NONE(samp_describe, assert_true(samp_describe(s, text, sizeof text) > 0));
    NONE(samp_name, assert_text(samp_name(s), "chain"));
    NONE(samp_reset, samp_reset(s));
    NONE(samp_chain_remove, member = samp_chain_remove(s, 0));
    NONE(samp_free, (samp_free(member), samp_free(s)));
}

TEST(test_settings_need_none)
{
    world w;
    char text[300];
    memset(&w, 0, sizeof w);
    settings_with_lists(&w);
    NONE(samp_settings_params, assert_non_null(samp_settings_params(w.settings)));
    NONE(samp_settings_get, assert_true(samp_settings_get(w.settings, "temp", text, sizeof text) > 0));
    NONE(samp_settings_takes, assert_true(samp_settings_takes("order", text, sizeof text) > 0));
    NONE(samp_settings_set_vocab, assert_ok(samp_settings_set_vocab(w.settings, N, test_letters, NULL)));
    NONE(samp_settings_use_vocab, assert_ok(samp_settings_use_vocab(w.settings, NULL)));
    NONE(samp_settings_free, samp_settings_free(w.settings));
    samp_vocab *vocab = samp_vocab_init("ab", lengths, 2, NULL, 0, -1, -1, NULL);
    NONE(samp_vocab_free, samp_vocab_free(vocab));
    samp_token drafted[8];
    const samp_beam_params beam = { 1, 0, 1, 1.0f, 0.0f, SAMP_EARLY_HEURISTIC, NULL, 0, 0, false };
    samp_beams *beams = samp_beams_init(&beam, NULL);
    unsigned char beam_bytes[200];
    NONE(samp_beams_check_params, assert_ok(samp_beams_check_params(&beam, NULL)));
    NONE(samp_beams_n_found, assert_num(samp_beams_n_found(beams), 0));
    NONE(samp_beams_found, assert_status(samp_beams_found(beams, 0, NULL, NULL, NULL), SAMP_E_RANGE));
    NONE(samp_beams_state_size, assert_true(samp_beams_state_size(beams) <= sizeof beam_bytes));
    NONE(samp_beams_state_save, assert_ok(samp_beams_state_save(beams, beam_bytes, sizeof beam_bytes)));
    NONE(samp_unmask_count, assert_num(samp_unmask_count(SAMP_UNMASK_EVEN, 5, 0, 2), 3));
    NONE(samp_beams_free, samp_beams_free(beams));
    samp_ngram *ngram = samp_ngram_init(1, 2, 8);
    NONE(samp_ngram_accept, assert_ok(samp_ngram_accept(ngram, 1)));
    NONE(samp_ngram_draft, assert_num(samp_ngram_draft(ngram, drafted, 8), 0));
    NONE(samp_ngram_rollback, assert_ok(samp_ngram_rollback(ngram, 1)));
    NONE(samp_ngram_reset, samp_ngram_reset(ngram));
    NONE(samp_ngram_free, samp_ngram_free(ngram));
    NONE(samp_child_seed, assert_true(samp_child_seed(1, 2) != samp_child_seed(1, 3)));
}

TEST(test_caches_need_none)
{
    world w;
    samp_kv_params p = kv_params();
    char bytes[4096];
    float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    uint32_t bits[8];
    int32_t pos = 5;
    uint64_t seq = 1;
    samp_kv_batch one = { 1, &pos, &seq };
    size_t size = 0;
    memset(&w, 0, sizeof w);
    a_cache(&w);
    NONE(samp_kv_check_params, assert_ok(samp_kv_check_params(&p, NULL)));
    NONE(samp_kv_size, assert_true(samp_kv_size(&p, NULL, NULL) > 0));
    NONE(samp_kv_find_slot, assert_ok(samp_kv_find_slot(w.kv, &one, SAMP_KV_SCATTERED, NULL)));
    NONE(samp_kv_mask, assert_ok(samp_kv_mask(w.kv, &one, bits, NULL)));
    NONE(samp_kv_put, assert_ok(samp_kv_put(w.kv, 1, 2, x, x)));
    NONE(samp_kv_get, assert_ok(samp_kv_get(w.kv, 1, 2, x, x)));
    NONE(samp_kv_keys, assert_non_null(samp_kv_keys(w.kv, 0)));
    NONE(samp_kv_values, assert_non_null(samp_kv_values(w.kv, 0)));
    NONE(samp_kv_seq_rm, assert_ok(samp_kv_seq_rm(w.kv, 0, 1, 2)));
    NONE(samp_kv_seq_cp, assert_ok(samp_kv_seq_cp(w.kv, 0, 2, -1, -1)));
    NONE(samp_kv_seq_add, assert_ok(samp_kv_seq_add(w.kv, 0, 3, -1, 2)));
    NONE(samp_kv_seq_div, assert_ok(samp_kv_seq_div(w.kv, 0, 3, -1, 2)));
    NONE(samp_kv_seq_pos_min, assert_num(samp_kv_seq_pos_min(w.kv, 0), 0));
    NONE(samp_kv_seq_pos_max, assert_true(samp_kv_seq_pos_max(w.kv, 0) > 0));
    NONE(samp_kv_defrag, assert_ok(samp_kv_defrag(w.kv)));
    NONE(samp_kv_update, assert_ok(samp_kv_update(w.kv)));
    NONE(samp_kv_state_size, size = samp_kv_state_size(w.kv, 0));
    NONE(samp_kv_state_save, assert_ok(samp_kv_state_save(w.kv, 0, bytes, size)));
    NONE(samp_kv_state_load, assert_ok(samp_kv_state_load(w.kv, 0, bytes, size)));
    NONE(samp_kv_seq_keep, assert_ok(samp_kv_seq_keep(w.kv, 0)));
    NONE(samp_kv_clear, samp_kv_clear(w.kv));
    NONE(samp_kv_free, samp_kv_free(w.kv));
}

TEST(test_others_need_none)
{
    world w;
    char text[300];
    memset(&w, 0, sizeof w);
    a_llama_sampler(&w);
    a_llama_vocabulary(&w);
    NONE(samp_llama_chain, assert_non_null(samp_llama_chain(w.llama)));
    NONE(samp_llama_vocab_free, samp_llama_vocab_free(w.vocab));
    llama_free(w.llama);

    a_chain_with_constraints(&w);
    NONE(samp_rewind_length, assert_true(samp_rewind_length(w.s) > 0));
    NONE(samp_thinking_left, assert_num(samp_thinking_left(w.s), 1));
    NONE(samp_thinking_now, assert_num(samp_thinking_now(w.s), SAMP_THINKING_OPEN));
    NONE(samp_thinking_used, assert_num(samp_thinking_used(w.s), SAMP_E_UNSUPPORTED));
    NONE(samp_thinking_end, assert_ok(samp_thinking_end(w.s)));
    NONE(samp_loop_length, assert_num(samp_loop_length(w.s), SAMP_E_UNSUPPORTED));
    NONE(samp_schedule_holds, assert_num(samp_schedule_holds(w.s), SAMP_E_UNSUPPORTED));
    NONE(samp_rollback, assert_ok(samp_rollback(w.s, samp_rewind_length(w.s))));
    samp_free(w.s);
    a_chain_with_marks(&w);
    assert_true(samp_sample(w.s, logits, N) >= 0);
    for (int i = 0; i < 30; i++) NONE(samp_sample, assert_true(samp_sample(w.s, logits, N) >= 0));
    NONE(samp_rollback, assert_ok(samp_rollback(w.s, 20)));
    samp_free(w.s);
    a_lazy_grammar(&w);
    NONE(samp_grammar_is_awaiting, assert_num(samp_grammar_is_awaiting(w.s), 1));
    NONE(samp_grammar_is_complete, assert_num(samp_grammar_is_complete(w.s), 0));
    NONE(samp_set_grammar_limits, assert_ok(samp_set_grammar_limits(w.s, 1 << 20, 1 << 20)));
    samp_grammar_usage usage;
    NONE(samp_grammar_stats, assert_ok(samp_grammar_stats(w.s, &usage)));
    samp_free(w.s);
    samp_grammar *g = samp_grammar_init(SAMP_GRAMMAR_GBNF, "root ::= \"a\"", NULL, NULL);
    NONE(samp_grammar_free, samp_grammar_free(g));
    samp_vocab_index *index = samp_vocab_index_init(&small_vocabulary, NULL);
    NONE(samp_vocab_index_size, assert_true(samp_vocab_index_size(index) > 0));
    NONE(samp_vocab_index_save, assert_ok(samp_vocab_index_save(index, index_bytes, samp_vocab_index_size(index))));
    NONE(samp_vocab_index_free, samp_vocab_index_free(index));

    samp_logits slice = batch_logits(1);
    samp_token out[N_ROWS];
    char other[2048];
    void *bytes;
    size_t n;
    memset(&w, 0, sizeof w);
    a_shard(&w);
    assert_ok(samp_shard_begin(w.shard, w.rows, &slice, out));
    NONE(samp_shard_message, bytes = samp_shard_message(w.shard, &n));
    assert_true(n <= sizeof other);
    memcpy(other, bytes, n);
    NONE(samp_shard_merge, samp_shard_merge(other, bytes, n));
    NONE(samp_shard_take, assert_ok(samp_shard_take(w.shard)));
    NONE(samp_shard_drop, samp_shard_drop(w.shard, SAMP_E_DEVICE));
    assert_status(out[0], SAMP_E_DEVICE);
    NONE(samp_shard_free, samp_shard_free(w.shard));
    w.shard = NULL;
    end_world(&w);

    const char *shown;
    int32_t token;
    memset(&w, 0, sizeof w);
    a_text(&w);
    NONE(samp_text_push, assert_num(samp_text_push(w.text, 't', &shown, &n), SAMP_TEXT_GOES_ON));
    NONE(samp_text_flush, assert_ok(samp_text_flush(w.text, &shown, &n)));
    NONE(samp_text_rollback, assert_ok(samp_text_rollback(w.text, 1)));
    NONE(samp_text_stop, assert_num(samp_text_stop(w.text), -1));
    NONE(samp_text_stop_at, assert_status(samp_text_stop_at(w.text, &token, &n), SAMP_E_EMPTY));
    NONE(samp_text_reset, samp_text_reset(w.text));
    NONE(samp_text_free, samp_text_free(w.text));
    w.text = NULL;
    end_world(&w);

    samp_gpu_config config = gpu_config(SAMP_GPU_HOST);
    memset(&w, 0, sizeof w);
    a_gpu(&w);
    NONE(samp_gpu_available, samp_gpu_available());
    NONE(samp_gpu_size, assert_true(samp_gpu_size(&config) > 0));
    NONE(samp_gpu_device_name, assert_text(samp_gpu_device_name(w.gpu), "host kernels"));
    NONE(samp_gpu_plan, assert_true(samp_gpu_plan(w.gpu, w.rows[0], text, sizeof text) > 0));
    NONE(samp_gpu_perf, samp_gpu_perf(w.gpu));
    NONE(samp_gpu_free, samp_gpu_free(w.gpu));
    w.gpu = NULL;
    end_world(&w);
}

/* ---- */

static int set_up(void **state)
{
    (void)state;
    for (int r = 0; r < N_ROWS; r++) test_row(row_data[r], N, (uint64_t)r, 2.0, 0);
    test_row(logits, LONG, 9, 3.0, 1);
    json = samp_grammar_init(SAMP_GRAMMAR_GBNF, JSON_GBNF, NULL, NULL);
    vocab_index = samp_vocab_index_init(&small_vocabulary, NULL);
    index_bytes = malloc(samp_vocab_index_size(vocab_index));
    samp_sampler *s = samp_init_grammar(vocab_index, json);
    for (const char *p = "{\"a\":[1,"; *p; p++) assert_ok(samp_accept(s, *p));
    saved_size = samp_state_size(s);
    assert_ok(samp_state_save(s, saved, sizeof saved));
    samp_free(s);
    return samp_vocab_index_save(vocab_index, index_bytes, samp_vocab_index_size(vocab_index));
}

static int tear_down(void **state)
{
    (void)state;
    samp_grammar_free(json);
    samp_vocab_index_free(vocab_index);
    free(index_bytes);
    return heap.live != 0;
}

int main(int argc, char **argv)
{
    heap.fill = true;
    return test_main(argc, argv, set_up, tear_down);
}
