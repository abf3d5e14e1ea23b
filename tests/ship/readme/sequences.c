/* src/kv/README, sequences: a fork, a rollback and a window that slides. */
#include "readme.h"

int main(void)
{
    enum { N = 2100 };
    static uint32_t k[32], v[32], cells[N], bits[N * 128];
    static int32_t pos[N];
    static uint64_t seq[N];
    samp_kv_batch batch = { N, pos, seq };
    int status = SAMP_E_NULL;
    for (int i = 0; i < 32; i++) k[i] = v[i] = 128;
    for (int i = 0; i < N; i++) {
        pos[i] = i;
        seq[i] = 1;
    }
#include "sequences.h"
    require(status == SAMP_OK && kv->used == 57 + N - 2001);
    require(samp_kv_seq_pos_max(kv, 0) == N - 1 - 2000 && samp_kv_seq_pos_max(kv, 1) == 56);
    samp_kv_free(kv);
    return 0;
}
