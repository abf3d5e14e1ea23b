/* ---- constraints: the constructors ----
   All constructors of api/constraints.h except samp_init_top_p_decay. Each fills a builder (the arrays of a sampler in
   the making, constraints/making.h) with patterns, lists or spans, and ends with sampi_builder_make
   (constraints/sampler.h). The caller's lists are copied; the pointer to a vocabulary is kept. */

/* Ends constructors with patterns: makes the automaton of all patterns, and the lists at its nodes. */
static SAMPI_COLD samp_sampler *sampi_builder_bans(sampi_builder *builder)
{
    const bool rewinds = builder->t.u.constraint.flags & SAMP_BAN_REWIND;
    sampi_builder_patterns(builder, 1);
    if (!rewinds) sampi_builder_lists(builder);
    /* twice the pattern's length, because a string may contain tokens without bytes */
    for (size_t i = 0; i < builder->n_patterns && rewinds; i++)
        if (builder->t.u.constraint.ring.cap < 2 * builder->pattern[i].n)
            builder->t.u.constraint.ring.cap = 2 * (uint32_t)builder->pattern[i].n;
    if (rewinds) builder->t.u.constraint.room = builder->t.u.constraint.ban_room = SAMPI_BANS;
    builder->t.u.constraint.is_idle = builder->n_patterns == 0;
    return sampi_builder_make(builder);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_sequence_bias(const samp_sequence *sequences, size_t n)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_LISTS, "sequence-bias");
    bool good = sampi_builder_room(&builder, sequences, n, "sequences");
    for (size_t i = 0; i < n && good && !builder.t.status; i++) {
        float bias = sequences[i].bias;
        sampi_builder_add(&builder, sequences[i].tokens, NULL, sequences[i].n, "sequences");
        sampi_require(&builder.t, bias <= FLT_MAX, SAMP_E_NAN, "sequences");
        builder.pattern[i].bias = bias;
    }
    builder.t.u.constraint.n = (int32_t)builder.n_patterns;
    sampi_builder_patterns(&builder, 1);
    sampi_builder_lists(&builder);
    sampi_require(&builder.t, !builder.is_doubled, SAMP_E_RANGE, "sequences");
    builder.t.u.constraint.is_idle = n == 0;
    return sampi_builder_make(&builder);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_banned_sequences(const samp_sequence *sequences, size_t n, unsigned flags)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_LISTS, "banned-sequences");
    builder.t.u.constraint.flags = (int32_t)flags;
    sampi_require(&builder.t, flags <= SAMP_BAN_REWIND, SAMP_E_RANGE, "flags");
    bool good = sampi_builder_room(&builder, sequences, n, "sequences");
    for (size_t i = 0; i < n && good && !builder.t.status; i++)
        sampi_builder_add(&builder, sequences[i].tokens, NULL, sequences[i].n, "sequences");
    builder.t.u.constraint.n = (int32_t)builder.n_patterns;
    return sampi_builder_bans(&builder);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_banned_strings(const samp_vocab *vocab, const char *const *strings,
                                                           size_t n, unsigned flags)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_LISTS, "banned-strings");
    builder.t.u.constraint.flags = (int32_t)flags;
    builder.t.u.constraint.vocab = vocab;
    sampi_require(&builder.t, n == 0 || (vocab && vocab->token_bytes), SAMP_E_NULL, "vocab");
    sampi_require(&builder.t, !vocab || (vocab->n_vocab >= 0 && vocab->n_vocab <= SAMP_MAX_VOCAB), SAMP_E_RANGE,
                  "vocab");
    sampi_require(&builder.t, flags <= (SAMP_BAN_REWIND | SAMP_BAN_ANY_CASE), SAMP_E_RANGE, "flags");
    bool good = sampi_builder_room(&builder, strings, n, "strings");
    for (size_t i = 0; i < n && good && !builder.t.status; i++)
        sampi_builder_add(&builder, NULL, strings[i], strings[i] ? strlen(strings[i]) : 0, "strings");
    builder.t.u.constraint.n = (int32_t)builder.n_patterns;
    if (n == 0) builder.t.u.constraint.vocab = NULL;
    return sampi_builder_bans(&builder);
}

/* Ends constructors whose list of tokens does not depend on the text: the list is that of the only node. */
static SAMPI_COLD samp_sampler *sampi_builder_tokens(sampi_builder *builder, const samp_token *tokens, size_t n,
                                                     float bias)
{
    sampi_require_tokens(&builder->t, tokens, n, "tokens");
    builder->t.u.constraint.n = (int32_t)n;
    builder->t.u.constraint.is_idle |= n == 0;
    builder->tokens = tokens;
    builder->n_tokens = n;
    builder->bias = bias;
    sampi_builder_patterns(builder, 1);
    sampi_builder_lists(builder);
    return sampi_builder_make(builder);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_suppressed_tokens(const samp_token *tokens, size_t n)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_LISTS, "suppressed-tokens");
    return sampi_builder_tokens(&builder, tokens, n, -INFINITY);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_begin_suppressed_tokens(const samp_token *tokens, size_t n, int32_t begin)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_LISTS, "begin-suppressed-tokens");
    builder.t.u.constraint.begin = begin;
    builder.t.u.constraint.count = 1;
    return sampi_builder_tokens(&builder, tokens, n, -INFINITY);
}

/* Positions are counted from the first token, also in the prompt, where nothing is drawn. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_min_tokens(const samp_token *tokens, size_t n, int32_t n_min,
                                                       int32_t begin)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_LISTS, "min-tokens");
    sampi_require(&builder.t, n_min >= 0, SAMP_E_RANGE, "n_min");
    sampi_require(&builder.t, begin >= 0 && (int64_t)begin + n_min <= INT32_MAX, SAMP_E_RANGE, "begin");
    builder.t.u.constraint.count = builder.t.status ? 0 : begin + n_min;
    builder.t.u.constraint.is_idle = n_min == 0;
    builder.t.u.constraint.yields = true;
    return sampi_builder_tokens(&builder, tokens, n, -INFINITY);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_eog_bias(const samp_token *tokens, size_t n, float bias)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_LISTS, "eog-bias");
    sampi_require(&builder.t, bias <= FLT_MAX, SAMP_E_NAN, "bias");
    builder.t.u.constraint.is_idle = bias == 0.0f;
    return sampi_builder_tokens(&builder, tokens, n, bias);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_length_penalty(const samp_token *tokens, size_t n, int32_t start,
                                                           float factor, int32_t begin)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_GROWING, "length-penalty");
    sampi_require(&builder.t, start >= 0, SAMP_E_RANGE, "start");
    sampi_require(&builder.t, begin >= 0 && (int64_t)begin + start <= INT32_MAX, SAMP_E_RANGE, "begin");
    sampi_require(&builder.t, factor == factor, SAMP_E_NAN, "factor");
    sampi_require(&builder.t, factor > 0.0f, SAMP_E_RANGE, "factor");
    builder.t.u.constraint.begin = builder.t.status ? 0 : begin + start;
    builder.t.u.constraint.factor = factor;
    builder.t.u.constraint.is_idle = factor == 1.0f;
    return sampi_builder_tokens(&builder, tokens, n, 0.0f);
}

/* Makes part 2 of the sampler the tokens themselves; if `sorts`, in order of ids, each token once. */
static SAMPI_COLD void sampi_builder_only(sampi_builder *builder, const samp_token *tokens, size_t n, bool sorts,
                                          const char *field)
{
    sampi_require_tokens(&builder->t, tokens, n, field);
    sampi_count *list = (sampi_count *)sampi_builder_alloc(builder, sorts ? n : 0, sizeof *list);
    builder->words = (uint32_t *)sampi_builder_alloc(builder, n, sizeof *builder->words);
    for (size_t i = 0; i < n && list && builder->words; i++) {
        if (sorts) list[i].token = tokens[i];
        builder->words[i] = (uint32_t)tokens[i];
    }
    builder->n_words = n;
    if (sorts && list && builder->words) {
        sampi_count_sort(list, (uint32_t)n);
        builder->n_words = 0;
        for (size_t i = 0; i < n; i++)
            if (i == 0 || list[i].token != list[i - 1].token)
                builder->words[builder->n_words++] = (uint32_t)list[i].token;
    }
    SAMP_FREE(list);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_allowed_tokens(const samp_token *tokens, size_t n)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_ALLOWED, "allowed-tokens");
    sampi_require(&builder.t, tokens != NULL, SAMP_E_NULL, "tokens");
    sampi_require(&builder.t, n > 0, SAMP_E_RANGE, "tokens");
    builder.t.u.constraint.n = (int32_t)n;
    sampi_builder_only(&builder, tokens, n, true, "tokens");
    return sampi_builder_make(&builder);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_forced_prefix(const samp_token *tokens, size_t n, int32_t begin)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_FORCED, "forced-prefix");
    builder.t.u.constraint.begin = begin;
    builder.t.u.constraint.is_idle = n == 0;
    builder.t.u.constraint.n = (int32_t)n;
    sampi_builder_only(&builder, tokens, n, false, "tokens");
    return sampi_builder_make(&builder);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_no_repeat_ngram_except(int32_t n, int32_t last_n,
                                                                   const samp_token *exempt, size_t n_exempt)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_NGRAM, "no-repeat-ngram");
    sampi_require(&builder.t, n >= 0 && n <= SAMPI_MAX_WINDOW, SAMP_E_RANGE, "n");
    sampi_require(&builder.t, last_n >= n, SAMP_E_RANGE, "last_n");
    builder.t.u.constraint.n = n;
    builder.t.u.constraint.last_n = last_n;
    builder.t.u.constraint.penalty = INFINITY;
    builder.t.u.constraint.is_idle = n == 0;
    builder.t.u.constraint.ring.cap = builder.t.u.constraint.room = n ? (uint32_t)last_n : 0;
    sampi_builder_only(&builder, exempt, n_exempt, true, "exempt");
    builder.t.u.constraint.exempt = builder.t.status ? 0 : (int32_t)builder.n_words;
    return sampi_builder_make(&builder);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_no_repeat_ngram(int32_t n, int32_t last_n)
{
    return samp_init_no_repeat_ngram_except(n, last_n, NULL, 0);
}

/* Checks and copies the definition of a loop, if there is one, and sizes the window in which loops are searched for. */
static SAMPI_COLD void sampi_builder_loop(sampi_builder *builder, const samp_loop *loop)
{
    sampi_sampler *t = &builder->t;
    sampi_constraint *r = &t->u.constraint;
    if (!loop) return;
    sampi_require(t, loop->min_period >= 1, SAMP_E_RANGE, "min_period");
    sampi_require(t, loop->max_period >= loop->min_period && loop->max_period <= SAMPI_MAX_PERIOD, SAMP_E_RANGE,
                  "max_period");
    sampi_require(t, loop->copies >= 2 && loop->copies <= SAMPI_MAX_PERIOD, SAMP_E_RANGE, "copies");
    sampi_require(t, (int64_t)loop->last_n >= (int64_t)loop->copies * loop->min_period, SAMP_E_RANGE, "last_n");
    sampi_require(t, loop->every >= 1, SAMP_E_RANGE, "every");
    if (t->status) return;
    r->shortest = loop->min_period;
    r->longest = loop->max_period;
    r->copies = loop->copies;
    r->last_n = loop->last_n;
    r->every = loop->every;
    r->ring.cap = (uint32_t)loop->last_n;
    r->has_loop = true;
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_loop_breaker(int32_t min_period, int32_t max_period, int32_t copies,
                                                         int32_t last_n, int32_t every, float penalty)
{
    const samp_loop loop = { min_period, max_period, copies, last_n, every };
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_PERIOD, "loop-breaker");
    sampi_builder_loop(&builder, &loop);
    builder.t.u.constraint.penalty = penalty;
    builder.t.u.constraint.is_idle = penalty == 0.0f;
    builder.t.u.constraint.room = 1;
    return sampi_builder_make(&builder);
}

/* Makes a loop breaker that finds loops but changes no logit. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_loop_watch(const samp_loop *loop)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_PERIOD, "loop-watch");
    sampi_require(&builder.t, loop != NULL, SAMP_E_NULL, "loop");
    sampi_builder_loop(&builder, loop);
    return sampi_builder_make(&builder);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_loop_breaker_cusum(int32_t n, int32_t last_n, float loss, float alarm,
                                                               float penalty)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_CUSUM, "loop-breaker-cusum");
    sampi_require(&builder.t, n >= 1 && n <= SAMPI_MAX_WINDOW, SAMP_E_RANGE, "n");
    sampi_require(&builder.t, last_n >= n, SAMP_E_RANGE, "last_n");
    builder.t.u.constraint.n = n;
    builder.t.u.constraint.last_n = last_n;
    builder.t.u.constraint.loss = loss;
    builder.t.u.constraint.alarm = alarm;
    builder.t.u.constraint.penalty = penalty;
    sampi_require(&builder.t, alarm == alarm, SAMP_E_NAN, "alarm");
    sampi_require(&builder.t, alarm > 0.0f, SAMP_E_RANGE, "alarm");
    builder.t.u.constraint.is_idle = penalty == 0.0f;
    builder.t.u.constraint.ring.cap = builder.t.u.constraint.room = (uint32_t)last_n;
    return sampi_builder_make(&builder);
}

/* Adds the start and end sequences of spans as patterns: the automaton's first root is that of all starts, and each
   span's end has a root of its own after it. */
static SAMPI_COLD void sampi_builder_add_spans(sampi_builder *builder, const samp_thinking *spans, size_t n_spans)
{
    for (size_t i = 0; i < 2 * n_spans && builder->pattern && !builder->t.status; i++) {
        const samp_thinking *span = &spans[i / 2];
        sampi_builder_add(builder, i % 2 ? span->end : span->start, NULL, i % 2 ? span->n_end : span->n_start,
                          "spans");
        builder->pattern[i].label = (uint32_t)i / 2 + 1;
        builder->pattern[i].node = i % 2 ? (uint32_t)i / 2 + 1 : 0;
    }
}

/* Appends tokens to part 2, and returns where they are. */
static SAMPI_COLD sampi_span sampi_builder_words(sampi_builder *builder, const samp_token *tokens, size_t n)
{
    sampi_span at = { (uint32_t)builder->n_words, (uint32_t)n, 0 };
    for (size_t i = 0; i < n; i++) builder->words[builder->n_words++] = (uint32_t)tokens[i];
    return at;
}

/* Checks the tokens that each span forces, and the note (the text before the end). Returns the number of words in part
   2, or 0 after an error. */
static SAMPI_COLD size_t sampi_builder_count_words(sampi_builder *builder, const samp_thinking *spans, size_t n,
                                                   const samp_thinking_plan *plan)
{
    size_t total = n * sizeof(sampi_span) / sizeof(uint32_t) * (plan ? 2 : 1);
    for (size_t i = 0; i < n && !builder->t.status; i++) {
        size_t n_force = spans[i].force ? spans[i].n_force : spans[i].n_end;
        sampi_require(&builder->t, n_force > 0 && n_force <= SAMPI_MAX_PATTERN, SAMP_E_RANGE, "spans");
        if (spans[i].force && !builder->t.status) sampi_require_tokens(&builder->t, spans[i].force, n_force, "spans");
        total += n_force + (plan ? spans[i].n_end : 0);
    }
    if (plan && !builder->t.status) {
        sampi_require(&builder->t, plan->n_note <= SAMPI_MAX_PATTERN, SAMP_E_RANGE, "note");
        sampi_require_tokens(&builder->t, plan->note, plan->n_note, "note");
        total += plan->n_note;
    }
    return builder->t.status ? 0 : total;
}

/* Writes the tokens that each span forces to part 2, after the table of spans. If there is a plan, the table has the
   end sequences too, and the note follows. */
static SAMPI_COLD void sampi_builder_spans(sampi_builder *builder, const samp_thinking *spans, size_t n,
                                           const samp_thinking_plan *plan)
{
    size_t total = sampi_builder_count_words(builder, spans, n, plan);
    builder->words = (uint32_t *)sampi_builder_alloc(builder, total, sizeof *builder->words);
    if (!builder->words || !total) return;
    sampi_span *span = (sampi_span *)(void *)builder->words;
    builder->n_words = n * sizeof *span / sizeof(uint32_t) * (plan ? 2 : 1);
    for (size_t i = 0; i < n; i++) {
        span[i] = sampi_builder_words(builder, spans[i].force ? spans[i].force : spans[i].end,
                                      spans[i].force ? spans[i].n_force : spans[i].n_end);
        span[i].is_end = !spans[i].force;
    }
    for (size_t i = 0; plan && i < n; i++) span[n + i] = sampi_builder_words(builder, spans[i].end, spans[i].n_end);
    if (plan) builder->t.u.constraint.note = sampi_builder_words(builder, plan->note, plan->n_note).first;
}

/* Copies the numbers of a plan of a thinking budget, and checks those that no field describes. */
static SAMPI_COLD void sampi_builder_plan(sampi_builder *builder, const samp_thinking_plan *plan)
{
    sampi_constraint *r = &builder->t.u.constraint;
    sampi_require(&builder->t, !plan->n_note || r->vocab, SAMP_E_NULL, "vocab");
    sampi_require(&builder->t, !(plan->soft > 0 && plan->soft_ratio > 0.0f), SAMP_E_RANGE, "soft_ratio");
    sampi_require(&builder->t, (unsigned)plan->ramp <= SAMP_RAMP_EXPONENTIAL, SAMP_E_RANGE, "ramp");
    sampi_require(&builder->t, plan->n_ends <= SAMPI_MAX_PATTERN, SAMP_E_RANGE, "ends");
    sampi_require(&builder->t, !plan->n_ends || plan->ends, SAMP_E_NULL, "ends");
    r->has_plan = true;
    r->soft = plan->soft;
    r->soft_ratio = plan->soft_ratio;
    r->grace = plan->grace;
    r->total = plan->total;
    r->bias = plan->bias;
    r->ramp = plan->bias != 0.0f ? (int32_t)plan->ramp : 0; /* the check of the field reports a NaN */
    r->room = r->ramp ? 1 : 0;
    r->loop_from = plan->loop_from;
    r->n_note = builder->t.status ? 0 : (uint32_t)plan->n_note;
    sampi_builder_loop(builder, plan->loop);
}

/* The automaton's roots are that of all starts, those of each span's end, and that of the ends that all spans share. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_thinking(const samp_vocab *vocab, const samp_thinking *spans,
                                                     size_t n_spans, int32_t budget, int32_t open,
                                                     const samp_thinking_plan *plan)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_THINKING, plan ? "thinking" : "thinking-budget");
    sampi_require(&builder.t, !vocab || vocab->token_bytes, SAMP_E_NULL, "vocab");
    sampi_require(&builder.t, n_spans <= SAMPI_MAX_PATTERN, SAMP_E_RANGE, "spans");
    sampi_require(&builder.t, open >= -1 && open < (int64_t)n_spans, SAMP_E_RANGE, "open");
    builder.t.u.constraint.vocab = vocab;
    if (plan) sampi_builder_plan(&builder, plan);
    size_t n_ends = plan && !builder.t.status ? plan->n_ends : 0;
    (void)sampi_builder_room(&builder, spans, builder.t.status ? 0 : 2 * n_spans + n_ends, "spans");
    sampi_builder_add_spans(&builder, spans, n_spans);
    for (size_t i = 0; i < n_ends && builder.pattern && !builder.t.status; i++) {
        sampi_builder_add(&builder, plan->ends[i].tokens, NULL, plan->ends[i].n, "ends");
        builder.pattern[2 * n_spans + i].node = (uint32_t)n_spans + 1;
    }
    sampi_builder_spans(&builder, spans, n_spans, plan);
    sampi_builder_patterns(&builder, (uint32_t)n_spans + (plan ? 2 : 1));
    builder.t.u.constraint.n = builder.t.status ? 0 : (int32_t)n_spans;
    builder.t.u.constraint.budget = budget < 0 ? 0 : budget;
    builder.t.u.constraint.open = open;
    builder.t.u.constraint.is_idle = budget < 0 || n_spans == 0;
    return sampi_builder_make(&builder);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_thinking_budget(const samp_vocab *vocab, const samp_thinking *spans,
                                                            size_t n_spans, int32_t budget, int32_t open)
{
    return samp_init_thinking(vocab, spans, n_spans, budget, open, NULL);
}
