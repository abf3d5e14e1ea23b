/* ---- a vocabulary from tokenizer.json ----
   samp_vocab_from_tokenizer_json: the file of Hugging Face's tokenizers. "model" has the pieces of BPE or Unigram,
   "decoder" (or else "pre_tokenizer") says how they are spelt, "added_tokens" lists further tokens, control tokens
   among them. What the file asks for and this reader does not know is an error that names it. */

typedef struct sampi_tokenizer_reader {
    sampi_json doc;
    sampi_vocab_found found;
} sampi_tokenizer_reader;

static int32_t sampi_tokenizer_member(const sampi_json *doc, int32_t node, const char *name)
{
    return sampi_json_member(doc, node, sampi_json_find(doc, name, strlen(name)));
}

/* The bytes of a string's node; NULL for another node. */
static const char *sampi_tokenizer_text(const sampi_json *doc, int32_t node, size_t *n)
{
    if (node < 0 || doc->nodes[node].kind != SAMPI_JSON_STRING) return NULL;
    const sampi_json_string *s = &doc->strings[doc->nodes[node].text];
    *n = s->n;
    return doc->bytes + s->at;
}

static bool sampi_tokenizer_is(const sampi_json *doc, int32_t node, const char *text)
{
    size_t n;
    const char *s = sampi_tokenizer_text(doc, node, &n);
    return s && sampi_vocab_is(s, n, text);
}

static SAMPI_COLD int sampi_tokenizer_wrong(const sampi_json *doc, int32_t node, const char *message)
{
    return sampi_json_fail(doc, node < 0 ? 0 : doc->nodes[node].at, SAMP_E_FORMAT, message);
}

/* An error that names the text of a node. */
static SAMPI_COLD int sampi_tokenizer_refuse(const sampi_json *doc, int32_t node, const char *what)
{
    size_t n = 0;
    const char *name = sampi_tokenizer_text(doc, node, &n);
    (void)sampi_tokenizer_wrong(doc, node, "");
    return sampi_vocab_name(doc->error, SAMP_E_UNSUPPORTED, what, name ? name : "", n, " is not supported");
}

/* Reads an id, a whole number; -1: it is none. Larger ids than SAMP_MAX_VOCAB are read as that. */
static int32_t sampi_tokenizer_id(const sampi_json *doc, int32_t node)
{
    if (node < 0 || doc->nodes[node].kind != SAMPI_JSON_NUMBER) return -1;
    const sampi_json_string *s = &doc->strings[doc->nodes[node].text];
    int32_t id = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const char c = doc->bytes[s->at + i];
        if (c < '0' || c > '9') return -1;
        id = id * 10 + (c - '0');
        if (id > SAMP_MAX_VOCAB) id = SAMP_MAX_VOCAB;
    }
    return id;
}

/* Reads a decoder, or the decoders of a sequence. */
static SAMPI_COLD int sampi_tokenizer_decoder(sampi_tokenizer_reader *r, int32_t node, bool nested)
{
    const sampi_json *doc = &r->doc;
    const int32_t type = sampi_tokenizer_member(doc, node, "type");
    sampi_vocab_spelling *how = &r->found.spelling;
    if (type < 0) return sampi_tokenizer_wrong(doc, node, "expected a decoder with a type");
    if (sampi_tokenizer_is(doc, type, "Sequence") && !nested) {
        const int32_t list = sampi_tokenizer_member(doc, node, "decoders");
        int status = SAMP_OK;
        if (list < 0 || doc->nodes[list].kind != SAMPI_JSON_ARRAY)
            return sampi_tokenizer_wrong(doc, node, "expected decoders");
        for (int32_t one = doc->nodes[list].first; one >= 0 && !status; one = doc->nodes[one].next)
            status = sampi_tokenizer_decoder(r, one, true);
        return status;
    }
    if (sampi_tokenizer_is(doc, type, "ByteLevel"))
        how->letters = true;
    else if (sampi_tokenizer_is(doc, type, "ByteFallback"))
        how->bytes = true;
    else if (sampi_tokenizer_is(doc, type, "Metaspace") || sampi_tokenizer_is(doc, type, "Replace")) {
        const bool replaces = sampi_tokenizer_is(doc, type, "Replace");
        const int32_t pattern = sampi_tokenizer_member(doc, node, replaces ? "pattern" : "replacement");
        const int32_t from = replaces ? sampi_tokenizer_member(doc, pattern, "String") : pattern;
        const int32_t to = sampi_tokenizer_member(doc, node, "content");
        if (!sampi_tokenizer_is(doc, from, "\xe2\x96\x81") || (replaces && !sampi_tokenizer_is(doc, to, " ")))
            return sampi_tokenizer_refuse(doc, type, "a decoder that replaces something else, ");
        how->blanks = true;
    } else if (!sampi_tokenizer_is(doc, type, "Fuse") && !sampi_tokenizer_is(doc, type, "Strip"))
        return sampi_tokenizer_refuse(doc, type, "the decoder ");
    return SAMP_OK;
}

/* Without a decoder, a tokenizer that turns bytes into letters spells with them. */
static SAMPI_COLD int sampi_tokenizer_spelling(sampi_tokenizer_reader *r)
{
    const sampi_json *doc = &r->doc;
    const int32_t decoder = sampi_tokenizer_member(doc, 0, "decoder"),
                  pre = sampi_tokenizer_member(doc, 0, "pre_tokenizer");
    const int32_t model = sampi_tokenizer_member(doc, 0, "model");
    const int32_t fallback = sampi_tokenizer_member(doc, model, "byte_fallback");
    r->found.spelling.bytes = fallback >= 0 && doc->nodes[fallback].kind == SAMPI_JSON_TRUE;
    if (decoder >= 0 && doc->nodes[decoder].kind != SAMPI_JSON_NULL)
        return sampi_tokenizer_decoder(r, decoder, false);
    const int32_t list = sampi_tokenizer_member(doc, pre, "pretokenizers");
    int32_t one = list < 0 ? pre : doc->nodes[list].first;
    while (one >= 0 && !sampi_tokenizer_is(doc, sampi_tokenizer_member(doc, one, "type"), "ByteLevel"))
        one = list < 0 ? -1 : doc->nodes[one].next;
    if (one < 0) return sampi_tokenizer_wrong(doc, decoder, "expected a decoder, which says how tokens become text");
    r->found.spelling.letters = true;
    return SAMP_OK;
}

/* Sets the piece of an id, or, as long as there is no memory for pieces, the largest id so far. */
static SAMPI_COLD int sampi_tokenizer_set(sampi_tokenizer_reader *r, int32_t node, int32_t id, int32_t text,
                                          sampi_vocab_piece_kind kind, int32_t *most)
{
    if (id >= SAMP_MAX_VOCAB)
        return sampi_json_fail(&r->doc, r->doc.nodes[node].at, SAMP_E_RANGE, "an id is too large");
    if (id > *most) *most = id;
    if (!r->found.piece) return SAMP_OK;
    sampi_vocab_piece *p = &r->found.piece[id];
    const sampi_json_string *s = &r->doc.strings[text];
    const char *at = r->doc.bytes + s->at;
    if (p->kind && (p->n != s->n || memcmp(p->at, at, s->n) != 0))
        return sampi_tokenizer_wrong(&r->doc, node, "two tokens have this id");
    p->at = at;
    p->n = s->n;
    p->kind = (uint8_t)kind;
    return SAMP_OK;
}

/* Goes through the tokens of the model and the added ones. First only their largest id is looked for. */
static SAMPI_COLD int sampi_tokenizer_tokens(sampi_tokenizer_reader *r, int32_t pieces, int32_t added, int32_t *most)
{
    const sampi_json *doc = &r->doc;
    const bool by_place = doc->nodes[pieces].kind ==
                          SAMPI_JSON_ARRAY; /* Unigram: [piece, score], the id is the place */
    int32_t place = 0;
    int status = SAMP_OK;
    for (int32_t one = doc->nodes[pieces].first; one >= 0 && !status; one = doc->nodes[one].next, place++) {
        const int32_t text = by_place ? doc->nodes[one].first : -1,
                      id = by_place ? place : sampi_tokenizer_id(doc, one);
        if (id < 0) return sampi_tokenizer_wrong(doc, one, "expected an id of a token");
        if (by_place &&
            (doc->nodes[one].kind != SAMPI_JSON_ARRAY || text < 0 || doc->nodes[text].kind != SAMPI_JSON_STRING))
            return sampi_tokenizer_wrong(doc, one, "expected [a piece, its score]");
        status = sampi_tokenizer_set(r, one, id, by_place ? doc->nodes[text].text : doc->nodes[one].name,
                                     SAMPI_PIECE_SPELT, most);
    }
    for (int32_t one = added < 0 ? -1 : doc->nodes[added].first; one >= 0 && !status; one = doc->nodes[one].next) {
        const int32_t id = sampi_tokenizer_id(doc, sampi_tokenizer_member(doc, one, "id"));
        const int32_t content = sampi_tokenizer_member(doc, one, "content"),
                      special = sampi_tokenizer_member(doc, one, "special");
        const bool is_special = special >= 0 && doc->nodes[special].kind == SAMPI_JSON_TRUE,
                   is_plain = special < 0 || doc->nodes[special].kind == SAMPI_JSON_FALSE;
        if (id < 0 || content < 0 || doc->nodes[content].kind != SAMPI_JSON_STRING || is_special == is_plain)
            return sampi_tokenizer_wrong(doc, one, "expected an added token with id, content, special");
        status = sampi_tokenizer_set(r, one, id, doc->nodes[content].text,
                                     is_special ? SAMPI_PIECE_SPECIAL : SAMPI_PIECE_SPELT, most);
    }
    return status;
}

static SAMPI_COLD int sampi_tokenizer_read(sampi_tokenizer_reader *r)
{
    const sampi_json *doc = &r->doc;
    const int32_t model = sampi_tokenizer_member(doc, 0, "model"), type = sampi_tokenizer_member(doc, model, "type");
    const int32_t pieces = sampi_tokenizer_member(doc, model, "vocab"),
                  added = sampi_tokenizer_member(doc, 0, "added_tokens");
    int32_t most = -1;
    if (model < 0 || pieces < 0 || doc->nodes[pieces].kind < SAMPI_JSON_ARRAY)
        return sampi_tokenizer_wrong(doc, model, "expected a model with a vocab");
    if (type >= 0 && !sampi_tokenizer_is(doc, type, "BPE") && !sampi_tokenizer_is(doc, type, "Unigram"))
        return sampi_tokenizer_refuse(doc, type, "the model ");
    if (type >= 0 && (doc->nodes[pieces].kind == SAMPI_JSON_ARRAY) != sampi_tokenizer_is(doc, type, "Unigram"))
        return sampi_tokenizer_wrong(doc, pieces, "expected a vocab of this model's kind");
    if (added >= 0 && doc->nodes[added].kind != SAMPI_JSON_ARRAY && doc->nodes[added].kind != SAMPI_JSON_NULL)
        return sampi_tokenizer_wrong(doc, added, "expected a list of added tokens");
    static const char *const fields[] = { "end_of_word_suffix", "continuing_subword_prefix" }, *const named[] = {
        "the end_of_word_suffix ", "the continuing_subword_prefix "
    };
    for (int i = 0; i < 2; i++) {
        const int32_t field = sampi_tokenizer_member(doc, model, fields[i]);
        size_t n = 0;
        if (sampi_tokenizer_text(doc, field, &n) && n) return sampi_tokenizer_refuse(doc, field, named[i]);
    }
    int status = sampi_tokenizer_spelling(r);
    if (!status) status = sampi_tokenizer_tokens(r, pieces, added, &most);
    if (status) return status;
    status = sampi_vocab_room(&r->found, (size_t)(most + 1));
    if (status)
        return sampi_json_fail(doc, doc->nodes[pieces].at, status, most < 0 ? "expected tokens" : "out of memory");
    return sampi_tokenizer_tokens(r, pieces, added, &most);
}

SAMP_API SAMPI_COLD samp_vocab *samp_vocab_from_tokenizer_json(const char *text, size_t n, samp_text_error *error)
{
    samp_text_error mine;
    sampi_tokenizer_reader r;
    samp_vocab *vocab = NULL;
    memset(&r, 0, sizeof r);
    r.found.eos = r.found.eot = -1;
    if (!error) error = &mine;
    memset(error, 0, sizeof *error);
    if (!text) return error->status = SAMP_E_NULL, vocab;
    if (sampi_json_read(&r.doc, text, n, error)) return NULL;
    int status = sampi_tokenizer_read(&r);
    if (!status) {
        vocab = sampi_vocab_of(&r.found, &status);
        if (status) sampi_json_fail(&r.doc, 0, status, "the vocabulary is too large");
    }
    SAMP_FREE(r.found.piece);
    sampi_json_free(&r.doc);
    return vocab;
}
