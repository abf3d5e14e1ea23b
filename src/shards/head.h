/* ================================================================================================== >>shards
   Sampling with a vocabulary in slices (SAMPLING_SHARDS): tensor parallelism leaves each rank with the logits of some
   tokens. Each rank has its slice of every row, and the same chains; all ranks get the token and the state of the
   chains that one machine would have. This comment explains how; the code below has the kinds of parcels, which are the
   records of a message.

   A rank knows two things about a row. Its slice, ids and logits, is known to no other rank; samplers change and cut
   logits in it. The facts that decide are known to all ranks: the maximum, exact sums, the first candidates in order.
   Each sampler asks for the facts that it needs and that are not known. The questions of all rows are asked in one
   round of messages: every rank answers for its slice, the answers are merged, and all ranks continue with the same
   numbers and the same next questions. As soon as all remaining candidates are listed, the row becomes an array of
   candidates, and every rank applies the other samplers to that array. The questions are these:

     round 1:  has one size, whatever is asked: the shape of the batch, each row's maximum, and its smallest logit if
               that will be needed.
     LIST:     the first candidates in order after the listed ones, and the number of all candidates after these.
     SUMS:     the sums Z, S and n, relative to the maximum, and the squares for p_less; SIGMA: the sums of top_n_sigma.
     HIST:     masses and counts by the distance from the maximum, or from typical's mean. They show
               where a prefix by mass or by number ends, more closely each time.
     RUNS:     the values (logits) there, each with the number of tokens of each slice that have it. They show the end
               itself, and how many of the equal tokens at the end each slice keeps.
     SEGS:     each slice's sums of envelopes and weights: on which slice a proposal falls.
     DRAW:     the first of eight proposals that is accepted, from the rank on whose slice it falls.
     REACH:    xtc with a tiny threshold: how many tokens have at least that probability, and the last of them in order.
     RACE:     the token that gumbel selects.
     TOP:      the maximum of the logits from which adaptive_p draws.
     RAW, LEFT: the numbers of log-probabilities, for the logits as given and for the distribution of the draw: the
               first tokens in order, and the chosen token's logit; then RAW_SUMS, LEFT_SUMS: the sums, how many
               tokens come before the chosen one, how many have weight, and the support's mass; with RAW_IDS,
               LEFT_IDS: the logits of given tokens. At last SUPPORT: the support's tokens, by id.

   Rounds are expensive, so HIST is sent with a list that may be enough. A cut by mass and a draw take at least 5 rounds
   if the list is not enough: the draw needs the sums of the slices after the cut (SEGS), the cut those of the whole row
   (SUMS), and these sums need the maximum.

   A message is little-endian: u32 "SHRD", u32 format (5), u32 round, i32 status, u64 least and u64 largest of the
   checksums of what must be equal (chains, seeds, positions, version; later the questions), u64 least and u64 largest
   of the checksums of the shape (n_vocab, n_rows, n_ranks), u64 sum over slices of h(first) - h(end), which reveals
   gaps and overlaps, u32 number of ranks, u32 number of parcels; then the parcels: u32 kind (from 1, as in
   SAMPI_PARCELS), u32 row, u32 room, u32 entries, the fields, the entries (ids and counts of 3 bytes are enough for any
   vocabulary), filled up with zeros to the room and to 8 bytes:

     TOP    entries f32 (round 1: 128 maxima, a NaN        SUMS   u64 n, Z, S, squares
            holding a row's status, 128 least negated)     SIGMA  u64 n, sum, u64 squares' upper and lower half
     LIST   u64 behind, f32 least (+infinity: not sent),   SEGS   entries u24 first, u64 Q, u64 Z
            u32 0; entries u24 id, f32 logit               DRAW   u32 attempt, i32 id, f32 logit, u32 0
     HIST   entries u64 mass, u24 count                    REACH  u64 count, i32 id, f32 logit
     RUNS   f32 max, u32 0, f64 mean; entries u24 first,   RACE   u64 bits of the time, i32 id, f32 logit
            f32 logit, u24 count                           RAW    f32 logit, u32 0; entries as in LIST; LEFT too
     .._IDS entries f32                                    .._SUMS u64 Z, before, S, n, mass
     SUPPORT entries u24 id, f32 logit

   Parcels are merged in one of three ways. Of maxima, minima and first tokens, the first in order is kept. Sums are
   added; they are sums of integers that each rank computes relative to the row's maximum, so in any order they add up
   to those of the whole row. Sorted entries are merged as in a merge sort, and cut to the parcel's size, which keeps
   the first entries of all slices.

   Code that depends on a merged message must depend on nothing else that only this rank knows, or ranks ask different
   questions. Merged messages are not trusted (an engine may have a bug): the properties that later arithmetic needs are
   checked, and rounds are counted. If only one rank can see that a message is wrong, it keeps asking what the others
   ask, and reports the error in the head of its next message, so that no rank is left waiting. */

#define SAMPI_SHARD_MAGIC  0x44524853u /* "SHRD" */
#define SAMPI_SHARD_FORMAT 5
enum {
    SAMPI_SHARD_HEAD = 64,  /* bytes of a message's head */
    SAMPI_PARCEL_HEAD = 16, /* bytes of a parcel's head */
    SAMPI_SHARD_ROWS = 128,
    SAMPI_SHARD_RANKS = 1024,
    SAMPI_SHARD_LIST = 256,  /* the tokens of a LIST; most truncations keep fewer */
    SAMPI_SHARD_ROOM = 1024, /* the longest list of a row, if more tokens are expected */
    SAMPI_SHARD_CHUNK = 2048, /* the entries in a message of longer lists: of a list of all tokens, of runs */
    SAMPI_SHARD_TAIL = 4096,  /* the longest list for tail_free */
    /* the numbers of buckets: COARSE in the first question, FINE in refinements, SCORES by typical's score */
    SAMPI_SHARD_COARSE = 64,
    SAMPI_SHARD_FINE = 256,
    SAMPI_SHARD_SCORES = 512,
    SAMPI_SHARD_LEVELS = 5,
    SAMPI_SHARD_TRIES = 8 /* proposals of a draw in one message; each is rejected with a probability of 4 % */
};
#define SAMPI_SHARD_RANGE 32.0 /* the distance in nats below the maximum at which weights are certainly 0 */
#define SAMPI_SHARD_FAR   64.0 /* the distance in nats beyond which logits are only masks, such as -1e30 */

/* The table of the kinds of parcels, in the order in which a row asks. Each line has:
     id:       the kind is SAMPI_PARCEL_<id>; in sets of facts SAMPI_ASK_<id>.
     fields:   the bytes of the fields, and of an entry.
     entries:  how entries are ordered: SAMPI_ENTRIES_..., below.
     number:   the offset of a float in the fields that must be a number, and of a word that must be 0, or -1.
     items:    how the fields are merged, or the entries in fixed places: u and c are numbers of 8 and 3 bytes and w one
               of 16, upper half first, which are added; m is a float of which the maximum is kept, l the minimum; t is
               a token, the last in order; d a draw, the earliest; r a race's time and token, the shortest.
     name:     sampi_answer_... (shards/answers.h, logprobs.h), sampi_take_... (shards/taking.h, logprobs.h).
     room:     how many entries a row's parcel has memory for. */
/* clang-format off */
#define SAMPI_PARCELS(X) \
    X(TOP, 0, 4, PLACED, -1, -1, "m", top, 1) \
    X(LIST, 16, 7, BY_LOGIT, 8, 12, "ul", list, row->n_asked) \
    X(SUMS, 32, 0, NONE, -1, -1, "uuuu", sums, 0) \
    X(SIGMA, 32, 0, NONE, -1, -1, "uuw", sigma, 0) \
    X(HIST, 0, 11, PLACED, -1, -1, "uc", hist, row->end.buckets[row->end.level]) \
    X(RUNS, 16, 10, BY_MEAN, -1, -1, "", runs, \
      row->end.scale == 0.0 ? row->shard->n_ranks : row->end.room) \
    X(SEGS, 0, 19, BY_SLICE, -1, -1, "", segs, row->shard->n_ranks) \
    X(DRAW, 16, 0, NONE, 8, -1, "d", draw, 0) \
    X(REACH, 16, 0, NONE, 12, -1, "ut", reach, 0) \
    X(RACE, 16, 0, NONE, 12, -1, "r", race, 0) \
    X(RAW, 8, 7, BY_LOGIT, 0, 4, "m", best, sampi_best_room(&row->logprobs->raw)) \
    X(LEFT, 8, 7, BY_LOGIT, 0, 4, "m", best, sampi_best_room(&row->logprobs->processed)) \
    X(RAW_SUMS, 40, 0, NONE, -1, -1, "uuuuu", best_sums, 0) \
    X(LEFT_SUMS, 40, 0, NONE, -1, -1, "uuuuu", best_sums, 0) \
    X(RAW_IDS, 0, 4, PLACED, -1, -1, "m", given, (size_t)row->logprobs->raw.n_ids) \
    X(LEFT_IDS, 0, 4, PLACED, -1, -1, "m", given, (size_t)row->logprobs->processed.n_ids) \
    X(SUPPORT, 0, 7, BY_SLICE, -1, -1, "", support, sampi_support_room(row))
/* clang-format on */

/* How the entries of a parcel are ordered: there are none; in fixed places; by slice; by logit; by the distance from a
   mean, which is one of the parcel's fields. */
enum {
    SAMPI_ENTRIES_NONE,
    SAMPI_ENTRIES_PLACED,
    SAMPI_ENTRIES_BY_SLICE,
    SAMPI_ENTRIES_BY_LOGIT,
    SAMPI_ENTRIES_BY_MEAN
};

typedef enum sampi_parcel_kind {
    SAMPI_PARCEL_NONE = 0,
#define SAMPI_PARCEL_ID(id, ...) SAMPI_PARCEL_##id,
    SAMPI_PARCELS(SAMPI_PARCEL_ID)
#undef SAMPI_PARCEL_ID
        SAMPI_N_PARCELS
} sampi_parcel_kind;

/* Sets of facts, one bit for the fact in each kind of parcel. */
enum {
#define SAMPI_PARCEL_BIT(id, ...) SAMPI_ASK_##id = 1 << SAMPI_PARCEL_##id,
    SAMPI_PARCELS(SAMPI_PARCEL_BIT)
#undef SAMPI_PARCEL_BIT
        SAMPI_HAS_LEAST = 1 /* the smallest logit, which has no parcel of its own */
};

static const struct {
    uint8_t fields, entry, entries;
    int16_t number, zero;
    const char *items;
} SAMPI_PARCEL_FACTS[SAMPI_N_PARCELS] = { { 0, 0, SAMPI_ENTRIES_NONE, 0, 0, "" },
#define SAMPI_PARCEL_FACT(id, fields, entry, entries, number, zero, items, name, room) \
    { fields, entry, SAMPI_ENTRIES_##entries, number, zero, items },
                                          SAMPI_PARCELS(SAMPI_PARCEL_FACT)
#undef SAMPI_PARCEL_FACT
};
