/* ==================================================================================================== >>json
   Readers of grammars, schemas and requests (SAMPLING_GRAMMAR, SAMPLING_PEERS or SAMPLING_VOCAB). The files in text/
   read UTF-8 and JSON (RFC 8259, strictly), and report errors by line and column. This file has the structs and the
   errors; the readers follow in text/strings.h, text/values.h and text/documents.h.

   A JSON document becomes an array of nodes in the order of the text, in one block of memory, whose size is counted
   beforehand. Each string gets a number, and equal strings get the same one. A member is found by a hash of its object
   and its name. JSON numbers stay text, for exact decimal arithmetic. */

/* Fills *error with the status and with the line and column (in bytes, from 1) of the place `at` in a text, and returns
   the status. `what`, the message, must fit into its buffer. */
static SAMPI_COLD int sampi_text_error(samp_text_error *error, const char *text, const char *at, int status,
                                       const char *what)
{
    error->status = status;
    error->line = error->column = 1;
    for (const char *p = text; p < at; p++) {
        error->column++;
        if (*p == '\n' || (*p == '\r' && p[1] != '\n')) {
            error->line++;
            error->column = 1;
        }
    }
    memcpy(error->message, what, strlen(what) + 1);
    return status;
}

/* Reads the code point at the beginning of a text of at least one byte. Returns the number of its bytes, or 0 if they
   are not valid UTF-8 or encode a surrogate. */
static uint32_t sampi_utf8_get(const unsigned char *s, const unsigned char *end, uint32_t *c)
{
    static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    uint32_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
    if (n == 0 || (size_t)(end - s) < n) return 0;
    *c = n == 1 ? *s : *s & (0x7fu >> n);
    for (uint32_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        *c = *c << 6 | (s[i] & 0x3f);
    }
    return *c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000) ? 0 : n;
}

/* Returns the value of a hexadecimal digit, or -1 for another character. */
static int sampi_hex_digit(int c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

enum {
    SAMPI_JSON_DEPTH = 256,    /* the deepest nesting of arrays and objects */
    SAMPI_JSON_PROBES = 256,   /* the most steps of a search in a hash table; more count as an attack */
    SAMPI_JSON_BYTES = 1 << 26 /* the longest text, in bytes */
};

typedef enum sampi_json_kind {
    SAMPI_JSON_NULL,
    SAMPI_JSON_FALSE,
    SAMPI_JSON_TRUE,
    SAMPI_JSON_NUMBER,
    SAMPI_JSON_STRING,
    SAMPI_JSON_ARRAY,
    SAMPI_JSON_OBJECT
} sampi_json_kind;

typedef struct sampi_json_node {
    uint8_t kind;           /* sampi_json_kind */
    int32_t parent, next;   /* the parent node, and the next child of the same parent; -1 if there is none */
    int32_t first, last, n; /* for an array or object: its first and its last child, and their number */
    int32_t name;           /* the number of the string that names the member; -1 if the node is not a member */
    int32_t text;           /* the number of the string; for a JSON number, of its text as written */
    uint32_t at;            /* the offset of the value in the source */
} sampi_json_node;

typedef struct sampi_json_string {
    uint32_t at, n; /* the string's offset in `bytes`, and its length in bytes */
} sampi_json_string;

typedef struct sampi_json {
    sampi_json_node *nodes;
    sampi_json_string *strings;
    /* hash tables of the numbers of strings and of the nodes that are members; -1: a free slot */
    int32_t *by_text, *by_name;
    char *bytes; /* the bytes of all strings, unescaped */
    int32_t n_nodes, n_strings;
    uint32_t n_bytes, text_mask, name_mask;
    const char *source;
    size_t n_source;
    samp_text_error *error;
} sampi_json;

typedef struct sampi_json_reader {
    sampi_json *doc;
    const unsigned char *at, *end;
    int depth, status;
} sampi_json_reader;

static SAMPI_COLD int sampi_json_fail(const sampi_json *doc, size_t at, int status, const char *message)
{
    if (at > 0 && at == doc->n_source && doc->source[at - 1] == '\r') at--; /* nothing behind the text is read */
    return sampi_text_error(doc->error, doc->source, doc->source + at, status, message);
}

static SAMPI_COLD int32_t sampi_json_wrong(sampi_json_reader *r, const char *message)
{
    size_t at = (size_t)(r->at - (const unsigned char *)r->doc->source);
    r->status = sampi_json_fail(r->doc, at, SAMP_E_FORMAT, message);
    return -1;
}
