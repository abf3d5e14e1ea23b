/* ---- orders, and the chain from parameters ----
   samp_params.order names samplers by word or by letter. A walk (sampi_steps) reads it and gives one kind at a time;
   names and letters stand in the table of kinds, so a new sampler can be ordered as soon as it has a row there. The
   default order is that of the table.

   Two callers walk: samp_check_params, which only reads the parameters, and samp_chain_from_params, which makes a
   sampler for each kind and adds it to a chain. They stand on config/from_params.h and core/making.h. */

/* The kind that goes by this name in an order, or SAMPI_N_KINDS: none. A row has its names with ';' between. */
static SAMPI_COLD sampi_kind sampi_step_named(const char *text, size_t n)
{
    for (int kind = 0; kind < SAMPI_N_KINDS; kind++) {
        const char *name = sampi_traits_of((sampi_kind)kind)->steps;
        while (*name) {
            size_t n_name = strcspn(name, ";");
            if (n == n_name && !memcmp(text, name, n)) return (sampi_kind)kind;
            name += n_name + (name[n_name] == ';');
        }
    }
    return SAMPI_N_KINDS;
}

/* The kind that goes by this letter in an order, or SAMPI_N_KINDS. Kinds without a letter have 0, which is none. */
static SAMPI_COLD sampi_kind sampi_step_lettered(char letter)
{
    for (int kind = 0; kind < SAMPI_N_KINDS; kind++)
        if (letter && sampi_traits_of((sampi_kind)kind)->letter == letter) return (sampi_kind)kind;
    return SAMPI_N_KINDS;
}

/* An order as it is walked through: names with ';' between, or letters (a single name is a name), or with text NULL the
   rows of the table. */
typedef struct sampi_steps {
    const samp_params *p;
    const char *text;
    bool letters;
    int row; /* without text: the next one */
} sampi_steps;

/* Begin a walk. Whether the text means letters is decided once, here: "dry" is a name, and not d, r and y; "dist" is
   one too, which no order may have. */
static SAMPI_COLD sampi_steps sampi_steps_of(const samp_params *p)
{
    sampi_steps steps = { p, p->order, false, 0 };
    if (p->order)
        steps.letters = !strchr(p->order, ';') && strcmp(p->order, "dist") &&
                        sampi_step_named(p->order, strlen(p->order)) == SAMPI_N_KINDS;
    return steps;
}

/* The default order is that of the table; a row that says so (SAMPI_IF_ON) has a place in it only if the
   parameters switch it on, and a row without a letter, or for who names it, has none. Called by sampi_next_step only.
   */
static SAMPI_COLD bool sampi_next_default_step(sampi_steps *steps, sampi_kind *kind)
{
    while (steps->row < SAMPI_N_KINDS) {
        *kind = (sampi_kind)steps->row++;
        const sampi_traits *traits = sampi_traits_of(*kind);
        if (!traits->letter || (traits->flags & SAMPI_IF_NAMED)) continue;
        sampi_sampler t = sampi_from_params(steps->p, *kind);
        if (!(traits->flags & SAMPI_IF_ON) || !sampi_is_off(&t)) return true;
    }
    return false;
}

/* The next step of an order; false: there is none. What it names may be SAMPI_N_KINDS: nothing that is known. Then
   the walk must end, for an empty name at the end of the text would come again for ever; samp_check_params stops
   there, and sampi_add_steps gets orders that have been checked. */
static SAMPI_COLD bool sampi_next_step(sampi_steps *steps, sampi_kind *kind)
{
    const char *text = steps->text;
    if (!text) return sampi_next_default_step(steps, kind);
    if (!*text) return false;
    if (steps->letters) {
        *kind = sampi_step_lettered(*text);
        steps->text = text + 1;
        return true;
    }
    size_t n = strcspn(text, ";");
    *kind = sampi_step_named(text, n);
    steps->text = text + n;
    if (text[n] == ';' && text[n + 1])
        steps->text++; /* a ';' at the end is followed by an empty name, which is bad */
    return true;
}

/* The members of samp_params that are no sampler's alone. Their numbers are checked first, for samplers are made with
   them; the words are checked by hand, and set in config/set.h, where `told` says what is good. */
/* clang-format off */
#define SAMPI_WHOLE(param, usual, lo, hi) \
    { SAMPI_INT32, #param, offsetof(samp_params, param), SAMPI_NOWHERE, usual, lo, hi, 0, NULL }
#define SAMPI_TEXT(param, word, told) \
    { SAMPI_##word, #param, offsetof(samp_params, param), SAMPI_NOWHERE, 0, 0, 0, 0, told }
static const sampi_field SAMPI_CHAIN_FIELDS[] = {
    SAMPI_WHOLE(n_ctx_train, 4096, 0, SAMPI_MAX_WINDOW),
    SAMPI_WHOLE(n_vocab, 0, 0, INT32_MAX),
    SAMPI_WHOLE(mirostat, 0, 0, 2),
    SAMPI_TEXT(seed, SEED, "a whole number from 0 to 2^64 - 1"),
    SAMPI_TEXT(rng, RNG, SAMPI_RNG_NAMES),
    SAMPI_TEXT(order, ORDER, "names with ; between, or letters: "),
    SAMPI_TEXT(dry_breakers, BREAKERS, "a text, or none"),
    SAMPI_TEXT(logit_bias, BIASES, "TOKEN+BIAS or TOKEN-BIAS, with , between"),
};
/* clang-format on */
#define SAMPI_N_CHAIN_FIELDS (sizeof SAMPI_CHAIN_FIELDS / sizeof SAMPI_CHAIN_FIELDS[0])

/* Note in `bad` what is wrong with the parameters of a kind. */
static SAMPI_COLD void sampi_require_kind(sampi_sampler *bad, const samp_params *p, sampi_kind kind)
{
    sampi_sampler t = sampi_from_params(p, kind);
    sampi_prepare(&t, false);
    sampi_require(bad, !t.status, t.status, t.field);
}

/* All parameters, also those of samplers that this order leaves out: a bad number is an error even where it would
   have no effect. Mirostat 1 alone is asked only when it is wanted, for its n_vocab. `bad` is only there to keep
   the first error. The heap is not touched. */
SAMP_API SAMPI_COLD int samp_check_params(const samp_params *p, const char **field)
{
    sampi_sampler bad = sampi_blank(SAMPI_CHAIN);
    sampi_require(&bad, p != NULL, SAMP_E_NULL, "params");
    for (size_t i = 0; p && i < SAMPI_N_CHAIN_FIELDS; i++) {
        const sampi_field *f = &SAMPI_CHAIN_FIELDS[i];
        if (!sampi_is_word(f)) sampi_require_number(&bad, f, sampi_number(f, (const char *)p + f->from));
    }
    for (int kind = 0; kind < SAMPI_N_KINDS && !bad.status; kind++) {
        if (kind == SAMPI_MIROSTAT && p->mirostat != 1) continue; /* only then it needs n_vocab */
        if (!(sampi_traits_of((sampi_kind)kind)->flags & SAMPI_IF_NAMED))
            sampi_require_kind(&bad, p, (sampi_kind)kind);
    }
    if (!bad.status) {
        bool infill = false;
        sampi_steps steps = sampi_steps_of(p);
        for (sampi_kind kind; !bad.status && sampi_next_step(&steps, &kind);) {
            sampi_require(&bad, kind != SAMPI_N_KINDS, SAMP_E_RANGE, "order");
            infill = infill || kind == SAMPI_INFILL;
        }
        if (infill) sampi_require_kind(&bad, p, SAMPI_INFILL);
        int status = sampi_rng_status(p->rng);
        sampi_require(&bad, !status, status, "rng");
    }
    if (p && p->grammar) {
        const sampi_sampler *grammar = (const sampi_sampler *)p->grammar;
        int status = samp_status(p->grammar, NULL);
        sampi_require(&bad, !status, status, "grammar");
        sampi_require(&bad, status || sampi_last_word(grammar, SAMP_RNG_PHILOX) != 1, SAMP_E_RANGE, "grammar");
    }
    if (field) *field = bad.field;
    return bad.status;
}

/* One sampler more for sampi_add_steps. Only memory can be missing; then sampi_init is NULL, and samp_chain_add
   says so. */
static SAMPI_COLD int sampi_add_step(samp_sampler *chain, const samp_params *p, sampi_kind kind,
                                     const sampi_sampler *dry)
{
    sampi_sampler t = sampi_from_params(p, kind);
    if (kind == SAMPI_DRY) t.u.dry.like = dry;
    samp_sampler *s = sampi_init(&t);
    int status = samp_chain_add(chain, s);
    if (!status) ((sampi_sampler *)s)->made_by = SAMPI_BY_PARAMS;
    return status;
}

/* The members of a chain whose parameters are good: logit_bias, which no order can name, then the order, then what
   selects. Mirostat replaces the order by a temperature, as in llama.cpp. `dry`: one whose breakers may be the same, or
   NULL. */
static SAMPI_COLD int sampi_add_steps(samp_sampler *chain, const samp_params *p, const sampi_sampler *dry)
{
    sampi_steps steps = sampi_steps_of(p);
    int status = sampi_add_step(chain, p, SAMPI_LOGIT_BIAS, dry);
    if (!status && p->mirostat) status = sampi_add_step(chain, p, SAMPI_TEMP, dry);
    for (sampi_kind kind; !status && !p->mirostat && sampi_next_step(&steps, &kind);)
        status = sampi_add_step(chain, p, kind, dry);
    return status ? status : sampi_add_step(chain, p, sampi_selector_of(p), dry);
}

/* A chain keeps the first error that adding to it had: it lacks a sampler, and drawing without would be wrong. Returns
   the status, for samp_chain_insert to return. */
static int sampi_chain_error(sampi_sampler *c, int status, const char *field)
{
    if (!c->status) c->status = status, c->field = field;
    return status;
}

/* Bad parameters give an empty chain that carries the error, so that a caller may ask later; want of memory gives
   NULL, and what was built so far is freed. The random source is set first, since samp_chain_add hands it to the
   members. The grammar is left to the caller. */
static SAMPI_COLD samp_sampler *sampi_build_chain(const samp_params *p, const sampi_sampler *dry, int *status)
{
    samp_sampler *chain = samp_chain_init();
    sampi_sampler *c = (sampi_sampler *)chain;
    int bad = chain ? SAMP_OK : SAMP_E_NOMEM;
    if (chain) c->status = bad = samp_check_params(p, &c->field);
    if (!bad && (bad = sampi_use_status())) c->status = bad, c->field = "compiler";
    if (!bad) {
        c->rng = p->rng;
        if (sampi_add_steps(chain, p, dry)) { /* parameters were good, so memory it is */
            samp_free(chain);
            chain = NULL;
            bad = SAMP_E_NOMEM;
        }
    }
    if (status) *status = bad;
    return chain;
}

/* The grammar is the chain's, or freed with what could not be built; in another chain already it is somebody's. */
SAMP_API SAMPI_COLD samp_sampler *samp_chain_from_params(const samp_params *p, int *status)
{
    int bad;
    samp_sampler *chain = sampi_build_chain(p, NULL, &bad);
    sampi_sampler *grammar = p ? (sampi_sampler *)p->grammar : NULL;
    if (grammar && grammar->owner) {
        if (!bad) bad = sampi_chain_error((sampi_sampler *)chain, SAMP_E_RANGE, "grammar");
    } else if (grammar && bad) {
        samp_free(p->grammar);
    } else if (grammar) {
        bad = samp_chain_insert(chain, 0, p->grammar);
        if (bad) { /* the grammar was good, so memory it is */
            samp_free(chain);
            chain = NULL;
        } else {
            grammar->made_by = SAMPI_AS_GRAMMAR;
        }
    }
    if (status) *status = bad;
    return chain;
}
