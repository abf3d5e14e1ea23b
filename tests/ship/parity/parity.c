/* parity.c - the same tokens as llama.cpp, call for call.
 *
 *   parity LIBLLAMA [--tokens N] [--jobs N] [--seed N] [--rows FILE]   compare; 0 if nothing differs, else 1
 *   parity LIBLLAMA --case SEED [--ties] [-v]                          one case again, as a report printed it
 *   parity LIBLLAMA --mutant N                                         with a sampler of ours made wrong
 *
 * With SAMP_RNG_MT19937 our samplers promise llama.cpp's results to the last bit. Here both libraries get
 * the same random chains, logits, accepts, resets and clones, and are compared after every single call.
 * There are three ways:
 *
 *   step    every sampler of the chain is applied by itself, on an array of its own per library, and the
 *           arrays are compared: size, ids, logits and p bit for bit, selected. Then the token.
 *   whole   samp_sample on our side against the whole chain on theirs: the tokens are compared. Should one
 *           differ, the case runs again in steps to find where.
 *   ties    rows of real f16 logits with their exact ties. llama.cpp's order of ties is an accident of
 *           std::sort, so the logits are compared as a multiset, and our array continues as a copy of theirs.
 *
 * In the first two the logits of a row are distinct. Arithmetic can still make two of them equal (a
 * temperature, two scores of `typical`); entries that differ only by such an exact tie are counted as ties,
 * not as differences.
 *
 * Where llama.cpp has a bug that we do not copy, the comparison steps around it: see QUIRKS, counted in the
 * report.
 */
#define _POSIX_C_SOURCE 200809L

#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "llama_peer.h"
#include "rows.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_DEPTH = 8,
    MAX_TOKENS = 64,
    MAX_SHOWN = 10, /* differences printed by one process */
    MAX_JOBS = 64
};

/* --------------------------------------------------------------------------------------- what is compared */

/* clang-format off */
#define KINDS(X) \
    X(LOGIT_BIAS, "logit_bias") X(PENALTIES, "penalties") X(DRY, "dry") X(TOP_N_SIGMA, "top_n_sigma") \
    X(TOP_K, "top_k") X(TYPICAL, "typical") X(TOP_P, "top_p") X(MIN_P, "min_p") X(XTC, "xtc") \
    X(TEMP, "temp") X(TEMP_EXT, "temp_ext") X(GREEDY, "greedy") X(DIST, "dist") X(MIROSTAT, "mirostat") \
    X(MIROSTAT_V2, "mirostat_v2") X(ADAPTIVE_P, "adaptive_p")

typedef enum kind {
#define KIND_ENUM(name, text) name,
    KINDS(KIND_ENUM)
#undef KIND_ENUM
    N_KINDS
} kind;

static const char *const kind_name[N_KINDS] = {
#define KIND_NAME(name, text) text,
    KINDS(KIND_NAME)
#undef KIND_NAME
};
/* clang-format on */

/* clang-format off */
/* llama.cpp's behaviour that we do not have on purpose, and what the comparison does about it. */
#define QUIRKS(X) \
    X(Q_TYPICAL_NAN, "typical with a token of probability 0: the entropy is NaN, order and cut arbitrary", \
      "not applied, on both sides") \
    X(Q_XTC_MASKED, "xtc with threshold 0 counts masked tokens as likely enough, and leaves only them", \
      "not applied, on both sides") \
    X(Q_BIAS_SORTED, "logit_bias leaves `sorted` set when it has changed the order", \
      "flag cleared on the peer") \
    X(Q_BIAS_TWICE, "logit_bias with a token twice adds both values, or only the first if the array is not " \
      "in the order of ids", "a bias that is not first in its chain has every token once") \
    X(Q_ADAPTIVE_SORTED, "adaptive_p leaves `sorted` set over new logits", "flag cleared on the peer") \
    X(Q_ADAPTIVE_CLONE, "a clone of adaptive_p starts its random source again, without the probabilities", \
      "only our chain is replaced by its clone") \
    X(Q_MASKED_TOKEN, "a token that was selected, then masked by a sampler behind, is returned", \
      "our SAMP_E_EMPTY is right, the sequence ends there") \
    X(Q_BUCKETS, "sorting more than 128 tokens puts logits above 3.35e8 (2^31 / 6.4) last", \
      "the sequence ends there") \
    X(Q_OVERFLOW, "temp_ext with a dynamic temperature near 0 divides logits to +-infinity", \
      "the sequence ends there") \
    X(Q_DRY_OFF, "the peer's constructor of dry with token breakers crashes on values that switch dry off", \
      "its other constructor is called") \
    X(Q_MASKED_ORDER, "sorting leaves the masked tokens in any order", \
      "our array continues in the peer's order")

typedef enum quirk {
#define QUIRK_ENUM(name, what, instead) name,
    QUIRKS(QUIRK_ENUM)
#undef QUIRK_ENUM
    N_QUIRKS
} quirk;

static const struct { const char *what, *instead; } quirk_text[N_QUIRKS] = {
#define QUIRK_TEXT(name, what, instead) { what, instead },
    QUIRKS(QUIRK_TEXT)
#undef QUIRK_TEXT
};
/* clang-format on */

/* The counts of one process; all are sums, so several processes add up. */
typedef struct report {
    uint64_t applied[N_KINDS], differ[N_KINDS], tied[N_KINDS];              /* calls */
    uint64_t flags[N_KINDS];                                                /* calls with another `sorted` */
    uint64_t tie_applied[N_KINDS], tie_differ[N_KINDS], tie_order[N_KINDS]; /* calls on rows with ties */
    uint64_t quirk[N_QUIRKS];
    uint64_t chains, tokens, token_differ;              /* step and whole */
    uint64_t whole_tokens, whole_differ, whole_excused; /* excused: a tie or a quirk decided */
    uint64_t whole_steps;                               /* went step by step; the others took the fast path */
    uint64_t tie_chains, tie_tokens, tie_other;         /* other: another one of tied tokens */
    uint64_t accepts, resets, clones, masked_rows, shown;
} report;

static uint64_t differences(const report *r)
{
    uint64_t sum = r->token_differ + r->whole_differ;
    for (int k = 0; k < N_KINDS; k++) sum += r->differ[k] + r->tie_differ[k];
    return sum;
}

/* ------------------------------------------------------------------------ one sampler, made on both sides */

/* A sampler's parameters. x, y, z are the floats of its constructor in order; a, b the integers. */
typedef struct spec {
    kind kind;
    float x, y, z;
    int32_t a, b;
    size_t min_keep;
    uint32_t seed;
    int32_t n_bias;
    samp_logit_bias bias[8];
    int32_t n_breakers, breaker_len[3];
    samp_token breaker[3][3];
} spec;

/* Every token's text is 4 bytes, "<" and three digits of base 64. So a breaker, the text of some tokens,
 * can only be read as those tokens, and the peer can be given the tokens themselves. */
static char token_text[MAX_VOCAB][4];

static void make_token_text(void)
{
    static const char digit[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    for (int32_t id = 0; id < MAX_VOCAB; id++) {
        const char text[4] = { '<', digit[id >> 12], digit[id >> 6 & 63], digit[id & 63] };
        memcpy(token_text[id], text, 4);
    }
}

static const char *vocab_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    (void)vocab;
    *n_bytes = 4;
    return token_text[token];
}

/* dry borrows its vocabulary: a static object will do. */
static samp_vocab *vocab_of(int32_t n_vocab)
{
    static samp_vocab vocab;
    memset(&vocab, 0, sizeof vocab);
    vocab.n_vocab = n_vocab;
    vocab.token_bytes = vocab_bytes;
    vocab.eos = vocab.eot = -1;
    return &vocab;
}

static samp_sampler *mutant_of(int mutant, const spec *s);

static samp_sampler *make_ours(const spec *s, int32_t n_vocab, int mutant)
{
    char text[3][16];
    const char *breakers[3];
    size_t n_breakers;
    samp_sampler *wrong = mutant_of(mutant, s);
    if (wrong) return wrong;
    switch (s->kind) {
        case LOGIT_BIAS: return samp_init_logit_bias(n_vocab, s->n_bias, s->bias);
        case PENALTIES: return samp_init_penalties(s->a, s->x, s->y, s->z);
        case TOP_N_SIGMA: return samp_init_top_n_sigma(s->x);
        case TOP_K: return samp_init_top_k(s->a);
        case TYPICAL: return samp_init_typical(s->x, s->min_keep);
        case TOP_P: return samp_init_top_p(s->x, s->min_keep);
        case MIN_P: return samp_init_min_p(s->x, s->min_keep);
        case XTC: return samp_init_xtc(s->x, s->y, s->min_keep, s->seed);
        case TEMP: return samp_init_temp(s->x);
        case TEMP_EXT: return samp_init_temp_ext(s->x, s->y, s->z);
        case GREEDY: return samp_init_greedy();
        case DIST: return samp_init_dist(s->seed);
        case MIROSTAT: return samp_init_mirostat(n_vocab, s->seed, s->x, s->y, s->a);
        case MIROSTAT_V2: return samp_init_mirostat_v2(s->seed, s->x, s->y);
        case ADAPTIVE_P: return samp_init_adaptive_p(s->x, s->y, s->seed);
        case DRY:
            for (int i = 0; i < s->n_breakers; i++) {
                const int len = s->breaker_len[i];
                for (int j = 0; j < len; j++) memcpy(text[i] + 4 * j, token_text[s->breaker[i][j]], 4);
                text[i][4 * len] = 0;
                breakers[i] = text[i];
            }
            n_breakers = (size_t)s->n_breakers;
            return samp_init_dry(vocab_of(n_vocab), n_vocab, s->x, s->y, s->a, s->b, breakers, n_breakers);
        default: return NULL;
    }
}

/* n_ctx_train is n_vocab in these tests. The peer has no such parameter: -1 is resolved for it. */
static int32_t dry_window(const spec *s, int32_t n_vocab)
{
    bool whole = s->b < 0 || s->b > n_vocab;
    return whole ? n_vocab : s->b;
}

static peer_sampler *make_peer(const llama_peer *peer, const spec *s, int32_t n_vocab, report *r)
{
    switch (s->kind) {
        case LOGIT_BIAS: return peer->init_logit_bias(n_vocab, s->n_bias, (const peer_bias *)s->bias);
        case PENALTIES: return peer->init_penalties(n_vocab, s->a, s->x, s->y, s->z);
        case TOP_N_SIGMA: return peer->init_top_n_sigma(s->x);
        case TOP_K: return peer->init_top_k(s->a);
        case TYPICAL: return peer->init_typical(s->x, s->min_keep);
        case TOP_P: return peer->init_top_p(s->x, s->min_keep);
        case MIN_P: return peer->init_min_p(s->x, s->min_keep);
        case XTC: return peer->init_xtc(s->x, s->y, s->min_keep, s->seed);
        case TEMP: return peer->init_temp(s->x);
        case TEMP_EXT: return peer->init_temp_ext(s->x, s->y, s->z);
        case GREEDY: return peer->init_greedy();
        case DIST: return peer->init_dist(s->seed);
        case MIROSTAT: return peer->init_mirostat(n_vocab, s->seed, s->x, s->y, s->a);
        case MIROSTAT_V2: return peer->init_mirostat_v2(s->seed, s->x, s->y);
        case ADAPTIVE_P: return peer->init_adaptive_p(s->x, s->y, s->seed);
        case DRY: {
            int32_t window = dry_window(s, n_vocab);
            peer_vector inner[3], outer = { inner, inner + s->n_breakers, inner + s->n_breakers };
            if (s->x == 0 || s->y < 1 || window <= 0) {
                r->quirk[Q_DRY_OFF]++;
                return peer->init_dry(NULL, s->x, s->y, s->a, window, NULL, 0);
            }
            for (int i = 0; i < s->n_breakers; i++) {
                inner[i].begin = (void *)s->breaker[i];
                inner[i].end = inner[i].end_of_storage = (void *)(s->breaker[i] + s->breaker_len[i]);
            }
            return peer->init_dry_testing(s->x, s->y, s->a, window, &outer);
        }
        default: return NULL;
    }
}

static int describe(const spec *s, char *buf, size_t size)
{
    const char *name = kind_name[s->kind];
    const double x = s->x, y = s->y, z = s->z;
    const size_t keep = s->min_keep;
    const int nb = s->n_breakers;
    switch (s->kind) {
        case LOGIT_BIAS: {
            int len = snprintf(buf, size, "%s(", name);
            for (int i = 0; i < s->n_bias && len < (int)size; i++)
                len += snprintf(buf + len, size - (size_t)len, "%s%d:%.9g", i ? ", " : "", s->bias[i].token,
                                (double)s->bias[i].bias);
            return len < (int)size ? len + snprintf(buf + len, size - (size_t)len, ")") : len;
        }
        case GREEDY: return snprintf(buf, size, "%s()", name);
        case DIST: return snprintf(buf, size, "%s(seed %u)", name, s->seed);
        case TOP_K: return snprintf(buf, size, "%s(%d)", name, s->a);
        case PENALTIES: return snprintf(buf, size, "%s(%d, %.9g, %.9g, %.9g)", name, s->a, x, y, z);
        case TEMP_EXT: return snprintf(buf, size, "%s(%.9g, %.9g, %.9g)", name, x, y, z);
        case MIROSTAT: return snprintf(buf, size, "%s(seed %u, %.9g, %.9g, m %d)", name, s->seed, x, y, s->a);
        case TOP_N_SIGMA:
        case TEMP: return snprintf(buf, size, "%s(%.9g)", name, x);
        case TYPICAL:
        case TOP_P:
        case MIN_P: return snprintf(buf, size, "%s(%.9g, keep %zu)", name, x, keep);
        case XTC: return snprintf(buf, size, "%s(%.9g, %.9g, keep %zu, seed %u)", name, x, y, keep, s->seed);
        case DRY: return snprintf(buf, size, "%s(%.9g, %.9g, %d, %d, breaks %d)", name, x, y, s->a, s->b, nb);
        default: return snprintf(buf, size, "%s(%.9g, %.9g, seed %u)", name, x, y, s->seed);
    }
}

/* ------------------------------------------------------------------------------------ samplers made wrong */

/* What the comparison must catch: samplers of ours, written here with one fault each. */
enum { MUTANT_TOP_P = 1, MUTANT_TOP_N_SIGMA = 2, MUTANT_TEMP = 3, N_MUTANTS = 3 };
static const char *const mutant_name[N_MUTANTS + 1] = {
    "none",
    "top_p stops at the first `cum < p`, not `cum >= p`",
    "top_n_sigma masks `l > cut`, not `l < cut`",
    "temp multiplies by 1 / t, and so is off in the last bit",
};

static int by_logit(const void *a, const void *b)
{
    const samp_token_data *x = a, *y = b;
    if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* In float, one token after the other, as the peer does. */
static void softmax_in_order(samp_token_data_array *cur)
{
    float sum = 0, max = cur->data[0].logit;
    for (size_t i = 1; i < cur->size; i++) max = fmaxf(max, cur->data[i].logit);
    for (size_t i = 0; i < cur->size; i++) sum += cur->data[i].p = expf(cur->data[i].logit - max);
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p /= sum;
}

static int wrong_top_p(samp_sampler *s, samp_token_data_array *cur)
{
    const spec *param = s->ctx;
    float cum = 0;
    if (param->x >= 1) return SAMP_OK;
    qsort(cur->data, cur->size, sizeof *cur->data, by_logit);
    softmax_in_order(cur);
    for (size_t i = 0; i < cur->size; i++) {
        cum += cur->data[i].p;
        if (cum < param->x && i + 1 >= param->min_keep) {
            cur->size = i + 1;
            break;
        }
    }
    cur->sorted = true;
    return SAMP_OK;
}

static int wrong_top_n_sigma(samp_sampler *s, samp_token_data_array *cur)
{
    const spec *param = s->ctx;
    float max = -INFINITY, mean = 0, acc = 0, cut;
    size_t count = 0;
    if (param->x <= 0 || cur->size < 2) return SAMP_OK;
    for (size_t i = 0; i < cur->size; i++) {
        if (cur->data[i].logit == -INFINITY) continue;
        max = fmaxf(max, cur->data[i].logit);
        mean += cur->data[i].logit;
        count++;
    }
    mean /= (float)count;
    for (size_t i = 0; i < cur->size; i++) {
        double d = cur->data[i].logit - mean;
        if (cur->data[i].logit != -INFINITY) acc = (float)(acc + d * d);
    }
    cut = max - param->x * (float)sqrt(acc / (float)count);
    for (size_t i = 0; i < cur->size; i++)
        if (cur->data[i].logit > cut) cur->data[i].logit = -INFINITY;
    return SAMP_OK;
}

static int wrong_temp(samp_sampler *s, samp_token_data_array *cur)
{
    const spec *param = s->ctx;
    float r = 1.0f / param->x;
    for (size_t i = 0; i < cur->size; i++) cur->data[i].logit *= r;
    return SAMP_OK;
}

static samp_sampler *wrong_clone(const samp_sampler *s) { return samp_init_custom(s->iface, s->ctx); }

/* The wrong sampler in the place of this one, or NULL: the right one. The spec is borrowed. */
static samp_sampler *mutant_of(int mutant, const spec *s)
{
    static const samp_sampler_i top_p = { NULL, NULL, wrong_top_p, NULL, wrong_clone, NULL, NULL, NULL };
    static const samp_sampler_i top_n_sigma = { NULL, NULL, wrong_top_n_sigma, NULL, wrong_clone, NULL, NULL, NULL };
    static const samp_sampler_i temp = { NULL, NULL, wrong_temp, NULL, wrong_clone, NULL, NULL, NULL };
    const samp_sampler_i *wrong = NULL;
    if (mutant == MUTANT_TOP_P && s->kind == TOP_P) wrong = &top_p;
    if (mutant == MUTANT_TOP_N_SIGMA && s->kind == TOP_N_SIGMA) wrong = &top_n_sigma;
    if (mutant == MUTANT_TEMP && s->kind == TEMP && s->x > 0) wrong = &temp;
    return wrong ? samp_init_custom(wrong, (void *)s) : NULL;
}

/* ----------------------------------------------------------------------------------------------- one case */

typedef enum way { STEP, WHOLE, TIES } way;

/* Everything that a seed determines. */
typedef struct test_case {
    uint64_t seed;
    way way;
    int32_t n_tokens;
    int depth;
    spec chain[MAX_DEPTH];
    row_shape row; /* its likely tokens are accepted often, so that tokens repeat */
} test_case;

static size_t random_min_keep(source *r, int32_t n)
{
    double u = uniform(r);
    return u < 0.4 ? 0 : u < 0.7 ? 1 : u < 0.9 ? (size_t)between(r, 2, 10) : (size_t)between(r, 1, n + 2);
}

/* Of the probability: top_p, typical. */
static float random_share(source *r)
{
    double u = uniform(r);
    return u < 0.1   ? 1.0f
           : u < 0.2 ? PICK(r, 1e-6f, 0.001f, 0.01f)
           : u < 0.3 ? PICK(r, 0.99f, 0.999f, 0.9999f, 0.9999999f)
           : u < 0.7 ? PICK(r, 0.1f, 0.3f, 0.5f, 0.8f, 0.9f, 0.95f)
                     : float_between(r, 0.001, 0.999);
}

static float random_temp(source *r, bool allow_zero)
{
    double u = uniform(r);
    if (allow_zero && u < 0.1) return 0;
    return u < 0.2   ? 1.0f
           : u < 0.5 ? PICK(r, 0.5f, 0.7f, 0.8f, 1.5f, 2.0f)
           : u < 0.6 ? PICK(r, 0.001f, 0.01f, 10.0f, 100.0f)
                     : float_between(r, 0.1, 2.0);
}

static void random_bias(source *r, const test_case *c, spec *s, bool first, report *rep)
{
    s->n_bias = chance(r, 0.1) ? 0 : between(r, 1, 8);
    for (int i = 0; i < s->n_bias; i++) {
        samp_logit_bias *b = &s->bias[i];
        b->token = chance(r, 0.3) ? c->row.likely[index_below(r, c->row.n_likely)] : index_below(r, c->row.n);
        b->bias = chance(r, 0.2) ? PICK(r, 100.0f, -100.0f, 0.0f, 1e-3f) : float_between(r, -5, 5);
        /* Banning is for a chain's first sampler and long rows, else it might mask the last token left. */
        if (first && c->row.n > 64 && c->row.masked == 0 && chance(r, 0.1)) b->bias = -INFINITY;
        for (int j = 0; j < i && !first; j++) {
            if (s->bias[j].token != b->token) continue;
            rep->quirk[Q_BIAS_TWICE]++;
            s->n_bias = i;
            return;
        }
    }
}

static void random_dry(source *r, const test_case *c, spec *s)
{
    s->x = chance(r, 0.1) ? 0.0f : chance(r, 0.5) ? PICK(r, 0.5f, 0.8f, 1.0f, 2.0f) : float_between(r, 0.01, 2);
    s->y = chance(r, 0.1) ? 1.0f : chance(r, 0.5) ? 1.75f : float_between(r, 1, 2.2);
    s->a = chance(r, 0.5) ? 2 : between(r, 0, 5);
    s->b = chance(r, 0.1) ? 0 : chance(r, 0.3) ? -1 : between(r, 1, 100);
    s->n_breakers = between(r, 0, 3);
    for (int i = 0; i < s->n_breakers; i++) {
        s->breaker_len[i] = chance(r, 0.6) ? 1 : between(r, 2, 3);
        for (int j = 0; j < s->breaker_len[i]; j++)
            s->breaker[i][j] = chance(r, 0.7) ? c->row.likely[index_below(r, c->row.n_likely)]
                                              : index_below(r, c->row.n);
    }
}

static void random_sampler(source *r, const test_case *c, spec *s, kind k, bool first, report *rep)
{
    memset(s, 0, sizeof *s);
    s->kind = k;
    s->seed = (uint32_t)(choose(r, 8) % 0xffffffff); /* 2^32 - 1 means "random" to the peer */
    if (chance(r, 0.1)) s->seed = (uint32_t)index_below(r, 2);
    s->min_keep = random_min_keep(r, c->row.n);
    switch (k) {
        case LOGIT_BIAS: random_bias(r, c, s, first, rep); break;
        case DRY: random_dry(r, c, s); break;
        case PENALTIES:
            s->a = chance(r, 0.1) ? 0 : chance(r, 0.4) ? 64 : between(r, 1, 200);
            s->x = chance(r, 0.3)   ? 1.0f
                   : chance(r, 0.4) ? PICK(r, 0.1f, 1.05f, 1.1f, 1.3f, 10.0f)
                                    : float_between(r, 0.5, 2);
            s->y = chance(r, 0.4) ? 0.0f : float_between(r, -1, 2);
            s->z = chance(r, 0.4) ? 0.0f : float_between(r, -1, 2);
            break;
        case TOP_N_SIGMA:
            s->x = chance(r, 0.1)   ? PICK(r, -1.0f, 0.0f)
                   : chance(r, 0.1) ? PICK(r, 0.01f, 100.0f)
                                    : float_between(r, 0.1, 4);
            break;
        case TOP_K:
            s->a = chance(r, 0.1)   ? between(r, -1, 0)
                   : chance(r, 0.1) ? between(r, 1, c->row.n + 5)
                   : chance(r, 0.3) ? between(r, 1, 3)
                   : chance(r, 0.2) ? between(r, 120, 140)
                                    : log_between(r, 1, c->row.n);
            break;
        case TYPICAL:
        case TOP_P: s->x = random_share(r); break;
        case MIN_P:
            s->x = chance(r, 0.1)   ? 0.0f
                   : chance(r, 0.1) ? 1.0f
                   : chance(r, 0.3) ? PICK(r, 1e-6f, 0.001f, 0.02f, 0.05f, 0.1f)
                                    : float_between(r, 0, 1);
            break;
        case XTC:
            s->x = chance(r, 0.1) ? 0.0f : chance(r, 0.3) ? 1.0f : float_between(r, 0, 1);
            s->y = chance(r, 0.3) ? 0.1f : float_between(r, 0, 0.3);
            if (chance(r, 0.1)) s->y = PICK(r, 0.0f, 0.5f, 0.6f, 1.0f);
            break;
        case TEMP: s->x = random_temp(r, true); break;
        case TEMP_EXT:
            s->x = random_temp(r, true);
            s->y = chance(r, 0.3) ? 0.0f : chance(r, 0.3) ? s->x : float_between(r, 0, 2);
            s->z = chance(r, 0.5) ? 1.0f : PICK(r, 0.0f, 0.3f, 0.5f, 2.0f, 5.0f);
            break;
        case MIROSTAT:
        case MIROSTAT_V2:
            s->x = chance(r, 0.3) ? 5.0f : chance(r, 0.1) ? PICK(r, 0.0f, 20.0f) : float_between(r, 0.1, 10);
            s->y = chance(r, 0.3) ? 0.1f : chance(r, 0.1) ? PICK(r, 0.0f, 3.0f) : float_between(r, 0, 1);
            s->a = chance(r, 0.5) ? 100 : between(r, 2, 200);
            break;
        case ADAPTIVE_P:
            s->x = chance(r, 0.1) ? -1.0f : chance(r, 0.1) ? PICK(r, 0.0f, 1.0f) : float_between(r, 0, 1);
            s->y = chance(r, 0.1) ? PICK(r, 0.0f, 0.99f) : float_between(r, 0, 0.99);
            break;
        default: break;
    }
}

static bool in_place(kind k)
{
    return k == LOGIT_BIAS || k == PENALTIES || k == DRY || k == TOP_N_SIGMA || k == TEMP;
}

/* A chain ends with a sampler that selects, seldom followed by some that keep every token in its place.
 * Others that select may stand anywhere. adaptive_p makes exact ties of small probabilities: nothing that
 * sorts comes after it. */
static void random_chain(source *r, test_case *c, report *rep)
{
    kind k = LOGIT_BIAS;
    bool only_in_place = false;
    int tail = chance(r, 0.05) ? between(r, 1, 2) : 0;
    c->depth = between(r, 1, MAX_DEPTH);
    if (tail >= c->depth) tail = 0;
    for (int i = 0; i < c->depth; i++) {
        bool last = i == c->depth - 1 - tail;
        if (last)
            k = chance(r, 0.45) ? DIST : (kind)between(r, GREEDY, ADAPTIVE_P);
        else if (chance(r, 0.05) && !only_in_place)
            k = (kind)between(r, GREEDY, ADAPTIVE_P);
        else
            k = (kind)between(r, LOGIT_BIAS, TEMP_EXT);
        if (i > c->depth - 1 - tail || (only_in_place && !last)) do
                k = (kind)between(r, LOGIT_BIAS, TEMP_EXT);
            while (!in_place(k));
        if (only_in_place && last) k = chance(r, 0.5) ? DIST : GREEDY;
        only_in_place |= k == ADAPTIVE_P;
        random_sampler(r, c, &c->chain[i], k, i == 0, rep);
    }
}

static int32_t random_vocab(source *r)
{
    double u = uniform(r);
    return u < 0.03   ? 1
           : u < 0.10 ? between(r, 2, 8)
           : u < 0.70 ? log_between(r, 8, 1024)
           : u < 0.94 ? log_between(r, 1024, 8192)
           : u < 0.99 ? log_between(r, 8192, 65536)
                      : log_between(r, 65536, MAX_VOCAB);
}

/* samp_sample can't be stepped around, so chains that would often meet a quirk or a tie go step by step. */
static bool may_run_whole(const test_case *c)
{
    bool changed = false;
    for (int i = 0; i < c->depth; i++) {
        kind k = c->chain[i].kind;
        if (k == TYPICAL && (c->row.masked > 0 || changed || c->row.scale > 3)) return false;
        if (k == XTC && c->row.masked > 0 && c->chain[i].y == 0) return false;
        if (k == LOGIT_BIAS && i > 0) return false;
        if (k == ADAPTIVE_P && i < c->depth - 1) return false;
        changed |= in_place(k) || k == TEMP_EXT;
    }
    return true;
}

static void make_case(test_case *c, uint64_t seed, bool ties, report *rep)
{
    source r = source_two(seed, 0);
    int32_t most;
    memset(c, 0, sizeof *c);
    c->seed = seed;
    c->row.n = ties ? log_between(&r, 64, REAL_WIDTH) : random_vocab(&r);
    most = 300000 / c->row.n;
    c->n_tokens = between(&r, 1, most < 1 ? 1 : most > MAX_TOKENS ? MAX_TOKENS : most);
    c->row.kind = ties ? ROW_REAL_TIES : (row_kind)index_below(&r, ROW_REAL_TIES);
    if (c->row.kind == ROW_REAL && c->row.n > REAL_WIDTH) c->row.kind = ROW_PEAKED;
    c->row.scale = c->row.kind != ROW_NORMAL ? 2.2 : PICK(&r, 0.01f, 0.5f, 1.0f, 2.2f, 5.0f, 20.0f);
    c->row.masked = chance(&r, 0.75) ? 0 : chance(&r, 0.5) ? float_between(&r, 0, 1) : 1 - pow(uniform(&r), 4);
    c->row.n_likely = between(&r, 1, 6);
    for (int i = 0; i < c->row.n_likely; i++) c->row.likely[i] = index_below(&r, c->row.n);
    random_chain(&r, c, rep);
    c->way = ties ? TIES : chance(&r, 0.3) && may_run_whole(c) ? WHOLE : STEP;
}

/* ------------------------------------------------------------------------------------------------ the run */

/* One process's state: the peer, the case in hand, the arrays. */
typedef struct run {
    const llama_peer *peer;
    report *rep;
    int mutant;
    bool quiet, verbose;
    const test_case *c;
    samp_sampler *our_chain;
    peer_sampler *peer_chain;
    samp_token_data_array ours;
    peer_array theirs;
    float *row;
    samp_token_data *our_data, *before; /* before: the array as a sampler got it, for scores of typical */
    size_t n_before;
    peer_data *peer_data;
    int at_token, at_step;
    bool excused; /* a tie or a quirk that can change a token has been met */
    bool skipped; /* a step was left out on both sides, as a quirk: fine in steps, another token otherwise */
} run;

typedef enum outcome { SAME, TIED, MASKED_ORDER, DIFFER } outcome;

static uint32_t bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static void print_case(const run *t)
{
    char text[512];
    const test_case *c = t->c;
    printf("  %d tokens of vocabulary, row %s", c->row.n, row_name[c->row.kind]);
    if (c->row.kind == ROW_NORMAL) printf(" (scale %g)", c->row.scale);
    printf(", masked %.3g, token %d of %d\n  chain", c->row.masked, t->at_token, c->n_tokens);
    for (int i = 0; i < c->depth; i++) {
        describe(&c->chain[i], text, sizeof text);
        printf("%s %s", i ? " ->" : "", text);
    }
    printf("\n  again: parity LIBLLAMA --case %llu%s\n", (unsigned long long)c->seed,
           c->way == TIES ? " --ties" : "");
    fflush(stdout);
}

static bool show(run *t)
{
    if (t->quiet || t->rep->shown >= MAX_SHOWN) return false;
    t->rep->shown++;
    return true;
}

static void show_entry(size_t i, const char *side, int32_t id, double logit, double p)
{
    printf("  [%zu] %s id %6d logit %.9g (%a) p %.9g (%a)\n", i, side, id, logit, logit, p, p);
}

/* Both arrays around their first difference. */
static void show_arrays(run *t, const char *what)
{
    char text[512];
    size_t i = 0, n = t->ours.size < t->theirs.size ? t->ours.size : t->theirs.size;
    if (!show(t)) return;
    describe(&t->c->chain[t->at_step], text, sizeof text);
    while (i < n && !memcmp(&t->ours.data[i], &t->theirs.data[i], sizeof t->ours.data[i])) i++;
    printf("DIFFERENCE, %s, at step %d, %s\n", what, t->at_step, text);
    printf("  ours      size %zu selected %lld sorted %d\n", t->ours.size, (long long)t->ours.selected,
           t->ours.sorted);
    printf("  llama.cpp size %zu selected %lld sorted %d\n", t->theirs.size, (long long)t->theirs.selected,
           t->theirs.sorted);
    for (size_t j = i; j < i + 2; j++) {
        if (j < t->ours.size)
            show_entry(j, "ours     ", t->ours.data[j].id, t->ours.data[j].logit, t->ours.data[j].p);
        if (j < t->theirs.size)
            show_entry(j, "llama.cpp", t->theirs.data[j].id, t->theirs.data[j].logit, t->theirs.data[j].p);
    }
    print_case(t);
}

/* typical: tokens on either side of the entropy can have exactly the same score, and unequal p. Which of them
 * comes first shows in the last bits of the float sum, so the cut may come a token earlier or later, or it
 * may fall between them. TIED if that explains the difference: the same scores in the same order, and, if
 * not as many, masses equal up to the rounding of the sum, a token at the cut, and what is tied with it. */
static outcome compare_typical(run *t)
{
    samp_token_data_array cur = { t->before, t->n_before, -1, false };
    const samp_token_data *a = t->ours.data;
    const peer_data *b = t->theirs.data;
    const size_t n = t->ours.size < t->theirs.size ? t->ours.size : t->theirs.size;
    double mass = 0, at_cut = 0, group = 0;
    bool tied = false;
    float h = 0, last = -1;
    qsort(cur.data, cur.size, sizeof *cur.data, by_logit);
    softmax_in_order(&cur);
    for (size_t i = 0; i < cur.size; i++) h -= cur.data[i].p * logf(cur.data[i].p);
    for (size_t i = 0; i < n; i++) {
        float ours = fabsf(-logf(a[i].p) - h), theirs = fabsf(-logf(b[i].p) - h);
        double off = (double)a[i].p - (double)b[i].p;
        mass += off;
        group = fabs(off) + (ours == last ? group : 0);
        last = ours;
        if (!memcmp(&a[i], &b[i], sizeof a[i])) continue;
        if (a[i].id == b[i].id || bits(ours) != bits(theirs)) return DIFFER;
        tied = true;
    }
    for (size_t i = n; i < t->ours.size; i++) mass += (double)a[i].p, at_cut = fmax(at_cut, (double)a[i].p);
    for (size_t i = n; i < t->theirs.size; i++) mass -= (double)b[i].p, at_cut = fmax(at_cut, (double)b[i].p);
    if (tied && t->ours.size == t->theirs.size) return TIED;
    return tied && fabs(mass) <= at_cut + group + (double)n * 0x1p-23 ? TIED : DIFFER;
}

/* Are the two arrays the same, up to the order of exact ties? */
static outcome compare_arrays(run *t)
{
    const kind k = t->c->chain[t->at_step].kind;
    const bool writes_p = k == TOP_P || k == XTC || k == TEMP_EXT || k >= GREEDY;
    const samp_token_data *a = t->ours.data;
    const peer_data *b = t->theirs.data;
    const size_t n = t->ours.size;
    outcome result = SAME;
    if (n == t->theirs.size && !memcmp(a, b, n * sizeof *a)) return SAME;
    if (k == TYPICAL) return compare_typical(t);
    if (n != t->theirs.size) return DIFFER;
    for (size_t i = 0; i < n; i++) {
        if (!memcmp(&a[i], &b[i], sizeof a[i])) continue;
        if (a[i].id == b[i].id || bits(a[i].logit) != bits(b[i].logit)) return DIFFER;
        if (a[i].logit == -INFINITY) { /* p is from before the masking */
            if (result == SAME) result = MASKED_ORDER;
            continue;
        }
        if (writes_p && bits(a[i].p) != bits(b[i].p)) return DIFFER;
        result = TIED;
    }
    return result;
}

static int by_bits(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* For rows with ties: the same logits, in whatever order and with whatever ids. */
static outcome compare_multisets(run *t)
{
    size_t n = t->ours.size;
    outcome exact = compare_arrays(t);
    uint32_t *x, *y;
    bool same;
    if (exact != DIFFER || n != t->theirs.size || t->c->chain[t->at_step].kind == TYPICAL) return exact;
    x = malloc(2 * n * sizeof *x);
    y = x + n;
    for (size_t i = 0; i < n; i++) {
        x[i] = bits(t->ours.data[i].logit);
        y[i] = bits(t->theirs.data[i].logit);
    }
    qsort(x, n, sizeof *x, by_bits);
    qsort(y, n, sizeof *y, by_bits);
    same = !memcmp(x, y, n * sizeof *x);
    free(x);
    return same ? TIED : DIFFER;
}

/* Our array continues as a copy of theirs. */
static void take_theirs(run *t)
{
    memcpy(t->ours.data, t->theirs.data, t->theirs.size * sizeof *t->ours.data);
    t->ours.size = t->theirs.size;
    t->ours.selected = t->theirs.selected;
}

/* True if this call would meet a quirk that leaves nothing to compare. */
static bool skip_step(run *t, const spec *s)
{
    float max = -INFINITY, min = INFINITY;
    quirk met = N_QUIRKS;
    if (s->kind != TYPICAL && s->kind != XTC) return false;
    for (size_t i = 0; i < t->theirs.size; i++) {
        max = fmaxf(max, t->theirs.data[i].logit);
        min = fminf(min, t->theirs.data[i].logit);
    }
    /* exp(-80) / sum is still above 0 */
    if (s->kind == TYPICAL && s->x < 1 && max - min > 80) met = Q_TYPICAL_NAN;
    if (s->kind == XTC && s->x > 0 && s->y == 0 && min == -INFINITY) met = Q_XTC_MASKED;
    if (met == N_QUIRKS) return false;
    t->rep->quirk[met]++;
    t->skipped = true;
    return true;
}

/* Has an overflow sent the peer's logits to infinity, or all to -infinity? Ours stop at +-FLT_MAX. */
static bool overflowed(const run *t)
{
    float max = -INFINITY;
    for (size_t i = 0; i < t->theirs.size; i++) {
        float theirs = t->theirs.data[i].logit;
        if (theirs == -INFINITY && i < t->ours.size && t->ours.data[i].logit == -FLT_MAX) return true;
        max = fmaxf(max, theirs);
    }
    return isinf(max);
}

/* What the peer's array needs before the next step. False: nothing further can be compared. */
static bool step_around(run *t, const spec *s)
{
    peer_array *theirs = &t->theirs;
    float max = -INFINITY;
    bool new_logits = s->kind == ADAPTIVE_P || (s->kind == LOGIT_BIAS && s->n_bias > 0);
    if (new_logits && theirs->sorted && !t->ours.sorted) {
        t->rep->quirk[s->kind == LOGIT_BIAS ? Q_BIAS_SORTED : Q_ADAPTIVE_SORTED]++;
        theirs->sorted = false;
    }
    for (size_t i = 0; i < theirs->size; i++) max = fmaxf(max, theirs->data[i].logit);
    if (max < 3e8f) return true;
    t->rep->quirk[Q_BUCKETS]++;
    t->excused = true;
    return false;
}

/* Apply sampler `at_step` on both sides and compare. False: the case is over. */
static bool step(run *t)
{
    const spec *s = &t->c->chain[t->at_step];
    report *rep = t->rep;
    const bool ties = t->c->way == TIES;
    const bool same_flag = t->ours.sorted == t->theirs.sorted;
    int status;
    outcome result;

    if (skip_step(t, s)) return true;
    if (s->kind == TYPICAL) {
        memcpy(t->before, t->ours.data, t->ours.size * sizeof *t->before);
        t->n_before = t->ours.size;
    }
    status = samp_apply(samp_chain_get(t->our_chain, t->at_step), &t->ours);
    t->peer->apply(t->peer->chain_get(t->peer_chain, t->at_step), &t->theirs);
    if (overflowed(t)) {
        rep->quirk[Q_OVERFLOW]++;
        t->excused = true;
        return false;
    }
    (ties ? rep->tie_applied : rep->applied)[s->kind]++;
    if (status != SAMP_OK) {
        (ties ? rep->tie_differ : rep->differ)[s->kind]++;
        show_arrays(t, samp_strerror(status));
        return false;
    }
    result = ties ? compare_multisets(t) : compare_arrays(t);
    if (result == DIFFER) {
        (ties ? rep->tie_differ : rep->differ)[s->kind]++;
        show_arrays(t, "candidates");
        return false;
    }
    if (result == TIED) (ties ? rep->tie_order : rep->tied)[s->kind]++;
    if (result == MASKED_ORDER) rep->quirk[Q_MASKED_ORDER]++;
    t->excused |= result == TIED;
    if (!step_around(t, s)) return false;
    if (t->ours.selected != t->theirs.selected && result == SAME) {
        (ties ? rep->tie_differ : rep->differ)[s->kind]++;
        show_arrays(t, "selected");
        return false;
    }
    if (same_flag && t->ours.sorted != t->theirs.sorted && !rep->flags[s->kind]++ && t->verbose)
        show_arrays(t, "only the flag `sorted`");
    if (result != SAME) take_theirs(t);
    return true;
}

static void fill(run *t)
{
    const int32_t n = t->c->row.n;
    for (int32_t i = 0; i < n; i++) t->peer_data[i] = (peer_data){ i, t->row[i], 0 };
    t->theirs = (peer_array){ t->peer_data, (size_t)n, -1, false };
    memcpy(t->our_data, t->peer_data, (size_t)n * sizeof *t->our_data);
    t->ours = (samp_token_data_array){ t->our_data, (size_t)n, -1, false };
}

static void show_tokens(run *t, samp_token ours, samp_token theirs)
{
    if (!show(t)) return;
    printf("DIFFERENCE, token: ours %d%s%s, llama.cpp %d\n", ours, ours < 0 ? " " : "",
           ours < 0 ? samp_strerror(ours) : "", theirs);
    print_case(t);
}

/* The next token, step by step. -1: the case is over. */
static samp_token token_by_steps(run *t)
{
    samp_token ours, theirs;
    const bool ties = t->c->way == TIES;
    fill(t);
    for (t->at_step = 0; t->at_step < t->c->depth; t->at_step++)
        if (!step(t)) return -1;
    theirs = t->theirs.selected < 0 ? -1 : t->theirs.data[t->theirs.selected].id;
    ours = t->ours.selected < 0 ? -1 : t->ours.data[t->ours.selected].id;
    *(ties ? &t->rep->tie_tokens : &t->rep->tokens) += 1;
    if (ours == theirs) return theirs;
    if (ties || t->excused) { /* a tie: the states of the two chains may differ from here on */
        t->rep->tie_other += ties;
        return -1;
    }
    t->rep->token_differ++;
    show_tokens(t, ours, theirs);
    return -1;
}

static void run_case(run *t, const test_case *c);

/* Why a whole chain gave another token: the case again, in steps. True: a tie or a quirk decided. */
static bool explain(run *t, samp_token ours, samp_token theirs)
{
    report *scratch = calloc(1, sizeof *scratch);
    run again = *t;
    test_case c = *t->c;
    bool excused;
    c.way = STEP;
    again.rep = scratch;
    scratch->shown = t->rep->shown;
    again.excused = again.skipped = false;
    run_case(&again, &c);
    t->rep->shown = scratch->shown;
    excused = (again.excused || again.skipped) && !differences(scratch);
    if (!excused && !differences(scratch)) show_tokens(t, ours, theirs);
    free(scratch);
    return excused;
}

/* The next token by one call. The case is over with -1, a difference, and with -2, a tie or a quirk. */
static samp_token token_by_chain(run *t, bool accept_apart)
{
    samp_token ours, theirs;
    size_t n = (size_t)t->c->row.n;
    uint64_t steps = samp_perf(t->our_chain).n_steps;
    if (accept_apart) {
        ours = samp_draw(t->our_chain, t->row, n);
        if (ours >= 0) samp_accept(t->our_chain, ours);
    } else {
        ours = samp_sample(t->our_chain, t->row, n);
    }
    fill(t);
    t->peer->apply(t->peer_chain, &t->theirs);
    theirs = t->theirs.selected < 0 ? -1 : t->theirs.data[t->theirs.selected].id;
    t->peer->accept(t->peer_chain, theirs);
    t->rep->tokens++;
    t->rep->whole_tokens++;
    t->rep->whole_steps += samp_perf(t->our_chain).n_steps - steps;
    if (ours == theirs) return theirs;
    if (ours == SAMP_E_EMPTY && theirs >= 0 && t->theirs.data[t->theirs.selected].logit == -INFINITY) {
        t->rep->quirk[Q_MASKED_TOKEN]++;
        return -2;
    }
    return -1 - explain(t, ours, theirs);
}

static bool has(const test_case *c, kind k)
{
    for (int i = 0; i < c->depth; i++)
        if (c->chain[i].kind == k) return true;
    return false;
}

/* Replace the chains by their clones, or clone them and throw the clones away. */
static void do_clone(run *t, bool keep)
{
    samp_sampler *ours = samp_clone(t->our_chain);
    t->rep->clones++;
    if (keep) {
        samp_free(t->our_chain);
        t->our_chain = ours;
    } else {
        samp_free(ours);
    }
    if (has(t->c, ADAPTIVE_P)) {
        t->rep->quirk[Q_ADAPTIVE_CLONE]++;
    } else {
        peer_sampler *theirs = t->peer->clone(t->peer_chain);
        t->peer->free(keep ? t->peer_chain : theirs);
        if (keep) t->peer_chain = theirs;
    }
}

static void do_accept(run *t, samp_token token)
{
    int status = samp_accept(t->our_chain, token);
    if (status != SAMP_OK) fprintf(stderr, "samp_accept(%d): %s\n", token, samp_strerror(status));
    t->peer->accept(t->peer_chain, token);
    t->rep->accepts++;
}

/* Between two tokens: prompt tokens, a reset, a clone. Never depends on what was sampled. */
static void do_events(run *t, source *r)
{
    const test_case *c = t->c;
    if (chance(r, t->at_token ? 0.05 : 0.5))
        for (int i = between(r, 1, t->at_token ? 8 : 40); i > 0; i--)
            do_accept(t, chance(r, 0.8) ? c->row.likely[index_below(r, c->row.n_likely)] : index_below(r, c->row.n));
    if (chance(r, 0.03)) {
        samp_reset(t->our_chain);
        t->peer->reset(t->peer_chain);
        t->rep->resets++;
    }
    if (chance(r, 0.04)) do_clone(t, chance(r, 0.7));
    if (t->at_token && chance(r, 0.2)) do_accept(t, c->row.likely[index_below(r, c->row.n_likely)]);
}

static bool build_chains(run *t)
{
    const test_case *c = t->c;
    const char *field = NULL;
    int status;
    t->our_chain = samp_chain_init();
    samp_set_rng(t->our_chain, SAMP_RNG_MT19937); /* first: what selects may then stand in front of anything */
    t->peer_chain = t->peer->chain_init(t->peer->chain_params());
    for (int i = 0; i < c->depth; i++) {
        samp_chain_add(t->our_chain, make_ours(&c->chain[i], c->row.n, t->mutant));
        t->peer->chain_add(t->peer_chain, make_peer(t->peer, &c->chain[i], c->row.n, t->rep));
    }
    status = samp_set_rng(t->our_chain, SAMP_RNG_MT19937);
    if (status == SAMP_OK) status = samp_status(t->our_chain, &field);
    if (status == SAMP_OK) return true;
    t->rep->token_differ++;
    if (show(t)) {
        printf("DIFFERENCE, our chain is refused: %s (%s)\n", samp_strerror(status), field ? field : "?");
        print_case(t);
    }
    return false;
}

static void run_case(run *t, const test_case *c)
{
    t->c = c;
    t->at_token = 0;
    t->excused = t->skipped = false;
    *(c->way == TIES ? &t->rep->tie_chains : &t->rep->chains) += 1;
    t->rep->masked_rows += c->row.masked > 0;
    if (build_chains(t)) {
        for (; t->at_token < c->n_tokens; t->at_token++) {
            source r = source_two(c->seed, (uint64_t)t->at_token + 1);
            samp_token token;
            do_events(t, &r);
            make_row(&c->row, &r, t->row);
            if (c->way == WHOLE) {
                token = token_by_chain(t, chance(&r, 0.3));
                if (token < 0) {
                    t->rep->whole_excused += token == -2;
                    t->rep->whole_differ += token == -1;
                    break;
                }
            } else {
                token = token_by_steps(t);
                if (token < 0) break;
                do_accept(t, token);
            }
        }
    }
    samp_free(t->our_chain);
    t->peer->free(t->peer_chain);
}

/* --------------------------------------------------------------------------------------------- many cases */

typedef struct options {
    const char *library, *rows;
    uint64_t tokens, seed, one_case;
    int jobs, mutant;
    bool has_case, ties, verbose;
} options;

static void run_open(run *t, const options *o, const llama_peer *peer, report *rep)
{
    memset(t, 0, sizeof *t);
    t->peer = peer;
    t->rep = rep;
    t->mutant = o->mutant;
    t->verbose = o->verbose;
    t->row = malloc(MAX_VOCAB * sizeof *t->row);
    t->our_data = malloc(MAX_VOCAB * sizeof *t->our_data);
    t->before = malloc(MAX_VOCAB * sizeof *t->before);
    t->peer_data = malloc(MAX_VOCAB * sizeof *t->peer_data);
}

static void run_close(run *t)
{
    free(t->row);
    free(t->our_data);
    free(t->before);
    free(t->peer_data);
}

/* Cases until `tokens` tokens are compared; one in 20 has a row with ties, and its tokens come on top. */
static void run_many(const options *o, const llama_peer *peer, uint64_t seed, uint64_t tokens, report *rep,
                     bool quiet)
{
    run t;
    test_case *c = malloc(sizeof *c);
    run_open(&t, o, peer, rep);
    t.quiet = quiet;
    for (uint64_t i = 0; rep->tokens < tokens && differences(rep) < 1000; i++) {
        bool ties = i % 20 == 19;
        make_case(c, (seed << 32) + i * 2 + ties, ties, rep);
        run_case(&t, c);
    }
    run_close(&t);
    free(c);
}

static void add_report(report *sum, const report *part)
{
    const uint64_t *from = (const uint64_t *)part; /* a report is nothing but uint64_t */
    uint64_t *to = (uint64_t *)sum;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) to[i] += from[i];
}

/* The work in several processes with seeds of their own. False: one of them died. */
static bool run_jobs(const options *o, const llama_peer *peer, report *sum)
{
    int fds[MAX_JOBS][2];
    pid_t pids[MAX_JOBS];
    uint64_t share = (o->tokens + (uint64_t)o->jobs - 1) / (uint64_t)o->jobs;
    bool fine = true;
    fflush(stdout);
    for (int j = 0; j < o->jobs; j++) {
        if (pipe(fds[j]) || (pids[j] = fork()) < 0) return false;
        if (pids[j] == 0) {
            report *rep = calloc(1, sizeof *rep);
            run_many(o, peer, o->seed * MAX_JOBS + (uint64_t)j, share, rep, false);
            fflush(stdout);
            _exit(write(fds[j][1], rep, sizeof *rep) != (ssize_t)sizeof *rep);
        }
        close(fds[j][1]);
    }
    for (int j = 0; j < o->jobs; j++) {
        report part;
        size_t got = 0;
        ssize_t n;
        int status;
        while (got < sizeof part && (n = read(fds[j][0], (char *)&part + got, sizeof part - got)) > 0)
            got += (size_t)n;
        close(fds[j][0]);
        if (waitpid(pids[j], &status, 0) < 0 || status != 0 || got != sizeof part)
            fine = false;
        else
            add_report(sum, &part);
    }
    return fine;
}

/* A wrong sampler must be noticed within a few thousand tokens. True: all of them were. */
static bool mutants_caught(const options *o, const llama_peer *peer)
{
    bool fine = true;
    for (int m = 1; m <= N_MUTANTS; m++) {
        report *rep = calloc(1, sizeof *rep);
        options with = *o;
        with.mutant = m;
        run_many(&with, peer, 0xbad, 5000, rep, true);
        printf("made wrong: %s: %llu differences in %llu chains%s\n", mutant_name[m],
               (unsigned long long)differences(rep), (unsigned long long)rep->chains,
               differences(rep) ? ", caught" : ", NOT CAUGHT");
        fine &= differences(rep) > 0;
        free(rep);
    }
    return fine;
}

/* ------------------------------------------------------------------------------------------------- report */

typedef unsigned long long ull;

static void print_report(const report *r, double seconds)
{
    uint64_t applied = 0, differ = 0, tied = 0, flags = 0;
    printf("\n| sampler | compared calls | differences | exact ties met | calls on rows full of ties |"
           " differences |\n|---|--:|--:|--:|--:|--:|\n");
    for (int k = 0; k < N_KINDS; k++) {
        printf("| %s | %llu | %llu", kind_name[k], (ull)r->applied[k], (ull)r->differ[k]);
        printf(" | %llu | %llu | %llu |\n", (ull)r->tied[k], (ull)r->tie_applied[k], (ull)r->tie_differ[k]);
        applied += r->applied[k] + r->tie_applied[k];
        differ += r->differ[k] + r->tie_differ[k];
        tied += r->tied[k];
        flags += r->flags[k];
    }
    printf("| whole chains | %llu | %llu | %llu | | |\n", (ull)r->whole_tokens, (ull)r->whole_differ,
           (ull)r->whole_excused);
    printf("\n%llu tokens compared, %llu different, over %llu random chains, %llu with masked tokens.\n"
           "%llu samplers applied and compared, %llu different; %llu calls met an exact tie.\n",
           (ull)r->tokens, (ull)(r->token_differ + r->whole_differ), (ull)r->chains, (ull)r->masked_rows,
           (ull)applied, (ull)differ, (ull)tied);
    printf("%llu of %llu tokens of whole chains took the fast path.\n", (ull)(r->whole_tokens - r->whole_steps),
           (ull)r->whole_tokens);
    printf("%llu accepted tokens, %llu resets, %llu clones in between.\n"
           "Rows full of ties: %llu chains, %llu tokens, %llu of them another one of tied tokens.\n",
           (ull)r->accepts, (ull)r->resets, (ull)r->clones, (ull)r->tie_chains, (ull)r->tie_tokens,
           (ull)r->tie_other);
    printf("The flag `sorted` came out differently in %llu calls", (ull)flags);
    for (int k = 0, n = 0; k < N_KINDS; k++)
        if (r->flags[k]) printf("%s%s %llu", n++ ? ", " : ": ", kind_name[k], (ull)r->flags[k]);
    printf(".\n\nStepped around, because we do not copy it:\n");
    for (int q = 0; q < N_QUIRKS; q++)
        printf("  %8llu  %s: %s\n", (ull)r->quirk[q], quirk_text[q].what, quirk_text[q].instead);
    printf("\n%llu differences, %.1f seconds\n", (ull)differences(r), seconds);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int usage(void)
{
    fprintf(stderr, "usage: parity LIBLLAMA [--tokens N] [--jobs N] [--seed N] [--rows FILE] [--mutant N]\n"
                    "       parity LIBLLAMA --case SEED [--ties] [-v]\n");
    return 2;
}

static bool parse(options *o, int argc, char **argv)
{
    *o = (options){ .rows = "tests/data/real_rows.f16", .tokens = 1000000, .seed = 1, .jobs = 2 };
    if (argc < 2) return false;
    o->library = argv[1];
    for (int i = 2; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(name, "-v")) {
            o->verbose = true;
            continue;
        }
        if (!strcmp(name, "--ties")) {
            o->ties = true;
            continue;
        }
        if (!value) return false;
        i++;
        if (!strcmp(name, "--tokens"))
            o->tokens = strtoull(value, NULL, 10);
        else if (!strcmp(name, "--jobs"))
            o->jobs = atoi(value);
        else if (!strcmp(name, "--seed"))
            o->seed = strtoull(value, NULL, 10);
        else if (!strcmp(name, "--rows"))
            o->rows = value;
        else if (!strcmp(name, "--mutant"))
            o->mutant = atoi(value);
        else if (!strcmp(name, "--case")) {
            o->has_case = true;
            o->one_case = strtoull(value, NULL, 10);
        } else
            return false;
    }
    return o->jobs >= 1 && o->jobs <= MAX_JOBS && o->mutant >= 0 && o->mutant <= N_MUTANTS;
}

int main(int argc, char **argv)
{
    static llama_peer peer;
    options o;
    report *rep = calloc(1, sizeof *rep);
    double start = now();
    bool fine = true;

    if (!parse(&o, argc, argv)) return usage();
    if (!peer_load(&peer, o.library) || !load_rows(o.rows)) return 1;
    make_token_text();
    if (o.has_case) {
        run t;
        test_case *c = malloc(sizeof *c);
        run_open(&t, &o, &peer, rep);
        make_case(c, o.one_case, o.ties, rep);
        run_case(&t, c);
        if (o.verbose) print_case(&t);
        run_close(&t);
        free(c);
    } else {
        fine = run_jobs(&o, &peer, rep);
    }
    print_report(rep, now() - start);
    if (!fine) printf("a process of the comparison died\n");
    if (fine && !o.mutant && !o.has_case) fine = mutants_caught(&o, &peer);
    fine &= !differences(rep);
    free(rep);
    return !fine;
}
