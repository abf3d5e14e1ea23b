// What sampling.hpp makes of wrong use: an error that says what is wrong, and nothing lost, whatever the object and the
// order. Linked with counted.c and with plain.cpp; what must not even compile is in wrong.cpp.
#include "check.hpp"
#include <algorithm>
#include <climits>
#include <limits>
#include <map>
#include <new>

using namespace sampling;

// plain.cpp, which is compiled without the parts above
vocab plain_vocab();
chain plain_chain();
samp_token plain_sample(chain &c);

// The test's own allocations fail as C's do
void *operator new(size_t n)
{
    void *block = counted_fails() ? nullptr : std::malloc(n ? n : 1);
    return block ? block : throw std::bad_alloc();
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete(void *block, size_t) noexcept { std::free(block); }

static const std::vector<float> row = { 1.0f, 3.0f, 2.0f, 2.5f };
static const std::vector<std::string> pieces = { "a", "b", "c", "" };
static const chain::settings two = { { "seed", "7" }, { "temp", "2" } };

static vocab letters() { return vocab(pieces, { 3 }, 3); }
static member only(samp_token token) { return member(samp_init_allowed_tokens(&token, 1)); }
static member marks()
{
    samp_watermark mark = watermark(5);
    return member(samp_init_watermark(&mark));
}

static text_options after(whole<int32_t> min_tokens)
{
    text_options how;
    how.min_tokens = min_tokens;
    return how;
}

static chain asks(const std::string &json, whole<int32_t> n_prompt = 0)
{
    request_options how;
    how.n_prompt = n_prompt;
    return chain::from_request(SAMP_PEER_VLLM, json, letters(), how);
}

static std::string all_of(const text &t) // what it is at, by what it shows from here
{
    text copy = t.copy();
    const bool goes_on = copy.goes_on();
    const std::string then = copy.push(1);
    return then + copy.flush() + std::to_string(goes_on) + std::to_string(copy.stop());
}

static std::string all_of(const sampler &s)
{
    std::vector<unsigned char> bytes = s.save();
    return s.describe() + std::string(bytes.begin(), bytes.end());
}

// ---- names and texts ----

static void test_names()
{
    std::map<std::string, std::string> request = { { "penalty_repeat", "1.5" }, { "seed", "3" } };
    chain::settings values;
    for (const auto &one : request) values.push_back({ one.first.c_str(), one.second });
    chain c(values);
    request.clear();
    values.clear();
    std::vector<std::string> other(100, std::string("no_such_name_of_a_setting")); // where the names were
    c.update({ { "temp", "0" } });
    CHECK(c.setting_of("penalty_repeat") == "1.5" && c.setting_of("seed") == "3" && c.sample(row) == 1);
    std::string order = "temperature";
    for (int i = 0; i < 100; i++) order += ";top_k";
    CHECK(chain({ { "order", order } }).setting_of("order") == order);
}

static void test_byte_0()
{
    const std::string zero("\0", 1), a = "a" + zero + "b";
    FAILS(chain({ { "temp", "0.5" + zero + "junk" } }), "temp: byte 0");
    FAILS(chain({ { "temp" + zero + "junk", "0.5" } }), "settings: byte 0");
    chain c(two);
    const std::string before = all_of(c);
    FAILS(c.update({ { "dry_breakers", a } }), "dry_breakers: byte 0");
    FAILS(c.setting_of("temp" + zero), "name: byte 0");
    FAILS(takes("temp" + zero), "name: byte 0");
    CHECK(all_of(c) == before);
    FAILS(grammar::from_regex(a), "grammar: byte 0");
    FAILS(grammar::from_string("root ::= \"a\"", "root" + zero), "root: byte 0");
    FAILS(grammar::from_json_schema("{}", "compact" + zero), "root: byte 0");
    const grammar g = grammar::from_regex("abc");
    FAILS(matcher::lazy(letters(), g, { "a", a }), "trigger_words: byte 0");
    FAILS(matcher::lazy_patterns(letters(), g, { a }), "trigger_patterns: byte 0");
    FAILS(text(letters(), { "b", a }), "stops: byte 0");
    FAILS(text(letters()).add_pattern(a, 3), "pattern: byte 0");
    FAILS(asks("{}" + zero), "request: byte 0");
    request_options how;
    how.handled = { a };
    FAILS(chain::from_request(SAMP_PEER_VLLM, "{}", letters(), how), "handled: byte 0");
    CHECK(vocab({ a, zero }).size() == 2); // bytes of tokens may be any
}

// ---- numbers ----

template <class T, class I> static bool holds(I value)
{
    const long double v = static_cast<long double>(value);
    return v >= static_cast<long double>(std::numeric_limits<T>::min()) &&
           v <= static_cast<long double>(std::numeric_limits<T>::max());
}

static const long long below[] = { -1, -2147483649LL, -4294967291LL, LLONG_MIN };
static const unsigned long long above[] = {
    2147483648u, 4294967297u, 4294967301u, LLONG_MAX, 1ull << 63, ULLONG_MAX
};

// `call` with each v that a T does not hold: an error that names it
#define REFUSES(T, name, call) \
    do { \
        for (long long v : below) \
            if (!holds<T>(v)) FAILS(call, name ": a value is outside its range"); \
        for (unsigned long long v : above) \
            if (!holds<T>(v)) FAILS(call, name ": a value is outside its range"); \
    } while (0)

static void test_numbers()
{
    typedef samp_token token;
    chain c(two), d(two);
    matcher m(letters(), grammar::from_regex("a*"));
    chain *one[] = { &c };
    logprobs told;
    batch_options how;
    const samp_watermark mark = watermark(1);
    const std::string before = all_of(c), then = all_of(m);
    REFUSES(token, "token", c.accept(v));
    REFUSES(token, "token", m.accept(v));
    REFUSES(int32_t, "n", c.rollback(v));
    REFUSES(int32_t, "depth", c.set_rollback(v));
    REFUSES(uint64_t, "position", c.set_position(v));
    REFUSES(size_t, "n", c.sample(row.data(), v));
    REFUSES(int32_t, "logprobs", c.sample(row, {}, &told, v));
    REFUSES(int32_t, "support", c.sample(row, {}, &told, 0, {}, v));
    REFUSES(token, "token", c.score(row, v));
    REFUSES(token, "token", c.explain(row, v));
    REFUSES(int32_t, "logprobs", raw_logprobs(row, {}, v));
    REFUSES(int32_t, "i", c.insert(v, only(1)));
    REFUSES(int32_t, "i", c.replace(v, only(1)));
    REFUSES(size_t, "n", c.prev(v));
    REFUSES(size_t, "n", m.draft(v));
    REFUSES(size_t, "n", m.certain(v));
    REFUSES(int64_t, "budget", m.prepare(v));
    REFUSES(size_t, "max_bytes", m.set_limits(v, 5000));
    REFUSES(int64_t, "max_steps", m.set_limits(1 << 20, v));
    REFUSES(token, "eos", vocab(pieces, {}, v));
    REFUSES(token, "eot", vocab(pieces, {}, -1, v));
    REFUSES(size_t, "n_rows", logits(row.data(), v, 1));
    REFUSES(size_t, "n_vocab", logits(row.data(), 1, v));
    REFUSES(size_t, "stride", logits(row.data(), 1, 1, v));
    REFUSES(size_t, "size", span<const float>(row.data(), v));
    REFUSES(size_t, "mask_stride", (how = batch_options(), how.mask_stride = v, sample_batch(one, row, how)));
    REFUSES(int32_t, "n_threads", (how = batch_options(), how.n_threads = v, sample_batch(one, row, how)));
    REFUSES(uint64_t, "key", watermark(v));
    REFUSES(size_t, "window", find(mark, { 1, 2 }, v));
    text t(letters(), { "ab" });
    ngram n;
    const std::string file = "GGUF";
    REFUSES(token, "token", t.push(v));
    REFUSES(int32_t, "n", t.rollback(v));
    REFUSES(size_t, "max_bytes", t.add_pattern("a", v));
    REFUSES(int32_t, "min_tokens", text(letters(), {}, after(v)));
    beam_options search;
    REFUSES(int32_t, "n_beams", beams(v, 5));
    REFUSES(int32_t, "max_tokens", beams(2, v));
    REFUSES(int32_t, "n_groups", beams(2, 5, (search.n_groups = v, search)));
    REFUSES(int32_t, "n_min", ngram(v, 5));
    REFUSES(int32_t, "n_max", ngram(2, v));
    REFUSES(size_t, "max_tokens", ngram(2, 5, v));
    REFUSES(token, "token", n.accept(v));
    REFUSES(int32_t, "n", n.rollback(v));
    REFUSES(size_t, "n", n.draft(v));
    REFUSES(size_t, "n", vocab::from_gguf(file.data(), v));
    REFUSES(int32_t, "n_prompt", asks("{\"min_tokens\": 1}", v));
    // what the types hold, and C refuses
    FAILS(t.push(-1), "token: a value");
    FAILS(t.push(4), "token: a value");
    FAILS(t.rollback(-1), "n: a value");
    FAILS(t.rollback(), "n: a value");
    FAILS(t.add_pattern("a", 0), "max_bytes: a value");
    FAILS(text(letters(), {}, after(-1)), "min_tokens: a value");
    text_options bad_token;
    bad_token.stop_tokens = { 1, -1 };
    FAILS(text(letters(), {}, bad_token), "stop_tokens: a value");
    bad_token.stop_tokens = { SAMP_MAX_VOCAB };
    FAILS(text(letters(), {}, bad_token), "stop_tokens: a value");
    FAILS(ngram(0, 5), "n_min: a value");
    FAILS(ngram(65, 65), "n_min: a value");
    FAILS(ngram(3, 2), "n_max: a value");
    FAILS(ngram(2, 65), "n_max: a value");
    FAILS(ngram(2, 5, 4), "max_tokens: a value");
    FAILS(ngram(2, 5, (1 << 26) + 1), "max_tokens: a value");
    FAILS(n.accept({ 1, -1 }), "token: a value");
    FAILS(n.rollback(2), "n: a value");
    FAILS(n.rollback(-1), "n: a value");
    FAILS(asks("{\"min_tokens\": 1}", -1), "outside its range");
    FAILS(c.accept(-1), "token: a value");
    FAILS(m.accept(1), "token: the grammar refuses this token");
    FAILS(c.accept({ 0, 1, -5 }), "token: a value");
    c.rollback(2);
    FAILS(c.rollback(-1), "n: a value");
    FAILS(c.set_rollback(1 << 21), "depth: a value");
    FAILS(c.sample(row.data(), 0), "no token is left");
    FAILS(c.sample(row.data(), SAMP_MAX_VOCAB + 1), "n: a value");
    FAILS(c.sample(row, {}, &told, -1), "logprobs: a value");
    FAILS(c.sample(row, {}, &told, 0, { -1 }), "ids: a value");
    FAILS(c.sample(row, {}, &told, 0, { static_cast<token>(row.size()) }), "ids: a value");
    FAILS(c.sample(row, {}, &told, 0, {}, -2), "support: a value");
    FAILS(c.sample(row, {}, &told, 0, {}, SAMP_MAX_VOCAB + 1), "support: a value");
    FAILS(c.score(row, -1), "token: a value");
    FAILS(c.explain(row, static_cast<token>(row.size())), "token: a value");
    FAILS(c.replay({ 1, -1 }), "tokens: a value");
    FAILS(c.replay_check(row, { 1, 2 }), "tokens: a value");
    FAILS(raw_logprobs(row, { 1, 2 }), "tokens: a value");
    FAILS(raw_logprobs(row, { static_cast<token>(row.size()) }), "tokens: a value");
    FAILS(raw_logprobs(row, {}, 0, { -1 }), "ids: a value");
    FAILS(c.insert(-1, only(1)), "i: a value");
    FAILS(c.insert(c.size() + 1, only(1)), "i: a value");
    FAILS(c.replace(c.size(), only(1)), "i: a value");
    FAILS(c.replace(INT32_MIN, only(1)), "i: a value");
    FAILS(m.prepare(0), "budget: a value");
    FAILS(m.set_limits(1, 5000), "max_bytes, max_steps: a value");
    FAILS(vocab(pieces, {}, 4), "vocab: a value");
    FAILS((how = batch_options(), how.n_threads = -1, sample_batch(one, row, how)), "n_threads: a value");
    FAILS((how = batch_options(), how.mask_stride = 0, sample_batch({ &c, &c }, logits(row.data(), 2, 2), how)),
          "chains: a value");
    FAILS(find(mark, { 1, 2 }, 0), "window: a value");
    FAILS(detect(mark, { 1, -2 }), "text: a value");
    samp_watermark bad = mark;
    bad.context_width = 65;
    FAILS(detect(bad, { 1, 2 }), "context_width");
    FAILS(detect(bad, { 1u }, { 1, 2 }), "context_width");
    FAILS(find(bad, { 1, 2 }, 1), "context_width");
    FAILS(member(samp_init_watermark(&bad)), "context_width");
    bad = watermark(1, SAMP_WATERMARK_SYNTHID);
    bad.depth = 33;
    FAILS(detect(bad, { 1, 2 }), "depth");
    FAILS(detect(watermark(1, static_cast<samp_watermark_kind>(7)), { 1, 2 }), "kind");
    FAILS(grammar(static_cast<samp_grammar_kind>(7), "a"), "grammar: ");
    CHECK(all_of(c) == before && all_of(m) == then && c.sample(row) == d.sample(row));
    // none of them wraps to a size, or asks for more than there is
    CHECK(c.prev(SIZE_MAX).size() == 1 && m.draft(SIZE_MAX).empty() && m.certain(SIZE_MAX).empty());
    matcher sure(letters(), grammar::from_regex("abc"));
    CHECK(sure.draft(SIZE_MAX).size() == 3 && sure.certain(SIZE_MAX - 1).size() == 3);
}

// ---- arrays ----

static void test_arrays()
{
    const size_t third = SIZE_MAX / 3 * 2 + 1; // 0xAAAAAAAAAAAAAAAB: 3 * third is 1
    std::vector<chain> chains;
    for (int i = 0; i < 4; i++) chains.push_back(chain(two));
    std::vector<float> rows(16, 1.0f);
    std::vector<uint32_t> mask(4, 15u);
    batch_options how;
    how.mask = mask;
    how.mask_stride = third;
    FAILS(sample_batch(chains, logits(rows.data(), 4, 4), how), "mask: a value");
    how.mask_stride = SIZE_MAX;
    FAILS(sample_batch(chains, logits(rows.data(), 4, 4), how), "mask: a value");
    how.mask_stride = 1;
    CHECK(sample_batch(chains, logits(rows.data(), 4, 4), how).size() == 4);
    how.mask_stride = 2;
    FAILS(sample_batch(chains, logits(rows.data(), 4, 4), how), "mask: a value");
    std::vector<uint32_t> wide(6, 15u);
    how = batch_options();
    how.mask = wide;
    how.mask_stride = 1;
    FAILS(sample_batch(chains, logits(rows.data(), 4, 40, 4), how), "stride: a value");
    std::vector<float> longer(160, 1.0f);
    FAILS(sample_batch(chains, logits(longer.data(), 4, 40), how), "mask_stride: a value");
    FAILS(sample_batch(chains, logits(rows.data(), 4, 4, third)), "stride: a value");
    FAILS(sample_batch(chains, logits(rows.data(), 4, SIZE_MAX)), "n_vocab: a value");
    FAILS(sample_batch(chains, logits(rows.data(), 4, 4, PTRDIFF_MAX)), "stride: a value");
    chain &c = chains[0];
    FAILS(c.verify(logits(rows.data(), third, 4, 4), draft()), "stride: a value");
    FAILS(c.sample(logits(rows.data(), 1, 4, SIZE_MAX)), "stride: a value");
    // no memory where there are elements
    FAILS(span<const uint32_t>(nullptr, 8), "data: a required pointer");
    FAILS(c.sample(logits(static_cast<const float *>(nullptr), 4)), "pointer is NULL");
    FAILS(c.sample(static_cast<const float *>(nullptr), 4), "pointer is NULL");
    FAILS(sample_batch(chains, logits(static_cast<const double *>(nullptr), 4, 4)), "pointer is NULL");
    FAILS(c.verify(row, draft(), nullptr), "how: a required pointer");
    const double wide_row[] = { 1, 2, 3, 4 };
    FAILS(c.score(logits(wide_row, 4), 1), "logits");
    FAILS(c.score(logits(rows.data(), 2, 4), 1), "logits: a value");
    FAILS(c.replay_check(logits(rows.data(), 4, 4), { 1, 1, 1, 1 }, { 15u }), "mask: a value");
    FAILS(raw_logprobs(logits(rows.data(), 4, 4), {}, 0, {}, { 15u }), "mask: a value");
    chain *none[] = { nullptr };
    FAILS(sample_batch(none, row), "chains: a required pointer");
    // an empty list is none, wherever it points
    std::vector<int32_t> empty(4, -1);
    empty.clear();
    how = batch_options();
    how.row_index = empty;
    CHECK(sample_batch(chains, logits(rows.data(), 4, 4), how).size() == 4);
    samp_token two_tokens[] = { 1, 2 };
    float ones[] = { 1.0f, 1.0f };
    draft d;
    d.ids = two_tokens;
    FAILS(c.verify(row, d), "probs: a value");
    d.probs = ones;
    FAILS(c.verify(row, d), "ids: a value");
    FAILS(c.load({}), "damaged");
    matcher m(letters(), grammar::from_regex("a*"));
    FAILS(m.mask(span<uint32_t>()), "mask: a value");
    CHECK(vocab().size() == 0 && vocab(std::vector<std::string>()).size() == 0);
    FAILS(matcher(vocab(std::vector<std::string>()), grammar::from_regex("a")), "vocab");
    // what was there before an error is there
    std::vector<logprobs> told(7);
    how = batch_options();
    how.told = &told;
    how.n_threads = -1;
    FAILS(sample_batch(chains, logits(rows.data(), 4, 4), how), "n_threads");
    CHECK(told.size() == 7);
}

// ---- moved-from objects ----

#define MOVED(call) FAILS(call, "sampler: it has been moved from")

static void moved_sampler(sampler &s)
{
    CHECK(!s.get());
    MOVED(s.accept(1));
    MOVED(s.accept({ 1, 2 }));
    MOVED(s.reset());
    MOVED(s.rollback());
    MOVED(s.set_rollback(1));
    MOVED(s.position());
    MOVED(s.set_position(1));
    MOVED(s.seed());
    MOVED(s.rewind_length());
    MOVED(s.loop_length());
    MOVED(s.thinking_now());
    MOVED(s.thinking_left());
    MOVED(s.thinking_used());
    MOVED(s.schedule_holds());
    MOVED(s.thinking_end());
    MOVED(s.describe());
    MOVED(s.save());
    MOVED(s.load({ 1 }));
}

static void test_moved()
{
    chain c(two, letters());
    chain taken = std::move(c), *one[] = { &c };
    moved_sampler(c);
    MOVED(c.sample(row));
    MOVED(c.sample(row.data(), row.size()));
    MOVED(c.sample(row, { 1u }));
    MOVED(c.verify(row, draft()));
    MOVED(c.score(row, 1));
    MOVED(c.explain(row, 1));
    MOVED(c.replay({ 1 }));
    MOVED(c.replay_check(row, { 1 }));
    MOVED(c.insert(0, only(1)));
    MOVED(c.replace(-1, only(1)));
    MOVED(c.size());
    MOVED(c.update({ { "temp", "1" } }));
    MOVED(c.setting_of("temp"));
    MOVED(c.prev());
    MOVED(c.copy());
    MOVED(sample_batch(one, row));
    MOVED(taken.insert(0, std::move(c)));
    member m = only(1), has = std::move(m);
    moved_sampler(m);
    MOVED(m.copy());
    MOVED(m.release());
    matcher g(letters(), grammar::from_regex("a*")), own = std::move(g);
    moved_sampler(g);
    MOVED(g.copy());
    MOVED(g.mask());
    uint32_t bits[1];
    MOVED(g.mask(bits));
    MOVED(g.is_complete());
    MOVED(g.is_awaiting());
    MOVED(g.forced());
    MOVED(g.draft());
    MOVED(g.certain());
    MOVED(g.prepare(1));
    MOVED(g.stats());
    MOVED(g.set_limits(1 << 20, 5000));
    MOVED(chain(two, g));
    MOVED(text{ c });
    text t(letters(), { "b" }), shows = std::move(t);
    const std::string left = all_of(shows);
    CHECK(!t.get());
#define MOVED_TEXT(call) FAILS(call, "text: it has been moved from")
    MOVED_TEXT(t.push(1));
    MOVED_TEXT(t.flush());
    MOVED_TEXT(t.state());
    MOVED_TEXT(t.goes_on());
    MOVED_TEXT(t.stop());
    MOVED_TEXT(t.stop_at());
    MOVED_TEXT(t.rollback());
    MOVED_TEXT(t.reset());
    MOVED_TEXT(t.copy());
    MOVED_TEXT(t.add_pattern("a", 1));
    t = std::move(shows);
    text &same_text = t;
    t = std::move(same_text);
    CHECK(!shows.get() && all_of(t) == left);
    beams b(1, 5), searches = std::move(b);
    FAILS(b.step(logits(row.data(), 1, row.size())), "beams: it has been moved from");
    FAILS(b.save(), "beams: it has been moved from");
    FAILS(searches.load({ 1, 2 }), "malformed");
    ngram n, repeats = std::move(n);
#define MOVED_NGRAM(call) FAILS(call, "ngram: it has been moved from")
    MOVED_NGRAM(n.accept(1));
    MOVED_NGRAM(n.accept({ 1 }));
    MOVED_NGRAM(n.rollback());
    MOVED_NGRAM(n.draft(1));
    MOVED_NGRAM(n.reset());
    vocab v = letters(), other = std::move(v);
    CHECK(!v.get() && v.size() == 0 && other.size() == 4);
    FAILS(v.index(), "vocab: a required pointer");
    grammar s = grammar::from_regex("a"), kept = std::move(s);
    CHECK(!s && kept);
    FAILS(matcher(letters(), s), "grammar");
    // into an object that had something; into itself
    const std::string state = all_of(taken);
    c = std::move(taken);
    CHECK(!taken.get() && all_of(c) == state);
    chain &same = c;
    c = std::move(same);
    CHECK(all_of(c) == state && c.setting_of("temp") == "2" && c.vocabulary().size() == 4);
    c.update({ { "seed", "8" } });
    CHECK(c.setting_of("temp") == "2");
    matcher &also = own;
    own = std::move(also);
    CHECK(own.mask()[0] == 9);
    std::swap(own, g);
    CHECK(!own.get() && g.mask()[0] == 9);
    c = chain(two); // frees the one with the vocabulary
    CHECK(c.vocabulary().size() == 0 && c.sample(row) >= 0);
    c.~chain();
    new (&c) chain(two);
}

// ---- an error changes nothing ----

struct nothing {
    int value;
};
static samp_sampler *custom(nothing *of)
{
    static samp_sampler_i iface = samp_sampler_i();
    iface.apply = [](samp_sampler *, samp_token_data_array *) -> int { return SAMP_OK; };
    return samp_init_custom(&iface, of); // it can't be cloned
}

static void test_errors_change_nothing()
{
    chain c(two), twin(two);
    member s = only(2);
    const int32_t n = c.size();
    FAILS(c.insert(n, std::move(s)), "place: behind a sampler that selects");
    FAILS(c.insert(n + 1, std::move(s)), "i: a value");
    FAILS(c.insert(0, std::move(c)), "s: a value");
    FAILS(c.replace(0, std::move(c)), "s: a value");
    member gone = std::move(s);
    FAILS(c.replace(-1, std::move(s)), "moved");
    FAILS(c.insert(0, std::move(s)), "moved");
    CHECK(c.size() == n && all_of(c) == all_of(twin) && c.sample(row) == twin.sample(row) && gone.get());
    FAILS(c.update({ { "temp", "1" }, { "top_p", "2" } }), "top_p");
    CHECK(c.setting_of("temp") == "2");
    c.update({ { "seed", "9" } });
    twin.update({ { "seed", "9" } });
    CHECK(c.sample(row) == twin.sample(row));
    c.insert(0, std::move(gone));
    CHECK(!gone.get() && c.sample(row) == 2);
    c.replace(-1, marks());
    CHECK(c.size() == n + 1 && c.describe().find("dist") == std::string::npos && c.sample(row) == 2);
    nothing context = { 1 };
    twin.insert(0, member(custom(&context)));
    twin.insert(1, only(1));
    CHECK(twin.sample(row) == 1 && twin.size() == n + 2);
    FAILS(twin.copy(), "clone: a custom sampler");
    FAILS(twin.save(), "not supported");
    // any sampler goes in, and keeps what it borrows: a matcher, a chain in a chain
    chain outer(two);
    outer.insert(0, matcher(letters(), grammar::from_regex("ab")));
    CHECK(outer.sample(row) == 0 && outer.copy().sample(row) == 1 && outer.sample(row) == 1);
}

// Each allocation of `change` fails once: std::bad_alloc, and what `look` sees is as before; in the end it succeeds.
template <class F, class L> static void allocate_in_vain(F change, L look)
{
    int n = 0;
    for (bool fails = true; fails; n++) {
        const auto before = look();
        const long live = counted_live();
        bool thrown = false;
        counted_fail(n + 1);
        try {
            change();
        } catch (const std::bad_alloc &) {
            thrown = true;
        }
        fails = !counted_fail(0);
        CHECK(!thrown || (fails && look() == before && counted_live() == live));
    }
    CHECK(n > 1);
}

static void test_no_memory()
{
    const auto none = [] { return 0; };
    const vocab v = letters();
    const grammar g = grammar::from_regex("ab*");
    const matcher first(v, g);
    const std::string long_name(100, 'x');
    allocate_in_vain([] { letters(); }, none);
    allocate_in_vain([] { letters().index(); }, none);
    allocate_in_vain([] { grammar::from_string("root ::= \"a\" b\nb ::= \"c\""); }, none);
    allocate_in_vain([&] { matcher(v, g); }, none);
    allocate_in_vain([&] { matcher::lazy(v, g, { long_name, "b" }, { 1 }); }, none);
    allocate_in_vain([&] { matcher::lazy_patterns(v, g, { long_name, "b" }); }, none);
    allocate_in_vain([&] { first.copy(); }, none);
    allocate_in_vain([] { only(1); }, none);
    allocate_in_vain([&] { chain c(two, v); }, none);
    allocate_in_vain([&] { chain c(two, v, g); }, none);
    allocate_in_vain([&] { chain c(two, first); }, none);
    chain c(two, first);
    member s = only(1);
    const auto look = [&] { return all_of(c) + c.setting_of("seed") + (s.get() ? all_of(s) : ""); };
    allocate_in_vain([&] { c.copy(); }, look);
    allocate_in_vain([&] { c.insert(0, std::move(s)); }, look);
    s = only(1);
    allocate_in_vain([&] { c.replace(0, std::move(s)); }, look);
    allocate_in_vain([&] { c.update({ { "seed", "12345678901234567" }, { "top_k", "3" } }); }, look);
    CHECK(c.setting_of("seed") == "12345678901234567" && c.setting_of("top_k") == "3");
    allocate_in_vain([&] { c.save(); }, look);
    allocate_in_vain([&] { c.describe(); }, look);
    allocate_in_vain([&] { c.prev(); }, look);
    const vocab longer({ long_name, "b", "" }, { 2 });
    allocate_in_vain([&] { text(longer, { "b", long_name }); }, none);
    text t(longer, { long_name + "b" });
    const auto shows = [&] { return all_of(t); };
    allocate_in_vain([&] { t.copy(); }, shows);
    allocate_in_vain([&] { t.add_pattern("[ab]{3}", 9); }, shows);
    t.push(0);
    allocate_in_vain([&] { CHECK(t.push(0) == long_name); }, shows); // what it held back
    allocate_in_vain([&] { t.flush(); }, shows);
    allocate_in_vain([] { beams(2, 5); }, none);
    beams search(1, 5);
    allocate_in_vain([&] { search.save(); }, [&] { return search.save(); });
    allocate_in_vain([] { ngram(2, 5, 100); }, none);
    ngram repeats;
    repeats.accept({ 1, 2, 3, 1, 2 });
    allocate_in_vain([&] { repeats.draft(3); }, [&] { return repeats.draft(9); });
    allocate_in_vain([&] { guide(row, row, 1.5f); }, none);
    const std::string json = "{\"stop\": [\"b\"], \"min_tokens\": 1, \"seed\": 3, \"mine\": 4}";
    const std::string file =
        "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}, \"decoder\": {\"type\": \"ByteLevel\"}}";
    request_options how;
    how.lenient = true;
    request told;
    allocate_in_vain([&] { chain::from_request(SAMP_PEER_VLLM, json, v, how, &told); },
                     [&] { return told.left_out; });
    CHECK(told.left_out.size() == 1);
    const chain asked = chain::from_request(SAMP_PEER_VLLM, json, v, how);
    allocate_in_vain([&] { text{ asked }; }, none);
    allocate_in_vain([&] { asked.copy(); }, none);
    allocate_in_vain([&] { vocab::from_tokenizer_json(file); }, none);
    // what the binding needs for a draw is found before it
    std::vector<chain> chains;
    for (int i = 0; i < 3; i++) chains.push_back(chain(two));
    const float rows[] = { 1, 3, 2, 2, 1, 0, 0, 0.5f, 1 };
    sample_batch(chains, logits(rows, 3, 3)); // C has its memory
    const auto all = [&] { return all_of(chains[0]) + all_of(chains[2]); };
    const auto batch = [&] {
        std::vector<logprobs> told;
        batch_options wants;
        wants.told = &told;
        wants.top = 2;
        sample_batch(chains, logits(rows, 3, 3), wants);
        CHECK(told.size() == 3 && told[2].raw.top.size() == 2);
    };
    allocate_in_vain(batch, all);
    const auto single = [&] {
        logprobs told;
        chains[0].sample({ 1.0f, 3.0f }, { 3u }, &told, 2, { 1 }, 2);
        CHECK(told.raw.top.size() == 2 && told.raw.given.size() == 1);
    };
    allocate_in_vain(single, all);
    const auto verifying = [&] {
        std::vector<logprobs> told;
        chains[0].verify(logits(rows, 1, 3), draft(), method::exact, &told, 2, 2, { 1 });
        CHECK(told.size() == 1 && told[0].raw.given.size() == 1);
    };
    allocate_in_vain(verifying, all);
    allocate_in_vain([&] { chains[0].replay({ 1, 2 }); }, all);
    allocate_in_vain([&] { chains[0].explain(logits(rows, 3), 1); }, all);
    allocate_in_vain([&] { raw_logprobs(logits(rows, 3, 3), { 1, 2, 0 }, 2); }, none);
}

// ---- lives ----

// A user's objects end in any order, and those that are left go on.
static void test_orders()
{
    std::vector<int> order = { 0, 1, 2, 3, 4, 5 };
    do {
        std::unique_ptr<vocab> v(new vocab(letters()));
        std::unique_ptr<grammar> g(new grammar(grammar::from_regex("a*")));
        std::unique_ptr<matcher> m(new matcher(*v, *g));
        const samp_schedule when = samp_schedule();
        std::unique_ptr<member> s(new member(samp_init_banned_pattern(v->get(), "b", SAMP_BAN_REWIND, nullptr), *v));
        std::unique_ptr<chain> c(new chain({ { "dry_multiplier", "1" }, { "seed", "3" } }, *v, *g));
        c->insert(0, s->copy());
        c->insert(1, member(samp_init_schedule(&when, only(0).release())));
        std::unique_ptr<chain> twin(new chain(c->copy()));
        std::unique_ptr<text> t(new text(*v, { "b" }));
        for (int i : order) {
            if (i == 0) v.reset();
            if (i == 1) g.reset();
            if (i == 2) m.reset();
            if (i == 3) s.reset(), t.reset();
            if (i == 4) c.reset();
            if (i == 5) twin.reset();
            if (m) CHECK(m->copy().mask()[0] == 9 && m->forced().empty());
            if (s) s->copy().accept(1);
            if (t) CHECK(t->copy().push(0) == "a");
            if (c) CHECK(c->sample(row) == 0);
            if (twin) CHECK(twin->copy().sample(row) == 0);
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

// What members borrowed goes with them, also in copies, and what others borrow stays.
static void test_replaced()
{
    chain c(two);
    c.insert(0, matcher(letters(), grammar::from_regex("(a|b)*")));
    c.insert(0, matcher(letters(), grammar::from_regex("a*")));
    chain copy = c.copy();
    const long live = counted_live();
    for (int i = 0; i < 50; i++) {
        copy = copy.copy();
        for (chain *one : { &c, &copy }) one->replace(0, matcher(letters(), grammar::from_regex("a*")));
    }
    CHECK(counted_live() <= live + 60 && c.sample(row) == 0 && copy.sample(row) == 0);
    c.replace(0, only(1));
    copy.replace(1, only(0));
    CHECK(c.sample(row) == 1 && copy.sample(row) == 0);
}

// Objects of files that know of more parts or of fewer
static void test_parts()
{
    chain c = plain_chain();
    matcher m(plain_vocab(), grammar::from_regex("b{9}"));
    c.insert(0, m.copy());
    CHECK(m.mask()[0] == 2 && c.sample(row) == 1 && plain_sample(c) == 1);
}

int main()
{
    test_names();
    test_byte_0();
    test_numbers();
    test_arrays();
    test_moved();
    test_errors_change_nothing();
    test_no_memory();
    test_orders();
    test_replaced();
    test_parts();
    CHECK(counted_live() == 0);
    std::puts("10 tests of wrong use");
}
