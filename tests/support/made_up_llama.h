/* made_up_llama.h - the few functions of llama.cpp that sampling.h calls, on a vocabulary of six words: for tests of
   SAMPLING_LLAMA without llama.cpp. Include it behind the implementation. LLAMA_MALLOC, LLAMA_FREE: its heap. */
#ifndef MADE_UP_LLAMA_H
#define MADE_UP_LLAMA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef LLAMA_MALLOC
#define LLAMA_MALLOC(n) malloc(n)
#define LLAMA_FREE(p)   free(p)
#endif

typedef int32_t llama_token;
struct llama_sampler_i;
struct llama_sampler *llama_sampler_init(struct llama_sampler_i *iface, void *ctx);
float *llama_get_logits_ith(struct llama_context *ctx, int32_t i);
const struct llama_model *llama_get_model(const struct llama_context *ctx);
const struct llama_vocab *llama_model_get_vocab(const struct llama_model *model);
int32_t llama_vocab_n_tokens(const struct llama_vocab *vocab);
bool llama_vocab_is_eog(const struct llama_vocab *vocab, llama_token token);
llama_token llama_vocab_eos(const struct llama_vocab *vocab);
llama_token llama_vocab_eot(const struct llama_vocab *vocab);
int32_t llama_token_to_piece(const struct llama_vocab *vocab, llama_token token, char *buf, int32_t length,
                             int32_t lstrip, bool special);
int32_t llama_tokenize(const struct llama_vocab *vocab, const char *text, int32_t text_len, llama_token *tokens,
                       int32_t n_tokens_max, bool add_special, bool parse_special);

/* What sampling.h never asks for. */
static void llama_must(bool condition)
{
    if (condition) return;
    fprintf(stderr, "llama.cpp is asked for something else than it should be\n");
    abort();
}

/* The three layouts of a sampler's functions: what a program of each version reads. */
typedef struct {
    const char *(*name)(const struct llama_sampler *);
    void (*accept)(struct llama_sampler *, llama_token);
    void (*apply)(struct llama_sampler *, samp_token_data_array *);
    void (*reset)(struct llama_sampler *);
    struct llama_sampler *(*clone)(const struct llama_sampler *);
    void (*free)(struct llama_sampler *);
} layout_6;
typedef struct {
    layout_6 first;
    bool (*backend_init)(struct llama_sampler *, void *);
    void (*backend_accept)(struct llama_sampler *, void *, void *, void *);
    void (*backend_apply)(struct llama_sampler *, void *, void *, void *);
    void (*backend_set_input)(struct llama_sampler *);
} layout_10;
typedef struct {
    layout_10 first;
    void (*backend_reset)(struct llama_sampler *);
    void (*copy_state)(const struct llama_sampler *, struct llama_sampler *);
} layout_12;

struct llama_sampler_i {
    layout_12 functions;
};
struct llama_sampler {
    struct llama_sampler_i *iface;
    void *ctx;
};

struct llama_vocab {
    int n;
    const char *word[6];
};
struct llama_model {
    struct llama_vocab vocab;
};
struct llama_context {
    struct llama_model *model;
    float *logits; /* of output -1; there is no other */
};

static struct llama_model words = { { 6, { "", "a", "bc", " the", "<end>", "def" } } }; /* 0 and 4: control tokens */

static int n_samplers;
static bool no_room; /* for another */

struct llama_sampler *llama_sampler_init(struct llama_sampler_i *iface, void *ctx)
{
    struct llama_sampler *s = no_room ? NULL : (struct llama_sampler *)LLAMA_MALLOC(sizeof *s);
    if (!s) return NULL;
    s->iface = iface;
    s->ctx = ctx;
    n_samplers++;
    return s;
}

/* llama_sampler_free of the first version; the later ones do the same. */
static inline void llama_free(struct llama_sampler *s)
{
    ((const layout_6 *)(const void *)s->iface)->free(s);
    LLAMA_FREE(s);
    n_samplers--;
}

float *llama_get_logits_ith(struct llama_context *ctx, int32_t i) { return i == -1 ? ctx->logits : NULL; }
const struct llama_model *llama_get_model(const struct llama_context *ctx) { return ctx->model; }
const struct llama_vocab *llama_model_get_vocab(const struct llama_model *model) { return &model->vocab; }
int32_t llama_vocab_n_tokens(const struct llama_vocab *vocab) { return vocab->n; }
bool llama_vocab_is_eog(const struct llama_vocab *vocab, llama_token token)
{
    return vocab && (token == 0 || token == 4);
}
llama_token llama_vocab_eos(const struct llama_vocab *vocab) { return vocab ? 4 : -1; }
llama_token llama_vocab_eot(const struct llama_vocab *vocab) { return vocab ? -1 : 0; }

int32_t llama_token_to_piece(const struct llama_vocab *vocab, llama_token token, char *buf, int32_t length,
                             int32_t lstrip, bool special)
{
    const char *word = vocab->word[token];
    int32_t n = token == 4 && !special ? 0 : (int32_t)strlen(word);
    llama_must(lstrip == 0);
    if (n > length) return -n;
    if (n > 0) memcpy(buf, word, (size_t)n);
    return n;
}

/* A token for each letter: 1, 2, ...; and if control tokens are asked for, "<def>" is the last word. */
int32_t llama_tokenize(const struct llama_vocab *vocab, const char *text, int32_t text_len, llama_token *tokens,
                       int32_t n_tokens_max, bool add_special, bool parse_special)
{
    llama_must(vocab == &words.vocab);
    llama_must(!add_special && n_tokens_max > 0);
    if (parse_special && text_len == 5 && memcmp(text, "<def>", 5) == 0) return tokens[0] = 5, 1;
    if (text_len > n_tokens_max) return -text_len;
    for (int32_t i = 0; i < text_len; i++) tokens[i] = text[i] - 'a' + 1;
    return text_len;
}

#endif /* MADE_UP_LLAMA_H */
