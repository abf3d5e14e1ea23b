// sampling.hpp - sampling.h in C++11: chains, batches, masks, log-probabilities, grammars, constraints, watermarks,
// drafts, states, texts, requests, which free themselves, and exceptions for statuses. cpp.md has examples. A page to
// copy and change.
//
// Grammars are there if SAMPLING_GRAMMAR is defined before, as in sampling.h; with SAMPLING_DRAFTS block drafts and
// drafts from the text; with SAMPLING_SEARCH beams and unmask; with SAMPLING_CONSTRAINTS what is told of constraints, and with SAMPLING_PEERS too requests of
// other programs; with SAMPLING_WATERMARK detectors, with SAMPLING_STOP texts, with SAMPLING_VOCAB vocabularies from
// files. The objects are the same with and without. One object is for one thread at a time; a vocabulary or a grammar
// is for all.
//
// Objects own what C borrows. After an exception nothing has changed, except where a comment says so. An object that
// has been moved from throws SAMP_E_NULL.
#ifndef SAMPLING_HPP
#define SAMPLING_HPP

#include "sampling.h"
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sampling
{

// ---- errors ----

// The text of a C function that writes one: write(buffer, size) returns its length or a status.
template <class F> std::string written(F write, const char *field = nullptr);

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
        return written([&](char *text, size_t size) { return samp_error_text(status, field, text, size); });
    }
};

// Some rows failed; the others have their tokens.
class batch_error : public error
{
  public:
    const std::vector<samp_token> tokens; // negative: the row's status
    const std::string reason;             // of the first of them
    batch_error(std::vector<samp_token> of, size_t row, const std::string &why)
        : error(of[row], "", "row " + std::to_string(row) + ": " + why), tokens(std::move(of)), reason(why)
    {
    }
};

// The status of what succeeded; else an exception: std::bad_alloc for SAMP_E_NOMEM.
inline int check(int status, const char *field = nullptr)
{
    if (status == SAMP_E_NOMEM) throw std::bad_alloc();
    return status < 0 ? throw error(status, field) : status;
}

// The argument of this name is out of range.
inline error outside(const std::string &name)
{
    return error(SAMP_E_RANGE, name, name + ": " + samp_strerror(SAMP_E_RANGE));
}

// check; the argument of this name is what may be out of range.
template <class S> S check_range(S status, const char *name)
{
    if (status == SAMP_E_RANGE && name) throw outside(name);
    if (status < 0) check(static_cast<int>(status));
    return status;
}

// An error with its place in a text, a samp_text_error.
template <class E> error located(const E &e, const std::string &field)
{
    if (e.status == SAMP_E_NOMEM) throw std::bad_alloc();
    std::string text = field.empty() ? "" : field + ": ";
    if (e.line) text += "line " + std::to_string(e.line) + ", column " + std::to_string(e.column) + ": ";
    return error(e.status, field, text + (e.message[0] ? e.message : samp_strerror(e.status)));
}

template <class F> std::string written(F write, const char *field)
{
    std::string text(static_cast<size_t>(check(write(nullptr, 0), field)) + 1, '\0');
    write(&text[0], text.size());
    text.pop_back();
    return text;
}

// ---- numbers and texts, as C takes them ----

// A whole number of any type, where C takes a T: what T cannot hold is an error; fractions and bools do not compile.
template <class T> class whole
{
  public:
    template <class I, class = typename std::enable_if<(std::is_integral<I>::value || std::is_enum<I>::value) &&
                                                       std::is_convertible<I, long long>::value &&
                                                       !std::is_same<I, bool>::value>::type>
    whole(I value) : value_(static_cast<T>(value)), fits_(same(value_, +value))
    {
    }
    T as(const char *name) const { return fits_ ? value_ : throw outside(name); }

  private:
    template <class I> static bool same(T a, I b) { return static_cast<I>(a) == b && (a < T(1)) == (b < I(1)); }
    T value_;
    bool fits_;
};

// A text for C, which would end it at a byte 0.
inline const char *c_text(const std::string &text, const std::string &name)
{
    if (text.find('\0') != std::string::npos) throw error(SAMP_E_FORMAT, name, name + ": byte 0");
    return text.c_str();
}

inline std::vector<const char *> c_texts(const std::vector<std::string> &texts, const char *name)
{
    std::vector<const char *> all;
    for (const std::string &text : texts) all.push_back(c_text(text, name));
    return all;
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

// What the elements of a C are that has data(): no such member, no type.
template <class C> using element_of = typename std::remove_pointer<decltype(std::declval<C &>().data())>::type;

// Some elements that somebody else has, of whatever has data() and size(): vectors, arrays, spans. A temporary would be
// gone when the span is read, so it does not compile; calls take temporaries (passed). data() of none is NULL.
template <class T> class span
{
  public:
    using element = typename std::remove_const<T>::type;

    span() : data_(nullptr), size_(0) {}
    span(T *data, whole<size_t> size) : data_(nullptr), size_(size.as("size"))
    {
        if (size_ && !(data_ = data)) throw error(SAMP_E_NULL, "data");
    }
    template <class C, class E = element_of<C>,
              class = typename std::enable_if<std::is_lvalue_reference<C>::value &&
                                              std::is_convertible<E (*)[], T (*)[]>::value>::type>
    span(C &&of) : span(of.data(), of.size())
    {
    }
    template <class E, class = typename std::enable_if<std::is_convertible<E (*)[], T (*)[]>::value>::type>
    span(const span<E> &of) : data_(of.data()), size_(of.size())
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
    using element = float;
    const void *data;
    samp_dtype dtype;
    size_t n_rows, n_vocab, stride;

    template <class T> logits(const T *row, whole<size_t> n) : logits(row, 1, n) {}
    template <class T>
    logits(const T *rows, whole<size_t> n, whole<size_t> vocab, whole<size_t> step = 0)
        : data(rows), dtype(dtype_of<T>::value), n_rows(n.as("n_rows")), n_vocab(vocab.as("n_vocab")),
          stride(step.as("stride"))
    {
        if (!stride) stride = n_vocab;
    }
    template <class C, class T = typename std::remove_const<element_of<C>>::type,
              class = typename std::enable_if<std::is_lvalue_reference<C>::value>::type>
    logits(C &&row) : logits(static_cast<const T *>(row.data()), 1, row.size())
    {
    }

    // Are the numbers of rows that memory can hold?
    void check() const
    {
        if (n_vocab == 0) throw error(SAMP_E_EMPTY);
        if (n_vocab > SAMP_MAX_VOCAB) throw error(SAMP_E_RANGE, "n_vocab");
        const size_t most = PTRDIFF_MAX / sizeof(double);
        if (stride < n_vocab || stride > most || (n_rows > 1 && stride > most / n_rows))
            throw error(SAMP_E_RANGE, "stride");
    }
    samp_logits get() const
    {
        samp_logits x = samp_logits();
        x.data = data;
        x.dtype = dtype;
        x.n_rows = n_rows;
        x.n_vocab = n_vocab;
        x.stride = stride;
        return x;
    }
    // With a mask for all rows, or none.
    samp_logits masked(const span<const uint32_t> &mask) const
    {
        check();
        samp_logits x = get();
        x.mask = mask.size() ? mask.data() : nullptr;
        if (x.mask && mask.size() / ((n_vocab + 31) / 32) < n_rows) throw error(SAMP_E_RANGE, "mask");
        return x;
    }
};

// Why C has this status for row r.
inline std::string reason(int status, const samp_logits &x, size_t r)
{
    const std::string why = written(
        [&](char *text, size_t size) { return samp_logits_error_text(&x, r, text, size); });
    return why == samp_strerror(SAMP_OK) ? samp_strerror(status) : why;
}

// check_range, for what C has drawn from x's first row.
inline int32_t check_drawn(int32_t result, const logits &x, const char *name)
{
    if (result == SAMP_E_NAN || result == SAMP_E_EMPTY) throw error(result, "", reason(result, x.get(), 0));
    return check_range(result, name);
}

// An argument that is read during the call: a span or logits, or what they can be made of, temporaries and lists too.
template <class V> class passed : public V
{
  public:
    passed() = default;
    passed(const V &of) : V(of) {}
    passed(std::initializer_list<typename V::element> of) : V(of.begin(), of.size()) {}
    template <class C, class = element_of<const C>> passed(const C &of) : V(of) {}
    template <size_t N> passed(const typename V::element (&of)[N]) : V(of, N) {}
    template <class T, class... A> passed(const T *data, whole<size_t> n, A... more) : V(data, n, more...) {}
};

// C has drawn from these rows, or has not: then the first row that says why is named.
inline int64_t check_rows(int64_t result, const samp_logits &x, const char *name)
{
    if (result >= 0) return result;
    const int status = static_cast<int>(result);
    if (status == SAMP_E_NAN || status == SAMP_E_EMPTY)
        for (size_t r = 0; r < x.n_rows; r++) {
            const std::string why = reason(SAMP_OK, x, r);
            if (why != samp_strerror(SAMP_OK)) throw error(status, "logits", "row " + std::to_string(r) + ": " + why);
        }
    return check_range(status, name);
}

struct logprob_set {
    samp_logprob chosen;
    std::vector<samp_logprob> top; // the best first
    float entropy;                 // in nats
    std::vector<float> given;      // the log-probabilities of the ids that were asked for
};

// The tokens that could have been drawn, and their share of the model's distribution.
struct support_set {
    size_t n;
    double mass;
    std::vector<samp_token> tokens; // [n], none: there are more than were asked for
    std::vector<float> logprobs;    // [n] in the distribution drawn from
};

struct logprobs {
    logprob_set raw, processed; // of the row as given (with the mask); of the distribution drawn from
    support_set support;        // if it was asked for
};

// What is to be told of the tokens of some rows. All memory is here before C draws.
class telling
{
  public:
    // top, ids, support: as batch_options'; rows 0: nothing is told
    telling(size_t rows, size_t n_vocab, const whole<int32_t> &top, const span<const samp_token> &ids = {},
            const whole<int32_t> &support = -1)
        : told_(rows), sets_(rows), supports_(rows)
    {
        if (!rows) return;
        const int32_t n = top.as("logprobs"), most = support.as("support");
        if (n < 0 || n > SAMP_MAX_TOP_LOGPROBS) throw error(SAMP_E_RANGE, "logprobs");
        if (most < -1 || most > SAMP_MAX_VOCAB) throw error(SAMP_E_RANGE, "support");
        if (ids.size() > SAMP_MAX_TOP_LOGPROBS) throw error(SAMP_E_RANGE, "ids");
        for (size_t i = 0; i < ids.size(); i++)
            if (ids.data()[i] < 0 || static_cast<size_t>(ids.data()[i]) >= n_vocab) throw error(SAMP_E_RANGE, "ids");
        for (size_t r = 0; r < rows; r++) {
            ask(told_[r].raw, sets_[r].raw, n, ids);
            ask(told_[r].processed, sets_[r].processed, n, ids);
            if (most < 0) continue;
            support_set &to = told_[r].support;
            to.tokens.resize(std::min(static_cast<size_t>(most), n_vocab));
            to.logprobs.resize(to.tokens.size());
            supports_[r].tokens = to.tokens.empty() ? nullptr : to.tokens.data();
            supports_[r].logprobs = to.tokens.empty() ? nullptr : to.logprobs.data();
            supports_[r].capacity = to.tokens.size();
            sets_[r].support = &supports_[r];
        }
    }
    samp_logprobs *sets() { return sets_.empty() ? nullptr : sets_.data(); }
    // What C has written; a row whose status is negative has chosen alone.
    std::vector<logprobs> &read(const samp_token *status)
    {
        for (size_t r = 0; r < told_.size(); r++) {
            const bool drawn = status[r] >= 0;
            read(told_[r].raw, sets_[r].raw, drawn);
            read(told_[r].processed, sets_[r].processed, drawn);
            const samp_support &from = supports_[r];
            support_set &to = told_[r].support;
            to.n = from.n;
            to.mass = from.mass;
            to.tokens.resize(drawn && from.n <= from.capacity ? from.n : 0);
            to.logprobs.resize(to.tokens.size());
        }
        return told_;
    }

  private:
    static void ask(logprob_set &to, samp_logprob_set &from, int32_t n, const span<const samp_token> &ids)
    {
        to.top.resize(static_cast<size_t>(n));
        to.given.resize(ids.size());
        from.top_logprobs = n ? to.top.data() : nullptr;
        from.n_top = n;
        from.ids = ids.size() ? ids.data() : nullptr;
        from.n_ids = static_cast<int32_t>(ids.size());
        from.id_logprobs = ids.size() ? to.given.data() : nullptr;
    }
    static void read(logprob_set &to, const samp_logprob_set &from, bool drawn)
    {
        to.chosen = from.chosen;
        to.entropy = from.entropy;
        to.top.resize(drawn ? static_cast<size_t>(from.n_top_found) : 0);
        if (!drawn) to.given.clear();
    }
    std::vector<logprobs> told_;
    std::vector<samp_logprobs> sets_;
    std::vector<samp_support> supports_;
};

// ---- vocabularies and grammars; they live as long as something needs them ----

struct deleter {
    void operator()(samp_sampler *s) const { samp_free(s); }
    void operator()(samp_settings *s) const { samp_settings_free(s); }
    void operator()(samp_vocab *v) const { samp_vocab_free(v); }
#ifdef SAMPLING_DRAFTS
    void operator()(samp_ngram *n) const { samp_ngram_free(n); }
#endif
#ifdef SAMPLING_SEARCH
    void operator()(samp_beams *b) const { samp_beams_free(b); }
#endif
#ifdef SAMPLING_STOP
    void operator()(samp_text *t) const { samp_text_free(t); }
#endif
#ifdef SAMPLING_GRAMMAR
    void operator()(samp_vocab_index *v) const { samp_vocab_index_free(v); }
    void operator()(samp_grammar *g) const { samp_grammar_free(g); }
#endif
};

using kept = std::shared_ptr<const void>; // what lives at least as long as this does

// The bytes of each token, for dry, infill and grammars; those of control tokens are "".
class vocab
{
  public:
    vocab() {}
    explicit vocab(const std::vector<std::string> &tokens, const std::vector<samp_token> &eog = {},
                   whole<samp_token> eos = -1, whole<samp_token> eot = -1)
        : shared_(new shared)
    {
        std::string bytes;
        std::vector<uint32_t> lengths;
        for (const std::string &token : tokens) {
            lengths.push_back(whole<uint32_t>(token.size()).as("tokens"));
            bytes += token;
        }
        int status = SAMP_OK;
        shared_->tokens.reset(samp_vocab_init(bytes.data(), lengths.data(),
                                              whole<int32_t>(tokens.size()).as("tokens"), eog.data(), eog.size(),
                                              eos.as("eos"), eot.as("eot"), &status));
        check_range(status, "vocab");
    }
#ifdef SAMPLING_VOCAB
    // Of a model's own file: Hugging Face's tokenizer.json, or llama.cpp's GGUF, its beginning with all settings, as
    // bytes or chars (a mapped file is not copied).
    static vocab from_tokenizer_json(const std::string &file)
    {
        return read(samp_vocab_from_tokenizer_json, file.data(), file.size());
    }
    static vocab from_gguf(const void *file, whole<size_t> n) { return read(samp_vocab_from_gguf, file, n.as("n")); }
    template <class C, class E = element_of<const C>> static vocab from_gguf(const C &file)
    {
        static_assert(sizeof(E) == 1, "a file is bytes");
        return from_gguf(file.data(), file.size());
    }
#endif
    size_t size() const { return get() ? static_cast<size_t>(get()->n_vocab) : 0; }
    // The tokens that end a sequence and a turn, -1: none, and all that end a text.
    samp_token eos() const { return get() ? get()->eos : -1; }
    samp_token eot() const { return get() ? get()->eot : -1; }
    std::vector<samp_token> eog() const
    {
        return get() ? std::vector<samp_token>(get()->eog, get()->eog + get()->n_eog) : std::vector<samp_token>();
    }
    const samp_vocab *get() const { return shared_ ? shared_->tokens.get() : nullptr; }
    kept keep() const { return shared_; }

#ifdef SAMPLING_GRAMMAR
    // Made when a grammar needs it for the first time, by one thread; others wait.
    const samp_vocab_index *index() const
    {
        if (!shared_) throw error(SAMP_E_NULL, "vocab");
        std::lock_guard<std::mutex> one(shared_->making);
        if (!shared_->index) {
            int status = SAMP_OK;
            std::unique_ptr<samp_vocab_index, deleter> made(samp_vocab_index_init(get(), &status));
            check_range(status, "vocab");
            shared_->index = std::shared_ptr<samp_vocab_index>(std::move(made));
        }
        return static_cast<const samp_vocab_index *>(shared_->index.get());
    }
#endif

  private:
#ifdef SAMPLING_VOCAB
    template <class T>
    static vocab read(samp_vocab *from(const T *, size_t, samp_text_error *), const T *file, size_t n)
    {
        vocab made;
        made.shared_.reset(new shared);
        samp_text_error e = samp_text_error();
        made.shared_->tokens.reset(from(file, n, &e));
        return made.get() ? made : throw located(e, "file");
    }
#endif
    struct shared { // by all copies
        std::unique_ptr<samp_vocab, deleter> tokens;
        std::mutex making;
        kept index; // a samp_vocab_index; freed before what it borrows
    };
    std::shared_ptr<shared> shared_;
};

#ifdef SAMPLING_GRAMMAR
// What a text may be: llama.cpp's GBNF, a JSON schema, a regular expression, a structural tag.
class grammar
{
  public:
    grammar() {}
    grammar(samp_grammar_kind kind, const std::string &text, const std::string &root = "")
    {
        samp_grammar_error e = samp_grammar_error();
        grammar_.reset(
            samp_grammar_init(kind, c_text(text, "grammar"), root.empty() ? nullptr : c_text(root, "root"), &e),
            deleter());
        if (!grammar_) throw located(e, "grammar");
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
    // Calls of a request's tools (JSON; "": none) as a model writes them; options: "required", "one", "thinking"
    static grammar from_tools(const std::string &model, const std::string &tools = "", const std::string &options = "",
                              const std::string &style = "")
    {
        const char *name = c_text(model, "model"), *listed = tools.empty() ? nullptr : c_text(tools, "tools"),
                   *wanted = c_text(options, "options");
        samp_grammar_error e = samp_grammar_error();
        const int64_t n = samp_builtin_tag(name, listed, wanted, nullptr, 0, &e);
        if (n < 0) throw located(e, n == SAMP_E_NAME ? "model" : n == SAMP_E_RANGE ? "options" : "tools");
        std::string tag(static_cast<size_t>(n) + 1, '\0');
        samp_builtin_tag(name, listed, wanted, &tag[0], tag.size(), nullptr);
        tag.pop_back();
        return from_structural_tag(tag, style);
    }
    // Work masks out ahead, `budget` steps of some ten nanoseconds. How many it took; 0: there is nothing to do.
    int64_t warm(const vocab &v, whole<int64_t> budget) const
    {
        return check_range(samp_grammar_warm(v.index(), get(), budget.as("budget")), "budget");
    }
    const samp_grammar *get() const { return grammar_.get(); }
    kept keep() const { return grammar_; }
    explicit operator bool() const { return static_cast<bool>(grammar_); }

  private:
    std::shared_ptr<samp_grammar> grammar_;
};
#endif

// ---- samplers ----

// What chains, matchers and members have in common, with all that C borrows, so that none of them can lose it. Movable;
// a copy continues as the original.
class sampler
{
  public:
    template <class I, class = decltype(whole<samp_token>(std::declval<I>()))> void accept(I token)
    {
        const samp_token t = whole<samp_token>(token).as("token");
        const int status = samp_accept(open(), t);
        if (status == SAMP_E_RANGE && t >= 0) throw error(status, "token"); // a grammar refuses it
        check_range(status, "token");
    }
    void accept(passed<span<const samp_token>> &&tokens) // those before the first one that is refused are accepted
    {
        for (size_t i = 0; i < tokens.size(); i++) accept(tokens.data()[i]);
    }
    void reset() { samp_reset(open()); }
    void rollback(whole<int32_t> n = 1) { check_range(samp_rollback(open(), n.as("n")), "n"); }
    void set_rollback(whole<int32_t> depth) { check_range(samp_set_rollback(open(), depth.as("depth")), "depth"); }
    uint64_t position() const { return samp_get_position(open()); }
    void set_position(whole<uint64_t> position) { check(samp_set_position(open(), position.as("position"))); }
    uint64_t seed() const { return samp_get_seed(open()); }
    samp_sampler *get() const { return sampler_.get(); } // for all that C has; NULL: it has been moved from
    const vocab &vocabulary() const { return vocab_; }

#ifdef SAMPLING_CONSTRAINTS
    // Of the first one of its kind in a chain: how many tokens to take back, as what is banned has come; the period of
    // the loop that the text is in, or 0; SAMP_THINKING_...; how many tokens the open span may still have, -1: none is
    // open; how many have been thought; is it a schedule's time?
    int32_t rewind_length() const { return check(samp_rewind_length(open())); }
    int32_t loop_length() const { return check(samp_loop_length(open())); }
    int32_t thinking_now() const { return check(samp_thinking_now(open())); }
    int32_t thinking_left() const
    {
        return thinking_now() == SAMP_THINKING_NOT ? -1 : check(samp_thinking_left(open()));
    }
    int32_t thinking_used() const { return check(samp_thinking_used(open())); }
    bool schedule_holds() const { return check(samp_schedule_holds(open())) != 0; }
    void thinking_end() { check(samp_thinking_end(open())); } // now
#endif

    std::string describe() const
    {
        return written([this](char *text, size_t size) { return samp_describe(open(), text, size); });
    }

    // What it has become, as bytes: to go on in another one with the same settings.
    std::vector<unsigned char> save() const
    {
        std::vector<unsigned char> bytes(samp_state_size(open()) + 1); // where it is 0, C says why
        check(samp_state_save(get(), bytes.data(), bytes.size()));
        bytes.pop_back();
        return bytes;
    }
    void load(passed<span<const unsigned char>> &&bytes)
    {
        const unsigned char none = 0;
        check(samp_state_load(open(), bytes.size() ? bytes.data() : &none, bytes.size()));
    }

  protected:
    explicit sampler(const vocab &of) : vocab_(of) {}
    sampler(sampler &&) noexcept = default;
    sampler(const sampler &of) : vocab_(of.vocab_), kept_(of.kept_)
    {
        take(of.cloned());
        for (auto &one : kept_) {
            int32_t i = samp_chain_n(of.get()) - 1;
            while (i >= 0 && samp_chain_get(of.get(), i) != one.first) i--;
            one.first = samp_chain_get(get(), i);
        }
    }
    sampler &operator=(sampler &&from) noexcept
    {
        sampler taken(std::move(from)); // frees in order what this one had
        std::swap(vocab_, taken.vocab_);
        std::swap(kept_, taken.kept_);
        std::swap(sampler_, taken.sampler_);
        return *this;
    }
    ~sampler() = default;

    samp_sampler *open() const
    {
        if (!sampler_) throw error(SAMP_E_NULL, "sampler", "sampler: it has been moved from");
        return sampler_.get();
    }
    samp_sampler *cloned() const
    {
        samp_sampler *s = samp_clone(good(open()));
        return s ? s : throw std::bad_alloc();
    }
    void take(samp_sampler *s)
    {
        sampler_.reset(s);
        good(s);
    }
    static samp_sampler *good(samp_sampler *s)
    {
        const char *field = nullptr;
        if (!s) throw std::bad_alloc();
        int status = samp_status(s, &field);
        check(status, field);
        return s;
    }

    using borrowed = std::pair<const samp_sampler *, kept>; // by which member of a chain; NULL: by this sampler
    vocab vocab_;                                           // what is borrowed comes before what borrows it
    std::vector<borrowed> kept_;
    std::unique_ptr<samp_sampler, deleter> sampler_;

  private:
    friend class chain;
};

// A sampler that C has made, for a chain: a constraint, a schedule, a watermark. of: the vocabulary that it borrows.
class member : public sampler
{
  public:
    explicit member(samp_sampler *made, const vocab &of = vocab()) : sampler(of) { take(made); }
    member(member &&) = default;
    member &operator=(member &&) = default;
    member copy() const { return *this; }
    samp_sampler *release() // for C, which owns it then; the vocabulary must outlive it
    {
        open();
        return sampler_.release();
    }

  private:
    member(const member &) = default;
};

#ifdef SAMPLING_GRAMMAR
// A grammar at work on one text: which tokens may come next.
class matcher : public sampler
{
  public:
    matcher(const vocab &v, const grammar &g) : matcher(v, g.keep()) { take(samp_init_grammar(v.index(), g.get())); }
    // It waits for one of these words or tokens, and allows all until then.
    static matcher lazy(const vocab &v, const grammar &g, const std::vector<std::string> &words,
                        const std::vector<samp_token> &tokens = {})
    {
        return waiting(samp_init_grammar_lazy, v, g, c_texts(words, "trigger_words"), tokens);
    }
    static matcher lazy_patterns(const vocab &v, const grammar &g, const std::vector<std::string> &patterns,
                                 const std::vector<samp_token> &tokens = {})
    {
        return waiting(samp_init_grammar_lazy_patterns, v, g, c_texts(patterns, "trigger_patterns"), tokens);
    }
    matcher(matcher &&) = default;
    matcher &operator=(matcher &&) = default;
    matcher copy() const { return *this; }

    // The tokens that may follow: bit i % 32 of word i / 32 is token i.
    std::vector<uint32_t> mask()
    {
        std::vector<uint32_t> bits((vocab_.size() + 31) / 32);
        mask(bits);
        return bits;
    }
    // The same into a place of yours.
    void mask(span<uint32_t> bits)
    {
        if (bits.size() < (vocab_.size() + 31) / 32) throw error(SAMP_E_RANGE, "mask");
        check(samp_grammar_mask(open(), bits.data()));
    }
    bool is_complete() const { return check(samp_grammar_is_complete(open())) != 0; }
    bool is_awaiting() const { return check(samp_grammar_is_awaiting(open())) != 0; }
    // The bytes that must follow, whatever comes.
    std::string forced()
    {
        std::string bytes(N_FORCED, '\0');
        bytes.resize(static_cast<size_t>(check_range(samp_grammar_forced(open(), &bytes[0], bytes.size()), nullptr)));
        return bytes;
    }
    // What must follow as tokens, n at most: a draft for chain::verify.
    std::vector<samp_token> draft(whole<size_t> n = 64) { return tokens(samp_grammar_draft, n); }
    // Those at its front that nothing else could be: they need no step of the model.
    std::vector<samp_token> certain(whole<size_t> n = 64) { return tokens(samp_grammar_certain, n); }
    // Do a part of the next mask's work ahead, `budget` steps of some ten nanoseconds. Is the mask there?
    bool prepare(whole<int64_t> budget)
    {
        return check_range(samp_grammar_prepare(open(), budget.as("budget")), "budget") != 0;
    }
    // What all samplers of this grammar have learnt together, and its memory.
    samp_grammar_usage stats() const
    {
        samp_grammar_usage usage;
        check(samp_grammar_stats(open(), &usage));
        return usage;
    }
    void set_limits(whole<size_t> max_bytes, whole<int64_t> max_steps)
    {
        check_range(samp_set_grammar_limits(open(), max_bytes.as("max_bytes"), max_steps.as("max_steps")),
                    "max_bytes, max_steps");
    }

  private:
    enum { N_FORCED = 4096 }; // bytes that can be forced, and tokens that spell them

    matcher(const matcher &) = default;
    matcher(const vocab &v, const kept &g) : sampler(v) { kept_.emplace_back(nullptr, g); } // C's comes last
    template <class F>
    static matcher waiting(F init, const vocab &v, const grammar &g, const std::vector<const char *> &texts,
                           const std::vector<samp_token> &tokens)
    {
        matcher made(v, g.keep());
        made.take(init(v.index(), g.get(), texts.data(), texts.size(), tokens.data(), tokens.size()));
        return made;
    }
    std::vector<samp_token> tokens(int64_t (*of)(samp_sampler *, samp_token *, size_t), whole<size_t> n)
    {
        std::vector<samp_token> out(std::min<size_t>(n.as("n"), N_FORCED) + 1);
        out.resize(static_cast<size_t>(check_range(of(open(), out.data(), out.size() - 1), nullptr)));
        return out;
    }
};
#endif

// How a draft is judged: as samp_verify does, or samp_verify_block.
struct method {
    using how = int32_t (*)(samp_sampler *, const float *, size_t, const samp_draft *, samp_token *);
    static int32_t exact(samp_sampler *s, const float *rows, size_t n, const samp_draft *of, samp_token *out)
    {
        return samp_verify(s, rows, n, of, SAMP_VERIFY_EXACT, out);
    }
    static int32_t ratio(samp_sampler *s, const float *rows, size_t n, const samp_draft *of, samp_token *out)
    {
        return samp_verify(s, rows, n, of, SAMP_VERIFY_RATIO, out);
    }
#ifdef SAMPLING_DRAFTS
    static int32_t block(samp_sampler *s, const float *rows, size_t n, const samp_draft *of, samp_token *out)
    {
        return samp_verify_block(s, rows, n, of, out);
    }
#endif
};

// What proposes tokens, and what it drew them from: probs [n x n_vocab], or [n x n_top] with ids; none: it was certain.
struct draft {
    span<const samp_token> tokens;
    span<const float> probs;
    span<const samp_token> ids;
};

#if defined(SAMPLING_PEERS) && defined(SAMPLING_CONSTRAINTS)
// How chain::from_request reads.
struct request_options {
    std::vector<std::string> handled;        // fields that you see to; they are not read
    bool lenient;                            // leaves out fields that the program does not have
    std::function<member(int32_t)> thinking; // makes a constraint of a number of tokens to think
    whole<int32_t> n_prompt; // the prompt's length: if the chain accepts it, min_tokens count behind it
    request_options() : lenient(false), n_prompt(0) {}
};

// What a request contains besides settings.
struct request : samp_request {
    std::vector<std::string> left_out; // the fields that lenient has left out
    request() : samp_request() {}
};
#endif

// A chain of samplers: chain c({ { "top_k", "40" }, { "temp", "0.8" } }).
class chain : public sampler
{
  public:
    using setting = std::pair<std::string, std::string>;
    using settings = std::vector<setting>;

    // of: for dry, infill and grammars; a row may be longer, as models pad. The chain keeps it.
    explicit chain(const settings &values, const vocab &of = vocab()) : sampler(of), values_(values)
    {
        std::unique_ptr<samp_settings, deleter> from = set(values_);
        take(samp_chain_from_params(samp_settings_params(from.get()), nullptr));
    }
    explicit chain(std::initializer_list<setting> values, const vocab &of = vocab()) : chain(settings(values), of) {}
    chain(const settings &values, const std::vector<std::string> &pieces) : chain(values, vocab(pieces)) {}
#ifdef SAMPLING_GRAMMAR
    // The grammar masks the row first.
    chain(const settings &values, const vocab &of, const grammar &first) : chain(values, matcher(of, first)) {}
    chain(std::initializer_list<setting> values, const vocab &of, const grammar &first)
        : chain(settings(values), of, first)
    {
    }
    // A copy of the matcher is the chain's, or the matcher itself, if it is moved.
    chain(const settings &values, const matcher &first) : chain(values, first.copy()) {}
    chain(const settings &values, matcher &&first) : chain(values, first.vocabulary()) { put(0, std::move(first)); }
#endif
#if defined(SAMPLING_PEERS) && defined(SAMPLING_CONSTRAINTS)
    // What a request to another program asks for, in its JSON, with its names, defaults and ranges. update() sets what
    // comes over the request's settings; text(chain) has its stops.
    static chain from_request(samp_peer peer, const std::string &json, const vocab &of = vocab(),
                              const request_options &how = request_options(), request *told = nullptr)
    {
        request said;
        const auto reading = [&](request *to) {
            const auto handled = how.handled;
            const bool lenient = how.lenient;
            return std::make_shared<const std::function<void(samp_settings *)>>(
                [=](samp_settings *s) { read(s, peer, json, handled, lenient, to); });
        };
        chain made(of, reading(&said));
        made.request_ = reading(nullptr);
        const samp_vocab *v = of.get();
        if (said.guidance_scale != 1.0f)
            throw error(SAMP_E_UNSUPPORTED, "guidance_scale",
                        "guidance_scale: guide the logits yourself, and say it in handled");
        if (said.n_beams)
            throw error(SAMP_E_UNSUPPORTED, "beams", "beams: make beams yourself, and say the field in handled");
        for (const char *needs : { said.min_tokens ? "min_tokens" : "", said.mask_ends ? "mask_ends" : "" })
            if (*needs && !(v && v->n_eog))
                throw error(SAMP_E_UNSUPPORTED, needs, needs + std::string(": needs a vocab with eog"));
        if (said.thinking_budget >= 0 && !how.thinking)
            throw error(SAMP_E_UNSUPPORTED, "thinking_budget",
                        "thinking_budget: needs request_options::thinking, or see to it yourself, by handled");
        if (said.thinking_budget >= 0) made.insert(0, how.thinking(said.thinking_budget));
        const int32_t begin = said.with_prompt ? how.n_prompt.as("n_prompt") : 0;
        if (said.min_tokens) made.insert(0, member(samp_init_min_tokens(v->eog, v->n_eog, said.min_tokens, begin)));
        if (said.mask_ends) made.insert(0, member(samp_init_suppressed_tokens(v->eog, v->n_eog)));
        if (told) *told = std::move(said);
        return made;
    }
#endif
    chain(chain &&) = default;
    chain &operator=(chain &&from) noexcept
    {
        settings values = std::move(from.values_); // so that a chain may be moved to itself
        sampler::operator=(std::move(from));
        request_ = std::move(from.request_);
        values_ = std::move(values);
        own_end_ = from.own_end_;
        return *this;
    }
    chain copy() const { return *this; }

    // The next token, which the chain has then accepted.
    samp_token sample(const float *row, whole<size_t> n)
    {
        size_t n_vocab = n.as("n");
        fits(n_vocab);
        const samp_token token = samp_sample(open(), row, n_vocab);
        return token < 0 ? check_drawn(token, logits(row, n_vocab), "n") : token;
    }
    // mask: bit i % 32 of word i / 32 set: token i is allowed. top: how many of the most likely tokens *told gets;
    // ids, support: as batch_options'.
    samp_token sample(passed<logits> &&row, passed<span<const uint32_t>> &&mask = {}, logprobs *told = nullptr,
                      whole<int32_t> top = 0, passed<span<const samp_token>> &&ids = {}, whole<int32_t> support = -1);

    // What the chain would give a token of this row of float now, and what removes it.
    samp_score_result score(passed<logits> &&row, whole<samp_token> token)
    {
        samp_score_result out = samp_score_result();
        const samp_token of = token.as("token");
        check_drawn(samp_score(open(), floats(row), row.n_vocab, of, &out), row, "token");
        return out;
    }
    // What each sampler that is on leaves.
    std::vector<samp_explained> explain(passed<logits> &&row, whole<samp_token> token)
    {
        std::vector<samp_explained> lines(256); // a chain that works on rows has no more
        const samp_token of = token.as("token");
        const int32_t n = check_drawn(samp_explain(open(), floats(row), row.n_vocab, of, lines.data(), lines.size()),
                                      row, "token");
        lines.resize(std::min(static_cast<size_t>(n), lines.size()));
        return lines;
    }
    // A copy that gives these tokens instead of drawing, the first one at the position 0: so its logprobs are told as
    // if the chain had drawn them. A token that the chain removes comes all the same.
    chain replay(passed<span<const samp_token>> &&tokens) const
    {
        chain other(copy());
        other.replace(-1, member(samp_init_replay(tokens.data(), tokens.size())));
        return other;
    }
    // Where is a text not what this chain draws? The first row from which it draws another token than the row's of
    // tokens; tokens.size(): none. The chain moves as if it had drawn the rows up to that one.
    size_t replay_check(passed<logits> &&rows, passed<span<const samp_token>> &&tokens,
                        passed<span<const uint32_t>> &&mask = {})
    {
        const samp_logits x = rows.masked(mask);
        fits(rows.n_vocab);
        if (tokens.size() != rows.n_rows) throw error(SAMP_E_RANGE, "tokens");
        return static_cast<size_t>(check_rows(samp_replay_check(open(), &x, tokens.data()), x, "logits"));
    }

    // How much of a draft is right? The tokens that are accepted, and one more. rows: draft.tokens.size() + 1 of float.
    // If a row behind the first one is broken, it is a batch_error: the tokens before it, and its status, are in it.
    // *told gets what there is to tell of each token; top, support, ids: as batch_options'.
    std::vector<samp_token> verify(passed<logits> &&rows, const draft &of, method::how how = method::exact,
                                   std::vector<logprobs> *told = nullptr, whole<int32_t> top = 0,
                                   whole<int32_t> support = -1, passed<span<const samp_token>> &&ids = {})
    {
        size_t n = of.tokens.size(), n_ids = of.ids.size();
        if (!how) throw error(SAMP_E_NULL, "how");
        if (rows.dtype != SAMP_F32) throw error(SAMP_E_DTYPE, "logits");
        rows.check();
        if (!rows.n_rows || rows.n_rows - 1 != n || rows.stride != rows.n_vocab) throw error(SAMP_E_RANGE, "logits");
        fits(rows.n_vocab);
        const size_t wide = n_ids ? n_ids : n * rows.n_vocab;
        if (of.probs.size() ? of.probs.size() != wide : n_ids != 0) throw error(SAMP_E_RANGE, "probs");
        if (n ? n_ids % n : n_ids) throw error(SAMP_E_RANGE, "ids");
        samp_draft d = samp_draft();
        d.n = n;
        d.tokens = of.tokens.data();
        d.probs = of.probs.data();
        d.ids = of.ids.data();
        d.n_top = n_ids ? n_ids / n : 0;
        std::vector<samp_token> out(n + 1, -1);
        telling tells(told ? n + 1 : 0, rows.n_vocab, top, ids, support);
        d.logprobs = tells.sets();
        int32_t accepted = how(open(), static_cast<const float *>(rows.data), rows.n_vocab, &d, out.data());
        out.resize(static_cast<size_t>(check_drawn(accepted, rows, "draft")) + 1);
        n = out.size() - 1;
        if (told) {
            out.resize(of.tokens.size() + 1, -1);
            told->swap(tells.read(out.data()));
            told->resize(n + (out[n] >= 0));
            out.resize(n + 1);
        }
        if (out[n] < 0) throw batch_error(out, n, reason(out[n], rows.get(), n));
        return out;
    }

    // A sampler of yours goes in front of number i (0 .. size()); settings that change leave it where it is. After an
    // error you have it still. Only if C finds no memory for it at last, it is gone, and the chain carries the error.
    void insert(whole<int32_t> i, sampler &&s)
    {
        int32_t at = i.as("i");
        if (at < 0 || at > size()) throw error(SAMP_E_RANGE, "i");
        if (&s == this) throw error(SAMP_E_RANGE, "s");
        // A chain that refuses a sampler carries the error for good, and the sampler is freed: so copies are tried.
        std::unique_ptr<samp_sampler, deleter> trial(cloned()), copy(s.cloned());
        samp_chain_insert(trial.get(), at, copy.release());
        const char *field = nullptr;
        int status = samp_status(trial.get(), &field);
        if (samp_chain_n(trial.get()) == size()) check(status, field);
        trial.reset();
        put(at, std::move(s));
    }
    // It takes the place of number i (-1: the last one), as a watermark that draws takes dist's.
    void replace(whole<int32_t> i, sampler &&s)
    {
        int32_t n = size(), at = i.as("i") < 0 ? i.as("i") + n : i.as("i");
        if (at < 0 || at >= n) throw error(SAMP_E_RANGE, "i");
        insert(at, std::move(s));
        own_end_ = own_end_ || at == n - 1;
        std::unique_ptr<samp_sampler, deleter> old(samp_chain_remove(get(), at + 1));
        const auto its = std::partition(kept_.begin(), kept_.end(),
                                        [&](const borrowed &one) { return one.first != old.get(); });
        old.reset();
        kept_.erase(its, kept_.end());
    }
    int32_t size() const { return samp_chain_n(open()); }

    // Other values for these settings, between two tokens; what the chain has seen stays.
    void update(const settings &values)
    {
        open();
        settings all;
        for (const setting &old : values_) { // lists begin anew
            bool stays = true;
            for (const setting &one : values) stays = stays && one.first != old.first;
            if (stays) all.push_back(old);
        }
        all.insert(all.end(), values.begin(), values.end());
        std::unique_ptr<samp_settings, deleter> with = set(all);
        check(samp_chain_update(open(), samp_settings_params(with.get())));
        if (own_end_) samp_free(samp_chain_remove(get(), size() - 2)); // the new draw, in front of it
        values_.swap(all);
    }

    std::string setting_of(const std::string &name) const
    {
        open();
        const std::unique_ptr<samp_settings, deleter> all = set(values_);
        const char *of = c_text(name, "name");
        return written([&](char *text, size_t size) { return samp_settings_get(all.get(), of, text, size); }, of);
    }

    std::vector<samp_token> prev(whole<size_t> n = 64) const
    {
        const size_t most = static_cast<size_t>(1) << 20; // that C keeps
        std::vector<samp_token> tokens(std::min(n.as("n"), most));
        tokens.resize(samp_prev(open(), tokens.data(), tokens.size()));
        return tokens;
    }

    void fits(size_t n) const
    {
        open();
        if (n == 0) throw error(SAMP_E_EMPTY);
        if (n < vocab_.size()) throw error(SAMP_E_RANGE, "logits");
    }

  private:
    friend class text;
    const float *floats(const logits &row) const
    {
        if (row.dtype != SAMP_F32) throw error(SAMP_E_DTYPE, "logits");
        row.check();
        if (row.n_rows != 1) throw error(SAMP_E_RANGE, "logits");
        fits(row.n_vocab);
        return static_cast<const float *>(row.data);
    }
    chain(const chain &) = default;
    chain(const vocab &of, std::shared_ptr<const std::function<void(samp_settings *)>> request)
        : sampler(of), request_(std::move(request))
    {
        take(samp_chain_from_params(samp_settings_params(set(values_).get()), nullptr));
    }

#if defined(SAMPLING_PEERS) && defined(SAMPLING_CONSTRAINTS)
    static void read(samp_settings *to, samp_peer peer, const std::string &json,
                     const std::vector<std::string> &handled, bool lenient, request *told)
    {
        request said;
        std::vector<const char *> names = c_texts(handled, "handled");
        names.push_back(nullptr);
        std::string left(lenient ? 64 + 8 * json.size() : 1, '\0'); // a path is less than 8 times as long as its JSON
        const char *text = c_text(json, "request");
        const int status = lenient ? samp_settings_from_lenient(to, peer, text, names.data(), &said, &left[0],
                                                                left.size())
                                   : samp_settings_from(to, peer, text, names.data(), &said);
        if (status < 0) throw located(said.error, said.field);
        for (const char *one = left.c_str(); *one; one += *one == ';') {
            const char *end = one + std::strcspn(one, ";");
            said.left_out.emplace_back(one, end);
            one = end;
        }
        if (told) *told = std::move(said);
    }
#endif

    // C frees s from here on, whatever happens
    void put(int32_t i, sampler &&s)
    {
        kept_.reserve(kept_.size() + s.kept_.size() + 1);
        samp_sampler *own = s.sampler_.release();
        kept_.emplace_back(own, s.vocab_.keep());
        for (borrowed &one : s.kept_) kept_.emplace_back(own, std::move(one.second));
        s.kept_.clear();
        check(samp_chain_insert(get(), i, own));
    }

    std::unique_ptr<samp_settings, deleter> set(const settings &values) const
    {
        std::unique_ptr<samp_settings, deleter> to(samp_settings_init());
        if (!to) throw std::bad_alloc();
        if (vocab_.get()) check(samp_settings_use_vocab(to.get(), vocab_.get()));
        if (request_) (*request_)(to.get());
        const char *field = nullptr;
        for (const setting &s : values) {
            const char *name = c_text(s.first, "settings");
            int status = samp_settings_set(to.get(), name, c_text(s.second, s.first), &field);
            check(status, field);
        }
        const samp_params *all = samp_settings_params(to.get());
        if (int status = samp_check_params(all, &field))
            throw error(status, field,
                        written([all](char *text, size_t size) { return samp_params_error_text(all, text, size); }));
        return to;
    }

    std::shared_ptr<const std::function<void(samp_settings *)>> request_; // what it sets comes first
    settings values_;
    bool own_end_ = false; // what selects is not from parameters
};

// ---- batches ----

struct batch_options {
    span<const uint32_t> mask;     // [n_rows x mask_stride] as chain::sample's
    whole<size_t> mask_stride;     // words from one row's to the next; 0: (n_vocab + 31) / 32
    span<const int32_t> row_index; // [n_rows] chain r reads this row; none: row r
    std::vector<logprobs> *told;   // gets those of each row
    whole<int32_t> top;            // how many of the most likely tokens are in them
    span<const samp_token> ids;    // tokens whose log-probabilities are in them too
    whole<int32_t> support;        // they have the tokens that could be drawn, if they are at most so many; -1: not
    whole<int32_t> n_threads;      // with OpenMP; 0: its choice
    batch_options() : mask_stride(0), told(nullptr), top(0), support(-1), n_threads(0) {}
};

// A token for each chain; the same as chain::sample's for the row. A row that fails leaves its chain as it was; when
// all others have their tokens, it is a batch_error, which has them.
inline std::vector<samp_token> sample_batch(passed<span<chain *const>> &&chains, passed<logits> &&rows,
                                            const batch_options &how = batch_options())
{
    const size_t n = chains.size();
    if (n) rows.check();
    const size_t words = (rows.n_vocab + 31) / 32, given = how.mask_stride.as("mask_stride");
    const size_t step = given ? given : words;
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
    if (step < words) throw error(SAMP_E_RANGE, "mask_stride");
    if (how.mask.size() && n) // without products, which could wrap
        if (how.mask.size() < words || (n > 1 && (how.mask.size() - words) / (n - 1) < step))
            throw error(SAMP_E_RANGE, "mask");
    telling tells(how.told ? n : 0, rows.n_vocab, how.top, how.ids, how.support);
    samp_logits x = rows.get();
    x.n_rows = n;
    x.row_index = how.row_index.data();
    x.mask = how.mask.data();
    x.mask_stride = step;
    x.logprobs = tells.sets();
    x.n_threads = how.n_threads.as("n_threads");
    if (x.n_threads < 0) throw error(SAMP_E_RANGE, "n_threads");
    std::vector<samp_token> out(n);
    if (n) check_range(samp_sample_batch(handles.data(), &x, out.data()), "chains");
    if (how.told) how.told->swap(tells.read(out.data()));
    for (size_t r = 0; r < n; r++)
        if (out[r] < 0) throw batch_error(out, r, reason(out[r], x, r));
    return out;
}

inline std::vector<samp_token> sample_batch(std::vector<chain> &chains, passed<logits> &&rows,
                                            const batch_options &how = batch_options())
{
    std::vector<chain *> all;
    for (chain &one : chains) all.push_back(&one);
    return sample_batch(passed<span<chain *const>>(all), std::move(rows), how);
}

inline samp_token chain::sample(passed<logits> &&row, passed<span<const uint32_t>> &&mask, logprobs *told,
                                whole<int32_t> top, passed<span<const samp_token>> &&ids, whole<int32_t> support)
{
    row.check();
    if (row.n_rows != 1) throw error(SAMP_E_RANGE, "logits");
    if (row.dtype == SAMP_F32 && !mask.size() && !told)
        return sample(static_cast<const float *>(row.data), row.n_vocab);
    chain *self = this;
    std::vector<logprobs> all;
    batch_options how;
    how.mask = mask;
    how.told = told ? &all : nullptr;
    how.top = top;
    how.ids = ids;
    how.support = support;
    how.n_threads = 1;
    try {
        samp_token token = sample_batch({ self }, std::move(row), how)[0];
        if (told) *told = std::move(all[0]);
        return token;
    } catch (const batch_error &e) {
        throw error(e.status, "", e.reason);
    }
}

// The log-probabilities of rows without chains, of a prompt for example. tokens: those that chosen tells of, one for
// each row, -1: none; no tokens: none of any. top, ids: as batch_options'.
inline std::vector<logprob_set> raw_logprobs(passed<logits> &&rows, passed<span<const samp_token>> &&tokens = {},
                                             whole<int32_t> top = 0, passed<span<const samp_token>> &&ids = {},
                                             passed<span<const uint32_t>> &&mask = {})
{
    samp_logits x = rows.masked(mask);
    if (tokens.size() && tokens.size() != x.n_rows) throw error(SAMP_E_RANGE, "tokens");
    telling tells(x.n_rows, x.n_vocab, top, ids);
    x.logprobs = tells.sets();
    for (size_t r = 0; r < x.n_rows; r++) x.logprobs[r].raw.chosen.token = tokens.size() ? tokens.data()[r] : -1;
    std::vector<logprob_set> all(x.n_rows);
    const std::vector<samp_token> drawn(x.n_rows);
    if (x.n_rows) check_rows(samp_raw_logprobs(&x), x, "tokens");
    std::vector<logprobs> &told = tells.read(drawn.data());
    for (size_t r = 0; r < all.size(); r++) all[r] = std::move(told[r].raw);
    return all;
}

// Classifier-free guidance: a row of what the model says with the prompt and what it says without.
inline void guide(passed<span<const float>> &&cond, passed<span<const float>> &&uncond, float scale, span<float> out)
{
    const size_t n = cond.size();
    if (n == 0) throw error(SAMP_E_EMPTY);
    if (uncond.size() != n) throw error(SAMP_E_RANGE, "uncond");
    if (out.size() != n) throw error(SAMP_E_RANGE, "out");
    const std::less<const float *> before{};
    for (const float *row : { cond.data(), uncond.data() }) // it may be one of them, and not a part
        if (row != out.data() && before(row, out.data() + n) && before(out.data(), row + n)) throw outside("out");
    const int status = samp_guide(cond.data(), uncond.data(), n, scale, out.data());
    if (status != SAMP_E_NAN && status != SAMP_E_EMPTY) {
        check_range(status, "cond");
        return;
    }
    const std::string why[] = { reason(SAMP_OK, logits(cond).get(), 0), reason(SAMP_OK, logits(uncond).get(), 0) };
    for (int i = 0; i < 2; i++) {
        const std::string name = i ? "uncond" : "cond";
        if (why[i] != samp_strerror(SAMP_OK)) throw error(status, name, name + ": " + why[i]);
    }
    throw error(status, "scale");
}

inline std::vector<float> guide(passed<span<const float>> &&cond, passed<span<const float>> &&uncond, float scale)
{
    std::vector<float> out(cond.size());
    guide(std::move(cond), std::move(uncond), scale, out);
    return out;
}

#ifdef SAMPLING_DRAFTS
// A text that proposes how it goes on: as it went on where its last tokens, n_min to n_max of them, came before.
class ngram
{
  public:
    explicit ngram(whole<int32_t> n_min = 2, whole<int32_t> n_max = 5, whole<size_t> max_tokens = 8192)
        : most_(max_tokens.as("max_tokens"))
    {
        const int32_t least = n_min.as("n_min"), longest = n_max.as("n_max");
        ngram_.reset(samp_ngram_init(least, longest, most_));
        if (ngram_) return;
        if (least < 1 || least > 64) throw outside("n_min");
        if (longest < least || longest > 64) throw outside("n_max");
        if (most_ < static_cast<size_t>(longest) || most_ > static_cast<size_t>(1) << 26) throw outside("max_tokens");
        throw std::bad_alloc();
    }
    // Of the prompt, and what the chain has accepted.
    template <class I, class = decltype(whole<samp_token>(std::declval<I>()))> void accept(I token)
    {
        check_range(samp_ngram_accept(open(), whole<samp_token>(token).as("token")), "token");
    }
    void accept(passed<span<const samp_token>> &&tokens) // those before the first one that is refused are accepted
    {
        for (size_t i = 0; i < tokens.size(); i++) accept(tokens.data()[i]);
    }
    void rollback(whole<int32_t> n = 1) { check_range(samp_ngram_rollback(open(), n.as("n")), "n"); }
    void reset() { samp_ngram_reset(open()); }
    // n tokens at most, for chain::verify.
    std::vector<samp_token> draft(whole<size_t> n) const
    {
        std::vector<samp_token> out(std::min(n.as("n"), most_));
        out.resize(static_cast<size_t>(check_range(samp_ngram_draft(open(), out.data(), out.size()), nullptr)));
        return out;
    }

  private:
    samp_ngram *open() const
    {
        return ngram_ ? ngram_.get() : throw error(SAMP_E_NULL, "ngram", "ngram: it has been moved from");
    }
    size_t most_;
    std::unique_ptr<samp_ngram, deleter> ngram_;
};
#endif

#ifdef SAMPLING_SEARCH
// ---- beams, and texts to fill in ----

struct beam_options {
    span<const samp_token> ends; // the tokens that end a text
    float length_penalty;        // a score is log-probability / length^length_penalty
    samp_early_stopping early_stopping;
    whole<int32_t> n_groups;
    float diversity_penalty;
    bool sampled; // the texts are drawn without replacement, by seed
    uint64_t seed;
    beam_options()
        : length_penalty(1), early_stopping(SAMP_EARLY_HEURISTIC), n_groups(1), diversity_penalty(0), sampled(false),
          seed(0)
    {
    }
};

// Beam search: the n_beams best continuations of a text.
class beams
{
  public:
    struct beam {
        int32_t parent;
        samp_token token;
    };
    struct hypothesis {
        std::vector<samp_token> tokens; // with the end token, if the text has ended by one
        double score;
    };
    beams(whole<int32_t> n_beams, whole<int32_t> max_tokens, const beam_options &how = beam_options())
    {
        samp_beam_params p = samp_beam_params();
        const char *field = nullptr;
        p.n_beams = n_beams.as("n_beams");
        p.max_tokens = max_tokens.as("max_tokens");
        p.n_groups = how.n_groups.as("n_groups");
        p.length_penalty = how.length_penalty;
        p.diversity_penalty = how.diversity_penalty;
        p.early_stopping = how.early_stopping;
        if (how.ends.size() > 4096) throw outside("ends");
        p.ends = how.ends.data();
        p.n_ends = static_cast<int32_t>(how.ends.size());
        p.sampled = how.sampled;
        p.seed = how.seed;
        const int status = samp_beams_check_params(&p, &field);
        if (status < 0) throw error(status, field);
        beams_.reset(samp_beams_init(&p, nullptr));
        if (!beams_) throw std::bad_alloc();
        n_ = static_cast<size_t>(p.n_beams);
    }
    // The next beams, best first; none: the search is done. rows: one for each live beam, the first time one. chains: as
    // many as n_beams, made alike (copies), which change the rows and follow their beams; or none.
    std::vector<beam> step(passed<logits> &&rows, passed<span<chain *const>> &&chains = span<chain *const>())
    {
        rows.check();
        std::vector<samp_sampler *> handles;
        for (size_t i = 0; i < chains.size(); i++) {
            if (!chains.data()[i]) throw error(SAMP_E_NULL, "chains");
            chains.data()[i]->fits(rows.n_vocab);
            handles.push_back(chains.data()[i]->get());
        }
        if (handles.size() && handles.size() != n_) throw error(SAMP_E_RANGE, "chains");
        std::vector<samp_token> tokens(n_);
        std::vector<int32_t> parents(n_);
        std::vector<beam> next;
        next.reserve(n_);
        samp_logits x = rows.get();
        const int n = samp_beams_step(open(), handles.empty() ? nullptr : handles.data(), &x, tokens.data(),
                                      parents.data());
        check_range(n, "logits");
        for (size_t i = 0; i < static_cast<size_t>(n); i++) {
            const beam one = { parents[i], tokens[i] };
            next.push_back(one);
        }
        return next;
    }
    // What has been found so far, best first.
    std::vector<hypothesis> found() const
    {
        std::vector<hypothesis> all(static_cast<size_t>(samp_beams_n_found(open())));
        for (size_t i = 0; i < all.size(); i++) {
            const samp_token *text = nullptr;
            size_t n = 0;
            check(samp_beams_found(open(), static_cast<int32_t>(i), &text, &n, &all[i].score));
            all[i].tokens.assign(text, text + n);
        }
        return all;
    }
    std::vector<unsigned char> save() const
    {
        std::vector<unsigned char> bytes(samp_beams_state_size(open()));
        check(samp_beams_state_save(open(), bytes.data(), bytes.size()));
        return bytes;
    }
    void load(passed<span<const unsigned char>> &&bytes)
    {
        const unsigned char none = 0;
        check(samp_beams_state_load(open(), bytes.size() ? bytes.data() : &none, bytes.size()));
    }

  private:
    samp_beams *open() const
    {
        return beams_ ? beams_.get() : throw error(SAMP_E_NULL, "beams", "beams: it has been moved from");
    }
    size_t n_;
    std::unique_ptr<samp_beams, deleter> beams_;
};

// A step of a diffusion model: a token for each masked position that is filled, -1 for the others.
inline std::vector<samp_token> unmask(const samp_unmask_params &how, passed<span<chain *const>> &&chains,
                                      passed<logits> &&rows)
{
    std::vector<samp_sampler *> handles;
    for (size_t r = 0; r < chains.size(); r++) {
        if (!chains.data()[r]) throw error(SAMP_E_NULL, "chains");
        chains.data()[r]->fits(rows.n_vocab);
        handles.push_back(chains.data()[r]->get());
    }
    if (rows.n_rows != handles.size()) throw error(SAMP_E_RANGE, "logits");
    std::vector<samp_token> out(handles.size());
    if (out.empty()) return out;
    rows.check();
    samp_logits x = rows.get();
    check_range(samp_unmask(&how, handles.data(), &x, out.data()), "how");
    return out;
}
#endif

#ifdef SAMPLING_STOP
// ---- tokens to text ----

struct text_options {
    std::vector<samp_token> stop_tokens; // they end the text too
    whole<int32_t> min_tokens;           // so many tokens come before an end
    bool include_stop;                   // show the stop
    bool raw_bytes;                      // show broken characters as they are, not as U+FFFD
    bool strip_space;                    // without the first byte, if it is a space
    text_options() : min_tokens(0), include_stop(false), raw_bytes(false), strip_space(false) {}
};

// Tokens become the text that may be shown: whole characters, and no byte of a stop, which ends it. A copy goes on as
// the original.
class text
{
  public:
    explicit text(const vocab &of, const std::vector<std::string> &stops = {}, const text_options &how = {})
        : vocab_(of)
    {
        const std::vector<const char *> strings = c_texts(stops, "stops");
        samp_text_options o = samp_text_options();
        o.stop_tokens = how.stop_tokens.data();
        o.n_stop_tokens = how.stop_tokens.size();
        o.min_tokens = how.min_tokens.as("min_tokens");
        o.include_stop = how.include_stop;
        o.raw_bytes = how.raw_bytes;
        o.strip_space = how.strip_space;
        if (o.min_tokens < 0) throw outside("min_tokens");
        for (samp_token token : how.stop_tokens)
            if (token < 0 || token >= SAMP_MAX_VOCAB) throw outside("stop_tokens");
        int status = SAMP_OK;
        text_.reset(samp_text_init(of.get(), strings.data(), strings.size(), &o, &status));
        check(status, status == SAMP_E_NULL ? "vocab" : "stops");
    }
    // With the stops of the request that the chain was made from, for its vocabulary.
    explicit text(const chain &of) : vocab_(of.vocabulary())
    {
        of.open();
        const std::unique_ptr<samp_settings, deleter> from = of.set(of.values_);
        int status = SAMP_OK;
        text_.reset(samp_text_from_settings(from.get(), vocab_.get(), &status));
        check(status, status == SAMP_E_NULL ? "vocab" : "stops");
    }
    text(text &&) = default;
    text &operator=(text &&from) noexcept
    {
        text taken(std::move(from)); // frees in order what this one had
        std::swap(vocab_, taken.vocab_);
        std::swap(text_, taken.text_);
        std::swap(state_, taken.state_);
        return *this;
    }
    text copy() const { return *this; }

#ifdef SAMPLING_GRAMMAR
    // A regular expression that ends the text too, where it matches at most so many bytes.
    void add_pattern(const std::string &pattern, whole<size_t> max_bytes)
    {
        const size_t most = max_bytes.as("max_bytes");
        if (most < 1 || most > 4096) throw outside("max_bytes");
        check(samp_text_add_pattern(open(), c_text(pattern, "pattern"), most), "pattern");
    }
#endif

    // What may be shown now; state() says whether it was the last.
    std::string push(whole<samp_token> token)
    {
        const char *bytes = nullptr;
        size_t n = 0;
        const int state = check_range(samp_text_push(open(), token.as("token"), &bytes, &n), "token");
        std::string out = shown(bytes, n, 1);
        state_ = static_cast<samp_text_state>(state);
        return out;
    }
    // No token follows: what was held back.
    std::string flush()
    {
        const char *bytes = nullptr;
        size_t n = 0;
        check(samp_text_flush(open(), &bytes, &n));
        std::string out = shown(bytes, n, 0);
        if (goes_on()) state_ = SAMP_TEXT_ENDED;
        return out;
    }
    samp_text_state state() const { return open(), state_; }
    bool goes_on() const { return state() == SAMP_TEXT_GOES_ON; }
    // Which one of the stops, and behind them of the patterns, has ended the text; -1: none.
    int32_t stop() const { return samp_text_stop(open()); }
    // Where it begins, or which token has ended the text: the number of a token, and a place in its bytes.
    std::pair<int32_t, size_t> stop_at() const
    {
        std::pair<int32_t, size_t> at;
        if (samp_text_stop_at(open(), &at.first, &at.second) != SAMP_OK)
            throw error(SAMP_E_EMPTY, "stop_at", "stop_at: nothing has ended the text");
        return at;
    }
    // As if the last n tokens had not been pushed; what they have shown is yours to take back. 0: no flush.
    void rollback(whole<int32_t> n = 1)
    {
        check_range(samp_text_rollback(open(), n.as("n")), "n");
        if (samp_text_stop_at(get(), nullptr, nullptr) == SAMP_E_EMPTY) state_ = SAMP_TEXT_GOES_ON;
    }
    void reset()
    {
        samp_text_reset(open());
        state_ = SAMP_TEXT_GOES_ON;
    }
    samp_text *get() const { return text_.get(); } // NULL: it has been moved from

  private:
    text(const text &of) : vocab_(of.vocab_), text_(samp_text_clone(of.open())), state_(of.state_)
    {
        if (!text_) throw std::bad_alloc();
    }
    samp_text *open() const
    {
        return text_ ? text_.get() : throw error(SAMP_E_NULL, "text", "text: it has been moved from");
    }
    std::string shown(const char *bytes, size_t n, int32_t n_tokens)
    {
        try {
            return std::string(bytes, n);
        } catch (...) {
            samp_text_rollback(get(), n_tokens);
            throw;
        }
    }

    vocab vocab_; // comes before what borrows it
    std::unique_ptr<samp_text, deleter> text_;
    samp_text_state state_ = SAMP_TEXT_GOES_ON;
};
#endif

#ifdef SAMPLING_WATERMARK
// ---- watermarks: member(samp_init_watermark(&mark)) marks ----

// A kind with its usual numbers, and this key.
inline samp_watermark watermark(whole<uint64_t> key, samp_watermark_kind kind = SAMP_WATERMARK_GUMBEL)
{
    samp_watermark mark = samp_default_watermark(kind);
    mark.key = key.as("key");
    return mark;
}

// C's status for a detector; the member of the mark that is wrong has the name that its sampler's error has.
inline void check_mark(int status, const samp_watermark &mark, const char *other)
{
    if (status == SAMP_E_RANGE || status == SAMP_E_NAN) member(samp_init_watermark(&mark));
    check_range(status, other);
}

// Does this text, the tokens as they were generated without the prompt, carry the mark?
inline samp_watermark_result detect(const samp_watermark &mark, passed<span<const samp_token>> &&text)
{
    samp_watermark_result out = samp_watermark_result();
    check_mark(samp_watermark_detect(&mark, text.data(), text.size(), &out), mark, "text");
    return out;
}

// The same for each of these keys in place of the mark's.
inline std::vector<samp_watermark_result> detect(const samp_watermark &mark, passed<span<const uint64_t>> &&keys,
                                                 passed<span<const samp_token>> &&text)
{
    std::vector<samp_watermark_result> out(keys.size());
    check_mark(samp_watermark_detect_keys(&mark, keys.data(), keys.size(), text.data(), text.size(), out.data()),
               mark, "text");
    return out;
}

// The piece of `window` tokens that is most likely marked.
inline samp_watermark_span find(const samp_watermark &mark, passed<span<const samp_token>> &&text,
                                whole<size_t> window = 200)
{
    samp_watermark_span out = samp_watermark_span();
    if (window.as("window") == 0) throw error(SAMP_E_RANGE, "window");
    check_mark(samp_watermark_find(&mark, text.data(), text.size(), window.as("window"), &out), mark, "text");
    return out;
}
#endif

// Which values a setting takes, for a user to read.
inline std::string takes(const std::string &name)
{
    const char *of = c_text(name, "name");
    return written([of](char *text, size_t size) { return samp_settings_takes(of, text, size); }, of);
}

} // namespace sampling
#endif
