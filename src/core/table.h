/* ================================================================================================= >>sampler
   The object behind every samp_sampler, and the two tables from which all that the library knows of a kind of sampler
   follows. In: a kind and its numbers, from a constructor (>>params). Out: the object, checked and complete.

   A sampler is one heap block: the record sampi_sampler, then up to four arrays ("parts") found by their offset, so
   that a copy of the bytes is a clone (only chains hold pointers to memory of their own: members and prev). What
   samp_sample was called on also owns the workspace, sampi_work. The one thing to know: settings never change after
   the making; what a draw changes is in `now`, which is put back if the draw fails, and what accepting changes comes
   after all that can fail. */

typedef struct sampi_sampler sampi_sampler;

typedef struct sampi_row sampi_row;       /* >>fast */
typedef struct sampi_io sampi_io;         /* >>state */
typedef struct sampi_record sampi_record; /* >>rollback */

/* A kind that is there only where it is asked for: its row in the table below, and its label in switches. */
/* clang-format off */
#ifdef SAMPLING_GUMBEL_DECLARED
#define SAMPI_GUMBEL_KINDS(X) \
    X(GUMBEL, "gumbel", 6, 0, "", \
      SAMPI_SELECTS | SAMPI_VIEW_SORTED, \
      false, &SAMPI_NO_HOOKS, \
      sampi_gumbel_apply, sampi_gumbel_apply, sampi_fast_gumbel, NULL)
#define SAMPI_CASE_GUMBEL case SAMPI_GUMBEL:
#else
#define SAMPI_GUMBEL_KINDS(X)
#define SAMPI_CASE_GUMBEL
#endif
/* clang-format on */

/* clang-format off */
#ifdef SAMPLING_GRAMMAR_DECLARED /* its samplers' own name is "grammar"; saved states know the kind by this one */
#define SAMPI_GRAMMAR_KINDS(X) \
    X(GRAMMAR, "custom", 0, 0, "", \
      SAMPI_BY_INTERFACE, \
      false, &SAMPI_GRAMMAR_HOOKS, \
      NULL, NULL, NULL, NULL)
#define SAMPI_CASE_GRAMMAR case SAMPI_GRAMMAR:
#else
#define SAMPI_GRAMMAR_KINDS(X)
#define SAMPI_CASE_GRAMMAR
#endif
/* clang-format on */

/* ---- the table of samplers ----

   One row for each kind of sampler, its fields (below), and the functions that the row names: from these follow what a
   sampler is called, told, checked, saved and made from samp_params, and which way it takes. A new sampler is a row
   with its fields, its definition and constructor, its fast function, its step in sampling_gpu.h, and a test; what is
   forgotten does not compile. The order of the rows is the default order of a chain.

     id       SAMPI_<id>, what s->kind is
     name     what samp_name says
     draws    its number in Philox's counter, 0: it draws nothing. It is part of what decides a token: never change one.
     step     what samp_params.order may call it: a letter, and names with ';' between; 0 and "": nothing
     flags    below
     off      of a sampler s: do its values switch it off?
     hooks    what it has beyond numbers: called through sampi_traits_of, never by name, except from the kind's own code
     apply    its meaning, step by step; then the same in llama.cpp's arithmetic. sampi_run calls one or the other
     fast     the same on a row of logits (>>fast), or NULL: the row becomes an array and goes on step by step; then the
              same in llama.cpp's arithmetic */
/* clang-format off */
#ifdef SAMPLING_CONSTRAINTS_DECLARED /* one kind, whose samplers have names of their own, and top_p with a decay */
#define SAMPI_CONSTRAINT_KINDS(X) \
    X(CONSTRAINT, "constraint", 0, 0, "", \
      SAMPI_KEEPS_P | SAMPI_PATCHES | SAMPI_IF_NAMED | SAMPI_VIEW_MASKED, \
      s->u.limit.is_idle, &SAMPI_CONSTRAINT_HOOKS, \
      sampi_constraint_apply, sampi_constraint_apply, sampi_fast_constraint, sampi_fast_constraint) \
    X(TOP_P_DECAY, "top-p-decay", 0, 0, "", \
      SAMPI_DROPS | SAMPI_SORTS | SAMPI_IF_NAMED | SAMPI_VIEW_SORTED, \
      s->u.decay.first == 1.0f, &SAMPI_TOP_P_DECAY_HOOKS, \
      sampi_top_p_apply, sampi_llama_top_p, sampi_fast_top_p, NULL)
#define SAMPI_CASE_CONSTRAINT case SAMPI_CONSTRAINT:
#else
#define SAMPI_CONSTRAINT_KINDS(X)
#define SAMPI_CASE_CONSTRAINT
#endif
#define SAMPI_KINDS(X) \
    X(LOGIT_BIAS, "logit-bias", 0, 0, "", \
      SAMPI_KEEPS_P | SAMPI_PATCHES | SAMPI_ONLY_EDITS | SAMPI_VIEW_MASKED, \
      s->u.bias.n == 0, &SAMPI_LOGIT_BIAS_HOOKS, \
      sampi_logit_bias_apply, sampi_logit_bias_apply, sampi_fast_logit_bias, sampi_fast_logit_bias) \
    X(PENALTIES, "penalties", 0, 'e', "penalties", \
      SAMPI_KEEPS_P | SAMPI_PATCHES | SAMPI_MASKS_NONE | SAMPI_ONLY_EDITS | SAMPI_VIEW_DROPPED, \
      s->u.penalties.last_n == 0 || \
      (s->u.penalties.repeat == 1.0f && s->u.penalties.freq == 0.0f && s->u.penalties.present == 0.0f), \
      &SAMPI_PENALTIES_HOOKS, \
      sampi_penalties_apply, sampi_penalties_apply, sampi_fast_penalties, sampi_fast_penalties) \
    X(DRY, "dry", 0, 'd', "dry", \
      SAMPI_KEEPS_P | SAMPI_PATCHES | SAMPI_MASKS_NONE | SAMPI_ONLY_EDITS | SAMPI_VIEW_DROPPED, \
      s->u.dry.multiplier == 0.0f || s->u.dry.last_n == 0, &SAMPI_DRY_HOOKS, \
      sampi_dry_apply, sampi_dry_apply, sampi_fast_dry, sampi_fast_dry) \
    X(TOP_N_SIGMA, "top-n-sigma", 0, 's', "top_n_sigma;top-n-sigma", \
      SAMPI_KEEPS_P | SAMPI_VIEW_MASKED, \
      s->u.cut.p <= 0.0f, &SAMPI_NO_HOOKS, \
      sampi_top_n_sigma_apply, sampi_llama_top_n_sigma, sampi_fast_top_n_sigma, sampi_fast_llama_top_n_sigma) \
    X(TOP_K, "top-k", 0, 'k', "top_k;top-k", \
      SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_SORTS | SAMPI_TAKES_FLOOR | SAMPI_VIEW_SORTED | SAMPI_LLAMA_DIVIDED | \
      SAMPI_LLAMA_BY_ORDER, \
      s->u.top_k.k <= 0, &SAMPI_NO_HOOKS, \
      sampi_top_k_apply, sampi_llama_top_k, sampi_fast_top_k, sampi_fast_llama_top_k) \
    X(TAIL_FREE, "tail-free", 0, 'f', "tfs_z;tail_free;tail-free;tfs", \
      SAMPI_DROPS_FAST | SAMPI_SORTS | SAMPI_IF_ON | SAMPI_VIEW_SORTED | SAMPI_LLAMA_SORTS, \
      s->u.cut.p == 1.0f, &SAMPI_NO_HOOKS, \
      sampi_tail_free_apply, sampi_llama_tail_free, sampi_fast_tail_free, NULL) \
    X(TYPICAL, "typical", 0, 'y', "typ_p;typical;typical_p;typ-p", \
      SAMPI_DROPS | SAMPI_SORTS | SAMPI_VIEW_DROPPED | SAMPI_LLAMA_BY_ORDER | SAMPI_LLAMA_SORTS, \
      s->u.cut.p == 1.0f, &SAMPI_NO_HOOKS, \
      sampi_typical_apply, sampi_llama_typical, sampi_fast_typical, sampi_fast_llama_typical) \
    X(TOP_P, "top-p", 0, 'p', "top_p;top-p;nucleus", \
      SAMPI_DROPS | SAMPI_SORTS | SAMPI_VIEW_SORTED | SAMPI_LLAMA_DIVIDED | SAMPI_LLAMA_BY_ORDER, \
      s->u.cut.p == 1.0f, &SAMPI_NO_HOOKS, \
      sampi_top_p_apply, sampi_llama_top_p, sampi_fast_top_p, sampi_fast_llama_top_p) \
    X(MIN_P, "min-p", 0, 'm', "min_p;min-p", \
      SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_KEEPS_SOME | SAMPI_VIEW_SORTED | SAMPI_LLAMA_DIVIDED | \
      SAMPI_LLAMA_BY_ORDER | SAMPI_LLAMA_TAKES_FLOOR, \
      s->u.cut.p == 0.0f, &SAMPI_NO_HOOKS, \
      sampi_min_p_apply, sampi_llama_min_p, sampi_fast_min_p, sampi_fast_llama_min_p) \
    X(TOP_A, "top-a", 0, 'a', "top_a;top-a", \
      SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_KEEPS_SOME | SAMPI_IF_ON | SAMPI_VIEW_SORTED | SAMPI_LLAMA_SORTS, \
      s->u.cut.p == 0.0f, &SAMPI_NO_HOOKS, \
      sampi_by_sums_apply, sampi_llama_top_a, sampi_fast_by_sums, NULL) \
    X(P_LESS, "p-less", 0, 'l', "p_less;p-less", \
      SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_KEEPS_SOME | SAMPI_IF_ON | SAMPI_VIEW_SORTED, \
      s->u.cut.p == 0.0f, &SAMPI_NO_HOOKS, \
      sampi_by_sums_apply, sampi_by_sums_apply, sampi_fast_by_sums, NULL) \
    X(EPSILON, "epsilon", 0, 'c', "epsilon_cutoff;epsilon", \
      SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_KEEPS_SOME | SAMPI_IF_ON | SAMPI_VIEW_SORTED, \
      s->u.cut.p == 0.0f, &SAMPI_NO_HOOKS, \
      sampi_by_sums_apply, sampi_by_sums_apply, sampi_fast_by_sums, NULL) \
    X(ETA, "eta", 0, 'h', "eta_cutoff;eta", \
      SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_KEEPS_SOME | SAMPI_IF_ON | SAMPI_VIEW_SORTED, \
      s->u.cut.p == 0.0f, &SAMPI_NO_HOOKS, \
      sampi_by_sums_apply, sampi_by_sums_apply, sampi_fast_by_sums, NULL) \
    X(TOP_H, "top-h", 0, 'b', "top_h;top-h", \
      SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_SORTS | SAMPI_IF_ON | SAMPI_VIEW_SORTED, \
      s->u.cut.p == 1.0f, &SAMPI_NO_HOOKS, \
      sampi_beginning_apply, sampi_beginning_apply, sampi_fast_beginning, NULL) \
    X(MIN_K, "min-k", 0, 'g', "min_k;min-k", \
      SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_SORTS | SAMPI_IF_ON | SAMPI_VIEW_SORTED, \
      s->u.cut.p < 0.0f, &SAMPI_NO_HOOKS, \
      sampi_beginning_apply, sampi_beginning_apply, sampi_fast_beginning, NULL) \
    X(XTC, "xtc", 2, 'x', "xtc", \
      SAMPI_MASKS_NONE | SAMPI_BY_CHANCE | SAMPI_VIEW_SORTED | SAMPI_LLAMA_SORTS, \
      s->u.xtc.p == 0.0f || s->u.xtc.t > 0.5f, &SAMPI_NO_HOOKS, \
      sampi_xtc_apply, sampi_llama_xtc, sampi_fast_xtc, sampi_fast_llama_xtc) \
    X(INFILL, "infill", 0, 'i', "infill", \
      SAMPI_IF_NAMED, \
      false, &SAMPI_INFILL_HOOKS, \
      sampi_infill_apply, sampi_infill_apply, NULL, NULL) \
    X(TEMP, "temp", 0, 0, "", \
      SAMPI_KEEPS_P | SAMPI_TAKES_FLOOR | SAMPI_MASKS_NONE | SAMPI_ONLY_EDITS | SAMPI_VIEW_DROPPED | \
      SAMPI_LLAMA_BY_ORDER, \
      s->u.temp.t == 1.0f, &SAMPI_NO_HOOKS, \
      sampi_temp_apply, sampi_llama_temp, sampi_fast_temp, sampi_fast_llama_temp) \
    X(TEMP_EXT, "temp-ext", 0, 't', "temperature;temp;temp_ext;temp-ext", \
      SAMPI_KEEPS_P | SAMPI_TAKES_FLOOR | SAMPI_VIEW_DROPPED | SAMPI_LLAMA_BY_ORDER, \
      s->u.temp.t == 1.0f && s->u.temp.delta == 0.0f, &SAMPI_NO_HOOKS, \
      sampi_temp_ext_apply, sampi_llama_temp_ext, sampi_fast_temp_ext, sampi_fast_llama_temp) \
    X(SMOOTHING, "smoothing", 0, 'q', "smoothing_factor;smoothing", \
      SAMPI_KEEPS_P | SAMPI_IF_ON | SAMPI_MASKS_NONE, \
      s->u.smoothing.factor == 0.0f, &SAMPI_NO_HOOKS, \
      sampi_smoothing_apply, sampi_smoothing_apply, sampi_fast_smoothing, NULL) \
    X(LOG_SOFTMAX, "log-softmax", 0, 'n', "log_softmax;log-softmax", \
      SAMPI_KEEPS_P | SAMPI_IF_NAMED | SAMPI_MASKS_NONE, \
      false, &SAMPI_NO_HOOKS, \
      sampi_smoothing_apply, sampi_smoothing_apply, sampi_fast_smoothing, NULL) \
    X(SOFTMAX, "softmax", 0, 0, "", \
      SAMPI_ONLY_SHOWS | SAMPI_SORTS | SAMPI_MASKS_NONE | SAMPI_VIEW_SORTED | SAMPI_LLAMA_SORTS, \
      false, &SAMPI_NO_HOOKS, \
      sampi_softmax_apply, sampi_llama_softmax_apply, NULL, NULL) \
    X(GREEDY, "greedy", 0, 0, "", \
      SAMPI_SELECTS | SAMPI_KEEPS_P | SAMPI_TAKES_FLOOR | SAMPI_VIEW_SORTED | SAMPI_LLAMA_DIVIDED | \
      SAMPI_LLAMA_BY_ORDER, \
      false, &SAMPI_NO_HOOKS, \
      sampi_greedy_apply, sampi_llama_greedy, sampi_fast_greedy, sampi_fast_greedy) \
    X(DIST, "dist", 1, 0, "", \
      SAMPI_SELECTS | SAMPI_TAKES_FLOOR | SAMPI_VIEW_SORTED | SAMPI_LLAMA_DIVIDED | SAMPI_LLAMA_BY_ORDER, \
      false, &SAMPI_NO_HOOKS, \
      sampi_dist_apply, sampi_llama_dist, sampi_fast_dist, sampi_fast_llama_dist) \
    X(MIROSTAT, "mirostat", 3, 0, "", \
      SAMPI_SELECTS | SAMPI_DROPS_FAST | SAMPI_SORTS | SAMPI_VIEW_DENSE | SAMPI_LLAMA_BY_ORDER | \
      SAMPI_LLAMA_SORTS, \
      false, &SAMPI_MIROSTAT_HOOKS, \
      sampi_mirostat_apply, sampi_llama_mirostat, sampi_fast_mirostat, sampi_fast_llama_mirostat) \
    X(MIROSTAT_V2, "mirostat-v2", 4, 0, "", \
      SAMPI_SELECTS | SAMPI_DROPS_FAST | SAMPI_VIEW_DENSE | SAMPI_LLAMA_BY_ORDER | SAMPI_LLAMA_SORTS, \
      false, &SAMPI_MIROSTAT_HOOKS, \
      sampi_mirostat_v2_apply, sampi_llama_mirostat, sampi_fast_mirostat_v2, sampi_fast_llama_mirostat) \
    X(ADAPTIVE_P, "adaptive-p", 5, 0, "", \
      SAMPI_SELECTS | SAMPI_OWN_LOGITS | SAMPI_VIEW_DROPPED | SAMPI_LLAMA_DIVIDED, \
      false, &SAMPI_ADAPTIVE_P_HOOKS, \
      sampi_adaptive_p_apply, sampi_llama_adaptive_p, sampi_fast_adaptive_p, sampi_fast_llama_adaptive_p) \
    SAMPI_GUMBEL_KINDS(X) \
    X(CHAIN, "chain", 0, 0, "", \
      0, \
      false, &SAMPI_CHAIN_HOOKS, \
      NULL, NULL, NULL, NULL) \
    X(CUSTOM, "custom", 0, 0, "", \
      SAMPI_BY_INTERFACE, \
      false, &SAMPI_CUSTOM_HOOKS, \
      NULL, NULL, NULL, NULL) \
    SAMPI_GRAMMAR_KINDS(X) \
    SAMPI_CONSTRAINT_KINDS(X)
/* clang-format on */

/* A kind's number is its row. It is stored nowhere (a fingerprint has the name), so rows may move. SAMPI_N_KINDS
   is no kind: it is the length of what is indexed by kind, and what a search by name returns that found none. */
typedef enum sampi_kind {
#define SAMPI_KIND_ID(id, name, draws, letter, step, flags, off, hooks, apply, llama, fast, fast_llama) SAMPI_##id,
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
    SAMPI_LLAMA_SORTS = 0x400000        /* its apply begins with sorting, so an array may be sorted before it */
};

/* What a kind has beyond numbers: arrays, a state that moves on. Each may be NULL.
     prepare    of a record with good fields: check what their ranges don't say, and size the parts. make: a sampler
                is to be made of it; else what takes a walk over the vocabulary is left out
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

/* A row of the table, as the library reads it. */
typedef struct sampi_traits {
    const char *name;
    uint32_t draws;
    char letter;
    const char *step;
    unsigned flags;
    const sampi_hooks *hooks; /* never NULL */
    int (*apply)(sampi_sampler *, samp_token_data_array *);
    int (*fast)(sampi_row *, sampi_sampler *);
#ifndef SAMP_NO_MT19937
    int (*apply_llama)(sampi_sampler *, samp_token_data_array *);
    int (*fast_llama)(sampi_row *, sampi_sampler *);
#define SAMPI_BY_LLAMA_CPP(apply, fast) , apply, fast
#else
#define SAMPI_BY_LLAMA_CPP(apply, fast)
#endif
} sampi_traits;

/* The row of a kind. Its table stands behind >>state, where all that it names has been defined. */
static const sampi_traits *sampi_traits_of(sampi_kind kind);
