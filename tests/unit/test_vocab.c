/* test_vocab.c - vocabularies from tokenizer.json and GGUF files made here: both spellings of tokens, added and missing tokens,
   ends, what is refused and the name of it, files cut off at each byte and changed at random. (tests/ship/vocab: real files.) */
#define SAMPLING_VOCAB
#include "sampling.h"
#include "tests/support/test.h"

/* ---- what a vocabulary is ---- */

static void has(const samp_vocab *v, samp_token token, const char *want)
{
    size_t n;
    const char *bytes = v->token_bytes(v, token, &n);
    if (n != strlen(want) || memcmp(bytes, want, n) != 0)
        fail_msg("token %d is \"%.*s\", not \"%s\"", (int)token, (int)n, bytes, want);
}

static samp_vocab *from_json(const char *text)
{
    samp_grammar_error e;
    char *copy = malloc(strlen(text)); /* of the text's own length: nothing behind it may be read */
    memcpy(copy, text, strlen(text));
    samp_vocab *v = samp_vocab_from_tokenizer_json(copy, strlen(text), &e);
    free(copy);
    if (!v) fail_msg("%d at %zu:%zu: %s", e.status, e.line, e.column, e.message);
    assert_ok(e.status);
    return v;
}

static void refused(const char *text, int status, size_t line, size_t column, const char *message)
{
    samp_grammar_error e;
    samp_vocab *v = samp_vocab_from_tokenizer_json(text, strlen(text), &e);
    assert_null(v);
    if (e.status != status || e.line != line || e.column != column || !strstr(e.message, message))
        fail_msg("%s\n%d at %zu:%zu: %s", text, e.status, e.line, e.column, e.message);
    assert_null(samp_vocab_from_tokenizer_json(text, strlen(text), NULL));
}

TEST(test_bytes_as_letters)
{
    samp_vocab *v = from_json(
        "{\"added_tokens\": [{\"id\": 6, \"content\": \"<|endoftext|>\", \"special\": true},"
        "{\"id\": 8, \"content\": \"<|im_end|>\", \"special\": true},"
        "{\"id\": 9, \"content\": \"<tool call>\", \"special\": false}],"
        "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"\\u0120the\": 1, \"\\u010a\": 2,"
        "\"\\u00c3\\u00a9\": 3, \"\\u00e2\\u0124\": 4, \"<0x0A>\": 5}, \"merges\": []},"
        "\"decoder\": {\"type\": \"ByteLevel\"}}");
    assert_num(v->n_vocab, 10);
    has(v, 0, "a"), has(v, 1, " the"), has(v, 2, "\n"), has(v, 3, "\xc3\xa9");
    has(v, 4, "\xe2\x82"); /* the beginning of a character */
    has(v, 5, "<0x0A>");   /* no spelling of a byte here */
    has(v, 6, ""), has(v, 7, ""), has(v, 8, "");
    has(v, 9, "<tool call>"); /* a blank is no letter: the text is taken as it is */
    assert_num(v->eos, 6);
    assert_num(v->eot, 8);
    assert_num(v->n_eog, 2);
    assert_true(v->eog[0] == 6 && v->eog[1] == 8);
    samp_vocab_free(v);
    v = from_json(
        "{\"model\": {\"vocab\": {\"\\u0120x\": 0}}, \"decoder\": null, \"pre_tokenizer\": {\"type\": \"Sequence\","
        "\"pretokenizers\": [{\"type\": \"Split\"}, {\"type\": \"ByteLevel\"}]}}");
    has(v, 0, " x");
    assert_true(v->eos == -1 && v->eot == -1 && v->n_eog == 0);
    samp_vocab_free(v);
}

/* All 256 bytes, by the rule of GPT-2 written another way. */
TEST(test_all_letters)
{
    char text[6000] = "{\"decoder\": {\"type\": \"ByteLevel\"}, \"model\": {\"vocab\": {";
    int others = 0;
    for (int byte = 0; byte < 256; byte++) {
        bool is_itself = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) ||
                         (byte >= 0xae && byte <= 0xff);
        int letter = is_itself ? byte : 256 + others++;
        sprintf(text + strlen(text), "%s\"\\u%04x\": %d", byte ? ", " : "", (unsigned)letter, byte);
    }
    strcat(text, "}}}");
    samp_vocab *v = from_json(text);
    for (int byte = 0; byte < 256; byte++) {
        size_t n;
        const char *bytes = v->token_bytes(v, byte, &n);
        assert_true(n == 1 && (unsigned char)*bytes == byte);
    }
    samp_vocab_free(v);
}

TEST(test_marks_for_blanks)
{
    samp_vocab *v = from_json(
        "{\"added_tokens\": [{\"id\": 0, \"content\": \"<unk>\", \"special\": true},"
        "{\"id\": 1, \"content\": \"</s>\", \"special\": true},"
        "{\"id\": 7, \"content\": \"\\u2581\\u2581\", \"special\": false}],"
        "\"model\": {\"type\": \"BPE\", \"vocab\": {\"<unk>\": 0, \"</s>\": 1, \"<0x0A>\": 2, \"<0xfF>\": 3,"
        "\"\\u2581a\\u2581b\": 4, \"<0xZ1>\": 5, \"\\u0120\": 6}},"
        "\"decoder\": {\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\","
        "\"pattern\": {\"String\": \"\\u2581\"}, \"content\": \" \"}, {\"type\": \"ByteFallback\"},"
        "{\"type\": \"Fuse\"}, {\"type\": \"Strip\", \"content\": \" \", \"start\": 1, \"stop\": 0}]}}");
    assert_num(v->n_vocab, 8);
    has(v, 0, ""), has(v, 1, ""), has(v, 2, "\n"), has(v, 3, "\xff"), has(v, 4, " a b");
    has(v, 5, "<0xZ1>"), has(v, 6, "\xc4\xa0"), has(v, 7, "  ");
    assert_num(v->eos, 1);
    samp_vocab_free(v);
    v = from_json("{\"model\": {\"type\": \"Unigram\", \"byte_fallback\": true, \"vocab\": [[\"<pad>\", 0], "
                  "[\"\\u2581x\", -1.5],"
                  "[\"<0x41>\", -2]]}, \"decoder\": {\"type\": \"Metaspace\", \"replacement\": \"\\u2581\"}}");
    has(v, 0, "<pad>"), has(v, 1, " x"), has(v, 2, "A");
    samp_vocab_free(v);
}

/* A model that returns a message ends only a part of it with <|end|>. */
TEST(test_ends)
{
    const char *head =
        "{\"decoder\": {\"type\": \"ByteLevel\"}, \"model\": {\"vocab\": {\"a\": 0}}, \"added_tokens\": [";
    char text[1000];
    sprintf(text, "%s%s]}", head, "{\"id\": 1, \"content\": \"<|end|>\", \"special\": true}");
    samp_vocab *v = from_json(text);
    assert_true(v->eot == 1 && v->eos == -1 && v->n_eog == 1);
    samp_vocab_free(v);
    sprintf(text, "%s%s]}", head,
            "{\"id\": 1, \"content\": \"<|end|>\", \"special\": true},"
            "{\"id\": 2, \"content\": \"<|return|>\", \"special\": true},"
            "{\"id\": 3, \"content\": \"</s>\", \"special\": false}");
    v = from_json(text);
    assert_true(v->eot == 2 && v->eos == -1 && v->n_eog == 1 && v->eog[0] == 2); /* </s> is a text here */
    samp_vocab_free(v);
}

TEST(test_refused)
{
    refused("", SAMP_E_FORMAT, 1, 1, "expected a value");
    refused("{\r", SAMP_E_FORMAT, 1, 2, "expected a member");
    refused("[]", SAMP_E_FORMAT, 1, 1, "expected a model with a vocab");
    refused("{\n\"model\": {\"vocab\": 3}}", SAMP_E_FORMAT, 2, 10, "expected a model with a vocab");
    refused("{\"model\": {\"vocab\": {\"a\": 0}, \"type\": \"WordPiece\"}}", SAMP_E_UNSUPPORTED, 1, 39,
            "the model \"WordPiece\" is not supported");
    refused("{\"model\": {\"vocab\": {\"a\": 0}, \"end_of_word_suffix\": \"</w>\"}}", SAMP_E_UNSUPPORTED, 1, 53,
            "\"</w>\"");
    refused("{\"model\": {\"vocab\": {\"a\": 0}, \"continuing_subword_prefix\": \"##\"}}", SAMP_E_UNSUPPORTED, 1, 60,
            "the continuing_subword_prefix \"##\" is not supported");
    refused("{\"model\": {\"type\": \"BPE\", \"vocab\": []}}", SAMP_E_FORMAT, 1, 36,
            "expected a vocab of this model");
    refused("{\"model\": {\"type\": \"Unigram\", \"vocab\": {}}}", SAMP_E_FORMAT, 1, 40,
            "expected a vocab of this model");
    refused("{\"added_tokens\": 7, \"model\": {\"vocab\": {\"a\": 0}}}", SAMP_E_FORMAT, 1, 18, "expected a list");
    refused("{\"model\": {\"vocab\": {\"a\": 0}}, \"decoder\": {\"type\": \"Sequence\", \"decoders\": 3}}",
            SAMP_E_FORMAT, 1, 43, "expected decoders");
    refused("{\"model\": {\"vocab\": {\"a\": 0}}}", SAMP_E_FORMAT, 1, 1, "expected a decoder");
    refused("{\"model\": {\"vocab\": {\"a\": 0}}, \"decoder\": {\"type\": \"CTC\"}}", SAMP_E_UNSUPPORTED, 1, 52,
            "\"CTC\"");
    refused(
        "{\"model\": {\"vocab\": {\"a\": 0}}, \"decoder\": {\"type\": \"Replace\", \"pattern\": {\"String\": \"_\"},"
        "\"content\": \" \"}}",
        SAMP_E_UNSUPPORTED, 1, 52, "\"Replace\"");
    const char *with = "{\"decoder\": {\"type\": \"ByteLevel\"}, \"model\": {\"vocab\": %s}, \"added_tokens\": [%s]}";
    static const char *const bad[][3] = {
        { "{\"a\": 0.5}", "", "expected an id" },
        { "{\"a\": -1}", "", "expected an id" },
        { "{\"a\": 4194304}", "", "an id is too large" },
        { "{\"a\": 99999999999}", "", "an id is too large" },
        { "{\"a\": 0}", "{\"id\": 4194304, \"content\": \"b\"}", "an id is too large" },
        { "{\"a\": \"0\"}", "", "expected an id" },
        { "{\"a\": 0, \"b\": 0}", "", "two tokens" },
        { "{\"a\": 0}", "{\"id\": 0, \"content\": \"b\"}", "two tokens" },
        { "{\"a\": 0}", "{\"id\": 1}", "expected an added token" },
        { "{\"a\": 0}", "{\"content\": \"b\"}", "expected an added token" },
        { "{\"a\": 0}", "3", "expected an added token" },
        { "{\"a\": 0}", "{\"id\": 1, \"content\": \"b\", \"special\": \"true\"}", "expected an added token" },
        { "{\"a\": 0}", "], \"added_tokens\": [", "this name is there twice" },
        { "[{\"b\": \"a\"}]", "", "expected [a piece" },
        { "[[0, 1]]", "", "expected [a piece" },
        { "[[]]", "", "expected [a piece" },
        { "[\"a\"]", "", "expected [a piece" },
        { "{}", "", "expected tokens" },
    };
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        char text[400];
        samp_grammar_error e;
        sprintf(text, with, bad[i][0], bad[i][1]);
        assert_null(samp_vocab_from_tokenizer_json(text, strlen(text), &e));
        const int status = strstr(bad[i][2], "too large")         ? SAMP_E_RANGE
                           : strstr(bad[i][2], "expected tokens") ? SAMP_E_EMPTY
                                                                  : SAMP_E_FORMAT;
        if (e.status != status || !strstr(e.message, bad[i][2])) fail_msg("%s: %d %s", text, e.status, e.message);
    }
    samp_grammar_error e;
    assert_null(samp_vocab_from_tokenizer_json(NULL, 0, &e));
    assert_status(e.status, SAMP_E_NULL);
}

/* ---- GGUF ---- */

typedef struct gguf {
    unsigned char bytes[4000];
    size_t n;
    unsigned settings;
} gguf;

static void put(gguf *g, uint64_t x, size_t n)
{
    for (size_t i = 0; i < n; i++) g->bytes[g->n++] = (unsigned char)(x >> 8 * i);
}

static void put_text(gguf *g, const char *s)
{
    put(g, strlen(s), 8);
    memcpy(g->bytes + g->n, s, strlen(s));
    g->n += strlen(s);
}

static void key(gguf *g, const char *name, unsigned type)
{
    put_text(g, name);
    put(g, type, 4);
    g->settings++;
    for (size_t i = 0; i < 8; i++) g->bytes[16 + i] = (unsigned char)((uint64_t)g->settings >> 8 * i);
}

static void list(gguf *g, const char *name, unsigned type, size_t n)
{
    key(g, name, 9);
    put(g, type, 4);
    put(g, n, 8);
}

enum { N_PIECES = 9 };
static const char *const pieces[N_PIECES] = { "<unk>",
                                              "<s>",
                                              "</s>",
                                              "<0x0A>",
                                              "\xe2\x96\x81"
                                              "a",
                                              "b",
                                              "\xe2\x96\x81mine",
                                              "unused",
                                              "<end_of_turn>" };
static const int kinds[N_PIECES] = { 2, 3, 3, 6, 1, 1, 4, 5, 3 };

static gguf a_file(const char *model)
{
    gguf g = { { 'G', 'G', 'U', 'F', 3 }, 24, 0 };
    key(&g, "general.architecture", 8), put_text(&g, "llama");
    key(&g, "a.bool", 7), put(&g, 1, 1);
    list(&g, "some.numbers", 12, 3), put(&g, 1, 8), put(&g, 2, 8), put(&g, 3, 8);
    key(&g, "tokenizer.ggml.model", 8), put_text(&g, model);
    list(&g, "tokenizer.ggml.token_type", 5, N_PIECES);
    for (int i = 0; i < N_PIECES; i++) put(&g, (uint64_t)kinds[i], 4);
    list(&g, "tokenizer.ggml.tokens", 8, N_PIECES);
    for (int i = 0; i < N_PIECES; i++) put_text(&g, pieces[i]);
    key(&g, "tokenizer.ggml.eos_token_id", 4), put(&g, 2, 4);
    return g;
}

TEST(test_gguf)
{
    samp_grammar_error e;
    gguf g = a_file("llama");
    samp_vocab *v = samp_vocab_from_gguf(g.bytes, g.n, &e);
    if (!v) fail_msg("%d at %zu: %s", e.status, e.column, e.message);
    assert_num(v->n_vocab, N_PIECES);
    has(v, 0, ""), has(v, 1, ""), has(v, 2, ""), has(v, 3, "\n"), has(v, 4, " a"), has(v, 5, "b");
    has(v, 6, "\xe2\x96\x81mine"), has(v, 7, ""), has(v, 8, "");
    assert_true(v->eos == 2 && v->eot == 8 && v->n_eog == 2);
    samp_vocab_free(v);
    g = a_file("gpt2");
    key(&g, "tokenizer.ggml.eot_token_id", 4), put(&g, 1, 4);
    v = samp_vocab_from_gguf(g.bytes, g.n, NULL);
    assert_non_null(v);
    has(v, 3, "<0x0A>");
    has(v, 4,
        "\xe2\x96\x81"
        "a"); /* no letter for a byte */
    assert_true(v->eos == 2 && v->eot == 1 && v->n_eog == 3);
    samp_vocab_free(v);
    g = a_file("bert");
    assert_null(samp_vocab_from_gguf(g.bytes, g.n, &e));
    assert_status(e.status, SAMP_E_UNSUPPORTED);
    assert_string_equal(e.message, "the tokenizer \"bert\" is not supported");
    assert_null(samp_vocab_from_gguf(NULL, 0, &e));
    assert_status(e.status, SAMP_E_NULL);
    assert_null(samp_vocab_from_gguf("GGUX....", 8, &e));
    assert_status(e.status, SAMP_E_FORMAT);
    g = a_file("llama");
    g.bytes[4] = 1;
    assert_null(samp_vocab_from_gguf(g.bytes, g.n, &e));
    assert_status(e.status, SAMP_E_UNSUPPORTED);
}

/* Each beginning of a file is refused, and read no further than it goes; changed bytes never do harm. */
TEST(test_damaged)
{
    samp_grammar_error e;
    const gguf g = a_file("llama");
    for (size_t n = 0; n < g.n; n++) {
        unsigned char *copy = malloc(n ? n : 1);
        memcpy(copy, g.bytes, n);
        samp_vocab *v = samp_vocab_from_gguf(copy, n, &e);
        if (v || e.status >= 0 || e.column > n + 5) fail_msg("%zu bytes: %d at %zu", n, e.status, e.column);
        free(copy);
    }
    source rng = source_stream(5);
    int made = 0;
    for (int round = 0; round < rounds(40000); round++) {
        unsigned char *copy = malloc(g.n);
        memcpy(copy, g.bytes, g.n);
        for (uint64_t i = 0, n = 1 + below(&rng, 4); i < n; i++)
            copy[below(&rng, g.n)] = (unsigned char)(percent(&rng, 50)   ? below(&rng, 256)
                                                     : percent(&rng, 50) ? 255
                                                                         : 0);
        samp_vocab *v = samp_vocab_from_gguf(copy, g.n, &e);
        assert_true((v != NULL) == (e.status == SAMP_OK));
        for (samp_token t = 0; v && t < v->n_vocab; t++) {
            size_t n;
            assert_non_null(v->token_bytes(v, t, &n));
            assert_true(n < g.n);
        }
        for (size_t i = 0; v && i < v->n_eog; i++) assert_true(v->eog[i] >= 0 && v->eog[i] < v->n_vocab);
        made += v != NULL;
        samp_vocab_free(v);
        free(copy);
    }
    assert_true(made > 100);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
