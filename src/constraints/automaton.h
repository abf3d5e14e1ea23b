/* ============================================================================================= >>constraints
   Constraints on the next token (SAMPLING_CONSTRAINTS): bans, biases, budgets, loop breakers. All except top_p_decay
   are samplers of one kind (SAMPI_CONSTRAINT), which work in one way. A constructor makes the arrays of a sampler
   (constraints/making.h). An accepted token changes its state, a few words and perhaps a window of tokens
   (constraints/accepting.h). In a draw the sampler names tokens, in one of two forms (constraints/drawing.h):

     only:  the only tokens that are allowed: a list of the user's, a forced prefix, the end of a span of thinking.
     lists: short lists of tokens, each with the change of its logit: all other constraints.

   Most lists belong to the nodes of an automaton (Aho and Corasick 1975) over tokens or bytes, which is in this file. A
   node is a beginning of a pattern. The current node is the longest one with which the text ends. The lists of this
   node, and of all shorter nodes with which the text ends, apply. Tokens that are listed whatever the text is are in
   the list of the first node. Lists for loops and n-grams are made for each draw.

   If this part is compiled, the kind has a row in the table (constraints/kind.h), so constraints are copied, saved and
   rolled back as all samplers are. A sampler has four arrays (parts): 0 the nodes, 1 the hash table of their children,
   2 lists and tokens (these three never change); 3 the window, then memory for a list, then the bans of rewinding.
   samp_rollback does not take back a rewinding ban, because the ban must hold when the same position comes again. */

/* A node of the automaton. Nodes are in order of depth; the first n_roots are roots of separate automata. */
typedef struct sampi_match_node {
    uint32_t fail;     /* the node of the longest proper suffix; a root's is the root itself */
    uint32_t depth;    /* the length of the node's text, in symbols */
    uint32_t mark;     /* the mark of the longest pattern that ends at this node, or 0 if no pattern does */
    uint32_t first, n; /* the first entry and the length of its list in part 2 */
} sampi_match_node;

/* An entry of the hash table of the nodes' children. The table's length is a power of two. */
typedef struct sampi_match_edge {
    /* the node, and its child by this symbol; `to` is 0 in a free entry, because the first root is not a child */
    uint32_t from, to;
    int32_t symbol;
} sampi_match_edge;

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

/* ---- the automaton ---- */

static const sampi_match_node *sampi_match_nodes(const sampi_sampler *s)
{
    return (const sampi_match_node *)sampi_part(s, 0);
}

/* Returns the index of this edge in the hash table, or of the free entry where it would be. The table always has a free
   entry. */
static uint32_t sampi_match_slot(const sampi_match_edge *edges, uint32_t mask, uint32_t from, int32_t symbol)
{
    uint32_t at = from * 0x9e3779b1u ^ (uint32_t)symbol * 0x85ebca6bu;
    at ^= at >> 15;
    while (edges[at & mask].to && (edges[at & mask].from != from || edges[at & mask].symbol != symbol)) at++;
    return at & mask;
}

/* Returns the automaton's node after one more symbol (a token or a byte). */
static uint32_t sampi_match_next(const sampi_match_node *nodes, const sampi_match_edge *edges, uint32_t mask,
                                 uint32_t node, int32_t symbol)
{
    for (;;) {
        const sampi_match_edge *h = &edges[sampi_match_slot(edges, mask, node, symbol)];
        if (h->to || nodes[node].fail == node) return h->to ? h->to : node;
        node = nodes[node].fail;
    }
}

/* Returns the state after a byte, in the table of a banned pattern (constraints/patterns.h). The table has 64 words
   with the class of each byte, then a row for each state. */
static uint32_t sampi_table_next(const uint32_t *table, uint32_t n_classes, uint32_t state, char byte)
{
    const uint8_t *class_of = (const uint8_t *)table;
    return ((const uint16_t *)(const void *)(table + 64))[state * n_classes + class_of[(unsigned char)byte]];
}

/* Returns a byte of a string or token as it is compared: as a small letter if any_case. */
static int32_t sampi_fold(char byte, bool any_case)
{
    unsigned char c = (unsigned char)byte;
    return any_case && c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/* Returns the bytes of a token. *n is 0 if the token is not in the vocabulary. */
static const char *sampi_bytes_of(const samp_vocab *v, samp_token token, size_t *n)
{
    *n = 0;
    const char *bytes = token < v->n_vocab ? v->token_bytes(v, token, n) : NULL;
    if (!bytes) *n = 0;
    return bytes;
}
