/* ---- 2. chains ----------------------------------------------------------------------------------------------
   The usual chain from parameters, parameters by name (samp_settings), a vocabulary from a list, a chain put together
   by hand; then what a sampler of any kind can be asked or told: its status, text, seed, position, accepted tokens,
   counts, rollback and saved state. */

/* samp_default_params -- the values in samp_params' comments: llama.cpp's defaults, with seed 0.
   samp_plain_params -- to begin with where other programs come from: nothing is cut, temp 1, and the order is that of
     most of them: penalties, then the temperature, then what cuts, all that an order can name but infill and
     log_softmax. So a member that is set takes effect, and the rest stays off. */
SAMP_API samp_params samp_default_params(void);
/* All off but the temperature, which comes first. */
SAMP_API samp_params samp_plain_params(void);

/* samp_check_params -- SAMP_OK, or why not: SAMP_E_RANGE, SAMP_E_NAN, SAMP_E_NULL, of "grammar" also the status that it
   carries; *field (may be NULL) names the member. */
SAMP_API int samp_check_params(const samp_params *params, const char **field);

/* samp_chain_from_params -- build the chain that the parameters describe.
     Order    grammar, logit_bias, then params->order, then what selects. The default order is
              "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature" (with tfs_z behind top_k and top_a,
              p_less, p_less_norm, epsilon_cutoff, eta_cutoff, top_h, min_k behind min_p, smoothing_factor at the end
              if they are on). An order may name tail_free ("tfs_z") and those too, may repeat or leave out any, and
              may be letters: e penalties, d dry, s top_n_sigma, k top_k, f tail_free, y typ_p, p top_p, m min_p, a
              top_a, l p_less, o p_less_norm, c epsilon_cutoff, h eta_cutoff, b top_h, g min_k, x xtc, i infill (which
              needs params->vocab), t temperature, q smoothing_factor, n log_softmax (only there where it is named). ""
              is an empty order: no truncation, no temperature.
     Selects  dist; greedy if temp is 0; adaptive_p if adaptive_target >= 0.
     Mirostat replaces all of that by grammar, logit_bias, temp, mirostat (as llama.cpp does).
     Grammar  params->grammar is a sampler that masks, samp_init_grammar's or one of your own; what selects is
              SAMP_E_RANGE. The chain owns it from now on; on failure it is freed. One that is in a chain already stays
              there, and is SAMP_E_RANGE: each chain has its own (samp_clone).
     Returns  the chain, carrying the error if a parameter is bad (samp_status tells); NULL: no memory.
              *status (may be NULL) gets the same. Free with samp_free. */
SAMP_API samp_sampler *samp_chain_from_params(const samp_params *params, int *status);

/* Orders for samp_params: llama.cpp's, which NULL stands for, and that of most servers (Hugging Face, vLLM): the
   temperature before the truncations, so that top_p and its kin look at the distribution that is drawn from. */
#define SAMP_ORDER_LLAMA     "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature"
#define SAMP_ORDER_CANONICAL "penalties;dry;temperature;top_n_sigma;top_k;typ_p;top_p;min_p;xtc"

/* samp_chain_update -- give a chain of samp_chain_from_params other parameters, between two tokens, and keep what it
   has seen.
     Keeps    the position, samp_prev, the windows of penalties and dry (or samp_prev, where that goes back further: if
              they were off, or shorter), mirostat's mu, adaptive_p's average, the state of MT19937 (if the seed stays,
              and the sampler: not that of dist while temp is 0); in a chain, the random source of that one. All else is
              as in a new chain, the seed too. Pointers to members that parameters have made are no longer good.
     By hand  what the parameters of this chain or another have not made stays, the same sampler with its state: in
              front of all that parameters make, behind all of it, or directly in front of what selects; else behind
              the sampler of the kind that it stood behind, wherever that is now (if it is gone, behind the nearest
              before it).
     Grammar  with NULL, or a member of the chain, all stays (samp_chain_remove takes a grammar out). Another one takes
              the place of the one that parameters gave, which is freed, or stands first. It begins with the next token.
              Taken over as by samp_chain_from_params, on failure too: then set the member to NULL.
     Returns  SAMP_OK. Else nothing has changed: SAMP_E_NULL, SAMP_E_NOMEM, SAMP_E_RANGE (not a chain), what
              samp_check_params says of the parameters, or what the chain carries; SAMP_E_UNSUPPORTED: what was added by
              hand can't stay, since something would stand behind a sampler that selects (samp_chain_add), as in a
              chain that is made by hand altogether. Allocates. */
SAMP_API int samp_chain_update(samp_sampler *chain, const samp_params *params);

/* samp_batch_from_params -- the chains of a batch from the parameters of its requests.
     in, out  rows [n_rows]: where there is NULL a chain is built, the others are updated (samp_chain_update). Rows that
              join, leave or move are pointers to set: free and NULL, or copy. To leave a row alone, leave it out.
     in       params [n_rows]; each one's grammar is for its row alone, and may stay set from call to call
     out      status [n_rows], may be NULL: of each row. A row that failed is what it was, NULL for instance.
     Returns  SAMP_OK, or the first row's status that is not. */
SAMP_API int samp_batch_from_params(samp_sampler **rows, const samp_params *params, size_t n_rows, int *status);

/* samp_settings_new -- samp_default_params() to be changed by name and text, for who can't or won't know the struct:
   bindings, command lines, files of settings. It owns all that its members point to. NULL: no memory.
   samp_settings_free takes NULL. One thread at a time.
   samp_settings_params -- read it as samp_params: for samp_check_params, samp_chain_from_params and all others. Never
   NULL but of NULL; what it points to changes with the next call that sets. */
SAMP_API samp_settings *samp_settings_new(void);
/* NULL is fine. */
SAMP_API void samp_settings_free(samp_settings *settings);
/* Read the settings as samp_params. */
SAMP_API const samp_params *samp_settings_params(const samp_settings *settings);

/* samp_settings_set -- give a member of samp_params the value that a text says. Text is what the C locale would have;
   nothing may stand before or behind it, blanks neither. A value of NULL is the default.
     name     the member's: "top_k", "dry_base"; or a sampler's, as in an order, for its first number: "temperature"
              (temp), "typical" (typ_p), "xtc" (xtc_probability), "dry" (dry_multiplier), "penalties" (penalty_last_n)
     value    "40", "-1": whole numbers. "0.95", "1e-3" (a bias: "-inf"): rounded to the nearest float, ties to even.
              rng: "philox" or "mt19937" (SAMP_E_UNSUPPORTED under SAMP_NO_MT19937). order: copied.
              logit_bias: token and bias, "15043+1", "15043-inf", with commas between if there are more;
              dry_breakers: one breaker, as it is, or "none": no breaker at all. Both add to what is there (the first
              breaker takes the defaults' place), like llama-cli's repeated options: begin with NULL to begin anew.
     Returns  SAMP_OK; SAMP_E_NULL: settings or name; SAMP_E_NAME: no such name, or not to be set by text (vocab;
              n_logit_bias, which counts by itself); SAMP_E_FORMAT: not a text of this kind; SAMP_E_RANGE: too large for
              the member's type, too small a float not to be 0, an empty breaker, another word for rng; SAMP_E_NOMEM.
              *field (may be NULL) is the member's name, or `name` itself where it is unknown; NULL with SAMP_OK. After
              an error nothing has changed. If the value is good for a sampler, samp_check_params tells, as ever.
     Memory   order and the two lists are copied; each copy is one block. */
SAMP_API int samp_settings_set(samp_settings *settings, const char *name, const char *value, const char **field);

/* samp_settings_get -- a value as a text that samp_settings_set reads back to the same.
   samp_settings_takes -- which values a name takes, for a user to read: "a number in (0, 1]"; of order all names.
     out      buf [size]: the text, cut if need be, always with a final 0 (size 0: nothing, buf may be NULL)
     Returns  the text's length without the 0; SAMP_E_NULL; SAMP_E_NAME: no such name; SAMP_E_UNSUPPORTED: get of a
              list, or of an order that is NULL. */
SAMP_API int samp_settings_get(const samp_settings *settings, const char *name, char *buf, size_t size);
/* Which values a name takes, for a user to read. */
SAMP_API int samp_settings_takes(const char *name, char *buf, size_t size);

/* samp_settings_set_vocab -- give the settings a vocabulary of their own, of n_vocab tokens, which dry needs for its
   breakers; samp_vocab tells of the function and of user. The member n_vocab becomes the same. Chains made from these
   settings may ask it: free the settings last. SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE (n_vocab < 0). */
SAMP_API int samp_settings_set_vocab(samp_settings *settings, int32_t n_vocab,
                                     const char *(*token_bytes)(const samp_vocab *vocab, samp_token token,
                                                                size_t *n_bytes),
                                     void *user);

/* samp_settings_use_vocab -- give the settings a vocabulary, for dry and infill. It is borrowed, by chains made from
   these settings too, which then need the settings no more; the member n_vocab becomes its own. NULL: no vocabulary,
   and n_vocab stays. SAMP_OK, SAMP_E_NULL (settings), SAMP_E_RANGE (n_vocab < 0).
   samp_vocab_init -- make a vocabulary from a list of its tokens' bytes, for who has no function to ask: bindings, say.
     in       bytes: those of all tokens, one behind the other; n_bytes [n_vocab]: how many each has, 0 for control
              tokens. eog [n_eog], eos, eot: see samp_vocab.
     Returns  the vocabulary, which has copies of all; NULL on error, *status (may be NULL): SAMP_E_NULL (n_bytes, or
              what bytes or eog would need), SAMP_E_RANGE (n_vocab < 0 or > SAMP_MAX_VOCAB, 2^31 bytes or more, eog: not
              a token; eos, eot: neither a token nor -1), SAMP_E_NOMEM.
     Memory   one block.   Threads  it never changes: any number of samplers may ask it at once. It must outlive them.
   samp_vocab_free -- free one that samp_vocab_init made; NULL is fine. */
SAMP_API int samp_settings_use_vocab(samp_settings *settings, const samp_vocab *vocab);
/* A vocabulary from a list of its tokens' bytes. */
SAMP_API samp_vocab *samp_vocab_init(const char *bytes, const uint32_t *n_bytes, int32_t n_vocab,
                                     const samp_token *eog, size_t n_eog, samp_token eos, samp_token eot,
                                     int *status);
/* Free one that samp_vocab_init made; NULL is fine. */
SAMP_API void samp_vocab_free(samp_vocab *vocab);

/* samp_chain_init -- an empty chain. */
SAMP_API samp_sampler *samp_chain_init(void);

/* samp_chain_add -- put a sampler at the end.   samp_chain_insert -- at place i, 0 .. samp_chain_n: in front of the one
   that is there now. The chain owns it from now on, on failure too.
     Returns  the sampler's own status if it carries an error (it stays in the chain, which then carries the error too);
              else SAMP_OK; SAMP_E_RANGE: s is in a chain already, or contains this one, and nothing has changed; or
              this is no chain, and s is freed, as where it is NULL.
              With these s is freed, the chain lacks a sampler, and carries the error from now on: SAMP_E_NULL,
              SAMP_E_NOMEM of "sampler"; SAMP_E_RANGE of "i"; SAMP_E_UNSUPPORTED of "place": behind a sampler that
              selects, nothing else having ended the selection, a grammar, a built-in sampler that is on and does not
              select, or a chain that ends with such a one. A draw would fail, or not heed it: put it in front, with
              samp_chain_insert. Under MT19937, where a selection stays as in llama.cpp, only grammars are refused. */
SAMP_API int samp_chain_add(samp_sampler *chain, samp_sampler *s);
/* Add a sampler at place i. */
SAMP_API int samp_chain_insert(samp_sampler *chain, int32_t i, samp_sampler *s);

/* samp_chain_get -- lend sampler i (0 .. n - 1); NULL if there is none.   samp_chain_n -- how many.
   samp_chain_remove -- take sampler i out; the caller owns it now. Its random source stays as the chain had set it,
   until another chain takes it. */
SAMP_API samp_sampler *samp_chain_get(const samp_sampler *chain, int32_t i);
/* How many samplers a chain has. */
SAMP_API int32_t samp_chain_n(const samp_sampler *chain);
/* Take sampler i out of a chain; it is yours then. */
SAMP_API samp_sampler *samp_chain_remove(samp_sampler *chain, int32_t i);

/* samp_status -- the error that a sampler carries from its making, or SAMP_OK; *field (may be NULL) names the
   parameter, as in samp_params. A chain carries the first error of its members. */
SAMP_API int samp_status(const samp_sampler *s, const char **field);

/* samp_set_rng -- choose the random source (and with MT19937 llama.cpp's arithmetic) of a sampler and all its members.
   Starts the source at the seed, and mirostat's mu if it has overflowed in that arithmetic. SAMP_OK, SAMP_E_NULL,
   SAMP_E_RANGE; SAMP_E_UNSUPPORTED: MT19937 under SAMP_NO_MT19937. Members added later are set to their chain's
   kind. */
SAMP_API int samp_set_rng(samp_sampler *s, samp_rng_kind kind);

/* samp_get_seed -- the seed of the last sampler that draws random numbers, 0 if none does; what is off does not. */
SAMP_API uint64_t samp_get_seed(const samp_sampler *s);

/* samp_child_seed -- the seed of sample i of several from one request: the first 64 bits of Philox at (i, all ones, 0)
   under the request's seed, where no draw takes any. Seeds of different i, or of different requests, are as independent
   as random ones: two of them are equal with a chance of 2^-64. Sample 0 has another seed than the request. */
SAMP_API uint64_t samp_child_seed(uint64_t seed, uint64_t i);

/* samp_get_position, samp_set_position -- the number of the next draw. A chain keeps it for its members; a sampler
   outside of a chain keeps its own. Moves by one with each successful samp_sample, samp_draw or samp_apply of a
   sampler that draws (even if it had no choice), not with samp_accept. Only SAMP_RNG_PHILOX uses it. */
SAMP_API uint64_t samp_get_position(const samp_sampler *s);
/* Set the number of the next draw. */
SAMP_API int samp_set_position(samp_sampler *s, uint64_t position);

/* samp_prev -- copy the last accepted tokens of a chain, at most n, the oldest first; returns how many.
   samp_last -- the last accepted token, or SAMP_E_EMPTY.
   samp_set_n_prev -- keep the last n tokens (64 unless told; 0 .. 2^20); forgets those seen so far. Allocates. */
SAMP_API size_t samp_prev(const samp_sampler *chain, samp_token *out, size_t n);
/* The last accepted token, or SAMP_E_EMPTY. */
SAMP_API samp_token samp_last(const samp_sampler *chain);
/* Keep the last n tokens for samp_prev. */
SAMP_API int samp_set_n_prev(samp_sampler *chain, size_t n);

/* samp_rollback -- take back the last n accepted tokens, as if they had never been drawn: for drafts, rewinds, bans.
     State    of s and all its members (position, mt19937, windows, mu, averages, samp_prev): what it was before the
              draw that gave the first of these tokens; before its samp_accept, if nothing was drawn since the token
              before it. Draws that no token was accepted behind are taken back too, with n = 0 only these. samp_perf's
              counts stay.
     Tokens   each samp_accept that succeeds is one, of a prompt too, and each token of samp_sample, of a batch, of
              samp_verify. Of samp_grammar_sample chain and grammar have one each.
     Kept     are the last 64, or as many as samp_set_rollback said. All are forgotten when s is changed in another way:
              by samp_reset, samp_state_load, samp_set_..., samp_chain_..., or by what is done to a member itself. A
              clone has what its original has; a saved state has none. Members keep none, their chain does.
     Custom   samplers with an accept need a rollback (samp_sampler_i). They go back first, as one may refuse; those
              before it then accept the tokens again.
     Returns  SAMP_OK; SAMP_E_NULL; SAMP_E_RANGE: n < 0, or more than are kept; SAMP_E_UNSUPPORTED: a custom sampler
              can't; or the status that one returns, or that s carries; SAMP_E_NOMEM (grammars). After an error
              nothing has changed, but custom samplers before the one that refused where samp_prev has fewer tokens.
     Memory   none, but grammars'.   Cost  O(n), for penalties n times what samp_accept costs.
   samp_rollback_depth -- how many tokens it could take back now: 0 where a custom sampler with an accept has no
     rollback, of a grammar no more than that keeps; or SAMP_E_NULL, or the status that s carries.
   samp_set_rollback -- keep the last `depth` tokens from now on, 0 .. 2^20; forgets those kept so far. 0: nothing is
     kept, so no draw can be taken back either. SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_NOMEM (nothing has changed).
     Memory   for each token 12 bytes (a lone sampler 8, without draws 4), and in a chain 4 for penalties, dry's 12,
              adaptive_p's 16, 4 for each mirostat, each chain in it and each mt19937; grammars' more. It is taken here,
              by samp_reserve, or with the first token; if there is none left then, nothing is kept. What has no state
              needs none. */
SAMP_API int samp_rollback(samp_sampler *s, int32_t n);
/* Keep the last `depth` tokens for samp_rollback. */
SAMP_API int samp_set_rollback(samp_sampler *s, int32_t depth);
/* How many tokens samp_rollback could take back now. */
SAMP_API int32_t samp_rollback_depth(const samp_sampler *s);

/* samp_state_save, samp_state_load -- what a sampler has become, as bytes, to go on with elsewhere: position, mt19937,
   the accepted tokens that penalties, dry and samp_prev look at, mirostat's mu, adaptive_p's averages and pending
   selection; of a chain, its own and all its members'. Not samp_perf's counts, and not the settings: load into a
   sampler made and set up as the saved one was (kinds, order, parameters, breakers, seeds, random source,
   samp_set_n_prev).
   samp_state_size -- how many bytes samp_state_save writes now; 0 where it would fail.
     bytes    [size]; save needs size >= samp_state_size(s) and writes that many, load needs exactly these. The same
              state is the same bytes on every machine.
     Custom   samplers: with a ctx of NULL there is nothing to keep; else SAMP_E_UNSUPPORTED.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_UNSUPPORTED, or the status that s carries. Save: SAMP_E_WORKSPACE if size is
              too small. Load: SAMP_E_FORMAT if the bytes are damaged (a checksum tells, which finds accidents, not
              forgery), too few or too many, of another version, or of a sampler with other settings; SAMP_E_NOMEM;
              SAMP_E_FULL: a grammar's limits are too narrow for its text. After an error nothing has changed.
     Memory   none, but to load a grammar's.   Cost  O(bytes). */
SAMP_API size_t samp_state_size(const samp_sampler *s);
/* Write what a sampler has become, samp_state_size bytes. */
SAMP_API int samp_state_save(const samp_sampler *s, void *bytes, size_t size);
/* Go on from such bytes. */
SAMP_API int samp_state_load(samp_sampler *s, const void *bytes, size_t size);

/* samp_perf -- counts and time of samp_sample and samp_draw on this sampler.   samp_perf_reset -- back to zero. */
SAMP_API samp_perf_data samp_perf(const samp_sampler *s);
/* The counts back to zero. */
SAMP_API void samp_perf_reset(samp_sampler *s);

/* samp_describe -- the chain as text: "logits -> logit-bias(n=2) -> ?penalties(last_n=64, ...) -> ... -> dist(seed=1)";
   '?' marks a sampler whose values switch it off. Like snprintf: writes at most size bytes with the final 0, returns
   the length that the whole text has, or SAMP_E_NULL. */
SAMP_API int samp_describe(const samp_sampler *s, char *buf, size_t size);
