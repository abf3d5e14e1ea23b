/* ---- coupled draws (SAMPLING_GUMBEL) ----
   One more constructor of section 3. Its sampler draws so that similar rows mostly get the same token. */

/* samp_init_gumbel -- selects a token with probability w / Z, as dist does, by a race (SAMPLING_GUMBEL): the smallest
   E / w wins. E is an exponential random number, a function of (seed, position, token id) alone. This is the Gumbel-max
   trick: the token with the largest logit + Gumbel noise.
     Couples  with one seed, chains with similar distributions mostly get the same token: a draft model and the model,
              two temperatures, two versions of a model. A truncation that keeps the winner does not change the token.
     Exactly  E = -ln((2 k + 1) 2^-53), k the upper 52 bits of the first 64 of Philox at (position, stream, id), ln as
              in >>math; E / w is one division of doubles. Of equal quotients the larger logit wins, then the smaller
              id.
     Leaves   p of every token.   Draws  64 bits for each token, one position.   Ratio  samp_verify draws as dist does.
     MT19937  llama.cpp has no such sampler: the same.
     Cost     1.5 ns for each candidate with AVX-512, 2.5 ns with AVX2, 15 ns where the chain goes step by step.
     Source   Gumbel 1954; Maddison et al. 2014, "A* sampling"; vLLM's noise by token. */
SAMP_API samp_sampler *samp_init_gumbel(uint64_t seed);
