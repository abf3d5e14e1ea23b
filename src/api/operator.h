/* ---- 4. the operator ----------------------------------------------------------------------------------------
   samp_random_sample: functions that pick one index from a row of logits by a random number, without samplers. */

/* Sampling as an operator of a tensor library: the operator is created once and run on many rows, in memory that the
   caller provides. It has no state, and the random number is an argument. Many threads may run one operator at the same
   time, each with its own workspace. */
typedef struct samp_random_sample samp_random_sample;

/* samp_random_sample_init -- makes an operator.
     result   the type of the index: any of the eight integer types.    probs  the type of the logits: SAMP_F16,
              SAMP_BF16, SAMP_F32 or SAMP_F64
     n        the number of logits, 1 .. SAMP_MAX_VOCAB, and at most as many as the type `result` can number (SAMP_I8:
              128)
     Returns  NULL on error; *status (may be NULL): SAMP_OK, SAMP_E_DTYPE, SAMP_E_EMPTY (n = 0), SAMP_E_RANGE (n),
              SAMP_E_NOMEM.   Free it with samp_random_sample_free, which takes NULL.
   samp_random_sample_workspace_size -- returns the bytes of workspace that samp_random_sample_run needs; 0 if op is
     NULL. They are about 33 KiB + n / 4 bytes, and 4 n bytes more unless probs is SAMP_F32. */
SAMP_API samp_random_sample *samp_random_sample_init(samp_dtype result, samp_dtype probs, size_t n, int *status);
/* Returns the bytes of workspace that samp_random_sample_run needs; 0 if op is NULL. */
SAMP_API size_t samp_random_sample_workspace_size(const samp_random_sample *op);
/* Frees an operator; takes NULL. */
SAMP_API void samp_random_sample_free(samp_random_sample *op);

/* samp_random_sample_run -- samples one index.
     probs    [n] the logits, in spite of the name; they are only read, and are aligned as their elements are. A logit
              of -INFINITY masks its index.
     result   [1] out: the index, in [0, n)
     random   a random number in [0, 1).    topp  in [0, 1]; 1 keeps all.    topk  in [1, n]; n keeps all.
              temperature >= 0 and finite
     Argmax   The index of the largest logit, of equal ones the smallest index, is the result if random, topp or
              temperature is 0, or topk is 1.
     Else     let the logits be in order (logit descending, index ascending), w_i = exp((l_i - max) / temperature) and
              c_i = w_0 + ... + w_i. The result is the first i with c_i >= random * min(topp * c_n-1, c_topk-1). So topp
              cuts the distribution of the whole row, not that of the first topk; and nothing is renormalised: random in
              [0, 1) is scaled to the sum of what both keep.
     Exact    The index is the same on every machine: (l - max) / temperature is computed in two f32 steps, w is rounded
              to 2^-40 (see DETERMINISM), sums are exact, random and random * topp are rounded down to 2^-64, and the
              threshold is rounded up to 2^-40. With SAMP_F64, l - max is computed in double and then rounded to f32;
              elements that are equal after this are ties.
     Returns  SAMP_OK; SAMP_E_NULL; SAMP_E_WORKSPACE (the workspace is too small; its alignment does not matter);
              SAMP_E_NAN (a parameter is NaN; NaN or +infinity in the logits); SAMP_E_RANGE (a parameter); SAMP_E_EMPTY
              (all logits are masked). After an error *result is unchanged.
     Memory   Only the workspace is used.
     Cost     O(n): some passes over the whole row, and more passes over a few parts of it; no sort.
     Source   the random-sample operator of InfiniCore. */
SAMP_API int samp_random_sample_run(const samp_random_sample *op, void *workspace, size_t workspace_size,
                                    void *result, const void *probs, float random, float topp, int32_t topk,
                                    float temperature);
