/* ---- watermarks: settings and state ----
   The part of a sampler's record (core/record.h) that the three kinds of watermarks have. The constructor
   (watermark/making.h) sets the numbers; an accepted token moves the text (watermark/text.h). Structs alone. */

/* A watermark's settings, and the text so far. Positions are counted from the first token that counts; a context
   belongs to the position that it precedes. */
typedef struct sampi_watermark {
    samp_watermark_kind what;
    uint64_t key[2]; /* the key itself, or A and B */
    double alpha, gamma;
    float alpha_shown, gamma_shown, delta;
    int32_t width, scope, history, depth;
    uint32_t n_slots;   /* slots of the table, a power of two; 0: repeated contexts do not matter */
    uint32_t count;     /* positions so far */
    uint32_t generated; /* those of them after the first draw: fewer than count if the prompt counts */
    sampi_ring ring;
    bool is_behind; /* samp_verify: the row after a whole draft */
} sampi_watermark;  /* parts: 1 the last history + width tokens; 2 the table of positions + 1, 0: empty */
