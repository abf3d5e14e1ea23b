/* ---- 3. samplers --------------------------------------------------------------------------------------------
   Functions for any sampler (samp_apply, samp_accept, samp_clone, ...), then one constructor for each kind with its
   contract: meaning, formula and source, ties, ranges, and the state of the array after it. */

/* samp_apply -- applies one sampler to an array of candidates.
     in, out  cur: an array with size >= 1, without NaN and +infinity, and with at least one logit above -infinity. The
              library checks whether the array is in order and does not rely on `sorted` (under MT19937 it does, as
              llama.cpp does)
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_EMPTY, SAMP_E_NAN, SAMP_E_RANGE (size), or the status that s carries.
              A built-in sampler checks the array before its first write.
     Memory   is allocated as by samp_sample, if size is above 256. If there is no memory, the call is slower, but does
              not fail. */
SAMP_API int samp_apply(samp_sampler *s, samp_token_data_array *cur);

/* samp_accept -- lets a sampler take note of a chosen token, or of a token of the prompt. Returns SAMP_OK,
   SAMP_E_NULL, SAMP_E_RANGE (token < 0), or the status of a custom sampler or grammar that refuses the token. A
   grammar's text begins with the first token that it accepts, so the prompt is accepted before the grammar is
   inserted; samp_error_text (status, "token") says so. After an error nothing has changed, with one exception: custom
   samplers without a rollback that come before the refusing one in the chain have accepted the token. */
SAMP_API int samp_accept(samp_sampler *s, samp_token token);

/* samp_name -- the name of the sampler: "top-k", "chain", ...
   samp_reset -- sets the sampler to the state of a new sampler.
   samp_free -- frees a sampler, and with a chain all its members; takes NULL. A member of a chain is not freed, because
     the chain owns it: the chain then carries SAMP_E_RANGE, with the field "samp_free". samp_chain_remove takes a
     member out of its chain first.
   samp_clone -- returns a copy that continues as the original would: with its parameters, random state and other state.
     NULL: no memory. */
SAMP_API const char *samp_name(const samp_sampler *s);
/* Sets the sampler to the state of a new sampler, for another text. */
SAMP_API void samp_reset(samp_sampler *s);
/* Returns a copy that continues as the original sampler would. */
SAMP_API samp_sampler *samp_clone(const samp_sampler *s);
/* Frees a sampler, and with a chain all its members; takes NULL. */
SAMP_API void samp_free(samp_sampler *s);

/* samp_init_custom -- makes a sampler of your own from a table of functions; the table *iface must outlive the sampler.
   If iface or iface->apply is NULL, the sampler carries the error SAMP_E_NULL. */
SAMP_API samp_sampler *samp_init_custom(const samp_sampler_i *iface, void *ctx);

/* Common to the samplers below, unless their comment says otherwise:
     Order    "In order" means sorted by descending logit, and tokens of equal logits by ascending id. Masked tokens
              (logit -infinity) come last and are not counted.
     Leaves   the order of the array and `sorted` unchanged. Each sampler's comment says under "Leaves" how the array
              looks after it.
     selected is -1 after a sampler that does not select, because an earlier selection was made from other candidates.
              So a draw from a chain in which such a sampler follows the selecting one is SAMP_E_UNSUPPORTED for every
              row. Samplers that are off, and your own, may follow the selecting sampler.
     p        is not changed.    Draws   The sampler draws no random numbers.
     min_keep A truncation leaves at least this many unmasked tokens (0 and 1 mean the same).
     NaN      If the array has a NaN, samp_apply returns SAMP_E_NAN. If a parameter is NaN, a sampler is returned that
              carries SAMP_E_NAN: samp_status returns this error, and so does each attempt to apply the sampler.
     MT19937  Under SAMP_RNG_MT19937 the size, the order, `sorted`, p and selected are llama.cpp's: masked tokens stay
              in the array and count as candidates, `sorted` does not promise the order of equal logits, and the index
              `selected` stays, whatever candidate is at this index later (if it is a masked token: SAMP_E_EMPTY).
   In the formulas l is a token's logit, max the largest logit, w the token's weight as in DETERMINISM above, Z the sum
   of the weights, and d = max - l in nats. p is exp(-d) / Z as a float, which is precise also for tokens whose w is
   0. */

/* samp_init_logit_bias -- adds a bias to the logits of some tokens: l += bias, entry by entry in the given order (a
   token may occur twice).
     Range    token in [0, n_vocab), bias < +infinity; n = 0 is off.   The array of biases is copied.
     Leaves   sorted = false. Results beyond +-FLT_MAX become +-FLT_MAX; masked tokens stay masked.
     Source   OpenAI's logit_bias, llama.cpp (which does not change `sorted`). */
SAMP_API samp_sampler *samp_init_logit_bias(int32_t n_vocab, int32_t n, const samp_logit_bias *bias);

/* samp_init_penalties -- makes tokens less likely that are among the last last_n accepted tokens. c is the number of
   times that a token occurs among these:
     c > 0:   l = l <= 0 ? l * repeat : l / repeat;   l -= c * freq + present
     Range    last_n in [0, 2^22], 0 = off; repeat > 0, 1 = off; freq, present finite, 0 = off.
     Leaves   sorted = false. Results beyond +-FLT_MAX become +-FLT_MAX.
     Memory   12 bytes for each of the last_n tokens.
     Zero     The test l <= 0 depends on what number the model adds to all its logits. After samp_init_log_softmax every
              l is ln p, so a larger repeat is a stronger penalty for any model.
     Source   Keskar et al. 2019 (CTRL) with Hugging Face's sign rule; OpenAI's frequency and presence penalties;
              llama.cpp. */
SAMP_API samp_sampler *samp_init_penalties(int32_t last_n, float repeat, float freq, float present);

/* samp_init_dry -- "don't repeat yourself": penalises a token that would continue a repetition of length L >=
   allowed_length:
     l -= multiplier * base^(L - allowed_length), where the power is at most about FLT_MAX.
     L is the length of the longest suffix of the accepted tokens that also occurs earlier, followed by this token.
     Breakers Breakers are strings ("\n", ":", ...) that end a repetition: the repeated tokens never reach back over the
              last breaker in the text. A breaker may span several tokens. Only the first 40 bytes of a breaker are
              used, and only 20 tokens after its first token. A token that contains a breaker is never penalised.
              At most 1024 breakers are SAMP_OK, and at most 2^20 pairs of a breaker and a token that contains it, or
              in which it begins, counted once for each length of the part in the token; more are SAMP_E_RANGE.
     Range    multiplier >= 0, 0 is off; base >= 1; allowed_length >= 0 (0 penalises all tokens of the window except the
              oldest); last_n in [-1, 2^22], 0 is off, -1 means n_ctx_train; n_ctx_train in [0, 2^22]. The window is the
              last min(last_n, n_ctx_train) accepted tokens.
              vocab may be NULL if n_breakers is 0 or the sampler is off.
     Leaves   sorted = false, if any token would continue a repetition, even one too short to be penalised. Results
              below -FLT_MAX become -FLT_MAX.
     Cost     is O(window) each time the sampler is applied. The constructor walks over the vocabulary a few times, no
              matter how many breakers there are.
     Source   p-e-w, text-generation-webui PR 5677; koboldcpp; llama.cpp. */
SAMP_API samp_sampler *samp_init_dry(const samp_vocab *vocab, int32_t n_ctx_train, float multiplier, float base,
                                     int32_t allowed_length, int32_t last_n, const char *const *breakers,
                                     size_t n_breakers);

/* samp_init_top_n_sigma -- masks every token with l < max - n * sigma. sigma is the population standard deviation of
   the unmasked logits.
     Range    n is finite; n <= 0 is off.   Ties  Tokens of equal logits stay or are masked together.
     Leaves   the size of the array unchanged: masked tokens stay in the array with -infinity. `sorted` stays true if
              the ids of the masked tokens are in ascending order.
     Source   Tang et al. 2024, "Top-n sigma: not all logits are you need"; llama.cpp. */
SAMP_API samp_sampler *samp_init_top_n_sigma(float n);

/* samp_init_top_k -- keeps the k largest logits.
     Range    k <= 0 is off.
     Ties     Of tokens with equal logits those with smaller ids stay.
     Leaves   sorted = true, and fewer than k tokens if fewer are unmasked.
     Source   Fan et al. 2018.
   samp_init_top_k_ties -- keeps the k largest logits and all tokens whose logit equals the k-th largest one. In
     samp_params this is top_k_ties = 1.
     MT19937  llama.cpp has no such sampler; the same tokens are kept.
     Sharded  With samp_sample_sharded, the ranks send each other all tokens.
     Source   Hugging Face, vLLM. */
SAMP_API samp_sampler *samp_init_top_k(int32_t k);
/* Keeps the k largest logits, and all tokens that equal the last one. */
SAMP_API samp_sampler *samp_init_top_k_ties(int32_t k);

/* samp_init_tail_free -- cuts where the curve of sorted probabilities flattens. With p in descending order, the second
   differences are a_i = |(p_i - p_i+1) - (p_i+1 - p_i+2)| for i in [0, n - 2), divided by their sum (if the sum is
   below 1e-6, all a_i are equal). The sampler keeps the first i tokens, where i is the smallest with a_0 + ... + a_i >
   z.
     Range    z in (0, 1], 1 is off. If there are at most two tokens, all of them stay, even masked ones.
     Leaves   sorted = true, and p computed over all tokens before the cut.
     Source   Bricken 2019; llama.cpp until October 2024. */
SAMP_API samp_sampler *samp_init_tail_free(float z, size_t min_keep);

/* samp_init_typical -- keeps the tokens whose surprise is closest to the entropy H: orders tokens by | -ln p - H |
   (then by logit and id), and keeps the shortest prefix whose probabilities sum to more than p.
     Range    p in (0, 1], 1 is off.
     Leaves   the tokens in that order, sorted = false, and p computed over all tokens before the cut.
     Source   Meister et al. 2022, "Locally typical sampling"; llama.cpp. */
SAMP_API samp_sampler *samp_init_typical(float p, size_t min_keep);

/* samp_init_top_p -- keeps the smallest set of most likely tokens whose probabilities sum to at least p.
     Cut      The shortest prefix in order stays whose sum of weights, times 2^64, is at least floor(p * 2^64) * Z. The
              token with which the sum reaches p stays.
     Range    p in (0, 1], 1 is off.
     Leaves   sorted = true, and p computed over all tokens before the cut (it is not renormalised).
     Source   Holtzman et al. 2019, nucleus sampling. */
SAMP_API samp_sampler *samp_init_top_p(float p, size_t min_keep);

/* samp_init_min_p -- keeps tokens at least p times as likely as the most likely one: l >= max + ln p.
     Range    p in [0, 1], 0 is off.
     Ties     Tokens of equal logits stay or are removed together, unless min_keep decides how many stay: then those
              with smaller ids stay.
     Leaves   the order of the array unchanged, unless min_keep decides: then sorted = true.
     Source   Nguyen et al. 2024, "Turning up the heat"; llama.cpp PR 3841. */
SAMP_API samp_sampler *samp_init_min_p(float p, size_t min_keep);

/* samp_init_top_a -- keeps tokens with p >= a p_max^2: few if one token is likely, many if no token is.
     Cut      Tokens with l >= max + ln a - ln Z stay; the first token in order always stays.
     Range    a in [0, 1], 0 is off.
     Ties     Tokens of equal logits stay or are removed together, unless min_keep decides how many stay: then those
              with smaller ids stay.
     Leaves   the order of the array unchanged, unless min_keep decides: then sorted = true.
     MT19937  llama.cpp has no such sampler; as in koboldcpp, float probabilities are compared in order, and a prefix
              stays.
     Source   BlinkDL 2022 (RWKV), koboldcpp. */
SAMP_API samp_sampler *samp_init_top_a(float a, size_t min_keep);

/* samp_init_p_less -- keeps tokens with p >= scale * sum p^2, the probability that two draws give the same token.
     Cut      Tokens with l >= max + ln(scale q / (2^40 z)) stay; z is the sum of weights, and q is defined in
              DETERMINISM.
     Range    scale in [0, 1], 0 is off, 1 is the form of the paper, which has no parameter.   Ties, min_keep, leaves
              are those of samp_init_top_a.
     MT19937  llama.cpp has no such sampler; the same tokens stay. This also holds for the next three samplers.
     Source   Tan et al. 2025, "p-less sampling", arXiv 2509.23234.
   samp_init_p_less_norm -- the p-less-norm of the same paper, which keeps more tokens than p_less: those with p >=
     scale * (n sum p^2 - 1) / (n - 1), where n is the number of unmasked tokens. The threshold is 0 for a row with
     equal logits, and equals p_less' threshold for a row with one certain token.
     Cut      Tokens with l >= max + ln(scale (n q / z - z) / (2^40 (n - 1))) stay; all unmasked tokens stay if n q <=
              z^2 or n is 1.
     Range    scale in [0, 1], 0 is off, 1 is the form of the paper.
     NaN      SAMP_E_NAN. Ties, min_keep and Leaves are as in samp_init_top_a.
     Masked   tokens are counted in the paper's n, but not here: a token that cannot be drawn does not change the
              threshold.
   samp_init_epsilon -- keeps tokens with p >= epsilon; if no token has such a p, it keeps those with the largest p.
     Cut      Tokens with l >= max + min(0, ln epsilon + ln Z) stay.
     Range    epsilon in [0, 1], 0 is off; usual values are 3e-4 to 9e-4.
   samp_init_eta -- keeps tokens with p >= min(epsilon, sqrt(epsilon) e^-H), where H is the entropy: eta removes fewer
     tokens than epsilon if many tokens are likely.
     Cut      Tokens with l >= max + min(ln epsilon + ln Z, ln epsilon / 2 - D) stay; D is the mean of max - l, so that
              H = ln Z + D.
     Range    epsilon in [0, 1], 0 is off; usual values are 3e-4 to 4e-3.
     Source   epsilon and eta: Hewitt et al. 2022, "Truncation sampling as language model desmoothing"; Hugging Face. */
SAMP_API samp_sampler *samp_init_p_less(float scale, size_t min_keep);
/* Keeps tokens with p >= scale * (n sum p^2 - 1) / (n - 1). */
SAMP_API samp_sampler *samp_init_p_less_norm(float scale, size_t min_keep);
/* Keeps tokens with p >= epsilon. */
SAMP_API samp_sampler *samp_init_epsilon(float epsilon, size_t min_keep);
/* Keeps tokens with p >= min(epsilon, sqrt(epsilon) e^-H). */
SAMP_API samp_sampler *samp_init_eta(float epsilon, size_t min_keep);

/* samp_init_top_h -- keeps the longest prefix of the tokens in order whose entropy (of p renormalised over the prefix)
   is at most alpha times the entropy of all tokens. The first token always stays.
     Entropy  The entropy is ln Z + D as in samp_init_eta, computed in doubles from the integer weights, and summed
              token after token until it exceeds the limit.
     Range    alpha in (0, 1], 1 is off; the authors of the paper use 0.4.
     Leaves   sorted = true.
     MT19937  The same tokens stay under SAMP_RNG_MT19937.
     Source   Baghaei Potraghloo et al. 2025, "Top-H decoding", arXiv 2509.02510: their greedy rule. Their code and
              Hugging Face's consider the first 100 tokens only, and sum in another way.
   samp_init_min_k -- keeps the first k tokens in order, up to the steepest fall of the logits (the cliff): with l_1,
     l_2, ... the logits in order, k >= 1 is the smallest number for which (l_k - l_k+1) / k is largest. But at least
     floor(tau / (l_1 - l_n)) tokens stay in every row (or all tokens, if there are fewer); this number decides in rows
     without a cliff.
     Range    tau is finite; tau < 0 is off; with tau 0 only the cliff decides, which is the same at every temperature.
              The paper's tau is 3.
     Leaves   sorted = true.   MT19937  The same tokens stay under SAMP_RNG_MT19937.   l_n is the last unmasked logit.
     Source   Ding et al. 2026, "Min-k sampling", arXiv 2604.11012; vLLM PR 48142. */
SAMP_API samp_sampler *samp_init_top_h(float alpha, size_t min_keep);
/* Keeps the first k tokens in order, up to the steepest fall of the logits. */
SAMP_API samp_sampler *samp_init_min_k(float tau);

/* samp_init_xtc -- "exclude top choices": with probability p, removes all tokens of probability >= t except the least
   likely of them (of equal ones the largest id stays). It acts only if at least min_keep tokens remain.
     Range    p in [0, 1], 0 is off; t in [0, 1], a value > 0.5 is off.
     Leaves   p computed over all tokens, if tokens were removed.
     Draws    64 random bits, and advances the position by one (if there is only one candidate it draws no bits, but the
              position advances).
     Source   p-e-w, text-generation-webui PR 6335; llama.cpp.
   samp_init_xtc_except -- does the same, but never removes one of the n tokens `exempt`, such as vocab->eog and the
     token of a new line, without which a text may ramble on. An exempt token still counts as a top choice: if it is the
     least likely of them, all others are removed. So a text becomes shorter rather than longer.
     Range    n in 0 .. SAMP_MAX_VOCAB; with n = 0 the sampler is samp_init_xtc's. `exempt` is copied; an id that is not
              in the vocabulary has no effect. A bad id or list carries the name "exempt".
     Draws    a coin of its own, not that of samp_init_xtc with the same seed.
     Cost     that of samp_init_xtc; on slices, with sampling_gpu.h and under SAMP_RNG_MT19937 it runs step by step.
     State    The tokens are part of the settings that a saved state must have in common with its sampler.
     Source   mlx-lm's xtc_special_tokens (1176), requested in llama.cpp 9742. text-generation-webui has another rule:
              if one of its special tokens would be removed, no token is. */
SAMP_API samp_sampler *samp_init_xtc(float p, float t, size_t min_keep, uint64_t seed);
/* Removes the top choices with probability p, except these tokens. */
SAMP_API samp_sampler *samp_init_xtc_except(float p, float t, size_t min_keep, uint64_t seed,
                                            const samp_token *exempt, size_t n);

/* samp_init_infill -- for text that fills a gap: prefers few and long tokens, and ends the text as soon as an end is
   likely. p and n are the probabilities and the number of the candidates; an "end" is a token that ends a generation.
     Ends     If 3 n times the sum of the ends' p exceeds the sum of the other tokens' p, only the ends stay.
     Else     Otherwise two tokens are merged, in order of p, if the text of one begins with the text of the other: the
              more likely of the two gets the sum of both p. Ends that have a text are merged too. Then a token that is
              not an end stays if its p is at least 0.2. Let k be the number of these tokens, and s the sum of their p
              and the ends' p: of the k tokens only those with p / s of at least 1 / (k + 1) stay. If k is 0, the only
              candidate is vocab's eot (or eos, if vocab has no eot), with logit 1 and a p without meaning, even if this
              token was masked or removed before.
     Range    vocab needs token_bytes, and eot or eos; the pointer is kept.
     Leaves   sorted = true, p as above, and the logits unchanged.
     Cost     is O(n^2), so put the sampler after top_k. All computations are in f32, so that they are the same with
              both random sources.
     Source   llama.cpp. */
SAMP_API samp_sampler *samp_init_infill(const samp_vocab *vocab);

/* samp_init_temp -- the temperature: l *= 1 / t.
     Range    t in [2^-20, 2^20], 1 is off; or t = 0: only the first token in order keeps its logit, and the others get
              -infinity.
     Leaves   the size of the array unchanged. Results beyond +-FLT_MAX become +-FLT_MAX. `sorted` stays true unless
              rounding or t = 0 makes logits equal whose ids are not in ascending order. */
SAMP_API samp_sampler *samp_init_temp(float t);

/* samp_init_temp_ext -- dynamic temperature: applies the temperature T = lo + (hi - lo) * (H / ln n)^exponent, where lo
   = max(0, t - delta), hi = t + delta, and H is the entropy and n the number of the unmasked tokens. The rest is as in
   samp_init_temp(T); a T below 2^-20 counts as 0.
     Range    delta in [0, 2^20]; with delta = 0 the sampler is samp_init_temp(t). t has the range of samp_init_temp;
              exponent in [0, 1000]. If there is only one unmasked token, nothing changes.
     Source   kalomaze 2023; koboldcpp, llama.cpp. */
SAMP_API samp_sampler *samp_init_temp_ext(float t, float delta, float exponent);

/* samp_init_smoothing -- bends the logits: l = max - factor d^2 (1 - c + c d), with d = max - l and c = (curve - 1) /
   2. With a factor below 1, logits near the maximum move nearer to it, and logits far below it move farther away; with
   a curve above 1 they fall more steeply.
     Range    factor in [0, 1000], 0 is off; curve in [1, 10]. With a curve above 3, logits next to the maximum rise
              above the maximum.
     Leaves   the size of the array unchanged. Results below -FLT_MAX become -FLT_MAX. `sorted` stays true if the array
              is still in order.
     MT19937  llama.cpp has no such sampler; the result is the same.
     Cost     is one pass over the whole row without SIMD; after a truncation it is small.
     Source   kalomaze 2024, text-generation-webui; koboldcpp; llama.cpp PR 6445. */
SAMP_API samp_sampler *samp_init_smoothing(float factor, float curve);

/* samp_init_log_softmax -- turns logits into log-probabilities: l -= max + ln Z. Penalties after this sampler multiply
   ln p, whatever number the model adds to all its logits; the order in samp_params is then "log_softmax;penalties;...".
   Rounding aside, no token's probability changes.
     Leaves   the size of the array unchanged. `sorted` stays true unless rounding makes logits equal whose ids are not
              in ascending order.
     MT19937  The result is the same under SAMP_RNG_MT19937.
     Cost     is the computation of the exact Z, and one pass over the row.
     Source   Keskar et al. 2019, "CTRL"; transformers issue 47595. */
SAMP_API samp_sampler *samp_init_log_softmax(void);

/* samp_init_softmax -- sorts the array, and sets p of every token.   Leaves  sorted = true. */
SAMP_API samp_sampler *samp_init_softmax(void);

/* samp_init_greedy -- selects the token with the largest logit.   Ties  Of equal logits the smaller id is selected. */
SAMP_API samp_sampler *samp_init_greedy(void);

/* samp_init_dist -- selects a token with probability w / Z.
     Leaves   p set for every token.
     Draws    128 random bits for each attempt of the rejection sampling (1.04 attempts on average), and advances the
              position by one. */
SAMP_API samp_sampler *samp_init_dist(uint64_t seed);

/* samp_init_mirostat -- keeps the surprise (-log2 p, in bits) of the chosen tokens near tau. It estimates Zipf's
   exponent s from the m most likely tokens: s = sum t_i b_i / sum t_i^2, with t_i = ln((i + 2) / (i + 1)) and b_i =
   ln(p_i / p_i+1). Then it keeps the first k = ((s - 1) 2^mu / (1 - N^-(s - 1)))^(1 / s) tokens in order, with N =
   n_vocab, and draws one of them. After the draw mu -= eta * (surprise - tau).
     Range    n_vocab >= 1, m >= 2; tau in [0, FLT_MAX / 2]; eta >= 0 and finite. mu starts at 2 tau.
     Leaves   sorted = true, and p of the tokens kept.   Draws  as samp_init_dist.
     Source   Basu et al. 2020, "Mirostat"; llama.cpp. */
SAMP_API samp_sampler *samp_init_mirostat(int32_t n_vocab, uint64_t seed, float tau, float eta, int32_t m);

/* samp_init_mirostat_v2 -- keeps the surprise of the chosen tokens near tau, without mirostat's estimate: it keeps the
   tokens with a surprise of at most mu bits (and always the first in order), and draws one of them. After the draw mu
   -= eta * (surprise - tau), where the surprise is computed among the tokens kept.
     Range    tau in [0, FLT_MAX / 2]; eta >= 0 and finite. mu starts at 2 tau.   Leaves  p of the tokens kept.
     Draws    as samp_init_dist. */
SAMP_API samp_sampler *samp_init_mirostat_v2(uint64_t seed, float tau, float eta);

/* samp_init_adaptive_p -- selects a token, and prefers tokens whose probability is near a target. The target adapts to
   the probabilities of earlier tokens:
     a = clamp(2 target - average of past probabilities, 0, 1);  x = |p - a| / 0.3;  l = 5 - 10 x^2 / (1 + x). From
     these logits l it draws as samp_init_dist. The average is weighted by decay^age and starts at target. The
     probability of the selected token enters the average when this token is accepted; if another token is accepted
     instead, the average does not change. All steps are rounded to f32.
     Range    target in [0, 1], a target < 0 means plain dist; decay in [0, 0.99].
     Leaves   l as above, sorted = false, and p of every token by the new logits.   Draws  as samp_init_dist.
     Source   MrJackSpade; llama.cpp. */
SAMP_API samp_sampler *samp_init_adaptive_p(float target, float decay, uint64_t seed);

/* samp_init_ras -- repetition-aware sampling, for models of speech: draws a token as samp_init_dist does. If the token
   occurs at least threshold * window times among the last `window` accepted tokens, it is drawn again, once, from the
   row as it was before the chain: with the model's logits at temperature 1, and without any truncation. The comparison
   is count / window >= threshold, with the quotient rounded to f32 (1 / 10 is 0.1f); window is the argument, also while
   fewer tokens have been accepted.
     Place    It must be the last sampler of its chain that is on; elsewhere it is samp_init_dist.
     Row      The row is the one of the call: the logits [n_vocab] of samp_sample, samp_draw, samp_verify or a batch,
              without the tokens that are masked there, that samp_logits.mask excludes, or that a grammar, a constraint
              or a logit_bias of -INFINITY of the chain masks. A constraint sees this row, not the one that samplers
              before it have changed. A sampler of your own is not asked again.
     Range    window in 0 .. 2^22, 0: no token is drawn again; threshold in [0, 1], 0: every token is drawn again.
              CosyVoice has 10 and 0.1, so that a token that occurs once in the last 10 is drawn again.
     State    The window. A prompt that the chain accepts counts; samp_reset of this sampler (samp_chain_get) forgets
              it.
              samp_clone, samp_state_save and samp_rollback keep the window; by steps, in a batch and after a rollback
              the token is the same.
     Draws    as samp_init_dist, with numbers of its own; the second draw has others at the same position.
     Logprobs `processed` of a token that was drawn again is that of the row, as described above.
     samp_apply has an array and no row: it draws once, as samp_init_dist does.
     Verify   samp_verify with SAMP_VERIFY_EXACT gives the tokens of samp_sample; the ratio method, samp_verify_block
              and samp_verify_relaxed are SAMP_E_UNSUPPORTED.
     Executor With sampling_gpu.h the whole chain runs on the CPU; on slices it is SAMP_E_UNSUPPORTED.
     MT19937  The tokens are those of the default random source.
     Cost     that of samp_init_dist, and the window once for each draw. A token that is drawn again costs a pass over
              the row, or, if the chain has one of the samplers that mask, an array of the row.
     Source   Chen et al. 2024, "VALL-E 2", arXiv 2406.05370 (repetition aware sampling: more than t_r, here at least);
              CosyVoice's ras_sampling (top_k 25, top_p 0.8, then this one). */
SAMP_API samp_sampler *samp_init_ras(int32_t window, float threshold, uint64_t seed);

/* samp_init_replay -- selects the tokens of a text instead of drawing them: token p of `tokens` at the position p (see
   samp_get_position). The log-probabilities, the entropy and the support of samp_sample_batch are those of the chain as
   if it had drawn the token, and its samplers take note of the token as if they had: so a trainer gets the sampler's
   numbers for a text that exists already.
     Place    It must be the last sampler of its chain that is on, where dist would be.
     Removed  A token that the chain has removed, or that is masked in the row, comes all the same: the one exception to
              the rule that a masked token is never returned. Its log-probability in `processed` is then -INFINITY, its
              rank one more than the number of tokens that the chain has left, and it is not in the support. A grammar
              accepts it as any token that it does not allow (see samp_accept).
     Leaves   p, as samp_init_dist does; samp_apply selects nothing if the array does not have the token.
     Draws    none; but the position advances, as with dist. So the random numbers of xtc are those of the draw of a
              chain with the same seeds. A replay replaces mirostat and adaptive_p too, which select themselves; so no
              mu moves.
     Range    n in 0 .. SAMP_MAX_VOCAB, tokens [n] (copied) in 0 .. SAMP_MAX_VOCAB - 1; a bad one carries "tokens".
     Returns  a draw behind the last token is SAMP_E_EMPTY; a token that the row does not have SAMP_E_RANGE.
     Verify   The ratio method of samp_verify does the same as the exact one.
     Executor With sampling_gpu.h the whole chain runs on the CPU. MT19937: the same.
     Source   vLLM's trace_replay; teacher forcing. samp_replay_check finds where a text is not what a chain draws. */
SAMP_API samp_sampler *samp_init_replay(const samp_token *tokens, size_t n);
