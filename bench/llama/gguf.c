/* gguf.c - models as GGUF files, for libllama to load.
 *
 *     gguf tales bench/data/tales.bin OUT        the story model, weights and words as they are
 *     gguf wide VOCABULARY OUT                   random weights and a real vocabulary: 64 dimensions, one layer
 *
 * VOCABULARY is what tests/ship/llama/vocabulary.mjs writes: the number of pieces, then a piece a line, then a merge a line.
 * The wide model talks nonsense, but its logits are about as peaked as a large model's (wide_spread).
 *
 * Both have a tokenizer in the manner of GPT-2: pieces are bytes, written as letters (add_letter), and text is put
 * together by the list of merges, the first one first. tales.bin has the pieces only; merge_of finds the merges again.
 *
 * GGUF 3: magic, version, counts; settings as (key, type, value); tensors as (name, shape, type, offset); then, from a
 * multiple of 32 on, the tensors, each at a multiple of 32. Numbers are little-endian, as this machine's. */
#define SAMPLING_KV
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "bench/demo/tales_model.h"

#include <stdarg.h>

enum { U32 = 4, I32 = 5, F32 = 6, BOOL = 7, TEXT = 8, ARRAY = 9 }; /* types of settings */
enum { TENSOR_F32 = 0, TENSOR_F16 = 1 };
enum { NORMAL = 1, CONTROL = 3 }; /* kinds of token */

/* ==== Bytes ===================================================================================================== */

typedef struct bytes {
    char *data;
    size_t n, room;
} bytes;

static void add(bytes *b, const void *data, size_t n)
{
    if (b->n + n > b->room) {
        b->room = 2 * (b->n + n) + 1024;
        b->data = realloc(b->data, b->room);
        if (!b->data) {
            fprintf(stderr, "gguf: out of memory\n");
            exit(1);
        }
    }
    if (n) memcpy(b->data + b->n, data, n);
    b->n += n;
}

static void add_u32(bytes *b, uint32_t x) { add(b, &x, sizeof x); }
static void add_u64(bytes *b, uint64_t x) { add(b, &x, sizeof x); }

static void add_text_of(bytes *b, const char *text, size_t n)
{
    add_u64(b, n);
    add(b, text, n);
}
static void add_text(bytes *b, const char *text) { add_text_of(b, text, strlen(text)); }

static void align(bytes *b)
{
    static const char zeros[32];
    add(b, zeros, (32 - b->n % 32) % 32);
}

/* ==== The file ================================================================================================== */

typedef struct gguf {
    bytes settings, tensors, data;
    uint64_t n_settings, n_tensors;
} gguf;

static bytes *setting(gguf *g, const char *key, uint32_t type)
{
    g->n_settings++;
    add_text(&g->settings, key);
    add_u32(&g->settings, type);
    return &g->settings;
}

static void set_u32(gguf *g, const char *key, uint32_t x) { add_u32(setting(g, key, U32), x); }
static void set_text(gguf *g, const char *key, const char *text) { add_text(setting(g, key, TEXT), text); }
static void set_f32(gguf *g, const char *key, float x) { add(setting(g, key, F32), &x, sizeof x); }

static bytes *set_array(gguf *g, const char *key, uint32_t type, uint64_t n)
{
    bytes *b = setting(g, key, ARRAY);
    add_u32(b, type);
    add_u64(b, n);
    return b;
}

/* w: [rows x columns]; a norm has one row, and is f32, as libllama wants it. */
static void add_tensor(gguf *g, const float *w, int rows, int columns, const char *name, ...)
{
    char text[64];
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);

    align(&g->data);
    g->n_tensors++;
    add_text(&g->tensors, text);
    add_u32(&g->tensors, rows > 1 ? 2 : 1);
    add_u64(&g->tensors, (uint64_t)columns);
    if (rows > 1) add_u64(&g->tensors, (uint64_t)rows);
    add_u32(&g->tensors, rows > 1 ? TENSOR_F16 : TENSOR_F32);
    add_u64(&g->tensors, g->data.n);
    for (size_t i = 0; i < (size_t)rows * (size_t)columns; i++) {
        uint16_t half = sampi_f32_to_f16(w[i]);
        add(&g->data, rows > 1 ? (const void *)&half : (const void *)&w[i], rows > 1 ? 2 : 4);
    }
}

static int write_file(gguf *g, const char *path)
{
    bytes head = { NULL, 0, 0 };
    add(&head, "GGUF", 4);
    add_u32(&head, 3);
    add_u64(&head, g->n_tensors);
    add_u64(&head, g->n_settings);
    add(&head, g->settings.data, g->settings.n);
    add(&head, g->tensors.data, g->tensors.n);
    align(&head);
    align(&g->data);
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(head.data, 1, head.n, f) == head.n && fwrite(g->data.data, 1, g->data.n, f) == g->data.n;
    if (f && fclose(f) != 0) good = false;
    if (!good) fprintf(stderr, "gguf: %s: %s\n", path, strerror(errno));
    free(head.data);
    free(g->settings.data);
    free(g->tensors.data);
    free(g->data.data);
    return good ? 0 : 1;
}

static void set_shape(gguf *g, const char *name, const tales_model *m)
{
    set_text(g, "general.architecture", "llama");
    set_text(g, "general.name", name);
    set_u32(g, "general.file_type", 1); /* mostly f16 */
    set_u32(g, "llama.context_length", (uint32_t)m->n_ctx);
    set_u32(g, "llama.embedding_length", (uint32_t)m->dim);
    set_u32(g, "llama.block_count", (uint32_t)m->n_layers);
    set_u32(g, "llama.feed_forward_length", (uint32_t)m->hidden);
    set_u32(g, "llama.attention.head_count", (uint32_t)m->n_heads);
    set_u32(g, "llama.attention.head_count_kv", (uint32_t)m->n_kv_heads);
    set_f32(g, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    set_f32(g, "llama.rope.freq_base", 10000.0f);
    set_u32(g, "llama.rope.dimension_count", (uint32_t)m->head_dim);
    set_u32(g, "llama.vocab_size", (uint32_t)m->n_vocab);
}

static void add_layers(gguf *g, const tales_model *m)
{
    add_tensor(g, m->tok_emb, m->n_vocab, m->dim, "token_embd.weight"); /* the output head too */
    for (int i = 0; i < m->n_layers; i++) {
        const tales_layer *l = &m->layers[i];
        add_tensor(g, l->attn_norm, 1, m->dim, "blk.%d.attn_norm.weight", i);
        add_tensor(g, l->wq, m->dim, m->dim, "blk.%d.attn_q.weight", i);
        add_tensor(g, l->wk, m->kv_dim, m->dim, "blk.%d.attn_k.weight", i);
        add_tensor(g, l->wv, m->kv_dim, m->dim, "blk.%d.attn_v.weight", i);
        add_tensor(g, l->wo, m->dim, m->dim, "blk.%d.attn_output.weight", i);
        add_tensor(g, l->ffn_norm, 1, m->dim, "blk.%d.ffn_norm.weight", i);
        add_tensor(g, l->w1, m->hidden, m->dim, "blk.%d.ffn_gate.weight", i);
        add_tensor(g, l->w3, m->hidden, m->dim, "blk.%d.ffn_up.weight", i);
        add_tensor(g, l->w2, m->dim, m->hidden, "blk.%d.ffn_down.weight", i);
    }
    add_tensor(g, m->final_norm, 1, m->dim, "output_norm.weight");
}

/* ==== Words ===================================================================================================== */

/* A byte as a letter: itself, if it can be seen; the others are counted up from U+0100. */
static void add_letter(bytes *b, uint8_t byte)
{
    uint32_t letter = byte, unseen = 0;
    for (uint32_t i = 0; i <= byte; i++) {
        bool seen = (i > 32 && i < 127) || (i > 160 && i != 173);
        letter = seen ? i : 256 + unseen++;
    }
    char text[2] = { (char)(0xC0 | letter >> 6), (char)(0x80 | (letter & 63)) };
    if (letter < 128) text[0] = (char)letter;
    add(b, text, letter < 128 ? 1 : 2);
}

static void add_letters(bytes *b, const uint8_t *piece, int n)
{
    for (int i = 0; i < n; i++) add_letter(b, piece[i]);
}

static int piece_length(const tales_model *m, int id) { return m->pieces[id][0]; }
static const uint8_t *piece_bytes(const tales_model *m, int id) { return m->pieces[id] + 1; }

/* Which of the first n pieces is this text? -1: none. */
static int find_piece(const tales_model *m, int n, const uint8_t *text, int length)
{
    for (int id = 0; id < n; id++)
        if (piece_length(m, id) == length && !memcmp(piece_bytes(m, id), text, (size_t)length)) return id;
    return -1;
}

/* Where a piece was put together from two that came before it: of all such places that whose later part is the oldest.
   0: nowhere, it is a byte. */
static int merge_of(const tales_model *m, int id)
{
    const uint8_t *text = piece_bytes(m, id);
    int oldest = id, at = 0;
    for (int i = 1; i < piece_length(m, id); i++) {
        int left = find_piece(m, oldest, text, i), right = find_piece(m, oldest, text + i, piece_length(m, id) - i);
        if (left < 0 || right < 0) continue;
        oldest = left > right ? left : right;
        at = i;
    }
    return at;
}

static int write_tales(const char *from, const char *path)
{
    gguf g;
    tales_model m;
    memset(&g, 0, sizeof g);
    const char *error = tales_load(&m, from);
    if (error) {
        fprintf(stderr, "gguf: %s: %s\n", from, error);
        return 1;
    }
    set_shape(&g, "tales", &m);
    set_text(&g, "tokenizer.ggml.model", "gpt2");
    set_text(&g, "tokenizer.ggml.pre", "default");
    bytes *b = set_array(&g, "tokenizer.ggml.tokens", TEXT, (uint64_t)m.n_vocab), letters = { NULL, 0, 0 };
    for (int id = 0; id < m.n_vocab; id++) {
        letters.n = 0;
        add_letters(&letters, piece_bytes(&m, id), piece_length(&m, id));
        if (id <= TALES_END)
            add_text(b, id == TALES_BEGIN ? "<s>" : "</s>");
        else
            add_text_of(b, letters.data, letters.n);
    }
    set_array(&g, "tokenizer.ggml.token_type", I32, (uint64_t)m.n_vocab);
    for (int id = 0; id < m.n_vocab; id++) add_u32(&g.settings, id <= TALES_END ? CONTROL : NORMAL);

    uint64_t n_merges = 0;
    bytes merges = { NULL, 0, 0 };
    for (int id = TALES_END + 1; id < m.n_vocab; id++) {
        int first = merge_of(&m, id);
        if (!first) continue;
        letters.n = 0;
        add_letters(&letters, piece_bytes(&m, id), first);
        add(&letters, " ", 1);
        add_letters(&letters, piece_bytes(&m, id) + first, piece_length(&m, id) - first);
        add_text_of(&merges, letters.data, letters.n);
        n_merges++;
    }
    set_array(&g, "tokenizer.ggml.merges", TEXT, n_merges);
    add(&g.settings, merges.data, merges.n);
    set_u32(&g, "tokenizer.ggml.bos_token_id", TALES_BEGIN);
    set_u32(&g, "tokenizer.ggml.eos_token_id", TALES_END);
    add(setting(&g, "tokenizer.ggml.add_bos_token", BOOL), "\1", 1);
    add_layers(&g, &m);
    free(letters.data);
    free(merges.data);
    tales_free(&m);
    return write_file(&g, path);
}

/* ==== The wide model ============================================================================================ */

static uint64_t wide_state = 1;

/* About normal, of deviation 1: the sum of four uniform numbers. */
static float wide_normal(void)
{
    float sum = -2.0f;
    for (int i = 0; i < 4; i++) {
        wide_state = wide_state * 6364136223846793005u + 1442695040888963407u;
        sum += (float)(wide_state >> 40) / 16777216.0f;
    }
    return sum * 1.7320508f;
}

static const float *wide_random(int rows, int columns, float deviation)
{
    size_t n = (size_t)rows * (size_t)columns;
    float *w = malloc(n * sizeof *w);
    for (size_t i = 0; w && i < n; i++) w[i] = deviation == 0.0f ? 1.0f : deviation * wide_normal();
    if (!w) exit(1);
    return w;
}

/* The norm makes the last vector 8 long, so a row's deviation times 8 is that of its logits: 1.6 for most tokens, and one
   in sixty-four, the frequent ones, has three times that, so that few of them have most of the probability. */
static float wide_spread(int id) { return id % 64 == 0 ? 0.6f : 0.2f; }

static int write_wide(const char *from, const char *path)
{
    gguf g;
    tales_model m;
    tales_layer l;
    uint8_t *text = NULL;
    size_t size = 0;
    memset(&g, 0, sizeof g);
    memset(&m, 0, sizeof m);
    const char *error = tales_read_file(from, &text, &size);
    char *line = (char *)text;
    if (!error) text[size] = 0;
    if (!error && (m.n_vocab = (int)strtol(line, &line, 10)) < 1) error = "no vocabulary";
    if (error) {
        fprintf(stderr, "gguf: %s: %s\n", from, error);
        return 1;
    }
    m.dim = 64, m.n_layers = 1, m.n_heads = 2, m.n_kv_heads = 1, m.hidden = 64, m.n_ctx = 4096;
    m.head_dim = m.kv_dim = 32;
    set_shape(&g, "wide", &m);
    set_text(&g, "tokenizer.ggml.model", "gpt2");
    set_text(&g, "tokenizer.ggml.pre", "llama-bpe");
    line++; /* the end of the first line */
    for (int part = 0; part < 2; part++) {
        uint64_t n = 0, n_lines = (uint64_t)m.n_vocab;
        if (part == 1)
            for (n_lines = 0, n = 0; line[n]; n++) n_lines += line[n] == '\n';
        bytes *b = set_array(&g, part ? "tokenizer.ggml.merges" : "tokenizer.ggml.tokens", TEXT, n_lines);
        for (n = 0; n < n_lines; n++) {
            size_t length = strcspn(line, "\n");
            add_text_of(b, line, length);
            line += length + (line[length] == '\n');
        }
    }
    set_array(&g, "tokenizer.ggml.token_type", I32, (uint64_t)m.n_vocab);
    for (int id = 0; id < m.n_vocab; id++) add_u32(&g.settings, id < 128000 ? NORMAL : CONTROL);
    set_u32(&g, "tokenizer.ggml.bos_token_id", 128000);
    set_u32(&g, "tokenizer.ggml.eos_token_id", 128001);

    float *embedding = (float *)(uintptr_t)wide_random(m.n_vocab, m.dim, 1.0f);
    for (int i = 0; i < m.n_vocab * m.dim; i++) embedding[i] *= wide_spread(i / m.dim);
    m.tok_emb = embedding;
    m.layers = &l;
    l.attn_norm = l.ffn_norm = m.final_norm = wide_random(1, m.dim, 0.0f);
    l.wq = wide_random(m.dim, m.dim, 0.3f);
    l.wk = wide_random(m.kv_dim, m.dim, 0.3f);
    l.wv = wide_random(m.kv_dim, m.dim, 0.3f);
    l.wo = wide_random(m.dim, m.dim, 0.3f);
    l.w1 = wide_random(m.hidden, m.dim, 0.3f);
    l.w3 = wide_random(m.hidden, m.dim, 0.3f);
    l.w2 = wide_random(m.dim, m.hidden, 0.3f);
    add_layers(&g, &m);
    return write_file(&g, path); /* the weights go with the program */
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "tales")) return write_tales(argv[2], argv[3]);
    if (argc == 4 && !strcmp(argv[1], "wide")) return write_wide(argv[2], argv[3]);
    fprintf(stderr, "usage: gguf tales TALES.BIN OUT | gguf wide VOCABULARY OUT\n");
    return 2;
}
