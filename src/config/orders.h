/* ---- orders, and the chain from parameters ----
   samp_params.order names samplers by name or by letter. sampi_names reads an order and returns one kind after another.
   Names and letters are in the table of kinds, so an order can name a new sampler as soon as it has a row. The default
   order is that of the table.

   There are two callers: samp_check_params only checks the parameters, and samp_chain_from_params makes a sampler of
   each kind and adds it to a chain. */

/* Returns the kind with this name, or SAMPI_N_KINDS if there is none. The names of a kind are separated by ';' in the
   table. */
static SAMPI_COLD sampi_kind sampi_kind_named(const char *text, size_t n)
{
    for (int kind = 0; kind < SAMPI_N_KINDS; kind++) {
        const char *name = sampi_traits_of((sampi_kind)kind)->names;
        while (*name) {
            size_t n_name = strcspn(name, ";");
            if (n == n_name && !memcmp(text, name, n)) return (sampi_kind)kind;
            name += n_name + (name[n_name] == ';');
        }
    }
    return SAMPI_N_KINDS;
}

/* Returns the kind with this letter, or SAMPI_N_KINDS if there is none. In the table a kind without a letter has the
   letter 0. */
static SAMPI_COLD sampi_kind sampi_kind_lettered(char letter)
{
    for (int kind = 0; kind < SAMPI_N_KINDS; kind++)
        if (letter && sampi_traits_of((sampi_kind)kind)->letter == letter) return (sampi_kind)kind;
    return SAMPI_N_KINDS;
}

/* Is an order without ';' one word, and not letters? A sampler's name is, also with its '_' or '-' left out: "topk" has
   letters of samplers, but is a misspelt name. */
static SAMPI_COLD bool sampi_is_one_word(const char *order)
{
    bool same = !strcmp(order, "*") || !strcmp(order, "dist");
    for (int kind = 0; kind < SAMPI_N_KINDS && !same; kind++) {
        const char *name = sampi_traits_of((sampi_kind)kind)->names;
        while (*name && !same) {
            const char *at = order;
            for (same = true; *name && *name != ';'; name++) {
                if (*name == '_' || *name == '-') continue;
                while (*at == '_' || *at == '-') at++;
                same = same && *at == *name;
                at += same;
            }
            same = same && !*at;
            name += *name == ';';
        }
    }
    return same;
}

/* The place of a reader in an order of samplers. The order's text has names separated by ';', or letters, each at most
   once. The name "*", at most once, is all samplers that the order does not name. If the text is NULL, the order is
   that of the rows of the table of kinds. */
typedef struct sampi_names {
    const samp_params *p;
    const char *text;
    bool letters;
    int row;            /* if text is NULL, or at a "*", the next row of the table */
    const char *others; /* where the text has its "*", or NULL if none was read yet */
} sampi_names;

/* Begins to read an order, and decides whether its text has letters or names: "dry" is a name, not the letters d, r and
   y. "dist" is read as a name too, although no order may have it. */
static SAMPI_COLD sampi_names sampi_names_of(const samp_params *p)
{
    sampi_names names = { p, p->order, false, 0, NULL };
    if (p->order) names.letters = !strchr(p->order, ';') && !sampi_is_one_word(p->order);
    return names;
}

/* Finds the next kind of the default order. Kinds with SAMPI_IF_ON are in this order only if the parameters switch the
   sampler on. Kinds without a letter, and kinds with SAMPI_IF_NAMED, are not in it. At a "*" the order's text leaves out
   those that it names, and the others come on or off. */
static SAMPI_COLD bool sampi_next_unnamed(sampi_names *names, sampi_kind *kind)
{
    while (names->row < SAMPI_N_KINDS) {
        *kind = (sampi_kind)names->row++;
        const sampi_traits *traits = sampi_traits_of(*kind);
        if (!traits->letter || (traits->flags & SAMPI_IF_NAMED)) continue;
        const sampi_sampler t = sampi_from_params(names->p, *kind);
        bool next = names->text || !(traits->flags & SAMPI_IF_ON) || !sampi_is_off(&t);
        for (const char *name = names->text ? names->p->order : ""; *name && next; name += *name == ';') {
            const size_t n = strcspn(name, ";");
            next = sampi_kind_named(name, n) != *kind;
            name += n;
        }
        if (next) return true;
    }
    return false;
}

/* Finds the next kind of an order; returns false at the end. *kind is SAMPI_N_KINDS for an unknown name, and for a
   letter that came before. The caller must stop then, because an empty name at the end of the text would be returned
   again and again. sampi_bad_name stops; sampi_add_members gets only orders that have been checked. */
static SAMPI_COLD bool sampi_next_named(sampi_names *names, sampi_kind *kind)
{
    if (!names->text) return sampi_next_unnamed(names, kind);
    while (*names->text) {
        const char *text = names->text;
        if (names->letters) {
            *kind = strchr(names->p->order, *text) == text ? sampi_kind_lettered(*text) : SAMPI_N_KINDS;
            names->text++;
            return true;
        }
        size_t n = strcspn(text, ";");
        const bool others = n == 1 && *text == '*' && (!names->others || names->others == text);
        if (others) names->others = text;
        if (others && sampi_next_unnamed(names, kind)) return true;
        if (!others) *kind = sampi_kind_named(text, n);
        names->text = text + n;
        if (text[n] == ';' && text[n + 1])
            names->text++; /* a ';' at the end stays: an empty name follows it, which is an error */
        if (!others) return true;
    }
    return false;
}

/* Returns the first word [*n] of an order that names no sampler, or NULL. If the order has letters, all of it is one
   word. *infill: does the order have infill? */
static SAMPI_COLD const char *sampi_bad_name(const samp_params *p, size_t *n, bool *infill)
{
    sampi_names names = sampi_names_of(p);
    sampi_kind kind;
    *infill = false;
    for (const char *word = names.text; sampi_next_named(&names, &kind); word = names.text) {
        *infill = *infill || kind == SAMPI_INFILL;
        if (kind != SAMPI_N_KINDS) continue;
        if (names.letters) word = p->order;
        *n = strcspn(word, ";");
        return word;
    }
    return NULL;
}

/* The members of samp_params that belong to no single sampler. Those that are numbers are checked first, because
   samplers are made with them. Those that are texts and lists have checks of their own, and are set in config/set.h;
   their `label` says which values are valid. */
/* clang-format off */
#define SAMPI_WHOLE(param, usual, lo, hi) \
    { SAMPI_INT32, #param, offsetof(samp_params, param), SAMPI_NOWHERE, usual, lo, hi, 0, NULL }
#define SAMPI_TEXT(param, word, label) \
    { SAMPI_##word, #param, offsetof(samp_params, param), SAMPI_NOWHERE, 0, 0, 0, 0, label }
static const sampi_field SAMPI_CHAIN_FIELDS[] = {
    SAMPI_WHOLE(n_ctx_train, 4096, 0, SAMPI_MAX_WINDOW),
    SAMPI_WHOLE(n_vocab, 0, 0, INT32_MAX),
    SAMPI_WHOLE(mirostat, 0, 0, 2),
    SAMPI_TEXT(seed, SEED, "a whole number from 0 to 2^64 - 1"),
    SAMPI_TEXT(rng, RNG, SAMPI_RNG_NAMES),
    SAMPI_TEXT(order, ORDER, "names with ; between, or letters: "),
    SAMPI_TEXT(dry_breakers, BREAKERS, "a text, or none; 1024 at most"),
    SAMPI_TEXT(logit_bias, BIASES, "TOKEN+BIAS or TOKEN-BIAS, with , between"),
};
/* clang-format on */
#define SAMPI_N_CHAIN_FIELDS (sizeof SAMPI_CHAIN_FIELDS / sizeof SAMPI_CHAIN_FIELDS[0])

/* Notes in `bad` the first error in the parameters of a kind of sampler, if there is one. */
static SAMPI_COLD void sampi_require_kind(sampi_sampler *bad, const samp_params *p, sampi_kind kind)
{
    sampi_sampler t = sampi_from_params(p, kind);
    sampi_prepare(&t, false);
    sampi_require(bad, !t.status, t.status, t.field);
}

/* Checks all parameters, also those of samplers that the order leaves out, because a bad number is an error even where
   it has no effect. Only mirostat 1, which needs n_vocab, is not checked unless it is chosen. `bad` keeps the first
   error. The heap is not used. */
SAMP_API SAMPI_COLD int samp_check_params(const samp_params *p, const char **field)
{
    sampi_sampler bad = sampi_blank(SAMPI_CHAIN);
    sampi_require(&bad, p != NULL, SAMP_E_NULL, "params");
    for (size_t i = 0; p && i < SAMPI_N_CHAIN_FIELDS; i++) {
        const sampi_field *f = &SAMPI_CHAIN_FIELDS[i];
        if (!sampi_is_text_field(f)) sampi_require_number(&bad, f, sampi_number(f, (const char *)p + f->from));
    }
    for (int kind = 0; kind < SAMPI_N_KINDS && !bad.status; kind++) {
        if (kind == SAMPI_MIROSTAT && p->mirostat != 1) continue; /* mirostat 1 needs n_vocab only if it is chosen */
        if (!(sampi_traits_of((sampi_kind)kind)->flags & SAMPI_IF_NAMED))
            sampi_require_kind(&bad, p, (sampi_kind)kind);
    }
    if (!bad.status) {
        size_t n;
        bool infill;
        sampi_require(&bad, !sampi_bad_name(p, &n, &infill), SAMP_E_RANGE, "order");
        if (infill) sampi_require_kind(&bad, p, SAMPI_INFILL);
        int status = sampi_rng_status(p->rng);
        sampi_require(&bad, !status, status, "rng");
    }
    if (p && p->grammar) {
        const sampi_sampler *grammar = (const sampi_sampler *)p->grammar;
        int status = samp_status(p->grammar, NULL);
        sampi_require(&bad, !status, status, "grammar");
        sampi_require(&bad, status || sampi_effect_on_selection(grammar, SAMP_RNG_PHILOX) != SAMPI_CHOOSES,
                      SAMP_E_RANGE, "grammar");
    }
    if (field) *field = bad.field;
    return bad.status;
}

/* Makes one sampler and adds it to the chain. Two errors are possible with valid parameters: missing memory, and
   breakers that are too much for this vocabulary. */
static SAMPI_COLD int sampi_add_member(samp_sampler *chain, const samp_params *p, sampi_kind kind,
                                       const sampi_sampler *dry)
{
    sampi_sampler t = sampi_from_params(p, kind);
    if (kind == SAMPI_DRY) t.u.dry.like = dry;
    samp_sampler *s = sampi_init(&t);
    int status = s ? samp_chain_add(chain, s) : (int)SAMP_E_NOMEM;
    if (!status) ((sampi_sampler *)s)->made_by = SAMPI_BY_PARAMS;
    return status;
}

/* Adds the members of a chain, from valid parameters: logit_bias, which no order can name, then the samplers of the
   order, then the sampler that selects. With mirostat a temperature replaces the samplers of the order, as in
   llama.cpp. `dry` is a sampler that may have the same breakers, which are copied then, or NULL. */
static SAMPI_COLD int sampi_add_members(samp_sampler *chain, const samp_params *p, const sampi_sampler *dry)
{
    sampi_names names = sampi_names_of(p);
    int status = sampi_add_member(chain, p, SAMPI_LOGIT_BIAS, dry);
    if (!status && p->mirostat) status = sampi_add_member(chain, p, SAMPI_TEMP, dry);
    for (sampi_kind kind; !status && !p->mirostat && sampi_next_named(&names, &kind);)
        status = sampi_add_member(chain, p, kind, dry);
    return status ? status : sampi_add_member(chain, p, sampi_selector_of(p), dry);
}

/* Notes in the chain that a sampler could not be added, and returns the status. The chain keeps the first such error,
   because a draw without the missing sampler would be wrong. */
static int sampi_chain_error(sampi_sampler *c, int status, const char *field)
{
    if (!c->status) c->status = status, c->field = field;
    return status;
}

/* Builds the chain of samp_params, without the grammar. Bad parameters give a chain that carries the error, so that the
   caller may check later. If memory runs out, everything is freed and the result is NULL. The chain's random
   source is set first, because samp_chain_add hands it to the members. */
static SAMPI_COLD samp_sampler *sampi_build_chain(const samp_params *p, const sampi_sampler *dry, int *status)
{
    samp_sampler *chain = samp_chain_init();
    sampi_sampler *c = (sampi_sampler *)chain;
    int bad = chain ? SAMP_OK : SAMP_E_NOMEM;
    if (chain) c->status = bad = samp_check_params(p, &c->field);
    if (!bad && (bad = sampi_use_status())) c->status = bad, c->field = "compiler";
    if (!bad) {
        c->rng = p->rng;
        bad = sampi_add_members(chain, p, dry);
        if (bad == SAMP_E_NOMEM) {
            samp_free(chain);
            chain = NULL;
        }
    }
    if (status) *status = bad;
    return chain;
}

/* The chain owns the grammar; if the chain cannot be built, the grammar is freed. A grammar that is in another chain
   already is an error, and is not freed. */
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
        if (bad) { /* the grammar is valid, so memory ran out */
            samp_free(chain);
            chain = NULL;
        } else {
            grammar->made_by = SAMPI_AS_GRAMMAR;
        }
    }
    if (status) *status = bad;
    return chain;
}
