/* ---- 13. watermarks (SAMPLING_WATERMARK) ----------------------------------------------------------------------
   Samplers whose choice depends on a secret key and the last tokens, and detectors, which recognise their texts with
   the key. Nothing here ever writes a key: not a text, not an error, not a saved state. */

/* Common to all kinds:
     Context  the context_width tokens before the one to come, of those accepted behind the sampler's first draw: what
              was accepted before that is the prompt. -1 stands where there is none. samp_reset begins a new text.
     Repeats  a context that has been there within the last `history` places is drawn without the mark: once marked,
              it would always give the same token. In O(1) a token.
     Function "philox4x32-10-v1", vLLM's, of (key, context, token): 32 bits, a word. A state begins as (0x574D4358,
              context_width, 0, 0). For o = 0, 4, 8 ... it becomes Philox4x32-10 of state ^ (the context's tokens o ..
              o + 3, oldest first; 2^32 - 1 - i for number i where there is none any more) under (lower half of the
              key ^ o, upper half). Then the words of four tokens are Philox of (id / 4, state [0 .. 2]) under (lower
              half ^ state [3], upper half ^ 0x574D544B); id % 4 says which. u of a word: ((word >> 8) + 1) /
              (2^24 + 1), in double, rounded to float.
     State    as of any built-in sampler: samp_clone, samp_state_save, samp_rollback, batches. A saved state knows the
              settings by a fingerprint (of the key by one of SHA-256), and refuses another key.
     Memory   with the making: 4 bytes for each place of the history, 8 to 16 more for what looks them up; none after
              that, but for samp_rollback's 20 bytes a token. */
typedef enum samp_watermark_kind {
    SAMP_WATERMARK_GUMBEL = 0,       /* the smallest -ln(u) / w wins: selects, with dist's probabilities */
    SAMP_WATERMARK_GUMBEL_DUAL = 1,  /* the same with one of two keys made of the one: for drafts (samp_verify) */
    SAMP_WATERMARK_SBW_SELFHASH = 2, /* l += delta for some tokens, before the truncations; marks greedy texts too; */
    SAMP_WATERMARK_SBW_LEFTHASH = 3, /* lefthash: the same tokens behind the same context, whatever the token */
    SAMP_WATERMARK_SYNTHID = 4       /* selects behind a tournament of `depth` layers, by the bits of a word */
} samp_watermark_kind;

/* Where a context that has been there before is looked for. */
typedef enum samp_watermark_scope {
    SAMP_WATERMARK_ONCE_IN_TEXT = 0, /* in what has been generated (vLLM's single_turn) */
    SAMP_WATERMARK_ONCE_IN_ALL = 1,  /* in the prompt too; the first context_width tokens carry no mark (all) */
    SAMP_WATERMARK_ALWAYS = 2        /* nowhere: every token is marked (none) */
} samp_watermark_scope;

/* Begin with samp_default_watermark. In brackets: which kinds look at it, if not all. */
typedef struct samp_watermark {
    samp_watermark_kind kind;
    uint64_t key;               /* the secret: 64 random bits. What can be guessed is none */
    int32_t context_width;      /* 1 .. 64; 4, of lefthash 1 */
    samp_watermark_scope scope; /* ONCE_IN_TEXT */
    int32_t history;            /* 1 .. 2^22 places; 8192 */
    double alpha;               /* [0, 1]: how often key B is drawn with, 0.1 (dual) */
    int32_t depth;              /* 1 .. 32 layers; 32 (SynthID) */
    double gamma;               /* (0, 1): the share of green tokens, 0.5 (SBW) */
    float delta;                /* [0, FLT_MAX]: 2; 0 is off (SBW) */
    uint64_t seed;              /* of draws without a mark, of SynthID's draw, and of which key (not SBW) */
} samp_watermark;

/* samp_default_watermark -- returns a kind with its usual numbers, vLLM's. The key is 0: set it. For an unknown kind,
     the numbers of GUMBEL with that kind, which samp_init_watermark then refuses. */
SAMP_API samp_watermark samp_default_watermark(samp_watermark_kind kind);

/* samp_watermark_set -- sets a member by name and text, as samp_settings_set: "kind" (gumbel, gumbel_dual,
     sbw_selfhash, sbw_lefthash, synthid; the other members stay), "key" and "seed" (decimal, 0 .. 2^64 - 1),
     "context_width", "scope" (once_in_text, once_in_all, always), "history", "alpha", "depth", "gamma" (both with at
     most 15 digits), "delta".
     Returns  SAMP_E_NULL, SAMP_E_NAME, SAMP_E_FORMAT: no number, SAMP_E_RANGE: one that its type has not, or no such
              word; then nothing has changed. Ranges are looked at by samp_init_watermark.   Threads  one a struct. */
SAMP_API int samp_watermark_set(samp_watermark *mark, const char *name, const char *value);

/* samp_init_watermark -- a sampler that marks. All kinds but SBW select, and stand last in a chain, in place of dist.
     Gumbel   the smallest -ln(u) / w of all tokens, w as dist's weight: the token with the largest l - ln(-ln u). Over
              all keys the probabilities are dist's. Of equal ones the larger logit wins, then the smaller id.
     Dual     key A or B, each the first 8 bytes of SHA-256("key_a" or "key_b", then the key's 8), all big-endian: B
              with probability alpha. samp_verify, _block, _tree and _relaxed by their ratio tests: a token that
              replaces a draft's, and one behind all of it, are drawn with B. For the draft's own tokens:
              samp_init_watermark_draft.
     SBW      the token is green if (word & 0x7FFFFFFF) < (int)(gamma 0x7FFFFFFF), the word number id % 4 of Philox at
              (id / 4, 0, 0, 0) under a seed, as key. lefthash: the seed is key * (the context's sum). selfhash: the
              least, as signed, of key h(c) h(id) for the context's tokens c but the oldest, and key h(id)^2, h(x): i =
              x + 1, in 32 bits with arithmetic shifts, i -= i << 6, i ^= i >> 17, i -= i << 9, i ^= i << 4, i -= i <<
              3, i ^= i << 10, i ^= i >> 15. Seeds modulo 2^64. It draws nothing. sorted = false.
     SynthID  p = softmax(l); for each bit d = 0 .. depth - 1: m = the sum of p of the tokens whose word has it; p *=
              2 - m for these, 1 - m for the others. Then the draw of dist from p. Leaves l = ln p + const.
     Exactly  logarithms as in >>math, weights in units of 2^-40 of the largest: the same token everywhere. SynthID's p
              are doubles, m a quotient of two sums of them rounded down to integers.
     Leaves   p of every token (SBW: p as it was).   Draws  one position (SBW: none): what dist draws, where there is no
              mark and of SynthID; 64 bits for which of two keys; Gumbel's mark nothing.
     Greedy   is marked by SBW alone.   MT19937  the same: llama.cpp has none.
     Range    as told at the members; SAMP_E_NULL: mark; SAMP_E_RANGE, SAMP_E_NAN with the member's name. NULL: no
              memory.
     Cost     Gumbel: as samp_init_gumbel; behind top_k 40 as dist. SynthID: some us behind top_k 40. SBW: 2 ns a
              token of the row with AVX-512, 5 with AVX2.   Sharded, device  left to the array, or the CPU.
     Source   Aaronson 2022; vLLM's vllm/v1/watermarking of 2026 (gumbel, dual_key_gumbel, sbw, synthid); Ceppi and
              Sanchez 2026, "Flip, Don't Shuffle" (arXiv 2609.03844); Dathathri et al. 2024, "Scalable watermarking for
              identifying large language model outputs" (Nature 634). */
SAMP_API samp_sampler *samp_init_watermark(const samp_watermark *mark);

/* samp_init_watermark_draft -- the same for a small model that drafts: of GUMBEL_DUAL all tokens with key A. Of the
     other kinds there is none: SAMP_E_UNSUPPORTED, "kind". */
SAMP_API samp_sampler *samp_init_watermark_draft(const samp_watermark *mark);

/* The result of a detector. p is the probability that a text without this mark has this score or a larger one. */
typedef struct samp_watermark_result {
    double score;    /* Gumbel: the sum of -ln(1 - u); dual: of (1 - alpha) that of A + alpha that of B; SBW: how many
                        are green; SynthID: the mean of all bits */
    double p_value;  /* 0 below 1e-300 */
    size_t n_scored; /* tokens that count: those whose context is new in the text */
    double ln_p;     /* ln p_value, for any text */
} samp_watermark_result;

/* samp_watermark_detect -- scores a text for the mark of this key.
     in       mark: kind, key, context_width, alpha, depth, gamma are read. text [n]: the tokens as they were
              generated, without the prompt; n <= 2^30
     Counts   each context once. Of SBW also each pair of seed and token once, since it has one colour, and none where
              the seed is 0, which is the same for all keys (lefthash behind token 0; some of the first tokens).
     p        Gumbel: Q(n, s), the upper regularised gamma function; too small by a factor of exp(n 2^-24) at most.
              Dual: Q(n / v, s / v), v = (1 - alpha)^2 + alpha^2, which has the mean and the variance and is an
              approximation: too small in the tail. SBW, SynthID: the binomial tail, exact. All in logarithms.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE (a member, n, or a token below 0), SAMP_E_NAN, SAMP_E_NOMEM; then *out
              is as it was. A text of no tokens: p 1.
     Memory   14 to 20 bytes a token, of SBW 28 to 40, given back.   Threads  any. */
SAMP_API int samp_watermark_detect(const samp_watermark *mark, const samp_token *text, size_t n,
                                   samp_watermark_result *out);

/* samp_watermark_detect_keys -- the same for each of keys [n_keys] in place of mark->key -> out [n_keys]. Of several
     keys the one with the least p is meant; what it proves is n_keys times that p. */
SAMP_API int samp_watermark_detect_keys(const samp_watermark *mark, const uint64_t *keys, size_t n_keys,
                                        const samp_token *text, size_t n, samp_watermark_result *out);

/* Where in a text. */
typedef struct samp_watermark_span {
    size_t begin, end;            /* text [begin .. end) */
    samp_watermark_result result; /* of that piece: its tokens that count in the whole text */
    double p_value, ln_p; /* that any piece of this length is so: result's times the number of pieces, at most 1 */
} samp_watermark_span;

/* samp_watermark_find -- the piece of `window` tokens (or all, if there are fewer) with the least p; of equal ones with
     as many tokens that count the first. Else as samp_watermark_detect; window = 0 is SAMP_E_RANGE.
     Cost     O(n) scores; p is computed at most `window` times.
     Memory   16 bytes more for each token of the window. */
SAMP_API int samp_watermark_find(const samp_watermark *mark, const samp_token *text, size_t n, size_t window,
                                 samp_watermark_span *out);
