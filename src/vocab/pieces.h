/* =================================================================================================== >>vocab
   Vocabularies from a model's own files (SAMPLING_VOCAB). A file spells each token as a piece of text; the readers of
   this folder list the pieces, and this room makes bytes of them and calls samp_vocab_init. The spelling is one of
   two: letters that encode bytes (byte-level BPE, as GPT-2 has it), or UTF-8 with U+2581 for a blank and <0x0A> for
   a byte (SentencePiece). */

typedef enum sampi_vocab_piece_kind {
    SAMPI_PIECE_NONE,    /* no token has this id */
    SAMPI_PIECE_SPELT,   /* in the file's spelling */
    SAMPI_PIECE_LITERAL, /* the bytes as they are */
    SAMPI_PIECE_SPECIAL  /* a control token, which has no bytes */
} sampi_vocab_piece_kind;

typedef struct sampi_vocab_piece {
    const char *at; /* [n], in the file or the document */
    uint32_t n;
    uint8_t kind;
} sampi_vocab_piece;

typedef struct sampi_vocab_spelling {
    bool letters; /* letters encode bytes */
    bool blanks;  /* U+2581 is a blank */
    bool bytes;   /* <0x0A> is a byte */
} sampi_vocab_spelling;

/* The tokens that end a text, or from SAMPI_TURN_NAMES on a turn, by their usual names; files seldom say which do. */
/* clang-format off */
static const char *const SAMPI_END_NAMES[] = {
    "</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>", "<|eos|>", "[EOS]", "<EOT>",
    "<\357\275\234end\342\226\201of\342\226\201sentence\357\275\234>", /* with full-width bars */
    "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|eot|>", "<end_of_turn>",
    "<turn|>", "<end_of_utterance>", "<|END_OF_TURN_TOKEN|>", "<|endofturn|>", "<|end_of_turn|>", "[EOT]"
};
/* clang-format on */

enum { SAMPI_TURN_NAMES = 8, SAMPI_MOST_ENDS = 32 };

/* What a reader has found: the pieces by id, and the ends that the file names. */
typedef struct sampi_vocab_found {
    sampi_vocab_piece *piece; /* [n] */
    size_t n;
    sampi_vocab_spelling spelling;
    samp_token eos, eot, eog[SAMPI_MOST_ENDS];
    size_t n_eog;
} sampi_vocab_found;

static bool sampi_vocab_is(const char *text, size_t n, const char *name)
{
    return n == strlen(name) && memcmp(text, name, n) == 0;
}

static void sampi_vocab_add_end(sampi_vocab_found *found, samp_token token)
{
    for (size_t i = 0; i < found->n_eog; i++)
        if (found->eog[i] == token) return;
    if (token >= 0 && (size_t)token < found->n && found->n_eog < SAMPI_MOST_ENDS) found->eog[found->n_eog++] = token;
}

static bool sampi_vocab_is_special(const sampi_vocab_piece *p, const char *name)
{
    return p->kind == SAMPI_PIECE_SPECIAL && sampi_vocab_is(p->at, p->n, name);
}

/* Adds the special tokens with the usual names. A model that has <|return|> and <|call|> ends only a message with
   <|end|>. */
static SAMPI_COLD void sampi_vocab_find_ends(sampi_vocab_found *found)
{
    const size_t n_names = sizeof SAMPI_END_NAMES / sizeof SAMPI_END_NAMES[0];
    bool returns = false;
    for (size_t t = 0; t < found->n; t++) returns |= sampi_vocab_is_special(&found->piece[t], "<|return|>");
    for (size_t i = 0; i < n_names; i++)
        for (size_t t = 0; t < found->n; t++) {
            const sampi_vocab_piece *p = &found->piece[t];
            if (!sampi_vocab_is_special(p, SAMPI_END_NAMES[i])) continue;
            if (returns && sampi_vocab_is(p->at, p->n, "<|end|>")) continue;
            samp_token *end = i < SAMPI_TURN_NAMES ? &found->eos : &found->eot;
            if (*end < 0) *end = (samp_token)t;
            sampi_vocab_add_end(found, (samp_token)t);
        }
}

/* Returns the byte that a letter encodes, or -1: printable bytes are their own letters, the other 68 are U+0100 to
   U+0143, in order. */
static int sampi_byte_of_letter(uint32_t c)
{
    if (c < 256) return (c > 32 && c < 127) || (c > 160 && c != 173) ? (int)c : -1;
    c -= 256;
    return c < 33 ? (int)c : c < 67 ? (int)c - 33 + 127 : c == 67 ? 173 : -1;
}

/* Writes the bytes of a piece, at most n of them, and returns their number. A piece with a character that encodes no
   byte is taken as it is. */
static SAMPI_COLD uint32_t sampi_vocab_spell(const sampi_vocab_spelling *how, const sampi_vocab_piece *p, char *out)
{
    const unsigned char *s = (const unsigned char *)p->at, *end = s + p->n;
    uint32_t n = 0, c = 0, length;
    if (p->kind == SAMPI_PIECE_NONE || p->kind == SAMPI_PIECE_SPECIAL) return 0;
    if (p->kind == SAMPI_PIECE_SPELT && how->bytes && p->n == 6 && memcmp(s, "<0x", 3) == 0 && s[5] == '>') {
        const int high = sampi_hex_digit(s[3]), low = sampi_hex_digit(s[4]);
        if (high >= 0 && low >= 0) return out[0] = (char)(high * 16 + low), 1;
    }
    for (; p->kind == SAMPI_PIECE_SPELT && how->letters && s < end; s += length) {
        length = sampi_utf8_get(s, end, &c);
        const int byte = length ? sampi_byte_of_letter(c) : -1;
        if (byte < 0) break;
        out[n++] = (char)byte;
    }
    if (p->kind == SAMPI_PIECE_SPELT && how->letters && s == end) return n;
    memcpy(out, p->at, p->n);
    if (p->kind != SAMPI_PIECE_SPELT || !how->blanks) return p->n;
    for (uint32_t i = n = 0; i < p->n; n++) {
        const bool blank = p->n - i >= 3 && memcmp(p->at + i, "\xe2\x96\x81", 3) == 0;
        out[n] = blank ? ' ' : p->at[i];
        i += blank ? 3 : 1;
    }
    return n;
}

/* Makes the vocabulary of the pieces. *status: SAMP_OK, SAMP_E_NOMEM, SAMP_E_RANGE. */
static SAMPI_COLD samp_vocab *sampi_vocab_of(sampi_vocab_found *found, int *status)
{
    size_t total = 0;
    for (size_t t = 0; t < found->n; t++) total += found->piece[t].n;
    uint32_t *n_bytes = (uint32_t *)SAMP_MALLOC(found->n * sizeof *n_bytes + total + 1);
    if (!n_bytes) return *status = SAMP_E_NOMEM, (samp_vocab *)NULL;
    char *bytes = (char *)(n_bytes + found->n);
    total = 0;
    for (size_t t = 0; t < found->n; t++)
        total += n_bytes[t] = sampi_vocab_spell(&found->spelling, &found->piece[t], bytes + total);
    sampi_vocab_find_ends(found);
    sampi_vocab_add_end(found, found->eos);
    sampi_vocab_add_end(found, found->eot);
    samp_vocab *vocab = samp_vocab_init(bytes, n_bytes, (int32_t)found->n, found->eog, found->n_eog, found->eos,
                                        found->eot, status);
    SAMP_FREE(n_bytes);
    return vocab;
}

/* Allocates the pieces of n tokens, none of which is there yet. Returns a status. */
static SAMPI_COLD int sampi_vocab_room(sampi_vocab_found *found, size_t n)
{
    if (n == 0) return SAMP_E_EMPTY;
    if (n > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    found->piece = (sampi_vocab_piece *)SAMP_MALLOC(n * sizeof *found->piece);
    if (!found->piece) return SAMP_E_NOMEM;
    memset(found->piece, 0, n * sizeof *found->piece);
    found->n = n;
    return SAMP_OK;
}

/* Writes "before "name" after" to an error's message; a long name is cut. Returns the status. */
static SAMPI_COLD int sampi_vocab_name(samp_text_error *error, int status, const char *before, const char *name,
                                       size_t n, const char *after)
{
    char *to = error->message, *end = to + sizeof error->message - strlen(after) - 2;
    error->status = status;
    while (*before && to < end) *to++ = *before++;
    *to++ = '"';
    while (n-- > 0 && to < end) *to++ = *name++;
    *to++ = '"';
    memcpy(to, after, strlen(after) + 1);
    return status;
}
