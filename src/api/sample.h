/* ---- 1. one call --------------------------------------------------------------------------------------------
   From logits to a token: one row, a batch of rows, a draft. Also the memory of a draw, the texts of statuses, the
   version and the instruction set in use. The samplers or chains are made by the functions of sections 2 and 3. */

/* samp_sample -- draw the next token and accept it.
     in       logits [n_vocab] f32, read only; 1 <= n_vocab <= SAMP_MAX_VOCAB; s selects (it is usually a chain)
     Returns  the token, or SAMP_E_NULL, SAMP_E_EMPTY, SAMP_E_RANGE (n_vocab), SAMP_E_NAN, SAMP_E_NOMEM,
              SAMP_E_UNSUPPORTED (none selects, or one behind it does not), or the status that the sampler carries.
     State    moves the position by one if the sampler draws random numbers. After an error nothing has changed.
     Memory   about 29 bytes per token of the vocabulary (41 with a custom sampler) and 15 KiB, at the first call
              (samp_reserve); then none. */
SAMP_API samp_token samp_sample(samp_sampler *s, const float *logits, size_t n_vocab);

/* samp_draw -- the same without accepting: mirostat's and the random state move, penalties and dry do not see the
   token. */
SAMP_API samp_token samp_draw(samp_sampler *s, const float *logits, size_t n_vocab);

/* samp_sample_batch -- draw and accept a token for each of n_rows rows: row r of the batch by the chain rows [r].
     in       logits: see samp_logits. rows [n_rows]: each its own samplers, order, state and seed; no sampler twice,
              and no chain with one of its members.
     out      [n_rows] the tokens, or a row's negative status, which leaves its chain as it was and no other row
              touched: SAMP_E_NULL (no chain), SAMP_E_RANGE (its index, n_top), and what samp_sample returns.
     Returns  SAMP_OK, even if rows failed. Else nothing was done: SAMP_E_NULL; SAMP_E_DTYPE; SAMP_E_EMPTY (n_vocab 0);
              SAMP_E_RANGE (n_vocab, stride, mask_stride, n_threads, data not aligned, a sampler twice); SAMP_E_NOMEM.
     Token    the same as samp_sample's for the same row, in any batch, at any place, with any number of threads. A
              dtype is converted as it is read (f64 rounded to f32; beyond +-FLT_MAX that is an infinity); of a masked
              token not even a NaN matters.
     Logprobs natural logarithms, l - max - ln (Z / 2^40), the same bits everywhere. They are off by half a unit of the
              float's last place, and as weights are whole numbers by 1e-12 + n 2^-41 with n unmasked tokens, at most
              (6e-8 of 131,072; mostly far less): the last places of a p near 1 tell nothing, and what is nearer to 1
              than that may be 0. "processed" are those of the candidates as the chain leaves them, so behind
              mirostat's truncation, and of adaptive_p's own logits; greedy leaves them all. They cost three more
              passes over the row.
     Memory   a workspace per thread (samp_reserve), taken from chains that have one; when there are too few, other
              chains of the batch get theirs; and for each chain's first token, what samp_rollback needs. Nothing else.
     Threads  OpenMP, if the implementation is compiled with it: the rows are shared out among n_threads. */
SAMP_API int samp_sample_batch(samp_sampler *const *rows, const samp_logits *logits, samp_token *out);

/* samp_verify -- how much of a draft is right? Samples and accepts row after row, as long as the draft's token comes
   out; then one token more.
     in       logits [n + 1 x n_vocab]: row i is what the model says behind i tokens of the draft
     out      [n + 1] the tokens of the draft that are accepted, then the next one; then -1
     Exact    out is what samp_sample would give row by row, with any sampler and random source; probs are not used.
     Ratio    with p what the chain leaves its last sampler to draw from, and q the draft's: accept the draft's token x
              if u q(x) < p(x), u uniform in [0, 1), else draw from max(0, p - q), or from p where that is 0 everywhere.
              If the chain selects with greedy or a custom sampler it is the same as exact.
     Returns  how many are accepted, a. If row a (> 0) can't be sampled, out[a] is its status, the tokens before count.
              Negative, and nothing has changed: the status of row 0 (in out[0] too); SAMP_E_NULL; SAMP_E_RANGE: a token
              or id, n_top, method, a probability outside [0, 1]; SAMP_E_NAN: a probability; SAMP_E_UNSUPPORTED: ratio
              with MT19937.
     State    that of a + 1 samp_sample calls: positions of rejected tokens are not used up.
     Draws    Ratio: 128 bits of its own kind at each position, instead of the last sampler's.
     Cost     Ratio: as samp_apply from the last sampler on; with ids, n_top steps for each candidate then.
     Source   Leviathan et al. 2023, "Fast inference from transformers via speculative decoding"; vLLM's rejection
              sampler (a certain token: its n-gram drafts), FlashInfer's chain_speculative_sampling. */
SAMP_API int32_t samp_verify(samp_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                             samp_verify_method method, samp_token *out);

/* samp_reserve -- take now the memory that samp_sample and samp_apply need for n_vocab tokens. SAMP_OK, SAMP_E_NULL,
   SAMP_E_RANGE, SAMP_E_NOMEM. */
SAMP_API int samp_reserve(samp_sampler *s, size_t n_vocab);

/* samp_isa_name -- the instruction set in use: "scalar", "generic" (vectors of 16 bytes, as gcc and clang have them),
     "sse2", "avx2", "avx512", "neon" or "wasm"; chosen at the first use. "none": as compiled, or with this rounding,
     tokens would be wrong, so there are none.
   samp_isa_list -- the name of number i, 0 and up, of those that work here: "scalar" first, the best one last, NULL
     behind it.
   samp_isa_force -- use that one from now on, in all threads; NULL: the best one again. The tokens are the same.
     Returns  SAMP_OK; SAMP_E_UNSUPPORTED: unknown here, or this CPU or system doesn't have it. */
SAMP_API const char *samp_isa_name(void);
/* Name i of the instruction sets that work here; NULL behind the last. */
SAMP_API const char *samp_isa_list(int i);
/* Use that instruction set from now on; NULL: the best one. */
SAMP_API int samp_isa_force(const char *name);

/* samp_strerror -- the text of a status, never NULL.
   samp_error_text -- the same for a user to read: with the field that samp_status, samp_check_params or
     samp_settings_set has named (or NULL), and what it may be where samp_settings_takes knows that: "top_p: a value is
     outside its range: a number in (0, 1]". What lies behind a SAMP_E_UNSUPPORTED the field tells: "compiler", "clone",
     "place" (see samp_chain_add). Writes at most size bytes with the final 0, returns the length of the whole text, or
     SAMP_E_NULL (buf, if size is not 0).
   samp_version -- SAMP_VERSION of the file that was compiled, to compare with that of the declarations. */
SAMP_API const char *samp_strerror(int status);
/* What is wrong, for a user to read. */
SAMP_API int samp_error_text(int status, const char *field, char *buf, size_t size);
/* SAMP_VERSION of the file that was compiled. */
SAMP_API int samp_version(void);
