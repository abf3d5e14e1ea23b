/* ---- the canary ---- The trial of a device. The first context of a device makes it compute what the CPU can check:
   vectors of the kernels' arithmetic, and four small batches whose rows together need every kind of pass and every
   sampler that has a step. If anything differs, no context of the process gives rows to that device: they are sampled
   on the CPU, and samp_gpu_plan says why. The verdict is made once for each device, and once more with registered
   memory. samp_gpu_init, at the end, begins the trial. */

#if !defined(SAMPI_GPU_TRUSTS) && SAMPI_OFFLOAD /* a test checks kernels on the host too, or none */
#define SAMPI_GPU_TRUSTS(gpu) ((gpu)->mode != SAMPI_GPU_ON_DEVICE)
#elif !defined(SAMPI_GPU_TRUSTS) /* without a device no verdict is needed */
#define SAMPI_GPU_TRUSTS(gpu) true
#endif

/* The number of tokens of a row. It is more than a list holds, gives a last group (1024 tokens) that is not full, and
   gives a third more cells (32 tokens) than the tokens wanted for the list that is made with the sums. */
#define SAMPI_CANARY_VOCAB (SAMP_GPU_LIST < 8192 ? 11270 : SAMP_GPU_LIST + 3078)
enum {
    SAMPI_CANARY_ARGUMENTS = 128,
    SAMPI_CANARY_FUNCTIONS = 12,
    SAMPI_CANARY_RANDOM = 8,
    SAMPI_CANARY_VALUES = SAMPI_CANARY_ARGUMENTS * SAMPI_CANARY_FUNCTIONS + 2 * SAMPI_CANARY_RANDOM,
    SAMPI_CANARY_SHAPES = 5, /* rows of logits; the last one has a NaN */
    SAMPI_CANARY_TOP = SAMP_GPU_LIST < 40 ? SAMP_GPU_LIST : 40,
    SAMPI_CANARY_LAUNCHES = 64, /* most launches for one batch: far more than its passes */
    SAMPI_CANARY_DEVICES = 64   /* devices whose verdicts are kept */
};

/* The rows: the shape of their logits, their name for samp_gpu_plan, and up to three samplers. If none of them selects,
   dist is added. Rows whose shapes are consecutive are sent in one copy. */
#define SAMPI_CANARY_ROWS(X) \
    X(0, "top-k, top-p, temp", samp_init_top_k(40), samp_init_top_p(0.95f, 1), samp_init_temp(0.8f)) \
    X(1, "top-p, temp", samp_init_top_p(0.9f, 1), samp_init_temp(1.25f), NULL) \
    X(2, "min-p", samp_init_min_p(0.1f, 1), samp_init_temp(1.5f), NULL) \
    X(3, "temp", samp_init_temp(1.25f), NULL, NULL) \
    X(0, "top-n-sigma", samp_init_top_n_sigma(1.5f), NULL, NULL) \
    X(1, "typical", samp_init_typical(0.9f, 1), samp_init_temp(1.25f), NULL) \
    X(2, "tail-free", samp_init_top_k(SAMP_GPU_LIST / 4), samp_init_tail_free(0.9f, 1), NULL) \
    X(3, "mirostat", \
      samp_init_mirostat(SAMPI_CANARY_VOCAB, 7, SAMP_GPU_LIST < 512 ? 1.0f : 4.0f, 0.2f, \
                         SAMP_GPU_LIST < 512 ? 8 : 100), \
      NULL, NULL) \
    X(0, "top-h", samp_init_top_k(SAMP_GPU_LIST / 8), samp_init_top_h(0.4f, 1), NULL) \
    X(1, "min-k", samp_init_top_k(SAMP_GPU_LIST / 2), samp_init_min_k(2.0f), NULL) \
    X(2, "mirostat-v2", samp_init_mirostat_v2(8, 5.0f, 0.2f), NULL, NULL) \
    X(3, "xtc, smoothing", samp_init_xtc(1.0f, 0.02f, 1, 5), samp_init_smoothing(0.3f, 3.5f), NULL) \
    X(0, "penalties, temp", samp_init_penalties(40, 1.1f, 0.1f, 0.2f), samp_init_temp(1.5f), NULL) \
    X(1, "adaptive-p", samp_init_adaptive_p(0.1f, 0.9f, 9), NULL, NULL) \
    X(2, "temp-ext, top-a", samp_init_temp_ext(0.9f, 0.5f, 1.5f), samp_init_top_a(0.3f, 1), NULL) \
    X(3, "log-softmax, eta", samp_init_log_softmax(), samp_init_eta(0.001f, 1), NULL) \
    X(0, "p-less", samp_init_top_k(SAMP_GPU_LIST / 4), samp_init_p_less(1.0f, 1), NULL) \
    X(1, "typical, top-p", samp_init_typical(0.6f, 1), samp_init_top_p(0.8f, 1), NULL) \
    X(2, "top-p, min_keep", samp_init_top_p(0.3f, SAMP_GPU_LIST + 9), NULL, NULL) \
    X(1, "penalties, top-p", samp_init_penalties(40, 1.05f, 0.05f, 0.05f), samp_init_top_p(0.7f, SAMP_GPU_LIST / 2), \
      NULL) \
    X(3, "top-p, two temps", samp_init_top_p(0.95f, 1), samp_init_temp(0.8f), samp_init_temp(0.9f)) \
    X(0, "flat, top-p", samp_init_temp(1e4f), samp_init_top_p(0.6f, 1), NULL) \
    SAMPI_CANARY_RACE(X) X(4, "NaN", samp_init_greedy(), NULL, NULL)
#ifdef SAMPLING_GUMBEL_DECLARED
#define SAMPI_CANARY_RACE(X) \
    X(0, "gumbel", samp_init_gumbel(6), NULL, NULL) \
    X(2, "temp, gumbel", samp_init_temp(1.5f), samp_init_gumbel(7), NULL)
#else
#define SAMPI_CANARY_RACE(X)
#endif

static const char *const sampi_canary_name[] = {
#define SAMPI_X(shape, name, a, b, c) name,
    SAMPI_CANARY_ROWS(SAMPI_X)
#undef SAMPI_X
};
enum { SAMPI_CANARY_N = (int)(sizeof sampi_canary_name / sizeof *sampi_canary_name) };

/* What the trial has found: the device is right, or the first thing that was not; a row is SAMPI_CANARY_ROW + its
   number. */
enum {
    SAMPI_CANARY_UNKNOWN,
    SAMPI_CANARY_NO_MEMORY, /* no verdict */
    SAMPI_CANARY_RIGHT,
    SAMPI_CANARY_FAILED,
    SAMPI_CANARY_ARITHMETIC,
    SAMPI_CANARY_SUMS,
    SAMPI_CANARY_ROW
};

/* ---- arithmetic ---- */

/* Computes, from each x[i], the functions that kernels decide tokens with, and random numbers after them. y
   [arguments][functions] gets the bits of the results. Compiled for host and device. */
static void sampi_canary_compute(const float *x, uint64_t *y)
{
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_CANARY_ARGUMENTS; i += SAMPI_WARP)
    {
        const float l = x[i], max = 32.0f;
        const uint64_t w = sampi_weight(max, l);
        const double e = sampi_exp(max, l), more = (double)w + 1.0;
        uint64_t *at = y + i * SAMPI_CANARY_FUNCTIONS;
        at[0] = sampi_bits(e);
        at[1] = w;
        at[2] = sampi_weighted(w, max, l);
        at[3] = sampi_envelope(max, l);
        at[4] = sampi_bits(sampi_ln(more));
        at[5] = sampi_bits(sampi_pow(more, 0.7));
        at[6] = sampi_bits((double)sampi_adaptive_p_logit((float)(e / 3e12), 0.3f));
        at[7] = sampi_bits((double)sampi_smoothed((double)max, 0.3, 3.5, l));
        at[8] = sampi_bits((double)sampi_f16_to_f32((uint16_t)(w % 31744)) + (double)sampi_bf16_to_f32((uint16_t)i));
        at[9] = sampi_bits(sqrt(more) / 3.0);
        at[10] = sampi_mulhi(sampi_bits(e), w << 20);
        at[11] = (uint64_t)sampi_key(l);
    }
    y += SAMPI_CANARY_ARGUMENTS * SAMPI_CANARY_FUNCTIONS; /* a draw's random numbers, computed alike by all
                                                             lanes */
    for (uint32_t k = 0; k < SAMPI_CANARY_RANDOM; k++) sampi_random_bits(k << 30, k, 3, k, y + 2 * k);
}

/* Runs sampi_canary_compute on the device. A context without rows lends the memory of its cells and buckets. */
static int sampi_canary_compute_there(samp_gpu *gpu, const float *x, uint64_t *y)
{
    const size_t n_x = SAMPI_CANARY_ARGUMENTS * sizeof *x;
    const size_t n_y = SAMPI_CANARY_VALUES * sizeof *y;
    float *from = gpu->args.cell;
    uint64_t *to = gpu->args.mass;
    if (sampi_gpu_put(gpu, from, x, n_x)) return SAMP_E_DEVICE;
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE) {
        const int device = gpu->device;
        SAMPI_IN_ONE_TEAM(device, from, to)
        sampi_canary_compute(from, to);
    } else
#endif
        sampi_canary_compute(from, to);
    return sampi_gpu_get(gpu, y, to, n_y);
}

/* Compares the arithmetic of host and device. */
static int sampi_canary_arithmetic(samp_gpu *gpu)
{
    float x[SAMPI_CANARY_ARGUMENTS];
    uint64_t here[SAMPI_CANARY_VALUES], there[SAMPI_CANARY_VALUES];
    /* the arguments go from the maximum down to where weights are 0, closest near the maximum; some are masked */
    for (int i = 0; i < SAMPI_CANARY_ARGUMENTS; i++)
        x[i] = i % 32 == 31 ? -INFINITY : 32.0f - (float)(i * i) / 507.0f;
    if (sampi_canary_compute_there(gpu, x, there)) return SAMPI_CANARY_FAILED;
    sampi_canary_compute(x, here);
    return memcmp(here, there, sizeof here) ? SAMPI_CANARY_ARITHMETIC : SAMPI_CANARY_RIGHT;
}

/* ---- rows ---- */

typedef struct sampi_canary {
    samp_gpu *gpu;
    char *data; /* [shapes][SAMPI_CANARY_VOCAB] of any type */
    float *x;   /* the same as f32 */
    samp_sampler *there[SAMPI_CANARY_N], *here[SAMPI_CANARY_N];
    samp_logprobs lp[2 * SAMPI_CANARY_N];
    samp_logprob top[2 * SAMPI_CANARY_N][2][SAMPI_CANARY_TOP];
    int32_t index[SAMPI_CANARY_N];
    uint32_t mask[SAMPI_CANARY_N * ((SAMPI_CANARY_VOCAB + 31) / 32)];
} sampi_canary;

/* Returns a logit of a shape. Shape 0: different logits and a long nucleus (the tokens that top_p keeps). 1: flat. 2:
   few values, so that all have equals. 3: Zipf's law with exponent 1.1. 4: the first again, with a NaN. */
static float sampi_canary_logit(int shape, uint64_t u)
{
    const float x = (float)(int32_t)((u >> 48) + (u >> 32 & 0xFFFF)) / 8192.0f - 8.0f; /* triangular, [-8, 8] */
    if (shape == 1) return x * 0.25f;
    if (shape == 2) return (float)(int32_t)(x * 2.0f) * 0.5f;
    return shape == 3 ? (float)(-1.1 * sampi_ln((double)((u >> 40) + 1))) : x;
}

/* Returns x as f16 or bf16, by truncating bits; as f16, values below 2^-14 become 0. */
static uint16_t sampi_canary_half(samp_dtype dtype, float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    if (dtype == SAMP_BF16) return (uint16_t)(u >> 16);
    const uint32_t size = u & 0x7FFFFFFFu, sign = u >> 16 & 0x8000u;
    if (size > 0x7F800000u) return 0x7E00;
    return (uint16_t)(size < 0x38800000u ? 0 : sign | ((size >> 13) - (112 << 10)));
}

/* Makes all shapes as f32, and masks that leave three of four tokens. */
static void sampi_canary_make_rows(sampi_canary *c)
{
    uint64_t u = 1;
    for (int i = 0; i < SAMPI_CANARY_SHAPES * SAMPI_CANARY_VOCAB; i++) {
        u = u * 6364136223846793005u + 1442695040888963407u;
        c->x[i] = sampi_canary_logit(i / SAMPI_CANARY_VOCAB, u);
    }
    c->x[4 * SAMPI_CANARY_VOCAB + 1061] = NAN;
    for (size_t i = 0; i < sizeof c->mask / sizeof *c->mask; i++) {
        u = u * 6364136223846793005u + 1442695040888963407u;
        c->mask[i] = (uint32_t)(u >> 32 | u >> 29);
    }
}

/* Makes the same logits in another type, in `data`. */
static const void *sampi_canary_make_data(sampi_canary *c, samp_dtype dtype)
{
    uint16_t *half = (uint16_t *)(void *)c->data;
    double *wide = (double *)(void *)c->data;
    for (int i = 0; i < SAMPI_CANARY_SHAPES * SAMPI_CANARY_VOCAB; i++)
        if (dtype == SAMP_F64)
            wide[i] = (double)c->x[i];
        else if (dtype != SAMP_F32)
            half[i] = sampi_canary_half(dtype, c->x[i]);
    return dtype == SAMP_F32 ? (const void *)c->x : (const void *)c->data;
}

/* Makes each chain twice, one for the device and one for the CPU. */
static bool sampi_canary_make_chains(sampi_canary *c)
{
#define SAMPI_X(shape, name, a, b, c) { a, b, c },
    samp_sampler *member[SAMPI_CANARY_N][3] = { SAMPI_CANARY_ROWS(SAMPI_X) };
#undef SAMPI_X
#define SAMPI_X(shape, name, a, b, c) shape,
    static const int32_t shape_of[] = { SAMPI_CANARY_ROWS(SAMPI_X) };
#undef SAMPI_X
    bool good = true;
    for (int r = 0; r < SAMPI_CANARY_N; r++) {
        samp_sampler *chain = samp_chain_init();
        bool selects = false;
        for (int i = 0; i < 3 && member[r][i]; i++) {
            selects = sampi_gpu_flags((sampi_sampler *)member[r][i]) & SAMPI_SELECTS;
            good &= samp_chain_add(chain, member[r][i]) == SAMP_OK;
        }
        if (!selects) good &= samp_chain_add(chain, samp_init_dist((uint64_t)r)) == SAMP_OK;
        for (int i = 0; i < 40; i++) samp_accept(chain, i * i % 61); /* tokens to penalise */
        c->there[r] = chain;
        c->here[r] = samp_clone(chain);
        c->index[r] = shape_of[r];
        good &= chain && c->here[r];
    }
    return good;
}

/* Asks for log-probabilities: sets 0 .. N - 1 are the device's, the others the CPU's. */
static void sampi_canary_ask(sampi_canary *c)
{
    memset(c->top, 0, sizeof c->top);
    memset(c->lp, 0, sizeof c->lp);
    for (int r = 0; r < 2 * SAMPI_CANARY_N; r++) {
        if (r % SAMPI_CANARY_N % 2) continue; /* without top log-probabilities */
        c->lp[r].raw.top_logprobs = c->top[r][0];
        c->lp[r].processed.top_logprobs = c->top[r][1];
        c->lp[r].raw.n_top = c->lp[r].processed.n_top = SAMPI_CANARY_TOP;
    }
}

static bool sampi_canary_same_set(const samp_logprob_set *a, const samp_logprob_set *b)
{
    return a->n_top_found == b->n_top_found && a->chosen.token == b->chosen.token &&
           a->chosen.rank == b->chosen.rank && sampi_bits(a->cumulative_logprob) == sampi_bits(b->cumulative_logprob);
}

/* Whether two chains have the same saved state, byte for byte. */
static bool sampi_canary_same_state(const samp_sampler *a, const samp_sampler *b)
{
    char x[2048], y[2048];
    const size_t n = samp_state_size(a);
    return n && n <= sizeof x && n == samp_state_size(b) && samp_state_save(a, x, n) == SAMP_OK &&
           samp_state_save(b, y, n) == SAMP_OK && !memcmp(x, y, n);
}

/* Whether the device's sum of the first row as given is exactly the sum of its weights. */
static bool sampi_canary_same_sum(const sampi_canary *c, const samp_logits *l)
{
    const sampi_gpu_basis *basis = c->gpu->basis;
    uint64_t z = 0;
    for (size_t i = 0; i < l->n_vocab; i++)
        z += sampi_weight(basis->max, sampi_element(l->data, l->dtype, l->mask, i) + 0.0f);
    return z == basis->z;
}

/* Runs a batch on both sides, and compares. Batch 0: all rows; 1: again, with the chains that the device has kept; 2:
   with masks and log-probabilities; 3: a few rows of the remaining type. Each has another type, which
   changes only how logits are read. All rows must have finished on the device, because what it gives back to the CPU is
   always right. */
static int sampi_canary_batch(sampi_canary *c, int batch)
{
    static const samp_dtype dtypes[] = { SAMP_F32, SAMP_BF16, SAMP_F16, SAMP_F64 };
    const bool logprobs = batch == 2;
    const int n = batch < 3 ? SAMPI_CANARY_N : 4;
    samp_token there[SAMPI_CANARY_N], here[SAMPI_CANARY_N];
    samp_logits l = { NULL,     dtypes[batch], (size_t)n, SAMPI_CANARY_VOCAB, SAMPI_CANARY_VOCAB,
                      c->index, NULL,          0,         NULL,               1,
                      NULL };
    const samp_gpu_perf_data before = c->gpu->perf;
    l.data = sampi_canary_make_data(c, l.dtype);
    sampi_canary_ask(c);
    c->gpu->config.dtype = l.dtype;
    c->gpu->most_splits = batch < 2 ? 5 : UINT32_MAX; /* so that a team has several groups, or one */
    if (logprobs) l.mask = c->mask, l.logprobs = c->lp;
    int status = samp_gpu_sample_batch(c->gpu, c->there, &l, there);
    if (status) return SAMPI_CANARY_FAILED;
    if (logprobs) l.logprobs = c->lp + SAMPI_CANARY_N;
    status = samp_sample_batch(c->here, &l, here);
    if (status) return SAMPI_CANARY_NO_MEMORY;
    for (int r = 0; r < n; r++) {
        const char *top = (const char *)c->top + (size_t)r * sizeof c->top[r]; /* compared as bits */
        const samp_logprobs *a = &c->lp[r], *b = a + SAMPI_CANARY_N;
        if (there[r] != here[r] || !sampi_canary_same_state(c->there[r], c->here[r]) ||
            !sampi_canary_same_set(&a->raw, &b->raw) || !sampi_canary_same_set(&a->processed, &b->processed) ||
            memcmp(top, top + SAMPI_CANARY_N * sizeof c->top[r], sizeof c->top[r]))
            return SAMPI_CANARY_ROW + r;
    }
    if (c->gpu->perf.n_device - before.n_device != (uint64_t)n) return SAMPI_CANARY_FAILED;
    return logprobs && !sampi_canary_same_sum(c, &l) ? SAMPI_CANARY_SUMS : SAMPI_CANARY_RIGHT;
}

/* Returns the verdict on the device of a context. It uses a second context of the device, which takes the number of
   teams over from the first. */
static int sampi_canary_sing(const samp_gpu *like)
{
    const samp_gpu_config config = { like->config.device, SAMPI_CANARY_N, SAMPI_CANARY_VOCAB, SAMP_F64, false, false,
                                     SAMPI_CANARY_TOP, like->config.registered };
    const size_t n_data = (size_t)SAMPI_CANARY_SHAPES * SAMPI_CANARY_VOCAB;
    int status, found = SAMPI_CANARY_NO_MEMORY;
    sampi_canary *c = (sampi_canary *)SAMP_MALLOC(sizeof *c + n_data * (sizeof(double) + sizeof(float)));
    if (!c) return SAMPI_CANARY_NO_MEMORY;
    memset(c, 0, sizeof *c);
    c->data = (char *)(c + 1);
    c->x = (float *)(void *)(c->data + n_data * sizeof(double));
    sampi_canary_make_rows(c);
    c->gpu = sampi_gpu_open(&config, like, &status);
    if (c->gpu && sampi_canary_make_chains(c)) {
        c->gpu->most = SAMPI_CANARY_LAUNCHES;
        found = sampi_canary_arithmetic(c->gpu);
        for (int i = 0; i < 4 && found == SAMPI_CANARY_RIGHT; i++) found = sampi_canary_batch(c, i);
    } else if (!c->gpu && status == SAMP_E_DEVICE) {
        found = SAMPI_CANARY_FAILED;
    }
    for (int r = 0; r < SAMPI_CANARY_N; r++) samp_free(c->there[r]), samp_free(c->here[r]);
    samp_gpu_free(c->gpu);
    SAMP_FREE(c);
    return found;
}

/* Returns the verdict, from memory or by a trial. If two threads make it at the same time, it is the same. */
static int sampi_canary_verdict(const samp_gpu *gpu)
{
    static int32_t verdict[2 * SAMPI_CANARY_DEVICES];
    const int32_t at = 2 * (gpu->config.device - SAMP_GPU_HOST) + gpu->config.registered;
    int32_t found = at < 2 * SAMPI_CANARY_DEVICES ? SAMPI_INT_GET(&verdict[at]) : SAMPI_CANARY_UNKNOWN;
    if (found != SAMPI_CANARY_UNKNOWN) return found;
    found = sampi_canary_sing(gpu);
    if (at < 2 * SAMPI_CANARY_DEVICES && found != SAMPI_CANARY_NO_MEMORY) SAMPI_INT_PUT(&verdict[at], found);
    return found;
}

/* Makes a context sample on the CPU, because its device is not trusted: why_not returns the reason, and rows that are
   on the device are fetched. Its other memory there is freed. */
static void sampi_gpu_distrust(samp_gpu *gpu, int verdict)
{
    sampi_text t = { gpu->why, sizeof gpu->why, 0 };
    if (verdict == SAMPI_CANARY_FAILED) sampi_put(&t, "the device fails at a trial");
    if (verdict != SAMPI_CANARY_FAILED) sampi_put(&t, "the device gives other results: ");
    if (verdict == SAMPI_CANARY_ARITHMETIC) sampi_put(&t, "exp, ln, weights");
    if (verdict == SAMPI_CANARY_SUMS) sampi_put(&t, "sums");
    if (verdict >= SAMPI_CANARY_ROW) sampi_put(&t, sampi_canary_name[verdict - SAMPI_CANARY_ROW]);
    gpu->why[t.len] = 0;
    sampi_gpu_give_name(gpu);
    sampi_gpu_release_device(gpu);
}

SAMP_API samp_gpu *samp_gpu_init(const samp_gpu_config *config, int *status)
{
    int local = SAMP_OK, *result = status ? status : &local;
    samp_gpu *gpu = sampi_gpu_open(config, NULL, result);
    if (!gpu || SAMPI_GPU_TRUSTS(gpu)) return gpu;
    const int verdict = sampi_canary_verdict(gpu);
    if (verdict == SAMPI_CANARY_RIGHT) return gpu;
    if (verdict != SAMPI_CANARY_NO_MEMORY) {
        sampi_gpu_distrust(gpu, verdict);
        return gpu;
    }
    samp_gpu_free(gpu);
    *result = SAMP_E_NOMEM;
    return NULL;
}
