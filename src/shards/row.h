/* ---- shards: the records of a row and of a rank ----
   The record of one row: its slice of logits, which only this rank has, and the facts that all ranks share: one bit for
   each (row->has), the list of first candidates, the search for the end of a prefix. Then samp_shard, which has all
   rows of a batch. */

/* A slice in SEGS: its first id, and its sums of envelopes and weights. */
typedef struct sampi_seg {
    uint32_t first;
    uint64_t q, z;
} sampi_seg;

/* The search for the end of the shortest prefix by (distance from the mean, logit, id) with the mass `want` and
   min_keep tokens. At the first level all distances from 0 on are divided into buckets; at each next level the bucket
   that contains the end is divided. All numbers are doubles, computed by monotone functions, so every rank puts a token
   into the same bucket. */
typedef struct sampi_end {
    sampi_order order; /* mean 0: by logit */
    double from;       /* the first bucket has all distances up to here */
    double scale;      /* buckets of the first level in a unit of distance after it */
    uint32_t path[SAMPI_SHARD_LEVELS], buckets[SAMPI_SHARD_LEVELS + 1];
    int level;
    bool is_whole; /* no distance is beyond the last bucket */
    bool is_after; /* runs up to `after` have been counted, at the last level */
    samp_token_data after;
    uint32_t since, until;                /* RUNS asks for these buckets of the level */
    size_t room;                          /* RUNS: the largest number of entries */
    size_t room_near;                     /* NEAR: the largest number of entries */
    double away;                          /* NEAR: the largest distance */
    unsigned later;                       /* facts to ask if the list of the expected tokens is not enough */
    uint64_t want, mass;                  /* mass and count (below) are of the tokens before the bucket */
    uint64_t min_keep, count, population; /* population: the number of tokens in the bucket */
    float top;                            /* typical: the largest logit of the kept tokens, as far as known */
    samp_token_data last;                 /* when the end is found: the last kept token's logit */
    uint64_t ties;                        /* how many tokens with that logit the row keeps */
    uint64_t mine;                        /* and how many of them the slice keeps */
    double floor;                         /* tokens that reach it are kept too */
} sampi_end;

/* The numbers of log-probabilities: maximum and sum of weights of a distribution, the token's logit, and the number of
   tokens before it. */
typedef struct sampi_logprob_facts {
    float max, logit;
    uint64_t z, before;
    int32_t n_top;
} sampi_logprob_facts;

/* A row: its slice, and the asked and known facts. All members except the slice are the same on every rank. */
typedef struct sampi_shard_row {
    samp_shard *shard;
    sampi_sampler *s;
    sampi_row row; /* the slice: compact, or n = 0 */
    sampi_work work;
    sampi_ordinals ordinal;
    int at;              /* the present member */
    sampi_memory memory; /* the memory of its plan */
    bool open;           /* the row's token is not known yet */
    int wrong;           /* the status that this rank has sent for the row */
    unsigned ask;        /* SAMPI_ASK_...: facts that are asked */
    unsigned has;        /* facts that are known already; with LIST, `list` and `rest` are valid */
    size_t n_asked;      /* the number of entries that LIST asks for */
    uint32_t rounds;
    float max;             /* the row's maximum, if has TOP */
    samp_token_data *list; /* [n_list, room] the first candidates in order */
    size_t n_list, room;
    uint64_t rest;                 /* candidates after the list */
    float least;                   /* the candidates' least logit, if has LEAST */
    bool asks_least, asks_squares; /* a plan needs these, which was not foreseen */
    float reaches;                 /* no candidate's logit is below this; -INFINITY: unknown */
    sampi_sums sums;
    uint64_t sums_of_squares; /* for p_less */
    sampi_sums kept;          /* SUMS of the tokens that a searched end certainly keeps */
    uint64_t squares_kept;
    bool has_kept;
    uint64_t sigma;
    sampi_u128 squares;
    const sampi_parcel *hist, *runs, *near; /* in the message that is read now, or NULL */
    sampi_end end;
    bool by_score;  /* the present member cuts by the distance from a mean */
    bool seeks;     /* an end is searched */
    float ahead;    /* SEGS asked ahead of a cut: the cut's floor; else -INFINITY */
    sampi_seg *seg; /* [n_ranks] */
    size_t n_seg;
    bool adapts; /* the present member draws from logits of its own, made with `aim` */
    float aim;
    int drawer;              /* SEGS are of the logits from which this member draws */
    float draw_max;          /* their maximum */
    uint64_t q, z;           /* sums over the segments */
    uint32_t attempt, drawn; /* the first proposal to make; the accepted one */
    samp_token_data token;   /* the token, with the logit before adaptive_p; or REACH's last token */
    uint64_t reached;        /* REACH: the number of tokens */
    samp_logprobs *logprobs; /* or NULL */
    int telling;
    bool has_left;                /* `left` is already known, from the array */
    samp_logprob_set left;        /* the processed log-probabilities */
    sampi_logprob_facts facts[2]; /* raw, processed */
} sampi_shard_row;

struct samp_shard {
    size_t n_vocab, first, length;
    uint32_t n_ranks, round;
    bool is_sampling;
    samp_logits slice; /* the batch, for raw log-probabilities */
    size_t from;       /* the index of the group's first row in it */
    float *raw_x;      /* [length] a row as given */
    int32_t *raw_id;
    int objection;        /* a merged message contradicts this rank's own: a status for the next head */
    size_t n_rows, batch; /* batch: rows of all groups */
    samp_token *out;
    sampi_shard_row *row;                      /* [rows] */
    sampi_sampler *member[SAMPI_MOST_MEMBERS]; /* [n_members] of the present row */
    int n_members;
    bool ends_off;                     /* a member that is off follows the last of them */
    size_t rows, n_all;                /* rows of the block, and how many of them have memory to list all tokens */
    samp_token_data *list, *all;       /* [rows x SAMPI_SHARD_ROOM], [n_all x n_vocab] */
    sampi_work work;                   /* shared: its block has all arrays; x and id are for collected tokens */
    unsigned char *message, *gathered; /* gathered: those of all ranks side by side, or NULL */
    unsigned char *firsts;             /* the same for first messages */
    size_t size;                       /* the size of the present message; 0: there is none */
    unsigned char start[SAMPI_SHARD_HEAD + SAMPI_PARCEL_HEAD + 8 * SAMPI_SHARD_ROWS];
};

/* Returns a sampler's flags; 0 for NULL. */
static unsigned sampi_flags_of(const sampi_sampler *s) { return s ? sampi_traits_of(s->kind)->flags : 0; }

/* Returns the member `ahead` positions after the present one; NULL: there is none. */
static sampi_sampler *sampi_row_member(const sampi_shard_row *row, int ahead)
{
    return row->at + ahead < row->shard->n_members ? row->shard->member[row->at + ahead] : NULL;
}

/* A plan may also return this: the row has its token. */
enum { SAMPI_ENDS = 2 };
