/* ---- the members of a chain ----
   A chain as a flat list, chains in it included: what rows, slices and the GPU walk through. */

/* All members of a chain, of chains in it too, in order: how many; -1: more than SAMPI_PLAN, or not all in one
   arithmetic. These go step by step. */
#define SAMPI_PLAN 256

static int sampi_members(sampi_sampler *s, sampi_sampler **member, int n)
{
    for (int32_t i = 0, all = sampi_n_at_work(s); i < all && n >= 0; i++)
        n = sampi_members(s->u.chain.item[i], member, n);
    if (n < 0 || sampi_is_chain(s) || sampi_is_clock(s)) return n;
    if (n == SAMPI_PLAN || (n > 0 && sampi_rng_differs(s, member[0]))) return -1;
    member[n] = s;
    return n + 1;
}

/* What the fast path has to do for a chain: its members that do something, softmax left out, which only sorts and sets
   p. With a custom sampler among them, or one behind the selection, it is none that is whole. */
typedef struct sampi_plan {
    sampi_sampler *member[SAMPI_PLAN]; /* [n_members], of chains in the chain too, in order */
    sampi_sampler *list[SAMPI_PLAN];   /* [n] those of them to be done */
    int n_members;                     /* -1: sampi_members has none; these go step by step */
    int n;
    bool whole; /* list goes from the logits to a token */
} sampi_plan;

static void sampi_plan_chain(sampi_plan *plan, sampi_sampler *s)
{
    plan->n_members = sampi_members(s, plan->member, 0);
    plan->n = 0;
    plan->whole = false;
    const sampi_sampler *done = sampi_first_mask(s); /* it is in the row's mask */
    for (int i = 0; i < plan->n_members; i++) {
        sampi_sampler *member = plan->member[i];
        if (member->off || member == done) continue;
        if (sampi_is_custom(member) || plan->whole) {
            plan->whole = false;
            return;
        }
        unsigned flags = sampi_traits_of(member->kind)->flags;
        if (flags & SAMPI_ONLY_SHOWS) continue;
        plan->list[plan->n++] = member;
        plan->whole = (flags & SAMPI_SELECTS) != 0;
    }
}
