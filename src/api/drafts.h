/* ---- 11. more ways to test a draft (SAMPLING_DRAFTS) ----------------------------------------------------------
   samp_verify tests a draft (tokens that a cheaper source proposes) token by token. This part adds a test of a draft as
   a whole, a test of drafts that branch, a more lenient test, and a source of drafts that needs no model: the text
   itself. */

/* Common to the three functions of this part: what samp_verify's comment says about p, q, the draft, errors and state
   holds for them too, unless their comment says otherwise. After a call the chain's samplers, grammars too, have
   accepted the tokens in `out` and no others. */

/* samp_verify_block -- tests a draft as a whole. The output has the same distribution as with the ratio method of
   samp_verify, and on average at least as much of the draft is accepted: a token that the ratio method would reject may
   be kept for the sake of the tokens after it.
     in       logits [n + 1 x n_vocab] and draft: as in samp_verify
     out      [n + 1] the accepted tokens, then the next token, then -1
     Formula  x(i) is the draft's token i = 1 .. n; P(i) is the distribution that the chain gives for this token, and
              Q(i) the one from which x(i) was drawn. r(0) = 1, r(i) = min(1, r(i - 1) P(i)(x(i)) / Q(i)(x(i))), S(i) =
              sum over tokens of max(r(i) P(i + 1) - Q(i + 1), 0), h(i) = S(i) / (S(i) + 1 - r(i)), h(n) = r(n). The
              first a tokens are accepted: a is the largest i with u(i) < h(i), where u(i) is uniform in [0, 1), or 0 if
              no i is such. The next token is drawn from max(r(a) P(a + 1) - Q(a + 1), 0), or from P(a + 1) if that is 0
              everywhere; if the whole draft is accepted, it is drawn from P(n + 1). The next token may equal the
              draft's token a + 1. If the chain selects with greedy or a custom sampler, the function does the same as
              the exact method of samp_verify.
     Bits     r(i) is an integer in units of 2^-63, rounded down. The values of r(i) P and of Q are integers too, also
              rounded down, in the unit in which the most likely token of P has the weight 2^40. These integers are
              compared. In h(i), 0 / 0 counts as 1; in r(i), it counts as 0.
     Returns  a, the number of accepted tokens, or a status of samp_verify. If row a (> 0) cannot be sampled, out[a] is
              its status: a bad row ends the draft, and the tokens before it are tested as a draft of their own. After
              the following errors nothing has changed. SAMP_E_FULL: n is above the number of tokens that samp_rollback
              can take back (64 by default): let samp_set_rollback keep more, or shorten the draft, which is as valid.
              SAMP_E_RANGE: n > 0 and s is in a chain. SAMP_E_NOMEM. SAMP_E_UNSUPPORTED: MT19937, samp_init_ras, or a
              custom sampler with an accept and no rollback. If a custom sampler's own rollback fails, the call ends
              with its status, and more tokens are accepted than reported.
     State    The chain's state is that after a + 1 calls of samp_sample. But samp_perf has counted the rejected tokens
              too, and samp_rollback can take back fewer of the older tokens, because this draft has used the memory of
              n + 1 tokens. An earlier draw whose token was not accepted is not taken back.
     Draws    128 random bits for each number, from a stream of its own: u(i) at the position of the first row, attempt
              i; the next token at the position of its own row, attempt 0. So a later call never uses the same bits
              again, which is necessary for an exact distribution.
     Cost     Each row costs as much as in the ratio method, row a is computed once more, and the rollback is added.
              With SAMP_BAN_REWIND, if a string was complete, the rows of the accepted tokens are computed once more.
     Memory   The memory for samp_rollback and that of samp_reserve are allocated at the first token, if they have not
              been before.
     Threads  as samp_sample.
     Source   Sun et al. 2025, "Block Verification Accelerates Speculative Decoding" (arXiv 2403.10444, algorithm 2). */
SAMP_API int32_t samp_verify_block(samp_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                                   samp_token *out);

/* samp_verify_tree -- tests a draft that branches, in which several tokens may follow the same one: accepts a path, and
   one more token.
     in       parent [n]: parent [j] is the index of the token that token j follows, in -1 .. j - 1; -1: token j is a
              first token of the draft. draft: has one row of probabilities for each token: the distribution from which
              the token was drawn, given the earlier tokens with the same parent. For draws without replacement this is
              q without these earlier tokens, divided by its sum. logits [n + 1 x n_vocab]: row 0 has the model's logits
              before the draft, row j + 1 the logits after token j.
     out      [n + 1] the tokens of the accepted path, then the next token, then -1
     path     [n] the path's tokens as indices of the draft, then -1; may be NULL
     Exact    With the exact method the output is the tokens of samp_sample, row by row, as long as the draft contains
              them. Of equal tokens with the same parent the first one counts. The exact method works with any chain and
              with both random sources (Philox and MT19937), and does not read the draft's probs.
     Ratio    With the ratio method the children (the tokens whose parent is the last token of the path so far) are
              tried in turn. Child x, drawn from q, is accepted if u q(x) < p(x), with u uniform in [0, 1). If it is
              rejected, p becomes max(0, p - q), divided by its sum, or does not change if max(0, p - q) is 0
              everywhere. If all children, or 64 of them, are rejected, a token is drawn from p. The output has the
              distribution of draws without a draft. For a draft without branches the result is that of samp_verify, bit
              for bit.
     Returns  the length of the path, or a status of samp_verify; SAMP_E_NULL: parent; SAMP_E_RANGE: a parent out of
              range.
     Draws    The ratio method uses the random stream of samp_verify at each position, with attempt k for child k.
     Cost     as samp_verify; if k children are tried, k (k + 1) / 2 of its passes over the candidates.
     Memory   The function allocates nothing of its own.
     Threads  as samp_sample.
     Source   Miao et al. 2024, "SpecInfer" (multi-step speculative sampling); the trees of Medusa and EAGLE. */
SAMP_API int32_t samp_verify_tree(samp_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                                  const int32_t *parent, samp_verify_method method, samp_token *out, int32_t *path);

/* The condition under which a draft is tested leniently: inside a span between two tokens, such as <think> and
   </think>, a token of the draft is accepted if it is nearly the most likely one. */
typedef struct samp_relaxed {
    int32_t top_k;         /* >= 0: the draft's token must be among the first top_k candidates; 0 is off */
    float delta;           /* the p of the draft's token must be at most delta, in [0, 1], below the largest p */
    samp_token begin, end; /* the tokens that begin and end a span, in -1 .. n_vocab - 1; -1: no token does */
    bool inside;           /* is the text in a span? samp_verify_relaxed keeps it up to date */
} samp_relaxed;

/* samp_verify_relaxed -- tests a draft as samp_verify does, but inside a span it accepts each token of the draft that
   is nearly the most likely one.
     in       as samp_verify. relaxed is read, and its member `inside` is written: a token `begin` in out sets `inside`
              for the tokens after it, and a token `end` clears it. (samp_rollback does not restore `inside`: after a
              rollback the caller must.)
     Relaxed  Inside a span, the draft's token x is accepted if it is one of the first top_k candidates, in the order
              (logit descending, id ascending), and p(x) >= p(best) - delta. p is the distribution that the chain leaves
              to its last sampler, even to greedy; it is computed in integer weights with the sum z, and delta as
              floor(delta z). If x is not accepted in this way, the method (exact or ratio) decides. If a custom sampler
              selects, only the method decides.
     Output   The output does not have the model's distribution. Let A be the set of tokens that are accepted in the
              relaxed way, and q the distribution from which the draft is drawn. The probability of x is, with the exact
              method, q(x) [x in A] + (1 - q(A)) p(x). With the ratio method it is q(x) in A and min(p, q)(x) elsewhere,
              plus max(0, p - q) scaled so that all sum to 1. Greedy is the exact form with p(best) = 1.
     Returns  as samp_verify; also SAMP_E_NULL: relaxed; SAMP_E_RANGE: top_k, delta, begin, end; SAMP_E_NAN: delta;
              SAMP_E_UNSUPPORTED: MT19937 or samp_init_ras with either method.
     State    The chain's state is that after a + 1 calls of samp_sample.
     Draws    as samp_verify, but no random bits for a token that is accepted in the relaxed way.
     Cost     inside a span that of the ratio method.
     Memory   The function allocates nothing of its own.
     Threads  as samp_sample; only one thread at a time may use a samp_relaxed.
     Source   TensorRT-LLM's relaxed acceptance (top-k and delta, greedy). A ratio to the largest p, as in other
              programs, is not offered, because it would be a delta that changes with the row. */
SAMP_API int32_t samp_verify_relaxed(samp_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                                     samp_verify_method method, samp_relaxed *relaxed, samp_token *out);

/* A text that proposes its own continuation (prompt lookup). */
typedef struct samp_ngram samp_ngram;

/* samp_ngram_init -- makes an empty text. A draft is what followed an earlier occurrence of its last tokens. A text
     that repeats itself (code, JSON, an answer that quotes its prompt) so needs fewer steps of the model; samp_verify
     judges the draft, so the tokens are those without a draft.
     Range    1 <= n_min <= n_max <= 64: how many of the last tokens must also occur earlier; 2 and 5 are usual.
              max_tokens in n_max .. 2^26: an earlier place must be among the last max_tokens tokens.
     Returns  the text; NULL: an argument is outside its range, or there is no memory.
     Memory   2^b (4 + 8 (n_max - n_min + 1)) bytes, where 2^b is the least power of two from 2 max_tokens on. All of it
              is allocated here.
     Threads  one thread at a time for each text. */
SAMP_API samp_ngram *samp_ngram_init(int32_t n_min, int32_t n_max, size_t max_tokens);
/* Frees a text; takes NULL. */
SAMP_API void samp_ngram_free(samp_ngram *ngram);
/* Forgets all tokens; takes NULL. */
SAMP_API void samp_ngram_reset(samp_ngram *ngram);
/* samp_ngram_accept -- appends a token: of the prompt, and each token that the chain has accepted. It takes n_max
   steps, however long the text is. Returns SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE (a token below 0).
   samp_ngram_rollback -- takes the last n tokens back, as samp_rollback does for the chain: everything is as before
   they were appended. Returns SAMP_OK, SAMP_E_NULL, or SAMP_E_RANGE with nothing changed: n is below 0, or above the
   number of tokens, or so large that tokens are needed again which are overwritten: a length that is at most max_tokens
   below the greatest so far can always be reached. */
SAMP_API int samp_ngram_accept(samp_ngram *ngram, samp_token token);
/* Takes the last n tokens back. */
SAMP_API int samp_ngram_rollback(samp_ngram *ngram, int32_t n);
/* samp_ngram_draft -- proposes tokens, for samp_verify with probs NULL.
     Draft    Let k be the largest number in n_min .. n_max so that the last k tokens of the text also end earlier in
              it, within the last max_tokens tokens. The draft is the text behind the latest such place that n_max
              tokens follow, or, if none has so many, behind the earliest; it ends where the text ends. (Of places whose
              n-grams share a hash, the latest 1,024 are looked at.)
     out      [n_max] the draft; may be NULL if n_max is 0
     Returns  the number of tokens, 0: no such place, or n_max is 0; SAMP_E_NULL.
     Source   Saxena 2023, "Prompt Lookup Decoding"; llama.cpp's lookup, vLLM's ngram. */
SAMP_API int64_t samp_ngram_draft(const samp_ngram *ngram, samp_token *out, size_t n_max);
