/* fuzz_calls.c - a fuzzer's bytes as anything that a program may do wrong: any numbers as parameters, any text as an order
   or a setting, any logits, and calls in any sequence on a few samplers, which own each other as they may. Nothing
   crashes or hangs, each status is one that the call's comment names, and a token that comes back is one of the
   vocabulary that its row does not mask; a clone gives the same. */
#define SAMPLING_GRAMMAR
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#define SAMPLING_GUMBEL
#include "sampling.h"
#include "tests/support/inside.h"
#include "fuzz.h"

#include <float.h>

enum { SLOTS = 4, LONGEST = 300, CALLS = 40 };

typedef struct stage {
    source rng;
    samp_sampler *slot[SLOTS];
    samp_settings *settings;
    float row[LONGEST];
    size_t n; /* of the row */
} stage;

/* ---- any values ---- */

static float any_float(source *s)
{
    static const float some[] = { 0.0f, 1.0f, -1.0f, 0.5f, 0.95f, 2.0f, 1e-30f, 1e30f, -0.0f, 100.0f, 5.0f, 0.1f };
    float x;
    uint32_t bits;
    if (below(s, 4)) return some[below(s, sizeof some / sizeof *some)];
    bits = (uint32_t)choose(s, 4);
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Any whole number, but none that is allowed and asks for gigabytes. */
static int32_t any_int(source *s, int32_t most)
{
    int32_t x = below(s, 4) ? (int32_t)below(s, 70) - 3 : (int32_t)(uint32_t)choose(s, 4);
    return x > most && x < INT32_MAX - 8 && below(s, 8) ? x % most : x;
}

static size_t any_size(source *s, size_t most)
{
    return below(s, 8) ? (size_t)below(s, most) : SIZE_MAX - below(s, 3);
}

static const char *any_text(source *s, char text[32])
{
    /* clang-format off */
    static const char *const some[] = {
        "", "top_k", "kpmt", "penalties;dry;top_k", "temperature", "edskypmxt", "i", "logit_bias", "dry_breakers",
        "3+1,5-inf", "nan", "0.5", "-1", "order", "rng", "mt19937", "\n", "x;;y",
    };
    /* clang-format on */
    if (below(s, 3)) return some[below(s, sizeof some / sizeof *some)];
    size_t n = (size_t)below(s, 31);
    for (size_t i = 0; i < n; i++) text[i] = (char)(1 + below(s, 255));
    text[n] = 0;
    return text;
}

static const char *letters(const samp_vocab *vocab, samp_token token, size_t *n)
{
    static const char text[] = "ab\n:c\"*de\xc3\xa9";
    (void)vocab;
    *n = (size_t)token % 3;
    return &text[(size_t)token % (sizeof text - 3)];
}
static const samp_token ends[] = { 3 };
static const samp_vocab vocab = { 60, letters, NULL, NULL, ends, 1, 3, -1 };

static void any_params(source *s, samp_params *p, char text[32])
{
    static samp_logit_bias bias[4];
    static const char *const breakers[] = { "ab", "\n", "", NULL };
    *p = samp_default_params();
    p->seed = choose(s, 8);
    p->vocab = below(s, 2) ? &vocab : NULL;
    p->n_vocab = any_int(s, 1000);
    for (uint64_t n = below(s, 6); n > 0; n--) {
        float *floats[] = {
            &p->top_p,           &p->min_p,           &p->top_a,           &p->typ_p,          &p->tfs_z,
            &p->top_n_sigma,     &p->xtc_probability, &p->xtc_threshold,   &p->temp,           &p->dynatemp_range,
            &p->penalty_repeat,  &p->penalty_freq,    &p->penalty_present, &p->dry_base,       &p->dry_multiplier,
            &p->mirostat_tau,    &p->mirostat_eta,    &p->adaptive_target, &p->adaptive_decay, &p->p_less,
            &p->epsilon_cutoff,  &p->eta_cutoff,      &p->top_h,           &p->min_k,          &p->smoothing_factor,
            &p->smoothing_curve, &p->p_less_norm
        };
        *floats[below(s, sizeof floats / sizeof *floats)] = any_float(s);
    }
    switch (below(s, 12)) {
        case 0: p->top_k = any_int(s, INT32_MAX - 9), p->top_k_ties = (int32_t)below(s, 8) - 5; break;
        case 1: p->penalty_last_n = any_int(s, 5000); break;
        case 2: p->dry_penalty_last_n = any_int(s, 5000), p->dry_multiplier = 0.5f; break;
        case 3: p->n_ctx_train = any_int(s, 5000); break;
        case 4: p->dry_allowed_length = any_int(s, INT32_MAX - 9); break;
        case 5: p->mirostat = (int32_t)below(s, 5) - 1; break;
        case 6: p->min_keep = any_size(s, 300); break;
        case 7: p->rng = (samp_rng_kind)below(s, 4); break;
        case 8: p->dry_breakers = breakers + below(s, 4); break;
        case 9: p->order = any_text(s, text); break;
        case 10:
            for (int i = 0; i < 4; i++) bias[i].token = any_int(s, 1000), bias[i].bias = any_float(s);
            p->logit_bias = bias;
            p->n_logit_bias = (int32_t)below(s, 5);
            break;
        default: break;
    }
}

static void any_row(stage *t)
{
    source *s = &t->rng;
    t->n = 1 + (size_t)below(s, below(s, 4) ? 40 : LONGEST);
    uint64_t how = below(s, 6);
    for (size_t i = 0; i < t->n; i++) {
        t->row[i] = how == 0 ? any_float(s) : (float)below(s, how == 1 ? 2 : 2000) / 100.0f;
        if (how > 3 && below(s, 3) == 0) t->row[i] = -INFINITY;
    }
}

/* Any constraint: any numbers and tokens, a list that may be missing. */
static samp_sampler *any_constraint(source *s)
{
    enum { TOKENS = 6 };
    static const char *const strings[] = { "ab", "", "\n:", NULL };
    samp_token t[TOKENS];
    for (int i = 0; i < TOKENS; i++) t[i] = below(s, 4) ? (samp_token)below(s, 60) : any_int(s, INT32_MAX - 9);
    const samp_token *list = below(s, 8) ? t : NULL;
    size_t n = (size_t)below(s, TOKENS + 1);
    float x = any_float(s), y = any_float(s);
    int32_t i = any_int(s, 5000), k = any_int(s, 5000), m = any_int(s, 5000);
    const samp_sequence q[2] = { { list, n, x }, { t, (size_t)below(s, 3), y } };
    const samp_thinking span[2] = { { t, 1, t + 1, (size_t)below(s, 3), list, n },
                                    { t + 3, n / 3, t + 4, 1, NULL, n } };
    const size_t pair = (size_t)below(s, 3);
    unsigned flags = (unsigned)below(s, 5);
    const samp_loop loop = { any_int(s, 9), any_int(s, 9), any_int(s, 9), m, any_int(s, 9) };
    const samp_thinking_plan plan = { any_int(s, 90),
                                      below(s, 2) ? 0 : any_int(s, 90),
                                      below(s, 2) ? 0.0f : y,
                                      any_int(s, 9),
                                      list,
                                      n,
                                      q,
                                      (size_t)below(s, 3),
                                      (samp_ramp)below(s, 4),
                                      x,
                                      below(s, 4) ? NULL : &loop,
                                      any_int(s, 9) };
    const samp_schedule when = { (samp_unit)below(s, 3),
                                 any_int(s, 9),
                                 any_int(s, 30),
                                 any_int(s, 9),
                                 (samp_area)below(s, 4),
                                 below(s, 8) ? span : NULL,
                                 pair,
                                 any_int(s, 3),
                                 list,
                                 n,
                                 below(s, 8) ? &vocab : NULL,
                                 below(s, 4) ? NULL : &loop };
    switch (below(s, 20)) {
        case 0: return samp_init_sequence_bias(below(s, 8) ? q : NULL, pair);
        case 1: return samp_init_banned_sequences(q, pair, flags);
        case 2: return samp_init_banned_strings(below(s, 8) ? &vocab : NULL, strings, (size_t)below(s, 5), flags);
        case 3: return samp_init_suppressed_tokens(list, n);
        case 4: return samp_init_begin_suppressed_tokens(list, n, i);
        case 5: return samp_init_min_tokens(list, n, i, k);
        case 6: return samp_init_allowed_tokens(list, n);
        case 7: return samp_init_forced_prefix(list, n, i);
        case 8: return samp_init_eog_bias(list, n, x);
        case 9: return samp_init_length_penalty(list, n, i, x, k);
        case 10: return samp_init_no_repeat_ngram_except(i, k, list, n);
        case 11: return samp_init_loop_breaker(i, k, any_int(s, 9), m, any_int(s, 9), x);
        case 12: return samp_init_loop_breaker_cusum(i, k, x, y, any_float(s));
        case 18: {
            static const char *const patterns[] = { "ab*", "(a|b)+c", "^x", "[^a]{3}", "a$", "(", NULL };
            samp_grammar_error error;
            return samp_init_banned_pattern(below(s, 8) ? &vocab : NULL, patterns[below(s, 7)], flags,
                                            below(s, 2) ? &error : NULL);
        }
        case 19: return samp_init_timestamps_except(any_int(s, 60), any_int(s, 60), any_int(s, 60), list, n);
        case 15: return samp_init_loop_watch(below(s, 8) ? &loop : NULL);
        case 16: return samp_init_thinking(below(s, 2) ? &vocab : NULL, below(s, 8) ? span : NULL, pair, i, k, &plan);
        case 17: return samp_init_schedule(below(s, 9) ? &when : NULL, below(s, 4) ? samp_init_temp(x) : NULL);
        case 13: return samp_init_top_p_decay(x, y, any_float(s), list, n, any_size(s, 20));
        default: return samp_init_thinking_budget(below(s, 2) ? &vocab : NULL, below(s, 8) ? span : NULL, pair, i, k);
    }
}

/* ---- what comes back ---- */

/* Bit -status: these are named. */
enum { OK = 1, NUL = 2, RANGE = 4, NOT = 8, EMPTY = 16, SMALL = 64, UNSUPPORTED = 512, FORMAT = 1024, NAME = 4096 };
enum { CARRIED = NUL | RANGE | NOT | UNSUPPORTED | FORMAT, DRAWN = CARRIED | EMPTY };
static void named(int status, int statuses)
{
    MUST(status <= 0 && status >= SAMP_STATUS_LAST && (statuses >> -status & 1));
}

/* ---- samplers ---- */

/* With any numbers; a history that is allowed is short. A detector reads a few tokens by it. */
static samp_sampler *any_watermark(source *s)
{
    samp_watermark mark = samp_default_watermark((samp_watermark_kind)below(s, 6));
    samp_token text[20];
    const size_t n = (size_t)below(s, 20);
    samp_watermark_span span;
    const char *field;
    if (below(s, 2)) mark.context_width = any_int(s, 20);
    if (below(s, 2)) mark.scope = (samp_watermark_scope)below(s, 4);
    if (below(s, 2)) mark.history = any_int(s, 300);
    if (below(s, 4) == 0) mark.alpha = (double)any_float(s);
    if (below(s, 4) == 0) mark.depth = any_int(s, 40);
    if (below(s, 4) == 0) mark.gamma = (double)any_float(s);
    if (below(s, 4) == 0) mark.delta = any_float(s);
    mark.key = choose(s, 8);
    for (size_t i = 0; i < n; i++) text[i] = (samp_token)below(s, 5) - (below(s, 50) == 0 ? 5 : 0);
    samp_sampler *made = (below(s, 5) ? samp_init_watermark : samp_init_watermark_draft)(below(s, 20) ? &mark : NULL);
    named(samp_status(made, &field), CARRIED | OK);
    int status = samp_watermark_find(&mark, text, n, (size_t)below(s, 30), &span);
    named(status, NUL | RANGE | NOT | OK);
    MUST(status || (span.p_value >= 0.0 && span.p_value <= 1.0 && span.ln_p <= 0.0 && span.begin <= span.end));
    MUST(status || (span.end <= n && span.result.n_scored <= n && span.result.p_value <= span.p_value));
    return made;
}

static samp_sampler *any_sampler(source *s)
{
    static const samp_logit_bias bias[2] = { { 1, -INFINITY }, { 3, 2.0f } };
    static const char *const breakers[] = { "ab", "\n" };
    size_t keep = any_size(s, 20);
    float p = any_float(s), q = any_float(s), r = any_float(s);
    switch (below(s, 34)) {
        case 0: return samp_init_logit_bias(any_int(s, 1000), (int32_t)below(s, 3), below(s, 8) ? bias : NULL);
        case 1: return samp_init_penalties(any_int(s, 5000), p, q, r);
        case 2:
            return samp_init_dry(&vocab, any_int(s, 5000), p, q, any_int(s, 5000), any_int(s, 5000), breakers,
                                 below(s, 3));
        case 3: return samp_init_top_n_sigma(p);
        case 4: return (below(s, 4) ? samp_init_top_k : samp_init_top_k_ties)(any_int(s, INT32_MAX - 9));
        case 5: return samp_init_tail_free(p, keep);
        case 6: return samp_init_typical(p, keep);
        case 7: return samp_init_top_p(p, keep);
        case 8: return samp_init_min_p(p, keep);
        case 9: return samp_init_top_a(p, keep);
        case 10: {
            samp_token exempt[3] = { any_int(s, 60), any_int(s, 60), any_int(s, 60) };
            return samp_init_xtc_except(p, q, keep, choose(s, 8), exempt, (size_t)below(s, 4));
        }
        case 11: return samp_init_infill(below(s, 8) ? &vocab : NULL);
        case 12: return samp_init_temp(p);
        case 13: return samp_init_temp_ext(p, q, r);
        case 14: return samp_init_softmax();
        case 15: return samp_init_greedy();
        case 16: return samp_init_mirostat(any_int(s, 5000), choose(s, 8), p, q, any_int(s, 5000));
        case 17: return samp_init_mirostat_v2(choose(s, 8), p, q);
        case 18: return samp_init_adaptive_p(p, q, choose(s, 8));
        case 19: return samp_init_p_less(p, keep);
        case 20: return samp_init_epsilon(p, keep);
        case 21: return samp_init_eta(p, keep);
        case 22: return samp_init_smoothing(p, q);
        case 23: return samp_init_top_h(p, keep);
        case 24: return samp_init_min_k(p);
        case 25: return samp_init_log_softmax();
        case 27: return samp_init_ras(any_int(s, 60), p, choose(s, 8));
        case 26:
        case 28:
        case 29: return any_constraint(s);
        case 30: return samp_init_gumbel(choose(s, 8));
        case 31: return samp_init_p_less_norm(p, keep);
        case 32: return any_watermark(s);
        default: return samp_init_dist(choose(s, 8));
    }
}

/* ---- tokens ---- */

/* infill may choose the end of its vocabulary, masked or not. */
static bool may_be(const samp_sampler *s, samp_token token)
{
    static char text[1 << 16];
    if (token != (vocab.eot >= 0 ? vocab.eot : vocab.eos)) return false;
    samp_describe(s, text, sizeof text);
    return strstr(text, "infill") != NULL;
}

/* Under MT19937 an index that has been selected stays, whatever a later sampler puts there. */
static bool may_be_stale(const samp_sampler *s)
{
    while (samp_chain_n(s) > 0) s = samp_chain_get(s, samp_chain_n(s) - 1);
    return inside_stale(s);
}

static void check_token(const stage *t, const samp_sampler *s, samp_token token)
{
    if (token < 0)
        named(token, DRAWN);
    else if (!may_be(s, token))
        MUST((size_t)token < t->n && t->row[token] >= -FLT_MAX && t->row[token] <= FLT_MAX);
}

/* ---- calls ---- */

static void renew(stage *t, size_t i, samp_sampler *s)
{
    samp_free(t->slot[i]);
    t->slot[i] = s;
}

static void call_params(stage *t, size_t i)
{
    samp_params p;
    char text[32];
    const char *field;
    int status = 1;
    any_params(&t->rng, &p, text);
    int checked = samp_check_params(&p, &field);
    named(checked, OK | NUL | RANGE | NOT);
    if (below(&t->rng, 2)) {
        renew(t, i, samp_chain_from_params(&p, &status));
        MUST(t->slot[i] && samp_status(t->slot[i], NULL) == status && (status == SAMP_OK) == (checked == SAMP_OK));
    } else {
        named(samp_chain_update(t->slot[i], &p), OK | CARRIED);
    }
}

static void call_settings(stage *t, size_t i)
{
    char name[32], value[32], text[64];
    const char *field = NULL, *what = any_text(&t->rng, name);
    int status = samp_settings_set(t->settings, what, below(&t->rng, 8) ? any_text(&t->rng, value) : NULL, &field);
    named(status, OK | RANGE | NAME | FORMAT);
    MUST((status == SAMP_OK) == (field == NULL));
    status = samp_settings_get(t->settings, what, text, (size_t)below(&t->rng, sizeof text));
    if (status < 0) named(status, UNSUPPORTED | NAME);
    if (below(&t->rng, 4) || samp_settings_params(t->settings)->penalty_last_n > 5000) return;
    if (samp_settings_params(t->settings)->n_ctx_train > 5000) return;
    if (samp_settings_params(t->settings)->dry_penalty_last_n > 5000) return;
    renew(t, i, samp_chain_from_params(samp_settings_params(t->settings), NULL));
}

static void call_chain(stage *t, size_t i, size_t k)
{
    source *s = &t->rng;
    switch (below(s, 5)) {
        case 0: renew(t, i, samp_chain_init()); break;
        case 1: named(samp_chain_add(t->slot[i], any_sampler(s)), OK | CARRIED); break;
        case 2: { /* it is gone then, whatever the answer, but for a chain that is to own itself */
            int status = samp_chain_add(t->slot[i], t->slot[k]);
            named(status, OK | CARRIED);
            MUST(i != k || status == (t->slot[i] ? SAMP_E_RANGE : SAMP_E_NULL));
            if (i != k) t->slot[k] = NULL;
            break;
        }
        case 3: {
            samp_sampler *out = samp_chain_remove(t->slot[i], (int32_t)below(s, 6) - 1);
            if (i != k)
                renew(t, k, out);
            else
                samp_free(out);
            break;
        }
        default: samp_chain_get(t->slot[i], any_int(s, INT32_MAX - 9)); break;
    }
}

static void call_draw(stage *t, size_t i)
{
    source *s = &t->rng;
    size_t n = below(s, 20) ? t->n : 0;
    samp_sampler *copy = below(s, 4) ? NULL : samp_clone(t->slot[i]);
    bool accept = below(s, 4) != 0;
    samp_token token = accept ? samp_sample(t->slot[i], t->row, n) : samp_draw(t->slot[i], t->row, n);
    check_token(t, t->slot[i], token);
    if (copy) MUST((accept ? samp_sample(copy, t->row, n) : samp_draw(copy, t->row, n)) == token);
    samp_free(copy);
}

static void call_apply(stage *t, size_t i)
{
    source *s = &t->rng;
    samp_token_data data[LONGEST];
    size_t turn = (size_t)below(s, t->n);
    for (size_t k = 0; k < t->n; k++) {
        size_t id = (k + turn) % t->n;
        data[k].id = (samp_token)id, data[k].logit = t->row[id], data[k].p = 0.0f;
    }
    samp_token_data_array cur = { data, below(s, 20) ? t->n : 0, -1, false };
    int status = samp_apply(t->slot[i], &cur);
    named(status, OK | DRAWN);
    MUST(cur.data == data && cur.size <= t->n && cur.selected >= -1 && cur.selected < (int64_t)t->n);
    if (status == SAMP_OK && cur.selected >= 0 && !may_be_stale(t->slot[i]))
        check_token(t, t->slot[i], data[cur.selected].id);
}

static void call_verify(stage *t, size_t i)
{
    enum { MOST = 3, WIDE = 40 };
    float rows[(MOST + 1) * WIDE], probs[MOST * WIDE];
    samp_token tokens[MOST], out[MOST + 1];
    samp_draft d;
    memset(&d, 0, sizeof d);
    d.n = (size_t)below(&t->rng, MOST + 1);
    d.tokens = tokens;
    d.probs = below(&t->rng, 2) ? probs : NULL;
    for (int k = 0; k < (MOST + 1) * WIDE; k++) rows[k] = t->row[(size_t)k % t->n];
    for (int k = 0; k < MOST * WIDE; k++) probs[k] = below(&t->rng, 50) ? 1.0f / WIDE : any_float(&t->rng);
    for (int k = 0; k < MOST; k++) tokens[k] = any_int(&t->rng, WIDE);
    int n = samp_verify(t->slot[i], rows, WIDE, &d, (samp_verify_method)below(&t->rng, 3), out);
    if (n < 0) named(n, DRAWN);
    for (int k = 0; k <= n; k++) MUST(out[k] < WIDE && (k == n || out[k] == tokens[k]));
}

static void call_state(stage *t, size_t i, size_t k)
{
    size_t size = samp_state_size(t->slot[i]);
    unsigned char *bytes = (unsigned char *)malloc(size + 1);
    int status = samp_state_save(t->slot[i], bytes, below(&t->rng, 8) ? size : size / 2);
    named(status, OK | SMALL | CARRIED);
    if (status == SAMP_OK) named(samp_state_load(t->slot[k], bytes, size), OK | FORMAT | CARRIED);
    if (status == SAMP_OK && i == k) MUST(samp_state_load(t->slot[k], bytes, size) == SAMP_OK);
    free(bytes);
}

static void call_others(stage *t, size_t i)
{
    source *s = &t->rng;
    samp_sampler *chain = t->slot[i];
    char text[40];
    samp_token prev[8];
    switch (below(s, 13)) {
        case 0: named(samp_accept(chain, any_int(s, INT32_MAX - 9)), OK | CARRIED); break;
        case 1: named(samp_rollback(chain, any_int(s, INT32_MAX - 9)), OK | CARRIED); break;
        case 2: named(samp_set_rollback(chain, any_int(s, 200)), OK | CARRIED); break;
        case 3: named(samp_set_rng(chain, (samp_rng_kind)below(s, 4)), OK | CARRIED); break;
        case 4: named(samp_set_n_prev(chain, any_size(s, 200)), OK | CARRIED); break;
        case 5: named(samp_set_position(chain, choose(s, 8)), OK | NUL); break;
        case 6: samp_reset(chain); break;
        case 7: samp_describe(chain, text, (size_t)below(s, sizeof text)); break;
        case 8: MUST(samp_prev(chain, prev, (size_t)below(s, 8)) <= 8); break;
        case 9: named(samp_reserve(chain, any_size(s, 1000)), OK | NUL | RANGE); break;
        case 10: samp_get_seed(chain), samp_last(chain), samp_perf(chain), samp_name(chain); break;
        case 11: {
            int32_t rewind = samp_rewind_length(chain), left = samp_thinking_left(chain);
            if (rewind < 0) named(rewind, CARRIED);
            if (left < 0) named(left, CARRIED); /* -1: none is open */
            int32_t more[] = { samp_thinking_now(chain), samp_thinking_used(chain), samp_loop_length(chain),
                               samp_schedule_holds(chain), samp_thinking_end(chain) };
            for (int i = 0; i < 5; i++)
                if (more[i] < 0) named(more[i], DRAWN);
            break;
        }
        default: samp_perf_reset(chain); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stage t;
    memset(&t, 0, sizeof t);
    t.rng = source_bytes(data, size);
    t.settings = samp_settings_init();
    MUST(t.settings);
    any_row(&t);
    for (size_t i = 0; i < SLOTS; i++) t.slot[i] = i ? any_sampler(&t.rng) : samp_chain_init();
    for (int c = 0; c < CALLS && t.rng.left > 0; c++) {
        size_t i = (size_t)below(&t.rng, SLOTS), k = (size_t)below(&t.rng, SLOTS);
        switch (below(&t.rng, 12)) {
            case 0: call_params(&t, i); break;
            case 1: call_settings(&t, i); break;
            case 2:
            case 3: call_chain(&t, i, k); break;
            case 4: any_row(&t); break;
            case 5: call_apply(&t, i); break;
            case 6: call_verify(&t, i); break;
            case 7: call_state(&t, i, k); break;
            case 8: renew(&t, k, samp_clone(t.slot[i])); break;
            case 9: call_others(&t, i); break;
            default: call_draw(&t, i); break;
        }
    }
    for (size_t i = 0; i < SLOTS; i++) samp_free(t.slot[i]);
    samp_settings_free(t.settings);
    return 0;
}
