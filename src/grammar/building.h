/* ---- building a tree ----
   These functions return the node that matches certain texts: a text, a sequence, alternatives, a repetition, a
   character class, a list of members, a rule. A negative argument is a status, which is returned. */

/* Returns the node for the text of n bytes. */
static sampi_node sampi_tree_text(sampi_tree *t, const char *bytes, size_t n)
{
    return n ? sampi_tree_pooled(t, SAMPI_NODE_TEXT, bytes, n) : SAMPI_EMPTY;
}

/* Returns the node for one byte from lo to hi. */
static sampi_node sampi_tree_byte(sampi_tree *t, uint32_t lo, uint32_t hi)
{
    uint8_t bits[32] = { 0 };
    for (uint32_t i = lo; i <= hi; i++) bits[i / 8] |= (uint8_t)(1u << i % 8);
    return sampi_tree_pooled(t, SAMPI_NODE_SET, bits, 32);
}

/* Returns the node for a, followed by b. Parts that are appended one by one nest on the left; derivatives
   (sampi_grammar_join_sequence) make such a sequence nest on the right. */
static sampi_node sampi_tree_seq(sampi_tree *t, sampi_node a, sampi_node b)
{
    if (a < 0 || b < 0) return a < 0 ? a : b;
    if (a == SAMPI_NEVER || b == SAMPI_NEVER) return SAMPI_NEVER;
    if (a == SAMPI_EMPTY) return b;
    return b == SAMPI_EMPTY ? a : sampi_tree_node(t, SAMPI_NODE_SEQ, a, b, 0);
}

/* Returns the node for a or b. If both have alternatives, a's are put in front of b's one by one, so that ALT nodes
   nest on the right only. */
static sampi_node sampi_tree_alt(sampi_tree *t, sampi_node a, sampi_node b)
{
    if (a < 0 || b < 0) return a < 0 ? a : b;
    if (a == b || b == SAMPI_NEVER) return a;
    if (a == SAMPI_NEVER) return b;
    if (sampi_grammar_at(t, a)->kind != SAMPI_NODE_ALT) return sampi_tree_node(t, SAMPI_NODE_ALT, a, b, 0);
    if (sampi_grammar_at(t, b)->kind != SAMPI_NODE_ALT) return sampi_tree_node(t, SAMPI_NODE_ALT, b, a, 0);
    while (b >= 0 && sampi_grammar_at(t, a)->kind == SAMPI_NODE_ALT) {
        b = sampi_tree_node(t, SAMPI_NODE_ALT, sampi_grammar_at(t, a)->a, b, 0);
        a = sampi_grammar_at(t, a)->b;
    }
    return b < 0 ? b : sampi_tree_node(t, SAMPI_NODE_ALT, a, b, 0);
}

/* Returns the node for a, at least `least` and at most `most` times (-1: any number). The node caches the two bounds; a
   is not copied. */
static sampi_node sampi_tree_repeat(sampi_tree *t, sampi_node a, int32_t least, int32_t most)
{
    if (a < 0) return a;
    if (least < 0 || most < -1 || (most >= 0 && most < least)) return SAMP_E_RANGE;
    if (most == 0 || a == SAMPI_EMPTY) return SAMPI_EMPTY;
    if (a == SAMPI_NEVER) return least ? SAMPI_NEVER : SAMPI_EMPTY;
    return least == 1 && most == 1 ? a : sampi_tree_node(t, SAMPI_NODE_REPEAT, a, least, most);
}

/* Returns whether node n is a repetition without a lower and an upper limit, such as [^"]*. */
static bool sampi_grammar_is_all(const sampi_tree *t, sampi_node n)
{
    const sampi_expr *e = sampi_grammar_at(t, n);
    return e->kind == SAMPI_NODE_REPEAT && e->b == 0 && e->c < 0;
}

/* Returns whether a quick look shows that n matches every string of bytes. */
static bool sampi_grammar_is_everything(const sampi_tree *t, sampi_node n)
{
    const sampi_expr *e = sampi_grammar_at(t, n);
    if (e->kind == SAMPI_NODE_NOT) return e->a == SAMPI_NEVER;
    if (!sampi_grammar_is_all(t, n) || sampi_grammar_at(t, e->a)->kind != SAMPI_NODE_SET) return false;
    const uint8_t *bytes = sampi_grammar_bytes_at(t, sampi_grammar_at(t, e->a)->a);
    int32_t i = 0;
    while (i < 32 && bytes[i] == 0xff) i++;
    return i == 32;
}

/* A node `whole` that begins with a repetition of characters without a lower and an upper limit
   (sampi_grammar_is_all), as [^"]*" does. sampi_grammar_is_covered finds nodes whose texts are among those of
   `whole`. */
typedef struct sampi_cover {
    sampi_node whole, all, rest; /* all: the repetition; rest: what follows it in `whole`, or EMPTY */
    uint64_t bytes[4];           /* the bytes that one repetition may consist of, as a set of bits */
    int32_t patience;            /* how many nodes a look may still visit */
} sampi_cover;

/* Fills in the cover of the node `whole`. Returns false if `whole` does not begin with a repetition of characters
   without a lower and an upper limit. */
static bool sampi_grammar_cover_of(const sampi_tree *t, sampi_node whole, sampi_cover *cover)
{
    const sampi_expr *e = sampi_grammar_at(t, whole);
    cover->whole = whole;
    cover->all = e->kind == SAMPI_NODE_SEQ ? e->a : whole;
    cover->rest = e->kind == SAMPI_NODE_SEQ ? e->b : SAMPI_EMPTY;
    cover->patience = 64;
    if (!sampi_grammar_is_all(t, cover->all)) return false;
    memset(cover->bytes, 0, sizeof cover->bytes);
    for (sampi_node one = sampi_grammar_at(t, cover->all)->a;; one = e->b) {
        e = sampi_grammar_at(t, one);
        const sampi_expr *first = e->kind == SAMPI_NODE_ALT ? sampi_grammar_at(t, e->a) : e;
        uint64_t set[4] = { 0 };
        if (first->kind == SAMPI_NODE_SET) memcpy(set, sampi_grammar_bytes_at(t, first->a), sizeof set);
        for (int32_t i = 0; i < 4; i++) cover->bytes[i] |= set[i];
        if (e->kind != SAMPI_NODE_ALT) return true;
    }
}

/* Returns whether each byte of e, which is a SET or a TEXT, is one of the bytes of which the cover's repetition
   consists. */
static bool sampi_grammar_cover_takes(const sampi_tree *t, const sampi_cover *cover, const sampi_expr *e)
{
    const uint8_t *bytes = sampi_grammar_bytes_at(t, e->a);
    uint64_t set[4], left = 0;
    if (e->kind == SAMPI_NODE_SET) {
        memcpy(set, bytes, sizeof set);
    } else {
        uint8_t bits[32] = { 0 };
        for (int32_t i = 0; i < e->b; i++) bits[bytes[i] / 8] |= (uint8_t)(1u << bytes[i] % 8);
        memcpy(set, bits, sizeof set);
    }
    for (int32_t i = 0; i < 4; i++) left |= set[i] & ~cover->bytes[i];
    return !left;
}

/* Returns whether a quick look shows that all texts of n are texts of the cover's repetition. All texts of
   [^"]*word[^"]* are texts of [^"]*, for example. False may also mean that `patience` was not enough. */
static bool sampi_grammar_is_among(const sampi_tree *t, sampi_node n, sampi_cover *cover)
{
    const sampi_node one = sampi_grammar_at(t, cover->all)->a;
    while (--cover->patience > 0) {
        if (n == cover->all || n == one || n == SAMPI_EMPTY || n == SAMPI_NEVER) return true;
        const sampi_expr *e = sampi_grammar_at(t, n);
        switch (e->kind) {
            case SAMPI_NODE_SET:
            case SAMPI_NODE_TEXT: return sampi_grammar_cover_takes(t, cover, e);
            case SAMPI_NODE_REPEAT: n = e->a; continue;
            case SAMPI_NODE_AND:
                if (sampi_grammar_is_among(t, e->a, cover)) return true;
                n = e->b;
                continue;
            case SAMPI_NODE_SEQ:
            case SAMPI_NODE_ALT:
                if (!sampi_grammar_is_among(t, e->a, cover)) return false;
                n = e->b;
                continue;
            default: return false;
        }
    }
    return false;
}

/* Returns whether a quick look shows that all texts of n are texts of the cover's node `whole`. All texts of
   [^"]*word[^"]*" are texts of [^"]*", for example. The look follows a sequence up to a node that is also in
   `whole`. */
static bool sampi_grammar_is_covered(const sampi_tree *t, sampi_node n, sampi_cover *cover)
{
    if (cover->rest == SAMPI_EMPTY) return sampi_grammar_is_among(t, n, cover);
    for (; --cover->patience > 0; n = sampi_grammar_at(t, n)->b) {
        if (n == cover->whole || n == cover->rest || n == SAMPI_NEVER) return true;
        if (sampi_grammar_at(t, n)->kind != SAMPI_NODE_SEQ ||
            !sampi_grammar_is_among(t, sampi_grammar_at(t, n)->a, cover))
            return false;
    }
    return false;
}

/* Returns whether a and b have no text in common because b is a NOT node, and a's texts are among those that it
   excludes. */
static bool sampi_grammar_excludes(const sampi_tree *t, sampi_node b, sampi_node a)
{
    sampi_cover cover;
    const sampi_expr *e = sampi_grammar_at(t, b);
    return e->kind == SAMPI_NODE_NOT &&
           (e->a == a || sampi_grammar_is_everything(t, e->a) ||
            (sampi_grammar_cover_of(t, e->a, &cover) && sampi_grammar_is_covered(t, a, &cover)));
}

/* Returns the node for every string of bytes that n does not match. */
static sampi_node sampi_tree_not(sampi_tree *t, sampi_node n)
{
    if (n >= 0 && sampi_grammar_at(t, n)->kind == SAMPI_NODE_NOT) return sampi_grammar_at(t, n)->a;
    return n < 0 ? n : sampi_tree_node(t, SAMPI_NODE_NOT, n, 0, 0);
}

/* Returns whether n, or one of its alternatives, ends with a PLACED node. */
static bool sampi_grammar_ends_placed(const sampi_tree *t, sampi_node n)
{
    for (bool more = sampi_grammar_at(t, n)->facts & SAMPI_FACT_AND; more; n = sampi_grammar_at(t, n)->b) {
        more = sampi_grammar_at(t, n)->kind == SAMPI_NODE_ALT;
        sampi_node end = more ? sampi_grammar_at(t, n)->a : n;
        while (sampi_grammar_at(t, end)->kind == SAMPI_NODE_SEQ || sampi_grammar_at(t, end)->kind == SAMPI_NODE_AND)
            end = sampi_grammar_at(t, end)->b;
        if (sampi_grammar_at(t, end)->kind == SAMPI_NODE_PLACED) return true;
    }
    return false;
}

static sampi_node sampi_tree_and(sampi_tree *t, sampi_node a, sampi_node b);

/* Does the work of sampi_tree_and where a PLACED node, which may lead to itself, needs a form in which few nodes have
   the same texts. Alternatives are outside of AND nodes. These nest on the right, in ascending order behind one NOT. */
static sampi_node sampi_tree_and_placed(sampi_tree *t, sampi_node a, sampi_node b)
{
    const sampi_expr x = *sampi_grammar_at(t, a), e = *sampi_grammar_at(t, b);
    const bool ways = x.kind == SAMPI_NODE_ALT && sampi_grammar_ends_placed(t, a);
    if (ways || (e.kind == SAMPI_NODE_ALT && sampi_grammar_ends_placed(t, b))) {
        const sampi_node one = ways ? b : a;
        sampi_node all = SAMPI_NEVER, rest = ways ? a : b;
        for (; all >= 0 && sampi_grammar_at(t, rest)->kind == SAMPI_NODE_ALT; rest = sampi_grammar_at(t, rest)->b)
            all = sampi_tree_alt(t, all, sampi_tree_and(t, sampi_grammar_at(t, rest)->a, one));
        return sampi_tree_alt(t, all, sampi_tree_and(t, rest, one));
    }
    if (x.kind == SAMPI_NODE_AND) return sampi_tree_and(t, x.a, sampi_tree_and(t, x.b, b));
    const bool list = e.kind == SAMPI_NODE_AND;
    const sampi_node first = list ? e.a : b;
    if (list && (a == e.a || a == e.b)) return b;
    if (x.kind == SAMPI_NODE_NOT && sampi_grammar_at(t, first)->kind == SAMPI_NODE_NOT) {
        a = sampi_tree_not(t, sampi_tree_alt(t, x.a, sampi_grammar_at(t, first)->a));
        return list ? sampi_tree_and(t, a, e.b) : a;
    }
    if (x.kind == SAMPI_NODE_NOT || (sampi_grammar_at(t, first)->kind != SAMPI_NODE_NOT && a < first))
        return sampi_tree_node(t, SAMPI_NODE_AND, a, b, 0);
    if (list) a = sampi_tree_and(t, a, e.b);
    return a <= SAMPI_NEVER ? a : sampi_tree_node(t, SAMPI_NODE_AND, first, a, 0);
}

/* Returns the node for the texts that both a and b match. Both must be regular: they contain no token, no list of
   members and no recursive rule. */
static sampi_node sampi_tree_and(sampi_tree *t, sampi_node a, sampi_node b)
{
    if (a < 0 || b < 0) return a < 0 ? a : b;
    if (a == b) return a;
    if (a == SAMPI_NEVER || b == SAMPI_NEVER) return SAMPI_NEVER;
    if (sampi_grammar_is_everything(t, a)) return b;
    if (sampi_grammar_is_everything(t, b)) return a;
    if (sampi_grammar_excludes(t, a, b) || sampi_grammar_excludes(t, b, a)) return SAMPI_NEVER;
    sampi_cover cover;
    if (sampi_grammar_cover_of(t, a, &cover) && sampi_grammar_is_covered(t, b, &cover)) return b;
    if (sampi_grammar_cover_of(t, b, &cover) && sampi_grammar_is_covered(t, a, &cover)) return a;
    if (sampi_grammar_ends_placed(t, a) || sampi_grammar_ends_placed(t, b)) return sampi_tree_and_placed(t, a, b);
    return sampi_tree_node(t, SAMPI_NODE_AND, a < b ? a : b, a < b ? b : a, 0);
}

/* Returns the node for a decimal number in JSON's form, without sign or exponent, that is a multiple of m * 10^-places.
   m is 10^8 at most. With `ends` no further decimal places may come, not even zeros. */
static sampi_node sampi_tree_multiple(sampi_tree *t, int32_t m, int32_t places, bool ends)
{
    return sampi_tree_node(t, SAMPI_NODE_MULTIPLE, m, 0,
                           SAMPI_MULTIPLE_PLACE * places + (ends ? SAMPI_MULTIPLE_ENDS : 0) + SAMPI_MULTIPLE_BEGINS);
}

/* Returns the node for the token `token` of the vocabulary, whatever the token's text is; with `negated` the node
   matches any other token. */
static sampi_node sampi_tree_token(sampi_tree *t, samp_token token, bool negated)
{
    return token < 0 ? (sampi_node)SAMP_E_RANGE : sampi_tree_node(t, SAMPI_NODE_TOKEN, token, negated, 0);
}

/* Returns the node for the UTF-8 of one code point from lo to hi. lo and hi must have the same length in UTF-8. Each
   byte's range depends on the bytes before it. upper: the upper bits of the first byte, which say what byte it is. */
static sampi_node sampi_tree_utf8_range(sampi_tree *t, uint32_t lo, uint32_t hi, int n_tail, uint32_t upper)
{
    if (n_tail == 0) return sampi_tree_byte(t, upper | lo, upper | hi);
    int shift = 6 * n_tail;
    uint32_t a = lo >> shift, b = hi >> shift, low = ((uint32_t)1 << shift) - 1;
    sampi_node node = SAMPI_NEVER;
    /* handles the first lead byte separately if its continuation bytes do not begin at the lowest value */
    if (a < b && (lo & low)) {
        node = sampi_tree_seq(t, sampi_tree_byte(t, upper | a, upper | a),
                              sampi_tree_utf8_range(t, lo & low, low, n_tail - 1, 0x80));
        lo = ++a << shift;
    }
    /* handles the last lead byte separately if its continuation bytes do not end at the highest value */
    if (a < b && (hi & low) != low) {
        node = sampi_tree_alt(t, node,
                              sampi_tree_seq(t, sampi_tree_byte(t, upper | b, upper | b),
                                             sampi_tree_utf8_range(t, 0, hi & low, n_tail - 1, 0x80)));
        hi = (b-- << shift) - 1;
    }
    return sampi_tree_alt(t, node,
                          sampi_tree_seq(t, sampi_tree_byte(t, upper | a, upper | b),
                                         sampi_tree_utf8_range(t, lo & low, hi & low, n_tail - 1, 0x80)));
}

/* Returns the node for one code point from lo to hi. Surrogates are left out, because they have no UTF-8. The table has
   one line for each range of code points with the same length in UTF-8: the upper bits of its lead byte are `lead`, and
   n_tail bytes follow. */
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

/* Ranges of code points [lo, hi] in ascending order; neighbouring ranges have a gap between them. */
typedef struct sampi_ranges {
    uint32_t few[8][2], (*at)[2]; /* [n] the ranges; `at` points to the array `few` if they fit there */
    size_t n;
} sampi_ranges;

static void sampi_grammar_ranges_free(sampi_ranges *r)
{
    if (r->at != r->few) SAMP_FREE(r->at);
}

/* Sorts n ranges of code points and joins those that overlap or touch. A range that ends before it begins is ignored.
   Returns false if there is no memory. */
static bool sampi_grammar_ranges_make(sampi_ranges *r, const uint32_t (*ranges)[2], size_t n)
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

/* Returns the slot of the cache for a character class; NULL if the cache does not take such a class. `how` is the
   number of the function that makes the class's node. */
static sampi_class *sampi_grammar_class_slot(const sampi_tree *t, const uint32_t (*ranges)[2], size_t n, int32_t how)
{
    if (!t->classes || n > 2) return NULL;
    uint32_t h = (uint32_t)how;
    for (size_t i = 0; i < n; i++) h = ((h ^ ranges[i][0]) * 0x9E3779B1u ^ ranges[i][1]) * 0x85EBCA77u;
    return &t->classes[(h >> 13 ^ h >> 24) % SAMPI_CLASSES];
}

/* Returns the node for one code point in one of n ranges, or, if `negated`, a code point in none of them. The ranges
   may have any order and include both ends. The callback `one` makes the node for the code points lo .. hi. */
static sampi_node sampi_tree_class_of(sampi_tree *t, const uint32_t (*ranges)[2], size_t n, bool negated,
                                      sampi_node (*one)(sampi_tree *, uint32_t lo, uint32_t hi), int32_t how)
{
    sampi_class *kept = sampi_grammar_class_slot(t, ranges, n, how += negated);
    if (kept && kept->how == how && kept->n == (int32_t)n &&
        (n == 0 || !memcmp(kept->range, ranges, n * sizeof *ranges)))
        return kept->node;
    sampi_ranges r;
    sampi_node node = SAMPI_NEVER;
    if (!sampi_grammar_ranges_make(&r, ranges, n)) return SAMP_E_NOMEM;
    uint32_t next = 0;
    for (size_t i = 0; i < r.n && node >= 0; i++) {
        const uint32_t lo = negated ? next : r.at[i][0], end = negated ? r.at[i][0] : r.at[i][1] + 1;
        if (lo < end) node = sampi_tree_alt(t, node, one(t, lo, end - 1));
        next = r.at[i][1] + 1;
    }
    if (negated && next <= 0x10ffff) node = sampi_tree_alt(t, node, one(t, next, 0x10ffff));
    sampi_grammar_ranges_free(&r);
    if (!kept || node < 0) return node;
    if (n) memcpy(kept->range, ranges, n * sizeof *ranges);
    kept->n = (int32_t)n;
    kept->how = how;
    return kept->node = node;
}

/* Returns the node for the UTF-8 of one code point in one of n ranges; with `negated` a code point in none of them. */
static sampi_node sampi_tree_class(sampi_tree *t, const uint32_t (*ranges)[2], size_t n, bool negated)
{
    enum { HOW = 2 };
    if (n > SAMPI_MAX_RANGES) return SAMP_E_RANGE;
    return sampi_tree_class_of(t, ranges, n, negated, sampi_tree_code_points, HOW);
}

/* Returns the number of the rule with this name. If there is no such rule, one is made without a body. If the name is
   empty, each call makes a new rule. */
static int32_t sampi_tree_rule(sampi_tree *t, const char *name, size_t n)
{
    sampi_node text = sampi_tree_text(t, name, n);
    if (text < 0) return text;
    if (n && sampi_grammar_at(t, text)->c) return sampi_grammar_at(t, text)->c - 1;
    sampi_rule *rule = (sampi_rule *)sampi_grammar_vec_add(&t->rules, sizeof *rule, 1);
    if (!rule) return SAMP_E_NOMEM;
    memset(rule, 0, sizeof *rule);
    rule->name = text;
    rule->body = -1;
    if (n) sampi_grammar_at(t, text)->c = t->rules.n;
    return t->rules.n - 1;
}

static sampi_node sampi_tree_ref(sampi_tree *t, int32_t rule)
{
    return rule < 0 ? rule : sampi_tree_node(t, SAMPI_NODE_REF, rule, 0, 0);
}

/* Sets the body of a rule; an earlier body is replaced. Nodes may refer to the rule before it has a body. Returns
   SAMP_OK, or the status if one of the arguments is a (negative) status. */
static int sampi_tree_define(sampi_tree *t, int32_t rule, sampi_node body)
{
    if (rule < 0 || body < 0) return rule < 0 ? rule : body;
    sampi_grammar_rule_at(t, rule)->body = body;
    return SAMP_OK;
}

/* Makes a new rule with this body, and returns a node that calls it. */
static sampi_node sampi_tree_call(sampi_tree *t, sampi_node body)
{
    int32_t rule = sampi_tree_rule(t, "", 0);
    int status = sampi_tree_define(t, rule, body);
    if (status) return status;
    sampi_grammar_rule_at(t, rule)->call = true;
    return sampi_tree_ref(t, rule);
}

/* Makes a new rule with this body, whose values are the items of an array that must differ, or such an array, and
   returns a node that calls it. */
static sampi_node sampi_tree_unique(sampi_tree *t, sampi_node body, int unique)
{
    const sampi_node call = body == SAMPI_NEVER ? body : sampi_tree_call(t, body);
    if (call > 0) sampi_grammar_rule_at(t, sampi_grammar_at(t, call)->a)->unique = (uint8_t)unique;
    return call;
}

/* Returns the node for a list of n members in any order, each at most once, with `separator` between two members.
   `other` matches a member that is not among the n, and may come several times; SAMPI_NEVER allows no such member. All
   required members must come. The number of all members must be between `least` and `most` (SIZE_MAX: no upper bound).
   The members are copied. Each becomes a rule that is called: what is computed for it does not depend on the members
   before it, so it is computed once. */
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
    sampi_member *room = (sampi_member *)sampi_grammar_vec_add(&t->members, sizeof *room, (int32_t)n);
    sampi_list *at = room || n == 0 ? (sampi_list *)sampi_grammar_vec_add(&t->lists, sizeof *at, 1) : NULL;
    if (!at) return SAMP_E_NOMEM;
    *at = list;
    for (size_t i = 0; i < n; i++) {
        room[i].required = members[i].required;
        room[i].node = members[i].node == SAMPI_NEVER ? SAMPI_NEVER : sampi_tree_call(t, members[i].node);
        if (room[i].node < 0) return room[i].node;
    }
    return sampi_tree_node(t, SAMPI_NODE_MEMBERS, t->lists.n - 1, SAMPI_EMPTY, 0);
}

/* The same for a list with witnesses: required members whose names are not listed (schema/objects.h). The last `slots`
   * SAMPI_KINDS_OF_NAMES elements of `members` are groups, a group for each witness; a group has one member for each
   kind of name. One member of each group must come, and no two witnesses may have the same kind. The members with other
   names that may come depend on the kinds that the witnesses had so far: others [SAMPI_SETS_OF_KINDS] is indexed by the
   set of these kinds. */
static sampi_node sampi_tree_witnesses(sampi_tree *t, const sampi_member *members, size_t n, int32_t slots,
                                       sampi_node separator, const sampi_node *others, size_t least, size_t most)
{
    sampi_node node = sampi_tree_members(t, members, n, separator, SAMPI_NEVER, least, most);
    sampi_member *table = node < 0 ? NULL
                                   : (sampi_member *)sampi_grammar_vec_add(&t->members, sizeof *table,
                                                                           SAMPI_SETS_OF_KINDS);
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
    sampi_list *list = (sampi_list *)t->lists.data + sampi_grammar_at(t, node)->a;
    list->slots = slots;
    list->other = table[0].node;
    sampi_grammar_at(t, node)->facts = sampi_grammar_node_facts(t, sampi_grammar_at(t, node));
    return node;
}
