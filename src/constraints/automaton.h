/* ============================================================================================= >>constraints
   Constraints on the next token (SAMPLING_CONSTRAINTS): bans, biases, budgets, loop breakers. All except top_p_decay
   are samplers of one kind (SAMPI_CONSTRAINT), which work in one way. A constructor makes the arrays of a sampler
   (constraints/making.h). An accepted token changes its state, a few words and perhaps a window of tokens
   (constraints/accepting.h). In a draw the sampler names tokens, in one of two forms (constraints/drawing.h):

     only:  the only tokens that are allowed: a list of the user's, a forced prefix, the end of a span of thinking.
     lists: short lists of tokens, each with the change of its logit: all other constraints.

   Most lists belong to the nodes of an automaton over tokens or bytes (text/automaton.h). A node is a beginning of a
   pattern. The current node is the longest one with which the text ends. The lists of this
   node, and of all shorter nodes with which the text ends, apply. Tokens that are listed whatever the text is are in
   the list of the first node. Lists for loops and n-grams are made for each draw.

   If this part is compiled, the kind has a row in the table (constraints/kind.h), so constraints are copied, saved and
   rolled back as all samplers are. A sampler has four arrays (parts): 0 the nodes, 1 the hash table of their children,
   2 lists and tokens (these three never change); 3 the window, then memory for a list, then the bans of rewinding.
   samp_rollback does not take back a rewinding ban, because the ban must hold when the same position comes again. */

/* The tokens that end one type of span of thinking. Part 2 begins with [n_spans] of these structs; the tokens to be
   forced follow. */
typedef struct sampi_span {
    uint32_t first, n; /* where in part 2 the tokens to be forced are, in words */
    uint32_t is_end;   /* 1 if these tokens are the end sequence */
} sampi_span;

/* Bounds on the arguments of constructors. */
#define SAMPI_MAX_PATTERNS 65536
#define SAMPI_MAX_PATTERN  1024
#define SAMPI_MAX_SYMBOLS  (1 << 20)
#define SAMPI_MAX_PERIOD   (1 << 16)
#define SAMPI_BANS         256
#ifndef SAMPI_LONG_LIST /* tests define a smaller number */
#define SAMPI_LONG_LIST 512
#endif

static const sampi_match_node *sampi_constraint_match_nodes(const sampi_sampler *s)
{
    return (const sampi_match_node *)sampi_part(s, 0);
}

/* Is a token among n tokens that ascend? */
static bool sampi_constraint_has_token(const samp_token *list, size_t n, samp_token token)
{
    size_t at = sampi_find_token(list, sizeof *list, n, token);
    return at < n && list[at] == token;
}

/* Returns a byte of a string or token as it is compared: as a small letter if any_case. */
static int32_t sampi_constraint_fold(char byte, bool any_case)
{
    unsigned char c = (unsigned char)byte;
    return any_case && c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}
