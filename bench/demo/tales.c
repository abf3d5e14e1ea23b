/* tales.c -- tell a story: a tiny language model, and every sampler of sampling.h on the command line.
 *
 *     cc -O3 bench/demo/tales.c -o tales -lm           or make demo
 *     ./tales "Once upon a time"
 *     ./tales --temp 1.2 --min-p 0.1 --seed 7 "The wolf"
 *     ./tales --show -n 20                        the candidates, and what each sampler made of them
 *     ./tales --compare --temp 0.5,1.3            two settings side by side
 *     ./tales --best-of 8 --draft 4               eight stories from one prompt, the likeliest is told
 *     ./tales --beams 4 -n 12                     the four best endings, by beam search
 *     ./tales --parallel 8 --temp 0,0.8,1.2       eight side by side, each with settings of its own
 *     ./tales --stop "king,the end"               ends before these words, however their tokens fall
 *     ./tales --think 60                          thinks first, and is made to stop
 *     ./tales --json-schema bench/data/hero.json  JSON, by a grammar
 *     ./tales --json-schema bench/data/card.json --draft grammar   what the grammar forces needs no step
 *     ./tales --help
 *
 * The story goes to stdout, the figures to stderr. The same options give the same story. On a terminal each word
 * has the colour of its probability, unless NO_COLOR is set. */

#define _POSIX_C_SOURCE 200809L /* clock_gettime, readlink */
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define SAMPLING_KV
#define SAMPLING_GRAMMAR
#define SAMPLING_DRAFTS
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#define SAMPLING_STOP
#define SAMPLING_SEARCH
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "tales_model.h"

/* ==== Options =====================================================================================
 * One table knows the options: their names (those of llama.cpp), where their values live, and what
 * --help says. The samplers' settings are samp_settings: the library reads the text and judges the
 * value; its status names the setting, and the table leads from there back to the option. */

enum { MAX_LISTS = 80, HELP_COLUMN = 31 };

typedef struct {
    samp_settings *sampling;
    const char *prompt, *model;   /* model NULL: where it usually is */
    const char *grammar, *schema; /* files, or NULL */
    const char *ban, *stop;       /* strings with commas between, or NULL */
    const char *mark, *mark_kind; /* the watermark's key as digits, or NULL */
    const char *detect, *text;    /* a key and a file, or NULL */
    const char *color;
    size_t length, parallel, best_of, beams, draft, ngram, loop, think, pause;
    bool show, compare, verbose, help, why, ratio, by_grammar; /* by_grammar: the draft is what the grammar forces */
    const char *lists[MAX_LISTS]; /* by option: the values of the stories, with commas between; NULL: one for all */
} settings;

typedef enum { FLAG, SIZE, GUESS, TEXT, NUMBER, REAL, WORD, BIAS } option_kind;
static const char *const argument[] = { "", "N", "N|ngram|grammar", "TEXT", "N", "X", "KIND", "TOKEN(+/-)BIAS" };

typedef struct {
    const char *names[3];
    option_kind kind;
    size_t offset;     /* of the value in settings, if there is no field */
    const char *field; /* what samp_settings calls it, or NULL */
    const char *help;
} option;

#define OWN(member)   offsetof(settings, member), NULL
#define PARAM(member) 0, #member

/* clang-format off */
static const option options[] = {
    {{"--prompt", "-p"},  TEXT, OWN(prompt),  "the beginning of the story; --prompt itself may be omitted"},
    {{"--length", "-n"},  SIZE, OWN(length),  "tokens to add; a full context slides"},
    {{"--parallel"},      SIZE, OWN(parallel),
                               "tell N stories, with N seeds in a row; settings may be lists: --temp 0.7,1.2"},
    {{"--best-of"},       SIZE, OWN(best_of), "tell the most likely of N such stories"},
    {{"--beams"},         SIZE, OWN(beams), "tell the N best endings (beam search under the chain's settings); 0 = off"},
    {{"--compare"},       FLAG, OWN(compare), "two stories side by side, with two values of a setting: --temp 0.5,1.3"},
    {{"--draft"},         GUESS, OWN(draft),
                               "draft N tokens from the story, or those that the grammar forces: fewer model steps"},
    {{"--grammar"},       TEXT, OWN(grammar), "the story must match the GBNF grammar in this file"},
    {{"--json-schema"},   TEXT, OWN(schema),  "the story must be a JSON document that satisfies the schema in this file"},
    {{"--ban"},           TEXT, OWN(ban),     "texts that must not occur, with commas between: \"king,the wolf\""},
    {{"--stop"},          TEXT, OWN(stop),    "the story ends before the first of these texts, with commas between"},
    {{"--no-repeat-ngram"}, SIZE, OWN(ngram), "no N tokens occur twice in the story; 0 = off"},
    {{"--loop-breaker"},  SIZE, OWN(loop),    "a sequence that was repeated N times in a row is not repeated again; 0 = off"},
    {{"--think"},         SIZE, OWN(think),   "think first, for N tokens and to the end of the paragraph; 0 = off"},
    {{"--watermark"},     TEXT, OWN(mark),    "draw with a watermark of this key, a number from 0 to 2^64 - 1"},
    {{"--watermark-kind"}, TEXT, OWN(mark_kind), "gumbel, gumbel_dual, synthid, sbw_selfhash, sbw_lefthash"},
    {{"--why"},           FLAG, OWN(why),     "for each token: what every sampler leaves, and why the likeliest others are not drawn"},
    {{"--ratio"},         FLAG, OWN(ratio),   "replay the story from logits rounded to bf16: importance ratios, with and without the support"},
    {{"--detect"},        TEXT, OWN(detect),  "no story: test whether the text of --text has the watermark of this key, and where"},
    {{"--text"},          TEXT, OWN(text),    "the file that --detect reads"},
    {{"--model", "-m"},   TEXT, OWN(model),   "the model's file; default: tales.bin, in bench/data or beside the program"},
    {{"--show"},          FLAG, OWN(show),
                               "each token's candidates, and how many each sampler removed; on a terminal redrawn"},
    {{"--pause"},         SIZE, OWN(pause),   "milliseconds between two tables of --show"},
    {{"--color"},         TEXT, OWN(color),
                               "colour by probability: auto (on a terminal, without NO_COLOR), always, never"},
    {{"--verbose", "-v"}, FLAG, OWN(verbose), "print the chain of samplers"},
    {{"--help", "-h"},    FLAG, OWN(help),    "print this"},

    {{"--seed", "-s"},         NUMBER, PARAM(seed),               "the same seed tells the same story"},
    {{"--rng"},                WORD, PARAM(rng),                "philox, or mt19937: llama.cpp's tokens"},
    {{"--order", "--samplers", "--sampling-seq"},
                               TEXT, PARAM(order),
                               "the order of samplers, as \"top_k;top_p;temperature\" or \"kpt\""},
    {{"--min-keep"},           NUMBER, PARAM(min_keep),           "the least number of candidates that cuts keep"},

    {{"--temp"},               REAL, PARAM(temp),               "temperature; 0 = always the most likely token"},
    {{"--dynatemp-range"},     REAL, PARAM(dynatemp_range),     "how far the temperature follows the entropy; 0 = off"},
    {{"--dynatemp-exp"},       REAL, PARAM(dynatemp_exponent),  "the exponent of that"},
    {{"--smoothing-factor"},   REAL, PARAM(smoothing_factor),   "bend the logits by the square of their distance from the best; 0 = off"},
    {{"--smoothing-curve"},    REAL, PARAM(smoothing_curve),    "above 1 the bend is steeper"},
    {{"--top-k"},              NUMBER, PARAM(top_k),              "keep the N most likely tokens; 0 = off"},
    {{"--top-k-ties"},         NUMBER, PARAM(top_k_ties),         "1: keep also all that equal the last of them"},
    {{"--top-p"},              REAL, PARAM(top_p),              "keep the most likely tokens with probability X together; 1 = off"},
    {{"--min-p"},              REAL, PARAM(min_p),              "keep tokens with p >= X times the best p; 0 = off"},
    {{"--top-a"},              REAL, PARAM(top_a),              "keep tokens with p >= X times the square of the best p; 0 = off"},
    {{"--p-less"},             REAL, PARAM(p_less),             "keep tokens with p >= X times the sum of p^2; 0 = off"},
    {{"--p-less-norm"},        REAL, PARAM(p_less_norm),        "the same, with the threshold scaled to 0 for a flat row; 0 = off"},
    {{"--epsilon-cutoff"},     REAL, PARAM(epsilon_cutoff),     "keep tokens with p >= X; 0 = off"},
    {{"--eta-cutoff"},         REAL, PARAM(eta_cutoff),         "keep tokens with p >= X, or less if the entropy is high; 0 = off"},
    {{"--top-h"},              REAL, PARAM(top_h),              "keep the most likely tokens with at most X times the entropy; 1 = off"},
    {{"--typical"},            REAL, PARAM(typ_p),              "keep the most typical tokens with probability X together; 1 = off"},
    {{"--tfs-z"},              REAL, PARAM(tfs_z),              "cut the tail where the probabilities flatten; 1 = off"},
    {{"--top-n-sigma"},        REAL, PARAM(top_n_sigma),        "keep logits within X standard deviations of the best; <= 0 = off"},
    {{"--min-k"},              REAL, PARAM(min_k),              "keep tokens above the steepest fall of the logits; X for flat rows; < 0 = off"},
    {{"--xtc-probability"},    REAL, PARAM(xtc_probability),    "the probability that the top tokens are excluded; 0 = off"},
    {{"--xtc-threshold"},      REAL, PARAM(xtc_threshold),      "top tokens have p >= X; > 0.5 = off"},

    {{"--repeat-last-n"},      NUMBER, PARAM(penalty_last_n),     "how many tokens the penalties look at; -1 = all"},
    {{"--repeat-penalty"},     REAL, PARAM(penalty_repeat),     "divides the logit of a repeated token"},
    {{"--frequency-penalty"},  REAL, PARAM(penalty_freq),       "subtracted for each occurrence; 0 = off"},
    {{"--presence-penalty"},   REAL, PARAM(penalty_present),    "subtracted once; 0 = off"},
    {{"--dry-multiplier"},     REAL, PARAM(dry_multiplier),     "\"don't repeat yourself\" penalty; 0 = off"},
    {{"--dry-base"},           REAL, PARAM(dry_base),           "the factor of this penalty for each repeated token"},
    {{"--dry-allowed-length"}, NUMBER, PARAM(dry_allowed_length), "repetitions shorter than N are free"},
    {{"--dry-penalty-last-n"}, NUMBER, PARAM(dry_penalty_last_n), "how many tokens dry looks at; -1 = all"},
    {{"--dry-sequence-breaker"}, TEXT, PARAM(dry_breakers),
                               "a text that ends a repetition; may be repeated; replaces \\n : \" * (\"none\": no breakers)"},

    {{"--mirostat"},           NUMBER, PARAM(mirostat),           "1, 2: keep the surprise near a target, instead of the cuts; 0 = off"},
    {{"--mirostat-ent"},       REAL, PARAM(mirostat_tau),       "the target of the surprise, in bits"},
    {{"--mirostat-lr"},        REAL, PARAM(mirostat_eta),       "mirostat's learning rate"},
    {{"--adaptive-target"},    REAL, PARAM(adaptive_target),    "the probability of tokens to prefer; < 0 = off"},
    {{"--adaptive-decay"},     REAL, PARAM(adaptive_decay),     "the weight of past selections, per token"},
    {{"--logit-bias"},         BIAS, PARAM(logit_bias),
                               "591+2, or 591-inf to ban; may be repeated (ids: see --show)"},
};
/* clang-format on */

enum { N_OPTIONS = sizeof options / sizeof *options };

/* False after a message. Free sampling with samp_settings_free. */
static bool default_settings(settings *set)
{
    memset(set, 0, sizeof *set);
    set->prompt = "Once upon a time";
    set->color = "auto";
    set->mark_kind = "gumbel";
    set->length = set->pause = 200;
    set->parallel = set->best_of = 1;
    set->sampling = samp_settings_init();
    if (set->sampling && samp_settings_set(set->sampling, "seed", "42", NULL) == SAMP_OK) return true;
    fprintf(stderr, "tales: not enough memory\n");
    return false;
}

/* By the first n bytes of a text. */
static const option *find_option(const char *name, size_t n)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        for (int k = 0; k < 3 && options[i].names[k]; k++)
            if (strlen(options[i].names[k]) == n && strncmp(options[i].names[k], name, n) == 0) return &options[i];
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
    char buf[256] = "";
    const char *text = buf;
    if (o->field)
        samp_settings_get(set->sampling, o->field, buf, sizeof buf);
    else if (o->kind == SIZE || o->kind == GUESS)
        snprintf(buf, sizeof buf, "%zu", *(const size_t *)value);
    else if (o->kind == TEXT)
        memcpy(&text, value, sizeof text);
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
    settings set;
    if (!default_settings(&set)) return;
    puts("usage: tales [options] [prompt]\n");
    for (int i = 0; i < N_OPTIONS; i++) {
        if (options[i].field && (i == 0 || !options[i - 1].field)) putchar('\n');
        print_option(stdout, &options[i], &set);
    }
    samp_settings_free(set.sampling);
}

/* What a status means for an option: what would be right, if the library can tell. The next call overwrites it. */
static const char *wants(const option *o, int status, const char *field)
{
    static char text[768];
    char why[128] = "";
    if (status == SAMP_E_NAME)
        samp_error_text(status, field, why, sizeof why); /* a word of an order that names no sampler */
    else if (status != SAMP_E_FORMAT)
        snprintf(why, sizeof why, "%s", samp_strerror(status));
    size_t n = (size_t)snprintf(text, sizeof text, "%s%sit takes ", why, *why ? "; " : "");
    bool told = (status == SAMP_E_NAME || status == SAMP_E_FORMAT || status == SAMP_E_RANGE ||
                 status == SAMP_E_NAN) &&
                samp_settings_takes(o->field, text + n, sizeof text - n) >= 0;
    return told ? text : samp_strerror(status);
}

/* The parsers return NULL, or what is wrong with the text. They judge its form, not the value. */

static const char *parse_size(const char *text, size_t *out)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (end == text || *end || strspn(text, "0123456789") != strlen(text)) return "not a whole number from 0 up";
    if (errno || n > SIZE_MAX) return "too large";
    *out = (size_t)n;
    return NULL;
}

static const char *parse_value(const option *o, const char *text, settings *set)
{
    void *value = (char *)set + o->offset;
    if (o->field) {
        const char *field = NULL;
        int status = samp_settings_set(set->sampling, o->field, text, &field);
        return status == SAMP_OK ? NULL : wants(o, status, field);
    }
    if (o->kind == GUESS) set->by_grammar = strcmp(text, "grammar") == 0;
    if (o->kind == GUESS && (set->by_grammar || strcmp(text, "ngram") == 0)) text = "16";
    if (o->kind == SIZE || o->kind == GUESS) return parse_size(text, (size_t *)value);
    if (o->kind == FLAG)
        *(bool *)value = true;
    else
        memcpy(value, &text, sizeof text);
    return NULL;
}

/* A setting of the samplers may be a list, with commas between; the stories take its values in turn. */
static bool may_be_list(const option *o)
{
    return o->field && (o->kind == NUMBER || o->kind == REAL || o->kind == WORD);
}

static size_t list_length(const char *list)
{
    size_t n = 1;
    for (const char *c = list; *c; c++) n += *c == ',';
    return n;
}

/* Value number k (of so many that are taken in turn) of a list. */
static const char *parse_item(const option *o, const char *list, size_t k, settings *set)
{
    char text[64];
    for (k %= list_length(list); k > 0; k--) list = strchr(list, ',') + 1;
    size_t n = strcspn(list, ",");
    if (n >= sizeof text) return "too long";
    memcpy(text, list, n);
    text[n] = 0;
    return parse_value(o, text, set);
}

static const char *parse_list(const option *o, const char *list, settings *set)
{
    const char *error = NULL;
    for (size_t n = list_length(list); n-- > 0 && !error;)
        error = parse_item(o, list, n, set); /* the first one comes last, and stays */
    set->lists[o - options] = list;
    return error;
}

/* False after a message. "--name value" and "--name=value" are the same. */
static bool parse_options(int argc, char **argv, settings *set)
{
    bool have_prompt = false;
    for (int i = 1; i < argc; i++) {
        bool named = argv[i][0] == '-';
        const char *name = named ? argv[i] : "--prompt", *value = named ? "" : argv[i], *error = NULL;
        const char *equals = strncmp(name, "--", 2) == 0 ? strchr(name, '=') : NULL;
        size_t n = equals ? (size_t)(equals - name) : strlen(name);
        const option *o = find_option(name, n);
        if (!o)
            error = "no such option; --help lists them";
        else if (equals && o->kind == FLAG)
            error = "takes no value";
        else if (equals)
            value = equals + 1;
        else if (named && o->kind != FLAG) {
            if (++i < argc)
                value = argv[i];
            else
                error = "needs a value";
        }
        if (!error && !o->field && o->offset == offsetof(settings, prompt)) {
            if (have_prompt) error = "a second prompt (quotes missing?)";
            have_prompt = true;
        }
        if (!error && o->field) set->lists[o - options] = NULL; /* the last one counts */
        if (!error)
            error = may_be_list(o) && strchr(value, ',') ? parse_list(o, value, set) : parse_value(o, value, set);
        if (error) {
            fprintf(stderr, "tales: %.*s%s%s: %s\n", (int)n, name, *value ? " " : "", value, error);
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
    bool at_end, listed;          /* listed: the sampler before it has removed some, now or earlier */
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

/* ln softmax(logits)[token]; logits: [n] */
static double logprob(const float *logits, int n, samp_token token)
{
    float max = logits[0];
    double sum = 0.0;
    for (int i = 1; i < n; i++)
        if (logits[i] > max) max = logits[i];
    for (int i = 0; i < n; i++) sum += exp((double)(logits[i] - max));
    return (double)(logits[token] - max) - log(sum);
}

/* ==== The page ====================================================================================
 * Pieces arrive as parts of words; words leave when they are complete, and lines are broken between
 * them. */

enum { PAGE_WIDTH = 78 };

/* Colours of the terminal's own palette, which it keeps legible: how likely the model found a token. */
static const struct {
    double p; /* at least */
    const char *escape, *name;
} shades[] = { { 0.5, "", "plain 50 %" },
               { 0.2, "\033[32m", "green 20 %" },
               { 0.05, "\033[36m", "cyan 5 %" },
               { 0.01, "\033[33m", "yellow 1 %" },
               { 0.0, "\033[31m", "red less likely" },
               /* and of the tokens that are thought: --think; by stage, from SAMP_THINKING_OPEN on */
               { 0.0, "\033[2m", "thinks" },
               { 0.0, "\033[2;33m", "long enough" },
               { 0.0, "\033[1;36m", "is told so" },
               { 0.0, "\033[2;31m", "ends its line" },
               { 0.0, "\033[1;35m", "ends" } };
enum { N_SHADES = 5, N_STAGES = sizeof shades / sizeof *shades - N_SHADES };

typedef struct {
    FILE *to;
    int width;
    char word[PAGE_WIDTH];
    unsigned char shade[PAGE_WIDTH]; /* of each byte of the word */
    int length, column;
    bool space, paragraph; /* what stands before the word */
    bool raw;              /* no words and no lines: every byte as it is */
} page;

static void page_begin(page *pg, FILE *to, int width, bool raw)
{
    memset(pg, 0, sizeof *pg);
    pg->to = to;
    pg->width = width;
    pg->raw = raw;
}

static bool begins_character(char byte) { return ((unsigned char)byte & 0xc0) != 0x80; }

/* Bytes with their shades; none is left on behind them, and none changes within a character. */
static void write_shaded(FILE *to, const char *text, const unsigned char *shade, size_t n)
{
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && (shade[next] == shade[i] || !begins_character(text[next]));) next++;
        const char *escape = shades[shade[i]].escape;
        fprintf(to, "%s%.*s%s", escape, (int)(next - i), text + i, *escape ? "\033[0m" : "");
    }
}

static void page_flush(page *pg)
{
    if (pg->length == 0) return;
    if (pg->paragraph) {
        fputs(pg->column ? "\n\n" : "", pg->to);
        pg->column = 0;
    } else if (pg->column + pg->space + pg->length > pg->width) {
        putc('\n', pg->to);
        pg->column = 0;
    } else if (pg->space && pg->column) {
        putc(' ', pg->to);
        pg->column++;
    }
    write_shaded(pg->to, pg->word, pg->shade, (size_t)pg->length);
    fflush(pg->to);
    pg->column += pg->length;
    pg->length = 0;
    pg->space = pg->paragraph = false;
}

/* As it is, but that a line of the page's width ends. */
static void page_write_raw(page *pg, const char *piece, size_t length, unsigned char shade)
{
    unsigned char all[UINT8_MAX];
    memset(all, shade, sizeof all);
    for (size_t i = 0, next; i < length; i = next) {
        for (next = i; next < length; next++) {
            bool full = pg->column == pg->width && piece[next] != '\n' && begins_character(piece[next]);
            if (full) break;
            pg->column = piece[next] == '\n' ? 0 : pg->column + begins_character(piece[next]);
        }
        write_shaded(pg->to, piece + i, all, next - i);
        if (next == length) break;
        putc('\n', pg->to);
        pg->column = 0;
    }
    fflush(pg->to);
}

static void page_write(page *pg, const char *piece, size_t length, unsigned char shade)
{
    if (pg->raw) {
        page_write_raw(pg, piece, length, shade);
        return;
    }
    for (size_t i = 0; i < length; i++) {
        bool space = (unsigned char)piece[i] <= ' '; /* control bytes too: spare the terminal */
        if (space || pg->length == pg->width) page_flush(pg);
        pg->shade[pg->length] = shade;
        if (piece[i] == '\n')
            pg->paragraph = true;
        else if (space)
            pg->space = true;
        else
            pg->word[pg->length++] = piece[i];
    }
}

/* Writes what a text shows of further tokens, each in its shade (NULL: plain); if it ends there, what it held back too. */
static void page_tell(page *pg, samp_text *text, const samp_token *ids, const unsigned char *shade, size_t n,
                      bool ends)
{
    const char *out;
    size_t length;
    for (size_t i = 0; i < n; i++) {
        samp_text_push(text, ids[i], &out, &length);
        page_write(pg, out, length, shade ? shade[i] : 0);
    }
    if (ends && samp_text_flush(text, &out, &length) == SAMP_OK)
        page_write(pg, out, length, shade && n ? shade[n - 1] : 0);
}

/* Ends the last line. */
static void page_end(page *pg)
{
    page_flush(pg);
    putc('\n', pg->to);
    page_begin(pg, pg->to, pg->width, pg->raw);
}

/* Is stdout a terminal that moves its cursor and knows colours? */
static bool on_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
}

static bool wants_colours(const char *when)
{
    const char *no = getenv("NO_COLOR");
    if (strcmp(when, "auto") != 0) return strcmp(when, "always") == 0;
    return on_terminal() && !(no && *no);
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

/* How likely the model found a token: an index of shades. */
static unsigned char shade_of(double p)
{
    unsigned char shade = 0;
    while (p < shades[shade].p) shade++;
    return shade;
}

/* model: its probability before all samplers; d has the one that is left for the draw. */
static void show_candidate(FILE *to, const tales_model *m, const samp_token_data *d, double model, bool chosen,
                           bool colours)
{
    static const char bar[] = "##############################";
    char text[QUOTED];
    const char *escape = colours ? shades[shade_of(model)].escape : "";
    fprintf(to, "  %s %s%-18s%s %5d  %6.2f %%  %6.2f %%  %.*s\n", chosen ? "->" : "  ", escape,
            quoted(m, d->id, text), *escape ? "\033[0m" : "", (int)d->id, 100.0 * model, 100.0 * (double)d->p,
            (int)(0.5 + (double)d->p * (sizeof bar - 1)), bar);
}

/* What the probe at the chain's end saw: the best candidates, and the one that was selected. row: [n_vocab] what the
 * model said. Returns how many lines it takes. */
static int show_candidates(FILE *to, const tales_model *m, const samp_sampler *chain, const float *row, bool colours)
{
    const probe *p = samp_chain_get(chain, samp_chain_n(chain) - 1)->ctx;
    bool seen = false;
    int lines = 1;
    fprintf(to, "     %-18s %5s  %8s  %8s\n", "token", "id", "model", "left");
    for (int i = 0; i <= p->n_best; i++) {
        const samp_token_data *d = i < p->n_best ? &p->best[i] : &p->selected;
        if (i == p->n_best && seen) break;
        bool chosen = d->id == p->selected.id;
        show_candidate(to, m, d, exp(logprob(row, m->n_vocab, d->id)), chosen, colours);
        seen = seen || chosen;
        lines++;
    }
    return lines;
}

/* Reads what the probes saw of the last token. */
static void show_step(FILE *to, const tales_model *m, const samp_sampler *chain, size_t number, const float *row,
                      bool colours)
{
    size_t left = (size_t)m->n_vocab;
    fprintf(to, "%zu.", number);
    for (int32_t i = 1; i < samp_chain_n(chain); i += 2) {
        const probe *p = samp_chain_get(chain, i)->ctx;
        if (p->left < left) fprintf(to, " %s -%zu,", samp_name(samp_chain_get(chain, i - 1)), left - p->left);
        left = p->left;
    }
    fprintf(to, " left %zu of %d\n", left, m->n_vocab);
    show_candidates(to, m, chain, row, colours);
    putc('\n', to);
    fflush(to);
}

/* The same as a table that keeps its place: a sampler that has removed candidates once stays in it, and there is room for
 * a token that is not among the best. */
static void show_table(FILE *to, const tales_model *m, const samp_sampler *chain, const float *row, bool colours)
{
    size_t left = (size_t)m->n_vocab;
    fprintf(to, "     %-18s %15s  %8s\n     %-18s %15s  %8zu\n", "sampler", "removes", "leaves", "(the model)", "",
            left);
    for (int32_t i = 1; i < samp_chain_n(chain); i += 2) {
        probe *p = samp_chain_get(chain, i)->ctx;
        p->listed = p->listed || p->left < left;
        if (p->listed)
            fprintf(to, "     %-18s %15zu  %8zu\n", samp_name(samp_chain_get(chain, i - 1)), left - p->left, p->left);
        left = p->left;
    }
    putc('\n', to);
    for (int lines = show_candidates(to, m, chain, row, colours); lines < N_BEST + 3; lines++) putc('\n', to);
}

/* ---- the line that says how far it is, and Ctrl-C ---- */

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* The first Ctrl-C ends the stories where they are, a second one the program. */
static void catch_interrupt(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = interrupt;
    action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
}

typedef struct {
    bool on, shown;
    double begin, last;
} progress;

static double now(void);

/* On a terminal that sees no story grow: after a second, and then five times a second. */
static void progress_step(progress *pr, size_t done, size_t of)
{
    double t = now();
    if (!pr->on || t - pr->begin < 1.0 || t - pr->last < 0.2) return;
    pr->last = t;
    pr->shown = true;
    fprintf(stderr, "\r%zu of %zu tokens, %.0f tokens/s\033[K", done, of, (double)done / (t - pr->begin));
    fflush(stderr);
}

static void progress_end(progress *pr)
{
    if (pr->shown) fprintf(stderr, "\r\033[K");
    pr->shown = false;
}

/* ==== The stories =================================================================================
 * All of them live in one cache. The prompt is read once and forked; then each step of the model reads
 * one batch, in which every story has its last token and, behind it, what it guesses will follow.
 * samp_verify keeps as much of the guess as is right, and the rest is rolled back, so the stories are
 * those that there would be without guesses. A story that has filled the context forgets its older
 * half, and the rest moves down. */

enum { MAX_STORIES = 64, MAX_DRAFT = 16, NGRAM_LEAST = 3, NGRAM_MOST = 5, LONGEST = 1 << 28 };

typedef struct {
    samp_sampler *chain, *mind; /* mind: a copy of what ends its thinking, for the colours; or NULL */
    uint64_t seed;
    samp_text *text;      /* what it has shown, and whether it has stopped */
    samp_token *ids;      /* the prompt's, then the story's own */
    unsigned char *shade; /* of each */
    int n, end;           /* how many there are, and are to be */
    int pos;              /* the next token's position in the cache */
    samp_ngram *ngram;    /* the story as the source of its drafts, or NULL; it has the first n_read tokens */
    int n_read, trust;    /* trust: how many tokens to draft; more where drafts were right */
    samp_token draft[MAX_DRAFT];
    int n_draft;
    double logprob; /* of its tokens by the model alone, nats */
} story;

typedef struct {
    size_t tokens, steps;   /* added; batches that the model read, the prompt among them */
    size_t drafted, agreed; /* tokens guessed, and those that were right */
    double sampling, model; /* seconds, the prompt aside */
} figures;

typedef struct {
    tales_model *m;
    samp_kv *kv;
    samp_grammar *grammar; /* of all stories, or NULL; then they begin behind the prompt, and end with it */
    samp_vocab_index *index;
    samp_vocab lines; /* in which the end of a paragraph ends its line, for texts */
    samp_text *empty; /* of which each story, and each page that shows one anew, has a copy */
    story stories[MAX_STORIES];
    int n_stories, n_prompt;
    float *logits;      /* [n_stories * (1 + MAX_DRAFT), n_vocab] */
    bool colours, live; /* live: --show on a terminal, */
    char *table;        /* the last token's there, */
    int drawn;          /* and the lines above the cursor that the next one is drawn over */
    progress pr;
    page pg;
    figures f;
} library;

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

/* Makes room in a full context: keeps the first token, forgets at least half of the others and what is
 * left of the prompt, whose cells other stories may share. */
static void slide(library *lib, int seq)
{
    int half = lib->m->n_ctx / 2, gap = lib->n_prompt - 1 > half ? lib->n_prompt - 1 : half;
    samp_kv_seq_rm(lib->kv, seq, 1, 1 + gap);
    samp_kv_seq_add(lib->kv, seq, 1 + gap, -1, -gap);
    lib->stories[seq].pos -= gap;
}

/* The first token that belongs to a story's text. */
static int first_told(const library *lib) { return lib->grammar ? lib->n_prompt : 0; }

static void write_story(library *lib, page *pg, const story *s)
{
    const int from = first_told(lib);
    samp_text *text = samp_text_clone(lib->empty);
    page_tell(pg, text, s->ids + from, s->shade + from, (size_t)(s->n - from), s->n == s->end);
    samp_text_free(text);
}

/* ---- --show on a terminal: the table stays where it is ---- */

static void terminal_size(int *rows, int *columns)
{
    struct winsize w;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 0 && w.ws_col > 0;
    *rows = known ? w.ws_row : 24;
    *columns = known && w.ws_col < 20 ? 20 : known ? w.ws_col : 80;
}

/* How many bytes of a line a terminal shows in so many columns, or in fewer: *width. Escapes take none. */
static size_t fitting(const char *at, size_t n, int columns, int *width)
{
    bool escape = false;
    size_t i = 0;
    for (*width = 0; i < n; i++) {
        escape = escape || at[i] == '\033';
        if (!escape && begins_character(at[i])) {
            if (*width == columns) break;
            ++*width;
        }
        if (escape && at[i] == 'm') escape = false;
    }
    return i;
}

static int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

/* The lines of a text but for the first few, each over what stood there. */
static void draw_lines(FILE *to, const char *text, int skip, int columns)
{
    for (; *text; text = strchr(text, '\n') + 1) {
        int width;
        size_t n = strcspn(text, "\n"), shown = fitting(text, n, columns, &width);
        if (skip-- > 0) continue;
        fwrite(text, 1, shown, to);
        if (shown < n && memchr(text, '\033', n)) fputs("\033[0m", to);
        fputs("\033[K\n", to);
    }
}

/* The story as lines of a terminal; free it. */
static char *story_lines(library *lib, int columns)
{
    char *text = NULL;
    size_t size;
    page pg;
    FILE *to = open_memstream(&text, &size);
    if (!to) return NULL;
    page_begin(&pg, to, columns < PAGE_WIDTH ? columns : PAGE_WIDTH, lib->grammar != NULL);
    write_story(lib, &pg, lib->stories);
    page_end(&pg);
    fclose(to);
    return text;
}

/* The last token's table, then all of the story or as much of its end as the terminal has room for, in the place of the
 * last frame. It is one write, which leaves no colour on and the cursor behind it: whenever the program ends, the terminal
 * is as it was. */
static void draw_frame(library *lib, bool all)
{
    int rows, columns;
    terminal_size(&rows, &columns);
    char *story = story_lines(lib, columns - 1), *frame = NULL;
    size_t size;
    FILE *to = story ? open_memstream(&frame, &size) : NULL;
    if (to) {
        int above = lib->table ? count_lines(lib->table) : 0, below = count_lines(story);
        int room = rows - 1 - above > 3 ? rows - 1 - above : 3;
        int shown = below < room ? below : room;
        int hidden = above + shown > rows - 1 ? above + shown - (rows - 1)
                                              : 0; /* lines of a table that is too high */
        if (lib->drawn > 0) fprintf(to, "\r\033[%dA", lib->drawn);
        if (lib->table) draw_lines(to, lib->table, all ? 0 : hidden, columns - 1);
        draw_lines(to, story, all ? 0 : below - shown, columns - 1);
        fputs("\033[J", to);
        lib->drawn = above - hidden + shown;
        fclose(to);
    }
    if (frame) fwrite(frame, 1, size, stdout);
    fflush(stdout);
    free(frame);
    free(story);
}

/* The table of the token that was just taken, for a while. */
static void draw_table(library *lib, const float *row, const settings *set)
{
    size_t size;
    struct timespec pause = { (time_t)(set->pause / 1000), (long)(set->pause % 1000) * 1000000 };
    free(lib->table);
    lib->table = NULL;
    FILE *to = open_memstream(&lib->table, &size);
    if (to) {
        fprintf(to, "token %zu of %zu\n\n", lib->f.tokens, set->length);
        show_table(to, lib->m, lib->stories[0].chain, row, lib->colours);
        fclose(to);
    }
    draw_frame(lib, false);
    nanosleep(&pause, NULL); /* Ctrl-C ends it early */
}

/* Takes the token that a story goes on with. row: [n_vocab] what the model said. */
static void take(library *lib, story *s, samp_token token, const float *row, const settings *set)
{
    const int n_vocab = lib->m->n_vocab;
    double logp = set->best_of > 1 || lib->colours ? logprob(row, n_vocab, token) : 0.0;
    s->shade[s->n] = 0;
    int stage = s->mind ? samp_thinking_now(s->mind) : SAMP_THINKING_NOT;
    if (lib->colours) s->shade[s->n] = stage > 0 ? (unsigned char)(N_SHADES + stage - 1) : shade_of(exp(logp));
    if (s->mind) samp_accept(s->mind, token);
    s->ids[s->n++] = token;
    s->logprob += logp;
    const char *out;
    size_t n_out;
    if (samp_text_push(s->text, token, &out, &n_out) != SAMP_TEXT_GOES_ON) s->end = s->n;
    lib->f.tokens++;
    if (lib->live)
        draw_table(lib, row, set);
    else if (set->show)
        show_step(stdout, lib->m, s->chain, lib->f.tokens, row, lib->colours);
    if (!set->show && lib->n_stories == 1) page_write(&lib->pg, out, n_out, s->shade[s->n - 1]);
    progress_step(&lib->pr, lib->f.tokens, set->length * (size_t)lib->n_stories);
}

/* Goes on with a story. rows: [1 + n_draft, n_vocab] what the model says behind its last token and behind
 * each token of its draft. Returns SAMP_OK, or what stopped it. */
static int go_on(library *lib, int seq, const float *rows, const settings *set)
{
    story *s = &lib->stories[seq];
    samp_token out[MAX_DRAFT + 1];
    samp_draft draft = { (size_t)s->n_draft, s->draft, NULL, NULL, 0, NULL };
    double start = now();
    int32_t agreed = samp_verify(s->chain, rows, (size_t)lib->m->n_vocab, &draft, SAMP_VERIFY_EXACT, out);
    lib->f.sampling += now() - start;
    if (agreed < 0) return agreed;
    lib->f.drafted += (size_t)s->n_draft;
    if (s->n_draft > 0) s->trust = agreed == s->n_draft ? 2 * agreed : agreed > 0 ? agreed : 1;
    lib->f.agreed += (size_t)agreed;
    s->pos += agreed;
    samp_kv_seq_rm(lib->kv, seq, s->pos, -1);
    for (int i = 0; i <= agreed && s->n < s->end; i++) {
        if (out[i] < 0) return out[i];
        take(lib, s, out[i], rows + (size_t)i * (size_t)lib->m->n_vocab, set);
    }
    return SAMP_OK;
}

/* Goes on with all stories that have not ended, none of which has a draft: one row each. */
static int all_go_on(library *lib, const settings *set)
{
    samp_sampler *chains[MAX_STORIES];
    samp_token out[MAX_STORIES];
    samp_logits logits;
    memset(&logits, 0, sizeof logits);
    logits.data = lib->logits;
    logits.n_vocab = (size_t)lib->m->n_vocab;
    for (int k = 0; k < lib->n_stories; k++)
        if (lib->stories[k].n < lib->stories[k].end) chains[logits.n_rows++] = lib->stories[k].chain;
    double start = now();
    int status = samp_sample_batch(chains, &logits, out);
    lib->f.sampling += now() - start;
    for (int k = 0, row = 0; k < lib->n_stories && status == SAMP_OK; k++) {
        story *s = &lib->stories[k];
        if (s->n == s->end) continue;
        if (out[row] < 0) return out[row];
        s->pos++;
        take(lib, s, out[row], lib->logits + (size_t)row * logits.n_vocab, set);
        row++;
    }
    return status;
}

/* So that penalties know it; a grammar, the first of the chain, does not. */
static void accept_prompt(const library *lib, samp_sampler *chain, samp_token token)
{
    if (!lib->grammar) samp_accept(chain, token);
    for (int32_t i = 1; lib->grammar && i < samp_chain_n(chain); i++) samp_accept(samp_chain_get(chain, i), token);
}

/* Reads the prompt and tells the first token of each story. */
static int begin(library *lib, const settings *set)
{
    int32_t pos[TALES_MAX_BATCH];
    uint64_t seq[TALES_MAX_BATCH];
    samp_kv_batch batch = { (uint32_t)lib->n_prompt, pos, seq };
    if (lib->n_prompt > TALES_MAX_BATCH) return SAMP_E_FULL;
    for (int i = 0; i < lib->n_prompt; i++) {
        pos[i] = i;
        seq[i] = 1;
    }
    int status = tales_decode(lib->m, lib->kv, lib->stories[0].ids, &batch, 1, lib->logits);
    lib->f.steps++;
    for (int k = 0; k < lib->n_stories && status == SAMP_OK; k++) {
        story *s = &lib->stories[k];
        for (int i = 0; i < lib->n_prompt; i++) accept_prompt(lib, s->chain, s->ids[i]);
        s->n = s->pos = lib->n_prompt;
        status = samp_kv_seq_cp(lib->kv, 0, k, -1, -1);
    }
    for (int k = 0; k < lib->n_stories && status == SAMP_OK && set->length > 0; k++)
        status = go_on(lib, k, lib->logits, set);
    return status;
}

/* What a story guesses, at most so many tokens -> s->draft. Returns SAMP_OK, or what stopped it. */
static int draft(story *s, const settings *set, int most)
{
    int64_t n = 0;
    if (set->by_grammar) n = samp_grammar_draft(samp_chain_get(s->chain, 0), s->draft, (size_t)most);
    while (s->ngram && s->n_read < s->n) samp_ngram_accept(s->ngram, s->ids[s->n_read++]);
    if (s->ngram) n = samp_ngram_draft(s->ngram, s->draft, (size_t)(most < s->trust ? most : s->trust));
    s->n_draft = n < 0 ? 0 : (int)n;
    return n < 0 ? (int)n : SAMP_OK;
}

/* One step of the model, for all stories that have not ended. Sets *more if there was one. */
static int step(library *lib, const settings *set, bool *more)
{
    samp_token tokens[TALES_MAX_BATCH];
    int32_t pos[TALES_MAX_BATCH];
    uint64_t seq[TALES_MAX_BATCH];
    samp_kv_batch batch = { 0, pos, seq };
    for (int k = 0; k < lib->n_stories; k++) {
        story *s = &lib->stories[k];
        if (s->n == s->end) continue;
        if (s->pos == lib->m->n_ctx) slide(lib, k);
        int most = (int)set->draft, context = lib->m->n_ctx - s->pos - 1, rest = s->end - s->n - 1;
        int status = draft(s, set, most < context ? (most < rest ? most : rest) : context < rest ? context : rest);
        if (status != SAMP_OK) return status;
        for (int i = 0; i <= s->n_draft; i++) {
            tokens[batch.n_tokens] = i ? s->draft[i - 1] : s->ids[s->n - 1];
            pos[batch.n_tokens] = s->pos + i;
            seq[batch.n_tokens++] = (uint64_t)1 << k;
        }
    }
    *more = batch.n_tokens > 0;
    if (!*more) return SAMP_OK;

    double start = now();
    int status = tales_decode(lib->m, lib->kv, tokens, &batch, batch.n_tokens, lib->logits);
    lib->f.model += now() - start;
    lib->f.steps++;
    if (set->draft == 0 && status == SAMP_OK) return all_go_on(lib, set);
    const float *rows = lib->logits;
    for (int k = 0; k < lib->n_stories && status == SAMP_OK; k++) {
        story *s = &lib->stories[k];
        if (s->n == s->end) continue;
        int n_rows = 1 + s->n_draft;
        s->pos++;
        status = go_on(lib, k, rows, set);
        rows += (size_t)n_rows * (size_t)lib->m->n_vocab;
    }
    return status;
}

/* ---- --compare ---- */

enum { COLUMN_WIDTH = 37 };

/* How a story's settings differ from the other's, as a line. */
static void write_heading(FILE *to, const settings *set, size_t k)
{
    char text[COLUMN_WIDTH + 1] = "";
    size_t n = 0;
    for (int i = 0; i < N_OPTIONS; i++) {
        const char *list = set->lists[i];
        if (!list) continue;
        for (size_t skip = k % list_length(list); skip > 0; skip--) list = strchr(list, ',') + 1;
        int more = snprintf(text + n, sizeof text - n, "%s%s %.*s", n ? " " : "", options[i].names[0],
                            (int)strcspn(list, ","), list);
        if (more < 0 || (n += (size_t)more) >= sizeof text) break;
    }
    fprintf(to, "%s\n\n", text);
}

/* One line of a column, up to its end or the text's; padded to the width unless it is the last column. Returns what is
 * behind it. */
static const char *write_column(const char *at, bool pad)
{
    size_t n = strcspn(at, "\n");
    int width;
    fitting(at, n, INT_MAX, &width);
    fwrite(at, 1, n, stdout);
    if (pad) printf("%*s", width < COLUMN_WIDTH ? COLUMN_WIDTH - width : 0, "");
    return at + n + (at[n] == '\n');
}

static void write_side_by_side(library *lib, const settings *set)
{
    char *text[2] = { NULL, NULL };
    size_t size[2];
    for (int k = 0; k < 2; k++) {
        FILE *to = open_memstream(&text[k], &size[k]);
        page pg;
        if (!to) break;
        page_begin(&pg, to, COLUMN_WIDTH, lib->grammar != NULL);
        write_heading(to, set, (size_t)k);
        write_story(lib, &pg, &lib->stories[k]);
        page_end(&pg);
        fclose(to);
    }
    const char *left = text[0], *right = text[1];
    while (left && right && (*left || *right)) {
        left = write_column(left, true);
        fputs(" | ", stdout);
        right = write_column(right, false);
        putchar('\n');
    }
    free(text[0]);
    free(text[1]);
}

/* What has not been written as it was told. */
static void write_stories(library *lib, const settings *set)
{
    const story *best = lib->stories;
    if (set->compare) {
        write_side_by_side(lib, set);
        return;
    }
    if (lib->n_stories == 1) {
        if (lib->live) {
            draw_frame(lib, true);
            return;
        }
        if (set->show)
            write_story(lib, &lib->pg, best);
        else
            page_tell(&lib->pg, best->text, NULL, NULL, 0, true);
        page_end(&lib->pg);
        return;
    }
    for (const story *s = lib->stories; s < lib->stories + lib->n_stories; s++) {
        if (s->logprob > best->logprob) best = s;
        if (set->best_of > 1) {
            fprintf(stderr, "seed %llu: log-probability %.2f\n", (unsigned long long)s->seed, s->logprob);
            continue;
        }
        printf("%s(seed %llu)\n\n", s > lib->stories ? "\n" : "", (unsigned long long)s->seed);
        write_story(lib, &lib->pg, s);
        page_end(&lib->pg);
    }
    if (set->best_of == 1) return;
    write_story(lib, &lib->pg, best);
    page_end(&lib->pg);
}

/* Returns SAMP_OK, or what stopped it. */
static int tell(library *lib, const settings *set)
{
    bool more = true, silent = lib->n_stories > 1 || !isatty(STDOUT_FILENO);
    page_begin(&lib->pg, stdout, lib->grammar ? INT_MAX : PAGE_WIDTH, lib->grammar != NULL);
    lib->pr.on = silent && isatty(STDERR_FILENO);
    lib->pr.begin = now();
    catch_interrupt();
    for (int k = 0; k < lib->n_stories; k++) {
        const char *out;
        size_t n;
        for (int i = first_told(lib); i < lib->n_prompt; i++) {
            samp_text_push(lib->stories[k].text, lib->stories[k].ids[i], &out, &n);
            if (lib->n_stories == 1 && !set->show) page_write(&lib->pg, out, n, 0);
        }
    }
    int status = begin(lib, set);
    while (status == SAMP_OK && more && !interrupted) status = step(lib, set, &more);
    progress_end(&lib->pr);
    write_stories(lib, set);
    return status;
}

/* ---- --beams ---- */

/* Reads the beams' last tokens, or the prompt, into the cache, and writes their logits. Beam i is sequence first + i. */
static int decode_beams(library *lib, int first, const samp_token *tokens, int n, int at)
{
    int32_t pos[TALES_MAX_BATCH];
    uint64_t seq[TALES_MAX_BATCH];
    samp_kv_batch batch = { (uint32_t)n, pos, seq };
    const double start = now();
    if (n > TALES_MAX_BATCH) return SAMP_E_FULL;
    for (int i = 0; i < n; i++) {
        pos[i] = at < 0 ? i : at;
        seq[i] = (uint64_t)1 << (at < 0 ? first : first + i);
    }
    const int status = tales_decode(lib->m, lib->kv, tokens, &batch, at < 0 ? 1 : batch.n_tokens, lib->logits);
    lib->f.model += now() - start;
    lib->f.steps++;
    return status;
}

/* Writes the endings, best first, with their scores. */
static void write_endings(library *lib, const samp_beams *beams)
{
    for (int32_t i = 0; i < samp_beams_n_found(beams); i++) {
        const samp_token *ids = NULL;
        size_t n = 0;
        double score = 0.0;
        samp_text *text = samp_text_clone(lib->empty);
        samp_beams_found(beams, i, &ids, &n, &score);
        printf("%s(%.4f a token, %zu tokens)\n\n", i ? "\n" : "", score, n);
        if (text) {
            page_tell(&lib->pg, text, lib->stories[0].ids + first_told(lib), NULL,
                      (size_t)(lib->n_prompt - first_told(lib)), false);
            page_tell(&lib->pg, text, ids, NULL, n, true);
        }
        page_end(&lib->pg);
        samp_text_free(text);
    }
}

/* The best endings of the prompt. Two sets of sequences take turns, so that no beam overwrites its parent. */
static int search(library *lib, const settings *set)
{
    const samp_token end = TALES_END;
    const int n_beams = lib->n_stories, room = lib->m->n_ctx - lib->n_prompt;
    const samp_beam_params params = { .n_beams = n_beams,
                                      .max_tokens = (int32_t)set->length < room ? (int32_t)set->length : room,
                                      .length_penalty = 1.0f,
                                      .ends = &end,
                                      .n_ends = 1 };
    samp_token tokens[MAX_STORIES];
    int32_t parents[MAX_STORIES];
    samp_sampler *chains[MAX_STORIES];
    int status = SAMP_OK, now_at = 0, n = 1;
    samp_beams *beams = samp_beams_init(&params, &status);
    page_begin(&lib->pg, stdout, lib->grammar ? INT_MAX : PAGE_WIDTH, lib->grammar != NULL);
    for (int k = 0; k < n_beams; k++) {
        chains[k] = lib->stories[k].chain;
        for (int i = 0; i < lib->n_prompt; i++) accept_prompt(lib, chains[k], lib->stories[0].ids[i]);
    }
    if (!status) status = decode_beams(lib, 0, lib->stories[0].ids, lib->n_prompt, -1);
    for (int pos = lib->n_prompt; !status && n > 0; pos++) {
        const samp_logits rows = { .data = lib->logits, .n_rows = (size_t)n, .n_vocab = (size_t)lib->m->n_vocab };
        const double start = now();
        n = samp_beams_step(beams, chains, &rows, tokens, parents);
        lib->f.sampling += now() - start;
        lib->f.tokens += n > 0 ? (size_t)n : 0;
        for (int i = 0; i < n; i++) samp_kv_seq_cp(lib->kv, now_at + parents[i], n_beams - now_at + i, -1, -1);
        for (int i = 0; i < n_beams; i++) samp_kv_seq_rm(lib->kv, now_at + i, -1, -1);
        now_at = n_beams - now_at;
        status = n > 0 ? decode_beams(lib, now_at, tokens, n, pos) : n;
    }
    if (!status) write_endings(lib, beams);
    samp_beams_free(beams);
    return status;
}

/* The text of a file, or NULL. */
static char *read_file(const char *path)
{
    enum { MOST = 1 << 22 };
    FILE *f = fopen(path, "rb");
    char *text = f ? malloc(MOST + 1) : NULL;
    if (text) {
        size_t n = fread(text, 1, MOST, f);
        text[n] = 0;
        if (ferror(f)) {
            free(text);
            text = NULL;
        }
    }
    if (f) fclose(f);
    return text;
}

/* The grammar of the stories, if there is one; false after a message. */
static bool read_grammar(library *lib, const settings *set, const samp_vocab *vocab)
{
    const char *path = set->schema ? set->schema : set->grammar;
    if (!path) return true;
    char *text = read_file(path);
    if (!text) {
        fprintf(stderr, "tales: %s: %s\n", path, strerror(errno));
        return false;
    }
    samp_grammar_error error;
    lib->grammar = samp_grammar_init(set->schema ? SAMP_GRAMMAR_JSON_SCHEMA : SAMP_GRAMMAR_GBNF, text,
                                     set->schema ? "ordered spaced" : NULL, &error);
    lib->index = samp_vocab_index_init(vocab, NULL);
    free(text);
    if (!lib->grammar) fprintf(stderr, "tales: %s:%zu:%zu: %s\n", path, error.line, error.column, error.message);
    if (lib->grammar && !lib->index) fprintf(stderr, "tales: not enough memory\n");
    return lib->grammar && lib->index;
}

enum { MAX_STRINGS = 64, MAX_LIST = 1000 };

/* The strings with commas between them -> strings [MAX_STRINGS], in text [MAX_LIST]. Returns how many. */
static size_t strings_of(const char *list, char *text, const char **strings)
{
    size_t n = 0;
    snprintf(text, MAX_LIST, "%s", list ? list : "");
    for (char *one = strtok(text, ","); one && n < MAX_STRINGS; one = strtok(NULL, ",")) strings[n++] = one;
    return n;
}

/* What stories must not say. */
static samp_sampler *banned(const char *list, const samp_vocab *vocab)
{
    char text[MAX_LIST];
    const char *strings[MAX_STRINGS];
    return samp_init_banned_strings(vocab, strings, strings_of(list, text, strings), 0);
}

/* The end of a paragraph ends its line. */
static const char *line_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    *n_bytes = 1;
    return token == TALES_END ? "\n" : tales_piece(vocab->user, token, n_bytes);
}

/* The vocabulary of texts. Only a grammar's text ends with a paragraph. */
static samp_vocab line_vocab(const samp_vocab *usual, bool ends)
{
    samp_vocab vocab = *usual;
    vocab.token_bytes = line_bytes;
    if (!ends) vocab.n_eog = 0;
    return vocab;
}

/* The text of which all stories begin with a copy. Nothing stops it within the prompt. */
static samp_text *empty_text(const library *lib, const settings *set)
{
    char text[MAX_LIST];
    const char *strings[MAX_STRINGS];
    const samp_text_options options = { .min_tokens = lib->grammar ? 0 : lib->n_prompt };
    return samp_text_init(&lib->lines, strings, strings_of(set->stop, text, strings), &options, NULL);
}

/* Thinking that ends well: from the prompt to the end of a paragraph. At half of its tokens it is told to stop, as the
 * next one begins. */
static samp_sampler *thinking(const tales_model *m, const settings *set, const samp_vocab *usual)
{
    static samp_vocab vocab;
    enum { PROMPT = 1024, END = 16, NOTE = 32 };
    samp_token prompt[PROMPT], end[END + 1], note[NOTE + 1];
    int n_prompt = tales_tokenise(m, set->prompt, prompt, PROMPT), n_end = tales_tokenise(m, "</think>", end, END);
    int n_note = tales_tokenise(m, "I have thought enough.", note, NOTE);
    if (n_prompt < 1 || n_end < 1 || n_note < 1) return NULL;
    end[n_end++] = note[n_note++] = TALES_END;
    vocab = line_vocab(usual, true);
    const samp_thinking span = { prompt, (size_t)n_prompt, end + 1, (size_t)n_end - 1, NULL, 0 };
    samp_thinking_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.soft_ratio = 0.5f;
    plan.grace = 40;
    plan.note = note + 1; /* all texts begin with the same token */
    plan.n_note = (size_t)n_note - 1;
    return samp_init_thinking(&vocab, &span, 1, set->think > LONGEST ? LONGEST : (int32_t)set->think, -1, &plan);
}

/* The mark of a key; NULL, or what is wrong. The key itself is told to nobody. */
static const char *read_mark(const settings *set, const char *key, uint64_t seed, samp_watermark *mark)
{
    samp_watermark kind = samp_default_watermark(SAMP_WATERMARK_GUMBEL);
    if (samp_watermark_set(&kind, "kind", set->mark_kind) != SAMP_OK)
        return "--watermark-kind: gumbel, gumbel_dual, synthid, sbw_selfhash or sbw_lefthash";
    *mark = samp_default_watermark(kind.kind);
    mark->seed = seed;
    if (samp_watermark_set(mark, "key", key) != SAMP_OK) return "--watermark, --detect: a key is a number below 2^64";
    return NULL;
}

/* A chain becomes one that marks: in dist's place, or in front (SBW). False: there is no dist that it could stand for. */
static bool add_mark(samp_sampler *chain, const samp_watermark *mark)
{
    const int32_t last = samp_chain_n(chain) - 1;
    if (mark->kind == SAMP_WATERMARK_SBW_SELFHASH || mark->kind == SAMP_WATERMARK_SBW_LEFTHASH) {
        bool masks = samp_grammar_is_complete(samp_chain_get(chain, 0)) >= 0;
        return samp_chain_insert(chain, masks ? 1 : 0, samp_init_watermark(mark)) == SAMP_OK;
    }
    if (strcmp(samp_name(samp_chain_get(chain, last)), "dist") != 0) return false;
    samp_free(samp_chain_remove(chain, last));
    return samp_chain_add(chain, samp_init_watermark(mark)) == SAMP_OK;
}

static int32_t whole(size_t n) { return n > INT32_MAX ? INT32_MAX : (int32_t)n; }

/* Moves the samplers of a chain behind the stories' grammar, and what else they must keep to. */
static samp_sampler *with_rules(const library *lib, const settings *set, samp_sampler *plain,
                                const samp_params *params)
{
    samp_sampler *chain = samp_chain_init();
    int32_t window = params->n_ctx_train, n = whole(set->ngram), loop = whole(set->loop);
    samp_set_rng(chain, params->rng);
    if (lib->grammar) samp_chain_add(chain, samp_init_grammar(lib->index, lib->grammar));
    if (set->think) samp_chain_add(chain, thinking(lib->m, set, params->vocab));
    if (set->ban) samp_chain_add(chain, banned(set->ban, params->vocab));
    if (n > 0) samp_chain_add(chain, samp_init_no_repeat_ngram(n, n > window ? n : window));
    if (set->loop) samp_chain_add(chain, samp_init_loop_breaker(4, window / 2, loop, window, 1, INFINITY));
    while (samp_chain_n(plain) > 0) samp_chain_add(chain, samp_chain_remove(plain, 0));
    samp_free(plain);
    return chain;
}

/* The chain for the parameters, which set has but for the seed; or NULL after a message. */
static samp_sampler *make_chain(const library *lib, const settings *set, const samp_params *params)
{
    const char *field = NULL;
    samp_sampler *chain = samp_chain_from_params(params, NULL);
    bool rules = lib->grammar || set->think || set->ban || set->ngram || set->loop;
    if (samp_status(chain, NULL) == SAMP_OK && rules) chain = with_rules(lib, set, chain, params);
    int status = chain ? samp_status(chain, &field) : SAMP_E_NOMEM;
    samp_watermark mark;
    if (status == SAMP_OK && set->mark && !read_mark(set, set->mark, params->seed, &mark) &&
        !add_mark(chain, &mark)) {
        fprintf(stderr,
                "tales: --watermark: this kind needs a draw (--temp above 0, no --mirostat, no --adaptive-target)\n");
        samp_free(chain);
        return NULL;
    }
    if (status == SAMP_OK && set->show) {
        chain = with_probes(chain, params->rng);
        status = chain ? samp_status(chain, &field) : SAMP_E_NOMEM;
    }
    if (status == SAMP_OK) return chain;

    const option *o = option_of_field(field);
    fprintf(stderr, "tales: %s", o ? o->names[0] : field ? field : "the chain");
    if (o) print_value(stderr, o, set, " ", "");
    fprintf(stderr, ": %s\n", o ? wants(o, status, NULL) : samp_strerror(status));
    samp_free(chain);
    return NULL;
}

static void report(const library *lib, const settings *set)
{
    const figures *f = &lib->f;
    double seconds = f->sampling + f->model;
    char text[2048];
    if (f->tokens > 0) {
        fprintf(stderr, "\n%zu tokens in %zu model steps, %.0f tokens/s; ", f->tokens, f->steps,
                (double)f->tokens / seconds);
        fprintf(stderr, "sampling %.2f us a token (%.2f %%)\n", 1e6 * f->sampling / (double)f->tokens,
                100.0 * f->sampling / seconds);
    }
    for (const story *s = lib->stories; lib->grammar && s < lib->stories + lib->n_stories; s++)
        if (samp_grammar_is_complete(samp_chain_get(s->chain, 0)) == 0)
            fprintf(stderr, "seed %llu: its text is not complete (--length)\n", (unsigned long long)s->seed);
    if (lib->colours) {
        bool on = isatty(STDERR_FILENO);
        fprintf(stderr, "colours:");
        for (int i = 0; i < N_SHADES + (set->think ? N_STAGES : 0); i++)
            fprintf(stderr, "%s %s%s%s", i ? "," : "", on ? shades[i].escape : "", shades[i].name,
                    on && *shades[i].escape ? "\033[0m" : "");
        fputc('\n', stderr);
    }
    if (set->draft > 0) fprintf(stderr, "%zu of %zu drafted tokens were accepted\n", f->agreed, f->drafted);
    if (set->verbose && samp_describe(lib->stories[0].chain, text, sizeof text) >= 0) fprintf(stderr, "%s\n", text);
}

/* Chains, tokens and cache for the stories; false after a message. The prompt's tokens must be the first story's. */
static bool open_library(library *lib, settings *set, const samp_vocab *vocab)
{
    size_t rows = (size_t)lib->n_stories * (1 + MAX_DRAFT), n_ids = (size_t)lib->m->n_ctx + set->length;
    if (!read_grammar(lib, set, vocab)) return false;
    for (int k = 0; k < lib->n_stories; k++) {
        story *s = &lib->stories[k];
        for (int i = 0; i < N_OPTIONS; i++)
            if (set->lists[i]) parse_item(&options[i], set->lists[i], (size_t)k, set); /* this story's */
        samp_params params = *samp_settings_params(set->sampling);
        params.n_vocab = vocab->n_vocab;
        params.vocab = vocab;
        params.n_ctx_train = lib->m->n_ctx;
        if (!set->compare && !set->beams && !set->lists[find_option("--seed", 6) - options])
            params.seed += (uint64_t)k;
        s->seed = params.seed;
        s->chain = make_chain(lib, set, &params);
        if (!s->chain) return false;
        s->mind = set->think ? thinking(lib->m, set, vocab) : NULL;
        s->ids = malloc(n_ids * sizeof *s->ids);
        s->shade = calloc(n_ids, 1);
        if (set->draft > 0 && !set->by_grammar)
            s->ngram = samp_ngram_init(NGRAM_LEAST, NGRAM_MOST, n_ids < NGRAM_MOST ? NGRAM_MOST : n_ids);
        if (!s->ids || !s->shade || (set->draft > 0 && !set->by_grammar && !s->ngram)) break;
        lib->n_prompt = tales_tokenise(lib->m, set->prompt, s->ids, lib->m->n_ctx);
        if (lib->n_prompt < 0) {
            fprintf(stderr, "tales: the prompt has more than %d tokens\n", lib->m->n_ctx - 1);
            return false;
        }
        for (int i = 0; s->mind && i < lib->n_prompt; i++) samp_accept(s->mind, s->ids[i]);
        s->end = lib->n_prompt + (int)set->length;
        s->trust = 2;
    }
    lib->logits = malloc(rows * (size_t)lib->m->n_vocab * sizeof *lib->logits);
    lib->kv = tales_cache(lib->m, lib->n_stories * lib->m->n_ctx, lib->n_stories * (set->beams ? 2 : 1), SAMP_F32,
                          false);
    lib->lines = line_vocab(vocab, lib->grammar != NULL);
    lib->empty = empty_text(lib, set);
    for (int k = 0; k < lib->n_stories; k++) lib->stories[k].text = samp_text_clone(lib->empty);
    const story *last = &lib->stories[lib->n_stories - 1];
    const bool drafts = last->ngram || !set->draft || set->by_grammar;
    if (lib->logits && lib->kv && last->ids && last->shade && last->text && drafts) return true;
    fprintf(stderr, "tales: not enough memory\n");
    return false;
}

static void close_library(library *lib)
{
    for (int k = 0; k < lib->n_stories; k++) {
        samp_free(lib->stories[k].chain);
        samp_free(lib->stories[k].mind);
        samp_ngram_free(lib->stories[k].ngram);
        samp_text_free(lib->stories[k].text);
        free(lib->stories[k].ids);
        free(lib->stories[k].shade);
    }
    samp_text_free(lib->empty);
    samp_grammar_free(lib->grammar);
    samp_vocab_index_free(lib->index);
    samp_kv_free(lib->kv);
    free(lib->logits);
    free(lib->table);
}

/* ==== --why, --ratio ==============================================================================
 * One story, drawn token by token without threads, and what samp_explain, samp_score and a replay say of it. */

enum { LONGEST_WHY = 200, SUPPORT = 4096 };

/* The row of logits behind the prompt and n tokens of the story; -> logits, valid until the next call. */
static const float *row_behind(tales_model *m, const samp_token *ids, int n)
{
    return tales_eval(m, ids[n - 1], n - 1);
}

static void print_piece(const tales_model *m, samp_token token)
{
    size_t n;
    const char *text = tales_piece(m, token, &n);
    printf("%d \"%.*s\"", (int)token, (int)n, text);
}

/* The tokens before the chosen one in the model's order, three at most, and what removed them. */
static int print_others(const tales_model *m, samp_sampler *chain, const float *row, samp_token token)
{
    samp_score_result score;
    int status = SAMP_OK, lines = 0;
    for (samp_token t = 0; t < m->n_vocab && lines < 3 && !status; t++) {
        if (t == token || row[t] <= row[token]) continue;
        status = samp_score(chain, row, (size_t)m->n_vocab, t, &score);
        if (status || score.rank > 3) continue;
        printf("    rather than ");
        print_piece(m, t);
        printf(", p %.4f, rank %d: %s%s\n", exp((double)score.raw), (int)score.rank,
               score.removed_by ? "removed by " : "not drawn", score.removed_by ? score.removed_by : "");
        lines++;
    }
    return status;
}

/* Draws a story, and prints a table for each token. -> a status */
static int why(tales_model *m, samp_sampler *chain, samp_token *ids, int n, int end)
{
    samp_explained line[64];
    int status = SAMP_OK;
    const float *row = NULL;
    for (int i = 0; i < n; i++) row = row_behind(m, ids, i + 1);
    for (; n < end && n < m->n_ctx && status >= 0; n++) {
        samp_sampler *before = samp_clone(chain);
        ids[n] = samp_sample(chain, row, (size_t)m->n_vocab);
        status = ids[n] < 0 ? ids[n] : samp_explain(before, row, (size_t)m->n_vocab, ids[n], line, 64);
        if (status < 0) break;
        print_piece(m, ids[n]);
        printf("\n    %-14s %8s %10s %10s\n", "", "left", "mass", "p");
        for (int i = 0; i < status && i < 64; i++)
            printf("    %-14s %8zu %10.6f %10.6f\n", line[i].name, line[i].n_left, line[i].mass, (double)line[i].p);
        status = print_others(m, before, row, ids[n]);
        samp_free(before);
        if (ids[n] == TALES_END) break;
        row = row_behind(m, ids, n + 1);
    }
    return status < 0 ? status : SAMP_OK;
}

/* The sum of a text's importance ratios e^(a - b), and the largest distance of a - b from 0. */
typedef struct ratios {
    double sum, most;
    int n;
} ratios;

static void add_ratio(ratios *r, double a, double b)
{
    r->sum += exp(a - b);
    if (fabs(a - b) > r->most) r->most = fabs(a - b);
    r->n++;
}

/* Draws a story from f32 logits, replays it with logits rounded to bf16, and prints the importance ratio of the two: with
 * the trainer's whole distribution, and masked to the tokens that the sampler could have drawn. -> a status */
static int ratio(tales_model *m, samp_sampler *chain, samp_token *ids, int n, int end)
{
    static samp_token support[SUPPORT];
    static float given[SUPPORT];
    ratios whole = { 0, 0, 0 }, masked = { 0, 0, 0 };
    const int n_vocab = m->n_vocab;
    uint16_t *rounded = malloc((size_t)n_vocab * sizeof *rounded);
    const float *row = NULL;
    int status = rounded ? SAMP_OK : SAMP_E_NOMEM;
    for (int i = 0; i < n && !status; i++) row = row_behind(m, ids, i + 1);
    for (; n < end && n < m->n_ctx && !status; n++) {
        samp_support left = { support, NULL, SUPPORT, 0, 0 };
        samp_logprobs sampler = { .support = &left }, trainer = { .raw = { .ids = support, .id_logprobs = given } };
        samp_logits logits = { .data = row, .n_rows = 1, .n_vocab = (size_t)n_vocab, .logprobs = &sampler };
        status = samp_sample_batch(&chain, &logits, &ids[n]);
        if (!status && ids[n] < 0) status = ids[n];
        if (status) break;
        for (int i = 0; i < n_vocab; i++) {
            uint32_t bits;
            memcpy(&bits, &row[i], 4);
            rounded[i] = (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
        }
        const int32_t asked = left.n <= SAMP_MAX_TOP_LOGPROBS ? (int32_t)left.n : 0;
        trainer.raw.n_ids = asked;
        trainer.raw.chosen.token = ids[n];
        logits.data = rounded, logits.dtype = SAMP_BF16, logits.logprobs = &trainer;
        if ((status = samp_raw_logprobs(&logits))) break;
        double mass = 0;
        for (int32_t i = 0; i < asked; i++) mass += exp((double)given[i]);
        add_ratio(&whole, (double)trainer.raw.chosen.logprob, (double)sampler.processed.chosen.logprob);
        if (asked)
            add_ratio(&masked, (double)trainer.raw.chosen.logprob - log(mass), (double)sampler.processed.chosen.logprob);
        if (ids[n] == TALES_END) break;
        row = row_behind(m, ids, n + 1);
    }
    if (!status && whole.n && masked.n) {
        printf("importance ratios of %d tokens, f32 drawn, bf16 replayed:\n", whole.n);
        printf("    whole distribution   mean %.4f   largest |ln| %.4f\n", whole.sum / whole.n, whole.most);
        printf("    masked by support    mean %.4f   largest |ln| %.4f\n", masked.sum / masked.n, masked.most);
    }
    free(rounded);
    return status;
}

/* False after a message. */
static bool look_closer(tales_model *m, const settings *set)
{
    samp_token *ids = malloc((size_t)m->n_ctx * sizeof *ids);
    int status = SAMP_OK, n = ids ? tales_tokenise(m, set->prompt, ids, m->n_ctx) : 0;
    samp_params params = *samp_settings_params(set->sampling);
    params.n_vocab = m->n_vocab;
    if (set->ratio) params.temp = 1.0f; /* a trainer knows the model's logits, not a sampler's temperature */
    samp_sampler *chain = n > 0 ? samp_chain_from_params(&params, &status) : NULL;
    for (int i = 0; i < n && chain && !status; i++) status = samp_accept(chain, ids[i]);
    const int length = set->length < LONGEST_WHY ? (int)set->length : LONGEST_WHY;
    if (n <= 0)
        status = SAMP_E_RANGE;
    else if (!status)
        status = (set->why ? why : ratio)(m, chain, ids, n, n + length);
    if (status) fprintf(stderr, "tales: %s\n", samp_strerror(status));
    samp_free(chain);
    free(ids);
    return status == SAMP_OK;
}

/* ==== --detect ====================================================================================
 * A story as the page shows it becomes tokens again: lines are joined, an empty line ends a paragraph. Where the pieces
 * fall otherwise than when it was told, a few tokens do not count for the mark. */

enum { LONGEST_TEXT = 1 << 20, STRETCH = 100 };

/* The file's paragraphs, each one line with a 0 behind it, then an empty one; NULL: it can't be read. */
static char *read_paragraphs(const char *path)
{
    FILE *from = fopen(path, "rb");
    char *text = from ? malloc(LONGEST_TEXT + 2) : NULL;
    size_t n = 0;
    if (text) {
        int breaks = 0;
        for (int c; n < LONGEST_TEXT && (c = getc(from)) != EOF;) {
            breaks = c == '\n' ? breaks + 1 : c <= ' ' ? breaks : 0;
            bool follows = n > 0 && text[n - 1] != ' ' && text[n - 1] != 0;
            if (c > ' ')
                text[n++] = (char)c;
            else if (breaks > 1 && n > 0 && text[n - 1] == ' ')
                text[n - 1] = 0;
            else if (follows)
                text[n++] = ' ';
        }
        if (n > 0 && text[n - 1] == ' ') n--;
        text[n] = text[n + 1] = 0;
    }
    if (from) fclose(from);
    return text;
}

/* False after a message. */
static bool detect(const tales_model *m, const samp_vocab *lines, const settings *set)
{
    samp_watermark mark;
    samp_watermark_result whole_text;
    samp_watermark_span span;
    char *text = read_paragraphs(set->text);
    int32_t *ids = text ? malloc((2 * LONGEST_TEXT + 4) * sizeof *ids) : NULL;
    int n = 0, more = 0;
    for (const char *at = text; ids && more >= 0 && *at; at += strlen(at) + 1, n += more) {
        if (n > 0) ids[n++] = TALES_END;
        more = tales_tokenise(m, at, ids + n, 2 * LONGEST_TEXT - n);
    }
    bool good = ids && more >= 0 && n > 1 && !read_mark(set, set->detect, 0, &mark);
    if (good) { /* ids [0] stands before a story */
        n--;
        memmove(ids, ids + 1, (size_t)n * sizeof *ids);
        good = samp_watermark_detect(&mark, ids, (size_t)n, &whole_text) == SAMP_OK &&
               samp_watermark_find(&mark, ids, (size_t)n, STRETCH, &span) == SAMP_OK;
    }
    if (good) {
        page pg;
        printf("p = %.3g: how likely a text without this mark looks as much like a marked one (%zu of %d tokens "
               "count)\n",
               whole_text.p_value, whole_text.n_scored, n);
        if (span.p_value > 0.01) printf("no %d tokens in a row look marked (p = %.3g)\n", STRETCH, span.p_value);
        if (span.p_value <= 0.01) {
            printf("most clearly marked: tokens %zu to %zu, p = %.3g:\n\n", span.begin, span.end, span.p_value);
            samp_text *part = samp_text_init(lines, NULL, 0, NULL, NULL);
            page_begin(&pg, stdout, PAGE_WIDTH, false);
            page_tell(&pg, part, ids + span.begin, NULL, span.end - span.begin, true);
            page_end(&pg);
            samp_text_free(part);
        }
    } else {
        fprintf(stderr, "tales: --text %s: no text, or it cannot be read\n", set->text);
    }
    free(text);
    free(ids);
    return good;
}

static size_t how_many(const settings *set)
{
    if (set->compare) return 2;
    if (set->beams) return set->beams;
    return set->parallel > set->best_of ? set->parallel : set->best_of;
}

/* What is wrong with the settings that the library of samplers doesn't judge, or NULL. */
static const char *wrong(const settings *set, int n_ctx)
{
    static char text[256];
    size_t n = how_many(set), lists = 0;
    if (set->length > LONGEST) return "--length: that is too long";
    if (set->draft > MAX_DRAFT) return "--draft: at most 16 tokens";
    if (set->parallel < 1 || set->best_of < 1 || n > MAX_STORIES) return "--parallel, --best-of: 1 to 64 stories";
    if (set->beams > MAX_STORIES / 2) return "--beams: at most 32";
    if (set->beams &&
        (set->compare || set->parallel > 1 || set->best_of > 1 || set->show || set->draft || set->think))
        return "--beams: without --compare, --parallel, --best-of, --show, --draft and --think";
    if (set->beams && set->length == 0) return "--beams: --length is at least 1";
    if (set->parallel > 1 && set->best_of > 1) return "--parallel and --best-of: only one of them";
    if (n * (size_t)n_ctx > TALES_MAX_CELLS) return "--parallel, --best-of: too many stories for this model";
    if (strcmp(set->color, "auto") && strcmp(set->color, "always") && strcmp(set->color, "never"))
        return "--color: auto, always or never";
    if (set->compare && (set->parallel > 1 || set->best_of > 1 || set->show))
        return "--compare: without --parallel, --best-of and --show";
    if (set->show && (n > 1 || set->draft > 0)) return "--show: one story, token by token, without a draft";
    if (set->by_grammar && !set->grammar && !set->schema) return "--draft grammar: with --grammar or --json-schema";
    if (set->think && (set->grammar || set->schema)) return "--think: without --grammar and --json-schema";
    if (!set->detect != !set->text) return "--detect KEY and --text FILE: both of them";
    samp_watermark mark;
    const char *error = set->mark ? read_mark(set, set->mark, 0, &mark) : NULL;
    if (!error && set->detect) error = read_mark(set, set->detect, 0, &mark);
    if (error) return error;
    if (set->grammar && set->schema) return "--grammar and --json-schema: only one of them";
    for (int i = 0; i < N_OPTIONS; i++) {
        const char *list = set->lists[i];
        lists += list != NULL;
        if (!list || list_length(list) <= n) continue;
        snprintf(text, sizeof text, "%s %.99s: %zu values, but %zu stor%s (--parallel N; a decimal has a point)",
                 options[i].names[0], list, list_length(list), n, n == 1 ? "y" : "ies");
        return text;
    }
    if (set->compare && lists == 0) return "--compare: give a setting two values, like --temp 0.5,1.3";
    return NULL;
}

/* Where the model is, if nobody says: in the repository we stand in, or beside the program, or in the repository that
 * its folder is in. -> path [size] */
static void find_model(const char *program, char *path, size_t size)
{
    static const char *const beside[] = { "/tales.bin", "/../bench/data/tales.bin", "/data/tales.bin" };
    char folder[4096];
    ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (n > 0)
        folder[n] = 0;
    else
        snprintf(folder, sizeof folder, "%s", program);
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    snprintf(path, size, "bench/data/tales.bin");
    for (int i = 0; i < 3 && slash && access(path, R_OK) != 0; i++) snprintf(path, size, "%s%s", folder, beside[i]);
}

int main(int argc, char **argv)
{
    settings set;
    char model[4200];
    if (!default_settings(&set)) return 1;
    bool good = parse_options(argc, argv, &set);
    if (good && set.help) print_help();
    if (!good || set.help) {
        samp_settings_free(set.sampling);
        return good ? 0 : 2;
    }
    find_model(argv[0], model, sizeof model);
    if (!set.model) set.model = model;

    tales_model m;
    const char *error = tales_load(&m, set.model);
    if (error) {
        fprintf(stderr, "tales: %s: %s (--model says where it is)\n", set.model, error);
        samp_settings_free(set.sampling);
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
    static library lib;
    int result = 2;
    lib.m = &m;
    error = wrong(&set, m.n_ctx);
    if (error) {
        fprintf(stderr, "tales: %s\n", error);
    } else if (set.detect) {
        lib.lines = line_vocab(&vocab, false);
        result = detect(&m, &lib.lines, &set) ? 0 : 1;
    } else if (set.why || set.ratio) {
        result = look_closer(&m, &set) ? 0 : 1;
    } else {
        lib.n_stories = (int)how_many(&set);
        lib.colours = wants_colours(set.color);
        lib.live = set.show && on_terminal();
        if (open_library(&lib, &set, &vocab)) {
            int status = set.beams ? search(&lib, &set) : tell(&lib, &set);
            report(&lib, &set);
            if (status != SAMP_OK) fprintf(stderr, "tales: %s\n", samp_strerror(status));
            result = status == SAMP_OK ? 0 : 1; /* of a story that was interrupted too: see the end */
        }
    }
    close_library(&lib);
    samp_settings_free(set.sampling);
    tales_free(&m);
    if ((fflush(stdout) || ferror(stdout)) && result == 0) { /* a full disk */
        perror("tales");
        result = 1;
    }
    if (interrupted) raise(SIGINT); /* so that the shell knows */
    return result;
}
