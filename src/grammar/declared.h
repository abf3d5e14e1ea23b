/* ---- what the table of kinds names of grammars, whose rooms come later ----
   The hooks of their row (core/kinds.h). Without SAMPLING_GRAMMAR there are none. */

#ifdef SAMPLING_GRAMMAR_DECLARED
static void sampi_grammar_settings(const sampi_sampler *s, uint64_t *hash);
static void sampi_grammar_state(sampi_sampler *s, sampi_io *io);
static samp_sampler *sampi_grammar_clone(const sampi_sampler *s);
static void sampi_grammar_free(sampi_sampler *s);
static int sampi_grammar_row(sampi_sampler *s, const sampi_sampler *chain, size_t *n, uint32_t **bits);
static int sampi_grammar_ready(sampi_sampler *s, int32_t n);
static int32_t sampi_grammar_kept(const sampi_sampler *s);
#endif
