/* ---- plans ----
   A plan says what a sampler asks of a row of logits and what it does to it, in the words of an executor: whoever runs
   a chain some other way than step by step over an array. Rooms of samplers/ hold their plans behind
   #ifdef SAMPI_PLANS. samplers/plans.h is the list of these rooms; it is included once for each executor, with
   SAMPI_ON(name), the executor's own name for everything a plan calls: `sums` is sampi_shard_sums for slices and
   sampi_gpu_sums for a device. run/README.md has the executor's duties, question by question.

   A question returns SAMPI_KNOWN and its answer; SAMPI_WAITS if that is not there yet (a round of messages, a pass over
   the row): then the plan returns that too, and is entered again from its start; or anything else, which the plan
   hands on: a status, or what the executor alone understands. So a plan asks for all it needs before it changes
   anything. One that goes on asking behind a change counts its phases in the executor's memory; phase is 0 when a
   sampler's turn begins. */

enum { SAMPI_WAITS = 0, SAMPI_KNOWN = 1 };

/* What a plan keeps from one entry to the next. */
typedef struct sampi_memory {
    int32_t phase;
    float max;
    double number;
    uint64_t count;
} sampi_memory;

/* What comes behind sums: an executor may fetch it along. */
typedef enum sampi_then {
    SAMPI_THEN_NOTHING, /* nothing that depends on other tokens */
    SAMPI_THEN_FIRST,   /* the first tokens in order */
    SAMPI_THEN_PREFIX,  /* the end of a prefix by logit, with the share u.cut.p of the mass */
    SAMPI_THEN_SCORES,  /* the same by typical's score */
    SAMPI_THEN_FLOOR    /* a floor, with u.cut.min_keep tokens at least */
} sampi_then;

/* What a cut leaves in the array of candidates; of interest to an executor that shows an array. */
enum { SAMPI_SHOWS_ORDER = 1, SAMPI_SHOWS_P = 2 };
