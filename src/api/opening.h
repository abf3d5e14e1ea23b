/* sampling.h - from a language model's logits to the next token.        MIT license, at the end of the file.

   SYNOPSIS

       #define SAMPLING_IMPLEMENTATION                        // in exactly one C or C++ file
       #include "sampling.h"

       samp_params params = samp_default_params();            // top_k 40, top_p 0.95, min_p 0.05, temp 0.8
       samp_sampler *chain = samp_chain_from_params(&params, NULL);
       samp_token token = samp_sample(chain, logits, n_vocab);        // >= 0, or a negative status
       samp_free(chain);

   One header, no dependency beyond libc and libm (link with -lm). C11 or C++11, gcc 11 or clang 14 and later, any
   machine with IEEE floats, of 32 or 64 bits; with kernels of its own for x86-64 (AVX-512, AVX2, SSE2), arm64 and
   WebAssembly. Another compiler (cl.exe, not tried yet) gets plain C; clang-cl gets all kernels.

   FUNCTIONS (that most programs need; the contract of each is above it in >>api)
       samp_sample                 draws a token from a row of logits; the chain accepts it
       samp_accept, samp_reset     accept a token from elsewhere (a prompt's, before the first samp_sample); begin
                                   another text
       samp_rollback               takes the last tokens back, as if they had never been drawn
       samp_default_params, samp_plain_params, samp_check_params, samp_chain_from_params, samp_chain_update, samp_free
                                   the usual chain: default settings, check them, make, change, free the chain
       samp_settings_set, samp_settings_from
                                   the same settings by name and text, for bindings and command lines; the settings
                                   of a request to another program (SAMPLING_PEERS)
       samp_chain_init, samp_chain_add, samp_chain_insert, samp_init_top_k, ... samp_init_custom
                                   a chain made by hand, with samplers of your own in it
       samp_status, samp_strerror, samp_error_text, samp_describe, samp_perf
                                   the error of a sampler; a chain as text; its counts
       samp_sample_batch, samp_batch_from_params
                                   many rows, each with its own chain: f16, bf16, masks, log-probabilities, threads
       samp_verify                 accepts a draft's tokens up to the first that fails, and draws one token more
       samp_verify_block, samp_verify_tree, samp_verify_relaxed
                                   accept more of a draft, drafts that branch, or leniently (SAMPLING_DRAFTS)
       samp_state_save, samp_state_load, samp_clone
                                   save, load and copy a chain, which continues with the same tokens
       samp_random_sample_run      picks one index from a row, without samplers or state
       samp_grammar_init, samp_init_grammar
                                   allow only texts of a grammar or JSON schema (SAMPLING_GRAMMAR)
       samp_init_banned_strings, samp_init_thinking, samp_init_min_tokens, ...
                                   ban or force tokens, limit thinking (SAMPLING_CONSTRAINTS)
       samp_init_schedule          samplers that are active at times only (SAMPLING_CONSTRAINTS)
       samp_kv_init, samp_kv_find_slot, samp_kv_mask
                                   sequences that share a key-value cache (SAMPLING_KV)
       samp_shard_init, samp_sample_sharded
                                   sample rows in slices on many machines (SAMPLING_SHARDS)
       samp_llama_sample, samp_llama_init
                                   sample in a llama.cpp program (SAMPLING_LLAMA)

   EXAMPLE (a text continues until the model ends it; model and is_end are yours)

       for (int i = 0; i < n; i++) samp_accept(chain, text[i]);       // the prompt
       while (n < n_max) {
           model(text, n, logits);
           samp_token token = samp_sample(chain, logits, n_vocab);
           if (token < 0) return token;                               // samp_strerror(token) says why
           if (is_end(token)) break;
           text[n++] = token;
       }

   HOW A TOKEN COMES ABOUT

       logits [n_vocab] f32                                         >>sample
         -> array of {id, logit, p} [n_vocab]  then one by one:     >>apply
         -> logit_bias, penalties, dry         change logits        >>logits
         -> top_n_sigma, top_k, tail_free,
            typical, top_p, min_p, top_a,
            p_less, p_less_norm, epsilon,
            eta, top_h, min_k, xtc, infill     remove tokens        >>truncation
         -> temp, temp_ext, smoothing,
            log_softmax                        scale, shift logits  >>temperature
         -> greedy, dist, mirostat,
            mirostat_v2, adaptive_p            select one token     >>selection
         -> token id                           every sampler accepts it

   A sampler is an object with six functions (samp_sampler_i). A chain is a sampler that owns others and applies them
   in order. Any order is allowed, but no sampler after one that selects may mask or cut. Your own sampler works in a
   chain like any other (samp_init_custom).

   TWO EXECUTORS, ONE MEANING. The samplers, applied one by one to an array of candidates, define the token. samp_sample
   takes the fast path (>>fast) if it can: it works on the logits without an array, with thresholds instead of sorts,
   and SIMD kernels chosen at run time. If it cannot, it continues step by step. The token is always the same.
   samp_apply (>>apply) does with an array what the steps would do, to the last bit; long arrays take the fast path too.

   THE FILE. It is in the order of execution; search for the tags:
       >>config  >>types  >>api                                        the interface; to use the library, stop there
       >>impl  >>rng  >>math                                           basics: switches, random bits, arithmetic
       >>kernels  >>scalar  >>vectors  >>passes  >>dispatch            loops over a row, for every instruction set
       >>array                                                         checks, order and sums of candidates
       >>sampler  >>llama                                              the object; how llama.cpp's arithmetic differs
       >>logits  >>truncation  >>temperature  >>selection              one sampler after the other, in both arithmetics
       >>describe  >>params  >>settings                                a sampler as text; from parameters, by name
       >>rollback  >>chain  >>fast  >>apply  >>sample                  applying them: samp_apply, samp_sample; taking
                                                                       tokens back
       >>verify  >>batch  >>state  >>operator                          drafts; many rows; a sampler's state as bytes;
                                                                       sampling as an operator, without samplers
       >>kv                                                            sequences and their key-value cache
       >>llama_cpp                                                     a chain behind llama.cpp's own interface
       >>json                                                          reading texts; JSON
       >>grammar  >>schema  >>tags                                     grammars, and which tokens may come next; JSON
                                                                       schemas, structural tags as grammars
       >>peers                                                         requests to other programs, as settings
       >>shards                                                        a vocabulary in pieces, on many machines
       >>drafts                                                        more ways to test a draft
       >>constraints                                                   bans, biases, budgets, loop breakers

   MACROS (define before including: those with a * wherever you include the file, the others with the implementation)
       SAMPLING_IMPLEMENTATION     makes the function bodies appear
       SAMPLING_STATIC *           all functions static: a private copy. They are declared only in the file with
                                   SAMPLING_IMPLEMENTATION; other files get only >>types
       SAMP_API *                  storage class of the public functions
       SAMP_MALLOC(n), SAMP_FREE(p)
                                   the heap, both or neither; SAMP_FREE must take NULL. These allocate: functions
                                   that make an object or a copy (also samp_chain_add, samp_chain_update),
                                   samp_set_n_prev, samp_set_rollback, samp_reserve. Without samp_reserve also the
                                   first samp_sample of a size, samp_apply of more than 256 candidates, and the first
                                   token that a sampler with a state draws or accepts (see samp_rollback)
       SAMP_CLOCK()                nanoseconds as uint64_t; without it no time is measured (samp_perf)
       SAMPLING_GRAMMAR *          grammars: samp_grammar
       SAMPLING_CONSTRAINTS *      bans, forced tokens, budgets, loop breakers
       SAMPLING_PEERS *            requests to OpenAI's servers, vLLM, SGLang, transformers, llama-server, Ollama,
                                   Anthropic, as settings: samp_settings_from
       SAMPLING_DRAFTS *           samp_verify_block, samp_verify_tree, samp_verify_relaxed
       SAMPLING_GUMBEL *           samp_init_gumbel: draws by noise that belongs to tokens
       SAMPLING_WATERMARK *        samp_init_watermark: texts that a key can detect; samp_watermark_detect
       SAMPLING_KV *               the key-value cache: samp_kv
       SAMPLING_SHARDS *           samp_sample_sharded: each rank holds a slice of the logits, and all get the token of
                                   one machine, for a few kilobytes a row
       SAMPLING_LLAMA *            chains in a llama.cpp program: samp_llama
                                   (a call to a function of a part without its macro is an error that names it)
       SAMP_NO_SIMD SAMP_NO_SSE2 SAMP_NO_AVX2 SAMP_NO_AVX512 SAMP_NO_NEON SAMP_NO_WASM       leave these kernels out
                                   (AVX-512 needs AVX2's)
       SAMP_NO_OPERATOR *          leaves out samp_random_sample
       SAMP_NO_MT19937             leaves out llama.cpp's arithmetic: to choose SAMP_RNG_MT19937 is then
                                   SAMP_E_UNSUPPORTED, field "rng"
       SAMP_NO_THREADS             samplers of a grammar share what they learn without atomics, in one thread
       SAMP_SELF_INCLUDE           this file's name, "sampling.h" with its quotes, if you call it something else: it
                                   compiles the kernels by including itself

   ERRORS. A function that returns a token returns it (>= 0) or a negative samp_status; the others return SAMP_OK or
   a negative status. A constructor given a bad value still returns an object, which carries the error:
   samp_status(s, &field) returns it, and so does every function that applies, accepts, saves, updates or adds it.
   NULL means "no memory" and nothing else. Nothing prints, aborts, clamps, or sets errno. After an error the
   sampler's own state is what it was before the call.

   BAD ROWS. -INFINITY is a masked token: never returned. NaN or +infinity anywhere in the logits is SAMP_E_NAN, no
   unmasked token left is SAMP_E_EMPTY. -0.0 counts as +0.0.

   MEMORY. Constructors take it, and the first samp_sample at a vocabulary size (or samp_reserve): about 29 bytes per
   token of the vocabulary, 41 with a sampler of your own. Then none, except for states that a grammar reaches for the
   first time.

   THREADS. No globals but two atomics: the pointer to the kernels in use, and the count that gives each sampler a
   number of its own. Different samplers may be used by different threads at once; one sampler by one at a time. Those
   of one grammar share what they learn of it, and no thread waits for another.

   DETERMINISM. Under SAMP_RNG_PHILOX (the default) the token is a function of (logits, chain with its state, seed,
   position) alone. Where arithmetic decides, it is defined to the last bit and does not depend on the order in which
   tokens are visited:
     1. Each step of a chain rounds its logits to f32, in the written order.
     2. The weight of a token is w = round(2^40 * exp(l - max)), an integer, l and max f32, exp as in >>math (relative
        error below 1e-12). Sums of weights are exact in 64 bits. The probability of a token is w / sum. About 28 nats
        below the maximum w is 0, and such a token is not drawn.
     3. Cuts compare integers, or doubles got from one f32 and constants of the row. Order is (logit descending, id
        ascending), everywhere. p_less' sum of p^2 is q / sum^2 with q = 2^40 times the sum of (w >> 20)^2, exact too.
     4. A draw proposes with the envelope q >= w, which is cheap, and accepts with probability w / q: see sampi_draw.
        The sum that finds the proposal runs by ascending id, in whatever order the array is.
     5. Random bits are Philox4x32-10, key = seed, counter = (position, kind of sampler and its ordinal among its kind
        in the chain, attempt). The position is the chain's count of draws, so a row's token is the same alone or in
        any batch, and can be replayed.
     6. Integers define, floats may decide: where the fast path uses an estimate of a sum, it has a bound on the error
        of it, and where the bound leaves a doubt, the exact sum is taken.
     7. Products that feed a sum are written as fma, or are kept apart by SAMPI_OPAQUE: -ffp-contract, -march and -O
        change nothing. -ffast-math would, and is refused in the file with the implementation, as is x87. What no
        predefined macro shows (clang's -funsafe-math-optimizations, an fma that rounds twice) is found when the
        kernels are chosen: then every sampler carries SAMP_E_UNSUPPORTED. Only clang's -fno-honor-infinities by
        itself is not found.
   The floating-point environment can change a result: rounding to nearest is assumed, and with flush-to-zero on,
   logits below 1.2e-38 in size may tie.

   SAMP_RNG_MT19937 instead gives the tokens of llama.cpp, call for call, by doing its arithmetic (float expf of libm,
   sequential sums in array order, std::mt19937 and libstdc++'s distributions): see >>llama; on the fast path too, where
   bounds and sums of integers give its floats without adding them one by one. Where exact ties decide, llama.cpp's
   order is that of std::sort, which is unspecified, and ours is (logit descending, id ascending).

   VERSIONS. Semantic (SAMP_VERSION, samp_version): the interface changes with a major version only, and the tokens of
   SAMP_RNG_PHILOX are part of it. sampling_gpu.h is experimental: it may change with a minor one.
*/
