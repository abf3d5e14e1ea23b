/* ---- the members of a chain ----
   A chain as a flat list, chains in it included: what rows, slices and the GPU walk through. */

/* All members of a chain, of chains in it too, in order: how many; -1: more than SAMPI_MOST_MEMBERS, or not all in one
   arithmetic. These go step by step. */
#define SAMPI_MOST_MEMBERS 256

static int sampi_members(sampi_sampler *s, sampi_sampler **member, int n)
{
    for (int32_t i = 0, all = sampi_n_at_work(s); i < all && n >= 0; i++)
        n = sampi_members(s->u.chain.item[i], member, n);
    if (n < 0 || sampi_is_chain(s) || sampi_is_clock(s)) return n;
    if (n == SAMPI_MOST_MEMBERS || (n > 0 && sampi_rng_differs(s, member[0]))) return -1;
    member[n] = s;
    return n + 1;
}

/* What the fast path has to do for a chain: its members that do something, softmax left out, which only sorts and sets
   p. With a custom sampler among them, or one behind the selection, it is none that is whole. */
typedef struct sampi_flat_chain {
    sampi_sampler *member[SAMPI_MOST_MEMBERS]; /* [n_members], of chains in the chain too, in order */
    sampi_sampler *list[SAMPI_MOST_MEMBERS];   /* [n] those of them to be done */
    int n_members;                             /* -1: sampi_members has none; these go step by step */
    int n;
    bool whole; /* list goes from the logits to a token */
} sampi_flat_chain;

static void sampi_make_flat(sampi_flat_chain *flat, sampi_sampler *s)
{
    flat->n_members = sampi_members(s, flat->member, 0);
    flat->n = 0;
    flat->whole = false;
    const sampi_sampler *done = sampi_first_mask(s); /* it is in the row's mask */
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
