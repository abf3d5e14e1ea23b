/* ---- the record ----
   sampi_sampler is what a user's samp_sampler pointer points to. The same struct is also the description of a sampler
   that a constructor is about to make (t in >>params): then it is on the stack and has no parts, which are the arrays
   behind it. */

/* The state that an apply function may change. sampi_life_save_state copies it before each call, and a call that fails
   restores it. The state of an mt19937 changes too, and `drawn` says how far to go back. Everything else, such as
   windows and adaptive_p's average, changes only when a token is accepted. */
typedef struct sampi_state {
    float mu;           /* mirostat's mu */
    samp_token pending; /* for adaptive_p the token selected last, or -1; for watermarks 0 after the first draw */
    float pending_p;    /* the probability of that token */
    uint64_t drawn;     /* the number of outputs taken from the mt19937 */
} sampi_state;

/* Who has put a member into its chain: the user, samp_params, or a request's grammar. samp_chain_update replaces only
   members that come from samp_params. */
typedef enum sampi_maker { SAMPI_BY_HAND, SAMPI_BY_PARAMS, SAMPI_AS_GRAMMAR } sampi_maker;

/* A chain's members, and its last accepted tokens (samp_prev). The chain owns its members and both arrays; samp_free
   frees them. `prev` stays when members change: a member that was off, or that joins later, learns the accepted tokens
   from it. */
typedef struct sampi_chain {
    sampi_sampler **item; /* [n] the members, with memory for cap */
    int32_t n, cap;
    samp_token *prev; /* [ring.cap] the last accepted tokens */
    sampi_ring ring;
} sampi_chain;

/* The parameters of samplers that need no arrays. An executor may copy them to where it runs, as a device does.
   sampi_cut_numbers serves all samplers that cut: its p is tail_free's z, min_k's tau, and top_n_sigma's n. */
typedef struct sampi_cut_numbers {
    float p;
    size_t min_keep;
} sampi_cut_numbers;

typedef struct sampi_xtc_numbers {
    float p, t;
    size_t min_keep;
} sampi_xtc_numbers;

typedef struct sampi_top_k_numbers {
    int32_t k, ties; /* if ties is 1, all tokens that equal the k-th stay */
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

/* The members of a union of these structs, in a sampler and in a step on a device. */
#define SAMPI_NUMBERS \
    sampi_cut_numbers cut; \
    sampi_xtc_numbers xtc; \
    sampi_top_k_numbers top_k; \
    sampi_temp_numbers temp; \
    sampi_smoothing_numbers smoothing; \
    sampi_mirostat_numbers mirostat; \
    sampi_adaptive_numbers adaptive;

/* The record behind a samp_sampler. The constructor sets kind, off, seed, the offsets of the parts and most of the
   union; they never change afterwards. The status never changes either, except a chain's. Draws change now, position,
   perf, n_edits, past and work. Accepted tokens change the windows (ring) and the average in the union. A new member
   needs care in three places: samp_clone copies all bytes, sampi_life_clone_chain does not, and the hook `past` must
   cover what a draw or a token changes. */
struct sampi_sampler {
    samp_sampler base; /* must be the first member: users hold a pointer to it */
    sampi_kind kind;
    const char *name;    /* its own name, or NULL for that of its kind */
    const void *from;    /* while it is made, the caller's list, which the hook `build` copies */
    int status;          /* the error in the parameters, or SAMP_OK */
    const char *field;   /* the name of the bad parameter, or NULL */
    bool off;            /* true if the parameters have values with which the sampler does nothing */
    sampi_maker made_by; /* who has put the sampler into its chain */
    samp_rng_kind rng;
    uint64_t seed, position; /* position: the number of the next draw; a draw uses that of the outermost chain */
    sampi_sampler *owner;    /* the chain that holds this sampler, or NULL */
    size_t serial;           /* a number that no other sampler has, by which a GPU's context recognises a chain */
    size_t n_edits;          /* how often s was changed, except by its owner's draws */
    size_t in_batch;         /* the index of its row in the running batch */
#ifdef SAMPLING_SEARCH_DECLARED
    double certainty; /* in samp_unmask: how certain its token is, as the rule measures it */
#endif
    samp_perf_data perf;
    samp_perf_hook perf_hook; /* gets a line after each draw, or NULL */
    void *perf_user;
    uint64_t at_position;            /* while apply runs: the outermost chain's position */
    uint32_t at_ordinal;             /* while apply runs: the number of samplers of its kind before it */
    samp_token_data *at_memory;      /* while apply runs: memory for as many candidates as it gets, or NULL */
    bool at_end;                     /* while apply runs: it ends a draw, of which only the token counts, not p */
    const struct sampi_draft *draft; /* the draft token that samp_verify tests instead of drawing, or NULL */
    const sampi_sampler *beside;     /* the grammar for which samp_grammar_sample draws from this chain, or NULL */
    sampi_state now, before;         /* before: the copy of `now` from the start of the running draw */
    sampi_past past;                 /* rollback's notes, for a sampler that is in no chain */
    sampi_work work;                 /* the workspace, if samp_sample was called on this sampler */
    size_t part[4], part_size[4];    /* the parts' offsets from the record's start, and their sizes, both in bytes */
    union {
        SAMPI_NUMBERS
        struct {
            int32_t n_vocab, n;
        } bias; /* part 0: the biases, samp_logit_bias [n] */
        struct {
            int32_t last_n;
            float repeat, freq, present;
            sampi_ring ring;
            uint32_t n;
        } penalties; /* part 0: the ring of accepted tokens; part 1: counts [n], with memory for ring.cap */
        /* part 0: the ring of accepted tokens; 1: counts; 2: lengths, int32 [ring.cap]; 3: tails, heads and texts
           [n_from] of the breakers */
        struct {
            float multiplier, base;
            int32_t allowed, last_n, n_ctx_train;
            /* how many tokens ago the nearest known breaker begins, or -1, and the number of tokens in its tail
               (sampi_dry_settle) */
            int32_t settled, settled_tail;
            sampi_ring ring;
            const samp_vocab *vocab;
            samp_vocab spelt; /* a copy of *vocab as it was when dry's breakers were tokenised */
            const char *const *from;
            const sampi_sampler *like; /* a sampler with the same breakers, whose tokens are copied, or NULL */
            size_t n_from;
            size_t n_heads, n_tails;
        } dry;
        struct {
            float p, t; /* these three are laid out as in `xtc` */
            size_t min_keep;
            int32_t n;
        } xtc_except; /* part 1: the exempt tokens, sampi_count [n] */
        struct {
            int32_t window;
            float threshold;
            sampi_ring ring;
        } ras; /* part 1: the ring of accepted tokens */
        struct {
            const samp_vocab *vocab;
        } infill;
        sampi_chain chain;
#ifdef SAMPLING_CONSTRAINTS_DECLARED
        sampi_constraint constraint;
        struct {
            float p; /* the p in force after the last token; p and min_keep are laid out as in `cut` */
            size_t min_keep;
            float first, factor, lowest;
        } decay; /* part 0: the tokens that set p back to its first value */
        struct {
            samp_token first, without; /* the first time stamp; the token for "no time stamps", or -1 */
            int32_t most, n;           /* most: the largest index of the first time stamp, or -1 */
            /* the state: whether the last two tokens are time stamps (2: the last but one, 1: the last; a missing one
               counts as one), or SAMPI_STAMPS_BEGIN; the last time stamp, or -1 */
            uint32_t two;
            samp_token last;
        } stamps; /* part 0: the exempt tokens, sampi_count [n] */
#endif
#ifdef SAMPLING_WATERMARK_DECLARED
        sampi_watermark mark;
#endif
    } u;
};
