/* =================================================================================================== >>search
   Beam search and the unmasking of diffusion models (SAMPLING_SEARCH). This room has the records of a search, makes
   and frees one, and keeps the hypotheses found. The parts:

     rows.h     a row through its chain, without a selection; the best tokens of a beam's row
     states.h   the chains' states follow their beams, in place
     beams.h    a step: the candidates of each group sorted by a heap, what ends, what a search saves
     unmask.h   samp_unmask: a draw and a measure of certainty for each position, then the rule

   A search has two blocks of memory: one from samp_beams_init, one from the first step, which knows the
   vocabulary. */

#define SAMPI_MAX_BEAMS       4096
#define SAMPI_MAX_BEAM_TOKENS ((int32_t)1 << 20)

/* A live beam. key decides the order; score is its log-probability, with the diversity penalties. Both are equal
   unless beams are sampled: then key is the Gumbel variable. */
typedef struct sampi_beam {
    double key, score;
    int32_t group;
} sampi_beam;

/* A found hypothesis; score is divided by the length's power. */
typedef struct sampi_hypothesis {
    double key, score;
    int32_t group, n; /* n: its number of tokens */
    int32_t slot;     /* where its tokens are */
} sampi_hypothesis;

/* A continuation of a beam. */
typedef struct sampi_candidate {
    double key, score;
    float logit;
    int32_t parent;
    samp_token token;
} sampi_candidate;

/* What a beam's row leaves: its best tokens, of which `few` [n_few] is in no order; if beams are sampled, those with
   the shortest times, in order. */
typedef struct sampi_leaf {
    size_t n_few;
    double all;  /* ln of the sum of e^l */
    double ln_z; /* ln of the integer sum of weights, for times */
} sampi_leaf;

struct samp_beams {
    samp_beam_params set; /* ends: the search's own copy, ascending */
    int32_t group_size, n_live, n_found, length, n_taken;
    int32_t status; /* the error that has ended the search, or SAMP_OK */
    /* the first block, from `live` on */
    sampi_beam *live, *next; /* [n_beams] */
    sampi_hypothesis *found; /* [n_beams] best first; those from n_found on only keep the free slots */
    samp_sampler **own;      /* [n_beams] empty chains, which lend their workspaces */
    int32_t *token,
        *parent;           /* [max_tokens x n_beams] what each step has appended to which beam; -1 behind the last */
    samp_token *text;      /* [n_beams x max_tokens] the slots */
    int32_t *uses;         /* [n_beams] for a step: statuses of rows, then how many beams continue each beam */
    samp_token *taken;     /* [n_beams] the n_taken tokens that groups have taken in this step, ascending */
    void *block, *wide;    /* the first block; the second one, whose arrays are: */
    sampi_leaf *leaf;      /* [n_beams] */
    sampi_runner *few;     /* [n_beams x k] */
    sampi_candidate *heap; /* [group_size x k] */
    size_t n_vocab, k;     /* 0 before the first step; k: how many tokens of a row count */
};

SAMP_API SAMPI_COLD int samp_beams_check_params(const samp_beam_params *p, const char **field)
{
    const char *name = NULL;
    int status = SAMP_E_RANGE;
    if (field) *field = NULL;
    if (!p) return SAMP_E_NULL;
    if (p->n_beams < 1 || p->n_beams > SAMPI_MAX_BEAMS)
        name = "n_beams";
    else if (p->n_groups < 0 || (p->n_groups && p->n_beams % p->n_groups) || (p->sampled && p->n_groups > 1))
        name = "n_groups";
    else if (p->max_tokens < 1 || p->max_tokens > SAMPI_MAX_BEAM_TOKENS)
        name = "max_tokens";
    else if (!(fabsf(p->length_penalty) <= FLT_MAX))
        name = "length_penalty", status = SAMP_E_NAN;
    else if (!(fabsf(p->diversity_penalty) <= FLT_MAX))
        name = "diversity_penalty", status = SAMP_E_NAN;
    else if (p->diversity_penalty < 0.0f)
        name = "diversity_penalty";
    else if ((int)p->early_stopping < SAMP_EARLY_HEURISTIC || (int)p->early_stopping > SAMP_EARLY_EXACT)
        name = "early_stopping";
    else if (p->n_ends < 0 || p->n_ends > SAMPI_MAX_BEAMS)
        name = "n_ends";
    else if (p->n_ends && !p->ends)
        name = "ends", status = SAMP_E_NULL;
    for (int32_t i = 0; !name && i < p->n_ends; i++)
        if (p->ends[i] < 0) name = "ends";
    if (field) *field = name;
    return name ? status : SAMP_OK;
}

SAMP_API SAMPI_COLD samp_beams *samp_beams_init(const samp_beam_params *params, int *status)
{
    int result = samp_beams_check_params(params, NULL);
    samp_beams *b = result ? NULL : (samp_beams *)SAMP_MALLOC(sizeof *b);
    if (!result && !b) result = SAMP_E_NOMEM;
    if (b) {
        memset(b, 0, sizeof *b);
        b->set = *params;
        if (b->set.n_groups == 0) b->set.n_groups = 1;
        b->group_size = b->set.n_beams / b->set.n_groups;
        b->n_live = 1;
    }
    samp_token *ends = NULL;
    sampi_arrays arrays = { NULL, 0, 0 };
    while (!result && sampi_row_next_pass(&arrays)) {
        const uint64_t n = (uint64_t)b->set.n_beams, all = n * (uint64_t)b->set.max_tokens;
        b->live = (sampi_beam *)sampi_row_lay(&arrays, n * sizeof *b->live);
        b->next = (sampi_beam *)sampi_row_lay(&arrays, n * sizeof *b->next);
        b->found = (sampi_hypothesis *)sampi_row_lay(&arrays, n * sizeof *b->found);
        b->own = (samp_sampler **)sampi_row_lay(&arrays, n * sizeof *b->own);
        b->token = (int32_t *)sampi_row_lay(&arrays, all * sizeof *b->token);
        b->parent = (int32_t *)sampi_row_lay(&arrays, all * sizeof *b->parent);
        b->text = (samp_token *)sampi_row_lay(&arrays, all * sizeof *b->text);
        b->uses = (int32_t *)sampi_row_lay(&arrays, n * sizeof *b->uses);
        b->taken = (samp_token *)sampi_row_lay(&arrays, n * sizeof *b->taken);
        ends = (samp_token *)sampi_row_lay(&arrays, (uint64_t)b->set.n_ends * sizeof *ends);
    }
    if (!result && !(b->block = arrays.memory)) result = SAMP_E_NOMEM;
    for (int32_t i = 0; !result && i < b->set.n_ends; i++) { /* inserted in order */
        int32_t at = i;
        for (; at > 0 && ends[at - 1] > params->ends[i]; at--) ends[at] = ends[at - 1];
        ends[at] = params->ends[i];
    }
    if (!result) {
        b->set.ends = ends;
        memset(b->live, 0, sizeof *b->live); /* the empty text */
        memset(b->own, 0, (size_t)b->set.n_beams * sizeof *b->own);
    }
    for (int32_t i = 0; !result && i < b->set.n_beams; i++) {
        b->found[i].slot = i;
        b->own[i] = samp_chain_init();
        if (samp_set_rollback(b->own[i], 0)) result = SAMP_E_NOMEM; /* NULL too */
    }
    if (result) {
        samp_beams_free(b);
        b = NULL;
    }
    if (status) *status = result;
    return b;
}

SAMP_API SAMPI_COLD void samp_beams_free(samp_beams *b)
{
    if (!b) return;
    for (int32_t i = 0; b->block && i < b->set.n_beams; i++) samp_free(b->own[i]);
    SAMP_FREE(b->block);
    SAMP_FREE(b->wide);
    SAMP_FREE(b);
}

/* Returns a length's power, by which a log-probability is divided. */
static double sampi_beams_power(const samp_beams *b, int32_t n)
{
    return sampi_pow((double)n, (double)b->set.length_penalty);
}

/* Returns how many hypotheses a group has found; *worst gets the index of the last of them. */
static int32_t sampi_group_found(const samp_beams *b, int32_t group, int32_t *worst)
{
    int32_t n = 0;
    for (int32_t i = 0; i < b->n_found; i++)
        if (b->found[i].group == group) *worst = i, n++;
    return n;
}

/* Removes a hypothesis; its slot becomes the next free one. */
static void sampi_found_remove(samp_beams *b, int32_t i)
{
    const sampi_hypothesis old = b->found[i];
    b->n_found--;
    memmove(&b->found[i], &b->found[i + 1], (size_t)(b->n_found - i) * sizeof old);
    b->found[b->n_found] = old;
}

/* Adds a beam's text to the hypotheses of its group: that of its parent, with one more token. If the group is full,
   it only takes the place of a worse one. */
static void sampi_found_add(samp_beams *b, const sampi_beam *beam, int32_t parent, samp_token token)
{
    const int32_t n = b->length + 1;
    const double score = beam->score / sampi_beams_power(b, n), key = b->set.sampled ? beam->key : score;
    int32_t worst = 0, at = b->n_found;
    if (sampi_group_found(b, beam->group, &worst) == b->group_size) {
        if (!(key > b->found[worst].key)) return;
        sampi_found_remove(b, worst);
        at--;
    }
    const sampi_hypothesis h = { key, score, beam->group, n, b->found[at].slot };
    b->n_found++;
    for (; at > 0 && b->found[at - 1].key < key; at--) b->found[at] = b->found[at - 1];
    b->found[at] = h;
    samp_token *text = b->text + (size_t)h.slot * (size_t)b->set.max_tokens;
    text[n - 1] = token;
    for (int32_t i = b->length; i-- > 0;) {
        const size_t entry = (size_t)i * (size_t)b->set.n_beams + (size_t)parent;
        text[i] = b->token[entry];
        parent = b->parent[entry];
    }
}

SAMP_API int32_t samp_beams_n_found(const samp_beams *b) { return b ? b->n_found : 0; }

SAMP_API int samp_beams_found(const samp_beams *b, int32_t i, const samp_token **tokens, size_t *n, double *score)
{
    if (!b) return SAMP_E_NULL;
    if (i < 0 || i >= b->n_found) return SAMP_E_RANGE;
    const sampi_hypothesis *h = &b->found[i];
    if (tokens) *tokens = b->text + (size_t)h->slot * (size_t)b->set.max_tokens;
    if (n) *n = (size_t)h->n;
    if (score) *score = h->score;
    return SAMP_OK;
}
