/* ---- derivatives: what may follow a byte ----
   The input is a node of a tree and a byte. The output is the node of what may follow that byte, in the same tree. The
   deriver holds what this needs: a tree that grows, a stack, a memo, and limits on memory and steps. A matcher has one
   (matcher.h), and so has the reader of schemas (schema/formats.h).

   Sequences lean to the right and alternatives are sorted, so that equal sets of texts nearly always are the same node,
   and there are few states. */

/* A derivative that is remembered. */
typedef struct sampi_memo {
    sampi_node node, result;
    int32_t byte;
} sampi_memo;

#ifndef SAMPI_MEMO      /* tests set fewer */
#define SAMPI_MEMO 4096 /* derivatives that are remembered, if memory allows: a power of two */
#endif

/* A set of pairs. A new round number empties it. */
typedef struct sampi_pairs {
    sampi_vec slots; /* 2^k times { round, a, b } */
    int32_t n, round;
} sampi_pairs;

typedef struct sampi_deriver {
    sampi_tree tree;
    const sampi_byte_classes *bytes; /* the tree never distinguishes bytes of one class */
    sampi_vec work;                  /* sampi_node: a stack of sampi_derive and others */
    sampi_memo *memo;                /* [n_memo] made when it is first needed */
    int32_t n_memo;
    sampi_pairs queued; /* nodes that sampi_search has reached */
    int status;         /* the first error of the current call */
    int64_t budget;     /* how many steps are left */
    int64_t charged;    /* steps in all that were charged for work without steps of its own */
    sampi_held held;    /* memory of the owner too: all of a matcher's except its sampler */
} sampi_deriver;

/* Records an error, if it is the first one; the current call returns it at its end. Until then it goes on with nodes
   that match nothing. SAMP_E_NOMEM becomes SAMP_E_FULL if the limit of memory was reached. */
static void sampi_fault(sampi_deriver *d, int status)
{
    if (!d->status) d->status = status == SAMP_E_NOMEM && d->held.full ? (int)SAMP_E_FULL : status;
}
/* Charges steps for work that is not a loop of steps: the number that takes about as long. */
static void sampi_charge(sampi_deriver *d, int32_t steps)
{
    d->budget -= steps;
    d->charged += steps;
}

/* Charges a node that was looked up or made, more if the nodes exceed a cache. Returns the node. If n is a status,
   records this error and returns NEVER. */
static sampi_node sampi_sound(sampi_deriver *d, sampi_node n)
{
    const int32_t nodes = d->tree.nodes.n;
    sampi_charge(d, nodes < 1 << 14 ? 3 : nodes < 1 << 18 ? 8 : 14);
    if (n >= 0) return n;
    sampi_fault(d, n == SAMP_E_NOMEM ? (int)SAMP_E_NOMEM : (int)SAMP_E_FULL);
    return SAMPI_NEVER;
}
static void *sampi_more(sampi_deriver *d, sampi_vec *vec, size_t width, int32_t n)
{
    const int32_t cap = vec->cap;
    void *room = sampi_vec_add(vec, width, n);
    if (vec->cap != cap) sampi_charge(d, (int32_t)(vec->size / 128));
    if (!room) sampi_fault(d, SAMP_E_NOMEM);
    return room;
}

static void sampi_pairs_clear(sampi_pairs *p)
{
    p->n = 0;
    if (p->round == INT32_MAX) { /* begins to count again, and removes what has old numbers */
        if (p->slots.n) memset(p->slots.data, 0, (size_t)p->slots.n * 4);
        p->round = 0;
    }
    p->round++;
}

/* Adds a pair. Returns whether it is new; false with an error recorded if there is no memory. */
static bool sampi_pairs_add(sampi_deriver *d, sampi_pairs *p, int32_t a, int32_t b)
{
    if (3 * (2 * p->n + 2) > p->slots.n) { /* doubles the table, and enters this round's pairs again */
        sampi_vec old = p->slots;
        p->slots = sampi_vec_like(&old);
        if (!sampi_more(d, &p->slots, 4, old.n ? 2 * old.n : 3 * 64)) {
            p->slots = old;
            return false;
        }
        memset(p->slots.data, 0, (size_t)p->slots.n * 4);
        p->n = 0;
        for (int32_t i = 0; i < old.n; i += 3) {
            const int32_t *s = (const int32_t *)old.data + i;
            if (s[0] == p->round) sampi_pairs_add(d, p, s[1], s[2]);
        }
        sampi_vec_free(&old);
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

/* Counts one step of work. Returns false if there were too many, or after another error. */
static bool sampi_step(sampi_deriver *d)
{
    if (--d->budget < 0) sampi_fault(d, SAMP_E_FULL);
    return !d->status;
}

static sampi_node sampi_work_pop(sampi_deriver *d) { return ((sampi_node *)d->work.data)[--d->work.n]; }
static void sampi_work_push(sampi_deriver *d, sampi_node n)
{
    sampi_node *at = (sampi_node *)sampi_more(d, &d->work, sizeof *at, 1);
    if (at) *at = n;
}
/* Pushes both, or neither. */
static void sampi_work_push_pair(sampi_deriver *d, sampi_node a, sampi_node b)
{
    sampi_node *at = (sampi_node *)sampi_more(d, &d->work, sizeof *at, 2);
    if (!at) return;
    at[0] = a;
    at[1] = b;
}

/* Replaces references to rules that are not called by the rules' bodies. */
static sampi_node sampi_through(const sampi_deriver *d, sampi_node n)
{
    while (sampi_is_inline(&d->tree, sampi_at(&d->tree, n)))
        n = sampi_rule_at(&d->tree, sampi_at(&d->tree, n)->a)->body;
    return n;
}

/* a, then b, leaning to the right however a leans. */
static sampi_node sampi_join(sampi_deriver *d, sampi_node a, sampi_node b)
{
    if (sampi_at(&d->tree, a)->kind != SAMPI_NODE_SEQ) return sampi_sound(d, sampi_tree_seq(&d->tree, a, b));
    int32_t first = d->work.n;
    sampi_work_push(d, a);
    while (d->work.n > first && sampi_step(d)) { /* the last leaf is the first to be joined */
        sampi_node n = sampi_work_pop(d);
        const sampi_expr *e = sampi_at(&d->tree, n);
        if (e->kind == SAMPI_NODE_SEQ) {
            sampi_node left = e->a, right = e->b;
            sampi_work_push(d, left);
            sampi_work_push(d, right);
        } else {
            b = sampi_sound(d, sampi_tree_seq(&d->tree, n, b));
        }
    }
    d->work.n = first;
    return b;
}

static void sampi_sort_nodes(sampi_node *n, int32_t count)
{
    for (int32_t gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int32_t i = gap; i < count; i++) {
            sampi_node x = n[i];
            int32_t j = i;
            for (; j >= gap && n[j - gap] > x; j -= gap) n[j] = n[j - gap];
            n[j] = x;
        }
}

/* If one alternative is any number of characters, replaces the alternatives that are contained in it by NEVER. */
static void sampi_unite_all(sampi_deriver *d, sampi_node *n, int32_t count)
{
    int32_t all = 0;
    while (all < count && !sampi_is_all(&d->tree, n[all])) all++;
    for (int32_t i = 0; i < count && all < count; i++) {
        int32_t patience = 64;
        if (n[i] != n[all] && sampi_is_among(&d->tree, n[i], n[all], &patience)) n[i] = SAMPI_NEVER;
        sampi_charge(d, (64 - patience) / 8);
    }
}

/* Joins the alternatives on the stack from `first` on into one node, and removes them. */
static sampi_node sampi_unite(sampi_deriver *d, int32_t first)
{
    sampi_node *n = (sampi_node *)sampi_vec_at(&d->work, sizeof *n, first), all = SAMPI_NEVER;
    int32_t count = d->work.n - first;
    d->work.n = first;
    if (d->status) return SAMPI_NEVER;
    sampi_charge(d, count);
    if (count > 1) sampi_unite_all(d, n, count);
    sampi_sort_nodes(n, count);
    for (int32_t i = count - 1; i >= 0; i--) /* equal nodes are neighbours */
        if (i == count - 1 || n[i] != n[i + 1]) all = sampi_sound(d, sampi_tree_alt(&d->tree, n[i], all));
    return all;
}

/* Pushes a node's alternatives. */
static void sampi_offer(sampi_deriver *d, sampi_node n)
{
    for (; sampi_at(&d->tree, n)->kind == SAMPI_NODE_ALT && sampi_step(d); n = sampi_at(&d->tree, n)->b)
        sampi_work_push(d, sampi_at(&d->tree, n)->a);
    if (n != SAMPI_NEVER) sampi_work_push(d, n);
}

/* The set `seen` of a list of n members, with one more member. */
static sampi_node sampi_seen_with(sampi_deriver *d, sampi_node seen, int32_t n, int32_t member)
{
    int32_t status;
    size_t n_bytes = (size_t)(n + 7) / 8;
    uint8_t *bytes = sampi_tree_pool_room(&d->tree, n_bytes, &status);
    if (!bytes) return sampi_sound(d, status);
    const int32_t at = (int32_t)(bytes - (const uint8_t *)d->tree.pool.data);
    if (seen == SAMPI_EMPTY)
        memset(bytes, 0, n_bytes);
    else
        memcpy(bytes, sampi_bytes_at(&d->tree, sampi_at(&d->tree, seen)->a), n_bytes);
    bytes[member / 8] |= (uint8_t)(1u << member % 8);
    if (!d->tree.growth) return sampi_sound(d, sampi_tree_pool_end(&d->tree, SAMPI_NODE_SEEN, at));
    const sampi_node node = sampi_tree_node(&d->tree, SAMPI_NODE_SEEN, at, (int32_t)n_bytes, 0);
    if (node < 0 || sampi_at(&d->tree, node)->a != at) /* an equal one exists; its bytes go if still the last */
        (void)SAMPI_INT_CAS(&d->tree.growth->n_pool, at + (int32_t)n_bytes, at);
    return sampi_sound(d, node);
}

/* For member i that is a witness: is its slot open, is its kind free, and can all other open slots still get kinds? */
static bool sampi_slot_takes(const sampi_opening *p, int32_t i)
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
    return found && !(p->taken & kind) && sampi_slots_fit(open, n, p->taken | kind);
}

/* The rule to call for member i of a list (i = n: any other member) if it may come next: there must be room left for
   all members that must still come. Else NEVER. */
static sampi_node sampi_opening_takes(const sampi_tree *t, const sampi_opening *p, int32_t i)
{
    const int64_t room = (int64_t)p->list.most - p->count - 1;
    if (room < 0) return SAMPI_NEVER;
    if (i == p->list.n) return p->missing <= room ? p->list.other : (sampi_node)SAMPI_NEVER;
    if (sampi_has_seen(t, p->seen, i) || p->missing - p->member[i].required > room || !sampi_slot_takes(p, i))
        return SAMPI_NEVER;
    if (p->list.other == SAMPI_NEVER && p->count + p->left < p->list.least) return SAMPI_NEVER;
    return sampi_is_dead(t, p->member[i].node) ? (sampi_node)SAMPI_NEVER : p->member[i].node;
}

/* What may follow a member in its list: the separator and one more member. NEVER if no member can follow, or if n is
   not directly behind a member. */
static sampi_node sampi_list_more(sampi_deriver *d, sampi_node n)
{
    const sampi_expr e = *sampi_at(&d->tree, n);
    if (e.c == 0 || (e.c & 1)) return SAMPI_NEVER;
    const sampi_opening p = sampi_opening_of(&d->tree, &e);
    sampi_charge(d, p.list.n / 4);
    for (int32_t i = 0; i <= p.list.n && sampi_step(d); i++)
        if (sampi_opening_takes(&d->tree, &p, i) != SAMPI_NEVER)
            return sampi_join(d, p.list.separator,
                              sampi_sound(d, sampi_tree_node(&d->tree, SAMPI_NODE_MEMBERS, e.a, e.b, e.c | 1)));
    return SAMPI_NEVER;
}

/* What follows member i of the list that `then` begins with. Members are counted up to where their number no longer
   matters. */
static sampi_node sampi_list_behind(sampi_deriver *d, sampi_node then, int32_t i)
{
    const bool alone = sampi_at(&d->tree, then)->kind == SAMPI_NODE_MEMBERS;
    const sampi_expr seq = *sampi_at(&d->tree, then), e = alone ? seq : *sampi_at(&d->tree, seq.a);
    const sampi_list list = *((const sampi_list *)d->tree.lists.data + e.a);
    int32_t count = e.c / 2, most = list.most < INT32_MAX ? list.most : list.least > 1 ? list.least : 1;
    sampi_node seen = i < list.n ? sampi_seen_with(d, e.b, list.n, i) : e.b;
    sampi_node behind = sampi_sound(
        d, sampi_tree_node(&d->tree, SAMPI_NODE_MEMBERS, e.a, seen, 2 * (count < most ? count + 1 : most)));
    return alone ? behind : sampi_join(d, behind, seq.b);
}

/* The rest of a repetition after one time. */
static sampi_node sampi_repeat_rest(sampi_deriver *d, const sampi_expr *e)
{
    bool empty = sampi_at(&d->tree, e->a)->known & SAMPI_KNOWN_EMPTY; /* so no further time is needed */
    int32_t least = e->b == 0 || empty ? 0 : e->b - 1;
    return sampi_sound(d, sampi_tree_repeat(&d->tree, e->a, least, e->c < 0 ? -1 : e->c - 1));
}

/* The node that a sequence begins with. */
static sampi_node sampi_front(const sampi_deriver *d, sampi_node n)
{
    for (n = sampi_through(d, n); sampi_at(&d->tree, n)->kind == SAMPI_NODE_SEQ;)
        n = sampi_through(d, sampi_at(&d->tree, n)->a);
    return n;
}

/* Is it obvious that no text of n begins with the byte? If a node has many alternatives, this holds for most of
   them. */
static bool sampi_refuses(const sampi_deriver *d, sampi_node n, int32_t byte)
{
    n = sampi_front(d, n);
    const sampi_expr *e = sampi_at(&d->tree, n);
    if (e->kind == SAMPI_NODE_TEXT) return *sampi_bytes_at(&d->tree, e->a) != byte;
    return e->kind == SAMPI_NODE_SET && !(sampi_bytes_at(&d->tree, e->a)[byte / 8] >> byte % 8 & 1);
}

/* What follows a byte in a MULTIPLE. */
static sampi_node sampi_multiple_next(sampi_deriver *d, const sampi_expr *e, int32_t byte)
{
    const int32_t phase = e->c % 8, places = e->c / 8, digit = byte - '0';
    const bool behind = phase >= SAMPI_MULTIPLE_POINT;
    int32_t next = behind ? SAMPI_MULTIPLE_BEHIND : SAMPI_MULTIPLE_WHOLE, left = places, rest = e->b;
    if (byte == '.' && (phase == SAMPI_MULTIPLE_ZERO || phase == SAMPI_MULTIPLE_WHOLE)) {
        next = SAMPI_MULTIPLE_POINT;
    } else {
        if (digit < 0 || digit > 9 || phase == SAMPI_MULTIPLE_ZERO) return SAMPI_NEVER;
        if (behind && places == 0 && digit > 0) return SAMPI_NEVER;
        if (phase == SAMPI_MULTIPLE_BEGINS && digit == 0) next = SAMPI_MULTIPLE_ZERO;
        if (!behind || places > 0) rest = (10 * rest + digit) % e->a;
        if (behind && places > 0) left--;
    }
    const sampi_node n = sampi_sound(d, sampi_tree_node(&d->tree, SAMPI_NODE_MULTIPLE, e->a, rest, 8 * left + next));
    return sampi_is_dead(&d->tree, n) ? (sampi_node)SAMPI_NEVER : n;
}

/* A derivative that is being computed: of the node `whole`, whose part `now` is next (-1: no part is left). The
   alternatives found so far are on the stack from `first` on. left: the derivative of an AND's first part, or -1. */
typedef struct sampi_deriving {
    sampi_node whole, now, left;
    int32_t first;
} sampi_deriving;

/* Pushes alternatives until a part's derivative is needed. Returns this part, or -1 if there is none. */
static sampi_node sampi_follow(sampi_deriver *d, sampi_deriving *it, int32_t byte)
{
    while (it->now >= 0 && sampi_step(d) && !sampi_refuses(d, it->now, byte)) {
        const sampi_node n = sampi_through(d, it->now);
        const sampi_expr e = *sampi_at(&d->tree, n);
        it->now = n;
        switch (e.kind) {
            case SAMPI_NODE_TEXT: /* it begins with the byte */
                sampi_offer(d, e.b == 1
                                   ? SAMPI_EMPTY
                                   : sampi_sound(d, sampi_tree_node(&d->tree, SAMPI_NODE_TEXT, e.a + 1, e.b - 1, 0)));
                return -1;
            case SAMPI_NODE_SET: sampi_offer(d, SAMPI_EMPTY); return -1; /* it has the byte */
            case SAMPI_NODE_SEQ: {
                sampi_node a = sampi_through(d, e.a);
                if (sampi_at(&d->tree, a)->kind != SAMPI_NODE_SEQ) return a;
                it->now = sampi_join(d, a, e.b);
                continue;
            }
            case SAMPI_NODE_ALT:
                if (!sampi_refuses(d, e.a, byte)) return e.a;
                it->now = e.b;
                continue;
            case SAMPI_NODE_REPEAT:
            case SAMPI_NODE_AND:
            case SAMPI_NODE_NOT: return e.a;
            case SAMPI_NODE_MEMBERS: it->now = sampi_list_more(d, n); continue; /* members are called */
            case SAMPI_NODE_MULTIPLE: sampi_offer(d, sampi_multiple_next(d, &e, byte)); return -1;
            default: return -1; /* NEVER, EMPTY; a token or a call begins with no byte of its own */
        }
    }
    return -1;
}

/* Adds the derivative `part`, which sampi_follow needed, to what was found. Returns another part whose derivative is
   needed, or -1. */
static sampi_node sampi_followed(sampi_deriver *d, sampi_deriving *it, sampi_node part)
{
    const sampi_node n = it->now;
    const sampi_expr e = *sampi_at(&d->tree, n);
    it->now = -1;
    switch (e.kind) {
        case SAMPI_NODE_SEQ:
            sampi_offer(d, sampi_join(d, part, e.b));
            if (sampi_at(&d->tree, sampi_through(d, e.a))->known & SAMPI_KNOWN_EMPTY) it->now = e.b;
            return -1;
        case SAMPI_NODE_ALT:
            sampi_offer(d, part);
            it->now = e.b;
            return -1;
        case SAMPI_NODE_REPEAT: sampi_offer(d, sampi_join(d, part, sampi_repeat_rest(d, &e))); return -1;
        case SAMPI_NODE_NOT:
            sampi_offer(d, sampi_sound(d, sampi_tree_node(&d->tree, SAMPI_NODE_NOT, part, 0, 0)));
            return -1;
        default: /* AND */
            if (it->left >= 0) {
                sampi_offer(d, sampi_sound(d, sampi_tree_and(&d->tree, it->left, part)));
            } else if (part != SAMPI_NEVER) {
                it->left = part;
                it->now = n;
                return e.b;
            }
            return -1;
    }
}

static sampi_memo *sampi_memo_of(const sampi_deriver *d, sampi_node n, int32_t byte)
{
    return &d->memo[((uint32_t)n * 0x9E3779B1u ^ (uint32_t)byte * 0x85EBCA77u) >> 7 & ((uint32_t)d->n_memo - 1)];
}

/* Makes an empty memo, of a size that is a small share of the memory limit. */
static bool sampi_memo_make(sampi_deriver *d)
{
    int32_t n = SAMPI_MEMO;
    const size_t most = SAMPI_SIZE_GET(&(d->held.all ? d->held.all : &d->held)->most);
    while (n > 64 && (size_t)n * sizeof *d->memo > most / 16) n /= 2;
    d->memo = (sampi_memo *)sampi_hold_block(&d->held, (size_t)n * sizeof *d->memo);
    if (!d->memo) {
        sampi_fault(d, SAMP_E_NOMEM);
        return false;
    }
    memset(d->memo, 0xff, (size_t)n * sizeof *d->memo);
    d->n_memo = n;
    return true;
}
static void sampi_memo_free(sampi_deriver *d)
{
    sampi_free_block(&d->held, d->memo, (size_t)d->n_memo * sizeof *d->memo);
    d->memo = NULL;
}

/* The derivative of n by a byte, as a node: what may follow this byte. Without the memo, a rule that refers to a second
   rule twice, which refers to a third one twice, and so on, would take exponential time. Derivatives that wait for a
   part lie on the stack, below that part's alternatives. */
static sampi_node sampi_derive(sampi_deriver *d, sampi_node n, int32_t byte)
{
    enum { SIZE = sizeof(sampi_deriving) / sizeof(sampi_node) };
    const int32_t bottom = d->work.n;
    sampi_deriving it = { -1, -1, -1, bottom };
    int32_t depth = 0;
    if (!d->memo && !sampi_memo_make(d)) return SAMPI_NEVER;
    for (;;) { /* derives n, for `it` if that has begun */
        const sampi_memo *memo = sampi_memo_of(d, n, byte);
        sampi_node result = memo->node == n && memo->byte == byte ? memo->result : -1;
        if (result < 0) {
            sampi_deriving *room = depth++ ? (sampi_deriving *)sampi_more(d, &d->work, sizeof(sampi_node), SIZE)
                                           : NULL;
            if (room) *room = it;
            it.whole = it.now = n;
            it.left = -1;
            it.first = d->work.n;
        }
        for (n = -1; n < 0;) {
            if (depth == 0) return result;
            if (result >= 0) n = sampi_followed(d, &it, result);
            if (n < 0) n = sampi_follow(d, &it, byte);
            if (n >= 0 && !d->status) break;
            result = sampi_unite(d, it.first);
            if (d->status) {
                d->work.n = bottom;
                return SAMPI_NEVER;
            }
            sampi_memo *made = sampi_memo_of(d, it.whole, byte);
            made->node = it.whole;
            made->byte = byte;
            made->result = result;
            if (--depth) it = *(const sampi_deriving *)sampi_vec_at(&d->work, sizeof(sampi_node), d->work.n -= SIZE);
        }
    }
}

/* Kinds of bytes: a node does not distinguish bytes of one kind as a text's first byte. Each kind is a set of bits like
   a SET's. left: how many nodes may still be visited. */
typedef struct sampi_kinds {
    uint8_t set[256][32];
    uint8_t alone[32]; /* bytes that are known to be kinds of their own */
    int32_t done[32];  /* sets (places in the pool) that have split the kinds; -1: none */
    int32_t n, left;
} sampi_kinds;

/* Splits every kind that has bytes both in a set and outside of it: those outside become a new kind. */
static void sampi_split_kinds(sampi_kinds *kinds, const uint8_t *bits)
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
        memcpy(kinds->set[kinds->n++], out, sizeof out); /* there were fewer kinds than bytes */
    }
}

static int32_t sampi_kind_with(const sampi_kinds *kinds, uint8_t byte)
{
    int32_t k = 0;
    while (!(kinds->set[k][byte / 8] >> byte % 8 & 1)) k++;
    return k;
}

/* The same for a set of one byte. */
static void sampi_split_byte(sampi_kinds *kinds, uint8_t byte)
{
    const uint8_t bit = (uint8_t)(1u << byte % 8);
    if (kinds->alone[byte / 8] & bit) return;
    kinds->alone[byte / 8] |= bit;
    uint8_t *old = kinds->set[sampi_kind_with(kinds, byte)], *made = kinds->set[kinds->n];
    old[byte / 8] &= (uint8_t)~bit;
    bool others = false;
    for (int32_t i = 0; i < 32 && !others; i++) others = old[i] != 0;
    if (!others) { /* it was the only one */
        old[byte / 8] |= bit;
        return;
    }
    memset(made, 0, 32);
    made[byte / 8] = bit;
    kinds->n++;
}

/* Why kinds: a derivative costs much more than a set operation. A grammar has about a hundred classes of bytes, but a
   node mostly distinguishes few: a quote, a backslash, the first bytes of longer characters, and all others. */

/* Splits the kinds by everything that a node's derivatives depend on; it visits the same parts as sampi_follow. */
static void sampi_find_kinds(sampi_deriver *d, sampi_node n, sampi_kinds *kinds)
{
    const int32_t bottom = d->work.n;
    sampi_work_push(d, n);
    while (d->work.n > bottom && --kinds->left >= 0 && sampi_step(d)) {
        n = sampi_through(d, sampi_work_pop(d));
        const sampi_expr e = *sampi_at(&d->tree, n);
        switch (e.kind) {
            case SAMPI_NODE_TEXT:
                sampi_split_byte(kinds, d->bytes->byte_of[d->bytes->class_of[*sampi_bytes_at(&d->tree, e.a)]]);
                break;
            case SAMPI_NODE_SET:
                if (kinds->done[e.a / 32 % 32] == e.a) break;
                kinds->done[e.a / 32 % 32] = e.a;
                sampi_charge(d, kinds->n / 4);
                sampi_split_kinds(kinds, sampi_bytes_at(&d->tree, e.a));
                break;
            case SAMPI_NODE_SEQ:
                if (sampi_at(&d->tree, sampi_through(d, e.a))->known & SAMPI_KNOWN_EMPTY) sampi_work_push(d, e.b);
                sampi_work_push(d, e.a);
                break;
            case SAMPI_NODE_ALT:
            case SAMPI_NODE_AND:
                sampi_work_push(d, e.b);
                sampi_work_push(d, e.a);
                break;
            case SAMPI_NODE_REPEAT:
            case SAMPI_NODE_NOT: sampi_work_push(d, e.a); break;
            case SAMPI_NODE_MEMBERS: sampi_work_push(d, sampi_list_more(d, n)); break;
            case SAMPI_NODE_MULTIPLE:
                for (int32_t b = '0'; b <= '9'; b++) sampi_split_byte(kinds, (uint8_t)b);
                sampi_split_byte(kinds, '.');
                break;
            default: break; /* no byte of its own */
        }
    }
    d->work.n = bottom;
}

/* Sets first [c] of each class of bytes c to the first class that is of the same kind. If the node takes too long to
   visit, each class is a kind of its own. */
static void sampi_kinds_of(sampi_deriver *d, sampi_node n, uint8_t *first)
{
    enum { PATIENCE = 2000 };
    const sampi_byte_classes *bytes = d->bytes;
    sampi_kinds kinds;
    for (int32_t i = 0; i < 32; i++) kinds.set[0][i] = bytes->firsts[i];
    memset(kinds.alone, 0, sizeof kinds.alone);
    memset(kinds.done, 0xff, sizeof kinds.done);
    kinds.n = 1;
    kinds.left = PATIENCE;
    sampi_find_kinds(d, n, &kinds);
    sampi_charge(d, (bytes->n_classes + kinds.n) / 4);
    for (int32_t c = 0; c < bytes->n_classes; c++) first[c] = (uint8_t)c;
    for (int32_t k = 0; k < kinds.n && kinds.left >= 0; k++) {
        static const uint8_t place[8] = { 0, 1, 2, 4, 7, 3, 6, 5 }; /* bit number of a bit, by 0x17 times the bit */
        int32_t found = -1;
        for (uint32_t i = 0; i < 32; i++)
            for (uint32_t bits = kinds.set[k][i]; bits; bits &= bits - 1) {
                const int32_t c = bytes->class_of[8 * i + place[(bits & (0u - bits)) * 0x17 >> 5 & 7]];
                if (found < 0) found = c;
                first[c] = (uint8_t)found;
            }
    }
}

enum {
    SAMPI_FARTHEST = 1 << 20, /* the distance of a text that can't exist */
    SAMPI_FAR_IN = 256        /* distances are kept in the memo as if they were derivatives by bytes 256 and 257 */
};

/* Estimates the number of bytes that are missing to a text that n matches, or (in false) to one that n does not match.
   The estimate only orders a search. Where all of several parts must match, it is their sum, so that progress in any of
   them counts. The distance of "all but x" from a text that it does not match is that of x. `patience` is the number of
   nodes that may still be visited. */
static int32_t sampi_far(const sampi_deriver *d, sampi_node n, bool in, int32_t *patience);

/* The estimate for a SEQ, an ALT or an AND. */
static int32_t sampi_far_of_parts(const sampi_deriver *d, const sampi_expr *e, bool in, int32_t *patience)
{
    const sampi_tree *t = &d->tree;
    const int kind = e->kind;
    const bool all = kind == SAMPI_NODE_SEQ || in == (kind == SAMPI_NODE_AND);
    int32_t far = all ? 0 : SAMPI_FARTHEST;
    if (kind == SAMPI_NODE_AND && !in && sampi_at(t, e->a)->kind == SAMPI_NODE_NOT)
        return sampi_far(d, e->a, in, patience);
    if (kind == SAMPI_NODE_AND && !in && sampi_at(t, e->b)->kind == SAMPI_NODE_NOT)
        return sampi_far(d, e->b, in, patience);
    for (const sampi_expr *now = e; now && *patience > 0;) {
        const sampi_expr *rest = sampi_at(t, now->b);
        const bool last = kind == SAMPI_NODE_AND || rest->kind != kind;
        for (int i = 0; i < (last ? 2 : 1); i++) {
            const int32_t part = sampi_far(d, i ? now->b : now->a, in, patience);
            far = all ? far + part : part < far ? part : far;
        }
        if (far > SAMPI_FARTHEST) far = SAMPI_FARTHEST;
        now = last ? NULL : rest;
    }
    return far;
}

/* The estimate for a MULTIPLE: the number of digits after which a multiple can first be reached. */
static int32_t sampi_multiple_far(const sampi_expr *e)
{
    int64_t rest = e->b, room = 1; /* the digits that follow can be any number below `room` */
    int32_t far = -(e->c / 8);
    while (room < e->a && (e->a - rest) % e->a >= room) {
        rest = rest * 10 % e->a;
        room *= 10;
        far++;
    }
    return far < 1 ? 1 : far;
}

static int32_t sampi_far(const sampi_deriver *d, sampi_node n, bool in, int32_t *patience)
{
    n = sampi_through(d, n);
    const sampi_expr *e = sampi_at(&d->tree, n);
    int32_t far = in != ((e->known & SAMPI_KNOWN_EMPTY) != 0);
    if (--*patience < 0) return 0;
    switch (e->kind) {
        case SAMPI_NODE_MULTIPLE: return in && far ? sampi_multiple_far(e) : far;
        case SAMPI_NODE_NEVER: return in ? SAMPI_FARTHEST : 0;
        case SAMPI_NODE_TEXT: return in ? e->b : 0;
        case SAMPI_NODE_NOT: return sampi_far(d, e->a, !in, patience);
        case SAMPI_NODE_REPEAT:
            if (!in || e->b == 0) return far;
            far = sampi_far(d, e->a, in, patience);
            return far < SAMPI_FARTHEST / e->b ? far * e->b : SAMPI_FARTHEST;
        case SAMPI_NODE_SEQ:
            if (!in) return far;
            break;
        case SAMPI_NODE_ALT:
        case SAMPI_NODE_AND: break;
        default: return far;
    }
    sampi_memo *memo = sampi_memo_of(d, n, SAMPI_FAR_IN + in);
    if (memo->node == n && memo->byte == SAMPI_FAR_IN + in) return memo->result;
    far = sampi_far_of_parts(d, e, in, patience);
    if (*patience < 0) return far;
    memo->node = n;
    memo->byte = SAMPI_FAR_IN + in;
    memo->result = far;
    return far;
}

/* A node that sampi_search has reached: from which one (-1: it is the start), the one of the same distance that was
   reached before it, and whether its derivatives were computed. They are on the stack from `first` on. */
typedef struct sampi_reached {
    sampi_node node;
    int32_t from, before, looked_at;
} sampi_reached;

enum { SAMPI_DISTANCES = 1024 }; /* larger distances count as this one - 1 */

static sampi_reached *sampi_reached_at(const sampi_deriver *d, int32_t first, int32_t i)
{
    return (sampi_reached *)sampi_vec_at(&d->work, sizeof(sampi_node), first) + i;
}

/* Adds node number i, and returns its distance. nearest: the newest node of each distance, or -1. */
static int32_t sampi_reached_add(sampi_deriver *d, sampi_node node, int32_t from, int32_t i, int32_t *nearest)
{
    enum { MANY = 512 };
    int32_t patience = MANY, far = sampi_far(d, node, true, &patience);
    sampi_charge(d, (MANY - patience) / 4);
    if (far >= SAMPI_DISTANCES) far = SAMPI_DISTANCES - 1;
    const sampi_reached reached = { node, from, nearest[far], 0 };
    void *room = sampi_more(d, &d->work, sizeof(sampi_node), sizeof reached / sizeof(sampi_node));
    if (room) memcpy(room, &reached, sizeof reached);
    nearest[far] = i;
    return far;
}

/* Returns, of the nodes whose derivatives are still to be computed, the newest of those nearest to an end. There must
   be such a node. *far is a lower bound of its distance at first, and its distance afterwards. */
static int32_t sampi_reached_nearest(const sampi_deriver *d, int32_t first, int32_t *nearest, int32_t *far)
{
    for (;;) {
        const int32_t at = nearest[*far];
        if (at < 0) {
            ++*far;
            continue;
        }
        if (!sampi_reached_at(d, first, at)->looked_at) return at;
        nearest[*far] = sampi_reached_at(d, first, at)->before;
    }
}

/* Does n match any text? n is regular and has an AND in it. The search computes derivatives until one matches the empty
   text. Then the nodes on the way to it are ALIVE; if no derivative does, all visited nodes are DEAD. The search
   alternates between the oldest node, so that short texts are found before long ones are tried, and the newest node of
   the least distance, so that a long text is found without trying all shorter ones. */
static bool sampi_search(sampi_deriver *d, sampi_node start)
{
    const int32_t first = d->work.n;
    int32_t n = 1, oldest = 0, nearest[SAMPI_DISTANCES], far;
    bool found = false;
    if (!d->memo && !sampi_memo_make(d)) return false;
    memset(nearest, 0xff, sizeof nearest);
    far = sampi_reached_add(d, start, -1, 0, nearest);
    sampi_pairs_clear(&d->queued);
    sampi_pairs_add(d, &d->queued, start, 0);
    for (int32_t turn = 0; !found && !d->status; turn++) {
        while (oldest < n && sampi_reached_at(d, first, oldest)->looked_at) oldest++;
        if (oldest == n) break;
        const int32_t at = turn % 2 ? sampi_reached_nearest(d, first, nearest, &far) : oldest;
        const sampi_node node = sampi_reached_at(d, first, at)->node;
        sampi_reached_at(d, first, at)->looked_at = 1;
        uint8_t kinds[256];
        sampi_kinds_of(d, node, kinds);
        for (int32_t c = 0; c < d->bytes->n_classes && !found && !d->status; c++) {
            if (kinds[c] != c) continue;
            sampi_node next = sampi_derive(d, node, d->bytes->byte_of[c]);
            const int32_t known = sampi_known(&d->tree, next);
            if ((known & SAMPI_KNOWN_DEAD) || !sampi_pairs_add(d, &d->queued, next, 0)) continue;
            found = (known & (SAMPI_KNOWN_EMPTY | SAMPI_KNOWN_ALIVE)) || !(known & SAMPI_KNOWN_AND);
            const int32_t next_far = sampi_reached_add(d, next, at, n++, nearest);
            if (next_far < far) far = next_far;
        }
    }
    if (!d->status && found) /* the last node, and those on the way to it */
        for (int32_t at = n - 1; at >= 0; at = sampi_reached_at(d, first, at)->from)
            sampi_learnt(&d->tree, sampi_reached_at(d, first, at)->node, SAMPI_KNOWN_ALIVE);
    for (int32_t at = 0; at < n && !found && !d->status; at++)
        sampi_learnt(&d->tree, sampi_reached_at(d, first, at)->node, SAMPI_KNOWN_DEAD);
    d->work.n = first;
    return found;
}

/* Can n match any text? If it has an AND, sampi_search finds out. The stack has the second parts of sequences, which
   must match too, and of alternatives, which are tried if the first part cannot match; each part is below its node's
   kind. */
static bool sampi_alive(sampi_deriver *d, sampi_node n)
{
    const int32_t bottom = d->work.n;
    for (;;) {
        bool alive = false;
        sampi_charge(d, 1);
        n = sampi_through(d, n);
        const sampi_expr e = *sampi_at(&d->tree, n);
        const int32_t known = sampi_known(&d->tree, n);
        if (known & SAMPI_KNOWN_DEAD) {
            alive = false;
        } else if (!(known & SAMPI_KNOWN_AND) || (known & (SAMPI_KNOWN_ALIVE | SAMPI_KNOWN_EMPTY))) {
            alive = true;
        } else if (e.kind == SAMPI_NODE_SEQ || e.kind == SAMPI_NODE_ALT) {
            n = e.kind == SAMPI_NODE_SEQ ? sampi_through(d, e.a) : e.a;
            if (e.kind == SAMPI_NODE_SEQ && sampi_at(&d->tree, n)->kind == SAMPI_NODE_SEQ) {
                n = sampi_join(d, n, e.b);
                continue;
            }
            sampi_work_push_pair(d, e.b, e.kind);
            if (!d->status) continue;
        } else if (e.kind == SAMPI_NODE_REPEAT) {
            n = e.a;
            continue;
        } else {
            alive = (known & SAMPI_KNOWN_CALLS) || sampi_search(d, n);
        }
        bool settled = true;
        while (d->work.n > bottom && settled && !d->status) {
            settled = (sampi_work_pop(d) == SAMPI_NODE_SEQ) != alive;
            n = sampi_work_pop(d);
        }
        if (!settled) continue;
        d->work.n = bottom;
        return alive;
    }
}
