// tokens.cpp - prints by sampling.hpp what tokens.c prints; copies, saved states and taking back are tried on the way.
#include "sampling.hpp"
#include <cmath>
#include <iostream>

using sampling::chain;

enum { N_VOCAB = 12, N_TOKENS = 60 };

static std::vector<float> row(int step)
{
    std::vector<float> logits(N_VOCAB);
    for (int i = 0; i < N_VOCAB; i++)
        logits[static_cast<size_t>(i)] = static_cast<float>((i * 7919 + step * 10007) % 1000 / 400.0);
    return logits;
}

static chain make_chain()
{
    std::vector<std::string> pieces;
    for (int i = 0; i < N_VOCAB; i++) pieces.push_back(std::string(1, "abcd"[i % 4]));
    return chain({ { "seed", "18446744073709551615" },
                   { "n_vocab", "12" },
                   { "top_k", "100" },
                   { "top_p", "0.9" },
                   { "temperature", "1.1" },
                   { "penalty_repeat", "1.2" },
                   { "dry_multiplier", "0.8" },
                   { "dry_breakers", "b" },
                   { "dry_breakers", "\n" },
                   { "logit_bias", "7+2.5,9-inf" },
                   { "order", SAMP_ORDER_CANONICAL } },
                 pieces);
}

int main()
{
    if (samp_version() != SAMP_VERSION) return 1;
    chain first = make_chain(), there = make_chain();
    std::vector<samp_token> tokens;
    for (int step = 0; step < N_TOKENS; step++) {
        chain copy = first.copy();
        tokens.push_back(first.sample(row(step)));
        if (copy.sample(row(step)) != tokens.back()) return 2;
        if (step == 20) {
            first.rollback(1);
            if (first.sample(row(step)) != tokens.back()) return 3;
        }
        if (step == 30) {
            there.load(first.save());
            first = std::move(there);
        }
        std::cout << tokens.back() << "\n";
    }
    first.reset();
    if (first.sample(row(0)) != tokens[0]) return 4;
    const std::vector<chain::setting> bad = {
        { "temp", "0,8" }, { "top_k", "2147483648" }, { "no_such", "1" }, { "top_p", "1.5" }
    };
    for (const chain::setting &one : bad) {
        try {
            chain({ one });
            std::cout << one.first << " is accepted\n";
        } catch (const sampling::error &e) {
            std::cout << e.what() << "\n";
        }
    }
    char takes[400];
    samp_settings_takes("top_p", takes, sizeof takes);
    std::cout << first.setting_of("temp") << ", " << takes << "\n";
}
