/* ---- 7. grammars (SAMPLING_GRAMMAR) ---------------------------------------------------------------------------
   Samplers that allow only the tokens with which the text can still match a grammar: GBNF, a JSON schema, a regular
   expression, or a structural tag. samp_grammar_init turns a text into a samp_grammar, and samp_init_grammar makes a
   sampler of it. Other functions return the sampler's mask, and the text that must follow. An index of the vocabulary
   makes masks fast; many samplers may share one index. */

/* The language of a grammar. */
typedef enum samp_grammar_kind {
    SAMP_GRAMMAR_GBNF = 0,          /* as llama.cpp reads it */
    SAMP_GRAMMAR_JSON_SCHEMA = 1,   /* a JSON schema, which the text must satisfy */
    SAMP_GRAMMAR_REGEX = 2,         /* a regular expression, which the whole text must match */
    SAMP_GRAMMAR_STRUCTURAL_TAG = 3 /* free text with tool calls, as in XGrammar and vLLM */
} samp_grammar_kind;

typedef samp_text_error samp_grammar_error;

typedef struct samp_grammar samp_grammar;

/* samp_grammar_init -- read a grammar.
     text     ends with 0. A regular expression has at most 8192 bytes, a class at most 4096 ranges.
     GBNF     is accepted as llama.cpp accepts it (its grammars/README.md): names, literals, classes, groups, * + ?
              {m,n}, tokens <[id]> and <text>, ! before a token. A rule may call itself at any place. Byte 0 is allowed
              only where a literal or a class names it by itself (\x00, not a range, [^a] or .); llama.cpp never
              allows it.
     Regex    Regular expressions are ECMA-262's without lookaround, \b, \p and backreferences.
     Schemas  JSON schemas follow 2020-12, or draft 4, 6 or 7 if $schema says so. No text that violates the schema is
              accepted. A keyword that cannot be expressed is refused, with its place ("/properties/a/not: ..."):
              uniqueItems, except for items of an enum or whole numbers from -99 to 99; multipleOf with more than four
              digits; more than three contains; unevaluatedItems and unevaluatedProperties, unless true; $dynamicRef and
              $recursiveRef; schemas of other files; the formats regex, uri-template, iri, iri-reference, idn-email and
              idn-hostname. A format that the standard does not define has no effect.
              Some values are accepted in some of their spellings only. A number has no exponent if it has bounds, is
              given by an enum or const, or must be whole. A string has the shortest escape of each character (\u00xx in
              small letters) if it has a pattern or a format, or is given by an enum or const; so has the name of a
              member that is not listed, if other names are listed.
              A name that is not listed may come twice; the last one counts, as in JSON.parse, Python, Go and jq. So if
              a member must violate a condition (not, oneOf, if), a later member of the same name could undo that. To
              exclude this, such a later member must violate the condition too. The grammar compares names by a checksum
              of three bits, so some members with other names must violate the condition as well.
     Tags     Structural tags are JSON: {"type":"structural_tag","format":...}, as in XGrammar and in vLLM's
              response_format; or the older {"structures":[{"begin","schema","end"} ...],"triggers":[...]}. Formats:
              const_string, json_schema, regex, grammar (GBNF), any_text, sequence, or, optional, plus, star, repeat,
              tag, triggered_tags, tags_with_separator, dispatch, token, exclude_token, any_tokens,
              token_triggered_tags. The text is free up to the first trigger in it. From the beginning of this trigger
              on, one of the tags must follow that begin with it; then the text is free again. at_least_one: the text
              begins with a tag; stop_after_first: it ends behind one. Free text within a tag does not contain the texts
              that end the tag. Strings are compared as bytes, also within tokens. A token without bytes is allowed only
              by a token format. Refused: token_dispatch, more than one token to exclude, max_tokens of any_text, styles
              of json_schema other than json, unknown members.
     root     for GBNF the name of the first rule (NULL: "root"). For a JSON schema words, separated by spaces (NULL: no
              word). "ordered": members come in the order of the schema, other members behind them; without it in any
              order. An object in which a member must violate a condition (not, oneOf, if) may take them in any order
              all the same. Refused with "ordered": an object whose members must be counted (minProperties,
              maxProperties), if its listed members times that bound are more than 65,536. "compact": no white space
              between JSON's tokens; "spaced": one space behind each comma and colon; without either any white space,
              but none around the whole text. For a structural tag the same words apply to all schemas in it; any_order
              in the tag takes precedence.
     Returns  the grammar; NULL on error. *error (may be NULL) is SAMP_OK, or: SAMP_E_FORMAT with the place where the
              text is wrong; SAMP_E_UNSUPPORTED: it cannot be expressed; SAMP_E_RANGE: it is too large or too deep, or
              kind or root is not one of the above; SAMP_E_NULL; SAMP_E_NOMEM.
     Threads  any number of samplers may use the grammar at the same time. What they compute is kept with it. It must
              outlive them.
     Free     with samp_grammar_free; NULL is allowed. */
SAMP_API samp_grammar *samp_grammar_init(samp_grammar_kind kind, const char *text, const char *root,
                                         samp_grammar_error *error);
/* Free a grammar; NULL is allowed. */
SAMP_API void samp_grammar_free(samp_grammar *grammar);

/* A vocabulary that is prepared for grammars: its tokens as a trie. */
typedef struct samp_vocab_index samp_vocab_index;

/* samp_vocab_index_init -- prepare a vocabulary, once for all grammars.
     vocab    borrowed; it must outlive the index. A token has at most 1023 bytes, and the trie of all tokens at most
              2^22 nodes.
     Returns  the index; NULL on error. *status (may be NULL): SAMP_OK, SAMP_E_NULL, SAMP_E_EMPTY (n_vocab is 0),
              SAMP_E_RANGE, SAMP_E_NOMEM.
     Memory   12 bytes a node and 4 a token, about 4 MB for 128,256 tokens.
     Threads  an index never changes, so any number of samplers may use it at the same time. It must outlive them.
   samp_vocab_index_free -- free an index; NULL is allowed. */
SAMP_API samp_vocab_index *samp_vocab_index_init(const samp_vocab *vocab, int *status);
/* Free an index; NULL is allowed. */
SAMP_API void samp_vocab_index_free(samp_vocab_index *index);

/* samp_vocab_index_save -- write the index, as samp_vocab_index_size bytes. Returns SAMP_OK, SAMP_E_NULL, or
     SAMP_E_WORKSPACE (size is too small).
   samp_vocab_index_map -- make an index that reads such bytes where they are, as in a mapped file. The bytes must
     outlive the index.
     bytes    [size] all bytes of the index, aligned to 4. The vocabulary must be the same; only its size is checked.
     Returns  as samp_vocab_index_init; SAMP_E_FORMAT: these are other bytes, or of a machine with another byte order,
              or of a vocabulary of another size; SAMP_E_RANGE: the bytes are not aligned. */
SAMP_API size_t samp_vocab_index_size(const samp_vocab_index *index);
/* Write the index, samp_vocab_index_size bytes. */
SAMP_API int samp_vocab_index_save(const samp_vocab_index *index, void *bytes, size_t size);
/* Make an index that reads such bytes where they are. */
SAMP_API samp_vocab_index *samp_vocab_index_map(const samp_vocab *vocab, const void *bytes, size_t size, int *status);

/* samp_init_grammar -- mask every token behind which the text could not become a text of the grammar.
     Text     of the tokens that were accepted since the sampler was made or samp_reset; it may end within a character.
              Tokens that end a generation are allowed exactly where the text is complete, and change nothing. Tokens
              without bytes are masked, unless the grammar names them. A rule that calls itself without end is entered,
              as in llama.cpp. So is a required part that several keywords together make impossible, if only a search
              would show it (two patterns that no string matches both): after that no token is allowed.
     Accept   returns SAMP_E_RANGE for a token that is not allowed. If the sampler is a member of a chain, no other
              member has accepted that token.
     Order    any. If the sampler is the first of its chain, the row is masked before the chain runs, so the chain can
              still take the fast path.
     Row      may be longer than the vocabulary; the additional tokens are masked. If the grammar comes first, such a
              row is SAMP_E_RANGE under MT19937. If the grammar comes first, the logit of a token that it masks is not
              read, so it may be NaN; log-probabilities read it.
     Leaves   size. A token that is not allowed gets -infinity, and sorted becomes false if that changes anything.
              Behind a sampler that selects: SAMP_E_EMPTY if the selected token is not allowed.   Draws  none.
     Returns  a sampler. It carries SAMP_E_NULL (vocab, grammar), or SAMP_E_RANGE (grammar: a <text> in it is not a
              token). Applying it returns SAMP_E_EMPTY if no token is allowed, and SAMP_E_FULL beyond the limits of
              samp_set_grammar_limits.
     Memory   All samplers of a grammar and an index, clones too, share what they compute: states of the grammar, and
              masks. This memory belongs to the grammar. It grows also while sampling (SAMP_E_NOMEM), stays for later
              samplers, and is freed with the grammar; that of an index without samplers (it may have been freed) is
              freed when the grammar is first used with another index. A sampler itself has its position in the text
              and a mask (4 bytes for 32 tokens). index and grammar are borrowed.
     Threads  any number of threads may use samplers of one grammar at the same time, and none waits for another.
              SAMP_MALLOC must be a function that threads may call. With SAMP_NO_THREADS defined there is only one
              thread, and no atomics are used.
     Source   llama.cpp's grammars and GBNF; llguidance (derivatives, a lazy DFA, the trie); XGrammar (masks that are
              kept for states, with an open part that depends on the stack). */
SAMP_API samp_sampler *samp_init_grammar(const samp_vocab_index *index, const samp_grammar *grammar);

/* samp_init_grammar_lazy, samp_init_grammar_lazy_patterns -- make a grammar that waits for a trigger, as for tool calls
   in free text. Until the trigger it allows every token of the vocabulary. From the trigger on, the text must be a text
   of the grammar.
     tokens   [n_tokens] the grammar begins with the first token that is one of these. The grammar must name such a
              token if it has no bytes.
     words    [n_words] the grammar begins with the first of these words in the text so far, even within a token.
     patterns [n_patterns] regular expressions. Behind each token they are searched for in the text so far, in this
              order; ^...$ is tried with the whole text first, then anywhere. The grammar begins at the first group that
              is not empty, or without such a group at the match. They are read as in samp_grammar_init, but classes
              match bytes; at most 64 groups. If there are several ways to match, the first one that backtracking finds
              counts; a group within a repetition keeps its text from one time to the next.
     Replay   The text from the beginning of the grammar on is accepted at once, token by token (a token without bytes
              by its name, as always). If the grammar does not allow it, the token is SAMP_E_RANGE and nothing has
              changed (samp_grammar_sample draws another token).
     Drafts   a token of a draft that the waiting grammar would refuse counts as masked in its row, except with the
              exact method of samp_verify and samp_verify_tree.
     State    the tokens since the sampler was made or samp_reset; after samp_reset it waits again.
     Returns  as samp_init_grammar; also SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_FORMAT or SAMP_E_UNSUPPORTED, with the field
              "trigger_words", "trigger_patterns" or "trigger_tokens". All arguments are copied. Without any trigger the
              sampler waits without end.
     Cost     while it waits, some ten nanoseconds a byte; the whole text is searched once, at the trigger.
     Source   llama.cpp's lazy grammars.
   samp_grammar_is_awaiting -- 1: the sampler waits for its trigger; 0: it does not, or no longer; or a status. */
SAMP_API samp_sampler *samp_init_grammar_lazy(const samp_vocab_index *index, const samp_grammar *grammar,
                                              const char *const *words, size_t n_words, const samp_token *tokens,
                                              size_t n_tokens);
/* Make a grammar that waits for one of these patterns. */
SAMP_API samp_sampler *samp_init_grammar_lazy_patterns(const samp_vocab_index *index, const samp_grammar *grammar,
                                                       const char *const *patterns, size_t n_patterns,
                                                       const samp_token *tokens, size_t n_tokens);
/* 1: the sampler waits for its trigger. */
SAMP_API int samp_grammar_is_awaiting(const samp_sampler *s);

/* samp_set_grammar_limits -- set how many bytes a grammar may hold, for all its samplers with this sampler's index
   (default 64 MiB, at least 65,536), and how many steps a call on this sampler may take (default 2^24, at least 1024).
   A step takes some ten nanoseconds.
     Bytes    All blocks count: what was computed (states, masks, tables), the working memory of calls, and each
              sampler's own position; also both copies of a block that is being enlarged. Making or cloning a sampler
              may exceed the limit. Loading a state may take up to the limit again. What a call in another thread still
              reads counts in addition to the limit until that call ends. When the limit is reached, about half of what
              was computed is dropped, beginning with what was not used for the longest time; it is computed again when
              it is needed. If one call needs more, more is dropped, and all of it only where the call needs all the
              memory; if that is not enough, so are the positions that samp_rollback goes back to. A call that needs
              still more returns SAMP_E_FULL, and nothing has changed. A call that drops data takes longer: up to some
              ten milliseconds with the default, in proportion to the limit beyond.
     Steps    A call takes fewer steps the more any sampler has computed before. If a sampler's position was dropped, it
              reads its text again; each token may take as many steps as a call.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_UNSUPPORTED (the sampler is not a grammar).
     Threads  other threads may use the grammar meanwhile, but not this sampler. */
SAMP_API int samp_set_grammar_limits(samp_sampler *s, size_t max_bytes, int64_t max_steps);

/* What samp_grammar_stats() reports: about all samplers of one grammar and one index. */
typedef struct samp_grammar_usage {
    size_t n_states;   /* states of the grammar that are known now */
    size_t n_entries;  /* sets of tokens that are known now; masks are their unions */
    size_t n_masks;    /* masks made so far */
    size_t n_hits;     /* masks that needed nothing new: all their sets were known */
    size_t n_renewals; /* how often a store of states and sets was replaced: it was full */
    size_t n_bytes;    /* bytes held */
    size_t max_bytes;  /* the limit of samp_set_grammar_limits */
} samp_grammar_usage;

/* samp_grammar_stats -- report what a grammar's samplers have computed together, and its memory. Returns SAMP_OK,
   SAMP_E_NULL, SAMP_E_UNSUPPORTED (the sampler is not a grammar), SAMP_E_NOMEM, SAMP_E_FULL. The last changes of calls
   that other threads have not ended may be missing in the counts. */
SAMP_API int samp_grammar_stats(const samp_sampler *s, samp_grammar_usage *usage);

/* samp_grammar_mask -- write the tokens that may follow, in the form of samp_logits.mask: bits [(n_vocab + 31) / 32].
     Returns  SAMP_OK, also if no token is allowed; SAMP_E_NULL, SAMP_E_UNSUPPORTED (the sampler is not a grammar),
              SAMP_E_FULL, SAMP_E_NOMEM.   After an error bits are not valid.
   samp_grammar_is_complete -- 1: the text is a text of the grammar; 0: it is only the beginning of one; or a status.
   samp_grammar_forced -- return how many bytes must follow in every case, at most 4096; bytes [size] gets those that
     fit (bytes may be NULL if size is 0). These bytes are whole characters, except where size cuts one.
     samp_grammar_draft returns them as tokens. Returns 0 while a lazy grammar waits. */
SAMP_API int samp_grammar_mask(samp_sampler *s, uint32_t *bits);

/* samp_grammar_prepare -- do a part of the next mask's work in advance, for instance while the model computes the
   logits.
     budget   steps, at least 1. A step takes some ten nanoseconds: it visits a node of the trie of tokens, or computes
              a part of a derivative. The call ends at the first point behind its budget where it can be continued; the
              next call continues there. If a call makes no progress within its budget, the next calls take twice, four
              times, ... as many steps, so even calls with a budget of 1 finish the work. A derivative of thousands of
              alternatives and an enlargement of the memory are not divided: they take milliseconds.
     Returns  1: all parts of the mask are known, and only have to be joined; or the steps that a call may take
              (samp_set_grammar_limits) have been spent on it; or a lazy grammar waits. 0: not yet. SAMP_E_RANGE
              (budget), SAMP_E_NULL, SAMP_E_UNSUPPORTED (the sampler is not a grammar), SAMP_E_FULL, SAMP_E_NOMEM. After
              an error nothing has changed.
     Results  of samp_apply, samp_sample, samp_grammar_mask and all other functions are the same as without this call;
              but a mask that takes more steps than one call may take can be made in several calls. The sampler's
              position does not change.
     Memory   What was found is kept for all samplers of the grammar. What was begun belongs to the sampler (one mask, 4
              bytes for 32 tokens, and lists) until it is done, or until a token is accepted or taken back; a clone
              begins anew.
     Threads  any thread may call it, but no other thread may use the sampler meanwhile; other threads may use the
              grammar. */
SAMP_API int samp_grammar_prepare(samp_sampler *s, int64_t budget);
/* 1: the text may end here. */
SAMP_API int samp_grammar_is_complete(const samp_sampler *s);
/* The number of bytes that must follow in every case, and these bytes. */
SAMP_API int64_t samp_grammar_forced(samp_sampler *s, char *bytes, size_t size);

/* samp_grammar_draft -- return what must follow as tokens: a draft for samp_verify, which saves a step of the model for
   each token that it accepts. Such text is names of members, punctuation, a const. With "ordered" and "compact" or
   "spaced" much of a schema's text is forced; where any white space may come, little is.
     tokens   [n_max] (may be NULL if n_max is 0) gets tokens of the bytes of samp_grammar_forced, each time the longest
              that fits. Other tokens may spell the same bytes, so the model may choose others. The last token is left
              out if the grammar also allows a longer token that begins with the same bytes and continues behind the
              forced bytes.
     Returns  how many, 0 .. n_max; 0 too while a lazy grammar waits. SAMP_E_NULL, SAMP_E_UNSUPPORTED (the sampler is
              not a grammar), SAMP_E_FULL, SAMP_E_NOMEM. The sampler's position does not change.
     Exactly  with SAMP_VERIFY_EXACT the tokens are those without a draft, in any chain.
   samp_grammar_certain -- return the first tokens of that draft, while each is the only token that its mask allows.
   They need no step of the model, as in jump-forward decoding elsewhere: accept them, and give them to the model with
   the next token. If draws count (random numbers, mirostat), take them by samp_sample over any row, zeros for instance:
   with the grammar as the chain's first member it returns the same token, and leaves the chain as the model's row
   would. Tokens that end a generation and tokens without bytes are never returned.
     tokens, n_max, Returns  as samp_grammar_draft; the tokens are the front of that draft.
   Source   SGLang's jump-forward decoding, llguidance's fast-forward tokens. */
SAMP_API int64_t samp_grammar_draft(samp_sampler *grammar, samp_token *tokens, size_t n_max);
/* The tokens at the front of that draft to which there is no alternative. */
SAMP_API int64_t samp_grammar_certain(samp_sampler *grammar, samp_token *tokens, size_t n_max);

/* samp_grammar_sample -- sample as llama.cpp's programs do. The chain, which contains no grammar, draws a token. If the
   grammar does not allow this token, the chain draws again from the tokens that are allowed. Then chain and grammar
   accept the token.
     Returns  as samp_sample. If the second draw fails, the first one still counts in the position.
     Draws    under MT19937 the same tokens as llama.cpp. This is not the distribution under the grammar; for that, make
              the grammar a member of the chain. */
SAMP_API samp_token samp_grammar_sample(samp_sampler *chain, samp_sampler *grammar, const float *logits,
                                        size_t n_vocab);
