/* ---- 12. constraints (SAMPLING_CONSTRAINTS) -------------------------------------------------------------------
   Bans of tokens, sequences and strings, biases, forced tokens, lengths, budgets of thinking, loop breakers. */

/* Samplers that mask, force or weigh tokens by what has been accepted before. Common to them, besides what is common to
   all samplers:
     Position is the number of tokens that the sampler has accepted since its making or samp_reset. `begin` is that of
              the first token to be generated: the length of the prompt if that is accepted too, else 0.
     Order    any place in a chain. As Hugging Face and vLLM have it: before truncation and temperature; a grammar that
              is to be a chain's first may stand before them. What one masks no other one brings back.
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
     Leaves   as top_p.   Sharded  all tokens are listed.
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
