/* ---- several patterns at once ----
   An automaton (Aho and Corasick 1975) that finds patterns of tokens or bytes in a text, for constraints and for
   stops. A node is a beginning of a pattern. The current node is the longest one with which the text ends. This file
   also has a step in the table of a regular expression, and the bytes of a token. */

/* A node of the automaton. Nodes are in order of depth; the first n_roots are roots of separate automata. */
typedef struct sampi_match_node {
    uint32_t fail;     /* the node of the longest proper suffix; a root's is the root itself */
    uint32_t depth;    /* the length of the node's text, in symbols */
    uint32_t label;    /* the label of the longest pattern that ends at this node, or 0 if no pattern does */
    uint32_t first, n; /* the first entry and the length of its list in part 2 */
} sampi_match_node;

/* An entry of the hash table of the nodes' children. The table's length is a power of two. */
typedef struct sampi_match_edge {
    /* the node, and its child by this symbol; `to` is 0 in a free entry, because the first root is not a child */
    uint32_t from, to;
    int32_t symbol;
} sampi_match_edge;

/* Returns the index of this edge in the hash table, or of the free entry where it would be. The table always has a
   free entry. */
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

/* Returns the child of a node by a symbol; the child is made if it does not exist. Children are made in order of
   depth, so all shorter nodes exist already, and the longest suffix of a new node is known. */
static SAMPI_COLD uint32_t sampi_match_grow(sampi_match_node *nodes, sampi_match_edge *edges, uint32_t mask,
                                            uint32_t *n_nodes, uint32_t from, int32_t symbol)
{
    sampi_match_edge *edge = &edges[sampi_match_slot(edges, mask, from, symbol)];
    if (edge->to) return edge->to;
    const uint32_t suffix = nodes[from].fail;
    edge->from = from;
    edge->symbol = symbol;
    edge->to = (*n_nodes)++;
    nodes[edge->to].depth = nodes[from].depth + 1;
    nodes[edge->to].fail = suffix == from ? from : sampi_match_next(nodes, edges, mask, suffix, symbol);
    return edge->to;
}

/* Returns the state after a byte, in the table of a regular expression (grammar/patterns.h). The table has 64
   words with the class of each byte, then a row for each state. */
static uint32_t sampi_table_next(const uint32_t *table, uint32_t n_classes, uint32_t state, char byte)
{
    const uint8_t *class_of = (const uint8_t *)table;
    return ((const uint16_t *)(const void *)(table + 64))[state * n_classes + class_of[(unsigned char)byte]];
}

/* Returns the bytes of a token. *n is 0 if the token is not in the vocabulary. */
static const char *sampi_bytes_of(const samp_vocab *v, samp_token token, size_t *n)
{
    *n = 0;
    const char *bytes = token < v->n_vocab ? v->token_bytes(v, token, n) : NULL;
    if (!bytes) *n = 0;
    return bytes;
}
