/* =================================================================================================== >>types
   The types of inputs and results: tokens, arrays of candidates, statuses, parameters, rows of logits, a vocabulary,
   and the interface of a sampler. Later versions may add members to structs that you fill: start from zero, or from the
   function that returns the defaults. */

typedef int32_t samp_token; /* a token's id, 0 .. n_vocab - 1; a function that returns a samp_token may also return a
                               negative samp_status */

/* A candidate: a token that may still be selected. The layout is that of llama_token_data, so a pointer to one may be
   cast to a pointer to the other. */
typedef struct samp_token_data {
    samp_token id;
    float logit; /* log-odds; -INFINITY = masked */
    float p;     /* the token's probability; valid only after a sampler whose comment says that it sets p */
} samp_token_data;

/* An array of candidates (the tokens that may still be selected). The layout is that of llama_token_data_array, so a
   pointer to one may be cast to a pointer to the other. Samplers make `size` smaller and may change the order of the
   candidates, but never the pointer `data`. */
typedef struct samp_token_data_array {
    samp_token_data *data; /* [size] the candidates; each id occurs at most once */
    size_t size;
    int64_t selected; /* the index in data (not the id) of the selected token; -1: no token is selected yet */
    bool sorted;      /* true: data is sorted by descending logit, and tokens of equal logits by ascending id */
} samp_token_data_array;

typedef struct samp_logit_bias {
    samp_token token;
    float bias; /* added to the logit; -INFINITY bans the token */
} samp_logit_bias;

/* All statuses, with the texts of samp_strerror(). */
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
    X(SAMP_E_UNSUPPORTED, -9, "not supported here: no sampler selects a token (add samp_init_dist(seed)), or a " \
                             "custom sampler can't do this") \
    X(SAMP_E_FORMAT,     -10, "malformed: a text with a mistake, or bytes that are damaged or of another format") \
    X(SAMP_E_FULL,       -11, "no room left") \
    X(SAMP_E_NAME,       -12, "no setting has this name") \
    X(SAMP_E_ADDRESS,    -13, "logits->data, or out, is not memory of the device")
/* clang-format on */

typedef enum samp_status_code {
#define SAMP_STATUS_ENUM(name, value, text) name = value,
    SAMP_STATUS_LIST(SAMP_STATUS_ENUM)
#undef SAMP_STATUS_ENUM
        SAMP_STATUS_LAST = -13
} samp_status_code;

typedef enum samp_rng_kind {
    SAMP_RNG_PHILOX = 0, /* a counter-based generator, which gives the same token on every machine */
    SAMP_RNG_MT19937 = 1 /* llama.cpp's generator and arithmetic; it uses only the low 32 bits of the seed */
} samp_rng_kind;

#define SAMP_MAX_VOCAB 4194304 /* the largest number of candidates; more of them are the error SAMP_E_RANGE */

typedef struct samp_sampler samp_sampler;
struct samp_gpu_data;

/* The functions of a sampler. A sampler of your own (a custom sampler) must have `apply`; its other functions may be
   NULL. clone and free may be NULL only if the context (the pointer ctx) needs no copy and no free: without a clone
   function, samp_clone of a sampler whose ctx is not NULL makes a sampler that carries SAMP_E_UNSUPPORTED.
   accept and apply return a status (a number above 0 counts as SAMP_E_RANGE). If your accept or apply returns an error,
   the library does not restore your sampler's state: do that yourself.
   apply may change the candidates' logits, p and order, set `selected`, and remove candidates. A draw and samp_apply
   return SAMP_E_RANGE if apply leaves an id twice, an id outside 0 .. SAMP_MAX_VOCAB - 1, more candidates than before,
   or another data pointer; they return SAMP_E_NAN if apply leaves a NaN or +infinity. A draw also returns SAMP_E_RANGE
   if the selected id is not a token of the row (the logits of this draw). apply need not update `sorted`; only under
   SAMP_RNG_MT19937, as in llama.cpp, must it set `sorted` to false if the candidates are no longer in order.
   rollback restores the state from before the last n accepted tokens, or changes nothing and returns a status. If a
   sampler has an accept function but no rollback, its accepted tokens cannot be taken back.
   No function may change or call the chain that the sampler is in. */
/* clang-format off */
typedef struct samp_sampler_i {
    const char   *(*name)(const samp_sampler *);                    /* the name in samp_describe; NULL: "custom" */
    int           (*accept)(samp_sampler *, samp_token);            /* takes note of a chosen token */
    int           (*apply)(samp_sampler *, samp_token_data_array *);
    void          (*reset)(samp_sampler *);
    samp_sampler *(*clone)(const samp_sampler *);                   /* samp_init_custom(iface, copy of ctx) */
    void          (*free)(samp_sampler *);                          /* frees ctx, not the sampler */
    int           (*apply_gpu)(samp_sampler *, struct samp_gpu_data *); /* apply on a device: see sampling_gpu.h */
    int           (*rollback)(samp_sampler *, int32_t n);           /* takes back the last n accepted tokens */
} samp_sampler_i;
/* clang-format on */

/* A sampler. Only functions of the library make a sampler (samp_init_..., samp_chain_..., samp_clone), because private
   members follow these two public ones in memory. */
struct samp_sampler {
    const samp_sampler_i *iface;
    void *ctx; /* the context: in a custom sampler, your own pointer */
};

/* A vocabulary, for samplers that need one. The library keeps the pointer: the struct must outlive the samplers made
   with it, and must not change. */
typedef struct samp_vocab samp_vocab;
struct samp_vocab {
    int32_t n_vocab;
    /* A function that returns the bytes of a token's text, and their number in *n_bytes (0 for control tokens). The
       library does not free these bytes. */
    const char *(*token_bytes)(const samp_vocab *vocab, samp_token token, size_t *n_bytes);
    /* An optional function that tokenises a text. It writes at most n_max ids and returns their number (n_max if the
       text has more tokens). If the pointer is NULL, the library takes the longest matching token again and again. Used
       for the breakers of the sampler dry (strings that end a repetition), and for <text> in a grammar, which must be
       one token. */
    int32_t (*tokenize)(const samp_vocab *vocab, const char *text, size_t n_bytes, samp_token *out, int32_t n_max);
    void *user;            /* for your callbacks */
    const samp_token *eog; /* [n_eog] the tokens that end a generation */
    size_t n_eog;
    samp_token eos, eot; /* the tokens "end of sequence" and "end of turn"; -1: the vocabulary has no such token */
};

/* All settings of the usual chain. Start from samp_default_params(), because a zeroed struct is not valid. Each
   member's comment gives its default, the range of a number (if it is not "all finite values"), and mostly the value
   that switches the sampler off. */
typedef struct samp_params {
    uint64_t seed;                     /* the seed of the random numbers, default 0; no value means "a random seed" */
    size_t min_keep;                   /* the number of tokens that a truncation (each but top_k, top_n_sigma, min_k
                                          and infill) keeps at least; default 0 */
    int32_t top_k;                     /* how many of the best tokens stay: default 40; a value <= 0 is off */
    int32_t top_k_ties;                /* 0 (default) or 1; with 1, top_k also keeps all tokens whose logit equals
                                          that of the last token kept */
    float top_p;                       /* top_p's probability: default 0.95, range (0, 1], the value 1 is off */
    float min_p;                       /* min_p's share: default 0.05, range [0, 1], the value 0 is off */
    float top_a;                       /* top_a's factor: default 0, range [0, 1], the value 0 is off */
    float p_less;                      /* p_less' factor: default 0, range [0, 1], the value 0 is off, 1 is the form
                                          of the paper */
    float p_less_norm;                 /* p_less_norm's factor: default 0, range [0, 1], the value 0 is off, 1 is the
                                          form of the paper */
    float epsilon_cutoff;              /* epsilon's probability: default 0, range [0, 1], the value 0 is off */
    float eta_cutoff;                  /* eta's probability: default 0, range [0, 1], the value 0 is off */
    float top_h;                       /* top_h's factor: default 1, range (0, 1], the value 1 is off */
    float typ_p;                       /* typical's probability: default 1, range (0, 1], the value 1 is off */
    float tfs_z;                       /* tail_free's sum: default 1, range (0, 1], the value 1 is off */
    float top_n_sigma;                 /* the number of standard deviations: default -1, a value <= 0 is off */
    float min_k;                       /* min_k's tau: default -1, a value < 0 is off */
    float xtc_probability;             /* how often xtc acts: default 0, range [0, 1], the value 0 is off */
    float xtc_threshold;               /* xtc's probability of a top choice: default 0.1, range [0, 1], a value > 0.5
                                          is off */
    float temp;                        /* the temperature: default 0.8, range [2^-20, 2^20]; 0 selects greedily */
    float dynatemp_range;              /* the dynamic temperature's distance from temp: default 0, range [0, 2^20],
                                          the value 0 is off */
    float dynatemp_exponent;           /* the dynamic temperature's exponent: default 1, range [0, 1000] */
    float smoothing_factor;            /* smoothing's factor: default 0, range [0, 1000], the value 0 is off */
    float smoothing_curve;             /* smoothing's curve: default 1, range [1, 10] */
    int32_t penalty_last_n;            /* the number of last tokens that penalties look at: default 64, range [-1,
                                          2^22]; 0 is off, -1 is n_ctx_train */
    float penalty_repeat;              /* the repetition penalty: default 1, range > 0, the value 1 is off */
    float penalty_freq;                /* the frequency penalty: default 0, the value 0 is off */
    float penalty_present;             /* the presence penalty: default 0, the value 0 is off */
    float dry_multiplier;              /* dry's multiplier: default 0, range >= 0, the value 0 is off */
    float dry_base;                    /* the base of dry's power: default 1.75, range >= 1 */
    int32_t dry_allowed_length;        /* the length in tokens from which dry penalises a repetition: default 2,
                                          range >= 0 */
    int32_t dry_penalty_last_n;        /* the number of last tokens that dry looks at: default -1, range [-1, 2^22];
                                          0 is off, -1 is n_ctx_train */
    const char *const *dry_breakers;   /* the strings that end a repetition for dry, 1024 at most, followed by a NULL;
                                          a NULL array means the default strings "\n" ":" "\"" "*" */
    int32_t mirostat;                  /* default 0, which is off; 1 or 2: that version of mirostat replaces the
                                          truncations and dist */
    float mirostat_tau;                /* mirostat's target surprise in bits: default 5, range [0, FLT_MAX / 2] */
    float mirostat_eta;                /* mirostat's learning rate: default 0.1, range >= 0 */
    float adaptive_target;             /* the target probability of adaptive_p, which then selects instead of dist:
                                          default -1, range [0, 1], a finite value < 0 is off */
    float adaptive_decay;              /* adaptive_p's decay: default 0.9, range [0, 0.99] */
    const samp_logit_bias *logit_bias; /* [n_logit_bias] the biases of tokens; default NULL */
    int32_t n_logit_bias;              /* the number of biases: default 0, range >= 0, the value 0 is off */
    int32_t n_vocab;                   /* the size of the vocabulary, which logit_bias and mirostat 1 need: default
                                          0, range >= 0 */
    const samp_vocab *vocab;           /* the vocabulary, which dry needs if it has breakers; default NULL */
    const char *order;                 /* the order of the samplers, see samp_chain_from_params; NULL means the
                                          default order */
    samp_rng_kind rng;                 /* the random source; default SAMP_RNG_PHILOX */
    int32_t n_ctx_train;               /* the number of tokens that -1 means in the two members ..._last_n:
                                          default 4096, range [0, 2^22] */
    samp_sampler *grammar;             /* a grammar's sampler, which becomes the chain's first sampler and is owned
                                          by the chain: see samp_chain_from_params; default NULL */
} samp_params;

typedef struct samp_settings samp_settings; /* samp_params whose members are set by their names and values as text,
                                               for bindings and command lines */

/* The type of an array's elements: of a batch's logits, or of the input and the result of samp_random_sample_run. */
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

/* A token's log-probability (natural logarithm) and its rank in the order (logit descending, id ascending); rank 1 is
   the most likely token. */
typedef struct samp_logprob {
    samp_token token;
    int32_t rank;
    float logprob;
} samp_logprob;

/* Log-probabilities of one distribution. The caller sets top_logprobs, n_top and (at the start of a sequence)
   cumulative_logprob; the library writes the other members. */
typedef struct samp_logprob_set {
    samp_logprob *top_logprobs; /* [n_top] out: the most likely tokens, in order; NULL if n_top is 0 */
    int32_t n_top;              /* 0 .. SAMP_MAX_TOP_LOGPROBS */
    int32_t n_top_found;        /* out: how many elements of top_logprobs were written; less than n_top if fewer
                                   tokens are unmasked */
    samp_logprob chosen;        /* out: the log-probability of the sampled token */
    double cumulative_logprob;  /* in and out: the sum for the sequence; each call adds chosen.logprob */
    const samp_token *ids;      /* [n_ids] tokens whose log-probabilities are wanted, each in [0, n_vocab); NULL if
                                   n_ids is 0 */
    int32_t n_ids;              /* 0 .. SAMP_MAX_TOP_LOGPROBS */
    float *id_logprobs;         /* [n_ids] out: their log-probabilities; -INFINITY: masked, or removed by the chain */
    float entropy;              /* out: the entropy of the distribution, - sum p ln p, in nats; always written */
} samp_logprob_set;

#define SAMP_MAX_TOP_LOGPROBS 1024

/* What a chain has left to draw from: all tokens that could have been drawn. A trainer masks the others, so that its
   distribution is the sampler's. If there are more tokens than the arrays have memory for, the token is drawn all the
   same: n and mass are right, and the arrays are not written. */
typedef struct samp_support {
    samp_token *tokens; /* [capacity] out: the n tokens, ids ascending; NULL if capacity is 0 */
    float *logprobs;    /* [capacity] out: their log-probabilities in the distribution `processed`; or NULL */
    size_t capacity;    /* 0: only n and mass are wanted */
    size_t n;           /* out: how many tokens could have been drawn */
    double mass;        /* out: their share of the model's distribution, in [0, 1] */
} samp_support;

typedef struct samp_logprobs {
    samp_logprob_set raw;       /* the log-probabilities by the model's logits, without masked tokens */
    samp_logprob_set processed; /* the log-probabilities by the distribution from which the chain's last sampler
                                   draws */
    samp_support *support;      /* the tokens from which the chain's last sampler draws; NULL: not wanted */
} samp_logprobs;

/* The logits of a batch: one row (the logits of one sequence) for each token to draw. The first four members are
   required; 0 or NULL in another one means that it is not used. */
typedef struct samp_logits {
    const void *data;         /* [rows x stride] the logits, which are only read; aligned as its elements are */
    samp_dtype dtype;         /* the type of the logits: SAMP_F32, SAMP_F16, SAMP_BF16 or SAMP_F64 (rounded to f32) */
    size_t n_rows;            /* the number of rows to sample; 0 is allowed */
    size_t n_vocab;           /* 1 .. SAMP_MAX_VOCAB */
    size_t stride;            /* the number of elements from one row's start to the next row's, >= n_vocab; 0 means
                                 n_vocab */
    const int32_t *row_index; /* [n_rows] the batch's row r is row row_index[r] (>= 0) of data; NULL: it is row r of
                                 data */
    const uint32_t *mask;     /* [n_rows x mask_stride] if bit i % 32 of the 32-bit word i / 32 is set, token i is
                                 allowed; NULL: all tokens are */
    size_t mask_stride;       /* the number of 32-bit words from one row's mask to the next row's; 0 means (n_vocab +
                                 31) / 32 */
    samp_logprobs *logprobs;  /* [n_rows] out: log-probabilities; NULL: none are computed */
    int32_t n_threads;        /* the number of threads; 0: OpenMP chooses it. Without OpenMP there is one thread */
    const size_t *n_vocab_of; /* [n_rows] row r has a vocabulary of its own: only its first n_vocab_of[r] logits, 1 ..
                                 n_vocab, are read, and of the mask their words; NULL: all rows have n_vocab */
} samp_logits;

/* A draft for samp_verify: tokens that a cheaper source proposes, and the probabilities from which it drew them. */
typedef struct samp_draft {
    size_t n;                 /* number of tokens; 0 is allowed */
    const samp_token *tokens; /* [n] the proposed tokens, each in [0, n_vocab) */
    const float *probs;       /* [n x n_vocab], or [n x n_top] if ids is used: probabilities in [0, 1] from which the
                                 draft's tokens were drawn; NULL: each token was proposed with probability 1 */
    const samp_token *ids;    /* [n x n_top] the tokens to which the elements of probs belong; all other tokens had
                                 the probability 0. NULL: probs has one element for each token of the vocabulary */
    size_t n_top;             /* the number of elements of ids for each token of the draft, >= 1; not read if ids is
                                 NULL */
    samp_logprobs *logprobs;  /* [n + 1] out: what samp_sample_batch would write for each token of the output; NULL:
                                 nothing. cumulative_logprob is the token's own; elements after the output's last
                                 token mean nothing */
} samp_draft;

typedef enum samp_verify_method {
    SAMP_VERIFY_EXACT = 0, /* the output is identical to the output without a draft */
    SAMP_VERIFY_RATIO = 1  /* the output has the same distribution as without a draft; more of the draft is accepted
                              than by the exact method */
} samp_verify_method;

/* What samp_set_perf_hook calls: line [n] is a JSON object without an end of line, good during the call. */
typedef void (*samp_perf_hook)(void *user, const char *line, size_t n);

/* The counts that samp_perf() returns. They count calls on the sampler itself: for a chain, calls on the chain, and not
   those that it makes to its members. */
typedef struct samp_perf_data {
    uint64_t n_sample;    /* tokens sampled */
    uint64_t n_accept;    /* tokens accepted */
    uint64_t t_sample_ns; /* time spent sampling; 0 without SAMP_CLOCK */
    uint64_t n_exact;     /* how often the fast path's estimate of a sum could not decide, so that it computed the
                             exact sum */
    uint64_t n_steps;     /* how often a draw left the fast path and, from some sampler on, applied the samplers one
                             by one to an array of candidates (under MT19937: to an array of the whole row) */
} samp_perf_data;
