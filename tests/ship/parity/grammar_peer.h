/* grammar_peer.h - the part of libllama's C API that has to do with grammars and vocabularies, for what compares and
 * what times them. Of the release that llama_peer.h names. */
#ifndef GRAMMAR_PEER_H
#define GRAMMAR_PEER_H

#include "llama_peer.h"

typedef struct {
    unsigned char bytes[1024]; /* llama_model_params, of which only the vocabulary's flag is known here */
} peer_model_params;
enum { PEER_VOCAB_ONLY = 72 };

/* clang-format off */
#define GRAMMAR_FUNCTIONS(X) \
    X(log_set,        "llama_log_set",                  void, (peer_log_fn, void *)) \
    X(model_params,   "llama_model_default_params",     peer_model_params, (void)) \
    X(load,           "llama_model_load_from_file",     void *, (const char *, peer_model_params)) \
    X(vocab,          "llama_model_get_vocab",          const void *, (const void *)) \
    X(n_tokens,       "llama_vocab_n_tokens",           int32_t, (const void *)) \
    X(is_eog,         "llama_vocab_is_eog",             bool, (const void *, int32_t)) \
    X(piece,          "llama_token_to_piece",           int32_t, (const void *, int32_t, char *, int32_t, int32_t, bool)) \
    X(tokenize,       "llama_tokenize",                 int32_t, (const void *, const char *, int32_t, int32_t *, int32_t, bool, bool)) \
    X(init_grammar,   "llama_sampler_init_grammar",     peer_sampler *, (const void *, const char *, const char *)) \
    X(apply,          "llama_sampler_apply",            void, (peer_sampler *, peer_array *)) \
    X(accept,         "llama_sampler_accept",           void, (peer_sampler *, int32_t)) \
    X(free,           "llama_sampler_free",             void, (peer_sampler *))
/* clang-format on */

static struct {
#define GRAMMAR_MEMBER(member, symbol, result, args) result(*member) args;
    GRAMMAR_FUNCTIONS(GRAMMAR_MEMBER)
#undef GRAMMAR_MEMBER
} peer;

static inline bool load_peer(const char *path)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL), *sym;
    if (!lib) return false;
#define GRAMMAR_LOAD(member, symbol, result, args) \
    sym = dlsym(lib, symbol); \
    if (!sym) return false; \
    memcpy(&peer.member, &sym, sizeof sym);
    GRAMMAR_FUNCTIONS(GRAMMAR_LOAD)
#undef GRAMMAR_LOAD
    peer.log_set(peer_no_log, NULL);
    return true;
}

/* The vocabulary of a GGUF file, whose weights are not read; NULL if it can't be loaded. */
static inline const void *peer_load_vocab(const char *gguf)
{
    peer_model_params params = peer.model_params();
    params.bytes[PEER_VOCAB_ONLY] = 1;
    void *model = peer.load(gguf, params);
    return model ? peer.vocab(model) : NULL;
}

#endif /* GRAMMAR_PEER_H */
