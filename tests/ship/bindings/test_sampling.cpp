// What sampling.hpp promises, but for the tokens themselves (tokens.cpp). Linked with counted.c: all is freed, once.
#include "check.hpp"
#include <array>
#include <cmath>

using namespace sampling;

enum { N = 40, END = 95 };
typedef std::vector<float> row;

static span<const float> logits_of(const row &x, size_t from) { return span<const float>(&x[from], 2); }

static row make_row(int r)
{
    row x;
    for (int i = 0; i < N; i++) x.push_back(static_cast<float>((i + 3 * r + 1) * 7919 % 1000) / 250);
    return x;
}

static row all_rows(int n)
{
    row all;
    for (int r = 0; r < n; r++) {
        row one = make_row(r);
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

static chain seeded(int seed) { return chain({ { "seed", std::to_string(seed) }, { "temp", "1.5" } }); }

static void test_arrays()
{
    row x = make_row(0);
    std::vector<double> wide(x.begin(), x.end());
    std::vector<bf16> bits;
    row rounded;
    for (float f : x) {
        union {
            float f;
            uint32_t u;
        } as = { f };
        as.u &= 0xffff0000u;
        bf16 b = { static_cast<uint16_t>(as.u >> 16) };
        bits.push_back(b);
        rounded.push_back(as.f);
    }
    std::array<float, N> fixed;
    for (size_t i = 0; i < N; i++) fixed[i] = x[i];
    float plain[N];
    for (size_t i = 0; i < N; i++) plain[i] = x[i];
    for (int seed = 0; seed < 20; seed++) {
        samp_token want = seeded(seed).sample(x);
        CHECK(seeded(seed).sample(wide) == want);
        CHECK(seeded(seed).sample(fixed) == want);
        CHECK(seeded(seed).sample(plain, N) == want);
        CHECK(seeded(seed).sample(bits) == seeded(seed).sample(rounded));
    }
    const f16 half[] = { { 0x3C00 }, { 0x4200 }, { 0x4000 } };
    CHECK(chain({ { "top_k", "1" } }).sample(logits(half, 3)) == 1);
    FAILS(seeded(1).sample(row()), "no token is left");
    FAILS(seeded(1).sample(logits(plain, 2, N / 2)), "logits");
}

// An error says which logit is bad.
static void test_reasons()
{
    const std::vector<double> huge = { 1, HUGE_VAL };
    const row bad = { 1.0f, 2.0f, 3.0f, 1.0f, NAN, 3.0f, -INFINITY, -INFINITY, -INFINITY };
    FAILS(seeded(1).sample({ 1.0f, NAN }), "logit 1 is NaN");
    FAILS(seeded(1).sample(huge), "logit 1 is +infinity");
    FAILS(seeded(1).sample(row(5, -INFINITY)), "all 5 tokens are masked");
    FAILS(seeded(1).sample({ 1.0f, 2.0f }, { 0u }), "all 2 tokens are masked");
    std::vector<chain> chains;
    for (int i = 0; i < 3; i++) chains.push_back(seeded(i));
    FAILS(sample_batch(chains, logits(bad.data(), 3, 3)), "row 1: logit 1 is NaN");
    batch_options how;
    const int32_t index[] = { 0, 0, 2 };
    how.row_index = index;
    FAILS(sample_batch(chains, logits(bad.data(), 3, 3), how), "row 2: all 3 tokens are masked");
    draft d;
    const samp_token third = 2;
    d.tokens = span<const samp_token>(&third, 1);
    FAILS(chain({ { "top_k", "1" } }).verify(logits(bad.data(), 2, 3), d), "row 1: logit 1 is NaN");
    FAILS(seeded(1).verify(logits(&bad[3], 2, 3), d), "logit 1 is NaN");
    FAILS(guide({ 1.0f, 2.0f }, { 1.0f, NAN }, 1), "uncond: logit 1 is NaN");
    FAILS(guide(row(3, -INFINITY), { 1.0f, 2.0f, 3.0f }, 1), "cond: all 3 tokens are masked");
    FAILS(guide({ 1.0f, 2.0f }, { 1.0f, 2.0f }, NAN), "scale: ");
    FAILS(guide({ 1.0f, 2.0f }, { 1.0f }, 1), "uncond: a value");
    FAILS(guide(row(), row(), 1), "no token is left");
    FAILS(chain({ { "logit_bias", "7+1" } }, vocab({ "a", "b" })), "logit_bias: token 7 is outside its range: ");
    FAILS(chain({ { "order", "top_k;tpo_p" } }), "order: \"tpo_p\": no sampler has this name");
    row x = { 1.0f, 2.0f, 4.0f }, y = { 2.0f, 2.0f, 0.0f };
    const row twice = guide(x, y, 2), once = guide(x, y, 1);
    CHECK(std::fabs(once[2] - once[1] - 2) < 1e-5 && std::fabs(twice[2] - twice[1] - 6) < 1e-5);
    FAILS(guide(x, y, 2, span<float>(x.data(), 2)), "out: a value");
    FAILS(guide(logits_of(x, 0), logits_of(x, 1), 2, span<float>(&x[1], 2)), "out: a value");
    guide(x, y, 2, x);
    CHECK(x == twice);
}

static void test_batches()
{
    row data = all_rows(4);
    std::vector<chain> chains;
    std::vector<samp_token> alone;
    for (int r = 0; r < 4; r++) {
        chains.push_back(seeded(r));
        alone.push_back(seeded(r).sample(make_row(r)));
    }
    CHECK(sample_batch(chains, logits(data.data(), 4, N)) == alone);
    for (chain &c : chains) c.reset();
    std::vector<chain *> back = { &chains[3], &chains[2], &chains[1], &chains[0] };
    const int32_t index[] = { 3, 2, 1, 0 }, beyond[] = { 0, 1, 2, 4 };
    batch_options how;
    std::vector<logprobs> told;
    how.row_index = index;
    how.told = &told;
    how.top = 2;
    std::vector<samp_token> got = sample_batch(back, logits(data.data(), 4, N), how);
    CHECK(got == std::vector<samp_token>(alone.rbegin(), alone.rend()));
    CHECK(told.size() == 4 && told[1].raw.chosen.token == got[1] && told[1].raw.top.size() == 2);
    how.row_index = beyond;
    FAILS(sample_batch(back, logits(data.data(), 4, N), how), "row_index");
    FAILS(sample_batch(chains, logits(data.data(), 3, N)), "logits");
    how = batch_options();
    how.top = SAMP_MAX_TOP_LOGPROBS + 1;
    how.told = &told;
    FAILS(sample_batch(chains, logits(data.data(), 4, N), how), "logprobs");
    how = batch_options();
    const uint32_t words[] = { 1, 0, 0, 2, 4, 0, 8, 0 };
    how.mask = words;
    CHECK((sample_batch(chains, logits(data.data(), 4, N), how) == std::vector<samp_token>{ 0, 33, 2, 3 }));
    how.mask = span<const uint32_t>(words, 7);
    FAILS(sample_batch(chains, logits(data.data(), 4, N), how), "mask");
    // a row that fails gives no token, and leaves its chain as it was
    for (chain &c : chains) c.reset();
    std::vector<unsigned char> before = chains[2].save();
    data[2 * N] = NAN;
    bool thrown = false;
    try {
        sample_batch(chains, logits(data.data(), 4, N));
    } catch (const batch_error &e) {
        thrown = true;
        CHECK(e.status == SAMP_E_NAN && e.tokens[0] == alone[0] && e.tokens[2] == SAMP_E_NAN &&
              e.tokens[3] == alone[3]);
    }
    CHECK(thrown && chains[2].save() == before);
    CHECK(sample_batch(std::vector<chain *>(), logits(data.data(), 0, N)).empty());
}

static std::vector<samp_token> letters(const std::string &text)
{
    std::vector<samp_token> tokens;
    for (char c : text) tokens.push_back(c - 32);
    return tokens;
}

static bool allows(matcher &m, char c) { return m.mask()[static_cast<size_t>(c - 32) / 32] >> (c - 32) % 32 & 1; }

static void test_grammars()
{
    std::vector<std::string> pieces;
    for (char c = 32; c < 127; c++) pieces.push_back(std::string(1, c));
    pieces.push_back("");
    vocab v(pieces, { END }, END);
    matcher m(v, grammar::from_json_schema("{\"type\": \"integer\"}"));
    CHECK(allows(m, '4') && !allows(m, 'x') && !m.is_complete());
    m.accept(letters("4"));
    CHECK(m.is_complete());
    std::vector<unsigned char> before = m.save();
    FAILS(m.accept(letters("x")), "token: the grammar refuses this token");
    CHECK(m.save() == before);
    matcher copy = m.copy();
    m.rollback();
    CHECK(!m.is_complete() && copy.is_complete());
    m = std::move(copy);
    CHECK(m.is_complete());
    CHECK(matcher(v, grammar::from_regex("abc(d|e)")).forced() == "abc");
    FAILS(grammar::from_string("root ::= ("), "grammar: line 1, column ");
    FAILS(grammar::from_regex(std::string("a\0", 2)), "byte 0");
    FAILS(matcher::lazy_patterns(v, grammar::from_regex("x"), { "(" }), "trigger_patterns");
    FAILS(vocab({ "a" }, { 7 }), "outside its range");
    FAILS(chain({ { "temp", "1" } }, vocab(), grammar::from_regex("a")), "vocab");
    row noise(96);
    for (size_t i = 0; i < 96; i++) noise[i] = static_cast<float>(i * 7919 % 1000) / 200;
    const chain::settings values = { { "seed", "9" }, { "temp", "2" } };
    for (int way = 0; way < 2; way++) {
        grammar six = grammar::from_regex("[0-9]{6}");
        chain c = way ? chain(values, matcher(v, six)) : chain(values, v, six);
        std::vector<samp_token> first;
        for (int i = 0; i < 6; i++) first.push_back(c.sample(noise));
        for (samp_token t : first) CHECK(t >= '0' - 32 && t <= '9' - 32);
        chain other = c.copy();
        CHECK(c.sample(noise) == END && other.sample(noise) == END);
        c.reset();
        for (samp_token t : first) CHECK(c.sample(noise) == t);
        c.rollback();
        c.update({ { "temp", "0.1" } });
        samp_token digit = c.sample(noise);
        CHECK(digit >= '0' - 32 && digit <= '9' - 32 && c.sample(noise) == END);
        FAILS(c.sample(row(95)), "logits");
        c = seeded(1);
        CHECK(c.sample(noise) >= 0);
    }
}

static std::vector<samp_token> said(chain &c, const row &x, int n)
{
    std::vector<samp_token> tokens;
    for (int i = 0; i < n; i++) tokens.push_back(c.sample(x));
    return tokens;
}

static void test_grammar_drafts()
{
    vocab v({ "{", "\"", "name", "\":", "{\"name", "a", "b", "}", ":", "\"na", "" }, { 10 }, 10);
    grammar g = grammar::from_json_schema(
        "{\"type\": \"object\", \"properties\": {\"name\": {\"enum\": [\"a\", \"b\"]}}, "
        "\"required\": [\"name\"], \"additionalProperties\": false}",
        "compact");
    matcher m(v, g);
    typedef std::vector<samp_token> tokens;
    CHECK((m.draft() == tokens{ 4, 3, 1 }) && m.draft(1) == tokens{ 4 } && m.draft(0).empty() && m.certain().empty());
    m.accept(m.draft());
    m.accept(5);
    CHECK((m.certain() == tokens{ 1, 7 }) && m.draft() == m.certain() && m.mask()[0] == 2);
    CHECK(m.prepare(1 << 20));
    FAILS(m.prepare(0), "range");
    CHECK(m.stats().n_masks >= 1 && m.stats().n_bytes > 0);
    m.set_limits(1 << 20, 1 << 20);
    CHECK(m.stats().max_bytes == 1 << 20);
    FAILS(m.set_limits(1, 1), "range");
    row data;
    for (int i = 0; i < 14 * 11; i++) data.push_back(static_cast<float>(i * 7919 % 1000) / 250);
    tokens text[2];
    int steps[2] = { 0, 0 };
    for (int drafts = 0; drafts < 2; drafts++) {
        chain c({ { "seed", "3" } }, v, g);
        matcher own(v, g);
        while (text[drafts].empty() || text[drafts].back() != 10) {
            tokens proposed = drafts ? own.draft() : tokens();
            draft d;
            d.tokens = proposed;
            for (samp_token t : c.verify(logits(&data[text[drafts].size() * 11], proposed.size() + 1, 11), d)) {
                text[drafts].push_back(t);
                if (t != 10) own.accept(t);
            }
            steps[drafts]++;
        }
    }
    CHECK(text[0] == text[1] && steps[1] < steps[0] && steps[0] == static_cast<int>(text[0].size()));
    std::vector<std::string> pieces;
    for (char c = 32; c < 127; c++) pieces.push_back(std::string(1, c));
    matcher call(vocab(pieces),
                 grammar::from_structural_tag(
                     "{\"type\": \"structural_tag\", \"format\": {\"type\": \"triggered_tags\", \"triggers\": "
                     "[\"<f=\"], \"tags\": [{\"begin\": \"<f=a>\", \"content\": {\"type\": \"json_schema\", "
                     "\"json_schema\": {\"enum\": [1]}}, \"end\": \"</f>\"}]}}"));
    call.accept(letters("free <f="));
    CHECK(call.forced() == "a>1</f>" && !call.is_complete());
    call.accept(letters("a>1</f> free"));
    CHECK(call.is_complete());
    FAILS(grammar::from_structural_tag("{}"), "grammar: line 1");
    const std::string tools = "[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"type\": "
                              "\"object\"}}}]";
    const grammar warm = grammar::from_tools("llama", tools, "required one");
    const vocab of(pieces);
    CHECK(warm.warm(of, 1000) > 0 && warm.warm(of, INT64_C(1) << 40) > 0 && warm.warm(of, 1) == 0);
    CHECK(matcher(of, warm).forced().compare(0, 29, "{\"name\": \"f\", \"parameters\": {") == 0);
    CHECK(matcher(of, grammar::from_tools("llama")).is_complete());
    FAILS(grammar::from_tools("no model", tools), "model: ");
    FAILS(grammar::from_tools("llama", "{}"), "tools: line 1");
    FAILS(grammar::from_tools("llama", tools, "many"), "options: ");
    FAILS(warm.warm(of, 0), "budget");
}

static void test_constraints()
{
    std::vector<std::string> pieces;
    for (char c = 32; c < 127; c++) pieces.push_back(std::string(1, c == '`' ? '\n' : c));
    row likes_a(95);
    const samp_token a = 'a' - 32, b = 'b' - 32, start = '<' - 32, end = '>' - 32, note = 'N' - 32;
    likes_a[static_cast<size_t>(a)] = 9;
    const samp_thinking span = { &start, 1, &end, 1, nullptr, 0 };
    const chain::settings greedy = { { "top_k", "1" } };
    chain c(greedy);
    {
        vocab lines(pieces); // the chain keeps it
        samp_thinking_plan plan = samp_thinking_plan();
        plan.soft = 3;
        plan.grace = 2;
        plan.note = &note;
        plan.n_note = 1;
        c.insert(0, member(samp_init_thinking(lines.get(), &span, 1, 6, -1, &plan), lines));
    }
    CHECK(c.thinking_now() == SAMP_THINKING_NOT && c.thinking_left() == -1 && c.thinking_used() == 0);
    c.accept(start);
    CHECK(c.thinking_now() == SAMP_THINKING_OPEN && c.thinking_left() == 6);
    said(c, likes_a, 3);
    c.accept('`' - 32);
    CHECK(c.thinking_now() == SAMP_THINKING_NOTE && c.sample(likes_a) == note);
    chain copy = c.copy();
    std::vector<unsigned char> saved = c.save();
    CHECK((said(c, likes_a, 4) == std::vector<samp_token>{ a, a, a, end }) && c.thinking_now() == SAMP_THINKING_NOT);
    c.load(saved);
    CHECK(said(c, likes_a, 4) == said(copy, likes_a, 4));
    c.accept(start);
    c.thinking_end();
    CHECK(c.thinking_now() == SAMP_THINKING_ENDS && c.sample(likes_a) == end);
    FAILS(c.thinking_end(), "");
    FAILS(chain(greedy).thinking_left(), "");
    FAILS(member(samp_init_allowed_tokens(nullptr, 0)), "");
    const samp_loop loop = { 1, 4, 3, 64, 1 };
    samp_schedule when = samp_schedule();
    when.from = 2;
    when.to = 4;
    chain timed(greedy);
    member only_b(samp_init_allowed_tokens(&b, 1));
    timed.insert(0, member(samp_init_schedule(&when, only_b.copy().release())));
    timed.insert(1, member(samp_init_loop_watch(&loop)));
    CHECK(!timed.schedule_holds() && (said(timed, likes_a, 5) == std::vector<samp_token>{ a, a, b, b, a }));
    said(timed, likes_a, 3);
    CHECK(timed.loop_length() == 1);
    timed.update({ { "temp", "0.5" } });
    CHECK(timed.loop_length() == 1);
    vocab v(pieces);
    chain bans(greedy);
    bans.insert(0, member(samp_init_banned_pattern(v.get(), "a[ab]a", SAMP_BAN_REWIND, nullptr), v));
    CHECK(said(bans, likes_a, 3) == std::vector<samp_token>(3, a) && bans.rewind_length() == 3);
    bans.rollback(3);
    CHECK(bans.sample(likes_a) != a && bans.rewind_length() == 0);
    FAILS(member(samp_init_banned_pattern(v.get(), "a(", 0, nullptr)), "pattern");
    FAILS(bans.insert(99, only_b.copy()), "range");
    FAILS(bans.replace(-99, only_b.copy()), "i");
}

static void test_watermarks()
{
    const uint64_t keys[] = { 5, 987654321987654321u };
    for (samp_watermark_kind kind : { SAMP_WATERMARK_GUMBEL, SAMP_WATERMARK_SYNTHID, SAMP_WATERMARK_SBW_SELFHASH }) {
        samp_watermark mark = watermark(keys[1], kind);
        chain c({ { "seed", "4" }, { "temp", "1" }, { "top_k", "0" }, { "top_p", "1" }, { "min_p", "0" } });
        if (kind == SAMP_WATERMARK_SBW_SELFHASH)
            c.insert(0, member(samp_init_watermark(&mark)));
        else
            c.replace(-1, member(samp_init_watermark(&mark)));
        std::vector<samp_token> text;
        for (int r = 0; r < 300; r++) text.push_back(c.sample(make_row(r)));
        CHECK(detect(mark, text).p_value < 1e-9 && detect(watermark(5, kind), text).p_value > 1e-2);
        CHECK(detect(mark, keys, text)[1].p_value == detect(mark, text).p_value);
        samp_watermark_span found = find(mark, text, 150);
        CHECK(found.end - found.begin == 150 && found.p_value < 1e-9);
        FAILS(find(mark, text, 0), "range");
        mark.context_width = 0;
        FAILS(member(samp_init_watermark(&mark)), "context_width");
    }
}

static void test_drafts()
{
    row data = all_rows(5);
    chain c = seeded(8);
    std::vector<samp_token> want;
    for (int r = 0; r < 5; r++) want.push_back(c.sample(make_row(r)));
    draft d;
    d.tokens = span<const samp_token>(want.data(), 4);
    CHECK(seeded(8).verify(logits(data.data(), 5, N), d) == want);
    row sure(4 * N), ones(4, 1.0f);
    for (size_t i = 0; i < 4; i++) sure[i * N + static_cast<size_t>(want[i])] = 1;
    for (method::how how : { method::ratio, method::block }) {
        d.probs = sure;
        d.ids = span<const samp_token>();
        std::vector<samp_token> dense = seeded(8).verify(logits(data.data(), 5, N), d, how);
        d.probs = ones;
        d.ids = d.tokens;
        CHECK(seeded(8).verify(logits(data.data(), 5, N), d, how) == dense);
    }
    FAILS(c.verify(logits(data.data(), 4, N), d), "logits");
    d.ids = span<const samp_token>(want.data(), 3);
    FAILS(c.verify(logits(data.data(), 5, N), d), "probs");
    d = draft();
    d.tokens = span<const samp_token>(want.data(), 4);
    data[2 * N] = NAN;
    bool thrown = false;
    try {
        seeded(8).verify(logits(data.data(), 5, N), d);
    } catch (const batch_error &e) {
        thrown = e.tokens.size() == 3 && e.tokens[1] == want[1] && e.tokens[2] == SAMP_E_NAN;
    }
    CHECK(thrown);
}

// What a chain leaves, by a sorted copy and doubles.
static void test_told()
{
    for (int seed = 0; seed < 100; seed++) {
        const size_t n = 3 + static_cast<size_t>(seed) % 50,
                     k = std::min<size_t>(1 + static_cast<size_t>(seed) % 5, n);
        row logit(n);
        std::vector<samp_token> left(n);
        double model = 0, kept = 0, weights = 0, raw = 0, processed = 0;
        for (size_t i = 0; i < n; i++) {
            logit[i] = static_cast<float>((static_cast<int>(i) + seed) * 7919 % 1000) / 250;
            left[i] = static_cast<samp_token>(i);
            model += std::exp(static_cast<double>(logit[i]));
        }
        const auto l = [&](samp_token t) { return static_cast<double>(logit[static_cast<size_t>(t)]); };
        std::stable_sort(left.begin(), left.end(), [&](samp_token a, samp_token b) { return l(a) > l(b); });
        left.resize(k);
        std::sort(left.begin(), left.end());
        for (samp_token t : left) kept += std::exp(l(t)), weights += std::exp(2 * l(t));
        for (float x : logit)
            raw -= std::exp(static_cast<double>(x)) / model * (static_cast<double>(x) - std::log(model));
        for (samp_token t : left) processed -= std::exp(2 * l(t)) / weights * (2 * l(t) - std::log(weights));
        chain c({ { "top_k", std::to_string(k) },
                  { "top_p", "1" },
                  { "min_p", "0" },
                  { "temp", "0.5" },
                  { "seed", "3" } });
        const samp_token ids[] = { 0, static_cast<samp_token>(n) - 1 };
        const samp_score_result score = c.score(logit, ids[0]);
        const std::vector<samp_explained> lines = c.explain(logit, ids[0]);
        logprobs told;
        const samp_token token = c.sample(logit, {}, &told, 1, ids, k);
        const bool has = std::binary_search(left.begin(), left.end(), ids[0]);
        CHECK(told.support.tokens == left && told.support.n == k && lines.back().n_left == k);
        CHECK(std::binary_search(left.begin(), left.end(), token) && told.raw.top.size() == 1);
        CHECK(std::fabs(told.support.mass - kept / model) < 1e-6);
        for (size_t i = 0; i < k; i++)
            CHECK(std::fabs(static_cast<double>(told.support.logprobs[i]) - (2 * l(left[i]) - std::log(weights))) <
                  1e-5);
        for (size_t i = 0; i < 2; i++)
            CHECK(std::fabs(static_cast<double>(told.raw.given[i]) - (l(ids[i]) - std::log(model))) < 1e-5);
        CHECK(std::fabs(static_cast<double>(told.raw.entropy) - raw) < 1e-4);
        CHECK(std::fabs(static_cast<double>(told.processed.entropy) - processed) < 1e-4);
        CHECK(!(score.raw < told.raw.given[0]) && !(score.raw > told.raw.given[0]));
        CHECK(has == !score.removed_by && (has || std::string(score.removed_by) == "top-k"));
    }
    logprobs told;
    chain c({ { "top_k", "3" } });
    c.sample(make_row(0), {}, &told, 0, {}, 2);
    CHECK(told.support.n == 3 && told.support.tokens.empty() && told.support.mass > 0);
    c.sample(make_row(0), {}, &told);
    CHECK(told.support.n == 0 && told.raw.entropy > 0);
}

static void test_replays()
{
    row data = all_rows(6);
    const row one = make_row(0);
    const chain::settings kinds[] = { { { "top_k", "5" } }, { { "xtc_probability", "0.5" } }, { { "temp", "0" } } };
    for (chain::settings with : kinds) {
        with.emplace_back("seed", "8");
        chain c(with);
        std::vector<samp_token> text;
        std::vector<logprobs> told(6), verified;
        for (size_t r = 0; r < 6; r++) text.push_back(c.sample(logits(&data[r * N], N), {}, &told[r], 2, {}, N));
        chain again = chain(with).replay(text), fresh(with);
        for (size_t r = 0; r < 6; r++) {
            logprobs of;
            CHECK(again.sample(logits(&data[r * N], N), {}, &of, 2, {}, N) == text[r]);
            if (with[0].first == "temp") continue; // of greedy a replay has only the chain before it
            CHECK(of.support.tokens == told[r].support.tokens && of.support.logprobs == told[r].support.logprobs);
            CHECK(!std::memcmp(&of.processed.chosen, &told[r].processed.chosen, sizeof(samp_logprob)));
        }
        FAILS(again.sample(one), "no token");
        again.rollback(3);
        again.update({ { "temp", "0.5" } });
        CHECK(again.sample(one) == text[3] && again.copy().sample(one) == text[4]);
        CHECK(again.position() == 4 && again.describe().find("dist") == std::string::npos);
        CHECK(fresh.replay_check(logits(data.data(), 6, N), text) == 6 && fresh.save() == c.save());
        std::vector<samp_token> other = text;
        other[3] = (text[3] + 1) % static_cast<samp_token>(N);
        CHECK(chain(with).replay_check(logits(data.data(), 6, N), other) == 3);
        draft d;
        d.tokens = span<const samp_token>(other.data(), 5);
        CHECK(chain(with).verify(logits(data.data(), 6, N), d, method::exact, &verified, 2, N).size() == 4);
        CHECK(verified.size() == 4 && verified[3].support.tokens == told[3].support.tokens);
        CHECK(verified[3].processed.chosen.token == text[3] && verified[3].raw.top.size() == 2);
        const std::vector<logprob_set> raw = raw_logprobs(logits(data.data(), 6, N), text, 2);
        for (size_t r = 0; r < 6; r++) {
            CHECK(!std::memcmp(&raw[r].chosen, &told[r].raw.chosen, sizeof(samp_logprob)));
            CHECK(raw[r].top.size() == 2 && raw[r].top[1].token == told[r].raw.top[1].token);
        }
    }
    CHECK(raw_logprobs(one)[0].chosen.token == -1);
    const uint32_t mask[] = { 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0 }; // token 2 alone
    CHECK(seeded(8).replay_check(logits(data.data(), 6, N), { 2, 2, 2, 2, 2, 2 }, mask) == 6);
    CHECK(raw_logprobs(logits(data.data(), 6, N), { 2, 2, 2, 2, 2, 3 }, 0, {}, mask)[5].chosen.logprob < -1e30f);
    data[2 * N] = NAN;
    FAILS(raw_logprobs(logits(data.data(), 6, N)), "row 2: logit 0 is NaN");
    FAILS(seeded(8).replay_check(logits(&data[2 * N], 2, N), { 1, 1 }), "row 0: logit 0 is NaN");
}

static void test_settings()
{
    chain c({ { "seed", "1" }, { "temp", "0.5" }, { "dry_breakers", "a" } }, vocab({ "a", "b", "c" }));
    CHECK(c.sample({ 1.0f, 3.0f, 2.0f }) >= 0 && c.prev().size() == 1);
    c.update({ { "temp", "0" } });
    CHECK(c.sample({ 1.0f, 3.0f, 2.0f }) == 1 && c.prev().size() == 2 && c.setting_of("temp") == "0");
    FAILS(c.update({ { "top_p", "2" } }), "top_p: a value is outside its range: a number in (0, 1]");
    CHECK(c.setting_of("top_p") == "0.95");
    FAILS(chain({ { "no_such", "2" } }), "no_such");
    FAILS(chain({ { "order", "dry" }, { "dry_multiplier", "1" } }), "vocab");
    try {
        chain bad{ { "temp", "-1" } };
    } catch (const error &e) {
        CHECK(e.status == SAMP_E_RANGE && e.field == "temp");
    }
    chain moved = std::move(c);
    FAILS(c.sample({ 1.0f }), "moved");
    FAILS(c.copy(), "moved");
    c = moved.copy();
    CHECK(c.describe() == moved.describe() && c.position() == moved.position() && c.seed() == moved.seed());
    FAILS(c.load({ 1, 2, 3 }), "damaged");
    FAILS(c.rollback(100), "range");
    c.set_rollback(0);
    FAILS(c.rollback(), "range");
}

// ---- texts ----

static uint32_t random_below(uint32_t n)
{
    static uint64_t x = 5;
    x = x * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(x >> 33) % n;
}

static std::string random_letters(int n)
{
    const char *const letters[] = { "a", "b", "<", "\xC3\xA9", "\xE6\x97\xA5", "\xF0\x9F\x98\x80" };
    std::string all;
    while (n-- > 0) all += letters[random_below(6)];
    return all;
}

// A random text, cut into tokens at random bytes: what is shown is what a search in the whole text says.
static void test_cuts()
{
    int n_stopped = 0;
    for (int round = 0; round < 400; round++) {
        const std::string all = random_letters(30);
        std::vector<std::string> pieces, stops;
        for (size_t at = 0; at < all.size(); at += pieces.back().size())
            pieces.push_back(all.substr(at, 1 + random_below(5)));
        for (int i = 0; i < 3; i++) stops.push_back(random_letters(2 + static_cast<int>(random_below(4))));
        size_t begin = all.size(), end = all.size() + 1, held = 3; // of the stop; how much may be held back
        int32_t which = -1;
        text_options how;
        how.include_stop = random_below(2) != 0;
        for (size_t i = 0; i < 3; i++) {
            const size_t at = all.find(stops[i]), behind = at + stops[i].size();
            if (!how.include_stop) held = std::max(held, stops[i].size() - 1 + 3);
            if (at == std::string::npos || behind > end || (behind == end && at >= begin)) continue;
            begin = at;
            end = behind;
            which = static_cast<int32_t>(i);
        }
        text t(vocab(pieces), stops, how);
        std::string shown;
        std::vector<size_t> before, pushed(1, 0); // of each token: how much was shown, and how long the text is
        for (size_t i = 0; t.goes_on() && i < pieces.size();) {
            before.push_back(shown.size());
            pushed.push_back(pushed[i] + pieces[i].size());
            shown += t.push(i++);
            CHECK(t.goes_on() == (pushed[i] < end) && shown == all.substr(0, shown.size()));
            const bool is_whole = shown.size() == all.size() || (all[shown.size()] & 0xC0) != 0x80;
            CHECK(!t.goes_on() || (is_whole && pushed[i] - shown.size() <= held));
            CHECK(how.include_stop || shown.size() <= begin);
            if (random_below(4)) continue;
            text copy = t.copy();
            if (random_below(2)) t = std::move(copy);
            const size_t back = random_below(static_cast<uint32_t>(std::min<size_t>(i, 5)) + 1);
            t.rollback(back);
            if (!back) continue;
            i -= back;
            shown.resize(before[i]);
            before.resize(i);
            pushed.resize(i + 1);
        }
        CHECK(t.stop() == which && t.state() == (which < 0 ? SAMP_TEXT_GOES_ON : SAMP_TEXT_STOPPED));
        if (which >= 0) {
            const auto at = t.stop_at();
            CHECK(shown == all.substr(0, how.include_stop ? end : begin) && t.push(0).empty() && t.flush().empty());
            CHECK(pushed[static_cast<size_t>(at.first)] + at.second == begin && t.state() == SAMP_TEXT_STOPPED);
            n_stopped++;
        } else {
            FAILS(t.stop_at(), "stop_at: nothing has ended the text");
            CHECK(shown + t.flush() == all && t.state() == SAMP_TEXT_ENDED && t.push(0).empty());
        }
    }
    CHECK(n_stopped > 50 && n_stopped < 350);
}

static std::string shown_of(text &t, const std::vector<samp_token> &tokens)
{
    std::string all;
    for (samp_token token : tokens) {
        all += t.push(token);
        all += t.goes_on() ? "|" : t.stop() < 0 ? "#" : "*";
    }
    return all;
}

static void test_texts()
{
    const vocab v({ " so", "</", "s>", "\xE6\x97", "\xA5", "x1", "end", "" }, { 7 }, 7);
    text t(v, { "</s>" });
    CHECK(shown_of(t, { 0, 3, 4, 1, 5 }) == " so||\xE6\x97\xA5||</x1|");
    t.rollback(2);
    CHECK(shown_of(t, { 1, 2, 0 }) == "|**" && t.stop() == 0 && t.stop_at() == std::make_pair(3, size_t(0)));
    t.reset();
    CHECK(shown_of(t, { 5, 7 }) == "x1|#" && t.state() == SAMP_TEXT_ENDED && t.stop_at().first == 1);
    t.reset();
    CHECK(shown_of(t, { 3, 0 }) == "|\xEF\xBF\xBD so|" && shown_of(t, { 1 }) == "|" && t.flush() == "</" &&
          !t.goes_on());
    t.rollback(0);
    CHECK(t.goes_on() && t.flush() == "</");
    text_options how;
    how.raw_bytes = how.strip_space = true;
    how.stop_tokens = { 6 };
    how.min_tokens = 2;
    text raw(v, {}, how);
    CHECK(shown_of(raw, { 0, 6, 3, 0, 6 }) == "so|end||\xE6\x97 so|#" && raw.stop_at().first == 4);
    text digits(v);
    digits.add_pattern("x[0-9]", 2);
    CHECK(shown_of(digits, { 0, 5 }) == " so|*" && digits.stop() == 0);
    FAILS(digits.add_pattern("y", 2), "pattern: a value");
    FAILS(text(v).add_pattern("y", 4097), "max_bytes: a value");
    FAILS(text(v).add_pattern("(", 9), "pattern: ");
    FAILS(text(v, { "" }), "stops: a value");
    FAILS(text(vocab(), { "a" }), "vocab: a required pointer");
    t.reset();
    FAILS(t.push(8), "token: a value is outside its range");
    FAILS(t.rollback(99), "n: a value");
}

/* transformers' results, as in unit/test_search.c; chains follow their beams; a state goes on. */
static void test_beams()
{
    const float p[4][4] = {
        { .4f, .3f, .2f, .1f }, { .1f, .3f, .2f, .4f }, { .25f, .15f, .45f, .15f }, { .2f, .15f, .05f, .6f }
    };
    const std::vector<samp_token> ends(1, 3), best = { 1, 2, 3 };
    beam_options how;
    how.ends = ends;
    beams b(2, 5, how), other(2, 5, how);
    std::vector<chain> all;
    for (int i = 0; i < 2; i++)
        all.push_back(chain({ { "temp", "0" }, { "top_k", "0" }, { "top_p", "1" }, { "min_p", "0" } }));
    const std::vector<chain *> chains = { &all[0], &all[1] };
    std::vector<beams::beam> live(1);
    for (int step = 0; !live.empty(); step++) {
        row rows;
        for (const beams::beam &one : live)
            for (int i = 0; i < 4; i++) rows.push_back(std::log(p[step ? 1 + one.token : 0][i]));
        live = b.step(logits(rows.data(), live.size(), 4), chains);
        if (step == 1) {
            other.load(b.save());
            CHECK(other.found().size() == b.found().size());
        }
    }
    const std::vector<beams::hypothesis> found = b.found();
    CHECK(found.size() == 2 && found[0].tokens == best && std::fabs(found[0].score + 0.837769) < 1e-5);
    CHECK(all[0].prev(9).size() == 3);
    FAILS(beams(0, 5), "n_beams");
    FAILS(beams(4, 5, (how.n_groups = 3, how)), "n_groups");
    FAILS(b.load({ 1, 2 }), "malformed");
    beams moved = std::move(b);
    FAILS(b.found(), "beams: it has been moved from");
    CHECK(moved.found().size() == 2);
}

static void test_unmask()
{
    const row rows = { 1, 2, 3, 9, 0, 0, 0, 0, .5f };
    std::vector<chain> all;
    for (int i = 0; i < 3; i++) all.push_back(chain({ { "temp", "0" } }));
    const std::vector<chain *> chains = { &all[0], &all[1], &all[2] };
    samp_unmask_params how = samp_unmask_params();
    how.n = 1;
    CHECK((unmask(how, chains, logits(rows.data(), 3, 3)) == std::vector<samp_token>{ -1, 0, -1 }));
    how.n = 0;
    FAILS(unmask(how, chains, logits(rows.data(), 3, 3)), "how: a value");
    FAILS(unmask(how, chains, logits(rows.data(), 1, 3)), "logits");
}

static void test_ngram()
{
    typedef std::vector<samp_token> tokens;
    ngram n(2, 3, 64);
    n.accept({ 1, 2, 3, 4, 5, 1 });
    CHECK(n.draft(3).empty());
    n.accept(2);
    CHECK((n.draft(3) == tokens{ 3, 4, 5 }) && (n.draft(SIZE_MAX) == tokens{ 3, 4, 5, 1, 2 }) && n.draft(0).empty());
    n.rollback(1);
    CHECK(n.draft(3).empty());
    ngram moved = std::move(n);
    moved.accept(2);
    CHECK((moved.draft(1) == tokens{ 3 }));
    moved.reset();
    CHECK(moved.draft(3).empty());
    FAILS(moved.rollback(1), "n: a value");
    // the tokens are those without drafts, in fewer steps
    int steps[2] = { 0, 0 };
    tokens out[2];
    for (int drafts = 0; drafts < 2; drafts++) {
        chain c = seeded(3);
        ngram text;
        while (out[drafts].size() < 60) {
            tokens proposed = drafts ? text.draft(4) : tokens();
            draft d;
            d.tokens = proposed;
            row rows; // of a model that likes to repeat 0 1 2 3 4
            for (size_t i = 0; i <= proposed.size(); i++) {
                row one(N);
                one[(out[drafts].size() + i) % 5] = 15;
                rows.insert(rows.end(), one.begin(), one.end());
            }
            const tokens more = c.verify(logits(rows.data(), proposed.size() + 1, N), d);
            text.accept(more);
            out[drafts].insert(out[drafts].end(), more.begin(), more.end());
            steps[drafts]++;
        }
        out[drafts].resize(60);
    }
    CHECK(out[0] == out[1] && steps[0] == 60 && steps[1] < 30);
}

// ---- files and requests ----

static std::string bytes_of(const vocab &v, samp_token token)
{
    size_t n = 0;
    const char *bytes = v.get()->token_bytes(v.get(), token, &n);
    return std::string(bytes, n);
}

static std::string little(uint64_t value, int n)
{
    std::string bytes;
    for (int i = 0; i < n; i++) bytes += static_cast<char>(value >> 8 * i);
    return bytes;
}

static std::string gguf_text(const std::string &text) { return little(text.size(), 8) + text; }

static std::string gguf(const std::string &model)
{
    return "GGUF" + little(3, 4) + little(0, 8) + little(3, 8) + gguf_text("tokenizer.ggml.model") + little(8, 4) +
           gguf_text(model) + gguf_text("tokenizer.ggml.tokens") + little(9, 4) + little(8, 4) + little(2, 8) +
           gguf_text("\xE2\x96\x81mine") + gguf_text("</s>") + gguf_text("tokenizer.ggml.eos_token_id") +
           little(4, 4) + little(1, 4);
}

static void test_files()
{
    const vocab v = vocab::from_tokenizer_json(
        "{\"added_tokens\": [{\"id\": 2, \"content\": \"<|endoftext|>\", \"special\": true}, {\"id\": 3, "
        "\"content\": \"<|im_end|>\", \"special\": true}], \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, "
        "\"\\u0120the\": 1}, \"merges\": []}, \"decoder\": {\"type\": \"ByteLevel\"}}");
    CHECK(v.size() == 4 && v.eos() == 2 && v.eot() == 3 && (v.eog() == std::vector<samp_token>{ 2, 3 }));
    CHECK(bytes_of(v, 0) == "a" && bytes_of(v, 1) == " the" && bytes_of(v, 2).empty());
    matcher m(v, grammar::from_regex("a the")); // it lives as long as that
    CHECK(m.mask()[0] == 1);
    const std::string file = gguf("llama");
    const std::vector<unsigned char> mapped(file.begin(), file.end());
    for (const vocab &of :
         { vocab::from_gguf(file), vocab::from_gguf(mapped), vocab::from_gguf(&file[0], file.size()) })
        CHECK(of.size() == 2 && bytes_of(of, 0) == " mine" && of.eos() == 1 && of.eot() == -1);
    CHECK(vocab().eos() == -1 && vocab().eot() == -1 && vocab().eog().empty());
    FAILS(vocab::from_gguf(gguf("bert")), "file: line 1, column ");
    FAILS(vocab::from_gguf(gguf("bert")), "the tokenizer \"bert\" is not supported");
    FAILS(vocab::from_gguf(file.substr(0, 99)), "file: ");
    FAILS(vocab::from_gguf(nullptr, 0), "file: a required pointer");
    FAILS(vocab::from_tokenizer_json("{\n]"), "file: line 2, column 1: ");
}

static void test_requests()
{
    const vocab v({ "a", "b", "c", "<", "!", "" }, { 5 }, 5);
    request told;
    chain c = chain::from_request(SAMP_PEER_VLLM, "{\"temperature\": 0, \"seed\": 3, \"stop\": [\"c\"]}", v,
                                  request_options(), &told);
    CHECK(c.sample({ 1, 2, 3, 0, 0, 9 }) == 5 && told.seeded && c.setting_of("seed") == "3" && told.left_out.empty());
    CHECK(c.setting_of("temp") == "0" && c.setting_of("top_k") == chain({ { "top_k", "0" } }).setting_of("top_k"));
    text t(c);
    CHECK(shown_of(t, { 0, 1, 2, 1 }) == "a|b|**" && t.stop() == 0);
    chain copy = c.copy();
    copy.update({ { "temp", "1" }, { "seed", "9" } });
    CHECK(copy.setting_of("temp") == "1" && c.setting_of("temp") == "0");
    chain moved = std::move(copy);
    text of_moved(moved);
    CHECK(shown_of(of_moved, { 2 }) == "*");
    moved = seeded(1);
    CHECK(moved.setting_of("seed") == "1");
    text none(chain({ { "temp", "0" } }, v));
    CHECK(shown_of(none, { 2, 5 }) == "c|#");
    // what is not of the program
    const std::string mine = "{\"temperature\": 0, \"proxy\": {}, \"options\": {\"mood\": 1, \"top_k\": 2}, \"\": 1}";
    FAILS(chain::from_request(SAMP_PEER_OLLAMA, mine, v), "temperature: line 1, column 17: ");
    request_options how;
    how.lenient = true;
    c = chain::from_request(SAMP_PEER_OLLAMA, mine, v, how, &told);
    CHECK((told.left_out == std::vector<std::string>{ "temperature", "proxy", "options.mood" }));
    CHECK(c.setting_of("top_k") == "2");
    std::string longer = "{";
    for (int i = 0; i < 200; i++) longer += (i ? ",\"x" : "\"x") + std::to_string(i) + "\":1";
    chain::from_request(SAMP_PEER_OPENAI, longer + "}", v, how, &told);
    CHECK(told.left_out.size() == 200 && told.left_out[199] == "x199");
    FAILS(chain::from_request(SAMP_PEER_OPENAI, "{\"top_p\": 2}", v, how), "top_p: line 1, column 11: ");
    FAILS(chain::from_request(SAMP_PEER_OPENAI, "{\"top_p\": \"\n", v, how), "line 1, column ");
    FAILS(chain::from_request(static_cast<samp_peer>(7), "{}"), "outside its range");
    how = request_options();
    how.handled = { "grammar" };
    chain::from_request(SAMP_PEER_LLAMA_SERVER, "{\"grammar\": \"x\"}", v, how);
    FAILS(chain::from_request(SAMP_PEER_LLAMA_SERVER, "{\"grammar\": \"x\"}", v), "grammar: ");
    // what constraints see to
    const row end = { 1, 2, 3, 0, 0, 9 };
    how.n_prompt = 1;
    c = chain::from_request(SAMP_PEER_VLLM, "{\"temperature\": 0, \"min_tokens\": 2}", v, how, &told);
    c.accept(0);
    CHECK(told.min_tokens == 2 && c.sample(end) == 2 && c.sample(end) == 2 && c.sample(end) == 5);
    how.n_prompt = 9; // a penalty that must not see the prompt
    c = chain::from_request(SAMP_PEER_VLLM, "{\"temperature\": 0, \"presence_penalty\": 0.5, \"min_tokens\": 1}", v,
                            how, &told);
    CHECK(!told.with_prompt && c.sample(end) == 2 && c.sample(end) == 5);
    c = chain::from_request(SAMP_PEER_LLAMA_SERVER, "{\"temperature\": 0, \"ignore_eos\": true}", v);
    for (int i = 0; i < 9; i++) CHECK(c.sample(end) == 2);
    const char *const budget = "{\"temperature\": 0, \"thinking_token_budget\": 2}";
    how.thinking = [&](int32_t n) {
        const samp_token open = 3, close = 4;
        const samp_thinking span = { &open, 1, &close, 1, nullptr, 0 };
        return member(samp_init_thinking_budget(v.get(), &span, 1, n, -1), v);
    };
    c = chain::from_request(SAMP_PEER_VLLM, budget, v, how, &told);
    c.accept(3);
    CHECK(told.thinking_budget == 2 && c.sample(end) == 5 && c.sample(end) == 5 && c.sample(end) == 4);
    FAILS(chain::from_request(SAMP_PEER_VLLM, budget, v), "thinking_budget: ");
    FAILS(chain::from_request(SAMP_PEER_TRANSFORMERS, "{\"guidance_scale\": 1.5}", v), "guidance_scale: ");
    FAILS(chain::from_request(SAMP_PEER_VLLM, "{\"min_tokens\": 2}"), "min_tokens: needs a vocab with eog");
    FAILS(chain::from_request(SAMP_PEER_LLAMA_SERVER, "{\"ignore_eos\": true}"), "mask_ends: needs a vocab with eog");
}

int main()
{
    test_arrays();
    test_reasons();
    test_batches();
    test_grammars();
    test_grammar_drafts();
    test_constraints();
    test_watermarks();
    test_drafts();
    test_told();
    test_replays();
    test_settings();
    test_cuts();
    test_texts();
    test_ngram();
    test_beams();
    test_unmask();
    test_files();
    test_requests();
    CHECK(counted_live() == 0);
    std::puts("16 tests");
}
