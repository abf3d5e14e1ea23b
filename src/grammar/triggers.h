/* ---- triggers ----
   A lazy grammar allows every token until a trigger occurs: a token, or a word or regular expression found in the text
   so far. The position where the grammar then begins depends on the way in which the expression matches; the first way
   that backtracking finds is used. So an expression becomes a program that tries its ways to match in order. All words
   together are one expression: (one|or|another).

   While the grammar waits, each byte moves a set of positions in all programs (sampi_lazy_feed). That costs as much as
   the set is large, and shows whether there is a match. After a match, sampi_lazy_start searches the whole text for the
   match's beginning. A character class in a pattern matches bytes, not code points, as in llama.cpp, whose std::regex
   reads bytes. */

typedef enum sampi_op_kind {
    SAMPI_OP_BYTE,  /* matches the byte a */
    SAMPI_OP_SET,   /* matches one byte of a set, which begins at byte a of the pool */
    SAMPI_OP_NEVER, /* matches no byte */
    SAMPI_OP_SPLIT, /* continues at operation a; if that fails, at operation b */
    SAMPI_OP_SAVE,  /* a capture group's position: group a / 2 begins here, or ends here if a is odd */
    SAMPI_OP_BEGIN, /* matches only at the beginning of the text, and reads no byte */
    SAMPI_OP_END,   /* matches only at the end of the text, and reads no byte */
    SAMPI_OP_MATCH
} sampi_op_kind;
typedef struct sampi_op {
    int32_t kind, a, b;
} sampi_op;

/* The program of one expression: the index of its first operation, and whether a match of the whole text is tried
   first. */
typedef struct sampi_program {
    int32_t first, whole;
} sampi_program;

#ifndef SAMPI_MAX_OPS /* tests set a smaller number */
#define SAMPI_MAX_OPS (1 << 16)
#endif
#define SAMPI_MAX_GROUPS 64

typedef struct sampi_lazy {
    sampi_vec ops;      /* sampi_op: the operations of all programs */
    sampi_vec pool;     /* the byte sets that the programs' operations test */
    sampi_vec programs; /* sampi_program */
    sampi_vec tokens;   /* samp_token: the tokens that are triggers */
    /* int32_t, five numbers for each operation: the list of current positions, room for the next list, room for a copy
       of the list, room for positions that must still be visited, and the round in which each operation was last
       reached. */
    sampi_vec positions;
    int32_t n_live;
    uint32_t round;
    bool is_lazy, waiting, found; /* found: an expression has matched */
} sampi_lazy;

/* Returns the node for the bytes that a class of a trigger's expression matches. Below 80 these are the ASCII
   characters of the class. From 80 on they are: any byte if the class is negated or contains all characters from 80 on,
   else the UTF-8 of its characters. */
static sampi_node sampi_trigger_class(sampi_tree *t, const uint32_t (*ranges)[2], size_t n, bool negated)
{
    uint8_t bits[32];
    bool all = negated;
    sampi_ranges r;
    if (!sampi_ranges_make(&r, ranges, n)) return SAMP_E_NOMEM;
    memset(bits, negated ? 0xff : 0, 16);
    for (size_t i = 0; i < r.n; i++) {
        all |= r.at[i][0] <= 0x80 && r.at[i][1] == 0x10ffff;
        for (uint32_t c = r.at[i][0]; c <= r.at[i][1] && c < 0x80; c++) bits[c / 8] ^= (uint8_t)(1u << c % 8);
    }
    memset(bits + 16, all ? 0xff : 0, 16);
    sampi_ranges_free(&r);
    sampi_node node = sampi_tree_pooled(t, SAMPI_NODE_SET, bits, 32);
    for (size_t i = 0; i < n && !all; i++)
        if (ranges[i][1] >= 0x80)
            node = sampi_tree_alt(
                t, sampi_tree_code_points(t, ranges[i][0] < 0x80 ? 0x80 : ranges[i][0], ranges[i][1]), node);
    return node;
}

/* Appends an operation. Returns its index, or a status. */
static int32_t sampi_emit_op(sampi_lazy *z, int kind, int32_t a, int32_t b)
{
    sampi_op *op = z->ops.n < SAMPI_MAX_OPS ? (sampi_op *)sampi_vec_add(&z->ops, sizeof *op, 1) : NULL;
    if (!op) return z->ops.n < SAMPI_MAX_OPS ? SAMP_E_NOMEM : SAMP_E_RANGE;
    op->kind = kind;
    op->a = a;
    op->b = b;
    return z->ops.n - 1;
}

/* Makes the next operation a target of the branch (SPLIT) at index `at`: the first target, the second, or both. */
static void sampi_set_targets(sampi_lazy *z, int32_t at, bool first, bool second)
{
    sampi_op *op = (sampi_op *)z->ops.data + at;
    if (first) op->a = z->ops.n;
    if (second) op->b = z->ops.n;
}

static int sampi_emit(sampi_lazy *z, const sampi_tree *t, sampi_node n);

/* Appends a repetition: a copy of what is repeated for each time. Without an upper bound the last copy is a loop. */
static int sampi_emit_repeat(sampi_lazy *z, const sampi_tree *t, const sampi_expr *e, bool lazy)
{
    int status = SAMP_OK;
    for (int32_t i = 0; i < e->b && !status; i++) status = sampi_emit(z, t, e->a);
    int32_t before = z->ops.n, most = e->c < 0 ? e->b + 1 : e->c;
    for (int32_t i = e->b; i < most && !status; i++) {
        int32_t split = sampi_emit_op(z, SAMPI_OP_SPLIT, -1, -1);
        if (split < 0) return split;
        sampi_set_targets(z, split, !lazy, lazy);
        status = sampi_emit(z, t, e->a);
        int32_t back = status || e->c >= 0 ? 0 : sampi_emit_op(z, SAMPI_OP_SPLIT, split, split);
        if (back < 0) status = back;
    }
    /* jump targets that are not set yet get to point behind the repetition */
    for (int32_t i = before; i < z->ops.n && !status; i++) {
        sampi_op *op = (sampi_op *)z->ops.data + i;
        if (op->kind == SAMPI_OP_SPLIT && op->a < 0) op->a = z->ops.n;
        if (op->kind == SAMPI_OP_SPLIT && op->b < 0) op->b = z->ops.n;
    }
    return status;
}

/* Appends the operations of alternatives, which are tried in order. */
static int sampi_emit_alternatives(sampi_lazy *z, const sampi_tree *t, sampi_node n)
{
    /* the last branch (SPLIT) that leaves the alternatives; until its targets are set, its b is the one before it */
    int32_t out = -1;
    int status = SAMP_OK;
    for (; sampi_at(t, n)->kind == SAMPI_NODE_ALT && !status; n = sampi_at(t, n)->b) {
        int32_t split = sampi_emit_op(z, SAMPI_OP_SPLIT, -1, -1);
        if (split < 0) return split;
        sampi_set_targets(z, split, true, false);
        status = sampi_emit(z, t, sampi_at(t, n)->a);
        if (!status) out = sampi_emit_op(z, SAMPI_OP_SPLIT, 0, out);
        if (out < -1) status = out;
        if (!status) sampi_set_targets(z, split, false, true);
    }
    if (!status) status = sampi_emit(z, t, n);
    while (out >= 0 && !status) {
        int32_t before = ((const sampi_op *)z->ops.data)[out].b;
        sampi_set_targets(z, out, true, true);
        out = before;
    }
    return status;
}

/* Appends the operations of a node. */
static int sampi_emit(sampi_lazy *z, const sampi_tree *t, sampi_node n)
{
    int32_t at = 0;
    int status = SAMP_OK;
    for (; sampi_at(t, n)->kind == SAMPI_NODE_SEQ && !status; n = sampi_at(t, n)->b)
        status = sampi_emit(z, t, sampi_at(t, n)->a);
    if (status) return status;
    const sampi_expr *e = sampi_at(t, n);
    const uint8_t *bytes = sampi_in_pool(e->kind) ? sampi_bytes_at(t, e->a) : NULL;
    switch (e->kind) {
        case SAMPI_NODE_EMPTY: return SAMP_OK;
        case SAMPI_NODE_ALT: return sampi_emit_alternatives(z, t, n);
        case SAMPI_NODE_REPEAT: return sampi_emit_repeat(z, t, e, false);
        case SAMPI_NODE_TEXT:
            for (int32_t i = 0; i < e->b && at >= 0; i++) at = sampi_emit_op(z, SAMPI_OP_BYTE, bytes[i], 0);
            break;
        case SAMPI_NODE_SET: { /* the marks of ^ and $ are sets of one byte */
            bool mark = (bytes[31] & 0xc0) && !(bytes[16] & 1);
            int kind = !mark ? SAMPI_OP_SET : bytes[31] >> 6 == 1 ? SAMPI_OP_BEGIN : SAMPI_OP_END;
            at = sampi_emit_op(z, kind, e->a, 0);
            break;
        }
        case SAMPI_NODE_GROUP:
            if (e->b == SAMPI_GROUP_LAZY) return sampi_emit_repeat(z, t, sampi_at(t, e->a), true);
            if (e->b >= SAMPI_MAX_GROUPS) return SAMP_E_RANGE;
            if (e->b >= 0) at = sampi_emit_op(z, SAMPI_OP_SAVE, 2 * e->b, 0);
            if (at >= 0) status = sampi_emit(z, t, e->a);
            if (at >= 0 && !status && e->b >= 0) at = sampi_emit_op(z, SAMPI_OP_SAVE, 2 * e->b + 1, 0);
            break;
        default: at = sampi_emit_op(z, SAMPI_OP_NEVER, 0, 0); break;
    }
    return at < 0 ? at : status;
}

/* Adds a program that matches the texts of a node. */
static int sampi_lazy_program(sampi_lazy *z, const sampi_tree *t, sampi_node n, bool whole)
{
    if (n < 0) return n;
    sampi_program *p = (sampi_program *)sampi_vec_add(&z->programs, sizeof *p, 1);
    if (!p) return SAMP_E_NOMEM;
    p->first = z->ops.n;
    p->whole = whole;
    int status = sampi_emit(z, t, n);
    int32_t last = status ? status : sampi_emit_op(z, SAMPI_OP_MATCH, 0, 0);
    return last < 0 ? last : SAMP_OK;
}

/* Makes programs of n trigger texts. All words together become one program; each pattern becomes one. */
static int sampi_lazy_read(sampi_lazy *z, sampi_tree *t, const char *const *texts, size_t n, bool patterns)
{
    sampi_node words = SAMPI_NEVER;
    int status = n && !texts ? SAMP_E_NULL : SAMP_OK;
    for (size_t i = 0; i < n && !status; i++)
        if (!texts[i]) status = SAMP_E_NULL;
    for (size_t i = n; i-- > 0 && !status && !patterns;)
        words = sampi_tree_alt(t, sampi_tree_text(t, texts[i], strlen(texts[i])), words);
    if (!status && !patterns && n)
        status = sampi_lazy_program(z, t, words < 0 ? words : sampi_tree_node(t, SAMPI_NODE_GROUP, words, 0, 0),
                                    false);
    for (size_t i = 0; i < n && !status && patterns; i++) {
        samp_grammar_error error;
        sampi_reader r;
        memset(&r, 0, sizeof r);
        r.tree = t;
        r.chars = sampi_trigger_class;
        r.ways = true;
        size_t length = strlen(texts[i]);
        sampi_node node = sampi_regex_read(&r, texts[i], length, &error);
        status = sampi_lazy_program(z, t, node, length && texts[i][0] == '^' && texts[i][length - 1] == '$');
    }
    return status;
}

/* Adds operation `at` to a list of positions if it waits for a byte or the text's end, else the operations to which it
   leads. */
static void sampi_lazy_add_position(sampi_lazy *z, int32_t *list, int32_t *n, int32_t at, bool begin, bool end)
{
    const sampi_op *ops = (const sampi_op *)z->ops.data;
    int32_t *todo = (int32_t *)z->positions.data + 3 * (size_t)z->ops.n, n_todo = 0;
    uint32_t *round = (uint32_t *)todo + z->ops.n;
    for (;;) {
        const sampi_op *op = &ops[at];
        bool on = false;
        if (round[at] != z->round) {
            round[at] = z->round;
            if (op->kind == SAMPI_OP_MATCH) z->found = true;
            if (op->kind == SAMPI_OP_SPLIT) todo[n_todo++] = op->b;
            on = op->kind == SAMPI_OP_SPLIT || op->kind == SAMPI_OP_SAVE || (op->kind == SAMPI_OP_BEGIN && begin) ||
                 (op->kind == SAMPI_OP_END && end);
            if (!on) list[(*n)++] = at;
        }
        if (!on && n_todo == 0) return;
        at = !on ? todo[--n_todo] : op->kind == SAMPI_OP_SPLIT ? op->a : at + 1;
    }
}

/* Adds the first operations of all programs to a list of positions, as a match may begin at each byte of the text. */
static void sampi_lazy_add_starts(sampi_lazy *z, int32_t *list, int32_t *n, bool begin)
{
    for (int32_t i = 0; i < z->programs.n; i++)
        sampi_lazy_add_position(z, list, n, ((const sampi_program *)z->programs.data)[i].first, begin, false);
}

/* Resets the positions to the beginning of a text. */
static void sampi_lazy_reset(sampi_lazy *z)
{
    z->waiting = z->is_lazy;
    z->found = false;
    z->n_live = 0;
    z->round++;
    sampi_lazy_add_starts(z, (int32_t *)z->positions.data, &z->n_live, true);
}

/* Reads n more bytes. Returns whether an expression matches if the text ends here. sampi_lazy_undo can restore the
   positions from before the call. */
static bool sampi_lazy_feed(sampi_lazy *z, const uint8_t *bytes, size_t n)
{
    const sampi_op *ops = (const sampi_op *)z->ops.data;
    size_t n_ops = (size_t)z->ops.n;
    int32_t *live = (int32_t *)z->positions.data, *next = live + n_ops, n_next = 0;
    for (size_t i = 0; i < n; i++) {
        z->round++;
        n_next = 0;
        for (int32_t k = 0; k < z->n_live; k++) {
            const sampi_op *op = &ops[live[k]];
            if (op->kind == SAMPI_OP_SET ? ((const uint8_t *)z->pool.data)[op->a + bytes[i] / 8] >> bytes[i] % 8 & 1
                                         : op->kind == SAMPI_OP_BYTE && op->a == bytes[i])
                sampi_lazy_add_position(z, next, &n_next, live[k] + 1, false, false);
        }
        sampi_lazy_add_starts(z, next, &n_next, false);
        z->n_live = n_next;
        if (n_next) memcpy(live, next, (size_t)n_next * sizeof *live);
    }
    /* a match that is possible only at the end of the text is not kept: the next byte ends it */
    bool inside = z->found;
    z->round++;
    n_next = 0;
    for (int32_t k = 0; k < z->n_live; k++)
        if (ops[live[k]].kind == SAMPI_OP_END) sampi_lazy_add_position(z, next, &n_next, live[k] + 1, false, true);
    bool found = z->found;
    z->found = inside;
    return found;
}

/* sampi_lazy_keep saves the current positions before a token is read; sampi_lazy_undo restores them. */
static void sampi_lazy_keep(sampi_lazy *z, int32_t *n, bool *found)
{
    *n = z->n_live;
    *found = z->found;
    if (*n)
        memcpy((int32_t *)z->positions.data + 2 * (size_t)z->ops.n, z->positions.data, (size_t)*n * sizeof(int32_t));
}
static void sampi_lazy_undo(sampi_lazy *z, int32_t n, bool found)
{
    z->n_live = n;
    z->found = found;
    if (n)
        memcpy(z->positions.data, (int32_t *)z->positions.data + 2 * (size_t)z->ops.n, (size_t)n * sizeof(int32_t));
}

/* Frees the arrays. A clone of a sampler has its own. */
static void sampi_lazy_free(sampi_lazy *z)
{
    sampi_vec *vec[] = { &z->ops, &z->pool, &z->programs, &z->tokens, &z->positions };
    for (size_t i = 0; i < sizeof vec / sizeof *vec; i++) sampi_vec_free(vec[i]);
}

/* Makes the triggers from n_texts words or patterns and n tokens. On an error, *field is the name of the parameter that
   is wrong. */
static int sampi_lazy_init(sampi_lazy *z, const char *const *texts, size_t n_texts, bool patterns,
                           const samp_token *tokens, size_t n, int32_t n_vocab, const char **field)
{
    sampi_tree tree;
    int status = sampi_tree_init(&tree);
    *field = patterns ? "trigger_patterns" : "trigger_words";
    if (!status) status = sampi_lazy_read(z, &tree, texts, n_texts, patterns);
    z->pool = tree.pool;
    memset(&tree.pool, 0, sizeof tree.pool);
    sampi_tree_free(&tree);
    if (status) return status;
    int32_t *positions = z->ops.n ? (int32_t *)sampi_vec_add(&z->positions, sizeof *positions, 5 * z->ops.n) : NULL;
    if (z->ops.n && !positions) return SAMP_E_NOMEM;
    if (positions) memset(positions, 0, 5 * (size_t)z->ops.n * sizeof *positions);
    *field = "trigger_tokens";
    for (size_t i = 0; i < n; i++) {
        if (!tokens) return SAMP_E_NULL;
        if (tokens[i] < 0 || tokens[i] >= n_vocab) return SAMP_E_RANGE;
        samp_token *token = (samp_token *)sampi_vec_add(&z->tokens, sizeof *token, 1);
        if (!token) return SAMP_E_NOMEM;
        *token = tokens[i];
    }
    z->is_lazy = true;
    return SAMP_OK;
}
