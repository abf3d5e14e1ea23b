// What sampling.hpp promises, but for the tokens themselves (tokens.cpp). Linked with counted.c: all is freed, once.
#define SAMPLING_GRAMMAR
#define SAMPLING_DRAFTS
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#include "sampling.hpp"
#include "check.hpp"
#include <array>
#include <cmath>

using namespace sampling;

enum { N = 40, END = 95 };
typedef std::vector<float> row;

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
    FAILS(seeded(1).sample({ 1.0f, NAN }), "NaN");
    FAILS(seeded(1).sample(logits(plain, 2, N / 2)), "logits");
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
    FAILS(m.accept(letters("x")), "outside its range");
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
    CHECK(call.forced() == "a>1" && !call.is_complete());
    call.accept(letters("a>1</f> free"));
    CHECK(call.is_complete());
    FAILS(grammar::from_structural_tag("{}"), "grammar: line 1");
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

int main()
{
    test_arrays();
    test_batches();
    test_grammars();
    test_grammar_drafts();
    test_constraints();
    test_watermarks();
    test_drafts();
    test_settings();
    CHECK(counted_live() == 0);
    std::puts("8 tests");
}
