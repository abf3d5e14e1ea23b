/* ---- watermarks: settings and state ----
   The part of a sampler's record (core/record.h) that the three kinds of watermarks have. The constructor
   (watermark/making.h) sets the numbers; an accepted token changes the text (watermark/text.h). */

/* A watermark's settings, and the text so far. Positions are counted from the first token that counts; a context
   belongs to the position that it precedes. The sampler's part 1 is the last history + width tokens, part 2 the
   table of positions + 1, with 0 in empty slots. */
typedef struct sampi_watermark {
    samp_watermark_kind what;
    uint64_t key[2]; /* the key itself, or the derived keys A and B */
    double alpha, gamma;
    float alpha_shown, gamma_shown, delta;
    int32_t width, scope, history, depth;
    /* the number of slots of the table, a power of two, or 0 if repeated contexts do not matter */
    uint32_t n_slots;
    uint32_t count;     /* the number of positions so far */
    uint32_t generated; /* the number of positions after the first draw; less than count if the prompt counts too */
    sampi_ring ring;
    bool is_behind; /* set by samp_verify for the row after a whole draft */
} sampi_watermark;
