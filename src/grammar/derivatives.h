/* ---- derivatives: what may follow a byte ----
   A node of a tree and a byte come in; the node of what may stand behind that byte goes out, in the same tree. The
   deriver is what this takes: a tree that grows, a stack, a memo, and limits on memory and steps. A matcher has one
   (matcher.h), and so has the reader of schemas (schema/formats.h).

   Sequences are made to lean to the right and alternatives are sorted, so that the same set of texts nearly always is
   the same node, and the states stay few. */

/* A derivative that is remembered. */
typedef struct sampi_memo {
    sampi_node node, result;
    int32_t byte;
} sampi_memo;

#ifndef SAMPI_MEMO      /* tests have fewer */
#define SAMPI_MEMO 4096 /* derivatives that are remembered, if there is room: a power of two */
#endif

/* A set of pairs, emptied by counting up. */
typedef struct sampi_pairs {
    sampi_vec slots; /* of 2^k times { round, a, b } */
    int32_t n, round;
} sampi_pairs;

typedef struct sampi_deriver {
    sampi_tree tree;
    const sampi_byte_classes *bytes; /* those that the tree does not tell apart */
    sampi_vec work;                  /* sampi_node: a stack, of sampi_derive and others */
    sampi_memo *memo;                /* [n_memo] made when it is needed */
    int32_t n_memo;
    sampi_pairs queued; /* nodes that sampi_search has come to */
    int status;         /* what went wrong in the call under way */
    int64_t budget;     /* steps that it may still take, */
    int64_t charged;    /* and those of all that it took that were charged for work without steps of its own */
    sampi_held held;    /* of its owner too: all that is a matcher's own, but for the sampler */
} sampi_deriver;

/* The first thing that goes wrong is what the call under way returns; until then it goes on with what can't match. */
static void sampi_fault(sampi_deriver *d, int status)
{
    if (!d->status) d->status = status == SAMP_E_NOMEM && d->held.full ? (int)SAMP_E_FULL : status;
}
/* Work that is no loop of steps costs some of them too: as many as take about as long. */
static void sampi_charge(sampi_deriver *d, int32_t steps)
{
    d->budget -= steps;
    d->charged += steps;
}

/* A node that was looked for, and made if it was not there: dearer where the nodes are more than a cache has. */
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
    if (p->round == INT32_MAX) { /* begin to count anew, without what is left of the old rounds */
        if (p->slots.n) memset(p->slots.data, 0, (size_t)p->slots.n * 4);
        p->round = 0;
    }
    p->round++;
}

/* Put a pair in. Is it new? (If there is no memory it is not, and the fault is told.) */
static bool sampi_pairs_add(sampi_deriver *d, sampi_pairs *p, int32_t a, int32_t b)
{
    if (3 * (2 * p->n + 2) > p->slots.n) { /* twice the room, and all of this round again */
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

/* One step of work; false if there have been too many. */
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
/* Both, or neither. */
static void sampi_work_push_pair(sampi_deriver *d, sampi_node a, sampi_node b)
{
    sampi_node *at = (sampi_node *)sampi_more(d, &d->work, sizeof *at, 2);
    if (!at) return;
    at[0] = a;
    at[1] = b;
}

/* Rules that are not called stand for their bodies. */
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
    while (d->work.n > first && sampi_step(d)) { /* the last leaf comes first */
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

/* Alternatives that are among another one, which is any number of characters, go: NEVER takes their place. */
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

/* The alternatives on the stack from `first` on as one node; they are used up. */
static sampi_node sampi_unite(sampi_deriver *d, int32_t first)
{
    sampi_node *n = (sampi_node *)sampi_vec_at(&d->work, sizeof *n, first), all = SAMPI_NEVER;
    int32_t count = d->work.n - first;
    d->work.n = first;
    if (d->status) return SAMPI_NEVER;
    sampi_charge(d, count);
    if (count > 1) sampi_unite_all(d, n, count);
    sampi_sort_nodes(n, count);
    for (int32_t i = count - 1; i >= 0; i--) /* equal ones are neighbours */
        if (i == count - 1 || n[i] != n[i + 1]) all = sampi_sound(d, sampi_tree_alt(&d->tree, n[i], all));
    return all;
}

/* Push a node's alternatives. */
static void sampi_offer(sampi_deriver *d, sampi_node n)
{
    for (; sampi_at(&d->tree, n)->kind == SAMPI_NODE_ALT && sampi_step(d); n = sampi_at(&d->tree, n)->b)
        sampi_work_push(d, sampi_at(&d->tree, n)->a);
    if (n != SAMPI_NEVER) sampi_work_push(d, n);
}

/* `seen` with one more member of a list of n. */
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
    if (node < 0 || sampi_at(&d->tree, node)->a != at) /* there is one: the bytes go, if they still are the last */
        (void)SAMPI_INT_CAS(&d->tree.growth->n_pool, at + (int32_t)n_bytes, at);
    return sampi_sound(d, node);
}

/* Of a witness: is its slot open, its kind free, and may all other slots still get theirs? */
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

/* The rule to call for member i of the list (i = n: for any other one), if it may come next, so that there is room left
   for all that must still come; or NEVER. */
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

/* What follows in a list, behind a member: the separator, and one more. NEVER: there can be none, or it is not behind a
   member. */
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

/* What follows behind member i of the list that `then` begins with. Members are counted up to where the number no
   longer matters. */
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

/* What is left of a repetition after one of its turns. */
static sampi_node sampi_repeat_rest(sampi_deriver *d, const sampi_expr *e)
{
    bool empty = sampi_at(&d->tree, e->a)->known & SAMPI_KNOWN_EMPTY; /* then no turn is needed */
    int32_t least = e->b == 0 || empty ? 0 : e->b - 1;
    return sampi_sound(d, sampi_tree_repeat(&d->tree, e->a, least, e->c < 0 ? -1 : e->c - 1));
}

/* What a sequence begins with. */
static sampi_node sampi_front(const sampi_deriver *d, sampi_node n)
{
    for (n = sampi_through(d, n); sampi_at(&d->tree, n)->kind == SAMPI_NODE_SEQ;)
        n = sampi_through(d, sampi_at(&d->tree, n)->a);
    return n;
}

/* Can it be seen at once that no text of n begins with the byte? Of many alternatives most are such. */
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

/* A derivative under way: of `whole`, whose part `now` is looked at (-1: none is left). What has been found are the
   alternatives on the stack from `first` on; left: the derivative of an AND's first part, or -1. */
typedef struct sampi_deriving {
    sampi_node whole, now, left;
    int32_t first;
} sampi_deriving;

/* Push alternatives, up to a part whose derivative is needed: that part, or -1, there is none. */
static sampi_node sampi_follow(sampi_deriver *d, sampi_deriving *it, int32_t byte)
{
    while (it->now >= 0 && sampi_step(d) && !sampi_refuses(d, it->now, byte)) {
        const sampi_node n = sampi_through(d, it->now);
        const sampi_expr e = *sampi_at(&d->tree, n);
        it->now = n;
        switch (e.kind) {
            case SAMPI_NODE_TEXT: /* and it begins with the byte */
                sampi_offer(d, e.b == 1
                                   ? SAMPI_EMPTY
                                   : sampi_sound(d, sampi_tree_node(&d->tree, SAMPI_NODE_TEXT, e.a + 1, e.b - 1, 0)));
                return -1;
            case SAMPI_NODE_SET: sampi_offer(d, SAMPI_EMPTY); return -1; /* and has the byte */
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

/* The derivative of the part that sampi_follow stopped at is there: one more such part, or -1. */
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

/* An empty memo: as much as there is room for in a small part of what may be held. */
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

/* What may follow a byte in n, as a node. Without the memo, an expression that refers to a rule twice, which refers to
   another one twice, and so on, would take forever. Derivatives that wait for one of their parts lie on the stack,
   below the alternatives of that part. */
static sampi_node sampi_derive(sampi_deriver *d, sampi_node n, int32_t byte)
{
    enum { SIZE = sizeof(sampi_deriving) / sizeof(sampi_node) };
    const int32_t bottom = d->work.n;
    sampi_deriving it = { -1, -1, -1, bottom };
    int32_t depth = 0;
    if (!d->memo && !sampi_memo_make(d)) return SAMPI_NEVER;
    for (;;) { /* n is to be derived: for d, if that has begun */
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

/* Kinds of bytes that a node does not tell apart by a text's first byte, as sets of bits like a SET's. `left`: nodes
   that may still be looked at. */
typedef struct sampi_kinds {
    uint8_t set[256][32];
    uint8_t alone[32]; /* bytes that are known to be a kind of their own */
    int32_t done[32];  /* sets, as places of the pool, that they have been split by; -1: none */
    int32_t n, left;
} sampi_kinds;

/* Split all kinds of which some bytes are in a set and some are not: the others become a new kind. */
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

/* The same of a set of one byte. */
static void sampi_split_byte(sampi_kinds *kinds, uint8_t byte)
{
    const uint8_t bit = (uint8_t)(1u << byte % 8);
    if (kinds->alone[byte / 8] & bit) return;
    kinds->alone[byte / 8] |= bit;
    uint8_t *old = kinds->set[sampi_kind_with(kinds, byte)], *made = kinds->set[kinds->n];
    old[byte / 8] &= (uint8_t)~bit;
    bool others = false;
    for (int32_t i = 0; i < 32 && !others; i++) others = old[i] != 0;
    if (!others) { /* it was alone */
        old[byte / 8] |= bit;
        return;
    }
    memset(made, 0, 32);
    made[byte / 8] = bit;
    kinds->n++;
}

/* Why kinds: a derivative costs much more than a set operation, and of the hundred classes that a grammar's bytes have
   a node mostly tells only a few apart: a quote, a backslash, the first bytes of longer characters, and the rest. */

/* Split by all that a node's derivatives ask of the first byte: it goes the way of sampi_follow. */
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

/* Of each class of bytes the first one that the node does not tell from it, [n_classes]. All are told apart of a node
   that takes too long to look through. */
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
        static const uint8_t place[8] = { 0, 1, 2, 4, 7, 3, 6, 5 }; /* of a bit in a byte, by 0x17 times it */
        int32_t found = -1;
        for (uint32_t i = 0; i < 32; i++)
            for (uint32_t bits = kinds.set[k][i]; bits; bits &= bits - 1) {
                const int32_t c = bytes->class_of[8 * i + place[(bits & (0u - bits)) * 0x17 >> 5 & 7]];
                if (found < 0) found = c;
                first[c] = (uint8_t)found;
            }
    }
}

/* A node that sampi_search has come to: from which one (-1: it is the first); the one that came before it; whether it
   has been looked at. They lie on the stack, from `first` on. */
typedef struct sampi_reached {
    sampi_node node;
    int32_t from, before, looked_at;
} sampi_reached;

static sampi_reached *sampi_reached_at(const sampi_deriver *d, int32_t first, int32_t i)
{
    return (sampi_reached *)sampi_vec_at(&d->work, sizeof(sampi_node), first) + i;
}
static void sampi_reached_add(sampi_deriver *d, sampi_node node, int32_t from, int32_t before)
{
    const sampi_reached reached = { node, from, before, 0 };
    void *room = sampi_more(d, &d->work, sizeof(sampi_node), sizeof reached / sizeof(sampi_node));
    if (room) memcpy(room, &reached, sizeof reached);
}

/* Is there a text that n, regular and with an AND in it, matches? Looks for a derivative that matches the empty text;
   the way to it is alive, and if there is none, all that were looked at are dead. By turns the oldest node is looked
   at, so that a short text is found before long ones are tried, and the newest, so that a long one is found without
   all that are shorter. */
static bool sampi_search(sampi_deriver *d, sampi_node start)
{
    const int32_t first = d->work.n;
    int32_t n = 1, oldest = 0, newest = 0;
    bool found = false;
    sampi_reached_add(d, start, -1, -1);
    sampi_pairs_clear(&d->queued);
    sampi_pairs_add(d, &d->queued, start, 0);
    for (int32_t turn = 0; !found && !d->status; turn++) {
        while (oldest < n && sampi_reached_at(d, first, oldest)->looked_at) oldest++;
        while (newest >= 0 && sampi_reached_at(d, first, newest)->looked_at)
            newest = sampi_reached_at(d, first, newest)->before;
        if (oldest == n) break;
        const int32_t at = turn % 2 ? newest : oldest;
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
            sampi_reached_add(d, next, at, newest);
            newest = n++;
        }
    }
    if (!d->status && found) /* the last one, and those it was reached by */
        for (int32_t at = n - 1; at >= 0; at = sampi_reached_at(d, first, at)->from)
            sampi_learnt(&d->tree, sampi_reached_at(d, first, at)->node, SAMPI_KNOWN_ALIVE);
    for (int32_t at = 0; at < n && !found && !d->status; at++)
        sampi_learnt(&d->tree, sampi_reached_at(d, first, at)->node, SAMPI_KNOWN_DEAD);
    d->work.n = first;
    return found;
}

/* Can n match at all? With an AND in it that is looked for. On the stack lie the second parts of sequences, which must
   match too, and of alternatives, which match if the first one can't, each below its kind. */
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
