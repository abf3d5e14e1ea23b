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

typedef struct samp_grammar samp_grammar;

/* samp_grammar_init -- reads a grammar from a text.
     text     is a string that ends with 0. A regular expression has at most 8192 bytes, a class ([a-z...]) at most 4096
              ranges.
     GBNF     is accepted as llama.cpp accepts it (its grammars/README.md): names, literals, classes, groups, * + ?
              {m,n}, tokens <[id]> and <text>, ! before a token. A rule may call itself at any place. Byte 0 is allowed
              only where a literal or a class names it by itself (\x00, but not a range, [^a] or .); llama.cpp never
              allows byte 0.
     Regex    Regular expressions are those of ECMA-262 without lookbehind and backreferences; of \p and \P they have
              the general categories (\p{L}, \p{Lu}, \p{Decimal_Number}), unless SAMP_NO_UNICODE is defined. Lookahead,
              \b and \B may be anywhere: what they demand is a condition on the rest of the text, so a token after
              which nothing satisfies it is masked. Beyond ECMA-262, (?i) in front of the expression and (?i:...) make
              the letters A to Z equal a to z, (?-i:...) ends that, and (?P<name>...) is a group. What is refused is
              named with its place. Triggers, bans and stops have neither lookahead nor \b.
     Schemas  JSON schemas follow 2020-12, or draft 4, 6 or 7 if $schema says so. No text that violates the schema is
              accepted. A keyword that the grammar cannot express is refused, with its place ("/properties/a/not: ..."):
              uniqueItems, except where one schema is for all items and they are scalars; multipleOf with more than four
              digits; more than three contains; unevaluatedItems and unevaluatedProperties beside allOf, $ref and the
              like with schemas that evaluate something; $dynamicRef and $recursiveRef; schemas of other files; the
              format idn-hostname (needs Unicode's tables). A format that the standard does not define has no effect.
              A format is always a condition; contentEncoding, contentMediaType and $vocabulary have no effect.
              The other formats are those of their RFCs, with these exceptions. hostname is RFC 1123's: what an xn--
              label encodes is not checked, as this needs Unicode's tables. The domain of an idn-email is ASCII, for the
              same reason. A leap second has an offset of whole quarters of an hour, as all zones have had since leap
              seconds exist. An email's address literal is IPv4 or IPv6; no others are registered. A uri-template has no
              operator that RFC 6570 reserves. A regex has groups at most three deep, and no lookaround, named group or
              backreference. relative-json-pointer has no +n and -n, which are newer than draft 7.
              $ref and $id are resolved as RFC 3986 says, and then compared byte by byte.
              Some values are accepted only if they are spelled in certain ways. A number has no exponent if it has
              bounds, is given by an enum or const, or must be whole. A string has the shortest escape of each character
              (\u00xx in small letters) if it has a pattern or a format, or is given by an enum or const; so has the
              name of a member that is not listed, if other names are listed.
              A name that is not listed may come twice; the last one counts, as in JSON.parse, Python, Go and jq. So if
              a member must violate a condition (not, oneOf, if), a later member of the same name could undo that. To
              exclude this, such a later member must violate the condition too. The grammar compares names by a checksum
              of three bits, so some members with other names must violate the condition as well.
     Tags     Structural tags are JSON: {"type":"structural_tag","format":...}, as in XGrammar and in vLLM's
              response_format; or the older {"structures":[{"begin","schema","end"} ...],"triggers":[...]}. Formats:
              const_string, json_schema, qwen_xml_parameter, regex, grammar (GBNF), any_text, sequence, or, optional,
              plus, star, repeat, tag, triggered_tags, tags_with_separator, dispatch, token, exclude_token, any_tokens,
              token_triggered_tags, token_dispatch. The text is free up to the first trigger in it. From the beginning
              of this trigger on, one of the tags must follow that begin with it; then the text is free again.
              at_least_one: the text begins with a tag; stop_after_first: it ends behind one. Free text within a tag
              does not contain the texts that end the tag. Strings are compared as bytes, also within tokens. A token
              without bytes is allowed only by a token format. A tag may begin with a regular expression:
              {"type":"regex","pattern":...}; behind free text, all its texts must begin with the same trigger. The
              max_tokens of any_text counts the tokens that have a byte of the text, also those in which it begins or
              ends; no token is allowed with which the text would need one more to end a character. Refused: unknown
              members.
     Styles   json_schema has a style: json, or one in which a model writes the arguments of a tool call as tags:
              qwen_xml (as qwen_xml_parameter), minimax_xml, deepseek_xml, glm_xml, cohere_xml, kimi_k3_xml. The value
              is an object, and each member a tag with its name and its value. A string is written as it is, without
              quotes and escapes; other values are JSON, and in cohere_xml arrays and objects are tags again (a value
              without any condition is JSON there). White space may come between tags and around values; around a
              string it may belong to it or not. No string contains the end of a tag of the style. Where a tag says
              the type of its value (deepseek_xml, cohere_xml, kimi_k3_xml), it is that of the value. A name that the
              schema does not list is letters, digits and _, without a digit at its front; where patternProperties or
              propertyNames speak of it, any characters but < > & " and control characters. Refused: a schema that
              allows no object, listed names with < or >, or " where a quote ends the name, minProperties that counts
              names which are not listed; in cohere_xml uniqueItems.
     root     For GBNF, root is the name of the first rule (NULL: "root"). For a JSON schema, root has options,
              separated by spaces (NULL: no option). With "ordered", members come in the order in which the text of
              the schema lists them in `properties`; those of a $ref, or of a branch of allOf, anyOf and so on, come at
              its place. Behind them come the names that are only required, then the members that the schema does not
              list. Without "ordered" members come in any order. An object in
              which a member must violate a condition (not, oneOf, if) may take its members in any order even with
              "ordered". Refused with "ordered" is an object whose members must be counted (minProperties,
              maxProperties), if n (m + 1) is more than 65,536: n is the number of its listed members, and m is
              maxProperties, or minProperties if there is no maxProperties, but at most n. With "compact" there is no
              white space between JSON's tokens; with "spaced" there is one space after each comma and colon; with
              "space=N" there are at most N (0 to 1,000) characters of white space in a row; without one of these three
              any white space is allowed, but none around the whole text; a model may then write white space until it
              has no tokens left. Around the tags of a style one character of white space may come even with "compact",
              "spaced" or "space=0", because models write a line break there. For a structural tag the same options
              apply to all schemas in it; any_order and max_whitespace_cnt in the tag take precedence. Numbers are
              written plainly: where all must be whole (type integer, whole values of const and enum, multipleOf a whole
              number), without fraction and exponent; values of const and enum as short as possible; other fractions
              have at most 24 places (behind those of a bound), exponents three digits. With "any-number" every spelling
              of the standard is allowed, such as 1.000 for 1, except that a number which a keyword constrains has no
              exponent.
     Returns  the grammar; NULL on error. error->status (error may be NULL) is SAMP_OK, or: SAMP_E_FORMAT, with the
              place where the text is wrong; SAMP_E_UNSUPPORTED: the text asks for something that cannot be expressed;
              SAMP_E_EMPTY: no value satisfies the schema, with the place of the reason, or no text matches the regular
              expression (only a long search may miss this, as for an intersection of several patterns);
              SAMP_E_RANGE: the text is too large or too deep, or kind or root is not one of the above; SAMP_E_NULL;
              SAMP_E_NOMEM.
     Threads  Any number of samplers may use the grammar at the same time, also in different threads. The grammar keeps
              what they compute. It must outlive them.
     Free     with samp_grammar_free; NULL is allowed. */
SAMP_API samp_grammar *samp_grammar_init(samp_grammar_kind kind, const char *text, const char *root,
                                         samp_grammar_error *error);
/* Free a grammar; NULL is allowed. */
SAMP_API void samp_grammar_free(samp_grammar *grammar);

/* samp_builtin_tag -- writes the structural tag of a model's tool calls, for samp_grammar_init: the texts that the
     model may write, with calls of these tools in the form that it was trained on.
     model    llama, qwen_3 (qwen), qwen_3_coder (qwen_3_5, qwen_coder), exaone, glm_4_7 (glm47), minimax, kimi,
              kimi_k3, deepseek_r1, deepseek_v3_1, deepseek_v3_2, deepseek_v4, cohere, harmony (gpt-oss)
     tools    the tools of a request to OpenAI's API, as JSON: [{"type":"function","function":{"name":...,
              "parameters":...}} ...]. A function without parameters, or with "strict": false, takes any object. NULL or
              []: no tools, so no calls
     options  words separated by spaces (NULL: none). "required": there is at least one call, and no text before it;
              "one": at most one call (with "required" and one tool it is a tool_choice with a name); "thinking": the
              text begins within the model's thinking; without it behind that, or where the model does not think
     text     [size] gets the tag and a final 0, as much of it as fits (may be NULL if size is 0)
     Returns  the length of the whole tag without the final 0, as snprintf; SAMP_E_NULL (model, text), SAMP_E_NAME
              (model), SAMP_E_RANGE (options), SAMP_E_EMPTY ("required" without tools), SAMP_E_FORMAT or
              SAMP_E_UNSUPPORTED (tools, with the place in *error, which may be NULL); SAMP_E_NOMEM. samp_grammar_init
              reads the schemas, this function does not.
     Text     Free text does not contain the marks of thinking, nor other marks of the model that would be read as a
              part of a call. Behind calls text may follow; not in harmony and kimi_k3, with "one", or behind a section
              of calls (minimax, kimi, deepseek, cohere) that is required.
     Source   XGrammar's built-in structural tags, whose names these are; the models' chat templates. */
SAMP_API int64_t samp_builtin_tag(const char *model, const char *tools, const char *options, char *text, size_t size,
                                  samp_text_error *error);

/* A vocabulary that is prepared for grammars: its tokens as a trie. */
typedef struct samp_vocab_index samp_vocab_index;

/* samp_vocab_index_init -- prepares a vocabulary, once for all grammars.
     vocab    The index keeps the pointer to vocab, which must outlive the index. A token has at most 1023 bytes, and
              the trie of all tokens at most 2^22 nodes.
     Returns  the index; NULL on error. *status (may be NULL): SAMP_OK, SAMP_E_NULL, SAMP_E_EMPTY (n_vocab is 0),
              SAMP_E_RANGE, SAMP_E_NOMEM.
     Memory   12 bytes for each node of the trie and 4 for each token, about 4 MB for 128,256 tokens.
     Threads  an index never changes, so any number of samplers may use it at the same time. It must outlive them.
   samp_vocab_index_free -- free an index; NULL is allowed. */
SAMP_API samp_vocab_index *samp_vocab_index_init(const samp_vocab *vocab, int *status);
/* Free an index; NULL is allowed. */
SAMP_API void samp_vocab_index_free(samp_vocab_index *index);

/* samp_vocab_index_save -- writes the index as samp_vocab_index_size bytes. Returns SAMP_OK, SAMP_E_NULL, or
     SAMP_E_WORKSPACE (size is too small).
   samp_vocab_index_map -- makes an index that uses saved bytes where they lie in memory, for example in a mapped file,
     and does not copy them. The bytes must outlive the index.
     bytes    [size] all bytes that samp_vocab_index_save wrote, aligned to 4. The vocabulary must be the same as then;
              only its size is checked.
     Returns  as samp_vocab_index_init; SAMP_E_FORMAT: the bytes are not a saved index, or one of a machine with another
              byte order, or one of a vocabulary of another size; SAMP_E_RANGE: the bytes are not aligned. */
SAMP_API size_t samp_vocab_index_size(const samp_vocab_index *index);
/* Write the index, samp_vocab_index_size bytes. */
SAMP_API int samp_vocab_index_save(const samp_vocab_index *index, void *bytes, size_t size);
/* Makes an index that uses saved bytes where they lie in memory. */
SAMP_API samp_vocab_index *samp_vocab_index_map(const samp_vocab *vocab, const void *bytes, size_t size, int *status);

/* samp_init_grammar -- makes a sampler that masks every token after which the text could not become a text of the
   grammar.
     Text     The text is that of the tokens accepted since the sampler was made or reset (samp_reset); it may end
              within a character. Tokens that end a generation are allowed exactly when the text is complete; accepting
              them changes nothing. Tokens without bytes are masked, unless the grammar names them. A rule that calls
              itself without end is entered, as in llama.cpp. A part of a JSON schema that no text can satisfy is
              entered too if only a long search would show this, or if it would have to be infinitely deep: after that
              no token is allowed.
     Accept   samp_accept returns SAMP_E_RANGE for a token that is not allowed. If the sampler is a member of a chain,
              then no other member has accepted that token either. So the tokens of a prompt are accepted before the
              grammar is inserted. In a schedule (samp_init_schedule) the sampler reads only the tokens that are
              accepted while the schedule is active.
     Order    The sampler may be at any place in a chain. If it is the first one, the row is masked before the chain
              runs, so the chain can still take the fast path.
     Row      The row may be longer than the vocabulary; the additional tokens are masked. If the grammar comes first,
              such a row is SAMP_E_RANGE under MT19937. A row that is shorter is SAMP_E_RANGE. If the grammar comes
              first, the logit of a token that it masks is not read, so the logit may be NaN; only log-probabilities
              read it.
     Leaves   the size of the array unchanged. A token that is not allowed gets -infinity, and `sorted` becomes false if
              that changes a logit. After a sampler that selects, the result is SAMP_E_EMPTY if the selected token is
              not allowed.
     Draws    No random numbers are drawn.
     Returns  a sampler. It carries SAMP_E_NULL (vocab, grammar), or SAMP_E_RANGE (grammar: a <text> in it is not a
              token). Applying the sampler returns SAMP_E_EMPTY if no token is allowed, and SAMP_E_FULL if it exceeds
              the limits of samp_set_grammar_limits.
     Memory   All samplers of a grammar and an index, clones too, share what they compute: states of the grammar, and
              masks. This memory belongs to the grammar. It grows also while sampling (SAMP_E_NOMEM), is kept for later
              samplers, and is freed with the grammar. If an index has no samplers any more (it may have been freed),
              its part of this memory is freed when the grammar is first used with another index. Each sampler has
              memory of its own for its position in the text and for a mask (4 bytes for 32 tokens). index and grammar
              must outlive it.
     Threads  Any number of threads may use samplers of one grammar at the same time, and no thread waits for another.
              SAMP_MALLOC must be a function that threads may call. If SAMP_NO_THREADS is defined, only one thread may
              use them, and no atomics are used.
     Source   llama.cpp's grammars and GBNF; llguidance (derivatives, a lazy DFA, the trie); XGrammar (masks that are
              kept for states, with an open part that depends on the stack). */
SAMP_API samp_sampler *samp_init_grammar(const samp_vocab_index *index, const samp_grammar *grammar);

/* samp_init_grammar_lazy, samp_init_grammar_lazy_patterns -- make a grammar's sampler that waits for a trigger, as for
   tool calls in free text, or for an answer behind </think>. Until the trigger the sampler allows every token of the
   vocabulary that the grammar would not refuse (see Replay). From the trigger on, the text must be a text of the
   grammar.
     tokens   [n_tokens] the grammar begins with the first token that is one of these. If such a token has no bytes, and
              the grammar cannot begin with its name, the grammar begins behind it. A token such as </think> mostly has
              bytes, which would belong to the grammar's text: then put the grammar into a schedule
              (samp_init_schedule).
     words    [n_words] the grammar begins with the first of these words in the text so far, even within a token.
     patterns [n_patterns] regular expressions. After each token the sampler searches for them in the text so far, in
              this order; a pattern ^...$ is first tried with the whole text, and then searched for. The grammar begins
              at the first group of the match that is not empty, or, if there is no such group, at the match. Patterns
              are read as in samp_grammar_init, but classes match bytes; a pattern has at most 64 groups. Patterns with
              more than 2^16 operations, or 2^20 operations times groups, are SAMP_E_RANGE. If there are several ways to
              match, the first one that backtracking finds counts; a group within a repetition keeps its text from one
              repetition to the next.
     Replay   At the trigger the text from the beginning of the grammar on is accepted, token by token (a token without
              bytes by its name, as always). A token that completes a trigger, but makes the grammar refuse this text,
              is masked; samp_accept returns SAMP_E_RANGE for it, and nothing has changed.
     State    The state is the tokens accepted since the sampler was made or reset; after samp_reset it waits again.
     Returns  as samp_init_grammar. The sampler may also carry SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_FORMAT or
              SAMP_E_UNSUPPORTED, with the name of the wrong list as the field: "trigger_words", "trigger_patterns" or
              "trigger_tokens". All arguments are copied. Without any trigger the sampler waits without end.
     Cost     While the sampler waits, it takes some ten nanoseconds for each byte of the text and each way in which a
              pattern may match there; the text is never searched again. A mask takes a walk over the vocabulary, about
              a millisecond for 128k tokens, where the text may have begun a trigger; elsewhere the sampler keeps it.
     Source   llama.cpp's lazy grammars.
   samp_grammar_is_awaiting -- returns 1 if the sampler waits for its trigger; 0 if it does not, or no longer; or a
   status. */
SAMP_API samp_sampler *samp_init_grammar_lazy(const samp_vocab_index *index, const samp_grammar *grammar,
                                              const char *const *words, size_t n_words, const samp_token *tokens,
                                              size_t n_tokens);
/* Makes a grammar's sampler that waits for one of these patterns. */
SAMP_API samp_sampler *samp_init_grammar_lazy_patterns(const samp_vocab_index *index, const samp_grammar *grammar,
                                                       const char *const *patterns, size_t n_patterns,
                                                       const samp_token *tokens, size_t n_tokens);
/* Returns 1 if the sampler waits for its trigger. */
SAMP_API int samp_grammar_is_awaiting(const samp_sampler *s);

/* samp_set_grammar_limits -- sets how many bytes of memory a grammar may hold, for all its samplers with this sampler's
   index (default 64 MiB, at least 65,536 bytes), and how many steps a call on this sampler may take (default 2^24, at
   least 1024). A step of the work on a mask or an accepted token takes some ten nanoseconds.
     Bytes    All memory of the grammar counts: what was computed (states, masks, tables), the working memory of calls,
              and each sampler's own position; also both copies of a block that is being enlarged. Making or cloning a
              sampler may exceed the limit. While what was computed is moved, a twentieth may be added. Loading a state
              may take up to the limit again. Memory that a call in another thread still reads counts in addition to the
              limit until that call ends. When the limit is reached, about half of what was computed is dropped,
              beginning with what was not used for the longest time; it is computed again when it is needed. If one call
              needs more memory, more is dropped, and everything only if the call needs all the memory; if that is not
              enough, the positions to which samp_rollback goes back are dropped too. A call that needs still more
              returns SAMP_E_FULL, and nothing has changed. A call that drops data takes longer: up to some ten
              milliseconds with the default limit, and in proportion more with a larger one.
     Steps    A call takes fewer steps the more any sampler of the grammar has computed before. If a sampler's position
              was dropped, the sampler reads its text again; this counts too, without the first 64 steps for each token.
              What a call has computed before it returns SAMP_E_FULL is kept, so the next calls get further.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_UNSUPPORTED (the sampler is not a grammar).
     Threads  other threads may use the grammar meanwhile, but not this sampler. */
SAMP_API int samp_set_grammar_limits(samp_sampler *s, size_t max_bytes, int64_t max_steps);

/* The counts that samp_grammar_stats() returns, for all samplers of one grammar and one index together. */
typedef struct samp_grammar_usage {
    size_t n_states;   /* the number of states of the grammar that are in memory now */
    size_t n_entries;  /* the number of sets of tokens that are in memory now; a mask is the union of such sets */
    size_t n_masks;    /* masks made so far */
    size_t n_hits;     /* the number of masks all of whose sets were already in memory */
    size_t n_renewals; /* how often the memory for states and sets was replaced because it was full */
    size_t n_bytes;    /* bytes held */
    size_t max_bytes;  /* the limit of samp_set_grammar_limits */
} samp_grammar_usage;

/* samp_grammar_stats -- reports how much a grammar's samplers have computed together, and how much memory it takes.
   Returns SAMP_OK, SAMP_E_NULL, SAMP_E_UNSUPPORTED (the sampler is not a grammar), SAMP_E_NOMEM, SAMP_E_FULL. The
   counts may be without the last changes by calls that still run in other threads. */
SAMP_API int samp_grammar_stats(const samp_sampler *s, samp_grammar_usage *usage);

/* samp_grammar_mask -- writes which tokens may follow as a mask, in the form of samp_logits.mask: bits [(n_vocab + 31)
   / 32].
     Returns  SAMP_OK, also if no token is allowed; SAMP_E_NULL, SAMP_E_UNSUPPORTED (the sampler is not a grammar),
              SAMP_E_FULL, SAMP_E_NOMEM.   After an error bits are not valid.
   samp_grammar_is_complete -- returns 1 if the accepted text is a text of the grammar; 0 if it is only the beginning of
     a text of the grammar; or a status.
   samp_grammar_forced -- returns how many bytes the grammar forces to follow, at most 4096; bytes [size] gets as many
     of these as fit (bytes may be NULL if size is 0). These bytes are whole characters, except if size cuts a
     character. samp_grammar_draft returns them as tokens. The result is 0 while a lazy grammar waits, and while the
     grammar's schedule is not active (then the mask allows every token). */
SAMP_API int samp_grammar_mask(samp_sampler *s, uint32_t *bits);

/* samp_grammar_prepare -- does a part of the work for the next mask in advance, for instance while the model computes
   the logits.
     budget   the number of steps that the call may take, at least 1. A step takes some ten nanoseconds: it visits a
              node of the trie of tokens, or computes a part of a derivative. The call ends at the first point after its
              budget where the work can be interrupted; the next call continues there. If a call makes no progress
              within its budget, the next calls take twice, four times, ... as many steps, so even calls with a budget
              of 1 finish the work. A derivative of thousands of alternatives and an enlargement of the memory are not
              interrupted: they take milliseconds.
     Returns  1 if all parts of the mask are known and only have to be joined; or if the steps that a call may take
              (samp_set_grammar_limits) have been spent on this mask; or if a lazy grammar waits. 0 if work is left.
              SAMP_E_RANGE (budget), SAMP_E_NULL, SAMP_E_UNSUPPORTED (the sampler is not a grammar), SAMP_E_FULL,
              SAMP_E_NOMEM. After an error nothing has changed.
     Results  The results of samp_apply, samp_sample, samp_grammar_mask and all other functions are the same as without
              this call; but a mask that takes more steps than one call may take can be made in several calls. The
              sampler's position does not change.
     Memory   Finished parts of the mask are kept for all samplers of the grammar. Unfinished work belongs to the
              sampler (one mask, 4 bytes for 32 tokens, and lists) until it is done, or until a token is accepted or
              taken back; a clone begins anew.
     Threads  Any thread may call the function, but no other thread may use the sampler meanwhile; other threads may use
              the grammar. */
SAMP_API int samp_grammar_prepare(samp_sampler *s, int64_t budget);

/* samp_grammar_warm -- works masks out ahead, for all samplers of a grammar and an index: those first that a text meets
   first. A server calls it, for instance, in a thread of its own while the model reads the prompt.
     budget   the number of steps that the call may take, at least 1, as in samp_grammar_prepare. The call ends at the
              first point after its budget where the work can be interrupted; the next call continues there. The library
              reads no clock: to work for 25 ms, call the function with some 10,000 steps (about a tenth of a
              millisecond) until your clock says so or the result is 0.
     Order    From the beginning of a text on, breadth first. At each place the tokens are followed that lead to a new
              place; of those that only go on within a string, one is followed. A text along which masks are known
              already is given up after some tokens. So names of members, punctuation and the beginnings of values are
              reached first, and patterns of strings as far as one text leads through them.
     Returns  the number of steps that the call took. 0 if nothing is left to do: the masks that this function reaches
              are there; or the memory has no room for more; or another thread is in this function with the same grammar
              and index, and does the work. SAMP_E_NULL, SAMP_E_RANGE (budget; or a <text> of the grammar is not a
              token), SAMP_E_NOMEM (a later call continues).
     Results  All other functions return the same as without this call; masks need fewer steps.
     Memory   What is computed counts under the grammar's limit (samp_set_grammar_limits). Nothing that other calls have
              computed is dropped for it; the work ends where the memory would have to be renewed without becoming
              larger. The state of the work belongs to the grammar, and is freed with it or when the work is done.
     Threads  Any thread may call the function while other threads use samplers of the grammar, and no thread waits. The
              grammar and the index must outlive the call. */
SAMP_API int64_t samp_grammar_warm(const samp_vocab_index *index, const samp_grammar *grammar, int64_t budget);
/* Returns 1 if the text may end here. */
SAMP_API int samp_grammar_is_complete(const samp_sampler *s);
/* Returns how many bytes the grammar forces to follow, and writes these bytes. */
SAMP_API int64_t samp_grammar_forced(samp_sampler *s, char *bytes, size_t size);

/* samp_grammar_draft -- returns the text that the grammar forces to follow as tokens: a draft for samp_verify, which
   saves a step of the model for each accepted token. Forced text is names of members, punctuation, or a const. With
   "ordered" and "compact" or "spaced" much of a schema's text is forced; if any white space is allowed, little is.
     tokens   [n_max] (may be NULL if n_max is 0) gets tokens that spell the bytes of samp_grammar_forced, each time the
              longest token that fits. Other tokens may spell the same bytes, so the model may choose these. The last
              token is left out if the grammar also allows a longer token that begins with the same bytes and continues
              after the forced bytes.
     Returns  the number of tokens, 0 .. n_max; 0 also where samp_grammar_forced returns 0. SAMP_E_NULL,
              SAMP_E_UNSUPPORTED (the sampler is not a grammar), SAMP_E_FULL, SAMP_E_NOMEM. The sampler's position does
              not change.
     Exact    With SAMP_VERIFY_EXACT the output of samp_verify is the same as without a draft, in any chain.
   samp_grammar_certain -- returns the first tokens of this draft, as long as each is the only token that the mask
     allows.
   The tokens of samp_grammar_certain need no step of the model and no samp_verify, as in jump-forward decoding
   elsewhere: accept them, and give them to the model together with the next token. If the chain counts its draws (for
   random numbers or mirostat), draw them by samp_sample from any row, zeros for instance: with the grammar as the
   chain's first member it returns the same token, and leaves the chain in the state in which the model's row would.
   Tokens that end a generation and tokens without bytes are never returned.
     tokens, n_max, Returns  as in samp_grammar_draft; the tokens are the first ones of its draft.
   Source   SGLang's jump-forward decoding, llguidance's fast-forward tokens. */
SAMP_API int64_t samp_grammar_draft(samp_sampler *grammar, samp_token *tokens, size_t n_max);
/* Returns the first tokens of that draft, as long as each is the only token that the mask allows. */
SAMP_API int64_t samp_grammar_certain(samp_sampler *grammar, samp_token *tokens, size_t n_max);

/* samp_grammar_sample -- samples as llama.cpp's programs do. The chain, which contains no grammar, draws a token. If
   the grammar does not allow this token, the chain draws again from the tokens that are allowed. Then chain and grammar
   accept the token.
     Returns  as samp_sample; SAMP_E_RANGE if the row is shorter than the grammar's vocabulary. If the second draw
              fails, the first one still counts in the position.
     Draws    Under MT19937 the tokens are those of llama.cpp. They do not have the distribution that the chain gives to
              the allowed tokens; for that, make the grammar a member of the chain. */
SAMP_API samp_token samp_grammar_sample(samp_sampler *chain, samp_sampler *grammar, const float *logits,
                                        size_t n_vocab);
