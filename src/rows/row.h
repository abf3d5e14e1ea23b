/* ==================================================================================================== >>fast
   The fast path: from a row of logits to the token, without an array of candidates. The row stays in the caller's
   memory as long as possible; it is then called dense. The first sampler that leaves few tokens copies them, ids
   ascending, to the workspace. This copy is a compact row, and the next samplers work on it. If a sampler has no
   function for rows, the row becomes an array, and the chain continues step by step: the samplers' apply functions go
   over the array.

   The token is always the one that the steps would select, because thresholds come from the same integers and doubles.
   If a sampler needs a sum over the whole row, the kernel `sweep` estimates the sum. The estimate is used only if both
   ends of its error bound lead to the same tokens; otherwise the exact sum is computed. Under MT19937 the row becomes
   an array after the first top_k or min_p, or at once, and >>llama continues on the array.

   THE LIFE OF A ROW. A row takes the following shapes from top to bottom. It goes back only if a function has kept a
   copy of its record (sampi_row):

     dense     as it was given, in its dtype and with its mask; a token's id is its index       sampi_row_open_row
               - or a copy of its logits in the workspace ("own")                               sampi_row_flatten
               - a few elements have other values, kept aside ("changes")                       sampi_row_set_element
               - logits are elements times r                                                    sampi_row_scale_row
               - elements below a floor count as masked                                         sampi_row_raise_floor
     compact   x [n] and id [n]: remaining tokens, none masked; no changes, r = 1, no floor     sampi_row_gather
               - fewer tokens, in place, by ascending id: sampi_row_gather, sampi_row_cut_at
               - other logits, in place                                                         sampi_row_set_element
     array     samp_token_data [n], for the steps                                               sampi_row_array

   sampi_row_gather, which makes a row compact, does not change the memory of the dense row. So a sampler may gather few
   tokens with a copy of the record (variables called head, best or before), and return to the dense row if these tokens
   were not enough. A compact row cannot become dense again.

   SHAPES. The record's members have one of these combinations. (x points to other memory only in three cases: in rows
   that a function makes for its own use, in slices, and after adaptive_p, whose logits only a view reads.)

     shape          id     x points to                 r     floor   n_change   is_own   array
     dense          NULL   data, or NULL: see dtype    any   any     any        no       NULL
     dense, own     NULL   work->own                   any   any     any        yes      either
     view           NULL   work->own, or NULL          any   any     any        no       the array
     compact        set    work->x                     1     none    0          no       either, as before

   EXPECTED AND RESULTING SHAPES. The table shows which shape a function expects, and which shape it leaves:

     sampi_row_open_row, sampi_open_view                -> dense, r = 1; a view
     sampi_row_flatten          dense                   -> dense, own, r = 1, no floor, no changes
     sampi_row_begin_patch      no floor                -> compact, or dense with r = 1 and room for the changes
     sampi_row_set_element      sampi_row_has_room          -> the same; top is right again after sampi_row_end_changes
     sampi_row_scale_row        any                     -> dense with r, or compact
     sampi_row_raise_floor      dense                   -> dense with a floor, or compact
     sampi_row_gather           any with such a token   -> compact; so do sampi_row_gather_first, _keep_first, _compact
     sampi_row_cut_at           compact                 -> compact
     sampi_row_range_of         any                     -> dense and long, or compact
     sampi_row_next_piece, sampi_row_array: any, and the row stays; a fast function: any, but see below for a floor

   sampi_row_gather expects that at least one token reaches its floor. Only sampi_row_end_changes calls it without
   knowing that; if no token is left, it returns SAMP_E_EMPTY.

   INVARIANTS. sampi_row_open_row scans the row once. After that these statements hold before and after every function
     here: - no logit is NaN or +infinity, and at least one token is not masked;
     - top is the largest element of the row; the changes of a dense row are not counted (sampi_row_max counts them);
     - until the draw ends, `line` holds the maxima of the dense row's lines, without its changes.
   A fast function may return SAMPI_DECLINED. Then the row has the same logits as before, and the chain continues step
   by step. Only samplers with the flag SAMPI_TAKES_FLOOR get a dense row with a floor; for all others the row is made
   compact first.

   THE WORKSPACE is one block of memory (sampi_row_reserve), which belongs to one draw at a time. An array marked with *
   stays valid after the function that wrote it has returned; the others are free for the next function.

     line     * maxima of the dense row's lines
     change   * changed elements of the dense row, by id
     x, id    * the compact row. While the row is dense: the tokens that top_p reads, or a compact copy for a trial
     w          12 bytes a token; each user keeps other values there:
                  sampi_row_gather      the numbers of the lines from which it collects
                  top_p, xtc        weights of the compact row, or of the tokens read
                  typical           weights, scores and indices (sampi_scored), then the tokens that tie
                  tail_free         keys to sort, then weights; the sorted logits behind them
                  adaptive_p        the logits that it draws from
     candidate * the array that the row has become
     bits     * the mask that a constraint with a long list makes
     own      * a copy of the logits of an array (>>apply) or of a dense row (sampi_row_flatten)
     scratch    folded maxima of lines (sampi_row_bound); the maxima of a compact row's lines, which nothing reads
     sum        dist's sum of the envelope for each tile of 256 elements */

/* The input of one draw from one row. */
typedef struct sampi_job {
    sampi_sampler *s;
    sampi_work *work;
    const void *data; /* [n] the logits */
    samp_dtype dtype;
    const uint32_t *mask; /* one bit a token, 0: masked; NULL: no mask */
    size_t n;
    samp_logprobs *logprobs; /* the log-probabilities to write, or NULL */
    float top;               /* the largest logit as given, if the support is asked for */
    bool accept;             /* whether the chain accepts the drawn token */
} sampi_job;

struct sampi_row {
    const sampi_kernels *k;
    sampi_work *work;
    samp_perf_data *perf;
    const float *x;       /* [n] elements: the logits are x * r; NULL: a dense row of another dtype or with a mask */
    const void *data;     /* [n] the caller's elements, if x is NULL */
    const uint32_t *mask; /* the mask of data, or NULL */
    samp_dtype dtype;     /* the dtype of data */
    const int32_t *id;    /* [n] the ids of a compact row; NULL: the row is dense, and a token's id is its index */
    const samp_token_data_array *array; /* the array of which the row is a view: an "id" is an index in it; or NULL */
    size_t n;
    float r;          /* a logit is x * r; 1 in a compact row */
    bool divided;     /* a logit is x / r instead, as in llama.cpp's arithmetic */
    bool is_own;      /* the row is dense, and x is the workspace's copy, which may be changed in place */
    float top;        /* the maximum of x; changed elements do not count */
    bool sorts;       /* the last sampler has kept tokens for min_keep, so its steps would sort */
    float floor;      /* elements of a dense row below it count as masked; -FLT_MAX: no floor */
    size_t n_change;  /* how many elements of a dense row have another value (work->change) */
    samp_token token; /* the selected token, or -1 */
};

#define SAMPI_DECLINED 1 /* result of a fast function that cannot work on the row: the chain continues step by step */

/* The most changed elements that a dense row keeps aside; a row with more is copied (sampi_row_flatten). A few
   hundred are usual. More would cost time: each change is inserted in order, and each makes the bound of
   sampi_row_bound one token looser. */
#define SAMPI_CHANGES 1024

/* The length up to which rows are copied and summed exactly, which costs hardly more than an estimate. */
#define SAMPI_SMALL 4096

/* ---- elements and logits ---- */

static bool sampi_row_is_compact(const sampi_row *row) { return row->id != NULL; }

static float sampi_row_logit_of(const sampi_row *row, float x)
{
    return sampi_masked(x) ? x : sampi_finite(row->divided ? x / row->r : x * row->r);
}

typedef struct {
    const sampi_row *row;
    float l;
} sampi_bound;

static bool sampi_row_logit_reaches(const void *what, float x)
{
    const sampi_bound *of = (const sampi_bound *)what;
    return sampi_row_logit_of(of->row, x) >= of->l;
}

/* Returns the smallest element x whose logit x * r (rounded to f32) is at least l. A sampler's threshold is a logit,
   but kernels compare elements. The rounded product never falls as the element grows, so both comparisons keep the same
   tokens. The quotient l / r is not exact enough, because it may be an ulp or two off. (If the row is divided, a logit
   is x / r, and the same holds.) */
static SAMPI_CALLED float sampi_row_unscale(const sampi_row *row, float l)
{
    const float r = row->r;
    const sampi_bound of = { row, l };
    if (r == 1.0f || l <= -FLT_MAX) return l;
    return sampi_least(sampi_row_logit_reaches, &of, sampi_finite(row->divided ? l * r : l / r));
}

/* ---- opening a row ---- */

/* Returns the status of a row with the maximum `top`: SAMP_E_NAN for a NaN or +infinity, SAMP_E_EMPTY if all tokens are
   masked, else SAMP_OK. */
static int sampi_row_max_status(float top)
{
    if (!(top <= FLT_MAX)) return SAMP_E_NAN;
    return top >= -FLT_MAX ? SAMP_OK : SAMP_E_EMPTY;
}

/* Return the number of tiles and of lines of a row of n elements. The last tile may be shorter, but the kernel maxima
   writes a maximum for all of its lines. */
static size_t sampi_row_n_tiles(size_t n) { return (n + SAMPI_TILE - 1) / SAMPI_TILE; }
static size_t sampi_row_n_lines(size_t n) { return SAMPI_TILE / SAMPI_LINE * sampi_row_n_tiles(n); }

/* Computes the row's maximum (top) and the maxima of its lines. Returns the row's status. */
static int sampi_row_scan(sampi_row *row)
{
    float *line = sampi_row_is_compact(row) ? row->work->scratch : row->work->line;
    row->top = row->n ? row->k->maxima(row->data, row->dtype, row->mask, row->n, line) : -INFINITY;
    return sampi_row_max_status(row->top);
}

/* Makes a dense row of the job's logits, and scans it (sampi_row_scan). Returns the row's status. */
static int sampi_row_open_row(sampi_row *row, const sampi_job *job)
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
    return sampi_row_scan(row);
}

/* Sets the row's tokens to these n logits and ids: a compact row, or a dense one if id is NULL. The caller sets top. */
static SAMPI_CALLED void sampi_row_set_tokens(sampi_row *row, const float *x, const int32_t *id, size_t n)
{
    row->x = x;
    row->data = x;
    row->mask = NULL;
    row->dtype = SAMP_F32;
    row->id = id;
    row->n = n;
    row->r = 1.0f;
    row->divided = false;
    row->is_own = false;
    row->floor = -FLT_MAX;
    row->n_change = 0;
}

/* Returns element i of a row as it was given; changed values (work->change) are not considered. */
static float sampi_row_element_at(const sampi_row *row, size_t i)
{
    return row->x ? row->x[i] : sampi_element(row->data, row->dtype, row->mask, i);
}

static samp_token sampi_row_id_at(const sampi_row *row, size_t i) { return row->id ? row->id[i] : (samp_token)i; }

/* Returns the index of a token in the row; row->n if the row does not have the token. */
static size_t sampi_row_find_id(const sampi_row *row, samp_token id)
{
    if (!sampi_row_is_compact(row)) return (size_t)id < row->n ? (size_t)id : row->n;
    size_t i = sampi_find_token(row->id, sizeof *row->id, row->n, id);
    return i < row->n && row->id[i] == id ? i : row->n;
}

/* ---- changes ---- */

/* Returns the index in work->change of the token's changed logit, or the index at which it would be inserted. */
static size_t sampi_row_change_at(const sampi_row *row, samp_token id)
{
    if (row->n_change == 0 || row->work->change[row->n_change - 1].id < id)
        return row->n_change; /* the usual case: callers ask for tokens in order */
    return sampi_find_token(row->work->change, sizeof(sampi_change), row->n_change, id);
}

/* Returns element i, with its changed value if it has one (work->change). -0 becomes +0, as it does in the steps; in a
   view of an array it stays -0. */
static float sampi_row_present(const sampi_row *row, size_t i)
{
    if (sampi_row_is_compact(row)) return row->x[i];
    const sampi_change *change = row->work->change;
    size_t c = sampi_row_change_at(row, (samp_token)i);
    if (c < row->n_change && change[c].id == (samp_token)i) return change[c].x;
    float x = sampi_row_element_at(row, i);
    return row->array ? x : x + 0.0f;
}

/* Adds a change to a dense row. Most changes come in order of ids, so that no earlier change has to move. */
static void sampi_row_add_change(sampi_row *row, samp_token id, float x)
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

/* Can n more elements of this row be changed? A dense row keeps at most SAMPI_CHANGES. */
static bool sampi_row_has_room(const sampi_row *row, size_t n)
{
    return sampi_row_is_compact(row) || row->is_own || row->n_change + n <= SAMPI_CHANGES;
}

/* Gives element i (an index from sampi_row_find_id) another value. The data of a dense row is the caller's, so the
   value is kept aside as a change; in a compact row and in an own copy it is written in place. The caller has checked
   sampi_row_has_room, and calls sampi_row_end_changes after the last change: until then a compact row's top is not
   right, and the row may have masked tokens. */
static void sampi_row_set_element(sampi_row *row, size_t i, float x)
{
    if (sampi_row_is_compact(row))
        row->work->x[i] = x;
    else if (row->is_own)
        row->work->own[i] = x;
    else
        sampi_row_add_change(row, (samp_token)i, x);
}
