/* ---- triggers ----
   A lazy grammar allows every token until a trigger occurs: a token, or a word or regular expression found in the text
   so far. The position where the grammar then begins depends on the way in which the expression matches; the first way
   that backtracking finds is used. So an expression becomes a program that tries its ways to match in order. All words
   together are one expression: (one|or|another).

   No text is searched twice, because all ways are tried side by side (Pike's algorithm). A thread is one way, up to the
   present byte: an operation, and where its match and its groups began. The threads are in the order in which
   backtracking would try them, so of two threads at the same operation the later one can be dropped, and a list has at
   most one thread for each operation. Each byte of the text moves all threads (sampi_grammar_step_threads). A
   character class in a pattern matches bytes, not code points, as in llama.cpp, whose std::regex reads bytes. */

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
#define SAMPI_MAX_GROUPS  64
#define SAMPI_THREAD_ROOM (1 << 20) /* the largest number of integers in a list of threads */

/* The integers of a thread. LATE: backtracking would try this way only after one that matches already, so only a match
   of the whole text counts. From GROUPS on: where each group begins, or -1 if its text is empty or it has none. */
enum { SAMPI_THREAD_OP, SAMPI_THREAD_PROGRAM, SAMPI_THREAD_LATE, SAMPI_THREAD_START, SAMPI_THREAD_GROUPS };

typedef struct sampi_lazy {
    sampi_vec ops;      /* sampi_op: the operations of all programs */
    sampi_vec pool;     /* the byte sets that the programs' operations test */
    sampi_vec programs; /* sampi_program */
    sampi_vec tokens;   /* samp_token: the tokens that are triggers */
    /* int32_t: three lists of threads (sampi_grammar_thread_list), of which list 0 has those behind the text so far;
       the stack of sampi_grammar_add_thread, two numbers for each operation; the round in which each operation was
       last reached; for each program the beginning of its match, or -1, the round in which it last matched, and a
       copy of the beginning */
    sampi_vec threads;
    sampi_vec refused; /* samp_token: the tokens that complete a trigger and that the grammar refuses behind it */
    sampi_vec key;     /* int32_t: for which threads `refused` holds (sampi_grammar_refused_key); empty: for none */
    int32_t n_groups, n_live, length; /* length: of the text so far, in bytes */
    uint32_t round;
    bool is_lazy, waiting;
} sampi_lazy;

/* A list of threads, one after the other. */
typedef struct sampi_threads {
    int32_t *at, n;
} sampi_threads;

/* Returns the node for the bytes that a class of a trigger's expression matches. Below 80 these are the ASCII
   characters of the class. From 80 on they are: any byte if the class is negated or contains all characters from 80 on,
   else the UTF-8 of its characters. */
static sampi_node sampi_grammar_trigger_class(sampi_tree *t, const uint32_t (*ranges)[2], size_t n, bool negated)
{
    uint8_t bits[32];
    bool all = negated;
    sampi_ranges r;
    if (!sampi_grammar_ranges_make(&r, ranges, n)) return SAMP_E_NOMEM;
    memset(bits, negated ? 0xff : 0, 16);
    for (size_t i = 0; i < r.n; i++) {
        all |= r.at[i][0] <= 0x80 && r.at[i][1] == 0x10ffff;
        for (uint32_t c = r.at[i][0]; c <= r.at[i][1] && c < 0x80; c++) bits[c / 8] ^= (uint8_t)(1u << c % 8);
    }
    memset(bits + 16, all ? 0xff : 0, 16);
    sampi_grammar_ranges_free(&r);
    sampi_node node = sampi_tree_pooled(t, SAMPI_NODE_SET, bits, 32);
    for (size_t i = 0; i < n && !all; i++)
        if (ranges[i][1] >= 0x80)
            node = sampi_tree_alt(
                t, sampi_tree_code_points(t, ranges[i][0] < 0x80 ? 0x80 : ranges[i][0], ranges[i][1]), node);
    return node;
}

/* Appends an operation. Returns its index, or a status. */
static int32_t sampi_grammar_emit_op(sampi_lazy *z, int kind, int32_t a, int32_t b)
{
    sampi_op *op = z->ops.n < SAMPI_MAX_OPS ? (sampi_op *)sampi_grammar_vec_add(&z->ops, sizeof *op, 1) : NULL;
    if (!op) return z->ops.n < SAMPI_MAX_OPS ? SAMP_E_NOMEM : SAMP_E_RANGE;
    op->kind = kind;
    op->a = a;
    op->b = b;
    return z->ops.n - 1;
}

/* Makes the next operation a target of the branch (SPLIT) at index `at`: the first target, the second, or both. */
static void sampi_grammar_set_targets(sampi_lazy *z, int32_t at, bool first, bool second)
{
    sampi_op *op = (sampi_op *)z->ops.data + at;
    if (first) op->a = z->ops.n;
    if (second) op->b = z->ops.n;
}

static int sampi_grammar_emit(sampi_lazy *z, const sampi_tree *t, sampi_node n);

/* Appends a repetition: a copy of what is repeated for each time. Without an upper bound the last copy is a loop. */
static int sampi_grammar_emit_repeat(sampi_lazy *z, const sampi_tree *t, const sampi_expr *e, bool lazy)
{
    int status = SAMP_OK;
    for (int32_t i = 0; i < e->b && !status; i++) status = sampi_grammar_emit(z, t, e->a);
    int32_t before = z->ops.n, most = e->c < 0 ? e->b + 1 : e->c;
    for (int32_t i = e->b; i < most && !status; i++) {
        int32_t split = sampi_grammar_emit_op(z, SAMPI_OP_SPLIT, -1, -1);
        if (split < 0) return split;
        sampi_grammar_set_targets(z, split, !lazy, lazy);
        status = sampi_grammar_emit(z, t, e->a);
        int32_t back = status || e->c >= 0 ? 0 : sampi_grammar_emit_op(z, SAMPI_OP_SPLIT, split, split);
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
static int sampi_grammar_emit_alternatives(sampi_lazy *z, const sampi_tree *t, sampi_node n)
{
    /* the last branch (SPLIT) that leaves the alternatives; until its targets are set, its b is the one before it */
    int32_t out = -1;
    int status = SAMP_OK;
    for (; sampi_grammar_at(t, n)->kind == SAMPI_NODE_ALT && !status; n = sampi_grammar_at(t, n)->b) {
        int32_t split = sampi_grammar_emit_op(z, SAMPI_OP_SPLIT, -1, -1);
        if (split < 0) return split;
        sampi_grammar_set_targets(z, split, true, false);
        status = sampi_grammar_emit(z, t, sampi_grammar_at(t, n)->a);
        if (!status) out = sampi_grammar_emit_op(z, SAMPI_OP_SPLIT, 0, out);
        if (out < -1) status = out;
        if (!status) sampi_grammar_set_targets(z, split, false, true);
    }
    if (!status) status = sampi_grammar_emit(z, t, n);
    while (out >= 0 && !status) {
        int32_t before = ((const sampi_op *)z->ops.data)[out].b;
        sampi_grammar_set_targets(z, out, true, true);
        out = before;
    }
    return status;
}

/* Appends the operations of a node. */
static int sampi_grammar_emit(sampi_lazy *z, const sampi_tree *t, sampi_node n)
{
    int32_t at = 0;
    int status = SAMP_OK;
    for (; sampi_grammar_at(t, n)->kind == SAMPI_NODE_SEQ && !status; n = sampi_grammar_at(t, n)->b)
        status = sampi_grammar_emit(z, t, sampi_grammar_at(t, n)->a);
    if (status) return status;
    const sampi_expr *e = sampi_grammar_at(t, n);
    const uint8_t *bytes = sampi_grammar_in_pool(e->kind) ? sampi_grammar_bytes_at(t, e->a) : NULL;
    switch (e->kind) {
        case SAMPI_NODE_EMPTY: return SAMP_OK;
        case SAMPI_NODE_ALT: return sampi_grammar_emit_alternatives(z, t, n);
        case SAMPI_NODE_REPEAT: return sampi_grammar_emit_repeat(z, t, e, false);
        case SAMPI_NODE_TEXT:
            for (int32_t i = 0; i < e->b && at >= 0; i++) at = sampi_grammar_emit_op(z, SAMPI_OP_BYTE, bytes[i], 0);
            break;
        case SAMPI_NODE_SET: at = sampi_grammar_emit_op(z, SAMPI_OP_SET, e->a, 0); break;
        case SAMPI_NODE_GROUP:
            if (e->b <= SAMPI_GROUP_BEGIN) {
                at = sampi_grammar_emit_op(z, e->b == SAMPI_GROUP_BEGIN ? SAMPI_OP_BEGIN : SAMPI_OP_END, 0, 0);
                break;
            }
            if (e->b == SAMPI_GROUP_LAZY) return sampi_grammar_emit_repeat(z, t, sampi_grammar_at(t, e->a), true);
            if (e->b >= SAMPI_MAX_GROUPS) return SAMP_E_RANGE;
            if (e->b >= 0) at = sampi_grammar_emit_op(z, SAMPI_OP_SAVE, 2 * e->b, 0);
            if (at >= 0) status = sampi_grammar_emit(z, t, e->a);
            if (at >= 0 && !status && e->b >= 0) at = sampi_grammar_emit_op(z, SAMPI_OP_SAVE, 2 * e->b + 1, 0);
            break;
        default: at = sampi_grammar_emit_op(z, SAMPI_OP_NEVER, 0, 0); break;
    }
    return at < 0 ? at : status;
}

/* Adds a program that matches the texts of a node. */
static int sampi_grammar_lazy_program(sampi_lazy *z, const sampi_tree *t, sampi_node n, bool whole)
{
    if (n < 0) return n;
    sampi_program *p = (sampi_program *)sampi_grammar_vec_add(&z->programs, sizeof *p, 1);
    if (!p) return SAMP_E_NOMEM;
    p->first = z->ops.n;
    p->whole = whole;
    int status = sampi_grammar_emit(z, t, n);
    int32_t last = status ? status : sampi_grammar_emit_op(z, SAMPI_OP_MATCH, 0, 0);
    return last < 0 ? last : SAMP_OK;
}

/* Makes programs of n trigger texts. All words together become one program; each pattern becomes one. */
static int sampi_grammar_lazy_read(sampi_lazy *z, sampi_tree *t, const char *const *texts, size_t n, bool patterns)
{
    sampi_node words = SAMPI_NEVER;
    int status = n && !texts ? SAMP_E_NULL : SAMP_OK;
    for (size_t i = 0; i < n && !status; i++)
        if (!texts[i]) status = SAMP_E_NULL;
    for (size_t i = n; i-- > 0 && !status && !patterns;)
        words = sampi_tree_alt(t, sampi_tree_text(t, texts[i], strlen(texts[i])), words);
    if (!status && !patterns && n)
        status = sampi_grammar_lazy_program(
            z, t, words < 0 ? words : sampi_tree_node(t, SAMPI_NODE_GROUP, words, 0, 0), false);
    for (size_t i = 0; i < n && !status && patterns; i++) {
        samp_grammar_error error;
        sampi_reader r;
        memset(&r, 0, sizeof r);
        r.tree = t;
        r.chars = sampi_grammar_trigger_class;
        r.ways = true;
        size_t length = strlen(texts[i]);
        sampi_node node = sampi_regex_read(&r, texts[i], length, &error);
        status = sampi_grammar_lazy_program(z, t, node, length && texts[i][0] == '^' && texts[i][length - 1] == '$');
    }
    return status;
}

static int32_t sampi_grammar_thread_size(const sampi_lazy *z) { return SAMPI_THREAD_GROUPS + z->n_groups; }
static int32_t *sampi_grammar_thread_list(const sampi_lazy *z, int i)
{
    return (int32_t *)z->threads.data + (size_t)i * (size_t)z->ops.n * (size_t)sampi_grammar_thread_size(z);
}
static uint32_t *sampi_grammar_thread_rounds(const sampi_lazy *z)
{
    return (uint32_t *)sampi_grammar_thread_list(z, 3) + 2 * (size_t)z->ops.n;
}
static int32_t *sampi_grammar_thread_matches(const sampi_lazy *z)
{
    return (int32_t *)sampi_grammar_thread_rounds(z) + z->ops.n;
}

/* Forgets the matches of all programs. */
static void sampi_grammar_clear_matches(const sampi_lazy *z)
{
    int32_t *match = sampi_grammar_thread_matches(z);
    for (int32_t i = 0; i < z->programs.n; i++) match[i] = -1;
}

/* Begins a new round, in which each operation can be reached once. */
static void sampi_grammar_begin_round(sampi_lazy *z)
{
    if (++z->round) return;
    memset(sampi_grammar_thread_rounds(z), 0, (size_t)z->ops.n * sizeof(uint32_t));
    memset(sampi_grammar_thread_matches(z) + z->programs.n, 0, (size_t)z->programs.n * sizeof(uint32_t));
    z->round = 1;
}

/* Notes that a thread's program matches, at the end of the text or before it. Later threads of this program are late
   from here on. */
static void sampi_grammar_note_match(const sampi_lazy *z, int32_t *thread, bool end)
{
    const int32_t p = thread[SAMPI_THREAD_PROGRAM];
    int32_t *match = sampi_grammar_thread_matches(z), i = 0;
    const bool whole = end && ((const sampi_program *)z->programs.data)[p].whole && !thread[SAMPI_THREAD_START];
    while (i < z->n_groups && thread[SAMPI_THREAD_GROUPS + i] < 0) i++;
    if (!thread[SAMPI_THREAD_LATE] || whole)
        match[p] = thread[i < z->n_groups ? SAMPI_THREAD_GROUPS + i : SAMPI_THREAD_START];
    thread[SAMPI_THREAD_LATE] = 1;
    ((uint32_t *)match)[z->programs.n + p] = z->round;
}

/* Adds a thread to a list if its operation waits for a byte or the text's end, else the threads to which the operation
   leads. at: the thread's position in the text; end: the text ends there, and `to` is NULL. The thread changes. */
static void sampi_grammar_add_thread(sampi_lazy *z, sampi_threads *to, int32_t *thread, int32_t at, bool end)
{
    const sampi_op *ops = (const sampi_op *)z->ops.data;
    uint32_t *round = sampi_grammar_thread_rounds(z);
    const int32_t size = sampi_grammar_thread_size(z);
    int32_t(*todo)[2] = (int32_t(*)[2])(void *)sampi_grammar_thread_list(z, 3), n_todo = 0;
    if (((const uint32_t *)sampi_grammar_thread_matches(z))[z->programs.n + thread[SAMPI_THREAD_PROGRAM]] == z->round)
        thread[SAMPI_THREAD_LATE] = 1;
    for (;;) {
        const int32_t here = thread[SAMPI_THREAD_OP]++;
        const sampi_op *op = &ops[here];
        int32_t *group = &thread[SAMPI_THREAD_GROUPS + (op->kind == SAMPI_OP_SAVE ? op->a / 2 : 0)];
        bool goes_on = false;
        switch (round[here] == z->round ? SAMPI_OP_NEVER : op->kind) {
            case SAMPI_OP_SPLIT:
                todo[n_todo][0] = op->b;
                n_todo++;
                thread[SAMPI_THREAD_OP] = op->a;
                goes_on = true;
                break;
            case SAMPI_OP_SAVE: /* what was there comes back before the next way is tried */
                todo[n_todo][0] = ~(op->a / 2);
                todo[n_todo++][1] = *group;
                *group = op->a % 2 == 0 ? at : *group == at ? -1 : *group;
                goes_on = true;
                break;
            case SAMPI_OP_BEGIN: goes_on = at == 0; break;
            case SAMPI_OP_NEVER: break;
            default: /* BYTE, SET, END, MATCH */
                goes_on = end && op->kind == SAMPI_OP_END;
                if (to) {
                    memcpy(to->at + (size_t)to->n * (size_t)size, thread, (size_t)size * sizeof *thread);
                    to->at[(size_t)to->n++ * (size_t)size + SAMPI_THREAD_OP] = here;
                }
                if (op->kind == SAMPI_OP_MATCH) sampi_grammar_note_match(z, thread, end);
                break;
        }
        round[here] = z->round;
        while (!goes_on) {
            if (n_todo == 0) return;
            const int32_t *way = todo[--n_todo];
            goes_on = way[0] >= 0;
            if (goes_on) thread[SAMPI_THREAD_OP] = way[0];
            if (!goes_on) thread[SAMPI_THREAD_GROUPS + ~way[0]] = way[1];
        }
    }
}

/* Adds the threads that begin at this position of the text, as a match may begin at each byte. */
static void sampi_grammar_add_starts(sampi_lazy *z, sampi_threads *to, int32_t at, bool end)
{
    int32_t thread[SAMPI_THREAD_GROUPS + SAMPI_MAX_GROUPS];
    for (int32_t i = 0; i < z->programs.n; i++) {
        thread[SAMPI_THREAD_OP] = ((const sampi_program *)z->programs.data)[i].first;
        thread[SAMPI_THREAD_PROGRAM] = i;
        thread[SAMPI_THREAD_LATE] = sampi_grammar_thread_matches(z)[i] >= 0;
        thread[SAMPI_THREAD_START] = at;
        memset(thread + SAMPI_THREAD_GROUPS, 0xff, (size_t)z->n_groups * sizeof *thread);
        sampi_grammar_add_thread(z, to, thread, at, end);
    }
}

/* Makes the list of threads behind one more byte. at: the position behind that byte; end: the text ends there, and only
   matches are of interest. */
static void sampi_grammar_step_threads(sampi_lazy *z, const sampi_threads *from, sampi_threads *to, uint8_t byte,
                                       int32_t at, bool end)
{
    const size_t size = (size_t)sampi_grammar_thread_size(z);
    int32_t thread[SAMPI_THREAD_GROUPS + SAMPI_MAX_GROUPS];
    sampi_grammar_begin_round(z);
    if (to) to->n = 0;
    for (int32_t k = 0; k < from->n; k++) {
        const int32_t *t = from->at + (size_t)k * size;
        const sampi_op *op = (const sampi_op *)z->ops.data + t[SAMPI_THREAD_OP];
        if (op->kind == SAMPI_OP_SET ? !(((const uint8_t *)z->pool.data)[op->a + byte / 8] >> byte % 8 & 1)
                                     : op->kind != SAMPI_OP_BYTE || op->a != byte)
            continue;
        memcpy(thread, t, size * sizeof *thread);
        thread[SAMPI_THREAD_OP]++;
        sampi_grammar_add_thread(z, to, thread, at, end);
    }
    sampi_grammar_add_starts(z, to, at, end);
}

/* Returns where in the text the grammar begins: at the match of the first program that matches; -1 if none does. */
static int32_t sampi_grammar_first_match(const sampi_lazy *z)
{
    const int32_t *match = sampi_grammar_thread_matches(z);
    for (int32_t i = 0; i < z->programs.n; i++)
        if (match[i] >= 0) return match[i];
    return -1;
}

/* Makes the list of threads behind a token's last byte. Returns where the grammar begins if the text ends there, or -1.
   The byte is read twice, because at the text's end threads go on that wait for it, each before those behind it. */
static int32_t sampi_grammar_end_token(sampi_lazy *z, const sampi_threads *from, sampi_threads *to, uint8_t byte,
                                       int32_t at)
{
    int32_t *match = sampi_grammar_thread_matches(z), *copy = match + 2 * z->programs.n;
    const size_t size = (size_t)z->programs.n * sizeof *match;
    if (size) memcpy(copy, match, size);
    sampi_grammar_step_threads(z, from, NULL, byte, at, true);
    const int32_t start = sampi_grammar_first_match(z);
    if (size) memcpy(match, copy, size);
    sampi_grammar_step_threads(z, from, to, byte, at, false);
    return start;
}

/* Returns the threads behind the text so far. Before its first byte they are made again, because a program that matches
   the empty text has matched then. */
static sampi_threads sampi_grammar_live_threads(sampi_lazy *z)
{
    sampi_threads live = { sampi_grammar_thread_list(z, 0), z->n_live };
    sampi_grammar_clear_matches(z);
    if (z->length) return live;
    live.n = 0;
    sampi_grammar_begin_round(z);
    sampi_grammar_add_starts(z, &live, 0, false);
    z->n_live = live.n;
    return live;
}

/* Returns the threads behind n more bytes. They stay valid until the next call. */
static sampi_threads sampi_grammar_run_threads(sampi_lazy *z, const uint8_t *bytes, size_t n)
{
    sampi_threads from = sampi_grammar_live_threads(z);
    for (size_t i = 0; i < n; i++) {
        sampi_threads to = { sampi_grammar_thread_list(z, 1 + (int)(i % 2)), 0 };
        sampi_grammar_step_threads(z, &from, &to, bytes[i], z->length + (int32_t)i + 1, false);
        from = to;
    }
    return from;
}

/* Reads a token of n bytes. Returns where in the text the grammar then begins, or -1. *threads: the threads behind the
   token. */
static int32_t sampi_grammar_read_token(sampi_lazy *z, const uint8_t *bytes, size_t n, sampi_threads *threads)
{
    const sampi_threads from = sampi_grammar_run_threads(z, bytes, n ? n - 1 : 0);
    threads->at = sampi_grammar_thread_list(z, n % 2 ? 1 : 2);
    threads->n = 0;
    if (n) return sampi_grammar_end_token(z, &from, threads, bytes[n - 1], z->length + (int32_t)n);
    *threads = from;
    if (z->length) return -1;
    sampi_grammar_clear_matches(z);
    sampi_grammar_begin_round(z);
    sampi_grammar_add_starts(z, NULL, 0, true);
    return sampi_grammar_first_match(z);
}

/* Makes the threads behind n bytes the present ones: the bytes belong to the text now. */
static void sampi_grammar_keep_threads(sampi_lazy *z, const sampi_threads *threads, size_t n)
{
    if (n && threads->n)
        memcpy(sampi_grammar_thread_list(z, 0), threads->at,
               (size_t)threads->n * (size_t)sampi_grammar_thread_size(z) * sizeof *threads->at);
    z->n_live = threads->n;
    z->length += (int32_t)n;
}

/* Goes to the beginning of a text. */
static void sampi_grammar_lazy_reset(sampi_lazy *z)
{
    z->waiting = z->is_lazy;
    z->length = 0;
}

/* Is a token one of the triggers itself? */
static bool sampi_grammar_is_trigger(const sampi_lazy *z, samp_token token)
{
    for (int32_t i = 0; i < z->tokens.n; i++)
        if (((const samp_token *)z->tokens.data)[i] == token) return true;
    return false;
}

/* Frees the arrays. A clone of a sampler has its own. */
static void sampi_grammar_lazy_free(sampi_lazy *z)
{
    sampi_vec *vec[] = { &z->ops, &z->pool, &z->programs, &z->tokens, &z->threads, &z->refused, &z->key };
    for (size_t i = 0; i < sizeof vec / sizeof *vec; i++) sampi_grammar_vec_free(vec[i]);
}

/* Makes the triggers from n_texts words or patterns and n tokens. On an error, *field is the name of the parameter that
   is wrong. */
static int sampi_grammar_lazy_init(sampi_lazy *z, const char *const *texts, size_t n_texts, bool patterns,
                           const samp_token *tokens, size_t n, int32_t n_vocab, const char **field)
{
    sampi_tree tree;
    int status = sampi_tree_init(&tree);
    *field = patterns ? "trigger_patterns" : "trigger_words";
    if (!status) status = sampi_grammar_lazy_read(z, &tree, texts, n_texts, patterns);
    z->pool = tree.pool;
    memset(&tree.pool, 0, sizeof tree.pool);
    sampi_tree_free(&tree);
    if (status) return status;
    for (int32_t i = 0; i < z->ops.n; i++) {
        const sampi_op *op = (const sampi_op *)z->ops.data + i;
        if (op->kind == SAMPI_OP_SAVE && op->a / 2 >= z->n_groups) z->n_groups = op->a / 2 + 1;
    }
    const int64_t list = (int64_t)z->ops.n * sampi_grammar_thread_size(z);
    if (list > SAMPI_THREAD_ROOM) return SAMP_E_RANGE;
    const int32_t n_threads = 3 * (int32_t)list + 3 * z->ops.n + 3 * z->programs.n + 1; /* never none */
    int32_t *threads = (int32_t *)sampi_grammar_vec_add(&z->threads, sizeof *threads, n_threads);
    if (!threads) return SAMP_E_NOMEM;
    memset(threads, 0, (size_t)n_threads * sizeof *threads);
    *field = "trigger_tokens";
    for (size_t i = 0; i < n; i++) {
        if (!tokens) return SAMP_E_NULL;
        if (tokens[i] < 0 || tokens[i] >= n_vocab) return SAMP_E_RANGE;
        samp_token *token = (samp_token *)sampi_grammar_vec_add(&z->tokens, sizeof *token, 1);
        if (!token) return SAMP_E_NOMEM;
        *token = tokens[i];
    }
    z->is_lazy = true;
    return SAMP_OK;
}
