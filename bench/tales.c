/* tales.c -- tell a story: a tiny language model, and every sampler of sampling.h on the command line.
 *
 *     cc -O3 bench/tales.c -o tales -lm           or make demo
 *     ./tales "Once upon a time"
 *     ./tales --temp 1.2 --min-p 0.1 --seed 7 "The wolf"
 *     ./tales --show -n 20                        the candidates, and what each sampler made of them
 *     ./tales --help
 *
 * The story goes to stdout, the figures to stderr. The same options give the same story. */

#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <stdbool.h>
#include <time.h>

#define SAMPLING_KV
#define SAMPLING_IMPLEMENTATION
#include "../sampling.h"
#include "tales_model.h"

/* ==== Options =====================================================================================
 * One table knows the options: their names (those of llama.cpp), where their values live, and what
 * --help says. What a value may be is for the library to judge; its status names the samp_params
 * field, and the table leads from there back to the option. */

enum { MAX_BIASES = 64, MAX_BREAKERS = 32, HELP_COLUMN = 31 };

typedef struct {
    samp_params sampling;
    const char *prompt, *model;
    size_t length;
    bool show, verbose, help;
    samp_logit_bias biases[MAX_BIASES];     /* what sampling.logit_bias points to */
    const char *breakers[MAX_BREAKERS + 1]; /* what sampling.dry_breakers points to */
    int n_breakers;
} settings;

typedef enum { FLAG, INT, SIZE, SEED, REAL, TEXT, RNG, BIAS, BREAKER } option_kind;
static const char *const argument[] = { "", "N", "N", "N", "X", "TEXT", "KIND", "TOKEN(+/-)BIAS", "TEXT" };

typedef struct {
    const char *names[3];
    option_kind kind;
    size_t offset;     /* of the value in settings */
    const char *field; /* the samp_params field, or NULL */
    const char *help;
} option;

#define OWN(member)   offsetof(settings, member), NULL
#define PARAM(member) offsetof(settings, sampling.member), #member

/* clang-format off */
static const option options[] = {
    {{"--prompt", "-p"},  TEXT, OWN(prompt),  "how the story begins; the word --prompt may be left out"},
    {{"--length", "-n"},  SIZE, OWN(length),  "tokens to add; prompt and story share the context"},
    {{"--model", "-m"},   TEXT, OWN(model),   "the model's file"},
    {{"--show"},          FLAG, OWN(show),    "print each token's candidates, and who removed how many"},
    {{"--verbose", "-v"}, FLAG, OWN(verbose), "describe the chain of samplers"},
    {{"--help", "-h"},    FLAG, OWN(help),    "print this"},

    {{"--seed", "-s"},         SEED, PARAM(seed),               "the same seed tells the same story"},
    {{"--rng"},                RNG,  PARAM(rng),                "philox, or mt19937: llama.cpp's tokens"},
    {{"--order", "--samplers", "--sampling-seq"},
                               TEXT, PARAM(order),
                               "like \"top_k;top_p;temperature\" or \"kpt\""},
    {{"--min-keep"},           SIZE, PARAM(min_keep),           "candidates that samplers leave at least"},

    {{"--temp"},               REAL, PARAM(temp),               "temperature; 0 = always the likeliest"},
    {{"--dynatemp-range"},     REAL, PARAM(dynatemp_range),     "its swing with the entropy; 0 = off"},
    {{"--dynatemp-exp"},       REAL, PARAM(dynatemp_exponent),  "how the swing follows the entropy"},
    {{"--top-k"},              INT,  PARAM(top_k),              "keep the N likeliest; 0 = off"},
    {{"--top-p"},              REAL, PARAM(top_p),              "keep the likeliest, X together; 1 = off"},
    {{"--min-p"},              REAL, PARAM(min_p),              "keep p >= X times the best; 0 = off"},
    {{"--typical"},            REAL, PARAM(typ_p),              "keep the most typical, X together; 1 = off"},
    {{"--tfs-z"},              REAL, PARAM(tfs_z),              "cut the tail where it flattens; 1 = off"},
    {{"--top-n-sigma"},        REAL, PARAM(top_n_sigma),        "keep X sigmas from the top; <= 0 = off"},
    {{"--xtc-probability"},    REAL, PARAM(xtc_probability),    "how often the top is excluded; 0 = off"},
    {{"--xtc-threshold"},      REAL, PARAM(xtc_threshold),      "the top are those with p >= X; > 0.5 = off"},

    {{"--repeat-last-n"},      INT,  PARAM(penalty_last_n),     "how far the penalties look; -1 = all"},
    {{"--repeat-penalty"},     REAL, PARAM(penalty_repeat),     "divides the logit of a repeated token"},
    {{"--frequency-penalty"},  REAL, PARAM(penalty_freq),       "subtracted for each occurrence; 0 = off"},
    {{"--presence-penalty"},   REAL, PARAM(penalty_present),    "subtracted once; 0 = off"},
    {{"--dry-multiplier"},     REAL, PARAM(dry_multiplier),     "\"don't repeat yourself\" penalty; 0 = off"},
    {{"--dry-base"},           REAL, PARAM(dry_base),           "its growth with each token repeated"},
    {{"--dry-allowed-length"}, INT,  PARAM(dry_allowed_length), "repetitions shorter than N are free"},
    {{"--dry-penalty-last-n"}, INT,  PARAM(dry_penalty_last_n), "how far it looks; -1 = all"},
    {{"--dry-sequence-breaker"}, BREAKER, PARAM(dry_breakers),
                               "ends a repetition; may come again; replaces \\n : \" * (\"none\": none)"},

    {{"--mirostat"},           INT,  PARAM(mirostat),           "1, 2: steer the surprise instead; 0 = off"},
    {{"--mirostat-ent"},       REAL, PARAM(mirostat_tau),       "the surprise to aim at, in bits"},
    {{"--mirostat-lr"},        REAL, PARAM(mirostat_eta),       "how fast it is steered"},
    {{"--adaptive-target"},    REAL, PARAM(adaptive_target),    "the probability to prefer; < 0 = off"},
    {{"--adaptive-decay"},     REAL, PARAM(adaptive_decay),     "how long past choices count"},
    {{"--logit-bias"},         BIAS, PARAM(logit_bias),
                               "591+2, or 591-inf to ban; may come again (ids: see --show)"},
};
/* clang-format on */

enum { N_OPTIONS = sizeof options / sizeof *options };

static settings default_settings(void)
{
    settings set;
    memset(&set, 0, sizeof set);
    set.sampling = samp_default_params();
    set.sampling.seed = 42;
    set.prompt = "Once upon a time";
    set.model = "bench/data/tales.bin";
    set.length = 200;
    return set;
}

static const option *find_option(const char *name)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        for (int k = 0; k < 3 && options[i].names[k]; k++)
            if (strcmp(options[i].names[k], name) == 0) return &options[i];
    }
    return NULL;
}

static const option *option_of_field(const char *field)
{
    for (int i = 0; field && i < N_OPTIONS; i++)
        if (options[i].field && strcmp(options[i].field, field) == 0) return &options[i];
    return NULL;
}

/* The value between two texts; nothing where there is none. */
static void print_value(FILE *to, const option *o, const settings *set, const char *before, const char *after)
{
    const void *value = (const char *)set + o->offset;
    char num[32] = ""; /* stays empty for a flag or a list */
    const char *text = num;
    switch (o->kind) {
        case INT: snprintf(num, sizeof num, "%d", (int)*(const int32_t *)value); break;
        case SIZE: snprintf(num, sizeof num, "%zu", *(const size_t *)value); break;
        case SEED: snprintf(num, sizeof num, "%llu", (unsigned long long)*(const uint64_t *)value); break;
        case REAL: snprintf(num, sizeof num, "%g", (double)*(const float *)value); break;
        case RNG: text = *(const samp_rng_kind *)value == SAMP_RNG_PHILOX ? "philox" : "mt19937"; break;
        case TEXT: memcpy(&text, value, sizeof text); break;
        case FLAG:
        case BIAS:
        case BREAKER: break;
    }
    if (text && *text) fprintf(to, "%s%s%s", before, text, after);
}

static void print_option(FILE *to, const option *o, const settings *set)
{
    int n = 0;
    for (int k = 0; k < 3 && o->names[k]; k++) n += fprintf(to, k ? ", %s" : "  %s", o->names[k]);
    n += fprintf(to, " %s", argument[o->kind]);
    if (n >= HELP_COLUMN) n = fprintf(to, "\n") - 1;
    fprintf(to, "%*s%s", HELP_COLUMN - n, "", o->help);
    print_value(to, o, set, " [", "]");
    fputc('\n', to);
}

static void print_help(void)
{
    settings set = default_settings();
    puts("usage: tales [options] [prompt]\n");
    for (int i = 0; i < N_OPTIONS; i++) {
        if (options[i].field && (i == 0 || !options[i - 1].field)) putchar('\n');
        print_option(stdout, &options[i], &set);
    }
}

/* The parsers return NULL, or what is wrong with the text. They judge its form, not the value. */

static const char *parse_int(const char *text, int32_t *out)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (end == text || *end) return "not a whole number";
    if (errno || n < INT32_MIN || n > INT32_MAX) return "too large";
    *out = (int32_t)n;
    return NULL;
}

static const char *parse_unsigned(const char *text, uint64_t limit, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (end == text || *end || strchr(text, '-')) return "not a whole number from 0 up";
    if (errno || n > limit) return "too large";
    *out = n;
    return NULL;
}

static const char *parse_real(const char *text, float *out)
{
    char *end;
    *out = strtof(text, &end);
    return end == text || *end ? "not a number" : NULL;
}

static const char *parse_rng(const char *text, samp_rng_kind *out)
{
    if (strcmp(text, "philox") == 0)
        *out = SAMP_RNG_PHILOX;
    else if (strcmp(text, "mt19937") == 0)
        *out = SAMP_RNG_MT19937;
    else
        return "neither philox nor mt19937";
    return NULL;
}

static const char *parse_bias(const char *text, settings *set)
{
    if (set->sampling.n_logit_bias == MAX_BIASES) return "too many biases";
    char *sign;
    samp_logit_bias *b = &set->biases[set->sampling.n_logit_bias];
    long token = strtol(text, &sign, 10);
    if (sign == text || (*sign != '+' && *sign != '-')) return "not TOKEN+BIAS or TOKEN-BIAS";
    if (token < 0 || token > INT32_MAX) return "no such token";
    b->token = (samp_token)token;
    const char *error = parse_real(sign, &b->bias);
    if (error) return error;
    set->sampling.logit_bias = set->biases;
    set->sampling.n_logit_bias++;
    return NULL;
}

static const char *parse_breaker(const char *text, settings *set)
{
    if (set->n_breakers == MAX_BREAKERS) return "too many breakers";
    set->sampling.dry_breakers = set->breakers;
    if (strcmp(text, "none") != 0) set->breakers[set->n_breakers++] = text;
    return NULL;
}

static const char *parse_value(const option *o, const char *text, settings *set)
{
    void *value = (char *)set + o->offset;
    const char *error = NULL;
    uint64_t n = 0;
    switch (o->kind) {
        case FLAG: *(bool *)value = true; break;
        case INT: return parse_int(text, (int32_t *)value);
        case SEED: return parse_unsigned(text, UINT64_MAX, (uint64_t *)value);
        case REAL: return parse_real(text, (float *)value);
        case RNG: return parse_rng(text, (samp_rng_kind *)value);
        case BIAS: return parse_bias(text, set);
        case BREAKER: return parse_breaker(text, set);
        case TEXT: memcpy(value, &text, sizeof text); break;
        case SIZE:
            error = parse_unsigned(text, SIZE_MAX, &n);
            if (!error) *(size_t *)value = (size_t)n;
            break;
    }
    return error;
}

static bool parse_options(int argc, char **argv, settings *set)
{
    bool have_prompt = false;
    for (int i = 1; i < argc; i++) {
        bool named = argv[i][0] == '-';
        const char *name = named ? argv[i] : "--prompt", *value = named ? "" : argv[i], *error = NULL;
        const option *o = find_option(name);
        if (!o)
            error = "no such option; --help lists them";
        else if (named && o->kind != FLAG) {
            if (++i < argc)
                value = argv[i];
            else
                error = "needs a value";
        }
        if (!error && o->offset == offsetof(settings, prompt)) {
            if (have_prompt) error = "a second prompt (quotes missing?)";
            have_prompt = true;
        }
        if (!error) error = parse_value(o, value, set);
        if (error) {
            fprintf(stderr, "tales: %s%s%s: %s\n", name, *value ? " " : "", value, error);
            return false;
        }
    }
    return true;
}

/* ==== A sampler of our own: the probe =============================================================
 * It changes nothing. It stands behind a built-in sampler and counts the candidates that are left;
 * the one at the chain's end, behind the sampler that selects, also notes the best of them. */

enum { N_BEST = 5 };

typedef struct {
    bool at_end;
    size_t left;                  /* candidates that are not masked */
    samp_token_data best[N_BEST]; /* likeliest first, p = softmax of the logits left */
    int n_best;
    samp_token_data selected;
} probe;

static void probe_rank(probe *p, const samp_token_data_array *cur)
{
    p->n_best = 0;
    for (size_t i = 0; i < cur->size; i++) {
        samp_token_data d = cur->data[i];
        if (d.logit == -INFINITY || (p->n_best == N_BEST && d.logit <= p->best[N_BEST - 1].logit)) continue;
        int at = p->n_best < N_BEST ? p->n_best++ : N_BEST - 1;
        for (; at > 0 && p->best[at - 1].logit < d.logit; at--) p->best[at] = p->best[at - 1];
        p->best[at] = d;
    }
    float max = p->best[0].logit, sum = 0.0f;
    for (size_t i = 0; i < cur->size; i++) sum += expf(cur->data[i].logit - max);
    for (int i = 0; i < p->n_best; i++) p->best[i].p = expf(p->best[i].logit - max) / sum;
    p->selected = cur->data[cur->selected];
    p->selected.p = expf(p->selected.logit - max) / sum;
}

static int probe_apply(samp_sampler *s, samp_token_data_array *cur)
{
    probe *p = s->ctx;
    p->left = 0;
    for (size_t i = 0; i < cur->size; i++) p->left += cur->data[i].logit != -INFINITY;
    if (!p->at_end) return SAMP_OK;
    if (p->left == 0 || cur->selected < 0) return SAMP_E_EMPTY;
    probe_rank(p, cur);
    return SAMP_OK;
}

static samp_sampler *probe_init(bool at_end);

static const char *probe_name(const samp_sampler *s)
{
    (void)s;
    return "probe";
}
static samp_sampler *probe_clone(const samp_sampler *s) { return probe_init(((probe *)s->ctx)->at_end); }
static void probe_free(samp_sampler *s) { free(s->ctx); }

static const samp_sampler_i probe_interface = {
    .name = probe_name,
    .apply = probe_apply,
    .clone = probe_clone,
    .free = probe_free,
};

static samp_sampler *probe_init(bool at_end)
{
    probe *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->at_end = at_end;
    samp_sampler *s = samp_init_custom(&probe_interface, p);
    if (!s) free(p);
    return s;
}

/* Moves the samplers of a chain into a new one, with a probe behind each. */
static samp_sampler *with_probes(samp_sampler *plain, samp_rng_kind rng)
{
    samp_sampler *chain = samp_chain_init();
    samp_set_rng(chain, rng); /* a chain gives its random source to what is added */
    while (samp_chain_n(plain) > 0) {
        samp_chain_add(chain, samp_chain_remove(plain, 0));
        samp_chain_add(chain, probe_init(samp_chain_n(plain) == 0));
    }
    samp_free(plain);
    return chain;
}

/* ==== --show ====================================================================================== */

enum { QUOTED = 32 };

/* A token's text in quotes, with what is not printable ASCII as \xNN. -> out [QUOTED] */
static const char *quoted(const tales_model *m, samp_token token, char *out)
{
    size_t length;
    const char *piece = tales_piece(m, token, &length);
    if (length == 0) return token == TALES_END ? "(end)" : "(begin)";
    int n = sprintf(out, "\"");
    for (size_t i = 0; i < length && n < QUOTED - 6; i++) {
        unsigned char c = (unsigned char)piece[i];
        n += sprintf(out + n, c >= ' ' && c <= '~' ? "%c" : "\\x%02x", c);
    }
    sprintf(out + n, "\"");
    return out;
}

static void show_candidate(const tales_model *m, const samp_token_data *d, bool chosen)
{
    static const char bar[] = "########################################";
    char text[QUOTED];
    printf("  %s %-16s %5d %6.2f %%  %.*s\n", chosen ? "->" : "  ", quoted(m, d->id, text), (int)d->id,
           100.0 * (double)d->p, (int)(0.5 + (double)d->p * (sizeof bar - 1)), bar);
}

/* Reads what the probes saw of the last token. */
static void show_step(const tales_model *m, const samp_sampler *chain, size_t number)
{
    size_t left = (size_t)m->n_vocab;
    const probe *p = NULL;
    printf("%zu.", number);
    for (int32_t i = 1; i < samp_chain_n(chain); i += 2) {
        p = samp_chain_get(chain, i)->ctx;
        if (p->left < left) printf(" %s -%zu,", samp_name(samp_chain_get(chain, i - 1)), left - p->left);
        left = p->left;
    }
    printf(" left %zu of %d\n", left, m->n_vocab);

    bool seen = false;
    for (int i = 0; i < p->n_best; i++) {
        bool chosen = p->best[i].id == p->selected.id;
        show_candidate(m, &p->best[i], chosen);
        seen = seen || chosen;
    }
    if (!seen) show_candidate(m, &p->selected, true);
    putchar('\n');
}

/* ==== The page ====================================================================================
 * Pieces arrive as parts of words; words leave when they are complete, and lines are broken between
 * them. */

enum { PAGE_WIDTH = 78 };

typedef struct {
    char word[PAGE_WIDTH];
    int length, column;
    bool space, paragraph; /* what stands before the word */
} page;

static void page_flush(page *pg)
{
    if (pg->length == 0) return;
    if (pg->paragraph) {
        fputs(pg->column ? "\n\n" : "", stdout);
        pg->column = 0;
    } else if (pg->column + pg->space + pg->length > PAGE_WIDTH) {
        putchar('\n');
        pg->column = 0;
    } else if (pg->space && pg->column) {
        putchar(' ');
        pg->column++;
    }
    fwrite(pg->word, 1, (size_t)pg->length, stdout);
    fflush(stdout);
    pg->column += pg->length;
    pg->length = 0;
    pg->space = pg->paragraph = false;
}

static void page_write(page *pg, const tales_model *m, samp_token token)
{
    size_t length;
    const char *piece = tales_piece(m, token, &length);
    for (size_t i = 0; i < length; i++) {
        bool space = (unsigned char)piece[i] <= ' '; /* control bytes too: spare the terminal */
        if (space || pg->length == PAGE_WIDTH) page_flush(pg);
        if (space)
            pg->space = true;
        else
            pg->word[pg->length++] = piece[i];
    }
    if (token == TALES_END) {
        page_flush(pg);
        pg->paragraph = true;
    }
}

/* ==== The story =================================================================================== */

typedef struct {
    size_t n;               /* tokens added */
    double sampling, model; /* seconds in samp_sample and in tales_eval */
} figures;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *vocab_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    return tales_piece(vocab->user, token, n_bytes);
}

/* ids: [n_ctx], the first n are the prompt's, the story's follow. Returns SAMP_OK, or what stopped it. */
static int tell(tales_model *m, samp_sampler *chain, const settings *set, samp_token *ids, int n, figures *f)
{
    page pg = { { 0 }, 0, 0, false, false };
    const float *logits = NULL; /* [n_vocab] */
    for (int i = 0; i < n; i++) {
        logits = tales_eval(m, ids[i], i);
        samp_accept(chain, ids[i]); /* so that the penalties know the prompt */
        if (!set->show) page_write(&pg, m, ids[i]);
    }
    int status = SAMP_OK;
    for (; f->n < set->length && n < m->n_ctx; f->n++, n++) {
        double start = now();
        ids[n] = samp_sample(chain, logits, (size_t)m->n_vocab);
        double sampled = now();
        if (ids[n] < 0) {
            status = ids[n];
            break;
        }
        logits = tales_eval(m, ids[n], n);
        f->sampling += sampled - start;
        f->model += now() - sampled;
        if (set->show)
            show_step(m, chain, f->n + 1);
        else
            page_write(&pg, m, ids[n]);
    }
    for (int i = 0; set->show && i < n; i++) page_write(&pg, m, ids[i]);
    page_flush(&pg);
    putchar('\n');
    return status;
}

/* The chain for the settings, or NULL after a message. */
static samp_sampler *make_chain(settings *set, const samp_vocab *vocab, int n_ctx)
{
    const char *field = NULL;
    set->sampling.n_vocab = vocab->n_vocab;
    set->sampling.vocab = vocab;
    set->sampling.n_ctx_train = n_ctx;
    samp_sampler *chain = samp_chain_from_params(&set->sampling, NULL);
    int status = chain ? samp_status(chain, &field) : SAMP_E_NOMEM;
    if (status == SAMP_OK && set->show) {
        chain = with_probes(chain, set->sampling.rng);
        status = chain ? samp_status(chain, &field) : SAMP_E_NOMEM;
    }
    if (status == SAMP_OK) return chain;

    const option *o = option_of_field(field);
    fprintf(stderr, "tales: %s", o ? o->names[0] : field ? field : "the chain");
    if (o) print_value(stderr, o, set, " ", "");
    fprintf(stderr, ": %s\n", samp_strerror(status));
    if (o) {
        settings defaults = default_settings();
        print_option(stderr, o, &defaults);
    }
    samp_free(chain);
    return NULL;
}

static void report(const figures *f, const samp_sampler *chain, const settings *set, bool full)
{
    double seconds = f->sampling + f->model;
    char text[2048];
    if (f->n > 0) {
        fprintf(stderr, "\n%zu tokens%s, %.0f tokens/s; ", f->n, full ? " (the context is full)" : "",
                (double)f->n / seconds);
        fprintf(stderr, "sampling took %.2f %% of the time, %.2f us a token\n", 100.0 * f->sampling / seconds,
                1e6 * f->sampling / (double)f->n);
    }
    if (set->verbose && samp_describe(chain, text, sizeof text) >= 0) fprintf(stderr, "%s\n", text);
}

int main(int argc, char **argv)
{
    settings set = default_settings();
    if (!parse_options(argc, argv, &set)) return 2;
    if (set.help) {
        print_help();
        return 0;
    }

    tales_model m;
    const char *error = tales_load(&m, set.model);
    if (error) {
        fprintf(stderr, "tales: %s: %s\n", set.model, error);
        return 1;
    }
    const samp_token end[] = { TALES_END };
    samp_vocab vocab = { .n_vocab = m.n_vocab,
                         .token_bytes = vocab_bytes,
                         .user = &m,
                         .eog = end,
                         .n_eog = 1,
                         .eos = TALES_END,
                         .eot = -1 };
    samp_sampler *chain = make_chain(&set, &vocab, m.n_ctx);
    samp_token *ids = malloc((size_t)m.n_ctx * sizeof *ids);
    int n_prompt = ids ? tales_tokenise(&m, set.prompt, ids, m.n_ctx) : 0;

    int result = 2;
    if (n_prompt < 0) fprintf(stderr, "tales: the prompt has more than %d tokens\n", m.n_ctx - 1);
    if (chain && n_prompt > 0) {
        figures f = { 0, 0.0, 0.0 };
        int status = tell(&m, chain, &set, ids, n_prompt, &f);
        report(&f, chain, &set, n_prompt + (int)f.n == m.n_ctx);
        if (status != SAMP_OK) fprintf(stderr, "tales: %s\n", samp_strerror(status));
        result = status == SAMP_OK ? 0 : 1;
    }
    samp_free(chain);
    free(ids);
    tales_free(&m);
    return result;
}
