/* =============================================================================================== >>selection
   Samplers that end a chain: greedy, dist, mirostat, mirostat_v2, adaptive_p. Each leaves its candidate's index in
   cur->selected, and (but for greedy) p of all that are left. Of the sampler apply changes mirostat's mu (s->now.mu)
   and what adaptive_p remembers until its token is accepted (s->now.pending, pending_p); sampi_end_draw puts s->now
   back if a later sampler fails.

   All random ones choose by sampi_draw: by the envelope (draw.h), or for a row of a draft by a test (ratio.h), so that
   mu follows the token that was really taken. A draw goes by ascending id, whatever the array's order: that would
   depend on which samplers have sorted, and rows do not sort.

   In this room: greedy, the first in order. */
#ifndef SAMPI_PLANS

/* No p: nothing needs it, and it would cost a pass of exps. */
static int sampi_greedy_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    if (sampi_is_taken(s, cur)) return SAMP_OK;
    cur->selected = (int64_t)sampi_argmax(cur);
    return SAMP_OK;
}

#ifndef SAMP_NO_MT19937
/* Not sampi_greedy_apply: of equal logits llama.cpp takes the one that comes first. */
static int sampi_llama_greedy(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    cur->selected = (int64_t)sampi_llama_argmax(cur);
    return SAMP_OK;
}
#endif

SAMP_API SAMPI_COLD samp_sampler *samp_init_greedy(void) { return sampi_init_plain(SAMPI_GREEDY, 0); }

/* name, draws, letter, steps, flags, fields, off, hooks, apply, fast, and both as llama.cpp computes */
#define SAMPI_GREEDY_ROW \
    "greedy", 0, 0, "", \
        SAMPI_LISTS_FEW | SAMPI_SELECTS | SAMPI_KEEPS_P | SAMPI_TAKES_FLOOR | SAMPI_VIEW_SORTED | \
            SAMPI_LLAMA_DIVIDED | SAMPI_LLAMA_BY_ORDER, \
        SAMPI_NO_FIELDS, NULL, &SAMPI_NO_HOOKS, sampi_greedy_apply, sampi_fast_greedy, \
        SAMPI_BY_LLAMA_CPP(sampi_llama_greedy, sampi_fast_greedy)

#else /* the plan */

static int SAMPI_ON(plan_greedy)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    samp_token_data token;
    const int known = SAMPI_ON(top)(row, &token);
    return known == SAMPI_KNOWN ? SAMPI_ON(choose)(row, s, &token, 0.0f) : known;
}

#endif
