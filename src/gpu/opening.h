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
