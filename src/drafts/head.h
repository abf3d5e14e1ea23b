/* ================================================================================================== >>drafts
   More ways to test a draft, tokens that a cheaper model proposes (SAMPLING_DRAFTS). As in samp_verify (run/verify.h),
   the chain samples one row of logits after another. Only the draw differs: sampi_draw calls the test that the struct
   sampi_draft points to (samplers/drafted.h). p is the model's probability of a token, q the draft's.

     block:    first lets the chain accept every draft token, and computes how many of them are kept. The chain takes
               the others back. The next token is drawn from the residual of the first row that is not kept, which is p
               where it exceeds q.
     tree:     tests the children of a node one after another, each against the residual that the earlier children left.
     relaxed:  accepts a token that is nearly the best; for any other token the usual methods draw.

   The structs sampi_test and sampi_draft are on the stack of the function that made them; before it returns, it takes
   them out of the chain (sampi_set_draft with NULL). A chain may draw twice for one row of logits (with two samplers
   that select), so a draw writes only members that the next draw writes again. Other members are written between
   rows. */

/* a flag in the number of the sampler's stream of random numbers, as SAMPI_DRAWS_RATIO is */
#define SAMPI_DRAWS_BLOCK 0x200
#define SAMPI_BLOCK_ONE   ((uint64_t)1 << 63) /* the value 1 of a block's r */

enum { SAMPI_TREE_WIDTH = 64 }; /* at most this many children of a node are tested */

typedef struct sampi_test {
    bool waited; /* for block: a rewinding ban was held back */
    /* members for block that are set before each row: */
    uint64_t r;     /* r (see drafts/block.h) of the tokens before this row, in units of 2^-63 */
    uint64_t first; /* the chain's position (number of draws) at the block's first row; u depends on it */
    uint32_t n;     /* the number of tokens before this row */
    /* members for block that each draw sets: */
    bool keeps;      /* true if u(n) < h(n): the tokens before this row may be kept */
    uint64_t next_r; /* r after one more token */
    uint64_t next_u;
    /* members for tree, the children of a node: */
    const samp_draft *draft;
    const int32_t *parent;
    size_t n_vocab;
    int32_t node, child; /* child: the first child */
    /* members for relaxed: */
    const samp_relaxed *relaxed;
    samp_verify_method method;
} sampi_test;

/* Returns the index of the draft token among the candidates, or cur->size if it is not a candidate or has weight 0. */
static size_t sampi_find_drafted(const samp_token_data_array *cur, float max, samp_token token)
{
    size_t i = 0;
    while (i < cur->size && cur->data[i].id != token) i++;
    return i < cur->size && sampi_weight(max, cur->data[i].logit) ? i : cur->size;
}

/* Returns the index of the candidate that replaces a rejected token: the first at which the running sum of masses
   exceeds `at`, or the choice of a watermark. */
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
