/* ---- 5. sequences and their key-value cache (SAMPLING_KV) -----------------------------------------------------
   Which cell of a key-value cache holds each token of each sequence: with forks, rollback, sliding windows, a mask for
   attention and, if you want, the buffers of keys and values. The functions work with positions and sequences; they use
   no samplers. */

/* A cell holds the keys and values of one token. */
typedef struct samp_kv_cell {
    int32_t pos;   /* the token's position; -1: the cell is free */
    int32_t delta; /* how far the token has moved since its keys were made or last rotated; samp_kv_update rotates */
    uint64_t seq;  /* bit s: sequence s has this token; 0 in a free cell */
} samp_kv_cell;

/* A cache. You may read these members; only the functions below change them. Private members follow them. */
typedef struct samp_kv {
    uint32_t size;       /* number of cells */
    uint32_t used;       /* number of cells that are not free */
    uint32_t head;       /* where the next search for a slot begins; after a search, the slot's first cell */
    uint32_t n;          /* attention reads cells 0 .. n - 1: set by find_slot, update and state_load */
    bool has_shift;      /* some cell may have a delta */
    bool do_defrag;      /* the next samp_kv_update defragments */
    samp_kv_cell *cells; /* [size] */
} samp_kv;

/* How keys encode positions: pair i = 0, 1, ... of a head's elements is a point in the plane, rotated by the angle
   pos * theta^(-2 i / n_rot) radians (Su et al. 2021, RoPE). */
typedef enum samp_kv_rope {
    SAMP_ROPE_NONE = 0,     /* not by rotation */
    SAMP_ROPE_ADJACENT = 1, /* pair i is elements 2 i and 2 i + 1 (Llama's own weights) */
    SAMP_ROPE_HALF = 2      /* pair i is elements i and i + n_rot / 2 (GPT-NeoX, Hugging Face) */
} samp_kv_rope;

/* The parameters of a cache. In all members but the first 0 means "the default". */
typedef struct samp_kv_params {
    uint32_t n_cells;         /* 1 .. 2^26; the whole cache must not exceed half of what size_t can count */
    uint32_t n_seq_max;       /* sequences are 0 .. n_seq_max - 1; 1 .. 64, 0: 64 */
    uint32_t padding;         /* n is a multiple of it, or all cells; 1 .. 2^16, 0: 32 */
    uint32_t n_layer;         /* 0 .. 4096; 0: cells only, no buffers */
    const uint32_t *n_embd_k; /* [n_layer] elements of a token's keys, all key-value heads together; 1 .. 2^20 */
    const uint32_t *n_embd_v; /* [n_layer] the same of its values */
    samp_dtype type_k;        /* SAMP_F32 or SAMP_F16 */
    samp_dtype type_v;
    bool v_trans;           /* values are transposed: [n_embd_v x n_cells] */
    samp_kv_rope rope;      /* SAMP_ROPE_NONE: a shift does not change the keys */
    uint32_t n_embd_head;   /* with rope: elements of one head's key, a divisor of every n_embd_k; 2 .. 2^20 */
    uint32_t n_rot;         /* with rope: how many of them are rotated, from the first on; even; 0: n_embd_head */
    float rope_theta;       /* with rope: > 0 and finite; 0: 10000 */
    float defrag_threshold; /* samp_kv_update defragments if the share of free cells among those up to the last used
                               one exceeds it; [0, 1); 0: only after samp_kv_defrag */
    void *memory;           /* memory for the buffers, aligned to 64 bytes; NULL: they are in the cache's own block */
    size_t memory_size;     /* >= samp_kv_size */
} samp_kv_params;

/* Tokens that are decoded together. */
typedef struct samp_kv_batch {
    uint32_t n_tokens;
    const int32_t *pos;  /* [n_tokens] 0 .. 2^31 - 2 */
    const uint64_t *seq; /* [n_tokens] the sequences of this token, at least one: bit s = sequence s */
} samp_kv_batch;

typedef enum samp_kv_slot {
    SAMP_KV_RUN = 0,      /* neighbouring cells */
    SAMP_KV_SCATTERED = 1 /* neighbouring cells, or any free ones if no run is long enough */
} samp_kv_slot;

/* samp_kv_check_params -- checks the parameters: SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_NAN, SAMP_E_DTYPE,
   SAMP_E_WORKSPACE (memory_size). *field (may be NULL) gets the member's name. */
SAMP_API int samp_kv_check_params(const samp_kv_params *params, const char **field);

/* samp_kv_size -- the bytes of all buffers; *k and *v (may be NULL) get the bytes of keys and of values. Each layer has
   n_cells * n_embd * (2 or 4) bytes, rounded up to 64. 0 if the parameters are bad (`memory` is not checked). */
SAMP_API size_t samp_kv_size(const samp_kv_params *params, size_t *k, size_t *v);

/* samp_kv_init -- makes an empty cache; its buffers are zero.
     Returns  the cache, or NULL: *status (may be NULL) is that of samp_kv_check_params, or SAMP_E_NOMEM.
     Memory   one block: samp_kv_size bytes (unless params->memory is set), 16 bytes a cell, 80 a layer. No other
              function allocates.
     Threads  one at a time.   Free the cache with samp_kv_free, which takes NULL. */
SAMP_API samp_kv *samp_kv_init(const samp_kv_params *params, int *status);
/* Frees a cache; takes NULL. */
SAMP_API void samp_kv_free(samp_kv *kv);

/* samp_kv_clear -- frees all cells, as after samp_kv_init. The buffers stay as they are. */
SAMP_API void samp_kv_clear(samp_kv *kv);

/* samp_kv_find_slot -- finds cells for the tokens of a batch.
     Search   begins at head, or at 0 if head > used + 2 n_tokens; wraps around; fails after a full turn. head is then
              the first cell found. It stays there until the next search, or until a cell before it becomes free.
     out      cells [n_tokens] (may be NULL): the cell of each token. SAMP_KV_RUN: head, head + 1, ...; scattered cells
              ascend from head and wrap around.
     Range    a token's position must be above all positions of its sequences, in the cache and earlier in the batch.
     Returns  SAMP_OK; SAMP_E_FULL: no such cells are free; SAMP_E_NULL; SAMP_E_RANGE: n_tokens (0, or more than the
              cache has), a position, a sequence or the kind of slot. After an error nothing has changed.
     Source   llama.cpp's llama_kv_cache_find_slot. */
SAMP_API int samp_kv_find_slot(samp_kv *kv, const samp_kv_batch *batch, samp_kv_slot kind, uint32_t *cells);

/* Operations on a sequence, as in llama.h. Common to all:
     Range    positions [p0, p1); p0 < 0: from the start, p1 < 0: to the end.
     Returns  SAMP_OK (also if no token is in the range); SAMP_E_NULL; SAMP_E_RANGE: an unknown sequence, or p0 > p1.
              After an error nothing has changed.
     head     goes back to the first cell that becomes free, if that is before it.   Cost  O(size).

   samp_kv_seq_rm -- removes these tokens from a sequence; seq < 0: from all sequences. A cell without a sequence is
     free.
   samp_kv_seq_cp -- gives dst the tokens of src too (a fork): the sequences share cells, nothing is copied. dst keeps
     its own tokens.
   samp_kv_seq_keep -- removes all other sequences.
   samp_kv_seq_add -- moves positions by delta; samp_kv_update rotates the keys later. A token moved below 0 is removed.
     Other sequences that share a cell move with it. A position above 2^31 - 2 is SAMP_E_RANGE.
   samp_kv_seq_div -- divides positions by d >= 1, rounded down; otherwise as samp_kv_seq_add. */
SAMP_API int samp_kv_seq_rm(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1);
/* Gives dst the tokens of src too (a fork). */
SAMP_API int samp_kv_seq_cp(samp_kv *kv, int32_t src, int32_t dst, int32_t p0, int32_t p1);
/* Removes all other sequences. */
SAMP_API int samp_kv_seq_keep(samp_kv *kv, int32_t seq);
/* Moves positions by delta. */
SAMP_API int samp_kv_seq_add(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1, int32_t delta);
/* Divides positions by d. */
SAMP_API int samp_kv_seq_div(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1, int32_t d);

/* samp_kv_seq_pos_min, samp_kv_seq_pos_max -- the smallest and the largest position of a sequence; -1 if it has no
   token (or kv is NULL), SAMP_E_RANGE if the sequence is unknown. */
SAMP_API int32_t samp_kv_seq_pos_min(const samp_kv *kv, int32_t seq);
/* The largest position of a sequence; -1 if it has no token. */
SAMP_API int32_t samp_kv_seq_pos_max(const samp_kv *kv, int32_t seq);

/* samp_kv_keys, samp_kv_values -- a layer's buffer, for kernels of your own: keys [size x n_embd_k], values
   [size x n_embd_v], or [n_embd_v x size] with v_trans. NULL: no such layer. */
SAMP_API void *samp_kv_keys(const samp_kv *kv, uint32_t layer);
/* A layer's values, for kernels of your own. */
SAMP_API void *samp_kv_values(const samp_kv *kv, uint32_t layer);

/* samp_kv_put, samp_kv_get -- write or read the keys and values of one cell in one layer: k [n_embd_k], v [n_embd_v];
   either may be NULL. Rounding to f16 is to nearest, ties to even.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE (layer, cell). */
SAMP_API int samp_kv_put(samp_kv *kv, uint32_t layer, uint32_t cell, const float *k, const float *v);
/* Reads the keys and values of one cell in one layer. */
SAMP_API int samp_kv_get(const samp_kv *kv, uint32_t layer, uint32_t cell, float *k, float *v);

/* samp_kv_update -- rotates and defragments where necessary. Call it before each batch, or after changes.
     Shift    rotates the keys of each cell with a delta by delta positions, in double, and rounds them to their type;
              then delta is 0.
     Defrag   after samp_kv_defrag, or above defrag_threshold: the used cells become 0 .. used - 1. Only cells behind
              these move, in order, to the first free ones. head = used (0 if the cache is full).
     Returns  SAMP_OK, SAMP_E_NULL. Without a shift and a reason to defragment it does nothing.
   samp_kv_defrag -- makes the next samp_kv_update defragment. SAMP_OK, SAMP_E_NULL. */
SAMP_API int samp_kv_update(samp_kv *kv);
/* Makes the next samp_kv_update defragment. */
SAMP_API int samp_kv_defrag(samp_kv *kv);

/* samp_kv_mask -- which of the first n cells each token of a batch attends to: cells that all its sequences have, at
   its position or an earlier one (causal attention). Call it after samp_kv_find_slot.
     out      bits [n_tokens x ceil(n / 32)]: bit c % 32 of word c / 32 is cell c; bits from n on are 0.
              bias [n_tokens x n]: 0, or -infinity where the bit is 0. Either may be NULL.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE as samp_kv_find_slot (but positions may come in any order). */
SAMP_API int samp_kv_mask(const samp_kv *kv, const samp_kv_batch *batch, uint32_t *bits, float *bias);

/* samp_kv_state_size, samp_kv_state_save, samp_kv_state_load -- a sequence as bytes: its positions, keys and values,
   with a version and a checksum. The bytes do not depend on cells or machine.
     save     writes samp_kv_state_size bytes.
     load     replaces the sequence seq by the saved one, in any free cells. A pending shift stays pending. The cache
              may have another size, padding or v_trans; its layers, types and rope must be the same.
     Returns  the size, or 0 if kv is NULL or the sequence unknown. The others SAMP_OK; SAMP_E_NULL; SAMP_E_RANGE: seq;
              SAMP_E_WORKSPACE: `size` is too small to save; SAMP_E_FORMAT: not such a state, or damaged; SAMP_E_FULL:
              too few cells would be free. After an error nothing has changed. */
SAMP_API size_t samp_kv_state_size(const samp_kv *kv, int32_t seq);
/* Writes a sequence as samp_kv_state_size bytes. */
SAMP_API int samp_kv_state_save(const samp_kv *kv, int32_t seq, void *bytes, size_t size);
/* Replaces the sequence seq by the saved one. */
SAMP_API int samp_kv_state_load(samp_kv *kv, int32_t seq, const void *bytes, size_t size);
