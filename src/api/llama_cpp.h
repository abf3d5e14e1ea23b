/* ---- 6. in a llama.cpp program (SAMPLING_LLAMA) ---------------------------------------------------------------
   A chain samples from a llama_context, serves in a llama.cpp program as its sampler object, and gets its vocabulary
   from a llama_vocab. */

/* llama.h may be included before this file, after it, or not at all. Link a libllama of 2025 or later. To get exactly
   llama.cpp's tokens, set the chain to SAMP_RNG_MT19937. */
struct llama_sampler;
struct llama_context;
struct llama_vocab;

/* samp_llama_sample -- draws the next token and accepts it, as llama_sampler_sample does, but directly from the logits:
   it fills no array of candidates.
     in       idx: which output of the last llama_decode, numbered as in llama_get_logits_ith
     Returns  the token, or as samp_sample; SAMP_E_NULL also if that output has no logits. */
SAMP_API samp_token samp_llama_sample(samp_sampler *chain, struct llama_context *ctx, int32_t idx);

/* samp_llama_init -- makes llama.cpp's sampler object of a chain, or of any sampler outside a chain: for
   llama_sampler_sample, llama_sampler_apply, llama_sampler_chain_add and other functions of llama.cpp. The object owns
   the chain from now on.
   samp_llama_chain -- the chain of such an object, which still owns it: to change, save or describe it, or to read its
     seed or counts. NULL: s is not such an object.
     Works    with each layout of llama.cpp's interface (6, 10 and 12 functions); on the CPU, not in the device's graph.
     Errors   llama.cpp's apply has no status: an array that samp_apply refuses gets selected = -1, and
              llama_sampler_sample then ends the program. samp_status shows before whether the chain carries an error. A
              clone that fails is NULL.
     Returns  NULL: chain is NULL or in a chain, or there is no memory; the caller still owns it.
              Free the object with llama_sampler_free.
     Memory   two pointers, from llama_sampler_init. */
SAMP_API struct llama_sampler *samp_llama_init(samp_sampler *chain);
/* The chain of such an object, which still owns it. */
SAMP_API samp_sampler *samp_llama_chain(const struct llama_sampler *s);

/* samp_llama_vocab -- the vocabulary of a model, for samplers that need one: copies of all pieces (those of control
   tokens are empty), and the tokens that end a generation. Its tokenize calls llama.cpp, so the model must outlive it.
   That tokenize never gives control tokens, with one exception: <text> in a grammar may be a control token.
     Returns  NULL: vocab is NULL, or no memory.   Memory  one block.
   samp_llama_vocab_free -- frees it; takes NULL. */
SAMP_API samp_vocab *samp_llama_vocab(const struct llama_vocab *vocab);
/* Frees a vocabulary of samp_llama_vocab; takes NULL. */
SAMP_API void samp_llama_vocab_free(samp_vocab *vocab);
