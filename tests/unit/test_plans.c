/* test_plans.c - an executor in plain C: it answers the questions of plans (core/plans.h) from a sorted copy of the row,
   and gives the tokens of the definition. Who builds an executor may begin here; its duties are a page of
   src/run/README.md.

     SAMP_TEST_CASES   random chains (default: 400,000 in full)
     SAMP_TEST_SEED    chain i is made from seed + i: what a failure prints replays that one */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mmap */
#endif
#define SAMPLING_CONSTRAINTS
#define SAMPLING_GUMBEL
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "tests/support/case.h"
#include "tests/support/test.h"

/* ------------------------------------------------------------------------------------------------ the executor */

enum { TOY_MOST = 600, TOY_ENDS = 2 };

/* What is left of a row, in order; p holds the logit from before adaptive_p. */
typedef struct toy_row {
    samp_token_data t[TOY_MOST];
    size_t n;
    sampi_memory memory;
    unsigned asked; /* questions of this member that have been put to it, a bit each */
    uint64_t waits; /* how often it has made a plan wait */
    samp_token chosen;
} toy_row;

typedef sampi_sampler toy_step;

/* Plans must bear to wait: a question is answered when it comes the second time, until the row changes. */
enum { ASK_MAX, ASK_SUMS, ASK_SQUARES, ASK_SIGMA, ASK_FIRST, ASK_REACH, ASK_CUT, ASK_CHANGE, ASK_DRAW, ASK_SETTLE };
static int toy_ask(toy_row *row, int question)
{
    const bool again = row->asked >> question & 1;
    row->asked |= 1u << question;
    row->waits += !again;
    return again ? SAMPI_KNOWN : SAMPI_WAITS;
}

static sampi_memory *toy_memory(toy_row *row) { return &row->memory; }

/* The row has changed: in order again, without what is masked, and nothing is known. */
static int toy_changed(toy_row *row)
{
    size_t n = 0;
    for (size_t i = 0; i < row->n; i++)
        if (!sampi_masked(row->t[i].logit)) row->t[n++] = row->t[i];
    row->n = n;
    sampi_sort_part(&SAMPI_BY_LOGIT, row->t, n, n, 64);
    row->asked = 0;
    return SAMPI_KNOWN;
}

/* The first n stay. */
static int toy_keep(toy_row *row, size_t n)
{
    if (toy_ask(row, ASK_CUT) == SAMPI_WAITS) return SAMPI_WAITS;
    if (n < row->n) row->n = n;
    return toy_changed(row);
}

/* By the definition, for what no plan says more of. */
static int toy_steps(toy_row *row, sampi_sampler *s)
{
    samp_token_data_array cur = { row->t, row->n, -1, true };
    const int status = sampi_traits_of(s->kind)->apply(s, &cur);
    row->n = cur.size;
    return status ? status : toy_changed(row);
}
static int toy_plan_patch(toy_row *row, sampi_sampler *s) { return toy_steps(row, s); }
static int toy_plan_none(toy_row *row, sampi_sampler *s) { return toy_steps(row, s); }
static int toy_keep_tail(toy_row *row, sampi_sampler *s) { return toy_steps(row, s); }
static int toy_keep_beginning(toy_row *row, sampi_sampler *s) { return toy_steps(row, s); }

static int toy_max_for_floor(toy_row *row, const sampi_sampler *s, double down, float *max)
{
    (void)s, (void)down;
    *max = row->t[0].logit;
    return toy_ask(row, ASK_MAX);
}

static int toy_sums(toy_row *row, const sampi_sampler *s, sampi_then then, sampi_sums *sums)
{
    (void)s, (void)then;
    memset(sums, 0, sizeof *sums);
    sums->max = row->t[0].logit;
    for (sums->n = 0; sums->n < row->n; sums->n++) {
        const uint64_t w = sampi_weight(sums->max, row->t[sums->n].logit);
        sums->z += w;
        sums->s += sampi_weighted(w, sums->max, row->t[sums->n].logit);
    }
    return toy_ask(row, ASK_SUMS);
}

static int toy_sum_of_squares(toy_row *row, uint64_t *squares)
{
    *squares = 0;
    for (size_t i = 0; i < row->n; i++) {
        const uint64_t w = sampi_weight(row->t[0].logit, row->t[i].logit);
        *squares += sampi_squares(&w, 1);
    }
    return toy_ask(row, ASK_SQUARES);
}

static int toy_deviation(toy_row *row, float *max, double *sigma)
{
    const double range = (double)row->t[0].logit - (double)row->t[row->n - 1].logit, scale = sampi_sigma_scale(range);
    sampi_u128 squares = { 0, 0 };
    uint64_t sum = 0;
    for (size_t i = 0; i < row->n && range > 0.0; i++) {
        const uint64_t x = sampi_sigma_x(row->t[0].logit, row->t[i].logit, scale);
        sum += x;
        squares = sampi_add128(squares, sampi_mul128(x, x));
    }
    *max = row->t[0].logit;
    *sigma = range > 0.0 ? sampi_sigma_of(row->n, sum, squares, scale) : 0.0;
    return toy_ask(row, ASK_SIGMA);
}

static int toy_zipf(toy_row *row, size_t m, sampi_zipf *zipf, size_t *n)
{
    const int known = toy_ask(row, ASK_FIRST);
    if (known != SAMPI_KNOWN) return known;
    for (size_t i = 0; i + 1 < m && i + 1 < row->n; i++)
        sampi_zipf_add(zipf, i, row->t[i].logit, row->t[i + 1].logit);
    *n = row->n;
    return known;
}

static void toy_random(const toy_row *row, const sampi_sampler *s, uint64_t *random)
{
    (void)row;
    sampi_random(s, 0, random);
}

static int toy_reach(toy_row *row, const sampi_sampler *s, uint64_t mass, uint64_t *reached, samp_token_data *last)
{
    size_t n = 0;
    (void)s;
    while (n < row->n && sampi_weight(row->t[0].logit, row->t[n].logit) >= mass) n++;
    *reached = n;
    *last = row->t[n ? n - 1 : 0];
    return toy_ask(row, ASK_REACH);
}

static int toy_keep_above(toy_row *row, double floor, size_t min_keep)
{
    size_t n = 0;
    while (n < row->n && (double)row->t[n].logit >= floor) n++;
    return toy_keep(row, n > min_keep ? n : min_keep);
}
static int toy_keep_reaching(toy_row *row, float least) { return toy_keep_above(row, (double)least, 1); }

static int toy_keep_prefix(toy_row *row, unsigned shows, uint64_t mass, size_t count)
{
    uint64_t sum = 0;
    size_t n = 0;
    (void)shows;
    while (n < row->n && (n < count || sum < mass)) sum += sampi_weight(row->t[0].logit, row->t[n++].logit);
    return toy_keep(row, n);
}

static int toy_keep_first(toy_row *row, size_t k, bool ties)
{
    while (ties && k < row->n && row->t[k].logit == row->t[k - 1].logit) k++;
    return toy_keep(row, k);
}

static int toy_keep_nearest(toy_row *row, double mean, uint64_t mass, size_t min_keep)
{
    const float max = row->t[0].logit;
    const sampi_order order = { sampi_typical_score, (double)max, mean };
    uint64_t sum = 0;
    size_t n = 0;
    if (toy_ask(row, ASK_CUT) == SAMPI_WAITS) return SAMPI_WAITS;
    sampi_sort_part(&order, row->t, row->n, row->n, 64);
    while (n < row->n && (n < min_keep || sum < mass)) sum += sampi_weight(max, row->t[n++].logit);
    row->n = n;
    return toy_changed(row);
}
static int toy_settle(toy_row *row) { return toy_ask(row, ASK_SETTLE); }
static int toy_show(toy_row *row, unsigned shows)
{
    (void)row, (void)shows;
    return SAMPI_KNOWN;
}

static int toy_drop_before(toy_row *row, const samp_token_data *last)
{
    size_t i = 0;
    while (row->t[i].id != last->id) row->t[i++].logit = -INFINITY;
    return toy_changed(row);
}

static int toy_scale(toy_row *row, float t)
{
    if (!(t >= SAMPI_TEMP_MIN)) return toy_keep(row, 1);
    if (toy_ask(row, ASK_CHANGE) == SAMPI_WAITS) return SAMPI_WAITS;
    for (size_t i = 0; i < row->n; i++) row->t[i].logit = sampi_finite(row->t[i].logit * (1.0f / t));
    return toy_changed(row);
}

static int toy_shift(toy_row *row, double less)
{
    for (size_t i = 0; i < row->n; i++) row->t[i].logit = sampi_log_softmaxed(less, row->t[i].logit);
    return toy_changed(row);
}

static int toy_bend(toy_row *row, const sampi_sampler *s)
{
    const double top = (double)row->t[0].logit + 0.0, factor = (double)s->u.smoothing.factor;
    for (size_t i = 0; i < row->n; i++)
        row->t[i].logit = sampi_smoothed(top, factor, sampi_bend_of(s->u.smoothing.curve), row->t[i].logit);
    return toy_changed(row);
}

static int toy_adapt_all(toy_row *row, const sampi_sums *sums, float aim)
{
    for (size_t i = 0; i < row->n; i++) {
        const float l = row->t[i].logit, p = (float)(sampi_exp(sums->max, l) / (double)sums->z);
        row->t[i].logit = sampi_adaptive_p_logit(p, aim);
        row->t[i].p = l;
    }
    return toy_changed(row);
}

static float toy_before_adapt(const toy_row *row, const samp_token_data *token)
{
    (void)row;
    return token->p;
}

static int toy_top(toy_row *row, samp_token_data *token)
{
    *token = row->t[0];
    return toy_ask(row, ASK_FIRST);
}

static double toy_id_score(const sampi_order *order, const samp_token_data *d)
{
    (void)order;
    return (double)d->id;
}

/* A proposal falls on a token by running sums of the envelope, in order of ids, and is accepted by its weight. */
static int toy_draw(toy_row *row, const sampi_sampler *s, samp_token_data *token)
{
    const sampi_order by_id = { toy_id_score, 0.0, 0.0 };
    const float max = row->t[0].logit;
    uint64_t total = 0, random[2];
    if (toy_ask(row, ASK_DRAW) == SAMPI_WAITS) return SAMPI_WAITS;
    sampi_sort_part(&by_id, row->t, row->n, row->n, 64);
    for (size_t i = 0; i < row->n; i++) total += sampi_envelope(max, row->t[i].logit);
    for (uint32_t attempt = 0;; attempt++) {
        sampi_random(s, attempt, random);
        uint64_t left = sampi_mulhi(random[0], total), q;
        size_t i = 0;
        while ((q = sampi_envelope(max, row->t[i].logit)) <= left) left -= q, i++;
        *token = row->t[i];
        if (sampi_mulhi(random[1], q << 14) < sampi_weight(max, row->t[i].logit)) break;
    }
    sampi_sort_part(&SAMPI_BY_LOGIT, row->t, row->n, row->n, 64);
    return SAMPI_KNOWN;
}

static int toy_draw_and_sums(toy_row *row, const sampi_sampler *s, samp_token_data *token, sampi_sums *sums)
{
    const int known = toy_sums(row, s, SAMPI_THEN_NOTHING, sums);
    return known == SAMPI_KNOWN ? toy_draw(row, s, token) : known;
}

static int toy_race(toy_row *row, const sampi_sampler *s, samp_token_data *token)
{
    sampi_race race = sampi_race_of(s, row->t[0].logit);
    for (size_t i = 0; i < row->n; i++) sampi_race_run(&race, row->t[i].logit, row->t[i].id, i);
    token->id = race.id;
    return toy_ask(row, ASK_DRAW);
}

static int toy_choose(toy_row *row, sampi_sampler *s, const samp_token_data *token, float learnt)
{
    if (s->kind != SAMPI_ADAPTIVE_P) s->now.mu = learnt;
    if (s->kind == SAMPI_ADAPTIVE_P && s->u.adaptive.target >= 0.0f)
        s->now.pending = token->id, s->now.pending_p = learnt;
    row->chosen = token->id;
    return TOY_ENDS;
}

#define SAMPI_ON(name) toy_##name
#include "samplers/plans.h"

/* One member's turn: its plan, again and again until it has all that it asked for. */
static int toy_member(toy_row *row, sampi_sampler *s)
{
    int known = SAMPI_WAITS;
    row->memory.phase = 0;
    row->asked = 0;
    for (int entries = 0; known == SAMPI_WAITS && entries < 100; entries++) {
        switch (s->kind) {
#define TOY_PLAN(id, plan) \
    case SAMPI_##id: known = toy_plan_##plan(row, s); break;
            SAMPI_KINDS(TOY_PLAN)
#undef TOY_PLAN
            default: return SAMP_E_UNSUPPORTED;
        }
    }
    return known;
}

/* A row through a chain: the token or a status. */
static samp_token toy_sample(toy_row *row, samp_sampler *chain)
{
    sampi_sampler *s = (sampi_sampler *)chain, *member[SAMPI_MOST_MEMBERS];
    const int n = sampi_row_members(s, member, 0);
    uint32_t ordinal[SAMPI_N_KINDS] = { 0 };
    int known = SAMPI_KNOWN;
    sampi_life_save_state(s);
    (void)toy_changed(row);
    for (int i = 0; i < n && known == SAMPI_KNOWN; i++) {
        if (row->n == 0) known = SAMP_E_EMPTY;
        if (member[i]->off || row->n == 0) continue;
        member[i]->at_position = s->position;
        member[i]->at_ordinal = ordinal[member[i]->kind]++;
        known = toy_member(row, member[i]);
    }
    const int status = sampi_life_end_draw(s, known == TOY_ENDS      ? SAMP_OK
                                              : known == SAMPI_KNOWN ? SAMP_E_EMPTY
                                                                     : known);
    return status ? status : row->chosen;
}

/* ------------------------------------------------------------------------------------------------ the test */

static bool same_bytes(const samp_sampler *a, const samp_sampler *b)
{
    static unsigned char bytes[2][1 << 16];
    const size_t n = samp_state_size(a);
    return n == samp_state_size(b) && n <= sizeof bytes[0] && samp_state_save(a, bytes[0], n) >= 0 &&
           samp_state_save(b, bytes[1], n) >= 0 && !memcmp(bytes[0], bytes[1], n);
}

static bool has_plan(int kind) { return kind != SAMPI_INFILL && kind != SAMPI_XTC_EXCEPT; }

static samp_sampler *make_plan_chain(source *s, size_t n)
{
    samp_sampler *chain = samp_chain_init();
    for (size_t count = below(s, 5); count > 0; count--) {
        const int kind = (int)below(s, N_STAGES);
        if (has_plan(kind)) samp_chain_add(chain, make_kind(s, kind, n));
    }
    if (percent(s, 10)) samp_chain_add(chain, samp_init_top_p_decay(0.9f, 0.9f, 0.2f, NULL, 0, 1));
    samp_chain_add(chain,
                   make_kind(s, percent(s, 40) ? SAMPI_DIST : N_STAGES + (int)below(s, N_KINDS - N_STAGES), n));
    return chain;
}

/* Tokens and states of random chains, three tokens each. */
TEST(test_an_executor)
{
    const uint64_t n_cases = cases(400000, 2000), seed = test_seed();
    uint64_t tokens = 0, waits = 0, of_kind[SAMPI_N_KINDS] = { 0 };
    static toy_row row;
    static float logits[TOY_MOST];
    static samp_token_data candidates[TOY_MOST];
    for (uint64_t i = 0; i < n_cases; i++) {
        source s = source_seed(seed + i);
        const size_t n = make_length(&s, TOY_MOST);
        own_sampler *chain = make_plan_chain(&s, n), *other = samp_clone(chain);
        sampi_sampler *member[SAMPI_MOST_MEMBERS];
        assert_non_null(other);
        const int n_members = sampi_row_members((sampi_sampler *)chain, member, 0);
        for (int k = 0; k < n_members; k++) of_kind[member[k]->kind] += !member[k]->off;
        for (int token = 0; token < 3; token++) {
            make_row(&s, logits, n);
            for (size_t k = 0; k < n; k++) {
                candidates[k].id = (samp_token)k;
                candidates[k].logit = logits[k] + 0.0f;
                candidates[k].p = 0.0f;
            }
            memcpy(row.t, candidates, n * sizeof *candidates);
            row.n = n;
            samp_token_data_array cur = { candidates, n, -1, false };
            if (sampi_check(&cur)) break; /* NaN, +infinity, all masked: looked for before a chain begins */
            const int status = sampi_life_apply_steps((sampi_sampler *)chain, &cur);
            const samp_token want = status ? status : cur.data[cur.selected].id;
            row.waits = 0;
            const samp_token got = toy_sample(&row, other);
            if (got != want) fail_msg("seed %" PRIu64 ", token %d: %d, by definition %d", i, token, got, want);
            if (want < 0) break;
            assert_int_equal(samp_accept(chain, want), samp_accept(other, got));
            if (!same_bytes(chain, other)) fail_msg("seed %" PRIu64 ", token %d: another state", i, token);
            tokens++;
            waits += row.waits;
        }
    }
    for (int kind = 0; kind < SAMPI_CHAIN; kind++)
        if (has_plan(kind) && kind != SAMPI_SOFTMAX) assert_true(of_kind[kind] > 0);
    assert_true(tokens > n_cases && waits > tokens);
}

/* Kinds whose draws had one number would draw the same random bits; one that selects without a number always the same. */
TEST(test_numbers_of_draws)
{
    for (int a = 0; a < SAMPI_N_KINDS; a++) {
        const sampi_traits *traits = sampi_traits_of((sampi_kind)a);
        assert_true(!(traits->flags & SAMPI_SELECTS) || traits->stream || a == SAMPI_GREEDY);
        for (int b = 0; b < a; b++)
            assert_true(!traits->stream || traits->stream != sampi_traits_of((sampi_kind)b)->stream);
    }
}

/* What code does with any kind it reads from the kind's row: the order of samp_plain_params has all that a setting can
   switch on, and min_keep and the number of a floor are fields, wherever a kind's struct has them. */
TEST(test_rows_of_the_table)
{
    const samp_params plain = samp_plain_params();
    own_sampler *chain = samp_chain_from_params(&plain, NULL);
    assert_ok(samp_status(chain, NULL));
    for (int kind = 0; kind < SAMPI_N_KINDS; kind++) {
        const sampi_traits *traits = sampi_traits_of((sampi_kind)kind);
        int32_t n = 0;
        for (int32_t i = 0; i < samp_chain_n(chain); i++)
            n += ((const sampi_sampler *)samp_chain_get(chain, i))->kind == (sampi_kind)kind;
        if (traits->letter && n != !(traits->flags & SAMPI_IF_NAMED))
            test_fail(__FILE__, __LINE__, "%s is %d times in the chain of samp_plain_params", traits->name, (int)n);
        sampi_sampler t = sampi_blank((sampi_kind)kind);
        bool keeps = false;
        for (size_t i = 0; i < traits->n_fields; i++) {
            if (traits->field[i].type != SAMPI_SIZE) continue;
            *(size_t *)(void *)((char *)&t + traits->field[i].at) = 5;
            keeps = true;
        }
        assert_num(sampi_min_keep(&t), keeps ? 5 : 1);
        if (traits->flags & SAMPI_KEEPS_SOME) assert_true(keeps);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
