/* ---- draws that couple (SAMPLING_GUMBEL) ----
   One more constructor of section 3. Its sampler draws so that similar rows mostly get the same token. */

/* samp_init_gumbel -- select a token with probability w / Z, as dist does, by a race (SAMPLING_GUMBEL): the smallest
   E / w wins, where E is an exponential random number that belongs to (seed, position, token id) alone. It is the
   Gumbel-max trick: the token with the largest logit + Gumbel noise.
     Couples  one seed gives chains with similar distributions the same token, mostly: a draft's and the model's, two
              temperatures, two versions of a model. A truncation that keeps the winner changes nothing, whatever else
              it removes.
     Exactly  E = -ln((2 k + 1) 2^-53), k the upper 52 bits of the first 64 of Philox at (position, stream, id), ln as
              in >>math; E / w is one division of doubles. Of equal ones the larger logit wins, then the smaller id.
     Leaves   p of every token.   Draws  64 bits for each token, one position.   Ratio  samp_verify draws as dist does.
     MT19937  the same: llama.cpp has none.
     Cost     1.5 ns a token that is left with AVX-512, 2.5 with AVX2, step by step 15.
     Source   Gumbel 1954; Maddison et al. 2014, "A* sampling"; vLLM's noise by token. */
SAMP_API samp_sampler *samp_init_gumbel(uint64_t seed);
