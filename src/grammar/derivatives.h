/* ---- derivatives: what may follow a byte ----
   Sequences are made to lean to the right and alternatives are sorted, so that the same set of texts nearly always is
   the same node, and the states stay few. All that this part needs of a matcher is its tree, work, memo and limits, so
   the reader of schemas uses it too (sampi_schema_matches). */

static sampi_node sampi_work_pop(sampi_matcher *m) { return ((sampi_node *)m->work.data)[--m->work.n]; }
static void sampi_work_push(sampi_matcher *m, sampi_node n)
{
    sampi_node *at = (sampi_node *)sampi_more(m, &m->work, sizeof *at, 1);
    if (at) *at = n;
}
/* Both, or neither. */
static void sampi_work_push_pair(sampi_matcher *m, sampi_node a, sampi_node b)
{
    sampi_node *at = (sampi_node *)sampi_more(m, &m->work, sizeof *at, 2);
    if (!at) return;
    at[0] = a;
    at[1] = b;
}

/* Rules that are not called stand for their bodies. */
static sampi_node sampi_through(const sampi_matcher *m, sampi_node n)
{
    while (sampi_is_inline(&m->tree, sampi_at(&m->tree, n)))
        n = sampi_rule_at(&m->tree, sampi_at(&m->tree, n)->a)->body;
    return n;
}

/* a, then b, leaning to the right however a leans. */
static sampi_node sampi_join(sampi_matcher *m, sampi_node a, sampi_node b)
{
    if (sampi_at(&m->tree, a)->kind != SAMPI_NODE_SEQ) return sampi_sound(m, sampi_tree_seq(&m->tree, a, b));
    int32_t first = m->work.n;
    sampi_work_push(m, a);
    while (m->work.n > first && sampi_step(m)) { /* the last leaf comes first */
        sampi_node n = sampi_work_pop(m);
        const sampi_expr *e = sampi_at(&m->tree, n);
        if (e->kind == SAMPI_NODE_SEQ) {
            sampi_node left = e->a, right = e->b;
            sampi_work_push(m, left);
            sampi_work_push(m, right);
        } else {
            b = sampi_sound(m, sampi_tree_seq(&m->tree, n, b));
        }
    }
    m->work.n = first;
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

/* The alternatives on the stack from `first` on as one node; they are used up. */
static sampi_node sampi_unite(sampi_matcher *m, int32_t first)
{
    sampi_node *n = (sampi_node *)sampi_vec_at(&m->work, sizeof *n, first), all = SAMPI_NEVER;
    int32_t count = m->work.n - first;
    m->work.n = first;
    if (m->status) return SAMPI_NEVER;
    sampi_charge(m, count);
    sampi_sort_nodes(n, count);
    for (int32_t i = count - 1; i >= 0; i--) /* equal ones are neighbours */
        if (i == count - 1 || n[i] != n[i + 1]) all = sampi_sound(m, sampi_tree_alt(&m->tree, n[i], all));
    return all;
}

/* Push a node's alternatives. */
static void sampi_offer(sampi_matcher *m, sampi_node n)
{
    for (; sampi_at(&m->tree, n)->kind == SAMPI_NODE_ALT && sampi_step(m); n = sampi_at(&m->tree, n)->b)
        sampi_work_push(m, sampi_at(&m->tree, n)->a);
    if (n != SAMPI_NEVER) sampi_work_push(m, n);
}

/* `seen` with one more member of a list of n. */
static sampi_node sampi_seen_with(sampi_matcher *m, sampi_node seen, int32_t n, int32_t member)
{
    int32_t at = m->tree.pool.n, status;
    size_t n_bytes = (size_t)(n + 7) / 8;
    uint8_t *bytes = sampi_tree_pool_room(&m->tree, n_bytes, &status);
    if (!bytes) return sampi_sound(m, status);
    if (seen == SAMPI_EMPTY)
        memset(bytes, 0, n_bytes);
    else
        memcpy(bytes, sampi_bytes_at(&m->tree, sampi_at(&m->tree, seen)->a), n_bytes);
    bytes[member / 8] |= (uint8_t)(1u << member % 8);
    return sampi_sound(m, sampi_tree_pool_end(&m->tree, SAMPI_NODE_SEEN, at));
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
static sampi_node sampi_list_more(sampi_matcher *m, sampi_node n)
{
    const sampi_expr e = *sampi_at(&m->tree, n);
    if (e.c == 0 || (e.c & 1)) return SAMPI_NEVER;
    const sampi_opening p = sampi_opening_of(&m->tree, &e);
    sampi_charge(m, p.list.n / 4);
    for (int32_t i = 0; i <= p.list.n && sampi_step(m); i++)
        if (sampi_opening_takes(&m->tree, &p, i) != SAMPI_NEVER)
            return sampi_join(m, p.list.separator,
                              sampi_sound(m, sampi_tree_node(&m->tree, SAMPI_NODE_MEMBERS, e.a, e.b, e.c | 1)));
    return SAMPI_NEVER;
}

/* What follows behind member i of the list that `then` begins with. Members are counted up to where the number no
   longer matters. */
static sampi_node sampi_list_behind(sampi_matcher *m, sampi_node then, int32_t i)
{
    const bool alone = sampi_at(&m->tree, then)->kind == SAMPI_NODE_MEMBERS;
    const sampi_expr seq = *sampi_at(&m->tree, then), e = alone ? seq : *sampi_at(&m->tree, seq.a);
    const sampi_list list = *((const sampi_list *)m->tree.lists.data + e.a);
    int32_t count = e.c / 2, most = list.most < INT32_MAX ? list.most : list.least > 1 ? list.least : 1;
    sampi_node seen = i < list.n ? sampi_seen_with(m, e.b, list.n, i) : e.b;
    sampi_node behind = sampi_sound(
        m, sampi_tree_node(&m->tree, SAMPI_NODE_MEMBERS, e.a, seen, 2 * (count < most ? count + 1 : most)));
    return alone ? behind : sampi_join(m, behind, seq.b);
}

/* What is left of a repetition after one of its turns. */
static sampi_node sampi_repeat_rest(sampi_matcher *m, const sampi_expr *e)
{
    bool empty = sampi_at(&m->tree, e->a)->known & SAMPI_KNOWN_EMPTY; /* then no turn is needed */
    int32_t least = e->b == 0 || empty ? 0 : e->b - 1;
    return sampi_sound(m, sampi_tree_repeat(&m->tree, e->a, least, e->c < 0 ? -1 : e->c - 1));
}

/* What a sequence begins with. */
static sampi_node sampi_front(const sampi_matcher *m, sampi_node n)
{
    for (n = sampi_through(m, n); sampi_at(&m->tree, n)->kind == SAMPI_NODE_SEQ;)
        n = sampi_through(m, sampi_at(&m->tree, n)->a);
    return n;
}

/* Can it be seen at once that no text of n begins with the byte? Of many alternatives most are such. */
static bool sampi_refuses(const sampi_matcher *m, sampi_node n, int32_t byte)
{
    n = sampi_front(m, n);
    const sampi_expr *e = sampi_at(&m->tree, n);
    if (e->kind == SAMPI_NODE_TEXT) return *sampi_bytes_at(&m->tree, e->a) != byte;
    return e->kind == SAMPI_NODE_SET && !(sampi_bytes_at(&m->tree, e->a)[byte / 8] >> byte % 8 & 1);
}

/* A derivative under way: of `whole`, whose part `now` is looked at (-1: none is left). What has been found are the
   alternatives on the stack from `first` on; left: the derivative of an AND's first part, or -1. */
typedef struct sampi_deriving {
    sampi_node whole, now, left;
    int32_t first;
} sampi_deriving;

/* Push alternatives, up to a part whose derivative is needed: that part, or -1, there is none. */
static sampi_node sampi_follow(sampi_matcher *m, sampi_deriving *d, int32_t byte)
{
    while (d->now >= 0 && sampi_step(m) && !sampi_refuses(m, d->now, byte)) {
        const sampi_node n = sampi_through(m, d->now);
        const sampi_expr e = *sampi_at(&m->tree, n);
        d->now = n;
        switch (e.kind) {
            case SAMPI_NODE_TEXT: /* and it begins with the byte */
                sampi_offer(m, e.b == 1
                                   ? SAMPI_EMPTY
                                   : sampi_sound(m, sampi_tree_node(&m->tree, SAMPI_NODE_TEXT, e.a + 1, e.b - 1, 0)));
                return -1;
            case SAMPI_NODE_SET: sampi_offer(m, SAMPI_EMPTY); return -1; /* and has the byte */
            case SAMPI_NODE_SEQ: {
                sampi_node a = sampi_through(m, e.a);
                if (sampi_at(&m->tree, a)->kind != SAMPI_NODE_SEQ) return a;
                d->now = sampi_join(m, a, e.b);
                continue;
            }
            case SAMPI_NODE_ALT:
                if (!sampi_refuses(m, e.a, byte)) return e.a;
                d->now = e.b;
                continue;
            case SAMPI_NODE_REPEAT:
            case SAMPI_NODE_AND:
            case SAMPI_NODE_NOT: return e.a;
            case SAMPI_NODE_MEMBERS: d->now = sampi_list_more(m, n); continue; /* members are called */
            default: return -1; /* NEVER, EMPTY; a token or a call begins with no byte of its own */
        }
    }
    return -1;
}

/* The derivative of the part that sampi_follow stopped at is there: one more such part, or -1. */
static sampi_node sampi_followed(sampi_matcher *m, sampi_deriving *d, sampi_node part)
{
    const sampi_node n = d->now;
    const sampi_expr e = *sampi_at(&m->tree, n);
    d->now = -1;
    switch (e.kind) {
        case SAMPI_NODE_SEQ:
            sampi_offer(m, sampi_join(m, part, e.b));
            if (sampi_at(&m->tree, sampi_through(m, e.a))->known & SAMPI_KNOWN_EMPTY) d->now = e.b;
            return -1;
        case SAMPI_NODE_ALT:
            sampi_offer(m, part);
            d->now = e.b;
            return -1;
        case SAMPI_NODE_REPEAT: sampi_offer(m, sampi_join(m, part, sampi_repeat_rest(m, &e))); return -1;
        case SAMPI_NODE_NOT:
            sampi_offer(m, sampi_sound(m, sampi_tree_node(&m->tree, SAMPI_NODE_NOT, part, 0, 0)));
            return -1;
        default: /* AND */
            if (d->left >= 0) {
                sampi_offer(m, sampi_sound(m, sampi_tree_and(&m->tree, d->left, part)));
            } else if (part != SAMPI_NEVER) {
                d->left = part;
                d->now = n;
                return e.b;
            }
            return -1;
    }
}

static sampi_memo *sampi_memo_of(const sampi_matcher *m, sampi_node n, int32_t byte)
{
    return &m->memo[((uint32_t)n * 0x9E3779B1u ^ (uint32_t)byte * 0x85EBCA77u) >> 7 & ((uint32_t)m->n_memo - 1)];
}

/* An empty memo: as much as there is room for in a small part of what may be held. */
static bool sampi_memo_make(sampi_matcher *m)
{
    int32_t n = SAMPI_MEMO;
    while (n > 64 && (size_t)n * sizeof *m->memo > m->held.most / 16) n /= 2;
    m->memo = (sampi_memo *)sampi_hold_block(&m->held, (size_t)n * sizeof *m->memo);
    if (!m->memo) {
        sampi_fault(m, SAMP_E_NOMEM);
        return false;
    }
    memset(m->memo, 0xff, (size_t)n * sizeof *m->memo);
    m->n_memo = n;
    return true;
}
static void sampi_memo_free(sampi_matcher *m)
{
    sampi_free_block(&m->held, m->memo, (size_t)m->n_memo * sizeof *m->memo);
    m->memo = NULL;
}

/* What may follow a byte in n, as a node. Without the memo, an expression that refers to a rule twice, which refers to
   another one twice, and so on, would take forever. Derivatives that wait for one of their parts lie on the stack,
   below the alternatives of that part. */
static sampi_node sampi_derive(sampi_matcher *m, sampi_node n, int32_t byte)
{
    enum { SIZE = sizeof(sampi_deriving) / sizeof(sampi_node) };
    const int32_t bottom = m->work.n;
    sampi_deriving d = { -1, -1, -1, bottom };
    int32_t depth = 0;
    if (!m->memo && !sampi_memo_make(m)) return SAMPI_NEVER;
    for (;;) { /* n is to be derived: for d, if that has begun */
        const sampi_memo *memo = sampi_memo_of(m, n, byte);
        sampi_node result = memo->node == n && memo->byte == byte ? memo->result : -1;
        if (result < 0) {
            sampi_deriving *room = depth++ ? (sampi_deriving *)sampi_more(m, &m->work, sizeof(sampi_node), SIZE)
                                           : NULL;
            if (room) *room = d;
            d.whole = d.now = n;
            d.left = -1;
            d.first = m->work.n;
        }
        for (n = -1; n < 0;) {
            if (depth == 0) return result;
            if (result >= 0) n = sampi_followed(m, &d, result);
            if (n < 0) n = sampi_follow(m, &d, byte);
            if (n >= 0 && !m->status) break;
            result = sampi_unite(m, d.first);
            if (m->status) {
                m->work.n = bottom;
                return SAMPI_NEVER;
            }
            sampi_memo *made = sampi_memo_of(m, d.whole, byte);
            made->node = d.whole;
            made->byte = byte;
            made->result = result;
            if (--depth) d = *(const sampi_deriving *)sampi_vec_at(&m->work, sizeof(sampi_node), m->work.n -= SIZE);
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
static void sampi_find_kinds(sampi_matcher *m, sampi_node n, sampi_kinds *kinds)
{
    const int32_t bottom = m->work.n;
    sampi_work_push(m, n);
    while (m->work.n > bottom && --kinds->left >= 0 && sampi_step(m)) {
        n = sampi_through(m, sampi_work_pop(m));
        const sampi_expr e = *sampi_at(&m->tree, n);
        switch (e.kind) {
            case SAMPI_NODE_TEXT:
                sampi_split_byte(kinds, m->grammar->byte_of[m->grammar->class_of[*sampi_bytes_at(&m->tree, e.a)]]);
                break;
            case SAMPI_NODE_SET:
                if (kinds->done[e.a / 32 % 32] == e.a) break;
                kinds->done[e.a / 32 % 32] = e.a;
                sampi_charge(m, kinds->n / 4);
                sampi_split_kinds(kinds, sampi_bytes_at(&m->tree, e.a));
                break;
            case SAMPI_NODE_SEQ:
                if (sampi_at(&m->tree, sampi_through(m, e.a))->known & SAMPI_KNOWN_EMPTY) sampi_work_push(m, e.b);
                sampi_work_push(m, e.a);
                break;
            case SAMPI_NODE_ALT:
            case SAMPI_NODE_AND:
                sampi_work_push(m, e.b);
                sampi_work_push(m, e.a);
                break;
            case SAMPI_NODE_REPEAT:
            case SAMPI_NODE_NOT: sampi_work_push(m, e.a); break;
            case SAMPI_NODE_MEMBERS: sampi_work_push(m, sampi_list_more(m, n)); break;
            default: break; /* no byte of its own */
        }
    }
    m->work.n = bottom;
}

/* Of each class of bytes the first one that the node does not tell from it, [n_classes]. All are told apart of a node
   that takes too long to look through. */
static void sampi_kinds_of(sampi_matcher *m, sampi_node n, uint8_t *first)
{
    enum { PATIENCE = 2000 };
    const samp_grammar *g = m->grammar;
    sampi_kinds kinds;
    for (int32_t i = 0; i < 32; i++) kinds.set[0][i] = g->firsts[i];
    memset(kinds.alone, 0, sizeof kinds.alone);
    memset(kinds.done, 0xff, sizeof kinds.done);
    kinds.n = 1;
    kinds.left = PATIENCE;
    sampi_find_kinds(m, n, &kinds);
    sampi_charge(m, (g->n_classes + kinds.n) / 4);
    for (int32_t c = 0; c < g->n_classes; c++) first[c] = (uint8_t)c;
    for (int32_t k = 0; k < kinds.n && kinds.left >= 0; k++) {
        static const uint8_t place[8] = { 0, 1, 2, 4, 7, 3, 6, 5 }; /* of a bit in a byte, by 0x17 times it */
        int32_t found = -1;
        for (uint32_t i = 0; i < 32; i++)
            for (uint32_t bits = kinds.set[k][i]; bits; bits &= bits - 1) {
                const int32_t c = g->class_of[8 * i + place[(bits & (0u - bits)) * 0x17 >> 5 & 7]];
                if (found < 0) found = c;
                first[c] = (uint8_t)found;
            }
    }
}

/* Is there a text that n, regular and with an AND in it, matches? Looks for a derivative that matches the empty text;
   the way to it is alive, and if there is none, all that were looked at are dead. */
static bool sampi_search(sampi_matcher *m, sampi_node start)
{
    int32_t first = m->work.n;
    bool found = false;
    sampi_work_push_pair(m, start, -1);
    if (m->status) return false;
    sampi_at(&m->tree, start)->known |= SAMPI_KNOWN_QUEUED;
    for (int32_t at = first; at < m->work.n && !found && !m->status; at += 2) {
        sampi_node n = ((sampi_node *)m->work.data)[at];
        uint8_t kinds[256];
        sampi_kinds_of(m, n, kinds);
        for (int32_t c = 0; c < m->grammar->n_classes && !found && !m->status; c++) {
            if (kinds[c] != c) continue;
            sampi_node d = sampi_derive(m, n, m->grammar->byte_of[c]);
            uint8_t known = sampi_at(&m->tree, d)->known;
            if (known & (SAMPI_KNOWN_DEAD | SAMPI_KNOWN_QUEUED)) continue;
            found = (known & (SAMPI_KNOWN_EMPTY | SAMPI_KNOWN_ALIVE)) || !(known & SAMPI_KNOWN_AND);
            sampi_work_push_pair(m, d, at);
            if (m->status) break;
            sampi_at(&m->tree, d)->known |= SAMPI_KNOWN_QUEUED;
        }
    }
    if (found && !m->status) /* the last one, and those it was reached by */
        for (int32_t at = m->work.n - 2; at >= first;) {
            const sampi_node *pair = (const sampi_node *)m->work.data + at;
            sampi_at(&m->tree, pair[0])->known |= SAMPI_KNOWN_ALIVE;
            at = pair[1];
        }
    for (int32_t at = first; at < m->work.n; at += 2) {
        sampi_expr *e = sampi_at(&m->tree, ((sampi_node *)m->work.data)[at]);
        e->known &= (uint8_t)~SAMPI_KNOWN_QUEUED;
        if (!found && !m->status) e->known |= SAMPI_KNOWN_DEAD;
    }
    m->work.n = first;
    return found;
}

/* Can n match at all? With an AND in it that is looked for. On the stack lie the second parts of sequences, which must
   match too, and of alternatives, which match if the first one can't, each below its kind. */
static bool sampi_alive(sampi_matcher *m, sampi_node n)
{
    const int32_t bottom = m->work.n;
    for (;;) {
        bool alive = false;
        sampi_charge(m, 1);
        n = sampi_through(m, n);
        const sampi_expr e = *sampi_at(&m->tree, n);
        if (e.known & SAMPI_KNOWN_DEAD) {
            alive = false;
        } else if (!(e.known & SAMPI_KNOWN_AND) || (e.known & (SAMPI_KNOWN_ALIVE | SAMPI_KNOWN_EMPTY))) {
            alive = true;
        } else if (e.kind == SAMPI_NODE_SEQ || e.kind == SAMPI_NODE_ALT) {
            n = e.kind == SAMPI_NODE_SEQ ? sampi_through(m, e.a) : e.a;
            if (e.kind == SAMPI_NODE_SEQ && sampi_at(&m->tree, n)->kind == SAMPI_NODE_SEQ) {
                n = sampi_join(m, n, e.b);
                continue;
            }
            sampi_work_push_pair(m, e.b, e.kind);
            if (!m->status) continue;
        } else if (e.kind == SAMPI_NODE_REPEAT) {
            n = e.a;
            continue;
        } else {
            alive = (e.known & SAMPI_KNOWN_CALLS) || sampi_search(m, n);
        }
        bool settled = true;
        while (m->work.n > bottom && settled && !m->status) {
            settled = (sampi_work_pop(m) == SAMPI_NODE_SEQ) != alive;
            n = sampi_work_pop(m);
        }
        if (!settled) continue;
        m->work.n = bottom;
        return alive;
    }
}
