/* test_text.c - tokens to text (samp_text): a naive twin on random texts, vocabularies and stops, with tokens taken back and
   texts cloned anywhere (tests/support/text_twin.h); by hand: stops over tokens, halves of characters, which of several
   stops, end tokens, options, patterns, where a stop begins, bad arguments; no memory after init; a request's stops.
     SAMP_TEST_CASES   random texts (default 2,500; with SAMP_TEST_FULL 100,000, with SAMP_TEST_QUICK 300) */
#define SAMPLING_STOP
#define SAMPLING_GRAMMAR
#define SAMPLING_PEERS
#define SAMPLING_CONSTRAINTS
#include "sampling.h"
#include "tests/support/heap.h"
#include "tests/support/test.h"
#include "tests/support/text_twin.h"

/* ---- a vocabulary of texts ---- */

enum { N_VOCAB = 260, END = 256, THE_END = 257, EMPTY = 258, LONG = 259 };

/* Tokens 0 to 255 are bytes; two ends, the second with bytes; a token without bytes, and a long one. */
static const char *letters(const samp_vocab *vocab, samp_token token, size_t *n)
{
    static char bytes[256];
    static const char *const more[] = { "", "<end>", "", "hello, world! " };
    (void)vocab;
    for (int i = 0; i < 256 && !bytes[255]; i++) bytes[i] = (char)i;
    *n = token < 256 ? 1 : strlen(more[token - 256]);
    return token < 256 ? &bytes[token] : more[token - 256];
}
static const samp_token ends[] = { END, THE_END };
static const samp_vocab vocab = { N_VOCAB, letters, NULL, NULL, ends, 2, END, -1 };

/* What a text shows: after each call |, after a stop *|, after an end #|. */
static char shown[1000];

static void note(const char *out, size_t n, const char *what)
{
    size_t at = strlen(shown);
    memcpy(shown + at, out, n);
    shown[at + n] = 0;
    strcat(strcat(shown, what), "|");
}

static int push(samp_text *t, samp_token token)
{
    const char *out;
    size_t n;
    int state = samp_text_push(t, token, &out, &n);
    note(out, n, state == SAMP_TEXT_STOPPED ? "*" : state == SAMP_TEXT_ENDED ? "#" : "");
    return state;
}

/* Pushes the bytes of a text, one token each. */
static void say(samp_text *t, const char *text)
{
    for (; *text; text++) push(t, (unsigned char)*text);
}

static void flush(samp_text *t)
{
    const char *out;
    size_t n;
    assert_ok(samp_text_flush(t, &out, &n));
    note(out, n, "");
}

static samp_text *text_with(const samp_text_options *options, const char *const *stops, size_t n)
{
    int status = -99;
    samp_text *t = samp_text_init(&vocab, stops, n, options, &status);
    assert_ok(status);
    assert_non_null(t);
    shown[0] = 0;
    return t;
}
#define TEXT(options, ...) \
    text_with((options), (const char *const[]){ __VA_ARGS__ }, \
              sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void shows(samp_text *t, const char *want)
{
    assert_text(shown, want);
    samp_text_free(t);
}

/* ---- by hand ---- */

/* What is pushed and what it shows. In what is pushed \1 and \2 are the ends, \3 and \4 the tokens without bytes and the long
   one; \5 is a flush, and \6 takes four tokens back. */
static const samp_token stop_tokens[] = { 100000, 'q', LONG, 'b' }; /* an id that the vocabulary does not have, too */
#define STOP_TOKENS .stop_tokens = stop_tokens, .n_stop_tokens = 4
enum { ANY = -9 }; /* not asked for */
static const struct by_hand {
    const char *stops[4], *pattern;
    const char *said, *shows;
    int stop, token, byte; /* which one, and where it begins */
    samp_text_options options;
} by_hand[] = {
    { { "###" }, NULL, "a##b###c", "a|||##b|||*|*|", 0, 4, 0, { 0 } }, /* the last token is not taken */
    { { "world", "lo," }, NULL, "\4", "hel*|", 1, 0, 3, { 0 } },       /* "hello, world! ": all in one token */
    /* what was held is shown as soon as it cannot be a stop, or when the text ends */
    { { "abcd", "bce" }, NULL, "abcxab\5", "|||abcx|||ab|", ANY, ANY, 0, { 0 } },
    { { "abcd", "bce" }, NULL, "abce", "|||a*|", 1, 1, 0, { 0 } },
    { { NULL }, NULL, "ab\5", "a|b||", ANY, ANY, 0, { 0 } },
    /* which stop: the last byte that comes first, then the first byte that does, then the lower index */
    { { "abcd", "bc" }, NULL, "abcd", "||a*|*|", 1, 1, 0, { 0 } },
    { { "c", "bc", "abc", "xabc" }, NULL, "abc", "||*|", 2, 0, 0, { 0 } },
    { { "x", "bc", "bc" }, "bc", "abc", "a||*|", 1, 1, 0, { 0 } },
    { { "c" }, "b.?c|c", "abc", "a||*|", 1, 1, 0, { 0 } }, /* a pattern that begins before a string */
    /* characters; broken: the longest beginning of one is one U+FFFD, each other byte is one too */
    { { NULL },
      NULL,
      "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\5",
      "|\xc3\xa9|||\xe2\x82\xac||||\xf0\x9f\x98\x80||",
      ANY,
      ANY,
      0,
      { 0 } },
    { { NULL },
      NULL,
      "\xf0\x9f\x98"
      "a\xff\xed\xa0\x80\xc0\xaf\5",
      "|||\xef\xbf\xbd"
      "a|\xef\xbf\xbd||\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd||",
      ANY,
      ANY,
      0,
      { 0 } },
    /* the text ends within one; or as they are */
    { { NULL }, NULL, "a\xe2\x82\5", "a|||\xef\xbf\xbd|", ANY, ANY, 0, { 0 } },
    { { NULL }, NULL, "\xff\xe2\x82\5", "\xff|||\xe2\x82|", ANY, ANY, 0, { .raw_bytes = true } },
    /* a stop that begins within a character; and one that would */
    { { "\xac!" }, NULL, "\xe2\x82\xac!", "|||\xef\xbf\xbd*|", 0, 2, 0, { 0 } },
    { { "\xac!" }, NULL, "\xe2\x82\xac?", "|||\xe2\x82\xac?|", ANY, ANY, 0, { 0 } },
    /* ends, whose bytes are neither shown nor searched; stop tokens, which may be shown */
    { { "abc", "<end>" }, NULL, "ab\1c", "||ab#|#|", -1, 2, 0, { 0 } },
    { { "<end>" }, NULL, "\xc3\2", "|\xef\xbf\xbd#|", -1, 1, 0, { 0 } },
    { { NULL }, NULL, "aq", "a|#|", -1, 1, 0, { STOP_TOKENS } },
    { { "zz" }, NULL, "z\4", "z|hello, world! #|", -1, 1, 0, { STOP_TOKENS, .include_stop = true } },
    { { NULL }, NULL, "a\2", "a|#|", -1, 1, 0, { STOP_TOKENS, .include_stop = true } },
    { { "cd" }, NULL, "acd", "a|c|d*|", 0, 1, 0, { STOP_TOKENS, .include_stop = true } },
    /* the first two tokens stop nothing, but a stop may begin there */
    { { "ab", "c" }, NULL, "abab", "|ab||*|", 0, 2, 0, { .min_tokens = 2 } },
    { { "ab" }, NULL, "xab", "x||*|", 0, 1, 0, { .min_tokens = 2 } },
    { { NULL }, NULL, "\1\2\1", "|<end>|#|", -1, 2, 0, { .min_tokens = 2 } },
    { { " a" }, NULL, "\3  a b", "|||*|*|*|", 0, 2, 0, { .strip_space = true } },
    { { " a" }, NULL, "\3  a b\6 xb\5", "|||*|*|*||x|b||", ANY, ANY, 0, { .strip_space = true } },
};

TEST(test_by_hand)
{
    for (size_t i = 0; i < TEST_COUNT(by_hand); i++) {
        const struct by_hand *of = &by_hand[i];
        size_t n = 0, byte = 77;
        int32_t token = -1;
        while (n < 4 && of->stops[n]) n++;
        samp_text *t = text_with(&of->options, of->stops, n);
        if (of->pattern) assert_ok(samp_text_add_pattern(t, of->pattern, 3));
        for (const char *c = of->said; *c; c++) {
            if (*c == 5)
                flush(t);
            else if (*c == 6)
                assert_ok(samp_text_rollback(t, 4));
            else
                push(t, *c >= 1 && *c <= 4 ? END - 1 + *c : (unsigned char)*c);
        }
        if (of->stop != ANY) {
            assert_num(samp_text_stop(t), of->stop);
            assert_ok(samp_text_stop_at(t, &token, &byte));
            assert_num(token, of->token);
            assert_num(byte, of->byte);
        }
        shows(t, of->shows);
    }
}

/* Two bytes of any kind, then some that may go on or not, against the table of the standard. */
TEST(test_every_beginning)
{
    static const unsigned char third[] = { 'a', 0x80, 0xbf, 0xc3 }, fourth[] = { 0x80, 0xe2 };
    const samp_text_options raw = { .raw_bytes = true };
    samp_text *t[2] = { text_with(NULL, NULL, 0), text_with(&raw, NULL, 0) };
    for (int i = 0; i < 256 * 256 * 8; i += quick() ? 97 : 1) {
        const unsigned char bytes[] = { (unsigned char)(i >> 11), (unsigned char)(i >> 3), third[i >> 1 & 3],
                                        fourth[i & 1] };
        for (int k = 0; k < 2; k++) {
            char got[24], want[24];
            size_t n = 0, m;
            const char *out;
            samp_text_reset(t[k]);
            for (int b = 0; b < 5; b++) {
                int status = b < 4 ? samp_text_push(t[k], bytes[b], &out, &m) : samp_text_flush(t[k], &out, &m);
                if (status || n + m > sizeof got) assert_num(status, SAMP_OK);
                memcpy(got + n, out, m);
                n += m;
            }
            m = twin_decode((const char *)bytes, 4, k, true, want);
            if (n != m || memcmp(got, want, n) != 0) test_fail(__FILE__, __LINE__, "bytes %d", i);
        }
    }
    samp_text_free(t[0]);
    samp_text_free(t[1]);
}

TEST(test_patterns)
{
    samp_text *t = text_with(NULL, NULL, 0);
    assert_ok(samp_text_add_pattern(t, "\\n+Human:", 12));
    assert_ok(samp_text_add_pattern(t, "^no", 2));
    say(t, "no");
    assert_num(samp_text_stop(t), 1);
    samp_text_reset(t);
    shown[0] = 0;
    say(t, "a no\n\nHum\n\nHuman:");
    assert_num(samp_text_stop(t), 0);
    int32_t token;
    assert_ok(samp_text_stop_at(t, &token, NULL));
    assert_num(token, 9);
    shows(t, "a| |n|o||||||\n\nHum|||||||*|");

    /* a match that is longer than its greatest length does not count; nothing longer is held */
    t = text_with(NULL, NULL, 0);
    assert_ok(samp_text_add_pattern(t, "a+b", 3));
    say(t, "aaaaab");
    assert_num(samp_text_stop(t), 0);
    shows(t, "||a|a|a|*|");

    t = text_with(NULL, NULL, 0);
    assert_status(samp_text_add_pattern(t, "a$", 3), SAMP_E_UNSUPPORTED);
    assert_status(samp_text_add_pattern(t, "a*", 3), SAMP_E_RANGE);
    assert_status(samp_text_add_pattern(t, "(a", 3), SAMP_E_FORMAT);
    assert_status(samp_text_add_pattern(t, "a", 0), SAMP_E_RANGE);
    assert_status(samp_text_add_pattern(t, "a", 4097), SAMP_E_RANGE);
    assert_status(samp_text_add_pattern(t, NULL, 3), SAMP_E_NULL);
    assert_status(samp_text_add_pattern(NULL, "a", 3), SAMP_E_NULL);
    assert_status(samp_text_add_pattern(t, "(a|b)*a(a|b){14}", 99), SAMP_E_FULL);
    say(t, "a");
    assert_status(samp_text_add_pattern(t, "a", 3), SAMP_E_RANGE);
    say(t, "a");
    shows(t, "a|a|");
}

/* Tokens that are as long as user says. */
static const char *longer(const samp_vocab *v, samp_token token, size_t *n)
{
    static char bytes[4000];
    (void)token;
    memset(bytes, 'x', sizeof bytes);
    *n = *(const size_t *)v->user;
    return bytes;
}

TEST(test_bad_arguments)
{
    static const char *const none[] = { "a", NULL }, *const empty[] = { "a", "" };
    const samp_token tokens[] = { 3, -1 };
    samp_vocab silent = vocab, endless = vocab, other = vocab;
    silent.token_bytes = NULL;
    endless.eog = NULL;
    other.n_vocab = -1;
    const samp_text_options before = { .min_tokens = -1 }, lost = { .n_stop_tokens = 2 };
    const samp_text_options below_0 = { .n_stop_tokens = 2, .stop_tokens = tokens };
    const struct {
        const samp_vocab *vocab;
        const char *const *stops;
        size_t n;
        const samp_text_options *options;
        int status;
    } bad[] = {
        { NULL, NULL, 0, NULL, SAMP_E_NULL },        { &silent, NULL, 0, NULL, SAMP_E_NULL },
        { &endless, NULL, 0, NULL, SAMP_E_NULL },    { &other, NULL, 0, NULL, SAMP_E_RANGE },
        { &vocab, none, 2, NULL, SAMP_E_NULL },      { &vocab, NULL, 1, NULL, SAMP_E_NULL },
        { &vocab, empty, 2, NULL, SAMP_E_RANGE },    { &vocab, none, 65537, NULL, SAMP_E_RANGE },
        { &vocab, none, 1, &before, SAMP_E_RANGE },  { &vocab, none, 1, &lost, SAMP_E_NULL },
        { &vocab, none, 1, &below_0, SAMP_E_RANGE },
    };
    int status;
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        assert_null(samp_text_init(bad[i].vocab, bad[i].stops, bad[i].n, bad[i].options, &status));
        assert_num(status, bad[i].status);
        assert_null(samp_text_init(bad[i].vocab, bad[i].stops, bad[i].n, bad[i].options, NULL));
    }
    assert_null(samp_text_clone(NULL));

    const char *out = NULL;
    size_t n = 9;
    own_text *t = TEXT(NULL, "ab");
    say(t, "a");
    assert_status(samp_text_push(t, -5, &out, &n), SAMP_E_RANGE);
    assert_true(out && n == 0);
    assert_status(samp_text_push(t, N_VOCAB, &out, &n), SAMP_E_RANGE);
    assert_status(samp_text_push(NULL, 1, &out, &n), SAMP_E_NULL);
    assert_status(samp_text_push(t, 1, NULL, &n), SAMP_E_NULL);
    assert_status(samp_text_flush(t, &out, NULL), SAMP_E_NULL);
    assert_status(samp_text_flush(NULL, &out, &n), SAMP_E_NULL);
    assert_status(samp_text_stop_at(t, NULL, NULL), SAMP_E_EMPTY);
    assert_status(samp_text_stop_at(NULL, NULL, NULL), SAMP_E_NULL);
    assert_status(samp_text_rollback(NULL, 0), SAMP_E_NULL);
    assert_status(samp_text_rollback(t, 2), SAMP_E_RANGE);
    samp_text_reset(NULL);
    samp_text_free(NULL);
    say(t, "b"); /* nothing has changed */
    shows(t, "|*|");

    /* a vocabulary whose tokens become longer than they were */
    static size_t length;
    length = 1;
    other = vocab;
    other.token_bytes = longer;
    other.user = &length;
    t = samp_text_init(&other, none, 1, NULL, &status);
    assert_ok(samp_text_push(t, 'x', &out, &n));
    assert_ok(samp_text_push(t, 'x', &out, &n));
    length = 4000;
    assert_status(samp_text_push(t, 'x', &out, &n), SAMP_E_RANGE);
    assert_status(samp_text_rollback(t, 1), SAMP_E_RANGE);
    length = 1;
    assert_ok(samp_text_rollback(t, 2));
}

/* ---- long texts ---- */

/* A text of thousands of tokens, where the ring of tokens has begun anew: what is taken back is as a text that never had
   it, up to what is kept. */
TEST(test_long_text)
{
    enum { LENGTH = 6000 };
    static samp_token tokens[LENGTH];
    static const char *const stops[] = { "\xc3\xa9xyzzyxyzzy", "zzyx?" };
    source rng = source_stream(77);
    samp_text *t = text_with(NULL, stops, 2), *fresh;
    assert_ok(samp_text_add_pattern(t, "y[xy]+z[zy]*#", 30));
    const char *out, *again;
    size_t n, m;
    int refused = 0, taken = 0, most = 0;
    for (int i = 0; i < LENGTH; i++) {
        static const samp_token some[] = { 'x', 'y', 'z', 'z', 'y', 0xc3, 0xa9, EMPTY, LONG };
        tokens[i] = some[below(&rng, TEST_COUNT(some))];
        assert_num(samp_text_push(t, tokens[i], &out, &n), SAMP_TEXT_GOES_ON);
        if (below(&rng, 100)) continue;
        int back = (int)below(&rng, below(&rng, 3) ? 50 : 3000);
        if (back > i + 1) back = i + 1;
        int status = samp_text_rollback(t, back);
        refused += status == SAMP_E_RANGE, taken += status == SAMP_OK;
        if (most < i) most = i;
        assert_true(status == SAMP_OK || (status == SAMP_E_RANGE && i - back < most - 1024));
        if (status == SAMP_OK) i -= back;
        fresh = samp_text_clone(t);
        samp_text_reset(fresh);
        for (int k = 0; k <= i; k++) assert_num(samp_text_push(fresh, tokens[k], &again, &m), SAMP_TEXT_GOES_ON);
        samp_text *copy = samp_text_clone(t);
        for (const char *c = "\xa9xyzzyxyz"; *c; c++) { /* both hold the same back */
            assert_num(samp_text_push(copy, (unsigned char)*c, &out, &n),
                       samp_text_push(fresh, (unsigned char)*c, &again, &m));
            assert_true(n == m && !memcmp(out, again, n));
        }
        samp_text_free(copy);
        samp_text_free(fresh);
    }
    assert_true(refused > 2 && taken > 20);
    samp_text_free(t);
}

/* Each call after the making allocates nothing, and a text never holds more than its longest stop and three bytes. */
TEST(test_no_memory)
{
    static const char *const stops[] = { "aaaaaaaaab", "\x98\x80 end" };
    own_text *t = text_with(NULL, stops, 2);
    assert_ok(samp_text_add_pattern(t, "a[^b]*c", 40));
    const unsigned long before = heap.mallocs;
    source rng = source_stream(5);
    size_t pushed = 0, had = 0, n;
    const char *out;
    for (int i = 0; i < 20000; i++) {
        static const char some[] = "aaaa \xf0\x9f\x98\x80 en";
        samp_token token = (unsigned char)some[below(&rng, sizeof some - 1)];
        const int now = samp_text_push(t, token, &out, &n);
        pushed++;
        had += n;
        assert_true(now >= 0);
        assert_true(n > 0 || pushed - (had < pushed ? had : pushed) <= 20000);
        if (now || below(&rng, 200) == 0) {
            if (!now) assert_ok(samp_text_flush(t, &out, &n));
            if (below(&rng, 2)) assert_ok(samp_text_rollback(t, (int32_t)below(&rng, 2)));
            if (now || below(&rng, 2))
                samp_text_reset(t), pushed = had = 0;
            else
                assert_ok(samp_text_rollback(t, 0));
        }
    }
    assert_u64(heap.mallocs, before);
}

/* 65,536 stops, and a text that begins all of them again and again. */
TEST(test_many_stops)
{
    enum { MANY = 65536 };
    static char text[MANY][12];
    static const char *stops[MANY];
    for (int i = 0; i < MANY; i++) {
        snprintf(text[i], sizeof text[i], "aaaa%d.", i);
        stops[i] = text[i];
    }
    samp_text *t = text_with(NULL, stops, MANY);
    const char *out;
    size_t n, total = 0;
    for (int i = 0; i < 20000; i++) {
        assert_num(samp_text_push(t, i % 50 ? 'a' : '1', &out, &n), SAMP_TEXT_GOES_ON);
        total += n;
    }
    assert_true(total >= 20000 - 10);
    say(t, "aaaa4711.");
    assert_num(samp_text_stop(t), 4711);
    samp_text_free(t);
    /* one byte too many, together */
    static char full[65537], *parts[17];
    memset(full, 'a', 65536);
    for (int i = 0; i < 17; i++) parts[i] = full;
    int status;
    samp_text_free(samp_text_init(&vocab, (const char *const *)parts, 16, NULL, &status));
    assert_ok(status);
    assert_null(samp_text_init(&vocab, (const char *const *)parts, 17, NULL, &status));
    assert_num(status, SAMP_E_RANGE);
}

TEST(test_random_texts)
{
    const uint64_t n = cases(100000, 300);
    memset(twin_seen, 0, sizeof twin_seen);
    for (uint64_t i = 0; i < n; i++) {
        source rng = source_stream(i);
        const char *wrong = text_walk(&rng);
        if (wrong) test_fail(__FILE__, __LINE__, "case %llu: %s", (unsigned long long)i, wrong);
    }
    for (int k = 0; k < TWIN_ENDS && n >= 300; k++) assert_true(twin_seen[k] * 100 > n);
}

/* ---- as part of a program ---- */

/* A row of a batch whose text has stopped draws the end token from then on. */
TEST(test_chain_ends)
{
    float logits[N_VOCAB];
    for (int i = 0; i < N_VOCAB; i++) logits[i] = i == 'a' || i == 'b' ? 1.0f : i == END ? 0.5f : -5.0f;
    own_sampler *chain = new_chain(samp_init_top_k(2), samp_init_dist(3));
    own_text *t = TEXT(NULL, "ab");
    int drawn = 0, said = 0;
    while (drawn < 1000) {
        samp_token token = samp_sample(chain, logits, N_VOCAB);
        drawn++;
        said = push(t, token);
        if (said) break;
        shown[0] = 0;
    }
    assert_num(said, SAMP_TEXT_STOPPED);
    assert_ok(samp_chain_insert(chain, 0, samp_init_allowed_tokens(&vocab.eos, 1)));
    for (int i = 0; i < 10; i++) assert_num(samp_sample(chain, logits, N_VOCAB), END);
}

/* ---- requests ---- */

typedef struct request_text {
    samp_peer peer;
    const char *json, *said, *shown; /* what is said, byte by byte ($: the end token), and what is shown */
    int32_t stop;
} request_text;

static const request_text requests[] = {
    { SAMP_PEER_OPENAI, "{}", "ab###$", "ab####", -1 },
    { SAMP_PEER_OPENAI, "{\"stop\":\"##\"}", "ab###", "ab*", 0 },
    { SAMP_PEER_OPENAI, "{\"stop\":[\"x\",\"b\\u00e9\"]}", "ab\xc3\xa9", "a*", 1 },
    { SAMP_PEER_OPENAI, "{\"stop\":[]}", "a$", "a#", -1 },
    { SAMP_PEER_OPENAI, "{\"stop\":null}", "aq$", "aq#", -1 },
    { SAMP_PEER_SGLANG, "{\"stop\":\"q\",\"sampling_params\":{\"stop\":[\"x\"]}}", "aqx", "aq*", 0 },
    { SAMP_PEER_VLLM, "{\"stop\":[\"bc\"],\"include_stop_str_in_output\":true}", "abcd", "abc*", 0 },
    { SAMP_PEER_VLLM, "{\"stop_token_ids\":[98,70000,-1,4e9]}", "abc", "a#", -1 },
    { SAMP_PEER_VLLM, "{\"stop_token_ids\":[98],\"ignore_eos\":true}", "a$$b", "a#", -1 },
    { SAMP_PEER_VLLM, "{\"stop\":\"a\",\"min_tokens\":3}", "aabaa", "aab*", 0 },
    { SAMP_PEER_TRANSFORMERS, "{\"stop_strings\":\"bc\",\"eos_token_id\":[120]}", "abbx", "abbx#", -1 },
    { SAMP_PEER_TRANSFORMERS, "{\"stop_strings\":[\"bc\"],\"eos_token_id\":120,\"min_new_tokens\":2}", "abc", "abc*",
      0 },
    { SAMP_PEER_LLAMA_SERVER, "{\"stop\":[\"\",\"bc\"]}", "abc", "a*", 0 },
    { SAMP_PEER_LLAMA_SERVER, "{\"stop\":\"bc\",\"ignore_eos\":true}", "a$bc", "a*", 0 },
    { SAMP_PEER_OLLAMA, "{\"options\":{\"stop\":[\"bc\",\"\"]}}", "abc", "a*", 0 },
    { SAMP_PEER_ANTHROPIC, "{\"stop_sequences\":[\"bc\"]}", "abc", "a*", 0 },
    { SAMP_PEER_SGLANG, "{\"sampling_params\":{\"stop\":[\"x\"],\"stop_regex\":\"b+[cd]\"}}", "abbd", "a*", 1 },
    { SAMP_PEER_SGLANG, "{\"stop\":\"a\",\"min_new_tokens\":3,\"no_stop_trim\":true}", "ba", "ba*", 0 },
    { SAMP_PEER_SGLANG, "{\"stop_token_ids\":[98],\"ignore_eos\":true,\"stop\":[\"d\"]}", "ab$cd", "abc*", 0 },
};

TEST(test_requests)
{
    own_settings *settings = samp_settings_init();
    for (size_t i = 0; i < TEST_COUNT(requests); i++) {
        const request_text *r = &requests[i];
        samp_request request;
        int status, last = SAMP_TEXT_GOES_ON;
        assert_ok(samp_settings_set(settings, "n_ctx_train", "1000", NULL));
        assert_ok(samp_settings_from(settings, r->peer, r->json, NULL, &request));
        assert_num(request.mask_ends, r->peer == SAMP_PEER_LLAMA_SERVER && strstr(r->json, "ignore_eos"));
        assert_num(request.min_tokens, strstr(r->json, "tokens\":3") ? 3 : strstr(r->json, "tokens\":2") ? 2 : 0);
        own_text *t = samp_text_from_settings(settings, &vocab, &status);
        assert_ok(status);
        char whole[100] = "";
        for (const char *c = r->said; *c && !last; c++) {
            shown[0] = 0;
            last = push(t, *c == '$' ? END : (unsigned char)*c);
            shown[strlen(shown) - 1] = 0;
            strcat(whole, shown);
        }
        if (strcmp(whole, r->shown) != 0 || samp_text_stop(t) != r->stop)
            test_fail(__FILE__, __LINE__, "%s: %s, stop %d", r->json, whole, (int)samp_text_stop(t));
    }
    /* a request that is refused changes nothing; settings without a request have no stops */
    assert_status(samp_settings_from(settings, SAMP_PEER_OPENAI, "{\"stop\":[\"a\",\"\"]}", NULL, NULL),
                  SAMP_E_RANGE);
    assert_status(samp_settings_from(settings, SAMP_PEER_OPENAI, "{\"stop\":5}", NULL, NULL), SAMP_E_FORMAT);
    assert_status(samp_settings_from(settings, SAMP_PEER_OPENAI, "{\"stop\":\"a\\u0000b\"}", NULL, NULL),
                  SAMP_E_UNSUPPORTED);
    assert_status(samp_settings_from(settings, SAMP_PEER_OLLAMA, "{\"options\":{\"stop\":\"a\"}}", NULL, NULL),
                  SAMP_E_FORMAT);
    assert_status(samp_settings_from(settings, SAMP_PEER_VLLM, "{\"stop_token_ids\":7}", NULL, NULL), SAMP_E_FORMAT);
    assert_status(samp_settings_from(settings, SAMP_PEER_VLLM, "{\"stop_token_ids\":[\"x\"]}", NULL, NULL),
                  SAMP_E_FORMAT);
    assert_status(samp_settings_from(settings, SAMP_PEER_VLLM, "{\"ignore_eos\":3}", NULL, NULL), SAMP_E_FORMAT);
    assert_status(samp_settings_from(settings, SAMP_PEER_VLLM, "{\"min_tokens\":3}", NULL, NULL), SAMP_E_UNSUPPORTED);
    int status;
    samp_text *t = samp_text_from_settings(settings, &vocab, &status);
    assert_ok(status);
    shown[0] = 0;
    say(t, "abcd");
    assert_num(samp_text_stop(t), 0);
    samp_text_free(t);
    assert_null(samp_text_from_settings(NULL, &vocab, &status));
    assert_num(status, SAMP_E_NULL);
    assert_null(samp_text_from_settings(settings, NULL, &status));
    assert_num(status, SAMP_E_NULL);
    assert_ok(samp_settings_from(settings, SAMP_PEER_SGLANG, "{\"stop_regex\":[\"b$\"]}", NULL, NULL));
    assert_null(samp_text_from_settings(settings, &vocab, &status));
    assert_num(status, SAMP_E_UNSUPPORTED);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
