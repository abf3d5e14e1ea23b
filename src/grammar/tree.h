/* ---- the tree ----
   A grammar is a tree of nodes; each node matches a set of texts. Nodes are only added and never change, and a node's
   number is its index in the array of nodes. A function that makes a node takes nodes as arguments. A negative argument
   is a status, which the function returns. */

typedef int32_t sampi_node; /* a node's number; a negative value is a samp_status */

/* The kinds of nodes, each with the texts that it matches. a, b and c are the node's three numbers. Where a line says
   nothing else, they are nodes. */
typedef enum sampi_node_kind {
    SAMPI_NODE_NEVER, /* matches no text */
    SAMPI_NODE_EMPTY, /* matches the empty text */
    /* a text of b bytes, at byte a of the pool; c: 1 + the number of the rule that has this name, or 0 */
    SAMPI_NODE_TEXT,
    SAMPI_NODE_SET, /* one byte of a set; the set is 256 bits, at byte a of the pool (b = 32) */
    /* the token a; if b & 1: any token but a (-1: any at all), and but those of the TOKEN node c, if c is not 0; if b &
       2: a is a TEXT node with the token's text */
    SAMPI_NODE_TOKEN,
    SAMPI_NODE_SEQ,    /* a, followed by b */
    SAMPI_NODE_ALT,    /* either a (which is never an ALT itself) or b */
    SAMPI_NODE_REPEAT, /* a, at least b and at most c times (c = -1: any number) */
    SAMPI_NODE_GROUP,  /* a part of a regular expression; b says why it is a group (SAMPI_GROUP_*) */
    SAMPI_NODE_AND,    /* the texts that both a and b match */
    SAMPI_NODE_NOT,    /* every string of bytes that a does not match */
    SAMPI_NODE_REF,    /* whatever rule number a matches */
    /* The rest of list number a (an object's members in any order). b is a SEEN node: the members that have come. c: 2
       * their number, + 1 behind a separator. */
    SAMPI_NODE_MEMBERS,
    /* The set b of a MEMBERS node, if it is not EMPTY: b bytes in the pool, with a bit for each member. */
    SAMPI_NODE_SEEN,
    /* the rest of a decimal number that is a multiple of a; the numbers b and c are described below */
    SAMPI_NODE_MULTIPLE,
    /* what the regular expression a, which has groups, matches from a place b on (places.h); c: whether that may be
       the empty text */
    SAMPI_NODE_PLACED
} sampi_node_kind;

/* The numbers of a MULTIPLE node. b is the remainder modulo a of the digits that were read. c % 8 is one of the
   following phases: it says which part of the number has been read. c / 16 is the number of decimal places that may
   still change the remainder; later decimal places must be zeros, or, with c & 8, must not come. */
enum {
    SAMPI_MULTIPLE_BEGINS,
    SAMPI_MULTIPLE_ZERO,
    SAMPI_MULTIPLE_WHOLE,
    SAMPI_MULTIPLE_POINT,
    SAMPI_MULTIPLE_BEHIND,
    SAMPI_MULTIPLE_ENDS = 8,
    SAMPI_MULTIPLE_PLACE = 16
};

/* The reason of a GROUP node: the number of a capture group, counted from 0, or one of these. Triggers have captures
   and the first four; PLACED nodes have all from BEGIN on. */
enum {
    SAMPI_GROUP_NONE = -1,      /* a group without capture, which keeps its alternatives apart from the rest */
    SAMPI_GROUP_LAZY = -2,      /* the group is a lazy REPEAT, which tries fewer repetitions first */
    SAMPI_GROUP_BEGIN = -3,     /* ^: the text begins here */
    SAMPI_GROUP_END = -4,       /* $: the text ends here */
    SAMPI_GROUP_AHEAD = -5,     /* (?=...): the rest of the text is one of a */
    SAMPI_GROUP_NOT_AHEAD = -6, /* (?!...): it is not one of a */
    SAMPI_GROUP_EDGE = -7,      /* \\b: one end of a word; a: a SEQ of what may be behind: a word, or not */
    SAMPI_GROUP_NO_EDGE = -8,   /* \\B; a: the same */
    SAMPI_GROUP_AGAIN = -9, /* the rest a of a REPEAT; c: bit 0: none need follow; FRESH: of the place before it */
    SAMPI_GROUP_WORD = -10, /* a is a character of a word */
    SAMPI_GROUP_OTHER = -11 /* a is another character */
};

/* Facts about a node, as bits of `facts`. */
enum {
    SAMPI_FACT_EMPTY = 1, /* the node matches the empty text */
    /* the node contains a call, a token or a list, so it is not regular */
    SAMPI_FACT_CALLS = 2,
    SAMPI_FACT_AND = 4,   /* the node contains an AND, so only a search can decide whether it matches any text */
    SAMPI_FACT_ALIVE = 8, /* the node matches at least one text */
    /* the node matches no text; this is found without a search if a required part matches no text */
    SAMPI_FACT_DEAD = 16,
    SAMPI_FACT_COUNT = 32, /* the node contains a repetition or a list that counts beyond 1 */
    SAMPI_FACT_OPEN = 64,  /* sampi_grammar_visit is inside the node */
    SAMPI_FACT_DONE = 128, /* sampi_grammar_visit has left the node */
    SAMPI_FACTS_OF_PARTS = SAMPI_FACT_EMPTY | SAMPI_FACT_CALLS | SAMPI_FACT_AND | SAMPI_FACT_DEAD |
                           SAMPI_FACT_COUNT /* the bits that can be computed from the node's children */
};

typedef struct sampi_expr {
    uint8_t kind, facts; /* facts: the SAMPI_FACT_* bits that were found when the node was made */
    uint16_t depth;      /* how deep a function that walks the node recurses */
    int32_t a, b, c;
    int32_t state; /* the matcher's state for this node, or 0 */
} sampi_expr;

/* The first two nodes of every tree. */
#define SAMPI_NEVER 0
#define SAMPI_EMPTY 1

/* the largest depth of a node; every system has the stack for it */
#define SAMPI_MAX_DEPTH  256
#define SAMPI_MAX_NODES  (1 << 24) /* the largest number of nodes in a tree */
#define SAMPI_MAX_POOL   (1 << 28) /* the largest size of a tree's texts and sets, in bytes */
#define SAMPI_MAX_RANGES 4096      /* the largest number of ranges in a character class */
/* The limit of work for reading a text: finding a node costs 1, making one SAMPI_NEW_NODE. */
#define SAMPI_MAX_WORK  (1 << 24)
#define SAMPI_NEW_NODE  8
#define SAMPI_MAX_REGEX 8192 /* the largest size of a regular expression, in bytes */

typedef struct sampi_rule {
    sampi_node name, body; /* name: a TEXT node, or EMPTY; body: -1 if the rule is not defined */
    size_t place;          /* the offset in the GBNF text where the name first occurs */
    int32_t n_refs;        /* the number of nodes that refer to the rule */
    /* whether a matcher calls the rule; if not, its body replaces the references */
    bool call;
    uint8_t unique; /* SAMPI_UNIQUE_*: the values that a rule matches must differ within an array (unique.h) */
    uint8_t facts;  /* the SAMPI_FACT_* bits of the rule's body, once the grammar is finished */
    int32_t tokens; /* the most tokens with which a text of a called rule is written (spent.h); 0: any number */
} sampi_rule;
enum { SAMPI_UNIQUE_NOT, SAMPI_UNIQUE_ARRAY, SAMPI_UNIQUE_ITEM };

/* A list of members (as of a JSON object) in any order, each at most once: see sampi_tree_members. */
typedef struct sampi_member {
    sampi_node node;
    bool required;
} sampi_member;
typedef struct sampi_list {
    int32_t first, n; /* the list's members are first .. first + n - 1 in the tree's array `members` */
    sampi_node separator, other;
    int32_t least, most; /* bounds on the number of members; most: INT32_MAX if there is no upper bound */
    int32_t slots;       /* the number of witnesses */
} sampi_list;

enum {
    SAMPI_KINDS_OF_NAMES = 8, /* the number of kinds of names; no two witnesses may have the same kind */
    SAMPI_SETS_OF_KINDS = 1 << SAMPI_KINDS_OF_NAMES,
    SAMPI_MAX_SLOTS = 4
};

/* An account of heap memory with a limit. Every block counts with its full size. Accounts that share a limit count in
   `all`, which several threads change at the same time. */
typedef struct sampi_account {
    size_t bytes, most;
    /* the bytes of caches, which are not in `bytes`; they lower the limit for `bytes`, but a quarter of `most`
       always remains */
    size_t cache_bytes;
    struct sampi_account *all; /* the common account that counts in place of this one, or NULL */
    bool full;                 /* a request exceeded the limit */
    size_t allowance;          /* bytes above the limit that are allowed for now */
} sampi_account;

/* A growing array. The elements move when it grows, so they are referred to by index. sampi_grammar_vec_like makes an
   empty one. */
typedef struct sampi_vec {
    void *data;
    int32_t n, cap;
    size_t size;            /* the size of `data` in bytes */
    sampi_account *account; /* the account that counts the memory; NULL: the memory is not counted */
} sampi_vec;

/* A cache of the nodes of character classes, because grammars often repeat a class. A class's hash selects its slot. */
enum { SAMPI_CLASSES = 64 };
typedef struct sampi_class {
    uint32_t range[2][2];
    /* how: 0 if the slot is free; else the number of the function that made the node, + 1 for a negated class */
    int32_t n, how;
    sampi_node node;
} sampi_class;

/* The counts of a tree to which several threads add nodes at the same time (cache.h). Its arrays never move, and these
   counts replace nodes.n and pool.n. */
typedef struct sampi_growth {
    int32_t n_nodes, n_pool;
    /* [nodes.cap] whether each node is ALIVE or DEAD, which is found after the node was made */
    int32_t *facts;
} sampi_growth;

typedef struct sampi_tree {
    sampi_vec nodes;   /* sampi_expr */
    sampi_vec pool;    /* bytes */
    sampi_vec rules;   /* sampi_rule */
    sampi_vec lists;   /* sampi_list */
    sampi_vec members; /* sampi_member */
    /* the hash table of all nodes, with 2^k slots: each slot is a node's number, or -1 if it is free */
    sampi_vec slots;
    int64_t spare;        /* the work that may still be done, at first SAMPI_MAX_WORK */
    sampi_class *classes; /* [SAMPI_CLASSES] the cache of character classes, or NULL */
    sampi_growth *growth; /* NULL if only one thread uses the tree */
} sampi_tree;

/* Counts a block in an account before the block is allocated. Returns false if the limit would be exceeded. */
static bool sampi_grammar_account_add(sampi_account *account, size_t bytes)
{
    if (!account) return true;
    sampi_account *all = account->all ? account->all : account;
    for (;;) {
        const size_t now = SAMPI_SIZE_GET(&all->bytes), cache_bytes = SAMPI_SIZE_GET(&all->cache_bytes);
        size_t most = SAMPI_SIZE_GET(&all->most);
        most -= cache_bytes < most - most / 4 ? cache_bytes : most - most / 4;
        most = most < SIZE_MAX - account->allowance ? most + account->allowance : SIZE_MAX;
        if (bytes > most || now > most - bytes) break;
        if (SAMPI_SIZE_CAS(&all->bytes, now, now + bytes)) return true;
    }
    account->full = true;
    return false;
}
static void sampi_grammar_account_subtract(sampi_account *account, size_t bytes)
{
    if (account) (void)SAMPI_SIZE_ADD(&(account->all ? account->all : account)->bytes, (size_t)0 - bytes);
}

/* Allocates a block that counts in an account, and frees such a block. */
static void *sampi_grammar_account_allocate(sampi_account *account, size_t bytes)
{
    if (!sampi_grammar_account_add(account, bytes)) return NULL;
    void *block = SAMP_MALLOC(bytes);
    if (!block) sampi_grammar_account_subtract(account, bytes);
    return block;
}
static void sampi_grammar_account_free(sampi_account *account, void *block, size_t bytes)
{
    if (block) sampi_grammar_account_subtract(account, bytes);
    SAMP_FREE(block);
}

/* Makes room for `cap` elements of `width` bytes. The old block counts too until the elements have moved. */
static bool sampi_grammar_vec_move(sampi_vec *vec, size_t width, int32_t cap)
{
    const size_t size = (size_t)cap * width;
    if (!sampi_grammar_account_add(vec->account, size)) return false;
    void *data = SAMP_MALLOC(size);
    if (!data) {
        sampi_grammar_account_subtract(vec->account, size);
        return false;
    }
    if (vec->n) memcpy(data, vec->data, (size_t)vec->n * width);
    SAMP_FREE(vec->data);
    sampi_grammar_account_subtract(vec->account, vec->size);
    vec->data = data;
    vec->cap = cap;
    vec->size = size;
    return true;
}

/* Doubles the array's room. If that exceeds the memory limit, a quarter is added instead. */
static bool sampi_grammar_vec_grow(sampi_vec *vec, size_t width, int32_t least)
{
    int32_t cap = vec->cap < 16 ? 16 : vec->cap * 2, some = vec->cap + vec->cap / 4;
    while (cap < least) cap *= 2;
    if (sampi_grammar_vec_move(vec, width, cap)) return true;
    if (!vec->account || !vec->account->full) return false;
    if (some < least) some = least;
    if (some >= cap) return false;
    vec->account->full = false;
    return sampi_grammar_vec_move(vec, width, some);
}

/* Adds `more` elements of `width` bytes at the end, which also increases vec->n. Returns the first new element; NULL if
   there is no memory, and then nothing has changed. */
static void *sampi_grammar_vec_add(sampi_vec *vec, size_t width, int32_t more)
{
    if (more > INT32_MAX / 2 - vec->n) return NULL;
    if ((vec->n + more > vec->cap || !vec->data) && !sampi_grammar_vec_grow(vec, width, vec->n + more)) return NULL;
    vec->n += more;
    return (char *)vec->data + (size_t)(vec->n - more) * width;
}

/* Returns the address of element i; NULL if the array has no memory yet. */
static void *sampi_grammar_vec_at(const sampi_vec *vec, size_t width, int32_t i)
{
    return vec->data ? (char *)vec->data + (size_t)i * width : NULL;
}

/* Returns an empty array that counts its memory in the same account as `other`. */
static sampi_vec sampi_grammar_vec_like(const sampi_vec *other)
{
    sampi_vec vec;
    memset(&vec, 0, sizeof vec);
    vec.account = other->account;
    return vec;
}

static void sampi_grammar_vec_free(sampi_vec *vec)
{
    SAMP_FREE(vec->data);
    sampi_grammar_account_subtract(vec->account, vec->size);
    *vec = sampi_grammar_vec_like(vec);
}

/* Shrinks an array that uses less than a quarter of its memory. If the limit has no room for both blocks, the array
   stays as it is. */
static void sampi_grammar_vec_trim(sampi_vec *vec, size_t width)
{
    const bool was_full = vec->account && vec->account->full;
    if (vec->cap > 64 && vec->n < vec->cap / 4) sampi_grammar_vec_move(vec, width, vec->n < 8 ? 16 : 2 * vec->n);
    if (vec->account) vec->account->full = was_full;
}

/* Makes a hash table of int32_t with twice as many slots as `slots` has, but at least 64. All slots are free (-1). */
static bool sampi_grammar_table_doubled(sampi_vec *made, const sampi_vec *slots)
{
    sampi_vec more = sampi_grammar_vec_like(slots);
    int32_t n = slots->n ? 2 * slots->n : 64;
    if (!sampi_grammar_vec_add(&more, sizeof(int32_t), n)) return false;
    memset(more.data, 0xff, (size_t)n * sizeof(int32_t));
    *made = more;
    return true;
}

/* Replaces a hash table by an empty one with twice as many slots. */
static bool sampi_grammar_table_renew(sampi_vec *slots)
{
    sampi_vec old = *slots;
    if (!sampi_grammar_table_doubled(slots, &old)) return false;
    sampi_grammar_vec_free(&old);
    return true;
}

static sampi_expr *sampi_grammar_at(const sampi_tree *t, sampi_node n) { return (sampi_expr *)t->nodes.data + n; }
static sampi_rule *sampi_grammar_rule_at(const sampi_tree *t, int32_t i) { return (sampi_rule *)t->rules.data + i; }
static const uint8_t *sampi_grammar_bytes_at(const sampi_tree *t, int32_t at)
{
    return (const uint8_t *)t->pool.data + at;
}

/* Returns whether nodes of this kind keep bytes in the pool. Two such nodes are equal if their bytes are equal; nodes
   of other kinds are equal if their numbers a, b and c are equal. */
static bool sampi_grammar_in_pool(int kind)
{
    return kind == SAMPI_NODE_TEXT || kind == SAMPI_NODE_SET || kind == SAMPI_NODE_SEEN;
}

static uint32_t sampi_grammar_node_hash(const sampi_tree *t, int kind, int32_t a, int32_t b, int32_t c)
{
    uint64_t h = (uint64_t)kind * 0x9E3779B97F4A7C15u;
    if (sampi_grammar_in_pool(kind)) {
        h ^= sampi_checksum(sampi_grammar_bytes_at(t, a), (size_t)b);
    } else {
        /* parts often have neighbouring numbers, whose bits must not cancel each other */
        h = (h ^ ((uint64_t)(uint32_t)a << 32 | (uint32_t)b)) * 0xD6E8FEB86659FD93u;
        h = (h ^ h >> 32 ^ (uint32_t)c) * 0xD6E8FEB86659FD93u;
    }
    return (uint32_t)(h ^ h >> 29);
}

/* Returns the hash table's slot of the node with these numbers, or the free slot for it; NULL if too many nodes
   collide. */
static sampi_node *sampi_grammar_node_slot(const sampi_tree *t, int kind, int32_t a, int32_t b, int32_t c)
{
    enum { PROBES = 128 };
    sampi_node *slots = (sampi_node *)t->slots.data;
    uint32_t mask = (uint32_t)t->slots.n - 1, i = sampi_grammar_node_hash(t, kind, a, b, c) & mask;
    for (int32_t probes = 0; probes < PROBES; probes++, i = (i + 1) & mask) {
        SAMPI_COUNT_STEPS(1);
        if (slots[i] < 0) return &slots[i];
        const sampi_expr *e = sampi_grammar_at(t, slots[i]);
        if (e->kind != kind || e->b != b) continue;
        if (sampi_grammar_in_pool(kind)
                ? memcmp(sampi_grammar_bytes_at(t, e->a), sampi_grammar_bytes_at(t, a), (size_t)b) == 0
                : e->a == a && e->c == c)
            return &slots[i];
    }
    return NULL;
}

/* Enters all nodes into the hash table, which must be empty. All nodes differ from each other, so no node is
   compared. */
static void sampi_tree_fill_slots(sampi_tree *t)
{
    sampi_node *slots = (sampi_node *)t->slots.data;
    const uint32_t mask = (uint32_t)t->slots.n - 1;
    for (sampi_node n = 0; n < t->nodes.n; n++) {
        const sampi_expr *e = sampi_grammar_at(t, n);
        uint32_t i = sampi_grammar_node_hash(t, e->kind, e->a, e->b, e->c) & mask;
        for (; slots[i] >= 0; i = (i + 1) & mask) SAMPI_COUNT_STEPS(1);
        slots[i] = n;
    }
}

/* Makes the hash table larger and enters all nodes. */
static bool sampi_tree_rehash(sampi_tree *t)
{
    if (!sampi_grammar_table_renew(&t->slots)) return false;
    sampi_tree_fill_slots(t);
    return true;
}

/* Returns the recursion depth of functions that walk a node with these parts. They follow the right arms of SEQ and ALT
   in a loop; every other step to a child is a level. */
static int32_t sampi_grammar_node_depth(const sampi_tree *t, int kind, int32_t a, int32_t b)
{
    if (kind < SAMPI_NODE_SEQ || kind > SAMPI_NODE_NOT) return 0;
    int32_t depth = sampi_grammar_at(t, a)->depth +
                    (kind != SAMPI_NODE_SEQ || sampi_grammar_at(t, a)->kind != SAMPI_NODE_SEQ);
    if (kind != SAMPI_NODE_REPEAT && kind != SAMPI_NODE_GROUP && kind != SAMPI_NODE_NOT) {
        int32_t other = sampi_grammar_at(t, b)->depth + (kind == SAMPI_NODE_AND);
        if (other > depth) depth = other;
    }
    return depth;
}

/* Returns whether the node is a reference to a rule that is replaced by its body. Functions that walk a tree continue
   with the body. */
static bool sampi_grammar_is_inline(const sampi_tree *t, const sampi_expr *e)
{
    return e->kind == SAMPI_NODE_REF && !sampi_grammar_rule_at(t, e->a)->call;
}

static bool sampi_grammar_has_seen(const sampi_tree *t, sampi_node seen, int32_t member)
{
    return seen != SAMPI_EMPTY &&
           (sampi_grammar_bytes_at(t, sampi_grammar_at(t, seen)->a)[member / 8] >> member % 8 & 1);
}

/* Returns all facts (SAMPI_FACT_*) that are known about a node now; sampi_grammar_add_facts adds some. */
static int32_t sampi_grammar_facts_of(const sampi_tree *t, sampi_node n)
{
    return sampi_grammar_at(t, n)->facts | (t->growth ? SAMPI_INT_GET(&t->growth->facts[n]) : 0);
}
static void sampi_grammar_add_facts(const sampi_tree *t, sampi_node n, int32_t known)
{
    if (t->growth)
        SAMPI_INT_OR(&t->growth->facts[n], known);
    else
        sampi_grammar_at(t, n)->facts |= (uint8_t)known;
}

static bool sampi_grammar_is_dead(const sampi_tree *t, sampi_node n)
{
    return sampi_grammar_facts_of(t, n) & SAMPI_FACT_DEAD;
}

/* The progress within a list of members, computed from a MEMBERS node. A slot is for one witness, a required member
   whose name is not listed; it is open until the witness comes. */
typedef struct sampi_list_progress {
    sampi_list list;
    const sampi_member *member; /* [list.n], valid until the tree grows */
    sampi_node seen;
    int32_t count; /* the number of members that have come already */
    /* missing: how many required members of the list are missing; left: how many more members may come */
    int32_t must_come, may_come;
    bool dead;      /* a required member matches no text */
    uint32_t taken; /* the kinds of names that witnesses have used, as bits */
    int32_t n_open; /* the number of open slots (witnesses that must still come) */
    /* for each open slot: the kinds of names that its witness may have, as a set of bits */
    uint32_t open[SAMPI_MAX_SLOTS];
    int32_t slot[SAMPI_MAX_SLOTS]; /* for each open slot: the number of its witness */
} sampi_list_progress;

/* Returns whether each of n open slots can get a different kind of name that is not in the set `taken`. */
static bool sampi_grammar_slots_fit(const uint32_t *open, int32_t n, uint32_t taken)
{
    if (n == 0) return true;
    for (uint32_t kind = 1; kind < SAMPI_SETS_OF_KINDS; kind <<= 1)
        if ((open[0] & ~taken & kind) && sampi_grammar_slots_fit(open + 1, n - 1, taken | kind)) return true;
    return false;
}

/* Computes the open slots of a list, and which members with names that are not listed may still come. */
static void sampi_grammar_list_find_slots(const sampi_tree *t, sampi_list_progress *p)
{
    p->taken = 0;
    p->n_open = 0;
    if (p->list.slots == 0) return;
    for (int32_t s = 0, i = p->list.n - p->list.slots * SAMPI_KINDS_OF_NAMES; s < p->list.slots; s++) {
        uint32_t seen = 0, may = 0;
        for (uint32_t kind = 1; kind < SAMPI_SETS_OF_KINDS; kind <<= 1, i++) {
            if (sampi_grammar_has_seen(t, p->seen, i)) seen |= kind;
            if (!sampi_grammar_is_dead(t, p->member[i].node)) may |= kind;
        }
        p->taken |= seen;
        if (seen) continue;
        p->slot[p->n_open] = s;
        p->open[p->n_open++] = may;
    }
    p->must_come += p->n_open;
    p->may_come += p->n_open;
    p->dead |= !sampi_grammar_slots_fit(p->open, p->n_open, p->taken);
    p->list.other = p->member[p->list.n + (int32_t)p->taken].node;
}

/* Computes the progress within a list from its MEMBERS node. */
static sampi_list_progress sampi_grammar_list_progress_of(const sampi_tree *t, const sampi_expr *e)
{
    sampi_list_progress p;
    p.list = *((const sampi_list *)t->lists.data + e->a);
    p.member = (const sampi_member *)sampi_grammar_vec_at(&t->members, sizeof *p.member, p.list.first);
    p.seen = e->b;
    p.count = e->c / 2;
    p.must_come = p.may_come = 0;
    p.dead = false;
    for (int32_t i = 0; i < p.list.n - p.list.slots * SAMPI_KINDS_OF_NAMES; i++) {
        if (sampi_grammar_has_seen(t, p.seen, i)) continue;
        bool dead = sampi_grammar_is_dead(t, p.member[i].node);
        p.must_come += p.member[i].required;
        p.may_come += !dead;
        p.dead |= dead && p.member[i].required;
    }
    sampi_grammar_list_find_slots(t, &p);
    if (sampi_grammar_is_dead(t, p.list.other)) p.list.other = SAMPI_NEVER;
    return p;
}

/* Returns SAMPI_FACT_EMPTY if a list may end at the MEMBERS node e, SAMPI_FACT_DEAD if the list can never be
   completed, else neither; and SAMPI_FACT_COUNT if its number of members has bounds. e.c is twice the number of members
   that have come, + 1 if a separator was read behind them. The number is counted only as far as it matters. */
static uint8_t sampi_grammar_list_facts(const sampi_tree *t, const sampi_expr *e)
{
    const sampi_list_progress p = sampi_grammar_list_progress_of(t, e);
    const bool enough = p.count >= p.list.least,
               more = p.list.other != SAMPI_NEVER || p.count + p.may_come >= p.list.least;
    const uint8_t counts = p.list.least > 1 || p.list.most < INT32_MAX ? SAMPI_FACT_COUNT : 0;
    if (p.dead || p.must_come > p.list.most - p.count || !more) return SAMPI_FACT_DEAD | counts;
    return (!(e->c & 1) && enough && p.must_come == 0 ? SAMPI_FACT_EMPTY : 0) | counts;
}

/* Returns SAMPI_FACT_EMPTY if a number may end at the MULTIPLE node e, SAMPI_FACT_DEAD if it can never become a
   multiple, else 0. Decimal places that are not written count as zeros. Before the decimal point, more digits can
   always make the number a multiple. */
static uint8_t sampi_grammar_multiple_facts(const sampi_expr *e)
{
    const int32_t phase = e->c % 8;
    /* the decimal places still to come can add less than `most`; counting stops once `most` reaches a */
    int64_t rest = e->b, most = 1;
    for (int32_t i = e->c / SAMPI_MULTIPLE_PLACE; i > 0; i--) {
        rest = rest * 10 % e->a;
        if (most < e->a) most *= 10;
    }
    const int64_t lacks = (e->a - rest) % e->a;
    if (phase >= SAMPI_MULTIPLE_POINT && lacks >= most) return SAMPI_FACT_DEAD;
    return lacks || phase == SAMPI_MULTIPLE_BEGINS || phase == SAMPI_MULTIPLE_POINT ? 0 : SAMPI_FACT_EMPTY;
}

/* Computes the bits of sampi_expr.facts from a node's parts. A rule that calls itself without end does not count as
   dead. */
static uint8_t sampi_grammar_node_facts(const sampi_tree *t, const sampi_expr *e)
{
    const int32_t shared = SAMPI_FACT_CALLS | SAMPI_FACT_AND | SAMPI_FACT_COUNT,
                  passed = SAMPI_FACT_EMPTY | SAMPI_FACT_DEAD;
    int32_t a, b, any, all;
    switch (e->kind) {
        case SAMPI_NODE_NEVER: return SAMPI_FACT_DEAD;
        case SAMPI_NODE_EMPTY: return SAMPI_FACT_EMPTY;
        case SAMPI_NODE_TOKEN: return SAMPI_FACT_CALLS;
        case SAMPI_NODE_REF:
            a = sampi_grammar_rule_at(t, e->a)->facts;
            return (uint8_t)(sampi_grammar_is_inline(t, e) ? a : (a & passed) | SAMPI_FACT_CALLS);
        case SAMPI_NODE_MEMBERS: return (uint8_t)(sampi_grammar_list_facts(t, e) | SAMPI_FACT_CALLS);
        case SAMPI_NODE_SEQ:
        case SAMPI_NODE_ALT:
        case SAMPI_NODE_AND:
            a = sampi_grammar_facts_of(t, e->a);
            b = sampi_grammar_facts_of(t, e->b);
            /* `any`: the bits that a node has if one of its two parts has them */
            any = e->kind == SAMPI_NODE_ALT ? SAMPI_FACT_EMPTY : SAMPI_FACT_DEAD;
            all = passed & ~any; /* `all`: the bits that a node has only if both parts have them */
            if (e->kind == SAMPI_NODE_AND) a |= SAMPI_FACT_AND;
            return (uint8_t)(((a | b) & (shared | any)) | (a & b & all));
        case SAMPI_NODE_REPEAT:
            a = sampi_grammar_facts_of(t, e->a);
            if (e->b == 0) a = (a & shared) | SAMPI_FACT_EMPTY;
            if (e->b > 1 || e->c > 1) a |= SAMPI_FACT_COUNT;
            return (uint8_t)(a & (shared | passed));
        case SAMPI_NODE_NOT:
            a = sampi_grammar_facts_of(t, e->a);
            return (uint8_t)((a & shared) | (~a & SAMPI_FACT_EMPTY));
        case SAMPI_NODE_MULTIPLE: return sampi_grammar_multiple_facts(e);
        case SAMPI_NODE_PLACED: return SAMPI_FACT_AND | (e->c ? SAMPI_FACT_EMPTY : 0);
        case SAMPI_NODE_GROUP: /* see places.h */
            if (e->b > SAMPI_GROUP_BEGIN) return 0;
            if (e->b <= SAMPI_GROUP_WORD) return SAMPI_FACT_AND;
            if (e->b == SAMPI_GROUP_END) return SAMPI_FACT_CALLS;
            if (e->b >= SAMPI_GROUP_NOT_AHEAD && e->b <= SAMPI_GROUP_AHEAD)
                return SAMPI_FACT_CALLS | (sampi_grammar_facts_of(t, e->a) & SAMPI_FACT_AND);
            return SAMPI_FACT_CALLS | SAMPI_FACT_AND;
        default: return 0;
    }
}

/* Reserves n elements of an array that never moves and has room for `cap`. Returns the index of the first reserved
   element; -1 if too few are free. Several threads may do so at the same time. */
static int32_t sampi_grammar_reserve_elements(int32_t *used, int32_t n, int32_t cap)
{
    for (;;) {
        const int32_t at = SAMPI_INT_GET(used);
        if (n > cap - at) return -1;
        if (SAMPI_INT_CAS(used, at, at + n)) return at;
    }
}

/* Does the work of sampi_tree_node for a tree to which several threads add nodes. A new node is written completely
   before its number is put into a slot of the hash table. If two threads make the same node at once, only one of the
   two numbers is used. If the tree is full, or too many nodes collide in the hash table, the result is SAMP_E_NOMEM
   with account->full, as for an array that must not grow; the caller then changes to a larger cache, or to one with
   fewer nodes. */
static sampi_node sampi_tree_common(const sampi_tree *t, int kind, int32_t a, int32_t b, int32_t c)
{
    enum { PROBES = 128 };
    sampi_node *slots = (sampi_node *)t->slots.data, made = -1;
    const uint32_t mask = (uint32_t)t->slots.n - 1;
    uint32_t i = sampi_grammar_node_hash(t, kind, a, b, c) & mask;
    for (int32_t probes = 0; probes < PROBES; probes++, i = (i + 1) & mask) {
        sampi_node at = SAMPI_INT_GET(&slots[i]);
        if (at < 0) {
            if (made < 0) {
                const int32_t depth = sampi_grammar_node_depth(t, kind, a, b);
                if (depth > SAMPI_MAX_DEPTH) return SAMP_E_RANGE;
                made = sampi_grammar_reserve_elements(&t->growth->n_nodes, 1, t->nodes.cap);
                if (made < 0) break;
                sampi_expr *e = sampi_grammar_at(t, made), expr = { (uint8_t)kind, 0, (uint16_t)depth, a, b, c, 0 };
                expr.facts = sampi_grammar_node_facts(t, &expr);
                *e = expr;
                SAMPI_INT_PUT(&t->growth->facts[made], 0);
            }
            if (SAMPI_INT_CAS(&slots[i], -1, made)) return made;
            at = SAMPI_INT_GET(&slots[i]);
        }
        const sampi_expr *e = sampi_grammar_at(t, at);
        if (e->kind != kind || e->b != b) continue;
        if (sampi_grammar_in_pool(kind)
                ? memcmp(sampi_grammar_bytes_at(t, e->a), sampi_grammar_bytes_at(t, a), (size_t)b) == 0
                : e->a == a && e->c == c)
            return at;
    }
    t->nodes.account->full = true;
    return SAMP_E_NOMEM;
}

/* Returns the node with these parts, the existing one or a new one. All nodes are made here or in sampi_tree_common. If
   more nodes collide in the hash table than is likely by chance, the table grows. If collisions remain, the grammar was
   written to cause them, and the function returns SAMP_E_RANGE. */
static sampi_node sampi_tree_node(sampi_tree *t, int kind, int32_t a, int32_t b, int32_t c)
{
    enum { SLOTS = 32 }; /* the largest number of slots in the hash table for each node */
    if (--t->spare < 0) return SAMP_E_RANGE;
    if (t->growth) return sampi_tree_common(t, kind, a, b, c);
    if (2 * (t->nodes.n + 1) > t->slots.n && !sampi_tree_rehash(t)) return SAMP_E_NOMEM;
    sampi_node *slot = sampi_grammar_node_slot(t, kind, a, b, c);
    for (; !slot; slot = sampi_grammar_node_slot(t, kind, a, b, c)) {
        if (t->slots.n / SLOTS > t->nodes.n) return SAMP_E_RANGE;
        if (!sampi_tree_rehash(t)) return SAMP_E_NOMEM;
    }
    if (*slot >= 0) return *slot;
    int32_t depth = sampi_grammar_node_depth(t, kind, a, b);
    if (t->nodes.n >= SAMPI_MAX_NODES || depth > SAMPI_MAX_DEPTH) return SAMP_E_RANGE;
    t->spare -= SAMPI_NEW_NODE - 1;
    sampi_expr *e = (sampi_expr *)sampi_grammar_vec_add(&t->nodes, sizeof *e, 1);
    if (!e) return SAMP_E_NOMEM;
    e->kind = (uint8_t)kind;
    e->depth = (uint16_t)depth;
    e->a = a;
    e->b = b;
    e->c = c;
    e->state = 0;
    e->facts = sampi_grammar_node_facts(t, e);
    return *slot = t->nodes.n - 1;
}

/* Returns the TEXT or SET of the pool's bytes from `at` on. If an equal node exists, these bytes are removed. */
static sampi_node sampi_tree_pool_end(sampi_tree *t, int kind, int32_t at)
{
    int32_t n_nodes = t->nodes.n;
    sampi_node node = sampi_tree_node(t, kind, at, t->pool.n - at, 0);
    if (t->nodes.n == n_nodes) t->pool.n = at; /* the node exists already, or there was an error */
    return node;
}

/* Returns room for n bytes at the end of the pool. Returns NULL and sets *status if there is none. */
static uint8_t *sampi_tree_pool_room(sampi_tree *t, size_t n, int *status)
{
    if (t->growth) {
        const int32_t at = sampi_grammar_reserve_elements(&t->growth->n_pool, (int32_t)n, t->pool.cap);
        *status = SAMP_E_NOMEM;
        t->pool.account->full |= at < 0;
        return at < 0 ? NULL : (uint8_t *)t->pool.data + at;
    }
    *status = n > (size_t)(SAMPI_MAX_POOL - t->pool.n) ? SAMP_E_RANGE : SAMP_E_NOMEM;
    return *status == SAMP_E_RANGE ? NULL : (uint8_t *)sampi_grammar_vec_add(&t->pool, 1, (int32_t)n);
}

/* Returns the node of the kind TEXT or SET with these n bytes. */
static sampi_node sampi_tree_pooled(sampi_tree *t, int kind, const void *bytes, size_t n)
{
    int32_t at = t->pool.n, status;
    uint8_t *room = sampi_tree_pool_room(t, n, &status);
    if (!room) return status;
    memcpy(room, bytes, n);
    return sampi_tree_pool_end(t, kind, at);
}

/* Makes a tree that has only the nodes NEVER and EMPTY. */
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
    sampi_grammar_vec_free(&t->nodes);
    sampi_grammar_vec_free(&t->pool);
    sampi_grammar_vec_free(&t->rules);
    sampi_grammar_vec_free(&t->lists);
    sampi_grammar_vec_free(&t->members);
    sampi_grammar_vec_free(&t->slots);
}
