/* ---- 14. tokens to text (SAMPLING_STOP) ------------------------------------------------------------------------
   A stream from tokens to the text that may be shown: whole characters only, and nothing that may be the beginning of
   a stop. It says where and why the text ends. */

/* samp_text -- a text that grows token by token, and the stops that end it.
     Text     The text is the bytes of all tokens, one after the other; the stops are searched for in these bytes,
              however they are split into tokens. What is shown is the same text, but each broken character of it (the
              longest beginning of a UTF-8 character that does not go on, or a byte that begins none) becomes U+FFFD,
              as WHATWG and Python decode it.
     Held     A call shows all bytes that may be shown. Held back are the bytes that may be the beginning of a stop, at
              most the longest stop without its last byte, and before them at most three bytes of a character that is
              not finished. With include_stop nothing is held back for a stop.
     Which    Of several stops the one whose last byte comes first ends the text; of those that end at the same byte
              the one that begins first; of those equal in both the one with the lower index. So neither the text nor
              the stop depends on how the text was split into tokens, or on the other stops that begin before and end
              later.
     Ends     The tokens of vocab->eog, and stop_tokens, end the text. Their own bytes are not searched, and not shown
              (with include_stop those of stop_tokens are).
     Memory   is allocated by samp_text_init, samp_text_from_settings, samp_text_add_pattern and samp_text_clone only:
              about 9 KB, at most 70 bytes for each byte of the strings, 12 for each byte of the longest stop, 4 for
              each byte of the longest token, and the tables of patterns.
     Threads  One thread at a time may use a text. */
typedef struct samp_text samp_text;

/* What a token did to its text. */
typedef enum samp_text_state {
    SAMP_TEXT_GOES_ON = 0,
    SAMP_TEXT_STOPPED = 1, /* a stop is complete: samp_text_stop, samp_text_stop_at */
    SAMP_TEXT_ENDED = 2    /* the token ends the text: one of vocab->eog, or of stop_tokens */
} samp_text_state;

/* How a text is read and where it ends. All members 0: only the stops and vocab->eog end it. */
typedef struct samp_text_options {
    /* [n_stop_tokens] further tokens that end the text, 0 .. SAMP_MAX_VOCAB - 1; one that is not in the vocabulary has
       no effect */
    const samp_token *stop_tokens;
    size_t n_stop_tokens;
    /* >= 0: the first so many tokens neither end the text nor complete a stop; a stop may begin in them. The chain
       needs samp_init_min_tokens so that no end is drawn among them (see "End" below) */
    int32_t min_tokens;
    bool include_stop; /* show the stop too, or the stop token */
    bool raw_bytes;    /* show the bytes of broken characters as they are */
    bool strip_space;  /* a space that is the text's first byte is not part of it, as SentencePiece's tokens need */
} samp_text_options;

/* samp_text_init -- makes an empty text.
     in       stops [n_stops]: strings that end the text, 1 to 65,536 bytes each, at most 65,536 of them and together
              at most 2^20 bytes; copied. The same string may occur twice. vocab is borrowed. options NULL: all members
              0. The lengths of all tokens of the vocabulary are read (about a millisecond for 128,000); a clone reads
              none
     Returns  a text, or NULL; then *status (status may be NULL) is SAMP_E_NULL: vocab, its token_bytes or eog, stops,
              one of them, or stop_tokens; SAMP_E_RANGE: the lengths above, an empty stop, n_vocab, a stop token,
              min_tokens; SAMP_E_NOMEM.
     Source   OpenAI's stop, vLLM's detokenizer.py, llama-server's stop, transformers' StopStringCriteria. */
SAMP_API samp_text *samp_text_init(const samp_vocab *vocab, const char *const *stops, size_t n_stops,
                                   const samp_text_options *options, int *status);

/* samp_text_from_settings -- makes a text with the stops of the request that samp_settings_from has read into these
   settings (SAMPLING_PEERS): its strings, patterns and tokens, and whether the stop is shown, the end tokens are
   ignored, and how many tokens come before a stop. Without such a request only vocab->eog ends the text.
     Patterns of a request (SGLang's stop_regex) match at most 1024 bytes; they need SAMPLING_GRAMMAR.
     Returns  what samp_text_init does; SAMP_E_NULL: settings; for a pattern the statuses of samp_text_add_pattern, or
              SAMP_E_UNSUPPORTED without SAMPLING_GRAMMAR. */
SAMP_API samp_text *samp_text_from_settings(const samp_settings *settings, const samp_vocab *vocab, int *status);

#ifdef SAMPLING_GRAMMAR_DECLARED
/* samp_text_add_pattern -- adds a regular expression as a stop (needs SAMPLING_GRAMMAR). Its index is the number of
   stops before it. Each part of the text of at most max_bytes bytes that matches it is a stop.
     in       pattern: in the syntax of SAMP_GRAMMAR_REGEX. ^ is the beginning of the text; $ is SAMP_E_UNSUPPORTED. It
              must not match the empty text. max_bytes: 1 .. 4096; fewer bytes than that are held back, as long as the
              pattern could go on, also where too few are left for it to end
     Returns  SAMP_OK; SAMP_E_NULL; SAMP_E_RANGE: max_bytes, a pattern that matches the empty text, more than 1024
              patterns, or a text that has tokens already; SAMP_E_FORMAT, SAMP_E_UNSUPPORTED: the pattern;
              SAMP_E_FULL: it needs more than 4096 states; SAMP_E_NOMEM. After an error nothing has changed.
     Cost     A byte of the text costs a step for each place at which a match may have begun, at most max_bytes.
     Source   SGLang's stop_regex. */
SAMP_API int samp_text_add_pattern(samp_text *text, const char *pattern, size_t max_bytes);
#endif

/* samp_text_push -- adds a token to the text.
     out      *out, *n: the bytes to show now, [*n], n = 0 if there are none; good until the next call with this text.
              If the text goes on, they end with a whole character. If it has stopped or ended, they are the rest of
              the text
     Returns  a samp_text_state. After SAMP_TEXT_STOPPED, SAMP_TEXT_ENDED or samp_text_flush the text takes no further
              token: the call returns the same (after a flush SAMP_TEXT_ENDED), with *n = 0.
              SAMP_E_NULL; SAMP_E_RANGE: a token that is not in the vocabulary, or that has become longer; SAMP_E_FULL:
              more than 2^31 - 2 tokens. Then the text has not changed.
     End      A chain whose text has stopped draws on, if it is called again. In a batch that does not drop such rows,
              this makes the row draw the end token from then on (SAMPLING_CONSTRAINTS):
                  samp_chain_insert(chain, 0, samp_init_allowed_tokens(&vocab->eos, 1));
              and this keeps a chain from drawing an end too early, begin being the length of the accepted prompt:
                  samp_chain_insert(chain, 0, samp_init_min_tokens(vocab->eog, vocab->n_eog, min_tokens, begin));
     Cost     some ten nanoseconds a byte. */
SAMP_API int samp_text_push(samp_text *text, samp_token token, const char **out, size_t *n);

/* samp_text_flush -- ends a text that goes on, because no token follows: shows what was held back. *out, *n as with
   samp_text_push. After a stop or an end, or a second time, there is nothing to show.
     Returns  SAMP_OK or SAMP_E_NULL. */
SAMP_API int samp_text_flush(samp_text *text, const char **out, size_t *n);

/* samp_text_stop -- returns the index of the stop that has ended the text: of stops, and behind them of the patterns
   in the order in which they were added. -1: no stop has.
   samp_text_stop_at -- says where the stop begins, so that tokens and their log-probabilities can be cut there: *token
   is the number of the token, from 0, and *byte the place in its bytes. For SAMP_TEXT_ENDED it is the token that ends
   the text, and 0. Both pointers may be NULL.
     Returns  SAMP_OK; SAMP_E_NULL: text; SAMP_E_EMPTY: neither a stop nor a token has ended the text. */
SAMP_API int32_t samp_text_stop(const samp_text *text);
/* Says in which token, and at which of its bytes, the stop begins. */
SAMP_API int samp_text_stop_at(const samp_text *text, int32_t *token, size_t *byte);

/* samp_text_rollback -- takes back the last n tokens, as samp_rollback does for the chain. The text is then as it was
   behind the token before them: it goes on, also after a stop that is taken back, and what the calls for the n tokens
   have shown is the caller's to take back. n = 0 only takes back a samp_text_flush.
     Kept     The last 1024 tokens that have bytes can be taken back, and those without bytes between them. Tokens that
              were taken back count among the 1024 until others have come in their place.
     Returns  SAMP_OK; SAMP_E_NULL; SAMP_E_RANGE: n < 0, more than the text has, or more than are kept, or a token that
              has become longer. Then nothing has changed.
     Cost     as a push of the longest stop. */
SAMP_API int samp_text_rollback(samp_text *text, int32_t n);

/* samp_text_clone -- makes a copy, which goes on alike; NULL: text is NULL, or there is no memory. */
SAMP_API samp_text *samp_text_clone(const samp_text *text);
/* Begins an empty text with the same stops. */
SAMP_API void samp_text_reset(samp_text *text);
/* Frees a text; takes NULL. */
SAMP_API void samp_text_free(samp_text *text);
