/* ====================================================================================================== >>kv
   Sequences and their cache (SAMPLING_KV), after llama.cpp's. Tokens of a batch get cells; operations on sequences
   change which sequences own the cells; the results are a mask for attention, and buffers of keys and values that agree
   with the cells. A token takes one cell. A cell belongs to a set of sequences, and is free when the set is empty.
   Forks, rollbacks and sliding windows change sets and positions, never keys and values: samp_kv_update brings these up
   to date before the next batch.

   Invariants after every function: pos is -1 exactly if seq is 0; `used` is the number of cells in use; delta is 0 in a
   free cell; has_shift is set if any delta is not 0; a function that returns an error has changed nothing.

   pos is the position that a cell's keys should be rotated to, pos - delta the one they are rotated to. So any number
   of moves costs one rotation in the end.

   The part uses the core for arithmetic only: f16 (sampi_f32_to_f16, sampi_f16_to_f32), SAMPI_FMA, sampi_round,
   sampi_round_up, sampi_leading_zeros, and for bytes sampi_little and sampi_checksum. */

/* The keys or the values of a layer: element i of a cell is at data + cell * stride + i * step, in bytes. A transposed
   buffer, a cell's row in a saved state and a caller's array of floats are all described by it. */
typedef struct sampi_kv_rows {
    char *data;
    size_t n, stride, step;
    bool half; /* f16, else f32 */
} sampi_kv_rows;

/* A cache: the public members, then private ones. One block of memory, whose pointers never change
   (sampi_kv_layout). */
typedef struct sampi_kv {
    samp_kv base;        /* first: users hold a pointer to it */
    samp_kv_params set;  /* with defaults filled in; n_embd_k and n_embd_v are NULL, since rows have these numbers */
    sampi_kv_rows *rows; /* [2 n_layer] keys, values, keys, ... */
    double *turn;        /* [n_rot] cos and sin of each pair's angle, for samp_kv_update */
} sampi_kv;

/* Returns the private form of a cache. Every samp_kv has it, because only samp_kv_init makes one. */
static const sampi_kv *sampi_kv_of(const samp_kv *kv) { return (const sampi_kv *)kv; }
