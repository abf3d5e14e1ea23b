/* ---- 12. constraints (SAMPLING_CONSTRAINTS) -------------------------------------------------------------------
   Bans of tokens, sequences and strings, biases, forced tokens, lengths, budgets of thinking, loop breakers. */

/* Samplers that mask, force or bias tokens, depending on the tokens accepted before. What they have in common, besides
   what is common to all samplers:
     Position the number of tokens that the sampler has accepted since it was made or reset (samp_reset). `begin` is the
              position of the first generated token: the length of the prompt if the prompt is accepted too, else 0.
     Order    They work anywhere in a chain. Hugging Face and vLLM apply them before truncation and temperature; a
              grammar that must be the first member of its chain may come before them. A token that one sampler has
              masked stays masked: no other sampler allows it again.
     Empty    If all tokens are masked, the draw returns SAMP_E_EMPTY, and nothing has changed.
     Leaves   all candidates in the array: a masked token has the logit -infinity. `sorted` becomes false, except if the
              sampler is off or changes no token at this position; a sampler that allows only some tokens sets `sorted`
              to false only if it has masked a token. Results beyond +-FLT_MAX become +-FLT_MAX.
     Accepts  The sampler accepts any token, even one that it masks: a prompt may contain this token, or another sampler
              may have selected it.
     Ids      Token ids in lists are in 0 .. SAMP_MAX_VOCAB - 1. An id that is not in the vocabulary of a draw has no
              effect; an id that occurs twice counts once.
     Row      A row that is shorter than the vocabulary of a sampler that has one is SAMP_E_RANGE.
     State    samp_clone, samp_state_save, samp_rollback, samp_verify and batches work as with any other built-in
              sampler. The sampler copies all arguments except a vocabulary, which it borrows (the caller keeps it
              alive).
     Cost     depends on the number of tokens whose logits change: less than a microsecond for a few. With
              sampling_gpu.h, this sampler and the samplers after it run on the CPU, or the whole chain if no sampler
              before this one removes tokens (samp_gpu_plan); only samp_init_top_p_decay runs on the device.
     Returns  a sampler. If an argument is bad, the sampler carries SAMP_E_NULL, SAMP_E_RANGE or SAMP_E_NAN and the name
              of the argument; if the length of a list is bad, it carries the name of the list. NULL: no memory.
     Memory   is allocated only when the sampler is made, and for samp_rollback (28 bytes for each token that can be
              taken back).
     Threads  Different threads may use different samplers at the same time, and only one thread at a time may use the
              same sampler, as with all samplers. */

/* A sequence of tokens. Its last token is biased when the text ends with all tokens before it. */
typedef struct samp_sequence {
    const samp_token *tokens; /* [n] */
    size_t n;                 /* 1 .. 1024 */
    float bias;               /* added to the logit; -INFINITY: masked */
} samp_sequence;

enum {
    SAMP_BAN_REWIND = 1,  /* mask no token until an occurrence is complete, and report it: see samp_rewind_length */
    SAMP_BAN_ANY_CASE = 2 /* in strings, the letters A to Z equal a to z */
};

/* samp_init_sequence_bias -- l += bias for each token that would complete a sequence. If a token completes several
   sequences, the biases of the longer ones are added first. A sequence of one token is always applied.
     Range    n <= 65,536; no sequence may occur twice; bias < +infinity. n = 0 is off.
     Source   Hugging Face's SequenceBiasLogitsProcessor and NoBadWords (-INFINITY). */
SAMP_API samp_sampler *samp_init_sequence_bias(const samp_sequence *sequences, size_t n);

/* samp_init_banned_sequences, samp_init_banned_strings -- prevent that the text contains one of these sequences of
   tokens (their bias is not read), or one of these strings of bytes.
     Masks    each token that would complete a sequence or string. A string is found in the bytes of the text, however
              the text is split into tokens: a token is masked if its bytes contain the string, or if the text ends with
              a beginning of the string and the token begins with the rest. Tokens without bytes change nothing.
     Rewind   If flags has SAMP_BAN_REWIND, the sampler masks no token until a sequence or string is complete, and the
              caller then takes its tokens back (see samp_rewind_length). So a text may begin as a banned string does,
              if it continues in another way. The sampler looks back twice as many tokens as the longest string has
              bytes. If tokens without bytes make an occurrence longer than that, only its last tokens are taken back.
     Range    n <= 65,536; each sequence or string has 1 to 1024 tokens or bytes, all together at most 2^20; flags are
              SAMP_BAN_...; vocab needs token_bytes, and must outlive the sampler. n = 0 is off.
     Memory   For strings, 8 bytes for each token that could complete a string, at each of the string's bytes: about 20
              KB a string. The constructor reads the whole vocabulary, which takes some milliseconds a string.
     Source   vLLM's bad_words, koboldcpp's and ik_llama.cpp's banned strings, ExLlamaV2. */
SAMP_API samp_sampler *samp_init_banned_sequences(const samp_sequence *sequences, size_t n, unsigned flags);
/* Prevent that the text contains one of these strings of bytes. */
SAMP_API samp_sampler *samp_init_banned_strings(const samp_vocab *vocab, const char *const *strings, size_t n,
                                                unsigned flags);

#ifdef SAMPLING_GRAMMAR_DECLARED
/* samp_init_banned_pattern -- prevents that any part of the text matches a regular expression (needs
   SAMPLING_GRAMMAR).
     in       pattern: a regular expression in the syntax of SAMP_GRAMMAR_REGEX. ^ is the beginning of the accepted
              text; $ is refused. *error (error may be NULL) gets why the pattern is wrong, and at which place.
              With SAMP_BAN_ANY_CASE a class has both cases of its letters, as under ECMA-262's flag i: [^a] matches
              neither "a" nor "A"
     Masks    each token with a byte that would complete a match, as samp_init_banned_strings does.
     Rewind   With SAMP_BAN_REWIND the tokens from the one in which the match begins are taken back; if the last token
              completes several matches, the one that begins first counts. At most 1024 tokens are taken back.
     Range    the pattern must not match the empty text; flags are SAMP_BAN_...; its automaton has at most 4096 states,
              else SAMP_E_FULL. If its text is wrong, the status of "pattern" is SAMP_E_FORMAT, SAMP_E_RANGE or
              SAMP_E_UNSUPPORTED.
     Memory   8 bytes for each token that would complete a match, in each state. The constructor reads the whole
              vocabulary for each state.
     Source   koboldcpp (1233), ik_llama.cpp (1131). */
SAMP_API samp_sampler *samp_init_banned_pattern(const samp_vocab *vocab, const char *pattern, unsigned flags,
                                                samp_grammar_error *error);
#endif

/* samp_rewind_length -- returns how many of the last accepted tokens samp_rollback should take back, because a banned
   sequence or string ends with or before the last token: all tokens from its first one on. 0: no ban was violated. For
   a chain the result is the largest one of its members. After the rollback the first of the tokens taken back is masked
   at its position, so the next draw gives another token:
       if ((n = samp_rewind_length(chain)) > 0) { samp_rollback(chain, n); text_length -= n; ... }
     State    The number grows with each further accepted token until the tokens are taken back, so a program may also
              call the function after samp_verify. A token that is masked at a position after a rollback stays masked
              there until a token is accepted at an earlier position, even if it is the same token as before. The last
              256 such masked tokens are kept.
     Returns  also SAMP_E_NULL, or the status that s carries. samp_set_rollback must keep at least as many tokens as are
              taken back. */
SAMP_API int32_t samp_rewind_length(const samp_sampler *s);

/* samp_init_suppressed_tokens -- masks these tokens at every position.
   samp_init_begin_suppressed_tokens -- masks these tokens at the position begin.
   samp_init_min_tokens -- masks these tokens, usually vocab->eog, before the position begin + n_min; n_min = 0 is off.
     Where a grammar of the same chain, or of samp_grammar_sample, allows nothing but the text's end, the sampler masks
     nothing: the grammar's end wins, as in vLLM. A mask that a caller gives (samp_logits.mask) is not a grammar.
     Range    n in 0 .. SAMP_MAX_VOCAB, 0 = off; n_min, begin >= 0, together at most INT32_MAX.
     Source   Hugging Face's SuppressTokens, SuppressTokensAtBegin and MinNewTokensLength; vLLM's min_tokens. */
SAMP_API samp_sampler *samp_init_suppressed_tokens(const samp_token *tokens, size_t n);
/* Mask these tokens at the position begin. */
SAMP_API samp_sampler *samp_init_begin_suppressed_tokens(const samp_token *tokens, size_t n, int32_t begin);
/* Mask these tokens before the position begin + n_min. */
SAMP_API samp_sampler *samp_init_min_tokens(const samp_token *tokens, size_t n, int32_t n_min, int32_t begin);

/* samp_init_allowed_tokens -- masks all tokens except these; n >= 1.   Cost  grows with the number of allowed tokens.
     Source   vLLM's allowed_token_ids. */
SAMP_API samp_sampler *samp_init_allowed_tokens(const samp_token *tokens, size_t n);

/* samp_init_forced_prefix -- masks all tokens except tokens [i] at the position begin + i, for i < n; n = 0 is off.
     Source   Hugging Face's ForcedBOSToken (n = 1), Whisper's forced_decoder_ids. */
SAMP_API samp_sampler *samp_init_forced_prefix(const samp_token *tokens, size_t n, int32_t begin);

/* samp_init_eog_bias -- l += bias for these tokens, usually vocab->eog: makes texts shorter or longer.
     Range    bias < +infinity; with -INFINITY these tokens never end the text; bias = 0, or n = 0, is off.
     Source   llama.cpp's ignore_eos. */
SAMP_API samp_sampler *samp_init_eog_bias(const samp_token *tokens, size_t n, float bias);

/* samp_init_length_penalty -- makes these tokens, usually vocab->eog, more likely as soon as more than `start` tokens
   have been generated, and then more with each token: l += |l| (factor^k - 1), if k = position - (begin + start) > 0.
   factor^k - 1 is computed in double and rounded to f32 (at most FLT_MAX); the rest is computed in f32. `begin` is the
   position of the first generated token.
     Range    start, begin >= 0, together at most INT32_MAX; factor in (0, FLT_MAX], 1 is off, and a factor below 1
              makes the tokens less likely.
     Source   Hugging Face's exponential_decay_length_penalty. */
SAMP_API samp_sampler *samp_init_length_penalty(const samp_token *tokens, size_t n, int32_t start, float factor,
                                                int32_t begin);

/* samp_init_top_p_decay -- top_p whose p falls along a sentence, because the beginning of a sentence is free and its
   end should be true. The first token of a sentence is drawn with p. Each accepted token changes it to p * decay, in
   f32, but not below `lowest`. After one of the n tokens `resets`, which end sentences, it is the original p again.
     Range    p in (0, 1], 1 is off; decay in (0, 1]; lowest in (0, p]; with n = 0, p is never reset. min_keep, ties
              are those of samp_init_top_p.
     Leaves   the array as samp_init_top_p does.
     Source   Lee et al. 2022, "Factuality enhanced language models" (factual-nucleus sampling: 0.9, 0.9, 0.3);
              Megatron-LM's top_p_decay and top_p_bound (without a reset); TensorRT-LLM's top_p_reset_ids. */
SAMP_API samp_sampler *samp_init_top_p_decay(float p, float decay, float lowest, const samp_token *resets, size_t n,
                                             size_t min_keep);

/* samp_init_timestamps -- Whisper's rules for time stamps: the tokens from `first` on, of which each is later than the
   one before it. All other tokens are called text here, also the special ones.
     Pairs    The first token is a time stamp, at most first + max_initial. A text is between two time stamps: after a
              single time stamp behind text only another time stamp may come, and after two time stamps only text.
     Order    No time stamp may be earlier than the last one. It may be equal only as the second of two that follow each
              other, which end a text and begin the next one, so that no text has the length 0.
     Sum      If the time stamps that these rules allow are together more likely than the most likely text token that
              they allow, all text tokens are masked: if the sum of the time stamps' p exceeds that token's p, compared
              by integer weights as samp_init_softmax has them.
     Masks    no_timestamps (the token <|notimestamps|>) always; -1: there is no such token.
     Text     begins with the first token that the sampler accepts: a prompt (<|startoftranscript|> and so on) must not
              be accepted by it, or samp_reset of this sampler (samp_chain_get) follows the prompt.
   samp_init_timestamps_except -- does the same, but the n tokens `exempt` may also come after a single time stamp
   behind text. Whisper itself exempts its end of text and all special tokens behind it: a last text may end after its
   time stamp. Without exempt tokens a text can end only after a pair of time stamps, or within a text.
     Range    first in 0 .. SAMP_MAX_VOCAB - 1; no_timestamps in -1 .. SAMP_MAX_VOCAB - 1; max_initial >= -1, -1 is no
              limit (Whisper's usual one is 50: one second); n in 0 .. SAMP_MAX_VOCAB.
     Place    before samplers that truncate; the logits that it gets are those that Sum compares.
     Executor It has a fast path; on slices, with sampling_gpu.h and under SAMP_RNG_MT19937 it runs step by step, with
              the same rules and arithmetic.
     Source   openai/whisper, decoding.py: ApplyTimestampRules (a sum that is equal to the largest p masks nothing, as
              there); Hugging Face's WhisperTimeStampLogitsProcessor. */
SAMP_API samp_sampler *samp_init_timestamps(samp_token first, samp_token no_timestamps, int32_t max_initial);
/* Whisper's rules, with tokens that may come after a single time stamp: the end of the text. */
SAMP_API samp_sampler *samp_init_timestamps_except(samp_token first, samp_token no_timestamps, int32_t max_initial,
                                                   const samp_token *exempt, size_t n);

/* samp_init_no_repeat_ngram -- masks each token that would repeat an n-gram: n tokens in the order in which they
   already occur among the last last_n accepted tokens.
     Range    n in 0 .. 2^22, 0 is off; last_n in [n, 2^22].
     Cost     O(last_n) for each draw: some microseconds for a last_n of 4096.
     Source   Hugging Face's no_repeat_ngram_size; fairseq.
   samp_init_no_repeat_ngram_except -- does the same, but never masks one of the n_exempt tokens `exempt`, such as the
   tokens of <td> and </td>, which every row of a table repeats. Exempt tokens are part of n-grams as all others are: an
   n-gram that ends with another token is not repeated, even if it contains exempt ones.
     Range    n_exempt in 0 .. SAMP_MAX_VOCAB; with 0 the sampler is samp_init_no_repeat_ngram's, whose saved states it
              takes. The tokens are part of the settings that a saved state must have in common with its sampler.
     Source   DeepSeek-OCR's whitelist_token_ids: vLLM (57540), SGLang (12415). */
SAMP_API samp_sampler *samp_init_no_repeat_ngram(int32_t n, int32_t last_n);
/* Masks each token that would repeat an n-gram, except these. */
SAMP_API samp_sampler *samp_init_no_repeat_ngram_except(int32_t n, int32_t last_n, const samp_token *exempt,
                                                        size_t n_exempt);

/* samp_init_loop_breaker -- breaks loops. The text is in a loop if its last tokens are the same piece, of min_period ..
   max_period tokens, repeated at least `copies` times. Then l -= penalty for the token that would continue the loop,
   until another token is accepted. The sampler searches the last last_n tokens for a loop after every `every` tokens;
   of several periods the smallest counts. A search within a loop may find a smaller period, which then counts.
     Usual    The usual arguments, in their order, are 4, 128, 3, 512, 16, INFINITY.
     Range    1 <= min_period <= max_period <= 2^16; copies in 2 .. 2^16; last_n in [copies * min_period, 2^22]; every
              >= 1; penalty >= 0, where INFINITY masks the token, and 0 is off.
     Source   vLLM's ThinkingLoopBreaker (pull request 52677), repetition detection of vLLM and vllm-mlx.
   samp_init_loop_breaker_cusum -- breaks loops without a fixed period, by a sum s of repetitions. Each accepted token
   changes s within 0 .. alarm: s + 1 if the newest n tokens also occur earlier among the last last_n, else s - loss.
   While s equals `alarm`, l -= penalty for each token that would again complete such a repetition of n tokens: the
   token itself is then the newest of the last last_n.
     Usual    The usual arguments, in their order, are 6, 4096, 0.25, 15, INFINITY.
     Range    n >= 1, last_n in [n, 2^22]; loss >= 0 and alarm > 0, both finite; penalty as for samp_init_loop_breaker.
     Cost     O(last_n) for each token, and once more for a draw while s equals alarm.
     Source   the discussion in vLLM's pull request 52677; Page 1954 (cumulative sums). */
SAMP_API samp_sampler *samp_init_loop_breaker(int32_t min_period, int32_t max_period, int32_t copies, int32_t last_n,
                                              int32_t every, float penalty);
/* Breaks loops without a fixed period. */
SAMP_API samp_sampler *samp_init_loop_breaker_cusum(int32_t n, int32_t last_n, float loss, float alarm,
                                                    float penalty);

/* The definition of a loop (a text that repeats its last tokens) for the functions below. The members have the meanings
   and ranges of the arguments of samp_init_loop_breaker. */
typedef struct samp_loop {
    int32_t min_period, max_period, copies, last_n, every; /* the usual values are 4, 128, 3, 512 and 16 */
} samp_loop;

/* samp_init_loop_watch -- a loop breaker that finds loops, but changes no logit: the caller asks samp_loop_length, and
   decides what to do.
   samp_loop_length -- returns the period, in tokens, of the loop that the text is in now; 0: the text is in no loop.
     For a chain, its first loop breaker or watch answers (a cusum breaker does not count); SAMP_E_UNSUPPORTED: the
     chain has none. Also SAMP_E_NULL, or the status that s carries.
     See also samp_thinking_plan, where a loop ends thinking, and samp_schedule, where a loop activates samplers. */
SAMP_API samp_sampler *samp_init_loop_watch(const samp_loop *loop);
/* Returns the period, in tokens, of the loop that the text is in; 0: the text is in no loop. */
SAMP_API int32_t samp_loop_length(const samp_sampler *s);

/* A kind of thinking: the tokens that begin a span of thinking, the tokens that end it, and the tokens that are forced
   when its budget is spent. */
typedef struct samp_thinking {
    const samp_token *start; /* [n_start] the tokens that begin a span of thinking */
    size_t n_start;          /* the length of start in 1 .. 1024; n_end and n_force have the same range */
    const samp_token *end;   /* [n_end] the tokens that end a span of thinking */
    size_t n_end;
    const samp_token
        *force; /* [n_force] the tokens that are forced when the budget is spent; the last of them should be
                                those of `end`. NULL: the tokens of `end` that have not come yet are forced */
    size_t n_force;
} samp_thinking;

/* samp_init_thinking_budget -- limits thinking. A span of thinking begins after a start sequence and ends with its end
   sequence. After `budget` tokens of a span its end is forced: only the next token of `force` is allowed, until all of
   them have come. Each span has the whole budget.
     in       spans [n_spans]: the kinds of thinking; if two start sequences are complete at the same token, the longer
              one counts. open: the index in `spans` of the span in which the text begins, for instance if the prompt
              ends with a start sequence and is not accepted; -1: the text begins outside of spans. vocab may be NULL,
              and must outlive the sampler; with a vocab, up to 4 more tokens may complete an unfinished UTF-8
              character.
     Ends     A span also ends by itself, with its end sequence. If a token other than the forced one is accepted, the
              same token is forced again; if `force` is NULL, the tokens that complete `end` from there are forced.
     Range    budget >= 0, a budget < 0 is off; n_spans in 0 .. 1024, 0 is off; open in -1 .. n_spans - 1
     Source   llama.cpp's reasoning budget, vLLM's thinking_token_budget.
   samp_thinking_left -- returns how many more tokens the open span may have; 0: its end is forced, or the span is in
     its grace (see samp_thinking_plan); -1: no span is open. For a chain the result is that of its first member with a
     budget; SAMP_E_UNSUPPORTED: the chain has no such member. Also SAMP_E_NULL, or the status that s carries. */
SAMP_API samp_sampler *samp_init_thinking_budget(const samp_vocab *vocab, const samp_thinking *spans, size_t n_spans,
                                                 int32_t budget, int32_t open);
/* Returns how many more tokens the open span of thinking may have; -1: no span is open. */
SAMP_API int32_t samp_thinking_left(const samp_sampler *s);

/* How the bias on the end of a span of thinking grows from token to token. */
typedef enum samp_ramp { SAMP_RAMP_NONE = 0, SAMP_RAMP_LINEAR = 1, SAMP_RAMP_EXPONENTIAL = 2 } samp_ramp;

/* How thinking ends: a plan of samp_init_thinking. A span is the tokens from a start sequence of thinking to its end. A
   member that is 0 or NULL is not used, so { 0 } is a plan too. */
typedef struct samp_thinking_plan {
    int32_t total;          /* the budget of all spans of thinking together, in tokens */
    int32_t soft;           /* the soft point (where the note and the bias begin) as a number of tokens of a span */
    float soft_ratio;       /* the soft point as a share of the span's budget, in [0, 1] */
    int32_t grace;          /* the number of tokens beyond the budget that a span may have to finish a line */
    const samp_token *note; /* [n_note] the tokens forced after the first line that ends at or after the soft point */
    size_t n_note;          /* 0 .. 1024 */
    const samp_sequence
        *ends;             /* [n_ends] further sequences that end a span, such as the beginning of a tool call; their
                              member bias is not read */
    size_t n_ends;         /* 0 .. 1024 */
    samp_ramp ramp;        /* how the bias on the span's end grows after the soft point */
    float bias;            /* the largest value of the bias on the span's end, in [0, FLT_MAX] */
    const samp_loop *loop; /* how a loop (repeated tokens) is recognised; a loop in a span forces its end */
    int32_t loop_from;     /* the number of tokens that a span must have before a loop can end the span */
} samp_thinking_plan;

/* The stages of thinking, which samp_thinking_now returns. */
enum {
    SAMP_THINKING_NOT = 0,   /* no span is open */
    SAMP_THINKING_OPEN = 1,  /* a span is open, and has not reached its soft point */
    SAMP_THINKING_SOFT = 2,  /* the span has reached its soft point: its end gets the bias, and the note may begin */
    SAMP_THINKING_NOTE = 3,  /* the note is forced */
    SAMP_THINKING_GRACE = 4, /* the budget is spent, but the current line may still be finished */
    SAMP_THINKING_ENDS = 5   /* the tokens that end the span of thinking are forced now */
};

/* samp_init_thinking -- limits thinking by a budget and a plan, with which a span can end at the end of a line instead
   of within it. The contract of samp_init_thinking_budget holds here too. Let u be the number of tokens of the open
   span so far, with those of the note; h = min(budget, total - tokens of the spans before), at least 0, is the budget
   of this span; s is the soft point: soft, or soft_ratio h rounded down. If s would be h or more, there is no soft
   point.
     Note     The note is forced token by token, once in each span, after the first token that ends a line (its bytes
              end with a newline) with u >= s and u + n_note <= h. So the note begins a line; it should also end with a
              newline.
     Bias     From u = s on, l += bias x for the next token of the span's end, with x = min(1, (u - s + 1) / (h - s +
              1)); with SAMP_RAMP_EXPONENTIAL l += bias (2^(8 x) - 1) / 255. There is no bias while tokens are forced.
     Grace    From u = h on, the span's end is forced after the first token that ends a line, at the latest at u = h +
              grace. If h is 0 there is no grace.
     Loop     After every `every` tokens of a span, if u >= loop_from and the last last_n tokens of the span end with a
              loop, the span's end is forced.
     UTF-8    After u = h + grace, up to 4 more tokens may complete an unfinished character. A loop does not force the
              end inside a character, nor during the note; the loop is then found at a later search.
     in       plan (may be NULL) is copied; vocab may be NULL if there is no note: then no token ends a line. A budget
              of INT32_MAX means no limit
     Range    soft and soft_ratio must not both be set; total, soft, grace, loop_from >= 0; for the others see the
              struct.
     Memory   samp_rollback needs 44 bytes for each token that can be taken back, and 4 more with a loop.
     Source   llama.cpp's reasoning budget (25544, 25961, 27578, 28932), vLLM's ThinkingLoopBreaker (52677).

   samp_thinking_end -- ends the open span now: from the next draw on its end is forced, or, with a vocab, after an
     unfinished UTF-8 character. This holds for the span even if tokens of it are taken back, until a token is accepted
     at a position before the span. A saved state contains it.
     Returns  SAMP_OK, also if the end is already forced; SAMP_E_EMPTY: no span is open; the other statuses of
              samp_thinking_left.
     Source   llama.cpp (23949).
   samp_thinking_now -- returns the stage of thinking: SAMP_THINKING_..., or a status of samp_thinking_left.
   samp_thinking_used -- returns the number of tokens in all spans so far, without their start sequences, with their end
     sequences. SAMP_E_UNSUPPORTED also if the sampler has no plan; other statuses are those of samp_thinking_left.
     For a chain, all these functions use its first member with a budget. If this member has a plan,
     samp_thinking_left returns h - u as defined above (the span's budget minus its tokens so far), or 0 if the end is
     forced or u >= h. */
SAMP_API samp_sampler *samp_init_thinking(const samp_vocab *vocab, const samp_thinking *spans, size_t n_spans,
                                          int32_t budget, int32_t open, const samp_thinking_plan *plan);
/* Ends the open span now. */
SAMP_API int samp_thinking_end(samp_sampler *s);
/* Returns the stage of thinking: SAMP_THINKING_... */
SAMP_API int32_t samp_thinking_now(const samp_sampler *s);
/* The number of tokens in all spans of thinking so far. */
SAMP_API int32_t samp_thinking_used(const samp_sampler *s);

/* The unit in which a schedule counts, and the part of the text in which it is active. */
typedef enum samp_unit { SAMP_TOKENS = 0, SAMP_LINES = 1 } samp_unit;
typedef enum samp_area { SAMP_ANYWHERE = 0, SAMP_INSIDE = 1, SAMP_OUTSIDE = 2 } samp_area;

/* A schedule: samplers are active while all its conditions hold. A schedule whose members are all 0 always holds. A
   start or end of a span of thinking begins the schedule anew: tokens of `until` and loops before it no longer
   count. */
typedef struct samp_schedule {
    samp_unit count;  /* the unit of the counter c: accepted tokens, or newlines in their bytes */
    int32_t from, to; /* the samplers are active if from <= c < to; a `to` of 0 means no upper bound */
    int32_t begin;    /* the position from which c counts; before it the samplers are not active */
    samp_area where;  /* the samplers are active inside spans of thinking, outside of them, or both */
    const samp_thinking
        *spans;              /* [n_spans] the kinds of thinking; the counter c begins at 0 again after each start and
                                   end of a span; their member `force` is not read */
    size_t n_spans;          /* 0 .. 1024 */
    int32_t inside;          /* 1 + the index of the span in which the text begins; 0: it begins outside of spans */
    const samp_token *until; /* [n_until] after one of these tokens the samplers are not active until a span begins or
                                   ends */
    size_t n_until;
    const samp_vocab *vocab; /* the vocabulary; must outlive the sampler; counting in lines (SAMP_LINES) needs its
                                member token_bytes */
    const samp_loop *loop;   /* the definition of a loop; the samplers are not active until a loop is found, and the
                                counter c begins at 0 again after each loop */
} samp_schedule;

/* samp_init_schedule -- makes samplers active at some times only: a high temperature for the first 20 tokens, a ban in
   the first line, a bias until a token has come, xtc while thinking, another temperature for 30 tokens after a loop.
     Returns  a chain that contains `member`; samp_chain_add adds more members. This chain can be added to another chain
              like any sampler. Its first member is the schedule itself, which must not be removed. If there is no
              memory, the result is NULL, and member is freed, or it is a chain that carries SAMP_E_NOMEM.
     Draws    While the members are not active, a draw is as without them, and they cost no time. The position advances
              as if they were active.
     Accepts  The members accept all tokens even while they are not active, so that they know the last tokens when they
              become active. Only grammars differ: while the schedule is not active, a grammar reads no token and
              refuses none. So its text has neither a token before the schedule became active nor the one that made it
              active; it has the token that ends the activity. When the schedule is active again, the text goes on.
              With `where` SAMP_OUTSIDE a grammar holds for the answer behind the thinking (see
              src/constraints/README.md).
     Device   With sampling_gpu.h, this sampler and the samplers after it run on the CPU, or the whole chain if no
              sampler before this one removes tokens (samp_gpu_plan).
     Range    to is 0 or > from; begin >= 0; `where` needs spans. If member is NULL, the chain carries SAMP_E_NULL with
              the field "sampler".
     Source   ik_llama.cpp's settings that expire (1731, 1770), llama.cpp (22007: temperature behind a loop).
   samp_schedule_holds -- returns 1 if the first schedule of a chain is active now, 0 if it is not; SAMP_E_UNSUPPORTED:
     the chain has no schedule. The result may also be SAMP_E_NULL, or the status that s carries. */
SAMP_API samp_sampler *samp_init_schedule(const samp_schedule *when, samp_sampler *member);
/* Returns 1 if the samplers of the first schedule in a chain (samp_init_schedule) are active now, 0 if they are not, or
   a negative status, also if the chain has no schedule. */
SAMP_API int32_t samp_schedule_holds(const samp_sampler *s);
