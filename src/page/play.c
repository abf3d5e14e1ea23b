/* play.c - what the page to play with asks of sampling.h and the story model: make play, which makes it WebAssembly.
 *
 * The page says in lines of text what the settings are (play_configure), and gets JSON: what samplers and settings there
 * are, what each sampler of a chain makes of a row, tokens, C code. Names, defaults and ranges of settings are the
 * header's own (samp_settings); what is only known here is one table of samplers, and one of sliders.
 *
 * The row to look at is the story model's behind a text, or one of another model of which there are no texts of tokens.
 * All functions belong to one thread; the text that one returns lasts until the next one that returns a text. */

#include <stdarg.h>
#include <time.h>

#define SAMPLING_KV
#define SAMPLING_GRAMMAR
#define SAMPLING_GUMBEL
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "bench/demo/tales_model.h"

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
#else
#define EXPORT(name)
#endif

/* ==== Samplers and sliders ========================================================================
 * A sampler is made by an expression of samp_params, which is also the code that the page shows, with values in place of
 * the members. Those that select come last in a chain. */

static const char *const breakers[] = { "\n", ":", "\"", "*" };

/* clang-format off */
#define STAGES(X) \
    X(logit_bias, "logit_bias", "adds to logits; -inf bans", \
      samp_init_logit_bias(p->n_vocab, p->n_logit_bias, p->logit_bias)) \
    X(penalties, "penalty_repeat penalty_freq penalty_present penalty_last_n", "against repeated tokens", \
      samp_init_penalties(p->penalty_last_n, p->penalty_repeat, p->penalty_freq, p->penalty_present)) \
    X(dry, "dry_multiplier dry_base dry_allowed_length dry_penalty_last_n", "against repeated sequences", \
      samp_init_dry(p->vocab, p->n_ctx_train, p->dry_multiplier, p->dry_base, p->dry_allowed_length, \
                    p->dry_penalty_last_n, breakers, 4)) \
    X(top_n_sigma, "top_n_sigma", "n deviations from the best", \
      samp_init_top_n_sigma(p->top_n_sigma)) \
    X(top_k, "top_k top_k_ties", "the k best; with ties: and their equals", \
      p->top_k_ties ? samp_init_top_k_ties(p->top_k) : samp_init_top_k(p->top_k)) \
    X(tail_free, "tfs_z", "cuts where p flattens", samp_init_tail_free(p->tfs_z, p->min_keep)) \
    X(typical, "typ_p", "surprise near the entropy", samp_init_typical(p->typ_p, p->min_keep)) \
    X(top_p, "top_p", "smallest set with probability p", samp_init_top_p(p->top_p, p->min_keep)) \
    X(min_p, "min_p", "at least p times the best", samp_init_min_p(p->min_p, p->min_keep)) \
    X(top_a, "top_a", "at least a times best squared", \
      samp_init_top_a(p->top_a, p->min_keep)) \
    X(p_less, "p_less", "at least the sum of p squared", samp_init_p_less(p->p_less, p->min_keep)) \
    X(p_less_norm, "p_less_norm", "the same, but 0 for a flat row", \
      samp_init_p_less_norm(p->p_less_norm, p->min_keep)) \
    X(epsilon, "epsilon_cutoff", "at least epsilon", samp_init_epsilon(p->epsilon_cutoff, p->min_keep)) \
    X(eta, "eta_cutoff", "epsilon, less if many are likely", samp_init_eta(p->eta_cutoff, p->min_keep)) \
    X(top_h, "top_h", "most likely, by share of entropy", samp_init_top_h(p->top_h, p->min_keep)) \
    X(min_k, "min_k", "all above the steepest fall", samp_init_min_k(p->min_k)) \
    X(xtc, "xtc_probability xtc_threshold", "sometimes removes top choices", \
      samp_init_xtc(p->xtc_probability, p->xtc_threshold, p->min_keep, p->seed)) \
    X(infill, "", "few long tokens, or the end", samp_init_infill(p->vocab)) \
    X(temp, "temp", "below 1 more certain, above bolder", samp_init_temp(p->temp)) \
    X(temp_ext, "temp dynatemp_range dynatemp_exponent", "temp that follows the entropy", \
      samp_init_temp_ext(p->temp, p->dynatemp_range, p->dynatemp_exponent)) \
    X(smoothing, "smoothing_factor smoothing_curve", "bends logits by their distance", \
      samp_init_smoothing(p->smoothing_factor, p->smoothing_curve)) \
    X(log_softmax, "", "logits become ln p", samp_init_log_softmax()) \
    X(softmax, "", "sorts; changes no draw", samp_init_softmax())
#define SELECTORS(X) \
    X(dist, "", "draws by probability", samp_init_dist(p->seed)) \
    X(gumbel, "", "by probability, with coupled noise", samp_init_gumbel(p->seed)) \
    X(greedy, "", "the best", samp_init_greedy()) \
    X(mirostat, "mirostat_tau mirostat_eta", "surprise near tau, version 1", \
      samp_init_mirostat(p->n_vocab, p->seed, p->mirostat_tau, p->mirostat_eta, 100)) \
    X(mirostat_v2, "mirostat_tau mirostat_eta", "surprise near tau, version 2", \
      samp_init_mirostat_v2(p->seed, p->mirostat_tau, p->mirostat_eta)) \
    X(adaptive_p, "adaptive_target adaptive_decay", "probabilities near a target", \
      samp_init_adaptive_p(p->adaptive_target, p->adaptive_decay, p->seed))

#define MAKE(name, knobs, does, expression) \
    static samp_sampler *make_##name(const samp_params *p) { (void)p; return expression; }
STAGES(MAKE) SELECTORS(MAKE)

typedef struct {
    const char *name, *knobs, *does, *code;
    samp_sampler *(*make)(const samp_params *p);
    bool selects;
} stage;
#define STEP(name, knobs, does, expression)     { #name, knobs, does, #expression, make_##name, false },
#define SELECTOR(name, knobs, does, expression) { #name, knobs, does, #expression, make_##name, true },
static const stage ALL[] = { STAGES(STEP) SELECTORS(SELECTOR) };

/* Where a slider begins and ends, and what a setting begins with here, if not with its default: what is off at first
 * should do something as soon as it is switched on. */
static const struct { const char *name, *from, *to, *first; } KNOBS[] = {
    { "logit_bias", "", "", "" },
    { "penalty_repeat", "1", "3", "1.5" }, { "penalty_freq", "0", "2", NULL }, { "penalty_present", "0", "2", NULL },
    { "penalty_last_n", "0", "256", NULL },
    { "dry_multiplier", "0", "5", "0.8" }, { "dry_base", "1", "4", NULL }, { "dry_allowed_length", "0", "10", NULL },
    { "dry_penalty_last_n", "-1", "256", NULL },
    { "top_n_sigma", "0", "4", "1" }, { "top_k", "0", "200", NULL }, { "top_k_ties", "0", "1", NULL },
    { "tfs_z", "0.01", "1", "0.8" }, { "typ_p", "0.01", "1", "0.7" }, { "top_p", "0.01", "1", NULL },
    { "min_p", "0", "1", NULL }, { "top_a", "0", "1", "0.3" },
    { "p_less", "0", "1", "1" }, { "p_less_norm", "0", "1", "1" },
    { "epsilon_cutoff", "0", "0.1", "0.01" }, { "eta_cutoff", "0", "1", "0.1" },
    { "top_h", "0.01", "1", "0.4" }, { "min_k", "0", "50", "3" },
    { "xtc_probability", "0", "1", "1" }, { "xtc_threshold", "0", "0.5", NULL },
    { "temp", "0", "3", NULL }, { "dynatemp_range", "0", "2", "0.5" }, { "dynatemp_exponent", "0", "4", NULL },
    { "smoothing_factor", "0", "2", "0.3" }, { "smoothing_curve", "1", "10", NULL },
    { "mirostat_tau", "0", "10", "3" }, { "mirostat_eta", "0", "1", NULL },
    { "adaptive_target", "0", "1", "0.3" }, { "adaptive_decay", "0", "0.99", NULL },
    { "min_keep", "0", "20", NULL }, { "seed", "", "", "42" },
};
/* clang-format on */

enum { N_ALL = sizeof ALL / sizeof *ALL, N_KNOBS = sizeof KNOBS / sizeof *KNOBS };
static const char ON_AT_FIRST[] =
    "top_k;top_p;min_p;temp;dist"; /* the library's defaults, without what they leave off */

enum { MOST_RECORDS = N_ALL + 2, SHOWN = 16, FINAL = 6, TEXT = 256, BIASES = 512 };

/* What is behind a sampler: a sampler of our own stands there and writes it down. */
typedef struct {
    int left; /* candidates that are not masked */
    float *p; /* [the larger vocabulary] shares of those that are left; -1: removed */
} record;

static struct {
    samp_settings *settings;
    const stage *chain[N_ALL]; /* those that are on, in order, what selects last */
    int n_chain;
    char bias[BIASES];

    samp_grammar *grammar; /* NULL: none */
    samp_grammar_kind grammar_kind;
    char *grammar_text;
    samp_vocab_index *index;

    tales_model model;
    samp_vocab vocab[2];   /* of the story model, of the other one */
    samp_token text[TEXT]; /* [n_text], of which n_prompt were given */
    int n_text, n_prompt;
    float *rows;          /* [TEXT + 1, n_vocab]: row i is what the model says behind i tokens */
    samp_sampler *teller; /* the chain that writes the story */
    double model_ns, sampling_ns;

    float *wide; /* [n_wide, vocab[1].n_vocab] */
    int n_wide;
    int at; /* the row to look at: behind so many tokens of the text; -1 - i: row i of the other model */

    record records[MOST_RECORDS];
    int n_records; /* so far; MOST_RECORDS: nobody writes */
} play;

/* ==== Text ======================================================================================== */

static char *out;
static size_t out_length, out_size;

static void put(const char *format, ...)
{
    for (;;) {
        va_list values;
        va_start(values, format);
        int n = vsnprintf(out + out_length, out_size - out_length, format, values);
        va_end(values);
        if (out_length + (size_t)n < out_size) {
            out_length += (size_t)n;
            return;
        }
        out_size = 2 * (out_length + (size_t)n) + 4096;
        out = (char *)realloc(out, out_size);
        if (!out) abort();
    }
}

static void put_new(void)
{
    out_length = 0;
    put("%s", "");
}

/* A string of JSON. The names and texts of the library and of this file are ASCII. */
static void put_string(const char *text)
{
    put("\"");
    for (; text && *text; text++)
        put((unsigned char)*text < ' ' ? "\\u%04x" : strchr("\"\\", *text) ? "\\%c" : "%c", *text);
    put("\"");
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* ==== Loading ===================================================================================== */

static const char *story_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    (void)vocab;
    return tales_piece(&play.model, token, n_bytes);
}

static const char *no_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    (void)vocab, (void)token;
    *n_bytes = 0;
    return "";
}

/* Memory for the page to write to; what is not handed to play_load is to be given back. */
EXPORT(play_memory) void *play_memory(size_t size) { return malloc(size); }
EXPORT(play_give_back) void play_give_back(void *memory) { free(memory); }

/* The story model from its file's bytes, and the rows of the other model, which are f16. NULL, or what is wrong. */
EXPORT(play_load) const char *play_load(uint8_t *bytes, size_t size, const uint16_t *rows, int n_rows, int n_vocab)
{
    static const samp_token end[] = { TALES_END };
    const char *error = tales_load_bytes(&play.model, bytes, size);
    if (error) return error;
    int n = play.model.n_vocab, most = n > n_vocab ? n : n_vocab;
    samp_vocab story = { n, story_bytes, NULL, NULL, end, 1, TALES_END, -1 };
    samp_vocab other = { n_vocab, no_bytes, NULL, NULL, NULL, 0, -1, -1 };
    play.vocab[0] = story;
    play.vocab[1] = other;
    play.n_wide = n_rows;
    play.n_records = MOST_RECORDS;
    play.settings = samp_settings_init();
    play.index = samp_vocab_index_init(&play.vocab[0], NULL);
    play.rows = (float *)malloc((size_t)(TEXT + 1) * (size_t)n * sizeof(float));
    play.wide = (float *)malloc((size_t)n_rows * (size_t)n_vocab * sizeof(float));
    if (!play.settings || !play.index || !play.rows || !play.wide || play.model.n_ctx > TEXT)
        return "not enough memory";
    for (int i = 0; i < n_rows * n_vocab; i++) play.wide[i] = tales_f16_to_f32(rows[i]);
    for (int i = 0; i < MOST_RECORDS; i++) {
        play.records[i].p = (float *)malloc((size_t)most * sizeof(float));
        if (!play.records[i].p) return "not enough memory";
    }
    return NULL;
}

/* A length byte, and that many bytes. */
EXPORT(play_piece) const uint8_t *play_piece(samp_token token) { return play.model.pieces[token]; }

/* What there is: samplers with what they do and their settings, settings with ranges and defaults. */
EXPORT(play_about) const char *play_about(void)
{
    char text[400];
    samp_settings *usual = samp_settings_init();
    put_new();
    put("{\"version\":\"%d.%d.%d\",\"rows\":%d,\"wide\":%d,\"most\":%d,\"end\":%d,\"on\":", SAMP_VERSION_MAJOR,
        SAMP_VERSION_MINOR, SAMP_VERSION_PATCH, play.n_wide, play.vocab[1].n_vocab, play.model.n_ctx, TALES_END);
    put_string(ON_AT_FIRST);
    put(",\"samplers\":[");
    for (int i = 0; i < N_ALL; i++)
        put("%s{\"name\":\"%s\",\"knobs\":\"%s\",\"does\":\"%s\",\"selects\":%s}", i ? "," : "", ALL[i].name,
            ALL[i].knobs, ALL[i].does, ALL[i].selects ? "true" : "false");
    put("],\"knobs\":{");
    for (int i = 0; i < N_KNOBS; i++) {
        put("%s\"%s\":{\"from\":\"%s\",\"to\":\"%s\",\"takes\":", i ? "," : "", KNOBS[i].name, KNOBS[i].from,
            KNOBS[i].to);
        text[0] = 0;
        samp_settings_takes(KNOBS[i].name, text, sizeof text);
        put_string(text);
        text[0] = 0;
        samp_settings_get(usual, KNOBS[i].name, text, sizeof text);
        put(",\"usual\":");
        put_string(text);
        put(",\"first\":");
        put_string(KNOBS[i].first ? KNOBS[i].first : text);
        put("}");
    }
    put("}}");
    samp_settings_free(usual);
    return out;
}

/* ==== Settings ==================================================================================== */

static const samp_vocab *vocab_now(void) { return &play.vocab[play.at < 0]; }

/* The settings as parameters, for the vocabulary of the row that is looked at. */
static samp_params params_now(void)
{
    samp_params p = *samp_settings_params(play.settings);
    p.vocab = vocab_now();
    p.n_vocab = p.vocab->n_vocab;
    return p;
}

static const stage *stage_named(const char *name, size_t n)
{
    for (int i = 0; i < N_ALL; i++)
        if (strlen(ALL[i].name) == n && !memcmp(ALL[i].name, name, n)) return &ALL[i];
    return NULL;
}

/* "top_k;temp;dist": NULL, or where it is wrong. */
static const char *set_chain(const char *names)
{
    for (play.n_chain = 0; *names;) {
        size_t n = strcspn(names, ";");
        const stage *s = stage_named(names, n);
        if (!s || play.n_chain == N_ALL) return names;
        play.chain[play.n_chain++] = s;
        names += n + (names[n] == ';');
    }
    return NULL;
}

/* The chain of the settings: a grammar first, if there is one, and behind each of the others who writes it down, if
 * somebody is to. */
static samp_sampler *probe(void);
static samp_sampler *make_chain(bool probes)
{
    samp_params p = params_now();
    samp_sampler *chain = samp_chain_init();
    if (probes) samp_chain_add(chain, probe());
    if (play.grammar && play.at >= 0) {
        samp_chain_add(chain, samp_init_grammar(play.index, play.grammar));
        if (probes) samp_chain_add(chain, probe());
    }
    for (int i = 0; i < play.n_chain; i++) {
        samp_chain_add(chain, play.chain[i]->make(&p));
        if (probes) samp_chain_add(chain, probe());
    }
    return chain;
}

static const char *put_status(int status, const char *field)
{
    char takes[300] = "";
    put_new();
    if (status && field) samp_settings_takes(field, takes, sizeof takes);
    put("{\"status\":%d,\"message\":", status);
    put_string(samp_strerror(status));
    put(",\"field\":");
    put_string(status ? field : "");
    put(",\"takes\":");
    put_string(takes);
    put("}");
    return out;
}

/* Lines of name=value; chain= has the names of the samplers. What is not named has its default, and at= is the row. */
EXPORT(play_configure) const char *play_configure(char *lines)
{
    int status = SAMP_OK;
    const char *field = NULL;
    for (int i = 0; i < N_KNOBS; i++) samp_settings_set(play.settings, KNOBS[i].name, NULL, NULL);
    play.bias[0] = 0;
    for (char *line = lines, *next; *line && !status; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) *next++ = 0;
        char *value = strchr(line, '=');
        if (!value) continue;
        *value++ = 0;
        if (!strcmp(line, "at"))
            play.at = atoi(value);
        else if (!strcmp(line, "chain"))
            status = set_chain(value) ? (field = "chain", SAMP_E_RANGE) : SAMP_OK;
        else if (strcmp(line, "logit_bias"))
            status = samp_settings_set(play.settings, line, value, &field);
        else if (*value && strlen(value) < BIASES)
            status = samp_settings_set(play.settings, line, strcpy(play.bias, value), &field);
    }
    if (play.at > play.n_text || play.at < -play.n_wide) play.at = play.n_prompt;
    samp_params p = *samp_settings_params(play.settings);
    if (p.penalty_last_n == -1) { /* which samp_init_penalties leaves to samp_params */
        char text[16];
        snprintf(text, sizeof text, "%d", (int)p.n_ctx_train);
        samp_settings_set(play.settings, "penalty_last_n", text, NULL);
    }
    if (!status) {
        samp_sampler *chain = make_chain(false);
        status = samp_status(chain, &field);
        put_status(status, field);
        samp_free(chain); /* behind put_status, as the field's name may be its */
        return out;
    }
    return put_status(status, field);
}

/* A model like this one would write spaces without end where a schema lets it. */
static const char *grammar_root(void)
{
    return play.grammar_kind == SAMP_GRAMMAR_JSON_SCHEMA ? "ordered spaced" : NULL;
}

/* The grammar of the story; text NULL: none. kind as samp_grammar_kind. Where it is wrong there is none. */
EXPORT(play_grammar) const char *play_grammar(int kind, const char *text)
{
    samp_grammar_error error = { SAMP_OK, 0, 0, "" };
    samp_free(play.teller);
    play.teller = NULL;
    samp_grammar_free(play.grammar);
    free(play.grammar_text);
    play.grammar = NULL;
    play.grammar_text = NULL;
    play.grammar_kind = (samp_grammar_kind)kind;
    if (text) {
        play.grammar = samp_grammar_init(play.grammar_kind, text, grammar_root(), &error);
        play.grammar_text = strdup(text);
        if (!play.grammar_text) abort();
    }
    put_new();
    put("{\"status\":%d,\"line\":%d,\"column\":%d,\"message\":", error.status, (int)error.line, (int)error.column);
    put_string(error.message[0] ? error.message : samp_strerror(error.status));
    put("}");
    return out;
}

/* ==== A row ======================================================================================= */

static int probe_apply(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    if (play.n_records >= MOST_RECORDS) return SAMP_OK;
    record *r = &play.records[play.n_records++];
    float max = -INFINITY;
    double sum = 0.0;
    r->left = 0;
    for (int i = 0; i < vocab_now()->n_vocab; i++) r->p[i] = -1.0f;
    for (size_t i = 0; i < cur->size; i++) max = fmaxf(max, cur->data[i].logit);
    for (size_t i = 0; i < cur->size; i++) sum += exp((double)(cur->data[i].logit - max));
    for (size_t i = 0; i < cur->size; i++) {
        if (cur->data[i].logit == -INFINITY) continue;
        r->p[cur->data[i].id] = (float)(exp((double)(cur->data[i].logit - max)) / sum);
        r->left++;
    }
    return SAMP_OK;
}

static samp_sampler *probe(void)
{
    static const samp_sampler_i interface = { .apply = probe_apply };
    return samp_init_custom(&interface, NULL);
}

static const float *row_now(void)
{
    size_t n = (size_t)vocab_now()->n_vocab;
    return play.at < 0 ? play.wide + (size_t)(-1 - play.at) * n : play.rows + (size_t)play.at * n;
}

/* Tell a chain of the text before the row: of the prompt, which is no grammar's, all but the grammar; of the story all,
 * each token behind a draw of its own, so that the chain is where it was when it wrote the story. */
static void accept_text(samp_sampler *chain)
{
    size_t n_vocab = (size_t)play.model.n_vocab;
    for (int i = 0; i < play.n_prompt && i < play.at; i++)
        for (int32_t k = 0; k < samp_chain_n(chain); k++)
            if (!play.grammar || strcmp(samp_name(samp_chain_get(chain, k)), "grammar"))
                samp_accept(samp_chain_get(chain, k), play.text[i]);
    for (int i = play.n_prompt; i < play.at; i++) {
        samp_draw(chain, play.rows + (size_t)i * n_vocab, n_vocab);
        samp_accept(chain, play.text[i]);
    }
}

/* The tokens to show: the likeliest of the model, and the likeliest of those that are drawn from, by the model's
 * probability. -> tokens [SHOWN + FINAL], returns how many */
static int choose_shown(const record *first, const record *last, int n_vocab, samp_token *tokens)
{
    int n = 0;
    for (int pass = 0; pass < SHOWN + FINAL; pass++) {
        const record *r = pass < FINAL ? last : first;
        samp_token best = -1;
        for (samp_token i = 0; i < n_vocab; i++) {
            bool there = r->p[i] < 0.0f;
            for (int k = 0; k < n && !there; k++) there = tokens[k] == i;
            if (!there && (best < 0 || r->p[i] > r->p[best])) best = i;
        }
        if (best >= 0 && n < SHOWN) tokens[n++] = best;
    }
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && first->p[tokens[k - 1]] < first->p[tokens[k]]; k--) {
            samp_token t = tokens[k];
            tokens[k] = tokens[k - 1];
            tokens[k - 1] = t;
        }
    return n;
}

/* The probability of the tokens that are left and not shown. */
static double share_of_others(const record *r, int n_vocab, const samp_token *tokens, int n)
{
    double sum = 0.0;
    for (samp_token i = 0; i < n_vocab; i++) {
        bool is_shown = r->p[i] < 0.0f;
        for (int k = 0; k < n && !is_shown; k++) is_shown = tokens[k] == i;
        if (!is_shown) sum += (double)r->p[i];
    }
    return sum;
}

/* The values of a sampler, as samp_describe tells them. */
static void put_described(const samp_sampler *s)
{
    char text[400] = "";
    samp_describe(s, text, sizeof text);
    put_string(text + strlen("logits -> "));
}

/* What each sampler makes of the row. */
EXPORT(play_trace) const char *play_trace(void)
{
    samp_token tokens[SHOWN + FINAL];
    int n_vocab = vocab_now()->n_vocab;
    samp_sampler *chain = make_chain(true);
    play.n_records = MOST_RECORDS;
    if (!samp_status(chain, NULL)) accept_text(chain);
    play.n_records = 0;
    samp_token token = samp_draw(chain, row_now(), (size_t)n_vocab);
    int n = play.n_records;
    play.n_records = MOST_RECORDS;
    put_status(token < 0 ? token : SAMP_OK, NULL);
    out_length--; /* without its bracket */
    int shown = n ? choose_shown(&play.records[0], &play.records[n - 1], n_vocab, tokens) : 0;
    put(",\"n\":%d,\"token\":%d,\"tokens\":[", n_vocab, (int)token);
    for (int i = 0; i < shown; i++) put("%s%d", i ? "," : "", (int)tokens[i]);
    put("],\"steps\":[");
    for (int k = 0; k < n; k++) {
        const record *r = &play.records[k];
        bool greedy = play.n_chain && k == n - 1 && !strcmp(play.chain[play.n_chain - 1]->name, "greedy");
        put("%s{\"left\":%d,\"text\":", k ? "," : "", r->left);
        if (k)
            put_described(samp_chain_get(chain, 2 * k - 1));
        else
            put_string("");
        put(",\"p\":[");
        for (int i = 0; i < shown; i++)
            put("%s%.5g", i ? "," : "",
                (double)(greedy && r->p[tokens[i]] >= 0 ? tokens[i] == token : r->p[tokens[i]]));
        put("],\"others\":%.5g}", greedy ? 0.0 : share_of_others(r, n_vocab, tokens, shown));
    }
    put("]}");
    samp_free(chain);
    return out;
}

/* n tokens of the row, drawn by one chain; with `accept` it is told of each, as when a text is written. In JSON the
 * tokens, of which a negative one is a status, and how long it took. */
EXPORT(play_draw) const char *play_draw(int n, bool accept)
{
    size_t n_vocab = (size_t)vocab_now()->n_vocab;
    const float *row = row_now();
    samp_sampler *chain = make_chain(false);
    samp_token *tokens = (samp_token *)malloc((size_t)(n + 1) * sizeof *tokens);
    if (!tokens) abort();
    if (!accept) accept_text(chain);
    samp_reserve(chain, n_vocab);
    double begin = now_ns();
    for (int i = 0; i < n; i++)
        tokens[i] = accept ? samp_sample(chain, row, n_vocab) : samp_draw(chain, row, n_vocab);
    double ns = now_ns() - begin;
    put_new();
    put("{\"ns\":%.1f,\"tokens\":[", n ? ns / n : 0.0);
    for (int i = 0; i < n; i++) put("%s%d", i ? "," : "", (int)tokens[i]);
    put("]}");
    free(tokens);
    samp_free(chain);
    return out;
}

/* The row itself, and its length. */
EXPORT(play_row) const float *play_row(void) { return row_now(); }
EXPORT(play_row_length) int play_row_length(void) { return vocab_now()->n_vocab; }

/* ==== The story =================================================================================== */

static void read_token(int i)
{
    size_t n = (size_t)play.model.n_vocab;
    double begin = now_ns();
    memcpy(play.rows + (size_t)(i + 1) * n, tales_eval(&play.model, play.text[i], i), n * sizeof(float));
    play.model_ns += now_ns() - begin;
}

/* The text that the story begins with: returns how many tokens it has, or -1, too long, and nothing has changed. */
EXPORT(play_prompt) int play_prompt(const char *text)
{
    samp_token tokens[TEXT];
    int n = tales_tokenise(&play.model, text, tokens, play.model.n_ctx - 1);
    if (n < 0) return -1;
    memcpy(play.text, tokens, (size_t)n * sizeof *tokens);
    play.n_text = play.n_prompt = play.at = n;
    samp_free(play.teller);
    play.teller = NULL;
    for (int i = 0; i < n; i++) read_token(i);
    return n;
}

/* Begin to write behind the prompt, or, with `on`, behind the story so far. */
EXPORT(play_begin) int play_begin(bool on)
{
    if (!on) play.n_text = play.n_prompt;
    play.at = play.n_text;
    samp_free(play.teller);
    play.teller = make_chain(false);
    play.model_ns = play.sampling_ns = 0.0;
    int status = samp_status(play.teller, NULL);
    if (!status) accept_text(play.teller);
    return status;
}

/* The next token; SAMP_E_FULL: the model can't read more; or what samp_sample says. */
EXPORT(play_write) samp_token play_write(void)
{
    size_t n = (size_t)play.model.n_vocab;
    if (!play.teller) return SAMP_E_NULL;
    if (play.n_text >= play.model.n_ctx) return SAMP_E_FULL;
    double begin = now_ns();
    samp_token token = samp_sample(play.teller, play.rows + (size_t)play.n_text * n, n);
    play.sampling_ns += now_ns() - begin;
    if (token < 0) return token;
    play.text[play.n_text] = token;
    read_token(play.n_text++);
    return token;
}

EXPORT(play_model_ns) double play_model_ns(void) { return play.model_ns; }
EXPORT(play_sampling_ns) double play_sampling_ns(void) { return play.sampling_ns; }

/* How likely the model found token i of the story; -1: there is none. */
EXPORT(play_share) double play_share(int i)
{
    if (i < 1 || i >= play.n_text) return -1.0;
    const float *row = play.rows + (size_t)i * (size_t)play.model.n_vocab;
    double sum = 0.0;
    for (int k = 0; k < play.model.n_vocab; k++) sum += exp((double)(row[k] - row[play.text[i]]));
    return 1.0 / sum;
}

/* The story again from the rows that it was drawn from, by new chains, until a clock can tell how long a token takes:
 * in JSON how many there are, how many are the same, and the time. */
EXPORT(play_replay) const char *play_replay(double least_ns)
{
    size_t n = (size_t)play.model.n_vocab;
    int same = 0, rounds = 0;
    double ns = 0.0;
    do {
        play.at = play.n_prompt;
        samp_sampler *chain = make_chain(false);
        accept_text(chain);
        samp_reserve(chain, n);
        double begin = now_ns();
        for (same = 0; same < play.n_text - play.n_prompt; same++) {
            int i = play.n_prompt + same;
            if (samp_sample(chain, play.rows + (size_t)i * n, n) != play.text[i]) break;
        }
        ns += now_ns() - begin;
        samp_free(chain);
    } while (same && ++rounds < 1000 && ns < least_ns);
    put_new();
    put("{\"tokens\":%d,\"same\":%d,\"ns\":%.1f}", play.n_text - play.n_prompt, same,
        same ? ns / rounds / same : 0.0);
    return out;
}

/* ==== The same in C ===============================================================================
 * By samp_params where that says it: where the chain that it makes is the same. Else one sampler after the other. */

/* A member's value, as C writes it. */
static void put_literal(const samp_settings *settings, const char *name)
{
    char text[64] = "", takes[300] = "";
    samp_settings_get(settings, name, text, sizeof text);
    samp_settings_takes(name, takes, sizeof takes);
    bool real = strstr(takes, "a number");
    put("%s%s%s", text, real && !strpbrk(text, ".e") ? ".0" : "", real ? "f" : strlen(text) > 9 ? "u" : "");
}

/* A list that logit_bias has been set to. */
static void put_biases(const samp_params *p)
{
    put("static const samp_logit_bias bias[] = {");
    for (int32_t i = 0; i < p->n_logit_bias; i++) {
        char text[32] = "-INFINITY";
        float bias = p->logit_bias[i].bias;
        for (int digits = 6; bias > -INFINITY && digits < 10; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, (double)bias);
            if (strtof(text, NULL) == bias) break;
        }
        put("%s { %d, %s%s }", i ? "," : "", (int)p->logit_bias[i].token, text,
            bias == -INFINITY     ? ""
            : strpbrk(text, ".e") ? "f"
                                  : ".0f");
    }
    put(" };\n");
}

/* A text as a string of C, a line for each of its lines. '?' too, of which two begin a trigraph. */
static void put_c_string(const char *text)
{
    put("    \"");
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '\n')
            put(c[1] ? "\\n\"\n    \"" : "\\n");
        else
            put(*c < ' ' || *c > '~' ? "\\%03o" : strchr("\"\\?", *c) ? "\\%c" : "%c", *c);
    }
    put("\"");
}

static bool in_chain(const char *name)
{
    for (int i = 0; i < play.n_chain; i++)
        if (!strcmp(play.chain[i]->name, name)) return true;
    return false;
}

/* A chain's description without what is off, and both temperatures by one name. -> text [size] */
static void describe_what_is_on(samp_sampler *chain, char *text, size_t size)
{
    char all[2000] = "";
    samp_describe(chain, all, sizeof all);
    text[0] = 0;
    for (char *at = all, *end; at; at = end) {
        end = strstr(at, " -> ");
        if (end) *end = 0, end += 4;
        bool temp_ext = !strncmp(at, "temp-ext(", 9);
        if (*at != '?')
            snprintf(text + strlen(text), size - strlen(text), "%s%s;", temp_ext ? "temp(" : "",
                     temp_ext ? at + 9 : at);
    }
    samp_free(chain);
}

/* The names that differ from their defaults, of those in the chain, with ' ' behind each -> names [size]; and settings
 * with these values only. mirostat is its own setting. */
static samp_settings *what_differs(char *names, size_t size)
{
    char knobs[1000] = "seed min_keep", value[64], usual[64];
    samp_settings *differing = samp_settings_init(), *defaults = samp_settings_init();
    for (int i = 0; i < play.n_chain; i++)
        snprintf(knobs + strlen(knobs), sizeof knobs - strlen(knobs), " %s", play.chain[i]->knobs);
    names[0] = 0;
    for (char *name = strtok(knobs, " "); name; name = strtok(NULL, " ")) {
        if (samp_settings_get(play.settings, name, value, sizeof value) < 0) continue; /* logit_bias */
        samp_settings_get(defaults, name, usual, sizeof usual);
        if (!strcmp(value, usual) || strstr(names, name)) continue;
        samp_settings_set(differing, name, value, NULL);
        snprintf(names + strlen(names), size - strlen(names), "%s ", name);
    }
    if (in_chain("mirostat") || in_chain("mirostat_v2")) {
        samp_settings_set(differing, "mirostat", in_chain("mirostat") ? "1" : "2", NULL);
        snprintf(names + strlen(names), size - strlen(names), "mirostat ");
    }
    samp_settings_free(defaults);
    return differing;
}

/* The code with samp_params; false: they can't say it. */
static bool put_params_code(void)
{
    char names[600], order[400] = "", wanted[2000], got[2000];
    bool bias = in_chain("logit_bias") && play.bias[0], vocab = in_chain("dry") || in_chain("infill"), same = false;
    samp_settings *settings = what_differs(names, sizeof names);
    samp_params p = *samp_settings_params(settings), all = params_now();
    if (bias) p.logit_bias = all.logit_bias, p.n_logit_bias = all.n_logit_bias;
    if (bias || p.mirostat == 1) p.n_vocab = all.n_vocab;
    if (vocab) p.vocab = all.vocab;
    for (int i = 0; i + 1 < play.n_chain; i++)
        if (i || !bias)
            snprintf(order + strlen(order), sizeof order - strlen(order), "%s%s", *order ? ";" : "",
                     play.chain[i]->name);
    describe_what_is_on(make_chain(false), wanted, sizeof wanted);
    for (int named = 0; named < 2 && !same && !play.grammar; named++) {
        p.order = named ? order : NULL;
        samp_sampler *chain = samp_chain_from_params(&p, NULL);
        bool good = !samp_status(chain, NULL);
        describe_what_is_on(chain, got, sizeof got);
        same = good && !strcmp(wanted, got);
    }
    if (same) {
        if (vocab) put("/* vocab: a samp_vocab of your model */\n");
        if (bias) put_biases(&p);
        put("samp_params params = samp_default_params();\n");
        for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
            put("params.%s = ", name);
            put_literal(settings, name);
            put(";\n");
        }
        if (p.n_vocab) put("params.n_vocab = %d;\n", (int)p.n_vocab);
        if (vocab) put("params.vocab = &vocab;\n");
        if (bias) put("params.logit_bias = bias;\nparams.n_logit_bias = %d;\n", (int)p.n_logit_bias);
        if (p.order) put("params.order = \"%s\";\n", order);
        put("samp_sampler *chain = samp_chain_from_params(&params, NULL);\n");
    }
    samp_settings_free(settings);
    return same;
}

/* The expression that makes a sampler, with values in place of p's members; of "p->name ? a : b" a or b. */
static void put_expression(const char *code)
{
    char name[64], value[64] = "0";
    const char *end = code + strlen(code), *question = strstr(code, " ? ");
    if (question) {
        snprintf(name, sizeof name, "%.*s", (int)(question - code - 3), code + 3);
        samp_settings_get(play.settings, name, value, sizeof value);
        bool first = strcmp(value, "0") != 0;
        const char *colon = strstr(question, " : ");
        code = (first ? question : colon) + 3;
        if (first) end = colon;
    }
    for (const char *c = code; c < end; c++) {
        if (strncmp(c, "p->", 3) != 0 || (c > code && c[-1] != '(' && c[-1] != ' ')) {
            put("%c", *c);
            continue;
        }
        size_t n = strspn(c + 3, "abcdefghijklmnopqrstuvwxyz_");
        snprintf(name, sizeof name, "%.*s", (int)n, c + 3);
        if (!strcmp(name, "vocab"))
            put("&vocab");
        else if (!strcmp(name, "n_vocab"))
            put("%d", (int)vocab_now()->n_vocab);
        else if (!strcmp(name, "logit_bias"))
            put(play.bias[0] ? "bias" : "NULL");
        else if (!strcmp(name, "n_logit_bias"))
            put("%d", (int)samp_settings_params(play.settings)->n_logit_bias);
        else
            put_literal(play.settings, name);
        c += 2 + n;
    }
}

EXPORT(play_code) const char *play_code(void)
{
    static const char *const kinds[] = { "GBNF", "JSON_SCHEMA", "REGEX" };
    bool grammar = play.grammar && play.at >= 0, dry = in_chain("dry");
    samp_params p = params_now();
    put_new();
    if (put_params_code()) return out;
    if (grammar || dry || in_chain("infill")) put("/* vocab: a samp_vocab of your model */\n");
    if (in_chain("logit_bias") && play.bias[0]) put_biases(&p);
    if (dry) put("static const char *const breakers[] = { \"\\n\", \":\", \"\\\"\", \"*\" };\n");
    if (grammar) {
        put("static const char text[] =\n");
        put_c_string(play.grammar_text);
        put(";\nsamp_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_%s, text, ", kinds[play.grammar_kind]);
        put(grammar_root() ? "\"%s\", NULL);\n" : "NULL, NULL);\n", grammar_root());
        put("samp_vocab_index *index = samp_vocab_index_init(&vocab, NULL);\n");
    }
    put("samp_sampler *chain = samp_chain_init();\n");
    if (grammar) put("samp_chain_add(chain, samp_init_grammar(index, grammar));\n");
    for (int i = 0; i < play.n_chain; i++) {
        put("samp_chain_add(chain, ");
        put_expression(play.chain[i]->code);
        put(");\n");
    }
    return out;
}
