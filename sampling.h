/* sampling.h - from a language model's logits to the next token.        MIT license, at the end of the file.

   One header, no dependency beyond libc and libm. In exactly one C or C++ file:

       #define SAMPLING_IMPLEMENTATION
       #include "sampling.h"

   everywhere else only the #include. C11 or C++11, gcc 11 or clang 14 and later, any machine with IEEE floats, of 32 or
   64 bits; with kernels of its own for x86-64 (AVX-512, AVX2, SSE2), arm64 and WebAssembly. Another compiler (cl.exe,
   not tried yet) gets plain C.

       samp_params params = samp_default_params();            // top_k 40, top_p 0.95, min_p 0.05, temp 0.8
       samp_sampler *chain = samp_chain_from_params(&params, NULL);
       samp_token token = samp_sample(chain, logits, n_vocab);        // >= 0, or a negative status
       samp_free(chain);

   HOW A TOKEN COMES ABOUT

       logits [n_vocab] f32                                              samp_sample          >>sample
         -> array of {id, logit, p} [n_vocab]                            samp_token_data_array
         -> logit_bias, penalties, dry      change logits                apply, one by one    >>logits
         -> top_n_sigma, top_k, tail_free,
            typical, top_p, min_p, top_a,
            xtc, infill                     remove tokens                                     >>truncation
         -> temp, temp_ext                  scale logits                                      >>temperature
         -> greedy, dist, mirostat,
            mirostat_v2, adaptive_p         select one token                                  >>selection
         -> token id                        and every sampler is told of it by accept

   A sampler is an object with six functions (samp_sampler_i). A chain is a sampler that owns others and applies them
   in order; any order is allowed. Your own sampler stands in a chain like any other (samp_init_custom).

   TWO EXECUTORS, ONE MEANING. Step by step, over an array of candidates, is the definition. samp_sample takes the
   fast path (>>fast) where it can: straight from the logits, without the array, with thresholds instead of sorts and
   SIMD kernels chosen at run time; where it cannot, it goes on step by step. The token is the same, always. samp_apply
   (>>apply) does with an array what the steps would, to the last bit, by the same path where that is long.

   The file is in the order of execution. Search for the tags:
       >>config  >>types  >>api                                        what you use; stop there if that is enough
       >>impl  >>rng  >>math                                           the ground: switches, random bits, arithmetic
       >>kernels  >>scalar  >>vectors  >>passes  >>dispatch            loops over a row, for every instruction set
       >>array                                                         checks, order and sums of candidates
       >>sampler  >>logits  >>truncation  >>temperature  >>selection   one sampler after the other
       >>llama                                                         the same samplers in llama.cpp's arithmetic
       >>describe  >>params  >>settings                                the table of samplers, constructors; by name
       >>rollback  >>chain  >>fast  >>sample  >>apply                  applying them: samp_sample, samp_apply; and
                                                                       taking tokens back
       >>verify  >>batch  >>state  >>operator                          drafts; many rows; what a sampler has become, as
                                                                       bytes; sampling as an operator, without samplers
       >>kv                                                            sequences and their key-value cache
       >>llama_cpp                                                     a chain behind llama.cpp's own interface
       >>grammar                                                       what a text may be, and which tokens continue it
       >>json  >>schema                                                JSON; its schemas as grammars

   MACROS (define before including; all of them matter only in the file with the implementation, unless noted)
       SAMPLING_IMPLEMENTATION     makes the function bodies appear
       SAMPLING_STATIC             all functions static: a private copy (define it wherever you include the file). They
                                   are declared where SAMPLING_IMPLEMENTATION is, elsewhere there are only >>types
       SAMP_MALLOC(n) SAMP_FREE(p) the heap, both or neither; SAMP_FREE must take NULL. What allocates: what makes an
                                   object or a copy (samp_chain_add and samp_chain_update too), samp_set_n_prev,
                                   samp_set_rollback, samp_reserve, and where nobody called that, the first
                                   samp_sample of a size, samp_apply of more than 256 candidates, and the first token
                                   that a sampler with a state draws or accepts (see samp_rollback)
       SAMP_CLOCK()                nanoseconds as uint64_t; without it no time is measured (samp_perf)
       SAMPLING_KV                 the key-value cache, samp_kv (define it wherever you include the file)
       SAMPLING_LLAMA              chains in a llama.cpp program, samp_llama (define it wherever you include the file)
       SAMPLING_GRAMMAR            grammars, samp_grammar (define it wherever you include the file)
       SAMP_API                    storage class of the public functions (wherever you include the file)
       SAMP_NO_SIMD SAMP_NO_SSE2 SAMP_NO_AVX2 SAMP_NO_AVX512 SAMP_NO_NEON SAMP_NO_WASM       leave these kernels out
                                   (AVX-512 needs AVX2's)
       SAMP_SELF_INCLUDE           this file's name, "sampling.h" with its quotes, if you call it something else: it
                                   compiles the kernels by including itself

   ERRORS. A function that returns a token returns it (>= 0) or a negative samp_status; the others return SAMP_OK or a
   negative status. A constructor given a bad value still returns an object, which carries the error: samp_status(s,
   &field) tells it, and so does every use of the object. NULL means "no memory" and nothing else. Nothing prints,
   aborts, clamps, or sets errno. After an error the sampler's own state is what it was before the call.

   BAD ROWS. -INFINITY is a masked token: never returned. NaN or +infinity anywhere in the logits is SAMP_E_NAN, no
   unmasked token left is SAMP_E_EMPTY. -0.0 counts as +0.0.

   THREADS. No globals but two atomics: the pointer to the kernels in use, and the count that gives each sampler a
   number of its own. Different samplers may be used by different threads at once; one sampler by one at a time.

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
        change nothing. -ffast-math would, and is refused in the file with the implementation, as is x87. What a
        compiler does not tell (clang's -funsafe-math-optimizations, an fma that rounds twice) is found when the kernels
        are chosen: then every sampler carries SAMP_E_UNSUPPORTED. Only clang's -fno-honor-infinities alone is not.
   What can change a result is the floating-point environment: rounding to nearest is assumed, and with
   flush-to-zero on, logits below 1.2e-38 in size may tie.

   SAMP_RNG_MT19937 instead gives the tokens of llama.cpp, call for call, by doing its arithmetic (float expf of libm,
   sequential sums in array order, std::mt19937 and libstdc++'s distributions): see >>llama; on the fast path too, where
   bounds and sums of integers tell its floats without adding them one by one. Where exact ties decide, llama.cpp's
   order is an accident of std::sort and ours is (logit descending, id ascending).
*/
#ifndef SAMPLING_H
#define SAMPLING_H

/* ================================================================================================== >>config
   The version, and what a public function is declared as. */

#define SAMP_VERSION_MAJOR 0
#define SAMP_VERSION_MINOR 1
#define SAMP_VERSION_PATCH 0
#define SAMP_VERSION       (SAMP_VERSION_MAJOR * 10000 + SAMP_VERSION_MINOR * 100 + SAMP_VERSION_PATCH)

#include <math.h> /* INFINITY: a masked logit */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SAMP_API
#if defined(SAMPLING_STATIC) && (defined(__GNUC__) || defined(__clang__))
#define SAMP_API static __attribute__((unused))
#elif defined(SAMPLING_STATIC)
#define SAMP_API static
#elif defined(__GNUC__) && !defined(_WIN32)
#define SAMP_API extern __attribute__((visibility("default"))) /* also where -fvisibility=hidden is the rule */
#else
#define SAMP_API extern
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* =================================================================================================== >>types
   What goes in and comes out. A struct that you fill may get members in a version to come: start from zero, or from
   the function that gives the defaults. */

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

#define SAMP_MAX_VOCAB 4194304 /* more candidates than that are SAMP_E_RANGE */

typedef struct samp_sampler samp_sampler;
struct samp_gpu_data;

/* What a sampler can do. For your own: apply is required, the others may be NULL (clone and free only if the context
   needs no copying or freeing: a NULL clone with a context that is not NULL makes the clone SAMP_E_UNSUPPORTED).
   accept and apply return a status (above 0: SAMP_E_RANGE); your sampler answers itself for its state after an error.
   apply may change logits, p, order and selected, and take candidates away; an id twice or none of a token's, more
   candidates than before or another data is SAMP_E_RANGE. rollback leads back to where the sampler was before the last
   n tokens that it has accepted, or changes nothing and returns a status; without one an accept can't be taken back.
   */
/* clang-format off */
typedef struct samp_sampler_i {
    const char   *(*name)(const samp_sampler *);                    /* for samp_describe; NULL: "custom" */
    int           (*accept)(samp_sampler *, samp_token);            /* a token was chosen */
    int           (*apply)(samp_sampler *, samp_token_data_array *);
    void          (*reset)(samp_sampler *);
    samp_sampler *(*clone)(const samp_sampler *);                   /* samp_init_custom(iface, copy of ctx) */
    void          (*free)(samp_sampler *);                          /* frees ctx, not the sampler */
    int           (*apply_gpu)(samp_sampler *, struct samp_gpu_data *); /* apply on a device: see sampling_gpu.h */
    int           (*rollback)(samp_sampler *, int32_t n);           /* n tokens were not chosen: see samp_rollback */
} samp_sampler_i;
/* clang-format on */

/* A sampler. Made by the samp_init_* functions only; what follows these two members is private. */
struct samp_sampler {
    const samp_sampler_i *iface;
    void *ctx; /* yours in a custom sampler */
};

/* What samplers may need to know of a vocabulary. Borrowed: it must outlive the samplers made with it, and stay as it
   is. */
typedef struct samp_vocab samp_vocab;
struct samp_vocab {
    int32_t n_vocab;
    /* The bytes of a token's text, borrowed; *n_bytes = how many (0 for control tokens). */
    const char *(*token_bytes)(const samp_vocab *vocab, samp_token token, size_t *n_bytes);
    /* Optional: text to tokens. Writes at most n_max ids, returns how many (n_max if it is more).
       NULL: greedy longest match. */
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
    float top_a;                       /* 0 in [0, 1]; 0 = off */
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
    float mirostat_tau;                /* 5 in [0, FLT_MAX / 2]: the surprise to aim at, bits */
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

typedef struct samp_settings samp_settings; /* a samp_params whose members have names, for bindings and options */

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
    uint64_t n_steps;     /* how often a draw went step by step, from some sampler on (MT19937: over the whole row) */
} samp_perf_data;

#ifdef __cplusplus
}
#endif
#endif /* SAMPLING_H */

/* A static function without a body is a warning: with SAMPLING_STATIC they are declared where the bodies follow. */
#if !defined(SAMPLING_DECLARED) && (!defined(SAMPLING_STATIC) || defined(SAMPLING_IMPLEMENTATION))
#define SAMPLING_DECLARED

#ifdef __cplusplus
extern "C" {
#endif

/* ===================================================================================================== >>api */
/* ---- 1. one call -------------------------------------------------------------------------------------------- */

/* samp_sample -- draw the next token and accept it.
     in       logits [n_vocab] f32, read only; 1 <= n_vocab <= SAMP_MAX_VOCAB; s selects (it is usually a chain)
     Returns  the token, or SAMP_E_NULL, SAMP_E_EMPTY, SAMP_E_RANGE (n_vocab), SAMP_E_NAN, SAMP_E_NOMEM,
              SAMP_E_UNSUPPORTED (none selects, or one behind it does not), or the status that the sampler carries.
     State    moves the position by one if the sampler draws random numbers. After an error nothing has changed.
     Memory   about 29 bytes per token of the vocabulary (41 with a custom sampler) and 10 KiB, at the first call
              (samp_reserve); then none. */
SAMP_API samp_token samp_sample(samp_sampler *s, const float *logits, size_t n_vocab);

/* samp_draw -- the same without accepting: mirostat's and the random state move, penalties and dry do not see the
   token. */
SAMP_API samp_token samp_draw(samp_sampler *s, const float *logits, size_t n_vocab);

/* samp_sample_batch -- draw and accept a token for each of n_rows rows: row r of the batch by the chain rows [r].
     in       logits: see samp_logits. rows [n_rows]: each its own samplers, order, state and seed; no sampler twice,
              and no chain with one of its members.
     out      [n_rows] the tokens, or a row's negative status, which leaves its chain as it was and no other row
              touched: SAMP_E_NULL (no chain), SAMP_E_RANGE (its index, n_top), and what samp_sample returns.
     Returns  SAMP_OK, even if rows failed. Else nothing was done: SAMP_E_NULL; SAMP_E_DTYPE; SAMP_E_EMPTY (n_vocab 0);
              SAMP_E_RANGE (n_vocab, stride, mask_stride, n_threads, data not aligned, a sampler twice); SAMP_E_NOMEM.
     Token    the same as samp_sample's for the same row, in any batch, at any place, with any number of threads. A
              dtype is converted as it is read (f64 rounded to f32; beyond +-FLT_MAX that is an infinity); of a masked
              token not even a NaN matters.
     Logprobs natural logarithms, exact to a few units of the last place: l - max - ln (Z / 2^40). "processed" are
              those of the candidates as the chain leaves them, so behind mirostat's truncation, and of adaptive_p's own
              logits; greedy leaves them all. They cost three more passes over the row.
     Memory   a workspace per thread (samp_reserve), taken from chains that have one; when there are too few, other
              chains of the batch get theirs; and for each chain's first token, what samp_rollback needs. Nothing else.
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

/* samp_reserve -- take now the memory that samp_sample and samp_apply need for n_vocab tokens. SAMP_OK, SAMP_E_NULL,
   SAMP_E_RANGE, SAMP_E_NOMEM. */
SAMP_API int samp_reserve(samp_sampler *s, size_t n_vocab);

/* samp_isa_name -- the instruction set in use: "scalar", "generic" (vectors of 16 bytes, as gcc and clang have them),
     "sse2", "avx2", "avx512", "neon" or "wasm"; chosen at the first use. "none": as compiled, or with this rounding,
     tokens would be wrong, so there are none.
   samp_isa_list -- the name of number i, 0 and up, of those that work here: "scalar" first, the best one last, NULL
     behind it.
   samp_isa_force -- use that one from now on, in all threads; NULL: the best one again. The tokens are the same.
     Returns  SAMP_OK; SAMP_E_UNSUPPORTED: unknown here, or this CPU or system doesn't have it. */
SAMP_API const char *samp_isa_name(void);
SAMP_API const char *samp_isa_list(int i);
SAMP_API int samp_isa_force(const char *name);

/* samp_strerror -- the text of a status, never NULL.
   samp_version -- SAMP_VERSION of the file that was compiled, to compare with that of the declarations. */
SAMP_API const char *samp_strerror(int status);
SAMP_API int samp_version(void);

/* ---- 2. chains ---------------------------------------------------------------------------------------------- */

/* samp_default_params -- the values in samp_params' comments: llama.cpp's defaults, with seed 0. */
SAMP_API samp_params samp_default_params(void);

/* samp_check_params -- SAMP_OK, or why not: SAMP_E_RANGE, SAMP_E_NAN, SAMP_E_NULL; *field (may be NULL) names the
   member. */
SAMP_API int samp_check_params(const samp_params *params, const char **field);

/* samp_chain_from_params -- build the chain that the parameters describe.
     Order    logit_bias, then params->order, then what selects. The default order is
              "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature" (with tfs_z behind top_k and top_a
              behind min_p if they are on).
              An order may name tail_free ("tfs_z") and top_a too, may repeat or leave out any, and may be letters: e
              penalties, d dry, s top_n_sigma, k top_k, f tail_free, y typ_p, p top_p, m min_p, a top_a, x xtc, i
              infill (which needs params->vocab), t temperature. "" is an empty order: no truncation, no temperature.
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
              adaptive_p's average, the state of MT19937 (if the seed stays, and the sampler: not that of dist while
              temp is 0); in a chain, the random source of that one. All else is as in a new chain, the seed too.
              Samplers that were added by hand are freed.
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

/* samp_settings_new -- samp_default_params() to be changed by name and text, for who can't or won't know the struct:
   bindings, command lines, files of settings. It owns all that its members point to. NULL: no memory.
   samp_settings_free takes NULL. One thread at a time.
   samp_settings_params -- read it as samp_params: for samp_check_params, samp_chain_from_params and all others. Never
   NULL but of NULL; what it points to changes with the next call that sets. */
SAMP_API samp_settings *samp_settings_new(void);
SAMP_API void samp_settings_free(samp_settings *settings);
SAMP_API const samp_params *samp_settings_params(const samp_settings *settings);

/* samp_settings_set -- give a member of samp_params the value that a text says. Text is what the C locale would have;
   nothing may stand before or behind it, blanks neither. A value of NULL is the default.
     name     the member's: "top_k", "dry_base"; or a sampler's, as in an order, for its first number: "temperature"
              (temp), "typical" (typ_p), "xtc" (xtc_probability), "dry" (dry_multiplier), "penalties" (penalty_last_n)
     value    "40", "-1": whole numbers. "0.95", "1e-3", "-inf": rounded to the nearest float, ties to even.
              rng: "philox" or "mt19937". order: copied.
              logit_bias: token and bias, "15043+1", "15043-inf", with commas between if there are more;
              dry_breakers: one breaker, as it is, or "none": no breaker at all. Both add to what is there (the first
              breaker takes the defaults' place), like llama-cli's repeated options: begin with NULL to begin anew.
     Returns  SAMP_OK; SAMP_E_NULL: settings or name; SAMP_E_UNSUPPORTED: no such name, or not to be set by text (vocab;
              n_logit_bias, which counts by itself); SAMP_E_FORMAT: not a text of this kind; SAMP_E_RANGE: too large for
              the member's type, too small a float not to be 0, an empty breaker, another word for rng; SAMP_E_NOMEM.
              *field (may be NULL) is the member's name, or `name` itself where it is unknown; NULL with SAMP_OK. After
              an error nothing has changed. If the value is good for a sampler, samp_check_params tells, as ever.
     Memory   order and the two lists are copied; each copy is one block. */
SAMP_API int samp_settings_set(samp_settings *settings, const char *name, const char *value, const char **field);

/* samp_settings_get -- a value as a text that samp_settings_set reads back to the same.
   samp_settings_takes -- which values a name takes, for a user to read: "a number in (0, 1]"; of order all names.
     out      buf [size]: the text, cut if need be, always with a final 0 (size 0: nothing, buf may be NULL)
     Returns  the text's length without the 0; SAMP_E_NULL; SAMP_E_UNSUPPORTED: no such name; get of a list, or of an
              order that is NULL. */
SAMP_API int samp_settings_get(const samp_settings *settings, const char *name, char *buf, size_t size);
SAMP_API int samp_settings_takes(const char *name, char *buf, size_t size);

/* samp_settings_set_vocab -- give the settings a vocabulary of their own, of n_vocab tokens, which dry needs for its
   breakers; samp_vocab tells of the function and of user. The member n_vocab becomes the same. Chains made from these
   settings may ask it: free the settings last. SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE (n_vocab < 0). */
SAMP_API int samp_settings_set_vocab(samp_settings *settings, int32_t n_vocab,
                                     const char *(*token_bytes)(const samp_vocab *vocab, samp_token token,
                                                                size_t *n_bytes),
                                     void *user);

/* samp_chain_init -- an empty chain. */
SAMP_API samp_sampler *samp_chain_init(void);

/* samp_chain_add -- put a sampler at the end. The chain owns it from now on, on failure too.
     Returns  the sampler's own status if it carries an error (it stays in the chain, which then carries the error too);
              else SAMP_OK; SAMP_E_NULL, SAMP_E_NOMEM: the chain lacks a sampler, and carries this error from now on;
              SAMP_E_RANGE: s is in a chain already, or contains this one, and nothing has changed; or this is no chain,
              and s is freed, as where it is NULL. */
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
   Starts the source at the seed, and mirostat's mu if it has overflowed in that arithmetic. SAMP_OK, SAMP_E_NULL,
   SAMP_E_RANGE. Members added later are set to their chain's kind. */
SAMP_API int samp_set_rng(samp_sampler *s, samp_rng_kind kind);

/* samp_get_seed -- the seed of the last sampler that draws random numbers, 0 if none does; what is off does not. */
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

/* samp_rollback -- take back the last n accepted tokens, as if they had never been drawn: for drafts, rewinds, bans.
     State    of s and all its members (position, mt19937, windows, mu, averages, samp_prev): what it was before the
              draw that gave the first of these tokens; before its samp_accept, if nothing was drawn since the token
              before it. Draws that no token was accepted behind are taken back too, with n = 0 only these. samp_perf's
              counts stay.
     Tokens   each samp_accept that succeeds is one, of a prompt too, and each token of samp_sample, of a batch, of
              samp_verify. Of samp_grammar_sample chain and grammar have one each.
     Kept     are the last 64, or as many as samp_set_rollback said. All are forgotten when s is changed in another way:
              by samp_reset, samp_state_load, samp_set_..., samp_chain_..., or by what is done to a member itself. A
              clone has what its original has; a saved state has none. Members keep none, their chain does.
     Custom   samplers with an accept need a rollback (samp_sampler_i). They are asked first.
     Returns  SAMP_OK; SAMP_E_NULL; SAMP_E_RANGE: n < 0, or more than are kept; SAMP_E_UNSUPPORTED: a custom sampler
              can't; or the status that one returns, or that s carries. After an error nothing has changed, but
              custom samplers before the one that refused.
     Memory   none.   Cost  O(n), for penalties n times what samp_accept costs.
   samp_set_rollback -- keep the last `depth` tokens from now on, 0 .. 2^20; forgets those kept so far. 0: nothing is
     kept, so no draw can be taken back either. SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_NOMEM (nothing has changed).
     Memory   for each token 12 bytes, and in a chain with it 4 for penalties, dry's 12, adaptive_p's 16, 4 for each
              mirostat, each chain and each mt19937; grammars' more. It is taken here, by samp_reserve, or with the
              first token; if there is none left then, nothing is kept. What has no state needs none. */
SAMP_API int samp_rollback(samp_sampler *s, int32_t n);
SAMP_API int samp_set_rollback(samp_sampler *s, int32_t depth);

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
              forgery), too few or too many, of another version, or of a sampler with other settings; SAMP_E_NOMEM.
              After an error nothing has changed.
     Memory   none, but to load a grammar's.   Cost  O(bytes). */
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
              A built-in sampler checks before its first write.
     Memory   as samp_sample, if size is above 256; where there is none, it takes longer. */
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
     Keeps    the order of the array and `sorted`.
     selected is -1 behind a sampler that does not select: what was chosen from other candidates counts no more. So a
              draw from a chain with such a one behind the last that selects is SAMP_E_UNSUPPORTED, whatever the row;
              what is off may stand there, and your own.
     p        is left as it was.    Draws   no random numbers.
     min_keep at least so many unmasked tokens stay (0 and 1 are the same).
     NaN      in the array: SAMP_E_NAN.    A parameter that is NaN: the object carries SAMP_E_NAN.
     MT19937  sizes, order, `sorted`, p and selected are llama.cpp's: masked tokens stay in the array and count as
              candidates, `sorted` says nothing about the ids of ties, and selected stays, whatever stands there then.
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

/* samp_init_top_a -- keep tokens with p >= a p_max^2: few where one token is likely, many where none is.
     Cut      l >= max + ln a - ln Z, the first always.
     Range    a in [0, 1], 0 = off.   Ties  all of a value, or none; where min_keep cuts, the smaller id stays.
     Leaves   the order, unless min_keep decides: then sorted = true.
     MT19937  llama.cpp has none: float probabilities in order, a prefix (as koboldcpp).
     Source   BlinkDL 2022 (RWKV), koboldcpp. */
SAMP_API samp_sampler *samp_init_top_a(float a, size_t min_keep);

/* samp_init_xtc -- "exclude top choices": with probability p, remove all tokens of probability >= t but the least
   likely of them (of equal ones, that with the largest id stays); only if at least min_keep tokens remain.
     Range    p in [0, 1], 0 = off; t in [0, 1], > 0.5 = off.   Leaves  p over all tokens, if it acted.
     Draws    64 bits, one position (none with a single candidate, but the position moves).
     Source   p-e-w, text-generation-webui PR 6335; llama.cpp. */
SAMP_API samp_sampler *samp_init_xtc(float p, float t, size_t min_keep, uint64_t seed);

/* samp_init_infill -- for text that is to fill a hole: few and long tokens, and the end as soon as it is likely.
     With p and n the probabilities and number of the candidates, and an end each token that ends a generation:
     Ends     if 3 n times the sum of the ends' p exceeds the sum of the others': only they stay.
     Else     in order of p, a token whose text begins another one's, or is begun by it, is merged with it: the more
              likely of both has the sum; the ends too, if they have texts. Then what is no end stays if its p is at
              least 0.2, and of these if its share of what stays, k of them and the ends, is at least 1 / (k + 1).
              None left: the one candidate is vocab's eot (or eos, if it has none), with logit 1: even where it was
              masked or removed before.
     Range    vocab: token_bytes and eot or eos. Borrowed.   Leaves  sorted = true, p as above; logits as they were.
     Cost     O(n^2): put it behind top_k. All in f32, so that it is the same with both random sources.
     Source   llama.cpp. */
SAMP_API samp_sampler *samp_init_infill(const samp_vocab *vocab);

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
     Range    n_vocab >= 1, m >= 2; tau in [0, FLT_MAX / 2], eta >= 0 and finite. mu starts at 2 tau.
     Leaves   sorted = true, p of the tokens kept.   Draws  as dist.
     Source   Basu et al. 2020, "Mirostat"; llama.cpp. */
SAMP_API samp_sampler *samp_init_mirostat(int32_t n_vocab, uint64_t seed, float tau, float eta, int32_t m);

/* samp_init_mirostat_v2 -- the same aim without the estimate: keep tokens with a surprise of at most mu bits (always
   the first in order); draw; mu -= eta * (surprise - tau), the surprise among the tokens kept.
     Range    tau in [0, FLT_MAX / 2], eta >= 0 and finite. mu starts at 2 tau.   Leaves  p of the tokens kept.
     Draws    as dist. */
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
#define SAMPLING_KV_DECLARED
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

#ifdef SAMPLING_LLAMA
#define SAMPLING_LLAMA_DECLARED
/* ---- 6. in a llama.cpp program (SAMPLING_LLAMA) --------------------------------------------------------------- */

/* llama.h may be included before this file, behind it, or not at all. What is linked is a libllama of 2025 or later.
   For llama.cpp's very tokens set a chain to SAMP_RNG_MT19937. */
struct llama_sampler;
struct llama_context;
struct llama_vocab;

/* samp_llama_sample -- draw the next token and accept it, as llama_sampler_sample does, from the logits where they are:
   no array of candidates is filled.
     in       idx: which output of the last llama_decode, as llama_get_logits_ith counts
     Returns  the token, or as samp_sample; SAMP_E_NULL also where that output has no logits. */
SAMP_API samp_token samp_llama_sample(samp_sampler *chain, struct llama_context *ctx, int32_t idx);

/* samp_llama_init -- a chain, or any sampler that is in none, as llama.cpp's sampler object: for llama_sampler_sample,
   llama_sampler_apply, llama_sampler_chain_add and whatever else takes one. It owns the chain from now on.
   samp_llama_chain -- lend it: to change, save or describe it, to ask for its seed or counts; NULL: s is none of these.
     Works    behind each of the interface's layouts (6, 10 and 12 functions); on the CPU, not in the device's graph.
     Errors   apply has no status: an array that samp_apply refuses has selected = -1 (llama_sampler_sample ends the
              program then). samp_status tells before, whether the chain carries one. A clone that fails is NULL.
     Returns  NULL: no chain, one that is in a chain, or no memory; it stays yours.   Free with llama_sampler_free.
     Memory   two pointers, from llama_sampler_init. */
SAMP_API struct llama_sampler *samp_llama_init(samp_sampler *chain);
SAMP_API samp_sampler *samp_llama_chain(const struct llama_sampler *s);

/* samp_llama_vocab -- a model's vocabulary for samplers that ask for one: copies of all pieces (those of control tokens
   are empty), and the tokens that end a generation. Its tokenize asks llama.cpp, so the model must be there as long.
     Returns  NULL: vocab is NULL, or no memory.   Memory  one block.
   samp_llama_vocab_free -- NULL is fine. */
SAMP_API samp_vocab *samp_llama_vocab(const struct llama_vocab *vocab);
SAMP_API void samp_llama_vocab_free(samp_vocab *vocab);
#endif /* SAMPLING_LLAMA */

#ifdef SAMPLING_GRAMMAR
#define SAMPLING_GRAMMAR_DECLARED
/* ---- 7. grammars (SAMPLING_GRAMMAR) --------------------------------------------------------------------------- */

/* What a grammar is written in. */
typedef enum samp_grammar_kind {
    SAMP_GRAMMAR_GBNF = 0,        /* llama.cpp's */
    SAMP_GRAMMAR_JSON_SCHEMA = 1, /* a JSON schema, of which the text must be an instance */
    SAMP_GRAMMAR_REGEX = 2        /* a regular expression, which the whole text must match */
} samp_grammar_kind;

/* Why a text is no grammar. */
typedef struct samp_grammar_error {
    int status;          /* SAMP_OK if there is none */
    size_t line, column; /* from 1; columns are bytes */
    char message[160];   /* what was expected */
} samp_grammar_error;

typedef struct samp_grammar samp_grammar;

/* samp_grammar_init -- read a grammar.
     text     ends with 0; a regular expression has at most 8192 bytes, a class 4096 ranges. GBNF is as llama.cpp
              reads it (its grammars/README.md): names, literals, classes, groups, * + ? {m,n}, tokens <[id]> and
              <text>, ! before them; a rule may recur in any place.
              Regular expressions are ECMA-262's without lookaround, \b, \p and backreferences.
              JSON schemas follow 2020-12, or draft 4, 6 or 7 if $schema says so. No text is taken that is no instance:
              what can't be expressed is refused by its place ("/properties/a/not: ..."): uniqueItems (but of an enum),
              multipleOf of what divides no power of ten, unevaluated*, $dynamicRef, schemas of other files, the
              formats regex, uri-template, iri, iri-reference, idn-email and idn-hostname. A format that the standard
              does not know says nothing. Of an instance's spellings these are taken: a number with bounds, of an enum
              or a whole one has no exponent; a string with a pattern, a format or of an enum, and a name beside others
              that are listed, has the shortest escape of each character, \u00xx in small letters. Names that are not
              listed may come twice.
     root     of GBNF, the rule to begin with; NULL: "root". Of a JSON schema, words: "ordered" (members come in the
              order of the schema, others behind them; NULL: in any), "compact" (no space between tokens) or "spaced"
              (one behind each comma and colon; NULL: any space, but none around the whole)
     Returns  the grammar; NULL on error. *error (may be NULL): SAMP_OK, or SAMP_E_FORMAT and where the text is wrong;
              SAMP_E_UNSUPPORTED: what no matcher here can say; SAMP_E_RANGE: too large, or too deep; SAMP_E_NULL;
              SAMP_E_NOMEM.
     Threads  a grammar never changes: any number of samplers may use it at once. It must outlive them.
     Free     with samp_grammar_free; NULL is fine. */
SAMP_API samp_grammar *samp_grammar_init(samp_grammar_kind kind, const char *text, const char *root,
                                         samp_grammar_error *error);
SAMP_API void samp_grammar_free(samp_grammar *grammar);

/* A vocabulary made ready for grammars: its tokens as a trie. */
typedef struct samp_vocab_index samp_vocab_index;

/* samp_vocab_index_init -- make it, once for all grammars.
     vocab    borrowed; must outlive the index. A token has at most 1023 bytes, all together at most 2^22 nodes in
              the trie.
     Returns  the index; NULL on error, *status (may be NULL): SAMP_E_NULL, SAMP_E_EMPTY (n_vocab 0), SAMP_E_RANGE,
              SAMP_E_NOMEM.
     Memory   8 bytes a node, about 2 MB for 128,256 tokens.
     Threads  an index never changes: any number of samplers may use it at once. It must outlive them.
   samp_vocab_index_free -- NULL is fine. */
SAMP_API samp_vocab_index *samp_vocab_index_init(const samp_vocab *vocab, int *status);
SAMP_API void samp_vocab_index_free(samp_vocab_index *index);

/* samp_vocab_index_save -- the index as bytes [samp_vocab_index_size]. SAMP_OK, SAMP_E_NULL, SAMP_E_WORKSPACE (size).
   samp_vocab_index_map -- an index that reads such bytes where they are (a mapped file, say): they must outlive it.
     bytes    [size] aligned to 4; all of them, and of the same vocabulary
     Returns  as samp_vocab_index_init; SAMP_E_FORMAT: other bytes, or of a vocabulary of another size. */
SAMP_API size_t samp_vocab_index_size(const samp_vocab_index *index);
SAMP_API int samp_vocab_index_save(const samp_vocab_index *index, void *bytes, size_t size);
SAMP_API samp_vocab_index *samp_vocab_index_map(const samp_vocab *vocab, const void *bytes, size_t size, int *status);

/* samp_init_grammar -- mask every token behind which the text could not become one of the grammar's.
     Text     that of the accepted tokens since the making or samp_reset; it may end within a character. Tokens
              that end a generation are allowed exactly where the text is complete, and change nothing. Tokens
              without bytes are masked, unless the grammar has them by name. A rule that leads back to itself
              without end is entered, as in llama.cpp.
     Accept   a token that is not allowed is SAMP_E_RANGE, and in a chain no member has seen it.
     Order    any; where it is a chain's first, the row is masked before the chain begins, and the fast path is taken.
     Leaves   size; what is not allowed has -infinity, and sorted = false if that changed anything.   Draws  none.
     Returns  a sampler that carries SAMP_E_NULL (vocab, grammar), or SAMP_E_RANGE (grammar: it has the text of a token
              that is not one). Applying: SAMP_E_EMPTY if nothing is left, SAMP_E_FULL beyond the limits below.
     Memory   grows with what is met, also while sampling (SAMP_E_NOMEM): states of the grammar, and a mask for each.
              index and grammar are borrowed.
     Source   llama.cpp's grammars and GBNF; llguidance (derivatives, a lazy DFA, the trie); XGrammar (masks kept for
              states, with what depends on the stack left open). */
SAMP_API samp_sampler *samp_init_grammar(const samp_vocab_index *index, const samp_grammar *grammar);

/* samp_init_grammar_lazy, samp_init_grammar_lazy_patterns -- a grammar that waits for a trigger, as for calls of tools
   in free text: until then it allows every token; from the trigger on the text must be one of the grammar's.
     tokens   [n_tokens] with one of these the grammar begins. A token without bytes it must have by name.
     words    [n_words] with the first one of them in the text so far the grammar begins, even within a token.
     patterns [n_patterns] regular expressions, looked for behind each token in the text so far, in this order: ^...$ as
              the whole of it first, else anywhere. The grammar begins at the first group that is not empty; if there is
              none, where the match does. As samp_grammar_init reads them, but by bytes; at most 64 groups. Of several
              ways to match, the first that backtracking finds counts.
     Replay   what the text has from there on is accepted at once. If the grammar does not allow it, the token is
              SAMP_E_RANGE and nothing has changed (samp_grammar_sample draws another one).
     State    the tokens since the making or samp_reset, which waits again.
     Returns  as samp_init_grammar; SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_FORMAT or SAMP_E_UNSUPPORTED of "trigger_words",
              "trigger_patterns" or "trigger_tokens". All is copied. With no trigger at all it waits for ever.
     Cost     while it waits, some ten nanoseconds a byte; the text is gone through once, at the trigger.
     Source   llama.cpp's lazy grammars.
   samp_grammar_is_awaiting -- 1: it waits for its trigger; 0: not, or no more; or a status. */
SAMP_API samp_sampler *samp_init_grammar_lazy(const samp_vocab_index *index, const samp_grammar *grammar,
                                              const char *const *words, size_t n_words, const samp_token *tokens,
                                              size_t n_tokens);
SAMP_API samp_sampler *samp_init_grammar_lazy_patterns(const samp_vocab_index *index, const samp_grammar *grammar,
                                                       const char *const *patterns, size_t n_patterns,
                                                       const samp_token *tokens, size_t n_tokens);
SAMP_API int samp_grammar_is_awaiting(const samp_sampler *s);

/* samp_set_grammar_limits -- how much a grammar's sampler may hold, in bytes (64 MB unless told; at least 65,536), and
   how many steps a call may take (2^24; at least 1024; a step is some ten nanoseconds). What is held is forgotten
   first, and made again when it is needed; a call that needs more at once is SAMP_E_FULL. SAMP_OK, SAMP_E_NULL,
   SAMP_E_RANGE, SAMP_E_UNSUPPORTED (not a grammar's sampler). */
SAMP_API int samp_set_grammar_limits(samp_sampler *s, size_t max_bytes, int64_t max_steps);

/* samp_grammar_mask -- the tokens that may follow, as samp_logits.mask has them: bits [(n_vocab + 31) / 32].
     Returns  SAMP_OK, also if there are none; SAMP_E_NULL, SAMP_E_UNSUPPORTED (not a grammar's sampler), SAMP_E_FULL,
              SAMP_E_NOMEM.   After an error bits are not valid.
   samp_grammar_is_complete -- 1: the text is one of the grammar's; 0: it is only the beginning of one; or a status.
   samp_grammar_forced -- how many bytes must follow, whatever comes, up to 4096; those that fit are in bytes [size]
     (may be NULL if size is 0). Whole characters only. To sample them would be a waste: tokenise and accept them. */
SAMP_API int samp_grammar_mask(samp_sampler *s, uint32_t *bits);
SAMP_API int samp_grammar_is_complete(const samp_sampler *s);
SAMP_API int64_t samp_grammar_forced(samp_sampler *s, char *bytes, size_t size);

/* samp_grammar_sample -- sample as llama.cpp's programs do: the chain, which has no grammar, draws; only if the grammar
   does not allow that token, it draws once more from what is allowed. Chain and grammar accept the token.
     Returns  as samp_sample; an error of the second draw leaves the first one counted.
     Draws    under MT19937 llama.cpp's tokens. For the distribution under the grammar, put it into the chain. */
SAMP_API samp_token samp_grammar_sample(samp_sampler *chain, samp_sampler *grammar, const float *logits,
                                        size_t n_vocab);
#endif /* SAMPLING_GRAMMAR */

#ifdef __cplusplus
}
#endif
#endif /* SAMPLING_DECLARED */

#if defined(SAMPLING_KV) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_KV_DECLARED) && !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_KV before the first #include of this file, wherever it is included"
#endif
#if defined(SAMPLING_LLAMA) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_LLAMA_DECLARED) && !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_LLAMA before the first #include of this file, wherever it is included"
#endif
#if defined(SAMPLING_GRAMMAR) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_GRAMMAR_DECLARED) &&                \
    !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_GRAMMAR before the first #include of this file, wherever it is included"
#endif

/* ------------------------------------------------ Stop here if you only want to use the library. */

/* ==================================================================================================== >>impl
   The ground of all that follows: what the compiler and the machine must be, what is refused because it would change
   tokens, which instruction sets are compiled, and the few tricks that keep a compiler from being too clever. Nothing
   here does anything yet. From here on the file is compiled once, where SAMPLING_IMPLEMENTATION is, but for >>vectors
   and >>passes, which it includes itself for. */
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

/* Refused, not repaired: with these flags a comparison with NaN, or the order of a sum, is the compiler's to choose.
   What a compiler does not tell of is switched off below, or found by a check at run time (sampi_is_exact). */
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) ||                             \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(_M_FP_FAST)
#error "sampling.h: compile the implementation without -ffast-math: it removes the checks for NaN and changes tokens"
#endif
#if (defined(__FLT_EVAL_METHOD__) &&                                                                                 \
     (__FLT_EVAL_METHOD__ < 0 || __FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)) ||                           \
    (defined(_M_IX86_FP) && _M_IX86_FP < 2)
#error "sampling.h: float arithmetic must be done in float (32-bit x86: -msse2 -mfpmath=sse; s390x: -std=gnu11)"
#endif

/* clang's flags of this kind have no macro, but a pragma undoes them; it holds up to the end of the file. */
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wignored-pragmas" /* some machines have no such pragma, nor the need of it */
#pragma float_control(precise, on, push)
#pragma STDC FP_CONTRACT OFF
#elif defined(_MSC_VER)
#pragma float_control(precise, on, push)
#pragma fp_contract(off)
#endif

/* A cast from llama.cpp's structs is supported, so the layouts must be theirs, with pointers of any size. */
#ifdef __cplusplus
#define SAMPI_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define SAMPI_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif
SAMPI_STATIC_ASSERT(sizeof(float) == 4 && sizeof(double) == 8 && FLT_MANT_DIG == 24 && DBL_MANT_DIG == 53,
                    "IEEE float and double are needed");
SAMPI_STATIC_ASSERT(sizeof 1.0 == sizeof(double), "compile without -fsingle-precision-constant");
SAMPI_STATIC_ASSERT(sizeof(samp_token_data) == 12 && offsetof(samp_token_data, logit) == 4 &&
                        offsetof(samp_token_data, p) == 8,
                    "samp_token_data has llama_token_data's layout");
SAMPI_STATIC_ASSERT(offsetof(samp_token_data_array, size) == sizeof(void *) &&
                        offsetof(samp_token_data_array, selected) == 2 * sizeof(void *) &&
                        offsetof(samp_token_data_array, sorted) == 2 * sizeof(void *) + 8,
                    "samp_token_data_array has llama_token_data_array's layout");

/* Vectors, attributes and assembler are as gcc and clang write them. Another compiler gets the scalar kernels. */
#ifndef SAMPI_GNU
#if defined(__GNUC__) || defined(__clang__)
#define SAMPI_GNU 1
#else
#define SAMPI_GNU 0
#endif
#endif

/* The instruction sets that are compiled, besides scalar. gcc for 64-bit Windows stores vectors of 32 bytes where the
   stack is aligned for 16, so there it gets those of 16 only. */
#if !SAMPI_GNU && !defined(SAMP_NO_SIMD)
#define SAMP_NO_SIMD
#endif
#if defined(_WIN32) && !defined(__clang__) && !defined(SAMP_NO_AVX2)
#define SAMP_NO_AVX2
#endif
#if defined(__SSE2__) && !defined(__wasm__) && !defined(SAMP_NO_SIMD) && !defined(SAMP_NO_SSE2)
#define SAMPI_SSE2 1
#else
#define SAMPI_SSE2 0
#endif
#if defined(__x86_64__) && !defined(SAMP_NO_SIMD) && !defined(SAMP_NO_AVX2)
#define SAMPI_AVX2 1
#else
#define SAMPI_AVX2 0
#endif
#if SAMPI_AVX2 && !defined(SAMP_NO_AVX512) /* whose rows are read by its halves */
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
/* Vectors as the compiler has them pay where it has registers for them: not under WebAssembly without its SIMD, where
   they take twice as long as scalar. */
#if defined(__wasm__)
#define SAMPI_GENERIC 0
#else
#define SAMPI_GENERIC (SAMPI_GNU && !SAMPI_SSE2 && !SAMPI_NEON && !SAMPI_WASM)
#endif

#if SAMPI_AVX2 || SAMPI_AVX512
#include <cpuid.h>
#include <immintrin.h>
#if defined(__clang__) && defined(_MSC_VER) /* where that leaves out what the command line does not name */
#include <smmintrin.h>
#include <avxintrin.h>
#include <avx2intrin.h>
#include <bmi2intrin.h>
#include <f16cintrin.h>
#include <fmaintrin.h>
#if SAMPI_AVX512
#include <avx512fintrin.h>
#include <avx512bwintrin.h>
#include <avx512dqintrin.h>
#include <avx512vlintrin.h>
#endif
#endif
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

/* SAMPI_INLINE: for what a loop over a row is made of: gcc -O2 would call it, and on a GPU a call costs more than what
   it does. SAMPI_COLD: what runs once for a chain, in rare cases, or leaves its loops to kernels: small, not fast.
   SAMPI_CALLED: what gcc -O2 would put into each of its callers. SAMPI_HOT: a loop over a row that only cold functions
   call. */
#if SAMPI_GNU
#define SAMPI_INLINE static inline __attribute__((always_inline))
#define SAMPI_COLD   __attribute__((cold))
#define SAMPI_CALLED __attribute__((noinline))
#define SAMPI_HOT    __attribute__((hot, noinline))
#else
#define SAMPI_INLINE static inline
#define SAMPI_COLD
#define SAMPI_CALLED
#define SAMPI_HOT
#endif

/* What threads share: a pointer to kernels, and counts of type size_t, which another compiler has as intrinsics. */
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define SAMPI_LOAD(p)     (const sampi_kernels *)_InterlockedCompareExchangePointer((void *volatile *)(p), NULL, NULL)
#define SAMPI_STORE(p, x) ((void)_InterlockedExchangePointer((void *volatile *)(p), (void *)(uintptr_t)(x)))
#if defined(_WIN64)
#define SAMPI_COUNT(p) ((size_t)_InterlockedIncrement64((volatile long long *)(p)))
#else
#define SAMPI_COUNT(p) ((size_t)_InterlockedIncrement((volatile long *)(p)))
#endif
#else
#define SAMPI_LOAD(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define SAMPI_STORE(p, x) __atomic_store_n(p, x, __ATOMIC_RELEASE)
#define SAMPI_COUNT(p)    __atomic_add_fetch(p, 1, __ATOMIC_RELAXED)
#endif

/* Stands where tests count the steps: in what must not grow faster than its input. */
#ifndef SAMPI_COUNT_STEPS
#define SAMPI_COUNT_STEPS(n) ((void)0)
#endif

/* Keep a product as rounded: the compiler must not fuse it with the sum that follows, whatever -ffp-contract says. */
#if !SAMPI_GNU
#define SAMPI_OPAQUE(x) (*(volatile char *)&(x) = *(volatile char *)&(x)) /* as if it might have changed */
#elif defined(__x86_64__) || defined(__i386__)
#define SAMPI_OPAQUE(x) __asm__("" : "+v"(x))
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

/* A product that a sum follows goes through one of these. */
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

/* The upper of two halves of memory comes first: what has a form as bytes is little-endian. */
#if (defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#define SAMPI_BIG_ENDIAN 1
#else
#define SAMPI_BIG_ENDIAN 0
#endif

/* The bits of a double, and back: how weights become integers, and powers of two doubles. */
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
/* fabs, also of what may be infinite: clang's -fno-honor-infinities holds for calls in spite of the pragma. */
static double sampi_abs(double x) { return sampi_from_bits(sampi_bits(x) & ~((uint64_t)1 << 63)); }

/* ===================================================================================================== >>rng
   The two random sources. Philox is a function: its bits depend on a key and a counter alone, so a draw can be
   repeated, skipped or done elsewhere (sampi_random makes the counter). mt19937 is a state of 2.5 KB in the sampler
   that draws, for llama.cpp's tokens: every output taken moves it, so it must be asked exactly as often as libstdc++
   asks its own. */

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
    uint64_t drawn; /* outputs since the seed: what going back needs (sampi_mt_back) */
} sampi_mt;

/* As std::mt19937's constructor: sampi_seed calls it, and whoever goes back to an earlier state. */
static SAMPI_CALLED void sampi_mt_seed(sampi_mt *mt, uint32_t seed)
{
    mt->state[0] = seed;
    for (uint32_t i = 1; i < 624; i++) mt->state[i] = 1812433253u * (mt->state[i - 1] ^ (mt->state[i - 1] >> 30)) + i;
    mt->next = 624;
    mt->drawn = 0;
}

/* The next output; 624 new words are made when the last are used up. */
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

/* Where the state was when `drawn` outputs had been taken, fewer than now: blocks of 624 words are unmade one by one.
   A word of the block before is one bit of a word of this one and 31 of the one next to it. The first block is made of
   the seed again, of whose first word one bit only is used. */
static SAMPI_COLD void sampi_mt_back(sampi_mt *mt, uint64_t drawn, uint32_t seed)
{
    uint64_t blocks = (drawn + 623) / 624;
    if (drawn == mt->drawn) return;
    for (uint64_t n = (mt->drawn + 623) / 624; blocks && n > blocks; n--)
        for (uint32_t i = 625, y = 0; i-- > 0;) {
            uint32_t x = mt->state[i ? i - 1 : 623] ^ mt->state[i < 228 ? i + 396 : i - 228];
            uint32_t before = x >> 31 ? (x ^ 0x9908B0DFu) << 1 | 1 : x << 1; /* y of the word before i */
            if (i < 624) mt->state[i] = (y & 0x80000000u) | (before & 0x7FFFFFFFu);
            y = before;
        }
    if (blocks == 0) sampi_mt_seed(mt, seed);
    mt->next = (uint32_t)(drawn + 624 - 624 * blocks);
    mt->drawn = drawn;
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

/* fma where the platform's is wrong in the last bits (mingw-w64's; glibc's on MIPS, at least under qemu) or nobody
   knows (another compiler's), and beside it for a test of both. After Boldo and Melquiond 2008, "Emulation of a FMA and
   correctly rounded sums": the product and two sums without error, and the last but one step rounded to odd. Right as
   long as no part overflows or is subnormal. */
static inline double sampi_two_sum(double a, double b, double *error)
{
    double sum = a + b, rest = sum - a;
    *error = (a - (sum - rest)) + (b - rest);
    return sum;
}

static inline double sampi_fma_by_parts(double a, double b, double c)
{
    double a_up = a * 134217729.0, b_up = b * 134217729.0, error, sum_error, rest; /* Dekker: by 2^27 + 1 */
    double a1 = a_up - (a_up - a), a2 = a - a1, b1 = b_up - (b_up - b), b2 = b - b1;
    double product = a * b, product_error = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2);
    double small = sampi_two_sum(c, product_error, &error), sum = sampi_two_sum(product, small, &sum_error);
    double z = sampi_two_sum(error, sum_error, &rest);
    uint64_t u = sampi_bits(z);
    if (rest != 0.0 && !(u & 1)) z = sampi_from_bits((rest > 0.0) == (z > 0.0) ? u + 1 : u - 1);
    return sum + z;
}

#if (defined(_WIN32) && !defined(__FMA__) && !defined(__aarch64__)) ||                                               \
    (defined(__mips__) && !defined(__FP_FAST_FMA)) || !SAMPI_GNU
#define SAMPI_FMA(a, b, c) sampi_fma_by_parts(a, b, c)
#else
#define SAMPI_FMA(a, b, c) fma(a, b, c)
#endif

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
    p = SAMPI_FMA(p, f, SAMPI_E7);
    p = SAMPI_FMA(p, f, SAMPI_E6);
    p = SAMPI_FMA(p, f, SAMPI_E5);
    p = SAMPI_FMA(p, f, SAMPI_E4);
    p = SAMPI_FMA(p, f, SAMPI_E3);
    p = SAMPI_FMA(p, f, SAMPI_E2);
    p = SAMPI_FMA(p, f, SAMPI_E1);
    return SAMPI_FMA(p, f, 1.0);
}

/* 2^40 * exp(l - max) as a double; d = l - max <= 0 in nats, clamped at -700. */
SAMPI_INLINE double sampi_exp(float max, float l)
{
    double d = (double)l - (double)max;
    d = d > -700.0 ? d : -700.0;
    double s = SAMPI_FMA(d, SAMPI_LOG2E, SAMPI_SHIFT); /* n = round(d / ln 2) in the low bits of s */
    double f = SAMPI_FMA(d, SAMPI_LOG2E, -(s - SAMPI_SHIFT));
    return sampi_exp2_poly(f) * sampi_from_bits((sampi_bits(s) + 1023 + 40) << 52);
}

/* w = round(2^40 * exp(l - max)): 2^40 for the maximum, 0 from about 28.4 nats below it, 0 for a masked token. */
SAMPI_INLINE uint64_t sampi_weight(float max, float l)
{
    return sampi_bits(SAMPI_FMA(1.0, sampi_exp(max, l), SAMPI_INT)) - sampi_bits(SAMPI_INT);
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
    for (int k = 17; k >= 3; k -= 2) p = SAMPI_FMA(p, z, 1.0 / k);
    return SAMPI_FMA(n, SAMPI_LN2, SAMPI_FMA(s * z * 2.0, p, s * 2.0));
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

/* By four products of 32 bits: what sampi_mul128 does where the compiler has no such integer, and beside it for a test
   of both. None of the sums can overflow. */
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

/* How many of the upper bits of x, which is not 0, are 0. */
static inline int sampi_empty_bits(uint64_t x)
{
#if SAMPI_GNU
    return __builtin_clzll(x);
#else
    int n = 0;
    while (!(x >> (63 - n))) n++;
    return n;
#endif
}

/* To the nearest, ties to even: of the upper 64 bits, with one more where those left out are not all zero. */
static inline double sampi_double_of_128(sampi_u128 x)
{
    if (x.hi == 0) return (double)x.lo;
    int empty = sampi_empty_bits(x.hi);
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

#ifdef SAMPLING_KV_DECLARED
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

/* For the kernels, which may skip a stretch (0: no bit is set), read it as if there were no mask (2: all are) or
   must ask for each element (1). Masks are mostly alike over long stretches. `words` is even, and not 0. */
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

/* Call f, which is inlined, with each dtype as a constant. */
#define SAMPI_BY_DTYPE(f, x, dtype, ...)                                                                             \
    switch (dtype) {                                                                                                 \
        case SAMP_F16: return f(x, SAMP_F16, __VA_ARGS__);                                                           \
        case SAMP_BF16: return f(x, SAMP_BF16, __VA_ARGS__);                                                         \
        case SAMP_F64: return f(x, SAMP_F64, __VA_ARGS__);                                                           \
        default: return f(x, SAMP_F32, __VA_ARGS__);                                                                 \
    }
#define SAMPI_SIZE_OF(dtype) ((size_t)((dtype) == SAMP_F64 ? 8 : (dtype) == SAMP_F32 ? 4 : 2))

/* Put up to eight bytes in the order that they have in a machine's word into that of a word that has a form: the least
   significant one first. Twice is not at all. */
static uint64_t sampi_little(uint64_t x)
{
#if SAMPI_BIG_ENDIAN
    return __builtin_bswap64(x);
#else
    return x;
#endif
}

/* 64 bits that tell damage. Each word of eight bytes goes through a bijection, so a change within one word always
   shows. */
#define SAMPI_CHECKSUM_START 0x9E3779B97F4A7C15u

static uint64_t sampi_checksum_word(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0xD1342543DE82EF95u;
    return (h ^ h >> 29) * 0x9E3779B97F4A7C15u; /* or else two bits of the next word could undo a change */
}

static uint64_t sampi_checksum(const void *bytes, size_t n)
{
    const char *p = (const char *)bytes;
    uint64_t h = SAMPI_CHECKSUM_START ^ n;
    for (size_t at = 0; at < n; at += 8) {
        uint64_t x = 0;
        memcpy(&x, p + at, n - at < 8 ? n - at : 8);
        h = sampi_checksum_word(h, sampi_little(x));
    }
    return h;
}

/* One more number into a fingerprint: a chain of checksums of 16 bytes, so order matters, and 0 counts. */
static void sampi_mix(uint64_t *hash, uint64_t x)
{
    *hash = sampi_checksum_word(sampi_checksum_word(SAMPI_CHECKSUM_START ^ 16, *hash), x);
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
     scale     out [n] = sampi_finite(x * r), of elements that are not masked. out == x is fine.
     split     x [n] = the logits of candidates. Returns: are all ids >= 0, each larger than the one before?
     expf      e [n] (slack 32) = libm's expf of sampi_finite(x / t) - max, rounded to f32; masked: 0. Returns an
               estimate of their sum, off by n 2^-53 of it at most. Only where libm's is good (sampi_expf_of).
     climb     what the terms e^(x - c->max) (c->a + c->b (c->max - x)) of the elements not above c->most, as libm makes
               them, add to the f32 sum `from` if each is added to that: *sum grows by these steps (estimates from 2^24
               ulps of `from` on, else exact). Returns for how many terms it is in doubt. */

/* The terms of climb: e^(x - max) is a = 1 and b = 0, -p ln p is ln(sum) / sum and 1 / sum. */
typedef struct sampi_climb {
    float max, most, a, b;
    float sum; /* of e^(x - max), for p; 0: the terms are no shares of an entropy */
} sampi_climb;

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
    return w ? sampi_bits(SAMPI_FMA((double)w, (double)max - (double)l, SAMPI_INT)) - sampi_bits(SAMPI_INT) : 0;
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
    bool (*split)(const samp_token_data *d, size_t n, float *x);
    double (*expf)(const float *x, size_t n, float t, float max, float *e);
    size_t (*climb)(const float *x, size_t n, const sampi_climb *c, float from, double *sum);
} sampi_kernels;

#define SAMPI_TILE    256
#define SAMPI_LINE    16
#define SAMPI_AHEAD   1024     /* bytes to prefetch ahead */
#define SAMPI_LEAST_D (-86.0f) /* sweep takes l - max below this as this: e^-86 is still a normal float */

/* 2^f for f in [-1/2, 1/2] in float, for sweep: relative error of the polynomial below 1e-7. */
#define SAMPI_F1 0.693146978f
#define SAMPI_F2 0.24022242f
#define SAMPI_F3 0.0555073381f
#define SAMPI_F4 0.00967152081f
#define SAMPI_F5 0.00132647295f

/* How far, of itself, e^x may lie from the middle between two floats if libm has to be asked for expf(x). The published
   algorithm, which glibc and musl have, errs by less than a quarter of it, with fma or without. */
#define SAMPI_EXPF_DOUBT (1.0 / ((uint64_t)1 << 32))

/* How far, of itself, climb's estimate of a term may lie from libm's, down to e^-32: that of e^x by 2e-6, most of which
   is the rounding of a product where there is no fma, that of a share by a few roundings more. */
#define SAMPI_CLIMB_DOUBT 3e-6f

/* Row sums for the estimates: (relative) error of z, and of s relative to sum e^(l - ref) |ref - l|. */
#define SAMPI_SWEEP_ROUNDING 2e-6
#define SAMPI_SWEEP_SLOPE    1.5e-7 /* per nat of the mean of |ref - l| under e^(l - ref) */

/* ================================================================================================== >>scalar
   The kernels one element at a time: the reference that >>kernels' contract is read against and the others are tested
   against, and what runs where nothing else does. Written to be read, so it calls >>math and no tricks; with libm's
   fma, which is slow where the CPU has none. Behind it the other sets are compiled, by including this file. */

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
        *s = SAMPI_FMA(e, -(double)d, *s);
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
        moment[2] = SAMPI_FMA(v, v, moment[2]);
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
        x_out[kept] = x[i];
        id_out[kept] = id ? id[i] : base + (int32_t)i;
        kept += x_out[kept] >= floor && x_out[kept] < below;
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
    for (size_t i = 0; i < n; i++) out[i] = sampi_finite(x[i] * r);
}

static bool sampi_split_scalar(const samp_token_data *d, size_t n, float *x)
{
    bool ascend = true;
    samp_token last = -1;
    for (size_t i = 0; i < n; i++) {
        ascend &= d[i].id > last;
        last = d[i].id;
        x[i] = d[i].logit;
    }
    return ascend;
}

static double sampi_expf_scalar(const float *x, size_t n, float t, float max, float *e)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        e[i] = expf((sampi_masked(x[i]) ? x[i] : sampi_finite(x[i] / t)) - max);
        sum += (double)e[i];
    }
    return sum;
}

/* Half an ulp of a float sum; 0, which every term reaches, where it is so small that this is none. */
static float sampi_half_ulp(float sum)
{
    uint32_t u;
    memcpy(&u, &sum, 4);
    u = u >> 23 & 255;
    return sampi_float_of(u > 24 ? (u - 24) << 23 : 0);
}

static size_t sampi_climb_scalar(const float *x, size_t n, const sampi_climb *c, float from, double *sum)
{
    (void)x, (void)c, (void)from, (void)sum;
    return n; /* an estimate of one would take as long as libm */
}

/* ---- the instruction sets: >>vectors and >>passes, once for each ---- */

#define SAMPI_OP                SAMPI_INLINE SAMPI_T
#define SAMPI_UNROLL_4          _Pragma("GCC unroll 4")
#define SAMPI_UNROLL_8          _Pragma("GCC unroll 8")
#define SAMPI_FOUR              SAMPI_UNROLL_4 for (int k = 0; k < 4; k++) /* of the four vectors of a step */
#define SAMPI_UPTO              SAMPI_UNROLL_4 for (int k = 0; k < count; k++)
#define SAMPI_FUSED             (SAMPI_W > 4 || SAMPI_NEON)
#define SAMPI_VECTOR(type, ...) (__extension__(type){ __VA_ARGS__ })
#if defined(__clang__) || __GNUC__ >= 12
#define SAMPI_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SAMPI_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, SAMPI_VECTOR(V(i), __VA_ARGS__))
#endif
static const int32_t SAMPI_STEP[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

#if SAMPI_SSE2 || SAMPI_NEON || SAMPI_WASM || SAMPI_GENERIC
#define SAMPI_W 4
#include SAMP_SELF_INCLUDE
#undef SAMPI_W
#endif
#if SAMPI_AVX2
#define SAMPI_W 8
#include SAMP_SELF_INCLUDE
#undef SAMPI_W
#endif
#if SAMPI_AVX512
#define SAMPI_W 16
#include SAMP_SELF_INCLUDE
#undef SAMPI_W
#endif

#endif /* SAMPLING_IMPLEMENTATION, its first part */

#ifdef SAMPI_W
/* ================================================================================================= >>vectors
   The vocabulary: what a kernel says of vectors of SAMPI_W floats, an operation a line. This section and the next one
   are compiled once per instruction set: the header includes itself with SAMPI_W set, and V(name) is then
   sampi_name_avx512, say. At most one set has four lanes, and one each eight and 16. Types: V(f) floats and V(i)
   unsigned 32-bit integers, SAMPI_W of each; V(d) doubles, V(q) unsigned 64-bit integers, half as many; V(m) which of
   SAMPI_W lanes a comparison holds for; V(t) a count of these. + - * / & | ~ << >> are the compiler's own. What the
   sets below leave out is shared, at the end. A new set is a switch in >>impl, its name and its operations here, and
   a line of SAMPI_KERNEL_TABLE.

     all alli alld allq   the same in every lane            load loadi loadd loadq store storeq   at any alignment
     max min maxd         fma fmad: a * b + c, in one step where SAMPI_FUSED, else product and sum apart
     ge lt_and unord      >=; m and <; is one of the two no number            negative: is the upper bit set
     any                  does it hold for any lane         keep select   v or 0; a or b, by lane
     sub_where            sum - v where it holds            add_where     sum + v where it holds for this half
     tally total          a count: with those that it holds for, as a number; { 0 } is that of nothing
     widen narrow         a half as doubles; two halves as floats (spread: a half of what holds, for add_where)
     trunc                to an integer; from 2^31 on the upper bit is set
     chord                -q of sampi_envelope for its i: (i mod 2^25 - 2^26) >> i / 2^25, the sign filling up:
                          what sra, the shift of a negative number (even: the product of every other lane), is for
     hmax hsum hsumq      over the lanes; pairs: sums of neighbours in 64 bits
     stay                 a product that is not to be fused with the sum behind it
     pack                 the lanes it holds for, to the front of x_out and id_out -> how many
     row                  elements i .. i + SAMPI_W of a row of any dtype, -infinity where the mask has no bit (u16, f16
                          and allowed are for that)
     part                 row from i + at; with 16 lanes eight elements from i + at and eight from 16 behind these
     fold1 fold2 fold3    in this order they make of SAMPI_W vectors, or eight, one of the maximum of each (with 16
                          lanes, of each half) */

#if SAMPI_W == 16
#define V(name)              sampi_##name##_avx512
#define SAMPI_X86(name, ...) _mm512_maskz_##name(-1, __VA_ARGS__) /* see below */

#define SAMPI_T __attribute__((target("avx2,fma,f16c,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")))
#elif SAMPI_W == 8
#define V(name)              sampi_##name##_avx2
#define SAMPI_X86(name, ...) _mm256_##name(__VA_ARGS__)

#define SAMPI_T __attribute__((target("avx2,fma,f16c,bmi,bmi2,popcnt")))
#elif SAMPI_SSE2
#define V(name)              sampi_##name##_sse2
#define SAMPI_X86(name, ...) _mm_##name(__VA_ARGS__)
#elif SAMPI_NEON
#define V(name) sampi_##name##_neon
#elif SAMPI_WASM
#define V(name) sampi_##name##_wasm
#else
#define V(name) sampi_##name##_generic
#endif
#ifndef SAMPI_T
#define SAMPI_T /* what the compiler may use anyway */
#endif

/* An operation a line, where one will do. */
/* clang-format off */
typedef float V(f) __attribute__((vector_size(4 * SAMPI_W)));
typedef double V(d) __attribute__((vector_size(4 * SAMPI_W)));
typedef uint32_t V(i) __attribute__((vector_size(4 * SAMPI_W)));
typedef uint64_t V(q) __attribute__((vector_size(4 * SAMPI_W)));
typedef long long V(raw) __attribute__((vector_size(4 * SAMPI_W)));
typedef float V(near) __attribute__((vector_size(4 * SAMPI_W), aligned(1), may_alias)); /* at any alignment */
#if SAMPI_W == 16
typedef __mmask16 V(m);
typedef size_t V(t);
#else
typedef int32_t V(m) __attribute__((vector_size(4 * SAMPI_W)));
typedef V(i) V(t);
#endif

SAMPI_OP V(f) V(all)(float x) { return x - SAMPI_VECTOR(V(f), 0); } /* + 0 would lose the sign of -0 */
SAMPI_OP V(i) V(alli)(uint32_t x) { return x - SAMPI_VECTOR(V(i), 0); }
SAMPI_OP V(d) V(alld)(double x) { return x - SAMPI_VECTOR(V(d), 0); }
SAMPI_OP V(q) V(allq)(uint64_t x) { return x - SAMPI_VECTOR(V(q), 0); }

SAMPI_OP V(f) V(load)(const float *p) { return (V(f))*(const V(near) *)p; }
SAMPI_OP V(i) V(loadi)(const int32_t *p) { return (V(i))*(const V(near) *)p; }
SAMPI_OP V(d) V(loadd)(const double *p) { return (V(d))*(const V(near) *)p; }
SAMPI_OP V(q) V(loadq)(const uint64_t *p) { return (V(q))*(const V(near) *)p; }
SAMPI_OP void V(store)(float *p, V(f) v) { *(V(near) *)p = (V(near))v; }
SAMPI_OP void V(storeq)(uint64_t *p, V(q) v) { *(V(near) *)p = (V(near))v; }
SAMPI_OP V(f) V(stay)(V(f) v) { SAMPI_OPAQUE(v); return v; }
#if SAMPI_W == 4
SAMPI_OP V(f) V(select)(V(m) m, V(f) a, V(f) b) { return (V(f))(((V(m))a & m) | ((V(m))b & ~m)); }
#endif

/* ---- what the sets of x86 have alike ---- */
/* gcc 12 warns of _mm512_undefined() in the wrappers without a mask, so with 16 lanes SAMPI_X86 is a form with a mask,
   and it is full. It costs nothing: compilers drop it. */
#ifdef SAMPI_X86
SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { return SAMPI_X86(max_ps, a, b); }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { return SAMPI_X86(min_ps, a, b); }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { return SAMPI_X86(max_pd, a, b); }
SAMPI_OP V(i) V(trunc)(V(f) v) { return (V(i))SAMPI_X86(cvttps_epi32, v); }
SAMPI_OP V(f) V(fold1)(V(f) a, V(f) b) { return V(max)(SAMPI_X86(unpacklo_ps, a, b), SAMPI_X86(unpackhi_ps, a, b)); }
SAMPI_OP V(f) V(fold2)(V(f) a, V(f) b)
    { return V(max)(SAMPI_X86(shuffle_ps, a, b, 0x44), SAMPI_X86(shuffle_ps, a, b, 0xEE)); }
#if SAMPI_W > 4
typedef long long V(half) __attribute__((vector_size(2 * SAMPI_W), aligned(1), may_alias));
SAMPI_OP V(i) V(u16)(const uint16_t *p)
    { return (V(i))SAMPI_X86(cvtepu16_epi32, *(const V(half) *)(const void *)p); }
SAMPI_OP V(f) V(f16)(const uint16_t *p) /* stays: clang 14 would compare halves with halves, one by one */
    { return V(stay)(SAMPI_X86(cvtph_ps, *(const V(half) *)(const void *)p)); }
SAMPI_OP V(f) V(fma)(V(f) a, V(f) b, V(f) c) { return SAMPI_X86(fmadd_ps, a, b, c); }
SAMPI_OP V(d) V(fmad)(V(d) a, V(d) b, V(d) c) { return SAMPI_X86(fmadd_pd, a, b, c); }
SAMPI_OP V(i) V(sra)(V(i) a, V(i) n) { return (V(i))SAMPI_X86(srav_epi32, (V(raw))a, (V(raw))n); }
#endif
#endif

#if SAMPI_W == 16 /* avx512 */

SAMPI_OP V(m) V(ge)(V(f) a, V(f) b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
SAMPI_OP V(m) V(lt_and)(V(m) m, V(f) a, V(f) b) { return _mm512_mask_cmp_ps_mask(m, a, b, _CMP_LT_OQ); }
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
SAMPI_OP V(m) V(negative)(V(i) a) { return _mm512_movepi32_mask((__m512i)a); }
SAMPI_OP V(m) V(allowed)(const uint32_t *mask, size_t i) { return (V(m))(mask[i / 32] >> (i % 32)); }
SAMPI_OP bool V(any)(V(m) m) { return m != 0; }
SAMPI_OP V(f) V(select)(V(m) m, V(f) a, V(f) b) { return _mm512_mask_mov_ps(b, m, a); }
SAMPI_OP V(t) V(tally)(V(t) n, V(m) m) { return n + (V(t))__builtin_popcount(m); }
SAMPI_OP size_t V(total)(V(t) n) { return n; }
SAMPI_OP V(q) V(add_where)(V(q) sum, V(m) m, int half, V(q) v)
    { return (V(q))_mm512_mask_add_epi64((__m512i)sum, (__mmask8)(half ? m >> 8 : m), (__m512i)sum, (__m512i)v); }
SAMPI_OP V(i) V(sub_where)(V(i) sum, V(m) m, V(i) v)
    { return (V(i))_mm512_mask_sub_epi32((__m512i)sum, m, (__m512i)sum, (__m512i)v); }
SAMPI_OP V(d) V(widen)(V(f) v, int half)
    { return SAMPI_X86(cvtps_pd, half ? SAMPI_X86(extractf32x8_ps, v, 1) : SAMPI_X86(extractf32x8_ps, v, 0)); }
SAMPI_OP V(f) V(join)(__m256 a, __m256 b) { return SAMPI_X86(insertf32x8, _mm512_castps256_ps512(a), b, 1); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b) { return V(join)(SAMPI_X86(cvtpd_ps, a), SAMPI_X86(cvtpd_ps, b)); }
SAMPI_OP size_t V(pack)(V(f) v, V(i) id, V(m) in, float *x_out, int32_t *id_out)
{
    _mm512_storeu_ps(x_out, _mm512_maskz_compress_ps(in, v));
    _mm512_storeu_si512((void *)id_out, _mm512_maskz_compress_epi32(in, (__m512i)id));
    return (size_t)__builtin_popcount(in);
}
SAMPI_OP V(f) V(part)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i, size_t at)
{
    V(f) v = V(join)(sampi_row_avx2(x, dtype, NULL, i + at), sampi_row_avx2(x, dtype, NULL, i + at + 16));
    return mask ? V(select)((V(m))_pext_u32(mask[i / 32], 0xFF00FFu << at), v, V(all)(-INFINITY)) : v;
}
SAMPI_OP V(f) V(fold3)(V(f) a, V(f) b)
{
    V(f) v = V(max)(SAMPI_X86(shuffle_f32x4, a, b, 0x88), SAMPI_X86(shuffle_f32x4, a, b, 0xDD));
    return SAMPI_SHUFFLE(v, v, 0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
}

#elif SAMPI_W == 8 /* avx2 */

SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) /* stays: clang 14 would take pains to make 16-bit numbers of it */
    { return (V(m))V(stay)(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)); }
SAMPI_OP bool V(any)(V(m) m) { return _mm256_movemask_ps((V(f))m) != 0; }
SAMPI_OP V(m) V(allowed)(const uint32_t *mask, size_t i) /* as the upper bits: select looks at no other */
    { return (V(m))((V(i))_mm256_set1_epi8(((const char *)mask)[i / 8]) << (7 - V(loadi)(SAMPI_STEP))); }
SAMPI_OP V(f) V(select)(V(m) m, V(f) a, V(f) b) { return _mm256_blendv_ps(b, a, (V(f))m); }
SAMPI_OP V(q) V(spread)(V(m) m, int half)
{
    V(m) low = SAMPI_SHUFFLE(m, m, 0, 0, 1, 1, 2, 2, 3, 3), high = SAMPI_SHUFFLE(m, m, 4, 4, 5, 5, 6, 6, 7, 7);
    return (V(q))(half ? high : low);
}
SAMPI_OP V(d) V(widen)(V(f) v, int half)
    { return _mm256_cvtps_pd(half ? _mm256_extractf128_ps(v, 1) : _mm256_castps256_ps128(v)); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b)
    { return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(a)), _mm256_cvtpd_ps(b), 1); }
SAMPI_OP size_t V(pack)(V(f) v, V(i) id, V(m) in, float *x_out, int32_t *id_out)
{
    unsigned bits = (unsigned)_mm256_movemask_ps((V(f))in); /* then the numbers of the kept lanes, one per byte */
    uint64_t lanes = _pext_u64(0x0706050403020100u, _pdep_u64(bits, 0x0101010101010101u) * 0xFF);
    __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)lanes));
    _mm256_storeu_ps(x_out, _mm256_permutevar8x32_ps(v, order));
    _mm256_storeu_si256((__m256i *)(void *)id_out, _mm256_permutevar8x32_epi32((__m256i)id, order));
    return (size_t)__builtin_popcount(bits);
}
SAMPI_OP V(f) V(fold3)(V(f) a, V(f) b)
    { return V(max)(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)); }

#elif SAMPI_SSE2 /* sse2 */

SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) { return (V(m))_mm_cmpunord_ps(a, b); }
SAMPI_OP bool V(any)(V(m) m) { return _mm_movemask_ps((V(f))m) != 0; }
SAMPI_OP V(d) V(widen)(V(f) v, int half) { return _mm_cvtps_pd(half ? _mm_movehl_ps(v, v) : (__m128)v); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b) { return _mm_movelh_ps(_mm_cvtpd_ps(a), _mm_cvtpd_ps(b)); }
SAMPI_OP V(q) V(even)(V(q) a, V(q) b) { return (V(q))_mm_mul_epu32((__m128i)a, (__m128i)b); }
SAMPI_OP V(i) V(u16)(const uint16_t *p)
    { return (V(i))_mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p), _mm_setzero_si128()); }

#elif SAMPI_NEON /* neon */

SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { return vmaxq_f32(a, b); }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { return vminq_f32(a, b); }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { return vmaxq_f64(a, b); }
SAMPI_OP V(f) V(fma)(V(f) a, V(f) b, V(f) c) { return vfmaq_f32(c, a, b); }
SAMPI_OP V(d) V(fmad)(V(d) a, V(d) b, V(d) c) { return vfmaq_f64(c, a, b); }
SAMPI_OP V(d) V(widen)(V(f) v, int half) { return half ? vcvt_high_f64_f32(v) : vcvt_f64_f32(vget_low_f32(v)); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b) { return vcvt_high_f32_f64(vcvt_f32_f64(a), b); }
SAMPI_OP V(i) V(trunc)(V(f) v) { return vcvtq_u32_f32(v); }
SAMPI_OP V(i) V(sra)(V(i) a, V(i) n) { return (V(i))vshlq_s32((V(m))a, vnegq_s32((V(m))n)); }
SAMPI_OP V(i) V(u16)(const uint16_t *p) { return vmovl_u16(vld1_u16(p)); }
SAMPI_OP V(f) V(f16)(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) { (void)a, (void)b; return vdupq_n_s32(0); } /* a maximum with a NaN is one */
SAMPI_OP V(f) V(fold1)(V(f) a, V(f) b) { return vpmaxq_f32(a, b); }
SAMPI_OP V(f) V(fold2)(V(f) a, V(f) b) { return vpmaxq_f32(a, b); }

#elif SAMPI_WASM /* wasm */

SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { return (V(f))wasm_f32x4_pmax((v128_t)b, (v128_t)a); }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { return (V(f))wasm_f32x4_pmin((v128_t)b, (v128_t)a); }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { return (V(d))wasm_f64x2_pmax((v128_t)b, (v128_t)a); }
SAMPI_OP V(d) V(widen)(V(f) v, int half)
    { return (V(d))wasm_f64x2_promote_low_f32x4((v128_t)(half ? SAMPI_SHUFFLE(v, v, 2, 3, 2, 3) : v)); }
SAMPI_OP V(f) V(low)(V(d) v) { return (V(f))wasm_f32x4_demote_f64x2_zero((v128_t)v); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b) { return SAMPI_SHUFFLE(V(low)(a), V(low)(b), 0, 1, 4, 5); }
SAMPI_OP V(i) V(trunc)(V(f) v) { return (V(i))wasm_u32x4_trunc_sat_f32x4((v128_t)v); }
SAMPI_OP V(i) V(u16)(const uint16_t *p) { return (V(i))wasm_u32x4_load16x4(p); }

#else /* generic */

SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { return V(select)((V(m))(a > b), a, b); }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { return V(select)((V(m))(a < b), a, b); }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { V(q) m = (V(q))(a > b); return (V(d))(((V(q))a & m) | ((V(q))b & ~m)); }
SAMPI_OP V(d) V(widen)(V(f) v, int half) { return SAMPI_VECTOR(V(d), v[half ? 2 : 0], v[half ? 3 : 1]); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b)
    { return SAMPI_VECTOR(V(f), (float)a[0], (float)a[1], (float)b[0], (float)b[1]); }
SAMPI_OP V(i) V(trunc)(V(f) v) /* what does not fit may be anything in C */
{
    V(m) in = (V(m))(v < 2147483648.0f);
    return (V(i))__builtin_convertvector((V(f))((V(m))v & in), V(m)) | ((V(i))~in & 0x80000000u);
}
SAMPI_OP V(i) V(u16)(const uint16_t *p) { return SAMPI_VECTOR(V(i), p[0], p[1], p[2], p[3]); }
#endif

/* ---- vectors of four ---- */
#if SAMPI_W == 4
#if !SAMPI_SSE2
SAMPI_OP bool V(any)(V(m) m) { return (((V(q))m)[0] | ((V(q))m)[1]) != 0; }
#endif
#if !SAMPI_SSE2 && !SAMPI_NEON
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) { return (V(m))(a != a) | (V(m))(b != b); }
SAMPI_OP V(q) V(even)(V(q) a, V(q) b) { return (a << 32 >> 32) * (b << 32 >> 32); }
SAMPI_OP V(f) V(fold1)(V(f) a, V(f) b)
    { return V(max)(SAMPI_SHUFFLE(a, b, 0, 4, 1, 5), SAMPI_SHUFFLE(a, b, 2, 6, 3, 7)); }
SAMPI_OP V(f) V(fold2)(V(f) a, V(f) b)
    { return V(max)(SAMPI_SHUFFLE(a, b, 0, 1, 4, 5), SAMPI_SHUFFLE(a, b, 2, 3, 6, 7)); }
#endif
SAMPI_OP V(m) V(allowed)(const uint32_t *mask, size_t i)
    { return (V(m))((V(alli)(mask[i / 32] >> (i % 32)) & (V(alli)(1) << V(loadi)(SAMPI_STEP))) != 0); }
SAMPI_OP V(q) V(spread)(V(m) m, int half)
    { return (V(q))(half ? SAMPI_SHUFFLE(m, m, 2, 2, 3, 3) : SAMPI_SHUFFLE(m, m, 0, 0, 1, 1)); }
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
SAMPI_OP V(f) V(fold3)(V(f) a, V(f) b) { (void)b; return a; }
#if !SAMPI_NEON
SAMPI_OP V(i) V(sra)(V(i) a, V(i) n) /* ~(2 ~a 2^(31 - n) / 2^32) */
{
    V(q) two = (V(q))(~a + ~a), power = (V(q))V(trunc)((V(f))((V(alli)(158) - n) << 23));
    return ~(V(i))(V(even)(two, power) >> 32 | V(even)(two >> 32, power >> 32) >> 32 << 32);
}
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
#endif
#endif

/* ---- for every set ---- */
SAMPI_OP V(f) V(keep)(V(m) m, V(f) v) { return V(select)(m, v, V(all)(0.0f)); }
SAMPI_OP V(i) V(chord)(V(i) k) { return V(sra)((k & V(alli)(0x1FFFFFF)) ^ V(alli)(~0x3FFFFFFu), k >> 25); }
SAMPI_OP V(q) V(pairs)(V(i) v) { return ((V(q))v & V(allq)(0xFFFFFFFFu)) + ((V(q))v >> 32); }
SAMPI_OP uint64_t V(hsumq)(V(q) v)
{
    uint64_t sum = v[0];
    SAMPI_UNROLL_8 for (int k = 1; k < SAMPI_W / 2; k++) sum += v[k];
    return sum;
}
SAMPI_OP bool V(doubtful)(V(q) m) { return !SAMPI_FUSED && __builtin_expect(V(hsumq)(m) != 0, 0); }
SAMPI_OP double V(hsum)(V(d) v)
{
    double sum = v[0];
    SAMPI_UNROLL_8 for (int k = 1; k < SAMPI_W / 2; k++) sum += v[k];
    return sum;
}
SAMPI_OP float V(hmax)(V(f) v)
{
    float max = v[0];
    for (int k = 1; k < SAMPI_W; k++) max = v[k] > max || v[k] != v[k] ? v[k] : max; /* a NaN stays */
    return max;
}
SAMPI_OP V(f) V(row)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i)
{
    const uint16_t *half = (const uint16_t *)x + i;
    const double *wide = (const double *)x + i;
    V(f) v;
    if (dtype == SAMP_F16)
        v = V(f16)(half);
    else if (dtype == SAMP_BF16)
        v = (V(f))(V(u16)(half) << 16);
    else if (dtype == SAMP_F64)
        v = V(narrow)(V(loadd)(wide), V(loadd)(wide + SAMPI_W / 2));
    else
        v = V(load)((const float *)x + i);
    return mask ? V(select)(V(allowed)(mask, i), v, V(all)(-INFINITY)) : v;
}

/* ---- where a comparison gives a vector: all lanes 0 or -1 ---- */
#if SAMPI_W < 16
SAMPI_OP V(m) V(ge)(V(f) a, V(f) b) { return (V(m))(a >= b); }
SAMPI_OP V(m) V(lt_and)(V(m) m, V(f) a, V(f) b) { return m & (V(m))(a < b); }
SAMPI_OP V(m) V(negative)(V(i) a) { return (V(m))a >> 31; }
SAMPI_OP V(q) V(add_where)(V(q) sum, V(m) m, int half, V(q) v) { return sum + (v & V(spread)(m, half)); }
SAMPI_OP V(i) V(sub_where)(V(i) sum, V(m) m, V(i) v) { return sum - (v & (V(i))m); }
SAMPI_OP V(t) V(tally)(V(t) n, V(m) m) { return n - (V(i))m; }
SAMPI_OP size_t V(total)(V(t) n) { return (size_t)V(hsumq)(V(pairs)(n)); }
SAMPI_OP V(f) V(part)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i, size_t at)
    { return V(row)(x, dtype, mask, i + at); }
#endif
/* clang-format on */

/* ================================================================================================== >>passes
   The kernels, once for all instruction sets; their contract is in >>kernels. Loops go by four vectors, and stage by
   stage over these (SAMPI_FOUR), so that a step need not wait for the one before it. Rows that do not fill the last
   four are filled up with masked elements. A new kernel is a line of the contract, a reference in >>scalar, a function
   here, a member of sampi_kernels and a word in SAMPI_KERNELS; what it needs and the vocabulary lacks is an operation
   there. */

/* A row's end, filled up with masked elements (-infinity): that is much code, so it is called. */
SAMPI_T static __attribute__((noinline)) const float *V(pad)(const float *x, size_t left, float *room, size_t all)
{
    for (size_t at = 0; at < all; at += SAMPI_W) V(store)(room + at, V(all)(-INFINITY));
    memcpy(room, x, left * sizeof *x);
    return room;
}

/* The next `count` vectors of a row, filled up in the same way. */
SAMPI_OP void V(take)(const float *x, size_t left, int count, V(f) * v)
{
    float room[4 * SAMPI_W];
    if (__builtin_expect(left < (size_t)(SAMPI_W * count), 0)) x = V(pad)(x, left, room, 4 * SAMPI_W);
    SAMPI_UNROLL_4 for (int k = 0; k < count; k++) v[k] = V(load)(x + SAMPI_W * k);
}

/* Prefetch for a later step of four vectors: once for 64 bytes, which is a line of most caches. */
SAMPI_OP void V(ahead)(const float *x)
{
    for (size_t k = 0; k < 16 * SAMPI_W; k += 64) __builtin_prefetch((const void *)((uintptr_t)x + SAMPI_AHEAD + k));
}

SAMPI_OP size_t V(fetch_as)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t at, size_t n, float *out)
{
    size_t i = 0;
    for (; i + SAMPI_W <= n; i += SAMPI_W) V(store)(out + i, V(row)(x, dtype, mask, at + i));
    for (; i < n; i++) out[i] = sampi_element(x, dtype, mask, at + i);
    return n;
}

SAMPI_T static size_t V(fetch)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t at, size_t n, float *out)
{
    if (!mask && SAMPI_W == 8) SAMPI_BY_DTYPE(V(fetch_as), x, dtype, NULL, at, n, out) /* half as fast again */
    SAMPI_BY_DTYPE(V(fetch_as), x, dtype, mask, at, n, out)
}

/* The maxima of 2 SAMPI_W elements from i, lane by lane; with 16 lanes a half of them is a line's. */
SAMPI_OP V(f) V(both)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i, V(m) * nan)
{
    if (dtype == SAMP_BF16) { /* even and odd elements, where they stand */
        V(i) pairs = V(loadi)((const int32_t *)(const void *)((const uint16_t *)x + i));
        V(f) even = (V(f))(pairs << 16), odd = (V(f))(pairs & V(alli)(0xFFFF0000u));
        *nan |= V(unord)(even, odd);
        return V(max)(even, odd);
    }
    V(f) a = V(part)(x, dtype, mask, i, 0), b = V(part)(x, dtype, mask, i, SAMPI_W == 4 ? 4 : 8);
    *nan |= V(unord)(a, b);
    return V(max)(a, b);
}

/* line [16 * tiles] = the maxima of their lines, SAMPI_W of them at a time. */
SAMPI_OP void V(lines)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t tiles, float *line, V(f) * max,
                       V(m) * nan)
{
    enum { rows = SAMPI_W == 4 ? 4 : 8, row = SAMPI_W * SAMPI_LINE / rows }; /* vectors to fold, elements of one */
    for (const float *end = line + SAMPI_LINE * tiles; line < end; line += SAMPI_W) {
        V(f) v[4] = { *max, *max, *max, *max };
        SAMPI_UNROLL_8 for (int k = 0; k < rows; k++)
        {
            V(f) one = V(both)(x, dtype, mask, (size_t)(row * k), nan);
            if (SAMPI_W == 4) one = V(max)(one, V(both)(x, dtype, mask, (size_t)(row * k + 8), nan));
            v[k / 2] = k % 2 ? V(fold1)(v[k / 2], one) : one;
        }
        v[0] = V(fold3)(V(fold2)(v[0], v[1]), V(fold2)(v[2], v[3]));
        V(store)(line, v[0]);
        *max = V(max)(*max, v[0]);
        x = (const char *)x + rows * row * SAMPI_SIZE_OF(dtype);
        mask = mask ? mask + rows * row / 32 : NULL;
    }
}

/* Tiles without a token are left out. What has a mask, or an end, becomes floats first where it is not that already,
   and so does what would else take longer. */
SAMPI_T static float V(maxima)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t n, float *line)
{
    const bool direct = dtype == SAMP_F32 || dtype == SAMP_BF16 || (dtype == SAMP_F16 ? SAMPI_FUSED : SAMPI_W == 8);
    V(f) max = V(all)(-INFINITY);
    V(m) nan = V(unord)(max, max);
    float room[SAMPI_TILE];
    for (size_t i = 0, tiles; i < n; i += tiles * SAMPI_TILE, line += tiles * SAMPI_LINE) {
        const void *at = (const char *)x + i * SAMPI_SIZE_OF(dtype);
        size_t whole = (n - i) / SAMPI_TILE;
        int kind = !whole ? 3 : mask ? sampi_mask_kind(mask + i / 32, SAMPI_TILE / 32) : 2;
        tiles = kind == 2 && direct && !mask ? whole : 1;
        if (kind == 0) {
            for (int k = 0; k < SAMPI_LINE; k += SAMPI_W) V(store)(line + k, V(all)(-INFINITY));
        } else if (kind == 1 && dtype == SAMP_F32) {
            V(lines)(at, SAMP_F32, mask + i / 32, 1, line, &max, &nan);
        } else if (kind == 2 && dtype == SAMP_BF16) {
            V(lines)(at, SAMP_BF16, NULL, tiles, line, &max, &nan);
        } else if (kind == 2 && dtype == SAMP_F16 && SAMPI_FUSED) {
            V(lines)(at, SAMP_F16, NULL, tiles, line, &max, &nan);
        } else if (kind == 2 && dtype == SAMP_F64 && SAMPI_W == 8) {
            V(lines)(at, SAMP_F64, NULL, tiles, line, &max, &nan);
        } else {
            if (!whole) V(pad)(room, 0, room, SAMPI_TILE);
            if (kind != 2 || dtype != SAMP_F32)
                V(fetch)(x, dtype, mask, i, whole ? SAMPI_TILE : n - i, room), at = room;
            V(lines)(at, SAMP_F32, NULL, tiles, line, &max, &nan);
        }
    }
    return V(any)(nan) ? NAN : V(hmax)(max);
}

/* d = l - max of up to four vectors of logits, and p = e^d to about 1e-6. */
SAMPI_OP void V(near_exps)(const V(f) * l, V(f) max, int count, V(f) * d, V(f) * p)
{
    static const float coefficient[5] = { SAMPI_F4, SAMPI_F3, SAMPI_F2, SAMPI_F1, 1.0f };
    const V(f) log2e = V(all)((float)SAMPI_LOG2E),
               round = V(all)(12582912.0f); /* 1.5 * 2^23: integers in its low bits */
    V(f) t[4], f[4];
    SAMPI_UPTO d[k] = V(max)(V(all)(SAMPI_LEAST_D), l[k] - max);
    SAMPI_UPTO t[k] = V(fma)(d[k], log2e, round);
    SAMPI_UPTO f[k] = V(fma)(d[k], log2e, round - t[k]);
    SAMPI_UPTO p[k] = V(all)(SAMPI_F5);
    SAMPI_UNROLL_8 for (int c = 0; c < 5; c++) SAMPI_UPTO p[k] = V(fma)(p[k], f[k], V(all)(coefficient[c]));
    SAMPI_UPTO p[k] = (V(f))((V(i))p[k] + ((V(i))t[k] << 23));
}

/* Sums of floats, two vectors of each, go over to doubles after every 16 terms, and begin anew. */
SAMPI_OP void V(flush)(V(f) * part, V(d) * sum)
{
    for (int k = 0; k < 2; k++) {
        V(f) both = part[2 * k] + part[2 * k + 1];
        sum[k] += V(widen)(both, 0) + V(widen)(both, 1);
        part[2 * k] = part[2 * k + 1] = V(all)(0.0f);
    }
}
#define SAMPI_FLUSH_AT(i) ((i) % (32 * SAMPI_W) == 28 * SAMPI_W)

SAMPI_T static void V(sweep)(const float *x, size_t n, float r, float max, double *z, double *s)
{
    const V(f) vr = V(all)(r), vmax = V(all)(max), none = V(all)(0.0f);
    V(f) l[4], d[4], p[4], part[4] = { none, none, none, none };
    V(d) sum[2] = { V(alld)(0.0), V(alld)(0.0) };
    for (size_t i = 0; i < n; i += 4 * SAMPI_W) {
        V(take)(x + i, n - i, 4, l);
        V(ahead)(x + i);
        SAMPI_FOUR l[k] = V(stay)(l[k] * vr);
        V(near_exps)(l, vmax, 4, d, p);
        SAMPI_FOUR part[k % 2] += p[k];
        SAMPI_FOUR part[2 + k % 2] = V(fma)(-p[k], d[k], part[2 + k % 2]);
        if (SAMPI_FLUSH_AT(i)) V(flush)(part, sum);
    }
    V(flush)(part, sum);
    *z = V(hsum)(sum[0]);
    *s = V(hsum)(sum[1]);
}

SAMPI_T static void V(moments)(const float *x, size_t n, float pivot, double *moment)
{
    const V(f) vp = V(all)(pivot), low = V(all)(-FLT_MAX), none = V(all)(0.0f);
    V(f) v[4], part[4] = { none, none, none, none };
    V(d) sum[2] = { V(alld)(0.0), V(alld)(0.0) };
    V(t) count = { 0 };
    for (size_t i = 0; i < n; i += 4 * SAMPI_W) {
        V(take)(x + i, n - i, 4, v);
        SAMPI_FOUR
        {
            V(m) in = V(ge)(v[k], low);
            v[k] = V(keep)(in, v[k] - vp);
            count = V(tally)(count, in);
            part[k % 2] += v[k];
            part[2 + k % 2] = V(fma)(v[k], v[k], part[2 + k % 2]);
        }
        if (SAMPI_FLUSH_AT(i)) V(flush)(part, sum);
    }
    V(flush)(part, sum);
    moment[0] = (double)V(total)(count);
    moment[1] = V(hsum)(sum[0]);
    moment[2] = V(hsum)(sum[1]);
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
    size_t kept = 0, i = 0;
    for (; i + 4 * SAMPI_W <= n; i += 4 * SAMPI_W) {
        V(f) v[4];
        V(m) in[4];
        SAMPI_FOUR v[k] = V(load)(x + i + SAMPI_W * k);
        SAMPI_FOUR in[k] = V(ge)(v[k], lo);
        if (!V(any)((in[0] | in[1]) | (in[2] | in[3]))) continue; /* mostly; further branches could not be foretold */
        SAMPI_FOUR
        {
            size_t at = i + (size_t)(SAMPI_W * k);
            V(i) token = id ? V(loadi)(id + at) : step + V(alli)((uint32_t)base + (uint32_t)at);
            kept += V(pack)(v[k], token, V(lt_and)(in[k], v[k], hi), x_out + kept, id_out + kept);
        }
    }
    return kept + sampi_collect_scalar(x + i, id ? id + i : NULL, base + (int32_t)i, n - i, floor, below,
                                       x_out + kept, id_out + kept);
}

SAMPI_T static size_t V(pick)(const float *x, size_t n, const int32_t *line, size_t m, float floor, float *x_out,
                              int32_t *id_out)
{
    enum { parts = SAMPI_LINE / SAMPI_W };
    const V(f) lo = V(all)(floor);
    const V(i) step = V(loadi)(SAMPI_STEP);
    V(f) v[parts];
    size_t kept = 0;
    for (size_t h = 0; h < m; h++) {
        size_t i = (size_t)line[h] * SAMPI_LINE;
        __builtin_prefetch(x + (size_t)line[h + 8 < m ? h + 8 : h] * SAMPI_LINE);
        V(take)(x + i, n - i, parts, v);
        SAMPI_UNROLL_4 for (int k = 0; k < parts; k++, i += SAMPI_W)
            kept += V(pack)(v[k], step + V(alli)((uint32_t)i), V(ge)(v[k], lo), x_out + kept, id_out + kept);
    }
    return kept;
}

SAMPI_T static size_t V(count)(const float *x, size_t n, float floor)
{
    const V(f) lo = V(all)(floor);
    V(t) none = { 0 }, count[2] = { none, none };
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
    static const double coefficient[8] = {
        SAMPI_E7, SAMPI_E6, SAMPI_E5, SAMPI_E4, SAMPI_E3, SAMPI_E2, SAMPI_E1, 1.0
    };
    const V(d) log2e = V(alld)(SAMPI_LOG2E), shift = V(alld)(SAMPI_SHIFT);
    V(d) s[4], f[4];
    V(q) doubt = V(allq)(0);
    SAMPI_FOUR d[k] = V(maxd)(V(widen)(l[k / 2], k % 2) - max, V(alld)(-700.0));
    SAMPI_FOUR s[k] = V(fmad)(d[k], log2e, shift);
    SAMPI_FOUR f[k] = V(fmad)(d[k], log2e, shift - s[k]);
    SAMPI_FOUR e[k] = V(alld)(SAMPI_E8);
    SAMPI_UNROLL_8 for (int c = 0; c < 8; c++) SAMPI_FOUR e[k] = V(fmad)(e[k], f[k], V(alld)(coefficient[c]));
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

/* The 2 SAMPI_W logits l anew, one by one. */
SAMPI_T static __attribute__((noinline)) void V(redo)(const V(f) * l, float max, V(d) * w, V(d) * s)
{
    for (int i = 0; i < 2 * SAMPI_W; i++) {
        int k = i / (SAMPI_W / 2), lane = i % (SAMPI_W / 2);
        float x = l[i / SAMPI_W][i % SAMPI_W];
        uint64_t weight = sampi_weight(max, x);
        w[k][lane] = SAMPI_INT + (double)weight;
        s[k][lane] = SAMPI_INT + (double)sampi_weighted(weight, max, x);
    }
}

/* w = sampi_weight of the logits l [2], half a vector at a time, and s = sampi_weighted of these, if with_s: doubles,
   each SAMPI_INT larger. */
SAMPI_OP void V(exact)(const V(f) * l, float max, bool with_s, V(d) * w, V(d) * s)
{
    const V(d) one = V(alld)(SAMPI_INT), scale = V(alld)((double)SAMPI_ONE);
    V(d) d[4], e[4];
    V(q) doubt = V(exps)(l, V(alld)((double)max), d, e);
    SAMPI_FOUR w[k] = V(fmad)(e[k], scale, one);
    if (with_s) SAMPI_FOUR s[k] = V(fmad)(one - w[k], d[k], one);
    if (!SAMPI_FUSED) SAMPI_FOUR doubt |= V(unsure)(e[k] * scale, w[k] - one);
    if (!SAMPI_FUSED && with_s) SAMPI_FOUR doubt |= V(unsure)((one - w[k]) * d[k], s[k] - one);
    if (V(doubtful)(doubt)) V(redo)(l, max, w, s);
}
/* The integer in one of them. */
SAMPI_OP V(q) V(whole)(V(d) w) { return (V(q))w - (V(q))V(alld)(SAMPI_INT); }

SAMPI_T static void V(weights)(const float *x, size_t n, float max, uint64_t *w)
{
    V(f) l[2];
    V(d) v[4], s[4];
    for (size_t i = 0; i < n; i += 2 * SAMPI_W) {
        V(take)(x + i, n - i, 2, l);
        V(exact)(l, max, false, v, s);
        if (SAMPI_W == 16) SAMPI_FOUR SAMPI_OPAQUE(v[k]); /* else gcc computes what may not be stored late */
        SAMPI_FOUR if (k < 2 || SAMPI_W < 16 || n - i > SAMPI_W) V(storeq)(w + i + SAMPI_W / 2 * k, V(whole)(v[k]));
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
        /* Without fma e^d is off by less than 2^-42 of itself: is the float the same at both ends? */
        const V(d) less = V(alld)(1.0 - 1.0 / ((uint64_t)1 << 42)), more = V(alld)(1.0 + 1.0 / ((uint64_t)1 << 42));
        for (int k = 0; k < 2 && !SAMPI_FUSED; k++)
            doubt |= (V(q))(V(narrow)(e[2 * k] * less, e[2 * k + 1] * less) !=
                            V(narrow)(e[2 * k] * more, e[2 * k + 1] * more));
        if (V(doubtful)(doubt)) {
            sampi_probs_scalar(x + i, n - i < 2 * SAMPI_W ? n - i : 2 * SAMPI_W, max, z, p + i);
            continue;
        }
        for (int k = 0; k < 2; k++)
            if (k == 0 || SAMPI_W < 16 || n - i > SAMPI_W)
                V(store)(p + i + SAMPI_W * k, V(keep)(V(ge)(l[k], V(all)(-FLT_MAX)), out[k]));
    }
}

SAMPI_T static uint64_t V(mass)(const float *x, const uint64_t *w, size_t n, float floor)
{
    const V(f) lo = V(all)(floor);
    V(q) sum[2] = { V(allq)(0), V(allq)(0) };
    size_t i = 0;
    for (; i + SAMPI_W <= n; i += SAMPI_W)
        for (int k = 0; k < 2; k++)
            sum[k] = V(add_where)(sum[k], V(ge)(V(load)(x + i), lo), k, V(loadq)(w + i + SAMPI_W / 2 * k));
    return V(hsumq)(sum[0] + sum[1]) + sampi_mass_scalar(x + i, w + i, n - i, floor);
}

SAMPI_OP void V(sums_as)(const float *x, size_t n, float r, float max, float floor, bool with_s, sampi_sums *sums)
{
    const bool with_above = !SAMPI_FUSED || (floor > -FLT_MAX && floor < INFINITY); /* else all are, or none */
    const V(f) vr = V(all)(r), low = V(all)(-FLT_MAX), lo = V(all)(floor);
    V(q) z = V(allq)(0), s = z, above = z;
    V(t) count = { 0 };
    V(f) x2[2], l[2];
    V(d) w[4], ws[4];
    for (size_t i = 0; i < n; i += 2 * SAMPI_W) {
        V(take)(x + i, n - i, 2, x2);
        for (int k = 0; k < 2; k++) count = V(tally)(count, V(ge)(x2[k], low));
        for (int k = 0; k < 2; k++) l[k] = x2[k] * vr;
        V(exact)(l, max, with_s, w, ws);
        SAMPI_FOUR z += V(whole)(w[k]);
        if (with_s) SAMPI_FOUR s += V(whole)(ws[k]);
        if (with_above) SAMPI_FOUR above = V(add_where)(above, V(ge)(x2[k / 2], lo), k % 2, V(whole)(w[k]));
    }
    sums->n += V(total)(count);
    sums->z += V(hsumq)(z);
    sums->s += V(hsumq)(s);
    sums->above += with_above ? V(hsumq)(above) : floor <= -FLT_MAX ? V(hsumq)(z) : 0;
}

SAMPI_T static void V(sums)(const float *x, size_t n, float r, float max, float floor, bool with_s, sampi_sums *sums)
{
    if (with_s || !SAMPI_FUSED) /* where there is no fma one body for both: it is long */
        V(sums_as)(x, n, r, max, floor, SAMPI_FUSED || with_s, sums);
    else
        V(sums_as)(x, n, r, max, floor, false, sums);
}

/* The sum of q of a tile. `all`, where the floor is none, leaves out the look whether an element is 64 octaves down,
   where q is 0: *far tells that there was one, and the sum is wrong. */
SAMPI_OP uint64_t V(tile)(const float *x, bool all, V(f) r, V(f) max, V(f) floor, bool *far)
{
    V(i) i4[4], seen = V(alli)(0), sum[2] = { seen, seen };
    V(f) v[4], t[4];
    for (size_t i = 0; i < SAMPI_TILE; i += 4 * SAMPI_W) {
        SAMPI_FOUR v[k] = V(load)(x + i + SAMPI_W * k);
        V(ahead)(x + i);
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
    float room[SAMPI_TILE];
    bool far = floor > -FLT_MAX; /* once there was one, there will be more */
    for (size_t i = 0; i < n; i += SAMPI_TILE, tile++) {
        const float *at = n - i < SAMPI_TILE ? V(pad)(x + i, n - i, room, SAMPI_TILE) : x + i;
        if (!far) *tile = V(tile)(at, true, vr, vmax, lo, &far);
        if (far) *tile = V(tile)(at, false, vr, vmax, lo, &far);
    }
}

SAMPI_T static void V(scale)(const float *x, size_t n, float r, float *out)
{
    const V(f) vr = V(all)(r), low = V(all)(-FLT_MAX), high = V(all)(FLT_MAX);
    size_t i = 0;
    for (; i + SAMPI_W <= n; i += SAMPI_W) {
        V(f) v = V(load)(x + i);
        V(store)(out + i, V(min)(V(max)(v * vr, low), high));
    }
    sampi_scale_scalar(x + i, n - i, r, out + i);
}

#if SAMPI_W == 8
/* Number w (id, logit, p) of eight candidates: the lanes of three vectors that it is in, and then in order. */
SAMPI_OP V(f) V(field)(const samp_token_data *d, int w)
{
    static const int32_t third[10] = { -1, 0, 0, -1, 0, 0, -1, 0, 0, -1 };
    const float *p = (const float *)(const void *)d;
    V(i) order = (V(loadi)(SAMPI_STEP) * 3 + (uint32_t)w) & 7;
    V(f) v = V(select)((V(m))V(loadi)(third + (8 - w) % 3), V(load)(p + 8), V(load)(p));
    v = V(select)((V(m))V(loadi)(third + (16 - w) % 3), V(load)(p + 16), v);
    return _mm256_permutevar8x32_ps(v, (__m256i)order);
}

SAMPI_T static bool V(split)(const samp_token_data *d, size_t n, float *x)
{
    V(i) last = V(alli)(~0u), bad = V(alli)(0); /* negative: an id is, or the way there from the one before, less 1 */
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        V(i) id = (V(i))V(field)(d + i, 0);
        bad |= id | (id - SAMPI_SHUFFLE(last, id, 7, 8, 9, 10, 11, 12, 13, 14) - 1);
        last = id;
        V(store)(x + i, V(field)(d + i, 1));
    }
    bool ascend = i == 0 || i == n || d[i].id > d[i - 1].id;
    return sampi_split_scalar(d + i, n - i, x + i) && ascend && !V(any)(V(negative)(bad));
}
#endif

#if SAMPI_W > 4
/* e [n] lies between lo = e and up, and where these differ libm decides. Called, as it is rare. */
static __attribute__((noinline)) void V(ask)(const float *x, float *e, const float *up, int n)
{
    for (int k = 0; k < n; k++)
        if (e[k] != up[k]) e[k] = expf(x[k]);
}

/* libm's float is e^x rounded, but where that lies next to the middle between two floats. */
SAMPI_T static double V(expf)(const float *x, size_t n, float t, float max, float *e)
{
    const V(d) zero = V(alld)(0.0), less = V(alld)(1.0 - SAMPI_EXPF_DOUBT), more = V(alld)(1.0 + SAMPI_EXPF_DOUBT);
    const V(f) low = V(all)(-FLT_MAX);
    V(d) sum = zero, d[4], y[4];
    float at[2 * SAMPI_W], up[2 * SAMPI_W];
    for (size_t i = 0; i < n; i += 2 * SAMPI_W) {
        V(f) l[2];
        V(m) differ[2];
        V(take)(x + i, n - i, 2, l);
        for (int k = 0; k < 2; k++) {
            V(f) finite = V(min)(V(max)(l[k] / V(all)(t), low), V(all)(FLT_MAX));
            l[k] = V(select)(V(ge)(l[k], low), finite, l[k]) - V(all)(max);
            V(store)(at + SAMPI_W * k, l[k]);
        }
        (void)V(exps)(l, zero, d, y);
        for (int k = 0; k < 2; k++) {
            V(f) down = V(narrow)(y[2 * k] * less, y[2 * k + 1] * less);
            V(f) above = V(narrow)(y[2 * k] * more, y[2 * k + 1] * more);
            V(store)(e + i + SAMPI_W * k, down);
            V(store)(up + SAMPI_W * k, above);
            differ[k] = V(lt_and)(V(ge)(down, V(all)(0.0f)), down, above);
        }
        if (V(any)(differ[0] | differ[1])) V(ask)(at, e + i, up, 2 * SAMPI_W);
        for (int k = 0; k < 4; k++) sum += V(widen)(V(load)(e + i + k / 2 * SAMPI_W), k % 2);
    }
    return V(hsum)(sum);
}

#endif

SAMPI_T static size_t V(climb)(const float *x, size_t n, const sampi_climb *c, float from, double *sum)
{
    const V(f) start = V(all)(from), half = V(all)(sampi_half_ulp(from)), max = V(all)(c->max), a = V(all)(c->a),
               b = V(all)(c->b), most = V(all)(c->most), none = V(all)(0.0f);
    V(f) part[4] = { none, none, none, none }, l, d, p;
    V(d) sums[2] = { V(alld)(0.0), V(alld)(0.0) };
    V(t) doubts = { 0 };
    for (size_t i = 0; i < n; i += SAMPI_W) {
        V(take)(x + i, n - i, 1, &l);
        V(near_exps)(&l, max, 1, &d, &p);
        p = V(keep)(V(ge)(most, l), p * V(fma)(-d, b, a));
        d = (start + p) - start;
        V(f) rest = p - d;
        doubts = V(tally)(doubts, V(ge)(V(fma)(p, V(all)(SAMPI_CLIMB_DOUBT), V(max)(rest, -rest)), half));
        part[0] += d;
    }
    V(flush)(part, sums);
    *sum += V(hsum)(sums[0]);
    return V(total)(doubts);
}

#undef V
#undef SAMPI_FLUSH_AT
#undef SAMPI_T
#undef SAMPI_X86
#endif /* SAMPI_W */

#if defined(SAMPI_ONCE) && !defined(SAMPI_W) && !defined(SAMPI_TWICE)
#define SAMPI_TWICE

/* ================================================================================================ >>dispatch
   Which kernels are used: all that were compiled stand in a table, the best one last; at the first use the last one
   that works here is chosen, for the whole process. The one thing to know: it may be chosen, or forced, at any time
   between two tokens, since all give the same ones. A row keeps the kernels it began with (sampi_open_row). */

/* With four lanes libm's expf is as fast, and the shuffles of split would cost what they save; 16 save no more than
   eight. So two sets are named besides the own one: whose split is used, and whose expf. */
#define SAMPI_KERNELS(name, isa, split, long)                                                                        \
    {                                                                                                                \
        name, sampi_fetch_##isa, sampi_maxima_##isa, sampi_sweep_##isa, sampi_moments_##isa, sampi_fold_##isa,       \
            sampi_collect_##isa, sampi_pick_##isa, sampi_count_##isa, sampi_weights_##isa, sampi_probs_##isa,        \
            sampi_mass_##isa, sampi_sums_##isa, sampi_envelope_##isa, sampi_scale_##isa, sampi_split_##split,        \
            sampi_expf_##long, sampi_climb_##isa                                                                     \
    }

/* The best one comes last. */
static const sampi_kernels SAMPI_KERNEL_TABLE[] = {
    SAMPI_KERNELS("scalar", scalar, scalar, scalar),
#if SAMPI_GENERIC
    SAMPI_KERNELS("generic", generic, scalar, scalar),
#endif
#if SAMPI_SSE2
    SAMPI_KERNELS("sse2", sse2, scalar, scalar),
#endif
#if SAMPI_AVX2
    SAMPI_KERNELS("avx2", avx2, avx2, avx2),
#endif
#if SAMPI_AVX512
    SAMPI_KERNELS("avx512", avx512, avx2, avx512),
#endif
#if SAMPI_NEON
    SAMPI_KERNELS("neon", neon, scalar, scalar),
#endif
#if SAMPI_WASM
    SAMPI_KERNELS("wasm", wasm, scalar, scalar),
#endif
};
#define SAMPI_N_KERNELS ((int)(sizeof SAMPI_KERNEL_TABLE / sizeof SAMPI_KERNEL_TABLE[0]))

/* In use where no set works. Samplers then carry SAMP_E_UNSUPPORTED (samp_status), the operator returns it. */
static const sampi_kernels SAMPI_REFUSED = SAMPI_KERNELS("none", scalar, scalar, scalar);

/* Does this CPU have every feature that the set's SAMPI_T names, and does the system save its registers? */
static SAMPI_COLD bool sampi_cpu_has(const char *name)
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

static int sampi_check_with(const sampi_kernels *k, const samp_token_data_array *cur);

/* A row that takes all of a set's paths: a whole tile, a rest, weights of all sizes, masked tokens; and at 100 what has
   the bits `odd`. Volatile: were it known to the compiler, it could do the check itself, with an arithmetic that no
   flag spoils. */
#define SAMPI_TRY 300
static SAMPI_COLD void sampi_try_row(float *x, uint32_t odd)
{
    volatile float first = 1.5f;
    volatile uint32_t bits[3] = { 0xFF800000u, odd, 0xFF800000u };
    for (int i = 0; i < SAMPI_TRY; i++) x[i] = first - (float)(i * 37 % SAMPI_TRY) * 0.09375f;
    for (int i = 0; i < 3; i++) x[99 + i] = sampi_float_of(bits[i]);
}

/* Is a NaN seen, step by step and by a set in rows of each dtype, with a mask and without? By its bits: where NaN is
   not honoured, no comparison tells. */
static SAMPI_COLD bool sampi_sees_nan(const sampi_kernels *k)
{
    const volatile uint64_t nan[4] = { 0x7FC00000u, 0x7E00u, 0x7FC0u, 0x7FF8000000000000u };
    uint64_t row[SAMPI_TRY];
    uint32_t mask[SAMPI_TRY / 32 + 1], bits;
    float line[2 * SAMPI_LINE], max;
    bool seen = true;
    memset(mask, 0xFF, sizeof mask);
    for (int i = 0; i < 8; i++) {
        uint64_t odd = nan[i / 2];
        uint32_t word = (uint32_t)odd;
        uint16_t half = (uint16_t)odd;
        size_t size = SAMPI_SIZE_OF(i / 2);
        memset(row, 0, sizeof row);
        memcpy((char *)row + 100 * size, size == 8 ? (void *)&odd : size == 4 ? (void *)&word : (void *)&half, size);
        max = k->maxima(row, (samp_dtype)(i / 2), i % 2 ? mask : NULL, SAMPI_TRY, line);
        memcpy(&bits, &max, 4);
        seen &= (bits & 0x7FFFFFFFu) > 0x7F800000u;
    }
    samp_token_data one = { 0, sampi_float_of((uint32_t)nan[0]), 0.0f };
    samp_token_data_array cur = { &one, 1, -1, false };
    return seen && sampi_check_with(k, &cur) == SAMP_E_NAN;
}

/* Some of what is defined to the last bit, as one number: the same wherever the arithmetic is what it must be. It is
   not with flags that a compiler keeps to itself, an fma that rounds twice, or another rounding than to nearest. */
#define SAMPI_TRIED 0x8F963966C95D40A1u

static SAMPI_COLD uint64_t sampi_try(const sampi_kernels *k)
{
    float x[SAMPI_TRY], p[SAMPI_TRY + SAMPI_LINE];
    uint64_t w[SAMPI_TRY + SAMPI_LINE], tile[2], total = 0, hash = 0;
    sampi_sums sums = { 1.5f, 0, 0, 0, 0 };
    double z, s;
    sampi_try_row(x, 0);
    k->weights(x, SAMPI_TRY, 1.5f, w);
    k->probs(x, SAMPI_TRY, 1.5f, 3e12, p);
    k->sums(x, SAMPI_TRY, 0.75f, 1.125f, -5.0f, true, &sums);
    k->envelope(x, SAMPI_TRY, 0.75f, 1.125f, -20.0f, tile);
    k->sweep(x, SAMPI_TRY, 1.0f, 1.5f, &z, &s);
    for (int i = 0; i < SAMPI_TRY; i++) {
        double y = 1.0 + (double)w[i] / (double)SAMPI_ONE, power = sampi_masked(x[i]) ? 1.0 : (double)x[i];
        total += w[i];
        sampi_mix(&hash, w[i] ^ sampi_bits((double)p[i]));
        sampi_mix(&hash, sampi_bits(sampi_pow(y, power)) ^ sampi_bits(SAMPI_FMA(y, y, -(y * y))));
    }
    sampi_mix(&hash, tile[0] ^ tile[1] << 32 ^ (fabs(z * (double)SAMPI_ONE / (double)total - 1.0) < 2e-6));
    sampi_mix(&hash, sums.z ^ sums.s << 1 ^ sums.above << 2 ^ sums.n);
    return hash;
}

/* May sets be used at all? Only if each that this CPU has gives what it must: a flag that spoils one may have spoiled
   more than is seen here. Some ten microseconds a set. */
static SAMPI_COLD bool sampi_all_sound(void)
{
    for (int i = 0; i < SAMPI_N_KERNELS; i++) {
        const sampi_kernels *k = &SAMPI_KERNEL_TABLE[i];
        if (sampi_cpu_has(k->name) && (sampi_try(k) != SAMPI_TRIED || !sampi_sees_nan(k))) return false;
    }
    return true;
}

/* One of the globals: which kernels are in use, NULL until the first use. Threads that come at once choose the same. */
static const sampi_kernels *sampi_chosen;

static SAMPI_COLD const sampi_kernels *sampi_choose(void)
{
    const sampi_kernels *best = &SAMPI_REFUSED;
    bool sound = sampi_all_sound();
    for (int i = 0; i < SAMPI_N_KERNELS && sound; i++)
        if (sampi_cpu_has(SAMPI_KERNEL_TABLE[i].name)) best = &SAMPI_KERNEL_TABLE[i];
    SAMPI_STORE(&sampi_chosen, best);
    return best;
}

/* The kernels in use. A load and a branch after the first time. */
static const sampi_kernels *sampi_use(void)
{
    const sampi_kernels *k = SAMPI_LOAD(&sampi_chosen);
    return k ? k : sampi_choose();
}

/* SAMP_OK, unless there are none that may be used. */
static int sampi_use_status(void) { return sampi_use() == &SAMPI_REFUSED ? SAMP_E_UNSUPPORTED : SAMP_OK; }

SAMP_API SAMPI_COLD const char *samp_isa_name(void) { return sampi_use()->name; }

SAMP_API SAMPI_COLD const char *samp_isa_list(int i)
{
    if (!sampi_all_sound()) return NULL;
    for (int k = 0; k < SAMPI_N_KERNELS; k++)
        if (sampi_cpu_has(SAMPI_KERNEL_TABLE[k].name) && i-- == 0) return SAMPI_KERNEL_TABLE[k].name;
    return NULL;
}

/* NULL forgets the choice, and the next use makes it anew. */
SAMP_API SAMPI_COLD int samp_isa_force(const char *name)
{
    if (!name) {
        SAMPI_STORE(&sampi_chosen, (const sampi_kernels *)NULL);
        return SAMP_OK;
    }
    for (int i = 0; i < SAMPI_N_KERNELS; i++) {
        if (strcmp(SAMPI_KERNEL_TABLE[i].name, name) != 0 || !sampi_cpu_has(name) || !sampi_all_sound()) continue;
        SAMPI_STORE(&sampi_chosen, &SAMPI_KERNEL_TABLE[i]);
        return SAMP_OK;
    }
    return SAMP_E_UNSUPPORTED;
}

/* =================================================================================================== >>array
   What samplers share when they go step by step: checks, the order of candidates, sums over them, and cuts. In comes
   the array of candidates that samp_apply was given or samp_sample made, in any order; each function changes it in
   place or only reads it.

   Three things in the array belong together, and every function here leaves them so. data [0 .. size) are the
   candidates that are left; those that a cut drops are overwritten or stay behind size, and nobody reads them again.
   `sorted` may be set only if data is in the order (logit descending, id ascending), because others then take data
   [0] for the maximum. `selected` is an index, so what moves or drops candidates ends it: sampi_run sees to that.

   The one thing to know: all sums are integers (sampi_weight), so their value does not depend on the array's order.
   That is why these functions may sort or not as it suits them. */

/* Every built-in sampler begins with this (sampi_run, for all of them), so that the functions below may rely on it:
   one candidate at least is not masked, none is NaN or +infinity. Reads all, writes nothing. */
static int sampi_check_with(const sampi_kernels *k, const samp_token_data_array *cur)
{
    float x[SAMPI_TILE], line[SAMPI_TILE / SAMPI_LINE];
    if (!cur->data) return SAMP_E_NULL;
    if (cur->size == 0) return SAMP_E_EMPTY;
    if (cur->size > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    bool any = false;
    for (size_t at = 0; at < cur->size; at += SAMPI_TILE) {
        size_t n = cur->size - at < SAMPI_TILE ? cur->size - at : SAMPI_TILE;
        (void)k->split(cur->data + at, n, x);
        float max = k->maxima(x, SAMP_F32, NULL, n, line);
        if (!(max <= FLT_MAX)) return SAMP_E_NAN;
        any |= max >= -FLT_MAX;
    }
    return any ? SAMP_OK : SAMP_E_EMPTY;
}

static int sampi_check(const samp_token_data_array *cur) { return sampi_check_with(sampi_use(), cur); }

/* ---- order ---- */

/* The order of candidates: (logit descending, id ascending); with a score, (score ascending) goes before these. It is
   total as long as no id is there twice, so any way to sort gives the same array. */
typedef struct sampi_order {
    double (*score)(const struct sampi_order *, const samp_token_data *);
    double max, mean; /* for the score: of the row, as sampi_typical_score and its like need them */
} sampi_order;

static const sampi_order SAMPI_BY_LOGIT = { NULL, 0.0, 0.0 };

/* Does a come before b? The only comparison of candidates that there is: sorts, heaps and argmax all ask it, for every
   candidate, so a call would be a third of their time. */
SAMPI_INLINE bool sampi_before(const sampi_order *order, const samp_token_data *a, const samp_token_data *b)
{
    if (order->score) {
        double x = order->score(order, a), y = order->score(order, b);
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

/* For the short pieces that sampi_sort_part, and typical's search on the fast path, end with. */
static void sampi_insertion_sort(const sampi_order *order, samp_token_data *d, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        samp_token_data x = d[i];
        size_t j = i;
        for (; j > 0 && sampi_before(order, &x, &d[j - 1]); j--) d[j] = d[j - 1];
        d[j] = x;
    }
}

/* The step of sampi_heap_sort: d[root] goes down among d[.. end) until neither child comes behind it. */
static SAMPI_COLD void sampi_sift_down(const sampi_order *order, samp_token_data *d, size_t root, size_t end)
{
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= end) return;
        if (child + 1 < end && sampi_before(order, &d[child], &d[child + 1])) child++;
        if (!sampi_before(order, &d[root], &d[child])) return;
        sampi_swap(&d[root], &d[child]);
        root = child;
    }
}

/* Where quicksort's pivots have been bad for too long (its callers count): n log n whatever the array is like. The
   top of the heap is the last in order. */
static SAMPI_COLD void sampi_heap_sort(const sampi_order *order, samp_token_data *d, size_t n)
{
    for (size_t root = n / 2; root > 0; root--) sampi_sift_down(order, d, root - 1, n);
    for (size_t end = n; end > 1; end--) {
        sampi_swap(&d[0], &d[end - 1]);
        sampi_sift_down(order, d, 0, end - 1);
    }
}

/* Hoare's partition around the median of three: returns m in (0, n), d[0 .. m) not behind any of d[m .. n). n >= 3.
   */
static size_t sampi_partition(const sampi_order *order, samp_token_data *d, size_t n)
{
    size_t mid = n / 2, last = n - 1;
    if (sampi_before(order, &d[mid], &d[0])) sampi_swap(&d[mid], &d[0]);
    if (sampi_before(order, &d[last], &d[mid])) {
        sampi_swap(&d[last], &d[mid]);
        if (sampi_before(order, &d[mid], &d[0])) sampi_swap(&d[mid], &d[0]);
    }
    samp_token_data pivot = d[mid];
    sampi_swap(&d[0], &d[mid]);
    size_t i = 0, j = n;
    for (;;) { /* no check of the ends: the pivot stops both at first, and later what has been swapped */
        do j--;
        while (sampi_before(order, &pivot, &d[j]));
        while (sampi_before(order, &d[i], &pivot)) i++;
        if (i >= j) return j + 1;
        sampi_swap(&d[i], &d[j]);
        i++;
    }
}

/* Quicksort that leaves out what lies behind k: afterwards d[0 .. k) are the first k in order, the others somehow
   behind them. `depth` bounds the bad cases: so many partitions one inside the other before the heap takes over.
   sampi_sort calls it, and the GPU's host for candidates that come back in another order. */
static void sampi_sort_part(const sampi_order *order, samp_token_data *d, size_t n, size_t k, int depth)
{
    while (n > 16) {
        if (depth == 0) {
            sampi_heap_sort(order, d, n);
            return;
        }
        depth--;
        size_t m = sampi_partition(order, d, n);
        if (m < k) sampi_sort_part(order, d + m, n - m, k - m, depth);
        n = m;
    }
    sampi_insertion_sort(order, d, n);
}

/* Make data [0 .. k) the first k in order, k <= size; `sorted` tells afterwards whether that is all of the array. */
static void sampi_sort(const sampi_order *order, samp_token_data_array *cur, size_t k)
{
    if (cur->sorted && !order->score) return;
    sampi_sort_part(order, cur->data, cur->size, k, 64);
    cur->sorted = !order->score && k >= cur->size;
}

/* Those that need every token in its place: softmax, tail_free, and most of what imitates llama.cpp. */
static void sampi_sort_all(samp_token_data_array *cur) { sampi_sort(&SAMPI_BY_LOGIT, cur, cur->size); }

/* A monotone change of the logits (a temperature, masking those below something) keeps the order, but may have made
   ties whose ids are in the wrong one: then `sorted` becomes false. */
static void sampi_recheck_order(samp_token_data_array *cur)
{
    if (!cur->sorted) return;
    for (size_t i = 1; i < cur->size; i++) {
        if (sampi_before(&SAMPI_BY_LOGIT, &cur->data[i - 1], &cur->data[i])) continue;
        cur->sorted = false;
        return;
    }
}

/* Where the first in order is. */
static size_t sampi_argmax(const samp_token_data_array *cur)
{
    size_t best = 0;
    if (cur->sorted) return 0;
    for (size_t i = 1; i < cur->size; i++)
        if (sampi_before(&SAMPI_BY_LOGIT, &cur->data[i], &cur->data[best])) best = i;
    return best;
}

/* Where a token is, or size if it has been dropped. Before the first cut it nearly always stands at its own id. */
static size_t sampi_find_candidate(const samp_token_data_array *cur, samp_token token)
{
    size_t at = (size_t)token;
    if (at < cur->size && cur->data[at].id == token) return at;
    for (at = 0; at < cur->size; at++)
        if (cur->data[at].id == token) break;
    return at;
}

/* Where a token is, or belongs, among n records in order of their first members, which are tokens. size: the bytes of a
   record. One search for all lists: counts, breakers' heads, changes of a row. */
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

/* The same where ids ascend. */
static SAMPI_COLD size_t sampi_find_ascending(const samp_token_data_array *cur, samp_token token)
{
    size_t at = sampi_find_token(cur->data, sizeof *cur->data, cur->size, token);
    return at < cur->size && cur->data[at].id == token ? at : cur->size;
}

/* ---- sums ---- */

/* The candidates that are not masked: for top_k, the cuts' min_keep and mirostat (ln n) only these are there. A pass of
   its own, for who needs no sum. In >>llama masked ones count, as they do in llama.cpp. */
static size_t sampi_unmasked(const samp_token_data_array *cur)
{
    size_t n = 0;
    for (size_t i = 0; i < cur->size; i++) n += !sampi_masked(cur->data[i].logit);
    return n;
}

/* The kernels want plain floats: x [SAMPI_TILE] = the logits from `at` on. Returns how many, at most a tile. */
static size_t sampi_copy_logits(const samp_token_data_array *cur, size_t at, float *x)
{
    size_t n = cur->size - at < SAMPI_TILE ? cur->size - at : SAMPI_TILE;
    (void)sampi_use()->split(cur->data + at, n, x);
    return n;
}

/* The sums with weights relative to a maximum that the array may not contain: typical's search on the fast path sums
   parts of a row. */
static sampi_sums sampi_sum_to(const samp_token_data_array *cur, float max)
{
    sampi_sums sums = { max, 0, 0, 0, 0 };
    float x[SAMPI_TILE];
    for (size_t at = 0, n; at < cur->size; at += n) {
        n = sampi_copy_logits(cur, at, x);
        sampi_use()->sums(x, n, 1.0f, sums.max, INFINITY, true, &sums);
    }
    return sums;
}

/* What nearly every sampler begins with: the maximum, how many are unmasked, and the sums that make probabilities. */
static sampi_sums sampi_sum(const samp_token_data_array *cur)
{
    return sampi_sum_to(cur, cur->data[sampi_argmax(cur)].logit);
}

/* The entropy in nats: ln Z + s / z, since -ln p = ln Z + (max - l). */
static double sampi_entropy(const sampi_sums *sums)
{
    return sampi_ln((double)sums->z / (double)SAMPI_ONE) + (double)sums->s / (double)sums->z;
}

/* Write p of all candidates. The sums may be those of a larger row: a cut tells p as it was before. */
static void sampi_set_p(samp_token_data_array *cur, const sampi_sums *sums)
{
    float x[SAMPI_TILE], p[SAMPI_TILE + 16];
    for (size_t at = 0, n; at < cur->size; at += n) {
        n = sampi_copy_logits(cur, at, x);
        sampi_use()->probs(x, n, sums->max, (double)sums->z, p);
        for (size_t i = 0; i < n; i++) cur->data[at + i].p = p[i];
    }
}

/* ---- cuts ---- */

/* Keep the first k in order, and in order. */
static void sampi_cut_to_first(samp_token_data_array *cur, size_t k)
{
    sampi_sort(&SAMPI_BY_LOGIT, cur, k);
    cur->size = k;
    cur->sorted = true;
}

/* Keep the tokens with l >= floor where they are; but if these are fewer than min_keep, or none, the first min_keep
   (1) in order, or all of them. The caller says with min_keep whether masked tokens count: in llama.cpp they do. */
static void sampi_keep_above(samp_token_data_array *cur, double floor, size_t min_keep)
{
    samp_token_data *d = cur->data;
    size_t n = cur->size, count = 0, kept = 0;
    for (size_t i = 0; i < n; i++) count += (double)d[i].logit >= floor;
    if (count < min_keep || count == 0) {
        if (min_keep == 0) min_keep = 1;
        sampi_cut_to_first(cur, min_keep < n ? min_keep : n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if ((double)d[i].logit >= floor) d[kept++] = d[i];
    cur->size = kept;
}

/* How many of the first k, which are in order, it takes to hold the mass `required` and to be min_keep; 0 if k are
   not enough. */
static size_t sampi_prefix_with_mass(const samp_token_data_array *cur, size_t k, float max, uint64_t required,
                                     size_t min_keep)
{
    uint64_t mass = 0;
    for (size_t i = 0; i < k; i++) {
        mass += sampi_weight(max, cur->data[i].logit);
        if (mass >= required && i + 1 >= min_keep) return i + 1;
    }
    return 0;
}

/* The cut of top_p and typical: keep the shortest beginning of the order that holds the mass `required` (at most
   sums->z) and at least min_keep tokens, and set p. Most nuclei are short, so 64 are sorted first, and eight times as
   many until they are enough. */
static void sampi_keep_mass(samp_token_data_array *cur, const sampi_order *order, const sampi_sums *sums,
                            uint64_t required, size_t min_keep)
{
    size_t keep = 0;
    if (min_keep > sums->n) min_keep = sums->n;
    for (size_t k = 64; keep == 0; k *= 8) {
        if (k > sums->n) k = sums->n; /* the last round: all unmasked tokens together have the mass sums->z */
        sampi_sort(order, cur, k);
        keep = sampi_prefix_with_mass(cur, k, sums->max, required, min_keep);
    }
    cur->size = keep;
    sampi_set_p(cur, sums);
    cur->sorted = !order->score;
}

/* ================================================================================================= >>sampler
   The object behind every samp_sampler, and the two tables from which all that the library knows of a kind of sampler
   follows. In: a kind and its numbers, from a constructor (>>params). Out: the object, checked and complete.

   A sampler is one heap block: the record sampi_sampler, then up to four arrays ("parts") found by their offset, so
   that a copy of the bytes is a clone (only chains hold pointers to memory of their own: members and prev). What
   samp_sample was called on also owns the workspace, sampi_work. The one thing to know: settings never change after
   the making; what a draw changes is in `now`, which is put back if the draw fails, and what accepting changes comes
   after all that can fail. */

typedef struct sampi_sampler sampi_sampler;

typedef struct sampi_row sampi_row;       /* >>fast */
typedef struct sampi_io sampi_io;         /* >>state */
typedef struct sampi_record sampi_record; /* >>rollback */

/* ---- the table of samplers ----

   One row for each kind of sampler, its fields (below), and the functions that the row names: from these follow what a
   sampler is called, told, checked, saved and made from samp_params, and which way it takes. A new sampler is a row
   with its fields, its definition and constructor, its fast function, its step in sampling_gpu.h, and a test; what is
   forgotten does not compile. The order of the rows is the default order of a chain.

     id       SAMPI_<id>, what s->kind is
     name     what samp_name says
     draws    its number in Philox's counter, 0: it draws nothing. It is part of what decides a token: never change one.
     step     what samp_params.order may call it: a letter, and names with ';' between; 0 and "": nothing
     flags    below
     off      of a sampler s: do its values switch it off?
     hooks    what it has beyond numbers: called through sampi_traits_of, never by name, except from the kind's own code
     apply    its meaning, step by step; then the same in llama.cpp's arithmetic. sampi_run calls one or the other
     fast     the same on a row of logits (>>fast), or NULL: the row becomes an array and goes on step by step; then the
              same in llama.cpp's arithmetic */
/* clang-format off */
#define SAMPI_KINDS(X) \
    X(LOGIT_BIAS, "logit-bias", 0, 0, "", \
      SAMPI_KEEPS_P | SAMPI_PATCHES, s->u.bias.n == 0, &SAMPI_LOGIT_BIAS_HOOKS, \
      sampi_logit_bias_apply, sampi_logit_bias_apply, sampi_fast_logit_bias, sampi_fast_logit_bias) \
    X(PENALTIES, "penalties", 0, 'e', "penalties", \
      SAMPI_KEEPS_P | SAMPI_PATCHES | SAMPI_MASKS_NONE, s->u.penalties.last_n == 0 || \
      (s->u.penalties.repeat == 1.0f && s->u.penalties.freq == 0.0f && s->u.penalties.present == 0.0f), \
      &SAMPI_PENALTIES_HOOKS, \
      sampi_penalties_apply, sampi_penalties_apply, sampi_fast_penalties, sampi_fast_penalties) \
    X(DRY, "dry", 0, 'd', "dry", \
      SAMPI_KEEPS_P | SAMPI_PATCHES | SAMPI_MASKS_NONE, \
      s->u.dry.multiplier == 0.0f || s->u.dry.last_n == 0, &SAMPI_DRY_HOOKS, \
      sampi_dry_apply, sampi_dry_apply, sampi_fast_dry, sampi_fast_dry) \
    X(TOP_N_SIGMA, "top-n-sigma", 0, 's', "top_n_sigma;top-n-sigma", \
      SAMPI_KEEPS_P, s->u.sigma.n <= 0.0f, &SAMPI_NO_HOOKS, \
      sampi_top_n_sigma_apply, sampi_llama_top_n_sigma, sampi_fast_top_n_sigma, sampi_fast_llama_top_n_sigma) \
    X(TOP_K, "top-k", 0, 'k', "top_k;top-k", \
      SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_SORTS | SAMPI_TAKES_FLOOR, s->u.top_k.k <= 0, &SAMPI_NO_HOOKS, \
      sampi_top_k_apply, sampi_llama_top_k, sampi_fast_top_k, sampi_fast_llama_top_k) \
    X(TAIL_FREE, "tail-free", 0, 'f', "tfs_z;tail_free;tail-free;tfs", \
      SAMPI_IF_ON, s->u.cut.p == 1.0f, &SAMPI_NO_HOOKS, \
      sampi_tail_free_apply, sampi_llama_tail_free, sampi_fast_tail_free, NULL) \
    X(TYPICAL, "typical", 0, 'y', "typ_p;typical;typical_p;typ-p", \
      SAMPI_DROPS, s->u.cut.p == 1.0f, &SAMPI_NO_HOOKS, \
      sampi_typical_apply, sampi_llama_typical, sampi_fast_typical, sampi_fast_llama_typical) \
    X(TOP_P, "top-p", 0, 'p', "top_p;top-p;nucleus", \
      SAMPI_DROPS, s->u.cut.p == 1.0f, &SAMPI_NO_HOOKS, \
      sampi_top_p_apply, sampi_llama_top_p, sampi_fast_top_p, sampi_fast_llama_top_p) \
    X(MIN_P, "min-p", 0, 'm', "min_p;min-p", \
      SAMPI_KEEPS_P | SAMPI_DROPS, s->u.cut.p == 0.0f, &SAMPI_NO_HOOKS, \
      sampi_min_p_apply, sampi_llama_min_p, sampi_fast_min_p, sampi_fast_llama_min_p) \
    X(TOP_A, "top-a", 0, 'a', "top_a;top-a", \
      SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_IF_ON, s->u.cut.p == 0.0f, &SAMPI_NO_HOOKS, \
      sampi_top_a_apply, sampi_llama_top_a, sampi_fast_top_a, NULL) \
    X(XTC, "xtc", 2, 'x', "xtc", \
      SAMPI_MASKS_NONE, s->u.xtc.p == 0.0f || s->u.xtc.t > 0.5f, &SAMPI_NO_HOOKS, \
      sampi_xtc_apply, sampi_llama_xtc, sampi_fast_xtc, sampi_fast_llama_xtc) \
    X(INFILL, "infill", 0, 'i', "infill", \
      SAMPI_IF_NAMED, false, &SAMPI_INFILL_HOOKS, \
      sampi_infill_apply, sampi_infill_apply, NULL, NULL) \
    X(TEMP, "temp", 0, 0, "", \
      SAMPI_KEEPS_P | SAMPI_TAKES_FLOOR | SAMPI_MASKS_NONE, s->u.temp.t == 1.0f, &SAMPI_NO_HOOKS, \
      sampi_temp_apply, sampi_llama_temp, sampi_fast_temp, sampi_fast_llama_temp) \
    X(TEMP_EXT, "temp-ext", 0, 't', "temperature;temp;temp_ext;temp-ext", \
      SAMPI_KEEPS_P | SAMPI_TAKES_FLOOR, s->u.temp.t == 1.0f && s->u.temp.delta == 0.0f, &SAMPI_NO_HOOKS, \
      sampi_temp_ext_apply, sampi_llama_temp_ext, sampi_fast_temp_ext, sampi_fast_llama_temp) \
    X(SOFTMAX, "softmax", 0, 0, "", \
      SAMPI_ONLY_SHOWS | SAMPI_MASKS_NONE, false, &SAMPI_NO_HOOKS, \
      sampi_softmax_apply, sampi_llama_softmax_apply, NULL, NULL) \
    X(GREEDY, "greedy", 0, 0, "", \
      SAMPI_SELECTS | SAMPI_TAKES_FLOOR, false, &SAMPI_NO_HOOKS, \
      sampi_greedy_apply, sampi_llama_greedy, sampi_fast_greedy, sampi_fast_greedy) \
    X(DIST, "dist", 1, 0, "", \
      SAMPI_SELECTS | SAMPI_TAKES_FLOOR, false, &SAMPI_NO_HOOKS, \
      sampi_dist_apply, sampi_llama_dist, sampi_fast_dist, sampi_fast_llama_dist) \
    X(MIROSTAT, "mirostat", 3, 0, "", \
      SAMPI_SELECTS, false, &SAMPI_MIROSTAT_HOOKS, \
      sampi_mirostat_apply, sampi_llama_mirostat, sampi_fast_mirostat, sampi_fast_llama_mirostat) \
    X(MIROSTAT_V2, "mirostat-v2", 4, 0, "", \
      SAMPI_SELECTS, false, &SAMPI_MIROSTAT_HOOKS, \
      sampi_mirostat_v2_apply, sampi_llama_mirostat, sampi_fast_mirostat_v2, sampi_fast_llama_mirostat) \
    X(ADAPTIVE_P, "adaptive-p", 5, 0, "", \
      SAMPI_SELECTS | SAMPI_OWN_LOGITS, false, &SAMPI_ADAPTIVE_P_HOOKS, \
      sampi_adaptive_p_apply, sampi_llama_adaptive_p, sampi_fast_adaptive_p, sampi_fast_llama_adaptive_p) \
    X(CHAIN, "chain", 0, 0, "", \
      0, false, &SAMPI_CHAIN_HOOKS, \
      NULL, NULL, NULL, NULL) \
    X(CUSTOM, "custom", 0, 0, "", \
      0, false, &SAMPI_NO_HOOKS, \
      NULL, NULL, NULL, NULL)
/* clang-format on */

/* A kind's number is its row. It is stored nowhere (a fingerprint has the name), so rows may move. SAMPI_N_KINDS
   is no kind: it is the length of what is indexed by kind, and what a search by name returns that found none. */
typedef enum sampi_kind {
#define SAMPI_KIND_ID(id, name, draws, letter, step, flags, off, hooks, apply, llama, fast, fast_llama) SAMPI_##id,
    SAMPI_KINDS(SAMPI_KIND_ID)
#undef SAMPI_KIND_ID
        SAMPI_N_KINDS
} sampi_kind;

/* What others must know of a kind without knowing the kind. Most flags are promises of its apply, and the plans of
   the fast path and of the GPU rely on them: a promise that isn't kept shows as another token than the steps give. */
enum {
    SAMPI_SELECTS = 1,      /* a token: it is meant to be the last of a chain */
    SAMPI_KEEPS_P = 2,      /* p stays as it was, and the order too unless SAMPI_SORTS */
    SAMPI_DROPS = 4,        /* masked tokens are removed */
    SAMPI_SORTS = 8,        /* what it leaves is in order */
    SAMPI_TAKES_FLOOR = 16, /* its fast function knows a dense row's floor; the others get it compact */
    SAMPI_ONLY_SHOWS = 32,  /* changes nobody's chance: the fast path leaves it out */
    SAMPI_OWN_LOGITS = 64,  /* draws from other logits than those it is given */
    SAMPI_IF_ON = 128,      /* in the default order only if its values switch it on */
    SAMPI_PATCHES = 256,    /* changes the logits of a few tokens, each by a rule */
    SAMPI_MASKS_NONE = 512, /* turns no logit into -infinity (temp only at temperature 0) */
    SAMPI_IF_NAMED = 1024   /* never in the default order, and asked of parameters only if an order names it */
};

/* What a kind has beyond numbers: arrays, a state that moves on. Each may be NULL.
     prepare    of a record with good fields: check what their ranges don't say, and size the parts. make: a sampler
                is to be made of it; else what takes a walk over the vocabulary is left out
     build      fill the parts of a new sampler; the caller's list or breakers are read for the last time
     settings   the parts' share of the fingerprint
     accept     a token was chosen; can't fail, since others may have been told already
     reset      the state as new: when a sampler is made, and by samp_reset
     state      the state to bytes, or back (>>state)
     take_over  go on where `old`, the same sampler with other values, has got to; old NULL: there was none at work, and
                only the chain's samp_prev tells what was accepted
     past       what a draw and an accepted token change, but for the mt19937, to a record's words, or back
                (>>rollback); called if the sampler is on */
typedef struct sampi_hooks {
    void (*prepare)(sampi_sampler *, bool make);
    void (*build)(sampi_sampler *);
    void (*settings)(const sampi_sampler *, uint64_t *hash);
    void (*accept)(sampi_sampler *, samp_token);
    void (*reset)(sampi_sampler *);
    void (*state)(sampi_sampler *, sampi_io *);
    void (*take_over)(sampi_sampler *, const sampi_sampler *old, const sampi_sampler *chain);
    void (*past)(sampi_sampler *, sampi_record *);
} sampi_hooks;

/* A row of the table, as the library reads it. */
typedef struct sampi_traits {
    const char *name;
    uint32_t draws;
    char letter;
    const char *step;
    unsigned flags;
    const sampi_hooks *hooks; /* never NULL */
    int (*apply)(sampi_sampler *, samp_token_data_array *);
    int (*apply_llama)(sampi_sampler *, samp_token_data_array *);
    int (*fast)(sampi_row *, sampi_sampler *);
    int (*fast_llama)(sampi_row *, sampi_sampler *);
} sampi_traits;

/* The row of a kind. Its table stands behind >>state, where all that it names has been defined. */
static const sampi_traits *sampi_traits_of(sampi_kind kind);

/* ---- the record ----
   sampi_sampler is what a user's samp_sampler pointer points to. The same struct also serves as a description of a
   sampler that is not there yet (t in >>params): then it is on the stack, and has no parts. */

/* What apply may change of a sampler; kept before each call (sampi_save_state), put back if it fails. An mt19937
   moves too: `drawn` tells how to get it back. All else, such as windows and adaptive_p's average, changes only when a
   token is accepted. */
typedef struct sampi_state {
    float mu;           /* mirostat */
    samp_token pending; /* adaptive_p: the token selected last, -1 = none */
    float pending_p;    /* and its probability */
    uint64_t drawn;     /* mt19937 outputs so far */
} sampi_state;

/* The last `cap` tokens, of which `size` are there; head: where the next one goes. The array itself is part 0 of
   penalties and dry, and prev of a chain. */
typedef struct sampi_ring {
    uint32_t cap, size, head;
} sampi_ring;

/* A token and a number that belongs to it: how often it is in a window (penalties), or how long the repetition is that
   it would continue (dry). */
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

/* As much of a breaker as counts, and a 0. */
#define SAMPI_BREAKER_MAX 40
typedef char sampi_breaker[SAMPI_BREAKER_MAX + 1];

/* A chain's members, and the tokens accepted last, for samp_prev. prev outlives a change of members: what is off, or
   joins later, learns from it (take_over). The chain owns its members and both arrays; samp_free frees them. */
typedef struct sampi_chain {
    sampi_sampler **item; /* [n], room for cap */
    int32_t n, cap;
    samp_token *prev; /* [ring.cap] */
    sampi_ring ring;
} sampi_chain;

/* The logit that a token has in place of the one in a dense row (>>fast). */
typedef struct sampi_change {
    samp_token id;
    float x;
} sampi_change;

/* What samp_sample works in: one heap block, made by samp_reserve. Who may write what, and when, is told in >>fast. */
typedef struct sampi_work {
    void *block;
    size_t n;                   /* the vocabulary it is for */
    samp_token_data *candidate; /* [n] the array, where samp_sample needs one: apart from w, or in its place */
    uint64_t *w;                /* [n] weights */
    float *x;                   /* [n] logits of a compact row */
    int32_t *id;                /* [n] and their ids */
    float *line, *scratch;      /* maxima of lines, and what is made of them */
    uint64_t *sum;              /* sums of tiles */
    sampi_change *change;       /* changed logits of a dense row */
    float *logits;              /* [n] under MT19937 e^(l - max) */
    float *own;                 /* [n] logits of the array that samp_apply was given, or of a row that is its own */
    int libm;                   /* is its expf good for the kernels'? 1: yes, -1: no, 0: not asked yet */
} sampi_work;

/* The tokens that a sampler has accepted last, as records of what has changed with each, in it and in its members
   (>>rollback). Both arrays are one block. */
typedef struct sampi_past {
    sampi_sampler **who; /* [n_who] those that have words in a record; where the block begins */
    uint32_t *word;      /* [depth + 1 x width] */
    size_t bytes;        /* of the block */
    uint32_t n_who, width;
    int32_t depth, size, next; /* at most so many tokens; so many; next: the record of the token to come */
    bool made;                 /* who and word are there, and good for as long as n_edits is the sampler's */
    bool open;                 /* the record `next` is written: something has been drawn */
    bool draws;                /* its position moves */
    size_t n_edits;
} sampi_past;

#define SAMPI_MAX_PAST (1 << 20)

/* kind, off, seed, the parts' offsets and most of the union are set by the making and never change after it (nor does
   status, but of a chain). now, position, perf, n_edits, past and work move with draws; the windows (ring) and the
   average in the union when a token is accepted. Whoever adds a member must think of samp_clone, which copies the
   bytes, of sampi_clone_chain, which does not, and of the hook `past`, if a draw or a token changes it. */
struct sampi_sampler {
    samp_sampler base; /* must be first: what users hold is a pointer to it */
    sampi_kind kind;
    int status;        /* what was wrong with the parameters, */
    const char *field; /* and with which */
    bool off;          /* a disabled value: does nothing */
    samp_rng_kind rng;
    uint64_t seed, position; /* position: the number of the next draw; of the outermost chain it counts */
    sampi_sampler *owner;    /* the chain it is in, or NULL */
    size_t serial;           /* no other sampler has it, so the GPU knows a chain again; */
    size_t n_edits;  /* and this grows whenever s changes, but not with a change that its owner's work brings */
    size_t in_batch; /* its row in the batch under way */
    samp_perf_data perf;
    uint64_t at_position;            /* of the apply under way: the outermost chain's position, */
    uint32_t at_ordinal;             /* and which of its kind this sampler is */
    const struct sampi_draft *draft; /* samp_verify's ratio test takes the place of the draw; else NULL */
    sampi_state now, before;         /* before: as the draw under way found it */
    sampi_past past;                 /* of what is in no chain */
    sampi_work work;                 /* of the sampler that samp_sample was called on */
    size_t part[4], part_size[4];    /* offsets from the record's start, and bytes */
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
            int32_t last_n;
            float repeat, freq, present;
            sampi_ring ring;
            uint32_t n;
        } penalties; /* part 0: ring, 1: counts [n], room for ring.cap */
        struct {
            float multiplier, base;
            int32_t allowed, last_n, n_ctx_train;
            int32_t settled, settled_tail; /* sampi_dry_settle */
            sampi_ring ring;
            const samp_vocab *vocab;
            samp_vocab spelt; /* what *vocab was when the breakers were looked for */
            const char *const *from;
            const sampi_sampler *like; /* one with the same breakers, or NULL */
            size_t n_from;
            size_t n_heads, n_tails;
        } dry; /* 0: ring, 1: counts, 2: lengths [ring.cap] i32, 3: tails, then heads, then texts [n_from] */
        struct {
            const samp_vocab *vocab;
        } infill;
        sampi_chain chain;
    } u;
};

/* ---- the fields of the samplers ----

   The numbers that a sampler is made of. From these rows follow the checks of constructors and parameters, the defaults
   of samp_params, the text of samp_describe, and the fingerprint that a saved state carries. */

/* What the bytes of a field are. The switches over it have no default, so the compiler names those that lack a new
   type. */
typedef enum sampi_type {
    SAMPI_FLOAT,
    SAMPI_INT32,
    SAMPI_SIZE, /* a min_keep: told only above 1, since 0 and 1 are the same; no range */
    SAMPI_WORD  /* no number: in samp_params only (SAMPI_CHAIN_FIELDS) */
} sampi_type;

enum {
    SAMPI_OPEN = 1,       /* the low end of the range is not in it */
    SAMPI_OR_ZERO = 2,    /* 0 is, besides */
    SAMPI_IF_ABOVE_0 = 4, /* told only if it is */
    SAMPI_IF_LAST = 8,    /* told only if the field before was */
    SAMPI_PASSING = 16,   /* only needed while the sampler is made: no part of the fingerprint */
    SAMPI_OR_ALL = 32     /* in samp_params -1 is good too, and means n_ctx_train (sampi_from_params) */
};

/* `from` and `at` are offsets: a field has the same type in both places, so parameters become a sampler by copying
   bytes (sampi_from_params). A kind without fields, such as greedy, has no row here. */
typedef struct sampi_field {
    sampi_kind kind;
    sampi_type type;
    const char *param; /* what samp_status calls it, */
    size_t from;       /* and where samp_params has it; SAMPI_NOWHERE: it has not */
    size_t at;         /* in a sampler */
    double usual;      /* the default */
    double lo, hi;     /* the range, both ends in it */
    unsigned how;
    const char *told; /* what samp_describe calls it, or NULL */
} sampi_field;

#define SAMPI_NOWHERE    (~(size_t)0)
#define SAMPI_MAX_WINDOW (1 << 22) /* tokens in the windows of penalties and dry */

/* clang-format off */
#define SAMPI_FIELD(kind, type, param, member, usual, lo, hi, how, told) \
    { SAMPI_##kind, SAMPI_##type, #param, offsetof(samp_params, param), offsetof(sampi_sampler, u.member), \
      usual, lo, hi, how, told }
#define SAMPI_FIXED(kind, type, param, member, usual, lo, hi, told) /* one that samp_params has not */ \
    { SAMPI_##kind, SAMPI_##type, #param, SAMPI_NOWHERE, offsetof(sampi_sampler, u.member), usual, lo, hi, 0, told }
#define SAMPI_MIN_KEEP(kind, member) SAMPI_FIELD(kind, SIZE, min_keep, member, 0, 0, 0, 0, "min_keep")

/* Of one kind: samp_describe tells them in this order, the first that is bad is the one samp_status names, and the
   fingerprint takes them in this order too, so a row must not move among the others of its kind. */
static const sampi_field SAMPI_FIELDS[] = {
    SAMPI_FIELD(LOGIT_BIAS, INT32, n_vocab, bias.n_vocab, 0, INT32_MIN, INT32_MAX, 0, NULL),
    SAMPI_FIELD(LOGIT_BIAS, INT32, n_logit_bias, bias.n, 0, 0, INT32_MAX, 0, "n"),

    SAMPI_FIELD(PENALTIES, INT32, penalty_last_n, penalties.last_n, 64, 0, SAMPI_MAX_WINDOW, SAMPI_OR_ALL, "last_n"),
    SAMPI_FIELD(PENALTIES, FLOAT, penalty_repeat, penalties.repeat, 1, 0, FLT_MAX, SAMPI_OPEN, "repeat"),
    SAMPI_FIELD(PENALTIES, FLOAT, penalty_freq, penalties.freq, 0, -FLT_MAX, FLT_MAX, 0, "freq"),
    SAMPI_FIELD(PENALTIES, FLOAT, penalty_present, penalties.present, 0, -FLT_MAX, FLT_MAX, 0, "present"),

    SAMPI_FIELD(DRY, FLOAT, dry_multiplier, dry.multiplier, 0, 0, FLT_MAX, 0, "multiplier"),
    SAMPI_FIELD(DRY, FLOAT, dry_base, dry.base, 1.75, 1, FLT_MAX, 0, "base"),
    SAMPI_FIELD(DRY, INT32, dry_allowed_length, dry.allowed, 2, 0, INT32_MAX, 0, "allowed_length"),
    SAMPI_FIELD(DRY, INT32, dry_penalty_last_n, dry.last_n, -1, -1, SAMPI_MAX_WINDOW, 0, "last_n"),
    SAMPI_FIELD(DRY, INT32, n_ctx_train, dry.n_ctx_train, 4096, 0, SAMPI_MAX_WINDOW, SAMPI_PASSING, NULL),

    SAMPI_FIELD(TOP_N_SIGMA, FLOAT, top_n_sigma, sigma.n, -1, -FLT_MAX, FLT_MAX, 0, "n"),
    SAMPI_FIELD(TOP_K, INT32, top_k, top_k.k, 40, INT32_MIN, INT32_MAX, 0, "k"),
    SAMPI_FIELD(TAIL_FREE, FLOAT, tfs_z, cut.p, 1, 0, 1, SAMPI_OPEN, "z"),
    SAMPI_MIN_KEEP(TAIL_FREE, cut.min_keep),
    SAMPI_FIELD(TYPICAL, FLOAT, typ_p, cut.p, 1, 0, 1, SAMPI_OPEN, "p"),
    SAMPI_MIN_KEEP(TYPICAL, cut.min_keep),
    SAMPI_FIELD(TOP_P, FLOAT, top_p, cut.p, 0.95, 0, 1, SAMPI_OPEN, "p"),
    SAMPI_MIN_KEEP(TOP_P, cut.min_keep),
    SAMPI_FIELD(MIN_P, FLOAT, min_p, cut.p, 0.05, 0, 1, 0, "p"),
    SAMPI_MIN_KEEP(MIN_P, cut.min_keep),
    SAMPI_FIELD(TOP_A, FLOAT, top_a, cut.p, 0, 0, 1, 0, "a"),
    SAMPI_MIN_KEEP(TOP_A, cut.min_keep),
    SAMPI_FIELD(XTC, FLOAT, xtc_probability, xtc.p, 0, 0, 1, 0, "p"),
    SAMPI_FIELD(XTC, FLOAT, xtc_threshold, xtc.t, 0.1, 0, 1, 0, "t"),
    SAMPI_MIN_KEEP(XTC, xtc.min_keep),

    SAMPI_FIELD(TEMP, FLOAT, temp, temp.t, 0.8, SAMPI_TEMP_MIN, SAMPI_TEMP_MAX, SAMPI_OR_ZERO, "t"),
    SAMPI_FIXED(TEMP, FLOAT, dynatemp_range, temp.delta, 0, 0, 0, NULL), /* temp is temp_ext without a range, */
    SAMPI_FIXED(TEMP, FLOAT, dynatemp_exponent, temp.exponent, 1, 1, 1, NULL), /* also in the fingerprint */
    SAMPI_FIELD(TEMP_EXT, FLOAT, temp, temp.t, 0.8, SAMPI_TEMP_MIN, SAMPI_TEMP_MAX, SAMPI_OR_ZERO, "t"),
    SAMPI_FIELD(TEMP_EXT, FLOAT, dynatemp_range, temp.delta, 0, 0, SAMPI_TEMP_MAX, SAMPI_IF_ABOVE_0, "delta"),
    SAMPI_FIELD(TEMP_EXT, FLOAT, dynatemp_exponent, temp.exponent, 1, 0, 1000, SAMPI_IF_LAST, "exponent"),

    SAMPI_FIELD(MIROSTAT, FLOAT, mirostat_tau, mirostat.tau, 5, 0, FLT_MAX / 2, 0, "tau"),
    SAMPI_FIELD(MIROSTAT, FLOAT, mirostat_eta, mirostat.eta, 0.1, 0, FLT_MAX, 0, "eta"),
    SAMPI_FIELD(MIROSTAT, INT32, n_vocab, mirostat.n_vocab, 0, 1, INT32_MAX, 0, NULL),
    SAMPI_FIXED(MIROSTAT, INT32, mirostat_m, mirostat.m, 100, 2, INT32_MAX, "m"),
    SAMPI_FIELD(MIROSTAT_V2, FLOAT, mirostat_tau, mirostat.tau, 5, 0, FLT_MAX / 2, 0, "tau"),
    SAMPI_FIELD(MIROSTAT_V2, FLOAT, mirostat_eta, mirostat.eta, 0.1, 0, FLT_MAX, 0, "eta"),
    SAMPI_FIXED(MIROSTAT_V2, INT32, n_vocab, mirostat.n_vocab, 0, 0, 0, NULL), /* not used: in the fingerprint only */
    SAMPI_FIXED(MIROSTAT_V2, INT32, mirostat_m, mirostat.m, 0, 0, 0, NULL),

    SAMPI_FIELD(ADAPTIVE_P, FLOAT, adaptive_target, adaptive.target, -1, -FLT_MAX, 1, 0, "target"),
    SAMPI_FIELD(ADAPTIVE_P, FLOAT, adaptive_decay, adaptive.decay, 0.9, 0, 0.99f, 0, "decay"),
};
/* clang-format on */
#define SAMPI_N_FIELDS (sizeof SAMPI_FIELDS / sizeof SAMPI_FIELDS[0])

/* For checks and texts, from where it stands in a sampler or in samp_params. As a double, which holds floats and int32
   exactly; a SAMPI_SIZE only roughly, enough to compare with 1. */
static SAMPI_COLD double sampi_number(const sampi_field *f, const void *at)
{
    switch (f->type) {
        case SAMPI_FLOAT: return (double)*(const float *)at;
        case SAMPI_INT32: return (double)*(const int32_t *)at;
        case SAMPI_SIZE:
        case SAMPI_WORD: break;
    }
    return (double)*(const size_t *)at;
}
static SAMPI_COLD double sampi_field_value(const sampi_sampler *s, const sampi_field *f)
{
    return sampi_number(f, (const char *)s + f->at);
}

/* Its bytes: in a sampler, or in samp_params, where it has the same type. */
static size_t sampi_field_bytes(const sampi_field *f) { return f->type == SAMPI_SIZE ? sizeof(size_t) : 4; }

/* Write the default of a field to where it stands: in a blank record (sampi_blank), or in samp_params
   (samp_default_params). So both have the same defaults. */
static SAMPI_COLD void sampi_field_reset(const sampi_field *f, void *to)
{
    float x = (float)f->usual;
    int32_t i = f->type == SAMPI_INT32 ? (int32_t)f->usual : 0;
    size_t n = 0;
    switch (f->type) {
        case SAMPI_FLOAT: memcpy(to, &x, sizeof x); break;
        case SAMPI_INT32: memcpy(to, &i, sizeof i); break;
        case SAMPI_SIZE: memcpy(to, &n, sizeof n); break;
        case SAMPI_WORD: break;
    }
}

/* ---- the record's parts, and its owners ---- */

/* Part i, to read or to write: whoever has the sampler has its parts. What is in it is told at the union's members. */
static void *sampi_part(const sampi_sampler *s, int i) { return (char *)(uintptr_t)s + s->part[i]; }

/* Parts begin at multiples of 16, good for all that they hold; the cache of >>kv lays out its block in the same way. */
static size_t sampi_round_up(size_t n) { return (n + 15) & ~(size_t)15; }

/* The two kinds that have no apply of their own: whoever walks through samplers asks these before it looks one up. */
static bool sampi_is_chain(const sampi_sampler *s) { return s->kind == SAMPI_CHAIN; }
static bool sampi_is_custom(const sampi_sampler *s) { return s->kind == SAMPI_CUSTOM; }

/* A grammar is a custom sampler of which the core knows a little more (>>grammar). */
#ifdef SAMPLING_GRAMMAR_DECLARED
typedef struct sampi_job sampi_job; /* >>fast */
static int sampi_grammar_job(sampi_job *job);
static bool sampi_is_grammar(const sampi_sampler *s);
static sampi_sampler *sampi_first_grammar(sampi_sampler *s);
static int32_t sampi_grammar_kept(const sampi_sampler *s);
static void sampi_grammar_settings(const sampi_sampler *s, uint64_t *hash);
static void sampi_grammar_state(sampi_sampler *s, sampi_io *io);
static int sampi_load_failed(sampi_io *io);
#else
#define sampi_is_grammar(s)             false
#define sampi_first_grammar(s)          ((sampi_sampler *)NULL)
#define sampi_grammar_kept(s)           0
#define sampi_grammar_settings(s, hash) ((void)0)
#define sampi_grammar_state(s, io)      ((void)0)
#define sampi_load_failed(io)           SAMP_E_FORMAT
#endif

/* Every public function that changes what s would draw, or what it has accepted, calls this first; those that draw or
   accept call sampi_moves (>>rollback). s has changed, and so have the chains it is in; these may have members at work
   in several threads of a batch, hence the atomic sum. The GPU's copy of a chain is good for as long as the number
   stays, and so are records; a forgotten call would let it draw from old settings. */
static void sampi_edited(sampi_sampler *s)
{
    s->n_edits++;
    for (s = s->owner; s; s = s->owner) (void)SAMPI_COUNT(&s->n_edits);
}

/* A number that no sampler of this process had before: for each that is made or cloned. An address won't do, for a
   freed sampler's may come again. Atomic, since samplers may be made in several threads. */
static size_t sampi_next_serial(void)
{
    static size_t last;
    return SAMPI_COUNT(&last);
}

/* Has it a std::mt19937 of its own? What draws has one, unless it carries an error; used only under that random source,
   but there always, since samp_set_rng must not allocate. */
static bool sampi_has_mt(const sampi_sampler *s) { return sampi_traits_of(s->kind)->draws && s->part_size[0]; }

/* Only if sampi_has_mt. What draws has no other part, so 0 is free for it. */
static sampi_mt *sampi_mt_of(const sampi_sampler *s) { return (sampi_mt *)sampi_part(s, 0); }

/* The random source back to the seed: for a new sampler, samp_reset and samp_set_rng. Philox has no state but the
   position; an mt19937 that is not in use is left unseeded, as seeding costs 624 steps. */
static void sampi_seed(sampi_sampler *s)
{
    s->now.drawn = 0;
    if (sampi_has_mt(s) && s->rng == SAMP_RNG_MT19937) sampi_mt_seed(sampi_mt_of(s), (uint32_t)s->seed);
}

/* All state as in a new sampler: what samp_reset and the making have in common. Of this sampler only: samp_reset
   goes to a chain's members itself. */
static SAMPI_COLD void sampi_reset_state(sampi_sampler *s)
{
    s->position = 0;
    s->now.pending = -1;
    s->now.pending_p = 0.0f;
    sampi_seed(s);
    if (sampi_traits_of(s->kind)->hooks->reset) sampi_traits_of(s->kind)->hooks->reset(s);
}

/* ---- making ----
   A sampler is described in a local record t, checked, then moved to the heap. An error is noted in the record and
   never returned: a constructor gives a sampler even then, which carries the error (samp_status) and does nothing, so
   that a caller may build a whole chain and ask once. */

/* A record with every field at its default: what each constructor, and a record from samp_params, begins with. A
   field that samp_params has not, or a constructor does not take, stays so. */
static SAMPI_COLD sampi_sampler sampi_blank(sampi_kind kind)
{
    sampi_sampler t;
    memset(&t, 0, sizeof t);
    t.kind = kind;
    t.past.depth = 64;
    if (sampi_traits_of(kind)->draws) t.part_size[0] = sizeof(sampi_mt);
    for (size_t i = 0; i < SAMPI_N_FIELDS; i++)
        if (SAMPI_FIELDS[i].kind == kind) sampi_field_reset(&SAMPI_FIELDS[i], (char *)&t + SAMPI_FIELDS[i].at);
    return t;
}

/* Note the status, and the name of the parameter, if something is not good. The first requirement that fails
   decides, as samp_status promises one field. Called by all checks of a record. */
static void sampi_require(sampi_sampler *t, bool good, int status, const char *field)
{
    if (good || t->status) return;
    t->status = status;
    t->field = field;
}

/* Is a number in its field's range? NaN is told apart. */
static SAMPI_COLD void sampi_require_number(sampi_sampler *t, const sampi_field *f, double x)
{
    bool above = f->how & SAMPI_OPEN ? x > f->lo : x >= f->lo;
    bool zero = (f->how & SAMPI_OR_ZERO) && x == 0.0;
    sampi_require(t, x == x, SAMP_E_NAN, f->param);
    sampi_require(t, (above && x <= f->hi) || zero, SAMP_E_RANGE, f->param);
}

/* Do its values switch it off? As the rows of the table say. sampi_prepare asks once and keeps the answer in
   s->off; before that, the default order asks for rows that may be left out, and dry for whether it needs
   breakers. Reads fields only, checked or not. */
static bool sampi_is_off(const sampi_sampler *s)
{
    switch (s->kind) {
#define SAMPI_KIND_OFF(id, name, draws, letter, step, flags, off, hooks, apply, llama, fast, fast_llama)             \
    case SAMPI_##id: return off;
        SAMPI_KINDS(SAMPI_KIND_OFF)
#undef SAMPI_KIND_OFF
        case SAMPI_N_KINDS: break;
    }
    return false;
}

/* All that can be wrong with a record, its parts' sizes, and whether it is off: writes status, field, part_size
   and off of t, and what its prepare hook does; never the heap. `make`: a sampler is to be made of it, so what
   takes a walk over the vocabulary is asked too; samp_check_params does without. Constructors and
   samp_check_params come here both, so they cannot disagree. */
static SAMPI_COLD void sampi_prepare(sampi_sampler *t, bool make)
{
    const sampi_hooks *hooks = sampi_traits_of(t->kind)->hooks;
    for (size_t i = 0; i < SAMPI_N_FIELDS; i++) {
        const sampi_field *f = &SAMPI_FIELDS[i];
        if (f->kind == t->kind && f->type != SAMPI_SIZE) sampi_require_number(t, f, sampi_field_value(t, f));
    }
    if (!t->status && hooks->prepare) hooks->prepare(t, make);
    if (!t->status) t->off = sampi_is_off(t);
}

static const samp_sampler_i *sampi_builtin(void);

/* The record t moves to the heap: one block with its parts behind it, the only allocation in making one. A record
   with an error becomes a sampler too, one that carries it and has no parts. NULL: no memory. Chains and clones of
   custom samplers come here directly, for they have nothing to prepare. */
static SAMPI_COLD samp_sampler *sampi_new(const sampi_sampler *t)
{
    const sampi_hooks *hooks = sampi_traits_of(t->kind)->hooks;
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
        s->base.ctx = s; /* of a custom sampler it is the user's */
    }
    if (s->status) return &s->base;
    if (hooks->build) hooks->build(s);
    sampi_reset_state(s);
    return &s->base;
}

/* The end of every constructor but the chain's, and of a step from samp_params. */
static SAMPI_COLD samp_sampler *sampi_init(sampi_sampler *t)
{
    sampi_prepare(t, true);
    return sampi_new(t);
}

/* ---- windows of accepted tokens ----
   The rings of penalties, dry and chains, and the sorted lists that the first two make of theirs. Here, before
   >>logits, since chains and saved states use them as well. */

/* The token `back` places ago, 0 = the newest; back < size. Reads only. */
static samp_token sampi_ring_at(const sampi_ring *r, const samp_token *token, uint32_t back)
{
    return token[(r->head + r->cap - 1 - back) % r->cap];
}

/* Put x in, the newest: an accepted token, or on a device one that the GPU's steps have drawn. Returns the token
   that falls out, which penalties must stop counting, or -1 (of a window of 0, x itself). */
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

/* Where a token's entry is, or belongs, in a list [n] of counts. Reads only. */
static uint32_t sampi_count_find(const sampi_count *list, uint32_t n, samp_token token)
{
    return (uint32_t)sampi_find_token(list, sizeof *list, n, token);
}

/* The entry of a token, made with count 0 if there is none; then *n grows, and the list must have room, as those
   of penalties do: it is as long as the window. For penalties' accept. */
static sampi_count *sampi_count_at(sampi_count *list, uint32_t *n, samp_token token)
{
    uint32_t i = sampi_count_find(list, *n, token);
    if (i == *n || list[i].token != token) {
        SAMPI_COUNT_STEPS(*n - i);
        memmove(&list[i + 1], &list[i], (*n - i) * sizeof *list);
        list[i].token = token;
        list[i].count = 0;
        (*n)++;
    }
    return &list[i];
}

/* Records in order of the bits from `bit` down, in place: those without the bit before those with it, then each half by
   the next one. */
static void sampi_count_sort_from(sampi_count *list, uint32_t n, uint32_t bit)
{
    for (; n > 1 && bit; bit >>= 1) {
        uint32_t with = 0, end = n;
        while (with < end) {
            SAMPI_COUNT_STEPS(1);
            if (!((uint32_t)list[with].token & bit)) {
                with++;
                continue;
            }
            sampi_count t = list[with];
            list[with] = list[--end];
            list[end] = t;
        }
        sampi_count_sort_from(list, with, bit >> 1);
        list += with;
        n -= with;
    }
}

/* Records in order of their tokens: a walk over them for each bit of a token, whatever order they are in, and no room
   beside them. For dry's list, and for counts that are made again from a window. */
static void sampi_count_sort(sampi_count *list, uint32_t n)
{
    uint32_t differ = 0, bit = (uint32_t)1 << 30;
    for (uint32_t i = 1; i < n; i++) differ |= (uint32_t)(list[i].token ^ list[0].token);
    while (bit > differ) bit >>= 1;
    sampi_count_sort_from(list, n, bit);
}

/* The apply of penalties and dry: change the logits of the tokens in a list, at once if they all stand at
   data[id], as in an array that nobody has reordered, else by looking up each candidate. The list is sorted, so
   the last id bounds the others. Writes logits and `sorted`, nothing else; `change` must leave a masked logit
   masked. */
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
   Samplers that change logits of a few tokens: logit_bias, penalties, dry. Each keeps a short list of tokens, changes
   their logits, and leaves the array unsorted. A token that is masked stays masked (only a bias of -infinity masks
   more), and what overflows becomes +-FLT_MAX, so that a row of numbers stays one.

   Of each sampler: build fills its parts once, when it is made (the constructor's pointers are gone afterwards);
   reset and accept are the only ones that change its window of tokens; apply does the step on an array; change is the
   new logit of one token. The fast path and the GPU take the lists and the changes from here (sampi_penalties_list,
   sampi_dry_list, sampi_bias_change, ...), so a token's new logit is computed in one way only.

   The one thing to know: the lists are sorted by token, and sampi_patch relies on it. */

/* ---- logit_bias: part 0 is the list, as given ---- */

/* Copy the caller's list, which need not live any longer; its checks were the constructor's. */
static SAMPI_COLD void sampi_logit_bias_build(sampi_sampler *s)
{
    if (s->u.bias.n) memcpy(sampi_part(s, 0), s->u.bias.from, s->part_size[0]);
    s->u.bias.from = NULL;
}

/* The new logit of a token that was not masked. */
static float sampi_bias_change(float l, float bias) { return sampi_masked(bias) ? bias : sampi_finite(l + bias); }

/* Not by sampi_patch: a token may be there twice, then both biases are added, in the list's order, rounding each. */
static int sampi_logit_bias_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_logit_bias *bias = (const samp_logit_bias *)sampi_part(s, 0);
    for (int32_t i = 0; i < s->u.bias.n; i++) {
        size_t at = sampi_find_candidate(cur, bias[i].token);
        if (at == cur->size || sampi_masked(cur->data[at].logit)) continue;
        cur->data[at].logit = sampi_bias_change(cur->data[at].logit, bias[i].bias);
    }
    cur->sorted = false;
    return SAMP_OK;
}

/* ---- penalties: part 0 is the window, part 1 the tokens in it, sorted, with how often each is there ---- */

/* [u.penalties.n], room for a whole window. Saved states and the GPU's host read it as well. */
static sampi_count *sampi_penalties_list(const sampi_sampler *s) { return (sampi_count *)sampi_part(s, 1); }

/* An empty window. The parts keep their old contents, which the sizes leave out. */
static void sampi_penalties_reset(sampi_sampler *s)
{
    s->u.penalties.ring.size = s->u.penalties.ring.head = s->u.penalties.n = 0;
}

/* A token has left the window: one less of it. */
static void sampi_penalties_drop(sampi_sampler *s, samp_token token)
{
    sampi_count *list = sampi_penalties_list(s);
    uint32_t i = sampi_count_find(list, s->u.penalties.n, token);
    if (--list[i].count > 0) return;
    s->u.penalties.n--;
    memmove(&list[i], &list[i + 1], (s->u.penalties.n - i) * sizeof *list);
}

/* The counts follow the window, so that apply need not look at the window at all. */
static void sampi_penalties_accept(sampi_sampler *s, samp_token token)
{
    samp_token old = sampi_ring_push(&s->u.penalties.ring, (samp_token *)sampi_part(s, 0), token);
    if (old >= 0) sampi_penalties_drop(s, old);
    sampi_count_at(sampi_penalties_list(s), &s->u.penalties.n, token)->count++;
}

/* How far the logit falls by frequency and presence, after the repetition penalty. Apart, since the GPU does the
   subtraction itself; rounded, since the sum must not become an fma. */
static float sampi_penalties_fall(const sampi_sampler *s, const sampi_count *entry)
{
    return sampi_roundf((float)entry->count * s->u.penalties.freq) + s->u.penalties.present;
}

/* The repetition penalty divides what is above 0 and multiplies what is below (Hugging Face's rule for CTRL's
   penalty), so that with repeat > 1 it always makes a token less likely. */
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

/* ---- dry ("don't repeat yourself") ----
   A token that would lengthen a repetition of `allowed` tokens or more at the end of the text loses multiplier *
   base^(length - allowed). Parts: 0 the window; 1 room for the list of such tokens; 2 room for the lengths; 3 tails,
   then heads.

   A breaker is a text across which no repetition is seen ("\n", or a word before each speaker's turn). In tokens it
   may begin anywhere inside of one and end inside of another: a head is a token that contains a breaker, or ends with
   a beginning of one; its tail is what remains of the breaker, in tokens. */

#define SAMPI_TAIL_MAX ((int32_t)(sizeof(((sampi_tail *)0)->token) / sizeof(samp_token)))

/* How much of a breaker counts: the constructor counts tails with the same bound. */
static size_t sampi_breaker_length(const char *text)
{
    size_t n = strlen(text);
    return n < SAMPI_BREAKER_MAX ? n : SAMPI_BREAKER_MAX;
}

/* The longest token that text [n] begins with, and its length in *n_best (0: none). */
static samp_token sampi_longest_token(const samp_vocab *v, const char *text, size_t n, size_t *n_best)
{
    samp_token best = -1;
    *n_best = 0;
    for (samp_token t = 0; t < v->n_vocab; t++) {
        size_t len;
        const char *bytes = v->token_bytes(v, t, &len);
        if (len <= *n_best || len > n || memcmp(bytes, text, len) != 0) continue;
        *n_best = len;
        best = t;
    }
    return best;
}

/* A tail's text to tokens, by the vocabulary's tokenizer or by greedy longest match: out [<= n_max] and how many, or
   -1 if no tokens spell it. What is longer than n_max is cut off. */
static int32_t sampi_tokenize(const samp_vocab *v, const char *text, size_t n, samp_token *out, int32_t n_max)
{
    int32_t n_out = 0;
    if (v->tokenize) {
        n_out = v->tokenize(v, text, n, out, n_max);
        if (n_out > n_max) n_out = n_max;
        return n_out > 0 ? n_out : -1;
    }
    while (n > 0 && n_out < n_max) {
        size_t len;
        samp_token token = sampi_longest_token(v, text, n, &len);
        if (len == 0) return -1;
        out[n_out] = token;
        n_out++;
        text += len;
        n -= len;
    }
    return n_out;
}

/* Is there a part within a text? Both may hold any bytes, zeros too, so this is not strstr. */
static bool sampi_contains(const char *text, size_t n, const char *part, size_t n_part)
{
    for (size_t i = 0; i + n_part <= n; i++)
        if (memcmp(text + i, part, n_part) == 0) return true;
    return false;
}

/* One more head, written only if there is a list to write to; returns how many there are then. */
static size_t sampi_add_head(sampi_head *heads, size_t n, samp_token token, int32_t tail)
{
    if (heads) {
        heads[n].token = token;
        heads[n].tail = tail;
    }
    return n + 1;
}

/* Find every token that contains a breaker (tail -1), or ends with a beginning of one (the tail is the rest of it),
   in order of ids, and return how many. Tails are numbered through all
   breakers, one for each proper suffix, hence tails_before. A token may give several heads. sampi_dry_prepare calls it
   with heads NULL, to count them before there is room; sampi_dry_build then has it write them. */
static SAMPI_COLD size_t sampi_dry_heads(const samp_vocab *v, const char *const *breaker, size_t n_breakers,
                                         sampi_head *heads)
{
    size_t n = 0;
    for (samp_token t = 0; t < v->n_vocab; t++) {
        size_t len;
        const char *bytes = v->token_bytes(v, t, &len);
        int32_t tails_before = 0;
        for (size_t b = 0; b < n_breakers; b++) {
            size_t n_text = sampi_breaker_length(breaker[b]);
            if (sampi_contains(bytes, len, breaker[b], n_text)) {
                n = sampi_add_head(heads, n, t, -1);
            } else {
                for (size_t k = 1; k < n_text && k <= len; k++)
                    if (memcmp(bytes + len - k, breaker[b], k) == 0)
                        n = sampi_add_head(heads, n, t, tails_before + (int32_t)k - 1);
            }
            tails_before += (int32_t)n_text - 1;
        }
    }
    return n;
}

/* [n_heads], sorted by token: behind the tails in part 3. */
static sampi_head *sampi_dry_head(const sampi_sampler *s)
{
    return (sampi_head *)((sampi_tail *)sampi_part(s, 3) + s->u.dry.n_tails);
}

/* [n_from], behind the heads. */
static sampi_breaker *sampi_dry_text(const sampi_sampler *s)
{
    return (sampi_breaker *)(sampi_dry_head(s) + s->u.dry.n_heads);
}

/* Were its breakers these, in this vocabulary? Then their tokens are the same: to find them is a walk over the
   vocabulary for each. */
static SAMPI_COLD bool sampi_dry_has_breakers(const sampi_sampler *s, const sampi_sampler *t)
{
    const samp_vocab *v = &s->u.dry.spelt, *w = t->u.dry.vocab;
    bool same = s->u.dry.n_from == t->u.dry.n_from && s->u.dry.vocab == w;
    if (same && w)
        same = v->n_vocab == w->n_vocab && v->token_bytes == w->token_bytes && v->tokenize == w->tokenize &&
               v->user == w->user;
    for (size_t b = 0; b < t->u.dry.n_from && same; b++) {
        const char *text = sampi_dry_text(s)[b], *other = t->u.dry.from[b];
        size_t n = sampi_breaker_length(other);
        same = strlen(text) == n && memcmp(text, other, n) == 0;
    }
    return same;
}

/* Tail k - 1 of a breaker is what is left of it after k bytes: sampi_dry_heads numbers them in the same way. */
static SAMPI_COLD void sampi_dry_build(sampi_sampler *s)
{
    const samp_vocab *v = s->u.dry.vocab;
    sampi_tail *tail = (sampi_tail *)sampi_part(s, 3);
    const sampi_sampler *like = s->u.dry.like;
    s->u.dry.like = NULL;
    if (like) memcpy(tail, sampi_part(like, 3), s->part_size[3]);
    for (size_t b = 0; b < s->u.dry.n_from && !like; b++) {
        const char *text = s->u.dry.from[b];
        size_t n = sampi_breaker_length(text);
        memcpy(sampi_dry_text(s)[b], text, n);
        for (size_t k = 1; k < n; k++, tail++)
            tail->n = sampi_tokenize(v, text + k, n - k, tail->token, SAMPI_TAIL_MAX);
    }
    if (s->u.dry.n_from && !like) sampi_dry_heads(v, s->u.dry.from, s->u.dry.n_from, sampi_dry_head(s));
    s->u.dry.from = NULL;
}

/* The token `back` places ago in the window, 0 = the newest. All that follows reads the text from its end. */
static samp_token sampi_dry_token(const sampi_sampler *s, int32_t back)
{
    return sampi_ring_at(&s->u.dry.ring, (const samp_token *)sampi_part(s, 0), (uint32_t)back);
}

/* The first head with this token; heads are sorted by token. */
static size_t sampi_dry_find(const sampi_sampler *s, samp_token token)
{
    return sampi_find_token(sampi_dry_head(s), sizeof(sampi_head), s->u.dry.n_heads, token);
}

/* Do the tokens after the one `back` places ago go on with this tail? */
static bool sampi_dry_tail_follows(const sampi_sampler *s, const sampi_tail *tail, int32_t back)
{
    for (int32_t k = 0; k < tail->n; k++)
        if (tail->token[k] != sampi_dry_token(s, back - 1 - k)) return false;
    return true;
}

/* The length of the longest tail that a breaker beginning `back` places ago has there: 0 if the token contains one,
   -1 if none is complete. */
static int32_t sampi_dry_breaker_at(const sampi_sampler *s, int32_t back)
{
    const sampi_head *head = sampi_dry_head(s);
    const sampi_tail *tail = (const sampi_tail *)sampi_part(s, 3);
    samp_token token = sampi_dry_token(s, back);
    int32_t longest = -1;
    for (size_t h = sampi_dry_find(s, token); h < s->u.dry.n_heads && head[h].token == token; h++) {
        SAMPI_COUNT_STEPS(1);
        bool whole = head[h].tail < 0;
        int32_t len = whole ? 0 : tail[head[h].tail].n;
        if (len <= longest || len > back) continue; /* a tail that no tokens spell has length -1 */
        if (whole || sampi_dry_tail_follows(s, &tail[head[h].tail], back)) longest = len;
    }
    return longest;
}

/* An empty window, and no breaker in it. */
static void sampi_dry_reset(sampi_sampler *s)
{
    s->u.dry.ring.size = s->u.dry.ring.head = 0;
    s->u.dry.settled = -1;
    s->u.dry.settled_tail = 0;
}

/* Once all tokens that a tail may have are there, what begins before them is a breaker for good or none: of the
   breakers that begin so far back the nearest one is remembered, how far it is and its tail, so that nobody looks for
   it again. `back` is the place to be settled now, which lies nearer than all that have been. */
static void sampi_dry_settle(sampi_sampler *s, int32_t back)
{
    int32_t tail = back < (int32_t)s->u.dry.ring.size ? sampi_dry_breaker_at(s, back) : -1;
    if (tail < 0) return;
    s->u.dry.settled = back;
    s->u.dry.settled_tail = tail;
}

/* The window, and the breaker that moves back with it. What it means is worked out by sampi_dry_list, when the next
   token is drawn. */
static void sampi_dry_accept(sampi_sampler *s, samp_token token)
{
    sampi_ring_push(&s->u.dry.ring, (samp_token *)sampi_part(s, 0), token);
    if (s->u.dry.settled >= 0 && ++s->u.dry.settled >= (int32_t)s->u.dry.ring.size) s->u.dry.settled = -1;
    sampi_dry_settle(s, SAMPI_TAIL_MAX);
}

/* How many of the newest n tokens, which are all, a repetition may reach back over: to behind the nearest breaker. */
static int32_t sampi_dry_limit(const sampi_sampler *s, int32_t n)
{
    for (int32_t back = 0; back < n && back < SAMPI_TAIL_MAX; back++) {
        int32_t tail = sampi_dry_breaker_at(s, back);
        if (tail >= 0) return back - tail;
    }
    return s->u.dry.settled < 0 ? n : s->u.dry.settled - s->u.dry.settled_tail;
}

/* length [k], 0 < k < n = the length of the common suffix of the window and the window k tokens ago, at most limit:
   the Z algorithm (Gusfield 1997) over the text read from its end, n steps in all. What it has matched farthest,
   [left, right), equals the newest right - left tokens, so inside of it a length found before can be taken over. */
static void sampi_dry_lengths(const sampi_sampler *s, int32_t n, int32_t limit, int32_t *length)
{
    int32_t left = 0, right = 0;
    for (int32_t k = 1; k < n; k++) {
        SAMPI_COUNT_STEPS(1);
        if (k < right && length[k - left] < right - k) {
            length[k] = length[k - left];
            continue;
        }
        int32_t end = k < right ? right : k;
        while (end < n && sampi_dry_token(s, end) == sampi_dry_token(s, end - k)) {
            SAMPI_COUNT_STEPS(1);
            end++;
        }
        left = k;
        right = end;
        length[k] = end - k < limit ? end - k : limit;
    }
}

/* Is this token a breaker itself? It is never punished then. */
static bool sampi_dry_is_breaker(const sampi_sampler *s, samp_token token)
{
    const sampi_head *head = sampi_dry_head(s);
    for (size_t h = sampi_dry_find(s, token); h < s->u.dry.n_heads && head[h].token == token; h++)
        if (head[h].tail < 0) return true;
    return false;
}

/* How far the logit of a token falls, entry->count = the length of what it would repeat. The power is bounded so that
   base^power stays within a float; for the random source of llama.cpp all is computed as there. The GPU's host calls
   it too, and sends the results. */
static float sampi_dry_fall(const sampi_sampler *s, const sampi_count *entry)
{
    if (sampi_dry_is_breaker(s, entry->token)) return 0.0f;
    const float ln_float_max = 88.7228391f;
    float base = s->u.dry.base;
    bool llama = s->rng == SAMP_RNG_MT19937;
    int32_t power = entry->count - s->u.dry.allowed, most = 0; /* 0: no bound, for base is 1 */
    if (base > 1.000001f) most = (int32_t)(llama ? ln_float_max / logf(base) : (double)ln_float_max / sampi_ln(base));
    if (most > 0 && power > most) power = most;
    double factor = llama ? pow((double)base, (double)power) : sampi_powi(base, power);
    return (float)((double)s->u.dry.multiplier * factor);
}

/* As sampi_patch wants it; the fast path applies it to the tokens of the list alone. */
static float sampi_dry_change(const sampi_sampler *s, float l, const sampi_count *entry)
{
    return sampi_masked(l) ? l : sampi_finite(l - sampi_dry_fall(s, entry));
}

/* The tokens that would lengthen a repetition, each with the length of the longest: list [at most the window], sorted
   by token, and how many. Writes the list, which is mostly part 1, and part 2. Before each draw: by apply, or by the
   fast path and the GPU's host in its place. */
static uint32_t sampi_dry_list(const sampi_sampler *s, sampi_count *list)
{
    int32_t n = (int32_t)s->u.dry.ring.size, allowed = s->u.dry.allowed;
    if (n <= allowed) return 0;
    int32_t limit = sampi_dry_limit(s, n), *length = (int32_t *)sampi_part(s, 2);
    uint32_t n_list = 0;
    if (limit < allowed) return 0;
    sampi_dry_lengths(s, n, limit, length);
    for (int32_t k = 1; k < n; k++) {
        if (length[k] < allowed) continue;
        list[n_list].token = sampi_dry_token(s, k - 1); /* what followed it then */
        list[n_list++].count = length[k];
    }
    sampi_count_sort(list, n_list);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n_list; i++) {
        if (kept == 0 || list[kept - 1].token != list[i].token)
            list[kept++] = list[i];
        else if (list[kept - 1].count < list[i].count)
            list[kept - 1].count = list[i].count;
    }
    return kept;
}

/* The list is made anew for each draw, in the sampler's own parts: nothing of it is kept. */
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
   Samplers that remove tokens, as the array goes through them: top_n_sigma, top_k, tail_free, typical, top_p, min_p,
   xtc. Of each the function that its row in the table of samplers names, sampi_..._apply, and the arithmetic of its
   threshold, which the fast path and the GPU use too. sampi_run calls it after sampi_check, and never for a sampler
   that is off, so parameters are within their ranges here and the row has a maximum. It may change the array, nothing
   of the sampler.

   Each has the same two steps: what decides (an integer mass, or a double got from one logit and constants of the
   row), then a cut of >>array. top_n_sigma alone masks instead of cutting, as its authors do. At least one token is
   left, always.

   The one thing to know: a token is in or out by the token itself and sums over the row, never by where it stands in
   the array. So the fast path may find the same tokens in another way. */

/* ---- top_n_sigma (Tang et al. 2024) ---- */

/* top_n_sigma's variance comes from integers: x = max - l in units of 2^-40 of the range's power of two, sums of x
   and x^2 exact in 128 bits. */
static double sampi_sigma_scale(double range)
{
    uint64_t exponent = sampi_bits(range) >> 52; /* range < 2^(exponent - 1022) */
    return sampi_from_bits((uint64_t)(1023 + 40 + 1022 - exponent) << 52);
}

static uint64_t sampi_sigma_x(float max, float l, double scale)
{
    return sampi_bits(SAMPI_FMA((double)max - (double)l, scale, SAMPI_INT)) - sampi_bits(SAMPI_INT);
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

/* Mask what is farther below the maximum than n standard deviations. The array keeps its size, and p is not set. */
static SAMPI_COLD int sampi_top_n_sigma_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    float max;
    double reach = sampi_sigma_reach(cur, s->u.sigma.n, &max);
    for (size_t i = 0; i < cur->size; i++)
        if ((double)max - (double)cur->data[i].logit > reach) cur->data[i].logit = -INFINITY;
    sampi_recheck_order(cur);
    return SAMP_OK;
}

/* The cheapest cut: no probability is needed, so p is not set. */
static int sampi_top_k_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t k = (size_t)s->u.top_k.k, n = sampi_unmasked(cur);
    sampi_cut_to_first(cur, k < n ? k : n);
    return SAMP_OK;
}

/* ---- tail_free (Bricken 2019) ----
   In order, a_i = |p_i - 2 p_i+1 + p_i+2| is how much the curve of probabilities bends. Divided by their sum they are
   a distribution, and the first i whose running sum exceeds z ends the row: behind it lies the flat tail. All in
   units of weight; a sum of a_i that is next to nothing counts every a_i as the same, as the original does. */

static uint64_t sampi_distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* Is the sum of a_i below 1e-6, in units of probability? z: the sum of weights. */
static bool sampi_tail_is_flat(uint64_t total, uint64_t z) { return (double)total * 1000000.0 < (double)z; }

/* A walk along a sorted array: w [0] and w [1] are the weights at i and i + 1, so each is computed once. */
typedef struct sampi_bends {
    const samp_token_data *d;
    float max;
    size_t i;
    uint64_t w[2];
} sampi_bends;

/* The array must be sorted and have two candidates; it must not change during the walk. */
static SAMPI_COLD void sampi_bends_begin(sampi_bends *bends, const samp_token_data_array *cur, float max)
{
    bends->d = cur->data;
    bends->max = max;
    bends->i = 0;
    for (int k = 0; k < 2; k++) bends->w[k] = sampi_weight(max, cur->data[k].logit);
}

/* a_i, and on to i + 1; there must be an i + 2. */
static SAMPI_COLD uint64_t sampi_bends_next(sampi_bends *bends)
{
    uint64_t w2 = sampi_weight(bends->max, bends->d[bends->i + 2].logit);
    uint64_t bend = sampi_distance(bends->w[0] + w2, 2 * bends->w[1]);
    bends->w[0] = bends->w[1];
    bends->w[1] = w2;
    bends->i++;
    return bend;
}

/* How many of the row are left, min_keep and what lies before the cut at least; all if nothing exceeds the share. */
static size_t sampi_tail_free_size(const samp_token_data_array *cur, const sampi_sums *sums, uint64_t share,
                                   size_t min_keep)
{
    uint64_t total = 0, run = 0;
    size_t last = sums->n - 2; /* the a_i are 0 .. last - 1 */
    sampi_bends bends;
    sampi_bends_begin(&bends, cur, sums->max);
    while (bends.i < last) total += sampi_bends_next(&bends);
    bool flat = sampi_tail_is_flat(total, sums->z);
    uint64_t limit = sampi_mulhi(share, flat ? last : total);
    sampi_bends_begin(&bends, cur, sums->max);
    for (size_t i = 0; i < last; i++) {
        run += flat ? 1 : sampi_bends_next(&bends);
        if (run <= limit) continue;
        size_t keep = i > min_keep ? i : min_keep;
        return keep < sums->n ? keep : sums->n;
    }
    return sums->n;
}

/* p is set for all before the cut, so it is the probability among all tokens. */
static SAMPI_COLD int sampi_tail_free_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    sampi_sort_all(cur);
    sampi_set_p(cur, &sums);
    if (sums.n <= 2) return SAMP_OK; /* nothing bends; masked tokens stay, too */
    size_t min_keep = s->u.cut.min_keep ? s->u.cut.min_keep : 1;
    cur->size = sampi_tail_free_size(cur, &sums, sampi_share(s->u.cut.p), min_keep);
    return SAMP_OK;
}

/* ---- typical (Meister et al. 2022) and top_p (Holtzman et al. 2019) ----
   Both keep the shortest beginning of an order that holds a mass: of the order by distance from the mean surprise,
   more than p; of the order by logit, p at least. */

/* |surprise - entropy| without ln Z, which is in both: order->max = the row's maximum, order->mean = the mean of max
   - l under p. The fast path sorts by it too. */
static double sampi_typical_score(const sampi_order *order, const samp_token_data *d)
{
    return sampi_abs((order->max - (double)d->logit) - order->mean);
}

/* More than p, so one unit of mass above the share rounded down. */
static SAMPI_COLD int sampi_typical_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    sampi_order by_score;
    by_score.score = sampi_typical_score;
    by_score.max = sums.max;
    by_score.mean = (double)sums.s / (double)sums.z;
    uint64_t exceeded = sampi_mulhi(sampi_share(s->u.cut.p), sums.z);
    sampi_keep_mass(cur, &by_score, &sums, exceeded + 1, s->u.cut.min_keep);
    return SAMP_OK;
}

/* p at least, so the share rounded up. */
static int sampi_top_p_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    uint64_t required = sampi_mass_of(sampi_share(s->u.cut.p), sums.z);
    sampi_keep_mass(cur, &SAMPI_BY_LOGIT, &sums, required, s->u.cut.min_keep);
    return SAMP_OK;
}

/* ---- min_p (Nguyen et al. 2024) ---- */

/* p_i >= p * p_max without a sum: l >= max + ln p. */
static int sampi_min_p_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    double max = cur->data[sampi_argmax(cur)].logit;
    size_t n = sampi_unmasked(cur), min_keep = s->u.cut.min_keep;
    sampi_keep_above(cur, max + sampi_ln(s->u.cut.p), min_keep < n ? min_keep : n);
    return SAMP_OK;
}

/* ---- top_a ---- */

/* The smallest logit that top_a keeps: p >= a p_max^2 with p_max = 1 / Z is l >= max + ln a - ln Z. z in units of
   2^-40; the fast path calls it with both ends of an estimate, hence the double. */
static double sampi_top_a_floor(double ln_a, float max, double z)
{
    return (double)max + (ln_a - sampi_ln(z / (double)SAMPI_ONE));
}

static SAMPI_COLD int sampi_top_a_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    size_t min_keep = s->u.cut.min_keep;
    double floor = sampi_top_a_floor(sampi_ln(s->u.cut.p), sums.max, (double)sums.z);
    sampi_keep_above(cur, floor, min_keep < sums.n ? min_keep : sums.n);
    return SAMP_OK;
}

/* ---- random numbers of a sampler ----
   Here because xtc is the first that draws; >>selection and the fast path use them as well. Nothing is stored: the
   numbers are a function of the position, so apply can be repeated, and a row's token is the same in any batch. */

/* 128 random bits: a function of (seed, position, stream, attempt). */
static void sampi_random_bits(uint64_t seed, uint64_t position, uint32_t stream, uint32_t attempt, uint64_t r[2])
{
    uint32_t out[4], key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t counter[4] = { (uint32_t)position, (uint32_t)(position >> 32), stream, attempt };
    sampi_philox(counter, key, out);
    r[0] = (uint64_t)out[1] << 32 | out[0];
    r[1] = (uint64_t)out[3] << 32 | out[2];
}

/* A stream: what kind of draw, and the sampler's ordinal among its kind. Two samplers of a chain never share one. */
static uint32_t sampi_stream(const sampi_sampler *s, uint32_t kind) { return kind << 16 | s->at_ordinal; }

/* attempt: 0 for what needs two numbers only; a draw that must try again counts it up. */
static void sampi_random(const sampi_sampler *s, uint32_t attempt, uint64_t r[2])
{
    sampi_random_bits(s->seed, s->at_position, sampi_stream(s, sampi_traits_of(s->kind)->draws), attempt, r);
}

/* ---- xtc, "exclude top choices" ---- */

/* Does this candidate have a probability of t, that is the mass `required`? */
static SAMPI_COLD bool sampi_xtc_reaches(const samp_token_data *d, float max, uint64_t required)
{
    return !sampi_masked(d->logit) && sampi_weight(max, d->logit) >= required;
}

/* With probability p, drop all candidates that reach t but the last of them in order. If that would leave fewer than
   min_keep, nothing is dropped. The position's number is used up either way. */
static SAMPI_COLD int sampi_xtc_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    uint64_t random[2];
    if (cur->size < 2) return SAMP_OK;
    sampi_random(s, 0, random);
    if (s->u.xtc.p < 1.0f && random[0] >= sampi_share(s->u.xtc.p)) return SAMP_OK;
    sampi_sums sums = sampi_sum(cur);
    uint64_t required = sampi_mass_of(sampi_share(s->u.xtc.t), sums.z); /* t <= 1/2, or it would be off */
    size_t above = 0, last = 0;
    for (size_t i = 0; i < cur->size; i++) {
        if (!sampi_xtc_reaches(&cur->data[i], sums.max, required)) continue;
        if (above == 0 || sampi_before(&SAMPI_BY_LOGIT, &cur->data[last], &cur->data[i])) last = i;
        above++;
    }
    if (above < 2 || sums.n - (above - 1) < s->u.xtc.min_keep) return SAMP_OK;
    sampi_set_p(cur, &sums);
    size_t kept = 0;
    for (size_t i = 0; i < cur->size; i++)
        if (i == last || !sampi_xtc_reaches(&cur->data[i], sums.max, required)) cur->data[kept++] = cur->data[i];
    cur->size = kept;
    return SAMP_OK;
}

/* ============================================================================================= >>temperature
   temp divides the logits by T, temp_ext finds T from the row's entropy first. Nothing is dropped, and the order
   stays, except for ties that rounding makes. A temperature of 0 (and whatever temp_ext finds below 2^-20) is greedy:
   all but the first in order are masked.

   The one thing to know: T is made into a factor 1 / T, rounded to f32, and each logit is one product rounded to f32.
   The fast path carries that factor along instead of multiplying (sampi_row's r), so it must be the same product. */

/* Mask all but the candidate at `best`. */
static void sampi_mask_but(samp_token_data_array *cur, size_t best)
{
    for (size_t i = 0; i < cur->size; i++)
        if (i != best) cur->data[i].logit = -INFINITY;
}

/* Both samplers end here. What overflows becomes +-FLT_MAX: a masked token must stay the only one at -infinity. */
static void sampi_scale(samp_token_data_array *cur, float t)
{
    if (t >= SAMPI_TEMP_MIN) {
        float factor = 1.0f / t;
        for (size_t i = 0; i < cur->size; i++)
            if (!sampi_masked(cur->data[i].logit)) cur->data[i].logit = sampi_finite(cur->data[i].logit * factor);
    } else {
        sampi_mask_but(cur, sampi_argmax(cur));
    }
    sampi_recheck_order(cur);
}

static int sampi_temp_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_scale(cur, s->u.temp.t);
    return SAMP_OK;
}

/* The temperature of temp_ext (dynamic temperature, kalomaze 2023): T goes from t - delta, for a row whose entropy is
   0, to t + delta, for the entropy ln n of n equal tokens. With the settings as arguments, as a GPU has no sampler.
   */
static float sampi_dynamic_temp(float t, float delta, float exponent, const sampi_sums *sums)
{
    float lo = t > delta ? t - delta : 0.0f, hi = t + delta;
    double power = sampi_pow(sampi_entropy(sums) / sampi_ln((double)sums->n), exponent);
    return (float)SAMPI_FMA((double)hi - (double)lo, power, (double)lo);
}

/* The same with a sampler's settings; the fast path calls it with its own sums. */
static float sampi_temp_of(const sampi_sampler *s, const sampi_sums *sums)
{
    return sampi_dynamic_temp(s->u.temp.t, s->u.temp.delta, s->u.temp.exponent, sums);
}

/* Without a delta it is temp. The sums are those of the logits as they come, before any scaling. */
static SAMPI_COLD int sampi_temp_ext_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    float t = s->u.temp.t;
    if (s->u.temp.delta > 0.0f) {
        sampi_sums sums = sampi_sum(cur);
        if (sums.n == 1) return SAMP_OK; /* ln n = 0, and nothing to choose from */
        t = sampi_temp_of(s, &sums);
    }
    sampi_scale(cur, t);
    return SAMP_OK;
}

/* =============================================================================================== >>selection
   Samplers that end a chain: greedy, dist, mirostat, mirostat_v2, adaptive_p (and softmax, which only sets p). Each
   leaves in cur->selected the index of its candidate, and (but for greedy) p of all that are left. Of the sampler
   apply changes mirostat's mu (s->now.mu) and what adaptive_p must remember until its token is accepted
   (s->now.pending, pending_p), nothing else; sampi_end_draw puts s->now back if a later sampler fails.

   The random samplers choose in one place, sampi_draw. It has two forms: the draw by envelope, and for a row of a
   draft that samp_verify tests the ratio test, so that mirostat and adaptive_p follow the token that was really
   taken.

   The one thing to know: a draw goes by ascending id, whatever order the array is in. The order would depend on which
   samplers have sorted, and the fast path, which does not sort, could not give the same token. */

/* For users who want p and the order, not a token: it selects nothing. */
static int sampi_softmax_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    sampi_sums sums = sampi_sum(cur);
    sampi_sort_all(cur);
    sampi_set_p(cur, &sums);
    return SAMP_OK;
}

/* No p: nothing needs it, and it would cost a pass of exps. */
static int sampi_greedy_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    cur->selected = (int64_t)sampi_argmax(cur);
    return SAMP_OK;
}

/* ---- which candidate a random number falls on ---- */

/* The mass that a candidate has in a draw; `draw` is what its function needs to know. */
typedef uint64_t (*sampi_mass)(const void *draw, const samp_token_data *candidate);

/* sum [256] = the masses of the candidates with ids lo .. hi, by the digit (id - lo) >> shift. */
static void sampi_sum_digits(const samp_token_data_array *cur, sampi_mass mass, const void *draw, int64_t lo,
                             int64_t hi, int shift, uint64_t *sum)
{
    const samp_token_data *d = cur->data;
    memset(sum, 0, 256 * sizeof *sum);
    for (size_t i = 0; i < cur->size; i++)
        if (d[i].id >= lo && d[i].id <= hi) sum[(d[i].id - lo) >> shift] += mass(draw, &d[i]);
}

/* The index of the candidate with the smallest id such that the masses of all ids up to it sum to more than t; t is
   below the sum of all. Instead of sorting by id it goes digit by digit of the id, 8 bits at a time, the highest
   first: at most four passes over an array in any order. */
static size_t sampi_find_by_mass(const samp_token_data_array *cur, sampi_mass mass, const void *draw, uint64_t t)
{
    const samp_token_data *d = cur->data;
    int64_t lo = d[0].id, hi = d[0].id;
    int shift = 0;
    for (size_t i = 1; i < cur->size; i++) {
        if (d[i].id < lo) lo = d[i].id;
        if (d[i].id > hi) hi = d[i].id;
    }
    while ((hi - lo) >> shift > 255) shift += 8;
    for (; shift >= 0; shift -= 8) { /* the id is in [lo, hi]; t is relative to lo */
        uint64_t sum[256];
        int digit = 0;
        sampi_sum_digits(cur, mass, draw, lo, hi, shift, sum);
        while (sum[digit] <= t) {
            t -= sum[digit];
            digit++;
        }
        lo += (int64_t)digit << shift;
        hi = lo + ((int64_t)1 << shift) - 1;
    }
    for (size_t i = 0;; i++) { /* a user's array may have an id twice: the masses of both are in its sum */
        if (d[i].id != lo) continue;
        uint64_t m = mass(draw, &d[i]);
        if (t < m) return i;
        t -= m;
    }
}

/* As sampi_mass wants it. */
static uint64_t sampi_envelope_mass(const void *max, const samp_token_data *d)
{
    return sampi_envelope(*(const float *)max, d->logit);
}

/* The proposal of sampi_draw. */
static size_t sampi_find(const samp_token_data_array *cur, float max, uint64_t t)
{
    return sampi_find_by_mass(cur, sampi_envelope_mass, &max, t);
}

/* ---- the ratio test (Leviathan et al. 2023), in place of the draw ----
   It gives the draft's token if and only if it accepts it: where it does not, that token has p < q, and nothing of it
   is left in the residual max(0, p - q) that the token is drawn from then. So samp_verify need only compare tokens.
   */

#define SAMPI_DRAWS_RATIO 0x100 /* added to the sampler's number in the stream of its numbers */

/* One row of a draft: samp_verify makes it and hands it to all samplers of a chain (s->draft). */
typedef struct sampi_draft {
    samp_token token;
    const float *probs;    /* NULL: certain */
    const samp_token *ids; /* [n_top], or NULL: dense */
    size_t n_top;          /* dense: the vocabulary */
} sampi_draft;

/* A draw from the residual, or, with draft NULL, from p. */
typedef struct sampi_residual {
    const sampi_draft *draft;
    float max;
    uint64_t z; /* the sum of weights */
} sampi_residual;

/* q(id) in units of weight: floor(q z). A token that the draft doesn't name has q = 0. */
static uint64_t sampi_draft_mass(const sampi_draft *draft, samp_token id, uint64_t z)
{
    if (!draft->probs) return id == draft->token ? z : 0;
    size_t i = (size_t)id;
    if (draft->ids)
        for (i = 0; i < draft->n_top; i++)
            if (draft->ids[i] == id) break;
    if (i >= draft->n_top) return 0; /* dense: an id that a custom sampler made up */
    return draft->probs[i] < 1.0f ? sampi_mulhi(sampi_share(draft->probs[i]), z) : z; /* 1 has no share: 2^64 */
}

/* As sampi_mass wants it. */
static SAMPI_COLD uint64_t sampi_residual_mass(const void *draw, const samp_token_data *d)
{
    const sampi_residual *residual = (const sampi_residual *)draw;
    uint64_t w = sampi_weight(residual->max, d->logit), q = 0;
    if (residual->draft) q = sampi_draft_mass(residual->draft, d->id, residual->z);
    return w > q ? w - q : 0;
}

/* With r, v two 64-bit random numbers: accept the draft's token if floor(r q / 2^64) < w, which has probability
   min(1, w / q). Else the first token in ascending id whose running sum of residuals exceeds floor(v R / 2^64), R
   their total. Sets cur->selected and nothing else. The numbers are those of a stream of its own, so that they are
   independent of what the same position's plain draw would be. */
static SAMPI_COLD void sampi_draw_ratio(const sampi_sampler *s, samp_token_data_array *cur)
{
    uint64_t random[2], total = 0;
    sampi_sums sums = sampi_sum(cur);
    sampi_residual residual = { s->draft, sums.max, sums.z };
    uint32_t stream = sampi_stream(s, sampi_traits_of(s->kind)->draws | SAMPI_DRAWS_RATIO);
    sampi_random_bits(s->seed, s->at_position, stream, 0, random);
    for (size_t i = 0; i < cur->size; i++) {
        const samp_token_data *d = &cur->data[i];
        if (d->id == s->draft->token) {
            uint64_t q = sampi_draft_mass(s->draft, d->id, sums.z);
            if (sampi_mulhi(random[0], q) < sampi_weight(sums.max, d->logit)) {
                cur->selected = (int64_t)i;
                return;
            }
        }
        total += sampi_residual_mass(&residual, d);
    }
    if (total == 0) { /* the numbers of the draft sum to more than 1 */
        residual.draft = NULL;
        total = sums.z;
    }
    uint64_t at = sampi_mulhi(random[1], total);
    cur->selected = (int64_t)sampi_find_by_mass(cur, sampi_residual_mass, &residual, at);
}

/* ---- the draw ---- */

/* With r, v two 64-bit random numbers and Q the sum of q: propose the first token in ascending id whose running sum
   of q exceeds floor(r Q / 2^64); accept it if floor(v (2^14 q) / 2^64) < w, else try again with the next attempt's
   numbers. So token i comes with probability q_i / Q * w_i / (2^14 q_i), proportional to w_i. q is integer arithmetic
   on a linear function of the logit: cheap, exact to sum, and at most 6.2 % above w, so 4 % of the proposals fail.
   Only one exp a proposal instead of one for every token: that is what makes it worth while on the fast path, which
   draws the same way (sampi_envelope, sampi_random). Sets cur->selected and nothing else. */
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

/* Draw, leave p, and return the sums that p comes from. */
static sampi_sums sampi_select(const sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_draw(s, cur);
    sampi_sums sums = sampi_sum(cur);
    sampi_set_p(cur, &sums);
    return sums;
}

/* All of it is the draw; adaptive_p with a target below 0 is the same. */
static int sampi_dist_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_select(s, cur);
    return SAMP_OK;
}

/* ---- mirostat (Basu et al. 2020) ----
   It steers the surprise of the tokens, log2(1 / p), to tau: mu is what it allows for now, twice tau at first.
   Version 1 keeps as many tokens as a Zipf law with the row's exponent needs for mu, version 2 those whose surprise
   is at most mu. Then it draws, and mu moves against the error, in apply already and not in accept, as in llama.cpp.
   */

/* When a sampler is made and by samp_reset: of both versions. */
static void sampi_mirostat_reset(sampi_sampler *s) { s->now.mu = 2.0f * s->u.mirostat.tau; }

/* mu follows the surprise of the chosen token: d = max - l, z over the tokens kept. Without a sampler, for the GPU.
   */
static float sampi_mirostat_mu(float mu, float tau, float eta, double d, uint64_t z)
{
    double surprise = SAMPI_FMA(d, SAMPI_LOG2E, sampi_log2((double)z / (double)SAMPI_ONE));
    return sampi_finite((float)SAMPI_FMA(-(double)eta, surprise - (double)tau, (double)mu));
}

/* The only place that changes mu in a draw; the fast path calls it with its own sums. */
static void sampi_mirostat_follow(sampi_sampler *s, double d, uint64_t z)
{
    s->now.mu = sampi_mirostat_mu(s->now.mu, s->u.mirostat.tau, s->u.mirostat.eta, d, z);
}

/* The end of both versions, after their cuts. */
static int sampi_mirostat_select(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_select(s, cur);
    sampi_mirostat_follow(s, (double)sums.max - (double)cur->data[cur->selected].logit, sums.z);
    return SAMP_OK;
}

/* Zipf's exponent by least squares through 0, from neighbours in order, i and i + 1: b = ln (p_i / p_i+1) against t =
   ln ((i + 2) / (i + 1)). The exponent is tb / tt. */
typedef struct sampi_zipf {
    double tb, tt;
} sampi_zipf;

/* One pair of neighbours: their logits' difference is ln (p_i / p_i+1). In ascending i, since the sums are rounded.
   */
static void sampi_zipf_add(sampi_zipf *zipf, size_t i, float l, float next)
{
    double t = sampi_ln((double)(i + 2) / (double)(i + 1)), b = (double)l - (double)next;
    zipf->tb = SAMPI_FMA(t, b, zipf->tb);
    zipf->tt = SAMPI_FMA(t, t, zipf->tt);
}

/* How many of n tokens mirostat keeps: k = (e 2^mu / (1 - N^-e))^(1 / exponent), e = exponent - 1, N = n_vocab;
   clamped to 1 .. n, which a NaN becomes too. sampi_zipf_keep calls it, and the GPU. */
static size_t sampi_zipf_size(const sampi_zipf *zipf, double n_vocab, float mu, size_t n)
{
    double exponent = zipf->tt > 0.0 ? zipf->tb / zipf->tt : 1.0, e = exponent - 1.0;
    double ln_n = sampi_ln(n_vocab), x = e * ln_n, below = 1.0 - sampi_pow(n_vocab, -e);
    /* e / (1 - N^-e), near e = 0 by its series, where the quotient would lose its digits */
    double scale = fabs(x) < 1e-3 ? SAMPI_FMA(x, SAMPI_FMA(x, 1.0 / 12.0, 0.5), 1.0) / ln_n : e / below;
    double k = sampi_pow(sampi_round(scale * sampi_exp2((double)mu)), 1.0 / exponent);
    if (!(k < (double)n)) return n; /* more than there are, or no number */
    return k >= 1.0 ? (size_t)k : 1;
}

/* The same with a sampler's settings and mu; here and on the fast path. */
static size_t sampi_zipf_keep(const sampi_zipf *zipf, const sampi_sampler *s, size_t n)
{
    return sampi_zipf_size(zipf, s->u.mirostat.n_vocab, s->now.mu, n);
}

/* The first m in order are enough for the exponent; what is to be kept may be more, and is sorted then. */
static SAMPI_COLD int sampi_mirostat_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t n = sampi_unmasked(cur), m = (size_t)s->u.mirostat.m;
    sampi_zipf zipf = { 0.0, 0.0 };
    if (m > n) m = n;
    sampi_sort(&SAMPI_BY_LOGIT, cur, m);
    for (size_t i = 0; i + 1 < m; i++) sampi_zipf_add(&zipf, i, cur->data[i].logit, cur->data[i + 1].logit);
    sampi_cut_to_first(cur, sampi_zipf_keep(&zipf, s, n));
    return sampi_mirostat_select(s, cur);
}

/* The smallest logit that mirostat_v2 keeps: surprise = (max - l) log2 e + log2 Z <= mu; z in units of 2^-40. */
static double sampi_surprise_floor(float mu, float max, double z)
{
    double room = SAMPI_FMA(sampi_log2(z / (double)SAMPI_ONE), -1.0, (double)mu); /* ptxas would fuse mu - log2 */
    return SAMPI_FMA(-room, SAMPI_LN2, (double)max);
}

/* The same with a sampler's mu. The fast path calls it with both ends of an estimate of z: hence the double. */
static double sampi_mirostat_floor(const sampi_sampler *s, float max, double z)
{
    return sampi_surprise_floor(s->now.mu, max, z);
}

/* One threshold, no sort: the least probable token that mu allows is a floor on logits. */
static SAMPI_COLD int sampi_mirostat_v2_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    sampi_keep_above(cur, sampi_mirostat_floor(s, sums.max, (double)sums.z), 1);
    return sampi_mirostat_select(s, cur);
}

/* ---- adaptive_p (MrJackSpade) ----
   It steers the probability of the chosen tokens to a target: logits become a function of |p - aim| that is largest
   where p is the aim, and a token is drawn by these. What it learns from is the token that is accepted, if that is
   the one it had selected: apply notes it (pending), accept adds it to a decaying average (sum / total). */

/* As if tokens of the target's probability had been chosen for ever: the first aim is the target. */
static void sampi_adaptive_p_reset(sampi_sampler *s)
{
    s->u.adaptive.sum = s->u.adaptive.target / (1.0f - s->u.adaptive.decay);
    s->u.adaptive.total = 1.0f / (1.0f - s->u.adaptive.decay);
}

/* The target of this draw, moved against the average so far. */
static float sampi_aim(float target, float sum, float total)
{
    float aim = target + target - sum / total;
    if (aim < 0.0f) return 0.0f;
    return aim > 1.0f ? 1.0f : aim;
}

static float sampi_adaptive_p_aim(const sampi_sampler *s)
{
    return sampi_aim(s->u.adaptive.target, s->u.adaptive.sum, s->u.adaptive.total);
}

/* product + x, where product has been rounded and the sum is, too: ptxas would make one of both. */
static float sampi_add_to_product(float product, float x)
{
#if defined(SAMPLING_GPU_H) && defined(_OPENMP)
    return fmaf(product, 1.0f, x);
#else
    return product + x; /* some platforms' fmaf is not exact */
#endif
}

/* One more value in a decaying sum. */
static float sampi_decay(float sum, float decay, float x)
{
    return sampi_add_to_product(sampi_roundf(decay * sum), x);
}

/* A token's logit by its probability. Its shape is llama.cpp's: width 0.3, peak 5, steepness 10. */
static float sampi_adaptive_p_logit(float p, float aim)
{
    float x = sampi_roundf(fabsf(p - aim) * (1.0f / 0.3f));
    return 5.0f - x * 10.0f * x / (1.0f + x);
}

/* The adapted logits of all candidates that are not masked, from their p; p becomes the old logit, which is needed
   once more when the token is known. The order is lost. In both arithmetics. */
static void sampi_adapt(const sampi_sampler *s, samp_token_data_array *cur)
{
    float aim = sampi_adaptive_p_aim(s);
    samp_token_data *d = cur->data;
    for (size_t i = 0; i < cur->size; i++) {
        float l = d[i].logit;
        if (!sampi_masked(l)) d[i].logit = sampi_adaptive_p_logit(d[i].p, aim);
        d[i].p = l;
    }
}

/* Two rounds of probabilities: by the logits as they come, which make the adapted ones, and by these, for the draw
   and for whoever looks at p. */
static SAMPI_COLD int sampi_adaptive_p_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    if (s->u.adaptive.target < 0.0f) return sampi_dist_apply(s, cur);
    sampi_sums sums = sampi_sum(cur);
    sampi_set_p(cur, &sums);
    sampi_adapt(s, cur);
    cur->sorted = false;
    sampi_draw(s, cur);
    const samp_token_data *chosen = &cur->data[cur->selected];
    s->now.pending = chosen->id;
    s->now.pending_p = (float)(sampi_exp(sums.max, chosen->p) / (double)sums.z); /* p is the old logit still */
    sums = sampi_sum(cur);
    sampi_set_p(cur, &sums);
    return SAMP_OK;
}

/* Another token than the selected one, as after a rejected draft, teaches nothing. */
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
   them on x86-64, so that a seed gives its tokens. sampi_run takes the row's apply_llama in place of apply; what
   comes in and may be written is the same, and so is the meaning of each sampler: only what is not obvious from
   >>truncation ... >>selection is said here.

   The differences: float sums in array order, libm's float functions, no fused multiply-add (sampi_roundf keeps
   products apart). Masked tokens stay in the array, with p = 0, and count for min_keep and n. Random numbers come one
   after the other from the sampler's own std::mt19937 (its part 0), which a draw moves on; sampi_restore_state can
   move it back.

   The one thing to know: here the order of additions is part of the result. A sum over a sorted array is another one
   than over the same array as it came, so where llama.cpp sorts is where it must be sorted here, no sooner. samp_sample
   comes here with what >>fast has left of the row. */

/* What makes probabilities: the maximum, and the sum of e^(l - max) in the order of the array. Those of the logits
   as they were: one that has been kept aside still has its p by them. */
typedef struct sampi_llama_sums {
    float max, sum;
} sampi_llama_sums;

/* The probability of a logit. Recomputed wherever llama.cpp would read p: it is the same expression of the same
   floats. */
static float sampi_llama_p(const sampi_llama_sums *sums, float l) { return expf(l - sums->max) / sums->sum; }

/* By data [0] if the array says that it is sorted, as llama.cpp has it, else by the maximum. Reads only.
   adaptive_p needs it without p, which holds the old logits then. */
static sampi_llama_sums sampi_llama_sum(const samp_token_data_array *cur)
{
    sampi_llama_sums sums = { cur->data[sampi_argmax(cur)].logit, 0.0f };
    for (size_t i = 0; i < cur->size; i++) sums.sum += expf(cur->data[i].logit - sums.max);
    return sums;
}

/* llama_sampler_softmax_impl: p of all, after sorting or without. Most samplers here begin with it, as llama.cpp's
   do, so p is written also where the canonical one leaves it (temp_ext). */
static sampi_llama_sums sampi_llama_softmax(samp_token_data_array *cur, bool sort)
{
    if (sort) sampi_sort_all(cur);
    sampi_llama_sums sums = { cur->data[sampi_argmax(cur)].logit, 0.0f };
    for (size_t i = 0; i < cur->size; i++) sums.sum += cur->data[i].p = expf(cur->data[i].logit - sums.max);
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p /= sums.sum;
    return sums;
}

/* The other softmax, of dist and the end of temp_ext: p holds e^(l - max) rounded to float already, the sum is
   double. */
static void sampi_llama_divide(samp_token_data_array *cur, double sum)
{
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p = (float)((double)cur->data[i].p / sum);
}

/* Of p as it stands: in typical and temp_ext, after the softmax. A p of 0 has no part in it (llama.cpp's entropy
   is NaN then). */
static float sampi_llama_share(float p) { return p > 0.0f ? -sampi_roundf(p * logf(p)) : 0.0f; }

static float sampi_llama_entropy(const samp_token_data_array *cur)
{
    float entropy = 0.0f;
    for (size_t i = 0; i < cur->size; i++) entropy += sampi_llama_share(cur->data[i].p);
    return entropy;
}

/* The cut of top_p and typical: keep what comes before the sum of p reaches `share` (or, if it must exceed it, does
   that), and the one that does it; all if none does. */
static void sampi_llama_keep_share(samp_token_data_array *cur, float share, bool exceed, size_t min_keep)
{
    float run = 0.0f;
    for (size_t i = 0; i < cur->size; i++) {
        run += cur->data[i].p;
        bool enough = exceed ? run > share : run >= share;
        if (!enough || i + 1 < min_keep) continue;
        cur->size = i + 1;
        return;
    }
}

/* ---- truncation ----
   From here on: what the table's rows name as apply_llama; sampi_run calls it. Each may write the candidates, the size
   and `sorted`, as the one in >>truncation does. */

/* Mean and deviation in two passes of float sums; the square is added in double and rounded each time, as C++ does
   with std::pow's double. */
static SAMPI_COLD int sampi_llama_top_n_sigma(sampi_sampler *s, samp_token_data_array *cur)
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
    float sigma = (float)sqrt((double)(squares / count)), floor = max - sampi_roundf(s->u.sigma.n * sigma);
    for (size_t i = 0; i < cur->size; i++)
        if (cur->data[i].logit < floor) cur->data[i].logit = -INFINITY;
    return SAMP_OK;
}

/* Masked tokens count here, and may be among the k. */
static int sampi_llama_top_k(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t k = (size_t)s->u.top_k.k;
    sampi_cut_to_first(cur, k < cur->size ? k : cur->size);
    return SAMP_OK;
}

/* |p_i - 2 p_i+1 + p_i+2| as the difference of two rounded differences; tail_free's second derivative, from p as
   it stands. */
static float sampi_llama_bend(const samp_token_data *d) { return fabsf((d[0].p - d[1].p) - (d[1].p - d[2].p)); }

/* As llama.cpp did it before it dropped the sampler: sums in float, and all bends equal where they sum to nearly
   nothing. */
static SAMPI_COLD int sampi_llama_tail_free(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t n = cur->size, min_keep = s->u.cut.min_keep ? s->u.cut.min_keep : 1;
    if (n <= 2) return SAMP_OK;
    sampi_llama_softmax(cur, true);
    float sum = 0.0f, run = 0.0f;
    for (size_t i = 0; i + 2 < n; i++) sum += sampi_llama_bend(&cur->data[i]);
    for (size_t i = 0; i + 2 < n; i++) {
        run += sum > 1e-6f ? sampi_llama_bend(&cur->data[i]) / sum : 1.0f / (float)(n - 2);
        if (!(run > s->u.cut.p)) continue;
        size_t keep = i > min_keep ? i : min_keep;
        cur->size = keep < n ? keep : n;
        break;
    }
    return SAMP_OK;
}

/* How far the surprise of a p is from the entropy. A p of 0 comes last (in llama.cpp it is NaN, and the order
   garbage). */
static float sampi_llama_score(float p, float entropy) { return p > 0.0f ? fabsf(-logf(p) - entropy) : INFINITY; }

/* For sampi_sort: the score stands where p does. */
static double sampi_llama_typical_score(const sampi_order *order, const samp_token_data *d)
{
    (void)order;
    return (double)d->p;
}

/* Sort by score. sums: what p comes from. */
static void sampi_llama_sort_by_score(samp_token_data_array *cur, const sampi_llama_sums *sums, float entropy)
{
    sampi_order by_score = { sampi_llama_typical_score, 0.0, 0.0 };
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p = sampi_llama_score(cur->data[i].p, entropy);
    sampi_sort(&by_score, cur, cur->size);
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p = sampi_llama_p(sums, cur->data[i].logit);
}

/* The running sum is in the order of the scores, and must exceed the share. */
static SAMPI_COLD int sampi_llama_typical(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_sums sums = sampi_llama_softmax(cur, true);
    sampi_llama_sort_by_score(cur, &sums, sampi_llama_entropy(cur));
    sampi_llama_keep_share(cur, s->u.cut.p, true, s->u.cut.min_keep);
    return SAMP_OK;
}

/* Sums before it sorts, so p may differ from typical's in the last bits. */
static int sampi_llama_top_p(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_softmax(cur, false);
    sampi_sort_all(cur);
    sampi_llama_keep_share(cur, s->u.cut.p, false, s->u.cut.min_keep);
    return SAMP_OK;
}

/* The cut is by logit, as in the canonical arithmetic, with logf's last bit and a sum in float. */
static int sampi_llama_min_p(sampi_sampler *s, samp_token_data_array *cur)
{
    float floor = cur->data[sampi_argmax(cur)].logit + logf(s->u.cut.p);
    sampi_keep_above(cur, floor, s->u.cut.min_keep);
    return SAMP_OK;
}

/* No peer's arithmetic to keep but the others' here: p is a float, the prefix ends before the first below a p_max^2. */
static SAMPI_COLD int sampi_llama_top_a(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t kept = 1;
    sampi_llama_softmax(cur, true);
    float floor = sampi_roundf(s->u.cut.p * cur->data[0].p) * cur->data[0].p;
    while (kept < cur->size && (cur->data[kept].p >= floor || kept < s->u.cut.min_keep)) kept++;
    cur->size = kept;
    return SAMP_OK;
}

/* Its number is drawn before anything else, and even if p is 1: one output of the mt19937 each time there is a
   choice. What is dropped is the beginning of the sorted array, so it is still sorted. */
static SAMPI_COLD int sampi_llama_xtc(sampi_sampler *s, samp_token_data_array *cur)
{
    if (cur->size < 2 || sampi_mt_float(sampi_mt_of(s)) > s->u.xtc.p) return SAMP_OK;
    size_t above = 0;
    sampi_llama_softmax(cur, true);
    while (above < cur->size && cur->data[above].p >= s->u.xtc.t && !sampi_masked(cur->data[above].logit)) above++;
    if (above < 2 || cur->size - (above - 1) < s->u.xtc.min_keep) return SAMP_OK;
    size_t kept = cur->size - (above - 1);
    memmove(cur->data, cur->data + (above - 1), kept * sizeof *cur->data);
    cur->size = kept;
    return SAMP_OK;
}

/* ---- temperature ----
   Both scale in one place, which writes logits only; temp_ext leaves an order and p as well. */

/* The first maximum in the order of the array, whatever its id. For greedy and for temperature 0; sampi_argmax
   would take the smaller id of equal ones. */
static size_t sampi_llama_argmax(const samp_token_data_array *cur)
{
    size_t best = 0;
    for (size_t i = 1; i < cur->size; i++)
        if (cur->data[i].logit > cur->data[best].logit) best = i;
    return best;
}

/* A division, not a product, and no look at ties: `sorted` stays what it was. What overflows becomes +-FLT_MAX, as
   in the canonical samplers. */
static void sampi_llama_scale(samp_token_data_array *cur, float t)
{
    if (!(t > 0.0f)) {
        sampi_mask_but(cur, sampi_llama_argmax(cur));
        return;
    }
    for (size_t i = 0; i < cur->size; i++)
        if (!sampi_masked(cur->data[i].logit)) cur->data[i].logit = sampi_finite(cur->data[i].logit / t);
}

/* Without a range there is no entropy to find, hence no p and no order. */
static int sampi_llama_temp(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_scale(cur, s->u.temp.t);
    return SAMP_OK;
}

/* The temperature that belongs to an entropy. The largest possible one is that of all n candidates, masked ones too. */
static float sampi_llama_temp_of(const sampi_sampler *s, float entropy, size_t n)
{
    float t = s->u.temp.t, delta = s->u.temp.delta, lo = t > delta ? t - delta : 0.0f, hi = t + delta;
    float power = powf(entropy / -logf(1.0f / (float)n), s->u.temp.exponent);
    return lo + sampi_roundf((hi - lo) * power);
}

/* Dynamic temperature sorts, and leaves p of the new logits. */
static SAMPI_COLD int sampi_llama_temp_ext(sampi_sampler *s, samp_token_data_array *cur)
{
    if (!(s->u.temp.delta > 0.0f)) {
        sampi_llama_scale(cur, s->u.temp.t);
        return SAMP_OK;
    }
    if (cur->size < 2) return SAMP_OK;
    sampi_llama_softmax(cur, true);
    sampi_llama_scale(cur, sampi_llama_temp_of(s, sampi_llama_entropy(cur), cur->size));
    double max = (double)cur->data[0].logit, sum = 0.0;
    for (size_t i = 0; i < cur->size; i++) {
        double e = exp((double)cur->data[i].logit - max);
        cur->data[i].p = (float)e;
        sum += e;
    }
    sampi_llama_divide(cur, sum);
    return SAMP_OK;
}

/* ---- selection ----
   They write cur->selected, which sampi_check_selected looks at afterwards, take their random numbers from part 0 of
   their sampler, and change s->now as the canonical ones do. */

/* The softmax sampler; sampi_llama_softmax is what others build on. */
static int sampi_llama_softmax_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    sampi_llama_softmax(cur, true);
    return SAMP_OK;
}

/* Not sampi_greedy_apply: of equal logits llama.cpp takes the one that comes first. */
static int sampi_llama_greedy(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    cur->selected = (int64_t)sampi_llama_argmax(cur);
    return SAMP_OK;
}

/* The first in array order at which the sum of p reaches u of the total. The sums are double, of floats; p is divided
   in the end. */
static void sampi_llama_choose(samp_token_data_array *cur, double u)
{
    samp_token_data *d = cur->data;
    float max = d[sampi_argmax(cur)].logit;
    double sum = 0.0, run = 0.0;
    for (size_t i = 0; i < cur->size; i++) {
        d[i].p = expf(d[i].logit - max);
        sum += (double)d[i].p;
    }
    size_t chosen = 0;
    for (; chosen + 1 < cur->size; chosen++) {
        run += (double)d[chosen].p;
        if (run >= u * sum) break;
    }
    sampi_llama_divide(cur, sum);
    cur->selected = (int64_t)chosen;
}

static int sampi_llama_dist(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_choose(cur, sampi_mt_double(sampi_mt_of(s)));
    return SAMP_OK;
}

/* std::discrete_distribution over the probabilities, for mirostat and adaptive_p: the first i whose running sum of
   p / sum reaches u. A single candidate takes no random number. */
static size_t sampi_llama_discrete(sampi_sampler *s, const samp_token_data_array *cur, const sampi_llama_sums *sums)
{
    double sum = 0.0, run = 0.0;
    if (cur->size < 2) return 0;
    for (size_t i = 0; i < cur->size; i++) sum += (double)sampi_llama_p(sums, cur->data[i].logit);
    double u = sampi_mt_double(sampi_mt_of(s));
    for (size_t i = 0; i + 1 < cur->size; i++) {
        run += (double)sampi_llama_p(sums, cur->data[i].logit) / sum;
        if (run >= u) return i;
    }
    return cur->size - 1;
}

/* mu moves against the error of the surprise. */
static void sampi_llama_follow(sampi_sampler *s, float p)
{
    s->now.mu -= sampi_roundf(s->u.mirostat.eta * (-log2f(p) - s->u.mirostat.tau));
}

/* The end of both mirostats, after their cuts: draw, and move mu. p is made anew, of what the cut has left, so the
   surprise is that among these. */
static int sampi_llama_mirostat_select(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_sums sums = sampi_llama_softmax(cur, true);
    cur->selected = (int64_t)sampi_llama_discrete(s, cur, &sums);
    sampi_llama_follow(s, cur->data[cur->selected].p);
    return SAMP_OK;
}

/* How many to keep. All in float, by libm: N^-e and the powers are what the token depends on, so nothing may be
   rearranged here. */
static size_t sampi_llama_zipf(const sampi_sampler *s, const samp_token_data_array *cur, const sampi_llama_sums *sums)
{
    float tb = 0.0f, tt = 0.0f, p = sampi_llama_p(sums, cur->data[0].logit);
    for (size_t i = 0; i + 1 < cur->size && i + 1 < (size_t)s->u.mirostat.m; i++) {
        float next = sampi_llama_p(sums, cur->data[i + 1].logit);
        float t = logf((float)(i + 2) / (float)(i + 1)), b = logf(p / next);
        tb += sampi_roundf(t * b);
        tt += sampi_roundf(t * t);
        p = next;
    }
    float zipf = tb / tt, e = zipf - 1.0f;
    float k = powf(sampi_roundf(e * powf(2.0f, s->now.mu)) / (1.0f - powf((float)s->u.mirostat.n_vocab, -e)),
                   1.0f / zipf);
    return k >= 1.0f && k < 2147483648.0f ? (size_t)k : 1; /* NaN and overflow count as 1 */
}

/* Is the surprise of a logit within mu? */
static bool sampi_llama_is_within(const sampi_sampler *s, const sampi_llama_sums *sums, float l)
{
    return !(-log2f(sampi_llama_p(sums, l)) > s->now.mu);
}

/* How many are, which is the beginning of a sorted array; one token stays in any case. */
static size_t sampi_llama_within(const sampi_sampler *s, const samp_token_data_array *cur,
                                 const sampi_llama_sums *sums)
{
    size_t n = 0;
    while (n < cur->size && sampi_llama_is_within(s, sums, cur->data[n].logit)) n++;
    return n ? n : 1;
}

static int sampi_llama_mirostat(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_sums sums = sampi_llama_softmax(cur, true);
    size_t keep = (s->kind == SAMPI_MIROSTAT ? sampi_llama_zipf : sampi_llama_within)(s, cur, &sums);
    cur->size = keep < cur->size ? keep : cur->size;
    return sampi_llama_mirostat_select(s, cur);
}

/* llama.cpp trusts `sorted` in the second softmax too, although the map is not monotone: the first token stands for
   the maximum, which shows in the last bits of p. */
static SAMPI_COLD int sampi_llama_adaptive_p(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_sums sums = sampi_llama_softmax(cur, false);
    if (s->u.adaptive.target < 0.0f) {
        cur->selected = (int64_t)sampi_llama_discrete(s, cur, &sums);
        return SAMP_OK;
    }
    sampi_adapt(s, cur);
    sampi_llama_sums adapted = sampi_llama_sum(cur);
    cur->selected = (int64_t)sampi_llama_discrete(s, cur, &adapted);
    const samp_token_data *chosen = &cur->data[cur->selected];
    s->now.pending = chosen->id;
    s->now.pending_p = sampi_llama_p(&sums, chosen->p); /* p is the old logit still */
    sampi_llama_softmax(cur, false);
    cur->sorted = false;
    return SAMP_OK;
}

/* ---- infill ----
   llama.cpp's sampler for text in a hole, by its arithmetic in both executors: sums of floats, in order. */

/* A token's text; none of a token that the vocabulary has not. */
static SAMPI_COLD const char *sampi_piece_of(const samp_vocab *vocab, samp_token token, size_t *n)
{
    *n = 0;
    return token >= 0 && token < vocab->n_vocab ? vocab->token_bytes(vocab, token, n) : NULL;
}

static SAMPI_COLD bool sampi_is_eog(const samp_vocab *vocab, samp_token token)
{
    for (size_t i = 0; i < vocab->n_eog; i++)
        if (vocab->eog[i] == token) return true;
    return false;
}

/* Merge each candidate with all whose text it begins. What is merged into another has no p and no logit. */
static SAMPI_COLD void sampi_infill_merge(const samp_vocab *vocab, samp_token_data_array *cur)
{
    samp_token_data *d = cur->data;
    for (size_t i = 0; i < cur->size; i++) {
        size_t n, m;
        const char *text = sampi_piece_of(vocab, d[i].id, &n);
        for (size_t k = 0; n && k < cur->size && !sampi_masked(d[i].logit); k++) {
            if (i == k || sampi_masked(d[k].logit)) continue;
            const char *other = sampi_piece_of(vocab, d[k].id, &m);
            if (m < n || memcmp(text, other, n) != 0) continue;
            size_t to = d[k].p > d[i].p ? k : i, from = to ^ i ^ k;
            d[to].p += d[from].p;
            d[from].logit = -INFINITY;
            d[from].p = 0.0f;
        }
    }
}

/* Keep the ends, and of the others those with a p of at least `least`; return how many others. p is not normalised if
   there are none. llama: what has been merged into another stays, if it is an end. */
static SAMPI_COLD size_t sampi_infill_keep(const samp_vocab *vocab, samp_token_data_array *cur, float least,
                                           bool llama)
{
    samp_token_data *d = cur->data;
    size_t kept = 0, others = 0;
    float sum = 0.0f;
    for (size_t i = 0; i < cur->size; i++) {
        bool end = sampi_is_eog(vocab, d[i].id);
        if (end ? !llama && sampi_masked(d[i].logit) : d[i].p < least) continue;
        others += !end;
        sum += d[i].p;
        d[kept++] = d[i];
    }
    for (size_t i = 0; i < kept && (others || least > 1.0f); i++) d[i].p /= sum;
    cur->size = kept;
    return others;
}

static SAMPI_COLD int sampi_infill_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_vocab *vocab = s->u.infill.vocab;
    const sampi_traits *softmax = sampi_traits_of(SAMPI_SOFTMAX);
    const bool llama = s->rng == SAMP_RNG_MT19937; /* which counts masked tokens too */
    float sum[2] = { 0.0f, 0.0f }, n = 0.0f;
    (llama ? softmax->apply_llama : softmax->apply)(s, cur);
    for (size_t i = 0; i < cur->size; i++) {
        sum[sampi_is_eog(vocab, cur->data[i].id)] += cur->data[i].p;
        n += (float)(llama || !sampi_masked(cur->data[i].logit));
    }
    bool end = 3.0f * sum[1] * n > sum[0];
    if (!end) sampi_infill_merge(vocab, cur);
    size_t others = sampi_infill_keep(vocab, cur, end ? 2.0f : 0.2f, llama);
    if (others) {
        sampi_infill_keep(vocab, cur, (float)(1.0 / (double)(others + 1)), llama);
    } else if (!end) {
        cur->size = 1;
        cur->data[0].id = vocab->eot >= 0 ? vocab->eot : vocab->eos;
        cur->data[0].logit = 1.0f;
    }
    return SAMP_OK;
}

/* =============================================================================================== >>describe
   What a sampler is, as text: a sampler comes in, and characters go out to the caller's buffer; names and fields come
   from the tables in >>sampler, so a new sampler tells itself. All below reads samplers and writes nothing but the
   text.

   The one thing to know: no printf. The text must not depend on a locale, and the header does without stdio. */

/* Text that is written as far as there is room, and counted to its end: buf [size], of which the last byte is kept
   for the final 0, which samp_describe writes. size 0: nothing is written. The GPU's names and plans are made with it
   too. */
typedef struct sampi_text {
    char *buf;
    size_t size, len;
} sampi_text;

/* All text goes through here: what has no room is counted only, so that samp_describe can tell the length. */
static SAMPI_COLD void sampi_put_char(sampi_text *t, char c)
{
    if (t->len + 1 < t->size) t->buf[t->len] = c;
    t->len++;
}

/* The sampi_put functions append one thing each; samp_describe's helpers below are their callers. */
static SAMPI_COLD void sampi_put(sampi_text *t, const char *text)
{
    while (*text) sampi_put_char(t, *text++);
}

/* Digits come out from the last one, so they are turned around; 2^64 has 20. */
static SAMPI_COLD void sampi_put_u64(sampi_text *t, uint64_t x)
{
    char digit[20];
    int n = 0;
    do digit[n++] = (char)('0' + x % 10);
    while (x /= 10);
    while (n > 0) sampi_put_char(t, digit[--n]);
}

/* Negated as unsigned, which is right for INT64_MIN as well. */
static SAMPI_COLD void sampi_put_i64(sampi_text *t, int64_t x)
{
    if (x < 0) sampi_put_char(t, '-');
    sampi_put_u64(t, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
}

/* So many significant digits (6 .. 9), with six as printf's %g does. The value is m * 2^e, so all its decimal
   digits are those of m doubled e times, or of m times five, as often as it would be halved, with the point in
   another place: no rounding but the last one, to even where it is a tie. */
static SAMPI_COLD void sampi_put_digits(sampi_text *t, float value, uint32_t places)
{
    uint32_t bits, digits = 0, shown = places, end = 1;
    memcpy(&bits, &value, 4);
    if (value < 0.0f) sampi_put_char(t, '-');
    if (!(fabsf(value) > 0.0f) || fabsf(value) > FLT_MAX) {
        sampi_put(t, fabsf(value) > FLT_MAX ? "inf" : value == 0.0f ? "0" : "nan");
        return;
    }
    uint32_t m = bits & 0x7fffff, biased = bits >> 23 & 255;
    int e = (int)(biased ? biased : 1) - 150, n = 0, exponent;
    uint8_t decimal[112]; /* the last digit first; 2^24 5^149 has so many */
    for (m |= biased ? 0x800000 : 0; m; m /= 10) decimal[n++] = (uint8_t)(m % 10);
    for (int k = e < 0 ? -e : e; k > 0; k--) {
        unsigned carry = 0;
        for (int i = 0; i < n; i++, carry /= 10)
            decimal[i] = (uint8_t)((carry += decimal[i] * (e < 0 ? 5u : 2u)) % 10);
        if (carry) decimal[n++] = (uint8_t)carry;
    }
    int cut = n - (int)places; /* digits that are left out */
    bool above = false;        /* more than nothing behind the digit that decides */
    for (int i = 0; i + 1 < cut; i++) above |= decimal[i] != 0;
    for (int i = n - 1; i >= cut; i--) digits = 10 * digits + (i >= 0 ? decimal[i] : 0u);
    if (cut > 0 && decimal[cut - 1] + (above || digits % 2) > 5) digits++;
    exponent = cut + (e < 0 ? e : 0); /* value = digits * 10^exponent */
    for (uint32_t i = 0; i < places; i++) end *= 10;
    if (digits == end) digits /= 10, exponent++;
    int point = exponent + (int)places; /* places before the decimal point */
    bool scientific = point > 6 || point < -3;
    while (shown > 1 && digits % 10 == 0) digits /= 10, shown--;
    char place[9];
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
static SAMPI_COLD void sampi_put_float(sampi_text *t, float value) { sampi_put_digits(t, value, 6); }

/* "(p=0.9, min_keep=2, seed=1)": the fields that are worth telling, in the table's order, and the seed of what
   draws. Nothing, not even brackets, where there is none. Not called for a sampler with an error, whose values
   mean nothing. */
static SAMPI_COLD void sampi_describe_fields(const sampi_sampler *s, sampi_text *t)
{
    const char *between = "(";
    bool told = false;
    for (size_t i = 0; i < SAMPI_N_FIELDS; i++) {
        const sampi_field *f = &SAMPI_FIELDS[i];
        if (f->kind != s->kind || !f->told) continue;
        double x = sampi_field_value(s, f);
        if (!(f->how & SAMPI_IF_LAST))
            told = f->type == SAMPI_SIZE ? x > 1.0 : !(f->how & SAMPI_IF_ABOVE_0) || x > 0.0;
        if (!told) continue;
        sampi_put(t, between);
        sampi_put(t, f->told);
        sampi_put_char(t, '=');
        switch (f->type) {
            case SAMPI_FLOAT: sampi_put_float(t, (float)x); break;
            case SAMPI_INT32: sampi_put_i64(t, (int64_t)x); break;
            case SAMPI_SIZE: sampi_put_u64(t, *(const size_t *)(const void *)((const char *)s + f->at)); break;
            case SAMPI_WORD: break;
        }
        between = ", ";
    }
    if (sampi_traits_of(s->kind)->draws) {
        sampi_put(t, between);
        sampi_put(t, "seed=");
        sampi_put_u64(t, s->seed);
        between = ", ";
    }
    if (between[0] == ',') sampi_put_char(t, ')');
}

/* One sampler, or the members of a chain with " -> " between; chains in chains are in brackets. '?' off, '!'
   error: then the name alone, and samp_status tells the rest. */
static SAMPI_COLD void sampi_describe(const sampi_sampler *s, sampi_text *t)
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
    if (!s->status) sampi_describe_fields(s, t);
}

/* The final 0, and the length: what a function that makes a text ends with. */
static SAMPI_COLD int sampi_end_text(const sampi_text *t)
{
    if (t->size) t->buf[t->len < t->size ? t->len : t->size - 1] = 0;
    return (int)t->len;
}

/* The text is made once, with or without room for it, so the length is that of the whole text in any case. An
   empty chain is "logits" alone. */
SAMP_API SAMPI_COLD int samp_describe(const samp_sampler *s, char *buf, size_t size)
{
    sampi_text t = { buf, size, 0 };
    if (!s || (!buf && size)) return SAMP_E_NULL;
    sampi_put(&t, "logits");
    if (!sampi_is_chain((const sampi_sampler *)s) || ((const sampi_sampler *)s)->u.chain.n) sampi_put(&t, " -> ");
    sampi_describe((const sampi_sampler *)s, &t);
    return sampi_end_text(&t);
}

SAMP_API int samp_version(void) { return SAMP_VERSION; }

/* From the same list as the enum, so no status can lack its text. A positive number is a count, as samp_verify's,
   and no error: "ok". */
SAMP_API SAMPI_COLD const char *samp_strerror(int status)
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
   Samplers from their numbers, and chains from samp_params. A constructor writes its arguments into a blank record of
   its kind; sampi_init checks the record by the table of fields and moves it to the heap. From parameters a record is
   filled by the same table, so samp_check_params asks the same questions without the heap.

   The one thing to know: a constructor reports no error. It is noted in the record, the sampler made of it carries
   it, and the chain that the sampler joins carries it too; what carries an error is never applied. */

/* ---- what the ranges of the fields don't say: arrays, windows, breakers ----
   The prepare hooks. sampi_prepare calls them for a record whose fields are within their ranges, so sizes are not
   negative here; they write the record's part sizes and status (dry its window too), and read what the caller's
   pointers lead to. */

/* Each entry, in order, as the first bad one decides. +infinity is SAMP_E_NAN like NaN: no number to add. Masking
   by -infinity is what the sampler is for. */
static SAMPI_COLD void sampi_logit_bias_prepare(sampi_sampler *t, bool make)
{
    const samp_logit_bias *bias = t->u.bias.from;
    int32_t n = t->u.bias.n, n_vocab = t->u.bias.n_vocab;
    (void)make;
    sampi_require(t, n == 0 || bias, SAMP_E_NULL, "logit_bias");
    sampi_require(t, n == 0 || n_vocab > 0, SAMP_E_RANGE, "n_vocab");
    for (int32_t i = 0; i < n && !t->status; i++) {
        sampi_require(t, bias[i].bias == bias[i].bias, SAMP_E_NAN, "logit_bias");
        sampi_require(t, bias[i].token >= 0 && bias[i].token < n_vocab, SAMP_E_RANGE, "logit_bias");
        sampi_require(t, bias[i].bias <= FLT_MAX, SAMP_E_NAN, "logit_bias");
    }
    t->part_size[0] = (size_t)n * sizeof *bias;
}

/* The parts have room for a full window and as many different tokens: accept may not allocate, as it may not fail. */
static SAMPI_COLD void sampi_penalties_prepare(sampi_sampler *t, bool make)
{
    size_t n = (size_t)t->u.penalties.last_n;
    (void)make;
    t->u.penalties.ring.cap = (uint32_t)n;
    t->part_size[0] = n * sizeof(samp_token);
    t->part_size[1] = n * sizeof(sampi_count);
}

/* The window is the smaller of last_n and n_ctx_train; what is off needs neither breakers nor a vocabulary. Each
   breaker has a tail for each of its proper suffixes (sampi_dry_build fills them), and heads are counted by a walk
   over the vocabulary, only if a sampler is to be made. */
static SAMPI_COLD void sampi_dry_prepare(sampi_sampler *t, bool make)
{
    const char *const *breaker = t->u.dry.from;
    if (t->u.dry.last_n < 0 || t->u.dry.last_n > t->u.dry.n_ctx_train) t->u.dry.last_n = t->u.dry.n_ctx_train;
    if (sampi_is_off(t)) t->u.dry.n_from = 0;
    size_t n = (size_t)t->u.dry.last_n, n_breakers = t->u.dry.n_from;
    sampi_require(t, n_breakers == 0 || breaker, SAMP_E_NULL, "dry_breakers");
    for (size_t b = 0; b < n_breakers && !t->status; b++) {
        sampi_require(t, breaker[b] != NULL, SAMP_E_NULL, "dry_breakers");
        sampi_require(t, t->status || breaker[b][0], SAMP_E_RANGE, "dry_breakers");
    }
    sampi_require(t, n_breakers == 0 || (t->u.dry.vocab && t->u.dry.vocab->token_bytes), SAMP_E_NULL, "vocab");
    if (t->status) return;
    t->u.dry.ring.cap = (uint32_t)n;
    t->u.dry.n_tails = 0;
    for (size_t b = 0; b < n_breakers; b++) t->u.dry.n_tails += sampi_breaker_length(breaker[b]) - 1;
    if (t->u.dry.vocab) t->u.dry.spelt = *t->u.dry.vocab;
    const sampi_sampler *like = t->u.dry.like;
    if (like && !sampi_dry_has_breakers(like, t)) like = t->u.dry.like = NULL;
    if (make && n_breakers)
        t->u.dry.n_heads = like ? like->u.dry.n_heads : sampi_dry_heads(t->u.dry.vocab, breaker, n_breakers, NULL);
    t->part_size[0] = n * sizeof(samp_token);
    t->part_size[1] = n * sizeof(sampi_count);
    t->part_size[2] = n * sizeof(int32_t);
    t->part_size[3] = t->u.dry.n_tails * sizeof(sampi_tail) + t->u.dry.n_heads * sizeof(sampi_head) +
                      n_breakers * sizeof(sampi_breaker);
}

/* ---- constructors ----
   All alike: a blank record, the arguments into it, sampi_init. They read nothing but their arguments and never fail
   on bad ones (the sampler carries the error); NULL is for want of memory. The caller owns what they return, until a
   chain takes it. Chains from parameters don't come here: sampi_from_params fills the same records. */

/* The list is borrowed until sampi_init is through: prepare checks it, build copies it. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_logit_bias(int32_t n_vocab, int32_t n, const samp_logit_bias *bias)
{
    sampi_sampler t = sampi_blank(SAMPI_LOGIT_BIAS);
    t.u.bias.n_vocab = n_vocab;
    t.u.bias.n = n;
    t.u.bias.from = bias;
    return sampi_init(&t);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_penalties(int32_t last_n, float repeat, float freq, float present)
{
    sampi_sampler t = sampi_blank(SAMPI_PENALTIES);
    t.u.penalties.last_n = last_n;
    t.u.penalties.repeat = repeat;
    t.u.penalties.freq = freq;
    t.u.penalties.present = present;
    return sampi_init(&t);
}

/* Breakers are read while it is made, and not kept: what is kept is their tokens. last_n and n_ctx_train become
   one number, the window (sampi_dry_prepare). */
SAMP_API SAMPI_COLD samp_sampler *samp_init_dry(const samp_vocab *vocab, int32_t n_ctx_train, float multiplier,
                                                float base, int32_t allowed_length, int32_t last_n,
                                                const char *const *breakers, size_t n_breakers)
{
    sampi_sampler t = sampi_blank(SAMPI_DRY);
    t.u.dry.vocab = vocab;
    t.u.dry.n_ctx_train = n_ctx_train;
    t.u.dry.multiplier = multiplier;
    t.u.dry.base = base;
    t.u.dry.allowed = allowed_length;
    t.u.dry.last_n = last_n;
    t.u.dry.from = breakers;
    t.u.dry.n_from = n_breakers;
    return sampi_init(&t);
}

/* The prepare hook: pieces must be there, and a token to end with. */
static SAMPI_COLD void sampi_infill_prepare(sampi_sampler *t, bool make)
{
    const samp_vocab *v = t->u.infill.vocab;
    (void)make;
    bool there = v && v->token_bytes && (v->eog || !v->n_eog);
    sampi_require(t, there && (v->eot & v->eos) >= 0, there ? SAMP_E_RANGE : SAMP_E_NULL, "vocab");
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_infill(const samp_vocab *vocab)
{
    sampi_sampler t = sampi_blank(SAMPI_INFILL);
    t.u.infill.vocab = vocab;
    return sampi_init(&t);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_top_n_sigma(float n)
{
    sampi_sampler t = sampi_blank(SAMPI_TOP_N_SIGMA);
    t.u.sigma.n = n;
    return sampi_init(&t);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_top_k(int32_t k)
{
    sampi_sampler t = sampi_blank(SAMPI_TOP_K);
    t.u.top_k.k = k;
    return sampi_init(&t);
}

/* All that cut by one number: what p means is the kind's business, and the record is the same. */
static SAMPI_COLD samp_sampler *sampi_init_cut(sampi_kind kind, float p, size_t min_keep)
{
    sampi_sampler t = sampi_blank(kind);
    t.u.cut.p = p;
    t.u.cut.min_keep = min_keep;
    return sampi_init(&t);
}

SAMP_API samp_sampler *samp_init_tail_free(float z, size_t min_keep)
{
    return sampi_init_cut(SAMPI_TAIL_FREE, z, min_keep);
}
SAMP_API samp_sampler *samp_init_typical(float p, size_t min_keep)
{
    return sampi_init_cut(SAMPI_TYPICAL, p, min_keep);
}
SAMP_API samp_sampler *samp_init_top_p(float p, size_t min_keep) { return sampi_init_cut(SAMPI_TOP_P, p, min_keep); }
SAMP_API samp_sampler *samp_init_min_p(float p, size_t min_keep) { return sampi_init_cut(SAMPI_MIN_P, p, min_keep); }
SAMP_API samp_sampler *samp_init_top_a(float a, size_t min_keep) { return sampi_init_cut(SAMPI_TOP_A, a, min_keep); }

/* The seed is no field of the kind: it stands in the record itself, as for all that draw. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_xtc(float p, float threshold, size_t min_keep, uint64_t seed)
{
    sampi_sampler t = sampi_blank(SAMPI_XTC);
    t.u.xtc.p = p;
    t.u.xtc.t = threshold;
    t.u.xtc.min_keep = min_keep;
    t.seed = seed;
    return sampi_init(&t);
}

/* A kind of its own beside temp_ext, so that samp_describe tells what the user has made; its range stays 0, its
   exponent 1. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_temp(float temp)
{
    sampi_sampler t = sampi_blank(SAMPI_TEMP);
    t.u.temp.t = temp;
    return sampi_init(&t);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_temp_ext(float temp, float delta, float exponent)
{
    sampi_sampler t = sampi_blank(SAMPI_TEMP_EXT);
    t.u.temp.t = temp;
    t.u.temp.delta = delta;
    t.u.temp.exponent = exponent;
    return sampi_init(&t);
}

/* It has no numbers, nor has greedy: their records are blank. */
SAMP_API samp_sampler *samp_init_softmax(void)
{
    sampi_sampler t = sampi_blank(SAMPI_SOFTMAX);
    return sampi_init(&t);
}

SAMP_API samp_sampler *samp_init_greedy(void)
{
    sampi_sampler t = sampi_blank(SAMPI_GREEDY);
    return sampi_init(&t);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_dist(uint64_t seed)
{
    sampi_sampler t = sampi_blank(SAMPI_DIST);
    t.seed = seed;
    return sampi_init(&t);
}

/* The only way to another m than 100, which samp_params has not. n_vocab is a number of the formula, not a bound
   on ids. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_mirostat(int32_t n_vocab, uint64_t seed, float tau, float eta, int32_t m)
{
    sampi_sampler t = sampi_blank(SAMPI_MIROSTAT);
    t.u.mirostat.n_vocab = n_vocab;
    t.u.mirostat.m = m;
    t.u.mirostat.tau = tau;
    t.u.mirostat.eta = eta;
    t.seed = seed;
    return sampi_init(&t);
}

/* Of the same record as version 1; n_vocab and m stay 0, and only the fingerprint has them. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_mirostat_v2(uint64_t seed, float tau, float eta)
{
    sampi_sampler t = sampi_blank(SAMPI_MIROSTAT_V2);
    t.u.mirostat.tau = tau;
    t.u.mirostat.eta = eta;
    t.seed = seed;
    return sampi_init(&t);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_adaptive_p(float target, float decay, uint64_t seed)
{
    sampi_sampler t = sampi_blank(SAMPI_ADAPTIVE_P);
    t.u.adaptive.target = target;
    t.u.adaptive.decay = decay;
    t.seed = seed;
    return sampi_init(&t);
}

/* The only constructor that sets iface; sampi_new gives what has none the built-in one. The interface's contents
   are not copied: *iface is the caller's, and must stay. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_custom(const samp_sampler_i *iface, void *ctx)
{
    sampi_sampler t = sampi_blank(SAMPI_CUSTOM);
    sampi_require(&t, iface && iface->apply, SAMP_E_NULL, iface ? "apply" : "iface");
    t.base.iface = iface;
    t.base.ctx = ctx;
    return sampi_init(&t);
}

/* ---- chains from parameters ----
   samp_params is a flat struct, the samplers' records are not: the table of fields tells where each number goes, and
   sampi_from_params knows the few things that are not numbers. Checking and building both go through it. */

/* The defaults of the table. All that is no field of a sampler is 0 or NULL, which is its default: the seed, the
   order, mirostat, Philox. Fields of several kinds (min_keep, temp) are written several times, with the same
   value. */
SAMP_API SAMPI_COLD samp_params samp_default_params(void)
{
    samp_params p;
    memset(&p, 0, sizeof p);
    for (size_t i = 0; i < SAMPI_N_FIELDS; i++)
        if (SAMPI_FIELDS[i].from != SAMPI_NOWHERE)
            sampi_field_reset(&SAMPI_FIELDS[i], (char *)&p + SAMPI_FIELDS[i].from);
    return p;
}

/* The record of a kind, as the parameters have it: not yet checked, so that nobody may use it but sampi_prepare
   and sampi_is_off. Lists of the parameters are borrowed until sampi_new has copied them. For samp_check_params,
   for each step of a chain, and for the default order, which asks what is on. */
static SAMPI_COLD sampi_sampler sampi_from_params(const samp_params *p, sampi_kind kind)
{
    static const char *const usual_breakers[] = { "\n", ":", "\"", "*" };
    sampi_sampler t = sampi_blank(kind);
    if (sampi_traits_of(kind)->draws) t.seed = p->seed;
    for (size_t i = 0; i < SAMPI_N_FIELDS; i++) {
        const sampi_field *f = &SAMPI_FIELDS[i];
        if (f->kind == kind && f->from != SAMPI_NOWHERE)
            memcpy((char *)&t + f->at, (const char *)p + f->from, sampi_field_bytes(f));
    }
    switch (kind) { /* what is not a number */
        case SAMPI_LOGIT_BIAS: t.u.bias.from = p->logit_bias; break;
        case SAMPI_PENALTIES:
            if (p->penalty_last_n == -1) t.u.penalties.last_n = p->n_ctx_train;
            break;
        case SAMPI_DRY:
            t.u.dry.vocab = p->vocab;
            t.u.dry.from = p->dry_breakers ? p->dry_breakers : usual_breakers;
            if (!p->dry_breakers) t.u.dry.n_from = 4;
            while (p->dry_breakers && p->dry_breakers[t.u.dry.n_from]) t.u.dry.n_from++;
            break;
        case SAMPI_INFILL: t.u.infill.vocab = p->vocab; break;
        default: break;
    }
    return t;
}

/* What selects the token, at the end of the chain that sampi_add_steps builds. Mirostat goes before adaptive_p,
   and that before temp: so samp_chain_from_params promises it. For good parameters only. */
static SAMPI_COLD sampi_kind sampi_selector_of(const samp_params *p)
{
    if (p->mirostat == 1) return SAMPI_MIROSTAT;
    if (p->mirostat == 2) return SAMPI_MIROSTAT_V2;
    if (p->adaptive_target >= 0.0f) return SAMPI_ADAPTIVE_P;
    return p->temp == 0.0f ? SAMPI_GREEDY : SAMPI_DIST;
}

/* ---- orders: samplers by name or letter ----
   samp_params.order as a sequence of kinds, without a list of them: a walk (sampi_steps) yields one at a time, first
   to samp_check_params, then to sampi_add_steps. Names and letters stand in the rows of the table, so a new sampler
   can be ordered as soon as it has a row. All of this only reads the parameters. */

/* The kind that goes by this name in an order, or SAMPI_N_KINDS: none. A row has its names with ';' between. */
static SAMPI_COLD sampi_kind sampi_step_named(const char *text, size_t n)
{
    for (int kind = 0; kind < SAMPI_N_KINDS; kind++) {
        const char *name = sampi_traits_of((sampi_kind)kind)->step;
        while (*name) {
            size_t n_name = strcspn(name, ";");
            if (n == n_name && !memcmp(text, name, n)) return (sampi_kind)kind;
            name += n_name + (name[n_name] == ';');
        }
    }
    return SAMPI_N_KINDS;
}

/* The kind that goes by this letter in an order, or SAMPI_N_KINDS. Kinds without a letter have 0, which is none. */
static SAMPI_COLD sampi_kind sampi_step_lettered(char letter)
{
    for (int kind = 0; kind < SAMPI_N_KINDS; kind++)
        if (letter && sampi_traits_of((sampi_kind)kind)->letter == letter) return (sampi_kind)kind;
    return SAMPI_N_KINDS;
}

/* An order as it is walked through: names with ';' between, or letters (a single name is a name), or with text NULL the
   rows of the table. */
typedef struct sampi_steps {
    const samp_params *p;
    const char *text;
    bool letters;
    int row; /* without text: the next one */
} sampi_steps;

/* Begin a walk. Whether the text means letters is decided once, here: "dry" is a name, and not d, r and y; "dist" is
   one too, which no order may have. */
static SAMPI_COLD sampi_steps sampi_steps_of(const samp_params *p)
{
    sampi_steps steps = { p, p->order, false, 0 };
    if (p->order)
        steps.letters = !strchr(p->order, ';') && strcmp(p->order, "dist") &&
                        sampi_step_named(p->order, strlen(p->order)) == SAMPI_N_KINDS;
    return steps;
}

/* The default order is that of the table; a row that says so (SAMPI_IF_ON) has a place in it only if the
   parameters switch it on, and a row without a letter, or for who names it, has none. Called by sampi_next_step only.
   */
static SAMPI_COLD bool sampi_next_default_step(sampi_steps *steps, sampi_kind *kind)
{
    while (steps->row < SAMPI_N_KINDS) {
        *kind = (sampi_kind)steps->row++;
        const sampi_traits *traits = sampi_traits_of(*kind);
        if (!traits->letter || (traits->flags & SAMPI_IF_NAMED)) continue;
        sampi_sampler t = sampi_from_params(steps->p, *kind);
        if (!(traits->flags & SAMPI_IF_ON) || !sampi_is_off(&t)) return true;
    }
    return false;
}

/* The next step of an order; false: there is none. What it names may be SAMPI_N_KINDS: nothing that is known. Then
   the walk must end, for an empty name at the end of the text would come again for ever; samp_check_params stops
   there, and sampi_add_steps gets orders that have been checked. */
static SAMPI_COLD bool sampi_next_step(sampi_steps *steps, sampi_kind *kind)
{
    const char *text = steps->text;
    if (!text) return sampi_next_default_step(steps, kind);
    if (!*text) return false;
    if (steps->letters) {
        *kind = sampi_step_lettered(*text);
        steps->text = text + 1;
        return true;
    }
    size_t n = strcspn(text, ";");
    *kind = sampi_step_named(text, n);
    steps->text = text + n;
    if (text[n] == ';' && text[n + 1])
        steps->text++; /* a ';' at the end is followed by an empty name, which is bad */
    return true;
}

/* The members of samp_params that are no sampler's alone. Their numbers are checked first, for samplers are made with
   them; the words (`how` says which) are checked by hand, and set in >>settings, where `told` says what is good. */
/* clang-format off */
#define SAMPI_WHOLE(param, usual, lo, hi) \
    { SAMPI_CHAIN, SAMPI_INT32, #param, offsetof(samp_params, param), SAMPI_NOWHERE, usual, lo, hi, 0, NULL }
#define SAMPI_TEXT(param, word, told) \
    { SAMPI_CHAIN, SAMPI_WORD, #param, offsetof(samp_params, param), SAMPI_NOWHERE, 0, 0, 0, SAMPI_##word, told }
enum { SAMPI_SEED = 64, SAMPI_RNG, SAMPI_ORDER, SAMPI_BREAKERS, SAMPI_BIASES };
static const sampi_field SAMPI_CHAIN_FIELDS[] = {
    SAMPI_WHOLE(n_ctx_train, 4096, 0, SAMPI_MAX_WINDOW),
    SAMPI_WHOLE(n_vocab, 0, 0, INT32_MAX),
    SAMPI_WHOLE(mirostat, 0, 0, 2),
    SAMPI_TEXT(seed, SEED, "a whole number from 0 to 2^64 - 1"),
    SAMPI_TEXT(rng, RNG, "philox or mt19937"),
    SAMPI_TEXT(order, ORDER, "names with ; between, or letters: "),
    SAMPI_TEXT(dry_breakers, BREAKERS, "a text, or none"),
    SAMPI_TEXT(logit_bias, BIASES, "TOKEN+BIAS or TOKEN-BIAS, with , between"),
};
/* clang-format on */
#define SAMPI_N_CHAIN_FIELDS (sizeof SAMPI_CHAIN_FIELDS / sizeof SAMPI_CHAIN_FIELDS[0])

/* Note in `bad` what is wrong with the parameters of a kind. */
static SAMPI_COLD void sampi_require_kind(sampi_sampler *bad, const samp_params *p, sampi_kind kind)
{
    sampi_sampler t = sampi_from_params(p, kind);
    sampi_prepare(&t, false);
    sampi_require(bad, !t.status, t.status, t.field);
}

/* All parameters, also those of samplers that this order leaves out: a bad number is an error even where it would
   have no effect. Mirostat 1 alone is asked only when it is wanted, for its n_vocab. `bad` is only there to keep
   the first error. The heap is not touched. */
SAMP_API SAMPI_COLD int samp_check_params(const samp_params *p, const char **field)
{
    sampi_sampler bad = sampi_blank(SAMPI_CHAIN);
    sampi_require(&bad, p != NULL, SAMP_E_NULL, "params");
    for (size_t i = 0; p && i < SAMPI_N_CHAIN_FIELDS; i++) {
        const sampi_field *f = &SAMPI_CHAIN_FIELDS[i];
        if (f->type != SAMPI_WORD) sampi_require_number(&bad, f, sampi_number(f, (const char *)p + f->from));
    }
    for (int kind = 0; kind < SAMPI_N_KINDS && !bad.status; kind++) {
        if (kind == SAMPI_MIROSTAT && p->mirostat != 1) continue; /* only then it needs n_vocab */
        if (!(sampi_traits_of((sampi_kind)kind)->flags & SAMPI_IF_NAMED))
            sampi_require_kind(&bad, p, (sampi_kind)kind);
    }
    if (!bad.status) {
        bool infill = false;
        sampi_steps steps = sampi_steps_of(p);
        for (sampi_kind kind; !bad.status && sampi_next_step(&steps, &kind);) {
            sampi_require(&bad, kind != SAMPI_N_KINDS, SAMP_E_RANGE, "order");
            infill = infill || kind == SAMPI_INFILL;
        }
        if (infill) sampi_require_kind(&bad, p, SAMPI_INFILL);
        sampi_require(&bad, p->rng == SAMP_RNG_PHILOX || p->rng == SAMP_RNG_MT19937, SAMP_E_RANGE, "rng");
    }
    if (field) *field = bad.field;
    return bad.status;
}

/* One sampler more for sampi_add_steps. Only memory can be missing; then sampi_init is NULL, and samp_chain_add
   says so. */
static SAMPI_COLD int sampi_add_step(samp_sampler *chain, const samp_params *p, sampi_kind kind,
                                     const sampi_sampler *dry)
{
    sampi_sampler t = sampi_from_params(p, kind);
    if (kind == SAMPI_DRY) t.u.dry.like = dry;
    return samp_chain_add(chain, sampi_init(&t));
}

/* The members of a chain whose parameters are good: logit_bias, which no order can name, then the order, then what
   selects. Mirostat replaces the order by a temperature, as in llama.cpp. `dry`: one whose breakers may be the same, or
   NULL. */
static SAMPI_COLD int sampi_add_steps(samp_sampler *chain, const samp_params *p, const sampi_sampler *dry)
{
    sampi_steps steps = sampi_steps_of(p);
    int status = sampi_add_step(chain, p, SAMPI_LOGIT_BIAS, dry);
    if (!status && p->mirostat) status = sampi_add_step(chain, p, SAMPI_TEMP, dry);
    for (sampi_kind kind; !status && !p->mirostat && sampi_next_step(&steps, &kind);)
        status = sampi_add_step(chain, p, kind, dry);
    return status ? status : sampi_add_step(chain, p, sampi_selector_of(p), dry);
}

/* Bad parameters give an empty chain that carries the error, so that a caller may ask later; want of memory gives
   NULL, and what was built so far is freed. The random source is set first, since samp_chain_add hands it to the
   members. */
static SAMPI_COLD samp_sampler *sampi_build_chain(const samp_params *p, const sampi_sampler *dry, int *status)
{
    samp_sampler *chain = samp_chain_init();
    sampi_sampler *c = (sampi_sampler *)chain;
    int bad = chain ? SAMP_OK : SAMP_E_NOMEM;
    if (chain) c->status = bad = samp_check_params(p, &c->field);
    if (!bad) {
        c->rng = p->rng;
        if (sampi_add_steps(chain, p, dry)) { /* parameters were good, so memory it is */
            samp_free(chain);
            chain = NULL;
            bad = SAMP_E_NOMEM;
        }
    }
    if (status) *status = bad;
    return chain;
}

SAMP_API SAMPI_COLD samp_sampler *samp_chain_from_params(const samp_params *p, int *status)
{
    return sampi_build_chain(p, NULL, status);
}

/* ================================================================================================ >>settings
   samp_params by name: a name and a text come in, a member gets a value, and back. Members are found in the tables of
   fields, so a new field can be set as soon as it has a row. The form of a text is judged here, its value by
   samp_check_params.

   The one thing to know: all that a member of these parameters points to is the settings' own, one block each. */

struct samp_settings {
    samp_params params;
    samp_vocab vocab; /* what params.vocab points to, if it has been set */
};

/* ---- reading numbers ----
   Of its own: strtof and its kin look at the locale, and take blanks and hexadecimals. Each moves *text behind what it
   has read; what may follow is the caller's to know. A wrong form goes before a wrong value, so what is too large is
   read to its end. */

static SAMPI_COLD bool sampi_is_digit(char c) { return c >= '0' && c <= '9'; }

/* '+' or nothing: false; '-': true. */
static bool sampi_read_sign(const char **text)
{
    bool negative = **text == '-';
    *text += negative || **text == '+';
    return negative;
}

/* Digits, one at least, of a number up to `most`. */
static SAMPI_COLD int sampi_read_digits(const char **text, uint64_t most, uint64_t *out)
{
    int status = sampi_is_digit(**text) ? SAMP_OK : SAMP_E_FORMAT;
    for (*out = 0; sampi_is_digit(**text); ++*text) {
        uint64_t digit = (uint64_t)(**text - '0');
        if (digit > most || *out > (most - digit) / 10) status = SAMP_E_RANGE;
        *out = 10 * *out + digit;
    }
    return status;
}

/* A whole text that is a number from -least to most; out: as two's complement, written only if all is well. */
static SAMPI_COLD int sampi_read_integer(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    uint64_t n;
    bool negative = sampi_read_sign(&text);
    int status = sampi_read_digits(&text, negative ? least : most, &n);
    if (*text) return SAMP_E_FORMAT;
    if (!status) *out = negative ? 0 - n : n;
    return status;
}

/* A decimal number, exactly: a fixed point number x of 16-bit words, the lowest first, of which SAMPI_FRACTION are
   behind the point, and `rest`, which tells that there is something below. Half way between two floats there are at
   most 112 significant digits, so what is left out of more than 150, for which there is room, can only break a tie. */
enum { SAMPI_FRACTION = 10, SAMPI_WORDS = 42, SAMPI_DIGITS = 150 };

/* x = 10 x + digit, for an x without a fraction. */
static SAMPI_COLD void sampi_decimal_grow(uint16_t *x, uint32_t digit)
{
    for (int i = SAMPI_FRACTION; i < SAMPI_WORDS; i++, digit >>= 16) {
        digit += 10 * (uint32_t)x[i];
        x[i] = (uint16_t)digit;
    }
}

/* x = x / 10, rounded down, again and again: so is the whole, as whole numbers divide. Returns what was lost. */
static SAMPI_COLD uint32_t sampi_decimal_shrink(uint16_t *x)
{
    uint32_t carry = 0;
    for (int i = SAMPI_WORDS - 1; i >= 0; i--) {
        carry = carry << 16 | x[i];
        x[i] = (uint16_t)(carry / 10);
        carry %= 10;
    }
    return carry;
}

/* To the nearest float, ties to even: the leading words make a double of 38 to 53 bits, whose last bit stands for all
   that is below them. That is more than a float has, so the conversion rounds as if it saw all, subnormals too. */
static SAMPI_COLD float sampi_decimal_round(const uint16_t *x, uint32_t rest)
{
    uint64_t leading = 0;
    double scale = 1.0 / (4294967296.0 * 4294967296.0 * 4294967296.0 * 4294967296.0 * 4294967296.0); /* 2^-160 */
    for (int i = SAMPI_WORDS - 1; i >= 0; i--) {
        if (leading >> 37) {
            rest |= x[i];
            scale *= 65536.0;
        } else {
            leading = leading << 16 | x[i];
        }
    }
    return (float)((double)(leading | (rest != 0)) * scale);
}

/* A decimal, with a point and a power of ten if it has them. What is not 0 must not become 0. */
static SAMPI_COLD int sampi_read_float(const char **text, float *out)
{
    uint16_t x[SAMPI_WORDS];
    uint32_t rest = 0;
    int64_t low = 0, point = 0, n = 0; /* the last digit's power of ten; digits from the first that is not 0 */
    bool negative = sampi_read_sign(text);
    const char *t = *text;
    memset(x, 0, sizeof x);
    for (; sampi_is_digit(*t) || (*t == '.' && !point); t++) {
        uint32_t digit = (uint32_t)(*t - '0');
        if (*t == '.') {
            point = 1;
        } else if (n < SAMPI_DIGITS) {
            sampi_decimal_grow(x, digit);
            n += n || digit;
            low -= point;
        } else {
            rest |= digit;
            low += 1 - point;
        }
    }
    if (t - *text == point) return SAMP_E_FORMAT;
    *text = t;
    if (*t == 'e' || *t == 'E') {
        uint64_t power;
        ++*text;
        bool down = sampi_read_sign(text);
        int status = sampi_read_digits(text, (uint64_t)1 << 40, &power);
        if (status) return status;
        low += down ? -(int64_t)power : (int64_t)power;
    }
    if (!n) low = 0;
    if (low + n > FLT_MAX_10_EXP + 1 || low + n < -45) return SAMP_E_RANGE;
    for (; low < 0; low++) rest |= sampi_decimal_shrink(x);
    for (; low > 0; low--) sampi_decimal_grow(x, 0);
    float value = sampi_decimal_round(x, rest);
    if ((n && value == 0.0f) || value > FLT_MAX) return SAMP_E_RANGE;
    *out = negative ? -value : value;
    return SAMP_OK;
}

/* ---- setting ---- */

/* The member that a name stands for, or NULL: the first row with that name, or of the sampler that an order calls so.
   logit_bias is left out, whose list is the chain's and counts by itself. */
static SAMPI_COLD const sampi_field *sampi_field_named(const char *name)
{
    sampi_kind kind = sampi_step_named(name, strlen(name));
    const sampi_field *found = NULL;
    for (const sampi_field *f = SAMPI_FIELDS + SAMPI_N_FIELDS; f-- > SAMPI_FIELDS;) {
        bool settable = f->kind != SAMPI_LOGIT_BIAS && f->from != SAMPI_NOWHERE;
        if (f->kind == kind || (settable && !strcmp(name, f->param))) found = f;
    }
    for (size_t i = 0; i < SAMPI_N_CHAIN_FIELDS; i++)
        if (!strcmp(name, SAMPI_CHAIN_FIELDS[i].param)) found = &SAMPI_CHAIN_FIELDS[i];
    return found;
}

/* An entry of logit_bias; moves *text behind it. */
static SAMPI_COLD int sampi_read_bias(const char **text, samp_logit_bias *out)
{
    uint64_t token;
    int status = sampi_read_digits(text, INT32_MAX, &token), bad = SAMP_OK;
    const char *t = *text;
    out->token = (samp_token)token;
    out->bias = -INFINITY;
    if (status == SAMP_E_FORMAT || (*t != '+' && *t != '-')) return SAMP_E_FORMAT;
    if (t[0] == '-' && t[1] == 'i' && t[2] == 'n' && t[3] == 'f')
        *text += 4;
    else
        bad = sampi_read_float(text, &out->bias);
    return bad ? bad : status;
}

/* The list with the text's entries behind it -> *block, or a status. */
static SAMPI_COLD int sampi_more_biases(samp_params *p, const char *value, void **block)
{
    size_t had = (size_t)p->n_logit_bias, n = had + 1;
    int status = SAMP_OK;
    for (const char *c = value; *c; c++) n += *c == ',';
    if (n > INT32_MAX) return SAMP_E_RANGE;
    samp_logit_bias *list = (samp_logit_bias *)SAMP_MALLOC(n * sizeof *list);
    if (!list) return SAMP_E_NOMEM;
    if (had) memcpy(list, p->logit_bias, had * sizeof *list);
    for (size_t i = had; i < n && !status; i++, value++) {
        status = sampi_read_bias(&value, &list[i]);
        if (*value != (i + 1 < n ? ',' : 0)) status = SAMP_E_FORMAT;
    }
    if (status) {
        SAMP_FREE(list);
        return status;
    }
    p->n_logit_bias = (int32_t)n;
    *block = list;
    return SAMP_OK;
}

/* The same for one breaker: the pointers first, then the texts. "none" leaves nothing. */
static SAMPI_COLD int sampi_more_breakers(const samp_params *p, const char *value, void **block)
{
    const char *const *old = p->dry_breakers;
    bool none = !strcmp(value, "none");
    size_t n = 0, used = 0, size = strlen(value) + 1;
    if (!*value) return SAMP_E_RANGE;
    for (; !none && old && old[n]; n++) used += strlen(old[n]) + 1;
    const char **list = (const char **)SAMP_MALLOC((n + 2) * sizeof *list + used + size);
    if (!list) return SAMP_E_NOMEM;
    char *text = (char *)(list + n + 2);
    if (n) memcpy(text, old[0], used); /* they stand one behind the other */
    memcpy(text + used, value, size);
    for (size_t i = 0; i <= n; i++, text += strlen(text) + 1) list[i] = text;
    list[none ? 0 : n + 1] = NULL;
    *block = list;
    return SAMP_OK;
}

/* value NULL: the default. A new block is there before the old one goes, which samp_params has lent out as const. */
static SAMPI_COLD int sampi_set_word(samp_params *p, const sampi_field *f, const char *value)
{
    void *to = (char *)p + f->from, *block = NULL, *old;
    bool mt = value && !strcmp(value, "mt19937");
    int status = SAMP_OK;
    switch (f->how) {
        case SAMPI_SEED: return sampi_read_integer(value ? value : "0", 0, UINT64_MAX, &p->seed);
        case SAMPI_RNG:
            if (value && !mt && strcmp(value, "philox")) return SAMP_E_RANGE;
            p->rng = mt ? SAMP_RNG_MT19937 : SAMP_RNG_PHILOX;
            return SAMP_OK;
        case SAMPI_ORDER:
            block = value ? SAMP_MALLOC(strlen(value) + 1) : NULL;
            if (value && !block) return SAMP_E_NOMEM;
            if (value) memcpy(block, value, strlen(value) + 1);
            break;
        case SAMPI_BREAKERS:
            if (value) status = sampi_more_breakers(p, value, &block);
            break;
        default:
            if (value)
                status = sampi_more_biases(p, value, &block);
            else
                p->n_logit_bias = 0;
    }
    if (status) return status;
    memcpy(&old, to, sizeof old);
    memcpy(to, &block, sizeof block);
    SAMP_FREE(old);
    return SAMP_OK;
}

/* The member of row f becomes what the text says; NULL: the default, as samp_default_params has it. On an error nothing
   is written. The range (f->lo, f->hi) is looked at by samp_check_params, for all members at once. */
static SAMPI_COLD int sampi_set_field(samp_params *p, const sampi_field *f, const char *value)
{
    void *to = (char *)p + f->from;
    uint64_t n;
    float x;
    int status = SAMP_OK;
    if (f->type == SAMPI_WORD) return sampi_set_word(p, f, value);
    if (!value) {
        sampi_field_reset(f, to);
    } else if (f->type == SAMPI_FLOAT) {
        status = sampi_read_float(&value, &x);
        if (*value) return SAMP_E_FORMAT;
        if (!status) memcpy(to, &x, sizeof x);
    } else {
        bool small = f->type == SAMPI_INT32;
        status = sampi_read_integer(value, small ? (uint64_t)INT32_MAX + 1 : 0, small ? INT32_MAX : SIZE_MAX, &n);
        if (!status && small) *(int32_t *)to = (int32_t)n;
        if (!status && !small) *(size_t *)to = (size_t)n;
    }
    return status;
}

SAMP_API SAMPI_COLD int samp_settings_set(samp_settings *s, const char *name, const char *value, const char **field)
{
    const char *what = s ? "name" : "settings";
    int status = SAMP_E_NULL;
    if (s && name) {
        const sampi_field *f = sampi_field_named(name);
        what = f ? f->param : name;
        status = f ? sampi_set_field(&s->params, f, value) : SAMP_E_UNSUPPORTED;
    }
    if (field) *field = status ? what : NULL;
    return status;
}

/* ---- telling ---- */

/* As few digits, from six up, as sampi_read_float needs to give the same float; nine are always enough. */
static SAMPI_COLD void sampi_put_exactly(sampi_text *t, float value)
{
    char buf[24];
    float back = 0.0f;
    for (uint32_t places = 6; places < 10; places++) {
        sampi_text number = { buf, sizeof buf, 0 };
        const char *text = buf;
        sampi_put_digits(&number, value, places);
        sampi_end_text(&number);
        if (!sampi_read_float(&text, &back) && back == value) break;
    }
    sampi_put(t, buf);
}

/* "top_k k, ": the steps of an order, each by its first name and its letter. */
static SAMPI_COLD void sampi_put_steps(sampi_text *t)
{
    const char *between = "";
    for (int kind = 0; kind < SAMPI_N_KINDS; kind++) {
        const sampi_traits *traits = sampi_traits_of((sampi_kind)kind);
        if (!traits->letter) continue;
        sampi_put(t, between);
        for (const char *c = traits->step; *c && *c != ';'; c++) sampi_put_char(t, *c);
        sampi_put_char(t, ' ');
        sampi_put_char(t, traits->letter);
        between = ", ";
    }
}

/* The value that p has. False: there is no text of it. */
static SAMPI_COLD bool sampi_put_value(sampi_text *t, const sampi_field *f, const samp_params *p)
{
    const void *at = (const char *)p + f->from;
    switch (f->type) {
        case SAMPI_FLOAT: sampi_put_exactly(t, *(const float *)at); break;
        case SAMPI_INT32: sampi_put_i64(t, *(const int32_t *)at); break;
        case SAMPI_SIZE: sampi_put_u64(t, *(const size_t *)at); break;
        case SAMPI_WORD:
            if (f->how == SAMPI_SEED)
                sampi_put_u64(t, p->seed);
            else if (f->how == SAMPI_RNG)
                sampi_put(t, p->rng == SAMP_RNG_PHILOX ? "philox" : "mt19937");
            else if (f->how == SAMPI_ORDER && p->order)
                sampi_put(t, p->order);
            else
                return false;
    }
    return true;
}

/* The values that a field may have. */
static SAMPI_COLD void sampi_put_range(sampi_text *t, const sampi_field *f)
{
    bool range = f->type == SAMPI_FLOAT || f->type == SAMPI_INT32;
    sampi_put(t, f->how == SAMPI_OR_ALL ? "-1, or " : f->how == SAMPI_OR_ZERO ? "0, or " : "");
    sampi_put(t, f->type == SAMPI_WORD ? f->told : f->type == SAMPI_FLOAT ? "a number" : "a whole number");
    for (int high = 0; range && high < 2; high++) {
        double end = high ? f->hi : f->lo;
        sampi_put(t, high ? ", " : f->how & SAMPI_OPEN ? " in (" : " in [");
        if (f->type == SAMPI_INT32)
            sampi_put_i64(t, (int64_t)end);
        else
            sampi_put_exactly(t, (float)end);
    }
    sampi_put(t, range ? "]" : f->type == SAMPI_SIZE ? " from 0 up" : "");
    if (f->how == SAMPI_ORDER) sampi_put_steps(t);
}

/* With parameters their value, without the range. */
static SAMPI_COLD int sampi_tell(const samp_params *p, const char *name, char *buf, size_t size)
{
    sampi_text t = { buf, size, 0 };
    if (!name || (!buf && size)) return SAMP_E_NULL;
    const sampi_field *f = sampi_field_named(name);
    if (!f || (p && !sampi_put_value(&t, f, p))) return SAMP_E_UNSUPPORTED;
    if (!p) sampi_put_range(&t, f);
    return sampi_end_text(&t);
}

SAMP_API SAMPI_COLD int samp_settings_get(const samp_settings *s, const char *name, char *buf, size_t size)
{
    return s ? sampi_tell(&s->params, name, buf, size) : SAMP_E_NULL;
}

SAMP_API SAMPI_COLD int samp_settings_takes(const char *name, char *buf, size_t size)
{
    return sampi_tell(NULL, name, buf, size);
}

/* ---- the settings themselves ---- */

SAMP_API SAMPI_COLD samp_settings *samp_settings_new(void)
{
    samp_settings *s = (samp_settings *)SAMP_MALLOC(sizeof *s);
    if (s) {
        memset(s, 0, sizeof *s);
        s->params = samp_default_params();
    }
    return s;
}

SAMP_API SAMPI_COLD void samp_settings_free(samp_settings *s)
{
    if (!s) return;
    for (size_t i = 0; i < SAMPI_N_CHAIN_FIELDS; i++)
        if (SAMPI_CHAIN_FIELDS[i].type == SAMPI_WORD) sampi_set_word(&s->params, &SAMPI_CHAIN_FIELDS[i], NULL);
    SAMP_FREE(s);
}

SAMP_API SAMPI_COLD const samp_params *samp_settings_params(const samp_settings *s) { return s ? &s->params : NULL; }

SAMP_API SAMPI_COLD int samp_settings_set_vocab(samp_settings *s, int32_t n_vocab,
                                                const char *(*token_bytes)(const samp_vocab *, samp_token, size_t *),
                                                void *user)
{
    if (!s || !token_bytes) return SAMP_E_NULL;
    if (n_vocab < 0) return SAMP_E_RANGE;
    s->vocab.n_vocab = s->params.n_vocab = n_vocab;
    s->vocab.token_bytes = token_bytes;
    s->vocab.user = user;
    s->vocab.eos = s->vocab.eot = -1;
    s->params.vocab = &s->vocab;
    return SAMP_OK;
}

/* ================================================================================================ >>rollback
   Taking accepted tokens back. Draws and tokens come in, as they happen; what they have changed is written down, a
   record for each token, and samp_rollback goes back from record to record.

   A token changes few words. Of a window it is the token that falls out, for the one that comes in is there to be seen;
   an mt19937 runs backwards (sampi_mt_back), so its count of outputs is enough; and positions, averages and mu are
   numbers. A record has them as they were when the first draw since the token before it began, or its samp_accept if
   there was none, so that a draw whose token was not accepted is undone with the next one. Grammars, and custom
   samplers, know themselves where they were.

   The one thing to know: a record is good only for what it was written by. It is kept by the sampler that is in no
   chain, for all its members, and forgotten when anything else than a draw or a token of that sampler has changed it:
   sampi_edited tells, which counts edits, and sampi_moves, which knows of its own. */

/* What a record's words are wanted for. In this order: those behind SAMPI_RECORD_NOTE put them back. */
typedef enum sampi_record_mode {
    SAMPI_RECORD_WIDTH, /* they are only counted */
    SAMPI_RECORD_NOTE,  /* they are written, */
    SAMPI_RECORD_DRAWS, /* put back behind draws, no token having been accepted, */
    SAMPI_RECORD_TOKEN  /* or behind a token */
} sampi_record_mode;

struct sampi_record {
    sampi_record_mode mode;
    uint32_t *word;
    uint32_t n; /* words so far */
};

/* Words at x, four bytes each, that a draw or a token changes. */
static SAMPI_CALLED void sampi_record_words(sampi_record *r, void *x, uint32_t n)
{
    for (char *at = (char *)x; n > 0; n--, at += 4, r->n++) {
        if (r->mode == SAMPI_RECORD_NOTE) memcpy(&r->word[r->n], at, 4);
        if (r->mode >= SAMPI_RECORD_DRAWS) memcpy(at, &r->word[r->n], 4);
    }
}

/* A window. Returns the token that has come back into it, or -1. */
static SAMPI_CALLED samp_token sampi_record_ring(sampi_record *r, sampi_ring *ring, samp_token *token)
{
    if (ring->cap == 0) return -1;
    samp_token old = ring->size == ring->cap ? token[ring->head] : -1;
    sampi_record_words(r, &old, 1);
    if (r->mode != SAMPI_RECORD_TOKEN) return -1;
    ring->head = (ring->head ? ring->head : ring->cap) - 1;
    if (old < 0)
        ring->size--;
    else
        token[ring->head] = old;
    return old;
}

/* ---- the kinds ----
   The hooks `past`. What a kind with an accept, or with a part of `now`, leaves out here does not come back. */

static void sampi_chain_past(sampi_sampler *s, sampi_record *r)
{
    sampi_record_ring(r, &s->u.chain.ring, s->u.chain.prev);
}

/* The count of the token that goes, then that of the one that comes: the list has room for a full window, no more. */
static void sampi_penalties_past(sampi_sampler *s, sampi_record *r)
{
    samp_token *token = (samp_token *)sampi_part(s, 0);
    if (r->mode == SAMPI_RECORD_TOKEN) sampi_penalties_drop(s, sampi_ring_at(&s->u.penalties.ring, token, 0));
    samp_token old = sampi_record_ring(r, &s->u.penalties.ring, token);
    if (old >= 0) sampi_count_at(sampi_penalties_list(s), &s->u.penalties.n, old)->count++;
}

static void sampi_dry_past(sampi_sampler *s, sampi_record *r)
{
    sampi_record_ring(r, &s->u.dry.ring, (samp_token *)sampi_part(s, 0));
    sampi_record_words(r, &s->u.dry.settled, 2); /* and settled_tail */
}

static void sampi_mirostat_past(sampi_sampler *s, sampi_record *r) { sampi_record_words(r, &s->now.mu, 1); }

static void sampi_adaptive_p_past(sampi_sampler *s, sampi_record *r)
{
    sampi_record_words(r, &s->u.adaptive.sum, 2); /* and total */
    sampi_record_words(r, &s->now.pending, 2);    /* and pending_p */
}

/* One sampler's words. Of an mt19937's count the low half, for fewer than 2^32 outputs lie between two records. */
static void sampi_record_sampler(sampi_sampler *s, sampi_record *r)
{
    const sampi_hooks *hooks = sampi_traits_of(s->kind)->hooks;
    if (s->off) return;
    if (hooks->past) hooks->past(s, r);
    if (!sampi_has_mt(s) || s->rng != SAMP_RNG_MT19937) return;
    sampi_mt *mt = sampi_mt_of(s);
    uint32_t drawn = (uint32_t)mt->drawn;
    sampi_record_words(r, &drawn, 1);
    sampi_mt_back(mt, mt->drawn - (uint32_t)((uint32_t)mt->drawn - drawn), (uint32_t)s->seed);
}

/* ---- keeping records ---- */

/* All words of the record `next` of s. */
static void sampi_record_all(sampi_sampler *s, sampi_record_mode mode)
{
    sampi_past *past = &s->past;
    sampi_record r = { mode, past->word, (uint32_t)past->next * past->width };
    for (uint32_t i = 0; i < past->n_who; i++) sampi_record_sampler(past->who[i], &r);
    if (past->draws) sampi_record_words(&r, &s->position, 2);
}

/* Who has words in a record, and how many: s and its members. past->who may be NULL, then they are only counted. */
static SAMPI_COLD void sampi_past_members(sampi_past *past, sampi_sampler *s)
{
    sampi_record r = { SAMPI_RECORD_WIDTH, NULL, 0 };
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_past_members(past, s->u.chain.item[i]);
    past->draws |= sampi_traits_of(s->kind)->draws && !s->off;
    sampi_record_sampler(s, &r);
    if (r.n == 0) return;
    if (past->who) past->who[past->n_who] = s;
    past->n_who++;
    past->width += r.n;
}

/* Room for records of the last `depth` tokens of s, none of which is there yet. The block that there is serves if it is
   large enough. False: no memory, and s->past is as it was. */
static SAMPI_COLD bool sampi_past_make(sampi_sampler *s, int32_t depth)
{
    sampi_past *past = &s->past, count;
    memset(&count, 0, sizeof count);
    sampi_past_members(&count, s);
    if (count.draws) count.width += 2; /* the position */
    size_t list = count.n_who * sizeof *count.who, bytes = list + ((size_t)depth + 1) * count.width * 4;
    if (count.width && bytes > past->bytes) {
        void *block = SAMP_MALLOC(bytes);
        if (!block) return false;
        SAMP_FREE(past->who);
        past->who = (sampi_sampler **)block;
        past->bytes = bytes;
    }
    count.who = past->who;
    count.bytes = past->bytes;
    count.depth = depth;
    count.made = true;
    count.n_edits = s->n_edits;
    if (count.width) count.word = (uint32_t *)(void *)((char *)count.who + list);
    *past = count;
    past->n_who = 0;
    if (list) sampi_past_members(past, s);
    past->width = count.width;
    return true;
}

/* Are the records there, and those of what s is now? */
static bool sampi_past_is_good(const sampi_sampler *s) { return s->past.made && s->past.n_edits == s->n_edits; }

/* Before s draws or accepts: to samp_reserve and to a batch, which must not allocate in its threads. False: no memory.
   What has no depth, or is in a chain, needs no room. */
static SAMPI_CALLED bool sampi_past_ready(sampi_sampler *s)
{
    return s->owner || s->past.depth == 0 || sampi_past_is_good(s) || sampi_past_make(s, s->past.depth);
}

/* Every public function that draws from s or lets it accept a token calls this in place of sampi_edited, before the
   first change: the record of the token to come is written, if it is not there yet. Without memory there are none. */
static void sampi_moves(sampi_sampler *s)
{
    sampi_past *past = &s->past;
    past->made = sampi_past_ready(s) && sampi_past_is_good(s);
    sampi_edited(s);
    if (!past->made) return;
    past->n_edits = s->n_edits;
    if (past->open) return;
    past->open = true;
    sampi_record_all(s, SAMPI_RECORD_NOTE);
}

/* The token has been accepted, and so its record is one. */
static void sampi_moved(sampi_sampler *s)
{
    sampi_past *past = &s->past;
    if (!past->open || !past->made) return;
    past->open = false;
    if (past->size < past->depth) past->size++;
    past->next = past->next < past->depth ? past->next + 1 : 0;
}

/* A copy of s goes on with the same records: its samplers are of the same kinds in the same order. False: no memory. */
static SAMPI_COLD bool sampi_past_copy(sampi_sampler *copy, const sampi_sampler *s)
{
    const sampi_past *past = &s->past;
    if (!sampi_past_is_good(s) || (past->size == 0 && !past->open)) return true;
    if (!sampi_past_make(copy, past->depth)) return false;
    if (copy->past.width != past->width) return true; /* a user's clone may be anything */
    if (past->width) memcpy(copy->past.word, past->word, ((size_t)past->depth + 1) * past->width * 4);
    copy->past.size = past->size;
    copy->past.next = past->next;
    copy->past.open = past->open;
    return true;
}

/* In a chain it is set for the day when the sampler is out of it. */
SAMP_API SAMPI_COLD int samp_set_rollback(samp_sampler *sampler, int32_t depth)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s) return SAMP_E_NULL;
    if (depth < 0 || depth > SAMPI_MAX_PAST) return SAMP_E_RANGE;
    if (depth == 0) {
        SAMP_FREE(s->past.who);
        memset(&s->past, 0, sizeof s->past);
    } else if (!samp_status(sampler, NULL) && !s->owner && !sampi_past_make(s, depth)) {
        return SAMP_E_NOMEM;
    }
    s->past.depth = depth;
    return SAMP_OK;
}

/* ---- going back ---- */

/* What a user's function has answered. Above 0 nothing is a status: it would be taken for a token. */
static int sampi_user_status(int status) { return status > 0 ? (int)SAMP_E_RANGE : status; }

/* Custom samplers go back first, since only they can refuse. ask: nothing is done yet, it is told what can be known
   before: one that was told of tokens must have a rollback, and a grammar as many records. */
static SAMPI_COLD int sampi_rollback_custom(sampi_sampler *s, int32_t n, bool ask)
{
    const samp_sampler_i *iface = s->base.iface;
    int status = SAMP_OK;
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n && !status; i++)
        status = sampi_rollback_custom(s->u.chain.item[i], n, ask);
    if (!sampi_is_custom(s)) return status;
    if (!iface->rollback) return iface->accept ? (int)SAMP_E_UNSUPPORTED : SAMP_OK;
    if (ask) return sampi_is_grammar(s) && sampi_grammar_kept(s) < n ? (int)SAMP_E_RANGE : SAMP_OK;
    return sampi_user_status(iface->rollback(&s->base, n));
}

/* An edit like any other, so the GPU makes a new copy; but the records that are left are as good as before. */
SAMP_API SAMPI_COLD int samp_rollback(samp_sampler *sampler, int32_t n)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    int status = samp_status(sampler, NULL);
    if (status) return status;
    sampi_past *past = &s->past;
    bool good = sampi_past_is_good(s);
    if (n < 0 || n > (good ? past->size : 0)) return SAMP_E_RANGE;
    if (n) status = sampi_rollback_custom(s, n, true);
    if (n && !status) status = sampi_rollback_custom(s, n, false);
    if (status || !good) return status;
    sampi_edited(s);
    past->n_edits = s->n_edits;
    if (past->open) sampi_record_all(s, SAMPI_RECORD_DRAWS);
    past->open = false;
    for (past->size -= n; n > 0; n--) {
        past->next = past->next > 0 ? past->next - 1 : past->depth;
        sampi_record_all(s, SAMPI_RECORD_TOKEN);
    }
    return SAMP_OK;
}

/* =================================================================================================== >>chain
   What is done to samplers, one or many: applying, accepting, resetting, copying, and the list that a chain is. In: any
   sampler. Out: a status, and either all of the change or none.

   A chain is walked recursively, for it may hold chains. The one thing to know: an apply first notes the state of every
   member (sampi_save_state), and sampi_end_draw either moves the position of the outermost sampler on or puts all of
   it back; accepting tells custom samplers first, since only they can refuse. */

/* Does an apply use random numbers, so that the position moves? Asked of the outermost sampler at the end of a
   draw, and by samp_get_seed. What is off draws nothing; what draws only now and then (xtc) counts as if it always
   did, so that the position depends on the settings alone. */
static bool sampi_draws(const sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (sampi_draws(s->u.chain.item[i])) return true;
    return sampi_traits_of(s->kind)->draws && !s->off;
}

/* Note what a draw may change, in s and all its members; sampi_restore_state goes back there. At the start of each
   draw and of each apply; the GPU's host notes it where a draw may still fail. Writes now.drawn and before. */
static void sampi_save_state(sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_save_state(s->u.chain.item[i]);
    if (sampi_has_mt(s)) s->now.drawn = sampi_mt_of(s)->drawn;
    s->before = s->now;
}

/* As sampi_save_state has noted it: after a draw that failed, and after one whose token a custom sampler refused.
   The position is the caller's business. */
static SAMPI_COLD void sampi_restore_state(sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) sampi_restore_state(s->u.chain.item[i]);
    s->now = s->before;
    if (sampi_has_mt(s)) sampi_mt_back(sampi_mt_of(s), s->now.drawn, (uint32_t)s->seed);
}

/* Is an id there twice? All ids are in [0, SAMP_MAX_VOCAB). They are marked in a window of ids, which moves to the
   smallest that is left: two walks over an array of 128k tokens. */
static bool sampi_has_doubled_id(const samp_token_data_array *cur)
{
    enum { WINDOW = 1 << 16 };
    uint32_t seen[WINDOW / 32];
    for (samp_token from = 0, next; from < SAMP_MAX_VOCAB; from = next) {
        memset(seen, 0, sizeof seen);
        next = SAMP_MAX_VOCAB;
        for (size_t i = 0; i < cur->size; i++) {
            samp_token id = cur->data[i].id, at = id - from;
            if (at >= WINDOW && id < next) next = id;
            if (at < 0 || at >= WINDOW) continue;
            if (seen[at / 32] >> at % 32 & 1) return true;
            seen[at / 32] |= (uint32_t)1 << at % 32;
        }
    }
    return false;
}

/* A custom sampler's apply. What no built-in sampler would make of the array is told here, where a walk over it costs
   little beside the user's own: more candidates than before, another array, an id that is a status, or is there twice
   (ids that ascend are not). The other end of an id's range is the drawer's to know (sampi_accept_selected). */
static SAMPI_COLD int sampi_run_custom(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_token_data *data = cur->data;
    size_t size = cur->size;
    int status = sampi_user_status(s->base.iface->apply(&s->base, cur));
    if (status) return status;
    if (cur->size > size || cur->data != data) return SAMP_E_RANGE;
    bool ascending = true;
    float x[SAMPI_TILE];
    for (size_t at = 0, n; at < cur->size; at += n) { /* where ids ascend the last is the largest */
        n = cur->size - at < SAMPI_TILE ? cur->size - at : SAMPI_TILE;
        bool in_order = sampi_use()->split(data + at, n, x);
        for (size_t i = in_order ? at + n - 1 : at; i < at + n; i++)
            if (data[i].id < 0 || data[i].id >= SAMP_MAX_VOCAB) return SAMP_E_RANGE;
        ascending &= in_order && (at == 0 || data[at].id > data[at - 1].id);
    }
    return !ascending && sampi_has_doubled_id(cur) ? SAMP_E_RANGE : SAMP_OK;
}

/* One built-in sampler that is on: what sampi_run does behind its check. */
static int sampi_run_checked(sampi_sampler *s, samp_token_data_array *cur, uint64_t position, uint32_t *ordinal)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    s->at_position = position;
    s->at_ordinal = ordinal[s->kind]++;
    if (s->rng == SAMP_RNG_PHILOX) {
        if (!(traits->flags & SAMPI_SELECTS)) cur->selected = -1;
        return traits->apply(s, cur);
    }
    int before = errno; /* libm's functions set it on underflow */
    int status = traits->apply_llama(s, cur);
    errno = before;
    return status;
}

/* Apply s, by its definition, as part of the draw number `position`. ordinal [SAMPI_N_KINDS] counts the samplers
   of each kind that this draw has applied so far, chains in chains included: it tells two xtc in one chain apart
   in the random counter. A custom sampler, and one that is off, counts for nothing. A selection ends with the next
   sampler that does not select, whether it would hurt this row's or not, so that a chain draws from all rows or none;
   llama.cpp keeps the index, whatever stands there now. Called by sampi_apply_steps for the
   whole of a chain, by the fast path and by the GPU's host for members that they leave to the array. May change
   the array, and of each member `now`, its mt19937, at_position and at_ordinal; on an error the caller restores
   them, and the array is left half done. */
static int sampi_run(sampi_sampler *s, samp_token_data_array *cur, uint64_t position, uint32_t *ordinal)
{
    int status = samp_status(&s->base, NULL);
    if (status) return status;
    if (sampi_is_custom(s)) return sampi_run_custom(s, cur);
    if (sampi_is_chain(s)) {
        for (int32_t i = 0; i < s->u.chain.n && !status; i++)
            status = sampi_run(s->u.chain.item[i], cur, position, ordinal);
        return status;
    }
    if ((status = sampi_check(cur)) || s->off) return status;
    return sampi_run_checked(s, cur, position, ordinal);
}

/* Is what was selected a token? Before it is believed, since a custom sampler may have written any index, or a
   later one may have masked it. UNSUPPORTED: no sampler of the chain selects. */
static int sampi_check_selected(const samp_token_data_array *cur)
{
    if (cur->selected < 0 || (size_t)cur->selected >= cur->size) return SAMP_E_UNSUPPORTED;
    return cur->data[cur->selected].logit >= -FLT_MAX ? SAMP_OK : SAMP_E_EMPTY;
}

/* The end of a draw, on whatever path: the position of the outermost sampler moves on, or after an error the state
   is what it was. Returns the status it was given. */
static int sampi_end_draw(sampi_sampler *s, int status)
{
    if (status)
        sampi_restore_state(s);
    else if (sampi_draws(s))
        s->position++;
    return status;
}

/* The definition of what samp_apply makes of an array: all of it, step by step, or nothing of the samplers' state. The
   array is checked before anything is counted as an edit or written, also for a chain whose first member is a custom
   sampler, which would not check it. */
static int sampi_apply_steps(sampi_sampler *s, samp_token_data_array *cur)
{
    uint32_t ordinal[SAMPI_N_KINDS] = { 0 };
    int status = s && cur ? samp_status(&s->base, NULL) : SAMP_E_NULL;
    if (!status) status = sampi_check(cur);
    if (status) return status;
    sampi_moves(s);
    sampi_save_state(s);
    return sampi_end_draw(s, sampi_run(s, cur, s->position, ordinal));
}

/* One of two rounds over the members: custom samplers are told first, since only they can refuse, and then the
   built-in ones have not changed. Those that are off are not told: what they had to learn is in the chain's prev.
   Each round is one call: samp_accept makes both, the GPU's host too. The second writes prev of chains, and what
   the accept hooks change. */
static int sampi_accept(sampi_sampler *s, samp_token token, bool custom)
{
    int status = SAMP_OK;
    if (sampi_is_custom(s) && custom && s->base.iface->accept)
        status = sampi_user_status(s->base.iface->accept(&s->base, token));
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n && !status; i++)
        status = sampi_accept(s->u.chain.item[i], token, custom);
    if (custom || sampi_is_custom(s)) return status;
    if (sampi_is_chain(s)) sampi_ring_push(&s->u.chain.ring, s->u.chain.prev, token);
    const sampi_hooks *hooks = sampi_traits_of(s->kind)->hooks;
    if (hooks->accept && !s->off) hooks->accept(s, token);
    return SAMP_OK;
}

/* All that can fail comes before the first change of a built-in sampler: the status, then the round of custom
   ones. The drawing functions end with it too, so on the CPU a token is accepted in one way only. */
SAMP_API int samp_accept(samp_sampler *sampler, samp_token token)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s) return SAMP_E_NULL;
    if (token < 0) return SAMP_E_RANGE;
    int status = samp_status(sampler, NULL);
    if (status) return status;
    sampi_moves(s);
    status = sampi_accept(s, token, true);
    if (status) return status;
    sampi_accept(s, token, false);
    sampi_moved(s);
    s->perf.n_accept++;
    return SAMP_OK;
}

/* A custom sampler's own name, if it has one, stands before that of its kind. */
SAMP_API const char *samp_name(const samp_sampler *s)
{
    if (!s) return "";
    const sampi_sampler *t = (const sampi_sampler *)s;
    return s->iface != sampi_builtin() && s->iface->name ? s->iface->name(s) : sampi_traits_of(t->kind)->name;
}

/* Members first, each as if it were alone. What carries an error has no state, and a chain with an error of its
   own leaves its members as they are. The workspace stays: it is no state. */
SAMP_API SAMPI_COLD void samp_reset(samp_sampler *sampler)
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

/* The user's free gets a whole sampler, so it is called first. A built-in iface has none: parts lie in the block,
   and a chain's members and arrays are freed here. */
SAMP_API SAMPI_COLD void samp_free(samp_sampler *sampler)
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
    SAMP_FREE(s->past.who);
    SAMP_FREE(s);
}

/* The iface of all built-in samplers: never NULL, so that users may call through it as they do with their own. */
static const samp_sampler_i *sampi_builtin(void)
{
    static const samp_sampler_i iface = { samp_name,  samp_accept, samp_apply, samp_reset,
                                          samp_clone, NULL,        NULL,       samp_rollback };
    return &iface;
}

/* ---- the chain itself ----
   A list of members. Ownership goes with `owner`: set when a member joins, NULL when it leaves, and nobody is in two
   chains or in itself, so that walking down always ends, and walking up (sampi_edited) too. */

/* Its prev is an allocation of its own, since samp_set_n_prev may replace it; that is why an empty chain needs
   two. */
SAMP_API SAMPI_COLD samp_sampler *samp_chain_init(void)
{
    sampi_sampler t = sampi_blank(SAMPI_CHAIN);
    samp_sampler *chain = sampi_new(&t);
    if (chain && samp_set_n_prev(chain, 64) != SAMP_OK) {
        samp_free(chain);
        return NULL;
    }
    return chain;
}

/* A chain keeps the first error that adding to it had: it lacks a sampler, and drawing without would be wrong. Returns
   the status, for samp_chain_add to return. */
static int sampi_chain_error(sampi_sampler *c, int status, const char *field)
{
    if (!c->status) c->status = status, c->field = field;
    return status;
}

/* Put s at the end, as it is: random source and errors are the caller's business. Frees it if there is no memory,
   for a chain owns what it was given. For samp_chain_add and for cloning, which must not touch what a member
   carries along. */
static SAMPI_COLD int sampi_chain_push(sampi_sampler *c, sampi_sampler *s)
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

/* A sampler that is refused without being in a chain is freed when `chain` is none, since the caller has given it
   away; one that has an owner, or contains this chain, is somebody's still, and nothing happens to it. The random
   source is set only if it differs, as samp_set_rng would put the position back. */
SAMP_API SAMPI_COLD int samp_chain_add(samp_sampler *chain, samp_sampler *sampler)
{
    sampi_sampler *c = (sampi_sampler *)chain, *s = (sampi_sampler *)sampler;
    for (const sampi_sampler *o = c; s && o; o = o->owner)
        if (o == s || s->owner) return SAMP_E_RANGE; /* a ring of chains, or two owners */
    if (!c || !sampi_is_chain(c)) {
        if (s && !s->owner) samp_free(sampler);
        return c ? SAMP_E_RANGE : SAMP_E_NULL;
    }
    sampi_edited(c);
    if (!s) return sampi_chain_error(c, SAMP_E_NULL, "sampler");
    sampi_edited(s);
    int status = sampi_chain_push(c, s);
    if (status) return status;
    if (s->rng != c->rng) samp_set_rng(sampler, c->rng);
    return samp_status(sampler, NULL);
}

/* Lent: the chain goes on owning it. samp_chain_remove finds its member with it too. */
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

/* The order of the others stays. Both are edited: the chain through its former member's owner, before that is cut. */
SAMP_API SAMPI_COLD samp_sampler *samp_chain_remove(samp_sampler *chain, int32_t i)
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

/* ---- other parameters for a chain that is at work ----
   samp_chain_update builds a whole new chain, lets its members learn from the old ones, and swaps the members. So all
   that can fail comes before the first change of the old chain, and a new setting needs no code of its own. The
   take_over hooks write s only, a new sampler that nobody else has seen yet. */

/* The next sampler of a kind in a chain, from *at on, which moves behind it; or NULL. The order may have changed, so
   the old one and the new are paired by kind and ordinal. Members of chains in the chain are not looked at:
   parameters make none. */
static SAMPI_COLD sampi_sampler *sampi_next_of_kind(const sampi_sampler *c, sampi_kind kind, int32_t *at)
{
    while (*at < c->u.chain.n) {
        SAMPI_COUNT_STEPS(1);
        sampi_sampler *s = c->u.chain.item[(*at)++];
        if (s->kind == kind) return s;
    }
    return NULL;
}

/* A window goes on: the old one's, the oldest token first; without an old sampler (its ring NULL) what the chain has
   accepted. Through accept, since the new window may have another length, and what is derived from it (counts) is right
   at once. */
static SAMPI_COLD void sampi_take_over_window(sampi_sampler *s, const sampi_sampler *old, const sampi_ring *ring,
                                              const sampi_sampler *chain)
{
    const samp_token *token = ring ? (const samp_token *)sampi_part(old, 0) : chain->u.chain.prev;
    if (!ring) ring = &chain->u.chain.ring;
    for (uint32_t back = ring->size; back-- > 0;)
        sampi_traits_of(s->kind)->hooks->accept(s, sampi_ring_at(ring, token, back));
}

static void sampi_penalties_take_over(sampi_sampler *s, const sampi_sampler *old, const sampi_sampler *chain)
{
    sampi_take_over_window(s, old, old ? &old->u.penalties.ring : NULL, chain);
}

/* The new breakers apply to the old tokens too. */
static void sampi_dry_take_over(sampi_sampler *s, const sampi_sampler *old, const sampi_sampler *chain)
{
    sampi_take_over_window(s, old, old ? &old->u.dry.ring : NULL, chain);
}

/* llama.cpp's mu may overflow, ours is always a number: one that is none begins anew. */
static void sampi_mend_mu(sampi_sampler *s)
{
    bool finite = s->now.mu >= -FLT_MAX && s->now.mu <= FLT_MAX;
    if (s->rng == SAMP_RNG_PHILOX && !finite) sampi_traits_of(s->kind)->hooks->reset(s);
}

/* mu goes on from where it is, and a new tau pulls it along. Tokens alone could not tell it, so without an old
   sampler of the same version it starts anew. */
static SAMPI_COLD void sampi_mirostat_take_over(sampi_sampler *s, const sampi_sampler *old,
                                                const sampi_sampler *chain)
{
    (void)chain;
    if (old) s->now = old->now;
    sampi_mend_mu(s);
}

/* The average, and the selection that is not accepted yet. */
static SAMPI_COLD void sampi_adaptive_p_take_over(sampi_sampler *s, const sampi_sampler *old,
                                                  const sampi_sampler *chain)
{
    (void)chain;
    if (!old || old->u.adaptive.target < 0.0f) return; /* plain dist has no average */
    s->now = old->now;
    s->u.adaptive.sum = old->u.adaptive.sum;
    s->u.adaptive.total = old->u.adaptive.total;
}

/* s goes on where `old`, the same sampler with other values, has got to; that may be NULL. What is off has not been at
   work, but it keeps its mt19937 for when it is on again. Calls the kind's hook, and hands on the mt19937 if seed and
   source are the same; samp_chain_update calls it for each new member. `old` is left as it is. */
static SAMPI_COLD void sampi_take_over(sampi_sampler *s, const sampi_sampler *old, const sampi_sampler *chain)
{
    const sampi_hooks *hooks = sampi_traits_of(s->kind)->hooks;
    if (hooks->take_over && !s->off) hooks->take_over(s, old && old->off ? NULL : old, chain);
    if (!old || !sampi_has_mt(s) || s->rng != old->rng || s->seed != old->seed) return;
    *sampi_mt_of(s) = *sampi_mt_of(old);
    s->now.drawn = old->now.drawn;
}

/* After an error nothing has changed, for only `fresh` was written until the members are swapped. Position, prev,
   counts and workspace are the chain's own and stay. The old members are freed with `fresh`. */
SAMP_API SAMPI_COLD int samp_chain_update(samp_sampler *chain, const samp_params *params)
{
    sampi_sampler *c = (sampi_sampler *)chain;
    int status = chain && params ? samp_status(chain, NULL) : SAMP_E_NULL;
    if (!status && !sampi_is_chain(c)) status = SAMP_E_RANGE;
    if (status) return status;
    int32_t at[SAMPI_N_KINDS] = { 0 }, any = 0;
    const sampi_sampler *dry = sampi_next_of_kind(c, SAMPI_DRY, &any);
    sampi_sampler *fresh = (sampi_sampler *)sampi_build_chain(params, dry, &status);
    if (!status && c->owner) samp_set_rng(&fresh->base, c->owner->rng); /* as if it were added now */
    for (int32_t i = 0; !status && i < fresh->u.chain.n; i++) {
        sampi_sampler *s = fresh->u.chain.item[i];
        sampi_take_over(s, sampi_next_of_kind(c, s->kind, &at[s->kind]), c);
    }
    if (!status) {
        sampi_chain old = c->u.chain; /* the two chains swap their members; prev stays */
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

/* Rows are independent: one that fails does not stop the others, and is left as it was. No chain with an error is
   put into a row. */
SAMP_API SAMPI_COLD int samp_batch_from_params(samp_sampler **rows, const samp_params *params, size_t n_rows,
                                               int *status)
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

/* ---- copying ----
   samp_clone has three ways: custom samplers by the user, chains by their members, all others by their bytes. A clone
   is nobody's member, has a serial of its own and no workspace; all else that decides a token is the same. */

/* By the user's clone, which returns a sampler of its own making: what the chain had set it to is for us to copy, or
   else it would not be the equal that a state asks for. Without one, a sampler whose ctx is NULL has nothing to copy
   but its iface; any other becomes one that carries SAMP_E_UNSUPPORTED, which a chain with it carries too. */
static SAMPI_COLD samp_sampler *sampi_clone_custom(const sampi_sampler *s)
{
    const samp_sampler_i *iface = s->base.iface;
    sampi_sampler t = sampi_blank(SAMPI_CUSTOM);
    bool own = !s->status && iface->clone;
    sampi_require(&t, !s->status, s->status, s->field);
    sampi_require(&t, !s->base.ctx, SAMP_E_UNSUPPORTED, "clone");
    if (!t.status) t.base.iface = iface;
    sampi_sampler *copy = (sampi_sampler *)(own ? iface->clone(&s->base) : sampi_new(&t));
    if (!copy) return NULL;
    if (copy->rng != s->rng) samp_set_rng(&copy->base, s->rng);
    copy->position = s->position;
    copy->past.depth = s->past.depth;
    return &copy->base;
}

/* Member by member; NULL, and nothing left behind, if memory runs out. Members are pushed and not added:
   samp_chain_add would set them to the new chain's random source, which means back to the seed. */
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
    c->past.depth = s->past.depth;
    return &c->base;
}

/* What the bytes of a sampler would carry along by mistake is cleared in the copy: workspace, records, owner, a draft
   under way. */
static SAMPI_COLD samp_sampler *sampi_clone_bytes(const sampi_sampler *s)
{
    size_t size = s->part[3] + sampi_round_up(s->part_size[3]);
    sampi_sampler *c = (sampi_sampler *)SAMP_MALLOC(size);
    if (!c) return NULL;
    memcpy(c, s, size); /* parts are offsets, so they are good in the copy too */
    c->base.ctx = c;
    memset(&c->work, 0, sizeof c->work); /* it would be freed twice, */
    memset(&c->past, 0, sizeof c->past); /* and so would these */
    c->past.depth = s->past.depth;
    c->draft = NULL;
    c->owner = NULL;
    c->serial = sampi_next_serial();
    return &c->base;
}

SAMP_API SAMPI_COLD samp_sampler *samp_clone(const samp_sampler *sampler)
{
    const sampi_sampler *s = (const sampi_sampler *)sampler;
    if (!s) return NULL;
    samp_sampler *copy = sampi_is_custom(s)  ? sampi_clone_custom(s)
                         : sampi_is_chain(s) ? sampi_clone_chain(s)
                                             : sampi_clone_bytes(s);
    if (!copy || samp_status(copy, NULL) || sampi_past_copy((sampi_sampler *)copy, s)) return copy;
    samp_free(copy);
    return NULL;
}

/* Members' errors are found by looking, not copied: one that is removed takes its error along. */
SAMP_API SAMPI_COLD int samp_status(const samp_sampler *sampler, const char **field)
{
    const sampi_sampler *s = (const sampi_sampler *)sampler;
    int status = s ? s->status : SAMP_E_NULL;
    if (field) *field = s ? s->field : NULL;
    if (!status) status = sampi_use_status();
    for (int32_t i = 0; !status && sampi_is_chain(s) && i < s->u.chain.n; i++)
        status = samp_status(&s->u.chain.item[i]->base, field);
    return status;
}

/* All members, chains in chains too. The parts have room for an mt19937 already, so nothing can fail half way. */
SAMP_API SAMPI_COLD int samp_set_rng(samp_sampler *sampler, samp_rng_kind kind)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s) return SAMP_E_NULL;
    if (kind != SAMP_RNG_PHILOX && kind != SAMP_RNG_MT19937) return SAMP_E_RANGE;
    sampi_edited(s);
    s->rng = kind;
    s->position = 0;
    sampi_seed(s);
    sampi_mend_mu(s);
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) samp_set_rng(&s->u.chain.item[i]->base, kind);
    return SAMP_OK;
}

/* From the last member on, since that is usually the one that selects. */
SAMP_API SAMPI_COLD uint64_t samp_get_seed(const samp_sampler *sampler)
{
    const sampi_sampler *s = (const sampi_sampler *)sampler;
    if (!s || !sampi_draws(s)) return 0;
    for (int32_t i = sampi_is_chain(s) ? s->u.chain.n : 0; i-- > 0;)
        if (sampi_draws(s->u.chain.item[i])) return samp_get_seed(&s->u.chain.item[i]->base);
    return s->seed;
}

/* Of the record it is given: only the outermost sampler's moves. */
SAMP_API uint64_t samp_get_position(const samp_sampler *s) { return s ? ((const sampi_sampler *)s)->position : 0; }

/* Of this sampler: a member's own is not used while it is in a chain. */
SAMP_API int samp_set_position(samp_sampler *s, uint64_t position)
{
    if (!s) return SAMP_E_NULL;
    sampi_edited((sampi_sampler *)s);
    ((sampi_sampler *)s)->position = position;
    return SAMP_OK;
}

/* From the chain's own ring, which samp_accept fills whether a member listens or not. */
SAMP_API size_t samp_prev(const samp_sampler *chain, samp_token *out, size_t n)
{
    const sampi_sampler *c = (const sampi_sampler *)chain;
    if (!c || !sampi_is_chain(c) || !out) return 0;
    if (n > c->u.chain.ring.size) n = c->u.chain.ring.size;
    for (size_t i = 0; i < n; i++) out[i] = sampi_ring_at(&c->u.chain.ring, c->u.chain.prev, (uint32_t)(n - 1 - i));
    return n;
}

/* SAMP_E_EMPTY also if it is no chain: such a one keeps no tokens. */
SAMP_API samp_token samp_last(const samp_sampler *chain)
{
    samp_token last;
    if (!chain) return SAMP_E_NULL;
    return samp_prev(chain, &last, 1) ? last : SAMP_E_EMPTY;
}

/* The new array is there before the old one goes, so want of memory changes nothing. Never NULL, even for n = 0: a
   chain that has been made can rely on prev. An edit, though no draw depends on prev: records do. */
SAMP_API SAMPI_COLD int samp_set_n_prev(samp_sampler *chain, size_t n)
{
    sampi_sampler *c = (sampi_sampler *)chain;
    if (!c) return SAMP_E_NULL;
    if (!sampi_is_chain(c) || n > (size_t)1 << 20) return SAMP_E_RANGE;
    samp_token *prev = (samp_token *)SAMP_MALLOC((n ? n : 1) * sizeof *prev);
    if (!prev) return SAMP_E_NOMEM;
    memset(prev, 0, (n ? n : 1) * sizeof *prev);
    sampi_edited(c);
    SAMP_FREE(c->u.chain.prev);
    c->u.chain.prev = prev;
    c->u.chain.ring.cap = (uint32_t)n;
    c->u.chain.ring.size = c->u.chain.ring.head = 0;
    return SAMP_OK;
}

/* The counts are written where things happen (sampi_sample, samp_accept, the fast path), by the sampler that the
   user has called, in its own record; so a batch's threads never share them. */
SAMP_API samp_perf_data samp_perf(const samp_sampler *s)
{
    samp_perf_data none = { 0, 0, 0, 0, 0 };
    return s ? ((const sampi_sampler *)s)->perf : none;
}

/* By samp_reset too, so of all members then. */
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
   answer, and else the exact sum is taken. Under MT19937 samplers work on the dense row only, and what is left becomes
   an array for >>llama: see "in llama.cpp's arithmetic" below.

   THE LIFE OF A ROW. It goes down this list, and back only by a copy of its record:

     dense     as it was given, in its dtype and with its mask; a token's id is its index       sampi_open_row
               - or a copy of its logits, which is its own                                      sampi_flatten
               - a few elements have other values, kept aside ("changes")                       sampi_set_element
               - logits are elements times r                                                    sampi_scale_row
               - elements below a floor count as masked                                         sampi_raise_floor
     compact   x [n] and id [n], what is left: nothing masked, no changes, r = 1, no floor      sampi_gather
               - fewer tokens, in place: sampi_gather, sampi_cut_at; others stay in order of ids
               - other logits, in place                                                         sampi_set_element
     array     samp_token_data [n], for the samplers above                                      sampi_row_array

   sampi_gather_first, sampi_keep_first and sampi_compact are ways to call sampi_gather. Gathering leaves the dense row
   untouched, so a sampler may try on a copy of the record ("head", "best", "before") and go back to the row itself if
   that was not enough. From a compact row there is no way back.

   INVARIANTS. The row is scanned once, when it is opened, and every function here may rely on this and leaves it so:
     - no NaN, no +infinity, and at least one token is not masked;
     - top is the largest element of a compact row, and of a dense one but for its changes (sampi_row_max counts them);
     - line holds the maxima of the dense row's lines, but for its changes, until the draw ends.
   A sampler that can declines with SAMPI_DECLINED: then the row holds the same logits as before, and the plan goes on
   step by step. A dense row with a floor comes only to samplers that say so in the plan; the others get it compact.

   THE WORKSPACE. One block (sampi_reserve), which belongs to one draw at a time. What outlives the function that wrote
   it is marked with *; all the rest is free for whoever comes next.

     line     * maxima of the dense row's lines
     change   * changed elements of the dense row, by id
     x, id    * the compact row. While the row is dense: what top_p looks at, and copies that are being tried
     w          12 bytes a token:
                  sampi_gather      the lines that it collects from
                  top_p, xtc        weights of the compact row, or of the tokens looked at
                  typical           weights, scores and places (sampi_scored), then the tokens that tie
                  tail_free         keys to sort, then weights; the sorted logits behind them
                  adaptive_p        the logits that it draws from
     candidate * the array, once the row has become one
     logits   * under MT19937 e^(l - max), and buckets of logits
     own      * the logits of an array (>>apply), or of a row that is its own (sampi_flatten)
     scratch    folded line maxima (sampi_row_bound); a compact row's line maxima, which nobody reads
     sum        dist's sums of tiles */

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

struct sampi_row {
    const sampi_kernels *k;
    sampi_work *work;
    samp_perf_data *perf;
    const float *x;       /* [n] the logits are x * r; NULL for a dense row of another dtype, or with a mask: */
    const void *data;     /* [n] the elements as given; */
    const uint32_t *mask; /* their mask or NULL, */
    samp_dtype dtype;     /* and their dtype */
    const int32_t *id;    /* [n] of a compact row; NULL: dense, id = index */
    const samp_token_data_array *array; /* whose logits these are: an "id" is an index there; or NULL */
    size_t n;
    float r;          /* 1 in a compact row */
    bool divided;     /* MT19937: the logits are x / r */
    bool is_own;      /* dense, and x are the workspace's logits: changed in place */
    bool by_order;    /* MT19937: dense, but the array would be in order; masked elements have been dropped from it */
    float top;        /* the maximum of x, changes aside */
    float floor;      /* dense only: what lies below counts as masked; -FLT_MAX if nothing does */
    size_t n_change;  /* dense only: elements of x that have another value, by id */
    samp_token token; /* what the last sampler selected */
    double (*expf)(const float *x, size_t n, float t, float max, float *e); /* MT19937: a kernel, or libm's own */
    double sum;                /* MT19937, of an array: p is work->logits over this; 0: as it was */
    samp_token_data_array cur; /* MT19937: the candidates, once the row has become an array */
};

#define SAMPI_DECLINED 1 /* "not here": go on step by step */

/* More changed elements than this make a row of its own (sampi_flatten). There are a few hundred at most in use; each
   is put in its place among the others, and each is one more token that a bound has to allow for. */
#define SAMPI_CHANGES 1024

/* Rows up to this length are copied and summed exactly at once: that costs hardly more than an estimate. */
#define SAMPI_SMALL 4096

/* ---- elements and logits ---- */

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

static bool sampi_is_compact(const sampi_row *row) { return row->id != NULL; }

static float sampi_scaled(const sampi_row *row, float x) { return row->divided ? x / row->r : x * row->r; }

static float sampi_logit_of(const sampi_row *row, float x)
{
    return sampi_masked(x) ? x : sampi_finite(sampi_scaled(row, x));
}

/* The smallest element whose logit is at least l. Thresholds are on logits, the kernels compare elements: the rounded
   product never falls as the element grows, so one threshold gives the same tokens as the other. The quotient alone
   would not do: it may lie an ulp or two off. (Or product for quotient, where the row is divided.) */
static float sampi_unscale(const sampi_row *row, float l)
{
    const float r = row->r;
    if (r == 1.0f || l <= -FLT_MAX) return l;
    int64_t lo = (int64_t)sampi_key(-FLT_MAX) - 1, hi = sampi_key(INFINITY);
    int64_t quotient = sampi_key(sampi_finite(row->divided ? l * r : l / r));
    for (int64_t step = 2; step < 1 << 30; step *= 4) { /* nearly always it is next to the quotient */
        int64_t below = quotient - step, above = quotient + step;
        if (below > lo && sampi_scaled(row, sampi_unkey((int32_t)below)) < l) lo = below;
        if (above < hi && sampi_scaled(row, sampi_unkey((int32_t)above)) >= l) hi = above;
    }
    while (hi - lo > 1) {
        int64_t mid = (lo + hi) / 2;
        if (sampi_scaled(row, sampi_unkey((int32_t)mid)) >= l)
            hi = mid;
        else
            lo = mid;
    }
    return sampi_unkey((int32_t)hi);
}

/* ---- a row from the outside ---- */

/* NaN, +infinity, all masked: what every sampler checks first. */
static int sampi_max_status(float top)
{
    if (!(top <= FLT_MAX)) return SAMP_E_NAN;
    return top >= -FLT_MAX ? SAMP_OK : SAMP_E_EMPTY;
}

/* The last tile counts as a whole one: maxima gives all of its lines. */
static size_t sampi_n_tiles(size_t n) { return (n + SAMPI_TILE - 1) / SAMPI_TILE; }
static size_t sampi_n_lines(size_t n) { return SAMPI_TILE / SAMPI_LINE * sampi_n_tiles(n); }

/* Find top, and a dense row's line maxima. Returns what is wrong with the row, if anything is. */
static int sampi_scan(sampi_row *row)
{
    float *line = sampi_is_compact(row) ? row->work->scratch : row->work->line;
    row->top = row->n ? row->k->maxima(row->data, row->dtype, row->mask, row->n, line) : -INFINITY;
    return sampi_max_status(row->top);
}

/* The row as given, scanned. */
static int sampi_open_row(sampi_row *row, const sampi_job *job)
{
    memset(row, 0, sizeof *row);
    row->k = sampi_use();
    row->work = job->work;
    row->perf = &job->s->perf;
    row->x = job->dtype == SAMP_F32 && !job->mask ? (const float *)job->data : NULL;
    row->data = job->data;
    row->mask = job->mask;
    row->dtype = job->dtype;
    row->n = job->n;
    row->r = 1.0f;
    row->floor = -FLT_MAX;
    row->token = -1;
    return sampi_scan(row);
}

/* From now on the row is these logits: compact, or dense if id is NULL. Its top is left to the caller. */
static void sampi_set_tokens(sampi_row *row, const float *x, const int32_t *id, size_t n)
{
    row->x = x;
    row->data = x;
    row->mask = NULL;
    row->dtype = SAMP_F32;
    row->id = id;
    row->n = n;
    row->r = 1.0f;
    row->divided = false;
    row->is_own = false;
    row->floor = -FLT_MAX;
    row->n_change = 0;
}

/* x [i] of a row, changes aside. */
static float sampi_element_at(const sampi_row *row, size_t i)
{
    return row->x ? row->x[i] : sampi_element(row->data, row->dtype, row->mask, i);
}

static samp_token sampi_id_at(const sampi_row *row, size_t i) { return row->id ? row->id[i] : (samp_token)i; }

/* Where a token stands; row->n if it doesn't. */
static size_t sampi_find_id(const sampi_row *row, samp_token id)
{
    if (!sampi_is_compact(row)) return (size_t)id < row->n ? (size_t)id : row->n;
    size_t i = sampi_find_token(row->id, sizeof *row->id, row->n, id);
    return i < row->n && row->id[i] == id ? i : row->n;
}

/* ---- changes ---- */

/* Where the change of this token is, or belongs. */
static size_t sampi_change_at(const sampi_row *row, samp_token id)
{
    return sampi_find_token(row->work->change, sizeof(sampi_change), row->n_change, id);
}

/* x [i] as it is now. The steps begin with +0 where a row has -0; with an array they begin as it is. */
static float sampi_present(const sampi_row *row, size_t i)
{
    if (sampi_is_compact(row)) return row->x[i];
    const sampi_change *change = row->work->change;
    size_t c = sampi_change_at(row, (samp_token)i);
    if (c < row->n_change && change[c].id == (samp_token)i) return change[c].x;
    return row->array ? row->x[i] : sampi_element_at(row, i) + 0.0f;
}

/* One more element of a dense row with another value. Most come in order of ids, so that none has to move. */
static void sampi_add_change(sampi_row *row, samp_token id, float x)
{
    sampi_change *change = row->work->change;
    size_t i = row->n_change;
    while (i > 0 && change[i - 1].id >= id) i--;
    if (i == row->n_change || change[i].id != id) {
        memmove(&change[i + 1], &change[i], (row->n_change - i) * sizeof *change);
        change[i].id = id;
        row->n_change++;
    }
    change[i].x = x;
}

/* May so many more elements be changed here? */
static bool sampi_has_room(const sampi_row *row, size_t n)
{
    return sampi_is_compact(row) || row->is_own || row->n_change + n <= SAMPI_CHANGES;
}

/* Give the element at place i (sampi_find_id) another value: beside a dense row, whose data is the caller's, or in a
   compact one. The caller has asked sampi_has_room. Top and masked tokens of a compact row are not right again before
   sampi_end_changes, which comes after the last change. */
static void sampi_set_element(sampi_row *row, size_t i, float x)
{
    if (sampi_is_compact(row))
        row->work->x[i] = x;
    else if (row->is_own)
        row->work->own[i] = x;
    else
        sampi_add_change(row, (samp_token)i, x);
}

/* ---- a row piece by piece ---- */

/* A walk over a row in pieces of floats:
     sampi_pieces it;
     for (sampi_start(&it, row); sampi_next_piece(&it);) ... it.x [it.n], the elements it.at and on, changes included.
   Where floats lie ready, a piece is all of them up to the next tile with a change; else it is one tile, in buf. at is
   a multiple of SAMPI_TILE. A piece holds until the next one. */
typedef struct sampi_pieces {
    const sampi_row *row;
    size_t at, n;
    const float *x;
    float buf[SAMPI_TILE];
} sampi_pieces;

static void sampi_start(sampi_pieces *it, const sampi_row *row)
{
    it->row = row;
    it->at = it->n = 0;
}

/* The piece that begins with the tile at `at`. */
static void sampi_piece_at(sampi_pieces *it, size_t at)
{
    const sampi_row *row = it->row;
    const sampi_change *change = row->work->change;
    size_t c = sampi_change_at(row, (samp_token)at), end = at + SAMPI_TILE < row->n ? at + SAMPI_TILE : row->n;
    size_t next = c < row->n_change ? (size_t)change[c].id : row->n; /* the next change */
    it->at = at;
    if (row->x && next >= end) {
        it->x = row->x + at;
        it->n = (next < row->n ? next / SAMPI_TILE * SAMPI_TILE : row->n) - at;
        return;
    }
    row->k->fetch(row->data, row->dtype, row->mask, at, end - at, it->buf);
    for (; c < row->n_change && (size_t)change[c].id < end; c++) it->buf[(size_t)change[c].id - at] = change[c].x;
    it->x = it->buf;
    it->n = end - at;
}

/* The next piece; false behind the last one. */
static bool sampi_next_piece(sampi_pieces *it)
{
    size_t at = it->at + it->n;
    if (at >= it->row->n) return false;
    sampi_piece_at(it, at);
    return true;
}

/* x [SAMPI_TILE] -> the logits of a dense row's elements; those below its floor are masked. The length is constant for
   the compiler's vectors: what is behind a row's end is no matter. */
static SAMPI_HOT void sampi_scale_tile(const sampi_row *row, float *x)
{
    const float floor = row->floor, r = row->r;
    for (size_t i = 0; i < SAMPI_TILE; i++) x[i] = x[i] < floor ? -INFINITY : x[i];
    if (r == 1.0f) return;
    size_t far_off = row->k->count(x, SAMPI_TILE, 1e31f) + row->k->count(x, SAMPI_TILE, -FLT_MAX);
    if (far_off > row->k->count(x, SAMPI_TILE, -1e31f) || r < 1e-6f || r > 1e6f) /* may overflow */
        for (size_t i = 0; i < SAMPI_TILE; i++) x[i] = sampi_logit_of(row, x[i]);
    else if (row->divided)
        for (size_t i = 0; i < SAMPI_TILE; i++) x[i] /= r;
    else
        for (size_t i = 0; i < SAMPI_TILE; i++) x[i] *= r;
}

/* The logits of a dense row's tile at `at`: as they lie there, or in it->buf. */
static const float *sampi_logits_at(sampi_pieces *it, size_t at, size_t len)
{
    const sampi_row *row = it->row;
    sampi_piece_at(it, at);
    if (row->r == 1.0f && row->floor <= -FLT_MAX) return it->x;
    if (it->x != it->buf) memcpy(it->buf, it->x, len * sizeof *it->x);
    for (size_t i = len; i < SAMPI_TILE; i++) it->buf[i] = -INFINITY;
    sampi_scale_tile(row, it->buf);
    return it->buf;
}

/* How many elements x lie in [floor, below). floor = -INFINITY: masked ones too, which the kernels also have behind the
   end of a row. */
static size_t sampi_row_count(const sampi_row *row, float floor, float below)
{
    sampi_pieces it;
    size_t count = 0;
    for (sampi_start(&it, row); sampi_next_piece(&it);) {
        count += floor >= -FLT_MAX ? row->k->count(it.x, it.n, floor) : it.n;
        if (below <= FLT_MAX) count -= row->k->count(it.x, it.n, below);
    }
    return count;
}

/* A row as the array of its candidates. */
static samp_token_data_array sampi_row_array(const sampi_row *row)
{
    samp_token_data_array cur = { row->work->candidate, row->n, -1, false };
    sampi_pieces it;
    for (sampi_start(&it, row); sampi_next_piece(&it);) {
        for (size_t i = 0; i < it.n; i++) {
            samp_token_data *d = &cur.data[it.at + i];
            d->id = sampi_id_at(row, it.at + i);
            float l = row->r == 1.0f ? it.x[i] : sampi_logit_of(row, it.x[i]);
            d->logit = it.x[i] >= row->floor ? l + 0.0f : -INFINITY; /* -0 becomes +0 */
            d->p = 0.0f;
        }
    }
    return cur;
}

/* ---- finding thresholds ---- */

/* Numbers, the largest of them top or less, and their weights: NULL if each counts 1. */
typedef struct sampi_values {
    const sampi_kernels *k;
    const float *x;
    const uint64_t *w;
    size_t n;
    float top;
} sampi_values;

static uint64_t sampi_mass_above(const sampi_values *values, float floor)
{
    return values->w ? values->k->mass(values->x, values->w, values->n, floor)
                     : values->k->count(values->x, values->n, floor);
}

/* The largest value with the mass `want` at or above it, by bisection of the keys; -FLT_MAX if all have less. A smaller
   value will do if the mass is no more than `enough`, or if it is less than `fine` keys below the largest. The search
   goes down from the top with steps that double: what is looked for is rarely far from there. */
static float sampi_find_value(const sampi_values *values, uint64_t want, uint64_t enough, int32_t fine)
{
    const int32_t lowest = sampi_key(-FLT_MAX);
    int32_t low = sampi_key(values->top), high = low + 1, step = 1 << 16; /* the mass at high is less than wanted */
    uint64_t mass = sampi_mass_above(values, values->top);
    while (mass < want) {
        if (low == lowest) return -FLT_MAX;
        high = low;
        low = (int64_t)low - lowest > step ? low - step : lowest;
        if (step < 1 << 28) step *= 2;
        mass = sampi_mass_above(values, sampi_unkey(low));
    }
    while ((int64_t)high - low > fine && mass > enough) {
        int32_t middle = sampi_middle(low, high);
        uint64_t mass_middle = sampi_mass_above(values, sampi_unkey(middle));
        if (mass_middle < want) {
            high = middle;
        } else {
            low = middle;
            mass = mass_middle;
        }
    }
    return sampi_unkey(low);
}

/* The largest value that `want` of x [n] reach, exactly; or one that not many more reach. */
static float sampi_find_nth(const sampi_kernels *k, const float *x, size_t n, size_t want, float top)
{
    sampi_values values = { k, x, NULL, n, top };
    return sampi_find_value(&values, want, 0, 1);
}

static float sampi_find_about(const sampi_kernels *k, const float *x, size_t n, size_t want, float top)
{
    sampi_values values = { k, x, NULL, n, top };
    return sampi_find_value(&values, want, want + want / 4 + 4, 1);
}

/* A threshold on x that at least `want` tokens of a dense row reach, changes counted out. As many lines as are wanted
   have a maximum that reaches it. For a few tokens it is enough to look at m sets of lines, if m is several times
   what is wanted: few sets then hold two of the largest. line has room to be filled up to a multiple of m. */
static float sampi_row_bound(const sampi_row *row, size_t want)
{
    float *line = row->work->line, *fold = row->work->scratch;
    size_t n = sampi_n_lines(row->n), m = 64;
    if (want >= row->n) return -FLT_MAX;
    if (want == 1 && row->n_change == 0) return row->top;
    want += row->n_change; /* each of these may be a line's maximum no more */
    while (m < 4 * want) m *= 2;
    if (m >= n) return sampi_find_about(row->k, line, n, want, row->top);
    while (n % m) line[n++] = -INFINITY;
    row->k->fold(line, n, fold, m);
    return sampi_find_about(row->k, fold, m, want, row->top);
}

/* ---- from dense to compact ---- */

/* Take the changed elements out of the m collected ones: how many stay. */
static size_t sampi_drop_changed(const sampi_row *row, size_t m)
{
    const sampi_change *change = row->work->change;
    float *x = row->work->x;
    int32_t *id = row->work->id;
    size_t kept = 0, c = 0;
    for (size_t i = 0; i < m; i++) {
        while (c < row->n_change && change[c].id < id[i]) c++;
        if (c < row->n_change && change[c].id == id[i]) continue;
        x[kept] = x[i];
        id[kept++] = id[i];
    }
    return kept;
}

/* Put the changed elements among the collected ones: m sorted by id -> how many. */
static size_t sampi_merge_changes(const sampi_row *row, size_t m, float floor)
{
    const sampi_change *change = row->work->change;
    float *x = row->work->x;
    int32_t *id = row->work->id;
    size_t kept = sampi_drop_changed(row, m), more = 0;
    for (size_t c = 0; c < row->n_change; c++) more += change[c].x >= floor;
    size_t to = kept + more;
    m = to;
    for (size_t c = row->n_change; c > 0; c--) { /* from the end: places are free there */
        const sampi_change *next = &change[c - 1];
        if (!(next->x >= floor)) continue;
        while (kept > 0 && id[kept - 1] > next->id) {
            to--;
            kept--;
            x[to] = x[kept];
            id[to] = id[kept];
        }
        to--;
        x[to] = next->x;
        id[to] = next->id;
    }
    return m;
}

/* The kernel of this name for rows that are not floats: line by line. */
static size_t sampi_pick_row(const sampi_row *row, const int32_t *line, size_t n_lines, float floor)
{
    sampi_work *work = row->work;
    float buf[SAMPI_LINE];
    size_t m = 0;
    for (size_t h = 0; h < n_lines; h++) {
        size_t at = (size_t)line[h] * SAMPI_LINE, n = row->n - at < SAMPI_LINE ? row->n - at : SAMPI_LINE;
        row->k->fetch(row->data, row->dtype, row->mask, at, n, buf);
        m += row->k->collect(buf, NULL, (int32_t)at, n, floor, INFINITY, work->x + m, work->id + m);
    }
    return m;
}

/* Collect a dense row's elements x >= floor, changes aside: only from lines whose maximum reaches it, which are noted
   where w is. */
static size_t sampi_collect_lines(const sampi_row *row, float floor)
{
    sampi_work *work = row->work;
    size_t lines = sampi_n_lines(row->n);
    float *maximum = (float *)(void *)work->w; /* collect wants a place for it */
    int32_t *line = (int32_t *)(void *)(maximum + lines + 16);
    size_t n = row->k->collect(work->line, NULL, 0, lines, floor, INFINITY, maximum, line);
    if (!row->x) return sampi_pick_row(row, line, n, floor);
    return row->k->pick(row->x, row->n, line, n, floor, work->x, work->id);
}

/* Keep the tokens with x >= floor, which is at most the largest x. Afterwards the row is compact. */
static void sampi_gather(sampi_row *row, float floor)
{
    sampi_work *work = row->work;
    float top = sampi_logit_of(row, row->top);
    bool has_changes = row->n_change > 0;
    size_t m;
    if (floor < row->floor) floor = row->floor;
    if (sampi_is_compact(row))
        m = row->k->collect(row->x, row->id, 0, row->n, floor, INFINITY, work->x, work->id);
    else
        m = sampi_collect_lines(row, floor);
    if (has_changes) m = sampi_merge_changes(row, m, floor);
    for (size_t i = 0; row->divided && i < m; i++) work->x[i] = sampi_logit_of(row, work->x[i]);
    if (row->r != 1.0f && !row->divided) row->k->scale(work->x, m, row->r, work->x);
    sampi_set_tokens(row, work->x, work->id, m);
    row->top = top; /* it is among those kept, unless it was changed */
    if (has_changes) (void)sampi_scan(row);
}

/* Keep all, in a compact row. */
static void sampi_compact(sampi_row *row)
{
    if (!sampi_is_compact(row)) sampi_gather(row, -FLT_MAX);
}

/* Keep the first `want` in order and maybe some more; a compact row stays as it is. */
static void sampi_gather_first(sampi_row *row, size_t want)
{
    if (!sampi_is_compact(row))
        sampi_gather(row, sampi_unscale(row, sampi_logit_of(row, sampi_row_bound(row, want))));
}

/* Keep the tokens of a dense row with x >= floor. Where an eighth of the lines has one they are not copied: the row
   gets a floor, and row->n / 128 tokens at least reach it. */
static void sampi_raise_floor(sampi_row *row, float floor)
{
    size_t lines = sampi_n_lines(row->n);
    if (row->k->count(row->work->line, lines, floor) < lines / 8 + row->n_change)
        sampi_gather(row, floor);
    else if (floor > row->floor)
        row->floor = floor;
}

/* The row's largest logit. The workspace is free while the row is dense, and only a dense row has changes. */
static float sampi_row_max(const sampi_row *row)
{
    if (row->n_change == 0) return sampi_logit_of(row, row->top);
    sampi_row best = *row;
    sampi_gather_first(&best, 1);
    return best.top;
}

/* Is all of a dense row masked? Lines show it without their elements, unless each may have lost its only token. */
static bool sampi_is_all_masked(const sampi_row *row)
{
    size_t lines = sampi_n_lines(row->n), alive = 0;
    for (size_t i = 0; i < lines && alive <= row->n_change; i++) alive += !sampi_masked(row->work->line[i]);
    return alive <= row->n_change && sampi_masked(sampi_row_max(row));
}

/* Make it a row again whose elements have been set, some of them masked or not. */
static int sampi_end_changes(sampi_row *row, bool has_masked)
{
    if (!sampi_is_compact(row) && !row->is_own)
        return has_masked && sampi_is_all_masked(row) ? SAMP_E_EMPTY : SAMP_OK;
    if (has_masked && !row->is_own) sampi_gather(row, -FLT_MAX);
    return sampi_scan(row);
}

/* Keep what is above `value` and, of what equals it, the smallest ids: `keep` tokens of a compact row. */
static void sampi_cut_at(sampi_row *row, float value, size_t keep)
{
    sampi_work *work = row->work;
    size_t m = row->k->collect(row->x, row->id, 0, row->n, value, INFINITY, work->x, work->id);
    size_t from = m; /* behind it all that equal the value go */
    for (size_t over = m - keep; over > 0;) {
        from--;
        if (work->x[from] == value) over--;
    }
    size_t to = from;
    for (size_t i = from; i < m; i++) {
        if (work->x[i] == value) continue;
        work->x[to] = work->x[i];
        work->id[to++] = work->id[i];
    }
    row->n = keep;
}

/* Keep `keep` tokens of a compact row: the largest logits, of equal ones the smallest ids. (Compact rows stand by id;
   "the first in order" always means (logit descending, id ascending).) Writes the row's tokens and n; top stays. */
static void sampi_cut(sampi_row *row, size_t keep)
{
    if (keep < row->n) sampi_cut_at(row, sampi_find_nth(row->k, row->x, row->n, keep, row->top), keep);
}

/* The first `keep` in order, or all unmasked ones if there are fewer. */
static void sampi_keep_first(sampi_row *row, size_t keep)
{
    sampi_gather_first(row, keep);
    sampi_cut(row, keep);
}

/* ---- sums ---- */

/* The exact sums of a row, floor or not; `above` is the mass of the elements from floor on. A pass of 35 us where an
   estimate takes 15, for 128k tokens. */
static sampi_sums sampi_row_sums(const sampi_row *row, float max, float floor, bool with_s)
{
    sampi_sums sums = { max, 0, 0, 0, 0 };
    sampi_pieces it;
    for (sampi_start(&it, row); sampi_next_piece(&it);) row->k->sums(it.x, it.n, row->r, max, floor, with_s, &sums);
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

/* Z and S as they are, as a range with equal ends: where an estimate has left a doubt, and for what needs none
   (compact rows: sampi_range_of). The floor is no matter to them: below it nothing is left out. Counts in n_exact. */
static sampi_range sampi_exact(const sampi_row *row, float max, bool with_s)
{
    sampi_sums sums = sampi_row_sums(row, max, row->floor, with_s);
    sampi_range range;
    if (!sampi_is_compact(row)) row->perf->n_exact++; /* compact rows are short: no estimate was tried */
    range.max = max;
    range.z_lo = range.z_hi = (double)sums.z;
    range.s_lo = range.s_hi = (double)sums.s;
    range.z = sums.z;
    range.is_exact = true;
    return range;
}

/* Widen sweep's z and s to what the exact sums of n weights can be.
   Let d be a token's distance from max and m = s / z its mean under p. Sweep has each e^-d with a relative error of at
   most ROUNDING + SLOPE d. So z's is ROUNDING + SLOPE m, and as m is an estimate itself, 8 nats more are allowed.
   For s the errors are weighted with d once more, and the mean of d^2 may be much more than m^2; but sweep ends at
   d = 86, so it is at most 86 m. ROUNDING is 13 times SLOPE, so the error is at most SLOPE z (86 + 13) m, and
   4 (1 + m) (13 + m + 8), which is what stands below, is more than 99 m for every m.
   Then the exact sums are sums of integers: each weight is rounded by half a unit, and exp is off by less than 1e-11 of
   it; no weight lies farther than 28 nats from the maximum, so s is off by less than 64 times that. */
static void sampi_widen(sampi_range *range, double z, double s, size_t n)
{
    double off = SAMPI_SWEEP_ROUNDING + SAMPI_SWEEP_SLOPE * (s / z + 8.0);
    double z_err = z * off, s_err = (s + z) * 4.0 * off, unit = (double)SAMPI_ONE;
    double slack = (double)n + 1.0 + 1e-11 * ((z + z_err) * unit);
    range->z_lo = (z - z_err) * unit - slack;
    range->z_hi = (z + z_err) * unit + slack;
    range->s_lo = (s - s_err) * unit - 64.0 * slack;
    range->s_hi = (s + s_err) * unit + 64.0 * slack;
    if (range->z_lo < unit) range->z_lo = unit; /* the maximum is one whole weight */
    if (range->s_lo < 0.0) range->s_lo = 0.0;
    range->z = 0;
    range->is_exact = false;
}

/* Estimate the sums of a dense row: one pass. Declined where they would not fit in 64 bits. */
static int sampi_estimate(const sampi_row *row, sampi_range *range)
{
    double z = 0.0, s = 0.0;
    sampi_pieces it;
    range->max = sampi_row_max(row);
    for (sampi_start(&it, row); sampi_next_piece(&it);) {
        double part_z, part_s;
        row->k->sweep(it.x, it.n, row->r, range->max, &part_z, &part_s);
        z += part_z;
        s += part_s;
    }
    sampi_widen(range, z, s, row->n);
    return range->z_hi >= range->z_lo && range->z_hi < 1e19 ? SAMP_OK : SAMPI_DECLINED;
}

/* An estimate for a long dense row. A short one becomes compact, and a compact one is summed exactly. */
static int sampi_range_of(sampi_row *row, sampi_range *range)
{
    if (!sampi_is_compact(row) && row->n > SAMPI_SMALL) return sampi_estimate(row, range);
    sampi_compact(row);
    *range = sampi_exact(row, row->top, true);
    return SAMP_OK;
}

/* Bounds of Z as integers, and of the mass that reaches a share of it. A double holds no exact Z above 2^53, so an
   exact one has a place of its own. The cast rounds down, so the upper bound is one more. */
static uint64_t sampi_z_lo(const sampi_range *range) { return range->is_exact ? range->z : (uint64_t)range->z_lo; }

static uint64_t sampi_z_hi(const sampi_range *range)
{
    return range->is_exact ? range->z : (uint64_t)range->z_hi + 1;
}

static uint64_t sampi_mass_lo(const sampi_range *range, uint64_t share)
{
    return sampi_mass_of(share, sampi_z_lo(range));
}

static uint64_t sampi_mass_hi(const sampi_range *range, uint64_t share)
{
    return sampi_mass_of(share, sampi_z_hi(range));
}

/* The first tokens in order of a compact row: how many, and the logit of the last of them. */
typedef struct sampi_prefix {
    size_t n;
    float last;
} sampi_prefix;

/* The shortest prefix that holds the mass `want`, w [n] the row's weights; n = 0 if all of them hold less. Of the
   tokens that equal the last one, all with one weight, it has as many as are needed. */
static sampi_prefix sampi_find_prefix(const sampi_row *row, const uint64_t *w, uint64_t want)
{
    const sampi_kernels *k = row->k;
    sampi_values values = { k, row->x, w, row->n, row->top };
    sampi_prefix prefix = { 0, 0.0f };
    size_t i = 0;
    if (want == 0) want = 1;
    if (k->mass(row->x, w, row->n, -FLT_MAX) < want) return prefix;
    prefix.last = sampi_find_value(&values, want, 0, 1) + 0.0f;
    while (row->x[i] != prefix.last) i++;
    float above = sampi_next_up(prefix.last);
    uint64_t missing = want - k->mass(row->x, w, row->n, above);
    prefix.n = k->count(row->x, row->n, above) + (size_t)((missing + w[i] - 1) / w[i]);
    return prefix;
}

/* Keep a prefix, but at least the first min_keep. */
static void sampi_keep_prefix(sampi_row *row, sampi_prefix prefix, size_t min_keep)
{
    if (prefix.n < min_keep)
        sampi_cut(row, min_keep);
    else
        sampi_cut_at(row, prefix.last, prefix.n);
}

/* ---- logit_bias, penalties, dry: a few tokens get another logit ---- */

/* Where a token stands whose logit can be changed, and that logit; false if it isn't there, or is masked. */
static bool sampi_find_logit(const sampi_row *row, samp_token token, size_t *at, float *l)
{
    if (row->array) {
        size_t i = sampi_find_ascending(row->array, token);
        if (i == row->array->size) return false;
        token = (samp_token)i;
    }
    *at = sampi_find_id(row, token);
    if (*at == row->n) return false;
    *l = sampi_present(row, *at);
    return !sampi_masked(*l);
}

/* A dense row becomes its own logits: dense as before, with r = 1 and without floor or changes. */
static void sampi_flatten(sampi_row *row)
{
    float *x = row->work->own;
    sampi_pieces it;
    sampi_start(&it, row);
    for (size_t at = 0; at < row->n; at += SAMPI_TILE) {
        size_t len = row->n - at < SAMPI_TILE ? row->n - at : SAMPI_TILE;
        memmove(x + at, sampi_logits_at(&it, at, len), len * sizeof *x);
    }
    sampi_set_tokens(row, x, NULL, row->n);
    row->is_own = true;
    (void)sampi_scan(row);
}

/* A dense row's changes are elements: where logits are products, none may give the logit that is wanted. Such a row,
   and one with so many changes that a copy costs less than putting them in order, becomes its own. */
static void sampi_begin_patch(sampi_row *row, size_t n)
{
    if (!sampi_is_compact(row) && (row->r != 1.0f || n > SAMPI_CHANGES / 4 || !sampi_has_room(row, n)))
        sampi_flatten(row);
}

static int sampi_fast_logit_bias(sampi_row *row, sampi_sampler *s)
{
    const samp_logit_bias *bias = (const samp_logit_bias *)sampi_part(s, 0);
    size_t n = (size_t)s->u.bias.n, at;
    bool has_masked = false;
    float l;
    sampi_begin_patch(row, n);
    for (size_t i = 0; i < n; i++) {
        if (!sampi_find_logit(row, bias[i].token, &at, &l)) continue;
        l = sampi_bias_change(l, bias[i].bias);
        sampi_set_element(row, at, l);
        if (sampi_masked(l)) has_masked = true;
    }
    return sampi_end_changes(row, has_masked);
}

/* What penalties and dry do to a row: the tokens of a list, each by its count. This masks none, since `change` never
   gives -infinity. Writes changes of the row, or the compact row itself; the sampler and its list stay as they are. */
static int sampi_change_listed(sampi_row *row, const sampi_sampler *s, const sampi_count *list, size_t n,
                               float (*change)(const sampi_sampler *, float, const sampi_count *))
{
    size_t at;
    float l;
    sampi_begin_patch(row, n);
    for (size_t i = 0; i < n; i++)
        if (sampi_find_logit(row, list[i].token, &at, &l)) sampi_set_element(row, at, change(s, l, &list[i]));
    return sampi_end_changes(row, false);
}

/* The list is that of sampi_penalties_accept: the tokens of the window, each with how often it is there. */
static int sampi_fast_penalties(sampi_row *row, sampi_sampler *s)
{
    return sampi_change_listed(row, s, sampi_penalties_list(s), s->u.penalties.n, sampi_penalties_change);
}

/* The list is made anew for each draw, in the sampler's own room for it: part 1, which nothing else uses. */
static int sampi_fast_dry(sampi_row *row, sampi_sampler *s)
{
    sampi_count *list = (sampi_count *)sampi_part(s, 1);
    return sampi_change_listed(row, s, list, sampi_dry_list(s, list), sampi_dry_change);
}

/* ---- top_k, min_p ---- */

static int sampi_fast_top_k(sampi_row *row, sampi_sampler *s)
{
    if ((size_t)s->u.top_k.k < row->n) sampi_keep_first(row, (size_t)s->u.top_k.k);
    return SAMP_OK;
}

/* A dense row has been cut, before it was `before`: back to that if fewer than min_keep tokens are left, and the first
   ones in order stay. What is still dense has tokens enough: more than an eighth of its lines reach the floor. */
static void sampi_keep_at_least(sampi_row *row, const sampi_row *before, size_t min_keep)
{
    if (!sampi_is_compact(row) && row->n / 128 >= min_keep) return;
    sampi_compact(row); /* to count them */
    if (row->n >= min_keep) return;
    *row = *before;
    sampi_keep_first(row, min_keep);
}

/* Keep what reaches the floor, but at least the first min_keep (1 or more) in order. Counting first would be a pass
   over a dense row: it is cut, and if too few are left, taken back. */
static void sampi_keep_from(sampi_row *row, float floor, size_t min_keep)
{
    if (!sampi_is_compact(row)) {
        sampi_row before = *row;
        sampi_raise_floor(row, sampi_unscale(row, floor));
        sampi_keep_at_least(row, &before, min_keep);
    } else if (row->k->count(row->x, row->n, floor) < min_keep) {
        sampi_keep_first(row, min_keep);
    } else {
        sampi_gather(row, floor);
    }
}

static size_t sampi_min_keep(const sampi_sampler *s) { return s->u.cut.min_keep > 1 ? s->u.cut.min_keep : 1; }

/* The floor is known from the maximum alone: no sum. */
static int sampi_fast_min_p(sampi_row *row, sampi_sampler *s)
{
    double floor = (double)sampi_row_max(row) + sampi_ln(s->u.cut.p);
    sampi_keep_from(row, sampi_float_up(floor), sampi_min_keep(s));
    return SAMP_OK;
}

/* ---- top_p ----
   It keeps the prefix by mass of sampi_find_prefix, of a row in one of three forms:
     all    a compact or short row: the weights of all its tokens;
     head   a long row with a short nucleus: the first tokens, a few times as many as the perplexity tells;
     wide   a long row with a long nucleus, where copying and weighing it would cost most: only a band of tokens around
            its end is looked at, between an exact sum of what is above the band and what is wanted. */

/* All of a compact row. */
static void sampi_top_p_all(sampi_row *row, uint64_t share, size_t min_keep)
{
    uint64_t *w = row->work->w;
    row->k->weights(row->x, row->n, row->top, w);
    uint64_t z = row->k->mass(row->x, w, row->n, -FLT_MAX);
    sampi_keep_prefix(row, sampi_find_prefix(row, w, sampi_mass_of(share, z)), min_keep);
}

/* How many tokens a nucleus may need, roughly: twice the perplexity e^H, H = mean of max - l, + ln Z. */
static size_t sampi_top_p_guess(const sampi_range *range, size_t n)
{
    double mean = (range->s_hi + range->s_lo) / (range->z_hi + range->z_lo);
    double entropy = mean + sampi_ln(range->z_hi / (double)SAMPI_ONE);
    double guess = 2.0 * sampi_exp2(sampi_round(entropy * SAMPI_LOG2E));
    if (guess < 24.0) return 24;
    return guess < (double)n ? (size_t)guess : n;
}

/* false: the nucleus is not that short, and nothing has changed but that the range may be exact now. */
static bool sampi_top_p_head(sampi_row *row, sampi_range *range, uint64_t share, size_t min_keep)
{
    uint64_t *w = row->work->w;
    size_t want = sampi_top_p_guess(range, row->n);
    for (want = want > min_keep ? want : min_keep; want < row->n / 64; want *= 4) {
        sampi_row head = *row;
        sampi_gather_first(&head, want);
        head.k->weights(head.x, head.n, range->max, w);
        if (head.k->mass(head.x, w, head.n, -FLT_MAX) < sampi_mass_hi(range, share)) continue;
        sampi_prefix prefix = sampi_find_prefix(&head, w, sampi_mass_lo(range, share));
        if (!range->is_exact && prefix.n != sampi_find_prefix(&head, w, sampi_mass_hi(range, share)).n) {
            *range = sampi_exact(row, range->max, false);
            prefix = sampi_find_prefix(&head, w, sampi_mass_lo(range, share));
        }
        *row = head;
        sampi_keep_prefix(row, prefix, min_keep);
        return true;
    }
    return false;
}

/* Where a long nucleus ends, told by every 32nd token: elements low and high with its last one between them, most
   likely. They leave out an eighth more and an eighth less than the share says, for the noise of the sample. */
static bool sampi_top_p_band(const sampi_row *row, const sampi_range *range, uint64_t share, float *low, float *high)
{
    float *l = row->work->x;
    uint64_t *w = row->work->w, z = (uint64_t)range->z_lo;
    uint64_t left_out = (z - sampi_mulhi(share, z)) / 32, noise = left_out / 8;
    size_t n = 0;
    for (size_t i = 0; i < row->n; i += 32) l[n++] = sampi_logit_of(row, sampi_element_at(row, i));
    row->k->weights(l, n, range->max, w);
    sampi_values sample = { row->k, l, w, n, range->max };
    uint64_t all = sampi_mass_above(&sample, -FLT_MAX);
    if (all <= left_out + noise) return false;
    *high = sampi_unscale(row, sampi_find_value(&sample, all - left_out - noise, 0, 1 << 12));
    *low = sampi_unscale(row, sampi_find_value(&sample, all - left_out + noise, 0, 1 << 12));
    return true;
}

/* The row stays dense and gets the nucleus' last logit as its floor; those that equal it and are too many are changed
   to masked ones. Declined, with nothing changed, where the band has missed the end. */
static int sampi_top_p_wide(sampi_row *row, const sampi_range *range, uint64_t share, size_t min_keep)
{
    const sampi_kernels *k = row->k;
    sampi_work *work = row->work;
    float low, high, *x = work->x;
    sampi_pieces it;
    size_t m = 0;
    if (!sampi_top_p_band(row, range, share, &low, &high)) return SAMPI_DECLINED;
    sampi_sums sums = sampi_row_sums(row, range->max, high, false);
    uint64_t want = sampi_mass_of(share, sums.z);
    if (sums.above >= want) return SAMPI_DECLINED;

    for (sampi_start(&it, row); sampi_next_piece(&it);)
        m += k->collect(it.x, NULL, (int32_t)it.at, it.n, low, high, x + m, work->id + m);
    if (m == 0) return SAMPI_DECLINED;
    k->scale(x, m, row->r, x);
    k->weights(x, m, range->max, work->w);
    sampi_row band = *row;
    sampi_set_tokens(&band, x, work->id, m);
    (void)sampi_scan(&band);
    sampi_prefix prefix = sampi_find_prefix(&band, work->w, want - sums.above);
    if (prefix.n == 0) return SAMPI_DECLINED;
    if (min_keep > 1 && prefix.n + sampi_row_count(row, high, INFINITY) < min_keep) return SAMPI_DECLINED;

    size_t over = k->count(x, m, prefix.last) - prefix.n;
    if (row->n_change + over > SAMPI_CHANGES) return SAMPI_DECLINED;
    for (size_t i = m; over > 0;) { /* the largest ids with this value */
        i--;
        if (x[i] != prefix.last) continue;
        sampi_add_change(row, work->id[i], -INFINITY);
        over--;
    }
    row->floor = sampi_unscale(row, prefix.last);
    return SAMP_OK;
}

static int sampi_fast_top_p(sampi_row *row, sampi_sampler *s)
{
    uint64_t share = sampi_share(s->u.cut.p);
    size_t min_keep = s->u.cut.min_keep;
    sampi_range range;
    if (!sampi_is_compact(row) && row->n > SAMPI_SMALL) {
        int status = sampi_estimate(row, &range);
        if (status) return status;
        if (sampi_top_p_head(row, &range, share, min_keep)) return SAMP_OK;
        if (sampi_top_p_wide(row, &range, share, min_keep) == SAMP_OK) return SAMP_OK;
    }
    sampi_compact(row);
    sampi_top_p_all(row, share, min_keep);
    return SAMP_OK;
}

/* ---- temp, temp_ext ---- */

/* All logits times 1 / t; a dense row's elements stay, and its r tells. */
static int sampi_scale_row(sampi_row *row, float t)
{
    float r = 1.0f / t;
    if (!(t >= SAMPI_TEMP_MIN)) {
        sampi_keep_first(row, 1);
        return SAMP_OK;
    }
    if (row->r != 1.0f) sampi_compact(row); /* two products, each rounded, are not one */
    if (sampi_is_compact(row)) {
        row->k->scale(row->x, row->n, r, row->work->x);
        row->top = sampi_finite(row->top * r);
        return SAMP_OK;
    }
    /* where a token that counts may overflow, the product is clamped step by step */
    float max = sampi_row_max(row);
    if (!(sampi_abs((double)max) < 1e37 && sampi_abs((double)(max * r)) < 1e37)) return SAMPI_DECLINED;
    row->r = r;
    return SAMP_OK;
}

static int sampi_fast_temp(sampi_row *row, sampi_sampler *s) { return sampi_scale_row(row, s->u.temp.t); }

/* T is a float of the entropy: no estimate will do. The sums are of all unmasked tokens, so a floor has to go. */
static int sampi_fast_temp_ext(sampi_row *row, sampi_sampler *s)
{
    if (!(s->u.temp.delta > 0.0f)) return sampi_scale_row(row, s->u.temp.t);
    if (row->floor > -FLT_MAX) sampi_compact(row);
    sampi_sums sums = sampi_row_sums(row, sampi_row_max(row), -FLT_MAX, true);
    return sums.n > 1 ? sampi_scale_row(row, sampi_temp_of(s, &sums)) : SAMP_OK;
}

/* ---- top_n_sigma ---- */

/* Keep l >= the threshold, which lies between lo and hi: false if a logit lies there too, and nothing has changed. */
static bool sampi_keep_between(sampi_row *row, double lo, double hi)
{
    float floor = sampi_unscale(row, sampi_float_up(lo)), sure = sampi_unscale(row, sampi_float_up(hi));
    if (sampi_is_compact(row)) {
        if (sampi_row_count(row, floor, sure) > 0) return false;
        sampi_gather(row, floor);
        return true;
    }
    sampi_row before = *row;
    sampi_raise_floor(row, floor);
    if (floor >= sure) return true;
    if (sampi_is_compact(row)) { /* only what was kept can lie between them: no pass is needed */
        if (row->k->count(row->x, row->n, sampi_float_up(hi)) == row->n) return true;
    } else if (sampi_row_count(row, floor, sure) == 0) {
        return true;
    }
    *row = before;
    return false;
}

/* The mean of a few elements: near enough to the row's that squares of distances from it lose nothing. */
static float sampi_sigma_pivot(const sampi_row *row)
{
    double sum = 0.0;
    int n = 0;
    for (size_t i = 0; i < row->n && n < 16; i += 1 + row->n / 16) {
        float x = sampi_element_at(row, i);
        if (!(sampi_abs((double)x) <= (double)FLT_MAX)) continue;
        sum += (double)x;
        n++;
    }
    return n ? (float)(sum / n) : 0.0f;
}

/* sigma lies between two ends, got from sums in float; n sigma below the maximum they give two thresholds. */
static int sampi_fast_top_n_sigma(sampi_row *row, sampi_sampler *s)
{
    double moment[3] = { 0.0, 0.0, 0.0 };
    sampi_pieces it;
    if (row->r != 1.0f || row->n_change) sampi_compact(row);
    float pivot = sampi_sigma_pivot(row);
    for (sampi_start(&it, row); sampi_next_piece(&it);) {
        double part[3];
        row->k->moments(it.x, it.n, pivot, part);
        for (int j = 0; j < 3; j++) moment[j] += part[j];
    }
    double mean = moment[1] / moment[0], square = moment[2] / moment[0];
    if (!(square > 1e-24 && square < 1e30)) return SAMPI_DECLINED; /* floats may have over- or underflowed */
    /* Each f32 sum has at most 16 terms a lane, so its relative error is below 20 * 2^-24 = 1.2e-6. The mean is at most
       the root of the mean square, so its square is off by twice as much of that: 3.6e-6 together. */
    double error = 4e-6 * square, variance = square - sampi_round(mean * mean);
    double high = sqrt((variance > 0.0 ? variance : 0.0) + error);
    double low = variance > error ? sqrt(variance - error) : 0.0;
    double slack = 1e-9 * sqrt(square) + 1e-30; /* what doubles are rounded by, here and in the definition */
    high = sampi_round(s->u.sigma.n * (high + slack));
    low = low > slack ? sampi_round(s->u.sigma.n * (low - slack)) : 0.0;
    return sampi_keep_between(row, (double)row->top - high, (double)row->top - low) ? SAMP_OK : (int)SAMPI_DECLINED;
}

/* The floor is a function of Z: at both ends of its range it has to leave the same tokens. A compact row's Z is exact.
   */
static int sampi_fast_top_a(sampi_row *row, sampi_sampler *s)
{
    double ln_a = sampi_ln(s->u.cut.p);
    sampi_range range;
    int status = sampi_range_of(row, &range);
    if (status) return status;
    if (sampi_is_compact(row)) {
        sampi_keep_from(row, sampi_float_up(sampi_top_a_floor(ln_a, range.max, range.z_lo)), sampi_min_keep(s));
        return SAMP_OK;
    }
    sampi_row before = *row;
    while (!sampi_keep_between(row, sampi_top_a_floor(ln_a, range.max, range.z_hi),
                               sampi_top_a_floor(ln_a, range.max, range.z_lo)))
        range = sampi_exact(row, range.max, false);
    sampi_keep_at_least(row, &before, sampi_min_keep(s));
    return SAMP_OK;
}

/* ---- xtc ---- */

/* What reaches the threshold in a compact row: how many tokens, and which is the last of them in order. */
typedef struct sampi_reach {
    size_t n, last;
    bool is_sure; /* it is the same at both ends of the range */
} sampi_reach;

/* Compact rows are in order of ids, so of equal logits the later one is the last. */
static sampi_reach sampi_xtc_reach(const sampi_row *row, const uint64_t *w, uint64_t mass_lo, uint64_t mass_hi)
{
    sampi_reach reach = { 0, 0, true };
    for (size_t i = 0; i < row->n; i++) {
        if (w[i] < mass_lo) continue;
        if (w[i] < mass_hi) reach.is_sure = false;
        if (reach.n++ == 0 || row->x[i] <= row->x[reach.last]) reach.last = i;
    }
    return reach;
}

/* Remove all that reach the threshold but the last. A dense row is looked at in a copy of its head: w >= t Z needs
   w >= t 2^40, as Z is at least one whole weight; 1e-6 nats are far more than what ln and w are rounded by. */
static int sampi_fast_xtc(sampi_row *row, sampi_sampler *s)
{
    uint64_t random[2], share = sampi_share(s->u.xtc.t), *w = row->work->w;
    size_t min_keep = s->u.xtc.min_keep;
    sampi_range range;
    if (row->n < 2) return SAMP_OK;
    sampi_random(s, 0, random);
    if (s->u.xtc.p < 1.0f && random[0] >= sampi_share(s->u.xtc.p)) return SAMP_OK;
    if (!(s->u.xtc.t > 1e-3f)) return SAMPI_DECLINED; /* thousands of tokens could reach it */
    int status = sampi_range_of(row, &range);
    if (status) return status;
    sampi_row head = *row;
    if (!sampi_is_compact(row)) {
        double floor = (double)range.max + sampi_ln(s->u.xtc.t) - 1e-6;
        sampi_gather(&head, sampi_unscale(row, sampi_float_up(floor)));
    }
    head.k->weights(head.x, head.n, range.max, w);
    sampi_reach reach = sampi_xtc_reach(&head, w, sampi_mass_lo(&range, share), sampi_mass_hi(&range, share));
    if (!reach.is_sure) {
        range = sampi_exact(row, range.max, false);
        reach = sampi_xtc_reach(&head, w, sampi_mass_lo(&range, share), sampi_mass_hi(&range, share));
    }
    if (reach.n < 2) return SAMP_OK;
    if (!sampi_has_room(row, reach.n)) return SAMPI_DECLINED;
    size_t n = min_keep > 1 ? sampi_row_count(row, -FLT_MAX, INFINITY) : row->n;
    if (n - (reach.n - 1) < min_keep) return SAMP_OK;
    uint64_t mass = sampi_mass_lo(&range, share);
    for (size_t i = 0; i < head.n; i++)
        if (w[i] >= mass && i != reach.last) sampi_set_element(row, sampi_find_id(row, head.id[i]), -INFINITY);
    return sampi_end_changes(row, true);
}

/* ---- typical: a selection by score, no sort ----
   The score of a token is the distance of max - l from its mean; those with the smallest scores are kept. It falls with
   the logit up to the mean, then rises, so the kept tokens are an interval of logits, and what has to be found are its
   two ends: in the row's head, or in a band around where every 32nd token lets them expect, or in all of the row. */

/* Put the first tokens of d [n] in the order o that hold the mass `want`, but at least min_keep of them, to the front:
   how many; 0 if d does not hold as much. Quickselect, whose bad cases end in a sort. */
static size_t sampi_prefix_by(const sampi_order *o, samp_token_data *d, size_t n, uint64_t want, size_t min_keep)
{
    size_t from = 0; /* those before it are in */
    for (int depth = 64; n - from > 16; depth--) {
        if (depth == 0) {
            sampi_heap_sort(o, d + from, n - from);
            break;
        }
        size_t m = from + sampi_partition(o, d + from, n - from);
        samp_token_data_array part = { d + from, m - from, -1, false };
        uint64_t mass = sampi_sum_to(&part, (float)o->max).z;
        if (mass >= want && m >= min_keep) {
            n = m;
        } else {
            want -= mass < want ? mass : want;
            from = m;
        }
    }
    sampi_insertion_sort(o, d + from, n - from);
    for (size_t i = from; i < n; i++) {
        uint64_t w = sampi_weight((float)o->max, d[i].logit);
        want -= w < want ? w : want;
        if (want == 0 && i + 1 >= min_keep) return i + 1;
    }
    return 0;
}

/* Where the cut is looked for: none below `low` is kept, all of [in_low, in_high) are, if that is not empty. The others
   are the band. */
typedef struct sampi_band {
    float low, in_low, in_high;
} sampi_band;

static sampi_band sampi_band_above(float low)
{
    sampi_band band = { low, INFINITY, INFINITY };
    return band;
}

static bool sampi_band_is_whole(const sampi_band *band) { return !(band->in_low < band->in_high); }

/* Tokens with their scores, laid over w: weights, then logits (soon minus their scores), then where they stand in the
   row, each with slack 16. With places that is 16 bytes a token of the 12 (row->n + 128) there: for half of the row's
   tokens. Without them (place NULL: all of the row, in order) it is 12 bytes a token. */
typedef struct sampi_scored {
    size_t n;
    uint64_t *w;
    float *y;
    int32_t *place;
} sampi_scored;

static sampi_scored sampi_lay_scored(const sampi_work *work, size_t n, bool with_places)
{
    sampi_scored t;
    t.n = n;
    t.w = work->w;
    t.y = (float *)(void *)(t.w + n + 16);
    t.place = with_places ? (int32_t *)(void *)(t.y + n + 16) : NULL;
    return t;
}

/* The band's tokens in a compact row. Returns the mass of [in_low, in_high). */
static uint64_t sampi_band_tokens(const sampi_row *row, float max, const sampi_band *band, const sampi_scored *t)
{
    const sampi_kernels *k = row->k;
    uint64_t w[SAMPI_TILE + 16], inner = 0;
    size_t n = 0;
    for (size_t i = 0; i < row->n; i += SAMPI_TILE) {
        const float *x = row->x + i;
        size_t len = row->n - i < SAMPI_TILE ? row->n - i : SAMPI_TILE;
        k->weights(x, len, max, w);
        inner += k->mass(x, w, len, band->in_low) - k->mass(x, w, len, band->in_high);
        n += k->collect(x, NULL, (int32_t)i, len, band->low, band->in_low, t->y + n, t->place + n);
        n += k->collect(x, NULL, (int32_t)i, len, band->in_high, INFINITY, t->y + n, t->place + n);
    }
    return inner;
}

/* Weights, and logits to minus their scores, rounded to f32: so what is greater here comes first. */
static void sampi_score_tokens(const sampi_kernels *k, const sampi_scored *t, const sampi_order *o)
{
    k->weights(t->y, t->n, (float)o->max, t->w);
    for (size_t i = 0; i < t->n; i++) {
        samp_token_data token = { 0, t->y[i], 0.0f };
        t->y[i] = -sampi_finite((float)sampi_typical_score(o, &token));
    }
}

/* A cut by score. */
typedef struct sampi_score_cut {
    float at;            /* the largest y that holds enough mass, and enough tokens, together with what is above it */
    uint64_t over, upto; /* the mass with y > at, with y >= at */
    size_t n_over, n_upto;
} sampi_score_cut;

/* Both conditions are looked for apart: the farther of the two cuts satisfies both. */
static sampi_score_cut sampi_cut_scores(const sampi_kernels *k, const sampi_scored *t, uint64_t want, size_t min_keep)
{
    sampi_values values = { k, t->y, t->w, t->n, 0.0f };
    sampi_score_cut cut;
    float by_mass = sampi_find_value(&values, want ? want : 1, 0, 1);
    float by_count = min_keep ? sampi_find_nth(k, t->y, t->n, min_keep, 0.0f) : 0.0f;
    cut.at = by_mass < by_count ? by_mass : by_count;
    float above = sampi_next_up(cut.at);
    cut.over = k->mass(t->y, t->w, t->n, above);
    cut.upto = k->mass(t->y, t->w, t->n, cut.at);
    cut.n_over = k->count(t->y, t->n, above);
    cut.n_upto = k->count(t->y, t->n, cut.at);
    return cut;
}

/* Remove from a compact row the tokens behind the cut, and of those at the cut all but the first that are wanted. What
   stays unmasked in x is kept. The scored tokens are used up: what w holds becomes scores and places of those behind
   the cut, then a list of those at the cut, then these as an array of tokens, whose ids are places. The array is made
   from its end, as it grows over the list. */
static void sampi_drop_scores(sampi_row *row, const sampi_order *o, const sampi_scored *t, float cut, uint64_t want,
                              size_t min_keep)
{
    sampi_work *work = row->work;
    float *score = (float *)(void *)work->w; /* 8 (n + 16) bytes with place, as w has */
    int32_t *place = (int32_t *)(void *)(score + t->n + 16), *tied = (int32_t *)(void *)work->w;
    samp_token_data *d = (samp_token_data *)(void *)work->w;
    size_t n_tied = 0;
    row->k->scale(t->y, t->n, -1.0f, t->y);
    size_t n = row->k->collect(t->y, t->place, 0, t->n, -cut, INFINITY, score, place);
    for (size_t i = 0; i < n; i++) {
        if (score[i] > -cut)
            work->x[place[i]] = -INFINITY;
        else
            place[n_tied++] = place[i];
    }
    memmove(tied, place, n_tied * sizeof *tied);
    for (size_t i = n_tied; i > 0; i--) {
        int32_t at = tied[i - 1];
        d[i - 1].id = at;
        d[i - 1].logit = row->x[at] + 0.0f;
        d[i - 1].p = 0.0f;
    }
    for (size_t i = sampi_prefix_by(o, d, n_tied, want, min_keep); i < n_tied; i++) work->x[d[i].id] = -INFINITY;
}

/* How a look at a band ended: cut; the exact sums are needed; or the cut is not in this band. */
typedef enum sampi_found { SAMPI_FOUND, SAMPI_DOUBT, SAMPI_ELSEWHERE } sampi_found;

/* What typical is to do: its parameters, and what is known of the row's sums. */
typedef struct sampi_typical {
    uint64_t share;
    size_t min_keep;
    sampi_range range;
} sampi_typical;

/* Scores are taken from the mean in the middle of what it can be; *off: how far its ends are from there, with the
   rounding of the divisions. */
static sampi_order sampi_typical_order(const sampi_range *range, double *off)
{
    double mean_lo = range->s_lo / range->z_hi, mean_hi = range->s_hi / range->z_lo;
    sampi_order order = { sampi_typical_score, range->max, 0.5 * (mean_lo + mean_hi) };
    *off = range->is_exact ? 0.0 : 0.5 * (mean_hi - mean_lo) + 1e-12 * mean_hi;
    return order;
}

/* A score with its sign: negative above the mean's logit. */
static double sampi_signed_score(const sampi_order *o, float l) { return o->max - (double)l - o->mean; }

/* Do all of [in_low, in_high) score less than the last token kept, and all below `low` more, by the margins? */
static bool sampi_band_holds(const sampi_band *band, const sampi_order *o, double last, double slack, double apart)
{
    if (!(last + apart < sampi_signed_score(o, sampi_next_down(band->low)))) return false;
    if (sampi_band_is_whole(band)) return true;
    double at_low = sampi_abs(sampi_signed_score(o, band->in_low));
    double at_high = sampi_abs(sampi_signed_score(o, sampi_next_down(band->in_high)));
    return at_low < last - slack && at_high < last - slack;
}

static uint64_t sampi_missing(uint64_t want, uint64_t have) { return want > have ? want - have : 0; }

/* Is the choice the same for every mean and Z in the range? The mean moves each score by at most half of `apart`: so
   no other token may come as near to the last one as that, and this one has to be needed even for the smallest Z. */
static bool sampi_cut_is_sure(const sampi_kernels *k, const sampi_scored *t, const sampi_score_cut *cut, double apart,
                              uint64_t want_lo, size_t min_keep)
{
    if (cut->n_upto - cut->n_over != 1) return false;
    if (k->count(t->y, t->n, sampi_float_up((double)cut->at - apart)) != cut->n_upto) return false;
    if (k->count(t->y, t->n, sampi_float_up((double)cut->at + apart)) != cut->n_over) return false;
    return cut->over < want_lo || cut->n_upto == min_keep;
}

/* Keep the typical tokens of a compact row, if the cut lies in the band. If it lies elsewhere, or the range is not
   exact and leaves a doubt, nothing has changed. */
static sampi_found sampi_typical_cut(sampi_row *row, const sampi_typical *typical, const sampi_band *band)
{
    const sampi_kernels *k = row->k;
    const sampi_range *range = &typical->range;
    bool is_whole = sampi_band_is_whole(band);
    size_t n = row->n, n_inner = 0, min_keep = typical->min_keep;
    uint64_t want_lo = sampi_mulhi(typical->share, sampi_z_lo(range)) + 1;
    uint64_t want = sampi_mulhi(typical->share, sampi_z_hi(range)) + 1, inner = 0;
    double off;
    sampi_order order = sampi_typical_order(range, &off);
    if (!is_whole) {
        n_inner = sampi_row_count(row, band->in_low, band->in_high);
        n = k->count(row->x, n, band->low) - n_inner;
        if (n > row->n / 2) return SAMPI_ELSEWHERE; /* that is the room for it */
    }
    sampi_scored t = sampi_lay_scored(row->work, n, !is_whole);
    if (is_whole)
        memcpy(t.y, row->x, n * sizeof *t.y);
    else
        inner = sampi_band_tokens(row, range->max, band, &t);
    if (inner >= want && n_inner >= min_keep) return SAMPI_ELSEWHERE;
    want = sampi_missing(want, inner);
    min_keep = (size_t)sampi_missing(min_keep, n_inner);
    sampi_score_tokens(k, &t, &order);
    sampi_score_cut cut = sampi_cut_scores(k, &t, want, min_keep);
    if (cut.upto < want || cut.n_upto < min_keep) return SAMPI_ELSEWHERE;
    double last = -(double)cut.at, slack = 1e-7 * last + 1e-44; /* its score, and the rounding to f32 */
    double apart = 2.0 * (off + slack);
    if (!sampi_band_holds(band, &order, last, slack, apart)) return SAMPI_ELSEWHERE;
    if (!range->is_exact && !sampi_cut_is_sure(k, &t, &cut, apart, want_lo, min_keep)) return SAMPI_DOUBT;
    sampi_drop_scores(row, &order, &t, cut.at, sampi_missing(want, cut.over),
                      (size_t)sampi_missing(min_keep, cut.n_over));
    sampi_gather(row, band->low);
    (void)sampi_scan(row); /* the maximum need not be typical */
    return SAMPI_FOUND;
}

/* A guess at the band of a long compact row: the scores of every 32nd token, and where shares of their mass end that
   are somewhat larger and smaller than wanted: by 1/64, 1/16, 1/4 of all. The more tries, the wider. */
static sampi_band sampi_typical_guess(const sampi_row *row, const sampi_typical *typical, int tries)
{
    const sampi_range *range = &typical->range;
    sampi_order order = { sampi_typical_score, range->max, range->s_lo / range->z_lo };
    sampi_scored t = sampi_lay_scored(row->work, (row->n + 31) / 32, false);
    int shift = 6 - 2 * tries;
    for (size_t i = 0; i < t.n; i++) t.y[i] = row->x[32 * i];
    sampi_score_tokens(row->k, &t, &order);
    uint64_t all = row->k->mass(t.y, t.w, t.n, -FLT_MAX), part = sampi_mulhi(typical->share, all), off = all >> shift;
    size_t rank = typical->min_keep / 32, more = t.n >> shift;
    double far_end = -(double)sampi_cut_scores(row->k, &t, part + off, rank ? rank + more : 0).at;
    double near_end =
        -(double)sampi_cut_scores(row->k, &t, sampi_missing(part, off), (size_t)sampi_missing(rank, more)).at;
    double middle = order.max - order.mean;
    double slack = 1e-6 * (order.mean + near_end); /* what ties at the cut goes with it */
    if (!(near_end > slack)) return sampi_band_above(-FLT_MAX);
    sampi_band band;
    band.low = sampi_float_up(middle - far_end - slack);
    band.in_low = sampi_float_up(middle - near_end + slack);
    band.in_high = sampi_float_up(middle + near_end - slack);
    return band;
}

/* A row of which few tokens come near enough to the mean: those beyond twice the mean below the maximum are less
   typical than the maximum itself, and so on. */
static bool sampi_typical_head(sampi_row *row, sampi_typical *typical)
{
    sampi_range *range = &typical->range;
    size_t many = 2 * typical->min_keep + 64;
    float first = many < row->n / 16 ? sampi_logit_of(row, sampi_row_bound(row, many)) : -INFINITY;
    for (double reach = 1.0; reach <= 64.0; reach *= 2.0) {
        double mean = range->s_hi / range->z_lo;
        float low = sampi_float_up((double)range->max - (1.0 + reach) * mean - 1e-3);
        if (typical->min_keep > 1 && low < first) { /* these may be enough, and far fewer */
            low = first;
            first = -INFINITY;
        }
        sampi_band band = sampi_band_above(low);
        sampi_row head = *row;
        sampi_gather(&head, sampi_unscale(row, low));
        if (head.n > 4 * SAMPI_SMALL) return false;
        sampi_found found = sampi_typical_cut(&head, typical, &band);
        if (found == SAMPI_DOUBT) {
            *range = sampi_exact(row, range->max, true);
            found = sampi_typical_cut(&head, typical, &band);
        }
        if (found == SAMPI_FOUND) {
            *row = head;
            return true;
        }
    }
    return false;
}

/* A long row: its head with an estimate, else all of it, compact, with exact sums. There the band is guessed, and
   widened, before everything gets a score. */
static int sampi_fast_typical(sampi_row *row, sampi_sampler *s)
{
    sampi_typical typical;
    typical.share = sampi_share(s->u.cut.p);
    typical.min_keep = s->u.cut.min_keep;
    int status = sampi_range_of(row, &typical.range);
    if (status) return status;
    if (!sampi_is_compact(row)) {
        if (sampi_typical_head(row, &typical)) return SAMP_OK;
        if (!typical.range.is_exact) typical.range = sampi_exact(row, typical.range.max, true);
        sampi_compact(row);
    }
    if (typical.min_keep > row->n) typical.min_keep = row->n;
    if (row->n > 4 * SAMPI_SMALL) {
        for (int tries = 0; tries < 3; tries++) {
            sampi_band band = sampi_typical_guess(row, &typical, tries);
            if (sampi_typical_cut(row, &typical, &band) == SAMPI_FOUND) return SAMP_OK;
        }
    }
    sampi_band all = sampi_band_above(-FLT_MAX); /* with an exact range, the cut lies there for sure */
    (void)sampi_typical_cut(row, &typical, &all);
    return SAMP_OK;
}

/* ---- tail_free ---- */

/* The logits of a compact row, the largest first: a radix sort of their keys, 11 bits at a time, between the place of
   the weights and that behind it, 4 bytes a token. Three rounds end there, so that the weights have their place. */
static float *sampi_sorted_logits(const sampi_row *row)
{
    size_t n = row->n;
    uint64_t *w = row->work->w;
    uint32_t *front = (uint32_t *)(void *)w, *back = (uint32_t *)(void *)(w + n + 16), *from = front, *to = back;
    float *sorted = (float *)(void *)back;
    for (size_t i = 0; i < n; i++) from[i] = (uint32_t)INT32_MAX - (uint32_t)sampi_key(row->x[i]);
    for (int shift = 0; shift < 32; shift += 11) {
        uint32_t start[2049] = { 0 };
        for (size_t i = 0; i < n; i++) start[(from[i] >> shift & 2047) + 1]++;
        for (int digit = 1; digit < 2048; digit++) start[digit] += start[digit - 1];
        for (size_t i = 0; i < n; i++) to[start[from[i] >> shift & 2047]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < n; i++) sorted[i] = sampi_unkey((int32_t)((uint32_t)INT32_MAX - back[i]));
    return sorted;
}

/* a_i = |d_i - d_i+1| with d_i = w_i - w_i+1: how much the weights bend at i + 1. */
static uint64_t sampi_bend(const uint64_t *w, size_t i) { return sampi_distance(w[i] + w[i + 2], 2 * w[i + 1]); }

/* Cut a compact row, of which `rest` tokens at most are missing, all of them below the others. false: these may matter,
   and nothing has changed.
   d_i is not negative. So those a_i that need a missing token, or are missing themselves, sum to at most the sum of
   d_i + d_i+1 over them, which is w_i + w_i+1 for the first of them less what the last ones are. (w may fail to be
   monotone by its rounding: one unit a token, four for each a_i.) */
static bool sampi_tail_cut(sampi_row *row, const sampi_sampler *s, float max, size_t rest)
{
    const sampi_kernels *k = row->k;
    size_t n = row->n, keep = s->u.cut.min_keep ? s->u.cut.min_keep : 1;
    uint64_t *w = row->work->w, share = sampi_share(s->u.cut.p), total = 0, run = 0, beyond = 0;
    if (n <= 2) return rest == 0;
    const float *l = sampi_sorted_logits(row);
    k->weights(l, n, max, w);
    for (size_t i = 0; i + 2 < n; i++) total += sampi_bend(w, i);
    if (rest) beyond = w[n - 2] + w[n - 1] + 4 * rest;
    bool is_flat = sampi_tail_is_flat(total, k->mass(l, w, n, -FLT_MAX) + rest * (w[n - 1] + 1));
    if (rest && is_flat) return false;
    uint64_t bound = sampi_mulhi(share, is_flat ? n - 2 : total), bound_hi = sampi_mulhi(share, total + beyond);
    size_t i = 0;
    for (; i + 2 < n; i++) {
        run += is_flat ? 1 : sampi_bend(w, i);
        if (run > bound) break;
    }
    if (i + 2 == n) return rest == 0;
    if (i > keep) keep = i;
    if (rest && (run <= bound_hi || keep > n)) return false;
    if (keep < n) sampi_cut_at(row, l[keep - 1], keep);
    return true;
}

/* The first few hundred tokens decide, unless the row is flat: then all of it is sorted. */
static int sampi_fast_tail_free(sampi_row *row, sampi_sampler *s)
{
    float max = sampi_row_max(row);
    for (size_t want = 256; !sampi_is_compact(row) && want < row->n / 8; want *= 8) {
        sampi_row head = *row;
        sampi_gather_first(&head, want);
        if (!sampi_tail_cut(&head, s, max, row->n - head.n)) continue;
        *row = head;
        return SAMP_OK;
    }
    sampi_compact(row);
    (void)sampi_tail_cut(row, s, max, 0);
    return SAMP_OK;
}

/* ---- selecting ---- */

/* The first id that has the maximum. */
static int sampi_fast_greedy(sampi_row *row, sampi_sampler *s)
{
    sampi_row best = *row; /* log-probabilities need the row itself */
    size_t i = 0;
    (void)s;
    sampi_gather_first(&best, 1);
    while (best.x[i] != best.top) i++;
    row->token = best.id[i];
    return SAMP_OK;
}

/* Sums of q for each tile; returns their sum. */
static uint64_t sampi_row_envelope(const sampi_row *row, float max, uint64_t *tile)
{
    sampi_pieces it;
    uint64_t total = 0;
    for (sampi_start(&it, row); sampi_next_piece(&it);)
        row->k->envelope(it.x, it.n, row->r, max, row->floor, tile + it.at / SAMPI_TILE);
    for (size_t t = 0; t < sampi_n_tiles(row->n); t++) total += tile[t];
    return total;
}

/* The draw of sampi_draw (>>selection), token for token: propose by the integer bound q >= w / 2^14, accept with
   probability w / (2^14 q), else try again. Sums of q per tile make a proposal a walk over the tiles and over one of
   them; the running sum ends within it, since the tile's own sum said so. sampi_random only reads s. */
static int sampi_fast_dist(sampi_row *row, sampi_sampler *s)
{
    uint64_t *tile = row->work->sum, random[2];
    float max = sampi_row_max(row);
    uint64_t total = sampi_row_envelope(row, max, tile);
    sampi_pieces it;
    sampi_start(&it, row);
    for (uint32_t attempt = 0;; attempt++) {
        sampi_random(s, attempt, random);
        uint64_t left = sampi_mulhi(random[0], total), q;
        size_t t = 0, i = 0;
        while (tile[t] <= left) left -= tile[t++];
        sampi_piece_at(&it, t * SAMPI_TILE);
        for (;; i++) {
            q = it.x[i] >= row->floor ? sampi_envelope(max, sampi_logit_of(row, it.x[i])) : 0;
            if (q > left) break;
            left -= q;
        }
        row->token = sampi_id_at(row, it.at + i);
        if (sampi_mulhi(random[1], q << 14) < sampi_weight(max, sampi_logit_of(row, it.x[i]))) return SAMP_OK;
    }
}

/* adaptive_p's logits stand where w does, and are drawn from as a row of their own, of the same shape. p is a float of
   the sum: no estimate will do. */
static int sampi_fast_adaptive_p(sampi_row *row, sampi_sampler *s)
{
    if (s->u.adaptive.target < 0.0f) return sampi_fast_dist(row, s);
    if (!row->x || row->r != 1.0f || row->n_change) sampi_compact(row);
    double z = (double)sampi_row_sums(row, row->top, -FLT_MAX, false).z;
    float *l = (float *)(void *)row->work->w, aim = sampi_adaptive_p_aim(s);
    row->k->probs(row->x, row->n, row->top, z, l);
    for (size_t i = 0; i < row->n; i++)
        l[i] = sampi_masked(row->x[i]) ? -INFINITY : sampi_adaptive_p_logit(l[i], aim);
    sampi_row adapted =
        *row; /* its scan overwrites the lines of a dense row: nothing asks for them after this draw */
    sampi_set_tokens(&adapted, l, row->id, row->n);
    int status = sampi_scan(&adapted);
    if (!status) status = sampi_fast_dist(&adapted, s);
    if (status) return status;
    row->token = adapted.token;
    s->now.pending = row->array ? row->array->data[row->token].id : row->token;
    s->now.pending_p = (float)(sampi_exp(row->top, row->x[sampi_find_id(row, row->token)]) / z);
    *row = adapted; /* samp_apply shows it */
    return SAMP_OK;
}

/* ---- mirostat ---- */

/* Draw among the tokens kept and learn from the surprise. */
static int sampi_mirostat_draw(sampi_row *row, sampi_sampler *s)
{
    int status = sampi_fast_dist(row, s);
    if (status) return status;
    float max = sampi_row_max(row), l = sampi_logit_of(row, sampi_present(row, sampi_find_id(row, row->token)));
    uint64_t z = sampi_row_sums(row, max, row->floor, false).above;
    sampi_mirostat_follow(s, (double)max - (double)l, z);
    return SAMP_OK;
}

/* The floor is a function of Z: at both ends of its range it has to leave the same tokens. */
static int sampi_fast_mirostat_v2(sampi_row *row, sampi_sampler *s)
{
    sampi_range range;
    int status = sampi_range_of(row, &range);
    if (status) return status;
    for (;;) {
        double lo = sampi_mirostat_floor(s, range.max, range.z_lo), max = (double)range.max;
        double hi = sampi_mirostat_floor(s, range.max, range.z_hi);
        if (lo > max) { /* not even the maximum reaches it: that stays alone */
            sampi_keep_first(row, 1);
            break;
        }
        if (hi <= max && sampi_keep_between(row, lo, hi)) break;
        if (range.is_exact) return SAMPI_DECLINED;
        range = sampi_exact(row, range.max, false);
    }
    return sampi_mirostat_draw(row, s);
}

#define SAMPI_ZIPF_MAX 128 /* tokens whose logits mirostat may look at here; llama.cpp's default is 100 */

/* s of the first m tokens, whose logits are put in order. */
static sampi_zipf sampi_row_zipf(const sampi_row *head)
{
    float l[SAMPI_ZIPF_MAX];
    sampi_zipf zipf = { 0.0, 0.0 };
    for (size_t i = 0; i < head->n; i++) {
        size_t j = i;
        for (; j > 0 && l[j - 1] < head->x[i]; j--) l[j] = l[j - 1];
        l[j] = head->x[i];
    }
    for (size_t i = 0; i + 1 < head->n; i++) sampi_zipf_add(&zipf, i, l[i], l[i + 1]);
    return zipf;
}

/* How many to keep is a float of the first m logits and of n: nothing is summed before the draw. */
static int sampi_fast_mirostat(sampi_row *row, sampi_sampler *s)
{
    if (s->u.mirostat.m > SAMPI_ZIPF_MAX || sampi_is_compact(row) || row->n_change) return SAMPI_DECLINED;
    size_t n = sampi_row_count(row, -FLT_MAX, INFINITY);
    sampi_row head = *row;
    sampi_keep_first(&head, (size_t)s->u.mirostat.m);
    sampi_zipf zipf = sampi_row_zipf(&head);
    sampi_keep_first(row, sampi_zipf_keep(&zipf, s, n));
    return sampi_mirostat_draw(row, s);
}

/* ---- in llama.cpp's arithmetic ----
   The samplers of >>llama on a dense row: what the table's rows name as fast_llama. Thresholds decide which candidates
   stay; they become the array, in llama.cpp's order, and there its arithmetic goes on step by step. So a sampler here
   is done with the row once row->cur or row->token is there. Float sums over the whole row are those of its order
   to the bit, by ascending id or by descending logit, though few of their terms are computed (sampi_llama_climb). Sums
   of doubles are known to their rounding: what is the same at both ends of that is decided.

   Masked tokens count as candidates in >>llama: where they would be among those kept, a sampler declines. It may have
   drawn its random numbers by then; they are taken back (sampi_run_llama). */

/* A float sum moves by m in the end, and by w if all steps count as positive: does it keep its sign and its exponent on
   the way? */
static bool sampi_stays_near(float sum, double m, double w)
{
    float lo = (float)((double)sum + (m - w) / 2), hi = (float)((double)sum + (m + w) / 2);
    uint32_t u[3];
    memcpy(&u[0], &sum, 4);
    memcpy(&u[1], &lo, 4);
    memcpy(&u[2], &hi, 4);
    return u[0] >> 23 == u[1] >> 23 && u[0] >> 23 == u[2] >> 23;
}

/* What each of x [n], none masked, adds to the float sum `from`: *sum and *way grow by these steps and by their sizes
   (estimates from 2^24 ulps of `from` on, else exact). -> is none half way between two floats when added? */
static bool sampi_rise(const float *x, size_t n, float from, double *sum, double *way)
{
    const float half = sampi_half_ulp(from);
    bool sure = true;
    size_t i = 0;
#if SAMPI_GNU
    typedef float four __attribute__((vector_size(16)));
    typedef int32_t bits __attribute__((vector_size(16)));
    const four none = { 0.0f, 0.0f, 0.0f, 0.0f };
    four up = none, size = none;
    bits doubts = (bits)none;
    for (; i + 4 <= n; i += 4) {
        four v, d;
        memcpy(&v, x + i, sizeof v);
        d = (from + v) - from;
        doubts |= (four)((bits)(v - d) & 0x7FFFFFFF) >= half + none;
        up += d;
        size += (four)((bits)d & 0x7FFFFFFF);
    }
    for (int k = 0; k < 4; k++) {
        sure &= !doubts[k];
        *sum += (double)up[k];
        *way += (double)size[k];
    }
#endif
    for (; i < n; i++) {
        float d = (from + x[i]) - from;
        sure &= fabsf(x[i] - d) < half;
        *sum += (double)d;
        *way += (double)fabsf(d);
    }
    return sure;
}

/* sum + x [0] + x [1] + ..., each sum rounded to float, as a loop gives it; x [n] has no masked one. While a running
   sum stays between two powers of two it grows by multiples of one ulp: then each term counts as it would on the tile's
   first sum, in any order. Not so one that ends half way between two sums, which goes to the even one, and a tile that
   may cross a power of two: these go one by one. */
static SAMPI_COLD float sampi_add(const float *x, size_t n, float sum)
{
    for (size_t at = 0; at < n; at += SAMPI_TILE) {
        size_t end = n - at < SAMPI_TILE ? n : at + SAMPI_TILE;
        double m = 0.0, w = 0.0;
        if (sampi_rise(x + at, end - at, sum, &m, &w) && sampi_stays_near(sum, m, w))
            sum = (float)((double)sum + m);
        else
            for (size_t i = at; i < end; i++) sum += x[i];
    }
    return sum;
}

/* Do the kernels give libm's expf? They take it for e^x rounded, with an error well below SAMPI_EXPF_DOUBT; one that
   computes in float shows in a few of these numbers. Asked once for a workspace. */
typedef double sampi_expf(const float *x, size_t n, float t, float max, float *e);
static SAMPI_COLD sampi_expf *sampi_expf_of(sampi_work *work, const sampi_kernels *k)
{
    float x[SAMPI_TILE], e[SAMPI_TILE + 32];
    for (int tile = 0; tile < 8 && work->libm == 0; tile++) {
        for (int i = 0; i < SAMPI_TILE; i++) x[i] = -0.00831f * (float)(i * 8 + tile);
        (void)k->expf(x, SAMPI_TILE, 1.0f, 0.0f, e);
        for (int i = 0; i < SAMPI_TILE; i++)
            if (e[i] != expf(x[i])) work->libm = -1;
    }
    if (work->libm == 0) work->libm = 1;
    return work->libm > 0 ? k->expf : sampi_expf_scalar;
}

/* A stable sort by the upper halves of keys, 11 bits at a time: from `from` to `to` and back, three times in all, so
   that they end in `to`. */
static void sampi_sort_keys(uint64_t *from, uint64_t *to, size_t n)
{
    for (int shift = 32; shift < 64; shift += 11) {
        uint32_t start[2049] = { 0 };
        for (size_t i = 0; i < n; i++) start[(from[i] >> shift & 2047) + 1]++;
        for (int digit = 1; digit < 2048; digit++) start[digit] += start[digit - 1];
        for (size_t i = 0; i < n; i++) to[start[from[i] >> shift & 2047]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
}

/* The candidates of a compact row in order; x and id are used up. A stable sort of the keys, 11 bits at a time, with
   ids to go along: from x and id to where w is, back over both of them, and to w, where the array grows over it. */
static samp_token_data_array sampi_sorted_array(const sampi_row *row)
{
    size_t n = row->n;
    uint64_t *from = (uint64_t *)(void *)row->work->x, *to = row->work->w;
    samp_token_data_array cur = { row->work->candidate, n, -1, true };
    for (size_t i = 0; i < n; i++)
        to[i] = (uint64_t)((uint32_t)INT32_MAX - (uint32_t)sampi_key(row->x[i])) << 32 | (uint32_t)row->id[i];
    memcpy(from, to, n * sizeof *to);
    sampi_sort_keys(from, to, n);
    for (size_t i = n; i > 0; i--) {
        uint64_t u = row->work->w[i - 1];
        samp_token_data *d = &cur.data[i - 1];
        d->id = (samp_token)(uint32_t)u;
        d->logit = sampi_unkey((int32_t)((uint32_t)INT32_MAX - (uint32_t)(u >> 32)));
        d->p = 0.0f;
    }
    return cur;
}

/* What is left of a row becomes the array. */
static int sampi_end_row(sampi_row *row, const sampi_row *left, bool in_order)
{
    bool many = in_order && left->n > SAMPI_TILE;
    row->cur = many ? sampi_sorted_array(left) : sampi_row_array(left);
    if (in_order) sampi_sort_all(&row->cur);
    return SAMP_OK;
}

/* The first `want` and maybe some more, in order, or all: to row->cur, the row itself stays. */
static void sampi_llama_head(sampi_row *row, size_t want)
{
    sampi_row head = *row;
    sampi_gather_first(&head, want < row->n ? want : row->n);
    sampi_end_row(row, &head, true);
}

/* Exactly the first k. */
static int sampi_llama_keep_first(sampi_row *row, size_t k)
{
    sampi_row head = *row;
    if (k > row->n) k = row->n;
    sampi_keep_first(&head, k);
    return head.n == k ? sampi_end_row(row, &head, true) : SAMPI_DECLINED;
}

/* All of a row as an array; in_order: sorted. */
static SAMPI_COLD void sampi_llama_array(sampi_row *row, bool in_order)
{
    float t = row->r;
    bool is_scaled = row->by_order && row->divided; /* it was sorted before that */
    sampi_row all = *row;
    if (is_scaled) all.divided = false, all.r = 1.0f;
    if (in_order) sampi_compact(&all); /* of one by_order, what is masked is gone */
    sampi_end_row(row, &all, in_order);
    if (is_scaled) sampi_llama_scale(&row->cur, t);
}

/* Has a row no masked tokens? */
static bool sampi_is_full(const sampi_row *row)
{
    return row->floor <= -FLT_MAX && sampi_row_count(row, -FLT_MAX, INFINITY) == row->n;
}

/* Does this sampler, which has declined, begin with sorting its candidates? Then they may be sorted at once. */
static bool sampi_llama_sorts(const sampi_sampler *s)
{
    const unsigned sorts = 1u << SAMPI_TAIL_FREE | 1u << SAMPI_TYPICAL | 1u << SAMPI_TOP_A | 1u << SAMPI_XTC |
                           1u << SAMPI_SOFTMAX | 1u << SAMPI_MIROSTAT | 1u << SAMPI_MIROSTAT_V2;
    return (sorts >> s->kind & 1) || (s->kind == SAMPI_TEMP_EXT && s->u.temp.delta > 0.0f);
}

/* e^(l - max), where `logits` is, of the row itself or of a part of it. The sums of tiles are doubles where sum is.
   Returns the sum of all. */
static SAMPI_COLD double sampi_llama_exps(const sampi_row *row, const sampi_row *part, float max)
{
    double *tile = (double *)(void *)row->work->sum, sum = 0.0;
    float *e = row->work->logits;
    sampi_pieces it;
    for (sampi_start(&it, part); sampi_next_piece(&it);)
        for (size_t at = 0; at < it.n; at += SAMPI_TILE, tile++) {
            size_t n = it.n - at < SAMPI_TILE ? it.n - at : SAMPI_TILE;
            *tile = row->expf(it.x + at, n, part->divided ? part->r : 1.0f, max, e + it.at + at);
            sum += *tile;
        }
    return sum;
}

/* The terms of a tile, as libm makes them. */
static SAMPI_COLD void sampi_llama_terms(const sampi_row *part, const float *x, size_t n, const sampi_climb *c,
                                         float *e)
{
    (void)part->expf(x, n, part->divided ? part->r : 1.0f, c->max, e);
    for (size_t i = 0; i < n; i++) {
        if (x[i] > c->most)
            e[i] = 0.0f;
        else if (c->sum > 0.0f)
            e[i] = sampi_llama_share(e[i] / c->sum);
    }
}

/* *sum + the terms of a part of a row one after the other, each sum rounded to float, as a loop gives it. Estimates do
   but for tiles with a term in doubt, and for sums so small that terms below e^-32 count. in_order: as the part stands.
   Else in an order that nobody knows, which is no matter as long as the sum stays between two powers of two, and no
   term ends half way between two sums; false: that is not so. */
static SAMPI_COLD bool sampi_llama_climb(const sampi_row *part, const sampi_climb *c, bool in_order, float *sum)
{
    const sampi_kernels *k = part->k;
    float e[SAMPI_TILE + 32], from = *sum;
    double all = 0.0;
    sampi_pieces it;
    for (sampi_start(&it, part); sampi_next_piece(&it);)
        for (size_t at = 0, n; at < it.n; at += n) {
            double m = 0.0, w = 0.0;
            n = it.n - at < SAMPI_TILE ? it.n - at : SAMPI_TILE;
            bool sure = from > 1e-3f && !part->divided && k->climb(it.x + at, n, c, from, &m) == 0;
            if (!sure || (in_order && !sampi_stays_near(from, m, m))) {
                sampi_llama_terms(part, it.x + at, n, c, e);
                if (in_order) {
                    from = sampi_add(e, n, from);
                    continue;
                }
                m = 0.0;
                if (!sampi_rise(e, n, from, &m, &w)) return false;
            }
            all += m;
            if (in_order)
                from = (float)((double)from + m);
            else if (all > (double)from)
                return false;
        }
    *sum = in_order ? from : (float)((double)from + all);
    return in_order || sampi_stays_near(from, all, all);
}

/* Descending; a shell sort, as these are few. */
static SAMPI_COLD void sampi_sort_floats(float *x, size_t n)
{
    for (size_t gap = n / 2; gap > 0; gap /= 2)
        for (size_t i = gap; i < n; i++) {
            float v = x[i];
            size_t j = i;
            for (; j >= gap && x[j - gap] < v; j -= gap) x[j] = x[j - gap];
            x[j] = v;
        }
}

/* The terms of a part's elements from floor on by descending logits, from 0. They are dealt out to buckets, where
   `logits` is: as a rule those of some buckets together count alike in any order, else they are sorted. Uses x and id
   up, and scratch. */
static SAMPI_COLD float sampi_llama_climb_down(const sampi_row *part, const sampi_climb *c, float floor)
{
    sampi_work *work = part->work;
    uint32_t *end = (uint32_t *)(void *)work->scratch;
    const size_t last = sampi_n_lines(part->n);
    const float range = c->max - floor < 60.0f ? c->max - floor : 60.0f, scale = (float)last / range;
    float *x = work->x, *y = work->logits, sum = 0.0f;
    sampi_row some = *part;
    sampi_pieces it;
    size_t n = 0;
    for (sampi_start(&it, part); sampi_next_piece(&it);)
        n += part->k->collect(it.x, NULL, 0, it.n, floor, INFINITY, x + n, work->id + n);
    memset(end, 0, (last + 2) * sizeof *end);
    for (size_t i = 0; i < n; i++) {
        float at = (c->max - x[i]) * scale;
        work->id[i] = at < (float)last ? (int32_t)at : (int32_t)last;
        end[work->id[i] + 1]++;
    }
    for (size_t i = 1; i <= last; i++) end[i] += end[i - 1];
    for (size_t i = 0; i < n; i++) y[end[work->id[i]]++] = x[i];
    for (size_t i = 0, at = 0; i <= last; i++) {
        size_t len = end[i] - at;
        float to = sum;
        if (len < 64 && i < last) continue;
        sampi_set_tokens(&some, y + at, NULL, len);
        if (!sampi_llama_climb(&some, c, false, &to)) {
            sampi_sort_floats(y + at, len);
            to = sum;
            (void)sampi_llama_climb(&some, c, true, &to);
        }
        sum = to;
        at += len;
    }
    return sum;
}

/* The float sum of terms of a part by descending logits, of which row->cur are the first: `head` is that of these. */
static SAMPI_COLD float sampi_llama_sum_sorted(const sampi_row *row, const sampi_row *part, sampi_climb c, float head)
{
    float sum = head, floor = c.max + logf(sampi_half_ulp(head) / (c.a + 60.0f * c.b)) - 0.01f;
    c.most = sampi_next_down(row->cur.data[row->cur.size - 1].logit);
    if (sampi_llama_climb(part, &c, false, &sum)) return sum;
    c.most = INFINITY;
    if (!(floor > c.max - 60.0f)) floor = -FLT_MAX;
    return sampi_llama_climb_down(part, &c, floor); /* what is below is too little for any sum */
}

/* That of e^(l - max). */
static SAMPI_COLD void sampi_llama_total(const sampi_row *row, const sampi_row *part, sampi_llama_sums *sums)
{
    sampi_climb c = { sums->max, 0.0f, 1.0f, 0.0f, 0.0f };
    float head = 0.0f;
    for (size_t i = 0; i < row->cur.size; i++) head += expf(row->cur.data[i].logit - sums->max);
    sums->sum = sampi_llama_sum_sorted(row, part, c, head);
}

/* What a sum of doubles may be off by for each of its terms, the sum that it is compared with too. */
#define SAMPI_SUM_DOUBT (1.0 / ((uint64_t)1 << 51))

/* The head of a row without masked tokens, not divided, in row->cur, and the sums over all of it. */
static SAMPI_COLD bool sampi_llama_sorted_sums(sampi_row *row, sampi_llama_sums *sums)
{
    if (row->n <= SAMPI_SMALL || row->divided || !sampi_is_full(row)) return false;
    sampi_llama_head(row, 512);
    if (row->cur.size > row->n / 4) return false;
    sums->max = row->cur.data[0].logit;
    sampi_llama_total(row, row, sums);
    return true;
}

/* ---- its samplers ---- */

/* All of them: only in another order. */
static int sampi_fast_llama_top_k(sampi_row *row, sampi_sampler *s)
{
    if ((size_t)s->u.top_k.k >= row->n && !row->divided && sampi_is_full(row)) {
        row->by_order = true;
        return SAMP_OK;
    }
    return sampi_llama_keep_first(row, (size_t)s->u.top_k.k);
}

static SAMPI_COLD int sampi_fast_llama_min_p(sampi_row *row, sampi_sampler *s)
{
    float floor = sampi_row_max(row) + logf(s->u.cut.p);
    sampi_row head = *row;
    sampi_gather(&head, sampi_unscale(row, floor));
    if (head.n >= sampi_min_keep(s)) return sampi_end_row(row, &head, row->by_order);
    return sampi_llama_keep_first(row, sampi_min_keep(s));
}

/* The sum is by id, the cut by order. */
static SAMPI_COLD int sampi_fast_llama_top_p(sampi_row *row, sampi_sampler *s)
{
    sampi_llama_sums sums = { sampi_row_max(row), 0.0f };
    sampi_climb c = { sums.max, INFINITY, 1.0f, 0.0f, 0.0f };
    if (!row->by_order)
        (void)sampi_llama_climb(row, &c, true, &sums.sum);
    else if (!sampi_llama_sorted_sums(row, &sums))
        return SAMPI_DECLINED;
    for (size_t want = 128;; want = want < row->n / 64 ? want * 8 : row->n) {
        sampi_llama_head(row, want);
        samp_token_data_array *cur = &row->cur;
        size_t size = cur->size;
        if (size < want && size < row->n) return SAMPI_DECLINED;
        for (size_t i = 0; i < size; i++) cur->data[i].p = sampi_llama_p(&sums, cur->data[i].logit);
        sampi_llama_keep_share(cur, s->u.cut.p, false, s->u.cut.min_keep);
        if (cur->size < size || size == row->n) return SAMP_OK;
    }
}

/* The sum of squares goes on with x [n], none of them masked: a step of sampi_llama_top_n_sigma, which adds in double
   and rounds to float, so what is said of sampi_add holds here too. */
static float sampi_llama_squares(const float *x, size_t n, float mean, float sum)
{
    double half = (double)sampi_half_ulp(sum), from = (double)sum, moved[2] = { 0.0, 0.0 };
    bool tie = false;
    for (size_t i = 0; i < n; i++) {
        double d = (double)(x[i] - mean), to = from + sampi_round(d * d), rounded = (double)(float)to;
        tie |= !(fabs(to - rounded) < half);
        moved[i % 2] += rounded - from;
    }
    double all = moved[0] + moved[1];
    if (!tie && sampi_stays_near(sum, all, all)) return (float)(from + all);
    for (size_t i = 0; i < n; i++) {
        double d = (double)(x[i] - mean);
        sum = (float)((double)sum + sampi_round(d * d));
    }
    return sum;
}

/* Two passes over the unmasked, tile by tile. The floor stays with the row: what is below is masked, not dropped. */
static int sampi_fast_llama_top_n_sigma(sampi_row *row, sampi_sampler *s)
{
    float x[SAMPI_TILE + 16], sum = 0.0f, squares = 0.0f, mean = 0.0f, count = 0.0f;
    int32_t id[SAMPI_TILE + 16];
    sampi_pieces it;
    if (row->divided) return SAMPI_DECLINED;
    if (row->n < 2) return SAMP_OK;
    for (int pass = 0; pass < 2; pass++) {
        for (sampi_start(&it, row); sampi_next_piece(&it);)
            for (size_t at = 0, n; at < it.n; at += SAMPI_TILE) {
                n = it.n - at < SAMPI_TILE ? it.n - at : SAMPI_TILE;
                const float *unmasked = it.x + at;
                if (row->k->count(unmasked, n, -FLT_MAX) < n) {
                    n = row->k->collect(unmasked, NULL, 0, n, -FLT_MAX, INFINITY, x, id);
                    unmasked = x;
                }
                if (pass)
                    squares = sampi_llama_squares(unmasked, n, mean, squares);
                else
                    sum = sampi_add(unmasked, n, sum), count += (float)n;
            }
        mean = sum / count;
    }
    float sigma = (float)sqrt((double)(squares / count));
    float floor = sampi_row_max(row) - sampi_roundf(s->u.sigma.n * sigma);
    if (floor > -FLT_MAX) row->floor = floor;
    return SAMP_OK;
}

/* What is dropped is masked in the row, which counts as sorted from now on. */
static SAMPI_COLD int sampi_fast_llama_xtc(sampi_row *row, sampi_sampler *s)
{
    sampi_llama_sums sums;
    if (row->n < 2 || sampi_mt_float(sampi_mt_of(s)) > s->u.xtc.p) return SAMP_OK;
    if (row->array) return SAMPI_DECLINED; /* all of it is shown in order */
    if (!sampi_llama_sorted_sums(row, &sums)) return SAMPI_DECLINED;
    const samp_token_data *d = row->cur.data;
    size_t above = 0;
    while (above < row->cur.size && sampi_llama_p(&sums, d[above].logit) >= s->u.xtc.t) above++;
    if (above == row->cur.size || !sampi_has_room(row, above)) return SAMPI_DECLINED;
    for (size_t i = 0; i + 1 < above && row->n - (above - 1) >= s->u.xtc.min_keep; i++)
        sampi_add_change(row, d[i].id, -INFINITY);
    row->by_order = true;
    row->cur.data = NULL;
    return SAMP_OK;
}

/* The token on which u falls, by sums of doubles in any order; they are off by less than `doubt` of their total. A row
   in order is looked at from its head on: i of row->cur. */
static SAMPI_COLD bool sampi_llama_find(sampi_row *row, double sum, double u, double doubt, size_t *i)
{
    const double *tile = (const double *)(const void *)row->work->sum;
    const float *e = row->work->logits;
    double want = u * sum, off = sum * doubt, run = 0.0, before = 0.0;
    size_t at = 0;
    if (!row->by_order) {
        while (at + SAMPI_TILE < row->n && run + *tile < want) run += *tile++, at += SAMPI_TILE;
        for (; at < row->n && run < want; at++) before = run, run += (double)e[at];
    } else {
        sampi_row sorted = *row;
        float max = sampi_row_max(row);
        sorted.divided = false;
        sorted.r = 1.0f;
        sampi_llama_head(&sorted, 1024);
        if (sorted.cur.size > row->n / 4) return false;
        row->cur = sorted.cur;
        if (row->divided) sampi_llama_scale(&row->cur, row->r);
        for (; at < row->cur.size && run < want; at++)
            before = run, run += (double)expf(row->cur.data[at].logit - max);
    }
    *i = at - 1;
    return at > 0 && before < want - off && run >= want + off;
}

/* The same for a row that is not in order, by estimates of the tiles' sums: only the terms of one tile are computed. A
   term is off by sweep's error, and by the roundings of x / t or its estimate x (1 / t) and of l - max: 5e-7 for each
   nat that l is below max and 2e-7 for each of max, at most; here for two sums. */
static SAMPI_COLD bool sampi_llama_guess(sampi_row *row, float max, double u, size_t *i)
{
    double *tile = (double *)(void *)row->work->sum, z = 0.0, s = 0.0, run = 0.0, before = 0.0, d;
    float r = row->divided ? 1.0f / row->r : 1.0f, e[SAMPI_TILE + 32];
    size_t t = 0, at = 0, n;
    sampi_pieces it;
    if (row->by_order || !(fabsf(max) < 1000.0f)) return false;
    for (sampi_start(&it, row); sampi_next_piece(&it);)
        for (at = 0; at < it.n; at += SAMPI_TILE, t++) {
            n = it.n - at < SAMPI_TILE ? it.n - at : SAMPI_TILE;
            row->k->sweep(it.x + at, n, r, max, &tile[t], &d);
            z += tile[t];
            s += d;
        }
    double want = u * z, off = z * (5e-6 + 4e-7 * fabs((double)max)) + 1e-6 * s;
    for (t = 0; t + 1 < sampi_n_tiles(row->n) && run + tile[t] < want;) run += tile[t++];
    sampi_piece_at(&it, t * SAMPI_TILE);
    n = it.n < SAMPI_TILE ? it.n : SAMPI_TILE;
    (void)row->expf(it.x, n, row->divided ? row->r : 1.0f, max, e);
    for (at = 0; at < n && run < want; at++) before = run, run += (double)e[at];
    *i = t * SAMPI_TILE + at - 1;
    return at > 0 && before < want - off && run >= want + off;
}

static SAMPI_COLD int sampi_fast_llama_dist(sampi_row *row, sampi_sampler *s)
{
    bool first_is_masked = !row->by_order && !(sampi_present(row, 0) >= row->floor);
    double u = sampi_mt_double(sampi_mt_of(s));
    size_t i;
    if (u == 0.0 && first_is_masked) return SAMP_E_EMPTY; /* the first one reaches it */
    if (row->floor > -FLT_MAX) sampi_gather(row, row->floor);
    float max = sampi_row_max(row);
    if (sampi_llama_guess(row, max, u, &i)) {
        row->token = sampi_id_at(row, i);
        return SAMP_OK;
    }
    double sum = sampi_llama_exps(row, row, max);
    if (sampi_llama_find(row, sum, u, (double)row->n * SAMPI_SUM_DOUBT, &i)) {
        row->token = row->by_order ? row->cur.data[i].id : sampi_id_at(row, i);
    } else {
        row->perf->n_exact++;
        sampi_llama_array(row, row->by_order);
        sampi_llama_choose(&row->cur, u);
        row->token = row->cur.data[row->cur.selected].id;
    }
    row->cur.data = NULL;
    return SAMP_OK;
}

/* dist, the last of a chain, over an array: p stays as it is. */
static SAMPI_COLD void sampi_llama_dist_array(sampi_row *row, double u)
{
    samp_token_data_array *cur = &row->cur;
    sampi_row all = *row;
    size_t i;
    for (size_t at = 0; at < cur->size; at += SAMPI_TILE) (void)sampi_copy_logits(cur, at, row->work->x + at);
    sampi_set_tokens(&all, row->work->x, NULL, cur->size);
    all.by_order = false;
    (void)sampi_scan(&all);
    bool found = sampi_llama_guess(&all, all.top, u, &i);
    if (!found) {
        double sum = sampi_llama_exps(&all, &all, all.top);
        found = sampi_llama_find(&all, sum, u, (double)cur->size * SAMPI_SUM_DOUBT, &i);
    }
    if (found)
        cur->selected = (int64_t)i;
    else
        sampi_llama_choose(cur, u);
}

/* The entropy of a row whose head is in row->cur, with p, and in order. */
static SAMPI_COLD float sampi_llama_row_entropy(const sampi_row *row, const sampi_llama_sums *sums)
{
    sampi_climb c = { sums->max, 0.0f, logf(sums->sum) / sums->sum, 1.0f / sums->sum, sums->sum };
    return sampi_llama_sum_sorted(row, row, c, sampi_llama_entropy(&row->cur));
}

/* From the tokens of a row from floor on, none of them masked. false: those below may be among the kept too. */
static SAMPI_COLD bool sampi_llama_typical_from(sampi_row *row, sampi_sampler *s, const sampi_llama_sums *sums,
                                                float entropy, float floor)
{
    samp_token_data_array *cur = &row->cur;
    const float *e = row->work->logits;
    sampi_row part = *row;
    bool as_given = row->x && row->n_change == 0;
    double run = 0.0, enough = (double)s->u.cut.p + (double)row->n / (1 << 24); /* so far off may a float sum be */
    (void)sampi_llama_exps(row, row, sums->max);
    sampi_gather(&part, floor);
    for (size_t i = 0; i < part.n; i++) row->work->x[i] = -sampi_llama_score(e[part.id[i]] / sums->sum, entropy);
    *cur = sampi_sorted_array(&part);
    size_t end = 0;
    while (end < part.n && (run <= enough || end < s->u.cut.min_keep)) {
        const size_t i = end;
        const float score = cur->data[i].logit;
        for (; end < part.n && cur->data[end].logit == score; end++) {
            samp_token_data *d = &cur->data[end];
            d->logit = (as_given ? row->x[d->id] : sampi_present(row, (size_t)d->id)) + 0.0f;
            run += (double)(d->p = e[d->id] / sums->sum);
        }
        sampi_sort_part(&SAMPI_BY_LOGIT, cur->data + i, end - i, end - i, 64);
    }
    cur->size = end;
    cur->sorted = false;
    sampi_llama_keep_share(cur, s->u.cut.p, true, s->u.cut.min_keep);
    float score = sampi_llama_score(cur->data[cur->size - 1].p, entropy), below = expf(floor - sums->max) / sums->sum;
    return part.n == row->n || (cur->size < end && score < sampi_llama_score(below, entropy) - 1e-3f);
}

/* From the head alone: what is not in it is less probable than its last one, and if that is on the far side of the
   entropy, less typical too. If that is not enough, from more tokens, or all. */
static SAMPI_COLD int sampi_fast_llama_typical(sampi_row *row, sampi_sampler *s)
{
    sampi_llama_sums sums;
    samp_token_data_array *cur = &row->cur;
    if (!sampi_llama_sorted_sums(row, &sums)) return SAMPI_DECLINED;
    size_t size = cur->size;
    for (size_t i = 0; i < size; i++) cur->data[i].p = sampi_llama_p(&sums, cur->data[i].logit);
    float entropy = sampi_llama_row_entropy(row, &sums), last = cur->data[size - 1].p;
    if (last > 0.0f && -logf(last) > entropy) {
        sampi_llama_sort_by_score(cur, &sums, entropy);
        sampi_llama_keep_share(cur, s->u.cut.p, true, s->u.cut.min_keep);
        float score = sampi_llama_score(cur->data[cur->size - 1].p, entropy);
        if (cur->size < size && score < sampi_llama_score(last, entropy) - 1e-5f) return SAMP_OK;
    }
    float floor = sums.max + logf(sums.sum) - entropy - 4.0f;
    size_t many = 2 * s->u.cut.min_keep;
    float low = many > size && many < row->n ? sampi_row_bound(row, many) : floor;
    if (low < floor) floor = low;
    bool found = sampi_llama_typical_from(row, s, &sums, entropy, floor) ||
                 sampi_llama_typical_from(row, s, &sums, entropy, -FLT_MAX);
    if (!found) cur->data = NULL;
    return found ? SAMP_OK : (int)SAMPI_DECLINED;
}

/* Temperature 0: a floor at the maximum, and of its equals the first one stays. */
static SAMPI_COLD int sampi_llama_mask_but_first(sampi_row *row)
{
    sampi_row best = *row;
    sampi_gather_first(&best, 1);
    float max = best.top;
    size_t n = best.n;
    if (!sampi_has_room(row, n)) return SAMPI_DECLINED;
    for (size_t i = 0, seen = 0; i < n; i++)
        if (best.x[i] == max && seen++ > 0) sampi_add_change(row, best.id[i], -INFINITY);
    row->floor = max;
    return SAMP_OK;
}

static SAMPI_COLD int sampi_fast_llama_temp(sampi_row *row, sampi_sampler *s)
{
    float t = s->u.temp.t;
    if (row->divided) return SAMPI_DECLINED;
    if (s->u.temp.delta > 0.0f) {
        sampi_llama_sums sums;
        if (!sampi_llama_sorted_sums(row, &sums)) return SAMPI_DECLINED;
        for (size_t i = 0; i < row->cur.size; i++) row->cur.data[i].p = sampi_llama_p(&sums, row->cur.data[i].logit);
        t = sampi_llama_temp_of(s, sampi_llama_row_entropy(row, &sums), row->n);
        row->cur.data = NULL;
        if (!(t > 0.0f)) return SAMPI_DECLINED;
        row->by_order = true;
    } else if (!(t > 0.0f)) {
        return row->by_order ? (int)SAMPI_DECLINED : sampi_llama_mask_but_first(row);
    }
    row->r = t;
    row->divided = true;
    return SAMP_OK;
}

/* adaptive_p's logits in place of e [n]: what sampi_adaptive_p_logit gives for e / sum, four at a time. */
static void sampi_llama_adapt(float *e, size_t n, float sum, float aim)
{
    size_t i = 0;
#if SAMPI_GNU
    typedef float four __attribute__((vector_size(16)));
    typedef int32_t bits __attribute__((vector_size(16)));
    for (; i + 4 <= n; i += 4) {
        four x;
        memcpy(&x, e + i, sizeof x);
        x = (four)((bits)(x / sum - aim) & 0x7FFFFFFF) * (1.0f / 0.3f);
        SAMPI_OPAQUE(x);
        x = 5.0f - x * 10.0f * x / (1.0f + x);
        memcpy(e + i, &x, sizeof x);
    }
#endif
    for (; i < n; i++) e[i] = sampi_adaptive_p_logit(e[i] / sum, aim);
}

/* sampi_llama_discrete, of p = e / sum. */
static SAMPI_COLD size_t sampi_llama_discrete_of(const float *e, size_t n, float sum, double u)
{
    double all = 0.0, run = 0.0;
    size_t i = 0;
    for (size_t j = 0; j < n; j++) all += (double)(e[j] / sum);
    for (; i + 1 < n; i++) {
        run += (double)(e[i] / sum) / all;
        if (run >= u) break;
    }
    return i;
}

/* The draw is by p, which is e / sum rounded to float: so estimates may be off by that much. */
static SAMPI_COLD int sampi_fast_llama_adaptive_p(sampi_row *row, sampi_sampler *s)
{
    float max = sampi_row_max(row), *e = row->work->logits;
    bool adapts = !(s->u.adaptive.target < 0.0f);
    size_t i;
    if (row->n < 2) return SAMPI_DECLINED;
    double total = sampi_llama_exps(row, row, max);
    sampi_llama_sums sums = { max, sampi_add(e, row->n, 0.0f) };
    float sum = sums.sum;
    if (adapts) {
        sampi_row adapted = *row;
        sampi_llama_adapt(e, row->n, sum, sampi_adaptive_p_aim(s));
        bool is_full = sampi_is_full(row);
        for (i = 0; i < row->n && !is_full; i++)
            if (sampi_masked(sampi_present(row, i))) e[i] = -INFINITY;
        memcpy(row->work->x, e, row->n * sizeof *e);
        sampi_set_tokens(&adapted, row->work->x, NULL, row->n);
        (void)sampi_scan(&adapted);
        total = sampi_llama_exps(row, &adapted, adapted.top);
        sum = sampi_add(e, row->n, 0.0f);
    }
    double u = sampi_mt_double(sampi_mt_of(s));
    if (!sampi_llama_find(row, total, u, 1.0 / (1 << 22), &i)) {
        row->perf->n_exact++;
        i = sampi_llama_discrete_of(e, row->n, sum, u);
    }
    float l = sampi_logit_of(row, sampi_present(row, i));
    if (sampi_masked(l)) return row->array ? SAMPI_DECLINED : (int)SAMP_E_EMPTY;
    row->token = (samp_token)i;
    row->sum = (double)sum;
    if (adapts) {
        s->now.pending = row->array ? row->array->data[i].id : row->token;
        s->now.pending_p = sampi_llama_p(&sums, l);
        if (row->array) sampi_set_tokens(row, row->work->x, NULL, row->n); /* samp_apply shows it */
    }
    return SAMP_OK;
}

/* The smallest logit within mu, at or below the last one of the head, which is. */
static SAMPI_COLD float sampi_llama_floor(const sampi_row *row, const sampi_sampler *s, const sampi_llama_sums *sums)
{
    int32_t lo = sampi_key(-FLT_MAX) - 1, hi = sampi_key(row->cur.data[row->cur.size - 1].logit);
    while ((int64_t)hi - lo > 1) {
        int32_t middle = sampi_middle(lo, hi);
        if (sampi_llama_is_within(s, sums, sampi_unkey(middle)))
            hi = middle;
        else
            lo = middle;
    }
    return sampi_unkey(hi);
}

/* The draw of sampi_llama_discrete from the part of a row that is kept: n tokens, of which row->cur are the first and
   sums the sums. p is rounded to float, so the sum of all of them is known to `off`. Then mu moves. */
static SAMPI_COLD int sampi_llama_mirostat_draw(sampi_row *row, sampi_sampler *s, const sampi_llama_sums *sums,
                                                double total)
{
    double head = 0.0, head_e = 0.0, run = 0.0, before = 0.0, u = sampi_mt_double(sampi_mt_of(s));
    samp_token_data *d = row->cur.data;
    size_t i = 0;
    for (size_t j = 0; j < row->cur.size; j++) {
        d[j].p = sampi_llama_p(sums, d[j].logit);
        head += (double)d[j].p;
        head_e += (double)expf(d[j].logit - sums->max);
    }
    double rest = (total - head_e) / (double)sums->sum, want = u * (head + rest);
    double off = rest * (1.0 / (1 << 23)) + 1e-15 * (double)row->n;
    for (; i < row->cur.size && run < want; i++) before = run, run += (double)d[i].p;
    if (i == 0 || !(before < want - off && run >= want + off)) return SAMPI_DECLINED;
    row->token = d[i - 1].id;
    sampi_llama_follow(s, d[i - 1].p);
    row->cur.data = NULL;
    return SAMP_OK;
}

/* Both mirostats. Few tokens left are an array; of many, the head mostly has the token. */
static SAMPI_COLD int sampi_fast_llama_mirostat(sampi_row *row, sampi_sampler *s)
{
    bool v1 = s->kind == SAMPI_MIROSTAT;
    sampi_llama_sums sums;
    sampi_row part = *row;
    if (v1 && s->u.mirostat.m > 512) return SAMPI_DECLINED;
    if (!sampi_llama_sorted_sums(row, &sums)) return SAMPI_DECLINED;
    size_t keep = (v1 ? sampi_llama_zipf : sampi_llama_within)(s, &row->cur, &sums);
    if (keep < row->cur.size) {
        row->cur.size = keep;
        (void)sampi_llama_mirostat_select(s, &row->cur);
        row->token = row->cur.data[row->cur.selected].id;
        if (!row->array) row->cur.data = NULL;
        return SAMP_OK;
    }
    if (row->array) return SAMPI_DECLINED; /* all that is kept is shown */
    if (!v1)
        sampi_gather(&part, sampi_llama_floor(row, s, &sums));
    else
        sampi_keep_first(&part, keep < row->n ? keep : row->n);
    double total = sampi_llama_exps(row, &part, sums.max);
    float *e = row->work->logits; /* gathering the head takes the part's place */
    memcpy(e, part.x, part.n * sizeof *e);
    sampi_set_tokens(&part, e, NULL, part.n);
    sampi_llama_head(row, 512);
    if (row->cur.size > part.n) return SAMPI_DECLINED;
    sampi_llama_total(row, &part, &sums);
    return sampi_llama_mirostat_draw(row, s, &sums, total);
}

/* ---- the plan ---- */

/* All members of a chain, of chains in it too, in order: how many; -1: more than SAMPI_PLAN, or not all in one
   arithmetic. These go step by step. */
#define SAMPI_PLAN 256

static int sampi_members(sampi_sampler *s, sampi_sampler **member, int n)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n && n >= 0; i++)
        n = sampi_members(s->u.chain.item[i], member, n);
    if (n < 0 || sampi_is_chain(s)) return n;
    if (n == SAMPI_PLAN || (n > 0 && s->rng != member[0]->rng)) return -1;
    member[n] = s;
    return n + 1;
}

/* ---- log-probabilities: exact sums, whatever the draw did ---- */

/* ln p of a logit: not of its weight, which is 0 where p is still worth telling. */
static float sampi_logprob(float l, float max, uint64_t z)
{
    return (float)((double)l - (double)max - sampi_ln((double)z / (double)SAMPI_ONE)) + 0.0f; /* -0 becomes +0 */
}

/* The token drawn, with so many before it. */
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

/* The n best are all there: give them ranks, and log-probabilities for their logits. */
static void sampi_finish_top(samp_logprob_set *set, int32_t n, float max, uint64_t z)
{
    set->n_top_found = n;
    for (int32_t i = 0; i < n; i++) {
        set->top_logprobs[i].rank = i + 1;
        set->top_logprobs[i].logprob = sampi_logprob(set->top_logprobs[i].logprob, max, z);
    }
}

/* Of a row, which is used up. The rank is one more than the tokens before it: those with larger logits, and of the
   same logit those with smaller ids. */
static void sampi_row_logprobs(sampi_row *row, samp_token token, samp_logprob_set *set)
{
    float max = sampi_row_max(row);
    uint64_t z = sampi_row_sums(row, max, row->floor, false).above;
    size_t at = sampi_find_id(row, token);
    float l = sampi_logit_of(row, sampi_present(row, at));
    float from = sampi_unscale(row, l), above = sampi_unscale(row, sampi_next_up(l));
    sampi_row before = *row;
    before.n = at;
    sampi_set_chosen(set, token, sampi_row_count(row, above, INFINITY) + sampi_row_count(&before, from, above),
                     sampi_logprob(l, max, z));
    if (set->n_top == 0) {
        sampi_finish_top(set, 0, max, z);
        return;
    }
    int32_t n = 0;
    sampi_keep_first(row, (size_t)set->n_top);
    for (size_t i = 0; i < row->n; i++) n = sampi_set_top(set, n, row->id[i], row->x[i]);
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
    sampi_recheck_order(cur); /* under MT19937 `sorted` says nothing about the ids of ties */
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
    if ((size_t)*token >= job->n) return SAMP_E_RANGE; /* a custom sampler's */
    int status = job->accept ? samp_accept(&job->s->base, *token) : SAMP_OK;
    if (!status && job->logprobs) sampi_array_logprobs(cur, &job->logprobs->processed);
    return status;
}

/* What the fast path has to do for a chain: its members that do something, softmax left out, which only sorts and sets
   p. A custom sampler among them, or one behind the selection, is for sampi_draw_part_fast. */
typedef struct sampi_plan {
    sampi_sampler *member[SAMPI_PLAN]; /* [n_members], of chains in the chain too, in order */
    sampi_sampler *list[SAMPI_PLAN];   /* [n] those of them to be done */
    int n_members;                     /* -1: sampi_members has none; these go step by step */
    int n;
    bool whole; /* list goes from the logits to a token */
} sampi_plan;

static void sampi_plan_chain(sampi_plan *plan, sampi_sampler *s)
{
    plan->n_members = sampi_members(s, plan->member, 0);
    plan->n = 0;
    plan->whole = false;
    const sampi_sampler *done = sampi_first_grammar(s); /* it is in the row's mask */
    for (int i = 0; i < plan->n_members; i++) {
        sampi_sampler *member = plan->member[i];
        if (member->off || member == done) continue;
        if (sampi_is_custom(member) || plan->whole) {
            plan->whole = false;
            return;
        }
        unsigned flags = sampi_traits_of(member->kind)->flags;
        if (flags & SAMPI_ONLY_SHOWS) continue;
        plan->list[plan->n++] = member;
        plan->whole = (flags & SAMPI_SELECTS) != 0;
    }
}

/* How many members from the first on leave an array that is known to the last byte, though it was not there: they
   don't write p, and the order is that of the last one that sorts, or by id up to the first that may have sorted
   (one that drops tokens, where min_keep decides). The array must be free of masked tokens then, as after those that
   drop some. */
static int sampi_known_members(const sampi_plan *plan, bool *sorted)
{
    int known = 0;
    bool by_id = true;
    *sorted = false;
    for (int i = 0; i < plan->n_members; i++) {
        const sampi_sampler *member = plan->member[i];
        unsigned flags = sampi_traits_of(member->kind)->flags;
        if (member->off) continue;
        if (!(flags & SAMPI_KEEPS_P)) break;
        if (!(flags & SAMPI_DROPS)) continue;
        if (!(flags & SAMPI_SORTS)) {
            by_id = by_id && member->u.cut.min_keep <= 1;
            if (!by_id) continue;
        } else {
            by_id = false;
        }
        known = i + 1;
        *sorted = !by_id;
    }
    return known;
}

/* One sampler on the row. */
static int sampi_run_fast(sampi_row *row, sampi_sampler *member, uint64_t position, uint32_t *ordinal)
{
    const sampi_traits *traits = sampi_traits_of(member->kind);
    if (row->floor > -FLT_MAX && !(traits->flags & SAMPI_TAKES_FLOOR)) sampi_compact(row);
    if (!traits->fast || (member->draft && (traits->flags & SAMPI_SELECTS))) return SAMPI_DECLINED;
    member->at_position = position;
    member->at_ordinal = ordinal[member->kind];
    int status = traits->fast(row, member);
    if (status == SAMP_OK) ordinal[member->kind]++; /* else the steps count it */
    return status;
}

/* Members from .. n on an array (>>apply). */
static int sampi_apply_members(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                               samp_token_data_array *cur, const uint32_t *ordinal);

/* The rest of a draw, members from .. n, over an array. */
static SAMPI_COLD int sampi_finish_by_steps(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                                            samp_token_data_array *cur, const uint32_t *ordinal, samp_token *token)
{
    int status = sampi_apply_members(job, member, from, n, cur, ordinal);
    if (!status) status = sampi_check_selected(cur);
    return status ? status : sampi_accept_selected(job, cur, token);
}

/* A draw with a custom sampler, which is to see exactly what the steps would show it: fast as far as that is known,
   then step by step. SAMPI_DECLINED before anything has changed, or a status. */
static int sampi_draw_part_fast(const sampi_job *job, const sampi_plan *plan, sampi_row *row, samp_token *token)
{
    sampi_sampler *s = job->s;
    uint32_t ordinal[SAMPI_N_KINDS] = { 0 };
    bool sorted;
    int known = sampi_known_members(plan, &sorted), status = known ? sampi_open_row(row, job) : (int)SAMPI_DECLINED;
    for (int i = 0; i < known && !status; i++)
        if (!plan->member[i]->off) status = sampi_run_fast(row, plan->member[i], s->position, ordinal);
    if (status) return status; /* none of these has a state that a draw changes */
    sampi_compact(row);
    for (size_t i = 0; i < row->n; i++) /* the row's -0 would be +0 by now, but one that a sampler made would not */
        if (row->x[i] == 0.0f && copysignf(1.0f, row->x[i]) < 0.0f) return SAMPI_DECLINED;
    samp_token_data_array cur = sampi_row_array(row);
    if (sorted) sampi_sort_all(&cur);
    sampi_save_state(s);
    s->perf.n_steps++;
    return sampi_end_draw(s, sampi_finish_by_steps(job, plan->member, known, plan->n_members, &cur, ordinal, token));
}

/* One sampler on a dense row in llama.cpp's arithmetic, `last` of the chain or not. If it declines it has drawn
   nothing. */
static SAMPI_COLD int sampi_run_llama(sampi_row *row, sampi_sampler *member, bool last)
{
    const sampi_traits *traits = sampi_traits_of(member->kind);
    sampi_mt before;
    if (!traits->fast_llama || (traits->flags & SAMPI_SELECTS && !last)) return SAMPI_DECLINED;
    const unsigned scaled = 1u << SAMPI_TOP_K | 1u << SAMPI_TOP_P | 1u << SAMPI_MIN_P | 1u << SAMPI_GREEDY |
                            1u << SAMPI_DIST | 1u << SAMPI_ADAPTIVE_P;
    const unsigned by_order = 1u << SAMPI_TOP_K | 1u << SAMPI_TOP_P | 1u << SAMPI_MIN_P | 1u << SAMPI_TYPICAL |
                              1u << SAMPI_TEMP | 1u << SAMPI_TEMP_EXT | 1u << SAMPI_GREEDY | 1u << SAMPI_DIST |
                              1u << SAMPI_MIROSTAT | 1u << SAMPI_MIROSTAT_V2;
    const uint32_t kind = 1u << member->kind;
    bool takes_floor = traits->flags & SAMPI_TAKES_FLOOR || member->kind == SAMPI_MIN_P;
    if (row->by_order && (!(by_order & kind) || (row->divided && member->kind != SAMPI_DIST))) return SAMPI_DECLINED;
    if ((row->divided && !(scaled & kind)) || (row->floor > -FLT_MAX && !takes_floor)) sampi_flatten(row);
    if (sampi_has_mt(member)) before = *sampi_mt_of(member);
    int status = traits->fast_llama(row, member);
    if (status == SAMPI_DECLINED && sampi_has_mt(member)) *sampi_mt_of(member) = before;
    return status;
}

/* The rest of a draw in llama.cpp's arithmetic, over row->cur. Long arrays are drawn from by kernels. */
static SAMPI_COLD int sampi_finish_llama(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                                         sampi_row *row, samp_token *token)
{
    uint32_t ordinal[SAMPI_N_KINDS] = { 0 };
    samp_token_data_array *cur = &row->cur;
    int status = sampi_check(cur), before = errno; /* libm's functions set it on underflow */
    if (status) return status;
    if (member[n - 1]->kind != SAMPI_DIST || cur->size <= SAMPI_TILE)
        return sampi_finish_by_steps(job, member, from, n, cur, ordinal, token);
    status = sampi_apply_members(job, member, from, n - 1, cur, ordinal);
    if (!status) status = sampi_check(cur);
    if (status) return status;
    sampi_llama_dist_array(row, sampi_mt_double(sampi_mt_of(member[n - 1])));
    errno = before;
    return sampi_accept_selected(job, cur, token);
}

/* One draw in llama.cpp's arithmetic: members on the row until it is an array, then step by step. A custom sampler sees
   exactly what the steps would show it, so before it nobody may write p. SAMPI_DECLINED before anything has changed. */
static SAMPI_COLD int sampi_draw_llama(const sampi_job *job, const sampi_plan *plan, sampi_row *row,
                                       samp_token *token)
{
    sampi_sampler *s = job->s, *member[SAMPI_PLAN];
    int n = 0, i = 0, known = 0, before = errno, status = sampi_open_row(row, job);
    sampi_row last;
    if (status) return status;
    row->expf = sampi_expf_of(row->work, row->k);
    const sampi_sampler *done = plan->whole ? sampi_first_grammar(s) : NULL; /* it is in the row's mask */
    for (int j = 0; j < plan->n_members; j++)
        if (!plan->member[j]->off && plan->member[j] != done) member[n++] = plan->member[j];
    while (known < n && (plan->whole || (sampi_traits_of(member[known]->kind)->flags & SAMPI_KEEPS_P))) known++;
    if (known == 0) return SAMPI_DECLINED;
    sampi_save_state(s);
    while (i < known && !row->cur.data && row->token < 0 && !status) {
        bool takes = member[i]->kind == SAMPI_GREEDY || member[i]->kind == SAMPI_DIST;
        last = *row;
        status = sampi_run_llama(row, member[i], i + 1 == n && (takes || !job->logprobs));
        if (!status) i++;
    }
    if (status == SAMPI_DECLINED || (!status && !row->cur.data && row->token < 0)) {
        bool sorts = i < known && row->n > 2 && sampi_llama_sorts(member[i]) && sampi_is_full(row);
        sampi_llama_array(row, row->by_order || (sorts && plan->whole));
        s->perf.n_steps++;
        status = SAMP_OK;
    }
    errno = before; /* libm's functions set it on underflow */
    if (!plan->whole && (status || sampi_check(&row->cur))) return SAMPI_DECLINED;
    for (size_t j = 0; !plan->whole && j < row->cur.size; j++) /* +0 here may be -0 there */
        if (row->cur.data[j].logit == 0.0f) return SAMPI_DECLINED;
    if (!status && row->cur.data) {
        status = sampi_finish_llama(job, member, i, n, row, token);
    } else if (!status) {
        *token = row->token;
        if (job->accept) status = samp_accept(&s->base, *token);
        if (!status && job->logprobs) {
            sampi_compact(&last);
            sampi_row_logprobs(&last, *token, &job->logprobs->processed);
        }
    }
    return sampi_end_draw(s, status);
}

/* One whole draw. SAMPI_DECLINED before anything has changed, or a status. */
static int sampi_draw_fast(const sampi_job *job, samp_token *token)
{
    uint32_t ordinal[SAMPI_N_KINDS] = { 0 };
    sampi_sampler *s = job->s;
    sampi_row row;
    sampi_plan plan;
    int i = 0, status;
    sampi_plan_chain(&plan, s);
    if (plan.n_members > 0 && plan.member[0]->rng == SAMP_RNG_MT19937)
        return sampi_draw_llama(job, &plan, &row, token);
    if (!plan.whole) return sampi_draw_part_fast(job, &plan, &row, token);
    if (job->logprobs && sampi_traits_of(plan.list[plan.n - 1]->kind)->flags & SAMPI_OWN_LOGITS)
        return SAMPI_DECLINED;
    if ((status = sampi_open_row(&row, job))) return status;
    sampi_save_state(s);
    while (i < plan.n && (status = sampi_run_fast(&row, plan.list[i], s->position, ordinal)) == SAMP_OK) i++;
    if (status == SAMPI_DECLINED) { /* by list [i]: the row becomes an array */
        if (row.floor > -FLT_MAX) sampi_compact(&row);
        samp_token_data_array cur = sampi_row_array(&row);
        s->perf.n_steps++;
        status = sampi_finish_by_steps(job, plan.list, i, plan.n, &cur, ordinal, token);
    } else if (!status) {
        *token = row.token;
        if (job->accept) status = samp_accept(&s->base, *token);
        if (!status && job->logprobs) sampi_row_logprobs(&row, *token, &job->logprobs->processed);
    }
    return sampi_end_draw(s, status);
}

/* ================================================================================================== >>sample
   samp_sample itself: logits come in, a token or a negative status goes out. The fast path is asked first; where it
   declines, the array of all candidates goes through the samplers one by one, which is what defines the token. Either
   way a draw is all or nothing: on an error the samplers' state is as before. */

/* The next `bytes` of a block of *size so far, from a cache line on: where they begin. */
static size_t sampi_lay(size_t *size, size_t bytes)
{
    size_t at = *size;
    *size += (bytes + 63) & ~(size_t)63;
    return at;
}

/* Can the array be a view while w is used? */
static bool sampi_has_array(const sampi_work *work) { return (const void *)work->candidate != (const void *)work->w; }

/* Room for rows of n tokens. Kernels write up to 16 elements behind a result; the rest is what >>fast puts there:
     w           12 bytes a token, for what is laid over it (sampi_scored). Candidates lie there too, unless with_array
     line        a maximum for each line, filled up to less than twice as many where they are folded
     scratch     the folded maxima are fewer, a compact row's lines at most as many */
static SAMPI_COLD int sampi_reserve(sampi_work *work, size_t n, bool with_array)
{
    size_t size = 0;
    if (n <= work->n && with_array <= sampi_has_array(work)) return SAMP_OK;
    if (n < work->n) n = work->n;
    size_t candidate = sampi_lay(&size, with_array ? n * sizeof(samp_token_data) : 0);
    size_t w = sampi_lay(&size, (n + 128) * sizeof(samp_token_data));
    size_t x = sampi_lay(&size, (n + 32) * sizeof(float));
    size_t id = sampi_lay(&size, (n + 32) * sizeof(int32_t));
    size_t line = sampi_lay(&size, (2 * sampi_n_lines(n) + 64) * sizeof(float));
    size_t scratch = sampi_lay(&size, (2 * sampi_n_lines(n) + 64) * sizeof(float));
    size_t sum = sampi_lay(&size, sampi_n_tiles(n) * sizeof(uint64_t));
    size_t change = sampi_lay(&size, SAMPI_CHANGES * sizeof(sampi_change));
    size_t logits = sampi_lay(&size, (n + 32) * sizeof(float));
    size_t own = sampi_lay(&size, (n + SAMPI_TILE) * sizeof(float));
    char *block = (char *)SAMP_MALLOC(size + 64);
    if (!block) return SAMP_E_NOMEM;
    char *base = block + (64 - (uintptr_t)block % 64) % 64;
    SAMP_FREE(work->block);
    work->block = block;
    work->n = n;
    work->candidate = (samp_token_data *)(void *)(base + candidate);
    work->w = (uint64_t *)(void *)(base + w);
    work->x = (float *)(void *)(base + x);
    work->id = (int32_t *)(void *)(base + id);
    work->line = (float *)(void *)(base + line);
    work->scratch = (float *)(void *)(base + scratch);
    work->sum = (uint64_t *)(void *)(base + sum);
    work->change = (sampi_change *)(void *)(base + change);
    work->logits = (float *)(void *)(base + logits);
    work->own = (float *)(void *)(base + own);
    return SAMP_OK;
}

/* Such chains need the array. */
static SAMPI_COLD bool sampi_has_custom(const sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (sampi_has_custom(s->u.chain.item[i])) return true;
    return sampi_is_custom(s);
}

SAMP_API int samp_reserve(samp_sampler *s, size_t n_vocab)
{
    if (!s) return SAMP_E_NULL;
    if (n_vocab > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    if (!((sampi_sampler *)s)->status && !sampi_past_ready((sampi_sampler *)s)) return SAMP_E_NOMEM;
    return sampi_reserve(&((sampi_sampler *)s)->work, n_vocab, sampi_has_custom((const sampi_sampler *)s));
}

/* The definition of a token: the array of all candidates, through the samplers one by one: s is the only member of
   the list that runs, and no sampler of any kind (ordinal) has gone before it. What ran of the fast path is as if it
   had not. */
static int sampi_draw_by_steps(const sampi_job *job, samp_token *token)
{
    const uint32_t ordinal[SAMPI_N_KINDS] = { 0 };
    sampi_sampler *s = job->s;
    sampi_row row;
    int status = sampi_open_row(&row, job);
    if (status) return status;
    samp_token_data_array cur = sampi_row_array(&row);
    sampi_save_state(s);
    return sampi_end_draw(s, sampi_finish_by_steps(job, &s, 0, 1, &cur, ordinal, token));
}

/* A token by either way, or a negative status. */
static samp_token sampi_draw_any(const sampi_job *job)
{
    samp_token token = -1;
#ifdef SAMPLING_GRAMMAR_DECLARED
    sampi_job masked = *job;
    int refused = sampi_grammar_job(&masked);
    if (refused) return refused;
    job = &masked;
#endif
    int status = sampi_draw_fast(job, &token);
    if (status == SAMPI_DECLINED) {
        job->s->perf.n_steps++;
        status = sampi_draw_by_steps(job, &token);
    }
    return status ? status : token;
}

/* Of the logits as given: the row is opened anew, as the draw has used up the first one. */
static void sampi_raw_logprobs(const sampi_job *job, samp_token token)
{
    sampi_row row;
    if (sampi_open_row(&row, job) == SAMP_OK) sampi_row_logprobs(&row, token, &job->logprobs->raw);
}

/* Draw, tell log-probabilities, and count. To the chains that a sampler is in, a draw from it alone is an edit. */
static samp_token sampi_sample(const sampi_job *job)
{
    sampi_sampler *s = job->s;
#ifdef SAMP_CLOCK
    uint64_t start = SAMP_CLOCK();
#endif
    sampi_moves(s);
    samp_token token = sampi_draw_any(job);
    if (token >= 0 && job->logprobs) sampi_raw_logprobs(job, token);
    if (token >= 0) s->perf.n_sample++;
#ifdef SAMP_CLOCK
    s->perf.t_sample_ns += SAMP_CLOCK() - start;
#endif
    return token;
}

static samp_token sampi_sample_one(samp_sampler *sampler, const float *logits, size_t n_vocab, const uint32_t *mask,
                                   bool accept)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s || !logits) return SAMP_E_NULL;
    int status = samp_status(sampler, NULL);
    if (!status && n_vocab == 0) status = SAMP_E_EMPTY;
    if (!status) status = samp_reserve(sampler, n_vocab);
    if (status) return status;
    sampi_job job;
    job.s = s;
    job.work = &s->work;
    job.data = logits;
    job.dtype = SAMP_F32;
    job.mask = mask;
    job.n = n_vocab;
    job.logprobs = NULL;
    job.accept = accept;
    return sampi_sample(&job);
}

SAMP_API samp_token samp_sample(samp_sampler *s, const float *logits, size_t n_vocab)
{
    return sampi_sample_one(s, logits, n_vocab, NULL, true);
}

SAMP_API samp_token samp_draw(samp_sampler *s, const float *logits, size_t n_vocab)
{
    return sampi_sample_one(s, logits, n_vocab, NULL, false);
}

/* =================================================================================================== >>apply
   samp_apply. What it makes of an array is defined by the steps (sampi_apply_steps); a long array whose ids ascend gets
   there faster. Its logits are split off once, checked in the same pass, and become a dense row of >>fast ("the view"
   is open), whose ids are indices in the array. Samplers work on that row for as long as it tells what their steps
   would make of the array; then the array is written in one pass (the view is closed), and the next sampler opens it
   anew, or, where few or sorted candidates are left, goes step by step.

   While the view is open the array is as it was, and these hold:
     - as long as nothing has dropped masked tokens, what the row has lost is masked in the array, and stays in it;
       afterwards the row's tokens are all that are left;
     - p is that of the array. Who would write another one closes the view, unless a later one overwrites that;
     - the candidates' order is the array's, or, if the view `sorts`, that of its `order`.
   Under MT19937 the row is one of "in llama.cpp's arithmetic"; what is left of it as an array takes the array's place,
   and what is declined there begins, if its steps do, with sorting all candidates, by a radix sort.
   The only sampler that fails here is one that masks the last token: what its steps leave is written, and the next one
   finds it. */

#define SAMPI_FEW 256 /* so many candidates go step by step */

typedef struct sampi_view {
    sampi_row row;
    samp_token_data_array *cur;
    sampi_sampler *outer; /* what samp_apply was called on: has the position */
    sampi_work *work, own;
    samp_perf_data perf; /* samp_apply counts nothing */
    sampi_order order;
    bool is_open, drops, sorts;
    uint32_t ordinal[SAMPI_N_KINDS]; /* as sampi_run wants it */
} sampi_view;

/* Check the array and split its logits off. SAMPI_DECLINED: it is none for a view, and may be a bad one. */
static SAMPI_COLD int sampi_open_view(sampi_view *view, bool is_llama)
{
    const samp_token_data *d = view->cur->data;
    sampi_work *work = view->work;
    sampi_row *row = &view->row;
    size_t n = view->cur->size;
    if (n <= SAMPI_FEW || n > SAMP_MAX_VOCAB || view->cur->sorted || sampi_reserve(work, n, false))
        return SAMPI_DECLINED;
    view->own = *work;
    view->own.candidate = (samp_token_data *)(void *)work->w; /* d may be the other one */
    memset(row, 0, sizeof *row);
    row->k = sampi_use();
    row->work = &view->own;
    row->perf = &view->perf;
    row->array = view->cur;
    row->expf = is_llama ? sampi_expf_of(work, row->k) : NULL;
    row->top = -INFINITY;
    sampi_set_tokens(row, work->own, NULL, n);
    for (size_t at = 0, len; at < n; at += len) {
        float *x = work->own + at;
        len = n - at < SAMPI_SMALL ? n - at : SAMPI_SMALL; /* what stays in the nearest cache */
        if (!row->k->split(d + at, len, x) || (at && d[at].id <= d[at - 1].id)) return SAMPI_DECLINED;
        float top = row->k->maxima(x, SAMP_F32, NULL, len, work->line + at / SAMPI_LINE);
        if (!(top <= FLT_MAX)) return SAMP_E_NAN;
        if (top > row->top) row->top = top;
    }
    view->drops = view->sorts = false;
    view->order = SAMPI_BY_LOGIT;
    view->is_open = row->top >= -FLT_MAX;
    return view->is_open ? SAMP_OK : SAMP_E_EMPTY;
}

/* ---- writing the array ---- */

/* The order of candidates that stand by id: a radix sort of keys and indices, 11 bits at a time. Scores are rounded to
   f32 for it, so pieces of equal keys are put in order behind it. */
static void sampi_sort_long(const sampi_order *order, samp_token_data *d, size_t n, sampi_work *work)
{
    uint64_t *from = work->w, *to = (uint64_t *)(void *)work->x; /* x and id: as many bytes */
    if (n <= SAMPI_FEW) {
        sampi_sort_part(order, d, n, n, 64);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        float x = order->score ? -(float)order->score(order, &d[i]) : d[i].logit;
        from[i] = (uint64_t)((uint32_t)INT32_MAX - (uint32_t)sampi_key(x)) << 32 | i;
    }
    sampi_sort_keys(from, to, n);
    from = to; /* where they are now */
    samp_token_data *sorted = (samp_token_data *)(void *)work->w;
    for (size_t i = 0; i < n; i++) sorted[i] = d[(uint32_t)from[i]];
    memcpy(d, sorted, n * sizeof *d);
    for (size_t i = 0, end; order->score && i < n; i = end) {
        for (end = i + 1; end < n && from[end] >> 32 == from[i] >> 32;) end++;
        sampi_sort_part(order, d + i, end - i, end - i, 64);
    }
}

/* p [SAMPI_TILE] /= sum */
static SAMPI_HOT void sampi_llama_quotients(float *p, double sum)
{
    for (size_t i = 0; i < SAMPI_TILE; i++) p[i] = (float)((double)p[i] / sum);
}

static SAMPI_HOT void sampi_write_tile(samp_token_data *d, size_t n, const float *l, const float *p)
{
    for (size_t i = 0; i < n; i++) {
        const float both[2] = { l[i], p ? p[i] : d[i].p };
        memcpy(&d[i].logit, both, sizeof both); /* one store */
    }
}

/* The logits of `len` candidates from `at` on, masked ones included; *next: where the compact row goes on. */
static const float *sampi_view_tile(const sampi_view *view, sampi_pieces *it, size_t at, size_t len, size_t *next)
{
    const sampi_row *row = &view->row;
    if (view->drops) return row->x + at;
    if (!sampi_is_compact(row)) return sampi_logits_at(it, at, len);
    for (size_t i = 0; i < len; i++) it->buf[i] = -INFINITY;
    for (; *next < row->n && (size_t)row->id[*next] < at + len; ++*next)
        it->buf[(size_t)row->id[*next] - at] = row->x[*next];
    return it->buf;
}

/* The n candidates that are left, by id, each with its logit, and p from these sums or the row's; else as it was. */
static void sampi_write_view(const sampi_view *view, size_t n, const sampi_sums *sums)
{
    const sampi_row *row = &view->row;
    samp_token_data *d = view->cur->data;
    float p[SAMPI_TILE + 16];
    sampi_pieces it;
    size_t next = 0;
    bool has_p = sums || row->sum > 0.0;
    sampi_start(&it, row);
    for (size_t i = 0; view->drops && i < n; i++) d[i] = d[row->id[i]];
    for (size_t at = 0; at < n; at += SAMPI_TILE) {
        size_t len = n - at < SAMPI_TILE ? n - at : SAMPI_TILE;
        const float *l = sampi_view_tile(view, &it, at, len, &next);
        if (sums) row->k->probs(l, len, sums->max, (double)sums->z, p);
        if (row->sum > 0.0) {
            memcpy(p, row->work->logits + at, SAMPI_TILE * sizeof *p);
            sampi_llama_quotients(p, row->sum);
        }
        sampi_write_tile(d + at, len, l, has_p ? p : NULL);
    }
}

/* Write the array, with p from these sums (NULL: p stays) and the candidate at this index selected (-1: none was). */
static SAMPI_COLD void sampi_close_view(sampi_view *view, const sampi_sums *sums, samp_token index)
{
    sampi_row *row = &view->row;
    samp_token_data_array *cur = view->cur;
    samp_token_data *d = cur->data;
    samp_token id = index < 0 ? -1 : d[index].id;
    size_t n = cur->size;
    if (!view->is_open) return;
    view->is_open = false;
    if (view->drops) {
        sampi_compact(row);
        n = row->n;
    }
    if (view->drops || sums || row->sum > 0.0 || row->r != 1.0f || row->floor > -FLT_MAX || row->is_own ||
        row->x != row->work->own)
        sampi_write_view(view, n, sums);
    else
        for (size_t c = 0; c < row->n_change; c++) d[row->work->change[c].id].logit = row->work->change[c].x;
    cur->size = n;
    if (view->sorts) sampi_sort_long(&view->order, d, n, row->work);
    cur->sorted = view->sorts && !view->order.score;
    if (index < 0) return;
    cur->selected = (int64_t)(view->sorts ? sampi_find_candidate(cur, id) : sampi_find_ascending(cur, id));
}

/* ---- one sampler after the other ---- */

static SAMPI_COLD bool sampi_sets_p(const sampi_sampler *s)
{
    bool keeps = sampi_traits_of(s->kind)->flags & SAMPI_KEEPS_P;
    return !keeps && s->kind != SAMPI_GREEDY && s->kind != SAMPI_XTC; /* xtc does now and then */
}

/* What becomes of the p that `from` leaves: 1: a later sampler overwrites it, -1: it may be seen first, 0: it stays to
   the end of s. *behind: `from` has been passed. */
static SAMPI_COLD int sampi_fate_of_p(const sampi_sampler *s, const sampi_sampler *from, bool *behind)
{
    int fate = 0;
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n && !fate; i++)
        fate = sampi_fate_of_p(s->u.chain.item[i], from, behind);
    if (fate || sampi_is_chain(s)) return fate;
    if (!*behind) {
        *behind = s == from;
        return 0;
    }
    if (sampi_is_custom(s) || s->rng != SAMP_RNG_PHILOX) return -1;
    if (s->off) return 0;
    if (s->kind == SAMPI_LOGIT_BIAS) return -1; /* may end in an error */
    return sampi_sets_p(s);
}

/* Can the view go on with this sampler? */
static SAMPI_COLD bool sampi_fits_view(const sampi_view *view, const sampi_sampler *s)
{
    const sampi_row *row = &view->row;
    bool has_floor = row->floor > -FLT_MAX, is_compact = sampi_is_compact(row);
    if ((row->expf != NULL) != (s->rng == SAMP_RNG_MT19937)) return false;
    if (row->expf) /* of one in order dist sums in that order, and temp keeps it */
        return !row->by_order || (s->kind != SAMPI_DIST && s->kind != SAMPI_TEMP && s->kind != SAMPI_TEMP_EXT);
    switch (s->kind) {
        case SAMPI_LOGIT_BIAS:
        case SAMPI_TOP_N_SIGMA: return !view->drops; /* they mask, and what is masked stays */
        case SAMPI_TEMP:
        case SAMPI_TEMP_EXT:
            return !view->drops || (!view->sorts && s->u.temp.t >= SAMPI_TEMP_MIN && !(s->u.temp.delta > 0.0f));
        case SAMPI_PENALTIES:
        case SAMPI_DRY:
        case SAMPI_TYPICAL:
        case SAMPI_ADAPTIVE_P: return !view->sorts;
        case SAMPI_MIROSTAT:
        case SAMPI_MIROSTAT_V2: return !is_compact && !has_floor;
        default: return true;
    }
}

/* Did a cut by a floor on logits keep more than what reaches it, and so sort? */
static SAMPI_COLD bool sampi_kept_more(const sampi_row *row, double floor, size_t min_keep)
{
    if (!sampi_is_compact(row) || row->n > min_keep) return false;
    return row->k->count(row->x, row->n, sampi_float_up(floor)) < row->n;
}

/* Is the array in order after s, which has made `row` of `before`, whose maximum is max? mu: as it was then. */
static SAMPI_COLD bool sampi_view_sorts(const sampi_row *row, const sampi_row *before, const sampi_sampler *s,
                                        float max, float mu)
{
    double z;
    switch (s->kind) {
        case SAMPI_TOP_K:
        case SAMPI_TAIL_FREE:
        case SAMPI_TYPICAL:
        case SAMPI_TOP_P:
        case SAMPI_SOFTMAX:
        case SAMPI_MIROSTAT: return true;
        case SAMPI_MIN_P: return sampi_kept_more(row, (double)max + sampi_ln(s->u.cut.p), s->u.cut.min_keep);
        case SAMPI_MIROSTAT_V2:
            if (row->n > 1) return false;
            z = (double)sampi_row_sums(before, max, -FLT_MAX, false).z;
            return sampi_kept_more(row, sampi_surprise_floor(mu, max, z), 1);
        default: return false;
    }
}

/* One sampler on the row of an open view, and the view is closed if it has to be. A status like that of a fast
   function; if it is not SAMP_OK the row tells how the array is to be written. */
static SAMPI_COLD int sampi_view_step(sampi_view *view, sampi_sampler *s)
{
    const unsigned flags = sampi_traits_of(s->kind)->flags;
    const sampi_kind kind = s->kind;
    sampi_row *row = &view->row;
    if (row->floor > -FLT_MAX && !(flags & SAMPI_TAKES_FLOOR)) sampi_compact(row);
    sampi_row before = *row;
    bool behind = false, selects = flags & SAMPI_SELECTS, is_xtc = kind == SAMPI_XTC,
         is_typical = kind == SAMPI_TYPICAL;
    bool shows = (sampi_sets_p(s) || is_xtc) && sampi_fate_of_p(view->outer, s, &behind) <= 0;
    float max = sampi_row_max(row), mu = s->now.mu;
    size_t n = is_xtc || kind == SAMPI_TAIL_FREE ? sampi_row_count(row, -FLT_MAX, INFINITY) : 0;
    sampi_sums sums = { max, 0, 0, 0, 0 };
    if (kind == SAMPI_TOP_A && s->u.cut.min_keep > 1) return SAMPI_DECLINED;  /* it may sort, */
    if (kind == SAMPI_TAIL_FREE && n <= 2) return SAMPI_DECLINED;             /* it may keep what is masked, */
    if (is_xtc && !view->drops && n < view->cur->size) return SAMPI_DECLINED; /* and it does */
    if ((shows && !selects) || is_typical) sums = sampi_row_sums(row, max, -FLT_MAX, is_typical);
    int status = kind == SAMPI_SOFTMAX ? SAMP_OK : sampi_run_fast(row, s, view->outer->position, view->ordinal);
    if (status) return status;
    if (is_xtc) shows &= n = n > sampi_row_count(row, -FLT_MAX, INFINITY);
    view->drops |= flags & SAMPI_DROPS || kind == SAMPI_TAIL_FREE || kind == SAMPI_MIROSTAT ||
                   kind == SAMPI_MIROSTAT_V2 || (is_xtc && n);
    view->sorts |= sampi_view_sorts(row, &before, s, max, mu);
    if (is_typical) {
        view->order.score = sampi_typical_score;
        view->order.max = max;
        view->order.mean = (double)sums.s / (double)sums.z;
    }
    if (selects && shows) {
        sums.max = sampi_row_max(row);
        sums.z = sampi_row_sums(row, sums.max, row->floor, false).above;
    }
    bool is_short = view->drops && sampi_is_compact(row) && row->n <= SAMPI_FEW;
    if (shows || selects || is_short || is_typical || kind == SAMPI_SOFTMAX)
        sampi_close_view(view, shows ? &sums : NULL, selects ? row->token : -1);
    return SAMP_OK;
}

/* ---- in llama.cpp's arithmetic ---- */

/* sum + e [0] + e [1] + ... as a loop of doubles gives it; n is a tile's, and `part` what they sum to in some order.
   All are exact, where the sum stays between two powers of two and every term is a multiple of its last place. */
static double sampi_llama_sum_on(const sampi_kernels *k, const float *e, size_t n, double part, double sum)
{
    uint64_t exponent = sampi_bits(sum) >> 52;
    if (sampi_bits(sum + part) >> 52 == exponent &&
        k->count(e, n, (float)sampi_from_bits((exponent - 29) << 52)) == n)
        return sum + part;
    for (size_t i = 0; i < n; i++) sum += (double)e[i];
    return sum;
}

/* sampi_llama_choose, of a row: the sums are those of its loops. */
static SAMPI_COLD void sampi_view_dist(sampi_view *view, sampi_sampler *s)
{
    sampi_row *row = &view->row;
    double u = sampi_mt_double(sampi_mt_of(s)), sum = 0.0, *tile = (double *)(void *)row->work->sum, run = 0.0;
    float max = sampi_row_max(row), *e = row->work->logits;
    size_t n = view->cur->size, next = 0, i = 0;
    sampi_pieces it;
    sampi_start(&it, row);
    for (size_t at = 0; at < n; at += SAMPI_TILE) {
        size_t len = n - at < SAMPI_TILE ? n - at : SAMPI_TILE;
        double part = row->expf(sampi_view_tile(view, &it, at, len, &next), len, 1.0f, max, e + at);
        tile[at / SAMPI_TILE] = sum = sampi_llama_sum_on(row->k, e + at, len, part, sum);
    }
    row->sum = sum;
    for (; i + SAMPI_TILE < n && tile[i / SAMPI_TILE] < u * sum; i += SAMPI_TILE) run = tile[i / SAMPI_TILE];
    for (; i + 1 < n; i++) {
        run += (double)e[i];
        if (run >= u * sum) break;
    }
    row->token = (samp_token)i;
}

/* What is left, indices in place of ids, takes the array's place. */
static SAMPI_COLD void sampi_view_keep(sampi_view *view, bool keeps_p)
{
    sampi_row *row = &view->row;
    samp_token_data_array *cur = view->cur;
    for (size_t i = 0; i < row->cur.size; i++) {
        samp_token_data *d = &row->cur.data[i];
        const samp_token_data *old = &cur->data[d->id];
        if (d->logit == 0.0f) d->logit = sampi_logit_of(row, sampi_present(row, (size_t)d->id)); /* of this sign */
        if (keeps_p) d->p = old->p;
        d->id = old->id;
    }
    memcpy(cur->data, row->cur.data, row->cur.size * sizeof *cur->data);
    cur->size = row->cur.size;
    cur->sorted = row->cur.sorted;
    if (row->cur.selected >= 0) cur->selected = row->cur.selected;
    view->is_open = false;
}

/* sampi_view_step under MT19937. What declines is sorted here, if that is what it begins with. */
static SAMPI_COLD int sampi_view_llama(sampi_view *view, sampi_sampler *s)
{
    const unsigned flags = sampi_traits_of(s->kind)->flags;
    sampi_row *row = &view->row;
    int before = errno, status = SAMP_OK;
    row->token = -1;
    if (s->kind == SAMPI_DIST)
        sampi_view_dist(view, s);
    else if (s->kind == SAMPI_TEMP_EXT && s->u.temp.delta > 0.0f)
        status = SAMPI_DECLINED; /* it leaves the p that its entropy comes from */
    else
        status = sampi_run_llama(row, s, true);
    errno = before;
    if (status == SAMPI_DECLINED && sampi_llama_sorts(s)) {
        sampi_close_view(view, NULL, -1);
        sampi_sort_long(&SAMPI_BY_LOGIT, view->cur->data, view->cur->size, view->work);
        view->cur->sorted = true;
    }
    if (status) return status;
    view->sorts = row->by_order;
    view->ordinal[s->kind]++;
    if (row->cur.data)
        sampi_view_keep(view, flags & SAMPI_KEEPS_P);
    else if (row->token >= 0)
        sampi_close_view(view, NULL, row->token);
    return SAMP_OK;
}

/* One sampler that is no chain and not a user's, through a view or step by step. */
static SAMPI_COLD int sampi_view_apply(sampi_view *view, sampi_sampler *s)
{
    const uint64_t position = view->outer->position;
    int status = SAMP_OK;
    if (view->is_open && !s->off && !sampi_fits_view(view, s)) sampi_close_view(view, NULL, -1);
    bool is_llama = s->rng == SAMP_RNG_MT19937;
    if (!view->is_open) status = sampi_open_view(view, is_llama);
    if (status == SAMPI_DECLINED) return sampi_run(s, view->cur, position, view->ordinal);
    if (status || s->off) return status;
    if (!is_llama && !(sampi_traits_of(s->kind)->flags & SAMPI_SELECTS))
        view->cur->selected = -1; /* as in sampi_run */
    status = is_llama ? sampi_view_llama(view, s) : sampi_view_step(view, s);
    if (status) sampi_close_view(view, NULL, -1);
    return status == SAMPI_DECLINED ? sampi_run(s, view->cur, position, view->ordinal) : (int)SAMP_OK;
}

static SAMPI_COLD int sampi_view_walk(sampi_view *view, sampi_sampler *s)
{
    int status = SAMP_OK;
    if (sampi_is_custom(s)) {
        sampi_close_view(view, NULL, -1);
        return sampi_run(s, view->cur, view->outer->position, view->ordinal);
    }
    if (!sampi_is_chain(s)) return sampi_view_apply(view, s);
    for (int32_t i = 0; i < s->u.chain.n && !status; i++) status = sampi_view_walk(view, s->u.chain.item[i]);
    return status;
}

static SAMPI_COLD sampi_view sampi_make_view(sampi_sampler *outer, sampi_work *work, samp_token_data_array *cur)
{
    sampi_view view;
    memset(&view, 0, sizeof view);
    view.outer = outer;
    view.work = work;
    view.cur = cur;
    return view;
}

static SAMPI_COLD int sampi_apply_members(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                                          samp_token_data_array *cur, const uint32_t *ordinal)
{
    sampi_view view = sampi_make_view(job->s, job->work, cur);
    int status = SAMP_OK;
    memcpy(view.ordinal, ordinal, sizeof view.ordinal);
    for (int i = from; i < n && !status; i++)
        status = sampi_has_array(job->work) ? sampi_view_walk(&view, member[i])
                                            : sampi_run(member[i], cur, job->s->position, view.ordinal);
    if (!status) sampi_close_view(&view, NULL, -1);
    return status;
}

/* Alone, these take less time by their steps than by a view; those that look for tokens where most are at their ids. */
static SAMPI_COLD bool sampi_has_short_steps(const sampi_sampler *s, const samp_token_data_array *cur)
{
    const unsigned kinds = 1u << SAMPI_LOGIT_BIAS | 1u << SAMPI_PENALTIES | 1u << SAMPI_DRY;
    bool is_dense = (size_t)cur->data[cur->size - 1].id == cur->size - 1;
    return !s->off && (s->kind == SAMPI_TEMP || (is_dense && kinds >> s->kind & 1));
}

/* As in the steps, the array is checked before anything is counted as an edit or written. */
SAMP_API SAMPI_COLD int samp_apply(samp_sampler *sampler, samp_token_data_array *cur)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s || !cur || !cur->data || cur->size <= SAMPI_FEW) return sampi_apply_steps(s, cur);
    int status = samp_status(sampler, NULL);
    if (status) return status;
    sampi_view view = sampi_make_view(s, &s->work, cur);
    bool is_short = cur->size <= SAMP_MAX_VOCAB && sampi_has_short_steps(s, cur);
    status = is_short ? (int)SAMPI_DECLINED : sampi_open_view(&view, s->rng == SAMP_RNG_MT19937);
    if (status == SAMPI_DECLINED) status = sampi_check(cur);
    if (status) return status;
    sampi_moves(s);
    sampi_save_state(s);
    status = is_short ? sampi_run_checked(s, cur, s->position, view.ordinal) : sampi_view_walk(&view, s);
    if (!status) sampi_close_view(&view, NULL, -1);
    return sampi_end_draw(s, status);
}

/* ================================================================================================== >>verify
   samp_verify: a row of logits for each token of a draft and one more come in; the tokens that are taken come out,
   and how many of the draft were among them. Both methods are one loop: sample a row, go on while the draft's token
   comes out. For the ratio test the draw itself is another one: sampi_draw asks s->draft for it (see >>selection), so
   that what follows a draw, such as mirostat's mu, sees the token that was taken.

   The one thing to know: s->draft points to a row on samp_verify's stack. It is set in all samplers of the chain
   before a row is sampled, and must be NULL in all of them when samp_verify returns. */

/* Tokens and ids within the vocabulary, probabilities within [0, 1]: all rows are looked at before anything is drawn,
   so that a bad draft changes no state. Reads only. */
static int sampi_check_draft(const samp_draft *draft, size_t n_vocab, samp_verify_method method)
{
    if (method != SAMP_VERIFY_EXACT && method != SAMP_VERIFY_RATIO) return SAMP_E_RANGE;
    if (draft->n && !draft->tokens) return SAMP_E_NULL;
    if (draft->n > INT32_MAX || n_vocab > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    for (size_t i = 0; i < draft->n; i++)
        if (draft->tokens[i] < 0 || (size_t)draft->tokens[i] >= n_vocab) return SAMP_E_RANGE;
    if (method == SAMP_VERIFY_EXACT) return SAMP_OK; /* does not look at the probabilities */
    if (draft->ids && !draft->probs) return SAMP_E_NULL;
    if (draft->ids && draft->n_top == 0) return SAMP_E_RANGE;
    size_t n_ids = draft->ids ? draft->n * draft->n_top : 0;
    for (size_t i = 0; i < n_ids; i++)
        if (draft->ids[i] < 0 || (size_t)draft->ids[i] >= n_vocab) return SAMP_E_RANGE;
    size_t n_probs = draft->probs ? draft->n * (draft->ids ? draft->n_top : n_vocab) : 0;
    for (size_t i = 0; i < n_probs; i++) {
        if (draft->probs[i] != draft->probs[i]) return SAMP_E_NAN;
        if (!(draft->probs[i] >= 0.0f && draft->probs[i] <= 1.0f)) return SAMP_E_RANGE;
    }
    return SAMP_OK;
}

/* Hand a row of the draft, or NULL, to all samplers of a chain; false if one of them has another random source: the
   ratio test knows Philox only. */
static SAMPI_COLD bool sampi_set_draft(sampi_sampler *s, const sampi_draft *draft)
{
    bool philox = s->rng == SAMP_RNG_PHILOX;
    int32_t n = sampi_is_chain(s) ? s->u.chain.n : 0;
    for (int32_t i = 0; i < n; i++) philox &= sampi_set_draft(s->u.chain.item[i], draft);
    s->draft = draft;
    return philox;
}

/* Row i of a draft, i < n. */
static sampi_draft sampi_draft_row(const samp_draft *draft, size_t i, size_t n_vocab)
{
    size_t n_row = draft->ids ? draft->n_top : n_vocab;
    sampi_draft row;
    row.token = draft->tokens[i];
    row.probs = draft->probs ? draft->probs + i * n_row : NULL;
    row.ids = draft->ids ? draft->ids + i * n_row : NULL;
    row.n_top = n_row;
    return row;
}

/* Rows 0 .. n of logits: the last one, behind the whole draft, is an ordinary draw with either method. out [n + 1]
   has the tokens taken, then -1; a status in the place of a token ends the loop as a rejection would. */
SAMP_API int32_t samp_verify(samp_sampler *sampler, const float *logits, size_t n_vocab, const samp_draft *draft,
                             samp_verify_method method, samp_token *out)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    bool ratio = method == SAMP_VERIFY_RATIO;
    int status = s && logits && draft && out ? samp_status(sampler, NULL) : SAMP_E_NULL;
    if (!status) status = sampi_check_draft(draft, n_vocab, method);
    if (!status && !sampi_set_draft(s, NULL) && ratio) status = SAMP_E_UNSUPPORTED;
    if (status) return status;
    size_t accepted = 0;
    for (; accepted < draft->n; accepted++) {
        sampi_draft row = sampi_draft_row(draft, accepted, n_vocab);
        if (ratio) sampi_set_draft(s, &row);
        out[accepted] = samp_sample(sampler, logits + accepted * n_vocab, n_vocab);
        if (out[accepted] != row.token) break;
    }
    sampi_set_draft(s, NULL);
    if (accepted == draft->n) out[accepted] = samp_sample(sampler, logits + accepted * n_vocab, n_vocab);
    for (size_t i = accepted + 1; i <= draft->n; i++) out[i] = -1;
    return accepted == 0 && out[0] < 0 ? out[0] : (int32_t)accepted;
}

/* =================================================================================================== >>batch
   samp_sample_batch: rows of logits and a sampler for each come in, a token or a status for each comes out. Rows have
   nothing to do with each other, so this is samp_sample in a loop, by several threads where OpenMP is on; what a row
   gives is what it would give alone.

   The one thing to know: a thread works in a workspace that belongs to some row's sampler, mostly another one's than
   the row it is at. It may: a workspace holds nothing between two draws. So a batch of a thousand rows needs as many
   workspaces as threads, and the memory that samp_reserve brought is used before any is allocated. */

#define SAMPI_MAX_THREADS 256

/* In elements and in words; 0 stands for rows without a gap. */
static size_t sampi_stride(const samp_logits *batch) { return batch->stride ? batch->stride : batch->n_vocab; }

static size_t sampi_mask_stride(const samp_logits *batch)
{
    return batch->mask_stride ? batch->mask_stride : (batch->n_vocab + 31) / 32;
}

/* Is a sampler there twice, or a chain and one of its members? Their rows could not be sampled at once, and their order
   would decide their tokens. First each sampler is marked with the number of the last row that has it (s->in_batch,
   written here); a row whose sampler bears another number shares it with a later one, and a chain around it has a row
   if that row has the chain. */
static bool sampi_has_twice(samp_sampler *const *rows, size_t n_rows)
{
    for (size_t r = 0; r < n_rows; r++)
        if (rows[r]) ((sampi_sampler *)rows[r])->in_batch = r;
    for (size_t r = 0; r < n_rows; r++) {
        const sampi_sampler *s = (const sampi_sampler *)rows[r];
        if (s && s->in_batch != r) return true;
        for (s = s ? s->owner : NULL; s; s = s->owner)
            if (s->in_batch < n_rows && rows[s->in_batch] == &s->base) return true;
    }
    return false;
}

/* What is wrong with the call itself; what is wrong with one row is that row's status. Called before any row is
   sampled, by the GPU's batch too. Writes in_batch of the samplers. */
static int sampi_check_batch(samp_sampler *const *rows, const samp_logits *batch)
{
    size_t size = SAMPI_SIZE_OF(batch->dtype);
    if ((int)batch->dtype < SAMP_F32 || (int)batch->dtype > SAMP_F64) return SAMP_E_DTYPE;
    if (!batch->data) return SAMP_E_NULL;
    if (batch->n_vocab == 0) return SAMP_E_EMPTY;
    if (batch->n_vocab > SAMP_MAX_VOCAB || batch->n_threads < 0) return SAMP_E_RANGE;
    if ((uintptr_t)batch->data % size) return SAMP_E_RANGE;
    if (sampi_stride(batch) < batch->n_vocab) return SAMP_E_RANGE;
    if (batch->mask && sampi_mask_stride(batch) < (batch->n_vocab + 31) / 32) return SAMP_E_RANGE;
    return sampi_has_twice(rows, batch->n_rows) ? SAMP_E_RANGE : SAMP_OK;
}

/* Of one set of log-probabilities that a row asks for. Asked by sampi_batch_row, before it draws: what a row asks
   for is wrong for that row alone. */
static bool sampi_bad_logprobs(const samp_logprob_set *set)
{
    return set->n_top < 0 || set->n_top > SAMP_MAX_TOP_LOGPROBS;
}

/* Does the set want tokens, but has no list to write them to? Then SAMP_E_NULL, before the samplers move on. */
static bool sampi_no_room_for_logprobs(const samp_logprob_set *set) { return set->n_top && !set->top_logprobs; }

/* One row, in any thread's workspace: samp_sample with the batch's dtype, mask and log-probabilities. Changes the
   row's sampler and its log-probabilities, and overwrites the workspace. */
static samp_token sampi_batch_row(samp_sampler *const *rows, const samp_logits *batch, size_t r, sampi_work *work)
{
    samp_logprobs *lp = batch->logprobs ? &batch->logprobs[r] : NULL;
    if (!rows[r]) return SAMP_E_NULL;
    int status = samp_status(rows[r], NULL);
    if (status) return status;
    if (batch->row_index && batch->row_index[r] < 0) return SAMP_E_RANGE;
    if (lp && (sampi_bad_logprobs(&lp->raw) || sampi_bad_logprobs(&lp->processed))) return SAMP_E_RANGE;
    if (lp && (sampi_no_room_for_logprobs(&lp->raw) || sampi_no_room_for_logprobs(&lp->processed)))
        return SAMP_E_NULL;
    size_t at = batch->row_index ? (size_t)batch->row_index[r] : r; /* of the logits; the mask goes with the row */
    sampi_job job;
    job.s = (sampi_sampler *)rows[r];
    job.work = work;
    job.data = (const char *)batch->data + at * sampi_stride(batch) * SAMPI_SIZE_OF(batch->dtype);
    job.dtype = batch->dtype;
    job.mask = batch->mask ? batch->mask + r * sampi_mask_stride(batch) : NULL;
    job.n = batch->n_vocab;
    job.logprobs = lp;
    job.accept = true;
    return sampi_sample(&job);
}

/* How many threads. Waking them takes about 40 us, as much as four rows of 128k tokens, so without a number from the
   caller a thread must have 2^18 logits to do. */
static int sampi_batch_threads(const samp_logits *batch)
{
    size_t n = 1;
#ifdef _OPENMP
    if (batch->n_threads) {
        n = (size_t)batch->n_threads;
    } else {
        size_t worth = batch->n_rows * batch->n_vocab >> 18;
        n = (size_t)omp_get_max_threads();
        if (n > worth) n = worth;
    }
#endif
    if (n > SAMPI_MAX_THREADS) n = SAMPI_MAX_THREADS;
    if (n > batch->n_rows) n = batch->n_rows;
    return n < 1 ? 1 : (int)n;
}

/* Up to n workspaces for the batch's vocabulary: first those of samplers that have one, then, if these are too few,
   of samplers that get one now (the only place in a batch that allocates). Returns how many there are: fewer than n
   without memory. */
static int sampi_batch_work(samp_sampler *const *rows, const samp_logits *batch, sampi_work **work, int n)
{
    int have = 0;
    for (size_t r = 0; r < batch->n_rows && have < n; r++) {
        sampi_work *w = rows[r] ? &((sampi_sampler *)rows[r])->work : NULL;
        if (w && w->n >= batch->n_vocab) work[have++] = w;
    }
    for (size_t r = 0; r < batch->n_rows && have < n; r++) {
        sampi_work *w = rows[r] ? &((sampi_sampler *)rows[r])->work : NULL;
        if (w && w->n < batch->n_vocab && sampi_reserve(w, batch->n_vocab, false) == SAMP_OK) work[have++] = w;
    }
    return have;
}

/* One workspace is enough to go on, with one thread. None is an error, unless no row has a sampler anyway. Rows
   are handed out one at a time, as they cost very different times (one that goes step by step, many times another
   one). A thread's number is below n, so each has a workspace of its own; what a row writes besides is its
   sampler, which no other row has, and its places in out and logprobs. */
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
        for (long long r = 0; r < n_rows; r++) /* no thread is to allocate */
            if (samp_status(rows[r], NULL) == SAMP_OK) sampi_past_ready((sampi_sampler *)rows[r]);
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
   members' parts. One function for each kind with a state (the hook `state`) counts, writes, checks and reads its part,
   so there is one place that knows the form; loading checks all the bytes before it reads the first. What can be
   derived (counts from a window) is not stored but made again.

   The one thing to know: only when io->mode is SAMPI_READ may a function below write to the sampler. Then the same
   bytes have gone through the same functions in SAMPI_CHECK, so nothing can fail any more. */

#define SAMPI_STATE_MAGIC   0x504D4153u /* "SAMP" */
#define SAMPI_STATE_VERSION 1

/* ---- fingerprint ----
   A state is loaded only into a sampler with the same settings, and these are not stored: 64 bits made of them are.
   What is mixed in, and in which order, is part of the format; a change of it needs another version. */

/* By its value as a double, so -0 and 0 differ; a name by its checksum. */
static void sampi_mix_float(uint64_t *hash, float x) { sampi_mix(hash, sampi_bits((double)x)); }
static void sampi_mix_text(uint64_t *hash, const char *text) { sampi_mix(hash, sampi_checksum(text, strlen(text))); }

/* A sampler's own numbers: first those that are floats, then the integers, as version 1 of the bytes has them. A
   field that only the making needs (SAMPI_PASSING) is left out. */
static void sampi_mix_fields(uint64_t *hash, const sampi_sampler *s)
{
    for (int integers = 0; integers < 2; integers++)
        for (size_t i = 0; i < SAMPI_N_FIELDS; i++) {
            const sampi_field *f = &SAMPI_FIELDS[i];
            if (f->kind != s->kind || (f->how & SAMPI_PASSING) || (f->type != SAMPI_FLOAT) != integers) continue;
            const void *at = (const char *)s + f->at;
            switch (f->type) {
                case SAMPI_FLOAT: sampi_mix_float(hash, *(const float *)at); break;
                case SAMPI_INT32: sampi_mix(hash, (uint32_t) * (const int32_t *)at); break;
                case SAMPI_SIZE: sampi_mix(hash, *(const size_t *)at); break;
                case SAMPI_WORD: break;
            }
        }
}

/* The settings hook of logit_bias: the entries, behind their number, which is a field. */
static SAMPI_COLD void sampi_logit_bias_settings(const sampi_sampler *s, uint64_t *hash)
{
    const samp_logit_bias *bias = (const samp_logit_bias *)sampi_part(s, 0);
    for (int32_t i = 0; i < s->u.bias.n; i++) {
        sampi_mix(hash, (uint32_t)bias[i].token);
        sampi_mix_float(hash, bias[i].bias);
    }
}
/* The breakers as the vocabulary spells them: the strings are not there any more, and another vocabulary makes
   other tokens of them, with which a saved window would mean something else. */
static SAMPI_COLD void sampi_dry_settings(const sampi_sampler *s, uint64_t *hash)
{
    const sampi_tail *tail = (const sampi_tail *)sampi_part(s, 3);
    const sampi_head *head = sampi_dry_head(s);
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

/* Every member's settings, in order, and how many tokens prev may hold. */
static SAMPI_COLD void sampi_chain_settings(const sampi_sampler *s, uint64_t *hash)
{
    sampi_mix(hash, s->u.chain.ring.cap);
    sampi_mix(hash, (uint32_t)s->u.chain.n);
    for (int32_t i = 0; i < s->u.chain.n; i++) sampi_settings(s->u.chain.item[i], hash);
}

/* ---- fields ----
   Each function below takes one thing of a part, in any of the three directions: it writes it (or only counts its
   bytes), checks that what stands there may be loaded, or loads it. The hooks call them in the same order each time. */

typedef enum sampi_io_mode { SAMPI_WRITE, SAMPI_CHECK, SAMPI_READ } sampi_io_mode;

struct sampi_io {
    sampi_io_mode mode;
    unsigned char *to;         /* where to write; NULL: only count */
    const unsigned char *from; /* [size] what to check or read */
    size_t size, at;
    uint8_t bad;  /* once set, nothing more is looked at; 2: for want of memory */
    void *copies; /* sampi_matcher: what a load's grammars become */
};

/* An integer of n bytes: x if it is to be written, else what stands there. All go through here, least significant
   byte first. Sets bad instead of reading behind the end. */
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

/* Any value is good: positions, and counts of random numbers. */
static void sampi_io_u64(sampi_io *io, uint64_t *x)
{
    uint64_t y = sampi_io_int(io, *x, 8);
    if (io->mode == SAMPI_READ) *x = y;
}

/* At least `lowest`: 0 for a token, -1 where there may be none. Not compared with a vocabulary, which samplers don't
   know; samp_accept takes any token too. */
static void sampi_io_token(sampi_io *io, samp_token *x, samp_token lowest)
{
    samp_token y = (samp_token)(uint32_t)sampi_io_int(io, (uint32_t)*x, 4);
    io->bad |= y < lowest;
    if (io->mode == SAMPI_READ) *x = y;
}

/* In [lo, hi], so that damage which the checksum lets through can't make a NaN of later draws; any value if lo is
   NaN. By its bits, so it comes back exactly. */
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

/* A window of tokens: how many, then the oldest first, so the bytes don't tell where in the ring the tokens stood.
   Loaded they stand from 0 on. Of penalties, dry and chains. */
static SAMPI_COLD void sampi_io_ring(sampi_io *io, sampi_ring *r, samp_token *token)
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

/* More than any generation draws: bytes that say so are no state. */
#define SAMPI_MAX_DRAWN ((uint64_t)1 << 32)

/* How many outputs were drawn (that tells which is next), and the state they come from. It makes new ones 624 at a
   time, when the next is wanted: after a multiple of 624 `next` is still 624. */
static void sampi_io_mt(sampi_io *io, sampi_mt *mt)
{
    uint64_t drawn = sampi_io_int(io, mt->drawn, 8);
    io->bad |= io->mode != SAMPI_WRITE && drawn > SAMPI_MAX_DRAWN;
    if (io->mode == SAMPI_READ) mt->drawn = drawn;
    if (io->mode == SAMPI_READ) mt->next = mt->drawn ? (uint32_t)((mt->drawn - 1) % 624) + 1 : 624;
    for (int i = 0; i < 624; i++) {
        uint32_t x = (uint32_t)sampi_io_int(io, mt->state[i], 4);
        if (io->mode == SAMPI_READ) mt->state[i] = x;
    }
}

/* ---- the kinds ----
   The state hooks, which sampi_io_part calls: what a kind has become besides its position and mt19937. Each is a list
   of fields; a kind with nothing to tell has no hook. */

/* The sorted list of n tokens and how often each occurs -> its length. list [n] is written, token [n] is not. */
static SAMPI_COLD uint32_t sampi_count_all(sampi_count *list, const samp_token *token, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) list[i].token = token[i], list[i].count = 1;
    sampi_count_sort(list, n);
    for (uint32_t i = 0; i < n; i++) {
        if (kept && list[kept - 1].token == list[i].token)
            list[kept - 1].count++;
        else
            list[kept++] = list[i];
    }
    return kept;
}

/* The counts are made again once the window is there: the list is part 1, which has room for a full window. */
static SAMPI_COLD void sampi_penalties_state(sampi_sampler *s, sampi_io *io)
{
    samp_token *token = (samp_token *)sampi_part(s, 0);
    sampi_io_ring(io, &s->u.penalties.ring, token);
    if (io->mode == SAMPI_READ)
        s->u.penalties.n = sampi_count_all(sampi_penalties_list(s), token, s->u.penalties.ring.size);
}

/* The window is all that dry has: its lists are made for each draw, and where its breakers are is found again. */
static SAMPI_COLD void sampi_dry_state(sampi_sampler *s, sampi_io *io)
{
    sampi_io_ring(io, &s->u.dry.ring, (samp_token *)sampi_part(s, 0));
    if (io->mode != SAMPI_READ) return;
    s->u.dry.settled = -1;
    for (int32_t back = (int32_t)s->u.dry.ring.size; back-- > SAMPI_TAIL_MAX;) sampi_dry_settle(s, back);
}

/* mu, which is all that both versions become. Under MT19937 it may be anything: llama.cpp's arithmetic does not clamp
   it, and what it gave is what goes on. */
static SAMPI_COLD void sampi_mirostat_state(sampi_sampler *s, sampi_io *io)
{
    bool any = s->rng == SAMP_RNG_MT19937; /* llama.cpp's mu may overflow */
    sampi_io_float(io, &s->now.mu, any ? NAN : -FLT_MAX, FLT_MAX);
}

/* The average, whose total is never below 1, and the selection that waits for samp_accept. */
static SAMPI_COLD void sampi_adaptive_p_state(sampi_sampler *s, sampi_io *io)
{
    if (s->u.adaptive.target < 0.0f) return; /* plain dist */
    sampi_io_float(io, &s->u.adaptive.sum, 0.0f, FLT_MAX);
    sampi_io_float(io, &s->u.adaptive.total, 1.0f, FLT_MAX);
    sampi_io_token(io, &s->now.pending, -1);
    sampi_io_float(io, &s->now.pending_p, 0.0f, 1.0f);
}

static void sampi_io_part(sampi_sampler *s, sampi_io *io);

/* prev, then the members' parts, in order. How many there are is in the fingerprint. */
static SAMPI_COLD void sampi_chain_state(sampi_sampler *s, sampi_io *io)
{
    sampi_io_ring(io, &s->u.chain.ring, s->u.chain.prev);
    for (int32_t i = 0; i < s->u.chain.n && !io->bad; i++) sampi_io_part(s->u.chain.item[i], io);
}

/* Nobody but its author knows what a custom sampler's context is, so one that has a context can't be saved or
   loaded. Asked for the whole chain, before any byte is looked at. */
static SAMPI_COLD bool sampi_can_keep(const sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (!sampi_can_keep(s->u.chain.item[i])) return false;
    return !sampi_is_custom(s) || !s->base.ctx || sampi_is_grammar(s);
}

/* All that decides what a sampler does, but not what it has become: a state loads only into its equal. The kind's
   name stands for the kind, whose number may change. */
static SAMPI_COLD void sampi_settings(const sampi_sampler *s, uint64_t *hash)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    sampi_mix_text(hash, traits->name);
    sampi_mix_text(hash, samp_name(&s->base)); /* a custom one's own name */
    sampi_mix(hash, (uint64_t)s->rng);
    sampi_mix(hash, s->seed);
    sampi_mix_fields(hash, s);
    if (traits->hooks->settings) traits->hooks->settings(s, hash);
    if (sampi_is_grammar(s)) sampi_grammar_settings(s, hash);
}

/* A sampler's part of the bytes, in whatever direction io goes. sampi_io_all calls it for the sampler itself,
   sampi_chain_state for each member. An mt19937 that is not in use is not stored: 2,504 bytes that decide nothing. */
static SAMPI_COLD void sampi_io_part(sampi_sampler *s, sampi_io *io)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    sampi_io_u64(io, &s->position);
    if (traits->draws && s->rng == SAMP_RNG_MT19937) sampi_io_mt(io, sampi_mt_of(s));
    if (traits->hooks->state) traits->hooks->state(s, io);
    if (sampi_is_grammar(s)) sampi_grammar_state(s, io);
}

/* Walks over all settings: once for each save and each load. */
static uint64_t sampi_fingerprint(const sampi_sampler *s)
{
    uint64_t hash = 0;
    sampi_settings(s, &hash);
    return hash;
}

/* All but the checksum. The head is compared before the part, so bytes of another sampler or version are never
   taken apart. */
static SAMPI_COLD void sampi_io_all(sampi_sampler *s, uint64_t fingerprint, sampi_io *io)
{
    io->bad |= sampi_io_int(io, SAMPI_STATE_MAGIC, 4) != SAMPI_STATE_MAGIC;
    io->bad |= sampi_io_int(io, SAMPI_STATE_VERSION, 4) != SAMPI_STATE_VERSION;
    io->bad |= sampi_io_int(io, fingerprint, 8) != fingerprint;
    if (!io->bad) sampi_io_part(s, io);
}

/* What speaks against keeping the state of s, or of one of its members. NULL too, by samp_status: the three
   functions below begin with it. */
static int sampi_state_status(const samp_sampler *s)
{
    int status = samp_status(s, NULL);
    return status || sampi_can_keep((const sampi_sampler *)s) ? status : SAMP_E_UNSUPPORTED;
}

/* Writing without a place to write to: the size can't differ from what samp_state_save writes. */
SAMP_API SAMPI_COLD size_t samp_state_size(const samp_sampler *s)
{
    sampi_io io = { SAMPI_WRITE, NULL, NULL, 0, 0, 0, NULL };
    if (sampi_state_status(s)) return 0;
    sampi_io_all((sampi_sampler *)(uintptr_t)s, 0, &io); /* in this mode it is only looked at */
    return io.at + 8;
}

/* What can fail comes before the first byte. s is cast to be written, but in this mode it is only read. */
SAMP_API SAMPI_COLD int samp_state_save(const samp_sampler *s, void *bytes, size_t size)
{
    sampi_io io = { SAMPI_WRITE, (unsigned char *)bytes, NULL, 0, 0, 0, NULL };
    int status = bytes ? sampi_state_status(s) : SAMP_E_NULL;
    if (status) return status;
    if (size < samp_state_size(s)) return SAMP_E_WORKSPACE;
    sampi_io_all((sampi_sampler *)(uintptr_t)s, sampi_fingerprint((const sampi_sampler *)s), &io);
    sampi_io_int(&io, sampi_checksum(bytes, io.at), 8);
    return SAMP_OK;
}

/* Twice through the bytes: SAMPI_CHECK writes nothing, and the size and the checksum are compared when it is
   through; only then the sampler changes. It is an edit like any other, so the GPU makes a new copy. */
SAMP_API SAMPI_COLD int samp_state_load(samp_sampler *s, const void *bytes, size_t size)
{
    sampi_io io = { SAMPI_CHECK, NULL, (const unsigned char *)bytes, size, 0, 0, NULL };
    int status = bytes ? sampi_state_status(s) : SAMP_E_NULL;
    if (status) return status;
    uint64_t fingerprint = sampi_fingerprint((const sampi_sampler *)s);
    sampi_io_all((sampi_sampler *)s, fingerprint, &io);
    size_t end = io.at;
    uint64_t sum = sampi_io_int(&io, 0, 8);
    if (io.bad || io.at != size || sum != sampi_checksum(bytes, end)) return sampi_load_failed(&io);
    io.mode = SAMPI_READ; /* every byte has been checked: from here on nothing fails */
    io.at = 0;
    sampi_edited((sampi_sampler *)s);
    sampi_io_all((sampi_sampler *)s, fingerprint, &io);
    return SAMP_OK;
}

/* ---- the table of >>sampler, now that all it names is there ----
   The hooks of a kind are told by place, not by name: C++11 has no designated initialisers. */

/* clang-format off */
/*                                               prepare  build  settings  accept  reset  state  take_over  past */
static const sampi_hooks SAMPI_NO_HOOKS = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
static const sampi_hooks SAMPI_LOGIT_BIAS_HOOKS = {
    sampi_logit_bias_prepare, sampi_logit_bias_build, sampi_logit_bias_settings, NULL, NULL, NULL, NULL, NULL
};
static const sampi_hooks SAMPI_PENALTIES_HOOKS = {
    sampi_penalties_prepare, NULL, NULL,
    sampi_penalties_accept, sampi_penalties_reset, sampi_penalties_state, sampi_penalties_take_over,
    sampi_penalties_past
};
static const sampi_hooks SAMPI_DRY_HOOKS = {
    sampi_dry_prepare, sampi_dry_build, sampi_dry_settings,
    sampi_dry_accept, sampi_dry_reset, sampi_dry_state, sampi_dry_take_over, sampi_dry_past
};
static const sampi_hooks SAMPI_INFILL_HOOKS = { sampi_infill_prepare, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
static const sampi_hooks SAMPI_MIROSTAT_HOOKS = {
    NULL, NULL, NULL, NULL, sampi_mirostat_reset, sampi_mirostat_state, sampi_mirostat_take_over, sampi_mirostat_past
};
static const sampi_hooks SAMPI_ADAPTIVE_P_HOOKS = {
    NULL, NULL, NULL,
    sampi_adaptive_p_accept, sampi_adaptive_p_reset, sampi_adaptive_p_state, sampi_adaptive_p_take_over,
    sampi_adaptive_p_past
};
static const sampi_hooks SAMPI_CHAIN_HOOKS = {
    NULL, NULL, sampi_chain_settings, NULL, NULL, sampi_chain_state, NULL, sampi_chain_past
};
/* clang-format on */

/* The only way to a row; never NULL. What depends on the kind asks here, instead of comparing kinds. */
static const sampi_traits *sampi_traits_of(sampi_kind kind)
{
    static const sampi_traits traits[SAMPI_N_KINDS] = {
#define SAMPI_KIND_TRAITS(id, name, draws, letter, step, flags, off, hooks, apply, llama, fast, fast_llama)          \
    { name, draws, letter, step, flags, hooks, apply, llama, fast, fast_llama },
        SAMPI_KINDS(SAMPI_KIND_TRAITS)
#undef SAMPI_KIND_TRAITS
    };
    return &traits[kind];
}

/* ================================================================================================ >>operator
   samp_random_sample: one row, one random number and three settings come in, one index goes out; no sampler, no
   state, no memory but the caller's workspace. By definition the row is ordered, running sums of its weights are
   taken, and the random number is looked up in them.

   Here the order is never made. The value at which a count or a mass is reached is found digit by digit of its key
   (sampi_key: floats as integers in the same order), the highest first: one pass over the row sums how many elements
   and what mass fall on each digit. The tile maxima tell which tiles a pass may leave out. Ties of the value are then
   counted out by index.

   The one thing to know: weights are taken of (x - top) / temperature, rounded to f32 twice, as the operator is
   defined; that is monotone in x, so comparing x is enough everywhere else. */

#define SAMPI_DIGITS 2048 /* 11 bits, so three make a float; the sums of a pass are 32 KiB */

/* What falls on one digit in a pass: how many elements, and their weights' sum. Both are kept, whichever is searched,
   since the other one tells later how much lies above. */
typedef struct sampi_digit {
    uint64_t mass;
    size_t n;
} sampi_digit;

/* What was described. Never written after it was made, so threads may share it. */
struct samp_random_sample {
    samp_dtype result, probs;
    size_t n;
};

/* A row in which values are searched: the caller's, converted if need be, or the maxima of its lines. All functions
   here get it const; the only thing they write through it is digit. */
typedef struct sampi_ordered {
    const float *x; /* [n] no NaN */
    size_t n;
    const float *tile; /* [16 * ceil(n / 256)] maxima as the kernel gives them, or NULL */
    float top, temperature;
    sampi_digit *digit; /* [SAMPI_DIGITS] to work in */
} sampi_ordered;

/* Where a search stands or has ended: at this key, with so much strictly above it. */
typedef struct sampi_place {
    int32_t key;
    size_t n;
    uint64_t mass;
} sampi_place;

/* ---- weights ----
   The weight of an element, by the same two steps wherever it is taken: if two places rounded differently, the mass
   that was searched would not be the mass that is found. */

/* What exp is taken of, f32 after each of the two steps. */
static float sampi_op_scale(const sampi_ordered *row, float x) { return (x - row->top) / row->temperature; }

/* The weight of one element: where a search has ended, to count equal ones. The distance to the top is taken already,
   hence the 0. */
static uint64_t sampi_op_weight(const sampi_ordered *row, float x)
{
    return sampi_weight(0.0f, sampi_op_scale(row, x));
}

/* The same of a tile, or of what was collected from one: w [n + 16] of x [n], n <= 256. The kernel writes up to 16
   behind. */
static void sampi_op_weights(const sampi_ordered *row, const float *x, size_t n, uint64_t *w)
{
    float y[SAMPI_TILE];
    if (n == SAMPI_TILE) /* a number that the compiler knows makes it use vectors */
        for (size_t i = 0; i < SAMPI_TILE; i++) y[i] = sampi_op_scale(row, x[i]);
    else
        for (size_t i = 0; i < n; i++) y[i] = sampi_op_scale(row, x[i]);
    sampi_use()->weights(y, n, 0.0f, w);
}

/* The length of the tile that begins at `at`: the last one may be shorter. at < n. */
static size_t sampi_op_tile(const sampi_ordered *row, size_t at)
{
    return row->n - at < SAMPI_TILE ? row->n - at : SAMPI_TILE;
}

/* The mass of the whole row: for topp below 1, which is a share of it, and for topk = n. Reads only. */
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

/* ---- searching a value ----
   sampi_op_find is a radix search from the top: sampi_op_digits makes a histogram of the keys still in question,
   sampi_op_descend chooses a digit of it, and the next round looks inside of that. sampi_op_nth then turns a value
   into an index. */

/* Is all of the tile at `at` below the floor? Without maxima no tile is known to be. A tile has 16 lines, so its
   maxima are 16 floats. Asked before a tile is read. */
static bool sampi_op_skips(const sampi_ordered *row, size_t at, float floor)
{
    if (!row->tile) return false;
    const float *line = row->tile + at / 16;
    float max = line[0];
    for (int j = 1; j < 16; j++) max = line[j] > max ? line[j] : max;
    return max < floor;
}

/* Sum up the elements with keys lo .. lo + span by digit, (key - lo) >> shift: writes row->digit, nothing else. A
   step of sampi_op_find. Keys are subtracted as unsigned numbers: the difference is below 2^32 whatever the signs
   of the floats. */
static void sampi_op_digits(const sampi_ordered *row, int32_t lo, uint32_t span, int shift)
{
    uint64_t w[SAMPI_TILE + 16];
    float x[SAMPI_TILE + 16], floor = sampi_unkey(lo);
    int32_t id[SAMPI_TILE + 16];
    uint32_t digit[SAMPI_TILE + 16];
    memset(row->digit, 0, SAMPI_DIGITS * sizeof *row->digit);
    for (size_t at = 0; at < row->n; at += SAMPI_TILE) {
        if (sampi_op_skips(row, at, floor)) continue;
        size_t reaching = sampi_use()->collect(row->x + at, NULL, 0, sampi_op_tile(row, at), floor, INFINITY, x, id);
        size_t n = 0;
        for (size_t i = 0; i < reaching; i++) { /* no branch: an element above the span is overwritten by the next */
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

/* Go down the digits from the last one, adding to *at what lies above, until one is reached that brings the number
   (or the mass) to `required`: its number in *digit. False if all of them are not enough. */
static bool sampi_op_descend(const sampi_ordered *row, uint32_t last, uint64_t required, bool by_mass,
                             sampi_place *at, uint32_t *digit)
{
    for (uint32_t i = last + 1; i > 0; i--) {
        const sampi_digit *d = &row->digit[i - 1];
        uint64_t reached = by_mass ? at->mass + d->mass : at->n + d->n;
        if (reached >= required) {
            *digit = i - 1;
            return true;
        }
        at->n += d->n;
        at->mass += d->mass;
    }
    return false;
}

/* The largest value that `required` elements reach (by_mass: elements of that mass). False if not even all those
   from `floor` on are enough; then *at has their number and mass. Three passes at most: a float has 32 bits, a
   digit 11. Writes row->digit and *at. Called for the k-th largest (by number) and for the sampled value (by
   mass). */
static bool sampi_op_find(const sampi_ordered *row, float floor, uint64_t required, bool by_mass, sampi_place *at)
{
    uint32_t span = (uint32_t)sampi_key(row->top) - (uint32_t)sampi_key(floor);
    int shift;
    at->key = sampi_key(floor);
    at->n = 0;
    at->mass = 0;
    do { /* the key is in [at->key, at->key + span]; what lies above is in at->n and at->mass */
        uint32_t digit = 0;
        shift = 0;
        while (span >> shift >= SAMPI_DIGITS) shift++;
        sampi_op_digits(row, at->key, span, shift);
        if (!sampi_op_descend(row, span >> shift, required, by_mass, at, &digit)) return false;
        at->key = (int32_t)((uint32_t)at->key + (digit << shift));
        span = ((uint32_t)1 << shift) - 1;
    } while (shift > 0);
    return true;
}

/* The index of the nth (1 = first) element equal to x; there are so many. That is what ends the loop. Called with
   the value that a search has found, or with the top for the argmax, whose first occurrence is the smallest index. */
static size_t sampi_op_nth(const sampi_ordered *row, float x, uint64_t nth)
{
    for (size_t at = 0;; at += SAMPI_TILE) {
        if (sampi_op_skips(row, at, x)) continue;
        for (size_t i = at; i < at + SAMPI_TILE && i < row->n; i++) {
            if (row->x[i] != x) continue;
            nth--;
            if (nth == 0) return i;
        }
    }
}

/* The mass of the k largest; raises *floor to a value that none of them is below, but for those without weight.
   The lines' maxima are searched first, a sixteenth of the row: k elements reach what k of these reach. Of those
   equal to the k-th only as many count as are among the k. */
static uint64_t sampi_op_mass_of(const sampi_ordered *row, size_t k, float *floor)
{
    sampi_ordered maxima = *row;
    sampi_place at;
    maxima.x = row->tile;
    maxima.n = 16 * ((row->n + SAMPI_TILE - 1) / SAMPI_TILE);
    maxima.tile = NULL;
    if (sampi_op_find(&maxima, *floor, k, false, &at)) *floor = sampi_unkey(at.key);
    if (!sampi_op_find(row, *floor, k, false, &at)) return at.mass;
    *floor = sampi_unkey(at.key);
    return at.mass + (k - at.n) * sampi_op_weight(row, *floor);
}

/* The sampled index: the mass that decides is random of the top k's, but at most random * topp of the row's.
   Called for what is not just the argmax: random, topp and temperature are above 0. Of those equal to the value
   found it takes as many as bring the mass to what is required, rounded up: w is not 0, for the value has brought
   mass. */
static size_t sampi_op_sample(const sampi_ordered *row, float random, float topp, size_t topk)
{
    float floor = row->top - 29.0f * row->temperature; /* below it w is 0: e^-28.4 rounds to 0 in units of 2^-40 */
    sampi_place at;
    uint64_t total = topp < 1.0f || topk == row->n ? sampi_op_total(row) : 0;
    uint64_t top_mass = topk < row->n ? sampi_op_mass_of(row, topk, &floor) : total;
    uint64_t required = sampi_mass_of(sampi_share((double)random), top_mass);
    if (topp < 1.0f) {
        uint64_t nucleus = sampi_mass_of(sampi_share((double)random * (double)topp), total);
        if (nucleus < required) required = nucleus;
    }
    if (required == 0) required = 1;
    sampi_op_find(row, floor, required, true, &at); /* required <= top_mass, so it is there */
    float x = sampi_unkey(at.key);
    uint64_t w = sampi_op_weight(row, x);
    return sampi_op_nth(row, x, (required - at.mass + w - 1) / w);
}

/* ---- the operator: types, workspace, call ----
   What the user calls, and what stands between his types and a row of floats. Nothing is allocated in a run. */

/* The logits as floats in out [n], which is in the workspace; of f64 their distance to the largest, which keeps
   what f32 can of the differences. NaN in other types shows in the maxima; of f64 it is told here, for a
   difference would turn infinities into NaN. For rows that are not f32; an f32 row is read where it is. */
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

/* How long a row may be so that each of its indices fits the result's type, SAMP_MAX_VOCAB at most; 0: not an integer
   type. */
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

/* The last step of a run. Signed or not, an index has the same bytes; by memcpy, so the result may have any
   address. */
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

/* The workspace, from its first cache line on: digits, maxima of lines, and the row as floats if it is not f32
   already. Offsets in bytes; its size and its use both come from here. */
typedef struct sampi_op_layout {
    size_t tile, x, end;
} sampi_op_layout;

#define SAMPI_OP_ALIGN 64

/* Of a described operator, so a size that was asked for stays right. The maxima are whole tiles of 16 lines. */
static sampi_op_layout sampi_op_layout_of(const samp_random_sample *op)
{
    size_t tiles = (op->n + SAMPI_TILE - 1) / SAMPI_TILE;
    size_t floats = op->probs == SAMP_F32 ? 0 : op->n;
    sampi_op_layout at;
    at.tile = SAMPI_DIGITS * sizeof(sampi_digit);
    at.x = at.tile + 16 * tiles * sizeof(float);
    at.end = at.x + floats * sizeof(float);
    return at;
}

/* Types first: a size is large or small only for a type. By samp_random_sample_create only, so a run need not ask
   again. */
static int sampi_op_check_description(samp_dtype result, samp_dtype probs, size_t n)
{
    size_t room = sampi_op_room(result);
    bool floats = probs == SAMP_F32 || probs == SAMP_F16 || probs == SAMP_BF16 || probs == SAMP_F64;
    if (!room || !floats) return SAMP_E_DTYPE;
    if (n == 0) return SAMP_E_EMPTY;
    return n > SAMP_MAX_VOCAB || n > room ? SAMP_E_RANGE : SAMP_OK;
}

/* The only allocation of the operator: a record of what was described. */
SAMP_API SAMPI_COLD samp_random_sample *samp_random_sample_create(samp_dtype result, samp_dtype probs, size_t n,
                                                                  int *status)
{
    samp_random_sample *op = NULL;
    int bad = sampi_op_check_description(result, probs, n);
    if (!bad) {
        op = (samp_random_sample *)SAMP_MALLOC(sizeof *op);
        if (!op) bad = SAMP_E_NOMEM;
    }
    if (op) {
        op->result = result;
        op->probs = probs;
        op->n = n;
    }
    if (status) *status = bad;
    return op;
}

/* Room for the alignment is part of it, so any address is good. */
SAMP_API size_t samp_random_sample_workspace_size(const samp_random_sample *op)
{
    return op ? SAMPI_OP_ALIGN - 1 + sampi_op_layout_of(op).end : 0;
}

/* There is nothing in it to free but itself. */
SAMP_API void samp_random_sample_destroy(samp_random_sample *op)
{
    if (op) SAMP_FREE(op);
}

/* Of the settings of one call; nothing has been written yet. Comparisons are written so that they fail for what is
   not in the range, rather than hold for what is outside. */
static int sampi_op_check(const samp_random_sample *op, float random, float topp, int32_t topk, float temperature)
{
    if (random != random || topp != topp || temperature != temperature) return SAMP_E_NAN;
    if (!(random >= 0.0f && random < 1.0f) || !(topp >= 0.0f && topp <= 1.0f)) return SAMP_E_RANGE;
    if (!(temperature >= 0.0f && temperature <= FLT_MAX)) return SAMP_E_RANGE;
    return topk >= 1 && (size_t)topk <= op->n ? SAMP_OK : SAMP_E_RANGE;
}

/* Checks, the workspace, the row as floats with its maxima, then the argmax or a search. *result is written at the
   very end, so an error leaves it alone. */
SAMP_API int samp_random_sample_run(const samp_random_sample *op, void *workspace, size_t workspace_size,
                                    void *result, const void *probs, float random, float topp, int32_t topk,
                                    float temperature)
{
    if (!op || !workspace || !result || !probs) return SAMP_E_NULL;
    if (workspace_size < samp_random_sample_workspace_size(op)) return SAMP_E_WORKSPACE;
    int status = sampi_op_check(op, random, topp, topk, temperature);
    if (!status) status = sampi_use_status();
    if (status) return status;

    sampi_op_layout at = sampi_op_layout_of(op);
    char *base = (char *)workspace + (SAMPI_OP_ALIGN - (uintptr_t)workspace % SAMPI_OP_ALIGN) % SAMPI_OP_ALIGN;
    float *tile = (float *)(void *)(base + at.tile), *x = (float *)(void *)(base + at.x);
    sampi_ordered row;
    row.x = op->probs == SAMP_F32 ? (const float *)probs : x;
    row.n = op->n;
    row.tile = tile;
    row.temperature = temperature;
    row.digit = (sampi_digit *)(void *)base;
    if (op->probs != SAMP_F32) status = sampi_op_convert(op, probs, x);
    if (status) return status;
    row.top = sampi_use()->maxima(row.x, SAMP_F32, NULL, row.n, tile);
    status = sampi_max_status(row.top);
    if (status) return status;

    bool argmax = random == 0.0f || topp == 0.0f || topk == 1 || temperature == 0.0f;
    size_t index = argmax ? sampi_op_nth(&row, row.top, 1) : sampi_op_sample(&row, random, topp, (size_t)topk);
    sampi_op_write(op->result, result, index);
    return SAMP_OK;
}

/* ====================================================================================================== >>kv
   Sequences and their cache (SAMPLING_KV), after llama.cpp's. Batches of tokens come in and get cells; the operations
   on sequences change who has them; what comes out is a mask for attention, and buffers of keys and values that agree
   with the cells. A token takes a cell; a cell belongs to a set of sequences and is free when the set is empty.
   Forking, rolling back and sliding change sets and positions, never the keys and values: samp_kv_update brings these
   up to date before the next batch.

   Invariants, after every function: pos is -1 exactly if seq is 0; used is the number of cells in use; delta is 0 in
   a free cell, and if it is not 0 somewhere has_shift is set; a function that returns an error has changed nothing.

   The one thing to know: a position is what a cell's keys should be turned to, pos - delta is what they are turned
   to. So any number of moves costs one rotation in the end.

   It calls the core for arithmetic only: f16 (sampi_f32_to_f16, sampi_f16_to_f32), SAMPI_FMA, sampi_pow, sampi_round,
   sampi_round_up, sampi_empty_bits, and for its bytes sampi_little and sampi_checksum. */
#ifdef SAMPLING_KV_DECLARED

/* The keys or the values of a layer: element i of a cell is at data + cell * stride + i * step, in bytes. With this a
   transposed buffer, a cell's row in a saved state and a caller's array of floats are read and written alike. */
typedef struct sampi_kv_rows {
    char *data;
    size_t n, stride, step;
    bool half; /* f16, else f32 */
} sampi_kv_rows;

/* A cache as it is: what the user sees, and behind it what only the functions below know. One block, whose
   pointers never change (sampi_kv_layout). */
typedef struct sampi_kv {
    samp_kv base;        /* must be first */
    samp_kv_params set;  /* defaults filled in; n_embd_k and n_embd_v are NULL, rows know them */
    sampi_kv_rows *rows; /* [2 n_layer] keys, values, keys, ... */
    double *turn;        /* [n_rot] cos, sin of each pair's angle: what samp_kv_update works with */
} sampi_kv;

/* Every samp_kv is one, made by samp_kv_init. */
static const sampi_kv *sampi_kv_of(const samp_kv *kv) { return (const sampi_kv *)kv; }

/* ---- making ----
   Parameters come in; out goes one block, in which nothing is allocated or moved any more. Checks and sizes are
   functions of the parameters alone, so that a user may ask for them without a cache. */

/* A copy with 0 replaced: checks, sizes and the cache itself see this one, never the caller's. */
static samp_kv_params sampi_kv_defaults(samp_kv_params set)
{
    if (set.n_seq_max == 0) set.n_seq_max = 64;
    if (set.padding == 0) set.padding = 32;
    if (set.n_rot == 0) set.n_rot = set.n_embd_head;
    if (set.rope_theta == 0.0f) set.rope_theta = 10000.0f;
    return set;
}

/* The two types that sampi_kv_store and sampi_kv_load know. */
static bool sampi_kv_is_type(samp_dtype type) { return type == SAMP_F32 || type == SAMP_F16; }

/* Bytes of an element. */
static size_t sampi_kv_width(bool half) { return half ? 2 : 4; }

/* n cells of n_embd elements, in bytes; rounded up, so that each layer begins on a cache line. The limits of the
   parameters keep all sums far below 2^64. */
static size_t sampi_kv_bytes(uint32_t n_cells, uint32_t n_embd, samp_dtype type)
{
    return ((size_t)n_cells * n_embd * sampi_kv_width(type == SAMP_F16) + 63) & ~(size_t)63;
}

/* The bytes of all layers' buffers of keys and of values, for samp_kv_size and for the check of the caller's memory.
   Writes k and v. The layers' numbers must have been checked. */
static void sampi_kv_sizes(const samp_kv_params *set, size_t *k, size_t *v)
{
    *k = *v = 0;
    for (uint32_t i = 0; i < set->n_layer; i++) {
        *k += sampi_kv_bytes(set->n_cells, set->n_embd_k[i], set->type_k);
        *v += sampi_kv_bytes(set->n_cells, set->n_embd_v[i], set->type_v);
    }
}

/* The checks below return SAMP_OK, or the status and the name of the first bad member. Defaults are filled in
   already. */
static int sampi_kv_bad(const char **field, const char *name, int status)
{
    *field = name;
    return status;
}

/* What only matters with rope: heads must divide the keys of every layer, and pairs the part that is turned. */
static int sampi_kv_check_rope(const samp_kv_params *set, const char **field)
{
    if (set->rope != SAMP_ROPE_NONE && set->rope != SAMP_ROPE_ADJACENT && set->rope != SAMP_ROPE_HALF)
        return sampi_kv_bad(field, "rope", SAMP_E_RANGE);
    if (set->rope == SAMP_ROPE_NONE) return SAMP_OK; /* then the others are not looked at */
    if (set->rope_theta != set->rope_theta) return sampi_kv_bad(field, "rope_theta", SAMP_E_NAN);
    if (!(set->rope_theta > 0.0f && set->rope_theta <= FLT_MAX))
        return sampi_kv_bad(field, "rope_theta", SAMP_E_RANGE);
    if (set->n_embd_head < 2) return sampi_kv_bad(field, "n_embd_head", SAMP_E_RANGE);
    if (set->n_rot % 2 || set->n_rot > set->n_embd_head) return sampi_kv_bad(field, "n_rot", SAMP_E_RANGE);
    for (uint32_t i = 0; i < set->n_layer; i++)
        if (set->n_embd_k[i] % set->n_embd_head) return sampi_kv_bad(field, "n_embd_head", SAMP_E_RANGE);
    return SAMP_OK;
}

/* The limit keeps n_cells * n_embd within 2^46 elements. */
static bool sampi_kv_is_n_embd(uint32_t n_embd) { return n_embd >= 1 && n_embd <= (uint32_t)1 << 20; }

/* The number of layers comes first, as the arrays have that many elements, and no array is read that is NULL. */
static int sampi_kv_check_layers(const samp_kv_params *set, const char **field)
{
    if (set->n_layer > 4096) return sampi_kv_bad(field, "n_layer", SAMP_E_RANGE);
    if (set->n_layer && !set->n_embd_k) return sampi_kv_bad(field, "n_embd_k", SAMP_E_NULL);
    if (set->n_layer && !set->n_embd_v) return sampi_kv_bad(field, "n_embd_v", SAMP_E_NULL);
    for (uint32_t i = 0; i < set->n_layer; i++) {
        if (!sampi_kv_is_n_embd(set->n_embd_k[i])) return sampi_kv_bad(field, "n_embd_k", SAMP_E_RANGE);
        if (!sampi_kv_is_n_embd(set->n_embd_v[i])) return sampi_kv_bad(field, "n_embd_v", SAMP_E_RANGE);
    }
    if (!sampi_kv_is_type(set->type_k)) return sampi_kv_bad(field, "type_k", SAMP_E_DTYPE);
    if (!sampi_kv_is_type(set->type_v)) return sampi_kv_bad(field, "type_v", SAMP_E_DTYPE);
    return SAMP_OK;
}

/* All of them. The memory comes last: its size is known only when the layers are good. Called by
   samp_kv_check_params only. */
static int sampi_kv_check(const samp_kv_params *set, const char **field)
{
    size_t k, v;
    if (set->n_cells < 1 || set->n_cells > (uint32_t)1 << 26) return sampi_kv_bad(field, "n_cells", SAMP_E_RANGE);
    if (set->n_seq_max > 64) return sampi_kv_bad(field, "n_seq_max", SAMP_E_RANGE);
    if (set->padding > (uint32_t)1 << 16) return sampi_kv_bad(field, "padding", SAMP_E_RANGE);
    if (set->defrag_threshold != set->defrag_threshold) return sampi_kv_bad(field, "defrag_threshold", SAMP_E_NAN);
    if (!(set->defrag_threshold >= 0.0f && set->defrag_threshold < 1.0f))
        return sampi_kv_bad(field, "defrag_threshold", SAMP_E_RANGE);
    int status = sampi_kv_check_layers(set, field);
    if (!status) status = sampi_kv_check_rope(set, field);
    if (status || !set->memory) return status;
    if ((uintptr_t)set->memory % 64) return sampi_kv_bad(field, "memory", SAMP_E_RANGE);
    sampi_kv_sizes(set, &k, &v);
    return set->memory_size < k + v ? sampi_kv_bad(field, "memory_size", SAMP_E_WORKSPACE) : SAMP_OK;
}

/* Also what samp_kv_init and samp_kv_size begin with, so the three agree. *field is NULL if all is good. */
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

/* Without the check of `memory`: its size is what the caller wants to know. samp_kv_init asks here too. */
SAMP_API size_t samp_kv_size(const samp_kv_params *params, size_t *k, size_t *v)
{
    size_t k_bytes = 0, v_bytes = 0;
    samp_kv_params set;
    if (params) {
        set = *params;
        set.memory = NULL;
        if (samp_kv_check_params(&set, NULL) == SAMP_OK) sampi_kv_sizes(&set, &k_bytes, &v_bytes);
    }
    if (k) *k = k_bytes;
    if (v) *v = v_bytes;
    return k_bytes + v_bytes;
}

/* The one block of a cache: the record, then these, then (without memory of the caller's) the buffers on a cache
   line. Offsets in bytes. */
typedef struct sampi_kv_layout {
    size_t cells, rows, turn, end;
} sampi_kv_layout;

/* Without rope there is nothing to turn, and no room for it. Cells have 16 bytes, so the parts stay aligned. */
static sampi_kv_layout sampi_kv_layout_of(const samp_kv_params *set)
{
    sampi_kv_layout at;
    size_t n_turn = set->rope == SAMP_ROPE_NONE ? 0 : set->n_rot;
    at.cells = sampi_round_up(sizeof(sampi_kv));
    at.rows = at.cells + set->n_cells * sizeof(samp_kv_cell);
    at.turn = at.rows + sampi_round_up(2 * set->n_layer * sizeof(sampi_kv_rows));
    at.end = at.turn + n_turn * sizeof(double);
    return at;
}

/* Describe one layer's keys or values, which begin at data; returns where the next ones do. */
static char *sampi_kv_layer(sampi_kv_rows *rows, char *data, uint32_t n_cells, uint32_t n_embd, samp_dtype type,
                            bool transposed)
{
    bool half = type == SAMP_F16;
    size_t width = sampi_kv_width(half);
    rows->data = data;
    rows->n = n_embd;
    rows->stride = transposed ? width : n_embd * width;
    rows->step = transposed ? n_cells * width : width;
    rows->half = half;
    return data + sampi_kv_bytes(n_cells, n_embd, type);
}

/* All layers' keys, then all layers' values, as samp_kv_size counts them. Only values may be transposed. */
static void sampi_kv_lay_out(sampi_kv *kv, const samp_kv_params *set, char *data)
{
    for (uint32_t i = 0; i < set->n_layer; i++)
        data = sampi_kv_layer(&kv->rows[2 * i], data, set->n_cells, set->n_embd_k[i], set->type_k, false);
    for (uint32_t i = 0; i < set->n_layer; i++)
        data = sampi_kv_layer(&kv->rows[2 * i + 1], data, set->n_cells, set->n_embd_v[i], set->type_v, set->v_trans);
}

/* Parameters are checked, so only memory can be missing. Everything is laid out here once; pointers into the block
   never change. */
SAMP_API samp_kv *samp_kv_init(const samp_kv_params *params, int *status)
{
    int result = samp_kv_check_params(params, NULL);
    if (status) *status = result;
    if (result) return NULL;

    samp_kv_params set = sampi_kv_defaults(*params);
    sampi_kv_layout at = sampi_kv_layout_of(&set);
    size_t bytes = samp_kv_size(params, NULL, NULL);
    char *block = (char *)SAMP_MALLOC(set.memory ? at.end : at.end + 64 + bytes), *data = (char *)set.memory;
    if (!block) {
        if (status) *status = SAMP_E_NOMEM;
        return NULL;
    }
    memset(block, 0, at.end);
    if (!data) data = block + at.end + (64 - (uintptr_t)(block + at.end) % 64) % 64;
    if (bytes) memset(data, 0, bytes);

    sampi_kv *kv = (sampi_kv *)(void *)block;
    kv->base.size = set.n_cells;
    kv->base.cells = (samp_kv_cell *)(void *)(block + at.cells);
    kv->rows = (sampi_kv_rows *)(void *)(block + at.rows);
    kv->turn = (double *)(void *)(block + at.turn);
    sampi_kv_lay_out(kv, &set, data);
    set.n_embd_k = set.n_embd_v = NULL; /* the caller's arrays, which need not live any longer */
    kv->set = set;
    samp_kv_clear(&kv->base);
    return &kv->base;
}

/* One block, so one free; memory of the caller's is the caller's. */
SAMP_API void samp_kv_free(samp_kv *kv) { SAMP_FREE(kv); }

SAMPI_STATIC_ASSERT(offsetof(samp_kv_cell, delta) == 4 && sizeof(samp_kv_cell) == 16,
                    "a state has pos, delta in a row");
static const samp_kv_cell SAMPI_KV_FREE = { -1, 0, 0 };

/* By pos, which is -1 exactly if no sequence has the cell. */
static bool sampi_kv_is_free(const samp_kv *kv, uint32_t i) { return kv->cells[i].pos < 0; }

/* Also the end of samp_kv_init. The buffers are left alone: a free cell's keys are never read. */
SAMP_API void samp_kv_clear(samp_kv *kv)
{
    if (!kv) return;
    for (uint32_t i = 0; i < kv->size; i++) kv->cells[i] = SAMPI_KV_FREE;
    kv->used = kv->head = kv->n = 0;
    kv->has_shift = kv->do_defrag = false;
}

/* ---- finding a slot ----
   samp_kv_find_slot gives a batch its cells: checks, then a search, both reading only, then sampi_kv_take, which alone
   writes. The search for a run is llama.cpp's, constants and all. */

/* How many cells there are up to the last one in use. 0 if none is. From the end, where free cells are usual. */
static uint32_t sampi_kv_cell_max(const samp_kv *kv)
{
    uint32_t n = kv->size;
    while (n > 0 && sampi_kv_is_free(kv, n - 1)) n--;
    return n;
}

/* Set n, the cells that attention looks at: up to the last one in use, padded, as kernels like it; never 0. Whatever
   gives cells to tokens or moves them ends with this. What only frees cells does not: n may be too large then, which
   costs time only. */
static void sampi_kv_attend(samp_kv *kv)
{
    uint32_t padding = sampi_kv_of(kv)->set.padding, max = sampi_kv_cell_max(kv);
    uint32_t n = max ? (max + padding - 1) / padding * padding : padding;
    kv->n = n < kv->size ? n : kv->size;
}

/* The sequences that there are, as a set: for the check of a batch, and for samp_kv_seq_rm of all. n_seq_max is 64
   at most and 1 at least, so the shift is defined. */
static uint64_t sampi_kv_all(const samp_kv *kv) { return ~(uint64_t)0 >> (64 - sampi_kv_of(kv)->set.n_seq_max); }

/* Take the smallest sequence out of a set that is not empty: so a loop over a set takes as many steps as it has
   members. */
static int sampi_kv_next_seq(uint64_t *set)
{
    int seq = 63 - sampi_empty_bits(*set & (~*set + 1));
    *set &= *set - 1;
    return seq;
}

/* Is a batch one, by itself? Reads only; for a slot and for the mask. How its positions go on from the cache's is
   another matter: see sampi_kv_goes_up. */
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
    while (set) {
        int seq = sampi_kv_next_seq(&set);
        if (last[seq] >= pos) return false;
        last[seq] = pos;
    }
    return true;
}

/* Do the positions of each sequence go up, in the batch and from the cache to the batch? Otherwise a sequence
   could get two tokens at one position, and the mask would show each the other. One pass over the cells, which
   looks at the batch's sequences only. */
static bool sampi_kv_goes_up(const samp_kv *kv, const samp_kv_batch *batch)
{
    int32_t last[64];
    uint64_t in_batch = 0;
    for (int seq = 0; seq < 64; seq++) last[seq] = -1;
    for (uint32_t i = 0; i < batch->n_tokens; i++) in_batch |= batch->seq[i];
    for (uint32_t i = 0; i < kv->size; i++) {
        uint64_t set = kv->cells[i].seq & in_batch;
        while (set) {
            int seq = sampi_kv_next_seq(&set);
            if (last[seq] < kv->cells[i].pos) last[seq] = kv->cells[i].pos;
        }
    }
    for (uint32_t i = 0; i < batch->n_tokens; i++)
        if (!sampi_kv_follow(last, batch->seq[i], batch->pos[i])) return false;
    return true;
}

/* Where a search begins: cells before a far head are probably free. The bound is llama.cpp's. */
static uint32_t sampi_kv_start(const samp_kv *kv, uint32_t n_tokens)
{
    return kv->head > kv->used + 2 * n_tokens ? 0 : kv->head;
}

/* The first of n_tokens free neighbours, or size. Neighbours don't wrap: a run that would goes on at 0. `tested`
   counts the cells that can't begin a run, so that the search ends after one turn. */
static uint32_t sampi_kv_find_run(const samp_kv *kv, uint32_t n_tokens)
{
    uint32_t head = sampi_kv_start(kv, n_tokens), tested = 0;
    while (tested < kv->size) {
        uint32_t i = 0;
        if (head + n_tokens > kv->size) {
            tested += kv->size - head;
            head = 0;
        }
        while (i < n_tokens && sampi_kv_is_free(kv, head + i)) i++;
        if (i == n_tokens) return head;
        head += i + 1;
        tested += i + 1;
    }
    return kv->size;
}

/* Give the tokens of a batch the first free cells from `at` on, around the end; there must be enough. cells
   [n_tokens] or NULL. Sets pos and seq of these cells (their delta is 0 already, as of all free ones), head and
   used. The caller sets n. */
static void sampi_kv_take(samp_kv *kv, const samp_kv_batch *batch, uint32_t at, uint32_t *cells)
{
    for (uint32_t i = 0; i < batch->n_tokens; i++) {
        if (at == kv->size) at = 0;
        while (!sampi_kv_is_free(kv, at)) at = at + 1 < kv->size ? at + 1 : 0;
        if (i == 0) kv->head = at;
        if (cells) cells[i] = at;
        kv->cells[at].pos = batch->pos[i];
        kv->cells[at].seq = batch->seq[i];
        at++;
    }
    kv->used += batch->n_tokens;
}

/* Checks, the search, then the cells are taken: nothing can fail behind the first change. */
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
    sampi_kv_take(kv, batch, at, cells);
    sampi_kv_attend(kv);
    return SAMP_OK;
}

/* ---- operations on a sequence ----
   They change sets, positions and deltas of cells, used and head: never a key or a value, and not n (sampi_kv_attend).
   Each checks its arguments, then walks over all cells; there is no list of a sequence's cells to keep in step. */

/* What all of them begin with: a sequence that there is, and a range whose open ends are filled in. */
static int sampi_kv_check_range(const samp_kv *kv, int32_t seq, int32_t *p0, int32_t *p1)
{
    if (!kv) return SAMP_E_NULL;
    if (seq < 0 || seq >= (int32_t)sampi_kv_of(kv)->set.n_seq_max) return SAMP_E_RANGE;
    if (*p0 < 0) *p0 = 0;
    if (*p1 < 0) *p1 = INT32_MAX;
    return *p0 <= *p1 ? SAMP_OK : SAMP_E_RANGE;
}

/* The same for a function without a range; the sequence alone decides. */
static int sampi_kv_check_seq(const samp_kv *kv, int32_t seq)
{
    int32_t p0 = -1, p1 = -1;
    return sampi_kv_check_range(kv, seq, &p0, &p1);
}

/* Is a sequence in a cell's set? Not in a free one, whose set is empty. */
static bool sampi_kv_has(const samp_kv_cell *cell, int32_t seq) { return cell->seq >> seq & 1; }

/* The same within a range: what copying, moving and dividing act on. */
static bool sampi_kv_has_in(const samp_kv_cell *cell, int32_t seq, int32_t p0, int32_t p1)
{
    return sampi_kv_has(cell, seq) && cell->pos >= p0 && cell->pos < p1;
}

/* Cell i is free again, and the next search begins no later. The only place that frees a cell, but for clearing
   all and moving one. */
static void sampi_kv_release(samp_kv *kv, uint32_t i)
{
    kv->cells[i] = SAMPI_KV_FREE;
    kv->used--;
    if (i < kv->head) kv->head = i;
}

/* Take the sequences out of a cell's set, and free it if none is left: what samp_kv_seq_rm and samp_kv_seq_keep do
   to each cell. */
static void sampi_kv_leave(samp_kv *kv, uint32_t i, uint64_t set)
{
    if (!(kv->cells[i].seq & set)) return; /* a free cell, too: it must not be released twice */
    kv->cells[i].seq &= ~set;
    if (kv->cells[i].seq == 0) sampi_kv_release(kv, i);
}

/* A negative sequence is no bad one here, so the check gets 0 in its place, which there always is. */
SAMP_API int samp_kv_seq_rm(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1)
{
    int status = sampi_kv_check_range(kv, seq < 0 ? 0 : seq, &p0, &p1);
    if (status) return status;
    uint64_t set = seq < 0 ? sampi_kv_all(kv) : (uint64_t)1 << seq;
    for (uint32_t i = 0; i < kv->size; i++)
        if (kv->cells[i].pos >= p0 && kv->cells[i].pos < p1) sampi_kv_leave(kv, i, set);
    return SAMP_OK;
}

/* A fork costs one bit a cell. A shared cell moves for all that share it, see samp_kv_seq_add. */
SAMP_API int samp_kv_seq_cp(samp_kv *kv, int32_t src, int32_t dst, int32_t p0, int32_t p1)
{
    int status = sampi_kv_check_range(kv, src, &p0, &p1);
    if (!status) status = sampi_kv_check_range(kv, dst, &p0, &p1);
    if (status) return status;
    for (uint32_t i = 0; i < kv->size; i++)
        if (sampi_kv_has_in(&kv->cells[i], src, p0, p1)) kv->cells[i].seq |= (uint64_t)1 << dst;
    return SAMP_OK;
}

/* Bits of sequences that there are not are 0 anyway, so the set of the others is simply the complement. */
SAMP_API int samp_kv_seq_keep(samp_kv *kv, int32_t seq)
{
    int status = sampi_kv_check_seq(kv, seq);
    if (status) return status;
    for (uint32_t i = 0; i < kv->size; i++) sampi_kv_leave(kv, i, ~((uint64_t)1 << seq));
    return SAMP_OK;
}

/* For samp_kv_seq_add and samp_kv_seq_div. pos: where cell i moves to; below 0: out, for all sequences that share
   it. Its keys stay as they are: delta says what they owe. */
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

/* Two passes: a position that would be too large must be known before anything has moved. */
SAMP_API int samp_kv_seq_add(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1, int32_t delta)
{
    int status = sampi_kv_check_range(kv, seq, &p0, &p1);
    if (status || delta == 0) return status;
    for (uint32_t i = 0; i < kv->size; i++)
        if (sampi_kv_has_in(&kv->cells[i], seq, p0, p1) && (int64_t)kv->cells[i].pos + delta >= INT32_MAX)
            return SAMP_E_RANGE;
    for (uint32_t i = 0; i < kv->size; i++)
        if (sampi_kv_has_in(&kv->cells[i], seq, p0, p1)) sampi_kv_move_to(kv, i, (int64_t)kv->cells[i].pos + delta);
    return SAMP_OK;
}

/* Positions only get smaller, so nothing can overflow, and one pass is enough. */
SAMP_API int samp_kv_seq_div(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1, int32_t d)
{
    int status = sampi_kv_check_range(kv, seq, &p0, &p1);
    if (!status && d < 1) status = SAMP_E_RANGE;
    if (status || d == 1) return status;
    for (uint32_t i = 0; i < kv->size; i++)
        if (sampi_kv_has_in(&kv->cells[i], seq, p0, p1)) sampi_kv_move_to(kv, i, kv->cells[i].pos / d);
    return SAMP_OK;
}

/* The position with the largest sign * position, so that -1 asks for the smallest. -1 as the result: none. */
static int32_t sampi_kv_extreme(const samp_kv *kv, int32_t seq, int32_t sign)
{
    int32_t best = -1;
    if (!kv) return -1;
    if (sampi_kv_check_seq(kv, seq)) return SAMP_E_RANGE;
    for (uint32_t i = 0; i < kv->size; i++) {
        int32_t pos = kv->cells[i].pos;
        if (sampi_kv_has(&kv->cells[i], seq) && (best < 0 || sign * pos > sign * best)) best = pos;
    }
    return best;
}

SAMP_API int32_t samp_kv_seq_pos_min(const samp_kv *kv, int32_t seq) { return sampi_kv_extreme(kv, seq, -1); }
SAMP_API int32_t samp_kv_seq_pos_max(const samp_kv *kv, int32_t seq) { return sampi_kv_extreme(kv, seq, 1); }

/* ---- keys and values ----
   The buffers, through sampi_kv_rows, which knows type and layout. A caller's kernels write them directly
   (samp_kv_keys, samp_kv_values); what is below serves those without, the shift, the holes and the states. */

/* [2] a layer's keys and its values; NULL if there is no such layer, or no cache. For the four public functions
   below. */
static const sampi_kv_rows *sampi_kv_rows_of(const samp_kv *kv, uint32_t layer)
{
    return kv && layer < sampi_kv_of(kv)->set.n_layer ? &sampi_kv_of(kv)->rows[2 * layer] : NULL;
}

/* Good until samp_kv_free: buffers never move. */
SAMP_API void *samp_kv_keys(const samp_kv *kv, uint32_t layer)
{
    const sampi_kv_rows *rows = sampi_kv_rows_of(kv, layer);
    return rows ? rows[0].data : NULL;
}

SAMP_API void *samp_kv_values(const samp_kv *kv, uint32_t layer)
{
    const sampi_kv_rows *rows = sampi_kv_rows_of(kv, layer);
    return rows ? rows[1].data : NULL;
}

/* Write element i of a cell, in the buffer's type: f16 are rounded here. By memcpy: the buffer has no type of its
   own, and the caller's kernels may have given it one. */
static void sampi_kv_store(const sampi_kv_rows *rows, size_t cell, size_t i, float x)
{
    char *p = rows->data + cell * rows->stride + i * rows->step;
    if (rows->half) {
        uint16_t h = sampi_f32_to_f16(x);
        memcpy(p, &h, 2);
    } else {
        memcpy(p, &x, 4);
    }
}

/* Read it; exact, for every f16 is a float. */
static float sampi_kv_load(const sampi_kv_rows *rows, size_t cell, size_t i)
{
    const char *p = rows->data + cell * rows->stride + i * rows->step;
    if (rows->half) {
        uint16_t h;
        memcpy(&h, p, 2);
        return sampi_f16_to_f32(h);
    }
    float x;
    memcpy(&x, p, 4);
    return x;
}

/* A cell's elements as they are, between rows of one type: at once if they stand together in both. What moves a
   cell, saves and loads one; no rounding, so bytes stay bytes. */
static void sampi_kv_copy(const sampi_kv_rows *to, size_t to_cell, const sampi_kv_rows *from, size_t from_cell)
{
    char *t = to->data + to_cell * to->stride;
    const char *f = from->data + from_cell * from->stride;
    size_t width = sampi_kv_width(to->half);
    if (to->step == width && from->step == width) {
        memcpy(t, f, to->n * width);
        return;
    }
    for (size_t i = 0; i < to->n; i++) memcpy(t + i * to->step, f + i * from->step, width);
}

/* The caller's array of floats as rows with one cell, for sampi_kv_copy. The const is taken off for both
   directions: samp_kv_put's array is only read. */
static sampi_kv_rows sampi_kv_floats(const float *x, size_t n)
{
    sampi_kv_rows rows;
    rows.data = (char *)(uintptr_t)x;
    rows.n = n;
    rows.stride = 0;
    rows.step = 4;
    rows.half = false;
    return rows;
}

/* One cell's elements from f32, x [n]: of samp_kv_put. f32 buffers take them as they are. */
static void sampi_kv_set(const sampi_kv_rows *rows, size_t cell, const float *x)
{
    const sampi_kv_rows floats = sampi_kv_floats(x, rows->n);
    if (rows->half)
        for (size_t i = 0; i < rows->n; i++) sampi_kv_store(rows, cell, i, x[i]);
    else
        sampi_kv_copy(rows, cell, &floats, 0);
}

/* And to f32: of samp_kv_get. Writes x [n]. */
static void sampi_kv_read(const sampi_kv_rows *rows, size_t cell, float *x)
{
    const sampi_kv_rows floats = sampi_kv_floats(x, rows->n);
    if (rows->half)
        for (size_t i = 0; i < rows->n; i++) x[i] = sampi_kv_load(rows, cell, i);
    else
        sampi_kv_copy(&floats, 0, rows, cell);
}

/* The way for a caller without kernels of his own; samp_kv_get reads the same back, rounded to the type. Which
   token the cell has is not looked at, not even whether it has one. Either of k and v may be NULL; nothing is
   written if there is no such layer or cell. With a shift pending, keys are taken as turned to pos - delta. */
SAMP_API int samp_kv_put(samp_kv *kv, uint32_t layer, uint32_t cell, const float *k, const float *v)
{
    const sampi_kv_rows *rows = sampi_kv_rows_of(kv, layer);
    if (!kv) return SAMP_E_NULL;
    if (!rows || cell >= kv->size) return SAMP_E_RANGE;
    if (k) sampi_kv_set(&rows[0], cell, k);
    if (v) sampi_kv_set(&rows[1], cell, v);
    return SAMP_OK;
}

/* Reads the buffers; writes only k and v, exactly what is there as floats. */
SAMP_API int samp_kv_get(const samp_kv *kv, uint32_t layer, uint32_t cell, float *k, float *v)
{
    const sampi_kv_rows *rows = sampi_kv_rows_of(kv, layer);
    if (!kv) return SAMP_E_NULL;
    if (!rows || cell >= kv->size) return SAMP_E_RANGE;
    if (k) sampi_kv_read(&rows[0], cell, k);
    if (v) sampi_kv_read(&rows[1], cell, v);
    return SAMP_OK;
}

/* ---- update: shifts, then holes ----
   What the operations on sequences have put off: they only note it (delta and has_shift, do_defrag), and here the
   buffers follow. samp_kv_update is the one caller; nothing allocates. */

/* The angles of delta positions, to kv->turn: rotations add up, so cells turned to pos - delta need these only,
   and their keys are not made anew. In double, by libm's cos and sin: keys are no tokens, and need not have the
   same bits everywhere. */
static void sampi_kv_turn_by(sampi_kv *kv, int32_t delta)
{
    uint32_t n_rot = kv->set.n_rot;
    for (uint32_t i = 0; i < n_rot; i += 2) {
        double angle = delta * sampi_pow((double)kv->set.rope_theta, -(double)i / n_rot);
        kv->turn[i] = cos(angle);
        kv->turn[i + 1] = sin(angle);
    }
}

/* Turn all heads of a cell's key in one layer by kv->turn: (a, b) becomes (a c - b s, a s + b c), rounded once
   each, in place. Elements behind n_rot of a head carry no position and stay. */
static void sampi_kv_rotate(const sampi_kv *kv, const sampi_kv_rows *keys, uint32_t cell)
{
    bool adjacent = kv->set.rope == SAMP_ROPE_ADJACENT;
    uint32_t n_rot = kv->set.n_rot, apart = adjacent ? 1 : n_rot / 2;
    for (size_t head = 0; head < keys->n; head += kv->set.n_embd_head) {
        for (uint32_t i = 0; i < n_rot; i += 2) {
            size_t at = head + (adjacent ? i : i / 2);
            double a = (double)sampi_kv_load(keys, cell, at), b = (double)sampi_kv_load(keys, cell, at + apart);
            double c = kv->turn[i], s = kv->turn[i + 1];
            sampi_kv_store(keys, cell, at, (float)SAMPI_FMA(a, c, -sampi_round(b * s)));
            sampi_kv_store(keys, cell, at + apart, (float)SAMPI_FMA(a, s, sampi_round(b * c)));
        }
    }
}

/* Turn the keys of all cells with a delta, in all layers; then no cell has one. Without rope the deltas are only
   forgotten. */
static void sampi_kv_shift(sampi_kv *kv)
{
    int32_t turned = 0; /* what kv->turn is for: neighbours mostly share it */
    for (uint32_t i = 0; i < kv->base.size; i++) {
        int32_t delta = kv->base.cells[i].delta;
        kv->base.cells[i].delta = 0;
        if (delta == 0 || kv->set.rope == SAMP_ROPE_NONE) continue;
        if (delta != turned) {
            sampi_kv_turn_by(kv, delta);
            turned = delta;
        }
        for (uint32_t layer = 0; layer < kv->set.n_layer; layer++) sampi_kv_rotate(kv, &kv->rows[2 * layer], i);
    }
    kv->base.has_shift = false;
}

/* More holes before the last cell in use than the threshold allows? A threshold of 0 asks for nothing. */
static bool sampi_kv_has_holes(const sampi_kv *kv)
{
    uint32_t max = sampi_kv_cell_max(&kv->base), holes = max - kv->base.used;
    return kv->set.defrag_threshold > 0.0f && (double)holes > (double)kv->set.defrag_threshold * max;
}

/* A cell with its keys and values to a free one: a step of sampi_kv_fill_holes. used stays, and who keeps indices
   of cells must ask anew. */
static void sampi_kv_move(sampi_kv *kv, uint32_t from, uint32_t to)
{
    kv->base.cells[to] = kv->base.cells[from];
    kv->base.cells[from] = SAMPI_KV_FREE;
    for (uint32_t i = 0; i < 2 * kv->set.n_layer; i++) sampi_kv_copy(&kv->rows[i], to, &kv->rows[i], from);
}

/* As many cells behind `used` are in use as before it are free, so this many moves are needed, and no more. `hole`
   only goes up, so it is one pass; behind it the first `used` cells are in use, and no others. */
static void sampi_kv_fill_holes(sampi_kv *kv)
{
    uint32_t hole = 0, used = kv->base.used;
    for (uint32_t i = used; i < kv->base.size; i++) {
        if (sampi_kv_is_free(&kv->base, i)) continue;
        while (!sampi_kv_is_free(&kv->base, hole)) hole++;
        sampi_kv_move(kv, i, hole);
    }
    kv->base.head = used < kv->base.size ? used : 0;
    kv->base.do_defrag = false;
    sampi_kv_attend(&kv->base);
}

/* Keys are turned before anything moves: both need all cells where they are, and a moved cell brings its turned keys.
   */
SAMP_API int samp_kv_update(samp_kv *kv)
{
    if (!kv) return SAMP_E_NULL;
    if (kv->has_shift) sampi_kv_shift((sampi_kv *)kv);
    if (kv->do_defrag || sampi_kv_has_holes(sampi_kv_of(kv))) sampi_kv_fill_holes((sampi_kv *)kv);
    return SAMP_OK;
}

/* Only a wish: cells move in samp_kv_update alone, when the caller expects it. */
SAMP_API int samp_kv_defrag(samp_kv *kv)
{
    if (!kv) return SAMP_E_NULL;
    kv->do_defrag = true;
    return SAMP_OK;
}

/* ---- the mask ----
   What the model's attention gets of all this: cells are not in the order of their tokens, and hold several sequences,
   so each token needs its own set. */

/* Of a token that several sequences share, only what all of them have is seen: its keys serve all. Writes the
   caller's arrays only. pos <= its own makes it causal, and includes the token itself. */
SAMP_API int samp_kv_mask(const samp_kv *kv, const samp_kv_batch *batch, uint32_t *bits, float *bias)
{
    int status = sampi_kv_check_batch(kv, batch);
    if (status) return status;
    size_t n = kv->n, words = (n + 31) / 32;
    if (bits) memset(bits, 0, batch->n_tokens * words * sizeof *bits);
    for (size_t t = 0; t < batch->n_tokens; t++) {
        uint64_t set = batch->seq[t];
        for (size_t c = 0; c < n; c++) { /* a free cell has no sequence, so it is never seen */
            bool seen = (kv->cells[c].seq & set) == set && kv->cells[c].pos <= batch->pos[t];
            if (bits) bits[t * words + c / 32] |= (uint32_t)seen << c % 32;
            if (bias) bias[t * n + c] = seen ? 0.0f : -INFINITY;
        }
    }
    return SAMP_OK;
}

/* ---- a sequence as bytes ----
   Words of 32 bits, least significant byte first, and so is everything else:
       fields [9 + 2 n_layer], see sampi_kv_field;  n, the number of cells;  pos, delta of each cell;
       for each layer the keys of each cell, then the values of each cell, as they are in the buffers;
       a checksum of all that, 64 bits.
   Which cells the tokens are in is not part of it: a sequence is what it is wherever it lies. */

#define SAMPI_KV_MAGIC   0x564B4D53u /* "SMKV" */
#define SAMPI_KV_VERSION 1u

/* What must be the same in the cache that loads: it makes these words itself and compares. Without rope its
   settings don't matter, and are 0. */
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

/* Magic, version, types, rope and n_layer, then a word for each buffer: the default of the switch above. */
static size_t sampi_kv_n_fields(const sampi_kv *kv) { return 9 + 2 * (size_t)kv->set.n_layer; }

/* The state's size for n cells: head, n, pos and delta and the elements of each, the checksum. For
   samp_kv_state_size, and to compare with before anything is written or read. */
static size_t sampi_kv_state_bytes(const sampi_kv *kv, size_t n)
{
    size_t per_cell = 8;
    for (size_t i = 0; i < 2 * (size_t)kv->set.n_layer; i++)
        per_cell += kv->rows[i].n * sampi_kv_width(kv->rows[i].half);
    return 4 * sampi_kv_n_fields(kv) + 4 + n * per_cell + 8;
}

/* How many tokens a sequence has: n of its state. */
static uint32_t sampi_kv_count(const samp_kv *kv, int32_t seq)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < kv->size; i++) n += sampi_kv_has(&kv->cells[i], seq);
    return n;
}

/* Of the sequence as it is now; 0 tells an unknown one, as an empty one has a head and a checksum. */
SAMP_API size_t samp_kv_state_size(const samp_kv *kv, int32_t seq)
{
    if (sampi_kv_check_seq(kv, seq)) return 0;
    return sampi_kv_state_bytes(sampi_kv_of(kv), sampi_kv_count(kv, seq));
}

/* Append n bytes of x to a state; *to moves on. That there is room was checked for the whole state by
   samp_kv_state_save. */
static void sampi_kv_write(char **to, uint64_t x, size_t n)
{
    x = sampi_little(x);
    memcpy(*to, &x, n);
    *to += n;
}

/* n bytes of a state, at any address. */
static uint64_t sampi_kv_number(const char *bytes, size_t n)
{
    uint64_t x = 0;
    memcpy(&x, bytes, n);
    return sampi_little(x);
}

/* Word i of a state. */
static uint32_t sampi_kv_word(const char *bytes, size_t i) { return (uint32_t)sampi_kv_number(bytes + 4 * i, 4); }

/* The elements of a cell from the order of their bytes in this machine to that in a state, or back. */
static void sampi_kv_little(const sampi_kv_rows *rows, size_t cell)
{
    size_t width = sampi_kv_width(rows->half);
    for (size_t i = 0; SAMPI_BIG_ENDIAN && i < rows->n; i++) {
        char *p = rows->data + cell * rows->stride + i * rows->step;
        for (size_t k = 0; k < width / 2; k++) {
            char first = p[k];
            p[k] = p[width - 1 - k];
            p[width - 1 - k] = first;
        }
    }
}

/* The same rows as a state has them, at data: cells one behind the other, never transposed; so a state fits caches
   of both layouts, and sampi_kv_copy is enough for saving and for loading. When loading, data is only read. */
static sampi_kv_rows sampi_kv_packed(const sampi_kv_rows *rows, char *data)
{
    sampi_kv_rows packed = *rows;
    packed.data = data;
    packed.step = sampi_kv_width(rows->half);
    packed.stride = packed.n * packed.step;
    return packed;
}

/* In the order of the cells, for positions and rows alike; a shift that is pending is saved as pending, keys
   unturned. The cache is only read, and bytes are written only when they are known to fit. */
SAMP_API int samp_kv_state_save(const samp_kv *cache, int32_t seq, void *bytes, size_t size)
{
    const sampi_kv *kv = sampi_kv_of(cache);
    int status = sampi_kv_check_seq(cache, seq);
    if (!status && !bytes) status = SAMP_E_NULL;
    if (status) return status;
    uint32_t n = sampi_kv_count(cache, seq);
    if (size < sampi_kv_state_bytes(kv, n)) return SAMP_E_WORKSPACE;
    char *to = (char *)bytes;
    for (size_t i = 0; i < sampi_kv_n_fields(kv); i++) sampi_kv_write(&to, sampi_kv_field(kv, i), 4);
    sampi_kv_write(&to, n, 4);
    for (uint32_t i = 0; i < cache->size; i++) {
        if (!sampi_kv_has(&cache->cells[i], seq)) continue;
        sampi_kv_write(&to, (uint32_t)cache->cells[i].pos, 4);
        sampi_kv_write(&to, (uint32_t)cache->cells[i].delta, 4);
    }
    for (size_t k = 0; k < 2 * (size_t)kv->set.n_layer; k++) {
        sampi_kv_rows packed = sampi_kv_packed(&kv->rows[k], to);
        size_t written = 0;
        for (uint32_t i = 0; i < cache->size; i++) {
            if (!sampi_kv_has(&cache->cells[i], seq)) continue;
            sampi_kv_copy(&packed, written, &kv->rows[k], i);
            sampi_kv_little(&packed, written++);
        }
        to += n * packed.stride;
    }
    sampi_kv_write(&to, sampi_checksum(bytes, (size_t)(to - (char *)bytes)), 8);
    return SAMP_OK;
}

/* Is that a state which kv could have saved? *n becomes its number of cells. The bytes may come from anywhere, so
   their size is compared before what lies within is read, and every position is looked at. */
static int sampi_kv_check_state(const sampi_kv *kv, const char *bytes, size_t size, uint32_t *n)
{
    size_t fields = sampi_kv_n_fields(kv);
    if (size < sampi_kv_state_bytes(kv, 0)) return SAMP_E_FORMAT;
    for (size_t i = 0; i < fields; i++)
        if (sampi_kv_word(bytes, i) != sampi_kv_field(kv, i)) return SAMP_E_FORMAT;
    *n = sampi_kv_word(bytes, fields);
    if (*n > (uint32_t)1 << 26 || size != sampi_kv_state_bytes(kv, *n)) return SAMP_E_FORMAT;
    if (sampi_kv_number(bytes + size - 8, 8) != sampi_checksum(bytes, size - 8)) return SAMP_E_FORMAT;
    for (uint32_t i = 0; i < *n; i++) {
        int64_t pos = (int32_t)sampi_kv_word(bytes, fields + 1 + 2 * (size_t)i);
        int64_t born = pos - (int32_t)sampi_kv_word(bytes, fields + 2 + 2 * (size_t)i);
        if (pos < 0 || pos >= INT32_MAX || born < 0 || born >= INT32_MAX) return SAMP_E_FORMAT;
    }
    return SAMP_OK;
}

/* How many cells would be free if seq were gone: those that are free, and those that it has alone. For
   samp_kv_state_load, which must know before it removes anything. */
static uint32_t sampi_kv_room_without(const samp_kv *kv, int32_t seq)
{
    uint64_t others = ~((uint64_t)1 << seq);
    uint32_t room = 0;
    for (uint32_t i = 0; i < kv->size; i++) room += (kv->cells[i].seq & others) == 0;
    return room;
}

/* Cell i of n of a good state into a free cell of the cache, as the only token of a set of sequences. A step of
   samp_kv_state_load, which counts it in used. */
static void sampi_kv_load_cell(sampi_kv *kv, const char *bytes, uint32_t i, uint32_t n, uint32_t cell, uint64_t set)
{
    samp_kv_cell *c = &kv->base.cells[cell];
    size_t words = sampi_kv_n_fields(kv) + 1; /* before the cells */
    char *data = (char *)(uintptr_t)bytes + 4 * words + 8 * (size_t)n;
    for (size_t k = 0; k < 2 * (size_t)kv->set.n_layer; k++) {
        sampi_kv_rows packed = sampi_kv_packed(&kv->rows[k], data);
        sampi_kv_copy(&kv->rows[k], cell, &packed, i);
        sampi_kv_little(&kv->rows[k], cell);
        data += n * packed.stride;
    }
    c->pos = (int32_t)sampi_kv_word(bytes, words + 2 * (size_t)i);
    c->delta = (int32_t)sampi_kv_word(bytes, words + 2 * (size_t)i + 1);
    c->seq = set;
    if (c->delta != 0) kv->base.has_shift = true;
}

/* All checks come before the old sequence is removed: a bad state must leave it. Then there is room, and nothing
   fails. */
SAMP_API int samp_kv_state_load(samp_kv *cache, int32_t seq, const void *bytes, size_t size)
{
    sampi_kv *kv = (sampi_kv *)cache;
    uint32_t n;
    int status = sampi_kv_check_seq(cache, seq);
    if (!status) status = bytes ? sampi_kv_check_state(kv, (const char *)bytes, size, &n) : SAMP_E_NULL;
    if (status) return status;
    if (sampi_kv_room_without(cache, seq) < n) return SAMP_E_FULL;

    samp_kv_seq_rm(cache, seq, -1, -1);
    uint32_t cell = cache->head;
    for (uint32_t i = 0; i < n; i++) {
        while (!sampi_kv_is_free(cache, cell)) cell = (cell + 1) % cache->size;
        sampi_kv_load_cell(kv, (const char *)bytes, i, n, cell, (uint64_t)1 << seq);
    }
    cache->used += n;
    sampi_kv_attend(cache);
    return SAMP_OK;
}

#endif /* SAMPLING_KV_DECLARED */

/* =============================================================================================== >>llama_cpp
   Chains in a llama.cpp program (SAMPLING_LLAMA). In: llama.cpp's contexts, vocabularies and arrays. Out: tokens, or an
   object that its functions take for a sampler of their own. All of it is calls of the public functions above.

   llama.cpp's functions are declared here under other names, bound to theirs by the name that the linker sees, so that
   nothing clashes with llama.h, and no struct of its is needed: an array of candidates has our layout.

   The one thing to know: llama.cpp deletes a sampler as a C++ object, so llama.cpp has to make it. */
#ifdef SAMPLING_LLAMA_DECLARED

/* What follows the declaration of `name` under our name. A program that finds llama.cpp's functions at run time defines
   it as nothing, and samp_llama_fn_... itself. */
#ifndef SAMP_LLAMA_SYMBOL
#define SAMPI_LABEL(prefix)     #prefix
#define SAMPI_LABEL_OF(prefix)  SAMPI_LABEL(prefix) /* what the macro stands for */
#define SAMP_LLAMA_SYMBOL(name) __asm__(SAMPI_LABEL_OF(__USER_LABEL_PREFIX__) #name)
#endif

struct llama_model;

/* The interface, of which three layouts are in use: six functions, those and four for the device's graph, and those
   and two more. What a version does not know it does not read, and each takes NULL for "can't do that". */
typedef struct samp_llama_i {
    const char *(*name)(const struct llama_sampler *);
    void (*accept)(struct llama_sampler *, samp_token);
    void (*apply)(struct llama_sampler *, samp_token_data_array *);
    void (*reset)(struct llama_sampler *);
    struct llama_sampler *(*clone)(const struct llama_sampler *);
    void (*free)(struct llama_sampler *);
    void (*device[6])(void);
} samp_llama_i;

/* llama.cpp's sampler; ctx is ours, here the chain. */
typedef struct samp_llama_object {
    const samp_llama_i *iface;
    void *ctx;
} samp_llama_object;

/* clang-format off */
#ifdef __cplusplus
extern "C" {
#endif
struct llama_sampler *samp_llama_fn_init(const samp_llama_i *, void *) SAMP_LLAMA_SYMBOL(llama_sampler_init);
float *samp_llama_fn_logits(struct llama_context *, int32_t) SAMP_LLAMA_SYMBOL(llama_get_logits_ith);
const struct llama_model *samp_llama_fn_model(const struct llama_context *) SAMP_LLAMA_SYMBOL(llama_get_model);
const struct llama_vocab *samp_llama_fn_vocab(const struct llama_model *) SAMP_LLAMA_SYMBOL(llama_model_get_vocab);
int32_t samp_llama_fn_n_vocab(const struct llama_vocab *) SAMP_LLAMA_SYMBOL(llama_vocab_n_tokens);
bool samp_llama_fn_is_eog(const struct llama_vocab *, samp_token) SAMP_LLAMA_SYMBOL(llama_vocab_is_eog);
samp_token samp_llama_fn_eos(const struct llama_vocab *) SAMP_LLAMA_SYMBOL(llama_vocab_eos);
samp_token samp_llama_fn_eot(const struct llama_vocab *) SAMP_LLAMA_SYMBOL(llama_vocab_eot);
int32_t samp_llama_fn_piece(const struct llama_vocab *, samp_token, char *, int32_t n, int32_t lstrip, bool special)
    SAMP_LLAMA_SYMBOL(llama_token_to_piece);
int32_t samp_llama_fn_tokenize(const struct llama_vocab *, const char *, int32_t n_text, samp_token *, int32_t n,
                               bool add_special, bool parse_special) SAMP_LLAMA_SYMBOL(llama_tokenize);
#ifdef __cplusplus
}
#endif
/* clang-format on */

SAMP_API samp_token samp_llama_sample(samp_sampler *chain, struct llama_context *ctx, int32_t idx)
{
    if (!chain || !ctx) return SAMP_E_NULL;
    const float *logits = samp_llama_fn_logits(ctx, idx);
    const struct llama_vocab *vocab = samp_llama_fn_vocab(samp_llama_fn_model(ctx));
    return samp_sample(chain, logits, (size_t)samp_llama_fn_n_vocab(vocab)); /* no logits: SAMP_E_NULL */
}

/* ---- the object ----
   Each function of the interface is one of ours on the chain. Statuses end here, as llama.cpp has none. */

static samp_sampler *sampi_behind(const struct llama_sampler *s)
{
    return (samp_sampler *)((const samp_llama_object *)(const void *)s)->ctx;
}

static const char *sampi_behind_name(const struct llama_sampler *s) { return samp_name(sampi_behind(s)); }
static void sampi_behind_accept(struct llama_sampler *s, samp_token token) { samp_accept(sampi_behind(s), token); }
static void sampi_behind_reset(struct llama_sampler *s) { samp_reset(sampi_behind(s)); }
static void sampi_behind_free(struct llama_sampler *s) { samp_free(sampi_behind(s)); }

/* A refused array may have been half through the chain, and a sampler there may have selected. */
static void sampi_behind_apply(struct llama_sampler *s, samp_token_data_array *cur)
{
    if (samp_apply(sampi_behind(s), cur) != SAMP_OK && cur) cur->selected = -1;
}

static struct llama_sampler *sampi_behind_clone(const struct llama_sampler *s)
{
    samp_sampler *copy = samp_clone(sampi_behind(s));
    struct llama_sampler *clone = samp_llama_init(copy);
    if (!clone) samp_free(copy);
    return clone;
}

static const samp_llama_i *sampi_llama_iface(void)
{
    static const samp_llama_i iface = {
        sampi_behind_name,
        sampi_behind_accept,
        sampi_behind_apply,
        sampi_behind_reset,
        sampi_behind_clone,
        sampi_behind_free,
        { NULL, NULL, NULL, NULL, NULL, NULL },
    };
    return &iface;
}

SAMP_API struct llama_sampler *samp_llama_init(samp_sampler *chain)
{
    return chain && !((sampi_sampler *)chain)->owner ? samp_llama_fn_init(sampi_llama_iface(), chain) : NULL;
}

SAMP_API samp_sampler *samp_llama_chain(const struct llama_sampler *s)
{
    const samp_llama_object *object = (const samp_llama_object *)(const void *)s;
    return s && object->iface == sampi_llama_iface() ? sampi_behind(s) : NULL;
}

/* ---- the vocabulary ----
   One block: the record, where each piece begins, the tokens that end a generation, and the bytes of the pieces. */

typedef struct sampi_llama_vocab {
    samp_vocab base; /* must be first; user: the llama_vocab */
    size_t *at;      /* [n_vocab + 1] piece t is bytes [at [t], at [t + 1]) */
    char *bytes;
} sampi_llama_vocab;

static const char *sampi_llama_piece(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    const sampi_llama_vocab *v = (const sampi_llama_vocab *)vocab;
    *n_bytes = v->at[token + 1] - v->at[token];
    return v->bytes + v->at[token];
}

/* llama.cpp writes nothing where there is too little room, and says how many there are as a negative number. What it
   says of a breaker of dry's fits in `few`: a breaker that is missing for want of memory would be another sampler. */
static int32_t sampi_llama_tokenize(const samp_vocab *vocab, const char *text, size_t n_bytes, samp_token *out,
                                    int32_t n_max)
{
    const struct llama_vocab *from = (const struct llama_vocab *)vocab->user;
    samp_token few[2 * SAMPI_BREAKER_MAX], *all = few;
    int32_t n = samp_llama_fn_tokenize(from, text, (int32_t)n_bytes, few, 2 * SAMPI_BREAKER_MAX, false, false);
    if (n < 0) {
        all = (samp_token *)SAMP_MALLOC((size_t)-n * sizeof *all);
        n = all ? samp_llama_fn_tokenize(from, text, (int32_t)n_bytes, all, -n, false, false) : 0;
    }
    if (n > n_max) n = n_max;
    if (n > 0) memcpy(out, all, (size_t)n * sizeof *out);
    if (all != few) SAMP_FREE(all);
    return n;
}

/* Twice over the tokens: what room they take, and then what they are. */
SAMP_API SAMPI_COLD samp_vocab *samp_llama_vocab(const struct llama_vocab *vocab)
{
    if (!vocab) return NULL;
    samp_token n = samp_llama_fn_n_vocab(vocab);
    size_t n_bytes = 0, n_eog = 0;
    for (samp_token t = 0; t < n; t++) {
        n_bytes += (size_t)-samp_llama_fn_piece(vocab, t, NULL, 0, 0, false);
        n_eog += samp_llama_fn_is_eog(vocab, t);
    }
    size_t at = sizeof(sampi_llama_vocab), eog = at + ((size_t)n + 1) * sizeof(size_t);
    char *block = (char *)SAMP_MALLOC(eog + n_eog * sizeof(samp_token) + n_bytes);
    if (!block) return NULL;
    sampi_llama_vocab *v = (sampi_llama_vocab *)(void *)block;
    samp_token *ends = (samp_token *)(void *)(block + eog);
    samp_vocab base = { n,     sampi_llama_piece,        sampi_llama_tokenize,    (void *)(uintptr_t)vocab, ends,
                        n_eog, samp_llama_fn_eos(vocab), samp_llama_fn_eot(vocab) };
    v->base = base;
    v->at = (size_t *)(void *)(block + at);
    v->bytes = block + eog + n_eog * sizeof(samp_token);
    v->at[0] = 0;
    for (samp_token t = 0; t < n; t++) {
        int32_t room = (int32_t)(n_bytes - v->at[t]);
        v->at[t + 1] = v->at[t] + (size_t)samp_llama_fn_piece(vocab, t, v->bytes + v->at[t], room, 0, false);
        if (samp_llama_fn_is_eog(vocab, t)) *ends++ = t;
    }
    return &v->base;
}

SAMP_API void samp_llama_vocab_free(samp_vocab *vocab) { SAMP_FREE(vocab); }

#endif /* SAMPLING_LLAMA_DECLARED */

/* ================================================================================================== >>grammar
   Texts that a model may write (SAMPLING_GRAMMAR). In comes a grammar, out goes, token by token, the set of tokens that
   keep the text a beginning of one that the grammar has. The parts, in the order of the file:

     tree         expressions over bytes: what every kind of grammar becomes
     finishing    which rules recur, what matches the empty text, which bytes are never told apart: a samp_grammar
     reading      GBNF, regular expressions
     vocabulary   a trie of all tokens: samp_vocab_index
     triggers     what a lazy grammar waits for, as programs
     matcher      derivatives -> states (a lazy DFA); items and frames (an Earley parser over them); entries, which keep
                  what a walk over the trie found, and masks made of them; accepting; room for what grows
     sampler      samp_init_grammar and its functions; what the core asks of it

   A token's way: samp_accept -> sampi_matcher_accept -> for each byte sampi_advance, which moves every item's state on
   (sampi_next, sampi_derive) and lets calls begin and return (sampi_close). A mask's: sampi_matcher_mask -> for each
   item sampi_mask_entry -> sampi_entry_of, which walks only if nobody has (sampi_walk).

   The one thing to know: nodes are shared. Two equal expressions have one number, so a set of texts that comes back
   while a text is read is known again, and what was computed for it is there.

   The idea: what may still come is a grammar itself. At first it is the whole one; behind a byte it is what that one
   has behind this byte, its derivative. A token may come if the derivative by all its bytes still has a text.

   The life of a state: it is made when a text first comes to its node, the state behind a byte when that byte is first
   read, its mask when one is first asked for; all of it stays for whatever text comes there again. When the matcher
   has grown to its limit, all are forgotten at once, but for those that the text stands in.

   Who owns what: a grammar its tree, and an index its tries, or somebody else the bytes that it maps. Neither ever
   changes, so threads share them. A matcher has a copy of the tree, which grows, and all that it makes; a clone has
   its own. So nothing here needs a lock. */
#ifdef SAMPLING_GRAMMAR_DECLARED

/* ---- the tree ----
   Nodes only grow in number, and never change; a node's number is its place. Functions that make nodes pass an error
   on: given a negative number they return it. */

typedef int32_t sampi_node; /* a number of a node; negative: a samp_status */

/* What a node matches. a, b and c are its parts: nodes, unless said. */
typedef enum sampi_node_kind {
    SAMPI_NODE_NEVER,   /* nothing */
    SAMPI_NODE_EMPTY,   /* the empty text */
    SAMPI_NODE_TEXT,    /* the bytes [b] at a of the pool; c: the rule that has them as its name + 1, or 0 */
    SAMPI_NODE_SET,     /* one byte; the 256 bits at a of the pool (b = 32) say which */
    SAMPI_NODE_TOKEN,   /* token a, whatever its text; b: any but that one */
    SAMPI_NODE_SEQ,     /* a, then b */
    SAMPI_NODE_ALT,     /* a (never an ALT itself) or b */
    SAMPI_NODE_REPEAT,  /* a, at least b times and at most c (-1: any number) */
    SAMPI_NODE_GROUP,   /* a, as an expression wrote it (b, below); of triggers only */
    SAMPI_NODE_AND,     /* what both a and b match */
    SAMPI_NODE_NOT,     /* every string of bytes that a does not match */
    SAMPI_NODE_REF,     /* rule a */
    SAMPI_NODE_MEMBERS, /* what may follow in list a, after the members in b; c: how many there were, see below */
    SAMPI_NODE_SEEN     /* b above, if it is not EMPTY: a set of members, bits like a SET's, of b bytes */
} sampi_node_kind;

/* What a GROUP is for, if not a number: the group's, from 0. */
enum {
    SAMPI_GROUP_NONE = -1, /* to stay apart from the alternatives around it, */
    SAMPI_GROUP_LAZY = -2  /* or it is a REPEAT that tries fewer times first */
};

/* What is known of a node. */
enum {
    SAMPI_KNOWN_EMPTY = 1,   /* it matches the empty text */
    SAMPI_KNOWN_CALLS = 2,   /* there is a call, a token or a list in it: not regular */
    SAMPI_KNOWN_AND = 4,     /* there is an AND in it, so it may match nothing without being NEVER */
    SAMPI_KNOWN_ALIVE = 8,   /* with SAMPI_KNOWN_AND: it does match something, */
    SAMPI_KNOWN_DEAD = 16,   /* or nothing */
    SAMPI_KNOWN_QUEUED = 32, /* sampi_alive is looking at it */
    SAMPI_KNOWN_OPEN = 64,   /* sampi_grammar_visit is in it, */
    SAMPI_KNOWN_DONE = 128,  /* or has been */
    SAMPI_KNOWN_SHARED = SAMPI_KNOWN_EMPTY | SAMPI_KNOWN_CALLS | SAMPI_KNOWN_AND /* what follows from the parts */
};

typedef struct sampi_expr {
    uint8_t kind, known; /* known: what has been found out about it, SAMPI_KNOWN_* */
    uint16_t depth;      /* how deep functions recur that walk it */
    int32_t a, b, c;
    int32_t state; /* a matcher's for this node, or 0 */
} sampi_expr;

/* Two nodes that every tree begins with. */
#define SAMPI_NEVER 0
#define SAMPI_EMPTY 1

#define SAMPI_MAX_DEPTH  256       /* of a node: that much stack is safe everywhere */
#define SAMPI_MAX_NODES  (1 << 24) /* of a tree */
#define SAMPI_MAX_POOL   (1 << 28) /* bytes of all texts and sets */
#define SAMPI_MAX_RANGES 4096      /* of a class: they are gone through for each of them */
#define SAMPI_MAX_REGEX  8192      /* bytes of a regular expression: sampi_regex_unmark recurs along it */

typedef struct sampi_rule {
    sampi_node name, body; /* name: a TEXT, or EMPTY; body: -1 = not defined */
    int32_t n_refs;        /* places that it stands in, */
    bool call;             /* is it called, or read as if its body stood there? */
    uint8_t known;         /* and what is known of its body: of a finished grammar */
} sampi_rule;

/* A list of members in any order, none twice: sampi_tree_members. */
typedef struct sampi_member {
    sampi_node node;
    bool required;
} sampi_member;
typedef struct sampi_list {
    int32_t first, n; /* members, in the tree's array */
    sampi_node separator, other;
    int32_t least, most; /* most: INT32_MAX = no bound */
} sampi_list;

/* An array that grows. Its elements move when it does, so they are told by number. */
typedef struct sampi_vec {
    void *data;
    int32_t n, cap;
} sampi_vec;

typedef struct sampi_tree {
    sampi_vec nodes;   /* sampi_expr */
    sampi_vec pool;    /* bytes */
    sampi_vec rules;   /* sampi_rule */
    sampi_vec lists;   /* sampi_list */
    sampi_vec members; /* sampi_member */
    sampi_vec slots;   /* sampi_node, or -1: where a node with some hash is. As many as there is room for, 2^k */
} sampi_tree;

/* Room for `more` elements behind the last one, in vec->n more; their address, or NULL: no memory, nothing changed. */
static void *sampi_vec_add(sampi_vec *vec, size_t width, int32_t more)
{
    if (more > INT32_MAX / 2 - vec->n) return NULL;
    if (vec->n + more > vec->cap || !vec->data) {
        int32_t cap = vec->cap < 16 ? 16 : vec->cap * 2;
        while (cap < vec->n + more) cap *= 2;
        void *data = SAMP_MALLOC((size_t)cap * width);
        if (!data) return NULL;
        if (vec->n) memcpy(data, vec->data, (size_t)vec->n * width);
        SAMP_FREE(vec->data);
        vec->data = data;
        vec->cap = cap;
    }
    vec->n += more;
    return (char *)vec->data + (size_t)(vec->n - more) * width;
}

/* Element i; NULL of an array that has none. */
static void *sampi_vec_at(const sampi_vec *vec, size_t width, int32_t i)
{
    return vec->data ? (char *)vec->data + (size_t)i * width : NULL;
}

static void sampi_vec_free(sampi_vec *vec)
{
    SAMP_FREE(vec->data);
    memset(vec, 0, sizeof *vec);
}

/* The places of a hash table, int32_t each: twice as many, at least 64, all of them free (-1). */
static bool sampi_slots_renew(sampi_vec *slots)
{
    sampi_vec more;
    memset(&more, 0, sizeof more);
    int32_t n = slots->n ? 2 * slots->n : 64;
    if (!sampi_vec_add(&more, sizeof(int32_t), n)) return false;
    memset(more.data, 0xff, (size_t)n * sizeof(int32_t));
    sampi_vec_free(slots);
    *slots = more;
    return true;
}

static sampi_expr *sampi_at(const sampi_tree *t, sampi_node n) { return (sampi_expr *)t->nodes.data + n; }
static sampi_rule *sampi_rule_at(const sampi_tree *t, int32_t i) { return (sampi_rule *)t->rules.data + i; }
static const uint8_t *sampi_bytes_at(const sampi_tree *t, int32_t at) { return (const uint8_t *)t->pool.data + at; }

/* Texts and sets are told apart by their bytes, all other nodes by their numbers. */
static bool sampi_in_pool(int kind)
{
    return kind == SAMPI_NODE_TEXT || kind == SAMPI_NODE_SET || kind == SAMPI_NODE_SEEN;
}

static uint32_t sampi_node_hash(const sampi_tree *t, int kind, int32_t a, int32_t b, int32_t c)
{
    uint64_t h = (uint64_t)kind * 0x9E3779B97F4A7C15u;
    if (sampi_in_pool(kind)) {
        const uint8_t *bytes = sampi_bytes_at(t, a);
        for (int32_t i = 0; i < b; i++) h = (h ^ bytes[i]) * 0x100000001B3u;
    } else { /* parts are often neighbours, so none may undo another one's bits */
        h = (h ^ ((uint64_t)(uint32_t)a << 32 | (uint32_t)b)) * 0xD6E8FEB86659FD93u;
        h = (h ^ h >> 32 ^ (uint32_t)c) * 0xD6E8FEB86659FD93u;
    }
    return (uint32_t)(h ^ h >> 29);
}

/* Where the node is in slots, or the free place where it would be. */
static sampi_node *sampi_node_slot(const sampi_tree *t, int kind, int32_t a, int32_t b, int32_t c)
{
    sampi_node *slots = (sampi_node *)t->slots.data;
    uint32_t mask = (uint32_t)t->slots.n - 1, i = sampi_node_hash(t, kind, a, b, c) & mask;
    for (; slots[i] >= 0; i = (i + 1) & mask) {
        const sampi_expr *e = sampi_at(t, slots[i]);
        if (e->kind != kind || e->b != b) continue;
        if (sampi_in_pool(kind) ? memcmp(sampi_bytes_at(t, e->a), sampi_bytes_at(t, a), (size_t)b) == 0
                                : e->a == a && e->c == c)
            break;
    }
    return &slots[i];
}

/* More slots, and all nodes in them. */
static bool sampi_tree_rehash(sampi_tree *t)
{
    if (!sampi_slots_renew(&t->slots)) return false;
    for (sampi_node i = 0; i < t->nodes.n; i++) {
        const sampi_expr *e = sampi_at(t, i);
        *sampi_node_slot(t, e->kind, e->a, e->b, e->c) = i;
    }
    return true;
}

/* Lists of SEQ and ALT are walked along their right arms by loops; all else costs a level of recursion. */
static int32_t sampi_node_depth(const sampi_tree *t, int kind, int32_t a, int32_t b)
{
    if (kind < SAMPI_NODE_SEQ || kind > SAMPI_NODE_NOT) return 0;
    int32_t depth = sampi_at(t, a)->depth + (kind != SAMPI_NODE_SEQ || sampi_at(t, a)->kind != SAMPI_NODE_SEQ);
    if (kind != SAMPI_NODE_REPEAT && kind != SAMPI_NODE_GROUP && kind != SAMPI_NODE_NOT) {
        int32_t other = sampi_at(t, b)->depth + (kind == SAMPI_NODE_AND);
        if (other > depth) depth = other;
    }
    return depth;
}

/* Is it a rule that stands for its body? Then it is no node of its own to those who walk a tree. */
static bool sampi_is_inline(const sampi_tree *t, const sampi_expr *e)
{
    return e->kind == SAMPI_NODE_REF && !sampi_rule_at(t, e->a)->call;
}

static bool sampi_has_seen(const sampi_tree *t, sampi_node seen, int32_t member)
{
    return seen != SAMPI_EMPTY && (sampi_bytes_at(t, sampi_at(t, seen)->a)[member / 8] >> member % 8 & 1);
}

/* Does the list go on without anything missing? `count` is as a MEMBERS node has it: twice the number of members there
   were (up to where it no longer matters), + 1 if a separator has been read behind them. */
static bool sampi_list_complete(const sampi_tree *t, const sampi_list *list, sampi_node seen, int32_t count)
{
    const sampi_member *member = (const sampi_member *)sampi_vec_at(&t->members, sizeof *member, list->first);
    if ((count & 1) || count / 2 < list->least) return false;
    for (int32_t i = 0; i < list->n; i++)
        if (member[i].required && !sampi_has_seen(t, seen, i)) return false;
    return true;
}

/* What follows from its parts, for sampi_expr.known. */
static uint8_t sampi_node_known(const sampi_tree *t, const sampi_expr *e)
{
    const uint8_t shared = SAMPI_KNOWN_CALLS | SAMPI_KNOWN_AND;
    uint8_t a, b;
    switch (e->kind) {
        case SAMPI_NODE_EMPTY: return SAMPI_KNOWN_EMPTY;
        case SAMPI_NODE_TOKEN: return SAMPI_KNOWN_CALLS;
        case SAMPI_NODE_REF:
            a = sampi_rule_at(t, e->a)->known;
            return sampi_is_inline(t, e) ? a : (uint8_t)((a & SAMPI_KNOWN_EMPTY) | SAMPI_KNOWN_CALLS);
        case SAMPI_NODE_MEMBERS:
            a = sampi_list_complete(t, (const sampi_list *)t->lists.data + e->a, e->b, e->c);
            return (uint8_t)((a ? SAMPI_KNOWN_EMPTY : 0) | SAMPI_KNOWN_CALLS);
        case SAMPI_NODE_SEQ:
        case SAMPI_NODE_ALT:
        case SAMPI_NODE_AND:
            a = sampi_at(t, e->a)->known;
            b = sampi_at(t, e->b)->known;
            if (e->kind == SAMPI_NODE_AND) a |= SAMPI_KNOWN_AND;
            return (uint8_t)(((a | b) & shared) | ((e->kind == SAMPI_NODE_ALT ? a | b : a & b) & SAMPI_KNOWN_EMPTY));
        case SAMPI_NODE_REPEAT:
            a = sampi_at(t, e->a)->known;
            return (uint8_t)((a & (shared | SAMPI_KNOWN_EMPTY)) | (e->b == 0 ? SAMPI_KNOWN_EMPTY : 0));
        case SAMPI_NODE_NOT: a = sampi_at(t, e->a)->known; return (uint8_t)((a & shared) | (~a & SAMPI_KNOWN_EMPTY));
        default: return 0;
    }
}

/* The node with these parts: the one that there is, or a new one. All nodes come from here. */
static sampi_node sampi_tree_node(sampi_tree *t, int kind, int32_t a, int32_t b, int32_t c)
{
    if (2 * (t->nodes.n + 1) > t->slots.n && !sampi_tree_rehash(t)) return SAMP_E_NOMEM;
    sampi_node *slot = sampi_node_slot(t, kind, a, b, c);
    if (*slot >= 0) return *slot;
    int32_t depth = sampi_node_depth(t, kind, a, b);
    if (t->nodes.n >= SAMPI_MAX_NODES || depth > SAMPI_MAX_DEPTH) return SAMP_E_RANGE;
    sampi_expr *e = (sampi_expr *)sampi_vec_add(&t->nodes, sizeof *e, 1);
    if (!e) return SAMP_E_NOMEM;
    e->kind = (uint8_t)kind;
    e->depth = (uint16_t)depth;
    e->a = a;
    e->b = b;
    e->c = c;
    e->state = 0;
    e->known = sampi_node_known(t, e);
    return *slot = t->nodes.n - 1;
}

/* A text or set of the bytes from `at` to the pool's end. If there is an equal one, they leave the pool again. */
static sampi_node sampi_tree_pool_end(sampi_tree *t, int kind, int32_t at)
{
    int32_t n_nodes = t->nodes.n;
    sampi_node node = sampi_tree_node(t, kind, at, t->pool.n - at, 0);
    if (t->nodes.n == n_nodes) t->pool.n = at; /* there is one, or an error */
    return node;
}

/* Room for n bytes at the pool's end, or NULL and a status. */
static uint8_t *sampi_tree_pool_room(sampi_tree *t, size_t n, int *status)
{
    *status = n > (size_t)(SAMPI_MAX_POOL - t->pool.n) ? SAMP_E_RANGE : SAMP_E_NOMEM;
    return *status == SAMP_E_RANGE ? NULL : (uint8_t *)sampi_vec_add(&t->pool, 1, (int32_t)n);
}

/* A text or set. */
static sampi_node sampi_tree_pooled(sampi_tree *t, int kind, const void *bytes, size_t n)
{
    int32_t at = t->pool.n, status;
    uint8_t *room = sampi_tree_pool_room(t, n, &status);
    if (!room) return status;
    memcpy(room, bytes, n);
    return sampi_tree_pool_end(t, kind, at);
}

/* An empty tree. */
static int sampi_tree_init(sampi_tree *t)
{
    memset(t, 0, sizeof *t);
    sampi_node never = sampi_tree_node(t, SAMPI_NODE_NEVER, 0, 0, 0);
    sampi_node empty = never < 0 ? never : sampi_tree_node(t, SAMPI_NODE_EMPTY, 0, 0, 0);
    return empty < 0 ? empty : SAMP_OK;
}

static void sampi_tree_free(sampi_tree *t)
{
    sampi_vec_free(&t->nodes);
    sampi_vec_free(&t->pool);
    sampi_vec_free(&t->rules);
    sampi_vec_free(&t->lists);
    sampi_vec_free(&t->members);
    sampi_vec_free(&t->slots);
}

/* These bytes [n]. */
static sampi_node sampi_tree_text(sampi_tree *t, const char *bytes, size_t n)
{
    return n ? sampi_tree_pooled(t, SAMPI_NODE_TEXT, bytes, n) : SAMPI_EMPTY;
}

/* One of the bytes lo .. hi. */
static sampi_node sampi_tree_byte(sampi_tree *t, uint32_t lo, uint32_t hi)
{
    uint8_t bits[32] = { 0 };
    for (uint32_t i = lo; i <= hi; i++) bits[i / 8] |= (uint8_t)(1u << i % 8);
    return sampi_tree_pooled(t, SAMPI_NODE_SET, bits, 32);
}

/* a, then b. A long sequence that grows at its end leans to the left; sampi_tree_straight turns it when it is read. */
static sampi_node sampi_tree_seq(sampi_tree *t, sampi_node a, sampi_node b)
{
    if (a < 0 || b < 0) return a < 0 ? a : b;
    if (a == SAMPI_NEVER || b == SAMPI_NEVER) return SAMPI_NEVER;
    if (a == SAMPI_EMPTY) return b;
    return b == SAMPI_EMPTY ? a : sampi_tree_node(t, SAMPI_NODE_SEQ, a, b, 0);
}

/* a or b. Of two lists of alternatives the left one is put in front of the right one, so every ALT leans to the
   right. */
static sampi_node sampi_tree_alt(sampi_tree *t, sampi_node a, sampi_node b)
{
    if (a < 0 || b < 0) return a < 0 ? a : b;
    if (a == b || b == SAMPI_NEVER) return a;
    if (a == SAMPI_NEVER) return b;
    if (sampi_at(t, a)->kind != SAMPI_NODE_ALT) return sampi_tree_node(t, SAMPI_NODE_ALT, a, b, 0);
    if (sampi_at(t, b)->kind != SAMPI_NODE_ALT) return sampi_tree_node(t, SAMPI_NODE_ALT, b, a, 0);
    while (b >= 0 && sampi_at(t, a)->kind == SAMPI_NODE_ALT) {
        b = sampi_tree_node(t, SAMPI_NODE_ALT, sampi_at(t, a)->a, b, 0);
        a = sampi_at(t, a)->b;
    }
    return b < 0 ? b : sampi_tree_node(t, SAMPI_NODE_ALT, a, b, 0);
}

/* a, at least `least` times and at most `most`; most -1: no bound. A counter, not copies. */
static sampi_node sampi_tree_repeat(sampi_tree *t, sampi_node a, int32_t least, int32_t most)
{
    if (a < 0) return a;
    if (least < 0 || most < -1 || (most >= 0 && most < least)) return SAMP_E_RANGE;
    if (most == 0 || a == SAMPI_EMPTY) return SAMPI_EMPTY;
    if (a == SAMPI_NEVER) return least ? SAMPI_NEVER : SAMPI_EMPTY;
    return least == 1 && most == 1 ? a : sampi_tree_node(t, SAMPI_NODE_REPEAT, a, least, most);
}

/* What both match; both regular: no token, no members, no rule that recurs. */
static sampi_node sampi_tree_and(sampi_tree *t, sampi_node a, sampi_node b)
{
    if (a < 0 || b < 0) return a < 0 ? a : b;
    if (a == b) return a;
    if (a == SAMPI_NEVER || b == SAMPI_NEVER) return SAMPI_NEVER;
    if (sampi_at(t, a)->kind == SAMPI_NODE_NOT && sampi_at(t, a)->a == SAMPI_NEVER) return b;
    if (sampi_at(t, b)->kind == SAMPI_NODE_NOT && sampi_at(t, b)->a == SAMPI_NEVER) return a;
    return sampi_tree_node(t, SAMPI_NODE_AND, a < b ? a : b, a < b ? b : a, 0);
}

/* Token `token` of the vocabulary whatever its text, or with `negated` any other one. */
static sampi_node sampi_tree_token(sampi_tree *t, samp_token token, bool negated)
{
    return token < 0 ? (sampi_node)SAMP_E_RANGE : sampi_tree_node(t, SAMPI_NODE_TOKEN, token, negated, 0);
}

/* The code points lo .. hi, all of the same length in UTF-8: of each byte what the ones before leave free. */
static sampi_node sampi_tree_utf8_range(sampi_tree *t, uint32_t lo, uint32_t hi, int n_tail, uint32_t mark)
{
    if (n_tail == 0) return sampi_tree_byte(t, mark | lo, mark | hi);
    int shift = 6 * n_tail;
    uint32_t a = lo >> shift, b = hi >> shift, low = ((uint32_t)1 << shift) - 1;
    sampi_node node = SAMPI_NEVER;
    if (a < b && (lo & low)) { /* the first lead byte, whose tail does not begin at 0 */
        node = sampi_tree_seq(t, sampi_tree_byte(t, mark | a, mark | a),
                              sampi_tree_utf8_range(t, lo & low, low, n_tail - 1, 0x80));
        lo = ++a << shift;
    }
    if (a < b && (hi & low) != low) { /* the last one, whose tail ends early */
        node = sampi_tree_alt(t, node,
                              sampi_tree_seq(t, sampi_tree_byte(t, mark | b, mark | b),
                                             sampi_tree_utf8_range(t, 0, hi & low, n_tail - 1, 0x80)));
        hi = (b-- << shift) - 1;
    }
    return sampi_tree_alt(t, node,
                          sampi_tree_seq(t, sampi_tree_byte(t, mark | a, mark | b),
                                         sampi_tree_utf8_range(t, lo & low, hi & low, n_tail - 1, 0x80)));
}

/* The code points lo .. hi, but no surrogates: they have no UTF-8. Each length of UTF-8 has a range of them,
   a lead byte whose upper bits are `lead`, and n_tail bytes behind it. */
static sampi_node sampi_tree_code_points(sampi_tree *t, uint32_t lo, uint32_t hi)
{
    static const struct {
        uint32_t lo, hi, lead;
        int n_tail;
    } coded[] = { { 0, 0x7f, 0, 0 },
                  { 0x80, 0x7ff, 0xc0, 1 },
                  { 0x800, 0xd7ff, 0xe0, 2 },
                  { 0xe000, 0xffff, 0xe0, 2 },
                  { 0x10000, 0x10ffff, 0xf0, 3 } };
    sampi_node node = SAMPI_NEVER;
    for (size_t i = 0; i < sizeof coded / sizeof *coded; i++) {
        uint32_t from = lo > coded[i].lo ? lo : coded[i].lo, to = hi < coded[i].hi ? hi : coded[i].hi;
        if (from <= to)
            node = sampi_tree_alt(t, node, sampi_tree_utf8_range(t, from, to, coded[i].n_tail, coded[i].lead));
    }
    return node;
}

/* One code point in one of the ranges [n] (both ends in it; any order), or with `negated` in none of them. */
static sampi_node sampi_tree_class(sampi_tree *t, const uint32_t (*ranges)[2], size_t n, bool negated)
{
    sampi_node node = n > SAMPI_MAX_RANGES ? (sampi_node)SAMP_E_RANGE : SAMPI_NEVER;
    uint32_t next = 0; /* all below are done */
    while (next <= 0x10ffff && node >= 0) {
        uint32_t lo = 0x110000, hi = 0; /* what the ranges have from there on, up to the first hole */
        for (size_t i = 0; i < n; i++) {
            uint32_t from = ranges[i][0] > next ? ranges[i][0] : next;
            if (from <= ranges[i][1] && from < lo) lo = from;
        }
        for (hi = lo; hi < 0x110000;) {
            uint32_t was = hi;
            for (size_t i = 0; i < n; i++)
                if (ranges[i][0] <= hi && ranges[i][1] >= hi)
                    hi = ranges[i][1] < 0x110000 ? ranges[i][1] + 1 : 0x110000;
            if (hi == was) break;
        }
        uint32_t from = negated ? next : lo, end = negated ? lo : hi;
        if (from < end) node = sampi_tree_alt(t, node, sampi_tree_code_points(t, from, end - 1));
        next = hi;
    }
    return node;
}

/* The number of the rule with that name, a new one if there is none; without a name always a new one. */
static int32_t sampi_tree_rule(sampi_tree *t, const char *name, size_t n)
{
    sampi_node text = sampi_tree_text(t, name, n);
    if (text < 0) return text;
    if (n && sampi_at(t, text)->c) return sampi_at(t, text)->c - 1;
    sampi_rule *rule = (sampi_rule *)sampi_vec_add(&t->rules, sizeof *rule, 1);
    if (!rule) return SAMP_E_NOMEM;
    memset(rule, 0, sizeof *rule);
    rule->name = text;
    rule->body = -1;
    if (n) sampi_at(t, text)->c = t->rules.n;
    return t->rules.n - 1;
}

static sampi_node sampi_tree_ref(sampi_tree *t, int32_t rule)
{
    return rule < 0 ? rule : sampi_tree_node(t, SAMPI_NODE_REF, rule, 0, 0);
}

/* Give a rule its body, in place of what it had: rules may refer to it before. SAMP_OK, or the error that one of the
   arguments is. */
static int sampi_tree_define(sampi_tree *t, int32_t rule, sampi_node body)
{
    if (rule < 0 || body < 0) return rule < 0 ? rule : body;
    sampi_rule_at(t, rule)->body = body;
    return SAMP_OK;
}

/* A call of a new rule with that body. */
static sampi_node sampi_tree_call(sampi_tree *t, sampi_node body)
{
    int32_t rule = sampi_tree_rule(t, "", 0);
    int status = sampi_tree_define(t, rule, body);
    if (status) return status;
    sampi_rule_at(t, rule)->call = true;
    return sampi_tree_ref(t, rule);
}

/* A list of members [n] in any order, none twice, with `separator` between neighbours. `other` (NEVER: none) is any
   member that is not among them, and may come again. All required ones occur, and in all at least `least` and at most
   `most` (SIZE_MAX: any number). The members are copied. Each is a rule that is called: what can be said of it does
   not depend on those that have been there, so it is found out once. */
static sampi_node sampi_tree_members(sampi_tree *t, const sampi_member *members, size_t n, sampi_node separator,
                                     sampi_node other, size_t least, size_t most)
{
    if (separator < 0 || other < 0) return separator < 0 ? separator : other;
    for (size_t i = 0; i < n; i++)
        if (members[i].node < 0) return members[i].node;
    if (n > SAMPI_MAX_NODES || least > SAMPI_MAX_NODES || least > most) return SAMP_E_RANGE;
    if (other != SAMPI_NEVER) other = sampi_tree_call(t, other);
    if (other < 0) return other;
    sampi_list list = { t->members.n, (int32_t)n, separator, other, (int32_t)least, INT32_MAX };
    if (most < SAMPI_MAX_NODES) list.most = (int32_t)most;
    sampi_member *room = (sampi_member *)sampi_vec_add(&t->members, sizeof *room, (int32_t)n);
    sampi_list *at = room || n == 0 ? (sampi_list *)sampi_vec_add(&t->lists, sizeof *at, 1) : NULL;
    if (!at) return SAMP_E_NOMEM;
    *at = list;
    for (size_t i = 0; i < n; i++) {
        room[i].required = members[i].required;
        room[i].node = members[i].node == SAMPI_NEVER ? SAMPI_NEVER : sampi_tree_call(t, members[i].node);
        if (room[i].node < 0) return room[i].node;
    }
    return sampi_tree_node(t, SAMPI_NODE_MEMBERS, t->lists.n - 1, SAMPI_EMPTY, 0);
}

/* ---- a finished grammar ----
   A tree with its root, and what a matcher wants to know before it begins: which rules are called (the others are read
   as if their body stood there), which nodes match the empty text, and which bytes are never told apart. */

struct samp_grammar {
    sampi_tree tree;
    int32_t root; /* a rule */
    int32_t n_classes;
    uint8_t class_of[256]; /* bytes of one class are never told apart, */
    uint8_t byte_of[256];  /* and this is one of them */
};

/* Child i of a node (for a rule its body), or -1 if there are no more. */
static sampi_node sampi_child(const sampi_tree *t, const sampi_expr *e, int32_t i)
{
    switch (e->kind) {
        case SAMPI_NODE_REF: return i == 0 ? sampi_rule_at(t, e->a)->body : -1;
        case SAMPI_NODE_REPEAT:
        case SAMPI_NODE_NOT: return i == 0 ? e->a : -1;
        case SAMPI_NODE_SEQ:
        case SAMPI_NODE_ALT:
        case SAMPI_NODE_AND: return i == 0 ? e->a : i == 1 ? e->b : -1;
        case SAMPI_NODE_MEMBERS: {
            const sampi_list *list = (const sampi_list *)t->lists.data + e->a;
            if (i < list->n) return ((const sampi_member *)t->members.data)[list->first + i].node;
            return i == list->n ? list->separator : i == list->n + 1 ? list->other : -1;
        }
        default: return -1;
    }
}

/* A node whose children are all done, or open if they lead back to it: how deep do functions recur that look through
   rules? A rule where that is too deep is called. */
static int sampi_grammar_leave(sampi_tree *t, sampi_node n)
{
    sampi_expr *e = sampi_at(t, n);
    if (e->kind == SAMPI_NODE_REF) {
        sampi_rule *rule = sampi_rule_at(t, e->a);
        const sampi_expr *body = sampi_at(t, rule->body);
        rule->known = body->known;
        if (body->depth >= SAMPI_MAX_DEPTH / 2) rule->call = true;
        e->depth = rule->call ? 0 : (uint16_t)(body->depth + 1);
    } else {
        int32_t depth = sampi_node_depth(t, e->kind, e->a, e->b);
        if (depth > SAMPI_MAX_DEPTH) return SAMP_E_RANGE;
        e->depth = (uint16_t)depth;
    }
    e->known = (uint8_t)(sampi_node_known(t, e) | SAMPI_KNOWN_DONE);
    bool strict = e->kind == SAMPI_NODE_AND || e->kind == SAMPI_NODE_NOT;
    return strict && (e->known & SAMPI_KNOWN_CALLS) ? (int)SAMP_E_UNSUPPORTED : SAMP_OK;
}

/* Node n has been reached from within itself: by a rule, which is called from now on. It is n, or if n is what several
   rules have in their bodies, the last one on the way, `todo`. */
static void sampi_grammar_loop(sampi_tree *t, sampi_node n, const sampi_vec *todo)
{
    for (int32_t i = todo->n - 2; sampi_at(t, n)->kind != SAMPI_NODE_REF; i -= 2)
        n = ((const int32_t *)todo->data)[i];
    sampi_rule_at(t, sampi_at(t, n)->a)->call = true;
    sampi_at(t, n)->known |= SAMPI_KNOWN_CALLS;
}

/* Walk all that can be reached from the root, children first, and put it in `order`; a rule that leads back to itself
   is called. The stack is `todo`: a node, and which of its children is next. */
static int sampi_grammar_visit(sampi_tree *t, sampi_node root, sampi_vec *order, sampi_vec *todo)
{
    for (sampi_node n = root;;) {
        if (n >= 0) {
            sampi_expr *e = sampi_at(t, n);
            if (e->kind == SAMPI_NODE_REF) {
                sampi_rule *rule = sampi_rule_at(t, e->a);
                rule->n_refs++;
                if (rule->body < 0) return SAMP_E_RANGE;
            }
            if (e->known & SAMPI_KNOWN_OPEN) sampi_grammar_loop(t, n, todo);
            if (!(e->known & (SAMPI_KNOWN_OPEN | SAMPI_KNOWN_DONE))) {
                int32_t *at = (int32_t *)sampi_vec_add(todo, sizeof(int32_t), 2);
                if (!at) return SAMP_E_NOMEM;
                at[0] = n;
                at[1] = 0;
                e->known |= SAMPI_KNOWN_OPEN;
            }
        }
        if (todo->n == 0) return SAMP_OK;
        int32_t *top = (int32_t *)todo->data + todo->n - 2;
        n = sampi_child(t, sampi_at(t, top[0]), top[1]++);
        if (n >= 0) continue;
        int32_t *done = (int32_t *)sampi_vec_add(order, sizeof(int32_t), 1);
        if (!done) return SAMP_E_NOMEM;
        *done = top[0];
        int status = sampi_grammar_leave(t, top[0]);
        if (status) return status;
        todo->n -= 2;
    }
}

/* Which rules are called besides: those that are not regular and stand in more than one place. There, calls are what
   keeps the number of ways to go on small. Then what is known of nodes follows from it; since that can follow from
   rules that lead back to themselves, again until nothing changes. */
static void sampi_grammar_settle(sampi_tree *t, const sampi_vec *order)
{
    for (int32_t i = 0; i < t->rules.n; i++) {
        sampi_rule *rule = sampi_rule_at(t, i);
        if (rule->n_refs > 1 && (rule->known & SAMPI_KNOWN_CALLS)) rule->call = true;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t i = 0; i < order->n; i++) {
            sampi_expr *e = sampi_at(t, ((const int32_t *)order->data)[i]);
            if (e->kind == SAMPI_NODE_REF)
                sampi_rule_at(t, e->a)->known = sampi_at(t, sampi_rule_at(t, e->a)->body)->known & SAMPI_KNOWN_SHARED;
            uint8_t known = (uint8_t)(sampi_node_known(t, e) | SAMPI_KNOWN_DONE);
            changed |= known != (e->known & (uint8_t)~SAMPI_KNOWN_OPEN);
            e->known = known;
        }
    }
    for (sampi_node n = 0; n < t->nodes.n; n++) { /* what can't be reached may still equal what is made later */
        sampi_expr *e = sampi_at(t, n);
        if (!(e->known & SAMPI_KNOWN_DONE)) e->known = sampi_node_known(t, e);
        e->known &= SAMPI_KNOWN_SHARED;
    }
}

/* Split the classes of bytes by every set; a byte of a text is one of its own. */
static void sampi_grammar_classes(samp_grammar *g)
{
    const sampi_tree *t = &g->tree;
    uint8_t alone[256] = { 0 };
    g->n_classes = 1;
    memset(g->class_of, 0, sizeof g->class_of);
    for (sampi_node n = 0; n < t->nodes.n + 256; n++) {
        const sampi_expr *e = n < t->nodes.n ? sampi_at(t, n) : NULL;
        const uint8_t *bytes = e && sampi_in_pool(e->kind) ? sampi_bytes_at(t, e->a) : NULL;
        if (e && e->kind == SAMPI_NODE_TEXT)
            for (int32_t i = 0; i < e->b; i++) alone[bytes[i]] = 1;
        if (e ? e->kind != SAMPI_NODE_SET : !alone[n - t->nodes.n]) continue;
        int32_t to[256]; /* the class of those in the set, of each old class */
        memset(to, 0xff, sizeof to);
        int32_t in[256] = { 0 }, all[256] = { 0 };
        for (int32_t b = 0; b < 256; b++) {
            bool has = e ? bytes[b / 8] >> b % 8 & 1 : b == n - t->nodes.n;
            in[g->class_of[b]] += has;
            all[g->class_of[b]]++;
        }
        for (int32_t b = 0; b < 256; b++) {
            int32_t c = g->class_of[b];
            bool has = e ? bytes[b / 8] >> b % 8 & 1 : b == n - t->nodes.n;
            if (!has || in[c] == all[c]) continue;
            if (to[c] < 0) to[c] = g->n_classes++;
            g->class_of[b] = (uint8_t)to[c];
        }
    }
    for (int32_t b = 255; b >= 0; b--) g->byte_of[g->class_of[b]] = (uint8_t)b;
}

/* The tree is complete: make it a grammar. SAMP_OK; SAMP_E_RANGE: a rule without a body, or nodes too deep;
   SAMP_E_UNSUPPORTED: AND or NOT of something that is not regular; SAMP_E_NOMEM. */
static int sampi_grammar_finish(samp_grammar *g, int32_t root)
{
    sampi_vec order, todo;
    memset(&order, 0, sizeof order);
    memset(&todo, 0, sizeof todo);
    g->root = root;
    sampi_node ref = sampi_tree_ref(&g->tree, root);
    int status = ref < 0 ? ref : sampi_grammar_visit(&g->tree, ref, &order, &todo);
    if (!status) sampi_grammar_settle(&g->tree, &order);
    if (!status) sampi_grammar_classes(g);
    sampi_vec_free(&order);
    sampi_vec_free(&todo);
    return status;
}

/* ---- reading texts ----
   GBNF and regular expressions become a tree. Both readers go through the text once and stop at the first mistake,
   which they tell by its place and by what should have stood there. */

typedef struct sampi_reader {
    sampi_tree *tree;
    const char *text, *at, *end; /* *end may be read, and is 0 */
    samp_grammar_error *error;   /* never NULL */
    sampi_vec parts;             /* sampi_node: what the sequences under way consist of */
    int32_t depth;               /* of parentheses */
    uint64_t n_symbols;          /* GBNF: names so far as llama.cpp counts them, for its limit of repetitions */
    sampi_node (*chars)(sampi_tree *, const uint32_t (*)[2], size_t, bool); /* regex: how a class is written; */
    bool ways;        /* does it matter in which way a text matches? Then GROUPs tell, */
    int32_t n_groups; /* with numbers for as many as these */
} sampi_reader;

#define SAMPI_MAX_NESTING 100 /* parentheses in one another */

/* What was expected at `at`. Returns the status that it sets. */
static int sampi_expected(sampi_reader *r, const char *at, int status, const char *what)
{
    samp_grammar_error *error = r->error;
    error->status = status;
    error->line = error->column = 1;
    for (const char *p = r->text; p < at; p++) {
        error->column++;
        if (*p == '\n' || (*p == '\r' && p[1] != '\n')) {
            error->line++;
            error->column = 1;
        }
    }
    size_t n = strlen(what) < sizeof error->message ? strlen(what) : sizeof error->message - 1;
    memcpy(error->message, what, n);
    error->message[n] = 0;
    return status;
}

/* The code point that begins a text, and how many bytes it has; 0 bytes: no valid UTF-8 (a surrogate isn't either). */
static uint32_t sampi_utf8_get(const unsigned char *s, const unsigned char *end, uint32_t *c)
{
    static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (s >= end) return 0;
    uint32_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
    if (n == 0 || (size_t)(end - s) < n) return 0;
    *c = n == 1 ? *s : *s & (0x7fu >> n);
    for (uint32_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        *c = *c << 6 | (s[i] & 0x3f);
    }
    return *c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000) ? 0 : n;
}

/* One code point of UTF-8, which must be valid; it moves on. Or a status. */
static int32_t sampi_read_utf8(sampi_reader *r, const char *what)
{
    if (r->at == r->end) return sampi_expected(r, r->at, SAMP_E_FORMAT, what);
    uint32_t c, n = sampi_utf8_get((const uint8_t *)r->at, (const uint8_t *)r->end, &c);
    if (n == 0) return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected valid UTF-8");
    r->at += n;
    return (int32_t)c;
}

/* 0 .. 15, or -1. */
static int sampi_hex_digit(int c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* n hexadecimal digits. */
static int64_t sampi_read_hex(sampi_reader *r, int n)
{
    uint32_t x = 0;
    for (int i = 0; i < n; i++, r->at++) {
        int digit = sampi_hex_digit(*r->at);
        if (digit < 0) return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected a hexadecimal digit");
        x = x << 4 | (uint32_t)digit;
    }
    return x;
}

/* A decimal number, at most 2^31 - 1 (what is more counts as that). */
static int32_t sampi_read_number(sampi_reader *r, const char *what)
{
    int64_t x = 0;
    if (*r->at < '0' || *r->at > '9') return sampi_expected(r, r->at, SAMP_E_FORMAT, what);
    for (; *r->at >= '0' && *r->at <= '9'; r->at++) {
        x = 10 * x + (*r->at - '0');
        if (x > INT32_MAX) x = INT32_MAX;
    }
    return (int32_t)x;
}

/* An error of the tree, at the place that was being read. */
static sampi_node sampi_read_node(sampi_reader *r, sampi_node n)
{
    if (n >= 0 || r->error->status) return n;
    return sampi_expected(r, r->at, n, n == SAMP_E_NOMEM ? "out of memory" : "expected a smaller grammar");
}

static sampi_node sampi_read_part(sampi_reader *r, sampi_node n)
{
    if (n < 0) return sampi_read_node(r, n);
    sampi_node *part = (sampi_node *)sampi_vec_add(&r->parts, sizeof *part, 1);
    if (!part) return sampi_read_node(r, SAMP_E_NOMEM);
    return *part = n;
}

/* The parts from `first` on, in sequence or as alternatives; they are used up. */
static sampi_node sampi_read_join(sampi_reader *r, int32_t first, bool seq)
{
    sampi_node n = seq ? SAMPI_EMPTY : SAMPI_NEVER;
    while (r->parts.n > first) {
        sampi_node part = ((sampi_node *)r->parts.data)[--r->parts.n];
        n = seq ? sampi_tree_seq(r->tree, part, n) : sampi_tree_alt(r->tree, part, n);
    }
    return sampi_read_node(r, n);
}

/* ---- GBNF, as llama.cpp reads it ---- */

static bool sampi_gbnf_is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

/* Spaces and comments; newlines only where the rule is known to go on. */
static void sampi_gbnf_space(sampi_reader *r, bool newlines)
{
    for (;; r->at++) {
        if (*r->at == '#')
            while (*r->at && *r->at != '\n' && *r->at != '\r') r->at++;
        if (*r->at != ' ' && *r->at != '\t' && !(newlines && (*r->at == '\n' || *r->at == '\r'))) return;
    }
}

/* A character of a literal or a class. What has no UTF-8 (an escape may say anything) matches nothing: above
   0x10ffff. */
static int64_t sampi_gbnf_char(sampi_reader *r)
{
    if (*r->at != '\\') return sampi_read_utf8(r, "expected the end of the literal or class");
    r->at += 2;
    switch (r->at[-1]) {
        case 'x': return sampi_read_hex(r, 2);
        case 'u': return sampi_read_hex(r, 4);
        case 'U': return sampi_read_hex(r, 8);
        case 't': return '\t';
        case 'r': return '\r';
        case 'n': return '\n';
        case '\\':
        case '"':
        case '[':
        case ']':
        case '-': return r->at[-1];
        default:
            return sampi_expected(r, --r->at, SAMP_E_FORMAT, "expected one of x u U t r n \\ \" [ ] - behind \\");
    }
}

static sampi_node sampi_gbnf_literal(sampi_reader *r)
{
    int32_t first = r->parts.n;
    for (r->at++; *r->at != '"';) {
        int64_t c = sampi_gbnf_char(r);
        if (c < 0) return (sampi_node)c;
        sampi_node n = SAMPI_NEVER;
        if (c <= 0x10ffff) {
            const uint32_t range[1][2] = { { (uint32_t)c, (uint32_t)c } };
            n = c < 0x80 ? sampi_tree_byte(r->tree, (uint32_t)c, (uint32_t)c)
                         : sampi_tree_class(r->tree, range, 1, false);
        }
        if (sampi_read_part(r, n) < 0) return r->error->status;
    }
    r->at++;
    return sampi_read_join(r, first, true);
}

/* [..] or [^..]; with nothing in it, it is an empty text. Ranges are collected as parts. */
static sampi_node sampi_gbnf_class(sampi_reader *r)
{
    int32_t first = r->parts.n;
    bool negated = r->at[1] == '^';
    for (r->at += 1 + negated; *r->at != ']';) {
        int64_t lo = sampi_gbnf_char(r), hi = lo;
        if (lo < 0) return (sampi_node)lo;
        if (r->at[0] == '-' && r->at[1] != ']') {
            r->at++;
            hi = sampi_gbnf_char(r);
            if (hi < 0) return (sampi_node)hi;
        }
        if (sampi_read_part(r, lo < 0x110000 ? (sampi_node)lo : 0x110000) < 0) return r->error->status;
        if (sampi_read_part(r, hi < 0x110000 ? (sampi_node)hi : 0x110000) < 0) return r->error->status;
    }
    r->at++;
    int32_t n = (r->parts.n - first) / 2;
    r->parts.n = first;
    if (n == 0) return SAMPI_EMPTY;
    const uint32_t *ranges = (const uint32_t *)r->parts.data + first;
    return sampi_read_node(r, sampi_tree_class(r->tree, (const uint32_t(*)[2])ranges, (size_t)n, negated));
}

/* <[id]> or <text>: the text, with its angle brackets, must be one token; which one, the vocabulary says later. */
static sampi_node sampi_gbnf_token(sampi_reader *r)
{
    bool negated = *r->at == '!';
    r->at += negated;
    if (*r->at != '<') return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected < behind !");
    const char *start = r->at++;
    if (*r->at == '[') {
        r->at++;
        int32_t id = sampi_read_number(r, "expected a token's number");
        if (id < 0) return id;
        if (r->at[0] != ']' || r->at[1] != '>')
            return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected ]> behind the token's number");
        r->at += 2;
        return sampi_read_node(r, sampi_tree_token(r->tree, id, negated));
    }
    while (*r->at && *r->at != '>') r->at++;
    if (!*r->at) return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected > behind the token's text");
    r->at++;
    sampi_node text = sampi_tree_text(r->tree, start, (size_t)(r->at - start));
    if (text < 0) return sampi_read_node(r, text);
    return sampi_read_node(r, sampi_tree_node(r->tree, SAMPI_NODE_TOKEN, text, negated | 2, 0));
}

/* {m}, {m,} or {m,n} into least and most; a bound above 2000 is none, as in llama.cpp. */
static int sampi_gbnf_braces(sampi_reader *r, bool nested, int32_t *least, int32_t *most)
{
    r->at++;
    sampi_gbnf_space(r, nested);
    const char *start = r->at;
    *least = sampi_read_number(r, "expected a number behind {");
    if (*least < 0) return *least;
    *most = *least;
    sampi_gbnf_space(r, nested);
    if (*r->at == ',') {
        r->at++;
        sampi_gbnf_space(r, nested);
        *most = *r->at == '}' ? -1 : sampi_read_number(r, "expected a number or }");
        if (*most < -1) return *most;
        sampi_gbnf_space(r, nested);
        if (*r->at != '}') return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected }");
    } else if (*r->at != '}') {
        return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected , or }");
    }
    r->at++;
    if (*least > 2000) return sampi_expected(r, start, SAMP_E_FORMAT, "expected at most 2000 repetitions");
    if (*most > 2000) *most = -1;
    if (*most >= 0 && *most < *least)
        return sampi_expected(r, start, SAMP_E_FORMAT, "expected a second number that is not below the first");
    return SAMP_OK;
}

/* What repeats the last part. `n_rules` is what that part counts as, and is multiplied. */
static int sampi_gbnf_repeat(sampi_reader *r, int32_t first, bool nested, bool *nothing, uint64_t *n_rules)
{
    const char *start = r->at;
    int32_t least = *r->at == '+', most = *r->at == '?' ? 1 : -1;
    if (*r->at == '{') {
        int status = sampi_gbnf_braces(r, nested, &least, &most);
        if (status) return status;
    } else {
        r->at++;
    }
    sampi_gbnf_space(r, nested);
    if (*nothing || r->parts.n == first)
        return sampi_expected(r, start, SAMP_E_FORMAT, "expected something to repeat before * + ? {");
    uint64_t total = most > 0 ? (uint64_t)most : least > 0 ? (uint64_t)least : 1;
    *n_rules *= total;
    if (*n_rules > 2000)
        return sampi_expected(r, start, SAMP_E_FORMAT, "expected fewer repetitions, at most 2000 in all");
    r->n_symbols += most < 0 ? 1 : (uint64_t)(most - least);
    *nothing = most == 0;
    sampi_node *last = (sampi_node *)r->parts.data + r->parts.n - 1;
    *last = sampi_read_node(r, sampi_tree_repeat(r->tree, *last, least, most));
    return *last < 0 ? *last : SAMP_OK;
}

static sampi_node sampi_gbnf_alternatives(sampi_reader *r, bool nested);

/* The number of the rule whose name is read, a new one if no rule has it; or a status. New ones count for llama.cpp's
   limit of what repetitions make (n_symbols). */
static int32_t sampi_gbnf_name(sampi_reader *r)
{
    const char *start = r->at;
    int32_t n_rules = r->tree->rules.n;
    while (sampi_gbnf_is_name(*r->at)) r->at++;
    if (r->at == start) return sampi_expected(r, start, SAMP_E_FORMAT, "expected a name");
    int32_t rule = sampi_read_node(r, sampi_tree_rule(r->tree, start, (size_t)(r->at - start)));
    r->n_symbols += (uint64_t)(r->tree->rules.n - n_rules);
    return rule;
}

static sampi_node sampi_gbnf_group(sampi_reader *r, uint64_t *n_rules)
{
    uint64_t n_symbols = r->n_symbols++;
    if (++r->depth > SAMPI_MAX_NESTING)
        return sampi_expected(r, r->at, SAMP_E_RANGE, "expected at most 100 levels of ( )");
    r->at++;
    sampi_gbnf_space(r, true);
    sampi_node n = sampi_gbnf_alternatives(r, true);
    if (n < 0) return n;
    if (*r->at != ')') return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected )");
    r->at++;
    r->depth--;
    *n_rules = r->n_symbols - n_symbols;
    return n;
}

static sampi_node sampi_gbnf_sequence(sampi_reader *r, bool nested)
{
    int32_t first = r->parts.n;
    uint64_t n_rules = 1;
    bool nothing = true; /* the last part is the empty text, which can't be repeated */
    for (;;) {
        sampi_node n;
        char c = *r->at;
        if (c && strchr("*+?{", c)) {
            int status = sampi_gbnf_repeat(r, first, nested, &nothing, &n_rules);
            if (status) return status;
            continue;
        }
        n_rules = 1;
        if (c == '"') {
            nothing = r->at[1] == '"';
            n = sampi_gbnf_literal(r);
        } else if (c == '[') {
            nothing = r->at[1] == ']' || (r->at[1] == '^' && r->at[2] == ']');
            n = sampi_gbnf_class(r);
        } else {
            nothing = false;
            if (c == '<' || c == '!') {
                n = sampi_gbnf_token(r);
            } else if (sampi_gbnf_is_name(c)) {
                n = sampi_tree_ref(r->tree, sampi_gbnf_name(r));
            } else if (c == '(') {
                n = sampi_gbnf_group(r, &n_rules);
            } else if (c == '.') {
                r->at++;
                n = sampi_tree_class(r->tree, NULL, 0, true);
            } else {
                return sampi_read_join(r, first, true);
            }
        }
        if (sampi_read_part(r, n) < 0) return r->error->status;
        sampi_gbnf_space(r, nested);
    }
}

static sampi_node sampi_gbnf_alternatives(sampi_reader *r, bool nested)
{
    int32_t first = r->parts.n;
    for (;;) {
        if (sampi_read_part(r, sampi_gbnf_sequence(r, nested)) < 0) return r->error->status;
        if (*r->at != '|') return sampi_read_join(r, first, false);
        r->at++;
        sampi_gbnf_space(r, true);
    }
}

/* name ::= alternatives, and the end of the line. A second definition replaces the first. */
static int sampi_gbnf_rule(sampi_reader *r)
{
    int32_t rule = sampi_gbnf_name(r);
    if (rule < 0) return rule;
    sampi_gbnf_space(r, false);
    if (strncmp(r->at, "::=", 3) != 0) return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected ::=");
    r->at += 3;
    sampi_gbnf_space(r, true);
    sampi_node body = sampi_gbnf_alternatives(r, false);
    if (body < 0) return body;
    if (*r->at && *r->at != '\n' && *r->at != '\r')
        return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected the end of the line, or a part of the rule");
    sampi_gbnf_space(r, true);
    return sampi_tree_define(r->tree, rule, body);
}

/* Every name must have a rule; the mistake is told where the name first stands. */
static int sampi_gbnf_check(sampi_reader *r)
{
    for (int32_t i = 0; i < r->tree->rules.n; i++) {
        const sampi_rule *rule = sampi_rule_at(r->tree, i);
        if (rule->body >= 0) continue;
        const sampi_expr *name = sampi_at(r->tree, rule->name);
        const char *text = (const char *)sampi_bytes_at(r->tree, name->a);
        for (const char *p = r->text; p < r->end; p++) {
            if (strncmp(p, text, (size_t)name->b) != 0 || sampi_gbnf_is_name(p[name->b])) continue;
            if (p == r->text || !sampi_gbnf_is_name(p[-1]))
                return sampi_expected(r, p, SAMP_E_FORMAT, "expected a name that has a rule");
        }
    }
    return SAMP_OK;
}

/* The text's rules into the tree, and the number of the rule `root`. */
static int sampi_gbnf_read(sampi_reader *r, const char *root, int32_t *rule)
{
    sampi_gbnf_space(r, true);
    while (*r->at) {
        int status = sampi_gbnf_rule(r);
        if (status) return status;
    }
    int32_t n_rules = r->tree->rules.n;
    *rule = sampi_read_node(r, sampi_tree_rule(r->tree, root, strlen(root)));
    if (*rule < 0) return *rule;
    if (*rule == n_rules) return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected a rule with the root's name");
    return sampi_gbnf_check(r);
}

/* ---- regular expressions ----
   ECMA-262's, as far as they are regular: no lookaround, no \b, no backreferences, no \p. ^ and $ may stand anywhere:
   they are read as bytes that no text has, FE before its first and FF behind its last one. What the expression says of
   texts without them follows by taking FE from its front and FF from its end (sampi_regex_unmark). */

#define SAMPI_REGEX_BEGIN 0xfe
#define SAMPI_REGEX_END   0xff

static int sampi_regex_unsupported(sampi_reader *r, const char *at, const char *what)
{
    return sampi_expected(r, at, SAMP_E_UNSUPPORTED, what);
}

/* The ranges of \d \w \s. */
static size_t sampi_regex_named(char name, const uint32_t (**ranges)[2])
{
    static const uint32_t d[][2] = { { '0', '9' } };
    static const uint32_t w[][2] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } };
    static const uint32_t s[][2] = { { '\t', '\r' },     { ' ', ' ' },       { 0xa0, 0xa0 },     { 0x1680, 0x1680 },
                                     { 0x2000, 0x200a }, { 0x2028, 0x2029 }, { 0x202f, 0x202f }, { 0x205f, 0x205f },
                                     { 0x3000, 0x3000 }, { 0xfeff, 0xfeff } };
    *ranges = name == 'd' ? d : name == 'w' ? w : s;
    return name == 'd' ? 1 : name == 'w' ? sizeof w / sizeof *w : sizeof s / sizeof *s;
}

/* \uHHHH, \u{H..} or a pair of surrogates, behind \u. */
static int64_t sampi_regex_unicode(sampi_reader *r)
{
    if (*r->at == '{') {
        int n = 0;
        while (r->at[1 + n] && r->at[1 + n] != '}') n++;
        if (n < 1 || n > 6) return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected one to six digits in \\u{}");
        r->at++;
        int64_t c = sampi_read_hex(r, n);
        r->at++;
        return c;
    }
    int64_t c = sampi_read_hex(r, 4);
    if (c < 0xd800 || c >= 0xdc00 || r->at[0] != '\\' || r->at[1] != 'u') return c;
    const char *at = r->at;
    r->at += 2;
    int64_t low = sampi_read_hex(r, 4);
    if (low >= 0xdc00 && low < 0xe000) return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    r->at = at;
    return low < 0 ? low : c;
}

/* The character behind a backslash, which is not a class of them. */
static int64_t sampi_regex_escape(sampi_reader *r)
{
    static const char from[] = "tnvfr", to[] = "\t\n\v\f\r";
    const char *start = r->at - 1;
    char c = *r->at;
    if (r->at == r->end) return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected a character behind \\");
    if (c && strchr(from, c)) return to[strchr(from, *r->at++) - from];
    if (c == '0' && (r->at[1] < '0' || r->at[1] > '9')) return *r->at++ - '0';
    if (c == 'x' || c == 'u') {
        r->at++;
        return c == 'x' ? sampi_read_hex(r, 2) : sampi_regex_unicode(r);
    }
    if (c == 'c' && ((r->at[1] | 32) >= 'a' && (r->at[1] | 32) <= 'z')) {
        r->at += 2;
        return r->at[-1] & 31;
    }
    if (c >= '0' && c <= '9') return sampi_regex_unsupported(r, start, "a backreference is not regular");
    if (c && strchr("bBk", c)) return sampi_regex_unsupported(r, start, "\\b, \\B and \\k are not supported");
    if (c == 'p' || c == 'P') return sampi_regex_unsupported(r, start, "\\p is not supported");
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return sampi_expected(r, start, SAMP_E_FORMAT, "expected a known escape");
    return sampi_read_utf8(r, "expected a character");
}

/* Append the range lo .. hi to the parts, or with `gaps` what lies between the ranges [n]. */
static int sampi_regex_ranges(sampi_reader *r, const uint32_t (*ranges)[2], size_t n, bool gaps)
{
    int64_t next = 0;
    for (size_t i = 0; i <= n; i++) {
        int64_t lo = gaps ? next : i < n ? (int64_t)ranges[i][0] : 1, hi = i < n ? (int64_t)ranges[i][1] : 0;
        if (gaps) hi = i < n ? (int64_t)ranges[i][0] - 1 : 0x10ffff;
        if (i < n) next = (int64_t)ranges[i][1] + 1;
        if (lo > hi) continue;
        if (sampi_read_part(r, (sampi_node)lo) < 0 || sampi_read_part(r, (sampi_node)hi) < 0) return r->error->status;
    }
    return SAMP_OK;
}

/* One end of a range in [ ]: a code point; or -1, and the ranges of \d and its like are among the parts. */
static int64_t sampi_regex_class_char(sampi_reader *r, int *status)
{
    int64_t c;
    if (*r->at != '\\') {
        c = sampi_read_utf8(r, "expected ]");
    } else if (r->at[1] && strchr("dwsDWS", r->at[1])) {
        const uint32_t(*ranges)[2];
        char name = r->at[1];
        size_t n = sampi_regex_named((char)(name | 32), &ranges);
        r->at += 2;
        *status = sampi_regex_ranges(r, ranges, n, name < 'a');
        return -1;
    } else {
        bool backspace = r->at[1] == 'b';
        r->at += 1 + backspace;
        c = backspace ? '\b' : sampi_regex_escape(r);
    }
    if (c < 0) *status = (int)c;
    return c;
}

static sampi_node sampi_regex_class(sampi_reader *r)
{
    int32_t first = r->parts.n;
    int status = SAMP_OK;
    bool negated = r->at[1] == '^';
    for (r->at += 1 + negated; *r->at != ']';) {
        const char *start = r->at;
        int64_t lo = sampi_regex_class_char(r, &status);
        if (status) return status;
        if (*r->at != '-' || r->at[1] == ']') {
            uint32_t one[1][2] = { { (uint32_t)lo, (uint32_t)lo } };
            if (lo >= 0 && sampi_regex_ranges(r, (const uint32_t(*)[2])one, 1, false)) return r->error->status;
            continue;
        }
        r->at++;
        int64_t hi = sampi_regex_class_char(r, &status);
        if (status) return status;
        if (lo < 0 || hi < lo) return sampi_expected(r, start, SAMP_E_FORMAT, "expected a range in order");
        uint32_t range[1][2] = { { (uint32_t)lo, (uint32_t)hi } };
        if (sampi_regex_ranges(r, (const uint32_t(*)[2])range, 1, false)) return r->error->status;
    }
    r->at++;
    size_t n = (size_t)(r->parts.n - first) / 2;
    r->parts.n = first;
    return r->chars(r->tree, (const uint32_t(*)[2])sampi_vec_at(&r->parts, sizeof(sampi_node), first), n, negated);
}

/* n as a group, if that matters. */
static sampi_node sampi_regex_way(sampi_reader *r, sampi_node n, int32_t group)
{
    if (n < 0 || !r->ways || (group == SAMPI_GROUP_NONE && sampi_at(r->tree, n)->kind != SAMPI_NODE_ALT)) return n;
    return sampi_tree_node(r->tree, SAMPI_NODE_GROUP, n, group, 0);
}

static sampi_node sampi_regex_alternatives(sampi_reader *r);

static sampi_node sampi_regex_group(sampi_reader *r)
{
    const char *start = r->at++;
    int32_t group = SAMPI_GROUP_NONE;
    if (++r->depth > SAMPI_MAX_NESTING)
        return sampi_expected(r, start, SAMP_E_RANGE, "expected at most 100 levels of ( )");
    if (r->at[0] == '?') {
        bool named = r->at[1] == '<' && r->at[2] != '=' && r->at[2] != '!';
        if (r->at[1] != ':' && !named)
            return sampi_regex_unsupported(r, start, "lookahead and lookbehind are not supported");
        r->at += 2;
        if (named)
            while (*r->at && *r->at++ != '>') continue;
        if (named) group = r->n_groups++;
    } else {
        group = r->n_groups++;
    }
    sampi_node n = sampi_regex_alternatives(r);
    if (n < 0) return n;
    if (*r->at != ')') return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected )");
    r->at++;
    r->depth--;
    return sampi_regex_way(r, n, group);
}

/* One thing that may be repeated. */
static sampi_node sampi_regex_atom(sampi_reader *r)
{
    static const uint32_t line_ends[][2] = { { '\n', '\n' }, { '\r', '\r' }, { 0x2028, 0x2029 } };
    const uint32_t(*ranges)[2];
    char c = *r->at;
    if (c == '(') return sampi_regex_group(r);
    if (c == '[') return sampi_regex_class(r);
    if (c && strchr("*+?", c))
        return sampi_expected(r, r->at, SAMP_E_FORMAT, "expected something to repeat before * + ?");
    if (c == '.') {
        r->at++;
        return r->chars(r->tree, line_ends, 3, true);
    }
    if (c == '\\' && r->at[1] && strchr("dwsDWS", r->at[1])) {
        c = r->at[1];
        size_t n = sampi_regex_named((char)(c | 32), &ranges);
        r->at += 2;
        return r->chars(r->tree, ranges, n, c < 'a');
    }
    r->at += c == '\\';
    int64_t code = c == '\\' ? sampi_regex_escape(r) : sampi_read_utf8(r, "expected a character");
    if (code < 0) return (sampi_node)code;
    uint32_t one[1][2] = { { (uint32_t)code, (uint32_t)code } };
    return r->chars(r->tree, (const uint32_t(*)[2])one, 1, false);
}

/* {m}, {m,} or {m,n}? Else the brace is a character like others, and *least is -1. */
static int sampi_regex_braces(sampi_reader *r, int32_t *least, int32_t *most)
{
    const char *start = r->at++;
    if (*r->at >= '0' && *r->at <= '9') {
        *least = *most = sampi_read_number(r, "");
        if (*r->at == ',') {
            r->at++;
            *most = *r->at == '}' ? -1 : 0;
            if (*r->at >= '0' && *r->at <= '9') *most = sampi_read_number(r, "");
        }
        if (*r->at++ == '}') {
            if (*most >= 0 && *most < *least)
                return sampi_expected(r, start, SAMP_E_FORMAT,
                                      "expected a second number that is not below the first");
            return SAMP_OK;
        }
    }
    r->at = start;
    *least = -1;
    return SAMP_OK;
}

static sampi_node sampi_regex_repeated(sampi_reader *r, sampi_node n)
{
    while (n >= 0 && *r->at && strchr("*+?{", *r->at)) {
        int32_t least = *r->at == '+', most = *r->at == '?' ? 1 : -1;
        if (*r->at == '{') {
            int status = sampi_regex_braces(r, &least, &most);
            if (status || least < 0) return status ? status : n;
        } else {
            r->at++;
        }
        n = sampi_tree_repeat(r->tree, n, least, most);
        if (*r->at != '?') continue;
        r->at++; /* lazy or not, the texts are the same */
        if (least != most) n = sampi_regex_way(r, n, SAMPI_GROUP_LAZY);
    }
    return n;
}

static sampi_node sampi_regex_alternatives(sampi_reader *r)
{
    int32_t first = r->parts.n, first_part = first;
    for (;;) {
        char c = *r->at;
        if (r->at == r->end || c == ')' || c == '|') {
            sampi_node n = sampi_regex_way(r, sampi_read_join(r, first_part, true), SAMPI_GROUP_NONE);
            if (sampi_read_part(r, n) < 0) return r->error->status;
            if (c != '|' || r->at == r->end) return sampi_read_join(r, first, false);
            first_part = r->parts.n;
            r->at++;
            continue;
        }
        sampi_node n;
        if (c == '^' || c == '$') {
            uint32_t mark = c == '^' ? SAMPI_REGEX_BEGIN : SAMPI_REGEX_END;
            while (*r->at == c) r->at++;
            n = sampi_tree_byte(r->tree, mark, mark);
        } else {
            n = sampi_regex_repeated(r, sampi_regex_atom(r));
        }
        if (sampi_read_part(r, n) < 0) return r->error->status;
    }
}

/* Of what n matches: `mark` BEGIN: what follows such a mark at its front; END: what comes before one at its end; 0:
   what has no mark at all. */
static sampi_node sampi_regex_unmark(sampi_tree *t, sampi_node n, uint32_t mark)
{
    if (n < 0) return n;
    const sampi_expr e = *sampi_at(t, n);
    switch (e.kind) {
        case SAMPI_NODE_SET: {
            const uint8_t *bits = sampi_bytes_at(t, e.a);
            if (!(bits[31] >> 6)) return mark ? SAMPI_NEVER : n;
            return mark && bits[31] >> (mark & 7) & 1 ? SAMPI_EMPTY : SAMPI_NEVER;
        }
        case SAMPI_NODE_SEQ: {
            sampi_node a = sampi_regex_unmark(t, e.a, mark), b = sampi_regex_unmark(t, e.b, mark);
            if (!mark) return sampi_tree_seq(t, a, b);
            bool front = mark == SAMPI_REGEX_BEGIN;
            sampi_node with = front ? sampi_tree_seq(t, a, e.b) : sampi_tree_seq(t, e.a, b);
            bool through = sampi_at(t, front ? e.a : e.b)->known & SAMPI_KNOWN_EMPTY;
            return through ? sampi_tree_alt(t, with, front ? b : a) : with;
        }
        case SAMPI_NODE_ALT:
            return sampi_tree_alt(t, sampi_regex_unmark(t, e.a, mark), sampi_regex_unmark(t, e.b, mark));
        case SAMPI_NODE_REPEAT: {
            sampi_node a = sampi_regex_unmark(t, e.a, mark);
            if (!mark) return sampi_tree_repeat(t, a, e.b, e.c);
            bool empty = sampi_at(t, e.a)->known & SAMPI_KNOWN_EMPTY;
            sampi_node rest = sampi_tree_repeat(t, e.a, e.b && !empty ? e.b - 1 : 0, e.c < 0 ? -1 : e.c - 1);
            return mark == SAMPI_REGEX_BEGIN ? sampi_tree_seq(t, a, rest) : sampi_tree_seq(t, rest, a);
        }
        default: return mark && n != SAMPI_NEVER ? SAMPI_NEVER : n;
    }
}

/* A regular expression, [n] bytes with a 0 behind them, with its marks; the caller has set the reader's tree, chars and
   ways. A status, and *error, if it is none. */
static sampi_node sampi_regex_read(sampi_reader *r, const char *text, size_t n, samp_grammar_error *error)
{
    memset(error, 0, sizeof *error);
    r->text = r->at = text;
    r->end = text + n;
    r->error = error;
    if (n > SAMPI_MAX_REGEX) return sampi_expected(r, text, SAMP_E_RANGE, "expected at most 8192 bytes");
    sampi_node all = sampi_regex_alternatives(r);
    if (all >= 0 && r->at < r->end) all = sampi_expected(r, r->at, SAMP_E_FORMAT, "expected the end, or ( before )");
    sampi_vec_free(&r->parts);
    return all;
}

/* The texts that match it as a whole, or with `search` those in which it occurs. `chars` writes a class of code points
   (sampi_tree_class does, as UTF-8). SAMP_E_UNSUPPORTED if it is not regular. */
static sampi_node sampi_tree_regex(sampi_tree *t, const char *text, size_t n, bool search,
                                   sampi_node (*chars)(sampi_tree *, const uint32_t (*)[2], size_t, bool),
                                   samp_grammar_error *error)
{
    sampi_reader r;
    memset(&r, 0, sizeof r);
    r.tree = t;
    r.chars = chars;
    sampi_node all = sampi_regex_read(&r, text, n, error);
    if (all < 0) return all;
    sampi_node any = search ? sampi_tree_repeat(t, chars(t, NULL, 0, true), 0, -1) : (sampi_node)SAMPI_EMPTY;
    sampi_node begun = sampi_regex_unmark(t, all, SAMPI_REGEX_BEGIN);
    sampi_node ended = sampi_regex_unmark(t, all, SAMPI_REGEX_END);
    sampi_node both = sampi_regex_unmark(t, begun, SAMPI_REGEX_END);
    all = sampi_tree_seq(t, any, sampi_tree_seq(t, sampi_regex_unmark(t, all, 0), any));
    begun = sampi_tree_seq(t, sampi_regex_unmark(t, begun, 0), any);
    ended = sampi_tree_seq(t, any, sampi_regex_unmark(t, ended, 0));
    both = sampi_tree_alt(t, sampi_regex_unmark(t, both, 0), all);
    return sampi_read_node(&r, sampi_tree_alt(t, sampi_tree_alt(t, begun, ended), both));
}

/* ---- grammars ---- */

static sampi_node sampi_schema_tree(sampi_tree *tree, const char *text, const char *options,
                                    samp_grammar_error *error); /* >>schema */

/* Read the text into g's tree, and say which rule is the root. */
static int sampi_grammar_read(samp_grammar *g, samp_grammar_kind kind, sampi_reader *r, const char *root,
                              int32_t *rule)
{
    if (kind == SAMP_GRAMMAR_GBNF) return sampi_gbnf_read(r, root ? root : "root", rule);
    if (kind != SAMP_GRAMMAR_REGEX && kind != SAMP_GRAMMAR_JSON_SCHEMA)
        return sampi_expected(r, r->at, SAMP_E_RANGE, "expected a samp_grammar_kind");
    sampi_node body = kind == SAMP_GRAMMAR_JSON_SCHEMA
                          ? sampi_schema_tree(&g->tree, r->text, root, r->error)
                          : sampi_tree_regex(&g->tree, r->text, strlen(r->text), false, sampi_tree_class, r->error);
    *rule = sampi_tree_rule(&g->tree, "", 0);
    return sampi_tree_define(&g->tree, *rule, body);
}

SAMP_API samp_grammar *samp_grammar_init(samp_grammar_kind kind, const char *text, const char *root,
                                         samp_grammar_error *error)
{
    samp_grammar_error mine;
    sampi_reader r;
    int32_t rule = 0;
    memset(&r, 0, sizeof r);
    r.error = error ? error : &mine;
    memset(r.error, 0, sizeof *r.error);
    r.text = r.at = text ? text : "";
    r.end = r.text + strlen(r.text);
    samp_grammar *g = (samp_grammar *)SAMP_MALLOC(sizeof *g);
    int status = g ? SAMP_OK : SAMP_E_NOMEM;
    if (g) {
        r.tree = &g->tree;
        status = sampi_tree_init(&g->tree);
        if (!status && !text) status = sampi_expected(&r, r.at, SAMP_E_NULL, "expected a text, not NULL");
        if (!status) status = sampi_grammar_read(g, kind, &r, root, &rule);
        if (!status) status = sampi_grammar_finish(g, rule);
    }
    if (status) sampi_read_node(&r, status);
    sampi_vec_free(&r.parts);
    if (!status) return g;
    samp_grammar_free(g);
    return NULL;
}

SAMP_API void samp_grammar_free(samp_grammar *g)
{
    if (!g) return;
    sampi_tree_free(&g->tree);
    SAMP_FREE(g);
}

/* ---- the vocabulary ----
   All tokens as one trie over their bytes, in depth-first order: a walk is a loop over an array, and leaving out all
   tokens behind a byte is one addition. A node is two words:

       token << 8 | byte          the token that ends here, or 0xffffff
       size << 10 | depth         nodes from here to the end of its subtree, itself counted; bytes up to here

   There are two tries, one behind the other. The first has the plain tokens: whole characters that JSON's strings have
   as they are. Where a grammar takes any of them, they need no walk. Before the tries: how many tokens there are, how
   many nodes in all and in the first trie, and two sets of bits: the plain tokens, and all that are in a trie. */

#define SAMPI_INDEX_MAGIC 0x31495653u /* "SVI1" */
#define SAMPI_INDEX_HEAD  8           /* words: magic, n_vocab, n_nodes, n_plain, checksum of the rest [2], 0, 0 */
#define SAMPI_NO_TOKEN    0xffffffu
#define SAMPI_MAX_PIECE   1023      /* bytes of a token */
#define SAMPI_MAX_TRIE    (1 << 22) /* nodes of a trie */

struct samp_vocab_index {
    const samp_vocab *vocab;
    const uint32_t *words;                      /* the whole index, as it is saved */
    uint32_t *own;                              /* the same if it is ours to free, else NULL */
    uint32_t n_vocab, n_nodes, n_plain, n_mask; /* n_mask: words of a mask */
    const uint32_t *plain, *all, *nodes;
};

/* A token's bytes, while the tries are made. */
typedef struct sampi_spelt {
    const uint8_t *bytes;
    uint32_t n, token;
} sampi_spelt;

static int32_t sampi_spelt_at(const sampi_spelt *p, uint32_t depth) { return depth < p->n ? p->bytes[depth] : -1; }

/* By their bytes from `depth` on; those before are the same. Split by the byte at depth, in three. */
static void sampi_sort_spelt(sampi_spelt *p, size_t n, uint32_t depth)
{
    while (n > 1) {
        int32_t pivot = sampi_spelt_at(&p[n / 2], depth);
        size_t less = 0, i = 0, more = n;
        while (i < more) {
            int32_t c = sampi_spelt_at(&p[i], depth);
            sampi_spelt t = p[i];
            if (c < pivot) {
                p[i++] = p[less];
                p[less++] = t;
            } else if (c > pivot) {
                p[i] = p[--more];
                p[more] = t;
            } else {
                i++;
            }
        }
        sampi_sort_spelt(p, less, depth);
        sampi_sort_spelt(p + more, n - more, depth);
        if (pivot < 0) return; /* equal ones */
        p += less;
        n = more - less;
        depth++;
    }
}

/* Whole characters, none of them a control character, a quote or a backslash? */
static bool sampi_spelt_is_plain(const sampi_spelt *p)
{
    for (uint32_t i = 0; i < p->n;) {
        uint8_t c = p->bytes[i];
        if (c < 0x80) {
            if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) return false;
            i++;
            continue;
        }
        uint32_t n = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
        if (n == 0 || i + n > p->n) return false;
        for (uint32_t k = 1; k < n; k++)
            if ((p->bytes[i + k] & 0xc0) != 0x80) return false;
        uint8_t next = p->bytes[i + 1]; /* too long, a surrogate, or above 10ffff */
        if ((c == 0xe0 && next < 0xa0) || (c == 0xed && next > 0x9f) || (c == 0xf0 && next < 0x90) ||
            (c == 0xf4 && next > 0x8f))
            return false;
        i += n;
    }
    return true;
}

/* Append the trie of sorted pieces. Its nodes get their sizes when they are left; path [d]: the node at depth d. */
static int sampi_index_trie(sampi_vec *words, const sampi_spelt *p, size_t n, uint32_t *path)
{
    uint32_t depth = 0, first = (uint32_t)words->n / 2;
    uint32_t *root = (uint32_t *)sampi_vec_add(words, 4, 2);
    if (!root) return SAMP_E_NOMEM;
    root[0] = SAMPI_NO_TOKEN << 8;
    path[0] = first;
    for (size_t i = 0; i <= n; i++) {
        uint32_t same = 0; /* bytes that it has in common with the one before */
        if (i > 0 && i < n)
            while (same < p[i].n && same < p[i - 1].n && p[i].bytes[same] == p[i - 1].bytes[same]) same++;
        if (i < n && same == p[i].n) same--; /* equal ones are neighbours */
        uint32_t end = (uint32_t)words->n / 2;
        for (; depth > same || (i == n && depth + 1 > 0); depth--) {
            ((uint32_t *)words->data)[2 * (size_t)path[depth] + 1] = (end - path[depth]) << 10 | depth;
            if (depth == 0) return SAMP_OK;
        }
        for (depth = same; depth < p[i].n;) {
            uint32_t *node = (uint32_t *)sampi_vec_add(words, 4, 2);
            if (!node) return SAMP_E_NOMEM;
            if (words->n / 2 >= SAMPI_MAX_TRIE) return SAMP_E_RANGE;
            node[0] = SAMPI_NO_TOKEN << 8 | p[i].bytes[depth];
            path[++depth] = (uint32_t)words->n / 2 - 1;
        }
        uint32_t *leaf = (uint32_t *)words->data + 2 * (size_t)path[depth];
        leaf[0] = p[i].token << 8 | (leaf[0] & 0xff);
    }
    return SAMP_OK;
}

/* Where the parts of an index are. */
static void sampi_index_open(samp_vocab_index *index, const uint32_t *words)
{
    index->words = words;
    index->n_vocab = words[1];
    index->n_nodes = words[2];
    index->n_plain = words[3];
    index->n_mask = (index->n_vocab + 31) / 32;
    index->plain = words + SAMPI_INDEX_HEAD;
    index->all = index->plain + index->n_mask;
    index->nodes = index->all + index->n_mask;
}

/* Words of an index that has such numbers. */
static size_t sampi_index_words(uint32_t n_vocab, uint32_t n_nodes)
{
    return SAMPI_INDEX_HEAD + 2 * (size_t)((n_vocab + 31) / 32) + 2 * (size_t)n_nodes;
}

/* The tokens that have a trie, the plain ones first: not those that end a generation, nor empty ones (or that begin
   with a 0: llama.cpp sees no text in them). Returns how many; *n_plain: how many of them are plain. */
static size_t sampi_index_pieces(const samp_vocab *vocab, sampi_spelt *pieces, size_t *n_plain, int *status)
{
    size_t n = 0;
    *n_plain = 0;
    for (int32_t token = 0; token < vocab->n_vocab; token++) {
        sampi_spelt p;
        size_t n_bytes = 0;
        p.bytes = (const uint8_t *)vocab->token_bytes(vocab, token, &n_bytes);
        if (!p.bytes || n_bytes == 0 || p.bytes[0] == 0 || sampi_is_eog(vocab, token)) continue;
        if (n_bytes > SAMPI_MAX_PIECE) *status = SAMP_E_RANGE;
        p.n = (uint32_t)n_bytes;
        p.token = (uint32_t)token;
        pieces[n++] = p;
    }
    for (size_t i = 0; i < n; i++) {
        if (!sampi_spelt_is_plain(&pieces[i])) continue;
        sampi_spelt t = pieces[i];
        pieces[i] = pieces[*n_plain];
        pieces[(*n_plain)++] = t;
    }
    return n;
}

/* All of the index into words. */
static int sampi_index_build(const samp_vocab *vocab, sampi_vec *words, sampi_spelt *pieces, uint32_t *path)
{
    int status = SAMP_OK;
    size_t n_plain, n = sampi_index_pieces(vocab, pieces, &n_plain, &status);
    if (status) return status;
    uint32_t n_mask = ((uint32_t)vocab->n_vocab + 31) / 32;
    int32_t head = SAMPI_INDEX_HEAD + 2 * (int32_t)n_mask;
    uint32_t *at = (uint32_t *)sampi_vec_add(words, 4, head);
    if (!at) return SAMP_E_NOMEM;
    memset(at, 0, (size_t)head * 4);
    for (size_t i = 0; i < n; i++) {
        uint32_t token = pieces[i].token;
        if (i < n_plain) at[SAMPI_INDEX_HEAD + token / 32] |= 1u << token % 32;
        at[SAMPI_INDEX_HEAD + n_mask + token / 32] |= 1u << token % 32;
    }
    sampi_sort_spelt(pieces, n_plain, 0);
    sampi_sort_spelt(pieces + n_plain, n - n_plain, 0);
    sampi_vec nodes;
    memset(&nodes, 0, sizeof nodes);
    status = sampi_index_trie(&nodes, pieces, n_plain, path);
    uint32_t n_first = (uint32_t)nodes.n / 2;
    if (!status) status = sampi_index_trie(&nodes, pieces + n_plain, n - n_plain, path);
    uint32_t *room = status ? NULL : (uint32_t *)sampi_vec_add(words, 4, nodes.n);
    if (room) memcpy(room, nodes.data, (size_t)nodes.n * 4);
    if (!status && !room) status = SAMP_E_NOMEM;
    at = (uint32_t *)words->data;
    at[0] = SAMPI_INDEX_MAGIC;
    at[1] = (uint32_t)vocab->n_vocab;
    at[2] = (uint32_t)nodes.n / 2;
    at[3] = n_first;
    sampi_vec_free(&nodes);
    if (status) return status;
    uint64_t sum = sampi_checksum(at + SAMPI_INDEX_HEAD, ((size_t)words->n - SAMPI_INDEX_HEAD) * 4);
    at[4] = (uint32_t)sum;
    at[5] = (uint32_t)(sum >> 32);
    return SAMP_OK;
}

static samp_vocab_index *sampi_index_fail(int *status, int why)
{
    if (status) *status = why;
    return NULL;
}

/* What is wrong with a vocabulary, if anything is. */
static int sampi_index_check(const samp_vocab *vocab)
{
    if (!vocab || !vocab->token_bytes || (vocab->n_eog && !vocab->eog)) return SAMP_E_NULL;
    if (vocab->n_vocab == 0) return SAMP_E_EMPTY;
    return vocab->n_vocab < 0 || vocab->n_vocab > SAMP_MAX_VOCAB ? (int)SAMP_E_RANGE : SAMP_OK;
}

SAMP_API samp_vocab_index *samp_vocab_index_init(const samp_vocab *vocab, int *status)
{
    int why = sampi_index_check(vocab);
    if (why) return sampi_index_fail(status, why);
    size_t n = (size_t)vocab->n_vocab;
    samp_vocab_index *index = (samp_vocab_index *)SAMP_MALLOC(sizeof *index);
    sampi_spelt *pieces = (sampi_spelt *)SAMP_MALLOC(n * sizeof *pieces);
    uint32_t *path = (uint32_t *)SAMP_MALLOC((SAMPI_MAX_PIECE + 1) * sizeof *path);
    sampi_vec words;
    memset(&words, 0, sizeof words);
    why = index && pieces && path ? sampi_index_build(vocab, &words, pieces, path) : (int)SAMP_E_NOMEM;
    SAMP_FREE(pieces);
    SAMP_FREE(path);
    if (why) {
        sampi_vec_free(&words);
        SAMP_FREE(index);
        return sampi_index_fail(status, why);
    }
    index->vocab = vocab;
    index->own = (uint32_t *)words.data;
    sampi_index_open(index, index->own);
    if (status) *status = SAMP_OK;
    return index;
}

/* Is the trie in [first, end) one that can be walked? Each node is a child of the last one that is still open, ends
   within it, and has no token that there is not. open [d]: where the open node at depth d ends. */
static bool sampi_index_trie_sound(const uint32_t *nodes, uint32_t first, uint32_t end, uint32_t n_vocab)
{
    uint32_t open[SAMPI_MAX_PIECE + 1], depth = 0;
    for (uint32_t i = first; i < end; i++) {
        const uint32_t token = nodes[2 * (size_t)i] >> 8, size = nodes[2 * (size_t)i + 1] >> 10;
        while (i > first && depth > 0 && open[depth] == i) depth--;
        const uint32_t expected = i > first ? depth + 1 : 0;
        if ((nodes[2 * (size_t)i + 1] & 1023) != expected || expected > SAMPI_MAX_PIECE) return false;
        if (size == 0 || size > (i > first ? open[depth] : end) - i) return false;
        if (token != SAMPI_NO_TOKEN && token >= n_vocab) return false;
        open[depth = expected] = i + size;
    }
    return first < end && open[0] == end;
}

/* Are the bytes an index of a vocabulary of that size? They may come from anywhere. */
static bool sampi_index_sound(const uint32_t *words, size_t size, uint32_t n_vocab)
{
    if (size < 4 * SAMPI_INDEX_HEAD || words[0] != SAMPI_INDEX_MAGIC || words[1] != n_vocab) return false;
    const uint32_t n_nodes = words[2], n_plain = words[3];
    if (n_nodes > 2 * SAMPI_MAX_TRIE || n_plain > n_nodes || size != 4 * sampi_index_words(n_vocab, n_nodes))
        return false;
    uint64_t sum = sampi_checksum(words + SAMPI_INDEX_HEAD, size - 4 * SAMPI_INDEX_HEAD);
    if (sum != ((uint64_t)words[5] << 32 | words[4])) return false;
    const uint32_t *nodes = words + size / 4 - 2 * (size_t)n_nodes;
    return sampi_index_trie_sound(nodes, 0, n_plain, n_vocab) &&
           sampi_index_trie_sound(nodes, n_plain, n_nodes, n_vocab);
}

SAMP_API samp_vocab_index *samp_vocab_index_map(const samp_vocab *vocab, const void *bytes, size_t size, int *status)
{
    int why = bytes ? sampi_index_check(vocab) : (int)SAMP_E_NULL;
    if (why) return sampi_index_fail(status, why);
    const uint32_t *words = (const uint32_t *)bytes;
    if ((uintptr_t)bytes % 4) return sampi_index_fail(status, SAMP_E_RANGE);
    if (!sampi_index_sound(words, size, (uint32_t)vocab->n_vocab)) return sampi_index_fail(status, SAMP_E_FORMAT);
    samp_vocab_index *index = (samp_vocab_index *)SAMP_MALLOC(sizeof *index);
    if (!index) return sampi_index_fail(status, SAMP_E_NOMEM);
    index->vocab = vocab;
    index->own = NULL;
    sampi_index_open(index, words);
    if (status) *status = SAMP_OK;
    return index;
}

SAMP_API size_t samp_vocab_index_size(const samp_vocab_index *index)
{
    return index ? 4 * sampi_index_words(index->n_vocab, index->n_nodes) : 0;
}

SAMP_API int samp_vocab_index_save(const samp_vocab_index *index, void *bytes, size_t size)
{
    if (!index || !bytes) return SAMP_E_NULL;
    if (size < samp_vocab_index_size(index)) return SAMP_E_WORKSPACE;
    memcpy(bytes, index->words, samp_vocab_index_size(index));
    return SAMP_OK;
}

SAMP_API void samp_vocab_index_free(samp_vocab_index *index)
{
    if (!index) return;
    SAMP_FREE(index->own);
    SAMP_FREE(index);
}

/* ---- triggers ----
   What ends the wait of a lazy grammar: tokens, words, or regular expressions looked for in the text so far. Where the
   grammar begins depends on the way in which an expression matches, the first that backtracking would find, so an
   expression becomes a program that knows the order of its ways. The words are one expression: (one|or|another).

   While it waits, each byte moves a set of places in all programs (sampi_lazy_feed), which costs as much as the set is
   large, and tells whether there is a match. Once there is, sampi_lazy_start goes through the whole text to find out
   where it is. As in llama.cpp, whose std::regex reads bytes, a class takes bytes. */

typedef enum sampi_op_kind {
    SAMPI_OP_BYTE,  /* the byte a */
    SAMPI_OP_SET,   /* one of the bytes in the set at a of the pool */
    SAMPI_OP_NEVER, /* nothing */
    SAMPI_OP_SPLIT, /* go on at a; if that leads nowhere, at b */
    SAMPI_OP_SAVE,  /* here group a / 2 begins, or ends if a is odd */
    SAMPI_OP_BEGIN, /* only at the beginning of the text, */
    SAMPI_OP_END,   /* or at its end */
    SAMPI_OP_MATCH
} sampi_op_kind;
typedef struct sampi_op {
    int32_t kind, a, b;
} sampi_op;

/* An expression: its first operation, and whether it is to match the whole text first. */
typedef struct sampi_program {
    int32_t first, whole;
} sampi_program;

#define SAMPI_MAX_OPS    (1 << 16)
#define SAMPI_MAX_GROUPS 64

typedef struct sampi_lazy {
    sampi_vec ops;      /* sampi_op: all programs */
    sampi_vec pool;     /* bytes: their sets */
    sampi_vec programs; /* sampi_program */
    sampi_vec tokens;   /* samp_token: they end the wait too */
    sampi_vec places;   /* int32_t, five times as many as operations: where the programs are, lists like that for what
                           is under way, for what was and for what is to be done, and the round of each operation */
    int32_t n_live;
    uint32_t round;
    bool is_lazy, waiting, found; /* found: there is a match */
} sampi_lazy;

/* What an expression has of bytes: those of a class below 80; above, any if it is negated or has all characters there,
   else UTF-8 of those that it has. */
static sampi_node sampi_trigger_class(sampi_tree *t, const uint32_t (*ranges)[2], size_t n, bool negated)
{
    uint8_t bits[32];
    uint32_t next = 0x80; /* the first one above that it has not */
    for (size_t i = 0; i < n; i++)
        if (ranges[i][0] <= next && ranges[i][1] >= next) {
            next = ranges[i][1] + 1;
            i = (size_t)-1;
        }
    bool all = negated || next > 0x10ffff;
    memset(bits, 0, 16);
    memset(bits + 16, all ? 0xff : 0, 16);
    for (uint32_t c = 0; c < 0x80; c++) {
        bool in = negated;
        for (size_t i = 0; i < n && in == negated; i++) in ^= c >= ranges[i][0] && c <= ranges[i][1];
        bits[c / 8] |= (uint8_t)(in << c % 8);
    }
    sampi_node node = sampi_tree_pooled(t, SAMPI_NODE_SET, bits, 32);
    for (size_t i = 0; i < n && !all; i++)
        if (ranges[i][1] >= 0x80)
            node = sampi_tree_alt(
                t, sampi_tree_code_points(t, ranges[i][0] < 0x80 ? 0x80 : ranges[i][0], ranges[i][1]), node);
    return node;
}

/* Append an operation; its number, or a status. */
static int32_t sampi_emit_op(sampi_lazy *z, int kind, int32_t a, int32_t b)
{
    sampi_op *op = z->ops.n < SAMPI_MAX_OPS ? (sampi_op *)sampi_vec_add(&z->ops, sizeof *op, 1) : NULL;
    if (!op) return z->ops.n < SAMPI_MAX_OPS ? SAMP_E_NOMEM : SAMP_E_RANGE;
    op->kind = kind;
    op->a = a;
    op->b = b;
    return z->ops.n - 1;
}

/* Let the operation `at`, a SPLIT, go on behind the last one, first or second; or with both, only there. */
static void sampi_emit_here(sampi_lazy *z, int32_t at, bool first, bool second)
{
    sampi_op *op = (sampi_op *)z->ops.data + at;
    if (first) op->a = z->ops.n;
    if (second) op->b = z->ops.n;
}

static int sampi_emit(sampi_lazy *z, const sampi_tree *t, sampi_node n);

/* A repetition as copies of what is repeated; the last of them, if there is no bound, is a loop. */
static int sampi_emit_repeat(sampi_lazy *z, const sampi_tree *t, const sampi_expr *e, bool lazy)
{
    int status = SAMP_OK;
    for (int32_t i = 0; i < e->b && !status; i++) status = sampi_emit(z, t, e->a);
    int32_t before = z->ops.n, most = e->c < 0 ? e->b + 1 : e->c;
    for (int32_t i = e->b; i < most && !status; i++) {
        int32_t split = sampi_emit_op(z, SAMPI_OP_SPLIT, -1, -1);
        if (split < 0) return split;
        sampi_emit_here(z, split, !lazy, lazy);
        status = sampi_emit(z, t, e->a);
        int32_t back = status || e->c >= 0 ? 0 : sampi_emit_op(z, SAMPI_OP_SPLIT, split, split);
        if (back < 0) status = back;
    }
    for (int32_t i = before; i < z->ops.n && !status; i++) { /* what has no way yet is a way out */
        sampi_op *op = (sampi_op *)z->ops.data + i;
        if (op->kind == SAMPI_OP_SPLIT && op->a < 0) op->a = z->ops.n;
        if (op->kind == SAMPI_OP_SPLIT && op->b < 0) op->b = z->ops.n;
    }
    return status;
}

/* First a, then what it has behind |, and so on. */
static int sampi_emit_alternatives(sampi_lazy *z, const sampi_tree *t, sampi_node n)
{
    int32_t out = -1; /* the last of those that go on behind all; each has the one before in b, until then */
    int status = SAMP_OK;
    for (; sampi_at(t, n)->kind == SAMPI_NODE_ALT && !status; n = sampi_at(t, n)->b) {
        int32_t split = sampi_emit_op(z, SAMPI_OP_SPLIT, -1, -1);
        if (split < 0) return split;
        sampi_emit_here(z, split, true, false);
        status = sampi_emit(z, t, sampi_at(t, n)->a);
        if (!status) out = sampi_emit_op(z, SAMPI_OP_SPLIT, 0, out);
        if (out < -1) status = out;
        if (!status) sampi_emit_here(z, split, false, true);
    }
    if (!status) status = sampi_emit(z, t, n);
    while (out >= 0 && !status) {
        int32_t before = ((const sampi_op *)z->ops.data)[out].b;
        sampi_emit_here(z, out, true, true);
        out = before;
    }
    return status;
}

/* The operations of a node. */
static int sampi_emit(sampi_lazy *z, const sampi_tree *t, sampi_node n)
{
    int32_t at = 0;
    int status = SAMP_OK;
    for (; sampi_at(t, n)->kind == SAMPI_NODE_SEQ && !status; n = sampi_at(t, n)->b)
        status = sampi_emit(z, t, sampi_at(t, n)->a);
    if (status) return status;
    const sampi_expr *e = sampi_at(t, n);
    const uint8_t *bytes = sampi_in_pool(e->kind) ? sampi_bytes_at(t, e->a) : NULL;
    switch (e->kind) {
        case SAMPI_NODE_EMPTY: return SAMP_OK;
        case SAMPI_NODE_ALT: return sampi_emit_alternatives(z, t, n);
        case SAMPI_NODE_REPEAT: return sampi_emit_repeat(z, t, e, false);
        case SAMPI_NODE_TEXT:
            for (int32_t i = 0; i < e->b && at >= 0; i++) at = sampi_emit_op(z, SAMPI_OP_BYTE, bytes[i], 0);
            break;
        case SAMPI_NODE_SET: { /* a mark is alone in its set */
            bool mark = (bytes[31] & 0xc0) && !(bytes[16] & 1);
            int kind = !mark ? SAMPI_OP_SET : bytes[31] >> 6 == 1 ? SAMPI_OP_BEGIN : SAMPI_OP_END;
            at = sampi_emit_op(z, kind, e->a, 0);
            break;
        }
        case SAMPI_NODE_GROUP:
            if (e->b == SAMPI_GROUP_LAZY) return sampi_emit_repeat(z, t, sampi_at(t, e->a), true);
            if (e->b >= SAMPI_MAX_GROUPS) return SAMP_E_RANGE;
            if (e->b >= 0) at = sampi_emit_op(z, SAMPI_OP_SAVE, 2 * e->b, 0);
            if (at >= 0) status = sampi_emit(z, t, e->a);
            if (at >= 0 && !status && e->b >= 0) at = sampi_emit_op(z, SAMPI_OP_SAVE, 2 * e->b + 1, 0);
            break;
        default: at = sampi_emit_op(z, SAMPI_OP_NEVER, 0, 0); break;
    }
    return at < 0 ? at : status;
}

/* One more program: the texts of a node. */
static int sampi_lazy_program(sampi_lazy *z, const sampi_tree *t, sampi_node n, bool whole)
{
    if (n < 0) return n;
    sampi_program *p = (sampi_program *)sampi_vec_add(&z->programs, sizeof *p, 1);
    if (!p) return SAMP_E_NOMEM;
    p->first = z->ops.n;
    p->whole = whole;
    int status = sampi_emit(z, t, n);
    int32_t last = status ? status : sampi_emit_op(z, SAMPI_OP_MATCH, 0, 0);
    return last < 0 ? last : SAMP_OK;
}

/* Words become one program, patterns one each. */
static int sampi_lazy_read(sampi_lazy *z, sampi_tree *t, const char *const *texts, size_t n, bool patterns)
{
    sampi_node words = SAMPI_NEVER;
    int status = n && !texts ? SAMP_E_NULL : SAMP_OK;
    for (size_t i = 0; i < n && !status; i++)
        if (!texts[i]) status = SAMP_E_NULL;
    for (size_t i = n; i-- > 0 && !status && !patterns;)
        words = sampi_tree_alt(t, sampi_tree_text(t, texts[i], strlen(texts[i])), words);
    if (!status && !patterns && n)
        status = sampi_lazy_program(z, t, words < 0 ? words : sampi_tree_node(t, SAMPI_NODE_GROUP, words, 0, 0),
                                    false);
    for (size_t i = 0; i < n && !status && patterns; i++) {
        samp_grammar_error error;
        sampi_reader r;
        memset(&r, 0, sizeof r);
        r.tree = t;
        r.chars = sampi_trigger_class;
        r.ways = true;
        size_t length = strlen(texts[i]);
        sampi_node node = sampi_regex_read(&r, texts[i], length, &error);
        status = sampi_lazy_program(z, t, node, length && texts[i][0] == '^' && texts[i][length - 1] == '$');
    }
    return status;
}

/* Put an operation into a list, if it waits for a byte, else what it leads to without one. */
static void sampi_lazy_reach(sampi_lazy *z, int32_t *list, int32_t *n, int32_t at, bool begin, bool end)
{
    const sampi_op *ops = (const sampi_op *)z->ops.data;
    int32_t *todo = (int32_t *)z->places.data + 3 * (size_t)z->ops.n, n_todo = 0;
    uint32_t *round = (uint32_t *)todo + z->ops.n;
    for (;;) {
        const sampi_op *op = &ops[at];
        bool on = false;
        if (round[at] != z->round) {
            round[at] = z->round;
            if (op->kind == SAMPI_OP_MATCH) z->found = true;
            if (op->kind == SAMPI_OP_SPLIT) todo[n_todo++] = op->b;
            on = op->kind == SAMPI_OP_SPLIT || op->kind == SAMPI_OP_SAVE || (op->kind == SAMPI_OP_BEGIN && begin) ||
                 (op->kind == SAMPI_OP_END && end);
            if (!on) list[(*n)++] = at;
        }
        if (!on && n_todo == 0) return;
        at = !on ? todo[--n_todo] : op->kind == SAMPI_OP_SPLIT ? op->a : at + 1;
    }
}

/* A match may begin at the text's end. */
static void sampi_lazy_enter(sampi_lazy *z, int32_t *list, int32_t *n, bool begin)
{
    for (int32_t i = 0; i < z->programs.n; i++)
        sampi_lazy_reach(z, list, n, ((const sampi_program *)z->programs.data)[i].first, begin, false);
}

/* To the beginning of a text. */
static void sampi_lazy_reset(sampi_lazy *z)
{
    z->waiting = z->is_lazy;
    z->found = false;
    z->n_live = 0;
    z->round++;
    sampi_lazy_enter(z, (int32_t *)z->places.data, &z->n_live, true);
}

/* Behind n bytes more: is there a match, if the text ends there? What was before can come back (sampi_lazy_undo). */
static bool sampi_lazy_feed(sampi_lazy *z, const uint8_t *bytes, size_t n)
{
    const sampi_op *ops = (const sampi_op *)z->ops.data;
    size_t n_ops = (size_t)z->ops.n;
    int32_t *live = (int32_t *)z->places.data, *next = live + n_ops, n_next = 0;
    for (size_t i = 0; i < n; i++) {
        z->round++;
        n_next = 0;
        for (int32_t k = 0; k < z->n_live; k++) {
            const sampi_op *op = &ops[live[k]];
            if (op->kind == SAMPI_OP_SET ? ((const uint8_t *)z->pool.data)[op->a + bytes[i] / 8] >> bytes[i] % 8 & 1
                                         : op->kind == SAMPI_OP_BYTE && op->a == bytes[i])
                sampi_lazy_reach(z, next, &n_next, live[k] + 1, false, false);
        }
        sampi_lazy_enter(z, next, &n_next, false);
        z->n_live = n_next;
        if (n_next) memcpy(live, next, (size_t)n_next * sizeof *live);
    }
    bool inside = z->found; /* what only matches at an end is not there any more behind the next byte */
    z->round++;
    n_next = 0;
    for (int32_t k = 0; k < z->n_live; k++)
        if (ops[live[k]].kind == SAMPI_OP_END) sampi_lazy_reach(z, next, &n_next, live[k] + 1, false, true);
    bool found = z->found;
    z->found = inside;
    return found;
}

/* Keep what there is before a token, and take it back. */
static void sampi_lazy_keep(sampi_lazy *z, int32_t *n, bool *found)
{
    *n = z->n_live;
    *found = z->found;
    if (*n) memcpy((int32_t *)z->places.data + 2 * (size_t)z->ops.n, z->places.data, (size_t)*n * sizeof(int32_t));
}
static void sampi_lazy_undo(sampi_lazy *z, int32_t n, bool found)
{
    z->n_live = n;
    z->found = found;
    if (n) memcpy(z->places.data, (int32_t *)z->places.data + 2 * (size_t)z->ops.n, (size_t)n * sizeof(int32_t));
}

/* An array of its own for each: clones. */
static void sampi_lazy_free(sampi_lazy *z)
{
    sampi_vec *vec[] = { &z->ops, &z->pool, &z->programs, &z->tokens, &z->places };
    for (size_t i = 0; i < sizeof vec / sizeof *vec; i++) sampi_vec_free(vec[i]);
}

/* Triggers made of texts [n_texts] and tokens [n]. *field: which of them is wrong. */
static int sampi_lazy_init(sampi_lazy *z, const char *const *texts, size_t n_texts, bool patterns,
                           const samp_token *tokens, size_t n, int32_t n_vocab, const char **field)
{
    sampi_tree tree;
    int status = sampi_tree_init(&tree);
    *field = patterns ? "trigger_patterns" : "trigger_words";
    if (!status) status = sampi_lazy_read(z, &tree, texts, n_texts, patterns);
    z->pool = tree.pool;
    memset(&tree.pool, 0, sizeof tree.pool);
    sampi_tree_free(&tree);
    if (status) return status;
    int32_t *places = z->ops.n ? (int32_t *)sampi_vec_add(&z->places, sizeof *places, 5 * z->ops.n) : NULL;
    if (z->ops.n && !places) return SAMP_E_NOMEM;
    if (places) memset(places, 0, 5 * (size_t)z->ops.n * sizeof *places);
    *field = "trigger_tokens";
    for (size_t i = 0; i < n; i++) {
        if (!tokens) return SAMP_E_NULL;
        if (tokens[i] < 0 || tokens[i] >= n_vocab) return SAMP_E_RANGE;
        samp_token *token = (samp_token *)sampi_vec_add(&z->tokens, sizeof *token, 1);
        if (!token) return SAMP_E_NOMEM;
        *token = tokens[i];
    }
    z->is_lazy = true;
    return SAMP_OK;
}

/* ---- the matcher ----
   Where a text is in a grammar. A position is a set of items: a state, and a frame to go back to when it is done.

     state    a node, with what can be done next from it: the state behind each byte (made when first asked for, as the
              derivative of the node by that byte: what may follow it), whether it may end here, which rules it may
              call. What is regular is one state, never more: a lazy DFA
     frame    a call of a rule at one place of the text, with all that wait for it (edges: the node to go on with, and
              the frame in which). Calls of a rule from one place share a frame, so ambiguity and left recursion cost
              no more than their sets: an Earley parser, whose items are DFA states. Frame 0 is the outermost; what a
              call has nothing left to do behind it shares its caller's frame, so right recursion keeps no frames

   The mask of a position is the union over its items. What an item's state allows without leaving its frame is found by
   one walk over the tries, and kept: an entry, with the tokens that are allowed, and the places in the tries where the
   frame ended before the token did. Behind these places it depends on who waits for the frame: an entry again, of the
   state to go on with at the places of the first entry. So a mask is a few sets of bits joined, once its entries are
   there.

   MEMORY. All arrays only grow, within the limits (samp_set_grammar_limits); numbers stay valid. Between two tokens,
   frames that nobody can return to are dropped, and if the limit is reached, all states and entries, which come back
   when they are needed. Nodes of the grammar itself are the first in the matcher's tree, and stay. */

enum {
    SAMPI_STATE_ENDS = 1,  /* its node matches the empty text */
    SAMPI_STATE_CALLS = 2, /* it has calls */
    SAMPI_STATE_TOKENS = 4 /* and some of them are tokens */
};

typedef struct sampi_lex {
    sampi_node node;
    int32_t flags, calls, n_calls; /* calls: the first of them */
    int32_t reach[3]; /* -1: not known yet. [keep]: sampi_plain_reach; [2]: is it any one character? sampi_counted */
} sampi_lex;

/* Go on with `then` behind a rule; or, with rule -1, behind a token (negated: any other one). If the rule is a list's
   member i (-1: it is none), `then` still begins with the list before it: sampi_list_behind. */
typedef struct sampi_call {
    int32_t rule;
    samp_token token;
    bool negated;
    sampi_node then;
    int32_t member;
} sampi_call;

typedef struct sampi_frame {
    int32_t rule, edge; /* edge: the first, or -1 */
} sampi_frame;
typedef struct sampi_edge {
    sampi_node then;
    int32_t member, frame, next; /* member: as in a call */
} sampi_edge;
typedef struct sampi_item {
    int32_t state, frame;
} sampi_item;

/* parent: 0 and 1: the root of both tries, 2 e + 2 and 2 e + 3: the places of entry e; the odd ones keep places of
   their own, the even ones are of the outermost frame, behind which nothing can follow. */
typedef struct sampi_entry {
    int32_t parent, state;
    uint32_t *bits;          /* a whole mask, or NULL: */
    int32_t token, n_tokens; /* in the matcher's array */
    int32_t place, n_places;
} sampi_entry;

/* A set of pairs, emptied by counting up. */
typedef struct sampi_pairs {
    sampi_vec slots; /* of 2^k times { round, a, b } */
    int32_t n, round;
} sampi_pairs;

/* A level of a walk: what there was when the node was done. */
typedef struct sampi_level {
    int32_t items, frames, edges;
} sampi_level;

typedef struct sampi_memo {
    sampi_node node, result;
    int32_t byte;
} sampi_memo;

#define SAMPI_MEMO 4096 /* derivatives that are remembered */

typedef struct sampi_matcher {
    const samp_vocab_index *index;
    const samp_grammar *grammar;
    sampi_tree tree;       /* a copy of the grammar's, which grows */
    sampi_vec work;        /* sampi_node: a stack, of sampi_derive and others */
    sampi_vec states;      /* sampi_lex; 0 is dead */
    sampi_vec next;        /* int32_t [states x classes] the state behind each class of bytes, -1: not known yet */
    sampi_vec calls;       /* sampi_call */
    sampi_vec items;       /* sampi_item; the first n_now are where the text is */
    sampi_vec frames;      /* sampi_frame */
    sampi_vec edges;       /* sampi_edge */
    sampi_vec entries;     /* sampi_entry */
    sampi_vec entry_slots; /* int32_t, -1 = free */
    sampi_vec tokens, places;
    sampi_vec history; /* samp_token: what has been accepted */
    sampi_vec past;    /* sampi_item: those of the places before the last tokens, one place behind the other, */
    sampi_vec past_n;  /* int32_t: and how many of each (sampi_place_size) */
    int32_t depth;     /* at least so many tokens have a place, if there were so many */
    sampi_lazy lazy;   /* while it waits, the items stand where they begin, and allow everything */
    sampi_pairs seen, joined;
    int32_t *rule_frame; /* [rules] the frame of a rule's call, if it is one of this step */
    sampi_memo *memo;    /* [SAMPI_MEMO] */
    sampi_level *level;  /* [SAMPI_MAX_PIECE + 1] */
    uint32_t *bits;      /* a mask, for apply */
    int32_t n_now, base; /* base: frames from there on are of the step under way */
    int32_t live;        /* frames that were left when they were last looked through */
    int32_t in_vain;     /* steps that sampi_takes_plain took before it gave up */
    bool ended;          /* the step under way has an item that ends the outermost frame */
    int status;          /* what went wrong in the call under way */
    int64_t budget;      /* steps that it may still take */
    size_t max_bytes;
    int64_t max_steps;
    size_t n_bits;                /* bytes of all entries' bits */
    struct sampi_matcher *behind; /* the next one of a samp_state_load under way */
} sampi_matcher;

static sampi_lex *sampi_lex_at(const sampi_matcher *m, int32_t s) { return (sampi_lex *)m->states.data + s; }
static sampi_item *sampi_item_at(const sampi_matcher *m, int32_t i) { return (sampi_item *)m->items.data + i; }
static sampi_frame *sampi_frame_at(const sampi_matcher *m, int32_t i) { return (sampi_frame *)m->frames.data + i; }
static sampi_edge *sampi_edge_at(const sampi_matcher *m, int32_t i) { return (sampi_edge *)m->edges.data + i; }
static sampi_entry *sampi_entry_at(const sampi_matcher *m, int32_t i) { return (sampi_entry *)m->entries.data + i; }

/* The first thing that goes wrong is what the call under way returns; until then it goes on with what can't match. */
static void sampi_fault(sampi_matcher *m, int status)
{
    if (!m->status) m->status = status;
}
static sampi_node sampi_sound(sampi_matcher *m, sampi_node n)
{
    if (n >= 0) return n;
    sampi_fault(m, n == SAMP_E_NOMEM ? (int)SAMP_E_NOMEM : (int)SAMP_E_FULL);
    return SAMPI_NEVER;
}
static void *sampi_more(sampi_matcher *m, sampi_vec *vec, size_t width, int32_t n)
{
    void *room = sampi_vec_add(vec, width, n);
    if (!room) sampi_fault(m, SAMP_E_NOMEM);
    return room;
}

static size_t sampi_matcher_bytes(const sampi_matcher *m);

/* One step of work; false if there have been too many, or if they have made too much. */
static bool sampi_step(sampi_matcher *m)
{
    if (--m->budget < 0 || ((m->budget & 1023) == 0 && sampi_matcher_bytes(m) > 2 * m->max_bytes))
        sampi_fault(m, SAMP_E_FULL);
    return !m->status;
}

static void sampi_pairs_clear(sampi_pairs *p)
{
    p->n = 0;
    p->round++;
}

/* Put a pair in. Is it new? (If there is no memory it is not, and the fault is told.) */
static bool sampi_pairs_add(sampi_matcher *m, sampi_pairs *p, int32_t a, int32_t b)
{
    if (3 * (2 * p->n + 2) > p->slots.n) { /* twice the room, and all of this round again */
        sampi_vec old = p->slots;
        memset(&p->slots, 0, sizeof p->slots);
        if (!sampi_more(m, &p->slots, 4, old.n ? 2 * old.n : 3 * 64)) {
            p->slots = old;
            return false;
        }
        memset(p->slots.data, 0, (size_t)p->slots.n * 4);
        p->n = 0;
        for (int32_t i = 0; i < old.n; i += 3) {
            const int32_t *s = (const int32_t *)old.data + i;
            if (s[0] == p->round) sampi_pairs_add(m, p, s[1], s[2]);
        }
        sampi_vec_free(&old);
    }
    uint32_t mask = (uint32_t)p->slots.n / 3 - 1, i = ((uint32_t)a * 0x9E3779B1u ^ (uint32_t)b * 0x85EBCA77u);
    for (i = (i ^ i >> 15) & mask;; i = (i + 1) & mask) {
        int32_t *s = (int32_t *)p->slots.data + 3 * (size_t)i;
        if (s[0] != p->round) {
            s[0] = p->round;
            s[1] = a;
            s[2] = b;
            p->n++;
            return true;
        }
        if (s[1] == a && s[2] == b) return false;
    }
}

/* ---- derivatives: what may follow a byte ----
   Sequences are made to lean to the right and alternatives are sorted, so that the same set of texts nearly always is
   the same node, and the states stay few. All that this part needs of a matcher is its tree, work, memo and limits, so
   the reader of schemas uses it too (sampi_schema_matches). */

static sampi_node sampi_work_pop(sampi_matcher *m) { return ((sampi_node *)m->work.data)[--m->work.n]; }
static void sampi_work_push(sampi_matcher *m, sampi_node n)
{
    sampi_node *at = (sampi_node *)sampi_more(m, &m->work, sizeof *at, 1);
    if (at) *at = n;
}

/* Rules that are not called stand for their bodies. */
static sampi_node sampi_through(const sampi_matcher *m, sampi_node n)
{
    while (sampi_is_inline(&m->tree, sampi_at(&m->tree, n)))
        n = sampi_rule_at(&m->tree, sampi_at(&m->tree, n)->a)->body;
    return n;
}

/* a, then b, leaning to the right however a leans. */
static sampi_node sampi_join(sampi_matcher *m, sampi_node a, sampi_node b)
{
    if (sampi_at(&m->tree, a)->kind != SAMPI_NODE_SEQ) return sampi_sound(m, sampi_tree_seq(&m->tree, a, b));
    int32_t first = m->work.n;
    sampi_work_push(m, a);
    while (m->work.n > first && sampi_step(m)) { /* the last leaf comes first */
        sampi_node n = sampi_work_pop(m);
        const sampi_expr *e = sampi_at(&m->tree, n);
        if (e->kind == SAMPI_NODE_SEQ) {
            sampi_node left = e->a, right = e->b;
            sampi_work_push(m, left);
            sampi_work_push(m, right);
        } else {
            b = sampi_sound(m, sampi_tree_seq(&m->tree, n, b));
        }
    }
    m->work.n = first;
    return b;
}

static void sampi_sort_nodes(sampi_node *n, int32_t count)
{
    for (int32_t gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int32_t i = gap; i < count; i++) {
            sampi_node x = n[i];
            int32_t j = i;
            for (; j >= gap && n[j - gap] > x; j -= gap) n[j] = n[j - gap];
            n[j] = x;
        }
}

/* The alternatives on the stack from `first` on as one node; they are used up. */
static sampi_node sampi_unite(sampi_matcher *m, int32_t first)
{
    sampi_node *n = (sampi_node *)sampi_vec_at(&m->work, sizeof *n, first), all = SAMPI_NEVER;
    int32_t count = m->work.n - first;
    m->work.n = first;
    if (m->status) return SAMPI_NEVER;
    sampi_sort_nodes(n, count);
    for (int32_t i = count - 1; i >= 0; i--) /* equal ones are neighbours */
        if (i == count - 1 || n[i] != n[i + 1]) all = sampi_sound(m, sampi_tree_alt(&m->tree, n[i], all));
    return all;
}

/* Push a node's alternatives. */
static void sampi_offer(sampi_matcher *m, sampi_node n)
{
    for (; sampi_at(&m->tree, n)->kind == SAMPI_NODE_ALT; n = sampi_at(&m->tree, n)->b)
        sampi_work_push(m, sampi_at(&m->tree, n)->a);
    if (n != SAMPI_NEVER) sampi_work_push(m, n);
}

/* `seen` with one more member of a list of n. */
static sampi_node sampi_seen_with(sampi_matcher *m, sampi_node seen, int32_t n, int32_t member)
{
    int32_t at = m->tree.pool.n, status;
    size_t n_bytes = (size_t)(n + 7) / 8;
    uint8_t *bytes = sampi_tree_pool_room(&m->tree, n_bytes, &status);
    if (!bytes) return sampi_sound(m, status);
    if (seen == SAMPI_EMPTY)
        memset(bytes, 0, n_bytes);
    else
        memcpy(bytes, sampi_bytes_at(&m->tree, sampi_at(&m->tree, seen)->a), n_bytes);
    bytes[member / 8] |= (uint8_t)(1u << member % 8);
    return sampi_sound(m, sampi_tree_pool_end(&m->tree, SAMPI_NODE_SEEN, at));
}

/* A list before a member, as its node has it. */
typedef struct sampi_opening {
    sampi_list list;
    const sampi_member *member; /* [list.n], until the tree grows */
    sampi_node seen;
    int32_t count;         /* members that there were */
    int32_t missing, left; /* of those that were not: how many must come, how many may */
} sampi_opening;

static sampi_opening sampi_opening_of(const sampi_tree *t, const sampi_expr *e)
{
    sampi_opening p;
    p.list = *((const sampi_list *)t->lists.data + e->a);
    p.member = (const sampi_member *)sampi_vec_at(&t->members, sizeof *p.member, p.list.first);
    p.seen = e->b;
    p.count = e->c / 2;
    p.missing = p.left = 0;
    for (int32_t i = 0; i < p.list.n; i++) {
        bool was = sampi_has_seen(t, p.seen, i);
        p.missing += !was && p.member[i].required;
        p.left += !was;
    }
    return p;
}

/* The rule to call for member i of the list (i = n: for any other one), if it may come next, so that there is room left
   for all that must still come; or NEVER. */
static sampi_node sampi_opening_takes(const sampi_tree *t, const sampi_opening *p, int32_t i)
{
    const int64_t room = (int64_t)p->list.most - p->count - 1;
    if (room < 0) return SAMPI_NEVER;
    if (i == p->list.n) return p->missing <= room ? p->list.other : (sampi_node)SAMPI_NEVER;
    if (sampi_has_seen(t, p->seen, i) || p->missing - p->member[i].required > room) return SAMPI_NEVER;
    if (p->list.other == SAMPI_NEVER && p->count + p->left < p->list.least) return SAMPI_NEVER;
    return p->member[i].node;
}

/* What follows in a list, behind a member: the separator, and one more. NEVER: there can be none, or it is not behind a
   member. */
static sampi_node sampi_list_more(sampi_matcher *m, sampi_node n)
{
    const sampi_expr e = *sampi_at(&m->tree, n);
    if (e.c == 0 || (e.c & 1)) return SAMPI_NEVER;
    const sampi_opening p = sampi_opening_of(&m->tree, &e);
    for (int32_t i = 0; i <= p.list.n && sampi_step(m); i++)
        if (sampi_opening_takes(&m->tree, &p, i) != SAMPI_NEVER)
            return sampi_join(m, p.list.separator,
                              sampi_sound(m, sampi_tree_node(&m->tree, SAMPI_NODE_MEMBERS, e.a, e.b, e.c | 1)));
    return SAMPI_NEVER;
}

/* What follows behind member i of the list that `then` begins with. Members are counted up to where the number no
   longer matters. */
static sampi_node sampi_list_behind(sampi_matcher *m, sampi_node then, int32_t i)
{
    const bool alone = sampi_at(&m->tree, then)->kind == SAMPI_NODE_MEMBERS;
    const sampi_expr seq = *sampi_at(&m->tree, then), e = alone ? seq : *sampi_at(&m->tree, seq.a);
    const sampi_list list = *((const sampi_list *)m->tree.lists.data + e.a);
    int32_t count = e.c / 2, most = list.most < INT32_MAX ? list.most : list.least > 1 ? list.least : 1;
    sampi_node seen = i < list.n ? sampi_seen_with(m, e.b, list.n, i) : e.b;
    sampi_node behind = sampi_sound(
        m, sampi_tree_node(&m->tree, SAMPI_NODE_MEMBERS, e.a, seen, 2 * (count < most ? count + 1 : most)));
    return alone ? behind : sampi_join(m, behind, seq.b);
}

/* What is left of a repetition after one of its turns. */
static sampi_node sampi_repeat_rest(sampi_matcher *m, const sampi_expr *e)
{
    bool empty = sampi_at(&m->tree, e->a)->known & SAMPI_KNOWN_EMPTY; /* then no turn is needed */
    int32_t least = e->b == 0 || empty ? 0 : e->b - 1;
    return sampi_sound(m, sampi_tree_repeat(&m->tree, e->a, least, e->c < 0 ? -1 : e->c - 1));
}

static sampi_node sampi_derive(sampi_matcher *m, sampi_node n, int32_t byte);

/* Push the alternatives of what may follow the byte in n. */
static void sampi_follow(sampi_matcher *m, sampi_node n, int32_t byte)
{
    while (sampi_step(m)) {
        n = sampi_through(m, n);
        const sampi_expr e = *sampi_at(&m->tree, n);
        switch (e.kind) {
            case SAMPI_NODE_TEXT:
                if (*sampi_bytes_at(&m->tree, e.a) == byte)
                    sampi_offer(m, e.b == 1 ? SAMPI_EMPTY
                                            : sampi_sound(m, sampi_tree_node(&m->tree, SAMPI_NODE_TEXT, e.a + 1,
                                                                             e.b - 1, 0)));
                return;
            case SAMPI_NODE_SET:
                if (sampi_bytes_at(&m->tree, e.a)[byte / 8] >> byte % 8 & 1) sampi_offer(m, SAMPI_EMPTY);
                return;
            case SAMPI_NODE_SEQ: {
                sampi_node a = sampi_through(m, e.a);
                if (sampi_at(&m->tree, a)->kind == SAMPI_NODE_SEQ) {
                    n = sampi_join(m, a, e.b);
                    continue;
                }
                sampi_offer(m, sampi_join(m, sampi_derive(m, a, byte), e.b));
                if (!(sampi_at(&m->tree, a)->known & SAMPI_KNOWN_EMPTY)) return;
                n = e.b;
                continue;
            }
            case SAMPI_NODE_ALT:
                sampi_offer(m, sampi_derive(m, e.a, byte));
                n = e.b;
                continue;
            case SAMPI_NODE_REPEAT:
                sampi_offer(m, sampi_join(m, sampi_derive(m, e.a, byte), sampi_repeat_rest(m, &e)));
                return;
            case SAMPI_NODE_AND: {
                sampi_node a = sampi_derive(m, e.a, byte);
                sampi_offer(m, a == SAMPI_NEVER
                                   ? a
                                   : sampi_sound(m, sampi_tree_and(&m->tree, a, sampi_derive(m, e.b, byte))));
                return;
            }
            case SAMPI_NODE_NOT:
                sampi_offer(
                    m, sampi_sound(m, sampi_tree_node(&m->tree, SAMPI_NODE_NOT, sampi_derive(m, e.a, byte), 0, 0)));
                return;
            case SAMPI_NODE_MEMBERS: n = sampi_list_more(m, n); continue; /* members are called */
            default: return; /* NEVER, EMPTY; a token or a call begins with no byte of its own */
        }
    }
}

/* What may follow a byte in n, as a node. Without the memo, an expression that refers to a rule twice, which refers to
   another one twice, and so on, would take forever. */
static sampi_node sampi_derive(sampi_matcher *m, sampi_node n, int32_t byte)
{
    sampi_memo *memo = &m->memo[((uint32_t)n * 0x9E3779B1u ^ (uint32_t)byte * 0x85EBCA77u) >> 7 & (SAMPI_MEMO - 1)];
    if (memo->node == n && memo->byte == byte) return memo->result;
    int32_t first = m->work.n;
    sampi_follow(m, n, byte);
    sampi_node result = sampi_unite(m, first);
    if (m->status) return SAMPI_NEVER;
    memo->node = n;
    memo->byte = byte;
    memo->result = result;
    return result;
}

/* Is there a text that n, regular and with an AND in it, matches? Looks for a derivative that matches the empty text;
   the way to it is alive, and if there is none, all that were looked at are dead. */
static bool sampi_search(sampi_matcher *m, sampi_node start)
{
    int32_t first = m->work.n;
    bool found = false;
    sampi_work_push(m, start);
    sampi_work_push(m, -1);
    sampi_at(&m->tree, start)->known |= SAMPI_KNOWN_QUEUED;
    for (int32_t at = first; at < m->work.n && !found && !m->status; at += 2) {
        sampi_node n = ((sampi_node *)m->work.data)[at];
        for (int32_t c = 0; c < m->grammar->n_classes && !found && !m->status; c++) {
            sampi_node d = sampi_derive(m, n, m->grammar->byte_of[c]);
            uint8_t known = sampi_at(&m->tree, d)->known;
            if (d == SAMPI_NEVER || (known & (SAMPI_KNOWN_DEAD | SAMPI_KNOWN_QUEUED))) continue;
            found = (known & (SAMPI_KNOWN_EMPTY | SAMPI_KNOWN_ALIVE)) || !(known & SAMPI_KNOWN_AND);
            sampi_at(&m->tree, d)->known |= SAMPI_KNOWN_QUEUED;
            sampi_work_push(m, d);
            sampi_work_push(m, at);
        }
    }
    if (found && !m->status) /* the last one, and those it was reached by */
        for (int32_t at = m->work.n - 2; at >= first;) {
            const sampi_node *pair = (const sampi_node *)m->work.data + at;
            sampi_at(&m->tree, pair[0])->known |= SAMPI_KNOWN_ALIVE;
            at = pair[1];
        }
    for (int32_t at = first; at < m->work.n; at += 2) {
        sampi_expr *e = sampi_at(&m->tree, ((sampi_node *)m->work.data)[at]);
        e->known &= (uint8_t)~SAMPI_KNOWN_QUEUED;
        if (!found && !m->status) e->known |= SAMPI_KNOWN_DEAD;
    }
    m->work.n = first;
    return found;
}

/* Can n match at all? Only an AND may be unable to without being NEVER. */
static bool sampi_alive(sampi_matcher *m, sampi_node n)
{
    for (;;) {
        n = sampi_through(m, n);
        const sampi_expr e = *sampi_at(&m->tree, n);
        if (n == SAMPI_NEVER || (e.known & SAMPI_KNOWN_DEAD)) return false;
        if (!(e.known & SAMPI_KNOWN_AND) || (e.known & (SAMPI_KNOWN_ALIVE | SAMPI_KNOWN_EMPTY))) return true;
        if (e.kind == SAMPI_NODE_SEQ) {
            sampi_node a = sampi_through(m, e.a);
            bool leans = sampi_at(&m->tree, a)->kind == SAMPI_NODE_SEQ;
            if (!leans && !sampi_alive(m, a)) return false;
            n = leans ? sampi_join(m, a, e.b) : e.b;
        } else if (e.kind == SAMPI_NODE_ALT) {
            if (sampi_alive(m, e.a)) return true;
            n = e.b;
        } else if (e.kind == SAMPI_NODE_REPEAT) {
            n = e.a;
        } else {
            return (e.known & SAMPI_KNOWN_CALLS) || sampi_search(m, n);
        }
    }
}

/* ---- states ---- */

/* Note a call, unless it is one of the last few; first: those of this state. To have one twice is no mistake. */
static void sampi_add_call(sampi_matcher *m, int32_t first, sampi_call call)
{
    if (m->calls.n - first > 16) first = m->calls.n - 16;
    for (int32_t i = first; i < m->calls.n && sampi_step(m); i++) {
        const sampi_call *c = (const sampi_call *)m->calls.data + i;
        if (c->rule == call.rule && c->token == call.token && c->negated == call.negated && c->then == call.then &&
            c->member == call.member)
            return;
    }
    if (!sampi_alive(m, call.then)) return;
    sampi_call *room = (sampi_call *)sampi_more(m, &m->calls, sizeof call, 1);
    if (room) *room = call;
}

/* The calls of a list's members, with `then` behind it. */
static void sampi_find_members(sampi_matcher *m, sampi_node n, sampi_node then)
{
    const sampi_expr e = *sampi_at(&m->tree, n);
    then = sampi_join(m, n, then);
    if (!sampi_alive(m, then)) return;
    const sampi_opening p = sampi_opening_of(&m->tree, &e);
    for (int32_t i = 0; i <= p.list.n && sampi_step(m); i++) {
        sampi_node one = sampi_opening_takes(&m->tree, &p, i);
        if (one == SAMPI_NEVER) continue;
        sampi_call call = { sampi_at(&m->tree, one)->a, -1, false, then, i }, *room;
        room = (sampi_call *)sampi_more(m, &m->calls, sizeof call, 1);
        if (room) *room = call;
    }
}

/* All that may be called at the beginning of n, with `then` behind n. */
static void sampi_find_calls(sampi_matcher *m, int32_t first, sampi_node n, sampi_node then)
{
    while (sampi_step(m)) {
        n = sampi_through(m, n);
        const sampi_expr e = *sampi_at(&m->tree, n);
        sampi_call call = { -1, -1, false, then, -1 };
        if (!(e.known & SAMPI_KNOWN_CALLS)) return;
        switch (e.kind) {
            case SAMPI_NODE_REF:
                call.rule = e.a;
                sampi_add_call(m, first, call);
                return;
            case SAMPI_NODE_TOKEN:
                call.token = e.b & 2 ? sampi_at(&m->tree, e.a)->c : e.a;
                call.negated = e.b & 1;
                sampi_add_call(m, first, call);
                return;
            case SAMPI_NODE_SEQ: {
                sampi_node a = sampi_through(m, e.a);
                if (sampi_at(&m->tree, a)->kind == SAMPI_NODE_SEQ) {
                    n = sampi_join(m, a, e.b);
                    continue;
                }
                sampi_find_calls(m, first, a, sampi_join(m, e.b, then));
                if (!(sampi_at(&m->tree, a)->known & SAMPI_KNOWN_EMPTY)) return;
                n = e.b;
                continue;
            }
            case SAMPI_NODE_ALT:
                sampi_find_calls(m, first, e.a, then);
                n = e.b;
                continue;
            case SAMPI_NODE_REPEAT:
                then = sampi_join(m, sampi_repeat_rest(m, &e), then);
                n = e.a;
                continue;
            case SAMPI_NODE_MEMBERS:
                if (e.c == 0 || (e.c & 1)) {
                    sampi_find_members(m, n, then);
                    return;
                }
                n = sampi_list_more(m, n);
                continue;
            default: return;
        }
    }
}

/* The state of a node; 0 if it can't match. */
static int32_t sampi_state_of(sampi_matcher *m, sampi_node n)
{
    if (n == SAMPI_NEVER || !sampi_alive(m, n)) return 0;
    if (sampi_at(&m->tree, n)->state) return sampi_at(&m->tree, n)->state;
    int32_t first = m->calls.n, n_classes = m->grammar->n_classes;
    sampi_find_calls(m, first, n, SAMPI_EMPTY);
    if (m->status) return 0;
    int32_t *next = (int32_t *)sampi_more(m, &m->next, sizeof *next, n_classes);
    if (!next) return 0;
    memset(next, 0xff, (size_t)n_classes * sizeof *next); /* -1 */
    sampi_lex *s = (sampi_lex *)sampi_more(m, &m->states, sizeof *s, 1);
    if (!s) {
        m->next.n -= n_classes;
        return 0;
    }
    s->node = n;
    s->calls = first;
    s->n_calls = m->calls.n - first;
    s->reach[0] = s->reach[1] = s->reach[2] = -1;
    s->flags = sampi_at(&m->tree, n)->known & SAMPI_KNOWN_EMPTY ? SAMPI_STATE_ENDS : 0;
    if (s->n_calls) s->flags |= SAMPI_STATE_CALLS;
    for (int32_t i = first; i < m->calls.n; i++)
        if (((const sampi_call *)m->calls.data)[i].rule < 0) s->flags |= SAMPI_STATE_TOKENS;
    return sampi_at(&m->tree, n)->state = m->states.n - 1;
}

/* The state behind a byte, which has not been asked for yet. */
static int32_t sampi_make_next(sampi_matcher *m, int32_t state, int32_t class_of_byte)
{
    sampi_node n = sampi_derive(m, sampi_lex_at(m, state)->node, m->grammar->byte_of[class_of_byte]);
    int32_t next = sampi_state_of(m, n);
    if (!m->status)
        ((int32_t *)m->next.data)[(size_t)state * (size_t)m->grammar->n_classes + (size_t)class_of_byte] = next;
    return m->status ? 0 : next;
}

/* The state behind a byte, 0 if there is none. */
static int32_t sampi_next(sampi_matcher *m, int32_t state, uint8_t byte)
{
    int32_t c = m->grammar->class_of[byte];
    int32_t next = ((const int32_t *)m->next.data)[(size_t)state * (size_t)m->grammar->n_classes + (size_t)c];
    return next >= 0 ? next : sampi_make_next(m, state, c);
}

/* ---- items ---- */

static void sampi_push_item(sampi_matcher *m, int32_t state, int32_t frame)
{
    sampi_item *item = (sampi_item *)sampi_more(m, &m->items, sizeof *item, 1);
    if (!item) return;
    item->state = state;
    item->frame = frame;
}

/* One more item of the step under way. */
static void sampi_add_item(sampi_matcher *m, int32_t state, int32_t frame)
{
    if (state && sampi_pairs_add(m, &m->seen, state, frame)) sampi_push_item(m, state, frame);
}

/* Call a rule in a frame: the frame of its call at this place, with one more who waits. */
static void sampi_enter(sampi_matcher *m, sampi_call call, int32_t frame)
{
    const int32_t rule = call.rule, state = sampi_state_of(m, sampi_rule_at(&m->tree, rule)->body);
    int32_t f = m->rule_frame[rule];
    if (call.then == SAMPI_EMPTY) {
        sampi_add_item(m, state, frame);
        return;
    }
    if (f < m->base || f >= m->frames.n || sampi_frame_at(m, f)->rule != rule) {
        sampi_frame *made = (sampi_frame *)sampi_more(m, &m->frames, sizeof *made, 1);
        if (!made) return;
        made->rule = rule;
        made->edge = -1;
        f = m->rule_frame[rule] = m->frames.n - 1;
        sampi_add_item(m, state, f);
    }
    for (int32_t e = sampi_frame_at(m, f)->edge; e >= 0 && sampi_step(m); e = sampi_edge_at(m, e)->next)
        if (sampi_edge_at(m, e)->then == call.then && sampi_edge_at(m, e)->member == call.member &&
            sampi_edge_at(m, e)->frame == frame)
            return;
    sampi_edge *edge = (sampi_edge *)sampi_more(m, &m->edges, sizeof *edge, 1);
    if (!edge) return;
    edge->then = call.then;
    edge->member = call.member;
    edge->frame = frame;
    edge->next = sampi_frame_at(m, f)->edge;
    sampi_frame_at(m, f)->edge = m->edges.n - 1;
}

/* A frame is done: those who wait for it go on. */
static void sampi_return(sampi_matcher *m, int32_t frame)
{
    for (int32_t e = sampi_frame_at(m, frame)->edge; e >= 0 && sampi_step(m); e = sampi_edge_at(m, e)->next) {
        const sampi_edge edge = *sampi_edge_at(m, e);
        sampi_node then = edge.member < 0 ? edge.then : sampi_list_behind(m, edge.then, edge.member);
        sampi_add_item(m, sampi_state_of(m, then), edge.frame);
    }
}

/* Complete the step's items, from number `from` on. A frame of this very step does not return: that its rule matches
   the empty text was counted in when the caller's state was made. */
static void sampi_close(sampi_matcher *m, int32_t from, bool enter)
{
    for (int32_t i = from; i < m->items.n && sampi_step(m); i++) {
        sampi_item item = *sampi_item_at(m, i);
        sampi_lex s = *sampi_lex_at(m, item.state);
        if ((s.flags & SAMPI_STATE_ENDS) && item.frame < m->base) {
            if (item.frame == 0) m->ended = true;
            sampi_return(m, item.frame);
        }
        for (int32_t c = 0; enter && c < s.n_calls; c++) {
            sampi_call call = ((const sampi_call *)m->calls.data)[s.calls + c];
            if (call.rule >= 0) sampi_enter(m, call, item.frame);
        }
    }
}

/* A new step begins. */
static void sampi_begin_step(sampi_matcher *m)
{
    m->base = m->frames.n;
    m->ended = false;
    sampi_pairs_clear(&m->seen);
}

/* One byte: from the items [from, to) to those behind it, which come behind all others. How many? */
static int32_t sampi_advance(sampi_matcher *m, int32_t from, int32_t to, uint8_t byte)
{
    int32_t first = m->items.n;
    sampi_begin_step(m);
    for (int32_t i = from; i < to && sampi_step(m); i++) {
        sampi_item item = *sampi_item_at(m, i);
        sampi_add_item(m, sampi_next(m, item.state, byte), item.frame);
    }
    sampi_close(m, first, true);
    return m->status ? 0 : m->items.n - first;
}

/* How many items, frames and edges there are: what sampi_drop goes back to. */
static sampi_level sampi_mark(const sampi_matcher *m)
{
    sampi_level level = { m->items.n, m->frames.n, m->edges.n };
    return level;
}
static void sampi_drop(sampi_matcher *m, sampi_level level)
{
    m->items.n = level.items;
    m->frames.n = level.frames;
    m->edges.n = level.edges;
}

/* ---- masks ---- */

/* All tokens below a node of the trie that the items [from, to), which stand there, allow: appended to tokens; and,
   with keep, the places where the outermost frame ends and tokens go on. Items and frames are kept for each level of
   the node that is looked at, so going back costs nothing. */
static void sampi_walk(sampi_matcher *m, uint32_t at, int32_t from, int32_t to, bool keep)
{
    const uint32_t *nodes = m->index->nodes;
    const uint32_t end = at + (nodes[2 * (size_t)at + 1] >> 10), top = nodes[2 * (size_t)at + 1] & 1023;
    sampi_level *level = m->level;
    level[0] = sampi_mark(m);
    for (uint32_t i = at + 1; i < end && sampi_step(m);) {
        const uint32_t head = nodes[2 * (size_t)i], size = nodes[2 * (size_t)i + 1] >> 10;
        const uint32_t depth = (nodes[2 * (size_t)i + 1] & 1023) - top;
        const int32_t lo = depth == 1 ? from : level[depth - 2].items, hi = depth == 1 ? to : level[depth - 1].items;
        sampi_drop(m, level[depth - 1]);
        m->ended = false;
        if (hi - lo == 1) { /* the usual case: one item, which only moves on */
            sampi_item item = *sampi_item_at(m, lo);
            int32_t state = sampi_next(m, item.state, (uint8_t)head);
            if (!state) {
                i += size;
                continue;
            }
            if (sampi_lex_at(m, state)->flags)
                sampi_advance(m, lo, hi, (uint8_t)head);
            else
                sampi_push_item(m, state, item.frame);
        } else {
            sampi_advance(m, lo, hi, (uint8_t)head);
        }
        if (m->items.n == level[depth - 1].items) {
            i += size;
            continue;
        }
        level[depth] = sampi_mark(m);
        if (head >> 8 != SAMPI_NO_TOKEN) {
            int32_t *token = (int32_t *)sampi_more(m, &m->tokens, sizeof *token, 1);
            if (token) *token = (int32_t)(head >> 8);
        }
        if (m->ended && keep && size > 1) {
            int32_t *place = (int32_t *)sampi_more(m, &m->places, sizeof *place, 1);
            if (place) *place = (int32_t)i;
        }
        i++;
    }
    sampi_drop(m, level[0]);
}

/* Which byte may follow in plain text, given what UTF-8 expects (0: a character may begin, 1 - 3: so many bytes of any
   tail, 4 - 7: those behind E0 ED F0 F4)? What it expects then, or -1: not this one. */
static int32_t sampi_plain_next(int32_t expects, int32_t b)
{
    static const uint8_t lo[8] = { 0, 0x80, 0x80, 0x80, 0xa0, 0x80, 0x90, 0x80 };
    static const uint8_t hi[8] = { 0, 0xbf, 0xbf, 0xbf, 0xbf, 0x9f, 0xbf, 0x8f };
    static const int8_t behind[8] = { 0, 0, 1, 2, 1, 1, 2, 2 };
    if (expects) return b < lo[expects] || b > hi[expects] ? -1 : behind[expects];
    if (b < 0x20 || b == '"' || b == '\\' || (b >= 0x7f && b < 0xc2) || b > 0xf4) return -1;
    if (b < 0x80) return 0;
    return b == 0xe0 ? 4 : b == 0xed ? 5 : b == 0xf0 ? 6 : b == 0xf4 ? 7 : b < 0xe0 ? 1 : b < 0xf0 ? 2 : 3;
}

/* Does this state, whatever plain text comes, never end its frame (if that matters), call or die? With `one`: may it be
   done behind any one character? Looks at all that can be reached, if it is little: pairs of a state and of what UTF-8
   expects. What is true of a state is then true of all that were reached from it. */
static bool sampi_takes_plain(sampi_matcher *m, int32_t state, bool keep, bool one)
{
    enum { MANY = 192, FEW = 12, PATIENCE = 1 << 18 }; /* to have looked at many in vain is dear */
    const uint8_t *class_of = m->grammar->class_of;
    const int32_t limit = m->in_vain < PATIENCE ? MANY : FEW;
    const int64_t budget = m->budget;
    int32_t pair[MANY][2] = { { state, 0 } }, n = 1;
    for (int32_t i = 0; i < n; i++) {
        int32_t last = -1, last_to = -1;
        for (int32_t b = 0x20; b < 0xf5 && sampi_step(m); b++) {
            int32_t to = sampi_plain_next(pair[i][1], b), k = 0;
            if (to < 0 || (class_of[b] == last && to == last_to)) continue;
            last = class_of[b];
            last_to = to;
            int32_t next = sampi_next(m, pair[i][0], (uint8_t)b);
            const sampi_lex *s = sampi_lex_at(m, next);
            if (!next || (s->flags & SAMPI_STATE_CALLS) || (keep && (s->flags & SAMPI_STATE_ENDS))) return false;
            if (one && to == 0) {
                if (!(s->flags & SAMPI_STATE_ENDS)) return false;
                continue;
            }
            if (to == 0 && s->reach[keep] == INT32_MAX) continue;
            while (k < n && (pair[k][0] != next || pair[k][1] != to)) k++;
            if (k < n) continue;
            if (n == limit || budget - m->budget > PATIENCE / 2) {
                if (limit == MANY) m->in_vain += (int32_t)(budget - m->budget);
                return false;
            }
            pair[n][0] = next;
            pair[n++][1] = to;
        }
    }
    for (int32_t i = 0; i < n && !one && !m->status; i++)
        if (pair[i][1] == 0) sampi_lex_at(m, pair[i][0])->reach[keep] = INT32_MAX;
    return !m->status;
}

/* What a sequence begins with. */
static sampi_node sampi_front(const sampi_matcher *m, sampi_node n)
{
    for (n = sampi_through(m, n); sampi_at(&m->tree, n)->kind == SAMPI_NODE_SEQ;)
        n = sampi_through(m, sampi_at(&m->tree, n)->a);
    return n;
}

/* Is the node so many characters, any of them plain ones, and then a quote or backslash? How many; -1: it isn't, or it
   can't be seen at once. Strings with a length are that, and have too many states to look at. */
static int32_t sampi_counted(sampi_matcher *m, sampi_node n)
{
    const sampi_expr e = *sampi_at(&m->tree, sampi_through(m, n));
    if (e.kind != SAMPI_NODE_SEQ) return -1;
    const sampi_expr repeat = *sampi_at(&m->tree, sampi_through(m, e.a)),
                     rest = *sampi_at(&m->tree, sampi_front(m, e.b));
    if (repeat.kind != SAMPI_NODE_REPEAT || (repeat.known & SAMPI_KNOWN_CALLS)) return -1;
    const uint8_t *bytes = sampi_in_pool(rest.kind) ? sampi_bytes_at(&m->tree, rest.a) : NULL;
    bool stops = rest.kind == SAMPI_NODE_TEXT && (*bytes == '"' || *bytes == '\\');
    if (rest.kind == SAMPI_NODE_SET)
        for (int32_t b = stops = true; b < 256; b++)
            if ((bytes[b / 8] >> b % 8 & 1) && sampi_plain_next(0, b) >= 0) stops = false;
    int32_t state = stops ? sampi_state_of(m, repeat.a) : 0;
    if (!state || m->status) return -1;
    if (sampi_lex_at(m, state)->reach[2] < 0) {
        bool takes = sampi_takes_plain(m, state, false, true);
        sampi_lex_at(m, state)->reach[2] = takes;
    }
    if (!sampi_lex_at(m, state)->reach[2]) return -1;
    return repeat.c < 0 ? INT32_MAX : repeat.c;
}

/* How many bytes of plain text, whatever they are, lead from this state to no end of its frame (if that matters), no
   call, and no dead end? No more than that many; INT32_MAX: any number. */
static int32_t sampi_plain_reach(sampi_matcher *m, int32_t state, bool keep)
{
    int32_t reach = sampi_lex_at(m, state)->reach[keep];
    if (reach >= 0) return reach;
    reach = sampi_counted(m, sampi_lex_at(m, state)->node);
    if (reach < 0) reach = sampi_takes_plain(m, state, keep, false) ? INT32_MAX : 0;
    if (!m->status) sampi_lex_at(m, state)->reach[keep] = reach;
    return reach;
}

/* Take the tokens at node i of the trie and below away. */
static void sampi_clear_below(const sampi_matcher *m, uint32_t i, uint32_t *bits)
{
    const uint32_t *nodes = m->index->nodes + 2 * (size_t)i, *end = nodes + 2 * (size_t)(nodes[1] >> 10);
    for (; nodes < end; nodes += 2) {
        uint32_t token = nodes[0] >> 8;
        if (token != SAMPI_NO_TOKEN) bits[token / 32] &= ~(1u << token % 32);
    }
}

/* As sampi_walk, of the node i of the trie alone, from an item at its parent. */
static void sampi_walk_node(sampi_matcher *m, uint32_t i, sampi_item item, bool keep)
{
    const uint32_t *node = m->index->nodes + 2 * (size_t)i;
    sampi_level level = sampi_mark(m);
    sampi_push_item(m, item.state, item.frame);
    int32_t lo = m->items.n;
    sampi_advance(m, lo - 1, lo, (uint8_t)node[0]);
    if (m->items.n > lo && !m->status) {
        int32_t *token = node[0] >> 8 == SAMPI_NO_TOKEN ? NULL : (int32_t *)sampi_more(m, &m->tokens, 4, 1);
        if (token) *token = (int32_t)(node[0] >> 8);
        int32_t *place = m->ended && keep && node[1] >> 10 > 1 ? (int32_t *)sampi_more(m, &m->places, 4, 1) : NULL;
        if (place) *place = (int32_t)i;
        sampi_walk(m, i, lo, m->items.n, keep);
    }
    sampi_drop(m, level);
}

/* The plain tokens that an item allows, where these are most of them: bits has all, and loses those that are not
   allowed. Only what ends its frame or calls is walked as elsewhere, and adds to tokens and places. */
static void sampi_walk_plain(sampi_matcher *m, sampi_item item, bool keep, uint32_t *bits)
{
    const uint32_t *nodes = m->index->nodes;
    int32_t state[SAMPI_MAX_PIECE + 1];
    int8_t expects[SAMPI_MAX_PIECE + 1];
    state[0] = item.state;
    expects[0] = 0;
    for (uint32_t i = 1; i < m->index->n_plain && sampi_step(m);) {
        const uint32_t size = nodes[2 * (size_t)i + 1] >> 10, depth = nodes[2 * (size_t)i + 1] & 1023;
        const uint8_t byte = (uint8_t)nodes[2 * (size_t)i];
        const int32_t next = sampi_next(m, state[depth - 1], byte), flags = sampi_lex_at(m, next)->flags;
        const bool other = (flags & SAMPI_STATE_CALLS) || (keep && (flags & SAMPI_STATE_ENDS));
        if (!next || other) {
            sampi_clear_below(m, i, bits);
            item.state = state[depth - 1];
            if (next) sampi_walk_node(m, i, item, keep);
            i += size;
            continue;
        }
        state[depth] = next;
        expects[depth] = (int8_t)sampi_plain_next(expects[depth - 1], byte);
        bool all = size == 1 || (expects[depth] == 0 && (uint32_t)sampi_plain_reach(m, next, keep) >= size - 1);
        i += all ? size : 1;
    }
}

/* Is it shorter to say which plain tokens an item does not allow? */
static bool sampi_takes_most(sampi_matcher *m, int32_t state)
{
    int32_t n = 0;
    for (int32_t b = 0x20; b < 0x7f; b++) n += sampi_next(m, state, (uint8_t)b) != 0;
    return n > 80;
}

/* A mask for an entry: all plain tokens, or none. NULL: no memory. */
static uint32_t *sampi_entry_bits(sampi_matcher *m, bool plain)
{
    const size_t size = m->index->n_mask * (size_t)4;
    uint32_t *bits = (uint32_t *)SAMP_MALLOC(size);
    if (!bits) {
        sampi_fault(m, SAMP_E_NOMEM);
        return NULL;
    }
    m->n_bits += size;
    if (plain)
        memcpy(bits, m->index->plain, size);
    else
        memset(bits, 0, size);
    return bits;
}

/* Keep the tokens from number `first` on as the entry's: as a list, or as bits if they are many, or if it has some. */
static void sampi_entry_tokens(sampi_matcher *m, sampi_entry *entry, int32_t first)
{
    const int32_t *token = (const int32_t *)m->tokens.data;
    entry->token = first;
    entry->n_tokens = m->tokens.n - first;
    if (!entry->bits && (size_t)entry->n_tokens < m->index->n_mask / 4 + 8) return;
    if (!entry->bits) entry->bits = sampi_entry_bits(m, false);
    if (!entry->bits) return;
    for (int32_t i = first; i < m->tokens.n; i++) entry->bits[token[i] / 32] |= 1u << token[i] % 32;
    m->tokens.n = first;
    entry->n_tokens = 0;
}

/* Where the entry of a state at a parent's places is, or would be. */
static int32_t *sampi_entry_slot(const sampi_matcher *m, int32_t parent, int32_t state)
{
    uint32_t mask = (uint32_t)m->entry_slots.n - 1,
             i = (uint32_t)parent * 0x9E3779B1u ^ (uint32_t)state * 0x85EBCA77u;
    int32_t *slots = (int32_t *)m->entry_slots.data;
    for (i = (i ^ i >> 15) & mask; slots[i] >= 0; i = (i + 1) & mask)
        if (sampi_entry_at(m, slots[i])->parent == parent && sampi_entry_at(m, slots[i])->state == state) break;
    return &slots[i];
}

/* Room for one more entry. */
static bool sampi_entry_room(sampi_matcher *m)
{
    if (2 * (m->entries.n + 1) <= m->entry_slots.n) return true;
    sampi_vec slots;
    memset(&slots, 0, sizeof slots);
    int32_t n = m->entry_slots.n ? 2 * m->entry_slots.n : 64;
    if (!sampi_more(m, &slots, 4, n)) return false;
    memset(slots.data, 0xff, (size_t)n * 4);
    sampi_vec_free(&m->entry_slots);
    m->entry_slots = slots;
    for (int32_t i = 0; i < m->entries.n; i++)
        *sampi_entry_slot(m, sampi_entry_at(m, i)->parent, sampi_entry_at(m, i)->state) = i;
    return true;
}

/* Fill an entry by its walks. Of the root only the state's own bytes count, since what it calls is an item of its own
   there; behind places nobody else has called it yet. */
static void sampi_entry_fill(sampi_matcher *m, sampi_entry *entry)
{
    sampi_level level = sampi_mark(m);
    const bool keep = entry->parent & 1;
    int32_t first = m->tokens.n;
    entry->place = m->places.n;
    sampi_begin_step(m);
    sampi_add_item(m, entry->state, 0);
    if (entry->parent >= 2) sampi_close(m, level.items, true);
    int32_t to = m->items.n;
    if (entry->parent < 2) {
        const sampi_item item = { entry->state, 0 };
        if (sampi_takes_most(m, entry->state)) entry->bits = sampi_entry_bits(m, true);
        if (!entry->bits)
            sampi_walk(m, 0, level.items, to, keep);
        else if (sampi_plain_reach(m, entry->state, keep) < SAMPI_MAX_PIECE)
            sampi_walk_plain(m, item, keep, entry->bits);
        sampi_walk(m, m->index->n_plain, level.items, to, keep);
    } else {
        sampi_entry parent = *sampi_entry_at(m, entry->parent / 2 - 1);
        for (int32_t i = 0; i < parent.n_places && !m->status; i++)
            sampi_walk(m, ((const uint32_t *)m->places.data)[parent.place + i], level.items, to, keep);
    }
    sampi_drop(m, level);
    entry->n_places = m->places.n - entry->place;
    if (!m->status) sampi_entry_tokens(m, entry, first);
    if (m->status) {
        m->tokens.n = first;
        m->places.n = entry->place;
    }
}

/* The entry of a state at a parent's places, made if it is not there. Its number, or -1 and the fault is told. */
static int32_t sampi_entry_of(sampi_matcher *m, int32_t parent, int32_t state)
{
    if (!sampi_entry_room(m)) return -1;
    int32_t at = *sampi_entry_slot(m, parent, state);
    if (at >= 0) return at;
    sampi_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.parent = parent;
    entry.state = state;
    sampi_entry_fill(m, &entry);
    sampi_entry *room = m->status ? NULL : (sampi_entry *)sampi_more(m, &m->entries, sizeof entry, 1);
    if (!room) {
        SAMP_FREE(entry.bits);
        return -1;
    }
    *room = entry;
    return *sampi_entry_slot(m, parent, state) = m->entries.n - 1;
}

/* The union of an entry, and of what can follow at its places in the frames that wait for `frame`. */
static void sampi_mask_entry(sampi_matcher *m, int32_t parent, int32_t state, int32_t frame, uint32_t *bits)
{
    int32_t at = sampi_step(m) ? sampi_entry_of(m, parent, state) : -1;
    if (at < 0 || !sampi_pairs_add(m, &m->joined, at, frame)) return;
    const sampi_entry entry = *sampi_entry_at(m, at);
    const int32_t *token = (const int32_t *)sampi_vec_at(&m->tokens, sizeof *token, entry.token);
    for (size_t i = 0; entry.bits && i < m->index->n_mask; i++) bits[i] |= entry.bits[i];
    m->budget -= entry.n_tokens / 8;
    for (int32_t i = 0; i < entry.n_tokens; i++) bits[token[i] / 32] |= 1u << token[i] % 32;
    if (entry.n_places == 0) return;
    sampi_level level = sampi_mark(m);
    sampi_begin_step(m);
    sampi_return(m, frame);
    sampi_close(m, level.items, false);
    int32_t to = m->items.n;
    for (int32_t i = level.items; i < to && !m->status; i++) {
        sampi_item item = *sampi_item_at(m, i);
        sampi_mask_entry(m, 2 * at + 2 + (item.frame != 0), item.state, item.frame, bits);
    }
    sampi_drop(m, level);
}

/* The tokens that are called by name at the text's place. */
static void sampi_mask_tokens(sampi_matcher *m, const sampi_lex *s, uint32_t *bits)
{
    const samp_vocab_index *index = m->index;
    for (int32_t c = 0; c < s->n_calls; c++) {
        const sampi_call *call = (const sampi_call *)m->calls.data + s->calls + c;
        if (call->rule >= 0) continue;
        const uint32_t id = (uint32_t)call->token, word = id / 32, bit = 1u << id % 32;
        if (!call->negated) {
            if (id < index->n_vocab && !sampi_is_eog(index->vocab, call->token)) bits[word] |= bit;
            continue;
        }
        for (uint32_t i = 0; i < index->n_mask; i++) bits[i] |= index->all[i] & (i == word ? ~bit : ~0u);
    }
}

static bool sampi_matcher_ends(const sampi_matcher *m)
{
    for (int32_t i = 0; i < m->n_now; i++)
        if (sampi_item_at(m, i)->frame == 0 &&
            (sampi_lex_at(m, sampi_item_at(m, i)->state)->flags & SAMPI_STATE_ENDS))
            return true;
    return false;
}

/* By entries: the union over the items. */
static void sampi_mask_items(sampi_matcher *m, uint32_t *bits)
{
    sampi_pairs_clear(&m->joined);
    for (int32_t i = 0; i < m->n_now && !m->status; i++) {
        sampi_item item = *sampi_item_at(m, i);
        sampi_mask_entry(m, item.frame != 0, item.state, item.frame, bits);
    }
}

/* By one walk of all items at once, in their own frames. Nothing of it is kept, but where a grammar is so ambiguous
   that the ways back through its frames are too many to have entries each, it is the shorter way. */
static void sampi_mask_walk(sampi_matcher *m, uint32_t *bits)
{
    int32_t first = m->tokens.n;
    sampi_walk(m, 0, 0, m->n_now, false);
    sampi_walk(m, m->index->n_plain, 0, m->n_now, false);
    for (int32_t i = first; i < m->tokens.n; i++) {
        int32_t token = ((const int32_t *)m->tokens.data)[i];
        bits[token / 32] |= 1u << token % 32;
    }
    m->tokens.n = first;
}

/* The mask of the text's place. */
static int sampi_matcher_mask(sampi_matcher *m, uint32_t *bits)
{
    const samp_vocab *vocab = m->index->vocab;
    sampi_level here = sampi_mark(m);
    memset(bits, m->lazy.waiting ? 0xff : 0, (size_t)m->index->n_mask * 4);
    if (m->lazy.waiting) {
        if (m->index->n_vocab % 32) bits[m->index->n_mask - 1] >>= 32 - m->index->n_vocab % 32;
        return SAMP_OK;
    }
    m->budget = m->max_steps / 8;
    sampi_mask_items(m, bits);
    if (m->status == SAMP_E_FULL && sampi_matcher_bytes(m) <= m->max_bytes) {
        m->status = SAMP_OK;
        m->budget = m->max_steps;
        m->work.n = 0;
        sampi_drop(m, here);
        sampi_mask_walk(m, bits);
    }
    for (int32_t i = 0; i < m->n_now; i++) {
        sampi_lex s = *sampi_lex_at(m, sampi_item_at(m, i)->state);
        if (s.flags & SAMPI_STATE_TOKENS) sampi_mask_tokens(m, &s, bits);
    }
    for (size_t i = 0; i < vocab->n_eog && sampi_matcher_ends(m); i++)
        if (vocab->eog[i] >= 0 && vocab->eog[i] < vocab->n_vocab)
            bits[vocab->eog[i] / 32] |= 1u << vocab->eog[i] % 32;
    return m->status;
}

/* ---- accepting ---- */

/* Keep the items from `first` on as where the text is. */
static void sampi_settle_items(sampi_matcher *m, int32_t first)
{
    m->n_now = m->items.n - first;
    memmove(m->items.data, sampi_item_at(m, first), (size_t)m->n_now * sizeof(sampi_item));
    m->items.n = m->n_now;
}

/* Behind a token that is called by name. listed: it has a text, and so counts as one that is not another. */
static void sampi_accept_named(sampi_matcher *m, samp_token token, bool listed)
{
    int32_t first = m->items.n;
    sampi_begin_step(m);
    for (int32_t i = 0; i < m->n_now; i++) {
        sampi_item item = *sampi_item_at(m, i);
        sampi_lex s = *sampi_lex_at(m, item.state);
        for (int32_t c = 0; c < s.n_calls && (s.flags & SAMPI_STATE_TOKENS); c++) {
            sampi_call call = ((const sampi_call *)m->calls.data)[s.calls + c];
            if (call.rule < 0 && (call.negated ? call.token != token && listed : call.token == token))
                sampi_add_item(m, sampi_state_of(m, call.then), item.frame);
        }
    }
    sampi_close(m, first, true);
}

/* Bytes [n] behind the items [0, n_now): the first of the items there; the others before them are done with. */
static int32_t sampi_accept_bytes(sampi_matcher *m, const uint8_t *bytes, size_t n)
{
    int32_t from = 0, to = m->n_now;
    for (size_t i = 0; i < n && to > from; i++) {
        int32_t first = m->items.n;
        sampi_advance(m, from, to, bytes[i]);
        from = first;
        to = m->items.n;
    }
    return from;
}

/* Item i of all that must stay good: first those of the text's place, then those of the places that are kept. */
static int32_t sampi_n_held(const sampi_matcher *m) { return m->n_now + m->past.n; }
static sampi_item *sampi_held_at(const sampi_matcher *m, int32_t i)
{
    return i < m->n_now ? sampi_item_at(m, i) : (sampi_item *)m->past.data + (i - m->n_now);
}

/* Frames that an item can get back to stay, in order; the others go. Only between two steps: no frame is looked up by
   its rule then. Without memory all stay. */
static void sampi_sweep_frames(sampi_matcher *m)
{
    int32_t n = m->frames.n, kept = 1, n_edges = 0;
    int32_t *to = (int32_t *)SAMP_MALLOC((size_t)n * sizeof *to); /* first: 1 if it stays; then its new number */
    sampi_edge *edges = (sampi_edge *)SAMP_MALLOC(((size_t)m->edges.n + 1) * sizeof *edges);
    if (to && edges) {
        memset(to, 0, (size_t)n * sizeof *to);
        for (int32_t i = 0; i < sampi_n_held(m); i++) to[sampi_held_at(m, i)->frame] = 1;
        m->work.n = 0; /* frames whose edges are to be followed */
        for (int32_t i = 1; i < n; i++)
            if (to[i]) sampi_work_push(m, i);
        while (m->work.n > 0 && !m->status)
            for (int32_t e = sampi_frame_at(m, sampi_work_pop(m))->edge; e >= 0; e = sampi_edge_at(m, e)->next) {
                int32_t f = sampi_edge_at(m, e)->frame;
                if (f > 0 && !to[f]) {
                    to[f] = 1;
                    sampi_work_push(m, f);
                }
            }
        for (int32_t i = 1; i < n && !m->status; i++)
            if (to[i]) to[i] = kept++;
    }
    if (to && edges && !m->status) {
        to[0] = 0;
        for (int32_t i = 1; i < n; i++) {
            if (!to[i]) continue;
            sampi_frame frame = *sampi_frame_at(m, i);
            int32_t first = n_edges;
            for (int32_t e = frame.edge; e >= 0; e = sampi_edge_at(m, e)->next) {
                edges[n_edges] = *sampi_edge_at(m, e);
                edges[n_edges].frame = to[edges[n_edges].frame];
                edges[n_edges].next = sampi_edge_at(m, e)->next < 0 ? -1 : n_edges + 1;
                n_edges++;
            }
            frame.edge = n_edges > first ? first : -1;
            *sampi_frame_at(m, to[i]) = frame;
        }
        for (int32_t i = 0; i < sampi_n_held(m); i++) sampi_held_at(m, i)->frame = to[sampi_held_at(m, i)->frame];
        if (n_edges) memcpy(m->edges.data, edges, (size_t)n_edges * sizeof *edges);
        m->edges.n = n_edges;
        m->frames.n = m->live = kept;
    }
    SAMP_FREE(to);
    SAMP_FREE(edges);
}

/* A copy of the array; an empty one if there is no memory, and the fault is told. */
static sampi_vec sampi_copy_vec(sampi_matcher *m, const sampi_vec *from, size_t width)
{
    sampi_vec vec;
    memset(&vec, 0, sizeof vec);
    void *room = from->n ? sampi_more(m, &vec, width, from->n) : NULL;
    if (room) memcpy(room, from->data, (size_t)from->n * width);
    return vec;
}

static sampi_tree sampi_copy_tree(sampi_matcher *m, const sampi_tree *from)
{
    sampi_tree t;
    t.nodes = sampi_copy_vec(m, &from->nodes, sizeof(sampi_expr));
    t.pool = sampi_copy_vec(m, &from->pool, 1);
    t.rules = sampi_copy_vec(m, &from->rules, sizeof(sampi_rule));
    t.lists = sampi_copy_vec(m, &from->lists, sizeof(sampi_list));
    t.members = sampi_copy_vec(m, &from->members, sizeof(sampi_member));
    t.slots = sampi_copy_vec(m, &from->slots, sizeof(sampi_node));
    return t;
}

/* Forget the entries. */
static void sampi_drop_entries(sampi_matcher *m)
{
    for (int32_t i = 0; i < m->entries.n; i++) SAMP_FREE(sampi_entry_at(m, i)->bits);
    m->entries.n = m->tokens.n = m->places.n = 0;
    sampi_vec_free(&m->entry_slots);
    m->n_bits = 0;
}

/* Forget the states, but the dead one. */
static void sampi_drop_states(sampi_matcher *m)
{
    m->states.n = m->next.n = m->calls.n = 0;
    memset(m->memo, 0xff, SAMPI_MEMO * sizeof *m->memo);
    sampi_lex *dead = (sampi_lex *)sampi_more(m, &m->states, sizeof *dead, 1);
    int32_t *next = (int32_t *)sampi_more(m, &m->next, sizeof *next, m->grammar->n_classes);
    if (dead) memset(dead, 0, sizeof *dead);
    if (next) memset(next, 0, (size_t)m->grammar->n_classes * sizeof *next);
}

/* Which of a derived node's parts are nodes? Bit 0: a, bit 1: b. */
static int sampi_node_parts(int kind)
{
    if (kind == SAMPI_NODE_SEQ || kind == SAMPI_NODE_ALT || kind == SAMPI_NODE_AND) return 3;
    if (kind == SAMPI_NODE_REPEAT || kind == SAMPI_NODE_NOT) return 1;
    return kind == SAMPI_NODE_MEMBERS ? 2 : 0;
}

/* The nodes of `to` [n] that are kept (1) into `fresh`, in order, so that parts come before what they are part of; then
   to [i] is the new number of node i. Those of the grammar are there. */
static void sampi_move_nodes(sampi_matcher *m, sampi_tree *fresh, int32_t *to, int32_t n)
{
    const int32_t own = m->grammar->tree.nodes.n;
    for (int32_t i = n - 1; i >= own; i--) {
        const sampi_expr *e = sampi_at(&m->tree, i);
        if (to[i] && (sampi_node_parts(e->kind) & 1)) to[e->a] = 1;
        if (to[i] && (sampi_node_parts(e->kind) & 2)) to[e->b] = 1;
    }
    for (int32_t i = 0; i < n; i++) {
        sampi_expr e = *sampi_at(&m->tree, i);
        if (i < own) to[i] = i;
        if (i < own || !to[i]) continue;
        if (sampi_node_parts(e.kind) & 1) e.a = to[e.a];
        if (sampi_node_parts(e.kind) & 2) e.b = to[e.b];
        to[i] = sampi_sound(m, e.kind == SAMPI_NODE_SEEN
                                   ? sampi_tree_pooled(fresh, e.kind, sampi_bytes_at(&m->tree, e.a), (size_t)e.b)
                                   : sampi_tree_node(fresh, e.kind, e.a, e.b, e.c));
    }
}

/* Forget all that can be made again: states, entries, and the nodes that nobody needs. */
static void sampi_sweep_nodes(sampi_matcher *m)
{
    int32_t n = m->tree.nodes.n;
    int32_t *to = (int32_t *)SAMP_MALLOC((size_t)n * sizeof *to);
    sampi_tree fresh = sampi_copy_tree(m, &m->grammar->tree);
    sampi_drop_entries(m);
    if (!to) sampi_fault(m, SAMP_E_NOMEM);
    if (!m->status) {
        memset(to, 0, (size_t)n * sizeof *to);
        for (int32_t i = 0; i < sampi_n_held(m); i++) to[sampi_lex_at(m, sampi_held_at(m, i)->state)->node] = 1;
        for (int32_t i = 0; i < m->edges.n; i++) to[sampi_edge_at(m, i)->then] = 1;
        for (int32_t i = 0; i < m->grammar->tree.nodes.n; i++) sampi_at(&fresh, i)->c = sampi_at(&m->tree, i)->c;
        sampi_move_nodes(m, &fresh, to, n);
    }
    if (m->status) {
        sampi_tree_free(&fresh);
        SAMP_FREE(to);
        return;
    }
    sampi_tree old = m->tree;
    m->tree = fresh;
    for (int32_t i = 0; i < m->edges.n; i++) sampi_edge_at(m, i)->then = to[sampi_edge_at(m, i)->then];
    for (int32_t i = 0; i < sampi_n_held(m); i++)
        sampi_held_at(m, i)->state = to[sampi_lex_at(m, sampi_held_at(m, i)->state)->node];
    sampi_drop_states(m);
    for (int32_t i = 0; i < sampi_n_held(m); i++)
        sampi_held_at(m, i)->state = sampi_state_of(m, sampi_held_at(m, i)->state);
    sampi_tree_free(&old);
    SAMP_FREE(to);
}

/* What grows, in bytes, roughly. */
static size_t sampi_matcher_bytes(const sampi_matcher *m)
{
    return (size_t)m->tree.nodes.n * (sizeof(sampi_expr) + 8) + (size_t)m->states.n * sizeof(sampi_lex) +
           4 * ((size_t)m->next.n + (size_t)m->tokens.n + (size_t)m->places.n) + m->n_bits +
           (size_t)m->calls.n * sizeof(sampi_call) + (size_t)m->edges.n * (sizeof(sampi_edge) + sizeof(sampi_frame)) +
           (size_t)m->entries.n * sizeof(sampi_entry) + (size_t)m->past.n * sizeof(sampi_item) +
           (size_t)m->tree.pool.n;
}

/* Before a call does its work: room for what it will make. */
static int sampi_matcher_begin(sampi_matcher *m)
{
    m->status = SAMP_OK;
    m->budget = m->max_steps;
    m->work.n = 0;
    m->items.n = m->n_now;
    if (m->frames.n > 2 * m->live + 64) sampi_sweep_frames(m);
    if (sampi_matcher_bytes(m) <= m->max_bytes) return m->status;
    sampi_sweep_nodes(m);
    if (sampi_matcher_bytes(m) > m->max_bytes && m->past_n.n) { /* rather go on than be able to go back */
        m->past.n = m->past_n.n = 0;
        sampi_sweep_nodes(m);
    }
    if (sampi_matcher_bytes(m) > m->max_bytes) sampi_fault(m, SAMP_E_FULL);
    return m->status;
}

/* ---- waiting: a lazy grammar before its trigger ---- */

/* One way of backtracking through an expression: an operation to go on with at a place of the text, or, below 0, the
   place that group ~op had before. */
typedef struct sampi_way {
    int32_t op, at;
} sampi_way;

/* The first way in which a program matches text [n] from `at` on, with `whole` up to its end: where its groups are, in
   slots; false: none, or a fault. What led nowhere is marked in `tried` and not tried again, so an operation is done
   once at a place. */
static bool sampi_lazy_match(sampi_matcher *m, int32_t first, const uint8_t *text, int32_t n, int32_t at, bool whole,
                             uint8_t *tried, int32_t *slots)
{
    const sampi_lazy *z = &m->lazy;
    sampi_vec ways;
    memset(&ways, 0, sizeof ways);
    memset(slots, 0xff, 2 * SAMPI_MAX_GROUPS * sizeof *slots);
    bool matched = false;
    for (int32_t at_op = first; !matched && sampi_step(m);) {
        const sampi_op *op = (const sampi_op *)z->ops.data + at_op;
        size_t bit = (size_t)at_op * ((size_t)n + 1) + (size_t)at;
        bool on = !(tried[bit / 8] >> bit % 8 & 1);
        sampi_way later = { op->b, at };
        tried[bit / 8] |= (uint8_t)(1u << bit % 8);
        switch (on ? op->kind : SAMPI_OP_NEVER) {
            case SAMPI_OP_BYTE: on = at < n && text[at++] == op->a; break;
            case SAMPI_OP_SET:
                on = at < n && (((const uint8_t *)z->pool.data)[op->a + text[at] / 8] >> text[at] % 8 & 1);
                at++;
                break;
            case SAMPI_OP_BEGIN: on = at == 0; break;
            case SAMPI_OP_END: on = at == n; break;
            case SAMPI_OP_MATCH: matched = on = !whole || at == n; break;
            case SAMPI_OP_SAVE: later.op = ~op->a, later.at = slots[op->a], slots[op->a] = at; break;
            default: on = on && op->kind == SAMPI_OP_SPLIT; break;
        }
        if (on && (op->kind == SAMPI_OP_SPLIT || op->kind == SAMPI_OP_SAVE)) {
            sampi_way *way = (sampi_way *)sampi_more(m, &ways, sizeof *way, 1);
            if (way) *way = later;
        }
        at_op = on && op->kind == SAMPI_OP_SPLIT ? op->a : at_op + 1;
        while (!on && ways.n > 0) {
            sampi_way way = ((const sampi_way *)ways.data)[--ways.n];
            on = way.op >= 0;
            if (!on) slots[~way.op] = way.at;
            at_op = way.op;
            at = way.at;
        }
        if (!on) break;
    }
    sampi_vec_free(&ways);
    return matched && !m->status;
}

/* Where a program's match begins in text [n], or its first group that is not empty; -1: there is none, or a fault. */
static int32_t sampi_lazy_find(sampi_matcher *m, const sampi_program *p, const uint8_t *text, int32_t n)
{
    int32_t slots[2 * SAMPI_MAX_GROUPS], start = -1;
    size_t n_tried = ((size_t)m->lazy.ops.n * ((size_t)n + 1) + 7) / 8;
    uint8_t *tried = n_tried > m->max_bytes ? NULL : (uint8_t *)SAMP_MALLOC(n_tried);
    if (!tried) sampi_fault(m, n_tried > m->max_bytes ? SAMP_E_FULL : SAMP_E_NOMEM);
    for (int32_t whole = p->whole; whole >= 0 && start < 0 && !m->status; whole--) {
        memset(tried, 0, n_tried);
        for (int32_t at = 0; at <= (whole ? 0 : n) && start < 0 && !m->status; at++)
            if (sampi_lazy_match(m, p->first, text, n, at, whole, tried, slots)) start = at;
    }
    SAMP_FREE(tried);
    for (int32_t i = 0; i < SAMPI_MAX_GROUPS && start >= 0; i++)
        if (slots[2 * i] >= 0 && slots[2 * i + 1] > slots[2 * i]) return slots[2 * i];
    return start;
}

static const uint8_t *sampi_piece(const sampi_matcher *m, int32_t i, size_t *n)
{
    const samp_vocab *vocab = m->index->vocab;
    *n = 0;
    return (const uint8_t *)vocab->token_bytes(vocab, ((const samp_token *)m->history.data)[i], n);
}

/* Where the grammar begins in the text of all tokens so far, or -1. */
static int32_t sampi_lazy_start(sampi_matcher *m)
{
    sampi_vec text;
    size_t n;
    memset(&text, 0, sizeof text);
    for (int32_t i = 0; i < m->history.n && !m->status; i++) {
        const uint8_t *bytes = sampi_piece(m, i, &n);
        void *room = n ? sampi_more(m, &text, 1, (int32_t)n) : NULL;
        if (room) memcpy(room, bytes, n);
    }
    int32_t start = -1;
    for (int32_t i = 0; i < m->lazy.programs.n && start < 0 && !m->status; i++)
        start = sampi_lazy_find(m, (const sampi_program *)m->lazy.programs.data + i, (const uint8_t *)text.data,
                                text.n);
    sampi_vec_free(&text);
    return start;
}

static int32_t sampi_matcher_try(sampi_matcher *m, samp_token token, size_t skip);

/* Read again the tokens from number i on, the first without its first bytes. Does the grammar allow them? */
static bool sampi_replay(sampi_matcher *m, int32_t i, size_t skip)
{
    for (; i < m->history.n && !m->status; i++, skip = 0) {
        int32_t first = sampi_matcher_try(m, ((const samp_token *)m->history.data)[i], skip);
        if (m->items.n <= first) return false;
        sampi_settle_items(m, first);
    }
    return !m->status;
}

/* The same from the text's byte `start` on. */
static bool sampi_replay_text(sampi_matcher *m, int32_t start)
{
    size_t n, before = 0;
    int32_t i = 0;
    for (; i < m->history.n; i++, before += n) {
        sampi_piece(m, i, &n);
        if (before + n > (size_t)start) break;
    }
    return sampi_replay(m, i, (size_t)start > before ? (size_t)start - before : 0);
}

/* ---- places before the last tokens ----
   What a token leads away from is kept, so that samp_rollback can go back: the items, which mean the same as long as
   their states and frames are held (sampi_held_at). */

/* In past_n: the token has left the place as it was, it is an end of generation; from there down: the grammar waited,
   by its items. Else by its items. */
#define SAMPI_PLACE_STAYS (-1)
static int32_t sampi_place_size(int32_t n)
{
    return n < SAMPI_PLACE_STAYS ? SAMPI_PLACE_STAYS - 1 - n : n < 0 ? 0 : n;
}

/* Keep a place, when nothing else can fail any more. The oldest places go, many at once. False: no memory. */
static bool sampi_keep_place(sampi_matcher *m, const void *items, int32_t n)
{
    int32_t *size = (int32_t *)m->past_n.data, cut = 0, gone = 0, n_items = sampi_place_size(n);
    if (m->depth == 0) m->past.n = m->past_n.n = 0;
    if (m->depth == 0) return true;
    if (m->past_n.n >= 2 * m->depth)
        for (; m->past_n.n - cut > m->depth; cut++) gone += sampi_place_size(size[cut]);
    if (cut) {
        m->past_n.n -= cut;
        m->past.n -= gone;
        memmove(size, size + cut, (size_t)m->past_n.n * sizeof *size);
        memmove(m->past.data, (sampi_item *)m->past.data + gone, (size_t)m->past.n * sizeof(sampi_item));
    }
    sampi_item *room = n_items ? (sampi_item *)sampi_more(m, &m->past, sizeof *room, n_items) : NULL;
    size = m->status ? NULL : (int32_t *)sampi_more(m, &m->past_n, sizeof *size, 1);
    if (room && !size) m->past.n -= n_items;
    if (room && size) memcpy(room, items, (size_t)n_items * sizeof *room);
    if (size) *size = n;
    return size != NULL;
}

/* To the place before the last n tokens, which has been kept. A wait begins again, and reads what is left of its text
   once more. Only for want of memory it can fail. */
static int sampi_matcher_back(sampi_matcher *m, int32_t n)
{
    const int32_t *size = (const int32_t *)m->past_n.data;
    int32_t tokens = 0, items = m->past.n, n_now = m->n_now, end = m->past_n.n;
    bool waiting = m->lazy.waiting;
    if (n > end) return SAMP_E_RANGE;
    for (int32_t i = end; i-- > end - n;) {
        if (size[i] == SAMPI_PLACE_STAYS) continue;
        tokens++;
        waiting = size[i] < SAMPI_PLACE_STAYS;
        n_now = sampi_place_size(size[i]);
        items -= n_now;
    }
    m->status = SAMP_OK;
    m->items.n = m->n_now;
    if (n_now > m->n_now) sampi_more(m, &m->items, sizeof(sampi_item), n_now - m->n_now);
    if (m->status) return m->status;
    if (tokens) memcpy(m->items.data, (const sampi_item *)m->past.data + items, (size_t)n_now * sizeof(sampi_item));
    m->items.n = m->n_now = n_now;
    m->past.n = items;
    m->past_n.n -= n;
    m->history.n -= tokens;
    if (waiting && tokens) {
        sampi_lazy_reset(&m->lazy);
        for (int32_t i = 0; i < m->history.n; i++) {
            size_t n_bytes;
            const uint8_t *bytes = sampi_piece(m, i, &n_bytes);
            sampi_lazy_feed(&m->lazy, bytes, n_bytes);
        }
    }
    return SAMP_OK;
}

/* A token while the grammar waits. SAMP_E_RANGE: it is the trigger, and goes on as the grammar does not; nothing has
   changed then, as after all errors. */
static int sampi_accept_waiting(sampi_matcher *m, samp_token token)
{
    sampi_lazy *z = &m->lazy;
    size_t n;
    int32_t n_live;
    bool found, allowed = true, named = false;
    if (token < 0 || (uint32_t)token >= m->index->n_vocab) return SAMP_E_RANGE;
    sampi_level before = sampi_mark(m);
    sampi_vec items = sampi_copy_vec(m, &m->items, sizeof(sampi_item));
    if (m->status) return m->status; /* without the copy there is no way back */
    samp_token *kept = (samp_token *)sampi_more(m, &m->history, sizeof *kept, 1);
    sampi_lazy_keep(z, &n_live, &found);
    if (kept) *kept = token;
    for (int32_t i = 0; i < z->tokens.n; i++) named = named || ((const samp_token *)z->tokens.data)[i] == token;
    if (kept && !m->status) {
        const uint8_t *bytes = sampi_piece(m, m->history.n - 1, &n);
        z->waiting = !named && !sampi_lazy_feed(z, bytes, n);
        if (!z->waiting) {
            int32_t start = named ? 0 : sampi_lazy_start(m);
            allowed = named ? sampi_replay(m, m->history.n - 1, 0) : start >= 0 && sampi_replay_text(m, start);
        }
    }
    if (!m->status && allowed) sampi_keep_place(m, items.data, SAMPI_PLACE_STAYS - 1 - items.n);
    if (m->status || !allowed) {
        if (kept) m->history.n--;
        z->waiting = true;
        sampi_lazy_undo(z, n_live, found);
        sampi_drop(m, before);
        m->n_now = items.n;
        if (items.n) memcpy(m->items.data, items.data, (size_t)items.n * sizeof(sampi_item));
    }
    sampi_vec_free(&items);
    return m->status ? m->status : allowed ? SAMP_OK : SAMP_E_RANGE;
}

/* ---- the matcher as a whole ---- */

/* What a token leads to, without its first bytes if they are to be skipped: items from the returned number on; none: it
   is not allowed. Nothing is kept yet. */
static int32_t sampi_matcher_try(sampi_matcher *m, samp_token token, size_t skip)
{
    size_t n = 0;
    const samp_vocab *vocab = m->index->vocab;
    if (token < 0 || (uint32_t)token >= m->index->n_vocab) return m->items.n;
    const uint8_t *bytes = (const uint8_t *)vocab->token_bytes(vocab, token, &n);
    bool listed = m->index->all[token / 32] >> token % 32 & 1;
    int32_t first = listed ? sampi_accept_bytes(m, bytes + skip, n - skip) : m->n_now;
    for (int32_t i = 0; i < m->n_now; i++)
        if (sampi_lex_at(m, sampi_item_at(m, i)->state)->flags & SAMPI_STATE_TOKENS) {
            sampi_accept_named(m, token, listed);
            break;
        }
    return first;
}

/* Go on behind a token. SAMP_E_RANGE: it is not allowed here; then nothing has changed, as after all errors. */
static int sampi_matcher_accept(sampi_matcher *m, samp_token token)
{
    int status = sampi_matcher_begin(m);
    if (status) return status;
    if (m->lazy.waiting) return sampi_accept_waiting(m, token);
    sampi_level before = sampi_mark(m);
    if (sampi_is_eog(m->index->vocab, token)) {
        if (!sampi_matcher_ends(m)) return SAMP_E_RANGE;
        sampi_keep_place(m, NULL, SAMPI_PLACE_STAYS);
        return m->status;
    }
    int32_t first = sampi_matcher_try(m, token, 0);
    samp_token *kept = m->items.n > first ? (samp_token *)sampi_more(m, &m->history, sizeof *kept, 1) : NULL;
    if (m->status || !kept || !sampi_keep_place(m, m->items.data, m->n_now)) {
        m->history.n -= kept != NULL;
        sampi_drop(m, before);
        return m->status ? m->status : SAMP_E_RANGE;
    }
    *kept = token;
    sampi_settle_items(m, first);
    return SAMP_OK;
}

/* Is a token allowed? 1, 0 or a status. */
static int sampi_matcher_allows(sampi_matcher *m, samp_token token)
{
    int status = sampi_matcher_begin(m);
    if (status || m->lazy.waiting) return status ? status : 1;
    if (sampi_is_eog(m->index->vocab, token)) return sampi_matcher_ends(m);
    sampi_level before = sampi_mark(m);
    bool allowed = sampi_matcher_try(m, token, 0) < m->items.n;
    sampi_drop(m, before);
    return m->status ? m->status : allowed;
}

/* To the beginning of a text. What has been made stays. */
static int sampi_matcher_reset(sampi_matcher *m)
{
    m->status = SAMP_OK;
    m->budget = m->max_steps;
    m->history.n = m->edges.n = m->items.n = m->work.n = m->past.n = m->past_n.n = 0;
    sampi_lazy_reset(&m->lazy);
    m->frames.n = 1;
    m->live = 1;
    sampi_begin_step(m);
    sampi_add_item(m, sampi_state_of(m, sampi_rule_at(&m->tree, m->grammar->root)->body), 0);
    sampi_close(m, 0, true);
    m->n_now = m->status ? 0 : m->items.n;
    return m->status;
}

static void sampi_matcher_free(sampi_matcher *m)
{
    if (!m) return;
    sampi_drop_entries(m);
    sampi_tree_free(&m->tree);
    sampi_vec *vec[] = { &m->work,       &m->states,       &m->next,    &m->calls,  &m->items,
                         &m->frames,     &m->edges,        &m->entries, &m->tokens, &m->places,
                         &m->seen.slots, &m->joined.slots, &m->history, &m->past,   &m->past_n };
    for (size_t i = 0; i < sizeof vec / sizeof *vec; i++) sampi_vec_free(vec[i]);
    sampi_lazy_free(&m->lazy);
    SAMP_FREE(m->rule_frame);
    SAMP_FREE(m->memo);
    SAMP_FREE(m->level);
    SAMP_FREE(m->bits);
    SAMP_FREE(m);
}

/* A matcher with all that never moves, and nothing in its arrays. */
static sampi_matcher *sampi_matcher_blank(const samp_vocab_index *index, const samp_grammar *grammar)
{
    sampi_matcher *m = (sampi_matcher *)SAMP_MALLOC(sizeof *m);
    if (!m) return NULL;
    memset(m, 0, sizeof *m);
    m->index = index;
    m->grammar = grammar;
    m->max_bytes = (size_t)1 << 26;
    m->max_steps = (int64_t)1 << 24;
    size_t n_rules = (size_t)grammar->tree.rules.n;
    m->rule_frame = (int32_t *)SAMP_MALLOC((n_rules + 1) * sizeof *m->rule_frame);
    m->memo = (sampi_memo *)SAMP_MALLOC(SAMPI_MEMO * sizeof *m->memo);
    m->level = (sampi_level *)SAMP_MALLOC((SAMPI_MAX_PIECE + 1) * sizeof *m->level);
    m->bits = (uint32_t *)SAMP_MALLOC((size_t)index->n_mask * 4 + 4);
    if (!m->rule_frame || !m->memo || !m->level || !m->bits) {
        sampi_matcher_free(m);
        return NULL;
    }
    memset(m->rule_frame, 0, (n_rules + 1) * sizeof *m->rule_frame);
    memset(m->memo, 0xff, SAMPI_MEMO * sizeof *m->memo);
    return m;
}

/* Which token a text in angle brackets is; -1: none, or several. */
static samp_token sampi_find_text(const samp_vocab *vocab, const char *text, size_t n)
{
    samp_token found[2] = { -1, -1 };
    if (vocab->tokenize) return vocab->tokenize(vocab, text, n, found, 2) == 1 ? found[0] : -1;
    for (samp_token token = 0; token < vocab->n_vocab; token++) {
        size_t length = 0;
        const char *bytes = vocab->token_bytes(vocab, token, &length);
        if (length == n && bytes && memcmp(bytes, text, n) == 0) return token;
    }
    return -1;
}

/* A matcher at the beginning of a text. Tokens that the grammar has by their text get their numbers: they stand in the
   text's node, where the tree had the rule of that name. */
static int sampi_matcher_make(sampi_matcher *m)
{
    m->tree = sampi_copy_tree(m, &m->grammar->tree);
    sampi_drop_states(m);
    sampi_frame *outermost = (sampi_frame *)sampi_more(m, &m->frames, sizeof *outermost, 1);
    if (m->status) return m->status;
    outermost->rule = outermost->edge = -1;
    for (sampi_node n = 0; n < m->tree.nodes.n; n++) {
        const sampi_expr e = *sampi_at(&m->tree, n);
        if (e.kind != SAMPI_NODE_TOKEN || !(e.b & 2)) continue;
        sampi_expr *text = sampi_at(&m->tree, e.a);
        text->c = sampi_find_text(m->index->vocab, (const char *)sampi_bytes_at(&m->tree, text->a), (size_t)text->b);
        if (text->c < 0) return SAMP_E_RANGE;
    }
    return sampi_matcher_reset(m);
}

/* As it is, without its entries: these come back. NULL: no memory. */
static sampi_matcher *sampi_matcher_copy(const sampi_matcher *from)
{
    sampi_matcher *m = sampi_matcher_blank(from->index, from->grammar);
    if (!m) return NULL;
    m->max_bytes = from->max_bytes;
    m->max_steps = from->max_steps;
    m->n_now = from->n_now;
    m->live = from->live;
    m->tree = sampi_copy_tree(m, &from->tree);
    m->states = sampi_copy_vec(m, &from->states, sizeof(sampi_lex));
    m->next = sampi_copy_vec(m, &from->next, sizeof(int32_t));
    m->calls = sampi_copy_vec(m, &from->calls, sizeof(sampi_call));
    m->items = sampi_copy_vec(m, &from->items, sizeof(sampi_item));
    m->frames = sampi_copy_vec(m, &from->frames, sizeof(sampi_frame));
    m->edges = sampi_copy_vec(m, &from->edges, sizeof(sampi_edge));
    m->history = sampi_copy_vec(m, &from->history, sizeof(samp_token));
    m->past = sampi_copy_vec(m, &from->past, sizeof(sampi_item));
    m->past_n = sampi_copy_vec(m, &from->past_n, sizeof(int32_t));
    m->lazy = from->lazy;
    m->lazy.ops = sampi_copy_vec(m, &from->lazy.ops, sizeof(sampi_op));
    m->lazy.pool = sampi_copy_vec(m, &from->lazy.pool, 1);
    m->lazy.programs = sampi_copy_vec(m, &from->lazy.programs, sizeof(sampi_program));
    m->lazy.tokens = sampi_copy_vec(m, &from->lazy.tokens, sizeof(samp_token));
    m->lazy.places = sampi_copy_vec(m, &from->lazy.places, sizeof(int32_t));
    if (!m->status) return m;
    sampi_matcher_free(m);
    return NULL;
}

/* ---- the sampler ---- */

static const char *sampi_grammar_name(const samp_sampler *s)
{
    (void)s;
    return "grammar";
}

static int sampi_grammar_accept(samp_sampler *s, samp_token token)
{
    sampi_matcher *m = (sampi_matcher *)s->ctx;
    const sampi_sampler *top = (const sampi_sampler *)s;
    while (top->owner) top = top->owner;
    m->depth = top->past.depth;
    return sampi_matcher_accept(m, token);
}
static int sampi_grammar_rollback(samp_sampler *s, int32_t n)
{
    return sampi_matcher_back((sampi_matcher *)s->ctx, n);
}
static void sampi_grammar_reset(samp_sampler *s) { sampi_matcher_reset((sampi_matcher *)s->ctx); }
static void sampi_grammar_free(samp_sampler *s) { sampi_matcher_free((sampi_matcher *)s->ctx); }

/* Masks what is not allowed; an id that the vocabulary has not is not allowed. */
static int sampi_grammar_apply(samp_sampler *s, samp_token_data_array *cur)
{
    sampi_matcher *m = (sampi_matcher *)s->ctx;
    if (m->lazy.waiting) return SAMP_OK;
    int status = sampi_matcher_begin(m);
    if (!status) status = sampi_matcher_mask(m, m->bits);
    bool any = false;
    for (size_t i = 0; i < cur->size && !status && !any; i++) {
        uint32_t id = (uint32_t)cur->data[i].id;
        any = id < m->index->n_vocab && (m->bits[id / 32] >> id % 32 & 1) && cur->data[i].logit >= -FLT_MAX;
    }
    if (status || !any) return status ? status : SAMP_E_EMPTY;
    for (size_t i = 0; i < cur->size; i++) {
        uint32_t id = (uint32_t)cur->data[i].id;
        if (id < m->index->n_vocab && (m->bits[id / 32] >> id % 32 & 1)) continue;
        if (cur->data[i].logit >= -FLT_MAX) cur->sorted = false;
        cur->data[i].logit = -INFINITY;
    }
    return SAMP_OK;
}

static samp_sampler *sampi_grammar_clone(const samp_sampler *s);
static const samp_sampler_i *sampi_grammar_iface(void)
{
    static const samp_sampler_i iface = { sampi_grammar_name,
                                          sampi_grammar_accept,
                                          sampi_grammar_apply,
                                          sampi_grammar_reset,
                                          sampi_grammar_clone,
                                          sampi_grammar_free,
                                          NULL,
                                          sampi_grammar_rollback };
    return &iface;
}

static samp_sampler *sampi_grammar_clone(const samp_sampler *s)
{
    sampi_matcher *m = sampi_matcher_copy((const sampi_matcher *)s->ctx);
    samp_sampler *copy = m ? samp_init_custom(sampi_grammar_iface(), m) : NULL;
    if (!copy) sampi_matcher_free(m);
    return copy;
}

/* With the triggers of a lazy grammar, which are used up, or NULL. */
static samp_sampler *sampi_grammar_init(const samp_vocab_index *index, const samp_grammar *grammar, sampi_lazy *lazy)
{
    sampi_sampler t = sampi_blank(SAMPI_CUSTOM);
    sampi_require(&t, index != NULL, SAMP_E_NULL, "vocab");
    sampi_require(&t, grammar != NULL, SAMP_E_NULL, "grammar");
    sampi_matcher *m = t.status ? NULL : sampi_matcher_blank(index, grammar);
    if (m && lazy) m->lazy = *lazy;
    if (!m && lazy) sampi_lazy_free(lazy);
    if (!t.status && !m) return NULL;
    int status = m ? sampi_matcher_make(m) : SAMP_OK;
    sampi_require(&t, !status, status, "grammar");
    t.base.iface = m && !status ? sampi_grammar_iface() : t.base.iface;
    t.base.ctx = status ? NULL : m;
    if (status) sampi_matcher_free(m);
    if (status == SAMP_E_NOMEM) return NULL;
    samp_sampler *s = sampi_new(&t);
    if (!s) sampi_matcher_free((sampi_matcher *)t.base.ctx);
    return s;
}

SAMP_API samp_sampler *samp_init_grammar(const samp_vocab_index *index, const samp_grammar *grammar)
{
    return sampi_grammar_init(index, grammar, NULL);
}

static samp_sampler *sampi_grammar_init_lazy(const samp_vocab_index *index, const samp_grammar *grammar,
                                             const char *const *texts, size_t n_texts, bool patterns,
                                             const samp_token *tokens, size_t n_tokens)
{
    sampi_lazy lazy;
    const char *field = NULL;
    memset(&lazy, 0, sizeof lazy);
    if (!index || !grammar) return sampi_grammar_init(index, grammar, NULL);
    int status = sampi_lazy_init(&lazy, texts, n_texts, patterns, tokens, n_tokens, (int32_t)index->n_vocab, &field);
    if (!status) return sampi_grammar_init(index, grammar, &lazy);
    sampi_lazy_free(&lazy);
    if (status == SAMP_E_NOMEM) return NULL;
    sampi_sampler t = sampi_blank(SAMPI_CUSTOM);
    sampi_require(&t, false, status, field);
    return sampi_new(&t);
}

SAMP_API samp_sampler *samp_init_grammar_lazy(const samp_vocab_index *index, const samp_grammar *grammar,
                                              const char *const *words, size_t n_words, const samp_token *tokens,
                                              size_t n_tokens)
{
    return sampi_grammar_init_lazy(index, grammar, words, n_words, false, tokens, n_tokens);
}

SAMP_API samp_sampler *samp_init_grammar_lazy_patterns(const samp_vocab_index *index, const samp_grammar *grammar,
                                                       const char *const *patterns, size_t n_patterns,
                                                       const samp_token *tokens, size_t n_tokens)
{
    return sampi_grammar_init_lazy(index, grammar, patterns, n_patterns, true, tokens, n_tokens);
}

/* The matcher of a sampler, or NULL and why not. */
static sampi_matcher *sampi_matcher_of(const samp_sampler *s, int *status)
{
    *status = s ? samp_status(s, NULL) : SAMP_E_NULL;
    if (!*status && (s->iface != sampi_grammar_iface() || !sampi_is_custom((const sampi_sampler *)s)))
        *status = SAMP_E_UNSUPPORTED;
    return *status ? NULL : (sampi_matcher *)s->ctx;
}

SAMP_API int samp_set_grammar_limits(samp_sampler *s, size_t max_bytes, int64_t max_steps)
{
    int status;
    sampi_matcher *m = sampi_matcher_of(s, &status);
    if (!m) return status;
    if (max_bytes < 1 << 16 || max_steps < 1024) return SAMP_E_RANGE;
    m->max_bytes = max_bytes;
    m->max_steps = max_steps;
    return SAMP_OK;
}

SAMP_API int samp_grammar_mask(samp_sampler *s, uint32_t *bits)
{
    int status;
    sampi_matcher *m = sampi_matcher_of(s, &status);
    if (m && !bits) return SAMP_E_NULL;
    if (m) status = sampi_matcher_begin(m);
    return m && !status ? sampi_matcher_mask(m, bits) : status;
}

SAMP_API int samp_grammar_is_complete(const samp_sampler *s)
{
    int status;
    const sampi_matcher *m = sampi_matcher_of(s, &status);
    return m ? sampi_matcher_ends(m) && !m->lazy.waiting : status;
}

SAMP_API int samp_grammar_is_awaiting(const samp_sampler *s)
{
    int status;
    const sampi_matcher *m = sampi_matcher_of(s, &status);
    return m ? m->lazy.waiting : status;
}

/* The only byte that the items [from, to) go on with, or -1. */
static int sampi_forced_byte(sampi_matcher *m, int32_t from, int32_t to)
{
    int32_t found = -1;
    for (int32_t i = from; i < to; i++) {
        sampi_item item = *sampi_item_at(m, i);
        int32_t flags = sampi_lex_at(m, item.state)->flags;
        if ((flags & SAMPI_STATE_TOKENS) || ((flags & SAMPI_STATE_ENDS) && item.frame == 0)) return -1;
        for (int32_t b = 0; b < 256 && !m->status; b++)
            if (b != found && sampi_next(m, item.state, (uint8_t)b)) {
                if (found >= 0) return -1;
                found = b;
            }
    }
    return found;
}

SAMP_API int64_t samp_grammar_forced(samp_sampler *s, char *bytes, size_t size)
{
    enum { MOST = 4096 }; /* a grammar may force text without end */
    int status;
    sampi_matcher *m = sampi_matcher_of(s, &status);
    if (m && size && !bytes) status = SAMP_E_NULL;
    if (!status) status = sampi_matcher_begin(m);
    if (status || m->lazy.waiting) return status;
    sampi_level before = sampi_mark(m);
    int32_t from = 0, to = m->n_now;
    int64_t n = 0, whole = 0; /* whole: without a last character that is not complete */
    for (int byte; n < MOST && (byte = sampi_forced_byte(m, from, to)) >= 0; n++) {
        if ((byte & 0xc0) != 0x80) whole = n;
        if ((size_t)n < size) bytes[n] = (char)byte;
        int32_t first = m->items.n;
        sampi_advance(m, from, to, (uint8_t)byte);
        from = first;
        to = m->items.n;
        if (byte < 0x80) whole = n + 1;
    }
    sampi_drop(m, before);
    return m->status ? m->status : whole;
}

SAMP_API samp_token samp_grammar_sample(samp_sampler *chain, samp_sampler *grammar, const float *logits,
                                        size_t n_vocab)
{
    int status;
    sampi_matcher *m = sampi_matcher_of(grammar, &status);
    if (!m) return status;
    samp_token token = samp_draw(chain, logits, n_vocab);
    int allowed = token < 0 ? token : sampi_matcher_allows(m, token);
    if (allowed < 0) return allowed;
    if (!allowed) status = samp_grammar_mask(grammar, m->bits);
    while (!status && token >= 0) {
        if (!allowed && n_vocab > m->index->n_vocab) return SAMP_E_RANGE;
        if (!allowed) token = sampi_sample_one(chain, logits, n_vocab, m->bits, false);
        if (token >= 0) status = samp_accept(grammar, token);
        if (status != SAMP_E_RANGE || !m->lazy.waiting || (uint32_t)token >= m->index->n_vocab) break;
        if (allowed)
            status = samp_grammar_mask(grammar, m->bits); /* a trigger that goes on as it must not: without it */
        m->bits[token / 32] &= ~(1u << token % 32);
        allowed = false;
        status = SAMP_OK;
    }
    if (status || token < 0) return status ? status : token;
    status = samp_accept(chain, token);
    if (status) samp_rollback(grammar, 1); /* a custom sampler of the chain has refused it */
    return status ? status : token;
}

/* ---- what the core asks ---- */

static bool sampi_is_grammar(const sampi_sampler *s) { return s->base.iface == sampi_grammar_iface(); }

/* How many tokens it can take back. */
static int32_t sampi_grammar_kept(const sampi_sampler *s) { return ((const sampi_matcher *)s->base.ctx)->past_n.n; }

/* The grammar that sees a chain's candidates before any other sampler does; NULL: there is none. */
static sampi_sampler *sampi_first_grammar(sampi_sampler *s)
{
    while (sampi_is_chain(s)) {
        int32_t i = 0;
        while (i < s->u.chain.n && s->u.chain.item[i]->off) i++;
        if (i == s->u.chain.n) return NULL;
        s = s->u.chain.item[i];
    }
    return sampi_is_grammar(s) ? s : NULL;
}

/* A chain that begins with a grammar is the rest of it on a masked row. The job's mask becomes the grammar's, joined
   with its own. */
static int sampi_grammar_job(sampi_job *job)
{
    sampi_sampler *s = sampi_first_grammar(job->s);
    if (!s) return SAMP_OK;
    sampi_matcher *m = (sampi_matcher *)s->base.ctx;
    if (m->lazy.waiting) return SAMP_OK;
    if (job->n > m->index->n_vocab) return SAMP_E_RANGE;
    int status = samp_grammar_mask(&s->base, m->bits);
    for (size_t i = 0; !status && job->mask && i < (job->n + 31) / 32; i++) m->bits[i] &= job->mask[i];
    job->mask = m->bits;
    return status;
}

/* Into the fingerprint: the grammar, its triggers, and the size of the vocabulary. */
static void sampi_grammar_settings(const sampi_sampler *s, uint64_t *hash)
{
    const sampi_matcher *m = (const sampi_matcher *)s->base.ctx;
    const sampi_tree *t = &m->grammar->tree;
    sampi_mix(hash, m->index->n_vocab);
    sampi_mix(hash, (uint64_t)m->grammar->root);
    sampi_mix(hash, sampi_checksum(t->pool.data, (size_t)t->pool.n));
    for (sampi_node n = 0; n < t->nodes.n; n++) {
        const sampi_expr *e = sampi_at(t, n);
        sampi_mix(hash, (uint64_t)e->kind << 32 | (uint32_t)e->a);
        sampi_mix(hash, (uint64_t)(uint32_t)e->b << 32 | (uint32_t)e->c);
    }
    const sampi_lazy *z = &m->lazy;
    for (int32_t i = 0; i < z->ops.n; i++) {
        const sampi_op *op = (const sampi_op *)z->ops.data + i;
        sampi_mix(hash, (uint64_t)op->kind << 32 | (uint32_t)op->a);
        sampi_mix(hash, (uint64_t)op->b);
    }
    for (int32_t i = 0; i < z->tokens.n; i++) sampi_mix(hash, (uint64_t)((const samp_token *)z->tokens.data)[i]);
    if (z->is_lazy) sampi_mix(hash, sampi_checksum(z->pool.data, (size_t)z->pool.n));
}

/* The state is the tokens so far: reading them again leads to the same place, on any machine. To check them a copy does
   so; then the sampler gets the copy, for to read them once more could fail for want of memory. */
static void sampi_grammar_state(sampi_sampler *s, sampi_io *io)
{
    sampi_matcher *m = (sampi_matcher *)s->base.ctx, *copy = (sampi_matcher *)io->copies, **end = &copy;
    if (io->mode == SAMPI_READ) { /* the copies are in the order in which they were checked */
        io->copies = copy->behind;
        io->at += 4 + 4 * (size_t)copy->history.n;
        s->base.ctx = copy;
        sampi_matcher_free(m);
        return;
    }
    uint32_t n = (uint32_t)sampi_io_int(io, (uint32_t)m->history.n, 4);
    for (uint32_t i = 0; i < n && io->mode == SAMPI_WRITE; i++)
        sampi_io_int(io, (uint32_t)((const samp_token *)m->history.data)[i], 4);
    if (io->mode == SAMPI_WRITE || io->bad) return;
    while (*end) end = &(*end)->behind;
    sampi_matcher *fresh = *end = sampi_matcher_copy(m);
    io->copies = copy;
    int status = fresh ? sampi_matcher_reset(fresh) : (int)SAMP_E_NOMEM;
    for (uint32_t i = 0; i < n && !io->bad && !status; i++) {
        samp_token token = (samp_token)(uint32_t)sampi_io_int(io, 0, 4);
        if (!io->bad) status = sampi_matcher_accept(fresh, token);
    }
    if (status) io->bad |= status == SAMP_E_NOMEM ? 2 : 1;
}

/* Bytes that can't be loaded: what has been made of them goes, and why. */
static int sampi_load_failed(sampi_io *io)
{
    while (io->copies) {
        sampi_matcher *copy = (sampi_matcher *)io->copies;
        io->copies = copy->behind;
        sampi_matcher_free(copy);
    }
    return io->bad & 2 ? SAMP_E_NOMEM : SAMP_E_FORMAT;
}

#endif /* SAMPLING_GRAMMAR_DECLARED */

/* ==================================================================================================== >>json
   A strict reader of JSON (RFC 8259, UTF-8), for schemas. A document becomes an array of nodes in the order of the
   text, in one block of memory: how many there can be is counted before. Equal strings have equal numbers, and a
   member is found by a hash of its object and its name. Numbers stay text, for exact decimal arithmetic. */
#ifdef SAMPLING_GRAMMAR_DECLARED

enum {
    SAMPI_JSON_DEPTH = 256,    /* of brackets */
    SAMPI_JSON_PROBES = 4096,  /* of a hash table, before it is taken for an attack */
    SAMPI_JSON_BYTES = 1 << 26 /* of a text */
};

typedef enum sampi_json_kind {
    SAMPI_JSON_NULL,
    SAMPI_JSON_FALSE,
    SAMPI_JSON_TRUE,
    SAMPI_JSON_NUMBER,
    SAMPI_JSON_STRING,
    SAMPI_JSON_ARRAY,
    SAMPI_JSON_OBJECT
} sampi_json_kind;

typedef struct sampi_json_node {
    uint8_t kind;           /* sampi_json_kind */
    int32_t parent, next;   /* the next child of the same parent; -1: none */
    int32_t first, last, n; /* the children of an array or object */
    int32_t name;           /* the number of the member's name; -1: no member */
    int32_t text;           /* the number of the string's text, or of the number's as it is written */
    uint32_t at;            /* where it begins in the source */
} sampi_json_node;

typedef struct sampi_json_string {
    uint32_t at, n; /* in bytes */
} sampi_json_string;

typedef struct sampi_json {
    sampi_json_node *nodes;
    sampi_json_string *strings;
    int32_t *by_text, *by_name; /* hash tables: numbers of strings; of nodes that are members. -1: free */
    char *bytes;                /* of all strings, unescaped */
    int32_t n_nodes, n_strings;
    uint32_t n_bytes, text_mask, name_mask;
    const char *source;
    size_t n_source;
    samp_grammar_error *error;
} sampi_json;

typedef struct sampi_json_reader {
    sampi_json *doc;
    const unsigned char *at, *end;
    int depth, status;
} sampi_json_reader;

/* The status, with the line and column (in bytes, from 1) of a place in a text. */
static SAMPI_COLD int sampi_json_fail(const sampi_json *doc, size_t at, int status, const char *message)
{
    sampi_reader r;
    memset(&r, 0, sizeof r);
    r.text = doc->source;
    r.error = doc->error;
    return sampi_expected(&r, doc->source + at, status, message);
}

static SAMPI_COLD int32_t sampi_json_wrong(sampi_json_reader *r, const char *message)
{
    size_t at = (size_t)(r->at - (const unsigned char *)r->doc->source);
    if (!r->status) r->status = sampi_json_fail(r->doc, at, SAMP_E_FORMAT, message);
    return -1;
}

/* ---- strings ---- */

/* The slot of a text in the table: where its number is, or where it would be; NULL: too many collide. */
static SAMPI_COLD int32_t *sampi_json_slot(const sampi_json *doc, const char *text, size_t n)
{
    uint32_t h = (uint32_t)sampi_checksum(text, n);
    for (uint32_t i = 0; i < SAMPI_JSON_PROBES; i++, h++) {
        int32_t *slot = &doc->by_text[h & doc->text_mask];
        const sampi_json_string *s = *slot < 0 ? NULL : &doc->strings[*slot];
        if (!s || (s->n == n && !memcmp(doc->bytes + s->at, text, n))) return slot;
    }
    return NULL;
}

/* The number of the string that was written behind all others: its own, or that of an equal one. */
static SAMPI_COLD int32_t sampi_json_intern(sampi_json_reader *r, uint32_t n)
{
    sampi_json *doc = r->doc;
    int32_t *slot = sampi_json_slot(doc, doc->bytes + doc->n_bytes, n);
    if (!slot) return sampi_json_wrong(r, "too many strings collide");
    if (*slot >= 0) return *slot;
    doc->strings[doc->n_strings].at = doc->n_bytes;
    doc->strings[doc->n_strings].n = n;
    doc->n_bytes += n;
    return *slot = doc->n_strings++;
}

/* The bytes of a code point in UTF-8; how many. */
static SAMPI_COLD uint32_t sampi_utf8_put(char *out, uint32_t c)
{
    if (c < 0x80) return out[0] = (char)c, 1;
    uint32_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (uint32_t i = n; --i > 0; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
    return n;
}

/* The four digits behind \u. */
static SAMPI_COLD int32_t sampi_json_hex(sampi_json_reader *r)
{
    int32_t c = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int digit = r->at < r->end ? sampi_hex_digit(*r->at) : -1;
        if (digit < 0) return sampi_json_wrong(r, "expected four hexadecimal digits behind \\u");
        c = c * 16 + digit;
    }
    return c;
}

/* An escape, behind its backslash: a code point, or -1. */
static SAMPI_COLD int32_t sampi_json_escape(sampi_json_reader *r)
{
    static const char escapes[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    const char *known = r->at < r->end && *r->at ? strchr(escapes, *r->at) : NULL;
    if (known) return r->at++, means[known - escapes];
    if (r->at >= r->end || *r->at != 'u') return sampi_json_wrong(r, "expected an escape: one of \"\\/bfnrtu");
    r->at++;
    int32_t c = sampi_json_hex(r), low;
    if (c < 0xd800 || c >= 0xe000) return c;
    if (c >= 0xdc00 || r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
        return sampi_json_wrong(r, "half of a surrogate pair");
    r->at += 2;
    low = sampi_json_hex(r);
    if (low >= 0 && (low < 0xdc00 || low >= 0xe000)) return sampi_json_wrong(r, "half of a surrogate pair");
    return low < 0 ? -1 : 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

/* A string, from its quote on: its number. */
static SAMPI_COLD int32_t sampi_json_text(sampi_json_reader *r)
{
    char *out = r->doc->bytes + r->doc->n_bytes;
    uint32_t n = 0;
    for (r->at++; r->at < r->end && *r->at != '"';) {
        uint32_t c, length = sampi_utf8_get(r->at, r->end, &c);
        if (length == 0) return sampi_json_wrong(r, "not UTF-8");
        if (c < 0x20) return sampi_json_wrong(r, "a control character in a string must be escaped");
        r->at += length;
        if (c == '\\') {
            int32_t meant = sampi_json_escape(r);
            if (meant < 0) return -1;
            c = (uint32_t)meant;
        }
        n += sampi_utf8_put(out + n, c);
    }
    if (r->at >= r->end) return sampi_json_wrong(r, "expected \" at the end of a string");
    r->at++;
    return sampi_json_intern(r, n);
}

/* ---- values ---- */

static SAMPI_COLD size_t sampi_json_digits(sampi_json_reader *r)
{
    const unsigned char *from = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    return (size_t)(r->at - from);
}

static SAMPI_COLD int32_t sampi_json_number(sampi_json_reader *r)
{
    const unsigned char *from = r->at;
    if (*r->at == '-') r->at++;
    const unsigned char *first = r->at;
    size_t n = sampi_json_digits(r);
    if (n == 0 || (n > 1 && *first == '0')) return sampi_json_wrong(r, n ? "a zero leads" : "expected a value");
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        if (!sampi_json_digits(r)) return sampi_json_wrong(r, "expected a digit");
    }
    if (r->at < r->end && (*r->at | 0x20) == 'e') {
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
        if (!sampi_json_digits(r)) return sampi_json_wrong(r, "expected a digit");
    }
    uint32_t size = (uint32_t)(r->at - from);
    memcpy(r->doc->bytes + r->doc->n_bytes, from, size);
    return sampi_json_intern(r, size);
}

static SAMPI_COLD void sampi_json_space(sampi_json_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}

/* Is this the next byte behind space? Then it is read. */
static SAMPI_COLD bool sampi_json_next(sampi_json_reader *r, char c)
{
    sampi_json_space(r);
    if (r->at >= r->end || *r->at != (unsigned char)c) return false;
    r->at++;
    return true;
}

/* The member's place in the table of names; NULL: too many collide. */
static SAMPI_COLD int32_t *sampi_json_member_slot(const sampi_json *doc, int32_t object, int32_t name)
{
    uint64_t key = ((uint64_t)(uint32_t)object << 32 | (uint32_t)name) * 0x9e3779b97f4a7c15u;
    uint32_t h = (uint32_t)(key >> 32);
    for (uint32_t i = 0; i < SAMPI_JSON_PROBES; i++, h++) {
        int32_t *slot = &doc->by_name[h & doc->name_mask];
        if (*slot < 0 || (doc->nodes[*slot].parent == object && doc->nodes[*slot].name == name)) return slot;
    }
    return NULL;
}

static SAMPI_COLD int32_t sampi_json_value(sampi_json_reader *r, int32_t parent, int32_t name);

/* What stands between the brackets of an array or an object, and the closing one. */
static SAMPI_COLD void sampi_json_children(sampi_json_reader *r, int32_t node)
{
    bool object = r->doc->nodes[node].kind == SAMPI_JSON_OBJECT;
    char close = object ? '}' : ']';
    r->at++;
    if (sampi_json_next(r, close)) return;
    do {
        int32_t name = -1;
        sampi_json_space(r);
        if (object) {
            const unsigned char *at = r->at;
            if (r->at >= r->end || *r->at != '"')
                sampi_json_wrong(r, "expected a member's name in quotes");
            else
                name = sampi_json_text(r);
            int32_t *slot = r->status ? NULL : sampi_json_member_slot(r->doc, node, name);
            if (!r->status && (!slot || *slot >= 0)) {
                r->at = at;
                sampi_json_wrong(r, slot ? "this name is there twice" : "too many names collide");
            }
            if (!r->status && !sampi_json_next(r, ':')) sampi_json_wrong(r, "expected a colon");
            if (!r->status) *slot = r->doc->n_nodes; /* what the member will be */
        }
        if (!r->status) sampi_json_value(r, node, name);
    } while (!r->status && sampi_json_next(r, ','));
    if (!r->status && !sampi_json_next(r, close))
        sampi_json_wrong(r, object ? "expected a comma or }" : "expected a comma or ]");
}

/* Is this the word that comes? Then it is read; what may stand behind it is for the caller. */
static SAMPI_COLD bool sampi_json_word(sampi_json_reader *r, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n)) return false;
    r->at += n;
    return true;
}

/* A value and all in it: the number of its node. */
static SAMPI_COLD int32_t sampi_json_value(sampi_json_reader *r, int32_t parent, int32_t name)
{
    sampi_json *doc = r->doc;
    sampi_json_space(r);
    int c = r->at < r->end ? *r->at : 0;
    int32_t node = doc->n_nodes++;
    sampi_json_node *v = &doc->nodes[node];
    v->parent = parent;
    v->name = name;
    v->next = v->first = v->last = v->text = -1;
    v->n = 0;
    v->at = (uint32_t)(r->at - (const unsigned char *)doc->source);
    if (parent >= 0) {
        sampi_json_node *above = &doc->nodes[parent];
        *(above->n++ ? &doc->nodes[above->last].next : &above->first) = node;
        above->last = node;
    }
    if (c == '{' || c == '[') {
        v->kind = c == '{' ? SAMPI_JSON_OBJECT : SAMPI_JSON_ARRAY;
        if (++r->depth > SAMPI_JSON_DEPTH) {
            r->status = sampi_json_fail(doc, v->at, SAMP_E_RANGE, "nested too deeply");
            return -1;
        }
        sampi_json_children(r, node);
        r->depth--;
    } else if (c == '"') {
        v->kind = SAMPI_JSON_STRING;
        v->text = sampi_json_text(r);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        v->kind = SAMPI_JSON_NUMBER;
        v->text = sampi_json_number(r);
    } else if (sampi_json_word(r, "true"))
        v->kind = SAMPI_JSON_TRUE;
    else if (sampi_json_word(r, "false"))
        v->kind = SAMPI_JSON_FALSE;
    else if (sampi_json_word(r, "null"))
        v->kind = SAMPI_JSON_NULL;
    else
        sampi_json_wrong(r, "expected a value");
    return node;
}

/* ---- documents ---- */

static SAMPI_COLD void sampi_json_free(sampi_json *doc) { SAMP_FREE(doc->nodes); }

/* The room for a text's nodes and strings: each but the first node has a comma, bracket or brace before it, and a
   name its colon. */
static SAMPI_COLD int sampi_json_room(sampi_json *doc)
{
    size_t n_nodes = 1, n_names = 0, text_size = 2, name_size = 2;
    for (size_t i = 0; i < doc->n_source; i++) {
        char c = doc->source[i];
        n_nodes += c == ',' || c == '[' || c == '{';
        n_names += c == ':';
    }
    size_t n_strings = n_nodes + n_names;
    while (text_size < 2 * n_strings) text_size *= 2;
    while (name_size < 2 * n_names) name_size *= 2;
    size_t size = n_nodes * sizeof *doc->nodes + n_strings * sizeof *doc->strings;
    size += (text_size + name_size) * sizeof(int32_t) + doc->n_source + 1;
    doc->nodes = (sampi_json_node *)SAMP_MALLOC(size);
    if (!doc->nodes) return sampi_json_fail(doc, 0, SAMP_E_NOMEM, "out of memory");
    doc->strings = (sampi_json_string *)(doc->nodes + n_nodes);
    doc->by_text = (int32_t *)(doc->strings + n_strings);
    doc->by_name = doc->by_text + text_size;
    doc->bytes = (char *)(doc->by_name + name_size);
    memset(doc->by_text, 0xff, (text_size + name_size) * sizeof(int32_t));
    doc->text_mask = (uint32_t)text_size - 1;
    doc->name_mask = (uint32_t)name_size - 1;
    return SAMP_OK;
}

/* Reads a document of n bytes with a 0 behind them, which must stay where it is; *error says where it is wrong. Node 0
   is the whole. */
static SAMPI_COLD int sampi_json_read(sampi_json *doc, const char *text, size_t n, samp_grammar_error *error)
{
    memset(doc, 0, sizeof *doc);
    doc->source = text;
    doc->n_source = n;
    doc->error = error;
    if (n > SAMPI_JSON_BYTES) return sampi_json_fail(doc, 0, SAMP_E_RANGE, "the text is too long");
    int status = sampi_json_room(doc);
    if (status) return status;
    const unsigned char *bytes = (const unsigned char *)text;
    sampi_json_reader r = { doc, bytes, bytes + n, 0, SAMP_OK };
    sampi_json_value(&r, -1, -1);
    sampi_json_space(&r);
    if (!r.status && r.at < r.end) sampi_json_wrong(&r, "expected the end of the text");
    if (r.status) {
        sampi_json_free(doc);
        doc->nodes = NULL;
    }
    return r.status;
}

/* The number of a string of the document that has this text; -1: none has. */
static SAMPI_COLD int32_t sampi_json_find(const sampi_json *doc, const char *text, size_t n)
{
    const int32_t *slot = sampi_json_slot(doc, text, n);
    return slot ? *slot : -1;
}

/* The member of this name; -1: the node has none, or is no object. */
static SAMPI_COLD int32_t sampi_json_member(const sampi_json *doc, int32_t node, int32_t name)
{
    if (node < 0 || name < 0 || doc->nodes[node].kind != SAMPI_JSON_OBJECT) return -1;
    const int32_t *slot = sampi_json_member_slot(doc, node, name);
    return slot ? *slot : -1;
}

#endif /* SAMPLING_GRAMMAR_DECLARED */

/* ================================================================================================== >>schema
   JSON schemas (2020-12, and what drafts 4 to 7 call otherwise) as trees. The one law: no text is in the tree that is
   no instance of the schema; what can't be expressed is refused by name and place, never left out.

   A goal is a set of literals that a value must satisfy together: schemas, schemas that it must not satisfy, and
   values that it must equal or must not. The goals of a property, say, are collected from all schemas that speak of
   it. What a goal allows is computed in two ways:
     null, booleans, numbers, strings    are regular: the keywords make sets of texts, and allOf, anyOf, oneOf, not, if
                                         are their and, or and complement
     arrays, objects                     the goal is taken apart into alternatives without allOf, anyOf and so on;
                                         each is one shape, whose parts have goals again
   Each goal with arrays or objects is a rule, made once, so schemas may recur.

   Complements are exact since a constrained value has but some spellings, all of them or none in each set: numbers
   without an exponent, strings with the shortest escape of each character. Where nothing constrains a number or a
   string, any spelling will do. */
#ifdef SAMPLING_GRAMMAR_DECLARED

/* clang-format off */
/* A keyword, and what its value must be. */
#define SAMPI_SCHEMA_KEYS(X) \
    X(TYPE, "type", TEXT_OR_LIST) X(CONST, "const", ANY) X(ENUM, "enum", LIST) X(NOT, "not", SCHEMA) \
    X(ALL_OF, "allOf", LIST) X(ANY_OF, "anyOf", LIST) X(ONE_OF, "oneOf", LIST) \
    X(IF, "if", SCHEMA) X(THEN, "then", SCHEMA) X(ELSE, "else", SCHEMA) X(REF, "$ref", ANY) \
    X(PROPERTIES, "properties", MEMBERS) X(PATTERN_PROPERTIES, "patternProperties", MEMBERS) \
    X(ADDITIONAL_PROPERTIES, "additionalProperties", SCHEMA) X(PROPERTY_NAMES, "propertyNames", SCHEMA) \
    X(REQUIRED, "required", LIST_OR_BOOL) \
    X(MIN_PROPERTIES, "minProperties", NUMBER) X(MAX_PROPERTIES, "maxProperties", NUMBER) \
    X(DEPENDENT_REQUIRED, "dependentRequired", MEMBERS) X(DEPENDENT_SCHEMAS, "dependentSchemas", MEMBERS) \
    X(DEPENDENCIES, "dependencies", MEMBERS) X(UNEVALUATED_PROPERTIES, "unevaluatedProperties", SCHEMA) \
    X(PREFIX_ITEMS, "prefixItems", LIST) X(ITEMS, "items", SCHEMA_OR_LIST) \
    X(ADDITIONAL_ITEMS, "additionalItems", SCHEMA) \
    X(CONTAINS, "contains", SCHEMA) X(MIN_CONTAINS, "minContains", NUMBER) X(MAX_CONTAINS, "maxContains", NUMBER) \
    X(MIN_ITEMS, "minItems", NUMBER) X(MAX_ITEMS, "maxItems", NUMBER) X(UNIQUE_ITEMS, "uniqueItems", BOOL) \
    X(UNEVALUATED_ITEMS, "unevaluatedItems", SCHEMA) \
    X(MIN_LENGTH, "minLength", NUMBER) X(MAX_LENGTH, "maxLength", NUMBER) \
    X(PATTERN, "pattern", TEXT) X(FORMAT, "format", TEXT) \
    X(MINIMUM, "minimum", NUMBER) X(MAXIMUM, "maximum", NUMBER) \
    X(EXCLUSIVE_MINIMUM, "exclusiveMinimum", NUMBER_OR_BOOL) \
    X(EXCLUSIVE_MAXIMUM, "exclusiveMaximum", NUMBER_OR_BOOL) \
    X(MULTIPLE_OF, "multipleOf", NUMBER) \
    X(DYNAMIC_REF, "$dynamicRef", ANY) X(RECURSIVE_REF, "$recursiveRef", ANY) X(ID, "$id", ANY) X(OLD_ID, "id", ANY) \
    X(ANCHOR, "$anchor", ANY) X(DYNAMIC_ANCHOR, "$dynamicAnchor", ANY) X(SCHEMA, "$schema", ANY) \
    X(DEFS, "$defs", ANY) X(DEFINITIONS, "definitions", ANY)
/* clang-format on */
typedef enum sampi_schema_key {
#define SAMPI_SCHEMA_KEY(key, name, value) SAMPI_KEY_##key,
    SAMPI_SCHEMA_KEYS(SAMPI_SCHEMA_KEY)
#undef SAMPI_SCHEMA_KEY
        SAMPI_KEY_LAST
} sampi_schema_key;

/* What the value of a keyword may be: the kinds of JSON, as a set, and how an error tells them. */
#define SAMPI_SCHEMA_VALUES(X)                                                                                       \
    X(ANY, 0x7f, "") /* or looked at where it is read */                                                             \
    X(BOOL, 1 << SAMPI_JSON_FALSE | 1 << SAMPI_JSON_TRUE, "true or false")                                           \
    X(NUMBER, 1 << SAMPI_JSON_NUMBER, "a number")                                                                    \
    X(TEXT, 1 << SAMPI_JSON_STRING, "a string")                                                                      \
    X(LIST, 1 << SAMPI_JSON_ARRAY, "an array")                                                                       \
    X(MEMBERS, 1 << SAMPI_JSON_OBJECT, "an object")                                                                  \
    X(TEXT_OR_LIST, SAMPI_VALUE_TEXT | SAMPI_VALUE_LIST, "a string, or an array of them")                            \
    X(SCHEMA, SAMPI_VALUE_BOOL | SAMPI_VALUE_MEMBERS, "a schema")                                                    \
    X(SCHEMA_OR_LIST, SAMPI_VALUE_SCHEMA | SAMPI_VALUE_LIST, "a schema") /* up to draft 7 */                         \
    X(LIST_OR_BOOL, SAMPI_VALUE_LIST | SAMPI_VALUE_BOOL, "an array")     /* draft 3; of scalars it says nothing */   \
    X(NUMBER_OR_BOOL, SAMPI_VALUE_NUMBER | SAMPI_VALUE_BOOL, "a number") /* draft 4 */
enum {
#define SAMPI_SCHEMA_VALUE(value, kinds, text) SAMPI_VALUE_##value = kinds,
    SAMPI_SCHEMA_VALUES(SAMPI_SCHEMA_VALUE)
#undef SAMPI_SCHEMA_VALUE
        SAMPI_VALUE_LAST
};

/* Sets of types. */
enum {
    SAMPI_T_NULL = 1,
    SAMPI_T_FALSE = 2,
    SAMPI_T_TRUE = 4,
    SAMPI_T_NUMBER = 8,
    SAMPI_T_STRING = 16,
    SAMPI_T_ARRAY = 32,
    SAMPI_T_OBJECT = 64,
    SAMPI_T_ALL = 127,
    SAMPI_T_DEEP = SAMPI_T_ARRAY | SAMPI_T_OBJECT
};

/* What is asked of a value: a node of the document, and in the lowest two bits how it is meant. */
typedef int32_t sampi_literal;
enum { SAMPI_IS = 0, SAMPI_ISNT = 1, SAMPI_EQUALS = 2, SAMPI_DIFFERS = 3 };

/* The texts of numbers or of strings: all of them (n = SAMPI_ANY), those of a node of the tree (n = SAMPI_SOME), or
   the values [n] at `list` of the arena, nodes of the document. */
typedef struct sampi_texts {
    sampi_node node;
    int32_t list, n;
} sampi_texts;
enum { SAMPI_ANY = -1, SAMPI_SOME = -2 };

typedef struct sampi_scalars {
    unsigned types; /* of null, false, true */
    sampi_texts number, string;
} sampi_scalars;

typedef struct sampi_goal {
    int32_t first, n; /* literals, ascending, in the arena */
    int32_t rule;     /* -1: none yet */
    uint8_t possible; /* SAMPI_UNKNOWN, SAMPI_YES, SAMPI_NO */
} sampi_goal;
enum { SAMPI_UNKNOWN, SAMPI_YES, SAMPI_NO };

typedef struct sampi_schema {
    sampi_json doc;
    sampi_tree *tree;
    int status;                     /* the first error: what comes after it does nothing */
    bool in_order;                  /* members come in the schema's order */
    int draft;                      /* 4 to 7; 8: 2019 and later */
    int32_t key[SAMPI_KEY_LAST];    /* numbers of strings; -1: the document does not have it */
    uint8_t *key_of;                /* [n_strings] key + 1, or 0 */
    sampi_scalars *scalars;         /* [2 * n_nodes] of schemas, as under- and overestimate */
    uint8_t *scalars_known;         /* [2 * n_nodes] 0, 1: being made, 2 */
    sampi_vec goals, slots;         /* sampi_goal, and where a goal with some hash is */
    sampi_vec arena;                /* int32_t: literals of goals, lists of texts. Only grows */
    sampi_vec stack;                /* int32_t: what functions collect; each leaves it as it was */
    sampi_vec atoms, todo;          /* alternatives of arrays and objects: sampi_atom, sampi_todo. As the stack */
    sampi_vec queue;                /* goals whose rules have no body yet */
    sampi_vec patterns;             /* int32_t: strings, and their nodes as regular expressions */
    sampi_matcher deriver;          /* for sampi_schema_matches; its work and memo are all it owns */
    int32_t *targets;               /* [n_nodes] of $ref; -1: not known yet */
    int32_t *listed;                /* [n_strings] see sampi_object_name */
    int64_t steps;                  /* that may still be done */
    int nesting;                    /* of sampi_schema_scalars */
    int level;                      /* of questions whether something is possible, one within the other */
    sampi_node space, comma, colon; /* between the parts of arrays and objects */
    sampi_node any, string;         /* a character of a string in any spelling; any string */
    sampi_node character, shortest; /* the same in the shortest one */
    sampi_node number, plain, magnitude, fraction, digits; /* any number; without exponent; without sign; . digits */
} sampi_schema;

enum {
    SAMPI_SCHEMA_STEPS = 1 << 17,
    SAMPI_SCHEMA_GOALS = 1 << 16,
    SAMPI_SCHEMA_NESTING = 400,
    SAMPI_SCHEMA_PREFIX = 4096,
    SAMPI_SCHEMA_DERIVED = 1 << 23, /* steps of derivatives */
    SAMPI_SCHEMA_BYTES = 1 << 26    /* half of what the tree may take by then */
};

static sampi_json_node *sampi_doc(const sampi_schema *x, int32_t node) { return &x->doc.nodes[node]; }

static const char *sampi_doc_text(const sampi_schema *x, int32_t string, size_t *n)
{
    *n = x->doc.strings[string].n;
    return x->doc.bytes + x->doc.strings[string].at;
}

/* ---- errors ---- */

/* The way from the root to a node, as a JSON pointer, into text[size]. */
static SAMPI_COLD void sampi_schema_pointer(const sampi_schema *x, int32_t node, char *text, size_t size)
{
    int32_t way[SAMPI_JSON_DEPTH + 1];
    int n_way = 0;
    size_t n = 0;
    for (; sampi_doc(x, node)->parent >= 0; node = sampi_doc(x, node)->parent) way[n_way++] = node;
    while (n_way-- > 0 && n + 12 < size) {
        const sampi_json_node *v = sampi_doc(x, way[n_way]);
        text[n++] = '/';
        if (v->name >= 0) {
            size_t length;
            const char *name = sampi_doc_text(x, v->name, &length);
            for (size_t i = 0; i < length && n + 3 < size; i++) {
                bool escaped = name[i] == '~' || name[i] == '/';
                if (escaped) text[n++] = '~';
                text[n++] = name[i] == '~'                  ? '0'
                            : name[i] == '/'                ? '1'
                            : (unsigned char)name[i] < 0x20 ? '?'
                                                            : name[i];
            }
        } else {
            int32_t index = 0, scale = 1;
            for (int32_t i = sampi_doc(x, v->parent)->first; i != way[n_way]; i = sampi_doc(x, i)->next) index++;
            while (scale <= index / 10) scale *= 10;
            for (; scale > 0; scale /= 10) text[n++] = (char)('0' + index / scale % 10);
        }
    }
    text[n] = 0;
}

/* The first error stays: the place in the schema, and what is wrong there. */
static SAMPI_COLD void sampi_schema_fail(sampi_schema *x, int32_t node, int status, const char *text)
{
    char message[160];
    if (x->status) return;
    x->status = status;
    sampi_schema_pointer(x, node, message, sizeof message);
    size_t n = strlen(message), m = strlen(text);
    if (n + m + 2 < sizeof message) {
        memcpy(message + n, ": ", 2);
        memcpy(message + n + 2, text, m + 1);
    }
    sampi_json_fail(&x->doc, sampi_doc(x, node)->at, status, message);
}

static SAMPI_COLD void sampi_refuse(sampi_schema *x, int32_t node, const char *text)
{
    sampi_schema_fail(x, node, SAMP_E_UNSUPPORTED, text);
}

static SAMPI_COLD void sampi_malformed(sampi_schema *x, int32_t node, const char *text)
{
    sampi_schema_fail(x, node, SAMP_E_FORMAT, text);
}

/* The keyword's value in a schema; -1: it has none, or none that such a keyword may have, which is an error. Up to
   draft 7, a $ref has no neighbours. */
static SAMPI_COLD int32_t sampi_keyword(sampi_schema *x, int32_t schema, sampi_schema_key key)
{
#define SAMPI_SCHEMA_MAY_BE(key, name, value) SAMPI_VALUE_##value,
    static const uint8_t may_be[] = { SAMPI_SCHEMA_KEYS(SAMPI_SCHEMA_MAY_BE) };
#undef SAMPI_SCHEMA_MAY_BE
    if (x->draft < 8 && key != SAMPI_KEY_REF && sampi_json_member(&x->doc, schema, x->key[SAMPI_KEY_REF]) >= 0)
        return -1;
    int32_t node = sampi_json_member(&x->doc, schema, x->key[key]);
    if (node < 0 || may_be[key] >> sampi_doc(x, node)->kind & 1) return node;
#define SAMPI_SCHEMA_EXPECTED(value, kinds, text)                                                                    \
    if (may_be[key] == SAMPI_VALUE_##value) sampi_malformed(x, node, "expected " text);
    SAMPI_SCHEMA_VALUES(SAMPI_SCHEMA_EXPECTED)
#undef SAMPI_SCHEMA_EXPECTED
    return -1;
}

/* The number of a name in a list of names; -1, and an error: it is no string. */
static SAMPI_COLD int32_t sampi_schema_name(sampi_schema *x, int32_t node)
{
    if (sampi_doc(x, node)->kind == SAMPI_JSON_STRING) return sampi_doc(x, node)->text;
    sampi_malformed(x, node, "expected a name");
    return -1;
}

/* An error of the tree is one of the schema. */
static SAMPI_COLD void sampi_schema_made(sampi_schema *x, int status)
{
    if (status < 0)
        sampi_schema_fail(x, 0, status, status == SAMP_E_NOMEM ? "out of memory" : "the grammar becomes too large");
}

/* One more step; false: it is one too many, or there has been an error. */
static SAMPI_COLD bool sampi_schema_step(sampi_schema *x, int32_t node)
{
    if (!x->status && --x->steps < 0)
        sampi_schema_fail(x, node, SAMP_E_RANGE, "too many combinations of anyOf, oneOf, not and the like");
    return !x->status;
}

/* ---- collections ---- */

static SAMPI_COLD void sampi_push(sampi_schema *x, sampi_vec *vec, int32_t value)
{
    int32_t *room = x->status ? NULL : (int32_t *)sampi_vec_add(vec, sizeof *room, 1);
    if (room)
        *room = value;
    else if (!x->status)
        sampi_schema_fail(x, 0, SAMP_E_NOMEM, "out of memory");
}

static int32_t *sampi_ints(const sampi_vec *vec, int32_t at) { return (int32_t *)sampi_vec_at(vec, 4, at); }

/* The value of a keyword that counts, a whole number and not negative; `absent` if it is not there. What is larger than
   any text counts as INT32_MAX, which is as good as a maximum and refused as a minimum. */
static SAMPI_COLD int32_t sampi_schema_count(sampi_schema *x, int32_t schema, sampi_schema_key key, int32_t absent)
{
    int32_t node = sampi_keyword(x, schema, key);
    size_t n, i = 0;
    int64_t value = 0;
    if (node < 0) return absent;
    const char *text = sampi_doc_text(x, sampi_doc(x, node)->text, &n);
    for (; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        if (value < INT32_MAX) value = value * 10 + (text[i] - '0');
    if (i < n && text[i] == '.')
        for (i++; i < n && text[i] == '0'; i++) {
        }
    if (i < n) return sampi_malformed(x, node, "expected a whole number, not negative"), absent;
    if (value < INT32_MAX) return (int32_t)value;
    if (absent == 0) sampi_schema_fail(x, node, SAMP_E_RANGE, "this bound is too large");
    return INT32_MAX;
}

static unsigned sampi_type_of(const sampi_schema *x, int32_t value)
{
    static const uint8_t types[] = { SAMPI_T_NULL,   SAMPI_T_FALSE, SAMPI_T_TRUE,  SAMPI_T_NUMBER,
                                     SAMPI_T_STRING, SAMPI_T_ARRAY, SAMPI_T_OBJECT };
    return types[sampi_doc(x, value)->kind];
}

/* ---- references ----
   A reference is an address and, behind a #, a place in what is there: a JSON pointer, or the name of an anchor.
   Addresses count from the $id around them; only those in this text can be known. */

enum { SAMPI_URI = 1024 };

/* Is a node where schemas stand? In a const, an enum or behind a word that is no keyword it only looks like one. */
static SAMPI_COLD bool sampi_is_schema(const sampi_schema *x, int32_t node)
{
    static const sampi_schema_key of_one[] = { SAMPI_KEY_NOT,
                                               SAMPI_KEY_ALL_OF,
                                               SAMPI_KEY_ANY_OF,
                                               SAMPI_KEY_ONE_OF,
                                               SAMPI_KEY_IF,
                                               SAMPI_KEY_THEN,
                                               SAMPI_KEY_ELSE,
                                               SAMPI_KEY_ADDITIONAL_PROPERTIES,
                                               SAMPI_KEY_PREFIX_ITEMS,
                                               SAMPI_KEY_PROPERTY_NAMES,
                                               SAMPI_KEY_ITEMS,
                                               SAMPI_KEY_ADDITIONAL_ITEMS,
                                               SAMPI_KEY_CONTAINS,
                                               SAMPI_KEY_UNEVALUATED_PROPERTIES,
                                               SAMPI_KEY_UNEVALUATED_ITEMS };
    static const sampi_schema_key of_names[] = { SAMPI_KEY_PROPERTIES,   SAMPI_KEY_PATTERN_PROPERTIES,
                                                 SAMPI_KEY_DEPENDENCIES, SAMPI_KEY_DEPENDENT_SCHEMAS,
                                                 SAMPI_KEY_DEFINITIONS,  SAMPI_KEY_DEFS };
    int32_t way[SAMPI_JSON_DEPTH + 1];
    int n_way = 0;
    bool many = false; /* what comes next on the way is one of many schemas */
    for (; sampi_doc(x, node)->parent >= 0; node = sampi_doc(x, node)->parent) way[n_way++] = node;
    while (n_way-- > 0) {
        const sampi_json_node *n = sampi_doc(x, way[n_way]);
        bool one = many, names = false;
        for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++)
            one |= n->name >= 0 && n->name == x->key[of_one[i]];
        for (size_t i = 0; i < sizeof of_names / sizeof *of_names && !many; i++)
            names |= n->name >= 0 && n->name == x->key[of_names[i]];
        if (!one && !names) return false;
        many = !many && (names || n->kind == SAMPI_JSON_ARRAY);
    }
    return !many;
}

/* The $id of a schema (draft 4: id), as a string's number; -1: it has none. */
static SAMPI_COLD int32_t sampi_schema_id(sampi_schema *x, int32_t schema)
{
    int32_t node = sampi_keyword(x, schema, x->draft == 4 ? SAMPI_KEY_OLD_ID : SAMPI_KEY_ID);
    bool has = node >= 0 && sampi_doc(x, node)->kind == SAMPI_JSON_STRING && sampi_is_schema(x, schema);
    return has ? sampi_doc(x, node)->text : -1;
}

static SAMPI_COLD size_t sampi_uri_end(const char *text, size_t n) /* what is before the # */
{
    size_t end = 0;
    while (end < n && text[end] != '#') end++;
    return end;
}

/* Replaces an address by what a reference, told without its #, means there. Returns its length; 0: it is too long, or
   climbs (../). */
static SAMPI_COLD size_t sampi_uri_join(char *base, size_t n, const char *ref, size_t n_ref)
{
    size_t scheme = 0, path = 0, keep = 0;
    if (n_ref == 0) return n;
    while (scheme < n_ref && ((ref[scheme] | 32) >= 'a' && (ref[scheme] | 32) <= 'z')) scheme++;
    for (size_t i = 0; i + 2 < n && !path; i++)
        if (!memcmp(base + i, "://", 3)) path = i + 3;
    while (path < n && base[path] != '/') path++;
    if (ref[0] == '/')
        keep = path;
    else
        for (size_t i = path; i < n; i++)
            if (base[i] == '/') keep = i + 1;
    if (scheme > 0 && scheme < n_ref && ref[scheme] == ':')
        keep = 0;
    else if (ref[0] == '.' || (keep == 0 && path > 0))
        return 0;
    if (keep + n_ref >= SAMPI_URI) return 0;
    memcpy(base + keep, ref, n_ref);
    return keep + n_ref;
}

/* The address that holds at a node: the $id around it, joined from the root on. 0: none. */
static SAMPI_COLD size_t sampi_schema_address(sampi_schema *x, int32_t node, char *out)
{
    int32_t way[SAMPI_JSON_DEPTH + 1];
    int n_way = 0;
    size_t n = 0;
    for (; node >= 0; node = sampi_doc(x, node)->parent) way[n_way++] = node;
    while (n_way-- > 0) {
        size_t n_id = 0;
        int32_t id = sampi_schema_id(x, way[n_way]);
        const char *text = id < 0 ? "" : sampi_doc_text(x, id, &n_id);
        n = sampi_uri_join(out, n, text, sampi_uri_end(text, n_id));
    }
    return n;
}

/* The schema around a node that has an address of its own, or the root. */
static SAMPI_COLD int32_t sampi_schema_resource(sampi_schema *x, int32_t node)
{
    for (; sampi_doc(x, node)->parent >= 0; node = sampi_doc(x, node)->parent) {
        size_t n = 0;
        int32_t id = sampi_schema_id(x, node);
        const char *text = id < 0 ? "" : sampi_doc_text(x, id, &n);
        if (sampi_uri_end(text, n) > 0) break;
    }
    return node;
}

/* The schema with that address; -1: there is none. */
static SAMPI_COLD int32_t sampi_schema_addressed(sampi_schema *x, const char *address, size_t n)
{
    char out[SAMPI_URI];
    for (int32_t i = 0; i < x->doc.n_nodes && n; i++) {
        if (sampi_schema_id(x, i) < 0 || sampi_schema_resource(x, i) != i || !sampi_schema_step(x, i)) continue;
        if (sampi_schema_address(x, i, out) == n && !memcmp(out, address, n)) return i;
    }
    return -1;
}

/* The node that a JSON pointer leads to from another one, or -1. */
static SAMPI_COLD int32_t sampi_json_pointed(const sampi_json *doc, int32_t node, const char *at, const char *end)
{
    char token[SAMPI_URI];
    while (at < end && node >= 0) {
        size_t n = 0;
        int32_t index = 0;
        bool number = true;
        for (at++; at < end && *at != '/' && n < sizeof token; at++) {
            token[n] = *at;
            if (*at == '~' && at + 1 < end) token[n] = *++at == '1' ? '/' : '~';
            number = number && token[n] >= '0' && token[n] <= '9' && index < 100000000;
            if (number) index = index * 10 + (token[n] - '0');
            n++;
        }
        if (doc->nodes[node].kind == SAMPI_JSON_ARRAY) {
            int32_t i = number && n ? doc->nodes[node].first : -1;
            while (i >= 0 && index-- > 0) i = doc->nodes[i].next;
            node = i;
        } else
            node = sampi_json_member(doc, node, sampi_json_find(doc, token, n));
    }
    return node;
}

/* The schema of a resource that has this anchor: $anchor, or an $id that is only that. */
static SAMPI_COLD int32_t sampi_schema_anchored(sampi_schema *x, int32_t resource, const char *name, size_t n)
{
    static const sampi_schema_key keys[2] = { SAMPI_KEY_ANCHOR, SAMPI_KEY_DYNAMIC_ANCHOR };
    int32_t string = sampi_json_find(&x->doc, name, n);
    for (int32_t i = resource; i < x->doc.n_nodes; i++) {
        size_t n_id = 0;
        int32_t id = sampi_schema_id(x, i);
        const char *text = id < 0 ? "" : sampi_doc_text(x, id, &n_id);
        bool found = n_id == n + 1 && text[0] == '#' && !memcmp(text + 1, name, n);
        for (int k = 0; k < 2 && !found; k++) {
            int32_t anchor = sampi_keyword(x, i, keys[k]);
            found = anchor >= 0 && string >= 0 && sampi_doc(x, anchor)->text == string;
        }
        if (found && sampi_is_schema(x, i) && sampi_schema_resource(x, i) == resource) return i;
        if (sampi_doc(x, i)->kind == SAMPI_JSON_OBJECT && !sampi_schema_step(x, i)) break;
    }
    return -1;
}

/* What is behind the # without its percent signs; its length. */
static SAMPI_COLD size_t sampi_uri_decode(const char *text, size_t n, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n && used < SAMPI_URI; i++, used++) {
        int high = i + 2 < n && text[i] == '%' ? sampi_hex_digit(text[i + 1]) : -1;
        int low = high < 0 ? -1 : sampi_hex_digit(text[i + 2]);
        out[used] = low < 0 ? text[i] : (char)(high * 16 + low);
        if (low >= 0) i += 2;
    }
    return used;
}

/* The schema that the value of a $ref means. Found once. -1: an error. */
static SAMPI_COLD int32_t sampi_schema_target(sampi_schema *x, int32_t ref)
{
    char address[SAMPI_URI], place[SAMPI_URI];
    size_t n;
    int32_t found = x->targets[ref], resource;
    if (found >= 0 || x->status) return x->status ? -1 : found;
    if (sampi_doc(x, ref)->kind != SAMPI_JSON_STRING) return sampi_malformed(x, ref, "expected a reference"), -1;
    const char *text = sampi_doc_text(x, sampi_doc(x, ref)->text, &n);
    size_t end = sampi_uri_end(text, n);
    if (n > SAMPI_URI) return sampi_schema_fail(x, ref, SAMP_E_RANGE, "the reference is too long"), -1;
    if (end == 0)
        resource = sampi_schema_resource(x, ref);
    else
        resource = sampi_schema_addressed(x, address,
                                          sampi_uri_join(address, sampi_schema_address(x, ref, address), text, end));
    if (resource < 0) return sampi_refuse(x, ref, "a schema that is not in this text"), -1;
    size_t n_place = end < n ? sampi_uri_decode(text + end + 1, n - end - 1, place) : 0;
    if (n_place > 0 && place[0] != '/')
        found = sampi_schema_anchored(x, resource, place, n_place);
    else
        found = sampi_json_pointed(&x->doc, resource, place, place + n_place);
    if (found < 0 && !x->status)
        sampi_malformed(x, ref, "expected a reference to a schema of this text");
    else if (found >= 0 && sampi_doc(x, found)->kind != SAMPI_JSON_OBJECT &&
             sampi_doc(x, found)->kind > SAMPI_JSON_TRUE)
        sampi_malformed(x, ref, "expected a reference to a schema");
    return x->targets[ref] = x->status ? -1 : found;
}

/* ---- strings ---- */

/* The shortest spelling of a code point in a JSON string: how many bytes. */
static SAMPI_COLD uint32_t sampi_json_spell(char *out, uint32_t c)
{
    static const char escaped[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt", hex[] = "0123456789abcdef";
    const char *known = c && c < 0x80 ? strchr(escaped, (int)c) : NULL;
    if (!known && c >= 0x20) return sampi_utf8_put(out, c);
    out[0] = '\\';
    if (known) return out[1] = letter[known - escaped], 2;
    memcpy(out + 1, "u00", 3);
    out[4] = hex[c >> 4];
    out[5] = hex[c & 15];
    return 6;
}

/* A text as a JSON string, with its quotes. */
static SAMPI_COLD sampi_node sampi_schema_quoted(sampi_schema *x, int32_t string)
{
    size_t n, used = 0;
    const char *text = sampi_doc_text(x, string, &n);
    char *out = (char *)SAMP_MALLOC(6 * n + 2);
    if (!out) return SAMP_E_NOMEM;
    out[used++] = '"';
    for (const unsigned char *at = (const unsigned char *)text, *end = at + n; at < end;) {
        uint32_t c;
        at += sampi_utf8_get(at, end, &c);
        used += sampi_json_spell(out + used, c);
    }
    out[used++] = '"';
    sampi_node node = sampi_tree_text(x->tree, out, used);
    SAMP_FREE(out);
    return node;
}

/* One of the code points lo .. hi, in its shortest spelling. */
static SAMPI_COLD sampi_node sampi_schema_range(sampi_tree *t, uint32_t lo, uint32_t hi)
{
    static const uint32_t raw[3][2] = { { 0x20, 0x21 }, { 0x23, 0x5b }, { 0x5d, 0x10ffff } };
    sampi_node node = SAMPI_NEVER;
    for (int i = 0; i < 3; i++) {
        uint32_t range[1][2] = { { lo > raw[i][0] ? lo : raw[i][0], hi < raw[i][1] ? hi : raw[i][1] } };
        if (range[0][0] <= range[0][1])
            node = sampi_tree_alt(t, node, sampi_tree_class(t, (const uint32_t(*)[2])range, 1, false));
    }
    for (uint32_t c = 0; c <= 0x5c; c = c == 0x1f ? 0x22 : c == 0x22 ? 0x5c : c + 1) {
        char out[8];
        if (c >= lo && c <= hi) node = sampi_tree_alt(t, node, sampi_tree_text(t, out, sampi_json_spell(out, c)));
    }
    return node;
}

/* A node between quotes. */
static SAMPI_COLD sampi_node sampi_schema_in_quotes(sampi_tree *t, sampi_node inside)
{
    sampi_node quote = sampi_tree_text(t, "\"", 1);
    return sampi_tree_seq(t, quote, sampi_tree_seq(t, inside, quote));
}

/* ---- numbers ---- */

/* A decimal number: 0.d1 d2 d3 ... times 10 to the power of `point`; d1 and the last digit are not 0. Zero has none. */
typedef struct sampi_decimal {
    bool negative;
    int32_t n, point;
    char d[400];
} sampi_decimal;

/* The number of a node; false: it has more digits than we take (no error). */
static SAMPI_COLD bool sampi_decimal_read(const sampi_schema *x, int32_t node, sampi_decimal *d)
{
    size_t n, i = 0;
    const char *text = sampi_doc_text(x, sampi_doc(x, node)->text, &n);
    int32_t exponent = 0;
    bool behind = false;
    d->n = d->point = 0;
    d->negative = text[0] == '-';
    for (i = d->negative; i < n && (text[i] | 0x20) != 'e'; i++) {
        if (text[i] == '.')
            behind = true;
        else if (d->n > 0 || text[i] != '0') {
            if (d->n == (int32_t)sizeof d->d) return false;
            d->d[d->n++] = text[i];
            d->point += !behind;
        } else
            d->point -= behind;
    }
    bool minus = i + 1 < n && text[i + 1] == '-';
    for (i++; i < n; i++)
        if (text[i] >= '0' && text[i] <= '9' && exponent < 100000) exponent = exponent * 10 + (text[i] - '0');
    while (d->n > 0 && d->d[d->n - 1] == '0') d->n--;
    d->point = d->n ? d->point + (minus ? -exponent : exponent) : 0;
    if (d->n == 0) d->negative = false;
    return d->point <= (int32_t)sizeof d->d && d->point >= -(int32_t)sizeof d->d;
}

static SAMPI_COLD bool sampi_decimal_same(const sampi_decimal *a, const sampi_decimal *b)
{
    return a->negative == b->negative && a->n == b->n && a->point == b->point && !memcmp(a->d, b->d, (size_t)a->n);
}

static SAMPI_COLD void sampi_schema_decimal(sampi_schema *x, int32_t node, sampi_decimal *d)
{
    bool number = sampi_doc(x, node)->kind == SAMPI_JSON_NUMBER;
    d->n = d->point = 0;
    d->negative = false;
    if (!number)
        sampi_malformed(x, node, "expected a number");
    else if (!sampi_decimal_read(x, node, d))
        sampi_schema_fail(x, node, SAMP_E_RANGE, "this number has too many digits");
}

/* Its digits as they are written: before the point at least one, behind it as many as there must be. */
static int32_t sampi_decimal_whole(const sampi_decimal *d) { return d->point > 1 ? d->point : 1; }
static int32_t sampi_decimal_tail(const sampi_decimal *d) { return d->n > d->point ? d->n - d->point : 0; }
static int sampi_decimal_digit(const sampi_decimal *d, int32_t i) /* i = 0: the first one written */
{
    i += d->point - sampi_decimal_whole(d);
    return i >= 0 && i < d->n ? d->d[i] : '0';
}

static SAMPI_COLD sampi_node sampi_schema_optional(sampi_tree *t, sampi_node a)
{
    return sampi_tree_repeat(t, a, 0, 1);
}

/* The digits a .. b, so many times. */
static SAMPI_COLD sampi_node sampi_schema_digits(sampi_tree *t, int a, int b, int32_t least, int32_t most)
{
    return a > b ? (sampi_node)SAMPI_NEVER
                 : sampi_tree_repeat(t, sampi_tree_byte(t, (uint32_t)a, (uint32_t)b), least, most);
}

/* The digits of d from the one in place i on, or larger ones of the same number; `same` follows if they are the same,
   `larger` if not, behind n - 1 - i digits more. */
static SAMPI_COLD sampi_node sampi_schema_from_digits(sampi_tree *t, const sampi_decimal *d, int32_t first, int32_t n,
                                                      sampi_node same, sampi_node larger, bool any_tail)
{
    for (int32_t i = n; i-- > 0;) {
        int digit = sampi_decimal_digit(d, first + i);
        sampi_node rest = any_tail
                              ? larger
                              : sampi_tree_seq(t, sampi_schema_digits(t, '0', '9', n - 1 - i, n - 1 - i), larger);
        same = sampi_tree_alt(t, sampi_tree_seq(t, sampi_schema_digits(t, digit, digit, 1, 1), same),
                              sampi_tree_seq(t, sampi_schema_digits(t, digit + 1, '9', 1, 1), rest));
    }
    return same;
}

/* The numbers without sign that are at least |d|, or with `strict` more. */
static SAMPI_COLD sampi_node sampi_schema_above(const sampi_schema *x, const sampi_decimal *d, bool strict)
{
    sampi_tree *t = x->tree;
    int32_t whole = sampi_decimal_whole(d), tail = sampi_decimal_tail(d);
    sampi_node zeros = sampi_schema_digits(t, '0', '0', 0, -1), any = sampi_schema_digits(t, '0', '9', 0, -1);
    sampi_node more = sampi_tree_seq(t, zeros, sampi_tree_seq(t, sampi_schema_digits(t, '1', '9', 1, 1), any));
    sampi_node behind = strict ? more : any, point = sampi_tree_text(t, ".", 1);
    behind = sampi_schema_from_digits(t, d, whole, tail, behind, any, true);
    if (tail == 0 && !strict)
        behind = x->fraction;
    else
        behind = sampi_tree_seq(t, point, behind);
    sampi_node same = sampi_schema_from_digits(t, d, 0, whole, behind, x->fraction, false);
    sampi_node longer = sampi_tree_seq(t, sampi_schema_digits(t, '1', '9', 1, 1),
                                       sampi_schema_digits(t, '0', '9', whole, -1));
    return sampi_tree_alt(t, same, sampi_tree_seq(t, longer, x->fraction));
}

/* What is not in a, of a set that has no text but UTF-8. */
static SAMPI_COLD sampi_node sampi_schema_except(sampi_tree *t, sampi_node all, sampi_node a)
{
    return sampi_tree_and(t, all, a < 0 ? a : sampi_tree_node(t, SAMPI_NODE_NOT, a, 0, 0));
}

static SAMPI_COLD sampi_node sampi_schema_minus(sampi_tree *t, sampi_node a)
{
    return sampi_tree_seq(t, sampi_tree_text(t, "-", 1), a);
}

/* The numbers from d on, or with `strict` above it. */
static SAMPI_COLD sampi_node sampi_schema_at_least(const sampi_schema *x, const sampi_decimal *d, bool strict)
{
    sampi_tree *t = x->tree;
    if (d->n > 0 && !d->negative) return sampi_schema_above(x, d, strict);
    if (d->n == 0 && strict) return sampi_schema_above(x, d, true);
    sampi_node small = sampi_schema_except(t, x->magnitude, sampi_schema_above(x, d, !strict));
    return sampi_tree_alt(t, x->magnitude, sampi_schema_minus(t, small));
}

/* The spellings of the number at `node` that are taken: without an exponent, any number of zeros at the end of the
   fraction, 0 also as -0. */
static SAMPI_COLD sampi_node sampi_schema_exactly(const sampi_schema *x, int32_t node)
{
    sampi_tree *t = x->tree;
    sampi_decimal d;
    if (!sampi_decimal_read(x, node, &d)) return SAMP_E_RANGE;
    char text[2 * sizeof d.d + 4];
    size_t n = 0, whole = (size_t)sampi_decimal_whole(&d), tail = (size_t)sampi_decimal_tail(&d);
    for (size_t i = 0; i < whole + tail; i++) {
        if (i == whole) text[n++] = '.';
        text[n++] = (char)sampi_decimal_digit(&d, (int32_t)i);
    }
    sampi_node zeros = sampi_schema_digits(t, '0', '0', tail ? 0 : 1, -1), number = sampi_tree_text(t, text, n);
    if (tail == 0) zeros = sampi_schema_optional(t, sampi_tree_seq(t, sampi_tree_text(t, ".", 1), zeros));
    number = sampi_tree_seq(t, number, zeros);
    if (d.n == 0) return sampi_tree_seq(t, sampi_schema_optional(t, sampi_tree_text(t, "-", 1)), number);
    return d.negative ? sampi_schema_minus(t, number) : number;
}

/* The whole numbers. Drafts before 6 do not count 1.0 among them. */
static SAMPI_COLD sampi_node sampi_schema_whole(const sampi_schema *x)
{
    sampi_tree *t = x->tree;
    sampi_node point = sampi_tree_seq(t, sampi_tree_text(t, ".", 1), sampi_schema_digits(t, '0', '0', 1, -1));
    sampi_node sign = sampi_schema_optional(t, sampi_tree_text(t, "-", 1));
    sampi_node whole = sampi_tree_seq(t, sign, x->digits);
    return x->draft == 4 ? whole : sampi_tree_seq(t, whole, sampi_schema_optional(t, point));
}

/* n digits, a multiple of m if `rest` stands before them: nodes[] has this of one digit less for each rest of m,
   and then of n. */
static SAMPI_COLD void sampi_schema_rests(const sampi_schema *x, sampi_node *nodes, sampi_node *more, int32_t m,
                                          int32_t power)
{
    sampi_tree *t = x->tree;
    for (int32_t rest = 0; rest < m; rest++) {
        sampi_node node = SAMPI_NEVER;
        for (int32_t d = 9; d >= 0; d--) {
            sampi_node less = nodes[(rest + d * power) % m];
            if (less == SAMPI_NEVER) continue;
            node = sampi_tree_alt(t, sampi_tree_seq(t, sampi_schema_digits(t, '0' + d, '0' + d, 1, 1), less), node);
        }
        more[rest] = node;
    }
    memcpy(nodes, more, (size_t)m * sizeof *nodes);
}

/* The whole multiples (no sign) of m * 10^zeros, where m divides 10^k: what ends in k digits that are one of m, or is
   shorter. */
static SAMPI_COLD sampi_node sampi_schema_whole_multiples(const sampi_schema *x, int32_t m, int32_t k, int32_t zeros)
{
    sampi_tree *t = x->tree;
    sampi_node *nodes = (sampi_node *)SAMP_MALLOC(2 * (size_t)m * sizeof *nodes), all = SAMPI_NEVER;
    if (!nodes) return SAMP_E_NOMEM; /* only ever of few: m is a power of 2 or 5 */
    for (int32_t rest = 0; rest < m; rest++) nodes[rest] = rest ? SAMPI_NEVER : SAMPI_EMPTY;
    for (int32_t i = 0, power = 1; i < k; i++, power *= 10) {
        sampi_schema_rests(x, nodes, nodes + m, m, power);
        all = sampi_tree_alt(t, nodes[0], all);
    }
    all = sampi_tree_alt(t, all, sampi_tree_seq(t, sampi_schema_digits(t, '0', '9', 0, -1), nodes[0]));
    SAMP_FREE(nodes);
    all = sampi_tree_seq(t, all, sampi_schema_digits(t, '0', '0', zeros, zeros));
    return sampi_tree_and(t, x->digits, sampi_tree_alt(t, sampi_tree_text(t, "0", 1), all));
}

/* The whole numbers (no sign) that end in the digits w [n]. A number may be shorter than that: as if zeros led it. */
static SAMPI_COLD sampi_node sampi_schema_whole_end(const sampi_schema *x, const char *w, int32_t n)
{
    sampi_tree *t = x->tree;
    int32_t lead = 0;
    while (lead < n && w[lead] == '0') lead++;
    sampi_node any = sampi_schema_digits(t, '0', '9', 0, -1);
    sampi_node longer = sampi_tree_seq(t, any, sampi_tree_text(t, w, (size_t)n));
    sampi_node exact = lead == n ? sampi_tree_text(t, "0", 1) : sampi_tree_text(t, w + lead, (size_t)(n - lead));
    return sampi_tree_and(t, x->digits, sampi_tree_alt(t, longer, exact));
}

/* The fractions, with their point, that have `gap` digits, then f [n], then zeros; those at the end may be missing. */
static SAMPI_COLD sampi_node sampi_schema_fraction_end(const sampi_schema *x, int32_t gap, const char *f, int32_t n)
{
    sampi_tree *t = x->tree;
    sampi_node zeros = sampi_schema_digits(t, '0', '0', 0, -1), point = sampi_tree_text(t, ".", 1), behind;
    while (n > 0 && f[n - 1] == '0') n--;
    if (n > 0) {
        behind = sampi_tree_seq(t, sampi_tree_text(t, f, (size_t)n), zeros);
        return sampi_tree_seq(t, point, sampi_tree_seq(t, sampi_schema_digits(t, '0', '9', gap, gap), behind));
    }
    behind = sampi_schema_digits(t, '0', '0', 1, -1);
    if (gap) behind = sampi_tree_alt(t, behind, sampi_tree_seq(t, sampi_schema_digits(t, '0', '9', 1, gap), zeros));
    return sampi_schema_optional(t, sampi_tree_seq(t, point, behind));
}

/* The multiples of m * 10^e where m divides a power of ten, 10^k: then k digits tell, which all multiples of m below
   10^k end in. They stand before e zeros, or end in place -e behind the point. */
static SAMPI_COLD sampi_node sampi_schema_multiples(sampi_schema *x, int32_t node)
{
    sampi_tree *t = x->tree;
    sampi_decimal d;
    sampi_schema_decimal(x, node, &d);
    if (d.n == 0 || d.negative) return sampi_malformed(x, node, "expected a number above 0"), SAMPI_NEVER;
    int32_t m = 0, power = 1, k = 0, e = d.point - d.n;
    for (int32_t i = 0; i < d.n && m < 100000; i++) m = m * 10 + (d.d[i] - '0'); /* more digits: too large anyway */
    for (; power % m != 0 && power < 10000; k++) power *= 10;
    if (power % m != 0) return sampi_refuse(x, node, "only multiples of what divides a power of ten"), SAMPI_NEVER;
    int32_t places = e < 0 ? -e : 0, n_whole = k > places ? k - places : 0;
    sampi_node all = SAMPI_NEVER;
    if (e >= 0)
        all = sampi_tree_seq(t, k + e ? sampi_schema_whole_multiples(x, m, k, e) : x->digits,
                             sampi_schema_fraction_end(x, 0, NULL, 0));
    for (int32_t end = 0; end < power && e < 0; end += m) {
        char text[8];
        for (int32_t i = k, rest = end; i-- > 0; rest /= 10) text[i] = (char)('0' + rest % 10);
        sampi_node whole = n_whole ? sampi_schema_whole_end(x, text, n_whole) : x->digits;
        sampi_node fraction = sampi_schema_fraction_end(x, places - (k - n_whole), text + n_whole, k - n_whole);
        all = sampi_tree_alt(t, all, sampi_tree_seq(t, whole, fraction));
    }
    return sampi_tree_seq(t, sampi_schema_optional(t, sampi_tree_text(t, "-", 1)), all);
}

/* ---- sets of texts ---- */

static sampi_texts sampi_texts_any(void)
{
    sampi_texts all = { SAMPI_NEVER, 0, SAMPI_ANY };
    return all;
}

static sampi_texts sampi_texts_none(void)
{
    sampi_texts none = { SAMPI_NEVER, 0, 0 };
    return none;
}

static SAMPI_COLD sampi_texts sampi_texts_some(sampi_schema *x, sampi_node node)
{
    sampi_schema_made(x, node);
    sampi_texts some = { node, 0, node == SAMPI_NEVER ? 0 : SAMPI_SOME };
    return some;
}

/* Are two numbers, or two strings, the same value? */
static SAMPI_COLD bool sampi_schema_same(const sampi_schema *x, int32_t a, int32_t b)
{
    sampi_decimal p, q;
    if (sampi_doc(x, a)->text == sampi_doc(x, b)->text) return true;
    if (sampi_doc(x, a)->kind != SAMPI_JSON_NUMBER) return false;
    return sampi_decimal_read(x, a, &p) && sampi_decimal_read(x, b, &q) && sampi_decimal_same(&p, &q);
}

/* One value: a number or a string. */
static SAMPI_COLD sampi_node sampi_schema_value_text(sampi_schema *x, int32_t value)
{
    return sampi_doc(x, value)->kind == SAMPI_JSON_STRING ? sampi_schema_quoted(x, sampi_doc(x, value)->text)
                                                          : sampi_schema_exactly(x, value);
}

static SAMPI_COLD sampi_node sampi_texts_node(sampi_schema *x, sampi_texts a, bool string)
{
    if (a.n == SAMPI_ANY) return string ? x->string : x->number;
    if (a.n == SAMPI_SOME) return a.node;
    sampi_node node = SAMPI_NEVER;
    for (int32_t i = 0; i < a.n && node >= 0; i++)
        node = sampi_tree_alt(x->tree, sampi_schema_value_text(x, *sampi_ints(&x->arena, a.list + i)), node);
    return node;
}

/* Is the value, as JSON and not as a spelling, in a list (not SAMPI_ANY or SAMPI_SOME)? */
static SAMPI_COLD bool sampi_texts_has(const sampi_schema *x, sampi_texts list, int32_t value)
{
    for (int32_t i = 0; i < list.n; i++)
        if (sampi_schema_same(x, *sampi_ints(&x->arena, list.list + i), value)) return true;
    return false;
}

/* The values of list a that are in list b, or with `in` false that are not. */
static SAMPI_COLD sampi_texts sampi_texts_filter(sampi_schema *x, sampi_texts a, sampi_texts b, bool in)
{
    sampi_texts both = { SAMPI_NEVER, x->arena.n, 0 };
    for (int32_t i = 0; i < a.n && sampi_schema_step(x, 0); i++) {
        int32_t value = *sampi_ints(&x->arena, a.list + i);
        if (sampi_texts_has(x, b, value) == in) sampi_push(x, &x->arena, value);
    }
    both.n = x->arena.n - both.list;
    return both;
}

/* Is the node all strings of so many characters? They are r->a, at least r->b and at most r->c (-1: any number). */
static SAMPI_COLD bool sampi_schema_length(const sampi_schema *x, sampi_node node, sampi_expr *r)
{
    const sampi_tree *t = x->tree;
    if (node < 0 || x->status || sampi_at(t, node)->kind != SAMPI_NODE_SEQ) return false;
    const sampi_node quote = sampi_at(t, x->string)->a, behind = sampi_at(t, node)->b;
    if (sampi_at(t, node)->a != quote || sampi_at(t, behind)->kind != SAMPI_NODE_SEQ) return false;
    const sampi_expr e = *sampi_at(t, behind);
    if (e.b != quote) return false;
    *r = *sampi_at(t, e.a);
    if (r->kind != SAMPI_NODE_REPEAT) { /* one is no REPEAT */
        r->a = e.a;
        r->b = r->c = 1;
    }
    return r->a == x->any || r->a == x->character;
}

/* Strings of so many characters; most -1: any number. */
static SAMPI_COLD sampi_node sampi_schema_long(const sampi_schema *x, sampi_node character, int32_t least,
                                               int32_t most)
{
    return sampi_schema_in_quotes(x->tree, sampi_tree_repeat(x->tree, character, least, most));
}

/* What both match. Of two lengths one is made: counters that run side by side would have too many states. */
static SAMPI_COLD sampi_node sampi_schema_both(sampi_schema *x, sampi_node a, sampi_node b)
{
    sampi_expr p, q;
    if (!sampi_schema_length(x, a, &p) || !sampi_schema_length(x, b, &q)) return sampi_tree_and(x->tree, a, b);
    int32_t least = p.b > q.b ? p.b : q.b, most = p.c < 0 || (q.c >= 0 && q.c < p.c) ? q.c : p.c;
    return most >= 0 && least > most ? (sampi_node)SAMPI_NEVER
                                     : sampi_schema_long(x, p.a == x->any ? q.a : p.a, least, most);
}

static SAMPI_COLD sampi_texts sampi_texts_and(sampi_schema *x, sampi_texts a, sampi_texts b, bool string)
{
    if (a.n == SAMPI_ANY || b.n == 0) return b;
    if (b.n == SAMPI_ANY || a.n == 0) return a;
    if (a.n > 0 && b.n > 0) return sampi_texts_filter(x, a, b, true);
    return sampi_texts_some(x, sampi_schema_both(x, sampi_texts_node(x, a, string), sampi_texts_node(x, b, string)));
}

static SAMPI_COLD sampi_texts sampi_texts_or(sampi_schema *x, sampi_texts a, sampi_texts b, bool string)
{
    if (a.n == SAMPI_ANY || b.n == 0) return a;
    if (b.n == SAMPI_ANY || a.n == 0) return b;
    if (a.n < 0 || b.n < 0)
        return sampi_texts_some(
            x, sampi_tree_alt(x->tree, sampi_texts_node(x, a, string), sampi_texts_node(x, b, string)));
    sampi_texts either = sampi_texts_filter(x, b, a, false);
    int32_t list = x->arena.n;
    for (int32_t i = 0; i < a.n + either.n; i++)
        sampi_push(x, &x->arena, *sampi_ints(&x->arena, i < a.n ? a.list + i : either.list + i - a.n));
    either.list = list;
    either.n += a.n;
    return either;
}

static SAMPI_COLD sampi_texts sampi_texts_not(sampi_schema *x, sampi_texts a, bool string)
{
    if (a.n == SAMPI_ANY) return sampi_texts_none();
    if (a.n == 0) return sampi_texts_any();
    sampi_expr r;
    if (string && a.n == SAMPI_SOME && sampi_schema_length(x, a.node, &r)) {
        sampi_node longer = r.c < 0 ? SAMPI_NEVER : sampi_schema_long(x, x->character, r.c + 1, -1);
        sampi_node shorter = r.b == 0 ? SAMPI_NEVER : sampi_schema_long(x, x->character, 0, r.b - 1);
        return sampi_texts_some(x, sampi_tree_alt(x->tree, shorter, longer));
    }
    return sampi_texts_some(
        x, sampi_schema_except(x->tree, string ? x->shortest : x->plain, sampi_texts_node(x, a, string)));
}

/* ---- patterns and formats ---- */

/* A class of code points as sampi_tree_regex wants it, each in its shortest spelling. */
static SAMPI_COLD sampi_node sampi_schema_class(sampi_tree *t, const uint32_t (*ranges)[2], size_t n, bool negated)
{
    sampi_node node = SAMPI_NEVER;
    for (uint32_t next = 0; next <= 0x10ffff && node >= 0;) {
        uint32_t lo = 0x110000; /* what the ranges have from next on, up to the first hole: lo .. hi - 1 */
        for (size_t i = 0; i < n; i++)
            if (ranges[i][1] >= next && ranges[i][0] < lo) lo = ranges[i][0] > next ? ranges[i][0] : next;
        uint32_t hi = lo;
        for (bool more = true; more;) {
            more = false;
            for (size_t i = 0; i < n; i++)
                if (ranges[i][0] <= hi && ranges[i][1] >= hi && hi <= 0x10ffff) hi = ranges[i][1] + 1, more = true;
        }
        if (negated && next < lo) node = sampi_tree_alt(t, node, sampi_schema_range(t, next, lo - 1));
        if (!negated && lo < hi) node = sampi_tree_alt(t, node, sampi_schema_range(t, lo, hi - 1));
        next = hi > next ? hi : 0x110000;
    }
    return node;
}

/* The strings that match the regular expression of a node: its text, or a member's name. */
static SAMPI_COLD sampi_node sampi_schema_regex(sampi_schema *x, int32_t node, const char *text, size_t n,
                                                bool search)
{
    samp_grammar_error error;
    sampi_node inside = sampi_tree_regex(x->tree, text, n, search, sampi_schema_class, &error);
    if (inside < 0) sampi_schema_fail(x, node, inside, error.message);
    return x->status ? (sampi_node)SAMPI_NEVER : sampi_schema_in_quotes(x->tree, inside);
}

static SAMPI_COLD sampi_node sampi_schema_pattern(sampi_schema *x, int32_t node, int32_t string)
{
    size_t n;
    for (int32_t i = 0; i < x->patterns.n; i += 2)
        if (*sampi_ints(&x->patterns, i) == string) return *sampi_ints(&x->patterns, i + 1);
    char *text = NULL; /* with a 0 behind it */
    const char *bytes = sampi_doc_text(x, string, &n);
    if (!(text = (char *)SAMP_MALLOC(n + 1)))
        return sampi_schema_fail(x, node, SAMP_E_NOMEM, "out of memory"), SAMPI_NEVER;
    memcpy(text, bytes, n);
    text[n] = 0;
    sampi_node found = sampi_schema_regex(x, node, text, n, true);
    SAMP_FREE(text);
    sampi_push(x, &x->patterns, string);
    sampi_push(x, &x->patterns, found);
    return found;
}

/* The names that a member of patternProperties speaks of. */
static SAMPI_COLD sampi_node sampi_schema_named_pattern(sampi_schema *x, int32_t member)
{
    return sampi_schema_pattern(x, member, sampi_doc(x, member)->name);
}

/* The formats of the standard. Of some only bounds are regular: every text of the first is of the format, and every
   text of the format is of the second (NULL: the first is exact). Several lines of a name hold together. */
#define SAMPI_RE_DATE                                                                                                \
    "((\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8])))"    \
    "|(\\d\\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)"
#define SAMPI_RE_CLOCK   "([01]\\d|2[0-3]):[0-5]\\d"
#define SAMPI_RE_ZONE    "([Zz]|[+-]" SAMPI_RE_CLOCK ")"
#define SAMPI_RE_SECONDS "(\\.\\d+)?"
#define SAMPI_RE_TIME                                                                                                \
    "(" SAMPI_RE_CLOCK ":[0-5]\\d" SAMPI_RE_SECONDS SAMPI_RE_ZONE "|23:59:60" SAMPI_RE_SECONDS "([Zz]|[+-]00:00))"
#define SAMPI_RE_TIMES    "(" SAMPI_RE_CLOCK ":([0-5]\\d|60)" SAMPI_RE_SECONDS SAMPI_RE_ZONE ")"
#define SAMPI_RE_IPV4     "((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(\\.(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)){3})"
#define SAMPI_RE_H16      "[0-9A-Fa-f]{1,4}"
#define SAMPI_RE_LS32     "(" SAMPI_RE_H16 ":" SAMPI_RE_H16 "|" SAMPI_RE_IPV4 ")"
#define SAMPI_RE_LEFT(n)  "((" SAMPI_RE_H16 ":){0," n "}" SAMPI_RE_H16 ")?::"
#define SAMPI_RE_RIGHT(n) "(" SAMPI_RE_H16 ":){" n "}" SAMPI_RE_LS32
#define SAMPI_RE_IPV6                                                                                                \
    "(" SAMPI_RE_RIGHT("6") "|::" SAMPI_RE_RIGHT("5") "|" SAMPI_RE_LEFT("0")                                         \
        SAMPI_RE_RIGHT("4") "|" SAMPI_RE_LEFT("1") SAMPI_RE_RIGHT("3") "|" SAMPI_RE_LEFT("2")                        \
            SAMPI_RE_RIGHT("2") "|" SAMPI_RE_LEFT("3") SAMPI_RE_RIGHT("1") "|" SAMPI_RE_LEFT("4") SAMPI_RE_LS32      \
        "|" SAMPI_RE_LEFT("5") SAMPI_RE_H16 "|" SAMPI_RE_LEFT("6") ")"
#define SAMPI_RE_LABEL   "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define SAMPI_RE_HOST    SAMPI_RE_LABEL "(\\." SAMPI_RE_LABEL ")*"
#define SAMPI_RE_ATOM    "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define SAMPI_RE_U(more) "([A-Za-z0-9._~!$&'()*+,;=" more "-]|%[0-9A-Fa-f]{2})"
#define SAMPI_RE_AUTHORITY                                                                                           \
    "//(" SAMPI_RE_U(":") "*@)?(\\[" SAMPI_RE_IPV6 "\\]|" SAMPI_RE_U("") "*)(:\\d*)?(/" SAMPI_RE_U(":@") "*)*"
#define SAMPI_RE_ABSOLUTE "/(" SAMPI_RE_U(":@") "+(/" SAMPI_RE_U(":@") "*)*)?"
#define SAMPI_RE_SCHEME   "[A-Za-z][A-Za-z0-9+.-]*:"
#define SAMPI_RE_QUERY    "(\\?" SAMPI_RE_U(":@/?") "*)?(#" SAMPI_RE_U(":@/?") "*)?"
#define SAMPI_RE_URI                                                                                                 \
    SAMPI_RE_SCHEME "(" SAMPI_RE_AUTHORITY "|" SAMPI_RE_ABSOLUTE                                                     \
                    "|(" SAMPI_RE_U(":@") "+(/" SAMPI_RE_U(":@") "*)*)?)" SAMPI_RE_QUERY
#define SAMPI_RE_DAYS   "\\d+D"
#define SAMPI_RE_MONTHS "\\d+M(\\d+D)?"
#define SAMPI_RE_CLOCKS "T(\\d+H(\\d+M(\\d+S)?)?|\\d+M(\\d+S)?|\\d+S)"

/* What a string of a known format is. An unknown one says nothing, as the standard has it. */
static SAMPI_COLD sampi_texts sampi_schema_format(sampi_schema *x, int32_t node, bool over)
{
    static const struct {
        const char *name, *lower, *upper; /* lower NULL: not supported */
    } formats[] = {
        { "date", SAMPI_RE_DATE, NULL },
        { "time", SAMPI_RE_TIME, SAMPI_RE_TIMES },
        { "date-time", SAMPI_RE_DATE "[Tt]" SAMPI_RE_TIME, SAMPI_RE_DATE "[Tt]" SAMPI_RE_TIMES },
        { "duration",
          "P(\\d+W|(" SAMPI_RE_DAYS "|" SAMPI_RE_MONTHS "|\\d+Y(" SAMPI_RE_MONTHS ")?)(" SAMPI_RE_CLOCKS
          ")?|" SAMPI_RE_CLOCKS ")",
          NULL },
        { "uuid", "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", NULL },
        { "ipv4", SAMPI_RE_IPV4, NULL },
        { "ipv6", SAMPI_RE_IPV6, NULL },
        { "email", SAMPI_RE_ATOM "(\\." SAMPI_RE_ATOM ")*@" SAMPI_RE_HOST, "[^]*@[^]*" },
        { "hostname", SAMPI_RE_HOST, "[A-Za-z0-9.-]*" },
        { "hostname", "[^]{1,253}", NULL },
        { "hostname", "[^-]*(-[^-]+)*", "[^]*" }, /* xn-- has rules of its own */
        { "uri", SAMPI_RE_URI, SAMPI_RE_SCHEME "[^]*" },
        { "uri-reference",
          SAMPI_RE_URI "|(" SAMPI_RE_AUTHORITY "|" SAMPI_RE_ABSOLUTE
                       "|(" SAMPI_RE_U("@") "+(/" SAMPI_RE_U(":@") "*)*)?)" SAMPI_RE_QUERY,
          "[^]*" },
        { "json-pointer", "(/([^/~]|~[01])*)*", NULL },
        { "relative-json-pointer", "(0|[1-9]\\d*)(#|(/([^/~]|~[01])*)*)", NULL },
        { "regex", NULL, NULL },
        { "uri-template", NULL, NULL },
        { "iri", NULL, NULL },
        { "iri-reference", NULL, NULL },
        { "idn-email", NULL, NULL },
        { "idn-hostname", NULL, NULL },
    };
    size_t n;
    sampi_texts all = sampi_texts_any();
    const char *name = sampi_doc_text(x, sampi_doc(x, node)->text, &n);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strlen(formats[i].name) != n || memcmp(formats[i].name, name, n)) continue;
        const char *text = over && formats[i].upper ? formats[i].upper : formats[i].lower;
        if (text)
            all = sampi_texts_and(x, all, sampi_texts_some(x, sampi_schema_regex(x, node, text, strlen(text), false)),
                                  true);
        else
            sampi_refuse(x, node, "this format is not supported");
    }
    return all;
}

/* Brackets around what may be empty. */
static SAMPI_COLD sampi_node sampi_schema_bracket(sampi_schema *x, const char *open, sampi_node inside,
                                                  const char *close)
{
    sampi_tree *t = x->tree;
    sampi_node end = sampi_tree_seq(t, x->space, sampi_tree_text(t, close, 1));
    return sampi_tree_seq(t, sampi_tree_text(t, open, 1),
                          sampi_tree_seq(t, x->space, sampi_tree_seq(t, inside, end)));
}

/* The part of a matcher that derives needs no more than this: the tree comes later. All of a document's names share its
   steps, so that no document takes more than a second. */
static SAMPI_COLD bool sampi_schema_deriver(sampi_schema *x)
{
    sampi_matcher *m = &x->deriver;
    if (m->memo) return true;
    m->memo = (sampi_memo *)SAMP_MALLOC(SAMPI_MEMO * sizeof *m->memo);
    if (!m->memo) return false;
    memset(m->memo, 0xff, SAMPI_MEMO * sizeof *m->memo);
    m->budget = SAMPI_SCHEMA_DERIVED;
    m->max_bytes = SAMPI_SCHEMA_BYTES;
    return true;
}

/* Does a regular node match a TEXT? Byte by byte, by the matcher's derivatives, in this tree. */
static SAMPI_COLD bool sampi_schema_matches(sampi_schema *x, sampi_node node, sampi_node text)
{
    sampi_matcher *m = &x->deriver;
    sampi_schema_made(x, node < 0 ? node : text);
    if (!x->status && !sampi_schema_deriver(x)) sampi_schema_made(x, SAMP_E_NOMEM);
    if (x->status) return false;
    const sampi_expr e = *sampi_at(x->tree, text);
    m->tree = *x->tree; /* lent: the matcher may make it grow */
    for (int32_t i = 0; i < e.b && node != SAMPI_NEVER; i++)
        node = sampi_derive(m, node, sampi_bytes_at(&m->tree, e.a)[i]);
    *x->tree = m->tree;
    sampi_schema_made(x, m->status == SAMP_E_FULL ? (int)SAMP_E_RANGE : m->status);
    return sampi_at(x->tree, node)->known & SAMPI_KNOWN_EMPTY;
}

/* ---- null, booleans, numbers, strings ---- */

static SAMPI_COLD sampi_scalars sampi_scalars_of(unsigned types)
{
    sampi_scalars s = { types & (SAMPI_T_NULL | SAMPI_T_FALSE | SAMPI_T_TRUE), sampi_texts_none(),
                        sampi_texts_none() };
    if (types & SAMPI_T_NUMBER) s.number = sampi_texts_any();
    if (types & SAMPI_T_STRING) s.string = sampi_texts_any();
    return s;
}

/* Set operations, part by part. The arguments are copies; lists in the arena never change. */
static SAMPI_COLD sampi_scalars sampi_scalars_and(sampi_schema *x, sampi_scalars a, sampi_scalars b)
{
    a.types &= b.types;
    a.number = sampi_texts_and(x, a.number, b.number, false);
    a.string = sampi_texts_and(x, a.string, b.string, true);
    return a;
}

static SAMPI_COLD sampi_scalars sampi_scalars_or(sampi_schema *x, sampi_scalars a, sampi_scalars b)
{
    a.types |= b.types;
    a.number = sampi_texts_or(x, a.number, b.number, false);
    a.string = sampi_texts_or(x, a.string, b.string, true);
    return a;
}

static SAMPI_COLD sampi_scalars sampi_scalars_not(sampi_schema *x, sampi_scalars a)
{
    a.types ^= SAMPI_T_NULL | SAMPI_T_FALSE | SAMPI_T_TRUE;
    a.number = sampi_texts_not(x, a.number, false);
    a.string = sampi_texts_not(x, a.string, true);
    return a;
}

/* The set of types that a `type` keyword tells, in names or lists of them; *whole: numbers must be whole. */
static SAMPI_COLD unsigned sampi_schema_types(sampi_schema *x, int32_t node, bool *whole)
{
    static const struct {
        const char *name;
        unsigned types;
    } known[] = { { "null", SAMPI_T_NULL },     { "boolean", SAMPI_T_FALSE | SAMPI_T_TRUE },
                  { "number", SAMPI_T_NUMBER }, { "string", SAMPI_T_STRING },
                  { "array", SAMPI_T_ARRAY },   { "object", SAMPI_T_OBJECT } };
    unsigned types = 0;
    bool list = sampi_doc(x, node)->kind == SAMPI_JSON_ARRAY, number = false;
    *whole = false;
    for (int32_t i = list ? sampi_doc(x, node)->first : node; i >= 0; i = list ? sampi_doc(x, i)->next : -1) {
        size_t n = 0, k = 0;
        const char *name = sampi_doc(x, i)->kind == SAMPI_JSON_STRING ? sampi_doc_text(x, sampi_doc(x, i)->text, &n)
                                                                      : "";
        while (k < 6 && !(strlen(known[k].name) == n && !memcmp(name, known[k].name, n))) k++;
        if (k < 6)
            types |= known[k].types;
        else if (n == 7 && !memcmp(name, "integer", n))
            *whole = true;
        else
            sampi_malformed(x, i, "no type");
        number = number || (k < 6 && known[k].types == SAMPI_T_NUMBER);
    }
    if (number) *whole = false;
    return types | (*whole ? SAMPI_T_NUMBER : 0);
}

/* The bounds of numbers. In draft 4 exclusiveMinimum is a boolean that belongs to minimum. */
static SAMPI_COLD sampi_texts sampi_schema_bound(sampi_schema *x, int32_t schema, bool upper, bool exclusive)
{
    sampi_schema_key keys[2][2] = { { SAMPI_KEY_MINIMUM, SAMPI_KEY_EXCLUSIVE_MINIMUM },
                                    { SAMPI_KEY_MAXIMUM, SAMPI_KEY_EXCLUSIVE_MAXIMUM } };
    int32_t node = sampi_keyword(x, schema, keys[upper][exclusive]);
    if (node < 0 || (exclusive && sampi_doc(x, node)->kind <= SAMPI_JSON_TRUE)) return sampi_texts_any();
    int32_t other = sampi_keyword(x, schema, keys[upper][1]);
    if (!exclusive && other >= 0) exclusive = sampi_doc(x, other)->kind == SAMPI_JSON_TRUE;
    sampi_decimal d;
    sampi_schema_decimal(x, node, &d);
    if (!upper) return sampi_texts_some(x, sampi_schema_at_least(x, &d, exclusive));
    return sampi_texts_some(x, sampi_schema_except(x->tree, x->plain, sampi_schema_at_least(x, &d, !exclusive)));
}

static SAMPI_COLD sampi_texts sampi_schema_numbers(sampi_schema *x, int32_t schema)
{
    sampi_texts all = sampi_texts_any();
    for (int i = 0; i < 4; i++) all = sampi_texts_and(x, all, sampi_schema_bound(x, schema, i & 1, i >> 1), false);
    int32_t node = sampi_keyword(x, schema, SAMPI_KEY_MULTIPLE_OF);
    return node < 0 ? all : sampi_texts_and(x, all, sampi_texts_some(x, sampi_schema_multiples(x, node)), false);
}

static SAMPI_COLD sampi_texts sampi_schema_strings(sampi_schema *x, int32_t schema, bool over)
{
    sampi_texts all = sampi_texts_any();
    int32_t least = sampi_schema_count(x, schema, SAMPI_KEY_MIN_LENGTH, 0);
    int32_t most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_LENGTH, INT32_MAX);
    if (least > most) return sampi_texts_none();
    if (least > 0 || most < INT32_MAX) {
        all = sampi_texts_some(x, sampi_schema_long(x, x->any, least, most < INT32_MAX ? most : -1));
    }
    int32_t pattern = sampi_keyword(x, schema, SAMPI_KEY_PATTERN),
            format = sampi_keyword(x, schema, SAMPI_KEY_FORMAT);
    if (pattern >= 0)
        all = sampi_texts_and(
            x, all, sampi_texts_some(x, sampi_schema_pattern(x, pattern, sampi_doc(x, pattern)->text)), true);
    if (format >= 0) all = sampi_texts_and(x, all, sampi_schema_format(x, format, over), true);
    return all;
}

/* const, and enum; `values` is the one value, or the array of them. */
static SAMPI_COLD sampi_scalars sampi_schema_values(sampi_schema *x, int32_t values, bool one)
{
    sampi_scalars s = sampi_scalars_of(0);
    for (int string = 0; string < 2; string++) {
        sampi_texts *texts = string ? &s.string : &s.number;
        texts->list = x->arena.n;
        for (int32_t i = one ? values : sampi_doc(x, values)->first; i >= 0; i = one ? -1 : sampi_doc(x, i)->next) {
            unsigned type = sampi_type_of(x, i);
            s.types |= type & (SAMPI_T_NULL | SAMPI_T_FALSE | SAMPI_T_TRUE);
            if (type != (string ? SAMPI_T_STRING : SAMPI_T_NUMBER)) continue;
            sampi_decimal d;
            if (!string && !sampi_decimal_read(x, i, &d))
                sampi_schema_fail(x, i, SAMP_E_RANGE, "this number has too many digits");
            sampi_push(x, &x->arena, i);
            texts->n++;
        }
    }
    return s;
}

static SAMPI_COLD sampi_scalars sampi_schema_scalars(sampi_schema *x, int32_t schema, bool over);

/* Exactly one of the schemas in an array: one and not that, or that and none before. */
static SAMPI_COLD sampi_scalars sampi_scalars_one_of(sampi_schema *x, int32_t array, bool over)
{
    sampi_scalars one = sampi_scalars_of(0), any = one; /* any: estimated the other way */
    for (int32_t i = sampi_doc(x, array)->first; i >= 0 && sampi_schema_step(x, i); i = sampi_doc(x, i)->next) {
        sampi_scalars s = sampi_schema_scalars(x, i, over), wide = sampi_schema_scalars(x, i, !over);
        sampi_scalars late = sampi_scalars_and(x, s, sampi_scalars_not(x, any));
        one = sampi_scalars_or(x, sampi_scalars_and(x, one, sampi_scalars_not(x, wide)), late);
        any = sampi_scalars_or(x, any, wide);
    }
    return one;
}

/* What the keywords allow that apply other schemas in place. */
static SAMPI_COLD sampi_scalars sampi_scalars_applied(sampi_schema *x, int32_t schema, bool over)
{
    sampi_scalars all = sampi_scalars_of(SAMPI_T_ALL);
    int32_t ref = sampi_keyword(x, schema, SAMPI_KEY_REF);
    int32_t all_of = sampi_keyword(x, schema, SAMPI_KEY_ALL_OF), any_of = sampi_keyword(x, schema, SAMPI_KEY_ANY_OF);
    int32_t one_of = sampi_keyword(x, schema, SAMPI_KEY_ONE_OF), isnt = sampi_keyword(x, schema, SAMPI_KEY_NOT);
    int32_t condition = sampi_keyword(x, schema, SAMPI_KEY_IF);
    if (ref >= 0) all = sampi_schema_scalars(x, sampi_schema_target(x, ref), over);
    for (int32_t i = all_of < 0 ? -1 : sampi_doc(x, all_of)->first; i >= 0; i = sampi_doc(x, i)->next)
        all = sampi_scalars_and(x, all, sampi_schema_scalars(x, i, over));
    if (any_of >= 0) {
        sampi_scalars any = sampi_scalars_of(0);
        for (int32_t i = sampi_doc(x, any_of)->first; i >= 0; i = sampi_doc(x, i)->next)
            any = sampi_scalars_or(x, any, sampi_schema_scalars(x, i, over));
        all = sampi_scalars_and(x, all, any);
    }
    if (one_of >= 0) all = sampi_scalars_and(x, all, sampi_scalars_one_of(x, one_of, over));
    if (isnt >= 0) all = sampi_scalars_and(x, all, sampi_scalars_not(x, sampi_schema_scalars(x, isnt, !over)));
    int32_t then = sampi_keyword(x, schema, SAMPI_KEY_THEN), otherwise = sampi_keyword(x, schema, SAMPI_KEY_ELSE);
    if (condition >= 0 && (then >= 0 || otherwise >= 0)) {
        sampi_scalars yes = sampi_schema_scalars(x, condition, over);
        sampi_scalars no = sampi_scalars_not(x, sampi_schema_scalars(x, condition, !over));
        if (then >= 0) yes = sampi_scalars_and(x, yes, sampi_schema_scalars(x, then, over));
        if (otherwise >= 0) no = sampi_scalars_and(x, no, sampi_schema_scalars(x, otherwise, over));
        all = sampi_scalars_and(x, all, sampi_scalars_or(x, yes, no));
    }
    return all;
}

/* The scalars that a schema allows. Where a keyword is known but in bounds (some formats), at most those that it
   allows, or with `over` at least those: a complement turns one into the other. Made once for each schema. */
static SAMPI_COLD sampi_scalars sampi_schema_scalars(sampi_schema *x, int32_t schema, bool over)
{
    sampi_scalars s = sampi_scalars_of(SAMPI_T_ALL);
    if (x->status || schema < 0) return s;
    if (sampi_doc(x, schema)->kind == SAMPI_JSON_TRUE) return s;
    if (sampi_doc(x, schema)->kind == SAMPI_JSON_FALSE) return sampi_scalars_of(0);
    if (sampi_doc(x, schema)->kind != SAMPI_JSON_OBJECT) return sampi_malformed(x, schema, "expected a schema"), s;
    static const sampi_schema_key refused[2] = { SAMPI_KEY_DYNAMIC_REF, SAMPI_KEY_RECURSIVE_REF };
    for (int i = 0; i < 2; i++) {
        int32_t at = sampi_keyword(x, schema, refused[i]);
        if (at >= 0) sampi_refuse(x, at, "not supported");
    }
    int32_t slot = 2 * schema + over;
    if (x->scalars_known[slot] == 1) sampi_refuse(x, schema, "a schema that refers to itself");
    if (x->scalars_known[slot] == 2) return x->scalars[slot];
    if (++x->nesting > SAMPI_SCHEMA_NESTING)
        sampi_schema_fail(x, schema, SAMP_E_RANGE, "too many schemas in one another");
    x->scalars_known[slot] = 1;
    int32_t type = sampi_keyword(x, schema, SAMPI_KEY_TYPE), values = sampi_keyword(x, schema, SAMPI_KEY_ENUM);
    int32_t value = sampi_keyword(x, schema, SAMPI_KEY_CONST);
    bool whole = false;
    if (type >= 0) s = sampi_scalars_of(sampi_schema_types(x, type, &whole));
    if (whole) s.number = sampi_texts_some(x, sampi_schema_whole(x));
    if (values >= 0) s = sampi_scalars_and(x, s, sampi_schema_values(x, values, false));
    if (value >= 0) s = sampi_scalars_and(x, s, sampi_schema_values(x, value, true));
    if (s.number.n) s.number = sampi_texts_and(x, s.number, sampi_schema_numbers(x, schema), false);
    if (s.string.n) s.string = sampi_texts_and(x, s.string, sampi_schema_strings(x, schema, over), true);
    s = sampi_scalars_and(x, s, sampi_scalars_applied(x, schema, over));
    x->nesting--;
    x->scalars_known[slot] = 2;
    return x->scalars[slot] = s;
}

/* ---- goals ---- */

static sampi_goal *sampi_goal_at(const sampi_schema *x, int32_t goal) { return (sampi_goal *)x->goals.data + goal; }
static sampi_literal sampi_literal_of(int32_t node, int meant) { return (sampi_literal)(node * 4 + meant); }

/* How many keywords of a schema ask something of a value. */
static SAMPI_COLD int32_t sampi_schema_says(sampi_schema *x, int32_t schema)
{
    int32_t n = 0;
    if (sampi_doc(x, schema)->kind != SAMPI_JSON_OBJECT) return 1;
    for (int32_t i = sampi_doc(x, schema)->first; i >= 0; i = sampi_doc(x, i)->next) {
        int key = x->key_of[sampi_doc(x, i)->name] - 1;
        n += key >= 0 && key < SAMPI_KEY_ID && sampi_keyword(x, schema, (sampi_schema_key)key) >= 0;
    }
    return n;
}

/* Adds a literal to those on the stack from `first` on: in order, once, and not if it says nothing. False: nothing
   satisfies it. */
static SAMPI_COLD bool sampi_goal_add(sampi_schema *x, int32_t first, sampi_literal literal)
{
    int32_t node = literal >> 2, meant = literal & 3, at = first, ref;
    if (meant < SAMPI_EQUALS) {
        for (int hops = 0; hops < 32 && sampi_schema_says(x, node) == 1; hops++) {
            if ((ref = sampi_keyword(x, node, SAMPI_KEY_REF)) < 0) break;
            if ((node = sampi_schema_target(x, ref)) < 0) return true; /* an error */
        }
        int kind = sampi_doc(x, node)->kind;
        if (kind == (meant == SAMPI_IS ? SAMPI_JSON_FALSE : SAMPI_JSON_TRUE)) return false;
        if (kind == SAMPI_JSON_TRUE || kind == SAMPI_JSON_FALSE) return true;
        if (!sampi_schema_says(x, node)) return meant == SAMPI_IS;
        literal = sampi_literal_of(node, meant);
    }
    while (at < x->stack.n && *sampi_ints(&x->stack, at) < literal) at++;
    if (at < x->stack.n && *sampi_ints(&x->stack, at) == literal) return true;
    sampi_push(x, &x->stack, literal);
    if (x->status) return true;
    int32_t *place = sampi_ints(&x->stack, at);
    memmove(place + 1, place, (size_t)(x->stack.n - 1 - at) * sizeof *place);
    *place = literal;
    return true;
}

static SAMPI_COLD int32_t *sampi_goal_slot(const sampi_schema *x, const int32_t *literals, int32_t n)
{
    uint32_t mask = (uint32_t)x->slots.n - 1, h = (uint32_t)sampi_checksum(literals, (size_t)n * sizeof *literals);
    for (;; h++) {
        int32_t *slot = sampi_ints(&x->slots, (int32_t)(h & mask));
        if (*slot < 0) return slot;
        const sampi_goal *g = sampi_goal_at(x, *slot);
        if (g->n == n && (n == 0 || !memcmp(sampi_ints(&x->arena, g->first), literals, (size_t)n * sizeof *literals)))
            return slot;
    }
}

static SAMPI_COLD bool sampi_goals_rehash(sampi_schema *x)
{
    if (!sampi_slots_renew(&x->slots)) return false;
    for (int32_t i = 0; i < x->goals.n; i++) {
        const sampi_goal *g = sampi_goal_at(x, i);
        *sampi_goal_slot(x, sampi_ints(&x->arena, g->first), g->n) = i;
    }
    return true;
}

/* The goal of the literals on the stack from `first` on, which are taken off. */
static SAMPI_COLD int32_t sampi_goal_taken(sampi_schema *x, int32_t first)
{
    int32_t n = x->stack.n - first;
    x->stack.n = first;
    if (x->status) return 0;
    if (x->goals.n >= SAMPI_SCHEMA_GOALS)
        return sampi_schema_fail(x, 0, SAMP_E_RANGE, "too many combinations of schemas"), 0;
    bool room = 2 * (x->goals.n + 1) <= x->slots.n || sampi_goals_rehash(x);
    int32_t *slot = room ? sampi_goal_slot(x, sampi_ints(&x->stack, first), n) : NULL;
    if (slot && *slot >= 0) return *slot;
    sampi_goal *g = slot ? (sampi_goal *)sampi_vec_add(&x->goals, sizeof *g, 1) : NULL;
    if (!g) return sampi_schema_fail(x, 0, SAMP_E_NOMEM, "out of memory"), 0;
    *slot = x->goals.n - 1;
    g->first = x->arena.n;
    g->n = n;
    g->rule = -1;
    g->possible = SAMPI_UNKNOWN;
    for (int32_t i = 0; i < n; i++) sampi_push(x, &x->arena, *sampi_ints(&x->stack, first + i));
    return x->goals.n - 1;
}

static sampi_literal sampi_goal_literal(const sampi_schema *x, int32_t goal, int32_t i)
{
    return *sampi_ints(&x->arena, sampi_goal_at(x, goal)->first + i);
}

static SAMPI_COLD sampi_scalars sampi_goal_scalars(sampi_schema *x, int32_t goal)
{
    sampi_scalars all = sampi_scalars_of(SAMPI_T_ALL);
    for (int32_t i = 0; i < sampi_goal_at(x, goal)->n; i++) {
        sampi_literal literal = sampi_goal_literal(x, goal, i);
        int meant = literal & 3;
        sampi_scalars s = meant >= SAMPI_EQUALS ? sampi_schema_values(x, literal >> 2, true)
                                                : sampi_schema_scalars(x, literal >> 2, meant == SAMPI_ISNT);
        all = sampi_scalars_and(x, all, meant == SAMPI_IS || meant == SAMPI_EQUALS ? s : sampi_scalars_not(x, s));
    }
    return all;
}

/* Which of arrays and objects a literal may allow: no less than it does. */
static SAMPI_COLD unsigned sampi_literal_deep(sampi_schema *x, sampi_literal literal, int depth)
{
    int32_t node = literal >> 2, meant = literal & 3, at;
    unsigned types = SAMPI_T_DEEP, any = 0;
    bool whole;
    if (meant >= SAMPI_EQUALS) return meant == SAMPI_EQUALS ? sampi_type_of(x, node) & SAMPI_T_DEEP : types;
    int kind = sampi_doc(x, node)->kind;
    if (kind == SAMPI_JSON_TRUE || kind == SAMPI_JSON_FALSE)
        return (kind == SAMPI_JSON_TRUE) == (meant == SAMPI_IS) ? types : 0;
    int32_t type = sampi_keyword(x, node, SAMPI_KEY_TYPE);
    if (meant == SAMPI_ISNT) {
        if (type < 0 || sampi_schema_says(x, node) != 1) return types;
        return SAMPI_T_DEEP & ~sampi_schema_types(x, type, &whole);
    }
    if (type >= 0) types &= sampi_schema_types(x, type, &whole);
    if ((at = sampi_keyword(x, node, SAMPI_KEY_CONST)) >= 0) types &= sampi_type_of(x, at);
    if ((at = sampi_keyword(x, node, SAMPI_KEY_ENUM)) >= 0) {
        for (int32_t i = sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next) any |= sampi_type_of(x, i);
        types &= any;
    }
    if (types == 0 || depth == 16) return types;
    if ((at = sampi_keyword(x, node, SAMPI_KEY_REF)) >= 0 && (at = sampi_schema_target(x, at)) >= 0)
        types &= sampi_literal_deep(x, sampi_literal_of(at, SAMPI_IS), depth + 1);
    if ((at = sampi_keyword(x, node, SAMPI_KEY_NOT)) >= 0)
        types &= sampi_literal_deep(x, sampi_literal_of(at, SAMPI_ISNT), depth + 1);
    if ((at = sampi_keyword(x, node, SAMPI_KEY_ALL_OF)) >= 0)
        for (int32_t i = sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next)
            types &= sampi_literal_deep(x, sampi_literal_of(i, SAMPI_IS), depth + 1);
    for (int one = 0; one < 2; one++) {
        if ((at = sampi_keyword(x, node, one ? SAMPI_KEY_ONE_OF : SAMPI_KEY_ANY_OF)) < 0) continue;
        any = 0;
        for (int32_t i = sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next)
            any |= sampi_literal_deep(x, sampi_literal_of(i, SAMPI_IS), depth + 1);
        types &= any;
    }
    return types;
}

static SAMPI_COLD unsigned sampi_goal_deep(sampi_schema *x, int32_t goal)
{
    unsigned types = SAMPI_T_DEEP;
    for (int32_t i = 0; i < sampi_goal_at(x, goal)->n && types; i++)
        types &= sampi_literal_deep(x, sampi_goal_literal(x, goal, i), 0);
    return types;
}

static SAMPI_COLD bool sampi_goal_has_shape(sampi_schema *x, int32_t goal, unsigned type);

/* Is there a value that satisfies a goal? False only if there is none; where it would take long, true. */
static SAMPI_COLD bool sampi_goal_possible(sampi_schema *x, int32_t goal)
{
    uint8_t known = sampi_goal_at(x, goal)->possible;
    if (x->status || known != SAMPI_UNKNOWN) return x->status || known != SAMPI_NO;
    sampi_goal_at(x, goal)->possible = SAMPI_YES; /* while it is asked */
    sampi_scalars s = sampi_goal_scalars(x, goal);
    bool possible = s.types || s.number.n || s.string.n;
    unsigned deep = possible ? 0 : sampi_goal_deep(x, goal);
    if (deep & SAMPI_T_ARRAY) possible = sampi_goal_has_shape(x, goal, SAMPI_T_ARRAY);
    if (!possible && (deep & SAMPI_T_OBJECT)) possible = sampi_goal_has_shape(x, goal, SAMPI_T_OBJECT);
    sampi_goal_at(x, goal)->possible = possible ? SAMPI_YES : SAMPI_NO;
    return possible;
}

/* The texts of all scalars of a goal. */
static SAMPI_COLD sampi_node sampi_goal_scalars_node(sampi_schema *x, int32_t goal)
{
    sampi_tree *t = x->tree;
    sampi_scalars s = sampi_goal_scalars(x, goal);
    sampi_node node = sampi_tree_alt(t, sampi_texts_node(x, s.string, true), sampi_texts_node(x, s.number, false));
    if (s.types & SAMPI_T_NULL) node = sampi_tree_alt(t, sampi_tree_text(t, "null", 4), node);
    if (s.types & SAMPI_T_FALSE) node = sampi_tree_alt(t, sampi_tree_text(t, "false", 5), node);
    return s.types & SAMPI_T_TRUE ? sampi_tree_alt(t, sampi_tree_text(t, "true", 4), node) : node;
}

/* The node of a goal: its texts themselves if they are all scalars, otherwise a rule, whose body comes later. */
static SAMPI_COLD sampi_node sampi_goal_node(sampi_schema *x, int32_t goal)
{
    if (x->status || !sampi_goal_possible(x, goal)) return SAMPI_NEVER;
    if (!sampi_goal_deep(x, goal)) return sampi_goal_scalars_node(x, goal);
    if (sampi_goal_at(x, goal)->rule < 0) {
        int32_t rule = sampi_tree_rule(x->tree, "", 0);
        sampi_goal_at(x, goal)->rule = rule;
        sampi_push(x, &x->queue, goal);
    }
    return sampi_tree_ref(x->tree, sampi_goal_at(x, goal)->rule);
}

/* The schemas of the first items: prefixItems, or what drafts 4 to 2019 write as an array in items. -1: none. */
static SAMPI_COLD int32_t sampi_schema_prefix(sampi_schema *x, int32_t schema)
{
    int32_t prefix = sampi_keyword(x, schema, SAMPI_KEY_PREFIX_ITEMS),
            items = sampi_keyword(x, schema, SAMPI_KEY_ITEMS);
    if (prefix >= 0) return prefix;
    return items >= 0 && sampi_doc(x, items)->kind == SAMPI_JSON_ARRAY ? items : -1;
}

/* The schema of the items behind sampi_schema_prefix's; -1: none, so any will do. Without an array of first items
   additionalItems says nothing. */
static SAMPI_COLD int32_t sampi_schema_rest(sampi_schema *x, int32_t schema)
{
    int32_t items = sampi_keyword(x, schema, SAMPI_KEY_ITEMS);
    if (items < 0 || sampi_doc(x, items)->kind != SAMPI_JSON_ARRAY) return items;
    return sampi_keyword(x, schema, SAMPI_KEY_ADDITIONAL_ITEMS);
}

/* ---- alternatives ----
   Arrays and objects of a goal. sampi_expand takes its literals apart, one after the other, and follows every way
   through anyOf, oneOf and the rest; at the end of a way stand atoms, which shape one kind of array or object. A schema
   that must not hold comes last: often it can't hold beside the atoms anyway, which is what makes the branches of a
   oneOf exclude each other. */

/* One thing asked of an array or object. */
typedef enum sampi_atom_kind {
    SAMPI_ATOM_GROUP,   /* the keywords of schema `node` for its parts */
    SAMPI_ATOM_VALUE,   /* it equals value `node` */
    SAMPI_ATOM_FORBID,  /* no member `name` */
    SAMPI_ATOM_REQUIRE, /* a member `name` */
    SAMPI_ATOM_MEMBER,  /* member `name`, if there, satisfies `literal` */
    SAMPI_ATOM_LEAST,   /* at least, at most so many members or items */
    SAMPI_ATOM_MOST,
    SAMPI_ATOM_ITEM,    /* item number `name`, if there, satisfies `literal` */
    SAMPI_ATOM_ITEMS,   /* all items do */
    SAMPI_ATOM_SOME,    /* `name` items or more do */
    SAMPI_ATOM_EXISTS,  /* a member that breaks keyword `node`: its name is one that sampi_exists_names tells, and its
                          value satisfies `literal` */
    SAMPI_ATOM_WITNESS, /* the same; none of the names that are listed */
    SAMPI_ATOM_JOINED,  /* the same; it is the member of witness `with` */
    SAMPI_ATOM_MET,     /* the same; another atom sees to it */
    SAMPI_ATOM_REFUSED  /* what schema `node` must not be can't be expressed */
} sampi_atom_kind;

typedef struct sampi_atom {
    sampi_atom_kind kind;
    int32_t node, name, with;
    sampi_literal literal;
} sampi_atom;

/* What is still to be taken apart: a list, in x->todo, from its head on. */
typedef enum sampi_todo_kind {
    SAMPI_TODO_LITERAL, /* node: a literal */
    SAMPI_TODO_ANY_OF,  /* node: an array of schemas */
    SAMPI_TODO_ONE_OF,
    SAMPI_TODO_IF,        /* node: the schema with if, then, else */
    SAMPI_TODO_VALUES,    /* node: an array of values */
    SAMPI_TODO_DEPENDENCY /* node: a member of dependentRequired and the like */
} sampi_todo_kind;

typedef struct sampi_todo {
    sampi_todo_kind kind;
    int32_t node, next;
} sampi_todo;

/* The alternatives of one goal. */
typedef struct sampi_shapes {
    unsigned type; /* SAMPI_T_ARRAY or SAMPI_T_OBJECT */
    bool ask;      /* only whether there is one */
    bool found;
    int32_t first; /* its atoms in x->atoms, from there on */
    int depth;
    sampi_node node; /* all of them */
} sampi_shapes;

static sampi_atom *sampi_atom_at(const sampi_schema *x, int32_t i) { return (sampi_atom *)x->atoms.data + i; }

static SAMPI_COLD void sampi_atom_add(sampi_schema *x, sampi_atom_kind kind, int32_t node, int32_t name,
                                      sampi_literal literal)
{
    sampi_atom *a = (sampi_atom *)sampi_vec_add(&x->atoms, sizeof *a, 1);
    if (!a) {
        sampi_schema_fail(x, 0, SAMP_E_NOMEM, "out of memory");
        return;
    }
    a->kind = kind;
    a->node = node;
    a->name = name;
    a->with = -1;
    a->literal = literal;
}

/* A list with one thing more in front. */
static SAMPI_COLD int32_t sampi_todo_add(sampi_schema *x, sampi_todo_kind kind, int32_t node, int32_t next)
{
    sampi_todo *d = (sampi_todo *)sampi_vec_add(&x->todo, sizeof *d, 1);
    if (!d) return sampi_schema_fail(x, 0, SAMP_E_NOMEM, "out of memory"), -1;
    d->kind = kind;
    d->node = node;
    d->next = next;
    return x->todo.n - 1;
}

static SAMPI_COLD int32_t sampi_todo_literal(sampi_schema *x, int32_t node, int meant, int32_t next)
{
    return sampi_todo_add(x, SAMPI_TODO_LITERAL, sampi_literal_of(node, meant), next);
}

static SAMPI_COLD void sampi_expand(sampi_schema *x, sampi_shapes *s, int32_t now, int32_t later);
static SAMPI_COLD void sampi_finish(sampi_schema *x, sampi_shapes *s);

/* One way: a literal more, beside what is to do. */
static SAMPI_COLD void sampi_way_literal(sampi_schema *x, sampi_shapes *s, int32_t node, int meant, int32_t now,
                                         int32_t later)
{
    int32_t todo = x->todo.n, atoms = x->atoms.n;
    bool first = (meant & 1) == 0;
    int32_t more = sampi_todo_literal(x, node, meant, first ? now : later);
    sampi_expand(x, s, first ? more : now, first ? later : more);
    x->todo.n = todo;
    x->atoms.n = atoms;
}

static SAMPI_COLD void sampi_way_atom(sampi_schema *x, sampi_shapes *s, sampi_atom_kind kind, int32_t node,
                                      int32_t name, int32_t now, int32_t later)
{
    int32_t todo = x->todo.n, atoms = x->atoms.n;
    sampi_atom_add(x, kind, node, name, 0);
    sampi_expand(x, s, now, later);
    x->todo.n = todo;
    x->atoms.n = atoms;
}

/* Can a schema hold beside the atoms that there are? */
static SAMPI_COLD bool sampi_may_hold(sampi_schema *x, const sampi_shapes *s, int32_t schema)
{
    if (x->level >= 3) return true;
    sampi_shapes ask = { s->type, true, false, s->first, 0, SAMPI_NEVER };
    int32_t todo = x->todo.n, atoms = x->atoms.n;
    x->level++;
    sampi_expand(x, &ask, sampi_todo_literal(x, schema, SAMPI_IS, -1), -1);
    x->level--;
    x->todo.n = todo;
    x->atoms.n = atoms;
    return ask.found;
}

static SAMPI_COLD bool sampi_schema_allows(sampi_schema *x, int32_t schema, unsigned type)
{
    bool whole;
    int32_t node = sampi_keyword(x, schema, SAMPI_KEY_TYPE);
    return node < 0 || (sampi_schema_types(x, node, &whole) & type);
}

/* Has a way this atom already? Then the same schema comes again, and says nothing new. */
static SAMPI_COLD bool sampi_has_atom(const sampi_schema *x, const sampi_shapes *s, sampi_atom_kind kind,
                                      int32_t node)
{
    for (int32_t i = s->first; i < x->atoms.n; i++)
        if (sampi_atom_at(x, i)->kind == kind && sampi_atom_at(x, i)->node == node) return true;
    return false;
}

/* A schema that must hold: its own keywords become an atom, those that apply other schemas are to do. */
static SAMPI_COLD void sampi_expand_is(sampi_schema *x, sampi_shapes *s, int32_t schema, int32_t now, int32_t later)
{
    static const sampi_schema_key dependencies[3] = { SAMPI_KEY_DEPENDENT_REQUIRED, SAMPI_KEY_DEPENDENT_SCHEMAS,
                                                      SAMPI_KEY_DEPENDENCIES };
    int kind = sampi_doc(x, schema)->kind, at;
    if (kind == SAMPI_JSON_FALSE) return;
    if (kind != SAMPI_JSON_TRUE && kind != SAMPI_JSON_OBJECT) sampi_malformed(x, schema, "expected a schema");
    if (kind != SAMPI_JSON_OBJECT || sampi_has_atom(x, s, SAMPI_ATOM_GROUP, schema)) {
        sampi_expand(x, s, now, later);
        return;
    }
    if (!sampi_schema_allows(x, schema, s->type)) return;
    sampi_atom_add(x, SAMPI_ATOM_GROUP, schema, 0, 0);
    if (sampi_keyword(x, schema, SAMPI_KEY_IF) >= 0) now = sampi_todo_add(x, SAMPI_TODO_IF, schema, now);
    for (int i = 0; i < 3 && s->type == SAMPI_T_OBJECT; i++)
        if ((at = sampi_keyword(x, schema, dependencies[i])) >= 0)
            for (int32_t k = sampi_doc(x, at)->first; k >= 0; k = sampi_doc(x, k)->next)
                now = sampi_todo_add(x, SAMPI_TODO_DEPENDENCY, k, now);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_ONE_OF)) >= 0) now = sampi_todo_add(x, SAMPI_TODO_ONE_OF, at, now);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_ANY_OF)) >= 0) now = sampi_todo_add(x, SAMPI_TODO_ANY_OF, at, now);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_ENUM)) >= 0) now = sampi_todo_add(x, SAMPI_TODO_VALUES, at, now);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_CONST)) >= 0) now = sampi_todo_literal(x, at, SAMPI_EQUALS, now);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_NOT)) >= 0) later = sampi_todo_literal(x, at, SAMPI_ISNT, later);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_ALL_OF)) >= 0)
        for (int32_t k = sampi_doc(x, at)->first; k >= 0; k = sampi_doc(x, k)->next)
            now = sampi_todo_literal(x, k, SAMPI_IS, now);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_REF)) >= 0 && (at = sampi_schema_target(x, at)) >= 0)
        now = sampi_todo_literal(x, at, SAMPI_IS, now);
    sampi_expand(x, s, now, later);
}

/* The way in which some member breaks a keyword about names that are not told one by one. */
static SAMPI_COLD void sampi_way_exists(sampi_schema *x, sampi_shapes *s, int32_t node, sampi_schema_key key,
                                        int32_t now, int32_t later)
{
    int32_t atoms = x->atoms.n;
    if (sampi_doc(x, node)->kind == SAMPI_JSON_TRUE) return;
    sampi_atom_add(x, SAMPI_ATOM_EXISTS, node, key,
                   key == SAMPI_KEY_PROPERTY_NAMES ? -1 : sampi_literal_of(node, SAMPI_ISNT));
    sampi_expand(x, s, now, later);
    x->atoms.n = atoms;
}

/* The ways in which members make a schema not hold: one of the keywords does not. Each way has that those before it are
   not the case, so no two ways lead to the same value. */
static SAMPI_COLD void sampi_expand_isnt_object(sampi_schema *x, sampi_shapes *s, int32_t schema, int32_t now,
                                                int32_t later)
{
    int32_t at, n_atoms = x->atoms.n;
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_REQUIRED)) >= 0 && sampi_doc(x, at)->kind == SAMPI_JSON_ARRAY)
        for (int32_t i = sampi_doc(x, at)->first, name; i >= 0; i = sampi_doc(x, i)->next) {
            if ((name = sampi_schema_name(x, i)) < 0) break;
            sampi_way_atom(x, s, SAMPI_ATOM_FORBID, schema, name, now, later);
            sampi_atom_add(x, SAMPI_ATOM_REQUIRE, schema, name, 0);
        }
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_PROPERTIES)) >= 0)
        for (int32_t i = sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next) {
            int32_t name = sampi_doc(x, i)->name, n = x->atoms.n;
            sampi_atom_add(x, SAMPI_ATOM_MEMBER, schema, name, sampi_literal_of(i, SAMPI_ISNT));
            sampi_way_atom(x, s, SAMPI_ATOM_REQUIRE, schema, name, now, later);
            x->atoms.n = n;
            sampi_atom_add(x, SAMPI_ATOM_MEMBER, schema, name, sampi_literal_of(i, SAMPI_IS));
        }
    int32_t least = sampi_schema_count(x, schema, SAMPI_KEY_MIN_PROPERTIES, 0);
    int32_t most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_PROPERTIES, INT32_MAX);
    if (least > 0) sampi_way_atom(x, s, SAMPI_ATOM_MOST, schema, least - 1, now, later);
    if (most < INT32_MAX) sampi_way_atom(x, s, SAMPI_ATOM_LEAST, schema, most + 1, now, later);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_PATTERN_PROPERTIES)) >= 0)
        for (int32_t i = sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next)
            sampi_way_exists(x, s, i, SAMPI_KEY_PATTERN_PROPERTIES, now, later);
    static const sampi_schema_key exists[] = { SAMPI_KEY_ADDITIONAL_PROPERTIES, SAMPI_KEY_PROPERTY_NAMES };
    for (size_t i = 0; i < 2; i++)
        if ((at = sampi_keyword(x, schema, exists[i])) >= 0) sampi_way_exists(x, s, at, exists[i], now, later);
    static const sampi_schema_key refused[] = { SAMPI_KEY_UNEVALUATED_PROPERTIES, SAMPI_KEY_DEPENDENT_REQUIRED,
                                                SAMPI_KEY_DEPENDENT_SCHEMAS, SAMPI_KEY_DEPENDENCIES };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if ((at = sampi_keyword(x, schema, refused[i])) >= 0 && sampi_doc(x, at)->kind != SAMPI_JSON_TRUE)
            sampi_way_atom(x, s, SAMPI_ATOM_REFUSED, at, 0, now, later);
    x->atoms.n = n_atoms;
}

static SAMPI_COLD void sampi_expand_isnt_array(sampi_schema *x, sampi_shapes *s, int32_t schema, int32_t now,
                                               int32_t later)
{
    int32_t n_atoms = x->atoms.n, number = 0;
    int32_t prefix = sampi_schema_prefix(x, schema), rest = sampi_schema_rest(x, schema), at;
    for (int32_t i = prefix < 0 ? -1 : sampi_doc(x, prefix)->first; i >= 0; i = sampi_doc(x, i)->next, number++) {
        sampi_atom_add(x, SAMPI_ATOM_ITEM, schema, number, sampi_literal_of(i, SAMPI_ISNT));
        sampi_way_atom(x, s, SAMPI_ATOM_LEAST, schema, number + 1, now, later);
        x->atoms.n = n_atoms;
    }
    if (rest >= 0 && number == 0) {
        sampi_atom_add(x, SAMPI_ATOM_SOME, schema, 1, sampi_literal_of(rest, SAMPI_ISNT));
        sampi_expand(x, s, now, later);
        x->atoms.n = n_atoms;
    } else if (rest >= 0 && sampi_doc(x, rest)->kind == SAMPI_JSON_FALSE) {
        sampi_way_atom(x, s, SAMPI_ATOM_LEAST, schema, number + 1, now, later);
    } else if (rest >= 0)
        sampi_way_atom(x, s, SAMPI_ATOM_REFUSED, rest, 0, now, later);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_CONTAINS)) >= 0) {
        bool counted = sampi_keyword(x, schema, SAMPI_KEY_MIN_CONTAINS) >= 0 ||
                       sampi_keyword(x, schema, SAMPI_KEY_MAX_CONTAINS) >= 0;
        sampi_atom_add(x, counted ? SAMPI_ATOM_REFUSED : SAMPI_ATOM_ITEMS, at, 0, sampi_literal_of(at, SAMPI_ISNT));
        sampi_expand(x, s, now, later);
        x->atoms.n = n_atoms;
    }
    int32_t least = sampi_schema_count(x, schema, SAMPI_KEY_MIN_ITEMS, 0);
    int32_t most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_ITEMS, INT32_MAX);
    if (least > 0) sampi_way_atom(x, s, SAMPI_ATOM_MOST, schema, least - 1, now, later);
    if (most < INT32_MAX) sampi_way_atom(x, s, SAMPI_ATOM_LEAST, schema, most + 1, now, later);
    static const sampi_schema_key refused[] = { SAMPI_KEY_UNIQUE_ITEMS, SAMPI_KEY_UNEVALUATED_ITEMS };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if ((at = sampi_keyword(x, schema, refused[i])) >= 0 &&
            sampi_doc(x, at)->kind == (i ? SAMPI_JSON_FALSE : SAMPI_JSON_TRUE))
            sampi_way_atom(x, s, SAMPI_ATOM_REFUSED, at, 0, now, later);
}

/* The ways in which exactly one of the schemas does not hold: none does, or two do. */
static SAMPI_COLD void sampi_expand_isnt_one(sampi_schema *x, sampi_shapes *s, int32_t array, int32_t now,
                                             int32_t later)
{
    int32_t todo = x->todo.n, none = later;
    for (int32_t i = sampi_doc(x, array)->first; i >= 0; i = sampi_doc(x, i)->next)
        none = sampi_todo_literal(x, i, SAMPI_ISNT, none);
    sampi_expand(x, s, now, none);
    x->todo.n = todo;
    for (int32_t i = sampi_doc(x, array)->first; i >= 0; i = sampi_doc(x, i)->next)
        for (int32_t k = sampi_doc(x, i)->next; k >= 0 && sampi_schema_step(x, k); k = sampi_doc(x, k)->next) {
            int32_t both = sampi_todo_literal(x, k, SAMPI_IS, now);
            sampi_way_literal(x, s, i, SAMPI_IS, both, later);
            x->todo.n = todo;
        }
}

/* A schema that must not hold. If it can't beside the atoms, that is all; otherwise there is a way for each keyword. */
static SAMPI_COLD void sampi_expand_isnt(sampi_schema *x, sampi_shapes *s, int32_t schema, int32_t now, int32_t later)
{
    int32_t at, todo = x->todo.n, atoms = x->atoms.n;
    int kind = sampi_doc(x, schema)->kind;
    if (kind == SAMPI_JSON_TRUE) return;
    if (kind == SAMPI_JSON_FALSE || !sampi_schema_allows(x, schema, s->type) || !sampi_may_hold(x, s, schema)) {
        sampi_expand(x, s, now, later);
        return;
    }
    if (s->type == SAMPI_T_OBJECT)
        sampi_expand_isnt_object(x, s, schema, now, later);
    else
        sampi_expand_isnt_array(x, s, schema, now, later);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_REF)) >= 0 && (at = sampi_schema_target(x, at)) >= 0)
        sampi_way_literal(x, s, at, SAMPI_ISNT, now, later);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_ALL_OF)) >= 0)
        for (int32_t i = sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next)
            sampi_way_literal(x, s, i, SAMPI_ISNT, now, later);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_NOT)) >= 0) sampi_way_literal(x, s, at, SAMPI_IS, now, later);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_ONE_OF)) >= 0) sampi_expand_isnt_one(x, s, at, now, later);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_ANY_OF)) >= 0) {
        int32_t none = later;
        for (int32_t i = sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next)
            none = sampi_todo_literal(x, i, SAMPI_ISNT, none);
        sampi_expand(x, s, now, none);
    }
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_CONST)) >= 0) sampi_way_literal(x, s, at, SAMPI_DIFFERS, now, later);
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_ENUM)) >= 0) {
        int32_t none = later;
        for (int32_t i = sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next)
            none = sampi_todo_literal(x, i, SAMPI_DIFFERS, none);
        sampi_expand(x, s, now, none);
    }
    int32_t condition = sampi_keyword(x, schema, SAMPI_KEY_IF);
    for (int otherwise = 0; otherwise < 2 && condition >= 0; otherwise++) {
        if ((at = sampi_keyword(x, schema, otherwise ? SAMPI_KEY_ELSE : SAMPI_KEY_THEN)) < 0) continue;
        int32_t isnt = sampi_todo_literal(x, at, SAMPI_ISNT, later);
        sampi_way_literal(x, s, condition, otherwise ? SAMPI_ISNT : SAMPI_IS, now, isnt);
    }
    x->todo.n = todo;
    x->atoms.n = atoms;
}

/* One of the schemas, and with `only` no other. */
static SAMPI_COLD void sampi_expand_of(sampi_schema *x, sampi_shapes *s, int32_t array, bool only, int32_t now,
                                       int32_t later)
{
    for (int32_t i = sampi_doc(x, array)->first; i >= 0 && sampi_schema_step(x, i); i = sampi_doc(x, i)->next) {
        int32_t todo = x->todo.n, others = later;
        for (int32_t k = only ? sampi_doc(x, array)->first : -1; k >= 0; k = sampi_doc(x, k)->next)
            if (k != i) others = sampi_todo_literal(x, k, SAMPI_ISNT, others);
        sampi_way_literal(x, s, i, SAMPI_IS, now, others);
        x->todo.n = todo;
    }
}

/* dependentRequired, dependentSchemas, dependencies of drafts 4 to 7: no such member, or what it asks for. */
static SAMPI_COLD void sampi_expand_dependency(sampi_schema *x, sampi_shapes *s, int32_t node, int32_t now,
                                               int32_t later)
{
    int32_t name = sampi_doc(x, node)->name, atoms = x->atoms.n;
    sampi_way_atom(x, s, SAMPI_ATOM_FORBID, node, name, now, later);
    sampi_atom_add(x, SAMPI_ATOM_REQUIRE, node, name, 0);
    if (sampi_doc(x, node)->kind == SAMPI_JSON_ARRAY || sampi_doc(x, node)->kind == SAMPI_JSON_STRING) {
        bool list = sampi_doc(x, node)->kind == SAMPI_JSON_ARRAY; /* drafts 3 has one name without a list */
        for (int32_t i = list ? sampi_doc(x, node)->first : node; i >= 0; i = list ? sampi_doc(x, i)->next : -1) {
            int32_t other = sampi_schema_name(x, i);
            if (other >= 0) sampi_atom_add(x, SAMPI_ATOM_REQUIRE, i, other, 0);
        }
        sampi_expand(x, s, now, later);
    } else
        sampi_way_literal(x, s, node, SAMPI_IS, now, later);
    x->atoms.n = atoms;
}

/* if, then, else. */
static SAMPI_COLD void sampi_expand_if(sampi_schema *x, sampi_shapes *s, int32_t schema, int32_t now, int32_t later)
{
    int32_t condition = sampi_keyword(x, schema, SAMPI_KEY_IF), todo = x->todo.n;
    int32_t then = sampi_keyword(x, schema, SAMPI_KEY_THEN), otherwise = sampi_keyword(x, schema, SAMPI_KEY_ELSE);
    if (then < 0 && otherwise < 0) {
        sampi_expand(x, s, now, later);
        return;
    }
    sampi_way_literal(x, s, condition, SAMPI_IS, then < 0 ? now : sampi_todo_literal(x, then, SAMPI_IS, now), later);
    x->todo.n = todo;
    sampi_way_literal(x, s, condition, SAMPI_ISNT,
                      otherwise < 0 ? now : sampi_todo_literal(x, otherwise, SAMPI_IS, now), later);
    x->todo.n = todo;
}

/* A value that it must equal, or must not. */
static SAMPI_COLD void sampi_expand_value(sampi_schema *x, sampi_shapes *s, int32_t value, int meant, int32_t now,
                                          int32_t later)
{
    bool kind = (sampi_type_of(x, value) & s->type) != 0;
    if (meant == SAMPI_DIFFERS && !kind)
        sampi_expand(x, s, now, later);
    else if (kind)
        sampi_way_atom(x, s, meant == SAMPI_EQUALS ? SAMPI_ATOM_VALUE : SAMPI_ATOM_REFUSED, value, 0, now, later);
}

/* Follows every way from here: what is to do now, then what must not hold, later. */
static SAMPI_COLD void sampi_expand(sampi_schema *x, sampi_shapes *s, int32_t now, int32_t later)
{
    if (x->status || (s->ask && s->found) || !sampi_schema_step(x, 0)) return;
    if (now < 0 && later < 0) {
        sampi_finish(x, s);
        return;
    }
    if (++s->depth > SAMPI_SCHEMA_NESTING) sampi_schema_fail(x, 0, SAMP_E_RANGE, "too many schemas at once");
    sampi_todo d = *((sampi_todo *)x->todo.data + (now >= 0 ? now : later));
    int32_t atoms = x->atoms.n, todo = x->todo.n;
    if (now >= 0)
        now = d.next;
    else
        later = d.next;
    switch (d.kind) {
        case SAMPI_TODO_LITERAL:
            if ((d.node & 3) == SAMPI_IS)
                sampi_expand_is(x, s, d.node >> 2, now, later);
            else if ((d.node & 3) == SAMPI_ISNT)
                sampi_expand_isnt(x, s, d.node >> 2, now, later);
            else
                sampi_expand_value(x, s, d.node >> 2, d.node & 3, now, later);
            break;
        case SAMPI_TODO_ANY_OF: sampi_expand_of(x, s, d.node, false, now, later); break;
        case SAMPI_TODO_ONE_OF: sampi_expand_of(x, s, d.node, true, now, later); break;
        case SAMPI_TODO_IF: sampi_expand_if(x, s, d.node, now, later); break;
        case SAMPI_TODO_DEPENDENCY: sampi_expand_dependency(x, s, d.node, now, later); break;
        case SAMPI_TODO_VALUES:
            for (int32_t i = sampi_doc(x, d.node)->first; i >= 0; i = sampi_doc(x, i)->next)
                sampi_expand_value(x, s, i, SAMPI_EQUALS, now, later);
            break;
    }
    x->atoms.n = atoms;
    x->todo.n = todo;
    s->depth--;
}

/* The literals of a goal, to do. */
static SAMPI_COLD void sampi_expand_goal(sampi_schema *x, sampi_shapes *s, int32_t goal)
{
    int32_t todo = x->todo.n, now = -1, later = -1;
    for (int32_t i = sampi_goal_at(x, goal)->n; i-- > 0;) {
        sampi_literal literal = sampi_goal_literal(x, goal, i);
        int32_t *list = literal & 1 ? &later : &now;
        *list = sampi_todo_add(x, SAMPI_TODO_LITERAL, literal, *list);
    }
    sampi_expand(x, s, now, later);
    x->todo.n = todo;
}

/* The arrays, or the objects, that satisfy a goal, as one node: an alternative for each way that sampi_expand finds.
   The atoms of a search around this one stay as they are. */
static SAMPI_COLD sampi_node sampi_goal_shapes(sampi_schema *x, int32_t goal, unsigned type)
{
    sampi_shapes s = { type, false, false, x->atoms.n, 0, SAMPI_NEVER };
    sampi_expand_goal(x, &s, goal);
    return s.node;
}

static SAMPI_COLD bool sampi_goal_has_shape(sampi_schema *x, int32_t goal, unsigned type)
{
    if (x->level >= 8) return true;
    sampi_shapes s = { type, true, false, x->atoms.n, 0, SAMPI_NEVER };
    x->level++;
    sampi_expand_goal(x, &s, goal);
    x->level--;
    return s.found;
}

/* ---- shapes: objects ---- */

/* A name that some atom speaks of. */
typedef struct sampi_name {
    int32_t name; /* its string */
    int32_t goal; /* of its value; -1: it must not be there */
    bool required;
} sampi_name;

/* An object under construction. */
typedef struct sampi_object {
    sampi_shapes *shapes;
    int32_t last;        /* atoms from shapes->first to there */
    sampi_vec names;     /* sampi_name, in the order in which they were met */
    sampi_vec patterns;  /* int32_t: nodes of the document, each pattern once */
    sampi_vec witnesses; /* sampi_node: members that are not listed and must be there */
    sampi_texts allowed; /* names: propertyNames */
    int32_t least, most;
    bool closed; /* no other names, since it equals a value */
} sampi_object;

/* Lists a name, unless it is: x->listed tells where, while names are collected. */
static SAMPI_COLD void sampi_object_name(sampi_schema *x, sampi_object *o, int32_t name, bool required)
{
    sampi_name *n = NULL;
    if (x->listed[name] > 0)
        n = (sampi_name *)o->names.data + (x->listed[name] - 1);
    else {
        n = (sampi_name *)sampi_vec_add(&o->names, sizeof *n, 1);
        if (!n) {
            sampi_schema_fail(x, 0, SAMP_E_NOMEM, "out of memory");
            return;
        }
        n->name = name;
        n->required = false;
        n->goal = 0;
        x->listed[name] = o->names.n;
    }
    n->required |= required;
}

/* The names that a group of keywords speaks of, its patterns and its bounds. */
static SAMPI_COLD void sampi_object_group(sampi_schema *x, sampi_object *o, int32_t schema)
{
    int32_t at = sampi_keyword(x, schema, SAMPI_KEY_PROPERTIES);
    for (int32_t i = at < 0 ? -1 : sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next)
        sampi_object_name(x, o, sampi_doc(x, i)->name, false);
    at = sampi_keyword(x, schema, SAMPI_KEY_REQUIRED);
    bool list = at >= 0 &&
                sampi_doc(x, at)->kind == SAMPI_JSON_ARRAY; /* draft 3 had a boolean; drafts 4 on ignore it */
    if (at >= 0 && !list) sampi_malformed(x, at, "expected an array of names");
    for (int32_t i = list ? sampi_doc(x, at)->first : -1, name; i >= 0; i = sampi_doc(x, i)->next)
        if ((name = sampi_schema_name(x, i)) >= 0) sampi_object_name(x, o, name, true);
    at = sampi_keyword(x, schema, SAMPI_KEY_PATTERN_PROPERTIES);
    for (int32_t i = at < 0 ? -1 : sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next) {
        bool known = false;
        for (int32_t k = 0; k < o->patterns.n; k++)
            known = known || sampi_doc(x, *sampi_ints(&o->patterns, k))->name == sampi_doc(x, i)->name;
        if (!known) sampi_push(x, &o->patterns, i);
    }
    at = sampi_keyword(x, schema, SAMPI_KEY_PROPERTY_NAMES);
    if (at >= 0) o->allowed = sampi_texts_and(x, o->allowed, sampi_schema_scalars(x, at, false).string, true);
    int32_t least = sampi_schema_count(x, schema, SAMPI_KEY_MIN_PROPERTIES, 0);
    int32_t most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_PROPERTIES, INT32_MAX);
    if (least > o->least) o->least = least;
    if (most < o->most) o->most = most;
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_UNEVALUATED_PROPERTIES)) >= 0 &&
        sampi_doc(x, at)->kind != SAMPI_JSON_TRUE)
        sampi_refuse(x, at, "not supported");
}

/* All names that the atoms speak of, each once, and what they say of all members together. */
static SAMPI_COLD void sampi_object_collect(sampi_schema *x, sampi_object *o)
{
    for (int32_t i = o->shapes->first; i < o->last && !x->status; i++) {
        sampi_atom a = *sampi_atom_at(x, i);
        if (a.kind == SAMPI_ATOM_GROUP) sampi_object_group(x, o, a.node);
        if (a.kind == SAMPI_ATOM_FORBID || a.kind == SAMPI_ATOM_MEMBER) sampi_object_name(x, o, a.name, false);
        if (a.kind == SAMPI_ATOM_REQUIRE) sampi_object_name(x, o, a.name, true);
        if (a.kind == SAMPI_ATOM_LEAST && a.name > o->least) o->least = a.name;
        if (a.kind == SAMPI_ATOM_MOST && a.name < o->most) o->most = a.name;
        if (a.kind != SAMPI_ATOM_VALUE) continue;
        o->closed = true;
        for (int32_t k = sampi_doc(x, a.node)->first; k >= 0; k = sampi_doc(x, k)->next)
            sampi_object_name(x, o, sampi_doc(x, k)->name, true);
    }
    for (int32_t i = 0; i < o->names.n; i++) x->listed[((sampi_name *)o->names.data)[i].name] = 0;
}

/* Adds to the goal on the stack what a group says of a member: of one that is listed (`name`), or of any that matches
   the patterns whose bits are set. */
static SAMPI_COLD bool sampi_object_says(sampi_schema *x, const sampi_object *o, int32_t schema, int32_t name,
                                         uint32_t bits, int32_t first)
{
    int32_t properties = sampi_keyword(x, schema, SAMPI_KEY_PROPERTIES);
    int32_t patterns = sampi_keyword(x, schema, SAMPI_KEY_PATTERN_PROPERTIES);
    int32_t others = sampi_keyword(x, schema, SAMPI_KEY_ADDITIONAL_PROPERTIES);
    int32_t at = name < 0 ? -1 : sampi_json_member(&x->doc, properties, name);
    bool possible = at < 0 || sampi_goal_add(x, first, sampi_literal_of(at, SAMPI_IS)), matched = at >= 0;
    for (int32_t i = 0; i < o->patterns.n && possible; i++) {
        if (!(bits >> i & 1)) continue;
        at = sampi_json_member(&x->doc, patterns, sampi_doc(x, *sampi_ints(&o->patterns, i))->name);
        if (at < 0) continue;
        matched = true;
        possible = sampi_goal_add(x, first, sampi_literal_of(at, SAMPI_IS));
    }
    return possible && (matched || others < 0 || sampi_goal_add(x, first, sampi_literal_of(others, SAMPI_IS)));
}

/* The goal of a member of this name, or of any other name (-1) that matches those patterns; of the member that atom
   `witness` is about, if that is not -1. -1: there can be none. */
static SAMPI_COLD int32_t sampi_object_goal(sampi_schema *x, const sampi_object *o, int32_t name, uint32_t bits,
                                            int32_t witness)
{
    int32_t first = x->stack.n;
    bool possible = true;
    for (int32_t i = o->shapes->first; i < o->last && possible && !x->status; i++) {
        sampi_atom a = *sampi_atom_at(x, i);
        if (witness >= 0 && a.literal >= 0 && (i == witness || a.with == witness))
            possible = sampi_goal_add(x, first, a.literal);
        if (a.kind == SAMPI_ATOM_GROUP) possible = sampi_object_says(x, o, a.node, name, bits, first);
        if (a.kind == SAMPI_ATOM_FORBID) possible = a.name != name;
        if (a.kind == SAMPI_ATOM_MEMBER && a.name == name) possible = sampi_goal_add(x, first, a.literal);
        if (a.kind != SAMPI_ATOM_VALUE) continue;
        int32_t at = name < 0 ? -1 : sampi_json_member(&x->doc, a.node, name);
        possible = at >= 0 && sampi_goal_add(x, first, sampi_literal_of(at, SAMPI_EQUALS));
    }
    int32_t goal = possible ? sampi_goal_taken(x, first) : -1;
    x->stack.n = first;
    return goal >= 0 && sampi_goal_possible(x, goal) ? goal : -1;
}

/* Is a string of the document among the texts? */
static SAMPI_COLD bool sampi_texts_have(sampi_schema *x, sampi_texts a, int32_t string)
{
    if (a.n == SAMPI_ANY) return true;
    if (a.n == SAMPI_SOME) return sampi_schema_matches(x, a.node, sampi_schema_quoted(x, string));
    for (int32_t i = 0; i < a.n; i++)
        if (sampi_doc(x, *sampi_ints(&x->arena, a.list + i))->text == string) return true;
    return false;
}

/* The goals of the names, or if that is all that is asked, of those that are required. False: one that is required
   can't be there. */
static SAMPI_COLD bool sampi_object_resolve(sampi_schema *x, sampi_object *o)
{
    bool possible = true;
    for (int32_t i = 0; i < o->names.n && possible && sampi_schema_step(x, 0); i++) {
        sampi_name n = ((sampi_name *)o->names.data)[i];
        uint32_t bits = 0;
        if (o->shapes->ask && !n.required) continue;
        for (int32_t k = 0; k < o->patterns.n; k++) {
            sampi_texts matching = sampi_texts_some(x, sampi_schema_named_pattern(x, *sampi_ints(&o->patterns, k)));
            if (sampi_texts_have(x, matching, n.name)) bits |= (uint32_t)1 << k;
        }
        n.goal = sampi_texts_have(x, o->allowed, n.name) ? sampi_object_goal(x, o, n.name, bits, -1) : -1;
        possible = n.goal >= 0 || !n.required;
        ((sampi_name *)o->names.data)[i] = n;
    }
    return possible;
}

static SAMPI_COLD sampi_node sampi_object_pair(sampi_schema *x, sampi_node name, sampi_node value)
{
    return sampi_tree_seq(x->tree, name, sampi_tree_seq(x->tree, x->colon, value));
}

/* Members of names that are not listed: of all of them that match the patterns whose bits are set, and of those below
   number i no others. Each pattern more splits them in two. */
static SAMPI_COLD sampi_node sampi_object_others(sampi_schema *x, const sampi_object *o, sampi_texts names, int32_t i,
                                                 uint32_t bits, int32_t witness)
{
    if (x->status || names.n == 0) return SAMPI_NEVER;
    if (i < o->patterns.n) {
        sampi_texts in = sampi_texts_some(x, sampi_schema_named_pattern(x, *sampi_ints(&o->patterns, i)));
        sampi_texts out = sampi_texts_and(x, names, sampi_texts_not(x, in, true), true);
        sampi_node with = sampi_object_others(x, o, sampi_texts_and(x, names, in, true), i + 1,
                                              bits | (uint32_t)1 << i, witness);
        return sampi_tree_alt(x->tree, with, sampi_object_others(x, o, out, i + 1, bits, witness));
    }
    int32_t goal = sampi_object_goal(x, o, -1, bits, witness);
    return goal < 0 ? (sampi_node)SAMPI_NEVER
                    : sampi_object_pair(x, sampi_texts_node(x, names, true), sampi_goal_node(x, goal));
}

/* The names that are not listed. */
static SAMPI_COLD sampi_texts sampi_object_unlisted(sampi_schema *x, const sampi_object *o)
{
    sampi_node listed = SAMPI_NEVER;
    for (int32_t i = 0; i < o->names.n && listed >= 0; i++)
        listed = sampi_tree_alt(x->tree, sampi_schema_quoted(x, ((sampi_name *)o->names.data)[i].name), listed);
    return sampi_texts_and(x, o->allowed, sampi_texts_not(x, sampi_texts_some(x, listed), true), true);
}

/* Members in the schema's order, the others behind them. `behind` [2]: what may come behind member i if none came
   before it, and if one did. */
static SAMPI_COLD sampi_node sampi_object_in_order(sampi_schema *x, const sampi_member *members, int32_t n,
                                                   sampi_node other)
{
    sampi_tree *t = x->tree;
    sampi_node more = sampi_tree_repeat(t, sampi_tree_seq(t, x->comma, other), 0, -1), behind[2];
    behind[1] = more;
    behind[0] = sampi_schema_optional(t, sampi_tree_seq(t, other, more));
    for (int32_t i = n; i-- > 0;) {
        sampi_node first = sampi_tree_seq(t, members[i].node, behind[1]);
        sampi_node next = sampi_tree_seq(t, x->comma, members[i].node);
        if (!members[i].required) next = sampi_schema_optional(t, next);
        behind[0] = members[i].required ? first : sampi_tree_alt(t, first, behind[0]);
        behind[1] = sampi_tree_seq(t, next, behind[1]);
    }
    return behind[0];
}

/* The object's text. Names that are not listed may come twice, which leaves `least` in doubt if it counts on two of
   them. Those that must be there come behind the ones that are listed, if there is an order. */
static SAMPI_COLD sampi_node sampi_object_node(sampi_schema *x, sampi_object *o, sampi_node other)
{
    sampi_tree *t = x->tree;
    sampi_name *names = (sampi_name *)o->names.data;
    sampi_vec list;
    memset(&list, 0, sizeof list);
    int32_t n_required = 0;
    for (int32_t i = 0; i < o->names.n + o->witnesses.n && !x->status; i++) {
        sampi_member m = { SAMPI_NEVER, true };
        if (i >= o->names.n)
            m.node = *sampi_ints(&o->witnesses, i - o->names.n);
        else {
            if (names[i].goal < 0) continue;
            m.node = sampi_object_pair(x, sampi_schema_quoted(x, names[i].name), sampi_goal_node(x, names[i].goal));
            m.required = names[i].required;
        }
        sampi_member *room = (sampi_member *)sampi_vec_add(&list, sizeof m, 1);
        if (room)
            *room = m;
        else
            sampi_schema_fail(x, 0, SAMP_E_NOMEM, "out of memory");
        n_required += m.required;
    }
    bool counted = o->least > n_required || (o->most < INT32_MAX && (other != SAMPI_NEVER || o->most < list.n));
    if (o->least > n_required + 1 && other != SAMPI_NEVER)
        sampi_refuse(x, sampi_atom_at(x, o->shapes->first)->node, "minProperties of names that are not listed");
    sampi_node inside = SAMPI_NEVER;
    if (o->least > o->most || n_required > o->most)
        list.n = 0;
    else if (x->in_order && !counted)
        inside = sampi_object_in_order(x, (const sampi_member *)list.data, list.n, other);
    else if (list.n == 0 && other == SAMPI_NEVER)
        inside = o->least ? SAMPI_NEVER : SAMPI_EMPTY;
    else if (list.n == 0 && !counted)
        inside = sampi_object_in_order(x, NULL, 0, other);
    else
        inside = sampi_tree_members(t, (const sampi_member *)list.data, (size_t)list.n, x->comma, other,
                                    (size_t)o->least, o->most < INT32_MAX ? (size_t)o->most : SIZE_MAX);
    sampi_vec_free(&list);
    return sampi_schema_bracket(x, "{", inside, "}");
}

/* The names among which one breaks the keyword of an EXISTS. */
static SAMPI_COLD sampi_texts sampi_exists_names(sampi_schema *x, sampi_atom a)
{
    if (a.name == SAMPI_KEY_PATTERN_PROPERTIES) return sampi_texts_some(x, sampi_schema_named_pattern(x, a.node));
    if (a.name == SAMPI_KEY_PROPERTY_NAMES)
        return sampi_texts_not(x, sampi_schema_scalars(x, a.node, true).string, true);
    sampi_node known = SAMPI_NEVER;
    int32_t schema = sampi_doc(x, a.node)->parent, at = sampi_keyword(x, schema, SAMPI_KEY_PROPERTIES);
    for (int32_t i = at < 0 ? -1 : sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next)
        known = sampi_tree_alt(x->tree, sampi_schema_quoted(x, sampi_doc(x, i)->name), known);
    at = sampi_keyword(x, schema, SAMPI_KEY_PATTERN_PROPERTIES);
    for (int32_t i = at < 0 ? -1 : sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next)
        known = sampi_tree_alt(x->tree, sampi_schema_named_pattern(x, i), known);
    return sampi_texts_not(x, sampi_texts_some(x, known), true);
}

static SAMPI_COLD void sampi_object_begin(sampi_schema *x, sampi_object *o, sampi_shapes *s)
{
    memset(o, 0, sizeof *o);
    o->shapes = s;
    o->last = x->atoms.n;
    o->most = INT32_MAX;
    o->allowed = sampi_texts_any();
    sampi_object_collect(x, o);
}

static SAMPI_COLD void sampi_object_end(sampi_object *o)
{
    sampi_vec_free(&o->names);
    sampi_vec_free(&o->patterns);
    sampi_vec_free(&o->witnesses);
}

/* The members that must be there and are not listed. False: there can't be one. */
static SAMPI_COLD bool sampi_object_witnesses(sampi_schema *x, sampi_object *o)
{
    for (int32_t i = o->shapes->first; i < o->last && !x->status; i++) {
        if (sampi_atom_at(x, i)->kind != SAMPI_ATOM_WITNESS) continue;
        sampi_texts names = sampi_object_unlisted(x, o);
        for (int32_t k = i; k < o->last; k++) {
            sampi_atom a = *sampi_atom_at(x, k);
            if (k == i || a.with == i) names = sampi_texts_and(x, names, sampi_exists_names(x, a), true);
        }
        sampi_node node = o->closed ? (sampi_node)SAMPI_NEVER : sampi_object_others(x, o, names, 0, 0, i);
        if (node == SAMPI_NEVER) return false;
        sampi_push(x, &o->witnesses, node);
    }
    return true;
}

/* An object of the atoms, of which none is an EXISTS. */
static SAMPI_COLD void sampi_finish_object(sampi_schema *x, sampi_shapes *s)
{
    sampi_object o;
    sampi_node other = SAMPI_NEVER;
    sampi_object_begin(x, &o, s);
    if (o.patterns.n > 10) sampi_refuse(x, *sampi_ints(&o.patterns, 10), "more than 10 patterns at once");
    bool possible = !x->status && o.least <= o.most && sampi_object_resolve(x, &o) && sampi_object_witnesses(x, &o);
    if (possible && s->ask) s->found = true;
    if (possible && !s->ask) {
        if (!o.closed) other = sampi_object_others(x, &o, sampi_object_unlisted(x, &o), 0, 0, -1);
        s->node = sampi_tree_alt(x->tree, sampi_object_node(x, &o, other), s->node);
    }
    sampi_object_end(&o);
}

/* Objects of the atoms. A member that must exist is one of the names that are listed, or one that is not: then it may
   be the same as another such member. */
static SAMPI_COLD void sampi_finish_objects(sampi_schema *x, sampi_shapes *s)
{
    int32_t i = s->first, n_atoms = x->atoms.n;
    sampi_object o;
    while (i < n_atoms && sampi_atom_at(x, i)->kind != SAMPI_ATOM_EXISTS) i++;
    if (i == n_atoms) {
        sampi_finish_object(x, s);
        return;
    }
    sampi_atom a = *sampi_atom_at(x, i);
    sampi_texts names = sampi_exists_names(x, a);
    sampi_object_begin(x, &o, s);
    sampi_atom_at(x, i)->kind = SAMPI_ATOM_MET;
    for (int32_t k = 0; k < o.names.n && sampi_schema_step(x, a.node); k++) {
        int32_t name = ((sampi_name *)o.names.data)[k].name;
        if (!sampi_texts_have(x, names, name)) continue;
        sampi_atom_add(x, SAMPI_ATOM_REQUIRE, a.node, name, 0);
        if (a.literal >= 0) sampi_atom_add(x, SAMPI_ATOM_MEMBER, a.node, name, a.literal);
        sampi_finish_objects(x, s);
        x->atoms.n = n_atoms;
    }
    sampi_atom_at(x, i)->kind = SAMPI_ATOM_WITNESS;
    sampi_finish_objects(x, s);
    sampi_atom_at(x, i)->kind = SAMPI_ATOM_JOINED;
    for (int32_t k = s->first; k < i && sampi_schema_step(x, a.node); k++) {
        if (sampi_atom_at(x, k)->kind != SAMPI_ATOM_WITNESS) continue;
        sampi_atom_at(x, i)->with = k;
        sampi_finish_objects(x, s);
    }
    sampi_atom_at(x, i)->kind = SAMPI_ATOM_EXISTS;
    sampi_atom_at(x, i)->with = -1;
    sampi_object_end(&o);
}

/* ---- shapes: arrays ---- */

/* An array under construction. */
typedef struct sampi_array {
    sampi_shapes *shapes;
    int32_t last;     /* atoms from shapes->first to there */
    int32_t n_prefix; /* items with a goal of their own */
    int32_t least, most;
    int32_t some_least, some_most; /* so many items satisfy `some` */
    sampi_literal some;            /* -1: nothing */
    int32_t unique;                /* the node of uniqueItems; -1: none */
} sampi_array;

static SAMPI_COLD void sampi_array_some(sampi_schema *x, sampi_array *a, sampi_literal some, int32_t least,
                                        int32_t most)
{
    if (a->some >= 0 && a->some != some) sampi_refuse(x, some >> 2, "more than one contains at once");
    a->some = some;
    if (least > a->some_least) a->some_least = least;
    if (most < a->some_most) a->some_most = most;
}

static SAMPI_COLD void sampi_array_group(sampi_schema *x, sampi_array *a, int32_t schema)
{
    int32_t prefix = sampi_schema_prefix(x, schema), at;
    if (prefix >= 0 && sampi_doc(x, prefix)->n > a->n_prefix) a->n_prefix = sampi_doc(x, prefix)->n;
    int32_t least = sampi_schema_count(x, schema, SAMPI_KEY_MIN_ITEMS, 0);
    int32_t most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_ITEMS, INT32_MAX);
    if (least > a->least) a->least = least;
    if (most < a->most) a->most = most;
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_UNIQUE_ITEMS)) >= 0 && sampi_doc(x, at)->kind == SAMPI_JSON_TRUE)
        a->unique = at;
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_CONTAINS)) >= 0) {
        least = sampi_keyword(x, schema, SAMPI_KEY_MIN_CONTAINS) < 0
                    ? 1
                    : sampi_schema_count(x, schema, SAMPI_KEY_MIN_CONTAINS, 0);
        most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_CONTAINS, INT32_MAX);
        sampi_array_some(x, a, sampi_literal_of(at, SAMPI_IS), least, most);
    }
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_UNEVALUATED_ITEMS)) >= 0 &&
        sampi_doc(x, at)->kind != SAMPI_JSON_TRUE)
        sampi_refuse(x, at, "not supported");
}

/* The goal of item i (n_prefix: of all behind those), with one literal more if `also` is not -1; -1: there can be
   none. */
static SAMPI_COLD int32_t sampi_array_goal(sampi_schema *x, const sampi_array *a, int32_t i, sampi_literal also)
{
    int32_t first = x->stack.n;
    bool possible = also < 0 || sampi_goal_add(x, first, also);
    for (int32_t k = a->shapes->first; k < a->last && possible && !x->status; k++) {
        sampi_atom atom = *sampi_atom_at(x, k);
        if (atom.kind == SAMPI_ATOM_ITEMS || (atom.kind == SAMPI_ATOM_ITEM && atom.name == i))
            possible = sampi_goal_add(x, first, atom.literal);
        if (atom.kind != SAMPI_ATOM_GROUP && atom.kind != SAMPI_ATOM_VALUE) continue;
        bool value = atom.kind == SAMPI_ATOM_VALUE;
        int32_t prefix = value ? atom.node : sampi_schema_prefix(x, atom.node),
                at = prefix < 0 ? -1 : sampi_doc(x, prefix)->first;
        for (int32_t number = 0; at >= 0 && number < i; number++) at = sampi_doc(x, at)->next;
        if (value)
            possible = at >= 0 && sampi_goal_add(x, first, sampi_literal_of(at, SAMPI_EQUALS));
        else if (at >= 0 || (at = sampi_schema_rest(x, atom.node)) >= 0)
            possible = sampi_goal_add(x, first, sampi_literal_of(at, SAMPI_IS));
    }
    int32_t goal = possible ? sampi_goal_taken(x, first) : -1;
    x->stack.n = first;
    return goal >= 0 && sampi_goal_possible(x, goal) ? goal : -1;
}

static SAMPI_COLD void sampi_array_collect(sampi_schema *x, sampi_array *a)
{
    for (int32_t i = a->shapes->first; i < a->last && !x->status; i++) {
        sampi_atom atom = *sampi_atom_at(x, i);
        if (atom.kind == SAMPI_ATOM_GROUP) sampi_array_group(x, a, atom.node);
        if (atom.kind == SAMPI_ATOM_ITEM && atom.name >= a->n_prefix) a->n_prefix = atom.name + 1;
        if (atom.kind == SAMPI_ATOM_SOME) sampi_array_some(x, a, atom.literal, atom.name, INT32_MAX);
        if (atom.kind == SAMPI_ATOM_LEAST && atom.name > a->least) a->least = atom.name;
        if (atom.kind == SAMPI_ATOM_MOST && atom.name < a->most) a->most = atom.name;
        if (atom.kind != SAMPI_ATOM_VALUE) continue;
        int32_t n = sampi_doc(x, atom.node)->n;
        if (n > a->n_prefix) a->n_prefix = n;
        if (n > a->least) a->least = n;
        if (n < a->most) a->most = n;
    }
    if (a->some_least > a->least) a->least = a->some_least;
    if (a->n_prefix > SAMPI_SCHEMA_PREFIX)
        sampi_schema_fail(x, 0, SAMP_E_RANGE, "too many items with schemas of their own");
    for (int32_t i = 0; i <= a->n_prefix && i < a->most && sampi_schema_step(x, 0); i++)
        if (sampi_array_goal(x, a, i, -1) < 0) a->most = i;
}

/* Is the node one of the members? What allows the same texts is the same node. */
static SAMPI_COLD bool sampi_is_member(sampi_schema *x, const sampi_vec *members, sampi_node node)
{
    for (int32_t i = 0; i < members->n; i++) {
        if (((const sampi_member *)members->data)[i].node == node) return true;
        if (i % 64 == 0) (void)sampi_schema_step(x, 0);
    }
    return false;
}

/* uniqueItems, where every item is one of a few values: members in any order, none twice. */
static SAMPI_COLD sampi_node sampi_array_unique(sampi_schema *x, sampi_array *a)
{
    sampi_node node = SAMPI_NEVER;
    sampi_vec list;
    memset(&list, 0, sizeof list);
    int32_t goal = a->n_prefix || a->some >= 0 ? -1 : sampi_array_goal(x, a, 0, -1);
    sampi_scalars s = sampi_scalars_of(0);
    if (goal >= 0) s = sampi_goal_scalars(x, goal);
    if (goal < 0 || sampi_goal_deep(x, goal) || s.number.n < 0 || s.string.n < 0)
        return sampi_refuse(x, a->unique, "only where all items are of an enum"), node;
    static const char *const words[3] = { "null", "false", "true" };
    for (int32_t i = 0; i < 3 + s.number.n + s.string.n && !x->status; i++) {
        if (i < 3 && !(s.types >> i & 1)) continue;
        int32_t k = i - 3, at = k < s.number.n ? s.number.list + k : s.string.list + k - s.number.n;
        sampi_member m = { i < 3 ? sampi_tree_text(x->tree, words[i], strlen(words[i]))
                                 : sampi_schema_value_text(x, *sampi_ints(&x->arena, at)),
                           false };
        if (sampi_is_member(x, &list, m.node)) continue; /* an enum may say the same twice */
        sampi_member *room = (sampi_member *)sampi_vec_add(&list, sizeof m, 1);
        if (room)
            *room = m;
        else
            sampi_schema_fail(x, 0, SAMP_E_NOMEM, "out of memory");
    }
    if (a->least <= list.n)
        node = sampi_tree_members(x->tree, (const sampi_member *)list.data, (size_t)list.n, x->comma, SAMPI_NEVER,
                                  (size_t)a->least, a->most < INT32_MAX ? (size_t)a->most : SIZE_MAX);
    sampi_vec_free(&list);
    return node;
}

/* Items of which any number of others may lie around those that satisfy `some`; commas before them. */
static SAMPI_COLD sampi_node sampi_array_tail(sampi_schema *x, const sampi_array *a, int32_t found)
{
    sampi_tree *t = x->tree;
    bool bounded = a->some_most < INT32_MAX;
    int32_t with = sampi_array_goal(x, a, a->n_prefix, a->some);
    int32_t without = sampi_array_goal(x, a, a->n_prefix, bounded ? a->some ^ 1 : -1);
    int32_t least = found < a->some_least ? a->some_least - found : 0, most = bounded ? a->some_most - found : -1;
    sampi_node one = with < 0 ? (sampi_node)SAMPI_NEVER : sampi_tree_seq(t, x->comma, sampi_goal_node(x, with));
    sampi_node other = without < 0 ? (sampi_node)SAMPI_NEVER
                                   : sampi_tree_seq(t, x->comma, sampi_goal_node(x, without));
    sampi_node others = sampi_tree_repeat(t, other, 0, -1);
    return sampi_tree_seq(t, sampi_tree_repeat(t, sampi_tree_seq(t, others, one), least, most), others);
}

/* Items of which a number satisfies `some`: from the last one on, what may follow when i items are there, of which
   `found` satisfied it. Without a bound on those, more than enough are as good as enough. */
static SAMPI_COLD sampi_node sampi_array_counted(sampi_schema *x, const sampi_array *a)
{
    sampi_tree *t = x->tree;
    bool bounded = a->some_most < INT32_MAX;
    int32_t n = bounded ? a->some_most : a->some_least, last = a->n_prefix > a->least ? a->n_prefix : a->least;
    if (a->most == 0) return SAMPI_EMPTY;
    if (a->most < INT32_MAX) last = a->most;
    if (last == 0) last = 1; /* the first one has no comma */
    if ((int64_t)(last + 1) * (n + 1) > 4096)
        return sampi_refuse(x, a->some >> 2, "contains with so many items"), SAMPI_NEVER;
    int32_t first = x->stack.n;
    for (int32_t found = 0; found <= n; found++)
        sampi_push(x, &x->stack,
                   a->most < INT32_MAX ? (found >= a->some_least ? SAMPI_EMPTY : SAMPI_NEVER)
                                       : sampi_array_tail(x, a, found));
    for (int32_t i = last; i-- > 0 && !x->status;) {
        int32_t with = sampi_array_goal(x, a, i, a->some),
                without = sampi_array_goal(x, a, i, bounded ? a->some ^ 1 : -1);
        sampi_node before = i ? x->comma : (sampi_node)SAMPI_EMPTY;
        sampi_node one = with < 0 ? (sampi_node)SAMPI_NEVER : sampi_tree_seq(t, before, sampi_goal_node(x, with));
        sampi_node other = without < 0 ? (sampi_node)SAMPI_NEVER
                                       : sampi_tree_seq(t, before, sampi_goal_node(x, without));
        for (int32_t found = 0; found <= n && !x->status;
             found++) { /* ascending: what is behind `found` is still of item i + 1 */
            sampi_node *place = sampi_ints(&x->stack, first + found);
            sampi_node more = found < n ? place[1] : bounded ? (sampi_node)SAMPI_NEVER : place[0];
            sampi_node node = sampi_tree_alt(t, sampi_tree_seq(t, one, more), sampi_tree_seq(t, other, place[0]));
            *place = i >= a->least && found >= a->some_least ? sampi_tree_alt(t, SAMPI_EMPTY, node) : node;
        }
    }
    sampi_node node = x->status ? SAMPI_NEVER : *sampi_ints(&x->stack, first);
    x->stack.n = first;
    return node;
}

/* Items without such a count: those with goals of their own, then the others. */
static SAMPI_COLD sampi_node sampi_array_items(sampi_schema *x, const sampi_array *a)
{
    sampi_tree *t = x->tree;
    int32_t n = a->n_prefix < a->most ? a->n_prefix : a->most, most = a->most < INT32_MAX ? a->most - n : -1;
    if (a->most == 0) return SAMPI_EMPTY;
    sampi_node behind = SAMPI_EMPTY, rest = SAMPI_NEVER;
    if (most != 0) {
        int32_t least = a->least > n ? a->least - n : 0;
        rest = sampi_goal_node(x, sampi_array_goal(x, a, a->n_prefix, -1));
        if (n == 0) { /* the first one has no comma */
            behind = sampi_tree_repeat(t, sampi_tree_seq(t, x->comma, rest), least ? least - 1 : 0,
                                       most < 0 ? -1 : most - 1);
            rest = sampi_tree_seq(t, rest, behind);
            return least ? rest : sampi_schema_optional(t, rest);
        }
        behind = sampi_tree_repeat(t, sampi_tree_seq(t, x->comma, rest), least, most);
    }
    for (int32_t i = n; i-- > 0 && !x->status;) {
        behind = sampi_tree_seq(t, sampi_goal_node(x, sampi_array_goal(x, a, i, -1)), behind);
        if (i) behind = sampi_tree_seq(t, x->comma, behind);
        if (i >= a->least) behind = sampi_schema_optional(t, behind);
    }
    return behind;
}

/* An array of the atoms. */
static SAMPI_COLD void sampi_finish_array(sampi_schema *x, sampi_shapes *s)
{
    sampi_array a = { s, x->atoms.n, 0, 0, INT32_MAX, 0, INT32_MAX, -1, -1 };
    sampi_array_collect(x, &a);
    if (x->status || a.least > a.most || a.some_least > a.some_most) return;
    if (s->ask) {
        s->found = true;
        return;
    }
    bool counts = a.some >= 0 && (a.some_least > 0 || a.some_most < INT32_MAX);
    sampi_node inside;
    if (a.unique >= 0 && a.most > 1)
        inside = sampi_array_unique(x, &a);
    else
        inside = counts ? sampi_array_counted(x, &a) : sampi_array_items(x, &a);
    s->node = sampi_tree_alt(x->tree, sampi_schema_bracket(x, "[", inside, "]"), s->node);
}

/* The end of a way: its atoms make one shape, or contradict each other. */
static SAMPI_COLD void sampi_finish(sampi_schema *x, sampi_shapes *s)
{
    int32_t refused = -1;
    for (int32_t i = s->first; i < x->atoms.n; i++)
        if (sampi_atom_at(x, i)->kind == SAMPI_ATOM_REFUSED) refused = sampi_atom_at(x, i)->node;
    if (refused >= 0 && !s->ask) { /* that counts only if the rest is possible */
        sampi_shapes ask = *s;
        ask.ask = true;
        if (s->type == SAMPI_T_OBJECT)
            sampi_finish_objects(x, &ask);
        else
            sampi_finish_array(x, &ask);
        if (ask.found) sampi_refuse(x, refused, "not supported where it must not hold");
        return;
    }
    if (s->type == SAMPI_T_OBJECT)
        sampi_finish_objects(x, s);
    else
        sampi_finish_array(x, s);
}

/* ---- the whole ---- */

/* The words of `options`, see samp_grammar_init. */
static SAMPI_COLD int sampi_schema_options(sampi_schema *x, const char *options)
{
    static const char *const known[3] = { "ordered", "compact", "spaced" };
    bool set[3] = { false, false, false };
    for (const char *at = options ? options : ""; *at;) {
        size_t n = strcspn(at, " "), i = 0;
        while (i < 3 && !(strlen(known[i]) == n && !memcmp(known[i], at, n))) i++;
        if (n && i == 3)
            return sampi_json_fail(&x->doc, 0, SAMP_E_RANGE, "root: expected ordered, compact or spaced");
        if (n) set[i] = true;
        at += n + (at[n] == ' ');
    }
    if (set[1] && set[2])
        return sampi_json_fail(&x->doc, 0, SAMP_E_RANGE, "root: compact and spaced exclude each other");
    sampi_tree *t = x->tree;
    sampi_node any = SAMPI_EMPTY, behind = SAMPI_EMPTY;
    static const uint32_t spaces[3][2] = { { '\t', '\n' }, { '\r', '\r' }, { ' ', ' ' } };
    if (!set[1] && !set[2]) any = behind = sampi_tree_repeat(t, sampi_tree_class(t, spaces, 3, false), 0, -1);
    if (set[2]) behind = sampi_tree_text(t, " ", 1);
    x->in_order = set[0];
    x->space = any;
    x->comma = sampi_tree_seq(t, any, sampi_tree_seq(t, sampi_tree_text(t, ",", 1), behind));
    x->colon = sampi_tree_seq(t, any, sampi_tree_seq(t, sampi_tree_text(t, ":", 1), behind));
    return SAMP_OK;
}

/* The nodes that every schema needs. */
static SAMPI_COLD void sampi_schema_constants(sampi_schema *x)
{
    sampi_tree *t = x->tree;
    samp_grammar_error error;
    static const char any[] =
        "([^\"\\\\\\x00-\\x1f]|\\\\([\"\\\\/bfnrt]|u([0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}"
        "|[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2})))";
    static const char number[] = "-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?", digits[] = "0|[1-9]\\d*",
                      fraction[] = "(\\.\\d+)?";
    x->any = sampi_tree_regex(t, any, sizeof any - 1, false, sampi_tree_class, &error);
    x->string = sampi_schema_in_quotes(t, sampi_tree_repeat(t, x->any, 0, -1));
    x->number = sampi_tree_regex(t, number, sizeof number - 1, false, sampi_tree_class, &error);
    x->digits = sampi_tree_regex(t, digits, sizeof digits - 1, false, sampi_tree_class, &error);
    x->fraction = sampi_tree_regex(t, fraction, sizeof fraction - 1, false, sampi_tree_class, &error);
    x->magnitude = sampi_tree_seq(t, x->digits, x->fraction);
    x->plain = sampi_tree_seq(t, sampi_schema_optional(t, sampi_tree_text(t, "-", 1)), x->magnitude);
    x->character = sampi_schema_range(t, 0, 0x10ffff);
    x->shortest = sampi_schema_in_quotes(t, sampi_tree_repeat(t, x->character, 0, -1));
    const sampi_node made[] = { x->string, x->number, x->digits, x->fraction, x->plain, x->shortest, x->comma };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) sampi_schema_made(x, made[i]);
}

/* What the document has of the keywords, and which draft it follows. */
static SAMPI_COLD int sampi_schema_prepare(sampi_schema *x)
{
    static const char *const names[] = {
#define SAMPI_SCHEMA_NAME(key, name, value) name,
        SAMPI_SCHEMA_KEYS(SAMPI_SCHEMA_NAME)
#undef SAMPI_SCHEMA_NAME
    };
    size_t n_nodes = (size_t)x->doc.n_nodes, n_strings = (size_t)x->doc.n_strings, n = 0;
    size_t size = 2 * n_nodes * sizeof *x->scalars + n_nodes * sizeof *x->targets + 2 * n_nodes +
                  n_strings * (sizeof *x->listed + 1);
    x->scalars = (sampi_scalars *)SAMP_MALLOC(size);
    if (!x->scalars) return sampi_json_fail(&x->doc, 0, SAMP_E_NOMEM, "out of memory");
    x->targets = (int32_t *)(x->scalars + 2 * n_nodes);
    x->listed = x->targets + n_nodes;
    x->scalars_known = (uint8_t *)(x->listed + n_strings);
    x->key_of = x->scalars_known + 2 * n_nodes;
    memset(x->targets, 0xff, n_nodes * sizeof *x->targets); /* -1 */
    memset(x->listed, 0, n_strings * sizeof *x->listed + 2 * n_nodes + n_strings);
    for (int i = 0; i < SAMPI_KEY_LAST; i++) {
        x->key[i] = sampi_json_find(&x->doc, names[i], strlen(names[i]));
        if (x->key[i] >= 0) x->key_of[x->key[i]] = (uint8_t)(i + 1);
    }
    x->draft = 8;
    int32_t dialect = sampi_json_member(&x->doc, 0, x->key[SAMPI_KEY_SCHEMA]);
    const char *text = "";
    if (dialect >= 0 && sampi_doc(x, dialect)->kind == SAMPI_JSON_STRING)
        text = sampi_doc_text(x, sampi_doc(x, dialect)->text, &n);
    for (size_t i = 0; i + 8 <= n; i++) {
        if (memcmp(text + i, "draft-0", 7)) continue;
        if (text[i + 7] < '4' || text[i + 7] > '7') sampi_refuse(x, dialect, "not a draft from 4 on");
        x->draft = text[i + 7] - '0';
    }
    /* What a draft does not know yet is no keyword. */
    static const struct {
        sampi_schema_key key;
        int draft;
    } later[] = { { SAMPI_KEY_CONST, 6 },        { SAMPI_KEY_CONTAINS, 6 },     { SAMPI_KEY_PROPERTY_NAMES, 6 },
                  { SAMPI_KEY_IF, 7 },           { SAMPI_KEY_PREFIX_ITEMS, 8 }, { SAMPI_KEY_DEPENDENT_REQUIRED, 8 },
                  { SAMPI_KEY_MIN_CONTAINS, 8 }, { SAMPI_KEY_MAX_CONTAINS, 8 }, { SAMPI_KEY_DEPENDENT_SCHEMAS, 8 },
                  { SAMPI_KEY_DYNAMIC_REF, 8 },  { SAMPI_KEY_RECURSIVE_REF, 8 } };
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (x->draft < later[i].draft) x->key[later[i].key] = -1;
    return x->status;
}

/* The bodies of all rules; each may ask for more. */
static SAMPI_COLD void sampi_schema_rules(sampi_schema *x)
{
    for (int32_t i = 0; i < x->queue.n && !x->status; i++) {
        int32_t goal = *sampi_ints(&x->queue, i);
        unsigned deep = sampi_goal_deep(x, goal);
        sampi_node body = sampi_goal_scalars_node(x, goal);
        if (deep & SAMPI_T_ARRAY) body = sampi_tree_alt(x->tree, sampi_goal_shapes(x, goal, SAMPI_T_ARRAY), body);
        if (deep & SAMPI_T_OBJECT) body = sampi_tree_alt(x->tree, sampi_goal_shapes(x, goal, SAMPI_T_OBJECT), body);
        sampi_schema_made(x, sampi_tree_define(x->tree, sampi_goal_at(x, goal)->rule, body));
    }
}

static SAMPI_COLD void sampi_schema_free(sampi_schema *x)
{
    sampi_vec *vecs[] = { &x->goals, &x->slots, &x->arena,    &x->stack,       &x->atoms,
                          &x->todo,  &x->queue, &x->patterns, &x->deriver.work };
    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++) sampi_vec_free(vecs[i]);
    SAMP_FREE(x->deriver.memo);
    SAMP_FREE(x->scalars);
    sampi_json_free(&x->doc);
}

/* The texts that are instances of a JSON schema, into the tree; `options` as samp_grammar_init's root. A status, and
   *error, if it is none, or can't be expressed. */
static SAMPI_COLD sampi_node sampi_schema_tree(sampi_tree *tree, const char *text, const char *options,
                                               samp_grammar_error *error)
{
    sampi_schema x;
    memset(&x, 0, sizeof x);
    memset(error, 0, sizeof *error);
    x.tree = tree;
    x.steps = SAMPI_SCHEMA_STEPS;
    int status = sampi_json_read(&x.doc, text, strlen(text), error);
    if (!status) status = sampi_schema_options(&x, options);
    if (!status) status = sampi_schema_prepare(&x);
    sampi_node root = status;
    if (!status) {
        sampi_schema_constants(&x);
        int32_t first = x.stack.n;
        bool possible = sampi_goal_add(&x, first, sampi_literal_of(0, SAMPI_IS));
        int32_t goal = sampi_goal_taken(&x, first);
        root = possible ? sampi_goal_node(&x, goal) : (sampi_node)SAMPI_NEVER;
        sampi_schema_rules(&x);
        sampi_schema_made(&x, root);
        if (x.status) root = x.status;
    }
    sampi_schema_free(&x);
    return root;
}
#endif /* SAMPLING_GRAMMAR_DECLARED */

/* The user's own flags again. */
#if defined(__clang__) || defined(_MSC_VER)
#pragma float_control(pop)
#endif
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
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
