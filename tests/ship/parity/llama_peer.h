/* llama_peer.h - the part of llama.cpp's C API that the comparison calls, declared in our own words.
 *
 * The peer is the libllama of a pinned release (see fetch.sh), loaded with dlopen at run time: no header or
 * source of llama.cpp is needed to build this. Argument types and order were checked against that release's
 * machine code; other releases differ (penalties took no n_vocab before, dry took n_ctx_train), so the
 * version is part of the contract.
 */
#ifndef LLAMA_PEER_H
#define LLAMA_PEER_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct peer_sampler peer_sampler; /* opaque */

typedef struct {
    int32_t id;
    float logit;
    float p;
} peer_data;
typedef struct {
    peer_data *data;
    size_t size;
    int64_t selected;
    bool sorted;
} peer_array;
typedef struct {
    int32_t token;
    float bias;
} peer_bias;
typedef struct {
    bool no_perf;
} peer_chain_params; /* passed and returned by value */

/* std::vector<T> as libstdc++ lays it out. Two of the peer's functions take C++ objects by const reference,
 * and that is a pointer to this: enough to call them from C. */
typedef struct {
    void *begin, *end, *end_of_storage;
} peer_vector;

typedef void (*peer_log_fn)(int level, const char *text, void *user);

/* clang-format off */
/* Every function used: name in this struct, symbol in the library, result, arguments. */
#define PEER_FUNCTIONS(X) \
    X(log_set,             "llama_log_set",                      void, (peer_log_fn, void *)) \
    X(chain_params,        "llama_sampler_chain_default_params", peer_chain_params, (void)) \
    X(chain_init,          "llama_sampler_chain_init",           peer_sampler *, (peer_chain_params)) \
    X(chain_add,           "llama_sampler_chain_add",            void, (peer_sampler *, peer_sampler *)) \
    X(chain_get,           "llama_sampler_chain_get",            peer_sampler *, (peer_sampler *, int32_t)) \
    X(chain_n,             "llama_sampler_chain_n",              int, (const peer_sampler *)) \
    X(apply,               "llama_sampler_apply",                void, (peer_sampler *, peer_array *)) \
    X(accept,              "llama_sampler_accept",               void, (peer_sampler *, int32_t)) \
    X(reset,               "llama_sampler_reset",                void, (peer_sampler *)) \
    X(clone,               "llama_sampler_clone",                peer_sampler *, (const peer_sampler *)) \
    X(free,                "llama_sampler_free",                 void, (peer_sampler *)) \
    X(init_greedy,         "llama_sampler_init_greedy",          peer_sampler *, (void)) \
    X(init_dist,           "llama_sampler_init_dist",            peer_sampler *, (uint32_t seed)) \
    X(init_top_k,          "llama_sampler_init_top_k",           peer_sampler *, (int32_t k)) \
    X(init_top_p,          "llama_sampler_init_top_p",           peer_sampler *, (float p, size_t min_keep)) \
    X(init_min_p,          "llama_sampler_init_min_p",           peer_sampler *, (float p, size_t min_keep)) \
    X(init_typical,        "llama_sampler_init_typical",         peer_sampler *, (float p, size_t min_keep)) \
    X(init_temp,           "llama_sampler_init_temp",            peer_sampler *, (float t)) \
    X(init_temp_ext,       "llama_sampler_init_temp_ext",        peer_sampler *, \
                            (float t, float delta, float exponent)) \
    X(init_xtc,            "llama_sampler_init_xtc",             peer_sampler *, \
                            (float p, float t, size_t min_keep, uint32_t seed)) \
    X(init_top_n_sigma,    "llama_sampler_init_top_n_sigma",     peer_sampler *, (float n)) \
    X(init_mirostat,       "llama_sampler_init_mirostat",        peer_sampler *, \
                            (int32_t n_vocab, uint32_t seed, float tau, float eta, int32_t m)) \
    X(init_mirostat_v2,    "llama_sampler_init_mirostat_v2",     peer_sampler *, \
                            (uint32_t seed, float tau, float eta)) \
    X(init_adaptive_p,     "llama_sampler_init_adaptive_p",      peer_sampler *, \
                            (float target, float decay, uint32_t seed)) \
    X(init_penalties,      "llama_sampler_init_penalties",       peer_sampler *, \
                            (int32_t n_vocab, int32_t last_n, float repeat, float freq, float present)) \
    X(init_logit_bias,     "llama_sampler_init_logit_bias",      peer_sampler *, \
                            (int32_t n_vocab, int32_t n, const peer_bias *)) \
    /* dry without breakers; with values that switch it off it needs no vocabulary */ \
    X(init_dry,            "llama_sampler_init_dry",             peer_sampler *, \
                            (const void *vocab, float multiplier, float base, int32_t allowed_length, \
                             int32_t last_n, const char **breakers, size_t n_breakers)) \
    /* dry for tests, C++: the breakers come as token sequences, a std::vector<std::vector<int>> */ \
    X(init_dry_testing,    "_Z30llama_sampler_init_dry_testingffiiRKSt6vectorIS_IiSaIiEESaIS1_EE", \
                            peer_sampler *, (float multiplier, float base, int32_t allowed_length, \
                                             int32_t last_n, const peer_vector *))
/* clang-format on */

typedef struct llama_peer {
#define PEER_MEMBER(member, symbol, result, args) result(*member) args;
    PEER_FUNCTIONS(PEER_MEMBER)
#undef PEER_MEMBER
} llama_peer;

static inline void peer_no_log(int level, const char *text, void *user)
{
    (void)level;
    (void)text;
    (void)user;
}

/* Load the library and all functions. False, with a line on stderr, if either fails. */
static inline bool peer_load(llama_peer *peer, const char *path)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *sym;
    if (!lib) {
        fprintf(stderr, "cannot load %s: %s\n", path, dlerror());
        return false;
    }
    /* clang-format off */
    /* A copy, because ISO C has no cast from an object pointer to a function pointer. */
#define PEER_LOAD(member, symbol, result, args) \
    sym = dlsym(lib, symbol); \
    if (!sym) { \
        fprintf(stderr, "%s has no %s: another release?\n", path, symbol); \
        return false; \
    } \
    memcpy(&peer->member, &sym, sizeof sym);
    PEER_FUNCTIONS(PEER_LOAD)
#undef PEER_LOAD
    /* clang-format on */
    peer->log_set(peer_no_log, NULL);
    return true;
}

#endif /* LLAMA_PEER_H */
