/* ===================================================================================================== >>api
   The public functions of sampling_gpu.h. A program makes a context once. Each batch is then one call: it takes chains
   of sampling.h and logits in host or device memory, returns one token per row, and moves the chains on. */

#ifndef SAMP_GPU_LIST
#define SAMP_GPU_LIST 4096
#endif
#ifndef SAMP_GPU_WAIT
#define SAMP_GPU_WAIT 20000
#endif

#define SAMP_GPU_HOST (-1) /* value of `device` with which the kernels run as plain C on the host, for tests */

typedef struct samp_gpu samp_gpu;

/* The fixed shapes of a context. */
typedef struct samp_gpu_config {
    int32_t device;           /* OpenMP's device number, from 0 on; or SAMP_GPU_HOST */
    size_t max_rows;          /* the most rows of a batch: 1 .. 65536 */
    size_t max_vocab;         /* the largest vocabulary: 1 .. SAMP_MAX_VOCAB tokens */
    samp_dtype dtype;         /* type of the logits: SAMP_F32, SAMP_F16, SAMP_BF16, SAMP_F64 */
    bool data_on_device;      /* true: samp_logits.data is device memory (omp_target_alloc, cudaMalloc);
                                 false: host memory */
    bool out_on_device;       /* true: `out` is device memory; false: host memory */
    int32_t max_top_logprobs; /* the largest n_top (of log-probabilities) that the device serves; rows that
                                 ask for more run on the CPU; with 0 all rows that ask do. Range: 0 ..
                                 SAMP_MAX_TOP_LOGPROBS, and at most SAMP_GPU_LIST */
    bool registered;          /* true: the device uses a piece of the context's host memory directly, if its
                                 driver can: see samp_gpu_init; false: batches are copied */
} samp_gpu_config;

/* samp_gpu_available -- returns how many devices can be used. If 0, the calls below sample on the CPU. */
SAMP_API int samp_gpu_available(void);

/* samp_gpu_size -- returns the bytes of device memory that a context takes, without 256 further bytes of its own; 0 if
   the config is bad, SIZE_MAX if the sum does not fit size_t. Not counted: what libgomp takes for itself (with nvptx
   128 KiB of stack for each of 1024 teams, 128 MiB in all, at the first launch, once per device for all contexts), the
   kernels' code, and the driver's context. */
SAMP_API size_t samp_gpu_size(const samp_gpu_config *config);

/* samp_gpu_init -- makes a context, and takes all of its memory, on the host and on the device.
     Returns  the context; NULL on failure. *status (may be NULL): SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE (device, rows,
              vocabulary, max_top_logprobs), SAMP_E_DTYPE, SAMP_E_NOMEM, SAMP_E_DEVICE (a probe kernel did not run on
              the device). Without any device the context is made all the same, and samples on the CPU.
     Trial    When a process makes its first context of a device, the device computes what the CPU can check:
              vectors of exp, ln and weights, bit for bit, and four batches of up to two dozen rows that together need
              every kind of pass. This takes some milliseconds and, during that time, the memory of a second context on
              the host and on the device (about 15 MB there). If a result differs, or a batch fails or does not end
              within 64 launches, no context of the process uses that device: each is made all the same, its name is
              "cpu", it samples on the CPU (rows that are on the device are fetched), and samp_gpu_plan gives the
              reason. The trial detects a device or a compiler that is always wrong, not one that is wrong now and then.
              SAMP_GPU_HOST has no trial. The trial cannot handle a kernel that never ends or that fails: see ERRORS.
     Registered  With config->registered the host memory of a batch's arguments and results (64 bytes per row, in whole
              64 KiB) is registered with NVIDIA's driver by cuMemHostRegister, which locks its pages; kernels then read
              and write it themselves. A batch needs no copy if the device has all of its chains at the same places
              from an earlier one, reads logits that are on the device, and has no mask and no log-probabilities. A
              batch of more than 264 teams (thread blocks; mostly of more than 8 rows) copies its arguments, because
              each team would read them from the host. The driver's functions are looked up in the library that libgomp
              has loaded; nothing more is linked or loaded. If they are missing (a device of another maker) or refuse,
              the context is made all the same, and copies: samp_gpu_perf then says registered 0. Tokens, states and
              statuses are the same. With SAMP_GPU_HOST the memory counts as registered: it is the kernels' own. The
              first context with registered memory has a trial of its own. Times on a device are not measured yet. */
SAMP_API samp_gpu *samp_gpu_init(const samp_gpu_config *config, int *status);

/* samp_gpu_free -- frees a context. NULL is allowed. */
SAMP_API void samp_gpu_free(samp_gpu *gpu);

/* samp_gpu_device_name -- returns "device 0" (or its number), "host kernels", or "cpu". */
SAMP_API const char *samp_gpu_device_name(const samp_gpu *gpu);

/* samp_gpu_sample_batch -- draws the next token of every row and accepts it, as samp_sample_batch does on the CPU.
     in       rows [n_rows]: one chain per row, each chain at most once; logits as in samp_sample_batch, with the
              context's dtype, at most its rows and its vocabulary; row_index and mask are host memory; -inf or a
              cleared mask bit masks a token. Rows whose n_vocab_of is less than n_vocab are sampled on the CPU
     out      [n_rows] the tokens; for a row that fails its negative status, and its chain stays as it was.
              logits->logprobs is host memory, and gets what samp_sample_batch would write there, bit for bit
     Returns  as samp_sample_batch. With these statuses nothing was done: SAMP_E_DTYPE (not the context's), SAMP_E_RANGE
              (more rows or a larger vocabulary than the context's; `out` on the device not aligned to 4 bytes),
              SAMP_E_ADDRESS (logits->data or `out` should be on the device and is not memory of it; see Checked).
              SAMP_E_DEVICE: a copy failed; no chain has moved on, unless the copy that failed was the last one, of
              `out` to the device. If only the copy of a row that goes to the CPU fails, that row gets the status.
     Checked  The address of an array on the device is checked by copying the first and the last byte that the batch can
              touch, from the lowest row to the highest one. (libgomp refuses to copy from host memory, from freed
              memory, or from beyond an allocation, and writes a line to stderr.) No copy is made if both bytes lie
              within one of the last four ranges that this context has checked, so a buffer at a fixed address costs two
              copies once. Not detected: memory that was freed after its range was checked, and holes in the middle of a
              range. A kernel that reads there ends the process.
     State    belongs to the chains; their copies on the device follow them. The same chain may be used on the CPU
              between batches, samp_state_save writes its current state, and a state that samp_state_load has read
              reaches the device with the next batch.
     Memory   none is allocated, except what samp_sample_batch takes for a chain that goes to the CPU, and a chain's
              first record for rollback. */
SAMP_API int samp_gpu_sample_batch(samp_gpu *gpu, samp_sampler *const *rows, const samp_logits *logits,
                                   samp_token *out);

/* samp_gpu_plan -- writes, as text, which sampler of a chain runs where, and why: "device: top-k -> temp; cpu (a
   sampler of your own): custom -> dist". The text does not consider how many logits are changed, whether
   log-probabilities are asked for, or whether the chain has an error; it names at most 64 samplers. Writes as snprintf
   does; returns the length of the whole text, or SAMP_E_NULL. */
SAMP_API int samp_gpu_plan(const samp_gpu *gpu, const samp_sampler *chain, char *buf, size_t size);

/* The data that a sampler of your own gets on a device, if its interface has apply_gpu: the remaining tokens, in device
   memory. apply_gpu may start a target region of its own (is_device_ptr). It must do what the sampler's apply does,
   whatever the order of the tokens. It is called if a sampler before it removes tokens, at most SAMP_GPU_LIST remain,
   and the whole chain can run on the device; otherwise apply is called, on the CPU. It returns a status. If the chain's
   last sampler leaves an id twice, or any sampler leaves an id that is not a token's, the row gets SAMP_E_RANGE. */
typedef struct samp_gpu_data {
    int32_t device;   /* OpenMP's device number; SAMP_GPU_HOST: the arrays are host memory */
    int32_t *ids;     /* [size] ids, each at most once */
    float *logits;    /* [size] logits; -INFINITY masks a token */
    float *probs;     /* [size] read only: p as the last sampler that sets p left it, or 0 */
    size_t size;      /* number of tokens, 1 .. SAMP_GPU_LIST; apply_gpu may lower it, which keeps the first ones */
    int64_t selected; /* -1; the chain's last sampler sets it to the index of its token; other samplers' values
                         are ignored */
    bool sorted;      /* false: the tokens are in no order */
} samp_gpu_data;

/* Counts of what a context has done. */
typedef struct samp_gpu_perf_data {
    uint64_t n_device;   /* rows whose token or status was computed on the device */
    uint64_t n_mixed;    /* rows that began on the device, and whose remaining tokens the CPU finished */
    uint64_t n_cpu;      /* rows sampled on the CPU */
    uint64_t n_declined; /* rows of n_cpu that the device gave up, so that they were fetched back */
    uint64_t n_launches; /* launches of kernels */
    uint64_t n_passes;   /* passes over rows */
    uint64_t n_kept;     /* rows whose chain was still on the device from an earlier batch */
    uint64_t n_copies;   /* copies between host and device, of any kind */
    uint64_t registered; /* bytes of host memory that the device uses directly; 0: none */
} samp_gpu_perf_data;

/* samp_gpu_perf -- returns the counts since the context was created. */
SAMP_API samp_gpu_perf_data samp_gpu_perf(const samp_gpu *gpu);
