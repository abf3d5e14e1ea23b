/* ptx.h - a software GPU for tests: gcc's offloaded code, as the PTX in the program, interpreted on the CPU.

   It is built as libcuda.so.1. libgomp's plugin for nvptx loads that name, finds one device, links the program's PTX,
   maps memory and launches kernels, so the program itself runs unchanged.

   Included      The semantics of the PTX that gcc 12 writes for OpenMP, and of the device's libgomp, libc and libm that
                 it is linked with: warps of 32 lanes with divergence, teams (thread blocks) at once, soft stacks,
                 shuffles, barriers, atomics. The interpreter checks every address, whether bytes that are read were
                 written, and fences between teams.
   Not included  A driver, or ptxas: the code that the assembler makes of the PTX is not seen. The memory is
   sequentially
                 consistent: a missing fence is reported, but changes no result here. The model of time (time.c) shows
                 where work is serial; its figures are not measurements.
   Which PTX     The instructions of ops.h and of parse_instruction in parse.c. Another instruction is an error when the
                 program is linked; the message has its text. No textures, no warp-level matrices, no recursion beyond
                 MAX_DEPTH.

   Addresses: global, const and generic addresses are those of the host; shared addresses are offsets within the team's
   block, local ones within a lane's block; cvta makes generic addresses of them.

   Environment variables, with their default:
     SAMP_PTX_SMS       the number of multiprocessors: 132
     SAMP_PTX_REGISTERS registers of a thread, as libgomp asks for them: 255, with which 8 teams of one warp run on each
                        multiprocessor at once
     SAMP_PTX_RESIDENT  the number of teams that run at once, instead of what these two give
     SAMP_PTX_ORDER     a seed for the order in which teams begin; 0: by their numbers
     SAMP_PTX_SLICE     instructions (or cycles) that a warp runs before the next warp does: 2000
     SAMP_PTX_APART     1: lanes that diverge run apart until a collective joins them, the last ones first
     SAMP_PTX_LANES     the number of strands into which the lanes of a warp may diverge between two barriers, at any
                        instruction: 1, in lockstep; more strands find words that one lane stores and another loads
                        without a barrier in between
     SAMP_PTX_SEED      a seed for the order of strands: 1; 0: lanes diverge at branches only
     SAMP_PTX_RACES     0: do not look for words that one team stores and another uses without a fence in between
     SAMP_PTX_STRICT    1: such a word is an error, not only a message; 2: so is a read of bytes that were never written
     SAMP_PTX_REGISTER  0: the driver refuses to register host memory; 1: it does
     SAMP_PTX_TIME      1: run the model of time, and print its figures for each launch
     SAMP_PTX_FETCH, SAMP_PTX_FENCE, SAMP_PTX_GPU_FENCE, SAMP_PTX_JITTER, SAMP_PTX_MOVE, SAMP_PTX_DRAM,
     SAMP_PTX_DRAM_SECTORS, SAMP_PTX_HOST  numbers of that model: see time.c
     SAMP_PTX_VERBOSE   1: print what is linked and launched */
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

typedef u64 lanes[LANES]; /* a register, one value per lane; bits above its type's width are undefined */

/* A name in the text of a module. */
typedef struct text {
    const char *at;
    u32 n;
} text;

/* A map from names to small numbers. */
typedef struct map {
    struct map_entry {
        text name;
        int value;
    } * entry;
    u32 size, used;
} map;

int *map_at(map *m, text name, int otherwise); /* adds the name if it is missing */
int map_find(const map *m, text name);         /* -1: the name is missing */

/* An operand >= 0 is a register of the function, < 0 the constant ~operand; NONE means that there is none. */
enum { NONE = INT32_MIN };

typedef struct instruction {
    u16 op;
    bool negated; /* the guard predicate is negated */
    u8 space, bytes, n_src, n_dst;
    bool sign;   /* a load extends the sign */
    bool acquires;
    u8 issue;    /* model of time: number of machine instructions */
    u16 latency; /* model of time: cycles until the result exists; 0 and issue 0: only a name */
    int guard, dst[2], src[4];
    int target; /* branch: its label, later its instruction; call: its index in the function's list of calls */
    s64 offset; /* offset of an address */
    u32 line;
    u16 file, source_line; /* position by .loc */
    struct block *seen;    /* the block of its last address */
} instruction;

typedef struct constant {
    u64 value;
    text symbol; /* name whose address is added at the link */
} constant;

typedef struct call {
    int callee; /* an operand */
    int n, arg[MAX_ARGS];
} call;

typedef struct function {
    text name;
    struct module *module;
    bool defined, entry, visible;
    int builtin; /* number of malloc or another builtin; 0: not a builtin */
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
    u32 first; /* index of its first instruction in the program */
} function;

typedef struct variable {
    text name;
    struct module *module;
    bool visible, external, shared;
    u64 size, address; /* address; of a shared variable the offset */
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

/* parse.c. Both return false, with a message on stderr, if something is not understood or is missing. */
bool ptx_parse(program *p, const char *source, size_t size);
bool ptx_link(program *p);
const char *ptx_op_name(int op);

/* memory.c. A range of memory that can be addressed, and which bytes of it were written. */
typedef struct block {
    u64 lo, hi;
    const char *name;
    u8 *state;   /* [hi - lo] bits: a byte was written; NULL: all were */
    u64 *owner;  /* [hi - lo][2] lanes that used a byte, see lanes_of; NULL if lanes run in lockstep */
    u64 *stored; /* [words] who stored a word last, see check_race; NULL for the program's variables, to
                    which all of libgomp's teams store the same */
    u32 *came;   /* model of time: when each sector came into the second cache */
    u64 shift;   /* registered memory of the host: the device's address minus the host's; else 0 */
    u8 *base;
} block;

enum { WRITTEN = 1 };
#define REGISTERED ((u64)1 << 50) /* the shift of registered memory */

block *block_new(u64 size, const char *name, bool variable); /* all bytes of a variable count as written */
block *block_shared(u64 size);
block *block_find(u64 address);                              /* NULL: no block has the address */
bool block_free(u64 address);
void block_wrote(block *b, u64 address, u64 n);
block *block_register(u64 host, u64 size); /* host memory, at another address for kernels */

/* run.c */
typedef struct group {
    int pc;
    u32 mask;
    bool waits; /* waits at a collective for the other lanes */
} group;

typedef struct frame {
    const function *fn;
    lanes *reg;
    u64 *ready;    /* model of time: when each register's value exists */
    u32 all, mask; /* lanes of this call that have not returned; lanes that run now */
    u32 entered;
    int pc, min_pc, n_groups;
    group groups[LANES];
    u32 local;
    int result; /* register of the caller for the result */
} frame;

/* Whether a strand (lanes of a warp that have diverged from the running ones) waits for others. */
enum waits {
    NO,
    IF_THEY_CAN, /* for those that can reach the same place */
    ALWAYS       /* for all, at a collective */
};

typedef struct strand {
    u32 mask, local_top, passed;
    int depth;
    enum waits waits;
    frame *frames;
} strand;

typedef struct warp {
    struct team *team;
    strand strands[LANES];
    u32 n_strands;
    u32 epoch, stack_epoch, atomic_epoch; /* number of its last barrier; also of the last one for stacks,
                                             for atomics */
    bool has_waited;                      /* the current strand has waited, and goes on */
    u32 passed;                           /* places where lanes join if they can, that the current strand has passed
                                             since the last barrier: a strand with fewer is behind */
    u32 number, live;                     /* its number; lanes that have not exited */
    int depth, barrier;
    frame frames[MAX_DEPTH];
    lanes *reg;
    u64 *ready;
    u32 n_regs, local_top;
    u8 *local; /* [LANES][LOCAL_BYTES] */
    u64 clock, n_instructions, last_store, in_flight;
    u64 atomics_end; /* model of time: when its last atomic is done */
    const instruction *asked; /* model of time: the atomic that changed nothing, its address, and the value
                                 that it read */
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
    u32 *cycles, n_cycles; /* model of time: cycles per instruction of the program; then how often it ran */
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
u64 time_begin(u32 team);
u32 time_place(u32 team);
extern struct atomic_result {
    u64 old; /* the value that the first lane read */
    bool changed;
} last_atomic;
void time_issue(warp *w, frame *f, const instruction *in, u32 mask, const u64 *address);
void time_team_done(team *t);
void time_report(const grid *g);

#endif
