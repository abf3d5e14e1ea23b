// sampling.hpp - sampling.h in C++11: a chain that frees itself, and exceptions for statuses. A page to copy and change.
#ifndef SAMPLING_HPP
#define SAMPLING_HPP

#include "sampling.h"
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sampling
{

class error : public std::runtime_error
{
  public:
    const int status; // a samp_status
    explicit error(int s, const char *field = nullptr)
        : std::runtime_error(field ? field + (std::string(": ") + samp_strerror(s)) : samp_strerror(s)), status(s)
    {
    }
};

inline int check(int status, const char *field = nullptr) { return status < 0 ? throw error(status, field) : status; }

// A chain of samplers: chain c({ { "top_k", "40" }, { "temp", "0.8" } }). Movable; copy() continues as the original.
// Not for two threads at once.
class chain
{
  public:
    using setting = std::pair<const char *, std::string>;

    // pieces: the bytes of each token, for dry; they are kept.
    explicit chain(const std::vector<setting> &settings, std::vector<std::string> pieces = {})
        : own_(new owned(std::move(pieces)))
    {
        if (!own_->settings) throw std::bad_alloc();
        samp_settings *to = own_->settings.get();
        if (!own_->pieces.empty())
            check(samp_settings_set_vocab(to, static_cast<int32_t>(own_->pieces.size()), piece, &own_->pieces));
        const char *field = nullptr;
        for (const setting &s : settings) {
            int status = samp_settings_set(to, s.first, s.second.c_str(), &field);
            check(status, field);
        }
        int status = samp_check_params(samp_settings_params(to), &field);
        check(status, field);
        chain_.reset(samp_chain_from_params(samp_settings_params(to), &status));
        check(status);
    }

    explicit chain(std::initializer_list<setting> settings) : chain(std::vector<setting>(settings)) {}
    chain(chain &&) = default;
    chain &operator=(chain other) noexcept
    {
        std::swap(own_, other.own_);
        std::swap(chain_, other.chain_);
        return *this;
    }

    samp_token sample(const float *logits, size_t n) { return check(samp_sample(get(), logits, n)); }
    samp_token sample(const std::vector<float> &logits) { return sample(logits.data(), logits.size()); }
    void accept(samp_token token) { check(samp_accept(get(), token)); }
    void rollback(int32_t n) { check(samp_rollback(get(), n)); }
    void reset() { samp_reset(get()); }
    samp_sampler *get() const { return chain_.get(); } // for all that C has

    chain copy() const
    {
        chain other(*this, samp_clone(get()));
        if (!other.chain_) throw std::bad_alloc();
        return other;
    }

    std::string setting_of(const char *name) const
    {
        char text[64];
        check(samp_settings_get(own_->settings.get(), name, text, sizeof text));
        return text;
    }

    // What the chain has become, as bytes: to go on in another chain with the same settings.
    std::vector<unsigned char> save() const
    {
        std::vector<unsigned char> bytes(samp_state_size(get()));
        check(samp_state_save(get(), bytes.data(), bytes.size()));
        return bytes;
    }
    void load(const std::vector<unsigned char> &bytes) { check(samp_state_load(get(), bytes.data(), bytes.size())); }

  private:
    struct deleter {
        void operator()(samp_sampler *s) const { samp_free(s); }
        void operator()(samp_settings *s) const { samp_settings_free(s); }
    };
    struct owned { // what the chain borrows, and its copies too
        std::vector<std::string> pieces;
        std::unique_ptr<samp_settings, deleter> settings;
        explicit owned(std::vector<std::string> p) : pieces(std::move(p)), settings(samp_settings_new()) {}
    };
    chain(const chain &of, samp_sampler *s) : own_(of.own_), chain_(s) {}

    static const char *piece(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
    {
        const std::string &text = (*static_cast<std::vector<std::string> *>(vocab->user))[static_cast<size_t>(token)];
        *n_bytes = text.size();
        return text.data();
    }

    std::shared_ptr<owned> own_;
    std::unique_ptr<samp_sampler, deleter> chain_; // freed before what it borrows
};

} // namespace sampling
#endif
