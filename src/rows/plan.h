/* ---- the members of a chain ----
   A chain as a flat list, chains in it included: what rows, slices and the GPU walk through. */

/* All members of a chain, of chains in it too, in order: how many; -1: more than SAMPI_PLAN, or not all in one
   arithmetic. These go step by step. */
#define SAMPI_PLAN 256

static int sampi_members(sampi_sampler *s, sampi_sampler **member, int n)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n && n >= 0; i++)
        n = sampi_members(s->u.chain.item[i], member, n);
    if (n < 0 || sampi_is_chain(s)) return n;
    if (n == SAMPI_PLAN || (n > 0 && s->rng != member[0]->rng)) return -1;
    member[n] = s;
    return n + 1;
}
