/* ---- patches ----
   Rules that change the logits of a few tokens: penalties, dry and the lists of constraints. */

/* The apply of all three: change the logits of the tokens in a list, at once if they all stand at data[id], as in an
   array that nobody has reordered, else by looking up each candidate. The list is sorted, so the last id bounds the
   others. Writes logits and `sorted`, nothing else; `change` must leave a masked logit masked. */
static void sampi_patch(sampi_sampler *s, samp_token_data_array *cur, const sampi_count *list, uint32_t n,
                        float (*change)(const sampi_sampler *, float logit, const sampi_count *))
{
    samp_token_data *d = cur->data;
    bool dense = n == 0 || ((size_t)list[n - 1].token < cur->size && d[list[n - 1].token].id == list[n - 1].token);
    for (uint32_t i = 0; i < n && dense; i++) dense = d[list[i].token].id == list[i].token;
    for (uint32_t i = 0; i < n && dense; i++) {
        samp_token token = list[i].token;
        d[token].logit = change(s, d[token].logit, &list[i]);
    }
    for (size_t k = 0; k < cur->size && !dense; k++) {
        uint32_t i = sampi_count_find(list, n, d[k].id);
        if (i < n && list[i].token == d[k].id) d[k].logit = change(s, d[k].logit, &list[i]);
    }
    cur->sorted = false;
}
