/* ---- constraints: the constructors ----
   All constructors of api/constraints.h except samp_init_top_p_decay. Each fills a kit (the arrays of a sampler in the
   making, constraints/making.h) with patterns, lists or spans, and ends with sampi_kit_make (constraints/sampler.h).
   The caller's lists are copied; the pointer to a vocabulary is kept. */

/* Ends constructors with patterns: makes the automaton of all patterns, and the lists at its nodes. */
static SAMPI_COLD samp_sampler *sampi_kit_bans(sampi_kit *kit)
{
    const bool rewinds = kit->t.u.limit.flags & SAMP_BAN_REWIND;
    sampi_kit_patterns(kit, 1);
    if (!rewinds) sampi_kit_lists(kit);
    /* twice the pattern's length, because a string may contain tokens without bytes */
    for (size_t i = 0; i < kit->n_patterns && rewinds; i++)
        if (kit->t.u.limit.ring.cap < 2 * kit->pattern[i].n)
            kit->t.u.limit.ring.cap = 2 * (uint32_t)kit->pattern[i].n;
    if (rewinds) kit->t.u.limit.room = kit->t.u.limit.ban_room = SAMPI_BANS;
    kit->t.u.limit.is_idle = kit->n_patterns == 0;
    return sampi_kit_make(kit);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_sequence_bias(const samp_sequence *sequences, size_t n)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_LISTS, "sequence-bias");
    bool good = sampi_kit_room(&kit, sequences, n, "sequences");
    for (size_t i = 0; i < n && good && !kit.t.status; i++) {
        float bias = sequences[i].bias;
        sampi_kit_add(&kit, sequences[i].tokens, NULL, sequences[i].n, "sequences");
        sampi_require(&kit.t, bias <= FLT_MAX, SAMP_E_NAN, "sequences");
        kit.pattern[i].bias = bias;
    }
    kit.t.u.limit.n = (int32_t)kit.n_patterns;
    sampi_kit_patterns(&kit, 1);
    sampi_kit_lists(&kit);
    sampi_require(&kit.t, !kit.is_doubled, SAMP_E_RANGE, "sequences");
    kit.t.u.limit.is_idle = n == 0;
    return sampi_kit_make(&kit);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_banned_sequences(const samp_sequence *sequences, size_t n, unsigned flags)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_LISTS, "banned-sequences");
    kit.t.u.limit.flags = (int32_t)flags;
    sampi_require(&kit.t, flags <= SAMP_BAN_REWIND, SAMP_E_RANGE, "flags");
    bool good = sampi_kit_room(&kit, sequences, n, "sequences");
    for (size_t i = 0; i < n && good && !kit.t.status; i++)
        sampi_kit_add(&kit, sequences[i].tokens, NULL, sequences[i].n, "sequences");
    kit.t.u.limit.n = (int32_t)kit.n_patterns;
    return sampi_kit_bans(&kit);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_banned_strings(const samp_vocab *vocab, const char *const *strings,
                                                           size_t n, unsigned flags)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_LISTS, "banned-strings");
    kit.t.u.limit.flags = (int32_t)flags;
    kit.t.u.limit.vocab = vocab;
    sampi_require(&kit.t, n == 0 || (vocab && vocab->token_bytes), SAMP_E_NULL, "vocab");
    sampi_require(&kit.t, !vocab || (vocab->n_vocab >= 0 && vocab->n_vocab <= SAMP_MAX_VOCAB), SAMP_E_RANGE, "vocab");
    sampi_require(&kit.t, flags <= (SAMP_BAN_REWIND | SAMP_BAN_ANY_CASE), SAMP_E_RANGE, "flags");
    bool good = sampi_kit_room(&kit, strings, n, "strings");
    for (size_t i = 0; i < n && good && !kit.t.status; i++)
        sampi_kit_add(&kit, NULL, strings[i], strings[i] ? strlen(strings[i]) : 0, "strings");
    kit.t.u.limit.n = (int32_t)kit.n_patterns;
    if (n == 0) kit.t.u.limit.vocab = NULL;
    return sampi_kit_bans(&kit);
}

/* Ends constructors whose list of tokens does not depend on the text: the list is that of the only node. */
static SAMPI_COLD samp_sampler *sampi_kit_tokens(sampi_kit *kit, const samp_token *tokens, size_t n, float bias)
{
    sampi_require_tokens(&kit->t, tokens, n, "tokens");
    kit->t.u.limit.n = (int32_t)n;
    kit->t.u.limit.is_idle |= n == 0;
    kit->tokens = tokens;
    kit->n_tokens = n;
    kit->bias = bias;
    sampi_kit_patterns(kit, 1);
    sampi_kit_lists(kit);
    return sampi_kit_make(kit);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_suppressed_tokens(const samp_token *tokens, size_t n)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_LISTS, "suppressed-tokens");
    return sampi_kit_tokens(&kit, tokens, n, -INFINITY);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_begin_suppressed_tokens(const samp_token *tokens, size_t n, int32_t begin)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_LISTS, "begin-suppressed-tokens");
    kit.t.u.limit.begin = begin;
    kit.t.u.limit.count = 1;
    return sampi_kit_tokens(&kit, tokens, n, -INFINITY);
}

/* Positions are counted from the first token, also in the prompt, where nothing is drawn. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_min_tokens(const samp_token *tokens, size_t n, int32_t n_min,
                                                       int32_t begin)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_LISTS, "min-tokens");
    sampi_require(&kit.t, n_min >= 0, SAMP_E_RANGE, "n_min");
    sampi_require(&kit.t, begin >= 0 && (int64_t)begin + n_min <= INT32_MAX, SAMP_E_RANGE, "begin");
    kit.t.u.limit.count = kit.t.status ? 0 : begin + n_min;
    kit.t.u.limit.is_idle = n_min == 0;
    return sampi_kit_tokens(&kit, tokens, n, -INFINITY);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_eog_bias(const samp_token *tokens, size_t n, float bias)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_LISTS, "eog-bias");
    sampi_require(&kit.t, bias <= FLT_MAX, SAMP_E_NAN, "bias");
    kit.t.u.limit.is_idle = bias == 0.0f;
    return sampi_kit_tokens(&kit, tokens, n, bias);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_length_penalty(const samp_token *tokens, size_t n, int32_t start,
                                                           float factor, int32_t begin)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_GROWING, "length-penalty");
    sampi_require(&kit.t, start >= 0, SAMP_E_RANGE, "start");
    sampi_require(&kit.t, begin >= 0 && (int64_t)begin + start <= INT32_MAX, SAMP_E_RANGE, "begin");
    sampi_require(&kit.t, factor == factor, SAMP_E_NAN, "factor");
    sampi_require(&kit.t, factor > 0.0f, SAMP_E_RANGE, "factor");
    kit.t.u.limit.begin = kit.t.status ? 0 : begin + start;
    kit.t.u.limit.factor = factor;
    kit.t.u.limit.is_idle = factor == 1.0f;
    return sampi_kit_tokens(&kit, tokens, n, 0.0f);
}

/* Makes part 2 of the sampler the tokens themselves; if `sorts`, in order of ids, each token once. */
static SAMPI_COLD void sampi_kit_only(sampi_kit *kit, const samp_token *tokens, size_t n, bool sorts,
                                      const char *field)
{
    sampi_require_tokens(&kit->t, tokens, n, field);
    sampi_count *list = (sampi_count *)sampi_kit_alloc(kit, sorts ? n : 0, sizeof *list);
    kit->words = (uint32_t *)sampi_kit_alloc(kit, n, sizeof *kit->words);
    for (size_t i = 0; i < n && list && kit->words; i++) {
        if (sorts) list[i].token = tokens[i];
        kit->words[i] = (uint32_t)tokens[i];
    }
    kit->n_words = n;
    if (sorts && list && kit->words) {
        sampi_count_sort(list, (uint32_t)n);
        kit->n_words = 0;
        for (size_t i = 0; i < n; i++)
            if (i == 0 || list[i].token != list[i - 1].token) kit->words[kit->n_words++] = (uint32_t)list[i].token;
    }
    SAMP_FREE(list);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_allowed_tokens(const samp_token *tokens, size_t n)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_ALLOWED, "allowed-tokens");
    sampi_require(&kit.t, tokens != NULL, SAMP_E_NULL, "tokens");
    sampi_require(&kit.t, n > 0, SAMP_E_RANGE, "tokens");
    kit.t.u.limit.n = (int32_t)n;
    sampi_kit_only(&kit, tokens, n, true, "tokens");
    return sampi_kit_make(&kit);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_forced_prefix(const samp_token *tokens, size_t n, int32_t begin)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_FORCED, "forced-prefix");
    kit.t.u.limit.begin = begin;
    kit.t.u.limit.is_idle = n == 0;
    kit.t.u.limit.n = (int32_t)n;
    sampi_kit_only(&kit, tokens, n, false, "tokens");
    return sampi_kit_make(&kit);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_no_repeat_ngram(int32_t n, int32_t last_n)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_NGRAM, "no-repeat-ngram");
    sampi_require(&kit.t, n >= 0 && n <= SAMPI_MAX_WINDOW, SAMP_E_RANGE, "n");
    sampi_require(&kit.t, last_n >= n, SAMP_E_RANGE, "last_n");
    kit.t.u.limit.n = n;
    kit.t.u.limit.last_n = last_n;
    kit.t.u.limit.penalty = INFINITY;
    kit.t.u.limit.is_idle = n == 0;
    kit.t.u.limit.ring.cap = kit.t.u.limit.room = n ? (uint32_t)last_n : 0;
    return sampi_kit_make(&kit);
}

/* Checks the definition of a loop, and writes it to the record t, for a loop breaker and for a samp_loop. */
static SAMPI_COLD void sampi_require_loop(sampi_sampler *t, int32_t min_period, int32_t max_period, int32_t copies,
                                          int32_t last_n, int32_t every)
{
    sampi_require(t, min_period >= 1, SAMP_E_RANGE, "min_period");
    sampi_require(t, max_period >= min_period && max_period <= SAMPI_MAX_PERIOD, SAMP_E_RANGE, "max_period");
    sampi_require(t, copies >= 2 && copies <= SAMPI_MAX_PERIOD, SAMP_E_RANGE, "copies");
    sampi_require(t, (int64_t)last_n >= (int64_t)copies * min_period, SAMP_E_RANGE, "last_n");
    sampi_require(t, every >= 1, SAMP_E_RANGE, "every");
}
static SAMPI_COLD void sampi_set_loop(sampi_limit *r, int32_t min_period, int32_t max_period, int32_t copies,
                                      int32_t last_n, int32_t every)
{
    r->shortest = min_period;
    r->longest = max_period;
    r->copies = copies;
    r->last_n = last_n;
    r->every = every;
    r->ring.cap = (uint32_t)last_n;
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_loop_breaker(int32_t min_period, int32_t max_period, int32_t copies,
                                                         int32_t last_n, int32_t every, float penalty)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_PERIOD, "loop-breaker");
    sampi_require_loop(&kit.t, min_period, max_period, copies, last_n, every);
    sampi_set_loop(&kit.t.u.limit, min_period, max_period, copies, last_n, every);
    kit.t.u.limit.penalty = penalty;
    kit.t.u.limit.is_idle = penalty == 0.0f;
    kit.t.u.limit.room = 1;
    return sampi_kit_make(&kit);
}

/* Checks and copies the definition of a loop, if there is one, and sizes the window in which loops are searched for. */
static SAMPI_COLD void sampi_kit_loop(sampi_kit *kit, const samp_loop *loop)
{
    sampi_limit *r = &kit->t.u.limit;
    if (!loop) return;
    sampi_require_loop(&kit->t, loop->min_period, loop->max_period, loop->copies, loop->last_n, loop->every);
    if (kit->t.status) return;
    sampi_set_loop(r, loop->min_period, loop->max_period, loop->copies, loop->last_n, loop->every);
    r->has_loop = true;
}

/* Makes a loop breaker that finds loops but changes no logit. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_loop_watch(const samp_loop *loop)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_PERIOD, "loop-watch");
    sampi_require(&kit.t, loop != NULL, SAMP_E_NULL, "loop");
    sampi_kit_loop(&kit, loop);
    return sampi_kit_make(&kit);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_loop_breaker_cusum(int32_t n, int32_t last_n, float loss, float alarm,
                                                               float penalty)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_CUSUM, "loop-breaker-cusum");
    sampi_require(&kit.t, n >= 1 && n <= SAMPI_MAX_WINDOW, SAMP_E_RANGE, "n");
    sampi_require(&kit.t, last_n >= n, SAMP_E_RANGE, "last_n");
    kit.t.u.limit.n = n;
    kit.t.u.limit.last_n = last_n;
    kit.t.u.limit.loss = loss;
    kit.t.u.limit.alarm = alarm;
    kit.t.u.limit.penalty = penalty;
    sampi_require(&kit.t, alarm == alarm, SAMP_E_NAN, "alarm");
    sampi_require(&kit.t, alarm > 0.0f, SAMP_E_RANGE, "alarm");
    kit.t.u.limit.is_idle = penalty == 0.0f;
    kit.t.u.limit.ring.cap = kit.t.u.limit.room = (uint32_t)last_n;
    return sampi_kit_make(&kit);
}

/* Adds the start and end sequences of spans as patterns: the automaton's first root is that of all starts, and each
   span's end has a root of its own after it. */
static SAMPI_COLD void sampi_kit_add_spans(sampi_kit *kit, const samp_thinking *spans, size_t n_spans)
{
    for (size_t i = 0; i < 2 * n_spans && kit->pattern && !kit->t.status; i++) {
        const samp_thinking *span = &spans[i / 2];
        sampi_kit_add(kit, i % 2 ? span->end : span->start, NULL, i % 2 ? span->n_end : span->n_start, "spans");
        kit->pattern[i].mark = (uint32_t)i / 2 + 1;
        kit->pattern[i].node = i % 2 ? (uint32_t)i / 2 + 1 : 0;
    }
}

/* Appends tokens to part 2, and returns where they are. */
static SAMPI_COLD sampi_span sampi_kit_words(sampi_kit *kit, const samp_token *tokens, size_t n)
{
    sampi_span at = { (uint32_t)kit->n_words, (uint32_t)n, 0 };
    for (size_t i = 0; i < n; i++) kit->words[kit->n_words++] = (uint32_t)tokens[i];
    return at;
}

/* Checks the tokens that each span forces, and the note (the text before the end). Returns the number of words in part
   2, or 0 after an error. */
static SAMPI_COLD size_t sampi_kit_count_words(sampi_kit *kit, const samp_thinking *spans, size_t n,
                                               const samp_thinking_plan *plan)
{
    size_t total = n * sizeof(sampi_span) / sizeof(uint32_t) * (plan ? 2 : 1);
    for (size_t i = 0; i < n && !kit->t.status; i++) {
        size_t n_force = spans[i].force ? spans[i].n_force : spans[i].n_end;
        sampi_require(&kit->t, n_force > 0 && n_force <= SAMPI_MAX_PATTERN, SAMP_E_RANGE, "spans");
        if (spans[i].force && !kit->t.status) sampi_require_tokens(&kit->t, spans[i].force, n_force, "spans");
        total += n_force + (plan ? spans[i].n_end : 0);
    }
    if (plan && !kit->t.status) {
        sampi_require(&kit->t, plan->n_note <= SAMPI_MAX_PATTERN, SAMP_E_RANGE, "note");
        sampi_require_tokens(&kit->t, plan->note, plan->n_note, "note");
        total += plan->n_note;
    }
    return kit->t.status ? 0 : total;
}

/* Writes the tokens that each span forces to part 2, after the table of spans. If there is a plan, the table has the
   end sequences too, and the note follows. */
static SAMPI_COLD void sampi_kit_spans(sampi_kit *kit, const samp_thinking *spans, size_t n,
                                       const samp_thinking_plan *plan)
{
    size_t total = sampi_kit_count_words(kit, spans, n, plan);
    kit->words = (uint32_t *)sampi_kit_alloc(kit, total, sizeof *kit->words);
    if (!kit->words || !total) return;
    sampi_span *span = (sampi_span *)(void *)kit->words;
    kit->n_words = n * sizeof *span / sizeof(uint32_t) * (plan ? 2 : 1);
    for (size_t i = 0; i < n; i++) {
        span[i] = sampi_kit_words(kit, spans[i].force ? spans[i].force : spans[i].end,
                                  spans[i].force ? spans[i].n_force : spans[i].n_end);
        span[i].is_end = !spans[i].force;
    }
    for (size_t i = 0; plan && i < n; i++) span[n + i] = sampi_kit_words(kit, spans[i].end, spans[i].n_end);
    if (plan) kit->t.u.limit.note = sampi_kit_words(kit, plan->note, plan->n_note).first;
}

/* Copies the numbers of a plan of a thinking budget, and checks those that no field describes. */
static SAMPI_COLD void sampi_kit_plan(sampi_kit *kit, const samp_thinking_plan *plan)
{
    sampi_limit *r = &kit->t.u.limit;
    sampi_require(&kit->t, !plan->n_note || r->vocab, SAMP_E_NULL, "vocab");
    sampi_require(&kit->t, !(plan->soft > 0 && plan->soft_ratio > 0.0f), SAMP_E_RANGE, "soft_ratio");
    sampi_require(&kit->t, (unsigned)plan->ramp <= SAMP_RAMP_EXPONENTIAL, SAMP_E_RANGE, "ramp");
    sampi_require(&kit->t, plan->n_ends <= SAMPI_MAX_PATTERN, SAMP_E_RANGE, "ends");
    sampi_require(&kit->t, !plan->n_ends || plan->ends, SAMP_E_NULL, "ends");
    r->has_plan = true;
    r->soft = plan->soft;
    r->soft_ratio = plan->soft_ratio;
    r->grace = plan->grace;
    r->total = plan->total;
    r->bias = plan->bias;
    r->ramp = plan->bias != 0.0f ? (int32_t)plan->ramp : 0; /* the check of the field reports a NaN */
    r->room = r->ramp ? 1 : 0;
    r->loop_from = plan->loop_from;
    r->n_note = kit->t.status ? 0 : (uint32_t)plan->n_note;
    sampi_kit_loop(kit, plan->loop);
}

/* The automaton's roots are that of all starts, those of each span's end, and that of the ends that all spans share. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_thinking(const samp_vocab *vocab, const samp_thinking *spans,
                                                     size_t n_spans, int32_t budget, int32_t open,
                                                     const samp_thinking_plan *plan)
{
    sampi_kit kit = sampi_kit_of(SAMPI_LIMIT_THINKING, plan ? "thinking" : "thinking-budget");
    sampi_require(&kit.t, !vocab || vocab->token_bytes, SAMP_E_NULL, "vocab");
    sampi_require(&kit.t, n_spans <= SAMPI_MAX_PATTERN, SAMP_E_RANGE, "spans");
    sampi_require(&kit.t, open >= -1 && open < (int64_t)n_spans, SAMP_E_RANGE, "open");
    kit.t.u.limit.vocab = vocab;
    if (plan) sampi_kit_plan(&kit, plan);
    size_t n_ends = plan && !kit.t.status ? plan->n_ends : 0;
    (void)sampi_kit_room(&kit, spans, kit.t.status ? 0 : 2 * n_spans + n_ends, "spans");
    sampi_kit_add_spans(&kit, spans, n_spans);
    for (size_t i = 0; i < n_ends && kit.pattern && !kit.t.status; i++) {
        sampi_kit_add(&kit, plan->ends[i].tokens, NULL, plan->ends[i].n, "ends");
        kit.pattern[2 * n_spans + i].node = (uint32_t)n_spans + 1;
    }
    sampi_kit_spans(&kit, spans, n_spans, plan);
    sampi_kit_patterns(&kit, (uint32_t)n_spans + (plan ? 2 : 1));
    kit.t.u.limit.n = kit.t.status ? 0 : (int32_t)n_spans;
    kit.t.u.limit.budget = budget < 0 ? 0 : budget;
    kit.t.u.limit.open = open;
    kit.t.u.limit.is_idle = budget < 0 || n_spans == 0;
    return sampi_kit_make(&kit);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_thinking_budget(const samp_vocab *vocab, const samp_thinking *spans,
                                                            size_t n_spans, int32_t budget, int32_t open)
{
    return samp_init_thinking(vocab, spans, n_spans, budget, open, NULL);
}
