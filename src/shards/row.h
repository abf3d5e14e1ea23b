/* ---- shards: the records of a row and of a rank ----
   The struct of one row has its slice of logits, which only this rank has, and the facts that all ranks share: one bit
   for each known fact (row->has), the list of first candidates, the search for the end of a prefix. The struct
   samp_shard has all rows of a batch. */

/* The entry of a slice in SEGS: its first token id, and its sums of envelopes and of weights. */
typedef struct sampi_seg {
    uint32_t first;
    uint64_t q, z;
} sampi_seg;

/* The state of the search for the end of the shortest prefix with the mass `want` and min_keep tokens; its order is by
   (distance from the mean, logit, id). At the first level all distances from 0 on are divided into buckets; at each
   next level the bucket that contains the end is divided. All numbers are doubles, computed by monotone functions, so
   every rank puts a token into the same bucket. */
typedef struct sampi_end {
    sampi_order order; /* if its mean is 0, the order is by logit */
    double scale;      /* the number of buckets of the first level in a unit of distance */
    uint32_t path[SAMPI_SHARD_LEVELS], buckets[SAMPI_SHARD_LEVELS + 1];
    int level;
    bool is_whole; /* no distance is beyond the last bucket */
    bool is_after; /* the runs up to `after` have been counted, at the last level */
    samp_token_data after;
    size_t room;                          /* the largest number of entries of RUNS */
    uint64_t want, mass;                  /* mass and count (below) are those of the tokens before the bucket */
    uint64_t min_keep, count, population; /* population: the number of tokens in the bucket */
    samp_token_data last; /* when the end is found, a token with the logit of the last kept token */
    uint64_t ties;        /* the number of tokens with that logit that the row keeps */
    uint64_t mine;        /* how many of these tokens the slice keeps */
    double floor;         /* tokens with a logit of at least this are kept too */
} sampi_end;

/* The numbers from which log-probabilities follow: the maximum and the sums of a distribution, the token's logit, and
   the number of tokens before it; how many tokens have weight, and the support's mass in the distribution. */
typedef struct sampi_logprob_facts {
    float max, logit;
    uint64_t z, before, s, n, mass;
    int32_t n_top;
} sampi_logprob_facts;

/* A row: its slice, and the facts that are asked for or known. All members except the slice are the same on every
   rank. */
typedef struct sampi_shard_row {
    samp_shard *shard;
    sampi_sampler *s;
    sampi_row row; /* the slice: a row with ids, or empty (n = 0) */
    sampi_work work;
    sampi_ordinals ordinal;
    int at;              /* the index of the present member of the chain */
    sampi_memory memory; /* the variables of the present member's plan */
    bool open;           /* the row's token is not known yet */
    int wrong;           /* the status that this rank has sent for the row */
    unsigned ask;        /* the facts that are asked for: SAMPI_ASK_... */
    unsigned has;        /* the facts that are known already; with LIST, `list` and `rest` are valid */
    size_t n_asked;      /* the number of entries that LIST asks for */
    uint32_t rounds;
    float max;             /* the row's maximum, if TOP is known */
    samp_token_data *list; /* [n_list, room] the first candidates in order */
    size_t n_list, room;
    uint64_t rest;                 /* the number of candidates after the list */
    float least;                   /* the smallest logit of the candidates, if LEAST is known */
    bool asks_least, asks_squares; /* a plan needs these, although the need was not foreseen */
    float reaches;                 /* no candidate's logit is below this; -INFINITY if unknown */
    sampi_sums sums;
    uint64_t sums_of_squares; /* for p_less */
    uint64_t sigma;
    sampi_u128 squares;
    const sampi_parcel *hist, *runs; /* parcels in the message that is being read, or NULL */
    sampi_end end;
    bool seeks;     /* the end of a prefix is being searched for */
    sampi_seg *seg; /* [n_ranks] the sums of each slice */
    size_t n_seg;
    bool adapts; /* the present member (adaptive_p) draws from logits that it makes, with `aim` */
    float aim;
    float draw_max;          /* the maximum of the logits from which SEGS is computed */
    uint64_t q, z;           /* the sums over all slices */
    uint32_t attempt, drawn; /* the first proposal of the draw to make, and the accepted one */
    samp_token_data token;   /* the token, with its logit before adaptive_p; or the last token of REACH */
    uint64_t reached;        /* the number of tokens of REACH */
    samp_logprobs *logprobs; /* the request for log-probabilities, or NULL */
    int telling;
    bool has_left;                /* `left` is already known, from the array */
    samp_logprob_set left;        /* the processed log-probabilities */
    size_t n_told;                /* how many tokens of the support are known */
    sampi_logprob_facts facts[2]; /* [0] for the raw, [1] for the processed log-probabilities */
} sampi_shard_row;

struct samp_shard {
    size_t n_vocab, first, length;
    uint32_t n_ranks, round;
    bool is_sampling;
    samp_logits slice; /* the batch, for raw log-probabilities */
    size_t from;       /* the index of the group's first row in the batch */
    float *raw_x;      /* [length] the logits of a row as the caller gave them */
    int32_t *raw_id;
    /* the status for the head of the next message, if a merged message contradicts this rank's own */
    int objection;
    size_t n_rows, batch; /* n_rows: the rows of this group; batch: the rows of all groups */
    samp_token *out;
    sampi_shard_row *row;                      /* [rows] */
    sampi_sampler *member[SAMPI_MOST_MEMBERS]; /* [n_members] the members of the chain of the present row */
    int n_members;
    bool ends_off; /* the chain's last member is off */
    /* the number of rows in the block of memory, and of those that have memory to list all tokens */
    size_t rows, n_all;
    samp_token_data *list, *all; /* [rows x SAMPI_SHARD_ROOM], [n_all x n_vocab] */
    /* a workspace that all rows share; its block has all arrays, and x and id are for collected tokens */
    sampi_work work;
    unsigned char *message, *gathered; /* gathered: the messages of all ranks side by side, or NULL */
    unsigned char *firsts;             /* the first messages of all ranks side by side, or NULL */
    size_t size;                       /* the size of the present message; 0 if there is none */
    unsigned char start[SAMPI_SHARD_HEAD + SAMPI_PARCEL_HEAD + 8 * SAMPI_SHARD_ROWS];
};

/* Returns the flags of a sampler's kind, or 0 for NULL. */
static unsigned sampi_flags_of(const sampi_sampler *s) { return s ? sampi_traits_of(s->kind)->flags : 0; }

/* Returns the member `ahead` positions after the present one, or NULL if there is none. */
static sampi_sampler *sampi_row_member(const sampi_shard_row *row, int ahead)
{
    return row->at + ahead < row->shard->n_members ? row->shard->member[row->at + ahead] : NULL;
}

/* A further result of a plan: the row has its token. */
enum { SAMPI_ENDS = 2 };
