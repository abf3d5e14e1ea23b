/* ================================================================================================== >>drafts
   More ways to test a draft (SAMPLING_DRAFTS). As in samp_verify (run/verify.h), rows of logits and a draft come in,
   and the tokens that are taken go out. The chain is sampled row by row as ever. What differs is the draw: sampi_draw
   calls the test that the row of the draft bears (samplers/drafted.h).

     block     takes the draft's tokens whatever they are, and notes what they are worth: only the whole tells how many
               stay. The others are rolled back, and the next token is drawn from what the block leaves of its row.
     tree      tries one child after the other, each against what the ones before have left.
     relaxed   takes a token that is nearly the best, or leaves the draw to the usual methods.

   The one thing to know: a test lies on the stack of the function that made it, like the row that points to it, and
   both go when it returns (sampi_set_draft with NULL). A chain may draw twice in a row (two samplers that select), so
   a draw writes only what the next one writes again; what stays is written between the rows. */

#define SAMPI_DRAWS_BLOCK 0x200               /* added to the sampler's number, as SAMPI_DRAWS_RATIO is */
#define SAMPI_BLOCK_ONE   ((uint64_t)1 << 63) /* the r of a block that is 1 */

enum { SAMPI_TREE_WIDTH = 64 }; /* children that are tried */

typedef struct sampi_test {
    bool waited; /* block: a rewinding ban would have been noted */
    /* as the row finds it */
    uint64_t r;     /* of the tokens before this row, in units of 2^-63 */
    uint64_t first; /* the position of the first row */
    uint32_t n;     /* tokens before this row */
    /* and as the draw leaves it */
    bool keeps;      /* u(n) < h(n) */
    uint64_t next_r; /* of one token more */
    uint64_t next_u;
    /* tree: the children of a node */
    const samp_draft *draft;
    const int32_t *parent;
    size_t n_vocab;
    int32_t node, child; /* child: the first */
    /* relaxed */
    const samp_relaxed *relaxed;
    samp_verify_method method;
} sampi_test;

/* The index of the draft's token among the candidates; cur->size: it is none, or has no weight. */
static size_t sampi_find_drafted(const samp_token_data_array *cur, float max, samp_token token)
{
    size_t i = 0;
    while (i < cur->size && cur->data[i].id != token) i++;
    return i < cur->size && sampi_weight(max, cur->data[i].logit) ? i : cur->size;
}

/* Which candidate a rejected draft's row gives in its place: by the random number `at`, or with a watermark. */
static SAMPI_COLD size_t sampi_find_rest(const sampi_sampler *s, const samp_token_data_array *cur, sampi_mass mass,
                                         const void *draw, uint64_t at)
{
#ifdef SAMPLING_WATERMARK_DECLARED
    return sampi_mark_find(s, cur, mass, draw, at);
#else
    (void)s;
    return sampi_find_by_mass(cur, mass, draw, at);
#endif
}
