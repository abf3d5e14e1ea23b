/* ================================================================================================== >>shards
   A vocabulary in slices (SAMPLING_SHARDS): tensor parallelism leaves each rank with the logits of some tokens. Each
   rank gives its slice of every row and the same chains; out come, on all ranks, the token and the chains that one
   machine would have. This room says how, and has the kinds of parcels (what a message is made of).

   A row is known in two ways. Its slice is a compact row (rows/row.h), which the rank alone has; samplers that change
   or cut logits do it there. What decides is known to all ranks alike: the maximum, exact sums, the first candidates in
   order. Each sampler asks for what it lacks of that; the questions of all rows make up a round: every rank answers for
   its slice, the answers are merged, and all ranks go on with the same numbers to the same questions. As soon as all
   candidates that are left are listed, the row is an array, and the samplers above finish it on every rank.

     round 1   is of one size, whatever is asked: who takes part in what, each row's maximum, and its least logit where
               that will be wanted. Then
     LIST      the first candidates in order behind those that are listed, and how many there are in all behind
     SUMS      Z, S and n, relative to the maximum, and p_less' squares; SIGMA: those of top_n_sigma
     HIST      masses and counts by the distance from the maximum, or from typical's mean: where a prefix by mass or by
               number ends, more closely each time; then
     RUNS      the values there, each with how many tokens of which slice have it: the end itself, and who keeps how
               many of those that tie. Sent with SEGS of all that lies before, if the draw is next; and beside a second
               HIST, of the values near the place where the first one lets expect the end
     NEAR      the first ones by the distance from typical's mean, where few are left, but not the first of LIST
     SEGS      each slice's sums of envelopes and weights: where in the row a proposal falls
     DRAW      the first of eight proposals that is accepted, from the rank on whose slice it falls
     REACH     xtc with a tiny threshold: how many reach it, and the last of them in order
     RACE      gumbel's winner; TOP: a maximum
     RAW, LEFT what log-probabilities are made of, of the logits as given and of what was left to draw from: the first
               in order and the token's logit; then RAW_SUMS, LEFT_SUMS: the mass, and how many come before the token

   Rounds are what costs, so a question is sent before it is sure to be needed where its answer is small: HIST beside
   the list that may do without it, SEGS or SUMS of what a cut will keep beside the list or the runs that may be all of
   that, RUNS before it is sure that the end is among them. Where HIST lets expect a thousand tokens at most, these are
   listed, and no draw is needed. What cannot be had earlier: a draw needs the sums of slices as they
   are cut (SEGS), a cut by mass those of the whole row (SUMS), and these the maximum: 4 rounds.

   A message is little-endian: u32 "SHRD", u32 format (4), u32 round, i32 status, u64 least and u64 largest of the
   checksums of what must be the same (chains, seeds, positions, version; later the questions), u64 and u64 the same for
   the shape (n_vocab, n_rows, n_ranks), u64 sum over slices of h(first) - h(end), which tells holes and overlaps, u32
   how many ranks, u32 how many parcels; then the parcels: u32 kind (from 1, as in SAMPI_PARCELS), u32 row, u32 room,
   u32 entries, the fields, the entries (ids and counts of 3 bytes are enough for any vocabulary), filled up with zeros
   to the room and to 8 bytes:

     TOP    entries f32 (round 1: 128 maxima, a NaN        SUMS   u64 n, Z, S, squares
            holding a row's status, 128 least negated)     SIGMA  u64 n, sum, u64 squares' upper and lower half
     LIST   u64 behind, f32 least (+infinity: not told),   SEGS   entries u24 first, u64 Q, u64 Z
            u32 0; entries u24 id, f32 logit               DRAW   u32 attempt, i32 id, f32 logit, u32 0
     HIST   entries u64 mass, u24 count                    REACH  u64 count, i32 id, f32 logit
     RUNS   f32 max, u32 0, f64 mean; entries u24 first,   RACE   u64 bits of the time, i32 id, f32 logit
            f32 logit, u24 count                           RAW    f32 logit, u32 0; entries as in LIST; LEFT too
     NEAR   the fields of RUNS, the entries of LIST        .._SUMS u64 Z, before

   How they merge: maxima, least ones and first ones by order; all sums are of integers that a rank makes with the
   row's own maximum, so they are those of the whole row, whoever adds them up; sorted entries as a merge sort does, cut
   to the room, which the first ones of all slices survive.

   The one thing to know: what depends on a merged message must depend on nothing else that a rank alone knows, or
   ranks ask different questions. Merged messages may be anything (an engine's bug): they are checked for what the
   arithmetic behind them needs, and rounds are counted. Where only one rank can see that they are wrong, it goes on
   asking what the others ask, and says so in its next message's head: none is left waiting. */

#define SAMPI_SHARD_MAGIC  0x44524853u /* "SHRD" */
#define SAMPI_SHARD_FORMAT 4
enum {
    SAMPI_SHARD_HEAD = 64,  /* bytes of a message's head, */
    SAMPI_PARCEL_HEAD = 16, /* and of a parcel's */
    SAMPI_SHARD_ROWS = 128,
    SAMPI_SHARD_RANKS = 1024,
    SAMPI_SHARD_LIST = 256,   /* most truncations keep fewer; */
    SAMPI_SHARD_ROOM = 1024,  /* so many a row has room for, where more are expected */
    SAMPI_SHARD_MOST = 302,   /* typical's list with the first question, if that is enough for 256, */
    SAMPI_SHARD_FIRST = 32,   /* else the list, */
    SAMPI_SHARD_NEAR = 304,   /* and NEAR for what may be 256: 4 KiB with all that was before */
    SAMPI_SHARD_CHUNK = 2048, /* entries at a time of what is longer: a list of all, runs */
    SAMPI_SHARD_TAIL = 4096,  /* tail_free is tried on so many */
    SAMPI_SHARD_COARSE = 64,  /* buckets: with the first question, for where they are refined, and for scores */
    SAMPI_SHARD_FINE = 256,
    SAMPI_SHARD_SCORES = 512,
    SAMPI_SHARD_FEW = 512,    /* tokens of the first buckets' that are listed at once as runs, */
    SAMPI_SHARD_AHEAD = 1024, /* and entries of runs where an end is only expected */
    SAMPI_SHARD_LEVELS = 5,
    SAMPI_SHARD_TRIES = 8 /* proposals in one message: 4 % of one are not accepted */
};
#define SAMPI_SHARD_RANGE 32.0 /* nats below the maximum, where weights are 0 for sure, */
#define SAMPI_SHARD_FAR   64.0 /* and where there are but logits that stand for a mask, such as -1e30 */

/* The table of parcels. In this order a row asks.
     id        SAMPI_PARCEL_<id>; SAMPI_ASK_<id>, of sets
     fields    their bytes, and those of an entry
     entries   where they stand: SAMPI_ENTRIES_..., below
     number    the place of a float in the fields that must be a number, and of a word that must be 0; -1: none
     merge     sampi_merge_... of the fields, or of entries in fixed places (shards/merging.h)
     name      sampi_answer_... (shards/answers.h, logprobs.h), sampi_take_... (shards/told.h, logprobs.h)
     room      of a row: for so many entries */
/* clang-format off */
#define SAMPI_PARCELS(X) \
    X(TOP, 0, 4, PLACED, -1, -1, tops, top, 1) \
    X(LIST, 16, 7, BY_LOGIT, 8, 12, list, list, row->n_asked) \
    X(SUMS, 32, 0, NONE, -1, -1, sums, sums, 0) \
    X(SIGMA, 32, 0, NONE, -1, -1, sigma, sigma, 0) \
    X(HIST, 0, 11, PLACED, -1, -1, hist, hist, row->end.buckets[row->end.level]) \
    X(RUNS, 16, 10, BY_MEAN, -1, -1, entries, runs, \
      row->end.scale == 0.0 ? row->shard->n_ranks : row->end.room) \
    X(NEAR, 16, 7, BY_MEAN, -1, -1, entries, near, row->end.room_near) \
    X(SEGS, 0, 19, BY_SLICE, -1, -1, entries, segs, row->shard->n_ranks) \
    X(DRAW, 16, 0, NONE, 8, -1, draw, draw, 0) \
    X(REACH, 16, 0, NONE, 12, -1, reach, reach, 0) \
    X(RACE, 16, 0, NONE, 12, -1, race, race, 0) \
    X(RAW, 8, 7, BY_LOGIT, 0, 4, told, told, sampi_told_room(&row->logprobs->raw)) \
    X(LEFT, 8, 7, BY_LOGIT, 0, 4, told, told, sampi_told_room(&row->logprobs->processed)) \
    X(RAW_SUMS, 16, 0, NONE, -1, -1, sums, told_sums, 0) \
    X(LEFT_SUMS, 16, 0, NONE, -1, -1, sums, told_sums, 0)
/* clang-format on */

/* Entries: none; each in its place, and as many as there is room for; else in order of slices, of logits, or of the
   distance from a mean, which the fields tell. */
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

/* A set of kinds. */
enum {
#define SAMPI_PARCEL_BIT(id, ...) SAMPI_ASK_##id = 1 << SAMPI_PARCEL_##id,
    SAMPI_PARCELS(SAMPI_PARCEL_BIT)
#undef SAMPI_PARCEL_BIT
        SAMPI_HAS_LEAST = 1 /* no parcel of its own tells it */
};

static const struct {
    uint8_t fields, entry, entries;
    int16_t number, zero;
} SAMPI_PARCEL_FACTS[SAMPI_N_PARCELS] = { { 0, 0, SAMPI_ENTRIES_NONE, 0, 0 },
#define SAMPI_PARCEL_FACT(id, fields, entry, entries, number, zero, merge, name, room) \
    { fields, entry, SAMPI_ENTRIES_##entries, number, zero },
                                          SAMPI_PARCELS(SAMPI_PARCEL_FACT)
#undef SAMPI_PARCEL_FACT
};
