/* ---- 8. a vocabulary in pieces (SAMPLING_SHARDS) --------------------------------------------------------------
   Rows whose logits are spread over ranks, as tensor parallelism leaves them: each rank has a slice of the vocabulary.
   samp_sample_sharded gives every rank the token that one machine would get. With samp_shard_begin, _message and _take
   the caller sends the messages itself. */

/* One rank's slice of the vocabulary, and its memory to work in. For one batch at a time. */
typedef struct samp_shard samp_shard;

/* samp_shard_merge -- merges two messages of the same round: into [n] = into and from [n]. Associative and commutative.
     If the bytes are no messages, or of different rounds, the result says so and samp_shard_take returns SAMP_E_FORMAT.
     Any alignment is allowed. It reads and writes only the two messages, so any thread or rank may call it. */
SAMP_API void samp_shard_merge(void *into, const void *from, size_t n);
typedef void (*samp_merge)(void *into, const void *from, size_t n);

/* How messages get to the other ranks. One of the two functions is enough (MPI has the first, NCCL the second); if both
   are there, allreduce is used. They return 0 or an error: a negative samp_status, or any other number for
   SAMP_E_DEVICE. */
typedef struct samp_ranks {
    /* bytes [n] = the merge of all ranks' bytes [n], in any order. n is the same on all ranks. */
    int (*allreduce)(void *user, void *bytes, size_t n, samp_merge merge);
    /* all [n_ranks x n] = the bytes [n] of all ranks, in any order. */
    int (*allgather)(void *user, const void *bytes, size_t n, void *all);
    void *user;
} samp_ranks;

/* samp_shard_init -- makes the shard of a rank that has tokens first .. first + length - 1 of n_vocab. The slices of
     all ranks together are the vocabulary; they may be uneven, or empty.
     Range    n_vocab in 1 .. SAMP_MAX_VOCAB, n_ranks in 1 .. 1024
     Returns  NULL on error; *status (may be NULL): SAMP_OK, SAMP_E_RANGE, SAMP_E_NOMEM.
     Memory   little here. At the first batch, and at each one larger than all before: for each of its rows (at most 128
              at a time) 8 bytes a token of the slice and 36 KiB, and once 29 bytes a token of the slice. A row whose
              chain has tail_free, infill, mirostat with m > 256, top_k with ties, top_p with a decay, top_h, min_k or
              log_softmax takes 12 bytes a token of the vocabulary more. Without an allreduce also n_ranks times 23 KiB
              a row.
   samp_shard_free -- frees it; takes NULL. A running batch is dropped as by samp_shard_drop: the chain of each row that
     has no token yet is as before the batch. */
SAMP_API samp_shard *samp_shard_init(size_t n_vocab, size_t first, size_t length, uint32_t n_ranks, int *status);
/* Frees a shard; takes NULL. */
SAMP_API void samp_shard_free(samp_shard *shard);

/* samp_sample_sharded -- samp_sample_batch for logits of which each rank has a slice. Every rank gets the same tokens
     and ends with the same chains, those that one machine with whole rows would have. All ranks call it, each with the
     same chains in the same state.
     in       rows [n_rows]: as in samp_sample_batch. slice: as logits there, but for the slice: n_vocab is its length
              (0: data is not read), stride and mask are its own, bit i of the mask is token first + i. logprobs: on all
              ranks or on none, with the same n_top; each rank gets all of them. n_threads is not used.
     out      [n_rows] each row's token or status, the same on every rank: as samp_sample_batch's, and
              SAMP_E_UNSUPPORTED: MT19937, a sampler of the user's, a grammar that is not the chain's first member.
     Returns  SAMP_OK, even if rows failed. After an error, each row that has no token yet has the status in `out`, and
              its chain is unchanged. The same on all ranks: an error in the call of any rank (as samp_sample_batch);
              SAMP_E_RANGE: slices that overlap or leave gaps, a different n_vocab, n_ranks or n_rows; SAMP_E_FORMAT: a
              different chain, seed, position, n_top or version of the library, or damaged messages.
              Only on the ranks concerned: SAMP_E_NULL (shard, ranks, no function), a function's own status.
     Rounds   Each is one allreduce of all rows; more than 128 rows go in groups of 128. The first has 1,104 bytes.
              If a truncation leaves at most 256 tokens: 1 more (2 for typical below 0.85), less than 4 KiB a row in all
              (1.5 KB with top_k 40). Temperature alone, or min_p that leaves more tokens: 2 more, 19 bytes a rank.
              If more than 256 tokens are left, and a sum over the row decides which or changes their logits: 2 more, up
              to 10 KB, if at most a thousand are left (top_k: 1 more); else 3 more: for a nucleus some 9 KB, at most
              18 KB (one row in a thousand takes a fourth; a nucleus that ends among thousands of different logits
              within a thousandth of a nat up to six, 64 KiB); for a floor by sums, temp_ext, adaptive_p 2.5 KB.
              typical, xtc, min_keep above 256: up to 4 more. After a cut that leaves so many tokens each further sum or
              floor takes 1 more, each further nucleus 2.
              A draw may take 1 more (its eight attempts all fail once in 10^11); logprobs take 2, 7 bytes for each of
              n_top. Samplers that list all tokens, if more than 256 are left (tail_free, infill, top_k with ties, top_p
              with a decay, top_h, min_k, log_softmax): 7 bytes a token, 2,048 tokens a round. */
SAMP_API int samp_sample_sharded(samp_shard *shard, const samp_ranks *ranks, samp_sampler *const *rows,
                                 const samp_logits *slice, samp_token *out);

/* The same in steps, for callers that send messages themselves. Begin; then, as long as samp_shard_message returns one,
   replace it in place by the merge of all ranks' messages (samp_shard_merge), and call samp_shard_take.
   samp_shard_begin -- begins a batch of up to 128 rows. An error in the call is in the first message, so that all ranks
     learn of it. The arguments must live until the last message is taken. Returns SAMP_OK or SAMP_E_NULL (shard).
   samp_shard_message -- this rank's message of the next round, *n bytes, to be replaced in place; NULL and 0: there is
     none, because the batch is done or dropped, or none has begun. *n is the same on every rank.
   samp_shard_take -- reads the merged message. Returns SAMP_OK or the batch's status, as samp_sample_sharded.
   samp_shard_drop -- drops a running batch: each row that has no token yet gets the status, and its chain is as before
     the batch. */
SAMP_API int samp_shard_begin(samp_shard *shard, samp_sampler *const *rows, const samp_logits *slice,
                              samp_token *out);
/* This rank's message of the next round, to be replaced in place by the merged one. */
SAMP_API void *samp_shard_message(samp_shard *shard, size_t *n);
/* Reads the merged message. */
SAMP_API int samp_shard_take(samp_shard *shard);
/* Drops a running batch. */
SAMP_API void samp_shard_drop(samp_shard *shard, int status);
