/* ---- 11. more ways to test a draft (SAMPLING_DRAFTS) ----------------------------------------------------------
   samp_verify tests a draft token by token. This part adds a test of a draft as a whole, drafts that branch, and a more
   lenient test. */

/* Common to all three: samp_verify's contract about p, q, the draft, errors and state holds here too, unless the
   comment says otherwise. Afterwards the chain's samplers, grammars too, have accepted the tokens in `out` and no
   others. */

/* samp_verify_block -- tests a draft as a whole. The output has the same distribution as with the ratio test, and on
   average at least as much of the draft is accepted: a token that the ratio test would reject may be kept for the sake
   of the tokens after it.
     in       logits [n + 1 x n_vocab], draft: as samp_verify's
     out      [n + 1] the accepted tokens, then the next token, then -1
     Formula  x(i) is the draft's token i = 1 .. n; P(i) is the distribution that it should have, Q(i) the one that it
              was drawn from. r(0) = 1, r(i) = min(1, r(i - 1) P(i)(x(i)) / Q(i)(x(i))), S(i) = sum over tokens of
              max(r(i) P(i + 1) - Q(i + 1), 0), h(i) = S(i) / (S(i) + 1 - r(i)), h(n) = r(n). The first a tokens are
              accepted: a is the largest i with u(i) < h(i), u(i) uniform in [0, 1), or 0. The next token is drawn from
              max(r(a) P(a + 1) - Q(a + 1), 0), or from P(a + 1) if that is 0 everywhere; after the whole draft from P(n
              + 1). It may be the draft's token a + 1. If greedy or a custom sampler selects, it is the exact method.
     Exactly  r in units of 2^-63, rounded down; r P and Q in units of the weight of one token, 2^40 at the maximum,
              both rounded down; comparisons of integers. 0 / 0 counts as 1.
     Returns  a, the number of accepted tokens, or as samp_verify. If row a (> 0) cannot be sampled, out[a] is its
              status: a bad row ends the draft, and the tokens before it are tested as a draft of their own. The
              following errors come before any change. SAMP_E_FULL: n is above the tokens that samp_set_rollback keeps
              (64): keep more, or shorten the draft, which is as valid. SAMP_E_RANGE: n > 0 and s is in a chain.
              SAMP_E_NOMEM. SAMP_E_UNSUPPORTED: MT19937, or a custom sampler with an accept and no rollback. If a custom
              sampler's own rollback fails, the call ends with its status, and more tokens are accepted than reported.
     State    that after a + 1 calls of samp_sample. But samp_perf has counted the other tokens too, and samp_rollback
              has lost older tokens for n + 1 tokens of this draft. An earlier draw whose token was not accepted stays.
     Draws    128 bits of a stream of its own: u(i) at the position of the first row, attempt i; the next token at its
              own row's position, attempt 0. So a later call never uses the same bits again, which exactness in
              distribution needs.
     Cost     each row as in the ratio test, row a once more, and the rollback; with SAMP_BAN_REWIND, where a string was
              complete, the rows that stay once more.   Memory  samp_rollback's, at the first token; and samp_reserve's.
              Threads  as samp_sample.
     Source   Sun et al. 2025, "Block Verification Accelerates Speculative Decoding" (arXiv 2403.10444, algorithm 2). */
SAMP_API int32_t samp_verify_block(samp_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                                   samp_token *out);

/* samp_verify_tree -- tests a draft that branches, in which several tokens may follow the same one: accepts a path, and
   one more token.
     in       parent [n]: the index of the token that token j follows, in -1 .. j - 1; -1: j comes first. draft: has one
              row of probabilities for each token: the distribution that it was drawn from, given the earlier tokens
              with the same parent. For draws without replacement that is q without these tokens, divided by its sum.
              logits [n + 1 x n_vocab]: row 0 has the model's logits before the draft, row j + 1 those after token j.
     out      [n + 1] the tokens of the path, then the next token, then -1
     path     [n] the path's tokens as indices of the draft, then -1; may be NULL
     Exact    the tokens of samp_sample, row by row, as long as the draft has them. Of equal tokens with the same parent
              the first counts. Any chain, both random sources; probs are not used.
     Ratio    the children of the path's end are tried in turn. Child x, drawn from q, is accepted if u q(x) < p(x), u
              uniform in [0, 1); else p becomes max(0, p - q), divided by its sum, or stays if that is 0 everywhere.
              After the last child, or the 64th, a token is drawn from p. The output has the distribution of draws
              without a draft. For a draft without branches the result is samp_verify's, bit for bit.
     Returns  the length of the path, or as samp_verify; SAMP_E_NULL: parent; SAMP_E_RANGE: a parent out of range.
     Draws    Ratio: samp_verify's stream at each position, attempt k for child k.
     Cost     as samp_verify; with k children tried, k (k + 1) / 2 of its passes over the candidates.   Memory  none of
              its own.   Threads  as samp_sample.
     Source   Miao et al. 2024, "SpecInfer" (multi-step speculative sampling); the trees of Medusa and EAGLE. */
SAMP_API int32_t samp_verify_tree(samp_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                                  const int32_t *parent, samp_verify_method method, samp_token *out, int32_t *path);

/* Where a draft is tested more leniently: in a span between two tokens, such as <think> and </think>. */
typedef struct samp_relaxed {
    int32_t top_k;         /* >= 0; 0 = off. The draft's token must be among the first top_k candidates */
    float delta;           /* in [0, 1]; its p must be at most delta below the largest p */
    samp_token begin, end; /* the tokens that begin and end a span, in -1 .. n_vocab - 1; -1: there is none */
    bool inside;           /* is the text in a span? samp_verify_relaxed keeps it up to date */
} samp_relaxed;

/* samp_verify_relaxed -- samp_verify, but inside a span a draft's token that is nearly the best is accepted.
     in       as samp_verify. relaxed is read, and `inside` is written: a token `begin` in out sets it for the tokens
              after it, `end` clears it. (samp_rollback does not set it back: after a rollback the caller does.)
     Relaxed  inside a span, x is accepted if it is one of the first top_k candidates, in the order (logit descending,
              id ascending), and p(x) >= p(best) - delta. p is the distribution that the chain leaves to its last
              sampler, also to greedy, in integer weights, with floor(delta z) for delta. Otherwise samp_verify's method
              decides. If a custom sampler selects, only samp_verify's method decides.
     Gives    not the model's distribution. A is the set of tokens that are accepted in this way, and the draft draws
              from q. Exact: q(x) [x in A] + (1 - q(A)) p(x). Ratio: q(x) in A, min(p, q)(x) elsewhere, plus max(0, p -
              q) scaled to the rest of 1. Greedy is the exact form with p(best) = 1.
     Returns  as samp_verify; also SAMP_E_NULL: relaxed; SAMP_E_RANGE: top_k, delta, begin, end; SAMP_E_NAN: delta;
              SAMP_E_UNSUPPORTED: MT19937 with either method.
     State    that after a + 1 calls of samp_sample.   Draws  as samp_verify; none if a token is accepted in this way.
     Cost     inside a span that of the ratio test.   Memory  none of its own.   Threads  as samp_sample; one thread may
              use a samp_relaxed at a time.
     Source   TensorRT-LLM's relaxed acceptance (top-k and delta, greedy). A ratio to the best p, as in other programs,
              is not offered, because it would be a delta that changes with the row. */
SAMP_API int32_t samp_verify_relaxed(samp_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                                     samp_verify_method method, samp_relaxed *relaxed, samp_token *out);
