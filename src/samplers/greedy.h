/* =============================================================================================== >>selection
   Samplers that end a chain: greedy, dist, mirostat, mirostat_v2, adaptive_p. Each writes its candidate's index to
   cur->selected and (except greedy) p of all candidates. The apply functions change mirostat's mu (s->now.mu) and the
   selected token that adaptive_p remembers until it is accepted (s->now.pending, pending_p). sampi_life_end_draw
   restores s->now if a later sampler fails.

   All random samplers choose by sampi_draw: it draws (draw.h), or tests the token of a draft (ratio.h), so that mu
   follows the token that was really chosen. A draw adds up the candidates by ascending id, not in the array's order,
   because that order depends on which samplers have sorted, and the executor for rows does not sort.

   This file has greedy, which selects the first candidate in order. */
#ifndef SAMPI_PLANS

/* Applies greedy. It does not set p, because no sampler needs p afterwards, and it would take one exp for each
   token. */
static int sampi_greedy_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    if (sampi_is_taken(s, cur)) return SAMP_OK;
    cur->selected = (int64_t)sampi_argmax(cur);
    return SAMP_OK;
}

#ifndef SAMP_NO_MT19937
/* Of equal logits llama.cpp selects the one that comes first in the array. */
static int sampi_llama_greedy(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    cur->selected = (int64_t)sampi_llama_argmax(cur);
    return SAMP_OK;
}
#endif

SAMP_API SAMPI_COLD samp_sampler *samp_init_greedy(void) { return sampi_init_plain(SAMPI_GREEDY, 0); }

#define SAMPI_GREEDY_ROW \
    "greedy", 0, 0, "", SAMPI_SELECTS | SAMPI_KEEPS_P | SAMPI_TAKES_FLOOR | SAMPI_VIEW_SORTED | SAMPI_SAME_IN_LLAMA, \
        SAMPI_NO_FIELDS, NULL, &SAMPI_NO_HOOKS, sampi_greedy_apply, sampi_fast_greedy, \
        SAMPI_BY_LLAMA_CPP(sampi_llama_greedy)

#else /* the plan */

static int SAMPI_ON(plan_greedy)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    samp_token_data token;
    const int known = SAMPI_ON(top)(row, &token);
    return known == SAMPI_KNOWN ? SAMPI_ON(choose)(row, s, &token, 0.0f) : known;
}

#endif
