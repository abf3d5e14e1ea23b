/* ---- watermarks: the draws ----
   The apply functions of the three kinds of watermarks, and their part in tests of drafts. Gumbel's watermark selects
   the token with the shortest time -ln(u) / w, as samp_init_gumbel does, but u is a function of the key and the context
   (the last tokens). SynthID changes the logits by a tournament, and dist draws. SBW raises the logits of green
   tokens. */

/* a flag in the number of the sampler's stream of random numbers, for the choice of the key */
#define SAMPI_DRAWS_KEY 0x800

/* Begins a draw; the first draw ends the prompt. Returns whether the draw uses the watermark. context [64] gets the
   context. */
static bool sampi_mark_begin(sampi_sampler *s, uint32_t *context)
{
    s->now.pending = 0;
    sampi_mark_context(s, 0, context);
    return !sampi_mark_is_repeated(s, context);
}

/* Returns the key of this draw. If there are two keys, it is B after a draft (is_behind), and otherwise chosen at
   random. */
static uint64_t sampi_mark_key(const sampi_sampler *s, bool is_behind)
{
    const sampi_watermark *mark = &s->u.mark;
    if (mark->what != SAMP_WATERMARK_GUMBEL_DUAL) return mark->key[0];
    if (is_behind || mark->alpha >= 1.0) return mark->key[1];
    uint64_t random[2];
    uint32_t stream = sampi_stream(s, sampi_traits_of(s->kind)->stream | SAMPI_DRAWS_KEY);
    sampi_random_bits(s->seed, s->at_position, stream, 0, random);
    return (double)(random[0] >> 11) * (1.0 / 9007199254740992.0) < mark->alpha ? mark->key[1] : mark->key[0];
}

/* The state of a search for the shortest time: the leading candidate, and its time. */
typedef struct sampi_mark_race {
    sampi_words words;
    float logit;
    samp_token id;
    double time;
    size_t index;
} sampi_mark_race;

static void sampi_mark_start(sampi_mark_race *race, const sampi_sampler *s, const uint32_t *context, bool is_behind)
{
    memset(race, 0, sizeof *race);
    sampi_words_of(&race->words, sampi_mark_key(s, is_behind), context, (uint32_t)s->u.mark.width);
    race->logit = -INFINITY;
    race->time = (double)INFINITY;
}

/* Computes the time of candidate `index`, with its weight w > 0; the candidate takes the lead if its time is shorter.
   Because -ln u >= 1 - u, most candidates are rejected without a logarithm. The first in order wins a tie, so the
   candidates may come in any order. */
static inline void sampi_mark_run(sampi_mark_race *race, float logit, samp_token id, uint64_t w, size_t index)
{
    const double u = sampi_mark_uniform(sampi_word(&race->words, id));
    if (1.0 - u > race->time * (double)w * (1.0 + 1.0 / 1099511627776.0)) return;
    const double time = -sampi_ln(u) / (double)w;
    const bool first = logit > race->logit || (logit == race->logit && id < race->id);
    if (time > race->time || (time == race->time && !first)) return;
    race->time = time;
    race->logit = logit;
    race->id = id;
    race->index = index;
}

/* Returns the index of the token that replaces a rejected draft token. It does what sampi_find_by_mass does, but with
   the watermark (key B). If the context is repeated or s draws without a watermark, the token is found by its mass
   `at`. */
static SAMPI_COLD size_t sampi_mark_find(const sampi_sampler *s, const samp_token_data_array *cur, sampi_mass mass,
                                         const void *draw, uint64_t at)
{
    uint32_t context[64];
    sampi_mark_race race;
    bool is_marked = s->kind == SAMPI_WATERMARK;
    if (is_marked) {
        sampi_mark_context(s, 0, context);
        is_marked = !sampi_mark_is_repeated(s, context);
    }
    if (!is_marked) return sampi_find_by_mass(cur, mass, draw, at);
    sampi_mark_start(&race, s, context, true);
    for (size_t i = 0; i < cur->size; i++) {
        uint64_t w = mass(draw, &cur->data[i]);
        if (w) sampi_mark_run(&race, cur->data[i].logit, cur->data[i].id, w, i);
    }
    return race.index;
}

/* Draws the replacement of a draft token again, with the watermark, after the ratio test has rejected the draft token.
   The replacement is never the rejected token itself, so an equal id means that the draft token was accepted. */
static SAMPI_COLD void sampi_mark_recover(const sampi_sampler *s, samp_token_data_array *cur)
{
    if (cur->data[cur->selected].id == s->draft->token) return;
    sampi_sums sums = sampi_sum(cur);
    sampi_residual residual = { s->draft, sums.max, sums.z };
    uint64_t total = 0;
    for (size_t i = 0; i < cur->size; i++) total += sampi_residual_mass(&residual, &cur->data[i]);
    if (total == 0) residual.draft = NULL;
    cur->selected = (int64_t)sampi_mark_find(s, cur, sampi_residual_mass, &residual, 0);
}

/* Applies Gumbel's watermark, with one key or two. */
static int sampi_mark_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    uint32_t context[64];
    const bool is_marked = sampi_mark_begin(s, context),
               leaves = s->draft && s->draft->exact && !sampi_is_taken(s, cur);
    if (!is_marked || (s->draft && !leaves)) {
        sampi_draw(s, cur);
        const bool by_ratio = is_marked && !s->draft->exact && (!s->draft->draw || s->draft->takes);
        if (by_ratio) sampi_mark_recover(s, cur); /* other tests call sampi_mark_find */
        sampi_sums sums = sampi_sum(cur);
        sampi_set_p(cur, &sums);
        return SAMP_OK;
    }
    sampi_sums sums = sampi_sum(cur);
    sampi_mark_race race;
    sampi_mark_start(&race, s, context, s->u.mark.is_behind);
    for (size_t i = 0; i < cur->size; i++) {
        uint64_t w = sampi_weight(sums.max, cur->data[i].logit);
        if (w) sampi_mark_run(&race, cur->data[i].logit, cur->data[i].id, w, i);
    }
    cur->selected = (int64_t)race.index;
    sampi_set_p(cur, &sums);
    return SAMP_OK;
}

/* ---- SynthID ---- */

/* Sums in one layer of SynthID's tournament: of all tokens' p, and of the p of tokens whose bit is 1. They are sums of
   integers, p in units of 2^-40 of the largest p, rounded down. So they do not depend on the order. */
typedef struct sampi_layer {
    uint64_t all, with;
} sampi_layer;

/* Computes the factors by which a layer multiplies p, for tokens whose bit is 0 and for those whose bit is 1. */
static void sampi_layer_factors(const sampi_layer *layer, double factor[2])
{
    double m = layer->all ? (double)layer->with / (double)layer->all : 0.0;
    factor[0] = 1.0 - m;
    factor[1] = 2.0 - m;
}

/* Returns the logit for p after the last layer. */
static float sampi_layer_logit(float max, double p)
{
    if (!(p >= DBL_MIN)) return -FLT_MAX;
    double l = (double)max + (sampi_ln(p) - 40.0 * SAMPI_LN2);
    return l < -(double)FLT_MAX ? -FLT_MAX : (float)l;
}

/* Runs the tournament of SynthID. During the layers a candidate's p is stored as a double in the memory of its logit
   and p, or -1 if the candidate is masked. The random words of the first candidates are kept; those of the others are
   computed again in each layer. */
static SAMPI_COLD void sampi_tournament(const sampi_sampler *s, const uint32_t *context, samp_token_data_array *cur)
{
    enum { KEPT = 1024 };
    uint32_t kept[KEPT], depth = (uint32_t)s->u.mark.depth;
    const float max = cur->data[sampi_argmax(cur)].logit;
    double factor[2] = { 1.0, 1.0 }, p;
    sampi_words words;
    sampi_words_of(&words, s->u.mark.key[0], context, (uint32_t)s->u.mark.width);
    for (size_t i = 0; i < cur->size; i++) {
        samp_token_data *d = &cur->data[i];
        p = sampi_masked(d->logit) ? -1.0 : sampi_exp(max, d->logit);
        if (i < KEPT) kept[i] = sampi_word(&words, d->id);
        memcpy((char *)d + offsetof(samp_token_data, logit), &p, sizeof p);
    }
    for (uint32_t bit = 0; bit <= depth; bit++) { /* the last pass only multiplies */
        sampi_layer layer = { 0, 0 };
        for (size_t i = 0; i < cur->size; i++) {
            char *at = (char *)&cur->data[i] + offsetof(samp_token_data, logit);
            memcpy(&p, at, sizeof p);
            if (p < 0.0) continue;
            uint32_t word = i < KEPT ? kept[i] : sampi_word(&words, cur->data[i].id);
            if (bit) p *= factor[word >> (bit - 1) & 1];
            uint64_t whole = (uint64_t)p;
            layer.all += whole;
            if (bit < depth && (word >> bit & 1)) layer.with += whole;
            memcpy(at, &p, sizeof p);
        }
        sampi_layer_factors(&layer, factor);
    }
    for (size_t i = 0; i < cur->size; i++) {
        samp_token_data *d = &cur->data[i];
        memcpy(&p, (const char *)d + offsetof(samp_token_data, logit), sizeof p);
        d->logit = p < 0.0 ? -INFINITY : sampi_layer_logit(max, p);
        d->p = 0.0f;
    }
    cur->sorted = false;
}

static SAMPI_COLD int sampi_synthid_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    uint32_t context[64];
    if (sampi_mark_begin(s, context)) sampi_tournament(s, context, cur);
    sampi_select(s, cur);
    return SAMP_OK;
}

/* ---- SBW ---- */

static SAMPI_COLD int sampi_sbw_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    uint32_t context[64];
    sampi_colours colours;
    if (!sampi_mark_begin(s, context)) return SAMP_OK;
    sampi_colours_of(&colours, &s->u.mark, context);
    for (size_t i = 0; i < cur->size; i++) {
        samp_token_data *d = &cur->data[i];
        if (!sampi_masked(d->logit) && sampi_is_green(&colours, (uint32_t)d->id))
            d->logit = sampi_green_logit(d->logit, s->u.mark.delta);
    }
    cur->sorted = false;
    return SAMP_OK;
}
