/* test_chain.c - chains: in each other, owning, lending and giving back; samplers of the user's; accept,
   reset, clone; the last tokens, positions, seeds, counters; the chain as text. */
#define SAMPLING_GUMBEL
#include "sampling.h"
#include "tests/support/inside.h"
#include "tests/support/test.h"

#include <float.h>

#define KINDS 2  /* SAMP_RNG_PHILOX, SAMP_RNG_MT19937 */
enum { N = 64 }; /* the vocabulary of most tests here */

/* ------------------------------------------------------------------------------------------------ helpers */

static uint64_t clock_now, clock_calls;
static uint64_t fake_clock(void)
{ /* each look at it takes 5 ns */
    clock_calls++;
    return clock_now += 5;
}

#include "tests/support/makers.h"

static samp_sampler *small_chain(uint64_t seed)
{
    samp_sampler *chain = new_chain(samp_init_temp(1.5f), samp_init_dist(seed));
    return chain;
}

static void row(float *logits, uint64_t i) { test_row(logits, N, 2000 + i, 1.5, i % N); }

/* draws steps tokens, rows first, first + 1, ... */
static void take(samp_sampler *s, samp_token *out, int steps, uint64_t first)
{
    for (int i = 0; i < steps; i++) {
        float logits[N];
        row(logits, first + (uint64_t)i);
        out[i] = samp_sample(s, logits, N);
        if (out[i] < 0) test_fail(__FILE__, __LINE__, "step %d: %s", i, test_status_name(out[i]));
    }
}

static void same_tokens_(const samp_token *a, const samp_token *b, int n, const char *what, int line)
{
    for (int i = 0; i < n; i++)
        if (a[i] != b[i])
            test_fail(__FILE__, line, "%s: token %d of %d is %d, the other's %d", what, i, n, a[i], b[i]);
}
#define same_tokens(a, b, n, what) same_tokens_((a), (b), (n), (what), __LINE__)

static int differing(const samp_token *a, const samp_token *b, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) count += a[i] != b[i];
    return count;
}

/* --------------------------------------------------------------------------------------- chains in chains */

/* {a b c d e} = {a {b {c} d} e} = {{a b} {{c d} e}}: the same tokens, whatever the nesting */
TEST(test_nested)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k < N_SELECTORS; k++) {
            samp_token want[40], got[40];
            own_sampler *flat = chain_of_stages(selectors[k], (samp_rng_kind)kind);
            take(flat, want, 40, 0);
            for (uint64_t shape = 0; shape < 12; shape++) {
                source rng = source_stream(300 + shape);
                samp_sampler *outer = samp_chain_init(), *at[4];
                int depth = 0;
                at[0] = outer;
                for (size_t i = 0; i <= N_STAGES; i++) {
                    size_t turn = below(&rng, 3);
                    if (turn == 0 && depth < 3) { /* a chain in the chain, empty so far */
                        samp_sampler *inner = samp_chain_init();
                        assert_ok(samp_chain_add(at[depth], inner));
                        at[++depth] = inner;
                    } else if (turn == 1 && depth > 0) {
                        depth--;
                    }
                    assert_ok(samp_chain_add(at[depth], i < N_STAGES ? stages[i]() : selectors[k]()));
                }
                assert_ok(samp_set_rng(outer, (samp_rng_kind)kind));
                take(outer, got, 40, 0);
                same_tokens(got, want, 40, "nested");
                assert_u64(samp_get_position(outer), samp_get_position(flat));
                assert_u64(samp_get_seed(outer), samp_get_seed(flat));
                samp_free(outer);
            }
        }
}

/* Two of a kind in one chain have their own random bits: the second xtc does not repeat the first one. */
TEST(test_two_of_a_kind)
{
    int both = 0, one = 0, none = 0;
    samp_sampler *first = samp_init_xtc(0.5f, 0.2f, 0, 4), *second = samp_init_xtc(0.5f, 0.2f, 0, 4);
    own_sampler *chain = new_chain(first, second);
    for (int i = 0; i < 400; i++) { /* 0.4 0.31 0.29: one acts: 0.29 is left ... */
        samp_token_data data[4];
        const float logits[] = { logf(0.4f), logf(0.31f), logf(0.29f), -100.0f };
        samp_token_data_array cur = test_array(data, logits, 4);
        assert_ok(samp_apply(chain, &cur));
        if (cur.size == 4)
            none++;
        else if (cur.size == 2)
            one++; /* ... with the last; 0.29 alone is never removed */
        else
            both++;
    }
    assert_true(none > 60 && none < 140); /* 100 of 400, if they are independent */
    assert_num(both, 0);
    assert_num(none + one, 400);
}

/* ------------------------------------------------------------------------------- add, get, n, remove, own */

TEST(test_members_come_and_go)
{
    samp_sampler *chain = samp_chain_init(), *a = make_temp(), *b = make_top_k(), *c = make_dist();
    assert_num(samp_chain_n(chain), 0);
    assert_true(samp_chain_get(chain, 0) == NULL);
    assert_true(samp_chain_remove(chain, 0) == NULL);
    assert_ok(samp_chain_add(chain, a));
    assert_ok(samp_chain_add(chain, b));
    assert_ok(samp_chain_add(chain, c));
    assert_num(samp_chain_n(chain), 3);
    assert_true(samp_chain_get(chain, 0) == a);
    assert_true(samp_chain_get(chain, 1) == b);
    assert_true(samp_chain_get(chain, 2) == c);
    static const int32_t out[] = { -1, 3, INT32_MIN, INT32_MAX };
    for (size_t i = 0; i < TEST_COUNT(out); i++) {
        assert_true(samp_chain_get(chain, out[i]) == NULL);
        assert_true(samp_chain_remove(chain, out[i]) == NULL);
    }
    assert_true(samp_chain_remove(chain, 1) == b);
    assert_num(samp_chain_n(chain), 2);
    assert_true(samp_chain_get(chain, 0) == a);
    assert_true(samp_chain_get(chain, 1) == c);
    assert_text(samp_name(samp_chain_get(chain, 1)), "dist");
    assert_ok(samp_chain_insert(chain, 0, b)); /* back, in front */
    assert_true(samp_chain_get(chain, 0) == b);
    assert_true(samp_chain_remove(chain, 1) == a);
    assert_true(samp_chain_remove(chain, 0) == b);
    assert_true(samp_chain_remove(chain, 0) == c);
    assert_num(samp_chain_n(chain), 0);
    samp_free(chain);
    samp_free(a); /* what was given back is the caller's */
    samp_free(b);
    samp_free(c);
    chain = samp_chain_init(); /* many: it grows */
    for (int i = 0; i < 300; i++) assert_ok(samp_chain_add(chain, samp_init_top_k(1000 - i)));
    assert_num(samp_chain_n(chain), 300);
    samp_free(chain);
}

/* Once only, and no cycles: refused, and nothing has changed. */
/* At each place of a chain; what is refused is freed, and the chain says so. */
TEST(test_insert)
{
    source rng = source_stream(77);
    for (int round = 0; round < 200; round++) {
        samp_sampler *chain = samp_chain_init(), *want[40];
        int32_t n = 0;
        for (; n < 40; n++) {
            int32_t i = (int32_t)below(&rng, (uint64_t)n + 1);
            samp_sampler *s = below(&rng, 2) ? make_top_k() : make_custom();
            memmove(want + i + 1, want + i, (size_t)(n - i) * sizeof *want);
            want[i] = s;
            assert_ok(samp_chain_insert(chain, i, s));
        }
        assert_num(samp_chain_n(chain), n);
        for (int32_t i = 0; i < n; i++) assert_ptr_equal(samp_chain_get(chain, i), want[i]);
        samp_free(chain);
    }
    static const int32_t out[] = { -1, 2, INT32_MIN, INT32_MAX };
    for (size_t i = 0; i < TEST_COUNT(out); i++) {
        own_sampler *chain = samp_chain_init();
        const char *field = NULL;
        assert_ok(samp_chain_insert(chain, 0, make_temp()));
        assert_status(samp_chain_insert(chain, out[i], make_top_k()), SAMP_E_RANGE);
        assert_status(samp_status(chain, &field), SAMP_E_RANGE);
        assert_text(field, "i");
        assert_num(samp_chain_n(chain), 1);
    }
    samp_sampler *dist = make_dist(), *chain = samp_chain_init(), *other = samp_chain_init(), *bad;
    assert_status(samp_chain_insert(NULL, 0, make_top_k()), SAMP_E_NULL);
    assert_status(samp_chain_insert(dist, 0, make_top_k()), SAMP_E_RANGE);
    assert_ok(samp_chain_insert(chain, 0, dist));
    assert_status(samp_chain_insert(other, 0, dist), SAMP_E_RANGE); /* in a chain */
    assert_status(samp_chain_insert(chain, 0, chain), SAMP_E_RANGE);
    assert_ok(samp_status(chain, NULL) | samp_status(other, NULL));
    assert_ok(samp_set_rng(chain, SAMP_RNG_MT19937));
    bad = samp_init_top_p(2.0f, 1);
    assert_status(samp_chain_insert(chain, 0, bad), SAMP_E_RANGE);
    assert_ptr_equal(samp_chain_get(chain, 0), bad);
    assert_status(samp_chain_insert(chain, 0, NULL), SAMP_E_NULL);
    samp_free(chain);
    samp_free(other);
}

/* Behind what selects nothing may cut; what is off, selects, or is the user's may stand there, and what is in front of
   the chain in another one counts as well. Each chain draws, or is refused when it is made. */
TEST(test_misplaced)
{
    float logits[N];
    row(logits, 5);
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t j = 0; j < N_SELECTORS; j++)
            for (int nested = 0; nested < 4; nested++)
                for (size_t k = 0; k < N_ALL + 3; k++) {
                    samp_sampler *outer = samp_chain_init(), *inner = outer, *s;
                    bool cuts = k < N_NOT_SELECTING;
                    const char *field = NULL;
                    assert_ok(samp_set_rng(outer, (samp_rng_kind)kind));
                    assert_ok(samp_chain_add(outer, selectors[j]()));
                    if (nested & 1) assert_ok(samp_chain_add(outer, inner = samp_chain_init()));
                    s = k < N_ALL        ? all[k]()
                        : k == N_ALL     ? make_custom()
                        : k == N_ALL + 1 ? samp_init_top_p(1.0f, 1)
                                         : samp_chain_init();
                    if (nested & 2) {
                        samp_sampler *chain = samp_chain_init();
                        assert_ok(samp_chain_add(chain, s));
                        s = chain;
                    }
                    cuts = cuts && kind == SAMP_RNG_PHILOX;
                    assert_status(samp_chain_add(inner, s), cuts ? SAMP_E_UNSUPPORTED : SAMP_OK);
                    assert_status(samp_status(outer, &field), cuts ? SAMP_E_UNSUPPORTED : SAMP_OK);
                    if (cuts) assert_text(field, "place");
                    samp_token token = samp_sample(outer, logits, N);
                    if (cuts)
                        assert_status(token, SAMP_E_UNSUPPORTED);
                    else if (kind == SAMP_RNG_PHILOX || k >= N_NOT_SELECTING) /* else the index may be gone */
                        assert_in_range(token, 0, N - 1);
                    samp_free(outer);
                }
    own_sampler *chain = samp_chain_init(); /* another one selects behind it */
    assert_ok(samp_chain_add(chain, make_top_k()));
    assert_ok(samp_chain_insert(chain, 0, make_greedy()));
    assert_ok(samp_chain_add(chain, make_temp()));
    assert_ok(samp_chain_add(chain, make_dist()));
    assert_true(samp_sample(chain, logits, N) >= 0);
}

TEST(test_no_cycles)
{
    samp_token want[20], got[20];
    samp_sampler *outer = samp_chain_init(), *inner = samp_chain_init(), *deep = samp_chain_init(), *copy;
    samp_sampler *s = make_dist();
    assert_ok(samp_chain_add(outer, inner));
    assert_ok(samp_chain_add(inner, deep));
    assert_ok(samp_chain_add(deep, s));
    copy = samp_clone(outer);
    take(copy, want, 20, 0);
    samp_free(copy);
    assert_status(samp_chain_add(deep, s), SAMP_E_RANGE);
    assert_status(samp_chain_add(inner, s), SAMP_E_RANGE);
    assert_status(samp_chain_add(outer, s), SAMP_E_RANGE);
    assert_status(samp_chain_add(outer, inner), SAMP_E_RANGE);
    assert_status(samp_chain_add(outer, deep), SAMP_E_RANGE);
    assert_status(samp_chain_add(outer, outer), SAMP_E_RANGE);
    assert_status(samp_chain_add(inner, outer), SAMP_E_RANGE);
    assert_status(samp_chain_add(deep, outer), SAMP_E_RANGE);
    assert_status(samp_chain_add(deep, inner), SAMP_E_RANGE);
    assert_status(samp_chain_add(s, deep), SAMP_E_RANGE); /* no chain at all, but its members' memory is needed */
    assert_status(samp_chain_add(s, outer), SAMP_E_RANGE);
    assert_status(samp_chain_add(s, s), SAMP_E_RANGE);
    assert_num(samp_chain_n(outer), 1);
    assert_num(samp_chain_n(inner), 1);
    assert_num(samp_chain_n(deep), 1);
    assert_true(samp_chain_get(outer, 0) == inner && samp_chain_get(inner, 0) == deep &&
                samp_chain_get(deep, 0) == s);
    assert_ok(samp_status(outer, NULL));
    take(outer, got, 20, 0);
    same_tokens(got, want, 20, "after refused additions");

    samp_sampler *other = samp_chain_init(); /* a sampler has one owner, until it is taken out */
    assert_status(samp_chain_add(other, s), SAMP_E_RANGE);
    assert_status(samp_chain_add(other, deep), SAMP_E_RANGE);
    assert_num(samp_chain_n(other), 0);
    samp_sampler *no_chain = make_dist();
    assert_status(samp_chain_add(no_chain, s), SAMP_E_RANGE); /* nor is it freed */
    assert_status(samp_chain_add(NULL, s), SAMP_E_NULL);
    samp_free(no_chain);
    assert_true(samp_chain_remove(deep, 0) == s);
    assert_ok(samp_chain_add(other, s));
    copy = samp_clone(samp_chain_get(other, 0)); /* a copy has none */
    assert_ok(samp_chain_add(deep, copy));
    take(outer, got, 20, 0);
    samp_free(other);
    samp_free(outer);
}

/* What is not a chain takes nothing; the sampler is freed all the same. */
TEST(test_not_a_chain)
{
    samp_sampler *s = make_top_k();
    samp_token token;
    assert_status(samp_chain_add(s, make_dist()), SAMP_E_RANGE);
    assert_status(samp_chain_add(NULL, make_dist()), SAMP_E_NULL);
    assert_ok(samp_status(s, NULL));
    assert_num(samp_chain_n(s), 0);
    assert_true(samp_chain_get(s, 0) == NULL);
    assert_true(samp_chain_remove(s, 0) == NULL);
    assert_num(samp_prev(s, &token, 1), 0);
    assert_true(samp_last(s) < 0);
    assert_status(samp_set_n_prev(s, 3), SAMP_E_RANGE);
    samp_free(s);
    own_sampler *chain = samp_chain_init();
    assert_status(samp_chain_add(chain, NULL), SAMP_E_NULL); /* as when a constructor had no memory */
    assert_ok(samp_chain_add(chain, make_dist()));
    assert_status(samp_status(chain, NULL), SAMP_E_NULL);
}

/* ------------------------------------------------------------------------------------ the user's samplers */

typedef struct counting {
    int accepted, applied, reset, cloned, freed;
    samp_token last;
    size_t size;
    struct counting *parent; /* a copy counts its end there */
} counting;

static const char *counting_name(const samp_sampler *s)
{
    (void)s;
    return "my-own";
}
static int counting_accept(samp_sampler *s, samp_token token)
{
    counting *c = (counting *)s->ctx;
    c->accepted++;
    c->last = token;
    return SAMP_OK;
}
static int counting_apply(samp_sampler *s, samp_token_data_array *cur)
{
    counting *c = (counting *)s->ctx;
    c->applied++;
    c->size = cur->size;
    for (size_t i = 0; i < cur->size; i++) /* bans odd tokens */
        if (cur->data[i].id & 1) cur->data[i].logit = -INFINITY;
    cur->sorted = false;
    return SAMP_OK;
}
static void counting_reset(samp_sampler *s) { ((counting *)s->ctx)->reset++; }
static const samp_sampler_i counting_i;
static samp_sampler *counting_clone(const samp_sampler *s)
{
    counting *c = (counting *)s->ctx, *copy = (counting *)malloc(sizeof *copy);
    assert_non_null(copy);
    memset(copy, 0, sizeof *copy);
    copy->parent = c;
    c->cloned++;
    return samp_init_custom(s->iface, copy);
}
static void counting_free(samp_sampler *s)
{
    counting *c = (counting *)s->ctx;
    c->freed++;
    if (c->parent) {
        c->parent->freed += 100;
        free(c);
    }
}
static const samp_sampler_i counting_i = {
    counting_name, counting_accept, counting_apply, counting_reset, counting_clone, counting_free, NULL, NULL,
};

static int ban_even_apply(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    for (size_t i = 0; i < cur->size; i++)
        if (!(cur->data[i].id & 1)) cur->data[i].logit = -INFINITY;
    cur->sorted = false;
    return SAMP_OK;
}

/* takes the last candidate of the array, whatever it is */
static int last_apply(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    cur->selected = (int64_t)cur->size - 1;
    return SAMP_OK;
}

TEST(test_custom_is_called)
{
    counting c;
    memset(&c, 0, sizeof c);
    samp_sampler *chain = samp_chain_init(), *mine = samp_init_custom(&counting_i, &c), *copy;
    float logits[N];
    assert_ok(samp_status(mine, NULL));
    assert_text(samp_name(mine), "my-own");
    assert_true(mine->iface == &counting_i);
    assert_true(mine->ctx == &c);
    assert_ok(samp_chain_add(chain, samp_init_top_k(20)));
    assert_ok(samp_chain_add(chain, mine));
    assert_ok(samp_chain_add(chain, make_dist()));
    for (int i = 0; i < 50; i++) {
        row(logits, (uint64_t)i);
        samp_token token = samp_sample(chain, logits, N);
        assert_true(token >= 0 && !(token & 1));
        assert_num(c.applied, i + 1);
        assert_num(c.accepted, i + 1);
        assert_num(c.last, token);
        assert_num(c.size, 20);
    }
    assert_true(samp_draw(chain, logits, N) >= 0);
    assert_num(c.applied, 51);
    assert_num(c.accepted, 50);
    assert_ok(samp_accept(chain, 7));
    assert_num(c.accepted, 51);
    assert_num(c.last, 7);
    samp_reset(chain);
    assert_num(c.reset, 1);
    assert_num(c.cloned, 0);
    copy = samp_clone(chain);
    assert_num(c.cloned, 1);
    assert_true(samp_sample(copy, logits, N) >= 0);
    assert_num(c.applied, 51); /* the copy has its own context */
    samp_free(copy);
    assert_num(c.freed, 100);
    samp_free(chain);
    assert_num(c.freed, 101);

    /* alone, not in a chain */
    memset(&c, 0, sizeof c);
    mine = samp_init_custom(&counting_i, &c);
    samp_token_data data[N];
    samp_token_data_array cur = test_array(data, logits, N);
    assert_ok(samp_apply(mine, &cur));
    assert_ok(samp_accept(mine, 3));
    samp_reset(mine);
    samp_free(mine);
    assert_true(c.applied == 1 && c.accepted == 1 && c.reset == 1 && c.freed == 1 && c.last == 3);

    /* only apply, without a context; a name is made up */
    samp_sampler_i bare;
    memset(&bare, 0, sizeof bare);
    bare.apply = ban_even_apply;
    mine = samp_init_custom(&bare, NULL);
    assert_text(samp_name(mine), "custom");
    chain = new_chain(mine, make_greedy());
    copy = samp_clone(chain);
    assert_ok(samp_status(copy, NULL));
    for (int i = 0; i < 10; i++) {
        row(logits, (uint64_t)i);
        samp_token token = samp_sample(chain, logits, N);
        assert_true(token & 1);
        assert_num(samp_sample(copy, logits, N), token);
        assert_ok(samp_accept(chain, 1));
    }
    samp_reset(chain);
    samp_free(copy);
    samp_free(chain);

    /* one that selects */
    bare.apply = last_apply;
    mine = samp_init_custom(&bare, NULL);
    row(logits, 3);
    assert_num(samp_sample(mine, logits, N), N - 1);
    chain = new_chain(samp_init_top_k(10), mine);
    samp_token_data_array sorted = test_array(data, logits, N);
    test_sort(&sorted);
    assert_num(samp_sample(chain, logits, N), data[9].id);
    assert_u64(samp_get_position(chain), 0); /* nothing in it draws random numbers */
    samp_free(chain);
}

/* accept reaches every member at any depth: the token is penalised at the next call, drawn here or not */
TEST(test_accept_reaches_all)
{
    counting a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    samp_sampler *outer = samp_chain_init(), *inner = samp_chain_init();
    assert_ok(samp_chain_add(outer, samp_init_custom(&counting_i, &a)));
    assert_ok(samp_chain_add(outer, inner));
    assert_ok(samp_chain_add(inner, samp_init_penalties(4, 1.0f, 0.0f, 100.0f)));
    assert_ok(samp_chain_add(inner, samp_init_custom(&counting_i, &b)));
    assert_ok(samp_chain_add(outer, make_greedy()));
    float logits[N];
    for (int i = 0; i < N; i++) logits[i] = -(float)i;
    assert_num(samp_draw(outer, logits, N), 0);
    assert_num(samp_draw(outer, logits, N), 0); /* drawing alone tells nobody */
    assert_ok(samp_accept(outer, 0));
    assert_num(samp_draw(outer, logits, N), 2);
    assert_num(samp_sample(outer, logits, N), 2);
    assert_num(samp_sample(outer, logits, N), 4);
    assert_num(samp_sample(outer, logits, N), 6);
    assert_num(samp_sample(outer, logits, N), 8); /* 0 has left the window of 4 now */
    assert_num(samp_sample(outer, logits, N), 0);
    assert_num(a.accepted, 6);
    assert_num(b.accepted, 6);
    assert_num(b.last, 0);
    samp_free(outer);
    assert_num(a.freed + b.freed, 2);
}

/* ------------------------------------------------------------------------------------------- reset, clone */

/* reset = as new, after any number of steps; clone = continues the same, from any step; they do not disturb
   each other. Every sampler on its own chain, and all in one. */
static samp_sampler *chain_of(size_t which, int kind)
{
    if (which >= N_NOT_SELECTING) return chain_of_stages(all[which], (samp_rng_kind)kind);
    samp_sampler *chain = chain_with(which);
    assert_ok(samp_set_rng(chain, (samp_rng_kind)kind));
    return chain;
}

TEST(test_reset_and_clone)
{
    enum { STEPS = 60 };
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t which = 0; which < N_ALL; which++) {
            samp_token fresh[STEPS], again[STEPS], x[STEPS], y[STEPS], prev_x[64], prev_y[64];
            samp_sampler *s = chain_of(which, kind), *copy, *copy_2;
            take(s, fresh, STEPS, 0);
            samp_reset(s);
            assert_u64(samp_get_position(s), 0);
            assert_status(samp_last(s), SAMP_E_EMPTY);
            assert_u64(samp_perf(s).n_sample, 0);
            assert_u64(samp_perf(s).n_accept, 0);
            take(s, again, STEPS, 0);
            same_tokens(again, fresh, STEPS, samp_name(samp_chain_get(s, 0)));
            for (int at = 0; at <= 21; at += 7) {
                samp_reset(s);
                take(s, again, at, 0);
                float logits[N];
                row(logits, 77);
                if (at == 14) samp_draw(s, logits, N); /* a pending draw is state too */
                copy = samp_clone(s);
                assert_ok(samp_status(copy, NULL));
                assert_u64(samp_get_position(copy), samp_get_position(s));
                assert_u64(samp_get_seed(copy), samp_get_seed(s));
                assert_num(samp_chain_n(copy), samp_chain_n(s));
                size_t n = samp_prev(s, prev_x, 64);
                assert_num(samp_prev(copy, prev_y, 64), n);
                assert_memory_equal(prev_x, prev_y, n * sizeof *prev_x);
                copy_2 = samp_clone(copy); /* a clone of a clone */
                take(s, x, STEPS, 100);
                take(copy, y, STEPS, 100);
                same_tokens(y, x, STEPS, samp_name(samp_chain_get(s, 0)));
                samp_free(s); /* nothing is shared */
                s = copy;
                take(copy_2, y, STEPS, 100);
                same_tokens(y, x, STEPS, samp_name(samp_chain_get(s, 0)));
                samp_free(copy_2);
            }
            samp_reset(s); /* and a clone resets to the beginning, not to its birth */
            take(s, again, STEPS, 0);
            same_tokens(again, fresh, STEPS, samp_name(samp_chain_get(s, 0)));
            samp_free(s);
        }
}

/* The same of samplers outside of chains, on arrays. */
TEST(test_reset_and_clone_alone)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t which = 0; which < N_ALL; which++) {
            samp_sampler *s = all[which](), *copy = NULL, *reset;
            assert_ok(samp_set_rng(s, (samp_rng_kind)kind));
            reset = samp_clone(s);
            for (int i = 0; i < 30; i++) samp_accept(reset, i % 3);
            for (int i = 0; i < 45; i++) {
                samp_token_data a[N], b[N];
                float logits[N];
                row(logits, (uint64_t)i);
                samp_token_data_array x = test_array(a, logits, N), y = test_array(b, logits, N);
                if (i == 15) {
                    samp_reset(reset); /* reset is as s was at the beginning */
                    samp_reset(s);
                    copy = samp_clone(s);
                }
                assert_ok(samp_apply(s, &x));
                if (i >= 15) {
                    samp_sampler *other = i & 1 ? copy : reset;
                    assert_ok(samp_apply(other, &y));
                    assert_num(y.size, x.size);
                    assert_num(y.selected, x.selected);
                    assert_memory_equal(a, b, x.size * sizeof *a);
                    y = test_array(b, logits, N);
                    assert_ok(samp_apply(i & 1 ? reset : copy, &y));
                    assert_memory_equal(a, b, x.size * sizeof *a);
                }
                samp_token token = x.selected >= 0 ? a[x.selected].id : (samp_token)(i % 5);
                if (i % 4 == 3) continue;
                assert_ok(samp_accept(s, token));
                if (i >= 15) {
                    assert_ok(samp_accept(copy, token));
                    assert_ok(samp_accept(reset, token));
                }
            }
            samp_free(s);
            samp_free(copy);
            samp_free(reset);
        }
}

/* ---------------------------------------------------------------------------------------- the last tokens */

TEST(test_prev)
{
    own_sampler *chain = samp_chain_init();
    samp_token out[128];
    assert_num(samp_prev(chain, out, 128), 0);
    assert_status(samp_last(chain), SAMP_E_EMPTY);
    for (samp_token t = 0; t < 100; t++) {
        assert_ok(samp_accept(chain, 1000 + t));
        assert_num(samp_last(chain), 1000 + t);
        for (size_t ask = 0; ask <= 128; ask += 8) {
            size_t have = (size_t)t + 1 < 64 ? (size_t)t + 1 : 64, n = ask < have ? ask : have;
            out[n] = -99;
            assert_num(samp_prev(chain, out, ask), n);
            for (size_t i = 0; i < n; i++) assert_num(out[i], 1000 + t - (samp_token)(n - 1 - i));
            assert_num(out[n], -99); /* not one more */
        }
    }
    assert_num(samp_prev(chain, NULL, 0), 0);
    assert_num(samp_prev(chain, NULL, 5), 0);
    assert_ok(samp_set_n_prev(chain, 3));
    assert_num(samp_prev(chain, out, 128), 0); /* forgotten */
    assert_status(samp_last(chain), SAMP_E_EMPTY);
    for (samp_token t = 0; t < 10; t++) assert_ok(samp_accept(chain, t));
    assert_num(samp_prev(chain, out, 128), 3);
    assert_true(out[0] == 7 && out[1] == 8 && out[2] == 9);
    samp_sampler *copy = samp_clone(chain);
    assert_ok(samp_accept(copy, 10));
    assert_num(samp_last(chain), 9);
    assert_num(samp_prev(copy, out, 128), 3);
    assert_true(out[0] == 8 && out[1] == 9 && out[2] == 10);
    samp_free(copy);
    samp_reset(chain); /* as new, but still 3 */
    assert_status(samp_last(chain), SAMP_E_EMPTY);
    for (samp_token t = 0; t < 10; t++) assert_ok(samp_accept(chain, t));
    assert_num(samp_prev(chain, out, 128), 3);
    assert_ok(samp_set_n_prev(chain, 1));
    for (samp_token t = 0; t < 10; t++) assert_ok(samp_accept(chain, t));
    assert_num(samp_prev(chain, out, 128), 1);
    assert_num(out[0], 9);
    assert_ok(samp_set_n_prev(chain, 0));
    assert_ok(samp_accept(chain, 4));
    assert_num(samp_prev(chain, out, 128), 0);
    assert_status(samp_last(chain), SAMP_E_EMPTY);
    samp_free(chain);

    /* what samp_sample drew is accepted; what samp_draw drew is not */
    chain = small_chain(5);
    take(chain, out, 10, 0);
    samp_token seen[64];
    float logits[N];
    row(logits, 0);
    samp_draw(chain, logits, N);
    assert_num(samp_prev(chain, seen, 64), 10);
    same_tokens(seen, out, 10, "prev");
}

/* --------------------------------------------------------------------------------------- positions, seeds */

TEST(test_position)
{
    for (size_t k = 0; k < N_SELECTORS; k++) {
        bool draws = selectors[k] != make_greedy;
        own_sampler *s = samp_chain_init();
        float logits[N];
        assert_ok(samp_chain_add(s, make_temp()));
        assert_ok(samp_chain_add(s, selectors[k]()));
        assert_u64(samp_get_position(s), 0);
        for (uint64_t i = 0; i < 20; i++) {
            row(logits, i);
            samp_token_data data[N];
            samp_token_data_array cur = test_array(data, logits, N);
            uint64_t before = samp_get_position(s);
            assert_u64(before, draws ? i : 0);
            if (i % 3 == 0)
                assert_true(samp_sample(s, logits, N) >= 0);
            else if (i % 3 == 1)
                assert_true(samp_draw(s, logits, N) >= 0);
            else
                assert_ok(samp_apply(s, &cur));
            uint64_t after = samp_get_position(s);
            assert_u64(after, before + (draws ? 1 : 0));
            assert_ok(samp_accept(s, 3)); /* accepting does not move it */
            assert_u64(samp_get_position(s), after);
        }
    }
    /* two that draw in one chain: one position all the same; a row with one unmasked token moves it too */
    own_sampler *s = samp_chain_init();
    float logits[N];
    assert_ok(samp_chain_add(s, make_xtc()));
    assert_ok(samp_chain_add(s, make_dist()));
    for (int i = 0; i < N; i++) logits[i] = -INFINITY;
    logits[9] = 1;
    for (uint64_t i = 0; i < 5; i++) {
        assert_num(samp_sample(s, logits, N), 9);
        assert_u64(samp_get_position(s), i + 1);
    }
    assert_num(samp_sample(s, logits + 9, 1), 0);
    assert_u64(samp_get_position(s), 6);
    samp_free(s);
    s = new_chain(make_xtc(), make_greedy()); /* xtc alone draws */
    row(logits, 0);
    assert_true(samp_sample(s, logits, N) >= 0);
    assert_u64(samp_get_position(s), 1);
}

/* Set back, the same token comes again; any position, in any order; at the far end too. */
TEST(test_set_position)
{
    enum { STEPS = 40 };
    samp_token first[STEPS];
    float logits[N];
    samp_sampler *s = small_chain(77), *fresh;
    row(logits, 5);
    for (int i = 0; i < STEPS; i++) first[i] = samp_sample(s, logits, N);
    for (int i = STEPS - 1; i >= 0; i--) {
        assert_ok(samp_set_position(s, (uint64_t)i));
        assert_u64(samp_get_position(s), (uint64_t)i);
        assert_num(samp_sample(s, logits, N), first[i]);
        assert_u64(samp_get_position(s), (uint64_t)i + 1);
    }
    fresh = small_chain(77); /* jumped to, without having been there */
    assert_ok(samp_set_position(fresh, 25));
    for (int i = 25; i < STEPS; i++) assert_num(samp_sample(fresh, logits, N), first[i]);
    samp_reset(fresh);
    assert_u64(samp_get_position(fresh), 0);
    assert_num(samp_sample(fresh, logits, N), first[0]);
    samp_free(fresh);
    assert_true(differing(first, first + 1, STEPS - 1) > 5); /* not the same bits at each position */

    /* all 64 bits count */
    static const uint64_t far_away[] = { 1u, (uint64_t)1 << 32, ((uint64_t)1 << 32) + 1, (uint64_t)1 << 63,
                                         UINT64_MAX };
    samp_token runs[TEST_COUNT(far_away)][24];
    for (size_t i = 0; i < TEST_COUNT(far_away); i++)
        for (uint64_t j = 0; j < 24; j++) {
            assert_ok(samp_set_position(s, far_away[i] - 24 + j));
            assert_u64(samp_get_position(s), far_away[i] - 24 + j);
            runs[i][j] = samp_sample(s, logits, N);
            assert_true(runs[i][j] >= 0);
        }
    for (size_t i = 0; i < TEST_COUNT(far_away); i++)
        for (size_t j = 0; j < i; j++) assert_true(differing(runs[i], runs[j], 24) > 5);
    samp_free(s);

    /* a nested chain's members follow the outermost position; alone they keep their own */
    samp_sampler *outer = samp_chain_init(), *inner = small_chain(77);
    assert_ok(samp_chain_add(outer, inner));
    assert_ok(samp_set_position(outer, 10));
    assert_num(samp_sample(outer, logits, N), first[10]);
    assert_num(samp_sample(outer, logits, N), first[11]);
    samp_free(outer);
    s = samp_init_dist(3);
    assert_ok(samp_set_position(s, 5));
    samp_token five = samp_sample(s, logits, N), six = samp_sample(s, logits, N);
    assert_u64(samp_get_position(s), 7);
    assert_ok(samp_set_position(s, 5));
    assert_num(samp_sample(s, logits, N), five);
    assert_num(samp_sample(s, logits, N), six);
    samp_free(s);
}

TEST(test_seeds)
{
    enum { STEPS = 60 };
    static const uint64_t seeds[] = { 0, 1, 2, (uint64_t)1 << 32, UINT32_MAX, UINT64_MAX, (uint64_t)1 << 63 };
    samp_token runs[TEST_COUNT(seeds)][STEPS], again[STEPS];
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < TEST_COUNT(seeds); i++) {
            own_sampler *s = small_chain(seeds[i]);
            assert_ok(samp_set_rng(s, (samp_rng_kind)kind));
            assert_u64(samp_get_seed(s), seeds[i]); /* used as given, none of them is "random" */
            take(s, runs[i], STEPS, 0);
            samp_free(s);
            s = small_chain(seeds[i]);
            assert_ok(samp_set_rng(s, (samp_rng_kind)kind));
            take(s, again, STEPS, 0);
            same_tokens(again, runs[i], STEPS, "seed");
        }
        for (size_t i = 0; i < TEST_COUNT(seeds); i++)
            for (size_t j = 0; j < i; j++) {
                bool low_bits_equal = (uint32_t)seeds[i] == (uint32_t)seeds[j];
                int differ = differing(runs[i], runs[j], STEPS);
                if (kind == SAMP_RNG_MT19937 && low_bits_equal)
                    assert_num(differ, 0);
                else
                    assert_true(differ > 15);
            }
    }
    /* the last that draws */
    samp_sampler *s = samp_chain_init(), *inner = samp_chain_init();
    assert_u64(samp_get_seed(s), 0);
    assert_ok(samp_chain_add(s, make_temp()));
    assert_u64(samp_get_seed(s), 0);
    assert_ok(samp_chain_add(s, samp_init_xtc(0.5f, 0.1f, 0, 31)));
    assert_u64(samp_get_seed(s), 31);
    assert_ok(samp_chain_add(s, samp_init_xtc(0, 0.1f, 0, 41))); /* off */
    assert_u64(samp_get_seed(s), 31);
    assert_ok(samp_chain_add(s, inner));
    assert_ok(samp_chain_add(inner, samp_init_mirostat_v2(32, 5, 0.1f)));
    assert_u64(samp_get_seed(s), 32);
    assert_ok(samp_chain_add(s, make_greedy()));
    assert_u64(samp_get_seed(s), 32);
    assert_ok(samp_chain_add(s, samp_init_adaptive_p(0.5f, 0.5f, 33)));
    assert_u64(samp_get_seed(s), 33);
    assert_ok(samp_chain_add(s, samp_init_mirostat(10, 34, 5, 0.1f, 100)));
    assert_u64(samp_get_seed(s), 34);
    assert_ok(samp_chain_add(s, samp_init_dist((uint64_t)35 << 40)));
    assert_u64(samp_get_seed(s), (uint64_t)35 << 40);
    samp_free(s);
    s = samp_init_dist(36);
    assert_u64(samp_get_seed(s), 36);
    samp_free(s);
    s = make_greedy();
    assert_u64(samp_get_seed(s), 0);
    samp_free(s);
    for (int off = 0; off < 3; off++) {
        s = samp_init_xtc(off == 1 ? 0 : 0.5f, off == 2 ? 0.6f : 0.1f, 0, 37);
        assert_u64(samp_get_seed(s), off ? 0 : 37);
        samp_free(s);
    }
}

/* ------------------------------------------------------------------------------------------- samp_set_rng */

/* llama.cpp's mu may become an infinity or NaN; with our arithmetic it begins anew. */
TEST(test_set_rng_mends_mu)
{
    for (int v2 = 0; v2 < 2; v2++)
        for (int steps = 1; steps < 5; steps++) {
            samp_sampler *s = v2 ? samp_init_mirostat_v2(24, 3.0f, FLT_MAX)
                                 : samp_init_mirostat(N, 23, 3.0f, FLT_MAX, 100);
            own_sampler *chain = samp_chain_init(), *twin = samp_chain_init();
            samp_token want[9], got[9];
            assert_ok(samp_chain_add(chain, s));
            assert_ok(samp_set_rng(chain, SAMP_RNG_MT19937));
            take(chain, got, steps, 0);
            bool finite = inside_mu(s) >= -FLT_MAX && inside_mu(s) <= FLT_MAX;
            if (steps == 4) assert_true(!finite);
            assert_ok(samp_chain_add(twin, test_nothing())); /* goes step by step */
            assert_ok(samp_set_rng(chain, SAMP_RNG_PHILOX));
            if (!finite) assert_true(inside_mu(s) == 6.0f);
            assert_ok(samp_chain_add(twin, samp_clone(s)));
            take(chain, got, 9, 50);
            take(twin, want, 9, 50);
            same_tokens(got, want, 9, "after an overflow of mu");
        }
}

TEST(test_set_rng)
{
    enum { STEPS = 50 };
    samp_token philox[STEPS], mt[STEPS], got[STEPS];
    samp_sampler *s = chain_of_stages(make_dist, SAMP_RNG_PHILOX);
    take(s, philox, STEPS, 0);
    samp_free(s);
    s = chain_of_stages(make_dist, SAMP_RNG_MT19937);
    take(s, mt, STEPS, 0);
    assert_true(differing(philox, mt, STEPS) > 5);
    samp_free(s);

    /* set first or last, members added before or after, one inside a chain: the same */
    samp_sampler *before = samp_chain_init(), *inner;
    for (size_t i = 0; i < N_STAGES; i++) assert_ok(samp_chain_add(before, stages[i]()));
    assert_ok(samp_chain_add(before, make_dist()));
    assert_ok(samp_set_rng(before, SAMP_RNG_MT19937));
    take(before, got, STEPS, 0);
    same_tokens(got, mt, STEPS, "rng set at the end");
    samp_free(before);
    before = samp_chain_init();
    inner = samp_chain_init();
    assert_ok(samp_set_rng(before, SAMP_RNG_MT19937));
    for (size_t i = 0; i < N_STAGES; i++) assert_ok(samp_chain_add(i < 5 ? before : inner, stages[i]()));
    assert_ok(samp_chain_add(inner, make_dist()));
    assert_ok(samp_chain_add(before, inner)); /* its members are set to their chain's kind */
    take(before, got, STEPS, 0);
    same_tokens(got, mt, STEPS, "rng set at the beginning");
    /* back, and the source starts at the seed again */
    assert_ok(samp_set_rng(before, SAMP_RNG_PHILOX));
    samp_reset(before);
    take(before, got, STEPS, 0);
    same_tokens(got, philox, STEPS, "rng set back");
    samp_free(before);

    s = small_chain(9);
    assert_ok(samp_set_rng(s, SAMP_RNG_MT19937));
    take(s, mt, STEPS, 0);
    assert_ok(samp_set_rng(s, SAMP_RNG_MT19937)); /* the same kind: starts at the seed */
    take(s, got, STEPS, 0);
    same_tokens(got, mt, STEPS, "rng set again");
    /* only Philox uses the position */
    assert_ok(samp_set_rng(s, SAMP_RNG_MT19937));
    assert_ok(samp_set_position(s, 1000));
    take(s, got, STEPS, 0);
    same_tokens(got, mt, STEPS, "position under mt19937");
    samp_free(s);
    s = small_chain(9);
    take(s, philox, STEPS, 0);
    assert_ok(samp_set_rng(s, SAMP_RNG_PHILOX));
    take(s, got, STEPS, 0);
    same_tokens(got, philox, STEPS, "philox set again");
    samp_free(s);
}

/* What leaves a chain keeps the chain's source, until another chain takes it. */
TEST(test_removed_rng)
{
    enum { STEPS = 40 };
    samp_token want[2][STEPS], got[STEPS];
    for (int kind = 0; kind < KINDS; kind++) {
        own_sampler *s = make_dist();
        assert_ok(samp_set_rng(s, (samp_rng_kind)kind));
        take(s, want[kind], STEPS, 0);
    }
    assert_true(differing(want[0], want[1], STEPS) > 5);
    for (int kind = 0; kind < KINDS; kind++) {
        samp_sampler *chain = samp_chain_init(), *other = samp_chain_init(), *s = make_dist();
        assert_ok(samp_set_rng(chain, (samp_rng_kind)kind));
        assert_ok(samp_set_rng(other, (samp_rng_kind)!kind));
        assert_ok(samp_chain_add(chain, s));
        assert_true(samp_chain_remove(chain, 0) == s);
        take(s, got, STEPS, 0);
        same_tokens(got, want[kind], STEPS, "removed");
        assert_ok(samp_chain_add(other, s));
        take(other, got, STEPS, 0);
        same_tokens(got, want[!kind], STEPS, "taken by another chain");
        samp_free(chain);
        samp_free(other);
    }
}

/* Masks the first candidate and raises the last one, the array as in order as before: *ctx tells whether it says so. */
static int unsorted_apply(samp_sampler *s, samp_token_data_array *cur)
{
    if (cur->size > 2) {
        cur->data[0].logit = -INFINITY;
        cur->data[cur->size - 1].logit += 3.0f;
    }
    if (!*(const bool *)s->ctx) cur->sorted = false;
    return SAMP_OK;
}

/* Whether an array that is not sorted says that it is makes no difference, be it a user's sampler that leaves it so, or
   llama.cpp's arithmetic before a member of the other kind, or the caller. */
TEST(test_sorted_is_not_believed)
{
    static const samp_sampler_i iface = { .apply = unsorted_apply };
    static bool lies[2] = { false, true };
    enum { MAKERS = 9 };
    for (int i = 0; i < 4 * MAKERS; i++) {
        samp_token token[2][20];
        samp_token_data data[2][50];
        for (int lie = 0; lie < 2; lie++) {
            samp_sampler *made[MAKERS] = { samp_init_top_p(0.99f, 0),
                                           samp_init_min_p(0.2f, 3),
                                           samp_init_typical(0.9f, 1),
                                           samp_init_tail_free(0.9f, 1),
                                           samp_init_top_h(0.4f, 1),
                                           samp_init_min_k(3.0f),
                                           samp_init_mirostat(50, 7, 5.0f, 0.1f, 100),
                                           samp_init_adaptive_p(0.5f, 0.9f, 7),
                                           samp_init_top_k(5) };
            samp_sampler *s = samp_chain_init(), *last = made[i % MAKERS];
            float logits[N];
            row(logits, 3);
            assert_ok(samp_set_rng(s, i / MAKERS == 2 ? SAMP_RNG_MT19937 : SAMP_RNG_PHILOX));
            if (i / MAKERS != 1) assert_ok(samp_chain_add(s, samp_init_top_k(20)));
            if (i / MAKERS != 1) assert_ok(samp_chain_add(s, samp_init_custom(&iface, &lies[lie])));
            assert_ok(samp_chain_add(s, last));
            if (i / MAKERS == 2) assert_ok(samp_set_rng(last, SAMP_RNG_PHILOX));
            if (i / MAKERS == 3) { /* behind what selects it stands only if it was there first */
                int32_t at = samp_chain_n(s) - 1;
                assert_ptr_equal(samp_chain_remove(s, at), last);
                assert_ok(samp_chain_add(s, samp_init_temp(0.7f)));
                assert_ok(samp_chain_insert(s, at, last));
            }
            for (int k = 0; k < MAKERS; k++)
                if (made[k] != last) samp_free(made[k]);
            samp_token_data_array cur = test_array(data[lie], logits, 50);
            unsorted_apply(&(samp_sampler){ .ctx = &lies[0] }, &cur);
            cur.sorted = lie && i / MAKERS != 2; /* which MT19937 believes */
            assert_ok(samp_apply(s, &cur));
            token[lie][0] = (samp_token)cur.size;
            samp_reset(s);
            if (i % MAKERS < 6 || i % MAKERS == 8) assert_ok(samp_chain_add(s, samp_init_dist(5)));
            for (int k = 1; k < 20; k++) token[lie][k] = samp_sample(s, logits, 50);
            samp_free(s);
        }
        same_tokens(token[1], token[0], 20, "an array that says that it is sorted");
        assert_memory_equal(data[1], data[0], (size_t)token[0][0] * sizeof data[0][0]);
    }
}

/* What a user's sampler must not leave. */
static int infinite_apply(samp_sampler *s, samp_token_data_array *cur)
{
    cur->data[cur->size - 1].logit = *(const float *)s->ctx;
    cur->selected = 0;
    return SAMP_OK;
}

TEST(test_custom_leaves_nan)
{
    static const samp_sampler_i iface = { .apply = infinite_apply };
    float left[3] = { NAN, INFINITY, -INFINITY }, logits[N];
    row(logits, 3);
    for (int i = 0; i < 3; i++) {
        own_sampler *s = new_chain(samp_init_top_k(4), samp_init_custom(&iface, &left[i]));
        samp_token token = samp_sample(s, logits, N);
        if (i < 2)
            assert_status(token, SAMP_E_NAN);
        else
            assert_true(token >= 0);
    }
}

/* The same in an array so long that it goes by a view, in front of a sampler and at the end: one candidate is changed. */
typedef struct spoiled {
    size_t at;
    samp_token id;
    float logit;
    int status;
} spoiled;

static int spoiling_apply(samp_sampler *s, samp_token_data_array *cur)
{
    const spoiled *by = (const spoiled *)s->ctx;
    cur->data[by->at].id = by->id;
    cur->data[by->at].logit = by->logit;
    cur->selected = 7;
    return SAMP_OK;
}

TEST(test_custom_spoils_a_long_array)
{
    enum { LONG = 1000 };
    static const samp_sampler_i iface = { .apply = spoiling_apply };
    static spoiled by[] = {
        { 500, 500, -1.0f, SAMP_OK },
        { 500, 500, NAN, SAMP_E_NAN },
        { 999, 999, INFINITY, SAMP_E_NAN },
        { 999, SAMP_MAX_VOCAB - 1, 1.0f, SAMP_OK },
        { 999, SAMP_MAX_VOCAB, 1.0f, SAMP_E_RANGE },
        { 0, -1, 1.0f, SAMP_E_RANGE },
        { 500, 5, 1.0f, SAMP_E_RANGE },
        { 500, 2000, 1.0f, SAMP_OK },
    };
    static samp_token_data data[LONG];
    float logits[LONG];
    test_row(logits, LONG, 77, 1.5, 4);
    logits[3] = 50.0f;
    for (size_t i = 0; i < 4 * TEST_COUNT(by); i++) {
        const spoiled *one = &by[i / 4];
        own_sampler *s = samp_chain_init();
        assert_ok(samp_set_rng(s, (samp_rng_kind)(i % 2)));
        assert_ok(samp_chain_add(s, samp_init_custom(&iface, &by[i / 4])));
        if (i / 2 % 2) assert_ok(samp_chain_add(s, samp_init_greedy()));
        samp_token_data_array cur = test_array(data, logits, LONG);
        assert_status(samp_apply(s, &cur), one->status);
        if (!one->status && i / 2 % 2 == 0) assert_num(cur.selected, 7);
        if (!one->status && i / 2 % 2) assert_num(cur.data[cur.selected].id, 3);
    }
}

/* A member may be given another source than its chain's; a clone keeps that. */
TEST(test_member_rng)
{
    enum { STEPS = 40 };
    samp_token x[STEPS], y[STEPS];
    for (int kind = 0; kind < KINDS; kind++) {
        samp_sampler *s = samp_chain_init(), *copy;
        assert_ok(samp_set_rng(s, (samp_rng_kind)kind));
        assert_ok(samp_chain_add(s, make_temp()));
        assert_ok(samp_chain_add(s, make_dist()));
        assert_ok(samp_set_rng(samp_chain_get(s, 1), (samp_rng_kind)!kind));
        take(s, x, STEPS, 0);
        copy = samp_clone(s);
        take(s, x, STEPS, 0);
        take(copy, y, STEPS, 0);
        same_tokens(y, x, STEPS, "clone of a chain with a member of another source");
        samp_free(samp_chain_remove(s, 1)); /* and what is added to the clone gets the chain's */
        samp_free(samp_chain_remove(copy, 1));
        assert_ok(samp_chain_add(s, make_dist()));
        assert_ok(samp_chain_add(copy, make_dist()));
        take(s, x, STEPS, 0);
        take(copy, y, STEPS, 0);
        same_tokens(y, x, STEPS, "a sampler added to the clone");
        samp_free(copy);
        samp_free(s);
    }
}

/* ----------------------------------------------------------------------------------------------- counters */

static int do_nothing(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    (void)cur;
    return SAMP_OK;
}

static const samp_sampler_i silent_i = { NULL, NULL, do_nothing, NULL, NULL, NULL, NULL, NULL };

TEST(test_perf)
{
    samp_sampler *s = small_chain(4), *copy;
    samp_token out[10];
    float logits[N];
    samp_perf_data p = samp_perf(s);
    assert_true(p.n_sample == 0 && p.n_accept == 0 && p.t_sample_ns == 0);
    take(s, out, 10, 0);
    p = samp_perf(s);
    assert_u64(p.n_sample, 10);
    assert_u64(p.n_accept, 10);
    assert_true(clock_calls >= 20);
    assert_true(p.t_sample_ns >= 50);
    row(logits, 0);
    for (int i = 0; i < 3; i++) assert_true(samp_draw(s, logits, N) >= 0);
    assert_ok(samp_accept(s, 5));
    p = samp_perf(s);
    assert_u64(p.n_sample, 13);
    assert_u64(p.n_accept, 11);
    copy = samp_clone(s);
    samp_perf_reset(s);
    p = samp_perf(s);
    assert_true(p.n_sample == 0 && p.n_accept == 0 && p.t_sample_ns == 0);
    assert_u64(samp_get_position(s), 13); /* counters only */
    assert_num(samp_last(s), 5);
    samp_token a = samp_sample(s, logits, N), b = samp_sample(copy, logits, N);
    assert_num(a, b);
    assert_u64(samp_perf(s).n_sample, 1);
    samp_free(copy);
    samp_free(s);
    /* step by step from the start, after it had begun otherwise: one draw all the same */
    s = samp_chain_init();
    assert_ok(samp_set_rng(s, SAMP_RNG_MT19937));
    assert_ok(samp_chain_add(s, samp_init_smoothing(0.3f, 1.0f)));
    assert_ok(samp_chain_add(s, samp_init_custom(&silent_i, NULL)));
    assert_ok(samp_chain_add(s, samp_init_dist(1)));
    row(logits, 0);
    logits[0] = 0.0f;
    assert_true(samp_draw(s, logits, N) >= 0);
    assert_u64(samp_perf(s).n_steps, 1);
    samp_free(s);
    s = samp_init_greedy(); /* any sampler counts */
    for (int i = 0; i < 4; i++) samp_sample(s, logits, N);
    assert_u64(samp_perf(s).n_sample, 4);
    assert_u64(samp_perf(s).n_accept, 4);
    samp_free(s);
}

static void keep_line(void *user, const char *line, size_t n)
{
    char *lines = (char *)user;
    size_t at = strlen(lines);
    assert_true(at + n + 2 < 2000);
    memcpy(lines + at, line, n);
    memcpy(lines + at + n, "\n", 2);
}

/* A line a draw, also of one that fails and of a batch's rows; none of a clone, and none when it is taken away. */
TEST(test_perf_hook)
{
    char lines[2000] = "", others[2000] = "", want[2000] = "";
    float logits[N];
    row(logits, 0);
    own_sampler *s = new_chain(samp_init_top_k(3), samp_init_dist(1));
    assert_num(samp_set_perf_hook(NULL, keep_line, lines), SAMP_E_NULL);
    assert_ok(samp_set_perf_hook(s, keep_line, lines));
    for (int i = 0; i < 3; i++) {
        uint64_t ns = samp_perf(s).t_sample_ns;
        samp_token token = i == 1 ? samp_draw(s, logits, N) : samp_sample(s, logits, N);
        sprintf(want + strlen(want), "{\"token\":%d,\"position\":%d,\"ns\":%llu,\"exact\":0,\"steps\":0}\n",
                (int)token, i + 1, (unsigned long long)(samp_perf(s).t_sample_ns - ns));
    }
    assert_text(lines, want);
    logits[1] = NAN;
    uint64_t ns = samp_perf(s).t_sample_ns;
    assert_num(samp_sample(s, logits, N), SAMP_E_NAN);
    sprintf(want + strlen(want), "{\"token\":-3,\"position\":3,\"ns\":%llu,\"exact\":0,\"steps\":0}\n",
            (unsigned long long)(samp_perf(s).t_sample_ns - ns));
    assert_text(lines, want);
    row(logits, 0);
    own_sampler *copy = samp_clone(s);
    assert_true(samp_sample(copy, logits, N) >= 0);
    assert_text(lines, want);
    assert_ok(samp_set_perf_hook(copy, keep_line, others));
    samp_logits batch = { 0 };
    batch.data = logits;
    batch.n_rows = 1;
    batch.n_vocab = batch.stride = N;
    samp_token out;
    assert_ok(samp_sample_batch(&copy, &batch, &out));
    char begins[40];
    sprintf(begins, "{\"token\":%d,\"position\":5,", (int)out);
    assert_true(!strncmp(others, begins, strlen(begins)));
    assert_ok(samp_set_perf_hook(s, NULL, NULL));
    assert_true(samp_sample(s, logits, N) >= 0);
    assert_text(lines, want);
}

/* -------------------------------------------------------------------------------------------------- names */

TEST(test_names)
{
    for (size_t k = 0; k < N_ALL; k++) {
        own_sampler *s = all[k]();
        assert_true(is_named(samp_name(s), k));
    }
    own_sampler *chain = samp_chain_init();
    assert_text(samp_name(chain), "chain");
}

/* -------------------------------------------------------------------------------------- the chain as text */

static void describes_(samp_sampler *s, const char *want, int line)
{
    static char text[4096], part[4096];
    size_t length = strlen(want);
    memset(text, 'x', sizeof text);
    test_int_(samp_describe(s, text, sizeof text), (long long)length, "the length", __FILE__, line);
    test_text_(text, want, "samp_describe", __FILE__, line);
    if (text[length + 1] != 'x') test_fail(__FILE__, line, "written behind the end");
    test_int_(samp_describe(s, NULL, 0), (long long)length, "the length asked for", __FILE__, line);
    for (size_t size = 0; size <= length + 2; size++) { /* every size: what fits, then the 0, then nothing */
        size_t n = size == 0 ? 0 : size <= length ? size - 1 : length;
        memset(part, 'x', sizeof part);
        test_int_(samp_describe(s, part, size), (long long)length, "the length, cut", __FILE__, line);
        if (memcmp(part, want, n) || (size && part[n] != 0) || part[size ? n + 1 : 0] != 'x')
            test_fail(__FILE__, line, "cut to %d: \"%.*s\"", (int)size, (int)size + 4, part);
    }
    samp_free(s);
}
#define describes(s, want) describes_((s), (want), __LINE__)

TEST(test_describe)
{
    samp_params p = samp_default_params();
    describes(samp_chain_from_params(&p, NULL),
              "logits -> ?logit-bias(n=0) -> ?penalties(last_n=64, repeat=1, freq=0, present=0)"
              " -> ?dry(multiplier=0, base=1.75, allowed_length=2, last_n=4096) -> ?top-n-sigma(n=-1) -> top-k(k=40)"
              " -> ?typical(p=1) -> top-p(p=0.95) -> min-p(p=0.05) -> ?xtc(p=0, t=0.1, seed=0) -> temp-ext(t=0.8)"
              " -> dist(seed=0)");
    p.mirostat = 2;
    p.seed = UINT64_MAX;
    describes(samp_chain_from_params(&p, NULL),
              "logits -> ?logit-bias(n=0) -> temp(t=0.8) -> mirostat-v2(tau=5, eta=0.1, seed=18446744073709551615)");
    p.mirostat = 1;
    p.n_vocab = N;
    p.temp = 1;
    p.logit_bias = some_bias;
    p.n_logit_bias = 2;
    describes(
        samp_chain_from_params(&p, NULL),
        "logits -> logit-bias(n=2) -> ?temp(t=1) -> mirostat(tau=5, eta=0.1, m=100, seed=18446744073709551615)");
    char most[64];
    snprintf(most, sizeof most, "logits -> min-p(p=0.5, min_keep=%zu)", SIZE_MAX);
    describes(samp_init_min_p(0.5f, (size_t)-1), most);
    p = samp_default_params();
    p.order = "tfs_z;xtc;temperature;min_p;temperature;top_p";
    p.min_keep = 3;
    p.tfs_z = 0.97f;
    p.xtc_probability = 0.5f;
    p.dynatemp_range = 0.25f;
    p.dynatemp_exponent = 1.5f;
    p.adaptive_target = 0.3f;
    p.seed = 7;
    describes(samp_chain_from_params(&p, NULL),
              "logits -> ?logit-bias(n=0) -> tail-free(z=0.97, min_keep=3) -> xtc(p=0.5, t=0.1, min_keep=3, seed=7)"
              " -> temp-ext(t=0.8, delta=0.25, exponent=1.5) -> min-p(p=0.05, min_keep=3)"
              " -> temp-ext(t=0.8, delta=0.25, exponent=1.5) -> top-p(p=0.95, min_keep=3)"
              " -> adaptive-p(target=0.3, decay=0.9, seed=7)");
    p.order = "";
    p.temp = 0;
    p.adaptive_target = -1;
    describes(samp_chain_from_params(&p, NULL), "logits -> ?logit-bias(n=0) -> greedy");

    /* chains in chains, a sampler of the user's, nothing */
    samp_sampler *outer = samp_chain_init(), *inner = samp_chain_init();
    static counting c;
    assert_ok(samp_chain_add(outer, make_softmax()));
    assert_ok(samp_chain_add(outer, inner));
    assert_ok(samp_chain_add(inner, samp_init_top_k(-5)));
    assert_ok(samp_chain_add(inner, samp_init_custom(&counting_i, &c)));
    assert_ok(samp_chain_add(outer, make_greedy()));
    describes(outer, "logits -> softmax -> [?top-k(k=-5) -> my-own] -> greedy");
    describes(samp_chain_init(), "logits");
    describes(samp_init_dist(5), "logits -> dist(seed=5)");
    describes(samp_init_penalties(5, 1.1f, -0.5f, 1e-9f),
              "logits -> penalties(last_n=5, repeat=1.1, freq=-0.5, present=1e-9)");
}

/* Is a number described as printf's %g has it, but for the exponent's sign and zeros: 1e6, 1e-5? */
static void described_as_printed(float x)
{
    char text[200], want[40];
    samp_sampler *s = samp_init_penalties(1, 2, x, 0);
    assert_true(samp_describe(s, text, sizeof text) < (int)sizeof text);
    samp_free(s);
    char *number = strstr(text, "freq=") + 5, *e;
    *strchr(number, ',') = 0;
    snprintf(want, sizeof want, "%g", (double)x);
    if ((e = strchr(want, 'e')) != NULL) snprintf(e + 1, sizeof want - (size_t)(e + 1 - want), "%d", atoi(e + 1));
    if (strcmp(number, want)) test_fail(__FILE__, __LINE__, "%s (%a) is described as %s", want, (double)x, number);
}

/* All floats, the shortest and the longest, and ties: (2 d + 1) / 2 * 10^q, d of six digits, where that is a float. */
TEST(test_describe_numbers)
{
    static const float some[] = {
        1e6f,       999999.0f,      100000.0f,  1e-4f,    1e-5f, 123456.7f,        0.5f,
        10.0f,      FLT_MAX,        FLT_MIN,    1e-45f,   0.1f,  FLT_MIN - 1e-45f, 999999.5f,
        9999995.0f, 0.00012345678f, 1234567.0f, 999998.5f
    };
    const bool full = env_setting("SAMP_TEST_FULL", 0) && !quick();
    source rng = source_stream(500);
    int ties = 0;
    for (size_t i = 0; i < TEST_COUNT(some); i++) described_as_printed(some[i]);
    for (int i = 0; i < (full ? 1000000 : quick() ? 2000 : 30000); i++) {
        float x = float_from((uint32_t)choose(&rng, 8));
        if (fabsf(x) <= FLT_MAX) described_as_printed(x);
    }
    for (int q = -9; q <= 2; q++) {
        int fives = (int)pow(5, abs(q)), step = full || q < -2 ? 1 : 89;
        for (int odd = 200001; odd < 2000000; odd += 2 * step) {
            float x = (float)ldexp(q < 0 ? (double)odd / fives : (double)odd * fives, q - 1);
            if (q < 0 ? odd % fives != 0 : (double)x != ldexp((double)odd * fives, q - 1)) continue;
            described_as_printed(x);
            ties++;
        }
    }
    assert_true(ties > (full ? 2000000 : 20000));
}

/* A changed logit whose token a long array lacks, behind its last one: it is looked for within the array only. */
TEST(test_token_behind_the_last)
{
    enum { LONG = 5000 };
    const samp_logit_bias bias[] = { { 9000, 1.0f }, { LONG, 2.0f }, { LONG - 1, 9.0f } };
    for (int k = 0; k < 2; k++) {
        own_sampler *chain = new_chain(samp_init_logit_bias(10000, 3, bias),
                                       k ? samp_init_dist(1) : samp_init_greedy());
        samp_token_data *data = (samp_token_data *)malloc(LONG * sizeof *data); /* not a byte more */
        for (int i = 0; i < LONG; i++) data[i].id = i, data[i].logit = (float)(i % 7), data[i].p = 0.0f;
        samp_token_data_array cur = { data, LONG, -1, false };
        assert_ok(samp_apply(chain, &cur));
        if (!k) assert_num(data[cur.selected].id, LONG - 1);
        assert_same(data[LONG - 1].logit, (float)((LONG - 1) % 7) + 9.0f);
        free(data);
    }
}

/* A chain owns its members: to free one does nothing but mark the chain, and those around it. */
TEST(test_free_of_a_member)
{
    const float logits[3] = { 1, 2, 3 };
    for (int nested = 0; nested < 2; nested++) {
        const char *field = NULL;
        samp_sampler *chain = samp_chain_init(), *inner = nested ? samp_chain_init() : chain;
        samp_sampler *top_k = samp_init_top_k(2);
        assert_ok(samp_chain_add(inner, top_k));
        if (nested) assert_ok(samp_chain_add(chain, inner));
        assert_ok(samp_chain_add(chain, samp_init_dist(1)));
        assert_true(samp_sample(chain, logits, 3) > 0);
        samp_free(top_k);
        assert_status(samp_status(chain, &field), SAMP_E_RANGE);
        assert_string_equal(field, "samp_free");
        assert_status(samp_sample(chain, logits, 3), SAMP_E_RANGE);
        assert_ptr_equal(samp_chain_get(inner, 0), top_k);
        assert_text(samp_name(top_k), "top-k");
        samp_sampler *taken = samp_chain_remove(inner, 0); /* it may be taken out, and then be freed */
        assert_ptr_equal(taken, top_k);
        samp_free(taken);
        samp_free(nested ? inner : NULL);
        assert_num(samp_chain_n(chain), nested ? 2 : 1);
        samp_free(chain);
    }
}

/* A bad row is told by its first bad logit. */
TEST(test_logits_error_text)
{
    float rows[3][4] = { { 1, 2, NAN, INFINITY },
                         { 1, -INFINITY, 2, 3 },
                         { -INFINITY, -INFINITY, -INFINITY, INFINITY } };
    const uint16_t halves[4] = { 0, 0x3c00, 0x7c00, 0x7e00 };
    const uint32_t mask[3] = { 7, 2, 7 };
    const int32_t other[3] = { 1, 2, -1 };
    const size_t n_of[3] = { 2, 0, 3 }, too_many[3] = { 3, 5, SIZE_MAX };
    samp_logits l;
    memset(&l, 0, sizeof l);
    char text[80], cut[5];
    struct {
        const char *want[4];
        const uint32_t *mask;
        const int32_t *index;
        const size_t *n_of;
    } c[] = {
        { { "logit 2 is NaN", "ok", "logit 3 is +infinity", "a value is outside its range" }, NULL, NULL, NULL },
        { { "logit 2 is NaN", "all 4 tokens are masked", "all 4 tokens are masked", "a value is outside its range" },
          mask,
          NULL,
          NULL },
        { { "ok", "logit 3 is +infinity", "a value is outside its range", "a value is outside its range" },
          NULL,
          other,
          NULL },
        { { "ok", "a value is outside its range", "all 3 tokens are masked", "a value is outside its range" },
          NULL,
          NULL,
          n_of },
        { { "logit 2 is NaN", "a value is outside its range", "a value is outside its range",
            "a value is outside its range" },
          NULL,
          NULL,
          too_many }
    };
    l.data = rows, l.n_rows = 3, l.n_vocab = 4;
    for (size_t i = 0; i < TEST_COUNT(c); i++)
        for (size_t r = 0; r < 4; r++) {
            l.mask = c[i].mask, l.row_index = c[i].index, l.n_vocab_of = c[i].n_of;
            assert_num(samp_logits_error_text(&l, r, text, sizeof text), strlen(c[i].want[r]));
            assert_text(text, c[i].want[r]);
        }
    l.mask = NULL, l.row_index = NULL, l.n_vocab_of = NULL;
    assert_num(samp_logits_error_text(&l, 0, cut, sizeof cut), 14);
    assert_text(cut, "logi");
    l.data = halves, l.dtype = SAMP_F16, l.n_rows = 1;
    assert_num(samp_logits_error_text(&l, 0, text, sizeof text), 20);
    assert_text(text, "logit 2 is +infinity");
    l.dtype = SAMP_I8;
    assert_true(samp_logits_error_text(&l, 0, text, sizeof text) > 0);
    assert_text(text, samp_strerror(SAMP_E_DTYPE));
    assert_status(samp_logits_error_text(&l, 0, NULL, 3), SAMP_E_NULL);
    assert_status(samp_logits_error_text(NULL, 0, text, sizeof text), SAMP_E_NULL);
}

int main(int argc, char **argv)
{
    inside_clock = fake_clock;
    return test_main(argc, argv, NULL, NULL);
}
