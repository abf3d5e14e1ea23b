/* ---- 1. one call --------------------------------------------------------------------------------------------
   Functions that turn logits into tokens: for one row (the logits of one sequence), a batch of rows, or a draft. Also
   functions for the memory of a draw, the texts of statuses, the version and the instruction set in use. The functions
   of sections 2 and 3 make samplers and chains. */

/* samp_sample -- draws the next token and accepts it.
     in       logits [n_vocab] f32, which are only read; 1 <= n_vocab <= SAMP_MAX_VOCAB. s must select a token (usually
              s is a chain whose last sampler selects)
     Returns  the token, or SAMP_E_NULL, SAMP_E_EMPTY, SAMP_E_RANGE (n_vocab), SAMP_E_NAN, SAMP_E_NOMEM,
              SAMP_E_UNSUPPORTED (no sampler selects a token, or a sampler that does not select follows the one that
              does), or the status that s carries.
     State    The call advances the position by one if the sampler draws random numbers. After an error nothing has
              changed.
     Memory   The first call (or samp_reserve) allocates about 29 bytes per token of the vocabulary (41 with a custom
              sampler) and 15 KiB; later calls allocate no memory. */
SAMP_API samp_token samp_sample(samp_sampler *s, const float *logits, size_t n_vocab);

/* samp_draw -- draws the next token as samp_sample does, but does not accept it: mirostat's mu and the random state
   advance, but penalties and dry do not take note of the token. */
SAMP_API samp_token samp_draw(samp_sampler *s, const float *logits, size_t n_vocab);

/* What a chain would give a token now: see samp_score. */
typedef struct samp_score_result {
    float raw, processed;   /* its log-probabilities by the model's logits, and in the distribution from which the
                               chain's last sampler would draw; -INFINITY where it is masked or removed */
    int32_t rank;           /* its rank by the model's logits: 1 is the most likely token; ties by id */
    const char *removed_by; /* samp_name of the first sampler that removes it; "mask": its logit is -INFINITY; NULL:
                               it is not removed */
} samp_score_result;

/* What one sampler of a chain leaves: see samp_explain. */
typedef struct samp_explained {
    const char *name; /* samp_name of the sampler */
    size_t n_left;    /* how many tokens are left after it */
    double mass;      /* their share of the model's distribution */
    float p;          /* the token's probability among them; 0: it is removed, or its weight is 0 */
} samp_explained;

/* samp_score -- what the chain would give this token now: why it may not be drawn, and how likely it is if it may.
     in       logits [n_vocab]: as samp_sample; token in 0 .. n_vocab - 1
     out      see samp_score_result; the log-probabilities are those of samp_sample_batch (see there), bit for bit
     State    Nothing is drawn or accepted, no state changes. A custom sampler whose apply changes its own state changes
              it here too.
   samp_explain -- a table with a line for each sampler of the chain that is not off, in order, members of inner chains
     included; the last line is what the sampler that selects leaves.
     out      [n_max] the first n_max lines; may be NULL if n_max is 0. The token's p before a sampler is that of the
              line above it, and before the first line e^raw of samp_score.
     Formula  p = w / Z and mass = sum of w' / Z', where w are the token's weight and Z their sum after the sampler, w'
              and Z' those of the row as given (see samp_sample_batch)
     Returns  both: a status of samp_sample, SAMP_E_NULL: out, SAMP_E_RANGE: token; else samp_score SAMP_OK,
              samp_explain the number of lines that there are. After an error out of samp_explain is unspecified.
     Memory   that of samp_reserve.   Threads  as samp_sample.
     Cost     The samplers go step by step over an array of the whole row: 0.5 to 12 ms for 128,256 tokens. */
SAMP_API int samp_score(samp_sampler *chain, const float *logits, size_t n_vocab, samp_token token,
                        samp_score_result *out);
/* Fills a table of what each sampler of a chain leaves. */
SAMP_API int samp_explain(samp_sampler *chain, const float *logits, size_t n_vocab, samp_token token,
                          samp_explained *out, size_t n_max);

/* samp_sample_batch -- draws and accepts a token for each of n_rows rows: rows [r] is the chain of row r.
     in       logits: see samp_logits. rows [n_rows]: each chain has its own samplers, order, state and seed. No sampler
              may be in `rows` twice, nor a chain together with one of its members.
     out      [n_rows] each row's token or negative status: SAMP_E_NULL (rows [r] is NULL, or what is asked for has no
              memory), SAMP_E_RANGE (the row's row_index, n_vocab_of, n_top, n_ids, or an id outside the row), or a
              status of samp_sample. If a row fails, its chain is unchanged, and other rows are not affected.
     Returns  SAMP_OK, even if rows failed. After other statuses nothing has changed: SAMP_E_NULL; SAMP_E_DTYPE;
              SAMP_E_EMPTY (n_vocab 0); SAMP_E_RANGE (n_vocab, stride, mask_stride, n_threads, data not aligned, a
              sampler twice); SAMP_E_NOMEM.
     Token    Each row's token is the one that samp_sample returns for the same row and its n_vocab, in any batch, at
              any index, with any number of threads. Each logit is converted to f32 when it is read (f64 is rounded; a
              value beyond +-FLT_MAX becomes an infinity). The logit of a token that the mask excludes does not matter,
              even if it is NaN.
     Logprobs Log-probabilities are natural logarithms, l - max - ln (Z / 2^40), with the same bits on every machine.
              Because weights are integers, their error is at most half a unit in the float's last place plus 1e-12 + n
              2^-41 for n unmasked tokens (6e-8 for 131,072 tokens; mostly far less). So the last digits of a p near 1
              carry no information, and a log-probability that is closer to 0 than its error may be 0. The member
              `processed` is about the candidates from which the chain's last sampler draws: with mirostat after its
              truncation, with adaptive_p by the logits that it computes; greedy removes no candidates; where ras draws
              again, they are all of the row's. Log-probabilities cost three more passes over the row.
     Entropy  ln (Z / 2^40) + S / Z, where S is the sum of round(w (max - l)) over the weights w; rounded to float. Its
              error is at most half a unit in the float's last place plus n 2^-35.
     Support  the tokens whose weight round(2^40 e^(l - max)) in `processed` is not 0: these and no others have a
              probability above 0 of being drawn. greedy has one. mass is the sum of their weights in `raw` over its Z:
              its error is at most n 2^-40. Under SAMP_RNG_MT19937 a token with weight 0 may be drawn, with a
              probability below 2^-41 of the most likely one's, although it is not in the support; a custom sampler
              that selects may draw any candidate. A long support costs one more pass over the row.
     Memory   The batch needs one workspace per thread (see samp_reserve), for n_vocab tokens. It uses the workspaces
              that its chains already have; if there are too few, other chains of the batch get one. Also, at each
              chain's first token, the memory for samp_rollback is allocated. No other memory is allocated.
     Threads  If the implementation is compiled with OpenMP, n_threads threads share the rows. */
SAMP_API int samp_sample_batch(samp_sampler *const *rows, const samp_logits *logits, samp_token *out);

/* samp_raw_logprobs -- writes the raw log-probabilities of many rows, without chains: those of a prompt's tokens, for
     example. Of each logits->logprobs [r] it reads and writes the member `raw` only, as samp_sample_batch does, but
     raw.chosen.token is an input: the token whose log-probability and rank are wanted, -1: none is.
     Returns  SAMP_OK; the status of the first row that has one, after all others are written: SAMP_E_NAN, SAMP_E_EMPTY,
              SAMP_E_RANGE (row_index, n_vocab_of, n_top, n_ids, an id, chosen.token), SAMP_E_NULL; or a status of
              samp_sample_batch after which nothing has changed; SAMP_E_NULL: logits, logits->logprobs.
     Memory   about 29 bytes per token of the vocabulary for each thread, allocated and freed by the call.
     Threads  as samp_sample_batch. */
SAMP_API int samp_raw_logprobs(const samp_logits *logits);

/* samp_replay_check -- says where a text is not what a chain draws: an auditor gives the chain (with its seed and
     position), the logits and the tokens. Row after row is drawn and accepted as by samp_sample_batch, until a token is
     not tokens [r].
     in       logits: as samp_sample_batch, but all rows are the chain's, one after another; tokens [n_rows]
     Returns  the index of the first row whose draw is another token; n_rows: there is none; or the status of a row that
              cannot be drawn, or of the call (see samp_sample_batch).
     State    The chain moves as if it had drawn the rows up to that one: it has accepted its own token of that row.
     Threads  as samp_sample; n_threads is not used. */
SAMP_API int64_t samp_replay_check(samp_sampler *chain, const samp_logits *logits, const samp_token *tokens);

/* samp_verify -- accepts a draft's tokens up to the first that fails its test, and one more token. It samples and
   accepts row after row as long as the sampled token is the next token of the draft.
     in       logits [n + 1 x n_vocab]: row i has the model's logits after i tokens of the draft
     out      [n + 1] the accepted tokens of the draft, then the next token, then -1
     Exact    With the exact method, out has the tokens that samp_sample would return row by row, with any sampler and
              random source; the draft's probs are not read.
     Ratio    With the ratio method, let p be the distribution from which the chain's last sampler draws, and q the one
              from which the draft was drawn. The draft's token x is accepted if u q(x) < p(x), with u uniform in [0,
              1). Otherwise the row's token is drawn from max(0, p - q), or from p if max(0, p - q) is 0 everywhere. If
              the sampler that selects is greedy or a custom sampler, the ratio method does the same as the exact one.
     Returns  a, the number of accepted tokens of the draft. If row a (> 0) cannot be sampled, out[a] is its status, and
              the tokens before it are accepted. After the following negative results nothing has changed: the status of
              row 0 (in out[0] too); SAMP_E_NULL; SAMP_E_RANGE: a token or id, n_top, method, or a probability outside
              [0, 1]; SAMP_E_NAN: a probability; SAMP_E_UNSUPPORTED: the ratio method with MT19937 or samp_init_ras.
     State    The chain's state is that after a + 1 calls of samp_sample: rejected tokens do not advance the position.
     Draws    The ratio method draws 128 random bits at each position from a random stream of its own, in place of the
              bits that the last sampler would draw.
     Cost     The ratio method costs for each row as much as samp_apply of the last sampler to the array of candidates;
              with ids, it also takes n_top steps for each candidate.
     Source   Leviathan et al. 2023, "Fast inference from transformers via speculative decoding"; vLLM's rejection
              sampler (probs NULL: its n-gram drafts), FlashInfer's chain_speculative_sampling. */
SAMP_API int32_t samp_verify(samp_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                             samp_verify_method method, samp_token *out);

/* samp_reserve -- allocates now the memory that samp_sample and samp_apply need for n_vocab tokens. Returns SAMP_OK,
   SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_NOMEM. */
SAMP_API int samp_reserve(samp_sampler *s, size_t n_vocab);

/* samp_guide -- classifier-free guidance: combines the logits of a model with the prompt (cond) and without it, or
     with a negative prompt (uncond), to one row, which samp_sample then samples.
     Formula  out = u + scale (c - u), where c and u are the log-softmax of cond and uncond (l - ln of the sum of
              e^l). With scale 1 the result is c; above 1 it is further from uncond. A token that is masked
              (-INFINITY) in cond stays masked; a token that is masked in uncond alone gets c. What would overflow is
              +-FLT_MAX.
     in       cond [n], uncond [n]: n in 1 .. SAMP_MAX_VOCAB; scale: any finite number; 1.5 is usual
     out      [n] may be cond or uncond, but must not overlap them otherwise
     Bits     The sums are those of samp_init_log_softmax, c and u doubles, and out is rounded once; the result is
              the same on every machine.
     Returns  SAMP_OK; SAMP_E_NULL; SAMP_E_EMPTY: n is 0, or a row is masked entirely; SAMP_E_RANGE: n; SAMP_E_NAN:
              scale, or a NaN or +infinity in a row; SAMP_E_UNSUPPORTED (see samp_isa_name). After an error out is
              unchanged.
     Memory   none.   Threads  any.
     Source   transformers' UnbatchedClassifierFreeGuidanceLogitsProcessor (guidance_scale); Sanchez et al. 2023,
              "Stay on topic with Classifier-Free Guidance" (arXiv 2306.17806). */
SAMP_API int samp_guide(const float *cond, const float *uncond, size_t n, float scale, float *out);

/* samp_isa_name -- returns the name of the instruction set in use: "scalar", "generic" (gcc's and clang's vectors of 16
     bytes), "sse2", "avx2", "avx512", "neon" or "wasm". The library chooses it at the first use. "none" means that the
     compiler's flags, or the rounding mode, would make tokens wrong, so that all samplers carry an error.
   samp_isa_list -- returns the name of instruction set i = 0, 1, ... of those that are compiled in and work on this
     machine: "scalar" is the first, the best one the last; for any other i the result is NULL.
   samp_isa_force -- makes all threads use the named instruction set from now on; NULL: the best one. The tokens do not
     change.
     Returns  SAMP_OK; SAMP_E_UNSUPPORTED: this build does not know the name, or this CPU or system does not have the
              instruction set. */
SAMP_API const char *samp_isa_name(void);
/* Returns the name of instruction set i of those that work on this machine; NULL if there is none. */
SAMP_API const char *samp_isa_list(int i);
/* Makes all threads use the named instruction set from now on; NULL: the best one. */
SAMP_API int samp_isa_force(const char *name);

/* samp_strerror -- returns the text of a status, never NULL.
   samp_error_text -- writes an error as a sentence for users: the field that samp_status, samp_check_params or
   samp_settings_set reported (or NULL), the text of the status, and, if a setting's value is wrong, the valid values:
   "top_p: a value is outside its range: a number in (0, 1]". If the status is SAMP_E_FORMAT and the field a setting,
   the word "expected" and the valid values replace the text of the status. If the status is SAMP_E_UNSUPPORTED, the
   reason replaces it for the fields "compiler", "clone" and "place" (see samp_chain_add), and the words "not supported
   here" replace it for any other field. If it is SAMP_E_RANGE, the reasons replace it for the field "grammar", and for
   "token", with which a program shows that samp_accept has refused a token. The function writes at most size bytes
   with the final 0; it returns the length of the whole text, or SAMP_E_NULL (buf is NULL and size is not 0).
   samp_params_error_text -- checks parameters as samp_check_params does, and writes such a sentence, which also names
   the bad token of logit_bias and its limit, or the word of an order that names no sampler: "logit_bias: token 50000 is
   outside its range: a whole number in [0, 31999]"; "ok" if the parameters are good.
   samp_logits_error_text -- writes why no token can be drawn from row `row` of a batch's logits: "logit 17 is NaN",
   "logit 17 is +infinity" (the first such logit that is not masked), "all 32000 tokens are masked", or the text of a
   status of the whole call; "ok" if the row is good. For samp_sample, fill data, n_rows (1) and n_vocab of a zeroed
   samp_logits. Both functions return as samp_error_text does; SAMP_E_NULL also if logits is NULL.
   samp_version -- returns the SAMP_VERSION of the file that was compiled with SAMPLING_IMPLEMENTATION, to compare with
   the SAMP_VERSION of the declarations. */
SAMP_API const char *samp_strerror(int status);
/* Writes an error as a sentence for users: field, status, valid values. */
SAMP_API int samp_error_text(int status, const char *field, char *buf, size_t size);
/* Checks parameters, and writes what is wrong with them as a sentence for users. */
SAMP_API int samp_params_error_text(const samp_params *params, char *buf, size_t size);
/* Writes why no token can be drawn from a row of logits. */
SAMP_API int samp_logits_error_text(const samp_logits *logits, size_t row, char *buf, size_t size);
/* Returns the SAMP_VERSION of the file that was compiled with SAMPLING_IMPLEMENTATION. */
SAMP_API int samp_version(void);
