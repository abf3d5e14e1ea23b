/* ---- drafts: a draft that branches ----
   samp_verify_tree tests a draft that is a tree: parent [j] is the index of the token that token j follows. The
   children of a node are tested one after another. After a rejection the residual of the row is max(p - q, 0), with q
   scaled to the mass of the residual before it, and the next child is tested against this residual. If all children are
   rejected, the token is drawn from the residual. */

/* The residual of a row after rejected children: the draft's probabilities for each child, and the mass of the residual
   before it. */
typedef struct sampi_siblings {
    float max;
    size_t n;
    sampi_draft row[SAMPI_TREE_WIDTH];
    uint64_t total[SAMPI_TREE_WIDTH + 1];
} sampi_siblings;

/* Returns the mass of a candidate in the residual. */
static uint64_t sampi_siblings_mass(const void *draw, const samp_token_data *d)
{
    const sampi_siblings *rejected = (const sampi_siblings *)draw;
    uint64_t w = sampi_weight(rejected->max, d->logit);
    for (size_t i = 0; i < rejected->n && w; i++) {
        uint64_t q = sampi_draft_mass(&rejected->row[i], d->id, rejected->total[i]);
        w = w > q ? w - q : 0;
    }
    return w;
}

/* Returns the index of the next child of `node` after index j, or -1. */
static int32_t sampi_next_child(const samp_draft *draft, const int32_t *parent, int32_t node, int32_t j)
{
    for (j++; (size_t)j < draft->n; j++)
        if (parent[j] == node) return j;
    return -1;
}

/* Adds a rejected child. If no mass would remain, the draft's probabilities add up to more than 1; then the child
   removes no mass. */
static void sampi_add_rejected(sampi_siblings *rejected, const sampi_draft *row, const samp_token_data_array *cur)
{
    uint64_t total = 0;
    rejected->row[rejected->n++] = *row;
    for (size_t i = 0; i < cur->size; i++) total += sampi_siblings_mass(rejected, &cur->data[i]);
    rejected->total[rejected->n] = total;
    if (total == 0) rejected->n--;
}

/* Draws as sampi_draw_ratio does, for several children. The first child is tested as in that function. If all children
   are rejected, the second random number of the last child draws the token. */
static void sampi_draw_tree(const sampi_sampler *s, samp_token_data_array *cur)
{
    const sampi_test *test = s->draft->test;
    sampi_sums sums = sampi_sum(cur);
    sampi_siblings rejected;
    uint64_t random[2] = { 0, 0 };
    uint32_t stream = sampi_stream(s, sampi_traits_of(s->kind)->stream | SAMPI_DRAWS_RATIO), attempt = 0;
    rejected.max = sums.max;
    rejected.n = 0;
    rejected.total[0] = sums.z;
    for (int32_t j = test->child; j >= 0 && attempt < SAMPI_TREE_WIDTH; attempt++) {
        sampi_draft row = sampi_draft_row(test->draft, (size_t)j, test->n_vocab);
        uint64_t q = sampi_draft_mass(&row, row.token, rejected.total[rejected.n]);
        size_t i = sampi_find_drafted(cur, sums.max, row.token);
        sampi_random_bits(s->seed, s->at_position, stream, attempt, random);
        if (i < cur->size && sampi_mulhi(random[0], q) < sampi_siblings_mass(&rejected, &cur->data[i])) {
            cur->selected = (int64_t)i;
            return;
        }
        sampi_add_rejected(&rejected, &row, cur);
        j = sampi_next_child(test->draft, test->parent, test->node, j);
    }
    uint64_t at = sampi_mulhi(random[1], rejected.total[rejected.n]);
    cur->selected = (int64_t)sampi_find_rest(s, cur, sampi_siblings_mass, &rejected, at);
}

/* Samples the row of logits after `node`, for token i of the output. */
static samp_token sampi_tree_row(sampi_sampler *s, const float *logits, const sampi_test *tree, size_t i)
{
    sampi_test test = *tree;
    test.child = sampi_next_child(test.draft, test.parent, test.node, -1);
    bool ratio = test.method == SAMP_VERIFY_RATIO && test.child >= 0;
    sampi_draft row;
    if (ratio) {
        row = sampi_draft_row(test.draft, (size_t)test.child, test.n_vocab);
        row.test = &test;
        row.draw = sampi_draw_tree;
    }
    sampi_set_draft(s, ratio ? &row : NULL);
    const float *x = logits + (size_t)(test.node + 1) * test.n_vocab;
    samp_token token =
        ratio ? sampi_sample_drafted(s, x, test.n_vocab, test.draft, i)
              : sampi_sample_after_draft(s, x, test.n_vocab, test.draft, i, test.method == SAMP_VERIFY_RATIO);
    sampi_set_draft(s, NULL);
    return token;
}

/* Parents come before their children, so there is no cycle and the loop ends. The token identifies the child that was
   accepted: of siblings with equal tokens only the first can be accepted, because a rejection leaves no mass for its
   token. */
SAMP_API int32_t samp_verify_tree(samp_sampler *sampler, const float *logits, size_t n_vocab, const samp_draft *draft,
                                  const int32_t *parent, samp_verify_method method, samp_token *out, int32_t *path)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    int status = s && logits && draft && out ? samp_status(sampler, NULL) : SAMP_E_NULL;
    if (!status) status = sampi_check_draft(draft, n_vocab, method);
    if (!status && draft->n && !parent) status = SAMP_E_NULL;
    for (size_t j = 0; !status && j < draft->n; j++)
        if (parent[j] < -1 || parent[j] >= (int32_t)j) status = SAMP_E_RANGE;
    if (!status && !sampi_set_draft(s, NULL) && method == SAMP_VERIFY_RATIO) status = SAMP_E_UNSUPPORTED;
    if (status) return status;
    sampi_test test;
    memset(&test, 0, sizeof test);
    test.draft = draft;
    test.parent = parent;
    test.n_vocab = n_vocab;
    test.method = method;
    int32_t a = 0;
    for (int32_t next = -1;; a++) {
        test.node = next;
        out[a] = sampi_tree_row(s, logits, &test, (size_t)a);
        do next = sampi_next_child(draft, parent, test.node, next);
        while (next >= 0 && draft->tokens[next] != out[a]);
        if (next < 0) break;
        if (path) path[a] = next;
    }
    for (size_t i = (size_t)a + 1; i <= draft->n; i++) out[i] = -1;
    for (size_t i = (size_t)a; path && i < draft->n; i++) path[i] = -1;
    return a == 0 && out[0] < 0 ? out[0] : a;
}
