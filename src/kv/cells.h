/* ====================================================================================================== >>kv
   A key-value cache for several sequences (SAMPLING_KV), after llama.cpp's. A cell is the place of one token in the
   cache. It belongs to a set of sequences, and is free when the set is empty. Tokens of a batch get cells, and
   operations on sequences change which sequences own the cells. The results are a mask for attention, and buffers of
   keys and values that agree with the cells. Forks, rollbacks and sliding windows change sets and positions, never keys
   and values; samp_kv_update brings keys and values up to date before the next batch.

   Invariants after every function: pos is -1 exactly if seq is 0; `used` is the number of cells in use; `delta` (the
   rotation that keys still need) is 0 in a free cell; has_shift is set if any delta is not 0; a function that returns
   an error has changed nothing.

   `pos` is the position to which a cell's keys should be rotated (RoPE), and pos - delta the position to which they are
   rotated. So any number of moves takes one rotation in the end.

   This part of the library uses its core for arithmetic only: f16 (sampi_f32_to_f16, sampi_f16_to_f32), SAMPI_FMA,
   sampi_round, sampi_round_up, sampi_leading_zeros, and for bytes sampi_little and sampi_checksum. */

/* Describes where the keys or the values of a layer are: element i of a cell is at the address data + cell * stride + i
   * step, in bytes. The struct can describe a transposed buffer, a cell in a saved state, and a caller's array of
   floats. */
typedef struct sampi_kv_rows {
    char *data;
    size_t n, stride, step;
    bool half; /* true: the elements are f16; false: f32 */
} sampi_kv_rows;

/* A cache: the public members, then private ones. It is one block of memory, and its pointers never change
   (sampi_kv_layout). */
typedef struct sampi_kv {
    samp_kv base; /* must be the first member: users hold a pointer to it */
    /* the parameters, with defaults filled in; n_embd_k and n_embd_v are NULL, because `rows` has these numbers */
    samp_kv_params set;
    sampi_kv_rows *rows; /* [2 n_layer] the keys of layer 0, its values, the keys of layer 1, ... */
    double *turn;        /* [n_rot] the cosine and sine of each pair's angle, for samp_kv_update */
} sampi_kv;

/* Returns the private struct of a cache. Every samp_kv is its first member, because only samp_kv_init makes caches. */
static const sampi_kv *sampi_kv_of(const samp_kv *kv) { return (const sampi_kv *)kv; }
