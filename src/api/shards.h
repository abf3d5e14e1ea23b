/* ---- 8. a vocabulary in pieces (SAMPLING_SHARDS) --------------------------------------------------------------
   Functions for logits that are spread over ranks (machines or GPUs), as tensor parallelism leaves them: each rank has
   the logits of a slice (a range of consecutive tokens) of the vocabulary. samp_sample_sharded gives every rank the
   token that one machine with all logits would draw. With samp_shard_begin, samp_shard_message and samp_shard_take the
   caller sends the messages between the ranks itself. */

/* A shard: one rank's slice of the vocabulary (a range of consecutive tokens), and working memory. A shard samples one
   batch at a time. */
typedef struct samp_shard samp_shard;

/* samp_shard_merge -- merges two messages of the same round: the message into [n] becomes the merge of into [n] and
     from [n]. The merge is associative and commutative. If the bytes are not messages, or of different rounds, the
     merged message is marked as bad, and samp_shard_take returns SAMP_E_FORMAT. Any alignment is allowed. The function
     reads and writes only the two messages, so any thread or rank may call it. */
SAMP_API void samp_shard_merge(void *into, const void *from, size_t n);
typedef void (*samp_merge)(void *into, const void *from, size_t n);

/* The functions that send messages to the other ranks. One of the two functions is enough (MPI has the first, NCCL the
   second); if neither is NULL, allreduce is used. They return 0 or an error: a negative samp_status, or any other
   number, which then counts as SAMP_E_DEVICE. */
typedef struct samp_ranks {
    /* Replaces bytes [n] by the merge of all ranks' bytes [n], merged in any order. n is the same on all ranks. */
    int (*allreduce)(void *user, void *bytes, size_t n, samp_merge merge);
    /* Writes the bytes [n] of all ranks to all [n_ranks x n], in any order. */
    int (*allgather)(void *user, const void *bytes, size_t n, void *all);
    void *user;
} samp_ranks;

/* samp_shard_init -- makes the shard of a rank whose slice is the tokens first .. first + length - 1 of n_vocab. The
     slices of all ranks together are the vocabulary; they may have different lengths, or be empty.
     Range    n_vocab in 1 .. SAMP_MAX_VOCAB, n_ranks in 1 .. 1024
     Returns  the shard; NULL on error; *status (status may be NULL): SAMP_OK, SAMP_E_RANGE, SAMP_E_NOMEM.
     Memory   This function allocates little. The first batch, and each batch that needs more than all before (more
              rows, more rows with lists, or an allgather), allocates for each of its rows (at most 128 at a time) 8
              bytes per token of the slice and 36 KiB, and once 29 bytes per token of the slice. A row whose chain has
              tail_free, infill, mirostat, top_k with ties, top_h or min_k (a row with a list) needs 12 bytes more per
              token of the vocabulary. Without an allreduce, n_ranks times
              23 KiB more are allocated for each row.
   samp_shard_free -- frees a shard; takes NULL. A running batch is dropped as by samp_shard_drop: the chain of each row
     that has no token yet is as before the batch. */
SAMP_API samp_shard *samp_shard_init(size_t n_vocab, size_t first, size_t length, uint32_t n_ranks, int *status);
/* Frees a shard; takes NULL. */
SAMP_API void samp_shard_free(samp_shard *shard);

/* samp_sample_sharded -- samples a batch as samp_sample_batch does, from logits of which each rank has a slice. Every
     rank gets the same tokens, and its chains end in the same state, as on one machine with whole rows. All ranks must
     call the function, each with the same chains in the same state.
     in       rows [n_rows]: as in samp_sample_batch. slice: as the argument `logits` of samp_sample_batch, but only for
              the slice: n_vocab is the length of the slice (if it is 0, data is not read), stride and mask belong to
              the slice, and bit i of the mask is token first + i. logprobs must be given on all ranks or on none, with
              the same n_top; each rank gets all log-probabilities. n_threads is not used. n_vocab_of must be NULL:
              whole rows of several vocabularies are for samp_sample_batch, and each vocabulary in slices needs a shard
              of its own.
     out      [n_rows] each row's token or status, the same on every rank: a status of samp_sample_batch, or
              SAMP_E_UNSUPPORTED: MT19937, samp_init_ras, a custom sampler, or a grammar that is not the chain's
              first member.
     Returns  SAMP_OK, even if rows failed. After an error, each row that has no token yet has the error in `out`, and
              its chain is unchanged. These errors are returned on all ranks: an error of samp_sample_batch in the call
              of any rank; SAMP_E_UNSUPPORTED: n_vocab_of is not NULL on any rank; SAMP_E_RANGE: slices overlap or leave
              gaps, or ranks differ in n_vocab, n_ranks or n_rows;
              SAMP_E_FORMAT: ranks differ in a chain, seed, position, n_top or the version of the library, or messages
              are damaged. These errors are returned only on the ranks where they occur: SAMP_E_NULL (shard, ranks, or
              both functions of ranks), and a status that a function of ranks returned.
     Rounds   A round is one allreduce for all rows together; more than 128 rows are sampled in groups of 128. The first
              round sends 1,104 bytes for all rows; the numbers of rounds below are in addition to it.
              If a truncation leaves at most 256 tokens, there is 1 more round, and less than 4 KiB a row in all rounds
              together (1.5 KB with top_k 40); with typical up to 5 more, if its tokens are not the most likely ones.
              With the temperature alone there are 2 more rounds, with 19 bytes for each rank. If more than 256 tokens
              are left, there are 3 more rounds (2.5 KB) for a floor, temp_ext and adaptive_p, 1 for top_k up to 1,024,
              and 4 to 6 (mostly 10 KB, at most 32 KiB) for top_p, a longer top_k, typical and a min_keep above 256. A
              prefix that ends among thousands of logits within a thousandth of a nat takes more. After a truncation
              that leaves so many tokens, each further sum or threshold takes 1 more round, and each further top_p 3.
              A draw may take 1 more round (its first eight attempts all fail once in 10^11 draws); logprobs take 2 more
              rounds and 7 bytes for each of n_top. If more than 256 tokens are left, samplers that need a list of all
              of them (tail_free, infill, top_k with ties, top_h, min_k, xtc with exempt tokens,
              samp_init_timestamps) send 7 bytes for each token, 2,048 tokens in a round. */
SAMP_API int samp_sample_sharded(samp_shard *shard, const samp_ranks *ranks, samp_sampler *const *rows,
                                 const samp_logits *slice, samp_token *out);

/* These functions do the same as samp_sample_sharded in steps, for callers that send messages themselves. Call
   samp_shard_begin; then, as long as samp_shard_message returns a message, replace the message in place by the merge of
   all ranks' messages (samp_shard_merge), and call samp_shard_take.
   samp_shard_begin -- begins a batch of up to 128 rows. If the arguments are wrong, the first message contains the
     error, so that all ranks get it. The arguments must live until the last message is taken. Returns SAMP_OK or
     SAMP_E_NULL (shard).
   samp_shard_message -- returns this rank's message of the next round, *n bytes, which the caller replaces in place. It
     returns NULL, and sets *n to 0, if the batch is done or dropped, or if no batch has begun. *n is the same on every
     rank.
   samp_shard_take -- reads the merged message. Returns SAMP_OK or the batch's status, as samp_sample_sharded.
   samp_shard_drop -- drops a running batch: each row that has no token yet gets the status, and its chain is as before
     the batch. */
SAMP_API int samp_shard_begin(samp_shard *shard, samp_sampler *const *rows, const samp_logits *slice,
                              samp_token *out);
/* Returns this rank's message of the next round, which the caller replaces in place by the merged message. */
SAMP_API void *samp_shard_message(samp_shard *shard, size_t *n);
/* Reads the merged message. */
SAMP_API int samp_shard_take(samp_shard *shard);
/* Drops a running batch. */
SAMP_API void samp_shard_drop(samp_shard *shard, int status);
