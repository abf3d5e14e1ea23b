/* api.c - samples through libllama's C API, and prints every token and array: with the stand-in preloaded and without it
 * must print the same.
 *
 *     api BINS MODEL [short]        BINS: the folder of the libraries
 *
 * Chains of every sampler through llama_sampler_sample; every sampler on an array; and what else is done to samplers:
 * clone, copy, reset, moving them from chain to chain, users' own samplers with tables of each size, a grammar. */
#include "llama_c.h"

#include <math.h>

static llama_context *ctx;
static const llama_vocab *vocab;
static int32_t n_vocab;
static int n_lines, length = 24; /* tokens of a chain; short: 2, and a text is one word */

static const char *const BREAKERS[] = { "\n", "o", "", ", a", NULL };

#define penalties(last_n, repeat, freq, present) llama_sampler_init_penalties(n_vocab, last_n, repeat, freq, present)
#define dry(multiplier, allowed, last_n) \
    llama_sampler_init_dry(vocab, multiplier, 1.75f, allowed, last_n, (const char **)(uintptr_t)BREAKERS, 5)
#define dist   llama_sampler_init_dist
#define greedy llama_sampler_init_greedy
#define temp   llama_sampler_init_temp
#define top_k  llama_sampler_init_top_k
#define top_p  llama_sampler_init_top_p
#define min_p  llama_sampler_init_min_p

static llama_sampler *bias(void)
{
    static const llama_bias list[] = { { 300, 2.0f }, { 14, -INFINITY }, { 500, -1.5f }, { 300, 0.5f } };
    return llama_sampler_init_logit_bias(n_vocab, 4, list);
}

/* A lazy grammar, by one pattern or one word. */
static llama_sampler *lazy(const char *text, const char *pattern, const char *word)
{
    if (pattern) return llama_sampler_init_grammar_lazy_patterns(vocab, text, "root", &pattern, 1, NULL, 0);
    return llama_sampler_init_grammar_lazy(vocab, text, "root", &word, 1, NULL, 0);
}

/* ---- a sampler of the user's: takes 1 off every third token, and counts in ctx what it is asked ---- */

static const char *mine_name(const llama_sampler *s)
{
    (void)s;
    return "mine";
}
static void mine_accept(llama_sampler *s, int32_t token) { *(int *)s->ctx += token; }
static void mine_apply(llama_sampler *s, llama_array *cur)
{
    *(int *)s->ctx += 1000;
    for (size_t i = 0; i < cur->size; i++)
        if (cur->data[i].id % 3 == 0) cur->data[i].logit -= 1.0f;
    cur->sorted = false;
}
static void mine_select(llama_sampler *s, llama_array *cur)
{
    mine_apply(s, cur);
    cur->selected = (int64_t)(cur->size - 1) / 2;
}
static void mine_reset(llama_sampler *s) { *(int *)s->ctx = 0; }
static void mine_free(llama_sampler *s) { free(s->ctx); }
static llama_sampler *mine_clone(const llama_sampler *s)
{
    int *copy = malloc(sizeof *copy);
    *copy = *(const int *)s->ctx;
    return llama_sampler_init(s->iface, copy);
}

#define MINE(apply) \
    { \
        mine_name, mine_accept, apply, mine_reset, mine_clone, mine_free \
    }
static const llama_six SIX = MINE(mine_apply);
static const llama_ten TEN = { MINE(mine_apply), { NULL, NULL, NULL, NULL } };
static const llama_twelve TWELVE = { MINE(mine_apply), { NULL, NULL, NULL, NULL, NULL, NULL } };
static const llama_twelve SELECTS = { MINE(mine_select), { NULL, NULL, NULL, NULL, NULL, NULL } };
static const llama_six LISTENS = { mine_name, mine_accept, NULL, mine_reset, mine_clone, mine_free }; /* no apply */

static llama_sampler *mine(const void *iface) { return llama_sampler_init(iface, calloc(1, sizeof(int))); }

/* ---- generating ---- */

static void read_text(const char *text) { llama_begin(ctx, length < 24 ? "A" : text); }

static void say(const char *name)
{
    printf("%-28s", name);
    n_lines++;
}

static void generate(llama_sampler *chain, int n)
{
    for (int i = 0; i < n && i < length; i++) {
        int32_t token = llama_sampler_sample(chain, ctx, -1);
        printf(" %d", token);
        llama_read(ctx, &token, 1);
    }
}

static void run(const char *name, llama_sampler *chain)
{
    say(name);
    read_text("Once upon a time there was a king who");
    generate(chain, length);
    printf(" seed %u\n", llama_sampler_get_seed(chain));
    llama_sampler_free(chain);
}

static void chains(void)
{
    run("greedy", llama_chain(greedy()));
    run("dist", llama_chain(dist(1)));
    run("default", llama_chain(top_k(40), top_p(0.95f, 0), min_p(0.05f, 0), temp(0.8f), dist(2)));
    run("default, min_keep", llama_chain(top_k(40), top_p(0.5f, 5), min_p(0.5f, 7), temp(0.8f), dist(3)));
    run("off", llama_chain(top_k(0), top_p(1.5f, 0), min_p(-1.0f, 0), temp(1.0f), dist(4)));
    run("top_k vocabulary", llama_chain(top_k(n_vocab), dist(5)));
    run("top_k huge", llama_chain(top_k(2147483647), temp(0.7f), dist(6)));
    run("top_p", llama_chain(top_p(0.9f, 0), dist(7)));
    run("top_p 0", llama_chain(top_p(0.0f, 0), dist(8)));
    run("min_p", llama_chain(min_p(0.1f, 0), dist(9)));
    run("typical", llama_chain(llama_sampler_init_typical(0.9f, 0), dist(10)));
    run("typical, temp", llama_chain(temp(1.3f), llama_sampler_init_typical(0.5f, 3), dist(11)));
    run("temp", llama_chain(temp(1.7f), dist(12)));
    run("temp 0", llama_chain(temp(0.0f), dist(13)));
    run("temp below 0", llama_chain(temp(-1.0f), greedy()));
    run("two temps", llama_chain(temp(0.9f), temp(1.4f), dist(14)));
    run("temp_ext", llama_chain(llama_sampler_init_temp_ext(0.9f, 0.4f, 1.3f), dist(15)));
    run("temp_ext without range", llama_chain(llama_sampler_init_temp_ext(0.9f, -1.0f, 1.0f), dist(16)));
    run("xtc", llama_chain(llama_sampler_init_xtc(0.5f, 0.05f, 0, 17), dist(17)));
    run("xtc always", llama_chain(llama_sampler_init_xtc(2.0f, 0.1f, 2, 18), dist(18)));
    run("top_n_sigma", llama_chain(llama_sampler_init_top_n_sigma(1.0f), temp(1.5f), dist(19)));
    run("mirostat", llama_chain(temp(0.9f), llama_sampler_init_mirostat(n_vocab, 20, 5.0f, 0.1f, 100)));
    run("mirostat_v2", llama_chain(temp(0.9f), llama_sampler_init_mirostat_v2(21, 3.0f, 0.2f)));
    run("adaptive_p", llama_chain(min_p(0.01f, 0), llama_sampler_init_adaptive_p(0.4f, 0.9f, 22)));
    run("adaptive_p, decay", llama_chain(llama_sampler_init_adaptive_p(0.6f, 1.5f, 23)));
    run("adaptive_p off", llama_chain(llama_sampler_init_adaptive_p(-1.0f, 0.9f, 24)));
    run("penalties", llama_chain(penalties(64, 1.3f, 0.1f, 0.1f), dist(25)));
    run("penalties first", llama_chain(penalties(8, 1.5f, 0.0f, 0.4f), top_k(40), temp(0.8f), dist(26)));
    run("penalties behind temp", llama_chain(temp(0.8f), penalties(16, 1.2f, 0.3f, 0.0f), dist(27)));
    run("penalties off", llama_chain(penalties(-1, 1.3f, 0.0f, 0.0f), dist(28)));
    run("dry", llama_chain(dry(3.0f, 1, 128), top_k(4), dist(29)));
    run("dry, greedy", llama_chain(dry(5.0f, 1, 64), greedy()));
    run("dry, a short window", llama_chain(dry(5.0f, 1, 6), greedy()));
    run("dry off", llama_chain(dry(0.0f, 2, 64), dry(1.0f, 2, -1), dist(30)));
    run("logit_bias", llama_chain(bias(), dist(31)));
    run("all", llama_chain(bias(), penalties(32, 1.1f, 0.0f, 0.1f), dry(0.8f, 2, 64),
                           llama_sampler_init_top_n_sigma(3.0f), top_k(100), llama_sampler_init_typical(0.95f, 0),
                           top_p(0.95f, 0), min_p(0.02f, 0), llama_sampler_init_xtc(0.3f, 0.1f, 0, 32),
                           llama_sampler_init_temp_ext(0.8f, 0.2f, 1.0f), dist(32)));
    run("two seeds", llama_chain(llama_sampler_init_xtc(0.5f, 0.05f, 0, 33), dist(34)));
    run("chain in a chain", llama_chain(llama_chain(penalties(32, 1.2f, 0.0f, 0.0f), top_k(50)), temp(0.8f),
                                        llama_chain(min_p(0.02f, 0), dist(35))));
    run("mine first", llama_chain(mine(&SIX), top_k(40), dist(36)));
    run("mine in the middle", llama_chain(top_k(40), mine(&TEN), temp(0.8f), dist(37)));
    run("mine last", llama_chain(top_k(40), dist(38), mine(&TWELVE)));
    run("mine selects", llama_chain(top_k(5), mine(&SELECTS)));
    run("mine listens", llama_chain(mine(&LISTENS), top_k(5), dist(39)));
    run("grammar", llama_chain(llama_sampler_init_grammar(vocab, "root ::= [ a-z]*", "root"), temp(0.8f), dist(40)));
    run("grammar behind top_k",
        llama_chain(top_k(400), llama_sampler_init_grammar(vocab, "root ::= [^q]*", "root"), dist(41)));
    run("not a value of ours",
        llama_chain(llama_sampler_init_typical(0.0f, 4), min_p(1.5f, 3), temp(1e-8f), dist(42)));
    run("a penalty below 0", llama_chain(penalties(8, -1.2f, 0.0f, 0.0f), top_k(10), dist(43)));
    run("a sampler alone", dist(44));
}

/* ---- arrays ---- */

static uint64_t hash_of(const llama_array *cur)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < cur->size * sizeof *cur->data; i++)
        hash = (hash ^ ((const uint8_t *)cur->data)[i]) * 1099511628211u;
    return hash;
}

/* A row's logits, scaled, without ties, whose order would be an accident: what rounds to a logit that is there already is
   moved on by units of the last place. Which ones do depends on the machine that the model's logits come from. */
static void fill(llama_data *data, const float *logits, float scale)
{
    for (int32_t i = 0; i < n_vocab; i++) {
        data[i] = (llama_data){ i, logits[i] * scale, 0.0f };
        for (int32_t k = 0; k < i; k++) {
            if (data[k].logit != data[i].logit) continue;
            data[i].logit = nextafterf(data[i].logit, INFINITY);
            k = -1;
        }
    }
}

static void array(const char *name, llama_sampler *s)
{
    llama_data *data = malloc((size_t)n_vocab * sizeof *data);
    read_text("The wolf went to");
    const float *logits = llama_get_logits_ith(ctx, -1);
    say(name);
    for (int round = 0; round < 4; round++) {
        fill(data, logits, 1.0f + 0.3f * (float)round);
        llama_array cur = { data, (size_t)n_vocab, -1, false };
        llama_sampler_apply(s, &cur);
        int32_t token = cur.selected >= 0 ? data[cur.selected].id : 300 + round % 2;
        llama_sampler_accept(s, token);
        printf(" %zu/%d/%d/%016llx", cur.size, (int)cur.selected, cur.sorted, (unsigned long long)hash_of(&cur));
    }
    printf(" %s\n", llama_sampler_name(s));
    llama_sampler_free(s);
    free(data);
}

static void arrays(void)
{
    array("array greedy", greedy());
    array("array dist", dist(50));
    array("array top_k", top_k(40));
    array("array top_k 1000", top_k(1000));
    array("array top_k off", top_k(0));
    array("array top_p", top_p(0.9f, 0));
    array("array top_p off", top_p(1.0f, 0));
    array("array min_p", min_p(0.05f, 0));
    array("array typical", llama_sampler_init_typical(0.9f, 0));
    array("array temp", temp(0.7f));
    array("array temp off", temp(1.0f));
    array("array temp_ext", llama_sampler_init_temp_ext(0.9f, 0.3f, 1.0f));
    array("array xtc", llama_sampler_init_xtc(1.0f, 0.05f, 0, 51));
    array("array top_n_sigma", llama_sampler_init_top_n_sigma(2.0f));
    array("array mirostat", llama_sampler_init_mirostat(n_vocab, 52, 5.0f, 0.1f, 100));
    array("array mirostat_v2", llama_sampler_init_mirostat_v2(53, 5.0f, 0.1f));
    array("array adaptive_p", llama_sampler_init_adaptive_p(0.5f, 0.9f, 54));
    array("array penalties", penalties(64, 1.3f, 0.2f, 0.1f));
    array("array dry", dry(1.0f, 1, 64));
    array("array logit_bias", bias());
    array("array chain", llama_chain(top_k(40), top_p(0.95f, 0), min_p(0.05f, 0), temp(0.8f), dist(55)));
    array("array grammar", llama_sampler_init_grammar(vocab, "root ::= [a-w ,.A-Z]*", "root"));
    array("array lazy grammar", lazy("root ::= [a-w ,.A-Z]*", "[aeiou]$", NULL));
    array("array infill", llama_sampler_init_infill(vocab));
    array("array infill behind top_k",
          llama_chain(top_k(40), temp(0.3f), llama_sampler_init_infill(vocab), dist(56)));
}

/* ---- grammars as programs use them: the chain draws, its token is checked alone, and drawn again only if it fails ---- */

static int32_t sample_and_check(llama_sampler *chain, llama_sampler *grammar)
{
    llama_data *data = malloc((size_t)n_vocab * sizeof *data);
    const float *logits = llama_get_logits_ith(ctx, -1);
    int32_t token = -1;
    for (int masked = 0; masked < 2; masked++) {
        for (int32_t i = 0; i < n_vocab; i++) data[i] = (llama_data){ i, logits[i], 0.0f };
        llama_array cur = { data, (size_t)n_vocab, -1, false };
        if (masked) llama_sampler_apply(grammar, &cur);
        llama_sampler_apply(chain, &cur);
        token = cur.data[cur.selected].id;
        llama_data one = { token, 1.0f, 0.0f };
        llama_array alone = { &one, 1, -1, false };
        llama_sampler_apply(grammar, &alone);
        if (one.logit > -INFINITY) break;
    }
    free(data);
    llama_sampler_accept(grammar, token);
    llama_sampler_accept(chain, token);
    return token;
}

#define JSON \
    "root ::= object\n" \
    "value ::= object | array | string | number | \"true\" | \"null\"\n" \
    "object ::= \"{\" (string \":\" ws value (\",\" ws string \":\" ws value)*)? \"}\"\n" \
    "array ::= \"[\" (value (\",\" ws value)*)? \"]\"\n" \
    "string ::= \"\\\"\" [a-zA-Z ,.]* \"\\\"\"\n" \
    "number ::= [0-9]{1,5}\n" \
    "ws ::= \" \"?"

#define NO_Q "[\\x09-pr-\\x7e]*" /* what follows a trigger at once must fit, or llama.cpp ends the program */

static void check_run(const char *name, llama_sampler *grammar, uint32_t seed)
{
    llama_sampler *chain = llama_chain(top_k(0), temp(0.9f), dist(seed));
    say(name);
    read_text("Once upon a time there was a king who");
    for (int i = 0; i < 40 && i < 2 * length; i++) {
        if (i == 20) { /* a clone goes on, and what it is a clone of begins again */
            llama_sampler *clone = llama_sampler_clone(grammar);
            llama_sampler_reset(grammar);
            llama_sampler_free(grammar);
            grammar = clone;
        }
        int32_t token = sample_and_check(chain, grammar);
        printf(" %d", token);
        if (token < 3) break; /* the end */
        llama_read(ctx, &token, 1);
    }
    printf("\n");
    llama_sampler_free(chain);
    llama_sampler_free(grammar);
}

/* A text read by a lazy grammar of 60 ASCII characters: how many tokens it allows behind each tells where it began. No
   token that begins it is refused, once there is a text (an empty pattern begins with any token): llama.cpp throws at
   such a token, and this library masks it. */
static void lazy_text(const char *pattern, const char *word)
{
    llama_sampler *s = lazy("root ::= [ -~\\n]{60}", pattern, word);
    llama_data *data = malloc((size_t)n_vocab * sizeof *data);
    int32_t tokens[160];
    const char *text = "the king said <tool>call me a dog, call me a cat, and so on. The end of it all is here";
    int32_t n = llama_tokenize(vocab, text, (int32_t)strlen(text), tokens, 100, false, false);
    int32_t more = llama_tokenize(vocab, "abababababababababababababababababababababababababab", 50, tokens + n, 60,
                                  false, false);
    say("lazy");
    printf("%s%s", pattern ? pattern : "", word ? word : "");
    uint64_t sum = 0;
    for (int32_t i = 0; i < n + more; i++) {
        size_t n_allowed = 0;
        for (int32_t k = 0; k < n_vocab; k++) data[k] = (llama_data){ k, 1.0f, 0.0f };
        llama_array cur = { data, (size_t)n_vocab, -1, false };
        if (i) llama_sampler_apply(s, &cur);
        for (int32_t k = 0; k < n_vocab; k++) n_allowed += data[k].logit > -INFINITY;
        sum = sum * 31 + n_allowed;
        if (i % 8 == 1) printf(" %zu", n_allowed);
        if (data[tokens[i]].logit == -INFINITY) break;
        llama_sampler_accept(s, tokens[i]);
    }
    printf(" %016llx\n", (unsigned long long)sum);
    free(data);
    llama_sampler_free(s);
}

static void grammars(void)
{
    static const char *const patterns[] = {
        "<tool>",
        "(<tool>)",
        "<tool>(call)",
        "[\\s\\S]*?(call)[\\s\\S]*",
        "[\\s\\S]*(call)",
        "^the ki",
        "^king",
        "dog(x?), (call)",
        "(?:dog|cat)(,)",
        "[^c]+?(l+)",
        "\\w+ (\\w+?)\\b",
        "^[^.]*(\\.)\\s*",
        "^.*(cat).*$",
        "^the king$",
        "o(n|f)",
        "(o)n|(a)ll",
        "(t|th|the)(?=x)|is",
        "",
        "(e)nd$",
        "(xyz)?end",
        "(?:a|b)*(d)",
        "(a*)*nd",
        "d{1,2}(o)",
        "(.)\\.",
        "<[a-z]{4}>(c[a-z]*)",
    };
    run("infill", llama_chain(top_k(40), top_p(0.99f, 3), llama_sampler_init_infill(vocab), dist(60)));
    run("infill, cold", llama_chain(top_k(40), temp(0.2f), llama_sampler_init_infill(vocab), dist(61)));
    run("infill, greedy", llama_chain(top_k(100), llama_sampler_init_infill(vocab), greedy()));
    run("lazy grammar", llama_chain(lazy("root ::= " NO_Q, " w", NULL), dist(62)));
    for (uint32_t seed = 0; seed < 3; seed++) {
        check_run("json", llama_sampler_init_grammar(vocab, JSON, "root"), 70 + seed);
        check_run("json, at a rule", llama_sampler_init_grammar(vocab, JSON, "array"), 80 + seed);
        check_run("lazy, by a pattern", lazy("root ::= \"a\" " NO_Q, "(a)[^ ]* ?$", NULL), 90 + seed);
        check_run("lazy, by a word", lazy("root ::= " NO_Q, NULL, "o"), 100 + seed);
    }
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && (length >= 24 || i < 2); i++)
        lazy_text(patterns[i], NULL);
    lazy_text(NULL, "call");
    lazy_text(NULL, "of");
    lazy_text(NULL, ".");
}

/* ---- what is done to samplers ---- */

static llama_sampler *usual(uint32_t seed)
{
    return llama_chain(penalties(32, 1.2f, 0.1f, 0.0f), dry(0.8f, 2, 64), top_k(40), mine(&TWELVE),
                       llama_sampler_init_xtc(0.3f, 0.1f, 0, seed), llama_sampler_init_mirostat_v2(seed, 5.0f, 0.1f));
}

static void begin(const char *name)
{
    say(name);
    read_text("In the forest");
}

static void lives(void)
{
    llama_sampler *chain = usual(60);
    begin("clone");
    generate(chain, 8);
    llama_sampler *clone = llama_sampler_clone(chain);
    generate(chain, 8);
    read_text("In the forest"); /* the same logits again, to both */
    generate(chain, 8);
    read_text("In the forest");
    generate(clone, 8);
    printf("\n");

    begin("copy");
    llama_sampler_copy(chain, clone);
    generate(clone, 4);
    read_text("In the forest");
    generate(chain, 4);
    printf(" mine %d\n", *(int *)llama_sampler_chain_get(clone, 3)->ctx);
    llama_sampler_free(clone);

    begin("reset");
    llama_sampler_reset(chain);
    generate(chain, 8);
    llama_sampler_reset(chain);
    printf(" mine %d", *(int *)llama_sampler_chain_get(chain, 3)->ctx);
    read_text("In the forest");
    generate(chain, 8);
    printf("\n");

    begin("members");
    printf(" n %d", llama_sampler_chain_n(chain));
    for (int i = -2; i <= llama_sampler_chain_n(chain); i++) {
        const llama_sampler *s = llama_sampler_chain_get(chain, i);
        printf(" %s", s ? llama_sampler_name(s) : "none");
    }
    printf(" seeds");
    for (int i = 0; i < 6; i++) printf(" %u", llama_sampler_get_seed(llama_sampler_chain_get(chain, i)));
    llama_sampler *out = llama_sampler_chain_remove(chain, 4);
    printf(" %s %d %p", llama_sampler_name(out), llama_sampler_chain_n(chain),
           (void *)llama_sampler_chain_remove(chain, 9));
    generate(chain, 8);
    llama_sampler *like = llama_sampler_init_xtc(0.3f, 0.1f, 0, 60);
    llama_sampler_copy(like, out); /* in no chain */
    llama_sampler_free(like);
    llama_sampler *last = llama_sampler_chain_remove(chain, 4);
    llama_sampler_chain_add(chain, out);
    llama_sampler_chain_add(chain, last);
    generate(chain, 8);
    printf("\n");

    begin("to another chain"); /* state goes with them */
    llama_sampler *other = llama_chain(temp(0.9f));
    while (llama_sampler_chain_n(chain) > 0) llama_sampler_chain_add(other, llama_sampler_chain_remove(chain, 0));
    llama_sampler_free(chain);
    generate(other, 8);
    llama_sampler_accept(llama_sampler_chain_get(other, 1), 300); /* a member alone is told */
    generate(other, 8);
    clone = llama_sampler_clone(llama_sampler_chain_get(other, 1));
    for (int i = 0; i < 4; i++) llama_sampler_accept(clone, 400 + i);
    llama_sampler_copy(clone, llama_sampler_chain_get(other, 1)); /* in its new chain */
    llama_sampler_free(clone);
    generate(other, 8);
    llama_sampler_free(other);
    printf("\n");

    begin("in two chains");
    llama_sampler *shared = penalties(16, 1.5f, 0.0f, 0.0f);
    llama_sampler *a = llama_chain(shared, dist(61)), *b = llama_chain(shared, top_k(10), dist(62));
    generate(a, 6);
    generate(b, 6);
    llama_sampler_chain_remove(b, 0);
    llama_sampler_free(a);
    generate(b, 4);
    llama_sampler_free(b);
    printf("\n");

    begin("counts");
    llama_chain_params timed = { false };
    chain = llama_sampler_chain_init(timed);
    llama_sampler_chain_add(chain, dist(63));
    generate(chain, 6);
    llama_perf perf = llama_perf_sampler(chain);
    printf(" %d %d", perf.n_sample, perf.ms > 0.0);
    llama_perf_sampler_reset(chain);
    perf = llama_perf_sampler(chain);
    printf(" %d %d\n", perf.n_sample, perf.ms > 0.0);
    llama_sampler_free(chain);

    begin("random seeds");
    a = dist(LLAMA_RANDOM_SEED), b = dist(LLAMA_RANDOM_SEED);
    uint32_t first = llama_sampler_get_seed(a), second = llama_sampler_get_seed(b);
    printf(" %d %d", first != second, first != LLAMA_RANDOM_SEED && second != LLAMA_RANDOM_SEED);
    llama_sampler_reset(a);
    clone = llama_sampler_clone(a);
    printf(" %d %d\n", first != llama_sampler_get_seed(a),
           llama_sampler_get_seed(clone) == llama_sampler_get_seed(a));
    llama_sampler_free(clone);
    llama_sampler_free(a);
    llama_sampler_free(b);

    begin("bad rows");
    for (int bad = 0; bad < 3; bad++) {
        llama_data data[4] = { { 0, 1.0f, 0.0f }, { 1, 3.0f, 0.0f }, { 2, 2.0f, 0.0f }, { 3, 0.5f, 0.0f } };
        if (bad == 1) data[2].logit = NAN;
        for (int i = 0; bad == 2 && i < 4; i++) data[i].logit = -INFINITY;
        llama_array cur = { data, 4, -1, false };
        a = llama_chain(temp(0.5f), greedy());
        llama_sampler_apply(a, &cur);
        printf(" %d", (int)cur.selected);
        llama_sampler_free(a);
    }
    printf("\n");
}

/* What libllama makes for itself must be its own: it looks inside. */
static void originals(void)
{
    llama_sampler *list[] = { llama_sampler_init_typical(0.0f, 1),
                              llama_sampler_init_infill(vocab),
                              llama_sampler_init_grammar(vocab, "root ::= [^xyz]*", "root"),
                              penalties(8, 0.0f, 0.0f, 0.0f),
                              llama_sampler_init_mirostat(n_vocab, 64, -1.0f, 0.1f, 100),
                              llama_sampler_init_dry(vocab, -1.0f, 1.75f, 2, 64, (const char **)(uintptr_t)BREAKERS,
                                                     5) };
    /* it makes a dry, and puts breakers in: of std::vectors, which are three pointers, one of one token */
    int32_t token[] = { 13 };
    void *tokens[3] = { token, token + 1, token + 1 }, *breakers[3] = { tokens, tokens + 3, tokens + 3 };
    llama_sampler *made = llama_dry_testing(1.0f, 1.75f, 2, 64, breakers), *copy = llama_sampler_clone(made);
    begin("originals");
    printf(" %s", llama_sampler_name(copy));
    llama_sampler_free(copy);
    llama_sampler_free(made);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        llama_sampler *clone = llama_sampler_clone(list[i]), *again = list[i]->iface->clone(clone);
        printf(" %s", llama_sampler_name(again));
        llama_sampler_accept(again, 300);
        llama_sampler_reset(again);
        llama_sampler_free(again);
        llama_sampler_free(clone);
        llama_sampler_free(list[i]);
    }
    llama_sampler_free(NULL);
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: api BINS MODEL [short]\n");
        return 2;
    }
    if (argc > 3) length = 2;
    ctx = llama_open(argv[1], argv[2], 256);
    vocab = llama_model_get_vocab(llama_get_model(ctx));
    n_vocab = llama_vocab_n_tokens(vocab);
    chains();
    arrays();
    grammars();
    lives();
    originals();
    llama_close(ctx);
    printf("%d lines\n", n_lines);
    return 0;
}
