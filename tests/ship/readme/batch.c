/* README, batches: the rows' own tokens, and a bad row's status beside them. */
#include "readme.h"

int main(void)
{
    enum { n_rows = 3, n_vocab = 4 };
    uint16_t data[n_rows * n_vocab] = { 0x3f80, 0x4000, 0, 0, 0, 0, 0, 0x4040, 0x7fc0 }; /* 1 2 . . | . . . 3 | NaN */
    samp_sampler *rows[n_rows] = { NULL };
    samp_params requests[n_rows];
    int status[n_rows];
    samp_token tokens[n_rows];
    for (int i = 0; i < n_rows; i++) requests[i] = greedy_params();
#include "batch.h"
    require(status[0] == SAMP_OK && tokens[0] == 1 && tokens[1] == 3 && tokens[2] == SAMP_E_NAN);
    for (int i = 0; i < n_rows; i++) samp_free(rows[i]);
    return 0;
}
