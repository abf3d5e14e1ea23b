/* Made by `make headers` from the rooms in src/, where comments are longer: change those, not this file. */
/* sampling_gpu.h - the chains of sampling.h on a GPU: the same chains, the same tokens.        MIT license, see there.

   EXPERIMENTAL: its tokens are right on an NVIDIA H200, and it is slower there than it should be (bench/GPU.md).

   Logits that a model leaves in device memory become tokens without crossing to the host. In the one C or C++ file
   with the implementation, before any other #include of sampling.h:

       #define SAMPLING_IMPLEMENTATION
       #include "sampling_gpu.h"                        // brings sampling.h

   and built by gcc with its offloading compiler (Debian: gcc-offload-nvptx, or gcc-offload-amdgcn):

       gcc -O3 -fopenmp -foffload=nvptx-none -foffload-options=nvptx-none=-misa=sm_80 -foffload-options=-lm
           -ffp-contract=off -fno-pie -no-pie main.c -lm

       samp_gpu_config config = { 0, 64, 128256, SAMP_BF16, true, false, 0, false };
       samp_gpu *gpu = samp_gpu_init(&config, &status);
       status = samp_gpu_sample_batch(gpu, chains, &logits, tokens);        // chains [n_rows], as samp_sample_batch
       samp_gpu_free(gpu);

   Logits of a CUDA program can be used in place if libgomp works in CUDA's context, so that both use the same device
   addresses. libgomp opens a device once, when any thread first uses it, and takes the context that is current in that
   thread if it is one of that device. Otherwise it makes a context of its own, in which no pointer of CUDA's is valid.
   So call these before anything else of OpenMP uses the device, in the thread that makes the first call here:

       cudaSetDevice(config.device);                   // the device of that number
       cudaFree(0);                                    // makes its context, and makes it current in this thread
       samp_gpu *gpu = samp_gpu_init(&config, &status);

   Other threads get libgomp's context if they have none. A thread that has another context of that device current works
   in that one, so such a thread must call cudaSetDevice too, and must not make further contexts. CUDA's context must
   exist as long as libgomp is used (no cudaDeviceReset).

   Order of streams. The logits must be complete before the call: use cudaStreamSynchronize or cudaEventSynchronize, in
   any thread. When the call returns, the tokens are on the host (or in `out`), and the logits may be overwritten.
   samp_gpu_config has no stream, because libgomp lets a program set none: its plugin launches a target region on the
   default stream of the context (the NULL stream), waits with cuCtxSynchronize, and copies with cuMemcpy, on that
   stream too. `omp interop`, which could pass a stream, is not in gcc 12, and OpenACC's acc_set_cuda_stream is for
   OpenACC's own regions. A program that relies on this plugin can conclude: work on streams made without
   cudaStreamNonBlocking comes before the kernels by itself. Work on another stream can be put before them without
   blocking the host, by cudaEventRecord in it and cudaStreamWaitEvent of the default stream. And since a launch waits
   for the whole context, running work of its other streams delays the call.

   Clang, or gcc without -fopenmp, compiles this file too: samp_gpu_available() is then 0, and the same calls sample on
   the CPU. cl.exe does not compile it.

   HOW A TOKEN COMES ABOUT

       host     chain -> steps: parameters, state, changed logits        sent if the device does not have them  >>host
       device   scan      logits -> maxima of cells, NaN found                                                 >>passes
                advance   one sampler after the other, with what the passes have found                         >>steps
                  walk    if a sampler needs a sum or tokens of the row: all teams read it again
                  list    at most SAMP_GPU_LIST tokens remain: one team does the rest                          >>list
       host     tokens and new state                                     one copy from the device per batch

   Search for the tags:
       >>api                                                what a program uses; read no further if that is enough
       >>switches  >>records                                macros for the device's compiler, structs in its memory
       >>ptx                                                what is said in PTX, and its meaning in C
       >>elements  >>passes  >>list  >>steps                one element, a whole row, a list, a sampler
       >>host                                               the code that sends, launches and reads back

   Several teams work on a row. (A team of OpenMP is a thread block; here it has one warp.) They share the row's groups
   of 1024 elements. A pass is one run of all teams of a row over their groups. The team that finishes a pass last adds
   the results up, and advances the chain as far as it gets without the next pass. The row itself is never written: the
   samplers' changes of it are kept as a list of operations, which a pass applies to each element it reads. Logits that
   penalties, dry or logit_bias change are taken out of the row and kept beside it.

   Chains stay on the device, which updates their state as the host does (the position, mirostat's mu, adaptive_p's
   averages, penalties' window). So nothing is sent for a chain that is at the same place in the next batch, with the
   same n_vocab and n_top. It is sent again if it was changed in between (samp_chain_update, samp_state_load,
   samp_reset, samp_sample ...), or if it has dry, top_p with a decay, several samplers that change single logits,
   tokens beyond n_vocab or windows of more than 1024 in these, or a sampler of your own, or is part of another chain.
   The host's chain is always up to date.

   Log-probabilities are two more steps: one before all samplers, for the row as given, and one after the choice. The
   device computes maximum, sum, the first tokens and ranks; the host computes the numbers from these, as
   samp_sample_batch does.

   Between passes the teams of a row wait for each other, at most as many teams as ran at once when the context was
   made. They wait a bounded time; another launch does what is then left undone, and in later batches they wait half
   that time. On a device that does not run teams at once, each pass is a launch. With more rows than teams, a row has
   one team, which does not wait. No thread of the host is needed between the passes of a launch.

   THE SAME TOKENS. Weights, sums, cuts and draws are the integers of sampling.h (DETERMINISM there): the sums don't
   depend on the order of atomics, and the functions are the same source. Compile with -ffp-contract=off. (NVIDIA's
   assembler fuses products with sums in any case; the few sums of products here are written as an fma, which it leaves
   unchanged.)

   WHAT RUNS WHERE. All built-in samplers run on the device, except infill, which reads tokens' texts, xtc with
   exempt tokens, ras, replay, and constraints other than top_p_decay. A chain goes to the CPU, and only that chain of
   its batch, if
     - its random source is SAMP_RNG_MT19937;
     - it has more than 24 active samplers (22 if log-probabilities are asked for) and no sampler of your own among
       them, or more than 1024 changes of single logits, those of each sampler counted;
     - log-probabilities are asked for, and it has a sampler of your own, or samp_gpu_config.max_top_logprobs is too
       small;
     - one of these meets more than SAMP_GPU_LIST tokens (known only then: the row is fetched and sampled on the CPU):
       tail_free; xtc with a threshold of 0.001 or less, or of which thousands of tokens reach that share of the largest
       p; mirostat with m above 2048 or above a 50th of the row, or with thousands of equal logits, or after samplers
       that leave more; a sampler of your own after samplers that leave more; typical with thousands of equal scores;
       min_p, top_a, p_less, p_less_norm, epsilon or eta with a min_keep of thousands; p_less and p_less_norm, of
       tokens within 14 nats of the maximum; top_h and min_k before they have found how many to keep;
     - a sampler of your own, or one without a step on the device, comes before any that removes tokens.
   A sampler of your own after a top_k, top_p, min_p or typical gets the remaining tokens, exactly the array that
   samp_apply would have given it (but `sorted` refers to these alone, and a zero has no sign), and the rest of the
   chain runs on the CPU over them; or it runs on the device itself, see samp_gpu_data. samp_gpu_plan says which. A
   grammar in a chain is such a sampler. Used as samp_logits.mask (samp_grammar_mask) instead, before a chain without
   it, it gives the same tokens, and the chain stays on the device.

   MACROS (where the implementation is)
       SAMP_GPU_LIST     the most tokens of a list, which one team finishes alone: a power of two >= 32, by default
                         4096. Each takes 60 bytes per row, 68 with log-probabilities.
       SAMP_GPU_WAIT     how often a team looks whether the others are done before it stops waiting; 20000

   ERRORS are statuses. libgomp does not let a program catch some: a kernel that fails, or a device that is lost, ends
   the process with libgomp's message. Memory that is not available, a device that does not exist, and a copy that fails
   do not end it.

   THREADS. Different contexts may be used by different threads at once (libgomp runs one kernel at a time); one context
   by one thread at a time. With OpenMP there are four globals more than in sampling.h: the device that the kernels are
   bound to, what they are bound to, and a probe's counters, which are written in a critical section; and the verdict on
   each device (see samp_gpu_init), an atomic: if two threads make the first two contexts, both may try the device. */
/* The rooms of src/, and the line where each begins:

       2 gpu/opening.h                    2908 gpu/prefix.h                     5325 gpu/device.h
     152 gpu/api.h                        3248 gpu/choosing.h                   5586 gpu/contexts.h
     304 gpu/switches.h                   3336 gpu/ending.h                     5754 gpu/steps.h
     370 gpu/records.h                    3486 gpu/answers.h                    5844 gpu/where.h
     645 gpu/ptx.h                        4189 samplers/plans.h                 6009 gpu/sending.h
     816 gpu/elements.h                   4451 gpu/users.h                      6277 gpu/batch.h
    1087 gpu/passes.h                     4547 gpu/logprobs.h                   6589 gpu/results.h
    1996 gpu/list.h                       4699 gpu/short.h                      6872 gpu/canary.h
    2584 gpu/left.h                       4843 gpu/advance.h
    2785 gpu/done.h                       5107 gpu/shapes.h
*/
#if defined(SAMPLING_STATIC) && !defined(SAMPLING_IMPLEMENTATION)
#include "sampling.h" /* for its types; static functions are declared where their bodies follow */
#elif !defined(SAMPLING_GPU_H)
#define SAMPLING_GPU_H

#if defined(SAMPLING_IMPLEMENTATION) && defined(SAMPI_ONCE)
#error "sampling_gpu.h: in the file with the implementation include it before sampling.h"
#endif
#include "sampling.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- src/gpu/api.h ---- */
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

#ifdef __cplusplus
}
#endif
#endif /* SAMPLING_GPU_H */

/* ------------------------------------------------ Stop here if you only want to use the library. */

#if defined(SAMPLING_IMPLEMENTATION) && !defined(SAMPI_GPU_ONCE)
#define SAMPI_GPU_ONCE
#ifndef SAMPI_ONCE
#error "sampling_gpu.h: include it with SAMPLING_IMPLEMENTATION the first time"
#endif
#ifdef __GNUC__
#pragma GCC diagnostic push /* as in sampling.h */
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

/* ---- src/gpu/switches.h ---- */
/* ================================================================================================== >>switches
  The compiler's abilities, and the sizes that host and device agree on. */

#if defined(_OPENMP) && defined(__GNUC__) && (!defined(__clang__) || defined(SAMPI_OFFLOAD_CLANG))
#define SAMPI_OFFLOAD 1
#include <omp.h>
#else
#define SAMPI_OFFLOAD 0
#endif

/* A team of OpenMP is a thread block of one warp. */
#define SAMPI_WARP  32
#define SAMPI_LANES for (int lane = 0; lane < SAMPI_WARP; lane++)
#if SAMPI_OFFLOAD
#define SAMPI_PRAGMA(...) _Pragma(#__VA_ARGS__)
#if defined(__clang__)
#define SAMPI_SIMD(...)
#define SAMPI_IN_TEAMS(device_, n_teams_) \
    SAMPI_PRAGMA(omp target device(device_)) \
    SAMPI_PRAGMA(omp teams num_teams(n_teams_) thread_limit(1))
#define SAMPI_IN_ONE_TEAM(device_, a, b) \
    SAMPI_PRAGMA(omp target is_device_ptr(a, b) device(device_)) \
    SAMPI_PRAGMA(omp teams num_teams(1) thread_limit(1))
#else
#define SAMPI_SIMD(...) SAMPI_PRAGMA(omp simd __VA_ARGS__)
#define SAMPI_IN_TEAMS(device_, n_teams_) \
    SAMPI_PRAGMA(omp target thread_limit(1) device(device_)) \
    SAMPI_PRAGMA(omp teams num_teams(n_teams_))
#define SAMPI_IN_ONE_TEAM(device_, a, b) \
    SAMPI_PRAGMA(omp target is_device_ptr(a, b) thread_limit(1) device(device_)) \
    SAMPI_PRAGMA(omp teams num_teams(1))
#endif
#define SAMPI_UNROLL(n) SAMPI_PRAGMA(GCC unroll n)
/* Makes the compiler read a whole array before it uses the first element. */
#define SAMPI_AT_ONCE(n, x) SAMPI_UNROLL(n) for (int i_ = 0; i_ < (n); i_++) __asm__ volatile("" : "+r"((x)[i_]))
#else
#define SAMPI_SIMD(...)
#define SAMPI_UNROLL(n)
#define SAMPI_AT_ONCE(n, x)
#endif

/* A function that the compiler neither inlines nor copies for calls with constants. */
#if SAMPI_GNU && !defined(__clang__)
#define SAMPI_UNCLONED __attribute__((noinline, noclone))
#else
#define SAMPI_UNCLONED SAMPI_CALLED
#endif

#ifndef SAMPI_TEAMS
#define SAMPI_TEAMS 1024 /* most teams of a launch; more cost libgomp an allocation per launch */
#endif
/* Numbers of teams that a launch may have, beside SAMPI_TEAMS: one per multiprocessor, for one row; two, for few. */
#define SAMPI_ROWS_FEW  8
#define SAMPI_TEAMS_ONE (SAMPI_TEAMS < 128 ? SAMPI_TEAMS : 128)
#define SAMPI_TEAMS_FEW (SAMPI_TEAMS < 264 ? SAMPI_TEAMS : 264)
#define SAMPI_GROUP   1024                                            /* elements: 32 of each lane, its "cell" */
#define SAMPI_STEPS   24                                              /* most samplers of a chain */
#define SAMPI_RULES   1024                                            /* most changed logits of a row */
#define SAMPI_BUCKETS 1024                                            /* buckets of a histogram of a row */
#define SAMPI_GROUPS_MANY 3 /* from so many groups on a team sums a histogram in its own memory */
#define SAMPI_FINE    512                                             /* buckets of a part of a row */
#define SAMPI_HEAD    (SAMP_GPU_LIST < 512 ? SAMP_GPU_LIST / 2 : 256) /* tokens of the list made with sums */
#define SAMPI_WIDE    (SAMP_GPU_LIST > SAMPI_GROUP ? SAMP_GPU_LIST : SAMPI_GROUP)
SAMPI_STATIC_ASSERT(SAMP_GPU_LIST >= 32 && (SAMP_GPU_LIST & (SAMP_GPU_LIST - 1)) == 0, "SAMP_GPU_LIST: a power of 2");

/* ---- src/gpu/records.h ---- */
/* ================================================================================================== >>records
  The structs in device memory, which host and device both read; the room has no functions. */

/* Kinds of steps that are not samplers; a sampler's step has the sampler's kind. */
enum {
    SAMPI_GPU_USER = SAMPI_N_KINDS, /* a sampler of the user's: the row stops, and the host calls it */
    SAMPI_GPU_EXPORT,               /* sends the remaining tokens to the host */
    SAMPI_GPU_RAW,                  /* first step if log-probabilities are asked for: those of the row as
                                       given */
    SAMPI_GPU_LOGPROBS              /* last step then: those after the chain, and the chosen token's ranks */
};

/* A sampler as a step of a job, for the sampler's plan (its questions about the row), which reads kind, now and u as it
   would in a sampi_sampler. u has that sampler's numbers, byte for byte (sampi_gpu_copy_numbers). */
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

/* A chain. */
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

/* Kinds of operations. */
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

/* One token of a list. */
typedef struct sampi_gpu_item {
    uint64_t key;
    float at_order, at_p;
} sampi_gpu_item;

/* The passes, by what they find. */
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

/* A search for the last token of a prefix: see sampi_gpu_require_prefix. */
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

/* The state of a row: how far its chain has been run. */
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

/* What the device returns for a row. */
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

/* One team's result of a pass; which sums it has depends on the pass. */
typedef struct sampi_gpu_part {
    uint64_t sum[4];
    float max, low;
} sampi_gpu_part;

/* A token whose logit a rule changes: its logit now, and the logits at_order and at_p of sampi_gpu_item. */
typedef struct sampi_gpu_changed {
    float l, at_order, at_p;
} sampi_gpu_changed;

/* A batch, and the addresses of everything. */
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

/* ---- src/gpu/ptx.h ---- */
/* ====================================================================================================== >>ptx
  What the kernels say in PTX, because gcc's OpenMP has no word for it: a fence of the device alone, a load that
     acquires, a team's own memory, a barrier of a warp, the number of a lane, and a lane's value read by another. */

#if SAMPI_OFFLOAD && !defined(__clang__) && defined(__OPTIMIZE__)
#define SAMPI_ON_NVIDIA __builtin_acc_on_device(5) /* GOMP_DEVICE_NVIDIA_PTX */
#define SAMPI_PTX(...)  __asm__ volatile(__VA_ARGS__)
#define SAMPI_PURE(...) __asm__(__VA_ARGS__) /* for what only computes a value */
#else
#define SAMPI_ON_NVIDIA 0
#define SAMPI_PTX(...)  (void)0
#define SAMPI_PURE(...) (void)0
#endif

/* Orders the warp's reads and writes before it and those behind it, as other teams (thread blocks) of the device see
   them. gcc's fence is one of the whole system, which takes longer. */
static void sampi_gpu_fence(void)
{
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("bar.warp.sync 0xffffffff;\n\tfence.acq_rel.gpu;" ::: "memory");
    else
        __atomic_thread_fence(__ATOMIC_ACQ_REL);
}

/* Returns a counter that teams share. */
static uint32_t sampi_gpu_look(uint32_t *x)
{
    uint32_t value = 0;
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("ld.acquire.gpu.u32 %0, [%1];\n\tshfl.sync.idx.b32 %0, %0, 0, 31, 0xffffffff;\n\t"
                  "bar.warp.sync 0xffffffff;"
                  : "=r"(value)
                  : "r"(x)
                  : "memory");
    else
        value = __atomic_load_n(x, __ATOMIC_ACQUIRE);
    return value;
}

/* The same without acquiring, for a loop that waits: the other warps of the multiprocessor keep their cache. */
static uint32_t sampi_gpu_peek(uint32_t *x)
{
    uint32_t value = 0;
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("ld.relaxed.gpu.u32 %0, [%1];\n\tshfl.sync.idx.b32 %0, %0, 0, 31, 0xffffffff;"
                  : "=r"(value)
                  : "r"(x)
                  : "memory");
    else
        value = __atomic_load_n(x, __ATOMIC_RELAXED);
    return value;
}

/* Returns 8 KB of memory of the team alone, on its multiprocessor, where its atomics are faster than in the memory that
   teams share. */
static SAMPI_UNCLONED uint32_t *sampi_gpu_near(void)
{
    uint64_t at = 0;
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("{ .shared .align 16 .b8 sampi_near[8192];\n\tcvta.shared.u64 %0, sampi_near; }" : "=r"(at));
    return (uint32_t *)(uintptr_t)at;
}

/* Adds to a word of that memory; returns its old value. gcc's own atomic would pass the value on between lanes, for
   which all of them must be there. */
SAMPI_INLINE uint32_t sampi_gpu_near_add(uint32_t *x, uint32_t y)
{
    uint32_t old = 0;
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("atom.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(x), "r"(y) : "memory");
    else
        old = __atomic_fetch_add(x, y, __ATOMIC_RELAXED);
    return old;
}

/* The same without the old value, for a y that is often 0. */
SAMPI_INLINE void sampi_gpu_near_add_some(uint32_t *x, uint32_t y)
{
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("{ .reg .pred %%some;\n\tsetp.ne.u32 %%some, %1, 0;\n\t"
                  "@%%some atom.add.u32 _, [%0], %1; }" ::"r"(x),
                  "r"(y)
                  : "memory");
    else
        __atomic_fetch_add(x, y, __ATOMIC_RELAXED);
}

/* A barrier of the warp's lanes: what any of them has read or written before comes first. In C: nothing. */
SAMPI_INLINE void sampi_gpu_join_lanes(void)
{
    if (SAMPI_ON_NVIDIA) SAMPI_PTX("bar.warp.sync 0xffffffff;" ::: "memory");
}

/* Returns the number of the lane that runs this. In C there is one lane. */
SAMPI_INLINE uint32_t sampi_gpu_lane(void)
{
    uint32_t lane = 0;
    if (SAMPI_ON_NVIDIA) SAMPI_PTX("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

/* Returns the number of lanes that run this, alike and at once. In C there is one lane. */
SAMPI_INLINE uint32_t sampi_gpu_lanes(void) { return SAMPI_ON_NVIDIA ? SAMPI_WARP : 1; }

/* Returns a bit for each lane: whether its x is true. In C there is one lane. */
SAMPI_INLINE uint32_t sampi_gpu_vote(bool x)
{
    uint32_t bits = x;
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("{ .reg .pred %%yes;\n\tsetp.ne.u32 %%yes, %0, 0;\n\t"
                  "vote.sync.ballot.b32 %0, %%yes, 0xffffffff; }"
                  : "+r"(bits));
    return bits;
}

/* Returns the x of lane `from`. In C there is one lane, whose own it is. */
SAMPI_INLINE uint64_t sampi_gpu_of_lane(uint64_t x, uint32_t from)
{
    uint32_t low = (uint32_t)x, high = (uint32_t)(x >> 32);
    (void)from;
    if (SAMPI_ON_NVIDIA) {
        SAMPI_PTX("shfl.sync.idx.b32 %0, %0, %1, 31, 0xffffffff;" : "+r"(low) : "r"(from));
        SAMPI_PTX("shfl.sync.idx.b32 %0, %0, %1, 31, 0xffffffff;" : "+r"(high) : "r"(from));
    }
    return (uint64_t)high << 32 | low;
}

/* Makes the driver's compiler load what x was read from, although nothing else uses it: it drops such loads. */
SAMPI_INLINE void sampi_gpu_use(uint32_t x)
{
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("{ .reg .pred %%seldom;\n\tsetp.eq.u32 %%seldom, %0, 0x9E3779B9;\n\t"
                  "@%%seldom fence.acq_rel.gpu; }" ::"r"(x)
                  : "memory");
    (void)x;
}

/* Functions of two numbers that return one of them, in one instruction: the larger number, or NaN if one of them is;
   the smaller and the larger of two that are not NaN. */
#define SAMPI_PICK(name, type, first, instruction) \
    SAMPI_INLINE type name(type x, type y) \
    { \
        type z = (first) ? x : y; \
        if (SAMPI_ON_NVIDIA) SAMPI_PURE(instruction " %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y)); \
        return z; \
    }
SAMPI_PICK(sampi_gpu_larger, float, x > y || x != x, "max.NaN.f32")
SAMPI_PICK(sampi_gpu_minf, float, x < y, "min.f32")
SAMPI_PICK(sampi_gpu_maxf, float, x > y, "max.f32")
SAMPI_PICK(sampi_gpu_min, double, x < y, "min.f64")
SAMPI_PICK(sampi_gpu_max, double, x > y, "max.f64")
#undef SAMPI_PICK

/* Returns x, which was made of an integer's bits, as sampi_gpu_larger takes it: gcc may have it in a register for
   integers. */
SAMPI_INLINE float sampi_gpu_typed(float x)
{
    if (SAMPI_ON_NVIDIA) SAMPI_PURE("mov.b32 %0, %1;" : "=r"(x) : "r"(x));
    return x;
}

/* Returns the number of bits that are set. */
SAMPI_INLINE uint32_t sampi_gpu_count_bits(uint32_t x)
{
    uint32_t n = 0;
    if (SAMPI_ON_NVIDIA || !SAMPI_OFFLOAD) return (uint32_t)__builtin_popcount(x);
    for (int i = 0; i < 32; i++) n += x >> i & 1;
    return n;
}

/* ---- src/gpu/elements.h ---- */
/* ================================================================================================== >>elements
  One logit, one key, one operation. */

/* Adds to a counter that teams share; returns its old value. */
static uint32_t sampi_gpu_add(uint32_t *x, uint32_t y) { return __atomic_fetch_add(x, y, __ATOMIC_RELAXED); }
/* Whether all n teams have arrived, and no other team has seen that before: then the counter is 0 again. */
static bool sampi_gpu_claim(uint32_t *arrived, uint32_t n)
{
    return __atomic_compare_exchange_n(arrived, &n, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
/* A barrier of the lanes of a warp (gpu/list.h says where one is needed): gcc puts a barrier behind each atomic outside
   of a simd loop. */
SAMPI_INLINE void sampi_gpu_meet(sampi_gpu_state *st) { (void)sampi_gpu_add(&st->met, 0); }

/* Returns a token's key, its logit and id in 64 bits. */
static uint64_t sampi_gpu_key(float l, uint32_t id)
{
    return (uint64_t)((uint32_t)sampi_key(l) ^ 0x80000000u) << 32 | (uint32_t)~id;
}
static float sampi_gpu_logit(uint64_t key) { return sampi_unkey((int32_t)((uint32_t)(key >> 32) ^ 0x80000000u)); }
static uint32_t sampi_gpu_id(uint64_t key) { return ~(uint32_t)key; }
/* Returns the smallest key (logit above id, in 64 bits) with that logit: the largest id has the smallest key. */
static uint64_t sampi_gpu_floor(float l) { return sampi_gpu_key(l, 0xFFFFFFFFu); }

/* Returns the smaller index. */
SAMPI_INLINE uint32_t sampi_gpu_min_of(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Returns all bits set if x, else 0. */
SAMPI_INLINE uint64_t sampi_gpu_mask(bool x) { return 0 - (uint64_t)x; }

/* Returns the sum of the x of this lane and those before it. In C there is one lane. */
SAMPI_INLINE uint64_t sampi_gpu_running_sum(uint64_t x)
{
    const uint32_t lane = sampi_gpu_lane(), lanes = sampi_gpu_lanes();
    SAMPI_UNROLL(5)
    for (uint32_t k = 1; k < lanes; k *= 2)
        x += sampi_gpu_of_lane(x, (lane - k) % SAMPI_WARP) & sampi_gpu_mask(lane >= k);
    return x;
}

/* A row to read from. Nothing in it changes during a pass. */
typedef struct sampi_gpu_view {
    const char *data;
    const uint32_t *mask, *hole; /* bits of masked and of changed tokens; NULL if there are none */
    uint32_t n;
    int32_t type;
    bool pairs;
} sampi_gpu_view;

/* Returns a row's job, its chain on the device. */
static sampi_gpu_job *sampi_gpu_job_of(const sampi_gpu_args *a, size_t row)
{
    return (sampi_gpu_job *)(void *)(a->job + row * a->job_size);
}

/* Returns the ids, ascending, whose logits logit_bias, penalties or dry change in the row. */
static const int32_t *sampi_gpu_ids(const sampi_gpu_args *a, size_t row)
{
    const sampi_gpu_job *job = sampi_gpu_job_of(a, row);
    return job->side == SAMPI_GPU_SENT ? a->id + job->id : a->kept_id + (2 * row + job->side) * SAMPI_RULES;
}

/* Returns the view of a row. */
static sampi_gpu_view sampi_gpu_view_of(const sampi_gpu_args *a, size_t row)
{
    const size_t size = a->type == SAMP_F64 ? 8 : a->type == SAMP_F32 ? 4 : 2;
    sampi_gpu_view v;
    v.data = a->data + a->place[row].data_row * a->stride * size;
    v.mask = a->mask ? a->mask + row * a->mask_stride : NULL;
    v.hole = sampi_gpu_job_of(a, row)->n_ids ? a->hole + row * a->groups * SAMPI_WARP : NULL;
    v.n = a->n_vocab;
    v.type = a->type;
    v.pairs = a->pairs;
    return v;
}

/* Returns the index in its group of element t of a lane's cell (its 32 elements of a group of 1024). 16-bit elements
   are read as words of two, so a lane's elements are pairs of neighbours. */
SAMPI_INLINE uint32_t sampi_gpu_index(bool pairs, int lane, int t)
{
    return pairs ? (uint32_t)((t >> 1) * 64 + 2 * lane + (t & 1)) : (uint32_t)(t * SAMPI_WARP + lane);
}
/* Returns whether a group of 1024 elements is read in pairs. */
SAMPI_INLINE bool sampi_gpu_paired(const sampi_gpu_view *v, uint32_t group)
{
    return v->pairs && (group + 1) * SAMPI_GROUP <= v->n;
}

/* Returns an f16 or bf16 as f32. The type is the same for a whole launch, so the branch never diverges. */
SAMPI_INLINE float sampi_gpu_half(uint32_t h, int32_t type)
{
    return type == SAMP_F16 ? sampi_f16_to_f32((uint16_t)h) : sampi_bf16_to_f32((uint16_t)h);
}

/* The index of element i of a lane's 32 elements, `apart` elements from each other; or, with pairs, of pairs of
   neighbours. */
#define SAMPI_PLACE(pairs, apart) ((pairs) ? sampi_gpu_index(true, lane, i) : (uint32_t)i * (apart) + (uint32_t)lane)

/* Reads n elements of a lane into x: the first at base + lane, the others `apart` elements from each other. n is a
   constant, at most 32. */
SAMPI_INLINE void sampi_gpu_read_each(const sampi_gpu_view *v, uint32_t base, uint32_t apart, bool paired, int n,
                                      int lane, float *x)
{
    const uint32_t last = v->n - 1;
    const bool full = base + (uint32_t)(n - 1) * apart + SAMPI_WARP <= v->n, pairs = paired && full;
    /* a load past the end reads the last element instead: a load behind a branch would not be issued with the others */
#define SAMPI_EACH          SAMPI_UNROLL(32) for (int i = 0; i < n; i++)
#define SAMPI_AT            (base + SAMPI_PLACE(pairs, apart))
#define SAMPI_CLAMPED(type) ((const type *)(const void *)v->data)[SAMPI_AT < last ? SAMPI_AT : last]
    if (v->type == SAMP_F32 && full) {
        const float *p = (const float *)(const void *)v->data + base + (uint32_t)lane;
        SAMPI_EACH x[i] = p[(uint32_t)i * apart];
    } else if (v->type == SAMP_F32) {
        SAMPI_EACH x[i] = SAMPI_CLAMPED(float);
    } else if (v->type == SAMP_F64) {
        SAMPI_EACH x[i] = (float)SAMPI_CLAMPED(double);
    } else {
        uint32_t u[32];
        if (pairs) {
            const uint32_t *p = (const uint32_t *)(const void *)v->data + base / 2 + (uint32_t)lane;
            /* all words are read first, and then divided into halves */
            SAMPI_UNROLL(16) for (int i = 0; i < n / 2; i++) u[2 * i] = p[i * SAMPI_WARP];
            SAMPI_UNROLL(16) for (int i = 0; i < n / 2; i++) u[2 * i + 1] = u[2 * i] >> 16, u[2 * i] &= 0xFFFF;
        } else {
            SAMPI_EACH u[i] = SAMPI_CLAMPED(uint16_t);
        }
        if (v->type == SAMP_F16) {
            SAMPI_EACH x[i] = sampi_gpu_half(u[i], SAMP_F16);
        } else {
            SAMPI_EACH x[i] = sampi_gpu_half(u[i], SAMP_BF16);
        }
    }
    /* masks and holes come after the reads, which are in flight meanwhile */
    if (v->mask) {
        SAMPI_EACH x[i] = v->mask[(SAMPI_AT < last ? SAMPI_AT : last) / 32] >> SAMPI_AT % 32 & 1 ? x[i] : -INFINITY;
    }
    if (v->hole) {
        SAMPI_EACH x[i] = v->hole[(SAMPI_AT < last ? SAMPI_AT : last) / 32] >> SAMPI_AT % 32 & 1 ? -INFINITY : x[i];
    }
    if (!full) {
        SAMPI_EACH x[i] = SAMPI_AT > last ? -INFINITY : x[i];
    }
#undef SAMPI_EACH
#undef SAMPI_AT
#undef SAMPI_CLAMPED
}

/* Reads a lane's 32 elements of a group (a cell) into x. */
SAMPI_INLINE void sampi_gpu_read(const sampi_gpu_view *v, uint32_t group, int lane, float *x)
{
    sampi_gpu_read_each(v, group * SAMPI_GROUP, SAMPI_WARP, v->pairs, 32, lane, x);
}

/* Returns one element, or -inf if it is masked. */
static float sampi_gpu_element(const sampi_gpu_view *v, uint32_t i)
{
    return sampi_element(v->data, (samp_dtype)v->type, v->mask, i);
}

/* Returns a token's code: its place in an order as an integer; a smaller code comes earlier. */
static uint64_t sampi_gpu_code(bool by_score, uint64_t key, float max, double mean)
{
    return by_score ? sampi_bits(fabs(((double)max - (double)sampi_gpu_logit(key)) - mean)) : ~key;
}

/* Returns the bucket of a code in [lo, hi]. */
#define SAMPI_EVEN 64

/* Returns the place of a distance of x / 64 nats among the even buckets. */
SAMPI_INLINE double sampi_gpu_even(double x)
{
    return sampi_gpu_min(x, fma(x, 0.25, 576.0)); /* the two are the same at x = 768 */
}

SAMPI_INLINE uint32_t sampi_gpu_bucket(const sampi_gpu_search *search, float max, uint64_t code)
{
    if (search->shift < SAMPI_EVEN)
        return sampi_gpu_min_of((uint32_t)((code - search->lo) >> search->shift), SAMPI_FINE - 1);
    /* both are distances in nats: a score from 0, a logit from the maximum */
    const double score = sampi_from_bits(code), distance = (double)max - (double)sampi_gpu_logit(~code);
    const double x = sampi_gpu_even(64.0 * (search->by_score ? score : distance));
    return x < SAMPI_BUCKETS ? sampi_gpu_min_of((uint32_t)(int32_t)x, SAMPI_BUCKETS - 1) : SAMPI_BUCKETS - 1;
}

/* Returns a logit after adaptive_p's map, which favours tokens near a target probability: its probability by the
   maximum and the sum z of weights, then the map as on the CPU. */
static float sampi_gpu_adapt(float l, float max, uint64_t z, float aim)
{
    return sampi_adaptive_p_logit((float)(sampi_exp(max, l) / (double)z), aim);
}

/* Returns an operation that needs no more than a factor or a key. */
SAMPI_INLINE sampi_gpu_op sampi_gpu_op_of(int64_t kind, float f, uint64_t k)
{
    const sampi_gpu_op op = { kind, f, 0.0f, k, 0, 0.0 };
    return op;
}

/* Whether the operation removes tokens; otherwise it changes logits. */
static bool sampi_gpu_removing(const sampi_gpu_op *o) { return o->kind >= SAMPI_OP_FROM; }

/* Returns a logit after an operation that changes all logits. A masked token stays masked. */
static float sampi_gpu_change(const sampi_gpu_op *o, float l)
{
    if (!(l >= -FLT_MAX)) return l;
    if (o->kind == SAMPI_OP_SCALE) return sampi_finite(sampi_roundf(l * o->f));
    if (o->kind == SAMPI_OP_SHIFT) return sampi_log_softmaxed(o->mean, l);
    if (o->kind == SAMPI_OP_BEND) return sampi_smoothed((double)o->max, (double)o->f, o->mean, l);
    return sampi_gpu_adapt(l, o->max, o->t, o->f);
}

/* Whether the operation keeps the order: a larger logit stays at least as large as a smaller one. */
static bool sampi_gpu_keeps_order(const sampi_gpu_op *o)
{
    return o->kind == SAMPI_OP_SCALE || o->kind == SAMPI_OP_SHIFT || (o->kind == SAMPI_OP_BEND && o->mean <= 1.0);
}

/* Whether an operation that removes tokens keeps this token. replay asks it for a token of the row, list_keep for a
   token of the list, so both agree. */
SAMPI_INLINE bool sampi_gpu_stays(const sampi_gpu_op *o, uint64_t key)
{
    if (o->kind == SAMPI_OP_FROM) return key >= o->k;
    if (o->kind == SAMPI_OP_UNTIL) return key <= o->k;
    /* SCORE: the score that the token had when typical ran */
    uint64_t code = sampi_gpu_code(true, key, o->max, o->mean);
    return code < o->t || (code == o->t && key >= o->k);
}

/* Returns a logit after n operations; -inf if one of them removes the token. */
static float sampi_gpu_replay(const sampi_gpu_op *op, uint32_t n, uint32_t id, float l)
{
    l += 0.0f; /* -0 becomes +0 */
    /* operations are repeated in the order of the samplers; a removed token stays removed */
    for (uint32_t i = 0; i < n && l >= -FLT_MAX; i++) {
        const sampi_gpu_op *o = &op[i];
        if (!sampi_gpu_removing(o))
            l = sampi_gpu_change(o, l);
        else if (!sampi_gpu_stays(o, sampi_gpu_key(l, id)))
            l = -INFINITY;
    }
    return l;
}

/* Returns a bound on logits after n operations. */
static float sampi_gpu_rescale(const sampi_gpu_op *op, uint32_t n, float l)
{
    for (uint32_t i = 0; i < n; i++)
        if (sampi_gpu_keeps_order(&op[i]))
            l = sampi_gpu_change(&op[i], op[i].kind == SAMPI_OP_BEND && l > op[i].max ? op[i].max : l);
        else if (!sampi_gpu_removing(&op[i]) && l >= -FLT_MAX)
            l = FLT_MAX;
    return l;
}

/* Returns one of a row's two lists of remaining tokens. list_keep reads one and writes the other. */
static sampi_gpu_item *sampi_gpu_items(const sampi_gpu_args *a, size_t row, uint32_t buffer)
{
    return a->item + (row * 2 + buffer) * SAMP_GPU_LIST;
}

/* Adds a token to a row's list. */
SAMPI_INLINE void sampi_gpu_append(uint32_t *n_list, sampi_gpu_item *item, uint64_t key, float at_order, float at_p)
{
    uint32_t i = __atomic_fetch_add(n_list, 1, __ATOMIC_RELAXED);
    if (i >= SAMP_GPU_LIST) return;
    item[i].key = key;
    item[i].at_order = at_order;
    item[i].at_p = at_p;
}

/* ---- src/gpu/passes.h ---- */
/* ==================================================================================================== >>passes
  The passes: what all teams (thread blocks) of a row do at once, each with its own groups of 1024 tokens. */

/* Returns the first group (1024 elements) of a team's share of a row. */
static uint32_t sampi_gpu_first(const sampi_gpu_args *a, uint32_t split)
{
    return (uint32_t)((uint64_t)a->groups * split / a->splits);
}

/* Takes the tokens of these groups whose logits rules change out of the row, by setting one bit for each. */
static void sampi_gpu_make_holes(const sampi_gpu_args *a, size_t row, uint32_t first, uint32_t end)
{
    const int32_t *id = sampi_gpu_ids(a, row);
    const uint32_t n = sampi_gpu_job_of(a, row)->n_ids;
    uint32_t *hole = a->hole + row * a->groups * SAMPI_WARP;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        uint32_t at = (uint32_t)id[i];
        if (at >= first * SAMPI_GROUP && at < end * SAMPI_GROUP)
            __atomic_fetch_or(&hole[at / 32], 1u << at % 32, __ATOMIC_RELAXED);
    }
}

/* SCAN, the first pass, computes maxima of cells (32 elements of a lane), of lanes and of the team's share, which is
   NaN if any element is. */
static void sampi_gpu_scan(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const uint32_t first = sampi_gpu_first(a, split), end = sampi_gpu_first(a, split + 1);
    float *cell = a->cell + row * a->groups * SAMPI_WARP;
    float *lane_max = a->lane_max + (row * a->splits + split) * SAMPI_WARP;
    if (sampi_gpu_job_of(a, row)->n_ids) sampi_gpu_make_holes(a, row, first, end);
    const sampi_gpu_view v = sampi_gpu_view_of(a, row);
    float top = -INFINITY;
    uint32_t nan = 0;
    SAMPI_SIMD(reduction(max : top) reduction(| : nan))
    SAMPI_LANES
    {
        float best = -INFINITY;
        uint32_t group = first;
        /* nearly all rows are 16-bit without masks or holes: of these twice as much is read at once */
        for (; v.pairs && !v.mask && !v.hole && group + 2 <= end && (group + 2) * SAMPI_GROUP <= v.n; group += 2) {
            const uint32_t *p = (const uint32_t *)(const void *)v.data + group * (SAMPI_GROUP / 2) + (uint32_t)lane;
            uint32_t u[32]; /* two groups, so that as many reads are in flight as for f32 */
            float m[2] = { -INFINITY, -INFINITY };
            SAMPI_UNROLL(32) for (int i = 0; i < 32; i++) u[i] = p[i * SAMPI_WARP];
            SAMPI_UNROLL(32) for (int i = 0; i < 32; i++)
            {
                const float x = sampi_gpu_typed(sampi_gpu_half(u[i] & 0xFFFF, v.type));
                const float y = sampi_gpu_typed(sampi_gpu_half(u[i] >> 16, v.type));
                m[i / 16] = sampi_gpu_larger(sampi_gpu_larger(x, y), m[i / 16]);
            }
            cell[group * SAMPI_WARP + (uint32_t)lane] = m[0];
            cell[(group + 1) * SAMPI_WARP + (uint32_t)lane] = m[1];
            best = sampi_gpu_larger(sampi_gpu_larger(m[0], m[1]), best);
        }
        for (; group < end; group++) { /* remaining groups, or any other row */
            float x[32], m = -INFINITY;
            sampi_gpu_read(&v, group, lane, x);
            SAMPI_UNROLL(32) for (int i = 0; i < 32; i++) m = sampi_gpu_larger(x[i], m);
            cell[group * SAMPI_WARP + (uint32_t)lane] = m;
            best = sampi_gpu_larger(m, best);
        }
        lane_max[lane] = best;
        top = best > top ? best : top;
        nan |= best != best;
    }
    a->team_max[row * a->splits + split] = nan ? NAN : top;
}

/* The row as all other passes read it: a share of its groups, and the operations so far. */
typedef struct sampi_gpu_pass {
    sampi_gpu_view v;
    uint32_t first, end; /* first group, and the one after the last */
    const float *cell;   /* maxima of the row as it came */
    const sampi_gpu_op *op;
    uint32_t n_ops, n_replay; /* number of all operations, and of those that elements are taken through */
    bool cut, scaled;         /* true: the first operation removes keys below those of (least, last); the last one
                                 is a multiplication by r; there is no other */
    float least;
    uint32_t last;
    bool direct;              /* true: lanes read full groups from the row itself; see sampi_gpu_open_cell */
    float r, max, bar;
    int quarters; /* always 4; the driver's compiler, which cannot see that, does not unroll loops over quarters */
    const sampi_gpu_args *a;
    size_t row;
    uint32_t split;
} sampi_gpu_pass;

/* Returns the pass for a team's share. */
SAMPI_INLINE sampi_gpu_pass sampi_gpu_pass_of(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_state *st = &a->state[row];
    sampi_gpu_pass p;
    p.v = sampi_gpu_view_of(a, row);
    p.first = sampi_gpu_first(a, split);
    p.end = sampi_gpu_first(a, split + 1);
    p.cell = a->cell + row * a->groups * SAMPI_WARP;
    p.op = st->op;
    p.n_ops = st->n_ops;
    p.cut = st->n_ops && st->op[0].kind == SAMPI_OP_FROM;
    p.scaled = st->n_ops == 1u + p.cut && st->op[p.cut].kind == SAMPI_OP_SCALE;
    p.n_replay = st->n_ops - p.cut - p.scaled;
    if (p.n_replay) p.n_replay = st->n_ops, p.cut = false;
    p.least = p.cut && st->op[0].k > sampi_gpu_floor(-FLT_MAX) ? sampi_gpu_logit(st->op[0].k) : -INFINITY;
    p.last = p.cut ? sampi_gpu_id(st->op[0].k) : 0;
    p.r = p.scaled ? st->op[p.cut].f : 1.0f;
    p.max = st->max;
    p.bar = st->bar;
    p.direct = (p.v.type == SAMP_F32 || p.v.pairs) && !p.v.mask && !p.v.hole && !p.n_replay;
    p.quarters = a->groups ? 4 : 0;
    p.a = a;
    p.row = row;
    p.split = split;
    return p;
}

/* Returns sampi_finite of a number, without a branch. */
SAMPI_INLINE float sampi_gpu_finite(float x) { return sampi_gpu_minf(sampi_gpu_maxf(x, -FLT_MAX), FLT_MAX); }

/* Returns a logit times a temperature's factor; a masked logit (-inf) stays masked. */
SAMPI_INLINE float sampi_gpu_scaled(float l, float r)
{
    const float scaled = sampi_gpu_finite(sampi_roundf(l * r));
    return l >= -FLT_MAX ? scaled : -INFINITY;
}

/* sampi_gpu_rescale as a function that is called. */
static SAMPI_UNCLONED float sampi_gpu_rescale_once(const sampi_gpu_op *op, uint32_t n, float l)
{
    return sampi_gpu_rescale(op, n, l);
}

/* Whether a lane's cell can have a remaining token that reaches `bar`, by the cell's maximum. */
SAMPI_INLINE bool sampi_gpu_live(const sampi_gpu_pass *p, float cell_max, float bar)
{
    const float bound = sampi_gpu_rescale_once(p->op, p->n_ops, cell_max);
    return bound >= -FLT_MAX && bound >= bar;
}

/* Returns which of a lane's cells in eight groups, from group `from` on, can have a remaining token that reaches `bar`:
   bit i for the cell of group from + i. */
SAMPI_INLINE uint32_t sampi_gpu_live_cells(const sampi_gpu_pass *p, uint32_t from, int lane, float bar)
{
    float bound[8];
    uint32_t cells = 0;
    SAMPI_UNROLL(8)
    for (uint32_t i = 0; i < 8; i++)
        bound[i] = p->cell[sampi_gpu_min_of(from + i, p->end - 1) * SAMPI_WARP + (uint32_t)lane];
    if (p->n_replay) {
        SAMPI_UNROLL(8) for (int i = 0; i < 8; i++) bound[i] = sampi_gpu_rescale_once(p->op, p->n_ops, bound[i]);
    } else if (p->scaled) {
        SAMPI_UNROLL(8) for (int i = 0; i < 8; i++) bound[i] = sampi_gpu_scaled(bound[i], p->r);
    }
    SAMPI_UNROLL(8)
    for (uint32_t i = 0; i < 8; i++)
        cells |= (uint32_t)((from + i < p->end) & (bound[i] >= -FLT_MAX) & (bound[i] >= bar)) << i;
    return cells;
}

/* Applies a temperature to n elements that were read. */
SAMPI_INLINE void sampi_gpu_scale_read(const sampi_gpu_pass *p, int n, float *l)
{
    SAMPI_UNROLL(32) for (int i = 0; i < n; i++) l[i] += 0.0f; /* -0 becomes +0 */
    if (p->scaled) {
        SAMPI_UNROLL(32) for (int i = 0; i < n; i++) l[i] = sampi_gpu_scaled(l[i], p->r);
    }
}

/* A quarter of a cell is 8 elements. */
#define SAMPI_QUARTER    8
#define SAMPI_QUARTERS   SAMPI_UNROLL(1) for (int quarter = 0; quarter < p->quarters; quarter++)
#define SAMPI_OF_QUARTER SAMPI_UNROLL(8) for (int k = 0; k < SAMPI_QUARTER; k++)

/* Returns where a lane's 32 logits are in the memory that its team keeps for one cell of each lane; SAMPI_WARP apart.
   */
static float *sampi_gpu_aside(const sampi_gpu_args *a, size_t row, uint32_t split, int lane)
{
    return a->aside + (row * a->splits + split) * SAMPI_GROUP + (uint32_t)lane;
}

/* Applies one operation to a quarter's elements, the first of which has the index base. */
SAMPI_INLINE void sampi_gpu_apply(const sampi_gpu_op *op, uint32_t base, bool pairs, int lane, float *x)
{
    if (op->kind == SAMPI_OP_SCALE) {
        SAMPI_OF_QUARTER x[k] = sampi_gpu_scaled(x[k], op->f);
    } else if (op->kind == SAMPI_OP_FROM || op->kind == SAMPI_OP_UNTIL) {
        SAMPI_OF_QUARTER
        {
            const uint64_t key = sampi_gpu_key(x[k], base + sampi_gpu_index(pairs, lane, k));
            x[k] = (op->kind == SAMPI_OP_FROM ? key >= op->k : key <= op->k) ? x[k] : -INFINITY;
        }
    } else {
        SAMPI_OF_QUARTER x[k] = sampi_gpu_replay(op, 1, base + sampi_gpu_index(pairs, lane, k), x[k]);
    }
}

/* Writes the logits of a lane's cell, up to date, into its team's memory. */
static SAMPI_CALLED void sampi_gpu_cell_aside(const sampi_gpu_args *a, size_t row, uint32_t split, uint32_t group,
                                              int lane)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const bool pairs = sampi_gpu_paired(&p.v, group);
    float *to = sampi_gpu_aside(a, row, split, lane);
    for (uint32_t at = 0; at < SAMPI_GROUP; at += SAMPI_GROUP / 4, to += SAMPI_GROUP / 4) {
        float x[SAMPI_QUARTER];
        sampi_gpu_read_each(&p.v, group * SAMPI_GROUP + at, SAMPI_WARP, pairs, SAMPI_QUARTER, lane, x);
        SAMPI_OF_QUARTER x[k] += 0.0f; /* -0 becomes +0 */
        for (uint32_t i = 0; i < p.n_replay; i++) sampi_gpu_apply(&p.op[i], group * SAMPI_GROUP + at, pairs, lane, x);
        SAMPI_OF_QUARTER to[k * SAMPI_WARP] = x[k];
    }
}

/* The work on a lane's cell, a quarter at a time. pair: where 16-bit logits are read, two at a time, or NULL; x: where
   floats are read; the cell's elements are SAMPI_WARP apart either way. next: the quarter that follows, as it was read.
   partial: the row ends in this group, and the lane has only `count` elements; l: this quarter's logits, up to date
   (-inf: masked or removed); w: their weights, each plus 2^52; d: their distances from the maximum, in nats; later:
   their logits after the next sampler; q: their envelopes. */
typedef struct sampi_gpu_eight {
    const uint32_t *pair;
    const float *x;
    bool partial;
    uint32_t count, group;
    double w[SAMPI_QUARTER], d[SAMPI_QUARTER];
    float next[SAMPI_QUARTER], l[SAMPI_QUARTER], later[SAMPI_QUARTER];
    uint32_t q[SAMPI_QUARTER];
} sampi_gpu_eight;

SAMPI_INLINE void sampi_gpu_read_quarter(const sampi_gpu_pass *p, const sampi_gpu_eight *e, bool pairs, int quarter,
                                         float *x)
{
    if (pairs) {
        uint32_t u[4];
        SAMPI_UNROLL(4) for (int k = 0; k < 4; k++) u[k] = e->pair[(quarter * 4 + k) * SAMPI_WARP];
        SAMPI_UNROLL(4) for (int k = 0; k < 4; k++)
        {
            x[2 * k] = sampi_gpu_half(u[k] & 0xFFFF, p->v.type);
            x[2 * k + 1] = sampi_gpu_half(u[k] >> 16, p->v.type);
        }
    } else if (e->partial) {
        SAMPI_OF_QUARTER
        {
            const uint32_t i = (uint32_t)(quarter * SAMPI_QUARTER + k);
            const float l = e->x[i < e->count ? i * SAMPI_WARP : 0];
            x[k] = i < e->count ? l : -INFINITY;
        }
    } else {
        SAMPI_OF_QUARTER x[k] = e->x[(quarter * SAMPI_QUARTER + k) * SAMPI_WARP];
    }
}

/* Sets where a lane's cell is read. */
SAMPI_INLINE void sampi_gpu_open_cell(const sampi_gpu_pass *p, uint32_t group, int lane, sampi_gpu_eight *e)
{
    const uint32_t first = group * SAMPI_GROUP + (uint32_t)lane;
    const bool partial = (group + 1) * SAMPI_GROUP > p->v.n;
    e->group = group;
    e->pair = NULL;
    e->x = (const float *)(const void *)p->v.data + sampi_gpu_min_of(first, p->v.n - 1);
    e->count = first < p->v.n ? (p->v.n - first + SAMPI_WARP - 1) / SAMPI_WARP : 0;
    e->partial = partial && p->v.type == SAMP_F32;
    if (!p->direct || (partial && !e->partial)) {
        sampi_gpu_cell_aside(p->a, p->row, p->split, group, lane);
        e->x = sampi_gpu_aside(p->a, p->row, p->split, lane);
        e->partial = false;
    } else if (p->v.type != SAMP_F32) {
        e->pair = (const uint32_t *)(const void *)p->v.data + group * (SAMPI_GROUP / 2) + (uint32_t)lane;
    }
}

/* Begins a lane's cell: its first quarter is read. */
SAMPI_INLINE void sampi_gpu_first_quarter(const sampi_gpu_pass *p, uint32_t group, int lane, sampi_gpu_eight *e)
{
    sampi_gpu_open_cell(p, group, lane, e);
    sampi_gpu_read_quarter(p, e, e->pair != NULL, 0, e->next);
}

/* Brings a quarter's logits up to date, and reads the next quarter, so that these reads are under way during the work
   on this one. */
SAMPI_INLINE void sampi_gpu_next_quarter(const sampi_gpu_pass *p, int quarter, int lane, sampi_gpu_eight *e)
{
    SAMPI_OF_QUARTER e->l[k] = e->next[k];
    sampi_gpu_read_quarter(p, e, e->pair != NULL, quarter < 3 ? quarter + 1 : 3, e->next);
    if (p->cut) {
        const bool pairs = sampi_gpu_paired(&p->v, e->group);
        const uint32_t first = e->group * SAMPI_GROUP + (uint32_t)quarter * (SAMPI_GROUP / 4);
        SAMPI_OF_QUARTER
        {
            const uint32_t id = first + sampi_gpu_index(pairs, lane, k);
            const bool stays = (e->l[k] > p->least) | ((e->l[k] == p->least) & (id <= p->last));
            e->l[k] = stays ? e->l[k] : -INFINITY;
        }
        SAMPI_AT_ONCE(8, e->l); /* selections, which later ones would otherwise turn into branches */
    }
    sampi_gpu_scale_read(p, SAMPI_QUARTER, e->l);
}

/* Adds a token to its bucket of the row's histogram. */
SAMPI_INLINE void sampi_gpu_add_to_bucket(const sampi_gpu_args *a, size_t row, const sampi_gpu_search *search,
                                          float max, uint64_t key)
{
    const uint64_t code = sampi_gpu_code(search->by_score, key, max, search->mean);
    const size_t at = row * SAMPI_BUCKETS + sampi_gpu_bucket(search, max, code);
    __atomic_fetch_add(&a->count[at], (uint64_t)1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&a->mass[at], sampi_weight(max, sampi_gpu_logit(key)), __ATOMIC_RELAXED);
}

/* Returns the id of an element of a row whose bit is set in word `at` of `wanted`. */
SAMPI_INLINE uint32_t sampi_gpu_wanted_id(const sampi_gpu_view *v, uint32_t at, uint32_t bits)
{
    const uint32_t group = at / SAMPI_WARP;
    return group * SAMPI_GROUP +
           sampi_gpu_index(sampi_gpu_paired(v, group), (int)(at % SAMPI_WARP), __builtin_ctz(bits));
}

/* Returns a token's logit up to date, from the x that the row has. */
SAMPI_INLINE float sampi_gpu_now(const sampi_gpu_pass *p, uint32_t id, float x)
{
    return p->n_replay ? sampi_gpu_replay(p->op, p->n_ops, id, x) : p->scaled ? sampi_gpu_scaled(x, p->r) : x;
}

/* Adds elements of a team's cells to the row's list: those whose bits a pass has written to `wanted`. Their ids are
   collected first, one of each lane that has one at a time, so that all lanes then have as many tokens to add. n_list
   gives each team its own places; past the list's end only the count grows. */
static SAMPI_UNCLONED void sampi_gpu_append_wanted(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    enum { FULL = SAMPI_GROUP - SAMPI_WARP };
    sampi_gpu_state *st = &a->state[row];
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const uint32_t me = sampi_gpu_lane(), lanes = sampi_gpu_lanes(), before = ((uint32_t)1 << me) - 1;
    const uint32_t end = p.end * SAMPI_WARP, *wanted = a->wanted + row * a->groups * SAMPI_WARP;
    const bool weighs = st->pass == SAMPI_PASS_BUCKET || st->pass == SAMPI_PASS_EDGE, by_score = st->search.by_score;
    const double mean = st->search.mean;
    uint64_t *code = a->code + row * SAMP_GPU_LIST, *weight = a->wide + row * SAMPI_WIDE;
    sampi_gpu_item *item = sampi_gpu_items(a, row, st->buffer);
    /* st->order_at is 1 + the number of operations done on the row when a sampler last sorted the array, st->p_at is
       that number + 1 when a sampler last set p; 0: no sampler did, and at_order or at_p of the items has no meaning */
    const uint32_t order_at = (uint32_t)(st->order_at ? st->order_at - 1 : 0);
    const uint32_t p_at = (uint32_t)(st->p_at ? st->p_at - 1 : 0);
    uint32_t *ids = (uint32_t *)(void *)sampi_gpu_aside(a, row, split, 0);
    uint32_t at = p.first * SAMPI_WARP + me, bits = wanted[at], who;
    for (bool more = true; more;) {
        uint32_t n = 0, next = wanted[sampi_gpu_min_of(at + lanes, end - 1)];
        while (more && n <= FULL) {
            while (n <= FULL && (who = sampi_gpu_vote(bits != 0)) != 0) {
                if (bits) ids[n + sampi_gpu_count_bits(who & before)] = sampi_gpu_wanted_id(&p.v, at, bits);
                bits &= bits - 1;
                n += sampi_gpu_count_bits(who);
            }
            if (n > FULL) break; /* the word may have more */
            at += lanes;
            more = at < end + me;
            bits = next;
            next = wanted[sampi_gpu_min_of(at + lanes, end - 1)];
        }
        sampi_gpu_join_lanes(); /* all lanes have written */
        if (n == 0) return;
        const uint32_t from = sampi_gpu_add(&st->n_list, n);
        SAMPI_SIMD()
        SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n && from + i < SAMP_GPU_LIST; i += SAMPI_WARP)
        {
            const uint32_t id = ids[i], to = from + i;
            const float given = p.v.type == SAMP_F32 ? ((const float *)(const void *)p.v.data)[id]
                                                     : sampi_gpu_element(&p.v, id);
            const float x = given + 0.0f, l = sampi_gpu_now(&p, id, x);
            const uint64_t key = sampi_gpu_key(l, id);
            if (weighs) {
                code[to] = sampi_gpu_code(by_score, key, p.max, mean);
                weight[to] = sampi_weight(p.max, l);
            }
            item[to].key = key;
            item[to].at_order = order_at == p.n_ops ? l : order_at ? sampi_gpu_replay(p.op, order_at, id, x) : x;
            item[to].at_p = p_at == p.n_ops ? l : p_at ? sampi_gpu_replay(p.op, p_at, id, x) : x;
        }
    }
}

/* Adds those elements to the row's histogram instead. */
static SAMPI_UNCLONED void sampi_gpu_divide_wanted(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const sampi_gpu_search *search = &a->state[row].search;
    const uint32_t *wanted = a->wanted + row * a->groups * SAMPI_WARP;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = p.first * SAMPI_WARP + (uint32_t)lane; i < p.end * SAMPI_WARP; i += SAMPI_WARP)
    {
        for (uint32_t bits = wanted[i]; bits; bits &= bits - 1) {
            const uint32_t id = sampi_gpu_wanted_id(&p.v, i, bits);
            const float l = sampi_gpu_now(&p, id, sampi_gpu_element(&p.v, id) + 0.0f);
            sampi_gpu_add_to_bucket(a, row, search, p.max, sampi_gpu_key(l, id));
        }
    }
}

/* Computes a quarter's weights and distances. */
SAMPI_INLINE void sampi_gpu_weigh(float max, sampi_gpu_eight *of)
{
    double s[SAMPI_QUARTER], f[SAMPI_QUARTER], e[SAMPI_QUARTER];
    uint64_t power[SAMPI_QUARTER];
    SAMPI_OF_QUARTER of->d[k] = (double)of->l[k];
    SAMPI_AT_ONCE(8, of->d);
    SAMPI_OF_QUARTER of->d[k] -= (double)max;
    SAMPI_AT_ONCE(8, of->d);
    SAMPI_OF_QUARTER of->d[k] = sampi_gpu_max(of->d[k], -700.0);
    SAMPI_OF_QUARTER s[k] = fma(of->d[k], SAMPI_LOG2E, SAMPI_SHIFT);
    SAMPI_AT_ONCE(8, s);
    SAMPI_OF_QUARTER f[k] = SAMPI_SHIFT - s[k];
    SAMPI_AT_ONCE(8, f);
    SAMPI_OF_QUARTER f[k] = fma(of->d[k], SAMPI_LOG2E, f[k]);
    SAMPI_OF_QUARTER e[k] = fma(SAMPI_E8, f[k], SAMPI_E7);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], SAMPI_E6);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], SAMPI_E5);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], SAMPI_E4);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], SAMPI_E3);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], SAMPI_E2);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], SAMPI_E1);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], 1.0);
    SAMPI_OF_QUARTER power[k] = sampi_bits(s[k]) + 1023 + 40;
    SAMPI_AT_ONCE(8, power);
    SAMPI_OF_QUARTER power[k] <<= 52;
    SAMPI_AT_ONCE(8, power);
    SAMPI_OF_QUARTER e[k] *= sampi_from_bits(power[k]);
    SAMPI_OF_QUARTER of->w[k] = fma(1.0, e[k], SAMPI_INT);
}

/* Returns the sum of sampi_weighted of a quarter, each plus the bits of the double 2^52. */
SAMPI_INLINE uint64_t sampi_gpu_weighted(const sampi_gpu_eight *e)
{
    double r[SAMPI_QUARTER];
    uint64_t sum = 0;
    SAMPI_OF_QUARTER r[k] = fma(SAMPI_INT - e->w[k], e->d[k], SAMPI_INT);
    SAMPI_OF_QUARTER sum += sampi_bits(r[k]);
    return sum;
}

/* Computes the envelopes q [8] of logits l [8], and returns their sum. It is sampi_envelope without its branch. */
SAMPI_INLINE uint32_t sampi_gpu_envelopes(float max, const float *l, uint32_t *q)
{
    float x[SAMPI_QUARTER], y[SAMPI_QUARTER];
    uint32_t i[SAMPI_QUARTER], n[SAMPI_QUARTER], sum = 0;
    SAMPI_OF_QUARTER x[k] = max - l[k]; /* these two are sampi_octaves */
    SAMPI_AT_ONCE(8, x);
    SAMPI_OF_QUARTER x[k] *= SAMPI_ENVELOPE_UNIT;
    SAMPI_AT_ONCE(8, x);
    SAMPI_OF_QUARTER y[k] = sampi_gpu_minf(x[k], SAMPI_FAR);
    SAMPI_OF_QUARTER i[k] = (uint32_t)(int32_t)y[k];
    SAMPI_AT_ONCE(8, i);
    SAMPI_OF_QUARTER n[k] = i[k] >> 25;
    SAMPI_AT_ONCE(8, n);
    SAMPI_OF_QUARTER n[k] = sampi_gpu_min_of(n[k], 31);
    SAMPI_OF_QUARTER i[k] &= 0x1FFFFFFu;
    SAMPI_AT_ONCE(8, i);
    SAMPI_OF_QUARTER i[k] = ((uint32_t)1 << 26) - 1 - i[k];
    SAMPI_AT_ONCE(8, i);
    SAMPI_OF_QUARTER i[k] >>= n[k];
    SAMPI_AT_ONCE(8, i);
    SAMPI_OF_QUARTER i[k]++;
    SAMPI_AT_ONCE(8, i);
    SAMPI_OF_QUARTER n[k] = 0 - (uint32_t)(x[k] < SAMPI_FAR);
    SAMPI_OF_QUARTER q[k] = i[k] & n[k];
    SAMPI_OF_QUARTER sum += q[k];
    return sum;
}

/* The sums of a lane's cell: n tokens; z, of weights; s, of weights times distances; low: the smallest logit. */
typedef struct sampi_gpu_cell_sums {
    uint64_t n, z, s;
    float low;
    uint32_t wanted;
} sampi_gpu_cell_sums;

SAMPI_INLINE void sampi_gpu_sum_cell(const sampi_gpu_pass *p, uint32_t group, int lane, float floor,
                                     sampi_gpu_cell_sums *of)
{
    sampi_gpu_eight e;
    uint32_t n = 0, wanted = 0;
    uint64_t z = 0, s = 0;
    float low = INFINITY;
    sampi_gpu_first_quarter(p, group, lane, &e);
    SAMPI_QUARTERS
    {
        uint32_t bits = 0;
        sampi_gpu_next_quarter(p, quarter, lane, &e);
        sampi_gpu_weigh(p->max, &e);
        SAMPI_OF_QUARTER
        {
            /* removed tokens must not become the smallest */
            const float x = e.l[k] >= -FLT_MAX ? e.l[k] : INFINITY;
            n += e.l[k] >= -FLT_MAX;
            bits |= (uint32_t)(e.l[k] >= floor) << k;
            low = x < low ? x : low;
            z += sampi_bits(e.w[k]);
        }
        wanted |= bits << quarter * SAMPI_QUARTER;
        s += sampi_gpu_weighted(&e);
    }
    of->n = n, of->low = low, of->wanted = wanted;
    /* once for the 32 elements, the 2^52 beside each weight */
    of->z = z - 32 * sampi_bits(SAMPI_INT);
    of->s = s - 32 * sampi_bits(SAMPI_INT);
}

/* SUMS computes n, z, s and low (see sampi_gpu_state), and, if asked for, the list of tokens with keys from a floor on.
   */
static void sampi_gpu_walk_sums(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_state *st = &a->state[row];
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    /* this floor is sampi_gpu_floor of a logit: each token with that logit has a key at least as large, so comparing
       logits is enough */
    const float floor = st->listing ? sampi_gpu_logit(st->floor) : INFINITY;
    uint32_t *wanted_of = a->wanted + row * a->groups * SAMPI_WARP;
    uint64_t n = 0, z = 0, s = 0;
    float low = INFINITY;
    SAMPI_SIMD(reduction(+ : n, z, s) reduction(min : low))
    SAMPI_LANES for (uint32_t from = p.first; from < p.end; from += 8)
    {
        uint32_t cells = sampi_gpu_live_cells(&p, from, lane, p.bar);
        for (uint32_t i = from; i < from + 8 && i < p.end; i++) wanted_of[i * SAMPI_WARP + (uint32_t)lane] = 0;
        for (; cells; cells &= cells - 1) {
            const uint32_t group = from + (uint32_t)__builtin_ctz(cells);
            sampi_gpu_cell_sums of = { 0, 0, 0, INFINITY, 0 };
            sampi_gpu_sum_cell(&p, group, lane, floor, &of);
            n += of.n, z += of.z, s += of.s;
            low = of.low < low ? of.low : low;
            wanted_of[group * SAMPI_WARP + (uint32_t)lane] = of.wanted;
        }
    }
    if (st->listing) sampi_gpu_append_wanted(a, row, split);
    sampi_gpu_part *part = &a->part[row * a->splits + split];
    part->sum[0] = n, part->sum[1] = z, part->sum[2] = s, part->sum[3] = 0;
    part->max = -INFINITY, part->low = low; /* the row's maximum is known already */
}

/* Four sums, from which top_n_sigma gets the sums of x and of x^2. x has 40 bits; its square is summed as products of
   20-bit halves, which stays below 2^64 for a row of any length, and needs no wider integers in the loop. */
typedef struct sampi_gpu_squares {
    uint64_t x, high, mixed, low;
} sampi_gpu_squares;

/* Adds one x. The row, the list and the tokens with changed logits all use it, each in a reduction of its own. */
SAMPI_INLINE void sampi_gpu_square(sampi_gpu_squares *sum, uint64_t x)
{
    sum->x += x;
    sum->high += (x >> 20) * (x >> 20);
    sum->mixed += (x >> 20) * (x & 0xFFFFF);
    sum->low += (x & 0xFFFFF) * (x & 0xFFFFF);
}

/* Adds a lane's cell to SIGMA's sums, and returns its maximum. */
SAMPI_INLINE float sampi_gpu_sigma_cell(const sampi_gpu_pass *p, uint32_t group, int lane, double scale,
                                        sampi_gpu_squares *of)
{
    sampi_gpu_eight e;
    float top = -INFINITY;
    sampi_gpu_first_quarter(p, group, lane, &e);
    SAMPI_QUARTERS
    {
        sampi_gpu_next_quarter(p, quarter, lane, &e);
        SAMPI_OF_QUARTER
        {
            /* a removed token would have an x too, of an infinite distance: it is left out of the sums */
            const uint64_t far_ = sampi_sigma_x(p->max, e.l[k], scale);
            sampi_gpu_square(of, e.l[k] >= -FLT_MAX ? far_ : 0);
            top = e.l[k] > top ? e.l[k] : top;
        }
    }
    return top;
}

/* SIGMA computes the four sums of sampi_gpu_squares, and the maximum, for top_n_sigma. MAX is the same pass with only
   its maximum used, for a row whose first tokens were removed or changed, so that its maximum is unknown. */
static void sampi_gpu_walk_sigma(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const double scale = a->state[row].scale;
    uint64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    float top = -INFINITY;
    SAMPI_SIMD(reduction(+ : s0, s1, s2, s3) reduction(max : top))
    SAMPI_LANES for (uint32_t from = p.first; from < p.end; from += 8)
    {
        for (uint32_t cells = sampi_gpu_live_cells(&p, from, lane, p.bar); cells; cells &= cells - 1) {
            sampi_gpu_squares of = { 0, 0, 0, 0 };
            const float max = sampi_gpu_sigma_cell(&p, from + (uint32_t)__builtin_ctz(cells), lane, scale, &of);
            s0 += of.x, s1 += of.high, s2 += of.mixed, s3 += of.low;
            top = max > top ? max : top;
        }
    }
    sampi_gpu_part *part = &a->part[row * a->splits + split];
    part->sum[0] = s0, part->sum[1] = s1, part->sum[2] = s2, part->sum[3] = s3;
    part->max = top, part->low = INFINITY;
}

/* What GATHER, DIVIDE and BUCKET want: codes from lo to hi, or, in the order of keys, logits from floor to top; of
   tokens with the logit of an end the codes decide. */
typedef struct sampi_gpu_range {
    bool by_score;
    uint64_t lo, hi;
    float floor, top;
    double mean;
} sampi_gpu_range;

/* Returns bits of the elements of a lane's cell that are in the range. */
SAMPI_INLINE uint32_t sampi_gpu_cell_in_range(const sampi_gpu_pass *p, uint32_t group, int lane,
                                              const sampi_gpu_range *in)
{
    const bool pairs = sampi_gpu_paired(&p->v, group);
    uint32_t wanted = 0, ends = 0;
    sampi_gpu_eight e;
    sampi_gpu_first_quarter(p, group, lane, &e);
    SAMPI_QUARTERS
    {
        const uint32_t at = (uint32_t)quarter * SAMPI_QUARTER;
        sampi_gpu_next_quarter(p, quarter, lane, &e);
        SAMPI_OF_QUARTER wanted |= (uint32_t)((e.l[k] >= in->floor) & (e.l[k] <= in->top)) << k << at;
        SAMPI_OF_QUARTER ends |= (uint32_t)((e.l[k] == in->floor) | (e.l[k] == in->top)) << k << at;
    }
    for (ends = in->by_score ? wanted : ends & wanted; ends; ends &= ends - 1) {
        const int i = __builtin_ctz(ends);
        const uint32_t id = group * SAMPI_GROUP + sampi_gpu_index(pairs, lane, i);
        const uint64_t key = sampi_gpu_key(sampi_gpu_replay(p->op, p->n_ops, id, sampi_gpu_element(&p->v, id)), id);
        const uint64_t code = sampi_gpu_code(in->by_score, key, p->max, in->mean);
        wanted &= ~((uint32_t)(code < in->lo || code > in->hi) << i);
    }
    return wanted;
}

/* Returns what the row's pass wants: GATHER tokens with keys from floor on (require_list), DIVIDE, BUCKET and EDGE
   those with codes in [lo, hi] (ask_bucket). */
SAMPI_INLINE sampi_gpu_range sampi_gpu_range_of(const sampi_gpu_state *st)
{
    const bool gather = st->pass == SAMPI_PASS_GATHER;
    sampi_gpu_range in = { !gather && st->search.by_score, gather ? 0 : st->search.lo,
                           gather ? ~st->floor : st->search.hi, -FLT_MAX, INFINITY, st->search.mean };
    /* a cell's maximum bounds its keys, but not its tokens' scores: in the order of scores every cell that is not empty
       is read */
    if (!in.by_score && in.hi < ~sampi_gpu_floor(-FLT_MAX)) in.floor = sampi_gpu_logit(~in.hi);
    /* in the order of keys logits decide, except at both ends */
    if (!in.by_score && in.lo) in.top = sampi_gpu_logit(~in.lo);
    return in;
}

/* GATHER and BUCKET make a list, DIVIDE a histogram. */
static void sampi_gpu_walk_list(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const sampi_gpu_range in = sampi_gpu_range_of(&a->state[row]);
    const float bar = in.floor > p.bar ? in.floor : p.bar;
    uint32_t *wanted_of = a->wanted + row * a->groups * SAMPI_WARP;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t from = p.first; from < p.end; from += 8)
    {
        uint32_t cells = sampi_gpu_live_cells(&p, from, lane, bar);
        for (uint32_t i = from; i < from + 8 && i < p.end; i++) wanted_of[i * SAMPI_WARP + (uint32_t)lane] = 0;
        /* then only the few cells (32 elements) that can have a wanted token */
        for (; cells; cells &= cells - 1) {
            const uint32_t group = from + (uint32_t)__builtin_ctz(cells);
            wanted_of[group * SAMPI_WARP + (uint32_t)lane] = sampi_gpu_cell_in_range(&p, group, lane, &in);
        }
    }
    if (a->state[row].pass == SAMPI_PASS_DIVIDE)
        sampi_gpu_divide_wanted(a, row, split);
    else
        sampi_gpu_append_wanted(a, row, split);
}

/* Computes the envelope's sum of each group of 1024 tokens from those of its cells. */
static SAMPI_CALLED void sampi_gpu_sum_groups(const sampi_gpu_args *a, size_t row, uint32_t first, uint32_t end)
{
    const uint32_t *cell_sum = a->cell_sum + row * a->groups * SAMPI_WARP;
    uint64_t *sum = a->sum + row * a->groups;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t group = first + (uint32_t)lane; group < end; group += SAMPI_WARP)
    {
        uint64_t all = 0;
        SAMPI_UNROLL(8) for (uint32_t i = 0; i < SAMPI_WARP; i++) all += cell_sum[group * SAMPI_WARP + i];
        sum[group] = all;
    }
}

/* Adds a lane's cell to the buckets of HIST, which are even (sampi_gpu_bucket). */
SAMPI_INLINE void sampi_gpu_hist_cell(const sampi_gpu_pass *p, uint32_t group, int lane,
                                      const sampi_gpu_search *search, uint64_t *mass, uint64_t *count, uint32_t *own)
{
    sampi_gpu_eight e;
    sampi_gpu_first_quarter(p, group, lane, &e);
    SAMPI_QUARTERS
    {
        uint32_t at[SAMPI_QUARTER];
        uint64_t w[SAMPI_QUARTER];
        sampi_gpu_next_quarter(p, quarter, lane, &e);
        sampi_gpu_weigh(p->max, &e);
        if (search->by_score) SAMPI_OF_QUARTER e.d[k] = -fabs(-e.d[k] - search->mean);
        SAMPI_OF_QUARTER e.d[k] *= -64.0;
        SAMPI_AT_ONCE(8, e.d);
        SAMPI_OF_QUARTER e.d[k] = sampi_gpu_even(e.d[k]);
        SAMPI_OF_QUARTER at[k] = (uint32_t)(int32_t)e.d[k];
        SAMPI_AT_ONCE(8, at);
        SAMPI_OF_QUARTER at[k] = sampi_gpu_min_of(at[k], SAMPI_BUCKETS - 1);
        SAMPI_OF_QUARTER w[k] = sampi_bits(e.w[k]) - sampi_bits(SAMPI_INT);
        if (own) {
            uint32_t low[SAMPI_QUARTER], rest[SAMPI_QUARTER], *sum[SAMPI_QUARTER];
            SAMPI_OF_QUARTER sum[k] = &own[at[k]];
            SAMPI_AT_ONCE(8, sum);
            SAMPI_OF_QUARTER low[k] = sampi_gpu_near_add(sum[k], (uint32_t)w[k]);
            SAMPI_OF_QUARTER rest[k] = (uint32_t)(w[k] >> 32);
            SAMPI_OF_QUARTER low[k] += (uint32_t)w[k];
            SAMPI_AT_ONCE(8, low);
            SAMPI_OF_QUARTER rest[k] += low[k] < (uint32_t)w[k]; /* the carry */
            SAMPI_OF_QUARTER sampi_gpu_near_add_some(sum[k] + SAMPI_BUCKETS, rest[k]);
            continue;
        }
        SAMPI_OF_QUARTER
        {
            if (!(e.l[k] >= -FLT_MAX)) continue;
            if (search->counting) __atomic_fetch_add(&count[at[k]], (uint64_t)1, __ATOMIC_RELAXED);
            if (search->mass) __atomic_fetch_add(&mass[at[k]], w[k], __ATOMIC_RELAXED);
        }
    }
}

/* Clears a team's own sums. */
static void sampi_gpu_begin_own(uint32_t *own)
{
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < 2 * SAMPI_BUCKETS; i += 8 * SAMPI_WARP)
    {
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) own[i + k * SAMPI_WARP] = 0;
    }
}

/* Adds a team's own sums to the row's. */
static void sampi_gpu_end_own(const uint32_t *own, uint64_t *mass)
{
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_BUCKETS; i += 8 * SAMPI_WARP)
    {
        uint32_t low[8], high[8];
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) low[k] = own[i + k * SAMPI_WARP];
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) high[k] = own[i + k * SAMPI_WARP + SAMPI_BUCKETS];
        SAMPI_AT_ONCE(8, low);
        SAMPI_AT_ONCE(8, high);
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++)
        {
            const uint64_t sum = (uint64_t)high[k] << 32 | low[k];
            if (sum) __atomic_fetch_add(&mass[i + k * SAMPI_WARP], sum, __ATOMIC_RELAXED);
        }
    }
}

/* HIST computes mass and count of each bucket of a histogram, or one of them if the other does not matter;
   begin_histogram has cleared the buckets. */
static void sampi_gpu_walk_hist(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const sampi_gpu_search search = a->state[row].search;
    uint64_t *mass = a->mass + row * SAMPI_BUCKETS, *count = a->count + row * SAMPI_BUCKETS;
    uint32_t *own = search.counting || p.end - p.first < SAMPI_GROUPS_MANY ? NULL : sampi_gpu_near();
    if (own) sampi_gpu_begin_own(own);
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t from = p.first; from < p.end; from += 8)
    {
        for (uint32_t cells = sampi_gpu_live_cells(&p, from, lane, p.bar); cells; cells &= cells - 1)
            sampi_gpu_hist_cell(&p, from + (uint32_t)__builtin_ctz(cells), lane, &search, mass, count, own);
    }
    if (own) sampi_gpu_end_own(own, mass);
}

#ifdef SAMPLING_GUMBEL_DECLARED
/* Returns a race without a winner yet, for a lane's tokens. */
static sampi_race sampi_gpu_race_of(const sampi_gpu_step *step, uint64_t position, float max)
{
    sampi_race race = { step->seed, position, step->stream, max, -INFINITY, 0, (double)INFINITY, 0 SAMPI_NO_LIST };
    return race;
}
#endif

/* Returns the sum of the envelopes of a lane's cell; writes them to q [1024], by index in the group, if that is not
   NULL. */
SAMPI_INLINE uint32_t sampi_gpu_draw_cell(const sampi_gpu_pass *p, uint32_t group, int lane, bool edge, float floor,
                                          float top, float factor, uint64_t *q, uint32_t *inside)
{
    const bool pairs = sampi_gpu_paired(&p->v, group);
    sampi_gpu_eight e;
    uint32_t sum = 0, bits = 0;
    sampi_gpu_first_quarter(p, group, lane, &e);
    SAMPI_QUARTERS
    {
        sampi_gpu_next_quarter(p, quarter, lane, &e);
        if (edge) {
            uint32_t in[SAMPI_QUARTER], of = 0;
            SAMPI_OF_QUARTER in[k] = e.l[k] >= floor;
            SAMPI_AT_ONCE(8, in);
            SAMPI_OF_QUARTER in[k] &= e.l[k] <= top;
            SAMPI_AT_ONCE(8, in);
            SAMPI_OF_QUARTER in[k] <<= k;
            SAMPI_AT_ONCE(8, in);
            SAMPI_OF_QUARTER of |= in[k];
            bits |= of << quarter * SAMPI_QUARTER;
            SAMPI_OF_QUARTER e.later[k] = sampi_roundf(e.l[k] * factor);
            SAMPI_AT_ONCE(8, e.later);
            SAMPI_OF_QUARTER e.later[k] = sampi_gpu_maxf(e.later[k], -FLT_MAX); /* sampi_gpu_finite */
            SAMPI_OF_QUARTER e.later[k] = sampi_gpu_minf(e.later[k], FLT_MAX);
            SAMPI_OF_QUARTER e.l[k] = e.l[k] > top ? e.later[k] : -INFINITY;
            SAMPI_AT_ONCE(8, e.l);
        }
        sum += sampi_gpu_envelopes(p->max, e.l, e.q);
        if (q) SAMPI_OF_QUARTER q[sampi_gpu_index(pairs, lane, quarter * SAMPI_QUARTER + k)] = e.q[k];
    }
    *inside = bits;
    return sum;
}

/* Computes the envelope's sums of the cells of some groups; of one group, if q [1024] is not NULL, also each token's
   envelope. */
static SAMPI_UNCLONED void sampi_gpu_sum_envelopes(const sampi_gpu_args *a, size_t row, uint32_t split,
                                                   uint32_t first, uint32_t end, uint64_t *q)
{
    const sampi_gpu_state *st = &a->state[row];
    const bool edge = !q && st->pass == SAMPI_PASS_EDGE;
    sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    float bar = p.bar, floor = 0.0f, top = 0.0f, factor = 1.0f;
    p.first = first, p.end = end;
    if (edge) {
        const sampi_gpu_range in = sampi_gpu_range_of(st);
        floor = in.floor, top = in.top, factor = st->factor;
        p.max = st->then;
        bar = floor > bar ? floor : bar;
    }
    uint32_t *cell_sum = a->cell_sum + row * a->groups * SAMPI_WARP;
    uint32_t *wanted_of = a->wanted + row * a->groups * SAMPI_WARP;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t from = first; from < end; from += 8)
    {
        uint32_t cells = q ? 1 : sampi_gpu_live_cells(&p, from, lane, bar);
        for (uint32_t i = from; i < from + 8 && i < end; i++) {
            cell_sum[i * SAMPI_WARP + (uint32_t)lane] = 0;
            if (edge) wanted_of[i * SAMPI_WARP + (uint32_t)lane] = 0;
        }
        for (; cells; cells &= cells - 1) {
            const uint32_t at = (from + (uint32_t)__builtin_ctz(cells)) * SAMPI_WARP + (uint32_t)lane;
            uint32_t inside = 0;
            cell_sum[at] = sampi_gpu_draw_cell(&p, at / SAMPI_WARP, lane, edge, floor, top, factor, q, &inside);
            if (edge) wanted_of[at] = inside;
        }
    }
}

/* DRAW computes the sum of the envelope over each group of 1024 tokens. */
static void sampi_gpu_walk_draw(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const uint32_t first = sampi_gpu_first(a, split), end = sampi_gpu_first(a, split + 1);
    const bool edge = a->state[row].pass == SAMPI_PASS_EDGE;
    sampi_gpu_sum_envelopes(a, row, split, first, end, NULL);
    if (edge) sampi_gpu_append_wanted(a, row, split);
    sampi_gpu_sum_groups(a, row, first, end);
}

#ifdef SAMPLING_GUMBEL_DECLARED
/* RACE runs gumbel's race of all remaining tokens. */
static void sampi_gpu_walk_race(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const sampi_gpu_job *job = sampi_gpu_job_of(a, row);
    const sampi_race start = sampi_gpu_race_of(&job->step[a->state[row].at], job->position, p.max);
    uint64_t *time = a->time + (row * a->splits + split) * SAMPI_WARP;
    uint64_t *winner = a->winner + (row * a->splits + split) * SAMPI_WARP;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        sampi_race race = start;
        for (uint32_t group = p.first; group < p.end; group++) {
            const bool pairs = sampi_gpu_paired(&p.v, group);
            if (!sampi_gpu_live(&p, p.cell[group * SAMPI_WARP + (uint32_t)lane], p.bar)) continue;
            for (int i = 0; i < 32; i++) {
                const uint32_t id = group * SAMPI_GROUP + sampi_gpu_index(pairs, lane, i);
                if (id >= p.v.n || (p.v.hole && (p.v.hole[id / 32] >> id % 32 & 1))) continue;
                const float l = sampi_gpu_replay(p.op, p.n_ops, id, sampi_gpu_element(&p.v, id));
                sampi_race_run(&race, l, (samp_token)id, 0);
            }
        }
        time[lane] = sampi_bits(race.time);
        winner[lane] = sampi_gpu_key(race.logit, (uint32_t)race.id);
    }
}
#endif

/* Runs a team's part of the pass that the row waits for. */
static void sampi_gpu_walk(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    switch (a->state[row].pass) {
        case SAMPI_PASS_SCAN: sampi_gpu_scan(a, row, split); break;
        case SAMPI_PASS_SUMS: sampi_gpu_walk_sums(a, row, split); break;
        case SAMPI_PASS_SIGMA:
        case SAMPI_PASS_MAX: sampi_gpu_walk_sigma(a, row, split); break;
        case SAMPI_PASS_GATHER:
        case SAMPI_PASS_DIVIDE:
        case SAMPI_PASS_BUCKET: sampi_gpu_walk_list(a, row, split); break;
        case SAMPI_PASS_HIST: sampi_gpu_walk_hist(a, row, split); break;
        case SAMPI_PASS_EDGE:
        case SAMPI_PASS_DRAW: sampi_gpu_walk_draw(a, row, split); break;
#ifdef SAMPLING_GUMBEL_DECLARED
        case SAMPI_PASS_RACE: sampi_gpu_walk_race(a, row, split); break;
#endif
        default: break;
    }
}

/* ---- src/gpu/list.h ---- */
/* ====================================================================================================== >>list
  What one team (a thread block of one warp) does with the tokens of a list. */

/* A row, for the team that runs its steps (samplers), with the row's parts of the arrays. wide holds weights or
   envelopes of a list or of a group, or counts of lanes; code holds places in an order; mass and count are the
   histogram; changed [n_ids] are the tokens whose logits rules change, with their ids in changed_id. */
typedef struct sampi_gpu_here {
    const sampi_gpu_args *a;
    sampi_gpu_job *job;
    sampi_gpu_state *st;
    size_t row;
    uint64_t *wide, *code, *mass, *count;
    sampi_gpu_changed *changed;
    const int32_t *changed_id;
} sampi_gpu_here;

/* Returns a row's sampi_gpu_here. */
static sampi_gpu_here sampi_gpu_at(const sampi_gpu_args *a, size_t row)
{
    sampi_gpu_here h;
    h.a = a;
    h.job = sampi_gpu_job_of(a, row);
    h.st = &a->state[row];
    h.row = row;
    h.wide = a->wide + row * SAMPI_WIDE;
    h.code = a->code + row * SAMP_GPU_LIST;
    h.mass = a->mass + row * SAMPI_BUCKETS;
    h.count = a->count + row * SAMPI_BUCKETS;
    h.changed = a->changed + row * SAMPI_RULES;
    h.changed_id = sampi_gpu_ids(a, row);
    return h;
}

/* Returns the row's list of remaining tokens; list_keep writes to the other of the row's two. */
static sampi_gpu_item *sampi_gpu_list(const sampi_gpu_here *h)
{
    return sampi_gpu_items(h->a, h->row, h->st->buffer);
}

/* Returns the other list's memory as scratch, two 64-bit numbers for each token of a list. list_keep overwrites it. */
static uint64_t *sampi_gpu_spare(const sampi_gpu_here *h)
{
    return (uint64_t *)(void *)sampi_gpu_items(h->a, h->row, h->st->buffer ^ 1);
}

/* Returns the largest key, the first token's; 0 if the list is empty, as no token has a key 0. */
static uint64_t sampi_gpu_list_max(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t best = 0;
    SAMPI_SIMD(reduction(max : best))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) best = item[i].key > best ? item[i].key
                                                                                                    : best;
    return best;
}

/* Computes for a list what the pass SUMS computes for a row (number and sums of the remaining tokens); require_sums
   calls it. */
static void sampi_gpu_list_sums(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    uint64_t z = 0, s = 0;
    float low = INFINITY;
    SAMPI_SIMD(reduction(+ : z, s) reduction(min : low))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        float l = sampi_gpu_logit(item[i].key);
        uint64_t w = sampi_weight(max, l);
        z += w;
        s += sampi_weighted(w, max, l);
        low = l < low ? l : low;
    }
    h->st->n = n;
    h->st->z = z;
    h->st->s = s;
    h->st->low = low;
}

/* Copies the items (tokens) of a list that an operation keeps; returns their number. */
static SAMPI_UNCLONED uint32_t sampi_gpu_copy_items(const sampi_gpu_item *item, uint32_t n, const sampi_gpu_op *op,
                                                    sampi_gpu_item *to)
{
    const uint32_t lane = sampi_gpu_lane(), lanes = sampi_gpu_lanes(), before = ((uint32_t)1 << lane) - 1;
    const sampi_gpu_op o = *op;
    uint32_t all = 0;
    uint64_t next = n ? item[sampi_gpu_min_of(lane, n - 1)].key : 0;
    for (uint32_t i = lane; i < n + lane; i += lanes) {
        const uint64_t key = next;
        next = item[sampi_gpu_min_of(i + lanes, n - 1)].key; /* on its way during the work on this one */
        const bool stays = sampi_gpu_stays(&o, key) & (i < n);
        const uint32_t bits = sampi_gpu_vote(stays);
        if (stays) to[all + sampi_gpu_count_bits(bits & before)] = item[i];
        all += sampi_gpu_count_bits(bits);
    }
    sampi_gpu_join_lanes(); /* all lanes have written, and read *op */
    return all;
}

/* Removes from the list the tokens that an operation removes; for a row without a complete list, the operation itself
   is recorded instead. */
static void sampi_gpu_list_keep(const sampi_gpu_here *h, const sampi_gpu_op *op)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list, other = h->st->buffer ^ 1;
    sampi_gpu_item *to = sampi_gpu_items(h->a, h->row, other);
    const uint32_t all = sampi_gpu_copy_items(item, n, op, to);
    h->st->buffer = other;
    h->st->n_list = all;
}

/* Changes the logits of the list, for change_all. */
static SAMPI_CALLED void sampi_gpu_list_change(const sampi_gpu_here *h, const sampi_gpu_op *op)
{
    sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const sampi_gpu_op o = *op;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const float l = sampi_gpu_change(&o, sampi_gpu_logit(item[i].key));
        item[i].key = sampi_gpu_key(l, sampi_gpu_id(item[i].key));
    }
}

/* One step of a bitonic network on 16 keys in registers: puts keys that are `apart` places from each other in order. */
#define SAMPI_EXCHANGE(apart, descending) \
    SAMPI_UNROLL(8) for (int k_ = 0; k_ < 8; k_++) \
    { \
        const int i_ = k_ / (apart)*2 * (apart) + k_ % (apart); \
        const uint64_t x_ = x[i_], y_ = x[i_ + (apart)]; \
        const bool swaps_ = (x_ < y_) == (descending); \
        x[i_] = swaps_ ? y_ : x_; \
        x[i_ + (apart)] = swaps_ ? x_ : y_; \
    }

/* Sorts each 16 neighbouring keys, alternately descending and ascending. */
static void sampi_gpu_sort_runs(uint64_t *key, uint32_t m)
{
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t run = (uint32_t)lane; run < m / 16; run += SAMPI_WARP)
    {
        const bool down = run % 2 == 0;
        uint64_t x[16];
        SAMPI_UNROLL(16) for (uint32_t i = 0; i < 16; i++) x[i] = key[run * 16 + i];
        SAMPI_AT_ONCE(16, x);
        SAMPI_EXCHANGE(1, (i_ & 2) == 0)
        SAMPI_EXCHANGE(2, (i_ & 4) == 0)
        SAMPI_EXCHANGE(1, (i_ & 4) == 0)
        SAMPI_EXCHANGE(4, (i_ & 8) == 0)
        SAMPI_EXCHANGE(2, (i_ & 8) == 0)
        SAMPI_EXCHANGE(1, (i_ & 8) == 0)
        SAMPI_EXCHANGE(8, down)
        SAMPI_EXCHANGE(4, down)
        SAMPI_EXCHANGE(2, down)
        SAMPI_EXCHANGE(1, down)
        SAMPI_UNROLL(16) for (uint32_t i = 0; i < 16; i++) key[run * 16 + i] = x[i];
    }
}

/* Does up to four steps of the merge to sorted pieces of `size`, each lane with 16 keys in registers that are `apart`
   places from each other: steps of distance `most` * apart, and half of it each time, down to apart. */
static void sampi_gpu_sort_steps(uint64_t *key, uint32_t m, uint32_t size, uint32_t apart, uint32_t most)
{
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t k = (uint32_t)lane; k < m / 16; k += SAMPI_WARP)
    {
        const uint32_t first = (k & ~(apart - 1)) * 16 + (k & (apart - 1));
        const bool down = (first & size) == 0;
        uint64_t x[16];
        SAMPI_UNROLL(16) for (uint32_t i = 0; i < 16; i++) x[i] = key[first + i * apart];
        SAMPI_AT_ONCE(16, x);
        if (most >= 8) SAMPI_EXCHANGE(8, down)
        if (most >= 4) SAMPI_EXCHANGE(4, down)
        if (most >= 2) SAMPI_EXCHANGE(2, down)
        SAMPI_EXCHANGE(1, down)
        SAMPI_UNROLL(16) for (uint32_t i = 0; i < 16; i++) key[first + i * apart] = x[i];
    }
}
#undef SAMPI_EXCHANGE

/* Sorts the keys of the list into `code`, by a bitonic network over the next power of two, filled up with keys 0, which
   come last. */
static void sampi_gpu_list_sort(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t *key = h->code;
    uint32_t m = 16; /* m stays at most SAMP_GPU_LIST, which is a power of two */
    while (m < n) m *= 2;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < m; i += SAMPI_WARP) key[i] = i < n ? item[i].key : 0;
    sampi_gpu_sort_runs(key, m);
    for (uint32_t size = 32; size <= m; size *= 2) {
        uint32_t upto = size; /* steps of distance upto / 2 and less are still to be done */
        for (; upto >= 16; upto /= 16) sampi_gpu_sort_steps(key, m, size, upto / 16, 8);
        if (upto > 1) sampi_gpu_sort_steps(key, m, size, 1, upto / 2);
    }
}

/* Computes the weights of eight keys. */
SAMPI_INLINE void sampi_gpu_weights(float max, const uint64_t *key, uint64_t *w)
{
    sampi_gpu_eight e;
    SAMPI_OF_QUARTER e.l[k] = sampi_gpu_logit(key[k]);
    sampi_gpu_weigh(max, &e);
    SAMPI_OF_QUARTER w[k] = sampi_bits(e.w[k]) - sampi_bits(SAMPI_INT);
}

/* Writes the codes of the list's tokens to `code`, and their weights to `wide` if they matter, for the search for the
   end of a prefix. */
static uint64_t sampi_gpu_list_codes(const sampi_gpu_here *h, bool by_score, bool weighing)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    const double mean = h->st->search.mean;
    uint64_t *code = h->code, *w = h->wide, all = 0, lo = UINT64_MAX, hi = 0;
    SAMPI_SIMD(reduction(+ : all) reduction(min : lo) reduction(max : hi))
    SAMPI_LANES for (uint32_t from = (uint32_t)lane; from < n; from += SAMPI_QUARTER * SAMPI_WARP)
    {
        uint64_t key[SAMPI_QUARTER], weight[SAMPI_QUARTER] = { 0 };
        SAMPI_OF_QUARTER key[k] = item[sampi_gpu_min_of(from + (uint32_t)k * SAMPI_WARP, n - 1)].key;
        SAMPI_AT_ONCE(8, key);
        if (weighing) sampi_gpu_weights(max, key, weight);
        SAMPI_OF_QUARTER
        {
            const uint32_t i = from + (uint32_t)k * SAMPI_WARP;
            if (i >= n) continue;
            const uint64_t x = sampi_gpu_code(by_score, key[k], max, mean);
            code[i] = x;
            w[i] = weight[k];
            all += weight[k];
            lo = x < lo ? x : lo;
            hi = x > hi ? x : hi;
        }
    }
    h->st->search.lo = lo;
    h->st->search.hi = hi;
    return all;
}

/* Leaves only the tokens with this code (that share a score of typical), in the order of keys: their codes become those
   of keys, all other codes become UINT64_MAX, which list_end ignores. */
static SAMPI_CALLED void sampi_gpu_list_tie(const sampi_gpu_here *h, uint64_t tie)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t *code = h->code;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) code[i] = code[i] == tie ? ~item[i].key
                                                                                                   : UINT64_MAX;
}

/* The number of tokens of the list with codes up to a bound, and their mass. */
typedef struct sampi_gpu_prefix {
    uint64_t count, mass;
} sampi_gpu_prefix;

/* Computes number and mass of the tokens with codes up to a bound, from the codes and weights that list_codes has left.
   */
static void sampi_gpu_list_prefix(const sampi_gpu_here *h, uint64_t upto, sampi_gpu_prefix *prefix)
{
    const uint64_t *code = h->code, *w = h->wide;
    const uint32_t n = h->st->n_list;
    uint64_t count = 0, mass = 0;
    SAMPI_SIMD(reduction(+ : count, mass))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        count += code[i] <= upto;
        mass += code[i] <= upto ? w[i] : 0;
    }
    prefix->count = count; /* gcc 12's device compiler fails on a returned struct here */
    prefix->mass = mass;
}

/* Returns how many tokens have keys from this one on: whether a floor leaves min_keep of them (enough_above). */
static SAMPI_CALLED uint64_t sampi_gpu_list_count(const sampi_gpu_here *h, uint64_t from)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t count = 0;
    SAMPI_SIMD(reduction(+ : count))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) count += item[i].key >= from;
    return count;
}

/* Writes the weights of the sorted keys to `wide`. */
static void sampi_gpu_list_weights(const sampi_gpu_here *h)
{
    const uint64_t *key = h->code;
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    uint64_t *w = h->wide;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
        w[i] = sampi_weight(max, sampi_gpu_logit(key[i]));
}

#define SAMPI_GPU_FEW (2 * SAMPI_WARP)    /* up to so many codes are each compared with all others: two per lane */
#define SAMPI_GPU_ONE ((uint64_t)1 << 48) /* a token, beside its weight: 64 weights of at most 2^40 are less */

/* Computes, for each x [64], the sum of y over all x up to it, of the first n (a multiple of eight). */
static SAMPI_UNCLONED void sampi_gpu_pairs(const uint64_t *x, const uint64_t *y, uint32_t n, uint64_t *upto)
{
    SAMPI_SIMD()
    SAMPI_LANES
    {
        const uint64_t a = x[lane], b = x[SAMPI_WARP + lane], *c = x, *d = y, *behind = x + n;
        uint64_t sum_a = 0, sum_b = 0;
        for (; c < behind; c += 8, d += 8) {
            uint64_t p[8], q[8];
            SAMPI_UNROLL(8) for (int k = 0; k < 8; k++) p[k] = c[k];
            SAMPI_UNROLL(8) for (int k = 0; k < 8; k++) q[k] = d[k];
            SAMPI_AT_ONCE(8, p);
            SAMPI_AT_ONCE(8, q);
            SAMPI_UNROLL(8) for (int k = 0; k < 8; k++)
            {
                sum_a += q[k] & sampi_gpu_mask(p[k] <= a);
                sum_b += q[k] & sampi_gpu_mask(p[k] <= b);
            }
        }
        upto[lane] = sum_a;
        upto[SAMPI_WARP + lane] = sum_b;
    }
}

/* Adds a token to the weight of each of n <= SAMPI_GPU_FEW codes; fills both arrays up to SAMPI_GPU_FEW. */
static SAMPI_CALLED void sampi_gpu_few_begin(uint64_t *code, uint64_t *w, uint32_t n)
{
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        if (i < n)
            w[i] += SAMPI_GPU_ONE;
        else
            code[i] = UINT64_MAX, w[i] = 0;
    }
}

/* Returns the smallest of these codes such that the tokens up to it have at least the mass and the number, by the sums
   `upto` of sampi_gpu_pairs; UINT64_MAX, which is not a token's code, if no code does. */
static SAMPI_CALLED uint64_t sampi_gpu_few_end(const uint64_t *code, uint64_t *w, uint64_t mass, uint64_t count,
                                               const uint64_t *upto)
{
    uint64_t end = UINT64_MAX;
    SAMPI_SIMD(reduction(min : end))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const bool reached = ((upto[i] & (SAMPI_GPU_ONE - 1)) >= mass) & (upto[i] >> 48 >= count);
        const uint64_t x = code[i] | sampi_gpu_mask(!reached);
        end = x < end ? x : end;
        w[i] &= SAMPI_GPU_ONE - 1;
    }
    return end;
}

/* Returns the sum of a lane's piece of x [n], a piece being `each` numbers. */
static SAMPI_UNCLONED uint64_t sampi_gpu_sum_piece(const uint64_t *x, uint32_t n, uint32_t each, uint32_t lane)
{
    const uint64_t *piece = x + lane * each;
    uint64_t sum = 0, y[16];
    if (each % 16 == 0 && n == each * SAMPI_WARP) {
        SAMPI_UNROLL(1) for (uint32_t from = 0; from < each; from += 16)
        {
            SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) y[k] = piece[from + k];
            SAMPI_AT_ONCE(16, y);
            SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) sum += y[k];
        }
        return sum;
    }
    SAMPI_UNROLL(1) for (uint32_t from = 0; from < each; from += 4)
    {
        const uint32_t first = lane * each + from;
        SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++) y[k] = x[sampi_gpu_min_of(first + k, n - 1)];
        SAMPI_AT_ONCE(4, y);
        SAMPI_UNROLL(4)
        for (uint32_t k = 0; k < 4; k++) sum += y[k] & sampi_gpu_mask((from + k < each) & (first + k < n));
    }
    return sum;
}

/* Returns the index in x [n] where the running sum exceeds t; *t becomes the rest of t at that index. */
static SAMPI_UNCLONED uint32_t sampi_gpu_find(const uint64_t *x, uint32_t n, uint64_t *t)
{
    const uint32_t lane = sampi_gpu_lane();
    uint64_t left = *t;
    uint32_t at = 0;
    if (!SAMPI_ON_NVIDIA) {
        while (at + 1 < n && x[at] <= left) left -= x[at++];
        n = 1;
    }
    while (n > 1) {
        const uint32_t each = (n + SAMPI_WARP - 1) / SAMPI_WARP;
        const uint64_t sum = sampi_gpu_sum_piece(x + at, n, each, lane);
        const uint64_t run = sampi_gpu_running_sum(sum);
        uint32_t i = 0; /* the first lane whose running sum exceeds t */
        SAMPI_UNROLL(5)
        for (uint32_t k = SAMPI_WARP / 2; k; k /= 2)
            i += k & (uint32_t)sampi_gpu_mask(sampi_gpu_of_lane(run, i + k - 1) <= left);
        left -= sampi_gpu_of_lane(run - sum, i);
        at += i * each;
        n = sampi_gpu_min_of(each, n - i * each);
    }
    sampi_gpu_join_lanes(); /* all lanes have read *t */
    *t = left;
    return at;
}

/* Returns the sum of x [n] modulo 2^64. Nothing is written. */
static SAMPI_UNCLONED uint64_t sampi_gpu_total(const uint64_t *x, uint32_t n)
{
    const uint32_t lane = sampi_gpu_lane(), lanes = SAMPI_ON_NVIDIA ? SAMPI_WARP : 1;
    uint64_t sum = n ? sampi_gpu_sum_piece(x, n, (n + lanes - 1) / lanes, lane) : 0;
    SAMPI_UNROLL(1) for (uint32_t k = 1; k < lanes; k *= 2) sum += sampi_gpu_of_lane(sum, lane ^ k);
    sampi_gpu_join_lanes(); /* all lanes have read x, and what the caller writes next */
    return sum;
}

/* Returns a - b, or 0 if b is larger: what remains of a needed mass or number of tokens. */
SAMPI_INLINE uint64_t sampi_gpu_remaining(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* Sets n buckets of the row's histogram to zero. */
static SAMPI_CALLED void sampi_gpu_clear_buckets(const sampi_gpu_here *h, uint32_t n, bool counting)
{
    uint64_t *mass = h->mass, *count = h->count;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += 8 * SAMPI_WARP)
    {
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) mass[i + k * SAMPI_WARP] = 0;
        if (!counting) continue;
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) count[i + k * SAMPI_WARP] = 0;
    }
}

/* Returns how many bits of the codes in a range SAMPI_FINE buckets leave out. */
SAMPI_INLINE uint32_t sampi_gpu_fine_shift(uint64_t span)
{
    return span < SAMPI_FINE ? 0 : 63 - (uint32_t)__builtin_clzll(span / (SAMPI_FINE / 2));
}

/* Returns the bucket of a histogram with the end of a prefix: the later one of the two in which mass and number are
   reached. *mass and *count become what is needed of its tokens, *before the number of tokens before it. */
static SAMPI_CALLED uint32_t sampi_gpu_end_bucket(const sampi_gpu_here *h, uint32_t n, bool counting, uint64_t *mass,
                                                  uint64_t *count, uint64_t *before)
{
    const uint64_t *masses = h->mass, *counts = h->count;
    /* the prefix with a mass m ends where the running sum exceeds m - 1 */
    const uint64_t all_mass = *mass, all_count = *count;
    uint64_t mass_left = all_mass - 1, count_left = all_count - 1;
    uint32_t bucket = 0, other = 0;
    if (all_mass) bucket = sampi_gpu_find(masses, n, &mass_left); /* has at least one token */
    if (all_count > (all_mass > 0)) other = sampi_gpu_find(counts, n, &count_left);
    const bool by_mass = all_mass && other <= bucket;
    if (other > bucket) bucket = other;
    const uint64_t n_before = counting ? sampi_gpu_total(counts, bucket) : bucket ? SAMP_GPU_LIST : 0;
    const uint64_t mass_before = by_mass ? all_mass - 1 - mass_left : sampi_gpu_total(masses, bucket);
    sampi_gpu_meet(h->st); /* lanes have read what the caller gave */
    *before = n_before;
    *count = sampi_gpu_remaining(all_count, n_before);
    *mass = sampi_gpu_remaining(all_mass, mass_before);
    return bucket;
}

/* Copies the codes from lo to hi and their weights, which are few, one behind the other. */
static SAMPI_CALLED void sampi_gpu_take_few(const sampi_gpu_here *h, uint32_t n, uint64_t lo, uint64_t hi,
                                            uint64_t *few, uint64_t *few_w)
{
    const uint32_t lane = sampi_gpu_lane(), lanes = sampi_gpu_lanes(), before = ((uint32_t)1 << lane) - 1;
    const uint64_t *code = h->code, *w = h->wide;
    uint32_t all = 0;
    uint64_t next = code[sampi_gpu_min_of(lane, n - 1)];
    for (uint32_t i = lane; i < n + lane; i += lanes) {
        const uint64_t x = next;
        next = code[sampi_gpu_min_of(i + lanes, n - 1)];
        const bool in = (x >= lo) & (x <= hi) & (i < n);
        const uint32_t bits = sampi_gpu_vote(in), at = all + sampi_gpu_count_bits(bits & before);
        if (in) few[at] = x, few_w[at] = w[i];
        all += sampi_gpu_count_bits(bits);
    }
    sampi_gpu_join_lanes(); /* all lanes have written */
}

/* Makes a histogram of the list's codes from lo to hi; returns how many bits of a code its buckets leave out. */
static SAMPI_CALLED uint32_t sampi_gpu_count_codes(const sampi_gpu_here *h, uint32_t n, uint64_t lo, uint64_t hi)
{
    const uint64_t *code = h->code, *w = h->wide, span = hi - lo;
    uint64_t *mass = h->mass, *count = h->count;
    const uint32_t shift = sampi_gpu_fine_shift(span);
    sampi_gpu_clear_buckets(h, SAMPI_FINE, true);
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t from = (uint32_t)lane; from < n; from += 4 * SAMPI_WARP)
    {
        uint64_t x[4], y[4];
        SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++) x[k] = code[sampi_gpu_min_of(from + k * SAMPI_WARP, n - 1)];
        SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++) y[k] = w[sampi_gpu_min_of(from + k * SAMPI_WARP, n - 1)];
        SAMPI_AT_ONCE(4, x);
        SAMPI_AT_ONCE(4, y);
        SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++)
        {
            if (from + k * SAMPI_WARP >= n || x[k] - lo > span) continue; /* below lo too: the difference wraps */
            __atomic_fetch_add(&mass[(x[k] - lo) >> shift], y[k], __ATOMIC_RELAXED);
            __atomic_fetch_add(&count[(x[k] - lo) >> shift], (uint64_t)1, __ATOMIC_RELAXED);
        }
    }
    return shift;
}

/* Returns the smallest code such that the tokens up to it, of those with codes from lo to hi, have at least the mass
   and the number, which all of them have (if they are few, UINT64_MAX if they have less). */
static uint64_t sampi_gpu_list_end(const sampi_gpu_here *h, uint32_t n, uint64_t lo, uint64_t hi, uint64_t mass,
                                   uint64_t count)
{
    uint64_t *few = h->code, *few_w = h->wide, *upto = sampi_gpu_spare(h), before = 0, n_in = n;
    while (lo < hi && n_in > SAMPI_GPU_FEW) {
        const uint32_t shift = sampi_gpu_count_codes(h, n, lo, hi);
        const uint32_t bucket = sampi_gpu_end_bucket(h, SAMPI_FINE, true, &mass, &count, &before);
        const uint64_t span = ((uint64_t)1 << shift) - 1;
        n_in = h->count[bucket];
        lo += (uint64_t)bucket << shift;
        if (hi - lo > span) hi = lo + span;
        sampi_gpu_meet(h->st); /* all lanes have read the bucket */
    }
    if (n_in > SAMPI_GPU_FEW) return hi; /* these tokens share one code */
    if (n > SAMPI_GPU_FEW) {
        few = upto, few_w = few + SAMPI_GPU_FEW, upto = few_w + SAMPI_GPU_FEW;
        sampi_gpu_take_few(h, n, lo, hi, few, few_w);
    }
    sampi_gpu_few_begin(few, few_w, (uint32_t)n_in);
    sampi_gpu_pairs(few, few_w, ((uint32_t)n_in + 7) & ~(uint32_t)7, upto);
    return sampi_gpu_few_end(few, few_w, mass, count, upto);
}

/* Writes the ids of the list's tokens as codes, and their envelopes as weights; returns the sum of the envelopes. */
static SAMPI_CALLED uint64_t sampi_gpu_list_envelopes(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    uint64_t *q = h->wide, *code = h->code, total = 0;
    SAMPI_SIMD(reduction(+ : total))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        code[i] = sampi_gpu_id(item[i].key);
        q[i] = sampi_envelope(max, sampi_gpu_logit(item[i].key));
        total += q[i];
    }
    return total;
}

/* Returns the token of the list with the largest id up to that one, as id << 32 | logit (a key is logit above ~id). */
static SAMPI_CALLED uint64_t sampi_gpu_last_upto(const sampi_gpu_here *h, uint64_t last)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint64_t *code = h->code;
    const uint32_t n = h->st->n_list;
    uint64_t token = 0;
    SAMPI_SIMD(reduction(max : token))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint64_t x = (uint64_t)sampi_gpu_id(item[i].key) << 32 | item[i].key >> 32;
        token = code[i] <= last && x > token ? x : token;
    }
    return token;
}

/* Returns the key of a token drawn from the list, by sampi_draw's rule. */
static uint64_t sampi_gpu_list_draw(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    const uint64_t total = sampi_gpu_list_envelopes(h);
    uint64_t random[2];
    for (uint32_t attempt = 0;; attempt++) {
        if (attempt) sampi_gpu_meet(h->st); /* lanes have read `random` */
        sampi_random_bits(step->seed, h->job->position, step->stream, attempt, random);
        const uint64_t last = sampi_gpu_list_end(h, n, 0, h->a->n_vocab, sampi_mulhi(random[0], total) + 1, 0);
        const uint64_t token = sampi_gpu_last_upto(h, last);
        const uint64_t key = token << 32 | (uint32_t) ~(token >> 32);
        float l = sampi_gpu_logit(key);
        /* the token is taken with the probability weight / envelope; else the next two random numbers are tried */
        if (sampi_mulhi(random[1], (uint64_t)sampi_envelope(max, l) << 14) < sampi_weight(max, l)) return key;
    }
}

/* ---- src/gpu/left.h ---- */
/* ===================================================================================================== >>steps
  Advancing a row, one sampler after the other, by the one team (thread block) that ended a pass over the row last. */

#define SAMPI_GPU_DECLINED (-64)                     /* a status: the CPU must sample the row */
#define SAMPI_GPU_ALL      sampi_gpu_floor(-FLT_MAX) /* the floor that all unmasked tokens reach */

/* ---- what is known of the tokens left ----
  The questions. */

/* Notes that a sampler has removed tokens or changed logits: the sums are no longer known, and the maximum only if
   max_known says so. */
static void sampi_gpu_invalidate(sampi_gpu_state *st, bool max_known)
{
    sampi_gpu_meet(st);
    st->sums_known = st->shares_known = st->drawn = false;
    st->max_known = max_known;
    st->asked = 0;
}

/* Returns the index of a token among the changed ones, by bisection; n_ids if its logit is not changed. */
SAMPI_INLINE uint32_t sampi_gpu_changed_at(const sampi_gpu_here *h, uint32_t id)
{
    uint32_t lo = 0, hi = h->job->n_ids;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if ((uint32_t)h->changed_id[mid] < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < h->job->n_ids && (uint32_t)h->changed_id[lo] == id ? lo : h->job->n_ids;
}

/* Returns the largest of the changed logits, -inf if there are none. */
static SAMPI_CALLED float sampi_gpu_changed_max(const sampi_gpu_here *h)
{
    const sampi_gpu_changed *c = h->changed;
    const uint32_t n = h->job->n_ids;
    float max = -INFINITY;
    SAMPI_SIMD(reduction(max : max))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) max = c[i].l > max ? c[i].l : max;
    return max;
}

/* Makes the maximum of the remaining tokens known; returns a status if none remain. */
static int sampi_gpu_require_max(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    if (!st->max_known && !st->complete) {
        st->pass = SAMPI_PASS_MAX;
        return 0;
    }
    /* a complete row (all remaining tokens are in the list) needs no pass */
    if (!st->max_known) {
        const float max = st->n_list ? sampi_gpu_logit(sampi_gpu_list_max(h)) : -INFINITY;
        sampi_gpu_meet(st);
        st->max = max;
        st->max_known = true;
    }
    int status = sampi_row_max_status(st->max);
    return status ? status : 1;
}

/* Returns how many of n maxima reach a, b and c, as three fields of 21 bits: one step of find_floor's search. */
static uint64_t sampi_gpu_count_parts(const float *part, uint32_t n, float a, float b, float c)
{
    uint64_t count = 0;
    SAMPI_SIMD(reduction(+ : count))
    SAMPI_LANES for (uint32_t from = 0; from < n; from += 16 * SAMPI_WARP)
    {
        const uint32_t first = from + (uint32_t)lane;
        float x[16];
        uint32_t n_a = 0, n_b = 0, n_c = 0;
        SAMPI_UNROLL(16)
        for (uint32_t k = 0; k < 16; k++) x[k] = part[sampi_gpu_min_of(first + k * SAMPI_WARP, n - 1)];
        SAMPI_AT_ONCE(16, x);
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++)
        {
            x[k] = first + k * SAMPI_WARP < n ? x[k] : -INFINITY;
            n_a += x[k] >= a, n_b += x[k] >= b, n_c += x[k] >= c;
        }
        count += n_a + ((uint64_t)n_b << 21) + ((uint64_t)n_c << 42);
    }
    return count;
}

/* Returns sampi_key of the smallest of n maxima. */
static SAMPI_CALLED int32_t sampi_gpu_smallest_part(const float *part, uint32_t n)
{
    int32_t smallest = INT32_MAX;
    SAMPI_SIMD(reduction(min : smallest))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += 16 * SAMPI_WARP)
    {
        float x[16], m = INFINITY;
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) x[k] = part[sampi_gpu_min_of(i + k * SAMPI_WARP, n - 1)];
        SAMPI_AT_ONCE(16, x);
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) m = x[k] < m ? x[k] : m;
        const int32_t key = sampi_key(m);
        smallest = key < smallest ? key : smallest;
    }
    return smallest;
}

/* Returns a floor that at least `want` remaining tokens reach, if there are so many besides the changed ones, and not
   many more. */
static uint64_t sampi_gpu_find_floor(const sampi_gpu_here *h, uint32_t want)
{
    const sampi_gpu_args *a = h->a;
    uint32_t n = a->splits * SAMPI_WARP;
    const float *part = a->lane_max + h->row * n;
    /* teams' maxima are few: a search among them is short, and the list hardly longer */
    const bool few = a->splits >= 3 * want;
    if (few) n = a->splits, part = a->team_max + h->row * n;
    if (n < 2 * want) n = a->groups * SAMPI_WARP, part = a->cell + h->row * n;
    /* there are fewer parts than tokens wanted: only a list of all tokens is sure to have so many */
    if (n < want) return SAMPI_GPU_ALL;
    int32_t lo = sampi_key(-FLT_MAX), hi = sampi_key(h->st->dense_max) + 1;
    const int32_t smallest = sampi_gpu_smallest_part(part, n);
    /* all parts reach the smallest, so the search begins there */
    if (smallest > lo)
        lo = smallest;
    else if ((sampi_gpu_count_parts(part, n, -FLT_MAX, 0.0f, 0.0f) & 0x1FFFFF) < want)
        return SAMPI_GPU_ALL;
    while ((int64_t)hi - lo > 1) { /* `want` parts reach lo, fewer reach hi */
        const int32_t mid = sampi_middle(lo, hi), low = sampi_middle(lo, mid), high = sampi_middle(mid, hi);
        const uint64_t counts = sampi_gpu_count_parts(part, n, sampi_unkey(low), sampi_unkey(mid), sampi_unkey(high));
        const uint32_t n_a = counts & 0x1FFFFF, n_b = counts >> 21 & 0x1FFFFF, n_c = (uint32_t)(counts >> 42);
        const uint32_t count = n_c >= want ? n_c : n_b >= want ? n_b : n_a;
        if (n_c < want) hi = n_b >= want ? high : n_a >= want ? mid : low;
        if (count >= want) lo = n_c >= want ? high : n_b >= want ? mid : low;
        /* the count is near enough: a longer search would cost more than a longer list */
        if (count >= want && count <= want + (few ? want / 10 : want / 4 + 4)) break;
    }
    return sampi_gpu_floor(sampi_gpu_rescale(h->st->op, h->st->n_ops, sampi_unkey(lo)));
}

/* Makes a list of all remaining tokens whose keys are >= floor. */
static int sampi_gpu_require_list(const sampi_gpu_here *h, uint64_t floor)
{
    sampi_gpu_state *st = h->st;
    if (st->complete || (st->listed && st->floor <= floor)) return 1;
    /* a lower floor can only make the list longer */
    if (st->overflown && st->floor >= floor) return SAMPI_GPU_DECLINED;
    sampi_gpu_meet(st);
    st->pass = SAMPI_PASS_GATHER;
    st->floor = floor;
    st->n_list = 0;
    st->listed = st->overflown = false;
    return 0;
}

/* Makes a list of at least the first `want` tokens in order, or of all. */
static int sampi_gpu_require_first(const sampi_gpu_here *h, uint64_t want)
{
    sampi_gpu_state *st = h->st;
    if (st->complete || (st->listed && (st->n_list >= want || st->floor <= SAMPI_GPU_ALL))) return 1;
    /* a list has room for twice as many as wanted: a floor found among maxima lets in more than that */
    if (want > SAMP_GPU_LIST / 2 || want <= st->asked) return SAMPI_GPU_DECLINED;
    sampi_gpu_meet(st);
    st->asked = (uint32_t)want;
    return sampi_gpu_require_list(h, st->thinned ? SAMPI_GPU_ALL : sampi_gpu_find_floor(h, (uint32_t)want));
}

/* Makes a list of all remaining tokens; from then on the row is `complete`: no pass reads it again, and samplers change
   the list instead of being recorded. */
static int sampi_gpu_require_all(const sampi_gpu_here *h)
{
    int known = sampi_gpu_require_list(h, SAMPI_GPU_ALL);
    if (known == 1 && !h->st->complete) {
        sampi_gpu_meet(h->st);
        h->st->complete = true;
    }
    return known;
}

/* Makes n, z, s and low (see sampi_gpu_state) and the maximum known, for samplers that depend on probabilities or on
   the number of tokens. */
static int sampi_gpu_require_sums(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_require_max(h);
    if (known != 1 || st->sums_known) return known;
    if (st->complete) {
        sampi_gpu_list_sums(h);
        st->sums_known = true;
        return 1;
    }
    /* a list beside the sums costs little where maxima of cells can still find its floor */
    const bool listing = !st->listed && !st->overflown && !st->thinned;
    sampi_gpu_meet(st);
    st->pass = SAMPI_PASS_SUMS;
    st->listing = listing;
    if (listing) {
        st->asked = SAMPI_HEAD;
        st->floor = sampi_gpu_find_floor(h, SAMPI_HEAD);
        st->n_list = 0;
    }
    return 0;
}

/* ---- src/gpu/done.h ---- */
/* ---- what a step does to the tokens left ----
  Removing tokens, and changing all logits. */

/* Adds an operation to those that later passes repeat. */
static void sampi_gpu_push(sampi_gpu_state *st, const sampi_gpu_op *op)
{
    const uint32_t n = st->n_ops;
    st->op[n] = *op;
    sampi_gpu_meet(st);
    st->n_ops = n + 1;
}

/* Applies the newest operation to the changed tokens (those whose logits penalties, dry or logit_bias change) now: they
   are few, and readers then need not repeat operations. */
static void sampi_gpu_apply_changed(const sampi_gpu_here *h)
{
    sampi_gpu_changed *c = h->changed;
    const int32_t *id = h->changed_id;
    const uint32_t n = h->job->n_ids;
    const sampi_gpu_op *op = &h->st->op[h->st->n_ops - 1];
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) c[i].l = sampi_gpu_replay(
        op, 1, (uint32_t)id[i], c[i].l);
}

/* Keeps the tokens with keys from this one on, a prefix of the order. */
static void sampi_gpu_keep_from(const sampi_gpu_here *h, uint64_t key)
{
    sampi_gpu_state *st = h->st;
    const sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_FROM, 0.0f, key);
    const float bar = st->bar;
    sampi_gpu_invalidate(st, st->max_known);
    if (!st->complete) {
        sampi_gpu_push(st, &op);
        sampi_gpu_apply_changed(h);
        /* the bar, a lower bound of the remaining logits, is a logit, which other tokens may share with the key: it
           must not be above them */
        if (key > SAMPI_GPU_ALL && sampi_gpu_logit(key) > bar) st->bar = sampi_gpu_logit(key);
        st->overflown = false;
        st->complete = st->listed && st->floor <= key;
    }
    if (st->complete) sampi_gpu_list_keep(h, &op);
}

/* Keeps the tokens with keys up to this one, which is the key of a token and becomes the first: for xtc. */
static void sampi_gpu_keep_until(const sampi_gpu_here *h, uint64_t key)
{
    sampi_gpu_state *st = h->st;
    const sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_UNTIL, 0.0f, key);
    if (!st->complete) {
        sampi_gpu_push(st, &op);
        sampi_gpu_apply_changed(h);
        st->overflown = false;
        st->thinned = true;
    }
    if (st->complete || st->listed) sampi_gpu_list_keep(h, &op);
    /* the key is that of a remaining token */
    sampi_gpu_invalidate(st, true);
    st->max = sampi_gpu_logit(key);
}

/* Changes every logit: temperatures, smoothing, log_softmax. */
static void sampi_gpu_change_all(const sampi_gpu_here *h, const sampi_gpu_op *op)
{
    sampi_gpu_state *st = h->st;
    const bool ordered = sampi_gpu_keeps_order(op), max_known = st->max_known && ordered;
    const float max = st->max, bar = st->bar;
    sampi_gpu_invalidate(st, max_known);
    if (st->complete) {
        sampi_gpu_list_change(h, op);
    } else {
        sampi_gpu_push(st, op);
        sampi_gpu_apply_changed(h);
        st->listed = st->overflown = false;
        if (!ordered) st->thinned = true;
        st->bar = ordered ? sampi_gpu_change(op, bar) : -INFINITY;
    }
    if (max_known) st->max = sampi_gpu_change(op, max);
}

/* Notes that the CPU's array would be sorted here, by a SAMPI_GPU_BY_*. Nothing is sorted: each token that may be
   exported records its current logit. */
static void sampi_gpu_mark_order(const sampi_gpu_here *h, int32_t order, double mean)
{
    sampi_gpu_state *st = h->st;
    /* an invalid list gets nothing: its items are written again before they count */
    const uint32_t n = st->complete || st->listed ? st->n_list : 0, n_changed = h->job->n_ids;
    sampi_gpu_item *item = sampi_gpu_list(h);
    sampi_gpu_changed *c = h->changed;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) item[i].at_order = sampi_gpu_logit(item[i].key);
        for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP) c[i].at_order = c[i].l;
    }
    st->order = order;
    st->sorted = order == SAMPI_GPU_BY_KEY;
    st->order_at = (int32_t)st->n_ops + 1;
    st->order_max = st->max;
    st->order_mean = mean;
}

/* Notes that the CPU's array would get its p here, in the same way, with the sums that p is computed from, which must
   be known. */
static void sampi_gpu_mark_p(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    const uint32_t n = st->complete || st->listed ? st->n_list : 0, n_changed = h->job->n_ids;
    sampi_gpu_item *item = sampi_gpu_list(h);
    sampi_gpu_changed *c = h->changed;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) item[i].at_p = sampi_gpu_logit(item[i].key);
        for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP) c[i].at_p = c[i].l;
    }
    st->p_set = true;
    st->p_at = (int32_t)st->n_ops + 1;
    st->p_max = st->max;
    st->p_z = st->z;
}

/* ---- src/gpu/prefix.h ---- */
/* ---- the end of a prefix ----
  The end of a prefix, at which top_k, top_p, typical, greedy and others cut: the last token of the shortest beginning
     of an order with a given mass and number of tokens. */

/* Decides whether the pass that lists the tokens around a prefix's end sums the draw's envelope too. */
static void sampi_gpu_look_ahead(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    const sampi_gpu_step *step = &h->job->step[st->at], *end = h->job->step + h->job->n_steps;
    const bool top_p = step->kind == SAMPI_TOP_P || step->kind == SAMPI_TOP_P_DECAY;
    float factor = 1.0f;
    if (++step < end && step->kind == SAMPI_TEMP && step->u.temp.t >= SAMPI_TEMP_MIN)
        factor = 1.0f / step++->u.temp.t;
    const bool draws = top_p && step < end && step->kind == SAMPI_DIST;
    const sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_SCALE, factor, 0);
    st->factor = factor;
    st->then = sampi_gpu_change(&op, st->max);
    st->ahead = draws ? SAMPI_GPU_AHEAD_ASKED : SAMPI_GPU_AHEAD_NO;
}

/* Begins a histogram of the codes in [lo, hi]. */
static SAMPI_CALLED void sampi_gpu_begin_histogram(const sampi_gpu_here *h, uint64_t lo, uint64_t hi, bool even)
{
    sampi_gpu_search *search = &h->st->search;
    sampi_gpu_clear_buckets(h, even ? SAMPI_BUCKETS : SAMPI_FINE, !even || search->counting);
    if (!even) search->counting = true;
    search->lo = lo;
    search->hi = hi;
    search->shift = even ? SAMPI_EVEN : sampi_gpu_fine_shift(hi - lo);
}

/* Asks for the first histogram, of all possible codes: of any score, or from the first token's key to that of the
   smallest logit. */
static int sampi_gpu_ask_histogram(const sampi_gpu_here *h, int32_t stage)
{
    sampi_gpu_state *st = h->st;
    const uint64_t lo = st->search.by_score ? 0 : ~sampi_gpu_key(st->max, 0);
    sampi_gpu_look_ahead(h);
    st->search.counting = st->search.count > 1 || !st->search.mass || !st->ahead;
    sampi_gpu_begin_histogram(h, lo, st->search.by_score ? sampi_bits(INFINITY) : ~SAMPI_GPU_ALL, true);
    st->search.stage = stage;
    st->pass = SAMPI_PASS_HIST;
    return 0;
}

/* Makes n and z known, for the prefix of a top_p, by the histogram of the whole row, which the search for the prefix
   then begins with (n counts only if min_keep could exceed it). */
static int sampi_gpu_require_shares(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    const uint64_t *mass = h->mass, *count = h->count;
    const bool made = st->search.stage == SAMPI_SEARCH_SHARES;
    const int known = sampi_gpu_require_max(h);
    if (known != 1 || st->shares_known) return known;
    if (st->sums_known || st->complete) return sampi_gpu_require_sums(h);
    if (made) {
        const uint64_t z = sampi_gpu_total(mass, SAMPI_BUCKETS);
        const uint64_t n = st->search.counting ? sampi_gpu_total(count, SAMPI_BUCKETS) : 1;
        sampi_gpu_meet(st);
        st->n = n, st->z = z;
        st->shares_known = true;
        return 1;
    }
    sampi_gpu_meet(st);
    st->search.by_score = false;
    st->search.mass = 1; /* weights are asked for */
    st->search.count = step->u.cut.min_keep;
    return sampi_gpu_ask_histogram(h, SAMPI_SEARCH_SHARES);
}

/* ---- by histograms ---- */

/* Finds the end of the prefix in the list, which has the tokens that are still needed, from the codes (places in the
   order) that list_codes has written just before. */
static void sampi_gpu_search_list(const sampi_gpu_here *h)
{
    sampi_gpu_search *search = &h->st->search;
    const uint64_t code = sampi_gpu_list_end(h, h->st->n_list, search->lo, search->hi, search->mass, search->count);
    sampi_gpu_prefix upto, below = { 0, 0 };
    search->score = code;
    search->key = search->by_score ? 0 : ~code;
    if (!search->by_score) return;
    sampi_gpu_list_prefix(h, code, &upto);
    if (code > 0) sampi_gpu_list_prefix(h, code - 1, &below);
    if (upto.count - below.count <= 1) return;
    sampi_gpu_list_tie(h, code); /* a tie: keys decide about the rest */
    const uint64_t mass = sampi_gpu_remaining(search->mass, below.mass);
    const uint64_t count = sampi_gpu_remaining(search->count, below.count);
    search->key = ~sampi_gpu_list_end(h, h->st->n_list, 0, UINT64_MAX - 1, mass, count);
}

/* Returns the first code of 32 with one logit each, the last one of them the code `last`, that belongs to a bucket or
   to a later one; the code behind `last` if none does. */
static SAMPI_CALLED uint64_t sampi_gpu_first_of_bucket(const sampi_gpu_search *search, float max, uint32_t bucket,
                                                       uint64_t last)
{
    const uint64_t lo = search->lo, hi = search->hi;
    uint64_t found = last + 1;
    SAMPI_SIMD(reduction(min : found))
    SAMPI_LANES
    {
        const uint64_t x = last - ((uint64_t)(SAMPI_WARP - 1 - lane) << 32), code = x < lo ? lo : x > hi ? hi : x;
        found = sampi_gpu_bucket(search, max, code) >= bucket && code < found ? code : found;
    }
    return found;
}

/* Returns the first code of a histogram's bucket, or of a later bucket if it is empty; hi + 1 if there is none. */
static uint64_t sampi_gpu_bucket_start(const sampi_gpu_search *search, float max, uint32_t bucket)
{
    uint64_t lo = search->lo, hi = search->hi + 1;
    if (search->shift < SAMPI_EVEN) { /* the first code of a bucket of 2^shift codes has a formula */
        const uint64_t start = (uint64_t)bucket << search->shift;
        return start < hi - lo ? lo + start : hi;
    }
    if (bucket == 0) return lo;
    const double x = bucket < 768 ? (double)bucket : ((double)bucket - 576.0) * 4.0; /* as in sampi_gpu_even */
    const float near_ = (float)sampi_add_to_product64(x / -64.0, (double)max);
    if (!search->by_score && near_ > -FLT_MAX) {
        const uint64_t last = ~sampi_gpu_key(near_ + 0.0f, 0) + ((uint64_t)(SAMPI_WARP / 2) << 32);
        const uint64_t found = sampi_gpu_first_of_bucket(search, max, bucket, last);
        if (found > last - ((uint64_t)(SAMPI_WARP - 1) << 32) && found > lo && found <= last && found < search->hi)
            return found;
    }
    while (lo < hi) {
        const uint64_t mid = lo + (hi - lo) / 2;
        if (sampi_gpu_bucket(search, max, mid) < bucket)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Makes the histogram's bucket with the end of the prefix the range to search. */
static void sampi_gpu_take_bucket(const sampi_gpu_here *h)
{
    sampi_gpu_search *search = &h->st->search;
    const float max = h->st->max;
    const uint64_t all_before = search->before;
    const uint32_t n = search->shift == SAMPI_EVEN ? SAMPI_BUCKETS : SAMPI_FINE;
    uint64_t mass = search->mass, count = search->count, before = 0;
    const uint32_t bucket = sampi_gpu_end_bucket(h, n, search->counting, &mass, &count, &before);
    const uint64_t lo = sampi_gpu_bucket_start(search, max, bucket);
    const uint64_t hi = sampi_gpu_bucket_start(search, max, bucket + 1) - 1;
    sampi_gpu_meet(h->st); /* lanes have read the search */
    search->before = all_before + before;
    search->count = count;
    search->mass = mass;
    search->lo = lo;
    search->hi = hi;
}

/* Asks for a list of the tokens of the range that is searched. */
static int sampi_gpu_ask_bucket(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    const bool edge = st->ahead && (uint32_t)st->search.lo == 0 && (uint32_t)st->search.hi == UINT32_MAX;
    sampi_gpu_meet(st); /* lanes have read it */
    if (!edge) st->ahead = SAMPI_GPU_AHEAD_NO;
    st->search.stage = SAMPI_SEARCH_BUCKET;
    st->pass = edge ? SAMPI_PASS_EDGE : SAMPI_PASS_BUCKET;
    st->n_list = 0;
    st->listed = st->overflown = false;
    return 0;
}

/* Takes over a histogram of the row: chooses the bucket to search next. */
static int sampi_gpu_search_bucket(const sampi_gpu_here *h)
{
    sampi_gpu_search *search = &h->st->search;
    const uint64_t *mass = h->mass, *count = h->count;
    /* fewer tokens remain than are wanted: the prefix has no end (a bucket that is divided has it) */
    if (search->shift == SAMPI_EVEN &&
        ((!h->st->shares_known && sampi_gpu_total(mass, SAMPI_BUCKETS) < search->mass) ||
         (search->counting && sampi_gpu_total(count, SAMPI_BUCKETS) < search->count))) {
        search->key = 0; /* all tokens */
        search->score = UINT64_MAX;
        search->stage = SAMPI_SEARCH_ALL;
        return 1;
    }
    sampi_gpu_take_bucket(h);
    return sampi_gpu_ask_bucket(h);
}

/* Searches the end of a prefix in the list of the first tokens, which is made if there is none. */
static int sampi_gpu_prefix_of_list(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    const uint64_t mass = search->mass, count = search->count;
    const bool by_score = search->by_score;
    int known = 1;
    if (by_score && !st->complete) return SAMPI_GPU_DECLINED; /* the first by key are not the first by score */
    if (!st->complete && !st->listed)
        known = sampi_gpu_require_first(h, mass && count < SAMPI_HEAD ? SAMPI_HEAD : count);
    if (known != 1) return known;
    const uint64_t sum = sampi_gpu_list_codes(h, by_score, mass > 0);
    /* a list that is too short is still the answer if there are no more tokens */
    const bool all = st->complete || st->floor <= SAMPI_GPU_ALL, enough = sum >= mass && st->n_list >= count;
    if (enough) {
        sampi_gpu_search_list(h);
    } else if (all) {
        search->key = 0;
        search->score = UINT64_MAX;
    }
    if (enough || all) return 1;
    return mass ? SAMPI_GPU_DECLINED : sampi_gpu_require_first(h, count);
}

/* Adds the list's tokens of the prefix to the groups' sums of the envelope, which are then those of the draw. */
static SAMPI_CALLED void sampi_gpu_join_edge(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list, n_changed = h->job->n_ids;
    uint64_t *sum = h->a->sum + h->row * h->a->groups;
    const uint64_t key = h->st->search.key;
    const float then = h->st->then, factor = h->st->factor;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        uint64_t x, next = item[sampi_gpu_min_of((uint32_t)lane, n - 1)].key;
        for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) {
            x = next;
            next = item[sampi_gpu_min_of(i + SAMPI_WARP, n - 1)].key; /* on its way during the work on this one */
            const uint32_t id = sampi_gpu_id(x);
            const float l = sampi_gpu_scaled(sampi_gpu_logit(x), factor);
            if (x < key || (n_changed && sampi_gpu_changed_at(h, id) < n_changed)) continue;
            __atomic_fetch_add(&sum[id / SAMPI_GROUP], (uint64_t)sampi_envelope(then, l), __ATOMIC_RELAXED);
        }
    }
    h->st->ahead = SAMPI_GPU_AHEAD_MADE;
}

/* Finds the end of the prefix among the tokens of a bucket, which are in the list. */
static SAMPI_CALLED int sampi_gpu_end_in_bucket(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    const bool by_score = search->by_score, fits = st->n_list <= SAMP_GPU_LIST;
    sampi_gpu_prefix p;
    if (!fits && search->lo == search->hi) return SAMPI_GPU_DECLINED;
    sampi_gpu_meet(st); /* lanes have read the state */
    if (!fits) {
        sampi_gpu_begin_histogram(h, search->lo, search->hi, false);
        search->stage = SAMPI_SEARCH_HISTOGRAM;
        st->pass = SAMPI_PASS_DIVIDE;
        return 0;
    }
    search->stage = SAMPI_SEARCH_LIST;
    if (h->job->n_ids) sampi_gpu_list_codes(h, by_score, true); /* changed tokens have joined the list */
    sampi_gpu_search_list(h);
    if (st->ahead) sampi_gpu_join_edge(h);
    if (by_score || st->ahead || search->before > SAMP_GPU_LIST) return 1;
    sampi_gpu_list_prefix(h, ~search->key, &p);
    return search->before + p.count <= SAMP_GPU_LIST ? sampi_gpu_require_list(h, search->key) : 1;
}

/* Finds the shortest prefix with at least this mass and this number of tokens, or all tokens; search.key (and score)
   are then the place of its last token. */
static int sampi_gpu_require_prefix(const sampi_gpu_here *h, bool by_score, double mean, uint64_t mass,
                                    uint64_t count)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    const int32_t stage = search->stage;
    if (stage == SAMPI_SEARCH_IDLE || stage == SAMPI_SEARCH_SHARES) {
        sampi_gpu_meet(st);
        search->by_score = by_score;
        search->mean = mean;
        /* stored here: later calls continue this search whatever arguments they get */
        search->mass = mass || stage == SAMPI_SEARCH_IDLE ? mass : 1; /* a prefix has at least one token */
        search->count = count;
        search->before = 0;
    }
    if (stage == SAMPI_SEARCH_IDLE) {
        known = sampi_gpu_prefix_of_list(h);
        if (known != SAMPI_GPU_DECLINED) return known;
        return sampi_gpu_ask_histogram(h, SAMPI_SEARCH_HISTOGRAM);
    }
    if (stage == SAMPI_SEARCH_SHARES || stage == SAMPI_SEARCH_HISTOGRAM) known = sampi_gpu_search_bucket(h);
    if (stage == SAMPI_SEARCH_BUCKET) known = sampi_gpu_end_in_bucket(h);
    if (known != 1) return known;
    sampi_gpu_meet(st);
    search->stage = SAMPI_SEARCH_IDLE;
    return 1;
}

/* Finds whether at least min_keep tokens have a logit >= floor. */
static int sampi_gpu_enough_above(const sampi_gpu_here *h, uint64_t from, uint64_t *min_keep, bool *enough)
{
    int known = sampi_gpu_require_list(h, from);
    *enough = true;
    if (known == SAMPI_GPU_DECLINED && *min_keep <= SAMP_GPU_LIST) return 1;
    if (known != 1) return known;
    const uint64_t count = sampi_gpu_list_count(h, from);
    if (count < *min_keep) {
        known = sampi_gpu_require_sums(h);
        if (known != 1) return known;
        if (*min_keep > h->st->n) *min_keep = h->st->n;
    }
    *enough = count >= *min_keep;
    return 1;
}

/* Added to the caller's phase: min_keep decides, not the floor. */
enum { SAMPI_PHASE_MIN_KEEP = 16 };

/* Keeps the tokens with logits >= floor, but at least the first min_keep (>= 1) in order: for min_p, by_sums and
   mirostat_v2. */
static int sampi_gpu_keep_above(const sampi_gpu_here *h, double floor, uint64_t min_keep)
{
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    const int32_t phase = st->memory.phase % SAMPI_PHASE_MIN_KEEP;
    if (st->memory.phase < SAMPI_PHASE_MIN_KEEP) {
        const uint64_t from = sampi_gpu_floor(sampi_float_up(floor));
        bool enough = false;
        /* no token reaches a floor above the maximum: min_keep decides at once */
        if (!(floor > (double)st->max)) known = sampi_gpu_enough_above(h, from, &min_keep, &enough);
        if (known != 1) return known;
        if (enough) {
            sampi_gpu_keep_from(h, from);
            return 1;
        }
        sampi_gpu_meet(st);
        st->memory.phase = phase + SAMPI_PHASE_MIN_KEEP;
    }
    known = sampi_gpu_require_prefix(h, false, 0.0, 0, min_keep);
    if (known != 1) return known;
    sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    sampi_gpu_keep_from(h, st->search.key);
    st->memory.phase = phase;
    return 1;
}

/* ---- src/gpu/choosing.h ---- */
/* ---- the draw ----
  sampi_gpu_draw_key, for dist, mirostat and adaptive_p: returns the key of the chosen token, from a list or after a
     pass. */

/* Returns the logit of a token after the first n operations. */
static float sampi_gpu_logit_of(const sampi_gpu_here *h, uint32_t id, uint32_t n)
{
    const sampi_gpu_view v = sampi_gpu_view_of(h->a, h->row);
    uint32_t at = sampi_gpu_changed_at(h, id);
    return at < h->job->n_ids ? h->changed[at].l : sampi_gpu_replay(h->st->op, n, id, sampi_gpu_element(&v, id));
}

/* Puts the envelopes of the tokens with changed logits in their places in `wide`, which has those of a group of 1024,
   so the running sum over the group is the CPU's; in the row itself such a token is a hole with an envelope of 0. */
static SAMPI_CALLED void sampi_gpu_join_group(const sampi_gpu_here *h, uint32_t which)
{
    const float max = h->st->max;
    const uint32_t n_changed = h->job->n_ids;
    const sampi_gpu_changed *c = h->changed;
    const int32_t *id = h->changed_id;
    uint64_t *q = h->wide;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP)
    {
        const uint32_t at = (uint32_t)id[i];
        if (at / SAMPI_GROUP == which) q[at % SAMPI_GROUP] = sampi_envelope(max, c[i].l);
    }
}

/* Adds the envelopes of the tokens with changed logits to the sums of groups (1024 tokens): the draw finds the group by
   the sums and the token in the group by id, as if these tokens were in the row. */
static SAMPI_CALLED void sampi_gpu_join_groups(const sampi_gpu_here *h)
{
    const uint32_t n_changed = h->job->n_ids;
    uint64_t *sum = h->a->sum + h->row * h->a->groups;
    const sampi_gpu_changed *c = h->changed;
    const int32_t *id = h->changed_id;
    const float max = h->st->max;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP) __atomic_fetch_add(
        &sum[(uint32_t)id[i] / SAMPI_GROUP], (uint64_t)sampi_envelope(max, c[i].l), __ATOMIC_RELAXED);
}

/* Draws from the tokens of the row: finds a group of 1024 by the groups' sums of the envelope, then an element by its
   envelope, then tests it against its true weight, with the same random numbers as on the CPU. */
static uint64_t sampi_gpu_row_draw(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const uint32_t groups = h->a->groups;
    const uint64_t *sum = h->a->sum + h->row * groups;
    const float max = h->st->max;
    uint64_t random[2];
    if (h->job->n_ids) sampi_gpu_join_groups(h);
    const uint64_t total = sampi_gpu_total(sum, groups);
    for (uint32_t attempt = 0;; attempt++) {
        if (attempt) sampi_gpu_meet(h->st); /* lanes have read `random` */
        sampi_random_bits(step->seed, h->job->position, step->stream, attempt, random);
        uint64_t t = sampi_mulhi(random[0], total);
        const uint32_t group = sampi_gpu_find(sum, groups, &t);
        sampi_gpu_sum_envelopes(h->a, h->row, 0, group, group + 1, h->wide);
        if (h->job->n_ids) sampi_gpu_join_group(h, group);
        const uint32_t id = group * SAMPI_GROUP + sampi_gpu_find(h->wide, SAMPI_GROUP, &t);
        float l = sampi_gpu_logit_of(h, id, h->st->n_ops);
        if (sampi_mulhi(random[1], (uint64_t)sampi_envelope(max, l) << 14) < sampi_weight(max, l))
            return sampi_gpu_key(l, id);
    }
}

/* Draws a token and returns its key. */
static int sampi_gpu_draw_key(const sampi_gpu_here *h, const sampi_gpu_step *step, uint64_t *key)
{
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    if (st->complete) {
        *key = sampi_gpu_list_draw(h, step);
        return 1;
    }
    if (!st->drawn && st->ahead != SAMPI_GPU_AHEAD_MADE) {
        sampi_gpu_meet(st);
        st->drawn = true;
        st->pass = SAMPI_PASS_DRAW;
        return 0;
    }
    *key = sampi_gpu_row_draw(h, step);
    return 1;
}

/* ---- src/gpu/ending.h ---- */
/* ---- the end of a row ----
  The end of a row, for the host and the next batch: the result, the caller's token, the job updated by the token (its
     rules too), the state set to zero. */

/* Writes the result of a row to r. */
static SAMPI_CALLED void sampi_gpu_write_result(const sampi_gpu_here *h, sampi_gpu_result *r, int32_t status,
                                                int32_t token, float value)
{
    const sampi_gpu_state *st = h->st;
    r->status = status;
    r->token = token;
    r->value = value;
    r->passes = st->passes;
    r->n_list = st->n_list;
    r->buffer = st->buffer;
    r->order = st->order;
    r->sorted = st->sorted;
    r->p_set = st->p_set;
    r->order_max = st->order_max;
    r->p_max = st->p_max;
    r->order_mean = st->order_mean;
    r->p_z = st->p_z;
    r->batch = h->a->batch; /* the host reads it after the kernel; other teams after the next epoch has begun */
}

/* Writes the result, when the row is finished, or stops for a user's sampler. */
static void sampi_gpu_report(const sampi_gpu_here *h, int32_t status, int32_t token, float value)
{
    sampi_gpu_result *told = h->a->told;
    sampi_gpu_write_result(h, h->a->result + h->row, status, token, value);
    if (told) sampi_gpu_write_result(h, told + h->row, status, token, value);
}

/* Returns the rules of a step: those sent with the batch, or those in the row's own place. */
static const sampi_gpu_rule *sampi_gpu_rules(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const uint32_t side = h->job->side;
    return side == SAMPI_GPU_SENT ? h->a->rule + step->rule : h->a->kept_rule + (2 * h->row + side) * SAMPI_RULES;
}

/* A token's place among the rules: the number of rules with smaller ids, and how often the token is in the window. */
typedef struct sampi_gpu_spot {
    uint32_t below, count;
} sampi_gpu_spot;

/* Finds a token's place among the rules and its count in the window by counting over all rules; a bisection would be
   one lane's work, with a read to wait for in each step. next_rules needs it for the token that enters the window, and
   for the one that leaves it. */
static void sampi_gpu_spot_of(const sampi_gpu_rule *rule, uint32_t n, int32_t id, sampi_gpu_spot *spot)
{
    uint32_t below = 0, count = 0;
    SAMPI_SIMD(reduction(+ : below, count))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        below += rule[i].id < id;
        count += rule[i].id == id ? (uint32_t)rule[i].count : 0;
    }
    spot->below = below;
    spot->count = count;
}

/* Makes the rules for the next token, in the other of the row's two places, by what sampi_penalties_accept does, with
   all lanes at once. */
static SAMPI_CALLED void sampi_gpu_next_rules(const sampi_gpu_here *h, int32_t token)
{
    sampi_gpu_job *job = h->job;
    sampi_gpu_step *step = &job->step[job->kept_step - 1];
    const uint32_t sent = job->side == SAMPI_GPU_SENT, side = job->side == SAMPI_GPU_LEFT, n = step->n;
    sampi_ring ring = job->ring;
    const bool counts = ring.cap > 0;
    if (!counts && !sent) return;
    const sampi_gpu_rule *from = sampi_gpu_rules(h, step);
    sampi_gpu_rule *to = h->a->kept_rule + (2 * h->row + side) * SAMPI_RULES;
    int32_t *id = h->a->kept_id + (2 * h->row + side) * SAMPI_RULES, *window = h->a->window + h->row * SAMPI_RULES;
    const int32_t *tokens = h->a->id + job->window;
    /* in later batches the window is on the device already */
    const uint32_t n_window = sent ? ring.cap : 0;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n_window; i += SAMPI_WARP) window[i] = tokens[i];
    /* old is the token that leaves the window, or an id without a rule if the window is not full */
    const int32_t old = !counts ? token : ring.size < ring.cap ? -1 : window[ring.head], in = counts ? token : -1;
    const bool same = old == token; /* the same token leaves and enters: nothing changes */
    sampi_gpu_spot out_at, in_at;
    sampi_gpu_spot_of(from, n, old, &out_at);
    sampi_gpu_spot_of(from, n, in, &in_at);
    (void)sampi_ring_push(&ring, window, token); /* comes after the barriers of these loops */
    job->ring = ring;
    const bool removes = !same && out_at.count == 1, inserts = !same && in_at.count == 0;
    const float repeat = step->u.penalties.repeat, freq = step->u.penalties.freq, present = step->u.penalties.present;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i <= n; i += SAMPI_WARP)
    {
        sampi_gpu_rule r = { in, 0, repeat, 0.0f, 0 };
        uint32_t at = i == n ? in_at.below : i;
        /* i == n is the rule that is inserted, if there is one; the rule that leaves is not copied */
        if (i == n ? !inserts : removes && i == out_at.below) continue;
        if (i < n) {
            r = from[i];
            at += inserts && i >= in_at.below;
        }
        at -= removes && (i == n ? out_at.below < in_at.below : i > out_at.below);
        if (!same && r.id == in) r.count++;
        if (!same && r.id == old) r.count--;
        /* as sampi_count_penalty */
        if (counts) r.fall = sampi_add_to_product(sampi_roundf((float)r.count * freq), present), r.at = at;
        to[at] = r;
        id[r.at] = r.id;
    }
    /* from now on the next batch reads this job's rules from here */
    job->side = side;
    if (counts) job->n_ids = step->n = n + inserts - removes;
}

/* Finishes a row: writes its result, and prepares everything for the next batch: no holes, a state of zeros except
   epoch and arrived. */
static int sampi_gpu_finish(const sampi_gpu_here *h, int32_t status, int32_t token, float value)
{
    typedef uint32_t __attribute__((may_alias)) word;
    const sampi_gpu_args *a = h->a;
    uint32_t *hole = a->hole + h->row * a->groups * SAMPI_WARP;
    const int32_t *id = h->changed_id;
    const uint32_t n_changed = h->job->n_ids;
    const uint64_t position = h->job->position + h->job->draws;
    sampi_gpu_report(h, status, token, value);
    if (a->out) a->out[a->place[h->row].out_row] = status ? status : token;
    /* whole words are cleared: every changed token of the row has its id here */
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP) hole[(uint32_t)id[i] / 32] = 0;
    if (status == SAMP_OK) h->job->position = position;
    if (status == SAMP_OK && h->job->kept_step) sampi_gpu_next_rules(h, token);
    /* zeroes all members from `pass` up to the operations, which n_ops = 0 makes invalid */
    word *w = (word *)(void *)&h->st->pass;
    const uint32_t n = (uint32_t)((offsetof(sampi_gpu_state, op) - offsetof(sampi_gpu_state, pass)) / sizeof(word));
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) w[i] = 0;
    return 0;
}

/* Ends the row with the chosen token, unless log-probabilities are asked for: then the state keeps the token for the
   last step, which reports them. */
static int sampi_gpu_choose_key(const sampi_gpu_here *h, uint64_t key, float value)
{
    sampi_gpu_state *st = h->st;
    if (st->at + 1 == h->job->n_steps) return sampi_gpu_finish(h, SAMP_OK, (int32_t)sampi_gpu_id(key), value);
    st->chosen = key;
    st->value = value;
    return 1;
}

/* ---- src/gpu/answers.h ---- */
/* ---- answers to plans ----
  The questions that a sampler's plan (core/plans.h) asks about a row on the device, and the changes that it makes to
     it. */

typedef const sampi_gpu_here sampi_gpu_row;

/* Returns what a plan keeps from one entry to the next. */
static sampi_memory *sampi_gpu_memory(sampi_gpu_row *h) { return &h->st->memory; }

/* ---- logit_bias, penalties, dry ---- */

/* Returns a logit after a rule, the form that logit_bias, penalties and dry share. */
static float sampi_gpu_rule_change(const sampi_gpu_rule *rule, float l)
{
    if (sampi_masked(l)) return l;
    if (rule->scale == 0.0f) return -INFINITY;
    l = sampi_finite(l <= 0.0f ? l * rule->scale : l / rule->scale);
    return sampi_finite(l - rule->fall);
}

/* Applies the rules of a step (a sampler) to the changed tokens, which are kept beside the row. */
static SAMPI_CALLED void sampi_gpu_patch_row(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const sampi_gpu_rule *rule = sampi_gpu_rules(h, step);
    const uint32_t n = step->n;
    sampi_gpu_changed *c = h->changed;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        if (i > 0 && rule[i - 1].id == rule[i].id) continue;
        float l = c[rule[i].at].l;
        for (uint32_t k = i; k < n && rule[k].id == rule[i].id; k++) l = sampi_gpu_rule_change(&rule[k], l);
        c[rule[i].at].l = l;
    }
}

/* Applies the rules of a step (a sampler) to the list of a complete row, which has all remaining tokens: each item
   searches its rules, because a list has no order. */
static SAMPI_CALLED void sampi_gpu_patch_list(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const sampi_gpu_rule *rule = sampi_gpu_rules(h, step);
    const uint32_t n = step->n, n_list = h->st->n_list;
    const sampi_gpu_op unmasked = sampi_gpu_op_of(SAMPI_OP_FROM, 0.0f, SAMPI_GPU_ALL);
    sampi_gpu_item *item = sampi_gpu_list(h);
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n_list; i += SAMPI_WARP)
    {
        const uint32_t id = sampi_gpu_id(item[i].key);
        uint32_t lo = 0, hi = n;
        while (lo < hi) {
            uint32_t mid = lo + (hi - lo) / 2;
            if ((uint32_t)rule[mid].id < id)
                lo = mid + 1;
            else
                hi = mid;
        }
        float l = sampi_gpu_logit(item[i].key);
        for (; lo < n && (uint32_t)rule[lo].id == id; lo++) l = sampi_gpu_rule_change(&rule[lo], l);
        item[i].key = sampi_gpu_key(l, id);
    }
    sampi_gpu_list_keep(h, &unmasked);
}

/* The plan of logit_bias, penalties and dry, which change single logits. */
static int sampi_gpu_plan_patch(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    if (step->n == 0 && h->job->kept_step) return 1; /* an empty window */
    if (st->memory.phase == 0) {
        sampi_gpu_invalidate(st, false);
        st->memory.phase = 1;
        st->sorted = false;
        if (st->complete) {
            sampi_gpu_patch_list(h, step);
        } else {
            sampi_gpu_patch_row(h, step);
            st->listed = st->overflown = false;
            if (st->n_ops == 0) {
                float max = sampi_gpu_changed_max(h);
                st->max = max > st->dense_max ? max : st->dense_max;
                st->max_known = true;
            }
        }
    }
    return sampi_gpu_require_max(h);
}

/* The plan of kinds that do not run on the device: infill compares the texts of tokens, which are on the host; a chain
   is run member by member. */
static int sampi_gpu_plan_none(sampi_gpu_row *h, sampi_gpu_step *step)
{
    (void)h, (void)step;
    return SAMPI_GPU_DECLINED;
}

/* ---- what is known of the tokens left ---- */

/* Returns the maximum, from which a floor `down` below it will be made. */
static int sampi_gpu_max_for_floor(sampi_gpu_row *h, const sampi_gpu_step *step, double down, float *max)
{
    (void)step, (void)down;
    const int known = sampi_gpu_require_max(h);
    *max = h->st->max;
    return known;
}

static int sampi_gpu_sums(sampi_gpu_row *h, const sampi_gpu_step *step, sampi_then then, sampi_sums *sums)
{
    const sampi_gpu_state *st = h->st;
    const int known = then == SAMPI_THEN_PREFIX ? sampi_gpu_require_shares(h, step)
                                                : sampi_gpu_require_sums(h);
    sums->max = st->max, sums->n = (size_t)st->n, sums->z = st->z, sums->s = st->s, sums->above = 0;
    if (known == 1) sampi_gpu_meet(h->st); /* the plan continues, and writes its memory */
    return known;
}

/* Computes the sum of squared weights, from a list of all tokens whose squares count. */
static SAMPI_CALLED int sampi_gpu_sum_of_squares(sampi_gpu_row *h, uint64_t *squares)
{
    const int known = sampi_gpu_require_list(h, sampi_gpu_floor(sampi_float_up((double)h->st->max - 14.0)));
    if (known != 1) return known;
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    uint64_t sum = 0;
    SAMPI_SIMD(reduction(+ : sum))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint64_t w = sampi_weight(max, sampi_gpu_logit(item[i].key)) >> 20;
        sum += w * w;
    }
    *squares = sum;
    return 1;
}

/* Computes the sums of top_n_sigma for a list; a pass computes those of a row. */
static SAMPI_CALLED void sampi_gpu_list_sigma(sampi_gpu_row *h)
{
    sampi_gpu_state *st = h->st;
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = st->n_list;
    const float max = st->max;
    const double scale = st->scale;
    uint64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    SAMPI_SIMD(reduction(+ : s0, s1, s2, s3))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        uint64_t x = sampi_sigma_x(max, sampi_gpu_logit(item[i].key), scale);
        sampi_gpu_squares sum = { s0, s1, s2, s3 };
        sampi_gpu_square(&sum, x);
        s0 = sum.x, s1 = sum.high, s2 = sum.mixed, s3 = sum.low;
    }
    st->sigma[0] = s0, st->sigma[1] = s1, st->sigma[2] = s2, st->sigma[3] = s3;
}

/* Computes the standard deviation. Phase 1: its sums (sigma) are known, from a pass or from the list. */
static int sampi_gpu_deviation(sampi_gpu_row *h, float *max, double *sigma)
{
    sampi_gpu_state *st = h->st;
    if (st->memory.phase == 0) {
        const int known = sampi_gpu_require_sums(h);
        if (known != 1) return known;
        sampi_gpu_meet(st);
        st->scale = sampi_sigma_scale((double)st->max - (double)st->low);
        st->memory.phase = 1;
        st->sigma[0] = st->sigma[1] = st->sigma[2] = st->sigma[3] = 0;
        if (st->max != st->low && !st->complete) {
            st->pass = SAMPI_PASS_SIGMA;
            return 0;
        }
        if (st->max != st->low) sampi_gpu_list_sigma(h);
    }
    /* the square of x = 2^20 u + v is 2^40 u^2 + 2^21 u v + v^2 */
    sampi_u128 high = sampi_mul128(st->sigma[1], (uint64_t)1 << 40), squares = { 0, st->sigma[3] };
    squares = sampi_add128(squares, sampi_add128(high, sampi_mul128(st->sigma[2], (uint64_t)1 << 21)));
    *max = st->max;
    *sigma = st->max != st->low ? sampi_sigma_of(st->n, st->sigma[0], squares, st->scale) : 0.0;
    return 1;
}

/* Adds Zipf's sums of the first m sorted keys, in ascending order, because they are rounded. */
static SAMPI_CALLED void sampi_gpu_zipf_of_first(const sampi_gpu_here *h, uint32_t m, sampi_zipf *zipf)
{
    const uint64_t *key = h->code;
    uint64_t *t = h->wide, *b = sampi_gpu_spare(h);
    sampi_zipf sums = *zipf; /* each lane has its own */
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i + 1 < m; i += SAMPI_WARP)
    {
        t[i] = sampi_bits(sampi_zipf_t(i));
        b[i] = sampi_bits((double)sampi_gpu_logit(key[i]) - (double)sampi_gpu_logit(key[i + 1]));
    }
    for (uint32_t from = 0; from + 1 < m; from += 16) {
        uint64_t x[16], y[16];
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) x[k] = t[sampi_gpu_min_of(from + k, m - 2)];
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) y[k] = b[sampi_gpu_min_of(from + k, m - 2)];
        SAMPI_AT_ONCE(16, x);
        SAMPI_AT_ONCE(16, y);
        SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) if (from + k + 1 < m)
        {
            sampi_zipf_sum(&sums, sampi_from_bits(x[k]), sampi_from_bits(y[k]));
        }
    }
    sampi_gpu_meet(h->st); /* all lanes have read *zipf, t and b */
    *zipf = sums;
}

/* Computes Zipf's sums of the first m tokens; *n becomes the number of remaining tokens. */
static int sampi_gpu_zipf(sampi_gpu_row *h, size_t m, sampi_zipf *zipf, size_t *n)
{
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_require_sums(h);
    if (known != 1) return known;
    if (m > st->n) m = (size_t)st->n;
    if ((known = sampi_gpu_require_first(h, m)) != 1) return known;
    /* require_first excludes this case, but without the check the code below would read past the list */
    if (st->n_list < m) return SAMPI_GPU_DECLINED;
    sampi_gpu_list_sort(h);
    sampi_gpu_zipf_of_first(h, (uint32_t)m, zipf);
    *n = (size_t)st->n;
    return 1;
}

static void sampi_gpu_random(sampi_gpu_row *h, const sampi_gpu_step *step, uint64_t *random)
{
    sampi_random_bits(step->seed, h->job->position, step->stream, 0, random);
}

/* Finds how many tokens have at least the weight `mass` (xtc's threshold), and the last of them. */
static SAMPI_CALLED int sampi_gpu_reach(sampi_gpu_row *h, const sampi_gpu_step *step, uint64_t mass,
                                        uint64_t *reached, samp_token_data *token)
{
    sampi_gpu_state *st = h->st;
    const float t = step->u.xtc.t;
    if (!st->complete && !(t > 1e-3f)) return SAMPI_GPU_DECLINED;
    const double down = sampi_share(t) ? sampi_ln(t) - 1e-6 : -(double)FLT_MAX;
    const uint64_t floor = sampi_share(t) ? sampi_gpu_floor(sampi_float_up((double)st->max + down)) : SAMPI_GPU_ALL;
    const int known = sampi_gpu_require_list(h, floor);
    if (known != 1) return known;
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = st->n_list;
    const float max = st->max;
    uint64_t above = 0, last = UINT64_MAX; /* number of tokens that reach t; key of the last of them */
    SAMPI_SIMD(reduction(+ : above) reduction(min : last))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        bool in = sampi_weight(max, sampi_gpu_logit(item[i].key)) >= mass;
        above += in;
        last = in && item[i].key < last ? item[i].key : last;
    }
    *reached = above;
    token->id = (samp_token)sampi_gpu_id(last);
    token->logit = sampi_gpu_logit(last);
    return 1;
}

/* ---- what is done to them ---- */

/* Keeps the tokens that reach a logit. */
static int sampi_gpu_keep_reaching(sampi_gpu_row *h, float least)
{
    sampi_gpu_keep_from(h, sampi_gpu_floor(least));
    return 1;
}

/* Notes that the CPU's array would be sorted here, or get its p, for a later sampler that is shown the array. */
static int sampi_gpu_show(sampi_gpu_row *h, unsigned shows)
{
    if (shows & SAMPI_SHOWS_ORDER) sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    if (shows & SAMPI_SHOWS_P) sampi_gpu_mark_p(h);
    return 1;
}

/* Keeps the shortest prefix with that mass and number of tokens. mirostat asks for no order and no p, because no
   sampler after it sees an array. */
static int sampi_gpu_keep_prefix(sampi_gpu_row *h, unsigned shows, uint64_t mass, size_t count)
{
    const int known = sampi_gpu_require_prefix(h, false, 0.0, mass, count);
    if (known != 1) return known;
    (void)sampi_gpu_show(h, shows);
    sampi_gpu_keep_from(h, h->st->search.key);
    return 1;
}

/* Returns the smallest logit of the prefix. search.key may lie anywhere between the prefix's last token and the next
   one, but the list in which the search has ended has that last token. */
static SAMPI_CALLED float sampi_gpu_last_logit(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const uint64_t key = h->st->search.key;
    uint64_t last = UINT64_MAX;
    SAMPI_SIMD(reduction(min : last))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint64_t x = item[i].key >= key ? item[i].key : UINT64_MAX;
        last = x < last ? x : last;
    }
    return sampi_gpu_logit(last);
}

/* Keeps the first k tokens in order, and with `ties` all that equal the last one. */
static int sampi_gpu_keep_first(sampi_gpu_row *h, size_t k, bool ties)
{
    int known = sampi_gpu_require_prefix(h, false, 0.0, 0, k);
    if (known != 1) return known;
    const uint64_t last = h->st->search.key;
    sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    sampi_gpu_keep_from(h, ties && last ? sampi_gpu_floor(sampi_gpu_last_logit(h)) : last); /* 0: all stay */
    return 1;
}

/* Computes the second differences of the sorted tokens' weights: bend [n] from w [n + 2]; returns their sum. */
static SAMPI_CALLED uint64_t sampi_gpu_list_bends(const uint64_t *w, uint32_t n, uint64_t *bend)
{
    uint64_t total = 0;
    SAMPI_SIMD(reduction(+ : total))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint64_t x = sampi_bend(w + i);
        bend[i] = x;
        total += x;
    }
    return total;
}

/* The plan of tail_free: keeps tokens up to the place where the running sum of the second differences exceeds its
   share. */
static SAMPI_CALLED int sampi_gpu_keep_tail(sampi_gpu_row *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    const uint64_t share = sampi_share(step->u.cut.p);
    int known = sampi_gpu_require_all(h);
    if (known == 1) known = sampi_gpu_require_sums(h);
    if (known != 1) return known;
    sampi_gpu_mark_order(h, SAMPI_GPU_BY_KEY, 0.0);
    sampi_gpu_mark_p(h);
    if (st->n <= 2) return 1;
    sampi_gpu_list_sort(h);
    sampi_gpu_list_weights(h);
    const uint32_t n = st->n_list - 2;
    uint64_t *bend = sampi_gpu_spare(h), keep = step->u.cut.min_keep > 1 ? step->u.cut.min_keep : 1;
    const uint64_t total = sampi_gpu_list_bends(h->wide, n, bend);
    /* if the weights have hardly any second differences, places in the order count instead, as on the CPU */
    const bool flat = sampi_tail_is_flat(total, st->z);
    uint64_t most = sampi_mulhi(share, flat ? n : total), at = most;
    if (most >= (flat ? n : total)) return 1; /* nothing exceeds it */
    if (!flat) at = sampi_gpu_find(bend, n, &most);
    if (at > keep) keep = at;
    if (keep < st->n_list) sampi_gpu_keep_from(h, h->code[keep - 1]);
    return 1;
}

/* Keeps the shortest prefix in the order of typical's scores. */
static int sampi_gpu_keep_nearest(sampi_gpu_row *h, double mean, uint64_t mass, size_t min_keep)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_search *search = &st->search;
    const int known = sampi_gpu_require_prefix(h, true, mean, mass, min_keep);
    if (known != 1) return known;
    sampi_gpu_mark_order(h, SAMPI_GPU_BY_SCORE, mean);
    sampi_gpu_mark_p(h);
    sampi_gpu_invalidate(st, false);
    sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_SCORE, 0.0f, search->key);
    op.max = st->max;
    op.t = search->score;
    op.mean = mean;
    if (st->complete) {
        sampi_gpu_list_keep(h, &op);
    } else {
        sampi_gpu_push(st, &op);
        sampi_gpu_apply_changed(h);
        st->listed = st->overflown = false;
        st->thinned = true;
    }
    return 1;
}

/* Puts the remaining tokens into the list if they fit it. */
static int sampi_gpu_settle(sampi_gpu_row *h)
{
    const int known = sampi_gpu_require_all(h);
    return known == SAMPI_GPU_DECLINED ? 1 : known;
}

/* Replaces n numbers by their running sums: each lane sums a piece, and then begins with the sum of those before it.
   part [32] is scratch. */
static SAMPI_CALLED void sampi_gpu_run_up(uint64_t *x, uint32_t n, uint64_t *part)
{
    const uint32_t each = (n + SAMPI_WARP - 1) / SAMPI_WARP;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        const uint32_t first = (uint32_t)lane * each;
        uint64_t sum = 0;
        for (uint32_t i = first; i < sampi_gpu_min_of(first + each, n); i++) sum += x[i];
        part[lane] = sum;
    }
    SAMPI_SIMD()
    SAMPI_LANES
    {
        const uint32_t first = (uint32_t)lane * each;
        uint64_t run = 0;
        SAMPI_UNROLL(32) for (int k = 0; k < SAMPI_WARP; k++) run += part[k] & sampi_gpu_mask(k < lane);
        for (uint32_t i = first; i < sampi_gpu_min_of(first + each, n); i++) run += x[i], x[i] = run;
    }
}

/* Returns how many of the sorted keys top_h keeps: the fewest whose entropy with one more token exceeds `most`; n if it
   never does. */
static SAMPI_CALLED uint32_t sampi_gpu_top_h_size(const sampi_gpu_here *h, double most)
{
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    uint64_t *z = h->wide, *s = h->code;
    uint32_t first = n;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const float l = sampi_gpu_logit(s[i]);
        z[i] = sampi_weight(max, l);
        s[i] = sampi_weighted(z[i], max, l);
    }
    sampi_gpu_run_up(z, n, sampi_gpu_spare(h));
    sampi_gpu_run_up(s, n, sampi_gpu_spare(h));
    SAMPI_SIMD(reduction(min : first))
    SAMPI_LANES for (uint32_t i = 1 + (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const double mass = (double)z[i];
        first = ((sampi_entropy_of(mass, (double)s[i], mass) > most) & (i < first)) ? i : first;
    }
    return first;
}

/* Finds min_k's cliff of the sorted keys: the smallest i for which the fall after the first i tokens, divided by i, is
   largest. *rest: a bound on the falls further down, all of the remaining fall divided by n. */
static SAMPI_CALLED uint32_t sampi_gpu_cliff(const sampi_gpu_here *h, double *steepest, double *rest)
{
    const uint64_t *key = h->code;
    const uint32_t n = h->st->n_list;
    uint64_t *falls = h->wide;
    double most = 0.0;
    uint32_t first = n;
    SAMPI_SIMD(reduction(max : most))
    SAMPI_LANES for (uint32_t i = 1 + (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const double fall = sampi_mean_drop(sampi_gpu_logit(key[i - 1]), sampi_gpu_logit(key[i]), i);
        falls[i] = sampi_bits(fall);
        most = fall > most ? fall : most;
    }
    const uint64_t steep = sampi_bits(most);
    SAMPI_SIMD(reduction(min : first))
    SAMPI_LANES for (uint32_t i = 1 + (uint32_t)lane; i < n; i += SAMPI_WARP)
        first = i < first && falls[i] == steep ? i : first;
    *steepest = most;
    *rest = sampi_mean_drop(sampi_gpu_logit(key[n - 1]), h->st->low, n);
    return most > 0.0 ? first : 1;
}

/* Returns how many tokens top_h or min_k keeps, from a list of the first tokens in order, or of all; 0 if these do not
   decide it. */
static uint64_t sampi_gpu_beginning_size(sampi_gpu_row *h, const sampi_gpu_step *step)
{
    const sampi_gpu_state *st = h->st;
    const bool all = st->complete || st->floor <= SAMPI_GPU_ALL;
    sampi_gpu_list_sort(h);
    if (step->kind == SAMPI_TOP_H) {
        sampi_sums sums = { st->max, (size_t)st->n, st->z, st->s, 0 };
        const uint32_t size = sampi_gpu_top_h_size(h, sampi_round((double)step->u.cut.p * sampi_entropy(&sums)));
        return !all && size == st->n_list ? 0 : size;
    }
    double steepest, rest;
    const uint32_t cliff = sampi_gpu_cliff(h, &steepest, &rest);
    if (!all && rest > steepest) return 0;
    return sampi_min_k_keeps(cliff, (double)step->u.cut.p, st->max, st->low, st->n);
}

/* The plan of top_h and min_k, which keep a beginning of the order. */
static int sampi_gpu_keep_beginning(sampi_gpu_row *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    if (st->memory.phase == 0) {
        int known = sampi_gpu_require_sums(h);
        if (known == 1 && !st->complete && !st->listed) known = sampi_gpu_require_first(h, SAMPI_HEAD);
        if (known != 1) return known;
        uint64_t size = sampi_gpu_beginning_size(h, step);
        if (size == 0) return sampi_gpu_require_first(h, SAMP_GPU_LIST / 2) == 0 ? 0 : SAMPI_GPU_DECLINED;
        if (size < step->u.cut.min_keep) size = step->u.cut.min_keep < st->n ? step->u.cut.min_keep : st->n;
        sampi_gpu_meet(st);
        st->memory.count = size;
        st->memory.phase = 1;
    }
    return sampi_gpu_keep_first(h, (size_t)st->memory.count, false);
}

/* Removes the tokens before that one, for xtc. */
static int sampi_gpu_drop_before(sampi_gpu_row *h, const samp_token_data *token)
{
    sampi_gpu_mark_p(h);
    sampi_gpu_keep_until(h, sampi_gpu_key(token->logit, (uint32_t)token->id));
    return 1;
}

/* Scales all logits by a temperature. */
static int sampi_gpu_scale(sampi_gpu_row *h, float t)
{
    if (!(t >= SAMPI_TEMP_MIN)) return sampi_gpu_keep_prefix(h, 0, 0, 1);
    const sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_SCALE, 1.0f / t, 0);
    sampi_gpu_change_all(h, &op);
    return 1;
}

/* Changes logits by their distance from the maximum, for smoothing, as one operation (a change of the whole row). */
static int sampi_gpu_bend(sampi_gpu_row *h, const sampi_gpu_step *step)
{
    const int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_BEND, step->u.smoothing.factor, 0);
    op.max = h->st->max;
    op.mean = sampi_bend_of(step->u.smoothing.curve);
    sampi_gpu_change_all(h, &op);
    return 1;
}

/* Subtracts one number from all logits, for log_softmax. */
static int sampi_gpu_shift(sampi_gpu_row *h, double less)
{
    sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_SHIFT, 0.0f, 0);
    op.mean = less;
    sampi_gpu_change_all(h, &op);
    return 1;
}

/* Applies adaptive_p's map to a list. at_order keeps the logit from before, from which the chosen token's probability
   is computed. */
static SAMPI_CALLED void sampi_gpu_list_adapt(sampi_gpu_row *h, float max, uint64_t z, float aim)
{
    sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint32_t id = sampi_gpu_id(item[i].key);
        item[i].at_order = sampi_gpu_logit(item[i].key);
        item[i].key = sampi_gpu_key(sampi_gpu_adapt(item[i].at_order, max, z, aim), id);
    }
}

/* Applies adaptive_p's map, as one operation. */
static int sampi_gpu_adapt_all(sampi_gpu_row *h, const sampi_sums *sums, float aim)
{
    sampi_gpu_state *st = h->st;
    if (st->complete) {
        sampi_gpu_list_adapt(h, sums->max, sums->z, aim);
    } else {
        sampi_gpu_op op = sampi_gpu_op_of(SAMPI_OP_ADAPT, aim, 0);
        op.max = sums->max;
        op.t = sums->z;
        sampi_gpu_mark_order(h, SAMPI_GPU_BY_ID, 0.0); /* keeps the changed tokens' logits */
        sampi_gpu_push(st, &op);
        sampi_gpu_apply_changed(h);
        st->listed = st->overflown = false;
        st->thinned = true;
    }
    sampi_gpu_invalidate(st, false);
    return 1;
}

/* Returns a token's logit before the map, from which its probability is computed. */
static SAMPI_CALLED float sampi_gpu_before_adapt(sampi_gpu_row *h, const samp_token_data *token)
{
    const uint32_t id = (uint32_t)token->id;
    if (!h->st->complete) {
        uint32_t at = sampi_gpu_changed_at(h, id);
        return at < h->job->n_ids ? h->changed[at].at_order : sampi_gpu_logit_of(h, id, h->st->n_ops - 1);
    }
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    float l = -INFINITY;
    SAMPI_SIMD(reduction(max : l))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
        l = sampi_gpu_id(item[i].key) == id ? item[i].at_order : l;
    return l;
}

/* ---- choosing ---- */

static void sampi_gpu_token(uint64_t key, samp_token_data *token)
{
    token->id = (samp_token)sampi_gpu_id(key);
    token->logit = sampi_gpu_logit(key);
}

/* Returns the first token. */
static int sampi_gpu_top(sampi_gpu_row *h, samp_token_data *token)
{
    const int known = sampi_gpu_require_prefix(h, false, 0.0, 0, 1);
    if (known == 1) sampi_gpu_token(sampi_gpu_list_max(h), token);
    return known;
}

/* Draws a token: takes one more pass for a row, none for a complete list. */
static int sampi_gpu_draw(sampi_gpu_row *h, const sampi_gpu_step *step, samp_token_data *token)
{
    uint64_t key;
    const int known = sampi_gpu_draw_key(h, step, &key);
    if (known == 1) sampi_gpu_token(key, token);
    return known;
}

/* Draws a token, and returns the sums of the tokens drawn from. */
static int sampi_gpu_draw_and_sums(sampi_gpu_row *h, const sampi_gpu_step *step, samp_token_data *token,
                                   sampi_sums *sums)
{
    const int known = sampi_gpu_sums(h, step, SAMPI_THEN_NOTHING, sums);
    return known == 1 ? sampi_gpu_draw(h, step, token) : known;
}

/* Ends the plan with its token. */
static int sampi_gpu_choose(sampi_gpu_row *h, sampi_gpu_step *step, const samp_token_data *token, float learnt)
{
    if (step->kind != SAMPI_ADAPTIVE_P) {
        sampi_gpu_meet(h->st);
        step->now.mu = learnt;
    } else {
        sampi_adaptive_numbers *average = &step->u.adaptive;
        const float sum = sampi_decay(average->sum, average->decay, learnt);
        const float total = sampi_decay(average->total, average->decay, 1.0f);
        sampi_gpu_meet(h->st);
        average->sum = sum;
        average->total = total;
    }
    return sampi_gpu_choose_key(h, sampi_gpu_key(token->logit, (uint32_t)token->id), learnt);
}

#ifdef SAMPLING_GUMBEL_DECLARED
/* Finds the first of n lanes' winners: the smallest time, at equal times the larger key. */
static SAMPI_CALLED void sampi_gpu_first_of(const uint64_t *time, const uint64_t *winner, uint32_t n, uint64_t *best,
                                            uint64_t *key)
{
    uint64_t least = UINT64_MAX, who = 0;
    SAMPI_SIMD(reduction(min : least))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) least = time[i] < least ? time[i] : least;
    SAMPI_SIMD(reduction(max : who))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
        who = time[i] == least && winner[i] > who ? winner[i] : who;
    *best = least;
    *key = who;
}

/* Runs the race of gumbel over the list, or over the changed tokens beside a row; each lane's winner goes to wide and
   code. */
static SAMPI_CALLED void sampi_gpu_short_race(const sampi_gpu_here *h, const sampi_gpu_step *step, uint64_t *best,
                                              uint64_t *key)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const sampi_gpu_changed *c = h->changed;
    const int32_t *id = h->changed_id;
    const bool listed = h->st->complete;
    const uint32_t n = listed ? h->st->n_list : h->job->n_ids;
    const sampi_race start = sampi_gpu_race_of(step, h->job->position, h->st->max);
    uint64_t *time = h->wide, *winner = h->code;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        sampi_race race = start;
        for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) {
            const float l = listed ? sampi_gpu_logit(item[i].key) : c[i].l;
            const uint32_t token = listed ? sampi_gpu_id(item[i].key) : (uint32_t)id[i];
            sampi_race_run(&race, l, (samp_token)token, 0);
        }
        time[lane] = sampi_bits(race.time);
        winner[lane] = sampi_gpu_key(race.logit, (uint32_t)race.id);
    }
    sampi_gpu_first_of(time, winner, SAMPI_WARP, best, key);
}

/* Chooses the first token in the race of all remaining tokens: for a list at once, for a row by a pass. */
static int sampi_gpu_race(sampi_gpu_row *h, const sampi_gpu_step *step, samp_token_data *token)
{
    sampi_gpu_state *st = h->st;
    const size_t first = h->row * h->a->splits * SAMPI_WARP;
    uint64_t best, key, other, other_key;
    int known = sampi_gpu_require_max(h);
    if (known != 1) return known;
    if (!st->complete && !st->drawn) {
        sampi_gpu_meet(st);
        st->drawn = true;
        st->pass = SAMPI_PASS_RACE;
        return 0;
    }
    sampi_gpu_short_race(h, step, &best, &key);
    if (!st->complete) {
        sampi_gpu_first_of(h->a->time + first, h->a->winner + first, h->a->splits * SAMPI_WARP, &other, &other_key);
        if (other < best || (other == best && other_key > key)) key = other_key;
    }
    sampi_gpu_token(key, token);
    return 1;
}

#endif
#define SAMPI_ON(name) sampi_gpu_##name
/* ---- src/samplers/plans.h ---- */
/* ---- the plans ----
  Includes the files of samplers again, for their plans alone. */

/* ---- src/samplers/top_n_sigma.h ---- */

static int SAMPI_ON(plan_top_n_sigma)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    float max;
    double sigma;
    const int known = SAMPI_ON(deviation)(row, &max, &sigma);
    if (known != SAMPI_KNOWN) return known;
    const double of[2] = { (double)max, (double)s->u.cut.p * sigma };
    return SAMPI_ON(keep_reaching)(row, sampi_least_in(sampi_is_within, of, SAMPI_NO_KEY, sampi_key(max)));
}

/* ---- src/samplers/top_k.h ---- */

static int SAMPI_ON(plan_top_k)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    return SAMPI_ON(keep_first)(row, (size_t)s->u.top_k.k, s->u.top_k.ties != 0);
}

/* ---- src/samplers/tail_free.h ---- */

/* The plan of tail_free. The bends need all weights in order, and executors have a question for that. */
static int SAMPI_ON(plan_tail_free)(SAMPI_ON(row) * row, SAMPI_ON(step) * s) { return SAMPI_ON(keep_tail)(row, s); }

/* ---- src/samplers/typical.h ---- */

/* The plan of typical. Phase 0 makes the cut, which mostly leaves few tokens. In phase 1 the executor collects them. */
static int SAMPI_ON(plan_typical)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_memory *memory = SAMPI_ON(memory)(row);
    if (memory->phase == 0) {
        sampi_sums sums;
        int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_FIRST, &sums);
        if (known != SAMPI_KNOWN) return known;
        const uint64_t mass = sampi_mulhi(sampi_share(s->u.cut.p), sums.z) + 1;
        const size_t min_keep = s->u.cut.min_keep < sums.n ? s->u.cut.min_keep : sums.n;
        known = SAMPI_ON(keep_nearest)(row, (double)sums.s / (double)sums.z, mass, min_keep);
        if (known != SAMPI_KNOWN) return known;
        memory->phase = 1;
    }
    return SAMPI_ON(settle)(row);
}

/* ---- src/samplers/top_p.h ---- */

static int SAMPI_ON(plan_top_p)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_sums sums;
    const int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_PREFIX, &sums);
    if (known != SAMPI_KNOWN) return known;
    const uint64_t mass = sampi_mass_of(sampi_share(s->u.cut.p), sums.z);
    const size_t min_keep = s->u.cut.min_keep < sums.n ? s->u.cut.min_keep : sums.n;
    return SAMPI_ON(keep_prefix)(row, SAMPI_SHOWS_ORDER | SAMPI_SHOWS_P, mass, min_keep ? min_keep : 1);
}

/* ---- src/samplers/min_p.h ---- */

static int SAMPI_ON(plan_min_p)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    const double down = sampi_ln(s->u.cut.p);
    float max;
    const int known = SAMPI_ON(max_for_floor)(row, s, down, &max);
    if (known != SAMPI_KNOWN) return known;
    return SAMPI_ON(keep_above)(row, (double)max + down, s->u.cut.min_keep > 1 ? s->u.cut.min_keep : 1);
}

/* ---- src/samplers/by_sums.h ---- */

/* The plan of these samplers. */
static int SAMPI_ON(plan_by_sums)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_memory *memory = SAMPI_ON(memory)(row);
    const sampi_kind kind = (sampi_kind)s->kind;
    if (memory->phase == 0) {
        sampi_sums sums;
        int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_FLOOR, &sums);
        if (known != SAMPI_KNOWN) return known;
        uint64_t more = sums.s;
        if (sampi_needs_squares(kind)) known = SAMPI_ON(sum_of_squares)(row, &more);
        if (known != SAMPI_KNOWN) return known;
        memory->number = sampi_sums_floor(kind, sampi_ln(s->u.cut.p), sums.max, (double)sums.n, (double)sums.z,
                                          (double)more);
        memory->phase = 1;
    }
    return SAMPI_ON(keep_above)(row, memory->number, s->u.cut.min_keep > 1 ? s->u.cut.min_keep : 1);
}

/* ---- src/samplers/min_k.h ---- */

/* The plan of top_h and min_k. */
static int SAMPI_ON(plan_beginning)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    return SAMPI_ON(keep_beginning)(row, s);
}

/* ---- src/samplers/xtc.h ---- */

/* The plan of xtc. The coin is the same in each call of the plan, because it is a function of the position. */
static int SAMPI_ON(plan_xtc)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    samp_token_data last;
    uint64_t random[2], reached;
    sampi_sums sums;
    SAMPI_ON(random)(row, s, random);
    if (s->u.xtc.p < 1.0f && random[0] >= sampi_share(s->u.xtc.p)) return SAMPI_KNOWN;
    int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_FIRST, &sums);
    if (known != SAMPI_KNOWN) return known;
    known = SAMPI_ON(reach)(row, s, sampi_mass_of(sampi_share(s->u.xtc.t), sums.z), &reached, &last);
    if (known != SAMPI_KNOWN) return known;
    if (reached < 2 || sums.n - (reached - 1) < s->u.xtc.min_keep) return SAMPI_KNOWN;
    return SAMPI_ON(drop_before)(row, &last);
}

/* ---- src/samplers/temperature.h ---- */

/* The plan of temp and temp_ext. */
static int SAMPI_ON(plan_temp)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_memory *memory = SAMPI_ON(memory)(row);
    if (!(s->u.temp.delta > 0.0f)) return SAMPI_ON(scale)(row, s->u.temp.t);
    if (memory->phase == 0) {
        sampi_sums sums;
        const int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_NOTHING, &sums);
        if (known != SAMPI_KNOWN || sums.n <= 1) return known; /* with one token the entropy is 0 */
        memory->number = (double)sampi_dynamic_temp(&s->u.temp, &sums);
        memory->phase = 1;
    }
    return SAMPI_ON(scale)(row, (float)memory->number);
}

/* ---- src/samplers/smoothing.h ---- */

static int SAMPI_ON(plan_smoothing)(SAMPI_ON(row) * row, SAMPI_ON(step) * s) { return SAMPI_ON(bend)(row, s); }

static int SAMPI_ON(plan_log_softmax)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_sums sums;
    const int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_NOTHING, &sums);
    return known == SAMPI_KNOWN ? SAMPI_ON(shift)(row, sampi_log_sum(sums.max, sums.z)) : known;
}

/* ---- src/samplers/softmax.h ---- */

static int SAMPI_ON(plan_softmax)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_sums sums;
    const int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_NOTHING, &sums);
    return known == SAMPI_KNOWN ? SAMPI_ON(show)(row, SAMPI_SHOWS_ORDER | SAMPI_SHOWS_P) : known;
}

/* ---- src/samplers/greedy.h ---- */

static int SAMPI_ON(plan_greedy)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    samp_token_data token;
    const int known = SAMPI_ON(top)(row, &token);
    return known == SAMPI_KNOWN ? SAMPI_ON(choose)(row, s, &token, 0.0f) : known;
}

/* ---- src/samplers/dist.h ---- */

static int SAMPI_ON(plan_dist)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    samp_token_data token;
    const int known = SAMPI_ON(draw)(row, s, &token);
    return known == SAMPI_KNOWN ? SAMPI_ON(choose)(row, s, &token, 0.0f) : known;
}

#ifdef SAMPLING_GUMBEL_DECLARED
/* ---- src/samplers/gumbel.h ---- */

static int SAMPI_ON(plan_gumbel)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    samp_token_data token;
    const int known = SAMPI_ON(race)(row, s, &token);
    return known == SAMPI_KNOWN ? SAMPI_ON(choose)(row, s, &token, 0.0f) : known;
}

#endif
/* ---- src/samplers/mirostat.h ---- */

/* Ends the plan of both versions: draws from the tokens that were kept, and changes mu by the surprise of the drawn
   token. */
static int SAMPI_ON(plan_mirostat_draw)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    samp_token_data token;
    sampi_sums sums;
    const int known = SAMPI_ON(draw_and_sums)(row, s, &token, &sums);
    if (known != SAMPI_KNOWN) return known;
    const double down = (double)sums.max - (double)token.logit;
    return SAMPI_ON(choose)(row, s, &token, sampi_mirostat_mu(&s->u.mirostat, s->now.mu, down, (double)sums.z));
}

/* The plan of mirostat. */
static int SAMPI_ON(plan_mirostat)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_memory *memory = SAMPI_ON(memory)(row);
    if (memory->phase == 0) {
        sampi_zipf zipf = { 0.0, 0.0 };
        size_t n = 0;
        const int known = SAMPI_ON(zipf)(row, (size_t)s->u.mirostat.m, &zipf, &n);
        if (known != SAMPI_KNOWN) return known;
        memory->count = sampi_zipf_size(&zipf, s->u.mirostat.n_vocab, s->now.mu, n);
        memory->phase = 1;
    }
    if (memory->phase == 1) {
        const int known = SAMPI_ON(keep_prefix)(row, 0, 0, (size_t)memory->count);
        if (known != SAMPI_KNOWN) return known;
        memory->phase = 2;
    }
    return SAMPI_ON(plan_mirostat_draw)(row, s);
}

/* The plan of mirostat_v2. */
static int SAMPI_ON(plan_mirostat_v2)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_memory *memory = SAMPI_ON(memory)(row);
    if (memory->phase == 0) {
        sampi_sums sums;
        const int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_FIRST, &sums);
        if (known != SAMPI_KNOWN) return known;
        memory->number = sampi_surprise_floor(s->now.mu, sums.max, (double)sums.z);
        memory->phase = 1;
    }
    if (memory->phase != 2) {
        const int known = SAMPI_ON(keep_above)(row, memory->number, 1);
        if (known != SAMPI_KNOWN) return known;
        memory->phase = 2;
    }
    return SAMPI_ON(plan_mirostat_draw)(row, s);
}

/* ---- src/samplers/adaptive_p.h ---- */

/* The plan of adaptive_p. */
static int SAMPI_ON(plan_adaptive_p)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_memory *memory = SAMPI_ON(memory)(row);
    samp_token_data token;
    int known;
    if (s->u.adaptive.target < 0.0f) return SAMPI_ON(plan_dist)(row, s);
    if (memory->phase == 0) {
        sampi_sums sums;
        known = SAMPI_ON(sums)(row, s, SAMPI_THEN_FIRST, &sums);
        if (known != SAMPI_KNOWN) return known;
        known = SAMPI_ON(adapt_all)(row, &sums, sampi_adaptive_p_aim(&s->u.adaptive));
        if (known != SAMPI_KNOWN) return known;
        memory->max = sums.max;
        memory->count = sums.z;
        memory->phase = 1;
    }
    known = SAMPI_ON(draw)(row, s, &token);
    if (known != SAMPI_KNOWN) return known;
    const float l = SAMPI_ON(before_adapt)(row, &token);
    return SAMPI_ON(choose)(row, s, &token, (float)(sampi_exp(memory->max, l) / (double)memory->count));
}

#undef SAMPI_ON
/* ---- src/gpu/users.h ---- */
/* ---- a user's sampler ----
  A row that waits for the host to call a user's sampler. */

#define SAMPI_GPU_STOPPED (-2)        /* value of a token: the host must call the user's sampler */
#define SAMPI_GPU_LEAVE   0xFFFFFFFFu /* value of a size: the user's sampler has chosen, or failed */

/* Writes the list of remaining tokens to the arrays that a user's sampler gets: user_id, user_logit, user_p of the row.
   p is computed as for an export, from the logits at the time that p was last set; it is 0 if p was never set. */
static SAMPI_CALLED void sampi_gpu_unpack(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const bool p_set = h->st->p_set;
    const float p_max = h->st->p_max;
    const double p_z = (double)h->st->p_z;
    int32_t *id = h->a->user_id + h->row * SAMP_GPU_LIST;
    float *l = h->a->user_logit + h->row * SAMP_GPU_LIST, *p = h->a->user_p + h->row * SAMP_GPU_LIST;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        id[i] = (int32_t)sampi_gpu_id(item[i].key);
        l[i] = sampi_gpu_logit(item[i].key);
        p[i] = p_set ? (float)(sampi_exp(p_max, item[i].at_p) / p_z) : 0.0f;
    }
}

/* Returns the index of the item with an id, n if there is none. The search begins at index `from`, and wraps around. */
SAMPI_INLINE uint32_t sampi_gpu_find_id(const sampi_gpu_item *item, uint32_t n, uint32_t from, uint32_t id)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t at = from + k < n ? from + k : from + k - n;
        if (sampi_gpu_id(item[at].key) == id) return at;
    }
    return n;
}

/* Makes the list from what the user's sampler has left; the host has written their number to n_list. */
static SAMPI_CALLED int sampi_gpu_repack(const sampi_gpu_here *h)
{
    const uint32_t n = h->st->n_list, n_old = h->st->p_set ? h->st->n_shown : 0;
    const int32_t *id = h->a->user_id + h->row * SAMP_GPU_LIST;
    const float *l = h->a->user_logit + h->row * SAMP_GPU_LIST;
    const sampi_gpu_item *old = sampi_gpu_list(h);
    if (n == SAMPI_GPU_LEAVE) return SAMP_E_UNSUPPORTED; /* the host has the result */
    const uint32_t other = h->st->buffer ^ 1;
    sampi_gpu_meet(h->st);
    h->st->n_list = 0;
    h->st->buffer = other;
    sampi_gpu_meet(h->st); /* before a lane appends */
    sampi_gpu_item *item = sampi_gpu_list(h);
    uint32_t *n_list = &h->st->n_list;
    uint32_t bad = 0, foreign = 0;
    SAMPI_SIMD(reduction(+ : bad, foreign))
    SAMPI_LANES
    {
        uint32_t at = 0;
        for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) {
            foreign += (uint32_t)id[i] >= h->a->n_vocab;
            /* NaN and +infinity are errors, as in samp_apply; -infinity masks */
            bad += !(l[i] <= FLT_MAX);
            if (!(l[i] >= -FLT_MAX)) continue;
            at = sampi_gpu_find_id(old, n_old, at, (uint32_t)id[i]);
            sampi_gpu_append(n_list, item, sampi_gpu_key(l[i] + 0.0f, (uint32_t)id[i]), 0.0f,
                             at < n_old ? old[at].at_p : 0.0f);
        }
    }
    sampi_gpu_invalidate(h->st, false);
    if (foreign) return SAMP_E_RANGE;
    return bad ? (int)SAMP_E_NAN : sampi_gpu_require_max(h);
}

/* The step of a user's sampler: the first call stops the row, with its list in the user's arrays; the second takes the
   result over. */
static SAMPI_CALLED int sampi_gpu_user(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    if (st->memory.phase == 1) return sampi_gpu_repack(h);
    int known = sampi_gpu_require_all(h);
    if (known != 1) return known;
    /* the call after the stop is in phase 1, and takes over what the user's sampler has left */
    sampi_gpu_unpack(h);
    st->n_shown = st->n_list;
    st->memory.phase = 1;
    st->pass = SAMPI_PASS_NONE;
    sampi_gpu_report(h, SAMP_OK, SAMPI_GPU_STOPPED, 0.0f);
    return 0;
}

/* Ends the row with all remaining tokens for the host, which runs the rest of the chain (sampi_gpu_go_on). */
static SAMPI_CALLED int sampi_gpu_export(const sampi_gpu_here *h)
{
    int known = sampi_gpu_require_all(h);
    return known == 1 ? sampi_gpu_finish(h, SAMP_OK, -1, 0.0f) : known;
}

/* ---- src/gpu/logprobs.h ---- */
/* ---- log-probabilities ----
  The device computes a basis for each row's log-probabilities, one for the row as given and one for what the chain
     left: maximum, sum of weights, the first keys, and the chosen token's logit and rank. */

/* Returns the keys of the first tokens of one of a row's sets: 0 as given, 1 after the chain. */
static uint64_t *sampi_gpu_top_keys(sampi_gpu_basis *basis, size_t n_rows, uint32_t n_top, size_t row, size_t set)
{
    return (uint64_t *)(void *)(basis + n_rows * 2) + (row * 2 + set) * n_top;
}

/* Copies the keys of those of the list's n tokens that are in the prefix, in any order; *found counts them. */
static SAMPI_CALLED void sampi_gpu_copy_top(const sampi_gpu_here *h, uint32_t n, uint64_t *top, uint32_t *found)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint64_t last = h->st->search.key;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        if (item[i].key >= last) top[__atomic_fetch_add(found, 1, __ATOMIC_RELAXED)] = item[i].key;
    }
}

/* Writes a set's maximum, sums and first tokens: those of the list whose keys reach the last of the prefix, in no
   order; the host sorts them, as they are few. */
static int sampi_gpu_leave_basis(const sampi_gpu_here *h, size_t set, uint32_t n_top)
{
    const sampi_gpu_args *a = h->a;
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_require_sums(h);
    if (known != 1) return known;
    /* no more than all tokens can be reported; if no token is wanted, no list is needed */
    if (n_top > st->n) n_top = (uint32_t)st->n;
    if (n_top > 0) known = sampi_gpu_require_prefix(h, false, 0.0, 0, n_top);
    if (known != 1) return known;
    sampi_gpu_basis *basis = &a->basis[h->row * 2 + set];
    uint64_t *top = sampi_gpu_top_keys(a->basis, a->n_rows, a->n_top, h->row, set);
    const uint32_t n = n_top > 0 ? st->n_list : 0;
    basis->max = st->max;
    basis->z = st->z;
    basis->s = st->s;
    basis->n_top = 0;
    sampi_gpu_meet(st); /* before a lane adds to it */
    sampi_gpu_copy_top(h, n, top, &basis->n_top);
    return 1;
}

/* Copies the keys of the list's n_given tokens. */
static SAMPI_CALLED void sampi_gpu_copy_keys(const sampi_gpu_here *h, uint64_t *given)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_given;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) given[i] = item[i].key;
}

/* Log-probabilities of the row as given, before any sampler. */
static SAMPI_CALLED int sampi_gpu_raw(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    int known = sampi_gpu_leave_basis(h, 0, step->k);
    if (known != 1) return known;
    st->n_given = st->listed ? st->n_list : 0;
    sampi_gpu_copy_keys(h, h->a->given + h->row * SAMP_GPU_LIST);
    /* no key reaches UINT64_MAX: without a list the row is counted at the end */
    st->given_from = st->listed ? st->floor : UINT64_MAX;
    return 1;
}

/* Restores the row as it was given, for counting: the operations are dropped, and the tokens with changed logits are
   read again. */
static SAMPI_CALLED void sampi_gpu_restore_row(const sampi_gpu_here *h, float max)
{
    const sampi_gpu_view v = sampi_gpu_view_of(h->a, h->row);
    sampi_gpu_state *st = h->st;
    sampi_gpu_changed *c = h->changed;
    const int32_t *id = h->changed_id;
    const uint32_t n = h->job->n_ids;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        c[i].l = sampi_roundf(sampi_gpu_element(&v, (uint32_t)id[i])) + 0.0f;
    }
    st->n_ops = 0;
    st->bar = -INFINITY;
    st->complete = st->listed = false;
    st->thinned = true;
    st->max = max;
}

/* Returns the rank of a key among the first tokens of the row as given. */
static SAMPI_CALLED uint32_t sampi_gpu_given_rank(const sampi_gpu_here *h, uint64_t key)
{
    const uint64_t *given = h->a->given + h->row * SAMP_GPU_LIST;
    const uint32_t n = h->st->n_given;
    uint32_t rank = 0;
    SAMPI_SIMD(reduction(+ : rank))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) rank += given[i] >= key;
    return rank;
}

/* Log-probabilities after the choice: of the tokens that the chain left, and the ranks. */
static SAMPI_CALLED int sampi_gpu_logprobs(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    sampi_gpu_state *st = h->st;
    sampi_gpu_basis *given = &h->a->basis[h->row * 2], *left = given + 1;
    const uint32_t id = sampi_gpu_id(st->chosen);
    int known;
    if (st->memory.phase == 0) {
        if ((known = sampi_gpu_leave_basis(h, 1, step->k)) != 1) return known;
        sampi_gpu_keep_from(h, st->chosen);
        st->thinned = true; /* only their number is wanted */
        st->memory.phase = 1;
    }
    if (st->memory.phase == 1) {
        if ((known = sampi_gpu_require_sums(h)) != 1) return known;
        const sampi_gpu_view v = sampi_gpu_view_of(h->a, h->row);
        /* the chosen token is the last of the tokens kept, so their number is its rank */
        left->l = sampi_gpu_logit(st->chosen);
        left->rank = (uint32_t)st->n;
        given->l = sampi_gpu_element(&v, id) + 0.0f;
        const uint64_t key = sampi_gpu_key(given->l, id);
        given->rank = sampi_gpu_given_rank(h, key);
        /* the row is done, unless the row as given must be counted */
        if (key >= st->given_from) return sampi_gpu_finish(h, SAMP_OK, (int32_t)id, st->value);
        sampi_gpu_restore_row(h, given->max);
        sampi_gpu_keep_from(h, key);
        st->memory.phase = 2;
    }
    if (st->memory.phase == 2) {
        if ((known = sampi_gpu_require_sums(h)) != 1) return known;
        given->rank = (uint32_t)st->n;
    }
    return sampi_gpu_finish(h, SAMP_OK, (int32_t)id, st->value);
}

/* Runs a step (a sampler): the only place where the device distinguishes kinds of steps; sampi_gpu_advance calls it. */
static int sampi_gpu_run_step(const sampi_gpu_here *h, sampi_gpu_step *step)
{
    switch (step->kind) {
#define SAMPI_X(KIND, plan) \
    case SAMPI_##KIND: return sampi_gpu_plan_##plan(h, step);
        SAMPI_KINDS(SAMPI_X)
#undef SAMPI_X
        case SAMPI_GPU_USER: return sampi_gpu_user(h);
        case SAMPI_GPU_EXPORT: return sampi_gpu_export(h);
        case SAMPI_GPU_RAW: return sampi_gpu_raw(h, step);
        case SAMPI_GPU_LOGPROBS: return sampi_gpu_logprobs(h, step);
        default: return SAMPI_GPU_DECLINED;
    }
}

/* ---- src/gpu/short.h ---- */
/* ---- the short way ----
  The end of a chain on few tokens: top_k, top_p, temperatures and a draw, in one function with three small loops. */

/* Whether the rest of the chain can go the short way: all tokens that can still be chosen are in the list. */
static bool sampi_gpu_is_short(const sampi_gpu_here *h)
{
    const sampi_gpu_state *st = h->st;
    const sampi_gpu_step *step = &h->job->step[st->at];
    if (st->at < h->job->short_from || !st->max_known || st->memory.phase) return false;
    if (st->n_list > SAMPI_GPU_FEW || st->n_list == 0) return false;
    return st->complete || (st->listed && step->kind == SAMPI_TOP_K && (uint32_t)step->u.top_k.k <= st->n_list);
}

/* Writes the codes of the list. */
static void sampi_gpu_short_begin(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t *code = h->code, *y = h->wide;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const uint64_t key = item[sampi_gpu_min_of(i, n - 1)].key;
        code[i] = i < n ? ~key : UINT64_MAX;
        y[i] = 0;
    }
}

/* Computes for each token the number of tokens up to it and, if `weighing`, their mass. */
static void sampi_gpu_short_sums(const sampi_gpu_here *h, bool weighing, uint32_t n, float max)
{
    uint64_t *code = h->code, *y = h->wide;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const uint64_t there = sampi_gpu_mask(code[i] != UINT64_MAX);
        const uint64_t w = weighing ? sampi_weight(max, sampi_gpu_logit(~code[i])) & there : 0;
        y[i] = w + (SAMPI_GPU_ONE & there);
    }
    sampi_gpu_pairs(code, y, n, sampi_gpu_spare(h));
}

/* Applies top_k, or top_p: keeps the shortest prefix with a count, and a mass, by those sums. */
static void sampi_gpu_short_cut(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const bool by_mass = step->kind == SAMPI_TOP_P;
    uint64_t *code = h->code, *y = h->wide, *upto = sampi_gpu_spare(h), z = 0;
    if (by_mass) {
        SAMPI_SIMD(reduction(+ : z))
        SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
            z += y[i] & (SAMPI_GPU_ONE - 1) & sampi_gpu_mask(code[i] != UINT64_MAX);
    }
    const uint64_t mass = by_mass ? sampi_mass_of(sampi_share(step->u.cut.p), z) : 0;
    const uint64_t least = by_mass ? step->u.cut.min_keep : (uint64_t)step->u.top_k.k;
    const uint64_t count = least ? least : 1;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const uint64_t before = upto[i] - y[i];
        const bool stays = ((before & (SAMPI_GPU_ONE - 1)) < mass) | (before >> 48 < count);
        code[i] |= sampi_gpu_mask(!stays);
    }
}

/* Multiplies the logits by a factor; returns the maximum after that. */
static float sampi_gpu_short_scale(const sampi_gpu_here *h, float factor, float max)
{
    uint64_t *code = h->code;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const uint64_t key = ~code[i];
        const uint64_t scaled = ~sampi_gpu_key(sampi_gpu_finite(sampi_roundf(sampi_gpu_logit(key) * factor)),
                                               sampi_gpu_id(key));
        code[i] = code[i] != UINT64_MAX ? scaled : UINT64_MAX;
    }
    return sampi_gpu_finite(sampi_roundf(max * factor));
}

/* Returns the smallest of the codes whose running sum exceeds t. */
SAMPI_INLINE uint64_t sampi_gpu_short_find(const uint64_t *code, const uint64_t *upto, uint64_t t)
{
    uint64_t found = UINT64_MAX;
    SAMPI_SIMD(reduction(min : found))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const uint64_t x = code[i] | sampi_gpu_mask(upto[i] <= t);
        found = x < found ? x : found;
    }
    return found;
}

/* Draws as sampi_gpu_list_draw does; returns the token as id << 32 | the upper half of its key. */
static SAMPI_CALLED uint64_t sampi_gpu_short_draw(const sampi_gpu_here *h, const sampi_gpu_step *step, uint32_t n,
                                                  float max)
{
    uint64_t *code = h->code, *y = h->wide, *upto = sampi_gpu_spare(h), total = 0, random[2];
    SAMPI_SIMD(reduction(+ : total))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const uint64_t key = ~code[i], there = sampi_gpu_mask(key != 0);
        y[i] = sampi_envelope(max, sampi_gpu_logit(key)) & there;
        total += y[i];
        /* the order of ids, each with its logit */
        code[i] = ((uint64_t)sampi_gpu_id(key) << 32 | key >> 32) | ~there;
    }
    sampi_gpu_pairs(code, y, n, upto);
    for (uint32_t attempt = 0;; attempt++) {
        if (attempt) sampi_gpu_meet(h->st); /* lanes have read `random` */
        sampi_random_bits(step->seed, h->job->position, step->stream, attempt, random);
        const uint64_t t = sampi_mulhi(random[0], total);
        const uint64_t found = sampi_gpu_short_find(code, upto, t);
        const float l = sampi_gpu_logit(found << 32);
        if (sampi_mulhi(random[1], (uint64_t)sampi_envelope(max, l) << 14) < sampi_weight(max, l)) return found;
    }
}

/* Runs the rest of the chain, and finishes the row. */
static SAMPI_CALLED int sampi_gpu_short(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    const uint32_t last = h->job->n_steps - 1, n = (st->n_list + 7) & ~(uint32_t)7;
    float max = st->max;
    uint32_t at = st->at;
    bool summed = false; /* two cuts with nothing between them share their sums */
    sampi_gpu_short_begin(h);
    for (; at < last; at++) {
        const sampi_gpu_step *step = &h->job->step[at];
        const bool cuts = step->kind != SAMPI_TEMP, weighs = step->kind == SAMPI_TOP_P || step[1].kind == SAMPI_TOP_P;
        if (!cuts) max = sampi_gpu_short_scale(h, 1.0f / step->u.temp.t, max);
        if (cuts && !summed) sampi_gpu_short_sums(h, weighs, n, max);
        if (cuts) sampi_gpu_short_cut(h, step);
        summed = cuts && weighs;
    }
    sampi_gpu_meet(st);
    st->at = last;
    const uint64_t token = sampi_gpu_short_draw(h, &h->job->step[last], n, max);
    samp_token_data chosen;
    chosen.id = (samp_token)(token >> 32);
    chosen.logit = sampi_gpu_logit(token << 32);
    return sampi_gpu_choose(h, &h->job->step[last], &chosen, 0.0f);
}

/* ---- src/gpu/advance.h ---- */
/* ---- between passes ----
  What the last team (thread block) of a pass does, from its arrival to the next epoch (the row's count of passes). */

#if SAMPI_OFFLOAD
/* The word that is read of each 32-byte sector of a row's state. No pass changes a word at this offset by atomics. */
enum { SAMPI_GPU_WORD = 4, SAMPI_GPU_SECTOR = 8 /* words */ };
SAMPI_STATIC_ASSERT(offsetof(sampi_gpu_state, n_list) / 4 % SAMPI_GPU_SECTOR != SAMPI_GPU_WORD,
                    "n_list is another word");

/* Brings what a team reads after each fence into the cache: the args (the batch's addresses), the row's state, its job
   (the chain) and its place. */
static SAMPI_UNCLONED void sampi_gpu_bring_near(const sampi_gpu_args *a, const sampi_gpu_state *st,
                                                const sampi_gpu_job *job, uint32_t job_words,
                                                const sampi_gpu_place *place)
{
    typedef const uint32_t __attribute__((may_alias)) word;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        const uint32_t at = (uint32_t)lane * SAMPI_GPU_SECTOR;
        uint32_t x[4];
        x[0] = ((word *)(const void *)a)[sampi_gpu_min_of(at, sizeof *a / 4 - 1)];
        x[1] = ((word *)(const void *)st)[at + SAMPI_GPU_WORD];
        x[2] = ((word *)(const void *)job)[sampi_gpu_min_of(at, job_words - 1)];
        x[3] = *(word *)(const void *)place;
        SAMPI_AT_ONCE(4, x);
        sampi_gpu_use(x[0] ^ x[1] ^ x[2] ^ x[3]);
    }
}
#else
static void sampi_gpu_bring_near(const sampi_gpu_args *a, const sampi_gpu_state *st, const sampi_gpu_job *job,
                                 uint32_t job_words, const sampi_gpu_place *place)
{
    (void)a, (void)st, (void)job, (void)job_words, (void)place;
}
#endif

/* Ends the scan, a row's first pass: returns SAMP_OK if the row is good, else its status. */
static SAMPI_CALLED int sampi_gpu_end_scan(const sampi_gpu_here *h)
{
    const sampi_gpu_args *a = h->a;
    const sampi_gpu_view v = sampi_gpu_view_of(a, h->row);
    const uint32_t splits = a->splits, n_changed = h->job->n_ids;
    const float *team_max = a->team_max + h->row * splits;
    const int32_t *id = h->changed_id;
    sampi_gpu_changed *c = h->changed;
    float max = -INFINITY, top = -INFINITY;
    uint32_t bad = 0;
    SAMPI_SIMD(reduction(max : max, top) reduction(+ : bad))
    SAMPI_LANES
    {
        for (uint32_t from = 0; from < splits; from += 4 * SAMPI_WARP) {
            SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++)
            {
                const uint32_t i = from + k * SAMPI_WARP + (uint32_t)lane;
                const float x = team_max[sampi_gpu_min_of(i, splits - 1)];
                bad += x != x;
                max = x > max ? x : max;
            }
        }
        for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP) {
            float l = sampi_gpu_element(&v, (uint32_t)id[i]) + 0.0f;
            c[i].l = l;
            c[i].at_order = c[i].at_p = 0.0f;
            bad += l != l;
            top = l > top ? l : top;
        }
    }
    h->st->dense_max = max + 0.0f;
    h->st->max = (top > max ? top : max) + 0.0f;
    h->st->max_known = true;
    h->st->bar = -INFINITY;
    return bad ? (int)SAMP_E_NAN : sampi_row_max_status(h->st->max);
}

/* Adds up the parts (results) of all teams for the passes SUMS, SIGMA or MAX, and adds the tokens with changed logits.
   */
static void sampi_gpu_end_sums(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    const sampi_gpu_part *part = h->a->part + h->row * h->a->splits;
    const sampi_gpu_changed *c = h->changed;
    const uint32_t splits = h->a->splits, n_changed = h->job->n_ids;
    const int32_t pass = st->pass;
    const float max = st->max;
    const double scale = st->scale;
    uint64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    float top = -INFINITY, low = INFINITY;
    SAMPI_SIMD(reduction(+ : s0, s1, s2, s3) reduction(max : top) reduction(min : low))
    SAMPI_LANES
    {
        for (uint32_t from = 0; from < splits; from += 4 * SAMPI_WARP) {
            SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++)
            {
                /* the last part is read again instead of those past the end; it counts once */
                const uint32_t i = from + k * SAMPI_WARP + (uint32_t)lane, once = i < splits;
                const sampi_gpu_part x = part[sampi_gpu_min_of(i, splits - 1)];
                s0 += once * x.sum[0], s1 += once * x.sum[1], s2 += once * x.sum[2], s3 += once * x.sum[3];
                top = x.max > top ? x.max : top;
                low = x.low < low ? x.low : low;
            }
        }
        for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP) {
            float l = c[i].l;
            if (sampi_masked(l)) continue;
            top = l > top ? l : top;
            low = l < low ? l : low;
            if (pass == SAMPI_PASS_SUMS) {
                const uint64_t w = sampi_weight(max, l);
                s0++, s1 += w, s2 += sampi_weighted(w, max, l);
            }
            if (pass == SAMPI_PASS_SIGMA) {
                sampi_gpu_squares sum = { s0, s1, s2, s3 };
                sampi_gpu_square(&sum, sampi_sigma_x(max, l, scale));
                s0 = sum.x, s1 = sum.high, s2 = sum.mixed, s3 = sum.low;
            }
        }
    }
    if (pass == SAMPI_PASS_MAX) st->max = top, st->max_known = true;
    if (pass == SAMPI_PASS_SUMS) st->n = s0, st->z = s1, st->s = s2, st->low = low, st->sums_known = true;
    if (pass == SAMPI_PASS_SIGMA) st->sigma[0] = s0, st->sigma[1] = s1, st->sigma[2] = s2, st->sigma[3] = s3;
}

/* Adds the changed tokens (whose logits penalties, dry or logit_bias change) to the list or the histogram that a pass
   has made. */
static SAMPI_CALLED void sampi_gpu_join_changed(const sampi_gpu_here *h)
{
    sampi_gpu_state *st = h->st;
    const sampi_gpu_search *search = &st->search;
    const sampi_gpu_changed *c = h->changed;
    const int32_t *id = h->changed_id;
    const int32_t pass = st->pass;
    const uint32_t n = h->job->n_ids;
    const float max = st->max;
    sampi_gpu_item *item = sampi_gpu_list(h);
    uint32_t *n_list = &st->n_list;
    const bool counting = pass == SAMPI_PASS_HIST || pass == SAMPI_PASS_DIVIDE;
    const bool by_code = counting || pass == SAMPI_PASS_BUCKET || pass == SAMPI_PASS_EDGE;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        if (sampi_masked(c[i].l)) continue;
        uint64_t key = sampi_gpu_key(c[i].l, (uint32_t)id[i]);
        bool in = key >= st->floor;
        if (by_code) {
            const uint64_t code = sampi_gpu_code(search->by_score, key, max, search->mean);
            in = code >= search->lo && code <= search->hi;
        }
        if (in && counting)
            sampi_gpu_add_to_bucket(h->a, h->row, search, max, key);
        else if (in)
            sampi_gpu_append(n_list, item, key, c[i].at_order, c[i].at_p);
    }
}

/* Ends a pass, when all teams have done it: takes its result over, and runs steps (samplers) until another pass is
   needed, or the row is finished. */
static SAMPI_CALLED void sampi_gpu_advance(const sampi_gpu_args *a, size_t row)
{
    const sampi_gpu_here here = sampi_gpu_at(a, row), *h = &here;
    sampi_gpu_state *st = h->st;
    const int32_t pass = st->pass;
    const bool listing = pass == SAMPI_PASS_GATHER || (pass == SAMPI_PASS_SUMS && st->listing);
    const uint32_t passes = st->passes + 1;
    int known = 1;
    sampi_gpu_meet(st);
    st->passes = passes;
    if (pass == SAMPI_PASS_SCAN) {
        known = sampi_gpu_end_scan(h);
        known = known ? known : 1;
    }
    const bool searching = pass >= SAMPI_PASS_HIST && pass <= SAMPI_PASS_EDGE;
    if (pass == SAMPI_PASS_SUMS || pass == SAMPI_PASS_SIGMA || pass == SAMPI_PASS_MAX) sampi_gpu_end_sums(h);
    if (h->job->n_ids && (listing || searching)) sampi_gpu_join_changed(h);
    if (listing) {
        st->listed = st->n_list <= SAMP_GPU_LIST;
        st->overflown = !st->listed;
        st->listing = false;
    }
    while (known == 1) {
        if (sampi_gpu_is_short(h)) {
            sampi_gpu_short(h);
            break;
        }
        const uint32_t at = st->at;
        sampi_gpu_step *step = &h->job->step[at];
        const bool last = at + 1 == h->job->n_steps;
        known = sampi_gpu_run_step(h, step);
        if (known != 1 || last) break; /* the step waits, has failed, or has finished the row itself */
        sampi_gpu_meet(st);
        st->at = at + 1;
        st->memory.phase = 0;
        if (st->complete && st->n_list == 0) known = SAMP_E_EMPTY;
    }
    /* a negative status is an error, or "not on the device": the host gets it, and the row is ready for the next batch
       */
    if (known < 0) sampi_gpu_finish(h, known, -1, 0.0f);
}

/* Returns how many teams a launch needs: those that share rows, then the rows' leaders. */
static uint32_t sampi_gpu_teams_of(const sampi_gpu_args *a) { return a->n_rows * (a->splits + a->leaders); }

/* Runs a team's passes over its row, as long as one can begin. */
static void sampi_gpu_team(const sampi_gpu_args *a, uint32_t team)
{
    /* copies, as a load that acquires empties the cache */
    const uint32_t batch = a->batch, splits = a->splits, wait = a->wait;
    const bool leads = team >= a->n_rows * splits;
    const size_t row = leads ? team - a->n_rows * splits : team / splits;
    const uint32_t split = leads ? splits : team % splits;
    const bool first = wait && (a->leaders ? leads : split == 0);
    const sampi_gpu_result *result = &a->result[row];
    uint64_t done = a->done[team];
    sampi_gpu_state *st = &a->state[row];
    const sampi_gpu_job *job = sampi_gpu_job_of(a, row);
    const sampi_gpu_place *place = &a->place[row];
    const uint32_t job_words = (uint32_t)(a->job_size / 4);
    uint32_t waited = 0, epoch = sampi_gpu_look(&st->epoch);
    for (uint32_t next = epoch;; epoch = next) {
        const uint64_t mark = (uint64_t)batch << 32 | (uint32_t)(epoch + 1);
        /* else it did this pass in an earlier launch, and another may advance the row now */
        if ((leads || done != mark) && result->batch == batch) return;
        if (!leads && done != mark) {
            sampi_gpu_bring_near(a, st, job, job_words, place);
            sampi_gpu_walk(a, row, split);
            sampi_gpu_fence(); /* other teams see parts, lists and histograms before this arrival */
            sampi_gpu_add(&st->arrived, 1);
            a->done[team] = done = mark; /* all lanes have read it: there was a barrier */
        }
        if (first) {
            while (sampi_gpu_peek(&st->arrived) != splits)
                if (++waited > wait) return;
            (void)sampi_gpu_look(&st->arrived);
            sampi_gpu_add(&st->arrived, 0 - splits);
        }
        if (first || (!wait && sampi_gpu_claim(&st->arrived, splits))) {
            if (!first) sampi_gpu_fence(); /* the other teams' results are read only after the last arrival */
            sampi_gpu_bring_near(a, st, job, job_words, place);
            sampi_gpu_advance(a, row);
            sampi_gpu_meet(st);
            sampi_gpu_fence(); /* the other teams see the new state before the epoch */
            sampi_gpu_add(&st->epoch, 1);
            waited = 0, next = epoch + 1;
            if (wait || splits == 1) continue;
        }
        if (wait == 0) return; /* the other teams run later, or in the next launch */
        while (sampi_gpu_peek(&st->epoch) == epoch)
            if (++waited > wait) return;
        next = sampi_gpu_look(&st->epoch);
    }
}

#if SAMPI_OFFLOAD
#pragma omp declare target
/* The batch that the kernel runs, and the probe's counters. */
static struct {
    const sampi_gpu_args *args; /* NULL for a probe */
    sampi_gpu_args *near_args;  /* [teams] where teams copy args that are in host memory; NULL: they are not */
} sampi_gpu_bound;
static uint32_t *sampi_gpu_probe_counters; /* [4] see sampi_gpu_count_teams */
#pragma omp end declare target
#endif

/* ---- src/gpu/shapes.h ---- */
/* ====================================================================================================== >>host
  What the host does around the kernels. */

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
   chain, and commit_row records those that it makes itself. n_top [2] are those of log-probabilities, as given and
   after the chain; -1: none are asked for. */
typedef struct sampi_gpu_source {
    const sampi_sampler *chain;
    size_t serial, n_edits, n_vocab, n_top[2];
} sampi_gpu_source;

/* The chain of a job. */
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

/* A context: one block on the device and one on the host, laid out once. */
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
  A layout is written once, as a list of reservations, and run twice: with base NULL for the size, then with the block.
     */

/* Returns the bytes of a logit; 0 for a type that the device does not take, for which sampi_gpu_check refuses the
   config. */
static size_t sampi_gpu_element_size(samp_dtype dtype)
{
    if (dtype == SAMP_F16 || dtype == SAMP_BF16) return 2;
    if (dtype == SAMP_F32) return 4;
    return dtype == SAMP_F64 ? 8 : 0;
}

/* Returns the status of a config. */
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

/* Reserves the next part of a block, n elements of a size, and returns its address. */
static char *sampi_gpu_reserve(char *base, size_t *used, size_t n, size_t size)
{
    char *at = base ? base + *used : NULL; /* NULL: a layout only counts */
    /* a size that overflows stays the maximum, which no block can have */
    const bool fits = n <= (SIZE_MAX / 2 - 255) / size && *used <= SIZE_MAX / 2;
    *used = fits ? *used + ((n * size + 255) & ~(size_t)255) : SIZE_MAX;
    return at;
}

/* Returns the bytes of what is sent to the device for a batch, and sets the offsets in it of args, places and jobs
   (chains). */
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

/* The desk, host memory that kernels may use: the args, then results. */
enum { SAMPI_GPU_RESULTS_AT = 512, SAMPI_GPU_PAGE = 65536 };
SAMPI_STATIC_ASSERT(sizeof(sampi_gpu_args) <= SAMPI_GPU_RESULTS_AT, "a warp reads the args in four words a lane");

static size_t sampi_gpu_desk_size(const samp_gpu_config *c)
{
    const size_t used = SAMPI_GPU_RESULTS_AT + c->max_rows * sizeof(sampi_gpu_result), page = SAMPI_GPU_PAGE;
    return c->registered ? (used + page - 1) & ~(page - 1) : used;
}

/* Returns the bytes per row of what log-probabilities are computed from. */
static size_t sampi_gpu_basis_size(size_t n_top) { return 2 * (sizeof(sampi_gpu_basis) + n_top * sizeof(uint64_t)); }

/* Lays out the device's block, by gpu->config, and returns its size. base may be NULL, to get the size only. */
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

/* ---- src/gpu/device.h ---- */
/* ---- the device, through OpenMP ----
  Everything that the library asks of OpenMP: how many devices there are, copies to and from them, launches, and two
     probes when a context is made. */

SAMP_API int samp_gpu_available(void)
{
#if SAMPI_OFFLOAD
    return omp_get_num_devices();
#else
    return 0;
#endif
}

/* Copies n bytes between host and device. */
static int sampi_gpu_copy(samp_gpu *gpu, void *to, const void *from, size_t n, int to_device, int from_device)
{
    gpu->perf.n_copies++;
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE)
        return omp_target_memcpy(to, from, n, 0, 0, to_device, from_device) ? (int)SAMP_E_DEVICE : (int)SAMP_OK;
#endif
    (void)to_device, (void)from_device;
    memcpy(to, from, n);
    return SAMP_OK;
}
static int sampi_gpu_put(samp_gpu *gpu, void *to, const void *from, size_t n)
{
    return sampi_gpu_copy(gpu, to, from, n, gpu->device, gpu->host);
}
static int sampi_gpu_get(samp_gpu *gpu, void *to, const void *from, size_t n)
{
    return sampi_gpu_copy(gpu, to, from, n, gpu->host, gpu->device);
}

/* ---- registered host memory ----
  Copies around a batch take about as long as its kernel. */

#if SAMPI_OFFLOAD
#include <dlfcn.h>
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlclose

/* Gives a function of NVIDIA's driver, or NULL if that is not loaded. */
static void sampi_gpu_find_function(const char *name, void *function, size_t size)
{
    void *driver = dlopen && dlsym && dlclose ? dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = driver ? dlsym(driver, name) : NULL;
    if (driver) dlclose(driver);
    memcpy(function, &found, size);
}

/* Registers n bytes of the desk; returns their address for the device, or NULL. libgomp has made its context current in
   this thread, because it has just allocated the block; the first call checks that the block is of that context. */
static char *sampi_gpu_take_desk(samp_gpu *gpu, size_t n)
{
    enum { DEVICE_MAP = 2 };
    int (*range)(uint64_t *, size_t *, uint64_t), (*take)(void *, size_t, unsigned), (*release)(void *);
    int (*address)(uint64_t *, void *, unsigned);
    uint64_t at = 0;
    size_t size = 0;
    sampi_gpu_find_function("cuMemGetAddressRange_v2", &range, sizeof range);
    sampi_gpu_find_function("cuMemHostRegister_v2", &take, sizeof take);
    sampi_gpu_find_function("cuMemHostGetDevicePointer_v2", &address, sizeof address);
    sampi_gpu_find_function("cuMemHostUnregister", &release, sizeof release);
    if (!range || !take || !address || !release) return NULL;
    if (range(&at, &size, (uint64_t)(uintptr_t)gpu->block) || take(gpu->desk, n, DEVICE_MAP)) return NULL;
    if (address(&at, gpu->desk, 0) == 0) return (char *)(uintptr_t)at;
    release(gpu->desk);
    return NULL;
}
#endif

/* Lets the kernels use the desk, if the config asks for it and they can. Kernels on the host can. */
static void sampi_gpu_open_desk(samp_gpu *gpu)
{
    const size_t n = sampi_gpu_desk_size(&gpu->config);
    if (!gpu->config.registered) return;
    if (gpu->mode == SAMPI_GPU_ON_HOST) gpu->desk_there = gpu->desk;
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE) gpu->desk_there = sampi_gpu_take_desk(gpu, n);
#endif
    if (!gpu->desk_there) return;
    gpu->perf.registered = n;
    gpu->args.told = (sampi_gpu_result *)(void *)(gpu->desk_there + SAMPI_GPU_RESULTS_AT);
}

/* Ends that, before the memory is freed. */
static void sampi_gpu_close_desk(samp_gpu *gpu)
{
#if SAMPI_OFFLOAD
    int (*release)(void *);
    sampi_gpu_find_function("cuMemHostUnregister", &release, sizeof release);
    if (gpu->mode == SAMPI_GPU_ON_DEVICE && gpu->desk_there) release(gpu->desk);
#endif
    gpu->desk_there = NULL;
    gpu->perf.registered = 0;
}

/* Whether the batch's args are read from the desk: if its teams are few, as each reads them. */
static bool sampi_gpu_is_direct(const samp_gpu *gpu)
{
    return gpu->desk_there && sampi_gpu_teams_of(&gpu->args) <= SAMPI_TEAMS_FEW;
}

/* Checks that n bytes of the caller's are in the device's memory. */
static int sampi_gpu_require_memory(samp_gpu *gpu, const void *p, size_t n)
{
    const uintptr_t first = (uintptr_t)p, last = first + n - 1;
    char byte;
    for (int i = 0; i < SAMPI_GPU_FOUND; i++)
        if (first >= gpu->found[i][0] && last <= gpu->found[i][1]) return SAMP_OK;
    if (sampi_gpu_get(gpu, &byte, p, 1) || sampi_gpu_get(gpu, &byte, (const char *)p + n - 1, 1))
        return SAMP_E_ADDRESS;
    uintptr_t *found = gpu->found[gpu->n_found++ % SAMPI_GPU_FOUND];
    found[0] = first;
    found[1] = last;
    return SAMP_OK;
}

#if SAMPI_OFFLOAD
/* Counts whether all teams that the launch has got run at once. */
static void sampi_gpu_count_teams(uint32_t *counter, uint32_t team, uint32_t n_teams)
{
    const uint32_t limit = counter[2], n = limit < n_teams ? limit : n_teams;
    if (team == 0) counter[3] = n_teams;
    if (team >= n) return;
    sampi_gpu_add(&counter[0], 1);
    for (uint32_t i = 0; i < SAMP_GPU_WAIT; i++)
        if (sampi_gpu_peek(&counter[0]) >= n) {
            sampi_gpu_add(&counter[1], 1);
            return;
        }
}

/* Copies the args from host memory to the team's own place. */
static SAMPI_CALLED void sampi_gpu_take_args(const sampi_gpu_args *from, sampi_gpu_args *to)
{
    enum { WORDS = sizeof(sampi_gpu_args) / 4 };
    typedef uint32_t __attribute__((may_alias)) word;
    const word *x = (const word *)(const void *)from;
    word *y = (word *)(void *)to;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        uint32_t w[4];
        SAMPI_UNROLL(4) for (uint32_t i = 0; i < 4; i++)
        {
            w[i] = x[sampi_gpu_min_of(i * SAMPI_WARP + (uint32_t)lane, WORDS - 1)];
        }
        SAMPI_AT_ONCE(4, w);
        SAMPI_UNROLL(4) for (uint32_t i = 0; i < 4; i++)
        {
            if (i * SAMPI_WARP + (uint32_t)lane < WORDS) y[i * SAMPI_WARP + (uint32_t)lane] = w[i];
        }
    }
}

/* A team's part of a launch: passes over its rows until they are finished, or until it has waited too long; or one pass
   if teams are not to wait. libgomp may give fewer teams than there are; with more rows than teams each takes several
   rows in turn. */
static void sampi_gpu_run_team(void)
{
    const sampi_gpu_args *a = sampi_gpu_bound.args;
    const uint32_t first = (uint32_t)omp_get_team_num(), n_teams = (uint32_t)omp_get_num_teams();
    if (!a) sampi_gpu_count_teams(sampi_gpu_probe_counters, first, n_teams);
    if (a && sampi_gpu_bound.near_args) {
        sampi_gpu_args *own = sampi_gpu_bound.near_args + first;
        sampi_gpu_take_args(a, own);
        a = own;
    }
    const uint32_t n = a ? sampi_gpu_teams_of(a) : 0;
    for (uint32_t team = first; team < n; team += n_teams) sampi_gpu_team(a, team);
}

/* The kernel, for three numbers of teams; launch calls one of them, and probe, without a batch, that with most.
   thread_limit is on a target construct of its own, and the number of teams is a constant: anything else makes libgomp
   allocate on the device, or copy arguments to it. */
#define SAMPI_KERNEL(name, n_teams) \
    static void name(int device) { SAMPI_IN_TEAMS(device, n_teams) sampi_gpu_run_team(); }
SAMPI_KERNEL(sampi_gpu_kernel, SAMPI_TEAMS)
SAMPI_KERNEL(sampi_gpu_kernel_of_one, SAMPI_TEAMS_ONE)
SAMPI_KERNEL(sampi_gpu_kernel_of_few, SAMPI_TEAMS_FEW)
#undef SAMPI_KERNEL

/* Finds how many teams run at once; at most so many teams of a batch wait for each other. */
static int sampi_gpu_find_teams(samp_gpu *gpu)
{
    const int device = gpu->device;
    uint32_t limit = SAMPI_TEAMS, counter[4];
    gpu->wait = 0;
    for (; limit > 1 && !gpu->wait; limit /= 2) {
        memset(counter, 0, sizeof counter);
        counter[2] = limit;
        if (sampi_gpu_put(gpu, gpu->args.cell, counter, sizeof counter)) return SAMP_E_DEVICE;
        sampi_gpu_bound.args = NULL;
        sampi_gpu_probe_counters = (uint32_t *)(void *)gpu->args.cell;
#pragma omp target update to(sampi_gpu_bound, sampi_gpu_probe_counters) device(device)
        sampi_gpu_kernel(device);
        if (sampi_gpu_get(gpu, counter, gpu->args.cell, sizeof counter)) return SAMP_E_DEVICE;
        if (counter[3] < limit) limit = counter[3];
        gpu->teams = limit;
        if (limit && counter[1] == limit) gpu->wait = SAMP_GPU_WAIT;
    }
    return SAMP_OK;
}

/* Checks that a kernel runs on the device, and sets gpu->teams and gpu->wait. */
static int sampi_gpu_probe(samp_gpu *gpu)
{
    int on_host = 1, device = gpu->device, status;
#pragma omp target map(tofrom : on_host) device(device)
    on_host = omp_is_initial_device();
    if (on_host) return SAMP_E_DEVICE;
#pragma omp critical(sampi_gpu)
    status = sampi_gpu_find_teams(gpu);
    return status;
}
#endif

/* on the host the teams run one after the other (a test runs them at once) */
#ifndef SAMPI_HOST_TEAMS
#define SAMPI_HOST_TEAMS(a, n) \
    for (uint32_t team = 0; team < (n); team++) sampi_gpu_team((a), team)
#endif

/* Launches the kernel once: passes over all rows. */
static void sampi_gpu_launch(samp_gpu *gpu)
{
    const bool direct = sampi_gpu_is_direct(gpu);
    const char *at = direct ? gpu->desk_there : gpu->block + gpu->job_at + gpu->args_at;
    const sampi_gpu_args *a = (const sampi_gpu_args *)(const void *)at;
    gpu->perf.n_launches++;
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE) {
        static int bound_device = -1;
        const int device = gpu->device;
        sampi_gpu_args *near_args = direct ? gpu->near_args : NULL;
#pragma omp critical(sampi_gpu)
        {
            if (sampi_gpu_bound.args != a || sampi_gpu_bound.near_args != near_args || bound_device != device) {
                sampi_gpu_bound.args = a;
                sampi_gpu_bound.near_args = near_args;
                bound_device = device;
#pragma omp target update to(sampi_gpu_bound) device(device)
            }
            const uint32_t n = sampi_gpu_teams_of(&gpu->args);
            if (n <= SAMPI_TEAMS_ONE)
                sampi_gpu_kernel_of_one(device);
            else if (n <= SAMPI_TEAMS_FEW)
                sampi_gpu_kernel_of_few(device);
            else
                sampi_gpu_kernel(device);
        }
        return;
    }
#endif
    SAMPI_HOST_TEAMS(a, sampi_gpu_teams_of(a));
}

/* ---- src/gpu/contexts.h ---- */
/* ---- contexts ----
  sampi_gpu_open makes a context from a config, with all of its memory on both sides; samp_gpu_free frees it. */

/* Lays out the host's block, which begins with the context itself, so that one SAMP_FREE frees both. */
static size_t sampi_gpu_host_layout(samp_gpu *gpu, char *base)
{
    const samp_gpu_config *c = &gpu->config;
    const size_t rows = c->max_rows;
    size_t used = 0;
#define SAMPI_RESERVE(member, type, n) gpu->member = (type *)(void *)sampi_gpu_reserve(base, &used, n, sizeof(type))
    sampi_gpu_reserve(base, &used, 1, sizeof *gpu);
    SAMPI_RESERVE(stage, char, sampi_gpu_stage_size(gpu));
    SAMPI_RESERVE(rule, sampi_gpu_rule, rows * SAMPI_RULES);
    SAMPI_RESERVE(id, int32_t, rows * 2 * SAMPI_RULES);
    SAMPI_RESERVE(desk, char, sampi_gpu_desk_size(c) + (c->registered ? SAMPI_GPU_PAGE : 0));
    const uintptr_t beyond = (uintptr_t)gpu->desk % SAMPI_GPU_PAGE;
    if (base && c->registered && beyond) gpu->desk += SAMPI_GPU_PAGE - beyond;
    if (base) gpu->result = (sampi_gpu_result *)(void *)(gpu->desk + SAMPI_GPU_RESULTS_AT);
    gpu->basis = (sampi_gpu_basis *)(void *)sampi_gpu_reserve(base, &used, rows,
                                                              sampi_gpu_basis_size((size_t)c->max_top_logprobs));
    SAMPI_RESERVE(row_of, uint32_t, rows);
    SAMPI_RESERVE(where, uint8_t, rows);
    SAMPI_RESERVE(called, int32_t, rows);
    SAMPI_RESERVE(verdict, int32_t, rows);
    SAMPI_RESERVE(slot, sampi_gpu_slot, rows);
    SAMPI_RESERVE(token, samp_token, rows);
    SAMPI_RESERVE(item, sampi_gpu_item, SAMP_GPU_LIST);
    SAMPI_RESERVE(candidate, samp_token_data, SAMP_GPU_LIST);
    SAMPI_RESERVE(raw, char, c->max_vocab *sampi_gpu_element_size(c->dtype));
#undef SAMPI_RESERVE
    return used;
}

/* Allocates memory where the kernels run; only prepare_device calls it. The bytes are undefined. */
static void *sampi_gpu_alloc(samp_gpu *gpu, size_t n)
{
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE) return omp_target_alloc(n, gpu->device);
#endif
    (void)gpu;
    return SAMP_MALLOC(n);
}

/* Frees what alloc returned. NULL is allowed on either side, because a context may be half made. */
static void sampi_gpu_release(samp_gpu *gpu, void *p)
{
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE) {
        if (p) omp_target_free(p, gpu->device);
        return;
    }
#endif
    (void)gpu;
    SAMP_FREE(p);
}

/* Frees a context's memory on the device. */
static void sampi_gpu_release_device(samp_gpu *gpu)
{
    sampi_gpu_release(gpu, gpu->keep);
    sampi_gpu_release(gpu, gpu->block);
    gpu->keep = gpu->block = NULL;
    sampi_gpu_close_desk(gpu);
}

/* Frees also a context that create could not finish: pointers that were not set yet are NULL. */
SAMP_API void samp_gpu_free(samp_gpu *gpu)
{
    if (!gpu) return;
    sampi_gpu_release_device(gpu);
    SAMP_FREE(gpu);
}

/* Zeroes the beginning of the block, which has the state of rows and teams. */
static int sampi_gpu_zero(samp_gpu *gpu)
{
    const size_t step = sampi_gpu_stage_size(gpu); /* the size of the stage, which supplies the zeros */
    int status = SAMP_OK;
    memset(gpu->stage, 0, step);
    memset(gpu->desk, 0, sampi_gpu_desk_size(&gpu->config));
    gpu->n_placed = 0;
    for (size_t i = 0; i < gpu->zeroed && !status; i += step)
        status = sampi_gpu_put(gpu, gpu->block + i, gpu->stage, gpu->zeroed - i < step ? gpu->zeroed - i : step);
    return status;
}

/* Makes the device's side of a context: the block, with its beginning zero, and a small one of 256 bytes beside it. */
static int sampi_gpu_prepare_device(samp_gpu *gpu, const samp_gpu *like)
{
    gpu->block = (char *)sampi_gpu_alloc(gpu, sampi_gpu_layout(gpu, NULL));
    gpu->keep = sampi_gpu_alloc(gpu, 256);
    if (!gpu->block || !gpu->keep) return SAMP_E_NOMEM;
    sampi_gpu_layout(gpu, gpu->block);
    sampi_gpu_open_desk(gpu);
    gpu->args.place = (const sampi_gpu_place *)(const void *)(gpu->block + gpu->job_at + gpu->place_at);
    gpu->args.job = gpu->block + gpu->job_at + gpu->jobs_at;
    gpu->args.job_size = offsetof(sampi_gpu_job, step);
    if (like) gpu->teams = like->teams, gpu->wait = like->wait;
    if (sampi_gpu_zero(gpu)) return SAMP_E_DEVICE;
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE && !like) return sampi_gpu_probe(gpu);
#endif
    return SAMP_OK;
}

/* Writes the text of samp_gpu_device_name, once, when the mode is known. */
static void sampi_gpu_give_name(samp_gpu *gpu)
{
    sampi_text t = { gpu->name, sizeof gpu->name, 0 };
    if (gpu->mode == SAMPI_GPU_ON_CPU || gpu->why[0]) {
        sampi_put(&t, "cpu");
    } else if (gpu->mode == SAMPI_GPU_ON_HOST) {
        sampi_put(&t, "host kernels");
    } else {
        sampi_put(&t, "device ");
        sampi_put_u64(&t, (uint64_t)gpu->device);
    }
    gpu->name[t.len] = 0;
}

/* Makes a context, without a trial of the device; only a probe checks that kernels run there. */
static samp_gpu *sampi_gpu_open(const samp_gpu_config *config, const samp_gpu *like, int *result)
{
    if ((*result = sampi_gpu_check(config))) return NULL;
    if (samp_gpu_available() && config->device >= samp_gpu_available()) {
        *result = SAMP_E_RANGE;
        return NULL;
    }
    samp_gpu shape;
    shape.config = *config;
    size_t size = sampi_gpu_host_layout(&shape, NULL);
    char *base = (char *)SAMP_MALLOC(size);
    if (!base) {
        *result = SAMP_E_NOMEM;
        return NULL;
    }
    samp_gpu *gpu = (samp_gpu *)(void *)base;
    memset(gpu, 0, sizeof *gpu);
    gpu->config = *config;
    sampi_gpu_host_layout(gpu, base);
    /* no chain is on the device; the heap may have an old slot */
    memset(gpu->slot, 0, config->max_rows * sizeof *gpu->slot);
    gpu->mode = samp_gpu_available() ? SAMPI_GPU_ON_DEVICE : SAMPI_GPU_ON_CPU;
    if (config->device == SAMP_GPU_HOST) gpu->mode = SAMPI_GPU_ON_HOST;
    gpu->launches = 1;
    gpu->most = 64 * SAMPI_STEPS;
    gpu->most_splits = UINT32_MAX;
    gpu->teams = SAMPI_TEAMS;
#if SAMPI_OFFLOAD
    gpu->device = config->device;
    gpu->host = omp_get_initial_device();
#endif
    sampi_gpu_give_name(gpu);
    if (gpu->mode != SAMPI_GPU_ON_CPU) *result = sampi_gpu_prepare_device(gpu, like);
    if (*result == SAMP_OK) return gpu;
    samp_gpu_free(gpu);
    return NULL;
}

SAMP_API const char *samp_gpu_device_name(const samp_gpu *gpu) { return gpu ? gpu->name : ""; }

SAMP_API samp_gpu_perf_data samp_gpu_perf(const samp_gpu *gpu)
{
    samp_gpu_perf_data none = { 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    return gpu ? gpu->perf : none;
}

/* ---- src/gpu/steps.h ---- */
/* ---- what the host knows of each kind ----
  Which step a sampler becomes, what it does to the array, and which of its state comes back from the device. */

/* Whether the device has a step (code) for a sampler. A test redefines it to hide kinds, so that the CPU takes over. */
#ifndef SAMPI_GPU_KNOWS
#define SAMPI_GPU_KNOWS(s) true
#endif

/* Whether the sampler's kind has a plan, which the device can run. Otherwise the CPU runs it. */
static bool sampi_gpu_has_step(const sampi_sampler *s)
{
    if (!SAMPI_GPU_KNOWS(s)) return false;
    switch (s->kind) {
#define SAMPI_X(KIND, plan) \
    case SAMPI_##KIND: return strcmp(#plan, "none") != 0;
        SAMPI_KINDS(SAMPI_X)
#undef SAMPI_X
        default: return false;
    }
}

/* Copies a sampler's numbers to its step, which is the device's form of a sampler. */
static void sampi_gpu_copy_numbers(sampi_gpu_step *step, const sampi_sampler *s)
{
    if (s->kind == SAMPI_LOGIT_BIAS || s->kind == SAMPI_DRY) return;
    memcpy(&step->u, &s->u, sizeof step->u);
    step->now.mu = s->now.mu;
}

/* Returns a sampler's kind, or that of a simpler one that does the same. */
static sampi_kind sampi_gpu_kind_of(const sampi_sampler *s)
{
    if (s->kind == SAMPI_TEMP_EXT && !(s->u.temp.delta > 0.0f)) return SAMPI_TEMP;
    if (s->kind == SAMPI_ADAPTIVE_P && s->u.adaptive.target < 0.0f) return SAMPI_DIST;
    return s->kind;
}

/* Returns the flags of the sampler's kind in sampling.h's table. */
static unsigned sampi_gpu_flags(const sampi_sampler *s) { return sampi_traits_of(s->kind)->flags; }

/* Whether the sampler changes single logits by rules (one per token), independently of the others. */
static bool sampi_gpu_patches(const sampi_sampler *s) { return sampi_gpu_flags(s) & SAMPI_PATCHES; }

/* Whether the array after this sampler holds exactly the remaining tokens and no masked ones, as the device's list
   does. */
static bool sampi_gpu_removes(const sampi_sampler *s) { return sampi_gpu_flags(s) & SAMPI_DROPS; }

/* Whether the sampler masks no token: after one that removes tokens, the array is then still the device's list. */
static bool sampi_gpu_masks_none(const sampi_sampler *s)
{
    return sampi_gpu_flags(s) & SAMPI_MASKS_NONE && !sampi_temp_masks(s);
}

/* Whether the sampler's rules can stay on the device, which then updates them itself (sampi_gpu_next_rules). dry's
   cannot, because a token changes them all; nor can those of tokens beyond the vocabulary, which the device does not
   have; nor those of a long window, for which it has no room. */
static bool sampi_gpu_keeps_rules(const sampi_sampler *s, size_t n_vocab)
{
    if (s->kind == SAMPI_DRY) return false;
    if (s->kind == SAMPI_LOGIT_BIAS) {
        const samp_logit_bias *bias = (const samp_logit_bias *)sampi_part(s, 0);
        for (int32_t i = 0; i < s->u.bias.n; i++)
            if ((size_t)bias[i].token >= n_vocab) return false;
        return true;
    }
    const uint32_t n = s->u.penalties.n;
    const bool inside = n == 0 || (size_t)sampi_penalties_list(s)[n - 1].token < n_vocab;
    return inside && s->u.penalties.ring.cap <= SAMPI_RULES;
}

/* Writes the state that the device has computed to the last sampler: the token that it chose, and the value that its
   step has left in the result. commit_row calls it before the chain accepts the token, because adaptive_p adds its
   pending probability to its averages only then. */
static void sampi_gpu_update_last(const sampi_gpu_step *step, sampi_sampler *last, samp_token token, float value)
{
    if (step->kind != SAMPI_ADAPTIVE_P) {
        last->now.mu = value;
        return;
    }
    last->now.pending = token;
    last->now.pending_p = value;
}

/* Copies the last sampler's state, once it has accepted the token, to the host's copy of its step. */
static void sampi_gpu_follow_last(sampi_gpu_step *step, const sampi_sampler *last)
{
    if (sampi_gpu_flags(last) & SAMPI_SELECTS) sampi_gpu_copy_numbers(step, last);
}

/* ---- src/gpu/where.h ---- */
/* ---- where a chain runs ----
  sampi_gpu_find_route takes a chain and returns a route: how many of its samplers run on the device, and why the others
     do not. */

enum { SAMPI_GPU_CHAIN = 64 };

/* What one walk over a chain finds out about it, and where its samplers run. */
typedef struct sampi_gpu_route {
    uint64_t checked;    /* bit i: list[i] is followed by a sampler that is off, which still looks for NaN */
    int n, n_device;     /* number of samplers in the list; the first n_device run on the device */
    const char *why;     /* why the others do not */
    int status;          /* what samp_status returns for the chain */
    bool llama, crowded; /* a sampler of the chain uses MT19937; it has too many samplers */
    bool moves;          /* tokens change a sampler in a way that the device cannot follow */
    bool custom, draws;  /* a sampler of the chain is the user's; one draws */
    int n_listeners;     /* number of samplers that must accept the token; more if chains are among them */
    sampi_sampler *listener[SAMPI_GPU_LISTENERS];
    int n_patchers;                       /* samplers that change single logits */
    sampi_sampler *patcher;               /* the last of these */
    sampi_sampler *list[SAMPI_GPU_CHAIN]; /* the chain's active samplers, in order; last member, because it
                                             is not cleared */
} sampi_gpu_route;

/* Walks over a chain, and adds what it finds to the route. find_route calls it, and it calls itself for chains within
   the chain, whose members become the row's. */
static void sampi_gpu_flatten(sampi_sampler *s, sampi_gpu_route *r)
{
    if (!r->status) r->status = s->status;
    r->llama |= s->rng != SAMP_RNG_PHILOX;
    if (sampi_is_chain(s) && s->owner) r->n_listeners += SAMPI_GPU_LISTENERS + 1;
    int32_t n = sampi_n_active(s);
    if (sampi_is_chain(s) &&
        n < s->u.chain.n) { /* a schedule that waits runs only its clock, for which the device has no step */
        r->draws |= sampi_life_draws(s);
        r->custom |= sampi_row_has_custom(s);
        n = 1;
    }
    for (int32_t i = 0; i < n; i++) sampi_gpu_flatten(s->u.chain.item[i], r);
    if (sampi_is_chain(s)) return;
    r->custom |= sampi_is_custom(s);
    if (s->off) {
        if (r->n) r->checked |= (uint64_t)1 << (r->n - 1);
        return;
    }
    r->draws |= sampi_traits_of(s->kind)->stream != 0;
    if (sampi_traits_of(s->kind)->hooks->accept)
        r->moves |= !(sampi_gpu_flags(s) & SAMPI_PATCHES) && s->kind != SAMPI_ADAPTIVE_P;
    /* a sampler that is off accepts no token, as in sampi_life_accept */
    if (sampi_traits_of(s->kind)->hooks->accept && r->n_listeners++ < SAMPI_GPU_LISTENERS)
        r->listener[r->n_listeners - 1] = s;
    if (sampi_gpu_patches(s)) {
        r->patcher = s;
        r->n_patchers++;
    }
    r->crowded |= r->n == SAMPI_GPU_CHAIN;
    if (r->n < SAMPI_GPU_CHAIN) r->list[r->n++] = s;
}

/* Whether a sampler can run on the device. */
static bool sampi_gpu_can(const sampi_gpu_route *r, int at)
{
    if (!sampi_is_custom(r->list[at])) return sampi_gpu_has_step(r->list[at]);
    int i = at;
    while (i > 0 && (sampi_gpu_masks_none(r->list[i - 1]) || sampi_is_custom(r->list[i - 1]))) i--;
    return r->list[at]->base.iface->apply_gpu && i > 0 && sampi_gpu_removes(r->list[i - 1]);
}

/* Returns 1 + the index of the first user's sampler among those that run on the device; 0 if there is none. */
static int sampi_gpu_users_before(const sampi_gpu_route *r)
{
    for (int i = 0; i < r->n_device; i++)
        if (sampi_is_custom(r->list[i])) return i + 1;
    return 0;
}

/* Returns how many of the first n samplers leave the same array of remaining tokens on the device as on the CPU: up to
   the last one that removes tokens, and those after it that mask none. */
static int sampi_gpu_clean_part(const sampi_gpu_route *r, int n)
{
    const unsigned keep_order = SAMPI_ONLY_EDITS | SAMPI_BY_CHANCE | SAMPI_ONLY_SHOWS;
    for (int i = 0; i < n; i++)
        if (sampi_gpu_masks_none(r->list[i]) && !(sampi_gpu_flags(r->list[i]) & keep_order)) n = i;
    for (; n > 0; n--) {
        int i = n;
        while (i > 0 && sampi_gpu_masks_none(r->list[i - 1])) i--;
        if (i > 0 && sampi_gpu_removes(r->list[i - 1])) return n;
    }
    return 0;
}

/* Returns why no sampler of a chain can run on the device; NULL if some may. find_route stops early by it; the plan's
   text has it. */
static const char *sampi_gpu_why_not(const samp_gpu *gpu, const sampi_gpu_route *r)
{
    if (gpu->mode == SAMPI_GPU_ON_CPU) return "no device";
    if (gpu->why[0]) return gpu->why;
    if (r->llama) return "llama.cpp's arithmetic";
    return r->crowded ? "too many samplers" : NULL;
}

/* Finds where each sampler of a chain runs: on the device if all can; otherwise the first ones there, up to where the
   remaining tokens are exactly the CPU's array. */
static void sampi_gpu_find_route(const samp_gpu *gpu, sampi_sampler *s, sampi_gpu_route *r)
{
    bool selects = false;
    memset(r, 0, offsetof(sampi_gpu_route, list)); /* all but the list is zeroed, as n says how much of the
                                                      list is valid */
    sampi_gpu_flatten(s, r);
    r->why = sampi_gpu_why_not(gpu, r);
    if (r->why) return;
    while (r->n_device < r->n && !selects && sampi_gpu_can(r, r->n_device))
        selects = sampi_gpu_flags(r->list[r->n_device++]) & SAMPI_SELECTS;
    /* a user's sampler that is last in the chain must choose; judge_user checks that */
    if (r->n_device == r->n && r->n && sampi_is_custom(r->list[r->n - 1])) selects = true; /* by its own word */
    if (r->n_device == r->n) {
        if (!selects) r->why = "no sampler selects";
        if (selects && r->n > SAMPI_STEPS) r->why = "too many samplers";
        if (r->why) r->n_device = 0;
        return;
    }
    if (selects) {
        r->why = "a sampler behind the selection";
        r->n_device = 0;
        return;
    }
    const sampi_sampler *stops = r->list[r->n_device];
    r->why = sampi_traits_of(stops->kind)->hooks->mask ? "a grammar"
             : sampi_is_custom(stops)                  ? "a sampler of your own"
                                                       : "not on the device";
    const sampi_kind last = r->list[r->n - 1]->kind;
    if (last == SAMPI_RAS || last == SAMPI_REPLAY) r->n_device = 0; /* ras may draw from the row once more */
    const int user = sampi_gpu_users_before(r);
    /* the chain does not run on the device as a whole, so its users' samplers do not either */
    if (user) r->n_device = user - 1;
    if (r->n_device > SAMPI_STEPS - 1) r->n_device = SAMPI_STEPS - 1; /* one step is the export */
    r->n_device = sampi_gpu_clean_part(r, r->n_device);
}

/* Writes the route as text: the samplers on the device, then the others with the reason. */
SAMP_API int samp_gpu_plan(const samp_gpu *gpu, const samp_sampler *chain, char *buf, size_t size)
{
    sampi_gpu_route r;
    sampi_text t = { buf, size, 0 };
    if (!gpu || !chain || (!buf && size)) return SAMP_E_NULL;
    sampi_gpu_find_route(gpu, (sampi_sampler *)(uintptr_t)chain, &r);
    for (int i = 0; i < r.n; i++) {
        if (i == 0 && r.n_device) sampi_put(&t, "device: ");
        if (i == r.n_device) {
            sampi_put(&t, r.n_device ? "; cpu (" : "cpu (");
            sampi_put(&t, r.why);
            sampi_put(&t, "): ");
        }
        if (i > 0 && i != r.n_device) sampi_put(&t, " -> ");
        sampi_put(&t, samp_name(&r.list[i]->base));
    }
    if (r.n == 0) {
        sampi_put(&t, "cpu (");
        sampi_put(&t, r.why);
        sampi_put(&t, ")");
    }
    if (size) buf[t.len < size ? t.len : size - 1] = 0;
    return (int)t.len;
}

/* ---- src/gpu/sending.h ---- */
/* ---- from a chain to steps ----
  sampi_gpu_pack takes a chain and its route, and writes a job to the stage (the host's copy of what is sent), with its
     rules and ids after those of the jobs before. */

/* Adds an id to those that the row's rules change, unless it is there. */
static bool sampi_gpu_add_id(samp_gpu *gpu, sampi_gpu_job *job, int32_t id)
{
    int32_t *list = gpu->id + job->id;
    const uint32_t n = job->n_ids;
    const bool behind = n == 0 || list[n - 1] < id; /* mostly the ids come in order */
    const uint32_t lo = behind ? n : (uint32_t)sampi_find_token(list, sizeof *list, n, id);
    if (lo < n && list[lo] == id) return true;
    if (n == SAMPI_RULES) return false;
    memmove(&list[lo + 1], &list[lo], (n - lo) * sizeof *list);
    list[lo] = id;
    job->n_ids++;
    return true;
}

/* Adds a rule to a step (a sampler). */
static bool sampi_gpu_add_rule(samp_gpu *gpu, sampi_gpu_job *job, sampi_gpu_step *step, sampi_gpu_rule rule)
{
    sampi_gpu_rule *list = gpu->rule + step->rule;
    uint32_t i = step->n;
    if (step->rule + step->n - gpu->n_rules >= SAMPI_RULES) return false;
    for (; i > 0 && list[i - 1].id > rule.id; i--) list[i] = list[i - 1];
    list[i] = rule;
    step->n++;
    return sampi_gpu_add_id(gpu, job, rule.id);
}

/* Makes the rules of logit_bias, for fill_rules: one per bias. */
static bool sampi_gpu_fill_biases(samp_gpu *gpu, sampi_gpu_job *job, sampi_gpu_step *step, const sampi_sampler *s,
                                  size_t n_vocab)
{
    const samp_logit_bias *bias = (const samp_logit_bias *)sampi_part(s, 0);
    for (int32_t i = 0; i < s->u.bias.n; i++) {
        const bool masks = sampi_masked(bias[i].bias);
        sampi_gpu_rule rule = { bias[i].token, 0, masks ? 0.0f : 1.0f, masks ? 0.0f : -bias[i].bias, 0 };
        if ((size_t)rule.id < n_vocab && !sampi_gpu_add_rule(gpu, job, step, rule)) return false;
    }
    return true;
}

/* Makes the rules (one per logit) of a sampler that changes single logits; returns false if they are too many. */
static bool sampi_gpu_fill_rules(samp_gpu *gpu, sampi_gpu_job *job, sampi_gpu_step *step, const sampi_sampler *s,
                                 size_t n_vocab)
{
    if (s->kind == SAMPI_LOGIT_BIAS) return sampi_gpu_fill_biases(gpu, job, step, s, n_vocab);
    const bool dry = s->kind == SAMPI_DRY;
    sampi_count *list = (sampi_count *)sampi_part(s, 1);
    const uint32_t n = dry ? sampi_dry_list(s, list) : s->u.penalties.n;
    for (uint32_t i = 0; i < n; i++) {
        sampi_gpu_rule rule = { list[i].token, 0, 1.0f, 0.0f, list[i].count };
        if (!dry) rule.scale = s->u.penalties.repeat;
        rule.fall = dry ? sampi_dry_penalty(s, &list[i]) : sampi_count_penalty(s, &list[i]);
        if ((size_t)rule.id < n_vocab && !sampi_gpu_add_rule(gpu, job, step, rule)) return false;
    }
    return true;
}

/* Makes a sampler's step, its form on the device; returns false if the device has no step for it (which the route has
   checked before), or no room for its rules. pack_steps calls it after it has set at_ordinal. */
static bool sampi_gpu_fill(samp_gpu *gpu, sampi_gpu_job *job, sampi_gpu_step *step, const sampi_sampler *s,
                           size_t n_vocab)
{
    if (!sampi_gpu_has_step(s)) return false;
    step->kind = (int32_t)sampi_gpu_kind_of(s);
    step->seed = s->seed;
    step->stream = sampi_stream(s, sampi_traits_of(s->kind)->stream);
    sampi_gpu_copy_numbers(step, s);
    return !sampi_gpu_patches(s) || sampi_gpu_fill_rules(gpu, job, step, s, n_vocab);
}

/* Returns a job (a chain) in the host's stage, the copy of what is sent; it has the same bytes as on the device.
   (sampi_gpu_job_of is for the device.) */
static sampi_gpu_job *sampi_gpu_job_at(const samp_gpu *gpu, uint32_t j)
{
    return (sampi_gpu_job *)(void *)(gpu->stage + gpu->jobs_at + j * gpu->args.job_size);
}

/* Makes room for n_steps steps (samplers) in each job (chain). */
static void sampi_gpu_widen_jobs(samp_gpu *gpu, uint32_t n_steps)
{
    const size_t old = gpu->args.job_size, size = offsetof(sampi_gpu_job, step) + n_steps * sizeof(sampi_gpu_step);
    char *jobs = gpu->stage + gpu->jobs_at;
    if (size <= old) return;
    for (uint32_t j = gpu->n_jobs; j-- > 0;) memmove(jobs + j * size, jobs + j * old, old);
    for (size_t j = gpu->n_jobs; j < gpu->config.max_rows; j++) gpu->slot[j].kept = false;
    gpu->args.job_size = size;
    gpu->new_from = 0;
    gpu->new_until = gpu->n_jobs;
}

/* Treats everything on the device as lost, because a batch failed halfway. */
static int sampi_gpu_forget(samp_gpu *gpu, int status)
{
    for (size_t j = 0; j < gpu->config.max_rows; j++) gpu->slot[j].kept = false;
    gpu->unsure = true;
    return status;
}

/* Sets all rows as they are before the first batch, after a failure, or when the numbers of batches are used up: 0 is
   not the number of a batch, and a very old result must not be taken for a new one. */
static int sampi_gpu_start_again(samp_gpu *gpu)
{
    if (gpu->batch == UINT32_MAX) sampi_gpu_forget(gpu, SAMP_OK);
    if (!gpu->unsure) return SAMP_OK;
    const int status = sampi_gpu_zero(gpu);
    gpu->unsure = status != SAMP_OK;
    gpu->batch = 0;
    return status;
}

/* Returns the sampler whose rules can stay on the device, or NULL: the only one that changes single logits, in a chain
   that runs there as a whole. */
static const sampi_sampler *sampi_gpu_kept_patcher(const sampi_gpu_route *r, size_t n_vocab)
{
    const bool whole = r->n_device == r->n && !r->custom;
    return whole && r->n_patchers == 1 && sampi_gpu_keeps_rules(r->patcher, n_vocab) ? r->patcher : NULL;
}

/* Adds a step that is not a sampler: an export, or one of the two of log-probabilities, which report k tokens. */
static void sampi_gpu_add_step(sampi_gpu_job *job, uint32_t n, int kind, int32_t k)
{
    memset(&job->step[n], 0, sizeof(sampi_gpu_step));
    job->step[n].kind = kind;
    job->step[n].k = (uint32_t)k;
}

/* Sets, for each rule up to `until`, the index of its id among the row's changed ids, when all of these are known. */
static void sampi_gpu_place_rules(samp_gpu *gpu, const sampi_gpu_job *job, uint32_t until)
{
    uint32_t at = 0;
    for (uint32_t i = gpu->n_rules; i < until; i++) {
        if (i > gpu->n_rules && gpu->rule[i].id < gpu->rule[i - 1].id) at = 0;
        while (gpu->id[job->id + at] < gpu->rule[i].id) at++;
        gpu->rule[i].at = at;
    }
}

/* Adds the window (last tokens) of penalties to the ids that are sent: the device needs it to know which token leaves
   the window. */
static void sampi_gpu_send_window(samp_gpu *gpu, sampi_gpu_job *job, const sampi_sampler *penalties)
{
    job->ring = penalties->u.penalties.ring;
    job->window = gpu->n_ids;
    memcpy(gpu->id + gpu->n_ids, sampi_part(penalties, 0), job->ring.cap * sizeof *gpu->id);
    gpu->n_ids += job->ring.cap;
}

/* Returns the step from which on a chain can go the short way (gpu/short.h), or n_steps. */
static uint32_t sampi_gpu_short_from(const sampi_gpu_job *job)
{
    uint32_t at = job->n_steps;
    if (at == 0 || job->step[at - 1].kind != SAMPI_DIST) return at;
    for (at--; at > 0; at--) {
        const sampi_gpu_step *step = &job->step[at - 1];
        const bool top_k = step->kind == SAMPI_TOP_K && !step->u.top_k.ties && step->u.top_k.k > 0;
        const bool temp = step->kind == SAMPI_TEMP && step->u.temp.t >= SAMPI_TEMP_MIN;
        if (!top_k && !temp && step->kind != SAMPI_TOP_P) break;
    }
    return at;
}

/* Makes the samplers' steps, their form on the device, and those of log-probabilities (lp may be NULL); returns false
   if the chain does not fit the device. */
static bool sampi_gpu_pack_steps(samp_gpu *gpu, sampi_gpu_job *job, const sampi_gpu_route *r, size_t n_vocab,
                                 const samp_logprobs *lp)
{
    uint32_t ordinal[SAMPI_N_KINDS] = { 0 }, n = 0, rules = gpu->n_rules;
    const bool whole = r->n_device == r->n;
    const bool shown = !whole || r->custom; /* p is shown to the CPU's samplers or the user's */
    const sampi_sampler *kept = sampi_gpu_kept_patcher(r, n_vocab);
    if (lp) sampi_gpu_add_step(job, n++, SAMPI_GPU_RAW, lp->raw.n_top);
    for (int i = 0; i < r->n_device; i++) {
        sampi_sampler *t = r->list[i];
        sampi_gpu_step *step = &job->step[n];
        memset(step, 0, sizeof *step);
        step->rule = rules;
        t->at_position = job->position;
        t->at_ordinal = ordinal[t->kind]++;
        if (sampi_is_custom(t))
            step->kind = SAMPI_GPU_USER;
        else if (!sampi_gpu_fill(gpu, job, step, t, n_vocab))
            return false;
        rules += step->n;
        /* softmax is left out here: n does not grow, and the next sampler takes the place */
        if (!shown && step->kind == SAMPI_SOFTMAX) continue;
        if (t == kept) job->kept_step = n + 1;
        if (sampi_gpu_patches(t) && step->n == 0 && t != kept && (whole || t->kind == SAMPI_DRY)) continue;
        n++;
    }
    /* the rest of the chain runs on the CPU */
    if (!whole) sampi_gpu_add_step(job, n++, SAMPI_GPU_EXPORT, 0);
    if (lp) sampi_gpu_add_step(job, n++, SAMPI_GPU_LOGPROBS, lp->processed.n_top);
    job->n_steps = n;
    job->short_from = sampi_gpu_short_from(job);
    sampi_gpu_place_rules(gpu, job, rules);
    /* the counts grow only now, so that a chain that does not fit leaves no rules behind */
    gpu->n_rules = rules;
    gpu->n_ids += job->n_ids;
    if (kept && kept->kind == SAMPI_PENALTIES) sampi_gpu_send_window(gpu, job, kept);
    return true;
}

/* Whether the device can compute a row's log-probabilities; given tokens and the support are the CPU's. */
static bool sampi_gpu_fits_logprobs(const samp_gpu *gpu, const samp_logprobs *lp)
{
    const int32_t most = gpu->config.max_top_logprobs;
    const samp_logprob_set *set[2] = { &lp->raw, &lp->processed };
    bool good = most > 0 && !lp->support;
    for (int i = 0; i < 2; i++)
        good = good && set[i]->n_top >= 0 && set[i]->n_top <= most && (set[i]->n_top == 0 || set[i]->top_logprobs) &&
               set[i]->n_ids == 0;
    return good;
}

/* Returns what a job of this chain is packed from. */
static sampi_gpu_source sampi_gpu_source_of(const sampi_sampler *s, size_t n_vocab, const samp_logprobs *lp)
{
    const int32_t raw = lp ? lp->raw.n_top : -1, processed = lp ? lp->processed.n_top : -1;
    const sampi_gpu_source source = { s, s->serial, s->n_edits, n_vocab, { (size_t)raw, (size_t)processed } };
    return source;
}

/* Packs a chain as the next job, with log-probabilities or NULL; returns false if the CPU must sample the row. */
static bool sampi_gpu_pack(samp_gpu *gpu, sampi_sampler *s, const sampi_gpu_route *r, size_t n_vocab,
                           const samp_logprobs *lp)
{
    sampi_gpu_slot *slot = &gpu->slot[gpu->n_jobs];
    /* log-probabilities take two more steps of the job, and are possible only if the whole chain runs on the device */
    if (lp && (r->custom || r->n_device < r->n || r->n > SAMPI_STEPS - 2)) return false;
    sampi_gpu_widen_jobs(gpu, (uint32_t)r->n_device + (lp ? 2 : r->n_device < r->n));
    sampi_gpu_job *job = sampi_gpu_job_at(gpu, gpu->n_jobs);
    memset(job, 0, offsetof(sampi_gpu_job, step));
    job->side = SAMPI_GPU_SENT;
    job->id = gpu->n_ids;
    job->draws = r->draws;
    job->position = s->position;
    slot->kept = false;
    if (!sampi_gpu_pack_steps(gpu, job, r, n_vocab, lp)) return false;
    slot->source = sampi_gpu_source_of(s, n_vocab, lp);
    slot->last = r->list[r->n - 1];
    slot->draws = r->draws;
    slot->custom = r->custom;
    /* a row that is not a chain, or has users' samplers, accepts its token by sampi_life_accept, as a whole */
    slot->n_listeners = sampi_is_chain(s) && !r->custom ? r->n_listeners : SAMPI_GPU_LISTENERS + 1;
    memcpy(slot->listener, r->listener, sizeof r->listener);
    slot->patcher = job->kept_step ? r->patcher : NULL;
    slot->kept = r->n_device == r->n && !r->custom && !s->owner && !r->moves && (job->kept_step || !r->n_patchers);
    /* the new jobs are sent as one range from the first to the last; kept jobs in between are sent too */
    if (gpu->n_jobs < gpu->new_from) gpu->new_from = gpu->n_jobs;
    gpu->new_until = gpu->n_jobs + 1;
    return true;
}

/* Whether the device has this chain, unchanged, as the next job, and with these log-probabilities; divide then packs
   nothing for it. */
static bool sampi_gpu_has(const samp_gpu *gpu, const sampi_sampler *s, size_t n_vocab, const samp_logprobs *lp)
{
    const sampi_gpu_slot *slot = &gpu->slot[gpu->n_jobs];
    const sampi_gpu_source source = sampi_gpu_source_of(s, n_vocab, lp);
    return slot->kept && !memcmp(&source, &slot->source, sizeof source) &&
           (!slot->patcher || sampi_gpu_job_at(gpu, gpu->n_jobs)->side != SAMPI_GPU_SENT);
}

/* ---- src/gpu/batch.h ---- */
/* ---- a batch on the device ----
  Jobs in the stage come in, results go out. */

/* The caller's strides may be 0, and row_index NULL, for packed rows. */
static size_t sampi_gpu_stride(const samp_logits *l) { return l->stride ? l->stride : l->n_vocab; }
static size_t sampi_gpu_data_row(const samp_logits *l, size_t row)
{
    return l->row_index ? (size_t)l->row_index[row] : row;
}
/* Has a row no logits, by its row_index or n_vocab_of? */
static bool sampi_gpu_is_missing(const samp_logits *l, size_t row)
{
    return (l->row_index && l->row_index[row] < 0) || !sampi_row_length(l, row);
}
static const uint32_t *sampi_gpu_mask_row(const samp_logits *l, size_t row)
{
    return l->mask ? l->mask + row * (l->mask_stride ? l->mask_stride : (l->n_vocab + 31) / 32) : NULL;
}

/* Returns the status for which a whole batch is refused, before anything is done. (An error of one row is returned as
   its token.) A context's own limits come first, then those of samp_sample_batch, by its function. */
static int sampi_gpu_check_batch(const samp_gpu *gpu, samp_sampler *const *rows, const samp_logits *l,
                                 const samp_token *out)
{
    if (!gpu || !l || (l->n_rows && (!rows || !out))) return SAMP_E_NULL;
    if (l->n_rows == 0) return SAMP_OK;
    if (l->dtype != gpu->config.dtype) return SAMP_E_DTYPE;
    if (l->n_rows > gpu->config.max_rows || l->n_vocab > gpu->config.max_vocab) return SAMP_E_RANGE;
    return sampi_check_batch(rows, l);
}

/* Checks that the caller's arrays are in device memory: the logits, from the first row that is read to the last, and
   `out`. */
static int sampi_gpu_check_memory(samp_gpu *gpu, const samp_logits *l, const samp_token *out)
{
    const size_t size = sampi_gpu_element_size(l->dtype), stride = sampi_gpu_stride(l);
    size_t first = SIZE_MAX, end = 0; /* in elements */
    int status = SAMP_OK;
    for (size_t r = 0; r < l->n_rows && gpu->config.data_on_device; r++) {
        if (sampi_gpu_is_missing(l, r)) continue; /* an error of this row only */
        const size_t at = sampi_gpu_data_row(l, r) * stride, until = at + sampi_row_length(l, r);
        first = at < first ? at : first;
        end = until > end ? until : end;
    }
    if (first < end)
        status = sampi_gpu_require_memory(gpu, (const char *)l->data + first * size, (end - first) * size);
    if (status || !gpu->config.out_on_device) return status;
    if ((uintptr_t)out % sizeof *out) return SAMP_E_RANGE;
    return sampi_gpu_require_memory(gpu, out, l->n_rows * sizeof *out);
}

/* Samples one row on the CPU, fetched if it is on the device, by samp_sample_batch as a batch of one, so that the
   result is the same. */
static samp_token sampi_gpu_cpu_row(samp_gpu *gpu, samp_sampler *const *row, const samp_logits *l, size_t r)
{
    const size_t size = sampi_gpu_element_size(l->dtype);
    const char *data = (const char *)l->data + sampi_gpu_data_row(l, r) * sampi_gpu_stride(l) * size;
    if (gpu->mode == SAMPI_GPU_ON_DEVICE && gpu->config.data_on_device) {
        if (sampi_gpu_get(gpu, gpu->raw, data, sampi_row_length(l, r) * size)) return SAMP_E_DEVICE;
        data = gpu->raw;
    }
    samp_logits one = *l;
    samp_token token;
    one.data = data;
    one.n_rows = one.n_threads = 1;
    one.n_vocab = sampi_row_length(l, r);
    one.n_vocab_of = NULL;
    one.stride = 0;
    one.row_index = NULL;
    one.mask = sampi_gpu_mask_row(l, r);
    one.logprobs = l->logprobs ? l->logprobs + r : NULL;
    int status = samp_sample_batch(row, &one, &token);
    return status ? status : token;
}

/* Writes a job's place, and notes whether the device has another one. */
static void sampi_gpu_set_place(samp_gpu *gpu, uint32_t j, size_t data_row)
{
    sampi_gpu_place *place = (sampi_gpu_place *)(void *)(gpu->stage + gpu->place_at) + j;
    gpu->moved |= place->data_row != data_row || place->out_row != gpu->row_of[j];
    place->data_row = data_row;
    place->out_row = gpu->row_of[j];
}

/* Sends the rows for the device: their logits if they are in host memory, masks, and places (where each row's logits
   and token are). */
static int sampi_gpu_upload_rows(samp_gpu *gpu, const samp_logits *l)
{
    sampi_gpu_args *a = &gpu->args;
    const size_t size = sampi_gpu_element_size(l->dtype), stride = sampi_gpu_stride(l), row = l->n_vocab * size;
    const size_t words = (l->n_vocab + 31) / 32;
    int status = SAMP_OK;
    a->data = gpu->config.data_on_device ? (const char *)l->data : gpu->block + gpu->data_at;
    a->stride = gpu->config.data_on_device ? stride : l->n_vocab;
    a->mask = l->mask ? (const uint32_t *)(const void *)(gpu->block + gpu->mask_at) : NULL;
    a->mask_stride = words;
    gpu->moved = gpu->n_jobs > gpu->n_placed;
    for (uint32_t j = 0; j < gpu->n_jobs && !status; j++) {
        const size_t r = gpu->row_of[j], from = sampi_gpu_data_row(l, r);
        sampi_gpu_set_place(gpu, j, gpu->config.data_on_device ? from : j);
        if (l->mask)
            status = sampi_gpu_put(gpu, gpu->block + gpu->mask_at + j * words * 4, sampi_gpu_mask_row(l, r),
                                   words * 4);
        if (gpu->config.data_on_device || status) continue;
        uint32_t n = 1; /* neighbouring rows are sent together */
        while (!l->mask && stride == l->n_vocab && j + n < gpu->n_jobs &&
               sampi_gpu_data_row(l, gpu->row_of[j + n]) == from + n) {
            sampi_gpu_set_place(gpu, j + n, j + n);
            n++;
        }
        status = sampi_gpu_put(gpu, gpu->block + gpu->data_at + j * row, (const char *)l->data + from * stride * size,
                               n * row);
        j += n - 1;
    }
    return status;
}

/* Returns the largest n_top of a batch's rows. */
static uint32_t sampi_gpu_most_top(const samp_gpu *gpu, const samp_logits *l)
{
    int32_t most = 0;
    for (uint32_t j = 0; l->logprobs && j < gpu->n_jobs; j++) {
        const samp_logprobs *lp = &l->logprobs[gpu->row_of[j]];
        if (lp->raw.n_top > most) most = lp->raw.n_top;
        if (lp->processed.n_top > most) most = lp->processed.n_top;
    }
    return (uint32_t)most;
}

/* Sends what the device does not have: rules, ids, args (addresses) and places, which come before the jobs; and of the
   jobs (chains) the new ones, as one range from the first to the last. */
static int sampi_gpu_upload_stage(samp_gpu *gpu)
{
    enum { NEAR = 16384 }; /* bytes; fewer take as long */
    const size_t rules = (gpu->n_rules * sizeof *gpu->rule + 15) & ~(size_t)15;
    const size_t ids = (gpu->n_ids * sizeof *gpu->id + 15) & ~(size_t)15;
    size_t from = gpu->args_at - rules - ids, until = gpu->place_at + gpu->n_jobs * sizeof(sampi_gpu_place);
    size_t new_from = gpu->jobs_at + gpu->new_from * gpu->args.job_size;
    size_t new_until = gpu->jobs_at + gpu->new_until * gpu->args.job_size;
    /* jobs between the places and the first new job would be sent needlessly, which is done only if they are few */
    const bool any = gpu->new_from < gpu->new_until, together = any && new_from < until + NEAR;
    char *device = gpu->block + gpu->job_at;
    /* rules and ids are copied to where they end at the args, so that one copy sends all */
    memcpy(gpu->stage + from, gpu->rule, gpu->n_rules * sizeof *gpu->rule);
    memcpy(gpu->stage + from + rules, gpu->id, gpu->n_ids * sizeof *gpu->id);
    gpu->args.rule = (const sampi_gpu_rule *)(const void *)(device + from);
    gpu->args.id = (const int32_t *)(const void *)(device + from + rules);
    memcpy(gpu->stage + gpu->args_at, &gpu->args, sizeof gpu->args);
    memcpy(gpu->desk, &gpu->args, sizeof gpu->args);
    if (sampi_gpu_is_direct(gpu) && !any && !gpu->moved) return SAMP_OK;
    if (together) until = new_until;
    if (gpu->n_placed < gpu->n_jobs) gpu->n_placed = gpu->n_jobs;
    int status = sampi_gpu_put(gpu, device + from, gpu->stage + from, until - from);
    if (any && !together && !status)
        status = sampi_gpu_put(gpu, device + new_from, gpu->stage + new_from, new_until - new_from);
    return status;
}

/* Whether a row of the batch has a chain that begins with a long pass: top_p or typical weighs all tokens, and again
   those that it keeps. */
static bool sampi_gpu_is_long(const samp_gpu *gpu)
{
    bool is = false;
    for (uint32_t j = 0; j < gpu->n_jobs; j++) {
        const sampi_gpu_job *job = sampi_gpu_job_at(gpu, j);
        uint32_t at = 0;
        while (at < job->n_steps && job->step[at].kind == SAMPI_TEMP) at++;
        is |= at < job->n_steps && (job->step[at].kind == SAMPI_TOP_P || job->step[at].kind == SAMPI_TYPICAL);
    }
    return is;
}

/* Returns how many of at most `teams` teams a row gets: its share, but not more than it has groups of 1024 tokens. */
static uint32_t sampi_gpu_splits(uint32_t teams, uint32_t n_rows, uint32_t groups, bool is_long)
{
    const bool few = n_rows <= SAMPI_ROWS_FEW;
    const uint32_t most = n_rows == 1 ? SAMPI_TEAMS_ONE : few && !is_long ? SAMPI_TEAMS_FEW : SAMPI_TEAMS;
    const uint32_t n = teams < most ? teams : most, all = n_rows < n ? n / n_rows : 1;
    const uint32_t share = few && all > 2 ? all - 1 : all;
    return share < groups ? share : groups;
}

/* Returns whether each row has a leader: a team that only advances it. */
static bool sampi_gpu_leads(uint32_t teams, uint32_t n_rows, uint32_t splits)
{
    return n_rows <= SAMPI_ROWS_FEW && splits > 1 && n_rows * (splits + 1) <= teams;
}

/* Sends a batch. */
static int sampi_gpu_upload(samp_gpu *gpu, const samp_logits *l, samp_token *out)
{
    sampi_gpu_args *a = &gpu->args;
    int status = sampi_gpu_upload_rows(gpu, l);
    if (status) return status;
    a->batch = ++gpu->batch;
    a->n_rows = gpu->n_jobs;
    a->n_vocab = (uint32_t)l->n_vocab;
    a->groups = (a->n_vocab + SAMPI_GROUP - 1) / SAMPI_GROUP;
    a->splits = sampi_gpu_splits(gpu->wait ? gpu->teams : SAMPI_TEAMS, a->n_rows, a->groups,
                                 a->n_rows <= SAMPI_ROWS_FEW && sampi_gpu_is_long(gpu));
    if (a->splits > gpu->most_splits) a->splits = gpu->most_splits;
    a->wait = a->splits > 1 ? gpu->wait : 0;
    a->leaders = a->wait && sampi_gpu_leads(gpu->teams, a->n_rows, a->splits);
    a->type = (int32_t)l->dtype;
    a->pairs = !SAMPI_BIG_ENDIAN && sampi_gpu_element_size(l->dtype) == 2 && a->stride % 2 == 0 &&
               (uintptr_t)a->data % 4 == 0;
    a->out = gpu->config.out_on_device ? out : NULL;
    a->n_top = sampi_gpu_most_top(gpu, l);
    return sampi_gpu_upload_stage(gpu);
}

/* Returns the index of the user's sampler that a stopped row waits for: the first in its chain that was not called. */
static int sampi_gpu_stopped_at(const samp_gpu *gpu, uint32_t job, const sampi_gpu_route *r)
{
    int users = 0;
    for (int at = 0; at < r->n; at++) {
        if (!sampi_is_custom(r->list[at])) continue;
        if (users == gpu->called[job]) return at;
        users++;
    }
    return r->n;
}

/* Checks what a user's sampler has left of n tokens, for call_user. *token becomes the token that it has chosen as the
   chain's last sampler, else it stays -1. */
static int sampi_gpu_judge_user(samp_gpu *gpu, const samp_gpu_data *data, size_t n, bool last, bool checked,
                                int32_t *token)
{
    samp_token_data_array cur = { gpu->candidate, data->size, data->selected, false };
    int32_t *id = (int32_t *)(void *)gpu->item; /* room for SAMP_GPU_LIST items */
    float *logit = (float *)(void *)(id + SAMP_GPU_LIST);
    if (data->size == 0) return SAMP_E_EMPTY;
    if (data->size > n) return SAMP_E_RANGE;
    if (!last) return SAMP_OK;
    int status = sampi_gpu_get(gpu, id, data->ids, data->size * sizeof *id);
    if (!status) status = sampi_gpu_get(gpu, logit, data->logits, data->size * sizeof *logit);
    for (size_t i = 0; i < data->size && !status; i++) {
        if (id[i] < 0 || (uint32_t)id[i] >= gpu->args.n_vocab) status = SAMP_E_RANGE;
        cur.data[i].id = id[i];
        cur.data[i].logit = logit[i];
    }
    if (!status && sampi_life_has_doubled_id(&cur)) status = SAMP_E_RANGE;
    const int found = status ? status : sampi_check(&cur);
    if (found == SAMP_E_NAN || checked) status = found;
    if (!status) status = sampi_life_check_selected(&cur);
    if (!status) *token = cur.data[cur.selected].id;
    return status;
}

/* Calls the user's sampler of a stopped row, and lets the row continue: writes the number of remaining tokens, and
   withdraws the row's result, so that the teams see the row as unfinished. */
static int sampi_gpu_call_user(samp_gpu *gpu, uint32_t job, samp_sampler *chain)
{
    const uint32_t n = gpu->result[job].n_list, none = 0;
    const size_t first = (size_t)job * SAMP_GPU_LIST;
    sampi_gpu_route r;
    sampi_gpu_find_route(gpu, (sampi_sampler *)chain, &r);
    const int at = sampi_gpu_stopped_at(gpu, job, &r);
    samp_sampler *user = &r.list[at]->base;
    samp_gpu_data data;
    data.device = gpu->mode == SAMPI_GPU_ON_DEVICE ? gpu->device : SAMP_GPU_HOST;
    data.ids = gpu->args.user_id + first;
    data.logits = gpu->args.user_logit + first;
    data.probs = gpu->args.user_p + first;
    data.size = n;
    data.selected = -1;
    data.sorted = false;
    int32_t token = -1;
    int status = sampi_life_user_status(user->iface->apply_gpu(user, &data));
    gpu->called[job]++;
    if (!status) status = sampi_gpu_judge_user(gpu, &data, n, at == r.n - 1, r.checked >> at & 1, &token);
    /* then the device has nothing more to do for this row */
    const bool decided = status || token >= 0;
    if (decided) gpu->verdict[job] = status ? status : token + 1;
    const uint32_t size = decided ? SAMPI_GPU_LEAVE : (uint32_t)data.size;
    /* the size is written first, and then the row becomes unfinished again */
    gpu->result[job].batch = none;
    status = sampi_gpu_put(gpu, &gpu->args.state[job].n_list, &size, sizeof size);
    return status ? status : sampi_gpu_put(gpu, &gpu->args.result[job].batch, &none, sizeof none);
}

/* Launches kernels until every row has its result. */
static int sampi_gpu_run_batch(samp_gpu *gpu, samp_sampler *const *rows)
{
    uint32_t launched = 0, passes = 0, left = gpu->n_jobs, waiting;
    while (left > 0) {
        const uint32_t n = launched == 0 ? gpu->launches : 1;
        for (uint32_t i = 0; i < n; i++) sampi_gpu_launch(gpu);
        launched += n;
        /* no row needs so many launches: the device does not work, and this loop must end */
        if (launched > gpu->most) return SAMP_E_DEVICE;
        if (!gpu->desk_there && sampi_gpu_get(gpu, gpu->result, gpu->args.result, gpu->n_jobs * sizeof *gpu->result))
            return SAMP_E_DEVICE;
        left = passes = waiting = 0;
        for (uint32_t j = 0; j < gpu->n_jobs; j++) {
            const sampi_gpu_result *res = &gpu->result[j];
            /* a result of an earlier batch does not count as one */
            const bool stopped = res->batch == gpu->batch && !res->status && res->token == SAMPI_GPU_STOPPED;
            waiting += res->batch != gpu->batch;
            left += stopped || res->batch != gpu->batch;
            if (res->passes > passes) passes = res->passes;
            if (stopped && sampi_gpu_call_user(gpu, j, rows[gpu->row_of[j]])) return SAMP_E_DEVICE;
        }
        if (waiting && gpu->args.wait) gpu->wait /= 2;
    }
    for (uint32_t j = 0; j < gpu->n_jobs; j++) gpu->perf.n_passes += gpu->result[j].passes;
    /* the next batch is mostly like this one */
    gpu->launches = gpu->args.wait || gpu->args.splits == 1 ? 1 : passes;
    return SAMP_OK;
}

/* ---- src/gpu/results.h ---- */
/* ---- what comes back ----
  Results, and for some rows the list of remaining tokens, come in; tokens go out, and the chains are updated as
     samp_sample_batch would. */

/* Returns the order in which a sampler last sorted the array, for fetch; by_score is memory for it, if the sampler was
   typical. */
static const sampi_order *sampi_gpu_order_of(const sampi_gpu_result *res, sampi_order *by_score)
{
    by_score->score = sampi_typical_score;
    by_score->max = (double)res->order_max;
    by_score->mean = res->order_mean;
    return res->order == SAMPI_GPU_BY_SCORE ? by_score : &SAMPI_BY_LOGIT;
}

/* Makes the array that the samplers so far would have made of the whole vocabulary, from the remaining tokens: sorted
   by the logits at the time of the last sort, with the current logits, and p of the time when it was last set. */
static int sampi_gpu_fetch(samp_gpu *gpu, uint32_t job, samp_token_data_array *cur)
{
    const sampi_gpu_result *res = &gpu->result[job];
    const sampi_gpu_item *from = gpu->args.item + ((size_t)job * 2 + res->buffer) * SAMP_GPU_LIST;
    samp_token_data *d = gpu->candidate;
    sampi_order by_score;
    int status = sampi_gpu_get(gpu, gpu->item, from, res->n_list * sizeof *from);
    if (status) return status;
    for (uint32_t i = 0; i < res->n_list; i++) { /* p carries the index; the sort is by the logits of the
                                                    last sort */
        d[i].id = (samp_token)sampi_gpu_id(gpu->item[i].key);
        d[i].logit = res->order ? gpu->item[i].at_order : 0.0f;
        memcpy(&d[i].p, &i, 4);
    }
    if (res->n_list > 1) sampi_sort_part(sampi_gpu_order_of(res, &by_score), d, res->n_list, res->n_list, 64);
    for (uint32_t k = 0, i; k < res->n_list; k++) {
        memcpy(&i, &d[k].p, 4);
        d[k].logit = sampi_gpu_logit(gpu->item[i].key);
        d[k].p = res->p_set ? (float)(sampi_exp(res->p_max, gpu->item[i].at_p) / (double)res->p_z) : 0.0f;
    }
    cur->data = d;
    cur->size = res->n_list;
    cur->selected = -1;
    cur->sorted = res->sorted != 0;
    sampi_recheck_order(cur);
    return SAMP_OK;
}

/* Runs the rest of a chain over the remaining tokens, by the samplers' definitions. ordinal counts the draws on the
   device, so that the next sampler of a kind gets its own random numbers. */
static int sampi_gpu_go_on(samp_gpu *gpu, uint32_t job, const sampi_gpu_route *r, sampi_sampler *s, samp_token *token)
{
    samp_token_data_array cur;
    sampi_ordinals ordinal = { { 0 }, false, false, false, NULL };
    int status = sampi_gpu_fetch(gpu, job, &cur);
    for (int i = 0; i < r->n_device; i++) ordinal.next[r->list[i]->kind]++;
    for (int i = r->n_device; i < r->n && !status; i++) {
        status = sampi_life_run(r->list[i], &cur, s->position, &ordinal);
        if (!status && (r->checked >> i & 1)) status = sampi_check(&cur);
    }
    if (!status) status = sampi_life_check_selected(&cur);
    if (!status) *token = cur.data[cur.selected].id;
    return !status && (uint32_t)*token >= gpu->args.n_vocab ? (int)SAMP_E_RANGE : status;
}

/* Returns the step (sampler) that selects: the last one before that of log-probabilities. */
static sampi_gpu_step *sampi_gpu_selecting(sampi_gpu_job *job)
{
    sampi_gpu_step *last = &job->step[job->n_steps - 1];
    return last->kind == SAMPI_GPU_LOGPROBS ? last - 1 : last;
}

/* Updates the host's copy of a job, as the device has updated its own, at the end of commit_row. */
static void sampi_gpu_follow(samp_gpu *gpu, uint32_t job)
{
    const sampi_gpu_slot *slot = &gpu->slot[job];
    const sampi_sampler *patcher = slot->patcher;
    sampi_gpu_job *copy = sampi_gpu_job_at(gpu, job);
    sampi_gpu_step *step = sampi_gpu_selecting(copy);
    copy->position = slot->source.chain->position;
    sampi_gpu_follow_last(step, slot->last);
    if (!patcher) return;
    if (patcher->kind == SAMPI_LOGIT_BIAS) { /* the rules of logit_bias move once, from where they were sent */
        copy->side = SAMPI_GPU_LEFT;
        return;
    }
    copy->side = copy->side != SAMPI_GPU_LEFT ? SAMPI_GPU_LEFT : SAMPI_GPU_RIGHT;
    copy->ring = patcher->u.penalties.ring;
    copy->n_ids = copy->step[copy->kept_step - 1].n = patcher->u.penalties.n;
}

/* Takes the token of a job into its chain: state, position, acceptance. */
static samp_token sampi_gpu_commit_row(samp_gpu *gpu, uint32_t job, samp_sampler *chain)
{
    const sampi_gpu_result *res = &gpu->result[job];
    sampi_gpu_slot *slot = &gpu->slot[job];
    sampi_sampler *s = (sampi_sampler *)chain;
    samp_token token = res->token;
    const uint64_t position = s->position;
    int status = res->status;
    /* a user's sampler's decision overrides the device's result */
    if (gpu->verdict[job] < 0) status = gpu->verdict[job];
    if (gpu->verdict[job] > 0) status = SAMP_OK, token = gpu->verdict[job] - 1;
    if (status) return status;
    sampi_life_moves(s);
    if (slot->custom || token < 0) sampi_life_save_state(s); /* a step that the device has done cannot fail now */
    if (token < 0) {
        sampi_gpu_route r;
        sampi_gpu_find_route(gpu, s, &r);
        status = sampi_gpu_go_on(gpu, job, &r, s, &token);
    } else {
        sampi_gpu_update_last(sampi_gpu_selecting(sampi_gpu_job_at(gpu, job)), slot->last, token, res->value);
    }
    if (!status && slot->draws) s->position++;
    if (!status && slot->custom) status = sampi_life_accept(s, token, true);
    if (!status && slot->n_listeners > SAMPI_GPU_LISTENERS) {
        status = sampi_life_accept(s, token, false);
    } else if (!status) { /* only these members need to accept the token */
        sampi_ring_push(&s->u.chain.ring, s->u.chain.prev, token);
        for (int i = 0; i < slot->n_listeners; i++)
            sampi_traits_of(slot->listener[i]->kind)->hooks->accept(slot->listener[i], token);
    }
    if (status) {
        sampi_life_restore_state(s);
        s->position = position;
        return status;
    }
    sampi_life_moved(s);
    s->perf.n_sample++;
    s->perf.n_accept++;
    slot->source.n_edits = s->n_edits;
    if (slot->kept) sampi_gpu_follow(gpu, job);
    return token;
}

/* Copies the bases of all jobs' log-probabilities (maximum, sum, ranks) at once, which are packed for this batch. */
static int sampi_gpu_get_basis(samp_gpu *gpu)
{
    return sampi_gpu_get(gpu, gpu->basis, gpu->args.basis, gpu->n_jobs * sampi_gpu_basis_size(gpu->args.n_top));
}

/* Writes one set of a job's log-probabilities to the caller's: set 0 as given, 1 after the chain. */
static void sampi_gpu_fill_set(const samp_gpu *gpu, uint32_t job, size_t which, samp_token token,
                               samp_logprob_set *set)
{
    const sampi_gpu_basis *basis = &gpu->basis[job * 2 + which];
    const uint64_t *top = sampi_gpu_top_keys(gpu->basis, gpu->n_jobs, gpu->args.n_top, job, which);
    const sampi_sums sums = { basis->max, 0, basis->z, basis->s, 0 };
    int32_t n = 0;
    sampi_row_set_chosen(set, token, basis->rank - 1, sampi_row_logprob(basis->l, basis->max, basis->z));
    for (uint32_t i = 0; i < basis->n_top; i++)
        n = sampi_row_set_top(set, n, (samp_token)sampi_gpu_id(top[i]), sampi_gpu_logit(top[i]));
    sampi_row_finish_set(set, n, &sums);
}

/* Prefetches n bytes from p, line by line, for writing. */
static void sampi_gpu_prefetch_lines(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i += 64) __builtin_prefetch((const char *)p + i, 1);
}

/* Prefetches the samplers of later rows. */
static void sampi_gpu_prefetch(samp_sampler *const *rows, size_t r, size_t n)
{
    const sampi_sampler *far = r + 6 < n ? (const sampi_sampler *)rows[r + 6] : NULL;
    const sampi_sampler *next = r + 3 < n ? (const sampi_sampler *)rows[r + 3] : NULL;
    const sampi_sampler *soon = r + 1 < n ? (const sampi_sampler *)rows[r + 1] : NULL;
    if (far) __builtin_prefetch(far), __builtin_prefetch(&far->u);
    if (next && sampi_is_chain(next)) __builtin_prefetch(next->u.chain.item);
    for (int32_t i = 0; soon && sampi_is_chain(soon) && i < soon->u.chain.n; i++)
        sampi_gpu_prefetch_lines(soon->u.chain.item[i], sizeof *soon);
}

/* Prefetches what the token of a later job (row) will be written to, for end_job; the job's slot says what that is. */
static void sampi_gpu_prefetch_commit(const samp_gpu *gpu, uint32_t j)
{
    const sampi_gpu_slot *far = j + 6 < gpu->n_jobs ? &gpu->slot[j + 6] : NULL;
    const sampi_gpu_slot *next = j + 3 < gpu->n_jobs ? &gpu->slot[j + 3] : NULL;
    if (far) sampi_gpu_prefetch_lines(far->source.chain, sizeof *far->source.chain);
    for (int i = 0; far && i < far->n_listeners && i < SAMPI_GPU_LISTENERS; i++)
        sampi_gpu_prefetch_lines(far->listener[i], sizeof *far->listener[i]);
    if (!next || next->n_listeners > SAMPI_GPU_LISTENERS) return;
    const sampi_chain *c = &next->source.chain->u.chain;
    const sampi_past *past = &next->source.chain->past;
    sampi_gpu_prefetch_lines(c->prev + c->ring.head, 1);
    if (past->made) sampi_gpu_prefetch_lines(past->word + (size_t)past->width * (size_t)past->next, 1);
    for (int i = 0; i < next->n_listeners; i++) {
        const sampi_sampler *s = next->listener[i];
        if (s->kind == SAMPI_PENALTIES) sampi_gpu_prefetch_lines(sampi_penalties_list(s), s->part_size[1] / 2);
    }
}

/* Divides a batch: makes jobs (numbered from 0) of the rows for the device. */
static void sampi_gpu_divide(samp_gpu *gpu, samp_sampler *const *rows, const samp_logits *l)
{
    gpu->n_jobs = gpu->n_rules = gpu->n_ids = 0;
    gpu->new_from = UINT32_MAX;
    gpu->new_until = 0;
    for (size_t r = 0; r < l->n_rows; r++) {
        sampi_sampler *s = (sampi_sampler *)rows[r];
        sampi_gpu_route route;
        const samp_logprobs *lp = l->logprobs ? &l->logprobs[r] : NULL;
        const bool whole = sampi_row_length(l, r) == l->n_vocab; /* the kernels have one length for all rows */
        const bool fits = whole && (!lp || sampi_gpu_fits_logprobs(gpu, lp)) &&
                          !(s && sampi_life_is_short(s, l->n_vocab)),
                   has = s && fits && sampi_gpu_has(gpu, s, l->n_vocab, lp);
        gpu->token[r] = s ? SAMP_OK : SAMP_E_NULL;
        if (!has) sampi_gpu_prefetch(rows, r, l->n_rows);
        if (s && !has) sampi_gpu_find_route(gpu, s, &route);
        if (s && !has) gpu->token[r] = route.status;
        /* a row without logits fails, and its chain stays as it is */
        if (!gpu->token[r] && sampi_gpu_is_missing(l, r)) gpu->token[r] = SAMP_E_RANGE;
        gpu->where[r] = SAMPI_GPU_BY_NOBODY;
        if (gpu->token[r]) continue;
        gpu->where[r] = SAMPI_GPU_BY_CPU; /* unless it becomes a job */
        if (!fits) continue;
        if (!has && !(route.n_device && sampi_gpu_pack(gpu, s, &route, l->n_vocab, lp))) continue;
        gpu->where[r] = SAMPI_GPU_BY_DEVICE;
        gpu->row_of[gpu->n_jobs] = (uint32_t)r;
        gpu->verdict[gpu->n_jobs] = gpu->called[gpu->n_jobs] = 0;
        gpu->perf.n_kept += has;
        gpu->n_jobs++;
    }
}

/* Takes the result of a job (from the device) into its row: the token, the chain's state, log-probabilities. */
static bool sampi_gpu_end_job(samp_gpu *gpu, uint32_t j, samp_sampler *const *rows, const samp_logits *logits)
{
    const sampi_gpu_result *res = &gpu->result[j];
    const size_t r = gpu->row_of[j];
    if (res->status == SAMPI_GPU_DECLINED) {
        gpu->where[r] = SAMPI_GPU_BY_CPU;
        gpu->slot[j].kept = false; /* its last sampler may have learnt from the draw already */
        gpu->perf.n_declined++;
        return false;
    }
    if (res->token < 0 && !res->status && !gpu->verdict[j])
        gpu->perf.n_mixed++;
    else
        gpu->perf.n_device++;
    sampi_gpu_prefetch_commit(gpu, j);
    gpu->token[r] = sampi_gpu_commit_row(gpu, j, rows[r]);
    if (logits->logprobs && gpu->token[r] >= 0) {
        sampi_gpu_fill_set(gpu, j, 0, gpu->token[r], &logits->logprobs[r].raw);
        sampi_gpu_fill_set(gpu, j, 1, gpu->token[r], &logits->logprobs[r].processed);
    }
    return gpu->token[r] == (res->status ? res->status : res->token);
}

/* Runs a batch: rows become jobs, the jobs are sent to the device, kernels run until each has its result, and results
   are taken into the chains; then the CPU samples the other rows. */
SAMP_API int samp_gpu_sample_batch(samp_gpu *gpu, samp_sampler *const *rows, const samp_logits *logits,
                                   samp_token *out)
{
    int status = sampi_gpu_check_batch(gpu, rows, logits, out);
    if (status || logits->n_rows == 0) return status;
    const size_t n_rows = logits->n_rows, n_bytes = n_rows * sizeof *out;
    const bool on_host = !gpu->config.data_on_device && !gpu->config.out_on_device;
    if (gpu->mode == SAMPI_GPU_ON_CPU || (gpu->why[0] && on_host)) {
        gpu->perf.n_cpu += n_rows;
        return samp_sample_batch(rows, logits, out);
    }
    status = sampi_gpu_check_memory(gpu, logits, out);
    if (!status) status = sampi_gpu_start_again(gpu);
    if (status) return status;
    sampi_gpu_divide(gpu, rows, logits);
    /* a failure in any of these three calls forgets the batch */
    if (gpu->n_jobs) status = sampi_gpu_upload(gpu, logits, out);
    if (!status && gpu->n_jobs) status = sampi_gpu_run_batch(gpu, rows);
    if (!status && gpu->n_jobs && logits->logprobs) status = sampi_gpu_get_basis(gpu);
    if (status) return sampi_gpu_forget(gpu, status);
    size_t written = 0; /* rows whose token the kernels have left in `out` on the device */
    for (uint32_t j = 0; j < gpu->n_jobs; j++) written += sampi_gpu_end_job(gpu, j, rows, logits);
    for (size_t r = 0; r < n_rows; r++) {
        if (gpu->where[r] != SAMPI_GPU_BY_CPU) continue;
        gpu->perf.n_cpu++;
        gpu->token[r] = sampi_gpu_cpu_row(gpu, &rows[r], logits, r);
    }
    if (!gpu->config.out_on_device) {
        memcpy(out, gpu->token, n_bytes);
        return SAMP_OK;
    }
    /* only the host has the tokens of the other rows */
    return written < n_rows ? sampi_gpu_put(gpu, out, gpu->token, n_bytes) : SAMP_OK;
}

/* ---- src/gpu/canary.h ---- */
/* ---- the canary ---- The trial of a device. The first context of a device makes it compute what the CPU can check:
  vectors of the kernels' arithmetic, and four small batches whose rows together need every kind of pass and every
     sampler that has a step. */

#if !defined(SAMPI_GPU_TRUSTS) && SAMPI_OFFLOAD /* a test checks kernels on the host too, or none */
#define SAMPI_GPU_TRUSTS(gpu) ((gpu)->mode != SAMPI_GPU_ON_DEVICE)
#elif !defined(SAMPI_GPU_TRUSTS) /* without a device no verdict is needed */
#define SAMPI_GPU_TRUSTS(gpu) true
#endif

/* The number of tokens of a row. */
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

/* The rows: the shape of their logits, their name for samp_gpu_plan, and up to three samplers. */
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
   [arguments][functions] gets the bits of the results. */
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

/* Returns a logit of a shape. */
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

/* Runs a batch on both sides, and compares. */
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

/* Returns the verdict on the device of a context. */
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
   on the device are fetched. */
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

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#endif /* SAMPLING_IMPLEMENTATION */
