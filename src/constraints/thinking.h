/* ---- constraints: thinking ----
   A thinking budget bounds the tokens from a start sequence to an end sequence. This file says what an accepted token
   changes, where the soft point, the grace and the hard end are, which tokens are forced, and how much the end is
   biased. samp_init_thinking_budget makes a budget without a plan, samp_init_thinking one with a plan
   (api/constraints.h). The stage is not stored: it follows from these members of sampi_constraint.

     mode:     0 if no span is open; 2 i + 1 if span i is open; 2 i + 2 while its end is forced.
     count_in: the tokens of the open span so far; while the end is forced, how many of its tokens have come.
     since:    (with a plan, as the next three) the position at which the span began.
     spent:    the tokens of earlier spans.
     side:     the automaton's node for the end sequences that all spans share.
     noted:    0 before the note (a text that asks for the end); k while its token k - 1 is forced; n_note + 1 after it.
     wish:     1 + the position at which the span began that samp_thinking_end ends, or 0. No token sets it, so
               samp_rollback does not take it back, as it does not take back a ban. */

/* Returns how many bytes of a character are still missing after a token. */
static uint32_t sampi_constraint_missing(const sampi_sampler *s, samp_token token)
{
    size_t n;
    const char *bytes = sampi_bytes_of(s->u.constraint.vocab, token, &n);
    uint32_t missing = s->u.constraint.missing;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if ((c & 0xc0) == 0x80)
            missing -= missing > 0;
        else
            missing = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0;
    }
    return missing;
}

/* Does this token end a line? */
static bool sampi_constraint_ends_line(const sampi_sampler *s, samp_token token)
{
    size_t n;
    const char *bytes = s->u.constraint.vocab ? sampi_bytes_of(s->u.constraint.vocab, token, &n) : NULL;
    return bytes && n && bytes[n - 1] == '\n';
}

/* ---- the place in the open span ---- */

static const sampi_span *sampi_constraint_span(const sampi_sampler *s)
{
    return (const sampi_span *)sampi_part(s, 2) + (s->u.constraint.mode - 1) / 2;
}
static bool sampi_constraint_counts(const sampi_constraint *r) { return r->mode % 2 == 1; }

/* sampi_constraint_hard returns how many tokens the open span may have before its grace. The function after it returns
   the soft point, which is the same number if the plan has no soft point. */
static uint32_t sampi_constraint_hard(const sampi_constraint *r)
{
    uint32_t total = (uint32_t)r->total, budget = (uint32_t)r->budget;
    uint32_t left = total > r->spent ? total - r->spent : 0;
    return total && left < budget ? left : budget;
}
static uint32_t sampi_constraint_soft(const sampi_constraint *r)
{
    uint32_t hard = sampi_constraint_hard(r), soft = hard;
    if (r->soft) soft = (uint32_t)r->soft;
    if (r->soft_ratio > 0.0f) soft = (uint32_t)((double)r->soft_ratio * (double)hard);
    return soft < hard ? soft : hard;
}

/* Does samp_thinking_end end the span now? It has been called, and no character is incomplete. */
static bool sampi_constraint_ends_now(const sampi_constraint *r)
{
    return r->wish && sampi_constraint_counts(r) && r->wish == r->at - r->count_in + 1 && !r->missing;
}
static bool sampi_constraint_forces(const sampi_constraint *r)
{
    return (r->mode && !sampi_constraint_counts(r)) || sampi_constraint_ends_now(r);
}
static bool sampi_constraint_notes(const sampi_constraint *r)
{
    return sampi_constraint_counts(r) && r->noted > 0 && r->noted <= r->n_note && !sampi_constraint_ends_now(r);
}

/* Returns the only token that may come next, of the end or of the note, or NULL if any token may come. */
static const samp_token *sampi_constraint_forced(const sampi_sampler *s)
{
    const sampi_constraint *r = &s->u.constraint;
    const samp_token *words = (const samp_token *)sampi_part(s, 2);
    if (sampi_constraint_notes(r)) return words + r->note + r->noted - 1;
    if (!sampi_constraint_forces(r)) return NULL;
    const sampi_span *span = sampi_constraint_span(s);
    bool begins = sampi_constraint_counts(r);
    if (span->is_end && begins) return words + span->first + sampi_constraint_match_nodes(s)[r->node].depth;
    return words + span->first + (begins ? 0 : r->count_in);
}

/* Returns the bias of the next token of the end sequence, and sets *token to it. Returns 0 if there is no bias. */
static float sampi_constraint_ramp(const sampi_sampler *s, samp_token *token)
{
    const sampi_constraint *r = &s->u.constraint;
    if (!r->ramp || !sampi_constraint_counts(r) || sampi_constraint_forces(r) || sampi_constraint_notes(r))
        return 0.0f;
    uint32_t hard = sampi_constraint_hard(r), soft = sampi_constraint_soft(r);
    if (soft == hard || r->count_in < soft) return 0.0f;
    double x = ((double)r->count_in - (double)soft + 1.0) / ((double)hard - (double)soft + 1.0);
    if (x > 1.0) x = 1.0;
    if (r->ramp == SAMP_RAMP_EXPONENTIAL) x = (sampi_exp2(8.0 * x) - 1.0) / 255.0;
    const sampi_span *end = sampi_constraint_span(s) + r->n;
    *token = ((const samp_token *)sampi_part(s, 2))[end->first + sampi_constraint_match_nodes(s)[r->node].depth];
    return (float)((double)r->bias * x);
}

/* ---- what a token changes ---- */

static uint32_t sampi_constraint_ends_root(const sampi_constraint *r) { return r->has_plan ? (uint32_t)r->n + 1 : 0; }

/* Does the open span end with a loop, all of whose copies are in the span? */
static bool sampi_constraint_loops(const sampi_sampler *s)
{
    const sampi_constraint *r = &s->u.constraint;
    uint32_t size = r->ring.size < r->count_in ? r->ring.size : r->count_in;
    if (!r->ring.cap || r->count_in < (uint32_t)r->loop_from || r->count_in % (uint32_t)r->every) return false;
    return sampi_constraint_period(s, size) > 0;
}

/* Forces the end from here on if the budget is used up; during the grace only at the end of a line. If the text already
   ends with the first tokens of the end, these count. */
static void sampi_constraint_check_budget(sampi_sampler *s, bool line)
{
    sampi_constraint *r = &s->u.constraint;
    const uint32_t hard = sampi_constraint_hard(r);
    const uint64_t latest = hard ? (uint64_t)hard + (uint32_t)r->grace : 0;
    if (!sampi_constraint_counts(r)) return;
    bool over = r->count_in >= latest || (line && r->count_in >= hard && !sampi_constraint_notes(r));
    if (!over && (r->missing || sampi_constraint_notes(r) || !sampi_constraint_loops(s))) return;
    if (r->missing && r->count_in < latest + 4) return;
    r->mode++;
    r->count_in = sampi_constraint_span(s)->is_end ? sampi_constraint_match_nodes(s)[r->node].depth : 0;
}

/* Closes the open span. The next span has its whole budget again, but the total that all spans share is reduced. */
static void sampi_constraint_close(sampi_constraint *r)
{
    uint32_t used = r->at + 1 - r->since;
    if (r->has_plan) r->spent = r->spent > INT32_MAX - used ? INT32_MAX : r->spent + used;
    r->mode = r->node = r->count_in = r->noted = 0;
    r->side = sampi_constraint_ends_root(r);
}

static void sampi_constraint_open(sampi_constraint *r, uint32_t label)
{
    r->mode = 2 * label - 1;
    r->node = label; /* the root of this span's end sequence */
    r->count_in = r->noted = 0;
    r->since = r->has_plan ? r->at + 1 : 0;
    r->side = sampi_constraint_ends_root(r);
}

/* Counts a token of the open span that is neither part of its end nor forced. The note may begin or continue with this
   token. */
static void sampi_constraint_count(sampi_sampler *s, samp_token token, bool line)
{
    sampi_constraint *r = &s->u.constraint;
    const samp_token *note = (const samp_token *)sampi_part(s, 2) + r->note;
    r->count_in++;
    if (r->noted > 0 && r->noted <= r->n_note) {
        r->noted += token == note[r->noted - 1];
    } else if (r->noted == 0 && line && r->n_note) {
        uint32_t soft = sampi_constraint_soft(r), hard = sampi_constraint_hard(r);
        r->noted = soft < hard && r->count_in >= soft && (uint64_t)r->count_in + r->n_note <= hard;
    }
}

/* Counts a forced token of the end. */
static void sampi_constraint_count_forced(sampi_sampler *s, samp_token token)
{
    sampi_constraint *r = &s->u.constraint;
    const sampi_span *span = sampi_constraint_span(s);
    const samp_token *force = (const samp_token *)sampi_part(s, 2) + span->first;
    if (span->is_end)
        r->count_in = sampi_constraint_match_nodes(s)[r->node].depth;
    else if (token == force[r->count_in] && ++r->count_in == span->n)
        sampi_constraint_close(r);
}

/* Updates the state after a token. r->node already is the automaton's node after the token; `before` is the node before
   it. */
static void sampi_constraint_accept_thinking(sampi_sampler *s, samp_token token, uint32_t before)
{
    sampi_constraint *r = &s->u.constraint;
    const sampi_match_node *nodes = sampi_constraint_match_nodes(s);
    if (r->wish && r->at + 1 < r->wish) r->wish = 0; /* a rollback has gone back to before that span */
    if (sampi_constraint_ends_now(r)) {
        r->mode++;
        r->count_in = sampi_constraint_span(s)->is_end ? nodes[before].depth : 0;
    }
    uint32_t label = nodes[r->node].label;
    const bool line = sampi_constraint_ends_line(s, token);
    if (r->has_plan) {
        r->side = sampi_match_next(nodes, (const sampi_match_edge *)sampi_part(s, 1), r->edge_mask, r->side, token);
        if (r->mode) label |= nodes[r->side].label;
        if (r->ring.cap) sampi_ring_push(&r->ring, sampi_constraint_window(s), token);
    }
    if (r->vocab) r->missing = sampi_constraint_missing(s, token);
    if (r->mode == 0) {
        if (label == 0) return;
        sampi_constraint_open(r, label);
    } else if (label) {
        sampi_constraint_close(r);
    } else if (sampi_constraint_counts(r)) {
        sampi_constraint_count(s, token, line);
    } else {
        sampi_constraint_count_forced(s, token);
    }
    sampi_constraint_check_budget(s, line);
}

/* ---- state ---- */

/* Sets the state to that of a new sampler, before its parts (arrays) exist. */
static void sampi_constraint_begin(sampi_constraint *r)
{
    r->since = r->spent = r->noted = r->wish = 0;
    r->side = sampi_constraint_ends_root(r);
    if (r->open < 0 || r->is_idle) return;
    r->node = (uint32_t)r->open + 1;
    r->mode = 2 * (uint32_t)r->open + 1;
    if (sampi_constraint_hard(r) == 0) r->mode++; /* as sampi_constraint_check_budget does */
}

static uint32_t sampi_constraint_root_of(const sampi_match_node *nodes, uint32_t node)
{
    while (nodes[node].fail != node) node = nodes[node].fail;
    return node;
}

/* Can these words be the state of a thinking budget? The node must belong to the mode, because the forced tokens begin
   there. */
static SAMPI_COLD bool sampi_constraint_thinking_is_valid(const sampi_sampler *s, const sampi_constraint *now)
{
    const sampi_match_node *nodes = sampi_constraint_match_nodes(s);
    uint32_t root = sampi_constraint_root_of(nodes, now->node), span = (now->mode - 1) / 2;
    if (now->has_plan && sampi_constraint_root_of(nodes, now->side) != sampi_constraint_ends_root(now)) return false;
    if (now->since > now->at || now->noted > (now->n_note ? now->n_note + 1 : 0)) return false;
    if (now->mode == 0) return root == 0 && now->count_in == 0 && now->noted == 0;
    if (root != span + 1 || nodes[now->node].label) return false;
    if (sampi_constraint_counts(now)) return now->count_in < (uint64_t)now->budget + (uint32_t)now->grace + 4;
    const sampi_span *t = (const sampi_span *)sampi_part(s, 2) + span;
    return t->is_end ? now->count_in == nodes[now->node].depth : now->count_in < t->n;
}
