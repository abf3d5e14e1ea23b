/* ---- a row of a draft ----
   The draft token that a drawing sampler has to test (s->draft), with the draft model's probabilities for this row of
   logits, and the test. The usual test is the ratio test (ratio.h). Other tests are functions in the struct, so this
   file names none of them. */

/* One token of a draft: the token that a cheaper model proposes for a row of logits. samp_verify and the functions of
   drafts/ fill the struct, and give it to all samplers of a chain. */
typedef struct sampi_draft {
    samp_token token;
    const float *probs;      /* the draft model's probabilities; NULL if it was certain */
    const samp_token *ids;   /* [n_top] the tokens of probs, or NULL: token i has probs [i] */
    size_t n_top;            /* the length of probs; without ids, the vocabulary's size */
    struct sampi_test *test; /* the data of another test; NULL for the ratio test */
    void (*draw)(const sampi_sampler *s, samp_token_data_array *cur); /* replaces the ratio test, or NULL */
    /* selects the draft token if it passes, or NULL */
    bool (*takes)(const sampi_sampler *s, samp_token_data_array *cur);
    /* true if an ordinary draw, not one from the residual, follows a failed test */
    bool exact;
    bool *waited; /* set to true if a rewinding ban was held back until it is known which tokens are kept; or NULL */
} sampi_draft;

static bool sampi_is_taken(const sampi_sampler *s, samp_token_data_array *cur)
{
    return s->draft && s->draft->takes && s->draft->takes(s, cur);
}
