/* ================================================================================================== >>drafts
   More ways to test a draft (SAMPLING_DRAFTS). As in samp_verify (run/verify.h), the chain is sampled row by row. Only
   the draw differs: sampi_draw calls the test that the draft's row points to (samplers/drafted.h).

     block     first lets the chain accept every drafted token, and computes how many of them are kept. The chain rolls
               the others back. The next token is drawn from what p has beyond q in the first row that is not kept.
     tree      tests the children of a node one after another, each with the part of p that the earlier children left.
     relaxed   accepts a token that is nearly the best; for any other token it leaves the draw to the usual methods.

   A test is on the stack of the function that made it, like the draft's row that points to it; both are gone when the
   function returns (sampi_set_draft with NULL). A chain may draw twice in a row of logits (two samplers that select),
   so a draw writes only members that the next draw writes again. Other members are written between rows. */

#define SAMPI_DRAWS_BLOCK 0x200 /* added to the sampler's number in the stream, as SAMPI_DRAWS_RATIO is */
#define SAMPI_BLOCK_ONE   ((uint64_t)1 << 63) /* the value 1 of a block's r */

enum { SAMPI_TREE_WIDTH = 64 }; /* at most so many children are tested */

typedef struct sampi_test {
    bool waited; /* block: a rewinding ban was held back */
    /* block, set before a row */
    uint64_t r;     /* r of the tokens before this row, in units of 2^-63 */
    uint64_t first; /* the position of the first row */
    uint32_t n;     /* tokens before this row */
    /* block, set by a draw */
    bool keeps;      /* u(n) < h(n) */
    uint64_t next_r; /* r after one more token */
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

/* Returns the index of the draft's token among the candidates; cur->size if it is not there, or has weight 0. */
static size_t sampi_find_drafted(const samp_token_data_array *cur, float max, samp_token token)
{
    size_t i = 0;
    while (i < cur->size && cur->data[i].id != token) i++;
    return i < cur->size && sampi_weight(max, cur->data[i].logit) ? i : cur->size;
}

/* Returns the index of the candidate that replaces a rejected token: the one at mass `at`, or a watermark's choice. */
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
