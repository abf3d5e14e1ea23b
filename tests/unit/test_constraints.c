/* test_constraints.c - bans, biases, budgets and loop breakers (SAMPLING_CONSTRAINTS): cases by hand, and random walks
   against references that look at the whole text anew for each token. At every place of a walk the sampler's array, the
   fast path, a batch, a copy, a state that was saved and loaded, and one that has gone back must all agree with the
   reference.

     SAMP_TEST_CASES   walks of each kind (default 60; with SAMP_TEST_FULL 1000, with SAMP_TEST_QUICK 3) */
#define SAMPLING_GRAMMAR
#define SAMPLING_CONSTRAINTS
#include "tests/support/inside.h"
#include "tests/support/test.h"

enum { N = 40, WIDE = 400, MOST = 120, N_TEXTS = 4, PIECES = 24 };

/* ---- a vocabulary: letters, pieces that overlap, halves of characters, a token without bytes ---- */

static const char *const pieces[N] = { "a",   "b",    "c",         "ab",    "b\n",  "abc",  "A",  "B",
                                       "cab", "\xe2", "\x82",      "\xac",  "\xc3", "\xa9", "",   "bb",
                                       "aab", "bc",   "c\xe2\x82", "\na\n", "x",    "xa",   "ax", "cx" };
static const char *piece_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    (void)vocab;
    if (token >= PIECES) { /* the rest is out of the way of all texts */
        *n = 1;
        return &"zyxwvutsrqponmlk"[token - PIECES];
    }
    *n = strlen(pieces[token]);
    return pieces[token];
}
static const char *one_byte(const samp_vocab *of, samp_token token, size_t *n)
{
    static char all[256];
    (void)of;
    all[token] = (char)token;
    *n = 1;
    return &all[token];
}
static const samp_token ends[] = { 20, 23, 20 };
static const samp_vocab vocab = { N, piece_bytes, NULL, NULL, ends, 2, 20, -1 };

static void mask(float *l) { *l = -INFINITY; }
static void add(float *l, float bias)
{
    if (*l == -INFINITY) return;
    *l = bias == -INFINITY ? bias : *l + bias;
}

/* ---- what a sampler is made of, and what the reference knows of it ---- */

typedef enum kind {
    SEQUENCE_BIAS,
    BANNED_SEQUENCES,
    BANNED_STRINGS,
    SUPPRESSED,
    BEGIN_SUPPRESSED,
    MIN_TOKENS,
    ALLOWED,
    FORCED_PREFIX,
    EOG_BIAS,
    LENGTH_PENALTY,
    NO_REPEAT,
    STAMPS,
    PERIOD,
    CUSUM,
    THINKING,
    PLANNED,
    SCHEDULED,
    PATTERN,
    N_KINDS
} kind;

/* A regular expression as a tree, and its text: the reference knows no derivatives. */
typedef struct part {
    enum { LETTER, EITHER, THEN, OR, MANY, SOME, MAYBE } op;
    int a, b; /* parts before this one */
    char letter[4];
} part;

typedef struct spec {
    kind kind;
    samp_sequence sequences[N_TEXTS];
    samp_token tokens[N_TEXTS][8];
    char strings[N_TEXTS][8];
    size_t n;
    bool any_case, has_vocab;
    samp_thinking spans[2];
    samp_token first, without;
    int32_t most, begin, n_min, size, last_n, shortest, longest, copies, every, budget, open;
    float bias, factor, penalty, loss, alarm;
    samp_thinking_plan plan;
    samp_schedule when;
    samp_loop loop;
    samp_sequence ends[2];
    samp_token note[4];
    part parts[12]; /* [n_parts] the last one is all of it */
    int n_parts;
    bool from_start;
    char pattern[400];
} spec;

static samp_sampler *make(const spec *p)
{
    const char *strings[N_TEXTS];
    for (size_t i = 0; i < N_TEXTS; i++) strings[i] = p->strings[i];
    switch (p->kind) {
        case SEQUENCE_BIAS: return samp_init_sequence_bias(p->sequences, p->n);
        case BANNED_SEQUENCES: return samp_init_banned_sequences(p->sequences, p->n, 0);
        case BANNED_STRINGS:
            return samp_init_banned_strings(&vocab, strings, p->n, p->any_case ? SAMP_BAN_ANY_CASE : 0);
        case SUPPRESSED: return samp_init_suppressed_tokens(p->tokens[0], p->n);
        case BEGIN_SUPPRESSED: return samp_init_begin_suppressed_tokens(p->tokens[0], p->n, p->begin);
        case MIN_TOKENS: return samp_init_min_tokens(p->tokens[0], p->n, p->n_min, p->begin);
        case ALLOWED: return samp_init_allowed_tokens(p->tokens[0], p->n);
        case FORCED_PREFIX: return samp_init_forced_prefix(p->tokens[0], p->n, p->begin);
        case EOG_BIAS: return samp_init_eog_bias(p->tokens[0], p->n, p->bias);
        case LENGTH_PENALTY: return samp_init_length_penalty(p->tokens[0], p->n, p->n_min, p->factor, p->begin);
        case NO_REPEAT:
            if (p->any_case) return samp_init_no_repeat_ngram_except(p->size, p->last_n, p->tokens[0], p->n);
            return samp_init_no_repeat_ngram(p->size, p->last_n);
        case STAMPS:
            return samp_init_timestamps_except(p->first, p->without, p->most, p->tokens[0], p->has_vocab ? p->n : 0);
        case PERIOD:
            return samp_init_loop_breaker(p->shortest, p->longest, p->copies, p->last_n, p->every, p->penalty);
        case CUSUM: return samp_init_loop_breaker_cusum(p->size, p->last_n, p->loss, p->alarm, p->penalty);
        case THINKING:
            return samp_init_thinking_budget(p->has_vocab ? &vocab : NULL, p->spans, p->n, p->budget, p->open);
        case PLANNED:
            return samp_init_thinking(p->has_vocab ? &vocab : NULL, p->spans, p->n, p->budget, p->open, &p->plan);
        case PATTERN: return samp_init_banned_pattern(&vocab, p->pattern, p->any_case ? SAMP_BAN_ANY_CASE : 0, NULL);
        case SCHEDULED: return samp_init_schedule(&p->when, samp_init_suppressed_tokens(p->tokens[0], p->n));
        case N_KINDS: break;
    }
    return NULL;
}

static size_t write_part(const spec *p, int i, char *out)
{
    const part *q = &p->parts[i];
    size_t n = 0;
    switch (q->op) {
        case LETTER: return (size_t)sprintf(out, "%s", q->letter);
        case EITHER: return (size_t)sprintf(out, "[%c-%c]", q->letter[0], q->letter[1]);
        default: break;
    }
    n += (size_t)sprintf(out, "(?:");
    n += write_part(p, q->a, out + n);
    if (q->op == OR) out[n++] = '|';
    if (q->op == OR || q->op == THEN) n += write_part(p, q->b, out + n);
    return n + (size_t)sprintf(out + n, ")%s", q->op == MANY ? "*" : q->op == SOME ? "+" : q->op == MAYBE ? "?" : "");
}

/* One that does not match the empty text, since it ends with a letter. */
static void any_pattern(spec *p, source *s)
{
    static const char *const letters[] = { "a", "b", "c", "A", "B", "x", "\xe2\x82\xac", "\n" };
    int n = 2 + (int)below(s, 4), k = n;
    for (int i = 0; i < n; i++) {
        strcpy(p->parts[i].letter, letters[below(s, below(s, 3) ? 3 : TEST_COUNT(letters))]);
        if (below(s, 4) == 0) p->parts[i] = (part){ EITHER, 0, 0, { 'a', below(s, 2) ? 'b' : 'c', 0, 0 } };
    }
    for (int i = 0; i < (int)below(s, 4); i++, k++) {
        p->parts[k].op = (int)below(s, 5) + THEN;
        p->parts[k].a = (int)below(s, (uint64_t)k);
        p->parts[k].b = (int)below(s, (uint64_t)k);
    }
    p->parts[k] = (part){ THEN, k - 1, (int)below(s, (uint64_t)n), { 0 } };
    p->n_parts = k + 1;
    p->from_start = below(s, 5) == 0;
    p->pattern[0] = '^';
    write_part(p, k, p->pattern + p->from_start);
}

/* Of a plan and of a schedule, whatever else the spec has. */
static void any_plan(spec *p, source *s)
{
    samp_loop loop = { p->shortest, p->longest, p->copies, p->last_n, p->every };
    p->loop = loop;
    for (size_t i = 0; i < 4; i++) p->note[i] = (samp_token)below(s, 8);
    for (size_t i = 0; i < 2; i++) p->ends[i] = (samp_sequence){ p->tokens[i] + 5, 1 + below(s, 3), 0.0f };
    p->budget = (int32_t)below(s, 16);
    if (below(s, 3) == 0) p->plan.total = 1 + (int32_t)below(s, 30);
    if (below(s, 3) == 0)
        p->plan.soft = (int32_t)below(s, 12);
    else if (below(s, 3))
        p->plan.soft_ratio = (float)uniform(s);
    if (below(s, 2)) p->plan.grace = (int32_t)below(s, 7);
    if (below(s, 3)) p->plan.note = p->note, p->plan.n_note = below(s, 5), p->has_vocab |= p->plan.n_note > 0;
    if (below(s, 3) == 0) p->plan.ends = p->ends, p->plan.n_ends = 1 + below(s, 2);
    p->plan.ramp = (samp_ramp)below(s, 3);
    p->plan.bias = (float)(5.0 * uniform(s));
    if (below(s, 3) == 0) p->plan.loop = &p->loop, p->plan.loop_from = (int32_t)below(s, 6);
    samp_schedule when = { (samp_unit)below(s, 2),
                           (int32_t)below(s, 5),
                           0,
                           p->begin,
                           (samp_area)below(s, 3),
                           p->spans,
                           1 + below(s, 2),
                           0,
                           NULL,
                           0,
                           &vocab,
                           NULL };
    when.to = below(s, 4) ? when.from + 1 + (int32_t)below(s, 6) : 0;
    if (!when.where && below(s, 2)) when.n_spans = 0;
    when.inside = (int32_t)below(s, when.n_spans + 1);
    if (below(s, 2)) when.until = p->tokens[2], when.n_until = 1 + below(s, 3);
    if (below(s, 3) == 0) when.loop = &p->loop;
    p->when = when;
}

/* Settings at random, of short texts over few tokens, so that much happens. */
static void any_spec(spec *p, source *s, kind kind)
{
    static const char letters[] = "abcABx\xe2\x82\xac";
    memset(p, 0, sizeof *p);
    p->kind = kind;
    p->n = 1 + below(s, N_TEXTS);
    for (size_t i = 0; i < N_TEXTS; i++) {
        size_t n = 1 + below(s, 4), n_bytes = 1 + below(s, 5);
        for (size_t k = 0; k < 8; k++) p->tokens[i][k] = (samp_token)below(s, below(s, 8) ? 6 : N);
        for (size_t k = 0; k < n_bytes; k++)
            p->strings[i][k] = letters[below(s, below(s, 3) ? 3 : sizeof letters - 1)];
        p->tokens[i][0] = (samp_token)(i % 2 ? i : below(s, 4)); /* else sequences might be there twice */
        p->sequences[i].tokens = p->tokens[i];
        p->sequences[i].n = i % 2 ? n : 1 + i;
        p->sequences[i].bias = below(s, 3) ? (float)(2.0 * normal(s)) : -INFINITY;
    }
    for (size_t i = 0; i < 2; i++) {
        samp_thinking span = { p->tokens[i], 1 + below(s, 2), p->tokens[i] + 3, 1 + below(s, 3), NULL, 0 };
        if (below(s, 2)) span.force = p->tokens[i] + 1, span.n_force = 2 + below(s, 4);
        p->spans[i] = span;
    }
    if (kind == THINKING || kind == PLANNED) p->n = 1 + p->n % 2;
    p->any_case = below(s, 2);
    p->has_vocab = below(s, 2);
    p->begin = (int32_t)below(s, 12);
    p->n_min = (int32_t)below(s, 9);
    p->size = 1 + (int32_t)below(s, 4);
    p->last_n = p->size + (int32_t)below(s, 40);
    p->shortest = 1 + (int32_t)below(s, 3);
    p->longest = p->shortest + (int32_t)below(s, 5);
    p->copies = 2 + (int32_t)below(s, 2);
    if (kind == PERIOD || kind >= PLANNED) p->last_n = p->copies * p->shortest + (int32_t)below(s, 30);
    p->first = (samp_token)below(s, 6);
    p->without = (samp_token)below(s, 8) - 1;
    p->most = (int32_t)below(s, 5) - 1;
    p->every = 1 + (int32_t)below(s, 5);
    p->budget = (int32_t)below(s, 7);
    p->open = (int32_t)below(s, p->n + 1) - 1;
    p->bias = below(s, 4) ? (float)(2.0 * normal(s)) : -INFINITY;
    p->factor = below(s, 2) ? 1.1f : 0.7f;
    p->penalty = kind == NO_REPEAT || below(s, 2) ? INFINITY : 1.5f;
    p->loss = 0.25f;
    p->alarm = (float)(1 + below(s, 4));
    if (kind == PLANNED || kind == SCHEDULED) any_plan(p, s);
    if (kind == PATTERN) any_pattern(p, s);
}

/* Is one of its sequences there twice? */
static bool is_doubled(const spec *p)
{
    bool same = false;
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < i; k++)
            same |= p->sequences[i].n == p->sequences[k].n &&
                    memcmp(p->tokens[i], p->tokens[k], p->sequences[i].n * sizeof(samp_token)) == 0;
    return same;
}

/* ---- the references: from the whole text, each in its own way ---- */

/* Does text [n] end with tokens [m]? */
static bool text_ends(const samp_token *text, size_t n, const samp_token *tokens, size_t m)
{
    return m <= n && memcmp(text + n - m, tokens, m * sizeof *tokens) == 0;
}

static size_t spell(const samp_token *text, size_t n, char *out)
{
    size_t length = 0, n_bytes;
    for (size_t i = 0; i < n; i++) {
        const char *bytes = piece_bytes(NULL, text[i], &n_bytes);
        memcpy(out + length, bytes, n_bytes);
        length += n_bytes;
    }
    return length;
}

static bool same_byte(char a, char b, bool any_case)
{
    if (any_case && a >= 'A' && a <= 'Z') a = (char)(a + 32);
    if (any_case && b >= 'A' && b <= 'Z') b = (char)(b + 32);
    return a == b;
}

/* Where part i may end in bytes [n] if it begins at one of the places in; all are [n + 1]. */
static void ends_of(const spec *p, int i, const char *bytes, size_t n, const bool *in, bool *out)
{
    const part *q = &p->parts[i];
    bool middle[4 * MOST + 9], next[4 * MOST + 9];
    memset(out, 0, (n + 1) * sizeof *out);
    if (q->op == LETTER || q->op == EITHER) {
        for (size_t at = 0; at <= n; at++) {
            size_t m = q->op == EITHER ? 1 : strlen(q->letter);
            bool same = in[at] && at + m <= n;
            for (size_t k = 0; k < m && same; k++) {
                same = same_byte(bytes[at + k], q->letter[k], p->any_case);
                for (char c = q->letter[0]; q->op == EITHER && c <= q->letter[1]; c++)
                    same |= same_byte(bytes[at], c, p->any_case);
            }
            if (same) out[at + m] = true;
        }
        return;
    }
    ends_of(p, q->a, bytes, n, in, out);
    if (q->op == THEN) {
        memcpy(middle, out, (n + 1) * sizeof *out);
        ends_of(p, q->b, bytes, n, middle, out);
    } else if (q->op == OR) {
        ends_of(p, q->b, bytes, n, in, middle);
        for (size_t k = 0; k <= n; k++) out[k] |= middle[k];
    } else if (q->op == MANY || q->op == SOME) {
        for (bool more = true; more;) {
            more = false;
            memcpy(middle, out, (n + 1) * sizeof *out);
            ends_of(p, q->a, bytes, n, middle, next);
            for (size_t k = 0; k <= n; k++) more |= next[k] && !out[k], out[k] |= next[k];
        }
    }
    if (q->op == MANY || q->op == MAYBE)
        for (size_t k = 0; k <= n; k++) out[k] |= in[k];
}

/* As below, of a pattern. */
static int pattern_before(const spec *p, const char *bytes, size_t n, size_t fresh)
{
    for (size_t begin = 0; begin < n && !(p->from_start && begin); begin++) {
        bool in[4 * MOST + 9] = { false }, out[4 * MOST + 9];
        in[begin] = true;
        ends_of(p, p->n_parts - 1, bytes, n, in, out);
        for (size_t end = n - fresh + 1; end <= n; end++)
            if (out[end]) return begin < n - fresh ? (int)(n - fresh - begin) : 0;
    }
    return -1;
}

/* How many bytes before its end does a string begin that ends in the last `fresh` bytes of bytes [n]? The longest way
   back from the beginning of these, or -1. */
static int begins_before(const spec *p, const char *bytes, size_t n, size_t fresh)
{
    int best = -1;
    if (p->kind == PATTERN) return pattern_before(p, bytes, n, fresh);
    for (size_t i = 0; i < p->n; i++) {
        size_t m = strlen(p->strings[i]);
        for (size_t end = n - fresh + 1; end <= n; end++) {
            bool same = m <= end;
            for (size_t k = 0; k < m && same; k++)
                same = same_byte(bytes[end - m + k], p->strings[i][k], p->any_case);
            int before = (int)(n - fresh) - (int)(end - m);
            if (same && (before > 0 ? before : 0) > best) best = before > 0 ? before : 0;
        }
    }
    return best;
}

/* Do the tokens at `at` stand anywhere before, within the last last_n of text [n]? m of them, which end at n. */
static bool stood_before(const samp_token *text, size_t n, size_t m, size_t last_n)
{
    size_t from = n > last_n ? n - last_n : 0;
    for (size_t i = from; i + m < n; i++)
        if (memcmp(text + i, text + n - m, m * sizeof *text) == 0) return true;
    return false;
}

/* `last_n` counts the candidate. */
static void want_followers(const spec *p, const samp_token *text, size_t n, size_t last_n, float *row)
{
    samp_token next[MOST + 1];
    memcpy(next, text, n * sizeof *text);
    for (samp_token t = 0; t < N; t++) {
        next[n] = t;
        if (stood_before(next, n + 1, (size_t)p->size, last_n)) add(&row[t], -p->penalty);
    }
}

static size_t period_of(const spec *p, const samp_token *text, size_t n)
{
    for (size_t period = (size_t)p->shortest; period <= (size_t)p->longest; period++) {
        size_t need = period * (size_t)p->copies, i = 0;
        if (need > n || need > (size_t)p->last_n) continue;
        while (i + period < need && text[n - 1 - i] == text[n - 1 - i - period]) i++;
        if (i + period == need) return period;
    }
    return 0;
}

static void want_period(const spec *p, const samp_token *text, size_t n, float *row)
{
    size_t period = 0;
    for (size_t i = 0; i < n; i++) {
        if (period && text[i] != text[i - period]) period = 0;
        if ((i + 1) % (size_t)p->every == 0) period = period_of(p, text, i + 1);
    }
    if (period) add(&row[text[n - period]], -p->penalty);
}

static void want_cusum(const spec *p, const samp_token *text, size_t n, float *row)
{
    float sum = 0.0f;
    for (size_t i = 0; i < n; i++) {
        bool again = i + 1 >= (size_t)p->size && stood_before(text, i + 1, (size_t)p->size, (size_t)p->last_n);
        sum = fminf(p->alarm, fmaxf(0.0f, sum + (again ? 1.0f : -p->loss)));
    }
    if (sum >= p->alarm) want_followers(p, text, n, (size_t)p->last_n, row);
}

/* samp_thinking_end in the walk under way: the beginning of the span that is to end, and 1; and what it was when each
   token was accepted. */
static size_t wish, wishes[MOST];

/* What is known of thinking behind a text. */
typedef struct thought {
    int span, stage;
    size_t since, spent, u, h, soft, done; /* done: of what is forced */
    bool said;                             /* the note */
    int32_t left;
    samp_token forced, ramped; /* -1: none */
    double bias;
} thought;

static bool ends_line(const spec *p, samp_token token)
{
    size_t n;
    const char *bytes = piece_bytes(NULL, token, &n);
    return p->has_vocab && n && bytes[n - 1] == '\n';
}

static size_t missing_bytes(const spec *p, const samp_token *text, size_t n)
{
    char bytes[MOST * 4];
    size_t missing = 0, n_bytes = spell(text, n, bytes);
    for (size_t k = 0; k < n_bytes && p->has_vocab; k++) {
        unsigned char c = (unsigned char)bytes[k];
        missing = c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : c >= 0x80 && missing ? missing - 1 : 0;
    }
    return missing;
}

/* How much a span may have, and from where on it is soft. */
static void bounds_of(const spec *p, thought *t)
{
    size_t total = (size_t)p->plan.total;
    t->h = (size_t)p->budget;
    if (total) t->h = total < t->spent ? 0 : total - t->spent < t->h ? total - t->spent : t->h;
    t->soft = p->plan.soft ? (size_t)p->plan.soft : t->h;
    if (p->plan.soft_ratio > 0.0f) t->soft = (size_t)floor((double)p->plan.soft_ratio * (double)t->h);
    if (t->soft > t->h) t->soft = t->h;
}

enum { FREE, NOTING, ENDING };

/* The last of text [i] comes while a span is open. */
static void think_on(const spec *p, thought *t, const samp_token *text, size_t i)
{
    const samp_thinking *span = &p->spans[t->span];
    const samp_token token = text[i - 1];
    size_t u = i - t->since;
    bool over = text_ends(text + t->since, u, span->end, span->n_end);
    for (size_t k = 0; k < p->plan.n_ends; k++)
        over |= text_ends(text + t->since, u, p->plan.ends[k].tokens, p->plan.ends[k].n);
    if (wishes[i - 1] == t->since + 1 && t->stage != ENDING && !missing_bytes(p, text, i - 1))
        t->stage = ENDING, t->done = 0;
    if (!over && t->stage == ENDING && span->force && token == span->force[t->done])
        over = ++t->done == span->n_force;
    if (over) {
        thought next = { -1, FREE, i, t->spent + u, 0, 0, 0, 0, false, 0, -1, -1, 0.0 };
        *t = next;
    } else if (t->stage == NOTING) {
        t->done += token == p->plan.note[t->done];
        if (t->done == p->plan.n_note) t->stage = FREE;
    } else if (t->stage == FREE && !t->said && ends_line(p, token) && p->plan.n_note && t->soft < t->h &&
               u >= t->soft && u + p->plan.n_note <= t->h) {
        t->stage = NOTING;
        t->said = true;
        t->done = 0;
    }
}

/* Is the budget of the open span spent behind text [i], or is it in a loop? */
static bool is_spent(const spec *p, const thought *t, const samp_token *text, size_t i)
{
    size_t u = i - t->since, latest = t->h ? t->h + (size_t)p->plan.grace : 0, missing = missing_bytes(p, text, i);
    bool over = u >= latest || (i > 0 && ends_line(p, text[i - 1]) && u >= t->h && t->stage != NOTING);
    if (!over && !missing && t->stage != NOTING && p->plan.loop && u >= (size_t)p->plan.loop_from &&
        u % (size_t)p->every == 0)
        over = period_of(p, text + t->since, u) > 0;
    return over && (!missing || u >= latest + 4);
}

/* The budget, as a story told from its beginning. */
static thought think(const spec *p, const samp_token *text, size_t n)
{
    thought t = { p->open, FREE, 0, 0, 0, 0, 0, 0, false, -1, -1, -1, 0.0 };
    for (size_t i = 0; i <= n; i++) {
        if (i > 0 && t.span < 0) { /* the longest start that is complete */
            size_t longest = 0;
            for (size_t k = 0; k < p->n; k++)
                if (p->spans[k].n_start > longest &&
                    text_ends(text + t.since, i - t.since, p->spans[k].start, p->spans[k].n_start))
                    t.span = (int)k, longest = p->spans[k].n_start;
            if (t.span >= 0) t.since = i;
        } else if (i > 0) {
            think_on(p, &t, text, i);
        }
        bounds_of(p, &t);
        if (t.span >= 0 && t.stage != ENDING && is_spent(p, &t, text, i)) t.stage = ENDING, t.done = 0;
    }
    if (t.span >= 0 && t.stage != ENDING && wish == t.since + 1 && !missing_bytes(p, text, n))
        t.stage = ENDING, t.done = 0;
    t.u = n - t.since;
    t.left = t.span < 0 ? -1 : t.stage == ENDING || t.u >= t.h ? 0 : (int32_t)(t.h - t.u);
    if (t.span < 0) return t;
    const samp_thinking *span = &p->spans[t.span];
    size_t k = span->n_end - 1; /* what is there of the end already */
    while (k > 0 && !text_ends(text + t.since, t.u, span->end, k)) k--;
    if (t.stage == NOTING) t.forced = p->plan.note[t.done];
    if (t.stage == ENDING) t.forced = span->force ? span->force[t.done] : span->end[k];
    if (t.stage == FREE && p->plan.ramp && t.soft < t.h && t.u >= t.soft) {
        double x = fmin(1.0, (double)(t.u - t.soft + 1) / (double)(t.h - t.soft + 1));
        t.ramped = span->end[k];
        t.bias = (double)p->plan.bias * (p->plan.ramp == SAMP_RAMP_LINEAR ? x : (pow(2.0, 8.0 * x) - 1.0) / 255.0);
    }
    return t;
}

/* The stage that the sampler tells. */
static int stage_of(const thought *t)
{
    if (t->span < 0) return SAMP_THINKING_NOT;
    if (t->stage) return t->stage == NOTING ? SAMP_THINKING_NOTE : SAMP_THINKING_ENDS;
    return t->u >= t->h ? SAMP_THINKING_GRACE : t->u >= t->soft ? SAMP_THINKING_SOFT : SAMP_THINKING_OPEN;
}

/* Is it the time of a schedule behind a text? */
static bool is_time(const spec *p, const samp_token *text, size_t n)
{
    const samp_schedule *w = &p->when;
    size_t inside = (size_t)w->inside, since = 0, c = 0;
    bool came = false, found = false;
    for (size_t i = 1; i <= n; i++) {
        size_t longest = 0, was = inside, n_bytes;
        for (size_t k = 0; k < w->n_spans && was == 0; k++)
            if (w->spans[k].n_start > longest &&
                text_ends(text + since, i - since, w->spans[k].start, w->spans[k].n_start))
                inside = k + 1, longest = w->spans[k].n_start;
        if (was && text_ends(text + since, i - since, w->spans[was - 1].end, w->spans[was - 1].n_end)) inside = 0;
        if (inside != was) {
            since = i;
            c = came = found = 0;
        } else if (i > (size_t)w->begin) {
            const char *bytes = piece_bytes(NULL, text[i - 1], &n_bytes);
            if (w->count == SAMP_TOKENS) c++;
            for (size_t k = 0; k < n_bytes && w->count == SAMP_LINES; k++) c += bytes[k] == '\n';
            for (size_t k = 0; k < w->n_until; k++) came |= w->until[k] == text[i - 1];
        }
        if (w->loop && i % (size_t)p->every == 0 && period_of(p, text, i)) found = true, c = 0;
    }
    if (n < (size_t)w->begin || came || (w->loop && !found)) return false;
    if (w->where && (inside > 0) != (w->where == SAMP_INSIDE)) return false;
    return c >= (size_t)w->from && (!w->to || c < (size_t)w->to);
}

static void keep_only(float *row, const samp_token *tokens, size_t n)
{
    for (samp_token t = 0; t < WIDE; t++) {
        bool in = false;
        for (size_t i = 0; i < n; i++) in |= tokens[i] == t;
        if (!in) mask(&row[t]);
    }
}

static void want_sequences(const spec *p, const samp_token *text, size_t n, float *row)
{
    for (size_t length = 8; length > 0; length--)
        for (size_t i = 0; i < p->n; i++) {
            const samp_sequence *q = &p->sequences[i];
            if (q->n == length && text_ends(text, n, q->tokens, length - 1))
                add(&row[q->tokens[length - 1]], p->kind == SEQUENCE_BIAS ? q->bias : -INFINITY);
        }
}

static void want_strings(const spec *p, const samp_token *text, size_t n, float *row)
{
    char bytes[4 * MOST + 8];
    size_t length = spell(text, n, bytes), fresh;
    for (samp_token t = 0; t < N; t++) {
        const char *piece = piece_bytes(NULL, t, &fresh);
        memcpy(bytes + length, piece, fresh);
        if (begins_before(p, bytes, length + fresh, fresh) >= 0) mask(&row[t]);
    }
}

/* Whisper's rules as its program has them, one after another over the whole text and row [width]. */
static void want_stamps(const spec *p, const samp_token *text, size_t n, float *row, size_t width)
{
    const size_t first = (size_t)p->first;
    const bool last = n >= 1 && text[n - 1] >= p->first, before = n < 2 || text[n - 2] >= p->first;
    size_t latest = 0;
    double stamps = 0.0, best = 0.0, max = -INFINITY;
    if (p->without >= 0) row[p->without] = -INFINITY;
    for (size_t i = first; i < width && last && before; i++) row[i] = -INFINITY;
    for (size_t i = 0; i < first && last && !before; i++) {
        bool ends = false;
        for (size_t k = 0; k < p->n && p->has_vocab; k++) ends |= p->tokens[0][k] == (samp_token)i;
        if (!ends) row[i] = -INFINITY;
    }
    for (size_t i = 0; i < n; i++)
        if (text[i] >= p->first) latest = (size_t)text[i] + 1; /* one behind the last time stamp */
    if (latest && last && !before) latest--;
    for (size_t i = first; i < latest; i++) row[i] = -INFINITY;
    for (size_t i = 0; i < width && n == 0; i++)
        if (i < first || (p->most >= 0 && i > first + (size_t)p->most)) row[i] = -INFINITY;
    for (size_t i = 0; i < width; i++) max = fmax(max, (double)row[i]);
    if (max == -INFINITY) return;
    for (size_t i = 0; i < width; i++) {
        const double e = exp((double)row[i] - max);
        if (i >= first) stamps += e;
        if (i < first) best = fmax(best, e);
    }
    for (size_t i = 0; i < first && stamps > best; i++) row[i] = -INFINITY;
}

/* row [WIDE] behind text [n]; all that is named is below N. */
static void want(const spec *p, const samp_token *text, size_t n, float *row)
{
    int64_t at = (int64_t)n - p->begin;
    thought t;
    switch (p->kind) {
        case SEQUENCE_BIAS:
        case BANNED_SEQUENCES: want_sequences(p, text, n, row); return;
        case PATTERN:
        case BANNED_STRINGS: want_strings(p, text, n, row); return;
        case ALLOWED: keep_only(row, p->tokens[0], p->n); return;
        case FORCED_PREFIX:
            if (at >= 0 && at < (int64_t)p->n) keep_only(row, &p->tokens[0][at], 1);
            return;
        case NO_REPEAT: {
            float before[WIDE];
            memcpy(before, row, sizeof before);
            want_followers(p, text, n, (size_t)p->last_n + 1, row);
            for (size_t i = 0; p->any_case && i < p->n; i++) row[p->tokens[0][i]] = before[p->tokens[0][i]];
            return;
        }
        case STAMPS: want_stamps(p, text, n, row, WIDE); return;
        case PERIOD: want_period(p, text, n, row); return;
        case CUSUM: want_cusum(p, text, n, row); return;
        case THINKING:
        case PLANNED:
            t = think(p, text, n);
            if (t.forced >= 0) keep_only(row, &t.forced, 1);
            if (t.ramped >= 0) add(&row[t.ramped], (float)t.bias);
            return;
        case SCHEDULED:
            if (!is_time(p, text, n)) return;
            break;
        default: break;
    }
    for (size_t i = 0; i < p->n; i++) {
        float *l = &row[p->tokens[0][i]];
        bool seen = false;
        for (size_t k = 0; k < i; k++) seen |= p->tokens[0][k] == p->tokens[0][i];
        if (seen || *l == -INFINITY) continue;
        if (p->kind == SUPPRESSED || p->kind == SCHEDULED || (p->kind == BEGIN_SUPPRESSED && at == 0) ||
            (p->kind == MIN_TOKENS && at < p->n_min && p->n_min))
            mask(l);
        if (p->kind == EOG_BIAS) add(l, p->bias);
        if (p->kind == LENGTH_PENALTY && at > p->n_min) {
            double power =
                1.0; /* of a few tokens, so the order of products matters little, but rounding to f32 does */
            for (int64_t k = p->n_min; k < at; k++) power *= (double)p->factor;
            volatile float by = fabsf(*l) * (float)(power - 1.0);
            *l += by;
        }
    }
}

/* ---- walks ---- */

static void fail_at(const spec *p, const samp_sampler *s, const samp_token *text, size_t n, const char *what)
{
    char told[300], words[5 * MOST] = "";
    size_t at = 0;
    samp_describe(s, told, sizeof told);
    for (size_t i = 0; i < n; i++) at += (size_t)snprintf(words + at, sizeof words - at, " %d", (int)text[i]);
    print_error("/%s/%s ", p->pattern, p->any_case ? "i" : "");
    for (size_t i = 0; i < p->n; i++) print_error("\"%s\" ", p->strings[i]);
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < 8; k++) print_error("%s%d", k ? " " : "\n", (int)p->tokens[i][k]);
    test_fail(__FILE__, __LINE__, "\n%s\nbehind%s: %s", told, words, what);
}

static samp_sampler *with_dist(samp_sampler *s, samp_rng_kind rng)
{
    samp_sampler *chain = samp_chain_init();
    if (s) assert_ok(samp_chain_add(chain, s));
    assert_ok(samp_chain_add(chain, samp_init_dist(7)));
    assert_ok(samp_set_rng(chain, rng));
    return chain;
}

/* The same settings, and the state of s as bytes. */
static samp_sampler *reloaded(const spec *p, const samp_sampler *s)
{
    unsigned char bytes[4096];
    size_t size = samp_state_size(s);
    samp_sampler *fresh = make(p);
    assert_true(size > 0 && size <= sizeof bytes);
    assert_ok(samp_state_save(s, bytes, size));
    for (int i = 0; i < 5; i++) assert_ok(samp_accept(fresh, i % 3)); /* it has seen something else before */
    assert_ok(samp_state_load(fresh, bytes, size));
    return fresh;
}

/* As s is: it has seen more, and gone back. */
static samp_sampler *returned(const samp_sampler *s, source *rng)
{
    samp_sampler *copy = samp_clone(s);
    int32_t n = 1 + (int32_t)below(rng, 6);
    for (int32_t i = 0; i < n; i++) assert_ok(samp_accept(copy, (samp_token)below(rng, 6)));
    assert_ok(samp_rollback(copy, n));
    return copy;
}

static samp_token in_batch(samp_sampler *chain, const float *row)
{
    static float three[3 * WIDE];
    samp_sampler *all[3] = { samp_init_greedy(), chain, samp_init_greedy() };
    samp_token out[3];
    samp_logits l = { .data = three, .n_rows = 3, .n_vocab = WIDE };
    memcpy(three + WIDE, row, WIDE * sizeof *row);
    assert_ok(samp_sample_batch(all, &l, out));
    samp_free(all[0]);
    samp_free(all[2]);
    return out[1];
}

/* The array behind s, of `width` candidates in any order; of few by the steps, of many by another way. */
static void check_array(const spec *p, samp_sampler *s, const samp_token *text, size_t n, const float *row,
                        const float *wanted, size_t width, source *rng)
{
    static samp_token_data data[WIDE];
    samp_token_data_array cur = test_array(data, row, width);
    bool any = false;
    for (size_t i = 0; i < width; i++) any |= row[i] > -INFINITY;
    if (!any) return;
    if (below(rng, 2)) test_shuffle(rng, &cur);
    assert_ok(samp_apply(s, &cur));
    assert_num(cur.size, width);
    for (size_t i = 0; i < width; i++) {
        float got = cur.data[i].logit, l = wanted[cur.data[i].id];
        bool near = (p->kind == LENGTH_PENALTY || p->kind == PLANNED) && fabsf(got - l) <= 1e-6f * fabsf(l);
        if (bits_of(got) != bits_of(l) && !near) {
            print_error("token %d: %.9g, wanted %.9g; ", (int)cur.data[i].id, (double)got, (double)l);
            fail_at(p, s, text, n, width == N ? "the steps" : "the array");
        }
    }
}

static float rows[50][WIDE];

static void check_place(const spec *p, samp_sampler *s, const samp_token *text, size_t n, source *rng)
{
    float row[WIDE], wanted[WIDE];
    samp_token_data data[WIDE];
    memcpy(row, rows[below(rng, TEST_COUNT(rows))], sizeof row);
    for (int i = 0; i < 5; i++) row[below(rng, i ? N : WIDE)] = -INFINITY;
    memcpy(wanted, row, sizeof row);
    want(p, text, n, wanted);
    if (p->kind == STAMPS) { /* of a shorter row the sums are others */
        float few[WIDE];
        memcpy(few, row, sizeof few);
        want_stamps(p, text, n, few, N);
        check_array(p, s, text, n, row, few, N, rng);
    } else {
        check_array(p, s, text, n, row, wanted, N, rng);
    }
    check_array(p, s, text, n, row, wanted, WIDE, rng);
    if (p->kind == LENGTH_PENALTY || p->kind == PLANNED) { /* to the last bit, as the steps have it */
        samp_token_data_array cur = test_array(data, row, N);
        assert_ok(samp_apply(s, &cur));
        for (size_t i = 0; i < N; i++) wanted[i] = cur.data[i].logit;
    }
    int n_rng = below(rng, 300) ? 1 : 2; /* a new chain of MT19937 takes some milliseconds */
    for (int r = 0; r < n_rng; r++) {
        own_sampler *plain = with_dist(NULL, (samp_rng_kind)r);
        samp_token token = samp_sample(plain, wanted, WIDE);
        samp_sampler *ways[] = { samp_clone(s), reloaded(p, s), returned(s, rng), samp_clone(s) };
        for (size_t i = 0; i < TEST_COUNT(ways); i++) {
            own_sampler *chain = with_dist(ways[i], (samp_rng_kind)r);
            samp_token got = i < 3 ? samp_sample(chain, row, WIDE) : in_batch(chain, row);
            if (got != token) {
                print_error("rng %d, way %zu: %d, wanted %d; ", r, i, (int)got, (int)token);
                fail_at(p, s, text, n, "the token");
            }
        }
    }
}

static void walk(source *s, kind kind)
{
    spec p;
    any_spec(&p, s, kind);
    if (kind == SEQUENCE_BIAS && is_doubled(&p)) return;
    own_sampler *sampler = make(&p);
    samp_token text[MOST];
    size_t n = 0, kept = 0, few = 1 + below(s, 6);
    const bool thinks = kind == THINKING || kind == PLANNED;
    wish = 0;
    assert_ok(samp_status(sampler, NULL));
    while (n < MOST / 2) {
        if (below(s, 4) == 0) check_place(&p, sampler, text, n, s);
        thought t = thinks ? think(&p, text, n) : (thought){ 0 };
        if (thinks) {
            if (samp_thinking_left(sampler) != t.left) fail_at(&p, sampler, text, n, "what is left of the budget");
            if (samp_thinking_now(sampler) != stage_of(&t)) fail_at(&p, sampler, text, n, "the stage");
            size_t used = t.spent + (t.span < 0 ? 0 : t.u);
            assert_num(samp_thinking_used(sampler), kind == PLANNED ? (int64_t)used : SAMP_E_UNSUPPORTED);
            if (below(s, 30) == 0) {
                assert_status(samp_thinking_end(sampler), t.span < 0 ? SAMP_E_EMPTY : SAMP_OK);
                if (t.span >= 0 && t.stage != ENDING) wish = t.since + 1;
            }
        }
        if (kind == SCHEDULED) assert_num(samp_schedule_holds(sampler), is_time(&p, text, n));
        if (kept && below(s, 8) == 0) {
            size_t back = 1 + below(s, kept < 5 || below(s, 20) == 0 ? kept : 5);
            assert_ok(samp_rollback(sampler, (int32_t)back));
            n -= back;
            kept -= back;
            continue;
        }
        text[n] = (samp_token)below(s, below(s, 10) ? few : N);
        if ((p.kind == PERIOD || p.kind >= PLANNED) && n > 6 && below(s, 6))
            text[n] = text[n - 3]; /* loops do not come by themselves */
        if (thinks && below(s, 2)) text[n] = think(&p, text, n).forced;
        if (text[n] < 0) text[n] = p.tokens[below(s, p.n)][below(s, 6)];
        if (n + 1 < wish) wish = 0;
        wishes[n] = wish;
        assert_ok(samp_accept(sampler, text[n++]));
        kept++;
        if (below(s, 100) == 0) {
            samp_reset(sampler);
            n = kept = wish = 0;
        }
    }
}

TEST(test_random_walks)
{
    size_t n = getenv("SAMP_TEST_QUICK") ? 3 : getenv("SAMP_TEST_FULL") ? 1000 : 60;
    if (getenv("SAMP_TEST_CASES")) n = strtoull(getenv("SAMP_TEST_CASES"), NULL, 10);
    for (size_t i = 0; i < n; i++)
        for (int kind = 0; kind < N_KINDS; kind++) {
            source s = source_stream(i * N_KINDS + (size_t)kind);
            walk(&s, (enum kind)kind);
        }
}

/* ---- rewinding ---- */

/* Bans of a place, as the reference keeps them: of tokens that have begun what was not to be said. */
typedef struct ban {
    size_t at;
    samp_token token;
} ban;

/* How many tokens of text [n] have to go, or 0: a string or sequence ends in the last one. */
static size_t to_rewind(const spec *p, const samp_token *text, size_t n)
{
    char bytes[4 * MOST];
    size_t length = spell(text, n, bytes), fresh, most = 0;
    if (p->kind == BANNED_SEQUENCES) {
        for (size_t i = 0; i < p->n; i++)
            if (p->sequences[i].n > most && text_ends(text, n, p->tokens[i], p->sequences[i].n))
                most = p->sequences[i].n;
        return most;
    }
    (void)piece_bytes(NULL, text[n - 1], &fresh);
    int before = fresh ? begins_before(p, bytes, length, fresh) : -1;
    if (before < 0) return 0;
    size_t count = 1, from = length - fresh - (size_t)before;
    while (spell(text, n - count, bytes) > from) count++;
    return count;
}

/* A text is drawn with rewinding, beside the reference: the same tokens, none of them banned, and in the end nothing in
   it that was not to be said. */
static void rewind_walk(source *s, kind kind)
{
    spec p;
    ban bans[500];
    const char *strings[N_TEXTS];
    size_t n = 0, n_bans = 0, rounds = 0;
    samp_token text[MOST];
    any_spec(&p, s, kind);
    for (size_t i = 0; i < N_TEXTS; i++) strings[i] = p.strings[i];
    unsigned flags = SAMP_BAN_REWIND | (p.any_case && kind == BANNED_STRINGS ? SAMP_BAN_ANY_CASE : 0);
    if (kind == PATTERN && p.any_case) flags |= SAMP_BAN_ANY_CASE;
    samp_sampler *bans_of = kind == PATTERN          ? samp_init_banned_pattern(&vocab, p.pattern, flags, NULL)
                            : kind == BANNED_STRINGS ? samp_init_banned_strings(&vocab, strings, p.n, flags)
                                                     : samp_init_banned_sequences(p.sequences, p.n, flags);
    own_sampler *chain = with_dist(bans_of, SAMP_RNG_PHILOX);
    while (n < 40 && rounds++ < 2000) {
        float row[N], wanted[N];
        for (int i = 0; i < N; i++) row[i] = i < 6 ? rows[n][i] : -4.0f;
        memcpy(wanted, row, sizeof row);
        for (size_t i = 0; i < n_bans; i++)
            if (bans[i].at == n) wanted[bans[i].token] = -INFINITY;
        samp_sampler *plain = with_dist(NULL, SAMP_RNG_PHILOX);
        assert_ok(samp_set_position(plain, samp_get_position(chain)));
        samp_token token = samp_sample(plain, wanted, N);
        samp_free(plain);
        assert_num(samp_sample(chain, row, N), token);
        if (token < 0) break;
        size_t kept = 0;
        for (size_t i = 0; i < n_bans; i++)
            if (bans[i].at <= n) bans[kept++] = bans[i];
        n_bans = kept;
        text[n++] = token;
        size_t back = to_rewind(&p, text, n);
        assert_num(samp_rewind_length(chain), back);
        if (back == 0) continue;
        bans[n_bans].at = n - back;
        bans[n_bans++].token = text[n - back];
        assert_ok(samp_rollback(chain, (int32_t)back));
        assert_num(samp_rewind_length(chain), 0);
        n -= back;
    }
    for (size_t i = 1; i <= n; i++) assert_num(to_rewind(&p, text, i), 0);
}

TEST(test_rewinding)
{
    for (uint64_t i = 0; i < 400; i++) {
        source s = source_stream(1000 + i);
        rewind_walk(&s, i % 3 == 2 ? PATTERN : i % 3 ? BANNED_STRINGS : BANNED_SEQUENCES);
    }
}

/* It waits: through a draft that was taken as a whole, through copies, and saved states. */
TEST(test_rewind_later)
{
    static const samp_token said[] = { 1, 2, 3, 0, 0 };
    const samp_sequence q = { said + 1, 2, 0 };
    samp_sampler *s = samp_init_banned_sequences(&q, 1, SAMP_BAN_REWIND), *copy;
    unsigned char bytes[1000];
    for (size_t i = 0; i < 5; i++) {
        assert_num(samp_rewind_length(s), i < 3 ? 0 : i - 1);
        assert_ok(samp_accept(s, said[i]));
    }
    assert_num(samp_rewind_length(s), 4);
    copy = samp_clone(s);
    assert_num(samp_rewind_length(copy), 4);
    samp_free(copy);
    copy = samp_init_banned_sequences(&q, 1, SAMP_BAN_REWIND);
    assert_ok(samp_state_save(s, bytes, sizeof bytes));
    assert_ok(samp_state_load(copy, bytes, samp_state_size(s)));
    assert_num(samp_rewind_length(copy), 4);
    assert_ok(samp_rollback(s, 4));
    assert_num(samp_rewind_length(s), 0);
    /* the ban is of this place: behind token 1, and until something else has been said before it */
    float row[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    samp_token_data data[8];
    samp_token_data_array cur = test_array(data, row, 8);
    assert_ok(samp_apply(s, &cur));
    for (int i = 0; i < 8; i++) assert_same(data[i].logit, i == 2 ? -INFINITY : row[i]);
    assert_ok(samp_rollback(s, 1));
    assert_ok(samp_accept(s, 5));
    cur = test_array(data, row, 8);
    assert_ok(samp_apply(s, &cur));
    for (int i = 0; i < 8; i++) assert_same(data[i].logit, row[i]);
    samp_free(s);
    samp_free(copy);
}

/* Two are complete before it is asked: back to where the longer one began. */
TEST(test_rewind_most)
{
    static const samp_token said[] = { 1, 2, 3, 4 };
    const samp_sequence q[] = { { said, 3, 0 }, { said + 3, 1, 0 } };
    own_sampler *s = samp_init_banned_sequences(q, 2, SAMP_BAN_REWIND);
    for (size_t i = 0; i < 4; i++) assert_ok(samp_accept(s, said[i]));
    assert_num(samp_rewind_length(s), 4);
    assert_ok(samp_rollback(s, 1));
    assert_num(samp_rewind_length(s), 3);
}

/* Of a position no more than 256 bans are kept: the oldest go first. */
TEST(test_many_bans)
{
    enum { BANS = 300 };
    static samp_token tokens[BANS];
    static samp_sequence q[BANS];
    static float row[WIDE];
    static samp_token_data data[WIDE];
    for (int i = 0; i < BANS; i++) {
        tokens[i] = i;
        q[i] = (samp_sequence){ tokens + i, 1, 0 };
    }
    own_sampler *s = samp_init_banned_sequences(q, BANS, SAMP_BAN_REWIND);
    for (int i = 0; i < BANS; i++) {
        assert_ok(samp_accept(s, i));
        assert_ok(samp_rollback(s, samp_rewind_length(s)));
    }
    samp_token_data_array cur = test_array(data, row, WIDE);
    assert_ok(samp_apply(s, &cur));
    for (int i = 0; i < WIDE; i++) assert_same(data[i].logit, i >= BANS - 256 && i < BANS ? -INFINITY : 0.0f);
}

/* ---- cases by hand ---- */

/* What a sampler makes of ten logits, behind some tokens. */
static void made_of(samp_sampler *s, const samp_token *text, size_t n, const float *wanted)
{
    static const float row[10] = { 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, 1.0f, -INFINITY, 3.0f, -2.0f, 0.0f };
    samp_token_data data[10];
    samp_token_data_array cur = test_array(data, row, 10);
    assert_ok(samp_status(s, NULL));
    for (size_t i = 0; i < n; i++) assert_ok(samp_accept(s, text[i]));
    assert_ok(samp_apply(s, &cur));
    for (size_t i = 0; i < 10; i++) assert_same(data[i].logit, wanted[i]);
    samp_free(s);
}
#define MADE(s, text, ...) made_of(s, text, sizeof text / sizeof *text, (const float[10]){ __VA_ARGS__ })
#define NO                 -INFINITY

/* The tokens from 6 on are time stamps; 5 is "no time stamps", 4 the end. The row's text: 0.5 1.5 -1 2 0.25 1; its time
   stamps: -inf 3 -2 0, of e^3 = 20.1 and the others 1.1 together. */
TEST(test_timestamps)
{
    static const samp_token nothing[1], end[] = { 4 }, one[] = { 7 }, two[] = { 7, 8 }, spoken[] = { 7, 1 };
    static const samp_token shut[] = { 7, 1, 8 }, again[] = { 7, 1, 8, 8 }, more[] = { 7, 1, 8, 8, 1 },
                            text[] = { 1 };
    /* the beginning: a time stamp, at most the second one of them */
    made_of(samp_init_timestamps(6, 5, -1), nothing, 0,
            (const float[10]){ NO, NO, NO, NO, NO, NO, NO, 3.0f, -2.0f, 0.0f });
    made_of(samp_init_timestamps(6, 5, 1), nothing, 0, (const float[10]){ NO, NO, NO, NO, NO, NO, NO, 3.0f, NO, NO });
    made_of(samp_init_timestamps(6, 5, 0), nothing, 0, (const float[10]){ NO, NO, NO, NO, NO, NO, NO, NO, NO, NO });
    /* behind one time stamp at the beginning, or two: text */
    MADE(samp_init_timestamps(6, 5, 1), one, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, NO, NO, NO, NO, NO);
    MADE(samp_init_timestamps(6, -1, 1), two, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, 1.0f, NO, NO, NO, NO);
    MADE(samp_init_timestamps(6, 5, 1), again, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, NO, NO, NO, NO, NO);
    /* in a text: a later time stamp, here less likely than 3 */
    MADE(samp_init_timestamps(6, 5, 1), spoken, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, NO, NO, NO, -2.0f, 0.0f);
    MADE(samp_init_timestamps(6, 5, 1), more, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, NO, NO, NO, NO, 0.0f);
    MADE(samp_init_timestamps(6, 5, 1), text, NO, NO, NO, NO, NO, NO, NO, 3.0f, -2.0f, 0.0f); /* e^3 > e^2 */
    /* behind the end of a text: the same time stamp or a later one, or the end, which 0 = 1.4 e^-0.25 beats or not */
    MADE(samp_init_timestamps(6, 5, 1), shut, NO, NO, NO, NO, NO, NO, NO, NO, -2.0f, 0.0f);
    MADE(samp_init_timestamps_except(6, 5, 1, end, 1), shut, NO, NO, NO, NO, 0.25f, NO, NO, NO, -2.0f, 0.0f);
    MADE(samp_init_timestamps_except(6, 5, 1, text, 1), shut, NO, 1.5f, NO, NO, NO, NO, NO, NO, -2.0f, 0.0f);
    MADE(samp_init_timestamps_except(6, 5, 1, end, 1), spoken, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, NO, NO, NO, -2.0f,
         0.0f);
    /* the sum decides, not one of them: 0.25 against 0 and -1 (1.28 and 1.37), not against 0 and -2 (1.14) */
    static const struct {
        float second;
        bool wins;
    } sums[] = { { -1.0f, true }, { -2.0f, false }, { NO, false }, { 0.25f, true } };
    for (size_t i = 0; i < TEST_COUNT(sums); i++) {
        const float row[4] = { -3.0f, 0.25f, 0.0f, sums[i].second };
        samp_token_data data[4];
        samp_token_data_array cur = test_array(data, row, 4);
        own_sampler *s = samp_init_timestamps(2, -1, -1);
        assert_ok(samp_accept(s, 0));
        assert_ok(samp_apply(s, &cur));
        assert_num(data[1].logit == NO, sums[i].wins);
        assert_same(data[2].logit, 0.0f);
    }
    /* as likely as the text: it is not masked */
    const float tie[2] = { 1.0f, 1.0f };
    samp_token_data data[2];
    samp_token_data_array cur = test_array(data, tie, 2);
    own_sampler *s = samp_init_timestamps(1, -1, -1);
    assert_ok(samp_accept(s, 0));
    assert_ok(samp_apply(s, &cur));
    assert_same(data[0].logit, 1.0f);
    samp_reset(s); /* the text begins anew */
    assert_ok(samp_apply(s, &cur));
    assert_same(data[0].logit, NO);
    /* an id beyond every vocabulary is a time stamp behind all others: none may follow but its like, and text may not */
    unsigned char bytes[256];
    assert_ok(samp_accept(s, 0));
    assert_ok(samp_accept(s, INT32_MAX));
    cur = test_array(data, tie, 2);
    assert_ok(samp_apply(s, &cur));
    assert_same(data[0].logit, NO);
    assert_same(data[1].logit, NO);
    assert_true(samp_state_size(s) <= sizeof bytes);
    assert_ok(samp_state_save(s, bytes, sizeof bytes));
    assert_ok(samp_state_load(s, bytes, samp_state_size(s)));
}

TEST(test_each_by_hand)
{
    static const samp_token text[] = { 3, 1, 4, 1, 5, 1, 4 }, two[] = { 5, 7 }, one[] = { 5 }, pair[] = { 4, 1 };
    const samp_sequence q[] = { { one, 1, 0.5f }, { pair, 2, -1.0f }, { text, 3, -9.0f }, { text + 4, 4, NO } };
    /* behind ... 5 1 4: 5 gets 0.5, 1 gets -1 as 4 is the newest; 3 1 4 is over; 5 1 4 and what? only 5 1 4 itself */
    MADE(samp_init_sequence_bias(q, 3), text, 0.5f, 0.5f, -1.0f, 2.0f, 0.25f, 1.5f, NO, 3.0f, -2.0f, 0.0f);
    MADE(samp_init_banned_sequences(q, 2, 0), text, 0.5f, NO, -1.0f, 2.0f, 0.25f, NO, NO, 3.0f, -2.0f, 0.0f);
    MADE(samp_init_suppressed_tokens(two, 2), text, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, NO, NO, NO, -2.0f, 0.0f);
    MADE(samp_init_begin_suppressed_tokens(two, 2, 7), text, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, NO, NO, NO, -2.0f, 0.0f);
    MADE(samp_init_begin_suppressed_tokens(two, 2, 6), text, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, 1.0f, NO, 3.0f, -2.0f,
         0.0f);
    MADE(samp_init_min_tokens(two, 2, 3, 5), text, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, NO, NO, NO, -2.0f, 0.0f);
    MADE(samp_init_min_tokens(two, 2, 2, 5), text, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, 1.0f, NO, 3.0f, -2.0f, 0.0f);
    MADE(samp_init_allowed_tokens(two, 2), text, NO, NO, NO, NO, NO, 1.0f, NO, 3.0f, NO, NO);
    MADE(samp_init_forced_prefix(two, 2, 6), text, NO, NO, NO, NO, NO, NO, NO, 3.0f, NO, NO);
    MADE(samp_init_forced_prefix(two, 2, 5), text, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, 1.0f, NO, 3.0f, -2.0f, 0.0f);
    MADE(samp_init_eog_bias(two, 2, -1.0f), text, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, 0.0f, NO, 2.0f, -2.0f, 0.0f);
    /* position 7, begin 2, start 3: k = 2, 1.5^2 - 1 = 1.25 times |l| more */
    static const samp_token eog[] = { 1, 8, 6 };
    MADE(samp_init_length_penalty(eog, 3, 3, 1.5f, 2), text, 0.5f, 3.375f, -1.0f, 2.0f, 0.25f, 1.0f, NO, 3.0f, 0.5f,
         0.0f);
    /* 1 4 was followed by 1; of 4 alone too */
    MADE(samp_init_no_repeat_ngram(3, 100), text, 0.5f, NO, -1.0f, 2.0f, 0.25f, 1.0f, NO, 3.0f, -2.0f, 0.0f);
    MADE(samp_init_no_repeat_ngram(1, 3), text, 0.5f, NO, -1.0f, 2.0f, NO, NO, NO, 3.0f, -2.0f, 0.0f);
    static const samp_token exempt[] = { 5, 99, 4, 5 }; /* 1 4 5 1 4: 4 and 5 may come again, 1 may not */
    MADE(samp_init_no_repeat_ngram_except(1, 3, exempt, 4), text, 0.5f, NO, -1.0f, 2.0f, 0.25f, 1.0f, NO, 3.0f, -2.0f,
         0.0f);
    MADE(samp_init_no_repeat_ngram_except(3, 100, exempt, 4), text, 0.5f, NO, -1.0f, 2.0f, 0.25f, 1.0f, NO, 3.0f,
         -2.0f, 0.0f);
    MADE(samp_init_no_repeat_ngram_except(3, 100, text + 1, 1), text, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, 1.0f, NO, 3.0f,
         -2.0f, 0.0f);
    static const samp_token loop[] = { 9, 2, 3, 2, 3, 2, 3 };
    MADE(samp_init_loop_breaker(1, 4, 3, 10, 7, 2.0f), loop, 0.5f, 1.5f, -3.0f, 2.0f, 0.25f, 1.0f, NO, 3.0f, -2.0f,
         0.0f);
    MADE(samp_init_loop_breaker(1, 4, 3, 10, 6, NO * NO), loop, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, 1.0f, NO, 3.0f, -2.0f,
         0.0f); /* looked for behind the sixth: not there yet */
    /* pairs seen before: 2 3, 3 2, 2 3: three times */
    MADE(samp_init_loop_breaker_cusum(2, 10, 0.25f, 3.0f, INFINITY), loop, 0.5f, 1.5f, NO, 2.0f, 0.25f, 1.0f, NO,
         3.0f, -2.0f, 0.0f);
    MADE(samp_init_loop_breaker_cusum(2, 10, 0.25f, 3.5f, INFINITY), loop, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, 1.0f, NO,
         3.0f, -2.0f, 0.0f);
    /* 3 begins, 4 5 ends; two tokens are allowed: 1 4, so 5 is what is left of the end */
    const samp_thinking span = { text, 1, text + 2, 1, NULL, 0 };
    const samp_thinking more = { text, 1, (const samp_token[]){ 4, 5 }, 2, NULL, 0 };
    const samp_thinking said = { text, 1, (const samp_token[]){ 4, 5 }, 2, (const samp_token[]){ 7, 4, 5 }, 3 };
    static const samp_token think[] = { 3, 1, 4 };
    MADE(samp_init_thinking_budget(NULL, &span, 1, 2, -1), think, 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, 1.0f, NO, 3.0f,
         -2.0f, 0.0f);
    MADE(samp_init_thinking_budget(NULL, &more, 1, 2, -1), think, NO, NO, NO, NO, NO, 1.0f, NO, NO, NO, NO);
    MADE(samp_init_thinking_budget(NULL, &said, 1, 2, -1), think, NO, NO, NO, NO, NO, NO, NO, 3.0f, NO, NO);
    MADE(samp_init_thinking_budget(NULL, &more, 1, 4, 0), text, NO, NO, NO, NO, NO, 1.0f, NO, NO, NO, NO);
}

/* A story with all stages, token by token: 20 begins, 21 22 ends; of 12 tokens the first 4 are firm; the note is 7 19,
   and 19 is what ends a line here, as 4 does. */
TEST(test_stages)
{
    static const samp_token start[] = { 20 }, end[] = { 21, 22 }, call[] = { 16 }, note[] = { 7, 19 };
    const samp_thinking span = { start, 1, end, 2, NULL, 0 };
    const samp_sequence also = { call, 1, 0.0f };
    samp_thinking_plan plan = { 0 };
    plan.soft = 4, plan.grace = 3, plan.total = 30;
    plan.note = note, plan.n_note = 2;
    plan.ends = &also, plan.n_ends = 1;
    plan.ramp = SAMP_RAMP_LINEAR, plan.bias = 9.0f;
    static const struct {
        samp_token token, forced; /* the next one, and the only one that may come; -1: any */
        int stage, left, used;
        float bias; /* on 21 */
    } story[] = { { 0, -1, SAMP_THINKING_NOT, -1, 0, 0 },
                  { 20, -1, SAMP_THINKING_NOT, -1, 0, 0 },
                  { 1, -1, SAMP_THINKING_OPEN, 12, 0, 0 },
                  { 4, -1, SAMP_THINKING_OPEN, 11, 1, 0 }, /* a line ends, but before the soft point */
                  { 1, -1, SAMP_THINKING_OPEN, 10, 2, 0 },
                  { 2, -1, SAMP_THINKING_OPEN, 9, 3, 0 },
                  { 1, -1, SAMP_THINKING_SOFT, 8, 4, 1 },
                  { 4, -1, SAMP_THINKING_SOFT, 7, 5, 2 },
                  { 7, 7, SAMP_THINKING_NOTE, 6, 6, 0 },
                  { 19, 19, SAMP_THINKING_NOTE, 5, 7, 0 },
                  { 4, -1, SAMP_THINKING_SOFT, 4, 8, 5 }, /* said already */
                  { 1, -1, SAMP_THINKING_SOFT, 3, 9, 6 },
                  { 1, -1, SAMP_THINKING_SOFT, 2, 10, 7 },
                  { 1, -1, SAMP_THINKING_SOFT, 1, 11, 8 },
                  { 1, -1, SAMP_THINKING_GRACE, 0, 12, 9 },
                  { 4, -1, SAMP_THINKING_GRACE, 0, 13, 9 },
                  { 21, 21, SAMP_THINKING_ENDS, 0, 14, 0 },
                  { 22, 22, SAMP_THINKING_ENDS, 0, 15, 0 },
                  { 20, -1, SAMP_THINKING_NOT, -1, 16, 0 },
                  { 16, -1, SAMP_THINKING_OPEN, 12, 16, 0 }, /* the other end */
                  { 20, -1, SAMP_THINKING_NOT, -1, 17, 0 },
                  { 1, -1, SAMP_THINKING_OPEN, 12, 17, 0 },
                  { 16, -1, SAMP_THINKING_OPEN, 11, 18, 0 },
                  { 20, -1, SAMP_THINKING_NOT, -1, 19, 0 },
                  { 1, -1, SAMP_THINKING_OPEN, 11, 19, 0 } }; /* of 30 in all 11 are left */
    own_sampler *s = samp_init_thinking(&vocab, &span, 1, 12, -1, &plan);
    for (int back = 0; back < 2; back++) {
        for (size_t i = 0; i < TEST_COUNT(story); i++) {
            float row[N] = { 0 };
            samp_token_data data[N];
            samp_token_data_array cur = test_array(data, row, N);
            assert_num(samp_thinking_now(s), story[i].stage);
            assert_num(samp_thinking_left(s), story[i].left);
            assert_num(samp_thinking_used(s), story[i].used);
            assert_ok(samp_apply(s, &cur));
            for (int k = 0; k < N; k++)
                assert_same(data[k].logit, story[i].forced >= 0 && k != story[i].forced ? -INFINITY
                                           : k == 21                                    ? story[i].bias
                                                                                        : 0.0f);
            assert_ok(samp_accept(s, story[i].token));
        }
        assert_ok(samp_rollback(s, (int32_t)TEST_COUNT(story))); /* and the whole story again */
    }
}

/* samp_thinking_end: behind what is there of the end; it outlives a rollback and a saved state, but not the span. */
TEST(test_end_now)
{
    static const samp_token start[] = { 0 }, end[] = { 1, 2 };
    const samp_thinking span = { start, 1, end, 2, NULL, 0 };
    for (int planned = 0; planned < 2; planned++) {
        const samp_thinking_plan plan = { 0 };
        own_sampler *s = samp_init_thinking(NULL, &span, 1, INT32_MAX, -1, planned ? &plan : NULL);
        own_sampler *copy = samp_init_thinking(NULL, &span, 1, INT32_MAX, -1, planned ? &plan : NULL);
        unsigned char bytes[400];
        assert_status(samp_thinking_end(s), SAMP_E_EMPTY);
        for (int i = 0; i < 6; i++) assert_ok(samp_accept(s, i == 5 ? 1 : i)); /* 0 1 2 ends at once, so: */
        assert_num(samp_thinking_now(s), SAMP_THINKING_NOT);
        for (int i = 0; i < 4; i++) assert_ok(samp_accept(s, i == 0 ? 0 : i == 3 ? 1 : 5));
        assert_num(samp_thinking_now(s), SAMP_THINKING_OPEN);
        size_t size = samp_state_size(s);
        assert_ok(samp_thinking_end(s));
        assert_num(samp_thinking_now(s), SAMP_THINKING_ENDS);
        assert_true(planned ? samp_state_size(s) == size : samp_state_size(s) == size + 4);
        assert_true(samp_state_size(s) <= sizeof bytes);
        assert_ok(samp_state_save(s, bytes, sizeof bytes));
        assert_ok(samp_state_load(copy, bytes, samp_state_size(s)));
        for (int back = 0; back < 3; back++) { /* 0 5 5 1: 2 is to come; taken back: 1 2 */
            samp_sampler *both[] = { s, copy };
            for (int k = 0; k < (back ? 1 : 2); k++) {
                float row[8] = { 0 };
                samp_token_data data[8];
                samp_token_data_array cur = test_array(data, row, 8);
                assert_ok(samp_apply(both[k], &cur));
                for (int i = 0; i < 8; i++) assert_same(data[i].logit, i == (back ? 1 : 2) ? 0.0f : -INFINITY);
            }
            assert_ok(samp_rollback(s, 1));
        }
        assert_ok(samp_accept(copy, 2));
        assert_num(samp_thinking_now(copy), SAMP_THINKING_NOT);
        assert_ok(samp_accept(copy, 0));
        assert_num(samp_thinking_now(copy), SAMP_THINKING_OPEN); /* the next span is another one */
        assert_ok(samp_rollback(s, 1));                          /* before the span's beginning */
        assert_num(samp_thinking_now(s), SAMP_THINKING_NOT);
        assert_ok(samp_accept(s, 0));
        assert_num(samp_thinking_now(s), SAMP_THINKING_OPEN);
    }
}

/* A schedule's clock by hand, and what a loop is to it. */
TEST(test_schedules)
{
    static const samp_token start[] = { 20 }, end[] = { 21 }, over[] = { 7, 3 }, masked[] = { 5 };
    const samp_thinking span = { start, 1, end, 1, NULL, 0 };
    const samp_loop loop = { 1, 4, 3, 20, 1 };
    static const samp_token text[] = { 0, 4, 20, 1, 19, 1, 21, 2, 7, 2, 1, 1, 1, 6, 6 };
    static const char *const holds[] = {
        "1111111111111111", /* always */
        "0111000000000000", /* from 1 to 4 */
        "1100000000000000", /* the first line: 4 ends it */
        "0001111000000000", /* inside */
        "1110000111111111", /* outside */
        "0000011000000000", /* inside, from the second line on */
        "1111111110000000", /* until 7 or 3 */
        "1110000110000000", /* outside, until 7 or 3 */
        "0000000000000110", /* two tokens from a loop on: 1 1 1 */
    };
    samp_schedule when[9];
    memset(when, 0, sizeof when);
    when[1].from = 1, when[1].to = 4;
    when[2].count = SAMP_LINES, when[2].to = 1;
    when[3].where = SAMP_INSIDE, when[4].where = SAMP_OUTSIDE;
    when[5].where = SAMP_INSIDE, when[5].count = SAMP_LINES, when[5].from = 1;
    when[6].until = when[7].until = over, when[6].n_until = when[7].n_until = 2;
    when[7].where = SAMP_OUTSIDE;
    when[8].loop = &loop, when[8].to = 2;
    for (size_t i = 0; i < 9; i++) {
        when[i].vocab = &vocab;
        if (when[i].where) when[i].spans = &span, when[i].n_spans = 1;
        samp_sampler *chain = samp_chain_init(),
                     *s = samp_init_schedule(&when[i], samp_init_suppressed_tokens(masked, 1));
        assert_ok(samp_chain_add(chain, s));
        assert_ok(samp_chain_add(chain, samp_init_greedy()));
        for (size_t k = 0; k <= TEST_COUNT(text); k++) {
            float row[N] = { 0 };
            row[5] = 2.0f, row[6] = 1.0f;
            if (samp_schedule_holds(chain) != holds[i][k] - '0') test_fail(__FILE__, __LINE__, "%zu at %zu", i, k);
            assert_num(samp_draw(chain, row, N), holds[i][k] == '1' ? 6 : 5);
            if (k < TEST_COUNT(text)) assert_ok(samp_accept(chain, text[k]));
        }
        samp_free(chain);
    }
}

/* A schedule that waits is not there, but for the position; one whose time it is is its members. */
TEST(test_waits)
{
    for (int kind = 0; kind < 2; kind++)
        for (int k = 0; k < 12; k++) {
            const samp_schedule when = { SAMP_TOKENS, 3, 8, 0, SAMP_ANYWHERE, NULL, 0, 0, NULL, 0, NULL, NULL };
            own_sampler *chain = samp_chain_init(), *plain = samp_chain_init();
            assert_ok(samp_chain_add(chain, samp_init_schedule(&when, samp_init_xtc(0.9f, 0.05f, 1, 3))));
            assert_ok(samp_chain_add(samp_chain_get(chain, 0), samp_init_temp(2.0f)));
            if (k >= 3 && k < 8) assert_ok(samp_chain_add(plain, samp_init_xtc(0.9f, 0.05f, 1, 3)));
            if (k >= 3 && k < 8) assert_ok(samp_chain_add(plain, samp_init_temp(2.0f)));
            assert_ok(samp_chain_add(chain, samp_init_dist(7)));
            assert_ok(samp_chain_add(plain, samp_init_dist(7)));
            assert_ok(samp_set_rng(chain, (samp_rng_kind)kind));
            assert_ok(samp_set_rng(plain, (samp_rng_kind)kind));
            for (int i = 0; i < k; i++) assert_ok(samp_accept(chain, i));
            assert_num(samp_sample(chain, rows[k], WIDE), samp_sample(plain, rows[k], WIDE));
            assert_num(samp_get_position(chain), 1);
        }
}

/* ---- grammars in schedules, and beside a least length ---- */

/* A chain with a grammar in a schedule: at the front, behind a member that changes nothing, or of llama.cpp's
   arithmetic. */
static samp_sampler *scheduled(int kind, samp_sampler *schedule, samp_sampler *budget)
{
    samp_sampler *chain = samp_chain_init();
    assert_ok(samp_set_rng(chain, kind == 2 ? SAMP_RNG_MT19937 : SAMP_RNG_PHILOX));
    if (kind == 1) assert_ok(samp_chain_add(chain, samp_init_temp(0.5f)));
    assert_ok(samp_chain_add(chain, schedule));
    if (budget) assert_ok(samp_chain_add(chain, budget));
    assert_ok(samp_chain_add(chain, samp_init_greedy()));
    assert_ok(samp_set_rollback(chain, 40));
    return chain;
}

/* Think, then JSON: a grammar outside of thinking sees neither the thinking nor its end, with and without a budget. And
   a grammar that is active by turns sees one text. Rolled back, loaded and cloned, chains go on the same; what a
   schedule's grammar forces is not forced while it sleeps. */
TEST(test_scheduled_grammars)
{
    enum { BYTES = 256 };
    static const samp_token end[] = { '<', '/', 't', '>' }, begins[] = { '#' }, stops[] = { ';' }, eog[] = { 0 };
    static const samp_vocab bytes = { BYTES, one_byte, NULL, NULL, eog, 1, 0, -1 };
    static const struct {
        const char *grammar, *wanted, *got;
        int32_t budget;
    } cases[] = {
        { "\"{\\\"a\\\":\" [0-9]{2} \"}\"", "hm {</t>ok {x12x", "hm {</t>{\"a\":12}", -1 },
        { "\"{\\\"a\\\":\" [0-9]{2} \"}\"", "hm { more of this", "hm {</t>{\"a\":99}", 4 },
        { "([0-9]+ \";\")+", "a9#1x;y;#23;z#", "a9#19;y;#23;z#", -1 },
    };
    own_index *index = samp_vocab_index_init(&bytes, NULL);
    for (int k = 0; k < 3 * (int)TEST_COUNT(cases); k++) {
        const samp_thinking spans[] = { { begins, 1, end, 4, NULL, 0 }, { begins, 1, stops, 1, NULL, 0 } };
        const int i = k / 3;
        char text[80] = "root ::= ";
        strcat(text, cases[i].grammar);
        own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_GBNF, text, NULL, NULL);
        samp_schedule when;
        memset(&when, 0, sizeof when);
        when.where = i < 2 ? SAMP_OUTSIDE : SAMP_INSIDE;
        when.spans = &spans[i / 2];
        when.n_spans = 1;
        when.inside = i < 2;
        samp_sampler *s = scheduled(k % 3, samp_init_schedule(&when, samp_init_grammar(index, g)),
                                    i < 2 ? samp_init_thinking_budget(NULL, spans, 1, cases[i].budget, 0) : NULL);
        samp_sampler *grammar = samp_chain_get(samp_chain_get(s, k % 3 == 1), 1), *other = samp_clone(s);
        static char saved[1 << 12];
        const size_t n = strlen(cases[i].got);
        assert_ok(samp_status(s, NULL));
        for (size_t at = 0; at < n; at++) {
            float row[BYTES];
            uint32_t bits[BYTES / 32];
            for (int c = 0; c < BYTES; c++) row[c] = (float)(c >= '0' && c <= '9' ? c : c / 4);
            if (at < strlen(cases[i].wanted)) row[(uint8_t)cases[i].wanted[at]] = 200.0f;
            assert_ok(samp_grammar_mask(grammar, bits));
            if (!samp_schedule_holds(s)) {
                assert_num(samp_grammar_draft(grammar, NULL, 0), 0);
                assert_num(samp_grammar_forced(grammar, NULL, 0), 0);
                for (int w = 0; w < BYTES / 32; w++) assert_true(bits[w] == UINT32_MAX);
            } else {
                assert_true(bits[(uint8_t)cases[i].got[at] / 32] >> cases[i].got[at] % 32 & 1);
                assert_false(bits['x' / 32] >> 'x' % 32 & 1);
            }
            const samp_token drawn = samp_draw(s, row, BYTES);
            if (drawn != cases[i].got[at]) test_fail(__FILE__, __LINE__, "case %d: %d at %zu", k, drawn, at);
            const samp_draft draft = { 1, &drawn, NULL, NULL, 0, NULL };
            samp_token out[2];
            float rows[2 * BYTES];
            memcpy(rows, row, sizeof row), memcpy(rows + BYTES, row, sizeof row);
            if (k % 3 == 0) { /* further on and back, over the border too */
                assert_num(samp_verify(s, rows, BYTES, &draft, SAMP_VERIFY_RATIO, out), 1);
                assert_ok(samp_rollback(s, out[1] < 0 ? 1 : 2));
                if (at) assert_ok(samp_rollback(s, 1));
                if (at) assert_ok(samp_accept(s, cases[i].got[at - 1]));
            }
            const size_t size = samp_state_size(s);
            assert_true(size <= sizeof saved);
            assert_ok(samp_state_save(s, saved, size));
            assert_ok(samp_state_load(other, saved, size));
            const samp_logits logits = { .data = row, .n_rows = 1, .n_vocab = BYTES };
            assert_ok(samp_sample_batch(&other, &logits, out));
            assert_num(out[0], drawn);
            assert_num(samp_sample(s, row, BYTES), drawn);
        }
        if (i < 2) assert_num(samp_grammar_is_complete(grammar), 1);
        if (i < 2) assert_status(samp_accept(s, ' '), SAMP_E_RANGE);
        assert_ok(samp_rollback(s, (int32_t)n));
        assert_num(samp_grammar_is_complete(grammar), 0);
        samp_free(s);
        samp_free(other);
    }
}

/* A least length does not keep a grammar that must end from its end: in front of it, behind it, in another chain, and as
   samp_grammar_sample has it beside the chain. Where the grammar may go on, it does; without a grammar nothing changes. */
TEST(test_least_length_of_grammars)
{
    enum { BYTES = 256 };
    static const samp_token eog[] = { 0 };
    static const samp_vocab bytes = { BYTES, one_byte, NULL, NULL, eog, 1, 0, -1 };
    own_index *index = samp_vocab_index_init(&bytes, NULL);
    for (int kind = 0; kind < 8; kind++) {
        const bool mt = kind >= 4, beside = kind % 4 == 3;
        own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_REGEX, "true|1[0-9]*|", NULL, NULL);
        samp_sampler *chain = samp_chain_init(), *grammar = samp_init_grammar(index, g), *inner = samp_chain_init();
        float row[BYTES] = { 0 };
        assert_ok(samp_set_rng(chain, mt ? SAMP_RNG_MT19937 : SAMP_RNG_PHILOX));
        if (kind % 4 == 0) assert_ok(samp_chain_add(chain, grammar));
        assert_ok(samp_chain_add(inner, samp_init_min_tokens(eog, 1, 9, 0)));
        assert_ok(samp_chain_add(chain, inner));
        if (kind % 4 == 1) assert_ok(samp_chain_add(chain, grammar));
        if (kind % 4 == 2) assert_ok(samp_chain_add(inner, grammar));
        assert_ok(samp_chain_add(chain, samp_init_greedy()));
        row[0] = 3.0f, row['t'] = 2.0f, row['1'] = 1.0f;
        for (int i = 0; i < 5; i++) {
            const samp_token token = beside ? samp_grammar_sample(chain, grammar, row, BYTES)
                                            : samp_sample(chain, row, BYTES);
            assert_num(token, i == 4 ? 0 : "true"[i]);
        }
        samp_reset(chain);
        samp_reset(grammar);
        row['1'] = 5.0f;
        for (int i = 0; i < 20; i++) {
            row['1'] = i ? 0.0f : 5.0f;
            const samp_token token = beside ? samp_grammar_sample(chain, grammar, row, BYTES)
                                            : samp_sample(chain, row, BYTES);
            assert_true(i < 9 ? token == (i ? '0' : '1') : token == 0);
        }
        samp_free(chain);
        if (beside) samp_free(grammar);
    }
}

/* A row that lacks tokens of a vocabulary is a status, and nothing changes: the end may be among them. */
TEST(test_short_rows)
{
    static const char *const never[] = { "never" };
    own_index *index = samp_vocab_index_init(&vocab, NULL);
    own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_REGEX, "a*", NULL, NULL);
    for (int kind = 0; kind < 8; kind++) {
        samp_sampler *chain = samp_chain_init(),
                     *s = kind < 4 ? samp_init_grammar(index, g) : samp_init_banned_strings(&vocab, never, 1, 0);
        const samp_logits logits = { .data = (float[N]){ 0 }, .n_rows = 1, .n_vocab = N - 1 };
        const samp_token drafted = 0;
        const samp_draft draft = { 1, &drafted, NULL, NULL, 0, NULL };
        samp_token out[2];
        float rows[2 * N] = { 0 };
        if (kind & 1) assert_ok(samp_chain_add(chain, samp_init_top_k(3)));
        assert_ok(samp_chain_add(chain, s));
        assert_ok(samp_chain_add(chain, samp_init_dist(1)));
        assert_ok(samp_set_rng(chain, kind & 2 ? SAMP_RNG_MT19937 : SAMP_RNG_PHILOX));
        assert_status(samp_sample(chain, rows, N - 1), SAMP_E_RANGE);
        assert_status(samp_draw(chain, rows, 1), SAMP_E_RANGE);
        assert_status(samp_verify(chain, rows, N - 1, &draft, SAMP_VERIFY_EXACT, out), SAMP_E_RANGE);
        assert_ok(samp_sample_batch(&chain, &logits, out));
        assert_status(out[0], SAMP_E_RANGE);
        assert_u64(samp_get_position(chain), 0);
        assert_true(samp_sample(chain, rows, N) >= 0);
        samp_free(chain);
    }
    samp_sampler *chain = new_chain(samp_init_temp(1.0f), samp_init_dist(1)), *grammar = samp_init_grammar(index, g);
    const float row[N] = { 0 };
    assert_status(samp_grammar_sample(chain, grammar, row, N - 1), SAMP_E_RANGE);
    assert_status(samp_grammar_sample(NULL, grammar, row, N), SAMP_E_NULL);
    samp_free(grammar);
    samp_free(chain);
}

/* Patterns by hand: the alternatives of a word, what comes between, the beginning; and where a match begins. */
TEST(test_patterns)
{
    static const struct {
        const char *pattern, *text; /* in pieces of one byte */
        const char *masked;         /* these bytes then are */
        int back;                   /* with rewind, behind the text and the first of them */
        bool any_case;
    } c[] = {
        { "eyes? (glint|gleam|shin)", "her eyes gl", "", 0, false },
        { "eyes? (glint|gleam|shin)", "her eyes glea", "m", 10, false },
        { "eyes? (glint|gleam|shin)", "her eye shi", "n", 8, false },
        { "It wasn't.*\\. It was .*\\.", "It wasn't me. It was you", ".", 25, false },
        { "a+b", "caaa", "b", 4, false },
        { "^ab", "a", "b", 2, false },
        { "^ab", "xa", "", 0, false },
        { "[0-9]{3}", "x12", "0123456789", 3, false },
        { "\xc3\xa9|x", "\xc3", "\xa9x", 2, false },
        { "[^a]b", "a", "", 0, true }, /* as in ECMA-262, a class has both cases before it is negated */
        { "[^A-C]x", "b", "", 0, true },
        { "[^a]b", "A", "", 0, true },
        { "[^\\x61]b", "A", "", 0, true },
        { "[^\\W_]b", "A", "bB", 2, true },
        { "\\Wb", "a", "", 0, true },
        { "[^a]b", "c", "bB", 2, true },
        { "[Y-b]x", "z", "xX", 2, true },
        { "[Y-b]x", "C", "", 0, true },
        { "[Y-b]x", "^", "xX", 2, true },
        { "aB", "A", "bB", 2, true },
        { "[^a]b", "A", "b", 2, false },
    };
    const samp_vocab bytes = { 256, one_byte, NULL, NULL, NULL, 0, -1, -1 };
    for (size_t i = 0; i < TEST_COUNT(c); i++) {
        samp_grammar_error error;
        const unsigned any_case = c[i].any_case ? SAMP_BAN_ANY_CASE : 0;
        own_sampler *s = samp_init_banned_pattern(&bytes, c[i].pattern, any_case, &error);
        own_sampler *rewinds = samp_init_banned_pattern(&bytes, c[i].pattern, SAMP_BAN_REWIND | any_case, NULL);
        float row[256] = { 0 };
        samp_token_data data[256];
        assert_ok(samp_status(s, NULL));
        assert_ok(error.status);
        for (const char *at = c[i].text; *at; at++) {
            assert_ok(samp_accept(s, (unsigned char)*at));
            assert_ok(samp_accept(rewinds, (unsigned char)*at));
            assert_num(samp_rewind_length(rewinds), 0);
        }
        samp_token_data_array cur = test_array(data, row, 256);
        assert_ok(samp_apply(s, &cur));
        for (int b = 0; b < 256; b++) {
            bool is_masked = b && strchr(c[i].masked, b);
            if ((data[b].logit < 0) != is_masked) test_fail(__FILE__, __LINE__, "%s: byte %d", c[i].pattern, b);
        }
        if (*c[i].masked) assert_ok(samp_accept(rewinds, (unsigned char)*c[i].masked));
        assert_num(samp_rewind_length(rewinds), c[i].back);
    }
}

/* A match that began before the window: all of the window is taken back. */
TEST(test_long_match)
{
    const samp_vocab bytes = { 256, one_byte, NULL, NULL, NULL, 0, -1, -1 };
    for (int n = 1020; n < 1027; n++) {
        own_sampler *s = samp_init_banned_pattern(&bytes, "ba*c", SAMP_BAN_REWIND, NULL);
        assert_ok(samp_set_rollback(s, 2000));
        assert_ok(samp_accept(s, 'b'));
        for (int i = 0; i < n; i++) assert_ok(samp_accept(s, 'a'));
        assert_ok(samp_accept(s, 'c'));
        assert_num(samp_rewind_length(s), n + 2 <= 1024 ? n + 2 : 1024);
    }
}

/* A loop ends thinking, once the span is long enough; the watch tells, and changes nothing. */
TEST(test_loops)
{
    static const samp_token start[] = { 20 }, end[] = { 21, 22 };
    const samp_thinking span = { start, 1, end, 2, NULL, 0 };
    const samp_loop loop = { 1, 4, 3, 30, 3 };
    samp_thinking_plan plan = { 0 };
    plan.loop = &loop, plan.loop_from = 9;
    own_sampler *s = samp_init_thinking(NULL, &span, 1, 1000, -1, &plan), *watch = samp_init_loop_watch(&loop);
    for (int i = 0; i < 9; i++) assert_ok(samp_accept(s, i % 2)); /* outside: nobody minds */
    assert_ok(samp_accept(s, 20));
    for (int i = 0; i < 9; i++) { /* of the span alone: 0 1 0 1 0 1 is a loop at 6, which is too early */
        assert_num(samp_thinking_now(s), SAMP_THINKING_OPEN);
        assert_ok(samp_accept(s, i % 2));
    }
    assert_num(samp_thinking_now(s), SAMP_THINKING_ENDS);
    for (int i = 0; i < 12; i++) {
        float row[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
        samp_token_data data[8];
        samp_token_data_array cur = test_array(data, row, 8);
        assert_num(samp_loop_length(watch), i < 9 ? 0 : 2); /* looked for behind each third: 9 tokens have it */
        assert_ok(samp_apply(watch, &cur));
        for (int k = 0; k < 8; k++) assert_same(data[k].logit, row[k]);
        assert_ok(samp_accept(watch, i < 3 ? i + 2 : i % 2));
    }
    assert_ok(samp_accept(watch, 7));
    assert_num(samp_loop_length(watch), 0);
    assert_status(samp_loop_length(s), SAMP_E_UNSUPPORTED);
    assert_status(samp_schedule_holds(s), SAMP_E_UNSUPPORTED);
}

/* The smallest period counts, also where a larger one was found first. The sum's window has the token to be drawn. */
TEST(test_loops_by_hand)
{
    static const samp_token text[] = { 7, 7, 8, 7, 7, 8, 7, 7, 8 }, period[] = { 0, 1, 0, 0, 1, 3, 3, 1, 3 };
    const samp_loop loop = { 1, 4, 2, 30, 1 };
    own_sampler *watch = samp_init_loop_watch(&loop), *sum = samp_init_loop_breaker_cusum(1, 3, 0.0f, 1.0f, 2.0f);
    for (size_t i = 0; i < TEST_COUNT(text); i++) {
        assert_ok(samp_accept(watch, text[i]));
        assert_num(samp_loop_length(watch), period[i]);
    }
    for (int i = 0; i < 3; i++) {
        assert_ok(samp_accept(sum, i ? 7 : 5));
        float row[8] = { 0 };
        samp_token_data data[8];
        samp_token_data_array cur = test_array(data, row, 8);
        assert_ok(samp_apply(sum, &cur));
        for (int k = 0; k < 8; k++) assert_same(data[k].logit, i == 2 && k == 7 ? -2.0f : 0.0f);
    }
}

/* A character gets four tokens to be finished, or it never is. */
TEST(test_unfinished)
{
    static const samp_token start[] = { 0 }, end[] = { 1 };
    enum { LEAD = 9, NEXT = 10 }; /* of three bytes the first, and a later one */
    const samp_thinking span = { start, 1, end, 1, NULL, 0 };
    for (int finished = 0; finished < 2; finished++) {
        own_sampler *s = samp_init_thinking_budget(&vocab, &span, 1, 2, 0);
        for (int i = 0; i < 7; i++) {
            float row[N] = { 0 };
            samp_token_data data[N];
            samp_token_data_array cur = test_array(data, row, N);
            bool forced = finished ? i >= 4 : i >= 6;
            assert_ok(samp_apply(s, &cur));
            for (int k = 0; k < N; k++) assert_same(data[k].logit, forced && k != 1 ? -INFINITY : 0.0f);
            assert_ok(samp_accept(s, finished && i > 1 ? NEXT : LEAD));
        }
    }
}

/* Behind others, and under a mask: what is drawn is what the definition gives. */
TEST(test_in_chains)
{
    for (uint64_t i = 0; i < 40 * N_KINDS; i++) {
        source rng = source_stream(20000 + i);
        spec p;
        any_spec(&p, &rng, (kind)(i % N_KINDS));
        if (p.kind == SEQUENCE_BIAS && is_doubled(&p)) continue;
        samp_sampler *chain = samp_chain_init(), *steps;
        if (i % 3) assert_ok(samp_chain_add(chain, samp_init_temp(0.7f)));
        if (i % 5 == 0) assert_ok(samp_chain_add(chain, samp_init_top_k(30)));
        assert_ok(samp_chain_add(chain, make(&p)));
        assert_ok(samp_chain_add(chain, samp_init_dist(7)));
        for (int k = 0; k < 25; k++) {
            uint32_t bits[2] = { (uint32_t)choose(&rng, 4) | 1, (uint32_t)choose(&rng, 4) };
            float row[N];
            samp_logits l = { .data = rows[k], .n_rows = 1, .n_vocab = N, .mask = bits };
            samp_token_data data[N];
            samp_token out = -1;
            for (int t = 0; t < N; t++) row[t] = bits[t / 32] >> t % 32 & 1 ? rows[k][t] : -INFINITY;
            samp_token_data_array cur = test_array(data, row, N);
            steps = samp_clone(chain);
            int status = samp_apply(steps, &cur);
            assert_ok(samp_sample_batch(&chain, &l, &out));
            assert_num(out, status ? status : data[cur.selected].id);
            if (out < 0) assert_ok(samp_accept(chain, (samp_token)below(&rng, 6)));
            samp_free(steps);
        }
        samp_free(chain);
    }
}

/* Off: it says so, and nothing of it is left in a draw. */
TEST(test_disabled)
{
    static const samp_token t[] = { 1 };
    const samp_thinking span = { t, 1, t, 1, NULL, 0 };
    samp_sampler *off[] = { samp_init_sequence_bias(NULL, 0),
                            samp_init_banned_sequences(NULL, 0, SAMP_BAN_REWIND),
                            samp_init_banned_strings(NULL, NULL, 0, 0),
                            samp_init_suppressed_tokens(NULL, 0),
                            samp_init_begin_suppressed_tokens(NULL, 0, 1),
                            samp_init_min_tokens(t, 1, 0, 5),
                            samp_init_forced_prefix(NULL, 0, 0),
                            samp_init_eog_bias(t, 1, 0.0f),
                            samp_init_length_penalty(t, 1, 5, 1.0f, 0),
                            samp_init_no_repeat_ngram(0, 0),
                            samp_init_loop_breaker(1, 2, 3, 10, 1, 0.0f),
                            samp_init_loop_breaker_cusum(2, 10, 0.25f, 3.0f, 0.0f),
                            samp_init_thinking_budget(NULL, &span, 1, -1, -1),
                            samp_init_thinking_budget(NULL, NULL, 0, 5, -1),
                            samp_init_top_p_decay(1.0f, 0.5f, 0.1f, t, 1, 0) };
    for (size_t i = 0; i < TEST_COUNT(off); i++) {
        char told[200];
        assert_ok(samp_status(off[i], NULL));
        samp_describe(off[i], told, sizeof told);
        assert_true(strstr(told, "-> ?") != NULL);
        for (int k = 0; k < 20; k++) assert_ok(samp_accept(off[i], 1));
        samp_token_data data[N];
        samp_token_data_array cur = test_array(data, rows[0], N);
        assert_ok(samp_apply(off[i], &cur));
        for (int k = 0; k < N; k++) assert_same(data[k].logit, rows[0][k]);
        assert_num(samp_rewind_length(off[i]), 0);
        samp_free(off[i]);
    }
}

/* How many tokens top_p_decay leaves of ten equal ones: each is a tenth. */
static size_t tenths(samp_sampler *s)
{
    static const float row[10] = { 0 };
    samp_token_data data[10];
    samp_token_data_array cur = test_array(data, row, 10);
    assert_ok(samp_apply(s, &cur));
    return cur.size;
}

/* By hand: 0.95, then half of it with each token, but 0.15 at least; back behind a 7 or a 3. */
TEST(test_top_p_decay)
{
    static const samp_token resets[] = { 7, 3 };
    static const struct {
        samp_token token;
        size_t left;
    } text[] = { { 1, 5 }, { 2, 3 }, { 1, 2 }, { 1, 2 }, { 7, 10 }, { 4, 5 }, { 3, 10 }, { 3, 10 }, { 0, 5 } };
    samp_sampler *s = samp_init_top_p_decay(0.95f, 0.5f, 0.15f, resets, 2, 0), *copy;
    unsigned char bytes[400];
    assert_ok(samp_set_rollback(s, 20));
    assert_num(tenths(s), 10);
    for (size_t i = 0; i < TEST_COUNT(text); i++) {
        assert_ok(samp_accept(s, text[i].token));
        assert_num(tenths(s), text[i].left);
        size_t size = samp_state_size(s);
        assert_true(size <= sizeof bytes);
        assert_ok(samp_state_save(s, bytes, size));
        copy = samp_init_top_p_decay(0.95f, 0.5f, 0.15f, resets, 2, 0);
        assert_ok(samp_state_load(copy, bytes, size));
        assert_num(tenths(copy), text[i].left);
        samp_free(copy);
        copy = samp_init_top_p_decay(0.95f, 0.5f, 0.15f, resets, 1, 0); /* with another list it is another one */
        assert_status(samp_state_load(copy, bytes, size), SAMP_E_FORMAT);
        samp_free(copy);
    }
    for (size_t i = TEST_COUNT(text) - 1; i > 0; i--) {
        assert_ok(samp_rollback(s, 1));
        assert_num(tenths(s), text[i - 1].left);
    }
    samp_reset(s);
    assert_num(tenths(s), 10);
    samp_free(s);
}

/* p_t = max(lowest, p decay^(t - 1)), t the place in the sentence, and the smallest prefix with that mass, in doubles. */
TEST(test_top_p_decay_formula)
{
    source rng = source_stream(19);
    static const samp_token end[] = { 5 };
    own_sampler *s = samp_init_top_p_decay(0.9f, 0.9f, 0.3f, end, 1, 0);
    int t = 1, lowest = 0;
    assert_true(real_rows_load(REAL_ROWS_PATH));
    for (int i = 0; i < 2000; i++) {
        float row[N];
        samp_token_data data[N];
        double p = fmax((double)0.3f, (double)0.9f * pow((double)0.9f, t - 1)), z = 0.0, mass = 0.0;
        const float *real = real_rows[i % REAL_ROWS] + i * N % (REAL_WIDTH - N); /* every other row is a model's */
        for (int k = 0; k < N; k++) row[k] = (float)(4.0 * uniform(&rng) + (k == i % N ? 2.0 : 0.0));
        if (i % 2) memcpy(row, real, sizeof row);
        samp_token_data_array cur = test_array(data, row, N);
        assert_ok(samp_apply(s, &cur));
        for (int k = 0; k < N; k++) z += exp((double)row[k]);
        for (size_t k = 0; k + 1 < cur.size; k++) mass += exp((double)data[k].logit) / z;
        assert_true(mass < p + 1e-6);
        mass += exp((double)data[cur.size - 1].logit) / z;
        assert_true(mass > p - 1e-6);
        lowest += t > 11;
        samp_token token = (samp_token)below(&rng, 40) % N;
        assert_ok(samp_accept(s, token));
        t = token == 5 ? 1 : t + 1;
    }
    assert_true(lowest > 200);
}

TEST(test_describe)
{
    static const samp_token t[] = { 1, 2 };
    const char *const strings[] = { "ab", "c" };
    const samp_thinking span = { t, 1, t, 2, NULL, 0 };
    const samp_thinking_plan plan = { 0, 40, 0.0f, 9, NULL, 0, NULL, 0, SAMP_RAMP_LINEAR, 2.5f, NULL, 0 };
    const samp_schedule when = { SAMP_TOKENS, 2, 20, 0, SAMP_ANYWHERE, NULL, 0, 0, NULL, 0, NULL, NULL };
    samp_sampler *s[] = { samp_init_suppressed_tokens(t, 2),
                          samp_init_min_tokens(t, 2, 5, 7),
                          samp_init_banned_strings(&vocab, strings, 2, 0),
                          samp_init_length_penalty(t, 2, 10, 1.5f, 3),
                          samp_init_loop_breaker(4, 128, 3, 512, 16, INFINITY),
                          samp_init_loop_breaker_cusum(6, 4096, 0.25f, 15.0f, 2.0f),
                          samp_init_no_repeat_ngram(3, 64),
                          samp_init_no_repeat_ngram_except(3, 64, t, 2),
                          samp_init_top_p_decay(0.9f, 0.75f, 0.25f, t, 2, 3),
                          samp_init_timestamps(50364, 50363, 50),
                          samp_init_timestamps_except(50364, -1, -1, t, 2),
                          samp_init_min_tokens(t, 2, -1, 0),
                          samp_init_thinking(NULL, &span, 1, 100, -1, &plan),
                          samp_init_schedule(&when, samp_init_temp(0.5f)) };
    static const char *const told[] = { "suppressed-tokens(n=2)",
                                        "min-tokens(n=2, count=12)",
                                        "banned-strings(n=2)",
                                        "length-penalty(n=2, begin=13, factor=1.5)",
                                        "loop-breaker(min_period=4, max_period=128, copies=3, last_n=512, every=16, "
                                        "penalty=inf)",
                                        "loop-breaker-cusum(n=6, last_n=4096, loss=0.25, alarm=15, penalty=2)",
                                        "no-repeat-ngram(n=3, last_n=64, penalty=inf)",
                                        "no-repeat-ngram(n=3, last_n=64, penalty=inf, exempt=2)",
                                        "top-p-decay(p=0.9, decay=0.75, lowest=0.25, min_keep=3)",
                                        "timestamps(first=50364, no_timestamps=50363, max_initial=50)",
                                        "timestamps(first=50364, no_timestamps=-1, max_initial=-1, exempt=2)",
                                        "!min-tokens",
                                        "thinking(n=1, budget=100, soft=40, grace=9, ramp=1, bias=2.5)",
                                        "schedule(from=2, to=20) -> temp(t=0.5)" };
    for (size_t i = 0; i < TEST_COUNT(s); i++) {
        char text[200];
        samp_describe(s[i], text, sizeof text);
        assert_string_equal(text + strlen("logits -> "), told[i]);
        samp_free(s[i]);
    }
}

/* ---- what is refused ---- */

static void carries(samp_sampler *s, int status, const char *field)
{
    const char *got;
    float row[4] = { 0 };
    assert_status(samp_status(s, &got), status);
    assert_string_equal(got, field);
    assert_status(samp_sample(s, row, 4), status);
    assert_status(samp_accept(s, 1), status);
    assert_num(samp_state_size(s), 0);
    samp_free(samp_clone(s));
    samp_free(s);
}

static void bad_pattern(const char *pattern, int status, size_t column)
{
    samp_grammar_error error;
    carries(samp_init_banned_pattern(&vocab, pattern, 0, &error), status, "pattern");
    assert_status(error.status, status);
    if (column) assert_num(error.column, column);
}

static void bad_patterns(void)
{
    samp_grammar_error error;
    bad_pattern("a(b", SAMP_E_FORMAT, 4);
    bad_pattern("a\\bc", SAMP_E_UNSUPPORTED, 2);
    bad_pattern("ab$", SAMP_E_UNSUPPORTED, 0);
    bad_pattern("^(ab|c)$", SAMP_E_UNSUPPORTED, 0);
    bad_pattern("a*", SAMP_E_RANGE, 0);
    bad_pattern("", SAMP_E_RANGE, 0);
    bad_pattern("^(a|)", SAMP_E_RANGE, 0);
    bad_pattern("a.{12}", SAMP_E_FULL, 0); /* 2^13 states */
    carries(samp_init_banned_pattern(&vocab, NULL, 0, &error), SAMP_E_NULL, "pattern");
    assert_status(error.status, SAMP_E_NULL);
    carries(samp_init_banned_pattern(NULL, "a", 0, NULL), SAMP_E_NULL, "vocab");
    carries(samp_init_banned_pattern(&vocab, "a", 4, NULL), SAMP_E_RANGE, "flags");
}

static void bad_plan(const samp_thinking *span, samp_thinking_plan plan, int status, const char *field)
{
    carries(samp_init_thinking(NULL, span, 1, 5, -1, &plan), status, field);
}

static void bad_plans(const samp_thinking *span)
{
    static const samp_token good[] = { 1 }, low[] = { -1 };
    static const samp_loop once = { 1, 2, 1, 9, 1 };
    const samp_sequence empty = { good, 0, 0.0f };
#define PLAN(...) ((samp_thinking_plan){ __VA_ARGS__ })
    bad_plan(span, PLAN(.total = -1), SAMP_E_RANGE, "total");
    bad_plan(span, PLAN(.soft = -1), SAMP_E_RANGE, "soft");
    bad_plan(span, PLAN(.soft_ratio = -0.5f), SAMP_E_RANGE, "soft_ratio");
    bad_plan(span, PLAN(.soft_ratio = 1.5f), SAMP_E_RANGE, "soft_ratio");
    bad_plan(span, PLAN(.soft_ratio = NAN), SAMP_E_NAN, "soft_ratio");
    bad_plan(span, PLAN(.soft = 1, .soft_ratio = 0.5f), SAMP_E_RANGE, "soft_ratio");
    bad_plan(span, PLAN(.grace = -1), SAMP_E_RANGE, "grace");
    bad_plan(span, PLAN(.note = good, .n_note = 1), SAMP_E_NULL, "vocab");
    bad_plan(span, PLAN(.ramp = (samp_ramp)3), SAMP_E_RANGE, "ramp");
    bad_plan(span, PLAN(.bias = -1.0f), SAMP_E_RANGE, "bias");
    bad_plan(span, PLAN(.bias = INFINITY), SAMP_E_RANGE, "bias");
    bad_plan(span, PLAN(.bias = NAN), SAMP_E_NAN, "bias");
    bad_plan(span, PLAN(.n_ends = 1), SAMP_E_NULL, "ends");
    bad_plan(span, PLAN(.ends = &empty, .n_ends = 1), SAMP_E_RANGE, "ends");
    bad_plan(span, PLAN(.ends = &empty, .n_ends = 1025), SAMP_E_RANGE, "ends");
    bad_plan(span, PLAN(.loop = &once), SAMP_E_RANGE, "copies");
    bad_plan(span, PLAN(.loop_from = -1), SAMP_E_RANGE, "loop_from");
    samp_thinking_plan plan = PLAN(.n_note = 1);
    carries(samp_init_thinking(&vocab, span, 1, 5, -1, &plan), SAMP_E_NULL, "note");
    plan.note = low;
    carries(samp_init_thinking(&vocab, span, 1, 5, -1, &plan), SAMP_E_RANGE, "note");
    plan.n_note = 1025;
    carries(samp_init_thinking(&vocab, span, 1, 5, -1, &plan), SAMP_E_RANGE, "note");
    carries(samp_init_loop_watch(NULL), SAMP_E_NULL, "loop");
    carries(samp_init_loop_watch(&once), SAMP_E_RANGE, "copies");
}

static void bad_schedule(samp_schedule when, int status, const char *field)
{
    carries(samp_init_schedule(&when, samp_init_greedy()), status, field);
}

static void bad_schedules(const samp_thinking *span)
{
    static const samp_token low[] = { -1 };
    static const samp_loop never = { 1, 2, 2, 9, 0 };
#define WHEN(...) ((samp_schedule){ __VA_ARGS__ })
    bad_schedule(WHEN(.count = (samp_unit)2), SAMP_E_RANGE, "count");
    bad_schedule(WHEN(.count = SAMP_LINES), SAMP_E_NULL, "vocab");
    bad_schedule(WHEN(.from = -1), SAMP_E_RANGE, "from");
    bad_schedule(WHEN(.from = 2, .to = 2), SAMP_E_RANGE, "to");
    bad_schedule(WHEN(.to = -1), SAMP_E_RANGE, "to");
    bad_schedule(WHEN(.begin = -1), SAMP_E_RANGE, "begin");
    bad_schedule(WHEN(.where = (samp_area)3), SAMP_E_RANGE, "where");
    bad_schedule(WHEN(.where = SAMP_INSIDE), SAMP_E_RANGE, "spans");
    bad_schedule(WHEN(.n_spans = 1), SAMP_E_NULL, "spans");
    bad_schedule(WHEN(.spans = span, .n_spans = 1025), SAMP_E_RANGE, "spans");
    bad_schedule(WHEN(.spans = span, .n_spans = 1, .inside = 2), SAMP_E_RANGE, "inside");
    bad_schedule(WHEN(.inside = -1), SAMP_E_RANGE, "inside");
    bad_schedule(WHEN(.n_until = 1), SAMP_E_NULL, "until");
    bad_schedule(WHEN(.until = low, .n_until = 1), SAMP_E_RANGE, "until");
    bad_schedule(WHEN(.loop = &never), SAMP_E_RANGE, "every");
    carries(samp_init_schedule(NULL, samp_init_greedy()), SAMP_E_NULL, "when");
    carries(samp_init_schedule(&(samp_schedule){ 0 }, NULL), SAMP_E_NULL, "sampler");
}

/* test_ranges.c has the ends of each number's range. */
TEST(test_bad_arguments)
{
    static const samp_token good[] = { 1, 2 }, low[] = { 1, -1 }, high[] = { SAMP_MAX_VOCAB };
    static char long_text[1100];
    memset(long_text, 'a', 1025);
    const char *const strings[] = { "a", "" }, *const none[] = { NULL }, *const too_long[] = { long_text };
    const samp_vocab no_bytes = { N, NULL, NULL, NULL, NULL, 0, -1, -1 };
    samp_vocab fewer = vocab, more = vocab;
    fewer.n_vocab = -1;
    more.n_vocab = SAMP_MAX_VOCAB + 1;
    const samp_sequence empty = { good, 0, 0 }, null = { NULL, 1, 0 }, bad = { low, 2, 0 }, far = { high, 1, 0 };
    const samp_sequence nan = { good, 2, NAN }, inf = { good, 2, INFINITY };
    const samp_sequence twice[] = { { good, 2, 1.0f }, { good, 1, 1.0f }, { good, 2, 2.0f } };
    const samp_sequence wide = { good, 1025, 0 };
    const samp_thinking span = { good, 1, good, 2, NULL, 0 }, no_start = { NULL, 1, good, 1, NULL, 0 };
    const samp_thinking no_end = { good, 1, good, 0, NULL, 0 }, bad_force = { good, 1, good, 1, low, 2 };
    const samp_thinking no_force = { good, 1, good, 1, good, 0 }, wide_force = { good, 1, good, 1, good, 1025 };
    carries(samp_init_sequence_bias(NULL, 1), SAMP_E_NULL, "sequences");
    carries(samp_init_sequence_bias(&empty, 1), SAMP_E_RANGE, "sequences");
    carries(samp_init_sequence_bias(&null, 1), SAMP_E_NULL, "sequences");
    carries(samp_init_sequence_bias(&bad, 1), SAMP_E_RANGE, "sequences");
    carries(samp_init_sequence_bias(&far, 1), SAMP_E_RANGE, "sequences");
    carries(samp_init_sequence_bias(&nan, 1), SAMP_E_NAN, "sequences");
    carries(samp_init_sequence_bias(&inf, 1), SAMP_E_NAN, "sequences");
    carries(samp_init_sequence_bias(&wide, 1), SAMP_E_RANGE, "sequences");
    carries(samp_init_sequence_bias(twice, 3), SAMP_E_RANGE, "sequences");
    carries(samp_init_sequence_bias(twice, 65537), SAMP_E_RANGE, "sequences");
    carries(samp_init_banned_sequences(&empty, 1, 1), SAMP_E_RANGE, "sequences");
    carries(samp_init_banned_strings(NULL, strings, 1, 0), SAMP_E_NULL, "vocab");
    carries(samp_init_banned_strings(&no_bytes, strings, 1, 0), SAMP_E_NULL, "vocab");
    carries(samp_init_banned_strings(&fewer, strings, 1, 0), SAMP_E_RANGE, "vocab");
    carries(samp_init_banned_strings(&more, strings, 1, 0), SAMP_E_RANGE, "vocab");
    carries(samp_init_banned_strings(&vocab, NULL, 1, 0), SAMP_E_NULL, "strings");
    carries(samp_init_banned_strings(&vocab, strings, 2, 0), SAMP_E_RANGE, "strings");
    carries(samp_init_banned_strings(&vocab, none, 1, 0), SAMP_E_NULL, "strings");
    carries(samp_init_banned_strings(&vocab, too_long, 1, 1), SAMP_E_RANGE, "strings");
    carries(samp_init_suppressed_tokens(NULL, 1), SAMP_E_NULL, "tokens");
    carries(samp_init_suppressed_tokens(low, 2), SAMP_E_RANGE, "tokens");
    carries(samp_init_suppressed_tokens(good, SAMP_MAX_VOCAB + 1), SAMP_E_RANGE, "tokens");
    carries(samp_init_min_tokens(good, 2, INT32_MAX, 1), SAMP_E_RANGE, "begin");
    carries(samp_init_allowed_tokens(NULL, 1), SAMP_E_NULL, "tokens");
    carries(samp_init_allowed_tokens(good, 0), SAMP_E_RANGE, "tokens");
    carries(samp_init_allowed_tokens(low, 2), SAMP_E_RANGE, "tokens");
    carries(samp_init_forced_prefix(high, 1, 0), SAMP_E_RANGE, "tokens");
    carries(samp_init_length_penalty(good, 2, 1, 1.1f, INT32_MAX), SAMP_E_RANGE, "begin");
    carries(samp_init_no_repeat_ngram((1 << 22) + 1, -1), SAMP_E_RANGE, "n");
    carries(samp_init_no_repeat_ngram(3, 2), SAMP_E_RANGE, "last_n");
    carries(samp_init_timestamps_except(6, 5, 5, NULL, 1), SAMP_E_NULL, "exempt");
    carries(samp_init_timestamps_except(6, 5, 5, low, 2), SAMP_E_RANGE, "exempt");
    carries(samp_init_no_repeat_ngram_except(3, 2, good, 2), SAMP_E_RANGE, "last_n");
    carries(samp_init_no_repeat_ngram_except(3, 9, NULL, 1), SAMP_E_NULL, "exempt");
    carries(samp_init_no_repeat_ngram_except(3, 9, low, 2), SAMP_E_RANGE, "exempt");
    carries(samp_init_no_repeat_ngram_except(3, 9, high, 1), SAMP_E_RANGE, "exempt");
    carries(samp_init_no_repeat_ngram_except(3, 9, good, (size_t)SAMP_MAX_VOCAB + 1), SAMP_E_RANGE, "exempt");
    carries(samp_init_loop_breaker(6, 5, 3, 100, 1, 1.0f), SAMP_E_RANGE, "max_period");
    carries(samp_init_loop_breaker(1, 5, 65537, 100, 1, 1.0f), SAMP_E_RANGE, "copies");
    carries(samp_init_loop_breaker(4, 5, 3, 11, 1, 1.0f), SAMP_E_RANGE, "last_n");
    carries(samp_init_loop_breaker(4, 5, 3, INT32_MAX, 1, 1.0f), SAMP_E_RANGE, "last_n");
    carries(samp_init_loop_breaker_cusum((1 << 22) + 1, INT32_MAX, 0.25f, 1.0f, 1.0f), SAMP_E_RANGE, "n");
    carries(samp_init_loop_breaker_cusum(6, 5, 0.25f, 1.0f, 1.0f), SAMP_E_RANGE, "last_n");
    carries(samp_init_top_p_decay(1.1f, 0.5f, 1.2f, NULL, 0, 0), SAMP_E_RANGE, "p");
    carries(samp_init_top_p_decay(0.9f, 0.5f, 0.95f, NULL, 0, 0), SAMP_E_RANGE, "lowest");
    carries(samp_init_top_p_decay(0.9f, 0.5f, 0.1f, NULL, 1, 0), SAMP_E_NULL, "resets");
    carries(samp_init_thinking_budget(&no_bytes, &span, 1, 5, -1), SAMP_E_NULL, "vocab");
    carries(samp_init_thinking_budget(NULL, NULL, 1, 5, -1), SAMP_E_NULL, "spans");
    carries(samp_init_thinking_budget(NULL, &span, 1, 5, 1), SAMP_E_RANGE, "open");
    carries(samp_init_thinking_budget(NULL, &span, 1025, 5, -1), SAMP_E_RANGE, "spans");
    carries(samp_init_thinking_budget(NULL, &no_start, 1, 5, -1), SAMP_E_NULL, "spans");
    carries(samp_init_thinking_budget(NULL, &no_end, 1, 5, -1), SAMP_E_RANGE, "spans");
    carries(samp_init_thinking_budget(NULL, &bad_force, 1, 5, -1), SAMP_E_RANGE, "spans");
    carries(samp_init_thinking_budget(NULL, &no_force, 1, 5, -1), SAMP_E_RANGE, "spans");
    carries(samp_init_thinking_budget(NULL, &wide_force, 1, 5, -1), SAMP_E_RANGE, "spans");
    bad_patterns();
    bad_plans(&span);
    bad_schedules(&span);
    own_sampler *s = samp_init_greedy();
    assert_status(samp_rewind_length(NULL), SAMP_E_NULL);
    assert_status(samp_thinking_end(NULL), SAMP_E_NULL);
    assert_status(samp_thinking_now(s), SAMP_E_UNSUPPORTED);
    assert_status(samp_thinking_used(NULL), SAMP_E_NULL);
    assert_status(samp_loop_length(NULL), SAMP_E_NULL);
    assert_status(samp_schedule_holds(NULL), SAMP_E_NULL);
    assert_status(samp_thinking_left(NULL), SAMP_E_NULL);
    assert_status(samp_thinking_left(s), SAMP_E_UNSUPPORTED);
    assert_num(samp_rewind_length(s), 0);
}

/* Nothing left is a status, and nothing has changed: on the fast path and on an array. */
TEST(test_nothing_left)
{
    static const samp_token all[] = { 0, 1, 2, 3, 4, 5, 6, 7 }, masked[] = { 3 }, beyond[] = { 900 };
    float row[8] = { 0, 1, 2, -INFINITY, 4, 5, 6, 7 };
    samp_sampler *s[] = { samp_init_suppressed_tokens(all, 8), samp_init_allowed_tokens(masked, 1),
                          samp_init_allowed_tokens(beyond, 1), samp_init_forced_prefix(masked, 1, 0) };
    for (size_t i = 0; i < 2 * TEST_COUNT(s); i++) {
        own_sampler *chain = with_dist(samp_clone(s[i / 2]), (samp_rng_kind)(i % 2));
        samp_logits l = { .data = row, .n_rows = 1, .n_vocab = 8 };
        samp_token_data data[8];
        samp_token_data_array cur = test_array(data, row, 8);
        samp_token out = 0;
        assert_status(samp_sample(chain, row, 8), SAMP_E_EMPTY);
        assert_ok(samp_sample_batch(&chain, &l, &out));
        assert_status(out, SAMP_E_EMPTY);
        assert_status(samp_apply(chain, &cur), SAMP_E_EMPTY);
        assert_num(samp_get_position(chain), 0);
        assert_num(samp_last(chain), SAMP_E_EMPTY);
    }
    for (size_t i = 0; i < TEST_COUNT(s); i++) samp_free(s[i]);
}

/* Row r, of chain (freed), through the caller's mask, if there is one. */
static samp_token drawn_of(samp_sampler *chain, size_t r, const uint32_t *bits)
{
    samp_logits l = { .data = rows[r], .n_rows = 1, .n_vocab = N, .mask = bits };
    samp_token out;
    assert_ok(samp_sample_batch(&chain, &l, &out));
    samp_free(chain);
    return out;
}

static samp_sampler *chain_of_four(samp_sampler *a, samp_sampler *b, samp_sampler *c, samp_sampler *d)
{
    samp_sampler *all[] = { a, b, c, d }, *chain = samp_chain_init();
    for (size_t i = 0; i < 4; i++) assert_ok(samp_chain_add(chain, all[i]));
    return chain;
}

/* ras draws again from the row, of which the chain's bans, a bias of -infinity and a grammar are left out, and nothing
   else is changed: the caller's mask gives the same token. */
TEST(test_ras_keeps_masks)
{
    static const samp_token banned[] = { 1, 4, 6, 9 }, liked[] = { 2, 3 };
    const samp_logit_bias never[] = { { 5, -INFINITY }, { 7, 3.0f } };
    uint32_t bits[(N + 31) / 32], by_grammar[(N + 31) / 32];
    int status, others = 0;
    own_index *index = samp_vocab_index_init(&vocab, &status);
    own_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_GBNF, "root ::= [a-c]+", NULL, NULL);
    assert_non_null(index);
    assert_non_null(grammar);
    samp_sampler *asked = samp_init_grammar(index, grammar);
    assert_ok(samp_grammar_mask(asked, by_grammar));
    samp_free(asked);
    memset(bits, 0xff, sizeof bits);
    for (size_t i = 0; i < TEST_COUNT(banned); i++) bits[0] &= ~(1u << banned[i]);
    bits[0] &= ~(1u << 5);
#define RAS samp_init_ras(5, 0.0f, seed)
    for (uint64_t seed = 0; seed < 400; seed++) {
        const size_t r = seed % TEST_COUNT(rows);
        const samp_token want = drawn_of(RAS, r, bits), any = drawn_of(RAS, r, NULL);
        others += want != any;
        assert_true(want >= 0 && (bits[want / 32] >> want % 32 & 1));
        assert_num(drawn_of(chain_of_four(samp_init_suppressed_tokens(banned, 4), samp_init_logit_bias(N, 2, never),
                                          samp_init_top_k(3), RAS),
                            r, NULL),
                   want);
        assert_num(drawn_of(chain_of_four(samp_init_temp(0.5f), samp_init_eog_bias(liked, 2, 4.0f),
                                          samp_init_min_p(0.2f, 1), RAS),
                            r, bits),
                   want);
        assert_num(
            drawn_of(chain_of_four(samp_init_eog_bias(liked, 2, 4.0f), samp_init_softmax(), samp_init_top_k(2), RAS),
                     r, NULL),
            any);
        const samp_token formed = drawn_of(RAS, r, by_grammar);
        assert_num(
            drawn_of(chain_of_four(samp_init_grammar(index, grammar), samp_init_temp(2.0f), samp_init_top_k(1), RAS),
                     r, NULL),
            formed);
        assert_num(
            drawn_of(chain_of_four(samp_init_temp(2.0f), samp_init_grammar(index, grammar), samp_init_top_k(1), RAS),
                     r, NULL),
            formed);
    }
#undef RAS
    assert_true(others > 20);
}

/* ---- hostile states ---- */

static void seal(unsigned char *bytes, size_t size)
{
    uint64_t sum = inside_checksum(bytes, size - 8);
    for (int i = 0; i < 8; i++) bytes[size - 8 + (size_t)i] = (unsigned char)(sum >> 8 * i);
}

/* Any word of a state may be anything: it is refused, and nothing has changed, or what it says can be gone on with. */
TEST(test_hostile_states)
{
    size_t refused = 0, taken = 0;
    for (uint64_t i = 0; i < 60 * (N_KINDS + 2); i++) {
        source rng = source_stream(5000 + i);
        kind kind = i % (N_KINDS + 2) < N_KINDS ? (enum kind)(i % (N_KINDS + 2)) : BANNED_STRINGS;
        unsigned char bytes[4096], before[4096], after[4096];
        spec p;
        any_spec(&p, &rng, kind);
        if (kind == SEQUENCE_BIAS && is_doubled(&p)) continue;
        const char *strings[N_TEXTS];
        for (size_t k = 0; k < N_TEXTS; k++) strings[k] = p.strings[k];
        own_sampler *s = i % (N_KINDS + 2) < N_KINDS
                             ? make(&p)
                             : samp_init_banned_strings(&vocab, strings, p.n, SAMP_BAN_REWIND);
        for (int k = 0; k < 30; k++) assert_ok(samp_accept(s, (samp_token)below(&rng, 4)));
        size_t size = samp_state_size(s), at = 24 + 4 * below(&rng, (size - 32) / 4 + (size == 32));
        assert_ok(samp_state_save(s, bytes, sizeof bytes));
        memcpy(before, bytes, size);
        uint32_t x = below(&rng, 2) ? (uint32_t)below(&rng, 64) : (uint32_t)choose(&rng, 4);
        if (below(&rng, 4) == 0) x = 0x7fffffff + (uint32_t)below(&rng, 2);
        if (at + 12 <= size)
            for (int k = 0; k < 4; k++) bytes[at + (size_t)k] = (unsigned char)(x >> 8 * k);
        seal(bytes, size);
        int status = samp_state_load(s, bytes, size);
        if (status) {
            assert_status(status, SAMP_E_FORMAT);
            assert_ok(samp_state_save(s, after, sizeof after));
            assert_memory_equal(before, after, size);
            refused++;
        } else {
            taken++;
        }
        for (int k = 0; k < 40; k++) {
            float row[N];
            memcpy(row, rows[k], sizeof row);
            (void)samp_rewind_length(s);
            samp_token_data data[N];
            samp_token_data_array cur = test_array(data, row, N);
            assert_ok(samp_apply(s, &cur));
            assert_ok(samp_accept(s, (samp_token)below(&rng, k % 2 ? N : 3)));
        }
        for (size_t cut = 0; cut < size; cut += 7) assert_status(samp_state_load(s, before, cut), SAMP_E_FORMAT);
    }
    assert_true(refused > 100 && taken > 100);
}

/* A state that says the end is forced, from behind its last token on: there is nothing to force. */
TEST(test_forged_end)
{
    static const samp_token start[] = { 0 }, end[] = { 1, 2 };
    const samp_thinking span = { start, 1, end, 2, NULL, 0 };
    own_sampler *s = samp_init_thinking_budget(NULL, &span, 1, 5, 0);
    unsigned char bytes[200];
    size_t size = samp_state_size(s), at = 24; /* behind the head and samp_get_position */
    assert_ok(samp_state_save(s, bytes, sizeof bytes));
    for (uint32_t node = 0; node < 8; node++)
        for (uint32_t mode = 0; mode < 4; mode++)
            for (uint32_t count = 0; count < 12; count++) {
                unsigned char forged[200];
                memcpy(forged, bytes, size);
                forged[at + 4] = (unsigned char)node;
                forged[at + 8] = (unsigned char)mode;
                forged[at + 12] = (unsigned char)count;
                seal(forged, size);
                /* nodes: 0, 1 roots; 2 the start; 3, 4 the end */
                bool idle = mode == 0 && (node == 0 || node == 2) && count == 0;
                bool counts = mode == 1 && (node == 1 || node == 3) && count < 9;
                bool forces = mode == 2 && ((node == 1 && count == 0) || (node == 3 && count == 1));
                assert_status(samp_state_load(s, forged, size), idle || counts || forces ? SAMP_OK : SAMP_E_FORMAT);
            }
}

/* Other settings are another sampler. */
TEST(test_other_settings)
{
    static const samp_token a[] = { 1, 2 }, b[] = { 1, 3 };
    const char *const x[] = { "ab" }, *const y[] = { "ac" };
    samp_sampler *s[] = { samp_init_suppressed_tokens(a, 2),
                          samp_init_suppressed_tokens(b, 2),
                          samp_init_eog_bias(a, 2, 1.0f),
                          samp_init_eog_bias(a, 2, 2.0f),
                          samp_init_min_tokens(a, 2, 3, 0),
                          samp_init_min_tokens(a, 2, 4, 0),
                          samp_init_banned_strings(&vocab, x, 1, 0),
                          samp_init_banned_strings(&vocab, y, 1, 0),
                          samp_init_banned_strings(&vocab, x, 1, SAMP_BAN_REWIND),
                          samp_init_banned_strings(&vocab, x, 1, SAMP_BAN_ANY_CASE),
                          samp_init_no_repeat_ngram(2, 9),
                          samp_init_no_repeat_ngram_except(2, 9, a, 2),
                          samp_init_no_repeat_ngram_except(2, 9, b, 2),
                          samp_init_timestamps_except(6, 5, 1, a, 2),
                          samp_init_timestamps_except(6, 5, 1, b, 2),
                          samp_init_timestamps_except(6, 5, 2, a, 2),
                          samp_init_timestamps_except(6, 4, 1, a, 2),
                          samp_init_timestamps_except(7, 5, 1, a, 2) };
    unsigned char bytes[4096];
    for (size_t i = 0; i < TEST_COUNT(s); i++)
        for (size_t k = 0; k < TEST_COUNT(s); k++) {
            assert_ok(samp_state_save(s[i], bytes, sizeof bytes));
            assert_status(samp_state_load(s[k], bytes, samp_state_size(s[i])), i == k ? SAMP_OK : SAMP_E_FORMAT);
        }
    for (size_t i = 0; i < TEST_COUNT(s); i++) samp_free(s[i]);
}

/* A draft is judged under them, and what of it is rejected is as if it had not been. */
TEST(test_verify)
{
    for (uint64_t i = 0; i < 200; i++) {
        source rng = source_stream(9000 + i);
        spec p;
        any_spec(&p, &rng, (kind)(i % N_KINDS));
        if (p.kind == SEQUENCE_BIAS && is_doubled(&p)) continue;
        own_sampler *chain = with_dist(make(&p), SAMP_RNG_PHILOX), *alone = samp_clone(chain);
        float row[5 * N];
        samp_token draft[4], out[5];
        for (int k = 0; k < 5; k++) memcpy(row + k * N, rows[below(&rng, TEST_COUNT(rows))], N * sizeof *row);
        samp_sampler *guess = samp_clone(alone);
        for (int k = 0; k < 4; k++) {
            draft[k] = samp_sample(guess, row + k * N, N);
            if (below(&rng, 5) == 0) draft[k] = (samp_token)below(&rng, N);
        }
        samp_free(guess);
        samp_draft d = { 4, draft, NULL, NULL, 0, NULL };
        if (draft[0] < 0 || draft[1] < 0 || draft[2] < 0 || draft[3] < 0) d.n = 0;
        int32_t taken = samp_verify(chain, row, N, &d, SAMP_VERIFY_EXACT, out);
        for (int32_t k = 0; k <= taken; k++) assert_num(samp_sample(alone, row + k * N, N), out[k]);
        unsigned char a[4096], b[4096];
        size_t size = samp_state_size(chain);
        assert_num(samp_state_size(alone), size);
        assert_ok(samp_state_save(chain, a, sizeof a));
        assert_ok(samp_state_save(alone, b, sizeof b));
        assert_memory_equal(a, b, size);
    }
}

/* What temp has found to be small enough for a product of every logit is masked behind it: the rest overflows. */
TEST(test_mask_behind_temp)
{
    enum { MANY = 600, ALL = 1024 };
    static samp_token list[MANY];
    static float row[ALL];
    static samp_token_data data[ALL];
    own_sampler *s = samp_chain_init();
    for (samp_token i = 0; i < ALL; i++) row[i] = i < MANY ? 1.0f : -FLT_MAX;
    for (samp_token i = 0; i < MANY; i++) list[i] = i;
    assert_ok(samp_chain_add(s, samp_init_temp(0.6f)));
    assert_ok(samp_chain_add(s, samp_init_suppressed_tokens(list, MANY)));
    assert_ok(samp_chain_add(s, samp_init_dist(7)));
    for (uint64_t k = 0; k < 20; k++) {
        samp_token_data_array cur = { data, ALL, -1, false };
        for (samp_token i = 0; i < ALL; i++) data[i] = (samp_token_data){ i, row[i], 0.0f };
        assert_ok(samp_set_position(s, k));
        assert_ok(samp_apply(s, &cur));
        assert_ok(samp_set_position(s, k));
        samp_token token = samp_sample(s, row, ALL);
        assert_in_range(token, MANY, ALL - 1);
        assert_int_equal(token, cur.data[cur.selected].id);
    }
}

static int make_rows(void **state)
{
    (void)state;
    source s = source_stream(0);
    if (!real_rows_load(REAL_ROWS_PATH)) return 1;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        test_logits(&s, rows[i], WIDE, 2.0);
        if (i % 2) memcpy(rows[i], real_rows[i % REAL_ROWS] + i * WIDE, sizeof rows[i]); /* a model's */
    }
    return 0;
}

int main(int argc, char **argv) { return test_main(argc, argv, make_rows, NULL); }
