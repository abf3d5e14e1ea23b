/* ---- coupled draws (SAMPLING_GUMBEL) ----
   The constructor of one more sampler. With the same seed and position, this sampler mostly draws the same token from
   similar logits. */

/* samp_init_gumbel -- selects a token with probability w / Z, as samp_init_dist does (w is the token's weight, Z the
   sum of weights): the token with the smallest E / w is selected (needs SAMPLING_GUMBEL). E is an exponential random
   number for each token, a function of (seed, position, token id) alone. This is the Gumbel-max trick, which selects
   the token with the largest sum of its logit and Gumbel noise.
     Couples  Chains that have the same seed and similar distributions mostly select the same token: a draft model and
              the model, two temperatures, two versions of a model. A truncation that keeps the selected token does not
              change the choice.
     Bits     E = -ln((2 k + 1) 2^-53), where k is the upper 52 of the first 64 bits of Philox at (position, stream,
              id), and ln is the function of >>math; E / w is one division of doubles. Of tokens with equal quotients
              the one with the larger logit is selected, then the one with the smaller id.
     Leaves   p set for every token.
     Draws    64 random bits for each token, and advances the position by one.
     Ratio    In samp_verify's ratio method the sampler draws as samp_init_dist does.
     MT19937  llama.cpp has no such sampler; the token is the same.
     Cost     is 1.5 ns for each candidate with AVX-512, 2.5 ns with AVX2, and 15 ns if the chain applies its samplers
              one by one to an array of candidates.
     Source   Gumbel 1954; Maddison et al. 2014, "A* sampling"; vLLM's noise by token. */
SAMP_API samp_sampler *samp_init_gumbel(uint64_t seed);
