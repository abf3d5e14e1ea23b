/* ====================================================================================================== >>host
   What the host does around the kernels. Chains and logits on either side come in; tokens, updated chains and statuses
   go out. A batch is divided into jobs for the device and rows for the CPU. Of a job only what the device does not have
   is sent; one launch or a few run all jobs; results are taken into the chains as if the CPU had sampled.
   samp_gpu_sample_batch, at the end of gpu/results.h, calls everything except contexts and samp_gpu_plan. This room has
   the host's structs and the layout of both blocks of memory.

   Only sampi_gpu_commit_row changes the chain of a job, after everything that can fail on the device. A failure before
   leaves all chains as they were, and the device's copies are treated as lost. (The scratch of a sampler may change
   before: sampi_stream and dry's list are written while a chain is packed.) One thread at a time uses a context, so
   only launches, which contexts share, are locked. */

/* Where a context's kernels run: not at all, as plain functions on the host, or on the device. */

enum { SAMPI_GPU_ON_CPU, SAMPI_GPU_ON_HOST, SAMPI_GPU_ON_DEVICE };

enum { SAMPI_GPU_FOUND = 4 }; /* how many ranges of the caller's arrays are remembered, for buffers in turns */

/* Up to so many members accept the token by direct calls; more, by a walk over the chain. */
enum { SAMPI_GPU_LISTENERS = 2 };

/* Who samples a row of the batch. */
enum {
    SAMPI_GPU_BY_NOBODY, /* the row has an error */
    SAMPI_GPU_BY_DEVICE,
    SAMPI_GPU_BY_CPU
};

/* What a job was packed from. serial distinguishes chains that had the same address; n_edits counts all changes of a
   chain, and commit_row records those that it makes itself. n_top [2] are those of log-probabilities, as given and after
   the chain; -1: none are asked for. */
typedef struct sampi_gpu_source {
    const sampi_sampler *chain;
    size_t serial, n_edits, n_vocab, n_top[2];
} sampi_gpu_source;

/* The chain of a job. If it is kept, the device's copy is valid as long as the source is the same: the row of a later
   batch then begins without anything being sent. (A chain within a chain is never kept, because changes by the outer one
   are not counted.) */
typedef struct sampi_gpu_slot {
    sampi_gpu_source source;
    sampi_sampler *last;    /* the chain's last active sampler */
    sampi_sampler *patcher; /* the sampler whose rules stay on the device, or NULL */
    sampi_sampler *listener[SAMPI_GPU_LISTENERS]; /* members that must accept the token */
    int n_listeners;                              /* their number, or more than SAMPI_GPU_LISTENERS */
    bool draws, custom;                           /* a member of the chain draws; a member is the user's
                                                     sampler */
    bool kept;
} sampi_gpu_slot;

/* A context: one block on the device and one on the host, laid out once. Of the arrays [max_rows], row_of, called,
   verdict, slot and result have an element per job; where and token have one per row of the caller's batch. */
struct samp_gpu {
    samp_gpu_config config;
    int mode, device, host; /* mode; OpenMP's device numbers */
    char *block;            /* device memory; keep is 256 bytes more: see sampi_gpu_prepare_device */
    void *keep;
    /* host memory that kernels may use too, its address for them, NULL if they may not, and each team's copy of args */
    char *desk, *desk_there;
    sampi_gpu_args *near_args;
    size_t job_at, data_at, mask_at, zeroed;
    bool unsure;                       /* true: a batch has failed, and the device may be in the middle of it */
    size_t args_at, place_at, jobs_at; /* offsets in stage, and from job_at on; the args follow rules and ids */
    sampi_gpu_args args;               /* addresses are the device's */
    uint32_t batch, launches;
    uint32_t teams, wait; /* number of teams that run at once, if wait is not 0 */
    /* first and last byte of the ranges that were found to be the device's memory: see sampi_gpu_require_memory */
    uintptr_t found[SAMPI_GPU_FOUND][2];
    uint32_t n_found;
    samp_gpu_perf_data perf;
    uint32_t most;        /* most launches for a batch, far more than any chain needs */
    uint32_t most_splits; /* most teams of a row */
    char name[24];
    char why[72]; /* why the device is not trusted, as samp_gpu_plan says it; "": it is trusted */
    /* the host's side, one block with this struct */
    char *stage;          /* what is sent to the device: rules, ids, args, places, jobs */
    sampi_gpu_rule *rule; /* [max_rows * SAMPI_RULES] */
    int32_t *id;          /* [max_rows * SAMPI_RULES * 2] ids, and windows of penalties */
    sampi_gpu_result *result;
    sampi_gpu_basis *basis;     /* the device's, copied */
    uint32_t *row_of;           /* [max_rows] the batch's row of each job */
    uint8_t *where;             /* [max_rows] who samples a row of the batch */
    sampi_gpu_slot *slot;       /* [max_rows] */
    int32_t *called;            /* [max_rows] how many users' samplers of a job were called */
    int32_t *verdict;           /* [max_rows] what a job's user's sampler decided: token + 1, or a status */
    samp_token *token;          /* [max_rows] */
    sampi_gpu_item *item;       /* [SAMP_GPU_LIST] */
    samp_token_data *candidate; /* [SAMP_GPU_LIST] */
    char *raw;                  /* [max_vocab] elements */
    uint32_t n_jobs, n_rules, n_ids;
    uint32_t new_from, new_until; /* range of jobs that the device does not have */
    uint32_t n_placed;            /* places of so many jobs are on the device as in the stage */
    bool moved;                   /* a place of this batch is not */
};

/* ---- shapes ----
   A layout is written once, as a list of reservations, and run twice: with base NULL for the size, then with the
   block. */

/* Returns the bytes of a logit; 0 for a type that the device does not take, for which sampi_gpu_check refuses the
   config. */
static size_t sampi_gpu_element_size(samp_dtype dtype)
{
    if (dtype == SAMP_F16 || dtype == SAMP_BF16) return 2;
    if (dtype == SAMP_F32) return 4;
    return dtype == SAMP_F64 ? 8 : 0;
}

/* Returns the status of a config. The most log-probabilities that a row asks for must fit its list. create and size
   call it; later code relies on it and checks nothing again. */
static int sampi_gpu_check(const samp_gpu_config *c)
{
    if (!c) return SAMP_E_NULL;
    if (c->device < SAMP_GPU_HOST || c->max_rows < 1 || c->max_rows > 65536) return SAMP_E_RANGE;
    if (c->max_vocab < 1 || c->max_vocab > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    if (c->max_top_logprobs < 0 || c->max_top_logprobs > SAMP_MAX_TOP_LOGPROBS) return SAMP_E_RANGE;
    if (c->max_top_logprobs > SAMP_GPU_LIST) return SAMP_E_RANGE;
    return sampi_gpu_element_size(c->dtype) ? SAMP_OK : SAMP_E_DTYPE;
}

/* Whether the kernels contain the pass for gumbel's race. */
static bool sampi_gpu_races(void)
{
#ifdef SAMPLING_GUMBEL_DECLARED
    return true;
#else
    return false;
#endif
}

/* Reserves the next part of a block, n elements of a size, and returns its address. Parts begin at multiples of 256
   bytes, which suits every type, and lets a warp's first read begin with a cache line. Only layouts call it; it adds to
   *used, and touches no memory. */
static char *sampi_gpu_reserve(char *base, size_t *used, size_t n, size_t size)
{
    char *at = base ? base + *used : NULL; /* NULL: a layout only counts */
    /* a size that overflows stays the maximum, which no block can have */
    const bool fits = n <= (SIZE_MAX / 2 - 255) / size && *used <= SIZE_MAX / 2;
    *used = fits ? *used + ((n * size + 255) & ~(size_t)255) : SIZE_MAX;
    return at;
}

/* Returns the bytes of what is sent to the device for a batch, and sets the offsets in it of args, places and jobs
   (chains). Rules and their ids end where the args begin, and are as long as the batch needs, so that one copy sends
   everything. The host's stage and the device's part of the block both have this layout, so an offset is valid for
   both. */
static size_t sampi_gpu_stage_size(samp_gpu *gpu)
{
    const size_t rows = gpu->config.max_rows;
    size_t used = 0;
    sampi_gpu_reserve(NULL, &used, rows, SAMPI_RULES * (sizeof(sampi_gpu_rule) + 2 * sizeof(int32_t)));
    sampi_gpu_reserve(NULL, &used, 2, 16); /* rules and ids both end at a multiple of 16 bytes */
    gpu->args_at = used;
    sampi_gpu_reserve(NULL, &used, 1, sizeof(sampi_gpu_args));
    gpu->place_at = used;
    sampi_gpu_reserve(NULL, &used, rows, sizeof(sampi_gpu_place));
    gpu->jobs_at = used;
    sampi_gpu_reserve(NULL, &used, rows, sizeof(sampi_gpu_job));
    return used;
}

/* The desk, host memory that kernels may use: the args, then results. It has its pages for itself, because pages are
   registered. */
enum { SAMPI_GPU_RESULTS_AT = 512, SAMPI_GPU_PAGE = 65536 };
SAMPI_STATIC_ASSERT(sizeof(sampi_gpu_args) <= SAMPI_GPU_RESULTS_AT, "a warp reads the args in four words a lane");

static size_t sampi_gpu_desk_size(const samp_gpu_config *c)
{
    const size_t used = SAMPI_GPU_RESULTS_AT + c->max_rows * sizeof(sampi_gpu_result), page = SAMPI_GPU_PAGE;
    return c->registered ? (used + page - 1) & ~(page - 1) : used;
}

/* Returns the bytes per row of what log-probabilities are computed from. The array has the two bases (before and after
   the chain) of all rows, then the keys of the first tokens of all rows, packed for the rows and the n_top of one
   batch, so that one copy brings them back. Host and device compute its layout again for each batch from these two
   numbers. */
static size_t sampi_gpu_basis_size(size_t n_top) { return 2 * (sizeof(sampi_gpu_basis) + n_top * sizeof(uint64_t)); }

/* Lays out the device's block, by gpu->config, and returns its size. base may be NULL, to get the size only. The
   function sets the device's addresses in gpu->args, the offsets of stage, logits and masks, and the number of bytes at
   the beginning that must be zero; it writes nothing to the block itself, which the host cannot access. Each context
   calls it once, so its addresses are the same for all batches. The zeros distinguish a new row from one that is being
   run. */
static size_t sampi_gpu_layout(samp_gpu *gpu, char *base)
{
    const samp_gpu_config *c = &gpu->config;
    sampi_gpu_args *a = &gpu->args;
    const size_t rows = c->max_rows, groups = (c->max_vocab + SAMPI_GROUP - 1) / SAMPI_GROUP;
    const size_t teams = rows > SAMPI_TEAMS ? rows : SAMPI_TEAMS;
    size_t used = 0;
#define SAMPI_RESERVE(member, type, n) a->member = (type *)(void *)sampi_gpu_reserve(base, &used, n, sizeof(type))
    SAMPI_RESERVE(state, sampi_gpu_state, rows);
    SAMPI_RESERVE(result, sampi_gpu_result, rows);
    SAMPI_RESERVE(done, uint64_t, teams);
    a->hole = (uint32_t *)(void *)sampi_gpu_reserve(base, &used, rows * groups, SAMPI_WARP * sizeof(uint32_t));
    gpu->zeroed = used; /* the parts from here on are written before they are read */
    a->cell = (float *)(void *)sampi_gpu_reserve(base, &used, rows * groups, SAMPI_WARP * sizeof(float));
    a->cell_sum = (uint32_t *)(void *)sampi_gpu_reserve(base, &used, rows * groups, SAMPI_WARP * sizeof(uint32_t));
    a->wanted = (uint32_t *)(void *)sampi_gpu_reserve(base, &used, rows * groups, SAMPI_WARP * sizeof(uint32_t));
    SAMPI_RESERVE(aside, float, teams *SAMPI_GROUP);
    SAMPI_RESERVE(lane_max, float, teams *SAMPI_WARP);
    SAMPI_RESERVE(part, sampi_gpu_part, teams);
    SAMPI_RESERVE(team_max, float, teams);
    SAMPI_RESERVE(item, sampi_gpu_item, rows * 2 * SAMP_GPU_LIST);
    SAMPI_RESERVE(wide, uint64_t, rows * SAMPI_WIDE);
    SAMPI_RESERVE(code, uint64_t, rows * SAMP_GPU_LIST);
    SAMPI_RESERVE(sum, uint64_t, rows * groups);
    SAMPI_RESERVE(time, uint64_t, sampi_gpu_races() ? teams * SAMPI_WARP : 0);
    SAMPI_RESERVE(winner, uint64_t, sampi_gpu_races() ? teams * SAMPI_WARP : 0);
    SAMPI_RESERVE(mass, uint64_t, rows * SAMPI_BUCKETS);
    SAMPI_RESERVE(count, uint64_t, rows * SAMPI_BUCKETS);
    SAMPI_RESERVE(changed, sampi_gpu_changed, rows * SAMPI_RULES);
    SAMPI_RESERVE(kept_rule, sampi_gpu_rule, rows * 2 * SAMPI_RULES);
    SAMPI_RESERVE(kept_id, int32_t, rows * 2 * SAMPI_RULES);
    SAMPI_RESERVE(window, int32_t, rows * SAMPI_RULES);
    SAMPI_RESERVE(user_id, int32_t, rows * SAMP_GPU_LIST);
    SAMPI_RESERVE(user_logit, float, rows *SAMP_GPU_LIST);
    SAMPI_RESERVE(user_p, float, rows *SAMP_GPU_LIST);
    SAMPI_RESERVE(given, uint64_t, c->max_top_logprobs ? rows * SAMP_GPU_LIST : 0);
    a->basis = (sampi_gpu_basis *)(void *)sampi_gpu_reserve(base, &used, rows,
                                                            sampi_gpu_basis_size((size_t)c->max_top_logprobs));
#undef SAMPI_RESERVE
    gpu->job_at = used;
    sampi_gpu_reserve(base, &used, sampi_gpu_stage_size(gpu), 1);
    gpu->data_at = used;
    if (!c->data_on_device) sampi_gpu_reserve(base, &used, rows, c->max_vocab * sampi_gpu_element_size(c->dtype));
    gpu->mask_at = used;
    sampi_gpu_reserve(base, &used, rows * groups, SAMPI_WARP * sizeof(uint32_t));
    gpu->near_args = (sampi_gpu_args *)(void *)sampi_gpu_reserve(base, &used, c->registered ? SAMPI_TEAMS_FEW : 0,
                                                                 sizeof *a);
    return used;
}

/* Returns what create would take: the layout without a block. */
SAMP_API size_t samp_gpu_size(const samp_gpu_config *config)
{
    samp_gpu shape;
    if (sampi_gpu_check(config)) return 0;
    shape.config = *config;
    return sampi_gpu_layout(&shape, NULL);
}
