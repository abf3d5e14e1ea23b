/* ---- reading texts ----
   The readers of GBNF and of regular expressions turn a text into a tree. Both read the text once and stop at the first
   mistake; the error says where it is and what was expected. */

typedef struct sampi_reader {
    sampi_tree *tree;
    /* text: the beginning; at: the next byte to read; end: the byte behind the text, which is 0 and may be read */
    const char *text, *at, *end;
    samp_text_error *error; /* never NULL */
    sampi_vec parts;        /* a stack of nodes: the parts of the sequences that are being read */
    int32_t depth;          /* how many parentheses are open */
    uint64_t n_symbols;     /* GBNF: names as llama.cpp counts them, for its limit on repetitions */
    /* Regular expressions: the function that makes the node of a character class. */
    sampi_node (*chars)(sampi_tree *, const uint32_t (*)[2], size_t, bool);
    /* Regular expressions: true if it matters in which of several ways a text matches. Groups then become GROUP nodes,
       numbered below n_groups. */
    bool ways;
    int32_t n_groups;
    bool any_case;  /* regular expressions: true if the letters A to Z equal a to z */
    bool open;      /* regular expressions: true if the text goes on behind a match, so that its end is not known */
    bool edges;     /* regular expressions: true if \b or \B is in it */
    sampi_node any; /* regular expressions: any text */
} sampi_reader;

#define SAMPI_MAX_NESTING 100 /* the largest number of parentheses that may be open */

/* Reports an error at `at`; `what` says what was expected there. Returns the error's status. */
static int sampi_grammar_expected(sampi_reader *r, const char *at, int status, const char *what)
{
    return sampi_text_error(r->error, r->text, at, status, what);
}

/* Reads one code point, which must be valid UTF-8. Returns the code point, or a status. */
static int32_t sampi_grammar_read_utf8(sampi_reader *r, const char *what)
{
    if (r->at == r->end) return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, what);
    uint32_t c, n = sampi_utf8_get((const uint8_t *)r->at, (const uint8_t *)r->end, &c);
    if (n == 0) return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected valid UTF-8");
    r->at += n;
    return (int32_t)c;
}

/* Reads n hexadecimal digits. Returns their value, or a status. */
static int64_t sampi_grammar_read_hex(sampi_reader *r, int n)
{
    uint32_t x = 0;
    for (int i = 0; i < n; i++, r->at++) {
        int digit = sampi_hex_digit(*r->at);
        if (digit < 0) return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected a hexadecimal digit");
        x = x << 4 | (uint32_t)digit;
    }
    return x;
}

/* Reads a decimal number. Returns the number, or a status. Numbers above 2^31 - 1 become 2^31 - 1. */
static int32_t sampi_grammar_read_number(sampi_reader *r, const char *what)
{
    int64_t x = 0;
    if (*r->at < '0' || *r->at > '9') return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, what);
    for (; *r->at >= '0' && *r->at <= '9'; r->at++) {
        x = 10 * x + (*r->at - '0');
        if (x > INT32_MAX) x = INT32_MAX;
    }
    return (int32_t)x;
}

/* Returns n. If n is a status, an error is reported at the current position of the text. */
static sampi_node sampi_grammar_read_node(sampi_reader *r, sampi_node n)
{
    if (n >= 0 || r->error->status) return n;
    return sampi_grammar_expected(r, r->at, n, n == SAMP_E_NOMEM ? "out of memory" : "expected a smaller grammar");
}

static sampi_node sampi_grammar_read_part(sampi_reader *r, sampi_node n)
{
    if (n < 0) return sampi_grammar_read_node(r, n);
    sampi_node *part = (sampi_node *)sampi_grammar_vec_add(&r->parts, sizeof *part, 1);
    if (!part) return sampi_grammar_read_node(r, SAMP_E_NOMEM);
    return *part = n;
}

/* Joins the parts from index `first` on into one node, as a sequence (seq) or as alternatives, and removes them from
   r->parts. */
static sampi_node sampi_grammar_read_join(sampi_reader *r, int32_t first, bool seq)
{
    sampi_node n = seq ? SAMPI_EMPTY : SAMPI_NEVER;
    while (r->parts.n > first) {
        sampi_node part = ((sampi_node *)r->parts.data)[--r->parts.n];
        n = seq ? sampi_tree_seq(r->tree, part, n) : sampi_tree_alt(r->tree, part, n);
    }
    return sampi_grammar_read_node(r, n);
}
