/* ---- windows of accepted tokens ----
   The rings of penalties, dry and chains, and the sorted lists that the first two make of theirs. Here, before the
   record, which holds rings; chains and saved states use them as well. */

/* The last `cap` tokens, of which `size` are there; head: where the next one goes. The array itself is part 0 of
   penalties and dry, and prev of a chain. */
typedef struct sampi_ring {
    uint32_t cap, size, head;
} sampi_ring;

/* A token and a number that belongs to it: how often it is in a window (penalties), or how long the repetition is that
   it would continue (dry). */
typedef struct sampi_count {
    samp_token token;
    int32_t count;
} sampi_count;

/* The token `back` places ago, 0 = the newest; back < size. Reads only. */
static samp_token sampi_ring_at(const sampi_ring *r, const samp_token *token, uint32_t back)
{
    return token[(r->head + r->cap - 1 - back) % r->cap];
}

/* Put x in, the newest: an accepted token, or on a device one that the GPU's steps have drawn. Returns the token
   that falls out, which penalties must stop counting, or -1 (of a window of 0, x itself). */
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

/* Where a token's entry is, or belongs, in a list [n] of counts. Reads only. */
static uint32_t sampi_count_find(const sampi_count *list, uint32_t n, samp_token token)
{
    return (uint32_t)sampi_find_token(list, sizeof *list, n, token);
}

/* The entry of a token, made with count 0 if there is none; then *n grows, and the list must have room, as those
   of penalties do: it is as long as the window. For penalties' accept. */
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

/* Records in order of the bits from `bit` down, in place: those without the bit before those with it, then each half by
   the next one. */
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

/* Records in order of their tokens: a walk over them for each bit of a token, whatever order they are in, and no room
   beside them. For dry's list, and for counts that are made again from a window. */
static void sampi_count_sort(sampi_count *list, uint32_t n)
{
    uint32_t differ = 0, bit = (uint32_t)1 << 30;
    for (uint32_t i = 1; i < n; i++) differ |= (uint32_t)(list[i].token ^ list[0].token);
    while (bit > differ) bit >>= 1;
    sampi_count_sort_from(list, n, bit);
}
