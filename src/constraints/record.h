/* ---- constraints: settings and state ----
   The part of a sampler's record (core/record.h) that the kind SAMPI_CONSTRAINT has. Constructors
   (constraints/constructors.h) set its numbers; an accepted token changes its state (constraints/accepting.h). The room
   has structs, and the one question that walks over chains ask of a schedule. */

/* How a constraint chooses tokens (constraints/drawing.h). */
typedef enum sampi_limit_kind {
    SAMPI_LIMIT_LISTS,    /* the lists of the current node; if it rewinds, the bans at this position */
    SAMPI_LIMIT_GROWING,  /* a list whose logits grow with the position */
    SAMPI_LIMIT_ALLOWED,  /* a list, and no other tokens */
    SAMPI_LIMIT_FORCED,   /* one token for each position */
    SAMPI_LIMIT_NGRAM,    /* the tokens that followed the same tokens before */
    SAMPI_LIMIT_PERIOD,   /* the token that continues a loop */
    SAMPI_LIMIT_CUSUM,    /* as NGRAM, while there are many repetitions */
    SAMPI_LIMIT_THINKING, /* the tokens that end a span whose budget is spent */
    SAMPI_LIMIT_CLOCK     /* no tokens: the clock of a schedule */
} sampi_limit_kind;

typedef struct sampi_limit {
    sampi_limit_kind what;
    const char *name;
    const samp_vocab *vocab;
    int32_t n, begin, count; /* n: of tokens or patterns; active from `begin` on, for `count`; 0: no end */
    int32_t last_n, shortest, longest, copies, every, budget, open, flags;
    int32_t soft, grace, total, loop_from, ramp; /* a plan */
    int32_t from, to, lines, inside;             /* a schedule; inside: 1, outside: 2 */
    float factor, penalty, alarm, loss, soft_ratio, bias;
    bool has_plan, has_loop, has_table;
    uint32_t start, alone, n_classes; /* a banned pattern: states of its table, classes of bytes */
    uint32_t note, n_note;            /* the note, in words of part 2 */
    bool is_idle, masks;              /* masks: its lists have no bias but -infinity */
    uint32_t n_nodes, edge_mask;      /* sizes of parts 0 and 1 */
    uint32_t room, ban_room;          /* sizes of the list and the bans in part 3, after the window */
    uint32_t at;                      /* the position; tokens change the members from here to sum */
    uint32_t node;                    /* the current node of the automaton */
    uint32_t mode; /* THINKING: see constraints/thinking.h; PERIOD: the period or 0; rewinding: tokens to take back */
    uint32_t count_in, missing;         /* THINKING: tokens since the mode began; bytes missing of a character */
    float sum;                          /* CUSUM: the sum */
    uint32_t since, spent, side, noted; /* THINKING with a plan: see constraints/thinking.h */
    uint32_t wish;                      /* set by samp_thinking_end; tokens do not change it */
    uint32_t n_bans;
    sampi_ring ring;
} sampi_limit;

/* What a clock has seen, in its member `missing`. */
enum { SAMPI_CLOCK_CAME = 1, SAMPI_CLOCK_LOOP = 2 };

/* Is the schedule of this clock active now? */
static bool sampi_is_time(const sampi_limit *r)
{
    if (r->at < (uint32_t)r->begin || r->missing & SAMPI_CLOCK_CAME) return false;
    if (r->has_loop && !(r->missing & SAMPI_CLOCK_LOOP)) return false;
    if (r->inside && (r->mode > 0) != (r->inside == SAMP_INSIDE)) return false;
    return r->count_in >= (uint32_t)r->from && (r->to == 0 || r->count_in < (uint32_t)r->to);
}
