/* ---- 2. chains ----------------------------------------------------------------------------------------------
   The usual chain from parameters, parameters by name (samp_settings), a vocabulary from a list, and a chain made by
   hand. Then functions for any sampler: its status, text, seed, position, accepted tokens, counts, rollback and saved
   state. */

/* samp_default_params -- the values in samp_params' comments: llama.cpp's defaults, with seed 0.
   samp_plain_params -- the start for settings from other programs: nothing is cut, temp is 1, and the order is that of
     most programs: penalties, then the temperature, then the truncations. The order names all samplers except infill
     and log_softmax. So each member that you set takes effect, and the others stay off. */
SAMP_API samp_params samp_default_params(void);
/* All samplers off; temp 1, before the truncations. */
SAMP_API samp_params samp_plain_params(void);

/* samp_check_params -- checks the parameters, also those of samplers that the order leaves out (but what mirostat 1 or
   infill needs only if it is used). Returns SAMP_OK, SAMP_E_RANGE, SAMP_E_NAN, SAMP_E_NULL, SAMP_E_UNSUPPORTED
   (MT19937 under SAMP_NO_MT19937), or the status that the grammar carries. *field (may be NULL) gets the member's
   name. */
SAMP_API int samp_check_params(const samp_params *params, const char **field);

/* samp_chain_from_params -- builds the chain that the parameters describe.
     Order    grammar, logit_bias, then params->order, then the selector. The default order is
              "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature". Samplers that are on are added to it:
              tfs_z after top_k; top_a, p_less, p_less_norm, epsilon_cutoff, eta_cutoff, top_h, min_k after min_p;
              smoothing_factor at the end. An order of yours may name all of these, and may repeat samplers or leave
              them out. It may be written in letters: e penalties, d dry, s top_n_sigma, k top_k, f tail_free ("tfs_z"),
              y typ_p, p top_p, m min_p, a top_a, l p_less, o p_less_norm, c epsilon_cutoff, h eta_cutoff, b top_h, g
              min_k, x xtc, i infill (needs params->vocab), t temperature, q smoothing_factor, n log_softmax. infill and
              log_softmax run only if the order names them. "" is an empty order: no truncation, no temperature.
     Selector dist; greedy if temp is 0; adaptive_p if adaptive_target >= 0.
     Mirostat the chain is grammar, logit_bias, temp, mirostat, and nothing else (as in llama.cpp).
     Grammar  params->grammar is a sampler that masks: samp_init_grammar's or one of your own. A sampler that selects is
              SAMP_E_RANGE. The chain owns the grammar from now on; on failure it is freed. A grammar that is in a chain
              already is SAMP_E_RANGE and stays there: each chain needs its own (samp_clone).
     Returns  the chain; if a parameter is bad the chain carries the error (samp_status). NULL: no memory. *status (may
              be NULL) gets the status. Free the chain with samp_free. */
SAMP_API samp_sampler *samp_chain_from_params(const samp_params *params, int *status);

/* Orders for samp_params. LLAMA: llama.cpp's, the default (NULL). CANONICAL: that of most servers (Hugging Face, vLLM),
   with the temperature before the truncations, so that top_p and others cut the distribution that is drawn from. */
#define SAMP_ORDER_LLAMA     "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature"
#define SAMP_ORDER_CANONICAL "penalties;dry;temperature;top_n_sigma;top_k;typ_p;top_p;min_p;xtc"

/* samp_chain_update -- gives a chain of samp_chain_from_params new parameters between two tokens, and keeps its state.
     Keeps    the position; samp_prev; the windows of penalties and dry (if they were off or shorter, samp_prev's tokens
              where these go back further); mirostat's mu; adaptive_p's average; the state of MT19937, if the seed and
              the sampler stay (dist's is lost while temp is 0). A chain inside a chain keeps the outer chain's random
              source. Everything else, the seed too, is as in a new chain. Pointers to members made from parameters
              become invalid.
     By hand  samplers that were not made from parameters stay, with their state. One in front of all, behind all, or
              directly in front of the selector keeps that place. Another one follows the sampler of the kind that it
              followed before, or if that is gone, the nearest one before it.
     Grammar  params->grammar NULL, or a member of the chain: the chain's grammar stays (samp_chain_remove removes it).
              Another grammar takes the place of the one from parameters, which is freed, or becomes the first member.
              It begins with the next token. The chain owns it from now on; on failure it is freed: then set the member
              to NULL.
     Returns  SAMP_OK. After other statuses nothing has changed: SAMP_E_NULL, SAMP_E_NOMEM, SAMP_E_RANGE (not a chain),
              a status of samp_check_params, or the one that the chain carries. SAMP_E_UNSUPPORTED: a sampler would
              follow a sampler that selects (samp_chain_add), for example in a chain made by hand. Allocates. */
SAMP_API int samp_chain_update(samp_sampler *chain, const samp_params *params);

/* samp_batch_from_params -- makes or updates the chains of a batch from the parameters of its requests.
     in, out  rows [n_rows]: NULL becomes a new chain, other chains are updated (samp_chain_update). When a request
              leaves, free its chain and set the pointer to NULL; when it moves, copy the pointer. A row that is not to
              change must not be in the call.
     in       params [n_rows]; each grammar belongs to its row alone, and may stay set from call to call
     out      status [n_rows], may be NULL: each row's status. A row that failed is unchanged, for example still NULL.
     Returns  SAMP_OK, or the first status of a row that is not SAMP_OK. */
SAMP_API int samp_batch_from_params(samp_sampler **rows, const samp_params *params, size_t n_rows, int *status);

/* samp_settings_new -- samp_default_params() whose members are set by name and text: for bindings, command lines, files
   of settings. It owns everything that its members point to. NULL: no memory.
   samp_settings_free -- frees settings; takes NULL.
   samp_settings_params -- the settings as samp_params, for samp_check_params, samp_chain_from_params and others. NULL
   only for NULL. The next call that sets a member changes the struct.
   One thread at a time. */
SAMP_API samp_settings *samp_settings_new(void);
/* Frees settings; takes NULL. */
SAMP_API void samp_settings_free(samp_settings *settings);
/* The settings as samp_params. */
SAMP_API const samp_params *samp_settings_params(const samp_settings *settings);

/* samp_settings_set -- sets a member of samp_params to the value of a text. Numbers are written as in the C locale,
     with nothing before or after them, no blanks either. value NULL sets the default.
     name     the member's name: "top_k", "dry_base"; or a sampler's name in an order, for its first number:
              "temperature" (temp), "typical" (typ_p), "xtc" (xtc_probability), "dry" (dry_multiplier), "penalties"
              (penalty_last_n)
     value    integers: "40", "-1". Floats: "0.95", "1e-3", rounded to the nearest float, ties to even.
              rng: "philox" or "mt19937" (SAMP_E_UNSUPPORTED under SAMP_NO_MT19937). order: the text itself.
              logit_bias: token and bias, "15043+1", "15043-inf"; more entries with commas between them.
              dry_breakers: one breaker, or "none" for no breaker at all. Entries of these two are added to the
              list, as llama-cli's repeated options are; the first breaker replaces the defaults. To start a list anew,
              set NULL first: logit_bias is empty then, dry_breakers has the defaults.
     Returns  SAMP_OK; SAMP_E_NULL: settings or name; SAMP_E_NAME: no such name, or a member that a text cannot set
              (vocab; n_logit_bias, which follows logit_bias); SAMP_E_FORMAT: no text of this form; SAMP_E_RANGE: too
              large for the member's type, a float that is not 0 but would round to 0, an empty breaker, another word
              for rng; SAMP_E_NOMEM. *field (may be NULL) gets the member's name, or `name` if it is unknown; NULL with
              SAMP_OK. After an error nothing has changed. samp_check_params checks later whether the value is in the
              member's range.
     Memory   order and the two lists are copied; each copy is one block. */
SAMP_API int samp_settings_set(samp_settings *settings, const char *name, const char *value, const char **field);

/* samp_settings_get -- a member's value as text; samp_settings_set reads it back as the same value.
   samp_settings_takes -- the values that a member may have, for users: "a number in (0, 1]"; for order all names.
     out      buf [size]: the text, shortened if necessary, always with a final 0 (size 0: nothing; buf may be NULL)
     Returns  the length of the whole text without the 0; SAMP_E_NULL; SAMP_E_NAME: no such name; SAMP_E_UNSUPPORTED:
              get of a list, or of an order that is NULL. */
SAMP_API int samp_settings_get(const samp_settings *settings, const char *name, char *buf, size_t size);
/* The values that a member may have, for users to read. */
SAMP_API int samp_settings_takes(const char *name, char *buf, size_t size);

/* samp_settings_set_vocab -- gives the settings a vocabulary of their own, of n_vocab tokens, which dry needs for its
   breakers. For token_bytes and user see samp_vocab. Sets the member n_vocab too. Chains made from these settings use
   the vocabulary, so free the settings after them. Returns SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE (n_vocab < 0). */
SAMP_API int samp_settings_set_vocab(samp_settings *settings, int32_t n_vocab,
                                     const char *(*token_bytes)(const samp_vocab *vocab, samp_token token,
                                                                size_t *n_bytes),
                                     void *user);

/* samp_settings_use_vocab -- gives the settings a vocabulary of yours, for dry and infill. The settings and the chains
     made from them keep the pointer; these chains do not need the settings any more. Sets the member n_vocab too. NULL:
     no vocabulary; n_vocab stays. Returns SAMP_OK, SAMP_E_NULL (settings), SAMP_E_RANGE (n_vocab < 0).
   samp_vocab_init -- makes a vocabulary from a list of its tokens' bytes, for callers without a function, such as
     bindings.
     in       bytes: those of all tokens, one after the other; n_bytes [n_vocab]: the number of each token's bytes, 0
              for control tokens. eog [n_eog], eos, eot: see samp_vocab.
     Returns  the vocabulary, which has copies of everything. NULL on error; *status (may be NULL): SAMP_E_NULL
              (n_bytes; bytes or eog where there are any), SAMP_E_RANGE (n_vocab < 0 or > SAMP_MAX_VOCAB; 2^31 bytes or
              more; eog is not a token; eos or eot is neither a token nor -1), SAMP_E_NOMEM.
     Memory   one block.   Threads  the vocabulary never changes, so any number of samplers may use it at once. It must
              outlive them.
   samp_vocab_free -- frees a vocabulary of samp_vocab_init; takes NULL. */
SAMP_API int samp_settings_use_vocab(samp_settings *settings, const samp_vocab *vocab);
/* Makes a vocabulary from a list of its tokens' bytes. */
SAMP_API samp_vocab *samp_vocab_init(const char *bytes, const uint32_t *n_bytes, int32_t n_vocab,
                                     const samp_token *eog, size_t n_eog, samp_token eos, samp_token eot,
                                     int *status);
/* Frees a vocabulary of samp_vocab_init; takes NULL. */
SAMP_API void samp_vocab_free(samp_vocab *vocab);

/* samp_chain_init -- makes an empty chain; NULL: no memory. */
SAMP_API samp_sampler *samp_chain_init(void);

/* samp_chain_add -- adds a sampler at the end.
   samp_chain_insert -- inserts it at index i, 0 .. samp_chain_n, in front of the sampler that is there now. The chain
     owns the sampler from now on, on failure too.
     Returns  SAMP_OK; or the sampler's own status if it carries an error: it is in the chain, which now carries the
              error too.
              SAMP_E_RANGE: s is in a chain already, or contains this chain; then nothing has changed. Or `chain` is not
              a chain; then s is freed, as it is if `chain` is NULL (SAMP_E_NULL).
              With the following errors s is freed, and the chain carries the error from now on, because it has no
              sampler: SAMP_E_NULL, SAMP_E_NOMEM (field "sampler"); SAMP_E_RANGE (field "i"); SAMP_E_UNSUPPORTED (field
              "place"): s does not select but would follow a sampler that does, with nothing between them that ends the
              selection. It concerns grammars, built-in samplers that are on and do not select, and chains that end with
              one of these. A draw would fail or ignore s: put it in front, with samp_chain_insert. Under MT19937, where
              a selection stays as in llama.cpp, only grammars are refused. */
SAMP_API int samp_chain_add(samp_sampler *chain, samp_sampler *s);
/* Inserts a sampler at index i. */
SAMP_API int samp_chain_insert(samp_sampler *chain, int32_t i, samp_sampler *s);

/* samp_chain_get -- sampler i, 0 .. n - 1, which the chain still owns; NULL if there is none.
   samp_chain_n -- the number of samplers in the chain.
   samp_chain_remove -- removes sampler i; the caller owns it now. It keeps the random source that the chain has set,
   until it joins another chain. */
SAMP_API samp_sampler *samp_chain_get(const samp_sampler *chain, int32_t i);
/* The number of samplers in the chain. */
SAMP_API int32_t samp_chain_n(const samp_sampler *chain);
/* Removes sampler i from the chain; the caller owns it then. */
SAMP_API samp_sampler *samp_chain_remove(samp_sampler *chain, int32_t i);

/* samp_status -- the error that a sampler carries since it was made, or SAMP_OK. *field (may be NULL) gets the name of
   the parameter, as in samp_params. A chain carries the first error of its members. */
SAMP_API int samp_status(const samp_sampler *s, const char **field);

/* samp_set_rng -- sets the random source of a sampler and all its members; MT19937 also means llama.cpp's arithmetic.
   The source starts at the seed; mirostat's mu starts anew if it has overflowed in that arithmetic. Returns SAMP_OK,
   SAMP_E_NULL, SAMP_E_RANGE; SAMP_E_UNSUPPORTED: MT19937 under SAMP_NO_MT19937. Members added later get their chain's
   source. */
SAMP_API int samp_set_rng(samp_sampler *s, samp_rng_kind kind);

/* samp_get_seed -- the seed of the last sampler that draws random numbers and is on; 0 if there is none. */
SAMP_API uint64_t samp_get_seed(const samp_sampler *s);

/* samp_child_seed -- the seed of sample i of several from one request: the first 64 bits of Philox at counter (i, all
   ones, 0) with the request's seed as key; no draw uses this counter. Seeds of different i, or of different requests,
   are as independent as random numbers: two are equal with probability 2^-64. Sample 0 has another seed than the
   request. */
SAMP_API uint64_t samp_child_seed(uint64_t seed, uint64_t i);

/* samp_get_position, samp_set_position -- the number of the next draw. A chain keeps it for its members; a sampler
   outside a chain keeps its own. Each successful samp_sample, samp_draw or samp_apply of a sampler that draws advances
   it by one, even if only one token was left. samp_accept does not. Only SAMP_RNG_PHILOX uses it. */
SAMP_API uint64_t samp_get_position(const samp_sampler *s);
/* Sets the number of the next draw. */
SAMP_API int samp_set_position(samp_sampler *s, uint64_t position);

/* samp_prev -- copies the last accepted tokens of a chain, at most n, oldest first; returns their number.
   samp_last -- the last accepted token, or SAMP_E_EMPTY.
   samp_set_n_prev -- sets how many tokens are kept (default 64; 0 .. 2^20), and forgets those kept so far. It
     allocates. */
SAMP_API size_t samp_prev(const samp_sampler *chain, samp_token *out, size_t n);
/* The last accepted token, or SAMP_E_EMPTY. */
SAMP_API samp_token samp_last(const samp_sampler *chain);
/* Sets how many tokens are kept for samp_prev. */
SAMP_API int samp_set_n_prev(samp_sampler *chain, size_t n);

/* samp_rollback -- takes back the last n accepted tokens, as if they had never been drawn: for drafts, rewinds, bans.
     State    position, mt19937, windows, mu, averages and samp_prev of s and all its members become what they were
              before the first draw since the token in front of these; if there was no draw before the first of these
              tokens, before its samp_accept. Draws after the last accepted token are taken back too; with n = 0 only
              these. samp_perf's counts stay.
     Tokens   each successful samp_accept counts as one token, also for a prompt, and each token of samp_sample, of a
              batch, of samp_verify. A token of samp_grammar_sample counts once for the chain and once for the grammar.
     Kept     the last 64 tokens, or as many as samp_set_rollback has set. All are forgotten when s changes in another
              way: by samp_reset, samp_state_load, samp_set_..., samp_chain_..., or by a call on a member. A clone has
              the tokens of its original; a saved state has none. A chain keeps the tokens for its members.
     Custom   samplers with an accept need a rollback (samp_sampler_i). They go back first, because one may refuse: if
              one does, those before it, which have gone back, accept the tokens again.
     Returns  SAMP_OK; SAMP_E_NULL; SAMP_E_RANGE: n < 0, or more than are kept; SAMP_E_UNSUPPORTED: a custom sampler has
              no rollback; the status that a custom sampler returns, or that s carries; SAMP_E_NOMEM (grammars). After
              an error nothing has changed. Exception: if samp_prev has fewer than n tokens, and a custom sampler
              refuses, the custom samplers in front of it stay rolled back.
     Memory   none, except for grammars.   Cost  O(n); for penalties n times the cost of samp_accept.
   samp_rollback_depth -- how many tokens can be taken back now. 0 if a custom sampler has an accept but no rollback; a
     grammar may keep fewer tokens than the chain. Or SAMP_E_NULL, or the status that s carries.
   samp_set_rollback -- sets how many tokens are kept, 0 .. 2^20, and forgets those kept so far. 0: nothing is kept, so
     a draw cannot be taken back either. Returns SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_NOMEM (nothing has changed).
     Memory   for each token 12 bytes (a sampler outside a chain 8, one that does not draw 4). A chain adds 4 for
              penalties, 12 for dry, 16 for adaptive_p, 4 for each mirostat, inner chain and mt19937; grammars add more.
              It is allocated by this call, by samp_reserve, or at the first token; if that fails at the first token,
              nothing is kept. Samplers without state need none. */
SAMP_API int samp_rollback(samp_sampler *s, int32_t n);
/* Sets how many tokens are kept for samp_rollback. */
SAMP_API int samp_set_rollback(samp_sampler *s, int32_t depth);
/* How many tokens samp_rollback can take back now. */
SAMP_API int32_t samp_rollback_depth(const samp_sampler *s);

/* samp_state_save, samp_state_load -- write a sampler's state as bytes, and read it, to go on elsewhere. The state is:
   position, mt19937, the accepted tokens of penalties, dry and samp_prev, mirostat's mu, adaptive_p's averages and
   pending selection; for a chain its own state and all its members'. samp_perf's counts and the settings are not in it:
   load into a sampler with the settings of the saved one (kinds, order, parameters, breakers, seeds, random source,
   samp_set_n_prev).
   samp_state_size -- the number of bytes that samp_state_save writes now; 0 if it would fail.
     bytes    [size]. save needs size >= samp_state_size(s) and writes that many; load needs exactly these. The same
              state has the same bytes on every machine.
     Custom   samplers with ctx NULL have nothing to save; others are SAMP_E_UNSUPPORTED.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_UNSUPPORTED, or the status that s carries. Save: SAMP_E_WORKSPACE if size is
              too small. Load: SAMP_E_FORMAT if the bytes are damaged (a checksum finds accidents, not forgery), too few
              or too many, of another version, or of a sampler with other settings; SAMP_E_NOMEM; SAMP_E_FULL: the text
              exceeds a grammar's limits. After an error nothing has changed.
     Memory   none, except to load a grammar's state.   Cost  O(bytes). */
SAMP_API size_t samp_state_size(const samp_sampler *s);
/* Writes a sampler's state, samp_state_size bytes. */
SAMP_API int samp_state_save(const samp_sampler *s, void *bytes, size_t size);
/* Reads a state that samp_state_save has written. */
SAMP_API int samp_state_load(samp_sampler *s, const void *bytes, size_t size);

/* samp_perf -- counts and time of samp_sample and samp_draw on this sampler.   samp_perf_reset -- sets them to 0. */
SAMP_API samp_perf_data samp_perf(const samp_sampler *s);
/* Sets the counts to 0. */
SAMP_API void samp_perf_reset(samp_sampler *s);

/* samp_describe -- the chain as text: "logits -> logit-bias(n=2) -> ?penalties(last_n=64, ...) -> ... -> dist(seed=1)";
   '?' marks a sampler whose values switch it off. Works like snprintf: writes at most size bytes with the final 0, and
   returns the length of the whole text, or SAMP_E_NULL. */
SAMP_API int samp_describe(const samp_sampler *s, char *buf, size_t size);
