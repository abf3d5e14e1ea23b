/* ---- 3. samplers --------------------------------------------------------------------------------------------
   Functions for any sampler (samp_apply, samp_accept, samp_clone, ...), then one constructor for each kind with its
   contract: meaning, formula and source, ties, ranges, and the state of the array after it. */

/* samp_apply -- applies one sampler to an array of candidates.
     in, out  cur: size >= 1, no NaN, no +infinity, at least one logit above -infinity. `sorted` is checked, not trusted
              (under MT19937 it is trusted, as in llama.cpp)
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_EMPTY, SAMP_E_NAN, SAMP_E_RANGE (size), or the status that s carries.
              A built-in sampler checks the array before its first write.
     Memory   as samp_sample, if size is above 256. Without memory it is slower, and not an error. */
SAMP_API int samp_apply(samp_sampler *s, samp_token_data_array *cur);

/* samp_accept -- lets a sampler take note of a chosen token, also of a prompt's. Returns SAMP_OK, SAMP_E_NULL,
   SAMP_E_RANGE (token < 0), or the status of a custom sampler or grammar that refuses the token. Then nothing has
   changed; exception: custom samplers in front of that one that have no rollback. */
SAMP_API int samp_accept(samp_sampler *s, samp_token token);

/* samp_name -- "top-k", "chain", ...
   samp_reset -- sets the sampler to the state of a new one.
   samp_free -- frees a sampler, and with a chain all its members; takes NULL.
   samp_clone -- a copy that continues as the original would: with its parameters, random and other state. NULL: no
     memory. */
SAMP_API const char *samp_name(const samp_sampler *s);
/* Sets the sampler to the state of a new one, for another text. */
SAMP_API void samp_reset(samp_sampler *s);
/* A copy that continues as the original would. */
SAMP_API samp_sampler *samp_clone(const samp_sampler *s);
/* Frees a sampler, and with a chain all its members; takes NULL. */
SAMP_API void samp_free(samp_sampler *s);

/* samp_init_custom -- a sampler of your own; *iface must outlive it. iface or its apply NULL: the object carries
   SAMP_E_NULL. */
SAMP_API samp_sampler *samp_init_custom(const samp_sampler_i *iface, void *ctx);

/* Common to the samplers below, unless their comment says otherwise:
     Order    (logit descending, id ascending). Masked tokens (-infinity) come last and are not counted.
     Keeps    the order of the array and `sorted`.
     selected is -1 after a sampler that does not select: an earlier selection was made from other candidates. So a draw
              from a chain in which such a sampler follows the selector is SAMP_E_UNSUPPORTED, whatever the row.
              Samplers that are off, and your own, may follow the selector.
     p        stays as it was.    Draws   no random numbers.
     min_keep at least this many unmasked tokens stay (0 and 1 mean the same).
     NaN      in the array: SAMP_E_NAN.    A parameter that is NaN: the object carries SAMP_E_NAN.
     MT19937  sizes, order, `sorted`, p and selected are llama.cpp's: masked tokens stay in the array and count as
              candidates, `sorted` does not promise the order of equal logits, and the index selected stays, whatever
              candidate is there then (a masked token: SAMP_E_EMPTY).
   The arithmetic is that of DETERMINISM above: w is a token's weight, Z the sum of weights, d = max - l in nats. p is
   exp(-d) / Z as a float, precise also for tokens whose w is 0. */

/* samp_init_logit_bias -- l += bias, entry by entry in the given order (a token may occur twice).
     Range    token in [0, n_vocab), bias < +infinity; n = 0 is off.   The array is copied.
     Leaves   sorted = false. Results beyond +-FLT_MAX become +-FLT_MAX; masked tokens stay masked.
     Source   OpenAI's logit_bias, llama.cpp (which does not change `sorted`). */
SAMP_API samp_sampler *samp_init_logit_bias(int32_t n_vocab, int32_t n, const samp_logit_bias *bias);

/* samp_init_penalties -- makes tokens less likely that are among the last last_n accepted ones. c is how often a token
   is among them:
     c > 0:   l = l <= 0 ? l * repeat : l / repeat;   l -= c * freq + present
     Range    last_n in [0, 2^22], 0 = off; repeat > 0, 1 = off; freq, present finite, 0 = off.
     Leaves   sorted = false. Results beyond +-FLT_MAX become +-FLT_MAX.   Memory  12 bytes per last_n.
     Zero     the test l <= 0 depends on the zero of the model's logits. After samp_init_log_softmax every l is ln p, so
              a larger repeat is a stronger penalty for any model.
     Source   Keskar et al. 2019 (CTRL) with Hugging Face's sign rule; OpenAI's frequency and presence penalties;
              llama.cpp. */
SAMP_API samp_sampler *samp_init_penalties(int32_t last_n, float repeat, float freq, float present);

/* samp_init_dry -- "don't repeat yourself": penalises a token that would continue a repetition of length L >=
   allowed_length:
     l -= multiplier * base^(L - allowed_length), the power at most about FLT_MAX.
     L is the length of the longest suffix of the accepted tokens that also occurs earlier, followed by this token.
     Breakers strings ("\n", ":", ...) that end a repetition: a match never extends over the newest one. A breaker may
              span several tokens. At most 40 bytes of each breaker count, and at most 20 tokens after its first one. A
              token that contains a breaker is never penalised.
     Range    multiplier >= 0, 0 = off; base >= 1; allowed_length >= 0 (0: all tokens of the window except the oldest);
              last_n in [-1, 2^22], 0 = off, -1 = n_ctx_train; n_ctx_train in [0, 2^22]. The window is the smaller of
              last_n and n_ctx_train.
              vocab may be NULL if n_breakers is 0 or the sampler is off.
     Leaves   sorted = false, if a token would continue a repetition, penalised or not. Results below -FLT_MAX become
              -FLT_MAX.
     Cost     O(window) per apply.
     Source   p-e-w, text-generation-webui PR 5677; koboldcpp; llama.cpp. */
SAMP_API samp_sampler *samp_init_dry(const samp_vocab *vocab, int32_t n_ctx_train, float multiplier, float base,
                                     int32_t allowed_length, int32_t last_n, const char *const *breakers,
                                     size_t n_breakers);

/* samp_init_top_n_sigma -- masks every token with l < max - n * sigma. sigma is the population standard deviation of
   the unmasked logits.
     Range    n finite; n <= 0 is off.   Ties  tokens of equal logits stay or are masked together.
     Leaves   size: masked tokens stay in the array with -infinity. sorted stays true if their ids are in order.
     Source   Tang et al. 2024, "Top-n sigma: not all logits are you need"; llama.cpp. */
SAMP_API samp_sampler *samp_init_top_n_sigma(float n);

/* samp_init_top_k -- keeps the k largest logits.
     Range    k <= 0 is off.   Ties  the smaller id stays.   Leaves  sorted = true; fewer than k if fewer are unmasked.
     Source   Fan et al. 2018.
   samp_init_top_k_ties -- keeps also all tokens that equal the last one: l >= the k-th largest logit. In samp_params it
     is top_k_ties = 1.
     MT19937  llama.cpp has no such sampler: the same cut.   Sharded  all tokens are listed.   Source  Hugging Face,
              vLLM. */
SAMP_API samp_sampler *samp_init_top_k(int32_t k);
/* Keeps the k largest logits, and all tokens that equal the last one. */
SAMP_API samp_sampler *samp_init_top_k_ties(int32_t k);

/* samp_init_tail_free -- cuts where the curve of sorted probabilities flattens. With p descending, a_i = |(p_i - p_i+1)
   - (p_i+1 - p_i+2)| for i in [0, n - 2), normalised to the sum 1 (all equal if the sum is below 1e-6). It keeps the
   first i tokens, i the smallest with a_0 + ... + a_i > z.
     Range    z in (0, 1], 1 = off. Of at most two tokens all stay, masked ones too.
     Leaves   sorted = true, p over all tokens.
     Source   Bricken 2019; llama.cpp until October 2024. */
SAMP_API samp_sampler *samp_init_tail_free(float z, size_t min_keep);

/* samp_init_typical -- keeps the tokens whose surprise is closest to the entropy H: orders tokens by | -ln p - H |
   (then logit, id), and keeps the shortest prefix with a mass above p.
     Range    p in (0, 1], 1 = off.   Leaves  that order, sorted = false, p over all tokens.
     Source   Meister et al. 2022, "Locally typical sampling"; llama.cpp. */
SAMP_API samp_sampler *samp_init_typical(float p, size_t min_keep);

/* samp_init_top_p -- keeps the smallest set of most likely tokens whose probabilities sum to at least p.
     Cut      the shortest prefix in order with mass * 2^64 >= floor(p * 2^64) * Z. The token that crosses p stays.
     Range    p in (0, 1], 1 = off.   Leaves  sorted = true, p over all tokens (not renormalised).
     Source   Holtzman et al. 2019, nucleus sampling. */
SAMP_API samp_sampler *samp_init_top_p(float p, size_t min_keep);

/* samp_init_min_p -- keeps tokens at least p times as likely as the most likely one: l >= max + ln p.
     Range    p in [0, 1], 0 = off.   Ties  equal logits stay or go together; where min_keep decides, smaller ids stay.
     Leaves   the order, unless min_keep decides: then sorted = true.
     Source   Nguyen et al. 2024, "Turning up the heat"; llama.cpp PR 3841. */
SAMP_API samp_sampler *samp_init_min_p(float p, size_t min_keep);

/* samp_init_top_a -- keeps tokens with p >= a p_max^2: few if one token is likely, many if no token is.
     Cut      l >= max + ln a - ln Z; the first token always stays.
     Range    a in [0, 1], 0 = off.   Ties  equal logits stay or go together; where min_keep decides, smaller ids stay.
     Leaves   the order, unless min_keep decides: then sorted = true.
     MT19937  llama.cpp has no such sampler: float probabilities in order, a prefix (as koboldcpp).
     Source   BlinkDL 2022 (RWKV), koboldcpp. */
SAMP_API samp_sampler *samp_init_top_a(float a, size_t min_keep);

/* samp_init_p_less -- keeps tokens with p >= scale * sum p^2, the probability that two draws give the same token.
     Cut      l >= max + ln(scale q / (2^40 z)), z the sum of weights, q as in DETERMINISM.
     Range    scale in [0, 1], 0 = off, 1 = the paper's form, which has no parameter.   Ties, min_keep, leaves  as
              top_a.
     MT19937  llama.cpp has no such sampler: the same cut. This holds for the next three too.
     Source   Tan et al. 2025, "p-less sampling", arXiv 2509.23234.
   samp_init_p_less_norm -- the same paper's p-less-norm, which keeps more: tokens with p >= scale * (n sum p^2 - 1) /
     (n - 1), n the number of unmasked tokens. The threshold is 0 for a uniform row, and p_less's for a row with one
     certain token.
     Cut      l >= max + ln(scale (n q / z - z) / (2^40 (n - 1))); all unmasked tokens stay if n q <= z^2 or n is 1.
     Range    scale in [0, 1], 0 = off, 1 = the paper's form.   NaN  SAMP_E_NAN.   Ties, min_keep, leaves  as top_a.
     Masked   tokens count in the paper's n, but not here: a token that cannot be drawn does not change the threshold.
   samp_init_epsilon -- keeps tokens with p >= epsilon; if there are none, those with the largest p.
     Cut      l >= max + min(0, ln epsilon + ln Z).   Range  epsilon in [0, 1], 0 = off; usual: 3e-4 to 9e-4.
   samp_init_eta -- keeps tokens with p >= min(epsilon, sqrt(epsilon) e^-H), H the entropy: it removes fewer tokens if
     many are likely.
     Cut      l >= max + min(ln epsilon + ln Z, ln epsilon / 2 - D), D the mean of max - l, so that H = ln Z + D.
     Range    epsilon in [0, 1], 0 = off; usual: 3e-4 to 4e-3.
     Source   epsilon and eta: Hewitt et al. 2022, "Truncation sampling as language model desmoothing"; Hugging Face. */
SAMP_API samp_sampler *samp_init_p_less(float scale, size_t min_keep);
/* Keeps tokens with p >= scale * (n sum p^2 - 1) / (n - 1). */
SAMP_API samp_sampler *samp_init_p_less_norm(float scale, size_t min_keep);
/* Keeps tokens with p >= epsilon. */
SAMP_API samp_sampler *samp_init_epsilon(float epsilon, size_t min_keep);
/* Keeps tokens with p >= min(epsilon, sqrt(epsilon) e^-H). */
SAMP_API samp_sampler *samp_init_eta(float epsilon, size_t min_keep);

/* samp_init_top_h -- keeps the longest prefix in order whose entropy, of p renormalised over the prefix, is at most
   alpha times the row's; at least the first token.
     Entropy  ln Z + D as in eta, from the integer weights, in doubles; summed token after token until it is exceeded.
     Range    alpha in (0, 1], 1 = off; its authors use 0.4.   Leaves  sorted = true.   MT19937  the same.
     Source   Baghaei Potraghloo et al. 2025, "Top-H decoding", arXiv 2509.02510: their greedy rule. Their code and
              Hugging Face's consider the first 100 tokens only, and sum in another way.
   samp_init_min_k -- keeps the first k tokens in order, up to the cliff: k >= 1 is where (l_k - l_k+1) / k is largest
     (the smallest such k), with l_1, l_2, ... the logits in order; but at least floor(tau / (l_1 - l_n)) tokens, for
     rows without a cliff.
     Range    finite; < 0 = off; 0: the cliff alone, which is the same at every temperature. The paper's tau is 3.
     Leaves   sorted = true.   MT19937  the same.   l_n is the last unmasked logit.
     Source   Ding et al. 2026, "Min-k sampling", arXiv 2604.11012; vLLM PR 48142. */
SAMP_API samp_sampler *samp_init_top_h(float alpha, size_t min_keep);
/* Keeps the first k tokens in order, up to the cliff. */
SAMP_API samp_sampler *samp_init_min_k(float tau);

/* samp_init_xtc -- "exclude top choices": with probability p, removes all tokens of probability >= t except the least
   likely of them (of equal ones the largest id stays). It acts only if at least min_keep tokens remain.
     Range    p in [0, 1], 0 = off; t in [0, 1], > 0.5 = off.   Leaves  p over all tokens, if it acted.
     Draws    64 bits, one position (no bits if there is one candidate, but the position advances).
     Source   p-e-w, text-generation-webui PR 6335; llama.cpp. */
SAMP_API samp_sampler *samp_init_xtc(float p, float t, size_t min_keep, uint64_t seed);

/* samp_init_infill -- for text that fills a gap: prefers few and long tokens, and ends as soon as an end is likely.
     p and n are the probabilities and number of the candidates; an end is a token that ends a generation.
     Ends     if 3 n times the sum of the ends' p exceeds the sum of the other tokens' p: only the ends stay.
     Else     in order of p, two tokens are merged if the text of one begins with that of the other: the more likely one
              gets the sum of both. This includes ends that have a text. Then a token that does not end the text stays
              if its p is at least 0.2, and of these k tokens only those whose share of the sum of the k and the ends is
              at least 1 / (k + 1). If none of them is left, the only candidate is vocab's eot (or eos, if it has no
              eot), with logit 1 and a p without meaning, even if it was masked or removed before.
     Range    vocab: token_bytes, and eot or eos; the pointer is kept.   Leaves  sorted = true, p as above; logits stay.
     Cost     O(n^2): put it after top_k. All in f32, so that it is the same with both random sources.
     Source   llama.cpp. */
SAMP_API samp_sampler *samp_init_infill(const samp_vocab *vocab);

/* samp_init_temp -- l *= 1 / t.
     Range    t = 0: only the first token in order keeps its logit, the others get -infinity. Else t in [2^-20, 2^20];
              1 = off.
     Leaves   size. Results beyond +-FLT_MAX become +-FLT_MAX. sorted stays true unless rounding or t = 0 makes ties
              that are out of order. */
SAMP_API samp_sampler *samp_init_temp(float t);

/* samp_init_temp_ext -- dynamic temperature: T = lo + (hi - lo) * (H / ln n)^exponent, lo = max(0, t - delta), hi = t
   + delta, H the entropy and n the number of the unmasked tokens; then as samp_init_temp(T). T below 2^-20 counts as 0.
     Range    delta in [0, 2^20], 0: samp_init_temp(t); t as there; exponent in [0, 1000]. One token: nothing happens.
     Source   kalomaze 2023; koboldcpp, llama.cpp. */
SAMP_API samp_sampler *samp_init_temp_ext(float t, float delta, float exponent);

/* samp_init_smoothing -- bends the logits: l = max - factor d^2 (1 - c + c d), with d = max - l and c = (curve - 1) /
   2. Tokens near the maximum move nearer to it (factor < 1), tokens far away move farther; a curve > 1 falls more
   steeply.
     Range    factor in [0, 1000], 0 = off; curve in [1, 10]. Above 3 tokens next to the maximum rise above it.
     Leaves   size. Results below -FLT_MAX become -FLT_MAX. sorted stays true if the array is still in order.
     MT19937  llama.cpp has no such sampler: the same.   Cost  a pass over the whole row without a kernel; after a
              truncation it is cheap.   Source  kalomaze 2024, text-generation-webui; koboldcpp; llama.cpp PR 6445. */
SAMP_API samp_sampler *samp_init_smoothing(float factor, float curve);

/* samp_init_log_softmax -- logits become log-probabilities: l -= max + ln Z. Penalties after it multiply ln p, whatever
   the zero of the logits was: in samp_params.order "log_softmax;penalties;...". Rounding aside, no token's probability
   changes.
     Leaves   size. sorted stays true unless rounding makes ties that are out of order.   MT19937  the same.
     Cost     the exact Z, and a pass.   Source  Keskar et al. 2019, "CTRL"; transformers issue 47595. */
SAMP_API samp_sampler *samp_init_log_softmax(void);

/* samp_init_softmax -- sorts, and sets p of every token.   Leaves  sorted = true. */
SAMP_API samp_sampler *samp_init_softmax(void);

/* samp_init_greedy -- selects the largest logit.   Ties  the smaller id. */
SAMP_API samp_sampler *samp_init_greedy(void);

/* samp_init_dist -- selects a token with probability w / Z.
     Leaves   p of every token.   Draws  128 bits for each attempt (1.04 attempts on average), one position. */
SAMP_API samp_sampler *samp_init_dist(uint64_t seed);

/* samp_init_mirostat -- keeps the surprise (bits) of the chosen tokens near tau. It estimates Zipf's exponent s from
   the m most likely tokens, s = sum t_i b_i / sum t_i^2, t_i = ln((i + 2) / (i + 1)), b_i = ln(p_i / p_i+1); keeps the
   first k = ((s - 1) 2^mu / (1 - N^-(s - 1)))^(1 / s) tokens in order, N = n_vocab; draws one; then mu -= eta *
   (surprise - tau).
     Range    n_vocab >= 1, m >= 2; tau in [0, FLT_MAX / 2], eta >= 0 and finite. mu starts at 2 tau.
     Leaves   sorted = true, p of the tokens kept.   Draws  as dist.
     Source   Basu et al. 2020, "Mirostat"; llama.cpp. */
SAMP_API samp_sampler *samp_init_mirostat(int32_t n_vocab, uint64_t seed, float tau, float eta, int32_t m);

/* samp_init_mirostat_v2 -- the same aim without the estimate: keeps tokens with a surprise of at most mu bits (always
   the first in order); draws one; then mu -= eta * (surprise - tau), with the surprise among the tokens kept.
     Range    tau in [0, FLT_MAX / 2], eta >= 0 and finite. mu starts at 2 tau.   Leaves  p of the tokens kept.
     Draws    as dist. */
SAMP_API samp_sampler *samp_init_mirostat_v2(uint64_t seed, float tau, float eta);

/* samp_init_adaptive_p -- selects a token, and prefers tokens whose probability is near a target. The target adapts to
   the probabilities of earlier tokens:
     a = clamp(2 target - average of past probabilities, 0, 1);  x = |p - a| / 0.3;  l = 5 - 10 x^2 / (1 + x); then
     dist. The average is weighted by decay^age and starts at target. The selected token's probability enters it when
     the token is accepted; if another token is accepted, it does not. All steps are rounded to f32.
     Range    target in [0, 1], < 0: plain dist; decay in [0, 0.99].
     Leaves   l as above, sorted = false, p of every token (after).   Draws  as dist.
     Source   MrJackSpade; llama.cpp. */
SAMP_API samp_sampler *samp_init_adaptive_p(float target, float decay, uint64_t seed);
