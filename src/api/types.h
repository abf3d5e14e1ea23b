/* =================================================================================================== >>types
   The types of inputs and results: tokens, arrays of candidates, statuses, parameters, rows of logits, a vocabulary,
   and the interface of a sampler. Later versions may add members to structs that you fill: start from zero, or from the
   function that returns the defaults. */

typedef int32_t samp_token; /* a token's id, 0 .. n_vocab - 1; as a result, a negative number is a samp_status */

/* A candidate. The layout is that of llama_token_data: a cast is supported. */
typedef struct samp_token_data {
    samp_token id;
    float logit; /* log-odds; -INFINITY = masked */
    float p;     /* probability, only after a sampler whose comment says so */
} samp_token_data;

/* An array of candidates. The layout is that of llama_token_data_array: a cast is supported. Samplers make `size`
   smaller and may change the order, but never the pointer `data`. */
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
    X(SAMP_E_UNSUPPORTED, -9, "not supported here: no sampler selects a token, or a custom sampler can't do this") \
    X(SAMP_E_FORMAT,     -10, "the bytes are damaged or of another format") \
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
    SAMP_RNG_PHILOX = 0, /* counter-based: the same token on every machine */
    SAMP_RNG_MT19937 = 1 /* llama.cpp's random numbers and arithmetic; uses the low 32 bits of the seed */
} samp_rng_kind;

#define SAMP_MAX_VOCAB 4194304 /* more candidates than that are SAMP_E_RANGE */

typedef struct samp_sampler samp_sampler;
struct samp_gpu_data;

/* The functions of a sampler. For a sampler of your own apply is required; the others may be NULL. clone and free may
   be NULL only if the context needs no copy and no free: without a clone function, the clone of a sampler whose context
   is not NULL carries SAMP_E_UNSUPPORTED.
   accept and apply return a status (a number above 0 counts as SAMP_E_RANGE). After an error of your own, the state of
   your sampler is your responsibility.
   apply may change logits, p, order and selected, and remove candidates. It is SAMP_E_RANGE if apply leaves an id
   twice, an id outside 0 .. SAMP_MAX_VOCAB - 1, a selected id that is not in the row, more candidates than before, or
   another data pointer; a NaN or +infinity is SAMP_E_NAN. `sorted` may be left as it was; under MT19937, as in
   llama.cpp, it must be false if the order is lost.
   rollback restores the state from before the last n accepted tokens, or changes nothing and returns a status. Without
   it an accept cannot be taken back.
   No function may change or call the chain that the sampler is in. */
/* clang-format off */
typedef struct samp_sampler_i {
    const char   *(*name)(const samp_sampler *);                    /* the name in samp_describe; NULL: "custom" */
    int           (*accept)(samp_sampler *, samp_token);            /* a token was chosen */
    int           (*apply)(samp_sampler *, samp_token_data_array *);
    void          (*reset)(samp_sampler *);
    samp_sampler *(*clone)(const samp_sampler *);                   /* samp_init_custom(iface, copy of ctx) */
    void          (*free)(samp_sampler *);                          /* frees ctx, not the sampler */
    int           (*apply_gpu)(samp_sampler *, struct samp_gpu_data *); /* apply on a device: see sampling_gpu.h */
    int           (*rollback)(samp_sampler *, int32_t n);           /* n tokens were not chosen: see samp_rollback */
} samp_sampler_i;
/* clang-format on */

/* A sampler. Only functions of the library make one (samp_init_..., samp_chain_..., samp_clone): private members follow
   these two. */
struct samp_sampler {
    const samp_sampler_i *iface;
    void *ctx; /* yours in a custom sampler */
};

/* A vocabulary, for samplers that need one. The library keeps the pointer: the struct must outlive the samplers made
   with it, and must not change. */
typedef struct samp_vocab samp_vocab;
struct samp_vocab {
    int32_t n_vocab;
    /* Returns the bytes of a token's text, and their number in *n_bytes (0 for control tokens). The library does not
       free them. */
    const char *(*token_bytes)(const samp_vocab *vocab, samp_token token, size_t *n_bytes);
    /* Optional: tokenises a text. Writes at most n_max ids and returns their number (n_max if there are more).
       NULL: greedy longest match. Used for dry's breakers, and for <text> in a grammar, which must be one token. */
    int32_t (*tokenize)(const samp_vocab *vocab, const char *text, size_t n_bytes, samp_token *out, int32_t n_max);
    void *user;            /* for your callbacks */
    const samp_token *eog; /* [n_eog] the tokens that end a generation */
    size_t n_eog;
    samp_token eos, eot; /* end of sequence, end of turn; -1: the vocabulary has no such token */
};

/* All settings of the usual chain. Start from samp_default_params(): a zeroed struct is not valid. Each comment has the
   default, for numbers the range if it is not all finite values, and mostly the value that switches the sampler off. */
typedef struct samp_params {
    uint64_t seed;                     /* 0; used as given, there is no "random" value */
    size_t min_keep;                   /* 0; truncations by p (all but top_k, top_n_sigma) keep at least this many */
    int32_t top_k;                     /* 40; <= 0 = off */
    int32_t top_k_ties;                /* 0 in [0, 1]; 1: top_k also keeps all tokens that equal the last one */
    float top_p;                       /* 0.95 in (0, 1]; 1 = off */
    float min_p;                       /* 0.05 in [0, 1]; 0 = off */
    float top_a;                       /* 0 in [0, 1]; 0 = off */
    float p_less;                      /* 0 in [0, 1]; 0 = off, 1 = the paper's form */
    float p_less_norm;                 /* 0 in [0, 1]; 0 = off, 1 = the paper's form */
    float epsilon_cutoff;              /* 0 in [0, 1]; 0 = off */
    float eta_cutoff;                  /* 0 in [0, 1]; 0 = off */
    float top_h;                       /* 1 in (0, 1]; 1 = off */
    float typ_p;                       /* 1 in (0, 1]; 1 = off */
    float tfs_z;                       /* 1 in (0, 1]; 1 = off */
    float top_n_sigma;                 /* -1; <= 0 = off */
    float min_k;                       /* -1; < 0 = off */
    float xtc_probability;             /* 0 in [0, 1]; 0 = off */
    float xtc_threshold;               /* 0.1 in [0, 1]; > 0.5 = off */
    float temp;                        /* 0.8; 0 = greedy, else in [2^-20, 2^20] */
    float dynatemp_range;              /* 0 in [0, 2^20]; 0 = off */
    float dynatemp_exponent;           /* 1 in [0, 1000] */
    float smoothing_factor;            /* 0 in [0, 1000]; 0 = off */
    float smoothing_curve;             /* 1 in [1, 10] */
    int32_t penalty_last_n;            /* 64 in [-1, 2^22]; 0 = off, -1 = n_ctx_train */
    float penalty_repeat;              /* 1, > 0; 1 = off */
    float penalty_freq;                /* 0; 0 = off */
    float penalty_present;             /* 0; 0 = off */
    float dry_multiplier;              /* 0, >= 0; 0 = off */
    float dry_base;                    /* 1.75, >= 1 */
    int32_t dry_allowed_length;        /* 2, >= 0 */
    int32_t dry_penalty_last_n;        /* -1 in [-1, 2^22]; 0 = off, -1 = n_ctx_train */
    const char *const *dry_breakers;   /* strings, the last followed by NULL; NULL: "\n" ":" "\"" "*" */
    int32_t mirostat;                  /* 0; 0 = off; 1, 2: takes the place of truncation and dist */
    float mirostat_tau;                /* 5 in [0, FLT_MAX / 2]; target surprise in bits */
    float mirostat_eta;                /* 0.1, >= 0; learning rate */
    float adaptive_target;             /* -1 in [0, 1]; < 0 (finite) = off; else adaptive_p selects instead of dist */
    float adaptive_decay;              /* 0.9 in [0, 0.99] */
    const samp_logit_bias *logit_bias; /* [n_logit_bias] NULL */
    int32_t n_logit_bias;              /* 0, >= 0; 0 = off */
    int32_t n_vocab;                   /* 0, >= 0; needed by logit_bias and mirostat 1 */
    const samp_vocab *vocab;           /* NULL; needed by dry with breakers */
    const char *order;                 /* NULL: the default order, see samp_chain_from_params */
    samp_rng_kind rng;                 /* SAMP_RNG_PHILOX */
    int32_t n_ctx_train;               /* 4096 in [0, 2^22]; the length of a window of -1 */
    samp_sampler *grammar;             /* NULL; the chain owns it, as its first: see samp_chain_from_params */
} samp_params;

typedef struct samp_settings samp_settings; /* samp_params by name and text, for bindings and command lines */

/* The type of an array's elements: the logits of a batch, the probabilities and results of the operator. */
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

/* Log-probabilities of one distribution. You set top_logprobs, n_top and (at the start of a sequence)
   cumulative_logprob; the library writes the other members. */
typedef struct samp_logprob_set {
    samp_logprob *top_logprobs; /* [n_top] out: the most likely tokens, in order; NULL if n_top is 0 */
    int32_t n_top;              /* 0 .. SAMP_MAX_TOP_LOGPROBS */
    int32_t n_top_found;        /* out: how many were written; less than n_top if fewer tokens are unmasked */
    samp_logprob chosen;        /* out: that of the sampled token */
    double cumulative_logprob;  /* in and out: chosen.logprob is added */
} samp_logprob_set;

#define SAMP_MAX_TOP_LOGPROBS 1024

typedef struct samp_logprobs {
    samp_logprob_set raw;       /* of the model's logits, without masked tokens */
    samp_logprob_set processed; /* of the distribution from which the chain's last sampler draws */
} samp_logprobs;

/* The logits of a batch. In all members but the first four 0 means "not used". */
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
    int32_t n_threads;       /* 0: OpenMP's choice. Without OpenMP there is one thread */
} samp_logits;

/* A draft for samp_verify: tokens that a cheaper source proposes, and the probabilities from which it drew them. */
typedef struct samp_draft {
    size_t n;                 /* number of tokens; 0 is allowed */
    const samp_token *tokens; /* [n] each in [0, n_vocab) */
    const float *probs;       /* [n x n_vocab], or [n x n_top] with ids: in [0, 1]; NULL: each token had p = 1 */
    const samp_token *ids;    /* [n x n_top] the tokens of probs; all others had p = 0. NULL: probs is dense */
    size_t n_top;             /* with ids: >= 1 */
} samp_draft;

typedef enum samp_verify_method {
    SAMP_VERIFY_EXACT = 0, /* the output is identical to that without a draft */
    SAMP_VERIFY_RATIO = 1  /* the output is identically distributed; more of the draft is accepted */
} samp_verify_method;

/* The counts of samp_perf(), of the sampler that was called; members of a chain do not count. */
typedef struct samp_perf_data {
    uint64_t n_sample;    /* tokens sampled */
    uint64_t n_accept;    /* tokens accepted */
    uint64_t t_sample_ns; /* time spent sampling; 0 without SAMP_CLOCK */
    uint64_t n_exact;     /* how often the fast path's estimate of a sum was not enough, so it took the exact sum */
    uint64_t n_steps;     /* how often a draw went by steps from some sampler on (MT19937: over the whole row) */
} samp_perf_data;
