/* grammar.c - are the tokens that a grammar allows those that llama.cpp allows?
 *
 *     grammar LIBRARY VOCABULARY DIRECTORY [--pieces] [--masks N] [--grammars N] [--seed S] [--show]
 *
 * LIBRARY is libllama (fetch.sh). VOCABULARY is the story model's file, or with --pieces one of nothing but pieces
 * (bench/grammar/llama3_vocabulary.mjs): they are written to DIRECTORY as a GGUF that has a vocabulary and nothing else. For
 * each of many GBNF grammars (hand-written, and random ones, at least N of them) random walks over allowed tokens: at
 * each place the two sets of allowed tokens are compared. Exit 1 if they differ in a way that has no name below; 77 if
 * the peer can't load such a file. DIRECTORY/grammar_differences.txt gets the grammars to which a name applies.
 *
 * THE DIFFERENCES, counted by name; of the first two the naive matcher must say that we are right:
 *   not UTF-8       llama.cpp takes some bytes that are not UTF-8 (lead bytes F8 - FF, tail bytes that are none inside a
 *                   token, surrogates, overlong forms): with them the text could never be valid
 *   negated tail    where a token ends within a character, llama.cpp refuses it under [^..] if any completion is in the
 *                   class; we allow it if any completion is not
 *   token inside    llama.cpp lets <token> begin within a token's text, and throws when it is accepted
 *   token of bytes  llama.cpp refuses <token> where that token's text is not whole characters
 *   left recursion  llama.cpp refuses the grammar, or where what stands before may be empty, never ends with it
 *   too much        we tell that the mask takes more steps than the sampler's limit allows (SAMP_E_FULL): grammars whose
 *                   texts have thousands of readings
 *   no answer       llama.cpp took 5 seconds of processor time for one call, or 2 GB, or aborted
 */
#define SAMPLING_STATIC
#define SAMPLING_GRAMMAR
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"

#include "tests/support/floats.h"
#include "tests/support/json_gbnf.h"
#include "tests/support/naive_grammar.h"
#include "tests/support/random_grammar.h"
#include "grammar_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* -------------------------------------------------------------------------------------------- a vocabulary */

enum { MAX_VOCAB = 1 << 18 };
static char *piece[MAX_VOCAB];
static size_t piece_size[MAX_VOCAB];
static int32_t n_vocab, first_special; /* the special tokens: the first begins a text, the next one ends it */
static samp_token eog[64];
static size_t n_eog;

static bool is_tool(int32_t i) { return strcmp(piece[i], "<tool>") == 0; }

static void put(FILE *f, uint64_t x, int n)
{
    for (int i = 0; i < n; i++) fputc((int)(x >> 8 * i & 255), f);
}
static void put_text(FILE *f, const char *text, size_t n)
{
    put(f, n, 8);
    fwrite(text, 1, n, f);
}
static void put_key(FILE *f, const char *key, uint32_t type)
{
    put_text(f, key, strlen(key));
    put(f, type, 4);
}
static void put_number(FILE *f, const char *key, uint32_t x)
{
    put_key(f, key, 4);
    put(f, x, 4);
}
static void put_string(FILE *f, const char *key, const char *text)
{
    put_key(f, key, 8);
    put_text(f, text, strlen(text));
}

/* GPT-2's letters for bytes: printable ones for themselves, the others from U+0100 on, in order. */
static size_t gpt2_text(const char *bytes, size_t n, char *out)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        int b = (uint8_t)bytes[i], c = b;
        bool same = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        for (int k = 0; !same && k < b; k++) c += !((k >= 33 && k <= 126) || (k >= 161 && k <= 172) || k >= 174);
        if (!same) {
            c = 256;
            for (int k = 0; k < b; k++) c += !((k >= 33 && k <= 126) || (k >= 161 && k <= 172) || k >= 174);
        }
        if (c < 0x80) {
            out[at++] = (char)c;
        } else {
            out[at++] = (char)(0xc0 | c >> 6);
            out[at++] = (char)(0x80 | (c & 63));
        }
    }
    return at;
}

static void add_piece(const char *text, size_t n)
{
    piece[n_vocab] = (char *)calloc(n + 1, 1);
    memcpy(piece[n_vocab], text, n);
    piece_size[n_vocab++] = n;
}

/* The model's pieces (bench/data/README.md), or all pieces to the end of the file, where those without bytes are the
   special tokens; and a few of our own behind them: words of JSON, and parts of characters. */
static bool read_pieces(const char *path, bool only_pieces)
{
    static const char *const more[] = {
        "\":",    "\",",    "{\"",      "\"}",      "]}",           "}}",       "}]",
        "],",     "\": \"", "\", \"",   "\\\"",     "\\u",          "true",     "false",
        "null",   ":\n",    "\xe2\x82", "\x82\xac", "\xc3\xa9\xc3", "\xf0\x9f", "\xf0\x9f\x98\x80",
        "<tool>", "abc",    "aab",      "((",       "))",           "1+",       "xx",
        "xxx",    "==",     "=\""
    };
    uint8_t head[40];
    char text[256];
    FILE *in = fopen(path, "rb");
    if (!in || (!only_pieces && fread(head, 1, sizeof head, in) != sizeof head)) return false;
    int32_t n = only_pieces ? MAX_VOCAB - 64 : head[8] | head[9] << 8;
    for (int length; n_vocab < n && (length = fgetc(in)) != EOF;) {
        if (fread(text, 1, (size_t)length, in) != (size_t)length) return false;
        if (length == 0 && first_special == 0) first_special = n_vocab;
        if (length == 0 && only_pieces) length = sprintf(text, "<|special %d|>", n_vocab);
        add_piece(text, (size_t)length);
    }
    if (!only_pieces) first_special = 0;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        int32_t same = 0;
        while (same < n_vocab && strcmp(piece[same], more[i]) != 0) same++;
        if (same == n_vocab) add_piece(more[i], strlen(more[i])); /* the peer wants them all different */
    }
    fclose(in);
    return true;
}

/* Its text in the file. */
static size_t token_text(int32_t i, char *text)
{
    if (i == first_special) return (size_t)sprintf(text, "<s>");
    if (i == first_special + 1) return (size_t)sprintf(text, "</s>");
    if (!is_tool(i)) return gpt2_text(piece[i], piece_size[i], text);
    return (size_t)sprintf(text, "<tool>");
}

/* 1: normal, 3: control, 4: user-defined */
static uint64_t token_type(int32_t i)
{
    bool special = i == first_special || i == first_special + 1 || strncmp(piece[i], "<|special ", 10) == 0;
    return special ? 3 : is_tool(i) ? 4 : 1;
}

static bool write_gguf(const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    fwrite("GGUF", 1, 4, f);
    put(f, 3, 4);
    put(f, 0, 8);
    put(f, 18, 8);
    put_string(f, "general.architecture", "llama");
    put_number(f, "llama.context_length", 256);
    put_number(f, "llama.embedding_length", 128);
    put_number(f, "llama.block_count", 1);
    put_number(f, "llama.feed_forward_length", 352);
    put_number(f, "llama.attention.head_count", 4);
    put_number(f, "llama.attention.head_count_kv", 2);
    put_key(f, "llama.attention.layer_norm_rms_epsilon", 6);
    put(f, bits_of(1e-5f), 4);
    put_number(f, "llama.rope.dimension_count", 32);
    put_number(f, "llama.vocab_size", (uint32_t)n_vocab);
    put_string(f, "tokenizer.ggml.model", "gpt2");
    put_string(f, "tokenizer.ggml.pre", "default");
    put_number(f, "tokenizer.ggml.bos_token_id", (uint32_t)first_special);
    put_number(f, "tokenizer.ggml.eos_token_id", (uint32_t)first_special + 1);
    put_key(f, "tokenizer.ggml.tokens", 9);
    put(f, 8, 4);
    put(f, (uint64_t)n_vocab, 8);
    for (int32_t i = 0; i < n_vocab; i++) {
        char text[1024];
        size_t n = token_text(i, text);
        put_text(f, text, n);
    }
    put_key(f, "tokenizer.ggml.token_type", 9);
    put(f, 5, 4);
    put(f, (uint64_t)n_vocab, 8);
    for (int32_t i = 0; i < n_vocab; i++) put(f, token_type(i), 4);
    put_key(f, "tokenizer.ggml.merges", 9);
    put(f, 8, 4);
    put(f, 1, 8);
    put_text(f, "t h", 3);
    put_number(f, "general.file_type", 1);
    put_key(f, "tokenizer.ggml.add_bos_token", 7);
    put(f, 1, 1);
    return fclose(f) == 0;
}

static const void *peer_vocab;

/* Our vocabulary asks the peer's for the pieces, so that both see the same bytes. */
static bool load_vocab(const char *gguf)
{
    peer_vocab = peer_load_vocab(gguf);
    if (!peer_vocab || peer.n_tokens(peer_vocab) != n_vocab) return false;
    for (int32_t i = 0; i < n_vocab; i++) {
        char text[256];
        int32_t n = peer.piece(peer_vocab, i, text, sizeof text, 0, true);
        if (n < 0) return false;
        free(piece[i]);
        piece[i] = (char *)calloc((size_t)n + 1, 1);
        memcpy(piece[i], text, (size_t)n);
        piece_size[i] = (size_t)n;
        if (peer.is_eog(peer_vocab, i) && n_eog < sizeof eog / sizeof *eog) eog[n_eog++] = i;
    }
    return n_eog > 0;
}

static const char *our_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    (void)vocab;
    *n = piece_size[token];
    return piece[token];
}

static int32_t our_tokenize(const samp_vocab *vocab, const char *text, size_t n, samp_token *out, int32_t n_max)
{
    (void)vocab;
    int32_t got = peer.tokenize(peer_vocab, text, (int32_t)n, out, n_max, false, true);
    return got < 0 ? n_max : got;
}

/* ------------------------------------------------------------------------------------------------ grammars */

static const char *const HAND[] = {
#include "grammars.h"
};

/* --------------------------------------------------------------------------------------------- comparing */

enum {
    NOT_UTF8,
    NEGATED_TAIL,
    TOKEN_INSIDE,
    TOKEN_OF_BYTES,
    LEFT_RECURSION,
    NO_ANSWER,
    TOO_MUCH,
    BOTH_REFUSE,
    N_NAMES
};
static const char *const NAMES[N_NAMES] = { "not UTF-8",
                                            "negated tail",
                                            "token inside",
                                            "token of bytes",
                                            "left recursion (grammars)",
                                            "no answer (grammars)",
                                            "too much (walks)",
                                            "refused by both (grammars)" };

/* Shared with the processes that do the comparing. */
static struct tally {
    long count[N_NAMES], n_masks, n_grammars, n_different;
    bool in_peer;      /* it is llama.cpp that is at work */
    double seconds[2]; /* of processor time for masks: ours, theirs */
    double worst[2];
} * tally;
static bool show;
static FILE *differences;
static long names_told; /* bits: of the grammar under way */

static void note(int name, const char *text)
{
    tally->count[name]++;
    if (names_told >> name & 1) return;
    names_told |= 1l << name;
    fprintf(differences, "---- %s\n%s\n", NAMES[name], text);
    fflush(differences);
}

/* A call of the peer, and a time that it may take; who takes longer is killed. */
static void patience(int seconds, bool in_peer)
{
    const struct itimerval timer = { { 0, 0 }, { seconds, 0 } };
    tally->in_peer = in_peer;
    setitimer(ITIMER_PROF, &timer, NULL);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void measure(int whose, double from)
{
    double t = now() - from;
    tally->seconds[whose] += t;
    if (t > tally->worst[whose]) tally->worst[whose] = t;
}

/* UTF-8 so far: bytes that a character still needs, and what the next one must be; -1: it can't be valid any more. */
typedef struct {
    int left;
    uint8_t lo, hi;
} utf8;

static utf8 utf8_step(utf8 u, uint8_t b)
{
    if (u.left > 0) {
        if (b < u.lo || b > u.hi)
            u.left = -1;
        else
            u.left--;
        u.lo = 0x80;
        u.hi = 0xbf;
    } else if (u.left == 0 && b >= 0x80) {
        u.left = b < 0xc2 || b > 0xf4 ? -1 : b < 0xe0 ? 1 : b < 0xf0 ? 2 : 3;
        u.lo = b == 0xe0 ? 0xa0 : b == 0xf0 ? 0x90 : 0x80;
        u.hi = b == 0xed ? 0x9f : b == 0xf4 ? 0x8f : 0xbf;
    }
    return u;
}

static utf8 utf8_token(utf8 u, samp_token token)
{
    for (size_t i = 0; i < piece_size[token]; i++) u = utf8_step(u, (uint8_t)piece[token][i]);
    return u;
}

static int naive_opinion(const samp_grammar *g, const char *text, size_t n)
{
    naive m = naive_begin(&g->tree, text, n);
    int known = naive_continues(&m, sampi_grammar_rule_at(&g->tree, g->root)->body);
    naive_end(&m);
    return known;
}

/* What the naive matcher says of the text so far [n] with the token behind it; nothing where the text is long, or is
   already the beginning of no whole one: rules that never end are entered by both others. */
static int second_opinion(const samp_grammar *g, const char *so_far, size_t n, samp_token token)
{
    char text[512];
    if (n > 64 || n + piece_size[token] > sizeof text) return NAIVE_PERHAPS;
    if (naive_opinion(g, so_far, n) != NAIVE_YES) return NAIVE_PERHAPS;
    memcpy(text, so_far, n);
    memcpy(text + n, piece[token], piece_size[token]);
    return naive_opinion(g, text, n + piece_size[token]);
}

/* A place of a walk. */
typedef struct {
    const char *grammar_text;
    const samp_grammar *grammar;
    char text[4096];
    size_t n;
    utf8 u;
    int naive; /* opinions that have been asked for here; one costs as much as many masks */
} place;

/* Why may one side allow a token that the other does not? -1: no reason. */
static int reason(place *p, samp_token token, bool theirs)
{
    utf8 after = utf8_token(p->u, token);
    bool tokens = strstr(p->grammar_text, "<[") || strstr(p->grammar_text, "<tool>");
    bool ask = !tokens && p->naive++ < 2;
    if (theirs && after.left < 0)
        return ask && second_opinion(p->grammar, p->text, p->n, token) == NAIVE_YES ? -1 : NOT_UTF8;
    if (!theirs && after.left != 0 && tokens) return TOKEN_OF_BYTES;
    if (!theirs && after.left > 0 && strstr(p->grammar_text, "[^"))
        return ask && second_opinion(p->grammar, p->text, p->n, token) == NAIVE_NO ? -1 : NEGATED_TAIL;
    return theirs && tokens ? TOKEN_INSIDE : -1;
}

static peer_data candidate[MAX_VOCAB];

/* The peer's mask: candidates [n_vocab] that are left have the logit 0. */
static void ask_peer(peer_sampler *theirs)
{
    peer_array cur = { candidate, (size_t)n_vocab, -1, false };
    for (int32_t i = 0; i < n_vocab; i++) {
        candidate[i].id = i;
        candidate[i].logit = 0.0f;
    }
    patience(5, true);
    double from = now();
    peer.apply(theirs, &cur);
    measure(1, from);
    patience(60, false);
}

/* All tokens that both allow, but those that end the text, into both [*n]. False if the masks differ in a way that has
   no name, which is told. */
static bool same_masks(place *p, const uint32_t *bits, int step, samp_token *both, size_t *n)
{
    *n = 0;
    for (int32_t i = 0; i < n_vocab; i++) {
        bool they = candidate[i].logit == 0.0f, we = bits[i / 32] >> i % 32 & 1;
        if (they && we && !peer.is_eog(peer_vocab, i)) both[(*n)++] = i;
        if (they == we) continue;
        int why = reason(p, i, they);
        if (why < 0) {
            printf("%s\nstep %d, token %d \"%.*s\": they %d, we %d\n", p->grammar_text, step, i, (int)piece_size[i],
                   piece[i], they, we);
            return false;
        }
        note(why, p->grammar_text);
    }
    return true;
}

/* One random walk of at most `steps` tokens. */
static void walk(place *p, peer_sampler *theirs, samp_sampler *ours, source *rng, int steps)
{
    static uint32_t bits[MAX_VOCAB / 32];
    static samp_token both[MAX_VOCAB];
    size_t n = 0;
    for (int step = 0; step < steps; step++) {
        ask_peer(theirs);
        double from = now();
        int status = samp_grammar_mask(ours, bits);
        measure(0, from);
        if (status == SAMP_E_FULL) {
            note(TOO_MUCH, p->grammar_text);
            return;
        }
        bool same = false;
        if (status) {
            printf("%s\nour mask: %s\n", p->grammar_text, samp_strerror(status));
        } else {
            tally->n_masks++;
            p->naive = 0;
            same = same_masks(p, bits, step, both, &n);
        }
        tally->n_different += !same;
        if (n == 0 || !same) return;
        /* half of the time among the long ones, which go further into the grammar */
        samp_token token = both[below(rng, n)];
        for (int i = 0; i < 8 && below(rng, 2); i++) {
            samp_token other = both[below(rng, n)];
            if (piece_size[other] > piece_size[token]) token = other;
        }
        if (show) printf("%.*s", (int)piece_size[token], piece[token]);
        patience(5, true);
        peer.accept(theirs, token);
        patience(60, false);
        status = samp_accept(ours, token);
        if (status) {
            printf("%s\naccepting: %s\n", p->grammar_text, samp_strerror(status));
            tally->n_different++;
            return;
        }
        p->u = utf8_token(p->u, token);
        if (p->n + piece_size[token] > sizeof p->text) return;
        memcpy(p->text + p->n, piece[token], piece_size[token]);
        p->n += piece_size[token];
    }
    if (show) printf("\n");
}

/* Does a rule lead back to itself before any byte? llama.cpp looks for that too, but not through all that may be
   empty; what it misses keeps it busy for ever. color [rules]: 0 new, 1 open, 2 done. */
static bool recurs_left(const sampi_tree *t, sampi_node n, uint8_t *color)
{
    const sampi_expr *e = sampi_grammar_at(t, n);
    bool found = false;
    switch (e->kind) {
        case SAMPI_NODE_REF:
            if (color[e->a]) return color[e->a] == 1;
            color[e->a] = 1;
            found = recurs_left(t, sampi_grammar_rule_at(t, e->a)->body, color);
            color[e->a] = 2;
            return found;
        case SAMPI_NODE_SEQ:
            if (recurs_left(t, e->a, color)) return true;
            return (sampi_grammar_at(t, e->a)->facts & SAMPI_FACT_EMPTY) && recurs_left(t, e->b, color);
        case SAMPI_NODE_ALT: return recurs_left(t, e->a, color) || recurs_left(t, e->b, color);
        case SAMPI_NODE_REPEAT: return recurs_left(t, e->a, color);
        default: return false;
    }
}

static bool grammar_recurs_left(const samp_grammar *g)
{
    static uint8_t color[4096];
    memset(color, 0, sizeof color);
    for (int32_t i = 0; i < g->tree.rules.n; i++) {
        if (color[i]) continue;
        color[i] = 1;
        if (recurs_left(&g->tree, sampi_grammar_rule_at(&g->tree, i)->body, color)) return true;
        color[i] = 2;
    }
    return false;
}

/* Both readers, then some walks from the beginning. */
static void compare(const samp_vocab_index *index, const char *text, uint64_t seed, int walks)
{
    samp_grammar_error error;
    samp_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_GBNF, text, NULL, &error);
    source rng = source_stream(seed);
    if (grammar && grammar_recurs_left(grammar)) {
        note(LEFT_RECURSION, text);
        walks = 0;
    }
    if (show) printf("---- %s\n", text);
    for (int i = 0; i < walks; i++) {
        patience(5, true);
        peer_sampler *theirs = peer.init_grammar(peer_vocab, text, "root");
        patience(60, false);
        if (!theirs || !grammar) {
            if (!theirs && !grammar)
                tally->count[BOTH_REFUSE]++;
            else if (!theirs)
                note(LEFT_RECURSION, text);
            else {
                printf("%s\nwe refuse it at %zu:%zu: %s\n", text, error.line, error.column, error.message);
                tally->n_different++;
            }
            if (theirs) peer.free(theirs);
            break;
        }
        tally->n_grammars += i == 0;
        samp_sampler *ours = samp_init_grammar(index, grammar);
        place p = { text, grammar, { 0 }, 0, { 0, 0x80, 0xbf }, 0 };
        walk(&p, theirs, ours, &rng, 24);
        samp_free(ours);
        peer.free(theirs);
    }
    samp_grammar_free(grammar);
}

/* In a process of its own: llama.cpp needs time and memory without bound for some grammars, and aborts on others. */
static void compare_apart(const samp_vocab_index *index, const char *text, uint64_t seed, int walks)
{
    int status = 0;
    names_told = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit memory = { (rlim_t)1 << 31, (rlim_t)1 << 31 };
        setrlimit(RLIMIT_AS, &memory);
        compare(index, text, seed, walks);
        fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status == 0) return;
    if (tally->in_peer) {
        names_told = 0;
        note(NO_ANSWER, text);
    } else {
        printf("%s\nended with %d\n", text, status);
        tally->n_different++;
    }
    tally->in_peer = false;
}

static void report(void)
{
    printf("parity-grammar: %ld grammars, %ld masks of %d tokens, %ld different\n", tally->n_grammars, tally->n_masks,
           n_vocab, tally->n_different);
    for (int i = 0; i < N_NAMES; i++) printf("  %-28s %ld\n", NAMES[i], tally->count[i]);
    for (int i = 0; i < 2; i++)
        printf("  a mask of %s %.0f us mean, %.0f us at most\n",
               i ? "theirs:" : "ours:  ", 1e6 * tally->seconds[i] / (double)(tally->n_masks ? tally->n_masks : 1),
               1e6 * tally->worst[i]);
}

int main(int argc, char **argv)
{
    long masks = 2000, grammars = 0;
    uint64_t seed = 1;
    char path[1024];
    bool only_pieces = false;
    if (argc < 4) return 2;
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "--show") == 0) show = true;
        if (strcmp(argv[i], "--pieces") == 0) only_pieces = true;
        if (strcmp(argv[i], "--masks") == 0 && i + 1 < argc) masks = atol(argv[++i]);
        if (strcmp(argv[i], "--grammars") == 0 && i + 1 < argc) grammars = atol(argv[++i]);
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) seed = strtoull(argv[++i], NULL, 0);
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    snprintf(path, sizeof path, "%s/grammar_differences.txt", argv[3]);
    differences = fopen(path, "w");
    snprintf(path, sizeof path, "%s/vocabulary.gguf", argv[3]);
    if (!differences || !load_peer(argv[1]) || !read_pieces(argv[2], only_pieces) || !write_gguf(path) ||
        !load_vocab(path)) {
        fprintf(stderr, "parity-grammar: skipped, the peer can't be loaded, or does not take the vocabulary\n");
        return 77;
    }
    if (!show && !freopen("/dev/null", "w", stderr)) return 1; /* llama.cpp tells of refused grammars there */
    samp_vocab vocab = { n_vocab, our_bytes, our_tokenize, NULL, eog, n_eog, eog[0], -1 };
    int status;
    samp_vocab_index *index = samp_vocab_index_init(&vocab, &status);
    if (!index) return 1;
    static maker m;
    tally = (struct tally *)mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tally == MAP_FAILED) return 1;
    for (size_t i = 0; i < sizeof HAND / sizeof *HAND; i++) compare_apart(index, HAND[i], seed * 1000003 + i, 2);
    for (uint64_t i = 0; (tally->n_masks < masks || tally->n_grammars < grammars) && tally->n_different < 10; i++)
        compare_apart(index, random_grammar(&m, source_stream(seed * 1000003 + 1000 + i)), seed + i, 2);
    samp_vocab_index_free(index);
    report();
    return tally->n_different != 0;
}
