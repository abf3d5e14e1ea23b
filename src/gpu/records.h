/* ================================================================================================== >>records
   The structs in device memory, which host and device both read; nothing here has a function. The host writes jobs,
   rules, ids and places, and reads results. The others belong to the device:

     job       a chain as a list of steps, one a sampler
     rule      how the logit of one token changes (logit_bias, penalties, dry)
     state     how far a row is, written only by the team that ends a pass
     op        an operation: what a sampler did to all elements of a row; a pass does it again to each that it reads
     item      a token of a list, the few tokens that are left of a row
     part      what one team found in a pass
     result    a row's token or status
     args      pointers to all arrays

   The one thing to know: the arrays lie row behind row, and a row's part of them is found by its number. The number of
   a row on the device is that of its job, not that of the caller's row. */

/* Steps that are no samplers; a sampler's step has its kind. */
enum {
    SAMPI_GPU_USER = SAMPI_N_KINDS, /* a sampler of the user's: the row stops, and the host calls it */
    SAMPI_GPU_EXPORT,               /* what is left goes to the host */
    SAMPI_GPU_RAW,                  /* the first step, if log-probabilities are wanted: those of the row as given */
    SAMPI_GPU_LOGPROBS              /* then the last one: the others, and the chosen token's ranks */
};

/* A sampler, for its plan, which reads kind, now and u as of a sampi_sampler. The numbers in u are that sampler's, byte
   for byte (sampi_gpu_copy_numbers). What moves on is mu and adaptive_p's average: on the device, and by
   sampi_gpu_follow in the host's copy. */
typedef struct sampi_gpu_step {
    int32_t kind;
    uint32_t k;       /* how many top log-probabilities */
    uint32_t rule, n; /* patch: its rules */
    uint32_t stream;  /* draws: the third word of Philox's counter */
    struct {
        float mu;
    } now;
    uint64_t seed;
    union {
        SAMPI_NUMBERS
        struct {
            int32_t last_n;
            float repeat, freq, present;
        } penalties;
    } u;
} sampi_gpu_step;

/* A changed logit, by logit_bias, penalties or dry, which are all of this form: l = -inf if scale is 0; else l * scale
   or l / scale by its sign, minus fall. */
typedef struct sampi_gpu_rule {
    int32_t id;
    uint32_t at; /* of the id among the row's changed ids */
    float scale, fall;
    int32_t count; /* penalties: how often the id is in the window */
} sampi_gpu_rule;

/* Where a row's rules are, and its ids that any of them changes. */
enum {
    SAMPI_GPU_LEFT,  /* in the row's own places, args.kept_rule and kept_id, */
    SAMPI_GPU_RIGHT, /* of which there are two: each token moves penalties' rules to the other one */
    SAMPI_GPU_SENT   /* in args.rule and args.id: they came with this batch */
};

/* A chain. It stays on the device, which moves its state on: the position, mirostat's mu, adaptive_p's averages,
   penalties' window. The host has the same bytes in its stage, and moves them on likewise, so that a job can be sent
   again at any time without asking the device. */
typedef struct sampi_gpu_job {
    uint32_t id, n_ids; /* ids that any rule changes, ascending */
    uint32_t side;      /* where they and the rules are */
    uint32_t kept_step; /* the step, + 1, whose rules stay on the device; 0: none do */
    uint32_t window;    /* where its window is in args.id, if that came with this batch */
    sampi_ring ring;    /* of the window; no room: its rules don't change */
    uint32_t draws;     /* 1: a token moves the position */
    uint32_t n_steps;
    uint64_t position;
    sampi_gpu_step step[SAMPI_STEPS]; /* the last one selects, or exports; there is room for args.job_size only */
} sampi_gpu_job;

/* Where a row's logits are, and where its token goes. */
typedef struct sampi_gpu_place {
    uint64_t data_row;
    uint32_t out_row;
} sampi_gpu_place;

/* What was done to all elements of a row, as entries of a list that grows by one with each sampler that changes or
   removes tokens. A pass does them all again to each element that it reads: cheaper than writing the row back. */
enum {
    SAMPI_OP_SCALE, /* l *= f */
    SAMPI_OP_SHIFT, /* log_softmax: l -= mean */
    SAMPI_OP_BEND,  /* smoothing: factor f, curve mean */
    SAMPI_OP_ADAPT, /* adaptive_p's map, aim f */
    SAMPI_OP_FROM,  /* the others remove tokens: only key >= k stay */
    SAMPI_OP_UNTIL, /* only key <= k stay */
    SAMPI_OP_SCORE  /* only typical's: score bits < t, or equal and key >= k */
};

/* k and t are keys or codes, never logits: what stays is decided in integers, as on the CPU. max, mean and t are those
   of the moment: an operation is replayed later, when the state's own have gone on. */
typedef struct sampi_gpu_op {
    int64_t kind; /* so wide that nothing between the members is copied unwritten */
    float f, max;
    uint64_t k, t;
    double mean;
} sampi_gpu_op;

/* A token of a list. The key holds logit and id, and its order, descending, is the order of tokens. The other two are
   what the logit was when the array was last put in order, and when p was last set. */
typedef struct sampi_gpu_item {
    uint64_t key;
    float at_order, at_p;
} sampi_gpu_item;

/* What a pass finds. Each is a function of gpu/passes.h, and has its ending in sampi_gpu_advance. */
enum {
    SAMPI_PASS_SCAN,   /* maxima of cells; the state of a row that has not begun */
    SAMPI_PASS_SUMS,   /* n, z, s, low; and the list, if st->listing */
    SAMPI_PASS_SIGMA,  /* sums for the standard deviation */
    SAMPI_PASS_MAX,    /* the maximum */
    SAMPI_PASS_GATHER, /* the list of keys >= floor */
    SAMPI_PASS_HIST,   /* mass and count of the buckets of [lo, hi] */
    SAMPI_PASS_BUCKET, /* the list of [lo, hi] */
    SAMPI_PASS_WINDOW, /* the list of a window of logits, the sums, and what is above the window */
    SAMPI_PASS_DRAW,   /* the envelope's sum of each cell */
    SAMPI_PASS_RACE,   /* who comes first of a lane's tokens */
    SAMPI_PASS_NONE    /* nothing: the row goes on after a stop */
};

/* The order that the array of candidates would be in. */
enum {
    SAMPI_GPU_BY_ID,   /* as it was made: nobody has put it in order */
    SAMPI_GPU_BY_KEY,  /* by what the logits were then, and ids */
    SAMPI_GPU_BY_SCORE /* by typical's score of what they were then */
};

/* Is the envelope of a draw made before the draw is asked for? sampi_gpu_look_ahead says when. */
enum {
    SAMPI_GPU_AHEAD_NO,
    SAMPI_GPU_AHEAD_ASKED, /* windows make it */
    SAMPI_GPU_AHEAD_MADE   /* the sums of groups are those of the draw */
};

/* How far a search for the end of a prefix is. */
enum {
    SAMPI_SEARCH_IDLE,      /* none is under way */
    SAMPI_SEARCH_WINDOW,    /* tokens around the place where a sample has the end are being listed */
    SAMPI_SEARCH_HISTOGRAM, /* mass and count of each bucket are being found */
    SAMPI_SEARCH_BUCKET,    /* the tokens of the bucket that holds the end are being listed */
    SAMPI_SEARCH_LIST,      /* the end is known, and the list of all tokens up to it is being made */
    SAMPI_SEARCH_ALL        /* there is no end: all tokens are in the prefix */
};

/* A search for the end of a prefix in an order: see sampi_gpu_require_prefix. mass and count become smaller with each
   histogram, by what lies before the bucket that is searched next; key and score are valid when require_prefix returns
   1, and until the next search. */
typedef struct sampi_gpu_search {
    int32_t stage;
    bool by_score;        /* typical's order, else that of keys */
    uint64_t mass, count; /* still needed from lo on */
    uint64_t before;      /* tokens before lo */
    uint64_t lo, hi;      /* what is searched, in the order's codes: smaller is earlier */
    uint32_t shift;       /* a bucket is 2^shift codes; SAMPI_EVEN: see sampi_gpu_bucket */
    double mean;          /* typical's */
    uint64_t key, score;  /* the result: the last token's */
    /* a window */
    uint32_t tries;      /* so many were asked for */
    float per_nat;       /* buckets of the sample, of which the window has */
    uint32_t from, upto; /* these */
    float top, floor;    /* its largest logit, and the smallest */
    uint64_t in_mass, above_mass, above_count;
} sampi_gpu_search;

/* How far a row is. Written by the team that ends a pass, between its two fences; read by all teams during the next
   pass. Only n_list and the counters at the beginning change while teams work.
     max          valid if max_known: of the tokens left, changed ones too
     n, z, s, low valid if sums_known: count, mass, weighted mass, the smallest logit
     floor        valid if listed or overflown: from which key on the list is complete, or too long
     bar          always: no token left is below it, so cells with smaller maxima aren't read
     order_*, p_* what the array would have been made of when a sampler last put it in order, or set p; for the host,
                  if the row is exported
   A set that changes makes the first two invalid (sampi_gpu_invalidate); the operations tell what the row is now. */
typedef struct sampi_gpu_state {
    uint32_t epoch;   /* passes done, ever */
    uint32_t arrived; /* teams that have done this one */
    uint32_t met;     /* 0, for sampi_gpu_meet */
    /* from here on zero when a row begins */
    int32_t pass; /* the next pass */
    uint32_t passes;
    uint32_t at;         /* the next step, */
    sampi_memory memory; /* and what its plan keeps */
    /* the tokens that are left */
    bool max_known, sums_known, drawn;
    float max, low;
    uint64_t n, z, s;
    float dense_max; /* of the row without the changed tokens, before any operation */
    float bar;       /* cells below that hold none any more */
    bool thinned;    /* the maxima of cells promise no tokens any more */
    uint32_t n_ops;
    /* the list */
    bool listed;    /* it holds all tokens left with keys >= floor, */
    bool complete;  /* which are all there are */
    bool overflown; /* there were too many at floor */
    bool listing;   /* SUMS makes one too */
    uint32_t n_list, buffer, asked;
    uint32_t n_shown; /* to the user's sampler */
    uint64_t floor;
    sampi_gpu_search search;
    int32_t ahead;      /* a SAMPI_GPU_AHEAD_*; if it isn't 0, then at the draw */
    float then, factor; /* this is the maximum, and so the logits have been scaled */
    double scale;       /* top_n_sigma's */
    uint64_t sigma[4];
    /* what the array would look like */
    int32_t order; /* 0 by id, 1 by (at_order, id), 2 by typical's score of it */
    bool sorted, p_set;
    int32_t order_at, p_at; /* operations before that, if it was before the list */
    float order_max, p_max;
    double order_mean;
    uint64_t p_z;
    /* log-probabilities */
    uint64_t chosen;     /* the key of the token, */
    float value;         /* and what its sampler learns */
    uint32_t n_given;    /* so many keys are in args.given: all of the row as given */
    uint64_t given_from; /* from this one on */
    sampi_gpu_op op[SAMPI_STEPS];
} sampi_gpu_state;

/* What comes back. It counts only if `batch` is that of the batch: the others are left from earlier ones. batch is
   written last, and tells the teams of the row that there is nothing more to do. */
typedef struct sampi_gpu_result {
    uint32_t batch; /* of which it is the result */
    int32_t status; /* or SAMPI_GPU_DECLINED */
    int32_t token;  /* -1: the list is the result; SAMPI_GPU_STOPPED */
    float value;    /* mirostat's mu, adaptive_p's probability */
    uint32_t passes, n_list, buffer;
    int32_t order, sorted, p_set;
    float order_max, p_max;
    double order_mean;
    uint64_t p_z;
} sampi_gpu_result;

/* What log-probabilities are made of: of the row as given, or of what the chain left. */
typedef struct sampi_gpu_basis {
    uint64_t z;
    float max, l;         /* l, rank: the chosen token's */
    uint32_t rank, n_top; /* so many keys are in its part of top */
} sampi_gpu_basis;

/* What a team leaves of a pass; which sums they are depends on the pass. Teams add nothing up among themselves: the
   last one reads all parts, so that no order of atomics can be seen in a result. */
typedef struct sampi_gpu_part {
    uint64_t sum[6];
    float max, low;
} sampi_gpu_part;

/* A token with a changed logit: the logit now, and at the two moments that an item of a list remembers. These tokens
   are holes in the row; each step is done to them by the one team that advances it. */
typedef struct sampi_gpu_changed {
    float l, at_order, at_p;
} sampi_gpu_changed;

/* A batch, and where everything is. Arrays of [rows] lie in the block from the context's creation on; rule, id, place
   and job are what travels. cell and lane_max are of the row as it came; cell_sum, sum, mass, count, wide and code
   belong to the step at work, and hold nothing from one to the next. */
typedef struct sampi_gpu_args {
    uint32_t batch, n_rows, splits, groups, wait, n_vocab;
    int32_t type;
    bool pairs; /* 16-bit elements can be read two at a time */
    size_t stride, mask_stride;
    const char *data;
    const uint32_t *mask;         /* or NULL */
    samp_token *out;              /* or NULL */
    const sampi_gpu_place *place; /* [rows] */
    char *job;                    /* [rows] of job_size */
    size_t job_size;
    const sampi_gpu_rule *rule;
    const int32_t *id;
    sampi_gpu_rule *kept_rule; /* [rows][2][SAMPI_RULES] */
    int32_t *kept_id, *window; /* [rows][2][SAMPI_RULES], [rows][SAMPI_RULES] */
    sampi_gpu_state *state;    /* [rows] */
    sampi_gpu_result *result;  /* [rows] */
    uint64_t *done;            /* [teams] the last pass a team has done: batch, epoch + 1 */
    uint32_t *hole;            /* [rows][groups * 32] bits of the tokens with changed logits */
    float *cell;               /* [rows][groups * 32] maxima of cells */
    uint32_t *cell_sum;        /* [rows][groups * 32] the envelope's, and */
    float *lane_max;           /* [teams * 32] maxima of a team's lanes */
    sampi_gpu_part *part;      /* [teams] */
    sampi_gpu_item *item;      /* [rows][2][SAMP_GPU_LIST] */
    uint64_t *wide;            /* [rows][SAMPI_WIDE] a number for each token of a list or a group */
    uint64_t *code;            /* [rows][SAMP_GPU_LIST] another one: its place in an order */
    uint64_t *sum;             /* [rows][groups] of groups */
    uint64_t *time, *winner; /* [teams * 32] gumbel: the best time of a lane's tokens, as bits, and whose key it is */
    uint64_t *mass, *count;  /* [rows][SAMPI_BUCKETS] */
    sampi_gpu_changed *changed; /* [rows][SAMPI_RULES] */
    float *fold;                /* [rows][SAMPI_FOLD] */
    int32_t *user_id;           /* [rows][SAMP_GPU_LIST] what a user's sampler works on */
    float *user_logit, *user_p; /* [rows][SAMP_GPU_LIST] */
    uint64_t *given;            /* [rows][SAMP_GPU_LIST] keys: see the state's given_from */
    sampi_gpu_basis *basis;     /* [n_rows][2] as given, left; behind them keys [n_rows][2][n_top], in no order */
    uint32_t n_top;             /* the most that a row of the batch asks for */
} sampi_gpu_args;
