/* ptx.h - a software GPU for tests: gcc's offloaded code, as the PTX in the program, interpreted on the CPU.

   It is built as libcuda.so.1. libgomp's plugin for nvptx loads that name, finds one device, links the program's PTX,
   maps memory and launches kernels, so the program itself runs unchanged.

   What it is    The semantics of the PTX that gcc 12 writes for OpenMP, and of the device's libgomp, libc and libm
                 behind it: warps of 32 lanes with divergence, teams at once, soft stacks, shuffles, barriers, atomics.
                 Every address is checked, that what is read has been written, and fences between teams.
   What it isn't A driver, or ptxas: what the assembler makes of the PTX is not seen. The memory is sequentially
                 consistent: a missing fence is reported, but does no harm here. The model of time (time.c) is a guide
                 to serial stretches, never a measurement.
   Which PTX     the instructions of ops.h and of parse_instruction in parse.c. Another one is an error when the program
                 is linked, with its text. No textures, no warp-level matrices, no recursion beyond MAX_DEPTH.

   Addresses: global, const and generic are addresses of the host; shared are offsets within the team's block, local are
   offsets within a lane's, and cvta makes generic ones of them.

     SAMP_PTX_SMS       multiprocessors: 132
     SAMP_PTX_REGISTERS of a thread, which libgomp asks for: 255, so that 8 teams of one warp run on each of them
     SAMP_PTX_RESIDENT  teams that run at once, if others than these two give
     SAMP_PTX_ORDER     a seed: teams begin in an order of their own; 0: as they are numbered
     SAMP_PTX_SLICE     instructions (or cycles) that a warp runs before the next one does: 2000
     SAMP_PTX_APART     1: lanes that part run apart until a collective brings them together, the last ones first
     SAMP_PTX_LANES     strands that the lanes of a warp part into between two barriers, at any instruction: 1, in step;
                        more find words that one lane stores and another loads with no barrier in between
     SAMP_PTX_SEED      of the order of strands: 1; 0: lanes part at branches only
     SAMP_PTX_RACES     0: don't look for words that one team stores and another uses with no fence in between
     SAMP_PTX_STRICT    1: such a word is an error and not only a message; 2: so is a read of what was never written
     SAMP_PTX_TIME      1: the model of time; prints per launch
     SAMP_PTX_VERBOSE   1: prints what is linked and launched */
#ifndef PTX_H
#define PTX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

enum { LANES = 32, MAX_DEPTH = 32, MAX_WARPS = 32, MAX_ARGS = 16, N_BARRIERS = 16, SMS = 132 };
enum { SHARED_BYTES = 4096, LOCAL_BYTES = 4096 };
enum { GENERIC, SHARED, LOCAL };

typedef u64 lanes[LANES]; /* a register: what is above its type's width is not defined */

/* A name, from the text of a module. */
typedef struct text {
    const char *at;
    u32 n;
} text;

/* Names to small numbers. */
typedef struct map {
    struct map_entry {
        text name;
        int value;
    } * entry;
    u32 size, used;
} map;

int *map_at(map *m, text name, int otherwise); /* adds the name if it is missing */
int map_find(const map *m, text name);         /* -1: missing */

/* An operand >= 0 is a register of the function, < 0 the constant ~operand; NONE is none. */
enum { NONE = INT32_MIN };

typedef struct instruction {
    u16 op;
    bool negated; /* the guard */
    u8 space, bytes, n_src, n_dst;
    bool sign;   /* a load extends the sign */
    u8 issue;    /* time: instructions of the machine, */
    u16 latency; /* and cycles until the result is there; 0, 0: a mere name */
    int guard, dst[2], src[4];
    int target; /* branch: label, then instruction; call: its arguments in the function's list */
    s64 offset; /* of an address */
    u32 line;
    u16 file, source_line; /* .loc */
    struct block *seen;    /* where its last address was */
} instruction;

typedef struct constant {
    u64 value;
    text symbol; /* its address is added when linked */
} constant;

typedef struct call {
    int callee; /* operand */
    int n, arg[MAX_ARGS];
} call;

typedef struct function {
    text name;
    struct module *module;
    bool defined, entry, visible;
    int builtin; /* malloc .. or 0 */
    int n_params, param[MAX_ARGS], result;
    instruction *code;
    int n_code, n_regs, n_constants, n_calls, n_labels;
    constant *constant;
    lanes *value; /* [n_constants] */
    call *calls;
    int *label;
    u32 local_bytes;
    map regs, labels, locals;
    int number;
    u32 first; /* of its instructions among the program's */
} function;

typedef struct variable {
    text name;
    struct module *module;
    bool visible, external, shared;
    u64 size, address; /* of shared: the offset */
} variable;

typedef struct module {
    char *source;
    text file[64];
    map functions, variables; /* numbers within the program */
} module;

typedef struct program {
    module **module;
    int n_modules;
    function **function;
    int n_functions;
    variable *variable;
    int n_variables;
    map functions, variables; /* the visible ones */
    u32 shared_bytes, n_code;
} program;

/* parse.c: false, and a message on stderr, if something isn't understood or is missing. */
bool ptx_parse(program *p, const char *source, size_t size);
bool ptx_link(program *p);
const char *ptx_op_name(int op);

/* memory.c: what can be addressed, and what has been written. */
typedef struct block {
    u64 lo, hi;
    const char *name;
    u8 *state;   /* [hi - lo] bits, or NULL: all is written */
    u64 *owner;  /* [hi - lo][2] see lanes_store; NULL where lanes are in step */
    u64 *stored; /* [words] see check_race; NULL for the program's variables, where libgomp's teams
                    all store the same */
    u8 *base;
} block;

enum { WRITTEN = 1, CACHED = 2 };

block *block_new(u64 size, const char *name, bool variable); /* a variable counts as written */
block *block_find(u64 address);                              /* NULL: none */
bool block_free(u64 address);
void block_wrote(block *b, u64 address, u64 n);

/* run.c */
typedef struct group {
    int pc;
    u32 mask;
    bool waits; /* for the other lanes, at a collective */
} group;

typedef struct frame {
    const function *fn;
    lanes *reg;
    u64 *ready;    /* time: when each register is there */
    u32 all, mask; /* lanes of this call that have not returned; those that run now */
    u32 entered;
    int pc, min_pc, n_groups;
    group groups[LANES];
    u32 local;
    int result; /* where the caller wants it */
} frame;

/* Lanes of a warp that have parted from those that run. */
enum waits {
    NO,
    IF_THEY_CAN, /* for those that can come along */
    ALWAYS       /* at a collective */
};

typedef struct strand {
    u32 mask, local_top;
    int depth;
    enum waits waits;
    frame *frames;
} strand;

typedef struct warp {
    struct team *team;
    strand strands[LANES];
    u32 n_strands;
    u32 epoch, stack_epoch, atomic_epoch; /* the number of its last barrier; for stacks, and atomics */
    bool has_waited;                      /* so that the current strand goes on */
    u32 number, live;                     /* lanes that have not exited */
    int depth, barrier;
    frame frames[MAX_DEPTH];
    lanes *reg;
    u64 *ready;
    u32 n_regs, local_top;
    u8 *local; /* [LANES][LOCAL_BYTES] */
    u64 clock, n_instructions, last_store, in_flight;
    const instruction *asked; /* time: the atomic that changed nothing, where, and what it saw */
    u64 asked_at, saw;
    bool waited;
} warp;

typedef struct team {
    u32 number, n_warps, n_done, sm;
    bool runs;
    struct {
        u32 arrived, needed;
    } barrier[N_BARRIERS];
    u8 *shared;
    warp *warp;
    u32 *cycles, n_cycles; /* time: per instruction of the program */
} team;

typedef struct grid {
    const program *p;
    const function *kernel;
    u32 n_teams, n_warps;
    u64 arg[MAX_ARGS];
    int n_args;
} grid;

bool ptx_run(const grid *g);
u64 ptx_setting(const char *name, u64 otherwise);

/* time.c */
extern bool time_on;
void time_start(const grid *g);
extern struct atomic_result {
    u64 old; /* the first lane's */
    bool changed;
} last_atomic;
void time_issue(warp *w, frame *f, const instruction *in, u32 mask, const u64 *address);
void time_team_done(team *t);
void time_report(const grid *g);

#endif
