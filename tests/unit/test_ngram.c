/* test_ngram.c - drafts from the text itself against a search through the whole text: random texts that repeat themselves, tokens
   taken back, windows that have moved on, a text so long that places wrap. SAMP_TEST_FULL=1 plays all. */
#define SAMPLING_DRAFTS
#include "sampling.h"
#include "tests/support/inside.h"
#include "tests/support/test.h"

enum { LONGEST = 4000, MOST = 40 };

/* The draft by its definition: the text [n], of which the last `window` tokens are searched. */
static size_t naive_draft(const samp_token *text, size_t n, int n_min, int n_max, size_t window, samp_token *out,
                          size_t most)
{
    const size_t held = n < window ? n : window;
    for (int k = n_max; k >= n_min; k--) {
        size_t found = 0;
        for (size_t age = 1; age + (size_t)k <= held && found < most; age++)
            if (memcmp(text + n - age - (size_t)k, text + n - (size_t)k, (size_t)k * sizeof *text) == 0) found = age;
        if (!found || !most) continue;
        size_t length = found < most ? found : most;
        memcpy(out, text + n - found, length * sizeof *out);
        return length;
    }
    return 0;
}

static void same_draft(const samp_ngram *g, const samp_token *text, size_t n, const int *range, size_t window,
                       size_t most)
{
    samp_token got[MOST + 1], want[MOST + 1];
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    size_t n_want = naive_draft(text, n, range[0], range[1], window, want, most);
    assert_num(samp_ngram_draft(g, got, most), n_want);
    assert_memory_equal(got, want, sizeof got); /* and nothing is written behind it */
}

/* A text of few tokens, pieces of which come again. */
static samp_token next_token(source *s, const samp_token *text, size_t n, size_t *copies, int alphabet)
{
    if (*copies == 0 && n > 0 && percent(s, 6)) *copies = 1 + (size_t)below(s, n < 300 ? n : 300);
    if (*copies > 0 && percent(s, 97)) return text[n - *copies];
    *copies = 0;
    return (samp_token)below(s, (uint64_t)alphabet);
}

TEST(test_random_texts)
{
    static samp_token text[LONGEST];
    size_t taken_back = 0, refused = 0, drafted = 0;
    for (int round = 0, n_rounds = rounds(8000); round < n_rounds; round++) {
        source s = source_stream((uint64_t)round);
        const int low = 1 + (int)below(&s, 4), range[2] = { low, low + (int)below(&s, 6) };
        const size_t window = (size_t)range[1] + (size_t)below(&s, round % 3 ? 60 : 900);
        const int alphabet = 1 + (int)below(&s, round % 2 ? 3 : 40);
        size_t n = 0, copies = 0, longest = 0, size = 2;
        while (size < 2 * window) size *= 2;
        samp_ngram *g = samp_ngram_init(range[0], range[1], window);
        assert_non_null(g);
        if (round % 5 == 0) inside_ngram_at(g, ((uint64_t)1 << 32) - 100); /* places wrap after a hundred tokens */
        for (int i = 0; i < 700; i++) {
            if (percent(&s, 4)) { /* takes some back; what is overwritten must not be needed */
                int32_t back = (int32_t)below(&s, percent(&s, 50) ? n + 1 : n < 5 ? n + 1 : 5);
                size_t left = n - (size_t)back, needs = left < window ? left : window;
                if (round % 5 == 0) needs = window; /* there is text before this one */
                bool can = left + size >= longest + needs;
                assert_status(samp_ngram_rollback(g, back), can ? SAMP_OK : SAMP_E_RANGE);
                if (can) n = left, copies = 0, taken_back += (size_t)back;
                refused += !can;
            }
            text[n] = next_token(&s, text, n, &copies, alphabet);
            assert_ok(samp_ngram_accept(g, text[n++]));
            longest = n > longest ? n : longest;
            if (round % 5 || n > window) same_draft(g, text, n, range, window, (size_t)below(&s, MOST + 1));
            drafted += samp_ngram_draft(g, (samp_token[1]){ 0 }, 1) > 0;
        }
        samp_ngram_reset(g);
        assert_num(samp_ngram_draft(g, text, MOST), 0);
        samp_ngram_free(g);
    }
    assert_true(taken_back > 1000 && refused > 10 && drafted > 10000);
}

/* "ab" comes three times before: the latest place that enough tokens follow, else the earliest. */
TEST(test_which_place)
{
    const char text[] = "ab123456ab78ab9ab";
    samp_token out[16];
    samp_ngram *g = samp_ngram_init(2, 3, 100);
    for (size_t i = 0; text[i]; i++) assert_ok(samp_ngram_accept(g, text[i]));
    assert_num(samp_ngram_draft(g, out, 3), 3);
    assert_true(out[0] == '9' && out[1] == 'a' && out[2] == 'b');
    assert_num(samp_ngram_draft(g, out, 5), 5);
    assert_true(out[0] == '7' && out[1] == '8' && out[4] == '9');
    assert_num(samp_ngram_draft(g, out, 16), 15); /* up to the end of the text, no further */
    assert_true(out[0] == '1' && out[14] == 'b');
    samp_ngram_free(g);
}

TEST(test_bad_calls)
{
    samp_token out[4];
    assert_null(samp_ngram_init(0, 3, 10));
    assert_null(samp_ngram_init(3, 2, 10));
    assert_null(samp_ngram_init(1, 65, 100));
    assert_null(samp_ngram_init(2, 5, 4));
    assert_null(samp_ngram_init(2, 5, ((size_t)1 << 26) + 1));
    samp_ngram *g = samp_ngram_init(1, 2, 2);
    assert_status(samp_ngram_accept(g, -1), SAMP_E_RANGE);
    assert_status(samp_ngram_accept(NULL, 1), SAMP_E_NULL);
    assert_ok(samp_ngram_accept(g, 7));
    assert_num(samp_ngram_draft(g, out, 4), 0); /* the last token is the only one */
    assert_status(samp_ngram_rollback(g, 2), SAMP_E_RANGE);
    assert_status(samp_ngram_rollback(g, -1), SAMP_E_RANGE);
    assert_status(samp_ngram_rollback(NULL, 0), SAMP_E_NULL);
    assert_ok(samp_ngram_accept(g, 7));
    assert_num(samp_ngram_draft(g, out, 4), 1);
    assert_num(samp_ngram_draft(g, NULL, 0), 0);
    assert_status(samp_ngram_draft(g, NULL, 1), SAMP_E_NULL);
    assert_status(samp_ngram_draft(NULL, out, 1), SAMP_E_NULL);
    samp_ngram_free(g);
    samp_ngram_free(NULL);
    samp_ngram_reset(NULL);
}

/* A chain that gets drafts from its text draws the same tokens as without. */
TEST(test_same_tokens)
{
    enum { N = 24, LENGTH = 400, DRAFT = 6 };
    static float rows[DRAFT + 1][N];
    samp_token text[2][LENGTH + DRAFT + 1], draft[DRAFT], out[DRAFT + 1];
    int steps[2] = { 0, 0 };
    for (int with = 0; with < 2; with++) {
        own_sampler *chain = new_chain(samp_init_temp(0.5f), samp_init_dist(5));
        samp_ngram *g = samp_ngram_init(1, 4, 200);
        size_t n = 1;
        text[with][0] = 0;
        assert_ok(samp_ngram_accept(g, 0));
        while (n < LENGTH) {
            int64_t m = with ? samp_ngram_draft(g, draft, DRAFT) : 0;
            for (int64_t r = 0; r <= m; r++) { /* the model: what follows depends on the last token and a cycle */
                samp_token last = r ? draft[r - 1] : text[with][n - 1];
                source s = source_seed((uint64_t)last * 8 + 3 + (n + (size_t)r) / 100);
                for (int i = 0; i < N; i++) rows[r][i] = (float)(4.0 * normal(&s));
            }
            const samp_draft d = { (size_t)m, draft, NULL, NULL, 0, NULL };
            int32_t a = samp_verify(chain, rows[0], N, &d, SAMP_VERIFY_EXACT, out);
            assert_true(a >= 0);
            for (int32_t i = 0; i <= a; i++) {
                text[with][n++] = out[i];
                assert_ok(samp_ngram_accept(g, out[i]));
            }
            steps[with]++;
        }
        samp_ngram_free(g);
    }
    assert_memory_equal(text[0], text[1], LENGTH * sizeof(samp_token));
    assert_true(2 * steps[1] < steps[0]);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
