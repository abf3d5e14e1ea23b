/* test_llama.c - SAMPLING_LLAMA without llama.cpp, on a made-up one (made_up_llama.h). tests/ship/llama has the real one.

   llama.h's declarations stand before sampling.h and behind it, as in programs that include both in either order. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct llama_sampler;
struct llama_sampler_i;
struct llama_model;
struct llama_context;
struct llama_vocab;
typedef int32_t llama_token;
struct llama_sampler *llama_sampler_init(struct llama_sampler_i *iface, void *ctx);
float *llama_get_logits_ith(struct llama_context *ctx, int32_t i);

#define HEAP_HERE
#include "tests/support/heap.h"
#define SAMPLING_LLAMA
#define SAMPLING_GRAMMAR
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "tests/support/test.h"

#include "tests/support/made_up_llama.h"

/* ---- the tests ---- */

static float row[6] = { 0.5f, 1.5f, -1.0f, 2.0f, 0.25f, 1.0f };
static struct llama_context context = { &words, row };

static samp_sampler *chain_of(samp_rng_kind rng)
{
    samp_params params = samp_default_params();
    params.seed = 7;
    params.rng = rng;
    params.penalty_repeat = 1.5f;
    return samp_chain_from_params(&params, NULL);
}

static samp_token apply_once(const layout_6 *functions, struct llama_sampler *s)
{
    samp_token_data data[6];
    for (int i = 0; i < 6; i++) data[i].id = i, data[i].logit = row[i], data[i].p = 0.0f;
    samp_token_data_array cur = { data, 6, -1, false };
    functions->apply(s, &cur);
    return cur.selected < 0 ? -1 : data[cur.selected].id;
}

/* Every version's program: it calls what its layout has and skips what is NULL. */
TEST(test_layouts)
{
    for (int layout = 6; layout <= 12; layout += layout == 6 ? 4 : 2) {
        own_sampler *like = chain_of(SAMP_RNG_MT19937);
        struct llama_sampler *s = samp_llama_init(chain_of(SAMP_RNG_MT19937));
        const layout_6 *f = (const layout_6 *)(const void *)s->iface;
        const layout_10 *ten = (const layout_10 *)(const void *)s->iface;
        const layout_12 *twelve = (const layout_12 *)(const void *)s->iface;
        if (layout >= 10) {
            assert_true(!ten->backend_init && !ten->backend_accept && !ten->backend_apply);
            assert_true(!ten->backend_set_input);
        }
        if (layout == 12) assert_true(!twelve->backend_reset && !twelve->copy_state);
        assert_string_equal(f->name(s), "chain");
        samp_token first[8];
        for (int i = 0; i < 8; i++) {
            first[i] = samp_sample(like, row, 6);
            assert_int_equal(apply_once(f, s), first[i]);
            f->accept(s, first[i]);
            assert_int_equal(samp_last(samp_llama_chain(s)), first[i]);
        }
        struct llama_sampler *clone = f->clone(s);
        for (int i = 0; i < 8; i++) {
            samp_token token = apply_once(f, s);
            assert_int_equal(apply_once(f, clone), token);
            f->accept(s, token);
            f->accept(clone, token);
        }
        f->reset(clone);
        for (int i = 0; i < 8; i++) {
            assert_int_equal(apply_once(f, clone), first[i]);
            f->accept(clone, first[i]);
        }
        llama_free(clone);
        llama_free(s);
    }
    assert_int_equal(n_samplers, 0);
    assert_int_equal(heap.live, 0);
}

/* The same tokens as from the logits; a bad row is a status, and nothing has changed. */
TEST(test_sample)
{
    for (int kind = 0; kind < 2; kind++) {
        own_sampler *chain = chain_of((samp_rng_kind)kind), *like = samp_clone(chain);
        for (int i = 0; i < 50; i++) {
            assert_int_equal(samp_llama_sample(chain, &context, -1), samp_sample(like, row, 6));
            assert_int_equal(samp_last(chain), samp_last(like));
            if (i % 10 != 5) continue;
            row[2] = NAN;
            assert_int_equal(samp_llama_sample(chain, &context, -1), SAMP_E_NAN);
            row[2] = -1.0f;
        }
        assert_int_equal(samp_llama_sample(chain, &context, 0), SAMP_E_NULL); /* there are no logits */
        assert_int_equal(samp_llama_sample(chain, NULL, -1), SAMP_E_NULL);
        assert_int_equal(samp_llama_sample(NULL, &context, -1), SAMP_E_NULL);
    }
    assert_int_equal(heap.live, 0);
}

/* llama.cpp's samplers change logits behind a sort and leave `sorted` set, and order no ties by id: a chain of ours
   behind them looks itself. */
TEST(test_behind_others)
{
    const float logits[] = { 3.0f, 2.0f, -INFINITY, 2.0f, 9.0f };
    const samp_token ids[] = { 7, 5, 9, 2, 1 };
    for (int kind = 0; kind < 4; kind++) {
        samp_sampler *chain = samp_chain_init(), *like;
        if (kind % 2) assert_ok(samp_chain_add(chain, samp_init_top_k(2)));
        assert_ok(samp_chain_add(chain, kind < 2 ? samp_init_greedy() : samp_init_dist(3)));
        like = samp_clone(chain);
        struct llama_sampler *s = samp_llama_init(chain);
        for (int i = 0; i < 40; i++) {
            samp_token_data data[2][5];
            samp_token_data_array cur[2];
            for (int k = 0; k < 2; k++) {
                for (int j = 0; j < 5; j++) data[k][j].id = ids[j], data[k][j].logit = logits[j], data[k][j].p = 0.0f;
                cur[k].data = data[k], cur[k].size = (size_t)(3 + i % 3), cur[k].selected = -1,
                cur[k].sorted = k == 0;
            }
            ((const layout_6 *)(const void *)s->iface)->apply(s, &cur[0]);
            assert_ok(samp_apply(like, &cur[1]));
            assert_int_equal(data[0][cur[0].selected].id, data[1][cur[1].selected].id);
            assert_true(data[0][cur[0].selected].logit > -INFINITY && cur[0].size == cur[1].size);
        }
        llama_free(s);
        samp_free(like);
    }
    assert_int_equal(heap.live, 0);
}

/* An array that is refused has nothing selected, also where a sampler had selected before another refused. */
static int refuse(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    (void)cur;
    return SAMP_E_DEVICE;
}

TEST(test_errors)
{
    static const samp_sampler_i refuses = { NULL, NULL, refuse, NULL, NULL, NULL, NULL, NULL };
    assert_null(samp_llama_init(NULL));
    samp_sampler *chain = samp_chain_init();
    assert_ok(samp_chain_add(chain, samp_init_greedy()));
    assert_null(samp_llama_init(samp_chain_get(chain, 0))); /* it is the chain's */
    assert_ok(samp_chain_add(chain, samp_init_custom(&refuses, NULL)));
    struct llama_sampler *s = samp_llama_init(chain), other = { NULL, NULL };
    const layout_6 *f = (const layout_6 *)(const void *)s->iface;
    assert_int_equal(apply_once(f, s), -1);
    samp_free(samp_chain_remove(chain, 1));
    assert_int_equal(apply_once(f, s), 3);
    row[0] = NAN;
    assert_int_equal(apply_once(f, s), -1);
    row[0] = 0.5f;
    f->apply(s, NULL);
    f->accept(s, -5);
    assert_ptr_equal(samp_llama_chain(s), chain);
    assert_null(samp_llama_chain(NULL));
    assert_null(samp_llama_chain(&other));
    long before = heap.live;
    for (int fail = 1; fail <= 4; fail++) {
        heap.fail_at = fail;
        struct llama_sampler *clone = f->clone(s);
        if (heap.fail_at == 0) assert_null(clone);
        heap.fail_at = 0;
        if (clone) llama_free(clone);
        assert_int_equal(heap.live, before);
    }
    no_room = true;
    assert_null(f->clone(s));
    assert_int_equal(heap.live, before);
    no_room = false;
    llama_free(s);
    s = samp_llama_init(samp_init_greedy()); /* any sampler, not only chains */
    assert_int_equal(apply_once(f, s), 3);
    assert_string_equal(f->name(s), "greedy");
    llama_free(s);
    assert_int_equal(n_samplers, 0);
    assert_int_equal(heap.live, 0);
}

TEST(test_vocab)
{
    static const char *const want[] = { "", "a", "bc", " the", "", "def" };
    static const char *const breakers[] = { "xbcd" };
    assert_null(samp_llama_vocab_init(NULL));
    samp_llama_vocab_free(NULL);
    heap.fail_at = 1;
    assert_null(samp_llama_vocab_init(&words.vocab));
    heap.fail_at = 0;
    samp_vocab *vocab = samp_llama_vocab_init(&words.vocab);
    assert_int_equal(vocab->n_vocab, 6);
    for (samp_token t = 0; t < 6; t++) {
        size_t n;
        const char *bytes = vocab->token_bytes(vocab, t, &n);
        assert_int_equal(n, strlen(want[t]));
        assert_memory_equal(bytes, want[t], n);
        assert_true(bytes != words.vocab.word[t]); /* copies */
    }
    assert_int_equal(vocab->n_eog, 2);
    assert_int_equal(vocab->eog[0], 0);
    assert_int_equal(vocab->eog[1], 4);
    assert_int_equal(vocab->eos, 4);
    assert_int_equal(vocab->eot, -1);

    samp_token tokens[5] = { 0, 0, 0, 0, -7 };
    assert_int_equal(vocab->tokenize(vocab, "bcx", 2, tokens, 4), 2);
    assert_true(tokens[0] == 2 && tokens[1] == 3);
    assert_int_equal(vocab->tokenize(vocab, "gfedcba", 7, tokens, 4), 4); /* cut off */
    assert_true(tokens[0] == 7 && tokens[3] == 4 && tokens[4] == -7);
    assert_int_equal(vocab->tokenize(vocab, "", 0, tokens, 4), 0);
    char longer[200];
    memset(longer, 'b', sizeof longer);
    assert_int_equal(vocab->tokenize(vocab, longer, sizeof longer, tokens, 4), 4);
    heap.fail_at = 1; /* a breaker's text needs no memory, others may */
    assert_int_equal(vocab->tokenize(vocab, "gfedcba", 7, tokens, 4), 4);
    heap.fail_at = 1;
    assert_int_equal(vocab->tokenize(vocab, longer, sizeof longer, tokens, 4), 0);
    heap.fail_at = 0;

    samp_sampler *dry = samp_init_dry(vocab, 64, 1.0f, 1.75f, 1, 64, breakers, 1);
    assert_ok(samp_status(dry, NULL));
    samp_free(dry);
    samp_llama_vocab_free(vocab);
    assert_int_equal(heap.live, 0);
}

/* A grammar has a control token by its text, which dry's breakers are not read as. A text that is several tokens is
   none. */
TEST(test_grammar)
{
    samp_vocab *vocab = samp_llama_vocab_init(&words.vocab);
    samp_vocab_index *index = samp_vocab_index_init(vocab, NULL);
    samp_token tokens[8];
    assert_int_equal(vocab->tokenize(vocab, "<def>", 5, tokens, 8), 5);
    samp_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_GBNF, "root ::= <def> \"a\"", NULL, NULL),
                 *other = samp_grammar_init(SAMP_GRAMMAR_GBNF, "root ::= <de>", NULL, NULL);
    samp_sampler *s = samp_init_grammar(index, grammar), *none = samp_init_grammar(index, other);
    uint32_t bits;
    assert_ok(samp_status(s, NULL));
    assert_status(samp_status(none, NULL), SAMP_E_RANGE);
    assert_ok(samp_grammar_mask(s, &bits));
    assert_int_equal(bits, 1 << 5);
    assert_ok(samp_accept(s, 5));
    assert_ok(samp_grammar_mask(s, &bits));
    assert_int_equal(bits, 1 << 1);
    samp_free(s);
    samp_free(none);
    samp_grammar_free(grammar);
    samp_grammar_free(other);
    samp_vocab_index_free(index);
    samp_llama_vocab_free(vocab);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
