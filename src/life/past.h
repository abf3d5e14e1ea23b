/* ---- rollback: the structs ----
   A sampler that is in no chain keeps notes of its last accepted tokens (sampi_past), with which samp_rollback takes
   tokens back. The room also has the functions with which the hooks `past` of samplers write and read these notes.
   life/rollback.h uses them. */

/* The notes of a sampler: one record for each accepted token. A record has the old values of everything that the token
   changed in the sampler and its members (life/rollback.h), as words of four bytes. The two arrays are in one block of
   memory, which begins with `noted`. */
typedef struct sampi_past {
    sampi_sampler **noted;     /* [n_noted] the samplers that have words in a record */
    uint32_t *word;            /* [depth + 1][width] the records */
    size_t bytes;              /* the size of the block */
    uint32_t n_noted, width;   /* the number of samplers in noted; of words in a record */
    int32_t depth, size, next; /* how many tokens can be taken back: at most, now; the index of the next record */
    bool made;                 /* the arrays exist; they are valid if n_edits equals that of the sampler */
    bool open;                 /* the record `next` has been written, and its token is not accepted yet */
    bool draws;                /* records have the sampler's position too */
    size_t n_edits;            /* the sampler's number of edits when the notes were last valid */
} sampi_past;

#define SAMPI_MAX_PAST (1 << 20) /* the largest depth, in tokens */

/* The purpose of a walk over the words of a record. */
typedef enum sampi_record_mode {
    SAMPI_RECORD_WIDTH, /* counts the words */
    SAMPI_RECORD_NOTE,  /* writes the samplers' values to the record */
    SAMPI_RECORD_DRAWS, /* restores the values; since then there were draws, but no accepted token */
    SAMPI_RECORD_TOKEN  /* restores the values; since then a token was accepted */
} sampi_record_mode;

/* A walk over the words of a record. */
struct sampi_record {
    sampi_record_mode mode;
    uint32_t *word;
    uint32_t n; /* the number of words so far: the index of the next */
};

/* Notes or restores, as r->mode says, n words of four bytes at x, which a draw or a token changes. */
static SAMPI_CALLED void sampi_record_words(sampi_record *r, void *x, uint32_t n)
{
    for (char *at = (char *)x; n > 0; n--, at += 4, r->n++) {
        if (r->mode == SAMPI_RECORD_NOTE) memcpy(&r->word[r->n], at, 4);
        if (r->mode >= SAMPI_RECORD_DRAWS) memcpy(at, &r->word[r->n], 4);
    }
}

/* Notes or restores a window of tokens: the record has the token that the next one pushes out. Returns the token that
   comes back into the window, or -1. */
static SAMPI_CALLED samp_token sampi_record_ring(sampi_record *r, sampi_ring *ring, samp_token *token)
{
    if (ring->cap == 0) return -1;
    samp_token old = ring->size == ring->cap ? token[ring->head] : -1;
    sampi_record_words(r, &old, 1);
    if (r->mode != SAMPI_RECORD_TOKEN) return -1;
    ring->head = (ring->head ? ring->head : ring->cap) - 1;
    if (old < 0)
        ring->size--;
    else
        token[ring->head] = old;
    return old;
}
