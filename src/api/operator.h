/* ---- 4. the operator ----------------------------------------------------------------------------------------
   samp_random_sample: one index from a row of logits and a random number, without samplers. */

/* Sampling as the operator of a tensor library: created once, run on many rows, in the caller's memory. It has no
   state, and the random number is an argument. Many threads may run one operator at once, each with its own
   workspace. */
typedef struct samp_random_sample samp_random_sample;

/* samp_random_sample_create -- makes an operator.
     result   any of the eight integer types    probs  SAMP_F16, SAMP_BF16, SAMP_F32 or SAMP_F64
     n        1 .. SAMP_MAX_VOCAB logits, and at most as many as result can number (SAMP_I8: 128)
     Returns  NULL on error; *status (may be NULL): SAMP_OK, SAMP_E_DTYPE, SAMP_E_EMPTY (n = 0), SAMP_E_RANGE (n),
              SAMP_E_NOMEM.   Free it with samp_random_sample_destroy, which takes NULL.
   samp_random_sample_workspace_size -- the bytes that a run needs; 0 for NULL. About 33 KiB + n / 4, and 4 n more
     unless probs is SAMP_F32. */
SAMP_API samp_random_sample *samp_random_sample_create(samp_dtype result, samp_dtype probs, size_t n, int *status);
/* The bytes that a run needs; 0 for NULL. */
SAMP_API size_t samp_random_sample_workspace_size(const samp_random_sample *op);
/* Frees an operator; takes NULL. */
SAMP_API void samp_random_sample_destroy(samp_random_sample *op);

/* samp_random_sample_run -- samples one index.
     probs    [n] logits, in spite of the name; read only, aligned as its elements are. -INFINITY is a masked index.
     result   [1] out: the index, in [0, n)
     random   in [0, 1)    topp  in [0, 1]; 1 = all    topk  in [1, n]; n = all    temperature  >= 0 and finite
     Argmax   if random or topp or temperature is 0, or topk is 1.
     Else     with the logits in order (logit descending, index ascending), w_i = exp((l_i - max) / temperature) and
              c_i = w_0 + ... + w_i: the first i with c_i >= random * min(topp * c_n-1, c_topk-1). The nucleus is that
              of the whole row, not of the first topk, and nothing is renormalised: random spans the kept mass.
     Exact    (l - max) / temperature is two f32 steps, w is rounded to 2^-40 (see DETERMINISM), sums are exact, random
              and random * topp are rounded down to 2^-64, the threshold up to 2^-40: the same index on every machine.
              SAMP_F64: l - max is computed in double, then rounded to f32; elements that are equal then are ties.
     Returns  SAMP_OK; SAMP_E_NULL; SAMP_E_WORKSPACE (too small; its alignment does not matter); SAMP_E_NAN (a
              parameter; NaN or +infinity in the logits); SAMP_E_RANGE (a parameter); SAMP_E_EMPTY (all masked). After
              an error *result is unchanged.
     Memory   the workspace alone.   Cost  O(n): some passes over the row, most over a few parts of it; no sort.
     Source   the random-sample operator of InfiniCore. */
SAMP_API int samp_random_sample_run(const samp_random_sample *op, void *workspace, size_t workspace_size,
                                    void *result, const void *probs, float random, float topp, int32_t topk,
                                    float temperature);
