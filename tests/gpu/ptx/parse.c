/* parse.c - turns PTX text into functions, assigns their registers to as few as are live at once, and links modules to
   a program. */
#include "ptx.h"
#include "ops.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const op_names[N_OPS] = { "ret",
                                             "exit",
                                             "trap",
                                             "bra",
                                             "call",
                                             "ld",
                                             "st",
                                             "mov",
                                             "cvta.local",
                                             "cvta.shared",
                                             "mov",
                                             "mov",
                                             "membar",
                                             "bar.sync",
                                             "bar.arrive",
                                             "bar.warp.sync",
                                             "shfl.sync.idx.b32",
                                             "shfl.sync.bfly.b32",
                                             "vote.sync.ballot.b32",
                                             "atom.add",
                                             "atom.exch",
                                             "atom.cas",
                                             "atom.and",
                                             "atom.or",
                                             "atom.xor",
#define X(id, name, n, expr) name,
                                             OPS(X)
#undef X
};
static const u8 op_sources[N_OPS] = {
#define X(id, name, n, expr) [OP_##id] = n,
    OPS(X)
#undef X
};
const char *ptx_op_name(int op) { return op_names[op]; }

/* ------------------------------------------------------------------------------------------------------- names */

static u32 hash_of(text t)
{
    u32 h = 2166136261u;
    for (u32 i = 0; i < t.n; i++) h = (h ^ (u8)t.at[i]) * 16777619u;
    return h;
}

static bool same(text a, text b) { return a.n == b.n && !memcmp(a.at, b.at, a.n); }
static text text_of(const char *s) { return (text){ s, (u32)strlen(s) }; }
static bool is(text t, const char *s) { return same(t, text_of(s)); }
static bool starts(text t, const char *s) { return t.n >= strlen(s) && !memcmp(t.at, s, strlen(s)); }

static u32 place_of(const map *m, text name)
{
    u32 i = hash_of(name) & (m->size - 1);
    while (m->entry[i].name.at && !same(m->entry[i].name, name)) i = (i + 1) & (m->size - 1);
    return i;
}

int *map_at(map *m, text name, int otherwise)
{
    if (m->used * 2 >= m->size) {
        map grown = { NULL, m->size ? m->size * 2 : 64, m->used };
        grown.entry = calloc(grown.size, sizeof *grown.entry);
        for (u32 i = 0; i < m->size; i++)
            if (m->entry[i].name.at) grown.entry[place_of(&grown, m->entry[i].name)] = m->entry[i];
        free(m->entry);
        *m = grown;
    }
    struct map_entry *e = &m->entry[place_of(m, name)];
    if (!e->name.at) e->name = name, e->value = otherwise, m->used++;
    return &e->value;
}

int map_find(const map *m, text name)
{
    const struct map_entry *e = m->size ? &m->entry[place_of(m, name)] : NULL;
    return e && e->name.at ? e->value : -1;
}

/* Returns room for one more element at the end of an array of n elements, whose memory doubles when it is full. */
static void *one_more(void *array, int n, size_t size)
{
    if (n & (n - 1)) return array;
    return realloc(array, (n ? (size_t)n * 2 : 1) * size);
}
#define APPEND(array, n) \
    ((array) = one_more((array), (n), sizeof *(array)), memset(&(array)[n], 0, sizeof *(array)), &(array)[(n)++])

/* ------------------------------------------------------------------------------------------------------- tokens */

typedef struct parser {
    program *p;
    module *m;
    function *f;
    const char *at, *end;
    u32 line;
    u16 file, source_line;
    text token; /* the next token; empty at the end */
    bool failed;
} parser;

static void fail(parser *s, const char *format, ...)
{
    va_list list;
    if (s->failed) return;
    s->failed = true;
    fprintf(stderr, "ptx: module %d, line %u: ", s->p->n_modules, s->line);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    const char *from = s->token.at, *to = s->token.at;
    while (from > s->m->source && from[-1] != '\n') from--;
    while (to < s->end && *to != '\n') to++;
    fprintf(stderr, ": %.*s\n", (int)(to - from), from);
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           c == '%' || c == '.';
}

static void skip_line(parser *s)
{
    while (s->at < s->end && *s->at != '\n') s->at++;
}

static void next(parser *s)
{
    for (; s->at < s->end; s->at++) {
        if (*s->at == '\n') s->line++;
        if (s->at[0] == '/' && s->at + 1 < s->end && s->at[1] == '/')
            skip_line(s), s->at--;
        else if (*s->at != ' ' && *s->at != '\t' && *s->at != '\n' && *s->at != '\r')
            break;
    }
    s->token = (text){ s->at, 0 };
    if (s->at >= s->end) return;
    if (is_word(*s->at))
        while (s->at < s->end && is_word(*s->at)) s->at++;
    else
        s->at++;
    s->token.n = (u32)(s->at - s->token.at);
}

static bool accept(parser *s, const char *t)
{
    bool found = is(s->token, t);
    if (found) next(s);
    return found;
}

static void expect(parser *s, const char *t)
{
    if (!accept(s, t)) fail(s, "expected '%s'", t);
}

static text word(parser *s)
{
    text t = s->token;
    if (!t.n || !is_word(*t.at)) fail(s, "expected a word");
    next(s);
    return t;
}

static bool is_number(text t) { return t.n && t.at[0] >= '0' && t.at[0] <= '9'; }

/* Reads a number: decimal or 0x..; of 0f.. and 0d.. the bits. */
static u64 number(parser *s)
{
    bool minus = accept(s, "-");
    text t = word(s);
    if (!is_number(t)) fail(s, "expected a number");
    bool bits = t.n > 2 && t.at[0] == '0' && strchr("fFdDxX", t.at[1]);
    char digits[40];
    snprintf(digits, sizeof digits, "%.*s", (int)(t.n - (bits ? 2 : 0)), t.at + (bits ? 2 : 0));
    u64 value = strtoull(digits, NULL, bits ? 16 : 10);
    return minus ? -value : value;
}

/* Reads [+ number] .., which may follow a name in an address. */
static u64 offset(parser *s)
{
    u64 sum = 0;
    while (is(s->token, "+") || is(s->token, "-")) {
        accept(s, "+");
        sum += number(s);
    }
    return sum;
}

/* ------------------------------------------------------------------------------------------------------ operands */

static int constant_of(function *f, u64 value, text symbol)
{
    for (int i = f->n_constants - 1; i >= 0 && !symbol.n; i--)
        if (!f->constant[i].symbol.n && f->constant[i].value == value) return ~i;
    constant *c = APPEND(f->constant, f->n_constants);
    c->value = value, c->symbol = symbol;
    return ~(f->n_constants - 1);
}

static int register_of(function *f, text name)
{
    int *slot = map_at(&f->regs, name, f->n_regs);
    if (*slot == f->n_regs) f->n_regs++;
    return *slot;
}

static int special_of(text t)
{
    static const char *const names[N_SPECIALS] = { "%tid.x",  "%tid.y",   "%tid.z",    "%ntid.x", "%ntid.y",
                                                   "%ntid.z", "%ctaid.x", "%nctaid.x", "%laneid" };
    for (int i = 0; i < N_SPECIALS; i++)
        if (is(t, names[i])) return i;
    return -1;
}

static int operand(parser *s)
{
    if (is(s->token, "-") || is_number(s->token)) return constant_of(s->f, number(s), (text){ "", 0 });
    text t = word(s);
    if (is(t, "_")) return NONE;
    int local = map_find(&s->f->locals, t);
    if (local >= 0) return constant_of(s->f, (u64)local + offset(s), (text){ "", 0 });
    if (t.n && t.at[0] == '%') return register_of(s->f, t);
    return constant_of(s->f, offset(s), t);
}

/* Reads {a,b}, or a register of two. */
static void pair(parser *s, int out[2])
{
    if (accept(s, "{")) {
        out[0] = operand(s);
        expect(s, ",");
        out[1] = operand(s);
        expect(s, "}");
        return;
    }
    text t = word(s);
    for (int i = 0; i < 2; i++) {
        char *part = malloc(t.n + 3);
        snprintf(part, t.n + 3, "%.*s.%c", (int)t.n, t.at, "xy"[i]);
        out[i] = register_of(s->f, text_of(part));
    }
}

static void address(parser *s, instruction *in)
{
    expect(s, "[");
    in->src[0] = operand(s);
    in->offset = (s64)offset(s);
    expect(s, "]");
}

/* ---------------------------------------------------------------------------------------------------- instructions */

/* Returns part i of a name such as "ld.shared.v2.u64". */
static text part_of(text name, int i)
{
    const char *at = name.at, *end = name.at + name.n;
    for (; i > 0 && at < end; at++) i -= *at == '.';
    const char *to = at;
    while (to < end && *to != '.') to++;
    return (text){ at, (u32)(to - at) };
}

static bool has_part(text name, const char *part)
{
    for (int i = 1; part_of(name, i).n; i++)
        if (is(part_of(name, i), part)) return true;
    return false;
}

static int part_count(text name)
{
    int n = 1;
    for (u32 i = 0; i < name.n; i++) n += name.at[i] == '.';
    return n;
}

static u8 bytes_of(text type)
{
    const char *bits = type.at + 1;
    if (type.n < 2 || !strchr("usbf", type.at[0])) return 0;
    return (u8)(bits[0] == '8' ? 1 : bits[0] == '1' ? 2 : bits[0] == '3' ? 4 : bits[0] == '6' ? 8 : 0);
}

/* Sets latency and cost on the machine, for the model of time: rough figures for Hopper, and for the sequences that
   ptxas makes of instructions that the machine does not have. */
static void cost(instruction *in, text name)
{
    text type = part_of(name, part_count(name) - 1);
    bool wide = type.n == 3 && type.at[1] == '6' && type.at[2] == '4', real = type.n && type.at[0] == 'f';
    in->issue = 1, in->latency = 5;
    if (wide && !real) in->issue = 2, in->latency = 6;
    if (wide && real) in->issue = 2, in->latency = 8;
    if (starts(name, "mul") || starts(name, "mad")) in->issue = wide && !real ? 4 : 1, in->latency += wide ? 4 : 0;
    if (starts(name, "mul.hi.u64")) in->issue = 8, in->latency = 20;
    if (starts(name, "div") || starts(name, "rem") || starts(name, "sqrt") || starts(name, "rcp"))
        in->issue = wide ? 60 : 20, in->latency = wide ? 150 : 50;
    if (starts(name, "cvt") && (real || has_part(name, "f32") || has_part(name, "f64"))) in->latency = 12;
    if (starts(name, "mov") || starts(name, "cvta") || starts(name, "cvt.u64.u32") || starts(name, "cvt.u32.u64") ||
        starts(name, "cvt.u16.u32") || starts(name, "cvt.u32.u16"))
        in->issue = 0, in->latency = 0;
}

static int find_op(text name)
{
    char general[64];
    text last = part_of(name, part_count(name) - 1);
    for (int form = 0; form < 4; form++) {
        snprintf(general, sizeof general, "%.*s", (int)name.n, name.at);
        size_t head = name.n - last.n;
        if (form == 1 && strchr("usb", last.at[0])) snprintf(general + head, sizeof general - head, "i");
        if (form == 2) snprintf(general + head, sizeof general - head, "*");
        text to = part_of(name, 1);
        if (form == 3 && starts(name, "cvt.") && strchr("usb", to.at[0]))
            snprintf(general, sizeof general, "cvt.i.%.*s", (int)last.n, last.at);
        for (int i = OP_mov; i < N_OPS; i++)
            if (!strcmp(op_names[i], general)) return i;
    }
    return -1;
}

static instruction *add(parser *s, int op)
{
    instruction *in = APPEND(s->f->code, s->f->n_code);
    in->op = (u16)op;
    in->guard = in->dst[0] = in->dst[1] = NONE;
    for (int i = 0; i < 4; i++) in->src[i] = NONE;
    in->line = s->line, in->file = s->file, in->source_line = s->source_line;
    return in;
}

static int label_of(function *f, text name)
{
    int *n = map_at(&f->labels, name, f->n_labels);
    if (*n == f->n_labels) *APPEND(f->label, f->n_labels) = -1;
    return *n;
}

static void parse_call(parser *s, instruction *in)
{
    call *c = APPEND(s->f->calls, s->f->n_calls);
    in->target = s->f->n_calls - 1;
    in->issue = 8, in->latency = 20;
    if (accept(s, "(")) {
        in->dst[0] = operand(s), in->n_dst = 1;
        expect(s, ")");
        expect(s, ",");
    }
    c->callee = operand(s);
    while (accept(s, ",")) {
        if (!accept(s, "("))
            word(s); /* the prototype's label */
        else if (!accept(s, ")")) {
            do {
                if (c->n == MAX_ARGS)
                    fail(s, "too many arguments");
                else
                    c->arg[c->n++] = operand(s);
            } while (accept(s, ","));
            expect(s, ")");
        }
    }
}

static void parse_memory(parser *s, instruction *in, text name)
{
    bool load = starts(name, "ld");
    text type = part_of(name, part_count(name) - 1);
    int reg[2] = { NONE, NONE };
    bool two = has_part(name, "v2");
    in->op = load ? OP_ld : OP_st;
    in->space = has_part(name, "shared") ? SHARED : has_part(name, "local") ? LOCAL : GENERIC;
    in->bytes = bytes_of(type), in->sign = type.at[0] == 's';
    in->issue = 1, in->latency = 35;
    if (!in->bytes || has_part(name, "v4")) fail(s, "unknown type");
    if (!load) address(s, in), expect(s, ",");
    if (two)
        pair(s, reg);
    else
        reg[0] = operand(s);
    if (load) expect(s, ","), address(s, in);
    if (load)
        in->dst[0] = reg[0], in->dst[1] = reg[1], in->n_dst = two ? 2 : 1, in->n_src = 1;
    else
        in->src[1] = reg[0], in->src[2] = reg[1], in->n_src = two ? 3 : 2;
    if (!has_part(name, "param")) return;
    /* a parameter is a register here */
    in->op = OP_mov, in->issue = 0, in->latency = 0, in->n_src = in->n_dst = 1;
    if (!load) in->dst[0] = in->src[0], in->src[0] = in->src[1], in->src[1] = NONE;
    if (in->offset || two) fail(s, "a parameter with parts");
}

static void parse_atom(parser *s, instruction *in, text name)
{
    static const char *const kinds[] = { "add", "exch", "cas", "and", "or", "xor" };
    text type = part_of(name, part_count(name) - 1);
    in->op = 0;
    for (int i = 0; i < 6; i++)
        if (has_part(name, kinds[i])) in->op = (u16)(OP_atom_add + i);
    in->bytes = bytes_of(type);
    if (!in->op || in->bytes < 4 || type.at[0] == 'f' || type.at[0] == 's') fail(s, "unknown atomic");
    in->space = has_part(name, "shared") ? SHARED : GENERIC;
    in->issue = 1, in->latency = 300;
    in->dst[0] = operand(s), in->n_dst = 1;
    expect(s, ",");
    address(s, in);
    for (in->n_src = 1; accept(s, ",") && in->n_src < 4;) in->src[in->n_src++] = operand(s);
    if (in->n_src != (in->op == OP_atom_cas ? 3 : 2)) fail(s, "wrong number of operands");
}

/* A load of a counter, which acquires or not: an atomic that changes nothing. */
static void parse_acquire(parser *s, instruction *in, text name)
{
    in->op = OP_atom_or, in->acquires = has_part(name, "acquire");
    in->bytes = bytes_of(part_of(name, part_count(name) - 1));
    in->space = GENERIC;
    in->issue = 1, in->latency = 300;
    if (in->bytes < 4 || !has_part(name, "gpu")) fail(s, "unknown load");
    in->dst[0] = operand(s), in->n_dst = 1;
    expect(s, ",");
    address(s, in);
    in->n_src = 1;
}

static void parse_mov(parser *s, instruction *in, text name)
{
    int to[2], from[2];
    bool two = has_part(name, "v2");
    in->op = OP_mov, in->issue = in->latency = 0, in->n_src = in->n_dst = 1;
    if (two || is(s->token, "{")) { /* mov.v2 d,{a,b}; mov.b64 {a,b},c */
        pair(s, to);
        expect(s, ",");
        in->dst[0] = to[0];
        if (two) {
            pair(s, from);
            in->src[0] = from[0];
            in = add(s, OP_mov);
            in->n_src = in->n_dst = 1, in->dst[0] = to[1], in->src[0] = from[1];
            return;
        }
        in->op = OP_unpack, in->dst[1] = to[1], in->n_dst = 2, in->src[0] = operand(s);
        return;
    }
    in->dst[0] = operand(s);
    expect(s, ",");
    if (is(s->token, "{")) {
        pair(s, from);
        in->op = OP_pack, in->src[0] = from[0], in->src[1] = from[1], in->n_src = 2;
    } else if (special_of(s->token) >= 0) {
        in->op = OP_special, in->offset = special_of(word(s)), in->n_src = 0;
    } else
        in->src[0] = operand(s);
}

static void parse_barrier(parser *s, instruction *in, text name)
{
    in->op = (u16)(starts(name, "bar.warp.sync") ? OP_warp_sync : is(name, "bar.sync") ? OP_bar_sync : OP_bar_arrive);
    if (in->op == OP_bar_arrive && !is(name, "bar.arrive")) fail(s, "unknown instruction");
    in->issue = 1, in->latency = in->op == OP_warp_sync ? 2 : 20;
    in->src[0] = operand(s), in->n_src = 1;
    if (accept(s, ",")) in->src[1] = operand(s), in->n_src = 2;
}

static void parse_plain(parser *s, instruction *in, text name)
{
    bool shuffle = starts(name, "shfl.sync.idx.b32") || starts(name, "shfl.sync.bfly.b32");
    int op = find_op(name);
    if (starts(name, "cvta."))
        op = has_part(name, "local") ? OP_local : has_part(name, "shared") ? OP_shared : OP_mov, in->n_src = 1;
    else if (shuffle)
        op = starts(name, "shfl.sync.idx") ? OP_shfl_idx : OP_shfl_bfly, in->n_src = 4, in->latency = 25,
        in->issue = 2;
    else if (starts(name, "vote.sync.ballot.b32"))
        op = OP_vote, in->n_src = 2, in->latency = 25, in->issue = 2;
    else if (op >= 0)
        in->n_src = op_sources[op];
    if (op < 0 || part_of(name, 0).n == name.n) {
        fail(s, "unknown instruction %.*s", (int)name.n, name.at);
        return;
    }
    in->op = (u16)op;
    in->dst[0] = operand(s), in->n_dst = 1;
    for (int i = 0; i < in->n_src; i++) expect(s, ","), in->src[i] = operand(s);
}

static void parse_instruction(parser *s)
{
    int guard = NONE;
    bool negated = false;
    if (accept(s, "@")) {
        negated = accept(s, "!");
        guard = operand(s);
    }
    text name = word(s);
    instruction *in = add(s, 0);
    int at = s->f->n_code - 1;
    in->guard = guard, in->negated = negated;
    cost(in, name);
    if (is(name, "ret") || is(name, "ret.uni"))
        in->op = OP_ret, in->latency = 20;
    else if (is(name, "exit"))
        in->op = OP_exit;
    else if (is(name, "trap"))
        in->op = OP_trap;
    else if (is(name, "bra") || is(name, "bra.uni"))
        in->op = OP_bra, in->target = label_of(s->f, word(s));
    else if (is(name, "call") || is(name, "call.uni"))
        in->op = OP_call, parse_call(s, in);
    else if (starts(name, "ld.acquire.") || starts(name, "ld.relaxed."))
        parse_acquire(s, in, name);
    else if (starts(name, "ld.") || starts(name, "st."))
        parse_memory(s, in, name);
    else if (starts(name, "atom.") || starts(name, "red."))
        parse_atom(s, in, name);
    else if (starts(name, "mov."))
        parse_mov(s, in, name);
    else if (starts(name, "bar."))
        parse_barrier(s, in, name);
    else if (starts(name, "membar.") || starts(name, "fence."))
        in->op = OP_fence, in->latency = 500, in->bytes = has_part(name, "gpu") || has_part(name, "gl");
    else
        parse_plain(s, in, name);
    if (guard != NONE && s->f->n_code - 1 != at) fail(s, "a guarded pair");
    expect(s, ";");
}

/* ------------------------------------------------------------------------------------------------------- registers */

/* Returns the registers that an instruction reads. A guarded write leaves the old value in some lanes, so its register
   is read too. */
static int reads_of(const function *f, const instruction *in, int out[MAX_ARGS + 8])
{
    int n = 0;
    if (in->guard >= 0) out[n++] = in->guard;
    for (int i = 0; i < 4; i++)
        if (in->src[i] >= 0) out[n++] = in->src[i];
    for (int i = 0; i < 2; i++)
        if (in->guard >= 0 && in->dst[i] >= 0) out[n++] = in->dst[i];
    if (in->op == OP_ret && f->result >= 0) out[n++] = f->result;
    if (in->op != OP_call) return n;
    const call *c = &f->calls[in->target];
    if (c->callee >= 0) out[n++] = c->callee;
    for (int i = 0; i < c->n; i++)
        if (c->arg[i] >= 0) out[n++] = c->arg[i];
    return n;
}

/* Refuses a product without .rn that only a sum uses, because the assembler may make one fma of them, with other bits.
   It is noticed if no jump comes in between. (ptxas does not fuse a product that has other uses.) */
static void refuse_fusion(parser *s)
{
    function *f = s->f;
    u8 *product = calloc((size_t)f->n_regs + 1, 1), *uses = calloc((size_t)f->n_regs + 1, 1);
    bool *joins = calloc((size_t)f->n_code + 1, 1);
    int reads[MAX_ARGS + 8];
    for (int i = 0; i < f->n_labels; i++) joins[f->label[i]] = true;
    for (int i = 0; i < f->n_code; i++)
        for (int k = reads_of(f, &f->code[i], reads); k > 0; k--) uses[reads[k - 1]] += uses[reads[k - 1]] < 2;
    for (int i = 0; i < f->n_code; i++) {
        const instruction *in = &f->code[i];
        bool sum = in->op == OP_add_f32 || in->op == OP_add_f64 || in->op == OP_sub_f32 || in->op == OP_sub_f64;
        int a = in->src[0], b = in->src[1], d = in->dst[0];
        if (joins[i]) memset(product, 0, (size_t)f->n_regs);
        if (sum && ((a >= 0 && product[a] && uses[a] == 1) || (b >= 0 && product[b] && uses[b] == 1)))
            fail(s, "%.*s, line %u: a sum that the assembler may fuse with a product", (int)f->name.n, f->name.at,
                 in->line);
        if (d >= 0)
            product[d] = in->op == OP_mul_f32 || in->op == OP_mul_f64 || (in->op == OP_mov && a >= 0 && product[a]);
    }
    free(product), free(uses), free(joins);
}

typedef struct range {
    int from, to, reg;
} range;

static int by_start(const void *a, const void *b)
{
    const range *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : x->reg - y->reg;
}

/* Finds the registers that are live at the start of each basic block, then the range of each in the text. */
static range *live_ranges(const function *f)
{
    int words = (f->n_regs + 63) / 64, reads[MAX_ARGS + 8];
    u64 *live = calloc((size_t)(f->n_code + 1) * (size_t)words, 8), *now = malloc((size_t)words * 8);
    bool *leader = calloc((size_t)f->n_code + 1, 1);
    range *r = malloc(sizeof *r * (size_t)(f->n_regs + 1));
    for (int i = 0; i < f->n_regs; i++) r[i] = (range){ f->n_code, -1, i };
    for (int i = 0; i < f->n_labels; i++) leader[f->label[i]] = true;
    for (bool changed = true, last = false; changed || !last;) {
        last = !changed;
        changed = false;
        memset(now, 0, (size_t)words * 8);
        for (int i = f->n_code - 1; i >= 0; i--) {
            const instruction *in = &f->code[i];
            if (in->op == OP_ret || in->op == OP_exit || in->op == OP_trap || in->op == OP_bra) {
                if (in->guard < 0) memset(now, 0, (size_t)words * 8);
                u64 *there = in->op == OP_bra ? &live[(size_t)in->target * (size_t)words] : NULL;
                for (int w = 0; there && w < words; w++) now[w] |= there[w];
            }
            int n = reads_of(f, in, reads);
            for (int k = 0; k < 2; k++)
                if (in->dst[k] >= 0) {
                    now[in->dst[k] / 64] &= ~((u64)1 << in->dst[k] % 64);
                    if (last && r[in->dst[k]].from > i) r[in->dst[k]].from = i;
                    if (last && r[in->dst[k]].to < i) r[in->dst[k]].to = i;
                }
            for (int k = 0; k < n; k++) now[reads[k] / 64] |= (u64)1 << reads[k] % 64;
            for (int w = 0; last && w < words; w++)
                for (u64 bits = now[w]; bits; bits &= bits - 1) {
                    range *x = &r[w * 64 + __builtin_ctzll(bits)];
                    if (x->from > i) x->from = i;
                    if (x->to < i) x->to = i;
                }
            if (leader[i] && memcmp(&live[(size_t)i * (size_t)words], now, (size_t)words * 8)) {
                memcpy(&live[(size_t)i * (size_t)words], now, (size_t)words * 8);
                changed = true;
            }
        }
    }
    free(live), free(now), free(leader);
    return r;
}

/* Assigns ranges to registers, first fit; parameters exist from the start. */
static void allocate(function *f)
{
    if (!f->n_code) return;
    range *r = live_ranges(f);
    int *slot = malloc(sizeof(int) * (size_t)(f->n_regs + 1)), *busy = NULL, n_slots = 0;
    for (int i = 0; i < f->n_params; i++) r[f->param[i]].from = -1;
    for (int i = 0; i < f->n_regs; i++)
        if (r[i].to < r[i].from) r[i].to = r[i].from;
    int n_regs = f->n_regs;
    qsort(r, (size_t)n_regs, sizeof *r, by_start);
    busy = malloc(sizeof(int) * (size_t)(n_regs + 1));
    for (int i = 0; i < n_regs; i++) {
        int k = 0;
        while (k < n_slots && busy[k] >= r[i].from) k++;
        if (k == n_slots) n_slots++;
        busy[k] = r[i].to;
        slot[r[i].reg] = k;
    }
#define MOVE(x) ((x) >= 0 ? (void)((x) = slot[x]) : (void)0)
    for (int i = 0; i < f->n_code; i++) {
        instruction *in = &f->code[i];
        MOVE(in->guard), MOVE(in->dst[0]), MOVE(in->dst[1]);
        for (int k = 0; k < 4; k++) MOVE(in->src[k]);
    }
    for (int i = 0; i < f->n_calls; i++) {
        MOVE(f->calls[i].callee);
        for (int k = 0; k < f->calls[i].n; k++) MOVE(f->calls[i].arg[k]);
    }
    for (int i = 0; i < f->n_params; i++) MOVE(f->param[i]);
    MOVE(f->result);
    f->n_regs = n_slots;
    free(r), free(slot), free(busy);
}

/* --------------------------------------------------------------------------------------------------------- modules */

static u64 align_up(u64 x, u64 to) { return (x + to - 1) / to * to; }

static void parse_variable(parser *s, text space, bool visible, bool external);

static void declaration(parser *s) /* .reg, .param, .local, .shared .. in a function, up to ; */
{
    bool local = is(s->token, ".local");
    u32 align = 8;
    if (is(s->token, ".shared")) {
        text space = s->token;
        next(s), parse_variable(s, space, false, false);
        return;
    }
    if (local) {
        next(s);
        if (accept(s, ".align")) align = (u32)number(s);
        u32 size = bytes_of((text){ s->token.at + 1, s->token.n - 1 });
        next(s);
        text name = word(s);
        if (accept(s, "[")) size *= (u32)number(s), expect(s, "]");
        s->f->local_bytes = (u32)align_up(s->f->local_bytes, align);
        *map_at(&s->f->locals, name, 0) = (int)s->f->local_bytes;
        s->f->local_bytes += size;
    }
    while (s->token.n && !is(s->token, ";")) next(s);
    expect(s, ";");
}

static void body(parser *s)
{
    function *f = s->f;
    int depth = 1;
    for (next(s); depth && s->token.n && !s->failed;) {
        if (accept(s, "{"))
            depth++;
        else if (is(s->token, "}")) {
            if (--depth) next(s);
        } else if (is(s->token, ".loc")) {
            next(s);
            s->file = (u16)number(s);
            s->source_line = (u16)number(s);
            skip_line(s), next(s);
        } else if (s->token.at[0] == '.')
            declaration(s);
        else if (s->token.at[0] == '$') {
            int n = label_of(f, s->token);
            f->label[n] = f->n_code;
            next(s);
            expect(s, ":");
        } else
            parse_instruction(s);
    }
    next(s);
    add(s, OP_ret);
    for (int i = 0; i < f->n_code; i++) {
        instruction *in = &f->code[i];
        if (in->op != OP_bra) continue;
        in->target = f->label[in->target];
        if (in->target < 0) fail(s, "a label is missing");
    }
    if (!s->failed) refuse_fusion(s);
    if (!s->failed) allocate(f);
}

static int parameters(parser *s, int out[MAX_ARGS], function *f)
{
    int n = 0;
    while (s->token.n && !accept(s, ")")) {
        text t = word(s);
        if (is(t, ".align")) number(s);
        if (t.at[0] == '.' || s->failed) continue;
        if (n == MAX_ARGS)
            fail(s, "too many parameters");
        else
            out[n++] = register_of(f, t);
        accept(s, ",");
    }
    return n;
}

static void parse_function(parser *s, bool entry, bool visible)
{
    function *f = calloc(1, sizeof *f);
    f->result = NONE;
    f->module = s->m, f->entry = entry, f->visible = visible;
    s->f = f;
    if (accept(s, "(")) {
        int result[MAX_ARGS] = { NONE };
        parameters(s, result, f);
        f->result = result[0];
    }
    f->name = word(s);
    if (accept(s, "(")) f->n_params = parameters(s, f->param, f);
    while (s->token.n && !is(s->token, ";") && !is(s->token, "{")) next(s);
    if (accept(s, ";")) {
        free(f->regs.entry), free(f);
        return;
    }
    f->defined = true;
    f->number = s->p->n_functions;
    *APPEND(s->p->function, s->p->n_functions) = f;
    *map_at(&s->m->functions, f->name, 0) = f->number;
    if (visible) *map_at(&s->p->functions, f->name, 0) = f->number;
    body(s);
}

static void fill(parser *s, variable *v, u8 width)
{
    u8 *to = (u8 *)(uintptr_t)v->address;
    expect(s, "{");
    for (u64 i = 0; !accept(s, "}") && !s->failed; i++) {
        u64 value = 0;
        if (is_number(s->token) || is(s->token, "-"))
            value = number(s);
        else {
            text name = word(s);
            if (is(name, "generic")) expect(s, "("), name = word(s), expect(s, ")");
            /* resolved at the link: until then it holds the place of the name */
            function *f = s->f; /* a function's constants are the list of such places */
            constant_of(f, (u64)(uintptr_t)(to + i * width), name);
            value = offset(s);
        }
        if ((i + 1) * width > v->size)
            fail(s, "too many values");
        else
            memcpy(to + i * width, &value, width);
        accept(s, ",");
    }
}

static void parse_variable(parser *s, text space, bool visible, bool external)
{
    variable *v = APPEND(s->p->variable, s->p->n_variables);
    u64 align = 8;
    if (accept(s, ".align")) align = number(s);
    u8 width = bytes_of((text){ s->token.at + 1, s->token.n - 1 });
    next(s);
    v->name = word(s), v->module = s->m, v->visible = visible, v->external = external;
    v->shared = is(space, ".shared"), v->size = width;
    if (accept(s, "[")) v->size = width * (is(s->token, "]") ? 0 : number(s)), expect(s, "]");
    if (!external) {
        if (v->shared) {
            s->p->shared_bytes = (u32)align_up(s->p->shared_bytes, align < 8 ? 8 : align);
            v->address = s->p->shared_bytes;
            s->p->shared_bytes += (u32)v->size;
        } else {
            char *name = calloc(v->name.n + 1, 1);
            memcpy(name, v->name.at, v->name.n);
            v->address = block_new(v->size, name, true)->lo;
        }
        *map_at(&s->m->variables, v->name, 0) = s->p->n_variables - 1;
        if (visible) *map_at(&s->p->variables, v->name, 0) = s->p->n_variables - 1;
    }
    if (accept(s, "=")) fill(s, v, width);
    expect(s, ";");
}

bool ptx_parse(program *p, const char *source, size_t size)
{
    parser s;
    memset(&s, 0, sizeof s);
    module *m = calloc(1, sizeof *m);
    m->source = calloc(size + 1, 1);
    memcpy(m->source, source, size);
    *APPEND(p->module, p->n_modules) = m;
    s.p = p, s.m = m, s.line = 1;
    s.at = m->source, s.end = m->source + strlen(m->source);
    if (!p->shared_bytes) p->shared_bytes = 16;   /* no variable has address 0 */
    function *places = calloc(1, sizeof *places); /* places of addresses in initial values */
    places->module = m, places->name = text_of("");
    *APPEND(p->function, p->n_functions) = places;
    for (next(&s); s.token.n && !s.failed;) {
        bool visible = false, external = false;
        while (is(s.token, ".visible") || is(s.token, ".weak") || is(s.token, ".extern") || is(s.token, ".common")) {
            external |= is(s.token, ".extern");
            visible |= !is(s.token, ".extern");
            next(&s);
        }
        text t = s.token;
        if (is(t, ".file")) {
            next(&s);
            u64 n = number(&s);
            const char *from = s.at;
            skip_line(&s);
            if (n < 64) m->file[n] = (text){ from, (u32)(s.at - from) };
            next(&s);
        } else if (is(t, ".version") || is(t, ".target") || is(t, ".address_size"))
            skip_line(&s), next(&s);
        else if (is(t, ".func") || is(t, ".entry"))
            next(&s), parse_function(&s, is(t, ".entry"), visible);
        else if (is(t, ".global") || is(t, ".const") || is(t, ".shared"))
            next(&s), s.f = places, parse_variable(&s, t, visible, external);
        else
            fail(&s, "unknown directive");
    }
    return !s.failed;
}

/* ---------------------------------------------------------------------------------------------------------- linking */

static int builtin_of(text name)
{
    return is(name, "malloc")    ? BUILTIN_MALLOC
           : is(name, "free")    ? BUILTIN_FREE
           : is(name, "vprintf") ? BUILTIN_VPRINTF
                                 : 0;
}

static bool symbol_value(program *p, const module *m, text name, u64 *value)
{
    int i = map_find(&m->functions, name);
    if (i < 0) i = map_find(&p->functions, name);
    if (i >= 0) return *value = (u64)(uintptr_t)p->function[i], true;
    i = map_find(&m->variables, name);
    if (i < 0) i = map_find(&p->variables, name);
    if (i >= 0) return *value = p->variable[i].address, true;
    if (!builtin_of(name)) return false;
    function *f = calloc(1, sizeof *f); /* functions that the device's driver provides */
    f->name = name, f->builtin = builtin_of(name), f->number = p->n_functions;
    *map_at(&p->functions, name, 0) = p->n_functions;
    *APPEND(p->function, p->n_functions) = f;
    *value = (u64)(uintptr_t)f;
    return true;
}

bool ptx_link(program *p)
{
    int missing = 0, n_functions = p->n_functions;
    for (int i = 0; i < n_functions; i++) {
        function *f = p->function[i];
        f->value = f->defined ? aligned_alloc(64, sizeof(lanes) * (size_t)(f->n_constants + 1)) : NULL;
        for (int k = 0; k < f->n_constants; k++) {
            constant *c = &f->constant[k];
            u64 value = 0;
            if (c->symbol.n && !symbol_value(p, f->module, c->symbol, &value)) {
                fprintf(stderr, "ptx: %.*s needs %.*s\n", (int)f->name.n, f->name.at, (int)c->symbol.n, c->symbol.at);
                missing++;
            }
            if (f->defined)
                for (int l = 0; l < LANES; l++) f->value[k][l] = c->value + value;
            else
                *(u64 *)(uintptr_t)c->value += value;
        }
        for (int k = 0; k < f->n_code; k++) f->code[k].seen = NULL;
        f->first = p->n_code;
        p->n_code += (u32)f->n_code;
    }
    return !missing;
}
