/* ---- 1. one call --------------------------------------------------------------------------------------------
   From logits to a token: one row, a batch of rows, a draft. Also the memory of a draw, the texts of statuses, the
   version and the instruction set in use. The functions of sections 2 and 3 make samplers and chains. */

/* samp_sample -- draws the next token and accepts it.
     in       logits [n_vocab] f32, read only; 1 <= n_vocab <= SAMP_MAX_VOCAB. s must select a token (usually it is a
              chain whose last sampler does)
     Returns  the token, or SAMP_E_NULL, SAMP_E_EMPTY, SAMP_E_RANGE (n_vocab), SAMP_E_NAN, SAMP_E_NOMEM,
              SAMP_E_UNSUPPORTED (no sampler selects, or one that does not select follows it), or the status that the
              sampler carries.
     State    advances the position by one if the sampler draws random numbers. After an error nothing has changed.
     Memory   at the first call (or samp_reserve) about 29 bytes per token of the vocabulary (41 with a custom sampler)
              and 15 KiB; then none. */
SAMP_API samp_token samp_sample(samp_sampler *s, const float *logits, size_t n_vocab);

/* samp_draw -- the same without accepting the token: mirostat's mu and the random state advance; penalties and dry do
   not see the token. */
SAMP_API samp_token samp_draw(samp_sampler *s, const float *logits, size_t n_vocab);

/* samp_sample_batch -- draws and accepts a token for each of n_rows rows: rows [r] is the chain of row r.
     in       logits: see samp_logits. rows [n_rows]: each chain has its own samplers, order, state and seed. No sampler
              may be there twice, nor a chain together with one of its members.
     out      [n_rows] each row's token or negative status: SAMP_E_NULL (no chain), SAMP_E_RANGE (its row_index, n_top),
              or a status of samp_sample. A row that fails leaves its chain unchanged and does not affect other rows.
     Returns  SAMP_OK, even if rows failed. After other statuses nothing has changed: SAMP_E_NULL; SAMP_E_DTYPE;
              SAMP_E_EMPTY (n_vocab 0); SAMP_E_RANGE (n_vocab, stride, mask_stride, n_threads, data not aligned, a
              sampler twice); SAMP_E_NOMEM.
     Token    the same as samp_sample's for the same row, in any batch, at any index, with any number of threads. Each
              logit is converted to f32 when it is read (f64 is rounded; beyond +-FLT_MAX it becomes an infinity). The
              logit of a masked token does not matter, even if it is NaN.
     Logprobs natural logarithms, l - max - ln (Z / 2^40), the same bits on every machine. The error is at most half a
              unit in the float's last place plus 1e-12 + n 2^-41 for n unmasked tokens, because weights are integers
              (6e-8 for 131,072 tokens; mostly far less). So the last digits of a p near 1 carry no information, and a
              log-probability closer to 0 than that may be 0. "processed": of the candidates from which the chain's
              selector draws, so after mirostat's truncation and of adaptive_p's own logits; greedy removes none.
              Log-probabilities cost three more passes over the row.
     Memory   one workspace per thread (samp_reserve). Chains that have one lend it; if there are too few, other chains
              of the batch get one. Also, at each chain's first token, the memory for samp_rollback. Nothing else.
     Threads  OpenMP, if the implementation is compiled with it: n_threads share the rows. */
SAMP_API int samp_sample_batch(samp_sampler *const *rows, const samp_logits *logits, samp_token *out);

/* samp_verify -- accepts a draft's tokens up to the first that fails, and one more token: samples and accepts row after
     row as long as the sampled token is the draft's.
     in       logits [n + 1 x n_vocab]: row i has the model's logits after i tokens of the draft
     out      [n + 1] the accepted tokens of the draft, then the next token, then -1
     Exact    out has the tokens that samp_sample would give row by row, with any sampler and random source; probs are
              not used.
     Ratio    p is the distribution from which the chain's last sampler draws, q the draft's. The draft's token x is
              accepted if u q(x) < p(x), with u uniform in [0, 1). Otherwise the token is drawn from max(0, p - q), or
              from p if that is 0 everywhere. If the chain selects with greedy or a custom sampler, ratio is the same as
              exact.
     Returns  a, the number of accepted tokens of the draft. If row a (> 0) cannot be sampled, out[a] is its status, and
              the tokens before it are accepted. Negative, and nothing has changed: the status of row 0 (in out[0] too);
              SAMP_E_NULL; SAMP_E_RANGE: a token or id, n_top, method, a probability outside [0, 1]; SAMP_E_NAN: a
              probability; SAMP_E_UNSUPPORTED: ratio with MT19937.
     State    that after a + 1 calls of samp_sample: rejected tokens do not advance the position.
     Draws    Ratio: 128 random bits of a stream of its own at each position, in place of the last sampler's.
     Cost     Ratio: that of samp_apply from the last sampler on; with ids, n_top steps for each candidate besides.
     Source   Leviathan et al. 2023, "Fast inference from transformers via speculative decoding"; vLLM's rejection
              sampler (probs NULL: its n-gram drafts), FlashInfer's chain_speculative_sampling. */
SAMP_API int32_t samp_verify(samp_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                             samp_verify_method method, samp_token *out);

/* samp_reserve -- allocates now the memory that samp_sample and samp_apply need for n_vocab tokens. Returns SAMP_OK,
   SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_NOMEM. */
SAMP_API int samp_reserve(samp_sampler *s, size_t n_vocab);

/* samp_isa_name -- the instruction set in use: "scalar", "generic" (gcc's and clang's vectors of 16 bytes), "sse2",
     "avx2", "avx512", "neon" or "wasm". The library chooses it at the first use. "none": the compiler's flags, or the
     rounding mode, would make tokens wrong, so the library gives none.
   samp_isa_list -- the name of instruction set i = 0, 1, ... of those that are compiled in and work on this machine:
     "scalar" first, the best last, then NULL.
   samp_isa_force -- uses this instruction set from now on, in all threads; NULL: the best one. The tokens are the same.
     Returns  SAMP_OK; SAMP_E_UNSUPPORTED: this build does not know the name, or this CPU or system does not have it. */
SAMP_API const char *samp_isa_name(void);
/* The name of instruction set i of those that work here; NULL behind the last. */
SAMP_API const char *samp_isa_list(int i);
/* Uses this instruction set from now on; NULL: the best one. */
SAMP_API int samp_isa_force(const char *name);

/* samp_strerror -- the text of a status, never NULL.
   samp_error_text -- a sentence for users: the field that samp_status, samp_check_params or samp_settings_set reported
   (or NULL), the status, and for a wrong value of a setting the valid values: "top_p: a value is outside its range: a
   number in (0, 1]". With SAMP_E_FORMAT of a setting "expected" and the valid values replace the status. With
   SAMP_E_UNSUPPORTED the field's reason does: "compiler", "clone", "place" (see samp_chain_add). Writes at most size
   bytes with the final 0; returns the length of the whole text, or SAMP_E_NULL (buf is NULL and size is not 0).
   samp_version -- SAMP_VERSION of the file that was compiled, to compare with that of the declarations. */
SAMP_API const char *samp_strerror(int status);
/* A sentence for users: field, status, valid values. */
SAMP_API int samp_error_text(int status, const char *field, char *buf, size_t size);
/* SAMP_VERSION of the file that was compiled. */
SAMP_API int samp_version(void);
