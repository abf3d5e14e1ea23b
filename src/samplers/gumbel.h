/* ---- gumbel ----
   Coupled draws (SAMPLING_GUMBEL): each token gets the time E / w, where w is its weight and E = -ln u is exponential
   noise, a function of (seed, position, token). The token with the shortest time is selected, with probability w / Z as
   in dist. Weights 3 and 1 with E = 0.9 and 0.2 give the times 0.3 and 0.2, so the second token is selected. The noise
   belongs to the token, so similar rows of logits mostly get the same token. */
#ifndef SAMPI_PLANS

#ifdef SAMPLING_GUMBEL_DECLARED

#ifdef SAMPLING_SEARCH_DECLARED
/* A candidate of a race of which more than the winner counts. */
typedef struct sampi_runner {
    double time;
    float logit;
    samp_token id;
} sampi_runner;
#endif

/* The state of a search for the shortest time: the leading candidate, and its time. If a list of the first candidates
   is wanted (SAMPLING_SEARCH), these are the last one of the full list. */
typedef struct sampi_race {
    uint64_t seed, position;
    uint32_t stream;
    float max, logit; /* the maximum of the row, and the leading candidate's logit */
    samp_token id;
    double time;
    size_t index;
#ifdef SAMPLING_SEARCH_DECLARED
    sampi_runner *first; /* [n_most] the n_first candidates with the shortest times, in order; NULL: no list */
    size_t n_most, n_first;
#define SAMPI_NO_LIST , NULL, 0, 0
#else
#define SAMPI_NO_LIST
#endif
} sampi_race;

static sampi_race sampi_race_of(const sampi_sampler *s, float max)
{
    uint32_t stream = sampi_stream(s, sampi_traits_of(s->kind)->stream);
    sampi_race race = { s->seed, s->at_position, stream, max, -INFINITY, 0, (double)INFINITY, 0 SAMPI_NO_LIST };
    return race;
}

#ifdef SAMPLING_SEARCH_DECLARED
/* Inserts a candidate into the list of the first ones, from which it drops the last if the list is full. */
static void sampi_race_insert(sampi_race *race, const sampi_runner *runner)
{
    sampi_runner *first = race->first;
    size_t i = race->n_first < race->n_most ? race->n_first++ : race->n_first - 1;
    for (; i > 0; i--) {
        const sampi_runner *before = &first[i - 1];
        const bool tie = before->time == runner->time;
        if (before->time < runner->time || (tie && before->logit > runner->logit) ||
            (tie && before->logit == runner->logit && before->id < runner->id))
            break;
        first[i] = *before;
    }
    first[i] = *runner;
    if (race->n_first < race->n_most) return;
    race->time = first[race->n_most - 1].time;
    race->logit = first[race->n_most - 1].logit;
    race->id = first[race->n_most - 1].id;
}
#endif

/* Computes the time E / w of candidate `index`, which takes the lead if its time is shorter. Because -ln u >= 1 - u,
   and the envelope q is at least w / 2^14, most candidates are rejected without a logarithm and an exp. The margin of
   2^-40 covers the rounding of both sides of the comparison. The first in order wins a tie, so the order of the
   candidates does not matter. */
SAMPI_INLINE void sampi_race_run(sampi_race *race, float logit, samp_token id, size_t index)
{
    uint64_t r[2];
    double most = (double)sampi_envelope(race->max, logit) * 16384.0;
    if (!(most > 0.0)) return;
    sampi_random_of(race->seed, race->position, race->stream, (uint32_t)id, r);
    double u = (double)(r[0] >> 12 << 1 | 1) * (1.0 / 9007199254740992.0);
    if ((1.0 - u) * (1.0 - 1.0 / 1099511627776.0) > race->time * most) return;
    double w = (double)sampi_weight(race->max, logit);
    if (!(w > 0.0)) return;
    double time = -sampi_ln(u) / w;
    bool first = logit > race->logit || (logit == race->logit && id < race->id);
    if (time > race->time || (time == race->time && !first)) return;
#ifdef SAMPLING_SEARCH_DECLARED
    if (race->first) {
        const sampi_runner runner = { time, logit, id };
        sampi_race_insert(race, &runner);
        return;
    }
#endif
    race->time = time;
    race->logit = logit;
    race->id = id;
    race->index = index;
}

static int sampi_gumbel_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    const bool leaves = s->draft && s->draft->exact && !sampi_is_taken(s, cur);
    if (s->draft && !leaves) return sampi_dist_apply(s, cur);
    sampi_sums sums = sampi_sum(cur);
    sampi_race race = sampi_race_of(s, sums.max);
    for (size_t i = 0; i < cur->size; i++) sampi_race_run(&race, cur->data[i].logit, cur->data[i].id, i);
    cur->selected = (int64_t)race.index;
    sampi_set_p(cur, &sums);
    return SAMP_OK;
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_gumbel(uint64_t seed) { return sampi_init_plain(SAMPI_GUMBEL, seed); }

#define SAMPI_GUMBEL_ROW \
    "gumbel", 6, 0, "", SAMPI_SELECTS | SAMPI_VIEW_SORTED, SAMPI_NO_FIELDS, NULL, &SAMPI_NO_HOOKS, \
        sampi_gumbel_apply, sampi_fast_gumbel, SAMPI_BY_LLAMA_CPP(sampi_gumbel_apply)

#endif /* SAMPLING_GUMBEL_DECLARED */

#else /* the plan */

static int SAMPI_ON(plan_gumbel)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    samp_token_data token;
    const int known = SAMPI_ON(race)(row, s, &token);
    return known == SAMPI_KNOWN ? SAMPI_ON(choose)(row, s, &token, 0.0f) : known;
}

#endif
