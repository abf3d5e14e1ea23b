/* ---- constraints: a token comes in ----
   The hooks accept, reset and past: what an accepted token changes. It goes into the window (part 3), if the sampler
   looks back at tokens (n-grams, loops, rewinds), and moves the current node of the automaton, by the token itself or
   by each byte of its text. Where a forbidden string is complete, its length in tokens is noted for
   samp_rewind_length. A budget of thinking counts its tokens here. Nothing is allocated, since an accept must not
   fail. */

static samp_token *sampi_limit_window(const sampi_sampler *s) { return (samp_token *)sampi_part(s, 3); }

/* Room for a list of this draw, and the bans behind it: the token, and the position where it is one. */
static sampi_count *sampi_limit_room(const sampi_sampler *s)
{
    return (sampi_count *)(void *)(sampi_limit_window(s) + s->u.limit.ring.cap);
}
static sampi_count *sampi_limit_bans(const sampi_sampler *s) { return sampi_limit_room(s) + s->u.limit.room; }

/* The token `back` places ago, 0 = the newest; as sampi_ring_at, without a division. */
static samp_token sampi_limit_back(const sampi_sampler *s, uint32_t back)
{
    const sampi_ring *r = &s->u.limit.ring;
    return sampi_limit_window(s)[r->head > back ? r->head - 1 - back : r->head + r->cap - 1 - back];
}

/* The first place from `back` on, and before `end`, where this token stands; else end. */
static uint32_t sampi_limit_find(const sampi_sampler *s, uint32_t back, uint32_t end, samp_token token)
{
    const sampi_ring *r = &s->u.limit.ring;
    const samp_token *window = sampi_limit_window(s);
    for (; back < end && back < r->head; back++)
        if (window[r->head - 1 - back] == token) return back;
    for (; back < end; back++)
        if (window[r->head + r->cap - 1 - back] == token) return back;
    return end;
}

/* The tokens that followed the newest m, wherever these stood before: list [room] in order, each once, and how many.
   Without a list: is there any? */
static uint32_t sampi_limit_followers(const sampi_sampler *s, uint32_t m, sampi_count *list)
{
    const uint32_t size = s->u.limit.ring.size, end = size > m ? size - m + 1 : 1;
    uint32_t n = 0, kept = 0;
    for (uint32_t back = 1; back < end; back++) {
        uint32_t k = 1;
        if (m) back = sampi_limit_find(s, back, end, sampi_limit_back(s, 0));
        if (back == end) break;
        while (k < m && sampi_limit_back(s, back + k) == sampi_limit_back(s, k)) k++;
        if (k < m) continue;
        if (!list) return 1;
        list[n].token = sampi_limit_back(s, back - 1);
        list[n++].count = 0;
    }
    if (list) sampi_count_sort(list, n);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || list[i].token != list[i - 1].token) list[kept++] = list[i];
    return kept;
}

/* The smallest period of the newest tokens, 0: none. */
static uint32_t sampi_limit_period(const sampi_sampler *s)
{
    for (uint32_t p = (uint32_t)s->u.limit.shortest; p <= (uint32_t)s->u.limit.longest; p++) {
        uint64_t same = (uint64_t)p * (uint32_t)(s->u.limit.copies - 1), k = 0;
        if (same + p > s->u.limit.ring.size) return 0;
        while (k < same && sampi_limit_back(s, (uint32_t)k) == sampi_limit_back(s, (uint32_t)k + p)) k++;
        if (k == same) return p;
    }
    return 0;
}

/* ---- accepting: what moves the state ---- */

/* The node behind a token; *before: how many symbols before this token the longest pattern began that ends in it, -1:
   none does. */
static uint32_t sampi_limit_walk(const sampi_sampler *s, samp_token token, int64_t *before)
{
    const sampi_knot *knot = sampi_knots(s);
    const sampi_hop *hop = (const sampi_hop *)sampi_part(s, 1);
    const uint32_t mask = s->u.limit.hop_mask;
    uint32_t node = s->u.limit.node;
    *before = -1;
    if (!s->part_size[1]) return node;
    if (s->u.limit.what != SAMPI_LIMIT_LISTS || !s->u.limit.vocab) {
        node = sampi_hop_on(knot, hop, mask, node, token);
        *before = (int64_t)knot[node].mark - 1;
        return node;
    }
    size_t n;
    const char *bytes = sampi_bytes_of(s->u.limit.vocab, token, &n);
    for (size_t i = 0; i < n; i++) {
        node = sampi_hop_on(knot, hop, mask, node, sampi_fold(bytes[i], s->u.limit.flags & SAMP_BAN_ANY_CASE));
        int64_t symbols = (int64_t)knot[node].mark - (int64_t)i - 1;
        if (symbols < 0) symbols = 0; /* within the token */
        if (knot[node].mark && symbols > *before) *before = symbols;
    }
    return node;
}

/* A pattern of a rewinding ban is complete, and began so many symbols before this token: the token in which that was is
   one no more, at its place. The window has this token too. */
static void sampi_limit_ban(sampi_sampler *s, int64_t before)
{
    sampi_limit *r = &s->u.limit;
    sampi_count *ban = sampi_limit_bans(s);
    uint32_t count = 1;
    for (; before > 0 && count < r->ring.size; count++) {
        size_t n = 1;
        if (r->vocab) (void)sampi_bytes_of(r->vocab, sampi_limit_back(s, count), &n);
        before -= (int64_t)n;
    }
    if (r->n_bans == r->ban_room) memmove(ban, ban + 1, --r->n_bans * sizeof *ban);
    ban[r->n_bans].token = sampi_limit_back(s, count - 1);
    ban[r->n_bans++].count = (int32_t)(r->at + 1 - count);
    if (r->mode < count) r->mode = count;
}

/* Must a ban wait until it is known whether this token of a block stays (samp_verify_block)? */
static bool sampi_ban_waits(const sampi_sampler *s)
{
    bool *waited = s->draft ? s->draft->waited : NULL;
    if (waited) *waited = true;
    return waited != NULL;
}

static void sampi_limit_rewinds(sampi_sampler *s, samp_token token, int64_t before)
{
    sampi_limit *r = &s->u.limit;
    uint32_t kept = 0;
    sampi_count *ban = sampi_limit_bans(s);
    for (uint32_t i = 0; i < r->n_bans; i++) /* those of another text go */
        if ((uint32_t)ban[i].count <= r->at) ban[kept++] = ban[i];
    r->n_bans = kept;
    if (r->mode && r->mode < INT32_MAX) r->mode++;
    sampi_ring_push(&r->ring, sampi_limit_window(s), token);
    if (before >= 0 && !sampi_ban_waits(s)) sampi_limit_ban(s, before);
}

/* Bytes of a character that are still to come, behind a token. */
static uint32_t sampi_limit_missing(const sampi_sampler *s, samp_token token)
{
    size_t n;
    const char *bytes = sampi_bytes_of(s->u.limit.vocab, token, &n);
    uint32_t missing = s->u.limit.missing;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if ((c & 0xc0) == 0x80)
            missing -= missing > 0;
        else
            missing = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0;
    }
    return missing;
}

/* Modes of thinking: 0 not at all; 2 i + 1 in span i, 2 i + 2 its end is forced. */
static const sampi_span *sampi_limit_span(const sampi_sampler *s)
{
    return (const sampi_span *)sampi_part(s, 2) + (s->u.limit.mode - 1) / 2;
}
static bool sampi_limit_forces(const sampi_sampler *s) { return s->u.limit.mode && s->u.limit.mode % 2 == 0; }

/* The budget is spent: what is forced begins where the text is already. */
static void sampi_limit_spend(sampi_sampler *s)
{
    sampi_limit *r = &s->u.limit;
    uint64_t budget = (uint64_t)r->budget;
    if (r->mode % 2 == 0 || r->count_in < budget || (r->missing && r->count_in < budget + 4)) return;
    r->mode++;
    r->count_in = sampi_limit_span(s)->is_end ? sampi_knots(s)[r->node].depth : 0;
}

static void sampi_limit_think(sampi_sampler *s, samp_token token)
{
    sampi_limit *r = &s->u.limit;
    uint32_t mark = sampi_knots(s)[r->node].mark; /* behind the token */
    if (r->vocab) r->missing = sampi_limit_missing(s, token);
    if (r->mode == 0) {
        if (mark == 0) return;
        r->mode = 2 * mark - 1;
        r->node = mark; /* the root of this span's end */
        r->count_in = 0;
    } else if (mark) {
        r->mode = r->node = r->count_in = 0;
    } else if (!sampi_limit_forces(s)) {
        r->count_in++;
    } else {
        const sampi_span *span = sampi_limit_span(s);
        const samp_token *force = (const samp_token *)sampi_part(s, 2) + span->first;
        if (span->is_end)
            r->count_in = sampi_knots(s)[r->node].depth;
        else if (token == force[r->count_in] && ++r->count_in == span->n)
            r->mode = r->node = r->count_in = 0;
    }
    sampi_limit_spend(s);
}

static void sampi_constraint_accept(sampi_sampler *s, samp_token token)
{
    sampi_limit *r = &s->u.limit;
    samp_token *window = sampi_limit_window(s);
    int64_t before;
    r->node = sampi_limit_walk(s, token, &before);
    switch (r->what) {
        case SAMPI_LIMIT_LISTS:
            if (r->ban_room) sampi_limit_rewinds(s, token, before);
            break;
        case SAMPI_LIMIT_NGRAM: sampi_ring_push(&r->ring, window, token); break;
        case SAMPI_LIMIT_PERIOD:
            if (r->mode && sampi_limit_back(s, r->mode - 1) != token) r->mode = 0;
            sampi_ring_push(&r->ring, window, token);
            if (!r->mode && (r->at + 1) % (uint32_t)r->every == 0) r->mode = sampi_limit_period(s);
            break;
        case SAMPI_LIMIT_CUSUM:
            sampi_ring_push(&r->ring, window, token);
            r->sum += sampi_limit_followers(s, (uint32_t)r->n, NULL) ? 1.0f : -r->loss;
            r->sum = r->sum < 0.0f ? 0.0f : r->sum > r->alarm ? r->alarm : r->sum;
            break;
        case SAMPI_LIMIT_THINKING: sampi_limit_think(s, token); break;
        case SAMPI_LIMIT_GROWING:
        case SAMPI_LIMIT_ALLOWED:
        case SAMPI_LIMIT_FORCED: break;
    }
    if (r->at < INT32_MAX) r->at++;
}

static void sampi_constraint_reset(sampi_sampler *s)
{
    sampi_limit *r = &s->u.limit;
    r->at = r->node = r->mode = r->count_in = r->missing = r->n_bans = 0;
    r->sum = 0.0f;
    r->ring.size = r->ring.head = 0;
    if (r->what != SAMPI_LIMIT_THINKING || r->open < 0 || r->is_idle) return;
    r->node = (uint32_t)r->open + 1;
    r->mode = 2 * (uint32_t)r->open + 1;
    if (r->budget == 0) r->mode++; /* as sampi_limit_spend, which needs the parts */
}

static void sampi_constraint_past(sampi_sampler *s, sampi_record *r)
{
    sampi_record_words(r, &s->u.limit.at, 6); /* up to sum */
    sampi_record_ring(r, &s->u.limit.ring, sampi_limit_window(s));
}
