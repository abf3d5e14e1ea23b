/* ---- what draws ask of drafts, whose rooms come later ----
   sampi_draw calls these when a row of a draft bears a test other than the ratio test. Without SAMPLING_DRAFTS there
   are none, and no code for them. */

#ifdef SAMPLING_DRAFTS_DECLARED
/* Tests of a draft other than the ratio test (>>drafts): the draw; does a relaxed one take the draft's token; does it
   leave the draw as it is? And the tokens of a row under test (sampi_next_drafted). */
static void sampi_draw_test(const sampi_sampler *s, samp_token_data_array *cur);
static samp_token sampi_next_tested(const struct sampi_draft *row, int32_t *at);
static bool sampi_relax(const sampi_sampler *s, samp_token_data_array *cur);
#ifdef SAMPLING_GUMBEL_DECLARED
static bool sampi_leaves_draw(const sampi_sampler *s, samp_token_data_array *cur);
#endif
#endif
