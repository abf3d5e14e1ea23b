/* ===================================================================================================== >>api
   The public functions of sampling_gpu.h. A context is made once; then each batch is one call: chains of sampling.h
   and logits on either side come in, tokens go out, and the chains have moved on. */

#ifndef SAMP_GPU_LIST
#define SAMP_GPU_LIST 4096
#endif
#ifndef SAMP_GPU_WAIT
#define SAMP_GPU_WAIT 20000
#endif

#define SAMP_GPU_HOST (-1) /* as a device: the kernels themselves, but run on the host; for tests */

typedef struct samp_gpu samp_gpu;

/* The fixed shapes of a context. */
typedef struct samp_gpu_config {
    int32_t device;           /* OpenMP's number, 0 ..; SAMP_GPU_HOST */
    size_t max_rows;          /* 1 .. 65536 */
    size_t max_vocab;         /* 1 .. SAMP_MAX_VOCAB */
    samp_dtype dtype;         /* of the logits: SAMP_F32, SAMP_F16, SAMP_BF16, SAMP_F64 */
    bool data_on_device;      /* samp_logits.data is the device's (omp_target_alloc, cudaMalloc), else the host's */
    bool out_on_device;       /* so is `out` */
    int32_t max_top_logprobs; /* 0 .. SAMP_MAX_TOP_LOGPROBS, SAMP_GPU_LIST: the largest n_top that a row gets from the
                                 device; rows that ask for more go to the CPU, with 0 all that ask */
} samp_gpu_config;

/* samp_gpu_available -- how many devices can be used; 0: calls sample on the CPU. */
SAMP_API int samp_gpu_available(void);

/* samp_gpu_size -- bytes of device memory that a context takes, but for 256 of its own; 0 if the config is bad,
   SIZE_MAX of what has no size. What libgomp takes for itself is not in it: with nvptx 128 KiB of stack for each of
   1024 teams, 128 MiB in all, at the first launch, once for each device and all contexts; the kernels' code; the
   driver's context. */
SAMP_API size_t samp_gpu_size(const samp_gpu_config *config);

/* samp_gpu_create -- a context; all memory is taken here, on both sides.
     Returns  NULL on failure. *status (may be NULL): SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE (device, rows, vocabulary,
              max_top_logprobs), SAMP_E_DTYPE, SAMP_E_NOMEM, SAMP_E_DEVICE (a probe kernel did not run there).
     Without any device the context is made all the same, and samples on the CPU.
     Trial    The first context of a device, once in the process, has the device compute what the CPU can check: vectors
              of exp, ln and weights, bit for bit, and four batches of up to two dozen rows that together need every
              kind of pass. It takes some milliseconds and, for that time, a context more of memory on both sides (about
              12 MB there). Where a result differs, where a batch fails or does not end within 64 launches, no context
              of the process uses that device: each is made all the same, its name is "cpu", it samples on the CPU (rows
              that are on the device are fetched), and samp_gpu_plan gives the reason. The trial notices a device or a
              compiler that is wrong everywhere, not one that is wrong now and then. SAMP_GPU_HOST needs none. A kernel
              that never ends, or that fails, is beyond it: see ERRORS. */
SAMP_API samp_gpu *samp_gpu_create(const samp_gpu_config *config, int *status);

/* samp_gpu_free -- NULL is fine. */
SAMP_API void samp_gpu_free(samp_gpu *gpu);

/* samp_gpu_device_name -- "device 0", "host kernels", "cpu". */
SAMP_API const char *samp_gpu_device_name(const samp_gpu *gpu);

/* samp_gpu_sample_batch -- draw the next token of every row and accept it, as samp_sample_batch does on the CPU.
     in       rows [n_rows], a chain each, each at most once; logits as in samp_sample_batch, with the context's dtype,
              at most its rows and vocabulary; row_index and mask are host memory; -inf or a cleared bit masks a token
     out      [n_rows] the tokens, or a row's negative status, which leaves its chain as it was; logits->logprobs is
              host memory, and gets what samp_sample_batch would write there, bit for bit
     Returns  as samp_sample_batch; and nothing was done: SAMP_E_DTYPE (not the context's), SAMP_E_RANGE (more rows or a
              larger vocabulary than its; `out` on the device not aligned to 4), SAMP_E_ADDRESS (logits->data, or `out`,
              should be on the device and is not memory of it; see Checked). SAMP_E_DEVICE: a copy failed; no chain has
              moved on, unless it was the last one, of `out` to the device. If only the copy of a row that goes to the
              CPU fails, that is its status.
     Checked  of an array on the device: the first and the last byte that the batch can touch, from the lowest row to
              the highest one, by a copy of each. (From memory that is the host's, freed, or beyond an allocation
              libgomp refuses to copy, and writes a line to stderr.) No copy is made if both bytes lie within one of the
              last four ranges that this context has checked: so a buffer that stays where it is costs two copies once.
              Not noticed: memory that was freed after its range was checked, and holes in the middle of a range. A
              kernel that reads there ends the process.
     State    belongs to the chains, whose copies on the device follow them: the same chain may go on by the CPU,
              samp_state_save reads what it has become, and samp_state_load reaches the device with the next batch.
     Memory   none, but what samp_sample_batch takes for a chain that goes to the CPU, and a chain's first token to be
              taken back. */
SAMP_API int samp_gpu_sample_batch(samp_gpu *gpu, samp_sampler *const *rows, const samp_logits *logits,
                                   samp_token *out);

/* samp_gpu_plan -- which sampler of a chain runs where, and why, as text: "device: top-k -> temp; cpu (a
   sampler of your own): custom -> dist". It knows nothing of changed logits, log-probabilities or a chain's error, and
   names 64 samplers. Like snprintf; the length of the whole text, or SAMP_E_NULL. */
SAMP_API int samp_gpu_plan(const samp_gpu *gpu, const samp_sampler *chain, char *buf, size_t size);

/* What a sampler of your own gets on a device, if its interface has apply_gpu: the tokens left, in device memory. It
   may start a target region of its own (is_device_ptr), and must do what its apply does, whatever the order of the
   tokens. It is called if a sampler that removes tokens stands before it, at most SAMP_GPU_LIST are left, and all of
   the chain can run on the device; else apply is, on the CPU. Returns a status. An id that is no token's is
   SAMP_E_RANGE, and one that is there twice, where the chain's last sampler leaves it. */
typedef struct samp_gpu_data {
    int32_t device;   /* OpenMP's number; SAMP_GPU_HOST: the arrays are the host's */
    int32_t *ids;     /* [size] each at most once */
    float *logits;    /* [size] -INFINITY masks a token */
    float *probs;     /* [size] read only: p as the last sampler that sets it left it, or 0 */
    size_t size;      /* may become smaller: the first ones stay; 1 .. SAMP_GPU_LIST */
    int64_t selected; /* -1; the chain's last sampler sets it to the index of its token, elsewhere it is ignored */
    bool sorted;      /* false: in no order */
} samp_gpu_data;

/* What a context has done. */
typedef struct samp_gpu_perf_data {
    uint64_t n_device;   /* rows whose token, or status, was made on the device */
    uint64_t n_mixed;    /* rows that began there and went on over the tokens left, on the CPU */
    uint64_t n_cpu;      /* rows sampled on the CPU, */
    uint64_t n_declined; /* those among them that had to be fetched back */
    uint64_t n_launches; /* of kernels */
    uint64_t n_passes;   /* over rows */
    uint64_t n_kept;     /* rows whose chain was there already, from the batch before */
} samp_gpu_perf_data;

/* samp_gpu_perf -- the counts since creation. */
SAMP_API samp_gpu_perf_data samp_gpu_perf(const samp_gpu *gpu);
