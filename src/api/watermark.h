/* ---- 13. watermarks (SAMPLING_WATERMARK) ----------------------------------------------------------------------
   Samplers whose choice depends on a secret key and the last tokens, which leaves a mark in the text; and detectors,
   which find this mark with the key. The library never writes a key: not in a text, not in an error, not in a saved
   state. */

/* What all kinds of watermarks have in common:
     Context  The context of a token is the context_width tokens before it. Only tokens that were accepted after the
              sampler's first draw belong to it; earlier tokens are the prompt. A missing token counts as -1. samp_reset
              begins a new text.
     Repeats  If the context already occurred at one of the last `history` positions, the token is drawn without the
              mark, because the same context always gives the same mark. This check takes O(1) a token.
     Function "philox4x32-10-v1", vLLM's: it computes a word of 32 bits from key, context and token. The state begins as
              (0x574D4358, context_width, 0, 0). For o = 0, 4, 8 ... < context_width it becomes Philox4x32-10 of state ^
              (tokens o .. o + 3 of the context, oldest first; 2^32 - 1 - i at index i of these four if the context has
              no such token) under the key (lower half of the key ^ o, upper half). The words of four tokens are then
              Philox of (id / 4, state [0 .. 2]) under the key (lower half ^ state [3], upper half ^ 0x574D544B); id % 4
              selects the token's word. The number u of a word is ((word >> 8) + 1) / (2^24 + 1), computed in double and
              rounded to float.
     State    samp_clone, samp_state_save, samp_rollback and batches work as with any built-in sampler. A saved state
              contains a fingerprint of the settings (made with a part of the key's SHA-256), and cannot be loaded under
              another key.
     Memory   is allocated when the sampler is made: 4 bytes for each position of the history, and 8 to 16 more for the
              search. Later only the record for samp_rollback needs memory: 20 bytes for each token that can be taken
              back. */
typedef enum samp_watermark_kind {
    SAMP_WATERMARK_GUMBEL = 0,      /* selects the token with the smallest -ln(u) / w (u: its random number from the
                                        key, w: its weight): each token with the same probability as dist */
    SAMP_WATERMARK_GUMBEL_DUAL = 1, /* Gumbel with two keys that are derived from the key: for drafts (samp_verify) */
    SAMP_WATERMARK_SBW_SELFHASH = 2, /* adds delta to the logits of some tokens; belongs before the truncations, and
                                        marks greedy texts too */
    SAMP_WATERMARK_SBW_LEFTHASH = 3, /* as selfhash, but the context alone decides which tokens get delta */
    SAMP_WATERMARK_SYNTHID = 4       /* draws after a tournament of `depth` layers, which random bits of tokens
                                        decide */
} samp_watermark_kind;

/* The part of the text in which the sampler looks for an earlier occurrence of a context; vLLM's names are in
   brackets. */
typedef enum samp_watermark_scope {
    SAMP_WATERMARK_ONCE_IN_TEXT = 0, /* the generated tokens (single_turn) */
    SAMP_WATERMARK_ONCE_IN_ALL =
        1,                    /* generated tokens and prompt; the first context_width tokens get no mark (all) */
    SAMP_WATERMARK_ALWAYS = 2 /* no part: every token is marked (none) */
} samp_watermark_scope;

/* The settings of a watermark. Begin with samp_default_watermark. Each member's comment has its range and its default;
   in brackets are the kinds that use the member, if not all do. */
typedef struct samp_watermark {
    samp_watermark_kind kind;
    uint64_t key;               /* the secret: 64 random bits. A key that can be guessed is not secret */
    int32_t context_width;      /* the number of tokens in a context: 1 .. 64, default 4, for lefthash 1 */
    samp_watermark_scope scope; /* the default is ONCE_IN_TEXT */
    int32_t history;            /* how many past positions are searched for a context: 1 .. 2^22, default 8192 */
    double alpha;               /* the share of draws with key B: [0, 1], default 0.1 (dual) */
    int32_t depth;              /* the number of layers of the tournament: 1 .. 32, default 32 (SynthID) */
    double gamma;               /* the share of green tokens, which get delta: (0, 1), default 0.5 (SBW) */
    float delta;                /* what is added to the logits of green tokens: [0, FLT_MAX], default 2; 0 is off
                                   (SBW) */
    uint64_t seed;              /* the seed of draws without a mark, of SynthID's draw, and of the choice of the key
                                   (not SBW) */
} samp_watermark;

/* samp_default_watermark -- returns the settings of a kind with vLLM's numbers. The key is 0: set it. For an unknown
     kind it returns GUMBEL's numbers with that kind, which samp_init_watermark then refuses. */
SAMP_API samp_watermark samp_default_watermark(samp_watermark_kind kind);

/* samp_watermark_set -- sets a member by its name and a text, as samp_settings_set does: "kind" (gumbel, gumbel_dual,
     sbw_selfhash, sbw_lefthash, synthid; the other members stay), "key" and "seed" (decimal, 0 .. 2^64 - 1),
     "context_width", "scope" (once_in_text, once_in_all, always), "history", "alpha", "depth", "gamma", "delta".
     Returns  SAMP_OK; SAMP_E_NULL; SAMP_E_NAME; SAMP_E_FORMAT: the text is not a number; SAMP_E_RANGE: the number does
              not fit the member's type, or the text is not a name of a kind or scope. After an error nothing has
              changed. samp_init_watermark checks the ranges of the members.
     Threads  one thread for each struct. */
SAMP_API int samp_watermark_set(samp_watermark *mark, const char *name, const char *value);

/* samp_init_watermark -- makes a sampler that leaves a mark in the text. All kinds except SBW select a token, and are
   the last member of a chain, instead of dist.
     Gumbel   selects the token with the smallest -ln(u) / w, where w is the weight as in dist: the token with the
              largest l - ln(-ln u). Over all keys the probabilities are dist's. Of equal tokens the one with the larger
              logit is selected, then the one with the smaller id.
     Dual     uses key A or B: the first 8 bytes of SHA-256("key_a" or "key_b", then the key's 8 bytes), all big-endian.
              Key B is used with probability alpha. samp_verify, _block, _tree and _relaxed, in their ratio tests, use
              key B for the token that replaces a draft's token and for the one after a whole draft. The draft's own
              tokens come from samp_init_watermark_draft.
     SBW      A token is green if (word & 0x7FFFFFFF) < (int)(gamma 0x7FFFFFFF), where word is number id % 4 of Philox
              at (id / 4, 0, 0, 0) under a seed as the key. With lefthash the seed is key * (the sum of the context).
              With selfhash it is the least, as a signed number, of key h(c) h(id) for the tokens c of the context
              except the oldest, and of key h(id)^2. h(x): i = x + 1, in 32 bits with arithmetic shifts, i -= i << 6, i
              ^= i >> 17, i -= i << 9, i ^= i << 4, i -= i << 3, i ^= i << 10, i ^= i >> 15. Seeds are modulo 2^64.
              SBW draws no random numbers. It leaves sorted = false.
     SynthID  p = softmax(l). For each bit d = 0 .. depth - 1: m is the sum of p of the tokens whose word has the bit;
              p *= 2 - m for these tokens, p *= 1 - m for the others. Then it draws from p as dist does. It leaves l =
              ln p + const.
     Bits     The token is the same on every machine: logarithms are those of >>math, and weights are integers in units
              of 2^-40 of the largest weight. SynthID's p are doubles, and m is a quotient of two sums of these p
              rounded down to integers.
     Leaves   p set for every token (SBW does not change p).
     Draws    The position advances by one (not with SBW). A draw without a mark and SynthID's draw draw as dist does,
              with random bits of a stream of their own (so dist with the same seed draws other tokens); the choice
              between two keys uses 64 bits, and Gumbel's marked token needs no random bits.
     Greedy   If a chain selects greedily, only SBW marks its texts.
     MT19937  Under SAMP_RNG_MT19937 the sampler works as under SAMP_RNG_PHILOX, because llama.cpp has no watermark.
     Range    is that of the members above; SAMP_E_NULL: mark; SAMP_E_RANGE, SAMP_E_NAN with the member's name. NULL: no
              memory.
     Cost     Gumbel costs as much as samp_init_gumbel, and after a top_k of 40 as much as dist. SynthID takes some
              microseconds after a top_k of 40. SBW takes 2 ns for each token of the row with AVX-512, 5 ns with AVX2.
     Sharded, device  With samp_sample_sharded the chain continues on an array from this sampler on, and with a GPU on
              the CPU.
     Source   Aaronson 2022; vLLM's vllm/v1/watermarking of 2026 (gumbel, dual_key_gumbel, sbw, synthid); Ceppi and
              Sanchez 2026, "Flip, Don't Shuffle" (arXiv 2609.03844); Dathathri et al. 2024, "Scalable watermarking for
              identifying large language model outputs" (Nature 634). */
SAMP_API samp_sampler *samp_init_watermark(const samp_watermark *mark);

/* samp_init_watermark_draft -- makes the watermark's sampler for a small model that drafts: with GUMBEL_DUAL it draws
     all tokens with key A. The other kinds have no such sampler: the result carries SAMP_E_UNSUPPORTED, "kind". */
SAMP_API samp_sampler *samp_init_watermark_draft(const samp_watermark *mark);

/* The result of a detector. p is the probability that a text without this mark has this score or a larger one. */
typedef struct samp_watermark_result {
    double score; /* Gumbel: the sum of -ln(1 - u); dual: (1 - alpha) times A's sum + alpha times B's; SBW: the number
                        of green tokens; SynthID: the mean of all bits */
    double p_value;  /* 0 below 1e-300 */
    size_t n_scored; /* the number of scored tokens: those whose context is new in the text */
    double ln_p;     /* ln(p_value), which is valid even if p_value is 0 */
} samp_watermark_result;

/* samp_watermark_detect -- scores a text for the mark of this key.
     in       mark: kind, key, context_width, alpha, depth, gamma are read. text [n]: the tokens as they were generated,
              without the prompt; n <= 2^30
     Counts   Each context counts once. For SBW each pair of seed and token also counts once, because it has one colour;
              a token whose seed is 0 does not count, because that seed is the same for all keys (with lefthash after
              token 0; some of the first tokens of a text).
     p        Gumbel: Q(n, s), the upper regularised gamma function; too small by a factor of exp(n 2^-24) at most.
              Dual: Q(n / v, s / v), v = (1 - alpha)^2 + alpha^2. This approximation has the right mean and variance,
              and is too small in the tail. SBW, SynthID: the exact binomial tail. All are computed as logarithms.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE (a member, n, or a token below 0), SAMP_E_NAN, SAMP_E_NOMEM. After an
              error *out has not changed. A text without tokens has p 1.
     Memory   14 to 20 bytes a token, for SBW 28 to 40; it is freed before the function returns.   Threads  any. */
SAMP_API int samp_watermark_detect(const samp_watermark *mark, const samp_token *text, size_t n,
                                   samp_watermark_result *out);

/* samp_watermark_detect_keys -- does the same for each of keys [n_keys] instead of mark->key; result k goes to out [k].
     The text was probably drawn with the key of the least p; what the result proves is n_keys times that p. */
SAMP_API int samp_watermark_detect_keys(const samp_watermark *mark, const uint64_t *keys, size_t n_keys,
                                        const samp_token *text, size_t n, samp_watermark_result *out);

/* A piece of a text, and its result. */
typedef struct samp_watermark_span {
    size_t begin, end;            /* text [begin .. end) */
    samp_watermark_result result; /* of the piece: its tokens that count in the whole text */
    double p_value, ln_p; /* for any piece of this length: p of `result` times the number of pieces, at most 1 */
} samp_watermark_span;

/* samp_watermark_find -- finds the piece of `window` tokens (or the whole text, if it is shorter) with the least p. Of
     pieces with equal p and the same number of scored tokens it takes the first. Otherwise it is as
     samp_watermark_detect; window = 0 is SAMP_E_RANGE.
     Cost     O(n) scores; p is computed at most `window` times.
     Memory   16 bytes more for each token of the window. */
SAMP_API int samp_watermark_find(const samp_watermark *mark, const samp_token *text, size_t n, size_t window,
                                 samp_watermark_span *out);
