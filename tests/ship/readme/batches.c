/* src/run/README, batches: rows by index, masked, with log-probabilities. */
#include "readme.h"

int main(void)
{
    enum { n_rows = 2, n_vocab = 4 };
    uint16_t data[3 * n_vocab] = {
        0x3f80, 0x4000, 0, 0, 0, 0, 0, 0, 0, 0x4000, 0x3f80, 0
    }; /* 1 2 . . | . . . . | . 2 1 . */
    int32_t last[n_rows] = { 2, 0 };
    size_t lengths[n_rows] = { 3, 4 };
    uint32_t bits[n_rows] = { 0xd, 0xf }; /* not token 1 in the first row */
    samp_logprobs logprobs[n_rows];
    samp_params params[n_rows];
    int status[n_rows];
    samp_token tokens[n_rows];
    memset(logprobs, 0, sizeof logprobs);
    for (int i = 0; i < n_rows; i++) params[i] = greedy_params();
#include "batches.h"
    require(status[1] == SAMP_OK && tokens[0] == 2 && tokens[1] == 1 && logprobs[0].raw.chosen.rank == 1);
    for (int i = 0; i < n_rows; i++) samp_free(rows[i]);
    return 0;
}
