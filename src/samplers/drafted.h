/* ---- a row of a draft ----
   The draft's token that a drawing sampler has to test (s->draft), with the draft's probabilities for this row and the
   test. The usual test is the ratio test (ratio.h). Other tests are functions in the struct, so nothing here names
   them. */

/* A row of a draft. samp_verify and the functions of drafts/ make it, and give it to all samplers of a chain. */
typedef struct sampi_draft {
    samp_token token;
    const float *probs;      /* NULL: the token was certain */
    const samp_token *ids;   /* [n_top], or NULL: dense */
    size_t n_top;            /* dense: the vocabulary's size */
    struct sampi_test *test; /* of another test; for the ratio test it and the functions are NULL */
    void (*draw)(const sampi_sampler *s, samp_token_data_array *cur);  /* replaces the ratio test */
    bool (*takes)(const sampi_sampler *s, samp_token_data_array *cur); /* selects the token if it passes */
    bool exact;                                                        /* after a failure: an ordinary draw */
    samp_token (*next)(const struct sampi_draft *row, int32_t *at);    /* replaces sampi_next_drafted */
    bool *waited; /* set if a rewinding ban was held back until it is known which tokens are kept; or NULL */
} sampi_draft;

static bool sampi_is_taken(const sampi_sampler *s, samp_token_data_array *cur)
{
    return s->draft && s->draft->takes && s->draft->takes(s, cur);
}
