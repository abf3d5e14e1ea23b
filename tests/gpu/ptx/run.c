/* run.c - runs kernels: teams (thread blocks) of warps, and warps of lanes that run together while they are at the same
   instruction. */
#include "ptx.h"
#include "ops.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const grid *now;
static jmp_buf failed;
static bool lanes_stay_apart, find_races;
static u64 strict;
static u32 most_strands; /* 1: lanes run in lockstep */

/* ------------------------------------------------------------------------------------------------------- messages */

static void where(const warp *w, const instruction *in, int lane)
{
    const function *fn = w->frames[w->depth].fn;
    const text kernel = now->kernel->name;
    fprintf(stderr, "ptx: kernel %.*s, team %u, warp %u, lane %d: %.*s, line %u (%s), source line %u\n",
            (int)kernel.n, kernel.at, w->team->number, w->number, lane, (int)fn->name.n, fn->name.at, in->line,
            ptx_op_name(in->op), in->source_line);
    for (int d = w->depth - 1; d >= 0; d--) {
        const frame *f = &w->frames[d];
        fprintf(stderr, "ptx:   called from %.*s, line %u\n", (int)f->fn->name.n, f->fn->name.at,
                f->fn->code[f->pc - 1].line);
    }
}

static _Noreturn void wrong(const warp *w, const instruction *in, int lane, const char *format, ...)
{
    va_list list;
    fprintf(stderr, "ptx: ");
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fprintf(stderr, "\n");
    where(w, in, lane);
    longjmp(failed, 1);
}

/* --------------------------------------------------------------------------------------------------------- memory */

/* Reports a finding once for each line of the PTX. */
static void finding(const warp *w, const instruction *in, int lane, u64 address, const block *b, bool error,
                    const char *what)
{
    enum { MOST = 64 };
    static struct {
        const function *f;
        u32 line;
    } told[MOST];
    static int n_told;
    const function *f = w->frames[w->depth].fn;
    for (int i = 0; i < n_told; i++)
        if (told[i].f == f && told[i].line == in->line) return;
    if (n_told == MOST) return;
    told[n_told].f = f, told[n_told++].line = in->line;
    fprintf(stderr, "ptx: %s: %s + %llu\n", what, b->name, (unsigned long long)(address - b->lo));
    where(w, in, lane);
    if (error) longjmp(failed, 1);
}

/* The records of who stored a word last: the count of stores and fences at that time, whether the store was plain, and
   the team. */
static u64 events, *fence_of; /* [n_teams] each team's last fence */

static bool is_atomic(const instruction *in) { return in->op >= OP_atom_add && in->op <= OP_atom_xor; }

/* Checks that a word which another team has stored in this launch is used only after a fence of that team, and then one
   of this team. (Only the last fence of each team is recorded, so not every race is found.) */
static void check_race(const warp *w, const instruction *in, int lane, u64 address, block *b, bool writes)
{
    u64 *stored = &b->stored[(address - b->lo) / 4], when = *stored >> 17;
    u32 by = (u32)(*stored & 0xFFFF);
    bool plain = *stored >> 16 & 1;
    if (*stored && when > fence_of[now->n_teams] && by != w->team->number && (plain || !is_atomic(in)) &&
        (fence_of[by] < when || fence_of[w->team->number] < when))
        finding(w, in, lane, address, b, strict >= 1,
                "another team has stored there, and there is no fence in between");
    if (writes) *stored = events << 17 | (u64)!is_atomic(in) << 16 | w->team->number;
}

/* Returns the host's address of n bytes, after all checks. */
static u8 *memory(const warp *w, instruction *in, int lane, u64 address, u32 n, bool reads, bool writes)
{
    if (address % n) wrong(w, in, lane, "misaligned address 0x%llx of %u bytes", (unsigned long long)address, n);
    if (in->space == SHARED) {
        if (address + n > now->p->shared_bytes || address < 16)
            wrong(w, in, lane, "outside of shared memory: 0x%llx", (unsigned long long)address);
        return w->team->shared + address;
    }
    if (in->space == LOCAL) {
        if (address + n > LOCAL_BYTES)
            wrong(w, in, lane, "outside of local memory: 0x%llx", (unsigned long long)address);
        return w->local + lane * LOCAL_BYTES + address;
    }
    block *b = in->seen;
    if (!b || address < b->lo || address + n > b->hi) {
        b = block_find(address);
        u64 local = (u64)(uintptr_t)w->local;
        if (!b && address - local < LANES * LOCAL_BYTES) return (u8 *)(uintptr_t)address;
        if (!b || address + n > b->hi)
            wrong(w, in, lane, "%s outside of any block: 0x%llx, %u bytes", writes ? "write" : "read",
                  (unsigned long long)address, n);
        in->seen = b;
    }
    u8 *state = b->state + (address - b->lo), written = WRITTEN;
    for (u32 i = 0; reads && i < n; i++) written &= state[i];
    if (!written) finding(w, in, lane, address, b, strict >= 2, "reads what was never written");
    if (find_races && b->stored) check_race(w, in, lane, address, b, writes);
    for (u32 i = 0; writes && i < n; i++) state[i] |= WRITTEN;
    return (u8 *)(uintptr_t)(address - b->shift);
}

static u64 get(const u8 *at, u32 n, bool sign)
{
    u64 x = 0;
    memcpy(&x, at, n);
    if (sign && n < 8) x = (u64)((s64)(x << (64 - 8 * n)) >> (64 - 8 * n));
    return x;
}

/* ------------------------------------------------------------------------------------------------------ arithmetic */

typedef float f32;
typedef double f64;

static inline f32 VALUE_f32(u64 a)
{
    u32 u = (u32)a;
    f32 x;
    memcpy(&x, &u, 4);
    return x;
}
static inline f64 VALUE_f64(u64 a)
{
    f64 x;
    memcpy(&x, &a, 8);
    return x;
}
static inline u64 BITS_f32(f32 x) /* a NaN is the machine's NaN */
{
    u32 u;
    memcpy(&u, &x, 4);
    return x != x ? 0x7FFFFFFF : u;
}
static inline u64 BITS_f64(f64 x)
{
    u64 u;
    memcpy(&u, &x, 8);
    return x != x ? 0x7FFFFFFFFFFFFFFF : u;
}

/* The smaller number, with -0 before +0; if one is NaN, the other. */
static inline f32 least_f32(f32 a, f32 b) { return a < b || b != b || (a == b && signbit(a)) ? a : b; }
static inline f64 least_f64(f64 a, f64 b) { return a < b || b != b || (a == b && signbit(a)) ? a : b; }

static s64 saturated(f64 x, f64 lo, f64 hi) { return x != x ? 0 : (s64)(x < lo ? lo : x > hi ? hi : x); }
static u64 saturated_u64(f64 x) { return x != x || x < 0 ? 0 : x >= 18446744073709551616.0 ? UINT64_MAX : (u64)x; }
static u64 high_u64(u64 a, u64 b) { return (u64)((__extension__(unsigned __int128) a * b) >> 64); }

static u32 reversed(u32 x) /* bit 0 becomes bit 31 */
{
    u32 y = 0;
    for (int i = 0; i < 32; i++) y |= (x >> i & 1) << (31 - i);
    return y;
}

/* On the machine division by 0 gives all ones, and that of the most negative number by -1 overflows. */
#define DIVIDE(T, signed) \
    static T divide_##T(T a, T b, bool rest) \
    { \
        if (!b) return rest ? a : (T)-1; \
        if (signed &&b == (T)-1) return rest ? 0 : (T)(0 - (u64)a); \
        return (T)(rest ? a % b : a / b); \
    }
DIVIDE(u16, false)
DIVIDE(u32, false)
DIVIDE(u64, false)
DIVIDE(s16, true)
DIVIDE(s32, true)
DIVIDE(s64, true)

#define AS(T, x) ((T)(x))
#define A        (a[i])
#define B        (b[i])
#define C        (c[i])

static void compute(int op, u32 mask, u64 *d, const u64 *a, const u64 *b, const u64 *c)
{
    switch (op) {
#define X(id, name, n, expr) \
    case OP_##id: \
        if (mask == UINT32_MAX) { \
            _Pragma("GCC ivdep") for (int i = 0; i < LANES; i++) d[i] = (u64)(expr); \
        } else \
            for (int i = 0; i < LANES; i++) \
                if (mask >> i & 1) d[i] = (u64)(expr); \
        break;
        OPS(X)
#undef X
        default: abort();
    }
}
#undef A
#undef B
#undef C

/* -------------------------------------------------------------------------------------------------------- strands */

/* Strands: lanes of a warp that have diverged. Volta and later promise no order in which lanes of a warp advance
   between two barriers. With SAMP_PTX_LANES lanes diverge at any instruction, in calls too; each strand has a stack of
   its own. Registers stay in place, because each lane has its column.

   gcc's own code expects lanes in lockstep: a function's first instructions take a stack from a word in shared memory
   that all lanes of the warp share, its last ones release it, and libgomp's functions are written for that. Only gcc
   could change this. So lanes join at each access to shared memory and before a call of a function that is not the
   library's, if they can, and stay joined up to a function's stack. */

static u64 random_state, seed;
static u32 epochs; /* counts the barriers of all warps */
static const block *stacks;

static u32 random_u32(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (u32)(random_state >> 33) ^ (u32)(random_state >> 40);
}

static const u64 *value_of(const frame *f, int operand)
{
    return operand >= 0 ? f->reg[operand] : f->fn->value[~operand];
}

/* Makes these lanes the only ones that continue in the current stack. */
static void narrow(warp *w, u32 mask)
{
    for (int d = 0; d <= w->depth; d++) {
        frame *f = &w->frames[d];
        f->all &= mask, f->entered &= mask, f->mask &= mask;
    }
}

/* Makes these lanes of the current stack a strand, which continues at pc. */
static void part(warp *w, u32 mask, int pc, enum waits waits)
{
    strand *s = &w->strands[w->n_strands++];
    const size_t size = sizeof(frame) * (size_t)(w->depth + 1);
    *s = (strand){ mask, w->local_top, w->passed, w->depth, waits, memcpy(malloc(size), w->frames, size) };
    for (int d = 0; d <= s->depth; d++) {
        frame *f = &s->frames[d];
        f->all &= mask, f->entered &= mask, f->mask &= mask;
    }
    s->frames[s->depth].pc = pc, s->frames[s->depth].mask = mask;
}

static void part_others(warp *w, frame *f, u32 mask)
{
    if (mask == f->mask) return;
    part(w, f->mask & ~mask, f->pc + 1, NO);
    narrow(w, mask);
}

static bool same_place(const strand *s, const warp *w)
{
    bool same = s->depth == w->depth;
    for (int d = 0; d <= w->depth && same; d++)
        same = s->frames[d].pc == w->frames[d].pc && s->frames[d].fn == w->frames[d].fn;
    return same;
}

/* Joins the strands that wait at the current one's place to it. */
static void join_strands(warp *w, enum waits waits)
{
    for (u32 i = 0; i < w->n_strands; i++) {
        strand *s = &w->strands[i];
        if (s->waits != waits || !same_place(s, w)) continue;
        for (int d = 0; d <= w->depth; d++) {
            frame *f = &w->frames[d];
            f->all |= s->mask, f->mask |= s->mask, f->entered |= s->mask;
        }
        free(s->frames);
        w->strands[i--] = w->strands[--w->n_strands];
    }
}

/* Makes another strand the current one: one that can run, else one that has waited for the others as long as they could
   run, and of these one that none is behind: else a lane could take a stack that another one has yet to release.
   Returns false if there is none. */
static bool take_strand(warp *w)
{
    enum waits waits = NO;
    u32 able[3] = { 0, 0, 0 };
    for (u32 i = 0; i < w->n_strands; i++) able[w->strands[i].waits]++;
    if (!able[NO]) waits = IF_THEY_CAN;
    if (!able[waits]) return false;
    u32 which = random_u32() % able[waits], i = 0;
    while (w->strands[i].waits != waits || which--) i++;
    for (u32 k = 0; waits == IF_THEY_CAN && k < w->n_strands; k++)
        if (w->strands[k].waits == waits && w->strands[k].passed < w->strands[i].passed) i = k;
    strand s = w->strands[i];
    w->strands[i] = w->strands[--w->n_strands];
    w->depth = s.depth, w->local_top = s.local_top, w->passed = s.passed;
    memcpy(w->frames, s.frames, sizeof(frame) * (size_t)(s.depth + 1));
    free(s.frames);
    w->has_waited = waits == IF_THEY_CAN;
    if (w->has_waited) join_strands(w, IF_THEY_CAN);
    return true;
}

static bool is_ours(const function *fn) { return !fn->entry && fn->name.n > 5 && !memcmp(fn->name.at, "sampi", 5); }

/* Whether gcc expects lanes in lockstep here. */
static bool in_step(const warp *w, const frame *f, const instruction *in)
{
    if (in->op == OP_ret) return w->depth && is_ours(f->fn) && !is_ours(f[-1].fn);
    if (in->op != OP_call) return in->space == SHARED && (in->op == OP_ld || in->op == OP_st || is_atomic(in));
    const u64 *callee = value_of(f, f->fn->calls[in->target].callee);
    return !is_ours((const function *)(uintptr_t)callee[__builtin_ctz(f->mask)]);
}

/* Returns the end of the instructions that take a function's stack. */
static int stack_end(const function *fn)
{
    int end = 0;
    for (int i = 0; i < fn->n_code && fn->code[i].op != OP_bra && fn->code[i].op != OP_call; i++)
        if (fn->code[i].space == SHARED && (fn->code[i].op == OP_ld || fn->code[i].op == OP_st)) end = i + 1;
    return end;
}

/* Called before an instruction: lanes diverge, or others run first. Returns false if the current lanes wait. */
static bool disturb(warp *w)
{
    frame *f = &w->frames[w->depth];
    const u32 r = random_u32();
    if (w->n_strands && !w->has_waited && in_step(w, f, &f->fn->code[f->pc])) {
        part(w, f->mask, f->pc, IF_THEY_CAN);
        return take_strand(w), false;
    }
    if (in_step(w, f, &f->fn->code[f->pc])) {
        w->passed++;
        if (f->mask == w->live) w->stack_epoch = ++epochs;
        w->has_waited = false;
        return true; /* lanes that have joined for this instruction run it together */
    }
    w->has_waited = false;
    if (!is_ours(f->fn) || f->pc < stack_end(f->fn)) return true;
    if (seed && r % 16 == 0 && w->n_strands + 1 < most_strands) {
        u32 some = f->mask & random_u32();
        if (some && some != f->mask) part(w, some, f->pc, NO), narrow(w, ~some);
    }
    if (seed && (r >> 8) % 8 == 0 && w->n_strands) {
        part(w, f->mask, f->pc, NO);
        return take_strand(w), false;
    }
    return true;
}

/* Returns the record of which lanes, since the warp's last barrier, have stored a byte, so that only they may load it
   (no lane, if an atomic has changed it), and which have loaded it, so that only they may store another value, and each
   for itself. For stacks, joining where a stack is taken or released counts as a barrier. A kernel of the program that
   uses the library (a user's sampler) has lanes in lockstep, as gcc expects them. */
static u64 *lanes_of(const warp *w, const instruction *in, u64 address, u64 *epoch)
{
    const block *b = in->seen;
    if (in->space != GENERIC || !is_ours(w->frames[w->depth].fn)) return NULL;
    if (!b || !b->owner || address < b->lo || address >= b->hi) return NULL;
    *epoch = (u64)(b == stacks ? w->stack_epoch : w->epoch) << 32;
    return b->owner + 2 * (address - b->lo);
}

static void lanes_store(const warp *w, const instruction *in, u32 mask, u64 address, const u8 *at, const u64 *value)
{
    u64 epoch, *owner = lanes_of(w, in, address, &epoch);
    for (u32 i = 0; owner && i < in->bytes; i++, owner += 2) {
        const u32 readers = owner[1] >> 32 == epoch >> 32 ? (u32)owner[1] : 0;
        const bool owned = owner[0] >> 32 == epoch >> 32;
        if (owner[0] && owner[0] == (u64)w->atomic_epoch << 32)
            finding(w, in, __builtin_ctz(mask), address, in->seen, strict >= 1,
                    "a lane stores where an atomic has added, and there is no barrier in between");
        if (at[i] == ((const u8 *)value)[i]) {
            owner[0] |= owned ? mask : 0;
            continue;
        }
        if (readers && (readers != mask || (mask & (mask - 1))))
            finding(w, in, __builtin_ctz(mask), address, in->seen, strict >= 1,
                    "another lane has loaded that, and there is no barrier in between");
        owner[0] = epoch | mask;
    }
}

static void lanes_add(const warp *w, const instruction *in, u32 lane, u64 address)
{
    u64 epoch, *owner = lanes_of(w, in, address, &epoch);
    for (u32 i = 0; owner && i < in->bytes; i++, owner += 2) {
        if (owner[0] >> 32 == epoch >> 32 && (u32)owner[0] & ~(1u << lane))
            finding(w, in, (int)lane, address, in->seen, strict >= 1,
                    "another lane has stored what an atomic changes, and there is no barrier in between");
        owner[0] = (u64)w->atomic_epoch << 32;
    }
}

static void lanes_load(const warp *w, const instruction *in, u32 mask, u64 address)
{
    u64 epoch, *owner = lanes_of(w, in, address, &epoch);
    for (u32 i = 0; owner && i < in->bytes; i++, owner += 2) {
        owner[1] = epoch | mask | (owner[1] >> 32 == epoch >> 32 ? (u32)owner[1] : 0);
        if (owner[0] >> 32 == epoch >> 32 ? mask & ~(u32)owner[0]
                                          : owner[0] && owner[0] == (u64)w->atomic_epoch << 32)
            finding(w, in, __builtin_ctz(mask), address, in->seen, strict >= 1,
                    "another lane has stored there, and there is no barrier in between");
    }
}

/* ----------------------------------------------------------------------------------------------- groups of lanes */

static void add_group(frame *f, int pc, u32 mask, bool waits)
{
    group *g = f->groups;
    int i = 0;
    while (i < f->n_groups && !(g[i].pc == pc && g[i].waits == waits && (waits || !lanes_stay_apart))) i++;
    if (i == f->n_groups) g[f->n_groups++] = (group){ pc, 0, waits };
    g[i].mask |= mask;
    if (!waits && pc < f->min_pc) f->min_pc = pc;
}

/* Chooses the group of lanes with the smallest pc to run next, with all lanes at that pc; or, if lanes that diverge
   stay apart, the group with the largest. Returns false if no group can run. */
static bool next_group(frame *f)
{
    int best = -1;
    for (int i = 0; i < f->n_groups; i++)
        if (!f->groups[i].waits && (best < 0 || (f->groups[i].pc < f->groups[best].pc) != lanes_stay_apart)) best = i;
    if (best < 0) return false;
    f->pc = f->groups[best].pc, f->mask = f->groups[best].mask;
    f->groups[best] = f->groups[--f->n_groups];
    f->min_pc = INT32_MAX;
    for (int i = 0; i < f->n_groups; i++)
        if (!f->groups[i].waits && f->groups[i].pc < f->min_pc) f->min_pc = f->groups[i].pc;
    return true;
}

/* Waits at a collective, which all living lanes of the warp must reach. Returns true if all have. */
static bool gather(warp *w, frame *f, instruction *in, u32 mask)
{
    if (most_strands > 1) {
        part_others(w, f, mask);
        part(w, mask, f->pc, ALWAYS);
        u32 here = 0;
        for (u32 i = 0; i < w->n_strands; i++)
            here |= w->strands[i].waits == ALWAYS && same_place(&w->strands[i], w) ? w->strands[i].mask : 0;
        if (here == w->live) return join_strands(w, ALWAYS), w->passed = 0, true;
        if (take_strand(w)) return false;
        wrong(w, in, __builtin_ctz(mask), "lanes wait for others that don't come: %08x of %08x are here", mask,
              w->live);
    }
    if (mask != f->mask) add_group(f, f->pc + 1, f->mask & ~mask, false);
    f->mask = mask;
    for (int i = 0; i < f->n_groups; i++)
        if (f->groups[i].waits && f->groups[i].pc == f->pc) {
            f->mask |= f->groups[i].mask;
            f->groups[i--] = f->groups[--f->n_groups];
        }
    if (f->mask == w->live) return true;
    add_group(f, f->pc, f->mask, true);
    if (next_group(f)) return false;
    wrong(w, in, __builtin_ctz(f->mask),
          "lanes wait for others that don't come: %08x of %08x are here, %08x are in this function", f->mask, w->live,
          f->all);
}

/* Removes the lanes of `mask` from all calls. */
static void exit_lanes(warp *w, u32 mask)
{
    w->live &= ~mask;
    for (int d = 0; d <= w->depth; d++) {
        frame *f = &w->frames[d];
        f->all &= ~mask, f->mask &= ~mask;
        for (int i = 0; i < f->n_groups; i++) f->groups[i].mask &= ~mask;
        for (int i = 0; i < f->n_groups; i++)
            if (!f->groups[i].mask) f->groups[i--] = f->groups[--f->n_groups];
    }
}

/* ---------------------------------------------------------------------------------------------------------- calls */

static void push(warp *w, const function *fn, u32 mask, int result)
{
    u32 base = 0;
    if (w->depth >= 0) base = (u32)(w->frames[w->depth].reg - w->reg) + (u32)w->frames[w->depth].fn->n_regs;
    frame *f = &w->frames[++w->depth];
    f->fn = fn, f->reg = w->reg + base, f->ready = w->ready + base;
    f->all = f->mask = f->entered = mask;
    f->pc = 0, f->min_pc = INT32_MAX, f->n_groups = 0;
    f->result = result;
    f->local = w->local_top;
    w->local_top += (fn->local_bytes + 15) / 16 * 16;
}

/* Runs a function that the driver provides: heap and printf. */
static void builtin(frame *f, const function *fn, const call *c, u32 mask, int result)
{
    for (int i = 0; i < LANES; i++) {
        if (!(mask >> i & 1)) continue;
        u64 arg = value_of(f, c->arg[0])[i], value = 0;
        if (fn->builtin == BUILTIN_MALLOC) {
            block *b = block_new(arg, "the device's malloc", false);
            value = b ? b->lo : 0;
        }
        if (fn->builtin == BUILTIN_FREE && arg) block_free(arg);
        if (fn->builtin == BUILTIN_VPRINTF) fprintf(stderr, "ptx: device: %s\n", (const char *)(uintptr_t)arg);
        if (result >= 0) f->reg[result][i] = value;
    }
}

static void enter(warp *w, frame *f, instruction *in, u32 mask)
{
    const call *c = &f->fn->calls[in->target];
    const u64 *callee = value_of(f, c->callee);
    u64 to = 0;
    for (int i = 0; i < LANES; i++) {
        if (!(mask >> i & 1)) continue;
        if (to && callee[i] != to) wrong(w, in, i, "lanes call different functions");
        to = callee[i];
    }
    const function *fn = NULL;
    for (int i = 0; i < now->p->n_functions && !fn; i++)
        if ((u64)(uintptr_t)now->p->function[i] == to) fn = now->p->function[i];
    if (!fn) wrong(w, in, 0, "no function is at 0x%llx", (unsigned long long)to);
    if (fn->builtin) {
        builtin(f, fn, c, mask, in->dst[0]);
        return;
    }
    u32 used = (u32)(f->reg - w->reg) + (u32)f->fn->n_regs + (u32)fn->n_regs;
    if (c->n != fn->n_params) wrong(w, in, 0, "%d arguments for %d parameters", c->n, fn->n_params);
    if (w->depth + 1 == MAX_DEPTH || used > w->n_regs || w->local_top + fn->local_bytes > LOCAL_BYTES)
        wrong(w, in, 0, "calls too deep");
    push(w, fn, mask, in->dst[0]);
    frame *g = &w->frames[w->depth];
    for (int k = 0; k < c->n; k++) {
        const u64 *value = value_of(f, c->arg[k]);
        for (int i = 0; i < LANES; i++)
            if (mask >> i & 1) g->reg[fn->param[k]][i] = value[i];
        if (time_on) g->ready[fn->param[k]] = c->arg[k] >= 0 ? f->ready[c->arg[k]] : 0;
    }
}

/* Ends a call, when all its lanes have returned. */
static void pop(warp *w)
{
    frame *f = &w->frames[w->depth], *to = f - 1;
    w->local_top = f->local;
    w->depth--;
    if (w->depth < 0) return;
    u32 back = f->entered & w->live;
    if (f->result >= 0 && f->fn->result >= 0) {
        for (int i = 0; i < LANES; i++)
            if (back >> i & 1) to->reg[f->result][i] = f->reg[f->fn->result][i];
        if (time_on) to->ready[f->result] = f->ready[f->fn->result];
    }
}

/* ------------------------------------------------------------------------------------------------------- barriers */

static void arrive(warp *w, frame *f, instruction *in, bool waits)
{
    team *t = w->team;
    u32 id = (u32)value_of(f, in->src[0])[0], count = 32 * (t->n_warps - t->n_done);
    if (in->n_src > 1) count = (u32)value_of(f, in->src[1])[0];
    if (id >= N_BARRIERS || count % 32 || !count) wrong(w, in, 0, "barrier %u of %u lanes", id, count);
    if (t->barrier[id].arrived && t->barrier[id].needed != count) wrong(w, in, 0, "barrier %u: another count", id);
    t->barrier[id].needed = count;
    t->barrier[id].arrived += 32;
    if (waits) w->barrier = (int)id;
    if (t->barrier[id].arrived < count) return;
    t->barrier[id].arrived = 0;
    for (u32 i = 0; i < t->n_warps; i++) {
        if (t->warp[i].barrier != (int)id) continue;
        t->warp[i].barrier = -1;
        if (t->warp[i].clock < w->clock) t->warp[i].clock = w->clock;
    }
}

/* ---------------------------------------------------------------------------------------------------- instructions */

static u64 special(const warp *w, int which, int lane)
{
    switch (which) {
        case TID_X:
        case LANEID: return (u64)lane;
        case TID_Y: return w->number;
        case NTID_X: return LANES;
        case NTID_Y: return w->team->n_warps;
        case NTID_Z: return 1;
        case CTAID_X: return w->team->number;
        case NCTAID_X: return now->n_teams;
        default: return 0;
    }
}

static u64 addresses[LANES]; /* addresses of the last access */
struct atomic_result last_atomic;

/* Computes the addresses of an access; returns true if they are the same in all lanes. */
static bool same_address(const frame *f, const instruction *in, u32 mask)
{
    const u64 *base = value_of(f, in->src[0]);
    u64 first = base[__builtin_ctz(mask)], differ = 0;
    for (int i = 0; i < LANES; i++) differ |= (base[i] ^ first) & -(u64)(mask >> i & 1);
    for (int i = 0; i < LANES; i++) addresses[i] = base[i] + (u64)in->offset;
    return !differ && in->space != LOCAL;
}

static void load(warp *w, frame *f, instruction *in, u32 mask)
{
    bool same = same_address(f, in, mask);
    int first = __builtin_ctz(mask);
    for (int k = 0; k < in->n_dst; k++) {
        if (in->dst[k] < 0) continue;
        u64 *d = f->reg[in->dst[k]], more = (u64)k * in->bytes, x = 0;
        if (same) x = get(memory(w, in, first, addresses[first] + more, in->bytes, true, false), in->bytes, in->sign);
        if (same && most_strands > 1) lanes_load(w, in, mask, addresses[first] + more);
        for (int i = 0; i < LANES; i++) {
            if (!(mask >> i & 1)) continue;
            if (!same) x = get(memory(w, in, i, addresses[i] + more, in->bytes, true, false), in->bytes, in->sign);
            if (!same && most_strands > 1) lanes_load(w, in, 1u << i, addresses[i] + more);
            d[i] = x;
        }
    }
}

/* Stores; if lanes store to one address, the first lane's value stays. */
static void store(warp *w, frame *f, instruction *in, u32 mask)
{
    events++;
    const u32 all = mask;
    const bool same = same_address(f, in, mask);
    if (same) mask &= -mask;
    for (int k = 0; k < in->n_src - 1; k++) {
        const u64 *x = value_of(f, in->src[k + 1]);
        for (int i = 0; i < LANES; i++) {
            if (!(mask >> i & 1)) continue;
            const u64 address = addresses[i] + (u64)(k * in->bytes);
            u8 *at = memory(w, in, i, address, in->bytes, false, true);
            if (most_strands > 1) lanes_store(w, in, same ? all : 1u << i, address, at, &x[i]);
            memcpy(at, &x[i], in->bytes);
        }
    }
}

static void atomic(warp *w, frame *f, instruction *in, u32 mask)
{
    events++;
    static const lanes zero;
    const u64 *base = value_of(f, in->src[0]), *b = in->n_src == 1 ? zero : value_of(f, in->src[1]);
    const u64 *c = in->n_src > 2 ? value_of(f, in->src[2]) : b;
    for (int i = 0; i < LANES; i++) {
        if (!(mask >> i & 1)) continue;
        addresses[i] = base[i] + (u64)in->offset;
        u8 *at = memory(w, in, i, addresses[i], in->bytes, true, in->n_src > 1);
        if (most_strands > 1 && in->n_src > 1) lanes_add(w, in, (u32)i, addresses[i]);
        u64 old = get(at, in->bytes, false), x = in->bytes == 4 ? (u32)b[i] : b[i];
        switch (in->op) {
            case OP_atom_add: x += old; break;
            case OP_atom_cas: x = old == x ? c[i] : old; break;
            case OP_atom_and: x &= old; break;
            case OP_atom_or: x |= old; break;
            case OP_atom_xor: x ^= old; break;
            default: break; /* exch */
        }
        memcpy(at, &x, in->bytes);
        if (!(mask & ((1u << i) - 1))) last_atomic = (struct atomic_result){ old, false };
        last_atomic.changed |= x != old;
        if (in->dst[0] >= 0) f->reg[in->dst[0]][i] = old;
    }
    if (in->acquires) fence_of[w->team->number] = ++events;
}

static void shuffle(warp *w, frame *f, instruction *in)
{
    const u64 *a = value_of(f, in->src[0]), *b = value_of(f, in->src[1]), *c = value_of(f, in->src[2]);
    lanes out;
    for (int i = 0; i < LANES; i++) {
        if (!(f->mask >> i & 1)) continue;
        u32 from = in->op == OP_shfl_idx ? (u32)b[i] & 31 : (u32)i ^ ((u32)b[i] & 31);
        if ((u32)c[i] != 31) wrong(w, in, i, "a shuffle in segments");
        if (!(f->mask >> from & 1)) wrong(w, in, i, "a shuffle from lane %u, which isn't there", from);
        out[i] = a[from];
    }
    for (int i = 0; i < LANES; i++)
        if (f->mask >> i & 1) f->reg[in->dst[0]][i] = out[i];
}

static void vote(frame *f, const instruction *in)
{
    const u64 *a = value_of(f, in->src[0]);
    u32 bits = 0;
    for (int i = 0; i < LANES; i++) bits |= (u32)(a[i] & 1 & f->mask >> i) << i;
    for (int i = 0; i < LANES; i++)
        if (f->mask >> i & 1) f->reg[in->dst[0]][i] = bits;
}

static void simple(warp *w, frame *f, instruction *in, u32 mask)
{
    const u64 *a = in->n_src ? value_of(f, in->src[0]) : NULL;
    u64 *d = in->n_dst && in->dst[0] >= 0 ? f->reg[in->dst[0]] : NULL;
    for (int i = 0; i < LANES; i++) {
        if (!(mask >> i & 1)) continue;
        switch (in->op) {
            case OP_special: d[i] = special(w, (int)in->offset, i); break;
            case OP_local: d[i] = (u64)(uintptr_t)w->local + (u64)i * LOCAL_BYTES + f->local + a[i]; break;
            case OP_shared: d[i] = (u64)(uintptr_t)w->team->shared + a[i]; break;
            case OP_pack: d[i] = (u32)a[i] | value_of(f, in->src[1])[i] << 32; break;
            case OP_unpack: {
                u64 x = a[i];
                if (d) d[i] = (u32)x;
                if (in->dst[1] >= 0) f->reg[in->dst[1]][i] = x >> 32;
                break;
            }
            default: abort();
        }
    }
}

static void branch(warp *w, frame *f, int target, u32 taken)
{
    u32 stay = f->mask & ~taken;
    if (!stay)
        f->pc = target;
    else if (!taken)
        f->pc++;
    else if (most_strands > 1) {
        part(w, taken, target, NO);
        narrow(w, stay);
        f->pc++;
    } else {
        add_group(f, target, taken, false);
        add_group(f, f->pc + 1, stay, false);
        next_group(f);
    }
}

/* Ends lanes in this call, or for good; then the other lanes run, or the caller. */
static void finish(warp *w, frame *f, u32 mask, bool for_good)
{
    if (most_strands > 1) part_others(w, f, mask);
    if (mask != f->mask) add_group(f, f->pc + 1, f->mask & ~mask, false);
    f->mask = mask;
    if (for_good)
        exit_lanes(w, mask);
    else
        f->all &= ~mask, f->mask = 0;
    while (w->depth >= 0) {
        f = &w->frames[w->depth];
        if (f->mask || next_group(f)) return;
        if (f->n_groups) wrong(w, &f->fn->code[f->groups[0].pc], 0, "lanes wait for others that have returned");
        pop(w);
        if (w->depth < 0 && take_strand(w)) return;
        if (!for_good) return;
    }
}

static void step(warp *w, frame *f, instruction *in, u32 mask)
{
    switch (in->op) {
        case OP_ret: finish(w, f, mask, false); return;
        case OP_exit: finish(w, f, mask, true); return;
        case OP_trap: wrong(w, in, __builtin_ctz(mask), "trap");
        case OP_bra: branch(w, f, in->target, mask); return;
        case OP_call:
            if (most_strands > 1) part_others(w, f, mask);
            f->pc++;
            enter(w, f, in, mask);
            return;
        case OP_ld: load(w, f, in, mask); break;
        case OP_st: store(w, f, in, mask); break;
        case OP_special:
        case OP_local:
        case OP_shared:
        case OP_unpack:
        case OP_pack: simple(w, f, in, mask); break;
        case OP_fence: fence_of[w->team->number] = ++events; break;
        case OP_bar_sync:
        case OP_bar_arrive:
            if (!gather(w, f, in, mask)) return;
            w->epoch = w->stack_epoch = w->atomic_epoch = ++epochs;
            arrive(w, f, in, in->op == OP_bar_sync);
            break;
        case OP_warp_sync:
            if (!gather(w, f, in, mask)) return;
            w->epoch = w->stack_epoch = w->atomic_epoch = ++epochs;
            break;
        case OP_shfl_idx:
        case OP_shfl_bfly:
        case OP_vote:
            if (!gather(w, f, in, mask)) return;
            w->atomic_epoch = ++epochs; /* an atomic has its result */
            if (in->op == OP_vote)
                vote(f, in);
            else
                shuffle(w, f, in);
            break;
        case OP_atom_add:
        case OP_atom_exch:
        case OP_atom_cas:
        case OP_atom_and:
        case OP_atom_or:
        case OP_atom_xor: atomic(w, f, in, mask); break;
        default:
            compute(in->op, mask, f->reg[in->dst[0]], in->n_src > 0 ? value_of(f, in->src[0]) : NULL,
                    in->n_src > 1 ? value_of(f, in->src[1]) : NULL, in->n_src > 2 ? value_of(f, in->src[2]) : NULL);
    }
    f->pc++;
}

/* Runs a warp until the clock has the given value, the warp waits at a barrier, or it is done. */
static void run_warp(warp *w, u64 until)
{
    while (w->clock < until && w->depth >= 0 && w->barrier < 0) {
        if (most_strands > 1 && !disturb(w)) continue;
        frame *f = &w->frames[w->depth];
        if (!f->mask && !next_group(f)) {
            finish(w, f, 0, true);
            continue;
        }
        if (f->pc >= f->min_pc && !lanes_stay_apart) {
            add_group(f, f->pc, f->mask, false);
            next_group(f);
        }
        instruction *in = &f->fn->code[f->pc];
        u32 mask = f->mask;
        if (in->guard != NONE) {
            const u64 *p = value_of(f, in->guard);
            u32 yes = 0;
            for (int i = 0; i < LANES; i++) yes |= (u32)(p[i] & 1) << i;
            mask &= in->negated ? ~yes : yes;
        }
        if (time_on) {
            if (mask && (in->op == OP_ld || in->op == OP_st || is_atomic(in))) {
                step(w, f, in, mask);
                time_issue(w, f, in, mask, addresses);
            } else {
                time_issue(w, f, in, mask, NULL);
                if (mask || in->op == OP_bra)
                    step(w, f, in, mask);
                else
                    f->pc++;
            }
            continue;
        }
        w->clock++;
        if (mask || in->op == OP_bra)
            step(w, f, in, mask);
        else
            f->pc++;
    }
}

/* ----------------------------------------------------------------------------------------------------------- grids */

enum { MAX_REGS = 4096 };

static void start_team(team *t, u32 number, u64 clock)
{
    t->number = number, t->n_done = 0, t->sm = time_place(number), t->runs = true;
    memset(t->barrier, 0, sizeof t->barrier);
    memset(t->shared, 0xAA, now->p->shared_bytes);
    block *shared = block_find((u64)(uintptr_t)t->shared);
    memset(shared->state, 0, now->p->shared_bytes); /* nothing is written yet */
    for (u32 i = 0; i < t->n_warps; i++) {
        warp *w = &t->warp[i];
        w->team = t, w->number = i, w->live = UINT32_MAX, w->depth = -1, w->barrier = -1, w->local_top = 0;
        w->clock = clock + time_begin(number), w->n_instructions = w->last_store = w->in_flight = 0;
        w->asked = NULL, w->waited = false, w->passed = 0, w->atomics_end = 0;
        w->epoch = w->atomic_epoch = ++epochs;
        push(w, now->kernel, UINT32_MAX, NONE);
        for (int k = 0; k < now->kernel->n_params; k++)
            for (int l = 0; l < LANES; l++) w->frames[0].reg[now->kernel->param[k]][l] = now->arg[k];
        if (time_on) memset(w->ready, 0, sizeof *w->ready * w->n_regs);
    }
}

/* Returns the teams, which are kept from launch to launch. */
static team *teams_of(u32 n)
{
    static team *kept;
    static u32 n_kept, warps_kept;
    static const program *of;
    if (kept && n <= n_kept && now->n_warps == warps_kept && of == now->p) return kept;
    for (u32 i = 0; i < n_kept; i++) {
        for (u32 k = 0; k < warps_kept; k++)
            free(kept[i].warp[k].reg), free(kept[i].warp[k].ready), free(kept[i].warp[k].local);
        block_free((u64)(uintptr_t)kept[i].shared), free(kept[i].warp), free(kept[i].cycles);
    }
    free(kept);
    team *t = calloc(n, sizeof *t);
    for (u32 i = 0; i < n; i++) {
        t[i].n_warps = now->n_warps;
        t[i].shared = (u8 *)(uintptr_t)block_shared(now->p->shared_bytes)->lo;
        t[i].warp = calloc(now->n_warps, sizeof(warp));
        if (time_on) t[i].cycles = calloc(2 * (size_t)now->p->n_code, sizeof(u32)), t[i].n_cycles = 2 * now->p->n_code;
        for (u32 k = 0; k < now->n_warps; k++) {
            warp *w = &t[i].warp[k];
            w->n_regs = MAX_REGS / now->n_warps;
            w->reg = aligned_alloc(4096, sizeof(lanes) * w->n_regs);
            w->ready = time_on ? calloc(w->n_regs, 8) : NULL;
            w->local = calloc(LANES, LOCAL_BYTES);
        }
    }
    kept = t, n_kept = n, warps_kept = now->n_warps, of = now->p;
    return t;
}

/* Runs a slice of each warp of a team; returns false if all wait. */
static bool run_team(team *t, u64 until)
{
    bool any = false;
    for (u32 i = 0; i < t->n_warps; i++) {
        warp *w = &t->warp[i];
        if (w->depth < 0 || w->barrier >= 0) continue;
        any = true;
        run_warp(w, until);
        if (w->depth < 0) t->n_done++;
    }
    for (u32 i = 0; i < t->n_warps && !time_on; i++)
        if (t->warp[i].clock < until) t->warp[i].clock = until;
    return any || t->n_done == t->n_warps;
}

u64 ptx_setting(const char *name, u64 otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* Returns the numbers of teams in the order in which they begin; the machine promises no order. */
static u32 *order_of(u32 n)
{
    u32 *order = calloc(n, sizeof *order);
    const bool mixed = ptx_setting("SAMP_PTX_ORDER", 0) != 0;
    random_state += mixed ? ptx_setting("SAMP_PTX_ORDER", 0) : 0;
    for (u32 i = 0; i < n; i++) {
        const u32 j = mixed ? random_u32() % (i + 1) : i;
        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

static void run_grid(const grid *g)
{
    const u64 slice = ptx_setting("SAMP_PTX_SLICE", time_on ? 300 : 2000);
    const u64 fit = 65536 / (32 * ptx_setting("SAMP_PTX_REGISTERS", 255) * g->n_warps);
    u32 n = (u32)ptx_setting("SAMP_PTX_RESIDENT", ptx_setting("SAMP_PTX_SMS", SMS) * (fit < 32 ? fit : 32));
    u32 started = 0, done = 0, *order = order_of(g->n_teams);
    if (n > g->n_teams) n = g->n_teams;
    if (!n) n = 1;
    team *t = teams_of(n);
    for (u32 i = 0; i < n; i++) start_team(&t[i], order[started++], 0);
    for (u64 until = slice; done < g->n_teams; until += slice)
        for (u32 i = 0; i < n; i++) {
            if (!t[i].runs) continue;
            if (!run_team(&t[i], until)) {
                const warp *w = t[i].warp;
                while (w->depth < 0) w++;
                wrong(w, &w->frames[w->depth].fn->code[w->frames[w->depth].pc - 1], 0, "all warps wait at barriers");
            }
            if (t[i].n_done < t[i].n_warps) continue;
            done++;
            t[i].runs = false;
            time_team_done(&t[i]);
            if (started < g->n_teams) start_team(&t[i], order[started++], until - slice);
        }
    free(order);
}

bool ptx_run(const grid *g)
{
    now = g;
    strict = ptx_setting("SAMP_PTX_STRICT", 0);
    lanes_stay_apart = ptx_setting("SAMP_PTX_APART", 0) != 0;
    most_strands = time_on ? 1 : (u32)ptx_setting("SAMP_PTX_LANES", 1);
    random_state = seed = ptx_setting("SAMP_PTX_SEED", 1);
    find_races = ptx_setting("SAMP_PTX_RACES", 1) != 0 && g->n_teams < 65536;
    free(fence_of);
    fence_of = calloc(g->n_teams + 1, sizeof *fence_of);
    fence_of[g->n_teams] = ++events; /* the start of the launch */
    stacks = g->n_args == 3 ? block_find(g->arg[1]) : NULL;
    if (setjmp(failed)) return false;
    time_start(g);
    run_grid(g);
    time_report(g);
    return true;
}
