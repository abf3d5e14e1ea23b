/* =================================================================================================== >>peers
   Reads requests of other programs, the peers (SAMPLING_PEERS): samp_settings_from makes samp_settings from the JSON of
   a request. Each program is a table of fields (peers/tables.h). A row has a field's name, the function that reads its
   value, the member that this sets, its default, its range, and what the program does with a value out of that range.
   The code that reads a request (peers/fields.h) has no case for a single program. Rules that involve several fields
   (penalties that look at different texts, sampling that is off) are in peers/requests.h. This room has the structs of
   rows, of programs, and of a request that is being read. */

/* Flags of a field's row. */
enum {
    SAMPI_PEER_NONE = 0,
    SAMPI_PEER_OPEN = 1,      /* the range does not contain lo */
    SAMPI_PEER_CLAMPS = 2,    /* a value out of the range is replaced by the nearest end of the range */
    SAMPI_PEER_RETURNS = 4,   /* a value out of the range is replaced by the default */
    SAMPI_PEER_INSIDE = 8,    /* the field is in the program's object of options */
    SAMPI_PEER_OUTPUT = 16,   /* a penalty that counts generated tokens only */
    SAMPI_PEER_ALL = 32,      /* a penalty that counts tokens of the prompt too */
    SAMPI_PEER_PAIRS = 64,    /* logit_bias may be a list of pairs [id, bias] */
    SAMPI_PEER_32_BITS = 128, /* a seed has 32 bits; 2^32 - 1 means no seed */
    SAMPI_PEER_OURS = 256,    /* the range is that of this library's setting; the program accepts more values */
    SAMPI_PEER_NOT_0 = 512,   /* the range does not contain 0 */
    SAMPI_PEER_BEHIND = 1024, /* a penalty that is applied after the others, and before a logit bias */
    SAMPI_PEER_ONE = 2048,    /* a single value is a list of it */
    SAMPI_PEER_EMPTY = 4096,  /* an empty text in a list is left out; without this flag it is refused */
    SAMPI_PEER_MASKS = 8192,  /* the end tokens are also masked (samp_request.mask_ends) */
    SAMPI_PEER_WAITS = 16384, /* before so many tokens no string stops the text either */
    SAMPI_PEER_HEAT = 32768,  /* a number above 0 and below 0.01 counts as 0.01 */
    SAMPI_PEER_COLD = 65536,  /* a number below 1e-6 counts as 0 */
    SAMPI_PEER_BANS = 131072, /* a list of tokens that get a bias of -infinity */
    SAMPI_PEER_INSIDE_EMPTY = SAMPI_PEER_INSIDE | SAMPI_PEER_EMPTY,
    SAMPI_PEER_ONE_EMPTY = SAMPI_PEER_ONE | SAMPI_PEER_EMPTY,
    SAMPI_PEER_OPEN_OUTPUT_BEHIND = SAMPI_PEER_OPEN | SAMPI_PEER_OUTPUT | SAMPI_PEER_BEHIND,
    SAMPI_PEER_OPEN_ALL = SAMPI_PEER_OPEN | SAMPI_PEER_ALL,
    /* lo itself is replaced by the default, other values out of the range by the nearest end */
    SAMPI_PEER_OPEN_CLAMPS_RETURNS = SAMPI_PEER_OPEN | SAMPI_PEER_CLAMPS | SAMPI_PEER_RETURNS,
    SAMPI_PEER_INSIDE_32_BITS = SAMPI_PEER_INSIDE | SAMPI_PEER_32_BITS
};

typedef struct sampi_request_reader sampi_request_reader;
typedef struct sampi_peer_field sampi_peer_field;

struct sampi_peer_field {
    const char *name;  /* the name in a request; NULL if the row is only a default of the program */
    const char *param; /* the member of samp_params that the field sets, or NULL */
    size_t place;      /* where in the reader the function puts the value, if it serves several fields */
    /* reads the value at a node; returns a status */
    int (*read)(sampi_request_reader *, int32_t node, const sampi_peer_field *);
    unsigned how;      /* flags: SAMPI_PEER_OPEN ... SAMPI_PEER_BANS */
    const char *usual; /* the default, as a text for samp_settings_set; NULL for this library's default */
    double lo, hi;
};

#define SAMPI_MOST            ((double)FLT_MAX)
#define SAMPI_PEER_MOST_BEAMS 4096 /* as samp_beam_params has it */

/* Flags of a program, which say how it reads a request. */
enum {
    SAMPI_PEER_CUTS = 1,      /* a fraction is cut off: 40.5 is 40 for a field with a whole number */
    SAMPI_PEER_WRAPS = 2,     /* a whole number is reduced to its lowest 32 bits */
    SAMPI_PEER_DOUBLES = 4,   /* a whole number is first rounded to a double */
    SAMPI_PEER_SINGLES = 8,   /* other numbers are rounded to float before their range is checked */
    SAMPI_PEER_TRUTHS = 16,   /* true counts as the number 1, false as 0 */
    SAMPI_PEER_SPELT = 32,    /* a text like "0.5" counts as the number 0.5 */
    SAMPI_PEER_FOLDS = 64,    /* names of fields match in any case, except inside the object of options */
    SAMPI_PEER_SAMPLES = 128, /* without a field that says so, the program draws tokens */
    SAMPI_PEER_BARE = 256,    /* a tool's "strict" is a member of the tool itself, not of its function */
    /* fields may be in the object of options (where neither booleans nor texts count as numbers) or beside it */
    SAMPI_PEER_ANYWHERE = 512
};

typedef struct sampi_peer {
    const sampi_peer_field *fields; /* the fields; the last row has neither name nor param */
    const char *order, *skipped;    /* the order of samplers, and the skipped fields: names separated by semicolons */
    /* the fields that are refused unless their value asks for nothing: names as well, each with the neutral number or
       "false" behind a '='; with nothing behind it, an empty value is neutral; without '=', only null */
    const char *refused;
    const char *options; /* the name of the object of options and a dot, or "" */
    int reads;           /* flags: SAMPI_PEER_CUTS ... SAMPI_PEER_ANYWHERE */
} sampi_peer;

/* The window of penalties over the whole text, if the caller does not say how long a text can be: 1.5 MB a chain. */
enum { SAMPI_PEER_WHOLE_TEXT = 1 << 17 };

/* The state of reading a request. */
struct sampi_request_reader {
    const sampi_peer *peer;
    const char *const *handled;
    const sampi_json *doc;
    samp_settings *to; /* the new settings; at the end they get `stops`, and the caller `made` */
    sampi_stops stops;
    samp_request made;
    int reads;            /* the program's flags, or those that hold in its options */
    bool samples;         /* tokens are drawn */
    bool searches;        /* vLLM's use_beam_search */
    bool adaptive;        /* llama-server's adaptive_p is in the order */
    bool has_out, thinks; /* has_out: the caller gets `made`; thinks: Anthropic's thinking is enabled */
    sampi_text *left_out; /* gets the names of unknown fields; NULL: an unknown field is an error */
    int32_t n_left_out;
    bool knows_length; /* the caller has set n_ctx_train */
};
