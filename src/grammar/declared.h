/* ---- what the core asks of grammars, whose rooms come later ---- */

/* A grammar is a custom sampler of which the core knows a little more (>>grammar). */
#ifdef SAMPLING_GRAMMAR_DECLARED
typedef struct sampi_job sampi_job; /* >>fast */
static int sampi_grammar_job(sampi_job *job);
static bool sampi_is_grammar(const sampi_sampler *s);
static sampi_sampler *sampi_first_grammar(sampi_sampler *s);
static int sampi_grammar_ready(sampi_sampler *s, int32_t n);
static int32_t sampi_grammar_kept(const sampi_sampler *s);
static void sampi_grammar_settings(const sampi_sampler *s, uint64_t *hash);
static void sampi_grammar_state(sampi_sampler *s, sampi_io *io);
static int sampi_load_failed(sampi_io *io);
#else
#define sampi_is_grammar(s)             false
#define sampi_first_grammar(s)          ((sampi_sampler *)NULL)
#define sampi_grammar_ready(s, n)       SAMP_OK
#define sampi_grammar_kept(s)           0
#define sampi_grammar_settings(s, hash) ((void)0)
#define sampi_grammar_state(s, io)      ((void)0)
#define sampi_load_failed(io)           SAMP_E_FORMAT
#endif
