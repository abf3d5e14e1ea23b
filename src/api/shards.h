/* ---- 8. a vocabulary in pieces (SAMPLING_SHARDS) --------------------------------------------------------------
   A row whose logits are spread over ranks, as tensor parallelism leaves them: each rank has a slice of the
   vocabulary. samp_sample_sharded gives every rank the token of one machine. With samp_shard_begin, _message and _take
   a caller sends the messages by itself. */

/* One rank's part in sampling logits that are spread over ranks: its slice of the vocabulary, and room to work in. For
   one batch at a time. */
typedef struct samp_shard samp_shard;

/* samp_shard_merge -- into [n] becomes the merged message of `into` and `from` [n], two of the same round. Associative
     and commutative. Bytes that are no messages, or not of one round, give one that tells it: samp_shard_take returns
     SAMP_E_FORMAT. Any address is good. Reads and writes the two and nothing else: any thread, any rank. */
SAMP_API void samp_shard_merge(void *into, const void *from, size_t n);
typedef void (*samp_merge)(void *into, const void *from, size_t n);

/* How messages get to the other ranks. One of both functions is enough (MPI has the first, NCCL the second); with both,
   allreduce is taken. They return 0, or what is wrong: a negative samp_status, or anything else for SAMP_E_DEVICE. */
typedef struct samp_ranks {
    /* bytes [n] = the merge of all ranks' bytes [n], in any order. n is the same on all ranks. */
    int (*allreduce)(void *user, void *bytes, size_t n, samp_merge merge);
    /* all [n_ranks x n] = the bytes [n] of all ranks, in any order. */
    int (*allgather)(void *user, const void *bytes, size_t n, void *all);
    void *user;
} samp_ranks;

/* samp_shard_init -- the part of a rank that holds tokens first .. first + length - 1 of n_vocab. The slices of all
     ranks make up the vocabulary; they may be uneven, and empty.
     Range    n_vocab in 1 .. SAMP_MAX_VOCAB, n_ranks in 1 .. 1024
     Returns  NULL on error; *status (may be NULL): SAMP_OK, SAMP_E_RANGE, SAMP_E_NOMEM.
     Memory   little here. With the first batch that is larger than those before: 8 bytes a token of the slice and 36
              KiB for each of its rows (128 at most at a time), and once 29 bytes a token of the slice; 12 bytes a token
              of the vocabulary more for a row whose chain has tail_free, infill, mirostat with m > 256, top_k with
              ties, top_p with a decay, top_h, min_k or log_softmax. Without an allreduce n_ranks times 23 KiB a row
              besides.
   samp_shard_free -- NULL is fine. What is under way is given up: the chains are what they were. */
SAMP_API samp_shard *samp_shard_init(size_t n_vocab, size_t first, size_t length, uint32_t n_ranks, int *status);
/* NULL is fine. */
SAMP_API void samp_shard_free(samp_shard *shard);

/* samp_sample_sharded -- samp_sample_batch for logits of which each rank has a slice: on every rank the same tokens and
     the same chains afterwards, those of one machine with whole rows. All ranks call it, each with the same chains in
     the same state.
     in       rows [n_rows]: as in samp_sample_batch. slice: as there, but of the slice: n_vocab is its length (0: data
              is not read), stride and mask are its own, bit i of the mask is token first + i. logprobs on all ranks or
              on none, with the same n_top; each gets all of them, whosever slice has the tokens. n_threads: not used.
     out      [n_rows] the tokens, or a row's status, the same on every rank: as samp_sample_batch's, and
              SAMP_E_UNSUPPORTED: MT19937, a sampler of the user's, a grammar that is not the chain's first.
     Returns  SAMP_OK, even if rows failed. Else `out` tells it of each row that has no token yet, and whose chain is
              what it was. The same on all ranks: what is wrong with the call of one of them (as samp_sample_batch);
              SAMP_E_RANGE: slices that overlap or leave holes; other n_vocab, n_ranks, n_rows; SAMP_E_FORMAT: another
              chain, seed, position, n_top or version of the library, or a message that is none.
              Only on the ranks that see it: SAMP_E_NULL (shard, ranks, no function there), a function's own status.
     Rounds   Each is one allreduce, of all rows; rows beyond 128 go by groups of 128. The first is of 1,104 bytes.
              Where a truncation leaves at most 256 tokens, there is one more (two for typical below 0.85), and a row
              has less than 4 KiB in all (1.5 KB with top_k 40). Temperature alone, min_p of more: 2 more, 19 bytes a
              rank.
              Where more are left, and a sum over the row decides which, or their logits: 2 more, up to 10 KB, if they
              are a thousand at most (top_k: one more); else 3 more, some 9 KB, 18 KB at most, for a nucleus (one in a
              thousand takes a fourth; if it ends among thousands of different values within a thousandth of a nat, up
              to six, 64 KiB); 2.5 KB for a floor by sums, temp_ext, adaptive_p. typical, xtc, min_keep of more than
              256: up to 4 more. Each sum or floor behind a cut of so many takes one more, each nucleus there 2.
              A draw may take one more (an eighth attempt fails in 10^11); logprobs take 2, 7 bytes for each of n_top.
              What lists all tokens, where more are left (tail_free, infill, top_k with ties, top_p with a decay, top_h,
              min_k, log_softmax): 7 bytes a token, 2,048 a round. */
SAMP_API int samp_sample_sharded(samp_shard *shard, const samp_ranks *ranks, samp_sampler *const *rows,
                                 const samp_logits *slice, samp_token *out);

/* The same by steps, for who carries messages in another way: begin; then, until there is no message any more, send
   what samp_shard_message gives, put the merge of all ranks' (samp_shard_merge) in its place, and samp_shard_take it.
   samp_shard_begin -- up to 128 rows. What is wrong with the call is in the first message, so that all ranks hear it.
     The arguments must live until the last message is taken. Returns SAMP_OK or SAMP_E_NULL (shard).
   samp_shard_message -- this rank's message of the next round [*n], to be changed in place; NULL and 0: there is none.
     *n is the same on every rank.
   samp_shard_take -- the merged one lies there. Returns SAMP_OK or, as samp_sample_sharded, the batch's status.
   samp_shard_drop -- give up what is under way: each row that has no token yet gets the status, its chain is what it
     was. */
SAMP_API int samp_shard_begin(samp_shard *shard, samp_sampler *const *rows, const samp_logits *slice,
                              samp_token *out);
/* This rank's message of the next round, to be changed in place. */
SAMP_API void *samp_shard_message(samp_shard *shard, size_t *n);
/* The merged message lies there: go on. */
SAMP_API int samp_shard_take(samp_shard *shard);
/* Give up what is under way. */
SAMP_API void samp_shard_drop(samp_shard *shard, int status);
