/* ---- the record ----
   sampi_sampler is what a user's samp_sampler pointer points to. The same struct is also the description of a sampler
   that a constructor is about to make (t in >>params): then it is on the stack and has no parts. */

/* The state that apply may change. sampi_save_state copies it before each call, and a call that fails restores it. An
   mt19937 changes too; `drawn` says how far to go back. Everything else, such as windows and adaptive_p's average,
   changes only when a token is accepted. */
typedef struct sampi_state {
    float mu;           /* mirostat */
    samp_token pending; /* adaptive_p: the token selected last, or -1; watermarks: 0 after the first draw */
    float pending_p;    /* the probability of that token */
    uint64_t drawn;     /* mt19937's outputs so far */
} sampi_state;

/* Who put a member into its chain. samp_chain_update replaces only members that come from parameters. */
typedef enum sampi_maker { SAMPI_BY_HAND, SAMPI_BY_PARAMS, SAMPI_AS_GRAMMAR } sampi_maker;

/* A chain's members, and its last accepted tokens (samp_prev). The chain owns its members and both arrays; samp_free
   frees them. `prev` stays when members change: a member that was off, or that joins later, learns from it (hook
   take_over). */
typedef struct sampi_chain {
    sampi_sampler **item; /* [n], memory for cap */
    int32_t n, cap;
    samp_token *prev; /* [ring.cap] */
    sampi_ring ring;
} sampi_chain;

/* The numbers of samplers that consist of numbers alone. An executor may copy them to where it works, as a device does.
   sampi_cut_numbers serves all samplers that cut: p is tail_free's z, min_k's tau, top_n_sigma's n. */
typedef struct sampi_cut_numbers {
    float p;
    size_t min_keep;
} sampi_cut_numbers;

typedef struct sampi_xtc_numbers {
    float p, t;
    size_t min_keep;
} sampi_xtc_numbers;

typedef struct sampi_top_k_numbers {
    int32_t k, ties; /* ties 1: all tokens that equal the last one stay */
} sampi_top_k_numbers;

typedef struct sampi_temp_numbers {
    float t, delta, exponent;
} sampi_temp_numbers;

typedef struct sampi_smoothing_numbers {
    float factor, curve;
} sampi_smoothing_numbers;

typedef struct sampi_mirostat_numbers {
    float tau, eta;
    int32_t n_vocab, m;
} sampi_mirostat_numbers;

typedef struct sampi_adaptive_numbers {
    float target, decay, sum, total;
} sampi_adaptive_numbers;

/* The members of a union of all of them: a sampler's, and a step's on a device. */
#define SAMPI_NUMBERS \
    sampi_cut_numbers cut; \
    sampi_xtc_numbers xtc; \
    sampi_top_k_numbers top_k; \
    sampi_temp_numbers temp; \
    sampi_smoothing_numbers smoothing; \
    sampi_mirostat_numbers mirostat; \
    sampi_adaptive_numbers adaptive;

/* The constructor sets kind, off, seed, the parts' offsets and most of the union; they never change afterwards. Nor
   does the status, except a chain's. Draws change now, position, perf, n_edits, past and work. Accepted tokens change
   the windows (ring) and the average in the union.
   A new member needs care in three places: samp_clone copies all bytes, sampi_clone_chain does not, and the hook
   `past` must cover what a draw or a token changes. */
struct sampi_sampler {
    samp_sampler base; /* first: users hold a pointer to it */
    sampi_kind kind;
    int status;          /* what is wrong with the parameters, or SAMP_OK */
    const char *field;   /* the name of the bad parameter, or NULL */
    bool off;            /* a disabled value: the sampler does nothing */
    sampi_maker made_by; /* who put it into its chain */
    samp_rng_kind rng;
    uint64_t seed, position; /* position: the number of the next draw; the outermost chain's is used */
    sampi_sampler *owner;    /* the chain that holds it, or NULL */
    size_t serial;           /* unique, so that a GPU's context recognises a chain */
    size_t n_edits;          /* counts changes of s, except those that its owner's draws make */
    size_t in_batch;         /* its row in the running batch */
    samp_perf_data perf;
    uint64_t at_position;            /* in a running apply: the outermost chain's position */
    uint32_t at_ordinal;             /* in a running apply: how many samplers of its kind come before it */
    const struct sampi_draft *draft; /* samp_verify's ratio test, in place of the draw; else NULL */
    sampi_state now, before;         /* before: the state at the start of the running draw */
    sampi_past past;                 /* rollback's notes of a sampler that is in no chain */
    sampi_work work;                 /* the workspace of the sampler that samp_sample was called on */
    size_t part[4], part_size[4];    /* offsets from the record's start, and bytes */
    union {
        SAMPI_NUMBERS
        struct {
            int32_t n_vocab, n;
            const samp_logit_bias *from;
        } bias; /* part 0: samp_logit_bias [n] */
        struct {
            int32_t last_n;
            float repeat, freq, present;
            sampi_ring ring;
            uint32_t n;
        } penalties; /* parts: 0 the ring, 1 counts [n] with memory for ring.cap */
        struct {
            float multiplier, base;
            int32_t allowed, last_n, n_ctx_train;
            int32_t settled, settled_tail; /* sampi_dry_settle */
            sampi_ring ring;
            const samp_vocab *vocab;
            samp_vocab spelt; /* a copy of *vocab at the time the breakers were tokenised */
            const char *const *from;
            const sampi_sampler *like; /* a sampler with the same breakers, or NULL */
            size_t n_from;
            size_t n_heads, n_tails;
        } dry; /* parts: 0 the ring, 1 counts, 2 lengths [ring.cap] int32, 3 tails, heads, texts [n_from] */
        struct {
            const samp_vocab *vocab;
        } infill;
        sampi_chain chain;
#ifdef SAMPLING_CONSTRAINTS_DECLARED
        sampi_limit limit;
        struct {
            float p; /* the present p; p and min_keep are laid out as in cut */
            size_t min_keep;
            float first, factor, lowest;
            const samp_token *from;
        } decay; /* part 0: the tokens that reset it */
#endif
#ifdef SAMPLING_WATERMARK_DECLARED
        sampi_watermark mark;
#endif
    } u;
};
