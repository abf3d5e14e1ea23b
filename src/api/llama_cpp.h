/* ---- 6. in a llama.cpp program (SAMPLING_LLAMA) ---------------------------------------------------------------
   A chain draws from a llama_context, stands in a llama.cpp program as its sampler object, and gets a vocabulary from
   a llama_vocab. */

/* llama.h may be included before this file, behind it, or not at all. What is linked is a libllama of 2025 or later.
   For llama.cpp's very tokens set a chain to SAMP_RNG_MT19937. */
struct llama_sampler;
struct llama_context;
struct llama_vocab;

/* samp_llama_sample -- draw the next token and accept it, as llama_sampler_sample does, from the logits where they are:
   no array of candidates is filled.
     in       idx: which output of the last llama_decode, as llama_get_logits_ith counts
     Returns  the token, or as samp_sample; SAMP_E_NULL also where that output has no logits. */
SAMP_API samp_token samp_llama_sample(samp_sampler *chain, struct llama_context *ctx, int32_t idx);

/* samp_llama_init -- a chain, or any sampler that is in none, as llama.cpp's sampler object: for llama_sampler_sample,
   llama_sampler_apply, llama_sampler_chain_add and whatever else takes one. It owns the chain from now on.
   samp_llama_chain -- lend it: to change, save or describe it, to ask for its seed or counts; NULL: s is none of these.
     Works    behind each of the interface's layouts (6, 10 and 12 functions); on the CPU, not in the device's graph.
     Errors   apply has no status: an array that samp_apply refuses has selected = -1 (llama_sampler_sample ends the
              program then). samp_status tells before, whether the chain carries one. A clone that fails is NULL.
     Returns  NULL: no chain, one that is in a chain, or no memory; it stays yours.   Free with llama_sampler_free.
     Memory   two pointers, from llama_sampler_init. */
SAMP_API struct llama_sampler *samp_llama_init(samp_sampler *chain);
/* The chain behind a llama_sampler, lent; see above. */
SAMP_API samp_sampler *samp_llama_chain(const struct llama_sampler *s);

/* samp_llama_vocab -- a model's vocabulary for samplers that ask for one: copies of all pieces (those of control tokens
   are empty), and the tokens that end a generation. Its tokenize asks llama.cpp, so the model must be there as long:
   without control tokens, but a grammar's <text> may be one.
     Returns  NULL: vocab is NULL, or no memory.   Memory  one block.
   samp_llama_vocab_free -- NULL is fine. */
SAMP_API samp_vocab *samp_llama_vocab(const struct llama_vocab *vocab);
/* NULL is fine. */
SAMP_API void samp_llama_vocab_free(samp_vocab *vocab);
