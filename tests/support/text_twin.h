/* text_twin.h - a naive twin of samp_text: it joins all bytes, then searches them for the stops, one byte after the other,
   and decodes what comes before. text_walk plays a random text, vocabulary, stops and options against it, with tokens
   taken back and texts cloned anywhere; a test and a fuzzer play it. Include it after sampling.h, with SAMPLING_STOP. */
#ifndef TEXT_TWIN_H
#define TEXT_TWIN_H

#include <stdio.h>
#include <string.h>

#include "source.h"

enum { TWIN_TOKENS = 24, TWIN_STOPS = 5, TWIN_PATTERNS = 3, TWIN_LENGTH = 40, TWIN_BYTES = 1024 };

/* ---- regular expressions, and what they mean ---- */

static bool twin_is_digits_x(const char *t, size_t n) /* [0-9]+x */
{
    for (size_t i = 0; i + 1 < n; i++)
        if (t[i] < '0' || t[i] > '9') return false;
    return n > 1 && t[n - 1] == 'x';
}
static bool twin_is_a_to_c(const char *t, size_t n) /* a[ab]*c */
{
    for (size_t i = 0; i + 1 < n; i++)
        if (t[i] != 'a' && (i == 0 || t[i] != 'b')) return false;
    return n > 1 && t[n - 1] == 'c';
}
static bool twin_is_ab(const char *t, size_t n) /* (ab)+c? */
{
    if (n % 2 && t[n - 1] == 'c') n--;
    for (size_t i = 0; i < n; i++)
        if (t[i] != "ab"[i % 2]) return false;
    return n > 0 && n % 2 == 0;
}
static bool twin_is_euro(const char *t, size_t n) /* €.?b, the character of one byte */
{
    return n >= 4 && n <= 5 && !memcmp(t, "\xe2\x82\xac", 3) && t[n - 1] == 'b' &&
           (n == 4 || (!(t[3] & 0x80) && t[3] != '\n' && t[3] != '\r'));
}

static const struct {
    const char *pattern;
    bool (*matches)(const char *t, size_t n);
    bool at_begin; /* only at the beginning of the text */
} twin_patterns[] = { { "[0-9]+x", twin_is_digits_x, false },
                      { "a[ab]*c", twin_is_a_to_c, false },
                      { "(?:ab)+c?", twin_is_ab, false },
                      { "^a[ab]*c", twin_is_a_to_c, true },
                      { "\xe2\x82\xac[\\x00-\\x09\\x0b\\x0c\\x0e-\\x7f]?b", twin_is_euro, false } };
enum { TWIN_N_PATTERNS = sizeof twin_patterns / sizeof *twin_patterns };

/* ---- the case ---- */

typedef struct twin {
    samp_vocab vocab;
    char token[TWIN_TOKENS][8];
    size_t n_token[TWIN_TOKENS];
    samp_token eog[2], ends[3];
    char stop[TWIN_STOPS][12];
    const char *stops[TWIN_STOPS];
    size_t n_stops, n_patterns;
    size_t pattern[TWIN_PATTERNS], max_bytes[TWIN_PATTERNS];
    samp_text_options options;
    samp_token text[TWIN_LENGTH]; /* [n] the tokens so far */
    int32_t n;
    size_t shown[TWIN_LENGTH + 1]; /* how many bytes were shown after so many tokens */
    char out[3 * TWIN_BYTES];      /* what was shown */
} twin;

static const char *twin_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    const twin *w = (const twin *)vocab->user;
    *n = w->n_token[token];
    return w->token[token];
}

/* Random bytes out of few: letters, digits, spaces, pieces of characters, bytes of none. */
static size_t twin_say(source *s, char *to, size_t most)
{
    static const char *const pieces[] = { "a",        "b",    "c",        "a",        "b",    "0",
                                          "7",        "x",    " ",        "\xc3\xa9", "\xc3", "\xa9",
                                          "\xe2\x82", "\xac", "\xe2",     "\x82\xac", "\xf0", "\x9f\x98",
                                          "\x80",     "\xff", "\xed\xa0", "\n",       "ab",   "\xe2\x82\xac" };
    size_t n = 0;
    for (size_t k = 1 + below(s, 3); k > 0; k--) {
        const char any[2] = { (char)(1 + below(s, 255)), 0 },
                   *piece = pieces[below(s, sizeof pieces / sizeof *pieces)];
        if (below(s, 16) == 15) piece = any;
        if (n + strlen(piece) > most) break;
        memcpy(to + n, piece, strlen(piece));
        n += strlen(piece);
    }
    return n;
}

static void twin_begin(twin *w, source *s)
{
    memset(w, 0, sizeof *w);
    w->vocab.n_vocab = TWIN_TOKENS;
    w->vocab.token_bytes = twin_bytes;
    w->vocab.user = w;
    w->vocab.eog = w->eog;
    w->vocab.n_eog = (size_t)below(s, 3);
    w->eog[0] = 1 + (samp_token)below(s, TWIN_TOKENS - 1);
    w->eog[1] = 2;
    for (int i = 1; i < TWIN_TOKENS; i++) w->n_token[i] = twin_say(s, w->token[i], sizeof w->token[i]);
    for (w->n_stops = (size_t)below(s, TWIN_STOPS + 1); w->stops[0] == NULL && w->n_stops;) {
        for (size_t i = 0; i < w->n_stops; i++) {
            size_t n = twin_say(s, w->stop[i], 5);
            n += below(s, 2) ? twin_say(s, w->stop[i] + n, 6) : 0;
            if (!n) w->stop[i][n++] = 'a';
            w->stop[i][n] = 0;
            w->stops[i] = w->stop[i];
        }
    }
    w->n_patterns = below(s, 2) ? 0 : (size_t)below(s, TWIN_PATTERNS + 1);
    for (size_t i = 0; i < w->n_patterns; i++) {
        w->pattern[i] = (size_t)below(s, TWIN_N_PATTERNS);
        w->max_bytes[i] = 1 + (size_t)below(s, 9);
    }
    for (int i = 0; i < 3; i++) w->ends[i] = (samp_token)below(s, 200); /* not all are in the vocabulary */
    w->options.stop_tokens = w->ends;
    w->options.n_stop_tokens = below(s, 2) ? 0 : (size_t)below(s, 4);
    w->options.min_tokens = below(s, 2) ? 0 : (int32_t)below(s, 6);
    w->options.include_stop = below(s, 4) == 0;
    w->options.raw_bytes = below(s, 4) == 0;
    w->options.strip_space = below(s, 3) == 0;
}

static samp_text *twin_text(const twin *w)
{
    int status;
    samp_text *text = samp_text_init(&w->vocab, w->stops, w->n_stops, &w->options, &status);
    for (size_t i = 0; text && i < w->n_patterns; i++)
        if (samp_text_add_pattern(text, twin_patterns[w->pattern[i]].pattern, w->max_bytes[i])) return NULL;
    return text;
}

/* ---- what the twin says ---- */

typedef struct twin_end {
    int state;
    int32_t stop, token; /* the stop's index, or -1; where it begins */
    size_t byte;
    char out[3 * TWIN_BYTES];
    size_t n_out;
} twin_end;

/* UTF-8 by the table of the Unicode standard (3-7). */
static size_t twin_decode(const char *bytes, size_t n, bool raw, bool ends, char *out)
{
    static const struct {
        unsigned char lo[4], hi[4];
        size_t n;
    } forms[] = { { { 0x00 }, { 0x7f }, 1 },
                  { { 0xc2, 0x80 }, { 0xdf, 0xbf }, 2 },
                  { { 0xe0, 0xa0, 0x80 }, { 0xe0, 0xbf, 0xbf }, 3 },
                  { { 0xe1, 0x80, 0x80 }, { 0xec, 0xbf, 0xbf }, 3 },
                  { { 0xed, 0x80, 0x80 }, { 0xed, 0x9f, 0xbf }, 3 },
                  { { 0xee, 0x80, 0x80 }, { 0xef, 0xbf, 0xbf }, 3 },
                  { { 0xf0, 0x90, 0x80, 0x80 }, { 0xf0, 0xbf, 0xbf, 0xbf }, 4 },
                  { { 0xf1, 0x80, 0x80, 0x80 }, { 0xf3, 0xbf, 0xbf, 0xbf }, 4 },
                  { { 0xf4, 0x80, 0x80, 0x80 }, { 0xf4, 0x8f, 0xbf, 0xbf }, 4 } };
    size_t to = 0;
    for (size_t at = 0, best; at < n; at += best) {
        bool whole = false, open = false;
        best = 1;
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            size_t k = 0;
            while (k < forms[f].n && at + k < n && (unsigned char)bytes[at + k] >= forms[f].lo[k] &&
                   (unsigned char)bytes[at + k] <= forms[f].hi[k])
                k++;
            if (k >= best && k > 0) best = k, whole = k == forms[f].n, open = !whole && at + k == n;
        }
        if (open && !ends) break;
        if (whole || raw) {
            memcpy(out + to, bytes + at, best);
            to += best;
        } else {
            memcpy(out + to, "\xef\xbf\xbd", 3);
            to += 3;
        }
    }
    return to;
}

/* What the first n tokens are together, and what is shown of them; if `ends`, no token follows. */
static void twin_read(const twin *w, int32_t n, bool ends, twin_end *e)
{
    const samp_text_options *o = &w->options;
    char bytes[TWIN_BYTES];
    int32_t token_of[TWIN_BYTES];
    size_t byte_of[TWIN_BYTES], size = 0, from = 0, length = 0, longest = 1;
    memset(e, 0, sizeof *e);
    e->stop = -1;
    for (int32_t t = 0; t < n && !e->state; t++) {
        bool is_stop = false, is_end = false;
        for (size_t i = 0; i < o->n_stop_tokens; i++) is_stop |= o->stop_tokens[i] == w->text[t];
        for (size_t i = 0; i < w->vocab.n_eog; i++) is_end |= w->eog[i] == w->text[t];
        if ((is_stop || is_end) && t >= o->min_tokens) {
            e->state = SAMP_TEXT_ENDED;
            e->token = t;
        }
        for (size_t i = 0; i < w->n_token[w->text[t]]; i++) {
            if (size == 0 && from == 0 && o->strip_space && w->token[w->text[t]][i] == ' ') {
                from = 1;
                continue;
            }
            if (e->state && !(is_stop && o->include_stop)) break;
            bytes[size] = w->token[w->text[t]][i];
            token_of[size] = t;
            byte_of[size++] = i;
            if (e->state || t < o->min_tokens) continue;
            for (size_t k = 0; k < w->n_stops; k++) {
                size_t m = strlen(w->stop[k]);
                if (m <= size && m > length && !memcmp(bytes + size - m, w->stop[k], m))
                    length = m, e->stop = (int32_t)k;
            }
            for (size_t k = 0; k < w->n_patterns; k++)
                for (size_t m = w->max_bytes[k]; m > length; m--)
                    if (m <= size && (m == size || !twin_patterns[w->pattern[k]].at_begin) &&
                        twin_patterns[w->pattern[k]].matches(bytes + size - m, m))
                        length = m, e->stop = (int32_t)(w->n_stops + k);
            if (!length) continue;
            e->state = SAMP_TEXT_STOPPED;
            e->token = token_of[size - length];
            e->byte = byte_of[size - length];
            break;
        }
    }
    size_t shown = size, held = 0;
    if (e->state == SAMP_TEXT_STOPPED && !o->include_stop) shown -= length;
    for (size_t k = 0; k < w->n_stops; k++) {
        size_t m = strlen(w->stop[k]);
        if (longest < m) longest = m;
        for (size_t p = 1; p < m; p++)
            if (p <= size && p > held && !memcmp(bytes + size - p, w->stop[k], p)) held = p;
    }
    /* of patterns the twin only knows that nothing longer may be held */
    for (size_t k = 0; k < w->n_patterns; k++)
        if (longest < w->max_bytes[k]) longest = w->max_bytes[k];
    if (!e->state && !ends && w->n_patterns) held = longest - 1;
    if (!e->state && !ends && !o->include_stop) shown -= held < shown ? held : shown;
    e->n_out = twin_decode(bytes, shown, o->raw_bytes, e->state || ends, e->out);
}

/* ---- the walk ---- */

#define TWIN_SAYS(expr) /* NULL, or what is wrong */ \
    do { \
        const char *says_ = (expr); \
        if (says_) { \
            samp_text_free(text); \
            samp_text_free(other); \
            return says_; \
        } \
    } while (0)
#define TWIN_CHECK(condition) TWIN_SAYS((condition) ? NULL : #condition)

/* Does a text have what the twin says? `whole` is all that it has shown, [n]. */
static const char *twin_differs(const twin *w, const samp_text *t, int state, const char *whole, size_t n, bool ended)
{
    twin_end e;
    int32_t token = -7;
    size_t byte = 77;
    twin_read(w, w->n, ended, &e);
    const bool loose = w->n_patterns && !e.state && !ended; /* at least so much is shown */
    if (state != e.state) return "state";
    if (loose ? n < e.n_out : n != e.n_out) return "length";
    if (memcmp(whole, e.out, e.n_out) != 0) return "text";
    if (samp_text_stop(t) != e.stop) return "stop";
    if (!e.state) return samp_text_stop_at(t, &token, &byte) == SAMP_E_EMPTY ? NULL : "stop_at";
    if (samp_text_stop_at(t, &token, &byte) || token != e.token || byte != e.byte) return "where the stop begins";
    return NULL;
}

/* How many cases ended in which way: went on, a string, a token, a pattern, a cut in the middle of a character. */
enum { TWIN_ON, TWIN_STRING, TWIN_TOKEN, TWIN_PATTERN, TWIN_CUT, TWIN_ENDS };
static unsigned long twin_seen[TWIN_ENDS];

/* Plays one case. Returns NULL, or what was wrong. */
static const char *text_walk(source *s)
{
    twin w;
    twin_begin(&w, s);
    samp_text *text = twin_text(&w), *other = NULL;
    int state = SAMP_TEXT_GOES_ON;
    const char *out;
    size_t n, n_whole = 0;
    TWIN_CHECK(text != NULL);
    for (int i = 0; i < TWIN_LENGTH; i++) {
        uint64_t what = below(s, 16);
        if (what == 0 && w.n) { /* taken back */
            int32_t back = (int32_t)below(s, (uint64_t)w.n + 1);
            TWIN_CHECK(samp_text_rollback(text, w.n + 1) == SAMP_E_RANGE &&
                       samp_text_rollback(text, -1) == SAMP_E_RANGE);
            TWIN_CHECK(samp_text_rollback(text, back) == SAMP_OK);
            w.n -= back;
            n_whole = w.shown[w.n];
            if (back) state = SAMP_TEXT_GOES_ON;
            TWIN_SAYS(twin_differs(&w, text, state, w.out, n_whole, false));
        } else if (what == 1) { /* a copy goes on */
            other = samp_text_clone(text);
            TWIN_CHECK(other != NULL);
            samp_text_free(text);
            text = other;
            other = NULL;
        } else if (what == 2) { /* the text ends here, and does not */
            TWIN_CHECK(samp_text_flush(text, &out, &n) == SAMP_OK);
            memcpy(w.out + n_whole, out, n);
            TWIN_SAYS(twin_differs(&w, text, state, w.out, n_whole + n, true));
            TWIN_CHECK(samp_text_flush(text, &out, &n) == SAMP_OK && n == 0);
            TWIN_CHECK(samp_text_push(text, 0, &out, &n) == (state ? state : SAMP_TEXT_ENDED) && n == 0);
            TWIN_CHECK(samp_text_rollback(text, 0) == SAMP_OK);
        } else {
            samp_token token = (samp_token)below(s, TWIN_TOKENS);
            int now = samp_text_push(text, token, &out, &n);
            if (state) {
                TWIN_CHECK(now == state && n == 0);
                continue;
            }
            state = now;
            w.text[w.n++] = token;
            memcpy(w.out + n_whole, out, n);
            w.shown[w.n] = n_whole += n;
            TWIN_SAYS(twin_differs(&w, text, state, w.out, n_whole, false));
            if (!state && !w.options.raw_bytes) /* whole characters */
                TWIN_CHECK(twin_decode(out, n, true, false, w.out + n_whole) == n);
        }
    }
    /* the same bytes, cut in another way: one at a time; a stop must be the same */
    twin_end e, cut;
    TWIN_CHECK(samp_text_flush(text, &out, &n) == SAMP_OK);
    twin_read(&w, w.n, true, &e);
    twin_seen[e.stop >= (int32_t)w.n_stops ? TWIN_PATTERN : e.state]++;
    twin_seen[TWIN_CUT] += e.stop >= 0 && e.stop < (int32_t)w.n_stops &&
                           ((unsigned char)w.stop[e.stop][0] & 0xc0) == 0x80;
    if (!w.options.min_tokens && e.state != SAMP_TEXT_ENDED) {
        static twin one; /* its tokens are bytes of the text */
        char bytes[TWIN_BYTES];
        size_t size = 0, to = 0;
        one = w;
        for (int32_t t = 0; t < w.n; t++)
            for (size_t i = 0; i < w.n_token[w.text[t]]; i++) bytes[size++] = w.token[w.text[t]][i];
        one.vocab.user = &one;
        one.vocab.n_eog = 0;
        one.options.n_stop_tokens = 0;
        other = twin_text(&one);
        TWIN_CHECK(other != NULL);
        int last = SAMP_TEXT_GOES_ON;
        for (size_t i = 0; i < size && !last; i++) {
            one.token[0][0] = bytes[i];
            one.n_token[0] = 1;
            last = samp_text_push(other, 0, &out, &n);
            memcpy(cut.out + to, out, n);
            to += n;
        }
        TWIN_CHECK(samp_text_flush(other, &out, &n) == SAMP_OK);
        memcpy(cut.out + to, out, n);
        to += n;
        TWIN_CHECK(last == e.state && to == e.n_out && !memcmp(cut.out, e.out, to) &&
                   samp_text_stop(other) == e.stop);
    }
    samp_text_reset(text);
    w.n = 0;
    TWIN_SAYS(twin_differs(&w, text, SAMP_TEXT_GOES_ON, w.out, 0, false));
    samp_text_free(text);
    samp_text_free(other);
    return NULL;
}

#endif /* TEXT_TWIN_H */
