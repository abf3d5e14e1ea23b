/* ---- rollback: the structs ----
   sampi_past: the notes that an outermost sampler keeps of its last accepted tokens, in its record (core/record.h).
   The functions with which the hooks `past` of samplers write and read these notes. life/rollback.h uses them. */

/* The last accepted tokens of a sampler, as records. A record has the old values of what a token changed, in the
   sampler and its members (life/rollback.h). Both arrays are one block of memory. */
typedef struct sampi_past {
    sampi_sampler **who; /* [n_who] the samplers whose values a record holds; the block begins with it */
    uint32_t *word;      /* [depth + 1][width] the records */
    size_t bytes;        /* the size of the block */
    uint32_t n_who, width;
    int32_t depth, size, next; /* tokens that can be taken back: at most, now; next: index of the next record */
    bool made;                 /* who and word are allocated; valid as long as n_edits equals the sampler's */
    bool open;                 /* the record `next` is written: a draw has begun */
    bool draws;                /* records hold the position */
    size_t n_edits;
} sampi_past;

#define SAMPI_MAX_PAST (1 << 20)

/* What a walk over a record's words does. The modes after SAMPI_RECORD_NOTE restore. */
typedef enum sampi_record_mode {
    SAMPI_RECORD_WIDTH, /* counts the words */
    SAMPI_RECORD_NOTE,  /* writes them */
    SAMPI_RECORD_DRAWS, /* restores after draws whose token was not accepted */
    SAMPI_RECORD_TOKEN  /* restores after an accepted token */
} sampi_record_mode;

struct sampi_record {
    sampi_record_mode mode;
    uint32_t *word;
    uint32_t n; /* words so far */
};

/* Notes or restores n words of four bytes at x, which a draw or a token changes. */
static SAMPI_CALLED void sampi_record_words(sampi_record *r, void *x, uint32_t n)
{
    for (char *at = (char *)x; n > 0; n--, at += 4, r->n++) {
        if (r->mode == SAMPI_RECORD_NOTE) memcpy(&r->word[r->n], at, 4);
        if (r->mode >= SAMPI_RECORD_DRAWS) memcpy(at, &r->word[r->n], 4);
    }
}

/* Notes or restores a window. Returns the token that comes back into it, or -1. */
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
