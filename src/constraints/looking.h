/* ---- constraints: looking back ----
   Searches in the window of the last tokens (part 3): for the tokens that followed earlier occurrences of the newest
   tokens, and for the period of a loop. The functions change no state; they write the list that they return. */

static samp_token *sampi_constraint_window(const sampi_sampler *s) { return (samp_token *)sampi_part(s, 3); }

/* Returns the memory for a list of this draw. The bans follow it: each is a token and the position at which it is
   banned. */
static sampi_count *sampi_constraint_room(const sampi_sampler *s)
{
    return (sampi_count *)(void *)(sampi_constraint_window(s) + s->u.constraint.ring.cap);
}
static sampi_count *sampi_constraint_bans(const sampi_sampler *s)
{
    return sampi_constraint_room(s) + s->u.constraint.room;
}

/* Returns the token `back` positions before the newest, so 0 is the newest. It does what sampi_ring_at does without a
   division. */
static samp_token sampi_constraint_back(const sampi_sampler *s, uint32_t back)
{
    const sampi_ring *r = &s->u.constraint.ring;
    return sampi_constraint_window(s)[r->head > back ? r->head - 1 - back : r->head + r->cap - 1 - back];
}

/* Returns the first position in [back, end), counted back from the newest token, that has this token. If there is none,
   returns `end`. */
static uint32_t sampi_constraint_find(const sampi_sampler *s, uint32_t back, uint32_t end, samp_token token)
{
    const sampi_ring *r = &s->u.constraint.ring;
    const samp_token *window = sampi_constraint_window(s);
    for (; back < end && back < r->head; back++)
        if (window[r->head - 1 - back] == token) return back;
    for (; back < end; back++)
        if (window[r->head + r->cap - 1 - back] == token) return back;
    return end;
}

/* Lists the tokens that followed earlier occurrences of the newest m tokens among the newest `size`, in order, each
   once. Returns their number. If list is NULL, it only returns whether there is such a token. */
static uint32_t sampi_constraint_followers(const sampi_sampler *s, uint32_t size, uint32_t m, sampi_count *list)
{
    const uint32_t end = size > m ? size - m + 1 : 1;
    uint32_t n = 0, kept = 0;
    for (uint32_t back = 1; back < end; back++) {
        uint32_t k = 1;
        if (m) back = sampi_constraint_find(s, back, end, sampi_constraint_back(s, 0));
        if (back == end) break;
        while (k < m && sampi_constraint_back(s, back + k) == sampi_constraint_back(s, k)) k++;
        if (k < m) continue;
        if (!list) return 1;
        list[n].token = sampi_constraint_back(s, back - 1);
        list[n++].count = 0;
    }
    if (list) sampi_count_sort(list, n);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || list[i].token != list[i - 1].token) list[kept++] = list[i];
    return kept;
}

/* Returns the smallest period with which the newest `size` tokens end, or 0 if they end with no loop. */
static uint32_t sampi_constraint_period(const sampi_sampler *s, uint32_t size)
{
    for (uint32_t p = (uint32_t)s->u.constraint.shortest; p <= (uint32_t)s->u.constraint.longest; p++) {
        uint64_t same = (uint64_t)p * (uint32_t)(s->u.constraint.copies - 1), k = 0;
        if (same + p > size) return 0;
        while (k < same && sampi_constraint_back(s, (uint32_t)k) == sampi_constraint_back(s, (uint32_t)k + p)) k++;
        if (k == same) return p;
    }
    return 0;
}
