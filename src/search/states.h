/* ---- search: states follow their beams ----
   After a step chain i has to have the state of chain parent[i]. The states are copied in place, from parent to
   child, in an order in which no state is overwritten before its last copy; where the parents form a circle, states are
   swapped. A sampler's state is in the bytes of its record and of the arrays behind it, as for a clone (life/copy.h),
   but a grammar's is in its matcher. Nothing is allocated, except where a grammar's arrays have to grow. */

/* Are two samplers made alike, so that one can take the other's state? Their settings' fingerprints are compared
   once, at the first step; this is what the copies rely on. */
static SAMPI_COLD bool sampi_are_alike(const sampi_sampler *a, const sampi_sampler *b)
{
    if (a->kind != b->kind || a->rng != b->rng || memcmp(a->part_size, b->part_size, sizeof a->part_size))
        return false;
#ifdef SAMPLING_GRAMMAR_DECLARED
    if (a->kind == SAMPI_GRAMMAR)
        return ((sampi_matcher *)a->base.ctx)->shared == ((sampi_matcher *)b->base.ctx)->shared;
#endif
    if (!sampi_is_chain(a)) return true;
    if (a->u.chain.n != b->u.chain.n || a->u.chain.ring.cap != b->u.chain.ring.cap) return false;
    for (int32_t i = 0; i < a->u.chain.n; i++)
        if (!sampi_are_alike(a->u.chain.item[i], b->u.chain.item[i])) return false;
    return true;
}

/* Copies n bytes from b to a, or swaps them. */
static void sampi_take_bytes(void *to, void *from, size_t n, bool swap)
{
    unsigned char *a = (unsigned char *)to, *b = (unsigned char *)from, piece[256];
    for (size_t at = 0, k; at < n; at += k) {
        k = n - at < sizeof piece ? n - at : sizeof piece;
        memcpy(piece, a + at, k);
        memcpy(a + at, b + at, k);
        if (swap) memcpy(b + at, piece, k);
    }
}

/* Gives s the state of `from`, or swaps both. Returns SAMP_OK or SAMP_E_NOMEM. */
static int sampi_take_state(sampi_sampler *s, sampi_sampler *from, bool swap)
{
    int status = SAMP_OK;
    sampi_edited(s);
    if (swap) sampi_edited(from);
    sampi_take_bytes(&s->position, &from->position, sizeof s->position, swap);
    sampi_take_bytes(&s->now, &from->now, sizeof s->now, swap);
    if (sampi_is_chain(s)) {
        sampi_take_bytes(&s->u.chain.ring, &from->u.chain.ring, sizeof s->u.chain.ring, swap);
        sampi_take_bytes(s->u.chain.prev, from->u.chain.prev, s->u.chain.ring.cap * sizeof(samp_token), swap);
        for (int32_t i = 0; i < s->u.chain.n && !status; i++)
            status = sampi_take_state(s->u.chain.item[i], from->u.chain.item[i], swap);
        return status;
    }
    sampi_take_bytes(&s->u, &from->u, sizeof s->u, swap);
    sampi_take_bytes(sampi_part(s, 0), sampi_part(from, 0), s->part[3] + s->part_size[3] - s->part[0], swap);
#ifdef SAMPLING_GRAMMAR_DECLARED
    if (s->kind != SAMPI_GRAMMAR) return SAMP_OK;
    if (!swap) return sampi_matcher_assign((sampi_matcher *)s->base.ctx, (const sampi_matcher *)from->base.ctx);
    sampi_take_bytes(&s->base.ctx, &from->base.ctx, sizeof s->base.ctx, true);
#endif
    return status;
}

/* Gives each of the first n chains the state of its parent's. uses [n_beams]: memory, for how many chains still wait
   for each state. parent[i] becomes -1 - parent[i] as soon as chain i is done, and is set right at the end. */
static int sampi_states_follow(samp_sampler *const *rows, int32_t *parent, int32_t n, int32_t *uses, int32_t n_beams)
{
    int status = SAMP_OK;
    memset(uses, 0, (size_t)n_beams * sizeof *uses);
    for (int32_t i = 0; i < n; i++) uses[parent[i]]++;
    for (int32_t i = 0; i < n; i++)
        for (int32_t at = i;
             at < n && uses[at] == 0 && parent[at] >= 0 && !status;) { /* no chain waits for its state */
            const int32_t from = parent[at];
            status = sampi_take_state((sampi_sampler *)rows[at], (sampi_sampler *)rows[from], false);
            parent[at] = -1 - from;
            uses[from]--;
            at = from;
        }
    for (int32_t i = 0; i < n && !status; i++) /* the rest are circles, of one chain or more */
        for (int32_t at = i; parent[at] >= 0 && !status;) {
            const int32_t from = parent[at];
            parent[at] = -1 - from;
            if (from == at || parent[from] < 0) break;
            status = sampi_take_state((sampi_sampler *)rows[at], (sampi_sampler *)rows[from], true);
            at = from;
        }
    for (int32_t i = 0; i < n; i++)
        if (parent[i] < 0) parent[i] = -1 - parent[i];
    return status;
}
