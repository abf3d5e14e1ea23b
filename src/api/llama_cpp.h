/* ---- 6. in a llama.cpp program (SAMPLING_LLAMA) ---------------------------------------------------------------
   Functions for programs that use llama.cpp: a chain of this library samples from a llama_context, replaces llama.cpp's
   own sampler object, and gets its vocabulary from a llama_vocab. */

/* llama.h may be included before this file, after it, or not at all. Link a libllama of 2025 or later. To get exactly
   llama.cpp's tokens, set the chain's random source to SAMP_RNG_MT19937. */
struct llama_sampler;
struct llama_context;
struct llama_vocab;

/* samp_llama_sample -- draws the next token and accepts it, as llama_sampler_sample does, but directly from the logits,
   without an array of candidates.
     in       idx: the index of an output of the last llama_decode, numbered as in llama_get_logits_ith
     Returns  the token, or a status of samp_sample; SAMP_E_NULL also if this output has no logits. */
SAMP_API samp_token samp_llama_sample(samp_sampler *chain, struct llama_context *ctx, int32_t idx);

/* samp_llama_init -- wraps a chain, or any sampler that is in no chain, in a sampler object of llama.cpp, which
   llama_sampler_sample, llama_sampler_apply, llama_sampler_chain_add and other functions of llama.cpp take. The object
   owns the chain from now on.
   samp_llama_chain -- returns the chain in such an object, which still owns it: to change, save or describe the chain,
     or to read its seed or counts. NULL: s is not an object of samp_llama_init.
     Works    with each layout of the struct llama_sampler_i of llama.cpp (6, 10 and 12 functions). Sampling runs on the
              CPU, not in llama.cpp's compute graph on a device.
     Errors   The apply function of llama.cpp returns no status: an array that samp_apply refuses gets selected = -1,
              and llama_sampler_sample then ends the program. To avoid this, ask samp_status first whether the chain
              carries an error. If a clone fails, llama_sampler_clone returns NULL.
     Returns  the object; NULL if chain is NULL or in another chain, or if there is no memory: then the caller still
              owns the chain. Free the object with llama_sampler_free.
     Memory   The object has two pointers, allocated by llama_sampler_init. */
SAMP_API struct llama_sampler *samp_llama_init(samp_sampler *chain);
/* Returns the chain in an object of samp_llama_init, which still owns it. */
SAMP_API samp_sampler *samp_llama_chain(const struct llama_sampler *s);

/* samp_llama_vocab_init -- makes a samp_vocab from a model's vocabulary, for samplers that need one: copies of the
   bytes of all tokens (those of control tokens are empty), and the tokens that end a generation. Its function tokenize
   calls llama.cpp, so the model must outlive the samp_vocab. This function never returns control tokens, with one
   exception: <text> in a grammar may be a control token.
     Returns  the vocabulary; NULL if vocab is NULL, or if there is no memory.   Memory  is one block.
   samp_llama_vocab_free -- frees such a vocabulary; takes NULL. */
SAMP_API samp_vocab *samp_llama_vocab_init(const struct llama_vocab *vocab);
/* Frees a vocabulary of samp_llama_vocab_init; takes NULL. */
SAMP_API void samp_llama_vocab_free(samp_vocab *vocab);
