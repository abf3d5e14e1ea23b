/* ---- watermarks: settings and state ----
   The part of a sampler's record (core/record.h) that the three kinds of watermarks have. The constructor
   (watermark/making.h) sets the numbers; an accepted token moves the text (watermark/text.h). Structs alone. */

/* The text so far and its contexts. Places are counted from the first token that counts; a context belongs to the
   place that it stands before. */
typedef struct sampi_watermark {
    samp_watermark_kind what;
    uint64_t key[2]; /* the key itself, or A and B */
    double alpha, gamma;
    float alpha_told, gamma_told, delta;
    int32_t width, scope, history, depth;
    uint32_t n_slots;   /* of the table, a power of two; 0: repeats are no matter */
    uint32_t count;     /* places */
    uint32_t generated; /* of them behind the first draw: fewer than count where the prompt counts */
    sampi_ring ring;
    bool is_behind; /* samp_verify: the row behind a whole draft */
} sampi_watermark;  /* part 1: the last history + width tokens; 2: the table, places + 1, 0: empty */
