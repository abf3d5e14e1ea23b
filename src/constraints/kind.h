/* ---- constraints: the kind ----
   The numbers and hooks of the kind SAMPI_CONSTRAINT, to which all constraints belong, and its row in the table of
   kinds. Its samplers have names of their own. top_p with a decay is another kind (constraints/top_p_decay.h). */

/* clang-format off */
#define SAMPI_CONSTRAINT_NUMBER(type, param, member, hi) /* a number that is 0 for most constraints */ \
    { SAMPI_##type, #param, SAMPI_NOWHERE, offsetof(sampi_sampler, u.constraint.member), \
      0, 0, hi, SAMPI_IF_ABOVE_0, #param }
#define SAMPI_CONSTRAINT_LATER(type, param, member, hi) /* a number that is younger than the first saved states */ \
    { SAMPI_##type, #param, SAMPI_NOWHERE, offsetof(sampi_sampler, u.constraint.member), \
      0, 0, hi, SAMPI_IF_ABOVE_0 | SAMPI_LATER, #param }
/* clang-format on */
static const sampi_field SAMPI_CONSTRAINT_FIELDS[] = {
    SAMPI_CONSTRAINT_NUMBER(INT32, n, n, INT32_MAX),
    SAMPI_CONSTRAINT_NUMBER(INT32, begin, begin, INT32_MAX),
    SAMPI_CONSTRAINT_NUMBER(INT32, count, count, INT32_MAX),
    SAMPI_CONSTRAINT_NUMBER(INT32, min_period, shortest, INT32_MAX),
    SAMPI_CONSTRAINT_NUMBER(INT32, max_period, longest, INT32_MAX),
    SAMPI_CONSTRAINT_NUMBER(INT32, copies, copies, INT32_MAX),
    SAMPI_CONSTRAINT_NUMBER(INT32, last_n, last_n, SAMPI_MAX_WINDOW),
    SAMPI_CONSTRAINT_NUMBER(INT32, every, every, INT32_MAX),
    SAMPI_CONSTRAINT_NUMBER(INT32, budget, budget, INT32_MAX),
    SAMPI_CONSTRAINT_NUMBER(FLOAT, factor, factor, FLT_MAX),
    SAMPI_CONSTRAINT_NUMBER(FLOAT, loss, loss, FLT_MAX),
    SAMPI_CONSTRAINT_NUMBER(FLOAT, alarm, alarm, FLT_MAX),
    SAMPI_CONSTRAINT_NUMBER(FLOAT, penalty, penalty, INFINITY),
    SAMPI_CONSTRAINT_LATER(INT32, total, total, INT32_MAX),
    SAMPI_CONSTRAINT_LATER(INT32, soft, soft, INT32_MAX),
    SAMPI_CONSTRAINT_LATER(FLOAT, soft_ratio, soft_ratio, 1),
    SAMPI_CONSTRAINT_LATER(INT32, grace, grace, INT32_MAX),
    SAMPI_CONSTRAINT_LATER(INT32, ramp, ramp, INT32_MAX),
    SAMPI_CONSTRAINT_LATER(FLOAT, bias, bias, FLT_MAX),
    SAMPI_CONSTRAINT_LATER(INT32, loop_from, loop_from, INT32_MAX),
    SAMPI_CONSTRAINT_LATER(INT32, where, inside, INT32_MAX),
    SAMPI_CONSTRAINT_LATER(INT32, lines, lines, INT32_MAX),
    SAMPI_CONSTRAINT_LATER(INT32, from, from, INT32_MAX),
    SAMPI_CONSTRAINT_LATER(INT32, to, to, INT32_MAX),
    SAMPI_CONSTRAINT_LATER(INT32, exempt, exempt, INT32_MAX),
};

static SAMPI_COLD bool sampi_constraint_is_off(const sampi_sampler *s) { return s->u.constraint.is_idle; }
static int sampi_constraint_clock(const sampi_sampler *s)
{
    const bool is_clock = s->u.constraint.what == SAMPI_CONSTRAINT_CLOCK && !s->status;
    return is_clock ? sampi_constraint_is_time(&s->u.constraint) : -1;
}
static const samp_vocab *sampi_constraint_vocab(const sampi_sampler *s) { return s->u.constraint.vocab; }

SAMPI_HOOKS(CONSTRAINT, NULL, NULL, NULL, sampi_constraint_settings, sampi_constraint_accept, sampi_constraint_reset,
            sampi_constraint_state, NULL, sampi_constraint_past, NULL, NULL, NULL, NULL, NULL, sampi_constraint_vocab,
            sampi_constraint_clock);

#define SAMPI_CONSTRAINT_ROW \
    "constraint", 0, 0, "", \
        SAMPI_KEEPS_P | SAMPI_PATCHES | SAMPI_IF_NAMED | SAMPI_VIEW_MASKED | SAMPI_SAME_IN_LLAMA, \
        SAMPI_FIELDS_OF(SAMPI_CONSTRAINT_FIELDS), sampi_constraint_is_off, &SAMPI_CONSTRAINT_HOOKS, \
        sampi_constraint_apply, sampi_constraint_fast_constraint, SAMPI_BY_LLAMA_CPP(sampi_constraint_apply)
