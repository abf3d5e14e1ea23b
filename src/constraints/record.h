/* ---- constraints: settings and state ----
   The part of a sampler's record (core/record.h) that the kind SAMPI_CONSTRAINT has. Constructors
   (constraints/constructors.h) set its numbers; an accepted token moves its state (constraints/accepting.h). All
   of it is structs, but for what walks through chains must ask of a schedule. */

/* Ways to choose tokens (constraints/drawing.h). */
typedef enum sampi_limit_kind {
    SAMPI_LIMIT_LISTS, /* those of what the text ends with, or, if it rewinds, those that are bans at this position */
    SAMPI_LIMIT_GROWING,  /* a list, whose logits grow with the position */
    SAMPI_LIMIT_ALLOWED,  /* a list and no others */
    SAMPI_LIMIT_FORCED,   /* one for each position */
    SAMPI_LIMIT_NGRAM,    /* those that followed the same tokens before */
    SAMPI_LIMIT_PERIOD,   /* the one that goes on with a loop */
    SAMPI_LIMIT_CUSUM,    /* as NGRAM, while there are many of them */
    SAMPI_LIMIT_THINKING, /* those that end a span whose budget is spent */
    SAMPI_LIMIT_CLOCK     /* none: it tells when a schedule's other members are at work */
} sampi_limit_kind;

typedef struct sampi_limit {
    sampi_limit_kind what;
    const char *name;
    const samp_vocab *vocab;
    int32_t n, begin, count; /* of what it is made of; works from the position `begin` on, so long: 0: for ever */
    int32_t last_n, shortest, longest, copies, every, budget, open, flags;
    int32_t soft, grace, total, loop_from, ramp; /* a plan */
    int32_t from, to, lines, inside;             /* a schedule; inside: 1, outside: 2 */
    float factor, penalty, alarm, loss, soft_ratio, bias;
    bool has_plan, has_loop, has_table;
    uint32_t start, alone, n_classes; /* a banned pattern: states of its table, classes of bytes */
    uint32_t note, n_note;            /* in words of part 2 */
    bool is_idle, masks;              /* masks: its lists have no bias but -infinity */
    uint32_t n_knots, hop_mask;       /* parts 0 and 1 */
    uint32_t room, ban_room;          /* part 3, behind the window */
    uint32_t at;                      /* the position; from here to sum what a token changes */
    uint32_t node;                    /* of the automaton */
    uint32_t mode; /* THINKING: sampi_limit_span; PERIOD: the period or 0; rewinding: tokens to take back */
    uint32_t count_in, missing; /* THINKING: tokens since the mode began; bytes of a character still to come */
    float sum;                  /* CUSUM */
    uint32_t since, spent, side, noted; /* THINKING with a plan: constraints/thinking.h */
    uint32_t wish;                      /* what samp_thinking_end has asked for: no token changes it */
    uint32_t n_bans;
    sampi_ring ring;
} sampi_limit;

/* What a clock has seen: its word `missing`. */
enum { SAMPI_CLOCK_CAME = 1, SAMPI_CLOCK_LOOP = 2 };

/* Is it the time of a schedule, whose clock this is? */
static bool sampi_is_time(const sampi_limit *r)
{
    if (r->at < (uint32_t)r->begin || r->missing & SAMPI_CLOCK_CAME) return false;
    if (r->has_loop && !(r->missing & SAMPI_CLOCK_LOOP)) return false;
    if (r->inside && (r->mode > 0) != (r->inside == SAMP_INSIDE)) return false;
    return r->count_in >= (uint32_t)r->from && (r->to == 0 || r->count_in < (uint32_t)r->to);
}
