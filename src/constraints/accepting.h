/* ---- constraints: accepting a token ----
   The hooks accept, reset and past: what an accepted token changes in a constraint. If the sampler looks back at tokens
   (for n-grams, loops, rewinds), the token is added to its window of last tokens (part 3). The current node of the
   automaton changes, by the token itself or by each byte of its text. When a banned string is complete, its length in
   tokens is noted for samp_rewind_length. A thinking budget counts its tokens here. Nothing is allocated, because
   accept must not fail. */

/* A place in the text: a byte of a token in the window, or of the accepted token. */
typedef struct sampi_place_back {
    uint32_t back; /* how many tokens before the accepted token, from 1 on; 0 for the accepted token */
    size_t at, n;  /* at: the index of the byte in the token; n: the number of the token's bytes */
    const char *bytes;
} sampi_place_back;

/* Goes to the next token if this one has no byte left. Returns false if there is no next token. */
static bool sampi_constraint_next_back(const sampi_sampler *s, sampi_place_back *p, const char *bytes, size_t n)
{
    while (p->at == p->n && p->back > 0) {
        p->at = 0;
        p->n = n;
        p->bytes = bytes;
        if (--p->back > 0)
            p->bytes = sampi_bytes_of(s->u.constraint.vocab, sampi_constraint_back(s, p->back - 1), &p->n);
    }
    return p->at < p->n;
}

/* Returns how many bytes before the accepted token a match of the banned pattern begins; 0 if it begins within the
   token. The match ends with the last of bytes [n], the token's first n bytes. If several matches end there, the
   longest counts. If no match begins within the window, the whole window counts. */
static int64_t sampi_constraint_pattern_begin(const sampi_sampler *s, const char *bytes, size_t n)
{
    const sampi_constraint *r = &s->u.constraint;
    const uint32_t *table = (const uint32_t *)sampi_part(s, 1);
    const sampi_match_node *nodes = sampi_constraint_match_nodes(s);
    int64_t all = 0, at = 0;
    for (uint32_t k = 0; k < r->ring.size; k++) {
        size_t m;
        (void)sampi_bytes_of(r->vocab, sampi_constraint_back(s, k), &m);
        all += (int64_t)m;
    }
    sampi_place_back from = { r->ring.size + 1, 0, 0, NULL };
    for (; sampi_constraint_next_back(s, &from, bytes, n); from.at++, at++) {
        sampi_place_back to = from;
        uint32_t state = r->alone;
        for (; !nodes[state].depth && sampi_constraint_next_back(s, &to, bytes, n); to.at++)
            state = sampi_table_next(table, r->n_classes, state, to.bytes[to.at]);
        if (nodes[state].label) return at < all ? all - at : 0;
    }
    return all;
}

/* Does what sampi_constraint_walk does for a banned pattern (a regular expression), by its table of states. */
static uint32_t sampi_constraint_pattern_walk(const sampi_sampler *s, samp_token token, int64_t *before)
{
    const sampi_constraint *r = &s->u.constraint;
    const uint32_t *table = (const uint32_t *)sampi_part(s, 1);
    uint32_t node = r->node;
    size_t n;
    const char *bytes = sampi_bytes_of(r->vocab, token, &n);
    *before = -1;
    for (size_t i = 0; i < n; i++) {
        node = sampi_table_next(table, r->n_classes, node, bytes[i]);
        if (!r->ban_room || !sampi_constraint_match_nodes(s)[node].label) continue;
        int64_t begin = sampi_constraint_pattern_begin(s, bytes, i + 1);
        if (*before < begin) *before = begin;
    }
    return node;
}

/* Returns the automaton's node after a token. If patterns end in the token, *before says how many symbols before the
   token the longest of them begins; else it is -1. */
static uint32_t sampi_constraint_walk(const sampi_sampler *s, samp_token token, int64_t *before)
{
    const sampi_match_node *nodes = sampi_constraint_match_nodes(s);
    const sampi_match_edge *edges = (const sampi_match_edge *)sampi_part(s, 1);
    const uint32_t mask = s->u.constraint.edge_mask;
    uint32_t node = s->u.constraint.node;
    *before = -1;
    if (!s->part_size[1]) return node;
    if (s->u.constraint.has_table) return sampi_constraint_pattern_walk(s, token, before);
    if (s->u.constraint.what != SAMPI_CONSTRAINT_LISTS || !s->u.constraint.vocab) {
        node = sampi_match_next(nodes, edges, mask, node, token);
        *before = (int64_t)nodes[node].label - 1;
        return node;
    }
    size_t n;
    const char *bytes = sampi_bytes_of(s->u.constraint.vocab, token, &n);
    for (size_t i = 0; i < n; i++) {
        node = sampi_match_next(nodes, edges, mask, node,
                                sampi_constraint_fold(bytes[i], s->u.constraint.flags & SAMP_BAN_ANY_CASE));
        int64_t symbols = (int64_t)nodes[node].label - (int64_t)i - 1;
        if (symbols < 0) symbols = 0; /* the pattern begins within the token */
        if (nodes[node].label && symbols > *before) *before = symbols;
    }
    return node;
}

/* Notes a ban when a pattern of a rewinding ban is complete. The pattern begins `before` symbols before the accepted
   token, which is in the window already. The token in which the pattern begins is banned at its position. */
static void sampi_constraint_ban(sampi_sampler *s, int64_t before)
{
    sampi_constraint *r = &s->u.constraint;
    sampi_count *ban = sampi_constraint_bans(s);
    uint32_t count = 1;
    for (; before > 0 && count < r->ring.size; count++) {
        size_t n = 1;
        if (r->vocab) (void)sampi_bytes_of(r->vocab, sampi_constraint_back(s, count), &n);
        before -= (int64_t)n;
    }
    if (r->n_bans == r->ban_room) memmove(ban, ban + 1, --r->n_bans * sizeof *ban);
    ban[r->n_bans].token = sampi_constraint_back(s, count - 1);
    ban[r->n_bans++].count = (int32_t)(r->at + 1 - count);
    if (r->mode < count) r->mode = count;
}

static void sampi_constraint_accept_rewinding(sampi_sampler *s, samp_token token, int64_t before)
{
    sampi_constraint *r = &s->u.constraint;
    uint32_t kept = 0;
    sampi_count *ban = sampi_constraint_bans(s);
    for (uint32_t i = 0; i < r->n_bans; i++) /* drops bans that belong to a text that was taken back */
        if ((uint32_t)ban[i].count <= r->at) ban[kept++] = ban[i];
    r->n_bans = kept;
    if (r->mode && r->mode < INT32_MAX) r->mode++;
    sampi_ring_push(&r->ring, sampi_constraint_window(s), token);
    if (before < 0) return;
    if (s->draft && s->draft->waited)
        *s->draft->waited = true; /* until it is known whether this token of a draft block is kept */
    else
        sampi_constraint_ban(s, before);
}

static void sampi_constraint_accept(sampi_sampler *s, samp_token token)
{
    sampi_constraint *r = &s->u.constraint;
    samp_token *window = sampi_constraint_window(s);
    int64_t before;
    const uint32_t node = r->node;
    r->node = sampi_constraint_walk(s, token, &before);
    switch (r->what) {
        case SAMPI_CONSTRAINT_LISTS:
            if (r->ban_room) sampi_constraint_accept_rewinding(s, token, before);
            break;
        case SAMPI_CONSTRAINT_NGRAM: sampi_ring_push(&r->ring, window, token); break;
        case SAMPI_CONSTRAINT_PERIOD:
            if (r->mode && sampi_constraint_back(s, r->mode - 1) != token) r->mode = 0;
            sampi_ring_push(&r->ring, window, token);
            /* a loop that continues is found again, unless a smaller period is */
            if ((r->at + 1) % (uint32_t)r->every == 0) r->mode = sampi_constraint_period(s, r->ring.size);
            break;
        case SAMPI_CONSTRAINT_CUSUM:
            sampi_ring_push(&r->ring, window, token);
            r->sum += sampi_constraint_followers(s, r->ring.size, (uint32_t)r->n, NULL) ? 1.0f : -r->loss;
            r->sum = r->sum < 0.0f ? 0.0f : r->sum > r->alarm ? r->alarm : r->sum;
            break;
        case SAMPI_CONSTRAINT_THINKING: sampi_constraint_accept_thinking(s, token, node); break;
        case SAMPI_CONSTRAINT_CLOCK: sampi_constraint_clock_accept(s, token); break;
        case SAMPI_CONSTRAINT_GROWING:
        case SAMPI_CONSTRAINT_ALLOWED:
        case SAMPI_CONSTRAINT_FORCED: break;
    }
    if (r->at < INT32_MAX) r->at++;
}

static void sampi_constraint_reset(sampi_sampler *s)
{
    sampi_constraint *r = &s->u.constraint;
    r->at = r->node = r->mode = r->count_in = r->missing = r->n_bans = 0;
    r->sum = 0.0f;
    r->ring.size = r->ring.head = 0;
    r->node = r->start;
    if (r->what == SAMPI_CONSTRAINT_THINKING) sampi_constraint_begin(r);
    if (r->what == SAMPI_CONSTRAINT_CLOCK && r->open >= 0) r->mode = r->node = (uint32_t)r->open + 1;
}

static void sampi_constraint_past(sampi_sampler *s, sampi_record *r)
{
    sampi_record_words(r, &s->u.constraint.at, 6); /* the members from `at` to `sum` */
    if (s->u.constraint.has_plan) sampi_record_words(r, &s->u.constraint.since, 4);
    sampi_record_ring(r, &s->u.constraint.ring, sampi_constraint_window(s));
}
