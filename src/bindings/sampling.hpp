// sampling.hpp - sampling.h in C++11: chains, batches, masks, log-probabilities, grammars, constraints, watermarks, drafts,
// states, which free themselves, and exceptions for statuses. cpp.md has examples. A page to copy and change.
//
// Grammars are there if SAMPLING_GRAMMAR is defined before, block drafts with SAMPLING_DRAFTS, what is told of constraints and
// the detectors of watermarks with SAMPLING_CONSTRAINTS and SAMPLING_WATERMARK, as in sampling.h. One object is for one
// thread at a time.
#ifndef SAMPLING_HPP
#define SAMPLING_HPP

#include "sampling.h"
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sampling
{

// ---- errors ----

// A status, and the field that it is about ("": none).
class error : public std::runtime_error
{
  public:
    const int status; // a samp_status
    const std::string field;
    explicit error(int s, const char *of = nullptr)
        : std::runtime_error(text_of(s, of)), status(s), field(of ? of : "")
    {
    }
    error(int s, const std::string &of, const std::string &text) : std::runtime_error(text), status(s), field(of) {}

  private:
    static std::string text_of(int status, const char *field)
    {
        std::vector<char> text(static_cast<size_t>(samp_error_text(status, field, nullptr, 0)) + 1);
        samp_error_text(status, field, text.data(), text.size());
        return text.data();
    }
};

// Some rows failed; the others have their tokens.
class batch_error : public error
{
  public:
    const std::vector<samp_token> tokens; // negative: the row's status
    batch_error(std::vector<samp_token> of, size_t row)
        : error(of[row], "", "row " + std::to_string(row) + ": " + samp_strerror(of[row])), tokens(std::move(of))
    {
    }
};

// The status of what succeeded; else an exception: std::bad_alloc for SAMP_E_NOMEM.
inline int check(int status, const char *field = nullptr)
{
    if (status == SAMP_E_NOMEM) throw std::bad_alloc();
    return status < 0 ? throw error(status, field) : status;
}

// ---- arrays, where they are ----

// 16-bit floats as integers: what their bits mean.
struct f16 {
    uint16_t bits;
};
struct bf16 {
    uint16_t bits;
};

template <class T> struct dtype_of;
template <> struct dtype_of<float> {
    static const samp_dtype value = SAMP_F32;
};
template <> struct dtype_of<double> {
    static const samp_dtype value = SAMP_F64;
};
template <> struct dtype_of<f16> {
    static const samp_dtype value = SAMP_F16;
};
template <> struct dtype_of<bf16> {
    static const samp_dtype value = SAMP_BF16;
};

// Some elements that somebody else has, of whatever has data() and size(): vectors, arrays, spans.
template <class T> class span
{
  public:
    span() : data_(nullptr), size_(0) {}
    span(T *data, size_t size) : data_(data), size_(size) {}
    // Good for as long as the list is: to the end of the call that it is written in.
    span(std::initializer_list<typename std::remove_const<T>::type> of) : data_(nullptr), size_(of.size())
    {
        if (size_) data_ = &*of.begin();
    }
    template <class C, class = decltype(std::declval<C &>().data())> span(C &&of) : data_(of.data()), size_(of.size())
    {
    }
    template <size_t N> span(T (&of)[N]) : data_(of), size_(N) {}
    T *data() const { return data_; }
    size_t size() const { return size_; }

  private:
    T *data_;
    size_t size_;
};

// Logits of float, double, f16 or bf16: a row, or rows with `stride` elements from one to the next. Nothing is copied.
class logits
{
  public:
    const void *data;
    samp_dtype dtype;
    size_t n_rows, n_vocab, stride;

    template <class T> logits(const T *row, size_t n) : logits(row, 1, n) {}
    template <class T>
    logits(const T *rows, size_t n, size_t vocab, size_t step = 0)
        : data(rows), dtype(dtype_of<T>::value), n_rows(n), n_vocab(vocab), stride(step ? step : vocab)
    {
    }
    template <class C, class T = typename std::decay<decltype(*std::declval<const C &>().data())>::type>
    logits(const C &row) : logits(row.data(), 1, row.size())
    {
    }
    logits(std::initializer_list<float> row) : logits(row.begin(), 1, row.size()) {}
};

struct logprob_set {
    samp_logprob chosen;
    std::vector<samp_logprob> top; // the best first
};

struct logprobs {
    logprob_set raw, processed; // of the row as given (with the mask); of the distribution drawn from
};

// ---- vocabularies and grammars; they live as long as something needs them ----

struct deleter {
    void operator()(samp_sampler *s) const { samp_free(s); }
    void operator()(samp_settings *s) const { samp_settings_free(s); }
    void operator()(samp_vocab *v) const { samp_vocab_free(v); }
#ifdef SAMPLING_GRAMMAR
    void operator()(samp_vocab_index *v) const { samp_vocab_index_free(v); }
    void operator()(samp_grammar *g) const { samp_grammar_free(g); }
#endif
};

// The bytes of each token, for dry, infill and grammars; those of control tokens are "".
class vocab
{
  public:
    vocab() {}
    explicit vocab(const std::vector<std::string> &tokens, const std::vector<samp_token> &eog = {},
                   samp_token eos = -1, samp_token eot = -1)
    {
        std::string bytes;
        std::vector<uint32_t> lengths;
        for (const std::string &token : tokens) {
            bytes += token;
            lengths.push_back(static_cast<uint32_t>(token.size()));
        }
        int status = SAMP_OK;
        vocab_.reset(samp_vocab_init(bytes.data(), lengths.data(), static_cast<int32_t>(tokens.size()), eog.data(),
                                     eog.size(), eos, eot, &status),
                     deleter());
        check(status);
#ifdef SAMPLING_GRAMMAR
        index_.reset(new lazy_index);
#endif
    }
    size_t size() const { return vocab_ ? static_cast<size_t>(vocab_->n_vocab) : 0; }
    const samp_vocab *get() const { return vocab_.get(); }

#ifdef SAMPLING_GRAMMAR
    // Made when a grammar needs it for the first time.
    const samp_vocab_index *index() const
    {
        if (!vocab_) throw error(SAMP_E_NULL, "vocab");
        if (!index_->made) {
            int status = SAMP_OK;
            index_->made.reset(samp_vocab_index_init(get(), &status));
            check(status);
        }
        return index_->made.get();
    }

  private:
    struct lazy_index {
        std::unique_ptr<samp_vocab_index, deleter> made;
    };
#endif

  private:
    std::shared_ptr<samp_vocab> vocab_;
#ifdef SAMPLING_GRAMMAR
    std::shared_ptr<lazy_index> index_; // freed before what it borrows
#endif
};

#ifdef SAMPLING_GRAMMAR
// What a text may be: llama.cpp's GBNF, a JSON schema, a regular expression, a structural tag.
class grammar
{
  public:
    grammar() {}
    grammar(samp_grammar_kind kind, const std::string &text, const std::string &root = "")
    {
        samp_grammar_error e;
        if (text.find('\0') != std::string::npos) throw error(SAMP_E_FORMAT, "grammar", "grammar: byte 0");
        grammar_.reset(samp_grammar_init(kind, text.c_str(), root.empty() ? nullptr : root.c_str(), &e), deleter());
        if (e.status == SAMP_E_NOMEM) throw std::bad_alloc();
        if (!grammar_)
            throw error(e.status, "grammar",
                        "grammar: line " + std::to_string(e.line) + ", column " + std::to_string(e.column) + ": " +
                            e.message);
    }
    static grammar from_string(const std::string &gbnf, const std::string &root = "")
    {
        return grammar(SAMP_GRAMMAR_GBNF, gbnf, root);
    }
    // style: "ordered", "compact", "spaced", with blanks between
    static grammar from_json_schema(const std::string &schema, const std::string &style = "")
    {
        return grammar(SAMP_GRAMMAR_JSON_SCHEMA, schema, style);
    }
    static grammar from_regex(const std::string &pattern) { return grammar(SAMP_GRAMMAR_REGEX, pattern); }
    // Calls of tools in free text, as XGrammar and vLLM's response_format have them; style: of the schemas in it
    static grammar from_structural_tag(const std::string &tag, const std::string &style = "")
    {
        return grammar(SAMP_GRAMMAR_STRUCTURAL_TAG, tag, style);
    }
    const samp_grammar *get() const { return grammar_.get(); }
    explicit operator bool() const { return static_cast<bool>(grammar_); }

  private:
    std::shared_ptr<samp_grammar> grammar_;
};
#endif

// ---- samplers ----

// What chains and matchers have in common. Movable; a copy continues as the original.
class sampler
{
  public:
    void accept(samp_token token) { check(samp_accept(get(), token)); }
    void accept(span<const samp_token> tokens)
    {
        for (size_t i = 0; i < tokens.size(); i++) accept(tokens.data()[i]);
    }
    void reset() { samp_reset(get()); }
    void rollback(int32_t n = 1) { check(samp_rollback(get(), n)); }
    void set_rollback(int32_t depth) { check(samp_set_rollback(get(), depth)); }
    uint64_t position() const { return samp_get_position(get()); }
    void set_position(uint64_t position) { check(samp_set_position(get(), position)); }
    uint64_t seed() const { return samp_get_seed(get()); }
    samp_sampler *get() const { return sampler_.get(); } // for all that C has

#ifdef SAMPLING_CONSTRAINTS
    // Of the first one of its kind in a chain: how many tokens to take back, as what is banned has come; the period of the
    // loop that the text is in, or 0; SAMP_THINKING_...; how many tokens the open span may still have, -1: none is open;
    // how many have been thought; is it a schedule's time?
    int32_t rewind_length() const { return check(samp_rewind_length(get())); }
    int32_t loop_length() const { return check(samp_loop_length(get())); }
    int32_t thinking_now() const { return check(samp_thinking_now(get())); }
    int32_t thinking_left() const
    {
        return thinking_now() == SAMP_THINKING_NOT ? -1 : check(samp_thinking_left(get()));
    }
    int32_t thinking_used() const { return check(samp_thinking_used(get())); }
    bool schedule_holds() const { return check(samp_schedule_holds(get())) != 0; }
    void thinking_end() { check(samp_thinking_end(get())); } // now
#endif

    std::string describe() const
    {
        std::vector<char> text(static_cast<size_t>(check(samp_describe(get(), nullptr, 0))) + 1);
        samp_describe(get(), text.data(), text.size());
        return text.data();
    }

    // What it has become, as bytes: to go on in another one with the same settings.
    std::vector<unsigned char> save() const
    {
        std::vector<unsigned char> bytes(samp_state_size(get()));
        check(samp_state_save(get(), bytes.data(), bytes.size()));
        return bytes;
    }
    void load(const std::vector<unsigned char> &bytes) { check(samp_state_load(get(), bytes.data(), bytes.size())); }

  protected:
    explicit sampler(samp_sampler *s = nullptr) : sampler_(s) {}
    samp_sampler *cloned() const
    {
        check(samp_status(get(), nullptr));
        samp_sampler *s = samp_clone(get());
        return s ? s : throw std::bad_alloc();
    }
    void take(samp_sampler *s)
    {
        if (!s) throw std::bad_alloc();
        sampler_.reset(s);
        const char *field = nullptr;
        int status = samp_status(s, &field);
        check(status, field);
    }
    std::unique_ptr<samp_sampler, deleter> sampler_;
};

// A sampler that C has made, for a chain: a constraint, a schedule, a watermark. of: the vocabulary that it borrows.
class member : public sampler
{
    vocab vocab_; // before what borrows it

  public:
    explicit member(samp_sampler *made, const vocab &of = vocab()) : vocab_(of) { take(made); }
    member(member &&) = default;
    member &operator=(member other) noexcept
    {
        std::swap(sampler_, other.sampler_);
        std::swap(vocab_, other.vocab_);
        return *this;
    }
    ~member() { sampler_.reset(); }
    member copy() const { return member(cloned(), vocab_); }
    const vocab &vocabulary() const { return vocab_; }
    samp_sampler *release() { return sampler_.release(); } // for C, which owns it then
};

#ifdef SAMPLING_GRAMMAR
// A grammar at work on one text: which tokens may come next.
class matcher : public sampler
{
    vocab vocab_; // before what borrows them
    grammar grammar_;

  public:
    matcher(const vocab &v, const grammar &g) : vocab_(v), grammar_(g)
    {
        take(samp_init_grammar(v.index(), g.get()));
    }
    // It waits for one of these words or tokens, and allows all until then.
    static matcher lazy(const vocab &v, const grammar &g, const std::vector<std::string> &words,
                        const std::vector<samp_token> &tokens = {})
    {
        std::vector<const char *> texts = pointers(words);
        return matcher(
            v, g,
            samp_init_grammar_lazy(v.index(), g.get(), texts.data(), texts.size(), tokens.data(), tokens.size()));
    }
    static matcher lazy_patterns(const vocab &v, const grammar &g, const std::vector<std::string> &patterns,
                                 const std::vector<samp_token> &tokens = {})
    {
        std::vector<const char *> texts = pointers(patterns);
        return matcher(v, g,
                       samp_init_grammar_lazy_patterns(v.index(), g.get(), texts.data(), texts.size(), tokens.data(),
                                                       tokens.size()));
    }
    matcher(matcher &&) = default;
    matcher &operator=(matcher other) noexcept
    {
        std::swap(sampler_, other.sampler_);
        std::swap(vocab_, other.vocab_);
        std::swap(grammar_, other.grammar_);
        return *this;
    }
    ~matcher() { sampler_.reset(); } // before what it borrows
    matcher copy() const { return matcher(vocab_, grammar_, cloned()); }

    // The tokens that may follow: bit i % 32 of word i / 32 is token i.
    std::vector<uint32_t> mask()
    {
        std::vector<uint32_t> bits((vocab_.size() + 31) / 32);
        check(samp_grammar_mask(get(), bits.data()));
        return bits;
    }
    // The same into a place of yours.
    void mask(span<uint32_t> bits)
    {
        if (bits.size() < (vocab_.size() + 31) / 32) throw error(SAMP_E_RANGE, "mask");
        check(samp_grammar_mask(get(), bits.data()));
    }
    bool is_complete() const { return check(samp_grammar_is_complete(get())) != 0; }
    bool is_awaiting() const { return check(samp_grammar_is_awaiting(get())) != 0; }
    // The bytes that must follow, whatever comes.
    std::string forced()
    {
        std::string bytes(4096, '\0');
        int64_t n = samp_grammar_forced(get(), &bytes[0], bytes.size());
        check(n < 0 ? static_cast<int>(n) : SAMP_OK);
        bytes.resize(static_cast<size_t>(n));
        return bytes;
    }
    // What must follow as tokens, n at most: a draft for chain::verify.
    std::vector<samp_token> draft(size_t n = 64) { return tokens(samp_grammar_draft, n); }
    // Those at its front that nothing else could be: they need no step of the model.
    std::vector<samp_token> certain(size_t n = 64) { return tokens(samp_grammar_certain, n); }
    // Do a part of the next mask's work ahead, `budget` steps of some ten nanoseconds. Is the mask there?
    bool prepare(int64_t budget) { return check(samp_grammar_prepare(get(), budget)) != 0; }
    // What all samplers of this grammar have learnt together, and its memory.
    samp_grammar_usage stats() const
    {
        samp_grammar_usage usage;
        check(samp_grammar_stats(get(), &usage));
        return usage;
    }
    void set_limits(size_t max_bytes, int64_t max_steps)
    {
        check(samp_set_grammar_limits(get(), max_bytes, max_steps));
    }
    const vocab &vocabulary() const { return vocab_; }
    const grammar &of() const { return grammar_; }

  private:
    matcher(const vocab &v, const grammar &g, samp_sampler *s) : vocab_(v), grammar_(g) { take(s); }
    std::vector<samp_token> tokens(int64_t (*of)(samp_sampler *, samp_token *, size_t), size_t n)
    {
        std::vector<samp_token> out(n + 1);
        int64_t length = of(get(), out.data(), n);
        check(length < 0 ? static_cast<int>(length) : SAMP_OK);
        out.resize(static_cast<size_t>(length));
        return out;
    }
    static std::vector<const char *> pointers(const std::vector<std::string> &texts)
    {
        std::vector<const char *> all;
        for (const std::string &text : texts) all.push_back(text.c_str());
        return all;
    }
};
#endif

// How samp_verify judges a draft, or samp_verify_block (with SAMPLING_DRAFTS).
enum class method { exact, ratio, block };

// What proposes tokens, and what it drew them from: probs [n x n_vocab], or [n x n_top] with ids; none: it was certain.
struct draft {
    span<const samp_token> tokens;
    span<const float> probs;
    span<const samp_token> ids;
};

// A chain of samplers: chain c({ { "top_k", "40" }, { "temp", "0.8" } }).
class chain : public sampler
{
  public:
    using setting = std::pair<const char *, std::string>;
    using settings = std::vector<setting>;

    // of: for dry, infill and grammars; a row may be longer, as models pad. The chain keeps it.
    explicit chain(const settings &values, const vocab &of = vocab()) : vocab_(of), values_(values) { make(); }
    explicit chain(std::initializer_list<setting> values, const vocab &of = vocab()) : chain(settings(values), of) {}
    chain(const settings &values, const std::vector<std::string> &pieces) : chain(values, vocab(pieces)) {}
#ifdef SAMPLING_GRAMMAR
    // The grammar masks the row first.
    chain(const settings &values, const vocab &of, const grammar &first) : chain(values, matcher(of, first)) {}
    chain(std::initializer_list<setting> values, const vocab &of, const grammar &first)
        : chain(settings(values), of, first)
    {
    }
    // A copy of the matcher is the chain's.
    chain(const settings &values, const matcher &first)
        : vocab_(first.vocabulary()), grammar_(first.of()), values_(values)
    {
        matcher copied = first.copy();
        make();
        check(samp_chain_insert(get(), 0, release(copied)));
    }
#endif
    chain(chain &&) = default;
    chain &operator=(chain other) noexcept
    {
        std::swap(sampler_, other.sampler_);
        std::swap(vocab_, other.vocab_);
#ifdef SAMPLING_GRAMMAR
        std::swap(grammar_, other.grammar_);
#endif
        std::swap(values_, other.values_);
        std::swap(kept_, other.kept_);
        return *this;
    }
    ~chain() { sampler_.reset(); } // before what it borrows
    chain copy() const { return chain(*this, cloned()); }

    // The next token, which the chain has then accepted.
    samp_token sample(const float *row, size_t n)
    {
        fits(n);
        return check(samp_sample(get(), row, n));
    }
    // mask: bit i % 32 of word i / 32 set: token i is allowed. top: how many of the most likely tokens *told gets too.
    samp_token sample(const logits &row, span<const uint32_t> mask = {}, logprobs *told = nullptr, int32_t top = 0);

    // How much of a draft is right? The tokens that are accepted, and one more. rows: draft.tokens.size() + 1 of float.
    // If a row behind the first one is broken, it is a batch_error: the tokens before it, and its status, are in it.
    std::vector<samp_token> verify(const logits &rows, const draft &of, method how = method::exact)
    {
        size_t n = of.tokens.size();
        if (rows.dtype != SAMP_F32) throw error(SAMP_E_DTYPE, "logits");
        if (rows.n_rows != n + 1 || rows.stride != rows.n_vocab) throw error(SAMP_E_RANGE, "logits");
        fits(rows.n_vocab);
        size_t wide = of.ids.size() ? of.ids.size() : n * rows.n_vocab;
        if (of.probs.size() ? of.probs.size() != wide : of.ids.size() != 0) throw error(SAMP_E_RANGE, "probs");
        if (n && of.ids.size() % n) throw error(SAMP_E_RANGE, "ids");
        samp_draft d = { n, of.tokens.data(), of.probs.size() ? of.probs.data() : nullptr,
                         of.ids.size() ? of.ids.data() : nullptr, n ? of.ids.size() / n : 0 };
        std::vector<samp_token> out(n + 1, -1);
        const float *x = static_cast<const float *>(rows.data);
        int32_t accepted;
#ifdef SAMPLING_DRAFTS
        if (how == method::block) {
            accepted = samp_verify_block(get(), x, rows.n_vocab, &d, out.data());
        } else
#else
        if (how == method::block) throw error(SAMP_E_UNSUPPORTED, "method");
#endif
            accepted = samp_verify(get(), x, rows.n_vocab, &d,
                                   how == method::exact ? SAMP_VERIFY_EXACT : SAMP_VERIFY_RATIO, out.data());
        out.resize(static_cast<size_t>(check(accepted)) + 1);
        if (out.back() < 0) throw batch_error(out, out.size() - 1);
        return out;
    }

    // A sampler of yours goes in front of number i (0 .. size()); settings that change leave it where it is.
    void insert(int32_t i, member s)
    {
        vocab keep = s.vocabulary();
        kept_.push_back(keep);
        check(samp_chain_insert(get(), i, s.release()));
    }
    // It takes the place of number i (-1: the last one), as a watermark that draws takes dist's.
    void replace(int32_t i, member s)
    {
        int32_t at = i < 0 ? i + size() : i;
        if (at < 0 || at >= size()) throw error(SAMP_E_RANGE, "i");
        samp_free(samp_chain_remove(get(), at));
        insert(at, std::move(s));
    }
    int32_t size() const { return check(samp_chain_n(get())); }

    // Other values for these settings, between two tokens; what the chain has seen stays.
    void update(const settings &values)
    {
        settings all;
        for (const setting &old : values_) { // lists begin anew
            bool stays = true;
            for (const setting &one : values) stays = stays && std::string(one.first) != old.first;
            if (stays) all.push_back(old);
        }
        all.insert(all.end(), values.begin(), values.end());
        std::unique_ptr<samp_settings, deleter> with = set(all);
        check(samp_chain_update(get(), samp_settings_params(with.get())));
        values_ = all;
    }

    std::string setting_of(const char *name) const
    {
        char text[400];
        check(samp_settings_get(set(values_).get(), name, text, sizeof text), name);
        return text;
    }

    std::vector<samp_token> prev(size_t n = 64) const
    {
        std::vector<samp_token> tokens(n);
        tokens.resize(samp_prev(get(), tokens.data(), n));
        return tokens;
    }

    void fits(size_t n) const
    {
        if (n == 0) throw error(SAMP_E_EMPTY);
        if (n < vocab_.size()) throw error(SAMP_E_RANGE, "logits");
    }

  private:
    chain(const chain &of, samp_sampler *s)
        : sampler(s), vocab_(of.vocab_),
#ifdef SAMPLING_GRAMMAR
          grammar_(of.grammar_),
#endif
          values_(of.values_), kept_(of.kept_)
    {
    }

    std::unique_ptr<samp_settings, deleter> set(const settings &values) const
    {
        std::unique_ptr<samp_settings, deleter> to(samp_settings_new());
        if (!to) throw std::bad_alloc();
        if (vocab_.get()) check(samp_settings_use_vocab(to.get(), vocab_.get()));
        const char *field = nullptr;
        for (const setting &s : values) {
            int status = samp_settings_set(to.get(), s.first, s.second.c_str(), &field);
            check(status, field);
        }
        int status = samp_check_params(samp_settings_params(to.get()), &field);
        check(status, field);
        return to;
    }

    void make()
    {
        std::unique_ptr<samp_settings, deleter> from = set(values_);
        int status = SAMP_OK;
        sampler_.reset(samp_chain_from_params(samp_settings_params(from.get()), &status));
        check(status);
        if (!get()) throw std::bad_alloc();
    }

#ifdef SAMPLING_GRAMMAR
    struct opened : matcher {
        static samp_sampler *release(matcher &m) { return (m.*(&opened::sampler_)).release(); }
    };
    static samp_sampler *release(matcher &m) { return opened::release(m); }
#endif

    vocab vocab_;
#ifdef SAMPLING_GRAMMAR
    grammar grammar_;
#endif
    settings values_;
    std::vector<vocab> kept_; // what members borrow
};

// ---- batches ----

struct batch_options {
    span<const uint32_t> mask;     // [n_rows x mask_stride] as chain::sample's
    size_t mask_stride;            // words from one row's to the next; 0: (n_vocab + 31) / 32
    span<const int32_t> row_index; // [n_rows] chain r reads this row; none: row r
    std::vector<logprobs> *told;   // gets those of each row
    int32_t top;                   // how many of the most likely tokens are in them
    int32_t n_threads;             // with OpenMP; 0: its choice
    batch_options() : mask_stride(0), told(nullptr), top(0), n_threads(0) {}
};

// A token for each chain; the same as chain::sample's for the row. A row that fails leaves its chain as it was; when all
// others have their tokens, it is a batch_error, which has them.
inline std::vector<samp_token> sample_batch(span<chain *const> chains, const logits &rows,
                                            const batch_options &how = batch_options())
{
    size_t n = chains.size(), words = how.mask_stride ? how.mask_stride : (rows.n_vocab + 31) / 32;
    std::vector<samp_sampler *> handles;
    for (size_t r = 0; r < n; r++) {
        if (!chains.data()[r]) throw error(SAMP_E_NULL, "chains");
        chains.data()[r]->fits(rows.n_vocab);
        handles.push_back(chains.data()[r]->get());
    }
    if (how.row_index.size() ? how.row_index.size() != n : rows.n_rows != n) throw error(SAMP_E_RANGE, "logits");
    for (size_t r = 0; r < how.row_index.size(); r++) {
        int32_t at = how.row_index.data()[r];
        if (at < 0 || static_cast<size_t>(at) >= rows.n_rows) throw error(SAMP_E_RANGE, "row_index");
    }
    if (how.mask.size() && how.mask.size() < (n ? (n - 1) * words + (rows.n_vocab + 31) / 32 : 0))
        throw error(SAMP_E_RANGE, "mask");
    if (how.told && (how.top < 0 || how.top > SAMP_MAX_TOP_LOGPROBS)) throw error(SAMP_E_RANGE, "logprobs");

    size_t top = how.told ? static_cast<size_t>(how.top) : 0;
    std::vector<samp_logprob> all(2 * n * top);
    std::vector<samp_logprobs> sets(how.told ? n : 0);
    for (size_t r = 0; r < sets.size(); r++) {
        samp_logprob_set empty = samp_logprob_set();
        empty.n_top = static_cast<int32_t>(top);
        sets[r].raw = sets[r].processed = empty;
        if (top) sets[r].raw.top_logprobs = &all[2 * r * top];
        if (top) sets[r].processed.top_logprobs = &all[(2 * r + 1) * top];
    }
    samp_logits x = samp_logits();
    x.data = rows.data;
    x.dtype = rows.dtype;
    x.n_rows = n;
    x.n_vocab = rows.n_vocab;
    x.stride = rows.stride;
    x.row_index = how.row_index.size() ? how.row_index.data() : nullptr;
    x.mask = how.mask.size() ? how.mask.data() : nullptr;
    x.mask_stride = how.mask_stride;
    x.logprobs = sets.empty() ? nullptr : sets.data();
    x.n_threads = how.n_threads;
    std::vector<samp_token> out(n);
    if (n) check(samp_sample_batch(handles.data(), &x, out.data()));
    if (how.told) {
        how.told->assign(n, logprobs());
        for (size_t r = 0; r < n; r++) {
            if (out[r] < 0) continue;
            const samp_logprob_set *from[] = { &sets[r].raw, &sets[r].processed };
            logprob_set *to[] = { &(*how.told)[r].raw, &(*how.told)[r].processed };
            for (int k = 0; k < 2; k++) {
                to[k]->chosen = from[k]->chosen;
                if (top) to[k]->top.assign(from[k]->top_logprobs, from[k]->top_logprobs + from[k]->n_top_found);
            }
        }
    }
    for (size_t r = 0; r < n; r++)
        if (out[r] < 0) throw batch_error(out, r);
    return out;
}

inline std::vector<samp_token> sample_batch(std::vector<chain> &chains, const logits &rows,
                                            const batch_options &how = batch_options())
{
    std::vector<chain *> all;
    for (chain &one : chains) all.push_back(&one);
    return sample_batch(span<chain *const>(all.data(), all.size()), rows, how);
}

inline samp_token chain::sample(const logits &row, span<const uint32_t> mask, logprobs *told, int32_t top)
{
    fits(row.n_vocab);
    if (row.n_rows != 1) throw error(SAMP_E_RANGE, "logits");
    if (row.dtype == SAMP_F32 && !mask.size() && !told)
        return check(samp_sample(get(), static_cast<const float *>(row.data), row.n_vocab));
    chain *self = this;
    std::vector<logprobs> all;
    batch_options how;
    how.mask = mask;
    how.told = told ? &all : nullptr;
    how.top = top;
    how.n_threads = 1;
    try {
        samp_token token = sample_batch(span<chain *const>(&self, 1), row, how)[0];
        if (told) *told = all[0];
        return token;
    } catch (const batch_error &e) {
        throw error(e.status);
    }
}

#ifdef SAMPLING_WATERMARK
// ---- watermarks: member(samp_init_watermark(&mark)) marks ----

// A kind with its usual numbers, and this key.
inline samp_watermark watermark(uint64_t key, samp_watermark_kind kind = SAMP_WATERMARK_GUMBEL)
{
    samp_watermark mark = samp_default_watermark(kind);
    mark.key = key;
    return mark;
}

// Does this text, the tokens as they were generated without the prompt, carry the mark?
inline samp_watermark_result detect(const samp_watermark &mark, span<const samp_token> text)
{
    samp_watermark_result out = samp_watermark_result();
    check(samp_watermark_detect(&mark, text.data(), text.size(), &out));
    return out;
}

// The same for each of these keys in place of the mark's.
inline std::vector<samp_watermark_result> detect(const samp_watermark &mark, span<const uint64_t> keys,
                                                 span<const samp_token> text)
{
    std::vector<samp_watermark_result> out(keys.size());
    check(samp_watermark_detect_keys(&mark, keys.data(), keys.size(), text.data(), text.size(), out.data()));
    return out;
}

// The piece of `window` tokens that is most likely marked.
inline samp_watermark_span find(const samp_watermark &mark, span<const samp_token> text, size_t window = 200)
{
    samp_watermark_span out = samp_watermark_span();
    check(samp_watermark_find(&mark, text.data(), text.size(), window, &out));
    return out;
}
#endif

// Which values a setting takes, for a user to read.
inline std::string takes(const char *name)
{
    char text[400];
    check(samp_settings_takes(name, text, sizeof text), name);
    return text;
}

} // namespace sampling
#endif
