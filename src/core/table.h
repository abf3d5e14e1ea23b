/* ================================================================================================= >>sampler
   The object behind every samp_sampler, and the table of kinds, from which all that the library knows of a kind of
   sampler follows. In: a kind and its numbers, from a constructor (>>params). Out: the object, checked and complete.

   A sampler is one heap block: the record sampi_sampler, then up to four arrays ("parts") found by their offset, so
   that a copy of the bytes is a clone; what holds pointers to memory of its own has the hooks clone and free. What
   samp_sample was called on also owns the workspace, sampi_work. The one thing to know: settings never change after
   the making; what a draw changes is in `now`, which is put back if the draw fails, and what accepting changes comes
   after all that can fail. */

typedef struct sampi_sampler sampi_sampler;

typedef struct sampi_row sampi_row;       /* >>fast */
typedef struct sampi_io sampi_io;         /* life/state_fields.h */
typedef struct sampi_record sampi_record; /* life/past.h */
typedef struct sampi_field sampi_field;   /* core/fields.h */

/* ---- the kinds of samplers ----

   The list of all, each with its plan (samplers/plans.h; none: an executor that goes by plans leaves it to the steps);
   its order is the default order of a chain. What a kind is stands in the room of its sampler, and
   behind that its row, the macro SAMPI_<id>_ROW: sampi_traits, by place. From the rows follow what a sampler is
   called, told, checked, saved and made from samp_params, and which way it takes. core/kinds.h makes a table of them;
   there a kind whose part is not asked for has an empty row. */
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

/* A kind's number is its place in the list. It is stored nowhere (a fingerprint has the name), so kinds may move.
   SAMPI_N_KINDS is no kind: it is the length of what is indexed by kind, and what a search by name returns that found
   none. */
typedef enum sampi_kind {
#define SAMPI_KIND_ID(id, plan) SAMPI_##id,
    SAMPI_KINDS(SAMPI_KIND_ID)
#undef SAMPI_KIND_ID
        SAMPI_N_KINDS
} sampi_kind;

/* What others must know of a kind without knowing the kind. Most flags are promises of its apply, and the plans of
   the fast path and of the GPU rely on them: a promise that isn't kept shows as another token than the steps give.
   Without a flag a kind takes the slow way, which is right for all. */
enum {
    SAMPI_SELECTS = 1,           /* a token: it is meant to be the last of a chain */
    SAMPI_KEEPS_P = 2,           /* p stays as it was, and the order too unless SAMPI_SORTS or SAMPI_KEEPS_SOME */
    SAMPI_DROPS = 4,             /* masked tokens are removed */
    SAMPI_DROPS_FAST = 8,        /* and so they are by its fast function, but for a few that stay */
    SAMPI_SORTS = 0x10,          /* what it leaves is in order */
    SAMPI_KEEPS_SOME = 0x20,     /* and so it is where u.cut.min_keep is above 1: some are kept that it would cut */
    SAMPI_TAKES_FLOOR = 0x40,    /* its fast function knows a dense row's floor; the others get it compact */
    SAMPI_ONLY_SHOWS = 0x80,     /* changes nobody's chance: the fast path leaves it out */
    SAMPI_OWN_LOGITS = 0x100,    /* draws from other logits than those it is given */
    SAMPI_IF_ON = 0x200,         /* in the default order only if its values switch it on */
    SAMPI_PATCHES = 0x400,       /* changes the logits of a few tokens, each by a rule */
    SAMPI_ONLY_EDITS = 0x800,    /* sets or scales logits, and does no more */
    SAMPI_MASKS_NONE = 0x1000,   /* turns no logit into -infinity (temp only at temperature 0) */
    SAMPI_IF_NAMED = 0x2000,     /* never in the default order, and asked of parameters only if an order names it */
    SAMPI_BY_INTERFACE = 0x4000, /* has no apply in the table: the functions of its interface do the work */
    SAMPI_BY_CHANCE = 0x8000,    /* at times does nothing at all, and then writes no p; else it cuts */

    /* The last state of a view (samp_apply on long arrays) on which its fast function gives what the steps would:
       nothing is cut; tokens are masked; tokens are gone; the rest is in order. Without: the view closes before it. */
    SAMPI_VIEW_DENSE = 0x10000,
    SAMPI_VIEW_MASKED = 0x20000,
    SAMPI_VIEW_DROPPED = 0x30000,
    SAMPI_VIEW_SORTED = 0x40000,
    SAMPI_VIEW = 0x70000,

    /* In llama.cpp's arithmetic its fast function */
    SAMPI_LLAMA_DIVIDED = 0x80000,      /* knows logits that are still to be divided by a temperature, */
    SAMPI_LLAMA_BY_ORDER = 0x100000,    /* candidates that are in order, */
    SAMPI_LLAMA_TAKES_FLOOR = 0x200000, /* and a floor, as SAMPI_TAKES_FLOOR */
    SAMPI_LLAMA_SORTS = 0x400000,       /* its apply begins with sorting, so an array may be sorted before it */

    SAMPI_LISTS_FEW = 0x800000 /* its plan does well without a list of all tokens, which may be long */
};

/* What a kind has beyond numbers: arrays, a state that moves on. Each may be NULL.
     params     of a record from samp_params: what is no number, or not that number
     prepare    of a record with good fields, so no size is negative: check what their ranges don't say, and size the
                parts. make: a sampler is to be made of it; else what takes a walk over the vocabulary is left out
     build      fill the parts of a new sampler; the caller's list or breakers are read for the last time
     settings   the parts' share of the fingerprint
     accept     a token was chosen; can't fail, since others may have been told already
     reset      the state as new: when a sampler is made, and by samp_reset
     state      the state to bytes, or back (>>state)
     take_over  go on where `old`, the same sampler with other values, has got to; old NULL: there was none at work, and
                only the chain's samp_prev tells what was accepted
     past       what a draw and an accepted token change, but for the mt19937, to a record's words, or back
                (>>rollback); called if the sampler is on
     clone      a copy of what has memory of its own, or NULL: no memory. Without this hook the bytes are copied
     free       that memory goes; the record is freed by the caller
     mask       it stands first, and the sampler `chain` that it is in draws from a row of *n tokens: *bits are the
                tokens that may be chosen, which the caller may change until the next call; NULL: all. *n may become
                less. What has this hook masks tokens, so it must not stand behind what selects
     ready      it will be asked by its interface to take n tokens back: after this that can't fail
     kept       how many tokens it can take back. ready and kept: both or none; without them its interface is asked */
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

/* From clone to kept, of what has no such hook: its bytes are all of it, and it masks no row. */
#define SAMPI_BYTES_ONLY NULL, NULL, NULL, NULL, NULL
static const sampi_hooks SAMPI_NO_HOOKS = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, SAMPI_BYTES_ONLY };

/* A row of the table. It stands by place, as C++11 has no designated initialisers. */
typedef struct sampi_traits {
    const char *name;  /* what samp_name says; part of a saved state's fingerprint: never change one */
    uint32_t draws;    /* its number in Philox's counter, 0: it draws nothing. It decides tokens: never change one */
    char letter;       /* what samp_params.order may call it: a letter, */
    const char *steps; /* and names with ';' between; 0 and "": nothing */
    unsigned flags;
    const sampi_field *field; /* [n_fields] its numbers, in core/fields.h's order */
    size_t n_fields;
    bool (*off)(const sampi_sampler *); /* do its values switch it off? NULL: none does */
    const sampi_hooks
        *hooks; /* what it has beyond numbers; never NULL. Called by this, but from the kind's own code */
    int (*apply)(sampi_sampler *, samp_token_data_array *); /* its meaning, step by step, as sampi_run calls it */
    int (*fast)(sampi_row *,
                sampi_sampler *); /* the same on a row of logits (>>fast); NULL: the row becomes an array */
#ifndef SAMP_NO_MT19937
    int (*apply_llama)(sampi_sampler *, samp_token_data_array *); /* both in llama.cpp's arithmetic */
    int (*fast_llama)(sampi_row *, sampi_sampler *);
#define SAMPI_BY_LLAMA_CPP(apply, fast) apply, fast
#else
#define SAMPI_BY_LLAMA_CPP(apply, fast)
#endif
} sampi_traits;

/* Fields in a row: a list, or none. */
#define SAMPI_FIELDS_OF(list) list, sizeof list / sizeof list[0]
#define SAMPI_NO_FIELDS       NULL, 0

/* The row of a kind. Its table stands behind all rooms, where all that the rows name has been defined. */
static const sampi_traits *sampi_traits_of(sampi_kind kind);
