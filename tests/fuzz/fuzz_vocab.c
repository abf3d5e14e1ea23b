/* fuzz_vocab.c - a fuzzer's bytes as a model's vocabulary. The first byte says what follows: j a tokenizer.json, g a GGUF file, as
   they are; with any other one the bytes change one of the corpus' kinds, three at a time: where, how, to what. A file is refused,
   with a place in it, or it becomes a vocabulary whose tokens and ends are in range; read again it is the same. */
#define SAMPLING_VOCAB
#include "sampling.h"
#include "fuzz.h"

static const char json[] =
    "{\"added_tokens\":[{\"id\":3,\"content\":\"</s>\",\"special\":true},{\"id\":9,\"content\":\"x y\"}],"
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":"
    "\"Replace\",\"pattern\":"
    "{\"String\":\"\\u2581\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},"
    "\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"vocab\":{\"a\":0,\"\\u2581b\":1,\"<0x0A>\":2,\"\\u0120c\":"
    "4}}}";

/* GGUF 3 with four settings: the model llama, four tokens, their kinds, the end. */
static const char gguf[] = "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0"
                           "\24\0\0\0\0\0\0\0tokenizer.ggml.model\10\0\0\0\5\0\0\0\0\0\0\0llama"
                           "\25\0\0\0\0\0\0\0tokenizer.ggml.tokens\11\0\0\0\10\0\0\0\4\0\0\0\0\0\0\0"
                           "\1\0\0\0\0\0\0\0a\4\0\0\0\0\0\0\0</s>\6\0\0\0\0\0\0\0<0x0A>\0\0\0\0\0\0\0\0"
                           "\31\0\0\0\0\0\0\0tokenizer.ggml.token_type\11\0\0\0\5\0\0\0\4\0\0\0\0\0\0\0"
                           "\1\0\0\0\3\0\0\0\6\0\0\0\4\0\0\0"
                           "\33\0\0\0\0\0\0\0tokenizer.ggml.eos_token_id\4\0\0\0\1\0\0\0";

static samp_vocab *read_it(const char *bytes, size_t n, bool is_gguf, samp_grammar_error *e)
{
    return is_gguf ? samp_vocab_from_gguf(bytes, n, e) : samp_vocab_from_tokenizer_json(bytes, n, e);
}

static void same(const samp_vocab *a, const samp_vocab *b, size_t n)
{
    MUST(a->n_vocab == b->n_vocab && a->eos == b->eos && a->eot == b->eot && a->n_eog == b->n_eog);
    MUST(a->n_vocab > 0 && a->n_vocab <= SAMP_MAX_VOCAB);
    MUST(a->eos >= -1 && a->eos < a->n_vocab && a->eot >= -1 && a->eot < a->n_vocab);
    for (size_t i = 0; i < a->n_eog; i++) MUST(a->eog[i] >= 0 && a->eog[i] < a->n_vocab);
    for (samp_token t = 0; t < a->n_vocab; t++) {
        size_t m[2];
        const char *x = a->token_bytes(a, t, &m[0]), *y = b->token_bytes(b, t, &m[1]);
        MUST(m[0] == m[1] && m[0] <= n && memcmp(x, y, m[0]) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const words[] = { "BPE",  "Unigram", "Metaspace", "Strip",   "null",
                                         "true", "[",       "}",         "\\u0000", "-1" };
    samp_grammar_error e;
    if (size == 0) return 0;
    const bool is_gguf = data[0] == 'g' || (data[0] != 'j' && data[0] % 2);
    const bool is_whole = data[0] == 'j' || data[0] == 'g';
    size_t n = is_whole ? size - 1 : is_gguf ? sizeof gguf - 1 : sizeof json - 1;
    char *file = malloc(n + 1), *copy;
    MUST(file);
    memcpy(file, is_whole ? (const char *)data + 1 : is_gguf ? gguf : json, n);
    for (size_t i = 1; !is_whole && i + 3 <= size && i < 25; i += 3) {
        size_t at = (size_t)(data[i] + 256u * (data[i + 1] & 1)) % n;
        const char *word = words[data[i + 2] % (sizeof words / sizeof *words)];
        if (data[i + 1] & 2 && !is_gguf)
            for (size_t k = 0; word[k] && at + k < n; k++) file[at + k] = word[k];
        else if (data[i + 1] & 4)
            n = at ? at : 1; /* it ends here */
        else
            file[at] = (char)data[i + 2];
    }
    copy = malloc(n ? n : 1); /* of its own length, so that nothing behind it is read */
    MUST(copy);
    memcpy(copy, file, n);
    samp_vocab *a = read_it(copy, n, is_gguf, &e), *b = read_it(copy, n, is_gguf, NULL);
    MUST(!a == !b && !a == (e.status < 0));
    if (!a) MUST(e.line >= 1 && e.column >= 1 && strlen(e.message) > 0);
    if (a) same(a, b, n);
    samp_vocab_free(a);
    samp_vocab_free(b);
    free(copy);
    free(file);
    return 0;
}
