/* ---- drafts: what sampi_draw asks ----
   The test of a row, by its kind: a block's, a tree's or a relaxed one's. */

/* In place of sampi_draw_ratio. Sets cur->selected, and for a block its test. */
static void sampi_draw_test(const sampi_sampler *s, samp_token_data_array *cur)
{
    const sampi_test *test = s->draft->test;
    if (test->kind == SAMPI_TEST_BLOCK)
        sampi_block_weigh(s, cur);
    else if (test->kind == SAMPI_TEST_REST)
        sampi_block_rest(s, cur);
    else if (test->kind == SAMPI_TEST_TREE)
        sampi_draw_tree(s, cur);
    else if (sampi_relax(s, cur))
        return;
    else if (test->method == SAMP_VERIFY_RATIO)
        sampi_draw_ratio(s, cur);
    else
        sampi_draw_envelope(s, cur);
}

/* In place of sampi_next_drafted. */
static samp_token sampi_next_tested(const sampi_draft *row, int32_t *at)
{
    const sampi_test *test = row->test;
    if (test->kind != SAMPI_TEST_TREE) return ++*at == 0 ? row->token : -1;
    *at = *at < 0 ? test->child : sampi_next_child(test->draft, test->parent, test->node, *at);
    return *at < 0 ? -1 : test->draft->tokens[*at];
}
