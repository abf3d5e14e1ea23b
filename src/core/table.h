/* ================================================================================================= >>sampler
   The object behind every samp_sampler, and the table of kinds, which describes each kind (type) of sampler. A
   constructor (>>params) makes an object from a kind and its parameters, and checks it.

   A sampler is one heap block: the record sampi_sampler, then up to four arrays ("parts") at known offsets. So a copy
   of the bytes is a clone; samplers with memory of their own have the hooks clone and free. The sampler that
   samp_sample was called on also owns the workspace, sampi_work.

   Settings never change after the constructor. A draw changes only `now`, which is restored if the draw fails. A token
   is accepted only after every step that can fail. */

typedef struct sampi_sampler sampi_sampler;

typedef struct sampi_row sampi_row;       /* >>fast */
typedef struct sampi_io sampi_io;         /* life/state_fields.h */
typedef struct sampi_record sampi_record; /* life/past.h */
typedef struct sampi_field sampi_field;   /* core/fields.h */

/* ---- the kinds of samplers ----

   The list of all kinds, each with its plan (samplers/plans.h). A plan is the sampler's algorithm for slices and
   devices; a kind with `none` has no plan, so there the sampler runs step by step over an array. The order of the list
   is the default order of a chain. The file of each sampler ends with the kind's row of the table: the macro
   SAMPI_<id>_ROW, which has the members of sampi_traits in order. The rows decide the samplers' names, checks, saved
   states, descriptions, how samp_params make them, and which executor a draw uses. core/kinds.h makes the table; a kind
   whose optional part is not compiled has an empty row there. */
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
    X(XTC_EXCEPT, none) \
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
    X(TIMESTAMPS, none) \
    X(WATERMARK, none) \
    X(SYNTHID, none) \
    X(SBW, none) \
    X(RAS, none) \
    X(REPLAY, none)
/* clang-format on */

/* The number of a kind is its index in the list. It is never stored (a fingerprint has the name instead), so kinds may
   move in the list. SAMPI_N_KINDS is the length of arrays indexed by kind, and the result of a search by name that
   finds no kind. */
typedef enum sampi_kind {
#define SAMPI_KIND_ID(id, plan) SAMPI_##id,
    SAMPI_KINDS(SAMPI_KIND_ID)
#undef SAMPI_KIND_ID
        SAMPI_N_KINDS
} sampi_kind;

/* Properties of a kind. Most flags are promises about its apply function. The fast path and the GPU rely on them, and a
   broken promise gives another token than the apply functions give. Without a flag a kind is run in the slower way,
   which is always right. */
enum {
    SAMPI_SELECTS = 1, /* the sampler selects a token, so it should be the last sampler of a chain */
    /* the sampler leaves p as it was, and the order too unless it has SAMPI_SORTS or SAMPI_KEEPS_SOME */
    SAMPI_KEEPS_P = 2,
    SAMPI_DROPS = 4,         /* the sampler removes masked tokens */
    SAMPI_DROPS_FAST = 8,    /* the sampler's function on a row removes masked tokens too, except a few */
    SAMPI_SORTS = 0x10,      /* the sampler leaves the candidates in order */
    SAMPI_KEEPS_SOME = 0x20, /* the sampler sorts if its min_keep is above 1, to keep tokens that it would cut */
    /* the sampler's function on a row accepts the row in place with a floor; the functions of other kinds get the
       remaining tokens as a copy */
    SAMPI_TAKES_FLOOR = 0x40,
    SAMPI_ONLY_SHOWS = 0x80,   /* the sampler changes no token's probability, so the fast path leaves it out */
    SAMPI_OWN_LOGITS = 0x100,  /* the sampler draws from logits that it computes, not from those it gets */
    SAMPI_IF_ON = 0x200,       /* the sampler is in the default order only if its parameters switch it on */
    SAMPI_PATCHES = 0x400,     /* the sampler changes the logits of a few tokens, each by a rule */
    SAMPI_ONLY_EDITS = 0x800,  /* the sampler sets or scales logits and does nothing else */
    SAMPI_MASKS_NONE = 0x1000, /* the sampler turns no logit into -infinity (temp only at temperature 0) */
    /* the sampler is never in the default order; its parameters count only if an order names it */
    SAMPI_IF_NAMED = 0x2000,
    SAMPI_BY_CHANCE = 0x8000, /* at random the sampler cuts, or does nothing and writes no p */

    /* The states of a view (run/apply.h), each further than the one before. As a flag a kind has the last state in
       which its function on rows gives the same result as its apply. A kind without one gets the array itself. */
    SAMPI_VIEW_CLOSED = 0,        /* there is only the array */
    SAMPI_VIEW_DENSE = 0x10000,   /* nothing is cut */
    SAMPI_VIEW_MASKED = 0x20000,  /* tokens that are not in the row are masked candidates of the array */
    SAMPI_VIEW_DROPPED = 0x30000, /* the row's tokens are the only candidates */
    SAMPI_VIEW_SORTED = 0x40000,  /* and they are in the view's order, in which closing it writes them */
    SAMPI_VIEW = 0x70000,

    /* in llama.cpp's arithmetic too, the sampler's function on a row leaves the candidates that its apply leaves */
    SAMPI_SAME_IN_LLAMA = 0x80000,

    /* the plan looks for the end of a prefix, or asks for the deviation; an executor may fetch the answer before */
    SAMPI_SEEKS_END = 0x2000000
};

/* The hooks of a kind: functions besides apply that common code calls. Each may be NULL.
     params:    copies those parameters from samp_params that no field describes.
     prepare:   checks conditions beyond the ranges of fields, and sizes the parts (the arrays behind the record). Each
                field is already in its range. If `make` is false, no sampler will be made, and checks that walk over
                the vocabulary are left out.
     build:     fills the parts of a new sampler; it reads the caller's list or breakers for the last time.
     settings:  adds the parts to the fingerprint.
     accept:    updates the state with a chosen token. It cannot fail, because other samplers may have accepted it
                already.
     reset:     sets the state to that of a new sampler: in the constructor and in samp_reset.
     state:     writes the state to bytes, or reads it (>>state).
     take_over: copies the state of `old`, the same sampler with other parameters. If old is NULL, there was no such
                sampler, and the accepted tokens are taken from the chain's samp_prev.
     past:      writes what a draw and an accepted token change to the words of a rollback's record, or reads it from
                them, without the mt19937 (>>rollback). It is called unless the sampler is off.
     clone:     copies a sampler that has memory of its own, and returns NULL if there is no memory. Without this hook
                the bytes are copied.
     free:      frees the sampler's own memory; the caller frees the record.
     mask:      called on a chain's first member when `chain` draws from a row of *n tokens. It sets *bits to the tokens
                that may be chosen, or NULL for all; the caller may change the bits until the next call. It may lower
                *n. A sampler with this hook masks tokens, so it must not follow a sampler that selects.
     ready:     prepares to take n accepted tokens back through the interface, so that this cannot fail afterwards.
     kept:      returns how many accepted tokens it can take back. A kind has both `ready` and `kept` or neither;
                without them the interface is called directly.
     vocab:     returns the vocabulary that the sampler reads, or NULL. A row must have a logit for each of its tokens
                (sampi_life_is_short).
     clock:     returns whether now is the time of the schedule whose first member the sampler is, or -1 if it is not
                the first member of a schedule. */
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
    const samp_vocab *(*vocab)(const sampi_sampler *);
    int (*clock)(const sampi_sampler *);
} sampi_hooks;

/* The last hooks (from `clone` on) of a sampler that has no memory besides its bytes, masks no
   row and needs no row of a certain length. */
#define SAMPI_BYTES_ONLY NULL, NULL, NULL, NULL, NULL, NULL, NULL

/* Makes the constant SAMPI_<id>_HOOKS of the hooks in their order. */
#define SAMPI_HOOKS(id, ...) static const sampi_hooks SAMPI_##id##_HOOKS = { __VA_ARGS__ }
SAMPI_HOOKS(NO, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, SAMPI_BYTES_ONLY);

/* A row of the table, the properties of one kind. Rows do not name the members, because C++11 has no designated
   initialisers. */
typedef struct sampi_traits {
    /* the name that samp_name returns; it is part of a saved state's fingerprint, so it must never change */
    const char *name;
    /* the kind's part of its streams' numbers (core/streams.h), or 0 if the kind never draws; it decides tokens, so it
       must never change */
    uint32_t stream;
    char letter;       /* the kind's letter in samp_params.order, or 0 for no letter */
    const char *names; /* the kind's names in samp_params.order, separated by ';', or "" for no name */
    unsigned flags;
    const sampi_field *field; /* [n_fields] the descriptions of the kind's parameters (core/fields.h) */
    size_t n_fields;
    /* returns whether the parameters switch the sampler off; NULL if no value does */
    bool (*off)(const sampi_sampler *);
    const sampi_hooks *hooks; /* never NULL; other files call the hooks through it */
    /* applies the sampler to an array of candidates, which defines it; sampi_life_run calls the function */
    int (*apply)(sampi_sampler *, samp_token_data_array *);
    /* applies the sampler to a row of logits, with the same result as on an array (>>fast); NULL if the row must become
       an array first */
    int (*fast)(sampi_row *, sampi_sampler *);
#ifndef SAMP_NO_MT19937
    int (*apply_llama)(sampi_sampler *, samp_token_data_array *); /* apply in llama.cpp's arithmetic */
#define SAMPI_BY_LLAMA_CPP(apply) apply
#else
#define SAMPI_BY_LLAMA_CPP(apply)
#endif
} sampi_traits;

/* The members `field` and `n_fields` of a row of the table. */
#define SAMPI_FIELDS_OF(list) list, sizeof list / sizeof list[0]
#define SAMPI_NO_FIELDS       NULL, 0

/* Returns the row of a kind. The table is in core/kinds.h, below all files whose functions the rows name. */
static const sampi_traits *sampi_traits_of(sampi_kind kind);
