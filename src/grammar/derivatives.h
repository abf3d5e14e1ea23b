/* ---- derivatives: what may follow a byte ----
   The derivative of a node by a byte is a node too: it matches the rests of the node's texts that begin with this byte.
   The deriver has what the computation needs: a tree that grows, a stack, a memo (a cache of derivatives), and limits
   on memory and steps. A matcher has a deriver (matcher.h), and the reader of schemas has one (schema/formats.h).

   SEQ nodes nest only on the right and alternatives are sorted. So equal sets of texts are nearly always the same node,
   and a matcher has few states. */

/* One entry of the memo: `result` is the derivative of `node` by `byte`. */
typedef struct sampi_memo {
    sampi_node node, result;
    int32_t byte;
} sampi_memo;

#ifndef SAMPI_MEMO /* tests set a smaller number */
/* the most derivatives in the memo (their cache), a power of two; fewer if the memory limit is small */
#define SAMPI_MEMO 4096
#endif

/* A hash set of pairs (a, b). Slots of earlier rounds are free, so a new round number empties the set. */
typedef struct sampi_pairs {
    sampi_vec slots; /* 2^k slots of the hash set, each { round, a, b } */
    int32_t n, round;
} sampi_pairs;

typedef struct sampi_deriver {
    sampi_tree tree;
    const sampi_byte_classes *bytes; /* classes of bytes that the tree treats alike */
    sampi_vec work;                  /* a stack of nodes, for sampi_grammar_derive and other functions */
    sampi_memo *memo;                /* [n_memo] the cache of derivatives, which is made when it is first needed */
    int32_t n_memo;
    sampi_pairs queued; /* the nodes that sampi_grammar_search_match has reached */
    int32_t last;       /* the class of the byte with which sampi_grammar_search_match last found a text */
    int status;         /* the first error of the current call, or SAMP_OK */
    int64_t budget;     /* how many steps the current call may still take */
    int64_t charged;    /* how many steps sampi_grammar_charge has counted in all */
    /* the memory account of the deriver and its owner, as of a whole matcher without its sampler */
    sampi_account account;
} sampi_deriver;

/* Records an error, unless the current call has one already. The call goes on with nodes that match no text, and
   returns the error at its end. SAMP_E_NOMEM is recorded as SAMP_E_FULL if the memory limit was reached. */
static void sampi_grammar_fault(sampi_deriver *d, int status)
{
    if (!d->status) d->status = status == SAMP_E_NOMEM && d->account.full ? (int)SAMP_E_FULL : status;
}
/* Charges work that is not a loop of steps: `steps` is the number of steps that take about the same time. */
static void sampi_grammar_charge(sampi_deriver *d, int32_t steps)
{
    d->budget -= steps;
    d->charged += steps;
}

/* Charges the steps for finding or making node n, more if the nodes exceed a CPU's cache. Returns n; or NEVER if n is a
   status, which is recorded as an error. */
static sampi_node sampi_grammar_checked_node(sampi_deriver *d, sampi_node n)
{
    const int32_t nodes = d->tree.nodes.n;
    sampi_grammar_charge(d, nodes < 1 << 14 ? 3 : nodes < 1 << 18 ? 8 : 14);
    if (n >= 0) return n;
    sampi_grammar_fault(d, n == SAMP_E_NOMEM ? (int)SAMP_E_NOMEM : (int)SAMP_E_FULL);
    return SAMPI_NEVER;
}
static void *sampi_grammar_append(sampi_deriver *d, sampi_vec *vec, size_t width, int32_t n)
{
    const int32_t cap = vec->cap;
    void *room = sampi_grammar_vec_add(vec, width, n);
    if (vec->cap != cap) sampi_grammar_charge(d, (int32_t)(vec->size / 128));
    if (!room) sampi_grammar_fault(d, SAMP_E_NOMEM);
    return room;
}

static void sampi_grammar_pairs_clear(sampi_pairs *p)
{
    p->n = 0;
    if (p->round == INT32_MAX) { /* restarts the round numbers, and clears the slots, which have old numbers */
        if (p->slots.n) memset(p->slots.data, 0, (size_t)p->slots.n * 4);
        p->round = 0;
    }
    p->round++;
}

/* Adds the pair (a, b). Returns whether it is new. If there is no memory, returns false and records an error. */
static bool sampi_grammar_pairs_add(sampi_deriver *d, sampi_pairs *p, int32_t a, int32_t b)
{
    /* doubles the hash table, and enters the pairs of the current round again */
    if (3 * (2 * p->n + 2) > p->slots.n) {
        sampi_vec old = p->slots;
        p->slots = sampi_grammar_vec_like(&old);
        if (!sampi_grammar_append(d, &p->slots, 4, old.n ? 2 * old.n : 3 * 64)) {
            p->slots = old;
            return false;
        }
        memset(p->slots.data, 0, (size_t)p->slots.n * 4);
        p->n = 0;
        for (int32_t i = 0; i < old.n; i += 3) {
            const int32_t *s = (const int32_t *)old.data + i;
            if (s[0] == p->round) sampi_grammar_pairs_add(d, p, s[1], s[2]);
        }
        sampi_grammar_vec_free(&old);
    }
    uint32_t mask = (uint32_t)p->slots.n / 3 - 1, i = ((uint32_t)a * 0x9E3779B1u ^ (uint32_t)b * 0x85EBCA77u);
    for (i = (i ^ i >> 15) & mask;; i = (i + 1) & mask) {
        int32_t *s = (int32_t *)p->slots.data + 3 * (size_t)i;
        if (s[0] != p->round) {
            s[0] = p->round;
            s[1] = a;
            s[2] = b;
            p->n++;
            return true;
        }
        if (s[1] == a && s[2] == b) return false;
    }
}

/* Counts one step of work. Returns false if the limit of steps is exceeded, or if an error was recorded before. */
static bool sampi_grammar_step(sampi_deriver *d)
{
    if (--d->budget < 0) sampi_grammar_fault(d, SAMP_E_FULL);
    return !d->status;
}

static sampi_node sampi_grammar_work_pop(sampi_deriver *d) { return ((sampi_node *)d->work.data)[--d->work.n]; }
static void sampi_grammar_work_push(sampi_deriver *d, sampi_node n)
{
    sampi_node *at = (sampi_node *)sampi_grammar_append(d, &d->work, sizeof *at, 1);
    if (at) *at = n;
}
/* Pushes both nodes, or none of them if there is no memory. */
static void sampi_grammar_work_push_pair(sampi_deriver *d, sampi_node a, sampi_node b)
{
    sampi_node *at = (sampi_node *)sampi_grammar_append(d, &d->work, sizeof *at, 2);
    if (!at) return;
    at[0] = a;
    at[1] = b;
}

static sampi_memo *sampi_grammar_memo_of(const sampi_deriver *d, sampi_node n, int32_t byte)
{
    return &d->memo[((uint32_t)n * 0x9E3779B1u ^ (uint32_t)byte * 0x85EBCA77u) >> 7 & ((uint32_t)d->n_memo - 1)];
}

/* Makes an empty memo; it takes at most a sixteenth of the memory limit, unless that is below 64 entries. */
static bool sampi_grammar_memo_make(sampi_deriver *d)
{
    int32_t n = SAMPI_MEMO;
    const size_t most = SAMPI_SIZE_GET(&(d->account.all ? d->account.all : &d->account)->most);
    while (n > 64 && (size_t)n * sizeof *d->memo > most / 16) n /= 2;
    d->memo = (sampi_memo *)sampi_grammar_account_allocate(&d->account, (size_t)n * sizeof *d->memo);
    if (!d->memo) {
        sampi_grammar_fault(d, SAMP_E_NOMEM);
        return false;
    }
    memset(d->memo, 0xff, (size_t)n * sizeof *d->memo);
    d->n_memo = n;
    return true;
}
static void sampi_grammar_memo_free(sampi_deriver *d)
{
    sampi_grammar_account_free(&d->account, d->memo, (size_t)d->n_memo * sizeof *d->memo);
    d->memo = NULL;
}

/* Returns n; if n refers to a rule that is not called, returns the rule's body instead, and of a PLACED node what it
   is. That is kept in the memo as the derivative by a byte that does not exist. */
static sampi_node sampi_grammar_inlined(sampi_deriver *d, sampi_node n)
{
    enum { MEMO_PLACED = 258, PATIENCE = 64 };
    for (;;) {
        const sampi_expr e = *sampi_grammar_at(&d->tree, n);
        if (e.kind != SAMPI_NODE_PLACED) {
            if (!sampi_grammar_is_inline(&d->tree, &e)) return n;
            n = sampi_grammar_rule_at(&d->tree, e.a)->body;
            continue;
        }
        if (d->status || (!d->memo && !sampi_grammar_memo_make(d))) return SAMPI_NEVER;
        sampi_memo *memo = sampi_grammar_memo_of(d, n, MEMO_PLACED);
        if (memo->node != n || memo->byte != MEMO_PLACED) {
            sampi_resolving placing = { &d->tree, PATIENCE, 0 };
            memo->result = sampi_grammar_checked_node(d, sampi_grammar_resolve(&placing, e.a, e.b));
            memo->node = d->status ? -1 : n;
            memo->byte = MEMO_PLACED;
            sampi_grammar_charge(d, PATIENCE - placing.patience);
        }
        n = memo->result;
    }
}

/* Returns the sequence a, then b, in the form that nests on the right, even if a nests on the left. */
static sampi_node sampi_grammar_join_sequence(sampi_deriver *d, sampi_node a, sampi_node b)
{
    if (sampi_grammar_at(&d->tree, a)->kind != SAMPI_NODE_SEQ)
        return sampi_grammar_checked_node(d, sampi_tree_seq(&d->tree, a, b));
    int32_t first = d->work.n;
    sampi_grammar_work_push(d, a);
    while (d->work.n > first && sampi_grammar_step(d)) { /* joins the parts of a to b, the last part first */
        sampi_node n = sampi_grammar_work_pop(d);
        const sampi_expr *e = sampi_grammar_at(&d->tree, n);
        if (e->kind == SAMPI_NODE_SEQ) {
            sampi_node left = e->a, right = e->b;
            sampi_grammar_work_push(d, left);
            sampi_grammar_work_push(d, right);
        } else {
            b = sampi_grammar_checked_node(d, sampi_tree_seq(&d->tree, n, b));
        }
    }
    d->work.n = first;
    return b;
}

static void sampi_grammar_sort_nodes(sampi_node *n, int32_t count)
{
    for (int32_t gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int32_t i = gap; i < count; i++) {
            sampi_node x = n[i];
            int32_t j = i;
            for (; j >= gap && n[j - gap] > x; j -= gap) n[j] = n[j - gap];
            n[j] = x;
        }
}

/* If an alternative begins with any number of characters of a class, replaces the alternatives whose texts it contains
   by NEVER. The nodes are sorted: an alternative that contains others is mostly a part of them, so it comes before
   them. */
static void sampi_grammar_drop_contained(sampi_deriver *d, sampi_node *n, int32_t count)
{
    enum { COVERS = 4 };
    sampi_cover cover;
    for (int32_t i = 0, covers = 0; i < count && covers < COVERS; i++) {
        if (n[i] == SAMPI_NEVER || !sampi_grammar_cover_of(&d->tree, n[i], &cover)) continue;
        covers++;
        const bool everything = sampi_grammar_is_everything(&d->tree, n[i]);
        for (int32_t k = 0; k < count; k++) {
            const int32_t patience = cover.patience = 64;
            if (n[k] != cover.whole && n[k] != SAMPI_NEVER &&
                (everything || sampi_grammar_is_covered(&d->tree, n[k], &cover)))
                n[k] = SAMPI_NEVER;
            sampi_grammar_charge(d, (patience - cover.patience) / 4);
        }
    }
}

/* A sequence that begins with a repetition: at least `least` and at most `most` times `one`, followed by `rest`.
   Anything that is not repeated comes once. */
typedef struct sampi_counted {
    sampi_node one, rest;
    int32_t least, most; /* most: INT32_MAX if there is no upper bound */
} sampi_counted;

static sampi_counted sampi_grammar_counted_of(const sampi_tree *t, sampi_node n)
{
    const sampi_expr *e = sampi_grammar_at(t, n), *first = e->kind == SAMPI_NODE_SEQ ? sampi_grammar_at(t, e->a) : e;
    sampi_counted c = { e->kind == SAMPI_NODE_SEQ ? e->a : n, e->kind == SAMPI_NODE_SEQ ? e->b : SAMPI_EMPTY, 1, 1 };
    if (first->kind != SAMPI_NODE_REPEAT) return c;
    c.one = first->a;
    c.least = sampi_grammar_at(t, first->a)->facts & SAMPI_FACT_EMPTY ? 0 : first->b;
    c.most = first->c < 0 ? INT32_MAX : first->c;
    return c;
}

/* Returns one node for the texts of x and of y, if these differ only in how often their parts are repeated, and the
   numbers of repetitions join to one range: of a{2,4}b and a{3,7}b, a{2,7}b. Otherwise returns -1. */
static sampi_node sampi_grammar_join_counts(sampi_deriver *d, sampi_node x, sampi_node y)
{
    enum { PARTS = 16 };
    sampi_tree *t = &d->tree;
    const sampi_node whole[2] = { x, y };
    sampi_counted part[PARTS];
    bool in_y = true, in_x = true, touch = true; /* the numbers of x are among those of y, or the other way round */
    int32_t n = 0, n_differ = 0;
    for (; x != y; n++) {
        sampi_counted a = sampi_grammar_counted_of(t, x), b = sampi_grammar_counted_of(t, y);
        const sampi_counted none_a = { b.one, x, 0, 0 }, none_b = { a.one, y, 0, 0 };
        if (n == PARTS) return -1;
        if (a.rest == y && a.most > 1)
            b = none_b;
        else if (b.rest == x && b.most > 1)
            a = none_a;
        else if (a.one != b.one)
            return -1;
        x = a.rest;
        y = b.rest;
        in_y &= a.least >= b.least && a.most <= b.most;
        in_x &= b.least >= a.least && b.most <= a.most;
        touch &= a.least - 1 <= b.most && b.least - 1 <= a.most;
        n_differ += a.least != b.least || a.most != b.most;
        if (n_differ > 1 && !in_y && !in_x) return -1;
        part[n] = a;
        if (b.least < a.least) part[n].least = b.least;
        if (b.most > a.most) part[n].most = b.most;
    }
    sampi_grammar_charge(d, n);
    if (in_y || in_x) return whole[in_y];
    if (!touch) return -1;
    while (n-- > 0) {
        const int32_t most = part[n].most == INT32_MAX ? -1 : part[n].most;
        x = sampi_grammar_checked_node(d,
                                       sampi_tree_seq(t, sampi_tree_repeat(t, part[n].one, part[n].least, most), x));
    }
    return x;
}

/* Joins alternatives that differ only in how often their parts are repeated. Without this, an ambiguous repetition that
   is counted would have an alternative for each number that is possible. Alternatives that were joined with others
   become NEVER. Returns whether any were joined. */
static bool sampi_grammar_join_all_counts(sampi_deriver *d, sampi_node *n, int32_t count)
{
    enum { TRIES = 1 << 12 };
    int32_t tries = 0;
    bool joined = false;
    for (int32_t i = 0; i < count && tries < TRIES; i++) {
        bool again = false; /* n[i] was joined with another one, and may now touch what it did not touch before */
        if (!(sampi_grammar_at(&d->tree, n[i])->facts & SAMPI_FACT_COUNT)) continue;
        for (int32_t k = 0; k < count && tries < TRIES; k++) {
            if (n[k] == SAMPI_NEVER || n[k] == n[i]) continue;
            if (k < i && !again && (sampi_grammar_at(&d->tree, n[k])->facts & SAMPI_FACT_COUNT)) continue;
            tries++;
            const sampi_node both = sampi_grammar_join_counts(d, n[i], n[k]);
            if (both < 0 || d->status) continue;
            n[k] = SAMPI_NEVER;
            n[i] = both;
            joined = again = true;
            k = -1;
        }
    }
    sampi_grammar_charge(d, tries / 4);
    return joined;
}

/* Joins the alternatives on the stack from index `first` on into one node, and removes them from the stack. */
static sampi_node sampi_grammar_join_alternatives(sampi_deriver *d, int32_t first)
{
    sampi_node *n = (sampi_node *)sampi_grammar_vec_at(&d->work, sizeof *n, first), all = SAMPI_NEVER;
    int32_t count = d->work.n - first;
    d->work.n = first;
    if (d->status) return SAMPI_NEVER;
    sampi_grammar_charge(d, count);
    sampi_grammar_sort_nodes(n, count);
    int32_t counts = 0;
    for (int32_t i = 0; i < count && count > 1; i++)
        counts |= sampi_grammar_at(&d->tree, n[i])->facts & SAMPI_FACT_COUNT;
    if (counts && sampi_grammar_join_all_counts(d, n, count)) sampi_grammar_sort_nodes(n, count);
    if (count > 1) sampi_grammar_drop_contained(d, n, count);
    for (int32_t i = count - 1; i >= 0; i--) /* leaves out duplicates, which are neighbours in the sorted list */
        if (i == count - 1 || n[i] != n[i + 1])
            all = sampi_grammar_checked_node(d, sampi_tree_alt(&d->tree, n[i], all));
    return all;
}

/* Pushes the alternatives of n on the stack, or n itself if it is not an ALT. */
static void sampi_grammar_push_alternatives(sampi_deriver *d, sampi_node n)
{
    for (; sampi_grammar_at(&d->tree, n)->kind == SAMPI_NODE_ALT && sampi_grammar_step(d);
         n = sampi_grammar_at(&d->tree, n)->b)
        sampi_grammar_work_push(d, sampi_grammar_at(&d->tree, n)->a);
    if (n != SAMPI_NEVER) sampi_grammar_work_push(d, n);
}

/* Returns the SEEN node for the members of a list of n that have come (`seen`), and one more member. */
static sampi_node sampi_grammar_seen_with(sampi_deriver *d, sampi_node seen, int32_t n, int32_t member)
{
    int32_t status;
    size_t n_bytes = (size_t)(n + 7) / 8;
    uint8_t *bytes = sampi_tree_pool_room(&d->tree, n_bytes, &status);
    if (!bytes) return sampi_grammar_checked_node(d, status);
    const int32_t at = (int32_t)(bytes - (const uint8_t *)d->tree.pool.data);
    if (seen == SAMPI_EMPTY)
        memset(bytes, 0, n_bytes);
    else
        memcpy(bytes, sampi_grammar_bytes_at(&d->tree, sampi_grammar_at(&d->tree, seen)->a), n_bytes);
    bytes[member / 8] |= (uint8_t)(1u << member % 8);
    if (!d->tree.growth) return sampi_grammar_checked_node(d, sampi_tree_pool_end(&d->tree, SAMPI_NODE_SEEN, at));
    const sampi_node node = sampi_tree_node(&d->tree, SAMPI_NODE_SEEN, at, (int32_t)n_bytes, 0);
    /* an equal set exists; the new bytes are given back if nothing was added behind them */
    if (node < 0 || sampi_grammar_at(&d->tree, node)->a != at)
        (void)SAMPI_INT_CAS(&d->tree.growth->n_pool, at + (int32_t)n_bytes, at);
    return sampi_grammar_checked_node(d, node);
}

/* Returns whether member i of a list may come as far as witnesses matter. A witness may come if its slot is open, no
   earlier witness has its kind of name, and the other open slots can still get different kinds. */
static bool sampi_grammar_slot_takes(const sampi_list_progress *p, int32_t i)
{
    const int32_t first = p->list.n - p->list.slots * SAMPI_KINDS_OF_NAMES;
    uint32_t open[SAMPI_MAX_SLOTS], kind;
    int32_t n = 0;
    bool found = i < first;
    if (found) return true;
    kind = (uint32_t)1 << (i - first) % SAMPI_KINDS_OF_NAMES;
    for (int32_t k = 0; k < p->n_open; k++)
        if (p->slot[k] == (i - first) / SAMPI_KINDS_OF_NAMES)
            found = (p->open[k] & kind) != 0;
        else
            open[n++] = p->open[k];
    return found && !(p->taken & kind) && sampi_grammar_slots_fit(open, n, p->taken | kind);
}

/* Returns the rule to call for member i of a list (i = n: a member that is not listed) if this member may come next,
   else NEVER. The bound on the number of members must leave room for all that must still come. */
static sampi_node sampi_grammar_list_takes(const sampi_tree *t, const sampi_list_progress *p, int32_t i)
{
    const int64_t room = (int64_t)p->list.most - p->count - 1;
    if (room < 0) return SAMPI_NEVER;
    if (i == p->list.n) return p->must_come <= room ? p->list.other : (sampi_node)SAMPI_NEVER;
    if (sampi_grammar_has_seen(t, p->seen, i) || p->must_come - p->member[i].required > room ||
        !sampi_grammar_slot_takes(p, i))
        return SAMPI_NEVER;
    if (p->list.other == SAMPI_NEVER && p->count + p->may_come < p->list.least) return SAMPI_NEVER;
    return sampi_grammar_is_dead(t, p->member[i].node) ? (sampi_node)SAMPI_NEVER : p->member[i].node;
}

/* Returns what may follow a member in its list: the separator and the rest of the list. Returns NEVER if no member can
   follow, or if n is not the node directly behind a member. */
static sampi_node sampi_grammar_list_more(sampi_deriver *d, sampi_node n)
{
    const sampi_expr e = *sampi_grammar_at(&d->tree, n);
    if (e.c == 0 || (e.c & 1)) return SAMPI_NEVER;
    const sampi_list_progress p = sampi_grammar_list_progress_of(&d->tree, &e);
    sampi_grammar_charge(d, p.list.n / 4);
    for (int32_t i = 0; i <= p.list.n && sampi_grammar_step(d); i++)
        if (sampi_grammar_list_takes(&d->tree, &p, i) != SAMPI_NEVER)
            return sampi_grammar_join_sequence(
                d, p.list.separator,
                sampi_grammar_checked_node(d, sampi_tree_node(&d->tree, SAMPI_NODE_MEMBERS, e.a, e.b, e.c | 1)));
    return SAMPI_NEVER;
}

/* Returns what follows member i of the list with which the node `then` begins. Members are counted only as far as their
   number matters. */
static sampi_node sampi_grammar_list_behind(sampi_deriver *d, sampi_node then, int32_t i)
{
    const bool alone = sampi_grammar_at(&d->tree, then)->kind == SAMPI_NODE_MEMBERS;
    const sampi_expr seq = *sampi_grammar_at(&d->tree, then), e = alone ? seq : *sampi_grammar_at(&d->tree, seq.a);
    const sampi_list list = *((const sampi_list *)d->tree.lists.data + e.a);
    int32_t count = e.c / 2, most = list.most < INT32_MAX ? list.most : list.least > 1 ? list.least : 1;
    sampi_node seen = i < list.n ? sampi_grammar_seen_with(d, e.b, list.n, i) : e.b;
    sampi_node behind = sampi_grammar_checked_node(
        d, sampi_tree_node(&d->tree, SAMPI_NODE_MEMBERS, e.a, seen, 2 * (count < most ? count + 1 : most)));
    return alone ? behind : sampi_grammar_join_sequence(d, behind, seq.b);
}

/* Returns the rest of a repetition after one of its repetitions has been matched. */
static sampi_node sampi_grammar_repeat_rest(sampi_deriver *d, const sampi_expr *e)
{
    /* if one repetition may be empty, the others may be too, so no further one is required */
    bool empty = sampi_grammar_at(&d->tree, e->a)->facts & SAMPI_FACT_EMPTY;
    int32_t least = e->b == 0 || empty ? 0 : e->b - 1;
    return sampi_grammar_checked_node(d, sampi_tree_repeat(&d->tree, e->a, least, e->c < 0 ? -1 : e->c - 1));
}

/* Returns the first part of a sequence, through nested sequences and references. */
static sampi_node sampi_grammar_first_part(sampi_deriver *d, sampi_node n)
{
    for (n = sampi_grammar_inlined(d, n); sampi_grammar_at(&d->tree, n)->kind == SAMPI_NODE_SEQ;)
        n = sampi_grammar_inlined(d, sampi_grammar_at(&d->tree, n)->a);
    return n;
}

/* Returns whether a quick look shows that no text of n begins with the byte. Of many alternatives, most are refused
   so. */
static bool sampi_grammar_cannot_begin(sampi_deriver *d, sampi_node n, int32_t byte)
{
    n = sampi_grammar_first_part(d, n);
    const sampi_expr *e = sampi_grammar_at(&d->tree, n);
    if (e->kind == SAMPI_NODE_TEXT) return *sampi_grammar_bytes_at(&d->tree, e->a) != byte;
    return e->kind == SAMPI_NODE_SET && !(sampi_grammar_bytes_at(&d->tree, e->a)[byte / 8] >> byte % 8 & 1);
}

/* Returns the derivative of a MULTIPLE node by a byte. */
static sampi_node sampi_grammar_multiple_next(sampi_deriver *d, const sampi_expr *e, int32_t byte)
{
    const int32_t phase = e->c % 8, places = e->c / SAMPI_MULTIPLE_PLACE, ends = e->c & SAMPI_MULTIPLE_ENDS,
                  digit = byte - '0';
    const bool behind = phase >= SAMPI_MULTIPLE_POINT;
    int32_t next = behind ? SAMPI_MULTIPLE_BEHIND : SAMPI_MULTIPLE_WHOLE, left = places, rest = e->b;
    if (places == 0 && ends && (behind || byte == '.')) return SAMPI_NEVER;
    if (byte == '.' && (phase == SAMPI_MULTIPLE_ZERO || phase == SAMPI_MULTIPLE_WHOLE)) {
        next = SAMPI_MULTIPLE_POINT;
    } else {
        if (digit < 0 || digit > 9 || phase == SAMPI_MULTIPLE_ZERO) return SAMPI_NEVER;
        if (behind && places == 0 && digit > 0) return SAMPI_NEVER;
        if (phase == SAMPI_MULTIPLE_BEGINS && digit == 0) next = SAMPI_MULTIPLE_ZERO;
        if (!behind || places > 0) rest = (10 * rest + digit) % e->a;
        if (behind && places > 0) left--;
    }
    const sampi_node n = sampi_grammar_checked_node(
        d, sampi_tree_node(&d->tree, SAMPI_NODE_MULTIPLE, e->a, rest, SAMPI_MULTIPLE_PLACE * left + ends + next));
    return sampi_grammar_is_dead(&d->tree, n) ? (sampi_node)SAMPI_NEVER : n;
}

/* The progress of one derivative's computation. `whole` is the node to derive, and `now` is the part of it to look at
   next (-1: no part is left). The alternatives found so far are on the stack from index `first` on. `left` is the
   derivative of an AND's first part, or -1. */
typedef struct sampi_deriving {
    sampi_node whole, now, and_first;
    int32_t first;
} sampi_deriving;

/* Pushes alternatives until the derivative of a part is needed. Returns that part, or -1 if the derivative is
   complete. */
static sampi_node sampi_grammar_derive_on(sampi_deriver *d, sampi_deriving *it, int32_t byte)
{
    while (it->now >= 0 && sampi_grammar_step(d) && !sampi_grammar_cannot_begin(d, it->now, byte)) {
        const sampi_node n = sampi_grammar_inlined(d, it->now);
        const sampi_expr e = *sampi_grammar_at(&d->tree, n);
        it->now = n;
        switch (e.kind) {
            case SAMPI_NODE_TEXT: /* the text begins with the byte, because sampi_grammar_cannot_begin was false */
                sampi_grammar_push_alternatives(
                    d, e.b == 1 ? SAMPI_EMPTY
                                : sampi_grammar_checked_node(
                                      d, sampi_tree_node(&d->tree, SAMPI_NODE_TEXT, e.a + 1, e.b - 1, 0)));
                return -1;
            /* the byte is in the set, because sampi_grammar_cannot_begin was false */
            case SAMPI_NODE_SET: sampi_grammar_push_alternatives(d, SAMPI_EMPTY); return -1;
            case SAMPI_NODE_SEQ: {
                sampi_node a = sampi_grammar_inlined(d, e.a);
                if (sampi_grammar_at(&d->tree, a)->kind != SAMPI_NODE_SEQ) return a;
                it->now = sampi_grammar_join_sequence(d, a, e.b);
                continue;
            }
            case SAMPI_NODE_ALT:
                if (!sampi_grammar_cannot_begin(d, e.a, byte)) return e.a;
                it->now = e.b;
                continue;
            case SAMPI_NODE_REPEAT:
            case SAMPI_NODE_AND:
            case SAMPI_NODE_NOT: return e.a;
            /* an object's members are called as rules */
            case SAMPI_NODE_MEMBERS: it->now = sampi_grammar_list_more(d, n); continue;
            case SAMPI_NODE_MULTIPLE:
                sampi_grammar_push_alternatives(d, sampi_grammar_multiple_next(d, &e, byte));
                return -1;
            /* NEVER and EMPTY have no derivative; a token or a call does not begin with a byte */
            default: return -1;
        }
    }
    return -1;
}

/* Adds `part`, the derivative of the part that sampi_grammar_derive_on asked for, to the alternatives. Returns
   another part whose derivative is needed, or -1. */
static sampi_node sampi_grammar_derive_with(sampi_deriver *d, sampi_deriving *it, sampi_node part)
{
    const sampi_node n = it->now;
    const sampi_expr e = *sampi_grammar_at(&d->tree, n);
    it->now = -1;
    switch (e.kind) {
        case SAMPI_NODE_SEQ:
            sampi_grammar_push_alternatives(d, sampi_grammar_join_sequence(d, part, e.b));
            if (sampi_grammar_at(&d->tree, sampi_grammar_inlined(d, e.a))->facts & SAMPI_FACT_EMPTY) it->now = e.b;
            return -1;
        case SAMPI_NODE_ALT:
            sampi_grammar_push_alternatives(d, part);
            it->now = e.b;
            return -1;
        case SAMPI_NODE_REPEAT:
            sampi_grammar_push_alternatives(d,
                                            sampi_grammar_join_sequence(d, part, sampi_grammar_repeat_rest(d, &e)));
            return -1;
        case SAMPI_NODE_NOT:
            sampi_grammar_push_alternatives(
                d, sampi_grammar_checked_node(d, sampi_tree_node(&d->tree, SAMPI_NODE_NOT, part, 0, 0)));
            return -1;
        default: /* AND */
            if (it->and_first >= 0) {
                sampi_grammar_push_alternatives(
                    d, sampi_grammar_checked_node(d, sampi_tree_and(&d->tree, it->and_first, part)));
            } else if (part != SAMPI_NEVER) {
                it->and_first = part;
                it->now = n;
                return e.b;
            }
            return -1;
    }
}

/* Returns the derivative of n by a byte: a node for the rests of n's texts that begin with this byte. Without the memo,
   a rule that refers to a second rule twice, which refers to a third one twice, and so on, would take exponential time.
   Derivatives that wait for a part's derivative are on the stack, below its alternatives. */
static sampi_node sampi_grammar_derive(sampi_deriver *d, sampi_node n, int32_t byte)
{
    enum { SIZE = sizeof(sampi_deriving) / sizeof(sampi_node) };
    const int32_t bottom = d->work.n;
    sampi_deriving it = { -1, -1, -1, bottom };
    int32_t depth = 0;
    if (!d->memo && !sampi_grammar_memo_make(d)) return SAMPI_NEVER;
    for (;;) { /* computes the derivative of n, and returns to `it`, the derivative that needs n's */
        const sampi_memo *memo = sampi_grammar_memo_of(d, n, byte);
        sampi_node result = memo->node == n && memo->byte == byte ? memo->result : -1;
        if (result < 0) {
            sampi_deriving *room = depth++
                                       ? (sampi_deriving *)sampi_grammar_append(d, &d->work, sizeof(sampi_node), SIZE)
                                       : NULL;
            if (room) *room = it;
            it.whole = it.now = n;
            it.and_first = -1;
            it.first = d->work.n;
        }
        for (n = -1; n < 0;) {
            if (depth == 0) return result;
            if (result >= 0) n = sampi_grammar_derive_with(d, &it, result);
            if (n < 0) n = sampi_grammar_derive_on(d, &it, byte);
            if (n >= 0 && !d->status) break;
            result = sampi_grammar_join_alternatives(d, it.first);
            if (d->status) {
                d->work.n = bottom;
                return SAMPI_NEVER;
            }
            sampi_memo *made = sampi_grammar_memo_of(d, it.whole, byte);
            made->node = it.whole;
            made->byte = byte;
            made->result = result;
            if (--depth)
                it = *(const sampi_deriving *)sampi_grammar_vec_at(&d->work, sizeof(sampi_node), d->work.n -= SIZE);
        }
    }
}

/* The bytes of a node, in kinds: two bytes of one kind have the same derivative of the node. A kind is a set of 256
   bits, like a SET's. `patience` is the number of nodes that the computation may still visit. */
typedef struct sampi_byte_kinds {
    uint8_t set[256][32];
    uint8_t alone[32]; /* the bytes that are the only one of their kind */
    /* a cache of byte sets (positions in the pool) by which the kinds are split already; -1: no set */
    int32_t done[32];
    int32_t n, patience;
} sampi_byte_kinds;

/* Splits each kind of bytes that has bytes both inside and outside of a set into two kinds. */
static void sampi_grammar_split_kinds(sampi_byte_kinds *kinds, const uint8_t *bits)
{
    uint64_t set[4], old[4], in[4], out[4];
    memcpy(set, bits, sizeof set);
    for (int32_t k = kinds->n - 1; k >= 0; k--) {
        memcpy(old, kinds->set[k], sizeof old);
        for (int32_t i = 0; i < 4; i++) {
            in[i] = old[i] & set[i];
            out[i] = old[i] & ~set[i];
        }
        if (!(in[0] | in[1] | in[2] | in[3]) || !(out[0] | out[1] | out[2] | out[3])) continue;
        memcpy(kinds->set[k], in, sizeof in);
        /* 256 kinds are enough: there are at most as many kinds as bytes */
        memcpy(kinds->set[kinds->n++], out, sizeof out);
    }
}

static int32_t sampi_grammar_kind_with(const sampi_byte_kinds *kinds, uint8_t byte)
{
    int32_t k = 0;
    while (!(kinds->set[k][byte / 8] >> byte % 8 & 1)) k++;
    return k;
}

/* Splits the kinds of bytes by a set of one byte. */
static void sampi_grammar_split_byte(sampi_byte_kinds *kinds, uint8_t byte)
{
    const uint8_t bit = (uint8_t)(1u << byte % 8);
    if (kinds->alone[byte / 8] & bit) return;
    kinds->alone[byte / 8] |= bit;
    uint8_t *old = kinds->set[sampi_grammar_kind_with(kinds, byte)], *made = kinds->set[kinds->n];
    old[byte / 8] &= (uint8_t)~bit;
    bool others = false;
    for (int32_t i = 0; i < 32 && !others; i++) others = old[i] != 0;
    if (!others) { /* the kind had only this byte */
        old[byte / 8] |= bit;
        return;
    }
    memset(made, 0, 32);
    made[byte / 8] = bit;
    kinds->n++;
}

/* The reason for kinds: a derivative costs much more than a set operation. A grammar has about a hundred classes of
   bytes, but a single node mostly distinguishes few: a quote, a backslash, the lead bytes of longer characters, and all
   others. */

/* Splits the kinds of bytes by each byte and set on which the derivatives of n depend. Visits the same parts as
   sampi_grammar_derive_on. */
static void sampi_grammar_split_by_node(sampi_deriver *d, sampi_node n, sampi_byte_kinds *kinds)
{
    const int32_t bottom = d->work.n;
    sampi_grammar_work_push(d, n);
    while (d->work.n > bottom && --kinds->patience >= 0 && sampi_grammar_step(d)) {
        n = sampi_grammar_inlined(d, sampi_grammar_work_pop(d));
        const sampi_expr e = *sampi_grammar_at(&d->tree, n);
        switch (e.kind) {
            case SAMPI_NODE_TEXT:
                sampi_grammar_split_byte(
                    kinds, d->bytes->byte_of[d->bytes->class_of[*sampi_grammar_bytes_at(&d->tree, e.a)]]);
                break;
            case SAMPI_NODE_SET:
                if (kinds->done[e.a / 32 % 32] == e.a) break;
                kinds->done[e.a / 32 % 32] = e.a;
                sampi_grammar_charge(d, kinds->n / 4);
                sampi_grammar_split_kinds(kinds, sampi_grammar_bytes_at(&d->tree, e.a));
                break;
            case SAMPI_NODE_SEQ:
                if (sampi_grammar_at(&d->tree, sampi_grammar_inlined(d, e.a))->facts & SAMPI_FACT_EMPTY)
                    sampi_grammar_work_push(d, e.b);
                sampi_grammar_work_push(d, e.a);
                break;
            case SAMPI_NODE_ALT:
            case SAMPI_NODE_AND:
                sampi_grammar_work_push(d, e.b);
                sampi_grammar_work_push(d, e.a);
                break;
            case SAMPI_NODE_REPEAT:
            case SAMPI_NODE_NOT: sampi_grammar_work_push(d, e.a); break;
            case SAMPI_NODE_MEMBERS: sampi_grammar_work_push(d, sampi_grammar_list_more(d, n)); break;
            case SAMPI_NODE_MULTIPLE:
                for (int32_t b = '0'; b <= '9'; b++) sampi_grammar_split_byte(kinds, (uint8_t)b);
                sampi_grammar_split_byte(kinds, '.');
                break;
            default: break; /* the node does not begin with a byte */
        }
    }
    d->work.n = bottom;
}

/* Sets first [c] for each class of bytes c: the first class whose derivative of n is the same. If visiting n takes too
   long, each class is taken as different. */
static void sampi_grammar_find_byte_kinds(sampi_deriver *d, sampi_node n, uint8_t *first)
{
    enum { PATIENCE = 2000 };
    const sampi_byte_classes *bytes = d->bytes;
    sampi_byte_kinds kinds;
    for (int32_t i = 0; i < 32; i++) kinds.set[0][i] = bytes->firsts[i];
    memset(kinds.alone, 0, sizeof kinds.alone);
    memset(kinds.done, 0xff, sizeof kinds.done);
    kinds.n = 1;
    kinds.patience = PATIENCE;
    sampi_grammar_split_by_node(d, n, &kinds);
    sampi_grammar_charge(d, (bytes->n_classes + kinds.n) / 4);
    for (int32_t c = 0; c < bytes->n_classes; c++) first[c] = (uint8_t)c;
    for (int32_t k = 0; k < kinds.n && kinds.patience >= 0; k++) {
        /* (b * 0x17) >> 5 & 7 differs for each single bit b; place [] maps it to the bit's number */
        static const uint8_t place[8] = { 0, 1, 2, 4, 7, 3, 6, 5 };
        int32_t found = -1;
        for (uint32_t i = 0; i < 32; i++)
            for (uint32_t bits = kinds.set[k][i]; bits; bits &= bits - 1) {
                const int32_t c = bytes->class_of[8 * i + place[(bits & (0u - bits)) * 0x17 >> 5 & 7]];
                if (found < 0) found = c;
                first[c] = (uint8_t)found;
            }
    }
}
