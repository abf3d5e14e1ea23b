/* ---- rollback: the struct ----
   What a sampler that is in no chain keeps of the tokens it has accepted last (sampi_past), in its record
   (core/record.h). life/rollback.h fills it and goes back by it. */

/* The tokens that a sampler has accepted last, as records of what has changed with each, in it and in its members
   (life/rollback.h). Both arrays are one block. */
typedef struct sampi_past {
    sampi_sampler **who; /* [n_who] those that have words in a record; where the block begins */
    uint32_t *word;      /* [depth + 1 x width] */
    size_t bytes;        /* of the block */
    uint32_t n_who, width;
    int32_t depth, size, next; /* at most so many tokens; so many; next: the record of the token to come */
    bool made;                 /* who and word are there, and good for as long as n_edits is the sampler's */
    bool open;                 /* the record `next` is written: something has been drawn */
    bool draws;                /* its position moves */
    size_t n_edits;
} sampi_past;

#define SAMPI_MAX_PAST (1 << 20)
