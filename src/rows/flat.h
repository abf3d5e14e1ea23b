/* ---- the members of a chain ----
   A chain as one flat list of samplers, in which the members of inner chains take the place of these chains. The
   executors for rows, slices and the GPU use it. */

/* Lists all members of a chain and of its inner chains, in order, from member[n] on; returns the new n. -1: the list
   would be longer than SAMPI_MOST_MEMBERS, or some members compute as llama.cpp does and others do not; such chains run
   step by step. */
#define SAMPI_MOST_MEMBERS 256

static int sampi_row_members(sampi_sampler *s, sampi_sampler **member, int n)
{
    for (int32_t i = 0, all = sampi_n_active(s); i < all && n >= 0; i++)
        n = sampi_row_members(s->u.chain.item[i], member, n);
    if (n < 0 || sampi_is_chain(s) || sampi_is_clock(s)) return n;
    if (n == SAMPI_MOST_MEMBERS || (n > 0 && sampi_rng_differs(s, member[0]))) return -1;
    member[n] = s;
    return n + 1;
}

/* The members of a chain as one list, for the fast path. */
typedef struct sampi_flat_chain {
    sampi_sampler *member[SAMPI_MOST_MEMBERS]; /* [n_members] all members, in order */
    sampi_sampler *list[SAMPI_MOST_MEMBERS];   /* [n] members that are on, but no softmax: it only sorts and sets p */
    int n_members;                             /* -1: the chain has to run step by step */
    int n;
    bool whole; /* the list makes a whole draw: it has no custom sampler, and only its last member selects */
} sampi_flat_chain;

/* Lists the members of s, and those that the fast path runs. */
static void sampi_row_make_flat(sampi_flat_chain *flat, sampi_sampler *s)
{
    flat->n_members = sampi_row_members(s, flat->member, 0);
    flat->n = 0;
    flat->whole = false;
    const sampi_sampler *done = sampi_life_first_mask(s); /* not listed: the row has this member's mask already */
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

/* Returns a chain's last member that takes part in a draw: if it selects, its token is the chain's. Without any it is
   the chain itself. */
static sampi_sampler *sampi_row_selector(sampi_sampler *s)
{
    for (int32_t i = sampi_n_active(s); i > 0; i--) {
        sampi_sampler *item = s->u.chain.item[i - 1];
        if (sampi_is_chain(item) ? sampi_n_active(item) > 0 : !sampi_idles(item)) return sampi_row_selector(item);
    }
    return s;
}

/* Does a chain's draw leave no choice? */
static bool sampi_row_selects_greedily(sampi_sampler *s) { return sampi_row_selector(s)->kind == SAMPI_GREEDY; }

/* Returns the token that a replay gives, whatever is selected; -1 if the chain does not end with one. */
static samp_token sampi_row_replayed(sampi_sampler *s)
{
    s = sampi_row_selector(s);
    return s->kind == SAMPI_REPLAY ? sampi_replay_token(s) : -1;
}
