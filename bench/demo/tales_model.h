/* tales_model.h -- a tiny story-telling language model, to have real logits to sample from.
 *
 * The model is a Llama-style decoder: 1.37 M weights, 2048 word pieces, a context of 256 tokens.
 * data/README.md has the file's format. Plain C11, to be included by a .c file, behind sampling.h with
 * SAMPLING_KV, whose cache holds what earlier tokens left behind:
 *
 *     tales_model m;
 *     const char *error = tales_load(&m, "bench/data/tales.bin");        NULL, or what is wrong
 *     int n = tales_tokenise(&m, "Once upon a time", ids, m.n_ctx);      ids [n], ids[0] == TALES_BEGIN
 *     for (int i = 0; i < n; i++) logits = tales_eval(&m, ids[i], i);    logits [n_vocab]
 *     tales_free(&m);
 *
 * tales_eval reads one text. For several at once, forks and rollbacks: tales_cache and tales_decode.
 * All arithmetic is f32; the f16 weights are widened once, when the file is read. */

#ifndef TALES_MODEL_H
#define TALES_MODEL_H

#ifndef SAMPLING_KV
#error "tales_model.h: define SAMPLING_KV before you include sampling.h"
#endif

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TALES_BEGIN = 0, TALES_END = 1 };                    /* a paragraph begins and ends with these empty pieces */
enum { TALES_MAX_BATCH = 2048, TALES_MAX_CELLS = 1 << 16 }; /* what tales_decode takes */

typedef struct {                    /* one layer's weights, matrices as [out, in] */
    const float *attn_norm;         /* [dim] */
    const float *wq, *wk, *wv, *wo; /* [dim, dim], [kv_dim, dim], [kv_dim, dim], [dim, dim] */
    const float *ffn_norm;          /* [dim] */
    const float *w1, *w3, *w2;      /* [hidden, dim], [hidden, dim], [dim, hidden] */
} tales_layer;

typedef struct {
    int n_vocab, dim, n_layers, n_heads, n_kv_heads, hidden, n_ctx;
    int head_dim, kv_dim; /* dim / n_heads, and n_kv_heads * head_dim */

    const uint8_t **pieces;            /* [n_vocab], each points to a length byte and the bytes */
    const float *tok_emb, *final_norm; /* [n_vocab, dim] (the output head too), [dim] */
    tales_layer *layers;               /* [n_layers] */

    float *rope;                   /* [n_ctx, head_dim / 2] pairs of cos, sin */
    float *x, *normed, *q, *mixed; /* [dim]: the residual stream; its norm; query; heads */
    float *gate, *up;              /* [hidden] */
    float *key, *value;            /* [kv_dim]: of one token and layer */
    float *attention;              /* [n_heads, n_ctx] */
    float *logits;                 /* [n_vocab] */

    uint32_t *cells; /* [n_ctx]: where the tokens are that one attends to */
    samp_kv *kv;     /* the cache of tales_eval */

    uint8_t *file;          /* the file's bytes; the pieces point into it */
    float *weights, *state; /* the two allocations that the pointers above share */
} tales_model;

/* ==== Arithmetic =================================================================================
 * A compiler keeps a sum of floats in its written order, one addition at a time, so the sums are
 * written as four vectors of four lanes, with the vector type that gcc and clang share. Lengths are
 * multiples of 16; tales_read_header checks it. */

typedef float tales_f32x4 __attribute__((vector_size(16)));

static inline tales_f32x4 tales_vec(const float *p)
{
    tales_f32x4 v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* a: [n], b: [n] */
static inline float tales_dot(const float *a, const float *b, int n)
{
    tales_f32x4 s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };
    for (int i = 0; i < n; i += 16) {
        s0 += tales_vec(a + i) * tales_vec(b + i);
        s1 += tales_vec(a + i + 4) * tales_vec(b + i + 4);
        s2 += tales_vec(a + i + 8) * tales_vec(b + i + 8);
        s3 += tales_vec(a + i + 12) * tales_vec(b + i + 12);
    }
    s0 = (s0 + s1) + (s2 + s3);
    return (s0[0] + s0[1]) + (s0[2] + s0[3]);
}

/* w: [n_out, n_in], x: [n_in], y: [n_out] */
static inline void tales_matvec(float *y, const float *w, const float *x, int n_out, int n_in)
{
    for (int i = 0; i < n_out; i++) y[i] = tales_dot(w + (size_t)i * (size_t)n_in, x, n_in);
}

/* y += a * x; x: [n], y: [n] */
static inline void tales_add_scaled(float *y, float a, const float *x, int n)
{
    for (int i = 0; i < n; i += 4) {
        tales_f32x4 v = tales_vec(y + i) + a * tales_vec(x + i);
        memcpy(y + i, &v, sizeof v);
    }
}

/* x: [n], w: [n], y: [n] */
static inline void tales_rms_norm(float *y, const float *x, const float *w, int n)
{
    float scale = 1.0f / sqrtf(tales_dot(x, x, n) / (float)n + 1e-5f);
    for (int i = 0; i < n; i++) y[i] = x[i] * scale * w[i];
}

/* x: [n], in place; the maximum is taken off first, so that expf cannot overflow */
static inline void tales_softmax(float *x, int n)
{
    float max = x[0], sum = 0.0f;
    for (int i = 1; i < n; i++)
        if (x[i] > max) max = x[i];
    for (int i = 0; i < n; i++) sum += x[i] = expf(x[i] - max);
    for (int i = 0; i < n; i++) x[i] /= sum;
}

/* x: [n_heads, head_dim], in place; rope: [head_dim / 2] pairs for this position. Each pair of
 * neighbours is a point in the plane, and is turned by an angle that grows with the position. */
static inline void tales_rotate(float *x, const float *rope, int n_heads, int head_dim)
{
    for (int h = 0; h < n_heads; h++, x += head_dim) {
        for (int i = 0; i < head_dim; i += 2) {
            float a = x[i], b = x[i + 1], c = rope[i], s = rope[i + 1];
            x[i] = a * c - b * s;
            x[i + 1] = a * s + b * c;
        }
    }
}

/* ==== Reading the file ===========================================================================
 * The whole file is read, its header is believed only where the sizes it implies agree with the
 * file's length, and the weights are widened to f32 in one block. The functions return NULL, or what
 * is wrong with the file. */

static inline float tales_f16_to_f32(uint16_t h)
{
    int exponent = (h >> 10) & 31;
    float fraction = (float)(h & 1023);
    float f = exponent == 0    ? ldexpf(fraction, -24) /* subnormal */
              : exponent == 31 ? (fraction == 0.0f ? INFINITY : NAN)
                               : ldexpf(1024.0f + fraction, exponent - 25);
    return h & 0x8000 ? -f : f;
}

static inline const char *tales_read_file(const char *path, uint8_t **bytes, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) return strerror(errno);

    const char *error = "cannot be read";
    long length = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (length >= 0 && length <= 1L << 30 && fseek(f, 0, SEEK_SET) == 0) {
        *size = (size_t)length;
        *bytes = malloc(*size + 1); /* + 1: an empty file is short, not a lack of memory */
        if (!*bytes)
            error = "not enough memory";
        else if (fread(*bytes, 1, *size, f) == *size)
            error = NULL;
    }
    fclose(f);
    return error;
}

static inline const char *tales_read_header(tales_model *m, size_t size, size_t *piece_bytes)
{
    enum { MAGIC = 8, FIELDS = 8, LIMIT = 1 << 16 }; /* LIMIT keeps every product inside 64 bits */
    if (size < MAGIC || memcmp(m->file, "TALESLM1", MAGIC) != 0) return "not a tales model (wrong magic)";
    if (size < MAGIC + FIELDS * 4) return "truncated in the header";

    int32_t field[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        const uint8_t *p = m->file + MAGIC + i * 4;
        field[i] = (int32_t)(p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        if (field[i] < 1 || field[i] > LIMIT) return "a size in the header is out of range";
    }
    m->n_vocab = field[0];
    m->dim = field[1];
    m->n_layers = field[2];
    m->n_heads = field[3];
    m->n_kv_heads = field[4];
    m->hidden = field[5];
    m->n_ctx = field[6];
    *piece_bytes = (size_t)field[7];

    m->head_dim = m->dim / m->n_heads;
    m->kv_dim = m->head_dim * m->n_kv_heads;
    if (m->head_dim * m->n_heads != m->dim || m->n_heads % m->n_kv_heads != 0 || m->n_vocab <= TALES_END ||
        m->head_dim % 16 != 0 || m->hidden % 16 != 0)
        return "the sizes in the header do not fit together";
    return NULL;
}

/* -> pieces: [n_vocab]; *end: where the pieces end, in bytes from the file's start */
static inline const char *tales_read_pieces(tales_model *m, size_t size, size_t piece_bytes, size_t *end)
{
    size_t at = 8 + 8 * 4;
    *end = at + piece_bytes;
    if (*end > size) return "truncated in the vocabulary";

    m->pieces = malloc((size_t)m->n_vocab * sizeof *m->pieces);
    if (!m->pieces) return "not enough memory";
    for (int id = 0; id < m->n_vocab; id++) {
        if (at >= *end || at + 1 + m->file[at] > *end) return "the vocabulary is damaged";
        m->pieces[id] = m->file + at;
        at += 1 + (size_t)m->file[at];
    }
    return NULL;
}

/* Hands out the next n floats of a block. */
static inline float *tales_take(float **block, int n_out, int n_in)
{
    float *p = *block;
    *block += (size_t)n_out * (size_t)n_in;
    return p;
}

static inline const char *tales_read_weights(tales_model *m, size_t size, size_t at)
{
    size_t dim = (size_t)m->dim, kv_dim = (size_t)m->kv_dim, hidden = (size_t)m->hidden;
    size_t n_layer = 2 * dim + 2 * dim * dim + 2 * kv_dim * dim + 3 * hidden * dim;
    size_t n = (size_t)m->n_vocab * dim + (size_t)m->n_layers * n_layer + dim;
    if (at > size || (size - at) / 2 < n) return "truncated in the weights";
    if (size - at != 2 * n) return "longer than its header says";

    m->weights = malloc(n * sizeof *m->weights);
    m->layers = calloc((size_t)m->n_layers, sizeof *m->layers);
    if (!m->weights || !m->layers) return "not enough memory";
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = m->file + at + 2 * i;
        m->weights[i] = tales_f16_to_f32((uint16_t)(p[0] | p[1] << 8));
    }

    float *w = m->weights;
    m->tok_emb = tales_take(&w, m->n_vocab, m->dim);
    for (tales_layer *l = m->layers; l < m->layers + m->n_layers; l++) {
        l->attn_norm = tales_take(&w, 1, m->dim);
        l->wq = tales_take(&w, m->dim, m->dim);
        l->wk = tales_take(&w, m->kv_dim, m->dim);
        l->wv = tales_take(&w, m->kv_dim, m->dim);
        l->wo = tales_take(&w, m->dim, m->dim);
        l->ffn_norm = tales_take(&w, 1, m->dim);
        l->w1 = tales_take(&w, m->hidden, m->dim);
        l->w3 = tales_take(&w, m->hidden, m->dim);
        l->w2 = tales_take(&w, m->dim, m->hidden);
    }
    m->final_norm = tales_take(&w, 1, m->dim);
    return NULL;
}

/* A cache for that model. NULL: no memory. */
static inline samp_kv *tales_cache(const tales_model *m, int n_cells, int n_seq, samp_dtype type, bool v_trans)
{
    uint32_t *n_embd = malloc((size_t)m->n_layers * sizeof *n_embd);
    for (int i = 0; n_embd && i < m->n_layers; i++) n_embd[i] = (uint32_t)m->kv_dim;
    samp_kv_params params = {
        .n_cells = (uint32_t)n_cells,
        .n_seq_max = (uint32_t)n_seq,
        .n_layer = (uint32_t)m->n_layers,
        .n_embd_k = n_embd,
        .n_embd_v = n_embd,
        .type_k = type,
        .type_v = type,
        .v_trans = v_trans,
        .rope = SAMP_ROPE_ADJACENT,
        .n_embd_head = (uint32_t)m->head_dim,
    };
    samp_kv *kv = n_embd ? samp_kv_init(&params, NULL) : NULL;
    free(n_embd);
    return kv;
}

static inline const char *tales_make_state(tales_model *m)
{
    size_t rope = (size_t)m->n_ctx * (size_t)m->head_dim;
    size_t scratch = 4 * (size_t)m->dim + 2 * (size_t)m->hidden + 2 * (size_t)m->kv_dim +
                     (size_t)m->n_heads * (size_t)m->n_ctx + (size_t)m->n_vocab;
    float *s = m->state = calloc(rope + scratch, sizeof *s);
    m->cells = malloc((size_t)m->n_ctx * sizeof *m->cells);
    m->kv = tales_cache(m, m->n_ctx, 1, SAMP_F32, false);
    if (!s || !m->cells || !m->kv) return "not enough memory";

    m->rope = tales_take(&s, m->n_ctx, m->head_dim);
    m->x = tales_take(&s, 1, m->dim);
    m->normed = tales_take(&s, 1, m->dim);
    m->q = tales_take(&s, 1, m->dim);
    m->mixed = tales_take(&s, 1, m->dim);
    m->gate = tales_take(&s, 1, m->hidden);
    m->up = tales_take(&s, 1, m->hidden);
    m->key = tales_take(&s, 1, m->kv_dim);
    m->value = tales_take(&s, 1, m->kv_dim);
    m->attention = tales_take(&s, m->n_heads, m->n_ctx);
    m->logits = tales_take(&s, 1, m->n_vocab);

    for (int pos = 0; pos < m->n_ctx; pos++) { /* in double, as the cache rotates keys that move */
        for (int i = 0; i < m->head_dim; i += 2) {
            double angle = pos * pow(10000.0, -(double)i / m->head_dim);
            m->rope[pos * m->head_dim + i] = (float)cos(angle);
            m->rope[pos * m->head_dim + i + 1] = (float)sin(angle);
        }
    }
    return NULL;
}

static inline void tales_free(tales_model *m)
{
    samp_kv_free(m->kv);
    free(m->cells);
    free(m->state);
    free(m->layers);
    free(m->weights);
    free(m->pieces);
    free(m->file);
    memset(m, 0, sizeof *m);
}

/* A model from the bytes of such a file, which are malloc'ed and the model's from now on. Returns NULL, and a model to be
 * freed with tales_free; or what is wrong, and nothing to free. */
static inline const char *tales_load_bytes(tales_model *m, uint8_t *bytes, size_t size)
{
    size_t piece_bytes = 0, at = 0;
    memset(m, 0, sizeof *m);
    m->file = bytes;
    const char *error = tales_read_header(m, size, &piece_bytes);
    if (!error) error = tales_read_pieces(m, size, piece_bytes, &at);
    if (!error) error = tales_read_weights(m, size, (at + 63) / 64 * 64);
    if (!error) error = tales_make_state(m);
    if (error) tales_free(m);
    return error;
}

/* The same from the file itself. */
static inline const char *tales_load(tales_model *m, const char *path)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    const char *error = tales_read_file(path, &bytes, &size);
    if (!error) return tales_load_bytes(m, bytes, size);
    free(bytes);
    memset(m, 0, sizeof *m);
    return error;
}

/* ==== Text =======================================================================================
 * A piece is a length byte and that many bytes; more than half begin with a space. Each of the 256
 * bytes is a piece too, so every text has tokens. */

static inline const char *tales_piece(const tales_model *m, int32_t id, size_t *length)
{
    *length = m->pieces[id][0];
    return (const char *)m->pieces[id] + 1;
}

/* The longest piece that the text [n] begins with. Returns -1 where none does. */
static inline int32_t tales_longest_piece(const tales_model *m, const char *text, size_t n)
{
    int32_t best = -1;
    size_t best_length = 0, length;
    for (int32_t id = 0; id < m->n_vocab; id++) {
        const char *piece = tales_piece(m, id, &length);
        if (length > best_length && length <= n && memcmp(piece, text, length) == 0) {
            best = id;
            best_length = length;
        }
    }
    return best;
}

/* Greedy longest match, after TALES_BEGIN. Returns the number of ids, or -1 if there are more than max.
 * -> ids: [<= max] */
static inline int tales_tokenise(const tales_model *m, const char *text, int32_t *ids, int max)
{
    size_t left = strlen(text), length = 1;
    int n = 0;
    if (max < 1) return -1;
    for (ids[n++] = TALES_BEGIN; left > 0; text += length, left -= length) {
        int32_t id = tales_longest_piece(m, text, left);
        if (id < 0 || n == max) return -1;
        tales_piece(m, id, &length);
        ids[n++] = id;
    }
    return n;
}

/* ==== The model ==================================================================================
 * A layer reads the residual stream x, and adds to it twice: what attention gathers from the earlier
 * tokens, then what the feed-forward block makes of that. */

/* The cells that a token attends to, in the order of their positions: then it makes no difference to a
 * single bit where in the cache they are. -> m->cells; returns how many */
static inline int tales_visible(tales_model *m, const samp_kv *kv, const samp_kv_batch *place)
{
    uint32_t bits[TALES_MAX_CELLS / 32];
    int n = 0;
    samp_kv_mask(kv, place, bits, NULL);
    for (int pos = 0; pos < m->n_ctx; pos++) m->cells[pos] = UINT32_MAX;
    for (uint32_t c = 0; c < kv->n; c++)
        if (bits[c / 32] >> c % 32 & 1) m->cells[kv->cells[c].pos] = c;
    for (int pos = 0; pos < m->n_ctx; pos++)
        if (m->cells[pos] != UINT32_MAX) m->cells[n++] = m->cells[pos];
    return n;
}

/* cell: the token's own, one of the n in m->cells */
static inline void tales_attention(tales_model *m, int layer, samp_kv *kv, int pos, uint32_t cell, int n)
{
    const tales_layer *l = &m->layers[layer];
    const float *rope = m->rope + pos * m->head_dim;
    int size = m->head_dim, group = m->n_heads / m->n_kv_heads; /* query heads share keys and values in groups */
    float scale = 1.0f / sqrtf((float)size);
    tales_rms_norm(m->normed, m->x, l->attn_norm, m->dim);
    tales_matvec(m->q, l->wq, m->normed, m->dim, m->dim);
    tales_matvec(m->key, l->wk, m->normed, m->kv_dim, m->dim);
    tales_matvec(m->value, l->wv, m->normed, m->kv_dim, m->dim);
    tales_rotate(m->q, rope, m->n_heads, size);
    tales_rotate(m->key, rope, m->n_kv_heads, size);
    samp_kv_put(kv, (uint32_t)layer, cell, m->key, m->value);

    for (int t = 0; t < n; t++) {
        samp_kv_get(kv, (uint32_t)layer, m->cells[t], m->key, NULL);
        for (int h = 0; h < m->n_heads; h++)
            m->attention[h * m->n_ctx + t] = tales_dot(m->q + h * size, m->key + h / group * size, size) * scale;
    }
    for (int h = 0; h < m->n_heads; h++) tales_softmax(m->attention + h * m->n_ctx, n);
    memset(m->mixed, 0, (size_t)m->dim * sizeof(float));
    for (int t = 0; t < n; t++) {
        samp_kv_get(kv, (uint32_t)layer, m->cells[t], NULL, m->value);
        for (int h = 0; h < m->n_heads; h++)
            tales_add_scaled(m->mixed + h * size, m->attention[h * m->n_ctx + t], m->value + h / group * size, size);
    }
    tales_matvec(m->normed, l->wo, m->mixed, m->dim, m->dim);
    tales_add_scaled(m->x, 1.0f, m->normed, m->dim);
}

static inline void tales_feed_forward(tales_model *m, const tales_layer *l)
{
    tales_rms_norm(m->normed, m->x, l->ffn_norm, m->dim);
    tales_matvec(m->gate, l->w1, m->normed, m->hidden, m->dim);
    tales_matvec(m->up, l->w3, m->normed, m->hidden, m->dim);
    for (int i = 0; i < m->hidden; i++) m->up[i] *= m->gate[i] / (1.0f + expf(-m->gate[i]));
    tales_matvec(m->normed, l->w2, m->up, m->dim, m->hidden);
    tales_add_scaled(m->x, 1.0f, m->normed, m->dim);
}

/* One token through all layers. place: its position and sequences. -> logits: [n_vocab] unless NULL */
static inline void tales_step(tales_model *m, samp_kv *kv, int32_t token, const samp_kv_batch *place, uint32_t cell,
                              float *logits)
{
    int n = tales_visible(m, kv, place);
    memcpy(m->x, m->tok_emb + (size_t)token * (size_t)m->dim, (size_t)m->dim * sizeof(float));
    for (int i = 0; i < m->n_layers; i++) {
        tales_attention(m, i, kv, place->pos[0], cell, n);
        tales_feed_forward(m, &m->layers[i]);
    }
    if (!logits) return;
    tales_rms_norm(m->normed, m->x, m->final_norm, m->dim);
    tales_matvec(logits, m->tok_emb, m->normed, m->n_vocab, m->dim);
}

/* Reads a batch of tokens into the cache, and for the last n_logits of them writes the logits of the token
 * that follows. Positions are below n_ctx. Returns SAMP_OK, or a status and has done nothing but
 * samp_kv_update. tokens: [batch->n_tokens] -> logits: [n_logits, n_vocab] */
static inline int tales_decode(tales_model *m, samp_kv *kv, const int32_t *tokens, const samp_kv_batch *batch,
                               uint32_t n_logits, float *logits)
{
    uint32_t cells[TALES_MAX_BATCH], n = batch->n_tokens;
    if (n > TALES_MAX_BATCH || n_logits > n || kv->size > TALES_MAX_CELLS) return SAMP_E_RANGE;
    for (uint32_t t = 0; t < n; t++)
        if (tokens[t] < 0 || tokens[t] >= m->n_vocab || batch->pos[t] >= m->n_ctx) return SAMP_E_RANGE;
    samp_kv_update(kv);
    int status = samp_kv_find_slot(kv, batch, SAMP_KV_SCATTERED, cells);
    for (uint32_t t = 0; t < n && status == SAMP_OK; t++) {
        samp_kv_batch place = { 1, batch->pos + t, batch->seq + t };
        bool wanted = t >= n - n_logits;
        tales_step(m, kv, tokens[t], &place, cells[t], wanted ? logits : NULL);
        if (wanted) logits += m->n_vocab;
    }
    return status;
}

/* Reads the token at position pos, and returns the logits [n_vocab] of the token that follows, valid
 * until the next call. Positions go up one by one; position 0 begins a new text. NULL if the token or
 * the position is out of range. */
static inline const float *tales_eval(tales_model *m, int32_t token, int pos)
{
    const uint64_t sequence_0 = 1;
    const int32_t at = pos;
    samp_kv_batch place = { 1, &at, &sequence_0 };
    if (token < 0 || token >= m->n_vocab || pos < 0 || pos >= m->n_ctx) return NULL;
    samp_kv_seq_rm(m->kv, 0, pos, -1);
    return tales_decode(m, m->kv, &token, &place, 1, m->logits) == SAMP_OK ? m->logits : NULL;
}

#endif /* TALES_MODEL_H */
