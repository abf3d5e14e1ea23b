/* ---- 12. constraints (SAMPLING_CONSTRAINTS) -------------------------------------------------------------------
   Bans of tokens, sequences and strings, biases, forced tokens, lengths, budgets of thinking, loop breakers. */

/* Samplers that mask, force or weigh tokens by what has been accepted before. Common to them, besides what is common to
   all samplers:
     Position is the number of tokens that the sampler has accepted since its making or samp_reset. `begin` is that of
              the first token to be generated: the length of the prompt if that is accepted too, else 0.
     Order    any place in a chain. As Hugging Face and vLLM have it: before truncation and temperature; a grammar that
              is to be a chain's first may stand before them. What one sampler masks, no other one allows again.
     Empty    Where nothing is left, the draw is SAMP_E_EMPTY, and nothing has changed.
     Leaves   size; what is masked has -infinity. sorted = false, unless it is off or not its turn; of those that leave
              only some tokens, if one was masked. Results beyond +-FLT_MAX become +-FLT_MAX.
     Accepts  any token, also one that it masks: a prompt's, or another sampler's.
     Ids      in lists are in 0 .. SAMP_MAX_VOCAB - 1; one that a row lacks has no effect. Twice is once.
     State    as any other built-in sampler: samp_clone, samp_state_save, samp_rollback, samp_verify, batches. All that
              is given is copied, but for a vocabulary.
     Cost     that of the tokens it changes: less than a microsecond for a few. samp_gpu_plan: the chain is left to the
              CPU from here on, but for top_p_decay.
     Returns  a sampler; one given a bad value carries SAMP_E_NULL, SAMP_E_RANGE or SAMP_E_NAN and the name of the
              argument, for its length that of the list. NULL: no memory.
     Memory   none after the making, but for samp_rollback's 28 bytes a token. Threads: as all samplers. */

/* Tokens in a row, and what the last one's logit gets where the text ends with the others. */
typedef struct samp_sequence {
    const samp_token *tokens; /* [n] */
    size_t n;                 /* 1 .. 1024 */
    float bias;               /* added; -INFINITY: masked */
} samp_sequence;

enum {
    SAMP_BAN_REWIND = 1,  /* nothing is masked before it is there: see samp_rewind_length */
    SAMP_BAN_ANY_CASE = 2 /* of strings: A to Z are as a to z */
};

/* samp_init_sequence_bias -- l += bias for each token that would complete a sequence; where several sequences end with
   it, the longer ones are added first. Of one token: always.
     Range    n <= 65,536; a sequence must not be there twice; bias < +infinity. n = 0 is off.
     Source   Hugging Face's SequenceBiasLogitsProcessor and NoBadWords (-INFINITY). */
SAMP_API samp_sampler *samp_init_sequence_bias(const samp_sequence *sequences, size_t n);

/* samp_init_banned_sequences, samp_init_banned_strings -- none of these sequences of tokens (their bias is not read),
   or strings of bytes, comes to stand in the text.
     Masks    each token that would complete one. For strings that is a matter of bytes, whatever the tokens: one that
              contains a string, or begins with the rest of one of which the text ends with the beginning. Tokens
              without bytes change nothing.
     Rewind   (flags has SAMP_BAN_REWIND) masks no beginning of a string, whose end could only go astray; see below.
              Of a string in which more tokens without bytes stand than it has bytes, only the last are taken back.
     Range    n <= 65,536; 1 to 1024 tokens or bytes each, 2^20 in all; flags of SAMP_BAN_...; vocab: token_bytes,
              borrowed. n = 0 is off.
     Memory   strings: 8 bytes for each token that could complete one, at each of its bytes: about 20 KB a string. The
              making goes through the vocabulary: some milliseconds a string.
     Source   vLLM's bad_words, koboldcpp's and ik_llama.cpp's banned strings, ExLlamaV2. */
SAMP_API samp_sampler *samp_init_banned_sequences(const samp_sequence *sequences, size_t n, unsigned flags);
/* None of these strings of bytes comes to stand in the text. */
SAMP_API samp_sampler *samp_init_banned_strings(const samp_vocab *vocab, const char *const *strings, size_t n,
                                                unsigned flags);

#ifdef SAMPLING_GRAMMAR_DECLARED
/* samp_init_banned_pattern -- no text that a regular expression matches comes to stand in the text, wherever (needs
   SAMPLING_GRAMMAR).
     in       pattern: as of SAMP_GRAMMAR_REGEX. ^ is the beginning of what the sampler has accepted; $ is refused.
              error (may be NULL): where and why it is
     Masks    as samp_init_banned_strings: each token of whose bytes one would complete a match.
     Rewind   back to the token in which the earliest match begins that ends with the last token; one that began more
              than 1024 tokens before: to there.
     Range    the pattern must not match the empty text; flags of SAMP_BAN_...; its automaton has at most 4096 states,
              else SAMP_E_FULL. What is wrong with its text is the status of "pattern": FORMAT, RANGE, UNSUPPORTED.
     Memory   8 bytes for each token that would complete a match, in each state; the making goes through the vocabulary
              for each state.
     Source   koboldcpp (1233), ik_llama.cpp (1131). */
SAMP_API samp_sampler *samp_init_banned_pattern(const samp_vocab *vocab, const char *pattern, unsigned flags,
                                                samp_grammar_error *error);
#endif

/* samp_rewind_length -- how many of the last accepted tokens samp_rollback should take back, as a banned sequence or
   string stands in them: from the token on with which it begins. 0: none; of a chain the most that a member wants. That
   token is then masked at this place, so the next draw gives another one:
       if ((n = samp_rewind_length(chain)) > 0) { samp_rollback(chain, n); text_length -= n; ... }
     State    it grows with each token until it is taken back, so it may be asked after samp_verify too. A place's bans
              stay until a token is accepted before it, the same one too; the last 256 are kept.
     Returns  also SAMP_E_NULL, or the status that s carries. samp_set_rollback must keep as many tokens. */
SAMP_API int32_t samp_rewind_length(const samp_sampler *s);

/* samp_init_suppressed_tokens -- mask these tokens.
   samp_init_begin_suppressed_tokens -- mask them at the position begin.
   samp_init_min_tokens -- mask them, usually vocab->eog, before the position begin + n_min; n_min = 0 is off.
     Range    n in 0 .. SAMP_MAX_VOCAB, 0 = off; n_min, begin >= 0, together at most INT32_MAX.
     Source   Hugging Face's SuppressTokens, SuppressTokensAtBegin and MinNewTokensLength; vLLM's min_tokens. */
SAMP_API samp_sampler *samp_init_suppressed_tokens(const samp_token *tokens, size_t n);
/* Mask these tokens at the position begin. */
SAMP_API samp_sampler *samp_init_begin_suppressed_tokens(const samp_token *tokens, size_t n, int32_t begin);
/* Mask these tokens before the position begin + n_min. */
SAMP_API samp_sampler *samp_init_min_tokens(const samp_token *tokens, size_t n, int32_t n_min, int32_t begin);

/* samp_init_allowed_tokens -- mask all but these tokens; n >= 1.   Cost  that of the tokens allowed.
     Source   vLLM's allowed_token_ids. */
SAMP_API samp_sampler *samp_init_allowed_tokens(const samp_token *tokens, size_t n);

/* samp_init_forced_prefix -- at the position begin + i mask all but tokens [i], i < n; n = 0 is off.
     Source   Hugging Face's ForcedBOSToken (n = 1), Whisper's forced_decoder_ids. */
SAMP_API samp_sampler *samp_init_forced_prefix(const samp_token *tokens, size_t n, int32_t begin);

/* samp_init_eog_bias -- l += bias for these tokens, usually vocab->eog: makes texts shorter or longer.
     Range    bias < +infinity, -INFINITY: the text never ends; 0, or n = 0, is off.
     Source   llama.cpp's ignore_eos. */
SAMP_API samp_sampler *samp_init_eog_bias(const samp_token *tokens, size_t n, float bias);

/* samp_init_length_penalty -- makes these tokens, usually vocab->eog, more likely the longer the text is beyond start
   tokens: l += |l| (factor^k - 1), k = position - (begin + start) > 0, in f32 from the power on, that at most FLT_MAX.
     Range    start, begin >= 0, together at most INT32_MAX; factor in (0, FLT_MAX], 1 = off, below 1: less likely.
     Source   Hugging Face's exponential_decay_length_penalty. */
SAMP_API samp_sampler *samp_init_length_penalty(const samp_token *tokens, size_t n, int32_t start, float factor,
                                                int32_t begin);

/* samp_init_top_p_decay -- top_p whose p falls along a sentence: p at its first token, then with each token accepted
   p * decay in f32, but at least `lowest`; one of the n tokens `resets`, which end sentences, brings p back for the
   next one. What begins a sentence may be anything, what goes on with it should be true.
     Range    p in (0, 1], 1 = off; decay in (0, 1]; lowest in (0, p]; n = 0: never back. min_keep, ties  as top_p.
     Leaves   as top_p.
     Source   Lee et al. 2022, "Factuality enhanced language models" (factual-nucleus sampling: 0.9, 0.9, 0.3);
              Megatron-LM's top_p_decay and top_p_bound (without a reset); TensorRT-LLM's top_p_reset_ids. */
SAMP_API samp_sampler *samp_init_top_p_decay(float p, float decay, float lowest, const samp_token *resets, size_t n,
                                             size_t min_keep);

/* samp_init_no_repeat_ngram -- mask each token that would complete n tokens which stand in the last last_n accepted
   ones already, in this order.
     Range    n in 0 .. 2^22, 0 = off; last_n in [n, 2^22].   Cost  O(last_n) a draw: some us for 4096.
     Source   Hugging Face's no_repeat_ngram_size; fairseq. */
SAMP_API samp_sampler *samp_init_no_repeat_ngram(int32_t n, int32_t last_n);

/* samp_init_loop_breaker -- once the last tokens are the same piece, of min_period .. max_period tokens, at least
   `copies` times over, l -= penalty for the token that would go on with it, until another one is accepted. It is looked
   for behind every `every` tokens within the last last_n; of several periods the smallest counts.
     Usual    4, 128, 3, 512, 16, INFINITY
     Range    1 <= min_period <= max_period <= 2^16; copies in 2 .. 2^16; last_n in [copies * min_period, 2^22]; every
              >= 1; penalty >= 0, INFINITY: masked, 0 = off.
     Source   vLLM's ThinkingLoopBreaker (pull request 52677), repetition detection of vLLM and vllm-mlx.
   samp_init_loop_breaker_cusum -- the same for loops without a fixed period: with each token s = s + 1 if with it the
   newest n tokens stand twice in the last last_n, else s - loss, within 0 .. alarm. While s is `alarm`, l -= penalty
   for each token that would be such a one, with the last last_n before it.
     Usual    6, 4096, 0.25, 15, INFINITY
     Range    n >= 1, last_n in [n, 2^22]; loss >= 0, alarm > 0, both finite; penalty as above.
     Cost     O(last_n) with each token, and once more for a draw while it is at work.   Draws  none.
     Source   as above, the discussion there: Page 1954, cumulative sums. */
SAMP_API samp_sampler *samp_init_loop_breaker(int32_t min_period, int32_t max_period, int32_t copies, int32_t last_n,
                                              int32_t every, float penalty);
/* Break loops without a fixed period. */
SAMP_API samp_sampler *samp_init_loop_breaker_cusum(int32_t n, int32_t last_n, float loss, float alarm,
                                                    float penalty);

/* What a loop is, where it is no loop breaker that masks: as samp_init_loop_breaker's arguments, and their ranges. */
typedef struct samp_loop {
    int32_t min_period, max_period, copies, last_n, every; /* usual: 4, 128, 3, 512, 16 */
} samp_loop;

/* samp_init_loop_watch -- a loop breaker that changes no logit: its caller asks for loops, and decides.
   samp_loop_length -- of the first loop breaker or watch of a chain (not of cusum) the period of the loop that the
     text is in now, in tokens; 0: in none. SAMP_E_UNSUPPORTED: there is none; SAMP_E_NULL, or what s carries.
     See also a loop that ends thinking (samp_thinking_plan), or sets other samplers to work (samp_schedule). */
SAMP_API samp_sampler *samp_init_loop_watch(const samp_loop *loop);
/* The period of the loop that the text is in; 0: in none. */
SAMP_API int32_t samp_loop_length(const samp_sampler *s);

/* A kind of thinking: what begins it, what ends it, and what is said where it must end. */
typedef struct samp_thinking {
    const samp_token *start; /* [n_start] */
    size_t n_start;          /* 1 .. 1024, as the others */
    const samp_token *end;   /* [n_end] */
    size_t n_end;
    const samp_token *force; /* [n_force] should end with end; NULL: what is left of end itself */
    size_t n_force;
} samp_thinking;

/* samp_init_thinking_budget -- at most `budget` tokens behind a start sequence, up to the end sequence; then what is to
   be forced is all that is allowed, token by token. Each new start has the whole budget again.
     in       spans [n_spans]; of two starts that are complete at once the longer one counts. open: the span in which
              the text begins, as behind a prompt that ends with a start but is not accepted; -1: in none.
              vocab (borrowed) may be NULL; else an unfinished UTF-8 character gets up to 4 tokens more to be finished.
     Ends     also by itself, with the end sequence. A token that comes in while another one is forced changes nothing,
              unless it ends the span.
     Range    budget >= 0, < 0 is off; n_spans in 0 .. 1024, 0 is off; open in -1 .. n_spans - 1
     Source   llama.cpp's reasoning budget, vLLM's thinking_token_budget.
   samp_thinking_left -- how many tokens the span that is open may still have, 0: its end is being forced; -1: none is
     open. Of a chain, the first member that is one. SAMP_E_UNSUPPORTED: none is; SAMP_E_NULL, or what s carries. */
SAMP_API samp_sampler *samp_init_thinking_budget(const samp_vocab *vocab, const samp_thinking *spans, size_t n_spans,
                                                 int32_t budget, int32_t open);
/* How many tokens the open span may still have; -1: none is open. */
SAMP_API int32_t samp_thinking_left(const samp_sampler *s);

/* How a bias on the end grows. */
typedef enum samp_ramp { SAMP_RAMP_NONE = 0, SAMP_RAMP_LINEAR = 1, SAMP_RAMP_EXPONENTIAL = 2 } samp_ramp;

/* How thinking comes to its end. A member that is 0 or NULL is not used, so { 0 } is a plan too. */
typedef struct samp_thinking_plan {
    int32_t total;             /* a budget for all spans together, in tokens */
    int32_t soft;              /* the soft point, as a number of tokens of a span, */
    float soft_ratio;          /* or as a share of the span's budget, in [0, 1] */
    int32_t grace;             /* how many tokens beyond the budget a line may take to end */
    const samp_token *note;    /* [n_note] forced at the end of the first line that ends after the soft point */
    size_t n_note;             /* 0 .. 1024 */
    const samp_sequence *ends; /* [n_ends] other ends of a span, such as the beginning of a call; bias is not read */
    size_t n_ends;             /* 0 .. 1024 */
    samp_ramp ramp;            /* how the bias on the span's end grows */
    float bias;                /* what that bias grows to, in [0, FLT_MAX] */
    const samp_loop *loop;     /* what counts as a loop; a loop in the span ends the span */
    int32_t loop_from;         /* loops end the span only if it has at least so many tokens */
} samp_thinking_plan;

/* What stage thinking is in: samp_thinking_now. */
enum {
    SAMP_THINKING_NOT = 0,   /* no span is open */
    SAMP_THINKING_OPEN = 1,  /* one is, */
    SAMP_THINKING_SOFT = 2,  /* is beyond its soft point, */
    SAMP_THINKING_NOTE = 3,  /* says the note, */
    SAMP_THINKING_GRACE = 4, /* has spent its budget, */
    SAMP_THINKING_ENDS = 5   /* ends: that is forced */
};

/* samp_init_thinking -- a budget of thinking that ends well: samp_init_thinking_budget, all of which holds here, and a
   plan. Let u be the tokens of the open span so far, those of the note too; h = min(budget, total - tokens of the spans
   before), at least 0; s = soft, or soft_ratio h rounded down, but at most h, then there is no soft point.
     Note     behind a token that ends a line (its bytes end with a newline), once u >= s, the note is forced, token by
              token, if u + n_note <= h; once a span. It begins a line, and should end with one.
     Bias     from u = s on l += bias x for the end's next token, x = min(1, (u - s + 1) / (h - s + 1)); exponential:
              bias (2^(8 x) - 1) / 255. Not while something is forced.
     Grace    from u = h on the end is forced behind the first token that ends a line, at the latest at u = h + grace.
              If h is 0 there is none.
     Loop     behind every `every` tokens of a span, if u >= loop_from, its end is forced where the last last_n tokens
              of the span end with a loop.
     UTF-8    as there: an unfinished character gets up to 4 tokens more, at h + grace. A loop waits for
              another time, also while the note is said.
     in       plan (may be NULL), all of which is copied; vocab may be NULL if there is no note: then no line ends.
              budget INT32_MAX: without a bound
     Range    not both soft and soft_ratio; total, soft, grace, loop_from >= 0; the others stand at the members.
     Memory   samp_rollback's 44 bytes a token, and 4 more with a loop.
     Source   llama.cpp's reasoning budget (25544, 25961, 27578, 28932), vLLM's ThinkingLoopBreaker (52677).

   samp_thinking_end -- end the open span now: from the next draw on its end is forced, behind what is there of it. It
     holds for this span, whatever of it is taken back, until a token is accepted before its beginning; a saved state
     has it.
     Returns  SAMP_OK, also if it ends already; SAMP_E_EMPTY: none is open; the others as samp_thinking_left.
     Source   llama.cpp (23949).
   samp_thinking_now -- the stage: SAMP_THINKING_...
   samp_thinking_used -- tokens of all spans so far, from behind their starts, with their ends. SAMP_E_UNSUPPORTED also
     if it has no plan.
     All of a chain's first member that has a budget; also samp_thinking_left, which counts to h here. */
SAMP_API samp_sampler *samp_init_thinking(const samp_vocab *vocab, const samp_thinking *spans, size_t n_spans,
                                          int32_t budget, int32_t open, const samp_thinking_plan *plan);
/* End the open span now. */
SAMP_API int samp_thinking_end(samp_sampler *s);
/* What stage thinking is in. */
SAMP_API int32_t samp_thinking_now(const samp_sampler *s);
/* How many tokens have been thought. */
SAMP_API int32_t samp_thinking_used(const samp_sampler *s);

/* What a schedule counts, and where it holds. */
typedef enum samp_unit { SAMP_TOKENS = 0, SAMP_LINES = 1 } samp_unit;
typedef enum samp_area { SAMP_ANYWHERE = 0, SAMP_INSIDE = 1, SAMP_OUTSIDE = 2 } samp_area;

/* When samplers are at work. All 0: always. */
typedef struct samp_schedule {
    samp_unit count;            /* c: accepted tokens, or newlines in them, */
    int32_t from, to;           /* from <= c < to; to 0: from there on for ever */
    int32_t begin;              /* counted from this position on; before it is not the time */
    samp_area where;            /* inside of spans of thinking, or outside */
    const samp_thinking *spans; /* [n_spans] c is 0 again behind a start and an end; what is forced is not read */
    size_t n_spans;             /* 0 .. 1024 */
    int32_t inside;             /* the text begins inside of span inside - 1; 0: outside */
    const samp_token *until;    /* [n_until] over once one of them has come, until c is 0 again */
    size_t n_until;
    const samp_vocab *vocab; /* borrowed: of lines token_bytes is needed */
    const samp_loop *loop;   /* c is 0 behind a loop that was found, too; before the first one it is not the time */
} samp_schedule;

/* samp_init_schedule -- samplers that are at work at times only: a high temperature for the first 20 tokens, a ban in
   the first line, a bias until a token has come, xtc while thinking, another temperature for 30 tokens behind a loop.
     Returns  a chain with `member` in it; more may be added with samp_chain_add. It goes into a chain as any other. Its
              first member is a clock, which must stay. No memory: NULL, and member is freed, or SAMP_E_NOMEM.
     Draws    when it is not the time, they are as without it, and cost nothing. The position moves as if it were at
              work.
     Accepts  members are told of all tokens, so that windows are right when their time comes.
     Device   samp_gpu_plan: left to the CPU from here on.
     Range    to = 0 or > from; begin >= 0; `where` needs spans. SAMP_E_NULL also "sampler", if member is.
     Source   ik_llama.cpp's settings that expire (1731, 1770), llama.cpp (22007: temperature behind a loop).
   samp_schedule_holds -- is it the time of a chain's first schedule? 1: yes, 0: no; SAMP_E_UNSUPPORTED: there is none;
     SAMP_E_NULL, or what s carries. */
SAMP_API samp_sampler *samp_init_schedule(const samp_schedule *when, samp_sampler *member);
/* Is it the time of the first schedule? */
SAMP_API int32_t samp_schedule_holds(const samp_sampler *s);
