/* ---- the record ----
   sampi_sampler is what a user's samp_sampler pointer points to. The same struct also serves as a description of a
   sampler that is not there yet (t in >>params): then it is on the stack, and has no parts. */

/* What apply may change of a sampler; kept before each call (sampi_save_state), put back if it fails. An mt19937
   moves too: `drawn` tells how to get it back. All else, such as windows and adaptive_p's average, changes only when a
   token is accepted. */
typedef struct sampi_state {
    float mu;           /* mirostat */
    samp_token pending; /* adaptive_p: the token selected last, -1 = none; watermarks: 0 behind the first draw */
    float pending_p;    /* and its probability */
    uint64_t drawn;     /* mt19937 outputs so far */
} sampi_state;

/* Who has put a member into its chain: samp_chain_update replaces what comes from parameters. */
typedef enum sampi_maker { SAMPI_BY_HAND, SAMPI_BY_PARAMS, SAMPI_AS_GRAMMAR } sampi_maker;

/* A chain's members, and the tokens accepted last, for samp_prev. prev outlives a change of members: what is off, or
   joins later, learns from it (take_over). The chain owns its members and both arrays; samp_free frees them. */
typedef struct sampi_chain {
    sampi_sampler **item; /* [n], room for cap */
    int32_t n, cap;
    samp_token *prev; /* [ring.cap] */
    sampi_ring ring;
} sampi_chain;

/* The numbers of samplers that are nothing but numbers: of cut all that cut by p (of tail_free p = z, of min_k tau, of
   top_n_sigma n). An executor may copy them to where it works, as a device does. */
typedef struct sampi_cut_numbers {
    float p;
    size_t min_keep;
} sampi_cut_numbers;

typedef struct sampi_xtc_numbers {
    float p, t;
    size_t min_keep;
} sampi_xtc_numbers;

typedef struct sampi_top_k_numbers {
    int32_t k, ties; /* 1: all that equal the last one stay */
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

/* kind, off, seed, the parts' offsets and most of the union are set by the making and never change after it (nor does
   status, but of a chain). now, position, perf, n_edits, past and work move with draws; the windows (ring) and the
   average in the union when a token is accepted. Whoever adds a member must think of samp_clone, which copies the
   bytes, of sampi_clone_chain, which does not, and of the hook `past`, if a draw or a token changes it. */
struct sampi_sampler {
    samp_sampler base; /* must be first: what users hold is a pointer to it */
    sampi_kind kind;
    int status;          /* what was wrong with the parameters, */
    const char *field;   /* and with which */
    bool off;            /* a disabled value: does nothing */
    sampi_maker made_by; /* of a chain's member: who has put it there */
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
        sampi_cut_numbers cut;
        sampi_xtc_numbers xtc;
        sampi_top_k_numbers top_k;
        sampi_temp_numbers temp;
        sampi_smoothing_numbers smoothing;
        sampi_mirostat_numbers mirostat;
        sampi_adaptive_numbers adaptive;
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
#ifdef SAMPLING_CONSTRAINTS_DECLARED
        sampi_limit limit;
        struct {
            float p; /* as it is now; this and min_keep are cut's */
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
