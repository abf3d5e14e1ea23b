/* ---- replay ----
   Replaces the sampler that draws, and gives the tokens of a text, one for each position. All that comes with a draw
   (log-probabilities, the support, the states of the chain's samplers) comes as if the token had been drawn. The token
   comes also if the chain has removed it, so the function that ends a draw (run/finish.h) asks this room for it and not
   the array. This room has the text. */

/* Returns the token of the position of the draw; -1 behind the last one. */
static samp_token sampi_replay_token(const sampi_sampler *s)
{
    const samp_token *token = (const samp_token *)sampi_part(s, 1);
    return s->at_position < s->part_size[1] / sizeof *token ? token[s->at_position] : -1;
}

/* Selects the token if the array has it, else nothing. */
static SAMPI_COLD int sampi_replay_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_token token = sampi_replay_token(s);
    if (token < 0) return SAMP_E_EMPTY;
    const sampi_sums sums = sampi_sum(cur);
    const size_t at = sampi_find_candidate(cur, token);
    cur->selected = at < cur->size && !sampi_masked(cur->data[at].logit) ? (int64_t)at : -1;
    sampi_set_p(cur, &sums);
    return SAMP_OK;
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_replay(const samp_token *tokens, size_t n)
{
    sampi_sampler t = sampi_blank(SAMPI_REPLAY);
    t.from = tokens;
    sampi_require_tokens(&t, tokens, n, "tokens");
    t.part_size[1] = t.status ? 0 : n * sizeof *tokens;
    return sampi_init(&t);
}

SAMPI_HOOKS(REPLAY, NULL, NULL, sampi_list_copy, sampi_list_mix, NULL, NULL, NULL, NULL, NULL, SAMPI_BYTES_ONLY);

#define SAMPI_REPLAY_ROW \
    "replay", 11, 0, "", SAMPI_SELECTS | SAMPI_TAKES_FLOOR | SAMPI_IF_NAMED, SAMPI_NO_FIELDS, NULL, \
        &SAMPI_REPLAY_HOOKS, sampi_replay_apply, sampi_fast_replay, SAMPI_BY_LLAMA_CPP(sampi_replay_apply)
