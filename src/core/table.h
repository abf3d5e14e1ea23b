/* ================================================================================================= >>sampler
   The object behind every samp_sampler, and the table of kinds, which describes each kind of sampler. A constructor
   (>>params) brings a kind and its numbers; the object is checked and complete.

   A sampler is one heap block: the record sampi_sampler, then up to four arrays ("parts") at known offsets. So a copy
   of the bytes is a clone; samplers with memory of their own have the hooks clone and free. The sampler that
   samp_sample was called on also owns the workspace, sampi_work.

   The rule of this floor: settings never change after the constructor. A draw changes only `now`, which is restored if
   the draw fails. A token is accepted after everything that can fail. */

typedef struct sampi_sampler sampi_sampler;

typedef struct sampi_row sampi_row;       /* >>fast */
typedef struct sampi_io sampi_io;         /* life/state_fields.h */
typedef struct sampi_record sampi_record; /* life/past.h */
typedef struct sampi_field sampi_field;   /* core/fields.h */

/* ---- the kinds of samplers ----

   The list of all kinds, each with its plan (samplers/plans.h). `none`: there is no plan, so executors that run plans
   leave the sampler to the steps. The order of the list is the default order of a chain.
   A kind's meaning is in the room of its sampler, which ends with the kind's row of the table: the macro
   SAMPI_<id>_ROW, the members of sampi_traits in order. The rows decide the samplers' names, checks, saved states,
   descriptions, how samp_params make them, and which way a draw takes. core/kinds.h makes the table; a kind whose part
   is not compiled has an empty row there. */
/* clang-format off */
#ifdef SAMPLING_GUMBEL_DECLARED
#define SAMPI_GUMBEL_KIND(X) X(GUMBEL, gumbel)
#else
#define SAMPI_GUMBEL_KIND(X) X(GUMBEL, none)
#endif
#define SAMPI_KINDS(X) \
    X(LOGIT_BIAS, patch) \
    X(PENALTIES, patch) \
    X(DRY, patch) \
    X(TOP_N_SIGMA, top_n_sigma) \
    X(TOP_K, top_k) \
    X(TAIL_FREE, tail_free) \
    X(TYPICAL, typical) \
    X(TOP_P, top_p) \
    X(MIN_P, min_p) \
    X(TOP_A, by_sums) \
    X(P_LESS, by_sums) \
    X(P_LESS_NORM, by_sums) \
    X(EPSILON, by_sums) \
    X(ETA, by_sums) \
    X(TOP_H, beginning) \
    X(MIN_K, beginning) \
    X(XTC, xtc) \
    X(INFILL, none) \
    X(TEMP, temp) \
    X(TEMP_EXT, temp) \
    X(SMOOTHING, smoothing) \
    X(LOG_SOFTMAX, log_softmax) \
    X(SOFTMAX, softmax) \
    X(GREEDY, greedy) \
    X(DIST, dist) \
    X(MIROSTAT, mirostat) \
    X(MIROSTAT_V2, mirostat_v2) \
    X(ADAPTIVE_P, adaptive_p) \
    SAMPI_GUMBEL_KIND(X) \
    X(CHAIN, none) \
    X(CUSTOM, none) \
    X(GRAMMAR, none) \
    X(CONSTRAINT, none) \
    X(TOP_P_DECAY, top_p) \
    X(WATERMARK, none) \
    X(SYNTHID, none) \
    X(SBW, none)
/* clang-format on */

/* A kind's number is its index in the list. It is never stored (a fingerprint has the name), so kinds may move.
   SAMPI_N_KINDS is the length of arrays indexed by kind, and the result of a search by name that finds no kind. */
typedef enum sampi_kind {
#define SAMPI_KIND_ID(id, plan) SAMPI_##id,
    SAMPI_KINDS(SAMPI_KIND_ID)
#undef SAMPI_KIND_ID
        SAMPI_N_KINDS
} sampi_kind;

/* Properties of a kind. Most flags are promises about its apply function; the fast path and the GPU rely on them, and a
   broken promise gives another token than the steps. Without a flag a kind takes the slow way, which is right. */
enum {
    SAMPI_SELECTS = 1,           /* selects a token; meant to be the last of a chain */
    SAMPI_KEEPS_P = 2,           /* leaves p as it was, and the order too unless SAMPI_SORTS or SAMPI_KEEPS_SOME */
    SAMPI_DROPS = 4,             /* removes masked tokens */
    SAMPI_DROPS_FAST = 8,        /* its fast function removes them too, except a few */
    SAMPI_SORTS = 0x10,          /* leaves the candidates in order */
    SAMPI_KEEPS_SOME = 0x20,     /* sorts if u.cut.min_keep is above 1, to keep tokens that it would cut */
    SAMPI_TAKES_FLOOR = 0x40,    /* its fast function accepts a dense row with a floor; others get a compact row */
    SAMPI_ONLY_SHOWS = 0x80,     /* changes no token's chance: the fast path leaves it out */
    SAMPI_OWN_LOGITS = 0x100,    /* draws from other logits than those it gets */
    SAMPI_IF_ON = 0x200,         /* is in the default order only if its values switch it on */
    SAMPI_PATCHES = 0x400,       /* changes the logits of a few tokens, each by a rule */
    SAMPI_ONLY_EDITS = 0x800,    /* sets or scales logits, and does nothing else */
    SAMPI_MASKS_NONE = 0x1000,   /* turns no logit into -infinity (temp only at temperature 0) */
    SAMPI_IF_NAMED = 0x2000,     /* is never in the default order; its parameters count only if an order names it */
    SAMPI_BY_INTERFACE = 0x4000, /* has no apply in the table: its interface's functions do the work */
    SAMPI_BY_CHANCE = 0x8000,    /* at random either cuts, or does nothing and writes no p */

    /* The last state of a view (samp_apply on long arrays) in which its fast function gives the same as the steps:
       nothing is cut; tokens are masked; tokens are gone; the rest is in order. Without one the view closes first. */
    SAMPI_VIEW_DENSE = 0x10000,
    SAMPI_VIEW_MASKED = 0x20000,
    SAMPI_VIEW_DROPPED = 0x30000,
    SAMPI_VIEW_SORTED = 0x40000,
    SAMPI_VIEW = 0x70000,

    /* What its fast function accepts in llama.cpp's arithmetic, and what its apply does there. */
    SAMPI_LLAMA_DIVIDED = 0x80000,      /* logits that a temperature has yet to divide */
    SAMPI_LLAMA_BY_ORDER = 0x100000,    /* candidates in order */
    SAMPI_LLAMA_TAKES_FLOOR = 0x200000, /* a floor, as SAMPI_TAKES_FLOOR */
    SAMPI_LLAMA_SORTS = 0x400000,       /* its apply sorts first, so the array may be sorted before it */

    /* What its plan does, for executors that look ahead. */
    SAMPI_LISTS_FEW = 0x800000,   /* never needs the list of all tokens, which may be long */
    SAMPI_LISTS_M = 0x1000000,    /* needs the first u.mirostat.m, which may be many */
    SAMPI_SEEKS_END = 0x2000000,  /* looks for the end of a prefix by mass or by number, or asks for the deviation */
    SAMPI_CUTS_LAST = 0x4000000,  /* cuts, and behind the cut only draws, if it selects */
    SAMPI_TO_K = 0x8000000,       /* keeps the first u.top_k.k, and what equals the last of them if u.top_k.ties */
    SAMPI_TO_FLOOR = 0x10000000,  /* keeps what reaches the maximum + ln u.cut.p, or the first u.cut.min_keep */
    SAMPI_DRAWS_ALL = 0x20000000, /* draws from all that it gets, by these logits, and nothing else */
    SAMPI_BY_SCORE = 0x40000000   /* cuts by typical's score, and leaves the candidates in that order */
};

/* The functions of a kind beyond apply. Each may be NULL.
     params     copies from samp_params what the fields do not describe
     prepare    checks what the fields' ranges do not say, and sizes the parts. The fields are already valid. make: a
                sampler is going to be made; otherwise checks that walk over the vocabulary are left out
     build      fills the parts of a new sampler; it reads the caller's list or breakers for the last time
     settings   adds the parts to the fingerprint
     accept     takes note of a chosen token. It cannot fail, because other samplers may have accepted it already
     reset      sets the state to that of a new sampler: in the constructor and in samp_reset
     state      writes the state to bytes, or reads it (>>state)
     take_over  copies the state of `old`, the same sampler with other values. old NULL: there was no such sampler, and
                only the chain's samp_prev has the accepted tokens
     past       writes to a record's words, or reads from them, what a draw and an accepted token change, except the
                mt19937 (>>rollback). It is called if the sampler is on
     clone      copies a sampler that has memory of its own; NULL: no memory. Without this hook the bytes are copied
     free       frees that memory; the caller frees the record
     mask       called on a chain's first member when `chain` draws from a row of *n tokens. *bits: the tokens that
                may be chosen, NULL: all; the caller may change the bits until the next call. *n may get smaller. A
                sampler with this hook masks tokens, so it must not follow a selector
     ready      prepares to take n tokens back through the interface, which cannot fail afterwards
     kept       returns how many tokens it can take back. A kind has both ready and kept or neither; without them the
                interface is called directly */
typedef struct sampi_hooks {
    void (*params)(sampi_sampler *, const samp_params *);
    void (*prepare)(sampi_sampler *, bool make);
    void (*build)(sampi_sampler *);
    void (*settings)(const sampi_sampler *, uint64_t *hash);
    void (*accept)(sampi_sampler *, samp_token);
    void (*reset)(sampi_sampler *);
    void (*state)(sampi_sampler *, sampi_io *);
    void (*take_over)(sampi_sampler *, const sampi_sampler *old, const sampi_sampler *chain);
    void (*past)(sampi_sampler *, sampi_record *);
    samp_sampler *(*clone)(const sampi_sampler *);
    void (*free)(sampi_sampler *);
    int (*mask)(sampi_sampler *, const sampi_sampler *chain, size_t *n, uint32_t **bits);
    int (*ready)(sampi_sampler *, int32_t n);
    int32_t (*kept)(const sampi_sampler *);
} sampi_hooks;

/* The hooks from clone to kept of a sampler that has no memory besides its bytes and masks no row. */
#define SAMPI_BYTES_ONLY NULL, NULL, NULL, NULL, NULL
static const sampi_hooks SAMPI_NO_HOOKS = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, SAMPI_BYTES_ONLY };

/* A row of the table. Rows name no members, because C++11 has no designated initialisers. */
typedef struct sampi_traits {
    const char *name;  /* samp_name's; part of a saved state's fingerprint: must never change */
    uint32_t draws;    /* its number in Philox's counter; 0: it does not draw. It decides tokens: must never change */
    char letter;       /* its letter in samp_params.order; 0: no letter */
    const char *steps; /* its names in samp_params.order, with ';' between; "": no name */
    unsigned flags;
    const sampi_field *field; /* [n_fields] its numbers (core/fields.h) */
    size_t n_fields;
    bool (*off)(const sampi_sampler *);                     /* do its values switch it off? NULL: no value does */
    const sampi_hooks *hooks;                               /* never NULL; other rooms call hooks through it */
    int (*apply)(sampi_sampler *, samp_token_data_array *); /* its definition over an array; sampi_run calls it */
    int (*fast)(sampi_row *, sampi_sampler *); /* the same on a row (>>fast); NULL: the row becomes an array */
#ifndef SAMP_NO_MT19937
    int (*apply_llama)(sampi_sampler *, samp_token_data_array *); /* apply in llama.cpp's arithmetic */
    int (*fast_llama)(sampi_row *, sampi_sampler *);
#define SAMPI_BY_LLAMA_CPP(apply, fast) apply, fast
#else
#define SAMPI_BY_LLAMA_CPP(apply, fast)
#endif
} sampi_traits;

/* The fields and n_fields of a row. */
#define SAMPI_FIELDS_OF(list) list, sizeof list / sizeof list[0]
#define SAMPI_NO_FIELDS       NULL, 0

/* Returns the row of a kind. The table is in core/kinds.h, below all rooms whose functions the rows name. */
static const sampi_traits *sampi_traits_of(sampi_kind kind);
