/* llama_standin.c - llama.cpp's sampler functions on top of sampling.h, for programs that are built already:
 *
 *     make llama
 *     LD_PRELOAD=build/libsampling_llama.so program ...
 *
 * The dynamic linker finds llama_sampler_* here before it finds them in libllama. A program makes its samplers and chains
 * as before and gets objects that llama.cpp's own functions accept too; they sample with this library, under
 * SAMP_RNG_MT19937, so the tokens are those of llama.cpp (0.5). llama_sampler_sample goes straight from the logits,
 * llama_sampler_apply works on the caller's array.
 *
 * What passes through to the original, found with dlsym:
 *   - samplers that this library does not know: those of a later version, the user's own. In a chain they stand between
 *     ours, which goes step by step around them.
 *   - grammars that it refuses (llama.cpp then tells why), and triggers with lookaround, \\b or references back.
 *   - values that mean something to llama.cpp and nothing here (top_p NaN, a penalty of 0): that sampler is llama.cpp's.
 *   - penalties and dry where the symbols of libllama do not tell what arguments they take (arguments_known).
 *   - samplers that give other candidates or tokens in this libllama than in 0.5: before the first one is made each that
 *     needs no vocabulary is compared over a few rows. (Grammars and infill are not.)
 *   - what libllama calls itself: to clone its samplers it calls the functions that make them, and looks inside.
 *
 * SAMP_LLAMA_REPORT=1 prints at exit, to stderr:
 *
 *     libsampling_llama: tokens N fast N steps N passed-through N
 *     libsampling_llama: dist is this libllama's own, which chooses other tokens
 *
 * the tokens that this library chose; those of them straight from the logits, and those sampler by sampler over an array;
 * and how often a sampler of the original's or the user's own was applied; then a line for each sampler that the
 * comparison has left to libllama.
 *
 * For 64 bits of Linux; tried with glibc on x86-64. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMP_LLAMA_SYMBOL(name) /* found at run time: see originals */
#define SAMPLING_LLAMA
#define SAMPLING_GRAMMAR
#define SAMPLING_STATIC
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"

#define EXPORT         __attribute__((visibility("default")))
#define RANDOM_SEED    4294967295u /* LLAMA_DEFAULT_SEED: draw one */
#define NO_TOKEN       (-1)        /* LLAMA_TOKEN_NULL */
#define LONGEST_WINDOW (1 << 22)   /* of dry: no other bound than last_n */

typedef struct llama_sampler llama_sampler;

/* llama_sampler_chain_params, passed by value: one bool, and room for what a later version may add. */
typedef struct chain_params {
    uint64_t low, high;
} chain_params;
typedef struct perf_data {
    double ms;
    int32_t n_sample;
} perf_data;

/* ==== The originals ==============================================================================================
 * Behind this library in the search order; or, where libllama came by dlopen and is nobody's global symbol, in whatever
 * loaded object has it. */

/* clang-format off */
/* Those whose calls pass through or are needed here: member, name behind "llama_", result, arguments. What an older
   version lacks is NULL. */
#define ORIGINALS(X) \
    X(init,                  sampler_init, llama_sampler *, (const samp_llama_i *, void *)) \
    X(name,                  sampler_name, const char *, (const llama_sampler *)) \
    X(accept,                sampler_accept, void, (llama_sampler *, samp_token)) \
    X(apply,                 sampler_apply, void, (llama_sampler *, samp_token_data_array *)) \
    X(reset,                 sampler_reset, void, (llama_sampler *)) \
    X(clone,                 sampler_clone, llama_sampler *, (const llama_sampler *)) \
    X(copy,                  sampler_copy, void, (const llama_sampler *, llama_sampler *)) \
    X(free,                  sampler_free, void, (llama_sampler *)) \
    X(sample,                sampler_sample, samp_token, (llama_sampler *, struct llama_context *, int32_t)) \
    X(get_seed,              sampler_get_seed, uint32_t, (const llama_sampler *)) \
    X(chain_default_params,  sampler_chain_default_params, chain_params, (void)) \
    X(chain_init,            sampler_chain_init, llama_sampler *, (chain_params)) \
    X(chain_add,             sampler_chain_add, void, (llama_sampler *, llama_sampler *)) \
    X(chain_get,             sampler_chain_get, llama_sampler *, (llama_sampler *, int32_t)) \
    X(chain_remove,          sampler_chain_remove, llama_sampler *, (llama_sampler *, int32_t)) \
    X(chain_n,               sampler_chain_n, int32_t, (const llama_sampler *)) \
    X(perf,                  perf_sampler, perf_data, (const llama_sampler *)) \
    X(perf_print,            perf_sampler_print, void, (const llama_sampler *)) \
    X(perf_reset,            perf_sampler_reset, void, (llama_sampler *)) \
    X(greedy,                sampler_init_greedy, llama_sampler *, (void)) \
    X(dist,                  sampler_init_dist, llama_sampler *, (uint32_t)) \
    X(top_k,                 sampler_init_top_k, llama_sampler *, (int32_t)) \
    X(top_p,                 sampler_init_top_p, llama_sampler *, (float, size_t)) \
    X(min_p,                 sampler_init_min_p, llama_sampler *, (float, size_t)) \
    X(typical,               sampler_init_typical, llama_sampler *, (float, size_t)) \
    X(temp,                  sampler_init_temp, llama_sampler *, (float)) \
    X(temp_ext,              sampler_init_temp_ext, llama_sampler *, (float, float, float)) \
    X(xtc,                   sampler_init_xtc, llama_sampler *, (float, float, size_t, uint32_t)) \
    X(top_n_sigma,           sampler_init_top_n_sigma, llama_sampler *, (float)) \
    X(mirostat,              sampler_init_mirostat, llama_sampler *, (int32_t, uint32_t, float, float, int32_t)) \
    X(mirostat_v2,           sampler_init_mirostat_v2, llama_sampler *, (uint32_t, float, float)) \
    X(adaptive_p,            sampler_init_adaptive_p, llama_sampler *, (float, float, uint32_t)) \
    X(logit_bias,            sampler_init_logit_bias, llama_sampler *, (int32_t, int32_t, const samp_logit_bias *)) \
    X(grammar,               sampler_init_grammar, llama_sampler *, \
                             (const struct llama_vocab *, const char *, const char *)) \
    X(grammar_lazy,          sampler_init_grammar_lazy, llama_sampler *, LAZY_GRAMMAR) \
    X(grammar_lazy_patterns, sampler_init_grammar_lazy_patterns, llama_sampler *, LAZY_GRAMMAR) \
    X(infill,                sampler_init_infill, llama_sampler *, (const struct llama_vocab *)) \
    X(penalties,             sampler_init_penalties, llama_sampler *, ANY_ARGUMENTS) \
    X(dry,                   sampler_init_dry, llama_sampler *, ANY_ARGUMENTS) \
    X(logits,                get_logits_ith, float *, (struct llama_context *, int32_t)) \
    X(model,                 get_model, const struct llama_model *, (const struct llama_context *)) \
    X(vocab,                 model_get_vocab, const struct llama_vocab *, (const struct llama_model *)) \
    X(model_free,            model_free, void, (struct llama_model *)) \
    X(free_model,            free_model, void, (struct llama_model *)) \
    X(n_vocab,               vocab_n_tokens, int32_t, (const struct llama_vocab *)) \
    X(is_eog,                vocab_is_eog, bool, (const struct llama_vocab *, samp_token)) \
    X(eos,                   vocab_eos, samp_token, (const struct llama_vocab *)) \
    X(eot,                   vocab_eot, samp_token, (const struct llama_vocab *)) \
    X(piece,                 token_to_piece, int32_t, \
                             (const struct llama_vocab *, samp_token, char *, int32_t, int32_t, bool)) \
    X(tokenize,              tokenize, int32_t, \
                             (const struct llama_vocab *, const char *, int32_t, samp_token *, int32_t, bool, bool)) \
    X(detokenize,            detokenize, int32_t, \
                             (const struct llama_vocab *, const samp_token *, int32_t, char *, int32_t, bool, bool)) \
    X(sampled_token,         get_sampled_token_ith, samp_token, (struct llama_context *, int32_t)) \
    X(sampled_logits,        get_sampled_logits_ith, float *, (struct llama_context *, int32_t)) \
    X(sampled_n,             get_sampled_logits_count_ith, uint32_t, (struct llama_context *, int32_t)) \
    X(sampled_ids,           get_sampled_candidates_ith, samp_token *, (struct llama_context *, int32_t))
/* clang-format on */

#define LAZY_GRAMMAR \
    (const struct llama_vocab *, const char *, const char *, const char **, size_t, const samp_token *, size_t)

/* Whatever a version takes: each argument of these functions is an integer, a pointer or a float, and the registers for
   integers and those for floats are counted apart. A float is the low half of its register, whatever that is called. */
#define ANY_ARGUMENTS (uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double, double, double)

/* What the versions' penalties and dry take. */
typedef enum penalties_arguments {
    PENALTIES_UNKNOWN,
    PENALTIES_OLD, /* last_n, repeat, freq, present */
    PENALTIES_NEW  /* n_vocab before them */
} penalties_arguments;
typedef enum dry_arguments {
    DRY_UNKNOWN,
    DRY_OLD, /* vocab, n_ctx_train, multiplier, base, allowed_length, last_n, breakers, n_breakers */
    DRY_NEW  /* no n_ctx_train */
} dry_arguments;

static struct originals {
#define MEMBER(member, symbol, result, arguments) result(*member) arguments;
    ORIGINALS(MEMBER)
#undef MEMBER
    const void *base; /* where libllama is loaded */
    penalties_arguments penalties_take;
    dry_arguments dry_takes;
} original;

static const void *base_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* Somebody else's function of this name, by this handle. */
static void *symbol_in(void *library, const char *name)
{
    void *found = dlsym(library, name);
    return found && base_of(found) != base_of(&original) ? found : NULL;
}

/* The paths of all loaded objects, one behind the other with a zero each, and another zero. */
typedef struct paths {
    char *text;
    size_t size;
} paths;

static int note_path(struct dl_phdr_info *info, size_t size, void *user)
{
    paths *all = (paths *)user;
    size_t n = strlen(info->dlpi_name) + 1;
    char *grown = n > 1 ? (char *)realloc(all->text, all->size + n + 1) : NULL;
    (void)size;
    if (!grown) return 0;
    memcpy(grown + all->size, info->dlpi_name, n);
    all->text = grown;
    all->size += n;
    all->text[all->size] = 0;
    return 0;
}

static void *find_library(void)
{
    paths all = { NULL, 0 };
    void *found = NULL;
    if (symbol_in(RTLD_NEXT, "llama_sampler_init")) return RTLD_NEXT;
    dl_iterate_phdr(note_path, &all); /* it holds a lock that dlopen wants */
    for (const char *path = all.text; path && *path && !found; path += strlen(path) + 1) {
        void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        if (!library) continue;
        if (symbol_in(library, "llama_sampler_init"))
            found = library; /* and is kept open */
        else
            dlclose(library);
    }
    free(all.text);
    return found;
}

/* By symbols that came with a change of arguments, or are known to be younger or older. dry's helper for tests lost its
   context size together with dry. Penalties got n_vocab shortly before, and llama_sampler_copy is younger than that; a
   library that has none of what the months before brought is older. */
static void arguments_known(void *library)
{
    bool new_dry = symbol_in(library, "_Z30llama_sampler_init_dry_testingffiiRKSt6vectorIS_IiSaIiEESaIS1_EE");
    bool old_dry = symbol_in(library, "_Z30llama_sampler_init_dry_testingiffiiRKSt6vectorIS_IiSaIiEESaIS1_EE");
    bool between = symbol_in(library, "llama_n_rs_seq") || symbol_in(library, "llama_model_n_layer_nextn") ||
                   symbol_in(library, "llama_load_mode_name") || symbol_in(library, "llama_ftype_name");
    original.dry_takes = new_dry ? DRY_NEW : old_dry ? DRY_OLD : DRY_UNKNOWN;
    original.penalties_take = new_dry || original.copy ? PENALTIES_NEW
                              : old_dry && !between    ? PENALTIES_OLD
                                                       : PENALTIES_UNKNOWN;
}

static void find_originals(void)
{
    void *library = find_library(), *symbol;
    if (!library) return;
        /* a copy, because ISO C has no cast from an object pointer to a function pointer */
#define FIND(member, name, result, arguments) \
    symbol = symbol_in(library, "llama_" #name); \
    memcpy(&original.member, &symbol, sizeof symbol);
    ORIGINALS(FIND)
#undef FIND
    memcpy(&symbol, &original.init, sizeof symbol);
    original.base = base_of(symbol);
    arguments_known(library);
}

/* Looked for at the first call from outside: then libllama is there, for somebody knows its functions. */
static const struct originals *llama(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_originals);
    return &original;
}

/* What sampling.h calls. A grammar sees the texts of control tokens too, while its sampler is made. */
static __thread bool with_control;
llama_sampler *samp_llama_fn_init(const samp_llama_i *iface, void *ctx) { return llama()->init(iface, ctx); }
float *samp_llama_fn_logits(struct llama_context *ctx, int32_t i) { return llama()->logits(ctx, i); }
const struct llama_model *samp_llama_fn_model(const struct llama_context *ctx) { return llama()->model(ctx); }
const struct llama_vocab *samp_llama_fn_vocab(const struct llama_model *model) { return llama()->vocab(model); }
int32_t samp_llama_fn_n_vocab(const struct llama_vocab *vocab) { return llama()->n_vocab(vocab); }
bool samp_llama_fn_is_eog(const struct llama_vocab *vocab, samp_token token) { return llama()->is_eog(vocab, token); }
samp_token samp_llama_fn_eos(const struct llama_vocab *vocab) { return llama()->eos(vocab); }
samp_token samp_llama_fn_eot(const struct llama_vocab *vocab) { return llama()->eot(vocab); }
int32_t samp_llama_fn_piece(const struct llama_vocab *vocab, samp_token token, char *out, int32_t n, int32_t lstrip,
                            bool special)
{
    return llama()->piece(vocab, token, out, n, lstrip, special || with_control);
}
int32_t samp_llama_fn_tokenize(const struct llama_vocab *vocab, const char *text, int32_t n_text, samp_token *out,
                               int32_t n, bool add_special, bool parse_special)
{
    return llama()->tokenize(vocab, text, n_text, out, n, add_special, parse_special || with_control);
}

/* ==== The objects ================================================================================================
 * A llama_sampler of ours has our table, and a record behind it. A chain's record has two lists in step: samp, our chain,
 * and the llama_samplers as they were added, for who asks for them by number. What is not ours stands in samp as a custom
 * sampler that calls it. */

/* What grammars and infill look at; a sampler and its clones share it, and all of a model the vocabulary. */
typedef struct words {
    const struct llama_vocab *from; /* NULL: the model is gone */
    bool control;                   /* with the texts of control tokens, and an index */
    samp_vocab *vocab;
    samp_vocab_index *index;
    int32_t n_users;
    struct words *next;
} words;
typedef struct parts {
    words *words;
    samp_grammar *grammar; /* or NULL */
    int32_t n_users;
} parts;

typedef struct record record;
struct record {
    samp_sampler *samp; /* the owner's samp has it, if there is an owner */
    parts *parts;       /* what samp looks at, or NULL */
    record *owner;      /* the chain it is in */
    char name[24];      /* '?' before that of one that is off, as llama.cpp has it */
    bool is_chain, selects;
    bool random;             /* each reset draws a seed */
    llama_sampler **members; /* [n] of a chain: as they were added */
    int32_t n, room;
    bool timed;
    int64_t ns;
    int32_t n_sample;
};

static struct {
    uint64_t tokens, steps, passed;
} counts;

static void count(uint64_t *what, uint64_t n) { __atomic_fetch_add(what, n, __ATOMIC_RELAXED); }

static const samp_llama_i *our_table(void);
EXPORT llama_sampler *llama_sampler_clone(const llama_sampler *s);
EXPORT void llama_sampler_free(llama_sampler *s);
EXPORT void llama_sampler_copy(const llama_sampler *from, llama_sampler *to);
EXPORT void llama_sampler_chain_add(llama_sampler *chain, llama_sampler *s);
EXPORT llama_sampler *llama_sampler_chain_remove(llama_sampler *chain, int32_t i);

static record *record_of(const llama_sampler *s)
{
    const samp_llama_object *object = (const samp_llama_object *)(const void *)s;
    return s && object->iface == our_table() ? (record *)object->ctx : NULL;
}

static const samp_llama_i *table_of(const llama_sampler *s)
{
    return ((const samp_llama_object *)(const void *)s)->iface;
}

static uint32_t draw_seed(void)
{
    uint32_t seed = 0;
    FILE *random = fopen("/dev/urandom", "rb");
    if (!random || fread(&seed, sizeof seed, 1, random) != 1) seed = (uint32_t)time(NULL) ^ (uint32_t)clock();
    if (random) fclose(random);
    return seed;
}

/* A sampler of ours behind llama.cpp's interface, as it is; NULL: no memory. */
static llama_sampler *object_of(samp_sampler *samp)
{
    const sampi_sampler *s = (const sampi_sampler *)samp;
    record *r = samp ? (record *)calloc(1, sizeof *r) : NULL;
    if (!r) {
        samp_free(samp);
        return NULL;
    }
    snprintf(r->name, sizeof r->name, "%s%s", s->off ? "?" : "", samp_name(samp));
    r->samp = samp;
    r->is_chain = sampi_is_chain(s);
    r->selects = sampi_traits_of(s->kind)->flags & SAMPI_SELECTS;
    return llama()->init(our_table(), r);
}

/* One that a constructor has made. NULL if it doesn't take its values, too: then the original makes it. */
static llama_sampler *wrap(samp_sampler *samp)
{
    if (samp_status(samp, NULL) != SAMP_OK) {
        samp_free(samp);
        return NULL;
    }
    samp_set_rng(samp, SAMP_RNG_MT19937);
    return object_of(samp);
}

/* One that draws. */
static llama_sampler *wrap_seeded(samp_sampler *samp, uint32_t seed)
{
    bool random = seed == RANDOM_SEED;
    if (samp && random) ((sampi_sampler *)samp)->seed = draw_seed();
    llama_sampler *s = wrap(samp);
    if (s) record_of(s)->random = random;
    return s;
}

/* ---- what samplers share ---- */

static struct {
    pthread_mutex_t lock; /* of the list, and of all counts of users */
    words *first;
} shared = { PTHREAD_MUTEX_INITIALIZER, NULL };

static void free_words(words *w)
{
    samp_vocab_index_free(w->index);
    samp_llama_vocab_free(w->vocab);
    free(w);
}

static words *make_words(const struct llama_vocab *from, bool control)
{
    words *w = (words *)calloc(1, sizeof *w);
    if (!w) return NULL;
    w->from = from;
    w->control = control;
    with_control = control;
    w->vocab = samp_llama_vocab_init(from);
    with_control = false;
    if (w->vocab && control) w->index = samp_vocab_index_init(w->vocab, NULL);
    if (w->vocab && (w->index || !control)) return w;
    free_words(w);
    return NULL;
}

/* A use of a model's words, which are made once. */
static words *use_words(const struct llama_vocab *from, bool control)
{
    pthread_mutex_lock(&shared.lock);
    words *w = from ? shared.first : NULL;
    while (w && (w->from != from || w->control != control)) w = w->next;
    if (!w && from && (w = make_words(from, control))) {
        w->next = shared.first;
        shared.first = w;
    }
    if (w) w->n_users++;
    pthread_mutex_unlock(&shared.lock);
    return w;
}

/* Those of models that are gone and have no user, out of the list. */
static void sweep_words(void)
{
    for (words **at = &shared.first; *at;) {
        words *w = *at;
        if (w->from || w->n_users) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        free_words(w);
    }
}

/* A model is about to be freed: another one may have its vocabulary's address. */
static void forget_words(const struct llama_vocab *from)
{
    pthread_mutex_lock(&shared.lock);
    for (words *w = shared.first; w; w = w->next)
        if (w->from == from) w->from = NULL;
    sweep_words();
    pthread_mutex_unlock(&shared.lock);
}

static parts *hold_parts(parts *p)
{
    pthread_mutex_lock(&shared.lock);
    if (p) p->n_users++;
    pthread_mutex_unlock(&shared.lock);
    return p;
}

static void drop_parts(parts *p)
{
    if (!p) return;
    pthread_mutex_lock(&shared.lock);
    bool last = --p->n_users == 0;
    if (last) {
        samp_grammar_free(p->grammar);
        p->words->n_users--;
        sweep_words();
    }
    pthread_mutex_unlock(&shared.lock);
    if (last) free(p);
}

static parts *make_parts(const struct llama_vocab *vocab, bool control)
{
    parts *p = (parts *)calloc(1, sizeof *p);
    if (p) p->words = use_words(vocab, control);
    if (p && !p->words) {
        free(p);
        p = NULL;
    }
    return hold_parts(p);
}

/* The object of a sampler that looks at p; NULL, and p is not needed any more. */
static llama_sampler *wrap_with(samp_sampler *samp, parts *p)
{
    llama_sampler *s = samp ? wrap(samp) : NULL;
    if (s)
        record_of(s)->parts = p;
    else
        drop_parts(p);
    return s;
}

/* ---- the others: llama.cpp's own, and users' ---- */

static llama_sampler *other(const samp_sampler *s) { return (llama_sampler *)s->ctx; }

static const char *other_name(const samp_sampler *s) { return llama()->name(other(s)); }

static int other_accept(samp_sampler *s, samp_token token)
{
    llama()->accept(other(s), token);
    return SAMP_OK;
}

static int other_apply(samp_sampler *s, samp_token_data_array *cur)
{
    if (!table_of(other(s))->apply) return SAMP_OK;
    if (!record_of(other(s))) count(&counts.passed, 1);
    llama()->apply(other(s), cur);
    return SAMP_OK;
}

static void other_reset(samp_sampler *s) { llama()->reset(other(s)); }

static samp_sampler *other_init(llama_sampler *s)
{
    static const samp_sampler_i iface = {
        other_name, other_accept, other_apply, other_reset, NULL, NULL, NULL, NULL
    };
    return samp_init_custom(&iface, s);
}

/* ---- the interface ---- */

static const char *our_name(const llama_sampler *s) { return record_of(s)->name; }

static int64_t now(const record *r)
{
    struct timespec t;
    if (!r->timed || clock_gettime(CLOCK_MONOTONIC, &t)) return 0;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void our_accept(llama_sampler *s, samp_token token)
{
    record *r = record_of(s);
    int64_t start = now(r);
    samp_accept(r->samp, token);
    r->n_sample++;
    r->ns += now(r) - start;
}

static bool selects(const record *r)
{
    for (int32_t i = 0; i < r->n; i++) {
        const record *member = record_of(r->members[i]);
        if (!member || selects(member)) return true;
    }
    return r->selects;
}

/* For a row that has no token (NaN, all masked), which llama.cpp doesn't notice: the largest by its comparisons. */
static void select_any(samp_token_data_array *cur)
{
    cur->selected = 0;
    for (size_t i = 1; i < cur->size; i++)
        if (cur->data[i].logit > cur->data[cur->selected].logit) cur->selected = (int64_t)i;
}

/* A grammar alone, on an array of the program's: a single token is how programs ask whether it is allowed, and there may
   be none that is. */
static void apply_grammar(samp_sampler *samp, samp_token_data_array *cur)
{
    sampi_matcher *m = (sampi_matcher *)samp->ctx;
    const size_t n_vocab = m->index->n_vocab;
    bool few = cur->size <= 8, told = !few && samp_grammar_mask(samp, m->bits) == SAMP_OK;
    for (size_t i = 0; i < cur->size; i++) {
        uint32_t id = (uint32_t)cur->data[i].id;
        bool allowed = few ? sampi_matcher_allows(m, (samp_token)id) == 1
                           : told && id < n_vocab && (m->bits[id / 32] >> id % 32 & 1);
        if (!allowed) cur->data[i].logit = -INFINITY;
    }
}

static void our_apply(llama_sampler *s, samp_token_data_array *cur)
{
    record *r = record_of(s);
    int64_t start = now(r);
    int status = SAMP_OK;
    if (((const sampi_sampler *)r->samp)->kind == SAMPI_GRAMMAR)
        apply_grammar(r->samp, cur);
    else
        status = samp_apply(r->samp, cur);
    if (status == SAMP_E_NAN || status == SAMP_E_EMPTY) {
        if (cur->size > 0 && selects(r)) select_any(cur);
    } else if (status == SAMP_OK && cur->selected >= 0 && selects(r)) {
        count(&counts.tokens, 1);
        count(&counts.steps, 1);
    }
    r->ns += now(r) - start;
}

/* All that draw from RANDOM_SEED get a new one. */
static void reseed(record *r)
{
    if (r->random) ((sampi_sampler *)r->samp)->seed = draw_seed();
    for (int32_t i = 0; i < r->n; i++)
        if (record_of(r->members[i])) reseed(record_of(r->members[i]));
}

static void our_reset(llama_sampler *s)
{
    record *r = record_of(s);
    reseed(r);
    samp_reset(r->samp); /* of a chain: all members, and the others too */
}

/* A chain's by its members, since the others know how they are copied. */
static llama_sampler *our_clone(const llama_sampler *s)
{
    const record *r = record_of(s);
    llama_sampler *clone = r->is_chain ? wrap(samp_chain_init()) : object_of(samp_clone(r->samp));
    if (!clone) return NULL;
    record_of(clone)->random = r->random;
    record_of(clone)->timed = r->timed;
    record_of(clone)->parts = hold_parts(r->parts);
    for (int32_t i = 0; i < r->n; i++) llama_sampler_chain_add(clone, llama_sampler_clone(r->members[i]));
    return clone;
}

/* A member's samp goes with the chain's, unless the member is taken out before. */
static void our_free(llama_sampler *s)
{
    record *r = record_of(s);
    while (r->n > 0) llama_sampler_free(llama_sampler_chain_remove(s, r->n - 1));
    samp_free(r->samp);
    drop_parts(r->parts);
    free(r->members);
    free(r);
}

static const samp_llama_i *our_table(void)
{
    static const samp_llama_i table = {
        our_name, our_accept, our_apply, our_reset, our_clone, our_free, { NULL, NULL, NULL, NULL, NULL, NULL }
    };
    return &table;
}

/* ==== What is exported ===========================================================================================
 * First what is done to samplers: ours by the functions above, the others by the original. */

EXPORT llama_sampler *llama_sampler_init(const samp_llama_i *iface, void *ctx) { return llama()->init(iface, ctx); }

EXPORT const char *llama_sampler_name(const llama_sampler *s)
{
    return record_of(s) ? our_name(s) : llama()->name(s);
}

EXPORT void llama_sampler_accept(llama_sampler *s, samp_token token)
{
    if (record_of(s))
        our_accept(s, token);
    else
        llama()->accept(s, token);
}

EXPORT void llama_sampler_apply(llama_sampler *s, samp_token_data_array *cur)
{
    if (record_of(s)) {
        our_apply(s, cur);
        return;
    }
    count(&counts.passed, 1);
    llama()->apply(s, cur);
}

EXPORT void llama_sampler_reset(llama_sampler *s)
{
    if (record_of(s))
        our_reset(s);
    else
        llama()->reset(s);
}

EXPORT llama_sampler *llama_sampler_clone(const llama_sampler *s)
{
    return record_of(s) ? our_clone(s) : llama()->clone(s);
}

/* The original deletes the object; ours lose their record before, as it calls our_free. */
EXPORT void llama_sampler_free(llama_sampler *s) { llama()->free(s); }

/* Another samp in the place of a member's: the chain behind it is taken out and put back member by member. */
static void replace(record *r, samp_sampler *samp)
{
    int32_t at = 0;
    while (r->owner && record_of(r->owner->members[at]) != r) at++;
    for (int32_t i = at; r->owner && i < r->owner->n; i++) {
        samp_sampler *member = samp_chain_remove(r->owner->samp, at);
        samp_chain_add(r->owner->samp, member == r->samp ? samp : member);
    }
    samp_free(r->samp);
    r->samp = samp;
}

/* `to` goes on where `from` is, and stays the object that it was; the same of all members. */
EXPORT void llama_sampler_copy(const llama_sampler *from, llama_sampler *to)
{
    const record *source = record_of(from);
    record *r = record_of(to);
    if (!source && !r && llama()->copy) llama()->copy(from, to);
    if (!source || !r || source == r || source->is_chain != r->is_chain || source->n != r->n) return;
    samp_sampler *samp = r->is_chain ? NULL : samp_clone(source->samp);
    if (samp) {
        replace(r, samp);
        parts *before = r->parts;
        r->parts = hold_parts(source->parts);
        drop_parts(before);
        memcpy(r->name, source->name, sizeof r->name);
        r->random = source->random;
        r->selects = source->selects;
    }
    for (int32_t i = 0; i < r->n; i++) llama_sampler_copy(source->members[i], r->members[i]);
    r->timed = source->timed;
    r->ns = source->ns;
    r->n_sample = source->n_sample;
}

/* As in llama.cpp: the seed in use, of the last that has one of these kinds; else RANDOM_SEED. */
EXPORT uint32_t llama_sampler_get_seed(const llama_sampler *s)
{
    const record *r = record_of(s);
    if (!r) return llama()->get_seed(s);
    sampi_kind kind = ((const sampi_sampler *)r->samp)->kind;
    if (kind == SAMPI_DIST || kind == SAMPI_MIROSTAT || kind == SAMPI_MIROSTAT_V2)
        return (uint32_t)samp_get_seed(r->samp);
    for (int32_t i = r->n; i-- > 0;) {
        uint32_t seed = llama_sampler_get_seed(r->members[i]);
        if (seed != RANDOM_SEED) return seed;
    }
    return RANDOM_SEED;
}

/* ---- llama_sampler_sample ---- */

/* By an array, as the original does: where the device's graph has left candidates, or a row has no token. */
static samp_token sample_array(llama_sampler *s, struct llama_context *ctx, int32_t idx, const float *logits,
                               size_t n, const samp_token *ids)
{
    samp_token_data *data = (samp_token_data *)malloc((n + 1) * sizeof *data);
    if (!data || !logits || n == 0) {
        free(data);
        return llama()->sample(s, ctx, idx); /* it knows how to fail */
    }
    for (size_t i = 0; i < n; i++) {
        data[i].id = ids ? ids[i] : (samp_token)i;
        data[i].logit = logits[i];
        data[i].p = 0.0f;
    }
    samp_token_data_array cur = { data, n, -1, false };
    our_apply(s, &cur);
    samp_token token = cur.selected >= 0 && (size_t)cur.selected < cur.size ? data[cur.selected].id : NO_TOKEN;
    free(data);
    if (token >= 0) our_accept(s, token);
    return token;
}

/* Has the device chosen already, as a sampler that is not ours told it to? */
static bool sample_device(llama_sampler *s, struct llama_context *ctx, int32_t idx, samp_token *token)
{
    const struct originals *l = llama();
    if (!l->sampled_token || !l->sampled_logits || !l->sampled_n || !l->sampled_ids) return false;
    *token = l->sampled_token(ctx, idx);
    if (*token != NO_TOKEN) {
        our_accept(s, *token);
        return true;
    }
    const float *logits = l->sampled_logits(ctx, idx);
    if (logits) *token = sample_array(s, ctx, idx, logits, l->sampled_n(ctx, idx), l->sampled_ids(ctx, idx));
    return logits != NULL;
}

EXPORT samp_token llama_sampler_sample(llama_sampler *s, struct llama_context *ctx, int32_t idx)
{
    record *r = record_of(s);
    samp_token token;
    if (!r) return llama()->sample(s, ctx, idx);
    if (sample_device(s, ctx, idx, &token)) return token;
    int64_t start = now(r);
    uint64_t steps = samp_perf(r->samp).n_steps;
    token = samp_llama_sample(r->samp, ctx, idx);
    if (token < 0)
        return sample_array(s, ctx, idx, llama()->logits(ctx, idx),
                            (size_t)llama()->n_vocab(llama()->vocab(llama()->model(ctx))), NULL);
    count(&counts.tokens, 1);
    count(&counts.steps, samp_perf(r->samp).n_steps - steps);
    r->n_sample++;
    r->ns += now(r) - start;
    return token;
}

/* ---- models, which the vocabularies of grammars belong to ---- */

EXPORT void llama_model_free(struct llama_model *model)
{
    if (model && llama()->vocab) forget_words(llama()->vocab(model));
    llama()->model_free(model);
}

EXPORT void llama_free_model(struct llama_model *model) /* its older name */
{
    if (model && llama()->vocab) forget_words(llama()->vocab(model));
    (llama()->free_model ? llama()->free_model : llama()->model_free)(model);
}

/* ---- chains ---- */

/* Is a constructor's caller to get llama.cpp's own? If it is libllama, or libllama is not one that we know. */
static bool passes(const void *caller)
{
    const struct originals *l = llama();
    return !l->init || !l->n_vocab || !l->tokenize || !l->detokenize || base_of(caller) == l->base;
}
#define PASSES passes(__builtin_return_address(0))

EXPORT chain_params llama_sampler_chain_default_params(void)
{
    chain_params none = { 1, 0 };
    return llama()->chain_default_params ? llama()->chain_default_params() : none;
}

EXPORT llama_sampler *llama_sampler_chain_init(chain_params params)
{
    llama_sampler *s = PASSES ? NULL : wrap(samp_chain_init());
    if (s) record_of(s)->timed = (params.low & 255) == 0; /* no_perf */
    return s || !llama()->chain_init ? s : llama()->chain_init(params);
}

/* One that is in another chain already may be in two, while only one of them frees it: llama.cpp allows that. */
EXPORT void llama_sampler_chain_add(llama_sampler *chain, llama_sampler *s)
{
    record *r = record_of(chain), *member = record_of(s);
    if (!r) {
        llama()->chain_add(chain, s);
        return;
    }
    if (r->n == r->room) {
        int32_t room = r->room ? 2 * r->room : 16;
        llama_sampler **grown = (llama_sampler **)realloc(r->members, (size_t)room * sizeof *grown);
        if (!grown) return;
        r->members = grown;
        r->room = room;
    }
    r->members[r->n++] = s;
    if (member && samp_chain_add(r->samp, member->samp) == SAMP_OK)
        member->owner = r;
    else
        samp_chain_add(r->samp, other_init(s));
}

EXPORT llama_sampler *llama_sampler_chain_get(llama_sampler *chain, int32_t i)
{
    const record *r = record_of(chain);
    if (!r) return llama()->chain_get(chain, i);
    if (!r->is_chain) return NULL;
    return i == -1 ? chain : i >= 0 && i < r->n ? r->members[i] : NULL;
}

EXPORT llama_sampler *llama_sampler_chain_remove(llama_sampler *chain, int32_t i)
{
    record *r = record_of(chain);
    if (!r) return llama()->chain_remove(chain, i);
    if (i < 0 || i >= r->n) return NULL;
    llama_sampler *s = r->members[i];
    samp_sampler *samp = samp_chain_remove(r->samp, i);
    r->n--;
    memmove(&r->members[i], &r->members[i + 1], (size_t)(r->n - i) * sizeof *r->members);
    if (record_of(s) && record_of(s)->samp == samp)
        record_of(s)->owner = NULL;
    else
        samp_free(samp);
    return s;
}

EXPORT int32_t llama_sampler_chain_n(const llama_sampler *chain)
{
    return record_of(chain) ? record_of(chain)->n : llama()->chain_n(chain);
}

EXPORT perf_data llama_perf_sampler(const llama_sampler *chain)
{
    const record *r = record_of(chain);
    if (!r) return llama()->perf(chain);
    perf_data data = { (double)r->ns / 1e6, r->n_sample };
    return data;
}

EXPORT void llama_perf_sampler_print(const llama_sampler *chain)
{
    const record *r = record_of(chain);
    if (!r)
        llama()->perf_print(chain);
    else
        fprintf(stderr, "%s:    samplers time = %10.2f ms / %5d runs\n", __func__, (double)r->ns / 1e6, r->n_sample);
}

EXPORT void llama_perf_sampler_reset(llama_sampler *chain)
{
    record *r = record_of(chain);
    if (!r) {
        llama()->perf_reset(chain);
        return;
    }
    r->ns = 0;
    r->n_sample = 0;
}

/* ---- is libllama's sampler the one that ours gives the tokens of? ----
 * Another version's may draw, cut or sort in another way. Before the first sampler is made each of the original's that
 * needs no vocabulary is compared with ours, over a few rows; one that differs stays the original's. */

/* clang-format off */
#define COMPARED(X) \
    X(greedy) X(dist) X(top_k) X(top_p) X(min_p) X(typical) X(temp) X(temp_ext) X(xtc) X(top_n_sigma) X(mirostat) \
    X(mirostat_v2) X(adaptive_p) X(logit_bias) X(penalties) X(dry)
/* clang-format on */
typedef enum compared {
#define ENUMERATOR(name) COMPARED_##name,
    COMPARED(ENUMERATOR)
#undef ENUMERATOR
        N_COMPARED
} compared;

static const char *differs[N_COMPARED]; /* in what, or NULL */

enum { MOST_COMPARED = 2000, N_ROWS_COMPARED = 20 };

static int compare_logits(const void *a, const void *b)
{
    float x = ((const samp_token_data *)a)->logit, y = ((const samp_token_data *)b)->logit;
    return (x < y) - (x > y);
}

/* Row k, the same on each call: of one token, of a few and of many, from flat to steep, every fourth in order. No two
   logits are equal, as libllama's order is an accident then. */
static samp_token_data_array compared_row(samp_token_data *data, uint32_t k)
{
    static const size_t lengths[] = { 7, 1, 300, 2, MOST_COMPARED };
    samp_token_data_array cur = { data, lengths[k % 5], -1, k % 4 == 3 };
    for (uint32_t i = 0; i < cur.size; i++) {
        uint32_t at = (i * 40503u + k * 7919u) % 65521u; /* a prime: each i has its own */
        data[i].id = (samp_token)i;
        data[i].logit = (float)at * (float)(2 + k) / 65536.0f;
        data[i].p = 0.0f;
    }
    if (cur.sorted) qsort(data, cur.size, sizeof *data, compare_logits);
    return cur;
}

static const char *difference(const samp_token_data_array *a, const samp_token_data_array *b)
{
    bool order = false, logits = false;
    if (a->size != b->size) return "keeps another number of candidates";
    for (size_t i = 0; i < a->size; i++) {
        order |= a->data[i].id != b->data[i].id;
        logits |= a->data[i].logit != b->data[i].logit;
    }
    if (a->selected != b->selected) return "chooses other tokens";
    if (order) return "leaves candidates in another order";
    return logits ? "leaves other logits" : NULL; /* `sorted` may say more or less, but is true */
}

/* Both are freed. */
static void compare(compared which, llama_sampler *theirs, samp_sampler *ours)
{
    static samp_token_data data[2][MOST_COMPARED]; /* under the once */
    const samp_token text[] = { 1, 2, 3, 4, 1, 2, 3, 4, 1, 2 };
    samp_set_rng(ours, SAMP_RNG_MT19937);
    for (size_t i = 0; theirs && i < sizeof text / sizeof *text; i++) {
        llama()->accept(theirs, text[i]);
        samp_accept(ours, text[i]);
    }
    for (uint32_t k = 0; theirs && k < N_ROWS_COMPARED && !differs[which]; k++) {
        samp_token_data_array a = compared_row(data[0], k), b = compared_row(data[1], k);
        llama()->apply(theirs, &a);
        if (samp_apply(ours, &b) != SAMP_OK)
            differs[which] = "takes a row that is none here";
        else
            differs[which] = difference(&a, &b);
        samp_token token = a.selected >= 0 && (size_t)a.selected < a.size ? a.data[a.selected].id : (samp_token)k % 5;
        llama()->accept(theirs, token);
        samp_accept(ours, token);
    }
    if (theirs) llama()->free(theirs);
    samp_free(ours);
}

/* A float where a double is passed: see ANY_ARGUMENTS. */
static double register_of(float x)
{
    double wide = 0.0;
    memcpy(&wide, &x, sizeof x);
    return wide;
}

static llama_sampler *their_penalties(int32_t last_n, float repeat, float freq, float present)
{
    const struct originals *l = llama();
    double x = register_of(repeat), y = register_of(freq), z = register_of(present);
    uint64_t n = (uint64_t)last_n;
    if (!l->penalties || l->penalties_take == PENALTIES_UNKNOWN) return NULL;
    return l->penalties_take == PENALTIES_NEW ? l->penalties(MOST_COMPARED, n, 0, 0, 0, 0, x, y, z)
                                              : l->penalties(n, 0, 0, 0, 0, 0, x, y, z);
}

static llama_sampler *their_dry(float multiplier, float base, int32_t allowed_length, int32_t last_n)
{
    const struct originals *l = llama();
    double x = register_of(multiplier), y = register_of(base);
    uint64_t allowed = (uint64_t)allowed_length, n = (uint64_t)last_n;
    if (!l->dry || l->dry_takes == DRY_UNKNOWN) return NULL;
    return l->dry_takes == DRY_NEW ? l->dry(0, allowed, n, 0, 0, 0, x, y, 0.0)
                                   : l->dry(0, MOST_COMPARED, allowed, n, 0, 0, x, y, 0.0);
}

static void compare_all(void)
{
    const struct originals *l = llama();
    const samp_logit_bias bias[] = { { 3, 1.5f }, { 5, -INFINITY } };
#define COMPARE(name, arguments, ours) \
    if (l->name) compare(COMPARED_##name, l->name arguments, ours)
    COMPARE(greedy, (), samp_init_greedy());
    COMPARE(dist, (7), samp_init_dist(7));
    COMPARE(top_k, (5), samp_init_top_k(5));
    COMPARE(top_k, (40), samp_init_top_k(40));
    COMPARE(top_k, (500), samp_init_top_k(500));
    COMPARE(top_p, (0.7f, 1), samp_init_top_p(0.7f, 1));
    COMPARE(top_p, (0.95f, 1), samp_init_top_p(0.95f, 1));
    COMPARE(min_p, (0.05f, 1), samp_init_min_p(0.05f, 1));
    COMPARE(min_p, (0.3f, 3), samp_init_min_p(0.3f, 3));
    COMPARE(typical, (0.7f, 1), samp_init_typical(0.7f, 1));
    COMPARE(temp, (0.0f), samp_init_temp(0.0f));
    COMPARE(temp, (0.7f), samp_init_temp(0.7f));
    COMPARE(temp_ext, (0.8f, 0.5f, 1.2f), samp_init_temp_ext(0.8f, 0.5f, 1.2f));
    COMPARE(xtc, (0.5f, 0.1f, 1, 7), samp_init_xtc(0.5f, 0.1f, 1, 7));
    COMPARE(top_n_sigma, (1.0f), samp_init_top_n_sigma(1.0f));
    COMPARE(mirostat, (MOST_COMPARED, 7, 3.0f, 0.1f, 100), samp_init_mirostat(MOST_COMPARED, 7, 3.0f, 0.1f, 100));
    COMPARE(mirostat_v2, (7, 3.0f, 0.1f), samp_init_mirostat_v2(7, 3.0f, 0.1f));
    COMPARE(adaptive_p, (0.4f, 0.9f, 7), samp_init_adaptive_p(0.4f, 0.9f, 7));
    COMPARE(logit_bias, (MOST_COMPARED, 2, bias), samp_init_logit_bias(MOST_COMPARED, 2, bias));
#undef COMPARE
    compare(COMPARED_penalties, their_penalties(64, 1.3f, 0.2f, 0.1f), samp_init_penalties(64, 1.3f, 0.2f, 0.1f));
    compare(COMPARED_dry, their_dry(1.0f, 1.75f, 2, 64),
            samp_init_dry(NULL, MOST_COMPARED, 1.0f, 1.75f, 2, 64, NULL, 0));
}

/* Not from inside of libllama: see PASSES. */
static bool stays(compared which)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, compare_all);
    return differs[which] != NULL;
}

/* ---- constructors ----
 * Each makes ours, or where that is nothing returns the original's. llama.cpp switches a sampler off by more values than
 * this library has in its ranges: they are mapped here. */

#define CONSTRUCTOR_IF(condition, name, parameters, arguments, ours) \
    EXPORT llama_sampler *llama_sampler_init_##name parameters \
    { \
        llama_sampler *s = PASSES || (condition) ? NULL : (ours); \
        return s || !llama()->name ? s : llama()->name arguments; \
    }
#define CONSTRUCTOR(name, parameters, arguments, ours) \
    CONSTRUCTOR_IF(stays(COMPARED_##name), name, parameters, arguments, ours)
/* of a vocabulary */
#define CONSTRUCTOR_OF(name, parameters, arguments, ours) CONSTRUCTOR_IF(false, name, parameters, arguments, ours)

static llama_sampler *make_infill(const struct llama_vocab *vocab)
{
    parts *p = make_parts(vocab, false);
    return wrap_with(p ? samp_init_infill(p->words->vocab) : NULL, p);
}

/* What ends the wait of a lazy grammar. */
typedef struct triggers {
    const char **texts;
    size_t n_texts;
    const samp_token *tokens;
    size_t n_tokens;
} triggers;

static llama_sampler *make_grammar(const struct llama_vocab *vocab, const char *text, const char *root,
                                   const triggers *t, bool patterns)
{
    parts *p = text && *text && root ? make_parts(vocab, true) : NULL;
    if (!p) return NULL;
    p->grammar = samp_grammar_init(SAMP_GRAMMAR_GBNF, text, root, NULL);
    const samp_vocab_index *index = p->words->index;
    samp_sampler *samp = NULL;
    with_control = true;
    if (p->grammar && !t) samp = samp_init_grammar(index, p->grammar);
    if (p->grammar && t)
        samp = (patterns ? samp_init_grammar_lazy_patterns
                         : samp_init_grammar_lazy)(index, p->grammar, t->texts, t->n_texts, t->tokens, t->n_tokens);
    with_control = false;
    return wrap_with(samp, p);
}

static float at_least(float least, float x) { return x < least ? least : x; } /* NaN stays */
static float at_most(float most, float x) { return x > most ? most : x; }

/* clang-format off */
CONSTRUCTOR(greedy, (void), (), wrap(samp_init_greedy()))
CONSTRUCTOR(dist, (uint32_t seed), (seed), wrap_seeded(samp_init_dist(seed), seed))
CONSTRUCTOR(top_k, (int32_t k), (k), wrap(samp_init_top_k(k)))
/* not above 0 keeps the first token, as the smallest p does */
CONSTRUCTOR(top_p, (float p, size_t min_keep), (p, min_keep),
            wrap(samp_init_top_p(at_most(1.0f, at_least(FLT_MIN, p)), min_keep)))
CONSTRUCTOR(min_p, (float p, size_t min_keep), (p, min_keep), wrap(samp_init_min_p(at_least(0.0f, p), min_keep)))
CONSTRUCTOR(typical, (float p, size_t min_keep), (p, min_keep), wrap(samp_init_typical(at_most(1.0f, p), min_keep)))
CONSTRUCTOR(temp, (float t), (t), wrap(samp_init_temp(at_least(0.0f, t))))
CONSTRUCTOR(temp_ext, (float t, float delta, float exponent), (t, delta, exponent),
            wrap(samp_init_temp_ext(at_least(0.0f, t), at_least(0.0f, delta), exponent)))
CONSTRUCTOR(xtc, (float p, float t, size_t min_keep, uint32_t seed), (p, t, min_keep, seed),
            wrap_seeded(samp_init_xtc(at_most(1.0f, at_least(0.0f, p)), at_most(1.0f, t), min_keep, seed), seed))
CONSTRUCTOR(top_n_sigma, (float n), (n), wrap(samp_init_top_n_sigma(n)))
CONSTRUCTOR(mirostat, (int32_t n_vocab, uint32_t seed, float tau, float eta, int32_t m), (n_vocab, seed, tau, eta, m),
            wrap_seeded(samp_init_mirostat(n_vocab, seed, tau, eta, m), seed))
CONSTRUCTOR(mirostat_v2, (uint32_t seed, float tau, float eta), (seed, tau, eta),
            wrap_seeded(samp_init_mirostat_v2(seed, tau, eta), seed))
CONSTRUCTOR(adaptive_p, (float target, float decay, uint32_t seed), (target, decay, seed),
            wrap_seeded(samp_init_adaptive_p(target, at_most(0.99f, at_least(0.0f, decay)), seed), seed))
CONSTRUCTOR(logit_bias, (int32_t n_vocab, int32_t n, const samp_logit_bias *bias), (n_vocab, n, bias),
            wrap(samp_init_logit_bias(n_vocab, n < 0 ? 0 : n, bias)))

CONSTRUCTOR_OF(infill, (const struct llama_vocab *vocab), (vocab), make_infill(vocab))
CONSTRUCTOR_OF(grammar, (const struct llama_vocab *vocab, const char *text, const char *root), (vocab, text, root),
            make_grammar(vocab, text, root, NULL, false))
CONSTRUCTOR_OF(grammar_lazy, (const struct llama_vocab *vocab, const char *text, const char *root, const char **words,
            size_t n_words, const samp_token *tokens, size_t n_tokens),
            (vocab, text, root, words, n_words, tokens, n_tokens),
            make_grammar(vocab, text, root, &(triggers){ words, words ? n_words : 0, tokens, n_tokens }, false))
CONSTRUCTOR_OF(grammar_lazy_patterns, (const struct llama_vocab *vocab, const char *text, const char *root,
            const char **patterns, size_t n_patterns, const samp_token *tokens, size_t n_tokens),
            (vocab, text, root, patterns, n_patterns, tokens, n_tokens),
            make_grammar(vocab, text, root, &(triggers){ patterns, n_patterns, tokens, n_tokens }, true))
/* clang-format on */

/* ---- the two whose arguments have changed ---- */

static float float_in(double x)
{
    float f;
    memcpy(&f, &x, sizeof f);
    return f;
}

EXPORT llama_sampler *llama_sampler_init_penalties(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                                                   uint64_t f, double x, double y, double z)
{
    llama_sampler *s = NULL;
    if (!PASSES && llama()->penalties_take != PENALTIES_UNKNOWN && !stays(COMPARED_penalties)) {
        int32_t last_n = (int32_t)(llama()->penalties_take == PENALTIES_NEW ? b : a);
        s = wrap(samp_init_penalties(last_n < 0 ? 0 : last_n, float_in(x), float_in(y), float_in(z)));
    }
    return s || !llama()->penalties ? s : llama()->penalties(a, b, c, d, e, f, x, y, z);
}

/* dry looks for its breakers in what llama.cpp shows of a token, control tokens too: one at a time, while the sampler is
   made, and never again. */
typedef struct shown_vocab {
    samp_vocab base;
    char *text;
    int32_t room;
} shown_vocab;

static const char *shown_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    shown_vocab *v = (shown_vocab *)(uintptr_t)vocab;
    const struct llama_vocab *from = (const struct llama_vocab *)vocab->user;
    int32_t n = llama()->detokenize(from, &token, 1, v->text, v->room, false, true);
    if (n < 0) {
        char *grown = (char *)realloc(v->text, (size_t)-n);
        if (grown) {
            v->text = grown;
            v->room = -n;
            n = llama()->detokenize(from, &token, 1, v->text, v->room, false, true);
        }
    }
    *n_bytes = n > 0 ? (size_t)n : 0;
    return v->text;
}

/* Breakers that are missing or empty are left out, as llama.cpp does. */
static samp_sampler *make_dry(const struct llama_vocab *from, float multiplier, float base, int32_t allowed_length,
                              int32_t last_n, const char **breakers, size_t n_breakers)
{
    if (multiplier == 0.0f || base < 1.0f || last_n <= 0)
        return samp_init_dry(NULL, 0, 0.0f, 1.0f, 0, 0, NULL, 0); /* off */
    const char **there = (const char **)malloc((n_breakers + 1) * sizeof *there);
    size_t n = 0;
    for (size_t i = 0; there && breakers && i < n_breakers; i++)
        if (breakers[i] && breakers[i][0]) there[n++] = breakers[i];
    if (!there || (n > 0 && !from)) {
        free(there);
        return NULL;
    }
    shown_vocab v = { { n ? llama()->n_vocab(from) : 0, shown_bytes, sampi_llama_tokenize, (void *)(uintptr_t)from,
                        NULL, 0, -1, -1 },
                      NULL,
                      0 };
    samp_sampler *s = samp_init_dry(&v.base, LONGEST_WINDOW, multiplier, base, allowed_length, last_n, there, n);
    free(v.text);
    free(there);
    return s;
}

EXPORT llama_sampler *llama_sampler_init_dry(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
                                             double x, double y, double z)
{
    const struct llama_vocab *vocab = (const struct llama_vocab *)(uintptr_t)a;
    dry_arguments take = llama()->dry_takes;
    bool passes_on = PASSES || take == DRY_UNKNOWN || stays(COMPARED_dry);
    llama_sampler *s = NULL;
    if (!passes_on && take == DRY_NEW)
        s = wrap(make_dry(vocab, float_in(x), float_in(y), (int32_t)b, (int32_t)c, (const char **)(uintptr_t)d,
                          (size_t)e));
    if (!passes_on && take == DRY_OLD)
        s = wrap(make_dry(vocab, float_in(x), float_in(y), (int32_t)c, (int32_t)d == -1 ? (int32_t)b : (int32_t)d,
                          (const char **)(uintptr_t)e, (size_t)f));
    return s || !llama()->dry ? s : llama()->dry(a, b, c, d, e, f, x, y, z);
}

/* ==== The report ================================================================================================= */

__attribute__((destructor)) static void report(void)
{
    const char *wanted = getenv("SAMP_LLAMA_REPORT");
    if (!wanted || strcmp(wanted, "1") != 0 || !original.init) return; /* not in a program that has no llama.cpp */
    fprintf(stderr, "libsampling_llama: tokens %llu fast %llu steps %llu passed-through %llu\n",
            (unsigned long long)counts.tokens, (unsigned long long)(counts.tokens - counts.steps),
            (unsigned long long)counts.steps, (unsigned long long)counts.passed);
    static const char *const name[] = {
#define NAME(name) #name,
        COMPARED(NAME)
#undef NAME
    };
    for (int i = 0; i < N_COMPARED; i++)
        if (differs[i])
            fprintf(stderr, "libsampling_llama: %s is this libllama's own, which %s\n", name[i], differs[i]);
}
