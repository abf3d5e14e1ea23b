/* ====================================================================================================== >>kv
   Sequences and their cache (SAMPLING_KV), after llama.cpp's. Batches of tokens come in and get cells; the operations
   on sequences change who has them; what comes out is a mask for attention, and buffers of keys and values that agree
   with the cells. A token takes a cell; a cell belongs to a set of sequences and is free when the set is empty.
   Forking, rolling back and sliding change sets and positions, never the keys and values: samp_kv_update brings these
   up to date before the next batch.

   Invariants, after every function: pos is -1 exactly if seq is 0; used is the number of cells in use; delta is 0 in
   a free cell, and if it is not 0 somewhere has_shift is set; a function that returns an error has changed nothing.

   The one thing to know: a position is what a cell's keys should be turned to, pos - delta is what they are turned
   to. So any number of moves costs one rotation in the end.

   It calls the core for arithmetic only: f16 (sampi_f32_to_f16, sampi_f16_to_f32), SAMPI_FMA, sampi_round,
   sampi_round_up, sampi_empty_bits, and for its bytes sampi_little and sampi_checksum. */

/* The keys or the values of a layer: element i of a cell is at data + cell * stride + i * step, in bytes. With this a
   transposed buffer, a cell's row in a saved state and a caller's array of floats are read and written alike. */
typedef struct sampi_kv_rows {
    char *data;
    size_t n, stride, step;
    bool half; /* f16, else f32 */
} sampi_kv_rows;

/* A cache as it is: what the user sees, and behind it what only the functions below know. One block, whose
   pointers never change (sampi_kv_layout). */
typedef struct sampi_kv {
    samp_kv base;        /* must be first */
    samp_kv_params set;  /* defaults filled in; n_embd_k and n_embd_v are NULL, rows know them */
    sampi_kv_rows *rows; /* [2 n_layer] keys, values, keys, ... */
    double *turn;        /* [n_rot] cos, sin of each pair's angle: what samp_kv_update works with */
} sampi_kv;

/* Every samp_kv is one, made by samp_kv_init. */
static const sampi_kv *sampi_kv_of(const samp_kv *kv) { return (const sampi_kv *)kv; }
