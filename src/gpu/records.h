/* ================================================================================================== >>records
   The structs in device memory, which host and device both read; the room has no functions. The host writes jobs,
   rules, ids and places, and reads results. The device writes all others.

   A job is a chain, as a list of steps, one per sampler.
   A rule says how the logit of one token changes (logit_bias, penalties, dry).
   A state says how far a row's chain has been run; only the team (thread block) that ends a pass over the row writes
   it. An op (operation) is a sampler's change of a whole row; later passes repeat it on each element that they read.
   An item is one token of a list; a list holds the few remaining tokens of a row.
   A part is one team's result of a pass. A result is a row's token or status. The args are the addresses of all arrays.

   The arrays lie row behind row; a row's part of an array is found by the row's number. The device numbers rows by
   their job, not by their index in the caller's batch. */

/* Kinds of steps that are not samplers; a sampler's step has the sampler's kind. */
enum {
    SAMPI_GPU_USER = SAMPI_N_KINDS, /* a sampler of the user's: the row stops, and the host calls it */
    SAMPI_GPU_EXPORT,               /* sends the remaining tokens to the host */
    SAMPI_GPU_RAW,                  /* first step if log-probabilities are asked for: those of the row as
                                       given */
    SAMPI_GPU_LOGPROBS              /* last step then: those after the chain, and the chosen token's ranks */
};

/* A sampler as a step of a job, for the sampler's plan (its questions about the row), which reads kind, now and u as it
   would in a sampi_sampler. u has that sampler's numbers, byte for byte (sampi_gpu_copy_numbers). Of these only mu and
   adaptive_p's average change from token to token: the device changes its copy, sampi_gpu_follow the host's. */
typedef struct sampi_gpu_step {
    int32_t kind;
    uint32_t k;       /* how many top log-probabilities are asked for */
    uint32_t rule, n; /* first rule and number of rules, for a sampler that changes single logits */
    uint32_t stream;  /* third word of Philox's counter, for a sampler that draws */
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

/* A change of one token's logit l. logit_bias, penalties and dry all have this form: l becomes -inf if scale is 0; else
   l * scale (l <= 0) or l / scale (l > 0), minus fall. */
typedef struct sampi_gpu_rule {
    int32_t id;
    uint32_t at; /* index of the id among the row's changed ids */
    float scale, fall;
    int32_t count; /* penalties: how often the id is among the last tokens */
} sampi_gpu_rule;

/* Where a row's rules are, and the ids that they change. */
enum {
    SAMPI_GPU_LEFT,  /* rules and ids are in the first of the row's two places in args.kept_rule, kept_id */
    SAMPI_GPU_RIGHT, /* they are in the second place; each token moves penalties' rules to the other */
    SAMPI_GPU_SENT   /* they are in args.rule and args.id, sent with this batch */
};

/* A chain. It stays on the device, which updates its state with each token: the position, mirostat's mu, adaptive_p's
   averages, the window of penalties. The host keeps the same bytes in its stage (the copy of what is sent), and updates
   them likewise, so a job can be sent again at any time without a question to the device. */
typedef struct sampi_gpu_job {
    uint32_t id, n_ids; /* first and number of the ids that the row's rules change */
    uint32_t side;      /* a SAMPI_GPU_LEFT, _RIGHT or _SENT: where ids and rules are */
    uint32_t kept_step; /* 1 + index of the step whose rules stay on the device; 0: none */
    uint32_t window;    /* where the window begins in args.id, if this batch sent it */
    sampi_ring ring;    /* ring of the window; capacity 0: the rules do not change */
    uint32_t draws;     /* 1: each token advances the position; 0: no sampler draws */
    uint32_t n_steps;
    uint32_t short_from; /* from this step on the chain can go the short way; n_steps: never */
    uint64_t position;
    sampi_gpu_step step[SAMPI_STEPS]; /* the last step selects or exports; only args.job_size bytes of a
                                         job are allocated */
} sampi_gpu_job;

/* The row that a job's logits are in, and the index of its token in `out`. */
typedef struct sampi_gpu_place {
    uint64_t data_row;
    uint32_t out_row;
} sampi_gpu_place;

/* Kinds of operations. Each sampler that changes all logits of a row or removes tokens adds one to the row's list of
   operations. A pass repeats them all on each element that it reads, which is cheaper than to write the row back. */
enum {
    SAMPI_OP_SCALE, /* l *= f */
    SAMPI_OP_SHIFT, /* log_softmax: l -= mean */
    SAMPI_OP_BEND,  /* smoothing, with factor f and curve mean */
    SAMPI_OP_ADAPT, /* adaptive_p's map of the logits, with target f */
    SAMPI_OP_FROM,  /* this kind and the next two remove tokens; here those with key < k */
    SAMPI_OP_UNTIL, /* removes tokens with key > k */
    SAMPI_OP_SCORE  /* typical: keeps tokens whose score's bits are < t, or equal to t with key >= k */
};

/* An operation. k and t are keys or codes (a token's place in an order, as an integer), never logits: which tokens stay
   is decided with integers, as on the CPU. max, mean and t are values of the time of the sampler, because the operation
   is repeated later, when the state has newer ones. */
typedef struct sampi_gpu_op {
    int64_t kind; /* 64 bits wide so that the struct has no padding, which a copy would read unwritten */
    float f, max;
    uint64_t k, t;
    double mean;
} sampi_gpu_op;

/* One token of a list. Its key holds logit and id; descending keys are the order of tokens. at_order is the logit at
   the time a sampler last put the array in order, at_p the logit when a sampler last set p. */
typedef struct sampi_gpu_item {
    uint64_t key;
    float at_order, at_p;
} sampi_gpu_item;

/* The passes, by what they find. Each is a function of gpu/passes.h; sampi_gpu_advance takes its result over. A cell is
   the 32 elements of a group of 1024 that one lane reads. */
enum {
    SAMPI_PASS_SCAN,   /* the maximum of each cell; the value of a row that has not begun */
    SAMPI_PASS_SUMS,   /* n, z, s, low (see sampi_gpu_state); also a list, if st->listing */
    SAMPI_PASS_SIGMA,  /* sums for the standard deviation */
    SAMPI_PASS_MAX,    /* the maximum of the row */
    SAMPI_PASS_GATHER, /* the list of tokens with keys >= floor */
    SAMPI_PASS_HIST,   /* mass (sum of weights) and count of each even bucket of all codes */
    SAMPI_PASS_DIVIDE, /* the same of the codes [lo, hi], whose tokens were too many for a list */
    SAMPI_PASS_BUCKET, /* the list of tokens with codes in [lo, hi] */
    SAMPI_PASS_EDGE,   /* the same, and DRAW's sums of the tokens above them */
    SAMPI_PASS_DRAW,   /* the sum of the draw's envelope over each cell */
    SAMPI_PASS_RACE,   /* gumbel: the best token of each lane */
    SAMPI_PASS_NONE    /* nothing: the row continues after a stop */
};

/* The order that the CPU's array of candidates would have at this point. */
enum {
    SAMPI_GPU_BY_ID,   /* by id, as it was made: no sampler has sorted it */
    SAMPI_GPU_BY_KEY,  /* by the logits of that time, then by id */
    SAMPI_GPU_BY_SCORE /* by typical's score of the logits of that time */
};

/* Whether a pass has summed the draw's envelope before the draw asks for it; sampi_gpu_look_ahead decides that. */
enum {
    SAMPI_GPU_AHEAD_NO,
    SAMPI_GPU_AHEAD_ASKED, /* the pass that lists the end of a prefix is to sum the envelope too */
    SAMPI_GPU_AHEAD_MADE   /* args.sum has the envelope's sums for the draw */
};

/* The stages of a search for the last token of a prefix (the first tokens of an order). */
enum {
    SAMPI_SEARCH_IDLE,      /* no search is running */
    SAMPI_SEARCH_SHARES,    /* as HISTOGRAM, of the whole row, before the prefix is asked for */
    SAMPI_SEARCH_HISTOGRAM, /* a pass computes the mass and count of each bucket */
    SAMPI_SEARCH_BUCKET,    /* a pass lists the tokens of the bucket that holds the end */
    SAMPI_SEARCH_LIST,      /* the end is known, and a pass lists all tokens up to it */
    SAMPI_SEARCH_ALL        /* the prefix has no end: all tokens are in it */
};

/* A search for the last token of a prefix: see sampi_gpu_require_prefix. Each histogram lowers mass and count by those
   of the tokens before the bucket that is searched next. key and score are valid from the time that require_prefix
   returns 1 until the next search. */
typedef struct sampi_gpu_search {
    int32_t stage;
    bool by_score;        /* true: typical's order; false: the order of keys */
    bool counting;        /* true: the histogram has counts; else only masses */
    uint64_t mass, count; /* mass (sum of weights) and number of tokens still needed from code lo on */
    uint64_t before;      /* number of tokens with codes below lo */
    uint64_t lo, hi;      /* the range that is searched, in codes of the order: a smaller code comes earlier */
    uint32_t shift;       /* a histogram's bucket has 2^shift codes; SAMPI_EVEN: see sampi_gpu_bucket */
    double mean;          /* for typical: the weighted mean of max - logit; a score is |max - logit - mean| */
    uint64_t key, score;  /* the result: key and score of the prefix's last token */
} sampi_gpu_search;

/* The state of a row: how far its chain has been run. The team (thread block) that ends a pass writes it, between its
   two memory fences; all teams of the row read it during the next pass. Only n_list and the counters at the beginning
   change while teams run a pass.

   If max_known, max is the maximum of the remaining tokens, changed ones included. If sums_known, n is their number, z
   the sum of their weights, s the sum of weight times distance, low the smallest logit. If listed, the list holds all
   tokens with keys (logit above id) >= floor; if overflown, they were too many. No remaining token is below bar, so
   cells (32 elements) with smaller maxima are not read. The members order_* and p_* describe the CPU's array when a
   sampler last sorted it, or set p; the host needs them if the row is exported.

   A change of the set of tokens makes max and the sums invalid (sampi_gpu_invalidate). The operations say what samplers
   have done to the row. */
typedef struct sampi_gpu_state {
    uint32_t epoch;   /* passes over rows of this number since the block was zeroed */
    uint32_t arrived; /* number of teams that have ended the current pass */
    uint32_t met;     /* always 0; sampi_gpu_meet adds 0 to it, for a barrier */
    /* these are zero when a row begins, up to op */
    int32_t pass; /* the next pass */
    uint32_t passes;
    uint32_t at;         /* index of the step to run next */
    sampi_memory memory; /* what the plan of that step keeps from one entry to the next */
    /* the remaining tokens */
    bool max_known, sums_known, drawn;
    bool shares_known; /* n and z are known, but not s and low */
    float max, low;
    uint64_t n, z, s;
    float dense_max; /* the row's maximum without the changed tokens, before any operation */
    float bar;       /* lower bound: cells with smaller maxima have no remaining tokens */
    bool thinned;    /* true: a cell's maximum need not belong to a remaining token */
    uint32_t n_ops;
    /* the list */
    bool listed;    /* the list holds all remaining tokens with keys >= floor */
    bool complete;  /* the list holds all remaining tokens */
    bool overflown; /* more tokens than a list holds had keys >= floor */
    bool listing;   /* true: the pass SUMS also makes a list of the first tokens */
    uint32_t n_list, buffer, asked;
    uint32_t n_shown; /* number of tokens that the user's sampler was given */
    uint64_t floor;
    sampi_gpu_search search;
    int32_t ahead;      /* a SAMPI_GPU_AHEAD_*; if it is not 0, then and factor are set */
    float then, factor; /* the maximum at the draw, and the factor of all logits until then */
    double scale;       /* top_n_sigma's scale and sums */
    uint64_t sigma[4];
    /* what the CPU's array would look like */
    int32_t order; /* a SAMPI_GPU_BY_*: the order of the last sort */
    bool sorted, p_set;
    /* 1 + the number of operations before the array was last sorted, and before p was last set; 0: this never was */
    int32_t order_at, p_at;
    float order_max, p_max;
    double order_mean;
    uint64_t p_z;
    /* log-probabilities */
    uint64_t chosen;     /* key of the chosen token */
    float value;         /* the number that its sampler learns from it */
    uint32_t n_given;    /* number of keys in args.given: all tokens of the row as given */
    uint64_t given_from; /* whose keys are >= this one */
    sampi_gpu_op op[SAMPI_STEPS];
} sampi_gpu_state;

/* What the device returns for a row. It counts only if `batch` is the number of the current batch; otherwise it is from
   an earlier one. It also shows the teams of the row that nothing is left to do. */
typedef struct sampi_gpu_result {
    uint32_t batch; /* number of the batch whose result it is */
    int32_t status; /* a status, or SAMPI_GPU_DECLINED: the CPU must sample the row */
    int32_t token;  /* the token; -1: the list is the result; or SAMPI_GPU_STOPPED */
    float value;    /* mirostat's mu, or adaptive_p's probability */
    uint32_t passes, n_list, buffer;
    int32_t order, sorted, p_set;
    float order_max, p_max;
    double order_mean;
    uint64_t p_z;
} sampi_gpu_result;

/* What the host computes log-probabilities from; a row has one for its logits as given, one for those that the chain
   left. */
typedef struct sampi_gpu_basis {
    uint64_t z, s;
    float max, l;         /* l and rank are those of the chosen token */
    uint32_t rank, n_top; /* number of keys in this basis's part of the array of top keys */
} sampi_gpu_basis;

/* One team's result of a pass; which sums it has depends on the pass. Teams do not add up each other's: the last one
   reads all parts, so no result shows the order of atomics. */
typedef struct sampi_gpu_part {
    uint64_t sum[4];
    float max, low;
} sampi_gpu_part;

/* A token whose logit a rule changes: its logit now, and the logits at_order and at_p of sampi_gpu_item. Such tokens
   are taken out of the row (holes); the one team that advances the row applies each step to them. */
typedef struct sampi_gpu_changed {
    float l, at_order, at_p;
} sampi_gpu_changed;

/* A batch, and the addresses of everything. Arrays of [rows] are in the block that the context allocates once; rule,
   id, place and job are sent with batches. cell and lane_max describe the row as it came; cell_sum, sum, mass, count,
   wide and code are scratch of the current step, and keep nothing from one step to the next. */
typedef struct sampi_gpu_args {
    uint32_t batch, n_rows, splits, groups, wait, n_vocab;
    uint32_t leaders; /* 1: each row has a team that only advances it, numbered behind all others */
    int32_t type;
    bool pairs; /* two neighbouring 16-bit elements may be read as one word */
    size_t stride, mask_stride;
    const char *data;
    const uint32_t *mask;         /* NULL: no masks */
    samp_token *out;              /* NULL: tokens go to `result` only */
    const sampi_gpu_place *place; /* [rows] */
    char *job;                    /* [rows] of job_size bytes */
    size_t job_size;
    const sampi_gpu_rule *rule;
    const int32_t *id;
    sampi_gpu_rule *kept_rule;  /* [rows][2][SAMPI_RULES] rules that stay on the device */
    int32_t *kept_id, *window;  /* [rows][2][SAMPI_RULES] their ids; [rows][SAMPI_RULES] penalties' last
                                  tokens */
    sampi_gpu_state *state;     /* [rows] */
    sampi_gpu_result *result;   /* [rows] */
    sampi_gpu_result *told;     /* [rows] the same in registered host memory; NULL: the host copies `result` */
    uint64_t *done;             /* [teams] the last pass a team has done: batch << 32 | epoch + 1 */
    uint32_t *hole;             /* [rows][groups * 32] one bit per token, set if its logit is changed */
    float *cell;                /* [rows][groups * 32] maxima of cells */
    uint32_t *cell_sum;         /* [rows][groups * 32] sums of the envelope over cells */
    uint32_t *wanted;           /* [rows][groups * 32] which elements of a cell go to the list, a bit each */
    float *aside;               /* [teams][32][32] logits of one cell a lane, of rows that cannot be read directly */
    float *lane_max;            /* [teams * 32] maxima of what each lane of a team reads */
    sampi_gpu_part *part;       /* [teams] */
    float *team_max;            /* [teams] maximum of a team's share as the row came, NaN if it has one */
    sampi_gpu_item *item;       /* [rows][2][SAMP_GPU_LIST] two lists per row, in turns */
    uint64_t *wide;             /* [rows][SAMPI_WIDE] a number for each token of a list or a group */
    uint64_t *code;             /* another number: the token's place in an order */
    uint64_t *sum;              /* [rows][groups] sums of the envelope over groups */
    uint64_t *time, *winner;    /* [teams * 32] gumbel: the best time of a lane, as bits, and its token's key */
    uint64_t *mass, *count;     /* [rows][SAMPI_BUCKETS] the histogram */
    sampi_gpu_changed *changed; /* [rows][SAMPI_RULES] */
    int32_t *user_id;           /* [rows][SAMP_GPU_LIST] ids for a user's sampler */
    float *user_logit, *user_p; /* [rows][SAMP_GPU_LIST] its logits and p */
    uint64_t *given;            /* [rows][SAMP_GPU_LIST] keys: see given_from in the state */
    sampi_gpu_basis *basis;     /* [n_rows][2] of the row as given, after the chain; then keys
                                   [n_rows][2][n_top], unordered */
    uint32_t n_top;             /* the largest n_top (top log-probabilities) of the batch's rows */
} sampi_gpu_args;
