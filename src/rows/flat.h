/* ---- the members of a chain ----
   A chain as a flat list, with the members of inner chains: rows, slices and the GPU walk over it. */

/* Lists all members of a chain, of inner chains too, in order; returns their number. -1: more than SAMPI_MOST_MEMBERS,
   or not all in one arithmetic; such chains go step by step. */
#define SAMPI_MOST_MEMBERS 256

static int sampi_members(sampi_sampler *s, sampi_sampler **member, int n)
{
    for (int32_t i = 0, all = sampi_n_active(s); i < all && n >= 0; i++)
        n = sampi_members(s->u.chain.item[i], member, n);
    if (n < 0 || sampi_is_chain(s) || sampi_is_clock(s)) return n;
    if (n == SAMPI_MOST_MEMBERS || (n > 0 && sampi_rng_differs(s, member[0]))) return -1;
    member[n] = s;
    return n + 1;
}

/* A chain for the fast path: the members that are on, without softmax, which only sorts and sets p. */
typedef struct sampi_flat_chain {
    sampi_sampler *member[SAMPI_MOST_MEMBERS]; /* [n_members] all members, in order */
    sampi_sampler *list[SAMPI_MOST_MEMBERS];   /* [n] the members that the fast path runs */
    int n_members;                             /* -1: the chain goes step by step */
    int n;
    bool whole; /* list selects a token: no custom sampler, nothing after the selection */
} sampi_flat_chain;

static void sampi_make_flat(sampi_flat_chain *flat, sampi_sampler *s)
{
    flat->n_members = sampi_members(s, flat->member, 0);
    flat->n = 0;
    flat->whole = false;
    const sampi_sampler *done = sampi_first_mask(s); /* its mask is in the row already */
    for (int i = 0; i < flat->n_members; i++) {
        sampi_sampler *member = flat->member[i];
        if (member->off || member == done) continue;
        if (sampi_is_custom(member) || flat->whole) {
            flat->whole = false;
            return;
        }
        unsigned flags = sampi_traits_of(member->kind)->flags;
        if (flags & SAMPI_ONLY_SHOWS) continue;
        flat->list[flat->n++] = member;
        flat->whole = (flags & SAMPI_SELECTS) != 0;
    }
}
