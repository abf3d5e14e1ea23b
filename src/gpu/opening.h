/* sampling_gpu.h - the chains of sampling.h on a GPU: the same chains, the same tokens.        MIT license, see there.

   EXPERIMENTAL: its tokens are right on an NVIDIA H200, and it is slower there than it should be (bench/GPU.md).

   Logits that a model leaves in device memory become tokens without crossing to the host. In the one C or C++ file
   with the implementation, before any other #include of sampling.h:

       #define SAMPLING_IMPLEMENTATION
       #include "sampling_gpu.h"                        // brings sampling.h

   and built by gcc with its offloading compiler (Debian: gcc-offload-nvptx, or gcc-offload-amdgcn):

       gcc -O3 -fopenmp -foffload=nvptx-none -foffload-options=nvptx-none=-misa=sm_80 -foffload-options=-lm
           -ffp-contract=off -fno-pie -no-pie main.c -lm

       samp_gpu_config config = { 0, 64, 128256, SAMP_BF16, true, false, 0 };
       samp_gpu *gpu = samp_gpu_create(&config, &status);
       status = samp_gpu_sample_batch(gpu, chains, &logits, tokens);        // chains [n_rows], as samp_sample_batch
       samp_gpu_free(gpu);

   Logits of a CUDA program work as they are, if libgomp works in CUDA's context: then device memory means the same to
   both. libgomp opens a device once, at the first use of it by any thread, and takes the context that is current in
   that thread if it is one of that device; else it makes one of its own, in which no pointer of CUDA's is valid. So
   before anything else of OpenMP uses the device, in the thread that makes the first call here:

       cudaSetDevice(config.device);                   // the device of that number
       cudaFree(0);                                    // makes its context, and makes it current in this thread
       samp_gpu *gpu = samp_gpu_create(&config, &status);

   Other threads get libgomp's context if they have none; one that has another context of that device current works in
   that, so let them call cudaSetDevice too, and make no further contexts. CUDA's context must outlive all of
   libgomp's use (no cudaDeviceReset).

   Order of streams. What writes the logits must be done before the call: cudaStreamSynchronize, or
   cudaEventSynchronize, in any thread. When the call returns, the tokens are on the host (or in `out`), and the logits
   may be written again. samp_gpu_config has no stream, because libgomp has none to set: its plugin launches a target
   region on the default stream of the context (the NULL stream), waits with cuCtxSynchronize, and copies with
   cuMemcpy, on that stream too; `omp interop`, which could hand over a stream, is not in gcc 12, and OpenACC's
   acc_set_cuda_stream is for OpenACC's own regions. It follows for a program that relies on this plugin: streams made
   without cudaStreamNonBlocking come before the kernels by themselves; another one can be put before them without the
   host's waiting, by cudaEventRecord in it and cudaStreamWaitEvent of the default stream; and since a launch waits for
   the context, work of other streams that is under way in it delays the call.

   Clang, or gcc without -fopenmp, compiles this file too: then samp_gpu_available() is 0, and the same calls sample on
   the CPU. (cl.exe does not.)

   HOW A TOKEN COMES ABOUT

       host     chain -> steps: parameters, state, changed logits        sent if the device has not got them   >>host
       device   scan      logits -> maxima of cells, NaN found                                                 >>passes
                advance   one sampler after the other, on what is known                                        >>steps
                  walk    where a sampler needs a sum or tokens of the row: all teams read it again
                  list    at most SAMP_GPU_LIST tokens are left: one team does the rest                        >>list
       host     tokens and new state                                     one copy from the device per batch

   Search for the tags:
       >>api                                                           what you use; stop there if that is enough
       >>switches  >>records                                           what the device's compiler and memory get
       >>elements  >>passes  >>list  >>steps                           one element, all of a row, few tokens, a sampler
       >>host                                                          what is sent, launched and read back

   A row is worked on by several teams (of one warp each), which share its 1024-element groups. The teams of a row do a
   pass; the one that finishes last adds the results up and advances the chain as far as it gets without the next pass.
   A row stays where it is: what samplers did to it is kept as a list of operations, which a pass applies to each
   element it reads. Logits that penalties, dry or logit_bias change are taken out of the row and kept beside it.

   Chains stay on the device. It moves their state on as the host does (the position, mirostat's mu, adaptive_p's
   averages, penalties' window), so the next batch with the same chain in the same place, the same n_vocab and n_top
   sends nothing for it, unless something was done to it in between (samp_chain_update, samp_state_load, samp_reset,
   samp_sample ...), or it has dry, top_p with a decay, several samplers that change single logits, tokens beyond
   n_vocab or windows of more than 1024 in these, or a sampler of your own, or is part of another chain. The host's
   chain is always up to date.

   Log-probabilities are two more steps: one before all samplers, where the row is as given, and one after the choice.
   They tell maximum, sum, the first tokens and ranks; of these the host makes the numbers, as samp_sample_batch does.

   Between passes, teams of a row wait for each other, so many of them as have run together when the context was made;
   they wait a bounded time, and what is left undone is done by another launch (then later batches wait for half that
   time). Where none run together each pass is a launch. A row's only team, with more rows than teams, waits for
   nobody. Nothing waits on the host.

   THE SAME TOKENS. Weights, sums, cuts and draws are the integers of sampling.h (DETERMINISM there): the sums don't
   depend on the order of atomics, and the functions are the same source. Compile with -ffp-contract=off. (NVIDIA's
   assembler fuses products with sums unasked; the few sums of products here are an fma, which it leaves alone.)

   WHAT RUNS WHERE. All built-in samplers run on the device, but infill, which reads tokens' texts, and constraints
   other than top_p_decay. A
   chain goes to the CPU, alone of its batch, where
     - its random source is SAMP_RNG_MT19937;
     - it has more than 24 active samplers (22 if log-probabilities are asked for) and none of your own among them, or
       more than 1024 changes of single logits, those of each sampler counted;
     - log-probabilities are asked for, and it has a sampler of your own, or samp_gpu_config.max_top_logprobs is too
       small;
     - tail_free, xtc with a threshold of 0.001 or less or of which thousands of tokens reach that share of the
       largest p, mirostat with m above 2048 or a 50th of the row, or thousands of equal logits, or behind what has
       left more, a sampler of your own behind what has left more, thousands of equal scores in typical, a
       min_keep of thousands in min_p or top_a and its kin, p_less within 14 nats of the maximum, or top_h and min_k
       before they know how many to keep meet more than SAMP_GPU_LIST tokens (known only then: the row is fetched and
       sampled there);
     - a sampler of your own, or one without a step on the device, comes before any that removes tokens.
   A sampler of your own behind a top_k, top_p, min_p or typical gets the tokens left, exactly the array that
   samp_apply would have given it (but `sorted` tells of these alone, and a zero has no sign), and the rest of the chain
   runs on the CPU over these; or it works on the device itself, see samp_gpu_data. samp_gpu_plan tells. A grammar in a
   chain is such a sampler; as samp_logits.mask (samp_grammar_mask) before a chain without it, it gives the same tokens,
   and the chain stays on the device.

   MACROS (where the implementation is)
       SAMP_GPU_LIST     a power of two >= 32, 4096: so many tokens one team takes over. 60 bytes each per row,
                         68 with log-probabilities.
       SAMP_GPU_WAIT     how often a team asks for the others before it gives up; 20000

   ERRORS are statuses. What libgomp does not let a program catch: a kernel that fails, or a device that is lost, ends
   the process with libgomp's message. Memory that can't be had, a device that isn't there, a copy that fails do not.

   THREADS. Different contexts may be used by different threads at once (libgomp runs one kernel at a time); one context
   by one thread at a time. With OpenMP there are four globals more than in sampling.h: which device the kernels are
   bound to, to what, and a probe's counters, which are written in a critical section; and the verdict on each device
   (see samp_gpu_create), an atomic: of two threads that make the first two contexts both may try the device. */
