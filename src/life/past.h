/* ---- rollback: the structs ----
   What a sampler that is in no chain keeps of the tokens it has accepted last (sampi_past), in its record
   (core/record.h), and what the hooks `past` of samplers are made of. life/rollback.h writes records and goes back by
   them. */

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

/* What a record's words are wanted for. In this order: those behind SAMPI_RECORD_NOTE put them back. */
typedef enum sampi_record_mode {
    SAMPI_RECORD_WIDTH, /* they are only counted */
    SAMPI_RECORD_NOTE,  /* they are written, */
    SAMPI_RECORD_DRAWS, /* put back behind draws, no token having been accepted, */
    SAMPI_RECORD_TOKEN  /* or behind a token */
} sampi_record_mode;

struct sampi_record {
    sampi_record_mode mode;
    uint32_t *word;
    uint32_t n; /* words so far */
};

/* Words at x, four bytes each, that a draw or a token changes. */
static SAMPI_CALLED void sampi_record_words(sampi_record *r, void *x, uint32_t n)
{
    for (char *at = (char *)x; n > 0; n--, at += 4, r->n++) {
        if (r->mode == SAMPI_RECORD_NOTE) memcpy(&r->word[r->n], at, 4);
        if (r->mode >= SAMPI_RECORD_DRAWS) memcpy(at, &r->word[r->n], 4);
    }
}

/* A window. Returns the token that has come back into it, or -1. */
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
