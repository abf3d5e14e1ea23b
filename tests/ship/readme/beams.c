/* src/search/README, beams: a model whose row depends on the text that it reads from the cache, so that a cell in the wrong
   sequence shows in the score. */
#define SAMPLING_SEARCH
#include "readme.h"
#include <math.h>

enum { N = 4, VOCAB = 6, CELLS = 256 };
static samp_token token_of[CELLS]; /* of each cell */

/* The logits behind a text. */
static void row_of(const samp_token *text, size_t n, float *row)
{
    uint32_t hash = 7;
    for (size_t i = 0; i < n; i++) hash = (hash ^ (uint32_t)(text[i] + 1)) * 2654435761u;
    for (uint32_t i = 0; i < VOCAB; i++) row[i] = (float)((hash ^ i * 40503u) * 2246822519u >> 24) / 32.0f;
}

/* Puts the beams' last tokens into the cache, if there are any, and reads the texts of their sequences. */
static void decode(samp_kv *kv, int32_t first, const samp_token *last, int32_t n, float *logits)
{
    for (int32_t r = 0; r < n; r++) {
        samp_token text[CELLS];
        int32_t pos = samp_kv_seq_pos_max(kv, first + r) + 1;
        uint64_t seq = (uint64_t)1 << (first + r);
        uint32_t cell;
        samp_kv_batch batch = { 1, &pos, &seq };
        require(samp_kv_find_slot(kv, &batch, SAMP_KV_SCATTERED, &cell) == SAMP_OK);
        token_of[cell] = last[r];
        for (uint32_t c = 0; c < kv->size; c++)
            if (kv->cells[c].seq & seq) text[kv->cells[c].pos] = token_of[c];
        row_of(text, (size_t)pos + 1, logits + r * VOCAB);
    }
}

int main(void)
{
    const samp_kv_params cells = { .n_cells = CELLS };
    samp_kv *kv = samp_kv_init(&cells, NULL);
    const samp_token eos = 5, *text = NULL;
    samp_sampler **chains = NULL;
    samp_token tokens[N] = { 2 }; /* the prompt */
    int32_t parents[N];
    float logits[N * VOCAB];
    size_t length = 0;
    double score = 0.0, sum = 0.0;
#include "beams.h"
    samp_token all[CELLS] = { 2 };
    require(length > 0 && n == 0);
    for (size_t i = 0; i < length; i++) {
        double z = 0.0;
        row_of(all, i + 1, logits);
        for (int k = 0; k < VOCAB; k++) z += exp((double)logits[k]);
        sum += (double)logits[text[i]] - log(z);
        all[i + 1] = text[i];
    }
    require(fabs(sum / (double)length - score) < 1e-9);
    samp_beams_free(beams);
    samp_kv_free(kv);
    return 0;
}
