/* sampling.h - from a language model's logits to the next token.        MIT license, at the end of the file.

   SYNOPSIS

       #define SAMPLING_IMPLEMENTATION                        // in exactly one C or C++ file
       #include "sampling.h"

       samp_params params = samp_default_params();            // top_k 40, top_p 0.95, min_p 0.05, temp 0.8
       samp_sampler *chain = samp_chain_from_params(&params, NULL);
       samp_token token = samp_sample(chain, logits, n_vocab);        // >= 0, or a negative status
       samp_free(chain);

   The library is one header and needs nothing but libc and libm (link with -lm). It compiles as C11 or C++11 with gcc
   11 or clang 14 and later, for any machine of 32 or 64 bits with IEEE floats, and has kernels (loops in SIMD
   instructions) for x86-64 (AVX-512, AVX2, SSE2), arm64 and WebAssembly. clang-cl compiles all kernels. Another
   compiler (cl.exe, not tried yet) compiles the library as plain C.

   FUNCTIONS (those that most programs need; the comment above each function in >>api is its contract)
       samp_sample                 draws a token from a row of logits; the chain accepts it
       samp_accept, samp_reset     accept a token that samp_sample did not draw (such as a token of the prompt); begin
                                   another text
       samp_rollback               takes the last tokens back, as if they had never been drawn
       samp_default_params, samp_plain_params, samp_check_params, samp_chain_from_params, samp_chain_update, samp_free
                                   the usual chain: default settings, check them, make, change, free the chain
       samp_settings_set, samp_settings_from, samp_settings_from_lenient
                                   the same settings by name and text, for bindings and command lines; the settings
                                   of a request to another program (SAMPLING_PEERS)
       samp_chain_init, samp_chain_add, samp_chain_insert, samp_init_top_k, ... samp_init_custom
                                   a chain made by hand, with samplers of your own in it
       samp_status, samp_strerror, samp_error_text, samp_describe, samp_perf, samp_set_perf_hook
                                   the error of a sampler; a chain as text; its counts and the time it took; a line
                                   for a log after each draw
       samp_params_error_text, samp_logits_error_text
                                   what is wrong with parameters, and with a row: which value, which index
       samp_sample_batch, samp_batch_from_params
                                   sample many rows (the logits of many sequences), each with its own chain: f16, bf16,
                                   masks, log-probabilities, threads
       samp_verify                 accepts a draft's tokens up to the first that fails, and draws one token more
       samp_verify_block, samp_verify_tree, samp_verify_relaxed
                                   accept more of a draft, accept a path of a draft that branches, or accept a draft
                                   leniently (SAMPLING_DRAFTS)
       samp_ngram_init, samp_ngram_draft
                                   drafts from the text itself (SAMPLING_DRAFTS)
       samp_beams_init, samp_beams_step, samp_beams_found
                                   the n best texts side by side: beam search (SAMPLING_SEARCH)
       samp_unmask                 one step of a diffusion model: which positions to fill (SAMPLING_SEARCH)
       samp_guide                  combines logits with and without a prompt (classifier-free guidance)
       samp_state_save, samp_state_load, samp_clone
                                   save, load and copy a chain, which continues with the same tokens
       samp_random_sample_run      picks one index from a row, without samplers or state
       samp_grammar_init, samp_init_grammar, samp_builtin_tag
                                   allow only texts of a grammar or JSON schema, calls of tools (SAMPLING_GRAMMAR)
       samp_init_banned_strings, samp_init_thinking, samp_init_min_tokens, ...
                                   ban or force tokens, limit thinking (SAMPLING_CONSTRAINTS)
       samp_init_schedule          samplers that are active at times only (SAMPLING_CONSTRAINTS)
       samp_text_init, samp_text_push, samp_text_flush
                                   from tokens to the text to show: whole characters, stops (SAMPLING_STOP)
       samp_kv_init, samp_kv_find_slot, samp_kv_mask
                                   sequences that share a key-value cache (SAMPLING_KV)
       samp_shard_init, samp_sample_sharded
                                   sample where each of many machines has a slice of the logits (SAMPLING_SHARDS)
       samp_llama_sample, samp_llama_init
                                   sample in a llama.cpp program (SAMPLING_LLAMA)

   EXAMPLE (a text continues until the model ends it; you write the functions model and is_end)

       for (int i = 0; i < n; i++) samp_accept(chain, text[i]);       // the prompt
       while (n < n_max) {
           model(text, n, logits);
           samp_token token = samp_sample(chain, logits, n_vocab);
           if (token < 0) return token;                               // samp_strerror(token) says why
           if (is_end(token)) break;                                  // or samp_text_push, which also says what to show
           text[n++] = token;
       }

   HOW A TOKEN COMES ABOUT

       logits [n_vocab] f32                                    >>sample
         -> array of {id, logit, p} [n_vocab]  one by one:     >>apply
         -> logit_bias, penalties, dry       change logits     >>logits
         -> top_n_sigma, top_k, tail_free,
            typical, top_p, min_p, top_a,
            p_less, p_less_norm, epsilon,
            eta, top_h, min_k, xtc, infill   remove tokens     >>truncation
         -> temp, temp_ext, smoothing,
            log_softmax                      scale or shift    >>temperature
         -> greedy, dist, mirostat,
            mirostat_v2, adaptive_p          select one token  >>selection
         -> token id                         every sampler accepts it

   A sampler is an object with a table of functions (samp_sampler_i). A chain is a sampler that owns other samplers and
   applies them in order. Any order is allowed, with one exception: after a sampler that selects a token, no sampler may
   mask or remove tokens. A sampler of your own works in a chain like any other (samp_init_custom).

   TWO WAYS TO THE SAME TOKEN. The samplers, applied one by one to an array of candidates, define the token: this is the
   step-by-step way. samp_sample takes the fast path (>>fast) if the chain permits it: the fast path works on the logits
   without an array, with thresholds instead of sorts, and with SIMD kernels that are chosen at run time. Otherwise
   samp_sample applies the samplers step by step. Both give the same token. samp_apply (>>apply) changes an array
   exactly as the steps would, to the last bit; for long arrays it uses the fast path too.

   THE FILE. Its sections are in the order of execution; search for these tags:
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
       >>peers  >>vocab                                                requests to other programs, as settings;
                                                                       vocabularies from a model's files
       >>shards                                                        a vocabulary in pieces, on many machines
       >>drafts                                                        more ways to test a draft
       >>search                                                        beams, and texts to fill in
       >>constraints                                                   bans, biases, budgets, loop breakers
       >>stop                                                          from tokens to text

   MACROS (define them before you include the file: those with a * in each file that includes it, the others only in the
   file with SAMPLING_IMPLEMENTATION)
       SAMPLING_IMPLEMENTATION     makes the function bodies appear
       SAMPLING_STATIC *           makes all functions static: a private copy of the library. The functions are then
                                   declared only in the file with SAMPLING_IMPLEMENTATION; other files get only >>types
       SAMP_API *                  storage class of the public functions
       SAMP_NO_OLD_NAMES *         leaves out the names of before 2.0.0
       SAMP_MALLOC(n), SAMP_FREE(p)
                                   replace malloc and free; define both or neither. SAMP_FREE must accept NULL. These
                                   functions allocate: those that make an object or a copy (also samp_chain_add and
                                   samp_chain_update), samp_set_n_prev, samp_set_rollback, samp_reserve. If samp_reserve
                                   was not called, these allocate too: the first samp_sample at a vocabulary size,
                                   samp_apply of more than 256 candidates, and the first token that a sampler with a
                                   state draws or accepts (see samp_rollback)
       SAMP_CLOCK()                the time in nanoseconds as uint64_t; without this macro samp_perf reports no time
       SAMPLING_GRAMMAR *          grammars: samp_grammar
       SAMPLING_CONSTRAINTS *      bans, forced tokens, budgets, loop breakers
       SAMPLING_PEERS *            samp_settings_from, which turns requests to OpenAI's servers, vLLM, SGLang,
                                   transformers, llama-server, Ollama or Anthropic into settings
       SAMPLING_DRAFTS *           samp_verify_block, samp_verify_tree, samp_verify_relaxed, samp_ngram_draft
       SAMPLING_SEARCH *           samp_beams, samp_unmask; it defines SAMPLING_GUMBEL
       SAMPLING_GUMBEL *           samp_init_gumbel: draws with random noise that is a function of seed, position and
                                   token
       SAMPLING_WATERMARK *        samp_init_watermark marks texts, and samp_watermark_detect finds the mark with the
                                   same key
       SAMPLING_VOCAB *            samp_vocab_from_tokenizer_json, samp_vocab_from_gguf: a vocabulary from a model's
                                   own file
       SAMPLING_STOP *             samp_text: from tokens to the text to show, up to a stop
       SAMPLING_KV *               the key-value cache: samp_kv
       SAMPLING_SHARDS *           samp_sample_sharded: each rank (machine or GPU) holds a slice of the logits, and all
                                   get the token that one machine would, for a few kilobytes of messages a row
       SAMPLING_LLAMA *            chains in a llama.cpp program: samp_llama
                                   (A call to a function of an optional part whose macro is not defined is a compiler
                                   error that names the macro.)
       SAMP_NO_SIMD SAMP_NO_SSE2 SAMP_NO_AVX2 SAMP_NO_AVX512 SAMP_NO_NEON SAMP_NO_WASM       leave these kernels out
                                   (the AVX-512 kernels need those of AVX2)
       SAMP_NO_OPERATOR *          leaves out samp_random_sample
       SAMP_NO_MT19937             leaves out llama.cpp's arithmetic: choosing SAMP_RNG_MT19937 is then the error
                                   SAMP_E_UNSUPPORTED, with the field "rng"
       SAMP_NO_UNICODE             leaves out Unicode's table, 5 kB, of \p in regular expressions
       SAMP_NO_THREADS             lets the samplers of a grammar share their results without atomics, so that only one
                                   thread may use them
       SAMP_SELF_INCLUDE           the name of this file with its quotes, if it is not "sampling.h": the file includes
                                   itself to compile its kernels

   ERRORS. A function that returns a token returns its id (>= 0) or a negative status (samp_status_code); most others
   return SAMP_OK or a negative status. A constructor that is given a bad value still returns a sampler, which carries
   the error: samp_status(s, &field) returns the error, and so does every function that applies, saves or updates this
   sampler, adds it to a chain, or lets it accept a token. A constructor of a sampler returns NULL only if there is no
   memory. The library never prints, aborts, clamps a value, or sets errno. After an error the sampler's state is what
   it was before the call.

   BAD ROWS. A logit of -INFINITY masks its token: the token is never returned. A NaN or +infinity anywhere in the
   logits is the error SAMP_E_NAN; if no token is unmasked, the error is SAMP_E_EMPTY. -0.0 counts as +0.0.

   MEMORY. Memory is allocated by constructors and by the first samp_sample at a vocabulary size (or by samp_reserve):
   about 29 bytes per token of the vocabulary, 41 with a sampler of your own. After that no memory is allocated, except
   for states that a grammar reaches for the first time.

   THREADS. The library has no globals but three atomic variables: the pointer to the kernels in use, the counter that
   gives each sampler a number of its own, and whether this machine's expf is the one that llama.cpp's tokens can be had
   from by vectors. Different threads may use different samplers at the same time, but only one thread at a time may use
   a given sampler. The samplers of one grammar share what they have computed, and no thread waits for another.

   DETERMINISM. Under SAMP_RNG_PHILOX (the default) the token is a function of logits, chain (with its state), seed and
   position alone. All arithmetic on which the token depends is defined to the last bit, and its result does not depend
   on the order in which tokens are visited:
     1. Each sampler of a chain, in the order of the chain, rounds the logits that it computes to f32.
     2. The weight of a token is the integer w = round(2^40 * exp(l - max)), where l is its logit and max the largest
        logit, both f32, and exp is the function of >>math (relative error below 1e-12). Sums of weights are exact in 64
        bits. The probability of a token is w / sum. If a logit is about 28 nats or more below the maximum, w is 0, and
        the token is not drawn.
     3. A truncation compares integers, or doubles that are computed from one f32 and constants of the row. The order of
        tokens is always (logit descending, id ascending). The sampler p_less computes its sum of p^2 as q / sum^2 with
        q = 2^40 times the sum of (w >> 20)^2, which is exact too.
     4. A draw is a rejection sampling: it proposes a token by an upper bound q >= w that is cheap to compute, and
        accepts the token with probability w / q (see sampi_draw). The sum of the q that finds the proposed token runs
        by ascending id, whatever the order of the array.
     5. Random bits are Philox4x32-10 with the seed as its key and the counter (position, kind of sampler and its number
        among the samplers of this kind in the chain, attempt). The position is the number of draws that the chain has
        made. So a row's token is the same alone or in any batch, and can be drawn again.
     6. Integer sums define the token, but the fast path may use a float estimate of a sum. It then also computes a
        bound on the estimate's error, and computes the exact sum if the bound does not settle the comparison.
     7. Products that are added to a sum are written as fma, or are kept apart from the addition by SAMPI_OPAQUE, so the
        compiler's flags -ffp-contract, -march and -O do not change a token. The flag -ffast-math would: the file with
        the implementation refuses to compile with it, as with x87 arithmetic. Flags that no predefined macro shows
        (clang's -funsafe-math-optimizations) and an fma that rounds twice are found when the kernels are chosen: then
        every sampler carries SAMP_E_UNSUPPORTED. Only clang's -fno-honor-infinities, used alone, is not found.
   The floating-point environment can change a token: rounding to nearest is assumed, and with flush-to-zero on, logits
   of an absolute value below 1.2e-38 may tie.

   SAMP_RNG_MT19937 instead gives the tokens of llama.cpp, call for call. It does llama.cpp's arithmetic (float expf of
   libm, sequential sums in array order, std::mt19937 and libstdc++'s distributions; see >>llama). This works on the
   fast path too: bounds and integer sums there give llama.cpp's float sums without adding the floats one by one. Where
   tokens of equal logits matter, llama.cpp's order is that of std::sort, which is unspecified, and the order here is
   (logit descending, id ascending).

   VERSIONS. Version numbers are semantic (SAMP_VERSION, samp_version): the interface, and the tokens of
   SAMP_RNG_PHILOX, change with a major version only. sampling_gpu.h is experimental: it may change with a minor
   version.
*/
