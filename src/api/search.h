/* ---- 15. more than one text, and texts to fill in (SAMPLING_SEARCH) ---------------------------------------------
   samp_beams: beam search, which keeps the n best continuations of a text side by side. samp_unmask: one step of a
   diffusion model, which chooses the masked positions of a text to fill. Both are functions of logits: the model, and
   its key-value cache, are the caller's. */

/* When a search ends although beams are left, as transformers' early_stopping says. A group of beams is then full: it
   has found as many hypotheses (texts that end) as it has beams. */
typedef enum samp_early_stopping {
    SAMP_EARLY_HEURISTIC = 0, /* False: if a live beam that ended now would not be better than the worst one found */
    SAMP_EARLY_ALWAYS = 1,    /* True: at once */
    SAMP_EARLY_EXACT = 2      /* "never": if no live beam can become better; its length may grow up to max_tokens if
                            length_penalty is above 0 */
} samp_early_stopping;

/* The parameters of a search. */
typedef struct samp_beam_params {
    int32_t n_beams;         /* the width, 1 .. 4096; it may exceed the vocabulary */
    int32_t n_groups;        /* groups that search one after the other, a divisor of n_beams; 0 counts as 1 */
    int32_t max_tokens;      /* the largest length, 1 .. 2^20: the beams that live then count as found */
    float length_penalty;    /* a text's score is its log-probability / length^length_penalty; finite, 0: no division;
                                transformers' default is 1 */
    float diversity_penalty; /* subtracted from a token's log-probability for each beam of the groups before that has
                                taken the token in this step; >= 0, finite; 0 is off */
    samp_early_stopping early_stopping;
    const samp_token *ends; /* [n_ends] the tokens that end a text, each >= 0; they are copied */
    int32_t n_ends;         /* 0 .. 4096 */
    uint64_t seed;          /* for `sampled` */
    bool sampled; /* true: the beams are drawn without replacement (stochastic beam search), with one group; neither
                     early_stopping nor diversity_penalty is used */
} samp_beam_params;

/* A search. */
typedef struct samp_beams samp_beams;

/* samp_beams_check_params -- checks the parameters. Returns SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE, or SAMP_E_NAN; *field
   (field may be NULL) gets the name of the wrong member. */
SAMP_API int samp_beams_check_params(const samp_beam_params *params, const char **field);

/* samp_beams_init -- makes a search with one live beam, the empty text.
     Returns  the search, or NULL: *status (may be NULL) is that of samp_beams_check_params, or SAMP_E_NOMEM.
     Memory   about n_beams * (12 max_tokens + 1000) bytes here. The first step allocates 48 k bytes a beam, with k =
              min(n_vocab, n_beams + n_ends), and a workspace (samp_reserve) a thread; later steps allocate nothing
              (a grammar's samplers allocate as they do in any chain).
     Threads  one at a time for each search. */
SAMP_API samp_beams *samp_beams_init(const samp_beam_params *params, int *status);
/* Frees a search; takes NULL. */
SAMP_API void samp_beams_free(samp_beams *beams);

/* samp_beams_step -- appends a token to each live beam: the best continuations of all beams are the next beams.
     in       logits: row r has the logits behind beam r. The first call has one row, each later one as many as the
              call before has returned. n_vocab stays the same; row_index, mask, n_vocab_of and n_threads work as in
              samp_sample_batch; logprobs must be NULL.
              rows [n_beams]: a chain for each beam, all made alike (the same samplers with the same settings and
              seeds, as samp_clone makes them), or NULL. A chain changes the row before the choice: penalties, bans, a
              grammar, a temperature, truncations. Its samplers that select, and a temperature of 0, are left out.
     out      tokens [n_beams], parents [n_beams]: the next beam i is beam parents[i] followed by tokens[i]; copy the
              cells of a key-value cache in this way. Beams are in order, best first, group by group; -1 behind the
              last one. The chains are already those of the next beams: chain i has the state of chain parents[i], and
              has accepted tokens[i].
     Score    A token's log-probability is l - ln sum e^l over the tokens that the chain has left, in double; a beam's
              score is the sum of its tokens', with the diversity penalties. So scores are log-probabilities under the
              chain: a token that a grammar forces costs nothing (transformers' renormalize_logits, CTranslate2,
              Whisper).
     Choice   The continuations of a group's beams are sorted: score descending, then parent ascending, logit
              descending, id ascending. They are taken until the group has n_beams / n_groups beams that live on. A
              continuation by an end token becomes a found hypothesis if it is among the first n_beams / n_groups; it
              replaces the worst one found if the group is full and its score is better. A group is done if no beam
              lives on, or as early_stopping says; its beams end.
     Sampled  Each text has a Gumbel variable with its log-probability as location, given the maximum of its parent's
              (Kool et al. 2019). The beams, and the found hypotheses, are those with the n_beams largest: a sample of
              n_beams texts without replacement. The random numbers depend on seed, length, parent and token.
     Returns  the number of live beams; 0: the search is done. SAMP_E_NULL: a pointer, or a chain. SAMP_E_RANGE: the
              number of rows; another n_vocab; chains that are not alike, or one twice. SAMP_E_UNSUPPORTED: a sampler of
              your own with a context, which the library cannot copy; logprobs; more than 256 samplers in a chain. Else
              a status of samp_sample_batch, or of the first bad row. After these errors nothing has changed. If a
              grammar runs out of memory in accepting a token, the search ends: each later call returns that status.
     Cost     a row: samp_sample's pass for its maximum, one for the exact sum of its weights, and k tokens by
     threshold. Threads  rows run in n_threads threads, as in samp_sample_batch; the result is the same for any number.
     Devices  The step runs on the CPU, and on whole rows: a GPU's logits must be copied, logits in slices gathered.
     Source   Wiseman and Rush 2016; Vijayakumar et al. 2016 (groups); Kool, van Hoof and Welling 2019 (sampled);
              transformers 4.49, BeamSearchScorer, for what ends a search and which continuations count. */
SAMP_API int samp_beams_step(samp_beams *beams, samp_sampler *const *rows, const samp_logits *logits,
                             samp_token *tokens, int32_t *parents);

/* samp_beams_n_found, samp_beams_found -- the hypotheses found so far, best first; of equal ones the first found.
   Groups may find the same text, which is then there more than once. With `sampled` the order is that of the draws.
     out      tokens [n]: with the end token, unless the text ended at max_tokens; valid until the next step.
              score: log-probability / n^length_penalty. Each pointer may be NULL.
     Returns  samp_beams_n_found: their number, 0 .. n_beams; 0 for NULL. samp_beams_found: SAMP_OK; SAMP_E_NULL;
              SAMP_E_RANGE: i. */
SAMP_API int32_t samp_beams_n_found(const samp_beams *beams);
/* The hypothesis with the index i, 0 is the best. */
SAMP_API int samp_beams_found(const samp_beams *beams, int32_t i, const samp_token **tokens, size_t *n,
                              double *score);

/* samp_beams_state_size, samp_beams_state_save, samp_beams_state_load -- save a search between two steps as bytes,
   and load it into one with the same parameters. The chains have states of their own (samp_state_save). The bytes are
   the same on every machine, and end with a checksum.
     Returns  the size, 0 for NULL; SAMP_OK; SAMP_E_NULL; SAMP_E_WORKSPACE: `size` is too small to save; SAMP_E_FORMAT:
              damaged, or of other parameters; SAMP_E_NOMEM: a load allocates as samp_beams_init does, and the next step
              as a first one; the status of a search that has ended by an error. After an error nothing has changed. */
SAMP_API size_t samp_beams_state_size(const samp_beams *beams);
/* Writes a search as samp_beams_state_size bytes. */
SAMP_API int samp_beams_state_save(const samp_beams *beams, void *bytes, size_t size);
/* Replaces a search by the saved one. */
SAMP_API int samp_beams_state_load(samp_beams *beams, const void *bytes, size_t size);

/* The rules of samp_unmask: which positions are filled in a step. p is the distribution that a position's chain
   leaves to the sampler that selects; a temperature of 0 belongs to the selection. */
typedef enum samp_unmask_rule {
    SAMP_UNMASK_CONFIDENCE = 0, /* the n with the largest p of the drawn token (Dream's maskgit_plus) */
    SAMP_UNMASK_MARGIN,         /* the n with the largest p(best) - p(second best) (Dream's topk_margin) */
    SAMP_UNMASK_ENTROPY,        /* the n with the least entropy of p (Dream's entropy) */
    SAMP_UNMASK_THRESHOLD, /* all whose drawn token has p >= threshold, at most n; at least the best (Fast-dLLM) */
    /* the first by ascending entropy, as long as the entropies of those before a position sum to at most threshold,
       at most n; at least the first one (the EB sampler: the sum minus the largest is at most its gamma) */
    SAMP_UNMASK_ENTROPY_BOUND,
    SAMP_UNMASK_RANDOM,         /* n at random (LLaDA's remasking "random") */
    SAMP_UNMASK_RAW_CONFIDENCE, /* as CONFIDENCE, but p of the model's own logits (LLaDA's "low_confidence") */
    /* each with the probability threshold, whatever the others do, at most n; there may be none (Dream's origin, whose
       threshold is 1 - s / t, see SAMP_UNMASK_LINEAR, and in the last step 1) */
    SAMP_UNMASK_INDEPENDENT
} samp_unmask_rule;

typedef struct samp_unmask_params {
    samp_unmask_rule rule;
    int32_t n;       /* how many positions a step fills, >= 1; THRESHOLD, ENTROPY_BOUND, INDEPENDENT: at most so many,
                        0: no limit */
    float threshold; /* THRESHOLD: a probability in (0, 1]; INDEPENDENT: one in [0, 1]; ENTROPY_BOUND: nats, >= 0 and
                        finite; else not used */
    uint64_t seed;   /* RANDOM, INDEPENDENT, temp */
    /* CONFIDENCE, RAW_CONFIDENCE, MARGIN, ENTROPY: 0: the n best; larger, finite: n are drawn without replacement, each
       in proportion to e^(m / temp), with m = p, p(best) - p(second best) or -entropy (Dream's alg_temp); else 0 */
    float temp;
} samp_unmask_params;

/* samp_unmask -- one step of a diffusion model over a block of a text: draws a token for each masked position, and
   fills the positions that the rule chooses. The others stay masked for the next step (low-confidence remasking).
     in       logits: a row for each masked position. A position's index is row_index[r], or r without row_index; so a
              block's logits may be passed whole, with row_index as the list of the masked positions.
              rows [n_rows]: a chain for each position, which selects: greedy, or a temperature, truncations, dist.
              The token is that of samp_draw: it depends on the chain's seed and position and on the row, not on the
              other rows or their order. No chain accepts a token.
     out      tokens [n_rows]: the token of a position that is filled; -1: it stays masked
     Ties     the smaller index first. Probabilities are compared by their logarithms.
     Random   A position has one random number, which depends on the seed and the index: with the same seed in each
              step RANDOM fills in one random order. INDEPENDENT and temp want another seed in each step.
     Returns  how many positions are filled; 0: no rows, or INDEPENDENT. SAMP_E_NULL; SAMP_E_RANGE, SAMP_E_NAN: a
              member of params; a status of samp_sample_batch, or of the first row that cannot be drawn: all tokens are
              then -1, and the chains of other rows may have drawn.
     Memory   what samp_sample_batch allocates in the chains; nothing of its own.
     Cost     a draw a row; but for RANDOM, INDEPENDENT and RAW_CONFIDENCE each chain runs twice.
     Source   Nie et al. 2025 (LLaDA: generate.py, remasking low_confidence and random); Ye et al. 2025 (Dream v0:
              generation_utils.py, alg origin, maskgit_plus, topk_margin, entropy; alg_temp); Wu et al. 2025
              (Fast-dLLM); Ben-Hamu et al. 2025 (entropy-bounded unmasking). */
SAMP_API int samp_unmask(const samp_unmask_params *params, samp_sampler *const *rows, const samp_logits *logits,
                         samp_token *tokens);

/* How many positions each step of a schedule fills. */
typedef enum samp_unmask_schedule {
    SAMP_UNMASK_EVEN =
        0, /* LLaDA: n_masked / (steps left), rounded up; each step gets the same, the first ones more */
    SAMP_UNMASK_LINEAR =
        1 /* Dream: n_masked (1 - s / t), rounded down, with t and s = t minus (1 - 0.001) / n_steps; the rest last */
} samp_unmask_schedule;

/* samp_unmask_count -- returns n for samp_unmask in step `step` (0 .. n_steps - 1), in which n_masked (>= 0)
   positions are still masked; the last step fills all. SAMP_E_RANGE: an argument. */
SAMP_API int32_t samp_unmask_count(samp_unmask_schedule schedule, int32_t n_masked, int32_t step, int32_t n_steps);
