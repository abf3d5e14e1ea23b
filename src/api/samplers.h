/* ---- 3. samplers --------------------------------------------------------------------------------------------
   Functions for any sampler (samp_apply, samp_accept, samp_clone, ...), then one constructor for each kind, with its
   contract: what it does, its formula and source, ties, ranges, what it leaves of the array. */

/* samp_apply -- let one sampler work on an array of candidates.
     in, out  cur: size >= 1, no NaN, no +infinity, at least one logit above -infinity; `sorted` is not believed (under
              MT19937 it is, as in llama.cpp)
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_EMPTY, SAMP_E_NAN, SAMP_E_RANGE (size), or the status that s carries.
              A built-in sampler checks before its first write.
     Memory   as samp_sample, if size is above 256; where there is none, it takes longer. */
SAMP_API int samp_apply(samp_sampler *s, samp_token_data_array *cur);

/* samp_accept -- tell a sampler which token was chosen (also a prompt's). SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE (token <
   0), or what a custom sampler or a grammar answers: then nothing has changed, but custom samplers before that one
   which have no rollback. */
SAMP_API int samp_accept(samp_sampler *s, samp_token token);

/* samp_name -- "top-k", "chain", ...   samp_reset -- as new.   samp_free -- NULL is fine.
   samp_clone -- a copy that continues as the original would: parameters, random and all other state. NULL: no memory.
   */
SAMP_API const char *samp_name(const samp_sampler *s);
/* Begin another text: the sampler is as new. */
SAMP_API void samp_reset(samp_sampler *s);
/* A copy that continues as the original would. */
SAMP_API samp_sampler *samp_clone(const samp_sampler *s);
/* Free a sampler, and a chain with its members; NULL is fine. */
SAMP_API void samp_free(samp_sampler *s);

/* samp_init_custom -- your own sampler; *iface must outlive it. NULL iface or apply: an object that carries
   SAMP_E_NULL. */
SAMP_API samp_sampler *samp_init_custom(const samp_sampler_i *iface, void *ctx);

/* Common to the samplers below, unless their comment says otherwise:
     Order    ties by (logit descending, id ascending); a masked token (-infinity) comes last and is never counted.
     Keeps    the order of the array and `sorted`.
     selected is -1 behind a sampler that does not select: what was chosen from other candidates counts no more. So a
              draw from a chain with such a one behind the last that selects is SAMP_E_UNSUPPORTED, whatever the row;
              what is off may stand there, and your own.
     p        is left as it was.    Draws   no random numbers.
     min_keep at least so many unmasked tokens stay (0 and 1 are the same).
     NaN      in the array: SAMP_E_NAN.    A parameter that is NaN: the object carries SAMP_E_NAN.
     MT19937  sizes, order, `sorted`, p and selected are llama.cpp's: masked tokens stay in the array and count as
              candidates, `sorted` says nothing about the ids of ties, and selected stays, whatever stands there then
              (a masked token: SAMP_E_EMPTY).
   Arithmetic is that of DETERMINISM above; w is a token's weight, Z the sum of weights, d = max - l in nats. p is
   exp(-d) / Z as a float, precise also for tokens so unlikely that their w is 0. */

/* samp_init_logit_bias -- l += bias, entry by entry in the order given (a token may come twice).
     Range    token in [0, n_vocab), bias < +infinity; n = 0 is off.   The array is copied.
     Leaves   sorted = false. Results beyond +-FLT_MAX become +-FLT_MAX; masked tokens stay masked.
     Source   OpenAI's logit_bias, llama.cpp (which leaves `sorted` as it was). */
SAMP_API samp_sampler *samp_init_logit_bias(int32_t n_vocab, int32_t n, const samp_logit_bias *bias);

/* samp_init_penalties -- make tokens of the last last_n accepted ones less likely. With c = how often a token is
   among them:
     c > 0:   l = l <= 0 ? l * repeat : l / repeat;   l -= c * freq + present
     Range    last_n in [0, 2^22], 0 = off; repeat > 0, 1 = off; freq, present finite, 0 = off.
     Leaves   sorted = false. Results beyond +-FLT_MAX become +-FLT_MAX.   Memory  12 bytes per last_n.
     Zero     what l <= 0 means depends on where the model's logits have their zero. Behind samp_init_log_softmax every
              l is ln p: a larger repeat is a stronger penalty for any model.
     Source   Keskar et al. 2019 (CTRL) with Hugging Face's sign rule; OpenAI's frequency and presence penalties;
              llama.cpp. */
SAMP_API samp_sampler *samp_init_penalties(int32_t last_n, float repeat, float freq, float present);

/* samp_init_dry -- "don't repeat yourself": a token that would continue a repetition of length L >= allowed_length
     l -= multiplier * base^(L - allowed_length), the power at most about FLT_MAX,
     where L is the length of the longest suffix of the accepted tokens that occurs before, followed by this token.
     Breakers strings that end a repetition: a match never reaches back over the newest one ("\n", ":", ...), which may
              span tokens. At most 40 bytes of each count, and at most 20 tokens behind its first one. A token that
              contains a breaker is never punished.
     Range    multiplier >= 0, 0 = off; base >= 1; allowed_length >= 0 (0: all tokens of the window but its oldest);
              last_n in [-1, 2^22], 0 = off, -1 = n_ctx_train; n_ctx_train in [0, 2^22]. The window is the smaller of
              last_n and n_ctx_train.
              vocab may be NULL if n_breakers is 0 or the sampler is off.
     Leaves   sorted = false, if a token would go on, punished or not. Results below -FLT_MAX become -FLT_MAX.
     Cost     O(window) per apply.
     Source   p-e-w, text-generation-webui PR 5677; koboldcpp; llama.cpp. */
SAMP_API samp_sampler *samp_init_dry(const samp_vocab *vocab, int32_t n_ctx_train, float multiplier, float base,
                                     int32_t allowed_length, int32_t last_n, const char *const *breakers,
                                     size_t n_breakers);

/* samp_init_top_n_sigma -- mask every token with l < max - n * sigma, sigma the standard deviation (population) of the
   unmasked logits.
     Range    n finite; n <= 0 is off.   Ties  all of a value, or none.
     Leaves   size; the others get -infinity; sorted, unless their ids are out of order then.
     Source   Tang et al. 2024, "Top-n sigma: not all logits are you need"; llama.cpp. */
SAMP_API samp_sampler *samp_init_top_n_sigma(float n);

/* samp_init_top_k -- keep the k largest logits.
     Range    k <= 0 is off.   Ties  the smaller id stays.   Leaves  sorted = true; fewer than k if fewer are unmasked.
     Source   Fan et al. 2018.
   samp_init_top_k_ties -- the same, and all that equal the last of them: l >= the k-th largest logit. In samp_params
   top_k_ties = 1.
     MT19937  llama.cpp has none: the same cut.   Sharded  all tokens are listed.   Source  Hugging Face, vLLM. */
SAMP_API samp_sampler *samp_init_top_k(int32_t k);
/* The k largest logits, and all that equal the last of them. */
SAMP_API samp_sampler *samp_init_top_k_ties(int32_t k);

/* samp_init_tail_free -- cut where the sorted probabilities flatten: with p descending, a_i = |(p_i - p_i+1) - (p_i+1
   - p_i+2)| for i in [0, n - 2), normalised to sum 1 (all equal if the sum is below 1e-6): keep the first i tokens, i
   the smallest with a_0 + ... + a_i > z.
     Range    z in (0, 1], 1 = off. Two tokens or fewer stay, masked ones too.
     Leaves   sorted = true, p over all tokens.
     Source   Bricken 2019; llama.cpp until October 2024. */
SAMP_API samp_sampler *samp_init_tail_free(float z, size_t min_keep);

/* samp_init_typical -- keep the tokens whose surprise is closest to the entropy: order by | -ln p - H | (then logit,
   id), keep the smallest prefix with a mass above p.
     Range    p in (0, 1], 1 = off.   Leaves  that order, sorted = false, p over all tokens.
     Source   Meister et al. 2022, "Locally typical sampling"; llama.cpp. */
SAMP_API samp_sampler *samp_init_typical(float p, size_t min_keep);

/* samp_init_top_p -- keep the smallest set of most likely tokens whose probability reaches p.
     Cut      the first prefix in order with mass * 2^64 >= floor(p * 2^64) * Z. The token that crosses stays.
     Range    p in (0, 1], 1 = off.   Leaves  sorted = true, p over all tokens (not renormalised).
     Source   Holtzman et al. 2019, nucleus sampling. */
SAMP_API samp_sampler *samp_init_top_p(float p, size_t min_keep);

/* samp_init_min_p -- keep tokens at least p times as likely as the most likely: l >= max + ln p.
     Range    p in [0, 1], 0 = off.   Ties  all of a value, or none; where min_keep cuts, the smaller id stays.
     Leaves   the order, unless min_keep decides: then sorted = true.
     Source   Nguyen et al. 2024, "Turning up the heat"; llama.cpp PR 3841. */
SAMP_API samp_sampler *samp_init_min_p(float p, size_t min_keep);

/* samp_init_top_a -- keep tokens with p >= a p_max^2: few where one token is likely, many where none is.
     Cut      l >= max + ln a - ln Z, the first always.
     Range    a in [0, 1], 0 = off.   Ties  all of a value, or none; where min_keep cuts, the smaller id stays.
     Leaves   the order, unless min_keep decides: then sorted = true.
     MT19937  llama.cpp has none: float probabilities in order, a prefix (as koboldcpp).
     Source   BlinkDL 2022 (RWKV), koboldcpp. */
SAMP_API samp_sampler *samp_init_top_a(float a, size_t min_keep);

/* samp_init_p_less -- keep tokens with p >= scale * sum p^2, the chance that two draws give the same token.
     Cut      l >= max + ln(scale q / (2^40 z)), z the sum of weights, q as in DETERMINISM.
     Range    scale in [0, 1], 0 = off, 1 = the paper's, which has no parameter.   Ties, min_keep, leaves  as top_a.
     MT19937  llama.cpp has none: the same cut. So for the next three.
     Source   Tan et al. 2025, "p-less sampling", arXiv 2509.23234.
   samp_init_p_less_norm -- the same paper's p-less-norm, which keeps more: tokens with p >= scale * (n sum p^2 - 1) /
   (n - 1), n the number of unmasked tokens. A flat row's threshold is 0, a sure one's is p_less'.
     Cut      l >= max + ln(scale (n q / z - z) / (2^40 (n - 1))); all unmasked stay where n q <= z^2, as where n is 1.
     Range    scale in [0, 1], 0 = off, 1 = the paper's.   NaN  SAMP_E_NAN.   Ties, min_keep, leaves  as top_a.
     Masked   tokens count in the paper's n, but not here: what nobody can draw changes no threshold.
   samp_init_epsilon -- keep tokens with p >= epsilon; if there are none, those with the largest p.
     Cut      l >= max + min(0, ln epsilon + ln Z).   Range  epsilon in [0, 1], 0 = off; usual: 3e-4 to 9e-4.
   samp_init_eta -- keep tokens with p >= min(epsilon, sqrt(epsilon) e^-H), H the entropy: fewer fall where many are
   likely.
     Cut      l >= max + min(ln epsilon + ln Z, ln epsilon / 2 - D), D the mean of max - l, so that H = ln Z + D.
     Range    epsilon in [0, 1], 0 = off; usual: 3e-4 to 4e-3.
     Source   both: Hewitt et al. 2022, "Truncation sampling as language model desmoothing"; Hugging Face. */
SAMP_API samp_sampler *samp_init_p_less(float scale, size_t min_keep);
/* Keep tokens with p >= scale * (n sum p^2 - 1) / (n - 1). */
SAMP_API samp_sampler *samp_init_p_less_norm(float scale, size_t min_keep);
/* Keep tokens with p >= epsilon. */
SAMP_API samp_sampler *samp_init_epsilon(float epsilon, size_t min_keep);
/* Keep tokens with p >= min(epsilon, sqrt(epsilon) e^-H). */
SAMP_API samp_sampler *samp_init_eta(float epsilon, size_t min_keep);

/* samp_init_top_h -- keep the longest beginning of the order whose entropy (of p made to sum to 1 there) is at most
   alpha times the row's; the first token at least.
     Entropy  ln Z + D as in eta, of the integer weights, as doubles; token after token, up to the first one too many.
     Range    alpha in (0, 1], 1 = off; its authors' is 0.4.   Leaves  sorted = true.   MT19937  the same.
     Source   Baghaei Potraghloo et al. 2025, "Top-H decoding", arXiv 2509.02510, whose greedy rule this is; their code
              and Hugging Face's look at the first 100 tokens only, and sum otherwise.
   samp_init_min_k -- keep the first k in order, up to the cliff: k >= 1 makes (l_k - l_k+1) / k largest (of equal ones
   the smallest), l_1, l_2, ... the logits in order; but at least floor(tau / (l_1 - l_n)), for rows without a cliff.
     Range    finite; < 0 = off; 0: the cliff alone, which is the same at every temperature. The paper's tau is 3.
     Leaves   sorted = true.   MT19937  the same.   Masked tokens are no l_n.
     Source   Ding et al. 2026, "Min-k sampling", arXiv 2604.11012; vLLM PR 48142. */
SAMP_API samp_sampler *samp_init_top_h(float alpha, size_t min_keep);
/* Keep the first k in order, up to the cliff. */
SAMP_API samp_sampler *samp_init_min_k(float tau);

/* samp_init_xtc -- "exclude top choices": with probability p, remove all tokens of probability >= t but the least
   likely of them (of equal ones, that with the largest id stays); only if at least min_keep tokens remain.
     Range    p in [0, 1], 0 = off; t in [0, 1], > 0.5 = off.   Leaves  p over all tokens, if it acted.
     Draws    64 bits, one position (none with a single candidate, but the position moves).
     Source   p-e-w, text-generation-webui PR 6335; llama.cpp. */
SAMP_API samp_sampler *samp_init_xtc(float p, float t, size_t min_keep, uint64_t seed);

/* samp_init_infill -- for text that is to fill a hole: few and long tokens, and the end as soon as it is likely.
     With p and n the probabilities and number of the candidates, and an end each token that ends a generation:
     Ends     if 3 n times the sum of the ends' p exceeds the sum of the others': only they stay.
     Else     in order of p, a token whose text begins another one's, or is begun by it, is merged with it: the more
              likely of both has the sum; the ends too, if they have texts. Then what is no end stays if its p is at
              least 0.2, and of these if its share of what stays, k of them and the ends, is at least 1 / (k + 1).
              None of these left: the one candidate is vocab's eot (or eos, if it has none), with logit 1 and a p that
              means nothing: even where it was masked or removed before.
     Range    vocab: token_bytes and eot or eos. Borrowed.   Leaves  sorted = true, p as above; logits as they were.
     Cost     O(n^2): put it behind top_k. All in f32, so that it is the same with both random sources.
     Source   llama.cpp. */
SAMP_API samp_sampler *samp_init_infill(const samp_vocab *vocab);

/* samp_init_temp -- l *= 1 / t.
     Range    t = 0: only the first in order keeps its logit, the others get -infinity. Else t in [2^-20, 2^20]; 1 =
              off.
     Leaves   size. Results beyond +-FLT_MAX become +-FLT_MAX. sorted, unless rounding or t = 0 made ties out of order.
   */
SAMP_API samp_sampler *samp_init_temp(float t);

/* samp_init_temp_ext -- dynamic temperature: T = lo + (hi - lo) * (H / ln n)^exponent, lo = max(0, t - delta), hi = t
   + delta, H the entropy and n the number of the unmasked tokens; then as samp_init_temp(T). T below 2^-20 counts as 0.
     Range    delta in [0, 2^20], 0: samp_init_temp(t); t as there; exponent in [0, 1000]. One token: nothing happens.
     Source   kalomaze 2023; koboldcpp, llama.cpp. */
SAMP_API samp_sampler *samp_init_temp_ext(float t, float delta, float exponent);

/* samp_init_smoothing -- bend the logits: l = max - factor d^2 (1 - c + c d), with d = max - l and c = (curve - 1) / 2.
   What is near the maximum comes nearer (factor < 1), what is far goes farther; a curve > 1 falls steeper.
     Range    factor in [0, 1000], 0 = off; curve in [1, 10]. Above 3 what is nearest to the maximum rises above it.
     Leaves   size. Results below -FLT_MAX become -FLT_MAX. sorted, unless that is no longer so.
     MT19937  llama.cpp has none: the same.   Cost  a pass over the whole row that no kernel makes: behind a truncation
              it is cheap.   Source  kalomaze 2024, text-generation-webui; koboldcpp; llama.cpp PR 6445. */
SAMP_API samp_sampler *samp_init_smoothing(float factor, float curve);

/* samp_init_log_softmax -- logits become log-probabilities: l -= max + ln Z. Then penalties multiply ln p, whatever the
   logits' zero was: in samp_params.order "log_softmax;penalties;...". Nobody's chance changes by it, but for rounding.
     Leaves   size. sorted, unless rounding made ties out of order.   MT19937  the same.   Cost  Z exactly, and a pass.
     Source   Keskar et al. 2019, "CTRL"; transformers issue 47595. */
SAMP_API samp_sampler *samp_init_log_softmax(void);

/* samp_init_softmax -- sort, and set p of every token.   Leaves  sorted = true. */
SAMP_API samp_sampler *samp_init_softmax(void);

/* samp_init_greedy -- select the largest logit.   Ties  the smaller id. */
SAMP_API samp_sampler *samp_init_greedy(void);

/* samp_init_dist -- select a token with probability w / Z.
     Leaves   p of every token.   Draws  128 bits per attempt (1.04 attempts on average), one position. */
SAMP_API samp_sampler *samp_init_dist(uint64_t seed);

/* samp_init_mirostat -- keep the surprise (bits) of the chosen tokens near tau. Estimates Zipf's exponent s from the
   m most likely tokens, s = sum t_i b_i / sum t_i^2, t_i = ln((i + 2) / (i + 1)), b_i = ln(p_i / p_i+1); keeps the
   first k = ((s - 1) 2^mu / (1 - N^-(s - 1)))^(1 / s) in order, N = n_vocab; draws; mu -= eta * (surprise - tau).
     Range    n_vocab >= 1, m >= 2; tau in [0, FLT_MAX / 2], eta >= 0 and finite. mu starts at 2 tau.
     Leaves   sorted = true, p of the tokens kept.   Draws  as dist.
     Source   Basu et al. 2020, "Mirostat"; llama.cpp. */
SAMP_API samp_sampler *samp_init_mirostat(int32_t n_vocab, uint64_t seed, float tau, float eta, int32_t m);

/* samp_init_mirostat_v2 -- the same aim without the estimate: keep tokens with a surprise of at most mu bits (always
   the first in order); draw; mu -= eta * (surprise - tau), the surprise among the tokens kept.
     Range    tau in [0, FLT_MAX / 2], eta >= 0 and finite. mu starts at 2 tau.   Leaves  p of the tokens kept.
     Draws    as dist. */
SAMP_API samp_sampler *samp_init_mirostat_v2(uint64_t seed, float tau, float eta);

/* samp_init_adaptive_p -- select, preferring tokens whose probability is near a target that adapts to what was chosen
   before:
     a = clamp(2 target - average of past probabilities, 0, 1);  x = |p - a| / 0.3;  l = 5 - 10 x^2 / (1 + x); then
     dist. The average is weighted by decay^age and starts at target. The selected token's probability counts when it
     is accepted; accepting another one drops it. All steps are rounded to f32.
     Range    target in [0, 1], < 0: plain dist; decay in [0, 0.99].
     Leaves   l as above, sorted = false, p of every token (after).   Draws  as dist.
     Source   MrJackSpade; llama.cpp. */
SAMP_API samp_sampler *samp_init_adaptive_p(float target, float decay, uint64_t seed);
