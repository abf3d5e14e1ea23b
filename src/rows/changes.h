/* ---- logit_bias, penalties, dry on a row ----
   These samplers give a few tokens other logits. A dense row keeps such logits aside as changes, so that the row need
   not be copied. If the row's logits are products (element times r, and r is not 1), it is copied first, because no
   element may give the wanted logit exactly. The samplers' own functions compute the new logits (sampi_bias_change, for
   example). */

/* Finds a token's index in the row (*at) and its logit (*l). False: the token is not in the row, or is masked. */
static bool sampi_row_find_logit(const sampi_row *row, samp_token token, size_t *at, float *l)
{
    if (row->array) {
        size_t i = sampi_find_ascending(row->array, token);
        if (i == row->array->size) return false;
        token = (samp_token)i;
    }
    *at = sampi_row_find_id(row, token);
    if (*at == row->n) return false;
    *l = sampi_row_present(row, *at);
    return !sampi_masked(*l);
}

/* Copies the logits of a dense row to the workspace. The row stays dense, with r = 1 and without floor or changes. */
static void sampi_row_flatten(sampi_row *row)
{
    float *x = row->work->own;
    sampi_pieces it;
    for (sampi_row_start(&it, row); sampi_row_next_logits(&it);) memmove(x + it.at, it.x, it.n * sizeof *x);
    sampi_row_set_tokens(row, x, NULL, row->n);
    row->is_own = true;
    (void)sampi_row_scan(row);
}

/* Prepares a row for n changed elements. A dense row is copied if its logits are products (r is not 1), or if n changes
   would cost more than a copy. */
static void sampi_row_begin_patch(sampi_row *row, size_t n)
{
    if (!sampi_row_is_compact(row) && (row->r != 1.0f || n > SAMPI_CHANGES / 4 || !sampi_row_has_room(row, n)))
        sampi_row_flatten(row);
}

static int sampi_fast_logit_bias(sampi_row *row, sampi_sampler *s)
{
    const samp_logit_bias *bias = (const samp_logit_bias *)sampi_part(s, 0);
    size_t n = (size_t)s->u.bias.n, at;
    bool has_masked = false;
    float l;
    sampi_row_begin_patch(row, n);
    for (size_t i = 0; i < n; i++) {
        if (!sampi_row_find_logit(row, bias[i].token, &at, &l)) continue;
        l = sampi_bias_change(l, bias[i].bias);
        sampi_row_set_element(row, at, l);
        if (sampi_masked(l)) has_masked = true;
    }
    return sampi_row_end_changes(row, has_masked);
}

/* Changes the logits of the n tokens in a list, for penalties and dry. No token becomes masked, because `change` never
   returns -infinity for an unmasked token. */
static int sampi_row_change_listed(sampi_row *row, const sampi_sampler *s, const sampi_count *list, size_t n,
                               float (*change)(const sampi_sampler *, float, const sampi_count *))
{
    size_t at;
    float l;
    sampi_row_begin_patch(row, n);
    for (size_t i = 0; i < n; i++)
        if (sampi_row_find_logit(row, list[i].token, &at, &l)) sampi_row_set_element(row, at, change(s, l, &list[i]));
    return sampi_row_end_changes(row, false);
}

/* Applies penalties to a row. The list has the tokens of the window with their counts; sampi_penalties_accept updates
   the list. */
static int sampi_fast_penalties(sampi_row *row, sampi_sampler *s)
{
    return sampi_row_change_listed(row, s, sampi_penalties_list(s), s->u.penalties.n, sampi_penalties_change);
}

/* Applies dry to a row. The list of tokens is computed for each draw, in part 1 of the sampler's memory. */
static int sampi_fast_dry(sampi_row *row, sampi_sampler *s)
{
    sampi_count *list = (sampi_count *)sampi_part(s, 1);
    return sampi_row_change_listed(row, s, list, sampi_dry_list(s, list), sampi_dry_change);
}
