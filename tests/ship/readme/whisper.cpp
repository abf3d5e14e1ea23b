// Parameters, engine by engine: what stands in whisper.cpp, with a vocabulary of 40 tokens.
#define SAMPLING_CONSTRAINTS
#include "sampling.h"
#include <cmath>
#include <iostream>
#include <map>
#include <string>
#include <vector>

struct whisper_token_data {
    int id, tid;
    float p, plog, pt, ptsum;
    int64_t t0, t1, t_dtw;
    float vlen;
};
struct whisper_full_params {
    bool suppress_blank, tdrz_enable;
};
// words 0 - 9, the end, the start, two languages, then the others; time stamps from 20 on
struct whisper_vocab {
    std::map<std::string, int> token_to_id;
    int token_eot = 10, token_sot = 11, token_translate = 14, token_transcribe = 15, token_solm = 16, token_prev = 17, token_nosp = 18,
        token_not = 19, token_beg = 20;
};
#include "whisper.hpp"

int main()
{
    whisper_vocab vocab;
    vocab.token_to_id[" "] = 3;
    samp_sampler *chain = whisper_chain(vocab, { true, false }, 2, 0, 1);
    // the likeliest tokens of each row, best first, and the one that the rules leave
    const struct {
        int best[3], token;
    } rows[] = {
        { { 11, 5, 21 }, 21 }, // it begins with a time stamp
        { { 12, 17, 4 }, 4 },  // then text; none of the special tokens
        { { 3, 4, 22 }, 3 },   // the blank is masked at the beginning only
        { { 20, 24, 3 }, 24 }, // no time stamp before the last one
        { { 5, 24, 3 }, 24 },  // behind text and a time stamp, another one
        { { 24, 25, 6 }, 6 },  // behind two, text
        { { 19, 10, 6 }, 10 }, // the end
    };
    for (const auto &row : rows) {
        float logits[40] = {};
        for (int i = 0; i < 3; i++) logits[row.best[i]] = (float)(30 - 8 * i);
        whisper_token_data token = whisper_sample_token(chain, logits, 40);
        if (token.id != row.token || !(token.plog <= 0 && token.plog > -0.01f) || std::fabs(token.p - std::exp(token.plog)) > 1e-6f) return 1;
    }
    samp_free(chain);
    std::cout << 1 << "\n";
}
