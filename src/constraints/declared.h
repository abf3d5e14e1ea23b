/* ---- constraints: what the table of kinds names ----
   The hooks and functions of the two rows that constraints have in core/kinds.h, declared here because their rooms
   come later. Without SAMPLING_CONSTRAINTS there are none. */

#ifdef SAMPLING_CONSTRAINTS_DECLARED
static void sampi_constraint_settings(const sampi_sampler *s, uint64_t *hash);
static void sampi_constraint_accept(sampi_sampler *s, samp_token token);
static void sampi_constraint_reset(sampi_sampler *s);
static void sampi_constraint_state(sampi_sampler *s, sampi_io *io);
static void sampi_constraint_past(sampi_sampler *s, sampi_record *r);
static int sampi_constraint_apply(sampi_sampler *s, samp_token_data_array *cur);
static int sampi_fast_constraint(sampi_row *row, sampi_sampler *s);
static void sampi_decay_build(sampi_sampler *s);
static void sampi_decay_settings(const sampi_sampler *s, uint64_t *hash);
static void sampi_decay_accept(sampi_sampler *s, samp_token token);
static void sampi_decay_reset(sampi_sampler *s);
static void sampi_decay_state(sampi_sampler *s, sampi_io *io);
static void sampi_decay_past(sampi_sampler *s, sampi_record *r);
#endif
