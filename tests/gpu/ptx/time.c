/* time.c - a model of time. Each warp issues its instructions in order, when their operands exist; a load takes as long
   as the distance of the memory that holds its line. Figures are rough ones of Hopper (cost() in parse.c, the enum
   here), of which four were fitted to measurements on an H200 (bench/GPU.md):
     FETCH     An instruction that the multiprocessor has not run lately is fetched first: so many cycles for a line of
               LINE instructions of PTX (128 bytes of machine code). A multiprocessor keeps CODE lines, also from launch
               to launch. So code that every multiprocessor runs in each launch is mostly there, and code that only a
               row's last team runs is not, since that is another team each time (see JITTER).
     FENCE     a fence of the whole system; those of one multiprocessor come one after the other, which explains why
               1024 teams take 13 us to start and end (libgomp's end has two fences)
     GPU_FENCE a fence of the device alone: a guess. A load that acquires comes from the second cache, and empties the
               first, as a fence does
     MOVE      team 0 of each launch is on the multiprocessor so many places further than that of the launch before. On
               the machine the last team to arrive is mostly another one each time; in the model, always the same. With
               MOVE what only one team runs is fetched in each launch, as measured, and as it is if other kernels run
               between two batches.
     JITTER    teams begin up to so many cycles later, differently in each launch
     DRAM      cycles of a read from memory
     HOST      cycles of a read from registered memory of the host: a guess. Such a read is never near, its stores are
               not waited for, and HOST_SECTORS (of 50 GB/s) come in a window
     DRAM_SECTORS, PORT_SECTORS  sectors that the memory (1.9 TB/s to one-warp teams, as measured), and the way from the
               second cache to one multiprocessor, give in WINDOW cycles. A read that finds a window full waits for the
               next one.
     ATOMICS   sectors that the second cache's atomics change in WINDOW cycles, 48 each cycle: a guess. They take the way
               there too, and a fence waits for those of its warp. In shared memory lanes with words of one bank wait
               for each other.
     KEPT      sectors that the second cache keeps, the oldest is replaced: half of the H200's 50 MB, since rows of
               more than that took the time of a cache that has none of them
   Warps of a multiprocessor share its first cache and its code, but there is no contention for issue slots or banks;
   what ptxas unrolls or moves is not modelled. A launch itself takes no time. */
#include "ops.h"
#include "ptx.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { L1 = 35, L2 = 270, BRANCH = 6, LINES = 2048, SECTOR = 32, TOP = 12 };
enum { LINE = 5, CODE = 1024 };
enum { WINDOW = 512, WINDOWS = 1 << 14, PORT_SECTORS = WINDOW * 2, KEPT = 25 * (1 << 20) / SECTOR, HOST_SECTORS = 400 };
enum { NEAR = 25, BANKS = 32, ATOMICS = WINDOW * 48 };

/* fitted; environment variables replace them */
static u32 fetch = 60, fence = 1200, gpu_fence = 600, jitter = 500, move = 0,
           dram_sectors = WINDOW * 30, dram = 900, host = 2400;

bool time_on;

static u64 near_[SMS][LINES];  /* the sector in each line of the first cache, and the number of fences at
                                  that time */
static u64 there_[SMS][LINES]; /* cycle from which it is there: a read before waits for the first read's
                                  answer */
static u64 fences[SMS];
static u64 fence_end[SMS];    /* cycle at which the last fence of the multiprocessor ends */
static bool *code_there[SMS]; /* [lines of the program] whether the multiprocessor has the line */
static u32 *code_kept[SMS];   /* [CODE] these lines; the oldest one is replaced next */
static u32 code_next[SMS], launches;
/* sectors read, or changed by atomics, in each window */
static u32 memory_used[WINDOWS], atomics_used[WINDOWS], host_used[WINDOWS], port_used[SMS][WINDOWS];
static u32 n_replaced; /* sectors that have come into the second cache so far */
static u64 n_instructions, sectors[3];
static u32 shared_bytes;
static struct {
    u64 end, instructions, in_flight;
    u32 team;
} last; /* of the team that wrote last; in_flight: the cycles of its loads */
static u32 *path;

/* Words that warps wait for: a warp that changes one passes the length of its path on to those that wait. */
enum { WORDS = 256 };
static struct word {
    u64 address, end;
    u32 *path;
} words[WORDS];

void time_start(const grid *g)
{
    if (!time_on) return;
    n_instructions = 0;
    memset(memory_used, 0, sizeof memory_used), memset(port_used, 0, sizeof port_used);
    memset(host_used, 0, sizeof host_used), memset(atomics_used, 0, sizeof atomics_used);
    shared_bytes = g->p->shared_bytes;
    host = (u32)ptx_setting("SAMP_PTX_HOST", host);
    dram_sectors = (u32)ptx_setting("SAMP_PTX_DRAM_SECTORS", dram_sectors), dram = (u32)ptx_setting("SAMP_PTX_DRAM", dram);
    memset(sectors, 0, sizeof sectors);
    memset(&last, 0, sizeof last);
    free(path);
    path = calloc(2 * (size_t)g->p->n_code, sizeof *path);
    launches++;
    fetch = (u32)ptx_setting("SAMP_PTX_FETCH", fetch), fence = (u32)ptx_setting("SAMP_PTX_FENCE", fence);
    gpu_fence = (u32)ptx_setting("SAMP_PTX_GPU_FENCE", gpu_fence), jitter = (u32)ptx_setting("SAMP_PTX_JITTER", jitter);
    move = (u32)ptx_setting("SAMP_PTX_MOVE", move);
    for (int i = 0; i < SMS; i++) {
        fences[i]++, fence_end[i] = 0;
        if (!code_there[i]) code_there[i] = calloc(g->p->n_code / LINE + 1, 1), code_kept[i] = calloc(CODE, sizeof(u32));
    }
    for (int i = 0; i < WORDS; i++) free(words[i].path), words[i].path = NULL, words[i].address = 0;
}

/* Returns the cycle at which a team begins. */
u64 time_begin(u32 team)
{
    if (!time_on || !jitter) return 0;
    u32 x = team * 2654435761u ^ launches * 2246822519u;
    x ^= x >> 15, x *= 2246822519u, x ^= x >> 13, x *= 3266489917u, x ^= x >> 16;
    return x % jitter;
}

/* Returns the multiprocessor of a team. */
u32 time_place(u32 team) { return (u32)((team + (u64)launches * (time_on ? move : 0)) % SMS); }

/* Returns the cycles until an instruction is there. */
static u32 fetch_code(u32 sm, u32 at)
{
    const u32 line = at / LINE;
    if (code_there[sm][line]) return 0;
    u32 *oldest = &code_kept[sm][code_next[sm]++ % CODE];
    code_there[sm][*oldest] = false;
    code_there[sm][line] = true;
    *oldest = line;
    return fetch;
}

/* Returns the cycle at which a sector that is asked for at a cycle is on its way. */
static u64 on_its_way(u32 *used, u32 most, u64 cycle)
{
    u64 at = cycle / WINDOW;
    while (at < WINDOWS && used[at] >= most) at++;
    if (at >= WINDOWS) return cycle;
    used[at]++;
    return at > cycle / WINDOW ? at * WINDOW : cycle;
}

/* Whether the second cache has a sector of a block; it has from now on. */
static bool in_second_cache(block *b, u64 address)
{
    if (!b->came) b->came = calloc((b->hi - b->lo) / SECTOR + 1, sizeof *b->came);
    u32 *came = &b->came[(address - b->lo) / SECTOR];
    const bool has = *came && n_replaced - *came <= KEPT;
    if (!has) *came = ++n_replaced;
    return has;
}

/* Returns how far away a sector is at a cycle, and puts it into the first cache. */
static u32 distance(u32 sm, u64 address, u64 cycle, bool reads)
{
    u64 sector = address / SECTOR, *tag = &near_[sm][sector % LINES], *there = &there_[sm][sector % LINES],
        want = sector << 20 | (fences[sm] & 0xFFFFF);
    block *b = block_find(address);
    if (b && b->shift) return (u32)(on_its_way(host_used, HOST_SECTORS, cycle) - cycle) + host;
    u32 level = *tag == want ? 0 : !b || in_second_cache(b, address) ? 1 : 2;
    *tag = want;
    sectors[level] += reads;
    if (level == 0) return *there > cycle + L1 && *there < cycle + 100000 ? (u32)(*there - cycle) : L1;
    u64 start = on_its_way(port_used[sm], PORT_SECTORS, cycle);
    if (level == 2) start = on_its_way(memory_used, dram_sectors, start);
    *there = start + (level == 1 ? L2 : dram);
    return (u32)(*there - cycle);
}

static bool is_shared(const warp *w, u64 address) { return address - (u64)(uintptr_t)w->team->shared < shared_bytes; }

/* Returns the most lanes whose words of shared memory are in one bank. */
static u32 most_in_a_bank(u32 mask, const u64 *address)
{
    u32 n[BANKS] = { 0 }, most = 0;
    for (int i = 0; i < LANES; i++)
        if (mask >> i & 1 && ++n[address[i] / 4 % BANKS] > most) most = n[address[i] / 4 % BANKS];
    return most;
}

/* Whether a sector is none of the n that were seen; it is seen then. */
static bool is_new(u64 *seen, u32 *n, u64 sector)
{
    u32 k = 0;
    while (k < *n && seen[*n - 1 - k] != sector) k++;
    if (k < *n) return false;
    seen[(*n)++] = sector;
    return true;
}

/* Returns the cycles until an atomic of these lanes is done. */
static u32 atomic_latency(const warp *w, const instruction *in, u32 mask, u64 cycle, const u64 *address)
{
    if (is_shared(w, address[__builtin_ctz(mask)])) return NEAR + 2 * most_in_a_bank(mask, address);
    u64 seen[LANES], done = cycle;
    u32 n = 0;
    for (int i = 0; i < LANES; i++) {
        if (!(mask >> i & 1) || !is_new(seen, &n, address[i] / SECTOR)) continue;
        done = on_its_way(port_used[w->team->sm], PORT_SECTORS, done);
        done = on_its_way(atomics_used, ATOMICS, done);
    }
    return (u32)(done - cycle) + L2 + 30 + (in->n_src == 1 ? 0 : 4 * (u32)__builtin_popcount(mask));
}

/* Returns the latency of the farthest address, and a cycle for each sector beyond four. */
static u32 memory_latency(const warp *w, const instruction *in, u32 mask, u64 cycle, const u64 *address)
{
    u64 seen[LANES];
    u32 n = 0, most = 0;
    if (in->space != GENERIC || is_shared(w, address[__builtin_ctz(mask)])) return NEAR;
    for (int i = 0; i < LANES; i++) {
        if (!(mask >> i & 1) || !is_new(seen, &n, address[i] / SECTOR)) continue;
        u32 far_ = distance(w->team->sm, address[i], cycle, in->op == OP_ld);
        if (far_ > most) most = far_;
    }
    return most + (n > 4 ? n - 4 : 0);
}

static struct word *word_at(u64 address, bool add)
{
    for (u32 i = 0, at = (u32)(address / 4 % WORDS); i < WORDS; i++, at = (at + 1) % WORDS) {
        if (words[at].address == address) return &words[at];
        if (words[at].address) continue;
        if (add) words[at].address = address;
        return add ? &words[at] : NULL;
    }
    return NULL;
}

static void follow(warp *w, const function *f, const instruction *in, u64 address)
{
    team *t = w->team;
    struct word *x;
    if (last_atomic.changed) {
        if (!(x = word_at(address, false))) return;
        if (!x->path) x->path = calloc(t->n_cycles, sizeof *x->path);
        memcpy(x->path, t->cycles, sizeof *x->path * t->n_cycles);
        x->end = w->clock;
        return;
    }
    bool again = w->asked == in && w->asked_at == address;
    if (again && last_atomic.old == w->saw) {
        w->waited = true;
        word_at(address, true);
    } else if (again && w->waited && (x = word_at(address, false)) && x->path) {
        memcpy(t->cycles, x->path, sizeof *x->path * t->n_cycles);
        t->cycles[f->first + (u32)(in - f->code)] += w->clock > x->end ? (u32)(w->clock - x->end) : 0;
        w->waited = false;
    }
    w->asked = in, w->asked_at = address, w->saw = last_atomic.old;
}

static u64 ready_at(const frame *f, int operand, u64 t)
{
    return operand >= 0 && f->ready[operand] > t ? f->ready[operand] : t;
}

void time_issue(warp *w, frame *f, const instruction *in, u32 mask, const u64 *address)
{
    if (!time_on) return;
    const u32 at = f->fn->first + (u32)(in - f->fn->code);
    u64 t = in->issue || in->guard != NONE ? w->clock : 0, latency = in->latency;
    bool atomic = in->op >= OP_atom_add && in->op <= OP_atom_xor;
    t = ready_at(f, in->guard, t);
    for (int i = 0; i < in->n_src; i++) t = ready_at(f, in->src[i], t);
    if (in->op == OP_call) t = ready_at(f, f->fn->calls[in->target].callee, t);
    const u32 waits = in->issue || in->guard != NONE ? fetch_code(w->team->sm, at) : 0;
    if (waits && t < w->clock + waits) t = w->clock + waits;
    if (t || in->issue) { /* a mere name exists when its operand does */
        if (address) latency = memory_latency(w, in, mask, t, address);
        if (atomic && address) latency = atomic_latency(w, in, mask, t, address);
        if (atomic && address && t + latency > w->atomics_end) w->atomics_end = t + latency;
        if (in->acquires && mask) fences[w->team->sm]++;
        if (in->op == OP_ld) w->in_flight += latency;
        if (in->op == OP_fence && mask) fences[w->team->sm]++;
    }
    for (int i = 0; i < in->n_dst; i++)
        if (in->dst[i] >= 0) f->ready[in->dst[i]] = t + latency;
    if (!in->issue && in->guard == NONE) return;
    u64 end = t + (in->issue ? in->issue : 1);
    if (in->op == OP_bra) end += BRANCH;
    if (in->op == OP_fence && mask) {
        u64 *last_end = &fence_end[w->team->sm], start = *last_end > end ? *last_end : end;
        if (w->atomics_end > start) start = w->atomics_end;
        *last_end = end = start + (in->bytes ? gpu_fence : fence);
    }
    w->team->cycles[at] += (u32)(end - w->clock);
    w->team->cycles[w->team->n_cycles / 2 + at]++;
    w->clock = end;
    n_instructions++;
    w->n_instructions++;
    if (mask && in->op == OP_st && in->space == GENERIC) w->last_store = end;
    if (atomic && address) follow(w, f->fn, in, address[__builtin_ctz(mask)]);
}

void time_team_done(team *t)
{
    if (!time_on) return;
    const warp *w = &t->warp[0];
    if (w->last_store >= last.end) {
        last.end = w->last_store, last.team = t->number;
        last.instructions = w->n_instructions, last.in_flight = w->in_flight;
        memcpy(path, t->cycles, sizeof *path * t->n_cycles);
    }
    memset(t->cycles, 0, sizeof *t->cycles * t->n_cycles);
}

typedef struct place {
    u64 cycles;
    text file, name;
    u32 line;
} place;

static int by_cycles(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return (x->cycles < y->cycles) - (x->cycles > y->cycles);
}

/* Prints, for each function on the path, its cycles, its instructions, how many different ones they are, and how many
   lines these are in. */
static void print_stages(const program *p)
{
    u64 all[4] = { 0, 0, 0, 0 };
    for (int i = 0; i < p->n_functions; i++) {
        const function *f = p->function[i];
        u64 of[4] = { 0, 0, 0, 0 };
        u32 line = UINT32_MAX;
        for (int k = 0; k < f->n_code; k++) {
            const u32 at = f->first + (u32)k, n = path[p->n_code + at];
            of[0] += path[at], of[1] += n, of[2] += n > 0, of[3] += n > 0 && at / LINE != line;
            line = n > 0 ? at / LINE : line;
        }
        for (int k = 0; k < 4; k++) all[k] += of[k];
        if (of[0])
            fprintf(stderr, "stage: %9llu cycles %7llu instructions %6llu different %5llu lines  %.*s\n",
                    (unsigned long long)of[0], (unsigned long long)of[1], (unsigned long long)of[2],
                    (unsigned long long)of[3], (int)f->name.n, f->name.at);
    }
    fprintf(stderr, "path:  %9llu cycles %7llu instructions %6llu different %5llu lines of %d kept\n",
            (unsigned long long)all[0], (unsigned long long)all[1], (unsigned long long)all[2],
            (unsigned long long)all[3], CODE);
}

static void print_top(const char *what, place *list, size_t n)
{
    qsort(list, n, sizeof *list, by_cycles);
    fprintf(stderr, "time:   %s:\n", what);
    for (size_t i = 0; i < n && i < TOP && list[i].cycles; i++) {
        fprintf(stderr, "time:   %9llu  %.*s", (unsigned long long)list[i].cycles, (int)list[i].name.n,
                list[i].name.at);
        if (list[i].line) fprintf(stderr, " %.*s:%u", (int)list[i].file.n, list[i].file.at, list[i].line);
        fprintf(stderr, "\n");
    }
}

void time_report(const grid *g)
{
    if (!time_on) return;
    const program *p = g->p;
    place *functions = calloc((size_t)p->n_functions, sizeof *functions), *lines = calloc(p->n_code, sizeof *lines);
    size_t n = 0;
    for (int i = 0; i < p->n_functions; i++) {
        const function *f = p->function[i];
        functions[i].name = f->name;
        for (int k = 0; k < f->n_code; k++) {
            const instruction *in = &f->code[k];
            u64 cycles = path[f->first + (u32)k];
            functions[i].cycles += cycles;
            if (!cycles || !in->source_line) continue;
            size_t at = n;
            for (size_t j = 0; j < n && at == n; j++)
                if (lines[j].line == in->source_line && lines[j].file.at == f->module->file[in->file & 63].at) at = j;
            n += at == n;
            lines[at].cycles += cycles;
            lines[at].line = in->source_line, lines[at].file = f->module->file[in->file & 63];
        }
    }
    fprintf(stderr,
            "time: %.*s, %u teams: the last one to write (team %u) does so at cycle %llu of a model, which is no "
            "measurement\n",
            (int)g->kernel->name.n, g->kernel->name.at, g->n_teams, last.team, (unsigned long long)last.end);
    fprintf(stderr,
            "time:   %llu warp instructions, %llu of them its own; sectors read %llu near, %llu L2, %llu DRAM; "
            "its loads under way on average %.1f\n",
            (unsigned long long)n_instructions, (unsigned long long)last.instructions, (unsigned long long)sectors[0],
            (unsigned long long)sectors[1], (unsigned long long)sectors[2],
            last.end ? (double)last.in_flight / (double)last.end : 0.0);
    print_stages(p);
    print_top("the path to it by function", functions, (size_t)p->n_functions);
    if (n) print_top("by line", lines, n);
    free(functions), free(lines);
}
