/* ---- 11. more ways to test a draft (SAMPLING_DRAFTS) ----------------------------------------------------------
   samp_verify tests one draft by one method. Here: a draft judged as a whole, a draft that branches, a test that is
   more lenient. */

/* All three are samp_verify's kin: what stands there of p, q, the draft, errors and the state holds here, but for what
   is said. Samplers in the chain, grammars too, have accepted the tokens in `out` and no others. */

/* samp_verify_block -- judge a draft as a whole: what the ratio test gives in distribution, and never less of the draft
   on average. A token that the ratio test would have rejected can be kept for the sake of those behind it.
     in       logits [n + 1 x n_vocab], draft: as samp_verify's
     out      [n + 1] the tokens that are accepted, then the next one; then -1
     Formula  with x(i) the draft's token i = 1 .. n, P(i) and Q(i) what it should have been and was drawn from, r(0) =
              1: r(i) = min(1, r(i - 1) P(i)(x(i)) / Q(i)(x(i))), S(i) = sum over tokens of max(r(i) P(i + 1) - Q(i +
              1), 0), h(i) = S(i) / (S(i) + 1 - r(i)), h(n) = r(n). The first a tokens are accepted, a the largest i
              with u(i) < h(i), u(i) uniform in [0, 1), or 0. The next one is drawn from max(r(a) P(a + 1) - Q(a + 1),
              0), or from P(a + 1) where that is 0 everywhere; behind the whole draft from P(n + 1). It may be the
              draft's token a + 1. Where greedy or a custom sampler selects it is the exact method.
     Exactly  r in units of 2^-63, rounded down; r P and Q in units of the weight of one token, 2^40 at the maximum,
              both rounded down; comparisons of integers. 0 / 0 counts as 1.
     Returns  how many are accepted, a; else as samp_verify: if row a (> 0) can't be sampled, out[a] is its status. A
              bad row ends the draft: the tokens before it are judged as a draft of their own. Besides, before anything
              has changed: SAMP_E_FULL: n is more than samp_set_rollback keeps (64), so tell it to keep more, or
              shorten the draft, which is as good as another; SAMP_E_RANGE: n > 0 and s in a chain; SAMP_E_NOMEM;
              SAMP_E_UNSUPPORTED: MT19937, or a custom sampler with an accept and no rollback. What a custom sampler's
              own rollback returns ends the call, with more tokens accepted than are told.
     State    that of a + 1 samp_sample calls; samp_perf has counted the others too, and samp_rollback's room for older
              tokens has gone to n + 1 of this draft. A draw before it, of which no token was accepted, stays.
     Draws    128 bits of its own kind: u(i) at the position of the first row, attempt i; the next token at its own
              row's position, attempt 0. So a later call meets none of these again, as losslessness needs.
     Cost     each row as in the ratio test, row a again, and the rollback; with SAMP_BAN_REWIND, where a string was
              complete, the rows that stay once more.   Memory  samp_rollback's, with the first
              token; and samp_reserve's.   Threads  as samp_sample.
     Source   Sun et al. 2025, "Block Verification Accelerates Speculative Decoding" (arXiv 2403.10444, algorithm 2). */
SAMP_API int32_t samp_verify_block(samp_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                                   samp_token *out);

/* samp_verify_tree -- a draft that branches: several tokens may follow the same one. The path that is accepted, and one
   token more.
     in       parent [n]: which token of the draft token j follows, in -1 .. j - 1; -1: it comes first. draft: its rows
              of probabilities are one for each token: what it was drawn from, as the tokens with the same parent that
              stand before it were known. Drawn without replacement that is q without these, divided by its sum. logits
              [n + 1 x n_vocab]: row 0 is what the model says before the draft, row j + 1 behind token j.
     out      [n + 1] the tokens of the path, then the next one; then -1
     path     [n] the path's tokens as indices of the draft, then -1; NULL: not wanted
     Exact    the tokens of samp_sample, row by row, as long as the draft has them: of equal ones with the same parent
              the first counts. Any chain, both random sources; probs are not used.
     Ratio    the children of the path's end are tried in turn: child x, drawn from q, is accepted if u q(x) < p(x), u
              uniform in [0, 1); else p becomes max(0, p - q), divided by its sum, or stays where that is 0 everywhere.
              Behind the last child, or the 64th, a token is drawn from p. It has the distribution of a draw without a
              draft. A draft without branches gives what samp_verify gives, bit for bit.
     Returns  the length of the path, or as samp_verify; SAMP_E_NULL: parent; SAMP_E_RANGE: one that is out of range.
     Draws    Ratio: samp_verify's stream at each position, attempt k for child k.
     Cost     as samp_verify; with k children tried, k (k + 1) / 2 of its passes over the candidates.   Memory none of
              its own.   Threads  as samp_sample.
     Source   Miao et al. 2024, "SpecInfer" (multi-step speculative sampling); the trees of Medusa and EAGLE. */
SAMP_API int32_t samp_verify_tree(samp_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                                  const int32_t *parent, samp_verify_method method, samp_token *out, int32_t *path);

/* Where a draft is taken more leniently: between two tokens, as <think> and </think>. */
typedef struct samp_relaxed {
    int32_t top_k;         /* >= 0; 0 = off. The draft's token is to be among the first so many candidates, */
    float delta;           /* in [0, 1], and its p at most so much below the largest */
    samp_token begin, end; /* what begins and ends a span, in -1 .. n_vocab - 1; -1: there is none */
    bool inside;           /* is the text in a span? Kept up to date by samp_verify_relaxed */
} samp_relaxed;

/* samp_verify_relaxed -- samp_verify, but inside of a span a draft's token that is nearly the best is accepted.
     in       as samp_verify. relaxed: read, and `inside` written: of out's tokens `begin` turns it on from the next one
              on, `end` off. (Take tokens back with samp_rollback, and it is yours to put back.)
     Relaxed  inside, x is accepted if it is one of the first top_k candidates, in the order (logit descending, id
              ascending), and p(x) >= p(best) - delta: p is what the chain leaves its last sampler, greedy too, in whole
              weights, floor(delta z) for delta. Else samp_verify's method decides. Where a custom sampler selects, only
              this.
     Gives    not the model's distribution. With A the tokens that are accepted so, the draft drawing from q: exact:
              q(x) [x in A] + (1 - q(A)) p(x). Ratio: q(x) in A, min(p, q)(x) elsewhere, and to that max(0, p - q),
              scaled to the rest of 1. Greedy is the first of these with p(best) = 1.
     Returns  as samp_verify. Besides SAMP_E_NULL: relaxed; SAMP_E_RANGE: top_k, delta, begin, end; SAMP_E_NAN: delta;
              SAMP_E_UNSUPPORTED: MT19937 with either method.
     State    that of a + 1 samp_sample calls.   Draws  as samp_verify; none where a token is accepted in this way.
     Cost     inside of a span as the ratio test.   Memory none of its own.   Threads  as samp_sample; relaxed is of
              one.
     Source   TensorRT-LLM's relaxed acceptance (top-k and delta, greedy). A ratio to the best p, as others have it, is
              a delta that changes with the row: not offered. */
SAMP_API int32_t samp_verify_relaxed(samp_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                                     samp_verify_method method, samp_relaxed *relaxed, samp_token *out);
