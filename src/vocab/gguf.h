/* ---- a vocabulary from a GGUF file ----
   samp_vocab_from_gguf: the settings tokenizer.ggml... at the beginning of llama.cpp's model files. The file is read
   as bytes (little-endian, whatever the machine), and every length is checked against its end; tensors are not looked
   at. */

typedef struct sampi_gguf {
    const unsigned char *file;
    size_t n, at;
    samp_text_error *error;
    sampi_vocab_found found;
    size_t tokens, types, n_tokens, n_types; /* offsets of both arrays' elements; 0: not there */
} sampi_gguf;

enum { SAMPI_GGUF_INT = 5, SAMPI_GGUF_BOOL = 7, SAMPI_GGUF_TEXT = 8, SAMPI_GGUF_ARRAY = 9, SAMPI_GGUF_TYPES = 13 };

static SAMPI_COLD int sampi_gguf_wrong(sampi_gguf *g, int status, const char *message)
{
    g->error->status = status;
    g->error->line = 1;
    g->error->column = g->at + 1;
    memcpy(g->error->message, message, strlen(message) + 1);
    return status;
}

static SAMPI_COLD int sampi_gguf_number(sampi_gguf *g, size_t bytes, uint64_t *x)
{
    if (g->n - g->at < bytes) return sampi_gguf_wrong(g, SAMP_E_FORMAT, "the file ends here");
    *x = 0;
    for (size_t i = 0; i < bytes; i++) *x |= (uint64_t)g->file[g->at + i] << 8 * i;
    g->at += bytes;
    return SAMP_OK;
}

static SAMPI_COLD int sampi_gguf_text(sampi_gguf *g, const char **text, size_t *n)
{
    uint64_t length;
    int status = sampi_gguf_number(g, 8, &length);
    if (status) return status;
    if (length > g->n - g->at) return sampi_gguf_wrong(g, SAMP_E_FORMAT, "a text is longer than the file");
    *text = (const char *)g->file + g->at;
    *n = (size_t)length;
    g->at += *n;
    return SAMP_OK;
}

/* Skips n values of a type. */
static SAMPI_COLD int sampi_gguf_skip(sampi_gguf *g, uint64_t type, uint64_t n)
{
    static const uint8_t size[SAMPI_GGUF_TYPES] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
    const char *text;
    size_t length;
    int status = SAMP_OK;
    if (type >= SAMPI_GGUF_TYPES || type == SAMPI_GGUF_ARRAY)
        return sampi_gguf_wrong(g, SAMP_E_UNSUPPORTED, "a setting of an unknown type");
    if (type == SAMPI_GGUF_TEXT) {
        for (uint64_t i = 0; i < n && !status; i++) status = sampi_gguf_text(g, &text, &length);
        return status;
    }
    if (n > (g->n - g->at) / size[type])
        return sampi_gguf_wrong(g, SAMP_E_FORMAT, "an array is longer than the file");
    g->at += (size_t)n * size[type];
    return SAMP_OK;
}

/* Reads how the model spells tokens. */
static SAMPI_COLD int sampi_gguf_model(sampi_gguf *g)
{
    const char *name;
    size_t n;
    int status = sampi_gguf_text(g, &name, &n);
    if (status) return status;
    g->found.spelling.letters = sampi_vocab_is(name, n, "gpt2");
    g->found.spelling.blanks = sampi_vocab_is(name, n, "llama") || sampi_vocab_is(name, n, "t5");
    if (g->found.spelling.letters || g->found.spelling.blanks) return SAMP_OK;
    (void)sampi_gguf_wrong(g, SAMP_E_UNSUPPORTED, "");
    return sampi_vocab_name(g->error, SAMP_E_UNSUPPORTED, "the tokenizer ", name, n, " is not supported");
}

/* Reads one setting; those that do not matter are skipped. */
static SAMPI_COLD int sampi_gguf_setting(sampi_gguf *g)
{
    const char *key;
    size_t n_key;
    uint64_t type, n = 1, x;
    int status = sampi_gguf_text(g, &key, &n_key);
    if (!status) status = sampi_gguf_number(g, 4, &type);
    if (status) return status;
    const bool is_array = type == SAMPI_GGUF_ARRAY;
    if (is_array) {
        status = sampi_gguf_number(g, 4, &type);
        if (!status) status = sampi_gguf_number(g, 8, &n);
        if (status) return status;
    }
    if (sampi_vocab_is(key, n_key, "tokenizer.ggml.model") && type == SAMPI_GGUF_TEXT && !is_array)
        return sampi_gguf_model(g);
    if (sampi_vocab_is(key, n_key, "tokenizer.ggml.tokens") && is_array && type == SAMPI_GGUF_TEXT)
        g->tokens = g->at, g->n_tokens = (size_t)n;
    if (sampi_vocab_is(key, n_key, "tokenizer.ggml.token_type") && is_array && (type | 1) == SAMPI_GGUF_INT)
        g->types = g->at, g->n_types = (size_t)n;
    samp_token *end = sampi_vocab_is(key, n_key, "tokenizer.ggml.eos_token_id")   ? &g->found.eos
                      : sampi_vocab_is(key, n_key, "tokenizer.ggml.eot_token_id") ? &g->found.eot
                                                                                  : NULL;
    if (end && (type | 1) == SAMPI_GGUF_INT && !is_array) {
        status = sampi_gguf_number(g, 4, &x);
        if (!status && x < SAMP_MAX_VOCAB) *end = (samp_token)x;
        return status;
    }
    return sampi_gguf_skip(g, type, n);
}

/* Lists the pieces. Kinds of tokens: 1 normal, 2 unknown, 3 control, 4 of the user, 5 unused, 6 a byte. */
static SAMPI_COLD int sampi_gguf_pieces(sampi_gguf *g)
{
    if (!g->tokens) return sampi_gguf_wrong(g, SAMP_E_FORMAT, "the file has no tokenizer.ggml.tokens");
    if (!g->found.spelling.letters && !g->found.spelling.blanks)
        return sampi_gguf_wrong(g, SAMP_E_FORMAT, "the file has no tokenizer.ggml.model");
    if (g->types && g->n_types != g->n_tokens)
        return sampi_gguf_wrong(g, SAMP_E_FORMAT, "there are not as many types as tokens");
    int status = sampi_vocab_room(&g->found, g->n_tokens);
    if (status) return sampi_gguf_wrong(g, status, "too few or too many tokens");
    g->at = g->tokens;
    for (size_t t = 0; t < g->n_tokens && !status; t++) {
        sampi_vocab_piece *p = &g->found.piece[t];
        size_t n = 0;
        status = sampi_gguf_text(g, &p->at, &n);
        const unsigned char kind = g->types ? g->file[g->types + 4 * t] : 1;
        p->n = (uint32_t)n;
        p->kind = kind == 1 || kind == 6 ? SAMPI_PIECE_SPELT : kind == 4 ? SAMPI_PIECE_LITERAL : SAMPI_PIECE_SPECIAL;
        if (n > UINT32_MAX) status = sampi_gguf_wrong(g, SAMP_E_RANGE, "a token is too long");
    }
    g->found.spelling.bytes = g->found.spelling.blanks;
    if (g->found.eos >= (samp_token)g->n_tokens) g->found.eos = -1;
    if (g->found.eot >= (samp_token)g->n_tokens) g->found.eot = -1;
    return status;
}

SAMP_API SAMPI_COLD samp_vocab *samp_vocab_from_gguf(const void *file, size_t n, samp_text_error *error)
{
    samp_text_error mine;
    sampi_gguf g;
    samp_vocab *vocab = NULL;
    uint64_t version = 0, n_tensors = 0, n_settings = 0;
    memset(&g, 0, sizeof g);
    g.file = (const unsigned char *)file;
    g.n = n;
    if (!error) error = &mine;
    g.error = error;
    g.found.eos = g.found.eot = -1;
    memset(g.error, 0, sizeof *g.error);
    if (!file) return g.error->status = SAMP_E_NULL, vocab;
    int status = n < 4 || memcmp(file, "GGUF", 4) != 0 ? sampi_gguf_wrong(&g, SAMP_E_FORMAT, "not a GGUF file")
                                                       : (int)SAMP_OK;
    g.at = 4;
    if (!status) status = sampi_gguf_number(&g, 4, &version);
    if (!status && version != 2 && version != 3)
        status = sampi_gguf_wrong(&g, SAMP_E_UNSUPPORTED, "GGUF of another version than 2 and 3");
    if (!status) status = sampi_gguf_number(&g, 8, &n_tensors);
    if (!status) status = sampi_gguf_number(&g, 8, &n_settings);
    for (uint64_t i = 0; i < n_settings && !status; i++) status = sampi_gguf_setting(&g);
    if (!status) status = sampi_gguf_pieces(&g);
    if (!status) {
        vocab = sampi_vocab_of(&g.found, &status);
        if (status) sampi_gguf_wrong(&g, status, "the vocabulary is too large");
    }
    SAMP_FREE(g.found.piece);
    return vocab;
}
