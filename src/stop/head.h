/* ===================================================================================================== >>stop
   From tokens to text (SAMPLING_STOP): which bytes of a text may be shown, and where it ends. This file has the struct
   of a text; stop/search.h finds stops and characters, stop/making.h makes texts, stop/patterns.h adds regular
   expressions, stop/text.h takes tokens.

   The whole state is a function of the text's last bytes, as many as the longest stop has and three. So nothing is
   noted for samp_text_rollback but the last tokens: their bytes are read again (sampi_text_again).

   A text has eight arrays (parts). The first four never change once it has a token. */

enum {
    SAMPI_TEXT_NODES,    /* sampi_match_node: the automaton of the strings (text/automaton.h). A node's `first` is the
                            index of the longest stop that ends there, `n` how many of its bytes may begin a stop */
    SAMPI_TEXT_EDGES,    /* sampi_match_edge */
    SAMPI_TEXT_TABLES,   /* uint32_t: for each pattern its table of states, then a byte of flags for each state */
    SAMPI_TEXT_ENDS,     /* sampi_count: the stop tokens, sorted */
    SAMPI_TEXT_PATTERNS, /* sampi_text_pattern */
    SAMPI_TEXT_BEGUN,    /* sampi_text_begun: for each pattern max_bytes matches that have begun */
    SAMPI_TEXT_PAST,     /* sampi_text_past: a ring of the last tokens that have bytes */
    SAMPI_TEXT_BYTES,    /* the bytes that were not shown yet, and behind them what the last call shows */
    SAMPI_TEXT_PARTS
};

#define SAMPI_TEXT_KEPT       1024 /* tokens that can be taken back */
#define SAMPI_TEXT_MOST_STOPS 65536
#define SAMPI_TEXT_LONGEST    65536
#define SAMPI_TEXT_PATTERN    4096 /* the largest max_bytes */
#define SAMPI_TEXT_N_PATTERNS 1024

/* Flags of a pattern's state: the pattern is complete; more bytes may complete it. */
enum { SAMPI_TEXT_DONE = 1, SAMPI_TEXT_OPEN = 2 };

/* A pattern. State 0 of its table is that of a match that begins now, `first` that at the beginning of the text. */
typedef struct sampi_text_pattern {
    size_t table, flags; /* where its table and its flags begin in TABLES, in words */
    uint32_t n_classes, first, max_bytes;
    uint32_t begun, n_begun; /* the first of its matches in BEGUN, and how many there are, oldest first */
} sampi_text_pattern;

/* A match of a pattern that has begun: when its first byte came (samp_text.now), and the state of the table. */
typedef struct sampi_text_begun {
    uint32_t from, state;
} sampi_text_begun;

/* A token that has bytes, and its number in the text. */
typedef struct sampi_text_past {
    samp_token token;
    int32_t number;
} sampi_text_past;

struct samp_text {
    const samp_vocab *vocab;
    void *part[SAMPI_TEXT_PARTS];
    size_t size[SAMPI_TEXT_PARTS]; /* in bytes */
    uint32_t edge_mask;
    int32_t n_strings, n_patterns;
    size_t longest, longest_token; /* bytes of the longest stop and of the longest token */
    int32_t min_tokens;
    bool include_stop, raw_bytes, strip_space, ignores_ends;
    /* the state; samp_text_reset sets the members from `node` on to 0 */
    uint32_t node, now;       /* the automaton's node; the number of bytes, mod 2^32 */
    bool stripped, has_begun; /* the first byte was stripped; the text has a byte */
    bool is_flushed;
    int32_t n_tokens;
    uint32_t n_past, oldest; /* tokens that have bytes; the first of them that the ring still has */
    size_t n_bytes;          /* of those that were not shown yet */
    samp_text_state state;
    int32_t stop, stop_token; /* stop: the index of the stop, plus 1 */
    size_t stop_byte;
};
