/* ---- windows of accepted tokens ----
   Rings of the last accepted tokens, which penalties, dry and chains have, and sorted lists of counts, which penalties
   and dry make from their rings. This file comes before core/record.h, whose struct holds rings. Saved states use both
   too. */

/* A ring of the last `cap` tokens: `size` tokens are in it, and the next one is written at index `head`. The array of
   tokens is part 0 of penalties and dry, and `prev` of a chain. */
typedef struct sampi_ring {
    uint32_t cap, size, head;
} sampi_ring;

/* A token and a count: for penalties, how often the token is in the window; for dry, the length of the repetition that
   the token would continue. */
typedef struct sampi_count {
    samp_token token;
    int32_t count;
} sampi_count;

/* Returns the token that was added `back` tokens before the newest, so 0 is the newest; back < size. */
static samp_token sampi_ring_at(const sampi_ring *r, const samp_token *token, uint32_t back)
{
    return token[(r->head + r->cap - 1 - back) % r->cap];
}

/* Adds x as the newest token: a token that was accepted, or that a device has drawn. Returns the token that falls out
   of the ring, which penalties must stop counting; -1 if no token does; x itself if the ring has no room at all. */
static samp_token sampi_ring_push(sampi_ring *r, samp_token *token, samp_token x)
{
    samp_token old = -1;
    if (r->cap == 0) return x;
    if (r->size == r->cap)
        old = token[r->head];
    else
        r->size++;
    token[r->head] = x;
    r->head = (r->head + 1) % r->cap;
    return old;
}

/* Returns the index at which a token's entry is, or would be inserted, in a sorted list of n counts. */
static uint32_t sampi_count_find(const sampi_count *list, uint32_t n, samp_token token)
{
    return (uint32_t)sampi_find_token(list, sizeof *list, n, token);
}

/* Returns the entry of a token in a sorted list of *n counts. If there is no such entry, the function inserts one with
   count 0 and *n grows. The list must have room; the lists of penalties are as long as the window, so they have. */
static sampi_count *sampi_count_at(sampi_count *list, uint32_t *n, samp_token token)
{
    uint32_t i = sampi_count_find(list, *n, token);
    if (i == *n || list[i].token != token) {
        SAMPI_COUNT_STEPS(*n - i);
        memmove(&list[i + 1], &list[i], (*n - i) * sizeof *list);
        list[i].token = token;
        list[i].count = 0;
        (*n)++;
    }
    return &list[i];
}

/* Sorts n entries in place by the bits of their tokens, from `bit` down: entries without the bit first, then each half
   by the next bit (radix sort). */
static void sampi_count_sort_from(sampi_count *list, uint32_t n, uint32_t bit)
{
    for (; n > 1 && bit; bit >>= 1) {
        uint32_t with = 0, end = n;
        while (with < end) {
            SAMPI_COUNT_STEPS(1);
            if (!((uint32_t)list[with].token & bit)) {
                with++;
                continue;
            }
            sampi_count t = list[with];
            list[with] = list[--end];
            list[end] = t;
        }
        sampi_count_sort_from(list, with, bit >> 1);
        list += with;
        n -= with;
    }
}

/* Sorts n entries by their tokens, without memory, with one walk over them for each bit in which tokens differ. It
   sorts the list of dry, and counts that are made anew from a window. */
static void sampi_count_sort(sampi_count *list, uint32_t n)
{
    uint32_t differ = 0, bit = (uint32_t)1 << 30;
    for (uint32_t i = 1; i < n; i++) differ |= (uint32_t)(list[i].token ^ list[0].token);
    while (bit > differ) bit >>= 1;
    sampi_count_sort_from(list, n, bit);
}
