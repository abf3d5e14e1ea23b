/* random_constraint.h - a constraint (SAMPLING_CONSTRAINTS) of any kind, for the random chains of case.h, which includes
   it. Its tokens are mostly the first few of the vocabulary, since these are what prompts there are made of. Define
   CASE_NO_REWIND where what has been taken back must leave nothing behind. */
#ifndef RANDOM_CONSTRAINT_H
#define RANDOM_CONSTRAINT_H

enum { CONSTRAINT_MOST = 400, CONSTRAINT_TEXTS = 5 };

static size_t make_tokens(source *s, samp_token *tokens, size_t n_vocab)
{
    size_t n = percent(s, 10) ? 1 + below(s, CONSTRAINT_MOST) : 1 + below(s, 6);
    for (size_t i = 0; i < n; i++)
        tokens[i] = (samp_token)below(s, percent(s, 50) ? 6 : n_vocab + (percent(s, 5) ? 50 : 0));
    return n;
}

static samp_sampler *make_sequences(source *s, size_t n_vocab)
{
    samp_token tokens[CONSTRAINT_TEXTS][CONSTRAINT_MOST] = { { 0 } };
    samp_sequence q[CONSTRAINT_TEXTS];
    size_t n = 1 + below(s, CONSTRAINT_TEXTS);
    bool biased = percent(s, 60);
    for (size_t i = 0; i < n; i++) {
        (void)make_tokens(s, tokens[i], n_vocab);
        q[i].tokens = tokens[i];
        q[i].n = 1 + below(s, 3);
        q[i].bias = PICK(s, -INFINITY, 1.0f, -1.0f, 5.0f, -100.0f, 1e30f, FLT_MAX, 0.001f);
        tokens[i][q[i].n - 1] = (samp_token)(i + (size_t)PICK(s, 0.0f, 5.0f)); /* hardly one twice */
    }
    if (biased) return samp_init_sequence_bias(q, n);
#ifndef CASE_NO_REWIND
    if (percent(s, 30)) return samp_init_banned_sequences(q, n, SAMP_BAN_REWIND);
#endif
    return samp_init_banned_sequences(q, n, 0);
}

/* A vocabulary that is no longer than a row of n_vocab logits, as a shorter row is refused. */
static const samp_vocab *text_vocab_of(size_t n_vocab)
{
    static const samp_vocab few[] = { { 1, text_bytes, NULL, NULL, NULL, 0, -1, -1 },
                                      { 5, text_bytes, NULL, NULL, NULL, 0, -1, -1 },
                                      { 20, text_bytes, NULL, NULL, NULL, 0, -1, -1 } };
    return n_vocab >= 48 ? &text_vocab : &few[(n_vocab >= 5) + (n_vocab >= 20)];
}

static samp_sampler *make_strings(source *s, size_t n_vocab)
{
    static const char *const strings[] = { "ab", "c", "abc\nd", "d:", "*", "efab", "\n\n", "AB", "x" };
    size_t from = below(s, 6), n = 1 + below(s, 3);
    unsigned flags = percent(s, 20) ? SAMP_BAN_ANY_CASE : 0;
#ifndef CASE_NO_REWIND
    if (percent(s, 30)) flags |= SAMP_BAN_REWIND;
#endif
    return samp_init_banned_strings(text_vocab_of(n_vocab), strings + from, n, flags);
}

static samp_sampler *make_thinking(source *s, size_t n_vocab)
{
    samp_token tokens[CONSTRAINT_MOST + 20];
    (void)make_tokens(s, tokens, n_vocab);
    for (size_t i = 1; i < 20; i++) tokens[i] = (samp_token)below(s, 6 < n_vocab ? 6 : n_vocab);
    samp_thinking span[2] = { { tokens, 1, tokens + 2, 1 + below(s, 2), NULL, 0 },
                              { tokens + 3, 2, tokens + 5, 1, tokens + 6, 1 + below(s, 4) } };
    if (percent(s, 30))
        return samp_init_thinking_budget(percent(s, 50) ? text_vocab_of(n_vocab) : NULL, span, 1 + below(s, 2),
                                         (int32_t)below(s, 6), (int32_t)below(s, 2) - 1);
    samp_loop loop = { 1, 4, 2, 2 + (int32_t)below(s, 20), 1 + (int32_t)below(s, 3) };
    samp_sequence end = { tokens + 10, 1 + below(s, 2), 0.0f };
    samp_thinking_plan plan = { 0 };
    if (percent(s, 30)) plan.total = 1 + (int32_t)below(s, 20);
    if (percent(s, 70)) plan.soft_ratio = (float)coarse(s);
    if (percent(s, 50)) plan.grace = (int32_t)below(s, 5);
    if (percent(s, 50)) plan.note = tokens + 12, plan.n_note = 1 + below(s, 3);
    if (percent(s, 30)) plan.ends = &end, plan.n_ends = 1;
    if (percent(s, 70)) plan.ramp = (samp_ramp)(1 + below(s, 2)), plan.bias = PICK(s, 3.0f, 20.0f, 1e38f, FLT_MAX);
    if (percent(s, 30)) plan.loop = &loop, plan.loop_from = (int32_t)below(s, 4);
    return samp_init_thinking(text_vocab_of(n_vocab), span, 1 + below(s, 2), (int32_t)below(s, 12),
                              (int32_t)below(s, 2) - 1, &plan);
}

/* Something at times; what selects is in no schedule, so that a chain always selects. */
static samp_sampler *make_schedule(source *s, size_t n_vocab)
{
    samp_token tokens[CONSTRAINT_MOST + 20] = { 0 };
    (void)make_tokens(s, tokens, n_vocab);
    samp_thinking span = { tokens, 1, tokens + 1, 1, NULL, 0 };
    samp_loop loop = { 1, 4, 2, 2 + (int32_t)below(s, 20), 1 + (int32_t)below(s, 3) };
    samp_schedule when = { SAMP_TOKENS,
                           (int32_t)below(s, 4),
                           0,
                           (int32_t)below(s, 3),
                           (samp_area)below(s, 3),
                           &span,
                           1,
                           (int32_t)below(s, 2),
                           NULL,
                           0,
                           text_vocab_of(n_vocab),
                           NULL };
    if (percent(s, 60)) when.to = when.from + 1 + (int32_t)below(s, 5);
    if (percent(s, 30)) when.count = SAMP_LINES;
    if (percent(s, 30)) when.until = tokens + 2, when.n_until = 1 + below(s, 3);
    if (percent(s, 20)) when.loop = &loop;
    samp_sampler *chain = samp_init_schedule(&when, make_kind(s, (int)below(s, N_STAGES), n_vocab));
    if (percent(s, 20)) samp_chain_add(chain, make_kind(s, (int)below(s, N_STAGES), n_vocab));
    return chain;
}

#ifdef SAMPLING_GRAMMAR_DECLARED
static samp_sampler *make_pattern(source *s, size_t n_vocab)
{
    static const char *const patterns[] = { "a", "[a-c]{2}", "b+a|ca?b", "^a", "(?:ab)*c", "a.b" };
    return samp_init_banned_pattern(text_vocab_of(n_vocab), patterns[below(s, 6)],
                                    (unsigned)below(s, 2) * SAMP_BAN_ANY_CASE, NULL);
}
#else
static samp_sampler *make_pattern(source *s, size_t n_vocab) { return make_strings(s, n_vocab); }
#endif

static samp_sampler *make_decay(source *s, size_t n_vocab)
{
    samp_token resets[CONSTRAINT_MOST];
    size_t n = make_tokens(s, resets, n_vocab);
    float p = make_share(s, true), lowest = p * PICK(s, 0.3f, 1.0f, 1e-3f);
    if (!(lowest > 0.0f)) lowest = p;
    return samp_init_top_p_decay(p, PICK(s, 0.9f, 0.5f, 1.0f, 0.999f), lowest, resets, n, make_min_keep(s, n_vocab));
}

static samp_sampler *make_constraint(source *s, size_t n_vocab)
{
    samp_token t[CONSTRAINT_MOST];
    size_t n = make_tokens(s, t, n_vocab);
    int32_t begin = (int32_t)below(s, 4), size = 1 + (int32_t)below(s, 3), last_n = size + (int32_t)below(s, 60);
    float penalty = PICK(s, INFINITY, 2.0f, 1e38f, 0.5f);
    switch (below(s, 18)) {
        case 0:
        case 1: return make_sequences(s, n_vocab);
        case 2: return make_strings(s, n_vocab);
        case 3: return make_thinking(s, n_vocab);
        case 4: return samp_init_suppressed_tokens(t, n);
        case 5: return samp_init_begin_suppressed_tokens(t, n, begin);
        case 6: return samp_init_min_tokens(t, n, 1 + (int32_t)below(s, 6), begin);
        case 7: return samp_init_allowed_tokens(t, n);
        case 8: return samp_init_forced_prefix(t, n < 3 ? n : 3, begin);
        case 9: return samp_init_eog_bias(t, n, PICK(s, 2.0f, -3.0f, -INFINITY, 1e38f));
        case 10: return samp_init_length_penalty(t, n, begin, PICK(s, 1.1f, 0.5f, 3.0f, 1e30f), begin);
        case 11: return samp_init_no_repeat_ngram_except(size, last_n, t, percent(s, 30) ? n : 0);
        case 12: return make_decay(s, n_vocab);
        case 16: return samp_init_timestamps_except((samp_token)below(s, 8), begin - 1, begin - 1, t, n);
        case 13: return make_schedule(s, n_vocab);
        case 15: return make_pattern(s, n_vocab);
        case 14: return make_thinking(s, n_vocab);
        default:
            if (percent(s, 15))
                return samp_init_loop_watch(&(samp_loop){ 1, 4, 2, 2 + last_n, 1 + (int32_t)below(s, 3) });
            if (percent(s, 50)) return samp_init_loop_breaker_cusum(size, last_n, 0.25f, 2.0f, penalty);
            return samp_init_loop_breaker(1, 4, 2, 2 + last_n, 1 + (int32_t)below(s, 3), penalty);
    }
}

#endif /* RANDOM_CONSTRAINT_H */
