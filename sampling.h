/* sampling.h - from a language model's logits to the next token.        MIT license, at the end of the file.

   One header, no dependency beyond libc and libm. In exactly one C or C++ file:

       #define SAMPLING_IMPLEMENTATION
       #include "sampling.h"

   everywhere else only the #include. C11 or C++11, gcc 11 or clang 14 and later, any little-endian machine with IEEE
   floats, of 32 or 64 bits; with kernels of its own for x86-64 (AVX-512, AVX2, SSE2), arm64 and WebAssembly.

       samp_params params = samp_default_params();            // top_k 40, top_p 0.95, min_p 0.05, temp 0.8
       samp_sampler *chain = samp_chain_from_params(&params, NULL);
       samp_token token = samp_sample(chain, logits, n_vocab);        // >= 0, or a negative status
       samp_free(chain);

   HOW A TOKEN COMES ABOUT

       logits [n_vocab] f32                                              samp_sample          >>sample
         -> array of {id, logit, p} [n_vocab]                            samp_token_data_array
         -> logit_bias, penalties, dry      change logits                apply, one by one    >>logits
         -> top_n_sigma, top_k, tail_free,
            typical, top_p, min_p, xtc      remove tokens                                     >>truncation
         -> temp, temp_ext                  scale logits                                      >>temperature
         -> greedy, dist, mirostat,
            mirostat_v2, adaptive_p         select one token                                  >>selection
         -> token id                        and every sampler is told of it by accept

   A sampler is an object with six functions (samp_sampler_i). A chain is a sampler that owns others and applies them
   in order; any order is allowed. Your own sampler stands in a chain like any other (samp_init_custom).

   TWO EXECUTORS, ONE MEANING. Step by step (samp_apply over an array of candidates) is the definition. samp_sample
   takes the fast path (>>fast) where it can: straight from the logits, without the array, with thresholds instead of
   sorts and SIMD kernels chosen at run time; where it cannot, it goes on step by step. The token is the same, always.

   The file is in the order of execution. Search for the tags:
       >>config  >>types  >>api                                        what you use; stop there if that is enough
       >>impl  >>rng  >>math                                           the ground: switches, random bits, arithmetic
       >>kernels  >>scalar  >>vectors  >>passes  >>dispatch            loops over a row, for every instruction set
       >>array                                                         checks, order and sums of candidates
       >>sampler  >>logits  >>truncation  >>temperature  >>selection   one sampler after the other
       >>llama                                                         the same samplers in llama.cpp's arithmetic
       >>describe  >>params                                            the table of samplers, constructors
       >>chain  >>fast  >>sample                                       applying them, and samp_sample itself
       >>verify  >>batch  >>state  >>operator                          drafts; many rows; what a sampler has become, as
                                                                       bytes; sampling as an operator, without samplers
       >>kv                                                            sequences and their key-value cache

   MACROS (define before including; all of them matter only in the file with the implementation, unless noted)
       SAMPLING_IMPLEMENTATION     makes the function bodies appear
       SAMPLING_STATIC             all functions static: a private copy (define it wherever you include the file)
       SAMP_MALLOC(n) SAMP_FREE(p) the heap, both or neither; used by constructors, samp_clone and samp_reserve only
       SAMP_CLOCK()                nanoseconds as uint64_t; without it no time is measured (samp_perf)
       SAMPLING_KV                 the key-value cache, samp_kv (define it wherever you include the file)
       SAMP_API                    storage class of the public functions (wherever you include the file)
       SAMP_NO_SIMD SAMP_NO_SSE2 SAMP_NO_AVX2 SAMP_NO_AVX512 SAMP_NO_NEON SAMP_NO_WASM       leave these kernels out
       SAMP_SELF_INCLUDE           this file's name, "sampling.h" with its quotes, if you call it something else: it
                                   compiles the kernels by including itself

   ERRORS. A function that returns a token returns it (>= 0) or a negative samp_status; the others return SAMP_OK or a
   negative status. A constructor given a bad value still returns an object, which carries the error: samp_status(s,
   &field) tells it, and so does every use of the object. NULL means "no memory" and nothing else. Nothing prints,
   aborts, clamps, or sets errno. After an error the sampler's own state is what it was before the call.

   BAD ROWS. -INFINITY is a masked token: never returned. NaN or +infinity anywhere in the logits is SAMP_E_NAN, no
   unmasked token left is SAMP_E_EMPTY. -0.0 counts as +0.0.

   THREADS. No globals but one atomic pointer to the kernels in use. Different samplers may be used by different
   threads at once; one sampler by one at a time.

   DETERMINISM. Under SAMP_RNG_PHILOX (the default) the token is a function of (logits, chain with its state, seed,
   position) alone. Where arithmetic decides, it is defined to the last bit and does not depend on the order in which
   tokens are visited:
     1. Each step of a chain rounds its logits to f32, in the written order.
     2. The weight of a token is w = round(2^40 * exp(l - max)), an integer, l and max f32, exp as in >>math (relative
        error below 1e-12). Sums of weights are exact in 64 bits. The probability of a token is w / sum. About 28 nats
        below the maximum w is 0, and such a token is not drawn.
     3. Cuts compare integers, or doubles got from one f32 and constants of the row. Order is (logit descending, id
        ascending), everywhere.
     4. A draw proposes with the envelope q >= w, which is cheap, and accepts with probability w / q: see sampi_draw.
        Proposals go by ascending id, whatever order the array is in.
     5. Random bits are Philox4x32-10, key = seed, counter = (position, kind of sampler and its ordinal among its kind
        in the chain, attempt). The position is the chain's count of draws, so a row's token is the same alone or in
        any batch, and can be replayed.
     6. Integers define, floats may decide: where the fast path uses an estimate of a sum, it has a bound on the error
        of it, and where the bound leaves a doubt, the exact sum is taken.
     7. Products that feed a sum are written as fma, or are kept apart by SAMPI_OPAQUE: -ffp-contract, -march and -O
        change nothing. -ffast-math would, and is refused in the file with the implementation.
   What can change a result is the floating-point environment: rounding to nearest is assumed, and with
   flush-to-zero on, logits below 1.2e-38 in size may tie.

   SAMP_RNG_MT19937 instead gives the tokens of llama.cpp, call for call, by doing its arithmetic (float expf of libm,
   sequential sums in array order, std::mt19937 and libstdc++'s distributions): see >>llama. Where exact ties decide,
   llama.cpp's order is an accident of std::sort and ours is (logit descending, id ascending).
*/
#ifndef SAMPLING_H
#define SAMPLING_H

/* ================================================================================================== >>config */

#define SAMP_VERSION_MAJOR 0
#define SAMP_VERSION_MINOR 1
#define SAMP_VERSION_PATCH 0
#define SAMP_VERSION       (SAMP_VERSION_MAJOR * 10000 + SAMP_VERSION_MINOR * 100 + SAMP_VERSION_PATCH)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SAMP_API
#ifdef SAMPLING_STATIC
#if defined(__GNUC__)
#define SAMP_API static __attribute__((unused))
#else
#define SAMP_API static
#endif
#else
#define SAMP_API extern
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* =================================================================================================== >>types */

typedef int32_t samp_token; /* a token's id, 0 .. n_vocab - 1; as a result, negative is a samp_status */

/* A candidate. Same layout as llama_token_data: a cast is supported. */
typedef struct samp_token_data {
    samp_token id;
    float logit; /* log-odds; -INFINITY = masked */
    float p;     /* probability, only after a sampler whose comment says so */
} samp_token_data;

/* The candidates. Same layout as llama_token_data_array. Samplers shrink `size` and may reorder, but never move
   `data`. */
typedef struct samp_token_data_array {
    samp_token_data *data; /* [size], each id at most once */
    size_t size;
    int64_t selected; /* index in data (not an id), -1 = none yet */
    bool sorted;      /* data is in the order (logit descending, id ascending) */
} samp_token_data_array;

typedef struct samp_logit_bias {
    samp_token token;
    float bias; /* added to the logit; -INFINITY bans the token */
} samp_logit_bias;

/* Every status, with the text of samp_strerror(). */
/* clang-format off */
#define SAMP_STATUS_LIST(X) \
    X(SAMP_OK,             0, "ok") \
    X(SAMP_E_NULL,        -1, "a required pointer is NULL") \
    X(SAMP_E_RANGE,       -2, "a value is outside its range") \
    X(SAMP_E_NAN,         -3, "NaN or +infinity where a number is needed") \
    X(SAMP_E_EMPTY,       -4, "no token is left: empty vocabulary, or all tokens masked") \
    X(SAMP_E_NOMEM,       -5, "out of memory") \
    X(SAMP_E_WORKSPACE,   -6, "the workspace is too small") \
    X(SAMP_E_DTYPE,       -7, "unknown or unsupported data type") \
    X(SAMP_E_DEVICE,      -8, "the device failed") \
    X(SAMP_E_UNSUPPORTED, -9, "not supported here: no sampler selects a token, or a custom sampler can't do this") \
    X(SAMP_E_FORMAT,     -10, "the bytes are damaged or of another format") \
    X(SAMP_E_FULL,       -11, "no room left")
/* clang-format on */

typedef enum samp_status_code {
#define SAMP_STATUS_ENUM(name, value, text) name = value,
    SAMP_STATUS_LIST(SAMP_STATUS_ENUM)
#undef SAMP_STATUS_ENUM
        SAMP_STATUS_LAST = -11
} samp_status_code;

typedef enum samp_rng_kind {
    SAMP_RNG_PHILOX = 0, /* counter-based, the same token everywhere */
    SAMP_RNG_MT19937 = 1 /* llama.cpp's draws and llama.cpp's arithmetic; uses the seed's low 32 bits */
} samp_rng_kind;

#define SAMP_MAX_VOCAB ((size_t)1 << 22) /* more candidates than that are SAMP_E_RANGE */

typedef struct samp_sampler samp_sampler;
struct samp_gpu_data;

/* What a sampler can do. For your own: apply is required, the others may be NULL (clone and free only if the context
   needs no copying or freeing: a NULL clone with a context that is not NULL makes the clone SAMP_E_UNSUPPORTED).
   accept and apply return a status; your sampler answers itself for its state after an error. */
/* clang-format off */
typedef struct samp_sampler_i {
    const char   *(*name)(const samp_sampler *);                    /* for samp_describe; NULL: "custom" */
    int           (*accept)(samp_sampler *, samp_token);            /* a token was chosen */
    int           (*apply)(samp_sampler *, samp_token_data_array *);
    void          (*reset)(samp_sampler *);
    samp_sampler *(*clone)(const samp_sampler *);                   /* samp_init_custom(iface, copy of ctx) */
    void          (*free)(samp_sampler *);                          /* frees ctx, not the sampler */
    int           (*apply_gpu)(samp_sampler *, struct samp_gpu_data *); /* apply on a device: see sampling_gpu.h */
} samp_sampler_i;
/* clang-format on */

/* A sampler. Made by the samp_init_* functions only; what follows these two members is private. */
struct samp_sampler {
    const samp_sampler_i *iface;
    void *ctx; /* yours in a custom sampler */
};

/* What samplers may need to know of a vocabulary. Borrowed: it must outlive the samplers made with it. */
typedef struct samp_vocab samp_vocab;
struct samp_vocab {
    int32_t n_vocab;
    /* The bytes of a token's text, borrowed; *n_bytes = how many (0 for control tokens). */
    const char *(*token_bytes)(const samp_vocab *vocab, samp_token token, size_t *n_bytes);
    /* Optional: text to tokens. Writes at most n_max ids, returns how many. NULL: greedy longest match. */
    int32_t (*tokenize)(const samp_vocab *vocab, const char *text, size_t n_bytes, samp_token *out, int32_t n_max);
    void *user;            /* for your callbacks */
    const samp_token *eog; /* [n_eog] the tokens that end a generation */
    size_t n_eog;
    samp_token eos, eot; /* end of sequence, end of turn; -1 = none */
};

/* All settings of a usual chain. Start from samp_default_params(): a zeroed struct is not a valid one. */
typedef struct samp_params {
    uint64_t seed;                     /* 0; used as given, there is no "random" value */
    size_t min_keep;                   /* 0; top_p, min_p, typical, xtc, tail_free keep at least that many */
    int32_t top_k;                     /* 40; <= 0 = off */
    float top_p;                       /* 0.95 in (0, 1]; 1 = off */
    float min_p;                       /* 0.05 in [0, 1]; 0 = off */
    float typ_p;                       /* 1 in (0, 1]; 1 = off */
    float tfs_z;                       /* 1 in (0, 1]; 1 = off */
    float top_n_sigma;                 /* -1; <= 0 = off */
    float xtc_probability;             /* 0 in [0, 1]; 0 = off */
    float xtc_threshold;               /* 0.1 in [0, 1]; > 0.5 = off */
    float temp;                        /* 0.8; 0 = greedy, else in [2^-20, 2^20] */
    float dynatemp_range;              /* 0 in [0, 2^20]; 0 = off */
    float dynatemp_exponent;           /* 1 in [0, 1000] */
    int32_t penalty_last_n;            /* 64; 0 = off, -1 = n_ctx_train */
    float penalty_repeat;              /* 1, > 0; 1 = off */
    float penalty_freq;                /* 0; 0 = off */
    float penalty_present;             /* 0; 0 = off */
    float dry_multiplier;              /* 0, >= 0; 0 = off */
    float dry_base;                    /* 1.75, >= 1 */
    int32_t dry_allowed_length;        /* 2, >= 0 */
    int32_t dry_penalty_last_n;        /* -1; 0 = off, -1 = n_ctx_train */
    const char *const *dry_breakers;   /* strings, the last followed by NULL; NULL: "\n" ":" "\"" "*" */
    int32_t mirostat;                  /* 0; 0 = off, 1, 2: replaces truncation and dist */
    float mirostat_tau;                /* 5, >= 0: the surprise to aim at, bits */
    float mirostat_eta;                /* 0.1, >= 0: the learning rate */
    float adaptive_target;             /* -1 in [0, 1]; < 0 = off: else adaptive_p selects, not dist */
    float adaptive_decay;              /* 0.9 in [0, 0.99] */
    const samp_logit_bias *logit_bias; /* [n_logit_bias] NULL */
    int32_t n_logit_bias;              /* 0 */
    int32_t n_vocab;                   /* 0; needed by logit_bias and mirostat 1 */
    const samp_vocab *vocab;           /* NULL; needed by dry with breakers */
    const char *order;                 /* NULL: the default order, see samp_chain_from_params */
    samp_rng_kind rng;                 /* SAMP_RNG_PHILOX */
    int32_t n_ctx_train;               /* 4096; what a window of -1 means */
} samp_params;

/* What an array's elements are: the logits of a batch, the probabilities and results of the operator. */
typedef enum samp_dtype {
    SAMP_F32 = 0,
    SAMP_F16 = 1,
    SAMP_BF16 = 2,
    SAMP_F64 = 3,
    SAMP_I8,
    SAMP_I16,
    SAMP_I32,
    SAMP_I64,
    SAMP_U8,
    SAMP_U16,
    SAMP_U32,
    SAMP_U64
} samp_dtype;

/* A token's log-probability (natural logarithm) and its place in the order (logit descending, id ascending), 1 = the
   most likely. */
typedef struct samp_logprob {
    samp_token token;
    int32_t rank;
    float logprob;
} samp_logprob;

/* Log-probabilities of one distribution. Set top_logprobs, n_top and (at the start of a sequence) cumulative_logprob;
   the rest is written. */
typedef struct samp_logprob_set {
    samp_logprob *top_logprobs; /* [n_top] out: the most likely tokens, the best first; NULL if n_top is 0 */
    int32_t n_top;              /* 0 .. SAMP_MAX_TOP_LOGPROBS */
    int32_t n_top_found;        /* out: how many there are, less than n_top if fewer tokens are unmasked */
    samp_logprob chosen;        /* out: the sampled token's */
    double cumulative_logprob;  /* in and out: chosen.logprob is added */
} samp_logprob_set;

#define SAMP_MAX_TOP_LOGPROBS 1024

typedef struct samp_logprobs {
    samp_logprob_set raw;       /* of the model's logits, as given (masked ones left out) */
    samp_logprob_set processed; /* of what the chain left to its last sampler to draw from */
} samp_logprobs;

/* The logits of a batch. Zero in any field but the first four means "not used". */
typedef struct samp_logits {
    const void *data;         /* [rows x stride] read only; aligned as its elements are */
    samp_dtype dtype;         /* SAMP_F32, SAMP_F16, SAMP_BF16 or SAMP_F64 (rounded to f32) */
    size_t n_rows;            /* rows to sample; 0 is allowed */
    size_t n_vocab;           /* 1 .. SAMP_MAX_VOCAB */
    size_t stride;            /* elements from one row to the next, >= n_vocab; 0: n_vocab */
    const int32_t *row_index; /* [n_rows] row r reads row row_index[r] >= 0 of data; NULL: row r */
    const uint32_t *mask;    /* [n_rows x mask_stride] bit i % 32 of word i / 32 set: token i is allowed; NULL: all */
    size_t mask_stride;      /* words from one row's mask to the next; 0: (n_vocab + 31) / 32 */
    samp_logprobs *logprobs; /* [n_rows] NULL */
    int32_t n_threads;       /* 0: OpenMP's choice; without OpenMP there is one */
} samp_logits;

/* Tokens that something cheaper proposes to follow, and what it drew them from: for samp_verify. */
typedef struct samp_draft {
    size_t n;                 /* how many; 0 is allowed */
    const samp_token *tokens; /* [n] each in [0, n_vocab) */
    const float *probs;       /* [n x n_vocab], or [n x n_top] with ids: in [0, 1]; NULL: each token was certain */
    const samp_token *ids; /* [n x n_top] the tokens that probs belong to, the others had 0; NULL: probs is dense */
    size_t n_top;          /* with ids: >= 1 */
} samp_draft;

typedef enum samp_verify_method {
    SAMP_VERIFY_EXACT = 0, /* the tokens that there would be without a draft */
    SAMP_VERIFY_RATIO = 1  /* their distribution, and more of the draft is accepted */
} samp_verify_method;

/* What samp_perf() reports. */
typedef struct samp_perf_data {
    uint64_t n_sample;    /* tokens it has chosen: not as a member of a chain */
    uint64_t n_accept;    /* tokens it has accepted, likewise */
    uint64_t t_sample_ns; /* time in them; 0 without SAMP_CLOCK */
    uint64_t n_exact;     /* how often the fast path's estimate of a sum left a doubt, and the exact sum was taken */
    uint64_t n_steps;     /* how often a draw went step by step, from some sampler on */
} samp_perf_data;

/* ===================================================================================================== >>api */
/* ---- 1. one call -------------------------------------------------------------------------------------------- */

/* samp_sample -- draw the next token and accept it.
     in       logits [n_vocab] f32, read only; 1 <= n_vocab <= SAMP_MAX_VOCAB; s selects (it is usually a chain)
     Returns  the token, or SAMP_E_NULL, SAMP_E_EMPTY, SAMP_E_RANGE (n_vocab), SAMP_E_NAN, SAMP_E_NOMEM,
              SAMP_E_UNSUPPORTED (no sampler selects), or the status that the sampler carries.
     State    moves the position by one if the sampler draws random numbers. After an error nothing has changed.
     Memory   about 21 bytes per token of the vocabulary and 9 KiB, at the first call (samp_reserve); then none. */
SAMP_API samp_token samp_sample(samp_sampler *s, const float *logits, size_t n_vocab);

/* samp_draw -- the same without accepting: mirostat's and the random state move, penalties and dry do not see the
   token. */
SAMP_API samp_token samp_draw(samp_sampler *s, const float *logits, size_t n_vocab);

/* samp_sample_batch -- draw and accept a token for each of n_rows rows: row r of the batch by the chain rows [r].
     in       logits: see samp_logits. rows [n_rows]: each its own samplers, order, state and seed; no sampler twice.
     out      [n_rows] the tokens, or a row's negative status, which leaves its chain as it was and no other row
              touched: SAMP_E_NULL (no chain), SAMP_E_RANGE (its index, n_top), and what samp_sample returns.
     Returns  SAMP_OK, even if rows failed. Else nothing was done: SAMP_E_NULL; SAMP_E_DTYPE; SAMP_E_EMPTY (n_vocab 0);
              SAMP_E_RANGE (n_vocab, stride, mask_stride, n_threads, data not aligned, a chain twice); SAMP_E_NOMEM.
     Token    the same as samp_sample's for the same row, in any batch, at any place, with any number of threads. A
              dtype is converted as it is read (f64 rounded to f32; beyond +-FLT_MAX that is an infinity); of a masked
              token not even a NaN matters.
     Logprobs natural logarithms, exact to a few units of the last place: l - max - ln (Z / 2^40). "processed" are
              those of the candidates as the chain leaves them, so behind mirostat's truncation, and of adaptive_p's own
              logits; greedy leaves them all. They cost three more passes over the row.
     Memory   a workspace per thread (samp_reserve), taken from chains that have one; when there are too few, other
              chains of the batch get theirs. Nothing else.
     Threads  OpenMP, if the implementation is compiled with it: the rows are shared out among n_threads. */
SAMP_API int samp_sample_batch(samp_sampler *const *rows, const samp_logits *logits, samp_token *out);

/* samp_verify -- how much of a draft is right? Samples and accepts row after row, as long as the draft's token comes
   out; then one token more.
     in       logits [n + 1 x n_vocab]: row i is what the model says behind i tokens of the draft
     out      [n + 1] the tokens of the draft that are accepted, then the next one; then -1
     Exact    out is what samp_sample would give row by row, with any sampler and random source; probs are not used.
     Ratio    with p what the chain leaves its last sampler to draw from, and q the draft's: accept the draft's token x
              if u q(x) < p(x), u uniform in [0, 1), else draw from max(0, p - q), or from p where that is 0 everywhere.
              If the chain selects with greedy or a custom sampler it is the same as exact.
     Returns  how many are accepted, a. If row a (> 0) can't be sampled, out[a] is its status, the tokens before count.
              Negative, and nothing has changed: the status of row 0; SAMP_E_NULL; SAMP_E_RANGE: a token or id, n_top,
              method, a probability outside [0, 1]; SAMP_E_NAN: a probability; SAMP_E_UNSUPPORTED: ratio with MT19937.
     State    that of a + 1 samp_sample calls: positions of rejected tokens are not used up.
     Draws    Ratio: 128 bits of its own kind at each position, instead of the last sampler's.
     Cost     Ratio: as samp_apply from the last sampler on; with ids, n_top steps for each candidate then.
     Source   Leviathan et al. 2023, "Fast inference from transformers via speculative decoding"; vLLM's rejection
              sampler (a certain token: its n-gram drafts), FlashInfer's chain_speculative_sampling. */
SAMP_API int32_t samp_verify(samp_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                             samp_verify_method method, samp_token *out);

/* samp_reserve -- take now the memory that samp_sample needs for n_vocab tokens. SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE,
   SAMP_E_NOMEM. */
SAMP_API int samp_reserve(samp_sampler *s, size_t n_vocab);

/* samp_isa_name -- the instruction set in use: "scalar", "generic" (vectors of 16 bytes as any gcc and clang have them),
     "sse2", "avx2", "avx512", "neon" or "wasm"; chosen at the first use.
   samp_isa_list -- the name of number i, 0 and up, of those that work here: "scalar" first, the best one last, NULL
     behind it.
   samp_isa_force -- use that one from now on, in all threads; NULL: the best one again. The tokens are the same.
     Returns  SAMP_OK; SAMP_E_UNSUPPORTED: unknown here, or this CPU or system doesn't have it. */
SAMP_API const char *samp_isa_name(void);
SAMP_API const char *samp_isa_list(int i);
SAMP_API int samp_isa_force(const char *name);

/* samp_strerror -- the text of a status, never NULL. */
SAMP_API const char *samp_strerror(int status);

/* ---- 2. chains ---------------------------------------------------------------------------------------------- */

/* samp_default_params -- the values in samp_params' comments: llama.cpp's defaults, with seed 0. */
SAMP_API samp_params samp_default_params(void);

/* samp_check_params -- SAMP_OK, or why not: SAMP_E_RANGE, SAMP_E_NAN, SAMP_E_NULL; *field (may be NULL) names the
   member. */
SAMP_API int samp_check_params(const samp_params *params, const char **field);

/* samp_chain_from_params -- build the chain that the parameters describe.
     Order    logit_bias, then params->order, then what selects. The default order is
              "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature" (with tfs_z behind top_k if it is on).
              An order may name tail_free ("tfs_z") too, may repeat or leave out any, and may be letters:
              e penalties, d dry, s top_n_sigma, k top_k, f tail_free, y typ_p, p top_p, m min_p, x xtc, t temperature.
              "" is an empty order: no truncation, no temperature.
     Selects  dist; greedy if temp is 0; adaptive_p if adaptive_target >= 0.
     Mirostat replaces all of that by logit_bias, temp, mirostat (as llama.cpp does).
     Returns  the chain, carrying the error if a parameter is bad (samp_status tells); NULL: no memory.
              *status (may be NULL) gets the same. Free with samp_free. */
SAMP_API samp_sampler *samp_chain_from_params(const samp_params *params, int *status);

/* Orders for samp_params: llama.cpp's, which NULL stands for, and that of most servers (Hugging Face, vLLM): the
   temperature before the truncations, so that top_p and its kin look at the distribution that is drawn from. */
#define SAMP_ORDER_LLAMA     "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature"
#define SAMP_ORDER_CANONICAL "penalties;dry;temperature;top_n_sigma;top_k;typ_p;top_p;min_p;xtc"

/* samp_chain_update -- give a chain of samp_chain_from_params other parameters, between two tokens, and keep what it
   has seen.
     Keeps    the position, samp_prev, the windows of penalties and dry (or samp_prev, if they were off), mirostat's mu,
              adaptive_p's average, the state of MT19937 (if the seed stays). All else is as in a new chain, the seed
              too. Samplers that were added by hand are freed.
     Returns  SAMP_OK. Else nothing has changed: SAMP_E_NULL, SAMP_E_NOMEM, SAMP_E_RANGE (not a chain), what
              samp_check_params says of the parameters, or what the chain carries. Allocates. */
SAMP_API int samp_chain_update(samp_sampler *chain, const samp_params *params);

/* samp_batch_from_params -- the chains of a batch from the parameters of its requests.
     in, out  rows [n_rows]: where there is NULL a chain is built, the others are updated (samp_chain_update). Rows that
              join, leave or move are pointers to set: free and NULL, or copy. To leave a row alone, leave it out.
     in       params [n_rows]
     out      status [n_rows], may be NULL: of each row. A row that failed is what it was, NULL for instance.
     Returns  SAMP_OK, or the first row's status that is not. */
SAMP_API int samp_batch_from_params(samp_sampler **rows, const samp_params *params, size_t n_rows, int *status);

/* samp_chain_init -- an empty chain. */
SAMP_API samp_sampler *samp_chain_init(void);

/* samp_chain_add -- put a sampler at the end. The chain owns it from now on, on failure too.
     Returns  the sampler's own status if it carries an error (it stays in the chain, which then carries the error too);
              else SAMP_OK; SAMP_E_NULL, SAMP_E_NOMEM: the chain lacks a sampler, and carries this error from now on;
              SAMP_E_RANGE: s is in a chain already, or contains this one, and nothing has changed. */
SAMP_API int samp_chain_add(samp_sampler *chain, samp_sampler *s);

/* samp_chain_get -- lend sampler i (0 .. n - 1); NULL if there is none.   samp_chain_n -- how many.
   samp_chain_remove -- take sampler i out; the caller owns it now. Its random source stays as the chain had set it,
   until another chain takes it. */
SAMP_API samp_sampler *samp_chain_get(const samp_sampler *chain, int32_t i);
SAMP_API int32_t samp_chain_n(const samp_sampler *chain);
SAMP_API samp_sampler *samp_chain_remove(samp_sampler *chain, int32_t i);

/* samp_status -- the error that a sampler carries from its making, or SAMP_OK; *field (may be NULL) names the
   parameter, as in samp_params. A chain carries the first error of its members. */
SAMP_API int samp_status(const samp_sampler *s, const char **field);

/* samp_set_rng -- choose the random source (and with MT19937 llama.cpp's arithmetic) of a sampler and all its members.
   Starts the source at the seed. SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE. Members added later are set to their chain's
   kind. */
SAMP_API int samp_set_rng(samp_sampler *s, samp_rng_kind kind);

/* samp_get_seed -- the seed of the last sampler that draws; 0 if none does. */
SAMP_API uint64_t samp_get_seed(const samp_sampler *s);

/* samp_get_position, samp_set_position -- the number of the next draw. A chain keeps it for its members; a sampler
   outside of a chain keeps its own. Moves by one with each successful samp_sample, samp_draw or samp_apply of a
   sampler that draws (even if it had no choice), not with samp_accept. Only SAMP_RNG_PHILOX uses it. */
SAMP_API uint64_t samp_get_position(const samp_sampler *s);
SAMP_API int samp_set_position(samp_sampler *s, uint64_t position);

/* samp_prev -- copy the last accepted tokens of a chain, at most n, the oldest first; returns how many.
   samp_last -- the last accepted token, or SAMP_E_EMPTY.
   samp_set_n_prev -- keep the last n tokens (64 unless told; 0 .. 2^20); forgets those seen so far. Allocates. */
SAMP_API size_t samp_prev(const samp_sampler *chain, samp_token *out, size_t n);
SAMP_API samp_token samp_last(const samp_sampler *chain);
SAMP_API int samp_set_n_prev(samp_sampler *chain, size_t n);

/* samp_state_save, samp_state_load -- what a sampler has become, as bytes, to go on with elsewhere: position, mt19937,
   the accepted tokens that penalties, dry and samp_prev look at, mirostat's mu, adaptive_p's averages and pending
   selection; of a chain, its own and all its members'. Not samp_perf's counts, and not the settings: load into a
   sampler made and set up as the saved one was (kinds, order, parameters, breakers, seeds, random source,
   samp_set_n_prev).
   samp_state_size -- how many bytes samp_state_save writes now; 0 where it would fail.
     bytes    [size]; save needs size >= samp_state_size(s) and writes that many, load needs exactly these. The same
              state is the same bytes on every machine.
     Custom   samplers: with a ctx of NULL there is nothing to keep; else SAMP_E_UNSUPPORTED.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_UNSUPPORTED, or the status that s carries. Save: SAMP_E_WORKSPACE if size is
              too small. Load: SAMP_E_FORMAT if the bytes are damaged (a checksum tells, which finds accidents, not
              forgery), too few or too many, of another version, or of a sampler with other settings. After an error
              nothing has changed.
     Memory   none.   Cost  O(bytes); in load O(n log n) for the window of penalties. */
SAMP_API size_t samp_state_size(const samp_sampler *s);
SAMP_API int samp_state_save(const samp_sampler *s, void *bytes, size_t size);
SAMP_API int samp_state_load(samp_sampler *s, const void *bytes, size_t size);

/* samp_perf -- counts and time of samp_sample and samp_draw on this sampler.   samp_perf_reset -- back to zero. */
SAMP_API samp_perf_data samp_perf(const samp_sampler *s);
SAMP_API void samp_perf_reset(samp_sampler *s);

/* samp_describe -- the chain as text: "logits -> logit-bias(n=2) -> ?penalties(last_n=64, ...) -> ... -> dist(seed=1)";
   '?' marks a sampler whose values switch it off. Like snprintf: writes at most size bytes with the final 0, returns
   the length that the whole text has, or SAMP_E_NULL. */
SAMP_API int samp_describe(const samp_sampler *s, char *buf, size_t size);

/* ---- 3. samplers -------------------------------------------------------------------------------------------- */

/* samp_apply -- let one sampler work on an array of candidates.
     in, out  cur: size >= 1, no NaN, no +infinity, at least one logit above -infinity
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_EMPTY, SAMP_E_NAN, SAMP_E_RANGE (size), or the status that s carries.
              A built-in sampler checks before its first write. */
SAMP_API int samp_apply(samp_sampler *s, samp_token_data_array *cur);

/* samp_accept -- tell a sampler which token was chosen (also a prompt's). SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE (token <
   0). */
SAMP_API int samp_accept(samp_sampler *s, samp_token token);

/* samp_name -- "top-k", "chain", ...   samp_reset -- as new.   samp_free -- NULL is fine.
   samp_clone -- a copy that continues as the original would: parameters, random and all other state. NULL: no memory.
   */
SAMP_API const char *samp_name(const samp_sampler *s);
SAMP_API void samp_reset(samp_sampler *s);
SAMP_API samp_sampler *samp_clone(const samp_sampler *s);
SAMP_API void samp_free(samp_sampler *s);

/* samp_init_custom -- your own sampler; *iface must outlive it. NULL iface or apply: an object that carries
   SAMP_E_NULL. */
SAMP_API samp_sampler *samp_init_custom(const samp_sampler_i *iface, void *ctx);

/* Common to the samplers below, unless their comment says otherwise:
     Order    ties by (logit descending, id ascending); a masked token (-infinity) comes last and is never counted.
     Keeps    the order of the array and `sorted`; a sampler that reorders or removes sets selected to -1.
     p        is left as it was.    Draws   no random numbers.
     min_keep at least so many unmasked tokens stay (0 and 1 are the same).
     NaN      in the array: SAMP_E_NAN.    A parameter that is NaN: the object carries SAMP_E_NAN.
     MT19937  sizes, order, `sorted` and p are llama.cpp's: masked tokens stay in the array and count as candidates, and
              `sorted` says nothing about the ids of ties.
   Arithmetic is that of DETERMINISM above; w is a token's weight, Z the sum of weights, d = max - l in nats. p is
   exp(-d) / Z as a float, precise also for tokens so unlikely that their w is 0. */

/* samp_init_logit_bias -- l += bias, entry by entry in the order given (a token may come twice).
     Range    token in [0, n_vocab), bias < +infinity; n = 0 is off.   The array is copied.
     Leaves   sorted = false. Results beyond +-FLT_MAX become +-FLT_MAX; masked tokens stay masked.
     Source   OpenAI's logit_bias, llama.cpp (which leaves `sorted` as it was). */
SAMP_API samp_sampler *samp_init_logit_bias(int32_t n_vocab, int32_t n, const samp_logit_bias *bias);

/* samp_init_penalties -- make tokens of the last last_n accepted ones less likely. With c = how often a token is
   among them:
     c > 0:   l = l <= 0 ? l * repeat : l / repeat;   l -= c * freq + present
     Range    last_n in [0, 2^22], 0 = off; repeat > 0, 1 = off; freq, present finite, 0 = off.
     Leaves   sorted = false. Results beyond +-FLT_MAX become +-FLT_MAX.   Memory  12 bytes per last_n.
     Source   Keskar et al. 2019 (CTRL) with Hugging Face's sign rule; OpenAI's frequency and presence penalties;
              llama.cpp. */
SAMP_API samp_sampler *samp_init_penalties(int32_t last_n, float repeat, float freq, float present);

/* samp_init_dry -- "don't repeat yourself": a token that would continue a repetition of length L >= allowed_length
     l -= multiplier * base^(L - allowed_length), the power at most about FLT_MAX,
     where L is the length of the longest suffix of the accepted tokens that occurs before, followed by this token.
     Breakers strings that end a repetition: a match never reaches back over the newest one ("\n", ":", ...), which may
              span tokens. At most 40 bytes of each count, and at most 20 tokens behind its first one. A token that
              contains a breaker is never punished.
     Range    multiplier >= 0, 0 = off; base >= 1; allowed_length >= 0; last_n in [-1, 2^22], 0 = off, -1 = n_ctx_train;
              n_ctx_train in [0, 2^22]. The window is the smaller of last_n and n_ctx_train.
              vocab may be NULL if n_breakers is 0 or the sampler is off.
     Leaves   sorted = false, if a token was hit. Results below -FLT_MAX become -FLT_MAX.   Cost  O(window) per apply.
     Source   p-e-w, text-generation-webui PR 5677; koboldcpp; llama.cpp. */
SAMP_API samp_sampler *samp_init_dry(const samp_vocab *vocab, int32_t n_ctx_train, float multiplier, float base,
                                     int32_t allowed_length, int32_t last_n, const char *const *breakers,
                                     size_t n_breakers);

/* samp_init_top_n_sigma -- mask every token with l < max - n * sigma, sigma the standard deviation (population) of the
   unmasked logits.
     Range    n finite; n <= 0 is off.   Leaves  size; the others get -infinity.   Ties  all of a value, or none.
     Source   Tang et al. 2024, "Top-n sigma: not all logits are you need"; llama.cpp. */
SAMP_API samp_sampler *samp_init_top_n_sigma(float n);

/* samp_init_top_k -- keep the k largest logits.
     Range    k <= 0 is off.   Ties  the smaller id stays.   Leaves  sorted = true; fewer than k if fewer are unmasked.
     Source   Fan et al. 2018. */
SAMP_API samp_sampler *samp_init_top_k(int32_t k);

/* samp_init_tail_free -- cut where the sorted probabilities flatten: with p descending, a_i = |(p_i - p_i+1) - (p_i+1
   - p_i+2)| for i in [0, n - 2), normalised to sum 1 (all equal if the sum is below 1e-6): keep the first i tokens, i
   the smallest with a_0 + ... + a_i > z.
     Range    z in (0, 1], 1 = off; also off with two tokens or fewer.   Leaves  sorted = true, p over all tokens.
     Source   Bricken 2019; llama.cpp until October 2024. */
SAMP_API samp_sampler *samp_init_tail_free(float z, size_t min_keep);

/* samp_init_typical -- keep the tokens whose surprise is closest to the entropy: order by | -ln p - H | (then logit,
   id), keep the smallest prefix with a mass above p.
     Range    p in (0, 1], 1 = off.   Leaves  that order, sorted = false, p over all tokens.
     Source   Meister et al. 2022, "Locally typical sampling"; llama.cpp. */
SAMP_API samp_sampler *samp_init_typical(float p, size_t min_keep);

/* samp_init_top_p -- keep the smallest set of most likely tokens whose probability reaches p.
     Cut      the first prefix in order with mass * 2^64 >= floor(p * 2^64) * Z. The token that crosses stays.
     Range    p in (0, 1], 1 = off.   Leaves  sorted = true, p over all tokens (not renormalised).
     Source   Holtzman et al. 2019, nucleus sampling. */
SAMP_API samp_sampler *samp_init_top_p(float p, size_t min_keep);

/* samp_init_min_p -- keep tokens at least p times as likely as the most likely: l >= max + ln p.
     Range    p in [0, 1], 0 = off.   Ties  all of a value, or none; where min_keep cuts, the smaller id stays.
     Leaves   the order, unless min_keep decides: then sorted = true.
     Source   Nguyen et al. 2024, "Turning up the heat"; llama.cpp PR 3841. */
SAMP_API samp_sampler *samp_init_min_p(float p, size_t min_keep);

/* samp_init_xtc -- "exclude top choices": with probability p, remove all tokens of probability >= t but the least
   likely of them (of equal ones, that with the largest id stays); only if at least min_keep tokens remain.
     Range    p in [0, 1], 0 = off; t in [0, 1], > 0.5 = off.   Leaves  p over all tokens, if it acted.
     Draws    64 bits, one position (none with a single candidate, but the position moves).
     Source   p-e-w, text-generation-webui PR 6335; llama.cpp. */
SAMP_API samp_sampler *samp_init_xtc(float p, float t, size_t min_keep, uint64_t seed);

/* samp_init_temp -- l *= 1 / t.
     Range    t = 0: only the first in order keeps its logit, the others get -infinity. Else t in [2^-20, 2^20]; 1 =
              off.
     Leaves   size. Results beyond +-FLT_MAX become +-FLT_MAX. sorted, unless rounding made ties out of order. */
SAMP_API samp_sampler *samp_init_temp(float t);

/* samp_init_temp_ext -- dynamic temperature: T = lo + (hi - lo) * (H / ln n)^exponent, lo = max(0, t - delta), hi = t
   + delta, H the entropy and n the number of the unmasked tokens; then as samp_init_temp(T). T below 2^-20 counts as 0.
     Range    delta in [0, 2^20], 0: samp_init_temp(t); t as there; exponent in [0, 1000]. One token: nothing happens.
     Source   kalomaze 2023; koboldcpp, llama.cpp. */
SAMP_API samp_sampler *samp_init_temp_ext(float t, float delta, float exponent);

/* samp_init_softmax -- sort, and set p of every token.   Leaves  sorted = true. */
SAMP_API samp_sampler *samp_init_softmax(void);

/* samp_init_greedy -- select the largest logit.   Ties  the smaller id. */
SAMP_API samp_sampler *samp_init_greedy(void);

/* samp_init_dist -- select a token with probability w / Z.
     Leaves   p of every token.   Draws  128 bits per attempt (1.04 attempts on average), one position. */
SAMP_API samp_sampler *samp_init_dist(uint64_t seed);

/* samp_init_mirostat -- keep the surprise (bits) of the chosen tokens near tau. Estimates Zipf's exponent s from the
   m most likely tokens, s = sum t_i b_i / sum t_i^2, t_i = ln((i + 2) / (i + 1)), b_i = ln(p_i / p_i+1); keeps the
   first k = ((s - 1) 2^mu / (1 - N^-(s - 1)))^(1 / s) in order, N = n_vocab; draws; mu -= eta * (surprise - tau).
     Range    n_vocab >= 1, m >= 2; tau, eta >= 0 and finite. mu starts at 2 tau.
     Leaves   sorted = true, p of the tokens kept.   Draws  as dist.
     Source   Basu et al. 2020, "Mirostat"; llama.cpp. */
SAMP_API samp_sampler *samp_init_mirostat(int32_t n_vocab, uint64_t seed, float tau, float eta, int32_t m);

/* samp_init_mirostat_v2 -- the same aim without the estimate: keep tokens with a surprise of at most mu bits (always
   the first in order); draw; mu -= eta * (surprise - tau), the surprise among the tokens kept.
     Range    tau, eta >= 0 and finite. mu starts at 2 tau.   Leaves  p of the tokens kept.   Draws  as dist. */
SAMP_API samp_sampler *samp_init_mirostat_v2(uint64_t seed, float tau, float eta);

/* samp_init_adaptive_p -- select, preferring tokens whose probability is near a target that adapts to what was chosen
   before:
     a = clamp(2 target - average of past probabilities, 0, 1);  x = |p - a| / 0.3;  l = 5 - 10 x^2 / (1 + x); then
     dist. The average is weighted by decay^age and starts at target. The selected token's probability counts when it
     is accepted; accepting another one drops it. All steps are rounded to f32.
     Range    target in [0, 1], < 0: plain dist; decay in [0, 0.99].
     Leaves   l as above, sorted = false, p of every token (after).   Draws  as dist.
     Source   MrJackSpade; llama.cpp. */
SAMP_API samp_sampler *samp_init_adaptive_p(float target, float decay, uint64_t seed);

/* ---- 4. the operator ---------------------------------------------------------------------------------------- */

/* Sampling as a tensor library's operator: described once, run on many rows, in the caller's memory. It keeps no state,
   and the random number is an argument; one operator may run in many threads at once, each with its own workspace. */
typedef struct samp_random_sample samp_random_sample;

/* samp_random_sample_create -- describe the operator.
     result   any of the eight integer types    probs  SAMP_F16, SAMP_BF16, SAMP_F32 or SAMP_F64
     n        1 .. SAMP_MAX_VOCAB logits, and no more than result can count (SAMP_I8: 128)
     Returns  NULL on error; *status (may be NULL): SAMP_OK, SAMP_E_DTYPE, SAMP_E_EMPTY (n = 0), SAMP_E_RANGE (n),
              SAMP_E_NOMEM.   Free with samp_random_sample_destroy; NULL is fine there.
   samp_random_sample_workspace_size -- bytes that a run needs; 0 for NULL. About 33 KiB + n / 4, and 4 n more unless
   probs is SAMP_F32. */
SAMP_API samp_random_sample *samp_random_sample_create(samp_dtype result, samp_dtype probs, size_t n, int *status);
SAMP_API size_t samp_random_sample_workspace_size(const samp_random_sample *op);
SAMP_API void samp_random_sample_destroy(samp_random_sample *op);

/* samp_random_sample_run -- sample one index.
     probs    [n] logits, in spite of the name; read only, aligned as its elements are. -INFINITY is masked.
     result   [1] out: the index, in [0, n)
     random   in [0, 1)    topp  in [0, 1]; 1 = all    topk  in [1, n]; n = all    temperature  >= 0 and finite
     Argmax   if random or topp or temperature is 0, or topk is 1.
     Else     with the logits in order (logit descending, index ascending), w_i = exp((l_i - max) / temperature) and
              c_i = w_0 + ... + w_i: the first i with c_i >= random * min(topp * c_n-1, c_topk-1). The nucleus is one of
              the whole row, not of the topk, and nothing is renormalised: random goes from 0 to its end.
     Exact    (l - max) / temperature is two f32 steps, w is rounded to 2^-40 (see DETERMINISM), sums are exact, random
              and random * topp are rounded down to 2^-64, the threshold up to 2^-40: the same index everywhere.
              SAMP_F64: l - max is taken in double, then rounded to f32; what is equal then is a tie.
     Returns  SAMP_OK; SAMP_E_NULL; SAMP_E_WORKSPACE (too small; any address is good); SAMP_E_NAN (a parameter; NaN or
              +infinity in the logits); SAMP_E_RANGE (a parameter); SAMP_E_EMPTY (all masked). After an error *result is
              what it was.
     Memory   the workspace only.   Cost  O(n): some passes over the row, most of them over few parts of it; no sort.
     Source   the random-sample operator of InfiniCore. */
SAMP_API int samp_random_sample_run(const samp_random_sample *op, void *workspace, size_t workspace_size,
                                    void *result, const void *probs, float random, float topp, int32_t topk,
                                    float temperature);

#ifdef SAMPLING_KV
/* ---- 5. sequences and their key-value cache (SAMPLING_KV) ----------------------------------------------------- */

/* A cell holds the keys and values of one token. */
typedef struct samp_kv_cell {
    int32_t pos;   /* the token's position; -1 = the cell is free */
    int32_t delta; /* how far it has moved since its keys were made or rotated: for samp_kv_update to catch up */
    uint64_t seq;  /* bit s: sequence s has this token; 0 in a free cell */
} samp_kv_cell;

/* A cache. Read it; only the functions below change it, and what follows these members is private. */
typedef struct samp_kv {
    uint32_t size;       /* cells */
    uint32_t used;       /* cells that are not free */
    uint32_t head;       /* where the next search for a slot begins; after one, the slot's first cell */
    uint32_t n;          /* cells that attention has to look at, from 0 on: set by find_slot, update and state_load */
    bool has_shift;      /* some cell may have a delta */
    bool do_defrag;      /* the next samp_kv_update defragments */
    samp_kv_cell *cells; /* [size] */
} samp_kv;

/* How keys carry positions: pair i = 0, 1, ... of a head's elements is a point in the plane, turned by the angle
   pos * theta^(-2 i / n_rot) radians (Su et al. 2021, RoPE). */
typedef enum samp_kv_rope {
    SAMP_ROPE_NONE = 0,     /* they don't, or not this way */
    SAMP_ROPE_ADJACENT = 1, /* pair i is elements 2 i and 2 i + 1 (Llama's own weights) */
    SAMP_ROPE_HALF = 2      /* pair i is elements i and i + n_rot / 2 (GPT-NeoX, Hugging Face) */
} samp_kv_rope;

/* Zero in any field but the first means "the default". */
typedef struct samp_kv_params {
    uint32_t n_cells;         /* 1 .. 2^26 */
    uint32_t n_seq_max;       /* sequences are 0 .. n_seq_max - 1; 1 .. 64, 0: 64 */
    uint32_t padding;         /* n is a multiple of it, or all cells; 1 .. 2^16, 0: 32 */
    uint32_t n_layer;         /* 0 .. 4096; 0: cells only, no buffers */
    const uint32_t *n_embd_k; /* [n_layer] elements of a token's keys, all key-value heads together; 1 .. 2^20 */
    const uint32_t *n_embd_v; /* [n_layer] the same of its values */
    samp_dtype type_k;        /* SAMP_F32 or SAMP_F16 */
    samp_dtype type_v;
    bool v_trans;           /* values are transposed: [n_embd_v x n_cells] */
    samp_kv_rope rope;      /* SAMP_ROPE_NONE: a shift leaves the keys as they are */
    uint32_t n_embd_head;   /* with rope: elements of one head's key, a divisor of every n_embd_k */
    uint32_t n_rot;         /* with rope: how many of them are rotated, from the first on; even; 0: n_embd_head */
    float rope_theta;       /* with rope: > 0 and finite; 0: 10000 */
    float defrag_threshold; /* samp_kv_update defragments if holes / cells up to the last used one are more; [0, 1);
                               0: only when asked */
    void *memory;           /* for the buffers, aligned to 64 bytes; NULL: they are in the cache's own block */
    size_t memory_size;     /* >= samp_kv_size */
} samp_kv_params;

/* Tokens to be decoded together. */
typedef struct samp_kv_batch {
    uint32_t n_tokens;
    const int32_t *pos;  /* [n_tokens] 0 .. 2^31 - 2 */
    const uint64_t *seq; /* [n_tokens] the sequences that have this token: bit s = sequence s, at least one */
} samp_kv_batch;

typedef enum samp_kv_slot {
    SAMP_KV_RUN = 0,      /* neighbouring cells */
    SAMP_KV_SCATTERED = 1 /* neighbouring cells, or any free ones if no run is long enough */
} samp_kv_slot;

/* samp_kv_check_params -- SAMP_OK, or why not: SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_NAN, SAMP_E_DTYPE, SAMP_E_WORKSPACE
   (memory_size); *field (may be NULL) names the member. */
SAMP_API int samp_kv_check_params(const samp_kv_params *params, const char **field);

/* samp_kv_size -- the bytes of the buffers; *k and *v (may be NULL) get those of the keys and of the values. Each layer
   has n_cells * n_embd * (2 or 4) bytes, rounded up to 64. 0 if the parameters are bad (`memory` does not count). */
SAMP_API size_t samp_kv_size(const samp_kv_params *params, size_t *k, size_t *v);

/* samp_kv_init -- an empty cache, its buffers all zero.
     Returns  the cache, or NULL: *status (may be NULL) is that of samp_kv_check_params, or SAMP_E_NOMEM.
     Memory   one block: samp_kv_size (unless it is yours) and 16 bytes per cell. No other function allocates.
     Threads  one at a time.   Free with samp_kv_free (NULL is fine). */
SAMP_API samp_kv *samp_kv_init(const samp_kv_params *params, int *status);
SAMP_API void samp_kv_free(samp_kv *kv);

/* samp_kv_clear -- all cells are free, as after samp_kv_init. The buffers stay as they are. */
SAMP_API void samp_kv_clear(samp_kv *kv);

/* samp_kv_find_slot -- give the tokens of a batch their cells.
     Search   begins at head, or at 0 if head > used + 2 n_tokens; wraps; fails after a full turn. head is then the
              first cell, and stays there until the next search or until a cell before it becomes free.
     out      cells [n_tokens] (may be NULL): the cell of each token. SAMP_KV_RUN: head, head + 1, ...; scattered ones
              go up from head and wrap.
     Range    a token's position lies behind all that its sequences have, in the cache and before it in the batch.
     Returns  SAMP_OK; SAMP_E_FULL: no such cells are free; SAMP_E_NULL; SAMP_E_RANGE: n_tokens (0, or more than the
              cache has), a position, a sequence or the kind of slot. After an error nothing has changed.
     Source   llama.cpp's llama_kv_cache_find_slot. */
SAMP_API int samp_kv_find_slot(samp_kv *kv, const samp_kv_batch *batch, samp_kv_slot kind, uint32_t *cells);

/* Operations on a sequence, as in llama.h. Common to all:
     Range    positions [p0, p1); p0 < 0: from the start, p1 < 0: to the end.
     Returns  SAMP_OK (also if nothing is in the range); SAMP_E_NULL; SAMP_E_RANGE: an unknown sequence, or p0 > p1.
              After an error nothing has changed.
     head     goes back to the first cell that becomes free, if that is before it.   Cost  O(size).

   samp_kv_seq_rm -- forget these tokens; seq < 0: in all sequences. A cell that no sequence has is free.
   samp_kv_seq_cp -- dst has the tokens of src too (a fork): the cells are shared, nothing is copied. What dst had
     before stays.
   samp_kv_seq_keep -- forget all other sequences.
   samp_kv_seq_add -- move positions by delta; samp_kv_update will rotate the keys. A token moved below 0 is forgotten.
     Other sequences that share a cell move with it. A position above 2^31 - 2 is SAMP_E_RANGE.
   samp_kv_seq_div -- divide positions by d >= 1, rounded down; otherwise as samp_kv_seq_add. */
SAMP_API int samp_kv_seq_rm(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1);
SAMP_API int samp_kv_seq_cp(samp_kv *kv, int32_t src, int32_t dst, int32_t p0, int32_t p1);
SAMP_API int samp_kv_seq_keep(samp_kv *kv, int32_t seq);
SAMP_API int samp_kv_seq_add(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1, int32_t delta);
SAMP_API int samp_kv_seq_div(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1, int32_t d);

/* samp_kv_seq_pos_min, samp_kv_seq_pos_max -- the smallest and the largest position of a sequence; -1 if it has none
   (or kv is NULL), SAMP_E_RANGE if it is unknown. */
SAMP_API int32_t samp_kv_seq_pos_min(const samp_kv *kv, int32_t seq);
SAMP_API int32_t samp_kv_seq_pos_max(const samp_kv *kv, int32_t seq);

/* samp_kv_keys, samp_kv_values -- a layer's buffer, for kernels of your own: keys [size x n_embd_k], values
   [size x n_embd_v], or [n_embd_v x size] with v_trans. NULL: no such layer. */
SAMP_API void *samp_kv_keys(const samp_kv *kv, uint32_t layer);
SAMP_API void *samp_kv_values(const samp_kv *kv, uint32_t layer);

/* samp_kv_put, samp_kv_get -- write or read what one cell has in one layer: k [n_embd_k], v [n_embd_v]; either may be
   NULL. f16 is rounded to nearest, ties to even.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE (layer, cell). */
SAMP_API int samp_kv_put(samp_kv *kv, uint32_t layer, uint32_t cell, const float *k, const float *v);
SAMP_API int samp_kv_get(const samp_kv *kv, uint32_t layer, uint32_t cell, float *k, float *v);

/* samp_kv_update -- bring the buffers up to date; before each batch, or when something has changed.
     Shift    turns the keys of every cell with a delta by delta positions, in double, and rounds them to their type;
              then delta is 0.
     Defrag   if asked for, or above defrag_threshold: the used cells become 0 .. used - 1. Only those behind move, in
              order, to the first holes. head = used (0 if full).
     Returns  SAMP_OK, SAMP_E_NULL. Without a shift and a reason to defragment it does nothing.
   samp_kv_defrag -- ask the next samp_kv_update for it. SAMP_OK, SAMP_E_NULL. */
SAMP_API int samp_kv_update(samp_kv *kv);
SAMP_API int samp_kv_defrag(samp_kv *kv);

/* samp_kv_mask -- which of the first n cells each token of a batch attends to: those that all its sequences have, at
   its position or before (causal attention). Call it after samp_kv_find_slot, when the batch has its cells.
     out      bits [n_tokens x ceil(n / 32)]: bit c % 32 of word c / 32 is cell c, the bits behind n are 0;
              bias [n_tokens x n]: 0, or -infinity where the bit is not set. Either may be NULL.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE as samp_kv_find_slot (but positions may come in any order). */
SAMP_API int samp_kv_mask(const samp_kv *kv, const samp_kv_batch *batch, uint32_t *bits, float *bias);

/* samp_kv_state_size, samp_kv_state_save, samp_kv_state_load -- a sequence as bytes: its positions, keys and values,
   whatever cells they are in, with a version and a checksum. The same bytes on every machine.
     save     writes samp_kv_state_size bytes.
     load     makes them the sequence seq, in place of what that was, in any free cells. A pending shift is pending
              again. The cache may have another size, padding or v_trans; its layers, types and rope must be the same.
     Returns  the size, or 0 if kv is NULL or the sequence unknown. The others SAMP_OK; SAMP_E_NULL; SAMP_E_RANGE: seq;
              SAMP_E_WORKSPACE: `size` is too small to save; SAMP_E_FORMAT: not such a state, or damaged; SAMP_E_FULL:
              too few cells would be free. After an error nothing has changed. */
SAMP_API size_t samp_kv_state_size(const samp_kv *kv, int32_t seq);
SAMP_API int samp_kv_state_save(const samp_kv *kv, int32_t seq, void *bytes, size_t size);
SAMP_API int samp_kv_state_load(samp_kv *kv, int32_t seq, const void *bytes, size_t size);
#endif /* SAMPLING_KV */

#ifdef __cplusplus
}
#endif
#endif /* SAMPLING_H */

/* ------------------------------------------------ Stop here if you only want to use the library. */

/* ==================================================================================================== >>impl */
#if defined(SAMPLING_IMPLEMENTATION) && !defined(SAMPI_ONCE)
#define SAMPI_ONCE

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#if defined(SAMP_MALLOC) != defined(SAMP_FREE)
#error "sampling.h: define both SAMP_MALLOC and SAMP_FREE, or neither"
#elif !defined(SAMP_MALLOC)
#include <stdlib.h>
#define SAMP_MALLOC(n) malloc(n)
#define SAMP_FREE(p)   free(p)
#endif

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) ||                             \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error "sampling.h: compile the implementation without -ffast-math: it removes the checks for NaN and changes tokens"
#endif
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "sampling.h: float arithmetic must be done in float (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif

#ifdef __cplusplus
#define SAMPI_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define SAMPI_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif
SAMPI_STATIC_ASSERT(sizeof(float) == 4 && sizeof(double) == 8, "IEEE float and double are needed");
SAMPI_STATIC_ASSERT(sizeof(samp_token_data) == 12 && offsetof(samp_token_data, logit) == 4 &&
                        offsetof(samp_token_data, p) == 8,
                    "samp_token_data has llama_token_data's layout");
SAMPI_STATIC_ASSERT(offsetof(samp_token_data_array, size) == sizeof(void *) &&
                        offsetof(samp_token_data_array, selected) == 2 * sizeof(void *) &&
                        offsetof(samp_token_data_array, sorted) == 2 * sizeof(void *) + 8,
                    "samp_token_data_array has llama_token_data_array's layout");

/* The instruction sets that are compiled, besides scalar. */
#if defined(__SSE2__) && !defined(SAMP_NO_SIMD) && !defined(SAMP_NO_SSE2)
#define SAMPI_SSE2 1
#else
#define SAMPI_SSE2 0
#endif
#if defined(__x86_64__) && !defined(SAMP_NO_SIMD) && !defined(SAMP_NO_AVX2)
#define SAMPI_AVX2 1
#else
#define SAMPI_AVX2 0
#endif
#if defined(__x86_64__) && !defined(SAMP_NO_SIMD) && !defined(SAMP_NO_AVX512)
#define SAMPI_AVX512 1
#else
#define SAMPI_AVX512 0
#endif
#if defined(__aarch64__) && !defined(SAMP_NO_SIMD) && !defined(SAMP_NO_NEON)
#define SAMPI_NEON 1
#else
#define SAMPI_NEON 0
#endif
#if defined(__wasm_simd128__) && !defined(SAMP_NO_SIMD) && !defined(SAMP_NO_WASM)
#define SAMPI_WASM 1
#else
#define SAMPI_WASM 0
#endif
#define SAMPI_GENERIC (!SAMPI_SSE2 && !SAMPI_NEON && !SAMPI_WASM)

#if SAMPI_AVX2 || SAMPI_AVX512
#include <cpuid.h>
#include <immintrin.h>
#elif SAMPI_SSE2
#include <emmintrin.h>
#endif
#if SAMPI_NEON
#include <arm_neon.h>
#endif
#if SAMPI_WASM
#include <wasm_simd128.h>
#endif

/* What this file is called: it compiles the kernels by including itself, from its own folder. */
#ifndef SAMP_SELF_INCLUDE
#define SAMP_SELF_INCLUDE "sampling.h"
#endif

/* For what a loop over a row is made of: gcc -O2 would call it, and on a GPU a call costs more than what it does. */
#define SAMPI_INLINE static inline __attribute__((always_inline))

/* Keep a product as rounded: the compiler must not fuse it with the sum that follows, whatever -ffp-contract says. */
#if defined(__x86_64__) || defined(__i386__)
#define SAMPI_OPAQUE(x) __asm__("" : "+x"(x))
#elif defined(__aarch64__)
#define SAMPI_OPAQUE(x) __asm__("" : "+w"(x))
#elif defined(__wasm__)
#define SAMPI_OPAQUE(x) ((void)(x)) /* it has no fma */
#else
#define SAMPI_OPAQUE(x) __asm__("" : "+m"(x))
#endif

/* The same for scalars, in functions that sampling_gpu.h compiles for a GPU too: there every register is an "r". */
#if defined(SAMPLING_GPU_H) && defined(_OPENMP)
#define SAMPI_OPAQUE_SCALAR(x) __asm__("" : "+r"(x))
#else
#define SAMPI_OPAQUE_SCALAR(x) SAMPI_OPAQUE(x)
#endif

static float sampi_roundf(float product)
{
    SAMPI_OPAQUE_SCALAR(product);
    return product;
}
static double sampi_round(double product)
{
    SAMPI_OPAQUE_SCALAR(product);
    return product;
}

static uint64_t sampi_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    return u;
}
static double sampi_from_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, 8);
    return x;
}

/* ===================================================================================================== >>rng */

/* Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): counter [4], key [2] -> out [4].
   */
static void sampi_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t x = (uint64_t)0xD2511F53u * a, y = (uint64_t)0xCD9E8D57u * c;
        a = (uint32_t)(y >> 32) ^ b ^ k0;
        c = (uint32_t)(x >> 32) ^ d ^ k1;
        b = (uint32_t)y;
        d = (uint32_t)x;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = a, out[1] = b, out[2] = c, out[3] = d;
}

/* mt19937 (Matsumoto and Nishimura 1998), seeded and read as std::mt19937. */
typedef struct sampi_mt {
    uint32_t state[624];
    uint32_t next;  /* index of the next output in state; 624 = make new ones first */
    uint64_t drawn; /* outputs since the seed: what undoing a draw needs */
} sampi_mt;

static void sampi_mt_seed(sampi_mt *mt, uint32_t seed)
{
    mt->state[0] = seed;
    for (uint32_t i = 1; i < 624; i++) mt->state[i] = 1812433253u * (mt->state[i - 1] ^ (mt->state[i - 1] >> 30)) + i;
    mt->next = 624;
    mt->drawn = 0;
}

static uint32_t sampi_mt_next(sampi_mt *mt)
{
    if (mt->next == 624) {
        for (uint32_t i = 0; i < 624; i++) {
            uint32_t y = (mt->state[i] & 0x80000000u) | (mt->state[(i + 1) % 624] & 0x7FFFFFFFu);
            mt->state[i] = mt->state[(i + 397) % 624] ^ (y >> 1) ^ ((y & 1) ? 0x9908B0DFu : 0u);
        }
        mt->next = 0;
    }
    uint32_t y = mt->state[mt->next++];
    mt->drawn++;
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C5680u;
    y ^= (y << 15) & 0xEFC60000u;
    return y ^ (y >> 18);
}

/* std::uniform_real_distribution<double>(0, 1) and <float>(0, 1) of libstdc++, on mt19937. */
static double sampi_mt_double(sampi_mt *mt)
{
    double low = sampi_mt_next(mt), high = sampi_round((double)sampi_mt_next(mt) * 4294967296.0);
    double u = (low + high) / 18446744073709551616.0;
    return u < 1.0 ? u : 0.9999999999999999;
}

static float sampi_mt_float(sampi_mt *mt)
{
    float u = (float)sampi_mt_next(mt) / 4294967296.0f;
    return u < 1.0f ? u : 0.99999994f;
}

/* ==================================================================================================== >>math
   The canonical arithmetic: what DETERMINISM promises is computed by these functions and no others. They use +, *, /,
   sqrt and fma of IEEE doubles and integers, so they give the same bits everywhere. */

#define SAMPI_TEMP_MIN (1.0f / (1 << 20))
#define SAMPI_TEMP_MAX ((float)(1 << 20))
#define SAMPI_LOG2E    1.4426950408889634074
#define SAMPI_LN2      0.69314718055994530942
#define SAMPI_ONE      ((uint64_t)1 << 40) /* the weight of the maximum */
#define SAMPI_INT      4503599627370496.0  /* x + 2^52 holds round(x) in its low bits, for 0 <= x < 2^51 */
#define SAMPI_SHIFT    6755399441055744.0  /* the same for a signed x, as an offset from the bits of 1.5 * 2^52 */

/* 2^f for f in [-1/2, 1/2]: relative error below 1e-12 (9.4e-13), 1 at 0, and twice as much at 1/2 as at -1/2, so that
   neighbouring octaves meet and the weight is monotone. */
#define SAMPI_E1 0.693147180546408
#define SAMPI_E2 0.24022650698085157
#define SAMPI_E3 0.05550410942820459
#define SAMPI_E4 0.009618128656145157
#define SAMPI_E5 0.0013333447517466927
#define SAMPI_E6 0.0001540377622604349
#define SAMPI_E7 1.5311115691643975e-05
#define SAMPI_E8 1.319342516676227e-06

SAMPI_INLINE double sampi_exp2_poly(double f)
{
    double p = SAMPI_E8;
    p = fma(p, f, SAMPI_E7);
    p = fma(p, f, SAMPI_E6);
    p = fma(p, f, SAMPI_E5);
    p = fma(p, f, SAMPI_E4);
    p = fma(p, f, SAMPI_E3);
    p = fma(p, f, SAMPI_E2);
    p = fma(p, f, SAMPI_E1);
    return fma(p, f, 1.0);
}

/* 2^40 * exp(l - max) as a double; d = l - max <= 0 in nats, clamped at -700. */
SAMPI_INLINE double sampi_exp(float max, float l)
{
    double d = (double)l - (double)max;
    d = d > -700.0 ? d : -700.0;
    double s = fma(d, SAMPI_LOG2E, SAMPI_SHIFT); /* n = round(d / ln 2) in the low bits of s */
    double f = fma(d, SAMPI_LOG2E, -(s - SAMPI_SHIFT));
    return sampi_exp2_poly(f) * sampi_from_bits((sampi_bits(s) + 1023 + 40) << 52);
}

/* w = round(2^40 * exp(l - max)): 2^40 for the maximum, 0 from about 28.4 nats below it, 0 for a masked token. */
SAMPI_INLINE uint64_t sampi_weight(float max, float l)
{
    return sampi_bits(fma(1.0, sampi_exp(max, l), SAMPI_INT)) - sampi_bits(SAMPI_INT);
}

/* q in [1, 2^26], an upper bound: q * 2^14 >= w. With x = (max - l) / ln 2 = n + f it is the chord 2^-n (1 - f / 2),
   which lies above 2^-x by at most 6.2 %, in units of 2^-26 and rounded up. x is taken 2^-20 (relative) too small,
   which covers the rounding of both f32 steps. 0 for tokens 64 octaves down, masked ones among them: their w is 0. */
#define SAMPI_ENVELOPE_UNIT 48408768.0f /* log2 e (1 - 2^-20), in units of 2^-25 */

SAMPI_INLINE uint32_t sampi_envelope(float max, float l)
{
    float x = (max - l) * SAMPI_ENVELOPE_UNIT;
    if (!(x < 2147483648.0f)) return 0;
    uint32_t i = (uint32_t)(int32_t)x, n = i >> 25;
    return ((((uint32_t)1 << 26) - 1 - (i & 0x1FFFFFFu)) >> (n < 31 ? n : 31)) + 1;
}

/* 2^t for |t| <= 1000 (beyond that as if at +-1000), to 1e-12. */
static double sampi_exp2(double t)
{
    t = t < 1000.0 ? (t > -1000.0 ? t : -1000.0) : 1000.0;
    double s = t + SAMPI_SHIFT;
    return sampi_exp2_poly(t - (s - SAMPI_SHIFT)) * sampi_from_bits((sampi_bits(s) + 1023) << 52);
}

/* ln x for a normal x > 0, to 1e-15: with x = 2^n m, m in [1/sqrt 2, sqrt 2], and s = (m - 1) / (m + 1), it is
   n ln 2 + 2 (s + s^3 / 3 + s^5 / 5 + ...). */
static double sampi_ln(double x)
{
    uint64_t u = sampi_bits(x);
    double n = (double)((int)(u >> 52) - 1023);
    double m = sampi_from_bits((u & 0xFFFFFFFFFFFFFu) | ((uint64_t)1023 << 52));
    if (m > 1.4142135623730951) m *= 0.5, n += 1.0;
    double s = (m - 1.0) / (m + 1.0), z = s * s, p = 1.0 / 19.0;
    for (int k = 17; k >= 3; k -= 2) p = fma(p, z, 1.0 / k);
    return fma(n, SAMPI_LN2, fma(s * z * 2.0, p, s * 2.0));
}

static double sampi_log2(double x) { return sampi_round(sampi_ln(x) * SAMPI_LOG2E); }

/* x^y for x >= 0. */
static double sampi_pow(double x, double y)
{
    if (y == 0.0) return 1.0;
    if (x <= 0.0) return 0.0;
    return sampi_exp2(sampi_round(y * sampi_log2(x)));
}

/* x^n by squaring, n >= 0. */
static double sampi_powi(double x, int32_t n)
{
    double r = 1.0;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) r *= x;
    return r;
}

/* An integer of 128 bits in halves, since not every target has one. Sums wrap. */
typedef struct sampi_u128 {
    uint64_t hi, lo;
} sampi_u128;

static inline sampi_u128 sampi_mul128_by_halves(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, cross = a1 * b0 + (low >> 32); /* neither of the two can overflow */
    uint64_t other = a0 * b1 + (uint32_t)cross;
    sampi_u128 product = { a1 * b1 + (cross >> 32) + (other >> 32), other << 32 | (uint32_t)low };
    return product;
}

static inline sampi_u128 sampi_mul128(uint64_t a, uint64_t b)
{
#if defined(__SIZEOF_INT128__) && !defined(SAMPI_PORTABLE_128)
    __extension__ typedef unsigned __int128 wide;
    wide x = (wide)a * b;
    sampi_u128 product = { (uint64_t)(x >> 64), (uint64_t)x };
    return product;
#else
    return sampi_mul128_by_halves(a, b);
#endif
}

static inline sampi_u128 sampi_add128(sampi_u128 a, sampi_u128 b)
{
    sampi_u128 sum = { a.hi + b.hi, a.lo + b.lo };
    sum.hi += sum.lo < a.lo;
    return sum;
}

static inline sampi_u128 sampi_sub128(sampi_u128 a, sampi_u128 b)
{
    sampi_u128 rest = { a.hi - b.hi - (a.lo < b.lo), a.lo - b.lo };
    return rest;
}

/* To the nearest, ties to even: of the upper 64 bits, with one more where those left out are not all zero. */
static inline double sampi_double_of_128(sampi_u128 x)
{
    if (x.hi == 0) return (double)x.lo;
    int empty = __builtin_clzll(x.hi);
    uint64_t top = empty ? x.hi << empty | x.lo >> (64 - empty) : x.hi;
    top |= (x.lo << empty) != 0;
    return (double)top * sampi_from_bits((uint64_t)(1023 + 64 - empty) << 52);
}

static uint64_t sampi_mulhi(uint64_t a, uint64_t b) { return sampi_mul128(a, b).hi; }

/* A probability in [0, 1) as P = p * 2^64, and the smallest mass that reaches the share P of z: ceil(P * z / 2^64). */
static uint64_t sampi_share(double p) { return (uint64_t)(p * 18446744073709551616.0); }
static uint64_t sampi_mass_of(uint64_t share, uint64_t z)
{
    sampi_u128 x = sampi_mul128(share, z);
    return x.hi + (x.lo != 0);
}

/* The float with these bits; of half a float's bits (bf16), and of IEEE's 16-bit format: exact. */
static float sampi_float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}
static float sampi_bf16_to_f32(uint16_t h) { return sampi_float_of((uint32_t)h << 16); }
static float sampi_f16_to_f32(uint16_t h)
{
    int32_t low = h & 0x7FFF; /* exponent 31, infinity and NaN, becomes 255; below 2^-14 it is a number of units */
    uint32_t u = ((uint32_t)low << 13) + ((uint32_t)(low < 0x7C00 ? 112 : 224) << 23);
    float x = low < 0x400 ? (float)low * (1.0f / (1 << 24)) : sampi_float_of(u);
    return x * (float)(1 - 2 * (h >> 15)); /* no branch: signs can't be foretold */
}

#ifdef SAMPLING_KV
/* To the nearest, ties to even. NaN stays NaN. */
static uint16_t sampi_f32_to_f16(float x)
{
    uint32_t u, sign, shift = 13, rest;
    memcpy(&u, &x, 4);
    sign = u >> 16 & 0x8000u;
    u &= 0x7FFFFFFFu;
    if (u > 0x7F800000u) return (uint16_t)(sign | 0x7E00u);
    if (u >= 0x47800000u) return (uint16_t)(sign | 0x7C00u); /* 2^16 and more */
    if (u < 0x33000000u) return (uint16_t)sign;              /* less than half of the smallest */
    if (u < 0x38800000u) {                                   /* subnormal: in units of 2^-24 */
        shift = 126 - (u >> 23);
        u = (u & 0x7FFFFFu) | 0x800000u;
    } else {
        u -= 112u << 23;
    }
    rest = u & (((uint32_t)1 << shift) - 1);
    u >>= shift;
    u += rest > (uint32_t)1 << (shift - 1) || (rest == (uint32_t)1 << (shift - 1) && (u & 1));
    return (uint16_t)(sign | u); /* a carry goes to the next exponent, as it should */
}
#endif

/* Element i of a row as given. */
static float sampi_element(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i)
{
    if (mask && !(mask[i / 32] >> (i % 32) & 1u)) return -INFINITY;
    if (dtype == SAMP_F16) return sampi_f16_to_f32(((const uint16_t *)x)[i]);
    if (dtype == SAMP_BF16) return sampi_bf16_to_f32(((const uint16_t *)x)[i]);
    return dtype == SAMP_F64 ? (float)((const double *)x)[i] : ((const float *)x)[i];
}

/* Of the bits of `words` words, an even number: 0 none is set, 1 some, 2 all. Masks are mostly alike over long
   stretches. */
static inline int sampi_mask_kind(const uint32_t *mask, size_t words)
{
    uint64_t any = 0, all = ~(uint64_t)0, two;
    for (size_t i = 0; i < words; i += 2) {
        memcpy(&two, mask + i, 8);
        any |= two;
        all &= two;
    }
    return all == ~(uint64_t)0 ? 2 : any != 0;
}

/* Call f, which is inlined, with each dtype and mask as constants. */
#define SAMPI_BY_DTYPE(f, x, dtype, mask, ...)                                                                       \
    switch (dtype) {                                                                                                 \
        case SAMP_F16: return mask ? f(x, SAMP_F16, mask, __VA_ARGS__) : f(x, SAMP_F16, NULL, __VA_ARGS__);          \
        case SAMP_BF16: return mask ? f(x, SAMP_BF16, mask, __VA_ARGS__) : f(x, SAMP_BF16, NULL, __VA_ARGS__);       \
        case SAMP_F64: return mask ? f(x, SAMP_F64, mask, __VA_ARGS__) : f(x, SAMP_F64, NULL, __VA_ARGS__);          \
        default: return mask ? f(x, SAMP_F32, mask, __VA_ARGS__) : f(x, SAMP_F32, NULL, __VA_ARGS__);                \
    }
#define SAMPI_SIZE_OF(dtype) ((size_t)((dtype) == SAMP_F64 ? 8 : (dtype) == SAMP_F32 ? 4 : 2))

/* 64 bits that tell damage. Each word of eight bytes goes through a bijection, so a change within one word always
   shows. */
static uint64_t sampi_checksum(const void *bytes, size_t n)
{
    const char *p = (const char *)bytes;
    uint64_t h = 0x9E3779B97F4A7C15u ^ n;
    for (size_t at = 0; at < n; at += 8) {
        uint64_t x = 0;
        memcpy(&x, p + at, n - at < 8 ? n - at : 8);
        h = (h ^ x) * 0xD1342543DE82EF95u;
        h = (h ^ h >> 29) * 0x9E3779B97F4A7C15u; /* or else two bits of the next word could undo a change */
    }
    return h;
}

static bool sampi_masked(float l) { return l == -INFINITY; }

static float sampi_finite(float l) { return l > FLT_MAX ? FLT_MAX : l < -FLT_MAX ? -FLT_MAX : l; }

/* ================================================================================================= >>kernels
   Loops over a row: a row comes in, and out come maxima, sums, counts, or the elements wanted. There is one body of
   them (>>passes) over a small vocabulary (>>vectors), compiled once per instruction set, and a readable reference
   (>>scalar). All give the same result to the last bit, but for the sums of sweep and moments, which are estimates with
   a bound; the one that is best here is chosen at run time (>>dispatch). To add a kernel or a set, see these sections.

   A row is x [n] floats, n >= 1, at any alignment; nothing behind x [n - 1] is read. A line is 16 elements, a tile 256;
   the last ones may be shorter. The logit is l = x * r rounded to f32 (r = 1 leaves it). "Slack 16" says that up to 16
   elements behind the result are overwritten. Masked elements (-infinity) are allowed everywhere. A floor is above
   -infinity.

     fetch     out [n] = elements at .. at + n of a row of any dtype as f32 (f64 rounded), -infinity where mask (NULL:
               none) has no bit. at is a multiple of 16. Returns n.
     maxima    line [16 * ceil(n / 256)] = the maximum of each line of such a row (-infinity behind the last).
               Returns the row's maximum; NaN if the row has one.
     sweep     estimates of z = sum e^(l - max) and s = sum e^(l - max) (max - l) over the unmasked elements, max the
               largest l or more; their errors are below SAMPI_SWEEP_ROUNDING and SAMPI_SWEEP_SLOPE.
     moments   moment [0] = how many are unmasked (exact), and estimates of [1] = the sum of x - pivot over these, [2] =
               the sum of its squares.
     fold      out [j] = the maximum of those line [i] with i mod m = j, j < m; m a multiple of 16, n of m.
     collect   the elements with floor <= x < below in their order: x_out, id_out (slack 16), and how many. Ids are
               id [i], or base + i if id is NULL. x_out == x with id_out == id is fine.
     pick      those with x >= floor from m lines of x only, whose numbers line [m] ascend; ids are indices in x.
     count     how many elements are >= floor.
     weights   w [n] (slack 16) = sampi_weight(max, x).
     probs     p [n] (slack 16) = (float)(2^40 e^(x - max) / z), not rounded before the division; masked: 0.
     mass      the sum of w [i] over x [i] >= floor.
     sums      adds to sampi_sum's z, s (if with_s, else it is lost) and n for l = x * r; the weights of x >= floor also
               to above.
     envelope  tile [ceil(n / 256)] = for each tile the sum of sampi_envelope(max, l) over x >= floor.
     scale     out [n] = sampi_finite(x * r); a masked element stays masked. out == x is fine. */

/* What a row's sums tell. All exact, so independent of order. */
typedef struct sampi_sums {
    float max;
    size_t n;       /* unmasked tokens */
    uint64_t z;     /* sum of w: Z = z / 2^40 */
    uint64_t s;     /* sum of round(w * (max - l)): s / z = the mean of max - l under p */
    uint64_t above; /* sum of w above some threshold */
} sampi_sums;

/* round(w * (max - l)) */
SAMPI_INLINE uint64_t sampi_weighted(uint64_t w, float max, float l)
{
    return w ? sampi_bits(fma((double)w, (double)max - (double)l, SAMPI_INT)) - sampi_bits(SAMPI_INT) : 0;
}

static void sampi_sum_add(sampi_sums *r, float max, float l)
{
    uint64_t w = sampi_weight(max, l);
    r->n++;
    r->z += w;
    r->s += sampi_weighted(w, max, l);
}

typedef struct sampi_kernels {
    const char *name;
    size_t (*fetch)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t at, size_t n, float *out);
    float (*maxima)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t n, float *line);
    void (*sweep)(const float *x, size_t n, float r, float max, double *z, double *s);
    void (*moments)(const float *x, size_t n, float pivot, double *moment);
    void (*fold)(const float *line, size_t n, float *out, size_t m);
    size_t (*collect)(const float *x, const int32_t *id, int32_t base, size_t n, float floor, float below,
                      float *x_out, int32_t *id_out);
    size_t (*pick)(const float *x, size_t n, const int32_t *line, size_t m, float floor, float *x_out,
                   int32_t *id_out);
    size_t (*count)(const float *x, size_t n, float floor);
    void (*weights)(const float *x, size_t n, float max, uint64_t *w);
    void (*probs)(const float *x, size_t n, float max, double z, float *p);
    uint64_t (*mass)(const float *x, const uint64_t *w, size_t n, float floor);
    void (*sums)(const float *x, size_t n, float r, float max, float floor, bool with_s, sampi_sums *sums);
    void (*envelope)(const float *x, size_t n, float r, float max, float floor, uint64_t *tile);
    void (*scale)(const float *x, size_t n, float r, float *out);
} sampi_kernels;

#define SAMPI_TILE    256
#define SAMPI_LINE    16
#define SAMPI_AHEAD   1024     /* bytes to prefetch ahead, */
#define SAMPI_FAR     4096     /* and in the first pass over a row: a page */
#define SAMPI_LEAST_D (-86.0f) /* sweep takes l - max below this as this: e^-86 is still a normal float */

/* 2^f for f in [-1/2, 1/2] in float, for sweep: relative error of the polynomial below 1e-7. */
#define SAMPI_F1 0.693146978f
#define SAMPI_F2 0.24022242f
#define SAMPI_F3 0.0555073381f
#define SAMPI_F4 0.00967152081f
#define SAMPI_F5 0.00132647295f

/* Row sums for the estimates: (relative) error of z, and of s relative to sum e^(l - ref) |ref - l|. */
#define SAMPI_SWEEP_ROUNDING 2e-6
#define SAMPI_SWEEP_SLOPE    1.5e-7 /* per nat of the mean of |ref - l| under e^(l - ref) */

/* ================================================================================================== >>scalar */

static size_t sampi_fetch_scalar(const void *x, samp_dtype dtype, const uint32_t *mask, size_t at, size_t n,
                                 float *out)
{
    for (size_t i = 0; i < n; i++) out[i] = sampi_element(x, dtype, mask, at + i);
    return n;
}

static float sampi_maxima_scalar(const void *x, samp_dtype dtype, const uint32_t *mask, size_t n, float *line)
{
    float max = -INFINITY, buf[SAMPI_LINE];
    bool nan = false;
    for (size_t i = 0; i < (n + SAMPI_TILE - 1) / SAMPI_TILE * 16; i++) line[i] = -INFINITY;
    for (size_t i = 0; i < n; i += SAMPI_LINE, line++) {
        size_t len = n - i < SAMPI_LINE ? n - i : SAMPI_LINE;
        const float *v = dtype == SAMP_F32 && !mask ? (const float *)x + i : buf;
        if (v == buf) sampi_fetch_scalar(x, dtype, mask, i, len, buf);
        for (size_t j = 0; j < len; j++) {
            nan |= v[j] != v[j];
            if (v[j] > *line) *line = v[j];
        }
        if (*line > max) max = *line;
    }
    return nan ? NAN : max;
}

static void sampi_sweep_scalar(const float *x, size_t n, float r, float max, double *z, double *s)
{
    *z = *s = 0.0;
    for (size_t i = 0; i < n; i++) {
        float d = sampi_roundf(x[i] * r) - max;
        if (!(d > SAMPI_LEAST_D)) d = SAMPI_LEAST_D;
        double e = sampi_exp(0.0f, d) / (double)SAMPI_ONE;
        *z += e;
        *s = fma(e, -(double)d, *s);
    }
}

static void sampi_moments_scalar(const float *x, size_t n, float pivot, double *moment)
{
    moment[0] = moment[1] = moment[2] = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (sampi_masked(x[i])) continue;
        double v = (double)x[i] - (double)pivot;
        moment[0] += 1.0;
        moment[1] += v;
        moment[2] = fma(v, v, moment[2]);
    }
}

static void sampi_fold_scalar(const float *line, size_t n, float *out, size_t m)
{
    memcpy(out, line, m * sizeof *out);
    for (size_t i = m; i < n; i += m)
        for (size_t j = 0; j < m; j++)
            if (line[i + j] > out[j]) out[j] = line[i + j];
}

static size_t sampi_collect_scalar(const float *x, const int32_t *id, int32_t base, size_t n, float floor,
                                   float below, float *x_out, int32_t *id_out)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        float v = x[i];
        int32_t token = id ? id[i] : base + (int32_t)i;
        x_out[kept] = v;
        id_out[kept] = token;
        kept += v >= floor && v < below;
    }
    return kept;
}

static size_t sampi_pick_scalar(const float *x, size_t n, const int32_t *line, size_t m, float floor, float *x_out,
                                int32_t *id_out)
{
    size_t kept = 0;
    for (size_t h = 0; h < m; h++) {
        size_t at = (size_t)line[h] * SAMPI_LINE, len = n - at < SAMPI_LINE ? n - at : SAMPI_LINE;
        kept += sampi_collect_scalar(x + at, NULL, (int32_t)at, len, floor, INFINITY, x_out + kept, id_out + kept);
    }
    return kept;
}

static size_t sampi_count_scalar(const float *x, size_t n, float floor)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += x[i] >= floor;
    return count;
}

static void sampi_weights_scalar(const float *x, size_t n, float max, uint64_t *w)
{
    for (size_t i = 0; i < n; i++) w[i] = sampi_weight(max, x[i]);
}

static void sampi_probs_scalar(const float *x, size_t n, float max, double z, float *p)
{
    for (size_t i = 0; i < n; i++) p[i] = sampi_masked(x[i]) ? 0.0f : (float)(sampi_exp(max, x[i]) / z);
}

static uint64_t sampi_mass_scalar(const float *x, const uint64_t *w, size_t n, float floor)
{
    uint64_t mass = 0;
    for (size_t i = 0; i < n; i++) mass += x[i] >= floor ? w[i] : 0;
    return mass;
}

static void sampi_sums_scalar(const float *x, size_t n, float r, float max, float floor, bool with_s,
                              sampi_sums *sums)
{
    (void)with_s; /* no dearer */
    for (size_t i = 0; i < n; i++) {
        if (sampi_masked(x[i])) continue;
        uint64_t z = sums->z;
        sampi_sum_add(sums, max, sampi_roundf(x[i] * r));
        if (x[i] >= floor) sums->above += sums->z - z;
    }
}

static void sampi_envelope_scalar(const float *x, size_t n, float r, float max, float floor, uint64_t *tile)
{
    for (size_t i = 0; i < n; i++) {
        if (i % SAMPI_TILE == 0) tile[i / SAMPI_TILE] = 0;
        if (x[i] >= floor) tile[i / SAMPI_TILE] += sampi_envelope(max, sampi_roundf(x[i] * r));
    }
}

static void sampi_scale_scalar(const float *x, size_t n, float r, float *out)
{
    for (size_t i = 0; i < n; i++) out[i] = sampi_masked(x[i]) ? x[i] : sampi_finite(x[i] * r);
}

/* ---- the instruction sets: >>vectors and >>passes, once for each ---- */

#define SAMPI_PASS_GENERIC 1
#define SAMPI_PASS_SSE2    2
#define SAMPI_PASS_AVX2    3
#define SAMPI_PASS_AVX512  4
#define SAMPI_PASS_NEON    5
#define SAMPI_PASS_WASM    6

#define SAMPI_OP       SAMPI_INLINE SAMPI_T
#define SAMPI_UNROLL_4 _Pragma("GCC unroll 4")
#define SAMPI_UNROLL_8 _Pragma("GCC unroll 8")
#define SAMPI_FOUR     SAMPI_UNROLL_4 for (int k = 0; k < 4; k++) /* of the four vectors of a step */
#define SAMPI_PARTS    (SAMPI_W == 4 ? 4 : 2)                     /* vectors of a line, or of two */
#define SAMPI_ROWS     (SAMPI_W == 16 ? 8 : SAMPI_W)              /* lines, or pairs of them, whose maxima make one */
#define SAMPI_VECTOR(type, ...)                                                                                      \
    __extension__({                                                                                                  \
        type v_ = { __VA_ARGS__ };                                                                                   \
        v_;                                                                                                          \
    })
#if defined(__clang__) || __GNUC__ >= 12
#define SAMPI_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SAMPI_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, SAMPI_VECTOR(V(m), __VA_ARGS__))
#endif
static const int32_t SAMPI_STEP[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

#if SAMPI_GENERIC
#define SAMPI_PASS SAMPI_PASS_GENERIC
#include SAMP_SELF_INCLUDE
#undef SAMPI_PASS
#endif
#if SAMPI_SSE2
#define SAMPI_PASS SAMPI_PASS_SSE2
#include SAMP_SELF_INCLUDE
#undef SAMPI_PASS
#endif
#if SAMPI_AVX2
#define SAMPI_PASS SAMPI_PASS_AVX2
#include SAMP_SELF_INCLUDE
#undef SAMPI_PASS
#endif
#if SAMPI_AVX512
#define SAMPI_PASS SAMPI_PASS_AVX512
#include SAMP_SELF_INCLUDE
#undef SAMPI_PASS
#endif
#if SAMPI_NEON
#define SAMPI_PASS SAMPI_PASS_NEON
#include SAMP_SELF_INCLUDE
#undef SAMPI_PASS
#endif
#if SAMPI_WASM
#define SAMPI_PASS SAMPI_PASS_WASM
#include SAMP_SELF_INCLUDE
#undef SAMPI_PASS
#endif

#endif /* SAMPLING_IMPLEMENTATION, its first part */

#ifdef SAMPI_PASS
/* ================================================================================================= >>vectors
   The vocabulary: what a kernel says of vectors of SAMPI_W floats, an operation a line. This section and the next one
   are compiled once per instruction set: the header includes itself with SAMPI_PASS set, and V(name) is then
   sampi_name_avx512, say. Types: V(f) floats and V(i) unsigned 32-bit integers, SAMPI_W of each; V(d) doubles, V(q)
   unsigned 64-bit integers, half as many; V(m) which of SAMPI_W lanes a comparison holds for; V(t) a count of these.
   + - * / & | ~ << >> are the compiler's own. What the sets below leave out is shared, at the end. A new set is a
   number, a switch and an #include before this section, its operations here, and a line of SAMPI_KERNEL_TABLE.

     all alli alld allq   the same in every lane            load loadi loadq store storeq   at any alignment
     tail taili tailq     the first n lanes, n <= all of them; -infinity, 0 and 0 behind
     max min maxd         fma fmad: a * b + c, in one step where SAMPI_FUSED, else product and sum apart
     ge lt_and unord      >=; m and <; is one of the two no number            negative: is the upper bit set
     any                  does it hold for any lane         keep select   v or 0; a or b, by lane
     sub_where            sum - v where it holds            add_where     sum + v where it holds for this half
     none tally total     a count: of nothing, with those that it holds for, as a number
     widen narrow         a half as doubles; two halves as floats
     trunc                to an integer; from 2^31 on the upper bit is set
     chord                -q of sampi_envelope for its i: (i mod 2^25 - 2^26) >> i / 2^25, the sign filling up
     hmax hsum hsumq      over the lanes; pairs: sums of neighbours in 64 bits
     stay                 a product that is not to be fused with the sum behind it
     pack                 the lanes it holds for, to the front of x_out and id_out -> how many
     row                  elements i .. i + SAMPI_W of a row of any dtype, -infinity where the mask has no bit: what
                          u16, f16, allowed, eight and join are for
     parts                line i in SAMPI_PARTS vectors, whose order does not matter; with 16 lanes halves of lines i
                          and i + 4 side by side
     columns              the maximum of each of SAMPI_ROWS vectors; with 16 lanes of each half */

#if SAMPI_PASS == SAMPI_PASS_AVX512
#define V(name)     sampi_##name##_avx512
#define SAMPI_T     __attribute__((target("avx2,fma,f16c,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")))
#define SAMPI_W     16
#define SAMPI_FUSED 1
#elif SAMPI_PASS == SAMPI_PASS_AVX2
#define V(name)     sampi_##name##_avx2
#define SAMPI_T     __attribute__((target("avx2,fma,f16c,bmi,bmi2,popcnt")))
#define SAMPI_W     8
#define SAMPI_FUSED 1
#else /* what the compiler may use anyway */
#define SAMPI_T
#define SAMPI_W 4
#if SAMPI_PASS == SAMPI_PASS_NEON
#define V(name)     sampi_##name##_neon
#define SAMPI_FUSED 1
#else
#define SAMPI_FUSED 0
#if SAMPI_PASS == SAMPI_PASS_SSE2
#define V(name) sampi_##name##_sse2
#elif SAMPI_PASS == SAMPI_PASS_WASM
#define V(name) sampi_##name##_wasm
#else
#define V(name) sampi_##name##_generic
#endif
#endif
#endif

/* An operation a line, where one will do. */
/* clang-format off */
typedef float V(f) __attribute__((vector_size(4 * SAMPI_W)));
typedef double V(d) __attribute__((vector_size(4 * SAMPI_W)));
typedef uint32_t V(i) __attribute__((vector_size(4 * SAMPI_W)));
typedef uint64_t V(q) __attribute__((vector_size(4 * SAMPI_W)));
#if SAMPI_PASS == SAMPI_PASS_AVX512
typedef __mmask16 V(m);
typedef __mmask8 V(h); /* of half the lanes */
typedef size_t V(t);
#else
typedef int32_t V(m) __attribute__((vector_size(4 * SAMPI_W)));
typedef V(i) V(t);
#endif

#if SAMPI_W == 4
SAMPI_OP V(f) V(all)(float x) { return SAMPI_VECTOR(V(f), x, x, x, x); }
SAMPI_OP V(i) V(alli)(uint32_t x) { return SAMPI_VECTOR(V(i), x, x, x, x); }
SAMPI_OP V(d) V(alld)(double x) { return SAMPI_VECTOR(V(d), x, x); }
SAMPI_OP V(q) V(allq)(uint64_t x) { return SAMPI_VECTOR(V(q), x, x); }
#endif

#if SAMPI_PASS == SAMPI_PASS_AVX512
/* gcc 12 warns of _mm512_undefined() in the wrappers without a mask, so the forms with a mask stand here, and it is
   full. It costs nothing: compilers drop it. */

SAMPI_OP V(f) V(all)(float x) { return _mm512_set1_ps(x); }
SAMPI_OP V(i) V(alli)(uint32_t x) { return (V(i))_mm512_set1_epi32((int)x); }
SAMPI_OP V(d) V(alld)(double x) { return _mm512_set1_pd(x); }
SAMPI_OP V(q) V(allq)(uint64_t x) { return (V(q))_mm512_set1_epi64((long long)x); }
SAMPI_OP V(m) V(first)(size_t left) { return (V(m))_bzhi_u32(0xFFFF, (unsigned)left); }
SAMPI_OP V(f) V(tail)(const float *p, size_t n) { return _mm512_mask_loadu_ps(V(all)(-INFINITY), V(first)(n), p); }
SAMPI_OP V(i) V(taili)(const int32_t *p, size_t left) { return (V(i))_mm512_maskz_loadu_epi32(V(first)(left), p); }
SAMPI_OP V(q) V(tailq)(const uint64_t *p, size_t n) { return (V(q))_mm512_maskz_loadu_epi64((V(h))V(first)(n), p); }
SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { return _mm512_maskz_max_ps(0xFFFF, a, b); }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { return _mm512_maskz_min_ps(0xFFFF, a, b); }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { return _mm512_maskz_max_pd(0xFF, a, b); }
SAMPI_OP V(f) V(fma)(V(f) a, V(f) b, V(f) c) { return _mm512_fmadd_ps(a, b, c); }
SAMPI_OP V(d) V(fmad)(V(d) a, V(d) b, V(d) c) { return _mm512_fmadd_pd(a, b, c); }
SAMPI_OP V(m) V(ge)(V(f) a, V(f) b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
SAMPI_OP V(m) V(negative)(V(i) a) { return _mm512_movepi32_mask((__m512i)a); }
SAMPI_OP bool V(any)(V(m) m) { return m != 0; }
SAMPI_OP V(f) V(keep)(V(m) m, V(f) v) { return _mm512_maskz_mov_ps(m, v); }
SAMPI_OP V(f) V(select)(V(m) m, V(f) a, V(f) b) { return _mm512_mask_mov_ps(b, m, a); }
SAMPI_OP V(t) V(none)(void) { return 0; }
SAMPI_OP V(t) V(tally)(V(t) n, V(m) m) { return n + (V(t))__builtin_popcount(m); }
SAMPI_OP size_t V(total)(V(t) n) { return n; }
SAMPI_OP V(q) V(add_where)(V(q) sum, V(m) m, int half, V(q) v)
    { return (V(q))_mm512_mask_add_epi64((__m512i)sum, (__mmask8)(half ? m >> 8 : m), (__m512i)sum, (__m512i)v); }
SAMPI_OP V(f) V(join)(__m256 a, __m256 b)
    { return _mm512_maskz_insertf32x8(0xFFFF, _mm512_castps256_ps512(a), b, 1); }
SAMPI_OP V(d) V(widen)(V(f) v, int half)
{
    __m256 low = _mm512_maskz_extractf32x8_ps(0xFF, v, 0), high = _mm512_maskz_extractf32x8_ps(0xFF, v, 1);
    return _mm512_maskz_cvtps_pd(0xFF, half ? high : low);
}
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b)
    { return V(join)(_mm512_maskz_cvtpd_ps(0xFF, a), _mm512_maskz_cvtpd_ps(0xFF, b)); }
SAMPI_OP V(i) V(trunc)(V(f) v) { return (V(i))_mm512_maskz_cvttps_epi32(0xFFFF, v); }
SAMPI_OP V(i) V(chord)(V(i) k) /* ~((k & 2^25 - 1) ^ 2^26 - 1) in one step */
{
    const __m512i fraction = _mm512_set1_epi32(0x1FFFFFF), sign = _mm512_set1_epi32(~0x3FFFFFF);
    __m512i a = _mm512_ternarylogic_epi32((__m512i)k, fraction, sign, 0x6A);
    return (V(i))_mm512_maskz_srav_epi32(0xFFFF, a, (__m512i)(k >> 25));
}
SAMPI_OP V(i) V(sub_where)(V(i) sum, V(m) m, V(i) v)
    { return (V(i))_mm512_mask_sub_epi32((__m512i)sum, m, (__m512i)sum, (__m512i)v); }
SAMPI_OP V(m) V(lt_and)(V(m) m, V(f) a, V(f) b) { return _mm512_mask_cmp_ps_mask(m, a, b, _CMP_LT_OQ); }
SAMPI_OP V(f) V(stay)(V(f) v) { __asm__("" : "+v"(v)); return v; }
SAMPI_OP uint64_t V(hsumq)(V(q) v)
{
    __m512i u = (__m512i)v;
    __m256i low = _mm512_maskz_extracti64x4_epi64(0xF, u, 0), a = low + _mm512_maskz_extracti64x4_epi64(0xF, u, 1);
    __m128i b = _mm_add_epi64(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    return (uint64_t)_mm_cvtsi128_si64(b) + (uint64_t)_mm_extract_epi64(b, 1);
}
SAMPI_OP size_t V(pack)(V(f) v, V(i) id, V(m) in, float *x_out, int32_t *id_out)
{
    _mm512_storeu_ps(x_out, _mm512_maskz_compress_ps(in, v));
    _mm512_storeu_si512((void *)id_out, _mm512_maskz_compress_epi32(in, (__m512i)id));
    return (size_t)__builtin_popcount(in);
}
/* Eight elements: of f16 and f64 twice eight are on some CPUs cheaper than sixteen. */
SAMPI_OP __m256 V(eight)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i)
{
    const __m256 none = _mm256_set1_ps(-INFINITY);
    __mmask8 in = mask ? ((const uint8_t *)mask)[i / 8] : 0xFF;
    if (dtype == SAMP_F64) return _mm512_mask_cvtpd_ps(none, in, _mm512_loadu_pd((const double *)x + i));
    if (dtype == SAMP_F32) return _mm256_loadu_ps((const float *)x + i);
    __m128i h = _mm_loadu_si128((const __m128i *)(const void *)((const uint16_t *)x + i));
    __m256 v = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
    if (dtype == SAMP_F16) v = _mm256_cvtph_ps(h);
    return mask ? _mm256_mask_mov_ps(none, in, v) : v;
}
SAMPI_OP V(f) V(row)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i)
{
    V(m) in = 0xFFFF;
    if (mask) memcpy(&in, (const char *)mask + i / 8, 2);
    if (dtype == SAMP_F32 && mask) return _mm512_mask_loadu_ps(V(all)(-INFINITY), in, (const float *)x + i);
    if (dtype == SAMP_F32) return _mm512_loadu_ps((const float *)x + i);
    return V(join)(V(eight)(x, dtype, mask, i), V(eight)(x, dtype, mask, i + 8));
}
SAMPI_OP void V(parts)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i, V(f) *part)
{
    size_t j = i + 4 * SAMPI_LINE;
    if (dtype == SAMP_BF16 && !mask) { /* even and odd elements, where they stand */
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)((const uint16_t *)x + i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)((const uint16_t *)x + j));
        V(i) both = (V(i))_mm512_maskz_inserti32x8(0xFFFF, _mm512_castsi256_si512(a), b, 1);
        part[0] = (V(f))(both << 16);
        part[1] = (V(f))(both & V(alli)(0xFFFF0000u));
        return;
    }
    if (mask) {
        V(f) a = V(row)(x, dtype, mask, i), b = V(row)(x, dtype, mask, j);
        part[0] = _mm512_maskz_shuffle_f32x4(0xFFFF, a, b, 0x44);
        part[1] = _mm512_maskz_shuffle_f32x4(0xFFFF, a, b, 0xEE);
        return;
    }
    for (size_t k = 0; k < 2; k++) /* the loads spare the shuffles */
        part[k] = V(join)(V(eight)(x, dtype, NULL, i + 8 * k), V(eight)(x, dtype, NULL, j + 8 * k));
}
SAMPI_OP V(f) V(columns)(V(f) *v)
{
    SAMPI_UNROLL_8 for (int k = 0; k < 4; k++)
        v[k] = V(max)(_mm512_maskz_unpacklo_ps(0xFFFF, v[2 * k], v[2 * k + 1]),
                      _mm512_maskz_unpackhi_ps(0xFFFF, v[2 * k], v[2 * k + 1]));
    SAMPI_UNROLL_8 for (int k = 0; k < 2; k++)
        v[k] = V(max)(_mm512_maskz_shuffle_ps(0xFFFF, v[2 * k], v[2 * k + 1], 0x44),
                      _mm512_maskz_shuffle_ps(0xFFFF, v[2 * k], v[2 * k + 1], 0xEE));
    return V(max)(_mm512_maskz_shuffle_f32x4(0xFFFF, v[0], v[1], 0x88),
                  _mm512_maskz_shuffle_f32x4(0xFFFF, v[0], v[1], 0xDD));
}

#elif SAMPI_PASS == SAMPI_PASS_AVX2

SAMPI_OP V(f) V(all)(float x) { return _mm256_set1_ps(x); }
SAMPI_OP V(i) V(alli)(uint32_t x) { return (V(i))_mm256_set1_epi32((int)x); }
SAMPI_OP V(d) V(alld)(double x) { return _mm256_set1_pd(x); }
SAMPI_OP V(q) V(allq)(uint64_t x) { return (V(q))_mm256_set1_epi64x((long long)x); }
SAMPI_OP __m256i V(first)(size_t left)
    { return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)left), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }
SAMPI_OP V(f) V(tail)(const float *p, size_t left)
{
    __m256i in = V(first)(left);
    return _mm256_blendv_ps(V(all)(-INFINITY), _mm256_maskload_ps(p, in), _mm256_castsi256_ps(in));
}
SAMPI_OP V(i) V(taili)(const int32_t *p, size_t left) { return (V(i))_mm256_maskload_epi32(p, V(first)(left)); }
SAMPI_OP V(q) V(tailq)(const uint64_t *p, size_t left)
{
    __m256i in = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(V(first)(left)));
    return (V(q))_mm256_maskload_epi64((const long long *)(const void *)p, in);
}
SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { return _mm256_max_ps(a, b); }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { return _mm256_min_ps(a, b); }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { return _mm256_max_pd(a, b); }
SAMPI_OP V(f) V(fma)(V(f) a, V(f) b, V(f) c) { return _mm256_fmadd_ps(a, b, c); }
SAMPI_OP V(d) V(fmad)(V(d) a, V(d) b, V(d) c) { return _mm256_fmadd_pd(a, b, c); }
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) { return (V(m))_mm256_cmp_ps(a, b, _CMP_UNORD_Q); }
SAMPI_OP bool V(any)(V(m) m) { return _mm256_movemask_ps((V(f))m) != 0; }
SAMPI_OP V(f) V(select)(V(m) m, V(f) a, V(f) b) { return _mm256_blendv_ps(b, a, (V(f))m); }
SAMPI_OP V(q) V(add_where)(V(q) sum, V(m) m, int half, V(q) v)
{
    __m128i in = half ? _mm256_extracti128_si256((__m256i)m, 1) : _mm256_castsi256_si128((__m256i)m);
    return sum + (v & (V(q))_mm256_cvtepi32_epi64(in));
}
SAMPI_OP V(d) V(widen)(V(f) v, int half)
    { return _mm256_cvtps_pd(half ? _mm256_extractf128_ps(v, 1) : _mm256_castps256_ps128(v)); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b)
    { return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(a)), _mm256_cvtpd_ps(b), 1); }
SAMPI_OP V(i) V(trunc)(V(f) v) { return (V(i))_mm256_cvttps_epi32(v); }
SAMPI_OP V(i) V(chord)(V(i) k)
{
    return (V(i))_mm256_srav_epi32((__m256i)((k & V(alli)(0x1FFFFFF)) ^ V(alli)(~0x3FFFFFFu)), (__m256i)(k >> 25));
}
SAMPI_OP uint64_t V(hsumq)(V(q) v)
{
    __m128i a = _mm_add_epi64(_mm256_castsi256_si128((__m256i)v), _mm256_extracti128_si256((__m256i)v, 1));
    return (uint64_t)_mm_cvtsi128_si64(a) + (uint64_t)_mm_extract_epi64(a, 1);
}
SAMPI_OP size_t V(pack)(V(f) v, V(i) id, V(m) in, float *x_out, int32_t *id_out)
{
    unsigned bits = (unsigned)_mm256_movemask_ps((V(f))in); /* then the numbers of the kept lanes, one per byte */
    uint64_t lanes = _pext_u64(0x0706050403020100u, _pdep_u64(bits, 0x0101010101010101u) * 0xFF);
    __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)lanes));
    _mm256_storeu_ps(x_out, _mm256_permutevar8x32_ps(v, order));
    _mm256_storeu_si256((__m256i *)(void *)id_out, _mm256_permutevar8x32_epi32((__m256i)id, order));
    return (size_t)__builtin_popcount(bits);
}
SAMPI_OP V(i) V(u16)(const uint16_t *p)
    { return (V(i))_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)); }
SAMPI_OP V(f) V(f16)(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p)); }
SAMPI_OP V(m) V(allowed)(const uint32_t *mask, size_t i)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return (V(m))_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(((const uint8_t *)mask)[i / 8]), bit), bit);
}
SAMPI_OP V(f) V(columns)(V(f) *v)
{
    SAMPI_UNROLL_8 for (int k = 0; k < 4; k++)
        v[k] = V(max)(_mm256_unpacklo_ps(v[2 * k], v[2 * k + 1]), _mm256_unpackhi_ps(v[2 * k], v[2 * k + 1]));
    SAMPI_UNROLL_8 for (int k = 0; k < 2; k++)
        v[k] = V(max)(_mm256_shuffle_ps(v[2 * k], v[2 * k + 1], 0x44),
                      _mm256_shuffle_ps(v[2 * k], v[2 * k + 1], 0xEE));
    return V(max)(_mm256_permute2f128_ps(v[0], v[1], 0x20), _mm256_permute2f128_ps(v[0], v[1], 0x31));
}

#elif SAMPI_PASS == SAMPI_PASS_SSE2

SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { return _mm_max_ps(a, b); }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { return _mm_min_ps(a, b); }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { return _mm_max_pd(a, b); }
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) { return (V(m))_mm_cmpunord_ps(a, b); }
SAMPI_OP bool V(any)(V(m) m) { return _mm_movemask_ps((V(f))m) != 0; }
SAMPI_OP V(d) V(widen)(V(f) v, int half) { return _mm_cvtps_pd(half ? _mm_movehl_ps(v, v) : (__m128)v); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b) { return _mm_movelh_ps(_mm_cvtpd_ps(a), _mm_cvtpd_ps(b)); }
SAMPI_OP V(i) V(trunc)(V(f) v) { return (V(i))_mm_cvttps_epi32(v); }
SAMPI_OP V(i) V(shift)(V(i) a, V(i) n) /* 2 a 2^(31 - n) / 2^32 */
{
    __m128i power = _mm_cvttps_epi32(_mm_castsi128_ps((__m128i)((V(alli)(158) - n) << 23)));
    V(q) two = (V(q))(a + a), even = (V(q))_mm_mul_epu32((__m128i)two, power);
    V(q) odd = (V(q))_mm_mul_epu32((__m128i)(two >> 32), _mm_srli_epi64(power, 32));
    return (V(i))(even >> 32 | (odd >> 32 << 32));
}
SAMPI_OP V(i) V(u16)(const uint16_t *p)
    { return (V(i))_mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p), _mm_setzero_si128()); }

#elif SAMPI_PASS == SAMPI_PASS_NEON

SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { return vmaxq_f32(a, b); }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { return vminq_f32(a, b); }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { return vmaxq_f64(a, b); }
SAMPI_OP V(f) V(fma)(V(f) a, V(f) b, V(f) c) { return vfmaq_f32(c, a, b); }
SAMPI_OP V(d) V(fmad)(V(d) a, V(d) b, V(d) c) { return vfmaq_f64(c, a, b); }
SAMPI_OP bool V(any)(V(m) m) { return vmaxvq_u32((V(i))m) != 0; }
SAMPI_OP V(d) V(widen)(V(f) v, int half) { return half ? vcvt_high_f64_f32(v) : vcvt_f64_f32(vget_low_f32(v)); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b) { return vcvt_high_f32_f64(vcvt_f32_f64(a), b); }
SAMPI_OP V(i) V(trunc)(V(f) v) { return vcvtq_u32_f32(v); }
SAMPI_OP V(i) V(chord)(V(i) k)
    { return (V(i))vshlq_s32((V(m))((k & V(alli)(0x1FFFFFF)) ^ V(alli)(~0x3FFFFFFu)), vnegq_s32((V(m))(k >> 25))); }
SAMPI_OP V(i) V(u16)(const uint16_t *p) { return vmovl_u16(vld1_u16(p)); }
SAMPI_OP V(f) V(f16)(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) /* here a maximum with a NaN is a NaN, so all ends as one */
{
    (void)a, (void)b;
    return vdupq_n_s32(0);
}
SAMPI_OP V(f) V(columns)(V(f) *v) { return vpmaxq_f32(vpmaxq_f32(v[0], v[1]), vpmaxq_f32(v[2], v[3])); }

#elif SAMPI_PASS == SAMPI_PASS_WASM

SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { return (V(f))wasm_f32x4_pmax((v128_t)b, (v128_t)a); }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { return (V(f))wasm_f32x4_pmin((v128_t)b, (v128_t)a); }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { return (V(d))wasm_f64x2_pmax((v128_t)b, (v128_t)a); }
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) { return (V(m))(a != a) | (V(m))(b != b); }
SAMPI_OP bool V(any)(V(m) m) { return wasm_v128_any_true((v128_t)m); }
SAMPI_OP V(d) V(widen)(V(f) v, int half)
    { return (V(d))wasm_f64x2_promote_low_f32x4((v128_t)(half ? SAMPI_SHUFFLE(v, v, 2, 3, 2, 3) : v)); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b)
{
    V(f) low = (V(f))wasm_f32x4_demote_f64x2_zero((v128_t)a), high = (V(f))wasm_f32x4_demote_f64x2_zero((v128_t)b);
    return SAMPI_SHUFFLE(low, high, 0, 1, 4, 5);
}
SAMPI_OP V(i) V(trunc)(V(f) v) { return (V(i))wasm_u32x4_trunc_sat_f32x4((v128_t)v); }
SAMPI_OP V(i) V(shift)(V(i) a, V(i) n) /* 2 a 2^(31 - n) / 2^32 */
{
    v128_t two = (v128_t)(a + a), power = wasm_u32x4_trunc_sat_f32x4((v128_t)((V(alli)(158) - n) << 23));
    V(i) low = (V(i))wasm_u64x2_extmul_low_u32x4(two, power), high = (V(i))wasm_u64x2_extmul_high_u32x4(two, power);
    return SAMPI_SHUFFLE(low, high, 1, 3, 5, 7);
}
SAMPI_OP V(i) V(u16)(const uint16_t *p) { return (V(i))wasm_u32x4_load16x4(p); }

#else /* generic */
#define SAMPI_T

SAMPI_OP V(f) V(or)(V(m) m, V(f) a, V(f) b) { return (V(f))(((V(m))a & m) | ((V(m))b & ~m)); }
SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { return V(or)((V(m))(a > b), a, b); }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { return V(or)((V(m))(a < b), a, b); }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { V(q) m = (V(q))(a > b); return (V(d))(((V(q))a & m) | ((V(q))b & ~m)); }
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) { return (V(m))(a != a) | (V(m))(b != b); }
SAMPI_OP bool V(any)(V(m) m) { return (((V(q))m)[0] | ((V(q))m)[1]) != 0; }
SAMPI_OP V(d) V(widen)(V(f) v, int half) { return SAMPI_VECTOR(V(d), v[half ? 2 : 0], v[half ? 3 : 1]); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b)
    { return SAMPI_VECTOR(V(f), (float)a[0], (float)a[1], (float)b[0], (float)b[1]); }
SAMPI_OP V(i) V(trunc)(V(f) v) /* what does not fit may be anything in C */
{
    V(m) in = (V(m))(v < 2147483648.0f);
    return (V(i))__builtin_convertvector((V(f))((V(m))v & in), V(m)) | ((V(i))~in & 0x80000000u);
}
SAMPI_OP V(i) V(shift)(V(i) a, V(i) n) { return a >> (n & 31) & (V(i))(n < 32); }
SAMPI_OP V(i) V(u16)(const uint16_t *p) { return SAMPI_VECTOR(V(i), p[0], p[1], p[2], p[3]); }
#endif

/* ---- vectors of four ---- */
#if SAMPI_W == 4
SAMPI_OP V(f) V(tail)(const float *p, size_t n)
    { return SAMPI_VECTOR(V(f), p[0], n > 1 ? p[1] : -INFINITY, n > 2 ? p[2] : -INFINITY, -INFINITY); }
SAMPI_OP V(i) V(taili)(const int32_t *p, size_t n)
    { return SAMPI_VECTOR(V(i), (uint32_t)p[0], n > 1 ? (uint32_t)p[1] : 0, n > 2 ? (uint32_t)p[2] : 0, 0); }
SAMPI_OP V(q) V(tailq)(const uint64_t *p, size_t n) { return SAMPI_VECTOR(V(q), n ? p[0] : 0, n > 1 ? p[1] : 0); }
SAMPI_OP V(q) V(add_where)(V(q) sum, V(m) m, int half, V(q) v)
    { return sum + (v & (V(q))(half ? SAMPI_SHUFFLE(m, m, 2, 2, 3, 3) : SAMPI_SHUFFLE(m, m, 0, 0, 1, 1))); }
SAMPI_OP uint64_t V(hsumq)(V(q) v) { return v[0] + v[1]; }
/* Every lane is written where the next kept one belongs. */
SAMPI_OP size_t V(pack)(V(f) v, V(i) id, V(m) in, float *x_out, int32_t *id_out)
{
    size_t n = 0;
    for (int k = 0; k < 4; k++) {
        x_out[n] = v[k];
        id_out[n] = (int32_t)id[k];
        n += in[k] != 0;
    }
    return n;
}
SAMPI_OP V(m) V(allowed)(const uint32_t *mask, size_t i)
{
    const V(i) bit = { 1, 2, 4, 8 };
    return (V(m))((V(alli)(mask[i / 32] >> (i % 32)) & bit) != 0);
}
#if SAMPI_PASS != SAMPI_PASS_NEON
SAMPI_OP V(i) V(chord)(V(i) k) { return ~V(shift)(~(k & V(alli)(0x1FFFFFF)) & V(alli)(0x3FFFFFF), k >> 25); }
SAMPI_OP V(f) V(fma)(V(f) a, V(f) b, V(f) c) { return a * b + c; }
SAMPI_OP V(d) V(fmad)(V(d) a, V(d) b, V(d) c) { return a * b + c; }
/* Of half floats: those below 2^-14 are what they add to it, and exponent 31, infinity and NaN, becomes 255. */
SAMPI_OP V(f) V(f16)(const uint16_t *p)
{
    const V(i) bias = V(alli)(112u << 23), one = V(alli)(113u << 23);
    V(i) h = V(u16)(p), u = (h & 0x7FFF) << 13, tiny = (V(i))((V(f))(u + one) - (V(f))one);
    V(i) small = (V(i))(u < V(alli)(1u << 23)), special = (V(i))(u >= V(alli)(31u << 23));
    u = (tiny & small) | ((u + bias + (bias & special)) & ~small);
    return (V(f))(u | (h & 0x8000) << 16);
}
SAMPI_OP V(f) V(columns)(V(f) *v)
{
    for (int k = 0; k < 2; k++)
        v[k] = V(max)(SAMPI_SHUFFLE(v[2 * k], v[2 * k + 1], 0, 4, 1, 5),
                      SAMPI_SHUFFLE(v[2 * k], v[2 * k + 1], 2, 6, 3, 7));
    return V(max)(SAMPI_SHUFFLE(v[0], v[1], 0, 1, 4, 5), SAMPI_SHUFFLE(v[0], v[1], 2, 3, 6, 7));
}
#endif
#endif

/* ---- where a comparison gives a vector: all lanes 0 or -1 ---- */
#if SAMPI_PASS != SAMPI_PASS_AVX512
SAMPI_OP V(m) V(ge)(V(f) a, V(f) b) { return (V(m))(a >= b); }
SAMPI_OP V(m) V(lt_and)(V(m) m, V(f) a, V(f) b) { return m & (V(m))(a < b); }
SAMPI_OP V(m) V(negative)(V(i) a) { return (V(m))a >> 31; }
SAMPI_OP V(f) V(keep)(V(m) m, V(f) v) { return (V(f))((V(m))v & m); }
SAMPI_OP V(i) V(sub_where)(V(i) sum, V(m) m, V(i) v) { return sum - (v & (V(i))m); }
SAMPI_OP V(t) V(none)(void) { return V(alli)(0); }
SAMPI_OP V(t) V(tally)(V(t) n, V(m) m) { return n - (V(i))m; }
SAMPI_OP V(f) V(stay)(V(f) v) { SAMPI_OPAQUE(v); return v; }
#if SAMPI_W == 4
SAMPI_OP V(f) V(select)(V(m) m, V(f) a, V(f) b) { return (V(f))(((V(m))a & m) | ((V(m))b & ~m)); }
#endif
#endif
/* ---- for every set ---- */
typedef float V(fu) __attribute__((vector_size(4 * SAMPI_W), aligned(4), may_alias));
typedef uint32_t V(iu) __attribute__((vector_size(4 * SAMPI_W), aligned(4), may_alias));
typedef double V(du) __attribute__((vector_size(4 * SAMPI_W), aligned(8), may_alias));
typedef uint64_t V(qu) __attribute__((vector_size(4 * SAMPI_W), aligned(8), may_alias));
SAMPI_OP V(f) V(load)(const float *p) { return (V(f))*(const V(fu) *)p; }
SAMPI_OP V(i) V(loadi)(const int32_t *p) { return (V(i))*(const V(iu) *)p; }
SAMPI_OP V(q) V(loadq)(const uint64_t *p) { return (V(q))*(const V(qu) *)p; }
SAMPI_OP void V(store)(float *p, V(f) v) { *(V(fu) *)p = (V(fu))v; }
SAMPI_OP void V(storeq)(uint64_t *p, V(q) v) { *(V(qu) *)p = (V(qu))v; }
SAMPI_OP V(q) V(pairs)(V(i) v) { return ((V(q))v & V(allq)(0xFFFFFFFFu)) + ((V(q))v >> 32); }
#if SAMPI_W < 16
SAMPI_OP size_t V(total)(V(t) n) { return (size_t)V(hsumq)(V(pairs)(n)); }
#endif
SAMPI_OP float V(hmax)(V(f) v)
{
    float lane[SAMPI_W], max;
    V(store)(lane, v);
    max = lane[0];
    for (int k = 1; k < SAMPI_W; k++)
        if (lane[k] > max || lane[k] != lane[k]) max = lane[k]; /* a NaN stays */
    return max;
}
SAMPI_OP double V(hsum)(V(d) v)
{
    double lane[SAMPI_W / 2], sum = 0.0;
    *(V(du) *)lane = (V(du))v;
    for (int k = 0; k < SAMPI_W / 2; k++) sum += lane[k];
    return sum;
}
/* clang-format on */

#if SAMPI_W < 16
SAMPI_OP V(f) V(row)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i)
{
    const uint16_t *half = (const uint16_t *)x + i;
    V(f) v;
    if (dtype == SAMP_F16)
        v = V(f16)(half);
    else if (dtype == SAMP_BF16)
        v = (V(f))(V(u16)(half) << 16);
    else if (dtype == SAMP_F64)
        v = V(narrow)((V(d)) * (const V(du) *)((const double *)x + i),
                      (V(d)) * (const V(du) *)((const double *)x + i + SAMPI_W / 2));
    else
        v = V(load)((const float *)x + i);
    return mask ? V(select)(V(allowed)(mask, i), v, V(all)(-INFINITY)) : v;
}
SAMPI_OP void V(parts)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i, V(f) * part)
{
    for (int k = 0; k < SAMPI_PARTS; k += 2) {
        size_t at = i + (size_t)k * SAMPI_W;
        if (dtype == SAMP_BF16 && !mask) { /* even and odd elements, where they stand */
            V(i) both = V(loadi)((const int32_t *)(const void *)((const uint16_t *)x + at));
            part[k] = (V(f))(both << 16);
            part[k + 1] = (V(f))(both & V(alli)(0xFFFF0000u));
        } else {
            part[k] = V(row)(x, dtype, mask, at);
            part[k + 1] = V(row)(x, dtype, mask, at + SAMPI_W);
        }
    }
}
#endif

/* ================================================================================================== >>passes
   The kernels, once for all instruction sets; their contract is in >>kernels. Loops go by four vectors, and stage by
   stage over these (SAMPI_FOUR), so that a step need not wait for the one before it. Rows that do not fill the last
   four are filled up with masked elements. A new kernel is a line of the contract, a reference in >>scalar, a function
   here, a member of sampi_kernels and a word in SAMPI_KERNELS; what it needs and the vocabulary lacks is an operation
   there. */

SAMPI_OP V(f) V(next)(const float *x, size_t left) { return left >= SAMPI_W ? V(load)(x) : V(tail)(x, left); }

#if SAMPI_W < 16
/* A row's end, filled up with masked elements (-infinity): here that is much code, so it is called. */
SAMPI_T static __attribute__((noinline)) const float *V(pad)(const float *x, size_t left, float *room)
{
    for (size_t at = 0; at < 4 * SAMPI_W; at += SAMPI_W)
        V(store)(room + at, left > at ? V(next)(x + at, left - at) : V(all)(-INFINITY));
    return room;
}
#endif

/* The next `count` vectors of a row, filled up in the same way. */
SAMPI_OP void V(take)(const float *x, size_t left, int count, V(f) * v)
{
#if SAMPI_W < 16
    float room[4 * SAMPI_W];
    if (left < (size_t)(SAMPI_W * count)) x = V(pad)(x, left, room);
#else
    if (left < (size_t)(SAMPI_W * count)) {
        SAMPI_UNROLL_4 for (int k = 0; k < count; k++)
        {
            size_t at = (size_t)(SAMPI_W * k), more = left > at ? left - at : 0;
            v[k] = V(tail)(more ? x + at : x, more < SAMPI_W ? more : SAMPI_W);
        }
        return;
    }
#endif
    SAMPI_UNROLL_4 for (int k = 0; k < count; k++) v[k] = V(load)(x + SAMPI_W * k);
}

SAMPI_OP void V(ahead)(const void *x, size_t bytes)
{
    __builtin_prefetch((const void *)((uintptr_t)x + bytes)); /* may lie behind the row */
}

SAMPI_OP size_t V(fetch_as)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t at, size_t n, float *out)
{
    size_t i = 0;
    for (; i + SAMPI_W <= n; i += SAMPI_W) V(store)(out + i, V(row)(x, dtype, mask, at + i));
    for (; i < n; i++) out[i] = sampi_element(x, dtype, mask, at + i);
    return n;
}

SAMPI_T static size_t V(fetch)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t at, size_t n,
                               float *out){ SAMPI_BY_DTYPE(V(fetch_as), x, dtype, mask, at, n, out) }

/* The maxima of the SAMPI_W lines from i. */
SAMPI_OP V(f) V(lines)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i, V(m) * nan)
{
    V(f) v[SAMPI_ROWS], part[SAMPI_PARTS];
    SAMPI_UNROLL_8 for (int k = 0; k < SAMPI_ROWS; k++)
    {
        size_t line = (size_t)(SAMPI_W == 16 && k >= 4 ? k + 4 : k);
        V(parts)(x, dtype, mask, i + line * SAMPI_LINE, part);
        for (int p = 0; p < SAMPI_PARTS; p += 2) {
            *nan |= V(unord)(part[p], part[p + 1]);
            part[p / 2] = V(max)(part[p], part[p + 1]);
        }
        v[k] = SAMPI_PARTS == 2 ? part[0] : V(max)(part[0], part[SAMPI_PARTS / 2 - 1]);
    }
    return V(columns)(v);
}

/* The same behind the last whole group. */
SAMPI_T static void V(last_lines)(const float *x, float *line, V(m) * nan)
{
    V(store)(line, V(lines)(x, SAMP_F32, NULL, 0, nan));
}

SAMPI_OP float V(maxima_as)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t n, float *line)
{
    const size_t group = SAMPI_LINE * SAMPI_W, end = (n + SAMPI_TILE - 1) / SAMPI_TILE * SAMPI_TILE;
    V(f) all = V(all)(-INFINITY);
    V(m) nan = V(unord)(all, all);
    size_t i = 0;
    for (; i + group <= n; i += group, line += SAMPI_W) {
        V(f) v = V(all)(-INFINITY);
        int kind = mask ? sampi_mask_kind(mask + i / 32, group / 32) : 2;
        if (kind == 2)
            v = V(lines)(x, dtype, NULL, i, &nan);
        else if (kind == 1)
            v = V(lines)(x, dtype, mask, i, &nan);
        V(store)(line, v);
        all = V(max)(all, v);
    }
    for (; i < end; i += group, line += SAMPI_W) {
        float last[SAMPI_LINE * SAMPI_W];
        for (size_t j = 0; j < group; j++) last[j] = i + j < n ? sampi_element(x, dtype, mask, i + j) : -INFINITY;
        V(last_lines)(last, line, &nan);
        all = V(max)(all, V(load)(line));
    }
    return V(any)(nan) ? NAN : V(hmax)(all);
}

SAMPI_T static float V(maxima)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t n, float *line)
{
    if (dtype == SAMP_F16) return V(maxima_as)(x, SAMP_F16, mask, n, line);
    if (dtype == SAMP_BF16) return V(maxima_as)(x, SAMP_BF16, mask, n, line);
    return dtype == SAMP_F64 ? V(maxima_as)(x, SAMP_F64, mask, n, line) : V(maxima_as)(x, SAMP_F32, mask, n, line);
}

/* What four vectors of logits add to two sums of e^d and of -d e^d, d = l - max: to about 1e-6. */
SAMPI_OP void V(sweep_add)(const V(f) * l, V(f) max, V(f) * z, V(f) * s)
{
    const V(f) log2e = V(all)((float)SAMPI_LOG2E),
               round = V(all)(12582912.0f); /* 1.5 * 2^23: an integer in its low bits */
    V(f) d[4], t[4], f[4], p[4];
    SAMPI_FOUR d[k] = V(max)(V(all)(SAMPI_LEAST_D), l[k] - max);
    SAMPI_FOUR t[k] = V(fma)(d[k], log2e, round);
    SAMPI_FOUR f[k] = V(fma)(d[k], log2e, round - t[k]);
    SAMPI_FOUR p[k] = V(fma)(V(all)(SAMPI_F5), f[k], V(all)(SAMPI_F4));
    SAMPI_FOUR p[k] = V(fma)(p[k], f[k], V(all)(SAMPI_F3));
    SAMPI_FOUR p[k] = V(fma)(p[k], f[k], V(all)(SAMPI_F2));
    SAMPI_FOUR p[k] = V(fma)(p[k], f[k], V(all)(SAMPI_F1));
    SAMPI_FOUR p[k] = V(fma)(p[k], f[k], V(all)(1.0f));
    SAMPI_FOUR p[k] = (V(f))((V(i))p[k] + ((V(i))t[k] << 23));
    SAMPI_FOUR
    {
        z[k % 2] += p[k];
        s[k % 2] = V(fma)(-p[k], d[k], s[k % 2]);
    }
}

/* Two sums as doubles. */
SAMPI_OP V(d) V(widen_sum)(const V(f) * v)
{
    V(f) sum = v[0] + v[1];
    return V(widen)(sum, 0) + V(widen)(sum, 1);
}

SAMPI_T static void V(sweep)(const float *x, size_t n, float r, float max, double *z, double *s)
{
    const V(f) vr = V(all)(r), vmax = V(all)(max);
    V(d) z_all = V(alld)(0.0), s_all = z_all;
    for (size_t i = 0; i < n;) {
        size_t end = n - i < 32 * SAMPI_W ? n : i + 32 * SAMPI_W; /* 16 terms a lane */
        V(f) l[4], zs[2] = { V(all)(0.0f), V(all)(0.0f) }, ss[2] = { zs[0], zs[0] };
        for (; i < end; i += 4 * SAMPI_W) {
            V(take)(x + i, end - i, 4, l);
            SAMPI_FOUR V(ahead)(x + i + SAMPI_W * k, SAMPI_AHEAD);
            SAMPI_FOUR l[k] = V(stay)(l[k] * vr);
            V(sweep_add)(l, vmax, zs, ss);
        }
        z_all += V(widen_sum)(zs);
        s_all += V(widen_sum)(ss);
    }
    *z = V(hsum)(z_all);
    *s = V(hsum)(s_all);
}

SAMPI_T static void V(moments)(const float *x, size_t n, float pivot, double *moment)
{
    const V(f) vp = V(all)(pivot), low = V(all)(-FLT_MAX);
    V(d) m1 = V(alld)(0.0), m2 = m1;
    V(t) count = V(none)();
    for (size_t i = 0; i < n;) {
        size_t end = n - i < 32 * SAMPI_W ? n : i + 32 * SAMPI_W; /* 16 terms a lane */
        V(f) v[4], sum[2] = { V(all)(0.0f), V(all)(0.0f) }, square[2] = { sum[0], sum[0] };
        for (; i < end; i += 4 * SAMPI_W) {
            V(take)(x + i, end - i, 4, v);
            SAMPI_FOUR
            {
                V(m) in = V(ge)(v[k], low);
                v[k] = V(keep)(in, v[k] - vp);
                count = V(tally)(count, in);
                sum[k % 2] += v[k];
                square[k % 2] = V(fma)(v[k], v[k], square[k % 2]);
            }
        }
        m1 += V(widen_sum)(sum);
        m2 += V(widen_sum)(square);
    }
    moment[0] = (double)V(total)(count);
    moment[1] = V(hsum)(m1);
    moment[2] = V(hsum)(m2);
}

SAMPI_T static void V(fold)(const float *line, size_t n, float *out, size_t m)
{
    for (size_t j = 0; j < m; j += SAMPI_W) {
        V(f) v = V(load)(line + j);
        for (size_t i = j + m; i < n; i += m) v = V(max)(v, V(load)(line + i));
        V(store)(out + j, v);
    }
}

SAMPI_T static size_t V(collect)(const float *x, const int32_t *id, int32_t base, size_t n, float floor, float below,
                                 float *x_out, int32_t *id_out)
{
    const V(f) lo = V(all)(floor), hi = V(all)(below);
    const V(i) step = V(loadi)(SAMPI_STEP);
    size_t kept = 0;
    for (size_t i = 0, end; i < n; i = end) {
        end = n - i < 4 * SAMPI_W ? n : i + 4 * SAMPI_W;
        V(f) v[4];
        V(m) in[4];
        V(take)(x + i, end - i, 4, v);
        SAMPI_FOUR in[k] = V(ge)(v[k], lo);
        if (!V(any)((in[0] | in[1]) | (in[2] | in[3]))) continue; /* mostly; further branches could not be foretold */
        for (; i < end; i += SAMPI_W) {
            V(f) one = V(next)(x + i, end - i);
            V(i) token = step + V(alli)((uint32_t)base + (uint32_t)i);
            if (id) token = end - i < SAMPI_W ? V(taili)(id + i, end - i) : V(loadi)(id + i);
            kept += V(pack)(one, token, V(lt_and)(V(ge)(one, lo), one, hi), x_out + kept, id_out + kept);
        }
    }
    return kept;
}

SAMPI_T static size_t V(pick)(const float *x, size_t n, const int32_t *line, size_t m, float floor, float *x_out,
                              int32_t *id_out)
{
    const V(f) lo = V(all)(floor);
    const V(i) step = V(loadi)(SAMPI_STEP);
    size_t kept = 0;
    for (size_t h = 0; h < m; h++) {
        size_t i = (size_t)line[h] * SAMPI_LINE, end = n - i < SAMPI_LINE ? n : i + SAMPI_LINE;
        V(ahead)(x + (size_t)line[h + 8 < m ? h + 8 : h] * SAMPI_LINE, 0);
        for (; i < end; i += SAMPI_W) {
            V(f) v = V(next)(x + i, end - i);
            kept += V(pack)(v, step + V(alli)((uint32_t)i), V(ge)(v, lo), x_out + kept, id_out + kept);
        }
    }
    return kept;
}

SAMPI_T static size_t V(count)(const float *x, size_t n, float floor)
{
    const V(f) lo = V(all)(floor);
    V(t) count[2] = { V(none)(), V(none)() };
    V(f) v[4];
    for (size_t i = 0; i < n; i += 4 * SAMPI_W) {
        V(take)(x + i, n - i, 4, v);
        SAMPI_FOUR count[k % 2] = V(tally)(count[k % 2], V(ge)(v[k], lo));
    }
    return V(total)(count[0] + count[1]);
}

/* e^d of the logits in l [2], half a vector at a time, as sampi_exp but for its 2^40; d = l - max, clamped. -> lanes in
   doubt, where there is no fma: whose f lies so near to +-1/2 that it may be the other. */
SAMPI_OP V(q) V(exps)(const V(f) * l, V(d) max, V(d) * d, V(d) * e)
{
    const V(d) log2e = V(alld)(SAMPI_LOG2E), shift = V(alld)(SAMPI_SHIFT);
    V(d) s[4], f[4];
    V(q) doubt = V(allq)(0);
    SAMPI_FOUR d[k] = V(maxd)(V(widen)(l[k / 2], k % 2) - max, V(alld)(-700.0));
    SAMPI_FOUR s[k] = V(fmad)(d[k], log2e, shift);
    SAMPI_FOUR f[k] = V(fmad)(d[k], log2e, shift - s[k]);
    SAMPI_FOUR e[k] = V(fmad)(f[k], V(alld)(SAMPI_E8), V(alld)(SAMPI_E7));
    SAMPI_FOUR e[k] = V(fmad)(e[k], f[k], V(alld)(SAMPI_E6));
    SAMPI_FOUR e[k] = V(fmad)(e[k], f[k], V(alld)(SAMPI_E5));
    SAMPI_FOUR e[k] = V(fmad)(e[k], f[k], V(alld)(SAMPI_E4));
    SAMPI_FOUR e[k] = V(fmad)(e[k], f[k], V(alld)(SAMPI_E3));
    SAMPI_FOUR e[k] = V(fmad)(e[k], f[k], V(alld)(SAMPI_E2));
    SAMPI_FOUR e[k] = V(fmad)(e[k], f[k], V(alld)(SAMPI_E1));
    SAMPI_FOUR e[k] = V(fmad)(e[k], f[k], V(alld)(1.0));
    SAMPI_FOUR e[k] = (V(d))((V(q))e[k] + ((V(q))s[k] << 52));
    if (!SAMPI_FUSED) SAMPI_FOUR doubt |= (V(q))(f[k] * f[k] > V(alld)(0.2499999999));
    return doubt;
}

/* Where product and sum are rounded apart, y = 2^40 e^d is off by less than 2^-49 y + 2^-14 (a fma errs by 2^-53, the
   eight of the polynomial by 5 of these together, and d log2 e, which is below 64, by another 2^-53 of itself, where y
   is small). That decides the integer n next to it, unless y lies as near to the middle between two. */
SAMPI_OP V(q) V(unsure)(V(d) y, V(d) n)
{
    V(d) off = y - n;
    return (V(q))(off * off > V(alld)(0.2499) - y * V(alld)(1.0 / ((uint64_t)1 << 49)));
}

#if !SAMPI_FUSED
/* The 2 W logits l anew, one by one. */
SAMPI_T static void V(redo)(const V(f) * l, float max, V(q) * w, V(q) * s)
{
    float x[2 * SAMPI_W];
    uint64_t weight[2 * SAMPI_W], weighted[2 * SAMPI_W];
    for (int k = 0; k < 2; k++) V(store)(x + SAMPI_W * k, l[k]);
    for (int k = 0; k < 2 * SAMPI_W; k++) {
        weight[k] = sampi_weight(max, x[k]);
        weighted[k] = sampi_weighted(weight[k], max, x[k]);
    }
    for (int k = 0; k < 4; k++)
        w[k] = V(loadq)(weight + SAMPI_W / 2 * k), s[k] = V(loadq)(weighted + SAMPI_W / 2 * k);
}
#endif

/* w = sampi_weight of the logits l [2], half a vector at a time, and s = sampi_weighted of these, if with_s. */
SAMPI_OP void V(exact)(const V(f) * l, float max, bool with_s, V(q) * w, V(q) * s)
{
    const V(d) one = V(alld)(SAMPI_INT);
    V(d) d[4], e[4];
    V(q) doubt = V(exps)(l, V(alld)((double)max), d, e);
    SAMPI_FOUR
    {
        V(d) y = V(fmad)(e[k], V(alld)((double)SAMPI_ONE), one), t = y;
        w[k] = (V(q))y - (V(q))one;
        if (with_s) t = V(fmad)(one - y, d[k], one);
        if (with_s) s[k] = (V(q))t - (V(q))one;
        if (SAMPI_FUSED) continue;
        doubt |= V(unsure)(e[k] * V(alld)((double)SAMPI_ONE), y - one);
        if (with_s) doubt |= V(unsure)((one - y) * d[k], t - one);
    }
#if !SAMPI_FUSED
    if (__builtin_expect(V(any)((V(m))doubt), 0)) V(redo)(l, max, w, s);
#else
    (void)doubt;
#endif
}

SAMPI_T static void V(weights)(const float *x, size_t n, float max, uint64_t *w)
{
    V(f) l[2];
    V(q) v[4], s[4];
    for (size_t i = 0; i < n; i += 2 * SAMPI_W) {
        V(take)(x + i, n - i, 2, l);
        V(exact)(l, max, false, v, s);
        SAMPI_FOUR if (k < 2 || SAMPI_W < 16 || n - i > SAMPI_W) V(storeq)(w + i + SAMPI_W / 2 * k, v[k]);
    }
}

SAMPI_T static void V(probs)(const float *x, size_t n, float max, double z, float *p)
{
    const V(d) vmax = V(alld)((double)max), vz = V(alld)(z / (double)SAMPI_ONE);
    V(f) l[2], out[2];
    V(d) d[4], e[4];
    for (size_t i = 0; i < n; i += 2 * SAMPI_W) {
        V(take)(x + i, n - i, 2, l);
        V(q) doubt = V(exps)(l, vmax, d, e);
        SAMPI_FOUR e[k] = e[k] / vz;
        for (int k = 0; k < 2; k++) out[k] = V(narrow)(e[2 * k], e[2 * k + 1]);
#if !SAMPI_FUSED /* e^d is off by less than 2^-42 of itself: is the float the same at both ends? */
        const V(d) less = V(alld)(1.0 - 1.0 / ((uint64_t)1 << 42)), more = V(alld)(1.0 + 1.0 / ((uint64_t)1 << 42));
        for (int k = 0; k < 2; k++)
            doubt |= (V(q))(V(narrow)(e[2 * k] * less, e[2 * k + 1] * less) !=
                            V(narrow)(e[2 * k] * more, e[2 * k + 1] * more));
        if (__builtin_expect(V(any)((V(m))doubt), 0)) {
            sampi_probs_scalar(x + i, n - i < 2 * SAMPI_W ? n - i : 2 * SAMPI_W, max, z, p + i);
            continue;
        }
#else
        (void)doubt;
#endif
        for (int k = 0; k < 2; k++)
            if (k == 0 || SAMPI_W < 16 || n - i > SAMPI_W)
                V(store)(p + i + SAMPI_W * k, V(keep)(V(ge)(l[k], V(all)(-FLT_MAX)), out[k]));
    }
}

SAMPI_T static uint64_t V(mass)(const float *x, const uint64_t *w, size_t n, float floor)
{
    const V(f) lo = V(all)(floor);
    const size_t half = SAMPI_W / 2;
    V(q) sum = V(allq)(0);
    size_t i = 0;
    for (; i + SAMPI_W <= n; i += SAMPI_W) {
        V(m) in = V(ge)(V(load)(x + i), lo);
        sum = V(add_where)(sum, in, 0, V(loadq)(w + i));
        sum = V(add_where)(sum, in, 1, V(loadq)(w + i + half));
    }
    if (i < n) {
        V(m) in = V(ge)(V(tail)(x + i, n - i), lo);
        sum = V(add_where)(sum, in, 0, V(tailq)(w + i, n - i));
        if (n - i > half) sum = V(add_where)(sum, in, 1, V(tailq)(w + i + half, n - i - half));
    }
    return V(hsumq)(sum);
}

SAMPI_OP void V(sums_as)(const float *x, size_t n, float r, float max, float floor, bool with_s, bool with_above,
                         sampi_sums *sums)
{
    const V(f) vr = V(all)(r), low = V(all)(-FLT_MAX), lo = V(all)(floor);
    V(q) z = V(allq)(0), s = z, above = z, w[4], ws[4];
    V(t) count = V(none)();
    V(f) x2[2], l[2];
    for (size_t i = 0; i < n; i += 2 * SAMPI_W) {
        V(take)(x + i, n - i, 2, x2);
        for (int k = 0; k < 2; k++) count = V(tally)(count, V(ge)(x2[k], low));
        for (int k = 0; k < 2; k++) l[k] = x2[k] * vr;
        V(exact)(l, max, with_s, w, ws);
        SAMPI_FOUR z += w[k];
        if (with_s) SAMPI_FOUR s += ws[k];
        if (with_above) SAMPI_FOUR above = V(add_where)(above, V(ge)(x2[k / 2], lo), k % 2, w[k]);
    }
    sums->n += V(total)(count);
    sums->z += V(hsumq)(z);
    sums->s += V(hsumq)(s);
    sums->above += with_above ? V(hsumq)(above) : floor <= -FLT_MAX ? V(hsumq)(z) : 0;
}

SAMPI_T static void V(sums)(const float *x, size_t n, float r, float max, float floor, bool with_s, sampi_sums *sums)
{
    bool with_above = !SAMPI_FUSED || (floor > -FLT_MAX && floor < INFINITY); /* else all are, or none */
    if (with_s && with_above)
        V(sums_as)(x, n, r, max, floor, true, true, sums);
    else if (with_s)
        V(sums_as)(x, n, r, max, floor, true, false, sums);
    else if (with_above)
        V(sums_as)(x, n, r, max, floor, false, true, sums);
    else
        V(sums_as)(x, n, r, max, floor, false, false, sums);
}

/* The sum of q of a tile. `all`, where the floor is none, leaves out the look whether an element is 64 octaves down,
   where q is 0: *far tells that there was one, and the sum is wrong. */
SAMPI_OP uint64_t V(tile)(const float *x, size_t n, bool all, V(f) r, V(f) max, V(f) floor, bool *far)
{
    V(i) i4[4], seen = V(alli)(0), sum[2] = { seen, seen };
    V(f) v[4], t[4];
    for (size_t i = 0; i < n; i += 4 * SAMPI_W) {
        V(take)(x + i, n - i, 4, v);
        SAMPI_FOUR V(ahead)(x + i + SAMPI_W * k, SAMPI_AHEAD);
        SAMPI_FOUR t[k] = V(stay)(v[k] * r);
        SAMPI_FOUR t[k] = (max - t[k]) * V(all)(SAMPI_ENVELOPE_UNIT);
        SAMPI_FOUR i4[k] = V(trunc)(t[k]);
        SAMPI_FOUR
        {
            V(i) minus = V(chord)(i4[k]);
            if (all)
                sum[k % 2] -= minus, seen |= i4[k];
            else
                sum[k % 2] = V(sub_where)(sum[k % 2], V(lt_and)(V(ge)(v[k], floor), t[k], V(all)(2147483648.0f)),
                                          minus);
        }
    }
    *far |= all && V(any)(V(negative)(seen));
    return V(hsumq)(V(pairs)(sum[0]) + V(pairs)(sum[1])); /* apart: on four lanes their sum may not fit */
}

SAMPI_T static void V(envelope)(const float *x, size_t n, float r, float max, float floor, uint64_t *tile)
{
    const V(f) vr = V(all)(r), vmax = V(all)(max), lo = V(all)(floor);
    bool far = floor > -FLT_MAX; /* once there was one, there will be more */
    for (size_t i = 0; i < n; i += SAMPI_TILE, tile++) {
        size_t len = n - i < SAMPI_TILE ? n - i : SAMPI_TILE;
        far |= len < SAMPI_TILE;
        if (!far) *tile = V(tile)(x + i, SAMPI_TILE, true, vr, vmax, lo, &far);
        if (far) *tile = V(tile)(x + i, len, false, vr, vmax, lo, &far);
    }
}

SAMPI_T static void V(scale)(const float *x, size_t n, float r, float *out)
{
    const V(f) vr = V(all)(r), low = V(all)(-FLT_MAX), high = V(all)(FLT_MAX);
    size_t i = 0;
    for (; i + SAMPI_W <= n; i += SAMPI_W) {
        V(f) v = V(load)(x + i), l = V(min)(V(max)(v * vr, low), high);
        V(store)(out + i, V(select)(V(ge)(v, low), l, v));
    }
    sampi_scale_scalar(x + i, n - i, r, out + i);
}

#undef V
#undef SAMPI_T
#undef SAMPI_W
#undef SAMPI_FUSED
#endif /* SAMPI_PASS */

#if defined(SAMPI_ONCE) && !defined(SAMPI_PASS) && !defined(SAMPI_TWICE)
#define SAMPI_TWICE

/* ================================================================================================ >>dispatch */

#define SAMPI_KERNELS(isa)                                                                                           \
    {                                                                                                                \
#isa, sampi_fetch_##isa, sampi_maxima_##isa, sampi_sweep_##isa, sampi_moments_##isa, sampi_fold_##isa,       \
            sampi_collect_##isa, sampi_pick_##isa, sampi_count_##isa, sampi_weights_##isa, sampi_probs_##isa,        \
            sampi_mass_##isa, sampi_sums_##isa, sampi_envelope_##isa, sampi_scale_##isa                              \
    }

/* The best one comes last. */
static const sampi_kernels SAMPI_KERNEL_TABLE[] = {
    SAMPI_KERNELS(scalar),
#if SAMPI_GENERIC
    SAMPI_KERNELS(generic),
#endif
#if SAMPI_SSE2
    SAMPI_KERNELS(sse2),
#endif
#if SAMPI_AVX2
    SAMPI_KERNELS(avx2),
#endif
#if SAMPI_AVX512
    SAMPI_KERNELS(avx512),
#endif
#if SAMPI_NEON
    SAMPI_KERNELS(neon),
#endif
#if SAMPI_WASM
    SAMPI_KERNELS(wasm),
#endif
};
#define SAMPI_N_KERNELS ((int)(sizeof SAMPI_KERNEL_TABLE / sizeof SAMPI_KERNEL_TABLE[0]))

/* Does this CPU have every feature that the set's SAMPI_T names, and does the system save its registers? */
static bool sampi_isa_works(const char *name)
{
#if SAMPI_AVX2 || SAMPI_AVX512
    const unsigned basic = 1u << 12 | 1u << 23 | 1u << 27 | 1u << 28 |
                           1u << 29;                                   /* leaf 1 ecx: fma popcnt osxsave avx f16c */
    const unsigned avx2 = 1u << 3 | 1u << 5 | 1u << 8;                 /* leaf 7 ebx: bmi avx2 bmi2 */
    const unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* leaf 7 ebx: f dq bw vl */
    unsigned a, b, c, d, low, high;
    if (strcmp(name, "avx2") != 0 && strcmp(name, "avx512") != 0) return true; /* what the compiler may use anyway */
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & basic) != basic) return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0)); /* xmm ymm, opmask zmm */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & avx2) != avx2 || (low & 0x06) != 0x06) return false;
    return !strcmp(name, "avx2") || ((b & avx512) == avx512 && (low & 0xE6) == 0xE6);
#else
    (void)name;
    return true;
#endif
}

/* The only global: which kernels are in use, NULL until the first use. Threads that come at once choose the same. */
static const sampi_kernels *sampi_chosen;

static const sampi_kernels *sampi_use(void)
{
    const sampi_kernels *k = __atomic_load_n(&sampi_chosen, __ATOMIC_ACQUIRE);
    if (k) return k;
    int i = SAMPI_N_KERNELS - 1;
    while (!sampi_isa_works(SAMPI_KERNEL_TABLE[i].name)) i--;
    __atomic_store_n(&sampi_chosen, &SAMPI_KERNEL_TABLE[i], __ATOMIC_RELEASE);
    return &SAMPI_KERNEL_TABLE[i];
}

SAMP_API const char *samp_isa_name(void) { return sampi_use()->name; }

SAMP_API const char *samp_isa_list(int i)
{
    for (int k = 0; k < SAMPI_N_KERNELS; k++)
        if (sampi_isa_works(SAMPI_KERNEL_TABLE[k].name) && i-- == 0) return SAMPI_KERNEL_TABLE[k].name;
    return NULL;
}

SAMP_API int samp_isa_force(const char *name)
{
    if (!name) {
        __atomic_store_n(&sampi_chosen, (const sampi_kernels *)NULL, __ATOMIC_RELEASE);
        return SAMP_OK;
    }
    for (int i = 0; i < SAMPI_N_KERNELS; i++) {
        if (strcmp(SAMPI_KERNEL_TABLE[i].name, name) != 0 || !sampi_isa_works(name)) continue;
        __atomic_store_n(&sampi_chosen, &SAMPI_KERNEL_TABLE[i], __ATOMIC_RELEASE);
        return SAMP_OK;
    }
    return SAMP_E_UNSUPPORTED;
}

/* =================================================================================================== >>array
   What samplers share: checks, order, sums. */

/* Every built-in sampler begins with this. */
static int sampi_check(const samp_token_data_array *cur)
{
    if (!cur->data) return SAMP_E_NULL;
    if (cur->size == 0) return SAMP_E_EMPTY;
    if (cur->size > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    bool any = false;
    for (size_t i = 0; i < cur->size; i++) {
        float l = cur->data[i].logit;
        if (!(l <= FLT_MAX)) return SAMP_E_NAN;
        any |= l >= -FLT_MAX;
    }
    return any ? SAMP_OK : SAMP_E_EMPTY;
}

/* The order of candidates: (logit descending, id ascending); with a score, (score ascending) goes before these. */
typedef struct sampi_order {
    double (*score)(const struct sampi_order *, const samp_token_data *);
    double max, mean; /* for the score */
} sampi_order;

static const sampi_order SAMPI_BY_LOGIT = { NULL, 0.0, 0.0 };

static bool sampi_before(const sampi_order *o, const samp_token_data *a, const samp_token_data *b)
{
    if (o->score) {
        double x = o->score(o, a), y = o->score(o, b);
        if (x != y) return x < y;
    }
    return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

static void sampi_swap(samp_token_data *a, samp_token_data *b)
{
    samp_token_data t = *a;
    *a = *b;
    *b = t;
}

static void sampi_insertion_sort(const sampi_order *o, samp_token_data *d, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        samp_token_data x = d[i];
        size_t j = i;
        for (; j > 0 && sampi_before(o, &x, &d[j - 1]); j--) d[j] = d[j - 1];
        d[j] = x;
    }
}

static void sampi_heap_sort(const sampi_order *o, samp_token_data *d, size_t n)
{
    for (size_t start = n / 2, end = n; end > 1;) {
        if (start > 0)
            start--;
        else
            sampi_swap(&d[0], &d[--end]);
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && sampi_before(o, &d[child], &d[child + 1])) child++;
            if (!sampi_before(o, &d[root], &d[child])) break;
            sampi_swap(&d[root], &d[child]);
        }
    }
}

/* Hoare's partition around the median of three: returns m in (0, n), d[0 .. m) not behind any of d[m .. n). n >= 3. */
static size_t sampi_partition(const sampi_order *o, samp_token_data *d, size_t n)
{
    size_t mid = n / 2, last = n - 1;
    if (sampi_before(o, &d[mid], &d[0])) sampi_swap(&d[mid], &d[0]);
    if (sampi_before(o, &d[last], &d[mid])) {
        sampi_swap(&d[last], &d[mid]);
        if (sampi_before(o, &d[mid], &d[0])) sampi_swap(&d[mid], &d[0]);
    }
    samp_token_data pivot = d[mid];
    sampi_swap(&d[0], &d[mid]);
    for (size_t i = 0, j = n;;) {
        do j--;
        while (sampi_before(o, &pivot, &d[j]));
        while (sampi_before(o, &d[i], &pivot)) i++;
        if (i >= j) return j + 1;
        sampi_swap(&d[i++], &d[j]);
    }
}

/* Quicksort that leaves out what lies behind k: afterwards d[0 .. k) are the first k in order. `depth` bounds the bad
   cases. */
static void sampi_sort_part(const sampi_order *o, samp_token_data *d, size_t n, size_t k, int depth)
{
    while (n > 16) {
        if (depth-- == 0) {
            sampi_heap_sort(o, d, n);
            return;
        }
        size_t m = sampi_partition(o, d, n);
        if (m < k) sampi_sort_part(o, d + m, n - m, k - m, depth);
        n = m;
    }
    sampi_insertion_sort(o, d, n);
}

static void sampi_sort(const sampi_order *o, samp_token_data_array *cur, size_t k)
{
    if (cur->sorted && !o->score) return;
    sampi_sort_part(o, cur->data, cur->size, k, 64);
    cur->sorted = !o->score && k >= cur->size;
    cur->selected = -1;
}

static void sampi_sort_all(samp_token_data_array *cur) { sampi_sort(&SAMPI_BY_LOGIT, cur, cur->size); }

/* A new, smaller size: what was selected may be gone. */
static void sampi_resize(samp_token_data_array *cur, size_t size)
{
    if (size != cur->size) cur->selected = -1;
    cur->size = size;
}

/* A monotone change of the logits may have made ties whose ids are in the wrong order. */
static void sampi_recheck_order(samp_token_data_array *cur)
{
    const samp_token_data *d = cur->data;
    for (size_t i = 1; i < cur->size && cur->sorted; i++)
        cur->sorted = d[i - 1].logit > d[i].logit || (d[i - 1].logit == d[i].logit && d[i - 1].id < d[i].id);
}

static size_t sampi_argmax(const samp_token_data_array *cur)
{
    size_t best = 0;
    for (size_t i = 1; i < cur->size && !cur->sorted; i++)
        if (sampi_before(&SAMPI_BY_LOGIT, &cur->data[i], &cur->data[best])) best = i;
    return best;
}

static size_t sampi_unmasked(const samp_token_data_array *cur)
{
    size_t n = 0;
    for (size_t i = 0; i < cur->size; i++) n += !sampi_masked(cur->data[i].logit);
    return n;
}

/* Call the kernels on the logits of an array, a piece at a time. */
static size_t sampi_copy_logits(const samp_token_data_array *cur, size_t at, float *x)
{
    size_t n = cur->size - at < SAMPI_TILE ? cur->size - at : SAMPI_TILE;
    for (size_t i = 0; i < n; i++) x[i] = cur->data[at + i].logit;
    return n;
}

static sampi_sums sampi_sum_to(const samp_token_data_array *cur, float max)
{
    sampi_sums r = { max, 0, 0, 0, 0 };
    float x[SAMPI_TILE];
    for (size_t at = 0, n; at < cur->size; at += n) {
        n = sampi_copy_logits(cur, at, x);
        sampi_use()->sums(x, n, 1.0f, r.max, INFINITY, true, &r);
    }
    return r;
}

static sampi_sums sampi_sum(const samp_token_data_array *cur)
{
    return sampi_sum_to(cur, cur->data[sampi_argmax(cur)].logit);
}

/* The entropy in nats: ln Z + s / z. */
static double sampi_entropy(const sampi_sums *r)
{
    return sampi_ln((double)r->z / (double)SAMPI_ONE) + (double)r->s / (double)r->z;
}

/* p of all candidates, by the sums of the row. */
static void sampi_set_p(samp_token_data_array *cur, const sampi_sums *r)
{
    float x[SAMPI_TILE], p[SAMPI_TILE + 16];
    for (size_t at = 0, n; at < cur->size; at += n) {
        n = sampi_copy_logits(cur, at, x);
        sampi_use()->probs(x, n, r->max, (double)r->z, p);
        for (size_t i = 0; i < n; i++) cur->data[at + i].p = p[i];
    }
}

/* Sort until the first k in order hold the mass `need` and at least min_keep tokens, and keep these. */
static void sampi_keep_mass(samp_token_data_array *cur, const sampi_order *o, const sampi_sums *r, uint64_t need,
                            size_t min_keep)
{
    size_t keep = 0, least = min_keep < r->n ? min_keep : r->n;
    for (size_t k = 64; keep == 0; k *= 8) {
        if (k > r->n) k = r->n;
        sampi_sort(o, cur, k);
        uint64_t mass = 0;
        for (size_t i = 0; i < k && keep == 0; i++) {
            mass += sampi_weight(r->max, cur->data[i].logit);
            if (mass >= need && i + 1 >= least) keep = i + 1;
        }
        if (k == r->n) break; /* need <= z, so the last round always finds it */
    }
    sampi_resize(cur, keep);
    sampi_set_p(cur, r);
    cur->sorted = !o->score;
}

/* ================================================================================================= >>sampler
   The object behind every samp_sampler. A sampler is one heap block: this record, then up to four arrays ("parts")
   found by their offset, so that a copy of the bytes is a clone. Chains also own their members, and whatever
   samp_sample was called on owns the array of candidates. */

typedef struct sampi_sampler sampi_sampler;
typedef struct sampi_text sampi_text;

typedef struct sampi_kind {
    const char *name;
    uint32_t draws;                                         /* its number in Philox's counter; 0: draws nothing */
    bool selects;                                           /* a token: meant to be the last of a chain */
    int (*apply)(sampi_sampler *, samp_token_data_array *); /* canonical arithmetic */
    int (*apply_llama)(sampi_sampler *, samp_token_data_array *);
    void (*accept)(sampi_sampler *, samp_token);           /* or NULL */
    void (*reset)(sampi_sampler *);                        /* or NULL: nothing beyond the random source */
    void (*build)(sampi_sampler *);                        /* fill the parts of a new sampler, or NULL */
    void (*describe)(const sampi_sampler *, sampi_text *); /* its parameters, or NULL */
} sampi_kind;

/* What apply may change; kept before each call, put back if it fails. */
typedef struct sampi_state {
    float mu;           /* mirostat */
    samp_token pending; /* adaptive_p: the token selected last, -1 = none */
    float pending_p;    /* and its probability */
    uint64_t drawn;     /* mt19937 outputs so far */
} sampi_state;

/* The last `cap` tokens; the array is part 0 of a sampler (or a chain's prev). */
typedef struct sampi_ring {
    uint32_t cap, size, head;
} sampi_ring;

/* A token and a number that belongs to it. */
typedef struct sampi_count {
    samp_token token;
    int32_t count;
} sampi_count;

/* One way for a breaker to begin: with this token (tail -1: it contains the breaker), continued by the tokens of a
   tail. */
typedef struct sampi_tail {
    int32_t n;
    samp_token token[20];
} sampi_tail;
typedef struct sampi_head {
    samp_token token;
    int32_t tail;
} sampi_head;

typedef struct sampi_chain {
    sampi_sampler **item; /* [n], room for cap */
    int32_t n, cap;
    samp_token *prev; /* [ring.cap] */
    sampi_ring ring;
} sampi_chain;

/* What samp_sample works in: one heap block. */
typedef struct sampi_change {
    samp_token id;
    float x;
} sampi_change;

typedef struct sampi_work {
    void *block;
    size_t n;                   /* the vocabulary it is for */
    samp_token_data *candidate; /* [n] step by step; in the same place the fast path has */
    uint64_t *w;                /* [n] weights */
    float *x;                   /* [n] logits of a compact row */
    int32_t *id;                /* [n] and their ids */
    float *line, *scratch;      /* maxima of lines, and what is made of them */
    uint64_t *sum;              /* sums of tiles */
    sampi_change *change;       /* changed logits of a dense row */
} sampi_work;

struct sampi_sampler {
    samp_sampler base; /* must be first */
    const sampi_kind *kind;
    int status;        /* what was wrong with the parameters, */
    const char *field; /* and with which */
    bool off;          /* a disabled value: does nothing */
    samp_rng_kind rng;
    uint64_t seed, position;
    sampi_sampler *owner; /* the chain it is in, or NULL */
    size_t serial;        /* no other sampler has it; */
    uint64_t n_edits;     /* and this grows whenever s changes, but not with a change that its owner's work brings */
    size_t in_batch;      /* its row in the batch under way */
    samp_perf_data perf;
    uint64_t at_position;            /* of the apply under way: the outermost chain's position, */
    uint32_t at_ordinal;             /* and which of its kind this sampler is */
    const struct sampi_draft *draft; /* samp_verify's ratio test takes the place of the draw; else NULL */
    sampi_state now, before;
    sampi_work work;              /* of the sampler that samp_sample was called on */
    size_t part[4], part_size[4]; /* offsets from the record's start, and bytes */
    union {
        struct {
            float p;
            size_t min_keep;
        } cut; /* top_p, min_p, typical, tail_free (p = z) */
        struct {
            float p, t;
            size_t min_keep;
        } xtc;
        struct {
            int32_t k;
        } top_k;
        struct {
            float n;
        } sigma;
        struct {
            float t, delta, exponent;
        } temp;
        struct {
            float tau, eta;
            int32_t n_vocab, m;
        } mirostat;
        struct {
            float target, decay, sum, total;
        } adaptive;
        struct {
            int32_t n_vocab, n;
            const samp_logit_bias *from;
        } bias; /* part 0: samp_logit_bias [n] */
        struct {
            float repeat, freq, present;
            sampi_ring ring;
            uint32_t n;
        } penalties; /* part 0: ring, 1: counts [n], room for ring.cap */
        struct {
            float multiplier, base;
            int32_t allowed;
            sampi_ring ring;
            const samp_vocab *vocab;
            const char *const *from;
            size_t n_from;
            size_t n_heads, n_tails;
        } dry; /* 0: ring, 1: counts, 2: lengths [ring.cap] i32, 3: tails, then heads */
        sampi_chain chain;
    } u;
};

static void *sampi_part(const sampi_sampler *s, int i) { return (char *)(uintptr_t)s + s->part[i]; }
static size_t sampi_round_up(size_t n) { return (n + 15) & ~(size_t)15; }
static bool sampi_is_custom(const sampi_sampler *s);
static bool sampi_is_chain(const sampi_sampler *s);

/* s has changed, and so have the chains it is in: these may have members at work in several threads. */
static void sampi_edited(sampi_sampler *s)
{
    s->n_edits++;
    for (s = s->owner; s; s = s->owner) __atomic_fetch_add(&s->n_edits, 1, __ATOMIC_RELAXED);
}

static size_t sampi_next_serial(void)
{
    static size_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

static sampi_mt *sampi_mt_of(const sampi_sampler *s) { return (sampi_mt *)sampi_part(s, 0); }

/* The random source at the seed. Only samplers that draw have one; it is their part 0. */
static void sampi_seed(sampi_sampler *s)
{
    s->now.drawn = 0;
    if (s->kind->draws && s->rng == SAMP_RNG_MT19937 && s->part_size[0])
        sampi_mt_seed(sampi_mt_of(s), (uint32_t)s->seed);
}

static void sampi_reset_state(sampi_sampler *s)
{
    s->position = 0;
    s->now.pending = -1;
    s->now.pending_p = 0.0f;
    sampi_seed(s);
    if (s->kind->reset) s->kind->reset(s);
}

/* ---- making: a sampler is described in a local record t, checked, then moved to the heap --------------------- */

static sampi_sampler sampi_blank(const sampi_kind *kind)
{
    sampi_sampler t;
    memset(&t, 0, sizeof t);
    t.kind = kind;
    if (kind->draws) t.part_size[0] = sizeof(sampi_mt);
    return t;
}

/* The first failed need decides. */
static void sampi_require(sampi_sampler *t, bool good, int status, const char *field)
{
    if (good || t->status) return;
    t->status = status;
    t->field = field;
}

static void sampi_require_in(sampi_sampler *t, float x, bool in_range, const char *field)
{
    sampi_require(t, x == x, SAMP_E_NAN, field);
    sampi_require(t, in_range, SAMP_E_RANGE, field);
}

static const samp_sampler_i *sampi_builtin(void);

static samp_sampler *sampi_new(const sampi_sampler *t)
{
    size_t size = sampi_round_up(sizeof *t), part[4];
    for (int i = 0; i < 4; i++) {
        part[i] = size;
        if (!t->status) size += sampi_round_up(t->part_size[i]);
    }
    sampi_sampler *s = (sampi_sampler *)SAMP_MALLOC(size);
    if (!s) return NULL;
    memset(s, 0, size);
    *s = *t;
    memcpy(s->part, part, sizeof part);
    s->serial = sampi_next_serial();
    if (s->status) memset(s->part_size, 0, sizeof s->part_size);
    if (!s->base.iface) {
        s->base.iface = sampi_builtin();
        s->base.ctx = s;
    }
    if (s->status) return &s->base;
    if (s->kind->build) s->kind->build(s);
    sampi_reset_state(s);
    return &s->base;
}

/* ---- windows of accepted tokens ------------------------------------------------------------------------------ */

/* The token `back` places ago, 0 = the newest. */
static samp_token sampi_ring_at(const sampi_ring *r, const samp_token *token, uint32_t back)
{
    return token[(r->head + r->cap - 1 - back) % r->cap];
}

/* Returns the token that falls out, or -1. */
static samp_token sampi_ring_push(sampi_ring *r, samp_token *token, samp_token x)
{
    samp_token old = -1;
    if (r->cap == 0) return x;
    if (r->size == r->cap)
        old = token[r->head];
    else
        r->size++;
    token[r->head] = x;
    r->head = (r->head + 1) % r->cap;
    return old;
}

/* Where a token is, or belongs, among n records in order of their first members, tokens; size: bytes of a record. */
SAMPI_INLINE size_t sampi_find_token(const void *list, size_t size, size_t n, samp_token token)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (*(const samp_token *)(const void *)((const char *)list + mid * size) < token)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Tokens and a number for each, sorted by token: list [n]. */
static uint32_t sampi_count_find(const sampi_count *list, uint32_t n, samp_token token)
{
    return (uint32_t)sampi_find_token(list, sizeof *list, n, token);
}

/* The entry of a token, made with count 0 if there is none. */
static sampi_count *sampi_count_at(sampi_count *list, uint32_t *n, samp_token token)
{
    uint32_t i = sampi_count_find(list, *n, token);
    if (i == *n || list[i].token != token) {
        memmove(&list[i + 1], &list[i], (*n - i) * sizeof *list);
        list[i].token = token;
        list[i].count = 0;
        (*n)++;
    }
    return &list[i];
}

/* Change the logits of the tokens in a list: at once if they all stand at data[id], else by looking up each
   candidate. */
static void sampi_patch(sampi_sampler *s, samp_token_data_array *cur, const sampi_count *list, uint32_t n,
                        float (*change)(const sampi_sampler *, float logit, const sampi_count *))
{
    samp_token_data *d = cur->data;
    bool dense = n == 0 || ((size_t)list[n - 1].token < cur->size && d[list[n - 1].token].id == list[n - 1].token);
    for (uint32_t i = 0; i < n && dense; i++) dense = d[list[i].token].id == list[i].token;
    for (uint32_t i = 0; i < n && dense; i++) {
        samp_token token = list[i].token;
        d[token].logit = change(s, d[token].logit, &list[i]);
    }
    for (size_t k = 0; k < cur->size && !dense; k++) {
        uint32_t i = sampi_count_find(list, n, d[k].id);
        if (i < n && list[i].token == d[k].id) d[k].logit = change(s, d[k].logit, &list[i]);
    }
    cur->sorted = false;
}

/* ================================================================================================== >>logits
   Samplers that change logits of a few tokens. */

/* ---- logit_bias ---- */

static void sampi_logit_bias_build(sampi_sampler *s)
{
    if (s->u.bias.n) memcpy(sampi_part(s, 0), s->u.bias.from, s->part_size[0]);
    s->u.bias.from = NULL;
}

static float sampi_bias_change(float l, float bias) { return sampi_masked(bias) ? bias : sampi_finite(l + bias); }

static int sampi_logit_bias_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_logit_bias *bias = (const samp_logit_bias *)sampi_part(s, 0);
    for (int32_t i = 0; i < s->u.bias.n; i++) {
        size_t at = (size_t)bias[i].token;
        if (at >= cur->size || cur->data[at].id != bias[i].token)
            for (at = 0; at < cur->size && cur->data[at].id != bias[i].token;) at++;
        if (at == cur->size || sampi_masked(cur->data[at].logit)) continue;
        cur->data[at].logit = sampi_bias_change(cur->data[at].logit, bias[i].bias);
    }
    cur->sorted = false;
    return SAMP_OK;
}

/* ---- penalties ---- */

static sampi_count *sampi_penalties_list(const sampi_sampler *s) { return (sampi_count *)sampi_part(s, 1); }

static void sampi_penalties_reset(sampi_sampler *s)
{
    s->u.penalties.ring.size = s->u.penalties.ring.head = s->u.penalties.n = 0;
}

static void sampi_penalties_accept(sampi_sampler *s, samp_token token)
{
    sampi_count *list = sampi_penalties_list(s);
    samp_token old = sampi_ring_push(&s->u.penalties.ring, (samp_token *)sampi_part(s, 0), token);
    if (old >= 0) {
        uint32_t i = sampi_count_find(list, s->u.penalties.n, old);
        if (--list[i].count == 0) memmove(&list[i], &list[i + 1], (--s->u.penalties.n - i) * sizeof *list);
    }
    sampi_count_at(list, &s->u.penalties.n, token)->count++;
}

static float sampi_penalties_fall(const sampi_sampler *s, const sampi_count *entry)
{
    return sampi_roundf((float)entry->count * s->u.penalties.freq) + s->u.penalties.present;
}

static float sampi_penalties_change(const sampi_sampler *s, float l, const sampi_count *entry)
{
    if (sampi_masked(l)) return l;
    l = sampi_finite(l <= 0.0f ? l * s->u.penalties.repeat : l / s->u.penalties.repeat);
    return sampi_finite(l - sampi_penalties_fall(s, entry));
}

static int sampi_penalties_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_patch(s, cur, sampi_penalties_list(s), s->u.penalties.n, sampi_penalties_change);
    return SAMP_OK;
}

/* ---- dry ---- */

#define SAMPI_BREAKER_MAX 40 /* bytes of a breaker that count */
#define SAMPI_TAIL_MAX    ((int32_t)(sizeof(((sampi_tail *)0)->token) / sizeof(samp_token)))

/* Text to tokens by the vocabulary's tokenizer, or by greedy longest match: how many, or -1 if no tokens spell it. */
static int32_t sampi_tokenize(const samp_vocab *v, const char *text, size_t n, samp_token *out, int32_t n_max)
{
    int32_t n_out = v->tokenize ? v->tokenize(v, text, n, out, n_max) : 0;
    if (v->tokenize) return n_out > 0 ? n_out : -1;
    while (n > 0 && n_out < n_max) {
        size_t best = 0;
        for (samp_token t = 0; t < v->n_vocab; t++) {
            size_t len;
            const char *bytes = v->token_bytes(v, t, &len);
            if (len <= best || len > n || memcmp(bytes, text, len) != 0) continue;
            best = len;
            out[n_out] = t;
        }
        if (best == 0) return -1;
        n_out++, text += best, n -= best;
    }
    return n_out;
}

static bool sampi_contains(const char *text, size_t n, const char *part, size_t n_part)
{
    for (size_t i = 0; i + n_part <= n; i++)
        if (memcmp(text + i, part, n_part) == 0) return true;
    return false;
}

/* Find every token that contains a breaker (tail -1), or ends with a beginning of one (the tail is the rest of it),
   in order of ids. tails_before: how many tails the breakers before this one have; one for each proper suffix of a
   breaker. heads may be NULL to count only. */
static size_t sampi_dry_heads(const samp_vocab *v, const char *const *breaker, size_t n_breakers, sampi_head *heads)
{
    size_t n = 0;
    for (samp_token t = 0; t < v->n_vocab; t++) {
        size_t len;
        const char *bytes = v->token_bytes(v, t, &len);
        int32_t tails_before = 0;
        for (size_t b = 0; b < n_breakers; b++) {
            size_t n_text = strlen(breaker[b]);
            if (n_text > SAMPI_BREAKER_MAX) n_text = SAMPI_BREAKER_MAX;
            if (sampi_contains(bytes, len, breaker[b], n_text)) {
                if (heads) heads[n].token = t, heads[n].tail = -1;
                n++;
            } else {
                for (size_t k = 1; k < n_text && k <= len; k++) {
                    if (memcmp(bytes + len - k, breaker[b], k) != 0) continue;
                    if (heads) heads[n].token = t, heads[n].tail = tails_before + (int32_t)k - 1;
                    n++;
                }
            }
            tails_before += (int32_t)n_text - 1;
        }
    }
    return n;
}

static sampi_head *sampi_dry_head(const sampi_sampler *s)
{
    return (sampi_head *)((sampi_tail *)sampi_part(s, 3) + s->u.dry.n_tails);
}

static void sampi_dry_build(sampi_sampler *s)
{
    const samp_vocab *v = s->u.dry.vocab;
    sampi_tail *tail = (sampi_tail *)sampi_part(s, 3);
    for (size_t b = 0; b < s->u.dry.n_from; b++) {
        const char *text = s->u.dry.from[b];
        size_t n = strlen(text) < SAMPI_BREAKER_MAX ? strlen(text) : SAMPI_BREAKER_MAX;
        for (size_t k = 1; k < n; k++, tail++)
            tail->n = sampi_tokenize(v, text + k, n - k, tail->token, SAMPI_TAIL_MAX);
    }
    if (s->u.dry.n_from) sampi_dry_heads(v, s->u.dry.from, s->u.dry.n_from, sampi_dry_head(s));
    s->u.dry.from = NULL;
}

static void sampi_dry_reset(sampi_sampler *s) { s->u.dry.ring.size = s->u.dry.ring.head = 0; }

static void sampi_dry_accept(sampi_sampler *s, samp_token token)
{
    sampi_ring_push(&s->u.dry.ring, (samp_token *)sampi_part(s, 0), token);
}

/* The first head with this token; heads are sorted by token. */
static size_t sampi_dry_find(const sampi_sampler *s, samp_token token)
{
    return sampi_find_token(sampi_dry_head(s), sizeof(sampi_head), s->u.dry.n_heads, token);
}

/* How many tokens back a repetition may reach: to behind the nearest breaker. */
static int32_t sampi_dry_limit(const sampi_sampler *s, int32_t n)
{
    const samp_token *token = (const samp_token *)sampi_part(s, 0);
    const sampi_head *head = sampi_dry_head(s);
    const sampi_tail *tail = (const sampi_tail *)sampi_part(s, 3);
    const sampi_ring *ring = &s->u.dry.ring;
    for (int32_t i = 0; i < n; i++) {
        samp_token t = sampi_ring_at(ring, token, (uint32_t)i);
        int32_t longest = -1;
        for (size_t h = sampi_dry_find(s, t); h < s->u.dry.n_heads && head[h].token == t; h++) {
            int32_t len = head[h].tail < 0 ? 0 : tail[head[h].tail].n, k = 0;
            if (len <= longest || len > i) continue; /* a tail that no tokens spell has length -1 */
            while (k < len && tail[head[h].tail].token[k] == sampi_ring_at(ring, token, (uint32_t)(i - 1 - k))) k++;
            if (k == len) longest = len;
        }
        if (longest >= 0) return i - longest;
    }
    return n;
}

/* z[k] = the length of the common suffix of the window and the window k tokens ago, at most limit (Z algorithm). */
static void sampi_dry_lengths(const sampi_sampler *s, int32_t n, int32_t limit, int32_t *z)
{
    const samp_token *token = (const samp_token *)sampi_part(s, 0);
    const sampi_ring *ring = &s->u.dry.ring;
    for (int32_t k = 1, left = 0, right = 0; k < n; k++) { /* [left, right) matches the newest right - left tokens */
        int32_t len = k < right ? z[k - left] : 0;
        if (k < right && len < right - k) {
            z[k] = len;
            continue;
        }
        int32_t end = k < right ? right : k;
        while (end < n &&
               sampi_ring_at(ring, token, (uint32_t)end) == sampi_ring_at(ring, token, (uint32_t)(end - k)))
            end++;
        left = k, right = end;
        z[k] = end - k < limit ? end - k : limit;
    }
}

static float sampi_dry_fall(const sampi_sampler *s, const sampi_count *entry)
{
    const sampi_head *head = sampi_dry_head(s);
    for (size_t h = sampi_dry_find(s, entry->token); h < s->u.dry.n_heads && head[h].token == entry->token; h++)
        if (head[h].tail < 0) return 0.0f;  /* a breaker itself is never punished */
    const float ln_float_max = 88.7228391f; /* base^power stays within a float */
    float base = s->u.dry.base;
    bool llama = s->rng == SAMP_RNG_MT19937;
    int32_t power = entry->count - s->u.dry.allowed, most = 0;
    if (base > 1.000001f) most = (int32_t)(llama ? ln_float_max / logf(base) : (double)ln_float_max / sampi_ln(base));
    if (most > 0 && power > most) power = most;
    return (float)((double)s->u.dry.multiplier *
                   (llama ? pow((double)base, (double)power) : sampi_powi(base, power)));
}

static float sampi_dry_change(const sampi_sampler *s, float l, const sampi_count *entry)
{
    return sampi_masked(l) ? l : sampi_finite(l - sampi_dry_fall(s, entry));
}

/* The tokens that would lengthen a repetition, each with the length of the longest: list [at most the window] -> how
   many. */
static uint32_t sampi_dry_list(const sampi_sampler *s, sampi_count *list)
{
    int32_t n = (int32_t)s->u.dry.ring.size, allowed = s->u.dry.allowed;
    if (n <= allowed) return 0;
    int32_t limit = sampi_dry_limit(s, n), *z = (int32_t *)sampi_part(s, 2);
    const samp_token *token = (const samp_token *)sampi_part(s, 0);
    uint32_t n_list = 0;
    if (limit < allowed) return 0;
    sampi_dry_lengths(s, n, limit, z);
    for (int32_t k = 1; k < n; k++) {
        if (z[k] < allowed) continue;
        sampi_count *entry = sampi_count_at(list, &n_list, sampi_ring_at(&s->u.dry.ring, token, (uint32_t)(k - 1)));
        if (entry->count < z[k]) entry->count = z[k];
    }
    return n_list;
}

static int sampi_dry_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_count *list = (sampi_count *)sampi_part(s, 1);
    uint32_t n = sampi_dry_list(s, list);
    int32_t seen = (int32_t)s->u.dry.ring.size, allowed = s->u.dry.allowed;
    if (n > 0) sampi_patch(s, cur, list, n, sampi_dry_change);
    if (s->rng == SAMP_RNG_MT19937 && seen > allowed && sampi_dry_limit(s, seen) >= allowed)
        cur->sorted = false; /* as llama.cpp has it, whether a token was hit or not: adaptive_p looks at it */
    return SAMP_OK;
}

/* ============================================================================================== >>truncation
   Samplers that remove tokens. */

/* top_n_sigma's variance comes from integers: x = max - l in units of 2^-40 of the range's power of two, sums of x and
   x^2 exact in 128 bits. */
static double sampi_sigma_scale(double range)
{
    uint64_t exponent = sampi_bits(range) >> 52; /* range < 2^(exponent - 1022) */
    return sampi_from_bits((uint64_t)(1023 + 40 + 1022 - exponent) << 52);
}

static uint64_t sampi_sigma_x(float max, float l, double scale)
{
    return sampi_bits(fma((double)max - (double)l, scale, SAMPI_INT)) - sampi_bits(SAMPI_INT);
}

static double sampi_sigma_of(uint64_t n, uint64_t sum, sampi_u128 squares, double scale)
{
    sampi_u128 by_n = sampi_mul128(squares.lo, n), square = sampi_mul128(sum, sum);
    by_n.hi += squares.hi * n;
    return sqrt(sampi_double_of_128(sampi_sub128(by_n, square))) / ((double)n * scale);
}

/* Its cut: keep l if max - l <= the result. */
static double sampi_sigma_reach(const samp_token_data_array *cur, float n_sigma, float *max)
{
    float low = INFINITY;
    *max = -INFINITY;
    for (size_t i = 0; i < cur->size; i++) {
        float l = cur->data[i].logit;
        if (l > *max) *max = l;
        if (!sampi_masked(l) && l < low) low = l;
    }
    double range = (double)*max - (double)low, scale = sampi_sigma_scale(range);
    sampi_u128 squares = { 0, 0 };
    uint64_t sum = 0, n = 0;
    if (range == 0.0) return 0.0;
    for (size_t i = 0; i < cur->size; i++) {
        if (sampi_masked(cur->data[i].logit)) continue;
        uint64_t x = sampi_sigma_x(*max, cur->data[i].logit, scale);
        sum += x;
        squares = sampi_add128(squares, sampi_mul128(x, x));
        n++;
    }
    return (double)n_sigma * sampi_sigma_of(n, sum, squares, scale);
}

static int sampi_top_n_sigma_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    float max;
    double reach = sampi_sigma_reach(cur, s->u.sigma.n, &max);
    for (size_t i = 0; i < cur->size; i++)
        if ((double)max - (double)cur->data[i].logit > reach) cur->data[i].logit = -INFINITY;
    sampi_recheck_order(cur);
    return SAMP_OK;
}

static int sampi_top_k_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t k = (size_t)s->u.top_k.k, n = sampi_unmasked(cur);
    if (k > n) k = n;
    sampi_sort(&SAMPI_BY_LOGIT, cur, k);
    sampi_resize(cur, k);
    cur->sorted = true;
    return SAMP_OK;
}

static uint64_t sampi_distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* Is the sum of a_i below 1e-6, in units of probability? */
static bool sampi_tail_is_flat(uint64_t total, uint64_t z) { return (double)total * 1000000.0 < (double)z; }

static int sampi_tail_free_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums r = sampi_sum(cur);
    size_t min_keep = s->u.cut.min_keep ? s->u.cut.min_keep : 1;
    uint64_t share = sampi_share(s->u.cut.p), total = 0, run = 0;
    sampi_sort_all(cur);
    sampi_set_p(cur, &r);
    if (r.n <= 2) return SAMP_OK;
    for (int pass = 0; pass < 2; pass++) { /* the sum of a_i first, then the cut */
        bool flat = sampi_tail_is_flat(total, r.z);
        uint64_t w0 = sampi_weight(r.max, cur->data[0].logit), w1 = sampi_weight(r.max, cur->data[1].logit), w2;
        for (size_t i = 0; i + 2 < r.n; i++, w0 = w1, w1 = w2) {
            w2 = sampi_weight(r.max, cur->data[i + 2].logit);
            uint64_t a = sampi_distance(w0 + w2, 2 * w1);
            if (pass == 0) {
                total += a;
                continue;
            }
            run += flat ? 1 : a;
            if (run <= sampi_mulhi(share, flat ? r.n - 2 : total)) continue;
            if (i > min_keep) min_keep = i;
            sampi_resize(cur, min_keep < r.n ? min_keep : r.n);
            return SAMP_OK;
        }
    }
    sampi_resize(cur, r.n);
    return SAMP_OK;
}

static double sampi_typical_score(const sampi_order *o, const samp_token_data *d)
{
    return fabs((o->max - (double)d->logit) - o->mean);
}

static int sampi_typical_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums r = sampi_sum(cur);
    sampi_order by_score = { sampi_typical_score, r.max, (double)r.s / (double)r.z };
    uint64_t above = sampi_mulhi(sampi_share(s->u.cut.p), r.z);
    sampi_keep_mass(cur, &by_score, &r, above + 1, s->u.cut.min_keep);
    return SAMP_OK;
}

static int sampi_top_p_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums r = sampi_sum(cur);
    sampi_keep_mass(cur, &SAMPI_BY_LOGIT, &r, sampi_mass_of(sampi_share(s->u.cut.p), r.z), s->u.cut.min_keep);
    return SAMP_OK;
}

/* Keep the tokens with l >= least, in their order; but at least the first min_keep in order. */
static void sampi_keep_above(samp_token_data_array *cur, double least, size_t min_keep)
{
    size_t n = sampi_unmasked(cur), count = 0;
    if (min_keep > n) min_keep = n;
    for (size_t i = 0; i < cur->size; i++) count += (double)cur->data[i].logit >= least;
    if (count < min_keep || count == 0) {
        count = min_keep ? min_keep : 1;
        sampi_sort(&SAMPI_BY_LOGIT, cur, count);
        sampi_resize(cur, count);
        cur->sorted = true;
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < cur->size; i++)
        if ((double)cur->data[i].logit >= least) cur->data[kept++] = cur->data[i];
    sampi_resize(cur, kept);
}

static int sampi_min_p_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    double max = cur->data[sampi_argmax(cur)].logit;
    sampi_keep_above(cur, max + sampi_ln(s->u.cut.p), s->u.cut.min_keep);
    return SAMP_OK;
}

static void sampi_random(const sampi_sampler *s, uint32_t attempt, uint64_t r[2]);

static int sampi_xtc_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    uint64_t random[2];
    if (cur->size < 2) return SAMP_OK;
    sampi_random(s, 0, random);
    if (s->u.xtc.p < 1.0f && random[0] >= sampi_share(s->u.xtc.p)) return SAMP_OK;
    sampi_sums r = sampi_sum(cur);
    uint64_t need = sampi_mass_of(sampi_share(s->u.xtc.t), r.z);
    size_t above = 0, least = 0; /* how many reach t; the last of them in order */
    for (size_t i = 0; i < cur->size; i++) {
        if (sampi_masked(cur->data[i].logit) || sampi_weight(r.max, cur->data[i].logit) < need) continue;
        if (above++ == 0 || sampi_before(&SAMPI_BY_LOGIT, &cur->data[least], &cur->data[i])) least = i;
    }
    if (above < 2 || r.n - (above - 1) < s->u.xtc.min_keep) return SAMP_OK;
    sampi_set_p(cur, &r);
    size_t kept = 0;
    for (size_t i = 0; i < cur->size; i++) {
        bool out = !sampi_masked(cur->data[i].logit) && sampi_weight(r.max, cur->data[i].logit) >= need && i != least;
        if (!out) cur->data[kept++] = cur->data[i];
    }
    sampi_resize(cur, kept);
    return SAMP_OK;
}

/* ============================================================================================= >>temperature */

/* Only the first in order keeps its logit. */
static void sampi_mask_but(samp_token_data_array *cur, size_t best)
{
    for (size_t i = 0; i < cur->size; i++)
        if (i != best) cur->data[i].logit = -INFINITY;
}

static void sampi_scale(samp_token_data_array *cur, float t)
{
    if (!(t >= SAMPI_TEMP_MIN)) {
        sampi_mask_but(cur, sampi_argmax(cur));
        sampi_recheck_order(cur);
        return;
    }
    float r = 1.0f / t;
    for (size_t i = 0; i < cur->size; i++)
        if (!sampi_masked(cur->data[i].logit)) cur->data[i].logit = sampi_finite(cur->data[i].logit * r);
    sampi_recheck_order(cur);
}

static int sampi_temp_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_scale(cur, s->u.temp.t);
    return SAMP_OK;
}

/* The temperature of temp_ext, from the entropy. */
static float sampi_dynamic_temp(float t, float delta, float exponent, const sampi_sums *sums)
{
    float lo = t > delta ? t - delta : 0.0f, hi = t + delta;
    double power = sampi_pow(sampi_entropy(sums) / sampi_ln((double)sums->n), exponent);
    return (float)fma((double)hi - (double)lo, power, (double)lo);
}

static float sampi_temp_of(const sampi_sampler *s, const sampi_sums *sums)
{
    return sampi_dynamic_temp(s->u.temp.t, s->u.temp.delta, s->u.temp.exponent, sums);
}

static int sampi_temp_ext_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    float t = s->u.temp.t;
    if (s->u.temp.delta > 0.0f) {
        sampi_sums sums = sampi_sum(cur);
        if (sums.n == 1) return SAMP_OK;
        t = sampi_temp_of(s, &sums);
    }
    sampi_scale(cur, t);
    return SAMP_OK;
}

/* =============================================================================================== >>selection */

static int sampi_softmax_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    sampi_sums r = sampi_sum(cur);
    sampi_sort_all(cur);
    sampi_set_p(cur, &r);
    return SAMP_OK;
}

static int sampi_greedy_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    cur->selected = (int64_t)sampi_argmax(cur);
    return SAMP_OK;
}

/* 128 random bits: a function of (seed, position, stream, attempt). */
static void sampi_random_bits(uint64_t seed, uint64_t position, uint32_t stream, uint32_t attempt, uint64_t r[2])
{
    uint32_t out[4], key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t counter[4] = { (uint32_t)position, (uint32_t)(position >> 32), stream, attempt };
    sampi_philox(counter, key, out);
    r[0] = (uint64_t)out[1] << 32 | out[0];
    r[1] = (uint64_t)out[3] << 32 | out[2];
}

/* A stream: what kind of draw, and the sampler's ordinal among its kind. */
static uint32_t sampi_stream(const sampi_sampler *s, uint32_t kind) { return kind << 16 | s->at_ordinal; }

static void sampi_random(const sampi_sampler *s, uint32_t attempt, uint64_t r[2])
{
    sampi_random_bits(s->seed, s->at_position, sampi_stream(s, s->kind->draws), attempt, r);
}

/* The mass that a candidate has in a draw. */
typedef uint64_t (*sampi_mass)(const void *draw, const samp_token_data *candidate);

/* The candidate with the smallest id such that the masses of all ids up to it sum to more than t, in an array of any
   order: digit by digit of the id, 8 bits at a time, the highest first. */
static size_t sampi_find_by(const samp_token_data_array *cur, sampi_mass mass, const void *draw, uint64_t t)
{
    const samp_token_data *d = cur->data;
    int64_t lo = d[0].id, hi = d[0].id;
    int shift = 0;
    for (size_t i = 1; i < cur->size; i++) {
        if (d[i].id < lo) lo = d[i].id;
        if (d[i].id > hi) hi = d[i].id;
    }
    while ((hi - lo) >> shift > 255) shift += 8;
    for (;; shift -= 8) { /* the id is in [lo, hi]; t is relative to lo */
        uint64_t sum[256] = { 0 };
        for (size_t i = 0; i < cur->size; i++)
            if (d[i].id >= lo && d[i].id <= hi) sum[(d[i].id - lo) >> shift] += mass(draw, &d[i]);
        int digit = 0;
        while (sum[digit] <= t) t -= sum[digit++];
        lo += (int64_t)digit << shift;
        hi = lo + ((int64_t)1 << shift) - 1;
        if (shift == 0) break;
    }
    size_t i = 0;
    while (d[i].id != lo) i++;
    return i;
}

static uint64_t sampi_envelope_mass(const void *max, const samp_token_data *d)
{
    return sampi_envelope(*(const float *)max, d->logit);
}

static size_t sampi_find(const samp_token_data_array *cur, float max, uint64_t t)
{
    return sampi_find_by(cur, sampi_envelope_mass, &max, t);
}

/* The draw. With r, v two 64-bit random numbers and Q the sum of q: propose the first token in ascending id whose
   running sum of q exceeds floor(r Q / 2^64); accept it if floor(v (2^14 q) / 2^64) < w, else try again with the next
   attempt's numbers. So token i comes with probability q_i / Q * w_i / (2^14 q_i), proportional to w_i. q is integer
   arithmetic on a linear function of the logit: cheap, exact to sum, and at most 6.2 % above w, so 4 % of the
   proposals fail. */
static void sampi_draw_ratio(const sampi_sampler *s, samp_token_data_array *cur);

static void sampi_draw(const sampi_sampler *s, samp_token_data_array *cur)
{
    if (s->draft) {
        sampi_draw_ratio(s, cur);
        return;
    }
    float max = cur->data[sampi_argmax(cur)].logit;
    uint64_t total = 0, random[2];
    for (size_t i = 0; i < cur->size; i++) total += sampi_envelope(max, cur->data[i].logit);
    for (uint32_t attempt = 0;; attempt++) {
        sampi_random(s, attempt, random);
        size_t i = sampi_find(cur, max, sampi_mulhi(random[0], total));
        float l = cur->data[i].logit;
        cur->selected = (int64_t)i;
        if (sampi_mulhi(random[1], (uint64_t)sampi_envelope(max, l) << 14) < sampi_weight(max, l)) return;
    }
}

/* Draw, and leave p. */
static void sampi_select(const sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_draw(s, cur);
    sampi_sums r = sampi_sum(cur);
    sampi_set_p(cur, &r);
}

static int sampi_dist_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_select(s, cur);
    return SAMP_OK;
}

static void sampi_mirostat_reset(sampi_sampler *s) { s->now.mu = 2.0f * s->u.mirostat.tau; }

/* mu follows the surprise of the chosen token: d = max - l, z over the tokens kept. */
static float sampi_mirostat_mu(float mu, float tau, float eta, double d, uint64_t z)
{
    double surprise = fma(d, SAMPI_LOG2E, sampi_log2((double)z / (double)SAMPI_ONE));
    return sampi_finite((float)fma(-(double)eta, surprise - (double)tau, (double)mu));
}

static void sampi_mirostat_follow(sampi_sampler *s, double d, uint64_t z)
{
    s->now.mu = sampi_mirostat_mu(s->now.mu, s->u.mirostat.tau, s->u.mirostat.eta, d, z);
}

static int sampi_mirostat_select(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_select(s, cur);
    sampi_sums r = sampi_sum(cur);
    sampi_mirostat_follow(s, (double)r.max - (double)cur->data[cur->selected].logit, r.z);
    return SAMP_OK;
}

/* Zipf's exponent from neighbours in order, i and i + 1: ln (p_i / p_i+1) against ln ((i + 2) / (i + 1)). */
typedef struct sampi_zipf {
    double tb, tt;
} sampi_zipf;

static void sampi_zipf_add(sampi_zipf *zipf, size_t i, float l, float next)
{
    double t = sampi_ln((double)(i + 2) / (double)(i + 1)), b = (double)l - (double)next;
    zipf->tb = fma(t, b, zipf->tb);
    zipf->tt = fma(t, t, zipf->tt);
}

/* How many of n tokens mirostat keeps. */
static size_t sampi_zipf_size(const sampi_zipf *zipf, double n_vocab, float mu, size_t n)
{
    double exponent = zipf->tt > 0.0 ? zipf->tb / zipf->tt : 1.0, e = exponent - 1.0;
    double ln_n = sampi_ln(n_vocab), x = e * ln_n, below = 1.0 - sampi_pow(n_vocab, -e);
    /* e / (1 - N^-e), near e = 0 by its series, where the quotient would lose its digits */
    double scale = fabs(x) < 1e-3 ? fma(x, fma(x, 1.0 / 12.0, 0.5), 1.0) / ln_n : e / below;
    double k = sampi_pow(sampi_round(scale * sampi_exp2((double)mu)), 1.0 / exponent);
    return k < (double)n ? (k >= 1.0 ? (size_t)k : 1) : n;
}

static size_t sampi_zipf_keep(const sampi_zipf *zipf, const sampi_sampler *s, size_t n)
{
    return sampi_zipf_size(zipf, s->u.mirostat.n_vocab, s->now.mu, n);
}

static int sampi_mirostat_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t n = sampi_unmasked(cur), m = (size_t)s->u.mirostat.m < n ? (size_t)s->u.mirostat.m : n;
    sampi_zipf zipf = { 0.0, 0.0 };
    sampi_sort(&SAMPI_BY_LOGIT, cur, m);
    for (size_t i = 0; i + 1 < m; i++) sampi_zipf_add(&zipf, i, cur->data[i].logit, cur->data[i + 1].logit);
    size_t keep = sampi_zipf_keep(&zipf, s, n);
    sampi_sort(&SAMPI_BY_LOGIT, cur, keep);
    sampi_resize(cur, keep);
    cur->sorted = true;
    return sampi_mirostat_select(s, cur);
}

/* The least logit that mirostat_v2 keeps: surprise = (max - l) log2 e + log2 Z <= mu; z in units of 2^-40. */
static double sampi_surprise_floor(float mu, float max, double z)
{
    double room = fma(sampi_log2(z / (double)SAMPI_ONE), -1.0, (double)mu); /* ptxas would fuse mu - log2 */
    return fma(-room, SAMPI_LN2, (double)max);
}

static double sampi_mirostat_floor(const sampi_sampler *s, float max, double z)
{
    return sampi_surprise_floor(s->now.mu, max, z);
}

static int sampi_mirostat_v2_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums r = sampi_sum(cur);
    sampi_keep_above(cur, sampi_mirostat_floor(s, r.max, (double)r.z), 1);
    return sampi_mirostat_select(s, cur);
}

static void sampi_adaptive_p_reset(sampi_sampler *s)
{
    s->u.adaptive.sum = s->u.adaptive.target / (1.0f - s->u.adaptive.decay);
    s->u.adaptive.total = 1.0f / (1.0f - s->u.adaptive.decay);
}

/* The target of this draw, moved against the average so far. */
static float sampi_aim(float target, float sum, float total)
{
    float a = target + target - sum / total;
    return a < 0.0f ? 0.0f : a > 1.0f ? 1.0f : a;
}
static float sampi_adaptive_p_aim(const sampi_sampler *s)
{
    return sampi_aim(s->u.adaptive.target, s->u.adaptive.sum, s->u.adaptive.total);
}

/* One more value in a decaying sum. The addition is an fma, because ptxas would make one of it and the product. */
static float sampi_decay(float sum, float decay, float x) { return fmaf(sampi_roundf(decay * sum), 1.0f, x); }

static float sampi_adaptive_p_logit(float p, float aim)
{
    float x = sampi_roundf(fabsf(p - aim) * (1.0f / 0.3f));
    return 5.0f - x * 10.0f * x / (1.0f + x);
}

static int sampi_adaptive_p_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    if (s->u.adaptive.target < 0.0f) return sampi_dist_apply(s, cur);
    sampi_sums r = sampi_sum(cur);
    float aim = sampi_adaptive_p_aim(s);
    samp_token_data *d = cur->data;
    sampi_set_p(cur, &r);
    for (size_t i = 0; i < cur->size; i++) {
        float l = d[i].logit;
        if (!sampi_masked(l)) d[i].logit = sampi_adaptive_p_logit(d[i].p, aim);
        d[i].p = l; /* the old logit, until the token is known */
    }
    cur->sorted = false;
    sampi_draw(s, cur);
    s->now.pending = d[cur->selected].id;
    s->now.pending_p = (float)(sampi_exp(r.max, d[cur->selected].p) / (double)r.z);
    r = sampi_sum(cur);
    sampi_set_p(cur, &r);
    return SAMP_OK;
}

static void sampi_adaptive_p_accept(sampi_sampler *s, samp_token token)
{
    if (token == s->now.pending) {
        float decay = s->u.adaptive.decay;
        s->u.adaptive.sum = sampi_decay(s->u.adaptive.sum, decay, s->now.pending_p);
        s->u.adaptive.total = sampi_decay(s->u.adaptive.total, decay, 1.0f);
    }
    s->now.pending = -1;
}

/* =================================================================================================== >>llama
   SAMP_RNG_MT19937: the samplers whose arithmetic or draws differ from the canonical ones, as llama.cpp 0.5 computes
   them on x86-64: float sums in array order, libm's float functions, no fused multiply-add. Masked tokens stay in the
   array. */

typedef struct sampi_llama_sums {
    float max, sum;
} sampi_llama_sums;

static float sampi_llama_p(const sampi_llama_sums *r, float l) { return expf(l - r->max) / r->sum; }

static sampi_llama_sums sampi_llama_sum(const samp_token_data_array *cur)
{
    sampi_llama_sums r = { cur->data[sampi_argmax(cur)].logit, 0.0f };
    for (size_t i = 0; i < cur->size; i++) r.sum += expf(cur->data[i].logit - r.max);
    return r;
}

static sampi_llama_sums sampi_llama_softmax(samp_token_data_array *cur, bool sort)
{
    if (sort) sampi_sort_all(cur);
    sampi_llama_sums r = sampi_llama_sum(cur);
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p = sampi_llama_p(&r, cur->data[i].logit);
    return r;
}

/* std::discrete_distribution over the probabilities: the first i whose running sum of p / sum reaches u. */
static size_t sampi_llama_discrete(sampi_sampler *s, const samp_token_data_array *cur, const sampi_llama_sums *r)
{
    double sum = 0.0, run = 0.0;
    if (cur->size < 2) return 0;
    for (size_t i = 0; i < cur->size; i++) sum += (double)sampi_llama_p(r, cur->data[i].logit);
    double u = sampi_mt_double(sampi_mt_of(s));
    for (size_t i = 0; i + 1 < cur->size; i++)
        if ((run += (double)sampi_llama_p(r, cur->data[i].logit) / sum) >= u) return i;
    return cur->size - 1;
}

static int sampi_llama_top_n_sigma(sampi_sampler *s, samp_token_data_array *cur)
{
    float max = -INFINITY, sum = 0.0f, squares = 0.0f, count = 0.0f;
    if (cur->size < 2) return SAMP_OK;
    for (size_t i = 0; i < cur->size; i++) {
        float l = cur->data[i].logit;
        if (sampi_masked(l)) continue;
        if (l > max) max = l;
        sum += l;
        count += 1.0f;
    }
    float mean = sum / count;
    for (size_t i = 0; i < cur->size; i++) {
        if (sampi_masked(cur->data[i].logit)) continue;
        double x = (double)(cur->data[i].logit - mean);
        squares = (float)((double)squares + sampi_round(x * x));
    }
    float sigma = (float)sqrt((double)(squares / count)), least = max - sampi_roundf(s->u.sigma.n * sigma);
    for (size_t i = 0; i < cur->size; i++)
        if (cur->data[i].logit < least) cur->data[i].logit = -INFINITY;
    return SAMP_OK;
}

static int sampi_llama_top_k(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t k = (size_t)s->u.top_k.k < cur->size ? (size_t)s->u.top_k.k : cur->size;
    sampi_sort(&SAMPI_BY_LOGIT, cur, k);
    sampi_resize(cur, k);
    cur->sorted = true;
    return SAMP_OK;
}

static int sampi_llama_tail_free(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t n = cur->size, min_keep = s->u.cut.min_keep ? s->u.cut.min_keep : 1;
    if (n <= 2) return SAMP_OK;
    sampi_llama_softmax(cur, true);
    const samp_token_data *d = cur->data;
    float sum = 0.0f, run = 0.0f;
    for (size_t i = 0; i + 2 < n; i++) sum += fabsf((d[i].p - d[i + 1].p) - (d[i + 1].p - d[i + 2].p));
    for (size_t i = 0; i + 2 < n; i++) {
        float a = fabsf((d[i].p - d[i + 1].p) - (d[i + 1].p - d[i + 2].p));
        run += sum > 1e-6f ? a / sum : 1.0f / (float)(n - 2);
        if (!(run > s->u.cut.p)) continue;
        if (i > min_keep) min_keep = i;
        sampi_resize(cur, min_keep < n ? min_keep : n);
        break;
    }
    return SAMP_OK;
}

/* A p of 0 has no part in the entropy and comes last (llama.cpp's entropy is NaN then, and its order garbage). */
static double sampi_llama_typical_score(const sampi_order *o, const samp_token_data *d)
{
    return d->p > 0.0f ? (double)fabsf(-logf(d->p) - (float)o->mean) : INFINITY;
}

static int sampi_llama_typical(sampi_sampler *s, samp_token_data_array *cur)
{
    float entropy = 0.0f, run = 0.0f;
    sampi_llama_softmax(cur, true);
    for (size_t i = 0; i < cur->size; i++) {
        float p = cur->data[i].p;
        if (p > 0.0f) entropy -= sampi_roundf(p * logf(p));
    }
    sampi_order by_score = { sampi_llama_typical_score, 0.0, entropy };
    sampi_sort(&by_score, cur, cur->size);
    for (size_t i = 0; i < cur->size; i++) {
        run += cur->data[i].p;
        if (!(run > s->u.cut.p) || i + 1 < s->u.cut.min_keep) continue;
        sampi_resize(cur, i + 1);
        break;
    }
    return SAMP_OK;
}

static int sampi_llama_top_p(sampi_sampler *s, samp_token_data_array *cur)
{
    float run = 0.0f;
    sampi_llama_softmax(cur, false);
    sampi_sort_all(cur);
    for (size_t i = 0; i < cur->size; i++) {
        run += cur->data[i].p;
        if (!(run >= s->u.cut.p) || i + 1 < s->u.cut.min_keep) continue;
        sampi_resize(cur, i + 1);
        break;
    }
    return SAMP_OK;
}

static int sampi_llama_min_p(sampi_sampler *s, samp_token_data_array *cur)
{
    samp_token_data *d = cur->data;
    size_t count = 0, kept = 0;
    float least = d[sampi_argmax(cur)].logit + logf(s->u.cut.p);
    for (size_t i = 0; i < cur->size; i++) count += d[i].logit >= least;
    if (count < s->u.cut.min_keep || cur->sorted) { /* a prefix in order */
        sampi_sort_all(cur);
        for (kept = 1; kept < cur->size && (d[kept].logit >= least || kept < s->u.cut.min_keep);) kept++;
    } else {
        for (size_t i = 0; i < cur->size; i++)
            if (d[i].logit >= least) d[kept++] = d[i];
    }
    sampi_resize(cur, kept);
    return SAMP_OK;
}

static int sampi_llama_xtc(sampi_sampler *s, samp_token_data_array *cur)
{
    if (cur->size < 2 || sampi_mt_float(sampi_mt_of(s)) > s->u.xtc.p) return SAMP_OK;
    size_t above = 0;
    sampi_llama_softmax(cur, true);
    while (above < cur->size && cur->data[above].p >= s->u.xtc.t && !sampi_masked(cur->data[above].logit)) above++;
    if (above < 2 || cur->size - (above - 1) < s->u.xtc.min_keep) return SAMP_OK;
    memmove(cur->data, cur->data + (above - 1), (cur->size - (above - 1)) * sizeof *cur->data);
    sampi_resize(cur, cur->size - (above - 1));
    return SAMP_OK;
}

/* The first maximum in the order of the array. */
static size_t sampi_llama_argmax(const samp_token_data_array *cur)
{
    size_t best = 0;
    for (size_t i = 1; i < cur->size; i++)
        if (cur->data[i].logit > cur->data[best].logit) best = i;
    return best;
}

static void sampi_llama_scale(samp_token_data_array *cur, float t)
{
    if (!(t > 0.0f)) sampi_mask_but(cur, sampi_llama_argmax(cur));
    for (size_t i = 0; t > 0.0f && i < cur->size; i++)
        if (!sampi_masked(cur->data[i].logit)) cur->data[i].logit = sampi_finite(cur->data[i].logit / t);
}

static int sampi_llama_temp(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_scale(cur, s->u.temp.t);
    return SAMP_OK;
}

static int sampi_llama_temp_ext(sampi_sampler *s, samp_token_data_array *cur)
{
    float t = s->u.temp.t, delta = s->u.temp.delta;
    if (!(delta > 0.0f)) {
        sampi_llama_scale(cur, t);
        return SAMP_OK;
    }
    if (cur->size < 2) return SAMP_OK;
    float lo = t > delta ? t - delta : 0.0f, hi = t + delta, most = -logf(1.0f / (float)cur->size), entropy = 0.0f;
    sampi_llama_softmax(cur, true);
    for (size_t i = 0; i < cur->size; i++)
        if (cur->data[i].p > 0.0f) entropy -= sampi_roundf(cur->data[i].p * logf(cur->data[i].p));
    sampi_llama_scale(cur, lo + sampi_roundf((hi - lo) * powf(entropy / most, s->u.temp.exponent)));
    double max = (double)cur->data[0].logit, sum = 0.0;
    for (size_t i = 0; i < cur->size; i++) {
        double e = exp((double)cur->data[i].logit - max);
        cur->data[i].p = (float)e;
        sum += e;
    }
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p = (float)((double)cur->data[i].p / sum);
    return SAMP_OK;
}

static int sampi_llama_softmax_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    sampi_llama_softmax(cur, true);
    return SAMP_OK;
}

static int sampi_llama_greedy(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    cur->selected = (int64_t)sampi_llama_argmax(cur);
    return SAMP_OK;
}

static int sampi_llama_dist(sampi_sampler *s, samp_token_data_array *cur)
{
    samp_token_data *d = cur->data;
    float max = d[sampi_argmax(cur)].logit;
    double sum = 0.0, run = 0.0, u = sampi_mt_double(sampi_mt_of(s));
    cur->selected = -1;
    for (size_t i = 0; i < cur->size; i++) {
        d[i].p = expf(d[i].logit - max);
        sum += (double)d[i].p;
    }
    for (size_t i = 0; i < cur->size; i++) {
        run += (double)d[i].p;
        if (cur->selected < 0 && run >= u * sum) cur->selected = (int64_t)i;
        d[i].p = (float)((double)d[i].p / sum);
    }
    if (cur->selected < 0) cur->selected = (int64_t)cur->size - 1;
    return SAMP_OK;
}

static int sampi_llama_mirostat_select(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_sums r = sampi_llama_softmax(cur, true);
    cur->selected = (int64_t)sampi_llama_discrete(s, cur, &r);
    float surprise = -log2f(cur->data[cur->selected].p);
    s->now.mu -= sampi_roundf(s->u.mirostat.eta * (surprise - s->u.mirostat.tau));
    return SAMP_OK;
}

static int sampi_llama_mirostat(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_token_data *d = cur->data;
    float tb = 0.0f, tt = 0.0f;
    sampi_llama_softmax(cur, true);
    for (size_t i = 0; i + 1 < cur->size && i + 1 < (size_t)s->u.mirostat.m; i++) {
        float t = logf((float)(i + 2) / (float)(i + 1)), b = logf(d[i].p / d[i + 1].p);
        tb += sampi_roundf(t * b);
        tt += sampi_roundf(t * t);
    }
    float zipf = tb / tt, e = zipf - 1.0f;
    float k = powf(sampi_roundf(e * powf(2.0f, s->now.mu)) / (1.0f - powf((float)s->u.mirostat.n_vocab, -e)),
                   1.0f / zipf);
    size_t keep = k >= 1.0f && k < 2147483648.0f ? (size_t)k : 1; /* NaN and overflow count as 1 */
    sampi_resize(cur, keep < cur->size ? keep : cur->size);
    return sampi_llama_mirostat_select(s, cur);
}

static int sampi_llama_mirostat_v2(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t n = 0;
    sampi_llama_softmax(cur, true);
    while (n < cur->size && !(-log2f(cur->data[n].p) > s->now.mu)) n++;
    sampi_resize(cur, n ? n : 1);
    return sampi_llama_mirostat_select(s, cur);
}

/* llama.cpp trusts `sorted` in the second softmax too, although the map is not monotone: the first token stands for the
   maximum, which shows in the last bits of p. */
static int sampi_llama_adaptive_p(sampi_sampler *s, samp_token_data_array *cur)
{
    samp_token_data *d = cur->data;
    float aim = sampi_adaptive_p_aim(s);
    sampi_llama_sums r = sampi_llama_softmax(cur, false);
    if (s->u.adaptive.target < 0.0f) {
        cur->selected = (int64_t)sampi_llama_discrete(s, cur, &r);
        return SAMP_OK;
    }
    for (size_t i = 0; i < cur->size; i++) {
        float l = d[i].logit;
        if (!sampi_masked(l)) d[i].logit = sampi_adaptive_p_logit(d[i].p, aim);
        d[i].p = l; /* the old logit, until the token is known */
    }
    sampi_llama_sums adapted = sampi_llama_sum(cur);
    cur->selected = (int64_t)sampi_llama_discrete(s, cur, &adapted);
    s->now.pending = d[cur->selected].id;
    s->now.pending_p = sampi_llama_p(&r, d[cur->selected].p);
    sampi_llama_softmax(cur, false);
    cur->sorted = false;
    return SAMP_OK;
}

/* =============================================================================================== >>describe
   Text, and the table of the samplers with everything they can do. */

struct sampi_text {
    char *buf;
    size_t size, len;
};

static void sampi_put_char(sampi_text *t, char c)
{
    if (t->len + 1 < t->size) t->buf[t->len] = c;
    t->len++;
}

static void sampi_put(sampi_text *t, const char *text)
{
    while (*text) sampi_put_char(t, *text++);
}

static void sampi_put_u64(sampi_text *t, uint64_t x)
{
    char digit[20];
    int n = 0;
    do digit[n++] = (char)('0' + x % 10);
    while (x /= 10);
    while (n > 0) sampi_put_char(t, digit[--n]);
}

static void sampi_put_i64(sampi_text *t, int64_t x)
{
    if (x < 0) sampi_put_char(t, '-');
    sampi_put_u64(t, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
}

/* Six significant digits, as printf's %g does. */
static void sampi_put_float(sampi_text *t, float value)
{
    double x = fabs((double)value);
    int exponent = 0;
    if (value < 0.0f) sampi_put_char(t, '-');
    if (!(x > 0.0) || x > FLT_MAX) {
        sampi_put(t, x > FLT_MAX ? "inf" : x == 0.0 ? "0" : "nan");
        return;
    }
    while (x >= 999999.5) x /= 10.0, exponent++;
    while (x < 99999.95) x *= 10.0, exponent--;
    uint32_t digits = (uint32_t)(x + 0.5), shown = 6; /* value = digits * 10^exponent, digits has 6 places */
    int point = exponent + 6;                         /* places before the decimal point */
    bool scientific = point > 6 || point < -3;
    while (shown > 1 && digits % 10 == 0) digits /= 10, shown--;
    char place[6];
    for (int i = (int)shown - 1; i >= 0; i--, digits /= 10) place[i] = (char)('0' + digits % 10);
    int before = scientific ? 1 : point;
    if (before <= 0) sampi_put(t, "0.");
    for (int i = before; i < 0; i++) sampi_put_char(t, '0');
    for (int i = 0; i < (int)shown || i < before; i++) {
        if (i == before && i > 0) sampi_put_char(t, '.');
        sampi_put_char(t, i < (int)shown ? place[i] : '0');
    }
    if (!scientific) return;
    sampi_put_char(t, 'e');
    sampi_put_i64(t, point - 1);
}

/* "(name=value" or ", name=value" */
static void sampi_put_name(sampi_text *t, const char *name)
{
    bool first = name[0] == '(';
    if (!first) sampi_put(t, ", ");
    sampi_put(t, name);
    sampi_put_char(t, '=');
}
static void sampi_say(sampi_text *t, const char *name, float x)
{
    sampi_put_name(t, name);
    sampi_put_float(t, x);
}
static void sampi_say_int(sampi_text *t, const char *name, int64_t x)
{
    sampi_put_name(t, name);
    sampi_put_i64(t, x);
}
static void sampi_say_seed(sampi_text *t, const char *name, uint64_t x)
{
    sampi_put_name(t, name);
    sampi_put_u64(t, x);
}

static void sampi_say_min_keep(sampi_text *t, size_t n)
{
    if (n > 1) sampi_say_int(t, "min_keep", (int64_t)n);
}

static void sampi_cut_describe(const sampi_sampler *s, sampi_text *t)
{
    sampi_say(t, "(p", s->u.cut.p);
    sampi_say_min_keep(t, s->u.cut.min_keep);
}
static void sampi_tail_free_describe(const sampi_sampler *s, sampi_text *t)
{
    sampi_say(t, "(z", s->u.cut.p);
    sampi_say_min_keep(t, s->u.cut.min_keep);
}
static void sampi_logit_bias_describe(const sampi_sampler *s, sampi_text *t) { sampi_say_int(t, "(n", s->u.bias.n); }
static void sampi_penalties_describe(const sampi_sampler *s, sampi_text *t)
{
    sampi_say_int(t, "(last_n", s->u.penalties.ring.cap);
    sampi_say(t, "repeat", s->u.penalties.repeat);
    sampi_say(t, "freq", s->u.penalties.freq);
    sampi_say(t, "present", s->u.penalties.present);
}
static void sampi_dry_describe(const sampi_sampler *s, sampi_text *t)
{
    sampi_say(t, "(multiplier", s->u.dry.multiplier);
    sampi_say(t, "base", s->u.dry.base);
    sampi_say_int(t, "allowed_length", s->u.dry.allowed);
    sampi_say_int(t, "last_n", s->u.dry.ring.cap);
}
static void sampi_top_n_sigma_describe(const sampi_sampler *s, sampi_text *t) { sampi_say(t, "(n", s->u.sigma.n); }
static void sampi_top_k_describe(const sampi_sampler *s, sampi_text *t) { sampi_say_int(t, "(k", s->u.top_k.k); }
static void sampi_xtc_describe(const sampi_sampler *s, sampi_text *t)
{
    sampi_say(t, "(p", s->u.xtc.p);
    sampi_say(t, "t", s->u.xtc.t);
    sampi_say_min_keep(t, s->u.xtc.min_keep);
    sampi_say_seed(t, "seed", s->seed);
}
static void sampi_temp_describe(const sampi_sampler *s, sampi_text *t) { sampi_say(t, "(t", s->u.temp.t); }
static void sampi_temp_ext_describe(const sampi_sampler *s, sampi_text *t)
{
    sampi_say(t, "(t", s->u.temp.t);
    if (!(s->u.temp.delta > 0.0f)) return;
    sampi_say(t, "delta", s->u.temp.delta);
    sampi_say(t, "exponent", s->u.temp.exponent);
}
static void sampi_dist_describe(const sampi_sampler *s, sampi_text *t) { sampi_say_seed(t, "(seed", s->seed); }
static void sampi_mirostat_describe(const sampi_sampler *s, sampi_text *t)
{
    sampi_say(t, "(tau", s->u.mirostat.tau);
    sampi_say(t, "eta", s->u.mirostat.eta);
    if (s->u.mirostat.m) sampi_say_int(t, "m", s->u.mirostat.m);
    sampi_say_seed(t, "seed", s->seed);
}
static void sampi_adaptive_p_describe(const sampi_sampler *s, sampi_text *t)
{
    sampi_say(t, "(target", s->u.adaptive.target);
    sampi_say(t, "decay", s->u.adaptive.decay);
    sampi_say_seed(t, "seed", s->seed);
}

/* One row per sampler. `draws` is part of what decides a token: never change a number. */
/* clang-format off */
#define SAMPI_KIND(id, name, draws, selects, apply, llama, accept, reset, build, describe) \
    static const sampi_kind id = { name, draws, selects, apply, llama, accept, reset, build, describe }
SAMPI_KIND(SAMPI_LOGIT_BIAS, "logit-bias", 0, false, sampi_logit_bias_apply, sampi_logit_bias_apply,
           NULL, NULL, sampi_logit_bias_build, sampi_logit_bias_describe);
SAMPI_KIND(SAMPI_PENALTIES, "penalties", 0, false, sampi_penalties_apply, sampi_penalties_apply,
           sampi_penalties_accept, sampi_penalties_reset, NULL, sampi_penalties_describe);
SAMPI_KIND(SAMPI_DRY, "dry", 0, false, sampi_dry_apply, sampi_dry_apply,
           sampi_dry_accept, sampi_dry_reset, sampi_dry_build, sampi_dry_describe);
SAMPI_KIND(SAMPI_TOP_N_SIGMA, "top-n-sigma", 0, false, sampi_top_n_sigma_apply, sampi_llama_top_n_sigma,
           NULL, NULL, NULL, sampi_top_n_sigma_describe);
SAMPI_KIND(SAMPI_TOP_K, "top-k", 0, false, sampi_top_k_apply, sampi_llama_top_k,
           NULL, NULL, NULL, sampi_top_k_describe);
SAMPI_KIND(SAMPI_TAIL_FREE, "tail-free", 0, false, sampi_tail_free_apply, sampi_llama_tail_free,
           NULL, NULL, NULL, sampi_tail_free_describe);
SAMPI_KIND(SAMPI_TYPICAL, "typical", 0, false, sampi_typical_apply, sampi_llama_typical,
           NULL, NULL, NULL, sampi_cut_describe);
SAMPI_KIND(SAMPI_TOP_P, "top-p", 0, false, sampi_top_p_apply, sampi_llama_top_p,
           NULL, NULL, NULL, sampi_cut_describe);
SAMPI_KIND(SAMPI_MIN_P, "min-p", 0, false, sampi_min_p_apply, sampi_llama_min_p,
           NULL, NULL, NULL, sampi_cut_describe);
SAMPI_KIND(SAMPI_XTC, "xtc", 2, false, sampi_xtc_apply, sampi_llama_xtc,
           NULL, NULL, NULL, sampi_xtc_describe);
SAMPI_KIND(SAMPI_TEMP, "temp", 0, false, sampi_temp_apply, sampi_llama_temp,
           NULL, NULL, NULL, sampi_temp_describe);
SAMPI_KIND(SAMPI_TEMP_EXT, "temp-ext", 0, false, sampi_temp_ext_apply, sampi_llama_temp_ext,
           NULL, NULL, NULL, sampi_temp_ext_describe);
SAMPI_KIND(SAMPI_SOFTMAX, "softmax", 0, false, sampi_softmax_apply, sampi_llama_softmax_apply,
           NULL, NULL, NULL, NULL);
SAMPI_KIND(SAMPI_GREEDY, "greedy", 0, true, sampi_greedy_apply, sampi_llama_greedy,
           NULL, NULL, NULL, NULL);
SAMPI_KIND(SAMPI_DIST, "dist", 1, true, sampi_dist_apply, sampi_llama_dist,
           NULL, NULL, NULL, sampi_dist_describe);
SAMPI_KIND(SAMPI_MIROSTAT, "mirostat", 3, true, sampi_mirostat_apply, sampi_llama_mirostat,
           NULL, sampi_mirostat_reset, NULL, sampi_mirostat_describe);
SAMPI_KIND(SAMPI_MIROSTAT_V2, "mirostat-v2", 4, true, sampi_mirostat_v2_apply, sampi_llama_mirostat_v2,
           NULL, sampi_mirostat_reset, NULL, sampi_mirostat_describe);
SAMPI_KIND(SAMPI_ADAPTIVE_P, "adaptive-p", 5, true, sampi_adaptive_p_apply, sampi_llama_adaptive_p,
           sampi_adaptive_p_accept, sampi_adaptive_p_reset, NULL, sampi_adaptive_p_describe);
SAMPI_KIND(SAMPI_CHAIN, "chain", 0, false, NULL, NULL,
           NULL, NULL, NULL, NULL);
SAMPI_KIND(SAMPI_CUSTOM, "custom", 0, false, NULL, NULL,
           NULL, NULL, NULL, NULL);
#undef SAMPI_KIND
/* clang-format on */
#define SAMPI_DRAW_KINDS  6     /* one more than the largest number */
#define SAMPI_DRAWS_RATIO 0x100 /* with a sampler's number: samp_verify's ratio test in place of its draw */

static bool sampi_is_chain(const sampi_sampler *s) { return s->kind == &SAMPI_CHAIN; }
static bool sampi_is_custom(const sampi_sampler *s) { return s->kind == &SAMPI_CUSTOM; }

static void sampi_describe(const sampi_sampler *s, sampi_text *t)
{
    if (sampi_is_chain(s)) {
        for (int32_t i = 0; i < s->u.chain.n; i++) {
            if (i) sampi_put(t, " -> ");
            if (sampi_is_chain(s->u.chain.item[i])) sampi_put_char(t, '[');
            sampi_describe(s->u.chain.item[i], t);
            if (sampi_is_chain(s->u.chain.item[i])) sampi_put_char(t, ']');
        }
        return;
    }
    if (s->off) sampi_put_char(t, '?');
    if (s->status) sampi_put_char(t, '!');
    sampi_put(t, samp_name(&s->base));
    if (s->status || !s->kind->describe) return;
    s->kind->describe(s, t);
    sampi_put_char(t, ')');
}

SAMP_API int samp_describe(const samp_sampler *s, char *buf, size_t size)
{
    sampi_text t = { buf, size, 0 };
    if (!s || (!buf && size)) return SAMP_E_NULL;
    sampi_put(&t, "logits");
    if (!sampi_is_chain((const sampi_sampler *)s) || ((const sampi_sampler *)s)->u.chain.n) sampi_put(&t, " -> ");
    sampi_describe((const sampi_sampler *)s, &t);
    if (size) buf[t.len < size ? t.len : size - 1] = 0;
    return (int)t.len;
}

SAMP_API const char *samp_strerror(int status)
{
    switch (status) {
#define SAMPI_STATUS_TEXT(name, value, text)                                                                         \
    case value: return text;
        SAMP_STATUS_LIST(SAMPI_STATUS_TEXT)
#undef SAMPI_STATUS_TEXT
        default: return status > 0 ? "ok" : "unknown status";
    }
}

/* ================================================================================================== >>params
   Constructors. Each comes in two: sampi_set_x checks the parameters into a local record, samp_init_x moves it to the
   heap. So samp_check_params asks the same questions without the heap. */

static sampi_sampler sampi_set_logit_bias(int32_t n_vocab, int32_t n, const samp_logit_bias *bias)
{
    sampi_sampler t = sampi_blank(&SAMPI_LOGIT_BIAS);
    sampi_require(&t, n >= 0, SAMP_E_RANGE, "n_logit_bias");
    sampi_require(&t, n <= 0 || bias, SAMP_E_NULL, "logit_bias");
    sampi_require(&t, n <= 0 || n_vocab > 0, SAMP_E_RANGE, "n_vocab");
    for (int32_t i = 0; i < n && !t.status; i++) {
        sampi_require_in(&t, bias[i].bias, bias[i].token >= 0 && bias[i].token < n_vocab, "logit_bias");
        sampi_require(&t, bias[i].bias <= FLT_MAX, SAMP_E_NAN, "logit_bias");
    }
    if (t.status) return t;
    t.off = n == 0;
    t.u.bias.n_vocab = n_vocab;
    t.u.bias.n = n;
    t.u.bias.from = bias;
    t.part_size[0] = (size_t)n * sizeof *bias;
    return t;
}

#define SAMPI_MAX_WINDOW (1 << 22)

static sampi_sampler sampi_set_penalties(int32_t last_n, float repeat, float freq, float present)
{
    sampi_sampler t = sampi_blank(&SAMPI_PENALTIES);
    sampi_require(&t, last_n >= 0 && last_n <= SAMPI_MAX_WINDOW, SAMP_E_RANGE, "penalty_last_n");
    sampi_require_in(&t, repeat, repeat > 0.0f && repeat <= FLT_MAX, "penalty_repeat");
    sampi_require_in(&t, freq, fabsf(freq) <= FLT_MAX, "penalty_freq");
    sampi_require_in(&t, present, fabsf(present) <= FLT_MAX, "penalty_present");
    if (t.status) return t;
    t.off = last_n == 0 || (repeat == 1.0f && freq == 0.0f && present == 0.0f);
    t.u.penalties.repeat = repeat;
    t.u.penalties.freq = freq;
    t.u.penalties.present = present;
    t.u.penalties.ring.cap = (uint32_t)last_n;
    t.part_size[0] = (size_t)last_n * sizeof(samp_token);
    t.part_size[1] = (size_t)last_n * sizeof(sampi_count);
    return t;
}

static sampi_sampler sampi_set_dry(const samp_vocab *vocab, int32_t n_ctx_train, float multiplier, float base,
                                   int32_t allowed, int32_t last_n, const char *const *breakers, size_t n_breakers)
{
    sampi_sampler t = sampi_blank(&SAMPI_DRY);
    sampi_require_in(&t, multiplier, multiplier >= 0.0f && multiplier <= FLT_MAX, "dry_multiplier");
    sampi_require_in(&t, base, base >= 1.0f && base <= FLT_MAX, "dry_base");
    sampi_require(&t, allowed >= 0, SAMP_E_RANGE, "dry_allowed_length");
    sampi_require(&t, last_n >= -1 && last_n <= SAMPI_MAX_WINDOW, SAMP_E_RANGE, "dry_penalty_last_n");
    sampi_require(&t, n_ctx_train >= 0 && n_ctx_train <= SAMPI_MAX_WINDOW, SAMP_E_RANGE, "n_ctx_train");
    if (last_n < 0 || last_n > n_ctx_train) last_n = n_ctx_train;
    t.off = multiplier == 0.0f || last_n == 0;
    if (t.off) n_breakers = 0;
    sampi_require(&t, n_breakers == 0 || breakers, SAMP_E_NULL, "dry_breakers");
    for (size_t b = 0; b < n_breakers && !t.status; b++) {
        sampi_require(&t, breakers[b] != NULL, SAMP_E_NULL, "dry_breakers");
        sampi_require(&t, t.status || breakers[b][0], SAMP_E_RANGE, "dry_breakers");
    }
    sampi_require(&t, n_breakers == 0 || (vocab && vocab->token_bytes), SAMP_E_NULL, "vocab");
    if (t.status) return t;
    t.u.dry.multiplier = multiplier;
    t.u.dry.base = base;
    t.u.dry.allowed = allowed;
    t.u.dry.ring.cap = (uint32_t)last_n;
    t.u.dry.vocab = vocab;
    t.u.dry.from = breakers;
    t.u.dry.n_from = n_breakers;
    for (size_t b = 0; b < n_breakers; b++) {
        size_t n = strlen(breakers[b]);
        t.u.dry.n_tails += (n < SAMPI_BREAKER_MAX ? n : SAMPI_BREAKER_MAX) - 1;
    }
    t.part_size[0] = (size_t)last_n * sizeof(samp_token);
    t.part_size[1] = (size_t)last_n * sizeof(sampi_count);
    t.part_size[2] = (size_t)last_n * sizeof(int32_t);
    return t;
}

static sampi_sampler sampi_set_top_n_sigma(float n)
{
    sampi_sampler t = sampi_blank(&SAMPI_TOP_N_SIGMA);
    sampi_require_in(&t, n, fabsf(n) <= FLT_MAX, "top_n_sigma");
    t.off = n <= 0.0f;
    t.u.sigma.n = n;
    return t;
}

static sampi_sampler sampi_set_top_k(int32_t k)
{
    sampi_sampler t = sampi_blank(&SAMPI_TOP_K);
    t.off = k <= 0;
    t.u.top_k.k = k;
    return t;
}

/* tail_free, typical, top_p: p in (0, 1], 1 = off; min_p: p in [0, 1], 0 = off. */
static sampi_sampler sampi_set_cut(const sampi_kind *kind, float p, size_t min_keep, const char *field)
{
    sampi_sampler t = sampi_blank(kind);
    bool min_p = kind == &SAMPI_MIN_P;
    sampi_require_in(&t, p, (min_p ? p >= 0.0f : p > 0.0f) && p <= 1.0f, field);
    t.off = p == (min_p ? 0.0f : 1.0f);
    t.u.cut.p = p;
    t.u.cut.min_keep = min_keep;
    return t;
}

static sampi_sampler sampi_set_xtc(float p, float threshold, size_t min_keep, uint64_t seed)
{
    sampi_sampler t = sampi_blank(&SAMPI_XTC);
    sampi_require_in(&t, p, p >= 0.0f && p <= 1.0f, "xtc_probability");
    sampi_require_in(&t, threshold, threshold >= 0.0f && threshold <= 1.0f, "xtc_threshold");
    t.off = p == 0.0f || threshold > 0.5f;
    t.seed = seed;
    t.u.xtc.p = p;
    t.u.xtc.t = threshold;
    t.u.xtc.min_keep = min_keep;
    return t;
}

static sampi_sampler sampi_set_temp_ext(const sampi_kind *kind, float temp, float delta, float exponent)
{
    sampi_sampler t = sampi_blank(kind);
    sampi_require_in(&t, temp, temp == 0.0f || (temp >= SAMPI_TEMP_MIN && temp <= SAMPI_TEMP_MAX), "temp");
    sampi_require_in(&t, delta, delta >= 0.0f && delta <= SAMPI_TEMP_MAX, "dynatemp_range");
    sampi_require_in(&t, exponent, exponent >= 0.0f && exponent <= 1000.0f, "dynatemp_exponent");
    t.off = temp == 1.0f && delta == 0.0f;
    t.u.temp.t = temp;
    t.u.temp.delta = delta;
    t.u.temp.exponent = exponent;
    return t;
}

static sampi_sampler sampi_set_dist(uint64_t seed)
{
    sampi_sampler t = sampi_blank(&SAMPI_DIST);
    t.seed = seed;
    return t;
}

static sampi_sampler sampi_set_mirostat_v2(const sampi_kind *kind, uint64_t seed, float tau, float eta)
{
    sampi_sampler t = sampi_blank(kind);
    sampi_require_in(&t, tau, tau >= 0.0f && tau <= FLT_MAX / 2, "mirostat_tau");
    sampi_require_in(&t, eta, eta >= 0.0f && eta <= FLT_MAX, "mirostat_eta");
    t.seed = seed;
    t.u.mirostat.tau = tau;
    t.u.mirostat.eta = eta;
    return t;
}

static sampi_sampler sampi_set_mirostat(int32_t n_vocab, uint64_t seed, float tau, float eta, int32_t m)
{
    sampi_sampler t = sampi_set_mirostat_v2(&SAMPI_MIROSTAT, seed, tau, eta);
    sampi_require(&t, n_vocab > 0, SAMP_E_RANGE, "n_vocab");
    sampi_require(&t, m >= 2, SAMP_E_RANGE, "mirostat_m");
    t.u.mirostat.n_vocab = n_vocab;
    t.u.mirostat.m = m;
    return t;
}

static sampi_sampler sampi_set_adaptive_p(float target, float decay, uint64_t seed)
{
    sampi_sampler t = sampi_blank(&SAMPI_ADAPTIVE_P);
    sampi_require_in(&t, target, target <= 1.0f && target >= -FLT_MAX, "adaptive_target");
    sampi_require_in(&t, decay, decay >= 0.0f && decay <= 0.99f, "adaptive_decay");
    t.seed = seed;
    t.u.adaptive.target = target;
    t.u.adaptive.decay = decay;
    return t;
}

/* The breakers' heads are counted here, not in sampi_set_dry: it takes a walk over the vocabulary. */
static samp_sampler *sampi_new_dry(sampi_sampler t)
{
    if (!t.status && t.u.dry.n_from)
        t.u.dry.n_heads = sampi_dry_heads(t.u.dry.vocab, t.u.dry.from, t.u.dry.n_from, NULL);
    t.part_size[3] = t.u.dry.n_tails * sizeof(sampi_tail) + t.u.dry.n_heads * sizeof(sampi_head);
    return sampi_new(&t);
}

static samp_sampler *sampi_init(sampi_sampler t) { return t.kind == &SAMPI_DRY ? sampi_new_dry(t) : sampi_new(&t); }

SAMP_API samp_sampler *samp_init_logit_bias(int32_t n_vocab, int32_t n, const samp_logit_bias *bias)
{
    return sampi_init(sampi_set_logit_bias(n_vocab, n, bias));
}
SAMP_API samp_sampler *samp_init_penalties(int32_t last_n, float repeat, float freq, float present)
{
    return sampi_init(sampi_set_penalties(last_n, repeat, freq, present));
}
SAMP_API samp_sampler *samp_init_dry(const samp_vocab *vocab, int32_t n_ctx_train, float multiplier, float base,
                                     int32_t allowed_length, int32_t last_n, const char *const *breakers,
                                     size_t n_breakers)
{
    return sampi_init(
        sampi_set_dry(vocab, n_ctx_train, multiplier, base, allowed_length, last_n, breakers, n_breakers));
}
SAMP_API samp_sampler *samp_init_top_n_sigma(float n) { return sampi_init(sampi_set_top_n_sigma(n)); }
SAMP_API samp_sampler *samp_init_top_k(int32_t k) { return sampi_init(sampi_set_top_k(k)); }
SAMP_API samp_sampler *samp_init_tail_free(float z, size_t min_keep)
{
    return sampi_init(sampi_set_cut(&SAMPI_TAIL_FREE, z, min_keep, "tfs_z"));
}
SAMP_API samp_sampler *samp_init_typical(float p, size_t min_keep)
{
    return sampi_init(sampi_set_cut(&SAMPI_TYPICAL, p, min_keep, "typ_p"));
}
SAMP_API samp_sampler *samp_init_top_p(float p, size_t min_keep)
{
    return sampi_init(sampi_set_cut(&SAMPI_TOP_P, p, min_keep, "top_p"));
}
SAMP_API samp_sampler *samp_init_min_p(float p, size_t min_keep)
{
    return sampi_init(sampi_set_cut(&SAMPI_MIN_P, p, min_keep, "min_p"));
}
SAMP_API samp_sampler *samp_init_xtc(float p, float t, size_t min_keep, uint64_t seed)
{
    return sampi_init(sampi_set_xtc(p, t, min_keep, seed));
}
SAMP_API samp_sampler *samp_init_temp(float t) { return sampi_init(sampi_set_temp_ext(&SAMPI_TEMP, t, 0.0f, 1.0f)); }
SAMP_API samp_sampler *samp_init_temp_ext(float t, float delta, float exponent)
{
    return sampi_init(sampi_set_temp_ext(&SAMPI_TEMP_EXT, t, delta, exponent));
}
SAMP_API samp_sampler *samp_init_softmax(void) { return sampi_init(sampi_blank(&SAMPI_SOFTMAX)); }
SAMP_API samp_sampler *samp_init_greedy(void) { return sampi_init(sampi_blank(&SAMPI_GREEDY)); }
SAMP_API samp_sampler *samp_init_dist(uint64_t seed) { return sampi_init(sampi_set_dist(seed)); }
SAMP_API samp_sampler *samp_init_mirostat(int32_t n_vocab, uint64_t seed, float tau, float eta, int32_t m)
{
    return sampi_init(sampi_set_mirostat(n_vocab, seed, tau, eta, m));
}
SAMP_API samp_sampler *samp_init_mirostat_v2(uint64_t seed, float tau, float eta)
{
    return sampi_init(sampi_set_mirostat_v2(&SAMPI_MIROSTAT_V2, seed, tau, eta));
}
SAMP_API samp_sampler *samp_init_adaptive_p(float target, float decay, uint64_t seed)
{
    return sampi_init(sampi_set_adaptive_p(target, decay, seed));
}

SAMP_API samp_sampler *samp_init_custom(const samp_sampler_i *iface, void *ctx)
{
    sampi_sampler t = sampi_blank(&SAMPI_CUSTOM);
    sampi_require(&t, iface && iface->apply, SAMP_E_NULL, iface ? "apply" : "iface");
    t.base.iface = iface;
    t.base.ctx = ctx;
    return sampi_init(t);
}

/* ---- chains from parameters ---- */

SAMP_API samp_params samp_default_params(void)
{
    samp_params p;
    memset(&p, 0, sizeof p);
    p.top_k = 40;
    p.top_p = 0.95f;
    p.min_p = 0.05f;
    p.typ_p = p.tfs_z = 1.0f;
    p.top_n_sigma = -1.0f;
    p.xtc_threshold = 0.1f;
    p.temp = 0.8f;
    p.dynatemp_exponent = 1.0f;
    p.penalty_last_n = 64;
    p.penalty_repeat = 1.0f;
    p.dry_base = 1.75f;
    p.dry_allowed_length = 2;
    p.dry_penalty_last_n = -1;
    p.mirostat_tau = 5.0f;
    p.mirostat_eta = 0.1f;
    p.adaptive_target = -1.0f;
    p.adaptive_decay = 0.9f;
    p.n_ctx_train = 4096;
    return p;
}

/* What an order may name: samp_params' own word, llama.cpp's letter, other spellings. */
typedef struct sampi_step {
    char letter;
    const char *name, *alias[3];
} sampi_step;

enum {
    SAMPI_STEP_E,
    SAMPI_STEP_D,
    SAMPI_STEP_S,
    SAMPI_STEP_K,
    SAMPI_STEP_F,
    SAMPI_STEP_Y,
    SAMPI_STEP_P,
    SAMPI_STEP_M,
    SAMPI_STEP_X,
    SAMPI_STEP_T,
    SAMPI_N_STEPS,
    SAMPI_STEP_END = -1,
    SAMPI_STEP_BAD = -2
};

/* clang-format off */
static const sampi_step SAMPI_STEPS[SAMPI_N_STEPS] = {
    { 'e', "penalties", { NULL, NULL, NULL } },
    { 'd', "dry", { NULL, NULL, NULL } },
    { 's', "top_n_sigma", { "top-n-sigma", NULL, NULL } },
    { 'k', "top_k", { "top-k", NULL, NULL } },
    { 'f', "tfs_z", { "tail_free", "tail-free", "tfs" } },
    { 'y', "typ_p", { "typical", "typical_p", "typ-p" } },
    { 'p', "top_p", { "top-p", "nucleus", NULL } },
    { 'm', "min_p", { "min-p", NULL, NULL } },
    { 'x', "xtc", { NULL, NULL, NULL } },
    { 't', "temperature", { "temp", "temp_ext", "temp-ext" } },
};
/* clang-format on */

static bool sampi_same(const char *text, size_t n, const char *name)
{
    return name && strlen(name) == n && !memcmp(text, name, n);
}

static int sampi_step_of(const char *text, size_t n)
{
    for (int i = 0; i < SAMPI_N_STEPS; i++) {
        const sampi_step *step = &SAMPI_STEPS[i];
        if (sampi_same(text, n, step->name)) return i;
        for (int k = 0; k < 3; k++)
            if (sampi_same(text, n, step->alias[k])) return i;
    }
    return SAMPI_STEP_BAD;
}

/* Take the next step off an order. An order is names with ';' between, or letters; a single name is a name. */
static int sampi_next_step(const char **order, bool letters)
{
    const char *text = *order;
    if (!*text) return SAMPI_STEP_END;
    if (letters) {
        *order = text + 1;
        for (int i = 0; i < SAMPI_N_STEPS; i++)
            if (SAMPI_STEPS[i].letter == *text) return i;
        return SAMPI_STEP_BAD;
    }
    size_t n = strcspn(text, ";");
    *order = text + n +
             (text[n] == ';' && text[n + 1]); /* a ';' at the end is followed by an empty name, which is bad */
    return sampi_step_of(text, n);
}

static const char *sampi_order_of(const samp_params *p, bool *letters)
{
    const char *order = p->order;
    if (!order) order = p->tfs_z == 1.0f ? "edskypmxt" : "edskfypmxt";
    *letters = !strchr(order, ';') && sampi_step_of(order, strlen(order)) == SAMPI_STEP_BAD;
    return order;
}

static sampi_sampler sampi_set_step(const samp_params *p, int step)
{
    static const char *const usual[] = { "\n", ":", "\"", "*" };
    const char *const *breakers = p->dry_breakers ? p->dry_breakers : usual;
    size_t n_breakers = p->dry_breakers ? 0 : 4;
    switch (step) {
        case SAMPI_STEP_E:
            return sampi_set_penalties(p->penalty_last_n == -1 ? p->n_ctx_train : p->penalty_last_n,
                                       p->penalty_repeat, p->penalty_freq, p->penalty_present);
        case SAMPI_STEP_D:
            while (p->dry_breakers && breakers[n_breakers]) n_breakers++;
            return sampi_set_dry(p->vocab, p->n_ctx_train, p->dry_multiplier, p->dry_base, p->dry_allowed_length,
                                 p->dry_penalty_last_n, breakers, n_breakers);
        case SAMPI_STEP_S: return sampi_set_top_n_sigma(p->top_n_sigma);
        case SAMPI_STEP_K: return sampi_set_top_k(p->top_k);
        case SAMPI_STEP_F: return sampi_set_cut(&SAMPI_TAIL_FREE, p->tfs_z, p->min_keep, "tfs_z");
        case SAMPI_STEP_Y: return sampi_set_cut(&SAMPI_TYPICAL, p->typ_p, p->min_keep, "typ_p");
        case SAMPI_STEP_P: return sampi_set_cut(&SAMPI_TOP_P, p->top_p, p->min_keep, "top_p");
        case SAMPI_STEP_M: return sampi_set_cut(&SAMPI_MIN_P, p->min_p, p->min_keep, "min_p");
        case SAMPI_STEP_X: return sampi_set_xtc(p->xtc_probability, p->xtc_threshold, p->min_keep, p->seed);
        default: return sampi_set_temp_ext(&SAMPI_TEMP_EXT, p->temp, p->dynatemp_range, p->dynatemp_exponent);
    }
}

static sampi_sampler sampi_set_last(const samp_params *p)
{
    if (p->mirostat == 1) return sampi_set_mirostat(p->n_vocab, p->seed, p->mirostat_tau, p->mirostat_eta, 100);
    if (p->mirostat == 2) return sampi_set_mirostat_v2(&SAMPI_MIROSTAT_V2, p->seed, p->mirostat_tau, p->mirostat_eta);
    if (p->adaptive_target >= 0.0f) return sampi_set_adaptive_p(p->adaptive_target, p->adaptive_decay, p->seed);
    if (p->temp == 0.0f) return sampi_blank(&SAMPI_GREEDY);
    return sampi_set_dist(p->seed);
}

/* All parameters, also those of samplers that this order leaves out. */
SAMP_API int samp_check_params(const samp_params *p, const char **field)
{
    sampi_sampler bad = sampi_blank(&SAMPI_CHAIN);
    bool letters;
    sampi_require(&bad, p != NULL, SAMP_E_NULL, "params");
    sampi_require(&bad, !p || (p->n_ctx_train >= 0 && p->n_ctx_train <= SAMPI_MAX_WINDOW), SAMP_E_RANGE,
                  "n_ctx_train");
    for (int i = 0; i < SAMPI_N_STEPS + 4 && !bad.status; i++) {
        sampi_sampler t = i < SAMPI_N_STEPS    ? sampi_set_step(p, i)
                          : i == SAMPI_N_STEPS ? sampi_set_logit_bias(p->n_vocab, p->n_logit_bias, p->logit_bias)
                          : i == SAMPI_N_STEPS + 1
                              ? sampi_set_adaptive_p(p->adaptive_target, p->adaptive_decay, p->seed)
                          : i == SAMPI_N_STEPS + 2
                              ? sampi_set_mirostat_v2(&SAMPI_MIROSTAT_V2, p->seed, p->mirostat_tau, p->mirostat_eta)
                              : sampi_set_last(p);
        sampi_require(&bad, !t.status, t.status, t.field);
    }
    if (!bad.status) {
        const char *order = sampi_order_of(p, &letters);
        for (int step = 0; step != SAMPI_STEP_END && !bad.status;) {
            step = sampi_next_step(&order, letters);
            sampi_require(&bad, step != SAMPI_STEP_BAD, SAMP_E_RANGE, "order");
        }
        sampi_require(&bad, p->mirostat >= 0 && p->mirostat <= 2, SAMP_E_RANGE, "mirostat");
        sampi_require(&bad, p->n_vocab >= 0, SAMP_E_RANGE, "n_vocab");
        sampi_require(&bad, p->rng == SAMP_RNG_PHILOX || p->rng == SAMP_RNG_MT19937, SAMP_E_RANGE, "rng");
    }
    if (field) *field = bad.field;
    return bad.status;
}

SAMP_API samp_sampler *samp_chain_from_params(const samp_params *p, int *status)
{
    samp_sampler *chain = samp_chain_init();
    sampi_sampler *c = (sampi_sampler *)chain;
    bool letters;
    int bad = chain ? SAMP_OK : SAMP_E_NOMEM;
    if (chain) c->status = bad = samp_check_params(p, &c->field);
    if (!bad) {
        const char *order = sampi_order_of(p, &letters);
        c->rng = p->rng;
        bad = samp_chain_add(chain, sampi_init(sampi_set_logit_bias(p->n_vocab, p->n_logit_bias, p->logit_bias)));
        if (p->mirostat && !bad)
            bad = samp_chain_add(chain, sampi_init(sampi_set_temp_ext(&SAMPI_TEMP, p->temp, 0.0f, 1.0f)));
        for (int step; !p->mirostat && !bad && (step = sampi_next_step(&order, letters)) != SAMPI_STEP_END;)
            bad = samp_chain_add(chain, sampi_init(sampi_set_step(p, step)));
        if (!bad) bad = samp_chain_add(chain, sampi_init(sampi_set_last(p)));
        if (bad) { /* parameters were good, so memory it is */
            samp_free(chain);
            chain = NULL;
            bad = SAMP_E_NOMEM;
        }
    }
    if (status) *status = bad;
    return chain;
}

/* =================================================================================================== >>chain
   Applying, accepting, copying: one sampler or many. */

/* Does an apply use random numbers, so that the position moves? */
static bool sampi_draws(const sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (sampi_draws(s->u.chain.item[i])) return true;
    return s->kind->draws && !s->off;
}

static void sampi_save_state(sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_save_state(s->u.chain.item[i]);
    if (s->kind->draws && s->part_size[0]) s->now.drawn = sampi_mt_of(s)->drawn;
    s->before = s->now;
}

static void sampi_restore_state(sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_restore_state(s->u.chain.item[i]);
    s->now = s->before;
    if (!s->kind->draws || !s->part_size[0] || sampi_mt_of(s)->drawn == s->now.drawn) return;
    sampi_mt_seed(sampi_mt_of(s), (uint32_t)s->seed); /* rare, so the way back may be long */
    while (sampi_mt_of(s)->drawn < s->now.drawn) sampi_mt_next(sampi_mt_of(s));
}

/* Apply s as part of the draw number `position`; ordinal [kind] counts the samplers that have drawn in it so far. */
static int sampi_run(sampi_sampler *s, samp_token_data_array *cur, uint64_t position, uint32_t *ordinal)
{
    int status = samp_status(&s->base, NULL);
    if (status) return status;
    if (sampi_is_custom(s)) return s->base.iface->apply(&s->base, cur);
    if (sampi_is_chain(s)) {
        for (int32_t i = 0; i < s->u.chain.n && !status; i++)
            status = sampi_run(s->u.chain.item[i], cur, position, ordinal);
        return status;
    }
    if ((status = sampi_check(cur)) || s->off) return status;
    s->at_position = position;
    s->at_ordinal = ordinal[s->kind->draws]++;
    if (s->rng == SAMP_RNG_PHILOX) return s->kind->apply(s, cur);
    int before = errno; /* libm's functions set it on underflow */
    status = s->kind->apply_llama(s, cur);
    errno = before;
    return status;
}

/* Is what was selected a token? */
static int sampi_check_selected(const samp_token_data_array *cur)
{
    if (cur->selected < 0 || (size_t)cur->selected >= cur->size) return SAMP_E_UNSUPPORTED;
    return cur->data[cur->selected].logit >= -FLT_MAX ? SAMP_OK : SAMP_E_EMPTY;
}

/* The end of a draw: the position moves on, or after an error the state is what it was. */
static int sampi_end_draw(sampi_sampler *s, int status)
{
    if (status)
        sampi_restore_state(s);
    else if (sampi_draws(s))
        s->position++;
    return status;
}

/* One whole apply: all of it, or nothing of the samplers' state. */
static int sampi_apply(sampi_sampler *s, samp_token_data_array *cur, bool must_select)
{
    uint32_t ordinal[SAMPI_DRAW_KINDS] = { 0 };
    sampi_save_state(s);
    int status = sampi_run(s, cur, s->position, ordinal);
    return sampi_end_draw(s, !status && must_select ? sampi_check_selected(cur) : status);
}

SAMP_API int samp_apply(samp_sampler *s, samp_token_data_array *cur)
{
    int status = s && cur ? samp_status(s, NULL) : SAMP_E_NULL;
    if (!status) status = sampi_check(cur);
    if (status) return status;
    sampi_edited((sampi_sampler *)s);
    return sampi_apply((sampi_sampler *)s, cur, false);
}

/* Custom samplers are told first: only they can refuse, and then the built-in ones have not changed. */
static int sampi_accept(sampi_sampler *s, samp_token token, bool custom)
{
    int status = SAMP_OK;
    if (sampi_is_custom(s) && custom && s->base.iface->accept) status = s->base.iface->accept(&s->base, token);
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n && !status; i++)
        status = sampi_accept(s->u.chain.item[i], token, custom);
    if (custom || sampi_is_custom(s)) return status;
    if (sampi_is_chain(s)) sampi_ring_push(&s->u.chain.ring, s->u.chain.prev, token);
    if (s->kind->accept && !s->off) s->kind->accept(s, token);
    return SAMP_OK;
}

SAMP_API int samp_accept(samp_sampler *sampler, samp_token token)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s) return SAMP_E_NULL;
    if (token < 0) return SAMP_E_RANGE;
    int status = samp_status(sampler, NULL);
    sampi_edited(s);
    if (!status) status = sampi_accept(s, token, true);
    if (!status) status = sampi_accept(s, token, false);
    s->perf.n_accept += !status;
    return status;
}

SAMP_API const char *samp_name(const samp_sampler *s)
{
    if (!s) return "";
    const sampi_sampler *t = (const sampi_sampler *)s;
    return s->iface != sampi_builtin() && s->iface->name ? s->iface->name(s) : t->kind->name;
}

SAMP_API void samp_reset(samp_sampler *sampler)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s || s->status) return;
    sampi_edited(s);
    if (sampi_is_custom(s) && s->base.iface->reset) s->base.iface->reset(sampler);
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) samp_reset(&s->u.chain.item[i]->base);
    if (sampi_is_chain(s)) s->u.chain.ring.size = s->u.chain.ring.head = 0;
    sampi_reset_state(s);
    samp_perf_reset(sampler);
}

SAMP_API void samp_free(samp_sampler *sampler)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s) return;
    if (s->base.iface->free) s->base.iface->free(sampler);
    if (sampi_is_chain(s)) {
        for (int32_t i = 0; i < s->u.chain.n; i++) samp_free(&s->u.chain.item[i]->base);
        SAMP_FREE(s->u.chain.item);
        SAMP_FREE(s->u.chain.prev);
    }
    SAMP_FREE(s->work.block);
    SAMP_FREE(s);
}

/* Samplers outside of chains are called through these, so that iface is never NULL. */
static const samp_sampler_i *sampi_builtin(void)
{
    static const samp_sampler_i iface = { samp_name, samp_accept, samp_apply, samp_reset, samp_clone, NULL, NULL };
    return &iface;
}

/* ---- the chain itself ---- */

SAMP_API samp_sampler *samp_chain_init(void)
{
    sampi_sampler t = sampi_blank(&SAMPI_CHAIN);
    samp_sampler *chain = sampi_new(&t);
    if (chain && samp_set_n_prev(chain, 64) != SAMP_OK) {
        samp_free(chain);
        return NULL;
    }
    return chain;
}

static int sampi_chain_error(sampi_sampler *c, int status, const char *field)
{
    if (!c->status) c->status = status, c->field = field;
    return status;
}

/* Put s at the end, as it is; frees it if there is no memory. */
static int sampi_chain_push(sampi_sampler *c, sampi_sampler *s)
{
    if (c->u.chain.n == c->u.chain.cap) {
        int32_t cap = c->u.chain.cap ? 2 * c->u.chain.cap : 16;
        sampi_sampler **item = (sampi_sampler **)SAMP_MALLOC((size_t)cap * sizeof *item);
        if (!item) {
            samp_free(&s->base);
            return sampi_chain_error(c, SAMP_E_NOMEM, "sampler");
        }
        if (c->u.chain.n) memcpy(item, c->u.chain.item, (size_t)c->u.chain.n * sizeof *item);
        SAMP_FREE(c->u.chain.item);
        c->u.chain.item = item;
        c->u.chain.cap = cap;
    }
    c->u.chain.item[c->u.chain.n++] = s;
    s->owner = c;
    return SAMP_OK;
}

SAMP_API int samp_chain_add(samp_sampler *chain, samp_sampler *sampler)
{
    sampi_sampler *c = (sampi_sampler *)chain, *s = (sampi_sampler *)sampler;
    if (!c || !sampi_is_chain(c)) {
        if (sampler != chain && s && !s->owner) samp_free(sampler);
        return c ? SAMP_E_RANGE : SAMP_E_NULL;
    }
    for (const sampi_sampler *o = c; s && o; o = o->owner)
        if (o == s || s->owner) return SAMP_E_RANGE;
    sampi_edited(c);
    if (!s) return sampi_chain_error(c, SAMP_E_NULL, "sampler");
    sampi_edited(s);
    int status = sampi_chain_push(c, s);
    if (status) return status;
    if (s->rng != c->rng) samp_set_rng(sampler, c->rng);
    return samp_status(sampler, NULL);
}

SAMP_API samp_sampler *samp_chain_get(const samp_sampler *chain, int32_t i)
{
    const sampi_sampler *c = (const sampi_sampler *)chain;
    return c && sampi_is_chain(c) && i >= 0 && i < c->u.chain.n ? &c->u.chain.item[i]->base : NULL;
}

SAMP_API int32_t samp_chain_n(const samp_sampler *chain)
{
    const sampi_sampler *c = (const sampi_sampler *)chain;
    return c && sampi_is_chain(c) ? c->u.chain.n : 0;
}

SAMP_API samp_sampler *samp_chain_remove(samp_sampler *chain, int32_t i)
{
    sampi_sampler *c = (sampi_sampler *)chain;
    samp_sampler *s = samp_chain_get(chain, i);
    if (!s) return NULL;
    sampi_edited((sampi_sampler *)s);
    ((sampi_sampler *)s)->owner = NULL;
    c->u.chain.n--;
    memmove(&c->u.chain.item[i], &c->u.chain.item[i + 1], (size_t)(c->u.chain.n - i) * sizeof *c->u.chain.item);
    return s;
}

/* ---- other parameters for a chain that is at work ---- */

/* The sampler number `nth` of its kind in a chain, or NULL. */
static sampi_sampler *sampi_find_kind(const sampi_sampler *c, const sampi_kind *kind, int nth)
{
    for (int32_t i = 0; i < c->u.chain.n; i++)
        if (c->u.chain.item[i]->kind == kind && nth-- == 0) return c->u.chain.item[i];
    return NULL;
}

static const sampi_ring *sampi_window_of(const sampi_sampler *s)
{
    return s->kind == &SAMPI_PENALTIES ? &s->u.penalties.ring : s->kind == &SAMPI_DRY ? &s->u.dry.ring : NULL;
}

/* s takes over what `old`, the same sampler with other parameters, has learnt; it may be NULL, or off. */
static void sampi_take_over(sampi_sampler *s, const sampi_sampler *old, const sampi_sampler *chain)
{
    bool has = old && !old->off;
    if (sampi_window_of(s) && !s->off) {
        const sampi_ring *ring = has ? sampi_window_of(old) : &chain->u.chain.ring;
        const samp_token *token = has ? (const samp_token *)sampi_part(old, 0) : chain->u.chain.prev;
        for (uint32_t back = ring->size; back-- > 0;) s->kind->accept(s, sampi_ring_at(ring, token, back));
    }
    if (!has) return;
    if (s->kind == &SAMPI_MIROSTAT || s->kind == &SAMPI_MIROSTAT_V2 || s->kind == &SAMPI_ADAPTIVE_P)
        s->now = old->now;
    if (s->kind == &SAMPI_ADAPTIVE_P) {
        s->u.adaptive.sum = old->u.adaptive.sum;
        s->u.adaptive.total = old->u.adaptive.total;
    }
    if (s->kind->draws && s->part_size[0] && s->rng == old->rng && s->seed == old->seed) {
        *sampi_mt_of(s) = *sampi_mt_of(old);
        s->now.drawn = old->now.drawn;
    }
}

SAMP_API int samp_chain_update(samp_sampler *chain, const samp_params *params)
{
    sampi_sampler *c = (sampi_sampler *)chain;
    int status = chain && params ? samp_status(chain, NULL) : SAMP_E_NULL;
    if (!status && !sampi_is_chain(c)) status = SAMP_E_RANGE;
    if (status) return status;
    sampi_sampler *fresh = (sampi_sampler *)samp_chain_from_params(params, &status);
    for (int32_t i = 0; !status && i < fresh->u.chain.n; i++) {
        sampi_sampler *s = fresh->u.chain.item[i];
        int nth = 0;
        for (int32_t k = 0; k < i; k++) nth += fresh->u.chain.item[k]->kind == s->kind;
        sampi_take_over(s, sampi_find_kind(c, s->kind, nth), c);
    }
    if (!status) {
        sampi_chain old = c->u.chain;
        c->u.chain.item = fresh->u.chain.item;
        c->u.chain.n = fresh->u.chain.n;
        c->u.chain.cap = fresh->u.chain.cap;
        c->rng = fresh->rng;
        fresh->u.chain.item = old.item;
        fresh->u.chain.n = old.n;
        for (int32_t i = 0; i < c->u.chain.n; i++) c->u.chain.item[i]->owner = c;
        sampi_edited(c);
    }
    samp_free(fresh ? &fresh->base : NULL);
    return status;
}

SAMP_API int samp_batch_from_params(samp_sampler **rows, const samp_params *params, size_t n_rows, int *status)
{
    int first = n_rows && (!rows || !params) ? SAMP_E_NULL : SAMP_OK;
    for (size_t r = 0; r < n_rows && rows && params; r++) {
        int bad = SAMP_OK;
        if (rows[r]) {
            bad = samp_chain_update(rows[r], &params[r]);
        } else {
            samp_sampler *chain = samp_chain_from_params(&params[r], &bad);
            if (bad) samp_free(chain);
            if (!bad) rows[r] = chain;
        }
        if (status) status[r] = bad;
        if (!first) first = bad;
    }
    return first;
}

/* ---- copying ---- */

static samp_sampler *sampi_clone_custom(const sampi_sampler *s)
{
    const samp_sampler_i *iface = s->base.iface;
    sampi_sampler t = sampi_blank(&SAMPI_CUSTOM);
    if (!s->status && iface->clone) return iface->clone(&s->base);
    sampi_require(&t, !s->status, s->status, s->field);
    sampi_require(&t, !s->base.ctx, SAMP_E_UNSUPPORTED, "clone");
    if (!t.status) t.base.iface = iface;
    return sampi_new(&t);
}

static samp_sampler *sampi_clone_chain(const sampi_sampler *s)
{
    sampi_sampler *c = (sampi_sampler *)samp_chain_init();
    bool good = c && samp_set_n_prev(&c->base, s->u.chain.ring.cap) == SAMP_OK;
    for (int32_t i = 0; good && i < s->u.chain.n; i++) {
        sampi_sampler *item = (sampi_sampler *)samp_clone(&s->u.chain.item[i]->base);
        good = item && sampi_chain_push(c, item) == SAMP_OK;
    }
    if (!good) {
        samp_free(c ? &c->base : NULL);
        return NULL;
    }
    memcpy(c->u.chain.prev, s->u.chain.prev, s->u.chain.ring.cap * sizeof(samp_token));
    c->u.chain.ring = s->u.chain.ring;
    c->rng = s->rng;
    c->status = s->status;
    c->field = s->field;
    c->position = s->position;
    c->perf = s->perf;
    return &c->base;
}

SAMP_API samp_sampler *samp_clone(const samp_sampler *sampler)
{
    const sampi_sampler *s = (const sampi_sampler *)sampler;
    if (!s) return NULL;
    if (sampi_is_custom(s)) return sampi_clone_custom(s);
    if (sampi_is_chain(s)) return sampi_clone_chain(s);
    size_t size = s->part[3] + sampi_round_up(s->part_size[3]);
    sampi_sampler *c = (sampi_sampler *)SAMP_MALLOC(size);
    if (!c) return NULL;
    memcpy(c, s, size);
    c->base.ctx = c;
    memset(&c->work, 0, sizeof c->work);
    c->draft = NULL;
    c->owner = NULL;
    c->serial = sampi_next_serial();
    return &c->base;
}

SAMP_API int samp_status(const samp_sampler *sampler, const char **field)
{
    const sampi_sampler *s = (const sampi_sampler *)sampler;
    int status = s ? s->status : SAMP_E_NULL;
    if (field) *field = s ? s->field : NULL;
    for (int32_t i = 0; !status && sampi_is_chain(s) && i < s->u.chain.n; i++)
        status = samp_status(&s->u.chain.item[i]->base, field);
    return status;
}

SAMP_API int samp_set_rng(samp_sampler *sampler, samp_rng_kind kind)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s) return SAMP_E_NULL;
    if (kind != SAMP_RNG_PHILOX && kind != SAMP_RNG_MT19937) return SAMP_E_RANGE;
    sampi_edited(s);
    s->rng = kind;
    s->position = 0;
    sampi_seed(s);
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) samp_set_rng(&s->u.chain.item[i]->base, kind);
    return SAMP_OK;
}

SAMP_API uint64_t samp_get_seed(const samp_sampler *sampler)
{
    const sampi_sampler *s = (const sampi_sampler *)sampler;
    if (!s) return 0;
    for (int32_t i = sampi_is_chain(s) ? s->u.chain.n : 0; i-- > 0;)
        if (sampi_draws(s->u.chain.item[i])) return samp_get_seed(&s->u.chain.item[i]->base);
    return s->seed;
}

SAMP_API uint64_t samp_get_position(const samp_sampler *s) { return s ? ((const sampi_sampler *)s)->position : 0; }

SAMP_API int samp_set_position(samp_sampler *s, uint64_t position)
{
    if (!s) return SAMP_E_NULL;
    sampi_edited((sampi_sampler *)s);
    ((sampi_sampler *)s)->position = position;
    return SAMP_OK;
}

SAMP_API size_t samp_prev(const samp_sampler *chain, samp_token *out, size_t n)
{
    const sampi_sampler *c = (const sampi_sampler *)chain;
    if (!c || !sampi_is_chain(c) || !out) return 0;
    if (n > c->u.chain.ring.size) n = c->u.chain.ring.size;
    for (size_t i = 0; i < n; i++) out[i] = sampi_ring_at(&c->u.chain.ring, c->u.chain.prev, (uint32_t)(n - 1 - i));
    return n;
}

SAMP_API samp_token samp_last(const samp_sampler *chain)
{
    samp_token last;
    if (!chain) return SAMP_E_NULL;
    return samp_prev(chain, &last, 1) ? last : SAMP_E_EMPTY;
}

SAMP_API int samp_set_n_prev(samp_sampler *chain, size_t n)
{
    sampi_sampler *c = (sampi_sampler *)chain;
    if (!c) return SAMP_E_NULL;
    if (!sampi_is_chain(c) || n > (size_t)1 << 20) return SAMP_E_RANGE;
    samp_token *prev = (samp_token *)SAMP_MALLOC((n ? n : 1) * sizeof *prev);
    if (!prev) return SAMP_E_NOMEM;
    memset(prev, 0, (n ? n : 1) * sizeof *prev);
    SAMP_FREE(c->u.chain.prev);
    c->u.chain.prev = prev;
    c->u.chain.ring.cap = (uint32_t)n;
    c->u.chain.ring.size = c->u.chain.ring.head = 0;
    return SAMP_OK;
}

SAMP_API samp_perf_data samp_perf(const samp_sampler *s)
{
    samp_perf_data none = { 0, 0, 0, 0, 0 };
    return s ? ((const sampi_sampler *)s)->perf : none;
}

SAMP_API void samp_perf_reset(samp_sampler *s)
{
    if (s) memset(&((sampi_sampler *)s)->perf, 0, sizeof(samp_perf_data));
}

/* ==================================================================================================== >>fast
   From logits to the token without the array. The row stays where it is for as long as possible ("dense"); the first
   sampler that leaves few tokens copies these, ids ascending, to the workspace ("compact"), where the next ones work
   on. What a sampler does not do here is left to the samplers above: the row becomes an array and goes on step by step.

   The result is that of the steps, always. Thresholds come from the same integers and doubles. Where a sum over the
   whole row is needed, sweep estimates it; the estimate decides only if both ends of its error bound give the same
   answer, and else the exact sum is taken. */

typedef struct sampi_row {
    const sampi_kernels *k;
    sampi_work *work;
    samp_perf_data *perf;
    const float *x;       /* [n] the logits are x * r; NULL for a dense row of another dtype, or with a mask: */
    const void *data;     /* [n] the elements as given; */
    const uint32_t *mask; /* their mask or NULL, */
    samp_dtype dtype;     /* and their dtype */
    const int32_t *id;    /* [n] or NULL: dense, id = index */
    size_t n;
    float r;         /* 1 in a compact row */
    float top;       /* the maximum of x, changes aside */
    float floor;     /* dense only: what lies below counts as masked; -FLT_MAX if nothing does */
    bool scanned;    /* top, and of a dense row the lines' maxima, are known */
    size_t n_change; /* dense only: elements of x that have another value, by id */
} sampi_row;

#define SAMPI_DECLINED 1    /* "not here": go on step by step */
#define SAMPI_CHANGES  1024 /* more changed logits than that go step by step */
#define SAMPI_SMALL    4096 /* rows up to this length are summed exactly at once */

/* Floats as integers in the same order. */
static int32_t sampi_key(float x)
{
    int32_t i;
    memcpy(&i, &x, 4);
    return i >= 0 ? i : (int32_t)(0x80000000u - (uint32_t)i);
}

static float sampi_unkey(int32_t key)
{
    int32_t i = key >= 0 ? key : (int32_t)(0x80000000u - (uint32_t)key);
    float x;
    memcpy(&x, &i, 4);
    return x;
}

static int32_t sampi_middle(int32_t lo, int32_t hi) { return (int32_t)(((int64_t)lo + hi) >> 1); }

static float sampi_next_up(float x) { return sampi_unkey(sampi_key(x) + 1); }
static float sampi_next_down(float x) { return sampi_unkey(sampi_key(x) - 1); }

/* The smallest float that is at least t. */
static float sampi_float_up(double t)
{
    if (t <= -(double)FLT_MAX) return -FLT_MAX;
    float f = (float)t;
    return (double)f < t ? sampi_next_up(f) : f;
}

/* The smallest x with x * r >= l: where a threshold on logits lies in a dense row. */
static float sampi_unscale(float l, float r)
{
    if (r == 1.0f || l <= -FLT_MAX) return l;
    int64_t lo = (int64_t)sampi_key(-FLT_MAX) - 1, hi = sampi_key(INFINITY),
            quotient = sampi_key(sampi_finite(l / r));
    for (int64_t step = 2; step < 1 << 30; step *= 4) { /* the rounded quotient is nearly always next to it */
        int64_t below = quotient - step, above = quotient + step;
        if (below > lo && sampi_unkey((int32_t)below) * r < l) lo = below;
        if (above < hi && sampi_unkey((int32_t)above) * r >= l) hi = above;
    }
    while (hi - lo > 1) {
        int64_t mid = (lo + hi) / 2;
        if (sampi_unkey((int32_t)mid) * r >= l)
            hi = mid;
        else
            lo = mid;
    }
    return sampi_unkey((int32_t)hi);
}

static sampi_change *sampi_changes(const sampi_row *row) { return row->work->change; }

/* Where the change of this token is, or belongs. */
static size_t sampi_change_at(const sampi_row *row, samp_token id)
{
    return sampi_find_token(sampi_changes(row), sizeof(sampi_change), row->n_change, id);
}

static float sampi_logit_at(const sampi_row *row, float x) { return sampi_masked(x) ? x : sampi_finite(x * row->r); }

/* NaN, +infinity, all masked: what every sampler checks first. */
static int sampi_max_status(float top)
{
    if (!(top <= FLT_MAX)) return SAMP_E_NAN;
    return top >= -FLT_MAX ? SAMP_OK : SAMP_E_EMPTY;
}

static int sampi_scan(sampi_row *row)
{
    if (row->scanned) return SAMP_OK;
    row->top = row->id ? row->k->maxima(row->x, SAMP_F32, NULL, row->n, row->work->scratch)
                       : row->k->maxima(row->data, row->dtype, row->mask, row->n, row->work->line);
    row->scanned = true;
    return sampi_max_status(row->top);
}

/* Tokens of a row on their own, in its place or behind it. id may be NULL, for a dense row of floats. */
static sampi_row sampi_compact_row(const sampi_row *row, const float *x, const int32_t *id, size_t n)
{
    sampi_row c = { row->k, row->work, row->perf, x, x, NULL, SAMP_F32, id, n, 1.0f, 0.0f, -FLT_MAX, false, 0 };
    return c;
}

/* x [i] of a dense row, changes aside. */
static float sampi_at(const sampi_row *row, size_t i)
{
    return row->x ? row->x[i] : sampi_element(row->data, row->dtype, row->mask, i);
}

/* ---- finding thresholds ---- */

/* A value that at least `need` of f [n] reach, and not many more do; -FLT_MAX if fewer are unmasked. top = the
   maximum of f. exact: the largest such value. */
static float sampi_threshold(const sampi_kernels *k, const float *f, size_t n, size_t need, float top, bool exact)
{
    const int32_t least = sampi_key(-FLT_MAX);
    int32_t high = sampi_key(top) + 1, low = high - 1, step = 1 << 16; /* count (high) < need */
    size_t count = k->count(f, n, top), enough = exact ? need : need + need / 4 + 4;
    while (count < need) {
        if (low == least) return -FLT_MAX;
        high = low;
        low = (int64_t)low - least > step ? low - step : least;
        step = step < 1 << 28 ? step * 2 : step;
        count = k->count(f, n, sampi_unkey(low));
    }
    while ((int64_t)high - low > 1 && (exact || count > enough)) {
        int32_t mid = sampi_middle(low, high);
        size_t c = k->count(f, n, sampi_unkey(mid));
        if (c >= need)
            low = mid, count = c;
        else
            high = mid;
    }
    return sampi_unkey(low);
}

/* A threshold on x that at least `need` tokens of a dense row reach, changes counted out: from the maxima of
   lines. */
static float sampi_row_bound(const sampi_row *row, size_t need)
{
    float *line = row->work->line, *f = row->work->scratch;
    size_t n = 16 * ((row->n + SAMPI_TILE - 1) / SAMPI_TILE), m = 64;
    if (need >= row->n) return -FLT_MAX;
    if (need == 1 && row->n_change == 0) return row->top;
    need += row->n_change;
    while (m < 4 * need) m *= 2;
    if (m >= n) return sampi_threshold(row->k, line, n, need, row->top, false);
    while (n % m) line[n++] = -INFINITY;
    row->k->fold(line, n, f, m);
    return sampi_threshold(row->k, f, m, need, row->top, false);
}

/* ---- from dense to compact ---- */

/* Put the changed elements among the collected ones: m sorted by id -> how many. */
static size_t sampi_merge_changes(const sampi_row *row, size_t m, float least)
{
    const sampi_change *change = sampi_changes(row);
    float *x = row->work->x;
    int32_t *id = row->work->id;
    size_t kept = 0, c = 0, more = 0;
    for (size_t i = 0; i < m; i++) { /* out with their old values */
        while (c < row->n_change && change[c].id < id[i]) c++;
        if (c < row->n_change && change[c].id == id[i]) continue;
        x[kept] = x[i];
        id[kept++] = id[i];
    }
    for (c = 0; c < row->n_change; c++) more += change[c].x >= least;
    size_t to = m = kept + more;
    for (c = row->n_change; c > 0; c--) { /* in with the new ones, from the end */
        if (!(change[c - 1].x >= least)) continue;
        while (kept > 0 && id[kept - 1] > change[c - 1].id) {
            to--, kept--;
            x[to] = x[kept];
            id[to] = id[kept];
        }
        to--;
        x[to] = change[c - 1].x;
        id[to] = change[c - 1].id;
    }
    return m;
}

/* The kernel of this name for rows that are not floats: line by line. */
static size_t sampi_pick_row(const sampi_row *row, const int32_t *line, size_t n_lines, float least)
{
    sampi_work *work = row->work;
    float buf[SAMPI_LINE];
    size_t m = 0;
    for (size_t h = 0; h < n_lines; h++) {
        size_t at = (size_t)line[h] * SAMPI_LINE, len = row->n - at < SAMPI_LINE ? row->n - at : SAMPI_LINE;
        row->k->fetch(row->data, row->dtype, row->mask, at, len, buf);
        m += row->k->collect(buf, NULL, (int32_t)at, len, least, INFINITY, work->x + m, work->id + m);
    }
    return m;
}

/* Keep the tokens with x >= least (>= -FLT_MAX). Afterwards the row is compact. */
static void sampi_gather(sampi_row *row, float least)
{
    sampi_work *work = row->work;
    if (least < row->floor) least = row->floor;
    size_t m, lines = 16 * ((row->n + SAMPI_TILE - 1) / SAMPI_TILE);
    if (!row->id) (void)sampi_scan(row);
    if (row->id) {
        m = row->k->collect(row->x, row->id, 0, row->n, least, INFINITY, work->x, work->id);
    } else { /* only from lines whose maximum reaches it */
        float *max = (float *)(void *)work->w;
        int32_t *hit = (int32_t *)(void *)(max + lines + 16);
        size_t hits = row->k->collect(work->line, NULL, 0, lines, least, INFINITY, max, hit);
        if (row->x) {
            m = row->k->pick(row->x, row->n, hit, hits, least, work->x, work->id);
        } else {
            m = sampi_pick_row(row, hit, hits, least);
        }
    }
    if (row->n_change) m = sampi_merge_changes(row, m, least);
    if (row->r != 1.0f) row->k->scale(work->x, m, row->r, work->x);
    row->x = work->x;
    row->id = work->id;
    row->n = m;
    row->r = 1.0f;
    row->n_change = 0;
    row->floor = -FLT_MAX;
    row->scanned = false;
}

/* The same, but where many tokens stay they are not copied: the dense row gets a floor. */
static void sampi_raise_floor(sampi_row *row, float least)
{
    size_t lines = 16 * ((row->n + SAMPI_TILE - 1) / SAMPI_TILE);
    if (row->id || !row->scanned || row->k->count(row->work->line, lines, least) < lines / 8 + row->n_change)
        sampi_gather(row, least);
    else if (least > row->floor)
        row->floor = least;
}

/* The row's largest logit. */
static float sampi_row_max(sampi_row *row)
{
    if (row->n_change) {
        sampi_row best = *row; /* the workspace is free while the row is dense */
        sampi_gather(&best, sampi_row_bound(row, 1));
        if (best.n == 0 || sampi_scan(&best)) return -INFINITY;
        return best.top;
    }
    return sampi_logit_at(row, row->top);
}

/* Keep what is above `value` and, of what equals it, the smallest ids: `keep` tokens of a compact row. */
static void sampi_cut_at(sampi_row *row, float value, size_t keep)
{
    sampi_work *work = row->work;
    size_t m = row->k->collect(row->x, row->id, 0, row->n, value, INFINITY, work->x, work->id), over = m - keep,
           from = m;
    for (size_t left = over; left > 0; left -= work->x[from] == value) from--;
    size_t to = from;
    for (size_t i = from; i < m; i++) {
        if (work->x[i] == value) continue; /* one of the largest ids with this value */
        work->x[to] = work->x[i];
        work->id[to++] = work->id[i];
    }
    row->n = keep;
}

/* Keep the first `keep` in order of a compact row. */
static void sampi_cut(sampi_row *row, size_t keep)
{
    if (keep < row->n) sampi_cut_at(row, sampi_threshold(row->k, row->x, row->n, keep, row->top, true), keep);
}

/* The first `keep` in order, or all unmasked ones if there are fewer. */
static int sampi_keep_first(sampi_row *row, size_t keep)
{
    int status = sampi_scan(row);
    if (status) return status;
    if (!row->id) {
        float bound = sampi_row_bound(row, keep);
        sampi_gather(row, sampi_unscale(sampi_logit_at(row, bound), row->r));
        if (row->n == 0) return SAMP_E_EMPTY;
        if ((status = sampi_scan(row))) return status;
    }
    sampi_cut(row, keep);
    return SAMP_OK;
}

/* The next piece of a row as floats: where they are, all up to the next tile with a change; or a tile in buf, with its
   changes. */
static size_t sampi_piece(const sampi_row *row, size_t at, const float **piece, float *buf)
{
    const sampi_change *change = sampi_changes(row);
    size_t c = sampi_change_at(row, (samp_token)at), end = at + SAMPI_TILE < row->n ? at + SAMPI_TILE : row->n;
    if (row->x && (c == row->n_change || (size_t)change[c].id >= end)) {
        *piece = row->x + at;
        if (c == row->n_change || (size_t)change[c].id >= row->n) return row->n - at;
        return (size_t)change[c].id / SAMPI_TILE * SAMPI_TILE - at;
    }
    row->k->fetch(row->data, row->dtype, row->mask, at, end - at, buf);
    for (; c < row->n_change && (size_t)change[c].id < end; c++) buf[(size_t)change[c].id - at] = change[c].x;
    *piece = buf;
    return end - at;
}

/* How many elements x lie in [least, below). least = -INFINITY: masked ones too, which the kernels also have behind the
   end of a row. */
static size_t sampi_row_count(const sampi_row *row, float least, float below)
{
    size_t count = 0;
    float buf[SAMPI_TILE];
    const float *piece;
    for (size_t at = 0, len; at < row->n; at += len) {
        len = sampi_piece(row, at, &piece, buf);
        count += least >= -FLT_MAX ? row->k->count(piece, len, least) : len;
        if (below <= FLT_MAX) count -= row->k->count(piece, len, below);
    }
    return count;
}

/* A row as the array of its candidates. */
static samp_token_data_array sampi_row_array(const sampi_row *row)
{
    samp_token_data_array cur = { row->work->candidate, row->n, -1, false };
    float buf[SAMPI_TILE];
    const float *piece;
    for (size_t at = 0, len; at < row->n; at += len) {
        len = sampi_piece(row, at, &piece, buf);
        for (size_t i = 0; i < len; i++) {
            samp_token_data *d = &cur.data[at + i];
            d->id = row->id ? row->id[at + i] : (samp_token)(at + i);
            d->logit = sampi_logit_at(row, piece[i]) + 0.0f; /* -0 becomes +0 */
            d->p = 0.0f;
        }
    }
    return cur;
}

/* ---- sums ---- */

static sampi_sums sampi_row_sums(const sampi_row *row, float max, float least, bool with_s)
{
    sampi_sums sums = { max, 0, 0, 0, 0 };
    float buf[SAMPI_TILE];
    const float *piece;
    for (size_t at = 0, len; at < row->n; at += len) {
        len = sampi_piece(row, at, &piece, buf);
        row->k->sums(piece, len, row->r, max, least, with_s, &sums);
    }
    return sums;
}

/* What is known of the sums of a row: both ends, equal if exact. */
typedef struct sampi_range {
    float max;
    double z_lo, z_hi; /* Z in units of 2^-40 */
    double s_lo, s_hi;
    uint64_t z; /* exact, if is_exact */
    bool is_exact;
} sampi_range;

static sampi_range sampi_exact(const sampi_row *row, float max, bool with_s)
{
    sampi_sums sums = sampi_row_sums(row, max, row->floor, with_s);
    if (!row->id) row->perf->n_exact++; /* compact rows are short: no estimate was tried */
    sampi_range g = { max, (double)sums.z, (double)sums.z, (double)sums.s, (double)sums.s, sums.z, true };
    return g;
}

/* Estimate the sums of a dense row. */
static int sampi_estimate(sampi_row *row, sampi_range *g)
{
    double z = 0.0, s = 0.0;
    float buf[SAMPI_TILE];
    const float *piece;
    int status = sampi_scan(row);
    if (status) return status;
    g->max = sampi_row_max(row);
    if ((status = sampi_max_status(g->max))) return status;
    for (size_t at = 0, len; at < row->n; at += len) {
        double part_z, part_s;
        len = sampi_piece(row, at, &piece, buf);
        row->k->sweep(piece, len, row->r, g->max, &part_z, &part_s);
        z += part_z;
        s += part_s;
    }
    double off = SAMPI_SWEEP_ROUNDING + SAMPI_SWEEP_SLOPE * (s / z + 8.0);
    double z_err = z * off, s_err = (s + z) * 4.0 * off, unit = (double)SAMPI_ONE;
    g->z_lo = (z - z_err) * unit, g->z_hi = (z + z_err) * unit;
    g->s_lo = (s - s_err) * unit, g->s_hi = (s + s_err) * unit;
    /* weights are rounded to integers: up to half a unit each, and the maximum is one whole weight */
    double slack = (double)row->n + 1.0 + 1e-11 * g->z_hi;
    g->z_lo -= slack, g->z_hi += slack;
    g->s_lo -= 64.0 * slack, g->s_hi += 64.0 * slack;
    if (g->z_lo < (double)SAMPI_ONE) g->z_lo = (double)SAMPI_ONE;
    if (g->s_lo < 0.0) g->s_lo = 0.0;
    g->is_exact = false;
    return g->z_hi >= g->z_lo && g->z_hi < 1e19 ? SAMP_OK : SAMPI_DECLINED;
}

static uint64_t sampi_least_mass(const sampi_range *g, uint64_t share)
{
    return sampi_mass_of(share, g->is_exact ? g->z : (uint64_t)g->z_lo);
}
static uint64_t sampi_most_mass(const sampi_range *g, uint64_t share)
{
    return sampi_mass_of(share, g->is_exact ? g->z : (uint64_t)g->z_hi + 1);
}

/* The key of the largest value v with sum of w [i] over x [i] >= v at least need, or less than `fine` below it; that of
   -FLT_MAX if there is none. */
static int32_t sampi_mass_key(const sampi_kernels *k, const float *x, const uint64_t *w, size_t n, uint64_t need,
                              float top, int32_t fine)
{
    int32_t high = sampi_key(top) + 1, low = high, step = 1 << 16, least = sampi_key(-FLT_MAX);
    uint64_t mass = 0;
    while (mass < need && low != least) { /* mass (high) < need */
        high = low;
        low = (int64_t)low - least > step ? low - step : least;
        step = step < 1 << 28 ? step * 2 : step;
        mass = k->mass(x, w, n, sampi_unkey(low));
    }
    while ((int64_t)high - low > fine) {
        int32_t mid = sampi_middle(low, high);
        if (k->mass(x, w, n, sampi_unkey(mid)) >= need)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* The first prefix in order of a compact row that holds the mass `need`: how many tokens (0 if all of them hold
   less), and the value of its last one. */
static size_t sampi_prefix(const sampi_row *row, uint64_t *w, uint64_t need, float *value)
{
    const sampi_kernels *k = row->k;
    uint64_t z = k->mass(row->x, w, row->n, -FLT_MAX), each = 0;
    if (need == 0) need = 1;
    if (z < need) return 0;
    *value = sampi_unkey(sampi_mass_key(k, row->x, w, row->n, need, row->top, 1)) + 0.0f;
    float above = sampi_next_up(*value);
    uint64_t before = k->mass(row->x, w, row->n, above);
    for (size_t i = 0; i < row->n && each == 0; i++)
        if (row->x[i] == *value) each = w[i];
    return k->count(row->x, row->n, above) + (size_t)((need - before + each - 1) / each);
}

/* ---- the samplers ---- */

/* One more element with another value; sorted by id. */
static void sampi_change_to(sampi_row *row, samp_token id, float x)
{
    sampi_change *change = sampi_changes(row);
    size_t i = row->n_change;
    while (i > 0 && change[i - 1].id >= id) i--;
    if (i < row->n_change && change[i].id == id) {
        change[i].x = x;
        return;
    }
    memmove(&change[i + 1], &change[i], (row->n_change - i) * sizeof *change);
    change[i].id = id;
    change[i].x = x;
    row->n_change++;
}

/* The present value of a token, and where it stands in a compact row; false if it isn't there. */
static bool sampi_lookup(const sampi_row *row, samp_token id, float *x, size_t *at)
{
    size_t lo = 0, hi = row->n;
    if (!row->id) {
        const sampi_change *change = sampi_changes(row);
        if ((size_t)id >= row->n) return false;
        *x = sampi_at(row, (size_t)id) + 0.0f;
        lo = sampi_change_at(row, id);
        if (lo < row->n_change && change[lo].id == id) *x = change[lo].x;
        return true;
    }
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (row->id[mid] < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == row->n || row->id[lo] != id) return false;
    *x = row->x[lo];
    *at = lo;
    return true;
}

/* logit_bias, penalties, dry: a few tokens get another logit. */
static int sampi_fast_patch(sampi_row *row, sampi_sampler *s)
{
    const samp_logit_bias *bias = s->kind == &SAMPI_LOGIT_BIAS ? (const samp_logit_bias *)sampi_part(s, 0) : NULL;
    sampi_count *list = bias ? NULL : (sampi_count *)sampi_part(s, 1);
    size_t n = bias ? (size_t)s->u.bias.n : s->kind == &SAMPI_DRY ? sampi_dry_list(s, list) : s->u.penalties.n;
    bool banned = false;
    int status = row->id ? SAMP_OK : sampi_scan(row); /* of the row as it came: a change may hide a NaN */
    if (status) return status;
    if (row->r != 1.0f || (!row->id && row->n_change + n > SAMPI_CHANGES)) return SAMPI_DECLINED;
    for (size_t i = 0; i < n; i++) {
        samp_token id = bias ? bias[i].token : list[i].token;
        size_t at = 0;
        float l;
        if (!sampi_lookup(row, id, &l, &at) || sampi_masked(l)) continue;
        if (bias)
            l = sampi_bias_change(l, bias[i].bias);
        else
            l = s->kind == &SAMPI_DRY ? sampi_dry_change(s, l, &list[i]) : sampi_penalties_change(s, l, &list[i]);
        if (!row->id) {
            sampi_change_to(row, id, l);
            continue;
        }
        row->work->x[at] = l;
        row->scanned = false;
        banned |= sampi_masked(l);
    }
    if (banned) sampi_gather(row, -FLT_MAX); /* compact rows have no masked tokens */
    return row->n ? SAMP_OK : SAMP_E_EMPTY;
}

static int sampi_fast_top_k(sampi_row *row, sampi_sampler *s) { return sampi_keep_first(row, (size_t)s->u.top_k.k); }

/* Keep l >= least, but at least the first min_keep in order. */
static int sampi_fast_above(sampi_row *row, double least, size_t min_keep)
{
    float floor = sampi_float_up(least);
    sampi_row before = *row;
    if (row->id) {
        if (row->k->count(row->x, row->n, floor) < min_keep) return sampi_keep_first(row, min_keep);
        sampi_gather(row, floor);
        return SAMP_OK;
    }
    sampi_raise_floor(row, sampi_unscale(floor, row->r));
    if (!row->id && row->n / 128 >= min_keep) return SAMP_OK; /* at least so many lines reach it */
    if (!row->id) sampi_gather(row, -FLT_MAX);
    if (row->n >= min_keep) return SAMP_OK;
    *row = before;
    return sampi_keep_first(row, min_keep);
}

static int sampi_fast_min_p(sampi_row *row, sampi_sampler *s)
{
    int status = sampi_scan(row);
    if (status) return status;
    float max = sampi_row_max(row);
    if ((status = sampi_max_status(max))) return status;
    return sampi_fast_above(row, (double)max + sampi_ln(s->u.cut.p), s->u.cut.min_keep ? s->u.cut.min_keep : 1);
}

/* top_p on a compact row: all weights. */
static int sampi_top_p_compact(sampi_row *row, uint64_t share, size_t min_keep)
{
    uint64_t *w = row->work->w;
    float value;
    int status = sampi_scan(row);
    if (status) return status;
    row->k->weights(row->x, row->n, row->top, w);
    size_t keep = sampi_prefix(row, w, sampi_mass_of(share, row->k->mass(row->x, w, row->n, -FLT_MAX)), &value);
    if (keep < min_keep)
        sampi_cut(row, min_keep);
    else
        sampi_cut_at(row, value, keep);
    return SAMP_OK;
}

/* A long nucleus. A sample of the row tells between which values the mass left out ends; one exact pass gives Z and the
   mass above these, and only the tokens between them are looked at one by one. The row stays dense, with a floor. */
static int sampi_top_p_wide(sampi_row *row, const sampi_range *g, uint64_t share, size_t min_keep)
{
    const sampi_kernels *k = row->k;
    sampi_work *work = row->work;
    float buf[SAMPI_TILE], value = 0.0f;
    const float *piece;
    size_t m = 0;
    for (size_t i = 0; i < row->n; i += 32) work->x[m++] = sampi_logit_at(row, sampi_at(row, i));
    k->weights(work->x, m, g->max, work->w);
    uint64_t all = k->mass(work->x, work->w, m, -FLT_MAX), z = (uint64_t)g->z_lo;
    uint64_t out_of = (z - sampi_mulhi(share, z)) / 32, slack = out_of / 8; /* the noise of the sample */
    if (all <= out_of + slack) return SAMPI_DECLINED;
    float high = sampi_unkey(sampi_mass_key(k, work->x, work->w, m, all - out_of - slack, g->max, 1 << 12));
    float low = sampi_unkey(sampi_mass_key(k, work->x, work->w, m, all - out_of + slack, g->max, 1 << 12));
    high = sampi_unscale(high, row->r), low = sampi_unscale(low, row->r);

    sampi_sums sums = sampi_row_sums(row, g->max, high, false);
    uint64_t need = sampi_mass_of(share, sums.z);
    if (sums.above >= need) return SAMPI_DECLINED;
    m = 0;
    for (size_t at = 0, len; at < row->n; at += len) {
        len = sampi_piece(row, at, &piece, buf);
        m += k->collect(piece, NULL, (int32_t)at, len, low, high, work->x + m, work->id + m);
    }
    if (m == 0) return SAMPI_DECLINED;
    k->scale(work->x, m, row->r, work->x);
    k->weights(work->x, m, g->max, work->w);
    sampi_row band = sampi_compact_row(row, work->x, work->id, m);
    sampi_scan(&band);
    size_t keep = sampi_prefix(&band, work->w, need - sums.above, &value), more = 0, out = 0;
    if (keep == 0 || (min_keep > 1 && keep + sampi_row_count(row, high, INFINITY) < min_keep)) return SAMPI_DECLINED;
    keep -= k->count(work->x, m, sampi_next_up(value)); /* of those that equal it */
    for (size_t i = 0; i < m; i++) out += work->x[i] == value && more++ >= keep;
    if (row->n_change + out > SAMPI_CHANGES) return SAMPI_DECLINED;
    for (size_t i = m; i > 0 && out > 0; i--)
        if (work->x[i - 1] == value) sampi_change_to(row, work->id[i - 1], -INFINITY), out--;
    row->floor = sampi_unscale(value, row->r);
    return SAMP_OK;
}

static int sampi_fast_top_p(sampi_row *row, sampi_sampler *s)
{
    uint64_t share = sampi_share(s->u.cut.p), *w = row->work->w;
    size_t min_keep = s->u.cut.min_keep;
    sampi_range g;
    if (row->id) return sampi_top_p_compact(row, share, min_keep);
    int status = row->n > SAMPI_SMALL ? sampi_estimate(row, &g) : sampi_scan(row);
    if (status) return status;
    /* the perplexity tells how many tokens may be needed */
    double entropy = row->n > SAMPI_SMALL
                         ? (g.s_hi + g.s_lo) / (g.z_hi + g.z_lo) + sampi_ln(g.z_hi / (double)SAMPI_ONE)
                         : 30.0;
    double guess = 2.0 * sampi_exp2(sampi_round(entropy * SAMPI_LOG2E));
    size_t want = guess < 24.0 ? 24 : guess < (double)row->n ? (size_t)guess : row->n;
    for (; want < row->n / 64 && min_keep < want; want *= 4) {
        sampi_row head = *row;
        float value, other;
        sampi_gather(&head, sampi_unscale(sampi_logit_at(row, sampi_row_bound(row, want)), row->r));
        if (head.n == 0) return SAMP_E_EMPTY;
        sampi_scan(&head);
        head.k->weights(head.x, head.n, g.max, w);
        if (head.k->mass(head.x, w, head.n, -FLT_MAX) < sampi_most_mass(&g, share)) continue;
        size_t keep = sampi_prefix(&head, w, sampi_least_mass(&g, share), &value);
        if (!g.is_exact && keep != sampi_prefix(&head, w, sampi_most_mass(&g, share), &other)) {
            g = sampi_exact(row, g.max, false);
            keep = sampi_prefix(&head, w, sampi_least_mass(&g, share), &value);
        }
        *row = head;
        if (keep < min_keep)
            sampi_cut(row, min_keep);
        else
            sampi_cut_at(row, value, keep);
        return SAMP_OK;
    }
    if (row->n > SAMPI_SMALL && (status = sampi_top_p_wide(row, &g, share, min_keep)) != SAMPI_DECLINED)
        return status;
    sampi_gather(row, -FLT_MAX);
    return row->n ? sampi_top_p_compact(row, share, min_keep) : SAMP_E_EMPTY;
}

static int sampi_scale_row(sampi_row *row, float t)
{
    if (!(t >= SAMPI_TEMP_MIN)) return sampi_keep_first(row, 1);
    float r = 1.0f / t;
    if (row->id) {
        row->k->scale(row->x, row->n, r, row->work->x);
        if (row->scanned) row->top = sampi_finite(row->top * r);
        return SAMP_OK;
    }
    int status = row->r != 1.0f ? (int)SAMPI_DECLINED : sampi_scan(row);
    if (status) return status;
    float max = sampi_row_max(row);
    if ((status = sampi_max_status(max))) return status;
    /* where a token that counts may overflow, the product is clamped step by step */
    if (!(fabsf(max) < 1e37f && fabsf(max * r) < 1e37f)) return SAMPI_DECLINED;
    row->r = r;
    return SAMP_OK;
}

static int sampi_fast_temp(sampi_row *row, sampi_sampler *s) { return sampi_scale_row(row, s->u.temp.t); }

static int sampi_fast_temp_ext(sampi_row *row, sampi_sampler *s)
{
    if (!(s->u.temp.delta > 0.0f)) return sampi_scale_row(row, s->u.temp.t);
    if (row->floor > -FLT_MAX) sampi_gather(row, -FLT_MAX);
    int status = sampi_scan(row);
    if (status) return status;
    float max = sampi_row_max(row);
    if ((status = sampi_max_status(max))) return status;
    sampi_sums sums = sampi_row_sums(row, max, row->floor,
                                     true); /* T is a float of the entropy: no estimate will do */
    return sums.n > 1 ? sampi_scale_row(row, sampi_temp_of(s, &sums)) : SAMP_OK;
}

/* Keep l >= the threshold, which lies between lo and hi: false if a logit lies there too, and nothing has changed. */
static bool sampi_keep_between(sampi_row *row, double lo, double hi)
{
    const sampi_kernels *k = row->k;
    sampi_row before = *row;
    float least = sampi_unscale(sampi_float_up(lo), row->r), sure = sampi_unscale(sampi_float_up(hi), row->r);
    if (row->id && k->count(row->x, row->n, least) != k->count(row->x, row->n, sure)) return false;
    sampi_raise_floor(row, least);
    if (row->id) {
        if (k->count(row->x, row->n, sampi_float_up(hi)) == row->n) return true;
    } else if (least >= sure || sampi_row_count(row, least, sure) == 0) {
        return true;
    }
    *row = before;
    return false;
}

static int sampi_fast_top_n_sigma(sampi_row *row, sampi_sampler *s)
{
    double moment[3] = { 0.0, 0.0, 0.0 }, pivot = 0.0;
    float buf[SAMPI_TILE];
    const float *piece;
    int known = 0;
    if (row->r != 1.0f || row->n_change) sampi_gather(row, -FLT_MAX);
    if (row->n == 0) return SAMP_E_EMPTY;
    int status = sampi_scan(row);
    if (status) return status;
    for (size_t i = 0; i < row->n && known < 16; i += 1 + row->n / 16)
        if (fabsf(sampi_at(row, i)) <= FLT_MAX) pivot += (double)sampi_at(row, i), known++;
    if (known) pivot /= known;
    for (size_t at = 0, len; at < row->n; at += len) {
        double part[3];
        len = sampi_piece(row, at, &piece, buf);
        row->k->moments(piece, len, (float)pivot, part);
        for (int j = 0; j < 3; j++) moment[j] += part[j];
    }
    /* each f32 sum has at most 16 terms a lane, so its relative error is below 20 * 2^-24; see the sizes involved */
    double mean = moment[1] / moment[0], square = moment[2] / moment[0], error = 4e-6 * square;
    double variance = square - sampi_round(mean * mean), low = variance > error ? sqrt(variance - error) : 0.0;
    double high = sqrt((variance > 0.0 ? variance : 0.0) + error), slack = 1e-9 * sqrt(square) + 1e-30,
           n = s->u.sigma.n;
    if (!(square > 1e-24 && square < 1e30)) return SAMPI_DECLINED; /* floats may have over- or underflowed */
    high = sampi_round(n * (high + slack));
    low = low > slack ? sampi_round(n * (low - slack)) : 0.0;
    return sampi_keep_between(row, (double)row->top - high, (double)row->top - low) ? SAMP_OK : (int)SAMPI_DECLINED;
}

/* Its exact range for a compact row, else an estimate. Short rows become compact. */
static int sampi_range_of(sampi_row *row, sampi_range *g)
{
    if (!row->id && row->n > SAMPI_SMALL) return sampi_estimate(row, g);
    int status = sampi_scan(row);
    if (status) return status;
    if (!row->id) sampi_gather(row, -FLT_MAX);
    if (row->n == 0) return SAMP_E_EMPTY;
    if ((status = sampi_scan(row))) return status;
    *g = sampi_exact(row, row->top, true);
    return SAMP_OK;
}

static int sampi_fast_xtc(sampi_row *row, sampi_sampler *s)
{
    uint64_t random[2], share = sampi_share(s->u.xtc.t), *w = row->work->w;
    sampi_range g;
    if (row->n < 2) return SAMP_OK;
    sampi_random(s, 0, random);
    if (s->u.xtc.p < 1.0f && random[0] >= sampi_share(s->u.xtc.p)) return SAMP_OK;
    if (!(s->u.xtc.t > 1e-3f)) return SAMPI_DECLINED; /* thousands of tokens could reach it */
    int status = sampi_range_of(row, &g);
    if (status) return status;
    sampi_row head = *row; /* w >= t Z needs w >= t 2^40 */
    double reach = (double)g.max + sampi_ln(s->u.xtc.t) - 1e-6;
    if (!row->id) sampi_gather(&head, sampi_unscale(sampi_float_up(reach), row->r));
    head.k->weights(head.x, head.n, g.max, w);
    size_t above = 0, least = 0, unsure = 0;
    for (int pass = 0; pass < 2; pass++) {
        uint64_t lo = sampi_least_mass(&g, share), hi = sampi_most_mass(&g, share);
        above = unsure = 0;
        for (size_t i = 0; i < head.n; i++) {
            unsure += w[i] >= lo && w[i] < hi;
            if (w[i] < lo) continue;
            if (above++ == 0 || head.x[i] <= head.x[least]) least = i;
        }
        if (unsure == 0) break;
        g = sampi_exact(row, g.max, false);
    }
    if (above < 2) return SAMP_OK;
    if (!row->id && above + row->n_change > SAMPI_CHANGES) return SAMPI_DECLINED;
    size_t n = s->u.xtc.min_keep > 1 ? sampi_row_sums(row, g.max, row->floor, false).n : row->n;
    if (n - (above - 1) < s->u.xtc.min_keep) return SAMP_OK;
    uint64_t need = sampi_least_mass(&g, share);
    size_t kept = 0;
    for (size_t i = 0; i < head.n; i++) {
        bool out = w[i] >= need && i != least;
        if (!row->id && out) sampi_change_to(row, head.id[i], -INFINITY);
        if (!row->id || out) continue;
        row->work->x[kept] = row->x[i];
        row->work->id[kept++] = row->id[i];
    }
    if (row->id) row->n = kept, row->scanned = false;
    return SAMP_OK;
}

/* ---- typical: a selection by score, no sort ---- */

/* Put the first tokens of d [n] in the order o that hold the mass `need`, but at least `least` of them, to the front:
   how many; 0 if d does not hold as much. Quickselect, whose bad cases end in a sort. */
static size_t sampi_prefix_by(const sampi_order *o, samp_token_data *d, size_t n, uint64_t need, size_t least)
{
    size_t from = 0;
    for (int depth = 64; n - from > 16; depth--) {
        if (depth == 0) {
            sampi_heap_sort(o, d + from, n - from);
            break;
        }
        size_t m = from + sampi_partition(o, d + from, n - from);
        samp_token_data_array part = { d + from, m - from, -1, false };
        uint64_t mass = sampi_sum_to(&part, (float)o->max).z;
        if (mass >= need && m >= least) {
            n = m;
        } else {
            need -= mass < need ? mass : need;
            from = m;
        }
    }
    sampi_insertion_sort(o, d + from, n - from);
    for (size_t i = from; i < n; i++) {
        uint64_t w = sampi_weight((float)o->max, d[i].logit);
        need -= w < need ? w : need;
        if (need == 0 && i + 1 >= least) return i + 1;
    }
    return 0;
}

/* Where typical's cut is looked for. The score falls with the logit up to the mean, then rises, so the kept tokens are
   an interval of logits: none below `low`, all of [in_low, in_high) if that is not empty. The others are the band. */
typedef struct sampi_band {
    float low, in_low, in_high;
} sampi_band;

static sampi_band sampi_band_above(float low)
{
    sampi_band band = { low, INFINITY, INFINITY };
    return band;
}

/* The band's tokens in a compact row: logits and places (slack 16). Returns the mass of [in_low, in_high). */
static uint64_t sampi_band_tokens(const sampi_row *row, float max, const sampi_band *band, float *l, int32_t *place)
{
    const sampi_kernels *k = row->k;
    uint64_t w[SAMPI_TILE + 16], inner = 0;
    size_t n = 0;
    for (size_t i = 0, len; i < row->n; i += len) {
        const float *x = row->x + i;
        len = row->n - i < SAMPI_TILE ? row->n - i : SAMPI_TILE;
        k->weights(x, len, max, w);
        inner += k->mass(x, w, len, band->in_low) - k->mass(x, w, len, band->in_high);
        n += k->collect(x, NULL, (int32_t)i, len, band->low, band->in_low, l + n, place + n);
        n += k->collect(x, NULL, (int32_t)i, len, band->in_high, INFINITY, l + n, place + n);
    }
    return inner;
}

/* Logits to minus their scores, rounded to f32: so what is greater here comes first. */
static void sampi_scores(float *y, size_t n, const sampi_order *o)
{
    for (size_t i = 0; i < n; i++) {
        samp_token_data token = { 0, y[i], 0.0f };
        y[i] = -sampi_finite((float)sampi_typical_score(o, &token));
    }
}

/* A cut by score: y = minus the scores, w = the weights. */
typedef struct sampi_score_cut {
    float at;            /* the largest y that holds enough mass, and enough tokens, together with what is above it */
    uint64_t over, upto; /* the mass with y > at, with y >= at */
    size_t n_over, n_upto;
} sampi_score_cut;

static sampi_score_cut sampi_cut_scores(const sampi_kernels *k, const float *y, const uint64_t *w, size_t n,
                                        uint64_t need, size_t least)
{
    float by_mass = sampi_unkey(sampi_mass_key(k, y, w, n, need ? need : 1, 0.0f, 1));
    float by_count = least ? sampi_threshold(k, y, n, least, 0.0f, true) : 0.0f;
    float at = by_mass < by_count ? by_mass : by_count, above = sampi_next_up(at);
    sampi_score_cut cut = { at, k->mass(y, w, n, above), k->mass(y, w, n, at), k->count(y, n, above),
                            k->count(y, n, at) };
    return cut;
}

/* Remove from a compact row what is below `low`, what is behind the cut, and of the tokens at the cut all but the first
   that are needed. y [n] belongs to the tokens at place [n], or to the row; it and the weights are lost. */
static void sampi_typical_keep(sampi_row *row, const sampi_order *o, float *y, const int32_t *place, size_t n,
                               float cut, uint64_t need, size_t least, float low)
{
    sampi_work *work = row->work;
    float *score = (float *)(void *)work->w;
    int32_t *at = (int32_t *)(void *)(score + n + 16), *first = (int32_t *)(void *)work->w;
    samp_token_data *d = work->candidate;
    size_t c = 0;
    row->k->scale(y, n, -1.0f, y);
    n = row->k->collect(y, place, 0, n, -cut, INFINITY, score, at);
    for (size_t i = 0; i < n; i++) {
        if (score[i] > -cut)
            work->x[at[i]] = -INFINITY;
        else
            at[c++] = at[i];
    }
    memmove(first, at, c * sizeof *at);
    for (size_t i = c; i-- > 0;) { /* from the end: the array grows over the list */
        samp_token_data token = { first[i], row->x[first[i]] + 0.0f, 0.0f };
        d[i] = token;
    }
    for (size_t i = sampi_prefix_by(o, d, c, need, least); i < c; i++) work->x[d[i].id] = -INFINITY;
    row->n = row->k->collect(row->x, row->id, 0, row->n, low, INFINITY, work->x, work->id);
    row->scanned = false;
}

typedef enum sampi_found { SAMPI_FOUND, SAMPI_DOUBT, SAMPI_ELSEWHERE } sampi_found;

/* Keep the typical tokens of a compact row, if the cut lies in the band. If it lies elsewhere, or g is not exact and
   leaves a doubt, nothing has changed.
   An estimate of the mean moves each score by at most `off`: so the choice is sure if no other token comes as near to
   the last one as twice that, and this one is needed whatever Z is. */
static sampi_found sampi_typical_cut(sampi_row *row, const sampi_range *g, uint64_t share, size_t least,
                                     const sampi_band *band)
{
    const sampi_kernels *k = row->k;
    double mean_lo = g->s_lo / g->z_hi, mean_hi = g->s_hi / g->z_lo, inside = -1.0;
    sampi_order o = { sampi_typical_score, g->max, 0.5 * (mean_lo + mean_hi) };
    uint64_t need_lo = sampi_mulhi(share, g->is_exact ? g->z : (uint64_t)g->z_lo) + 1,
             need = sampi_mulhi(share, g->is_exact ? g->z : (uint64_t)g->z_hi + 1) + 1, inner = 0;
    bool whole = !(band->in_low < band->in_high);
    size_t n = row->n, n_inner = 0;
    if (!whole) {
        size_t over = k->count(row->x, n, band->in_high);
        n_inner = k->count(row->x, n, band->in_low) - over;
        n = k->count(row->x, n, band->low) - n_inner;
        if (n > row->n / 2) return SAMPI_ELSEWHERE; /* that is the room for it */
        inside = fabs(o.max - (double)band->in_low - o.mean);
        double other = fabs(o.max - (double)sampi_next_down(band->in_high) - o.mean);
        inside = inside > other ? inside : other;
    }
    uint64_t *w = row->work->w;
    float *y = (float *)(void *)(w + n + 16);
    int32_t *place = whole ? NULL : (int32_t *)(void *)(y + n + 16);
    if (whole)
        memcpy(y, row->x, n * sizeof *y);
    else
        inner = sampi_band_tokens(row, g->max, band, y, place);
    if (inner >= need && n_inner >= least) return SAMPI_ELSEWHERE;
    need = need > inner ? need - inner : 0;
    least = least > n_inner ? least - n_inner : 0;
    k->weights(y, n, g->max, w);
    sampi_scores(y, n, &o);
    sampi_score_cut cut = sampi_cut_scores(k, y, w, n, need, least);
    double last = -(double)cut.at, slack = 1e-7 * last + 1e-44; /* its score, and the rounding to f32 */
    double off = g->is_exact ? 0.0 : 0.5 * (mean_hi - mean_lo) + 1e-12 * mean_hi, apart = 2.0 * (off + slack);
    double below = o.max - (double)sampi_next_down(band->low) - o.mean; /* the least score among those */
    if (cut.upto < need || cut.n_upto < least) return SAMPI_ELSEWHERE;
    if (!(inside < last - slack && last + apart < below)) return SAMPI_ELSEWHERE;
    if (!g->is_exact && (cut.n_upto - cut.n_over != 1 || (cut.over >= need_lo && cut.n_upto != least) ||
                         k->count(y, n, sampi_float_up(-last - apart)) != cut.n_upto ||
                         k->count(y, n, sampi_float_up(-last + apart)) != cut.n_over))
        return SAMPI_DOUBT;
    sampi_typical_keep(row, &o, y, place, n, cut.at, need > cut.over ? need - cut.over : 0,
                       least > cut.n_over ? least - cut.n_over : 0, band->low);
    return SAMPI_FOUND;
}

/* A guess at the band of a long row: the scores of every 32nd token around the cut. The more tries, the wider. */
static sampi_band sampi_typical_guess(const sampi_row *row, const sampi_range *g, uint64_t share, size_t least,
                                      int tries)
{
    sampi_order o = { sampi_typical_score, g->max, g->s_lo / g->z_lo };
    sampi_band band = sampi_band_above(-FLT_MAX);
    size_t n = (row->n + 31) / 32, rank = least / 32, more = n >> (6 - 2 * tries);
    uint64_t *w = row->work->w;
    float *y = (float *)(void *)(w + n + 16);
    for (size_t i = 0; i < n; i++) y[i] = row->x[32 * i];
    row->k->weights(y, n, g->max, w);
    sampi_scores(y, n, &o);
    uint64_t all = row->k->mass(y, w, n, -FLT_MAX), part = sampi_mulhi(share, all), off = all >> (6 - 2 * tries);
    double far_end = -(double)sampi_cut_scores(row->k, y, w, n, part + off, rank ? rank + more : 0).at;
    double near_end =
        -(double)sampi_cut_scores(row->k, y, w, n, part > off ? part - off : 0, rank > more ? rank - more : 0).at;
    double slack = 1e-6 * (o.mean + near_end), middle = o.max - o.mean; /* what ties at the cut goes with it */
    if (!(near_end > slack)) return band;
    band.low = sampi_float_up(middle - far_end - slack);
    band.in_low = sampi_float_up(middle - near_end + slack);
    band.in_high = sampi_float_up(middle + near_end - slack);
    return band;
}

/* A row of which few tokens come near enough to the mean: those beyond twice the mean below the maximum are less
   typical than the maximum itself, and so on. */
static sampi_found sampi_typical_head(sampi_row *row, sampi_range *g, uint64_t share, size_t least)
{
    for (double reach = 1.0; reach <= 64.0; reach *= 2.0) {
        double mean = g->s_hi / g->z_lo;
        float low = sampi_float_up((double)g->max - (1.0 + reach) * mean - 1e-3);
        sampi_band band = sampi_band_above(low);
        sampi_row head = *row;
        sampi_gather(&head, sampi_unscale(low, row->r));
        if (head.n > 4 * SAMPI_SMALL) break;
        sampi_found found = sampi_typical_cut(&head, g, share, least, &band);
        if (found == SAMPI_DOUBT) {
            *g = sampi_exact(row, g->max, true);
            found = sampi_typical_cut(&head, g, share, least, &band);
        }
        if (found == SAMPI_FOUND) {
            *row = head;
            return found;
        }
    }
    return SAMPI_ELSEWHERE;
}

static int sampi_fast_typical(sampi_row *row, sampi_sampler *s)
{
    sampi_range g;
    uint64_t share = sampi_share(s->u.cut.p);
    size_t least = s->u.cut.min_keep;
    int status = sampi_scan(row); /* first, so that the estimate is sharp */
    if (!status) status = sampi_range_of(row, &g);
    if (status) return status;
    if (!row->id) {
        if (sampi_typical_head(row, &g, share, least) == SAMPI_FOUND) return SAMP_OK;
        if (!g.is_exact) g = sampi_exact(row, g.max, true);
        sampi_gather(row, -FLT_MAX);
    }
    if (least > row->n) least = row->n;
    for (int tries = 0;; tries++) {
        bool whole = tries == 3 || row->n <= 4 * SAMPI_SMALL;
        sampi_band band = whole ? sampi_band_above(-FLT_MAX) : sampi_typical_guess(row, &g, share, least, tries);
        if (sampi_typical_cut(row, &g, share, least, &band) == SAMPI_FOUND || whole) return SAMP_OK;
    }
}

/* ---- tail_free ---- */

/* The logits of a compact row, the largest first, behind its weights' place: a radix sort of their keys, 11 bits at a
   time. */
static float *sampi_sorted_logits(const sampi_row *row)
{
    size_t n = row->n;
    uint64_t *w = row->work->w;
    uint32_t *back = (uint32_t *)(void *)(w + n + 16), *from = (uint32_t *)(void *)w, *to = back, *swap;
    float *sorted = (float *)(void *)back;
    for (size_t i = 0; i < n; i++) from[i] = (uint32_t)INT32_MAX - (uint32_t)sampi_key(row->x[i]);
    for (int shift = 0; shift < 32; shift += 11, swap = from, from = to, to = swap) {
        uint32_t start[2049] = { 0 };
        for (size_t i = 0; i < n; i++) start[(from[i] >> shift & 2047) + 1]++;
        for (int digit = 1; digit < 2048; digit++) start[digit] += start[digit - 1];
        for (size_t i = 0; i < n; i++) to[start[from[i] >> shift & 2047]++] = from[i];
    }
    for (size_t i = 0; i < n; i++) sorted[i] = sampi_unkey((int32_t)((uint32_t)INT32_MAX - back[i]));
    return sorted;
}

/* Cut a compact row, of which `rest` tokens at most are missing, all of them below the others. false: these may matter,
   and nothing has changed.
   a_i = |d_i - d_i+1| with d_i = w_i - w_i+1, which is not negative. So those a_i that need a missing token, or are
   missing themselves, sum to at most the sum of d_i + d_i+1 over them, which is w_i + w_i+1 for the first of them less
   what the last ones are. (w may fail to be monotone by its rounding: one unit a token, four for each a_i.) */
static bool sampi_tail_cut(sampi_row *row, const sampi_sampler *s, float max, size_t rest)
{
    const sampi_kernels *k = row->k;
    size_t n = row->n, keep = s->u.cut.min_keep ? s->u.cut.min_keep : 1;
    uint64_t *w = row->work->w, share = sampi_share(s->u.cut.p), total = 0, run = 0;
    if (n <= 2) return rest == 0;
    const float *l = sampi_sorted_logits(row);
    k->weights(l, n, max, w);
    uint64_t z = k->mass(l, w, n, -FLT_MAX) + rest * (w[n - 1] + 1),
             beyond = rest ? w[n - 2] + w[n - 1] + 4 * rest : 0;
    for (size_t i = 0; i + 2 < n; i++) total += sampi_distance(w[i] + w[i + 2], 2 * w[i + 1]);
    bool flat = sampi_tail_is_flat(total, z);
    if (rest && flat) return false;
    uint64_t below = sampi_mulhi(share, flat ? n - 2 : total), also_below = sampi_mulhi(share, total + beyond);
    size_t i = 0;
    for (; i + 2 < n; i++) {
        run += flat ? 1 : sampi_distance(w[i] + w[i + 2], 2 * w[i + 1]);
        if (run > below) break;
    }
    if (i + 2 == n) return rest == 0;
    if (i > keep) keep = i;
    if (rest && (run <= also_below || keep > n)) return false;
    if (keep < n) sampi_cut_at(row, l[keep - 1], keep);
    row->scanned = false;
    return true;
}

/* The first few hundred tokens decide, unless the row is flat: then all of it is sorted. */
static int sampi_fast_tail_free(sampi_row *row, sampi_sampler *s)
{
    int status = sampi_scan(row);
    if (status) return status;
    float max = row->id ? row->top : sampi_row_max(row);
    if ((status = sampi_max_status(max))) return status;
    for (size_t want = 256; !row->id && want < row->n / 8; want *= 8) {
        sampi_row head = *row;
        sampi_gather(&head, sampi_unscale(sampi_logit_at(row, sampi_row_bound(row, want)), row->r));
        if (!sampi_tail_cut(&head, s, max, row->n - head.n)) continue;
        *row = head;
        return SAMP_OK;
    }
    if (!row->id) sampi_gather(row, -FLT_MAX);
    sampi_tail_cut(row, s, max, 0);
    return SAMP_OK;
}

static int sampi_fast_greedy(sampi_row *row, sampi_sampler *s, samp_token *token)
{
    (void)s;
    int status = sampi_scan(row);
    if (status) return status;
    sampi_row best = *row; /* the row itself stays as it is */
    if (!row->id && (status = sampi_keep_first(&best, 1))) return status;
    size_t i = 0;
    while (row->id && row->x[i] != row->top) i++;
    *token = best.id[i];
    return SAMP_OK;
}

/* The draw of sampi_draw: sums of q per tile, then one tile. */
static int sampi_fast_dist(sampi_row *row, sampi_sampler *s, samp_token *token)
{
    uint64_t *sum = row->work->sum, total = 0, random[2];
    int status = sampi_scan(row);
    if (status) return status;
    float max = sampi_row_max(row), buf[SAMPI_TILE];
    if ((status = sampi_max_status(max))) return status;
    const float *piece;
    for (size_t at = 0, len; at < row->n; at += len) {
        len = row->id ? row->n : sampi_piece(row, at, &piece, buf);
        if (row->id) piece = row->x;
        row->k->envelope(piece, len, row->r, max, row->floor, sum + at / SAMPI_TILE);
    }
    size_t tiles = (row->n + SAMPI_TILE - 1) / SAMPI_TILE;
    for (size_t t = 0; t < tiles; t++) total += sum[t];
    for (uint32_t attempt = 0;; attempt++) {
        sampi_random(s, attempt, random);
        uint64_t left = sampi_mulhi(random[0], total), q = 0;
        size_t t = 0;
        while (sum[t] <= left) left -= sum[t++];
        size_t at = t * SAMPI_TILE, i = 0;
        if (row->id)
            piece = row->x + at;
        else
            sampi_piece(row, at, &piece, buf);
        for (;; i++) {
            q = piece[i] >= row->floor ? sampi_envelope(max, sampi_logit_at(row, piece[i])) : 0;
            if (q > left) break;
            left -= q;
        }
        *token = row->id ? row->id[at + i] : (samp_token)(at + i);
        if (sampi_mulhi(random[1], q << 14) < sampi_weight(max, sampi_logit_at(row, piece[i]))) return SAMP_OK;
    }
}

/* adaptive_p's logits stand where the weights would, and are drawn from as a row of their own. */
static int sampi_fast_adaptive_p(sampi_row *row, sampi_sampler *s, samp_token *token)
{
    if (s->u.adaptive.target < 0.0f) return sampi_fast_dist(row, s, token);
    int status = sampi_scan(row);
    if (!status && (!row->x || row->r != 1.0f || row->n_change)) sampi_gather(row, -FLT_MAX);
    if (!status) status = row->n ? sampi_scan(row) : SAMP_E_EMPTY;
    if (status) return status;
    sampi_sums sums = sampi_row_sums(row, row->top, row->floor,
                                     false); /* p is a float of the sum: no estimate will do */
    float *l = (float *)(void *)row->work->w, aim = sampi_adaptive_p_aim(s), x = 0.0f;
    row->k->probs(row->x, row->n, row->top, (double)sums.z, l);
    for (size_t i = 0; i < row->n; i++)
        l[i] = sampi_masked(row->x[i]) ? -INFINITY : sampi_adaptive_p_logit(l[i], aim);
    sampi_row adapted = sampi_compact_row(row, l, row->id, row->n);
    if ((status = sampi_fast_dist(&adapted, s, token))) return status;
    size_t at;
    sampi_lookup(row, *token, &x, &at);
    s->now.pending = *token;
    s->now.pending_p = (float)(sampi_exp(row->top, x) / (double)sums.z);
    return SAMP_OK;
}

/* Draw among the tokens kept and learn from the surprise. */
static int sampi_fast_mirostat_select(sampi_row *row, sampi_sampler *s, samp_token *token)
{
    float x = 0.0f;
    size_t at;
    int status = sampi_fast_dist(row, s, token);
    if (status) return status;
    float max = sampi_row_max(row);
    sampi_lookup(row, *token, &x, &at);
    sampi_mirostat_follow(s, (double)max - (double)sampi_logit_at(row, x),
                          sampi_row_sums(row, max, row->floor, false).above);
    return SAMP_OK;
}

static int sampi_fast_mirostat_v2(sampi_row *row, sampi_sampler *s, samp_token *token)
{
    sampi_range g;
    int status = sampi_range_of(row, &g);
    if (status) return status;
    for (;;) {
        double lo = sampi_mirostat_floor(s, g.max, g.z_lo), hi = sampi_mirostat_floor(s, g.max, g.z_hi);
        if (hi > (double)g.max) { /* not even the maximum: it stays alone */
            if (lo > (double)g.max)
                status = sampi_keep_first(row, 1);
            else if (g.is_exact)
                return SAMPI_DECLINED;
            if (status || lo > (double)g.max) break;
        } else if (sampi_keep_between(row, lo, hi)) {
            break;
        }
        if (g.is_exact) return SAMPI_DECLINED;
        g = sampi_exact(row, g.max, false);
    }
    return status ? status : sampi_fast_mirostat_select(row, s, token);
}

static int sampi_fast_mirostat(sampi_row *row, sampi_sampler *s, samp_token *token)
{
    float top[128];
    size_t m = (size_t)s->u.mirostat.m;
    if (m > 128 || row->id || row->n_change) return SAMPI_DECLINED;
    int status = sampi_scan(row);
    if (status) return status;
    size_t n = sampi_row_count(row, -FLT_MAX, INFINITY);
    sampi_row head = *row;
    if ((status = sampi_keep_first(&head, m))) return status;
    for (size_t i = 0; i < head.n; i++) { /* its logits in order */
        size_t j = i;
        for (; j > 0 && top[j - 1] < head.x[i]; j--) top[j] = top[j - 1];
        top[j] = head.x[i];
    }
    sampi_zipf zipf = { 0.0, 0.0 };
    for (size_t i = 0; i + 1 < head.n; i++) sampi_zipf_add(&zipf, i, top[i], top[i + 1]);
    status = sampi_keep_first(row, sampi_zipf_keep(&zipf, s, n));
    return status ? status : sampi_fast_mirostat_select(row, s, token);
}

/* ---- the plan ---- */

typedef int (*sampi_fast_filter)(sampi_row *, sampi_sampler *);
typedef int (*sampi_fast_select)(sampi_row *, sampi_sampler *, samp_token *);

static sampi_fast_filter sampi_filter_of(const sampi_kind *kind)
{
    if (kind == &SAMPI_LOGIT_BIAS || kind == &SAMPI_PENALTIES || kind == &SAMPI_DRY) return sampi_fast_patch;
    if (kind == &SAMPI_TOP_K) return sampi_fast_top_k;
    if (kind == &SAMPI_TOP_P) return sampi_fast_top_p;
    if (kind == &SAMPI_MIN_P) return sampi_fast_min_p;
    if (kind == &SAMPI_TEMP) return sampi_fast_temp;
    if (kind == &SAMPI_TEMP_EXT) return sampi_fast_temp_ext;
    if (kind == &SAMPI_TOP_N_SIGMA) return sampi_fast_top_n_sigma;
    if (kind == &SAMPI_XTC) return sampi_fast_xtc;
    if (kind == &SAMPI_TYPICAL) return sampi_fast_typical;
    if (kind == &SAMPI_TAIL_FREE) return sampi_fast_tail_free;
    return NULL;
}

static sampi_fast_select sampi_select_of(const sampi_kind *kind)
{
    if (kind == &SAMPI_DIST) return sampi_fast_dist;
    if (kind == &SAMPI_GREEDY) return sampi_fast_greedy;
    if (kind == &SAMPI_MIROSTAT) return sampi_fast_mirostat;
    if (kind == &SAMPI_MIROSTAT_V2) return sampi_fast_mirostat_v2;
    if (kind == &SAMPI_ADAPTIVE_P) return sampi_fast_adaptive_p;
    return NULL;
}

/* The others take a dense row only without a floor. */
static bool sampi_minds_floor(const sampi_kind *kind)
{
    return kind != &SAMPI_TEMP && kind != &SAMPI_TEMP_EXT && kind != &SAMPI_TOP_K && kind != &SAMPI_DIST &&
           kind != &SAMPI_GREEDY;
}

/* All members of a chain, of chains in it too, in order: how many; -1: more than SAMPI_PLAN, or not in the canonical
   arithmetic. These go step by step. */
#define SAMPI_PLAN 64

static int sampi_members(sampi_sampler *s, sampi_sampler **member, int n)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n && n >= 0; i++)
        n = sampi_members(s->u.chain.item[i], member, n);
    if (n < 0 || sampi_is_chain(s)) return n;
    if (n == SAMPI_PLAN || s->rng != SAMP_RNG_PHILOX) return -1;
    member[n] = s;
    return n + 1;
}

/* ---- log-probabilities: exact sums, whatever the draw did ---- */

/* One draw to make. */
typedef struct sampi_job {
    sampi_sampler *s;
    sampi_work *work;
    const void *data; /* [n] */
    samp_dtype dtype;
    const uint32_t *mask;
    size_t n;
    samp_logprobs *logprobs; /* or NULL */
    bool accept;
} sampi_job;

/* The row as given: dense, nothing known of it yet. */
static sampi_row sampi_row_of(const sampi_job *job)
{
    const float *x = job->dtype == SAMP_F32 && !job->mask ? (const float *)job->data : NULL;
    sampi_row row = { sampi_use(), job->work, &job->s->perf, x,    job->data, job->mask, job->dtype,
                      NULL,        job->n,    1.0f,          0.0f, -FLT_MAX,  false,     0 };
    return row;
}

static float sampi_logprob(float l, float max, uint64_t z)
{
    return (float)((double)l - (double)max - sampi_ln((double)z / (double)SAMPI_ONE)) + 0.0f; /* -0 becomes +0 */
}

static void sampi_set_chosen(samp_logprob_set *set, samp_token token, size_t before, float logprob)
{
    set->chosen.token = token;
    set->chosen.rank = (int32_t)before + 1;
    set->chosen.logprob = logprob;
    set->cumulative_logprob += (double)logprob;
}

/* Put a token among the n best so far, which are sorted: logprob holds its logit for now. Returns the new n. */
static int32_t sampi_set_top(samp_logprob_set *set, int32_t n, samp_token token, float l)
{
    samp_logprob *top = set->top_logprobs;
    int32_t i = n < set->n_top ? n++ : n - 1;
    for (; i > 0 && (top[i - 1].logprob < l || (top[i - 1].logprob == l && top[i - 1].token > token)); i--)
        top[i] = top[i - 1];
    top[i].token = token;
    top[i].logprob = l;
    return n;
}

static void sampi_finish_top(samp_logprob_set *set, int32_t n, float max, uint64_t z)
{
    set->n_top_found = n;
    for (int32_t i = 0; i < n; i++) {
        set->top_logprobs[i].rank = i + 1;
        set->top_logprobs[i].logprob = sampi_logprob(set->top_logprobs[i].logprob, max, z);
    }
}

/* Of a row, which is used up. */
static void sampi_row_logprobs(sampi_row *row, samp_token token, samp_logprob_set *set)
{
    float x = 0.0f, max = sampi_row_max(row);
    uint64_t z = sampi_row_sums(row, max, row->floor, false).above;
    size_t at = (size_t)token;
    sampi_lookup(row, token, &x, &at);
    float l = sampi_logit_at(row, x), from = sampi_unscale(l, row->r),
          above = sampi_unscale(sampi_next_up(l), row->r);
    sampi_row before = *row; /* the tokens with smaller ids */
    before.n = at;
    sampi_set_chosen(set, token, sampi_row_count(row, above, INFINITY) + sampi_row_count(&before, from, above),
                     sampi_logprob(l, max, z));
    if (set->n_top > 0) (void)sampi_keep_first(row, (size_t)set->n_top); /* it has at least one token */
    int32_t n = 0;
    for (size_t i = 0; i < row->n && set->n_top > 0; i++) n = sampi_set_top(set, n, row->id[i], row->x[i]);
    sampi_finish_top(set, n, max, z);
}

/* Of the candidates that a chain left, one of them selected. */
static void sampi_array_logprobs(samp_token_data_array *cur, samp_logprob_set *set)
{
    samp_token_data chosen = cur->data[cur->selected];
    sampi_sums sums = sampi_sum(cur);
    size_t before = 0;
    for (size_t i = 0; i < cur->size; i++) before += sampi_before(&SAMPI_BY_LOGIT, &cur->data[i], &chosen);
    sampi_set_chosen(set, chosen.id, before, sampi_logprob(chosen.logit, sums.max, sums.z));
    int32_t n = set->n_top < (int32_t)sums.n ? set->n_top : (int32_t)sums.n;
    if (n > 0) sampi_sort(&SAMPI_BY_LOGIT, cur, (size_t)n);
    for (int32_t i = 0; i < n; i++) {
        set->top_logprobs[i].token = cur->data[i].id;
        set->top_logprobs[i].logprob = cur->data[i].logit;
    }
    sampi_finish_top(set, n, sums.max, sums.z);
}

/* ---- a draw ---- */

/* The token that an array has selected. If a custom sampler refuses it, it is as if it had not been drawn: the caller
   puts the state back, and no log-probability is told. */
static int sampi_accept_selected(const sampi_job *job, samp_token_data_array *cur, samp_token *token)
{
    *token = cur->data[cur->selected].id;
    int status = job->accept ? samp_accept(&job->s->base, *token) : SAMP_OK;
    if (!status && job->logprobs) sampi_array_logprobs(cur, &job->logprobs->processed);
    return status;
}

/* The members that do something; -1 if one is the user's, or comes after the selection. softmax only sorts and sets p.
   */
static int sampi_plan(sampi_sampler *const *member, int n_members, sampi_sampler **list)
{
    int n = 0;
    for (int i = 0; i < n_members; i++) {
        if (member[i]->off) continue;
        if (sampi_is_custom(member[i]) || (n > 0 && list[n - 1]->kind->selects)) return -1;
        if (member[i]->kind != &SAMPI_SOFTMAX) list[n++] = member[i];
    }
    return n;
}

/* How many members from the first on leave an array that is known to the last byte, though it was not there: they
   don't write p, and the order is top_k's, or by id up to a min_p that cannot have sorted. Both drop masked tokens. */
static int sampi_known_members(sampi_sampler *const *member, int n_members)
{
    int known = 0;
    bool by_id = true;
    for (int i = 0; i < n_members; i++) {
        const sampi_kind *kind = member[i]->kind;
        if (member[i]->off) continue;
        if (kind == &SAMPI_TOP_K) {
            known = i + 1;
            by_id = false;
        } else if (kind == &SAMPI_MIN_P) {
            by_id = by_id && member[i]->u.cut.min_keep <= 1;
            if (by_id) known = i + 1;
        } else if (kind != &SAMPI_LOGIT_BIAS && kind != &SAMPI_PENALTIES && kind != &SAMPI_DRY &&
                   kind != &SAMPI_TOP_N_SIGMA && kind != &SAMPI_TEMP && kind != &SAMPI_TEMP_EXT) {
            break;
        }
    }
    return known;
}

/* A draw with a custom sampler, which is to see exactly what the steps would show it: fast as far as that is known,
   then step by step. SAMPI_DECLINED before anything has changed, or a status. */
static int sampi_draw_part_fast(const sampi_job *job, sampi_sampler *const *member, int n_members, sampi_row *row,
                                samp_token *token)
{
    sampi_sampler *s = job->s;
    uint32_t ordinal[SAMPI_DRAW_KINDS] = { 0 };
    int known = sampi_known_members(member, n_members), status = known ? SAMP_OK : SAMPI_DECLINED;
    for (int i = 0; i < known && !status; i++) {
        if (member[i]->off) continue;
        if (row->floor > -FLT_MAX && sampi_minds_floor(member[i]->kind)) sampi_gather(row, -FLT_MAX);
        status = sampi_filter_of(member[i]->kind)(row, member[i]);
    }
    if (status) return status; /* none of these has a state that a draw changes */
    if (!row->id) sampi_gather(row, -FLT_MAX);
    for (size_t i = 0; i < row->n; i++) /* the row's -0 would be +0 by now, but one that a sampler made would not */
        if (row->x[i] == 0.0f && copysignf(1.0f, row->x[i]) < 0.0f) return SAMPI_DECLINED;
    samp_token_data_array cur = sampi_row_array(row);
    if (member[known - 1]->kind == &SAMPI_TOP_K) sampi_sort_all(&cur);
    s->perf.n_steps++;
    sampi_save_state(s);
    for (int i = known; i < n_members && !status; i++) status = sampi_run(member[i], &cur, s->position, ordinal);
    if (!status) status = sampi_check_selected(&cur);
    if (!status) status = sampi_accept_selected(job, &cur, token);
    return sampi_end_draw(s, status);
}

/* One whole draw. SAMPI_DECLINED before anything has changed, or a status. */
static int sampi_draw_fast(const sampi_job *job, samp_token *token)
{
    sampi_sampler *member[SAMPI_PLAN], *list[SAMPI_PLAN];
    uint32_t ordinal[SAMPI_DRAW_KINDS] = { 0 };
    sampi_sampler *s = job->s;
    sampi_row row = sampi_row_of(job);
    int n_members = sampi_members(s, member, 0), n = sampi_plan(member, n_members, list), i = 0, status = SAMP_OK;
    if (n <= 0 || !list[n - 1]->kind->selects || !(sampi_filter_of(list[0]->kind) || sampi_select_of(list[0]->kind)))
        return sampi_draw_part_fast(job, member, n_members, &row, token);
    if (job->logprobs && list[n - 1]->kind == &SAMPI_ADAPTIVE_P)
        return SAMPI_DECLINED; /* it draws from other logits */
    sampi_save_state(s);
    for (; i < n && !status; i++) {
        sampi_fast_filter filter = sampi_filter_of(list[i]->kind);
        sampi_fast_select select = list[i]->draft ? NULL : sampi_select_of(list[i]->kind);
        if (row.floor > -FLT_MAX && sampi_minds_floor(list[i]->kind)) sampi_gather(&row, -FLT_MAX);
        list[i]->at_position = s->position;
        list[i]->at_ordinal = ordinal[list[i]->kind->draws];
        status = filter ? filter(&row, list[i]) : select ? select(&row, list[i], token) : (int)SAMPI_DECLINED;
        if (status == SAMP_OK) ordinal[list[i]->kind->draws]++;
    }
    if (status == SAMPI_DECLINED && !row.id && (status = sampi_scan(&row)) == SAMP_OK) status = SAMPI_DECLINED;
    if (status == SAMPI_DECLINED) {
        if (row.floor > -FLT_MAX) sampi_gather(&row, -FLT_MAX);
        samp_token_data_array cur = sampi_row_array(&row);
        s->perf.n_steps++;
        status = sampi_check(&cur);
        for (i--; i < n && !status; i++) status = sampi_run(list[i], &cur, s->position, ordinal);
        if (!status) status = sampi_accept_selected(job, &cur, token);
    } else if (!status) {
        if (job->accept) status = samp_accept(&s->base, *token);
        if (!status && job->logprobs) sampi_row_logprobs(&row, *token, &job->logprobs->processed);
    }
    return sampi_end_draw(s, status);
}

/* ================================================================================================== >>sample */

static int sampi_reserve(sampi_work *work, size_t n)
{
    if (n <= work->n) return SAMP_OK;
    size_t tiles = (n + SAMPI_TILE - 1) / SAMPI_TILE, size = 64, at[7];
    const size_t bytes[7] = { (n + 128) * sizeof(samp_token_data), (n + 32) * sizeof(float),
                              (n + 32) * sizeof(int32_t),          (32 * tiles + 64) * sizeof(float),
                              (32 * tiles + 64) * sizeof(float),   tiles * sizeof(uint64_t),
                              SAMPI_CHANGES * sizeof(sampi_change) };
    for (int i = 0; i < 7; i++) {
        at[i] = size - 64;
        size += (bytes[i] + 63) & ~(size_t)63;
    }
    char *block = (char *)SAMP_MALLOC(size), *base;
    if (!block) return SAMP_E_NOMEM;
    SAMP_FREE(work->block);
    base = block + (64 - (uintptr_t)block % 64) % 64; /* on a cache line */
    work->block = block;
    work->n = n;
    work->candidate = (samp_token_data *)(void *)(base + at[0]);
    work->w = (uint64_t *)(void *)(base + at[0]);
    work->x = (float *)(void *)(base + at[1]);
    work->id = (int32_t *)(void *)(base + at[2]);
    work->line = (float *)(void *)(base + at[3]);
    work->scratch = (float *)(void *)(base + at[4]);
    work->sum = (uint64_t *)(void *)(base + at[5]);
    work->change = (sampi_change *)(void *)(base + at[6]);
    return SAMP_OK;
}

SAMP_API int samp_reserve(samp_sampler *s, size_t n_vocab)
{
    if (!s) return SAMP_E_NULL;
    return n_vocab > SAMP_MAX_VOCAB ? (int)SAMP_E_RANGE : sampi_reserve(&((sampi_sampler *)s)->work, n_vocab);
}

/* The definition of a token: the array of all candidates, through the samplers one by one. */
static int sampi_draw_by_steps(const sampi_job *job, samp_token *token)
{
    samp_token_data_array cur = { job->work->candidate, job->n, -1, false };
    for (size_t i = 0; i < job->n; i++) {
        cur.data[i].id = (samp_token)i;
        cur.data[i].logit = sampi_element(job->data, job->dtype, job->mask, i) + 0.0f; /* -0 becomes +0 */
        cur.data[i].p = 0.0f;
    }
    uint64_t position = job->s->position;
    int status = sampi_check(&cur);
    if (!status) status = sampi_apply(job->s, &cur, true);
    if (status || !(status = sampi_accept_selected(job, &cur, token))) return status;
    sampi_restore_state(job->s);
    job->s->position = position;
    return status;
}

static samp_token sampi_draw_any(const sampi_job *job)
{
    samp_token token = -1;
    int status = sampi_draw_fast(job, &token);
    if (status == SAMPI_DECLINED) {
        job->s->perf.n_steps++;
        status = sampi_draw_by_steps(job, &token);
    }
    return status ? status : token;
}

/* Of the logits as given. */
static void sampi_raw_logprobs(const sampi_job *job, samp_token token)
{
    sampi_row row = sampi_row_of(job);
    if (sampi_scan(&row) == SAMP_OK) sampi_row_logprobs(&row, token, &job->logprobs->raw);
}

static samp_token sampi_sample(const sampi_job *job)
{
    sampi_sampler *s = job->s;
#ifdef SAMP_CLOCK
    uint64_t start = SAMP_CLOCK();
#endif
    sampi_edited(s);
    samp_token token = sampi_draw_any(job);
    if (token >= 0 && job->logprobs) sampi_raw_logprobs(job, token);
    if (token >= 0) s->perf.n_sample++;
#ifdef SAMP_CLOCK
    s->perf.t_sample_ns += SAMP_CLOCK() - start;
#endif
    return token;
}

static samp_token sampi_sample_one(samp_sampler *sampler, const float *logits, size_t n_vocab, bool accept)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s || !logits) return SAMP_E_NULL;
    int status = samp_status(sampler, NULL);
    if (!status && n_vocab == 0) status = SAMP_E_EMPTY;
    if (!status) status = samp_reserve(sampler, n_vocab);
    sampi_job job = { s, &s->work, logits, SAMP_F32, NULL, n_vocab, NULL, accept };
    return status ? status : sampi_sample(&job);
}

SAMP_API samp_token samp_sample(samp_sampler *s, const float *logits, size_t n_vocab)
{
    return sampi_sample_one(s, logits, n_vocab, true);
}

SAMP_API samp_token samp_draw(samp_sampler *s, const float *logits, size_t n_vocab)
{
    return sampi_sample_one(s, logits, n_vocab, false);
}

/* ================================================================================================== >>verify
   Both methods are one loop: sample a row, go on while the draft's token comes out. For the ratio test the draw itself
   is another one (sampi_draw asks for it), so that what follows a draw, such as mirostat's learning, sees the token
   that was taken. It gives the draft's token if and only if it accepts it: where it does not, that token has p < q, and
   nothing of it is left to draw. */

/* One row of a draft. */
typedef struct sampi_draft {
    samp_token token;
    const float *probs;    /* NULL: certain */
    const samp_token *ids; /* [n_top], or NULL: dense */
    size_t n_top;
} sampi_draft;

/* A draw from the residual max(0, p - q), or, with draft NULL, from p. */
typedef struct sampi_residual {
    const sampi_draft *draft;
    float max;
    uint64_t z; /* the sum of weights */
} sampi_residual;

/* q(id) in units of weight: floor(q z). */
static uint64_t sampi_draft_mass(const sampi_draft *draft, samp_token id, uint64_t z)
{
    if (!draft->probs) return id == draft->token ? z : 0;
    size_t i = draft->ids ? 0 : (size_t)id, n = draft->ids ? draft->n_top : i + 1;
    while (draft->ids && i < n && draft->ids[i] != id) i++;
    if (i == n) return 0;
    return draft->probs[i] < 1.0f ? sampi_mulhi(sampi_share(draft->probs[i]), z) : z;
}

static uint64_t sampi_residual_mass(const void *draw, const samp_token_data *d)
{
    const sampi_residual *r = (const sampi_residual *)draw;
    uint64_t w = sampi_weight(r->max, d->logit), q = r->draft ? sampi_draft_mass(r->draft, d->id, r->z) : 0;
    return w > q ? w - q : 0;
}

/* With r, v two 64-bit random numbers: accept the draft's token if floor(r q / 2^64) < w, which has probability
   min(1, w / q). Else the first token in ascending id whose running sum of residuals exceeds floor(v R / 2^64), R their
   total. */
static void sampi_draw_ratio(const sampi_sampler *s, samp_token_data_array *cur)
{
    uint64_t random[2], total = 0;
    sampi_sums sums = sampi_sum(cur);
    sampi_residual residual = { s->draft, sums.max, sums.z };
    sampi_random_bits(s->seed, s->at_position, sampi_stream(s, s->kind->draws | SAMPI_DRAWS_RATIO), 0, random);
    for (size_t i = 0; i < cur->size; i++) {
        const samp_token_data *d = &cur->data[i];
        uint64_t q = d->id == s->draft->token ? sampi_draft_mass(s->draft, d->id, sums.z) : 0;
        if (d->id == s->draft->token && sampi_mulhi(random[0], q) < sampi_weight(sums.max, d->logit)) {
            cur->selected = (int64_t)i;
            return;
        }
        total += sampi_residual_mass(&residual, d);
    }
    if (total == 0) { /* the numbers of the draft sum to more than 1 */
        residual.draft = NULL;
        total = sums.z;
    }
    cur->selected = (int64_t)sampi_find_by(cur, sampi_residual_mass, &residual, sampi_mulhi(random[1], total));
}

static int sampi_check_draft(const samp_draft *draft, size_t n_vocab, samp_verify_method method)
{
    size_t n_row = draft->ids ? draft->n_top : n_vocab;
    if (method != SAMP_VERIFY_EXACT && method != SAMP_VERIFY_RATIO) return SAMP_E_RANGE;
    if (draft->n && !draft->tokens) return SAMP_E_NULL;
    if (draft->n > INT32_MAX || n_vocab > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    for (size_t i = 0; i < draft->n; i++)
        if (draft->tokens[i] < 0 || (size_t)draft->tokens[i] >= n_vocab) return SAMP_E_RANGE;
    if (method == SAMP_VERIFY_EXACT) return SAMP_OK;
    if (draft->ids && !draft->probs) return SAMP_E_NULL;
    if (draft->ids && draft->n_top == 0) return SAMP_E_RANGE;
    for (size_t i = 0; draft->ids && i < draft->n * n_row; i++)
        if (draft->ids[i] < 0 || (size_t)draft->ids[i] >= n_vocab) return SAMP_E_RANGE;
    for (size_t i = 0; draft->probs && i < draft->n * n_row; i++) {
        if (draft->probs[i] != draft->probs[i]) return SAMP_E_NAN;
        if (!(draft->probs[i] >= 0.0f && draft->probs[i] <= 1.0f)) return SAMP_E_RANGE;
    }
    return SAMP_OK;
}

/* Hand a row of the draft, or NULL, to all samplers of a chain; false if one of them has another random source. */
static bool sampi_set_draft(sampi_sampler *s, const sampi_draft *draft)
{
    bool philox = s->rng == SAMP_RNG_PHILOX;
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        philox &= sampi_set_draft(s->u.chain.item[i], draft);
    s->draft = draft;
    return philox;
}

SAMP_API int32_t samp_verify(samp_sampler *sampler, const float *logits, size_t n_vocab, const samp_draft *draft,
                             samp_verify_method method, samp_token *out)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    bool ratio = method == SAMP_VERIFY_RATIO;
    int status = s && logits && draft && out ? samp_status(sampler, NULL) : SAMP_E_NULL;
    if (!status) status = sampi_check_draft(draft, n_vocab, method);
    if (!status && !sampi_set_draft(s, NULL) && ratio) status = SAMP_E_UNSUPPORTED;
    if (status) return status;
    size_t n_row = draft->ids ? draft->n_top : n_vocab, a = 0;
    for (;; a++) {
        sampi_draft row = { -1, NULL, NULL, draft->n_top };
        if (a < draft->n) row.token = draft->tokens[a];
        if (a < draft->n && draft->probs) row.probs = draft->probs + a * n_row;
        if (a < draft->n && draft->ids) row.ids = draft->ids + a * n_row;
        if (ratio) sampi_set_draft(s, a < draft->n ? &row : NULL);
        out[a] = samp_sample(sampler, logits + a * n_vocab, n_vocab);
        if (a == draft->n || out[a] != row.token) break;
    }
    sampi_set_draft(s, NULL);
    for (size_t i = a + 1; i <= draft->n; i++) out[i] = -1;
    return a == 0 && out[0] < 0 ? out[0] : (int32_t)a;
}

/* =================================================================================================== >>batch */

#define SAMPI_MAX_THREADS 256

/* What is wrong with the call itself. */
static int sampi_check_batch(samp_sampler *const *rows, const samp_logits *g)
{
    size_t size = SAMPI_SIZE_OF(g->dtype);
    if ((int)g->dtype < SAMP_F32 || (int)g->dtype > SAMP_F64) return SAMP_E_DTYPE;
    if (!g->data) return SAMP_E_NULL;
    if (g->n_vocab == 0) return SAMP_E_EMPTY;
    if (g->n_vocab > SAMP_MAX_VOCAB || g->n_threads < 0 || (uintptr_t)g->data % size) return SAMP_E_RANGE;
    if (g->stride && g->stride < g->n_vocab) return SAMP_E_RANGE;
    if (g->mask && g->mask_stride && g->mask_stride < (g->n_vocab + 31) / 32) return SAMP_E_RANGE;
    for (size_t r = 0; r < g->n_rows; r++)
        if (rows[r]) ((sampi_sampler *)rows[r])->in_batch = r;
    for (size_t r = 0; r < g->n_rows; r++)
        if (rows[r] && ((sampi_sampler *)rows[r])->in_batch != r) return SAMP_E_RANGE; /* twice */
    return SAMP_OK;
}

static bool sampi_bad_logprobs(const samp_logprob_set *set)
{
    return set->n_top < 0 || set->n_top > SAMP_MAX_TOP_LOGPROBS;
}

/* One row, in any thread's workspace. */
static samp_token sampi_batch_row(samp_sampler *const *rows, const samp_logits *g, size_t r, sampi_work *work)
{
    size_t at = g->row_index ? (size_t)g->row_index[r] : r, stride = g->stride ? g->stride : g->n_vocab;
    size_t words = g->mask_stride ? g->mask_stride : (g->n_vocab + 31) / 32;
    samp_logprobs *lp = g->logprobs ? &g->logprobs[r] : NULL;
    if (!rows[r]) return SAMP_E_NULL;
    int status = samp_status(rows[r], NULL);
    if (status) return status;
    if (g->row_index && g->row_index[r] < 0) return SAMP_E_RANGE;
    if (lp && (sampi_bad_logprobs(&lp->raw) || sampi_bad_logprobs(&lp->processed))) return SAMP_E_RANGE;
    if (lp && ((lp->raw.n_top && !lp->raw.top_logprobs) || (lp->processed.n_top && !lp->processed.top_logprobs)))
        return SAMP_E_NULL;
    sampi_job job = { (sampi_sampler *)rows[r],
                      work,
                      (const char *)g->data + at * stride * SAMPI_SIZE_OF(g->dtype),
                      g->dtype,
                      g->mask ? g->mask + r * words : NULL,
                      g->n_vocab,
                      lp,
                      true };
    return sampi_sample(&job);
}

/* How many threads. Waking them takes about 40 us, as much as four rows of 128k tokens. */
static int sampi_batch_threads(const samp_logits *g)
{
    size_t n = 1;
#ifdef _OPENMP
    n = (size_t)(g->n_threads ? g->n_threads : omp_get_max_threads());
    size_t worth = g->n_rows * g->n_vocab >> 18;
    if (g->n_threads == 0 && n > worth) n = worth;
#endif
    if (n > SAMPI_MAX_THREADS) n = SAMPI_MAX_THREADS;
    return n < 1 ? 1 : n > g->n_rows ? (int)g->n_rows : (int)n;
}

/* A workspace for each thread, from rows that have one; the others make theirs. Returns how many there are. */
static int sampi_batch_work(samp_sampler *const *rows, const samp_logits *g, sampi_work **work, int n)
{
    int have = 0;
    for (int make = 0; make < 2; make++)
        for (size_t r = 0; r < g->n_rows && have < n; r++) {
            sampi_work *w = rows[r] ? &((sampi_sampler *)rows[r])->work : NULL;
            if (w && (w->n >= g->n_vocab) == !make && sampi_reserve(w, g->n_vocab) == SAMP_OK) work[have++] = w;
        }
    return have;
}

SAMP_API int samp_sample_batch(samp_sampler *const *rows, const samp_logits *logits, samp_token *out)
{
    sampi_work *work[SAMPI_MAX_THREADS] = { NULL };
    if (!logits || (logits->n_rows && (!rows || !out))) return SAMP_E_NULL;
    if (logits->n_rows == 0) return SAMP_OK;
    int status = sampi_check_batch(rows, logits);
    if (status) return status;
    int n = sampi_batch_work(rows, logits, work, sampi_batch_threads(logits));
    for (size_t r = 0; n == 0 && r < logits->n_rows; r++)
        if (rows[r]) return SAMP_E_NOMEM;
#ifdef _OPENMP
    if (n > 1) {
        long long n_rows = (long long)logits->n_rows;
#pragma omp parallel for num_threads(n) schedule(dynamic, 1)
        for (long long r = 0; r < n_rows; r++)
            out[r] = sampi_batch_row(rows, logits, (size_t)r, work[omp_get_thread_num()]);
        return SAMP_OK;
    }
#endif
    for (size_t r = 0; r < logits->n_rows; r++) out[r] = sampi_batch_row(rows, logits, r, work[0]);
    return SAMP_OK;
}

/* =================================================================================================== >>state
   What a sampler has become, as bytes, little-endian and field by field:

       "SAMP" u32   version u32   fingerprint of the settings u64   a sampler's part ...   checksum of all before u64

   A part is the position, the mt19937 if it is what the sampler draws from, and what the kind adds; a chain adds its
   members' parts. One function per kind counts, writes, checks and reads its part, so there is one place that knows
   the form; loading checks all the bytes before it reads the first. What can be derived (counts from a window) is not
   stored but made again. */

#define SAMPI_STATE_MAGIC   0x504D4153u /* "SAMP" */
#define SAMPI_STATE_VERSION 1

/* ---- fingerprint ---- */

static void sampi_mix(uint64_t *hash, uint64_t x)
{
    uint64_t pair[2] = { *hash, x };
    *hash = sampi_checksum(pair, sizeof pair);
}
static void sampi_mix_float(uint64_t *hash, float x) { sampi_mix(hash, sampi_bits((double)x)); }
static void sampi_mix_text(uint64_t *hash, const char *text) { sampi_mix(hash, sampi_checksum(text, strlen(text))); }

static void sampi_cut_settings(const sampi_sampler *s, uint64_t *hash)
{
    sampi_mix_float(hash, s->u.cut.p);
    sampi_mix(hash, s->u.cut.min_keep);
}
static void sampi_xtc_settings(const sampi_sampler *s, uint64_t *hash)
{
    sampi_mix_float(hash, s->u.xtc.p);
    sampi_mix_float(hash, s->u.xtc.t);
    sampi_mix(hash, s->u.xtc.min_keep);
}
static void sampi_top_k_settings(const sampi_sampler *s, uint64_t *hash) { sampi_mix(hash, (uint32_t)s->u.top_k.k); }
static void sampi_sigma_settings(const sampi_sampler *s, uint64_t *hash) { sampi_mix_float(hash, s->u.sigma.n); }
static void sampi_temp_settings(const sampi_sampler *s, uint64_t *hash)
{
    sampi_mix_float(hash, s->u.temp.t);
    sampi_mix_float(hash, s->u.temp.delta);
    sampi_mix_float(hash, s->u.temp.exponent);
}
static void sampi_mirostat_settings(const sampi_sampler *s, uint64_t *hash)
{
    sampi_mix_float(hash, s->u.mirostat.tau);
    sampi_mix_float(hash, s->u.mirostat.eta);
    sampi_mix(hash, (uint32_t)s->u.mirostat.n_vocab);
    sampi_mix(hash, (uint32_t)s->u.mirostat.m);
}
static void sampi_adaptive_p_settings(const sampi_sampler *s, uint64_t *hash)
{
    sampi_mix_float(hash, s->u.adaptive.target);
    sampi_mix_float(hash, s->u.adaptive.decay);
}
static void sampi_logit_bias_settings(const sampi_sampler *s, uint64_t *hash)
{
    const samp_logit_bias *bias = (const samp_logit_bias *)sampi_part(s, 0);
    sampi_mix(hash, (uint32_t)s->u.bias.n_vocab);
    sampi_mix(hash, (uint32_t)s->u.bias.n);
    for (int32_t i = 0; i < s->u.bias.n; i++) {
        sampi_mix(hash, (uint32_t)bias[i].token);
        sampi_mix_float(hash, bias[i].bias);
    }
}
static void sampi_penalties_settings(const sampi_sampler *s, uint64_t *hash)
{
    sampi_mix_float(hash, s->u.penalties.repeat);
    sampi_mix_float(hash, s->u.penalties.freq);
    sampi_mix_float(hash, s->u.penalties.present);
    sampi_mix(hash, s->u.penalties.ring.cap);
}
/* The breakers as the vocabulary spells them. */
static void sampi_dry_settings(const sampi_sampler *s, uint64_t *hash)
{
    const sampi_tail *tail = (const sampi_tail *)sampi_part(s, 3);
    const sampi_head *head = sampi_dry_head(s);
    sampi_mix_float(hash, s->u.dry.multiplier);
    sampi_mix_float(hash, s->u.dry.base);
    sampi_mix(hash, (uint32_t)s->u.dry.allowed);
    sampi_mix(hash, s->u.dry.ring.cap);
    sampi_mix(hash, s->u.dry.n_tails);
    sampi_mix(hash, s->u.dry.n_heads);
    for (size_t i = 0; i < s->u.dry.n_tails; i++) {
        sampi_mix(hash, (uint32_t)tail[i].n);
        for (int32_t k = 0; k < tail[i].n; k++) sampi_mix(hash, (uint32_t)tail[i].token[k]);
    }
    for (size_t i = 0; i < s->u.dry.n_heads; i++)
        sampi_mix(hash, (uint64_t)(uint32_t)head[i].token << 32 | (uint32_t)head[i].tail);
}

static void sampi_settings(const sampi_sampler *s, uint64_t *hash);

static void sampi_chain_settings(const sampi_sampler *s, uint64_t *hash)
{
    sampi_mix(hash, s->u.chain.ring.cap);
    sampi_mix(hash, (uint32_t)s->u.chain.n);
    for (int32_t i = 0; i < s->u.chain.n; i++) sampi_settings(s->u.chain.item[i], hash);
}

/* ---- fields ---- */

typedef enum sampi_io_mode { SAMPI_WRITE, SAMPI_CHECK, SAMPI_READ } sampi_io_mode;

typedef struct sampi_io {
    sampi_io_mode mode;
    unsigned char *to;         /* where to write; NULL: only count */
    const unsigned char *from; /* [size] what to check or read */
    size_t size, at;
    bool bad; /* once set, nothing more is looked at */
} sampi_io;

/* An integer of n bytes: x if it is to be written, else what stands there. */
static uint64_t sampi_io_int(sampi_io *io, uint64_t x, size_t n)
{
    if (io->mode != SAMPI_WRITE) {
        x = 0;
        io->bad |= io->size - io->at < n;
        if (io->bad) return 0;
        for (size_t i = 0; i < n; i++) x |= (uint64_t)io->from[io->at + i] << 8 * i;
    } else if (io->to) {
        for (size_t i = 0; i < n; i++) io->to[io->at + i] = (unsigned char)(x >> 8 * i);
    }
    io->at += n;
    return x;
}

static void sampi_io_u64(sampi_io *io, uint64_t *x)
{
    uint64_t y = sampi_io_int(io, *x, 8);
    if (io->mode == SAMPI_READ) *x = y;
}

/* at least `least`, a token or -1 */
static void sampi_io_token(sampi_io *io, samp_token *x, samp_token least)
{
    samp_token y = (samp_token)(uint32_t)sampi_io_int(io, (uint32_t)*x, 4);
    io->bad |= y < least;
    if (io->mode == SAMPI_READ) *x = y;
}

/* in [lo, hi]; any value if lo is NaN */
static void sampi_io_float(sampi_io *io, float *x, float lo, float hi)
{
    uint32_t u;
    float y;
    memcpy(&u, x, 4);
    u = (uint32_t)sampi_io_int(io, u, 4);
    memcpy(&y, &u, 4);
    io->bad |= lo == lo && !(y >= lo && y <= hi);
    if (io->mode == SAMPI_READ) *x = y;
}

/* A window of tokens: how many, then the oldest first. */
static void sampi_io_ring(sampi_io *io, sampi_ring *r, samp_token *token)
{
    uint32_t n = (uint32_t)sampi_io_int(io, r->size, 4);
    io->bad |= n > r->cap;
    for (uint32_t i = 0; i < n && !io->bad; i++) {
        samp_token x = io->mode == SAMPI_WRITE ? sampi_ring_at(r, token, n - 1 - i) : 0;
        sampi_io_token(io, &x, 0);
        if (io->mode == SAMPI_READ) token[i] = x;
    }
    if (io->mode != SAMPI_READ) return;
    r->size = n;
    r->head = n < r->cap ? n : 0;
}

/* How many outputs were drawn (that tells which is next), and the state they come from. */
static void sampi_io_mt(sampi_io *io, sampi_mt *mt)
{
    sampi_io_u64(io, &mt->drawn);
    if (io->mode == SAMPI_READ) mt->next = mt->drawn ? (uint32_t)((mt->drawn - 1) % 624) + 1 : 624;
    for (int i = 0; i < 624; i++) {
        uint32_t x = (uint32_t)sampi_io_int(io, mt->state[i], 4);
        if (io->mode == SAMPI_READ) mt->state[i] = x;
    }
}

/* ---- the kinds ---- */

static void sampi_count_sift(sampi_count *list, uint32_t root, uint32_t n)
{
    for (uint32_t child; (child = 2 * root + 1) < n; root = child) {
        child += child + 1 < n && list[child].token < list[child + 1].token;
        if (list[root].token >= list[child].token) return;
        sampi_count t = list[root];
        list[root] = list[child];
        list[child] = t;
    }
}

/* The sorted list of n tokens and how often each occurs -> its length. */
static uint32_t sampi_count_all(sampi_count *list, const samp_token *token, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) list[i].token = token[i], list[i].count = 1;
    for (uint32_t i = n / 2; i-- > 0;) sampi_count_sift(list, i, n);
    for (uint32_t i = n; i-- > 1;) {
        sampi_count t = list[0];
        list[0] = list[i];
        list[i] = t;
        sampi_count_sift(list, 0, i);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (kept && list[kept - 1].token == list[i].token)
            list[kept - 1].count++;
        else
            list[kept++] = list[i];
    }
    return kept;
}

static void sampi_penalties_state(sampi_sampler *s, sampi_io *io)
{
    samp_token *token = (samp_token *)sampi_part(s, 0);
    sampi_io_ring(io, &s->u.penalties.ring, token);
    if (io->mode == SAMPI_READ)
        s->u.penalties.n = sampi_count_all(sampi_penalties_list(s), token, s->u.penalties.ring.size);
}
static void sampi_dry_state(sampi_sampler *s, sampi_io *io)
{
    sampi_io_ring(io, &s->u.dry.ring, (samp_token *)sampi_part(s, 0));
}
static void sampi_mirostat_state(sampi_sampler *s, sampi_io *io)
{
    bool any = s->rng == SAMP_RNG_MT19937; /* llama.cpp's mu may overflow */
    sampi_io_float(io, &s->now.mu, any ? NAN : -FLT_MAX, FLT_MAX);
}
static void sampi_adaptive_p_state(sampi_sampler *s, sampi_io *io)
{
    if (s->u.adaptive.target < 0.0f) return; /* plain dist */
    sampi_io_float(io, &s->u.adaptive.sum, 0.0f, FLT_MAX);
    sampi_io_float(io, &s->u.adaptive.total, 1.0f, FLT_MAX);
    sampi_io_token(io, &s->now.pending, -1);
    sampi_io_float(io, &s->now.pending_p, 0.0f, 1.0f);
}

static void sampi_io_part(sampi_sampler *s, sampi_io *io);

static void sampi_chain_state(sampi_sampler *s, sampi_io *io)
{
    sampi_io_ring(io, &s->u.chain.ring, s->u.chain.prev);
    for (int32_t i = 0; i < s->u.chain.n && !io->bad; i++) sampi_io_part(s->u.chain.item[i], io);
}

typedef struct sampi_keeper {
    const sampi_kind *kind;
    void (*settings)(const sampi_sampler *, uint64_t *hash); /* or NULL: it has none */
    void (*state)(sampi_sampler *, sampi_io *);              /* or NULL: none beyond position and random source */
} sampi_keeper;

static const sampi_keeper SAMPI_KEEPERS[] = {
    { &SAMPI_LOGIT_BIAS, sampi_logit_bias_settings, NULL },
    { &SAMPI_PENALTIES, sampi_penalties_settings, sampi_penalties_state },
    { &SAMPI_DRY, sampi_dry_settings, sampi_dry_state },
    { &SAMPI_TOP_N_SIGMA, sampi_sigma_settings, NULL },
    { &SAMPI_TOP_K, sampi_top_k_settings, NULL },
    { &SAMPI_TAIL_FREE, sampi_cut_settings, NULL },
    { &SAMPI_TYPICAL, sampi_cut_settings, NULL },
    { &SAMPI_TOP_P, sampi_cut_settings, NULL },
    { &SAMPI_MIN_P, sampi_cut_settings, NULL },
    { &SAMPI_XTC, sampi_xtc_settings, NULL },
    { &SAMPI_TEMP, sampi_temp_settings, NULL },
    { &SAMPI_TEMP_EXT, sampi_temp_settings, NULL },
    { &SAMPI_SOFTMAX, NULL, NULL },
    { &SAMPI_GREEDY, NULL, NULL },
    { &SAMPI_DIST, NULL, NULL },
    { &SAMPI_MIROSTAT, sampi_mirostat_settings, sampi_mirostat_state },
    { &SAMPI_MIROSTAT_V2, sampi_mirostat_settings, sampi_mirostat_state },
    { &SAMPI_ADAPTIVE_P, sampi_adaptive_p_settings, sampi_adaptive_p_state },
    { &SAMPI_CHAIN, sampi_chain_settings, sampi_chain_state },
    { &SAMPI_CUSTOM, NULL, NULL },
};

/* NULL: its state can't be kept. */
static const sampi_keeper *sampi_keeper_of(const sampi_sampler *s)
{
    if (sampi_is_custom(s) && s->base.ctx) return NULL;
    for (size_t i = 0; i < sizeof SAMPI_KEEPERS / sizeof SAMPI_KEEPERS[0]; i++)
        if (SAMPI_KEEPERS[i].kind == s->kind) return &SAMPI_KEEPERS[i];
    return NULL;
}

static bool sampi_can_keep(const sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (!sampi_can_keep(s->u.chain.item[i])) return false;
    return sampi_keeper_of(s) != NULL;
}

static void sampi_settings(const sampi_sampler *s, uint64_t *hash)
{
    const sampi_keeper *keeper = sampi_keeper_of(s);
    sampi_mix_text(hash, s->kind->name);
    sampi_mix_text(hash, samp_name(&s->base)); /* a custom one's own name */
    sampi_mix(hash, (uint64_t)s->rng);
    sampi_mix(hash, s->seed);
    if (keeper->settings) keeper->settings(s, hash);
}

static void sampi_io_part(sampi_sampler *s, sampi_io *io)
{
    const sampi_keeper *keeper = sampi_keeper_of(s);
    sampi_io_u64(io, &s->position);
    if (s->kind->draws && s->rng == SAMP_RNG_MT19937) sampi_io_mt(io, sampi_mt_of(s));
    if (keeper->state) keeper->state(s, io);
}

static uint64_t sampi_fingerprint(const sampi_sampler *s)
{
    uint64_t hash = 0;
    sampi_settings(s, &hash);
    return hash;
}

/* All but the checksum. */
static void sampi_io_all(sampi_sampler *s, uint64_t fingerprint, sampi_io *io)
{
    io->bad |= sampi_io_int(io, SAMPI_STATE_MAGIC, 4) != SAMPI_STATE_MAGIC;
    io->bad |= sampi_io_int(io, SAMPI_STATE_VERSION, 4) != SAMPI_STATE_VERSION;
    io->bad |= sampi_io_int(io, fingerprint, 8) != fingerprint;
    if (!io->bad) sampi_io_part(s, io);
}

static int sampi_state_status(const samp_sampler *s)
{
    int status = samp_status(s, NULL);
    return status || sampi_can_keep((const sampi_sampler *)s) ? status : SAMP_E_UNSUPPORTED;
}

SAMP_API size_t samp_state_size(const samp_sampler *s)
{
    sampi_io io = { SAMPI_WRITE, NULL, NULL, 0, 0, false };
    if (sampi_state_status(s)) return 0;
    sampi_io_all((sampi_sampler *)(uintptr_t)s, 0, &io); /* in this mode it is only looked at */
    return io.at + 8;
}

SAMP_API int samp_state_save(const samp_sampler *s, void *bytes, size_t size)
{
    sampi_io io = { SAMPI_WRITE, (unsigned char *)bytes, NULL, 0, 0, false };
    int status = bytes ? sampi_state_status(s) : SAMP_E_NULL;
    if (status) return status;
    if (size < samp_state_size(s)) return SAMP_E_WORKSPACE;
    sampi_io_all((sampi_sampler *)(uintptr_t)s, sampi_fingerprint((const sampi_sampler *)s), &io);
    sampi_io_int(&io, sampi_checksum(bytes, io.at), 8);
    return SAMP_OK;
}

SAMP_API int samp_state_load(samp_sampler *s, const void *bytes, size_t size)
{
    sampi_io io = { SAMPI_CHECK, NULL, (const unsigned char *)bytes, size, 0, false };
    int status = bytes ? sampi_state_status(s) : SAMP_E_NULL;
    if (status) return status;
    uint64_t fingerprint = sampi_fingerprint((const sampi_sampler *)s);
    sampi_io_all((sampi_sampler *)s, fingerprint, &io);
    size_t end = io.at;
    uint64_t sum = sampi_io_int(&io, 0, 8);
    if (io.bad || io.at != size || sum != sampi_checksum(bytes, end)) return SAMP_E_FORMAT;
    io.mode = SAMPI_READ;
    io.at = 0;
    sampi_edited((sampi_sampler *)s);
    sampi_io_all((sampi_sampler *)s, fingerprint, &io);
    return SAMP_OK;
}

/* ================================================================================================ >>operator
   samp_random_sample: where running sums of the ordered row would be looked up, the order is never made. The value that
   a count or a mass is reached at is found digit by digit of its key (sampi_key: floats as integers in order), the
   highest first: one pass over the row sums how many elements and what mass fall on each digit. The tile maxima tell
   which tiles a pass may leave out. Ties of the value are then counted out by index. */

#define SAMPI_DIGITS 2048

typedef struct sampi_digit {
    uint64_t mass;
    size_t n;
} sampi_digit;

struct samp_random_sample {
    samp_dtype result, probs;
    size_t n;
};

/* A row in which values are searched. */
typedef struct sampi_ordered {
    const float *x; /* [n] no NaN */
    size_t n;
    const float *tile; /* [16 * ceil(n / 256)] maxima as the kernel gives them, or NULL */
    float top, temperature;
    sampi_digit *digit; /* [SAMPI_DIGITS] to work in */
} sampi_ordered;

/* Where a search ended: at this key, with so much above it. */
typedef struct sampi_place {
    int32_t key;
    size_t n;
    uint64_t mass;
} sampi_place;

static float sampi_op_scale(const sampi_ordered *row, float x) { return (x - row->top) / row->temperature; }

/* w [n + 16] of x [n], n <= 256 */
static void sampi_op_weights(const sampi_ordered *row, const float *x, size_t n, uint64_t *w)
{
    float y[SAMPI_TILE];
    if (n == SAMPI_TILE) /* a number that the compiler knows makes it use vectors */
        for (size_t i = 0; i < SAMPI_TILE; i++) y[i] = sampi_op_scale(row, x[i]);
    else
        for (size_t i = 0; i < n; i++) y[i] = sampi_op_scale(row, x[i]);
    sampi_use()->weights(y, n, 0.0f, w);
}

static size_t sampi_op_tile(const sampi_ordered *row, size_t at)
{
    return row->n - at < SAMPI_TILE ? row->n - at : SAMPI_TILE;
}

static uint64_t sampi_op_total(const sampi_ordered *row)
{
    uint64_t w[SAMPI_TILE + 16], total = 0;
    for (size_t at = 0; at < row->n; at += SAMPI_TILE) {
        size_t len = sampi_op_tile(row, at);
        sampi_op_weights(row, row->x + at, len, w);
        for (size_t i = 0; i < len; i++) total += w[i];
    }
    return total;
}

static bool sampi_op_skips(const sampi_ordered *row, size_t at, float least)
{
    const float *tile = row->tile ? row->tile + at / 16 : NULL;
    float max = tile ? tile[0] : least;
    for (int j = 1; tile && j < 16; j++) max = tile[j] > max ? tile[j] : max;
    return max < least;
}

/* Sum up the elements with keys lo .. lo + span by digit, (key - lo) >> shift. */
static void sampi_op_digits(const sampi_ordered *row, int32_t lo, uint32_t span, int shift)
{
    uint64_t w[SAMPI_TILE + 16];
    float x[SAMPI_TILE + 16], least = sampi_unkey(lo);
    int32_t id[SAMPI_TILE + 16];
    uint32_t digit[SAMPI_TILE + 16];
    memset(row->digit, 0, SAMPI_DIGITS * sizeof *row->digit);
    for (size_t at = 0; at < row->n; at += SAMPI_TILE) {
        if (sampi_op_skips(row, at, least)) continue;
        size_t m = sampi_use()->collect(row->x + at, NULL, 0, sampi_op_tile(row, at), least, INFINITY, x, id), n = 0;
        for (size_t i = 0; i < m; i++) {
            uint32_t off = (uint32_t)sampi_key(x[i]) - (uint32_t)lo;
            x[n] = x[i];
            digit[n] = off >> shift;
            n += off <= span;
        }
        sampi_op_weights(row, x, n, w);
        for (size_t i = 0; i < n; i++) {
            row->digit[digit[i]].n++;
            row->digit[digit[i]].mass += w[i];
        }
    }
}

/* The largest value that `need` elements reach (by_mass: elements of that mass). False if not even all those from
   `least` on are enough; then *at has their number and mass. */
static bool sampi_op_find(const sampi_ordered *row, float least, uint64_t need, bool by_mass, sampi_place *at)
{
    uint32_t span = (uint32_t)sampi_key(row->top) - (uint32_t)sampi_key(least);
    at->key = sampi_key(least);
    at->n = 0, at->mass = 0;
    for (int shift = 1; shift > 0;) { /* the key is in [at->key, at->key + span] */
        shift = 0;
        while (span >> shift >= SAMPI_DIGITS) shift++;
        sampi_op_digits(row, at->key, span, shift);
        uint32_t d = span >> shift;
        for (; (by_mass ? at->mass + row->digit[d].mass : at->n + row->digit[d].n) < need; d--) {
            at->n += row->digit[d].n;
            at->mass += row->digit[d].mass;
            if (d == 0) return false;
        }
        at->key = (int32_t)((uint32_t)at->key + (d << shift));
        span = ((uint32_t)1 << shift) - 1;
    }
    return true;
}

/* The index of the nth (1 = first) element equal to x. */
static size_t sampi_op_nth(const sampi_ordered *row, float x, uint64_t nth)
{
    for (size_t at = 0;; at += SAMPI_TILE) {
        if (sampi_op_skips(row, at, x)) continue;
        for (size_t i = at; i < at + SAMPI_TILE && i < row->n; i++)
            if (row->x[i] == x && --nth == 0) return i;
    }
}

static uint64_t sampi_op_weight(const sampi_ordered *row, float x)
{
    return sampi_weight(0.0f, sampi_op_scale(row, x));
}

/* The mass of the k largest; *least = a value that none of them is below, but for those without weight. */
static uint64_t sampi_op_mass_of(const sampi_ordered *row, size_t k, float *least)
{
    sampi_ordered maxima = *row; /* k elements reach what k of these reach */
    sampi_place at;
    maxima.x = row->tile;
    maxima.n = 16 * ((row->n + SAMPI_TILE - 1) / SAMPI_TILE);
    maxima.tile = NULL;
    if (sampi_op_find(&maxima, *least, k, false, &at)) *least = sampi_unkey(at.key);
    if (!sampi_op_find(row, *least, k, false, &at)) return at.mass;
    *least = sampi_unkey(at.key);
    return at.mass + (k - at.n) * sampi_op_weight(row, *least);
}

/* The sampled index. */
static size_t sampi_op_sample(const sampi_ordered *row, float random, float topp, size_t topk)
{
    float least = row->top - 29.0f * row->temperature; /* below it w is 0: e^-28.4 rounds to 0 in units of 2^-40 */
    sampi_place at;
    uint64_t total = topp < 1.0f || topk == row->n ? sampi_op_total(row) : 0;
    uint64_t most = topk < row->n ? sampi_op_mass_of(row, topk, &least) : total;
    uint64_t need = sampi_mass_of(sampi_share((double)random), most);
    if (topp < 1.0f) {
        uint64_t nucleus = sampi_mass_of(sampi_share((double)random * (double)topp), total);
        if (nucleus < need) need = nucleus;
    }
    if (need == 0) need = 1;
    sampi_op_find(row, least, need, true, &at); /* need <= most, so it is there */
    float x = sampi_unkey(at.key);
    uint64_t w = sampi_op_weight(row, x);
    return sampi_op_nth(row, x, (need - at.mass + w - 1) / w);
}

/* The logits as floats in out [n]; of f64 their distance to the largest. */
static int sampi_op_convert(const samp_random_sample *op, const void *probs, float *out)
{
    const double *wide = (const double *)probs;
    double max = -INFINITY;
    if (op->probs != SAMP_F64) {
        sampi_use()->fetch(probs, op->probs, NULL, 0, op->n, out);
        return SAMP_OK;
    }
    for (size_t i = 0; i < op->n; i++) {
        if (!(wide[i] <= DBL_MAX)) return SAMP_E_NAN;
        if (wide[i] > max) max = wide[i];
    }
    if (!(max >= -DBL_MAX)) return SAMP_E_EMPTY;
    for (size_t i = 0; i < op->n; i++) out[i] = (float)(wide[i] - max);
    return SAMP_OK;
}

/* How many indices a result can hold; 0: not an integer type. */
static size_t sampi_op_room(samp_dtype result)
{
    switch (result) {
        case SAMP_I8: return 1 << 7;
        case SAMP_U8: return 1 << 8;
        case SAMP_I16: return 1 << 15;
        case SAMP_U16: return 1 << 16;
        case SAMP_I32:
        case SAMP_U32:
        case SAMP_I64:
        case SAMP_U64: return SAMP_MAX_VOCAB;
        default: return 0;
    }
}

/* Signed or not, an index has the same bytes. */
static void sampi_op_write(samp_dtype result, void *to, size_t index)
{
    uint8_t i8 = (uint8_t)index;
    uint16_t i16 = (uint16_t)index;
    uint32_t i32 = (uint32_t)index;
    uint64_t i64 = index;
    switch (result) {
        case SAMP_I8:
        case SAMP_U8: memcpy(to, &i8, sizeof i8); break;
        case SAMP_I16:
        case SAMP_U16: memcpy(to, &i16, sizeof i16); break;
        case SAMP_I32:
        case SAMP_U32: memcpy(to, &i32, sizeof i32); break;
        default: memcpy(to, &i64, sizeof i64); break;
    }
}

static size_t sampi_op_tiles(const samp_random_sample *op) { return (op->n + SAMPI_TILE - 1) / SAMPI_TILE; }
static size_t sampi_op_floats(const samp_random_sample *op) { return op->probs == SAMP_F32 ? 0 : op->n; }

SAMP_API samp_random_sample *samp_random_sample_create(samp_dtype result, samp_dtype probs, size_t n, int *status)
{
    size_t room = sampi_op_room(result);
    bool floats = probs == SAMP_F32 || probs == SAMP_F16 || probs == SAMP_BF16 || probs == SAMP_F64;
    samp_random_sample *op = NULL;
    int bad = !room || !floats                 ? SAMP_E_DTYPE
              : n == 0                         ? SAMP_E_EMPTY
              : n > SAMP_MAX_VOCAB || n > room ? SAMP_E_RANGE
                                               : SAMP_OK;
    if (!bad && !(op = (samp_random_sample *)SAMP_MALLOC(sizeof *op))) bad = SAMP_E_NOMEM;
    if (op) op->result = result, op->probs = probs, op->n = n;
    if (status) *status = bad;
    return op;
}

SAMP_API size_t samp_random_sample_workspace_size(const samp_random_sample *op)
{
    const size_t align = 63;
    if (!op) return 0;
    return align + SAMPI_DIGITS * sizeof(sampi_digit) +
           (16 * sampi_op_tiles(op) + sampi_op_floats(op)) * sizeof(float);
}

SAMP_API void samp_random_sample_destroy(samp_random_sample *op)
{
    if (op) SAMP_FREE(op);
}

static int sampi_op_check(const samp_random_sample *op, float random, float topp, int32_t topk, float temperature)
{
    if (random != random || topp != topp || temperature != temperature) return SAMP_E_NAN;
    if (!(random >= 0.0f && random < 1.0f) || !(topp >= 0.0f && topp <= 1.0f)) return SAMP_E_RANGE;
    if (!(temperature >= 0.0f && temperature <= FLT_MAX)) return SAMP_E_RANGE;
    return topk >= 1 && (size_t)topk <= op->n ? SAMP_OK : SAMP_E_RANGE;
}

SAMP_API int samp_random_sample_run(const samp_random_sample *op, void *workspace, size_t workspace_size,
                                    void *result, const void *probs, float random, float topp, int32_t topk,
                                    float temperature)
{
    if (!op || !workspace || !result || !probs) return SAMP_E_NULL;
    if (workspace_size < samp_random_sample_workspace_size(op)) return SAMP_E_WORKSPACE;
    int status = sampi_op_check(op, random, topp, topk, temperature);
    if (status) return status;
    char *base = (char *)workspace + (64 - (uintptr_t)workspace % 64) % 64;
    sampi_digit *digit = (sampi_digit *)(void *)base;
    float *tile = (float *)(void *)(digit + SAMPI_DIGITS), *x = tile + 16 * sampi_op_tiles(op);
    if (op->probs != SAMP_F32 && (status = sampi_op_convert(op, probs, x))) return status;
    sampi_ordered row = { op->probs == SAMP_F32 ? (const float *)probs : x, op->n, tile, 0.0f, temperature, digit };
    row.top = sampi_use()->maxima(row.x, SAMP_F32, NULL, row.n, tile);
    if ((status = sampi_max_status(row.top))) return status;
    bool argmax = random == 0.0f || topp == 0.0f || topk == 1 || temperature == 0.0f;
    size_t index = argmax ? sampi_op_nth(&row, row.top, 1) : sampi_op_sample(&row, random, topp, (size_t)topk);
    sampi_op_write(op->result, result, index);
    return SAMP_OK;
}

/* ====================================================================================================== >>kv
   Sequences and their cache (SAMPLING_KV), after llama.cpp's. A token takes a cell; a cell belongs to a set of
   sequences and is free when the set is empty. Forking, rolling back and sliding change sets and positions, never the
   keys and values: samp_kv_update brings these up to date before the next batch. */
#ifdef SAMPLING_KV

/* The keys or the values of a layer: element i of a cell is at data + cell * stride + i * step, in bytes. */
typedef struct sampi_kv_rows {
    char *data;
    size_t n, stride, step;
    bool half; /* f16, else f32 */
} sampi_kv_rows;

typedef struct sampi_kv {
    samp_kv base;        /* must be first */
    samp_kv_params set;  /* defaults filled in; n_embd_k and n_embd_v are NULL, rows know them */
    sampi_kv_rows *rows; /* [2 n_layer] keys, values, keys, ... */
    double *turn;        /* [n_rot] cos, sin of each pair's angle */
} sampi_kv;

static const sampi_kv *sampi_kv_of(const samp_kv *kv) { return (const sampi_kv *)kv; }

/* ---- making ---- */

static samp_kv_params sampi_kv_defaults(samp_kv_params set)
{
    if (set.n_seq_max == 0) set.n_seq_max = 64;
    if (set.padding == 0) set.padding = 32;
    if (set.n_rot == 0) set.n_rot = set.n_embd_head;
    if (set.rope_theta == 0.0f) set.rope_theta = 10000.0f;
    return set;
}

static bool sampi_kv_is_type(samp_dtype type) { return type == SAMP_F32 || type == SAMP_F16; }

/* n cells of n_embd elements, in bytes. The limits of the parameters keep all sums far below 2^64. */
static size_t sampi_kv_bytes(uint32_t n_cells, uint32_t n_embd, samp_dtype type)
{
    return ((size_t)n_cells * n_embd * (type == SAMP_F16 ? 2 : 4) + 63) & ~(size_t)63;
}

static void sampi_kv_sizes(const samp_kv_params *set, size_t *k, size_t *v)
{
    *k = *v = 0;
    for (uint32_t i = 0; i < set->n_layer; i++) {
        *k += sampi_kv_bytes(set->n_cells, set->n_embd_k[i], set->type_k);
        *v += sampi_kv_bytes(set->n_cells, set->n_embd_v[i], set->type_v);
    }
}

/* SAMP_OK, or the status and the name of the first bad member. */
static int sampi_kv_check_rope(const samp_kv_params *set, const char **field)
{
    if (set->rope != SAMP_ROPE_NONE && set->rope != SAMP_ROPE_ADJACENT && set->rope != SAMP_ROPE_HALF)
        return *field = "rope", SAMP_E_RANGE;
    if (set->rope == SAMP_ROPE_NONE) return SAMP_OK;
    if (set->rope_theta != set->rope_theta) return *field = "rope_theta", SAMP_E_NAN;
    if (!(set->rope_theta > 0.0f && set->rope_theta <= FLT_MAX)) return *field = "rope_theta", SAMP_E_RANGE;
    if (set->n_embd_head < 2) return *field = "n_embd_head", SAMP_E_RANGE;
    if (set->n_rot % 2 || set->n_rot > set->n_embd_head) return *field = "n_rot", SAMP_E_RANGE;
    for (uint32_t i = 0; i < set->n_layer; i++)
        if (set->n_embd_k[i] % set->n_embd_head) return *field = "n_embd_head", SAMP_E_RANGE;
    return SAMP_OK;
}

static int sampi_kv_check_layers(const samp_kv_params *set, const char **field)
{
    if (set->n_layer > 4096) return *field = "n_layer", SAMP_E_RANGE;
    if (set->n_layer && !set->n_embd_k) return *field = "n_embd_k", SAMP_E_NULL;
    if (set->n_layer && !set->n_embd_v) return *field = "n_embd_v", SAMP_E_NULL;
    for (uint32_t i = 0; i < set->n_layer; i++) {
        if (set->n_embd_k[i] - 1 >= (uint32_t)1 << 20) return *field = "n_embd_k", SAMP_E_RANGE;
        if (set->n_embd_v[i] - 1 >= (uint32_t)1 << 20) return *field = "n_embd_v", SAMP_E_RANGE;
    }
    if (!sampi_kv_is_type(set->type_k)) return *field = "type_k", SAMP_E_DTYPE;
    if (!sampi_kv_is_type(set->type_v)) return *field = "type_v", SAMP_E_DTYPE;
    return SAMP_OK;
}

static int sampi_kv_check(const samp_kv_params *set, const char **field)
{
    size_t k, v;
    if (set->n_cells < 1 || set->n_cells > (uint32_t)1 << 26) return *field = "n_cells", SAMP_E_RANGE;
    if (set->n_seq_max > 64) return *field = "n_seq_max", SAMP_E_RANGE;
    if (set->padding > (uint32_t)1 << 16) return *field = "padding", SAMP_E_RANGE;
    if (set->defrag_threshold != set->defrag_threshold) return *field = "defrag_threshold", SAMP_E_NAN;
    if (!(set->defrag_threshold >= 0.0f && set->defrag_threshold < 1.0f))
        return *field = "defrag_threshold", SAMP_E_RANGE;
    int status = sampi_kv_check_layers(set, field);
    if (!status) status = sampi_kv_check_rope(set, field);
    if (status || !set->memory) return status;
    if ((uintptr_t)set->memory % 64) return *field = "memory", SAMP_E_RANGE;
    sampi_kv_sizes(set, &k, &v);
    if (set->memory_size < k + v) return *field = "memory_size", SAMP_E_WORKSPACE;
    return SAMP_OK;
}

SAMP_API int samp_kv_check_params(const samp_kv_params *params, const char **field)
{
    const char *bad = "params";
    int status = SAMP_E_NULL;
    if (params) {
        samp_kv_params set = sampi_kv_defaults(*params);
        bad = NULL;
        status = sampi_kv_check(&set, &bad);
    }
    if (field) *field = bad;
    return status;
}

SAMP_API size_t samp_kv_size(const samp_kv_params *params, size_t *k, size_t *v)
{
    size_t k_bytes = 0, v_bytes = 0;
    samp_kv_params set;
    if (params) {
        set = *params;
        set.memory = NULL; /* its size is what the caller wants to know */
        if (samp_kv_check_params(&set, NULL) == SAMP_OK) sampi_kv_sizes(&set, &k_bytes, &v_bytes);
    }
    if (k) *k = k_bytes;
    if (v) *v = v_bytes;
    return k_bytes + v_bytes;
}

static char *sampi_kv_layer(sampi_kv_rows *r, char *data, uint32_t n_cells, uint32_t n_embd, samp_dtype type,
                            bool transposed)
{
    size_t width = type == SAMP_F16 ? 2 : 4;
    r->data = data;
    r->n = n_embd;
    r->stride = transposed ? width : n_embd * width;
    r->step = transposed ? n_cells * width : width;
    r->half = type == SAMP_F16;
    return data + sampi_kv_bytes(n_cells, n_embd, type);
}

SAMP_API samp_kv *samp_kv_init(const samp_kv_params *params, int *status)
{
    int result = samp_kv_check_params(params, NULL);
    if (status) *status = result;
    if (result) return NULL;

    samp_kv_params set = sampi_kv_defaults(*params);
    size_t cells = sampi_round_up(sizeof(sampi_kv)), rows = cells + set.n_cells * sizeof(samp_kv_cell);
    size_t turn = rows + sampi_round_up(2 * set.n_layer * sizeof(sampi_kv_rows));
    size_t end = turn + (set.rope ? set.n_rot : 0) * sizeof(double), bytes = samp_kv_size(params, NULL, NULL);
    char *block = (char *)SAMP_MALLOC(set.memory ? end : end + 64 + bytes), *data = (char *)set.memory;
    if (!block) {
        if (status) *status = SAMP_E_NOMEM;
        return NULL;
    }
    sampi_kv *kv = (sampi_kv *)(void *)block;
    memset(block, 0, end);
    kv->base.size = set.n_cells;
    kv->base.cells = (samp_kv_cell *)(void *)(block + cells);
    kv->rows = (sampi_kv_rows *)(void *)(block + rows);
    kv->turn = (double *)(void *)(block + turn);
    if (!data) data = block + end + (64 - (uintptr_t)(block + end) % 64) % 64;
    if (bytes) memset(data, 0, bytes);
    for (uint32_t i = 0; i < set.n_layer; i++)
        data = sampi_kv_layer(&kv->rows[2 * i], data, set.n_cells, set.n_embd_k[i], set.type_k, false);
    for (uint32_t i = 0; i < set.n_layer; i++)
        data = sampi_kv_layer(&kv->rows[2 * i + 1], data, set.n_cells, set.n_embd_v[i], set.type_v, set.v_trans);
    set.n_embd_k = set.n_embd_v = NULL;
    kv->set = set;
    samp_kv_clear(&kv->base);
    return &kv->base;
}

SAMP_API void samp_kv_free(samp_kv *kv) { SAMP_FREE(kv); }

SAMPI_STATIC_ASSERT(offsetof(samp_kv_cell, delta) == 4 && sizeof(samp_kv_cell) == 16,
                    "a state has pos, delta in a row");
static const samp_kv_cell SAMPI_KV_FREE = { -1, 0, 0 };

SAMP_API void samp_kv_clear(samp_kv *kv)
{
    if (!kv) return;
    for (uint32_t i = 0; i < kv->size; i++) kv->cells[i] = SAMPI_KV_FREE;
    kv->used = kv->head = kv->n = 0;
    kv->has_shift = kv->do_defrag = false;
}

/* ---- finding a slot ---- */

/* How many cells there are up to the last one in use. */
static uint32_t sampi_kv_cell_max(const samp_kv *kv)
{
    uint32_t n = kv->size;
    while (n > 0 && kv->cells[n - 1].pos < 0) n--;
    return n;
}

static void sampi_kv_attend(samp_kv *kv)
{
    uint32_t padding = sampi_kv_of(kv)->set.padding, max = sampi_kv_cell_max(kv);
    uint32_t n = max ? (max + padding - 1) / padding * padding : padding;
    kv->n = n < kv->size ? n : kv->size;
}

/* The sequences that there are, as a set. */
static uint64_t sampi_kv_all(const samp_kv *kv) { return ~(uint64_t)0 >> (64 - sampi_kv_of(kv)->set.n_seq_max); }

static int sampi_kv_check_batch(const samp_kv *kv, const samp_kv_batch *batch)
{
    if (!kv || !batch || !batch->pos || !batch->seq) return SAMP_E_NULL;
    if (batch->n_tokens < 1 || batch->n_tokens > kv->size) return SAMP_E_RANGE;
    for (uint32_t i = 0; i < batch->n_tokens; i++) {
        if (batch->seq[i] == 0 || (batch->seq[i] & ~sampi_kv_all(kv))) return SAMP_E_RANGE;
        if (batch->pos[i] < 0 || batch->pos[i] == INT32_MAX) return SAMP_E_RANGE;
    }
    return SAMP_OK;
}

/* last [64] becomes pos for the sequences of the set; false if one of them is there already, or farther. */
static bool sampi_kv_follow(int32_t *last, uint64_t set, int32_t pos)
{
    for (; set; set &= set - 1) {
        int s = __builtin_ctzll(set);
        if (last[s] >= pos) return false;
        last[s] = pos;
    }
    return true;
}

/* Do the positions of each sequence go up, in the batch and from the cache to the batch? */
static bool sampi_kv_goes_up(const samp_kv *kv, const samp_kv_batch *batch)
{
    int32_t last[64];
    uint64_t all = 0;
    for (int s = 0; s < 64; s++) last[s] = -1;
    for (uint32_t i = 0; i < batch->n_tokens; i++) all |= batch->seq[i];
    for (uint32_t i = 0; i < kv->size; i++) {
        for (uint64_t set = kv->cells[i].seq & all; set; set &= set - 1) {
            int s = __builtin_ctzll(set);
            if (last[s] < kv->cells[i].pos) last[s] = kv->cells[i].pos;
        }
    }
    for (uint32_t i = 0; i < batch->n_tokens; i++)
        if (!sampi_kv_follow(last, batch->seq[i], batch->pos[i])) return false;
    return true;
}

/* Where a search begins: cells before a far head are probably free. */
static uint32_t sampi_kv_start(const samp_kv *kv, uint32_t n_tokens)
{
    return kv->head > kv->used + 2 * n_tokens ? 0 : kv->head;
}

/* The first of n_tokens free neighbours, or size. */
static uint32_t sampi_kv_find_run(const samp_kv *kv, uint32_t n_tokens)
{
    uint32_t head = sampi_kv_start(kv, n_tokens), tested = 0;
    while (tested < kv->size) {
        uint32_t i = 0;
        if (head + n_tokens > kv->size) {
            tested += kv->size - head;
            head = 0;
        }
        while (i < n_tokens && kv->cells[head + i].pos < 0) i++;
        if (i == n_tokens) return head;
        head += i + 1;
        tested += i + 1;
    }
    return kv->size;
}

SAMP_API int samp_kv_find_slot(samp_kv *kv, const samp_kv_batch *batch, samp_kv_slot kind, uint32_t *cells)
{
    int status = sampi_kv_check_batch(kv, batch);
    if (status) return status;
    if ((kind != SAMP_KV_RUN && kind != SAMP_KV_SCATTERED) || !sampi_kv_goes_up(kv, batch)) return SAMP_E_RANGE;
    uint32_t n = batch->n_tokens, at = sampi_kv_find_run(kv, n);
    if (at == kv->size) {
        if (kind == SAMP_KV_RUN || kv->size - kv->used < n) return SAMP_E_FULL;
        at = sampi_kv_start(kv, n);
    }
    for (uint32_t i = 0; i < n; at++) {
        if (at == kv->size) at = 0;
        if (kv->cells[at].pos >= 0) continue;
        if (i == 0) kv->head = at;
        if (cells) cells[i] = at;
        kv->cells[at].pos = batch->pos[i];
        kv->cells[at].seq = batch->seq[i++];
    }
    kv->used += n;
    sampi_kv_attend(kv);
    return SAMP_OK;
}

/* ---- operations on a sequence ---- */

static int sampi_kv_check_range(const samp_kv *kv, int32_t seq, int32_t *p0, int32_t *p1)
{
    if (!kv) return SAMP_E_NULL;
    if (seq < 0 || seq >= (int32_t)sampi_kv_of(kv)->set.n_seq_max) return SAMP_E_RANGE;
    if (*p0 < 0) *p0 = 0;
    if (*p1 < 0) *p1 = INT32_MAX;
    return *p0 <= *p1 ? SAMP_OK : SAMP_E_RANGE;
}

static bool sampi_kv_has(const samp_kv_cell *cell, int32_t seq, int32_t p0, int32_t p1)
{
    return (cell->seq >> seq & 1) && cell->pos >= p0 && cell->pos < p1;
}

static void sampi_kv_release(samp_kv *kv, uint32_t i)
{
    kv->cells[i] = SAMPI_KV_FREE;
    kv->used--;
    if (i < kv->head) kv->head = i;
}

/* Take the sequences out of a cell's set. */
static void sampi_kv_leave(samp_kv *kv, uint32_t i, uint64_t set)
{
    if (!(kv->cells[i].seq & set)) return;
    kv->cells[i].seq &= ~set;
    if (kv->cells[i].seq == 0) sampi_kv_release(kv, i);
}

SAMP_API int samp_kv_seq_rm(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1)
{
    int status = sampi_kv_check_range(kv, seq < 0 ? 0 : seq, &p0, &p1);
    if (status) return status;
    uint64_t set = seq < 0 ? sampi_kv_all(kv) : (uint64_t)1 << seq;
    for (uint32_t i = 0; i < kv->size; i++)
        if (kv->cells[i].pos >= p0 && kv->cells[i].pos < p1) sampi_kv_leave(kv, i, set);
    return SAMP_OK;
}

SAMP_API int samp_kv_seq_cp(samp_kv *kv, int32_t src, int32_t dst, int32_t p0, int32_t p1)
{
    int status = sampi_kv_check_range(kv, src, &p0, &p1);
    if (!status) status = sampi_kv_check_range(kv, dst, &p0, &p1);
    if (status) return status;
    for (uint32_t i = 0; i < kv->size; i++)
        if (sampi_kv_has(&kv->cells[i], src, p0, p1)) kv->cells[i].seq |= (uint64_t)1 << dst;
    return SAMP_OK;
}

SAMP_API int samp_kv_seq_keep(samp_kv *kv, int32_t seq)
{
    int32_t p0 = -1, p1 = -1;
    int status = sampi_kv_check_range(kv, seq, &p0, &p1);
    if (status) return status;
    for (uint32_t i = 0; i < kv->size; i++) sampi_kv_leave(kv, i, ~((uint64_t)1 << seq));
    return SAMP_OK;
}

/* pos: where cell i moves to; below 0: out. */
static void sampi_kv_move_to(samp_kv *kv, uint32_t i, int64_t pos)
{
    samp_kv_cell *cell = &kv->cells[i];
    if (pos < 0) {
        sampi_kv_release(kv, i);
    } else {
        cell->delta += (int32_t)(pos - cell->pos); /* pos - delta is the position of its keys: never below 0 */
        cell->pos = (int32_t)pos;
        kv->has_shift = true;
    }
}

SAMP_API int samp_kv_seq_add(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1, int32_t delta)
{
    int status = sampi_kv_check_range(kv, seq, &p0, &p1);
    if (status) return status;
    for (uint32_t i = 0; i < kv->size; i++)
        if (sampi_kv_has(&kv->cells[i], seq, p0, p1) && (int64_t)kv->cells[i].pos + delta >= INT32_MAX)
            return SAMP_E_RANGE;
    for (uint32_t i = 0; i < kv->size && delta; i++)
        if (sampi_kv_has(&kv->cells[i], seq, p0, p1)) sampi_kv_move_to(kv, i, (int64_t)kv->cells[i].pos + delta);
    return SAMP_OK;
}

SAMP_API int samp_kv_seq_div(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1, int32_t d)
{
    int status = sampi_kv_check_range(kv, seq, &p0, &p1);
    if (!status && d < 1) status = SAMP_E_RANGE;
    if (status) return status;
    for (uint32_t i = 0; i < kv->size && d > 1; i++)
        if (sampi_kv_has(&kv->cells[i], seq, p0, p1)) sampi_kv_move_to(kv, i, kv->cells[i].pos / d);
    return SAMP_OK;
}

/* The largest sign * position, so that -1 asks for the smallest. */
static int32_t sampi_kv_extreme(const samp_kv *kv, int32_t seq, int32_t sign)
{
    int32_t best = -1, p0 = -1, p1 = -1;
    if (!kv) return -1;
    if (sampi_kv_check_range(kv, seq, &p0, &p1)) return SAMP_E_RANGE;
    for (uint32_t i = 0; i < kv->size; i++) {
        int32_t pos = kv->cells[i].pos;
        if (sampi_kv_has(&kv->cells[i], seq, p0, p1) && (best < 0 || sign * pos > sign * best)) best = pos;
    }
    return best;
}

SAMP_API int32_t samp_kv_seq_pos_min(const samp_kv *kv, int32_t seq) { return sampi_kv_extreme(kv, seq, -1); }
SAMP_API int32_t samp_kv_seq_pos_max(const samp_kv *kv, int32_t seq) { return sampi_kv_extreme(kv, seq, 1); }

/* ---- keys and values ---- */

static const sampi_kv_rows *sampi_kv_rows_of(const samp_kv *kv, uint32_t layer)
{
    return kv && layer < sampi_kv_of(kv)->set.n_layer ? &sampi_kv_of(kv)->rows[2 * layer] : NULL;
}

SAMP_API void *samp_kv_keys(const samp_kv *kv, uint32_t layer)
{
    const sampi_kv_rows *r = sampi_kv_rows_of(kv, layer);
    return r ? r[0].data : NULL;
}

SAMP_API void *samp_kv_values(const samp_kv *kv, uint32_t layer)
{
    const sampi_kv_rows *r = sampi_kv_rows_of(kv, layer);
    return r ? r[1].data : NULL;
}

static void sampi_kv_store(const sampi_kv_rows *r, size_t cell, size_t i, float x)
{
    uint16_t h = r->half ? sampi_f32_to_f16(x) : 0;
    memcpy(r->data + cell * r->stride + i * r->step, r->half ? (const void *)&h : (const void *)&x, r->half ? 2 : 4);
}

static float sampi_kv_load(const sampi_kv_rows *r, size_t cell, size_t i)
{
    const char *p = r->data + cell * r->stride + i * r->step;
    uint16_t h;
    float x;
    if (!r->half) return memcpy(&x, p, 4), x;
    memcpy(&h, p, 2);
    return sampi_f16_to_f32(h);
}

/* A cell's elements as they are, between rows of one type. */
static void sampi_kv_copy(const sampi_kv_rows *to, size_t to_cell, const sampi_kv_rows *from, size_t from_cell)
{
    char *t = to->data + to_cell * to->stride;
    const char *f = from->data + from_cell * from->stride;
    size_t width = to->half ? 2 : 4, piece = to->step == width && from->step == width ? to->n * width : width;
    for (size_t i = 0; i < to->n; i += piece / width) memcpy(t + i * to->step, f + i * from->step, piece);
}

/* One cell's elements as f32, from x or to x [n]. */
static void sampi_kv_set(const sampi_kv_rows *r, size_t cell, const float *x)
{
    const sampi_kv_rows plain = { (char *)(uintptr_t)x, r->n, 0, 4, false };
    if (!r->half) sampi_kv_copy(r, cell, &plain, 0);
    for (size_t i = 0; r->half && i < r->n; i++) sampi_kv_store(r, cell, i, x[i]);
}

static void sampi_kv_read(const sampi_kv_rows *r, size_t cell, float *x)
{
    const sampi_kv_rows plain = { (char *)x, r->n, 0, 4, false };
    if (!r->half) sampi_kv_copy(&plain, 0, r, cell);
    for (size_t i = 0; r->half && i < r->n; i++) x[i] = sampi_kv_load(r, cell, i);
}

SAMP_API int samp_kv_put(samp_kv *kv, uint32_t layer, uint32_t cell, const float *k, const float *v)
{
    const sampi_kv_rows *r = sampi_kv_rows_of(kv, layer);
    if (!kv) return SAMP_E_NULL;
    if (!r || cell >= kv->size) return SAMP_E_RANGE;
    if (k) sampi_kv_set(&r[0], cell, k);
    if (v) sampi_kv_set(&r[1], cell, v);
    return SAMP_OK;
}

SAMP_API int samp_kv_get(const samp_kv *kv, uint32_t layer, uint32_t cell, float *k, float *v)
{
    const sampi_kv_rows *r = sampi_kv_rows_of(kv, layer);
    if (!kv) return SAMP_E_NULL;
    if (!r || cell >= kv->size) return SAMP_E_RANGE;
    if (k) sampi_kv_read(&r[0], cell, k);
    if (v) sampi_kv_read(&r[1], cell, v);
    return SAMP_OK;
}

/* ---- update: shifts, then holes ---- */

/* The angles of delta positions. */
static void sampi_kv_turn_by(sampi_kv *kv, int32_t delta)
{
    uint32_t n_rot = kv->set.n_rot;
    for (uint32_t i = 0; i < n_rot; i += 2) {
        double angle = delta * sampi_pow((double)kv->set.rope_theta, -(double)i / n_rot);
        kv->turn[i] = cos(angle);
        kv->turn[i + 1] = sin(angle);
    }
}

/* Turn all heads of a cell's key in one layer. */
static void sampi_kv_rotate(const sampi_kv *kv, const sampi_kv_rows *r, uint32_t cell)
{
    bool adjacent = kv->set.rope == SAMP_ROPE_ADJACENT;
    uint32_t n_rot = kv->set.n_rot, apart = adjacent ? 1 : n_rot / 2;
    for (size_t head = 0; head < r->n; head += kv->set.n_embd_head) {
        for (uint32_t i = 0; i < n_rot; i += 2) {
            size_t at = head + (adjacent ? i : i / 2);
            double a = (double)sampi_kv_load(r, cell, at), b = (double)sampi_kv_load(r, cell, at + apart);
            double c = kv->turn[i], s = kv->turn[i + 1];
            sampi_kv_store(r, cell, at, (float)fma(a, c, -sampi_round(b * s)));
            sampi_kv_store(r, cell, at + apart, (float)fma(a, s, sampi_round(b * c)));
        }
    }
}

static void sampi_kv_shift(sampi_kv *kv)
{
    int32_t turned = 0;
    for (uint32_t i = 0; i < kv->base.size; i++) {
        int32_t delta = kv->base.cells[i].delta;
        kv->base.cells[i].delta = 0;
        if (delta == 0 || kv->set.rope == SAMP_ROPE_NONE) continue;
        if (delta != turned) sampi_kv_turn_by(kv, turned = delta); /* neighbours mostly share it */
        for (uint32_t layer = 0; layer < kv->set.n_layer; layer++) sampi_kv_rotate(kv, &kv->rows[2 * layer], i);
    }
    kv->base.has_shift = false;
}

static bool sampi_kv_has_holes(const sampi_kv *kv)
{
    uint32_t max = sampi_kv_cell_max(&kv->base), holes = max - kv->base.used;
    return kv->set.defrag_threshold > 0.0f && (double)holes > (double)kv->set.defrag_threshold * max;
}

static void sampi_kv_move(sampi_kv *kv, uint32_t from, uint32_t to)
{
    kv->base.cells[to] = kv->base.cells[from];
    kv->base.cells[from] = SAMPI_KV_FREE;
    for (uint32_t i = 0; i < 2 * kv->set.n_layer; i++) sampi_kv_copy(&kv->rows[i], to, &kv->rows[i], from);
}

/* As many cells behind `used` are in use as before it are free, so this many moves are needed, and no more. */
static void sampi_kv_fill_holes(sampi_kv *kv)
{
    samp_kv_cell *cells = kv->base.cells;
    uint32_t hole = 0, used = kv->base.used;
    for (uint32_t i = used; i < kv->base.size; i++) {
        if (cells[i].pos < 0) continue;
        while (cells[hole].pos >= 0) hole++;
        sampi_kv_move(kv, i, hole);
    }
    kv->base.head = used < kv->base.size ? used : 0;
    kv->base.do_defrag = false;
    sampi_kv_attend(&kv->base);
}

SAMP_API int samp_kv_update(samp_kv *kv)
{
    if (!kv) return SAMP_E_NULL;
    if (kv->has_shift) sampi_kv_shift((sampi_kv *)kv);
    if (kv->do_defrag || sampi_kv_has_holes(sampi_kv_of(kv))) sampi_kv_fill_holes((sampi_kv *)kv);
    return SAMP_OK;
}

SAMP_API int samp_kv_defrag(samp_kv *kv)
{
    if (!kv) return SAMP_E_NULL;
    kv->do_defrag = true;
    return SAMP_OK;
}

/* ---- the mask ---- */

SAMP_API int samp_kv_mask(const samp_kv *kv, const samp_kv_batch *batch, uint32_t *bits, float *bias)
{
    int status = sampi_kv_check_batch(kv, batch);
    if (status) return status;
    size_t n = kv->n, words = (n + 31) / 32;
    if (bits) memset(bits, 0, batch->n_tokens * words * sizeof *bits);
    for (size_t t = 0; t < batch->n_tokens; t++) {
        uint64_t set = batch->seq[t];
        for (size_t c = 0; c < n; c++) {
            bool seen = (kv->cells[c].seq & set) == set && kv->cells[c].pos <= batch->pos[t];
            if (bits) bits[t * words + c / 32] |= (uint32_t)seen << c % 32;
            if (bias) bias[t * n + c] = seen ? 0.0f : -INFINITY;
        }
    }
    return SAMP_OK;
}

/* ---- a sequence as bytes ----
   Words of 32 bits, least significant byte first (so is everything else, on the targets there are):
       fields [9 + 2 n_layer], see sampi_kv_field;  n, the number of cells;  pos, delta of each cell;
       for each layer the keys of each cell, then the values of each cell, as they are in the buffers;
       a checksum of all that, 64 bits. */

#define SAMPI_KV_MAGIC   0x564B4D53u /* "SMKV" */
#define SAMPI_KV_VERSION 1u

/* What must be the same in the cache that loads. */
static uint32_t sampi_kv_field(const sampi_kv *kv, size_t i)
{
    const samp_kv_params *set = &kv->set;
    bool rope = set->rope != SAMP_ROPE_NONE;
    uint32_t theta;
    memcpy(&theta, &set->rope_theta, 4);
    switch (i) {
        case 0: return SAMPI_KV_MAGIC;
        case 1: return SAMPI_KV_VERSION;
        case 2: return (uint32_t)set->type_k;
        case 3: return (uint32_t)set->type_v;
        case 4: return (uint32_t)set->rope;
        case 5: return rope ? set->n_embd_head : 0;
        case 6: return rope ? set->n_rot : 0;
        case 7: return rope ? theta : 0;
        case 8: return set->n_layer;
        default: return (uint32_t)kv->rows[i - 9].n;
    }
}

static size_t sampi_kv_n_fields(const sampi_kv *kv) { return 9 + 2 * (size_t)kv->set.n_layer; }

static size_t sampi_kv_state_bytes(const sampi_kv *kv, size_t n)
{
    size_t per_cell = 8;
    for (size_t i = 0; i < 2 * (size_t)kv->set.n_layer; i++) per_cell += kv->rows[i].n * (kv->rows[i].half ? 2 : 4);
    return 4 * sampi_kv_n_fields(kv) + 4 + n * per_cell + 8;
}

static uint32_t sampi_kv_count(const samp_kv *kv, int32_t seq)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < kv->size; i++) n += kv->cells[i].seq >> seq & 1;
    return n;
}

SAMP_API size_t samp_kv_state_size(const samp_kv *kv, int32_t seq)
{
    int32_t p0 = -1, p1 = -1;
    if (sampi_kv_check_range(kv, seq, &p0, &p1)) return 0;
    return sampi_kv_state_bytes(sampi_kv_of(kv), sampi_kv_count(kv, seq));
}

static void sampi_kv_write(char **to, const void *from, size_t n)
{
    memcpy(*to, from, n);
    *to += n;
}

static uint32_t sampi_kv_word(const char *bytes, size_t i)
{
    uint32_t x;
    memcpy(&x, bytes + 4 * i, 4);
    return x;
}

/* The same rows packed: cells one behind the other. */
static sampi_kv_rows sampi_kv_packed(const sampi_kv_rows *r, char *data)
{
    sampi_kv_rows packed = *r;
    packed.data = data;
    packed.step = r->half ? 2 : 4;
    packed.stride = packed.n * packed.step;
    return packed;
}

SAMP_API int samp_kv_state_save(const samp_kv *cache, int32_t seq, void *bytes, size_t size)
{
    const sampi_kv *kv = sampi_kv_of(cache);
    int32_t p0 = -1, p1 = -1;
    int status = sampi_kv_check_range(cache, seq, &p0, &p1);
    if (!status && !bytes) status = SAMP_E_NULL;
    if (status) return status;
    uint32_t n = sampi_kv_count(cache, seq);
    size_t all = sampi_kv_state_bytes(kv, n);
    char *to = (char *)bytes;
    if (size < all) return SAMP_E_WORKSPACE;
    for (size_t i = 0; i < sampi_kv_n_fields(kv); i++) {
        uint32_t field = sampi_kv_field(kv, i);
        sampi_kv_write(&to, &field, 4);
    }
    sampi_kv_write(&to, &n, 4);
    for (uint32_t i = 0; i < cache->size; i++)
        if (cache->cells[i].seq >> seq & 1) sampi_kv_write(&to, &cache->cells[i], 8); /* pos, delta */
    for (size_t k = 0; k < 2 * (size_t)kv->set.n_layer; k++) {
        sampi_kv_rows packed = sampi_kv_packed(&kv->rows[k], to);
        size_t at = 0;
        for (uint32_t i = 0; i < cache->size; i++)
            if (cache->cells[i].seq >> seq & 1) sampi_kv_copy(&packed, at++, &kv->rows[k], i);
        to += n * packed.stride;
    }
    uint64_t sum = sampi_checksum(bytes, (size_t)(to - (char *)bytes));
    sampi_kv_write(&to, &sum, 8);
    return SAMP_OK;
}

/* Is that a state which kv could have saved? *n becomes its number of cells. */
static int sampi_kv_check_state(const sampi_kv *kv, const char *bytes, size_t size, uint32_t *n)
{
    size_t fields = sampi_kv_n_fields(kv);
    uint64_t sum;
    if (size < sampi_kv_state_bytes(kv, 0)) return SAMP_E_FORMAT;
    for (size_t i = 0; i < fields; i++)
        if (sampi_kv_word(bytes, i) != sampi_kv_field(kv, i)) return SAMP_E_FORMAT;
    *n = sampi_kv_word(bytes, fields);
    if (*n > (uint32_t)1 << 26 || size != sampi_kv_state_bytes(kv, *n)) return SAMP_E_FORMAT;
    memcpy(&sum, bytes + size - 8, 8);
    if (sum != sampi_checksum(bytes, size - 8)) return SAMP_E_FORMAT;
    for (uint32_t i = 0; i < *n; i++) {
        int64_t pos = (int32_t)sampi_kv_word(bytes, fields + 1 + 2 * (size_t)i);
        int64_t born = pos - (int32_t)sampi_kv_word(bytes, fields + 2 + 2 * (size_t)i);
        if (pos < 0 || pos >= INT32_MAX || born < 0 || born >= INT32_MAX) return SAMP_E_FORMAT;
    }
    return SAMP_OK;
}

SAMP_API int samp_kv_state_load(samp_kv *cache, int32_t seq, const void *bytes, size_t size)
{
    sampi_kv *kv = (sampi_kv *)cache;
    int32_t p0 = -1, p1 = -1;
    uint32_t n, room = 0;
    int status = sampi_kv_check_range(cache, seq, &p0, &p1);
    if (!status) status = bytes ? sampi_kv_check_state(kv, (const char *)bytes, size, &n) : SAMP_E_NULL;
    if (status) return status;
    uint64_t set = (uint64_t)1 << seq;
    for (uint32_t i = 0; i < cache->size; i++) room += (cache->cells[i].seq & ~set) == 0;
    if (room < n) return SAMP_E_FULL;

    samp_kv_seq_rm(cache, seq, -1, -1);
    size_t at = sampi_kv_n_fields(kv) + 1; /* in words; the first row comes behind the cells */
    char *row = (char *)(uintptr_t)bytes + 4 * at + 8 * (size_t)n;
    for (uint32_t i = 0, cell = cache->head; i < n; cell = (cell + 1) % cache->size) {
        if (cache->cells[cell].pos >= 0) continue;
        char *data = row;
        for (size_t k = 0; k < 2 * (size_t)kv->set.n_layer; k++) {
            sampi_kv_rows packed = sampi_kv_packed(&kv->rows[k], data);
            sampi_kv_copy(&kv->rows[k], cell, &packed, i);
            data += n * packed.stride;
        }
        cache->cells[cell].pos = (int32_t)sampi_kv_word((const char *)bytes, at++);
        cache->cells[cell].delta = (int32_t)sampi_kv_word((const char *)bytes, at++);
        cache->cells[cell].seq = set;
        cache->has_shift |= cache->cells[cell].delta != 0;
        i++;
    }
    cache->used += n;
    sampi_kv_attend(cache);
    return SAMP_OK;
}

#endif /* SAMPLING_KV */

#endif /* SAMPLING_IMPLEMENTATION */

/* MIT License

   Copyright (c) 2026 the sampling.h authors

   Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
   documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
   rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to
   permit persons to whom the Software is furnished to do so, subject to the following conditions:

   The above copyright notice and this permission notice shall be included in all copies or substantial portions of
   the Software.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO
   THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
   AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
   TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
   SOFTWARE. */
