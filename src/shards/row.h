/* ---- shards: the records of a row and of a rank ----
   The record of one row: its slice of logits, which this rank alone has, and what all ranks know alike: known facts,
   one bit each (row->has), the list of first candidates, the search for the end of a prefix. Behind it stands
   samp_shard, which has all rows of a batch. */

/* A slice of a row, as SEGS tells it: where it begins, and its sums of envelopes and weights. */
typedef struct sampi_seg {
    uint32_t first;
    uint64_t q, z;
} sampi_seg;

/* Where the shortest prefix by (distance from the mean, logit, id) ends that has the mass `want` and min_keep tokens.
   At first the distances from 0 on are cut into buckets; that in which the end lies is cut into more, and so on: the
   path. In doubles, by functions that are monotone, so each rank puts a token into the same bucket as every other. */
typedef struct sampi_end {
    sampi_order order; /* a mean of 0: by logit */
    double from;       /* the first bucket has all distances up to here, */
    double scale;      /* and a unit of distance behind it so many buckets, at the first level */
    uint32_t path[SAMPI_SHARD_LEVELS], buckets[SAMPI_SHARD_LEVELS + 1];
    int level;
    bool is_whole; /* no distance is beyond the last bucket */
    bool is_after; /* runs up to `after` have been counted, at the last level */
    samp_token_data after;
    uint32_t since, until;                /* RUNS are of these buckets of the level, */
    size_t room;                          /* so many at most */
    size_t room_near;                     /* NEAR: so many at most, */
    double away;                          /* within this distance */
    unsigned later;                       /* to be asked, should a list of those expected not be enough */
    uint64_t want, mass;                  /* mass, count: of what comes before the bucket */
    uint64_t min_keep, count, population; /* the bucket's */
    float top;            /* the largest logit of what is kept, as far as that is known; typical only */
    samp_token_data last; /* found: the last one's logit; */
    uint64_t ties;        /* how many tokens with its logit are kept, of the row, */
    uint64_t mine;        /* and of the slice */
    double floor;         /* what reaches it is kept, too */
} sampi_end;

/* What log-probabilities are made of: the maximum and the sum of weights of a distribution, the token's logit, and how
   many come before it. */
typedef struct sampi_telling {
    float max, logit;
    uint64_t z, before;
    int32_t n_top;
} sampi_telling;

/* What is asked for and known of a row. All but the slice is the same on every rank. */
typedef struct sampi_shard_row {
    samp_shard *shard;
    sampi_sampler *s;
    sampi_row row; /* the slice: compact, or n = 0 */
    sampi_work work;
    sampi_ordinals ordinal;
    int at;              /* the member at work, */
    sampi_memory memory; /* and what its plan keeps */
    bool open;           /* its token is not known yet */
    int wrong;           /* the status that this rank has told of it */
    unsigned ask;        /* SAMPI_ASK_..., and what of it is known */
    unsigned has;        /* LIST: list and rest are of the candidates as they are */
    size_t n_asked;      /* LIST: entries */
    uint32_t rounds;
    float max;             /* of the row, if has TOP */
    samp_token_data *list; /* [n_list, room] the first candidates in order */
    size_t n_list, room;
    uint64_t rest;                 /* candidates behind the list */
    float least;                   /* of the candidates, if has LEAST */
    bool asks_least, asks_squares; /* a plan needs them, though nothing has told so before */
    float reaches;                 /* none of them lies below; -INFINITY: that is not known */
    sampi_sums sums;
    uint64_t sums_of_squares; /* p_less' */
    sampi_sums kept;          /* SUMS, asked ahead, of what an end that is looked for keeps; */
    uint64_t squares_kept;
    bool has_kept;
    uint64_t sigma;
    sampi_u128 squares;
    const sampi_parcel *hist, *runs, *near; /* of the message that is being taken, or NULL */
    sampi_end end;
    bool by_score;  /* the member at work cuts by the distance from a mean */
    bool seeks;     /* the end is being looked for */
    float ahead;    /* SEGS: of what reaches it, asked ahead of the cut that this is the floor of; else -INFINITY */
    sampi_seg *seg; /* [n_ranks] */
    size_t n_seg;
    bool adapts; /* the member at work draws from logits of its own, made with this aim */
    float aim;
    int drawer;              /* SEGS are of what this member draws from, */
    float draw_max;          /* whose maximum is this */
    uint64_t q, z;           /* sums over the segments */
    uint32_t attempt, drawn; /* the first proposal to make; the one that was accepted */
    samp_token_data token;   /* and its token, with the logit before adaptive_p; or the last that reached, */
    uint64_t reached;        /* of so many */
    samp_logprobs *logprobs; /* or NULL; how much of them is known, */
    int telling;
    bool has_left;         /* the processed ones by the array */
    samp_logprob_set left; /* which are these; */
    sampi_telling told[2]; /* raw, processed */
} sampi_shard_row;

struct samp_shard {
    size_t n_vocab, first, length;
    uint32_t n_ranks, round;
    bool is_sampling;
    samp_logits slice; /* of the batch, for raw log-probabilities, */
    size_t from;       /* and which of its rows is the group's first */
    float *raw_x;      /* [length] a row as it was given */
    int32_t *raw_id;
    int objection;        /* a merged message is not what this rank has said: a status for the next one's head */
    size_t n_rows, batch; /* batch: of all its groups */
    samp_token *out;
    sampi_shard_row *row;                      /* [rows] */
    sampi_sampler *member[SAMPI_MOST_MEMBERS]; /* [n_members] of the row at work */
    int n_members;
    bool ends_off;               /* behind the last of them stands one that is off */
    size_t rows, n_all;          /* how many the block is for, and how many of these have room to list all tokens, */
    samp_token_data *list, *all; /* [rows x SAMPI_SHARD_ROOM], [n_all x n_vocab] */
    sampi_work work;             /* shared: its block has all the arrays, its x and id are for a look at a row */
    unsigned char *message, *gathered; /* gathered: those of all ranks, where they come side by side; else NULL */
    unsigned char *firsts;             /* the same for first messages */
    size_t size;                       /* of the message under way; 0: there is none */
    unsigned char start[SAMPI_SHARD_HEAD + SAMPI_PARCEL_HEAD + 8 * SAMPI_SHARD_ROWS];
};

/* A sampler's flags; NULL has none. */
static unsigned sampi_flags_of(const sampi_sampler *s) { return s ? sampi_traits_of(s->kind)->flags : 0; }

/* The member so many places behind the one at work; NULL: there is none. */
static sampi_sampler *sampi_row_member(const sampi_shard_row *row, int ahead)
{
    return row->at + ahead < row->shard->n_members ? row->shard->member[row->at + ahead] : NULL;
}

/* What a plan may return beside SAMPI_KNOWN, SAMPI_WAITS and a status: there is a token. */
enum { SAMPI_ENDS = 2 };
