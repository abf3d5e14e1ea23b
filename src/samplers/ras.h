/* ---- ras, repetition-aware sampling (VALL-E 2, CosyVoice) ----
   Draws as dist does. If the token is in the window of the last accepted tokens too often, the function that ends the
   draw (run/again.h) draws once more, from the row as it was before the chain. With a window of 10 and a threshold of
   0.25, a token that occurs 3 times is drawn again: 0.25 * 10 = 2.5. This room has the window and the count. */

/* Set in at_ordinal while the second token is drawn, so that its random numbers are not those of the first. */
enum { SAMPI_RAS_AGAIN = 0x8000 };

/* Is this token so often in the window that it must be drawn again? Its share is rounded to f32, as the threshold is:
   one of 10 tokens reaches 0.1f, although that is a little more than 0.1. */
static bool sampi_ras_repeats(const sampi_sampler *s, samp_token token)
{
    const samp_token *window = (const samp_token *)sampi_part(s, 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->u.ras.ring.size; i++) count += window[i] == token;
    return s->u.ras.window > 0 && sampi_roundf((float)count / (float)s->u.ras.window) >= s->u.ras.threshold;
}

static void sampi_ras_accept(sampi_sampler *s, samp_token token)
{
    sampi_ring_push(&s->u.ras.ring, (samp_token *)sampi_part(s, 1), token);
}

static SAMPI_COLD void sampi_ras_reset(sampi_sampler *s) { s->u.ras.ring.size = s->u.ras.ring.head = 0; }

static void sampi_ras_past(sampi_sampler *s, sampi_record *r)
{
    sampi_record_ring(r, &s->u.ras.ring, (samp_token *)sampi_part(s, 1));
}

static SAMPI_COLD void sampi_ras_state(sampi_sampler *s, sampi_io *io)
{
    sampi_io_ring(io, &s->u.ras.ring, (samp_token *)sampi_part(s, 1));
}

static SAMPI_COLD void sampi_ras_prepare(sampi_sampler *t, bool make)
{
    (void)make;
    t->u.ras.ring.cap = (uint32_t)t->u.ras.window;
    t->part_size[1] = t->u.ras.ring.cap * sizeof(samp_token);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_ras(int32_t window, float threshold, uint64_t seed)
{
    sampi_sampler t = sampi_blank(SAMPI_RAS);
    t.u.ras.window = window;
    t.u.ras.threshold = threshold;
    t.seed = seed;
    return sampi_init(&t);
}

static const sampi_field SAMPI_RAS_FIELDS[] = {
    SAMPI_FIXED(INT32, window, ras.window, 10, 0, SAMPI_MAX_WINDOW, "window"),
    SAMPI_FIXED(FLOAT, threshold, ras.threshold, 0.1, 0, 1, "threshold"),
};

SAMPI_HOOKS(RAS, NULL, sampi_ras_prepare, NULL, NULL, sampi_ras_accept, sampi_ras_reset, sampi_ras_state, NULL,
            sampi_ras_past, SAMPI_BYTES_ONLY);

#define SAMPI_RAS_ROW \
    "ras", 10, 0, "", SAMPI_SELECTS | SAMPI_TAKES_FLOOR | SAMPI_VIEW_SORTED | SAMPI_IF_NAMED, \
        SAMPI_FIELDS_OF(SAMPI_RAS_FIELDS), NULL, &SAMPI_RAS_HOOKS, sampi_dist_apply, sampi_fast_dist, \
        SAMPI_BY_LLAMA_CPP(sampi_dist_apply)
