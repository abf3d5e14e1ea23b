/* ---- 7. grammars (SAMPLING_GRAMMAR) ---------------------------------------------------------------------------
   Samplers that allow only the tokens with which the text can still match a grammar: GBNF, a JSON schema, a regular
   expression, or a structural tag. A text becomes a samp_grammar; samp_init_grammar makes a sampler of it; functions
   tell its mask, and what is forced. An index of the vocabulary makes masks fast, and many samplers may share one. */

/* What a grammar is written in. */
typedef enum samp_grammar_kind {
    SAMP_GRAMMAR_GBNF = 0,        /* llama.cpp's */
    SAMP_GRAMMAR_JSON_SCHEMA = 1, /* a JSON schema, of which the text must be an instance */
    SAMP_GRAMMAR_REGEX = 2,       /* a regular expression, which the whole text must match */
    SAMP_GRAMMAR_STRUCTURAL_TAG =
        3 /* calls of tools in free text, as XGrammar's and vLLM's structural tags say them */
} samp_grammar_kind;

typedef samp_text_error samp_grammar_error;

typedef struct samp_grammar samp_grammar;

/* samp_grammar_init -- read a grammar.
     text     ends with 0; a regular expression has at most 8192 bytes, a class 4096 ranges. GBNF is as llama.cpp
              reads it (its grammars/README.md): names, literals, classes, groups, * + ? {m,n}, tokens <[id]> and
              <text>, ! before them; a rule may recur in any place. Byte 0 may come only where a literal or a class
              has it by itself (\x00; not in a range, [^a] or .), which llama.cpp never allows.
              Regular expressions are ECMA-262's without lookaround, \b, \p and backreferences.
              JSON schemas follow 2020-12, or draft 4, 6 or 7 if $schema says so. No text is taken that is no instance:
              what can't be expressed is refused by its place ("/properties/a/not: ..."): uniqueItems (but of an enum or
              of whole numbers below 100), multipleOf of more than four digits, more than three contains, unevaluated*,
              $dynamicRef, schemas of other files, the formats regex, uri-template, iri, iri-reference, idn-email and
              idn-hostname. A format that the standard does not know says nothing. Of an instance's spellings these are
              taken: a number with bounds, of an enum or a whole one has no exponent; a string with a pattern, a format
              or of an enum, and a name beside others that are listed, has the shortest escape of each character, \u00xx
              in small letters. Names that are not listed may come twice; the last one counts, as JSON.parse, Python, Go
              and jq have it. So where a member must break what others keep (not, oneOf, if), a later one of the same
              name would undo it: by a checksum of three bits, one whose name might be the same must break it too.
              Structural tags are JSON: {"type":"structural_tag","format":...}, as XGrammar has them and vLLM's
              response_format takes them; or the older {"structures":[{"begin","schema","end"} ...],"triggers":[...]}.
              Formats: const_string, json_schema, regex, grammar (GBNF), any_text, sequence, or, optional, plus, star,
              repeat, tag, triggered_tags, tags_with_separator, dispatch, token, exclude_token, any_tokens,
              token_triggered_tags. Text is free up to the first trigger in it; from there on one of the tags must come
              that begin with it; then text is free again. at_least_one: it begins with a tag; stop_after_first: it ends
              with one. Free text within a tag is without the texts that end it. Strings are compared as bytes, within
              tokens too; a token without bytes comes only by a token format. Refused: token_dispatch, more than one
              token to exclude, max_tokens of any_text, styles of json_schema but json, members that are not known.
     root     of GBNF, the rule to begin with; NULL: "root". Of a JSON schema, words: "ordered" (members come in the
              order of the schema, others behind them; NULL: in any), "compact" (no space between tokens) or "spaced"
              (one behind each comma and colon; NULL: any space, but none around the whole); of a structural tag,
              the same for all schemas in it, where any_order does not say otherwise
     Returns  the grammar; NULL on error. *error (may be NULL): SAMP_OK, or SAMP_E_FORMAT and where the text is wrong;
              SAMP_E_UNSUPPORTED: what no matcher here can say; SAMP_E_RANGE: too large, or too deep, or another kind
              or word; SAMP_E_NULL; SAMP_E_NOMEM.
     Threads  any number of samplers may use it at once; what they learn is kept with it. It must outlive them.
     Free     with samp_grammar_free; NULL is fine. */
SAMP_API samp_grammar *samp_grammar_init(samp_grammar_kind kind, const char *text, const char *root,
                                         samp_grammar_error *error);
/* NULL is fine. */
SAMP_API void samp_grammar_free(samp_grammar *grammar);

/* A vocabulary made ready for grammars: its tokens as a trie. */
typedef struct samp_vocab_index samp_vocab_index;

/* samp_vocab_index_init -- make it, once for all grammars.
     vocab    borrowed; must outlive the index. A token has at most 1023 bytes, all together at most 2^22 nodes in
              the trie.
     Returns  the index; NULL on error, *status (may be NULL): SAMP_E_NULL, SAMP_E_EMPTY (n_vocab 0), SAMP_E_RANGE,
              SAMP_E_NOMEM.
     Memory   12 bytes a node and 4 a token, about 4 MB for 128,256 tokens.
     Threads  an index never changes: any number of samplers may use it at once. It must outlive them.
   samp_vocab_index_free -- NULL is fine. */
SAMP_API samp_vocab_index *samp_vocab_index_init(const samp_vocab *vocab, int *status);
/* NULL is fine. */
SAMP_API void samp_vocab_index_free(samp_vocab_index *index);

/* samp_vocab_index_save -- the index as bytes [samp_vocab_index_size]. SAMP_OK, SAMP_E_NULL, SAMP_E_WORKSPACE (size).
   samp_vocab_index_map -- an index that reads such bytes where they are (a mapped file, say): they must outlive it.
     bytes    [size] aligned to 4; all of them, and of the same vocabulary
     Returns  as samp_vocab_index_init; SAMP_E_FORMAT: other bytes, or of a vocabulary of another size. */
SAMP_API size_t samp_vocab_index_size(const samp_vocab_index *index);
/* Write the index, samp_vocab_index_size bytes. */
SAMP_API int samp_vocab_index_save(const samp_vocab_index *index, void *bytes, size_t size);
/* An index that reads such bytes where they are. */
SAMP_API samp_vocab_index *samp_vocab_index_map(const samp_vocab *vocab, const void *bytes, size_t size, int *status);

/* samp_init_grammar -- mask every token behind which the text could not become one of the grammar's.
     Text     that of the accepted tokens since the making or samp_reset; it may end within a character. Tokens
              that end a generation are allowed exactly where the text is complete, and change nothing. Tokens
              without bytes are masked, unless the grammar has them by name. A rule that leads back to itself
              without end is entered, as in llama.cpp; and so may be what several keywords leave no text of, if only
              a search would tell (two enums of one member that have nothing in common): then nothing is left.
     Accept   a token that is not allowed is SAMP_E_RANGE, and in a chain no member has seen it.
     Order    any; where it is a chain's first, the row is masked before the chain begins, and the fast path is taken.
     Row      may be longer than the vocabulary: what that has not is masked; where the grammar comes first,
              SAMP_E_RANGE under MT19937. There, the logit of a token that the grammar masks is not
              read, so it may be NaN; log-probabilities read it.
     Leaves   size; what is not allowed has -infinity, and sorted = false if that changed anything. selected: behind a
              sampler that selects, SAMP_E_EMPTY if its token is not allowed.   Draws  none.
     Returns  a sampler that carries SAMP_E_NULL (vocab, grammar), or SAMP_E_RANGE (grammar: it has the text of a token
              that is not one). Applying: SAMP_E_EMPTY if nothing is left, SAMP_E_FULL beyond the limits below.
     Memory   what is met is learnt once for all samplers of the grammar and the index, clones too: states of the
              grammar, and masks. It is the grammar's, grows also while sampling (SAMP_E_NOMEM), stays for the samplers
              to come, and goes with the grammar; that of an index without samplers, such as one that has been freed,
              goes when the grammar is first used with another index. A sampler has its place in the text, and a mask (4
              bytes for 32 tokens). index and grammar are borrowed.
     Threads  samplers of one grammar may be used by any number of threads at once; none waits for another. SAMP_MALLOC
              must be one that threads may call. With SAMP_NO_THREADS defined there is one thread, and no atomics.
     Source   llama.cpp's grammars and GBNF; llguidance (derivatives, a lazy DFA, the trie); XGrammar (masks kept for
              states, with what depends on the stack left open). */
SAMP_API samp_sampler *samp_init_grammar(const samp_vocab_index *index, const samp_grammar *grammar);

/* samp_init_grammar_lazy, samp_init_grammar_lazy_patterns -- a grammar that waits for a trigger, as for calls of tools
   in free text: until then it allows every token of the vocabulary; from the trigger on the text must be one of the
   grammar's.
     tokens   [n_tokens] with one of these the grammar begins. A token without bytes it must have by name.
     words    [n_words] with the first one of them in the text so far the grammar begins, even within a token.
     patterns [n_patterns] regular expressions, looked for behind each token in the text so far, in this order: ^...$ as
              the whole of it first, else anywhere. The grammar begins at the first group that is not empty; if there is
              none, where the match does. As samp_grammar_init reads them, but by bytes; at most 64 groups. Of several
              ways to match, the first that backtracking finds counts; a group within a repeat keeps its text from
              turn to turn.
     Replay   what the text has from there on is accepted at once, token by token (one without bytes as ever). If the
              grammar does not allow it, the token is SAMP_E_RANGE and nothing has changed (samp_grammar_sample draws
              another one).
     Drafts   a token of the draft that it would refuse counts as masked in that row, but for the exact method of
              samp_verify and samp_verify_tree.
     State    the tokens since the making or samp_reset, which waits again.
     Returns  as samp_init_grammar; SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_FORMAT or SAMP_E_UNSUPPORTED of "trigger_words",
              "trigger_patterns" or "trigger_tokens". All is copied. With no trigger at all it waits for ever.
     Cost     while it waits, some ten nanoseconds a byte; the text is gone through once, at the trigger.
     Source   llama.cpp's lazy grammars.
   samp_grammar_is_awaiting -- 1: it waits for its trigger; 0: not, or no more; or a status. */
SAMP_API samp_sampler *samp_init_grammar_lazy(const samp_vocab_index *index, const samp_grammar *grammar,
                                              const char *const *words, size_t n_words, const samp_token *tokens,
                                              size_t n_tokens);
/* A grammar that waits for one of these patterns. */
SAMP_API samp_sampler *samp_init_grammar_lazy_patterns(const samp_vocab_index *index, const samp_grammar *grammar,
                                                       const char *const *patterns, size_t n_patterns,
                                                       const samp_token *tokens, size_t n_tokens);
/* 1: it waits for its trigger. */
SAMP_API int samp_grammar_is_awaiting(const samp_sampler *s);

/* samp_set_grammar_limits -- how much a grammar may hold, in bytes, for all samplers that it has with this sampler's
   index (64 MB unless told; at least 65,536), and how many steps a call on this sampler may take (2^24; at least 1024;
   a step is some ten nanoseconds).
     Bytes    what has been learnt (states, masks, tables), what calls work with, and each sampler's own place: all
              blocks count, also while one is copied to a larger one. To make or clone a sampler may take more; to load
              a state takes up to as much again; and what a call in another thread still looks into counts beside the
              limit until that call ends. When it is full, a half of what has been learnt is forgotten, what was used
              longest ago, and found again as it is needed; all of it, where one call needs more than that half; where
              that is not enough, so is what samp_rollback goes back to. A call that needs more at once is
              SAMP_E_FULL, and nothing has changed.
     Steps    a call takes fewer of them the more has been learnt, by whichever sampler. Where what a sampler stands in
              has been forgotten, it reads its text again, each token within as many steps.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_UNSUPPORTED (not a grammar's sampler).
     Threads  others may use the grammar meanwhile; one may use the sampler. */
SAMP_API int samp_set_grammar_limits(samp_sampler *s, size_t max_bytes, int64_t max_steps);

/* What samp_grammar_stats() reports, of all samplers of one grammar and one index. */
typedef struct samp_grammar_usage {
    size_t n_states;   /* states of the grammar that are known now */
    size_t n_entries;  /* sets of tokens that are known now; masks are put together from them */
    size_t n_masks;    /* masks made so far */
    size_t n_hits;     /* masks that needed nothing new: all their sets were known */
    size_t n_renewals; /* how often the memory was full, or outgrown */
    size_t n_bytes;    /* that are held, */
    size_t max_bytes;  /* and may be: samp_set_grammar_limits */
} samp_grammar_usage;

/* samp_grammar_stats -- what a grammar's samplers have learnt together, and the memory of it. SAMP_OK; SAMP_E_NULL;
   SAMP_E_UNSUPPORTED (not a grammar's sampler), SAMP_E_NOMEM, SAMP_E_FULL. The counts of calls in other threads that
   have not ended may lack their last. */
SAMP_API int samp_grammar_stats(const samp_sampler *s, samp_grammar_usage *usage);

/* samp_grammar_mask -- the tokens that may follow, as samp_logits.mask has them: bits [(n_vocab + 31) / 32].
     Returns  SAMP_OK, also if there are none; SAMP_E_NULL, SAMP_E_UNSUPPORTED (not a grammar's sampler), SAMP_E_FULL,
              SAMP_E_NOMEM.   After an error bits are not valid.
   samp_grammar_is_complete -- 1: the text is one of the grammar's; 0: it is only the beginning of one; or a status.
   samp_grammar_forced -- how many bytes must follow, whatever comes, up to 4096; those that fit are in bytes [size]
     (may be NULL if size is 0). Whole characters only, but for what size cuts off. As tokens: samp_grammar_draft. */
SAMP_API int samp_grammar_mask(samp_sampler *s, uint32_t *bits);

/* samp_grammar_prepare -- do a part of the next mask's work ahead, as while the model computes the logits.
     budget   steps, at least 1; some ten nanoseconds each: a node of the trie of tokens that is looked at, or a part of
              a derivative. The call ends at the first place where it can go on later, which may be beyond it,
              and goes on there when it is called again. Where a budget does not get it any further, the next calls take
              twice, four times, ... as many steps, so even calls with a budget of 1 come to an end.
              Not divided are a derivative of thousands of alternatives, and a memory that grows: milliseconds.
     Returns  1: the mask of the text's place is there, but for joining its parts, or as many steps as a call may take
              (samp_set_grammar_limits) have been spent on it; 1 too while a lazy grammar waits. 0: not yet.
              SAMP_E_RANGE (budget), SAMP_E_NULL, SAMP_E_UNSUPPORTED (not a grammar's sampler), SAMP_E_FULL,
              SAMP_E_NOMEM. After an error nothing has changed.
     Results  samp_apply, samp_sample, samp_grammar_mask and all others give what they give without it; a mask that
              takes more steps than a call may can be made in several calls so. The sampler stays where it is.
     Memory   what is found is learnt for all samplers of the grammar. What is begun is the sampler's (one mask, 4 bytes
              for 32 tokens, and lists) until it is done, or a token is accepted or taken back; a clone begins anew.
     Threads  any thread may call it, but only one at a time may use the sampler; others may use the grammar. */
SAMP_API int samp_grammar_prepare(samp_sampler *s, int64_t budget);
/* 1: the text may end here. */
SAMP_API int samp_grammar_is_complete(const samp_sampler *s);
/* The bytes that must follow, whatever comes. */
SAMP_API int64_t samp_grammar_forced(samp_sampler *s, char *bytes, size_t size);

/* samp_grammar_draft -- what must follow as tokens: a draft for samp_verify, which saves a step of the model for each
   that it accepts. Names of members, punctuation, a const: with "ordered" and "compact" or "spaced" much of a schema is
   forced; where any white space may come, little is.
     tokens   [n_max] (may be NULL if n_max is 0) of the bytes that samp_grammar_forced tells, always the longest that
              fits. Other tokens may spell the same bytes, so the model has the last word. Not told is the last one
              where one that the grammar allows begins with it and goes on behind what is forced.
     Returns  how many, 0 .. n_max; 0 too while a lazy grammar waits. SAMP_E_NULL, SAMP_E_UNSUPPORTED (not a grammar's
              sampler), SAMP_E_FULL, SAMP_E_NOMEM. The sampler stays where it is.
     Exactly  with SAMP_VERIFY_EXACT the tokens are those without a draft, in any chain.
   samp_grammar_certain -- those of its tokens, from the first on, that are each the only bit of their mask: no other
   token begins so. They need no step of the model, as in jump-forward decoding elsewhere: accept them, and give them to
   the model with the next token. Where draws count (random numbers, mirostat), take them by samp_sample over any row,
   zeros too: with the grammar as the chain's first member it gives that very token, and leaves the chain as the model's
   row would. Ends of generation and tokens without bytes are not told.
     tokens, n_max, Returns  as there: the front of that draft.
   Source   SGLang's jump-forward decoding, llguidance's fast-forward tokens. */
SAMP_API int64_t samp_grammar_draft(samp_sampler *grammar, samp_token *tokens, size_t n_max);
/* Those at its front that nothing else could be. */
SAMP_API int64_t samp_grammar_certain(samp_sampler *grammar, samp_token *tokens, size_t n_max);

/* samp_grammar_sample -- sample as llama.cpp's programs do: the chain, which has no grammar, draws; only if the grammar
   does not allow that token, it draws once more from what is allowed. Chain and grammar accept the token.
     Returns  as samp_sample; an error of the second draw leaves the first one counted.
     Draws    under MT19937 llama.cpp's tokens. For the distribution under the grammar, put it into the chain. */
SAMP_API samp_token samp_grammar_sample(samp_sampler *chain, samp_sampler *grammar, const float *logits,
                                        size_t n_vocab);
