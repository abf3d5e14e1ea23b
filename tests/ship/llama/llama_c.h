/* llama_c.h - the part of llama.cpp's C API that the tests and the benchmark call, declared in our own words: the npm
 * package has the libraries and no header. Of libllama 0.5; but for penalties and dry older ones agree.
 *
 * Parameters of models and contexts are passed by value and differ from version to version. Here they are a block larger
 * than any of them: filled by the library, and handed back. */
#ifndef LLAMA_C_H
#define LLAMA_C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct llama_model llama_model;
typedef struct llama_context llama_context;
typedef struct llama_vocab llama_vocab;
typedef struct llama_memory_i llama_memory;
typedef struct llama_sampler llama_sampler;

typedef struct {
    int32_t id;
    float logit, p;
} llama_data;
typedef struct {
    llama_data *data;
    size_t size;
    int64_t selected;
    bool sorted;
} llama_array;
typedef struct {
    int32_t token;
    float bias;
} llama_bias;
typedef struct {
    bool no_perf;
} llama_chain_params;
typedef struct {
    double ms;
    int32_t n_sample;
} llama_perf;
typedef struct {
    uint32_t n_ctx, n_batch, n_ubatch, n_seq_max; /* a context's begin with these */
    char more[1008];
} llama_params;
typedef struct {
    int32_t n_tokens;
    int32_t *token;
    void *more[5];
} llama_batch;

/* A sampler's functions; the device's are of no concern here. A table with fewer of them is an older version's. */
typedef struct {
    const char *(*name)(const llama_sampler *);
    void (*accept)(llama_sampler *, int32_t);
    void (*apply)(llama_sampler *, llama_array *);
    void (*reset)(llama_sampler *);
    llama_sampler *(*clone)(const llama_sampler *);
    void (*free)(llama_sampler *);
} llama_six;
typedef struct {
    llama_six six;
    void (*device[4])(void);
} llama_ten;
typedef struct {
    llama_six six;
    void (*device[6])(void);
} llama_twelve;
struct llama_sampler {
    const llama_six *iface;
    void *ctx;
};

#define LLAMA_RANDOM_SEED 4294967295u

void llama_log_set(void (*log)(int level, const char *text, void *user), void *user);
void ggml_backend_load_all_from_path(const char *folder);
void llama_backend_free(void);
llama_params llama_model_default_params(void);
llama_params llama_context_default_params(void);
llama_model *llama_model_load_from_file(const char *path, llama_params);
llama_context *llama_init_from_model(llama_model *, llama_params);
void llama_free(llama_context *);
void llama_model_free(llama_model *);
void llama_set_n_threads(llama_context *, int32_t n, int32_t n_batch);
const llama_model *llama_get_model(const llama_context *);
const llama_vocab *llama_model_get_vocab(const llama_model *);
int32_t llama_vocab_n_tokens(const llama_vocab *);
int32_t llama_tokenize(const llama_vocab *, const char *, int32_t n_text, int32_t *, int32_t n, bool special,
                       bool parse);
llama_memory *llama_get_memory(const llama_context *);
void llama_memory_clear(llama_memory *, bool data);
llama_batch llama_batch_get_one(int32_t *tokens, int32_t n);
int32_t llama_decode(llama_context *, llama_batch);
float *llama_get_logits_ith(llama_context *, int32_t);

llama_sampler *llama_sampler_init(const void *iface, void *ctx);
const char *llama_sampler_name(const llama_sampler *);
void llama_sampler_accept(llama_sampler *, int32_t);
void llama_sampler_apply(llama_sampler *, llama_array *);
void llama_sampler_reset(llama_sampler *);
llama_sampler *llama_sampler_clone(const llama_sampler *);
void llama_sampler_copy(const llama_sampler *, llama_sampler *);
void llama_sampler_free(llama_sampler *);
uint32_t llama_sampler_get_seed(const llama_sampler *);
int32_t llama_sampler_sample(llama_sampler *, llama_context *, int32_t);
llama_chain_params llama_sampler_chain_default_params(void);
llama_sampler *llama_sampler_chain_init(llama_chain_params);
void llama_sampler_chain_add(llama_sampler *chain, llama_sampler *);
llama_sampler *llama_sampler_chain_get(llama_sampler *chain, int32_t);
llama_sampler *llama_sampler_chain_remove(llama_sampler *chain, int32_t);
int llama_sampler_chain_n(const llama_sampler *chain);
llama_perf llama_perf_sampler(const llama_sampler *chain);
void llama_perf_sampler_reset(llama_sampler *chain);

llama_sampler *llama_sampler_init_greedy(void);
llama_sampler *llama_sampler_init_dist(uint32_t seed);
llama_sampler *llama_sampler_init_top_k(int32_t);
llama_sampler *llama_sampler_init_top_p(float, size_t min_keep);
llama_sampler *llama_sampler_init_min_p(float, size_t min_keep);
llama_sampler *llama_sampler_init_typical(float, size_t min_keep);
llama_sampler *llama_sampler_init_temp(float);
llama_sampler *llama_sampler_init_temp_ext(float t, float delta, float exponent);
llama_sampler *llama_sampler_init_xtc(float p, float t, size_t min_keep, uint32_t seed);
llama_sampler *llama_sampler_init_top_n_sigma(float);
llama_sampler *llama_sampler_init_mirostat(int32_t n_vocab, uint32_t seed, float tau, float eta, int32_t m);
llama_sampler *llama_sampler_init_mirostat_v2(uint32_t seed, float tau, float eta);
llama_sampler *llama_sampler_init_adaptive_p(float target, float decay, uint32_t seed);
llama_sampler *llama_sampler_init_penalties(int32_t n_vocab, int32_t last_n, float repeat, float freq, float present);
llama_sampler *llama_sampler_init_dry(const llama_vocab *, float multiplier, float base, int32_t allowed_length,
                                      int32_t last_n, const char **breakers, size_t n_breakers);
llama_sampler *llama_sampler_init_logit_bias(int32_t n_vocab, int32_t n, const llama_bias *);
llama_sampler *llama_sampler_init_grammar(const llama_vocab *, const char *text, const char *root);
llama_sampler *llama_sampler_init_grammar_lazy(const llama_vocab *, const char *text, const char *root,
                                               const char **words, size_t n_words, const int32_t *tokens, size_t n);
llama_sampler *llama_sampler_init_grammar_lazy_patterns(const llama_vocab *, const char *text, const char *root,
                                                        const char **patterns, size_t n_patterns,
                                                        const int32_t *tokens, size_t n);
llama_sampler *llama_sampler_init_infill(const llama_vocab *);

/* C++: dry's breakers as token sequences, a std::vector of vectors; libllama makes a dry of its own in it. */
llama_sampler *
llama_dry_testing(float multiplier, float base, int32_t allowed_length, int32_t last_n,
                  void *vector) __asm__("_Z30llama_sampler_init_dry_testingffiiRKSt6vectorIS_IiSaIiEESaIS1_EE");

/* ---- what every program here begins with ---- */

static inline void llama_quiet(int level, const char *text, void *user)
{
    (void)user;
    if (level == 4) fputs(text, stderr); /* errors; 5 goes on with a line before, or with dots */
}

/* A model and a context of n_ctx tokens, on one thread. bins: where the libraries are. */
static inline llama_context *llama_open(const char *bins, const char *path, uint32_t n_ctx)
{
    llama_log_set(llama_quiet, NULL);
    ggml_backend_load_all_from_path(bins);
    llama_model *model = llama_model_load_from_file(path, llama_model_default_params());
    llama_params params = llama_context_default_params();
    params.n_ctx = n_ctx;
    params.n_batch = params.n_ubatch = 64;
    llama_context *ctx = model ? llama_init_from_model(model, params) : NULL;
    if (!ctx) {
        fprintf(stderr, "cannot load %s\n", path);
        exit(1);
    }
    llama_set_n_threads(ctx, 1, 1);
    return ctx;
}

static inline void llama_close(llama_context *ctx)
{
    llama_model *model = (llama_model *)(uintptr_t)llama_get_model(ctx);
    llama_free(ctx);
    llama_model_free(model);
    llama_backend_free();
}

static inline void llama_read(llama_context *ctx, int32_t *tokens, int32_t n)
{
    if (llama_decode(ctx, llama_batch_get_one(tokens, n)) == 0) return;
    fprintf(stderr, "llama_decode failed\n");
    exit(1);
}

/* Forget all, and read a text; how many tokens it has. */
static inline int32_t llama_begin(llama_context *ctx, const char *text)
{
    int32_t tokens[64];
    llama_memory_clear(llama_get_memory(ctx), true);
    int32_t n = llama_tokenize(llama_model_get_vocab(llama_get_model(ctx)), text, (int32_t)strlen(text), tokens, 64,
                               true, false);
    llama_read(ctx, tokens, n);
    return n;
}

static inline llama_sampler *llama_chain_of(llama_sampler *const *members, int n)
{
    llama_sampler *chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
    for (int i = 0; i < n; i++) llama_sampler_chain_add(chain, members[i]);
    return chain;
}
/* llama_chain(a, b, ...): of these members */
#define llama_chain(...) \
    llama_chain_of((llama_sampler *[]){ __VA_ARGS__ }, \
                   (int)(sizeof((llama_sampler *[]){ __VA_ARGS__ }) / sizeof(void *)))

#endif /* LLAMA_C_H */
