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

/* Who has put a member into its chain: samp_chain_update replaces what comes from parameters. */
typedef enum sampi_maker { SAMPI_BY_HAND, SAMPI_BY_PARAMS, SAMPI_AS_GRAMMAR } sampi_maker;

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

#ifdef SAMPLING_CONSTRAINTS_DECLARED
/* Ways to choose tokens (>>constraints). */
typedef enum sampi_limit_kind {
    SAMPI_LIMIT_LISTS, /* those of what the text ends with, or, if it rewinds, those that are bans at this position */
    SAMPI_LIMIT_GROWING, /* a list, whose logits grow with the position */
    SAMPI_LIMIT_ALLOWED, /* a list and no others */
    SAMPI_LIMIT_FORCED,  /* one for each position */
    SAMPI_LIMIT_NGRAM,   /* those that followed the same tokens before */
    SAMPI_LIMIT_PERIOD,  /* the one that goes on with a loop */
    SAMPI_LIMIT_CUSUM,   /* as NGRAM, while there are many of them */
    SAMPI_LIMIT_THINKING /* those that end a span whose budget is spent */
} sampi_limit_kind;

typedef struct sampi_limit {
    sampi_limit_kind what;
    const char *name;
    const samp_vocab *vocab;
    int32_t n, begin, count; /* of what it is made of; works from the position `begin` on, so long: 0: for ever */
    int32_t last_n, shortest, longest, copies, every, budget, open, flags;
    float factor, penalty, alarm, loss;
    bool is_idle, masks;        /* masks: its lists have no bias but -infinity */
    uint32_t n_knots, hop_mask; /* parts 0 and 1 */
    uint32_t room, ban_room;    /* part 3, behind the window */
    uint32_t at;                /* the position; from here to sum what a token changes */
    uint32_t node;              /* of the automaton */
    uint32_t mode; /* THINKING: sampi_limit_span; PERIOD: the period or 0; rewinding: tokens to take back */
    uint32_t count_in, missing; /* THINKING: tokens since the mode began; bytes of a character still to come */
    float sum;                  /* CUSUM */
    uint32_t n_bans;
    sampi_ring ring;
} sampi_limit;
#endif

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
        struct {
            float p;
            size_t min_keep;
        } cut; /* all that cut by p; of tail_free p = z, of min_k tau, of top_n_sigma n */
        struct {
            float p, t;
            size_t min_keep;
        } xtc;
        struct {
            int32_t k, ties; /* 1: all that equal the last one stay */
        } top_k;
        struct {
            float t, delta, exponent;
        } temp;
        struct {
            float factor, curve;
        } smoothing;
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
#ifdef SAMPLING_CONSTRAINTS_DECLARED
        sampi_limit limit;
        struct {
            float p; /* as it is now; this and min_keep are cut's */
            size_t min_keep;
            float first, factor, lowest;
            const samp_token *from;
        } decay; /* part 0: the tokens that reset it */
#endif
    } u;
};
