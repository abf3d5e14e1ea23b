/* ---- the tree ----
   Nodes are only added, and never change; a node's number is its index. Functions that make nodes pass errors on: if an
   argument is negative (a status), they return it. */

typedef int32_t sampi_node; /* a node's number; negative: a samp_status */

/* What a node matches. a, b and c are its numbers: nodes, if nothing else is said. */
typedef enum sampi_node_kind {
    SAMPI_NODE_NEVER,   /* no text */
    SAMPI_NODE_EMPTY,   /* the empty text */
    SAMPI_NODE_TEXT,    /* b bytes, at a in the pool; c: the rule with this name + 1, or 0 */
    SAMPI_NODE_SET,     /* one byte of a set: 256 bits, at a in the pool (b = 32) */
    SAMPI_NODE_TOKEN,   /* token a; b & 1: any other token; b & 2: a is the token's TEXT */
    SAMPI_NODE_SEQ,     /* a, then b */
    SAMPI_NODE_ALT,     /* a (never an ALT itself) or b */
    SAMPI_NODE_REPEAT,  /* a, at least b times and at most c times (-1: any number) */
    SAMPI_NODE_GROUP,   /* a, and b says why it is a group (below); in triggers only */
    SAMPI_NODE_AND,     /* the texts that both a and b match */
    SAMPI_NODE_NOT,     /* every string of bytes that a does not match */
    SAMPI_NODE_REF,     /* rule a */
    SAMPI_NODE_MEMBERS, /* list a behind the members in b; c: 2 * their number (+ 1 behind a separator) */
    SAMPI_NODE_SEEN,    /* the set b of a MEMBERS, if it is not EMPTY: b bytes of bits, one for each member */
    SAMPI_NODE_MULTIPLE /* the end of a decimal number that is a multiple of a, see below */
} sampi_node_kind;

/* The phase of a MULTIPLE is c % 8: where in the number it is. The digits so far leave the remainder b modulo a. c / 8
   decimal places may still come; behind them only zeros may come. */
enum {
    SAMPI_MULTIPLE_BEGINS,
    SAMPI_MULTIPLE_ZERO,
    SAMPI_MULTIPLE_WHOLE,
    SAMPI_MULTIPLE_POINT,
    SAMPI_MULTIPLE_BEHIND
};

/* What a GROUP is for: a group's number from 0, or one of these. */
enum {
    SAMPI_GROUP_NONE = -1, /* it keeps alternatives apart from those around them */
    SAMPI_GROUP_LAZY = -2  /* it is a REPEAT that tries fewer times first */
};

/* What is known of a node, as bits. */
enum {
    SAMPI_KNOWN_EMPTY = 1,  /* it matches the empty text */
    SAMPI_KNOWN_CALLS = 2,  /* a call, a token or a list is in it: it is not regular */
    SAMPI_KNOWN_AND = 4,    /* an AND is in it, so a search must find whether it matches any text */
    SAMPI_KNOWN_ALIVE = 8,  /* it matches some text */
    SAMPI_KNOWN_DEAD = 16,  /* it matches no text; also known without an AND, if a required part matches no text */
    SAMPI_KNOWN_OPEN = 64,  /* sampi_grammar_visit is inside it */
    SAMPI_KNOWN_DONE = 128, /* sampi_grammar_visit has finished it */
    SAMPI_KNOWN_SHARED = SAMPI_KNOWN_EMPTY | SAMPI_KNOWN_CALLS | SAMPI_KNOWN_AND |
                         SAMPI_KNOWN_DEAD /* the bits that follow from the parts */
};

typedef struct sampi_expr {
    uint8_t kind, known; /* known: SAMPI_KNOWN_* when it was made */
    uint16_t depth;      /* how deep a function that walks the node recurses */
    int32_t a, b, c;
    int32_t state; /* the matcher's state of this node, or 0 */
} sampi_expr;

/* The two nodes that every tree begins with. */
#define SAMPI_NEVER 0
#define SAMPI_EMPTY 1

#define SAMPI_MAX_DEPTH  256       /* of a node: so much stack is safe everywhere */
#define SAMPI_MAX_NODES  (1 << 24) /* of a tree */
#define SAMPI_MAX_POOL   (1 << 28) /* bytes of all texts and sets */
#define SAMPI_MAX_RANGES 4096      /* of a class */
#define SAMPI_MAX_WORK   (1 << 24) /* for reading a text: a node that exists costs 1, a new one SAMPI_NEW_NODE */
#define SAMPI_NEW_NODE   8
#define SAMPI_MAX_REGEX  8192 /* bytes of a regular expression */

typedef struct sampi_rule {
    sampi_node name, body; /* name: a TEXT, or EMPTY; body: -1 = not defined */
    size_t place;          /* where the name first occurs in GBNF */
    int32_t n_refs;        /* how many nodes refer to it */
    bool call;             /* is it called, or replaced by its body? */
    uint8_t known;         /* what is known of its body, in a finished grammar */
} sampi_rule;

/* A list of members in any order, none of them twice: sampi_tree_members. */
typedef struct sampi_member {
    sampi_node node;
    bool required;
} sampi_member;
typedef struct sampi_list {
    int32_t first, n; /* members, in the tree's array */
    sampi_node separator, other;
    int32_t least, most; /* most: INT32_MAX = no bound */
    int32_t slots;       /* how many witnesses there are, see sampi_tree_witnesses */
} sampi_list;

enum {
    SAMPI_KINDS_OF_NAMES = 8, /* kinds of names, which distinguish witnesses */
    SAMPI_SETS_OF_KINDS = 1 << SAMPI_KINDS_OF_NAMES,
    SAMPI_MAX_SLOTS = 4
};

/* An account of heap memory. Each block counts with its full size. Accounts that share a limit count in `all`, which
   several threads change at the same time. */
typedef struct sampi_held {
    size_t bytes, most;
    size_t apart;           /* bytes of stores, counted separately; a quarter of `most` stays for all else */
    struct sampi_held *all; /* the account that counts instead, or NULL */
    bool full;              /* a request exceeded the limit */
    size_t beside;          /* bytes above the limit that are allowed for now */
} sampi_held;

/* An array that grows. Its elements move when it grows, so they are referred to by number. sampi_vec_like makes an
   empty one. */
typedef struct sampi_vec {
    void *data;
    int32_t n, cap;
    size_t size;      /* of data, in bytes */
    sampi_held *held; /* the account where it counts; NULL: it is not counted */
} sampi_vec;

/* A cache of classes of code points: grammars often repeat the same classes. A class's hash selects its slot. */
enum { SAMPI_CLASSES = 64 };
typedef struct sampi_class {
    uint32_t range[2][2];
    int32_t n, how; /* how: 0: the slot is free; else which function made it, + 1 if it is negated */
    sampi_node node;
} sampi_class;

/* The counts of a tree to which several threads add nodes at the same time (store.h). Its arrays never move; these
   counts replace nodes.n and pool.n. */
typedef struct sampi_growth {
    int32_t n_nodes, n_pool;
    int32_t *known; /* [nodes.cap] what was found out after a node was made: ALIVE, DEAD */
} sampi_growth;

typedef struct sampi_tree {
    sampi_vec nodes;      /* sampi_expr */
    sampi_vec pool;       /* bytes */
    sampi_vec rules;      /* sampi_rule */
    sampi_vec lists;      /* sampi_list */
    sampi_vec members;    /* sampi_member */
    sampi_vec slots;      /* a hash table of 2^k slots: a node, or -1 */
    int64_t spare;        /* how much work is left: SAMPI_MAX_WORK */
    sampi_class *classes; /* [SAMPI_CLASSES], or NULL */
    sampi_growth *growth; /* NULL: only one thread uses the tree */
} sampi_tree;

/* Counts a block before it is allocated. Returns false if it would exceed the limit. */
static bool sampi_hold(sampi_held *held, size_t bytes)
{
    if (!held) return true;
    sampi_held *all = held->all ? held->all : held;
    for (;;) {
        const size_t now = SAMPI_SIZE_GET(&all->bytes), apart = SAMPI_SIZE_GET(&all->apart);
        size_t most = SAMPI_SIZE_GET(&all->most);
        most -= apart < most - most / 4 ? apart : most - most / 4;
        most = most < SIZE_MAX - held->beside ? most + held->beside : SIZE_MAX;
        if (bytes > most || now > most - bytes) break;
        if (SAMPI_SIZE_CAS(&all->bytes, now, now + bytes)) return true;
    }
    held->full = true;
    return false;
}
static void sampi_let_go(sampi_held *held, size_t bytes)
{
    if (held) (void)SAMPI_SIZE_ADD(&(held->all ? held->all : held)->bytes, (size_t)0 - bytes);
}

/* Allocates a block that counts in an account, and frees such a block. */
static void *sampi_hold_block(sampi_held *held, size_t bytes)
{
    if (!sampi_hold(held, bytes)) return NULL;
    void *block = SAMP_MALLOC(bytes);
    if (!block) sampi_let_go(held, bytes);
    return block;
}
static void sampi_free_block(sampi_held *held, void *block, size_t bytes)
{
    if (block) sampi_let_go(held, bytes);
    SAMP_FREE(block);
}

/* Makes room for `cap` elements. The old block counts until the elements have moved. */
static bool sampi_vec_move(sampi_vec *vec, size_t width, int32_t cap)
{
    const size_t size = (size_t)cap * width;
    if (!sampi_hold(vec->held, size)) return false;
    void *data = SAMP_MALLOC(size);
    if (!data) {
        sampi_let_go(vec->held, size);
        return false;
    }
    if (vec->n) memcpy(data, vec->data, (size_t)vec->n * width);
    SAMP_FREE(vec->data);
    sampi_let_go(vec->held, vec->size);
    vec->data = data;
    vec->cap = cap;
    vec->size = size;
    return true;
}

/* Doubles the room; if that exceeds the limit, adds a quarter. */
static bool sampi_vec_grow(sampi_vec *vec, size_t width, int32_t least)
{
    int32_t cap = vec->cap < 16 ? 16 : vec->cap * 2, some = vec->cap + vec->cap / 4;
    while (cap < least) cap *= 2;
    if (sampi_vec_move(vec, width, cap)) return true;
    if (!vec->held || !vec->held->full) return false;
    if (some < least) some = least;
    if (some >= cap) return false;
    vec->held->full = false;
    return sampi_vec_move(vec, width, some);
}

/* Adds `more` elements at the end and to vec->n. Returns their address; NULL if there is no memory, and then nothing
   has changed. */
static void *sampi_vec_add(sampi_vec *vec, size_t width, int32_t more)
{
    if (more > INT32_MAX / 2 - vec->n) return NULL;
    if ((vec->n + more > vec->cap || !vec->data) && !sampi_vec_grow(vec, width, vec->n + more)) return NULL;
    vec->n += more;
    return (char *)vec->data + (size_t)(vec->n - more) * width;
}

/* Element i; NULL if the array has no memory yet. */
static void *sampi_vec_at(const sampi_vec *vec, size_t width, int32_t i)
{
    return vec->data ? (char *)vec->data + (size_t)i * width : NULL;
}

/* An empty array that counts in the same account. */
static sampi_vec sampi_vec_like(const sampi_vec *other)
{
    sampi_vec vec;
    memset(&vec, 0, sizeof vec);
    vec.held = other->held;
    return vec;
}

static void sampi_vec_free(sampi_vec *vec)
{
    SAMP_FREE(vec->data);
    sampi_let_go(vec->held, vec->size);
    *vec = sampi_vec_like(vec);
}

/* Gives back memory that is much more than is in use. If that needs too much memory for a moment, the array stays as it
   is. */
static void sampi_vec_trim(sampi_vec *vec, size_t width)
{
    const bool was_full = vec->held && vec->held->full;
    if (vec->cap > 64 && vec->n < vec->cap / 4) sampi_vec_move(vec, width, vec->n < 8 ? 16 : 2 * vec->n);
    if (vec->held) vec->held->full = was_full;
}

/* Makes a hash table (int32_t each) with twice as many slots as `slots`, at least 64, all of them free (-1). */
static bool sampi_slots_like(sampi_vec *made, const sampi_vec *slots)
{
    sampi_vec more = sampi_vec_like(slots);
    int32_t n = slots->n ? 2 * slots->n : 64;
    if (!sampi_vec_add(&more, sizeof(int32_t), n)) return false;
    memset(more.data, 0xff, (size_t)n * sizeof(int32_t));
    *made = more;
    return true;
}

/* The same, and it replaces the old table. */
static bool sampi_slots_renew(sampi_vec *slots)
{
    sampi_vec old = *slots;
    if (!sampi_slots_like(slots, &old)) return false;
    sampi_vec_free(&old);
    return true;
}

static sampi_expr *sampi_at(const sampi_tree *t, sampi_node n) { return (sampi_expr *)t->nodes.data + n; }
static sampi_rule *sampi_rule_at(const sampi_tree *t, int32_t i) { return (sampi_rule *)t->rules.data + i; }
static const uint8_t *sampi_bytes_at(const sampi_tree *t, int32_t at) { return (const uint8_t *)t->pool.data + at; }

/* Texts and sets are equal if their bytes are, all other nodes if their numbers are. */
static bool sampi_in_pool(int kind)
{
    return kind == SAMPI_NODE_TEXT || kind == SAMPI_NODE_SET || kind == SAMPI_NODE_SEEN;
}

static uint32_t sampi_node_hash(const sampi_tree *t, int kind, int32_t a, int32_t b, int32_t c)
{
    uint64_t h = (uint64_t)kind * 0x9E3779B97F4A7C15u;
    if (sampi_in_pool(kind)) {
        h ^= sampi_checksum(sampi_bytes_at(t, a), (size_t)b);
    } else { /* parts often have neighbouring numbers, so none may cancel another one's bits */
        h = (h ^ ((uint64_t)(uint32_t)a << 32 | (uint32_t)b)) * 0xD6E8FEB86659FD93u;
        h = (h ^ h >> 32 ^ (uint32_t)c) * 0xD6E8FEB86659FD93u;
    }
    return (uint32_t)(h ^ h >> 29);
}

/* The slot of a node: the one that has it, or the free one that it would get; NULL if too many collide. */
static sampi_node *sampi_node_slot(const sampi_tree *t, int kind, int32_t a, int32_t b, int32_t c)
{
    enum { PROBES = 128 };
    sampi_node *slots = (sampi_node *)t->slots.data;
    uint32_t mask = (uint32_t)t->slots.n - 1, i = sampi_node_hash(t, kind, a, b, c) & mask;
    for (int32_t probes = 0; probes < PROBES; probes++, i = (i + 1) & mask) {
        SAMPI_COUNT_STEPS(1);
        if (slots[i] < 0) return &slots[i];
        const sampi_expr *e = sampi_at(t, slots[i]);
        if (e->kind != kind || e->b != b) continue;
        if (sampi_in_pool(kind) ? memcmp(sampi_bytes_at(t, e->a), sampi_bytes_at(t, a), (size_t)b) == 0
                                : e->a == a && e->c == c)
            return &slots[i];
    }
    return NULL;
}

/* Enters all nodes into the hash table, which is empty. No two nodes are equal, so nothing is compared. */
static void sampi_tree_fill_slots(sampi_tree *t)
{
    sampi_node *slots = (sampi_node *)t->slots.data;
    const uint32_t mask = (uint32_t)t->slots.n - 1;
    for (sampi_node n = 0; n < t->nodes.n; n++) {
        const sampi_expr *e = sampi_at(t, n);
        uint32_t i = sampi_node_hash(t, e->kind, e->a, e->b, e->c) & mask;
        for (; slots[i] >= 0; i = (i + 1) & mask) SAMPI_COUNT_STEPS(1);
        slots[i] = n;
    }
}

/* Makes the hash table larger and enters all nodes. */
static bool sampi_tree_rehash(sampi_tree *t)
{
    if (!sampi_slots_renew(&t->slots)) return false;
    sampi_tree_fill_slots(t);
    return true;
}

/* How deep functions recurse in a node. Loops walk along the right arms of SEQ and ALT; every other step is a level. */
static int32_t sampi_node_depth(const sampi_tree *t, int kind, int32_t a, int32_t b)
{
    if (kind < SAMPI_NODE_SEQ || kind > SAMPI_NODE_NOT) return 0;
    int32_t depth = sampi_at(t, a)->depth + (kind != SAMPI_NODE_SEQ || sampi_at(t, a)->kind != SAMPI_NODE_SEQ);
    if (kind != SAMPI_NODE_REPEAT && kind != SAMPI_NODE_GROUP && kind != SAMPI_NODE_NOT) {
        int32_t other = sampi_at(t, b)->depth + (kind == SAMPI_NODE_AND);
        if (other > depth) depth = other;
    }
    return depth;
}

/* Is the node a reference to a rule that is replaced by its body? Functions that walk a tree look through it. */
static bool sampi_is_inline(const sampi_tree *t, const sampi_expr *e)
{
    return e->kind == SAMPI_NODE_REF && !sampi_rule_at(t, e->a)->call;
}

static bool sampi_has_seen(const sampi_tree *t, sampi_node seen, int32_t member)
{
    return seen != SAMPI_EMPTY && (sampi_bytes_at(t, sampi_at(t, seen)->a)[member / 8] >> member % 8 & 1);
}

/* What is known of a node by now; and adding to it. */
static int32_t sampi_known(const sampi_tree *t, sampi_node n)
{
    return sampi_at(t, n)->known | (t->growth ? SAMPI_INT_GET(&t->growth->known[n]) : 0);
}
static void sampi_learnt(const sampi_tree *t, sampi_node n, int32_t known)
{
    if (t->growth)
        SAMPI_INT_OR(&t->growth->known[n], known);
    else
        sampi_at(t, n)->known |= (uint8_t)known;
}

static bool sampi_is_dead(const sampi_tree *t, sampi_node n) { return sampi_known(t, n) & SAMPI_KNOWN_DEAD; }

/* What a MEMBERS node says about its list. */
typedef struct sampi_opening {
    sampi_list list;
    const sampi_member *member; /* [list.n], valid until the tree grows */
    sampi_node seen;
    int32_t count;                  /* how many members have come */
    int32_t missing, left;          /* of the others: how many must come, how many may */
    bool dead;                      /* a required member is impossible */
    uint32_t taken;                 /* the kinds of names that witnesses have used */
    int32_t n_open;                 /* how many slots are still open: no witness has come */
    uint32_t open[SAMPI_MAX_SLOTS]; /* the kinds that each open slot may have */
    int32_t slot[SAMPI_MAX_SLOTS];  /* the numbers of the open slots */
} sampi_opening;

/* Can each of n slots get a kind of its own that is not taken? */
static bool sampi_slots_fit(const uint32_t *open, int32_t n, uint32_t taken)
{
    if (n == 0) return true;
    for (uint32_t kind = 1; kind < SAMPI_SETS_OF_KINDS; kind <<= 1)
        if ((open[0] & ~taken & kind) && sampi_slots_fit(open + 1, n - 1, taken | kind)) return true;
    return false;
}

/* Fills in the open slots of a list, and which members that are not listed may still come. */
static void sampi_opening_slots(const sampi_tree *t, sampi_opening *p)
{
    p->taken = 0;
    p->n_open = 0;
    if (p->list.slots == 0) return;
    for (int32_t s = 0, i = p->list.n - p->list.slots * SAMPI_KINDS_OF_NAMES; s < p->list.slots; s++) {
        uint32_t seen = 0, may = 0;
        for (uint32_t kind = 1; kind < SAMPI_SETS_OF_KINDS; kind <<= 1, i++) {
            if (sampi_has_seen(t, p->seen, i)) seen |= kind;
            if (!sampi_is_dead(t, p->member[i].node)) may |= kind;
        }
        p->taken |= seen;
        if (seen) continue;
        p->slot[p->n_open] = s;
        p->open[p->n_open++] = may;
    }
    p->missing += p->n_open;
    p->left += p->n_open;
    p->dead |= !sampi_slots_fit(p->open, p->n_open, p->taken);
    p->list.other = p->member[p->list.n + (int32_t)p->taken].node;
}

/* Finds out what a MEMBERS node says about its list. */
static sampi_opening sampi_opening_of(const sampi_tree *t, const sampi_expr *e)
{
    sampi_opening p;
    p.list = *((const sampi_list *)t->lists.data + e->a);
    p.member = (const sampi_member *)sampi_vec_at(&t->members, sizeof *p.member, p.list.first);
    p.seen = e->b;
    p.count = e->c / 2;
    p.missing = p.left = 0;
    p.dead = false;
    for (int32_t i = 0; i < p.list.n - p.list.slots * SAMPI_KINDS_OF_NAMES; i++) {
        if (sampi_has_seen(t, p.seen, i)) continue;
        bool dead = sampi_is_dead(t, p.member[i].node);
        p.missing += p.member[i].required;
        p.left += !dead;
        p.dead |= dead && p.member[i].required;
    }
    sampi_opening_slots(t, &p);
    if (sampi_is_dead(t, p.list.other)) p.list.other = SAMPI_NEVER;
    return p;
}

/* May a list end at the MEMBERS node e (EMPTY), or can it never end (DEAD)? e.c is twice the number of members that
   have come (up to where the number no longer matters), + 1 if a separator was read behind them. */
static uint8_t sampi_list_known(const sampi_tree *t, const sampi_expr *e)
{
    const sampi_opening p = sampi_opening_of(t, e);
    const bool enough = p.count >= p.list.least,
               more = p.list.other != SAMPI_NEVER || p.count + p.left >= p.list.least;
    if (p.dead || p.missing > p.list.most - p.count || !more) return SAMPI_KNOWN_DEAD;
    return !(e->c & 1) && enough && p.missing == 0 ? SAMPI_KNOWN_EMPTY : 0;
}

/* May a number end at a MULTIPLE (EMPTY), or can it never become a multiple (DEAD)? Decimal places that are not written
   are zeros. Before the point, further digits can always make it a multiple. */
static uint8_t sampi_multiple_known(const sampi_expr *e)
{
    const int32_t phase = e->c % 8;
    int64_t rest = e->b, most = 1; /* the places that are left add less than `most`, if that is below a */
    for (int32_t i = e->c / 8; i > 0; i--) {
        rest = rest * 10 % e->a;
        if (most < e->a) most *= 10;
    }
    const int64_t lacks = (e->a - rest) % e->a;
    if (phase >= SAMPI_MULTIPLE_POINT && lacks >= most) return SAMPI_KNOWN_DEAD;
    return lacks || phase == SAMPI_MULTIPLE_BEGINS || phase == SAMPI_MULTIPLE_POINT ? 0 : SAMPI_KNOWN_EMPTY;
}

/* What follows from a node's parts, for sampi_expr.known. A rule that calls itself without end is not dead. */
static uint8_t sampi_node_known(const sampi_tree *t, const sampi_expr *e)
{
    const int32_t shared = SAMPI_KNOWN_CALLS | SAMPI_KNOWN_AND, passed = SAMPI_KNOWN_EMPTY | SAMPI_KNOWN_DEAD;
    int32_t a, b, any, all;
    switch (e->kind) {
        case SAMPI_NODE_NEVER: return SAMPI_KNOWN_DEAD;
        case SAMPI_NODE_EMPTY: return SAMPI_KNOWN_EMPTY;
        case SAMPI_NODE_TOKEN: return SAMPI_KNOWN_CALLS;
        case SAMPI_NODE_REF:
            a = sampi_rule_at(t, e->a)->known;
            return (uint8_t)(sampi_is_inline(t, e) ? a : (a & passed) | SAMPI_KNOWN_CALLS);
        case SAMPI_NODE_MEMBERS: return (uint8_t)(sampi_list_known(t, e) | SAMPI_KNOWN_CALLS);
        case SAMPI_NODE_SEQ:
        case SAMPI_NODE_ALT:
        case SAMPI_NODE_AND:
            a = sampi_known(t, e->a);
            b = sampi_known(t, e->b);
            any = e->kind == SAMPI_NODE_ALT ? SAMPI_KNOWN_EMPTY : SAMPI_KNOWN_DEAD; /* where one part is enough */
            all = passed & ~any;                                                    /* where both are needed */
            if (e->kind == SAMPI_NODE_AND) a |= SAMPI_KNOWN_AND;
            return (uint8_t)(((a | b) & (shared | any)) | (a & b & all));
        case SAMPI_NODE_REPEAT:
            a = sampi_known(t, e->a);
            if (e->b == 0) a = (a & shared) | SAMPI_KNOWN_EMPTY;
            return (uint8_t)(a & (shared | passed));
        case SAMPI_NODE_NOT: a = sampi_known(t, e->a); return (uint8_t)((a & shared) | (~a & SAMPI_KNOWN_EMPTY));
        case SAMPI_NODE_MULTIPLE: return sampi_multiple_known(e);
        default: return 0;
    }
}

/* Takes n elements of an array that never moves and has room for `cap`. Returns the number of the first element; -1 if
   the array is full. Several threads may call this function at the same time. */
static int32_t sampi_take(int32_t *used, int32_t n, int32_t cap)
{
    for (;;) {
        const int32_t at = SAMPI_INT_GET(used);
        if (n > cap - at) return -1;
        if (SAMPI_INT_CAS(used, at, at + n)) return at;
    }
}

/* sampi_tree_node for a tree to which several threads add. A new node is written completely before its number gets into
   a slot. If two threads make the same node, the second number is never used. If the tree is full, or too many nodes
   collide, it returns SAMP_E_NOMEM with held->full, as an array does that may not grow: a larger store, or one with
   fewer nodes, follows. */
static sampi_node sampi_tree_common(const sampi_tree *t, int kind, int32_t a, int32_t b, int32_t c)
{
    enum { PROBES = 128 };
    sampi_node *slots = (sampi_node *)t->slots.data, made = -1;
    const uint32_t mask = (uint32_t)t->slots.n - 1;
    uint32_t i = sampi_node_hash(t, kind, a, b, c) & mask;
    for (int32_t probes = 0; probes < PROBES; probes++, i = (i + 1) & mask) {
        sampi_node at = SAMPI_INT_GET(&slots[i]);
        if (at < 0) {
            if (made < 0) {
                const int32_t depth = sampi_node_depth(t, kind, a, b);
                if (depth > SAMPI_MAX_DEPTH) return SAMP_E_RANGE;
                made = sampi_take(&t->growth->n_nodes, 1, t->nodes.cap);
                if (made < 0) break;
                sampi_expr *e = sampi_at(t, made), expr = { (uint8_t)kind, 0, (uint16_t)depth, a, b, c, 0 };
                expr.known = sampi_node_known(t, &expr);
                *e = expr;
                SAMPI_INT_PUT(&t->growth->known[made], 0);
            }
            if (SAMPI_INT_CAS(&slots[i], -1, made)) return made;
            at = SAMPI_INT_GET(&slots[i]);
        }
        const sampi_expr *e = sampi_at(t, at);
        if (e->kind != kind || e->b != b) continue;
        if (sampi_in_pool(kind) ? memcmp(sampi_bytes_at(t, e->a), sampi_bytes_at(t, a), (size_t)b) == 0
                                : e->a == a && e->c == c)
            return at;
    }
    t->nodes.held->full = true;
    return SAMP_E_NOMEM;
}

/* Returns the node with these parts: the existing one, or a new one. All nodes are made here. If more nodes collide
   than is likely by chance, the hash table grows; if that does not help, the grammar is an attack and is refused. */
static sampi_node sampi_tree_node(sampi_tree *t, int kind, int32_t a, int32_t b, int32_t c)
{
    enum { SLOTS = 32 }; /* of the table for each node, at most */
    if (--t->spare < 0) return SAMP_E_RANGE;
    if (t->growth) return sampi_tree_common(t, kind, a, b, c);
    if (2 * (t->nodes.n + 1) > t->slots.n && !sampi_tree_rehash(t)) return SAMP_E_NOMEM;
    sampi_node *slot = sampi_node_slot(t, kind, a, b, c);
    for (; !slot; slot = sampi_node_slot(t, kind, a, b, c)) {
        if (t->slots.n / SLOTS > t->nodes.n) return SAMP_E_RANGE;
        if (!sampi_tree_rehash(t)) return SAMP_E_NOMEM;
    }
    if (*slot >= 0) return *slot;
    int32_t depth = sampi_node_depth(t, kind, a, b);
    if (t->nodes.n >= SAMPI_MAX_NODES || depth > SAMPI_MAX_DEPTH) return SAMP_E_RANGE;
    t->spare -= SAMPI_NEW_NODE - 1;
    sampi_expr *e = (sampi_expr *)sampi_vec_add(&t->nodes, sizeof *e, 1);
    if (!e) return SAMP_E_NOMEM;
    e->kind = (uint8_t)kind;
    e->depth = (uint16_t)depth;
    e->a = a;
    e->b = b;
    e->c = c;
    e->state = 0;
    e->known = sampi_node_known(t, e);
    return *slot = t->nodes.n - 1;
}

/* Returns the text or set that is made of the pool's bytes from `at` on. If an equal node exists, these bytes leave the
   pool. */
static sampi_node sampi_tree_pool_end(sampi_tree *t, int kind, int32_t at)
{
    int32_t n_nodes = t->nodes.n;
    sampi_node node = sampi_tree_node(t, kind, at, t->pool.n - at, 0);
    if (t->nodes.n == n_nodes) t->pool.n = at; /* it exists, or there is an error */
    return node;
}

/* Returns room for n bytes at the pool's end; NULL with a status. */
static uint8_t *sampi_tree_pool_room(sampi_tree *t, size_t n, int *status)
{
    if (t->growth) {
        const int32_t at = sampi_take(&t->growth->n_pool, (int32_t)n, t->pool.cap);
        *status = SAMP_E_NOMEM;
        t->pool.held->full |= at < 0;
        return at < 0 ? NULL : (uint8_t *)t->pool.data + at;
    }
    *status = n > (size_t)(SAMPI_MAX_POOL - t->pool.n) ? SAMP_E_RANGE : SAMP_E_NOMEM;
    return *status == SAMP_E_RANGE ? NULL : (uint8_t *)sampi_vec_add(&t->pool, 1, (int32_t)n);
}

/* A text or set of n bytes. */
static sampi_node sampi_tree_pooled(sampi_tree *t, int kind, const void *bytes, size_t n)
{
    int32_t at = t->pool.n, status;
    uint8_t *room = sampi_tree_pool_room(t, n, &status);
    if (!room) return status;
    memcpy(room, bytes, n);
    return sampi_tree_pool_end(t, kind, at);
}

/* Makes an empty tree. */
static int sampi_tree_init(sampi_tree *t)
{
    memset(t, 0, sizeof *t);
    t->spare = SAMPI_MAX_WORK;
    sampi_node never = sampi_tree_node(t, SAMPI_NODE_NEVER, 0, 0, 0);
    sampi_node empty = never < 0 ? never : sampi_tree_node(t, SAMPI_NODE_EMPTY, 0, 0, 0);
    return empty < 0 ? empty : SAMP_OK;
}

static void sampi_tree_free(sampi_tree *t)
{
    sampi_vec_free(&t->nodes);
    sampi_vec_free(&t->pool);
    sampi_vec_free(&t->rules);
    sampi_vec_free(&t->lists);
    sampi_vec_free(&t->members);
    sampi_vec_free(&t->slots);
}

/* The text of n bytes. */
static sampi_node sampi_tree_text(sampi_tree *t, const char *bytes, size_t n)
{
    return n ? sampi_tree_pooled(t, SAMPI_NODE_TEXT, bytes, n) : SAMPI_EMPTY;
}

/* One byte from lo to hi. */
static sampi_node sampi_tree_byte(sampi_tree *t, uint32_t lo, uint32_t hi)
{
    uint8_t bits[32] = { 0 };
    for (uint32_t i = lo; i <= hi; i++) bits[i / 8] |= (uint8_t)(1u << i % 8);
    return sampi_tree_pooled(t, SAMPI_NODE_SET, bits, 32);
}

/* a, then b. A sequence that is built by adding parts at its end leans to the left; derivatives straighten it
   (sampi_join). */
static sampi_node sampi_tree_seq(sampi_tree *t, sampi_node a, sampi_node b)
{
    if (a < 0 || b < 0) return a < 0 ? a : b;
    if (a == SAMPI_NEVER || b == SAMPI_NEVER) return SAMPI_NEVER;
    if (a == SAMPI_EMPTY) return b;
    return b == SAMPI_EMPTY ? a : sampi_tree_node(t, SAMPI_NODE_SEQ, a, b, 0);
}

/* a or b. If both are lists of alternatives, the left list goes in front of the right one, so every ALT leans to the
   right. */
static sampi_node sampi_tree_alt(sampi_tree *t, sampi_node a, sampi_node b)
{
    if (a < 0 || b < 0) return a < 0 ? a : b;
    if (a == b || b == SAMPI_NEVER) return a;
    if (a == SAMPI_NEVER) return b;
    if (sampi_at(t, a)->kind != SAMPI_NODE_ALT) return sampi_tree_node(t, SAMPI_NODE_ALT, a, b, 0);
    if (sampi_at(t, b)->kind != SAMPI_NODE_ALT) return sampi_tree_node(t, SAMPI_NODE_ALT, b, a, 0);
    while (b >= 0 && sampi_at(t, a)->kind == SAMPI_NODE_ALT) {
        b = sampi_tree_node(t, SAMPI_NODE_ALT, sampi_at(t, a)->a, b, 0);
        a = sampi_at(t, a)->b;
    }
    return b < 0 ? b : sampi_tree_node(t, SAMPI_NODE_ALT, a, b, 0);
}

/* a, at least `least` and at most `most` times (-1: any number). The node is a counter, not copies of a. */
static sampi_node sampi_tree_repeat(sampi_tree *t, sampi_node a, int32_t least, int32_t most)
{
    if (a < 0) return a;
    if (least < 0 || most < -1 || (most >= 0 && most < least)) return SAMP_E_RANGE;
    if (most == 0 || a == SAMPI_EMPTY) return SAMPI_EMPTY;
    if (a == SAMPI_NEVER) return least ? SAMPI_NEVER : SAMPI_EMPTY;
    return least == 1 && most == 1 ? a : sampi_tree_node(t, SAMPI_NODE_REPEAT, a, least, most);
}

/* Does n match any number of repetitions of something, as "any text" is any number of characters? */
static bool sampi_is_all(const sampi_tree *t, sampi_node n)
{
    const sampi_expr *e = sampi_at(t, n);
    return e->kind == SAMPI_NODE_REPEAT && e->b == 0 && e->c < 0;
}

/* Is each byte of the set matched by some alternative of `one`? */
static bool sampi_has_bytes(const sampi_tree *t, sampi_node one, const uint8_t set[32])
{
    uint8_t left[32], any = 0;
    memcpy(left, set, sizeof left);
    for (bool more = true; more;) {
        const sampi_expr *e = sampi_at(t, one), *first = e->kind == SAMPI_NODE_ALT ? sampi_at(t, e->a) : e;
        for (int32_t i = 0; i < 32 && first->kind == SAMPI_NODE_SET; i++)
            left[i] &= (uint8_t)~sampi_bytes_at(t, first->a)[i];
        more = e->kind == SAMPI_NODE_ALT;
        one = e->b;
    }
    for (int32_t i = 0; i < 32; i++) any |= left[i];
    return !any;
}

/* Is it obvious that all texts of n are texts of `all`, for which sampi_is_all holds? It is for [^"]*word[^"]*, say. */
static bool sampi_is_among(const sampi_tree *t, sampi_node n, sampi_node all, int32_t *patience)
{
    const sampi_node one = sampi_at(t, all)->a;
    while (--*patience > 0) {
        if (n == all || n == one || n == SAMPI_EMPTY || n == SAMPI_NEVER) return true;
        const sampi_expr *e = sampi_at(t, n);
        uint8_t set[32] = { 0 };
        switch (e->kind) {
            case SAMPI_NODE_SET: return sampi_has_bytes(t, one, sampi_bytes_at(t, e->a));
            case SAMPI_NODE_TEXT:
                for (int32_t i = 0; i < e->b; i++) {
                    const uint8_t byte = sampi_bytes_at(t, e->a)[i];
                    set[byte / 8] |= (uint8_t)(1u << byte % 8);
                }
                return sampi_has_bytes(t, one, set);
            case SAMPI_NODE_REPEAT: n = e->a; continue;
            case SAMPI_NODE_AND:
                if (sampi_is_among(t, e->a, all, patience)) return true;
                n = e->b;
                continue;
            case SAMPI_NODE_SEQ:
            case SAMPI_NODE_ALT:
                if (!sampi_is_among(t, e->a, all, patience)) return false;
                n = e->b;
                continue;
            default: return false;
        }
    }
    return false;
}

/* Does no text of a match b, because b is the complement of a set that contains a? */
static bool sampi_excludes(const sampi_tree *t, sampi_node b, sampi_node a)
{
    int32_t patience = 64;
    const sampi_expr *e = sampi_at(t, b);
    return e->kind == SAMPI_NODE_NOT &&
           (e->a == a || (sampi_is_all(t, e->a) && sampi_is_among(t, a, e->a, &patience)));
}

/* The texts that both a and b match. Both must be regular: no token, no list of members, no recursive rule. */
static sampi_node sampi_tree_and(sampi_tree *t, sampi_node a, sampi_node b)
{
    if (a < 0 || b < 0) return a < 0 ? a : b;
    if (a == b) return a;
    if (a == SAMPI_NEVER || b == SAMPI_NEVER) return SAMPI_NEVER;
    if (sampi_at(t, a)->kind == SAMPI_NODE_NOT && sampi_at(t, a)->a == SAMPI_NEVER) return b;
    if (sampi_at(t, b)->kind == SAMPI_NODE_NOT && sampi_at(t, b)->a == SAMPI_NEVER) return a;
    if (sampi_excludes(t, a, b) || sampi_excludes(t, b, a)) return SAMPI_NEVER;
    return sampi_tree_node(t, SAMPI_NODE_AND, a < b ? a : b, a < b ? b : a, 0);
}

/* A decimal number without sign or exponent, as JSON writes it, that is a multiple of m (at most 10^8) * 10^-places. */
static sampi_node sampi_tree_multiple(sampi_tree *t, int32_t m, int32_t places)
{
    return sampi_tree_node(t, SAMPI_NODE_MULTIPLE, m, 0, 8 * places + SAMPI_MULTIPLE_BEGINS);
}

/* Token `token` of the vocabulary, whatever its text; with `negated` any other token. */
static sampi_node sampi_tree_token(sampi_tree *t, samp_token token, bool negated)
{
    return token < 0 ? (sampi_node)SAMP_E_RANGE : sampi_tree_node(t, SAMPI_NODE_TOKEN, token, negated, 0);
}

/* The code points lo .. hi, which have the same length in UTF-8. Each byte's range depends on the bytes before it. */
static sampi_node sampi_tree_utf8_range(sampi_tree *t, uint32_t lo, uint32_t hi, int n_tail, uint32_t mark)
{
    if (n_tail == 0) return sampi_tree_byte(t, mark | lo, mark | hi);
    int shift = 6 * n_tail;
    uint32_t a = lo >> shift, b = hi >> shift, low = ((uint32_t)1 << shift) - 1;
    sampi_node node = SAMPI_NEVER;
    if (a < b && (lo & low)) { /* the first lead byte, if its tail does not begin at the lowest value */
        node = sampi_tree_seq(t, sampi_tree_byte(t, mark | a, mark | a),
                              sampi_tree_utf8_range(t, lo & low, low, n_tail - 1, 0x80));
        lo = ++a << shift;
    }
    if (a < b && (hi & low) != low) { /* the last one, if its tail does not end at the highest value */
        node = sampi_tree_alt(t, node,
                              sampi_tree_seq(t, sampi_tree_byte(t, mark | b, mark | b),
                                             sampi_tree_utf8_range(t, 0, hi & low, n_tail - 1, 0x80)));
        hi = (b-- << shift) - 1;
    }
    return sampi_tree_alt(t, node,
                          sampi_tree_seq(t, sampi_tree_byte(t, mark | a, mark | b),
                                         sampi_tree_utf8_range(t, lo & low, hi & low, n_tail - 1, 0x80)));
}

/* The code points lo .. hi without surrogates, which have no UTF-8. Each length of UTF-8 has a range of code points, a
   lead byte whose upper bits are `lead`, and n_tail bytes behind it. */
static sampi_node sampi_tree_code_points(sampi_tree *t, uint32_t lo, uint32_t hi)
{
    static const struct {
        uint32_t lo, hi, lead;
        int n_tail;
    } coded[] = { { 0, 0x7f, 0, 0 },
                  { 0x80, 0x7ff, 0xc0, 1 },
                  { 0x800, 0xd7ff, 0xe0, 2 },
                  { 0xe000, 0xffff, 0xe0, 2 },
                  { 0x10000, 0x10ffff, 0xf0, 3 } };
    sampi_node node = SAMPI_NEVER;
    for (size_t i = 0; i < sizeof coded / sizeof *coded; i++) {
        uint32_t from = lo > coded[i].lo ? lo : coded[i].lo, to = hi < coded[i].hi ? hi : coded[i].hi;
        if (from <= to)
            node = sampi_tree_alt(t, node, sampi_tree_utf8_range(t, from, to, coded[i].n_tail, coded[i].lead));
    }
    return node;
}

/* Ranges of code points in ascending order; no two of them touch. */
typedef struct sampi_ranges {
    uint32_t few[8][2], (*at)[2]; /* [n]; in `few` if they fit */
    size_t n;
} sampi_ranges;

static void sampi_ranges_free(sampi_ranges *r)
{
    if (r->at != r->few) SAMP_FREE(r->at);
}

/* Makes ranges of n ranges in any order, joining those that touch. A range that ends before it begins is empty. Returns
   false if there is no memory. */
static bool sampi_ranges_make(sampi_ranges *r, const uint32_t (*ranges)[2], size_t n)
{
    size_t used = 0, gap;
    r->n = 0;
    r->at = n <= sizeof r->few / sizeof *r->few ? r->few : (uint32_t(*)[2])SAMP_MALLOC(n * sizeof *r->at);
    if (!r->at) return false;
    for (size_t i = 0; i < n; i++) {
        if (ranges[i][0] > ranges[i][1] || ranges[i][0] > 0x10ffff) continue;
        r->at[used][0] = ranges[i][0];
        r->at[used++][1] = ranges[i][1] > 0x10ffff ? 0x10ffff : ranges[i][1];
    }
    for (gap = used / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (size_t i = gap; i < used; i++) {
            const uint32_t lo = r->at[i][0], hi = r->at[i][1];
            size_t j = i;
            for (; j >= gap && r->at[j - gap][0] > lo; j -= gap) {
                SAMPI_COUNT_STEPS(1);
                memcpy(r->at[j], r->at[j - gap], sizeof *r->at);
            }
            r->at[j][0] = lo;
            r->at[j][1] = hi;
        }
    for (size_t i = 0; i < used; i++)
        if (r->n > 0 && r->at[i][0] <= r->at[r->n - 1][1] + 1) {
            if (r->at[i][1] > r->at[r->n - 1][1]) r->at[r->n - 1][1] = r->at[i][1];
        } else if (r->n++ != i)
            memcpy(r->at[r->n - 1], r->at[i], sizeof *r->at);
    return true;
}

/* The slot of a class in the cache; NULL if such a class is not kept there. `how` says which function makes it. */
static sampi_class *sampi_class_slot(const sampi_tree *t, const uint32_t (*ranges)[2], size_t n, int32_t how)
{
    if (!t->classes || n > 2) return NULL;
    uint32_t h = (uint32_t)how;
    for (size_t i = 0; i < n; i++) h = ((h ^ ranges[i][0]) * 0x9E3779B1u ^ ranges[i][1]) * 0x85EBCA77u;
    return &t->classes[(h >> 13 ^ h >> 24) % SAMPI_CLASSES];
}

/* One code point in one of n ranges (both ends included, in any order); with `negated` in none of them. The function
   `one` makes the node of the code points lo .. hi. */
static sampi_node sampi_tree_class_of(sampi_tree *t, const uint32_t (*ranges)[2], size_t n, bool negated,
                                      sampi_node (*one)(sampi_tree *, uint32_t lo, uint32_t hi), int32_t how)
{
    sampi_class *kept = sampi_class_slot(t, ranges, n, how += negated);
    if (kept && kept->how == how && kept->n == (int32_t)n &&
        (n == 0 || !memcmp(kept->range, ranges, n * sizeof *ranges)))
        return kept->node;
    sampi_ranges r;
    sampi_node node = SAMPI_NEVER;
    if (!sampi_ranges_make(&r, ranges, n)) return SAMP_E_NOMEM;
    uint32_t next = 0;
    for (size_t i = 0; i < r.n && node >= 0; i++) {
        const uint32_t lo = negated ? next : r.at[i][0], end = negated ? r.at[i][0] : r.at[i][1] + 1;
        if (lo < end) node = sampi_tree_alt(t, node, one(t, lo, end - 1));
        next = r.at[i][1] + 1;
    }
    if (negated && next <= 0x10ffff) node = sampi_tree_alt(t, node, one(t, next, 0x10ffff));
    sampi_ranges_free(&r);
    if (!kept || node < 0) return node;
    if (n) memcpy(kept->range, ranges, n * sizeof *ranges);
    kept->n = (int32_t)n;
    kept->how = how;
    return kept->node = node;
}

/* One code point, as UTF-8, in one of n ranges; with `negated` in none of them. */
static sampi_node sampi_tree_class(sampi_tree *t, const uint32_t (*ranges)[2], size_t n, bool negated)
{
    enum { HOW = 2 };
    if (n > SAMPI_MAX_RANGES) return SAMP_E_RANGE;
    return sampi_tree_class_of(t, ranges, n, negated, sampi_tree_code_points, HOW);
}

/* The number of the rule with this name, which is added if there is none. Without a name a new rule is made each
   time. */
static int32_t sampi_tree_rule(sampi_tree *t, const char *name, size_t n)
{
    sampi_node text = sampi_tree_text(t, name, n);
    if (text < 0) return text;
    if (n && sampi_at(t, text)->c) return sampi_at(t, text)->c - 1;
    sampi_rule *rule = (sampi_rule *)sampi_vec_add(&t->rules, sizeof *rule, 1);
    if (!rule) return SAMP_E_NOMEM;
    memset(rule, 0, sizeof *rule);
    rule->name = text;
    rule->body = -1;
    if (n) sampi_at(t, text)->c = t->rules.n;
    return t->rules.n - 1;
}

static sampi_node sampi_tree_ref(sampi_tree *t, int32_t rule)
{
    return rule < 0 ? rule : sampi_tree_node(t, SAMPI_NODE_REF, rule, 0, 0);
}

/* Sets a rule's body, in place of an earlier one; other rules may refer to it before. Returns SAMP_OK, or the status
   that one of the arguments is. */
static int sampi_tree_define(sampi_tree *t, int32_t rule, sampi_node body)
{
    if (rule < 0 || body < 0) return rule < 0 ? rule : body;
    sampi_rule_at(t, rule)->body = body;
    return SAMP_OK;
}

/* A call of a new rule with this body. */
static sampi_node sampi_tree_call(sampi_tree *t, sampi_node body)
{
    int32_t rule = sampi_tree_rule(t, "", 0);
    int status = sampi_tree_define(t, rule, body);
    if (status) return status;
    sampi_rule_at(t, rule)->call = true;
    return sampi_tree_ref(t, rule);
}

/* A list of n members in any order, each at most once, with `separator` between neighbours. `other` (NEVER: nothing) is
   any member that is not among the n; it may come several times. All required members must come, and the number of all
   members is between `least` and `most` (SIZE_MAX: any number). The members are copied. Each becomes a rule that is
   called: what is computed for it does not depend on the members that came before, so it is computed once. */
static sampi_node sampi_tree_members(sampi_tree *t, const sampi_member *members, size_t n, sampi_node separator,
                                     sampi_node other, size_t least, size_t most)
{
    if (separator < 0 || other < 0) return separator < 0 ? separator : other;
    for (size_t i = 0; i < n; i++)
        if (members[i].node < 0) return members[i].node;
    if (n > SAMPI_MAX_NODES || least > SAMPI_MAX_NODES || least > most) return SAMP_E_RANGE;
    if (other != SAMPI_NEVER) other = sampi_tree_call(t, other);
    if (other < 0) return other;
    sampi_list list = { t->members.n, (int32_t)n, separator, other, (int32_t)least, INT32_MAX, 0 };
    if (most < SAMPI_MAX_NODES) list.most = (int32_t)most;
    sampi_member *room = (sampi_member *)sampi_vec_add(&t->members, sizeof *room, (int32_t)n);
    sampi_list *at = room || n == 0 ? (sampi_list *)sampi_vec_add(&t->lists, sizeof *at, 1) : NULL;
    if (!at) return SAMP_E_NOMEM;
    *at = list;
    for (size_t i = 0; i < n; i++) {
        room[i].required = members[i].required;
        room[i].node = members[i].node == SAMPI_NEVER ? SAMPI_NEVER : sampi_tree_call(t, members[i].node);
        if (room[i].node < 0) return room[i].node;
    }
    return sampi_tree_node(t, SAMPI_NODE_MEMBERS, t->lists.n - 1, SAMPI_EMPTY, 0);
}

/* The same with witnesses: members without listed names that must come (schema/objects.h). They are the last `slots` *
   SAMPI_KINDS_OF_NAMES of `members`: a group for each witness, with one member for each kind of name. One member of
   each group must come, and the kinds that come must differ. Which other members may come depends on the kinds of the
   witnesses that have come: others [SAMPI_SETS_OF_KINDS], indexed by the set of these kinds. */
static sampi_node sampi_tree_witnesses(sampi_tree *t, const sampi_member *members, size_t n, int32_t slots,
                                       sampi_node separator, const sampi_node *others, size_t least, size_t most)
{
    sampi_node node = sampi_tree_members(t, members, n, separator, SAMPI_NEVER, least, most);
    sampi_member *table = node < 0 ? NULL
                                   : (sampi_member *)sampi_vec_add(&t->members, sizeof *table, SAMPI_SETS_OF_KINDS);
    if (!table) return node < 0 ? node : (sampi_node)SAMP_E_NOMEM;
    for (int32_t i = 0; i < SAMPI_SETS_OF_KINDS; i++) {
        int32_t same = 0;
        while (same < i && others[same] != others[i]) same++;
        table[i].required = false;
        table[i].node = same < i                   ? table[same].node
                        : others[i] == SAMPI_NEVER ? SAMPI_NEVER
                                                   : sampi_tree_call(t, others[i]);
        if (table[i].node < 0) return table[i].node;
    }
    sampi_list *list = (sampi_list *)t->lists.data + sampi_at(t, node)->a;
    list->slots = slots;
    list->other = table[0].node;
    sampi_at(t, node)->known = sampi_node_known(t, sampi_at(t, node));
    return node;
}
