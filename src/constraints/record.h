/* ---- constraints: settings and state ----
   The part of a sampler's record (core/record.h) that the kind SAMPI_CONSTRAINT has. Constructors
   (constraints/constructors.h) set its numbers; an accepted token changes its state (constraints/accepting.h). This
   file has the structs, and the function that says whether a schedule is active. */

/* How a constraint chooses tokens (constraints/drawing.h). */
typedef enum sampi_constraint_kind {
    /* the tokens in the lists of the current node; for a rewinding ban, those banned at this position */
    SAMPI_CONSTRAINT_LISTS,
    SAMPI_CONSTRAINT_GROWING,  /* a list of tokens whose logits grow with the position */
    SAMPI_CONSTRAINT_ALLOWED,  /* a list of tokens; no others are allowed */
    SAMPI_CONSTRAINT_FORCED,   /* one forced token for each position */
    SAMPI_CONSTRAINT_NGRAM,    /* the tokens that followed the same tokens before */
    SAMPI_CONSTRAINT_PERIOD,   /* the token that continues a loop */
    SAMPI_CONSTRAINT_CUSUM,    /* as NGRAM, but only while there are many repetitions */
    SAMPI_CONSTRAINT_THINKING, /* the tokens that end a span whose budget is used up */
    SAMPI_CONSTRAINT_CLOCK     /* no tokens: the clock of a schedule */
} sampi_constraint_kind;

typedef struct sampi_constraint {
    sampi_constraint_kind what;
    const samp_vocab *vocab;
    /* n: the number of tokens or patterns; the constraint is active from position `begin` on, for `count` tokens (0:
       without end) */
    int32_t n, begin, count;
    int32_t exempt; /* for NGRAM: the number of tokens that are never masked (part 2) */
    int32_t last_n, shortest, longest, copies, every, budget, open, flags;
    int32_t soft, grace, total, loop_from, ramp; /* the numbers of a plan */
    /* the numbers of a schedule; inside is 1 for inside a span, 2 for outside */
    int32_t from, to, lines, inside;
    float factor, penalty, alarm, loss, soft_ratio, bias;
    bool has_plan, has_loop, has_table;
    bool yields; /* changes nothing where a grammar must end (sampi_constraint_must_end) */
    /* of a banned pattern: two states of its table, and the number of classes of bytes */
    uint32_t start, alone, n_classes;
    uint32_t note, n_note;       /* where the note is in part 2, and its length, in words */
    bool is_idle, masks;         /* masks: every bias in its lists is -infinity */
    uint32_t n_nodes, edge_mask; /* sizes of parts 0 and 1 */
    uint32_t room, ban_room;     /* lengths of the list and of the bans in part 3, after the window */
    uint32_t at;                 /* the position; accepted tokens change the members from this one to `sum` */
    uint32_t node;               /* the current node of the automaton */
    /* for THINKING see constraints/thinking.h; for PERIOD the period of the loop, or 0; for a rewinding ban the number
       of tokens to take back */
    uint32_t mode;
    /* for THINKING: the tokens since the mode began, and the bytes missing of a character */
    uint32_t count_in, missing;
    float sum;                          /* for CUSUM: the cumulative sum */
    uint32_t since, spent, side, noted; /* for THINKING with a plan, see constraints/thinking.h */
    /* set by samp_thinking_end; cleared only by a token accepted before that span, after a rollback */
    uint32_t wish;
    uint32_t n_bans;
    sampi_ring ring;
} sampi_constraint;

/* The state of time stamps (constraints/timestamps.h) before the first token. */
enum { SAMPI_STAMPS_BEGIN = 4 };

/* Events that a clock has seen, flags in its member `missing`. */
enum { SAMPI_CLOCK_CAME = 1, SAMPI_CLOCK_LOOP = 2 };

/* Is the schedule of this clock active now? */
static bool sampi_constraint_is_time(const sampi_constraint *r)
{
    if (r->at < (uint32_t)r->begin || r->missing & SAMPI_CLOCK_CAME) return false;
    if (r->has_loop && !(r->missing & SAMPI_CLOCK_LOOP)) return false;
    if (r->inside && (r->mode > 0) != (r->inside == SAMP_INSIDE)) return false;
    return r->count_in >= (uint32_t)r->from && (r->to == 0 || r->count_in < (uint32_t)r->to);
}
