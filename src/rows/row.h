/* ==================================================================================================== >>fast
   From logits to the token without an array. The row stays in the caller's memory as long as possible ("dense"). The
   first sampler that leaves few tokens copies them, ids ascending, to the workspace ("compact"), and the next samplers
   work on the copy. Where a sampler has no function for rows, the row becomes an array, and the chain goes on step by
   step.

   The result is always that of the steps. Thresholds come from the same integers and doubles. If a sum over the whole
   row is needed, sweep estimates it. The estimate decides only if both ends of its error bound give the same answer;
   otherwise the exact sum is computed. Under MT19937 samplers work on the dense row only, and the tokens that are left
   become an array for >>llama: see "in llama.cpp's arithmetic" below.

   THE LIFE OF A ROW. It goes down this list, and back only by a copy of its record:

     dense     as it was given, in its dtype and with its mask; a token's id is its index       sampi_open_row
               - or a copy of its logits in the workspace ("own")                               sampi_flatten
               - a few elements have other values, kept aside ("changes")                       sampi_set_element
               - logits are elements times r                                                    sampi_scale_row
               - elements below a floor count as masked                                         sampi_raise_floor
     compact   x [n] and id [n], the tokens left: no masked ones, no changes, r = 1, no floor   sampi_gather
               - fewer tokens, in place, by ascending id: sampi_gather, sampi_cut_at
               - other logits, in place                                                         sampi_set_element
     array     samp_token_data [n], for the steps                                               sampi_row_array

   Gathering does not change the dense row. So a sampler may try with a copy of the record ("head", "best", "before"),
   and go back to the row itself if the copy was not enough. From a compact row there is no way back.

   SHAPES. No other combination of the record's members is legal. (x has other memory only in rows that a function makes
   for itself, in slices, and after adaptive_p, whose logits only a view reads then.)

     shape          id     x                           r     floor   n_change   is_own   array
     dense          NULL   data, or NULL: see dtype    any   any     any        no       NULL
     dense, own     NULL   work->own                   any   any     any        yes      either
     view           NULL   work->own, or NULL          any   any     any        no       the array
     compact        set    work->x                     1     none    0          no       either, as before

   What a function expects, and what it leaves; in llama.cpp's arithmetic rows are never left compact (but copies are):

     sampi_open_row, sampi_open_view                -> dense, r = 1; a view
     sampi_flatten          dense                   -> dense, own, r = 1, no floor, no changes
     sampi_begin_patch      no floor                -> compact, or dense with r = 1 and room for the changes
     sampi_set_element      sampi_has_room          -> the same; top is right again after sampi_end_changes
     sampi_scale_row        any                     -> dense with r, or compact
     sampi_raise_floor      dense                   -> dense with a floor, or compact
     sampi_gather           any with such a token   -> compact; so do sampi_gather_first, _keep_first, _compact
     sampi_cut_at           compact                 -> compact
     sampi_range_of         any                     -> dense and long, or compact
     sampi_next_piece, sampi_row_array: any, and the row stays; a fast function: any, but see below for a floor

   One function gathers where no such token may be left: sampi_end_changes, which says so (SAMP_E_EMPTY).

   INVARIANTS. The row is scanned once, when it is opened, and every function here may rely on this and leaves it so:
     - no NaN, no +infinity, and at least one token is not masked;
     - top is the largest element of a compact row, and of a dense one but for its changes (sampi_row_max counts them);
     - line holds the maxima of the dense row's lines, without its changes, until the draw ends.
   A fast function may return SAMPI_DECLINED: then the row has the same logits as before, and the chain goes on step by
   step. Only samplers with the flag SAMPI_TAKES_FLOOR get a dense row with a floor; others get it compact.

   THE WORKSPACE. One block (sampi_reserve), which belongs to one draw at a time. Arrays marked with * stay valid after
   the function that wrote them; the others are free for the next function.

     line     * maxima of the dense row's lines
     change   * changed elements of the dense row, by id
     x, id    * the compact row. While the row is dense: tokens that top_p reads, and copies that are tried
     w          12 bytes a token:
                  sampi_gather      the lines that it collects from
                  top_p, xtc        weights of the compact row, or of the tokens read
                  typical           weights, scores and indices (sampi_scored), then the tokens that tie
                  tail_free         keys to sort, then weights; the sorted logits behind them
                  adaptive_p        the logits that it draws from
     candidate * the array that the row has become
     logits   * under MT19937 e^(l - max), and buckets of logits
     own      * a copy of an array's logits (>>apply), or of a dense row's (sampi_flatten)
     scratch    folded line maxima (sampi_row_bound); a compact row's line maxima, which are not used
     sum        dist's sums of tiles */

/* The input of a draw. */
typedef struct sampi_job {
    sampi_sampler *s;
    sampi_work *work;
    const void *data; /* [n] */
    samp_dtype dtype;
    const uint32_t *mask;
    size_t n;
    samp_logprobs *logprobs; /* or NULL */
    bool accept;
} sampi_job;

#ifndef SAMP_NO_MT19937
/* The members of a row that only llama.cpp's arithmetic uses; all are 0 in the canonical one. */
typedef struct sampi_row_llama {
    bool divided;  /* the logits are x / r */
    bool by_order; /* dense; its array must be in order and without masked tokens */
    double (*expf)(const float *x, size_t n, float t, float max, float *e); /* a kernel, or libm's own; else NULL */
    double sum;                /* for an array: p is work->logits / sum; 0: p is unchanged */
    samp_token_data_array cur; /* the candidates, once the row has become an array */
} sampi_row_llama;
#endif

struct sampi_row {
    const sampi_kernels *k;
    sampi_work *work;
    samp_perf_data *perf;
    const float *x;       /* [n] the logits are x * r; NULL for a dense row of another dtype, or with a mask */
    const void *data;     /* [n] the caller's elements, if x is NULL */
    const uint32_t *mask; /* their mask, or NULL */
    samp_dtype dtype;     /* their dtype */
    const int32_t *id;    /* [n] the ids of a compact row; NULL: dense, id = index */
    const samp_token_data_array *array; /* view: the array with these logits; an "id" is an index in it; or NULL */
    size_t n;
    float r;          /* 1 in a compact row */
    bool is_own;      /* dense, and x are the workspace's logits, which may be changed in place */
    float top;        /* the maximum of x, without changes */
    bool sorts;       /* the present function has kept tokens for min_keep, for which the steps sort */
    float floor;      /* dense only: elements below it count as masked; -FLT_MAX: no floor */
    size_t n_change;  /* dense only: how many elements have another value, kept by id */
    samp_token token; /* the selected token */
#ifndef SAMP_NO_MT19937
    sampi_row_llama llama;
#endif
};

#ifndef SAMP_NO_MT19937
static bool sampi_is_divided(const sampi_row *row) { return row->llama.divided; }
static bool sampi_is_llama_row(const sampi_row *row) { return row->llama.expf != NULL; }
static double sampi_sum_for_p(const sampi_row *row) { return row->llama.sum; }
#endif

#define SAMPI_DECLINED 1 /* a fast function declines: the chain goes on step by step */

/* A row with more changes than this is copied (sampi_flatten). A few hundred are usual. Each change is inserted in
   order, and each makes a bound one token looser. */
#define SAMPI_CHANGES 1024

/* Rows up to this length are copied and summed exactly, which costs hardly more than an estimate. */
#define SAMPI_SMALL 4096

/* ---- elements and logits ---- */

static int32_t sampi_middle(int32_t lo, int32_t hi) { return (int32_t)(((int64_t)lo + hi) >> 1); }

static float sampi_next_up(float x) { return sampi_unkey(sampi_key(x) + 1); }
static float sampi_next_down(float x) { return sampi_unkey(sampi_key(x) - 1); }

/* Returns the smallest float that is at least t. */
static float sampi_float_up(double t)
{
    if (t <= -(double)FLT_MAX) return -FLT_MAX;
    float f = (float)t;
    return (double)f < t ? sampi_next_up(f) : f;
}

static bool sampi_is_compact(const sampi_row *row) { return row->id != NULL; }

static float sampi_scaled(const sampi_row *row, float x) { return sampi_is_divided(row) ? x / row->r : x * row->r; }

static float sampi_logit_of(const sampi_row *row, float x)
{
    return sampi_masked(x) ? x : sampi_finite(sampi_scaled(row, x));
}

typedef struct {
    const sampi_row *row;
    float l;
} sampi_bound;

static bool sampi_logit_reaches(const void *what, float x)
{
    const sampi_bound *of = (const sampi_bound *)what;
    return sampi_scaled(of->row, x) >= of->l;
}

/* Returns the smallest element whose logit is at least l. Thresholds are on logits, but kernels compare elements. The
   rounded product never falls as the element grows, so both thresholds give the same tokens. The quotient l / r is not
   enough, because it may be an ulp or two off. (A divided row has quotients for products.) */
static SAMPI_CALLED float sampi_unscale(const sampi_row *row, float l)
{
    const float r = row->r;
    const sampi_bound of = { row, l };
    if (r == 1.0f || l <= -FLT_MAX) return l;
    return sampi_least(sampi_logit_reaches, &of, sampi_finite(sampi_is_divided(row) ? l * r : l / r));
}

/* ---- opening a row ---- */

/* Returns the status of a row by its maximum: NaN or +infinity, all masked, or valid. */
static int sampi_max_status(float top)
{
    if (!(top <= FLT_MAX)) return SAMP_E_NAN;
    return top >= -FLT_MAX ? SAMP_OK : SAMP_E_EMPTY;
}

/* Returns the number of tiles; the last may be shorter, but maxima writes all of its lines. */
static size_t sampi_n_tiles(size_t n) { return (n + SAMPI_TILE - 1) / SAMPI_TILE; }
static size_t sampi_n_lines(size_t n) { return SAMPI_TILE / SAMPI_LINE * sampi_n_tiles(n); }

/* Computes top, and a dense row's line maxima. Returns the row's status. */
static int sampi_scan(sampi_row *row)
{
    float *line = sampi_is_compact(row) ? row->work->scratch : row->work->line;
    row->top = row->n ? row->k->maxima(row->data, row->dtype, row->mask, row->n, line) : -INFINITY;
    return sampi_max_status(row->top);
}

/* Makes a dense row of the job's logits, and scans it. */
static int sampi_open_row(sampi_row *row, const sampi_job *job)
{
    memset(row, 0, sizeof *row);
    row->k = sampi_use();
    row->work = job->work;
    row->perf = &job->s->perf;
    row->x = job->dtype == SAMP_F32 && !job->mask ? (const float *)job->data : NULL;
    row->data = job->data;
    row->mask = job->mask;
    row->dtype = job->dtype;
    row->n = job->n;
    row->r = 1.0f;
    row->floor = -FLT_MAX;
    row->token = -1;
    return sampi_scan(row);
}

/* Makes the row consist of these logits: compact, or dense if id is NULL. The caller sets top. */
static SAMPI_CALLED void sampi_set_tokens(sampi_row *row, const float *x, const int32_t *id, size_t n)
{
    row->x = x;
    row->data = x;
    row->mask = NULL;
    row->dtype = SAMP_F32;
    row->id = id;
    row->n = n;
    row->r = 1.0f;
#ifndef SAMP_NO_MT19937
    row->llama.divided = false;
#endif
    row->is_own = false;
    row->floor = -FLT_MAX;
    row->n_change = 0;
}

/* Element i of a row, without changes. */
static float sampi_element_at(const sampi_row *row, size_t i)
{
    return row->x ? row->x[i] : sampi_element(row->data, row->dtype, row->mask, i);
}

static samp_token sampi_id_at(const sampi_row *row, size_t i) { return row->id ? row->id[i] : (samp_token)i; }

/* Returns the index of a token; row->n if it is not in the row. */
static size_t sampi_find_id(const sampi_row *row, samp_token id)
{
    if (!sampi_is_compact(row)) return (size_t)id < row->n ? (size_t)id : row->n;
    size_t i = sampi_find_token(row->id, sizeof *row->id, row->n, id);
    return i < row->n && row->id[i] == id ? i : row->n;
}

/* ---- changes ---- */

/* Returns the index at which this token's change is, or would be inserted. */
static size_t sampi_change_at(const sampi_row *row, samp_token id)
{
    if (row->n_change == 0 || row->work->change[row->n_change - 1].id < id)
        return row->n_change; /* the usual case: tokens come in order */
    return sampi_find_token(row->work->change, sizeof(sampi_change), row->n_change, id);
}

/* Element i with its change. -0 becomes +0, as it does in the steps; in a view it stays. */
static float sampi_present(const sampi_row *row, size_t i)
{
    if (sampi_is_compact(row)) return row->x[i];
    const sampi_change *change = row->work->change;
    size_t c = sampi_change_at(row, (samp_token)i);
    if (c < row->n_change && change[c].id == (samp_token)i) return change[c].x;
    float x = sampi_element_at(row, i);
    return row->array ? x : x + 0.0f;
}

/* Adds a change to a dense row. Most changes come in order of ids, so that none has to move. */
static void sampi_add_change(sampi_row *row, samp_token id, float x)
{
    sampi_change *change = row->work->change;
    size_t i = row->n_change;
    while (i > 0 && change[i - 1].id >= id) i--;
    if (i == row->n_change || change[i].id != id) {
        memmove(&change[i + 1], &change[i], (row->n_change - i) * sizeof *change);
        change[i].id = id;
        row->n_change++;
    }
    change[i].x = x;
}

/* Can n more elements be changed in this row? */
static bool sampi_has_room(const sampi_row *row, size_t n)
{
    return sampi_is_compact(row) || row->is_own || row->n_change + n <= SAMPI_CHANGES;
}

/* Gives element i (sampi_find_id) another value: beside a dense row, whose data is the caller's, or in a compact one.
   The caller has checked sampi_has_room. After the last change sampi_end_changes must follow: until then a compact
   row's top and masked tokens are not right. */
static void sampi_set_element(sampi_row *row, size_t i, float x)
{
    if (sampi_is_compact(row))
        row->work->x[i] = x;
    else if (row->is_own)
        row->work->own[i] = x;
    else
        sampi_add_change(row, (samp_token)i, x);
}
