/* bench_ngram.c -- how many tokens a step of the model gives when a text proposes its own continuation.
 *
 *     make bench      prints it at its end;   ./build/bench_ngram [PROMPT] TEXT ...     other texts
 *
 * The text is what a model says: a drafted token counts if it is the text's next one, and a step gives the right tokens at the
 * draft's beginning and one more. Tokens are pieces of up to four letters, digits, blanks or one other sign. Beside samp_ngram
 * the rules of llama.cpp's lookup (its common/ngram-cache.cpp, without files of counts): token by token, the longest of 4 .. 1
 * last tokens that came before at least 1, 1, 2, 2 times, if one token followed half of these times (of 1: two thirds). */
#define SAMPLING_DRAFTS
#include "bench/bench.h"

enum { LONGEST = 6000, MOST = 16, N_MIN = 2, N_MAX = 5 };

typedef struct text {
    samp_token token[2 * LONGEST];
    size_t n, n_prompt;
} text;

static char pieces[LONGEST][5]; /* the token's bytes */
static size_t n_pieces;

static int class_of(char c)
{
    if ((c | 32) >= 'a' && (c | 32) <= 'z') return 1;
    return c >= '0' && c <= '9' ? 2 : c == ' ' ? 3 : 0;
}

static samp_token token_of(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n_pieces && (strncmp(pieces[i], s, n) != 0 || pieces[i][n])) i++;
    if (i == n_pieces && n_pieces < LONGEST) memcpy(pieces[n_pieces++], s, n);
    return (samp_token)i;
}

static void add(text *t, const char *s)
{
    for (size_t n; *s && t->n < 2 * LONGEST; s += n) {
        for (n = 1; n < 4 && s[n] && class_of(*s) && class_of(s[n]) == class_of(*s); n++) {
        }
        t->token[t->n++] = token_of(s, n);
    }
}

static bool add_file(text *t, const char *path)
{
    static char bytes[40000];
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    bytes[fread(bytes, 1, sizeof bytes - 1, file)] = 0;
    fclose(file);
    add(t, bytes);
    return true;
}

/* llama.cpp's rules: one token behind x [n], of which the first n_text are counted; -1: none. */
static samp_token looked_up(const samp_token *x, size_t n, size_t n_text)
{
    static const int least[] = { 0, 2, 2, 1, 1 }, share[] = { 0, 66, 50, 50, 50 };
    static int count[LONGEST + 1];
    for (size_t k = 4; k >= 1; k--) {
        int sum = 0;
        samp_token best = -1;
        if (n < k) continue;
        for (size_t at = k; at < n_text; at++)
            if (memcmp(x + at - k, x + n - k, k * sizeof *x) == 0) {
                sum++;
                if (++count[x[at]] > (best < 0 ? 0 : count[best])) best = x[at];
            }
        bool found = best >= 0 && sum >= least[k] && 100 * count[best] >= share[k] * sum;
        for (size_t at = k; at < n_text && sum; at++) count[x[at]] = 0;
        if (found) return best;
    }
    return -1;
}

static double tokens_a_step(const text *t, bool ours, size_t most, double *right)
{
    samp_token draft[MOST], *x = malloc((2 * LONGEST + MOST) * sizeof *x);
    size_t steps = 0, drafted = 0, accepted = 0, at = t->n_prompt ? t->n_prompt : 1;
    const size_t generated = t->n - at;
    samp_ngram *g = samp_ngram_init(N_MIN, N_MAX, 2 * LONGEST);
    for (size_t i = 0; i < at; i++) samp_ngram_accept(g, t->token[i]);
    while (at < t->n) {
        size_t n = 0, same = 0;
        memcpy(x, t->token, at * sizeof *x);
        if (ours)
            n = (size_t)samp_ngram_draft(g, draft, most);
        else
            while (n < most && (draft[n] = looked_up(x, at + n, at)) >= 0) x[at + n] = draft[n], n++;
        while (same < n && at + same < t->n && draft[same] == t->token[at + same]) same++;
        drafted += n, accepted += same, steps++;
        for (size_t i = 0; i <= same && at < t->n; i++, at++) samp_ngram_accept(g, t->token[at]);
    }
    samp_ngram_free(g);
    free(x);
    *right = drafted ? (double)accepted / (double)drafted : 0;
    return (double)generated / (double)steps;
}

static void line(const char *name, text *t)
{
    double right[2], a, b;
    for (size_t most = 4; most <= MOST; most *= 2) {
        a = tokens_a_step(t, true, most, &right[0]);
        b = tokens_a_step(t, false, most, &right[1]);
        printf("  %-34s %5zu %7zu   %5.2f  %3.0f %%    %5.2f  %3.0f %%   %5.2f\n", name, t->n - t->n_prompt, most, a,
               100 * right[0], b, 100 * right[1], a / b);
    }
    t->n = t->n_prompt = 0;
}

int main(int argc, char **argv)
{
    static text t;
    printf("drafts from the text itself: tokens a step, and the share of drafted tokens that are right\n");
    printf("  %-34s %5s %7s   %13s    %13s   ours / rules\n", "", "n", "at most", "samp_ngram", "lookup's rules");
    if (argc > 1) {
        for (int i = 1; i < argc; i++) {
            if (argc > 2 && i == 1) {
                if (!add_file(&t, argv[i])) return 1;
                t.n_prompt = t.n;
                continue;
            }
            size_t prompt = t.n_prompt;
            if (!add_file(&t, argv[i])) return 1;
            line(argv[i], &t);
            t.n = t.n_prompt = prompt;
        }
        return 0;
    }
    if (add_file(&t, "src/samplers/by_sums.h")) line("code (by_sums.h)", &t);
    if (add_file(&t, "bench/data/card.json")) line("JSON (card.json, a schema)", &t);
    if (add_file(
            &t,
            "src/samplers/top_p.h")) { /* a file is read, and written again with changes: min_p.h's text is like top_p.h's */
        t.n_prompt = t.n;
        if (add_file(&t, "src/samplers/min_p.h")) line("code like the prompt's (min_p.h)", &t);
    }
    if (add_file(&t, "src/drafts/README.md")) { /* an answer that quotes each third paragraph of its prompt */
        static char page[20000], quote[24000];
        FILE *file = fopen("src/drafts/README.md", "rb");
        size_t n = file ? fread(page, 1, sizeof page - 1, file) : 0, m = 0, i = 0;
        if (file) fclose(file);
        for (char *at = page, *next; at && *at && n; at = next, i++) {
            next = strstr(at, "\n\n");
            if (next) next += 2;
            if (i % 3) continue;
            m += (size_t)snprintf(quote + m, sizeof quote - m, "On point %zu the page says: \"%.*s\" That is all. ",
                                  i, next ? (int)(next - at - 2) : (int)strlen(at), at);
        }
        t.n_prompt = t.n;
        add(&t, quote);
        line("an answer that quotes its prompt", &t);
    }
    if (add_file(&t, "bench/data/tales_golden.txt")) line("a story", &t);
    return 0;
}
