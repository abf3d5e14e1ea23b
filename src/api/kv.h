/* ---- 5. sequences and their key-value cache (SAMPLING_KV) -----------------------------------------------------
   Functions that manage which cell of a key-value cache holds each token of each sequence: with forks, rollback,
   sliding windows, a mask for attention and, if you want, the buffers of keys and values. They work with positions and
   sequences, and use no samplers. */

/* A cell of the cache, which holds the keys and values of one token. */
typedef struct samp_kv_cell {
    int32_t pos;   /* the token's position; -1: the cell is free */
    int32_t delta; /* by how many positions the token has moved since its keys were computed or last rotated;
                      samp_kv_update rotates them */
    uint64_t seq;  /* bit s is set if sequence s has this token; seq is 0 in a free cell */
} samp_kv_cell;

/* A cache. You may read these members; only the functions below change them. Private members follow them. */
typedef struct samp_kv {
    uint32_t size;       /* number of cells */
    uint32_t used;       /* number of cells that are not free */
    uint32_t head;       /* where the next search for a slot begins; after a search, the slot's first cell */
    uint32_t n;          /* attention reads cells 0 .. n - 1; samp_kv_find_slot, _update and _state_load set n */
    bool has_shift;      /* true: some cell may have a delta that is not 0 */
    bool do_defrag;      /* true: the next samp_kv_update defragments the cache */
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
    uint32_t n_seq_max;       /* the number of sequences, 1 .. 64; they are 0 .. n_seq_max - 1; 0: 64 */
    uint32_t padding;         /* samp_kv.n is a multiple of padding, or all cells; 1 .. 2^16, 0: 32 */
    uint32_t n_layer;         /* the number of layers, 0 .. 4096; 0: the cache has only cells, and no buffers */
    const uint32_t *n_embd_k; /* [n_layer] number of elements of a token's keys, all key-value heads together; 1 ..
                                 2^20 */
    const uint32_t *n_embd_v; /* [n_layer] number of elements of a token's values; 1 .. 2^20 */
    samp_dtype type_k;        /* SAMP_F32 or SAMP_F16 */
    samp_dtype type_v;
    bool v_trans;         /* true: values are stored transposed, as [n_embd_v x n_cells] */
    samp_kv_rope rope;    /* how keys encode positions; with SAMP_ROPE_NONE a shift of positions leaves keys as
                               they are */
    uint32_t n_embd_head; /* with rope: number of elements of one head's key, a divisor of every n_embd_k; 2 ..
                               2^20 */
    uint32_t n_rot;       /* with rope: how many elements of a head's key are rotated, from the first on; an even
                               number; 0: n_embd_head */
    float rope_theta;     /* with rope: the base theta of the angles, > 0 and finite; 0: 10000 */
    /* samp_kv_update defragments if, of the cells up to the last used one, a larger share than this is free; [0, 1); 0:
       it defragments only after samp_kv_defrag */
    float defrag_threshold;
    void *memory;       /* memory for the buffers, aligned to 64 bytes; NULL: the buffers are in the cache's
                               block */
    size_t memory_size; /* >= samp_kv_size */
} samp_kv_params;

/* Tokens that are decoded together. */
typedef struct samp_kv_batch {
    uint32_t n_tokens;
    const int32_t *pos;  /* [n_tokens] 0 .. 2^31 - 2 */
    const uint64_t *seq; /* [n_tokens] the sequences of each token, at least one; bit s is set for sequence s */
} samp_kv_batch;

typedef enum samp_kv_slot {
    SAMP_KV_RUN = 0,      /* neighbouring cells */
    SAMP_KV_SCATTERED = 1 /* neighbouring cells, or any free cells if there are not enough neighbouring ones */
} samp_kv_slot;

/* samp_kv_check_params -- checks the parameters. Returns SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_NAN, SAMP_E_DTYPE,
   or SAMP_E_WORKSPACE (memory_size). *field (field may be NULL) gets the name of the wrong member. */
SAMP_API int samp_kv_check_params(const samp_kv_params *params, const char **field);

/* samp_kv_size -- returns the size of all buffers in bytes; *k and *v (either pointer may be NULL) get the bytes of
   keys and of values. Each layer has n_cells * n_embd * (2 or 4) bytes, rounded up to 64. The result is 0 if the
   parameters are bad (`memory` is not checked). */
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
     Search   The search begins at cell `head`, or at cell 0 if head > used + 2 n_tokens; it continues at cell 0 after
              the last cell, and fails after it has visited all cells. `head` is then the first cell found. It does not
              change until the next search, or until a cell before it becomes free.
     out      cells [n_tokens] (may be NULL): the cell of each token. With SAMP_KV_RUN the cells are head, head + 1,
              ...; scattered cells ascend from head and continue at cell 0.
     Range    a token's position must be above all positions of its sequences, in the cache and earlier in the batch.
     Returns  SAMP_OK; SAMP_E_FULL: no such cells are free; SAMP_E_NULL; SAMP_E_RANGE: n_tokens (0, or more than the
              cache has), a position, a sequence or the kind of slot. After an error nothing has changed.
     Source   llama.cpp's llama_kv_cache_find_slot. */
SAMP_API int samp_kv_find_slot(samp_kv *kv, const samp_kv_batch *batch, samp_kv_slot kind, uint32_t *cells);

/* Operations on a sequence, as in llama.h. Common to all:
     Range    positions [p0, p1); p0 < 0: from the start, p1 < 0: to the end.
     Returns  SAMP_OK (also if no token is in the range); SAMP_E_NULL; SAMP_E_RANGE: an unknown sequence, or p0 > p1.
              After an error nothing has changed.
     head     is set to the first cell that becomes free, if that cell is before head.   Cost  O(size).

   samp_kv_seq_rm -- removes the tokens at positions [p0, p1) from a sequence; seq < 0: from all sequences. A cell
     without a sequence is free.
   samp_kv_seq_cp -- adds the tokens of sequence src to sequence dst (a fork): the sequences share cells, and no keys or
     values are copied. dst keeps its own tokens.
   samp_kv_seq_keep -- removes all other sequences.
   samp_kv_seq_add -- adds delta to positions; samp_kv_update rotates the keys later. A token whose position falls below
     0 is removed. If other sequences share the cell of a token, its position changes for them too. A position above
     2^31 - 2 is SAMP_E_RANGE.
   samp_kv_seq_div -- divides positions by d >= 1, and rounds down; the rest is as in samp_kv_seq_add. */
SAMP_API int samp_kv_seq_rm(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1);
/* Adds the tokens of sequence src to sequence dst (a fork). */
SAMP_API int samp_kv_seq_cp(samp_kv *kv, int32_t src, int32_t dst, int32_t p0, int32_t p1);
/* Removes all other sequences. */
SAMP_API int samp_kv_seq_keep(samp_kv *kv, int32_t seq);
/* Moves positions by delta. */
SAMP_API int samp_kv_seq_add(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1, int32_t delta);
/* Divides positions by d. */
SAMP_API int samp_kv_seq_div(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1, int32_t d);

/* samp_kv_seq_pos_min, samp_kv_seq_pos_max -- return the smallest and the largest position of a sequence; -1 if the
   sequence has no token (or kv is NULL), SAMP_E_RANGE if the sequence is unknown. */
SAMP_API int32_t samp_kv_seq_pos_min(const samp_kv *kv, int32_t seq);
/* The largest position of a sequence; -1 if it has no token. */
SAMP_API int32_t samp_kv_seq_pos_max(const samp_kv *kv, int32_t seq);

/* samp_kv_keys, samp_kv_values -- return a layer's buffer, for kernels of your own: keys [size x n_embd_k], values
   [size x n_embd_v], or [n_embd_v x size] with v_trans. NULL: the layer does not exist. */
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
     Defrag   After samp_kv_defrag, or above defrag_threshold, the tokens are moved to the cells 0 .. used - 1. Only
              tokens in cells behind these move, in order, to the first free cells. Then head = used (0 if the cache is
              full).
     Returns  SAMP_OK, SAMP_E_NULL. Without a shift and a reason to defragment the function does nothing.
   samp_kv_defrag -- makes the next samp_kv_update defragment. Returns SAMP_OK, SAMP_E_NULL. */
SAMP_API int samp_kv_update(samp_kv *kv);
/* Makes the next samp_kv_update defragment. */
SAMP_API int samp_kv_defrag(samp_kv *kv);

/* samp_kv_mask -- writes which of the first n cells each token of a batch attends to: the cells that belong to all
   sequences of the token, and whose position is the token's or an earlier one (causal attention). Call it after
   samp_kv_find_slot.
     out      bits [n_tokens x ceil(n / 32)]: bit c % 32 of word c / 32 is cell c; bits from n on are 0.
              bias [n_tokens x n]: 0, or -infinity where the bit is 0. Either may be NULL.
     Returns  SAMP_OK, SAMP_E_NULL, SAMP_E_RANGE as samp_kv_find_slot (but positions may come in any order). */
SAMP_API int samp_kv_mask(const samp_kv *kv, const samp_kv_batch *batch, uint32_t *bits, float *bias);

/* samp_kv_state_size, samp_kv_state_save, samp_kv_state_load -- save and load a sequence as bytes: its positions, keys
   and values, with a version and a checksum. The bytes do not depend on which cells the sequence uses, or on the
   machine.
     save     samp_kv_state_save writes samp_kv_state_size bytes.
     load     samp_kv_state_load replaces the sequence seq by the saved one, in any free cells. A shift that
              samp_kv_update had not yet applied to the saved keys is loaded too, and the next samp_kv_update applies
              it. The cache may have another size, padding or v_trans; its layers, types and rope must be the same.
     Returns  samp_kv_state_size returns the size, or 0 if kv is NULL or the sequence unknown. The others return
              SAMP_OK; SAMP_E_NULL; SAMP_E_RANGE: seq; SAMP_E_WORKSPACE: `size` is too small to save; SAMP_E_FORMAT: not
              such a state, or damaged; SAMP_E_FULL: too few cells would be free. After an error nothing has changed. */
SAMP_API size_t samp_kv_state_size(const samp_kv *kv, int32_t seq);
/* Writes a sequence as samp_kv_state_size bytes. */
SAMP_API int samp_kv_state_save(const samp_kv *kv, int32_t seq, void *bytes, size_t size);
/* Replaces the sequence seq by the saved one. */
SAMP_API int samp_kv_state_load(samp_kv *kv, int32_t seq, const void *bytes, size_t size);
