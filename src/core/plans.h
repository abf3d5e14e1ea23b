/* ---- plans ----
   A plan is a sampler's algorithm in terms of questions about a row of logits ("what is the maximum?") and changes of
   the row ("remove what is below this floor"). An executor runs plans: it is code that runs a chain in another way than
   step by step over an array. There are two, one for a vocabulary divided into slices on several machines (>>shards),
   one for a GPU. The plans are in the samplers' files, after #ifdef SAMPI_PLANS. samplers/plans.h lists these files. It
   is included once for each executor, with SAMPI_ON(name) as the executor's own name of everything that a plan calls:
   `sums` is sampi_shard_sums for slices and sampi_gpu_sums for a device. run/README.md describes each question that an
   executor must answer.

   A question returns one of three results: SAMPI_KNOWN with its answer; SAMPI_WAITS if the answer is not there yet (it
   takes a round of messages, or a pass over the row); or a status, which may be one that only the executor understands.
   If the result is not SAMPI_KNOWN, the plan returns it to the executor at once. After SAMPI_WAITS the executor calls
   the plan again, from its beginning. So a plan asks all its questions before it changes anything. A plan that asks
   again after a change counts its phases in sampi_memory; the phase is 0 when a sampler's turn begins. */

enum { SAMPI_WAITS = 0, SAMPI_KNOWN = 1 };

/* The variables that a plan keeps from one call to the next. */
typedef struct sampi_memory {
    int32_t phase;
    float max;
    double number;
    uint64_t count;
} sampi_memory;

/* The question that a plan will ask after the sums. An executor may fetch the answer together with the sums. */
typedef enum sampi_then {
    SAMPI_THEN_NOTHING, /* the plan asks nothing about other tokens */
    SAMPI_THEN_FIRST,   /* the plan asks for the first tokens in order */
    SAMPI_THEN_PREFIX,  /* for the end of a prefix in order of logits, with the share u.cut.p of the probability */
    SAMPI_THEN_FLOOR    /* for a floor that keeps at least u.cut.min_keep tokens */
} sampi_then;

/* What a cut shows of the candidates that it keeps: their order, their p, or both. Only executors that return an array
   use these flags. */
enum { SAMPI_SHOWS_ORDER = 1, SAMPI_SHOWS_P = 2 };
