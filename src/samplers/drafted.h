/* ---- a row of a draft ----
   What a sampler that draws knows of the draft's token that it is to test (s->draft): the numbers that the draft has of
   this row, and how it is tested. The ratio test is the usual one (ratio.h). Other tests are functions that whoever
   makes the row hands along, so that nothing here names them. */

/* samp_verify and its kin make it, and hand it to all samplers of a chain. */
typedef struct sampi_draft {
    samp_token token;
    const float *probs;      /* NULL: certain */
    const samp_token *ids;   /* [n_top], or NULL: dense */
    size_t n_top;            /* dense: the vocabulary */
    struct sampi_test *test; /* what another test knows, for these; all are NULL where there is none: */
    void (*draw)(const sampi_sampler *s, samp_token_data_array *cur);  /* in place of the ratio test */
    bool (*takes)(const sampi_sampler *s, samp_token_data_array *cur); /* is the token good enough? It selects it */
    bool exact;                                                        /* if not, the draw is as without a draft */
    samp_token (*next)(const struct sampi_draft *row, int32_t *at);    /* in place of sampi_next_drafted */
    bool *waited; /* bans that go back in the text wait until it is known what stays; set where one has */
} sampi_draft;

static bool sampi_is_taken(const sampi_sampler *s, samp_token_data_array *cur)
{
    return s->draft && s->draft->takes && s->draft->takes(s, cur);
}
