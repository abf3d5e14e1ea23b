/* ---- 2. chains ----------------------------------------------------------------------------------------------
   Functions that make the usual chain from parameters, set parameters by name (samp_settings), make a vocabulary from a
   list, and build a chain by hand. Then functions for any sampler: its status, its description as text, its seed,
   position, accepted tokens and counts, rollback, and saved state. */

/* samp_default_params -- returns the defaults that the comments of samp_params give: llama.cpp's defaults, with seed 0.
   samp_plain_params -- returns parameters to start from for settings of other programs: no sampler removes a token,
     temp is 1, and the order is that of most programs: penalties, then the temperature, then the truncations. The order
     has all samplers except infill and log_softmax. So each member that you set takes effect, and the others stay
     off. */
SAMP_API samp_params samp_default_params(void);
/* Returns parameters with all samplers off: temp is 1, and comes before the truncations. */
SAMP_API samp_params samp_plain_params(void);

/* samp_check_params -- checks the parameters, even those of samplers that the order leaves out (but members that only
   mirostat 1 or infill needs are checked only if that sampler is used, and whether breakers are too much for the
   vocabulary is found only when the sampler is made, see samp_init_dry). Returns SAMP_OK, SAMP_E_RANGE, SAMP_E_NAN,
   SAMP_E_NULL, SAMP_E_UNSUPPORTED (MT19937 if SAMP_NO_MT19937 is defined), or the status that the grammar carries.
   *field (field may be NULL) gets the name of the wrong member. */
SAMP_API int samp_check_params(const samp_params *params, const char **field);

/* samp_chain_from_params -- builds the chain that the parameters describe.
     Order    The chain has the grammar first, then logit_bias, then the samplers that params->order names, and last the
              sampler that selects. The default order is
              "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature". Other samplers that are on are added
              to this default: tfs_z after top_k; top_a, p_less, p_less_norm, epsilon_cutoff, eta_cutoff, top_h, min_k
              after min_p; smoothing_factor at the end. An order of yours may name all of these samplers, and may repeat
              them or leave them out. The name "*", at most once, is all samplers that the order does not name, in the
              order of the default, on or off: "temperature;*". An order may be written in letters, each at most once
              ("nonsense" and "topk" are misspelt names, not letters): e penalties, d dry, s top_n_sigma, k top_k, f
              tail_free ("tfs_z"), y typ_p, p top_p, m min_p, a top_a, l p_less, o p_less_norm, c epsilon_cutoff, h
              eta_cutoff, b top_h, g min_k, x xtc, i infill (needs params->vocab), t temperature, q smoothing_factor, n
              log_softmax. infill and log_softmax run only if the order names them. The order "" is empty: the chain has
              no truncation and no temperature.
     Selects  The sampler that selects is dist; greedy if temp is 0; adaptive_p if adaptive_target >= 0.
     Mirostat With mirostat 1 or 2 the chain is grammar, logit_bias, temp, mirostat, and nothing else (as in llama.cpp).
     Grammar  params->grammar is a sampler that masks tokens: one of samp_init_grammar, or your own. A sampler that
              selects a token is SAMP_E_RANGE there. The chain owns the grammar from now on; on failure the grammar is
              freed. A grammar that is already in a chain is SAMP_E_RANGE and stays in that chain: each chain needs its
              own copy (samp_clone).
     Returns  the chain; if a parameter is bad, the chain carries the error (samp_status). NULL: no memory. *status
              (status may be NULL) gets the status. Free the chain with samp_free. */
SAMP_API samp_sampler *samp_chain_from_params(const samp_params *params, int *status);

/* Two orders for the member `order` of samp_params. SAMP_ORDER_LLAMA is llama.cpp's order, which an order of NULL also
   means. SAMP_ORDER_CANONICAL is the order of most servers (Hugging Face, vLLM): the temperature comes before the
   truncations, so that top_p and others cut the distribution from which the token is drawn. */
#define SAMP_ORDER_LLAMA     "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature"
#define SAMP_ORDER_CANONICAL "penalties;dry;temperature;top_n_sigma;top_k;typ_p;top_p;min_p;xtc"

/* samp_chain_update -- gives a chain of samp_chain_from_params new parameters between two tokens, and keeps its state.
     Keeps    The chain keeps the position; the tokens of samp_prev; the windows (last tokens) of penalties and dry (a
              window that was off or shorter before also gets the tokens of samp_prev that go back further); mirostat's
              mu; adaptive_p's average; the state of MT19937, if the seed and the sampler stay (dist's state is lost
              while temp is 0). A chain inside a chain keeps the outer chain's random source. Everything else, the seed
              too, is as in a new chain. Pointers to members that were made from parameters become invalid.
     By hand  Samplers that were not made from parameters stay in the chain, with their state. Such a sampler at the
              beginning, at the end, or directly before the selecting sampler keeps that place. At another place, it
              follows the same kind of sampler as before, or if there is no such sampler any more, the nearest one that
              came before.
     Grammar  If params->grammar is NULL or a member of the chain, the chain's grammar stays (samp_chain_remove removes
              it). Another grammar replaces the one that was made from parameters, which is freed, or becomes the first
              member. Its text begins with the next token. The chain owns the grammar from now on; on failure it is
              freed: then set params->grammar to NULL.
     Returns  SAMP_OK. After other statuses nothing has changed: SAMP_E_NULL, SAMP_E_NOMEM, SAMP_E_RANGE (not a chain),
              a status of samp_check_params, or the status that the chain carries. SAMP_E_UNSUPPORTED: a sampler would
              follow a sampler that selects (see samp_chain_add), for example in a chain made by hand. The function
              allocates memory. */
SAMP_API int samp_chain_update(samp_sampler *chain, const samp_params *params);

/* samp_batch_from_params -- makes or updates the chains of a batch from the parameters of its requests.
     in, out  rows [n_rows]: the chain of each request. A NULL becomes a new chain, other chains are updated
              (samp_chain_update). When a request ends, free its chain and set the pointer to NULL; when it moves to
              another index, move the pointer. Leave chains that should not change out of the call.
     in       params [n_rows]; each grammar belongs to its row's chain alone, and may stay set from call to call
     out      status [n_rows], may be NULL: each row's status. The chain of a row that failed is unchanged: a NULL is
              still NULL.
     Returns  SAMP_OK, or the first status of a row that is not SAMP_OK. */
SAMP_API int samp_batch_from_params(samp_sampler **rows, const samp_params *params, size_t n_rows, int *status);

/* samp_settings_init -- makes settings: the values of samp_default_params(), whose members samp_settings_set then sets
   by name and text (for bindings, command lines, files of settings). The settings own everything that their members
   point to. NULL: no memory.
   samp_settings_free -- frees settings; takes NULL.
   samp_settings_params -- returns the settings as samp_params, for samp_check_params, samp_chain_from_params and
     others; NULL only if settings is NULL. The next call that sets a member changes this struct.
   Only one thread at a time may use settings. */
SAMP_API samp_settings *samp_settings_init(void);
/* Frees settings; takes NULL. */
SAMP_API void samp_settings_free(samp_settings *settings);
/* Returns the settings as samp_params. */
SAMP_API const samp_params *samp_settings_params(const samp_settings *settings);

/* samp_settings_set -- sets a member of samp_params to the value of a text. Numbers are written as in the C locale, and
     nothing may come before or after them, not even blanks. A value of NULL sets the default.
     name     the member's name: "top_k", "dry_base"; or a sampler's name as in params.order, for its first number:
              "temperature" (temp), "typical" (typ_p), "xtc" (xtc_probability), "dry" (dry_multiplier), "penalties"
              (penalty_last_n)
     value    integers: "40", "-1". Floats: "0.95", "1e-3", rounded to the nearest float, ties to even.
              rng: "philox" or "mt19937" (SAMP_E_UNSUPPORTED under SAMP_NO_MT19937). order: the text itself.
              logit_bias: token and bias, "15043+1", "15043-inf"; more entries with commas between them.
              dry_breakers: one breaker, or "none" for no breaker at all. Entries of these two are added to the
              list, as llama-cli's repeated options are; the first breaker replaces the defaults. To start a list anew,
              set NULL first: logit_bias is empty then, dry_breakers has the defaults.
     Returns  SAMP_OK; SAMP_E_NULL: settings or name is NULL; SAMP_E_NAME: no member has this name, or a text cannot set
              the member (vocab; n_logit_bias, which follows logit_bias), or a word of an order names no sampler (then
              *field is, for example, `order: "temprature"`, until the next call for these settings); SAMP_E_FORMAT: the
              text does not have the form above; SAMP_E_RANGE: the number is too large for the member's type, or is not
              0 but would round to 0, the breaker is empty, or rng is another word; SAMP_E_NOMEM. *field (field may be
              NULL) gets the member's name, or `name` if it is unknown; with SAMP_OK it gets NULL. After an error
              nothing has changed. This function does not check whether a number is in the member's range:
              samp_check_params does.
     Memory   order, logit_bias and dry_breakers are copied; each copy is one block. */
SAMP_API int samp_settings_set(samp_settings *settings, const char *name, const char *value, const char **field);

/* samp_settings_get -- writes a member's value as text; samp_settings_set reads this text back as the same value.
   samp_settings_takes -- writes which values a member may have, as a text for users: "a number in (0, 1]"; for order
     the names of all samplers.
     out      buf [size]: the text, shortened if necessary, always with a final 0 (if size is 0, nothing is written, and
              buf may be NULL)
     Returns  the length of the whole text without the 0; SAMP_E_NULL; SAMP_E_NAME: no member has this name;
              SAMP_E_UNSUPPORTED: samp_settings_get of a list, or of an order that is NULL. */
SAMP_API int samp_settings_get(const samp_settings *settings, const char *name, char *buf, size_t size);
/* Writes which values a member may have, as a text for users. */
SAMP_API int samp_settings_takes(const char *name, char *buf, size_t size);

/* samp_settings_set_vocab -- gives the settings a vocabulary of n_vocab tokens that they own; the sampler dry needs it
   for its breakers. samp_vocab describes token_bytes and user. The function sets the member n_vocab too. Chains made
   from these settings use the vocabulary, so free these chains before the settings. Returns SAMP_OK, SAMP_E_NULL,
   SAMP_E_RANGE (n_vocab < 0). */
SAMP_API int samp_settings_set_vocab(samp_settings *settings, int32_t n_vocab,
                                     const char *(*token_bytes)(const samp_vocab *vocab, samp_token token,
                                                                size_t *n_bytes),
                                     void *user);

/* samp_settings_use_vocab -- gives the settings a vocabulary that you own, for dry and infill. The settings and the
     chains made from them keep the pointer, so these chains may outlive the settings. The function sets the member
     n_vocab too. If vocab is NULL, the settings have no vocabulary, and n_vocab does not change. Returns SAMP_OK,
     SAMP_E_NULL (settings), SAMP_E_RANGE (n_vocab < 0).
   samp_vocab_init -- makes a vocabulary from a list of its tokens' bytes, for callers that cannot pass a function
     token_bytes, such as bindings.
     in       bytes: the bytes of all tokens, one token after the other; n_bytes [n_vocab]: the number of each token's
              bytes, 0 for control tokens. eog [n_eog], eos, eot: see samp_vocab.
     Returns  the vocabulary, which has copies of everything. NULL on error; *status (status may be NULL): SAMP_E_NULL
              (n_bytes; or bytes or eog, if their number is not 0), SAMP_E_RANGE (n_vocab < 0 or > SAMP_MAX_VOCAB; 2^31
              bytes or more; eog is not a token; eos or eot is neither a token nor -1), SAMP_E_NOMEM.
     Memory   is one block.
     Threads  The vocabulary never changes, so any number of samplers may use it at the same time. It must outlive them.
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
   samp_chain_insert -- inserts a sampler at index i, 0 .. samp_chain_n, in front of the sampler that is there now. Both
     functions make the chain the owner of the sampler, even on failure.
     Returns  SAMP_OK; or the sampler's own status if the sampler carries an error: then it is in the chain, which now
              carries the error too.
              SAMP_E_RANGE: s is already in a chain, or contains this chain; then nothing has changed. Or `chain` is not
              a chain; then s is freed, as it is if `chain` is NULL (SAMP_E_NULL).
              With the following errors s is freed, and the chain carries the error from now on, because it does not
              contain s: SAMP_E_NULL, SAMP_E_NOMEM (field "sampler"); SAMP_E_RANGE (field "i"); SAMP_E_UNSUPPORTED
              (field "place"): s does not select a token but would follow a sampler that does, with no sampler between
              them that undoes the selection. Such an s is a grammar, a built-in sampler that is on and does not select,
              or a chain that ends with one of these. A draw would fail or ignore s, so insert s before the selecting
              sampler, with samp_chain_insert. Under MT19937, where a selection stays as in llama.cpp, only grammars are
              refused. */
SAMP_API int samp_chain_add(samp_sampler *chain, samp_sampler *s);
/* Inserts a sampler at index i. */
SAMP_API int samp_chain_insert(samp_sampler *chain, int32_t i, samp_sampler *s);

/* samp_chain_get -- returns sampler i, 0 .. samp_chain_n - 1, which the chain still owns; NULL if i is out of range.
   samp_chain_n -- returns the number of samplers in the chain.
   samp_chain_remove -- removes sampler i from the chain and returns it; the caller owns it then. The sampler keeps the
   random source that the chain has set, until it is added to another chain. */
SAMP_API samp_sampler *samp_chain_get(const samp_sampler *chain, int32_t i);
/* The number of samplers in the chain. */
SAMP_API int32_t samp_chain_n(const samp_sampler *chain);
/* Removes sampler i from the chain and returns it; the caller owns it then. */
SAMP_API samp_sampler *samp_chain_remove(samp_sampler *chain, int32_t i);

/* samp_status -- returns the error that a sampler has carried since it was made, or SAMP_OK. *field (field may be NULL)
   gets the name of the wrong parameter, as in samp_params. A chain carries the first error of its members. */
SAMP_API int samp_status(const samp_sampler *s, const char **field);

/* samp_set_rng -- sets the random source of a sampler and all its members; MT19937 also means llama.cpp's arithmetic.
   The random source starts at the sampler's seed, with position 0. If mirostat's mu has overflowed in llama.cpp's
   arithmetic, it starts anew when the source becomes SAMP_RNG_PHILOX.
   Returns SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE; SAMP_E_UNSUPPORTED: MT19937 if SAMP_NO_MT19937 is defined. Samplers that
   are added to a chain later get the chain's random source. */
SAMP_API int samp_set_rng(samp_sampler *s, samp_rng_kind kind);

/* samp_get_seed -- returns the seed of the last sampler in the chain that draws random numbers and is on; 0 if there is
   no such sampler. */
SAMP_API uint64_t samp_get_seed(const samp_sampler *s);

/* samp_child_seed -- returns a seed for answer i, if a request asks for several answers: the first 64 bits of Philox at
   counter (i, all ones, 0) with the request's seed as key; no draw uses this counter. Seeds of different i, or of
   different requests, are as independent as random numbers: two seeds are equal with probability 2^-64. The seed of
   answer 0 is not the request's seed. */
SAMP_API uint64_t samp_child_seed(uint64_t seed, uint64_t i);

/* samp_get_position, samp_set_position -- return or set the position, which is the number of the next draw. A chain
   keeps the position for its members; a sampler outside a chain keeps its own. Each successful samp_sample, samp_draw
   or samp_apply of a sampler that draws advances the position by one, even if only one token was left to draw.
   samp_accept does not advance it. Only SAMP_RNG_PHILOX uses the position. */
SAMP_API uint64_t samp_get_position(const samp_sampler *s);
/* Sets the number of the next draw. */
SAMP_API int samp_set_position(samp_sampler *s, uint64_t position);

/* samp_prev -- copies the last accepted tokens of a chain, at most n, oldest first; returns their number.
   samp_last -- returns the last accepted token, or SAMP_E_EMPTY.
   samp_set_n_prev -- sets how many tokens are kept for samp_prev (default 64; 0 .. 2^20), and forgets the tokens kept
     so far. The function allocates memory. */
SAMP_API size_t samp_prev(const samp_sampler *chain, samp_token *out, size_t n);
/* Returns the last accepted token, or SAMP_E_EMPTY. */
SAMP_API samp_token samp_last(const samp_sampler *chain);
/* Sets how many tokens are kept for samp_prev. */
SAMP_API int samp_set_n_prev(samp_sampler *chain, size_t n);

/* samp_rollback -- takes back the last n accepted tokens, as if they had never been drawn: for drafts, and for texts
   that turn out to be banned.
     State    The position, the state of MT19937, the last tokens of penalties and dry, mirostat's mu, adaptive_p's
              averages and the tokens of samp_prev become, in s and all its members, what they were before the first of
              the n tokens was drawn (or, if it was not drawn, before its samp_accept). Draws since the token before the
              first of the n, and draws after the last accepted token, are taken back too; with n = 0 only the latter
              are. samp_perf's counts stay.
     Tokens   Each successful samp_accept counts as one token, also for a prompt, and so does each token of samp_sample,
              of a batch, or of samp_verify. A token of samp_grammar_sample counts once for the chain and once for the
              grammar.
     Kept     The last 64 tokens can be taken back, or as many as samp_set_rollback has set. The record of all of them
              is lost when s changes in another way: by samp_reset, samp_state_load, samp_set_..., samp_chain_..., or by
              a call on a member. A clone has the record of its original; a saved state has no record. A chain keeps the
              record for its members.
     Custom   samplers with an accept function need a rollback function (samp_sampler_i). They are rolled back first,
              because one of them may refuse: then those that were already rolled back accept the tokens again.
     Returns  SAMP_OK; SAMP_E_NULL; SAMP_E_RANGE: n < 0, or more than are kept; SAMP_E_UNSUPPORTED: a custom sampler has
              no rollback; the status that a custom sampler returns, or that s carries; SAMP_E_NOMEM (grammars). After
              an error nothing has changed. Exception: if samp_prev has fewer than n tokens, and a custom sampler
              refuses, the custom samplers before it in the chain stay rolled back.
     Memory   is allocated only by grammars.   Cost  O(n); for penalties n times the cost of samp_accept.
   samp_rollback_depth -- returns how many tokens can be taken back now: 0 if a custom sampler has an accept function
     but no rollback; a grammar may keep fewer tokens than the chain. Or it returns SAMP_E_NULL, or the status that s
     carries.
   samp_set_rollback -- sets how many tokens can be taken back, 0 .. 2^20, and forgets the tokens kept so far. With 0
     no token is kept, so a draw cannot be taken back either. Returns SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_NOMEM
     (then nothing has changed).
     Memory   Each token that can be taken back needs 12 bytes (in a sampler outside a chain 8, in one that does not
              draw 4). A chain adds 4 bytes for penalties, 12 for dry, 16 for adaptive_p, 4 for each mirostat, inner
              chain and MT19937; grammars add more. This memory is allocated by samp_set_rollback, by samp_reserve, or
              at the first token; if it cannot be allocated at the first token, no token can be taken back. A sampler
              without state, alone or in a chain, adds no bytes to a token. */
SAMP_API int samp_rollback(samp_sampler *s, int32_t n);
/* Sets how many tokens are kept for samp_rollback. */
SAMP_API int samp_set_rollback(samp_sampler *s, int32_t depth);
/* How many tokens samp_rollback can take back now. */
SAMP_API int32_t samp_rollback_depth(const samp_sampler *s);

/* samp_state_save, samp_state_load -- write a sampler's state as bytes, and read these bytes, to continue a text later
   or on another machine. The state is: the position, the state of MT19937, the accepted tokens of penalties, dry and
   samp_prev, mirostat's mu, adaptive_p's averages and selected token; the state of a chain is its own and that of all
   its members. samp_perf's counts and the settings are not saved: load the state into a sampler with the same settings
   as the saved one (kinds, order, parameters, breakers, seeds, random source, samp_set_n_prev).
   samp_state_size -- returns the number of bytes that samp_state_save writes now; 0 if it would fail.
     bytes    [size]. samp_state_save needs size >= samp_state_size(s) and writes samp_state_size(s) bytes;
              samp_state_load needs exactly these bytes. The same state has the same bytes on every machine.
     Custom   samplers whose ctx is NULL have nothing to save; other custom samplers are SAMP_E_UNSUPPORTED.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_UNSUPPORTED, or the status that s carries. Save: SAMP_E_WORKSPACE if size is
              too small. Load: SAMP_E_FORMAT if the bytes are damaged (a checksum finds accidents, not forgery), too few
              or too many, of another version, or of a sampler with other settings; SAMP_E_NOMEM; SAMP_E_FULL: the text
              exceeds a grammar's limits. After an error nothing has changed.
     Memory   is allocated only to load a grammar's state.   Cost  O(size). */
SAMP_API size_t samp_state_size(const samp_sampler *s);
/* Writes a sampler's state, samp_state_size bytes. */
SAMP_API int samp_state_save(const samp_sampler *s, void *bytes, size_t size);
/* Reads a state that samp_state_save has written. */
SAMP_API int samp_state_load(samp_sampler *s, const void *bytes, size_t size);

/* samp_perf -- returns the counts and the time of samp_sample and samp_draw on this sampler.
   samp_perf_reset -- sets these counts and the time to 0. */
SAMP_API samp_perf_data samp_perf(const samp_sampler *s);
/* Sets the counts to 0. */
SAMP_API void samp_perf_reset(samp_sampler *s);

/* samp_set_perf_hook -- sets a function that gets a line for a log after each draw of s, or NULL for none (default).
     line     {"token":7,"position":12,"ns":8300,"exact":0,"steps":0}: the token, or the negative status of a draw that
              failed; the position after it; what the draw adds to t_sample_ns, n_exact and n_steps of samp_perf
     hook     is called by samp_sample, samp_draw, samp_sample_batch and samp_verify, in the thread that draws the row,
              after the draw. It must not use s. Slices (samp_sample_sharded) and a device do not call it
     user     is passed to hook, and must stay as long as hook is set. A clone has no hook; states do not have it
     Returns  SAMP_OK or SAMP_E_NULL (s).   Memory  none.   Cost  without a hook one comparison a draw. */
SAMP_API int samp_set_perf_hook(samp_sampler *s, samp_perf_hook hook, void *user);

/* samp_describe -- writes the chain as text: "logits -> logit-bias(n=2) -> ?penalties(last_n=64, ...) -> ... ->
   dist(seed=1)"; '?' marks a sampler whose values switch it off. Like snprintf, it writes at most size bytes with the
   final 0, and returns the length of the whole text, or SAMP_E_NULL. */
SAMP_API int samp_describe(const samp_sampler *s, char *buf, size_t size);
